//! The ledger of a pull request as a table for a terminal, and the sums that its page has too.

use std::fmt::Write as _;

use crate::common::{counted, verdict_word};
use crate::wrap::wrap;
use qa_contracts::v1::{Conclusion, LedgerEntry, LedgerTurn, ObserverLedger};
use qa_core::escape::visible_cut;
use qa_core::usage::usd;

/// Width of the table, in columns.
const WIDTH: usize = 80;
/// Maximum length of the repository's id, in bytes.
const MAX_REPOSITORY: usize = 200;

/// Sums over all turns of a ledger.
pub(crate) struct Totals {
    pub(crate) turns: u64,
    /// Number of findings that are new or came back.
    pub(crate) opened: u64,
    pub(crate) resolved: u64,
    pub(crate) cost_micro_usd: u64,
    /// Number of turns whose cost is unknown.
    pub(crate) without_cost: u64,
}

pub(crate) fn totals(ledger: &ObserverLedger) -> Totals {
    let folded = &ledger.folded;
    let mut totals = Totals {
        turns: folded.compacted_turns + ledger.entries.len() as u64,
        opened: folded.opened.saturating_add(folded.reopened),
        resolved: folded.resolved,
        cost_micro_usd: folded.cost_micro_usd,
        without_cost: folded.turns_without_cost,
    };
    for LedgerEntry { turn, .. } in &ledger.entries {
        totals.opened = totals.opened.saturating_add(new(turn));
        totals.resolved = totals.resolved.saturating_add(turn.counts.resolved);
        match turn.cost_micro_usd {
            Some(cost) => totals.cost_micro_usd = totals.cost_micro_usd.saturating_add(cost),
            None => totals.without_cost += 1,
        }
    }
    totals
}

/// Names the pull request of a ledger.
pub(crate) fn subject(ledger: &ObserverLedger) -> String {
    let repository = visible_cut(&ledger.repo_id, MAX_REPOSITORY);
    match ledger.pull_request {
        Some(number) => format!("{repository}, pull request {number}"),
        None => repository,
    }
}

/// `1 turn`, `2 turns`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Returns the number of findings that are open after a turn.
pub(crate) fn open(turn: &LedgerTurn) -> u64 {
    let counts = &turn.counts;
    let all = [counts.opened, counts.open, counts.reopened, counts.unseen, counts.unfollowed];
    all.into_iter().fold(0, u64::saturating_add)
}

/// Returns the number of findings that are new or came back in a turn.
pub(crate) fn new(turn: &LedgerTurn) -> u64 {
    turn.counts.opened.saturating_add(turn.counts.reopened)
}

/// Returns the number of plans that a turn left for a later one.
pub(crate) fn deferred(turn: &LedgerTurn) -> u64 {
    turn.deferred_unlisted.saturating_add(turn.deferred.len() as u64)
}

/// Lists the deferred plans of a turn.
pub(crate) fn deferred_names(turn: &LedgerTurn) -> String {
    let mut names = turn.deferred.join(", ");
    if turn.deferred_unlisted > 0 {
        let _infallible = write!(names, " and {} more", turn.deferred_unlisted);
    }
    names
}

/// Returns the cost as `0.0123 USD`, with the number of turns that it lacks.
pub(crate) fn cost(totals: &Totals) -> String {
    match totals.without_cost {
        0 => format!("{} USD", usd(totals.cost_micro_usd)),
        missing => format!("{} USD, unknown for {}", usd(totals.cost_micro_usd), count(missing, "turn")),
    }
}

/// Describes the folded turns in one sentence, if there are any.
pub(crate) fn folded(ledger: &ObserverLedger) -> Option<String> {
    let folded = &ledger.folded;
    let conclusions = &folded.conclusions;
    if folded.compacted_turns == 0 {
        return None;
    }
    Some(format!(
        "{} before these: {} passed, {} failed, {} could not complete; {} new, {} reopened, {} resolved",
        count(folded.compacted_turns, "turn"),
        conclusions.pass,
        conclusions.fail,
        conclusions.could_not_complete,
        folded.opened,
        folded.reopened,
        folded.resolved
    ))
}

/// Describes what the limit of a ledger left out, in sentences.
pub(crate) fn left_out(ledger: &ObserverLedger) -> Vec<String> {
    let mut notes = Vec::new();
    let removed = ledger.folded.resolved_ids_removed;
    if removed > 0 {
        let ids = count(removed, "resolved finding");
        notes.push(format!("the ids of {ids} were removed to keep the ledger in its limit"));
    }
    if ledger.entries.iter().any(|entry| entry.findings.is_none()) {
        let first = ledger.folded.findings_from;
        notes.push(format!("findings of turns before turn {first} are counted and not listed"));
    }
    notes
}

/// Describes why a person should look, or which work does not move; `None` if neither holds.
pub(crate) fn progress(turn: &LedgerTurn) -> Option<String> {
    let progress = &turn.progress;
    let attempted = match progress.attempted {
        0 => None,
        attempted => {
            let findings = count(attempted, "blocking finding");
            let turns = progress.most_attempts;
            Some(format!("{findings} still open after up to {turns} turns that touched the file"))
        }
    };
    if !progress.stuck {
        return attempted;
    }
    let same = format!("the same blocking findings after {} turns", progress.same_set_turns);
    Some(format!("a person should look: {}", attempted.unwrap_or(same)))
}

/// Renders a ledger as a table of turns.
pub fn text(ledger: &ObserverLedger) -> String {
    let totals = totals(ledger);
    let mut out = String::new();
    let turns = count(totals.turns, "turn");
    let last = ledger.entries.last();
    let verdict = last.map_or("no turn", |entry| verdict_word(entry.turn.conclusion));
    paragraph(&mut out, "", &format!("ledger of {}: {verdict} after {turns}", subject(ledger)));
    out.push('\n');
    let _infallible = writeln!(
        out,
        "{:>5} {:<11} {:<10} {:<18} {:>4} {:>5} {:>8} {:>8}",
        "turn", "mode", "head", "verdict", "new", "open", "resolved", "deferred"
    );
    if let Some(folded) = folded(ledger) {
        paragraph(&mut out, "      ", &folded);
    }
    for entry in &ledger.entries {
        row(&mut out, &entry.turn);
    }
    out.push('\n');
    paragraph(&mut out, "", &format!("cost of models: {}", cost(&totals)));
    for note in left_out(ledger) {
        paragraph(&mut out, "", &note);
    }
    out
}

fn row(out: &mut String, turn: &LedgerTurn) {
    let _infallible = writeln!(
        out,
        "{:>5} {:<11} {:<10} {:<18} {:>4} {:>5} {:>8} {:>8}",
        narrow(turn.number, 5),
        turn.mode.as_str(),
        &turn.head_sha.as_str()[..10],
        word(turn.conclusion),
        narrow(new(turn), 4),
        narrow(open(turn), 5),
        narrow(turn.counts.resolved, 8),
        narrow(deferred(turn), 8),
    );
    if deferred(turn) > 0 {
        paragraph(out, "      ", &format!("deferred: {}", deferred_names(turn)));
    }
    if let Some(progress) = progress(turn) {
        paragraph(out, "      ", &progress);
    }
}

/// Returns the verdict of a turn in lower case, as the other columns are.
pub(crate) fn word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "pass",
        Conclusion::Fail => "fail",
        Conclusion::CouldNotComplete => "could not complete",
    }
}

/// Writes a number into a column; one with more digits becomes the largest that fits, with a plus sign.
fn narrow(number: u64, width: usize) -> String {
    let digits = number.to_string();
    if digits.len() <= width { digits } else { format!("{}+", "9".repeat(width - 1)) }
}

fn paragraph(out: &mut String, indent: &str, text: &str) {
    for line in wrap(text, WIDTH - indent.len()) {
        let _infallible = writeln!(out, "{indent}{line}");
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
pub(crate) mod tests;
