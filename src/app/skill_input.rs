//! Builds the normalised input of a run, and its digest.

use serde_json::Value;

use super::inputs::{Opened, Request, artifact_root};
use crate::git::Uncommitted;
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{ExecutionKeyPreimage, ProviderBinding, SkillInput};
use qa_core::canonical;
use qa_core::masking::sanitize;
use qa_core::policy::Overrides;
use qa_core::usage::usd;
use qa_providers::models::is_priced;
use qa_run::inputs::Inputs;
use qa_run::keys::Keyed;

/// Returns the normalised input of a run.
pub(crate) fn skill_input(request: &Request, opened: &Opened, inputs: &Inputs, keyed: &Keyed) -> SkillInput {
    let root = &opened.repository.root;
    SkillInput {
        repo_root: sanitize(&root.display().to_string()),
        base_ref: request.base.as_deref().map(sanitize),
        head_ref: match request.uncommitted {
            Some(Uncommitted::Staged) => "what is staged".to_owned(),
            Some(Uncommitted::Worktree) => "the working tree".to_owned(),
            None => sanitize(&request.head),
        },
        test_merge_sha: request.test_merge.clone(),
        artifact_root: sanitize(&artifact_root(request, root).display().to_string()),
        settings: [request.observer.settings(&inputs.in_force.policy), request.settings.clone()].concat(),
        ..derived_input(inputs, &keyed.preimage, &keyed.bindings)
    }
}

/// Returns the normalised input without the members that differ from machine to machine.
pub(crate) fn derived_input(
    inputs: &Inputs,
    preimage: &ExecutionKeyPreimage,
    bindings: &[ProviderBinding],
) -> SkillInput {
    let Inputs { overrides, change_set, .. } = inputs;
    let policy = &inputs.in_force.policy;
    SkillInput {
        schema_version: Default::default(),
        repo_id: preimage.repo_id.clone(),
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
        run_budget_max_cost_usd: is_cost_known(bindings).then(|| usd(policy.max_cost_micro_usd)),
        provider_bindings: bindings.to_vec(),
        config_hash: preimage.config_hash.clone(),
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

/// Returns what a run was called with.
pub(crate) fn recorded_overrides(input: &SkillInput) -> Overrides {
    Overrides {
        mode: input.overrides.mode,
        preset: input.overrides.preset,
        max_concurrency: Some(input.max_concurrency),
        lens_ids: input.requested_lens_ids.clone(),
        stage: input.overrides.stage,
    }
}

/// Returns whether a budget in money holds any of the models, or there is no model to hold (S003-129).
fn is_cost_known(bindings: &[ProviderBinding]) -> bool {
    let mut models = bindings.iter().filter(|binding| binding.model.is_some()).peekable();
    models.peek().is_none() || models.any(is_priced)
}

/// Returns the digest of the normalised input without its volatile members.
pub(crate) fn normalized_input_hash(input: &SkillInput) -> Sha256Hex {
    canonical::digest(&decisive_members(input)).expect("validated input has a canonical form")
}

/// Returns the members of a normalised input that decide, which are all but the volatile ones.
pub(crate) fn decisive_members(input: &SkillInput) -> serde_json::Map<String, Value> {
    let value = serde_json::to_value(input).expect("contract types are JSON");
    let Value::Object(mut members) = value else { unreachable!("a struct is an object") };
    members.retain(|name, _| !SkillInput::VOLATILE.contains(&name.as_str()));
    members
}
