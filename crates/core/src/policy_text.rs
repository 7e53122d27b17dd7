//! Parses the TOML files of a policy, with errors that have a line and a suggestion.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use crate::masking::sanitize_cut;
use crate::permissions::check_examples;
use crate::{calendar, gates, reviews, secrets};
use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_POLICY_BYTES;
use qa_contracts::v1::{GateName, PolicyFile, PolicyGate, Registry, WaiverFile};

/// Maximum length of a model's name, in bytes; it becomes part of file names and tables.
const MAX_MODEL_NAME: usize = 40;

/// Error of a file that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}{}", did_you_mean(suggestion.as_deref()))]
pub struct PolicyTextError {
    /// Line number, from 1.
    pub line: usize,
    pub message: String,
    /// Known name that is nearest to an unknown one.
    pub suggestion: Option<String>,
}

impl PolicyTextError {
    /// Returns an error at the first line that holds `place`.
    fn at_line_of(text: &str, place: &str, message: String) -> Self {
        Self { line: line_of(text, place), message, suggestion: None }
    }
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// Parses a policy file and checks its names against the registry.
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
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
        check_known(text, "lens", name, &lenses)?;
    }
    for name in file.rules.keys() {
        check_known(text, "rule", name, &rules)?;
    }
    check_ranges(text, &file)?;
    if file.consistency.hash.is_some() && file.consistency.rubric.is_none() {
        let message = "[consistency] has a hash and names no rubric".to_owned();
        return Err(PolicyTextError::at_line_of(text, "hash", message));
    }
    check_gates(text, &file)?;
    reviews::check(text, &file)?;
    check_execution(text, &file)?;
    for name in file.models.keys() {
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if name.is_empty() || name.len() > MAX_MODEL_NAME || !is_plain {
            let shown = sanitize_cut(name, 80);
            let message = format!(
                "the model's name `{shown}` is not 1 to {MAX_MODEL_NAME} lower-case letters, digits and hyphens"
            );
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    Ok(file)
}

/// Checks the gates. A report that no run could read would end every run, so it is refused with the policy.
fn check_gates(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for (name, gate) in &file.gates {
        if gate.reports.is_empty() && gate.run.is_empty() && gate.tests_of.is_empty() {
            let message =
                format!("gate `{name}` neither names a report nor runs a tool, so it could never pass");
            return Err(PolicyTextError::at_line_of(text, name.as_str(), message));
        }
        for of in &gate.tests_of {
            let has_tests =
                of.runs_tests() && *of != GateName::StoryValidation && file.gates.contains_key(of);
            if *name != GateName::StoryValidation || !has_tests {
                let message = format!(
                    "gate `{name}` cannot read the tests of `{of}`; `story_validation` reads those of declared gates with tests"
                );
                return Err(PolicyTextError::at_line_of(text, "tests-of", message));
            }
        }
        check_reports(text, *name, gate)?;
    }
    Ok(())
}

fn check_reports(text: &str, name: GateName, gate: &PolicyGate) -> Result<(), PolicyTextError> {
    let mut seen = BTreeSet::new();
    for report in &gate.reports {
        let paths = [Some(&report.path), report.base.as_ref()];
        for path in paths.into_iter().flatten() {
            let shown = sanitize_cut(path, 80);
            if !is_inside(path) {
                let message = format!("`{shown}` is not a path below the repository's root");
                return Err(PolicyTextError::at_line_of(text, path, message));
            }
            if !seen.insert(path) {
                let message = format!("gate `{name}` names the report `{shown}` twice");
                return Err(PolicyTextError::at_line_of(text, path, message));
            }
        }
        if let Some(directory) = report.directory.as_ref().filter(|directory| !is_inside(directory)) {
            let shown = sanitize_cut(directory, 80);
            let message = format!("`{shown}` is not a directory below the repository's root");
            return Err(PolicyTextError::at_line_of(text, directory, message));
        }
    }
    Ok(())
}

/// Checks `[execution]`. A rule that allows other commands than its author believes would be worse than none.
fn check_execution(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for rule in &file.execution.allow {
        let program = rule.prefix.first().map(String::as_str).unwrap_or_default();
        check_examples(rule).map_err(|message| PolicyTextError::at_line_of(text, program, message))?;
    }
    for toolchain in &file.execution.toolchains {
        let path = &toolchain.path;
        let plain = path.strip_prefix('/').unwrap_or(path);
        if !is_inside(plain) {
            let message =
                format!("`{}` is neither an absolute path nor one below the root", sanitize_cut(path, 80));
            return Err(PolicyTextError::at_line_of(text, path, message));
        }
    }
    for name in file.execution.environment.keys() {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let fixed = ["HOME", "LC_ALL", "LOGNAME", "PATH", "PWD", "TMPDIR", "TZ", "USER"];
        if name.is_empty() || !is_plain || fixed.contains(&name.as_str()) {
            let message = format!("the variable `{}` cannot be set for commands", sanitize_cut(name, 80));
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    Ok(())
}

/// Returns whether a path is relative, plain and safe, with `/` between its parts.
fn is_inside(path: &str) -> bool {
    RepoPath::from_bytes(path.as_bytes()).is_ok()
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
}

/// Parses a waiver file and checks its rules against the registry and its dates against the calendar.
pub fn parse_waivers(text: &str, registry: &Registry) -> Result<WaiverFile, PolicyTextError> {
    let file: WaiverFile = parse(text)?;
    check_version(file.version, text)?;
    let rules: BTreeSet<&str> =
        registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str()).collect();
    for waiver in &file.waiver {
        check_known(text, "rule", &waiver.rule, &rules)?;
        if qa_contracts::ids::Sha256Hex::parse(&waiver.evidence_hash).is_err() {
            let message = "evidence-hash must be 64 lower-case hexadecimal digits".to_owned();
            return Err(PolicyTextError::at_line_of(text, &waiver.evidence_hash, message));
        }
        if waiver.owner.trim().is_empty() || waiver.reason.trim().is_empty() {
            let message = "a waiver needs an owner and a reason".to_owned();
            return Err(PolicyTextError::at_line_of(text, &waiver.evidence_hash, message));
        }
        if !calendar::is_day(&waiver.expires) {
            let message = "expires must be a date as YYYY-MM-DD".to_owned();
            return Err(PolicyTextError::at_line_of(text, &waiver.expires, message));
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
        let start = error.span().map(|span| span.start.min(text.len())).unwrap_or(0);
        let line = text[..start].matches('\n').count() + 1;
        let message = sanitize_cut(error.message(), 300);
        PolicyTextError { line, suggestion: suggestion_in(&message), message }
    })
}

/// Returns the known word nearest to the unknown one. The parser's message has the unknown word first and the known ones
/// after it, all in backticks.
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
    if masked == text {
        return Some(masked);
    }
    // A text that cannot be parsed is refused for that later, in masked form.
    let (values, masked_values) = (text.parse::<toml::Table>().ok(), masked.parse::<toml::Table>().ok());
    (values == masked_values).then_some(masked)
}

/// Refuses a name that is not among the known ones.
pub fn check_known(
    text: &str,
    kind: &str,
    name: &str,
    names: &BTreeSet<&str>,
) -> Result<(), PolicyTextError> {
    if names.contains(name) {
        return Ok(());
    }
    Err(PolicyTextError {
        line: line_of(text, name),
        message: format!("there is no {kind} `{}`", sanitize_cut(name, 80)),
        suggestion: nearest(name, names.iter().copied()),
    })
}

/// Returns the first line that holds a value parsed from the file, from 1; 1 where the file escapes the value.
fn line_of(text: &str, value: &str) -> usize {
    text.lines().position(|line| line.contains(value)).unwrap_or(0) + 1
}

/// Returns the line at which a table begins, from 1; 1 where the header is written in another way.
pub fn line_of_table(text: &str, header: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(header)).unwrap_or(0) + 1
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
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    if let Some(id) = &file.repo_id
        && !is_repo_id(id)
    {
        let message = "repo-id must be `owner/name` of letters, digits, `.`, `_` and `-`".to_owned();
        return Err(PolicyTextError::at_line_of(text, "repo-id", message));
    }
    Ok(())
}

fn is_repo_id(id: &str) -> bool {
    (1..=200).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}
