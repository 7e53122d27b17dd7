//! Follows findings by their ids from turn to turn: new, still open, reopened, resolved, or not looked for.

use std::collections::{BTreeMap, BTreeSet};

use super::turn::is_name;
use super::{JudgedFinding, JudgedTurn, MOST_FOLLOWED, MOST_LENSES};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{FindingAttempts, LedgerEntry, LensFindings, ObserverLedger, TurnCounts};

/// Findings of a turn by lens, with their number by state.
pub(super) struct Followed {
    pub(super) lenses: Vec<LensFindings>,
    pub(super) counts: TurnCounts,
}

/// State of a finding in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opened,
    Open,
    Reopened,
    Resolved,
    Unseen,
}

/// Compares the findings of a turn with those of the ledger.
pub(super) fn follow(ledger: &ObserverLedger, judged: &JudgedTurn) -> Followed {
    let now = by_id(&judged.findings);
    let last = ledger.entries.last();
    let before = last.map(open_after).unwrap_or_default();
    let mut states: BTreeMap<&str, Vec<(State, &Sha256Hex)>> = BTreeMap::new();
    let mut followed = 0;
    for (id, lens) in &before {
        let state = match (now.contains_key(id), judged.looked(lens)) {
            (true, _) => State::Open,
            (false, true) => State::Resolved,
            (false, false) => State::Unseen,
        };
        followed += usize::from(state != State::Resolved);
        states.entry(lens).or_default().push((state, id));
    }
    let resolved = resolved_before(ledger);
    // If findings were left out before, a finding cannot be shown to be new.
    let had_unfollowed = last.is_some_and(|entry| entry.turn.counts.unfollowed > 0);
    let mut candidates: Vec<&JudgedFinding> =
        now.values().copied().filter(|finding| !before.contains_key(&finding.finding_id)).collect();
    candidates.sort_by_key(|finding| (!finding.blocking, &finding.finding_id));
    let mut unfollowed = 0;
    for finding in candidates {
        let lens = finding.lens_id.as_str();
        let has_room = states.contains_key(lens) || (states.len() < MOST_LENSES && is_name(lens));
        if followed >= MOST_FOLLOWED || !has_room {
            unfollowed += 1;
            continue;
        }
        followed += 1;
        let state = match (resolved.contains(&finding.finding_id), had_unfollowed) {
            (true, _) => State::Reopened,
            (false, true) => State::Open,
            (false, false) => State::Opened,
        };
        states.entry(lens).or_default().push((state, &finding.finding_id));
    }
    let lenses: Vec<LensFindings> = states.into_iter().map(lens_findings).collect();
    let counts = TurnCounts {
        unfollowed,
        blocking: now.values().filter(|finding| finding.blocking).count() as u64,
        ..counts(&lenses)
    };
    Followed { lenses, counts }
}

/// Returns the findings by id, each once; of two with one id, the one that blocks.
fn by_id(findings: &[JudgedFinding]) -> BTreeMap<&Sha256Hex, &JudgedFinding> {
    let mut all: BTreeMap<&Sha256Hex, &JudgedFinding> = BTreeMap::new();
    for finding in findings {
        let known = all.entry(&finding.finding_id).or_insert(finding);
        if (finding.blocking, finding.touched) > (known.blocking, known.touched) {
            *known = finding;
        }
    }
    all
}

/// Returns the followed findings that are open after a turn, with their lens. An entry at the end of a ledger has them.
pub(super) fn open_after(entry: &LedgerEntry) -> BTreeMap<&Sha256Hex, &str> {
    let lenses = entry.findings.iter().flat_map(|findings| &findings.lenses);
    let open = lenses.flat_map(|lens| {
        let ids = [&lens.opened, &lens.open, &lens.reopened, &lens.unseen].into_iter().flatten();
        ids.map(|id| (id, lens.lens_id.as_str()))
    });
    open.collect()
}

/// Returns the findings that an earlier turn resolved and whose ids are still listed.
fn resolved_before(ledger: &ObserverLedger) -> BTreeSet<&Sha256Hex> {
    let listed = ledger.entries.iter().filter_map(|entry| entry.findings.as_ref());
    let resolved = listed.flat_map(|findings| &findings.lenses).flat_map(|lens| &lens.resolved);
    resolved.chain(&ledger.folded.resolved_ids).collect()
}

fn lens_findings((lens_id, states): (&str, Vec<(State, &Sha256Hex)>)) -> LensFindings {
    LensFindings {
        lens_id: lens_id.to_owned(),
        opened: ids_in(State::Opened, &states),
        open: ids_in(State::Open, &states),
        reopened: ids_in(State::Reopened, &states),
        resolved: ids_in(State::Resolved, &states),
        unseen: ids_in(State::Unseen, &states),
    }
}

/// Returns the ids of the findings in a state, sorted.
fn ids_in(wanted: State, states: &[(State, &Sha256Hex)]) -> Vec<Sha256Hex> {
    let ids = states.iter().filter(|(state, _)| *state == wanted);
    let mut ids: Vec<Sha256Hex> = ids.map(|(_, id)| (*id).clone()).collect();
    ids.sort();
    ids
}

/// Counts listed findings by state.
pub(super) fn counts(lenses: &[LensFindings]) -> TurnCounts {
    let mut counts = TurnCounts::default();
    for lens in lenses {
        counts.opened += lens.opened.len() as u64;
        counts.open += lens.open.len() as u64;
        counts.reopened += lens.reopened.len() as u64;
        counts.resolved += lens.resolved.len() as u64;
        counts.unseen += lens.unseen.len() as u64;
    }
    counts
}

/// Returns the attempts of an entry, by id of the finding.
pub(super) fn attempts(entry: &LedgerEntry) -> BTreeMap<&Sha256Hex, u64> {
    let all: &[FindingAttempts] = match &entry.findings {
        Some(findings) => &findings.attempts,
        None => &[],
    };
    all.iter().map(|attempts| (&attempts.finding_id, attempts.turns)).collect()
}

/// Returns the judged findings that block, by id.
pub(super) fn blocking(judged: &JudgedTurn) -> BTreeMap<&Sha256Hex, &JudgedFinding> {
    let mut all = by_id(&judged.findings);
    all.retain(|_, finding| finding.blocking);
    all
}
