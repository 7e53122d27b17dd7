//! Plans of the lenses: the files and hunks of each, decided before any lens runs (S003-91).

use serde::{Deserialize, Serialize};

use super::{
    BlockingPolicy, ExecutionCommandSpec, LensClass, OverflowPolicy, PermissionProfileId, TokenEstimator,
};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`LensPlan`].
    LensPlanTag = "lens-plan.v1";
    /// Names the schema of [`LensPlanList`].
    LensPlanListTag = "lens-plan-list.v1";
}

/// Reason why a hunk is not part of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum OmissionReason {
    /// The change has more files than the run accepts.
    HardFileLimit,
    /// The change has more hunks than the run accepts.
    HardHunkLimit,
    /// The plan's files are used up.
    FileLimit,
    /// The plan's hunks are used up.
    HunkLimit,
    /// The plan's changed lines are used up.
    LineLimit,
    /// The file is larger than the run reads.
    BlobTooLarge,
    /// The file declares an encoding in which it may be another program.
    EncodingUnread,
}

/// A hunk that is not part of a plan (C-45).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OmittedHunk {
    /// Path of the file.
    pub file: RepoPath,
    /// The hunk's ordinal in the change set; null when the whole file is meant.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub hunk_ordinal: Option<u64>,
    /// Reason of the omission.
    pub reason: OmissionReason,
}

/// One planned run of one lens (S003-91). Members after `overflowPolicy` are extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensPlan {
    /// The schema's name.
    pub schema_version: LensPlanTag,
    /// The place in the queue, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub plan_ordinal: u64,
    /// Id of the lens.
    pub lens_id: String,
    /// The part of the lens; null for the whole.
    pub sub_lens_id: Option<String>,
    /// The lens's version.
    pub lens_version: String,
    /// The lens's class.
    pub lens_class: LensClass,
    /// True if PASS needs this plan to complete.
    pub required: bool,
    /// Condition under which its findings block.
    pub blocking_policy: BlockingPolicy,
    /// The binding it asks.
    pub provider_binding_id: String,
    /// Permission profile of its commands.
    pub permission_profile_id: PermissionProfileId,
    /// The changed files it looks at, by path.
    pub changed_files: Vec<RepoPath>,
    /// Those of them it sees whole.
    pub full_context_files: Vec<RepoPath>,
    /// Files it should have looked at and does not, wholly or in part.
    pub omitted_files: Vec<RepoPath>,
    /// The digest over the lens and the names and blobs of all files above.
    pub scope_digest: Sha256Hex,
    /// The commands it runs.
    pub execution_commands: Vec<ExecutionCommandSpec>,
    /// The most input tokens.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_input_tokens: u64,
    /// The most output tokens.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_output_tokens: u64,
    /// The most it may cost in US dollars; null for no bound of its own.
    pub max_cost_usd: Option<f64>,
    /// Treatment of the plan when it is over budget.
    pub overflow_policy: OverflowPolicy,

    /// The hunks it leaves out, with reasons.
    pub omitted_hunks: Vec<OmittedHunk>,
    /// Notes of the planner.
    pub planning_codes: Vec<Code>,
    /// Request settings of a review; null for other plans.
    pub review: Option<PlannedReview>,
}

/// Request settings of a review's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedReview {
    /// The digest of what it is told to do, without the change.
    pub prompt_template_hash: Sha256Hex,
    /// Method of estimating tokens before any are used.
    pub token_estimator: TokenEstimator,
    /// Number of requested replies.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub samples: u64,
    /// Number of replies that have to agree before a finding may block.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub agree: u64,
    /// True if the request contains an invented defect that every valid reply must report.
    pub canary: bool,
    /// Binding of the model that is asked to confirm findings that would block; null where none is.
    pub confirm_binding_id: Option<String>,
}

/// All plans of a run in queue order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensPlanList {
    /// The schema's name.
    pub schema_version: LensPlanListTag,
    /// Plans in queue order.
    pub lens_plans: Vec<LensPlan>,
}

impl Artifact for LensPlanList {
    const SCHEMA: &'static str = "lens-plan-list.v1";
    const FILE: &'static str = "lens-plan.json";
}
