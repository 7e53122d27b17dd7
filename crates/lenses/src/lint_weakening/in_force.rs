//! Finds the configuration of a tool that is in force for a directory, at the base or at head.

use qa_contracts::v1::Side;
use qa_reading::documents::ReadError;

use super::settings::{self, Configuration, Value, format_of};
use super::tool::{Place, Scope, Tool};
use crate::contract::Lookups;

/// Configurations that build on each other, at most.
const MAX_CHAIN: usize = 8;

/// Merge base or head tree.
pub(super) struct Tree<'a> {
    pub(super) side: Side,
    pub(super) lookups: &'a dyn Lookups,
}

/// The settings in force, with the files that they come from.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) configuration: Configuration,
    /// Paths, the one that wins first. Empty where the tool has no configuration.
    pub(super) files: Vec<String>,
    /// The first file that could not be read as what it is.
    pub(super) unreadable: Option<Unreadable>,
}

/// A configuration that its tool could not read either.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) path: String,
    pub(super) error: ReadError,
}

impl Tree<'_> {
    /// Returns the settings in force for a directory.
    pub(super) fn in_force(&self, tool: &Tool, directory: &str) -> Found {
        let mut found = Found::default();
        for ancestor in ancestors(directory) {
            let Some((place, path)) = self.first_place(tool, ancestor) else { continue };
            if !self.add(tool, place, path, &mut found) {
                continue;
            }
            if tool.scope != Scope::Cascade || found.configuration.is_root {
                break;
            }
        }
        found
    }

    /// Returns the settings of one file and of those that it builds on.
    pub(super) fn of_file(&self, tool: &Tool, place: &Place, path: &str) -> Found {
        let mut found = Found::default();
        self.add(tool, place, path.to_owned(), &mut found);
        found
    }

    /// Returns the place that wins in a directory, with its path.
    fn first_place<'t>(&self, tool: &'t Tool, directory: &str) -> Option<(&'t Place, String)> {
        let names = self.lookups.files_in(self.side, directory);
        for place in tool.places {
            if place.file.contains('/') {
                let path = joined(directory, place.file);
                if self.lookups.is_present(self.side, &path) && self.has_part(tool, place, &path) {
                    return Some((place, path));
                }
                continue;
            }
            for name in &names {
                let path = joined(directory, name);
                if place.directory(&path) == Some(directory) && self.has_part(tool, place, &path) {
                    return Some((place, path));
                }
            }
        }
        None
    }

    /// Returns whether a file has a part for the tool; one that cannot be read may have.
    fn has_part(&self, tool: &Tool, place: &Place, path: &str) -> bool {
        let Some(text) = self.lookups.text(self.side, path) else { return true };
        !matches!(settings::read_settings(tool, place, path, &text), Ok(None))
    }

    /// Adds the settings of a file below those that are there; false where it has no part for the tool.
    fn add(&self, tool: &Tool, place: &Place, path: String, found: &mut Found) -> bool {
        if found.files.contains(&path) || found.files.len() >= MAX_CHAIN {
            return false;
        }
        let Some(text) = self.lookups.text(self.side, &path) else {
            return false;
        };
        let configuration = match settings::read_settings(tool, place, &path, &text) {
            Ok(Some(configuration)) => configuration,
            Ok(None) => return false,
            Err(error) => {
                // It is there all the same, and may go.
                found.files.push(path.clone());
                found.unreadable.get_or_insert(Unreadable { path, error });
                return false;
            }
        };
        let builds_on = configuration.builds_on.clone();
        if found.files.is_empty() {
            found.configuration.is_about_versions = configuration.is_about_versions;
            found.configuration.is_known = configuration.is_known;
        }
        found.files.push(path.clone());
        found.configuration.merge_below(configuration);
        for name in builds_on {
            let Some(base) = resolved(&path, &name) else { continue };
            let Some(format) = format_of(&base) else { continue };
            let own = tool.places.iter().find(|place| place.directory(&base).is_some());
            let section = own.map(|place| place.section).unwrap_or_default();
            let place = Place { file: "", format, section };
            if !self.add(tool, &place, base, found) {
                found.configuration.is_partly_unknown = true;
            }
        }
        true
    }
}

impl Configuration {
    /// Returns whether all it does is to set lints to the level at which nothing is reported.
    pub(super) fn only_silences(&self) -> bool {
        !self.values.is_empty() && self.values.values().all(|located| located.value == Value::Level(0))
    }

    /// Adds the settings of a configuration that this one goes before.
    fn merge_below(&mut self, below: Self) {
        for (key, value) in below.values {
            self.values.entry(key).or_insert(value);
        }
        self.builds_on.extend(below.builds_on);
        self.is_root |= below.is_root;
        self.is_partly_unknown |= below.is_partly_unknown;
        self.is_known &= below.is_known;
    }
}

/// Returns the directory and those above it, the root last.
pub(super) fn ancestors(directory: &str) -> Vec<&str> {
    let mut all = vec![directory];
    let mut rest = directory;
    while let Some((above, _)) = rest.rsplit_once('/') {
        all.push(above);
        rest = above;
    }
    if !directory.is_empty() {
        all.push("");
    }
    all
}

pub(super) fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Path that a relative path stands for beside a file; none where it leaves the repository.
pub(super) fn resolved(file: &str, relative: &str) -> Option<String> {
    let directory = file.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_stays_in_the_repository() {
        for (file, relative, expected) in [
            ("a/b/c.json", "../d.json", Some("a/d.json")),
            ("c.json", "./d/e.json", Some("d/e.json")),
            ("c.json", "../d.json", None),
        ] {
            assert_eq!(resolved(file, relative).as_deref(), expected, "{file} {relative}");
        }
        assert_eq!(ancestors("a/b"), ["a/b", "a", ""]);
        assert_eq!(ancestors(""), [""]);
    }
}
