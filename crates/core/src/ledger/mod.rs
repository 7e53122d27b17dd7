//! The ledger of a pull request: appends a judged head to the hash chain, and keeps the chain inside its limit.

mod cadence;
mod check;
mod findings;
mod fold;
pub mod notes;
mod progress;
mod turn;

use std::cmp::Ordering;

use serde::Serialize;

use crate::canonical;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_SAFE_INTEGER;
use qa_contracts::v1::{FoldedTurns, LedgerEntry, LedgerTurn, ObserverLedger, TurnFindings};

pub use check::{LedgerError, check, read};
pub use progress::{ATTEMPTS_STUCK, ATTEMPTS_TOLD, SAME_SET_STUCK};
pub use turn::{JudgedFinding, JudgedTurn, incomplete_lenses, judged_findings};

/// Number of turns that a ledger lists.
pub const LISTED_TURNS: usize = 10;
/// Maximum number of findings that are followed from turn to turn.
pub const MOST_FOLLOWED: usize = 700;
/// Maximum number of turns. A ledger with more is refused, so that no number leaves the range of JSON.
const MOST_TURNS: u64 = 1 << 32;
/// Maximum number of lenses whose findings are followed.
const MOST_LENSES: usize = 100;
/// Maximum number of deferred plans that a turn lists.
const MOST_DEFERRED: usize = 32;
/// Maximum number of merge bases that a turn lists.
const MOST_MERGE_BASES: usize = 8;

/// Preimage of an entry's digest.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryPreimage<'a> {
    turn: &'a LedgerTurn,
    previous_digest: &'a Option<Sha256Hex>,
    folded_digest: &'a Sha256Hex,
}

/// Preimage of the digest that binds an entry to everything that is not an entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoldedPreimage<'a> {
    repo_id: &'a str,
    pull_request: Option<u64>,
    folded: &'a FoldedTurns,
}

fn digest_of<T: Serialize>(value: &T) -> Sha256Hex {
    canonical::digest(value).expect("words, ids and counts have a canonical form")
}

fn entry_digest(entry: &LedgerEntry) -> Sha256Hex {
    let LedgerEntry { turn, previous_digest, folded_digest, .. } = entry;
    digest_of(&EntryPreimage { turn, previous_digest, folded_digest })
}

fn folded_digest(ledger: &ObserverLedger) -> Sha256Hex {
    let ObserverLedger { repo_id, pull_request, folded, .. } = ledger;
    digest_of(&FoldedPreimage { repo_id, pull_request: *pull_request, folded })
}

fn findings_digest(findings: &TurnFindings) -> Sha256Hex {
    digest_of(findings)
}

/// Adds to a number that stays one which JSON keeps exactly.
fn plus(number: u64, more: u64) -> u64 {
    number.saturating_add(more).min(MAX_SAFE_INTEGER)
}

/// Returns the number of bytes of a ledger in canonical form, without the final line end.
fn size(ledger: &ObserverLedger) -> usize {
    canonical::to_vec(ledger).expect("words, ids and counts have a canonical form").len()
}

/// Returns whether a ledger is that of a pull request.
pub fn is_about(ledger: &ObserverLedger, repo_id: &str, pull_request: Option<u64>) -> bool {
    ledger.repo_id == repo_id && ledger.pull_request == pull_request
}

/// Returns the last turn of a ledger that holds.
pub fn last_turn(ledger: &ObserverLedger) -> &LedgerTurn {
    &ledger.entries.last().expect("a ledger that holds has an entry").turn
}

/// Returns whether a later ledger has the turns of an earlier one, as far as it lists them.
pub fn continues(later: &ObserverLedger, earlier: &ObserverLedger) -> bool {
    let Some(last) = earlier.entries.last() else { return false };
    let folded = &later.folded;
    match last.turn.number.cmp(&folded.compacted_turns) {
        Ordering::Less => true,
        Ordering::Equal => folded.last_digest.as_ref() == Some(&last.digest),
        Ordering::Greater => later.entries.iter().any(|entry| entry.digest == last.digest),
    }
}

fn is_complete(turn: &LedgerTurn) -> bool {
    turn.deferred.is_empty() && turn.deferred_unlisted == 0
}

/// Returns a ledger with one more turn. Without an earlier ledger, or with that of another pull request, it begins anew. The
/// earlier ledger has to hold, see [`check()`].
pub fn append(previous: Option<&ObserverLedger>, judged: &JudgedTurn) -> ObserverLedger {
    let previous = previous.filter(|ledger| is_about(ledger, &judged.repo_id, judged.pull_request));
    let mut ledger = match previous {
        Some(ledger) => ledger.clone(),
        None => ObserverLedger {
            schema_version: Default::default(),
            repo_id: judged.repo_id.clone(),
            pull_request: judged.pull_request,
            folded: FoldedTurns { findings_from: 1, ..FoldedTurns::default() },
            entries: Vec::new(),
        },
    };
    let entry = next_entry(&ledger, judged);
    ledger.entries.push(entry);
    while ledger.entries.len() > LISTED_TURNS {
        let oldest = ledger.entries.remove(0);
        fold::fold(&mut ledger.folded, oldest);
    }
    fold::reduce(&mut ledger);
    let folded_digest = folded_digest(&ledger);
    let last = ledger.entries.last_mut().expect("an entry was appended");
    last.folded_digest = folded_digest;
    last.digest = entry_digest(last);
    ledger
}

/// Returns the entry of a turn. The digests that depend on the size of the ledger are those of nothing, which are as long.
fn next_entry(ledger: &ObserverLedger, judged: &JudgedTurn) -> LedgerEntry {
    let last = ledger.entries.last();
    let findings::Followed { lenses, counts } = findings::follow(ledger, judged);
    let progress::Compared { attempts, progress } = progress::compare(last, judged, &lenses);
    let findings = TurnFindings { lenses, attempts };
    let placeholder = canonical::sha256(b"");
    let number = last.map_or(1, |entry| entry.turn.number + 1);
    let cadence = cadence::after(last.map(|entry| &entry.turn), judged, number);
    LedgerEntry {
        turn: judged.turn(number, counts, findings_digest(&findings), progress, cadence),
        findings: Some(findings),
        previous_digest: last.map(|entry| entry.digest.clone()),
        folded_digest: placeholder.clone(),
        digest: placeholder,
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
