//! Last line of the job summary: how long the run took, what was sent again, and what models cost (S001-53…57).

use crate::app::finished::Finished;
use qa_core::escape::markdown;
use qa_core::usage::{micro_usd, usd};
use qa_run::control::Journal;

/// Renders the line as a paragraph of Markdown.
pub(super) fn last_line(journal: &Journal, finished: &Finished) -> String {
    let milliseconds: u64 = journal.phase_times().values().sum();
    let mut parts = vec![seconds(milliseconds)];
    for (operation, retries) in journal.retries() {
        let waited = seconds(retries.waited_ms);
        let times = if retries.retries == 1 { "retry" } else { "retries" };
        parts.push(format!("{} {times} to {}, {waited} waited", retries.retries, markdown(&operation)));
    }
    let reviews = finished.outcome.results.iter().filter_map(|result| result.review.as_ref());
    let answers: usize = reviews.map(|review| review.samples.len()).sum();
    if answers > 0 {
        let usage = &finished.outcome.verdict.aggregate_usage;
        let tokens = usage.total_tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
        let cost = usage.cost_usd.map(|cost| format!(", {} USD", usd(micro_usd(cost)))).unwrap_or_default();
        parts.push(format!("{answers} answers of models{tokens}{cost}"));
    }
    format!("\n{}.\n", parts.join("; "))
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}
