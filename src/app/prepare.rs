//! What a run, a plan and a part have in common: everything that is read before plans run.

use std::time::Duration;

use super::check::{gather, repo_id};
use super::derive::Recorded;
use super::evidence::BlobLines;
use super::exit::Failure;
use super::inputs::{InForce, Opened, Request, read_policy};
use crate::config::Workspace;
use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{ChangeSet, RecordedExecution, RecordedGates, RecordedReplies, Registry};
use qa_core::crosscheck::LineReader;
use qa_core::policy::Policy;
use qa_run::gates::{self, AtHead, Subject, any_runs, record};
use qa_run::gather::Gathered;
use qa_run::lookup::{Answering, Asked, Trees};
use qa_run::ports::{BlobRead, Cancellation, Objects, Progress};
use qa_run::survey::{BaseSurveys, Surveys};
use qa_run::sweep::Joined;

/// What was read.
pub(crate) struct Prepared<'a> {
    pub(crate) request: &'a Request,
    pub(crate) registry: Registry,
    pub(crate) in_force: InForce,
    pub(crate) gathered: Gathered<'a>,
    pub(crate) gates: RecordedGates,
    pub(crate) execution: RecordedExecution,
    /// What models answered; nothing before they were asked.
    pub(crate) replies: RecordedReplies,
    pub(crate) repo_id: String,
}

/// Where what plans ask for while they run comes from.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) surveys: &'a dyn Surveys,
    pub(crate) lookups: &'a dyn Answering,
    pub(crate) lines: &'a LineReader<'a>,
    pub(crate) joined: Option<&'a dyn Joined>,
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) progress: &'a dyn Progress,
}

/// Reads policy and change.
pub(crate) fn prepare<'a>(
    request: &'a Request,
    opened: &'a Opened,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
) -> Result<Prepared<'a>, Failure> {
    let registry = qa_lenses::registry();
    let in_force = read_policy(&opened.objects, opened.resolved.sides(), &request.overrides, &registry)?;
    cancellation.set_deadline(Some(Duration::from_secs(in_force.policy.limits.deadline_seconds)));
    prepare_by(request, opened, in_force, registry, cancellation, progress)
}

/// Reads the change, by a policy that was read before.
pub(crate) fn prepare_by<'a>(
    request: &'a Request,
    opened: &'a Opened,
    in_force: InForce,
    registry: Registry,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
) -> Result<Prepared<'a>, Failure> {
    let gathered = gather(opened, &in_force, cancellation, progress)?;
    let gates = read_reports(opened, &in_force)?;
    let mut execution = manifests(opened, &in_force.policy, &gathered.change_set)?;
    if any_runs(&in_force.policy) {
        execution.denied = request.standing.denied(in_force.policy.execution.fork_heads);
    }
    let repo_id = repo_id(opened, &in_force);
    let replies = RecordedReplies::default();
    Ok(Prepared { request, registry, in_force, gathered, gates, execution, replies, repo_id })
}

/// What says which tools the projects of the change use; nothing where no gate asks.
pub(super) fn manifests(
    opened: &Opened,
    policy: &Policy,
    change_set: &ChangeSet,
) -> Result<RecordedExecution, Failure> {
    if !any_runs(policy) {
        return Ok(RecordedExecution::default());
    }
    let of = |commit| gates::manifests(change_set, &opened.objects, commit);
    Ok(RecordedExecution {
        head_files: of(&change_set.head_sha)?,
        base_files: of(&change_set.merge_base_sha)?,
        ..RecordedExecution::default()
    })
}

fn read_reports(opened: &Opened, in_force: &InForce) -> Result<RecordedGates, Failure> {
    // The base's too: a checkout of both together would make it look new.
    let is_committed = |path: &str| {
        let tracked = |commit| opened.objects.is_tracked_at(commit, path);
        Ok(tracked(&opened.resolved.head)? || tracked(&opened.resolved.base)?)
    };
    let text = |path: &str| {
        let Some(id) = opened.objects.file_at(&opened.resolved.head, path)? else {
            return Ok(AtHead::Nothing);
        };
        Ok(match opened.objects.reader()?.blob(&id, MAX_REPORT_BYTES as u64)? {
            BlobRead::Content(bytes) => String::from_utf8(bytes).map_or(AtHead::Unreadable, AtHead::Text),
            BlobRead::TooLarge(_) => AtHead::Unreadable,
        })
    };
    // The base's as well: the date of a commit is whatever its author says.
    let time = opened.resolved.head_time.max(opened.resolved.base_time);
    let root = &opened.repository.root;
    let place = root.display().to_string();
    let place = place.trim_end_matches('/');
    let head = Subject { is_committed: &is_committed, text: &text, time, root: place };
    Ok(record(&in_force.policy, &Workspace::new(root), &head)?)
}

impl<'a> Prepared<'a> {
    /// Calls `then` with what plans ask for while they run, read from the repository.
    pub(crate) fn with_ports<T>(
        &self,
        opened: &Opened,
        cancellation: &Cancellation,
        progress: &dyn Progress,
        then: impl FnOnce(Ports<'_>) -> T,
    ) -> T {
        let policy = &self.in_force.policy;
        let files = &self.gathered.change_set.files;
        let blob_lines = BlobLines::new(&opened.objects, files, policy.limits.max_blob_bytes);
        let surveys = BaseSurveys {
            objects: &opened.objects,
            base: &opened.resolved.base,
            globs: policy.scope_globs(),
        };
        let lines = |path: &RepoPath, side, start, end| blob_lines.lines(path, side, start, end);
        let trees = Trees {
            objects: &opened.objects,
            merge_base: &self.gathered.change_set.merge_base_sha,
            head: &self.gathered.change_set.head_sha,
            workers: policy.max_concurrency,
            cancellation,
        };
        let lookups = Asked::of_trees(trees);
        let (surveys, lookups, lines) = (&surveys, &lookups, &lines);
        then(Ports { surveys, lookups, lines, joined: None, cancellation, progress })
    }

    /// The inputs of what is derived.
    pub(crate) fn recorded<'s>(&'s self, ports: Ports<'s>) -> Recorded<'s>
    where
        'a: 's,
    {
        Recorded {
            repo_id: &self.repo_id,
            change_set: &self.gathered.change_set,
            sensitivity: &self.gathered.sensitivity,
            texts: &self.gathered.texts,
            inputs: &self.in_force.recorded,
            policy: &self.in_force.policy,
            waivers: &self.in_force.waivers,
            rubric: self.in_force.rubric.as_ref(),
            overrides: &self.request.overrides,
            registry: &self.registry,
            surveys: ports.surveys,
            lookups: ports.lookups,
            gates: &self.gates,
            execution: &self.execution,
            replies: &self.replies,
            lines: ports.lines,
            cancellation: ports.cancellation,
            progress: ports.progress,
            joined: ports.joined,
        }
    }
}
