//! Chooses the edits that can be applied together: each mends its finding, and none brings another.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::exit::Failure;
use crate::app::finished::Finished;
use crate::app::inputs::{Opened, Request};
use crate::app::prepare::prepare;
use crate::git::resolve;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{Edit, EditSafety, Finding, FindingOrigin, LensPlan, LensResult};
use qa_core::edits::{EditError, Judged, apply, by_file, failed_edits, patch, select};
use qa_core::findings::sort_findings;
use qa_core::plan::PlanKind;
use qa_run::derive::derive;
use qa_run::keys::key;
use qa_run::ports::{Cancellation, Progress};

/// Fate of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is applied.
    Applied,
    /// A person has to choose.
    Unsafe,
    /// It overlaps the edit of an earlier finding.
    Overlaps,
    /// Its finding stays, or another one comes with it.
    Fails,
    /// The file at head has other bytes than were judged: it is stored in another encoding, or a merge was judged.
    OtherBytes,
}

/// A finding with an edit, and what becomes of it.
pub(super) struct Item {
    pub(super) finding: Finding,
    pub(super) fate: Fate,
    /// The edit alone as a patch; empty where it does not apply.
    pub(super) patch: Vec<u8>,
}

/// A file that edits change.
pub(super) struct EditedFile {
    pub(super) path: RepoPath,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

/// Edits for a change.
pub(super) struct Proposal {
    /// In the order of findings.
    pub(super) items: Vec<Item>,
    /// Number of open findings without an edit.
    pub(super) without: usize,
    /// Files with the applied edits, by path.
    pub(super) files: Vec<EditedFile>,
    /// The applied edits as one patch.
    pub(super) patch: Vec<u8>,
}

/// Texts of the files at head that edits are about.
type Texts = BTreeMap<RepoPath, Vec<u8>>;

/// Chooses the edits of a finished run.
pub(super) fn propose(
    finished: &mut Finished,
    request: &Request,
    wants: &dyn Fn(&str) -> bool,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Proposal, Failure> {
    let mut open: Vec<Finding> = open_findings(&finished.outcome.results).cloned().collect();
    sort_findings(&mut open);
    open.retain(|finding| wants(&finding.rule_id));
    let (with, without): (Vec<Finding>, Vec<Finding>) =
        open.into_iter().partition(|finding| finding.edit.is_some());
    let texts = read_texts(&finished.opened, &with)?;
    let mut items: Vec<Item> = with.into_iter().map(|finding| item(finding, &texts)).collect();
    mark_overlaps(&mut items);
    drop_failures(&mut items, &texts, finished, request, cancellation, progress)?;
    let edited = edited_files(&items, &texts)?;
    let mut whole = Vec::new();
    for (path, replacements) in by_file(edits_of(&applied(&items))) {
        whole.extend(patch(path, &texts[path], &replacements).map_err(broken)?);
    }
    let files = edited.into_iter().map(|(path, new)| {
        let old = texts[&path].clone();
        EditedFile { path, old, new }
    });
    Ok(Proposal { files: files.collect(), items, without: without.len(), patch: whole })
}

/// Returns the findings that the change brings and nobody accepted.
fn open_findings(results: &[LensResult]) -> impl Iterator<Item = &Finding> {
    let all = results.iter().flat_map(|result| &result.findings);
    all.filter(|finding| finding.origin == FindingOrigin::Introduced && finding.waiver.is_none())
}

/// Reads the files that edits are about, as head has them.
fn read_texts(opened: &Opened, findings: &[Finding]) -> Result<Texts, Failure> {
    let mut texts = Texts::new();
    for (path, _) in by_file(findings.iter().filter_map(|finding| finding.edit.as_ref())) {
        if let Some(bytes) = opened.repository.file_bytes(&opened.resolved.head, path)? {
            texts.insert(path.clone(), bytes);
        }
    }
    Ok(texts)
}

/// Returns the item of a finding, by its edit alone.
fn item(finding: Finding, texts: &Texts) -> Item {
    let is_safe = finding.edit.as_ref().is_some_and(|edit| edit.safety == EditSafety::Safe);
    match own_patch(&finding, texts) {
        Some(patch) => Item { finding, fate: if is_safe { Fate::Applied } else { Fate::Unsafe }, patch },
        None => Item { finding, fate: Fate::OtherBytes, patch: Vec::new() },
    }
}

/// Returns the edit of a finding as a patch; `None` where it does not apply.
fn own_patch(finding: &Finding, texts: &Texts) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    for (path, replacements) in by_file(&finding.edit) {
        whole.extend(patch(path, texts.get(path)?, &replacements).ok()?);
    }
    Some(whole)
}

/// Leaves out edits that overlap an earlier one.
fn mark_overlaps(items: &mut [Item]) {
    let chosen = applied(items);
    let overlapping: BTreeSet<*const Finding> =
        select(chosen).overlapping.into_iter().map(std::ptr::from_ref).collect();
    for item in items {
        if overlapping.contains(&std::ptr::from_ref(&item.finding)) {
            item.fate = Fate::Overlaps;
        }
    }
}

/// Judges the change with its edits, and leaves out those that mend nothing or bring something new, until all others hold.
/// Each round leaves out one at least.
fn drop_failures(
    items: &mut [Item],
    texts: &Texts,
    finished: &mut Finished,
    request: &Request,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let before: Vec<Finding> =
        finished.outcome.results.iter().flat_map(|result| result.findings.clone()).collect();
    let before: Vec<&Finding> = before.iter().collect();
    let request = without_gates(request, &finished.outcome.plans);
    loop {
        let files = edited_files(items, texts)?;
        if files.is_empty() {
            return Ok(());
        }
        let head = finished.opened.repository.edited(&finished.opened.resolved.head, &files)?;
        let after = judge_edited(&mut finished.opened, &head, &request, cancellation, progress)?;
        let after: Vec<&Finding> = after.iter().collect();
        let failed = failed_edits(Judged { before: &before, after: &after }, &applied(items));
        if failed.is_empty() {
            return Ok(());
        }
        let chosen = items.iter_mut().filter(|item| item.fate == Fate::Applied);
        for (position, item) in chosen.enumerate() {
            if failed.contains(&position) {
                item.fate = Fate::Fails;
            }
        }
    }
}

/// Returns a request for the lenses of a run alone: no edit mends a report of a gate or a model's finding.
fn without_gates(request: &Request, plans: &[LensPlan]) -> Request {
    let lenses = plans.iter().filter(|plan| PlanKind::from_lens_id(&plan.lens_id) == PlanKind::Lens);
    let ids: BTreeSet<String> = lenses.map(|plan| plan.lens_id.clone()).collect();
    let mut request = request.clone();
    request.overrides.lens_ids = Some(ids.into_iter().collect());
    request
}

/// Judges another head against the same base, and returns its findings.
fn judge_edited(
    opened: &mut Opened,
    head: &CommitId,
    request: &Request,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<Finding>, Failure> {
    let base = opened.resolved.base.as_str().to_owned();
    let resolved = resolve(&opened.repository, Some(&base), head.as_str(), None)?;
    let before = std::mem::replace(&mut opened.resolved, resolved);
    let judged = judge(opened, request, cancellation, progress);
    opened.resolved = before;
    judged
}

fn judge(
    opened: &Opened,
    request: &Request,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<Finding>, Failure> {
    let prepared = prepare(request, opened, cancellation, progress)?;
    let outcome = prepared.with_ports(opened, cancellation, progress, |ports| {
        derive(&prepared.inputs, ports, key(&prepared.inputs, ports))
    })?;
    Ok(outcome.results.into_iter().flat_map(|result| result.findings).collect())
}

/// Returns the findings whose edits are applied.
fn applied(items: &[Item]) -> Vec<&Finding> {
    items.iter().filter(|item| item.fate == Fate::Applied).map(|item| &item.finding).collect()
}

fn edits_of<'f>(findings: &[&'f Finding]) -> Vec<&'f Edit> {
    findings.iter().filter_map(|finding| finding.edit.as_ref()).collect()
}

/// Returns the files with the applied edits.
fn edited_files(items: &[Item], texts: &Texts) -> Result<BTreeMap<RepoPath, Vec<u8>>, Failure> {
    let mut files = BTreeMap::new();
    for (path, replacements) in by_file(edits_of(&applied(items))) {
        files.insert(path.clone(), apply(&texts[path], &replacements).map_err(broken)?);
    }
    Ok(files)
}

/// Returns the failure for an edit that applied before and does not any more.
fn broken(error: EditError) -> Failure {
    Failure::with_code(Code::InternalError, format!("failed to apply an edit: {error}"))
}
