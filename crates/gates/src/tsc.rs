//! `tsc`: types of TypeScript.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::project::{SCRATCH, command};
use qa_reading::documents::{Document, Format, Node};

pub(crate) struct Tsc;

impl Tool for Tsc {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "tsc",
            version: "2",
            gates: &[GateName::TypeCheck],
            language: Language::Node,
            about: "Types of TypeScript",
            formats: &[ReportFormat::TscText],
            hiding: &[],
            files: &["cts", "mts", "ts", "tsx"],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let (directory, configuration) = *project.manifests_named("tsconfig.json").first()?;
        if directory != project.directory {
            return None;
        }
        if is_solution(configuration) {
            return Some(command(
                project,
                &["tsc", "--build", "--force", "--noEmit", "--pretty", "false", "--listFiles"],
            ));
        }
        // Build state in the change is untrusted, so the compiler gets a state file of its own.
        let state = format!("{SCRATCH}-tsc");
        let words = [
            "tsc",
            "--noEmit",
            "--pretty",
            "false",
            "--listFiles",
            "--incremental",
            "--tsBuildInfoFile",
            &state,
        ];
        Some(command(project, &words))
    }
}

/// Returns whether a configuration only references others. `tsc` without `--build` checks nothing there and succeeds.
fn is_solution(configuration: &str) -> bool {
    let Ok(configuration) = Document::parse(Format::Json, configuration) else { return false };
    let (references, files) = (configuration.root().get("references"), configuration.root().get("files"));
    references.is_some_and(Node::is_list)
        && files.is_some_and(|files| files.is_list() && files.items().count() == 0)
}
