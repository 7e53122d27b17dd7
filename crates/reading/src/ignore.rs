//! Reads lists of ignored paths: .gitignore, .dockerignore, .prettierignore and the like.

use crate::glob;
use crate::lines::lines;
use crate::syntax::Span;

/// Dialect of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreDialect {
    /// A pattern without a slash matches at any depth.
    Git,
    /// Every pattern is relative to the root.
    Docker,
}

/// A pattern of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnorePattern {
    /// The pattern without `!` and the slashes at its ends.
    pub pattern: String,
    /// `!pattern` takes paths out of what is ignored.
    pub negated: bool,
    /// `pattern/` matches folders alone.
    pub only_folders: bool,
    /// The pattern is relative to the folder of the list.
    pub anchored: bool,
    pub span: Span,
}

/// Returns the patterns of a list in order; the last one that matches decides.
pub fn ignore_patterns(dialect: IgnoreDialect, text: &str) -> Vec<IgnorePattern> {
    let mut found = Vec::new();
    for line in lines(text).filter(|line| !line.text.starts_with('#')) {
        // Blanks before a pattern belong to it, but no list has such paths.
        let (negated, text) = match line.text.strip_prefix('!') {
            Some(text) => (true, text.trim_start()),
            None => (false, line.text),
        };
        let only_folders = text.ends_with('/') && dialect == IgnoreDialect::Git;
        let pattern = text.trim_end_matches('/');
        let anchored = dialect == IgnoreDialect::Docker || pattern.contains('/');
        let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
        if !pattern.is_empty() {
            let pattern = pattern.to_owned();
            found.push(IgnorePattern { pattern, negated, only_folders, anchored, span: line.span() });
        }
    }
    found
}

impl IgnorePattern {
    /// Returns whether a path, relative to the folder of the list, or a folder around it matches.
    pub fn matches(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, true));
        ends.chain([(path.len(), false)]).any(|(end, is_folder)| {
            let part = &path[..end];
            let name = part.rsplit('/').next().unwrap_or(part);
            (is_folder || !self.only_folders)
                && glob::matches(&self.pattern, if self.anchored { part } else { name })
        })
    }
}

/// Returns the pattern that ignores a file, or none.
pub fn ignored_by<'p>(patterns: &'p [IgnorePattern], path: &str) -> Option<&'p IgnorePattern> {
    patterns.iter().rev().find(|pattern| pattern.matches(path)).filter(|pattern| !pattern.negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let text = "# all\n*.log\n!keep.log\n/build/\nsrc/gen\n\ndocs/**/*.md\n";
        let patterns = ignore_patterns(IgnoreDialect::Git, text);
        for (path, expected) in [
            ("a/b.log", Some("*.log")),
            ("a/keep.log", None),
            ("build/x", Some("/build/")),
            ("a/build/x", None),
            ("build", None),
            ("src/gen/a.rs", Some("src/gen")),
            ("docs/a/b.md", Some("docs/**/*.md")),
        ] {
            let found = ignored_by(&patterns, path).map(|pattern| pattern.span.of(text));
            assert_eq!(found, expected, "{path}");
        }
        let docker = ignore_patterns(IgnoreDialect::Docker, "*.log\n");
        assert!(ignored_by(&docker, "a.log").is_some() && ignored_by(&docker, "a/b.log").is_none());
    }
}
