//! Notes of the observer about a turn: its update and banner, the guidance of a check that did not pass, and the findings
//! that attempts left open (S000-7, 13, 16, 17).

use std::collections::BTreeMap;

use crate::common::{counted, findings_here, location};
use crate::contract::Report;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{Conclusion, Finding, ObserverLedger, ObserverMode};
use qa_core::escape::{markdown, visible_cut, without_runner_commands};
use qa_core::ledger::{ATTEMPTS_TOLD, last_turn, notes};

/// Maximum number of things to mend, and of attempted findings, that are named.
const MOST_NAMED: usize = 3;
/// Maximum length of a place, a title or a fix, in characters.
const MOST_CHARACTERS: usize = 200;

/// Notes of a turn, for the surfaces of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverNotes {
    /// Lines for the log.
    pub text: String,
    /// Markdown for the top of the job summary and of the check run's summary.
    pub markdown: String,
    /// Update of the cadence window that this turn completes; empty in other turns.
    pub qa_update: String,
    /// Request of a review; empty if the turn makes none.
    pub review_request: String,
    /// Places and rules to mend first, of characters that no shell obeys; empty without guidance.
    pub guidance: String,
}

/// A finding to mend, or a code to act on.
enum Item<'a> {
    Finding(&'a Finding),
    Code(Code),
}

/// Number of pushes that tried to mend findings and left them open, by id.
struct Attempts<'a>(BTreeMap<&'a Sha256Hex, u64>);

impl<'a> Attempts<'a> {
    /// Collects the findings with enough attempts to be told.
    fn new(ledger: &'a ObserverLedger) -> Self {
        let last = ledger.entries.last().and_then(|entry| entry.findings.as_ref());
        let told = last.into_iter().flat_map(|findings| &findings.attempts);
        let told = told.filter(|attempts| attempts.turns >= ATTEMPTS_TOLD);
        Self(told.map(|attempts| (&attempts.finding_id, attempts.turns)).collect())
    }

    /// `open after two attempts`, or `None` for a finding with fewer.
    fn describe(&self, finding: &Finding) -> Option<String> {
        let number = match self.0.get(&finding.finding_id)? {
            2 => "two".to_owned(),
            3 => "three".to_owned(),
            4 => "four".to_owned(),
            more => more.to_string(),
        };
        Some(format!("open after {number} attempts"))
    }
}

impl ObserverNotes {
    /// Makes the notes of the last turn of a ledger, from the report of its run. `cadence` is `None` if it is off.
    pub fn new(report: &Report<'_>, ledger: &ObserverLedger, cadence: Option<u64>) -> Self {
        let verdict = &report.result.final_verdict;
        let looked = match verdict.conclusion {
            Conclusion::Pass | Conclusion::Fail => true,
            Conclusion::CouldNotComplete => verdict.error_codes == [Code::CadenceDeferred],
        };
        let turn = last_turn(ledger);
        let qa_update = notes::qa_update(ledger, cadence);
        let review_request = notes::review_request(ledger);
        let banner = notes::banner(turn, looked);
        let blocking = blocking_findings(report);
        let guidance = match turn.mode {
            ObserverMode::Bootstrap => Vec::new(),
            ObserverMode::Cadence | ObserverMode::CrossCheck => first_to_mend(report, &blocking),
        };
        let attempts = Attempts::new(ledger);
        let mut page = Page { text: String::new(), markdown: String::new() };
        page.note(qa_update.as_deref());
        page.own_line(banner);
        page.own_line(Some(&notes::describe(ledger)));
        page.note(review_request.as_deref());
        page.guide(&guidance, &attempts);
        page.tell_attempts(&blocking, &guidance, &attempts);
        Self {
            text: without_runner_commands(&page.text),
            markdown: page.markdown,
            qa_update: qa_update.unwrap_or_default(),
            review_request: review_request.unwrap_or_default(),
            guidance: guidance_output(&guidance),
        }
    }
}

fn blocking_findings<'a>(report: &Report<'a>) -> Vec<&'a Finding> {
    let (mut findings, _) = findings_here(report);
    findings.retain(|finding| finding.blocking);
    findings
}

/// Returns what has to be mended first: findings that block, or else codes of what could not be completed. What waits is
/// nothing to mend.
fn first_to_mend<'a>(report: &Report<'_>, blocking: &[&'a Finding]) -> Vec<Item<'a>> {
    let verdict = &report.result.final_verdict;
    let codes = verdict.error_codes.iter().filter(|code| **code != Code::CadenceDeferred);
    match verdict.conclusion {
        Conclusion::Pass => Vec::new(),
        Conclusion::Fail | Conclusion::CouldNotComplete if !blocking.is_empty() => {
            blocking.iter().take(MOST_NAMED).map(|finding| Item::Finding(finding)).collect()
        }
        Conclusion::Fail | Conclusion::CouldNotComplete => {
            codes.take(MOST_NAMED).map(|code| Item::Code(*code)).collect()
        }
    }
}

/// The notes for the log and for Markdown.
struct Page {
    text: String,
    markdown: String,
}

impl Page {
    /// Adds a line of our own words, which Markdown has verbatim too.
    fn own_line(&mut self, line: Option<&str>) {
        if let Some(line) = line {
            self.text.push_str(&format!("{line}\n"));
            self.markdown.push_str(&format!("{line}\n\n"));
        }
    }

    /// Adds a line with names of plans.
    fn note(&mut self, line: Option<&str>) {
        if let Some(line) = line {
            self.text.push_str(&format!("{line}\n"));
            self.markdown.push_str(&format!("{}\n\n", markdown(line)));
        }
    }

    fn item(&mut self, line: &str) {
        self.text.push_str(&format!("  - {line}\n"));
        self.markdown.push_str(&format!("- {}\n", markdown(line)));
    }

    fn end_list(&mut self) {
        self.markdown.push('\n');
    }

    fn guide(&mut self, guidance: &[Item<'_>], attempts: &Attempts<'_>) {
        if guidance.is_empty() {
            return;
        }
        self.own_line(Some("Observer guidance: mend these first."));
        for item in guidance {
            match item {
                Item::Finding(finding) => {
                    let fix = cut(&finding.fix);
                    let attempts = attempts.describe(finding).map(|attempts| format!(" ({attempts})"));
                    let subject = subject(finding);
                    let subject = format!("{subject}{}", attempts.unwrap_or_default());
                    self.item(&format!("{}. Fix: {fix}", subject.trim_end_matches('.')));
                }
                Item::Code(code) => self.item(&format!("{code}: {}", code.hint())),
            }
        }
        self.end_list();
    }

    /// Tells the findings that attempts left open and the guidance does not name.
    fn tell_attempts(&mut self, blocking: &[&Finding], guidance: &[Item<'_>], attempts: &Attempts<'_>) {
        let told = attempts.0.keys().filter(|id| !names(guidance, id)).count();
        if told == 0 {
            return;
        }
        self.own_line(Some("Observer: attempts left these findings open."));
        let mut shown = 0;
        for finding in blocking.iter().filter(|finding| !names(guidance, &finding.finding_id)) {
            let Some(attempts) = attempts.describe(finding).filter(|_| shown < MOST_NAMED) else { continue };
            self.item(&format!("{} ({attempts})", subject(finding)));
            shown += 1;
        }
        if told > shown {
            self.item(&counted(told - shown, "more finding"));
        }
        self.end_list();
    }
}

/// Returns whether guidance names a finding.
fn names(guidance: &[Item<'_>], id: &Sha256Hex) -> bool {
    guidance.iter().any(|item| matches!(item, Item::Finding(finding) if finding.finding_id == *id))
}

fn cut(text: &str) -> String {
    visible_cut(text, MOST_CHARACTERS)
}

/// `src/app.py:3: merge conflict marker`.
fn subject(finding: &Finding) -> String {
    format!("{}: {}", cut(&location(finding)), cut(&finding.summary))
}

/// Returns the guidance as an output. A step may put it into a script, and the author of a change chooses its paths, so it
/// has places and rules alone, of characters that no shell obeys.
fn guidance_output(guidance: &[Item<'_>]) -> String {
    let items: Vec<String> = guidance
        .iter()
        .map(|item| match item {
            Item::Finding(finding) => format!("{} {}", cut(&location(finding)), cut(&finding.rule_id)),
            Item::Code(code) => code.to_string(),
        })
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("Observer guidance: {}", items.join(", ")).chars().map(harmless_sign).collect()
}

fn harmless_sign(sign: char) -> char {
    match sign {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | ':' | '/' | '_' | '-' => sign,
        _ => '_',
    }
}

#[cfg(test)]
#[path = "observer_notes_tests.rs"]
mod tests;
