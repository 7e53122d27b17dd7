//! Parses the TOML files of a policy, with errors that have a line and a suggestion.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::masking::sanitize_cut;
use crate::nearest::nearest;
use crate::{calendar, secrets};
use qa_contracts::limits::MAX_POLICY_BYTES;
use qa_contracts::v1::{GateName, PolicyFile, PolicyReport, Registry, WaiverFile};

/// Maximum number of known names that an error lists.
const MAX_LISTED: usize = 20;

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
    pub(super) fn at_line_of(text: &str, place: &str, message: String) -> Self {
        Self { line: line_of(text, place), message, suggestion: None }
    }
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// Owner and reason of an entry that is shown to be copied. A person replaces them.
pub const OPEN_OWNER: &str = "person or team";
pub const OPEN_REASON: &str = "reason why it may stay";

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
        for open in [OPEN_OWNER, OPEN_REASON] {
            if waiver.owner.trim() == open || waiver.reason.trim() == open {
                let message = format!("replace `{open}`, which only shows where an entry has its place");
                return Err(PolicyTextError::at_line_of(text, open, message));
            }
        }
        if !calendar::is_day(&waiver.expires) {
            let message = "expires must be a date, such as 2027-01-31".to_owned();
            return Err(PolicyTextError::at_line_of(text, &waiver.expires, message));
        }
    }
    Ok(file)
}

/// Returns the reports of a gate that a policy's text declares; none where it cannot be read.
pub fn declared_reports(text: &str, gate: GateName) -> Vec<PolicyReport> {
    let file: PolicyFile = parse(text).unwrap_or_default();
    file.gates.get(&gate).map(|gate| gate.reports.clone()).unwrap_or_default()
}

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, PolicyTextError> {
    if text.len() > MAX_POLICY_BYTES {
        let message = format!("the file has {} bytes, the limit is {MAX_POLICY_BYTES}", text.len());
        return Err(PolicyTextError { line: 1, message, suggestion: None });
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map(|span| span.start.min(text.len())).unwrap_or(0);
        let line = text[..start].matches('\n').count() + 1;
        if let Some(header) = text.lines().nth(line - 1).and_then(unquoted_rule_header) {
            let message = format!("the key of a rule is quoted: write {}", sanitize_cut(&header, 200));
            return PolicyTextError { line, message, suggestion: None };
        }
        let message = sanitize_cut(&in_words_of_toml(error.message()), 300);
        let suggestion = suggestion_in(&message);
        let problem = message.split_once(", expected ").filter(|_| suggestion.is_some());
        let message = problem.map(|(problem, _)| problem.to_owned()).unwrap_or(message);
        PolicyTextError { line, suggestion, message }
    })
}

/// Returns the header of a rule's table.
pub(super) fn rule_header(rule: &str) -> String {
    format!("[rules.\"{rule}\"]")
}

/// Returns the header that a line without quotes has to be: `[rules.LENS/RULE]`, or with a dot in the place of the slash.
fn unquoted_rule_header(line: &str) -> Option<String> {
    let name = line.trim().strip_prefix("[rules.")?.split(']').next()?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    let (lens, rule) = name.split_once(['/', '.']).filter(|_| is_plain)?;
    Some(rule_header(&format!("{lens}/{rule}")))
}

/// Returns a message of the parser with the types of this program in the words of TOML.
fn in_words_of_toml(message: &str) -> String {
    let Some((problem, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let expected = match expected {
        _ if expected.starts_with("struct ") => "a table",
        "a map" => "a table",
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" => "a whole number that is not negative",
        _ => expected,
    };
    format!("{problem}, expected {expected}")
}

/// Returns the known word nearest to the unknown one. The parser's message has the unknown word first and the known ones
/// after it, all in backticks.
fn suggestion_in(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next()?;
    nearest(unknown, words).map(str::to_owned)
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
    let mut message = format!("there is no {kind} `{}`", sanitize_cut(name, 80));
    if (1..=MAX_LISTED).contains(&names.len()) {
        let known: Vec<&str> = names.iter().copied().collect();
        message.push_str(&format!("; there are {}", known.join(", ")));
    }
    let suggestion = nearest(name, names.iter().copied()).map(str::to_owned);
    Err(PolicyTextError { line: line_of(text, name), message, suggestion })
}

/// Returns the first line that holds a value parsed from the file, from 1; 1 where the file escapes the value.
fn line_of(text: &str, value: &str) -> usize {
    text.lines().position(|line| line.contains(value)).unwrap_or(0) + 1
}

/// Returns the line at which the settings of a rule begin, from 1.
pub(super) fn line_of_rule(text: &str, name: &str) -> usize {
    let mut lines = text.lines();
    match lines.position(|line| line.trim_start().starts_with("[rules.") && line.contains(name)) {
        Some(position) => position + 1,
        None => line_of(text, name),
    }
}

/// A place in a text: line and column in characters, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    pub line: usize,
    pub column: usize,
}

/// Returns the place of the first string with a value in a TOML file; `None` where no string has it.
pub(super) fn place_of_string(text: &str, value: &str) -> Option<TextPlace> {
    let table = DeTable::parse(text).ok()?;
    let start = table.get_ref().values().find_map(|inner| start_of_string(inner, value))?;
    let before = &text[..start];
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    Some(TextPlace { line, column: before[begin..].chars().count() + 1 })
}

fn start_of_string(found: &Spanned<DeValue<'_>>, value: &str) -> Option<usize> {
    match found.get_ref() {
        DeValue::String(text) => (text == value).then_some(found.span().start),
        DeValue::Array(items) => items.iter().find_map(|inner| start_of_string(inner, value)),
        DeValue::Table(table) => table.values().find_map(|inner| start_of_string(inner, value)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => None,
    }
}

/// Returns the line of a key path such as `limits.context.max-files`, from 1; that of the key anywhere, or 1, where it is
/// written in another way.
pub(super) fn line_of_key(text: &str, name: &str) -> usize {
    let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
    let mut current = "";
    for (position, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            current = header.split(']').next().unwrap_or_default();
        } else if current == table
            && line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        {
            return position + 1;
        }
    }
    line_of(text, key)
}

/// Returns the line at which a table begins, from 1; 1 where the header is written in another way.
pub fn line_of_table(text: &str, header: &str) -> usize {
    text.lines().position(|line| line.trim_start().starts_with(header)).unwrap_or(0) + 1
}

pub(super) fn check_version(version: Option<u8>, text: &str) -> Result<(), PolicyTextError> {
    match version {
        None | Some(1) => Ok(()),
        Some(other) => Err(PolicyTextError {
            line: line_of(text, "version"),
            message: format!("version {other} is not known; this binary reads version 1"),
            suggestion: None,
        }),
    }
}
