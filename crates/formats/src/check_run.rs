//! Content of a check run: conclusion, page, and annotations of findings at their lines.

use crate::common::{
    Files, counted, findings_here, has_deferred_plans, is_deferred_alone, is_partial, is_warning, reason,
    verdict_word,
};
use crate::contract::Report;
use crate::markdown;
use crate::why::message;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{Conclusion, Finding};

/// GitHub takes 65,535 bytes; the rest is room for what follows the last list.
const MAX_SUMMARY: usize = 60_000;
/// Blocking findings beside their lines: twenty requests of fifty, a quarter of what GitHub lets one author write in a
/// minute.
const MAX_BLOCKING: usize = 1000;
/// Findings for advice beside their lines: what fits into one request, so that advice never hides what blocks.
const MAX_ADVISORY: usize = 50;

/// Begin of the line that names the finding in the details of an annotation.
pub const FINDING_LINE: &str = "finding: ";

/// Conclusion of a completed check run. Success and neutral let a required check pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckConclusion {
    Success,
    /// A pass over files that the policy let the run leave unread.
    Neutral,
    Failure,
    /// The run says nothing about the code, and a person has to look.
    ActionRequired,
    Cancelled,
}

impl CheckConclusion {
    /// Returns the conclusion of a run that a code ends without a verdict.
    pub fn without_verdict(code: Code) -> Self {
        if code.is_withdrawn() {
            return Self::Cancelled;
        }
        Self::ActionRequired
    }

    /// Returns GitHub's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the conclusion of a run with a verdict. `is_partial` is true if the policy let it leave files unread.
    pub fn from_verdict(conclusion: Conclusion, is_partial: bool) -> Self {
        match conclusion {
            Conclusion::Pass if is_partial => Self::Neutral,
            Conclusion::Pass => Self::Success,
            Conclusion::Fail => Self::Failure,
            Conclusion::CouldNotComplete => Self::ActionRequired,
        }
    }
}

/// Level of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}

/// A remark beside lines of head. Its texts are plain text and harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub path: RepoPath,
    pub start_line: u64,
    pub end_line: u64,
    /// The first and the last column of a remark on one line.
    pub columns: Option<(u64, u64)>,
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
    pub raw_details: Option<String>,
}

/// Content of a completed check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    pub conclusion: CheckConclusion,
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// Markdown below the summary.
    pub text: Option<String>,
    /// In the order they are worth reading: blocking ones first, then the worst.
    pub annotations: Vec<Annotation>,
}

impl CheckReport {
    /// The check run of a report. At most [`MAX_BLOCKING`] blocking findings and [`MAX_ADVISORY`] others are annotated;
    /// how many are not is said in the text.
    pub fn new(report: &Report<'_>) -> Self {
        Self::with_notes(report, "")
    }

    /// Like [`Self::new`], with Markdown of the observer above the page.
    pub fn with_notes(report: &Report<'_>, notes: &str) -> Self {
        let conclusion = report.result.final_verdict.conclusion;
        let (all, _) = findings_here(report);
        let (blocking, advisory) = all.split_at(all.partition_point(|finding| finding.blocking));
        let files = Files::new(report);
        let shown = blocking.iter().take(MAX_BLOCKING).chain(advisory.iter().take(MAX_ADVISORY));
        Self {
            conclusion: CheckConclusion::from_verdict(conclusion, is_partial(report)),
            title: title(report),
            summary: format!("{notes}{}", markdown::page(report, MAX_SUMMARY.saturating_sub(notes.len()))),
            text: not_annotated(blocking.len(), advisory.len()),
            annotations: shown.map(|finding| annotation(finding, &files)).collect(),
        }
    }
}

fn title(report: &Report<'_>) -> String {
    if is_deferred_alone(report) {
        let title = match has_deferred_plans(report) {
            true => "Draft: reviewed in part",
            false => "Nothing blocks: the cross-check gives the verdict",
        };
        return title.to_owned();
    }
    format!("{}: {}", verdict_word(report.result.final_verdict.conclusion), reason(report))
}

fn not_annotated(blocking: usize, advisory: usize) -> Option<String> {
    let rest = [
        (blocking.saturating_sub(MAX_BLOCKING), "blocking finding"),
        (advisory.saturating_sub(MAX_ADVISORY), "advisory finding"),
    ];
    let rest: Vec<String> =
        rest.iter().filter(|(count, _)| *count > 0).map(|&(count, noun)| counted(count, noun)).collect();
    (!rest.is_empty())
        .then(|| format!("Not annotated: {}. `lens-results.json` of the run lists all.", rest.join(", ")))
}

fn annotation(finding: &Finding, files: &Files<'_>) -> Annotation {
    let anchor = files.anchor(finding);
    let level = match (finding.blocking, is_warning(finding)) {
        (true, _) => AnnotationLevel::Failure,
        (false, true) => AnnotationLevel::Warning,
        (false, false) => AnnotationLevel::Notice,
    };
    Annotation {
        path: anchor.path.clone(),
        start_line: anchor.start_line,
        end_line: anchor.end_line,
        columns: anchor.columns,
        level,
        title: finding.rule_id.clone(),
        message: message(finding),
        // Parts of a waiver; they also tell apart two findings with the same words.
        raw_details: Some(format!(
            "rule: {}\nevidence-hash: {}\n{FINDING_LINE}{}",
            finding.rule_id, finding.evidence_hash, finding.finding_id
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use qa_contracts::ids::is_unprintable;

    #[test]
    fn each_verdict_has_its_conclusion_and_only_pass_is_success() {
        let of = |sample: &sample::Sample| {
            let report = CheckReport::new(&sample.report(false));
            (report.conclusion, report.title)
        };
        assert_eq!(of(&sample::pass()), (CheckConclusion::Success, "PASS: No findings.".to_owned()));
        assert_eq!(
            of(&sample::fail()),
            (CheckConclusion::Failure, "FAIL: 2 findings block this change.".to_owned())
        );
        assert_eq!(
            of(&sample::incomplete()),
            (
                CheckConclusion::ActionRequired,
                "COULD NOT COMPLETE: The run could not be completed, so the change was not judged."
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_run_that_lacks_only_what_waits_says_so_and_needs_action() {
        let mut sample = sample::incomplete();
        sample.result.final_verdict.error_codes = vec![Code::CadenceDeferred];
        let title = CheckReport::new(&sample.report(false)).title;
        assert_eq!(title, "Nothing blocks: the cross-check gives the verdict", "no plan waits");
        sample.result.lens_plans[0].planning_codes = vec![Code::CadenceDeferred];
        let report = CheckReport::new(&sample.report(false));
        assert_eq!(
            (report.conclusion, report.title.as_str()),
            (CheckConclusion::ActionRequired, "Draft: reviewed in part")
        );
        sample.result.final_verdict.error_codes.push(Code::CrossCheckFailed);
        assert!(CheckReport::new(&sample.report(false)).title.starts_with("COULD NOT COMPLETE"));
    }

    #[test]
    fn blocking_findings_are_failures_and_come_first() {
        let report = CheckReport::new(&sample::fail().report(false));
        use AnnotationLevel::{Failure, Notice, Warning};
        let levels: Vec<AnnotationLevel> = report.annotations.iter().map(|one| one.level).collect();
        assert_eq!(levels, [Failure, Failure, Notice, Warning, Warning, Notice, Notice]);
        assert_eq!(report.text, None);
        let bad = |text: &str| text.chars().any(|c| c != '\n' && is_unprintable(c));
        for one in &report.annotations {
            let details = one.raw_details.as_deref().unwrap();
            assert!(![&one.title, &one.message, details].into_iter().any(bad), "{one:?}");
            assert!(one.start_line >= 1 && one.end_line >= one.start_line, "{one:?}");
            assert!(one.columns.is_none() || one.start_line == one.end_line, "{one:?}");
        }
    }

    #[test]
    fn a_large_run_annotates_what_blocks_and_counts_the_rest() {
        let report = CheckReport::new(&sample::large(300, 3000).report(false));
        let blocking = report.annotations.iter().filter(|one| one.level == AnnotationLevel::Failure).count();
        assert_eq!((blocking, report.annotations.len()), (75, 125));
        assert_eq!(
            report.text.as_deref(),
            Some("Not annotated: 2,875 advisory findings. `lens-results.json` of the run lists all.")
        );
        assert!(report.summary.len() < 65_535, "{}", report.summary.len());
        assert!(report.summary.contains("and 2,915 more places"));
    }

    #[test]
    fn what_is_not_annotated_is_said_in_numbers_that_agree() {
        assert_eq!(not_annotated(1000, 50), None);
        let said = not_annotated(1001, 51).unwrap();
        assert!(said.contains("1 blocking finding, 1 advisory finding."), "{said}");
        let said = not_annotated(1002, 0).unwrap();
        assert!(said.contains(": 2 blocking findings."), "{said}");
    }
}
