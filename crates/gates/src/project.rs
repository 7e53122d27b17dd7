//! Reads from a project's manifests which tools it uses, and builds their commands.

use std::collections::BTreeSet;

use qa_reading::documents::{Document, Format, Node, Step};
use qa_reading::go_mod;
use qa_reading::requirements::{Requirement, requirements};

use super::contract::{CommandTemplate, Project, ReportFiles};
use super::manifests::{ManifestUse, is_requirements, manifest_use, upwards};

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
        for manifest in self.documents(&["package.json"], Format::Json) {
            for list in ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] {
                let entries = manifest.root().get(list).into_iter().flat_map(Node::entries);
                packages.extend(entries.map(|entry| entry.key.to_owned()));
            }
        }
        packages
    }

    /// Returns whether the nearest `package.json` has a member.
    pub(crate) fn node_member(&self, key: &str) -> bool {
        let manifests = self.manifests_named("package.json");
        let Some((_, text)) = manifests.first() else { return false };
        Document::parse(Format::Json, text).is_ok_and(|manifest| manifest.root().get(key).is_some())
    }

    /// Returns whether a Python project configures a tool in one of its files, in the table `tool` of TOML or in one of
    /// the sections of an INI file, or lists it as a requirement.
    pub(crate) fn python_uses(&self, tool: &str, sections: &[&str]) -> bool {
        let toml = self.documents(&["pyproject.toml", "Pipfile"], Format::Toml).into_iter().any(|manifest| {
            manifest.root().at(&["tool", tool]).is_some() || lists_requirement(manifest.root(), tool)
        });
        toml || self.ini_uses(tool, sections) || self.requirement_texts().any(|text| requires(text, tool))
    }

    fn ini_uses(&self, tool: &str, sections: &[&str]) -> bool {
        self.documents(&["setup.cfg", "tox.ini"], Format::Ini).into_iter().any(|manifest| {
            let mut sections = sections.iter();
            sections.any(|section| manifest.root().get(section).is_some())
                || lists_requirement(manifest.root(), tool)
        })
    }

    /// Returns the manifests with these names that their tools can read, nearest first for each name.
    pub(crate) fn documents(&self, names: &[&str], format: Format) -> Vec<Document<'a>> {
        let texts = names.iter().flat_map(|name| self.manifests_named(name));
        texts.filter_map(|(_, text)| Document::parse(format, text).ok()).collect()
    }

    /// Returns the texts of `requirements*.txt` in this directory and above it.
    fn requirement_texts(&self) -> impl Iterator<Item = &'a str> {
        let lists = self.manifests.iter().filter(|(path, _)| match self.name_if_above(path) {
            Some(name) => is_requirements(name),
            None => false,
        });
        lists.map(|(_, text)| *text)
    }
}

/// Returns whether a document lists a tool as a requirement: as the key of a table of dependencies, or in a text.
fn lists_requirement(root: Node<'_>, tool: &str) -> bool {
    let Ok(leaves) = root.leaves() else { return false };
    leaves.iter().any(|leaf| {
        let mut keys = leaf.path.iter().filter_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Item(_) => None,
        });
        // Keys below the list are names of packages, and texts are requirements.
        keys.any(is_list_key)
            && (keys.any(|key| key.eq_ignore_ascii_case(tool))
                || leaf.value.text().is_some_and(|text| requires(text, tool)))
    })
}

/// Returns whether a key may be the one of a list of requirements.
fn is_list_key(key: &str) -> bool {
    ["dep", "require", "packages"].iter().any(|word| key.contains(word))
}

/// Returns whether requirements of Python have a tool among them.
fn requires(text: &str, tool: &str) -> bool {
    // A line that pip refuses hides no other.
    let mut requirements = text.lines().filter_map(|line| requirements(line).ok()).flatten();
    requirements.any(|requirement| match requirement {
        Requirement::Package(package) => {
            package.name.is_some_and(|name| name.text.eq_ignore_ascii_case(tool))
        }
        Requirement::Option { .. } => false,
    })
}

/// Builds a command that runs `words` in the project's directory.
pub(crate) fn command(project: &Project<'_>, words: &[&str]) -> CommandTemplate {
    CommandTemplate {
        argv: words.iter().map(|&word| word.to_owned()).collect(),
        directory: project.directory.to_owned(),
        report_files: None,
        format: None,
        version_argv: vec![words[0].to_owned(), "--version".to_owned()],
        retries: false,
        module: String::new(),
    }
}

/// Returns the template with its report in a file of its directory.
pub(crate) fn with_report(template: CommandTemplate, file: &str) -> CommandTemplate {
    let directory = &template.directory;
    let path = if directory.is_empty() { file.to_owned() } else { format!("{directory}/{file}") };
    CommandTemplate { report_files: Some(ReportFiles::File(path)), ..template }
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
    Document::parse(Format::Toml, manifest).is_ok_and(|manifest| manifest.root().get("workspace").is_some())
}

/// Builds a command for a Go module. Returns `None` if the directory is not the module's root.
pub(crate) fn go_command(project: &Project<'_>, words: &[&str]) -> Option<CommandTemplate> {
    let (directory, text) = *project.manifests_named("go.mod").first()?;
    let directives = go_mod::directives(text).unwrap_or_default();
    let named = directives.iter().find(|directive| directive.verb == "module");
    let module = named.and_then(|directive| directive.words.first()).map(|name| name.text.clone());
    let version_argv = ["go", "version"].map(str::to_owned).to_vec();
    let template =
        CommandTemplate { version_argv, module: module.unwrap_or_default(), ..command(project, words) };
    (directory == project.directory).then_some(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses_ruff(path: &str, text: &str) -> bool {
        let project = Project { directory: "", manifests: &[(path, text)], paths: &[path] };
        project.python_uses("ruff", &[])
    }

    #[test]
    fn a_tool_is_found_in_every_spelling_of_a_manifest() {
        for (path, text) in [
            ("pyproject.toml", "[ tool . ruff ]\n"),
            ("pyproject.toml", "tool.ruff.line-length = 80\n"),
            ("pyproject.toml", "[tool.\"ruff\".lint]\n"),
            ("pyproject.toml", "[dependency-groups]\ndev = [\n  'mypy', \"Ruff >= 0.5\",\n]\n"),
            ("pyproject.toml", "[tool.poetry.group.dev.dependencies.ruff]\nversion = \"^0.5\"\n"),
            ("Pipfile", "dev-packages = { ruff = \"*\" }\n"),
            ("setup.cfg", "[options.extras_require]\ndev =\n  mypy\n  ruff\n"),
            ("requirements-dev.txt", "--broken\n==1\nruff\n"),
        ] {
            assert!(uses_ruff(path, text), "{path} {text}");
        }
        for (path, text) in [
            ("pyproject.toml", "# [tool.ruff]\n"),
            ("pyproject.toml", "description = \"\"\"\n[tool.ruff]\n\"\"\"\n"),
            ("pyproject.toml", "[project]\nname = \"ruff\"\ndependencies = [\"ruff-lsp\"]\n"),
            ("requirements.txt", "# ruff\nruff-lsp\n"),
        ] {
            assert!(!uses_ruff(path, text), "{path} {text}");
        }
    }
}
