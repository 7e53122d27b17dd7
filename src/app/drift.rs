//! Names the first place where two runs of one key differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::exit::Failure;
use crate::store::{Entry, RunDirectory};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::strict_json;
use qa_contracts::v1::{FileHash, RecordedExecution};
use qa_core::masking::sanitize_cut;
use qa_gates::normalize::normalize_output;

/// A difference: the file, where in it, and both values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    /// A JSON pointer; empty for the whole file.
    pub(crate) pointer: String,
    pub(crate) recorded: String,
    pub(crate) derived: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}#{} was {}, is {}", self.path, self.pointer, self.recorded, self.derived)
    }
}

/// The order in which files are compared: causes before effects.
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

fn rank(path: &str) -> (usize, String) {
    (CAUSES_FIRST.iter().position(|known| *known == path).unwrap_or(CAUSES_FIRST.len()), path.to_owned())
}

/// Members, by file, that differ between two runs of the same command; `*` matches every item. Output is compared by its
/// normalised digests instead.
const OF_COMMANDS: &[(&str, &[&str])] = &[
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

/// The first difference between two run directories, volatile members aside, and what differs by nature where commands
/// were executed.
pub(crate) fn compare(
    recorded: &RunDirectory,
    derived: &RunDirectory,
) -> Result<Option<Difference>, Failure> {
    let executed = [recorded, derived].iter().all(|run| run.has(RecordedExecution::FILE));
    let alike = if executed { alike_but_for_commands } else { |_: &str, _: &[u8], _: &[u8]| false };
    compare_by(recorded, derived, |file| &file.deterministic, alike)
}

/// Returns whether two versions of a file differ by nothing but what two runs of one command always differ by.
fn alike_but_for_commands(path: &str, left: &[u8], right: &[u8]) -> bool {
    let (Ok(mut left_value), Ok(mut right_value)) = (strict_json::parse(left), strict_json::parse(right))
    else {
        // Reports show times and what was printed.
        let text = |bytes: &[u8]| normalize_output(&String::from_utf8_lossy(bytes));
        return text(left) == text(right);
    };
    let Some((_, members)) = OF_COMMANDS.iter().find(|(file, _)| *file == path) else { return false };
    for member in *members {
        let steps: Vec<&str> = member.split('/').collect();
        remove(&mut left_value, &steps);
        remove(&mut right_value, &steps);
    }
    left_value == right_value
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

/// The first difference between two run directories, volatile members included.
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
    alike: fn(&str, &[u8], &[u8]) -> bool,
) -> Result<Option<Difference>, Failure> {
    let mut files: BTreeMap<(usize, String), (Option<Sha256Hex>, Option<Sha256Hex>)> = BTreeMap::new();
    for file in &recorded.hashes.files {
        files.entry(rank(&file.path)).or_default().0 = Some(digest(file).clone());
    }
    for file in &derived.hashes.files {
        files.entry(rank(&file.path)).or_default().1 = Some(digest(file).clone());
    }
    for ((_, path), (left, right)) in files {
        if left == right {
            continue;
        }
        let absent = |present: bool| if present { "present" } else { "absent" }.to_owned();
        if left.is_none() || right.is_none() {
            let (recorded, derived) = (absent(left.is_some()), absent(right.is_some()));
            return Ok(Some(Difference { path, pointer: String::new(), recorded, derived }));
        }
        let (left, right) = (recorded.bytes(&path)?, derived.bytes(&path)?);
        if !alike(&path, &left, &right) {
            return Ok(Some(bytes_difference(&path, &left, &right)));
        }
    }
    Ok(None)
}

/// The first of the entries, causes first, that is not what the run directory holds, or a file of the directory that is
/// neither among the entries nor one of the inputs they were derived from.
pub(crate) fn compare_entries(
    recorded: &RunDirectory,
    derived: &[Entry],
    inputs: &[String],
) -> Result<Option<Difference>, Failure> {
    let mut ordered: Vec<&Entry> = derived.iter().collect();
    ordered.sort_by_key(|entry| rank(&entry.path));
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
            None => {
                return Ok(Some(Difference {
                    path: entry.path.clone(),
                    pointer: String::new(),
                    recorded: "absent".to_owned(),
                    derived: "present".to_owned(),
                }));
            }
        }
    }
    let known = |path: &String| inputs.contains(path) || derived.iter().any(|entry| entry.path == *path);
    let stranger = recorded.hashes.files.iter().map(|file| &file.path).find(|path| !known(path));
    Ok(stranger.map(|path| Difference {
        path: path.clone(),
        pointer: String::new(),
        recorded: "present".to_owned(),
        derived: "absent".to_owned(),
    }))
}

fn bytes_difference(path: &str, recorded: &[u8], derived: &[u8]) -> Difference {
    let whole = |pointer: &str, recorded: String, derived: String| Difference {
        path: path.to_owned(),
        pointer: pointer.to_owned(),
        recorded,
        derived,
    };
    match (strict_json::parse(recorded), strict_json::parse(derived)) {
        (Ok(left), Ok(right)) => match first_difference(&left, &right, String::new()) {
            Some((pointer, left, right)) => whole(&pointer, left, right),
            None => whole("", "the same value".to_owned(), "other bytes".to_owned()),
        },
        _ => {
            let line = recorded
                .split(|&byte| byte == b'\n')
                .zip(derived.split(|&byte| byte == b'\n'))
                .take_while(|(left, right)| left == right)
                .count();
            whole(
                "",
                format!("{} bytes", recorded.len()),
                format!("{} bytes, other from line {}", derived.len(), line + 1),
            )
        }
    }
}

/// Members that differ by nature come last, so that the pointer names something that matters.
const UNINTERESTING: &[&str] = &[
    "repoRoot",
    "baseRef",
    "headRef",
    "maxConcurrency",
    "artifactRoot",
    "testMergeSha",
    "settings",
    "machine",
    "baseRule",
    "baseCodes",
];

fn first_difference(left: &Value, right: &Value, pointer: String) -> Option<(String, String, String)> {
    if left == right {
        return None;
    }
    let shown = |value: &Value| sanitize_cut(&value.to_string(), 120);
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
            names.sort_by_key(|name| (UNINTERESTING.contains(&name.as_str()), (*name).clone()));
            names.dedup();
            names.into_iter().find_map(|name| {
                let deeper = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => first_difference(left, right, deeper),
                    (left, right) => {
                        let shown = |value: Option<&Value>| value.map_or("absent".to_owned(), shown);
                        Some((deeper, shown(left), shown(right)))
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
                Some((pointer, format!("{} items", left.len()), format!("{} items", right.len())))
            })
        }
        _ => Some((pointer, shown(left), shown(right))),
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
        assert!(alike_but_for_commands(file, &first, &execution(6, "1 passed in 0.22s", "n")));
        assert!(!alike_but_for_commands(file, &first, &execution(5, "1 passed in 0.1s", "other")));
        assert!(!alike_but_for_commands("change-set.json", &first, &execution(6, "", "n")));
        let page = |text: &str| text.as_bytes().to_vec();
        assert!(alike_but_for_commands("summary.md", &page("took 12 ms"), &page("took 7 ms")));
        assert!(!alike_but_for_commands("summary.md", &page("1 passed"), &page("2 passed")));
    }

    #[test]
    fn the_first_difference_is_named_by_pointer_with_both_values() {
        let left = json!({"machine": 1, "a": [{"b/c": 1}, 2], "z": 0});
        let right = json!({"machine": 2, "a": [{"b/c": 3}, 2], "z": 1});
        assert_eq!(
            first_difference(&left, &right, String::new()),
            Some(("/a/0/b~1c".into(), "1".into(), "3".into()))
        );
        let longer = json!({"machine": 1, "a": [{"b/c": 1}, 2, 5], "z": 0});
        assert_eq!(
            first_difference(&left, &longer, String::new()),
            Some(("/a".into(), "2 items".into(), "3 items".into()))
        );
        assert_eq!(first_difference(&left, &left, String::new()), None);
    }
}
