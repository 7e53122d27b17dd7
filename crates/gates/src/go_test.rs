//! `go-test`: tests of Go.

use super::contract::{
    CommandOutput, CommandTemplate, ExitMeaning, GateName, Language, Places, Project, Report, ReportError,
    ReportFormat, Stream, Tool, ToolSpec,
};
use super::project::go_command;
use super::readers::go;

pub(crate) struct GoTest;

impl Tool for GoTest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "go-test",
            version: "3",
            gates: &[GateName::UnitTests],
            language: Language::Go,
            about: "Tests of Go",
            formats: &[ReportFormat::GoTestJson, ReportFormat::Junit],
            hiding: &[],
            files: &[],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let template = go_command(project, &["go", "test", "-json", "-count=1", "./..."])?;
        Some(CommandTemplate { retries: true, ..template })
    }

    /// Adds compiler errors from standard error, the only place where Go before 1.24 prints them.
    fn read_command(&self, command: &CommandOutput<'_>, places: &Places<'_>) -> Result<Report, ReportError> {
        let report = command.report_bytes(self.spec())?;
        let mut read = self.read_report(ReportFormat::GoTestJson, &report, places)?;
        if read.tests.iter().any(|test| test.outcome.fails()) {
            read.diagnostics.extend(go::compiler_errors(&String::from_utf8_lossy(command.stderr), places));
        }
        Ok(read)
    }
}
