//! New projects of a runner of tests: configurations of a package that name all of its tests.

use qa_contracts::v1::{MentionKind, Side};
use qa_core::classify::PathSet;

use super::compare::Weakening;
use super::in_force::joined;
use super::tool::Tool;
use super::{Comparison, repo_path};

/// Functions that make tests.
const MAKERS: &[&str] = &["describe", "it", "suite", "test"];
/// Settings that name the tests of a project, by the tool.
const NAMES_TESTS: &[(&str, &str)] = &[("jest", "testMatch"), ("vitest", "test.include")];

impl Comparison<'_> {
    /// Returns whether a list of the tests that run came with its configuration and names every test of the directory.
    pub(super) fn is_of_all_tests(&self, tool: &Tool, weakening: &Weakening, directory: &str) -> bool {
        let Some(head) = &weakening.head else { return false };
        let names_tests = NAMES_TESTS.contains(&(tool.name, weakening.setting.as_str()));
        let is_new = !self.lookups.is_present(Side::Base, &head.path) && !directory.is_empty();
        if !names_tests || !is_new || !head.path.starts_with(directory) {
            return false;
        }
        let patterns: Vec<String> = head
            .entries
            .iter()
            .map(|entry| {
                joined(directory, entry.text.trim_start_matches("<rootDir>/").trim_start_matches("./"))
            })
            .collect();
        // Other signs have another meaning for globs of paths.
        if patterns.iter().any(|pattern| pattern.contains(['(', '!', '[', '\\'])) {
            return false;
        }
        let Ok(patterns) = PathSet::new(patterns.iter().map(String::as_str)) else { return false };
        let words: Vec<String> = MAKERS.iter().map(|word| (*word).to_owned()).collect();
        [Side::Base, Side::Head].into_iter().all(|side| {
            let found = self.lookups.mentions(side, MentionKind::Ecma, &words);
            let mut own = found.paths.iter().filter(|path| is_test_below(path, directory));
            found.complete && own.all(|path| patterns.matches(&repo_path(path)))
        })
    }
}

/// Returns whether a file below a directory has the name of a test.
fn is_test_below(path: &str, directory: &str) -> bool {
    let below = path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let name = path.rsplit('/').next().unwrap_or(path);
    below && (name.contains(".test.") || name.contains(".spec.") || path.contains("/__tests__/"))
}
