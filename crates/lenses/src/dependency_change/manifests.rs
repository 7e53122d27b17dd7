//! Manifests and settings of package managers: where packages come from and what runs when they arrive.

use std::collections::BTreeSet;

use super::{INSTALL, REGISTRY, SOURCE, draft, host};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_core::packet::{HunkView, Line, Packet};

static INSTALL_SCRIPT: Pattern =
    Pattern::new(r#"^\s*"((?:pre|post)?install)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)""#);
/// A package may be called "install" too.
static VERSION: Pattern =
    Pattern::new(r"^(?:[\^~<>=v]*\s*\d|\*$|latest$|workspace:|npm:|file:|link:|catalog:)");

/// Settings that name a registry; group 1 is the setting with its value.
static NPM: Pattern = Pattern::new(r"^\s*((?:@[\w.-]+:)?registry\s*=\s*\S+|strict-ssl\s*=\s*false)");
static YARN: Pattern = Pattern::new(
    r#"^\s*((?:npmRegistryServer|registry):?\s+"?https?://\S+|enableStrictSsl:\s*false|strict-ssl\s+false|checksumBehavior:\s*"?(?:ignore|update)"?)"#,
);
static PIP: Pattern = Pattern::new(
    r"^\s*((?:--(?:extra-)?index-url|--trusted-host|-i|--find-links|-f)[\s=]+\S+|(?:extra-)?index-url\s*=\s*\S+|trusted-host\s*=\s*\S+)",
);
static PYTHON_SECTION: Pattern =
    Pattern::new(r"^\s*\[\[?tool\.(?:uv\.index|poetry\.source|pdm\.source)\b|^\s*\[\[index\]\]");
static URL: Pattern = Pattern::new(r#"^\s*(url\s*=\s*["']https?://[^"']+["'])"#);
static CARGO: Pattern = Pattern::new(
    r#"^\s*(replace-with\s*=\s*"[^"]+"|(?:registry|index)\s*=\s*"(?:sparse\+)?https?://[^"]+")"#,
);
static RUBY: Pattern = Pattern::new(r#"^\s*(source\s*\(?\s*["']https?://[^"']+["'])"#);
static COMPOSER: Pattern = Pattern::new(r#"^\s*("(?:secure-http"\s*:\s*false|disable-tls"\s*:\s*true))"#);
static GO: Pattern = Pattern::new(
    r#"(\bGOSUMDB\s*[:=]\s*["']?off\b|\bGO(?:NOSUMDB|NOSUMCHECK|INSECURE)\s*[:=]\s*["']?[^\s"']+)"#,
);

/// Dependencies that do not come from a registry; group 1 is the address.
static NODE_SOURCE: Pattern = Pattern::new(
    r#"^\s*"(?:@[^"/]+/)?[^"/]+"\s*:\s*"((?:git\+|git://|git@|ssh://|github:|gitlab:|bitbucket:)[^"]+|https?://[^"]+\.(?:tgz|tar\.gz)(?:[?#][^"]*)?)""#,
);
static CARGO_SOURCE: Pattern =
    Pattern::new(r#"^\s*(?:[\w."-]+\s*=\s*\{[^}]*\bgit\s*=\s*|git\s*=\s*)"([^"]+)""#);
static PYTHON_SOURCE: Pattern = Pattern::new(
    r#"((?:git|hg|svn)\+(?:https?|ssh|git)://[^\s"'#;,]+)|@\s*(https?://[^\s"';,]+)|^\s*(https?://\S+\.(?:whl|zip|tar\.gz))|\{[^}]*\bgit\s*=\s*"([^"]+)""#,
);
static GO_SOURCE: Pattern = Pattern::new(r"=>\s*([^./\s]\S*\s+v\S+)");
static RUBY_SOURCE: Pattern = Pattern::new(
    r#"^\s*gem\s.*(?:\b(?:git|github|bitbucket|gist):|:(?:git|github|bitbucket|gist)\s*=>)\s*["']([^"']+)["']"#,
);

/// Registries that everybody uses.
const KNOWN: &[&str] = &[
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "npm.pkg.github.com",
    "npm.jsr.io",
    "pypi.org",
    "download.pytorch.org",
    "rubygems.org",
    "index.crates.io",
    "github.com",
];

/// Looks at one manifest or one file of settings.
pub(super) fn inspect(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    let path = packet.path().to_text().to_lowercase();
    let name = path.rsplit('/').next().unwrap_or("");
    let python = name.ends_with(".txt") || name.ends_with(".in");
    match name {
        "package.json" => {
            install_scripts(packet, drafts);
            sources(packet, &NODE_SOURCE, drafts);
        }
        ".npmrc" => registries(packet, &NPM, drafts),
        ".yarnrc" | ".yarnrc.yml" => registries(packet, &YARN, drafts),
        "pip.conf" | "pip.ini" => registries(packet, &PIP, drafts),
        "pyproject.toml" | "setup.cfg" | "uv.toml" => {
            sources(packet, &PYTHON_SOURCE, drafts);
            packet.hunks().for_each(|hunk| indexes(packet, &hunk, drafts));
        }
        "setup.py" => sources(packet, &PYTHON_SOURCE, drafts),
        "cargo.toml" => sources(packet, &CARGO_SOURCE, drafts),
        "config" | "config.toml" => registries(packet, &CARGO, drafts),
        "go.mod" => sources(packet, &GO_SOURCE, drafts),
        "gemfile" | "gems.rb" => {
            registries(packet, &RUBY, drafts);
            sources(packet, &RUBY_SOURCE, drafts);
        }
        "composer.json" => registries(packet, &COMPOSER, drafts),
        _ if python => {
            registries(packet, &PIP, drafts);
            sources(packet, &PYTHON_SOURCE, drafts);
        }
        _ => registries(packet, &GO, drafts),
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';']) || line.trim_start().starts_with("//")
}

fn install_scripts(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    for line in packet.added() {
        let Some(groups) = INSTALL_SCRIPT.captures(line.text) else { continue };
        if VERSION.is_match(&groups[2]) || groups[2].is_empty() {
            continue;
        }
        let text = line.text.trim().trim_end_matches(',');
        let summary = "a script runs on every machine that installs the package";
        drafts.push(draft(INSTALL, packet, &line, text, summary));
    }
}

/// What of an address says whose code it is, without a version.
fn stem(address: &str) -> &str {
    let address = address.split_whitespace().next().unwrap_or("");
    let address = address.split(['#', '?']).next().unwrap_or("");
    let scheme = address.find("://").map_or(0, |at| at + 3);
    let user = address[scheme..].find('/').map_or(address.len(), |slash| scheme + slash);
    let end = address[user..].find('@').map_or(address.len(), |at| user + at);
    address[..end].trim_end_matches(".git")
}

/// Sources that are new: another version of one that was removed is not.
fn sources(packet: &Packet<'_>, pattern: &Pattern, drafts: &mut Vec<Draft>) {
    const NO_DEPENDENCY: &[&str] = &[
        "\"repository\"",
        "\"url\"",
        "\"homepage\"",
        "\"bugs\"",
        "\"author\"",
        "repository =",
        "homepage =",
    ];
    let address = |line: &Line<'_>| {
        let text = line.text.trim_start();
        let other = is_comment(text) || NO_DEPENDENCY.iter().any(|key| text.starts_with(key));
        let found = pattern.captures(line.text).filter(|_| !other)?;
        found.first_group().map(|group| group.range())
    };
    let mut known: Option<BTreeSet<String>> = None;
    for line in packet.added() {
        let Some(span) = address(&line) else { continue };
        let known = known.get_or_insert_with(|| {
            packet
                .removed()
                .filter_map(|line| address(&line).map(|span| stem(&line.text[span]).to_owned()))
                .collect()
        });
        if !known.contains(stem(&line.text[span.clone()])) {
            let summary = "a dependency comes from a repository or an address and not from a registry";
            drafts.push(Draft::on_line(SOURCE, packet, &line, span, summary));
        }
    }
}

fn registries(packet: &Packet<'_>, pattern: &Pattern, drafts: &mut Vec<Draft>) {
    let mut known: Option<BTreeSet<String>> = None;
    for line in packet.added().filter(|line| !is_comment(line.text)) {
        let Some(found) = pattern.captures(line.text).and_then(|groups| groups.first_group()) else {
            continue;
        };
        let text = found.as_str();
        let known = known.get_or_insert_with(|| {
            let before = packet.removed().filter(|line| !is_comment(line.text));
            before
                .filter_map(|line| {
                    Some(pattern.captures(line.text)?.first_group()?.as_str().trim().to_owned())
                })
                .collect()
        });
        let public = host(text).is_some_and(|host| KNOWN.contains(&host));
        if !public && !known.contains(text.trim()) && !is_local(text) {
            let summary = if host(text).is_some() || text.contains("replace-with") {
                "packages come from another registry"
            } else {
                "what packages are is no longer checked"
            };
            drafts.push(Draft::on_line(REGISTRY, packet, &line, found.range(), summary));
        }
    }
}

/// Directories beside the manifest and variables that are set elsewhere.
fn is_local(text: &str) -> bool {
    let value = text.rsplit(['=', ' ']).next().unwrap_or("");
    let option = text.trim_start();
    let names_place = ["-f", "--find-links", "-i", "registry"].iter().any(|name| option.starts_with(name));
    names_place && !value.contains("://") || value.contains("localhost") || value.contains("127.0.0.1")
}

/// Indexes of Python's tools stand in tables of their own.
fn indexes(packet: &Packet<'_>, hunk: &HunkView<'_>, drafts: &mut Vec<Draft>) {
    let mut inside = false;
    let before = hunk.before().map(|line| (line, false));
    for (line, is_new) in before.chain(hunk.added().map(|line| (line, true))) {
        if line.text.trim_start().starts_with('[') {
            inside = PYTHON_SECTION.is_match(line.text);
        }
        let Some(found) =
            URL.captures(line.text).filter(|_| inside && is_new).and_then(|groups| groups.first_group())
        else {
            continue;
        };
        if !host(found.as_str()).is_some_and(|host| KNOWN.contains(&host)) {
            let summary = "packages come from another registry";
            drafts.push(Draft::on_line(REGISTRY, packet, &line, found.range(), summary));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let patterns = [
            &INSTALL_SCRIPT,
            &VERSION,
            &NPM,
            &YARN,
            &PIP,
            &PYTHON_SECTION,
            &URL,
            &CARGO,
            &RUBY,
            &COMPOSER,
            &GO,
            &NODE_SOURCE,
            &CARGO_SOURCE,
            &PYTHON_SOURCE,
            &GO_SOURCE,
            &RUBY_SOURCE,
        ];
        patterns.into_iter().for_each(Pattern::check);
    }

    #[test]
    fn a_stem_says_whose_code_it_is() {
        let cases = [
            ("git+https://github.com/a/b.git@v1", "git+https://github.com/a/b"),
            ("git+ssh://git@github.com/a/b.git#c", "git+ssh://git@github.com/a/b"),
            ("github:a/b#v2", "github:a/b"),
            ("example.org/a/b v1.2.3", "example.org/a/b"),
        ];
        for (address, expected) in cases {
            assert_eq!(stem(address), expected);
        }
    }
}
