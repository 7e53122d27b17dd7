//! Patterns of what a tool leaves out: where they begin, and what they may fit.

use super::compare::Weakening;
use super::tool::Tool;

/// Directories that compilers, bundlers and package managers write.
pub(super) const BUILT: &[&str] = &[
    ".cache",
    ".eggs",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".tox",
    ".turbo",
    ".venv",
    "__pycache__",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "target",
    "venv",
];

/// Files that tools write and formatters leave alone.
pub(super) const LOCKS: &[&str] =
    &["CHANGELOG.md", "bun.lock", "composer.lock", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"];

/// Tools whose patterns begin at the directory of the configuration unless a `*` stands first.
const ANCHORED: &[&str] =
    &["cargo test", "coverage", "dart", "mocha", "pyright", "rubocop", "swiftlint", "tsc", "vitest"];
/// Tools whose patterns are those of `.gitignore`, which begin there where a `/` stands before their end.
const LIKE_GITIGNORE: &[&str] = &[
    "eslint",
    "eslintignore",
    "prettier",
    "semistandard",
    "standard",
    "stylelintignore",
    "ts-standard",
    "typos",
    "xo",
    "yamllint",
];

/// Returns whether a pattern of a configuration fits paths from the directory of the configuration alone.
pub(super) fn is_anchored(tool: &Tool, weakening: &Weakening, pattern: &str) -> bool {
    let name = weakening.head.as_ref().and_then(|located| located.path.rsplit('/').next());
    let is_flat = name.is_some_and(|name| name.starts_with("eslint.config."));
    // The other lists of coverage.py have patterns of lines.
    let is_of_lines = tool.name == "coverage" && !weakening.setting.ends_with("omit");
    let is_from_there = ANCHORED.contains(&tool.name) && !is_of_lines || is_flat;
    let is_gitignore = LIKE_GITIGNORE.contains(&tool.name) && pattern.trim_end_matches('/').contains('/');
    pattern.starts_with("<rootDir>/")
        || is_from_there && !pattern.starts_with(['*', '/'])
        || is_gitignore && !pattern.starts_with('*')
}
