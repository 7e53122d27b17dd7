//! Reads from a project's manifests which tools it uses, and builds their commands.

use std::collections::BTreeSet;

use serde_json::Value;

use super::contract::{CommandTemplate, Project};
use super::selection::{ManifestUse, is_requirements, manifest_use, upwards};

/// Prefix of the files that our commands write. No such file may exist before a run, as it would be mistaken for the
/// tool's report.
pub(crate) const SCRATCH: &str = ".qa-skill-gate";

impl<'a> Project<'a> {
    /// Returns the file name of a path in this directory or above it.
    fn name_if_above(&self, path: &'a str) -> Option<&'a str> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        upwards(self.directory).any(|directory| directory == folder).then_some(name)
    }

    /// Returns whether this directory or one above it has a file with one of these names.
    pub(crate) fn has_file(&self, names: &[&str]) -> bool {
        debug_assert!(names.iter().all(|name| manifest_use(name) != ManifestUse::None), "{names:?}");
        let listed = self.paths.iter().copied().chain(self.manifests.iter().map(|(path, _)| *path));
        listed.filter_map(|path| self.name_if_above(path)).any(|name| names.contains(&name))
    }

    /// Returns the manifests with that name, nearest first, as directory and text.
    pub(crate) fn manifests_named(&self, name: &str) -> Vec<(&'a str, &'a str)> {
        debug_assert!(manifest_use(name) == ManifestUse::ByText, "{name}");
        let mut found = Vec::new();
        for &(path, text) in self.manifests {
            if self.name_if_above(path) == Some(name) {
                found.push((path[..path.len() - name.len()].trim_end_matches('/'), text));
            }
        }
        found.sort_by_key(|(directory, _)| std::cmp::Reverse(directory.len()));
        found
    }

    /// Returns whether the project's own directory has a manifest with one of these names.
    pub(crate) fn is_at(&self, names: &[&str]) -> bool {
        debug_assert!(names.iter().all(|name| manifest_use(name) != ManifestUse::None), "{names:?}");
        let listed = self.paths.iter().copied().chain(self.manifests.iter().map(|(path, _)| *path));
        listed
            .map(|path| path.rsplit_once('/').unwrap_or(("", path)))
            .any(|(directory, name)| directory == self.directory && names.contains(&name))
    }

    /// Returns the dependencies of a Node project, from its own manifest and those above it.
    pub(crate) fn node_packages(&self) -> BTreeSet<String> {
        let mut packages = BTreeSet::new();
        for (_, text) in self.manifests_named("package.json") {
            let Ok(manifest) = qa_contracts::strict_json::parse(text.as_bytes()) else { continue };
            for list in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] {
                packages.extend(
                    manifest
                        .get(list)
                        .and_then(Value::as_object)
                        .into_iter()
                        .flat_map(|list| list.keys().cloned()),
                );
            }
        }
        packages
    }

    /// Returns whether the nearest `package.json` has a member.
    pub(crate) fn node_member(&self, key: &str) -> bool {
        let manifests = self.manifests_named("package.json");
        let Some((_, text)) = manifests.first() else { return false };
        match qa_contracts::strict_json::parse(text.as_bytes()) {
            Ok(manifest) => manifest.get(key).is_some(),
            Err(_) => false,
        }
    }

    /// Returns whether a Python project configures a tool in one of its files, or lists it as a requirement.
    pub(crate) fn python_uses(&self, tool: &str, sections: &[&str]) -> bool {
        let files = ["pyproject.toml", "setup.cfg", "tox.ini", "Pipfile"];
        let configured = files.iter().flat_map(|file| self.manifests_named(file)).any(|(_, text)| {
            let mut lines = text.lines().map(str::trim);
            lines.any(|line| sections.contains(&line) || requires(line, tool))
        });
        configured || self.requirement_lines().any(|line| requires(line.trim(), tool))
    }

    /// Returns the lines of `requirements*.txt` in this directory and above it.
    fn requirement_lines(&self) -> impl Iterator<Item = &'a str> {
        let lists = self.manifests.iter().filter(|(path, _)| match self.name_if_above(path) {
            Some(name) => is_requirements(name),
            None => false,
        });
        lists.flat_map(|(_, text)| text.lines())
    }
}

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

/// Returns whether a line of a manifest has a requirement on a tool: `ruff>=0.5`, `"ruff",`, `ruff = "^0.5"`,
/// `dev = ["ruff"]`.
fn requires(line: &str, tool: &str) -> bool {
    let bare = line.trim_start_matches(['"', '\'', '-', ' ']);
    if let Some((name, rest)) = bare.split_at_checked(tool.len())
        && name.eq_ignore_ascii_case(tool)
    {
        let rest = rest.trim_start();
        let ends = ['=', '<', '>', '~', '!', '[', '"', '\'', ';', ',', '@', '#'];
        if rest.is_empty() || rest.starts_with(ends) {
            return true;
        }
    }
    line.contains('[') && line.split(['[', ',']).skip(1).any(|part| requires(part.trim(), tool))
}

/// Builds a command that runs `words` in the project's directory.
pub(crate) fn command(project: &Project<'_>, words: &[&str]) -> CommandTemplate {
    CommandTemplate {
        argv: words.iter().map(|&word| word.to_owned()).collect(),
        directory: project.directory.to_owned(),
        report_file: None,
        version_argv: vec![words[0].to_owned(), "--version".to_owned()],
        retries: false,
        module: String::new(),
    }
}

/// Returns whether a stream contains these words.
pub(crate) fn prints(stream: &[u8], words: &str) -> bool {
    String::from_utf8_lossy(stream).contains(words)
}

/// Returns the workspace root of a Cargo project: the nearest directory whose manifest has a `[workspace]`, or its own.
pub(crate) fn cargo_root<'a>(project: &Project<'a>) -> Option<Project<'a>> {
    let manifests = project.manifests_named("Cargo.toml");
    let (own, _) = manifests.first().filter(|(directory, _)| *directory == project.directory)?;
    let directory = match manifests.iter().find(|(_, text)| is_workspace(text)) {
        Some((directory, _)) => directory,
        None => own,
    };
    Some(Project { directory, ..*project })
}

fn is_workspace(manifest: &str) -> bool {
    manifest.lines().any(|line| line.trim().starts_with("[workspace"))
}

/// Builds a command for a Go module. Returns `None` if the directory is not the module's root.
pub(crate) fn go_command(project: &Project<'_>, words: &[&str]) -> Option<CommandTemplate> {
    let (directory, text) = *project.manifests_named("go.mod").first()?;
    let named = text.lines().find_map(|line| line.trim().strip_prefix("module "));
    let module =
        named.map(|name| name.split("//").next().unwrap_or(name).trim().trim_matches('"').to_owned());
    let version_argv = ["go", "version"].map(str::to_owned).to_vec();
    let template =
        CommandTemplate { version_argv, module: module.unwrap_or_default(), ..command(project, words) };
    (directory == project.directory).then_some(template)
}
