//! Check runs: completes those that the run claimed, without duplicate annotations.

use std::collections::{BTreeMap, BTreeSet};

use octocrab::params::checks::{
    CheckRunConclusion, CheckRunOutput, CheckRunOutputAnnotation, CheckRunOutputAnnotationLevel,
    CheckRunStatus,
};
use serde::{Deserialize, Serialize};

use super::GitHub;
use super::client::Operation;
use super::error::{AttemptError, Permission, PublishError};
use super::lease::{HeadChecks, Lease};
use super::limits::{self, MAX_MESSAGE, MAX_TITLE};
use qa_formats::check_run::{Annotation, AnnotationLevel, CheckConclusion, CheckReport, FINDING_LINE};
use qa_run::http::Method;

/// GitHub's limit of annotations in one request.
const PER_REQUEST: usize = 50;

const TITLE: Operation = Operation { what: "show the progress of the check run", needs: Permission::Checks };
const FINISH: Operation = Operation { what: "complete the check run", needs: Permission::Checks };
const CLOSE: Operation = Operation { what: "close the check run", needs: Permission::Checks };
const COMPARE: Operation =
    Operation { what: "read the findings of the push before", needs: Permission::Checks };
const CANCEL: Operation = Operation { what: "cancel the check run", needs: Permission::Checks };

/// A check run of the token's app.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    /// URL of its page.
    #[serde(default)]
    pub(crate) html_url: Option<String>,
    #[serde(default)]
    pub(super) external_id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    app: Option<App>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    pub(super) conclusion: Option<String>,
    /// RFC 3339 in UTC; times compare as texts.
    #[serde(default)]
    pub(super) started_at: Option<String>,
    /// RFC 3339 in UTC; times compare as texts.
    #[serde(default)]
    pub(super) completed_at: Option<String>,
}

impl CheckRun {
    pub(super) fn is_open(&self) -> bool {
        self.status.as_deref() != Some("completed")
    }

    pub(super) fn is_by(&self, app: &str) -> bool {
        self.app.as_ref().and_then(|app| app.slug.as_deref()) == Some(app)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct App {
    #[serde(default)]
    slug: Option<String>,
}

/// The body of a request that changes a check run.
#[derive(Serialize)]
struct Change {
    status: CheckRunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<CheckRunConclusion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<CheckRunOutput>,
}

impl GitHub {
    /// Completes a check run with its conclusion only, which GitHub accepts if it refused the texts.
    pub(crate) fn conclude_check(
        &self,
        lease: &Lease,
        conclusion: CheckConclusion,
    ) -> Result<(), PublishError> {
        self.client.with_retries(CLOSE, || {
            self.hold_if_known(CLOSE, lease)?;
            self.conclude(CLOSE, &lease.check, wire(conclusion), None)
        })
    }

    pub(super) fn conclude(
        &self,
        operation: Operation,
        run: &CheckRun,
        conclusion: CheckRunConclusion,
        output: Option<&Output>,
    ) -> Result<(), AttemptError> {
        let output = output.map(|output| output.with(&[]));
        let change = Change { status: CheckRunStatus::Completed, conclusion: Some(conclusion), output };
        self.change(operation, run, &change).map(|_| ())
    }

    /// Completes a check run. The conclusion is sent with the last annotations, so it never appears without its reasons.
    /// GitHub cannot remove annotations, so each attempt lists the existing ones and sends only the others.
    pub(crate) fn finish_check(&self, lease: &Lease, report: &CheckReport) -> Result<(), PublishError> {
        let run = &lease.check;
        let wanted: Vec<Mark> = report.annotations.iter().map(Mark::new).collect();
        let output = Output {
            title: limits::plain(&report.title, MAX_TITLE),
            summary: limits::markdown(&report.summary),
            text: report.text.as_deref().map(limits::markdown),
        };
        self.client.with_retries(FINISH, || {
            self.hold(FINISH, lease)?;
            let missing = missing(&wanted, self.annotations(run)?);
            let mut batches: Vec<&[&Mark]> = missing.chunks(PER_REQUEST).collect();
            let last = batches.pop().unwrap_or_default();
            for batch in batches {
                let output = output.with(batch);
                self.change(
                    FINISH,
                    run,
                    &Change { status: CheckRunStatus::InProgress, conclusion: None, output: Some(output) },
                )?;
            }
            self.complete(FINISH, run, report.conclusion, &output, last)
        })
    }

    /// Returns the ids of the blocking findings of the newest verdict about a head, or `None` where none is known.
    pub(crate) fn blocking_of(
        &self,
        head_checks: &HeadChecks,
    ) -> Result<Option<BTreeSet<String>>, PublishError> {
        self.client.with_retries(COMPARE, || {
            let checks = self.own_checks(COMPARE, head_checks)?;
            let judged = checks.iter().filter(|run| {
                !run.is_open() && matches!(run.conclusion.as_deref(), Some("success" | "neutral" | "failure"))
            });
            let Some(newest) = judged.max_by(|a, b| a.completed_at.cmp(&b.completed_at)) else {
                return Ok(None);
            };
            let marks = self.annotations(newest)?;
            let blocking = marks.iter().filter(|mark| mark.annotation_level.as_deref() == Some("failure"));
            Ok(Some(blocking.filter_map(Mark::finding).map(str::to_owned).collect()))
        })
    }

    /// Shows a title on a check run that goes on. One attempt, and nothing else of the check run changes.
    pub(crate) fn show_title(&self, lease: &Lease, title: &str) -> Result<(), PublishError> {
        let body = serde_json::json!({"output": {
            "title": limits::plain(title, MAX_TITLE),
            "summary": "The verdict follows.",
        }});
        let route = format!("/check-runs/{}", lease.check.id);
        let sent = self.client.request_json(TITLE, Method::Patch, &route, Some(&body));
        lease.confirm(TITLE.what, &sent.map_err(|error| self.client.failure(TITLE, error))?)
    }

    /// Completes the check run of a cancelled run. Needs a client that is not cancelled itself.
    pub(crate) fn cancel_check(&self, lease: &Lease, reason: &str) -> Result<(), PublishError> {
        let output = Output {
            title: "Cancelled".to_owned(),
            summary: limits::markdown(&qa_core::escape::markdown(reason)),
            text: None,
        };
        self.client.with_retries(CANCEL, || {
            self.hold_if_known(CANCEL, lease)?;
            self.conclude(CANCEL, &lease.check, CheckRunConclusion::Cancelled, Some(&output))
        })
    }

    /// Completes check runs that began until a time and go on, as cancelled. Returns their number.
    pub(crate) fn cancel_unfinished(
        &self,
        head_checks: &HeadChecks,
        until: &str,
    ) -> Result<usize, PublishError> {
        let output = Output {
            title: "Cancelled".to_owned(),
            summary: "A person stopped the run with `/qa stop`. `/qa rerun` judges this head again."
                .to_owned(),
            text: None,
        };
        self.client.with_retries(CANCEL, || {
            let mut unfinished = self.own_checks(CANCEL, head_checks)?;
            unfinished.retain(|run| {
                let has_begun = matches!(run.started_at.as_deref(), Some(started) if started <= until);
                has_begun && run.is_open()
            });
            for run in &unfinished {
                self.conclude(CANCEL, run, CheckRunConclusion::Cancelled, Some(&output))?;
            }
            Ok(unfinished.len())
        })
    }

    fn complete(
        &self,
        operation: Operation,
        run: &CheckRun,
        conclusion: CheckConclusion,
        output: &Output,
        marks: &[&Mark],
    ) -> Result<(), AttemptError> {
        let change = Change {
            status: CheckRunStatus::Completed,
            conclusion: Some(wire(conclusion)),
            output: Some(output.with(marks)),
        };
        self.change(operation, run, &change)
    }

    fn change(&self, operation: Operation, run: &CheckRun, change: &Change) -> Result<(), AttemptError> {
        let body = serde_json::to_value(change).expect("texts and numbers have a form in JSON");
        let route = format!("/check-runs/{}", run.id);
        let answer: CheckRun = self.client.request_json(operation, Method::Patch, &route, Some(&body))?;
        // A proxy may send a page with a success status that changes nothing.
        if answer.id != run.id {
            let reason = "the response is about another check run".to_owned();
            return Err(AttemptError::Retryable { reason, hint: None });
        }
        Ok(())
    }

    fn annotations(&self, run: &CheckRun) -> Result<Vec<Mark>, AttemptError> {
        let route = format!("/check-runs/{}/annotations", run.id);
        self.client.list(FINISH, &route, |page: Vec<Mark>| page)
    }
}

fn wire(conclusion: CheckConclusion) -> CheckRunConclusion {
    match conclusion {
        CheckConclusion::Success => CheckRunConclusion::Success,
        CheckConclusion::Neutral => CheckRunConclusion::Neutral,
        CheckConclusion::Failure => CheckRunConclusion::Failure,
        CheckConclusion::ActionRequired => CheckRunConclusion::ActionRequired,
        CheckConclusion::Cancelled => CheckRunConclusion::Cancelled,
    }
}

/// Texts of a check run, cut to GitHub's limits.
pub(super) struct Output {
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) text: Option<String>,
}

impl Output {
    fn with(&self, marks: &[&Mark]) -> CheckRunOutput {
        CheckRunOutput {
            title: self.title.clone(),
            summary: self.summary.clone(),
            text: self.text.clone(),
            annotations: marks.iter().map(|mark| mark.wire()).collect(),
            images: Vec::new(),
        }
    }
}

/// An annotation, cut to GitHub's limits, in the form of requests and listings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Mark {
    path: String,
    start_line: u32,
    end_line: u32,
    #[serde(default)]
    start_column: Option<u32>,
    #[serde(default)]
    end_column: Option<u32>,
    #[serde(default)]
    annotation_level: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    raw_details: Option<String>,
}

impl Mark {
    fn new(annotation: &Annotation) -> Self {
        let start_line = saturate(annotation.start_line).max(1);
        let end_line = saturate(annotation.end_line).max(start_line);
        let columns = annotation.columns.map(|(start, end)| (saturate(start), saturate(end)));
        let columns =
            columns.filter(|(start, end)| start_line == end_line && *start >= 1 && end >= start).unzip();
        Self {
            path: annotation.path.to_text().into_owned(),
            start_line,
            end_line,
            start_column: columns.0,
            end_column: columns.1,
            annotation_level: Some(level_word(annotation.level).to_owned()),
            title: Some(limits::plain(&annotation.title, MAX_TITLE)),
            message: Some(limits::plain(&annotation.message, MAX_MESSAGE)),
            raw_details: annotation.raw_details.as_deref().map(|text| limits::plain(text, MAX_MESSAGE)),
        }
    }

    fn wire(&self) -> CheckRunOutputAnnotation {
        let level = match self.annotation_level.as_deref() {
            Some("failure") => CheckRunOutputAnnotationLevel::Failure,
            Some("warning") => CheckRunOutputAnnotationLevel::Warning,
            _ => CheckRunOutputAnnotationLevel::Notice,
        };
        CheckRunOutputAnnotation {
            path: self.path.clone(),
            start_line: self.start_line,
            end_line: self.end_line,
            start_column: self.start_column,
            end_column: self.end_column,
            annotation_level: level,
            message: self.message.clone().unwrap_or_default(),
            title: self.title.clone(),
            raw_details: self.raw_details.clone(),
        }
    }

    /// Returns the id of the finding that the annotation is about.
    fn finding(&self) -> Option<&str> {
        let details = self.raw_details.as_deref()?;
        details.lines().find_map(|line| line.trim().strip_prefix(FINDING_LINE))
    }

    /// Returns an annotation with normalized line ends and empty texts, which servers change.
    fn identity(&self) -> Self {
        Self {
            title: normalized(&self.title),
            message: normalized(&self.message),
            raw_details: normalized(&self.raw_details),
            ..self.clone()
        }
    }
}

fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns a text with line feeds and without outer white space; `None` for an empty one.
fn normalized(text: &Option<String>) -> Option<String> {
    let text = text.as_deref()?.replace("\r\n", "\n");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn level_word(level: AnnotationLevel) -> &'static str {
    match level {
        AnnotationLevel::Failure => "failure",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Notice => "notice",
    }
}

/// Returns the wanted annotations that do not exist yet, in order. Each existing one accounts for one equal wanted one.
fn missing(wanted: &[Mark], existing: Vec<Mark>) -> Vec<&Mark> {
    let mut counts: BTreeMap<Mark, usize> = BTreeMap::new();
    for mark in &existing {
        *counts.entry(mark.identity()).or_default() += 1;
    }
    let mut missing = Vec::new();
    for mark in wanted {
        match counts.get_mut(&mark.identity()) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => missing.push(mark),
        }
    }
    missing
}
