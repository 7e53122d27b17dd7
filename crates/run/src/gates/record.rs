//! Looks for the reports of other tools, once, and keeps what it finds.

use super::features::{bindings_path, wanted};
use super::pictures::Album;
use super::{FEATURE_LIST, WORKFLOW_STATE};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{GateName, PolicyReport, RecordedGates, RecordedReport, RecordedStory, Side};
use qa_core::policy::Policy;
use qa_core::{canonical, secrets};
use qa_gates::report::Totals;

/// Where reports are read from.
pub trait Reports {
    /// What stands at a path below the workspace.
    fn read(&self, path: &str) -> ReportFile;
}

/// What stands at a report's path.
pub enum ReportFile {
    /// Nothing.
    Missing,
    /// Something that is not taken, and why.
    Refused(String),
    /// A file.
    Content {
        /// Its bytes.
        bytes: Vec<u8>,
        /// When it was written, in seconds since 1970.
        modified: i64,
    },
}

/// What a commit has at a path.
pub enum HeadFile {
    /// No file.
    Nothing,
    /// One that is no text or too large.
    Unreadable,
    /// Text.
    Text(String),
}

impl HeadFile {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(secrets::masked(text)),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// The commit a report has to be about.
pub struct HeadCommit<'a> {
    /// Whether a path is committed there: whoever wrote the change wrote that file too.
    pub is_committed: &'a dyn Fn(&str) -> Result<bool, PortError>,
    /// When the commit was made, in seconds since 1970.
    pub time: i64,
    /// A file's text there.
    pub text: &'a dyn Fn(&str) -> Result<HeadFile, PortError>,
    /// Where the checkout is, as tools write it.
    pub root: &'a str,
}

/// What stands in a recorded report for the place of the checkout, so that the same report of two checkouts is the same.
pub(super) const ANY_ROOT: &str = "/github/workspace";

/// Looks for every report the policy names.
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
                let taken = if (head.is_committed)(path)? {
                    Err((
                        Code::GateReportRefused,
                        format!("{path} is committed, so the change could have written it"),
                    ))
                } else {
                    // The base's report may come from a cache, and be as old as the base.
                    let since = if side == Side::Head { head.time } else { i64::MIN };
                    take(path, reports.read(path), since, &mut room)
                };
                let mut taken = recorded_report(*gate, report, (path, side), head.root, taken);
                if side == Side::Head
                    && let Ok(judged) = super::read(report, Some(&taken), &[])
                {
                    let picture = |path: &RepoPath| picture(reports.read(&path.to_text()), head.time);
                    taken.pictures = album.take(&judged.report, picture);
                }
                recorded.reports.push(taken);
            }
        }
    }
    if policy.gates.contains_key(&GateName::StoryValidation) {
        recorded.feature_list = (head.text)(FEATURE_LIST)?.text();
        recorded.workflow_state = (head.text)(WORKFLOW_STATE)?.text();
        for feature_id in wanted(&recorded) {
            let text = match (head.text)(&bindings_path(feature_id))? {
                HeadFile::Nothing => continue,
                found @ (HeadFile::Unreadable | HeadFile::Text(_)) => found.text(),
            };
            recorded.stories.push(RecordedStory { feature_id, text });
        }
    }
    Ok(recorded)
}

fn take(path: &str, found: ReportFile, since: i64, room: &mut usize) -> Result<Vec<u8>, (Code, String)> {
    let refused = |problem| Err((Code::GateReportRefused, problem));
    match found {
        ReportFile::Missing => Err((Code::GateReportMissing, format!("{path} is not there"))),
        ReportFile::Refused(problem) => refused(problem),
        ReportFile::Content { modified, .. } if modified < since => Err((
            Code::GateReportStale,
            format!("{path} was written {} s before the commit that is judged", since - modified),
        )),
        ReportFile::Content { bytes, .. } if bytes.len() > *room => {
            refused(format!("all reports together have more than {MAX_REPORT_BYTES} bytes"))
        }
        ReportFile::Content { bytes, .. } => {
            *room -= bytes.len();
            Ok(bytes)
        }
    }
}

/// The bytes of a picture that a report names.
fn picture(found: ReportFile, since: i64) -> Result<Vec<u8>, String> {
    match found {
        ReportFile::Missing => Err("it is not there".to_owned()),
        ReportFile::Refused(problem) => Err(problem),
        ReportFile::Content { modified, .. } if modified < since => {
            Err("it was written before the commit that is judged".to_owned())
        }
        ReportFile::Content { bytes, .. } => Ok(bytes),
    }
}

/// Secrets are masked before anything else sees the text: a test may print what it was given.
fn recorded_report(
    gate: GateName,
    wanted: &PolicyReport,
    (path, side): (&str, Side),
    root: &str,
    taken: Result<Vec<u8>, (Code, String)>,
) -> RecordedReport {
    let mut report = RecordedReport {
        gate,
        path: path.to_owned(),
        side,
        sha256: None,
        text: None,
        code: None,
        problem: None,
        pictures: Vec::new(),
    };
    let text = taken.and_then(|bytes| {
        let refused = |_| (Code::GateReportRefused, format!("{path} is not UTF-8"));
        String::from_utf8(bytes).map_err(refused)
    });
    match text {
        Ok(text) => {
            let text = somewhere(text, root);
            report.sha256 = Some(canonical::sha256(text.as_bytes()));
            let masked = secrets::masked(text.clone());
            let is_clean = masked == text;
            report.text = Some(masked);
            if !is_clean
                && says(wanted, &report)
                    != says(wanted, &RecordedReport { text: Some(text), ..report.clone() })
            {
                report.text = None;
                report.code = Some(Code::GateReportRefused);
                report.problem =
                    Some(format!("{path} says something else once the secrets in it are masked"));
            }
        }
        Err((code, problem)) => {
            report.code = Some(code);
            report.problem = Some(problem);
        }
    }
    report
}

/// What a report comes to. Masking must not change it: what a test prints could hide what stands after it.
fn says(wanted: &PolicyReport, report: &RecordedReport) -> Result<(bool, Totals), Code> {
    let judged = super::read(wanted, Some(report), &[]).map_err(|(code, _)| code)?;
    Ok((judged.passed, judged.report.totals))
}

/// The text as it would be of a checkout elsewhere.
fn somewhere(text: String, root: &str) -> String {
    // The root of the file system is in every path.
    if root.len() < 2 { text } else { text.replace(&format!("{root}/"), &format!("{ANY_ROOT}/")) }
}
