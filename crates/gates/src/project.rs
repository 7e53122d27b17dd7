//! What manifests of a project say about the tools it uses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::contract::{CommandTemplate, Project};
use super::wanted::{Decides, decides};

/// The file that a command of ours writes its report to. No file whose name begins with this may be there before: it
/// would be taken for the tool's own word.
pub(crate) const SCRATCH: &str = ".qa-skill-gate";

impl<'a> Project<'a> {
    /// The file name of a path that stands in this directory or above it.
    fn here(&self, path: &'a str) -> Option<&'a str> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = folder.is_empty()
            || self.directory == folder
            || self.directory.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        above.then_some(name)
    }

    /// Whether a file of one of these names stands in this directory or above it.
    pub(crate) fn has_file(&self, names: &[&str]) -> bool {
        debug_assert!(names.iter().all(|name| decides(name) != Decides::Not), "{names:?}");
        let listed = self.paths.iter().copied().chain(self.manifests.iter().map(|(path, _)| *path));
        listed.filter_map(|path| self.here(path)).any(|name| names.contains(&name))
    }

    /// The manifests of a name, nearest first, as directory and text.
    pub(crate) fn named(&self, name: &str) -> Vec<(&'a str, &'a str)> {
        debug_assert!(decides(name) == Decides::ByText, "{name}");
        let of = |(path, text): &(&'a str, &'a str)| {
            let found = self.here(path).filter(|found| *found == name)?;
            Some((path[..path.len() - found.len()].trim_end_matches('/'), *text))
        };
        let mut found: Vec<(&str, &str)> = self.manifests.iter().filter_map(of).collect();
        found.sort_by_key(|(directory, _)| std::cmp::Reverse(directory.len()));
        found
    }

    /// Whether the project itself has a manifest of one of these names.
    pub(crate) fn is_at(&self, names: &[&str]) -> bool {
        debug_assert!(names.iter().all(|name| decides(name) != Decides::Not), "{names:?}");
        let listed = self.paths.iter().copied().chain(self.manifests.iter().map(|(path, _)| *path));
        listed
            .map(|path| path.rsplit_once('/').unwrap_or(("", path)))
            .any(|(directory, name)| directory == self.directory && names.contains(&name))
    }

    /// The packages a Node project names as dependencies, in its own manifest and in those above it.
    pub(crate) fn node_packages(&self) -> BTreeSet<String> {
        let mut packages = BTreeSet::new();
        for (_, text) in self.named("package.json") {
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

    /// Whether the nearest `package.json` has a member.
    pub(crate) fn node_member(&self, key: &str) -> bool {
        let own = self
            .named("package.json")
            .first()
            .and_then(|(_, text)| qa_contracts::strict_json::parse(text.as_bytes()).ok());
        own.is_some_and(|manifest| manifest.get(key).is_some())
    }

    /// Whether a Python project configures a tool in one of its files or names it as a requirement.
    pub(crate) fn python_uses(&self, tool: &str, sections: &[&str]) -> bool {
        let files = ["pyproject.toml", "setup.cfg", "tox.ini", "Pipfile"];
        let configured = files.iter().flat_map(|file| self.named(file)).any(|(_, text)| {
            let mut lines = text.lines().map(str::trim);
            lines.any(|line| sections.contains(&line) || requires(line, tool))
        });
        let lists = self.manifests.iter().filter(|(path, _)| {
            self.here(path).is_some_and(|name| name.starts_with("requirements") && name.ends_with(".txt"))
        });
        configured || lists.flat_map(|(_, text)| text.lines()).any(|line| requires(line.trim(), tool))
    }
}

/// The manifests of Python projects.
pub(crate) const PYTHON: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "Pipfile",
    "tox.ini",
];

/// Whether a line of a manifest begins a requirement of that name: `ruff>=0.5`, `"ruff",`, `ruff = "^0.5"`.
fn requires(line: &str, tool: &str) -> bool {
    let bare = line.trim_start_matches(['"', '\'', '-', ' ']);
    let named = bare.len() >= tool.len()
        && bare.is_char_boundary(tool.len())
        && bare[..tool.len()].eq_ignore_ascii_case(tool);
    let after = named.then(|| bare[tool.len()..].trim_start());
    let listed = |line: &str| {
        line.contains('[') && line.split(['[', ',']).skip(1).any(|part| requires(part.trim(), tool))
    };
    after.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['=', '<', '>', '~', '!', '[', '"', '\'', ';', ',', '@', '#'])
    }) || listed(line)
}

/// A command in the project's directory whose words are given.
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

/// Whether a stream has these words.
pub(crate) fn prints(stream: &[u8], words: &str) -> bool {
    String::from_utf8_lossy(stream).contains(words)
}

/// The root of the Cargo workspace that a Rust project is of: the nearest manifest above with a `[workspace]`, else its own.
pub(crate) fn cargo_root<'a>(project: &Project<'a>) -> Option<Project<'a>> {
    let manifests = project.named("Cargo.toml");
    let (own, _) = manifests.first().filter(|(directory, _)| *directory == project.directory)?;
    let is_root = |text: &str| text.lines().map(str::trim).any(|line| line.starts_with("[workspace"));
    let root = manifests.iter().find(|(_, text)| is_root(text)).map_or(*own, |(directory, _)| directory);
    Some(Project { directory: root, ..*project })
}

/// A command for a Go module.
pub(crate) fn go_command(project: &Project<'_>, words: &[&str]) -> Option<CommandTemplate> {
    let (directory, text) = *project.named("go.mod").first()?;
    let named = text.lines().find_map(|line| line.trim().strip_prefix("module "));
    let module =
        named.map(|name| name.split("//").next().unwrap_or(name).trim().trim_matches('"').to_owned());
    let version_argv = ["go", "version"].map(str::to_owned).to_vec();
    let template =
        CommandTemplate { version_argv, module: module.unwrap_or_default(), ..command(project, words) };
    (directory == project.directory).then_some(template)
}
