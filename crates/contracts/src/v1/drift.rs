//! The result of replaying stored runs: one entry per run, with the first difference and its most likely cause.

use serde::{Deserialize, Serialize};

use super::{Conclusion, DriftSource, DriftStatus, ModelDriftClass, Mover, Strength};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{CommitId, ExecutionKey};

schema_tag! {
    /// Names the schema of [`DriftReport`].
    DriftReportTag = "drift-report.v1";
}

/// The first difference between what was recorded and what was derived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftDifference {
    /// The file inside the run directory.
    pub file: String,
    /// A JSON pointer into it; empty for the whole file.
    pub pointer: String,
    /// Recorded value, cut for display.
    pub recorded: String,
    /// Derived value, cut for display.
    pub derived: String,
}

/// One stored run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftRun {
    /// The directory or archive it was read from, or the artifact's name.
    pub place: String,
    /// The id of the artifact, where it was downloaded.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub artifact_id: Option<u64>,
    /// The id of the workflow run that made the artifact.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub workflow_run_id: Option<u64>,
    /// True if the run is of another repository, such as a fork. Such a run does not affect the result.
    pub foreign: bool,
    /// The key; absent when it could not be read.
    pub execution_key: Option<ExecutionKey>,
    /// The head that was judged; absent when it could not be read.
    pub head_sha: Option<CommitId>,
    /// The engine that made the run, as its trace says.
    pub made_by: Option<String>,
    /// Source of the inputs that the run was compared with.
    pub source: DriftSource,
    /// Result of the replay.
    pub status: DriftStatus,
    /// Reason why the result is not `same`; null when it is.
    pub code: Option<Code>,
    /// Most likely cause of the difference.
    pub mover: Option<Mover>,
    /// One sentence for people.
    pub detail: String,
    /// First difference between the recorded and the derived run.
    pub difference: Option<DriftDifference>,
    /// Conclusion of the recorded run.
    pub recorded_conclusion: Option<Conclusion>,
    /// Conclusion of the derived run.
    pub derived_conclusion: Option<Conclusion>,
    /// Comparison of the models' present replies with the recorded ones; empty where no request was repeated. It
    /// decides nothing.
    pub models: Vec<ModelDrift>,
}

/// Comparison of a model's present replies to a recorded request with the recorded ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelDrift {
    /// Id of the review.
    pub lens_id: String,
    /// Part of the review, where it has several.
    pub sub_lens_id: Option<String>,
    /// The model's name in the policy.
    pub model: String,
    /// Kind of difference.
    pub class: ModelDriftClass,
    /// `MODEL_DRIFT_DETECTED` where it differs more than its answers differ from each other.
    pub code: Option<Code>,
    /// Number of repeated requests.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub samples: u64,
    /// Agreement of the new replies among themselves on the places of findings, in thousandths (Jaccard, mean over
    /// pairs).
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub among_themselves_permille: Option<u64>,
    /// Agreement of the new replies with the recorded ones on the places of findings, in thousandths.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub with_recorded_permille: Option<u64>,
    /// One sentence for people.
    pub detail: String,
}

/// Number of listed artifacts, and of those that were not replayed, by reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftListing {
    /// The repository as `owner/name`.
    pub repository: String,
    /// The artifact's name.
    pub artifact_name: String,
    /// Maximum age of the artifacts, in days.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub since_days: u64,
    /// Number of artifacts of the name within that age.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub found: u64,
    /// Number of expired ones among them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub expired: u64,
    /// Number of runs of other repositories. They are replayed and do not affect the result.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub foreign: u64,
    /// Number of them beyond the limit.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub beyond_limit: u64,
    /// True if all artifacts of the name were listed.
    pub complete: bool,
}

/// Result of `drift-check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftReport {
    /// The schema's name.
    pub schema_version: DriftReportTag,
    /// The engine that replayed.
    pub engine_version: String,
    /// The worst status of all runs; `same` when there were none.
    pub status: DriftStatus,
    /// Search for artifacts in the repository; absent for directories and archives.
    pub listing: Option<DriftListing>,
    /// Every run, in the order given or newest first.
    pub runs: Vec<DriftRun>,
    /// State of the conventions in force, where the checked-out commit has a frozen rubric.
    pub rubric: Option<RubricStanding>,
}

/// State of a frozen rubric's conventions in a later commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricStanding {
    /// The version in force.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub rubric_version: u64,
    /// The commit they were counted in.
    pub commit: CommitId,
    /// Number of counted conventions; those about files that change together need a history and are not counted.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub counted: u64,
    /// Those that would no longer be found, in the order of the rubric.
    pub fallen: Vec<FallenConvention>,
}

/// A convention that a commit no longer keeps well enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FallenConvention {
    /// The convention's id.
    pub id: String,
    /// The convention in one sentence.
    pub statement: String,
    /// Strength of a finding that breaks it.
    pub strength: Strength,
    /// Number of places that could keep or break it when it was frozen.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support_then: u64,
    /// Number of places that broke it when it was frozen.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions_then: u64,
    /// Number of places that could keep or break it now.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support_now: u64,
    /// Number of places that break it now.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions_now: u64,
}

impl Artifact for DriftReport {
    const SCHEMA: &'static str = "drift-report.v1";
    const FILE: &'static str = "drift-report.json";
}
