//! Tests that move out of the directories in which their runner looks.

use super::in_force::{Found, Tree, joined};
use super::settings::Value;
use super::tool::Tool;
use super::{Renamed, TESTS, tools};
use crate::changes::repo_path;
use crate::contract::{Draft, Lookups};
use crate::selection;
use qa_contracts::v1::Side;

/// A setting with the directories in which a runner looks for tests.
struct Roots {
    tool: &'static str,
    setting: &'static str,
    /// Endings of the files that it takes for tests, without an extension.
    names: &'static [&'static str],
}

const ROOTS: &[Roots] = &[
    Roots { tool: "pytest", setting: "testpaths", names: &["test_", "_test"] },
    Roots { tool: "jest", setting: "roots", names: &[".test", ".spec"] },
    Roots { tool: "vitest", setting: "test dir", names: &[".test", ".spec"] },
    Roots { tool: "phpunit", setting: "testsuites testsuite directory #text", names: &["Test"] },
];

/// Reports tests that are moved to where a runner with a list of directories does not look.
pub(super) fn drafts(renamed: &[Renamed], lookups: &dyn Lookups) -> Vec<Draft> {
    let trees = [Side::Base, Side::Head].map(|side| Tree { side, lookups });
    let mut drafts = Vec::new();
    for roots in ROOTS {
        let own = renamed.iter().filter(|file| roots.is_test(&file.from) && roots.is_test(&file.to));
        for file in own {
            let [before, after] = [(&trees[0], &file.from), (&trees[1], &file.to)]
                .map(|(tree, path)| roots.looked_in(tree, path));
            let (Some(before), Some(after)) = (before, after) else { continue };
            // Another list is compared with the earlier one as a whole.
            if before == after && is_in(&before, &file.from) && !is_in(&after, &file.to) {
                let summary = format!("test is moved out of the directories in which {} looks", roots.tool);
                drafts.push(Draft::on_file(TESTS, &repo_path(&file.to), Side::Head, summary));
            }
        }
    }
    drafts.extend(renamed.iter().filter_map(|file| without_ending(file, &trees[1], lookups)));
    drafts
}

/// Names of files that other tools take for theirs, or that hold no tests.
const OTHER_NAMES: &[&str] = &[
    "bench",
    "cy",
    "e2e",
    "fixture",
    "helper",
    "integration",
    "it",
    "mock",
    "setup",
    "stories",
    "test-d",
    "util",
];

/// Reports a test of JavaScript that loses the ending by which jest and vitest find tests, where no pattern is set.
fn without_ending(file: &Renamed, head: &Tree<'_>, lookups: &dyn Lookups) -> Option<Draft> {
    let name = file.to.rsplit('/').next().unwrap_or(&file.to);
    let is_other = OTHER_NAMES.iter().any(|word| name.contains(word)) || file.to.contains("__tests__");
    let (jest, directory) = (&ROOTS[1], file.to.rsplit_once('/').map_or("", |(directory, _)| directory));
    if is_other || !jest.is_test(&file.from) || jest.is_test(&file.to) {
        return None;
    }
    let mut runners = tools::all_tools().filter(|tool| ["jest", "vitest"].contains(&tool.name));
    let tool = runners.find(|tool| goes_by_ending(tool, &head.in_force(tool, directory)))?;
    let text = lookups.text(Side::Head, &file.to)?;
    let has_tests = ["it(", "test(", "describe("].iter().any(|call| text.contains(call));
    let summary = format!("test has no name any more by which {} finds it", tool.name);
    has_tests.then(|| Draft::on_file(TESTS, &repo_path(&file.to), Side::Head, summary))
}

/// Returns whether a configuration is there and sets no pattern of names.
fn goes_by_ending(tool: &Tool, found: &Found) -> bool {
    const PATTERNS: &[&str] = &["testMatch", "testRegex", "test include"];
    let mut keys = found.configuration.values.keys();
    let is_set = keys.any(|key| PATTERNS.contains(&tool.settings[key.setting].paths[0]));
    !found.files.is_empty() && !is_set && !found.configuration.is_partly_unknown
}

fn is_in(places: &[String], path: &str) -> bool {
    places.iter().any(|place| selection::is_within(path, place))
}

impl Roots {
    fn is_test(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        self.names.iter().any(|part| match part.strip_suffix('_') {
            Some(_) => stem.starts_with(part),
            None => stem.ends_with(part),
        })
    }

    /// Returns the directories in which the runner looks; `None` where no configuration lists them.
    fn looked_in(&self, tree: &Tree<'_>, path: &str) -> Option<Vec<String>> {
        let tool = tools::all_tools().find(|tool| tool.name == self.tool)?;
        let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
        let Found { configuration, files, .. } = tree.in_force(tool, directory);
        let own = files.first()?.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
        let mut entries = Vec::new();
        for (key, located) in &configuration.values {
            if tool.settings[key.setting].paths[0] == self.setting
                && let Value::Entries(all) = &located.value
            {
                let places =
                    all.iter().map(|place| place.trim_start_matches("<rootDir>").trim_start_matches('/'));
                entries.extend(
                    places.map(|place| joined(own, place.trim_start_matches("./").trim_end_matches('/'))),
                );
            }
        }
        let is_listed = !entries.is_empty() && !entries.iter().any(|place| place.is_empty() || place == ".");
        is_listed.then_some(entries)
    }
}
