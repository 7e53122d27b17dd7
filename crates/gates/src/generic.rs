//! Tools that are known by their report alone: the policy names what wrote it.

use super::contract::{
    CommandTemplate, ExitMeaning, GateName, Language, Project, ReportFormat, Stream, Tool, ToolSpec,
};

/// Gates of linters and compilers.
const LINTERS: &[GateName] = &[GateName::Lint, GateName::TypeCheck];
/// Gates of tools that report tests, or one test for each file that they look at.
const TESTS: &[GateName] =
    &[GateName::UnitTests, GateName::BrowserTests, GateName::Lint, GateName::TypeCheck];

/// Meanings of the statuses of a tool that nobody described. From 126 on they are the shell's, of a program that did
/// not start or that a signal ended.
const EXITS: &[(i32, ExitMeaning)] = &exits();

const fn exits() -> [(i32, ExitMeaning); 126] {
    let mut exits = [(0, ExitMeaning::Clean); 126];
    let mut status = 1;
    while status < 126 {
        exits[status as usize] = (status, ExitMeaning::Faults);
        status += 1;
    }
    exits
}

/// A tool that a format stands for.
pub(crate) struct Generic(&'static ToolSpec);

/// Writers of Checkstyle's XML.
pub(crate) static CHECKSTYLE: Generic = Generic(&spec(
    "checkstyle",
    LINTERS,
    "Whatever a linter looks at that writes Checkstyle's XML",
    &[ReportFormat::Checkstyle],
));
/// Writers of JUnit XML.
pub(crate) static JUNIT: Generic = Generic(&spec(
    "junit",
    TESTS,
    "Tests of any language whose runner writes JUnit XML",
    &[ReportFormat::Junit],
));
/// Writers of SARIF.
pub(crate) static SARIF: Generic =
    Generic(&spec("sarif", LINTERS, "Whatever a tool looks at that writes SARIF", &[ReportFormat::Sarif]));
/// Writers of TAP.
pub(crate) static TAP: Generic =
    Generic(&spec("tap", TESTS, "Tests of any language whose runner writes TAP", &[ReportFormat::Tap]));

/// Returns the description of the tool of a format. Nobody has measured what its writers leave out of a report, so that
/// none is a result without the exit status.
const fn spec(
    id: &'static str,
    gates: &'static [GateName],
    about: &'static str,
    formats: &'static [ReportFormat],
) -> ToolSpec {
    ToolSpec {
        id,
        version: "2",
        gates,
        language: Language::Any,
        about,
        formats,
        hiding: formats,
        files: &[],
        stream: Stream::Stdout,
        exits: EXITS,
    }
}

impl Tool for Generic {
    fn spec(&self) -> &'static ToolSpec {
        self.0
    }

    /// Nothing in a project shows it, so that it runs by a command of the policy alone.
    fn detect(&self, _: &Project<'_>) -> Option<CommandTemplate> {
        None
    }
}
