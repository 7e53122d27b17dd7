//! Folds old turns into sums, and removes ids where a ledger is over its limit.

use std::collections::BTreeSet;

use super::{is_complete, plus, size};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_LEDGER_BYTES;
use qa_contracts::v1::{Conclusion, FoldedTurns, LedgerEntry, LensFindings, ObserverLedger, ObserverMode};

/// Number of bytes of an id in a list: quotes and comma.
const ID_BYTES: usize = 67;

/// Adds an entry to the sums.
pub(super) fn fold(folded: &mut FoldedTurns, entry: LedgerEntry) {
    let turn = entry.turn;
    folded.compacted_turns += 1;
    folded.last_digest = Some(entry.digest);
    match turn.conclusion {
        Conclusion::Pass => folded.conclusions.pass += 1,
        Conclusion::Fail => folded.conclusions.fail += 1,
        Conclusion::CouldNotComplete => folded.conclusions.could_not_complete += 1,
    }
    match turn.mode {
        ObserverMode::Bootstrap => folded.modes.bootstrap += 1,
        ObserverMode::Cadence => folded.modes.cadence += 1,
        ObserverMode::CrossCheck => folded.modes.cross_check += 1,
    }
    if is_complete(&turn) {
        folded.last_complete = Some(turn.number);
    }
    folded.opened = plus(folded.opened, turn.counts.opened);
    folded.resolved = plus(folded.resolved, turn.counts.resolved);
    folded.reopened = plus(folded.reopened, turn.counts.reopened);
    match turn.cost_micro_usd {
        Some(cost) => folded.cost_micro_usd = plus(folded.cost_micro_usd, cost),
        None => folded.turns_without_cost += 1,
    }
    match &entry.findings {
        Some(findings) => fold_ids(folded, &findings.lenses),
        None => folded.resolved_ids_removed = plus(folded.resolved_ids_removed, turn.counts.resolved),
    }
    folded.findings_from = folded.findings_from.max(turn.number + 1);
}

/// Moves the ids that a turn resolved to the end, and takes those out that it reopened.
fn fold_ids(folded: &mut FoldedTurns, lenses: &[LensFindings]) {
    let resolved: BTreeSet<&Sha256Hex> = lenses.iter().flat_map(|lens| &lens.resolved).collect();
    let reopened: BTreeSet<&Sha256Hex> = lenses.iter().flat_map(|lens| &lens.reopened).collect();
    folded.resolved_ids.retain(|id| !resolved.contains(id) && !reopened.contains(id));
    folded.resolved_ids.extend(resolved.into_iter().cloned());
}

/// Brings a ledger into its limit: removes ids of resolved findings from the folded turns, the oldest first, then the
/// findings of the oldest listed turns. The last turn keeps its own, with which the next one is compared.
pub(super) fn reduce(ledger: &mut ObserverLedger) {
    loop {
        let excess = size(ledger).saturating_sub(MAX_LEDGER_BYTES);
        if excess == 0 {
            return;
        }
        let ids = &mut ledger.folded.resolved_ids;
        if !ids.is_empty() {
            let removed = excess.div_ceil(ID_BYTES).min(ids.len());
            ids.drain(..removed);
            let all = plus(ledger.folded.resolved_ids_removed, removed as u64);
            ledger.folded.resolved_ids_removed = all;
            continue;
        }
        let Some((_, earlier)) = ledger.entries.split_last_mut() else { return };
        let Some(oldest) = earlier.iter_mut().find(|entry| entry.findings.is_some()) else { return };
        oldest.findings = None;
        ledger.folded.findings_from = oldest.turn.number + 1;
    }
}
