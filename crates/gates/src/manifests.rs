//! Names the files that show which tools a project uses, and finds the directories above a file.

use qa_contracts::ids::RepoPath;

/// Names of manifests of Python projects.
pub(crate) const PYTHON: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "Pipfile",
    "tox.ini",
];

/// Names of configuration files of ESLint, flat and legacy.
pub(crate) const ESLINT: &[&str] = &[
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    "eslint.config.cts",
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yaml",
    ".eslintrc.yml",
];

/// Names of configuration files of Jest.
pub(crate) const JEST: &[&str] =
    &["jest.config.js", "jest.config.mjs", "jest.config.cjs", "jest.config.ts", "jest.config.json"];

/// Names of configuration files of mypy.
pub(crate) const MYPY: &[&str] = &["mypy.ini", ".mypy.ini"];

/// Names of configuration files of Playwright.
pub(crate) const PLAYWRIGHT: &[&str] =
    &["playwright.config.js", "playwright.config.ts", "playwright.config.mjs", "playwright.config.mts"];

/// Names of configuration files of pytest.
pub(crate) const PYTEST: &[&str] =
    &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"];

/// Names of configuration files of Ruff.
pub(crate) const RUFF: &[&str] = &["ruff.toml", ".ruff.toml"];

/// Names of configuration files of Vitest.
pub(crate) const VITEST: &[&str] = &[
    "vitest.config.js",
    "vitest.config.mjs",
    "vitest.config.cjs",
    "vitest.config.ts",
    "vitest.config.mts",
    "vitest.config.cts",
    "vitest.workspace.js",
    "vitest.workspace.ts",
];

/// Names of files whose text shows which tools a project uses.
const READ_FILES: &[&str] = &[
    ".mypy.ini",
    "Cargo.toml",
    "Pipfile",
    "go.mod",
    "mypy.ini",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
];
/// Names of files whose presence shows it.
const LISTED_FILES: &[&[&str]] = &[PYTHON, ESLINT, JEST, MYPY, PLAYWRIGHT, PYTEST, RUFF, VITEST];

/// Part of a file that the detection of tools depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestUse {
    /// None of it.
    None,
    /// The file's name alone.
    ByName,
    /// The text of the file.
    ByText,
}

/// Returns the part of a file with that name that the detection of tools depends on.
pub fn manifest_use(name: &str) -> ManifestUse {
    if READ_FILES.contains(&name) || is_requirements(name) {
        ManifestUse::ByText
    } else if LISTED_FILES.iter().any(|names| names.contains(&name)) {
        ManifestUse::ByName
    } else {
        ManifestUse::None
    }
}

/// Returns whether a file name is `requirements*.txt`.
pub(crate) fn is_requirements(name: &str) -> bool {
    name.starts_with("requirements") && name.ends_with(".txt")
}

/// Returns a directory and all those above it, nearest first, up to the root, which is empty.
pub fn upwards(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(
        Some(directory),
        |directory| {
            if directory.is_empty() { None } else { Some(parent(directory)) }
        },
    )
}

/// Returns a path up to its last slash; empty without one.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((directory, _)) => directory,
        None => "",
    }
}

/// Returns the directory of a path, up to its first invalid UTF-8, since tools take directories as text.
pub fn directory_of(path: &RepoPath) -> &str {
    let bytes = path.as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) => parent(text),
        Err(error) => parent(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()),
    }
}
