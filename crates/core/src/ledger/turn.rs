//! A judged head as the ledger gets it, made from the results of its run.

use std::collections::BTreeSet;

use super::{MOST_DEFERRED, MOST_MERGE_BASES};
use qa_contracts::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    Conclusion, LedgerTurn, LensResult, LensStatus, ObserverMode, TurnCadence, TurnCounts, TurnProgress,
};

/// A judged head, before it has a number and a place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTurn {
    pub repo_id: String,
    /// Number of the pull request.
    pub pull_request: Option<u64>,
    pub mode: ObserverMode,
    pub base_sha: CommitId,
    /// Merge bases, the newest first.
    pub merge_bases: Vec<CommitId>,
    pub head_sha: CommitId,
    pub execution_key: ExecutionKey,
    pub run_digest: Sha256Hex,
    pub conclusion: Conclusion,
    /// Plans left for a later turn: ids of lenses, `gate:` with the name of a gate, or the beginning of such a name with
    /// `*` behind it.
    pub deferred: BTreeSet<String>,
    /// Cost of the models' replies, in millionths of a US dollar, if known.
    pub cost_micro_usd: Option<u64>,
    pub findings: Vec<JudgedFinding>,
    /// Lenses that did not look at all that they were planned for; see [`incomplete_lenses`].
    pub incomplete: BTreeSet<String>,
    /// True if the turn did all that waits for the cadence.
    pub due: bool,
    /// True if the change has files and differs from that of the turn before.
    pub has_diff: bool,
    /// Minimum number of turns between two review requests.
    pub cooldown: u64,
}

/// A finding of a judged head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedFinding {
    pub finding_id: Sha256Hex,
    pub lens_id: String,
    pub blocking: bool,
    /// True if the push changed the finding's file. The first push changes all files of the change.
    pub touched: bool,
}

/// Returns the findings of a run. `touched` has the files that differ between the head before and this one.
pub fn judged_findings(results: &[LensResult], touched: &BTreeSet<RepoPath>) -> Vec<JudgedFinding> {
    let findings = results.iter().flat_map(|result| &result.findings);
    let judged = findings.map(|finding| JudgedFinding {
        finding_id: finding.finding_id.clone(),
        lens_id: finding.lens_id.clone(),
        blocking: finding.blocking,
        touched: touched.contains(&finding.file),
    });
    judged.collect()
}

/// Returns the lenses whose silence about an earlier finding proves nothing. A lens that nothing in the change concerns
/// completes.
pub fn incomplete_lenses(results: &[LensResult]) -> BTreeSet<String> {
    let incomplete =
        results.iter().filter(|result| result.degraded || result.status != LensStatus::Completed);
    incomplete.map(|result| result.lens_id.clone()).collect()
}

/// Returns whether a text can be the name of a plan or a lens in a ledger.
pub(super) fn is_name(text: &str) -> bool {
    const SIGNS: &[u8] = b"_.:*/-";
    (1..=100).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || SIGNS.contains(&byte))
}

impl JudgedTurn {
    /// Returns whether a lens looked at everything that it reports findings in.
    pub(super) fn looked(&self, lens_id: &str) -> bool {
        let is_deferred = self.deferred.iter().any(|name| {
            let name = name.strip_prefix("gate:").unwrap_or(name);
            match name.strip_suffix('*') {
                Some(beginning) => lens_id.starts_with(beginning),
                None => name == lens_id,
            }
        });
        !is_deferred && !self.incomplete.contains(lens_id)
    }

    pub(super) fn turn(
        &self,
        number: u64,
        counts: TurnCounts,
        findings_digest: Sha256Hex,
        progress: TurnProgress,
        cadence: TurnCadence,
    ) -> LedgerTurn {
        let deferred: Vec<String> =
            self.deferred.iter().filter(|name| is_name(name)).take(MOST_DEFERRED).cloned().collect();
        let merge_bases: Vec<CommitId> = self.merge_bases.iter().take(MOST_MERGE_BASES).cloned().collect();
        LedgerTurn {
            number,
            mode: self.mode,
            base_sha: self.base_sha.clone(),
            merge_bases_unlisted: (self.merge_bases.len() - merge_bases.len()) as u64,
            merge_bases,
            head_sha: self.head_sha.clone(),
            execution_key: self.execution_key.clone(),
            run_digest: self.run_digest.clone(),
            conclusion: self.conclusion,
            deferred_unlisted: (self.deferred.len() - deferred.len()) as u64,
            deferred,
            cost_micro_usd: self.cost_micro_usd,
            counts,
            findings_digest,
            progress,
            cadence,
        }
    }
}
