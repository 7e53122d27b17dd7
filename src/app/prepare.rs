//! Reads everything that a run, a list of plans or a shard needs before plans are executed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::console::write_stderr;
use super::exit::Failure;
use super::inputs::{Opened, Request, read_policy};
use crate::config::Workspace;
use crate::git::Resolved;
use qa_contracts::codes::Code;
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{
    ChangeSet, GateName, Landing, RecordedExecution, RecordedGates, RecordedLookups, RecordedReplies,
    Registry, RenameSummary, Side,
};
use qa_core::features::DeclaredFeatures;
use qa_core::policy::Policy;
use qa_run::gates::{self, CommittedFile, HeadCommit, has_commands, record_reports};
use qa_run::gather::{Gathered, GatheredTexts, Gathering, Texts};
use qa_run::inputs::{Inputs, PolicyInForce, Ports};
use qa_run::lookup::TreeLookups;
use qa_run::plans::needs_whole_file;
use qa_run::ports::{BlobRead, Cancellation, Objects, PortError, Progress};
use qa_run::quoted_lines::BlobLines;
use qa_run::survey::{BaseSurveys, RecordedSurveys};
use qa_run::trees::Trees;

/// The inputs of a run, before commands ran and models were asked, with the texts of the change.
pub(crate) struct Prepared<'a> {
    pub(crate) request: &'a Request,
    pub(crate) inputs: Inputs,
    pub(crate) texts: GatheredTexts<'a>,
}

/// Reads the policy and the change, and sets the deadline of the policy.
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

/// Reads the change by a given policy.
pub(crate) fn prepare_by<'a>(
    request: &'a Request,
    opened: &'a Opened,
    in_force: PolicyInForce,
    registry: Registry,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
) -> Result<Prepared<'a>, Failure> {
    let Gathered { change_set, sensitivity, texts } = gather(opened, &in_force, cancellation, progress)?;
    let gates = read_reports(request, opened, &in_force, &change_set)?;
    let mut execution = manifests(opened, &in_force.policy, &change_set)?;
    if has_commands(&in_force.policy) {
        execution.denied = request.head_trust.denied(in_force.policy.execution.fork_heads);
    }
    let observer = request.observer.decide(&in_force.policy)?;
    let inputs = Inputs {
        observer,
        repo_id: repo_id(opened, &in_force.policy),
        overrides: request.overrides.clone(),
        registry,
        in_force,
        change_set,
        sensitivity,
        gates,
        execution,
        replies: RecordedReplies::default(),
    };
    Ok(Prepared { request, inputs, texts })
}

/// Reads the manifests that show the tools of the change's projects; none if no gate needs them.
pub(super) fn manifests(
    opened: &Opened,
    policy: &Policy,
    change_set: &ChangeSet,
) -> Result<RecordedExecution, Failure> {
    if !has_commands(policy) {
        return Ok(RecordedExecution::default());
    }
    Ok(RecordedExecution {
        head_files: gates::manifests(change_set, &opened.objects, &change_set.head_sha)?,
        base_files: gates::manifests(change_set, &opened.objects, change_set.measured_from())?,
        ..RecordedExecution::default()
    })
}

fn read_reports(
    request: &Request,
    opened: &Opened,
    in_force: &PolicyInForce,
    change_set: &ChangeSet,
) -> Result<RecordedGates, Failure> {
    let now = seconds_since_1970(crate::config::now());
    let (time, now) = match request.uncommitted {
        // A commit would be made after this, and every report here is older.
        Some(_) => (now + 1, now + 1),
        // The later of both: an author can set the date of a commit.
        None => (opened.resolved.head_time.max(opened.resolved.base_time), now),
    };
    let Resolved { base, head, .. } = &opened.resolved;
    let declared_features = match in_force.policy.gates.contains_key(&GateName::StoryValidation) {
        true => opened.repository.declared_features(base, head)?,
        false => DeclaredFeatures::default(),
    };
    let root = &opened.repository.root;
    let root_path = root.display().to_string();
    let head = HeadCommit {
        is_committed: &|path| is_committed(opened, path),
        text: &|side, path| committed_file(opened, side, path),
        declared_features: &declared_features,
        label_features: &request.label_features,
        change_set,
        id: &opened.resolved.head,
        merged_tree: &|| opened.repository.merged_tree(&opened.resolved),
        time,
        now,
        root: root_path.trim_end_matches('/'),
    };
    let baseline = request.baseline_of(change_set);
    if let (Some(unfit), None) = (&request.baseline, baseline) {
        let message = format!(
            "{}: the stored run is about {}, and the base is {}\n",
            Code::ObserverBaselineUnavailable.as_str(),
            unfit.identity.commit.short(),
            change_set.base_sha.short()
        );
        write_stderr(&message);
    }
    Ok(record_reports(&in_force.policy, &Workspace::new(root), &head, baseline)?)
}

pub(super) fn seconds_since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Returns whether head or the base has a file. A report that only the base has would look new in a checkout of both.
fn is_committed(opened: &Opened, path: &str) -> Result<bool, PortError> {
    let (objects, resolved) = (&opened.objects, &opened.resolved);
    Ok(objects.is_tracked_at(&resolved.head, path)? || objects.is_tracked_at(&resolved.base, path)?)
}

/// Returns the text of a file of the base or of head.
pub(super) fn committed_file(opened: &Opened, side: Side, path: &str) -> Result<CommittedFile, PortError> {
    let commit = match side {
        Side::Base => &opened.resolved.base,
        Side::Head => &opened.resolved.head,
    };
    let Some(id) = opened.objects.file_at(commit, path)? else {
        return Ok(CommittedFile::Missing);
    };
    Ok(match opened.objects.reader()?.blob(&id, MAX_REPORT_BYTES as u64)? {
        BlobRead::Content(bytes) => match String::from_utf8(bytes) {
            Ok(text) => CommittedFile::Text(text),
            Err(_) => CommittedFile::Unreadable,
        },
        BlobRead::TooLarge { .. } => CommittedFile::Unreadable,
    })
}

impl Prepared<'_> {
    /// Calls `then` with ports that read the repository.
    pub(crate) fn with_ports<T>(
        &self,
        opened: &Opened,
        cancellation: &Cancellation,
        progress: &dyn Progress,
        then: impl FnOnce(&Ports<'_>) -> T,
    ) -> T {
        with_repository_ports(opened, &self.inputs, &self.texts, cancellation, progress, then)
    }

    /// Calls `then` with ports that know only the change, which is enough for plans and keys.
    pub(crate) fn with_planning_ports<T>(
        &self,
        cancellation: &Cancellation,
        progress: &dyn Progress,
        then: impl FnOnce(&Ports<'_>) -> T,
    ) -> T {
        let nothing = RecordedLookups::default();
        then(&Ports {
            texts: &self.texts,
            surveys: &RecordedSurveys(&[]),
            lookups: &TreeLookups::from_recording(&nothing),
            lines: &|_, _, _, _| None,
            joined: None,
            cancellation,
            progress,
        })
    }
}

/// Calls `then` with ports that read the trees of `inputs` in a repository.
pub(crate) fn with_repository_ports<T>(
    opened: &Opened,
    inputs: &Inputs,
    texts: &dyn Texts,
    cancellation: &Cancellation,
    progress: &dyn Progress,
    then: impl FnOnce(&Ports<'_>) -> T,
) -> T {
    let policy = &inputs.in_force.policy;
    let change_set = &inputs.change_set;
    let blob_lines = BlobLines::new(&opened.objects, &change_set.files, policy.limits.max_blob_bytes);
    let surveys =
        BaseSurveys { objects: &opened.objects, base: &opened.resolved.base, globs: policy.scope_globs() };
    let lookups = TreeLookups::from_trees(Trees {
        objects: &opened.objects,
        base: change_set.measured_from(),
        head: opened.resolved.measured_to(change_set.landing),
        workers: policy.max_concurrency,
        cancellation,
    });
    then(&Ports {
        texts,
        surveys: &surveys,
        lookups: &lookups,
        lines: &|path, side, start, end| blob_lines.lines(path, side, start, end),
        joined: None,
        cancellation,
        progress,
    })
}

/// Reads the change between the merge base and head, or the change that a merge of head brings if that is larger.
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
        head_tree: Some(opened.objects.tree_id(&resolved.head)?),
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

/// Returns the policy's `repo-id`, else the one that the origin remote names, else `local`. It is never a path, so every
/// clone has the same.
pub(super) fn repo_id(opened: &Opened, policy: &Policy) -> String {
    let repo_id = policy.repo_id.clone();
    repo_id.or_else(|| opened.repository.origin_repo_id()).unwrap_or_else(|| "local".to_owned())
}
