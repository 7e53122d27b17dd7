//! `github`: workflow commands, so that findings stand beside the lines of a pull request without any permission.

use crate::causes::{Cause, causes};
use crate::common::{Anchor, Files, counted, findings_here, is_warning, reason, verdict_word};
use crate::contract::{Format, FormatSpec, Report};
use crate::why::message;
use qa_contracts::v1::Finding;
use qa_core::escape::{visible_cut, workflow_message, workflow_property};

/// Number of commands of one type that the runner keeps per step (`_maxCountPerIssueType`); more only fill the log.
const MAX_PER_TYPE: usize = 10;
/// The runner cuts messages at 4096 characters; escapes make ours longer, so it stays well below.
const MAX_MESSAGE: usize = 1200;
/// The longest title GitHub takes.
const MAX_TITLE: usize = 200;

/// Workflow commands that the runner turns into annotations.
pub(crate) struct Github;

impl Format for Github {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "github", title: "Workflow commands that become annotations", file: None }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let files = Files::new(report);
        let mut out = String::new();
        let mut counts = Counts::default();
        for finding in places_by_cause(&findings_here(report).0) {
            let (kind, count, limit) = counts.kind_of(finding);
            *count += 1;
            if *count <= limit {
                command(&mut out, kind, finding, &files.anchor(finding));
            }
        }
        last_line(&mut out, report, &counts);
        out.into_bytes()
    }
}

/// Returns the first place of each cause, and then the other places, so that no cause falls to the runner's limit while
/// another one has several annotations.
fn places_by_cause<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let causes = causes(findings);
    let firsts = causes.iter().map(Cause::first);
    firsts.chain(causes.iter().flat_map(|cause| cause.others().iter().copied())).collect()
}

#[derive(Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    notices: usize,
}

impl Counts {
    /// The command a finding becomes, how many there were, and how many are shown: the last notice is the verdict.
    fn kind_of(&mut self, finding: &Finding) -> (&'static str, &mut usize, usize) {
        if finding.blocking {
            ("error", &mut self.errors, MAX_PER_TYPE)
        } else if is_warning(finding) {
            ("warning", &mut self.warnings, MAX_PER_TYPE)
        } else {
            ("notice", &mut self.notices, MAX_PER_TYPE - 1)
        }
    }
}

fn command(out: &mut String, kind: &str, finding: &Finding, anchor: &Anchor<'_>) {
    // The path as it is: GitHub compares it with the file's name. A name that cannot be printed only loses its place.
    let file = workflow_property(&anchor.path.to_text());
    let mut place = format!("file={file},line={},endLine={}", anchor.start_line, anchor.end_line);
    if let Some((start, end)) = anchor.columns {
        place.push_str(&format!(",col={start},endColumn={end}"));
    }
    let title = workflow_property(&visible_cut(&finding.rule_id, MAX_TITLE));
    let lines: Vec<String> =
        message(finding).lines().map(|line| visible_cut(line, MAX_MESSAGE / 4)).collect();
    out.push_str(&format!("::{kind} {place},title={title}::{}\n", workflow_message(&lines.join("\n"))));
}

fn last_line(out: &mut String, report: &Report<'_>, counts: &Counts) {
    let verdict = &report.result.final_verdict;
    let mut text = reason(report);
    let more = [
        (counts.errors.saturating_sub(MAX_PER_TYPE), "blocking finding"),
        (counts.warnings.saturating_sub(MAX_PER_TYPE), "warning"),
        (counts.notices.saturating_sub(MAX_PER_TYPE - 1), "notice"),
    ];
    let more: Vec<String> =
        more.iter().filter(|(count, _)| *count > 0).map(|&(count, noun)| counted(count, noun)).collect();
    if !more.is_empty() {
        text.push_str(&format!(
            "\nNot annotated here: {}; the job summary and the report list them.",
            more.join(", ")
        ));
    }
    for code in &verdict.error_codes {
        text.push_str(&format!("\n{code}: {}", code.hint()));
    }
    text.push_str(&format!("\nExecution key {}", report.result.execution_key));
    let title = workflow_property(&format!("qa-skill: {}", verdict_word(verdict.conclusion)));
    out.push_str(&format!("::notice title={title}::{}\n", workflow_message(&text)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Reads a log as the runner does: commands at the start of a trimmed line, or `##[command]` anywhere else.
    fn commands(log: &str) -> Vec<(String, String)> {
        log.split(['\n', '\r'])
            .filter_map(|line| {
                let rest = line.trim_start().strip_prefix("::")?;
                let (head, message) = rest.split_once("::")?;
                let name = head.split(' ').next().unwrap_or_default();
                Some((name.to_owned(), message.to_owned()))
            })
            .collect()
    }

    #[test]
    fn hostile_text_becomes_no_command_of_its_own() {
        let sample = sample::fail();
        let log = String::from_utf8(Github.render(&sample.report(false))).unwrap();
        let names: Vec<String> = commands(&log).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["error", "error", "notice", "warning", "warning", "notice", "notice", "notice"]);
        assert_eq!(log.lines().count(), names.len(), "{log}");
        assert!(log.lines().all(|line| line.starts_with("::")), "{log}");
    }

    #[test]
    fn at_most_ten_of_a_type_and_the_rest_is_counted() {
        let sample = sample::large(300, 3000);
        let log = String::from_utf8(Github.render(&sample.report(false))).unwrap();
        let count = |kind: &str| commands(&log).iter().filter(|(name, _)| name == kind).count();
        assert_eq!((count("error"), count("warning"), count("notice")), (10, 10, 1));
        assert!(log.contains("65 blocking findings, 2,915 warnings"), "{log}");
    }

    #[test]
    fn every_cause_has_its_first_place_before_any_has_a_second() {
        let sample = sample::fail();
        let report = sample.report(false);
        let all = findings_here(&report).0;
        let again = Finding { start_line: all[0].start_line + 1, ..all[0].clone() };
        let listed: Vec<&Finding> = [all[0], &again].into_iter().chain(all[1..].iter().copied()).collect();
        let ordered = places_by_cause(&listed);
        assert_eq!(ordered.len(), listed.len());
        assert_eq!(ordered[1], all[1]);
        assert_eq!(ordered.last(), Some(&&again));
    }

    #[test]
    fn a_deleted_file_is_pointed_to_at_its_first_line() {
        let sample = sample::fail();
        let log = String::from_utf8(Github.render(&sample.report(false))).unwrap();
        assert!(
            log.contains("::warning file=tests/old.rs,line=1,endLine=1,title=debug-leftover/deleted-test::a test is deleted (line 2 "),
            "{log}"
        );
    }
}
