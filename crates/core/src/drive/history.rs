//! The history that an agent is told: the last turns as they were, older ones summed up when the history grows too long.

use std::collections::BTreeSet;

use super::{digest_of, ids, judgement_before};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    DriveHistory, DriveJudgement, DriveOutcome, DriveSession, DriveTurn, FoldedDrive, PastTurn,
};

/// Number of turns that a folded history lists.
pub const VERBATIM_TURNS: usize = 10;
/// Number of tokens at which a history is folded: 75 % of 200,000.
pub const COMPACTION_TOKENS: usize = 150_000;
/// Bytes that the names and numbers of a turn take as JSON, or some more.
const MEMBER_BYTES: usize = 600;
/// Bytes of an id, with its quotes and a comma.
const ID_BYTES: usize = 67;
/// Bytes of an agent's output that later turns are told.
const OUTPUT_BYTES: usize = 16_000;
/// Maximum number of changed paths of a turn that later turns are told, and of its resolved and opened findings.
const MOST_LISTED: usize = 100;
/// Maximum number of refusals of a turn that later turns are told, and of folded turns together.
const MOST_REFUSALS: usize = 20;

/// History of the first turns of a session, which goes on where it ended when the session has more turns. It is folded turn by turn,
/// so that what was folded stays folded.
#[derive(Debug, Default)]
pub struct FoldedHistory {
    history: DriveHistory,
    /// Bytes that the history takes as JSON, or some more.
    bytes: usize,
    /// Number of turns that are part of it.
    turns: usize,
}

impl FoldedHistory {
    /// Returns the history of a session, which is the one of the calls before. A last turn without an outcome is not part of it yet.
    pub(super) fn of_all_turns(
        &mut self,
        session: &DriveSession,
        bootstrap: &DriveJudgement,
    ) -> &DriveHistory {
        let more = session.turns.iter().skip(self.turns);
        for turn in more.map_while(|turn| past_turn(session, bootstrap, turn)) {
            self.push(turn);
        }
        &self.history
    }

    fn push(&mut self, turn: PastTurn) {
        self.turns += 1;
        self.bytes += bytes_of_turn(&turn);
        self.history.turns.push(turn);
        if tokens(self.bytes) > COMPACTION_TOKENS {
            fold(&mut self.history);
            self.bytes = bytes_of(&self.history);
        }
    }
}

/// Estimate of tokens: a quarter of the bytes.
pub(super) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Number of bytes that a history takes as JSON, or some more.
pub(super) fn bytes_of(history: &DriveHistory) -> usize {
    let refusals = history.folded.iter().flat_map(|folded| &folded.refusals);
    let folded: usize = refusals.map(|refusal| bytes_of_text(refusal)).sum();
    MEMBER_BYTES + folded + history.turns.iter().map(bytes_of_turn).sum::<usize>()
}

/// Number of bytes that a turn takes as JSON, or some more. It is counted and not written, because each turn of a drive asks.
fn bytes_of_turn(turn: &PastTurn) -> usize {
    let ids = turn.tasks.len() + turn.resolved.len() + turn.opened.len();
    let paths = turn.changed.iter().map(|path| bytes_of_text(&path.to_string()));
    let refusals = turn.refusals.iter().map(|refusal| bytes_of_text(refusal));
    let texts = bytes_of_text(&turn.summary) + bytes_of_text(&turn.output);
    MEMBER_BYTES + ids * ID_BYTES + texts + paths.chain(refusals).sum::<usize>()
}

/// Number of bytes that a text takes as JSON, with its quotes and a comma.
fn bytes_of_text(text: &str) -> usize {
    let mut bytes = text.len() + 3;
    for byte in text.as_bytes() {
        bytes += match byte {
            b'"' | b'\\' | b'\n' | b'\t' | b'\r' => 1,
            0..0x20 => 5,
            _ => 0,
        };
    }
    bytes
}

/// Sums up all turns but the last ones. If those are too long by themselves, outputs are left out, the oldest first, then paths,
/// then refusals. The rest is bounded and fits.
fn fold(history: &mut DriveHistory) {
    let older = history.turns.len().saturating_sub(VERBATIM_TURNS);
    if older > 0 {
        let older: Vec<PastTurn> = history.turns.drain(..older).collect();
        history.folded = Some(add(history.folded.take(), &older));
    }
    let cuts: [fn(&mut PastTurn); 3] =
        [|turn| turn.output.clear(), |turn| turn.changed.clear(), |turn| turn.refusals.clear()];
    for cut in cuts {
        for turn in 0..history.turns.len() {
            if tokens(bytes_of(history)) <= COMPACTION_TOKENS {
                return;
            }
            cut(&mut history.turns[turn]);
        }
    }
}

fn add(before: Option<FoldedDrive>, turns: &[PastTurn]) -> FoldedDrive {
    let digest = digest_of(&(before.as_ref().map(|folded| &folded.digest), turns));
    let mut folded = before.unwrap_or_else(|| FoldedDrive {
        turns: 0,
        accepted: 0,
        refused: 0,
        unchanged: 0,
        compactions: 0,
        refusals: Vec::new(),
        digest: digest.clone(),
    });
    folded.digest = digest;
    folded.compactions += 1;
    for turn in turns {
        folded.turns += 1;
        match turn.outcome {
            DriveOutcome::Accepted => folded.accepted += 1,
            DriveOutcome::Refused => folded.refused += 1,
            DriveOutcome::Unchanged => folded.unchanged += 1,
        }
        for refusal in &turn.refusals {
            if folded.refusals.len() < MOST_REFUSALS && !folded.refusals.contains(refusal) {
                folded.refusals.push(refusal.clone());
            }
        }
    }
    folded
}

/// Returns a turn as later ones are told of it; `None` while it has no outcome.
fn past_turn(session: &DriveSession, bootstrap: &DriveJudgement, turn: &DriveTurn) -> Option<PastTurn> {
    let before = judgement_before(session, bootstrap, turn.number);
    let after = turn.judgement.as_ref();
    let only_in = |one: &DriveJudgement, other: &DriveJudgement| -> Vec<Sha256Hex> {
        let known: BTreeSet<&Sha256Hex> = ids(other).into_iter().collect();
        ids(one).into_iter().filter(|id| !known.contains(id)).take(MOST_LISTED).cloned().collect()
    };
    Some(PastTurn {
        number: turn.number,
        tasks: turn.tasks.clone(),
        outcome: turn.outcome?,
        summary: turn.answer.summary.clone(),
        output: end_of(&[turn.stderr.text.as_str(), turn.stdout.text.as_str()].concat()).to_owned(),
        changed: turn.changed.iter().take(MOST_LISTED).cloned().collect(),
        refusals: turn.refusals.iter().take(MOST_REFUSALS).map(|refusal| refusal.message.clone()).collect(),
        resolved: after.map(|after| only_in(before, after)).unwrap_or_default(),
        opened: after.map(|after| only_in(after, before)).unwrap_or_default(),
    })
}

/// Returns the end of a text, from a character on.
fn end_of(text: &str) -> &str {
    let mut from = text.len().saturating_sub(OUTPUT_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
