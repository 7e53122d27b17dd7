//! Addresses of packages: the registry, host or repository that they name.

/// Registries that everybody uses.
const REGISTRIES: &[&str] = &[
    "api.nuget.org",
    "download.pytorch.org",
    "files.pythonhosted.org",
    "github.com/rust-lang/crates.io-index",
    "index.crates.io",
    "npm.jsr.io",
    "npm.pkg.github.com",
    "nuget.org",
    "pub.dev",
    "pypi.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "repo.packagist.org",
    "rubygems.org",
    "static.crates.io",
    "www.nuget.org",
];
/// Hosts of repositories of many owners, with the host that people write.
const FORGES: &[(&str, &str)] = &[
    ("api.github.com", "github.com"),
    ("bitbucket.org", "bitbucket.org"),
    ("codeberg.org", "codeberg.org"),
    ("codeload.github.com", "github.com"),
    ("gist.github.com", "gist.github.com"),
    ("github.com", "github.com"),
    ("gitlab.com", "gitlab.com"),
    ("raw.githubusercontent.com", "github.com"),
];
/// Words before a path at a forge, as npm reads them.
const SHORTHANDS: &[(&str, &str)] = &[
    ("bitbucket:", "bitbucket.org"),
    ("gist:", "gist.github.com"),
    ("github:", "github.com"),
    ("gitlab:", "gitlab.com"),
];

/// Place that packages come from: a host, a repository, or a host without encryption.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// Host, with the path where that tells whose code it is.
    pub(super) name: String,
    pub(super) is_repository: bool,
    /// `http:` or `git:`, which anybody on the way can answer.
    pub(super) is_plain: bool,
}

impl Origin {
    /// Returns the place that an address names, or `None` for a version or a directory.
    pub(super) fn parse(address: &str) -> Option<Self> {
        let address = address.split_whitespace().next()?;
        // Yarn's name for a package that the registry has at another address.
        if let Some((_, encoded)) = address.split_once("__archiveUrl=") {
            return Self::parse(&encoded.replace("%3A", ":").replace("%2F", "/"));
        }
        for (word, host) in SHORTHANDS {
            if let Some(path) = address.strip_prefix(word) {
                return Some(Self::repository(host, path, false));
            }
        }
        let Some((scheme, rest)) = address.split_once("://") else { return Self::of_ssh(address) };
        let rest = rest.split(['#', '?', '"', '\'', ')', '>']).next()?;
        let (host, path) = rest.split_once(['/', ',']).unwrap_or((rest, ""));
        let host = host.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
        if host.is_empty() || scheme.ends_with("file") {
            return None;
        }
        let is_plain = matches!(scheme.rsplit('+').next(), Some("http" | "git"));
        let protocol = scheme.split('+').next().unwrap_or(scheme);
        let is_git = matches!(protocol, "git" | "ssh" | "hg" | "svn" | "bzr");
        let is_git = is_git || path.trim_end_matches('/').ends_with(".git");
        Some(match FORGES.iter().find(|(own, _)| *own == host) {
            Some((_, host)) => Self::repository(host, path.trim_start_matches("repos/"), is_plain),
            None if is_git => Self::repository(&host, path, is_plain),
            None => Self { name: host, is_repository: false, is_plain },
        })
    }

    /// `git@host:owner/name`
    fn of_ssh(address: &str) -> Option<Self> {
        let (user, rest) = address.split_once('@')?;
        let (host, path) = rest.split_once(':')?;
        let is_address = !user.is_empty() && host.contains('.') && path.contains('/');
        is_address.then(|| Self::repository(host, path, false))
    }

    /// Returns the owner's name and that of the repository: what follows names a version of it.
    fn repository(host: &str, path: &str, is_plain: bool) -> Self {
        let path = path.split(['#', '?']).next().unwrap_or(path);
        let parts = path.trim_start_matches('/').split(['/', '@']).take(2);
        let path: Vec<&str> = parts.map(|part| part.trim_end_matches(".git")).collect();
        let name = format!("{host}/{}", path.join("/")).to_ascii_lowercase();
        Self { name, is_repository: true, is_plain }
    }

    pub(super) fn is_public_registry(&self) -> bool {
        !self.is_plain && REGISTRIES.contains(&self.name.as_str())
    }

    pub(super) fn is_this_machine(&self) -> bool {
        matches!(self.name.as_str(), "localhost" | "127.0.0.1" | "[" | "0.0.0.0")
    }

    /// Returns whether a host is this machine, or has a name that only the network around it knows.
    pub(super) fn is_in_own_network(&self) -> bool {
        const PRIVATE: [&str; 5] = [".corp", ".home.arpa", ".internal", ".lan", ".local"];
        let is_single = !self.name.contains('.');
        self.is_this_machine() || is_single || PRIVATE.iter().any(|end| self.name.ends_with(end))
    }
}

/// Returns the repository of `owner/name#commit`, which npm and Bundler look for at GitHub.
pub(super) fn forge_path(version: &str) -> Option<Origin> {
    let path = version.split('#').next().unwrap_or(version);
    let (owner, name) = path.split_once('/')?;
    let is_path = [owner, name].iter().all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    });
    is_path.then(|| Origin::repository("github.com", path, false))
}

/// Returns whether a source is a directory or a file of the repository.
pub(super) fn is_local(source: &str) -> bool {
    const WORDS: &[&str] = &[".", "/", "file:", "link:", "path:", "portal:", "workspace:"];
    WORDS.iter().any(|word| source.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_tells_whose_code_it_is_and_not_which_version() {
        for (address, expected) in [
            ("git+https://github.com/a/b.git@v1", Some("github.com/a/b")),
            ("git+ssh://git@github.com/A/b.git#c", Some("github.com/a/b")),
            ("git@github.com:a/b.git", Some("github.com/a/b")),
            ("https://codeload.github.com/a/b/tar.gz/c", Some("github.com/a/b")),
            ("https://api.github.com/repos/a/b/zipball/c", Some("github.com/a/b")),
            ("github:a/b#v2", Some("github.com/a/b")),
            ("ssh://git@git.example.org:22/a/b", Some("git.example.org/a/b")),
            ("https://user:word@cdn.example.org:8080/left.tgz", Some("cdn.example.org")),
            (
                "registry+https://github.com/rust-lang/crates.io-index",
                Some("github.com/rust-lang/crates.io-index"),
            ),
            ("npm:1.0.0::__archiveUrl=https%3A%2F%2Fcdn.example.org%2Fleft.tgz", Some("cdn.example.org")),
            ("1.0.0", None),
            ("npm:left@1.0.0", None),
            ("file:///srv/left", None),
            ("../left", None),
        ] {
            assert_eq!(Origin::parse(address).map(|origin| origin.name).as_deref(), expected, "{address}");
        }
        for (version, expected) in [
            ("a/b", Some("github.com/a/b")),
            ("a/b#main", Some("github.com/a/b")),
            ("^1.0.0", None),
            ("./a", None),
            ("@a/b", None),
        ] {
            assert_eq!(forge_path(version).map(|origin| origin.name).as_deref(), expected, "{version}");
        }
    }
}
