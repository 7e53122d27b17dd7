//! The ledger of a pull request: a hash chain of its judged heads (artifact `observer-ledger.json`, among the runs).

use serde::{Deserialize, Serialize};

use super::{Conclusion, ObserverMode};
use crate::artifact::{Artifact, schema_tag};
use crate::ids::{CommitId, ExecutionKey, Sha256Hex};

schema_tag! {
    /// Names the schema of [`ObserverLedger`].
    ObserverLedgerTag = "observer-ledger.v1";
}

/// Judgements of a pull request, one turn for each judged head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ObserverLedger {
    /// The schema's name.
    pub schema_version: ObserverLedgerTag,
    /// Id of the repository.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub repo_id: String,
    /// Number of the pull request; null outside of one.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub pull_request: Option<u64>,
    /// Summary of the turns before `entries`.
    pub folded: FoldedTurns,
    /// The last turns, oldest first.
    #[cfg_attr(test, schemars(length(min = 1, max = 10)))]
    pub entries: Vec<LedgerEntry>,
}

/// Sums over the turns that are no longer listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoldedTurns {
    /// Number of these turns.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub compacted_turns: u64,
    /// Digest of the last of their entries; null if there is none.
    pub last_digest: Option<Sha256Hex>,
    /// Number of turns by conclusion.
    pub conclusions: ConclusionCounts,
    /// Number of turns by mode.
    pub modes: ModeCounts,
    /// Number of the last of these turns that left nothing for a later one; null if each did.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub last_complete: Option<u64>,
    /// Number of findings that these turns opened.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub opened: u64,
    /// Number of findings that they resolved.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub resolved: u64,
    /// Number of findings that came back in them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub reopened: u64,
    /// Findings that they resolved and did not reopen, in the order of their last resolution, then by id.
    pub resolved_ids: Vec<Sha256Hex>,
    /// Number of resolved findings whose ids were removed to keep the ledger in its limit: the oldest first.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub resolved_ids_removed: u64,
    /// Number of the first entry that lists its findings. Those before it had too many for the limit.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub findings_from: u64,
    /// Cost of the turns whose cost is known, in millionths of a US dollar.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cost_micro_usd: u64,
    /// Number of turns whose cost is unknown.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub turns_without_cost: u64,
}

/// Number of turns by conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConclusionCounts {
    /// Turns that passed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub pass: u64,
    /// Turns that failed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub fail: u64,
    /// Turns without a verdict.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub could_not_complete: u64,
}

/// Number of turns by mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModeCounts {
    /// First turns.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub bootstrap: u64,
    /// Turns of a draft.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cadence: u64,
    /// Turns of the whole audit.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cross_check: u64,
}

/// Link of the chain: a turn with its digests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerEntry {
    /// The judgement.
    pub turn: LedgerTurn,
    /// Findings of the turn, by lens; null where the ledger has no room for them.
    pub findings: Option<TurnFindings>,
    /// Digest of the entry before; null in the first.
    pub previous_digest: Option<Sha256Hex>,
    /// Digest over repository, pull request and `folded` when the entry was appended.
    pub folded_digest: Sha256Hex,
    /// Digest over `turn`, `previousDigest` and `foldedDigest`.
    pub digest: Sha256Hex,
}

/// One judged head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerTurn {
    /// Number of the turn, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub number: u64,
    /// Mode of the run.
    pub mode: ObserverMode,
    /// Base commit.
    pub base_sha: CommitId,
    /// Merge bases, the newest first, at most eight.
    #[cfg_attr(test, schemars(length(max = 8)))]
    pub merge_bases: Vec<CommitId>,
    /// Number of merge bases beyond these.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub merge_bases_unlisted: u64,
    /// Head commit.
    pub head_sha: CommitId,
    /// Execution key of the run.
    pub execution_key: ExecutionKey,
    /// Run digest of the run.
    pub run_digest: Sha256Hex,
    /// Conclusion of the run.
    pub conclusion: Conclusion,
    /// Plans that were left for a later turn, by name, at most 32.
    #[cfg_attr(test, schemars(length(max = 32), inner(regex(pattern = "^[a-z0-9_.:*/-]{1,100}$"))))]
    pub deferred: Vec<String>,
    /// Number of deferred plans beyond these.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub deferred_unlisted: u64,
    /// Cost of the models' replies, in millionths of a US dollar; null if unknown.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cost_micro_usd: Option<u64>,
    /// Number of findings by state.
    pub counts: TurnCounts,
    /// Digest over the findings of the turn.
    pub findings_digest: Sha256Hex,
    /// Signs that the work does not move.
    pub progress: TurnProgress,
    /// Last turns that ran deferred plans and requested a review.
    pub cadence: TurnCadence,
}

/// Number of a turn's findings by state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnCounts {
    /// Reported for the first time.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub opened: u64,
    /// Reported in the turn before as well.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub open: u64,
    /// Reported again after they were resolved.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub reopened: u64,
    /// No longer reported, by a lens that completed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub resolved: u64,
    /// Open before, of a lens that was deferred or did not complete. They count as open.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub unseen: u64,
    /// Reported and not followed from turn to turn, because there are too many.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub unfollowed: u64,
    /// Reported and blocking.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocking: u64,
}

/// Comparison of a turn's blocking findings with those of the turns before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnProgress {
    /// Digest over the ids of the blocking findings; null if there is none.
    pub blocking_set: Option<Sha256Hex>,
    /// Number of turns in a row that touched files of this set and left it as it is.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub same_set_turns: u64,
    /// Number of blocking findings that are open after two or more turns that touched their file.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub attempted: u64,
    /// Largest number of turns that touched the file of one blocking finding and left it open.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub most_attempts: u64,
    /// True if a person should look: four such turns, or the same set three times.
    pub stuck: bool,
}

/// State of the cadence after a turn, which the next turn continues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnCadence {
    /// Number of the last turn that did all that waits for the cadence; null if none did.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub last_due: Option<u64>,
    /// Number of the last turn that requested a review; null if none did.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub last_review_request: Option<u64>,
    /// True if a turn after that one had a diff.
    pub unrequested_diff: bool,
}

/// Findings that are followed from turn to turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnFindings {
    /// Findings of each lens that has any, by id of the lens.
    #[cfg_attr(test, schemars(length(max = 100)))]
    pub lenses: Vec<LensFindings>,
    /// Blocking findings that are open although turns touched their file, by id.
    pub attempts: Vec<FindingAttempts>,
}

/// Ids of one lens's findings by state, each list sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensFindings {
    /// Id of the lens.
    #[cfg_attr(test, schemars(regex(pattern = "^[a-z0-9_.:*/-]{1,100}$")))]
    pub lens_id: String,
    /// Reported for the first time.
    pub opened: Vec<Sha256Hex>,
    /// Reported in the turn before as well.
    pub open: Vec<Sha256Hex>,
    /// Reported again after they were resolved.
    pub reopened: Vec<Sha256Hex>,
    /// No longer reported.
    pub resolved: Vec<Sha256Hex>,
    /// Open before, and not looked for.
    pub unseen: Vec<Sha256Hex>,
}

/// Number of turns that touched a finding's file and left the finding open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindingAttempts {
    /// Id of the finding.
    pub finding_id: Sha256Hex,
    /// Number of the turns, the one that opened it included.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub turns: u64,
}

impl Artifact for ObserverLedger {
    const SCHEMA: &'static str = "observer-ledger.v1";
    const FILE: &'static str = "observer-ledger.json";
}
