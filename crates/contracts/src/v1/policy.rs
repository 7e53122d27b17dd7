//! The files a maintainer commits: `.qa-skill/policy.toml` and `.qa-skill/waivers.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    BlockingPolicy, GateName, OverflowPolicy, PolicyDrive, PolicyExecution, PolicyModel, PolicyObserver,
    Preset, RunMode, Scope, Severity, Strength,
};

/// The policy file. Every member is optional; an absent file is an empty one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyFile {
    /// The format's version; only 1 exists.
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub version: Option<u8>,
    /// The strengths rules start from; `default` when absent.
    pub preset: Option<Preset>,
    /// Treatment of incompleteness; `strict` when absent.
    pub mode: Option<RunMode>,
    /// `owner/name`, so that every clone computes the same execution key.
    pub repo_id: Option<String>,
    /// Conclusion for a change with nothing to judge; `could_not_complete` when absent.
    pub empty_change: Option<EmptyChange>,
    /// Condition under which findings block; `rule_defined` when absent.
    pub blocking_policy: Option<BlockingPolicy>,
    /// The severity from which `severity_threshold` and `mixed` block; `high` when absent.
    pub blocking_threshold: Option<Severity>,
    /// Bounds of the run.
    #[serde(default)]
    pub limits: PolicyLimits,
    /// More globs for each scope, on top of the built-in ones.
    #[serde(default)]
    pub scopes: BTreeMap<Scope, Vec<String>>,
    /// Ratchet numbers.
    #[serde(default)]
    pub ratchet: PolicyRatchet,
    /// Token and cost budgets.
    #[serde(default)]
    pub budget: PolicyBudget,
    /// Use of the machine.
    #[serde(default)]
    pub run: PolicyRun,
    /// Rights of the gates' commands; nothing is executed when absent.
    #[serde(default)]
    pub execution: PolicyExecution,
    /// The quality gates that take part, by name. A gate that is not here does not run.
    #[serde(default)]
    pub gates: BTreeMap<GateName, PolicyGate>,
    /// Files that must not import certain other files.
    #[serde(default)]
    pub import_boundary: Vec<PolicyImportBoundary>,
    /// The frozen rubric that changes are held to; none when absent.
    #[serde(default)]
    pub consistency: PolicyConsistency,
    /// Reviews and gates that wait while a pull request is a draft; none when absent.
    pub observer: Option<PolicyObserver>,
    /// Rights and bounds of an agent in a drive.
    pub drive: Option<PolicyDrive>,
    /// Models that lenses may ask, by a name of the policy's own.
    #[serde(default)]
    pub models: BTreeMap<String, PolicyModel>,
    /// Settings per lens, by id.
    #[serde(default)]
    pub lenses: BTreeMap<String, PolicyLens>,
    /// Settings per rule, by id.
    #[serde(default)]
    pub rules: BTreeMap<String, PolicyRule>,
}

/// Imports between files of the repository that a maintainer does not want.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyImportBoundary {
    /// Globs of the files that are held to it.
    pub from: Vec<String>,
    /// Globs of the files that they must not import.
    pub must_not_import: Vec<String>,
    /// Globs of files among `from` that may.
    #[serde(default)]
    pub except: Vec<String>,
    /// Reason of the boundary, for people who run into it.
    pub reason: String,
}

/// Conclusion for a change with nothing to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum EmptyChange {
    /// Nothing was proven, so nothing passes.
    CouldNotComplete,
    /// It is fine; the verdict is marked vacuous where nothing else was judged.
    Pass,
}

/// Bounds of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyLimits {
    /// The most changed files.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub max_files: Option<u64>,
    /// Maximum number of hunks.
    #[cfg_attr(test, schemars(range(min = 1, max = 10000000)))]
    pub max_hunks: Option<u64>,
    /// The largest file read, in bytes.
    #[cfg_attr(test, schemars(range(min = 1, max = 1073741824)))]
    pub max_blob_bytes: Option<u64>,
    /// The largest differing part compared line by line, in bytes.
    #[cfg_attr(test, schemars(range(min = 1, max = 1073741824)))]
    pub max_line_diff_bytes: Option<u64>,
    /// The most tree entries walked, both sides together.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000000)))]
    pub max_tree_entries: Option<u64>,
    /// The most added times deleted files compared for similarity.
    #[cfg_attr(test, schemars(range(max = 100000000)))]
    pub max_rename_pairs: Option<u64>,
    /// True if a required lens may omit hunks and still pass.
    pub allow_omitted: Option<bool>,
    /// Time limit of a run until its verdict is stored, in seconds.
    #[cfg_attr(test, schemars(range(min = 1, max = 86400)))]
    pub deadline_seconds: Option<u64>,
    /// Bounds of each plan's context.
    #[serde(default)]
    pub context: PolicyContextLimits,
}

/// Bounds of each plan's context; absent means as large as the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyContextLimits {
    /// Maximum number of files.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub max_files: Option<u64>,
    /// Maximum number of hunks.
    #[cfg_attr(test, schemars(range(min = 1, max = 10000000)))]
    pub max_hunks: Option<u64>,
    /// The most changed lines.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000000)))]
    pub max_changed_lines: Option<u64>,
}

/// Ratchet numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyRatchet {
    /// The share of base files that must comply, in thousandths.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub theta_permille: Option<u16>,
    /// Minimum number of surveyed places in files of the base.
    #[cfg_attr(test, schemars(range(min = 1, max = 100000)))]
    pub min_support: Option<u64>,
}

/// Token and cost budgets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyBudget {
    /// The most tokens of a run.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_tokens: Option<u64>,
    /// The most a run may cost, in millionths of a US dollar.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_cost_micro_usd: Option<u64>,
    /// The most that reviews of one pull request may cost together, in millionths of a US dollar, as far as replies are
    /// kept from push to push; no bound when absent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_pull_request_cost_micro_usd: Option<u64>,
}

/// Use of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyRun {
    /// Number of workers; it changes nothing but the time.
    #[cfg_attr(test, schemars(range(min = 1, max = 64)))]
    pub max_concurrency: Option<u64>,
}

/// Settings of a quality gate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyGate {
    /// True if PASS needs the gate; true when absent, because a declared gate is meant to count.
    pub required: Option<bool>,
    /// The reports it reads, which an earlier step wrote.
    #[serde(default)]
    pub reports: Vec<PolicyReport>,
    /// The tools it runs itself, where the change touches a project that uses them; docs/gates.md lists them.
    #[serde(default)]
    pub run: Vec<String>,
    /// Commands of the policy's own, for tools and projects that `run` does not know.
    #[serde(default)]
    pub command: Vec<PolicyCommand>,
    /// True if a tool with errors at head also runs on the merge base, so that errors of both are not attributed to the
    /// change; true when absent.
    pub run_base: Option<bool>,
    /// True if a command that passed counts only after it ran once more, in a tree of its own; false when absent.
    pub confirm: Option<bool>,
    /// Conclusion for a change that touches no project of the tools in `run` and no file of a command;
    /// `could_not_complete` when absent.
    pub untouched: Option<EmptyChange>,
    /// Globs of files that the gate's tools need not look at, although they are for files of that kind.
    #[serde(default)]
    pub except: Vec<String>,
    /// Gates whose tests it reads as well; of `story_validation` alone.
    #[serde(default)]
    pub tests_of: Vec<GateName>,
    /// Features that a change is about by the files it touches; of `story_validation` alone.
    #[serde(default)]
    pub features: Vec<PolicyFeature>,
}

/// A feature with the files that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyFeature {
    /// Its id in `feature_list.json`.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub id: u64,
    /// Globs of its files.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub paths: Vec<String>,
}

/// Need for the record of a report's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum RecordUse {
    /// Without a record the report is no result.
    Required,
    /// Without a record the report alone decides.
    Optional,
}

/// A report that an earlier step of the workflow wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyReport {
    /// The file, relative to the root of the repository, and not one that is committed; a glob for several of one run.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub path: String,
    /// The tool that wrote it, or the format of one that is not known; docs/gates.md lists both.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub tool: String,
    /// Name of a tool that is not known, for findings and summaries.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$")))]
    pub name: Option<String>,
    /// Its format; the tool's own when absent.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub format: Option<String>,
    /// The report of the same tool about the base, so that what it says too is not held against the change.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub base: Option<String>,
    /// The directory the tool ran in, where its paths are relative to that.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub directory: Option<String>,
    /// Globs of the files that a linter looked at, where its format does not list them; all below the directory when
    /// absent, and for a tool that is not known they say which files it is for.
    #[serde(default)]
    pub covers: Vec<String>,
    /// Need of the record of its command; by its tool and format when absent.
    pub record: Option<RecordUse>,
    /// Go's module path of that directory, as `go.mod` has it, for reports that name packages and not files.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub module: Option<String>,
}

/// A command that a gate runs in the sandbox, with the report that it leaves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyCommand {
    /// The program's plain name and its arguments; no shell reads them.
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub run: Vec<String>,
    /// The tool that writes the report; when absent, one that is not known and writes `format`.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub tool: Option<String>,
    /// The report's format; the tool's own when absent.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub format: Option<String>,
    /// Name of a tool that is not known, for findings and summaries.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$")))]
    pub name: Option<String>,
    /// Glob of the report's files, relative to the root of the repository; standard output when absent.
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub report: Option<String>,
    /// The directory in which it runs; the root when absent. Paths in the report are relative to it.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub directory: Option<String>,
    /// Globs of the files for which it runs; all below the directory when absent.
    #[serde(default)]
    pub covers: Vec<String>,
    /// Go's module path of that directory, for reports that name packages and not files.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub module: Option<String>,
}

impl PolicyReport {
    /// Returns the name of what wrote it.
    #[must_use]
    pub fn writer(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.tool)
    }
}

impl PolicyCommand {
    /// Returns the id of the tool that reads its report.
    #[must_use]
    pub fn tool_id(&self) -> &str {
        self.tool.as_deref().or(self.format.as_deref()).unwrap_or_default()
    }

    /// Returns the name of what writes its report.
    #[must_use]
    pub fn writer(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.tool_id())
    }
}

/// Conventions in force. There is no "latest": only a named rubric is enforced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyConsistency {
    /// The version of the rubric: `.qa-skill/rubrics/<version>.json` at the base.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub rubric: Option<u64>,
    /// Its `rubricHash`, so that no other file of that version is taken for it.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    pub hash: Option<String>,
}

/// Settings of one lens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyLens {
    /// True if the lens runs.
    pub enabled: Option<bool>,
    /// True if PASS needs the lens.
    pub required: Option<bool>,
    /// Globs of files it does not look at.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Treatment of a plan over budget.
    pub overflow: Option<OverflowPolicy>,
    /// The model that it asks, by its name in `models`; of a review alone, and none runs without.
    pub model: Option<String>,
    /// Number of replies that a review requests; 1 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub samples: Option<u64>,
    /// Number of replies that have to agree before a finding may block; more than half when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub agree: Option<u64>,
    /// True if a review's request contains an invented defect, without which no reply is valid; false when absent.
    pub canary: Option<bool>,
    /// Another model, by its name in `models`, that is asked to confirm findings of a review that would block; none when
    /// absent.
    pub confirm_model: Option<String>,
    /// The most tokens a review reads for one answer, all its parts together; 70,000 when absent.
    #[cfg_attr(test, schemars(range(min = 1000, max = 10000000)))]
    pub max_input_tokens: Option<u64>,
}

/// Settings of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyRule {
    /// Its strength in every scope.
    pub strength: Option<Strength>,
    /// Its strength in single scopes; wins over `strength`.
    #[serde(default)]
    pub scopes: BTreeMap<Scope, Strength>,
}

/// Content of the waiver file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaiverFile {
    /// The format's version; only 1 exists.
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub version: Option<u8>,
    /// Waivers in force.
    #[serde(default)]
    pub waiver: Vec<Waiver>,
}

/// Permission for one finding to stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waiver {
    /// Id of the rule.
    pub rule: String,
    /// The finding's `evidenceHash`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    pub evidence_hash: String,
    /// Person or team that answers for the waiver.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub owner: String,
    /// Reason why the finding may stay.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub reason: String,
    /// The last day it holds, as a string or as a date of TOML.
    #[serde(deserialize_with = "day")]
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")))]
    pub expires: String,
}

/// Reads a day that is a string or a date of TOML.
fn day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a date as 2027-01-31 or \"2027-01-31\"")]
    enum Day {
        Text(String),
        Date(toml_datetime::Datetime),
    }
    Ok(match Day::deserialize(deserializer)? {
        Day::Text(text) => text,
        Day::Date(date) => date.to_string(),
    })
}
