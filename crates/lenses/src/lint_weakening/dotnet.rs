//! Settings of .NET that a change moves between files, which MSBuild and Roslyn add up.

use qa_contracts::v1::Side;

use super::compare::{self, Weakening};
use super::in_force::{Tree, ancestors, joined};
use super::settings::{Configuration, Key, Value};
use super::tool::{Direction, Scope, Tool};
use super::{Comparison, leaves_out, place_of};

/// Files that MSBuild adds to every project below them.
const INHERITED: &[&str] = &["Directory.Build.props", "Directory.Build.targets"];
/// Words in the path of a source file of tests, in lower case.
const TEST_WORDS: &[&str] = &["fact", "spec", "test"];

/// The settings of a changed file at the base and at head.
pub(super) struct Versions {
    path: String,
    base: Configuration,
    head: Configuration,
}

impl Comparison<'_> {
    /// Reads the changed files that configure a tool whose settings move between files; none for other tools.
    pub(super) fn versions(&self, tool: &'static Tool) -> Vec<Versions> {
        if tool.scope != Scope::Project {
            return Vec::new();
        }
        let mut versions = Vec::new();
        for change in self.changes {
            let [old, new] = [Side::Base, Side::Head].map(|side| change.path(side));
            let Some(path) = new.or(old).filter(|path| place_of(tool, path).is_some()) else { continue };
            let base = old.map(|path| configuration(&self.base, tool, path)).unwrap_or_default();
            let head = new.map(|path| configuration(&self.head, tool, path)).unwrap_or_default();
            versions.push(Versions { path: path.to_owned(), base, head });
        }
        versions
    }

    /// Returns whether another changed file or section gives what was lost, or gave what was gained, or a file that the
    /// project inherits from sets the same.
    pub(super) fn is_moved(
        &self,
        tool: &'static Tool,
        weakening: &Weakening,
        directory: &str,
        versions: &[Versions],
    ) -> bool {
        if tool.scope != Scope::Project {
            return false;
        }
        let inherited = self.inherited(tool, directory);
        let is_lost = weakening.head.is_none() || weakening.direction == Direction::Includes;
        if is_lost {
            return inherited.iter().any(|above| gives(tool, above, weakening))
                || versions.iter().any(|other| {
                    gives(tool, &other.head, weakening) && !gives(tool, &other.base, weakening)
                        || has_other_section(tool, &other.head, &other.base, weakening)
                });
        }
        let is_gained = weakening.base.is_none() || leaves_out(weakening.direction);
        is_gained
            && (inherited.iter().any(|above| silences(above, weakening))
                || versions.iter().any(|other| {
                    !other.path.ends_with("proj")
                        && silences(&other.base, weakening)
                        && !silences(&other.head, weakening)
                }))
    }

    /// Returns the settings at head of the files that MSBuild adds to the projects of a directory, without that of the
    /// directory itself.
    fn inherited(&self, tool: &'static Tool, directory: &str) -> Vec<Configuration> {
        if tool.name != "MSBuild" {
            return Vec::new();
        }
        let paths = ancestors(directory)
            .into_iter()
            .skip(1)
            .flat_map(|above| INHERITED.iter().map(move |name| joined(above, name)));
        paths.map(|path| configuration(&self.head, tool, &path)).collect()
    }

    /// Returns whether the sources that a project no longer compiles are no tests of the base.
    pub(super) fn is_without_tests(&self, tool: &Tool, weakening: &Weakening, directory: &str) -> bool {
        if tool.name != "MSBuild" || weakening.setting != "Compile.@Remove" {
            return false;
        }
        !weakening.entries.iter().any(|entry| {
            let path = joined(directory, &entry.replace('\\', "/"));
            let lower = path.to_lowercase();
            let is_pattern = path.contains(['*', '$']);
            TEST_WORDS.iter().any(|word| lower.contains(word))
                && !lower.contains("/obj/")
                && !lower.contains("/bin/")
                && (is_pattern || self.lookups.is_present(Side::Base, &path))
        })
    }
}

fn configuration(tree: &Tree<'_>, tool: &'static Tool, path: &str) -> Configuration {
    let Some((place, path)) = place_of(tool, path) else { return Configuration::default() };
    tree.of_file(tool, place, path).configuration
}

/// Returns whether two settings are about the same rule, whatever files they are for.
fn is_same_rule(one: &Key, other: &Key) -> bool {
    let names = [one, other].map(|key| key.names.last());
    one.setting == other.setting && names[0] == names[1] && one.part == other.part
}

/// Returns whether a configuration has at least what a weakening lost.
fn gives(tool: &Tool, configuration: &Configuration, weakening: &Weakening) -> bool {
    configuration.values.iter().any(|(key, located)| {
        let Some(lost) = &weakening.base else { return false };
        let setting = &tool.settings[key.setting];
        is_same_rule(key, &weakening.key)
            && match &located.value {
                Value::Unknown => false,
                Value::Entries(entries) => weakening.entries.iter().all(|entry| entries.contains(entry)),
                Value::Flag(_) | Value::Level(_) | Value::Number(_) | Value::Options(_) | Value::Word(_) => {
                    compare::weaker(setting, Some(lost), Some(located)).is_none()
                }
            }
    })
}

/// Returns whether head has at least what was lost in a section that the base does not have.
fn has_other_section(tool: &Tool, head: &Configuration, base: &Configuration, weakening: &Weakening) -> bool {
    let mut added = head.clone();
    added.values.retain(|key, _| !base.values.contains_key(key));
    gives(tool, &added, weakening)
}

/// Returns whether a configuration has what a weakening gained.
fn silences(configuration: &Configuration, weakening: &Weakening) -> bool {
    let Some(gained) = &weakening.head else { return false };
    configuration.values.iter().any(|(key, located)| {
        let is_silent = match &located.value {
            Value::Entries(entries) => weakening.entries.iter().all(|entry| entries.contains(entry)),
            Value::Flag(_)
            | Value::Level(_)
            | Value::Number(_)
            | Value::Options(_)
            | Value::Unknown
            | Value::Word(_) => located.value == gained.value,
        };
        is_silent && is_same_rule(key, &weakening.key)
    })
}
