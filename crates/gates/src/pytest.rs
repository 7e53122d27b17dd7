//! `pytest`: tests of Python.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Places, Project, Report, ReportError, ReportFormat,
    Stream, Tool, ToolSpec,
};
use super::project::{PYTHON, SCRATCH, command};
use super::readers::junit;

/// Names of its configuration.
pub(super) const CONFIGURATIONS: &[&str] =
    &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"];

/// The tool.
pub(crate) struct Pytest;

impl Tool for Pytest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "pytest",
            version: "1",
            gate: GateName::UnitTests,
            language: Language::Python,
            about: "Tests of Python",
            formats: &[ReportFormat::Junit],
            stream: Stream::File,
            // 2 is an interrupted run, which is what files that do not load end in; 3 and 4 are its own troubles.
            exits: &[
                (0, ExitMeaning::Clean),
                (1, ExitMeaning::Faults),
                (2, ExitMeaning::Faults),
                (3, ExitMeaning::Broken),
                (4, ExitMeaning::Broken),
                (5, ExitMeaning::Nothing),
            ],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let sections = ["[tool.pytest.ini_options]", "[tool.pytest]", "[tool:pytest]", "[pytest]"];
        let used = project.has_file(CONFIGURATIONS) || project.python_uses("pytest", &sections);
        if !used || !(project.is_at(PYTHON) || project.is_at(CONFIGURATIONS)) {
            return None;
        }
        let report = format!("{SCRATCH}-pytest.xml");
        let to = format!("--junitxml={report}");
        // The first family of attributes has the file and the line of a test.
        // A file that does not load must not keep the others from being run.
        let words = [
            "pytest",
            "-p",
            "no:cacheprovider",
            "--color=no",
            "--continue-on-collection-errors",
            "-o",
            "junit_family=xunit1",
            &to,
        ];
        Some(CommandTemplate { report_file: Some(report), retries: true, ..command(project, &words) })
    }

    fn read(&self, format: ReportFormat, report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
        debug_assert_eq!(format, ReportFormat::Junit, "the only one of the description");
        junit::read(report, places, 0)
    }
}
