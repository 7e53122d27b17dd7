//! Builds the normalised input of a run, and its digest.

use super::inputs::{Opened, Request, artifact_root};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::SkillInput;
use qa_core::canonical;
use qa_core::masking::sanitize;
use qa_core::usage::usd;
use qa_run::derive::Outcome;
use qa_run::inputs::Inputs;

/// Returns the normalised input of a run.
pub(crate) fn skill_input(
    request: &Request,
    opened: &Opened,
    inputs: &Inputs,
    outcome: &Outcome,
) -> SkillInput {
    let root = &opened.repository.root;
    SkillInput {
        repo_root: sanitize(&root.display().to_string()),
        base_ref: request.base.as_deref().map(sanitize),
        head_ref: sanitize(&request.head),
        test_merge_sha: request.test_merge.clone(),
        artifact_root: sanitize(&artifact_root(request, root).display().to_string()),
        settings: inputs.in_force.policy.settings.iter().chain(&request.settings).cloned().collect(),
        ..derived_input(inputs, outcome)
    }
}

/// Returns the normalised input without the members that differ from machine to machine.
pub(crate) fn derived_input(inputs: &Inputs, outcome: &Outcome) -> SkillInput {
    let Inputs { overrides, change_set, .. } = inputs;
    let policy = &inputs.in_force.policy;
    SkillInput {
        schema_version: Default::default(),
        repo_id: outcome.key_preimage.repo_id.clone(),
        repo_root: String::new(),
        vcs: "git".to_owned(),
        base_ref: None,
        head_ref: String::new(),
        run_mode: policy.mode,
        requested_lens_ids: overrides.lens_ids.clone(),
        max_concurrency: policy.max_concurrency,
        allow_execution_lens_classes: policy.execution.lens_classes.clone(),
        permission_profiles: policy.execution.profiles(),
        default_permission_profile_id: policy.execution.profile,
        artifact_root: String::new(),
        run_budget_max_tokens: policy.max_tokens,
        run_budget_max_cost_usd: Some(usd(policy.max_cost_micro_usd)),
        provider_bindings: outcome.bindings.clone(),
        config_hash: outcome.key_preimage.config_hash.clone(),
        base_sha: change_set.base_sha.clone(),
        merge_base_sha: change_set.merge_base_sha.clone(),
        other_merge_bases: change_set.other_merge_bases.clone(),
        landing_tree: change_set.landing_tree.clone(),
        test_merge_sha: None,
        head_sha: change_set.head_sha.clone(),
        preset: policy.preset,
        overrides: overrides.recorded(),
        settings: Vec::new(),
    }
}

/// Returns the digest of the normalised input without its volatile members.
pub(crate) fn normalized_input_hash(input: &SkillInput) -> Sha256Hex {
    let mut value = serde_json::to_value(input).expect("contract types are JSON");
    if let serde_json::Value::Object(members) = &mut value {
        members.retain(|name, _| !SkillInput::VOLATILE.contains(&name.as_str()));
    }
    canonical::digest(&value).expect("validated input has a canonical form")
}
