//! The main job: one call per arrow from a request to a verdict that is stored.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::ask_models::ask;
use super::exit::Failure;
use super::inputs::{Opened, Request, artifact_root};
use super::prepare::{Prepared, prepare};
use super::shard::joined;
use super::store_run::{RunRecord, Stored, store};
use qa_contracts::ids::ExecutionKey;
use qa_contracts::v1::{
    ChangeSet, Landing, MachineCounters, PermissionProfileId, RecordedReplies, RenameSummary, SkillInput,
};
use qa_core::calendar;
use qa_core::canonical;
use qa_core::masking::sanitize;
use qa_core::plan::PlanKind;
use qa_core::usage::usd;
use qa_run::derive::{Outcome, derive};
use qa_run::gates::{CommandRunner, has_commands};
use qa_run::gather::{Gathered, Gathering};
use qa_run::inputs::{Inputs, PolicyInForce, Ports};
use qa_run::keys::key;
use qa_run::plans::needs_whole_file;
use qa_run::ports::{Cancellation, Objects, Progress};
use qa_run::sweep::ShardResults;

/// A finished run.
pub(crate) struct Finished {
    pub(crate) skill_input: SkillInput,
    pub(crate) inputs: Inputs,
    pub(crate) outcome: Outcome,
    pub(crate) stored: Stored,
    /// The repository, in which head can still be read.
    pub(crate) opened: Opened,
}

impl Finished {
    /// Returns whether the policy declares any gate.
    pub(crate) fn has_gates(&self) -> bool {
        self.outcome.plans.iter().any(|plan| PlanKind::from_lens_id(&plan.lens_id).gate().is_some())
    }
}

/// Judges a change and stores the proof. `keyed` is told the key before any plan runs; with directories
/// of `parts` no plan runs here, and what shards found is joined.
pub(crate) fn check_opened(
    request: &Request,
    opened: Opened,
    cancellation: &Arc<Cancellation>,
    progress: &dyn Progress,
    keyed: &dyn Fn(&ExecutionKey),
    parts: Option<&[PathBuf]>,
) -> Result<Finished, Failure> {
    let started = Instant::now();
    let resolved = &opened.resolved;
    let told =
        |step: &str, what: String| tracing::info!(ms = started.elapsed().as_millis(), "{step}: {what}");
    told(
        "base",
        format!("{} by {}, head {}", resolved.base.short(), resolved.base_rule, resolved.head.short()),
    );
    let mut prepared = prepare(request, &opened, cancellation, progress)?;
    let Inputs { change_set, sensitivity, .. } = &prepared.inputs;
    told("surface", format!("{} files, {} changed lines", change_set.files.len(), sensitivity.changed_lines));
    let key = prepared.with_ports(&opened, cancellation, progress, |ports| key(&prepared.inputs, ports));
    let parts = match parts {
        Some(directories) => Some(joined(&key.key, &change_set.files, directories)?),
        None => None,
    };
    keyed(&key.key);
    execute(&mut prepared.inputs, &opened, cancellation, progress)?;
    prepared.inputs.replies = ask(&prepared, &opened, cancellation, progress)?;
    let joined = parts.as_ref().map(|parts| parts as &dyn ShardResults);
    let outcome = prepared.with_ports(&opened, cancellation, progress, |ports| {
        derive(&prepared.inputs, &Ports { joined, ..*ports }, key)
    })?;
    told("verdict", format!("{} after {} plans", outcome.verdict.conclusion, outcome.plans.len()));
    cancellation.check()?;
    let Prepared { inputs, texts, .. } = prepared;
    let policy = &inputs.in_force.policy;
    let skill_input = skill_input(request, &opened, &inputs, &outcome);
    let record = RunRecord {
        skill_input: &skill_input,
        inputs: &inputs,
        outcome: &outcome,
        machine: machine(&opened, policy.max_concurrency, started),
        written_at: timestamp(crate::config::now()),
        base_rule: opened.resolved.base_rule,
        base_codes: &opened.resolved.codes,
        // Commands are run again each time and models are asked again, and what they say differs from time to time.
        refresh: request.refresh || has_commands(policy) || inputs.replies != RecordedReplies::default(),
        artifact_root: &artifact_root(request, &opened.repository.root),
        cancellation,
    };
    let stored = store(&record, texts, policy.max_concurrency)?;
    // The verdict stands. What follows has time of its own.
    cancellation.set_deadline(None);
    told("stored", if stored.replayed { "an earlier run agrees" } else { "a new run" }.to_owned());
    Ok(Finished { skill_input, inputs, outcome, stored, opened })
}

/// Runs the commands of gates, if the policy has any, and records their outputs.
#[cfg(target_os = "linux")]
fn execute(
    inputs: &mut Inputs,
    opened: &Opened,
    cancellation: &Arc<Cancellation>,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let policy = &inputs.in_force.policy;
    if !has_commands(policy) {
        return Ok(());
    }
    let command_sandbox =
        super::command_sandbox::FencedCommandSandbox::new(policy, &opened.repository, cancellation);
    let executing = CommandRunner {
        policy,
        requested: inputs.overrides.lens_ids.as_deref(),
        change_set: &inputs.change_set,
        command_sandbox: &command_sandbox,
        cancellation,
        progress,
    };
    Ok(executing.run(&mut inputs.execution)?)
}

/// Records that nothing runs where there is no fence.
#[cfg(not(target_os = "linux"))]
fn execute(inputs: &mut Inputs, _: &Opened, _: &Arc<Cancellation>, _: &dyn Progress) -> Result<(), Failure> {
    if has_commands(&inputs.in_force.policy) {
        inputs.execution.denied = Some("commands run on Linux alone".to_owned());
    }
    Ok(())
}

/// Reads what changed between the merge base and head, or what a merge of head brings where that is more.
pub(crate) fn gather<'a>(
    opened: &'a Opened,
    in_force: &PolicyInForce,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
) -> Result<Gathered<'a>, Failure> {
    let resolved = &opened.resolved;
    let frame = ChangeSet {
        schema_version: Default::default(),
        base_sha: resolved.base.clone(),
        merge_base_sha: resolved.merge_base.clone(),
        other_merge_bases: resolved.other_merge_bases.clone(),
        landing: Landing::Change,
        landing_tree: None,
        head_sha: resolved.head.clone(),
        base_time: resolved.base_time,
        renames: RenameSummary { exact: 0, inexact: 0, not_compared: 0 },
        files: Vec::new(),
    };
    let gathering = Gathering {
        objects: &opened.objects,
        policy: in_force.policy.clone(),
        globs: in_force.policy.scope_globs(),
        whole: needs_whole_file(&in_force.policy),
        workers: in_force.policy.max_concurrency,
        cancellation,
        progress,
    };
    Ok(gathering.gather(frame, &resolved.merge)?)
}

/// The policy's `repo-id`, or what the origin remote says, or `local`: never a path, so that every clone agrees.
pub(crate) fn repo_id(opened: &Opened, in_force: &PolicyInForce) -> String {
    let stated = in_force.policy.repo_id.clone();
    stated.or_else(|| opened.repository.origin_repo_id()).unwrap_or_else(|| "local".to_owned())
}

fn skill_input(request: &Request, opened: &Opened, inputs: &Inputs, outcome: &Outcome) -> SkillInput {
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
        default_permission_profile_id: PermissionProfileId::ReadOnly,
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

fn machine(opened: &Opened, workers: u64, started: Instant) -> MachineCounters {
    let counters = opened.objects.counters();
    MachineCounters {
        elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(0),
        objects_read: counters.objects_read,
        bytes_inflated: counters.bytes_inflated,
        trees_walked: counters.trees_walked,
        workers,
        peak_rss_kib: peak_rss_kib(),
    }
}

fn timestamp(time: std::time::SystemTime) -> String {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    calendar::timestamp(i64::try_from(since).unwrap_or(i64::MAX))
}

fn peak_rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// The digest of the normalised input without what may differ from machine to machine.
pub(crate) fn normalized_input_hash(input: &SkillInput) -> qa_contracts::ids::Sha256Hex {
    use qa_contracts::artifact::Artifact;
    let mut value = serde_json::to_value(input).expect("contract types are JSON");
    if let serde_json::Value::Object(members) = &mut value {
        members.retain(|name, _| !SkillInput::VOLATILE.contains(&name.as_str()));
    }
    canonical::digest(&value).expect("validated input has a canonical form")
}
