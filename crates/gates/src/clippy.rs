//! `clippy`: lint and compiler of Rust.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::project::{cargo_root, command};

pub(crate) struct Clippy;

impl Tool for Clippy {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "clippy",
            version: "2",
            gates: &[GateName::Lint],
            language: Language::Rust,
            about: "Likely mistakes in Rust",
            formats: &[ReportFormat::CargoJson, ReportFormat::Sarif],
            hiding: &[],
            files: &["rs"],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (101, ExitMeaning::Faults)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let project = cargo_root(project)?;
        let words = [
            "cargo",
            "clippy",
            "--workspace",
            "--all-targets",
            "--message-format=json",
            "--color=never",
            "--offline",
        ];
        let version_argv = ["cargo", "clippy", "--version"].map(str::to_owned).to_vec();
        Some(CommandTemplate { version_argv, ..command(&project, &words) })
    }
}
