//! Console: results go to files and standard output, messages to standard error.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::{Exit, Failure};
use super::finished::Finished;
use crate::config::Environment;
use crate::paths::refuse_links;
use qa_contracts::v1::CommandError;
use qa_core::canonical;
use qa_core::escape::visible;
use qa_core::secrets;
use qa_formats::contract::{BaseChoice, Format, Report, TerminalStyle};

/// Examples and exit codes in the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  qa-skill init                          write a workflow and a policy
  qa-skill run                           judge the branch against origin's
  qa-skill run --base main --head topic  name both sides
  qa-skill run --staged                  judge what is staged, before a commit
  qa-skill run --format json             print the result as one JSON document
  qa-skill run --format html=page.html   write the result as a page
  qa-skill verify .qa-skill/runs/KEY     reproduce a stored verdict
  qa-skill explain RULE                  explain a rule and its fix

Exit codes: 0 pass, 1 fail, 2 usage or policy error, 3 could not complete,
4 drift, 70 internal error";

/// Use of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// An output format, and the file to write; without a path it goes to standard output.
#[derive(Clone)]
pub(crate) struct Output {
    format: &'static dyn Format,
    path: Option<PathBuf>,
}

/// Parses `FORMAT` or `FORMAT=PATH`.
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

/// Examples of `run` in its help.
const RUN_EXAMPLES: &str = "\
Examples:
  qa-skill run                           judge the branch against origin's
  qa-skill run --base main --head topic  name both sides
  qa-skill run --staged                  judge what is staged, before a commit
  qa-skill run --format json             print the result as one JSON document";

/// Names the formats and gives examples, below the short help of `run`.
pub(crate) fn run_help() -> String {
    let names: Vec<&str> = qa_formats::ALL.iter().map(|format| format.spec().id).collect();
    format!("Formats: {}\n\n{RUN_EXAMPLES}", names.join(", "))
}

/// Lists the formats and gives examples, below the long help of `run`.
pub(crate) fn run_long_help() -> String {
    let lines: Vec<String> = qa_formats::ALL
        .iter()
        .map(|format| format!("  {:<9} {}", format.spec().id, format.spec().title))
        .collect();
    format!("Formats:\n{}\n\n{RUN_EXAMPLES}", lines.join("\n"))
}

/// Fails if more than one format goes to standard output, which holds one document, or if the directory of a
/// file is missing. Removes reports of earlier runs: one that stays would be taken for that of a run that ends without.
pub(crate) fn check_outputs(outputs: &[Output]) -> Result<(), Failure> {
    for path in outputs.iter().filter_map(|output| output.path.as_deref()) {
        check_directory(path)?;
    }
    if outputs.iter().filter(|output| output.path.is_none()).count() > 1 {
        return Err(Failure::usage(
            "more than one format goes to standard output",
            "give all but one a path: --format sarif=out.sarif",
        ));
    }
    outputs.iter().filter_map(|output| output.path.as_deref()).try_for_each(remove_report)
}

/// Removes a file that the run will write.
fn remove_report(path: &Path) -> Result<(), Failure> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(|error| write_failure(&path.display().to_string(), &error))
}

/// Fails if the directory of a file is not there, before anything is judged for it.
fn check_directory(path: &Path) -> Result<(), Failure> {
    let shown = visible(&path.display().to_string());
    if path.is_dir() {
        return Err(Failure::usage(format!("{shown} is a directory"), "name a file after `=`"));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match directory {
        Some(directory) if !directory.is_dir() => {
            let directory = visible(&directory.display().to_string());
            Err(Failure::usage(
                format!("there is no directory {directory} for {shown}"),
                "create it first, or name another file after `=`",
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the report of a finished run, without colour.
pub(crate) fn report<'a>(
    finished: &'a Finished,
    directory: Option<&'a str>,
    environment: &Environment,
) -> Report<'a> {
    Report {
        input: &finished.skill_input,
        result: &finished.result,
        change_set: &finished.inputs.change_set,
        coverage: &finished.outcome.coverage,
        cross_check: &finished.outcome.cross_check,
        sensitivity: &finished.inputs.sensitivity,
        registry: &finished.inputs.registry,
        texts: &finished.outcome.texts,
        screenshots: &finished.outcome.screenshots,
        base: Some(BaseChoice {
            reason: finished.opened.resolved.base_choice(),
            codes: &finished.opened.resolved.codes,
        }),
        links: None,
        since_push: None,
        run_directory: directory,
        replayed: finished.stored.as_ref().is_some_and(|stored| stored.replayed),
        terminal: TerminalStyle { color: false, width: environment.width() },
    }
}

/// Renders a report in the format of an id in `qa_formats::ALL`.
pub(crate) fn render(format: &str, report: &Report<'_>) -> Vec<u8> {
    let known = qa_formats::ALL.iter().find(|known| known.spec().id == format);
    known.expect("the caller names a format of the table").render(report)
}

/// Writes a finished run in every requested format, by default in the terminal's, and returns the exit code of its verdict.
pub(crate) fn print(
    finished: &Finished,
    outputs: &[Output],
    color: Color,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let directory = finished.stored.as_ref().map(|stored| from_here(&stored.path).display().to_string());
    let mut report = report(finished, directory.as_deref(), environment);
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

/// Returns a path from the current directory where it is below it, which is shorter to read and to copy.
fn from_here(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok())
        .filter(|inside| inside.components().next().is_some())
        .unwrap_or(path)
}

/// Writes a document to a file. Links in the checkout are refused.
pub(crate) fn write_document(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = refuse_links(path).and_then(|()| std::fs::write(path, bytes));
    written.map_err(|error| write_failure(&path.display().to_string(), &error))
}

/// True once something was written to standard output, which holds one document.
static HAS_DOCUMENT: AtomicBool = AtomicBool::new(false);

/// Writes a document to standard output. A closed pipe is no error.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    HAS_DOCUMENT.store(true, Ordering::Relaxed);
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(write_failure("standard output", &error))
        }
        _ => Ok(()),
    }
}

/// Writes a text for people to standard output. On a terminal, and where `COLUMNS` is set, its lines are as wide as that is.
pub(crate) fn write_page(text: &str) -> Result<(), Failure> {
    let environment = Environment::from_process();
    if !environment.has_width(std::io::stdout().is_terminal()) {
        return write_stdout(text.as_bytes());
    }
    write_stdout(qa_formats::page::wrap_to_width(text, environment.width()).as_bytes())
}

/// Returns the failure to write a file or a stream.
pub(crate) fn write_failure(path: &str, error: &std::io::Error) -> Failure {
    let message = format!("failed to write {}: {error}", visible(path));
    let failure = Failure::with_code(qa_contracts::codes::Code::ArtifactWriteFailed, message);
    let hint = "check that the directory exists, has room and may be written to; a run that was already judged is stored";
    Failure { hint: hint.to_owned(), ..failure }
}

pub(crate) fn use_color(color: Color, environment: &Environment) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => environment.color(std::io::stdout().is_terminal()),
    }
}

/// Prints why a command ended without its result.
pub(crate) fn print_failure(failure: &Failure) {
    let code = match failure.code {
        Some(code) => format!("[{code}]"),
        None => String::new(),
    };
    let mut text = format!("error{code}: {}\n", failure.message);
    if !failure.hint.is_empty() {
        text.push_str(&format!("  help: {}\n", failure.hint));
    }
    if std::io::stderr().is_terminal() {
        text = qa_formats::page::wrap_to_width(&text, Environment::from_process().width());
    }
    write_stderr(&text);
}

/// Prints clap's help, or its error with secrets in quoted arguments masked.
pub(crate) fn print_clap(error: &clap::Error, json: bool) -> Result<(), Failure> {
    let text = error.render().to_string();
    let masked = secrets::masked(text.clone());
    if json && error.use_stderr() {
        let message = masked.lines().next().unwrap_or_default().trim_start_matches("error: ");
        print_failure_as_json(&Failure::usage(message, "`--help` lists options and values"));
    }
    if masked != text {
        write_stderr(&masked);
        return Ok(());
    }
    match error.print() {
        Err(failed) if !error.use_stderr() && failed.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(write_failure("standard output", &failed))
        }
        _ => Ok(()),
    }
}

/// Returns whether a command line asks for its result as JSON on standard output.
pub(crate) fn wants_json(arguments: &[OsString]) -> bool {
    let options: Vec<&str> =
        arguments.iter().map_while(|word| word.to_str().filter(|word| *word != "--")).collect();
    let values = options.windows(2).filter(|pair| pair[0] == "--format").map(|pair| pair[1]);
    let joined = options.iter().filter_map(|word| word.strip_prefix("--format="));
    values.chain(joined).any(|value| value == "json")
}

/// Returns a failure as programs read it.
pub(crate) fn command_error(failure: &Failure) -> CommandError {
    CommandError {
        schema_version: Default::default(),
        code: failure.code,
        exit_code: failure.exit as u8,
        message: failure.message.clone(),
        hint: failure.hint.clone(),
    }
}

/// Prints a failure in place of the result, for programs. Errors are ignored: the failure is on standard error as well.
pub(crate) fn print_failure_as_json(failure: &Failure) {
    if HAS_DOCUMENT.load(Ordering::Relaxed) {
        return;
    }
    let mut bytes = canonical::to_vec(&command_error(failure)).expect("texts have a canonical form");
    bytes.push(b'\n');
    let _nobody_reads = write_stdout(&bytes);
}

/// Writes to standard error. Errors are ignored: there is no other place to report them.
pub(crate) fn write_stderr(text: &str) {
    let _nobody_listens = std::io::stderr().write_all(text.as_bytes());
}
