//! Results of the lenses and the verdict of the run (S003-84, 92…95).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Conclusion, ConfirmationOutcome, Edit, ExecutionAudit, FindingOrigin, LensPlan, LensStatus, Scope,
    Severity, Strength, UsageUnavailableReason, VerdictStatus,
};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{ExecutionKey, RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`LensResult`].
    LensResultTag = "lens-result.v1";
    /// Names the schema of [`LensResultList`].
    LensResultListTag = "lens-result-list.v1";
    /// Names the schema of [`FinalVerdict`].
    FinalVerdictTag = "final-verdict.v1";
    /// Names the schema of [`SkillResult`].
    SkillResultTag = "skill-result.v1";
}

/// Tokens and cost of a plan (S003-84). Every member is always present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UsageMetrics {
    /// Tokens sent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub input_tokens: Option<u64>,
    /// Tokens received.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub output_tokens: Option<u64>,
    /// Sum of input and output tokens.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub total_tokens: Option<u64>,
    /// The cost in US dollars, at most six decimals.
    pub cost_usd: Option<f64>,
    /// Reason why a number is null.
    pub unavailable_reason: Option<UsageUnavailableReason>,
}

impl UsageMetrics {
    /// Usage of a plan without requests.
    pub const NONE: Self = Self {
        input_tokens: Some(0),
        output_tokens: Some(0),
        total_tokens: Some(0),
        cost_usd: Some(0.0),
        unavailable_reason: None,
    };
}

/// Violation of a rule at a place (S003-92). Members after `evidenceHash` are extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable while the flagged text moves: the digest over lens, rule, file and the text without its white space.
    pub finding_id: Sha256Hex,
    /// Id of the lens.
    pub lens_id: String,
    /// The part of the lens.
    pub sub_lens_id: Option<String>,
    /// Id of the rule.
    pub rule_id: String,
    /// Severity of the violation.
    pub severity: Severity,
    /// True if it makes the verdict FAIL.
    pub blocking: bool,
    /// The file as in the change set: the path at head, of a deleted file at the base.
    pub file: RepoPath,
    /// The first line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_line: u64,
    /// Last line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub end_line: u64,
    /// One sentence.
    pub summary: String,
    /// Evidence: `quote`, `side`, `startColumn`, `endColumn`, and members of the rule.
    pub evidence: BTreeMap<String, Value>,
    /// The digest over file, lines and evidence; waivers are bound to it.
    pub evidence_hash: Sha256Hex,

    /// Origin: introduced by this change, or pre-existing.
    pub origin: FindingOrigin,
    /// Whose code it is in.
    pub scope: Scope,
    /// The rule's strength here; why it blocks or does not.
    pub strength: Strength,
    /// The numbers behind a ratchet; null for other strengths.
    pub ratchet: Option<RatchetEvidence>,
    /// The waiver that keeps it from blocking; null without one.
    pub waiver: Option<AppliedWaiver>,
    /// Advice for the author.
    pub fix: String,
    /// Edit that mends it; null where there is none.
    pub edit: Option<Edit>,
    /// Codes that concern this finding alone.
    pub codes: Vec<Code>,
}

/// Compliance of the base with a ratcheted rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RatchetEvidence {
    /// The share the base must reach, in thousandths.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub theta_permille: u16,
    /// Minimum number of surveyed places in files of the base.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub min_support: u64,
    /// Number of surveyed places in files of the base.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// Number of surveyed places that comply.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub complying: u64,
    /// True if the ratchet holds, so that the finding blocks.
    pub holds: bool,
}

/// A waiver of the base that applies to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AppliedWaiver {
    /// Person or team that answers for the waiver.
    pub owner: String,
    /// Reason of the waiver.
    pub reason: String,
    /// The last day it holds, `YYYY-MM-DD`, compared with the base commit's date.
    pub expires: String,
}

/// Result of one plan (S003-93).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensResult {
    /// The schema's name.
    pub schema_version: LensResultTag,
    /// Ordinal of the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub plan_ordinal: u64,
    /// Id of the lens.
    pub lens_id: String,
    /// The part of the lens.
    pub sub_lens_id: Option<String>,
    /// The lens's version.
    pub lens_version: String,
    /// Status of the plan.
    pub status: LensStatus,
    /// True if part of the result is missing.
    pub degraded: bool,
    /// Findings, in S003-102 order.
    pub findings: Vec<Finding>,
    /// Covered files and evidence, in sentences.
    pub evidence_summary: Vec<String>,
    /// Tokens and cost.
    pub usage: UsageMetrics,
    /// Reasons why it is degraded, failed or skipped.
    pub error_codes: Vec<Code>,
    /// Warnings and notices.
    pub warning_codes: Vec<Code>,
    /// Executed commands; null where there are none.
    pub execution_audit: Option<ExecutionAudit>,
    /// The digest over what came back to it: recorded replies or, for rules, the drafts.
    pub adapter_response_hash: Sha256Hex,
    /// Replies of a model; null where none were requested.
    pub review: Option<ReviewRecord>,
}

/// Replies of a model to a plan's requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewRecord {
    /// The request; `recordings/replies.json` has what came of it.
    pub request_hash: Sha256Hex,
    /// Each answer, by number of the sample.
    pub samples: Vec<ReviewSample>,
    /// Number of findings in all replies whose quote is not at the claimed place.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub unverified: u64,
    /// True if every reply reports the invented defect; null where the request had none.
    pub canary_found: Option<bool>,
    /// Findings that models were asked to confirm, the worst first.
    pub confirmations: Vec<Confirmation>,
}

/// Finding that would block and that models were asked to confirm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// Id of the rule, or of the convention.
    pub rule_id: String,
    /// File of the finding.
    pub file: RepoPath,
    /// Line of the finding, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub line: u64,
    /// Result of the rounds.
    pub outcome: ConfirmationOutcome,
    /// Requests in order: to the confirming model, then to the review's own.
    pub rounds: Vec<ConfirmationRound>,
}

/// One request to confirm a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfirmationRound {
    /// Binding of the model.
    pub binding_id: String,
    /// The request; `recordings/replies.json` has what came of it.
    pub request_hash: Sha256Hex,
    /// Reason why there is no valid answer; null for a valid one.
    pub code: Option<Code>,
    /// True if the model upholds the finding, false if it rejects it; null without a valid answer.
    pub upheld: Option<bool>,
    /// The model's reason; null without a valid answer.
    pub reason: Option<String>,
    /// Settings that the provider reports with the reply.
    pub effective: EffectiveModel,
    /// Tokens and cost of the reply.
    pub usage: ReviewUsage,
}

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewSample {
    /// Reason why it is no valid reply; null for a valid one.
    pub code: Option<Code>,
    /// Number of its findings.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub findings: u64,
    /// Settings that the provider reports with the reply.
    pub effective: EffectiveModel,
    /// Tokens and cost of the reply.
    pub usage: ReviewUsage,
}

/// Settings that a provider reports with a reply; null where it reports none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectiveModel {
    /// Name of the model.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The share of the most likely words.
    pub top_p: Option<f64>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// The tier of service.
    pub service_tier: Option<String>,
    /// The provider's own mark of its configuration.
    pub system_fingerprint: Option<String>,
}

/// Usage of a reply, in tokens; null where the provider reports none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewUsage {
    /// All that was sent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub input_tokens: Option<u64>,
    /// Of these, read from the provider's cache.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cached_input_tokens: Option<u64>,
    /// Of these, written to it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cache_write_tokens: Option<u64>,
    /// All that was generated.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub output_tokens: Option<u64>,
    /// Of these, reasoning that is not part of the answer.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub reasoning_tokens: Option<u64>,
    /// Cost in millionths of a US dollar.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cost_micro_usd: Option<u64>,
}

/// All results of a run by plan ordinal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensResultList {
    /// The schema's name.
    pub schema_version: LensResultListTag,
    /// Results in the order of their plans.
    pub lens_results: Vec<LensResult>,
}

impl Artifact for LensResultList {
    const SCHEMA: &'static str = "lens-result-list.v1";
    const FILE: &'static str = "lens-results.json";
}

/// The answer (S003-94). Members after `aggregateUsage` are extensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FinalVerdict {
    /// The schema's name.
    pub schema_version: FinalVerdictTag,
    /// PASS or FAIL.
    pub status: VerdictStatus,
    /// True if part of a lens that is not required is missing.
    pub degraded: bool,
    /// The reasons, in sentences.
    pub rationale: Vec<String>,
    /// The lenses PASS needs.
    pub required_lens_ids: Vec<String>,
    /// Those without a result.
    pub missing_required_lens_ids: Vec<String>,
    /// Those that did not complete.
    pub failed_required_lens_ids: Vec<String>,
    /// Blocking findings, in S003-102 order.
    pub blocking_findings: Vec<Finding>,
    /// Every error code of the run, sorted.
    pub error_codes: Vec<Code>,
    /// The sum over all plans.
    pub aggregate_usage: UsageMetrics,

    /// Meaning of the status: FAIL because of the code, or because the run could not be completed.
    pub conclusion: Conclusion,
    /// Every warning code of the run, sorted (C-27).
    pub warning_codes: Vec<Code>,
    /// True if there was nothing to judge (D-16).
    pub vacuous: bool,
    /// Result under head's own policy, when the change edits it; never binding.
    pub policy_preview: Option<PolicyPreview>,
}

/// A setting that the change makes less strict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WeakenedSetting {
    /// The dotted name: `rules.merge-leftover/conflict-marker.product`.
    pub name: String,
    /// The effective value at the base.
    pub base: String,
    /// The effective value at head.
    pub head: String,
}

/// The verdict under head's policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyPreview {
    /// Conclusion under head's policy; null when it cannot be read.
    pub conclusion: Option<Conclusion>,
    /// Number of findings that would block.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocking_findings: u64,
    /// Reason why head's policy cannot be read; null when it can.
    pub error: Option<String>,
    /// Every setting that is less strict, by name.
    pub weakened: Vec<WeakenedSetting>,
}

impl Artifact for FinalVerdict {
    const SCHEMA: &'static str = "final-verdict.v1";
    const FILE: &'static str = "final-verdict.json";
}

/// The whole outcome of a run (S003-95).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillResult {
    /// The schema's name.
    pub schema_version: SkillResultTag,
    /// The name of the run.
    pub execution_key: ExecutionKey,
    /// The digest of the normalised input without its volatile members.
    pub normalized_input_hash: Sha256Hex,
    /// Plans in queue order.
    pub lens_plans: Vec<LensPlan>,
    /// Results of the plans, in the same order.
    pub lens_results: Vec<LensResult>,
    /// Verdict of the run.
    pub final_verdict: FinalVerdict,
}

impl Artifact for SkillResult {
    const SCHEMA: &'static str = "skill-result.v1";
    const FILE: &'static str = "skill-result.json";
}
