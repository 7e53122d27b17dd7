//! Vendored and generated files by the base's `.gitattributes`.

use super::PathSet;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Scope;

/// Lines of `.gitattributes` about vendored and generated files. Of those that match a path the last decides.
#[derive(Debug, Default)]
pub struct Attributes(Vec<Line>);

#[derive(Debug)]
struct Line {
    paths: PathSet,
    scope: Scope,
    is_set: bool,
}

impl Attributes {
    /// Parses the file in a repository's root. Lines without an attribute of ours, and patterns that are no globs, say
    /// nothing.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().flat_map(lines).collect())
    }

    /// Returns whether a path is in a scope; `None` where no line says so.
    pub fn claims(&self, path: &RepoPath, scope: Scope) -> Option<bool> {
        let mut lines = self.0.iter().filter(|line| line.scope == scope && line.paths.matches(path));
        lines.next_back().map(|line| line.is_set)
    }
}

fn lines(text: &str) -> Vec<Line> {
    let mut words = text.split_whitespace();
    let Some(pattern) = words.next().filter(|word| !word.starts_with(['#', '"', '[', '!'])) else {
        return Vec::new();
    };
    let glob = match pattern.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if pattern.contains('/') => pattern.to_owned(),
        None => format!("**/{pattern}"),
    };
    let settings = words.filter_map(setting);
    settings
        .filter_map(|(scope, is_set)| {
            Some(Line { paths: PathSet::new([glob.as_str()]).ok()?, scope, is_set })
        })
        .collect()
}

/// Returns the scope that an attribute is about, and whether the line sets it.
fn setting(word: &str) -> Option<(Scope, bool)> {
    let (name, is_set) = match word.strip_prefix(['-', '!']) {
        Some(name) => (name, false),
        None => match word.split_once('=') {
            Some((name, value)) => (name, value == "true"),
            None => (word, true),
        },
    };
    match name {
        "linguist-generated" => Some((Scope::Generated, is_set)),
        "linguist-vendored" => Some((Scope::Vendored, is_set)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_matches_a_path_decides() {
        let attributes = Attributes::parse(
            "# comment\n*.pb.go linguist-generated\n/api/** text linguist-generated=true -diff\n\
             api/own.go -linguist-generated\nlib/*.js linguist-vendored\n[attr]x linguist-generated\n* text=auto\n",
        );
        for (path, scope, expected) in [
            ("a/b/x.pb.go", Scope::Generated, Some(true)),
            ("api/v1/a.go", Scope::Generated, Some(true)),
            ("api/own.go", Scope::Generated, Some(false)),
            ("lib/a.js", Scope::Vendored, Some(true)),
            ("lib/a.js", Scope::Generated, None),
            ("lib/a/b.js", Scope::Vendored, None),
            ("src/api/a.go", Scope::Generated, None),
        ] {
            let path = RepoPath::from_bytes(path.as_bytes()).unwrap();
            assert_eq!(attributes.claims(&path, scope), expected, "{path} {scope}");
        }
    }
}
