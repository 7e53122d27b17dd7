//! Plans the files and hunks of every lens: selection, bounds, order and budget, a pure function of its inputs.

mod bounds;
mod budget;
mod parts;

use std::borrow::Cow;

use crate::policy::reviews::is_review;
use serde::Serialize;

use super::canonical;
use super::classify::{PathSet, path_by_language};
use super::gates;
use super::policy::{LensPolicy, Policy};
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, ChangedFile, ExecutionCommandSpec, GateName, LensPlan, OmissionReason,
    OmittedHunk, OverflowPolicy, PermissionProfileId, RegistryLens, RunMode,
};

pub(crate) use bounds::HardBounds;
pub use budget::{Refusal, Remaining, reserve};
pub use parts::Asking;

/// The kind of a plan, by what makes its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// Rules over changed lines.
    Lens,
    /// Reports and commands of other tools.
    Gate(GateName),
    /// A model's replies.
    Review,
}

impl PlanKind {
    /// Returns the kind of the plans of a registered lens.
    pub fn from_lens_id(lens_id: &str) -> Self {
        match gates::find(lens_id) {
            Some(gate) => Self::Gate(gate),
            None if is_review(lens_id) => Self::Review,
            None => Self::Lens,
        }
    }

    /// Returns the gate, or `None` for a lens and a review.
    pub fn gate(self) -> Option<GateName> {
        match self {
            Self::Gate(gate) => Some(gate),
            Self::Lens | Self::Review => None,
        }
    }
}

/// Provider binding of plans without a model (C-28).
pub const BUILTIN_BINDING: &str = "builtin";

/// Amount of a file's content that a lens needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Not the file at all.
    Nothing,
    /// Hunks with a few unchanged lines around.
    Hunks,
    /// Hunks, and the whole file on both sides.
    WholeFile,
}

/// A lens as the planner sees it.
pub struct Candidate<'a> {
    /// Its entry in the registry.
    pub lens: &'a RegistryLens,
    /// Its triggers, compiled.
    pub triggers: PathSet,
    /// Returns the content that the lens needs of a matching file, which is passed with its position in the change set.
    pub need: &'a (dyn Fn(usize, &ChangedFile) -> Need + Sync),
    /// Request settings of a review; `None` for every other lens.
    pub asking: Option<&'a Asking<'a>>,
}

/// Plans every enabled and requested lens, in queue order.
pub fn plan(
    change_set: &ChangeSet,
    sensitivity: &ChangeSensitivity,
    policy: &Policy,
    requested: Option<&[String]>,
    candidates: &[Candidate<'_>],
    commands: &dyn Fn(GateName) -> Vec<ExecutionCommandSpec>,
) -> Vec<LensPlan> {
    let hard = HardBounds::new(&change_set.files, &policy.limits);
    let mut plans: Vec<LensPlan> = candidates
        .iter()
        .filter(|candidate| is_selected(candidate.lens, policy, requested))
        .flat_map(|candidate| match gates::find(&candidate.lens.lens_id) {
            Some(gate) => vec![plan_gate(candidate.lens, policy, commands(gate))],
            None => {
                let whole = plan_lens(candidate, &change_set.files, policy, &hard);
                parts::split(candidate, whole, &change_set.files, sensitivity, policy)
            }
        })
        .collect();
    sort_queue(&mut plans);
    for (ordinal, plan) in plans.iter_mut().enumerate() {
        plan.plan_ordinal = ordinal as u64;
    }
    plans
}

fn is_selected(lens: &RegistryLens, policy: &Policy, requested: Option<&[String]>) -> bool {
    let enabled = matches!(policy.lenses.get(&lens.lens_id), Some(settings) if settings.enabled);
    match requested {
        Some(requested) => enabled && requested.contains(&lens.lens_id),
        None => enabled,
    }
}

/// Sorts plans in queue order (S003-98): required first, then class, lens, sub-lens (none first), scope digest.
pub(crate) fn sort_queue(plans: &mut [LensPlan]) {
    plans.sort_by(|left, right| {
        right
            .required
            .cmp(&left.required)
            .then_with(|| left.lens_class.cmp(&right.lens_class))
            .then_with(|| left.lens_id.cmp(&right.lens_id))
            .then_with(|| left.sub_lens_id.cmp(&right.sub_lens_id))
            .then_with(|| left.scope_digest.cmp(&right.scope_digest))
    });
}

fn plan_lens(
    candidate: &Candidate<'_>,
    files: &[ChangedFile],
    policy: &Policy,
    hard: &HardBounds,
) -> LensPlan {
    let lens = candidate.lens;
    let settings = &policy.lenses[&lens.lens_id];
    let ignore =
        PathSet::new(settings.ignore.iter().map(String::as_str)).expect("globs were checked with the policy");
    let selected = select(candidate, files, &ignore);
    let mut planning_codes = Vec::new();
    if selected.is_empty() {
        planning_codes.push(Code::LensNotApplicable);
    }
    let bounded = bounds::apply(files, &selected, hard, &policy.limits);
    let mut omitted_hunks = bounded.omitted;
    for &index in &selected {
        if let Some(reason) = unread_reason(&files[index]) {
            omitted_hunks.push(OmittedHunk { file: files[index].path.clone(), hunk_ordinal: None, reason });
        }
    }
    omitted_hunks.sort();
    planning_codes.extend(omission_codes(&omitted_hunks));
    planning_codes.sort();
    planning_codes.dedup();
    let mut omitted_files: Vec<RepoPath> = omitted_hunks.iter().map(|hunk| hunk.file.clone()).collect();
    omitted_files.dedup();
    let changed: Vec<&ChangedFile> = bounded.files.iter().map(|&index| &files[index]).collect();
    let full_context_files: Vec<RepoPath> = bounded
        .files
        .iter()
        .filter(|&&index| (candidate.need)(index, &files[index]) == Need::WholeFile)
        .map(|&index| files[index].path.clone())
        .collect();
    LensPlan {
        scope_digest: scope_digest(lens, None, &changed, &full_context_files, &omitted_hunks),
        changed_files: changed.iter().map(|file| file.path.clone()).collect(),
        full_context_files,
        omitted_files,
        omitted_hunks,
        planning_codes,
        ..plan_gate(lens, policy, Vec::new())
    }
}

/// Returns the positions of the changed files that concern a lens, ascending: those that match a trigger, and of which the
/// lens needs something. Nothing is left out on a guess.
fn select(candidate: &Candidate<'_>, files: &[ChangedFile], ignore: &PathSet) -> Vec<usize> {
    let concerns = |(index, file): &(usize, &ChangedFile)| {
        is_triggered(&candidate.triggers, file)
            && !ignore.matches(&file.path)
            && (candidate.need)(*index, file) != Need::Nothing
    };
    files.iter().enumerate().filter(concerns).map(|(index, _)| index).collect()
}

/// Returns whether triggers match a file by its old or its new name, or by the path that its language gives it.
pub fn is_triggered(triggers: &PathSet, file: &ChangedFile) -> bool {
    let mut paths = std::iter::once(&file.path).chain(&file.old_path);
    if paths.any(|path| triggers.matches(path)) {
        return true;
    }
    match path_by_language(file) {
        Cow::Borrowed(_) => false,
        Cow::Owned(path) => RepoPath::from_bytes(path.as_bytes()).is_ok_and(|path| triggers.matches(&path)),
    }
}

/// Returns a plan without files: a gate's, whose evidence is a report about the whole repository.
fn plan_gate(lens: &RegistryLens, policy: &Policy, commands: Vec<ExecutionCommandSpec>) -> LensPlan {
    let settings = &policy.lenses[&lens.lens_id];
    LensPlan {
        schema_version: Default::default(),
        plan_ordinal: 0,
        lens_id: lens.lens_id.clone(),
        sub_lens_id: None,
        lens_version: lens.lens_version.clone(),
        lens_class: lens.lens_class,
        required: settings.required,
        blocking_policy: policy.blocking_policy,
        provider_binding_id: BUILTIN_BINDING.to_owned(),
        permission_profile_id: match commands.as_slice() {
            [] => PermissionProfileId::ReadOnly,
            [_, ..] => policy.execution.profile,
        },
        scope_digest: scope_digest(lens, None, &[], &[], &[]),
        changed_files: Vec::new(),
        full_context_files: Vec::new(),
        omitted_files: Vec::new(),
        execution_commands: commands,
        max_input_tokens: 0,
        max_output_tokens: 0,
        max_cost_usd: None,
        overflow_policy: overflow_policy(settings, policy.mode),
        omitted_hunks: Vec::new(),
        planning_codes: Vec::new(),
        review: None,
    }
}

/// Returns what becomes of a plan over budget (C-25): one that PASS needs stops, and in strict mode PASS needs all.
fn overflow_policy(settings: &LensPolicy, mode: RunMode) -> OverflowPolicy {
    match (settings.required, mode) {
        (true, _) | (false, RunMode::Strict) => OverflowPolicy::Stop,
        (false, RunMode::BestEffort) => settings.overflow,
    }
}

/// Returns whether a file has content that was not read although it may be text.
pub fn is_unread(file: &ChangedFile) -> bool {
    unread_reason(file).is_some()
}

fn unread_reason(file: &ChangedFile) -> Option<OmissionReason> {
    let reasons = [OmissionReason::BlobTooLarge, OmissionReason::EncodingUnread];
    reasons.into_iter().find(|reason| file.codes.contains(&omission_code(*reason)))
}

fn omission_codes(omitted: &[OmittedHunk]) -> impl Iterator<Item = Code> + '_ {
    omitted.iter().map(|hunk| omission_code(hunk.reason))
}

fn omission_code(reason: OmissionReason) -> Code {
    match reason {
        OmissionReason::HardFileLimit | OmissionReason::HardHunkLimit => Code::DiffTooLarge,
        OmissionReason::FileLimit | OmissionReason::HunkLimit | OmissionReason::LineLimit => {
            Code::ContextBoundExceeded
        }
        OmissionReason::BlobTooLarge => Code::BlobTooLarge,
        OmissionReason::EncodingUnread => Code::EncodingUnread,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeFile<'a> {
    path: &'a RepoPath,
    old_path: Option<&'a RepoPath>,
    old_blob: Option<&'a BlobId>,
    new_blob: Option<&'a BlobId>,
    old_mode: Option<&'a str>,
    new_mode: Option<&'a str>,
}

/// Returns the digest of a plan's scope. It covers blobs and modes and not only paths, so that a plan's identity is the
/// content it covers.
fn scope_digest(
    lens: &RegistryLens,
    sub_lens_id: Option<&str>,
    files: &[&ChangedFile],
    full_context_files: &[RepoPath],
    omitted_hunks: &[OmittedHunk],
) -> Sha256Hex {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Scope<'a> {
        lens_id: &'a str,
        sub_lens_id: Option<&'a str>,
        changed_files: Vec<ScopeFile<'a>>,
        full_context_files: &'a [RepoPath],
        omitted_hunks: &'a [OmittedHunk],
    }
    let changed_files = files
        .iter()
        .map(|file| ScopeFile {
            path: &file.path,
            old_path: file.old_path.as_ref(),
            old_blob: file.old_blob.as_ref(),
            new_blob: file.new_blob.as_ref(),
            old_mode: file.old_mode.as_deref(),
            new_mode: file.new_mode.as_deref(),
        })
        .collect();
    let scope =
        Scope { lens_id: &lens.lens_id, sub_lens_id, changed_files, full_context_files, omitted_hunks };
    canonical::digest(&scope).expect("paths and ids have a canonical form")
}

/// For each hunk of a file, whether a plan includes it.
pub type HunkInclusion = Vec<bool>;

/// Returns the hunks of each changed file that a plan includes, by position in the change set; `None` where it leaves
/// the file out.
pub fn included_hunks(plan: &LensPlan, files: &[ChangedFile]) -> Vec<Option<HunkInclusion>> {
    files
        .iter()
        .map(|file| {
            plan.changed_files.binary_search(&file.path).ok()?;
            let omitted_from = plan.omitted_hunks.partition_point(|hunk| hunk.file < file.path);
            let omitted: Vec<u64> = plan.omitted_hunks[omitted_from..]
                .iter()
                .take_while(|hunk| hunk.file == file.path)
                .filter_map(|hunk| hunk.hunk_ordinal)
                .collect();
            Some(file.hunks.iter().map(|hunk| !omitted.contains(&hunk.ordinal)).collect())
        })
        .collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
