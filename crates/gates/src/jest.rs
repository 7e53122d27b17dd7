//! `jest`: tests of JavaScript and TypeScript.

use super::contract::{
    CommandOutput, CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool,
    ToolSpec,
};
use super::manifests::{JEST, VITEST};
use super::project::{SCRATCH, command, prints, with_report};

pub(crate) struct Jest;

impl Tool for Jest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "jest",
            version: "2",
            gates: &[GateName::UnitTests],
            language: Language::Node,
            about: "Tests of JavaScript and TypeScript, where there is no Vitest",
            formats: &[ReportFormat::JestJson],
            // An error after the last test of a file ends Jest, and its report passes.
            hiding: &[ReportFormat::JestJson],
            files: &[],
            stream: Stream::File,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let packages = project.node_packages();
        let configured = project.has_file(JEST) || project.node_member("jest");
        let used = project.is_at(&["package.json"]) && (configured || packages.contains("jest"));
        if !used || packages.contains("vitest") || project.has_file(VITEST) {
            return None;
        }
        let report = format!("{SCRATCH}-jest.json");
        let to = format!("--outputFile={report}");
        let words = ["jest", "--ci", "--json", &to, "--testLocationInResults", "--passWithNoTests=false"];
        Some(CommandTemplate { retries: true, ..with_report(command(project, &words), &report) })
    }

    fn printed_meaning(&self, command: &CommandOutput<'_>) -> Option<ExitMeaning> {
        prints(command.stderr, "No tests found, exiting with code").then_some(ExitMeaning::Nothing)
    }
}
