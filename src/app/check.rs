//! The main job: from a request to a stored verdict, one call per step of the flow.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ask_models::collect_replies;
use super::console::write_stderr;
use super::exit::Failure;
use super::finished::Finished;
use super::input_document::confirm;
use super::inputs::{Opened, Request, artifact_root};
use super::prepare::{Prepared, committed_file, prepare};
use super::shard::join_parts;
use super::skill_input::skill_input;
use super::store_run::{RunRecord, skill_result, store, unstored_result};
use crate::git::Resolved;
use crate::store::{ArtifactRoot, RunLock};
use qa_contracts::ids::ExecutionKey;
use qa_contracts::v1::{MachineCounters, RecordedReplies, RecordedTest, Side};
use qa_core::calendar;
use qa_core::phases::RunEvent;
use qa_run::control::Journal;
use qa_run::derive::{derive, gate_evidence};
use qa_run::gates::{Baseline, CommandRunner, has_commands, record_idle_tests};
use qa_run::http::pause_unless_cancelled;
use qa_run::inputs::{Inputs, Ports};
use qa_run::keys::key;
use qa_run::ports::{Cancellation, Objects, Progress};
use qa_run::sweep::ShardResults;

/// Time between two attempts at the lock of a run.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Judges a change and stores the proof, unless the request says otherwise. `keyed` is called with the execution key before any plan
/// runs, and ends the run by an error. With directories of `parts`, no plan runs here and the results of shards are joined.
pub(crate) fn check_opened(
    request: &Request,
    opened: Opened,
    cancellation: &Arc<Cancellation>,
    progress: &dyn Progress,
    keyed: &dyn Fn(&ExecutionKey) -> Result<(), Failure>,
    parts: Option<&[PathBuf]>,
) -> Result<Finished, Failure> {
    let started = Instant::now();
    let journal = &cancellation.journal;
    log_commits(journal, started, &opened.resolved);
    let mut prepared = prepare(request, &opened, cancellation, progress)?;
    log_surface(journal, started, &prepared.inputs);
    let key = prepared.with_ports(&opened, cancellation, progress, |ports| key(&prepared.inputs, ports));
    let skill_input = skill_input(request, &opened, &prepared.inputs, &key);
    confirm(request, &skill_input)?;
    let parts = match parts {
        Some(directories) => Some(join_parts(&key.key, &prepared.inputs.change_set.files, directories)?),
        None => None,
    };
    let artifact_root = artifact_root(request, &opened.repository.root);
    let _lock = lock(request, &artifact_root, &key.key, cancellation)?;
    keyed(&key.key)?;
    journal.take(RunEvent::PlanSubmitted)?;
    journal.take(RunEvent::Approved)?;
    let baseline = request.baseline_of(&prepared.inputs.change_set);
    execute(&mut prepared.inputs, &opened, baseline, cancellation, progress)?;
    prepared.inputs.execution.idle_tests = read_idle_tests(&prepared.inputs, &opened, &key.key)?;
    prepared.inputs.replies = collect_replies(&prepared, &opened, cancellation, progress)?;
    let joined = parts.as_ref().map(|parts| parts as &dyn ShardResults);
    let mut outcome = prepared.with_ports(&opened, cancellation, progress, |ports| {
        derive(&prepared.inputs, &Ports { joined, ..*ports }, key)
    })?;
    journal.take(RunEvent::cross_checked(outcome.cross_check.passed))?;
    let (conclusion, plans) = (outcome.verdict.conclusion, outcome.plans.len());
    log_step(journal, started, "verdict", &format!("{conclusion} after {plans} plans"));
    cancellation.check()?;
    let Prepared { inputs, texts, .. } = prepared;
    if !request.is_stored() {
        let result = unstored_result(&skill_input, &mut outcome, request.uncommitted)?;
        return Ok(Finished { skill_input, inputs, outcome, result, stored: None, opened });
    }
    let result = skill_result(&skill_input, &outcome);
    let policy = &inputs.in_force.policy;
    let record = RunRecord {
        skill_input: &skill_input,
        inputs: &inputs,
        outcome: &outcome,
        machine: machine(&opened, policy.max_concurrency, started, cancellation),
        written_at: timestamp(crate::config::now()),
        base_rule: opened.resolved.base_rule,
        base_codes: &opened.resolved.codes,
        // The results of commands and models differ from run to run, so such a run is stored as another attempt.
        refresh: request.refresh || has_commands(policy) || inputs.replies != RecordedReplies::default(),
        artifact_root: &artifact_root,
        cancellation,
    };
    let stored = store(&record, &result, texts, policy.max_concurrency)?;
    // The verdict is stored; publishing has a time limit of its own.
    cancellation.set_deadline(None);
    log_step(journal, started, "stored", if stored.replayed { "an earlier run agrees" } else { "a new run" });
    Ok(Finished { skill_input, inputs, outcome, result, stored: Some(stored), opened })
}

/// Waits until no other process judges the same change into the same directory. There is nothing to lock where nothing is
/// stored.
fn lock(
    request: &Request,
    artifact_root: &Path,
    key: &ExecutionKey,
    cancellation: &Cancellation,
) -> Result<Option<RunLock>, Failure> {
    if !request.is_stored() {
        return Ok(None);
    }
    let mut is_logged = false;
    let lock: Result<RunLock, Failure> = ArtifactRoot::prepare(artifact_root)?.lock(key, &mut || {
        if !std::mem::replace(&mut is_logged, true) {
            write_stderr("another process judges this change; waiting for it to end\n");
        }
        cancellation.check()?;
        pause_unless_cancelled(LOCK_INTERVAL, cancellation);
        Ok(())
    });
    lock.map(Some)
}

/// Finds the tests of steps that check nothing, by their source at head.
fn read_idle_tests(
    inputs: &Inputs,
    opened: &Opened,
    key: &ExecutionKey,
) -> Result<Vec<RecordedTest>, Failure> {
    let evidence = gate_evidence(inputs, key);
    Ok(record_idle_tests(&evidence, &|path| committed_file(opened, Side::Head, path))?)
}

fn log_commits(journal: &Journal, started: Instant, resolved: &Resolved) {
    let (base, head, rule) = (resolved.base.short(), resolved.head.short(), resolved.base_rule);
    log_step(journal, started, "base", &format!("{base} by {rule}, head {head}"));
}

fn log_surface(journal: &Journal, started: Instant, inputs: &Inputs) {
    let Inputs { change_set, sensitivity, .. } = inputs;
    let (files, lines) = (change_set.files.len(), sensitivity.changed_lines);
    log_step(journal, started, "surface", &format!("{files} files, {lines} changed lines"));
}

fn log_step(journal: &Journal, started: Instant, step: &str, result: &str) {
    tracing::info!(ms = started.elapsed().as_millis(), phase = %journal.phase(), "{step}: {result}");
}

/// Runs the commands of gates, if the policy has any, and records their outputs.
#[cfg(target_os = "linux")]
fn execute(
    inputs: &mut Inputs,
    opened: &Opened,
    baseline: Option<&Baseline>,
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
        observer: inputs.observer.as_ref(),
        command_sandbox: &command_sandbox,
        baseline,
        cancellation,
        progress,
    };
    Ok(executing.run(&mut inputs.execution)?)
}

/// Records that commands are denied on platforms without a sandbox.
#[cfg(not(target_os = "linux"))]
fn execute(
    inputs: &mut Inputs,
    _: &Opened,
    _: Option<&Baseline>,
    _: &Arc<Cancellation>,
    _: &dyn Progress,
) -> Result<(), Failure> {
    if has_commands(&inputs.in_force.policy) {
        inputs.execution.denied = Some("commands run on Linux only".to_owned());
    }
    Ok(())
}

fn machine(opened: &Opened, workers: u64, started: Instant, cancellation: &Cancellation) -> MachineCounters {
    let counters = opened.objects.counters();
    MachineCounters {
        elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(0),
        objects_read: counters.objects_read,
        bytes_inflated: counters.bytes_inflated,
        trees_walked: counters.trees_walked,
        workers,
        peak_rss_kib: peak_rss_kib(),
        phase_ms: cancellation.journal.phase_times(),
        retries: cancellation.journal.retries(),
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
