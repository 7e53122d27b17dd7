//! `go-vet`: lint and compiler of Go.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::project::go_command;

pub(crate) struct GoVet;

impl Tool for GoVet {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "go-vet",
            version: "2",
            gates: &[GateName::Lint],
            language: Language::Go,
            about: "Likely mistakes in Go",
            formats: &[ReportFormat::GoVetJson, ReportFormat::Sarif],
            hiding: &[],
            files: &["go"],
            stream: Stream::Both,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        go_command(project, &["go", "vet", "-json", "./..."])
    }
}
