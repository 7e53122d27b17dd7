//! Tells work that does not move: the same blocking findings after turns that touched their files.

use std::collections::BTreeMap;

use super::findings::{attempts, blocking, open_after};
use super::turn::JudgedTurn;
use super::{digest_of, plus};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{FindingAttempts, LedgerEntry, LensFindings, TurnProgress};

/// Number of turns that touched a finding's file and left it open, from which on it is told.
pub const ATTEMPTS_TOLD: u64 = 2;
/// Number of such turns from which on a person should look.
pub const ATTEMPTS_STUCK: u64 = 4;
/// Number of turns with the same set of blocking findings from which on a person should look.
pub const SAME_SET_STUCK: u64 = 3;

/// Comparison of a turn with the one before.
pub(super) struct Compared {
    pub(super) attempts: Vec<FindingAttempts>,
    pub(super) progress: TurnProgress,
}

/// Compares the blocking findings of a turn with those of the last entry. Findings that only advise may stay, so nobody is
/// stuck because of one. A turn about the head of the turn before touches nothing.
pub(super) fn compare(
    last: Option<&LedgerEntry>,
    judged: &JudgedTurn,
    followed: &[LensFindings],
) -> Compared {
    let is_new_head = last.is_none_or(|entry| entry.turn.head_sha != judged.head_sha);
    let blocking = blocking(judged);
    let before = last.map(attempts).unwrap_or_default();
    let mut now: BTreeMap<&Sha256Hex, u64> = BTreeMap::new();
    for lens in followed {
        for id in [&lens.opened, &lens.open, &lens.reopened].into_iter().flatten() {
            let Some(finding) = blocking.get(id) else { continue };
            let earlier = before.get(id).copied().unwrap_or_default();
            now.insert(id, plus(earlier, u64::from(finding.touched && is_new_head)));
        }
        let unseen = lens.unseen.iter();
        now.extend(unseen.filter_map(|id| Some((id, *before.get(id)?))));
    }
    let set: Vec<&Sha256Hex> = blocking.keys().copied().collect();
    let blocking_set = (!set.is_empty()).then(|| digest_of(&set));
    let touched = is_new_head && blocking.values().any(|finding| finding.touched);
    let same_set_turns = match (&blocking_set, last) {
        (None, _) => 0,
        (Some(_), Some(last)) if last.turn.progress.blocking_set == blocking_set => {
            plus(last.turn.progress.same_set_turns, u64::from(touched))
        }
        (Some(_), _) => u64::from(touched),
    };
    let most_attempts = now.values().copied().max().unwrap_or_default();
    let progress = TurnProgress {
        blocking_set,
        same_set_turns,
        attempted: now.values().filter(|turns| **turns >= ATTEMPTS_TOLD).count() as u64,
        most_attempts,
        stuck: is_stuck(most_attempts, same_set_turns),
    };
    let attempts = now.into_iter().filter(|(_, turns)| *turns > 0);
    let attempts = attempts.map(|(id, turns)| FindingAttempts { finding_id: id.clone(), turns }).collect();
    Compared { attempts, progress }
}

/// Returns whether a person should look.
pub(super) fn is_stuck(most_attempts: u64, same_set_turns: u64) -> bool {
    most_attempts >= ATTEMPTS_STUCK || same_set_turns >= SAME_SET_STUCK
}

/// Returns whether attempts are of findings that are open after the entry, and what its turn says of them.
pub(super) fn agrees(entry: &LedgerEntry) -> bool {
    let (open, attempts, progress) = (open_after(entry), attempts(entry), &entry.turn.progress);
    attempts.keys().all(|id| open.contains_key(id))
        && attempts.values().copied().max().unwrap_or_default() == progress.most_attempts
        && attempts.values().filter(|turns| **turns >= ATTEMPTS_TOLD).count() as u64 == progress.attempted
}
