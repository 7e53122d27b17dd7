//! `qa-skill record`: runs the command of a gate in an ordinary step, and writes how it ended beside its report.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use super::exit::{Exit, Failure};
use super::option_values::word_parser;
use super::workflow_command::{replace_file, state_time};
use crate::config::now;
use crate::git::{CheckedOut, OpenRepository};
use crate::paths::list_files;
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{GateName, GateRecord, ReportDigest};
use qa_core::canonical;
use qa_core::classify::{glob_directory, is_glob};
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_core::policy::{POLICY_PATH, file};
use qa_core::secrets;
use qa_run::gates::{matching_files, record_path};

/// Maximum length of a version, in characters.
const MAX_VERSION: usize = 200;

#[derive(Args)]
pub(crate) struct RecordArgs {
    /// The gate that reads the report
    #[arg(long, value_parser = word_parser::<GateName>())]
    gate: GateName,
    /// The tool or its name in the policy, where the gate has reports of several
    #[arg(long, value_name = "TOOL", conflicts_with = "report")]
    tool: Option<String>,
    /// The report that the command writes, from the root of the repository; by default that of the gate in the policy
    #[arg(long, value_name = "FILE")]
    report: Option<String>,
    /// A command that prints the version of the tool, as one word per argument: `--version-of npx --version-of vitest`
    #[arg(long, value_name = "WORD")]
    version_of: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command, writes its record, and ends with its exit status.
pub(crate) fn record(arguments: &RecordArgs) -> Result<Exit, Failure> {
    let repository = OpenRepository::discover(Path::new("."))?;
    let root = repository.root.clone();
    let report = match &arguments.report {
        Some(report) => report.clone(),
        None => report_of_policy(&root, arguments)?,
    };
    let record = root.join(record_path(&report));
    // The record of an earlier command must not be taken for this one's.
    remove(&record)?;
    let earlier = report_files(&root, &report).map_err(|problem| {
        let message = format!("failed to find the files of {}: {problem}", visible(&report));
        Failure::usage(message, "narrow the glob")
    })?;
    for path in earlier {
        remove(&root.join(path))?;
    }
    let CheckedOut { head, parents, tree } = repository.checked_out()?;
    let started = state_time(now());
    let status = command(&arguments.command[0]).args(&arguments.command[1..]).status();
    let ended = state_time(now());
    let status = status.map_err(|error| {
        let program = visible(&arguments.command[0]);
        Failure::usage(format!("failed to start {program}: {error}"), "name a program that is installed")
    })?;
    let code = status.code();
    match report_digests(&root, &report) {
        Ok(reports) => {
            let record_of_report = GateRecord {
                schema_version: Default::default(),
                gate: arguments.gate,
                argv: arguments.command.iter().map(|word| secrets::masked(word.clone())).collect(),
                exit_code: code,
                tool_version: version(&arguments.version_of),
                head,
                parents,
                tree,
                started,
                ended,
                reports,
            };
            let mut document = serde_json::to_vec_pretty(&record_of_report).expect("contract types are JSON");
            document.push(b'\n');
            replace_file(&record, &document)?;
        }
        // The gate will say that there is no report; the step says it now, and ends as its command did.
        Err(problem) => super::console::write_stderr(&format!("warning: {problem}, so there is no record\n")),
    }
    // The exit codes of this program do not apply: a step has to end as it would without the record.
    std::process::exit(code.unwrap_or_else(|| 128 + signal(status)))
}

/// Returns a command of the person who wrote the step. It runs where the step would run it without the record: in no
/// sandbox, with the step's environment.
#[expect(clippy::disallowed_methods, reason = "the step itself asks for the command, before any gate")]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.signal().unwrap_or(0)
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> i32 {
    0
}

fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let path = visible(&path.display().to_string());
            Err(Failure::usage(format!("failed to remove {path}: {error}"), "remove it before the command"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the files of a report: itself, or those that its glob matches.
fn report_files(root: &Path, report: &str) -> Result<Vec<String>, String> {
    if !is_glob(report) {
        return Ok(vec![report.to_owned()]);
    }
    let listed = list_files(root, glob_directory(report)).map_err(|error| error.to_string())?;
    matching_files(report, listed)
}

/// Returns the digests of the files that the command left.
fn report_digests(root: &Path, report: &str) -> Result<Vec<ReportDigest>, String> {
    let files = report_files(root, report)?;
    if files.is_empty() {
        return Err(format!("the command left no file that matches {}", visible(report)));
    }
    let mut digests = Vec::new();
    for path in files {
        let bytes = read_report(&root.join(&path))?;
        digests.push(ReportDigest { sha256: canonical::sha256(&bytes), path });
    }
    Ok(digests)
}

fn read_report(path: &PathBuf) -> Result<Vec<u8>, String> {
    let shown = visible(&path.display().to_string());
    let metadata = std::fs::symlink_metadata(path).map_err(|_| format!("the command left no {shown}"))?;
    if !metadata.is_file() || metadata.len() > MAX_REPORT_BYTES as u64 {
        return Err(format!("{shown} is not a regular file of at most {MAX_REPORT_BYTES} bytes"));
    }
    std::fs::read(path).map_err(|error| format!("{shown} cannot be read: {error}"))
}

/// Returns the report of the gate in the policy of the checkout. A change that edits it only makes its own report
/// unfound: the gate reads the policy of the base.
fn report_of_policy(root: &Path, arguments: &RecordArgs) -> Result<String, Failure> {
    let gate = arguments.gate;
    let text = std::fs::read_to_string(root.join(POLICY_PATH)).unwrap_or_default();
    let mut paths = file::declared_reports(&text, gate)
        .into_iter()
        .filter(|report| {
            arguments.tool.as_ref().is_none_or(|tool| tool == report.writer() || *tool == report.tool)
        })
        .map(|report| report.path);
    match (paths.next(), paths.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => {
            let message = format!("{POLICY_PATH} names no such report of gate {gate}");
            Err(Failure::usage(message, "name the report with --report"))
        }
        (Some(_), Some(_)) => {
            let message = format!("{POLICY_PATH} names several reports of gate {gate}");
            Err(Failure::usage(message, "add --tool or --report"))
        }
    }
}

fn version(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let output = command(program).args(arguments).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then(|| secrets::masked(sanitize_cut(&text, MAX_VERSION)))
}
