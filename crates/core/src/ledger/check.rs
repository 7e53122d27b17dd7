//! Reads a ledger and follows its chain.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::findings::{counts, open_after};
use super::progress::{agrees, is_stuck};
use super::{LISTED_TURNS, MOST_TURNS, cadence, entry_digest, findings_digest, folded_digest, size};
use crate::canonical;
use crate::masking::sanitize_cut;
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_LEDGER_BYTES;
use qa_contracts::v1::{LedgerEntry, ObserverLedger, TurnCadence, TurnCounts};
use qa_contracts::{schema, strict_json};

/// Error of a ledger that was refused. Completes "failed to accept …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error("it has {0} bytes, the limit is {MAX_LEDGER_BYTES}")]
    TooLarge(usize),
    #[error("it is not JSON as qa-skill writes it: {0}")]
    NotJson(String),
    #[error("{pointer}: {reason}")]
    Schema { pointer: String, reason: String },
    #[error("it is not in canonical form")]
    NotCanonical,
    #[error("turn {expected} is expected, and turn {number} follows")]
    Order { number: u64, expected: u64 },
    #[error("turn {number} does not continue the turn before it")]
    Link { number: u64 },
    #[error("the digest of turn {number} is not that of its content")]
    Digest { number: u64 },
    #[error("the findings of turn {number} are not those that it was digested with")]
    Findings { number: u64 },
    #[error("the counts of turn {number} are not those of its findings")]
    Counts { number: u64 },
    #[error("turn {number} does not follow from the findings of the turn before it")]
    States { number: u64 },
    #[error("the cadence of turn {number} does not follow from that of the turn before it")]
    Cadence { number: u64 },
    #[error("the folded turns are not those that the last turn was digested with")]
    Folded,
}

impl LedgerError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::TooLarge(_) | Self::NotJson(_) | Self::Schema { .. } | Self::NotCanonical => {
                Code::LedgerInvalid
            }
            Self::Order { .. }
            | Self::Link { .. }
            | Self::Digest { .. }
            | Self::Findings { .. }
            | Self::Counts { .. }
            | Self::States { .. }
            | Self::Cadence { .. }
            | Self::Folded => Code::LedgerChainBroken,
        }
    }
}

/// Reads the bytes of a ledger: bounded, validated, in canonical form with one line end, and with a chain that holds.
pub fn read(bytes: &[u8]) -> Result<ObserverLedger, LedgerError> {
    if bytes.len() > MAX_LEDGER_BYTES + 1 {
        return Err(LedgerError::TooLarge(bytes.len()));
    }
    let value = strict_json::parse(bytes).map_err(|error| not_json(&error))?;
    let schema = schema::find(ObserverLedger::SCHEMA).expect("every schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        let place = if fault.pointer.is_empty() { "the document" } else { &fault.pointer };
        let (pointer, reason) = (sanitize_cut(place, 200), sanitize_cut(&fault.message, 200));
        return Err(LedgerError::Schema { pointer, reason });
    }
    let ledger = ObserverLedger::deserialize(&value).map_err(|error| not_json(&error))?;
    let canonical = canonical::to_vec(&value).map_err(|_| LedgerError::NotCanonical)?;
    if bytes.strip_suffix(b"\n") != Some(&canonical) {
        return Err(LedgerError::NotCanonical);
    }
    check(&ledger)?;
    Ok(ledger)
}

fn not_json(error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::NotJson(sanitize_cut(&error.to_string(), 200))
}

/// Follows the chain of a ledger: numbers, links, digests, findings, states and sums.
pub fn check(ledger: &ObserverLedger) -> Result<(), LedgerError> {
    let bytes = size(ledger);
    if bytes > MAX_LEDGER_BYTES {
        return Err(LedgerError::TooLarge(bytes));
    }
    check_folded(ledger)?;
    let mut previous = None;
    for (entry, expected) in ledger.entries.iter().zip(ledger.folded.compacted_turns + 1..) {
        check_entry(entry, expected, previous, ledger)?;
        previous = Some(entry);
    }
    match previous {
        Some(last) if last.folded_digest == folded_digest(ledger) => Ok(()),
        Some(_) | None => Err(LedgerError::Folded),
    }
}

/// Checks that the sums agree with each other, and the number of listed turns with them.
fn check_folded(ledger: &ObserverLedger) -> Result<(), LedgerError> {
    let folded = &ledger.folded;
    let turns = folded.compacted_turns;
    let conclusions = &folded.conclusions;
    let modes = &folded.modes;
    let is_full = match turns {
        0 => (1..=LISTED_TURNS).contains(&ledger.entries.len()),
        _ => ledger.entries.len() == LISTED_TURNS,
    };
    let agrees = turns <= MOST_TURNS
        && turns == conclusions.pass + conclusions.fail + conclusions.could_not_complete
        && turns == modes.bootstrap + modes.cadence + modes.cross_check
        && (turns == 0) == folded.last_digest.is_none()
        && folded.turns_without_cost <= turns
        && folded.last_complete.is_none_or(|number| number <= turns)
        && (turns + 1..=turns + ledger.entries.len() as u64).contains(&folded.findings_from);
    if is_full && agrees { Ok(()) } else { Err(LedgerError::Folded) }
}

fn check_entry(
    entry: &LedgerEntry,
    expected: u64,
    previous: Option<&LedgerEntry>,
    ledger: &ObserverLedger,
) -> Result<(), LedgerError> {
    let number = entry.turn.number;
    if number != expected {
        return Err(LedgerError::Order { number, expected });
    }
    let previous_digest = match previous {
        Some(previous) => Some(&previous.digest),
        None => ledger.folded.last_digest.as_ref(),
    };
    if entry.previous_digest.as_ref() != previous_digest {
        return Err(LedgerError::Link { number });
    }
    if entry.digest != entry_digest(entry) {
        return Err(LedgerError::Digest { number });
    }
    let progress = &entry.turn.progress;
    if progress.stuck != is_stuck(progress.most_attempts, progress.same_set_turns) {
        return Err(LedgerError::Counts { number });
    }
    // The turn before the first listed one is known only if there is none.
    let before = match (previous, number) {
        (Some(previous), _) => Some(previous.turn.cadence.clone()),
        (None, 1) => Some(TurnCadence::default()),
        (None, _) => None,
    };
    if before.is_some_and(|before| !cadence::follows(&entry.turn, &before)) {
        return Err(LedgerError::Cadence { number });
    }
    let Some(findings) = &entry.findings else {
        return if number < ledger.folded.findings_from {
            Ok(())
        } else {
            Err(LedgerError::Findings { number })
        };
    };
    if number < ledger.folded.findings_from || findings_digest(findings) != entry.turn.findings_digest {
        return Err(LedgerError::Findings { number });
    }
    let TurnCounts { unfollowed, blocking, .. } = entry.turn.counts;
    let listed = TurnCounts { unfollowed, blocking, ..counts(&findings.lenses) };
    if listed != entry.turn.counts || !agrees(entry) {
        return Err(LedgerError::Counts { number });
    }
    match previous {
        Some(previous) if previous.findings.is_some() && !follows(entry, previous) => {
            Err(LedgerError::States { number })
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether a turn has every finding that was open before it as open, resolved or unseen, and no other.
fn follows(entry: &LedgerEntry, previous: &LedgerEntry) -> bool {
    let before = open_after(previous);
    let lenses = entry.findings.iter().flat_map(|findings| &findings.lenses);
    let mut known: BTreeMap<&Sha256Hex, &str> = BTreeMap::new();
    for lens in lenses {
        let opened = lens.opened.iter().chain(&lens.reopened);
        // A finding that was not followed before is listed as open.
        let open =
            lens.open.iter().filter(|id| previous.turn.counts.unfollowed == 0 || before.contains_key(*id));
        let earlier = open.chain(&lens.resolved).chain(&lens.unseen);
        known.extend(earlier.map(|id| (id, lens.lens_id.as_str())));
        if opened.into_iter().any(|id| before.contains_key(id)) {
            return false;
        }
    }
    known == before
}
