//! Reads the TOML files of a policy and says where and how to mend what is wrong with them.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use crate::masking::sanitize_cut;
use crate::permissions::check_examples;
use crate::{calendar, gates, reviews, secrets};
use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_POLICY_BYTES;
use qa_contracts::v1::{GateName, PolicyFile, Registry, WaiverFile};

/// The longest name of a model; it stands in file names and tables.
const MAX_MODEL_NAME: usize = 40;

/// Why a file was refused: a line, what is wrong there and, where one is near, what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}{}", suggestion.as_ref().map_or(String::new(), |name| format!("; did you mean `{name}`?")))]
pub struct PolicyTextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// The nearest known name.
    pub suggestion: Option<String>,
}

/// Reads a policy file and checks its names against the registry.
pub(crate) fn parse_policy(text: &str, registry: &Registry) -> Result<PolicyFile, PolicyTextError> {
    let file: PolicyFile = parse(text)?;
    check_version(file.version, text)?;
    let (gates, lenses): (BTreeSet<&str>, BTreeSet<&str>) =
        registry.lenses.iter().map(|lens| lens.lens_id.as_str()).partition(|id| gates::find(id).is_some());
    let rules: BTreeSet<&str> =
        registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str()).collect();
    for name in file.lenses.keys() {
        if gates.contains(name.as_str()) {
            let message = format!("`{name}` is a gate; its settings are in [gates.{name}]");
            return Err(PolicyTextError { line: line_of(text, name), message, suggestion: None });
        }
        known(text, "lens", name, &lenses)?;
    }
    for name in file.rules.keys() {
        known(text, "rule", name, &rules)?;
    }
    check_ranges(text, &file)?;
    if file.consistency.hash.is_some() && file.consistency.rubric.is_none() {
        let message = "[consistency] has a hash and names no rubric".to_owned();
        return Err(PolicyTextError { line: line_of(text, "hash"), message, suggestion: None });
    }
    check_gates(text, &file)?;
    reviews::check(text, &file)?;
    check_execution(text, &file)?;
    for name in file.models.keys() {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > MAX_MODEL_NAME || !name.bytes().all(known) {
            let shown = sanitize_cut(name, 80);
            let message = format!(
                "the model's name `{shown}` is not 1 to {MAX_MODEL_NAME} lower-case letters, digits and hyphens"
            );
            return Err(PolicyTextError { line: line_of(text, name), message, suggestion: None });
        }
    }
    Ok(file)
}

/// A report that could not be read by any run would end every run, so it is refused where it is written.
fn check_gates(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    let fault =
        |at: &str, message: String| PolicyTextError { line: line_of(text, at), message, suggestion: None };
    for (name, gate) in &file.gates {
        if gate.reports.is_empty() && gate.run.is_empty() && gate.tests_of.is_empty() {
            let message =
                format!("gate `{name}` neither names a report nor runs a tool, so it could never pass");
            return Err(fault(name.as_str(), message));
        }
        let readable = |of: &GateName| {
            of.runs_tests() && *of != GateName::StoryValidation && file.gates.contains_key(of)
        };
        if let Some(of) = gate.tests_of.iter().find(|of| *name != GateName::StoryValidation || !readable(of))
        {
            let message = format!(
                "gate `{name}` cannot read the tests of `{of}`; `story_validation` reads those of declared gates with tests"
            );
            return Err(fault("tests-of", message));
        }
        let mut seen = BTreeSet::new();
        for report in &gate.reports {
            let paths = [Some(&report.path), report.base.as_ref()];
            for path in paths.into_iter().flatten() {
                let shown = sanitize_cut(path, 80);
                if !is_inside(path) {
                    let message = format!("`{shown}` is not a path below the repository's root");
                    return Err(fault(path, message));
                }
                if !seen.insert(path) {
                    return Err(fault(path, format!("gate `{name}` names the report `{shown}` twice")));
                }
            }
            if let Some(directory) = report.directory.as_ref().filter(|directory| !is_inside(directory)) {
                let shown = sanitize_cut(directory, 80);
                return Err(fault(
                    directory,
                    format!("`{shown}` is not a directory below the repository's root"),
                ));
            }
        }
    }
    Ok(())
}

/// Commands whose rules do not say what their author believes would be worse than none.
fn check_execution(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    let fault =
        |at: &str, message: String| PolicyTextError { line: line_of(text, at), message, suggestion: None };
    for rule in &file.execution.allow {
        check_examples(rule).map_err(|(at, message)| fault(&at, message))?;
    }
    for toolchain in &file.execution.toolchains {
        let path = &toolchain.path;
        let plain = path.strip_prefix('/').unwrap_or(path);
        if !is_inside(plain) {
            let message =
                format!("`{}` is neither an absolute path nor one below the root", sanitize_cut(path, 80));
            return Err(fault(path, message));
        }
    }
    for name in file.execution.environment.keys() {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fixed = ["HOME", "LC_ALL", "LOGNAME", "PATH", "PWD", "TMPDIR", "TZ", "USER"];
        if name.is_empty() || !name.bytes().all(known) || fixed.contains(&name.as_str()) {
            let message = format!("the variable `{}` cannot be set for commands", sanitize_cut(name, 80));
            return Err(fault(name, message));
        }
    }
    Ok(())
}

/// Whether a path is relative, plain and safe, with `/` between its parts.
fn is_inside(path: &str) -> bool {
    RepoPath::from_bytes(path.as_bytes()).is_ok()
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
}

/// Reads a waiver file and checks its rules against the registry and its dates against the calendar.
pub fn parse_waivers(text: &str, registry: &Registry) -> Result<WaiverFile, PolicyTextError> {
    let file: WaiverFile = parse(text)?;
    check_version(file.version, text)?;
    let rules: BTreeSet<&str> =
        registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str()).collect();
    for waiver in &file.waiver {
        known(text, "rule", &waiver.rule, &rules)?;
        let at = |value: &str, message: String| PolicyTextError {
            line: line_of(text, value),
            message,
            suggestion: None,
        };
        if qa_contracts::ids::Sha256Hex::parse(&waiver.evidence_hash).is_err() {
            return Err(at(
                &waiver.evidence_hash,
                "evidence-hash must be 64 lower-case hexadecimal digits".to_owned(),
            ));
        }
        if waiver.owner.trim().is_empty() || waiver.reason.trim().is_empty() {
            return Err(at(&waiver.evidence_hash, "a waiver needs an owner and a reason".to_owned()));
        }
        if !calendar::is_day(&waiver.expires) {
            return Err(at(&waiver.expires, "expires must be a date as YYYY-MM-DD".to_owned()));
        }
    }
    Ok(file)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, PolicyTextError> {
    if text.len() > MAX_POLICY_BYTES {
        let message = format!("the file has {} bytes, the limit is {MAX_POLICY_BYTES}", text.len());
        return Err(PolicyTextError { line: 1, message, suggestion: None });
    }
    toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = sanitize_cut(error.message(), 300);
        PolicyTextError { line, suggestion: suggestion_in(&message), message }
    })
}

/// The parser names the unknown word first and the known ones after it, all in backticks.
fn suggestion_in(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next()?;
    nearest(unknown, words)
}

pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// Masks secrets in a policy or waivers, which are recorded with every run; `None` when a value holds one, and not only a
/// comment.
pub fn without_secrets(text: &str) -> Option<String> {
    let masked = secrets::masked(text.to_owned());
    let values = |text: &str| text.parse::<toml::Table>().ok();
    // What cannot be parsed is refused for that later, in masked form.
    (masked == text || values(text) == values(&masked)).then_some(masked)
}

/// Refuses a name that is not among the known ones.
pub fn known(text: &str, kind: &str, name: &str, names: &BTreeSet<&str>) -> Result<(), PolicyTextError> {
    if names.contains(name) {
        return Ok(());
    }
    Err(PolicyTextError {
        line: line_of(text, name),
        message: format!("there is no {kind} `{}`", sanitize_cut(name, 80)),
        suggestion: nearest(name, names.iter().copied()),
    })
}

/// The first line that holds a text; a value parsed from the file stands in it, escapes aside.
fn line_of(text: &str, value: &str) -> usize {
    text.lines().position(|line| line.contains(value)).map_or(1, |index| index + 1)
}

/// The line where a table begins, from 1; the first where it is written in another way.
pub fn line_of_table(text: &str, header: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(header)).map_or(1, |index| index + 1)
}

fn check_version(version: Option<u8>, text: &str) -> Result<(), PolicyTextError> {
    match version {
        None | Some(1) => Ok(()),
        Some(other) => Err(PolicyTextError {
            line: line_of(text, "version"),
            message: format!("version {other} is not known; this binary reads version 1"),
            suggestion: None,
        }),
    }
}

fn check_ranges(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    let limits = &file.limits;
    let commands = &file.execution.limits;
    let ranges = [
        ("max-files", limits.max_files, 1, 1_000_000),
        ("max-hunks", limits.max_hunks, 1, 10_000_000),
        ("max-blob-bytes", limits.max_blob_bytes, 1, 1 << 30),
        ("max-line-diff-bytes", limits.max_line_diff_bytes, 1, 1 << 30),
        ("max-tree-entries", limits.max_tree_entries, 1, 1_000_000_000),
        ("max-rename-pairs", limits.max_rename_pairs, 0, 100_000_000),
        ("deadline-seconds", limits.deadline_seconds, 1, 86_400),
        ("max-files", limits.context.max_files, 1, 1_000_000),
        ("max-hunks", limits.context.max_hunks, 1, 10_000_000),
        ("max-changed-lines", limits.context.max_changed_lines, 1, 1_000_000_000),
        ("theta-permille", file.ratchet.theta_permille.map(u64::from), 1, 1000),
        ("min-support", file.ratchet.min_support, 1, 100_000),
        ("max-concurrency", file.run.max_concurrency, 1, 64),
        ("max-commands-per-plan", commands.max_commands_per_plan, 1, 256),
        ("timeout-seconds", commands.timeout_seconds, 1, 21_600),
        ("max-stdout-bytes", commands.max_stdout_bytes, 1, 16 << 20),
        ("max-stderr-bytes", commands.max_stderr_bytes, 1, 16 << 20),
        ("disk-mib", commands.disk_mib, 1, 1 << 20),
        ("memory-mib", commands.memory_mib, 1, 1 << 20),
        ("processes", commands.processes, 1, 65_536),
        ("max-tokens", file.budget.max_tokens, 0, qa_contracts::limits::MAX_SAFE_INTEGER),
        (
            "max-pull-request-cost-micro-usd",
            file.budget.max_pull_request_cost_micro_usd,
            0,
            qa_contracts::limits::MAX_SAFE_INTEGER,
        ),
        ("max-cost-micro-usd", file.budget.max_cost_micro_usd, 0, qa_contracts::limits::MAX_SAFE_INTEGER),
    ];
    for (name, value, least, most) in ranges {
        if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
            let message = format!("{name} is {value}, it must be from {least} to {most}");
            return Err(PolicyTextError { line: line_of(text, name), message, suggestion: None });
        }
    }
    let bad_repo_id = |id: &String| {
        id.is_empty()
            || id.len() > 200
            || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
    };
    if file.repo_id.as_ref().is_some_and(bad_repo_id) {
        let message = "repo-id must be `owner/name` of letters, digits, `.`, `_` and `-`".to_owned();
        return Err(PolicyTextError { line: line_of(text, "repo-id"), message, suggestion: None });
    }
    Ok(())
}
