//! Console: results go to files and standard output, messages to standard error.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::check::Finished;
use super::exit::{Exit, Failure};
use crate::config::Environment;
use crate::paths::refuse_links;
use qa_formats::contract::{Format, Report, TerminalStyle};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A format and where it goes; without a path to standard output.
#[derive(Clone)]
pub(crate) struct Output {
    format: &'static dyn Format,
    path: Option<PathBuf>,
}

/// Reads `FORMAT` or `FORMAT=PATH`.
pub(crate) fn parse_output(text: &str) -> Result<Output, String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err("the path after `=` is empty".to_owned()),
        Some((name, path)) => (name, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let known: Vec<&str> = qa_formats::ALL.iter().map(|format| format.spec().id).collect();
    qa_formats::ALL
        .iter()
        .copied()
        .find(|format| format.spec().id == name)
        .map(|format| Output { format, path })
        .ok_or_else(|| format!("there is no format `{name}`; known formats: {}", known.join(", ")))
}

/// The formats, for the help.
pub(crate) fn formats_help() -> String {
    let lines: Vec<String> = qa_formats::ALL
        .iter()
        .map(|format| format!("  {:<9} {}", format.spec().id, format.spec().title))
        .collect();
    format!("Formats:\n{}", lines.join("\n"))
}

/// At most one format may go to standard output, so that what stands there is one document.
pub(crate) fn check_outputs(outputs: &[Output]) -> Result<(), Failure> {
    if outputs.iter().filter(|output| output.path.is_none()).count() > 1 {
        return Err(Failure::usage(
            "more than one format goes to standard output",
            "give all but one a path: --format sarif=out.sarif",
        ));
    }
    Ok(())
}

/// Renders a finished run, without color.
pub(crate) fn report<'a>(
    finished: &'a Finished,
    directory: &'a str,
    environment: &Environment,
) -> Report<'a> {
    Report {
        input: &finished.skill_input,
        result: &finished.stored.result,
        change_set: &finished.inputs.change_set,
        coverage: &finished.outcome.coverage,
        cross_check: &finished.outcome.cross_check,
        sensitivity: &finished.inputs.sensitivity,
        registry: &finished.inputs.registry,
        texts: &finished.outcome.texts,
        screenshots: &finished.outcome.screenshots,
        run_directory: Some(directory),
        replayed: finished.stored.replayed,
        terminal: TerminalStyle { color: false, width: environment.width() },
    }
}

/// A report in the format of an id that is in `qa_formats::ALL`.
pub(crate) fn rendered(format: &str, report: &Report<'_>) -> Vec<u8> {
    let known = qa_formats::ALL.iter().find(|known| known.spec().id == format);
    known.expect("the caller names a format of the table").render(report)
}

/// Prints a finished run in every format asked for; the terminal's when none is.
pub(crate) fn print(
    finished: &Finished,
    outputs: &[Output],
    color: Color,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let directory = finished.stored.path.display().to_string();
    let mut report = report(finished, &directory, environment);
    report.terminal.color = use_color(color, environment);
    let fallback = [parse_output("terminal").map_err(|message| Failure::usage(message, ""))?];
    let outputs = if outputs.is_empty() { &fallback } else { outputs };
    for output in outputs {
        let bytes = output.format.render(&report);
        match &output.path {
            Some(path) => write_document(path, &bytes)?,
            None => write_stdout(&bytes)?,
        }
    }
    Ok(Exit::from(report.result.final_verdict.conclusion))
}

/// Writes a document to a file. A link in the checkout is not followed.
pub(crate) fn write_document(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = refuse_links(path).and_then(|()| std::fs::write(path, bytes));
    written.map_err(|error| write_failure(&path.display().to_string(), &error))
}

/// Writes a document to standard output. A reader that went away has seen what it wanted.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(write_failure("standard output", &error))
        }
        _ => Ok(()),
    }
}

fn write_failure(path: &str, error: &std::io::Error) -> Failure {
    let path = qa_core::escape::visible(path);
    Failure::with_code(
        qa_contracts::codes::Code::ArtifactWriteFailed,
        format!("failed to write {path}: {error}"),
    )
}

pub(crate) fn use_color(color: Color, environment: &Environment) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => environment.color(std::io::stdout().is_terminal()),
    }
}

/// Says why a command ended without its result.
pub(crate) fn print_failure(failure: &Failure) {
    let code = failure.code.map_or(String::new(), |code| format!("[{code}]"));
    let mut text = format!("error{code}: {}\n", failure.message);
    if !failure.hint.is_empty() {
        text.push_str(&format!("  help: {}\n", failure.hint));
    }
    say(&text);
}

/// Writes to standard error; when nobody listens there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _nobody_listens = std::io::stderr().write_all(text.as_bytes());
}
