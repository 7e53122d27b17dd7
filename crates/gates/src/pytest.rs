//! `pytest`: tests of Python.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Places, Project, Report, ReportError, ReportFormat,
    Stream, Tool, ToolSpec,
};
use super::manifests::{PYTEST, PYTHON};
use super::project::{SCRATCH, command, with_report};
use super::readers::junit;

pub(crate) struct Pytest;

impl Tool for Pytest {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "pytest",
            version: "4",
            gates: &[GateName::UnitTests],
            language: Language::Python,
            about: "Tests of Python",
            formats: &[ReportFormat::Junit],
            // A plugin such as pytest-cov, or a hook, fails the session without a trace in the report.
            hiding: &[ReportFormat::Junit],
            files: &[],
            stream: Stream::File,
            // 2 is an interrupted run, also caused by files that fail to load; 3 and 4 are pytest's internal errors.
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
        let used = project.has_file(PYTEST) || project.python_uses("pytest", &["tool:pytest", "pytest"]);
        if !used || !(project.is_at(PYTHON) || project.is_at(PYTEST)) {
            return None;
        }
        let report = format!("{SCRATCH}-pytest.xml");
        let to = format!("--junitxml={report}");
        // `junit_family=xunit1` writes the file and the line of each test; `--continue-on-collection-errors` runs the
        // other files when one fails to load.
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
        Some(CommandTemplate { retries: true, ..with_report(command(project, &words), &report) })
    }

    fn read_report(
        &self,
        format: ReportFormat,
        report: &[u8],
        places: &Places<'_>,
    ) -> Result<Report, ReportError> {
        debug_assert_eq!(format, ReportFormat::Junit, "the only one of the description");
        junit::read_report(report, places, junit::Dialect::Pytest)
    }
}
