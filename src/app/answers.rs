//! Answers to the commands that read, on a pull request and on a terminal.

use std::time::{SystemTime, UNIX_EPOCH};

use super::explain::rule_page;
use qa_core::calendar;
use qa_formats::answers::{self, HELP, Judged, WaiverTerms};

/// Days that a proposed waiver holds.
const WAIVER_DAYS: u64 = 90;

const NO_SUCH_ID: &str = "The run has no rule, lens or finding with this id. `/qa status` shows the run, and its report the ids.\n";

/// Answers `explain`.
pub(crate) fn explain(subject: &str, judged: Option<Judged<'_>>) -> String {
    if let Some(page) = rule_page(subject) {
        return page;
    }
    let is_id = subject.len() >= 6 && subject.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = judged.filter(|_| is_id).and_then(|judged| judged.find(subject));
    let Some(finding) = found else { return NO_SUCH_ID.to_owned() };
    let page = rule_page(&finding.rule_id).unwrap_or_default();
    format!("{}\n{page}", answers::finding(finding))
}

/// Answers `waive`.
pub(crate) fn waive(digits: &str, judged: Judged<'_>, owner: &str, reason: &str, now: SystemTime) -> String {
    let Some(finding) = judged.find(digits) else { return NO_SUCH_ID.to_owned() };
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() + WAIVER_DAYS * 86_400;
    let expires = calendar::day(i64::try_from(seconds).unwrap_or(i64::MAX));
    judged.waiver(finding, &WaiverTerms { owner, reason, expires: &expires })
}

/// Answers `help`.
pub(crate) fn help() -> String {
    HELP.to_owned()
}
