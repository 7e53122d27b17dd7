//! Settings that are numbers: where each stands in the policy, its range and its default.

use qa_contracts::limits::MAX_SAFE_INTEGER;
use qa_contracts::v1::PolicyFile;

/// A number of the policy file.
pub(crate) struct NumberSetting {
    /// Key path, with dots.
    pub(crate) name: &'static str,
    /// Returns the value in a file.
    pub(super) stated: fn(&PolicyFile) -> Option<u64>,
    pub(super) least: u64,
    pub(super) most: u64,
    /// Value where the file has none; `None` where that is no bound, or another setting's value.
    pub(super) default: Option<u64>,
}

impl NumberSetting {
    /// Returns the value in a file, or the default.
    ///
    /// # Panics
    /// For a setting that has no default of its own.
    pub(crate) fn value(&self, file: &PolicyFile) -> u64 {
        (self.stated)(file).or(self.default).expect("settings without a default are read by `stated`")
    }
}

const fn number(
    name: &'static str,
    stated: fn(&PolicyFile) -> Option<u64>,
    least: u64,
    most: u64,
    default: Option<u64>,
) -> NumberSetting {
    NumberSetting { name, stated, least, most, default }
}

pub(crate) static MAX_FILES: NumberSetting =
    number("limits.max-files", |file| file.limits.max_files, 1, 1_000_000, Some(20_000));
pub(crate) static MAX_HUNKS: NumberSetting =
    number("limits.max-hunks", |file| file.limits.max_hunks, 1, 10_000_000, Some(1_000_000));
pub(crate) static MAX_BLOB_BYTES: NumberSetting =
    number("limits.max-blob-bytes", |file| file.limits.max_blob_bytes, 1, 1 << 30, Some(8 << 20));
pub(crate) static MAX_LINE_DIFF_BYTES: NumberSetting =
    number("limits.max-line-diff-bytes", |file| file.limits.max_line_diff_bytes, 1, 1 << 30, Some(1 << 20));
pub(crate) static MAX_TREE_ENTRIES: NumberSetting =
    number("limits.max-tree-entries", |file| file.limits.max_tree_entries, 1, 1_000_000_000, Some(2_000_000));
pub(crate) static MAX_RENAME_PAIRS: NumberSetting =
    number("limits.max-rename-pairs", |file| file.limits.max_rename_pairs, 0, 100_000_000, Some(10_000));
pub(crate) static DEADLINE_SECONDS: NumberSetting =
    number("limits.deadline-seconds", |file| file.limits.deadline_seconds, 1, 86_400, Some(1200));
pub(crate) static CONTEXT_MAX_FILES: NumberSetting =
    number("limits.context.max-files", |file| file.limits.context.max_files, 1, 1_000_000, None);
pub(crate) static CONTEXT_MAX_HUNKS: NumberSetting =
    number("limits.context.max-hunks", |file| file.limits.context.max_hunks, 1, 10_000_000, None);
pub(crate) static CONTEXT_MAX_CHANGED_LINES: NumberSetting = number(
    "limits.context.max-changed-lines",
    |file| file.limits.context.max_changed_lines,
    1,
    1_000_000_000,
    Some(100_000_000),
);
pub(crate) static THETA_PERMILLE: NumberSetting =
    number("ratchet.theta-permille", |file| file.ratchet.theta_permille.map(u64::from), 1, 1000, Some(980));
pub(crate) static MIN_SUPPORT: NumberSetting =
    number("ratchet.min-support", |file| file.ratchet.min_support, 1, 100_000, Some(20));
pub(crate) static MAX_CONCURRENCY: NumberSetting =
    number("run.max-concurrency", |file| file.run.max_concurrency, 1, 64, Some(4));
pub(crate) static MAX_COMMANDS_PER_PLAN: NumberSetting = number(
    "execution.limits.max-commands-per-plan",
    |file| file.execution.limits.max_commands_per_plan,
    1,
    256,
    Some(64),
);
pub(crate) static TIMEOUT_SECONDS: NumberSetting = number(
    "execution.limits.timeout-seconds",
    |file| file.execution.limits.timeout_seconds,
    1,
    21_600,
    Some(600),
);
pub(crate) static MAX_STDOUT_BYTES: NumberSetting = number(
    "execution.limits.max-stdout-bytes",
    |file| file.execution.limits.max_stdout_bytes,
    1,
    16 << 20,
    Some(8 << 20),
);
pub(crate) static MAX_STDERR_BYTES: NumberSetting = number(
    "execution.limits.max-stderr-bytes",
    |file| file.execution.limits.max_stderr_bytes,
    1,
    16 << 20,
    Some(1 << 20),
);
pub(crate) static DISK_MIB: NumberSetting =
    number("execution.limits.disk-mib", |file| file.execution.limits.disk_mib, 1, 1 << 20, Some(2048));
pub(crate) static MEMORY_MIB: NumberSetting =
    number("execution.limits.memory-mib", |file| file.execution.limits.memory_mib, 1, 1 << 20, None);
pub(crate) static PROCESSES: NumberSetting =
    number("execution.limits.processes", |file| file.execution.limits.processes, 1, 65_536, Some(512));
pub(crate) static MAX_TOKENS: NumberSetting =
    number("budget.max-tokens", |file| file.budget.max_tokens, 0, MAX_SAFE_INTEGER, Some(300_000));
pub(crate) static MAX_COST_MICRO_USD: NumberSetting = number(
    "budget.max-cost-micro-usd",
    |file| file.budget.max_cost_micro_usd,
    0,
    MAX_SAFE_INTEGER,
    Some(12_000_000),
);
pub(crate) static MAX_PULL_REQUEST_COST_MICRO_USD: NumberSetting = number(
    "budget.max-pull-request-cost-micro-usd",
    |file| file.budget.max_pull_request_cost_micro_usd,
    0,
    MAX_SAFE_INTEGER,
    None,
);
pub(crate) static RUBRIC: NumberSetting =
    number("consistency.rubric", |file| file.consistency.rubric, 1, 1_000_000, None);
pub(crate) static OBSERVER_CADENCE: NumberSetting = number(
    "observer.cadence",
    |file| file.observer.as_ref().and_then(|observer| observer.cadence),
    1,
    1000,
    Some(3),
);
pub(crate) static OBSERVER_COOLDOWN: NumberSetting = number(
    "observer.cooldown",
    |file| file.observer.as_ref().and_then(|observer| observer.cooldown),
    1,
    1000,
    Some(1),
);

pub(crate) static DRIVE_MAX_TURNS: NumberSetting =
    number("drive.max-turns", |file| file.drive.as_ref().and_then(|drive| drive.max_turns), 1, 1000, Some(5));
pub(crate) static DRIVE_TURN_SECONDS: NumberSetting = number(
    "drive.turn-seconds",
    |file| file.drive.as_ref().and_then(|drive| drive.turn_seconds),
    1,
    86_400,
    Some(1800),
);
pub(crate) static DRIVE_MAX_ATTEMPTS: NumberSetting = number(
    "drive.max-attempts",
    |file| file.drive.as_ref().and_then(|drive| drive.max_attempts),
    1,
    1000,
    Some(5),
);
pub(crate) static DRIVE_MAX_ATTEMPTS_PER_HEAD: NumberSetting = number(
    "drive.max-attempts-per-head",
    |file| file.drive.as_ref().and_then(|drive| drive.max_attempts_per_head),
    1,
    1000,
    Some(2),
);
pub(crate) static DRIVE_MAX_COST_MICRO_USD: NumberSetting = number(
    "drive.max-cost-micro-usd",
    |file| file.drive.as_ref().and_then(|drive| drive.max_cost_micro_usd),
    1,
    MAX_SAFE_INTEGER,
    None,
);

/// All of them.
pub(super) static NUMBERS: &[&NumberSetting] = &[
    &MAX_FILES,
    &MAX_HUNKS,
    &MAX_BLOB_BYTES,
    &MAX_LINE_DIFF_BYTES,
    &MAX_TREE_ENTRIES,
    &MAX_RENAME_PAIRS,
    &DEADLINE_SECONDS,
    &CONTEXT_MAX_FILES,
    &CONTEXT_MAX_HUNKS,
    &CONTEXT_MAX_CHANGED_LINES,
    &THETA_PERMILLE,
    &MIN_SUPPORT,
    &MAX_CONCURRENCY,
    &MAX_COMMANDS_PER_PLAN,
    &TIMEOUT_SECONDS,
    &MAX_STDOUT_BYTES,
    &MAX_STDERR_BYTES,
    &DISK_MIB,
    &MEMORY_MIB,
    &PROCESSES,
    &MAX_TOKENS,
    &MAX_COST_MICRO_USD,
    &MAX_PULL_REQUEST_COST_MICRO_USD,
    &RUBRIC,
    &OBSERVER_CADENCE,
    &OBSERVER_COOLDOWN,
    &DRIVE_MAX_TURNS,
    &DRIVE_TURN_SECONDS,
    &DRIVE_MAX_ATTEMPTS,
    &DRIVE_MAX_ATTEMPTS_PER_HEAD,
    &DRIVE_MAX_COST_MICRO_USD,
];

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::policy::file::parse;

    /// Numbers of the policy's schema with their ranges, by key path.
    fn collect_ranges(schema: &Value, node: &Value, path: &str, found: &mut Vec<(String, u64, u64)>) {
        let node = match node["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => schema.pointer(pointer).expect("references lead somewhere"),
            None => node,
        };
        for choice in node["anyOf"].as_array().into_iter().flatten() {
            collect_ranges(schema, choice, path, found);
        }
        if node["type"].to_string().contains("integer") {
            let range = [&node["minimum"], &node["maximum"]].map(|bound| bound.as_u64().unwrap());
            found.push((path.to_owned(), range[0], range[1]));
        }
        for (name, member) in node["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            collect_ranges(schema, member, &path, found);
        }
    }

    #[test]
    fn the_table_has_the_numbers_and_ranges_of_the_schema() {
        let schema = qa_contracts::schema::find("policy.v1").unwrap();
        let schema: Value = serde_json::from_str(schema.text).unwrap();
        let mut published = Vec::new();
        collect_ranges(&schema, &schema, "", &mut published);
        // The version has a check and a message of its own.
        published.retain(|(name, ..)| name != "version");
        published.sort();
        let row = |setting: &&NumberSetting| (setting.name.to_owned(), setting.least, setting.most);
        let mut rows: Vec<(String, u64, u64)> = NUMBERS.iter().map(row).collect();
        rows.sort();
        assert_eq!(rows, published);
    }

    #[test]
    fn the_example_shows_the_defaults() {
        let example = include_str!("../../../../docs/policy.example.toml");
        let file: PolicyFile = parse(example).unwrap();
        for setting in NUMBERS {
            let stated = (setting.stated)(&file);
            assert!(stated.is_some(), "{} is shown", setting.name);
            assert!(setting.default.is_none() || stated == setting.default, "{}", setting.name);
        }
    }
}
