//! What a review said of a hunk keeps its weight while neither the hunk nor the way of asking changes: what is found there
//! later does not block, and what was found before does not go away because something else was pushed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hear::Claim;
use super::{Request, Reviews};
use crate::contracts::ids::{RepoPath, Sha256Hex};
use crate::contracts::v1::{EarlierFinding, EarlierHunk, LensPlan, Rubric};
use crate::core::canonical;
use crate::core::packet::{HunkView, Packet};
use crate::core::plan::included_hunks;
use crate::lenses::reviews::answer::Said;
use crate::run::ports::PortError;

/// What is kept of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct KeptHunk {
    /// Which way of asking, [`context`].
    pub(crate) context: Sha256Hex,
    /// The request that asked about it first.
    pub(crate) request_hash: Sha256Hex,
    pub(crate) said: EarlierHunk,
}

/// A hunk of a plan.
pub(super) struct PlannedHunk {
    pub(super) digest: Sha256Hex,
    pub(super) file: RepoPath,
    /// The added lines with their numbers.
    added: Vec<(u64, String)>,
}

/// The digest over everything that decides how a hunk is asked about, but for the hunk and its neighbours.
pub(super) fn context(request: &Request<'_>, plan: &LensPlan, rubric: Option<&Rubric>) -> Sha256Hex {
    let rubric = rubric.map(|rubric| &rubric.rubric_hash);
    canonical::digest(&(&plan.lens_id, &plan.lens_version, &plan.review, &request.model.binding, rubric))
        .expect("a binding has a canonical form")
}

/// The digest of a hunk wherever it stands in its file.
fn digest(file: &RepoPath, hunk: &HunkView<'_>) -> Sha256Hex {
    let removed: Vec<&str> = hunk.removed().map(|line| line.text).collect();
    let added: Vec<&str> = hunk.added().map(|line| line.text).collect();
    canonical::digest(&(file, removed, added)).expect("texts have a canonical form")
}

impl PlannedHunk {
    /// Where a text stands, as it stood.
    pub(super) fn find(&self, quote: &str) -> Option<u64> {
        self.added.iter().find(|(_, text)| text.contains(quote)).map(|(number, _)| *number)
    }

    pub(super) fn has(&self, file: &RepoPath, line: u64) -> bool {
        self.file == *file && self.added.iter().any(|(number, _)| *number == line)
    }
}

impl Reviews<'_> {
    /// The hunks of a plan that have added lines, in the order of the change.
    pub(super) fn hunks(&self, plan: &LensPlan) -> Result<Vec<PlannedHunk>, PortError> {
        let files = &self.change_set.files;
        let mut hunks = Vec::new();
        for (position, included) in included_hunks(plan, files).into_iter().enumerate() {
            let Some(included) = included else { continue };
            let text = self.texts.text(position)?;
            let packet = Packet { file: &files[position], text: &text, included: &included };
            for hunk in packet.hunks() {
                let added = hunk.added().map(|line| (line.number, line.text.to_owned())).collect();
                let file = packet.path().clone();
                hunks.push(PlannedHunk { digest: digest(&file, &hunk), file, added });
            }
        }
        Ok(hunks)
    }
}

/// What answers say of each hunk, so that it can be kept.
pub(super) fn said_of<'h>(
    hunks: &'h [PlannedHunk],
    claims: &[Claim],
    lens_id: &str,
) -> BTreeMap<&'h Sha256Hex, EarlierHunk> {
    let mut all = BTreeMap::new();
    for hunk in hunks {
        let own = claims.iter().filter(|claim| hunk.has(&claim.path, claim.line));
        let findings = own.map(|claim| EarlierFinding {
            rule_id: claim.said.rule_id.clone(),
            quote: claim.quote.clone(),
            severity: claim.said.severity,
            summary: claim.said.summary.clone(),
            suggestion: claim.said.suggestion.clone(),
            answers: claim.answers,
        });
        let said = all.entry(&hunk.digest).or_insert_with(|| EarlierHunk {
            lens_id: lens_id.to_owned(),
            hunk: hunk.digest.clone(),
            findings: Vec::new(),
        });
        said.findings.extend(findings);
        said.findings.sort();
        said.findings.dedup();
    }
    all
}

/// Holds claims against what was said of their hunks before: those that are late, and those that were made before and are
/// not made now.
pub(super) fn held_against(
    earlier: &[EarlierHunk],
    hunks: &[PlannedHunk],
    lens_id: &str,
    mut claims: Vec<Claim>,
) -> Vec<Claim> {
    let mut before = Vec::new();
    for hunk in hunks {
        let said = earlier.iter().find(|said| said.lens_id == lens_id && said.hunk == hunk.digest);
        let Some(said) = said else { continue };
        let mut open: Vec<&EarlierFinding> = said.findings.iter().collect();
        for claim in claims.iter_mut().filter(|claim| hunk.has(&claim.path, claim.line)) {
            let same = |finding: &&EarlierFinding| {
                finding.rule_id == claim.said.rule_id && hunk.find(&finding.quote) == Some(claim.line)
            };
            match open.iter().position(same) {
                // What was agreed upon once does not have to be agreed upon again.
                Some(at) => claim.answers = claim.answers.max(open.remove(at).answers),
                None => claim.is_late = true,
            }
        }
        before.extend(open.into_iter().filter_map(|finding| made_before(hunk, finding)));
    }
    claims.extend(before);
    claims
}

fn made_before(hunk: &PlannedHunk, finding: &EarlierFinding) -> Option<Claim> {
    let line = hunk.find(&finding.quote)?;
    Some(Claim {
        said: Said {
            end_line: line,
            evidence_quote: finding.quote.clone(),
            file: hunk.file.to_text().into_owned(),
            rule_id: finding.rule_id.clone(),
            severity: finding.severity,
            start_line: line,
            summary: finding.summary.clone(),
            suggestion: finding.suggestion.clone(),
        },
        path: hunk.file.clone(),
        line,
        quote: finding.quote.clone(),
        samples: Default::default(),
        answers: finding.answers,
        is_late: false,
    })
}
