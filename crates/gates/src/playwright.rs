//! `playwright`: tests in a browser.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::manifests::PLAYWRIGHT;
use super::project::command;

pub(crate) struct Playwright;

impl Tool for Playwright {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "playwright",
            version: "3",
            gates: &[GateName::BrowserTests],
            language: Language::Node,
            about: "Tests in a browser",
            formats: &[ReportFormat::PlaywrightJson, ReportFormat::Junit],
            // An error of the global setup or teardown stands in the JSON alone.
            hiding: &[ReportFormat::Junit],
            files: &[],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let used = project.is_at(&["package.json"]) && project.has_file(PLAYWRIGHT);
        used.then(|| CommandTemplate {
            retries: true,
            ..command(project, &["playwright", "test", "--reporter=json", "--forbid-only"])
        })
    }
}
