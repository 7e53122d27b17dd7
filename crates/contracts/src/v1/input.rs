//! The normalised input of a run (S003-85, 86, 90): everything a verdict depends on, by value or by digest.

use serde::{Deserialize, Serialize};

use super::{
    AdapterId, AuthScheme, Effort, LensClass, PermissionProfileId, Preset, RecordedObserver, RunMode,
    RunStage, SamplingMode, Surface, WorktreeMode,
};
use crate::artifact::{Artifact, schema_tag};
use crate::ids::{CommitId, Sha256Hex, TreeId};

schema_tag! {
    /// Names the schema of [`SkillInput`].
    SkillInputTag = "skill-input.v1";
}

/// Adapter and model of a plan, with the exact request settings (S003-85).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProviderBinding {
    /// The name plans refer to.
    pub binding_id: String,
    /// Id of the adapter.
    pub adapter_id: AdapterId,
    /// The adapter's own version.
    pub adapter_version: String,
    /// The exact model; `none` for the built-in binding.
    pub model_id: String,
    /// Always 0.
    #[cfg_attr(test, schemars(extend("const" = 0)))]
    pub temperature: u8,
    /// Always 1.
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub top_p: u8,
    /// The most tokens one answer may have.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_tokens: u64,
    /// A sampling seed where the provider knows one.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub seed: Option<u64>,
    /// The deadline of one attempt, in milliseconds.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub timeout_ms: u64,
    /// Always 2.
    #[cfg_attr(test, schemars(extend("const" = 2)))]
    pub retry_max: u8,
    /// Always 500 and 1500 milliseconds.
    #[cfg_attr(test, schemars(extend("const" = [500, 1500])))]
    pub retry_backoff_ms: Vec<u16>,

    /// Request settings of the model; null for the built-in binding, like the members that follow.
    pub model: Option<ModelBinding>,
}

/// Settings of a request to a model beside its texts. Together with the texts they determine the request's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelBinding {
    /// API dialect.
    pub surface: Surface,
    /// `openai`, `anthropic`, `github-models`, or `custom` where the policy names another address. The address itself
    /// is in the policy.
    pub endpoint_id: String,
    /// The version of the API that is asked for; null where there is none to ask for.
    pub api_version: Option<String>,
    /// Form in which the key is sent.
    pub auth_scheme: AuthScheme,
    /// Sampling parameters that are sent: `temperature` and `topP`, or none.
    pub sampling: SamplingMode,
    /// Reasoning effort; null where none is sent.
    pub effort: Option<Effort>,
    /// The tier of service; null where the surface has none.
    pub service_tier: Option<String>,
    /// The longest wait that a server may ask for, in milliseconds.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub retry_after_cap_ms: u64,
    /// The digest over the table of what models accept.
    pub capability_table_sha256: Sha256Hex,
    /// The digest over the table of prices.
    pub price_table_sha256: Sha256Hex,
}

/// Rights of plans under a permission profile (S003-86).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PermissionProfile {
    /// The profile's name.
    pub profile_id: PermissionProfileId,
    /// True if no command may be executed.
    pub read_only: bool,
    /// True if commands may use the network.
    pub allow_network: bool,
    /// Kind of work tree that commands run in.
    pub worktree_mode: WorktreeMode,
    /// Allowed beginnings of argument vectors.
    pub allowed_command_prefixes: Vec<Vec<String>>,
    /// The most commands one plan may run.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_commands_per_plan: u64,
    /// The deadline of one command, in milliseconds.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub command_timeout_ms: u64,
    /// The most bytes of standard output kept.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_stdout_bytes: u64,
    /// The most bytes of standard error kept.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub max_stderr_bytes: u64,
}

/// The effective value of one setting and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettingOrigin {
    /// The dotted name in the policy: `limits.max-files`.
    pub name: String,
    /// The value as text.
    pub value: String,
    /// `input`, `environment`, `policy` or `default`.
    pub origin: String,
}

/// Settings of the policy that the command line or the step replaces; null where the policy's own holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InputOverrides {
    /// `--mode`, or the input `mode`.
    pub mode: Option<RunMode>,
    /// `--preset`, or the input `preset`.
    pub preset: Option<Preset>,
    /// `--stage`, or the stage of the event; absent where all of the policy is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub stage: Option<RunStage>,
}

/// The normalised input (S003-90). Members after `configHash` are extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillInput {
    /// The schema's name.
    pub schema_version: SkillInputTag,
    /// `owner/name` from the policy or the origin remote; `local` without either.
    pub repo_id: String,
    /// Path of the repository on the machine of the run. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub repo_root: String,
    /// Always `git`.
    #[cfg_attr(test, schemars(extend("const" = "git")))]
    pub vcs: String,
    /// The base as it was asked for, null when it was resolved by the chain. Volatile: only the commit counts.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub base_ref: Option<String>,
    /// The head as it was asked for. Volatile: only the commit counts.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub head_ref: String,
    /// Treatment of incompleteness.
    pub run_mode: RunMode,
    /// The lenses asked for by name; null for all the policy enables.
    pub requested_lens_ids: Option<Vec<String>>,
    /// Number of plans that run at once. Volatile: it changes the timing and never the result.
    #[cfg_attr(test, schemars(range(min = 1, max = 64), extend("x-volatile" = true)))]
    pub max_concurrency: u64,
    /// Lens classes that may execute commands.
    pub allow_execution_lens_classes: Vec<LensClass>,
    /// The permission profiles known to this run.
    pub permission_profiles: Vec<PermissionProfile>,
    /// The profile of plans that run commands; all other plans are `read_only`.
    pub default_permission_profile_id: PermissionProfileId,
    /// Directory of the run directories. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub artifact_root: String,
    /// The run's token budget.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub run_budget_max_tokens: u64,
    /// The run's cost budget in US dollars, at most six decimals; null where models are asked and the price of none is
    /// known, so that nothing is held to it.
    pub run_budget_max_cost_usd: Option<f64>,
    /// The bindings plans may name.
    pub provider_bindings: Vec<ProviderBinding>,
    /// The digest over [`ConfigPreimage`].
    pub config_hash: Sha256Hex,

    /// The base commit: the policy is read from it.
    pub base_sha: CommitId,
    /// The newest merge base: the change is measured from it unless there is a landing tree.
    pub merge_base_sha: CommitId,
    /// Merge bases beside it, newest first.
    pub other_merge_bases: Vec<CommitId>,
    /// The tree of a merge of head into the base, where the change is the one between the base and it; null elsewhere.
    pub landing_tree: Option<TreeId>,
    /// The merge commit that a pull request's step was started for; null elsewhere. Volatile: only its tree counts.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub test_merge_sha: Option<CommitId>,
    /// Head commit.
    pub head_sha: CommitId,
    /// The strengths rules start from.
    pub preset: Preset,
    /// Overrides of the policy's own settings.
    pub overrides: InputOverrides,
    /// The effective settings and where each came from. Volatile: the values are in `configHash`, the origin of one
    /// may differ where the value is the same.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub settings: Vec<SettingOrigin>,
}

impl Artifact for SkillInput {
    const SCHEMA: &'static str = "skill-input.v1";
    const FILE: &'static str = "input.normalized.json";
    const VOLATILE: &'static [&'static str] =
        &["repoRoot", "baseRef", "headRef", "maxConcurrency", "artifactRoot", "testMergeSha", "settings"];
}

/// The id and version of a lens that was selected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SelectedLens {
    /// Id of the lens.
    pub lens_id: String,
    /// Version of the lens.
    pub lens_version: String,
}

/// The id and version of an adapter that was bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BoundAdapter {
    /// Id of the adapter.
    pub adapter_id: AdapterId,
    /// Version of the adapter.
    pub adapter_version: String,
}

/// Preimage of the execution key, which is the SHA-256 of its canonical JSON (S003-97).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionKeyPreimage {
    /// Id of the repository.
    pub repo_id: String,
    /// Base commit.
    pub base_sha: CommitId,
    /// Head commit.
    pub head_sha: CommitId,
    /// The lenses, by id.
    pub selected_lens_versions: Vec<SelectedLens>,
    /// The adapters, by id.
    pub provider_adapter_versions: Vec<BoundAdapter>,
    /// Treatment of incompleteness.
    pub run_mode: RunMode,
    /// Everything else that can change a result.
    pub config_hash: Sha256Hex,
}

/// Preimage of `configHash`, which is the SHA-256 of its canonical JSON (C-22, D-1): no path, host, worker count or ref
/// name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigPreimage {
    /// The version of this engine.
    pub engine_version: String,
    /// The digest over the sources of everything in the engine that judges, the same for all builds of them.
    pub source_hash: Sha256Hex,
    /// The newest merge base.
    pub merge_base_sha: CommitId,
    /// Merge bases beside it, newest first.
    pub other_merge_bases: Vec<CommitId>,
    /// The tree that the change leads to, where that is the one of a merge; null where it is head's.
    pub landing_tree: Option<TreeId>,
    /// The digest over the effective policy, defaults filled in.
    pub policy_hash: Sha256Hex,
    /// The digest over the waivers of the base.
    pub waivers_hash: Sha256Hex,
    /// The hash of the frozen rubric; null where the policy names none.
    pub rubric_hash: Option<Sha256Hex>,
    /// The digest over the rules of all lenses.
    pub registry_hash: Sha256Hex,
    /// The digest over the schemas of a run.
    pub schema_set_hash: Sha256Hex,
    /// The line diff algorithm.
    pub diff_algorithm: String,
    /// The lenses asked for by name.
    pub requested_lens_ids: Option<Vec<String>>,
    /// Overrides of the policy's own settings. They apply to the preview of head's policy too.
    pub overrides: InputOverrides,
    /// The digest over the reports that gates read and over the versions of what reads them; null without gates.
    pub gate_reports_hash: Option<Sha256Hex>,
    /// The observer's decision; absent where the policy enables no observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub observer: Option<RecordedObserver>,
}
