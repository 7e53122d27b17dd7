//! `vitest`: tests of JavaScript and TypeScript.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::manifests::VITEST;
use super::project::{SCRATCH, command, with_report};

pub(crate) struct Vitest;

impl Tool for Vitest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "vitest",
            version: "3",
            gates: &[GateName::UnitTests],
            language: Language::Node,
            about: "Tests of JavaScript and TypeScript",
            formats: &[ReportFormat::JestJson, ReportFormat::Junit],
            hiding: &[ReportFormat::JestJson, ReportFormat::Junit],
            files: &[],
            stream: Stream::File,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let configured = project.has_file(VITEST);
        if !project.is_at(&["package.json"]) || !(configured || project.node_packages().contains("vitest")) {
            return None;
        }
        let report = format!("{SCRATCH}-vitest.json");
        let to = format!("--outputFile.json={report}");
        // Without a second reporter nothing says which error no test caught.
        let words = [
            "vitest",
            "run",
            "--reporter=dot",
            "--reporter=json",
            &to,
            "--includeTaskLocation",
            "--passWithNoTests=false",
        ];
        Some(CommandTemplate { retries: true, ..with_report(command(project, &words), &report) })
    }
}
