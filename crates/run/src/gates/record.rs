//! Reads the reports of other tools, once, and records them.

use std::collections::BTreeSet;

use super::features::{bindings_path, required_features};
use super::named_features::FeatureEvidence;
use super::pictures::Album;
use super::{FEATURE_LIST, GateError, WORKFLOW_STATE};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, Sha256Hex};
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{
    ChangeSet, GateName, GateRecord, PolicyReport, RecordedGates, RecordedReport, RecordedStep,
    RecordedStory, Side,
};
use qa_contracts::{schema, strict_json};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_core::{canonical, secrets};
use qa_gates::report::Totals;

/// Source of reports. Called once for each report and picture.
pub trait Reports {
    /// Reads a path below the workspace.
    fn read_report(&self, path: &str) -> ReportFile;
}

/// Content at a report's path.
pub enum ReportFile {
    Missing,
    /// Not accepted, with the reason.
    Refused(String),
    Content {
        bytes: Vec<u8>,
        /// Modification time, in seconds since 1970.
        modified: i64,
    },
}

/// Content of a commit at a path.
pub enum CommittedFile {
    Missing,
    /// Not text or too large.
    Unreadable,
    Text(String),
}

impl CommittedFile {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(secrets::masked(text)),
            Self::Missing | Self::Unreadable => None,
        }
    }
}

/// Commit that reports have to be about.
pub struct HeadCommit<'a> {
    /// Returns whether the commit has a path. The author of a change also writes committed files, so these are no reports.
    pub is_committed: &'a dyn Fn(&str) -> Result<bool, PortError>,
    pub id: &'a CommitId,
    /// Time of the commit, in seconds since 1970.
    pub time: i64,
    /// Time of this machine, in seconds since 1970; only messages depend on it.
    pub now: i64,
    /// Returns the text of a file of the commit, or of the base.
    pub text: &'a dyn Fn(Side, &str) -> Result<CommittedFile, PortError>,
    /// Features that trailers of the commit's message name.
    pub declared_features: &'a BTreeSet<u64>,
    /// Features that labels of the pull request name.
    pub label_features: &'a BTreeSet<u64>,
    /// The change, for the features whose files it touches.
    pub change_set: &'a ChangeSet,
    /// Path of the checkout, as tools write it.
    pub root: &'a str,
}

/// Placeholder for the path of the checkout, so that equal reports of two checkouts are recorded alike.
pub(super) const ANY_ROOT: &str = "/github/workspace";

/// Reads and records every report that the policy names.
pub fn record_reports(
    policy: &Policy,
    reports: &dyn Reports,
    head: &HeadCommit<'_>,
) -> Result<RecordedGates, PortError> {
    let mut recorded = RecordedGates::default();
    let mut room = MAX_REPORT_BYTES;
    let mut album = Album::default();
    for (gate, wanted) in &policy.gates {
        for report in &wanted.reports {
            let sides = [(Side::Head, Some(&report.path)), (Side::Base, report.base.as_ref())];
            for (side, path) in sides {
                let Some(path) = path else { continue };
                let found = read_record(path, side, reports, head);
                let step = found.as_ref().ok().and_then(Option::as_ref);
                let bytes = if (head.is_committed)(path)? {
                    let problem = format!("{path} is committed, so the change could have written it");
                    Err(GateError::new(Code::GateReportRefused, problem))
                } else {
                    // The base's report may come from a cache, and be as old as the base. A record names its commit, so
                    // that no clock decides.
                    let is_dated = side == Side::Head && step.is_none();
                    let since = if is_dated { head.time } else { i64::MIN };
                    accept_report(path, reports.read_report(path), since, head.now, &mut room)
                };
                let bytes = match &found {
                    Ok(Some(step)) => bytes.and_then(|bytes| step.check(path, bytes)),
                    Ok(None) => bytes,
                    Err(error) => bytes.and(Err(error.clone())),
                };
                let mut empty = empty_record(*gate, path, side);
                empty.step = found.ok().flatten().map(|found| found.step);
                let mut record = match bytes.and_then(|bytes| report_text(path, bytes)) {
                    Ok(text) => with_text(empty, report, text, head.root),
                    Err(error) => with_error(empty, error),
                };
                if side == Side::Head
                    && let Ok(judged) = super::judge_report(report, Some(&record), &[])
                {
                    let since = if record.step.is_none() { head.time } else { i64::MIN };
                    record.pictures = album.take(&judged.report, |path| {
                        accept_picture(reports.read_report(&path.to_text()), since)
                    });
                }
                recorded.reports.push(record);
            }
        }
    }
    if policy.gates.contains_key(&GateName::StoryValidation) {
        recorded.feature_list = (head.text)(Side::Head, FEATURE_LIST)?.text();
        recorded.base_feature_list = (head.text)(Side::Base, FEATURE_LIST)?.text();
        recorded.workflow_state = (head.text)(Side::Base, WORKFLOW_STATE)?.text();
        recorded.declared_features = head.declared_features.iter().copied().collect();
        recorded.label_features = head.label_features.iter().copied().collect();
        let evidence = FeatureEvidence { policy, change_set: head.change_set, recorded: &recorded };
        for feature_id in required_features(evidence) {
            let text = match (head.text)(Side::Head, &bindings_path(feature_id))? {
                CommittedFile::Missing => continue,
                found @ (CommittedFile::Unreadable | CommittedFile::Text(_)) => found.text(),
            };
            recorded.stories.push(RecordedStory { feature_id, text });
        }
    }
    Ok(recorded)
}

/// Returns the path of the record of a report.
pub fn record_path(report: &str) -> String {
    format!("{report}.record.json")
}

/// The record of a report's command, with the digest that the report had.
struct FoundRecord {
    step: RecordedStep,
    report_sha256: Sha256Hex,
}

impl FoundRecord {
    /// Returns the bytes of the report if the record is about them.
    fn check(&self, path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, GateError> {
        if canonical::sha256(&bytes) == self.report_sha256 {
            return Ok(bytes);
        }
        let problem = format!("{path} is not the report that {} is about", record_path(path));
        Err(GateError::new(Code::GateReportStale, problem))
    }
}

/// Reads the record of a report; `None` if there is none. A record that cannot be read is an error: its command may have
/// failed.
fn read_record(
    report: &str,
    side: Side,
    reports: &dyn Reports,
    head: &HeadCommit<'_>,
) -> Result<Option<FoundRecord>, GateError> {
    let path = record_path(report);
    let bytes = match reports.read_report(&path) {
        ReportFile::Missing => return Ok(None),
        ReportFile::Refused(problem) => return Err(GateError::new(Code::GateReportRefused, problem)),
        ReportFile::Content { bytes, .. } => bytes,
    };
    match (head.is_committed)(&path) {
        Ok(false) => {}
        Ok(true) | Err(_) => {
            let problem = format!("{path} is committed, so the change could have written it");
            return Err(GateError::new(Code::GateReportRefused, problem));
        }
    }
    let record = parse_record(&bytes).map_err(|problem| {
        let problem = format!("failed to read {path}: {}", sanitize_cut(&problem, 300));
        GateError::new(Code::GateReportIncomplete, problem)
    })?;
    let mut commits = vec![record.head];
    if record.parents.len() > 1 {
        // The merge commit of a pull request, which a step has checked out where head is judged.
        commits.extend(record.parents);
    }
    if side == Side::Head && !commits.contains(head.id) {
        let problem = format!("{path} is about another commit, {}", commits[0].short());
        return Err(GateError::new(Code::GateReportStale, problem));
    }
    let step = RecordedStep {
        argv: record.argv.into_iter().map(secrets::masked).collect(),
        exit_code: record.exit_code,
        tool_version: record.tool_version.map(secrets::masked),
        commits,
    };
    Ok(Some(FoundRecord { step, report_sha256: record.report_sha256 }))
}

fn parse_record(bytes: &[u8]) -> Result<GateRecord, String> {
    let value = strict_json::parse(bytes).map_err(|error| error.to_string())?;
    let schema = schema::find("gate-record.v1").expect("the schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        return Err(format!("{}: {}", fault.pointer, fault.message));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Returns the bytes of a report that is not older than `since` and fits into `room`, the remaining bytes.
fn accept_report(
    path: &str,
    file: ReportFile,
    since: i64,
    now: i64,
    room: &mut usize,
) -> Result<Vec<u8>, GateError> {
    match file {
        ReportFile::Missing => Err(GateError::new(Code::GateReportMissing, format!("{path} is not there"))),
        ReportFile::Refused(problem) => Err(GateError::new(Code::GateReportRefused, problem)),
        ReportFile::Content { modified, .. } if modified < since && now < since => {
            let problem = format!(
                "{path} is older than the date of the commit, which is {} s ahead of this machine's clock; \
                 run its command by `qa-skill record`, whose record names the commit",
                since - now
            );
            Err(GateError::new(Code::GateReportStale, problem))
        }
        ReportFile::Content { modified, .. } if modified < since => {
            let age = since - modified;
            let problem = format!("{path} was written {age} s before the commit that is judged");
            Err(GateError::new(Code::GateReportStale, problem))
        }
        ReportFile::Content { bytes, .. } if bytes.len() > *room => {
            let problem = format!("all reports together have more than {MAX_REPORT_BYTES} bytes");
            Err(GateError::new(Code::GateReportRefused, problem))
        }
        ReportFile::Content { bytes, .. } => {
            *room -= bytes.len();
            Ok(bytes)
        }
    }
}

/// Returns the bytes of a picture that a report names, unless it is older than `since`.
fn accept_picture(file: ReportFile, since: i64) -> Result<Vec<u8>, String> {
    match file {
        ReportFile::Missing => Err("it is not there".to_owned()),
        ReportFile::Refused(problem) => Err(problem),
        ReportFile::Content { modified, .. } if modified < since => {
            Err("it was written before the commit that is judged".to_owned())
        }
        ReportFile::Content { bytes, .. } => Ok(bytes),
    }
}

fn report_text(path: &str, bytes: Vec<u8>) -> Result<String, GateError> {
    String::from_utf8(bytes)
        .map_err(|_| GateError::new(Code::GateReportRefused, format!("{path} is not UTF-8")))
}

fn empty_record(gate: GateName, path: &str, side: Side) -> RecordedReport {
    RecordedReport {
        gate,
        path: path.to_owned(),
        side,
        sha256: None,
        text: None,
        code: None,
        problem: None,
        step: None,
        pictures: Vec::new(),
    }
}

/// Adds a report's text to its record. Secrets are masked before anything else uses the text, since a test may print its
/// environment. If masking changes the result, the report is refused: otherwise output could be crafted to hide faults.
fn with_text(
    mut record: RecordedReport,
    declared: &PolicyReport,
    text: String,
    root: &str,
) -> RecordedReport {
    let text = with_placeholder(text, root);
    record.sha256 = Some(canonical::sha256(text.as_bytes()));
    let masked = secrets::masked(text.clone());
    let is_clean = masked == text;
    record.text = Some(masked);
    if is_clean {
        return record;
    }
    let unmasked = RecordedReport { text: Some(text), ..record.clone() };
    if verdict(declared, &record) != verdict(declared, &unmasked) {
        record.text = None;
        record.code = Some(Code::GateReportRefused);
        record.problem =
            Some(format!("{} has another result once the secrets in it are masked", record.path));
    }
    record
}

fn with_error(mut record: RecordedReport, error: GateError) -> RecordedReport {
    record.code = Some(error.code);
    record.problem = Some(error.problem);
    record
}

fn verdict(declared: &PolicyReport, report: &RecordedReport) -> Result<(bool, Totals), Code> {
    match super::judge_report(declared, Some(report), &[]) {
        Ok(judged) => Ok((judged.passed, judged.report.totals)),
        Err(error) => Err(error.code),
    }
}

/// Replaces the path of the checkout.
fn with_placeholder(text: String, root: &str) -> String {
    // The root of the file system is in every path.
    if root.len() < 2 { text } else { text.replace(&format!("{root}/"), &format!("{ANY_ROOT}/")) }
}
