//! Names the first place where two runs of one key differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::exit::Failure;
use crate::store::{Entry, RunDirectory, StoreError};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::strict_json;
use qa_contracts::v1::{FileHash, RecordedExecution, Statement};
use qa_core::masking::sanitize_cut;
use qa_gates::normalize::normalize_output;

/// A difference between two run directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The file, relative to the run directory.
    pub(crate) path: String,
    /// A JSON pointer; empty for the whole file.
    pub(crate) pointer: String,
    pub(crate) recorded: String,
    pub(crate) derived: String,
}

/// A difference between two JSON values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueDifference {
    /// A JSON pointer.
    pub(crate) pointer: String,
    pub(crate) recorded: String,
    pub(crate) derived: String,
}

impl Difference {
    /// Returns the difference of a file that only one of the directories has.
    fn of_presence(path: &str, is_recorded: bool) -> Self {
        let (recorded, derived) = if is_recorded { ("present", "absent") } else { ("absent", "present") };
        Self {
            path: path.to_owned(),
            pointer: String::new(),
            recorded: recorded.to_owned(),
            derived: derived.to_owned(),
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}#{} was {}, is {}", self.path, self.pointer, self.recorded, self.derived)
    }
}

/// Files in the order in which they are compared: causes before effects.
const CAUSES_FIRST: &[&str] = &[
    "trace.json",
    "input.normalized.json",
    "recordings/inputs.json",
    "recordings/gates.json",
    "recordings/execution.json",
    "recordings/lookups.json",
    "recordings/replies.json",
    "change-set.json",
    "change-sensitivity.json",
    "lens-plan.json",
    "lens-results.json",
    "coverage.json",
    "cross-check.json",
    "qa-report.json",
    "final-verdict.json",
    "skill-result.json",
];

/// Position of a file in the comparison, and its path.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CauseOrder {
    position: usize,
    path: String,
}

impl CauseOrder {
    fn new(path: &str) -> Self {
        let position = CAUSES_FIRST.iter().position(|known| *known == path).unwrap_or(CAUSES_FIRST.len());
        Self { position, path: path.to_owned() }
    }
}

/// Digests of a file in both directories; `None` where the file is absent.
#[derive(Default)]
struct Digests {
    recorded: Option<Sha256Hex>,
    derived: Option<Sha256Hex>,
}

/// Members, by file, that differ between two runs of the same command; `*` matches every item. Output is compared by its
/// normalised digests instead.
const COMMAND_MEMBERS: &[(&str, &[&str])] = &[
    (
        "recordings/execution.json",
        &[
            "layers",
            "commands/*/durationMs",
            "commands/*/stdout/text",
            "commands/*/stdout/bytes",
            "commands/*/stdout/sha256",
            "commands/*/stderr/text",
            "commands/*/stderr/bytes",
            "commands/*/stderr/sha256",
            "commands/*/report/text",
            "commands/*/report/bytes",
            "commands/*/report/sha256",
        ],
    ),
    ("lens-results.json", AUDITS),
    ("skill-result.json", AUDITS),
    ("qa-report.json", &["gates/*/duration_ms", "timestamp", "duration_total_ms"]),
];
const AUDITS: &[&str] = &[
    "lensResults/*/executionAudit/layers",
    "lensResults/*/executionAudit/commands/*/stdoutSha256",
    "lensResults/*/executionAudit/commands/*/stderrSha256",
];

/// Returns the first difference between two run directories. Ignores volatile members and, if commands were executed, members
/// that differ between any two runs of a command.
pub(crate) fn compare(
    recorded: &RunDirectory,
    derived: &RunDirectory,
) -> Result<Option<Difference>, Failure> {
    let executed = [recorded, derived].iter().all(|run| run.has(RecordedExecution::FILE));
    let is_alike = if executed { is_alike_but_for_commands } else { |_: &str, _: &[u8], _: &[u8]| false };
    compare_by(recorded, derived, |file| &file.deterministic, is_alike)
}

/// Returns whether two versions of a file differ in nothing but members that differ between any two runs of a command.
fn is_alike_but_for_commands(path: &str, left: &[u8], right: &[u8]) -> bool {
    let (Ok(mut left_value), Ok(mut right_value)) = (strict_json::parse(left), strict_json::parse(right))
    else {
        // Reports show times and printed output.
        return normalize_bytes(left) == normalize_bytes(right);
    };
    let Some((_, members)) = COMMAND_MEMBERS.iter().find(|(file, _)| *file == path) else { return false };
    for member in *members {
        let steps: Vec<&str> = member.split('/').collect();
        remove(&mut left_value, &steps);
        remove(&mut right_value, &steps);
    }
    left_value == right_value
}

fn normalize_bytes(bytes: &[u8]) -> String {
    normalize_output(&String::from_utf8_lossy(bytes))
}

fn remove(value: &mut Value, steps: &[&str]) {
    match (value, steps) {
        (Value::Object(members), [last]) if *last != "*" => {
            members.remove(*last);
        }
        (Value::Object(members), ["*", rest @ ..]) => {
            members.values_mut().for_each(|member| remove(member, rest));
        }
        (Value::Object(members), [first, rest @ ..]) => {
            if let Some(member) = members.get_mut(*first) {
                remove(member, rest);
            }
        }
        (Value::Array(items), ["*", rest @ ..]) => items.iter_mut().for_each(|item| remove(item, rest)),
        _ => {}
    }
}

/// Returns the first difference between two run directories, volatile members included.
pub(crate) fn compare_whole(
    recorded: &RunDirectory,
    derived: &RunDirectory,
) -> Result<Option<Difference>, Failure> {
    compare_by(recorded, derived, |file| &file.full, |_, _, _| false)
}

fn compare_by(
    recorded: &RunDirectory,
    derived: &RunDirectory,
    digest: fn(&FileHash) -> &Sha256Hex,
    is_alike: fn(&str, &[u8], &[u8]) -> bool,
) -> Result<Option<Difference>, Failure> {
    let mut files: BTreeMap<CauseOrder, Digests> = BTreeMap::new();
    for file in &recorded.hashes.files {
        files.entry(CauseOrder::new(&file.path)).or_default().recorded = Some(digest(file).clone());
    }
    for file in &derived.hashes.files {
        files.entry(CauseOrder::new(&file.path)).or_default().derived = Some(digest(file).clone());
    }
    for (CauseOrder { path, .. }, digests) in files {
        if digests.recorded == digests.derived {
            continue;
        }
        if digests.recorded.is_none() || digests.derived.is_none() {
            return Ok(Some(Difference::of_presence(&path, digests.recorded.is_some())));
        }
        let (left, right) = (recorded.bytes(&path)?, derived.bytes(&path)?);
        if !is_alike(&path, &left, &right) {
            return Ok(Some(bytes_difference(&path, &left, &right)));
        }
    }
    if recorded.hashes.run_digest != derived.hashes.run_digest {
        // It is in the statement.
        return Ok(None);
    }
    Ok(compare_statement(recorded, derived.statement()?.as_deref())?)
}

/// Returns the first entry, causes first, that differs from the run directory's file, else a file of the directory that is
/// neither an entry nor one of `inputs`, from which the entries were derived.
pub(crate) fn compare_entries(
    recorded: &RunDirectory,
    derived: &[Entry],
    inputs: &[String],
) -> Result<Option<Difference>, Failure> {
    let mut ordered: Vec<&Entry> = derived.iter().collect();
    ordered.sort_by_key(|entry| CauseOrder::new(&entry.path));
    for entry in ordered {
        let named = recorded.hashes.files.iter().find(|file| file.path == entry.path);
        match named {
            Some(file) if file.deterministic == entry.deterministic => {}
            Some(_) => {
                return Ok(Some(bytes_difference(
                    &entry.path,
                    &recorded.bytes(&entry.path)?,
                    &entry.bytes(),
                )));
            }
            None => return Ok(Some(Difference::of_presence(&entry.path, false))),
        }
    }
    let known: BTreeSet<&String> = derived.iter().map(|entry| &entry.path).chain(inputs).collect();
    let unknown = recorded.hashes.files.iter().map(|file| &file.path).find(|path| !known.contains(path));
    Ok(unknown.map(|path| Difference::of_presence(path, true)))
}

/// Returns the difference between the statement of a run and the one that follows from its files. Where the tree of the head
/// is not recorded, as in runs of earlier versions, none follows.
pub(crate) fn compare_statement(
    recorded: &RunDirectory,
    derived: Option<&[u8]>,
) -> Result<Option<Difference>, StoreError> {
    Ok(match (recorded.statement()?, derived) {
        (None, None) => None,
        (Some(_), None) => Some(Difference::of_presence(Statement::FILE, true)),
        (None, Some(_)) => Some(Difference::of_presence(Statement::FILE, false)),
        (Some(stored), Some(derived)) if stored == derived => None,
        (Some(stored), Some(derived)) => Some(bytes_difference(Statement::FILE, &stored, derived)),
    })
}

fn bytes_difference(path: &str, recorded: &[u8], derived: &[u8]) -> Difference {
    let ValueDifference { pointer, recorded, derived } =
        match (strict_json::parse(recorded), strict_json::parse(derived)) {
            (Ok(left), Ok(right)) => {
                first_difference(&left, &right, String::new()).unwrap_or_else(|| ValueDifference {
                    pointer: String::new(),
                    recorded: "the same value".to_owned(),
                    derived: "other bytes".to_owned(),
                })
            }
            _ => {
                let lines = derived.split(|&byte| byte == b'\n');
                let pairs = recorded.split(|&byte| byte == b'\n').zip(lines);
                let line = pairs.take_while(|(left, right)| left == right).count() + 1;
                ValueDifference {
                    pointer: String::new(),
                    recorded: format!("{} bytes", recorded.len()),
                    derived: format!("{} bytes, different from line {line}", derived.len()),
                }
            }
        };
    Difference { path: path.to_owned(), pointer, recorded, derived }
}

/// Members that are compared last, since they differ between machines or follow from other members.
const UNINTERESTING: &[&str] = &[
    "repoRoot",
    "baseRef",
    "headRef",
    "maxConcurrency",
    "artifactRoot",
    "testMergeSha",
    "settings",
    // Follows from the other members of an input.
    "configHash",
    "machine",
    "baseRule",
    "baseCodes",
];

/// Returns the first difference between two values, by the names of members.
pub(crate) fn first_difference(left: &Value, right: &Value, pointer: String) -> Option<ValueDifference> {
    if left == right {
        return None;
    }
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
            names.sort_by_key(|name| (UNINTERESTING.contains(&name.as_str()), (*name).clone()));
            names.dedup();
            names.into_iter().find_map(|name| {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => first_difference(left, right, pointer),
                    (left, right) => {
                        let (recorded, derived) = (render_member(left), render_member(right));
                        Some(ValueDifference { pointer, recorded, derived })
                    }
                }
            })
        }
        (Value::Array(left), Value::Array(right)) => {
            let items = left.iter().zip(right).enumerate();
            let inside = items.into_iter().find_map(|(index, (left, right))| {
                first_difference(left, right, format!("{pointer}/{index}"))
            });
            inside.or_else(|| {
                let (recorded, derived) = (format!("{} items", left.len()), format!("{} items", right.len()));
                Some(ValueDifference { pointer, recorded, derived })
            })
        }
        _ => {
            let (recorded, derived) = (render_value(left), render_value(right));
            Some(ValueDifference { pointer, recorded, derived })
        }
    }
}

fn render_value(value: &Value) -> String {
    sanitize_cut(&value.to_string(), 120)
}

fn render_member(value: Option<&Value>) -> String {
    match value {
        Some(value) => render_value(value),
        None => "absent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_runs_of_a_command_differ_by_time_and_output_and_by_nothing_else() {
        let execution = |duration: u64, text: &str, normalized: &str| {
            let stdout =
                json!({"text": text, "bytes": text.len(), "sha256": text, "normalizedSha256": normalized});
            let command = json!({"durationMs": duration, "exitCode": 0, "stdout": stdout, "report": null});
            json!({"layers": {"landlockAbi": duration}, "commands": [command]}).to_string().into_bytes()
        };
        let file = "recordings/execution.json";
        let first = execution(5, "1 passed in 0.1s", "n");
        assert!(is_alike_but_for_commands(file, &first, &execution(6, "1 passed in 0.22s", "n")));
        assert!(!is_alike_but_for_commands(file, &first, &execution(5, "1 passed in 0.1s", "other")));
        assert!(!is_alike_but_for_commands("change-set.json", &first, &execution(6, "", "n")));
        let page = |text: &str| text.as_bytes().to_vec();
        assert!(is_alike_but_for_commands("summary.md", &page("took 12 ms"), &page("took 7 ms")));
        assert!(!is_alike_but_for_commands("summary.md", &page("1 passed"), &page("2 passed")));
    }

    fn difference(pointer: &str, recorded: &str, derived: &str) -> ValueDifference {
        ValueDifference {
            pointer: pointer.to_owned(),
            recorded: recorded.to_owned(),
            derived: derived.to_owned(),
        }
    }

    #[test]
    fn the_first_difference_is_named_by_pointer_with_both_values() {
        let left = json!({"machine": 1, "a": [{"b/c": 1}, 2], "z": 0});
        let right = json!({"machine": 2, "a": [{"b/c": 3}, 2], "z": 1});
        assert_eq!(first_difference(&left, &right, String::new()), Some(difference("/a/0/b~1c", "1", "3")));
        let longer = json!({"machine": 1, "a": [{"b/c": 1}, 2, 5], "z": 0});
        assert_eq!(
            first_difference(&left, &longer, String::new()),
            Some(difference("/a", "2 items", "3 items"))
        );
        assert_eq!(first_difference(&left, &left, String::new()), None);
    }
}
