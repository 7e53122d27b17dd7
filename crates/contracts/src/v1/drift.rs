//! What replaying stored runs gave: one entry per run, with the first difference and what most likely moved.

use serde::{Deserialize, Serialize};

use super::{Conclusion, DriftSource, DriftStatus, ModelDriftClass, Mover, Strength};
use crate::artifact::schema_tag;
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
    /// What was recorded, cut for display.
    pub recorded: String,
    /// What was derived, cut for display.
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
    /// What the run was held against.
    pub source: DriftSource,
    /// What came of it.
    pub status: DriftStatus,
    /// Why it is not the same.
    pub code: Option<Code>,
    /// What most likely moved.
    pub mover: Option<Mover>,
    /// One sentence for people.
    pub detail: String,
    /// The first difference.
    pub difference: Option<DriftDifference>,
    /// The recorded conclusion.
    pub recorded_conclusion: Option<Conclusion>,
    /// The derived conclusion.
    pub derived_conclusion: Option<Conclusion>,
    /// How the models of its reviews answer now; empty where they were not asked again. It decides nothing.
    pub models: Vec<ModelDrift>,
}

/// How a model answers a recorded question now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelDrift {
    /// The review.
    pub lens_id: String,
    /// Its part.
    pub sub_lens_id: Option<String>,
    /// The model's name in the policy.
    pub model: String,
    /// What differs.
    pub class: ModelDriftClass,
    /// `MODEL_DRIFT_DETECTED` where it differs more than its answers differ from each other.
    pub code: Option<Code>,
    /// How often it was asked.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub samples: u64,
    /// How much its answers name the same places among themselves, in thousandths (Jaccard, mean over pairs).
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub among_themselves_permille: Option<u64>,
    /// How much they name the same places as the recorded ones.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub with_recorded_permille: Option<u64>,
    /// One sentence for people.
    pub detail: String,
}

/// How many artifacts were looked at and why some were not replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriftListing {
    /// The repository.
    pub repository: String,
    /// The artifact's name.
    pub artifact_name: String,
    /// How many days back.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub since_days: u64,
    /// How many artifacts of the name are that young.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub found: u64,
    /// How many of them have expired.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub expired: u64,
    /// Number of runs of other repositories. They are replayed and do not affect the result.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub foreign: u64,
    /// How many of them are beyond the limit.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub beyond_limit: u64,
    /// Whether all artifacts of the name were listed.
    pub complete: bool,
}

/// What `drift-check` found.
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
    /// What was looked for in the repository; absent for directories and archives.
    pub listing: Option<DriftListing>,
    /// Every run, in the order given or newest first.
    pub runs: Vec<DriftRun>,
    /// How the conventions in force stand, where the checked-out commit has a frozen rubric.
    pub rubric: Option<RubricStanding>,
}

/// How the conventions of a frozen rubric stand in a later commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricStanding {
    /// The version in force.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub rubric_version: u64,
    /// The commit they were counted in.
    pub commit: CommitId,
    /// How many conventions were counted; those about files that change together need a history and are not.
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
    /// What breaking it weighs.
    pub strength: Strength,
    /// How many places could keep or break it when it was frozen.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support_then: u64,
    /// How many broke it then.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions_then: u64,
    /// How many places could keep or break it now.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support_now: u64,
    /// How many break it now.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions_now: u64,
}
