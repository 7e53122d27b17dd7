//! Tests that run only where a build, an installation or another file gives what nothing in the repository gives.

use std::collections::{BTreeMap, BTreeSet};

use super::gone::Found;
use super::names::Test;
use super::skips::{self, Added, Off, Place};
use super::version::Version;
use crate::contract::{Draft, Fact, Lookups};
use crate::imports::STANDARD_MODULES;
use crate::mentions::has_word;
use qa_contracts::v1::{MentionKind, Side};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::documents::{Document, Format};
use qa_reading::syntax::Span;

const SUMMARY: &str = "test runs only where something is given that nothing in the repository gives";
/// Maximum number of files that are read for one word; of a word in more of them each counts as giving it.
const MOST_FILES: usize = 20;
/// Endings of files that configure builds and are no configuration by their name alone.
const BUILDS: &[&str] = &[
    "ac", "am", "csproj", "fsproj", "gn", "gni", "gyp", "gypi", "m4", "mak", "pri", "props", "rsp",
    "targets", "vcxproj",
];

/// Words without which a test does not run, each behind its kind: `feature:slow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) off: Off,
    pub(super) words: Vec<String>,
}

/// Returns a fact for each test of the base that needs from now on what the base did not name.
pub(super) fn inspect(packet: &Packet<'_>, base: &Version<'_>, head: &Version<'_>) -> Vec<Fact> {
    let added = Added::new(packet);
    let mut places: BTreeMap<Span, (Place, &[String])> = BTreeMap::new();
    for (test, off) in skips::newly_off(base, head, &added, off_without) {
        let Some(needs) = test.needs.as_ref().filter(|needs| needs.off == off) else { continue };
        let is_known = needs.words.iter().any(|word| has_word(MentionKind::Rust, base.text, name_of(word)));
        if !is_known || needs.words.iter().any(|word| word.starts_with("class:")) {
            let whole = skips::span_of_lines(head.text, test.mark, test.end);
            places.entry(off.mark).or_insert((Place { name: off.name, whole }, &needs.words));
        }
    }
    let path = packet.path().to_text().into_owned();
    let drafts = places.into_iter().filter_map(|(mark, (place, words))| {
        let draft = skips::draft(packet, head.text, &added, mark, place)?;
        let found = Found::Needs { path: path.clone(), words: words.to_vec() };
        Some(Fact::new(&found, Some(Draft { summary: SUMMARY.to_owned(), ..draft })))
    });
    drafts.collect()
}

/// Returns what switches a test off where nothing is given.
fn off_without(test: &Test) -> Option<Off> {
    test.off.or(test.asked_for).or(test.needs.as_ref().map(|needs| needs.off))
}

fn name_of(word: &str) -> &str {
    word.split_once(':').map_or(word, |(_, name)| name)
}

/// Returns the drafts of tests that need what nothing gives.
pub(super) fn look_up(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let drafts = facts.iter().filter_map(|fact| {
        let draft = fact.draft.as_ref()?;
        let Found::Needs { path, words } = fact.read()? else { return None };
        let is_given = words.iter().any(|word| Giver { path: &path, lookups }.gives(word));
        (!is_given).then(|| draft.clone())
    });
    drafts.collect()
}

/// The tree around a file whose tests need something.
struct Giver<'l> {
    path: &'l str,
    lookups: &'l dyn Lookups,
}

impl Giver<'_> {
    /// Returns whether something in the tree may give a word.
    fn gives(&self, word: &str) -> bool {
        let Some((kind, name)) = word.split_once(':') else { return true };
        match kind {
            "feature" => self.gives_feature(name),
            "cfg" => self.configures(name),
            "macro" => self.defines(MentionKind::C, name) || self.configures(name),
            "symbol" => self.defines(MentionKind::CSharp, name) || self.configures(name),
            "module" => self.has_module(name),
            "class" => self.mentions_class(name),
            "without" => self.tests_without(name),
            _ => true,
        }
    }

    /// Returns whether CI runs the tests of Go without an option, or does not show how it runs them.
    fn tests_without(&self, option: &str) -> bool {
        const DIRECTORIES: &[&str] = &["", ".circleci", ".github/workflows", ".gitlab"];
        const LISTS: &[&str] = &["gnumakefile", "justfile", "makefile", "magefile.go"];
        let mut is_seen = false;
        for directory in DIRECTORIES {
            for name in self.lookups.files_in(Side::Head, directory) {
                let small = name.to_lowercase();
                if !LISTS.contains(&small.as_str()) && !small.ends_with(".yml") && !small.ends_with(".yaml") {
                    continue;
                }
                let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
                let Some(text) = self.lookups.text(Side::Head, &path) else { return true };
                let mut runs = text.lines().filter(|line| line.contains("go test")).peekable();
                is_seen |= runs.peek().is_some();
                if runs.any(|line| !line.contains(option)) {
                    return true;
                }
            }
        }
        !is_seen
    }

    /// Returns whether another file has a word, or not all were searched.
    fn mentions(&self, kind: MentionKind, name: &str) -> bool {
        let found = self.lookups.mentions(Side::Head, kind, &[name.to_owned()]);
        !found.complete || found.paths.iter().any(|path| path != self.path)
    }

    /// Returns whether code that is no test depends on a macro or a symbol, or a file defines it.
    fn defines(&self, kind: MentionKind, name: &str) -> bool {
        let definition = format!("define {name}");
        let found = self.lookups.mentions(Side::Head, kind, &[name.to_owned()]);
        let others = found.paths.iter().filter(|path| *path != self.path);
        !found.complete
            || found.paths.len() > MOST_FILES
            || others
                .into_iter()
                .any(|path| !is_of_tests(path) || self.has(path, |text| text.contains(&definition)))
    }

    /// Returns whether the text of a file is like this, or cannot be read.
    fn has(&self, path: &str, is_so: impl Fn(&str) -> bool) -> bool {
        self.lookups.text(Side::Head, path).is_none_or(|text| is_so(&text))
    }

    /// Returns whether another file cannot be loaded without a module of Python.
    fn imports(&self, name: &str) -> bool {
        let found = self.lookups.mentions(Side::Head, MentionKind::Python, &[name.to_owned()]);
        let begins = [format!("import {name}"), format!("from {name}")];
        let others = found.paths.iter().filter(|path| *path != self.path);
        !found.complete
            || found.paths.len() > MOST_FILES
            || others.into_iter().any(|path| {
                !is_of_tests(path)
                    || self.has(path, |text| {
                        text.lines().any(|line| begins.iter().any(|begin| line.starts_with(begin)))
                    })
            })
    }

    /// Returns whether a file that configures builds has a word.
    fn configures(&self, name: &str) -> bool {
        self.mentions(MentionKind::Configuration, name)
            || directories(self.path).any(|directory| {
                let files = self.lookups.files_in(Side::Head, directory);
                let builds = files
                    .iter()
                    .filter(|file| file.rsplit_once('.').is_some_and(|(_, ending)| BUILDS.contains(&ending)));
                builds.take(MOST_FILES).any(|file| {
                    let text = self.lookups.text(Side::Head, &joined(directory, file));
                    text.is_none_or(|text| has_word(MentionKind::C, &text, name))
                })
            })
    }

    fn has_module(&self, name: &str) -> bool {
        let top = name.split('.').next().unwrap_or(name);
        let is_own = ["", "src/", "lib/"].iter().any(|root| {
            [format!("{root}{top}"), format!("{root}{top}.py")]
                .iter()
                .any(|path| self.lookups.is_present(Side::Head, path))
        });
        // A distribution has hyphens where its module has none.
        STANDARD_MODULES.binary_search(&top).is_ok()
            || is_own
            || self.imports(top)
            || self.configures(top)
            || top.contains('_') && self.configures(&top.replace('_', "-"))
    }

    fn mentions_class(&self, name: &str) -> bool {
        let kind = match self.path.rsplit('.').next() {
            Some("cs") => MentionKind::CSharp,
            Some("java") => MentionKind::Java,
            Some("php") => MentionKind::Php,
            _ => return true,
        };
        self.mentions(kind, name)
    }

    /// Returns whether a feature of Cargo is one of those that a build has by itself, that a workflow asks for, or that code
    /// outside of tests depends on.
    fn gives_feature(&self, name: &str) -> bool {
        let manifest = directories(self.path)
            .map(|directory| joined(directory, "Cargo.toml"))
            .find_map(|path| Some((self.lookups.text(Side::Head, &path)?, path)));
        let Some((text, manifest)) = manifest else { return true };
        let Ok(document) = Document::parse(Format::Toml, &text) else { return true };
        let root = document.root();
        let is_optional = ["dependencies", "build-dependencies"]
            .iter()
            .any(|table| root.get(table).is_some_and(|table| table.get(name).is_some()));
        let features = root.get("features");
        if features.is_none_or(|features| features.get(name).is_none()) && !is_optional {
            return false;
        }
        let default = features.map(|features| {
            let mut reached: BTreeSet<String> = BTreeSet::new();
            let mut pending = vec!["default".to_owned()];
            while let Some(feature) = pending.pop() {
                let more = features.get(&feature).map(|feature| feature.texts()).unwrap_or_default();
                if reached.insert(feature) {
                    pending.extend(more.into_iter().map(str::to_owned));
                }
            }
            reached
        });
        default.is_some_and(|reached| reached.contains(name) || reached.contains(&format!("dep:{name}")))
            || self.is_used_by_product(name)
            || self.is_asked_for(name, &manifest)
    }

    /// Returns whether code that is no test depends on a feature.
    fn is_used_by_product(&self, name: &str) -> bool {
        let condition = format!("feature=\"{name}\"");
        let found = self.lookups.mentions(Side::Head, MentionKind::Rust, &[name.to_owned()]);
        let product = found.paths.iter().filter(|path| !is_of_tests(path));
        !found.complete
            || product.take(MOST_FILES).any(|path| {
                let text = self.lookups.text(Side::Head, path).unwrap_or_default();
                let squashed: String = text.split_whitespace().collect();
                // The tests in a file of the product are behind one condition themselves.
                squashed.matches(&condition).count() > usize::from(path == self.path)
            })
    }

    /// Returns whether a workflow or a script builds with a feature, or with all.
    fn is_asked_for(&self, name: &str, manifest: &str) -> bool {
        let found = self.lookups.mentions(
            Side::Head,
            MentionKind::Configuration,
            &["all-features".to_owned(), name.to_owned()],
        );
        !found.complete || found.paths.iter().any(|path| path != manifest)
    }
}

fn is_of_tests(path: &str) -> bool {
    const WORDS: &[&str] = &["test_", "_test.", ".test.", "tests.", "Test.", "Tests.", "conftest."];
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    classify::is_example(path)
        || directory.split('/').any(|part| matches!(part, "benches" | "spec" | "test" | "tests"))
        || WORDS.iter().any(|word| name.contains(word))
}

/// Returns the directories around a file, the innermost first; the root is empty.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    let parents = std::iter::successors(path.rsplit_once('/').map(|(directory, _)| directory), |directory| {
        directory.rsplit_once('/').map(|(parent, _)| parent)
    });
    parents.chain(std::iter::once(""))
}

fn joined(directory: &str, file: &str) -> String {
    if directory.is_empty() { file.to_owned() } else { format!("{directory}/{file}") }
}

#[cfg(test)]
mod tests {
    use super::directories;

    #[test]
    fn directories_go_up_to_the_root() {
        assert_eq!(directories("a/b/c.rs").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(directories("c.rs").collect::<Vec<_>>(), [""]);
    }
}
