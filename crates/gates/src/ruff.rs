//! `ruff`: lint of Python.

use super::contract::{
    CommandOutput, CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool,
    ToolSpec,
};
use super::manifests::{PYTHON, RUFF};
use super::project::{command, prints};

pub(crate) struct Ruff;

impl Tool for Ruff {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "ruff",
            version: "3",
            gates: &[GateName::Lint],
            language: Language::Python,
            about: "Likely mistakes and style in Python",
            formats: &[ReportFormat::RuffJson, ReportFormat::Sarif, ReportFormat::Junit],
            hiding: &[],
            files: &["py", "pyi"],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Broken)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let configured = project.has_file(RUFF) || project.python_uses("ruff", &[]);
        let used = configured && (project.is_at(PYTHON) || project.is_at(RUFF));
        used.then(|| {
            command(project, &["ruff", "check", "--no-cache", "--no-fix", "--output-format", "json", "."])
        })
    }

    fn printed_meaning(&self, command: &CommandOutput<'_>) -> Option<ExitMeaning> {
        prints(command.stderr, "No Python files found under the given path").then_some(ExitMeaning::Nothing)
    }
}
