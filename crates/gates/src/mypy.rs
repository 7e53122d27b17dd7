//! `mypy`: types of Python.

use super::contract::{
    CommandOutput, CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool,
    ToolSpec,
};
use super::manifests::{MYPY, PYTHON};
use super::project::{command, prints};
use qa_reading::documents::Format;

pub(crate) struct Mypy;

impl Tool for Mypy {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "mypy",
            version: "3",
            gates: &[GateName::TypeCheck],
            language: Language::Python,
            about: "Types of Python",
            formats: &[ReportFormat::MypyText, ReportFormat::MypyJson, ReportFormat::Junit],
            hiding: &[],
            files: &["py", "pyi"],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let used = project.has_file(MYPY) || project.python_uses("mypy", &["mypy"]);
        // No cache: one that is part of the change could hide errors.
        let words = [
            "mypy",
            "--cache-dir=/dev/null",
            "--show-column-numbers",
            "--show-error-end",
            "--show-error-codes",
            "--no-pretty",
            "--no-color-output",
            "--error-summary",
        ];
        // A path on the command line would override the targets that the project configures.
        let everything: &[&str] = if has_configured_targets(project) { &[] } else { &["."] };
        let words = [&words[..], everything].concat();
        (used && (project.is_at(PYTHON) || project.is_at(MYPY))).then(|| command(project, &words))
    }

    fn printed_meaning(&self, command: &CommandOutput<'_>) -> Option<ExitMeaning> {
        if prints(command.stderr, "There are no .py[i] files in directory") {
            return Some(ExitMeaning::Nothing);
        }
        // If its configuration cannot be read, mypy uses its defaults and exits with success unless they find errors.
        let files = ["pyproject.toml: ", "setup.cfg: ", "mypy.ini: ", ".mypy.ini: "];
        let stderr = String::from_utf8_lossy(command.stderr);
        let ignored = stderr.lines().any(|line| files.iter().any(|file| line.starts_with(file)));
        ignored.then_some(ExitMeaning::Broken)
    }
}

/// Returns whether the project's configuration lists files, packages or modules for mypy.
fn has_configured_targets(project: &Project<'_>) -> bool {
    let toml = project.documents(&["pyproject.toml"], Format::Toml);
    let ini = project.documents(&["mypy.ini", ".mypy.ini", "setup.cfg"], Format::Ini);
    let toml = toml.iter().filter_map(|manifest| manifest.root().at(&["tool", "mypy"]));
    let mut sections = toml.chain(ini.iter().filter_map(|manifest| manifest.root().get("mypy")));
    sections.any(|section| ["files", "packages", "modules"].iter().any(|key| section.get(key).is_some()))
}
