//! Keeps findings of earlier reviews as long as their hunk is unchanged, whatever later replies say. A new finding in a
//! file that an earlier review of the pull request saw unchanged is late and does not block.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{MergedFinding, NEAR_LINES};
use super::{Request, Reviews};
use crate::ports::PortError;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{EarlierFinding, EarlierHunk, LensPlan, ReviewedHunk, Rubric};
use qa_core::canonical;
use qa_core::packet::{HunkView, Packet};
use qa_core::plan::included_hunks;
use qa_lenses::reviews::answer::ModelFinding;
use qa_lenses::reviews::packet::file_block;

/// Hunk of a plan.
pub(super) struct PlannedHunk {
    pub(super) digest: Sha256Hex,
    pub(super) file: RepoPath,
    /// Digest of its file's block in the packet.
    pub(super) shown: Sha256Hex,
    /// Added lines with their numbers.
    added: Vec<(u64, String)>,
}

/// Returns the digest over everything that decides how a hunk is reviewed, except the hunk and its neighbours. The pull
/// request is part of it, since another one may change more beside the hunk.
pub(super) fn context(
    request: &Request<'_>,
    plan: &LensPlan,
    rubric: Option<&Rubric>,
    pull_request: Option<u64>,
) -> Sha256Hex {
    let rubric = rubric.map(|rubric| &rubric.rubric_hash);
    let asked = (&plan.lens_id, &plan.lens_version, &plan.review, &request.sent.model.binding);
    canonical::digest(&(asked, rubric, pull_request)).expect("a binding has a canonical form")
}

/// Returns the digest of a hunk without its line numbers. `occurrence` counts equal hunks of a file.
fn hunk_digest(file: &RepoPath, hunk: &HunkView<'_>, occurrence: u64) -> Sha256Hex {
    let removed: Vec<&str> = hunk.removed().map(|line| line.text).collect();
    let added: Vec<&str> = hunk.added().map(|line| line.text).collect();
    canonical::digest(&(file, occurrence, removed, added)).expect("texts have a canonical form")
}

impl PlannedHunk {
    /// Returns the index of a line among the added lines.
    pub(super) fn offset(&self, file: &RepoPath, line: u64) -> Option<u64> {
        let at = self.added.iter().position(|(number, _)| *number == line).filter(|_| self.file == *file)?;
        Some(at as u64)
    }

    fn line(&self, offset: u64) -> Option<&(u64, String)> {
        self.added.get(usize::try_from(offset).ok()?)
    }

    /// Returns whether a record is of this hunk, with lines that it has and rules that the review has.
    pub(super) fn allows(&self, recorded: &EarlierHunk, rule_ids: &[&str]) -> bool {
        recorded.hunk == self.digest
            && recorded.findings.iter().all(|finding| {
                self.line(finding.offset).is_some() && rule_ids.contains(&finding.rule_id.as_str())
            })
    }
}

impl Reviews<'_> {
    /// Returns the hunks of a plan, in the order of the change.
    pub(super) fn hunks(&self, plan: &LensPlan) -> Result<Vec<PlannedHunk>, PortError> {
        let files = &self.change_set.files;
        let mut hunks = Vec::new();
        for (position, included) in included_hunks(plan, files).into_iter().enumerate() {
            let Some(included) = included else { continue };
            let text = self.texts.text(position)?;
            let packet = Packet { file: &files[position], text: &text, included: &included };
            let shown = canonical::sha256(file_block(&packet).text.as_bytes());
            let mut occurrences: BTreeMap<Sha256Hex, u64> = BTreeMap::new();
            for hunk in packet.hunks() {
                let added = hunk.added().map(|line| (line.number, line.text.to_owned())).collect();
                let file = packet.path().clone();
                let occurrence = occurrences.entry(hunk_digest(&file, &hunk, 0)).or_default();
                let digest = hunk_digest(&file, &hunk, *occurrence);
                *occurrence += 1;
                hunks.push(PlannedHunk { digest, file, shown: shown.clone(), added });
            }
        }
        Ok(hunks)
    }
}

/// Returns the findings of each hunk, for storing. `is_proven` is true if every quote could be located; otherwise a hunk
/// without findings may only have been quoted wrongly, and nothing found in it later is late.
pub(super) fn findings_by_hunk(
    hunks: &[PlannedHunk],
    merged: &[MergedFinding],
    lens_id: &str,
    is_proven: bool,
) -> Vec<EarlierHunk> {
    hunks
        .iter()
        .map(|hunk| EarlierHunk {
            lens_id: lens_id.to_owned(),
            hunk: hunk.digest.clone(),
            shown: is_proven.then(|| hunk.shown.clone()),
            findings: findings_of(hunk, merged).into_iter().collect(),
        })
        .collect()
}

fn findings_of(hunk: &PlannedHunk, merged: &[MergedFinding]) -> BTreeSet<EarlierFinding> {
    let mut findings = BTreeSet::new();
    for each in merged.iter().filter(|each| !each.is_late) {
        let Some(offset) = hunk.offset(&each.path, each.line) else { continue };
        findings.insert(EarlierFinding {
            rule_id: each.finding.rule_id.clone(),
            offset,
            severity: each.finding.severity,
            summary: each.finding.summary.clone(),
            suggestion: each.finding.suggestion.clone(),
            answers: each.answers,
            differs: each.differs,
        });
    }
    findings
}

/// Merges findings with those of earlier reviews: marks late ones, and adds earlier ones that were not found again. A finding
/// that is found again has its new words: it may be another one at the same place.
pub(super) fn merge_earlier(
    earlier: &[EarlierHunk],
    hunks: &[PlannedHunk],
    plan: &LensPlan,
    mut merged: Vec<MergedFinding>,
) -> Vec<MergedFinding> {
    let mut not_found_again = Vec::new();
    for hunk in hunks {
        let recorded = earlier.iter().find(|each| each.lens_id == plan.lens_id && each.hunk == hunk.digest);
        let Some(recorded) = recorded else { continue };
        let is_file_unchanged = recorded.shown.as_ref() == Some(&hunk.shown);
        let mut open: Vec<&EarlierFinding> = recorded.findings.iter().collect();
        for each in &mut merged {
            let Some(offset) = hunk.offset(&each.path, each.line) else { continue };
            match nearest(&open, &each.finding.rule_id, offset) {
                // Samples that agreed once need not agree again, and a severity never falls.
                Some(index) => {
                    let finding = open.remove(index);
                    each.answers = each.answers.max(finding.answers);
                    each.differs |= finding.differs;
                    each.finding.severity = each.finding.severity.min(finding.severity);
                }
                None => each.is_late = is_file_unchanged,
            }
        }
        not_found_again.extend(open.into_iter().filter_map(|finding| restore_finding(hunk, finding)));
    }
    merged.extend(not_found_again);
    merged
}

/// Merges two records of the same hunk. Findings that are the same in both keep the worse severity and the larger agreement.
pub(super) fn merge_records(first: EarlierHunk, second: &EarlierHunk) -> EarlierHunk {
    let mut open: Vec<&EarlierFinding> = second.findings.iter().collect();
    let mut merged: BTreeSet<EarlierFinding> = BTreeSet::new();
    for mut finding in first.findings {
        if let Some(index) = nearest(&open, &finding.rule_id, finding.offset) {
            let same = open.remove(index);
            finding.severity = finding.severity.min(same.severity);
            finding.answers = finding.answers.max(same.answers);
            finding.differs |= same.differs || finding.summary != same.summary;
        }
        merged.insert(finding);
    }
    merged.extend(open.into_iter().cloned());
    EarlierHunk { findings: merged.into_iter().collect(), ..first }
}

/// Hunks with findings, by context and hunk, that a run hands on to later ones.
#[derive(Default)]
pub(super) struct KnownHunks(BTreeMap<(Sha256Hex, Sha256Hex), EarlierHunk>);

impl KnownHunks {
    pub(super) fn new(hunks: &[ReviewedHunk]) -> Self {
        let mut known = Self::default();
        for hunk in hunks {
            known.insert(&hunk.context, hunk.findings.clone());
        }
        known
    }

    pub(super) fn get(&self, context: &Sha256Hex, hunk: &Sha256Hex) -> Option<&EarlierHunk> {
        self.0.get(&(context.clone(), hunk.clone()))
    }

    /// Replaces what is known of a hunk. Nothing shows who made the record, so no finding of a later run is late by it.
    pub(super) fn insert(&mut self, context: &Sha256Hex, hunk: EarlierHunk) {
        let key = (context.clone(), hunk.hunk.clone());
        match hunk.findings.is_empty() {
            true => drop(self.0.remove(&key)),
            false => drop(self.0.insert(key, EarlierHunk { shown: None, ..hunk })),
        }
    }

    pub(super) fn into_hunks(self) -> Vec<ReviewedHunk> {
        self.0.into_iter().map(|((context, _), findings)| ReviewedHunk { context, findings }).collect()
    }
}

/// Returns the index of the nearest finding of a rule that is close enough to be merged.
fn nearest(findings: &[&EarlierFinding], rule_id: &str, offset: u64) -> Option<usize> {
    findings
        .iter()
        .enumerate()
        .map(|(index, finding)| (index, finding.rule_id == rule_id, finding.offset.abs_diff(offset)))
        .filter(|(_, is_same_rule, distance)| *is_same_rule && *distance <= NEAR_LINES)
        .min_by_key(|(_, _, distance)| *distance)
        .map(|(index, _, _)| index)
}

fn restore_finding(hunk: &PlannedHunk, finding: &EarlierFinding) -> Option<MergedFinding> {
    let (line, text) = hunk.line(finding.offset)?;
    Some(MergedFinding {
        finding: ModelFinding {
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
        differs: finding.differs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::Severity;

    fn finding(offset: u64, severity: Severity, answers: u64) -> EarlierFinding {
        EarlierFinding {
            rule_id: "review-security/injection".to_owned(),
            offset,
            severity,
            summary: format!("line {offset}"),
            suggestion: None,
            answers,
            differs: false,
        }
    }

    fn record(findings: Vec<EarlierFinding>) -> EarlierHunk {
        let hunk = canonical::sha256(b"hunk");
        EarlierHunk { lens_id: "review-security".to_owned(), hunk, shown: None, findings }
    }

    #[test]
    fn two_records_of_a_hunk_lose_no_finding_no_severity_and_no_agreement() {
        let (cache, artifact) = (
            record(vec![finding(4, Severity::Low, 1)]),
            record(vec![finding(4, Severity::High, 3), finding(5, Severity::Medium, 2)]),
        );
        for (first, second) in [(&cache, &artifact), (&artifact, &cache)] {
            let merged = merge_records(first.clone(), second).findings;
            let told: Vec<(u64, Severity, u64)> =
                merged.iter().map(|each| (each.offset, each.severity, each.answers)).collect();
            assert_eq!(told, [(4, Severity::High, 3), (5, Severity::Medium, 2)]);
        }
    }
}
