//! `cargo-test`: tests of Rust.

use super::contract::{
    CommandOutput, CommandTemplate, ExitMeaning, GateName, Language, Places, Project, Report, ReportError,
    ReportFormat, Stream, Tool, ToolSpec,
};
use super::project::{cargo_root, command};
use super::readers::libtest;

pub(crate) struct CargoTest;

impl Tool for CargoTest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "cargo-test",
            version: "3",
            gates: &[GateName::UnitTests],
            language: Language::Rust,
            about: "Tests of Rust",
            formats: &[ReportFormat::CargoTest, ReportFormat::LibtestJson, ReportFormat::Junit],
            hiding: &[],
            files: &[],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (101, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let project = cargo_root(project)?;
        let words = [
            "cargo",
            "test",
            "--workspace",
            "--no-fail-fast",
            "--message-format=json",
            "--color=never",
            "--offline",
        ];
        Some(CommandTemplate { retries: true, ..command(&project, &words) })
    }

    /// Takes the name of each test program from standard error, where cargo prints it.
    fn read_command(&self, command: &CommandOutput<'_>, places: &Places<'_>) -> Result<Report, ReportError> {
        let report = command.report_bytes(self.spec())?;
        let programs = libtest::programs(&String::from_utf8_lossy(command.stderr));
        libtest::read_cargo_test(&report, places, &programs)
    }
}
