//! A file that a report names, in the repository or elsewhere.

use qa_contracts::ids::RepoPath;

/// Path of a file that a report names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportedPath {
    /// A file of the repository.
    Repository(RepoPath),
    /// A file elsewhere, such as in a container, as the report writes it. It tells findings of two files apart.
    Elsewhere(String),
}

impl ReportedPath {
    /// Returns the path in the repository.
    pub fn in_repository(&self) -> Option<&RepoPath> {
        match self {
            Self::Repository(path) => Some(path),
            Self::Elsewhere(_) => None,
        }
    }

    /// Returns the path of a file elsewhere.
    pub fn elsewhere(&self) -> Option<&str> {
        match self {
            Self::Repository(_) => None,
            Self::Elsewhere(path) => Some(path),
        }
    }
}

impl std::fmt::Display for ReportedPath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Repository(path) => out.write_str(&path.to_text()),
            Self::Elsewhere(path) => out.write_str(path),
        }
    }
}

impl From<RepoPath> for ReportedPath {
    fn from(path: RepoPath) -> Self {
        Self::Repository(path)
    }
}
