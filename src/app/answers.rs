//! Answers to queries, on a pull request and on a terminal.

use std::time::{SystemTime, UNIX_EPOCH};

use super::explain::rule_page;
use qa_core::calendar;
use qa_core::commands::Query;
use qa_formats::answers::{self, HELP, Judged};
use qa_formats::waive::WaiverTerms;

/// Days that a proposed waiver holds.
const WAIVER_DAYS: u64 = 90;

const NO_SUCH_ID: &str = "The run has no rule, lens or finding with this id. `/qa status` shows the run, and its report the ids.\n";

/// Person in whose name a waiver is proposed.
pub(crate) struct Proposer<'a> {
    pub(crate) owner: &'a str,
    /// Text that stands for the reason in the query.
    pub(crate) reason: Option<&'a str>,
    pub(crate) now: SystemTime,
}

/// Answers a query that is about no run; `None` for one that is.
pub(crate) fn answer_without_run(query: &Query) -> Option<String> {
    match query {
        Query::Help => Some(HELP.to_owned()),
        Query::Explain(subject) => rule_page(subject),
        Query::Status | Query::Plan | Query::Report | Query::Waive { .. } => None,
    }
}

/// Answers a query about a run.
pub(crate) fn answer(query: &Query, judged: Judged<'_>, proposer: &Proposer<'_>) -> String {
    if let Some(answer) = answer_without_run(query) {
        return answer;
    }
    match query {
        Query::Status | Query::Help => judged.status(),
        Query::Plan => judged.plan(),
        Query::Report => judged.report(),
        Query::Explain(subject) => explain_finding(subject, judged),
        Query::Waive { finding, reason } => waive(finding, reason, judged, proposer),
    }
}

fn explain_finding(digits: &str, judged: Judged<'_>) -> String {
    let is_id = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(finding) = judged.find(digits).filter(|_| is_id) else { return NO_SUCH_ID.to_owned() };
    let page = rule_page(&finding.rule_id).unwrap_or_default();
    format!("{}\n{page}", answers::finding(finding))
}

fn waive(digits: &str, reason: &str, judged: Judged<'_>, proposer: &Proposer<'_>) -> String {
    let Some(finding) = judged.find(digits) else { return NO_SUCH_ID.to_owned() };
    let &Proposer { owner, reason: stated, now } = proposer;
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() + WAIVER_DAYS * 86_400;
    let expires = calendar::day(i64::try_from(seconds).unwrap_or(i64::MAX));
    judged.waiver(finding, &WaiverTerms { owner, reason: stated.unwrap_or(reason), expires: &expires })
}
