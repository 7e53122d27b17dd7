//! Globs over paths, as policies and lenses write them.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use qa_contracts::ids::RepoPath;

/// Error of a policy's glob that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("glob {glob:?}: {reason}")]
pub struct GlobError {
    pub(crate) glob: String,
    pub(crate) reason: String,
}

/// A set of path globs; `*` stays inside a component, `**` does not.
#[derive(Debug, Clone)]
pub enum PathSet {
    /// `**` alone: most lenses look everywhere, and to compile that costs more than to match it.
    Everything,
    Globs(GlobSet),
}

impl PathSet {
    /// Compiles globs.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, GlobError> {
        let globs: Vec<&str> = globs.into_iter().collect();
        if globs == ["**"] {
            return Ok(Self::Everything);
        }
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(compile_glob(glob).map_err(|reason| GlobError { glob: glob.to_owned(), reason })?);
        }
        let set =
            builder.build().map_err(|error| GlobError { glob: String::new(), reason: error.to_string() })?;
        Ok(Self::Globs(set))
    }

    /// Returns whether one of the globs matches.
    pub fn matches(&self, path: &RepoPath) -> bool {
        match self {
            Self::Everything => true,
            Self::Globs(globs) => !globs.is_empty() && globs.is_match(path.to_text().as_ref()),
        }
    }
}

fn compile_glob(glob: &str) -> Result<Glob, String> {
    if glob.is_empty() || glob.starts_with('/') || glob.len() > 256 {
        return Err("must be relative, not empty and at most 256 bytes".to_owned());
    }
    GlobBuilder::new(glob).literal_separator(true).build().map_err(|error| error.kind().to_string())
}

/// Characters that make a path of the policy a glob.
const GLOB_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// Returns whether a path of the policy is a glob, and not one file.
pub fn is_glob(path: &str) -> bool {
    path.contains(GLOB_SIGNS)
}

/// Returns the directory below which everything lies that a glob matches; empty for the root.
pub fn glob_directory(glob: &str) -> &str {
    let end = glob.find(GLOB_SIGNS).unwrap_or(glob.len());
    match glob[..end].rfind('/') {
        Some(slash) => &glob[..slash],
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_searched_for_below_its_plain_directories() {
        for (glob, directory) in [
            ("target/reports/*.xml", "target/reports"),
            ("target/rep*/a.xml", "target"),
            ("**/a.xml", ""),
            ("{a,b}/c.xml", ""),
            ("reports/a.xml", "reports"),
        ] {
            assert_eq!(glob_directory(glob), directory, "{glob}");
        }
        assert!(is_glob("a/*.xml") && !is_glob("a/b.xml"));
    }
}
