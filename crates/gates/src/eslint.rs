//! `eslint`: lint of JavaScript and TypeScript.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};
use super::manifests::ESLINT;
use super::project::command;

pub(crate) struct Eslint;

impl Tool for Eslint {
    fn spec(&self) -> &'static ToolSpec {
        &ToolSpec {
            id: "eslint",
            version: "3",
            gates: &[GateName::Lint],
            language: Language::Node,
            about: "Likely mistakes and style in JavaScript and TypeScript",
            formats: &[ReportFormat::EslintJson, ReportFormat::Sarif],
            hiding: &[],
            files: &["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"],
            stream: Stream::Stdout,
            exits: &[(0, ExitMeaning::Clean), (1, ExitMeaning::Faults), (2, ExitMeaning::Broken)],
        }
    }

    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate> {
        let configured = project.has_file(ESLINT) || project.node_member("eslintConfig");
        let used =
            project.is_at(&["package.json"]) && (configured || project.node_packages().contains("eslint"));
        used.then(|| command(project, &["eslint", ".", "--format", "json"]))
    }
}
