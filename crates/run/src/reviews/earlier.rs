//! What a review found in a hunk stays while the hunk does, whatever else is pushed and whatever the next answer says. And
//! what it finds in a file of a pull request that it was asked about before, just as it is, comes late and does not block.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::judge::{MergedFinding, NEAR_LINES};
use super::{Request, Reviews};
use crate::ports::PortError;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{EarlierFinding, EarlierHunk, LensPlan, Rubric};
use qa_core::canonical;
use qa_core::packet::{HunkView, Packet};
use qa_core::plan::included_hunks;
use qa_lenses::reviews::answer::ModelFinding;
use qa_lenses::reviews::packet::file_block;

/// What is kept of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredHunk {
    /// Which way of asking, [`context`].
    pub context: Sha256Hex,
    pub said: EarlierHunk,
}

/// A hunk of a plan.
pub(super) struct PlannedHunk {
    pub(super) digest: Sha256Hex,
    pub(super) file: RepoPath,
    /// The digest of all that is shown of its file.
    pub(super) shown: Sha256Hex,
    /// The added lines with their numbers.
    added: Vec<(u64, String)>,
}

/// The digest over everything that decides how a hunk is asked about, but for the hunk and its neighbours. What is said in
/// one pull request means nothing in another, whose author may have said more beside it.
pub(super) fn context(
    request: &Request<'_>,
    plan: &LensPlan,
    rubric: Option<&Rubric>,
    pull_request: Option<u64>,
) -> Sha256Hex {
    let rubric = rubric.map(|rubric| &rubric.rubric_hash);
    let asked = (&plan.lens_id, &plan.lens_version, &plan.review, &request.model.binding);
    canonical::digest(&(asked, rubric, pull_request)).expect("a binding has a canonical form")
}

/// The digest of a hunk wherever it stands in its file; of several that are the same by which of them it is.
fn digest(file: &RepoPath, hunk: &HunkView<'_>, which: u64) -> Sha256Hex {
    let removed: Vec<&str> = hunk.removed().map(|line| line.text).collect();
    let added: Vec<&str> = hunk.added().map(|line| line.text).collect();
    canonical::digest(&(file, which, removed, added)).expect("texts have a canonical form")
}

impl PlannedHunk {
    /// The place of a line among the added ones.
    pub(super) fn offset(&self, file: &RepoPath, line: u64) -> Option<u64> {
        let at = self.added.iter().position(|(number, _)| *number == line).filter(|_| self.file == *file)?;
        Some(at as u64)
    }

    fn line(&self, offset: u64) -> Option<&(u64, String)> {
        self.added.get(usize::try_from(offset).ok()?)
    }

    /// Whether a record could be about it.
    pub(super) fn allows(&self, said: &EarlierHunk, rule_ids: &[&str]) -> bool {
        said.hunk == self.digest
            && said.findings.iter().all(|finding| {
                self.line(finding.offset).is_some() && rule_ids.contains(&finding.rule_id.as_str())
            })
    }
}

impl Reviews<'_> {
    /// The hunks of a plan, in the order of the change.
    pub(super) fn hunks(&self, plan: &LensPlan) -> Result<Vec<PlannedHunk>, PortError> {
        let files = &self.change_set.files;
        let mut hunks = Vec::new();
        for (position, included) in included_hunks(plan, files).into_iter().enumerate() {
            let Some(included) = included else { continue };
            let text = self.texts.text(position)?;
            let packet = Packet { file: &files[position], text: &text, included: &included };
            let shown = canonical::sha256(file_block(&packet).0.as_bytes());
            let mut which: BTreeMap<Sha256Hex, u64> = BTreeMap::new();
            for hunk in packet.hunks() {
                let added = hunk.added().map(|line| (line.number, line.text.to_owned())).collect();
                let file = packet.path().clone();
                let seen = which.entry(digest(&file, &hunk, 0)).or_default();
                let digest = digest(&file, &hunk, *seen);
                *seen += 1;
                hunks.push(PlannedHunk { digest, file, shown: shown.clone(), added });
            }
        }
        Ok(hunks)
    }
}

/// What stands of each hunk after an answer, so that it can be kept. `is_proven` is whether all that was said stands
/// somewhere: where it does not, what a file was not blamed for may only have been quoted badly.
pub(super) fn said_of(
    hunks: &[PlannedHunk],
    findings_now: &[MergedFinding],
    lens_id: &str,
    is_proven: bool,
) -> Vec<EarlierHunk> {
    let said = |hunk: &PlannedHunk| {
        let own = findings_now.iter().filter(|now| !now.is_late);
        let own = own.filter_map(|now| Some((now, hunk.offset(&now.path, now.line)?)));
        let findings: BTreeSet<EarlierFinding> = own
            .map(|(now, offset)| EarlierFinding {
                rule_id: now.said.rule_id.clone(),
                offset,
                severity: now.said.severity,
                summary: now.said.summary.clone(),
                suggestion: now.said.suggestion.clone(),
                answers: now.answers,
            })
            .collect();
        EarlierHunk {
            lens_id: lens_id.to_owned(),
            hunk: hunk.digest.clone(),
            shown: is_proven.then(|| hunk.shown.clone()),
            findings: findings.into_iter().collect(),
        }
    };
    hunks.iter().map(said).collect()
}

/// Holds findings_now against what was said of their hunks before: those that are late, and those that were made before and are
/// not made now.
pub(super) fn held_against(
    earlier: &[EarlierHunk],
    hunks: &[PlannedHunk],
    lens_id: &str,
    mut findings_now: Vec<MergedFinding>,
) -> Vec<MergedFinding> {
    let mut before = Vec::new();
    for hunk in hunks {
        let said = earlier.iter().find(|said| said.lens_id == lens_id && said.hunk == hunk.digest);
        let Some(said) = said else { continue };
        let is_as_shown = said.shown.as_ref() == Some(&hunk.shown);
        let mut open: Vec<&EarlierFinding> = said.findings.iter().collect();
        for now in &mut findings_now {
            let Some(offset) = hunk.offset(&now.path, now.line) else { continue };
            let apart = |finding: &EarlierFinding| finding.offset.abs_diff(offset);
            let same = open
                .iter()
                .enumerate()
                .filter(|(_, finding)| finding.rule_id == now.said.rule_id && apart(finding) <= NEAR_LINES);
            match same.min_by_key(|(_, finding)| apart(finding)).map(|(at, _)| at) {
                // What was agreed upon once does not have to be agreed upon again, and what was bad does not get better.
                Some(at) => {
                    let finding = open.remove(at);
                    now.answers = now.answers.max(finding.answers);
                    now.said.severity = now.said.severity.min(finding.severity);
                }
                None => now.is_late = is_as_shown,
            }
        }
        before.extend(open.into_iter().filter_map(|finding| made_before(hunk, finding)));
    }
    findings_now.extend(before);
    findings_now
}

fn made_before(hunk: &PlannedHunk, finding: &EarlierFinding) -> Option<MergedFinding> {
    let (line, text) = hunk.line(finding.offset)?;
    Some(MergedFinding {
        said: ModelFinding {
            end_line: *line,
            evidence_quote: text.clone(),
            file: hunk.file.to_text().into_owned(),
            rule_id: finding.rule_id.clone(),
            severity: finding.severity,
            start_line: *line,
            summary: finding.summary.clone(),
            suggestion: finding.suggestion.clone(),
        },
        path: hunk.file.clone(),
        line: *line,
        quote: text.trim().to_owned(),
        hunk: None,
        samples: BTreeSet::new(),
        answers: finding.answers,
        is_late: false,
    })
}
