//! Reads the reports of other tools, once, and records them.

use std::collections::BTreeSet;

use super::features::{bindings_path, required_features};
use super::named_features::FeatureEvidence;
use super::pictures::Album;
use super::{Baseline, FEATURE_LIST, GateError, WORKFLOW_STATE};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath, TreeId};
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{
    ChangeSet, GateName, GateRecord, PolicyReport, RecordedGates, RecordedReport, RecordedReportFile,
    RecordedStep, RecordedStory, ReportDigest, Side,
};
use qa_contracts::{schema, strict_json};
use qa_core::classify::{PathSet, glob_directory, is_glob};
use qa_core::features::DeclaredFeatures;
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_core::{canonical, secrets};
use qa_gates::report::Totals;

/// Source of reports. Called once for each report and picture.
pub trait Reports {
    /// Reads a path below the workspace.
    fn read_report(&self, path: &str) -> FoundFile;

    /// Returns the paths of the regular files in a directory and below it, links left alone. Fails if there are too many.
    fn list_files(&self, directory: &str) -> Result<Vec<String>, String>;
}

/// Maximum number of files of one report.
pub(super) const MAX_REPORT_FILES: usize = 5_000;

/// Returns the files of `listed` that a glob of the policy matches, sorted. The glob was checked when the policy was read.
pub fn matching_files(glob: &str, listed: Vec<String>) -> Result<Vec<String>, String> {
    let set = PathSet::new([glob]).expect("the policy has valid globs");
    let record = record_path(glob);
    let mut files = listed;
    files.retain(|path| {
        *path != record && RepoPath::from_bytes(path.as_bytes()).is_ok_and(|path| set.matches(&path))
    });
    files.sort();
    match files.len() {
        many if many > MAX_REPORT_FILES => Err(format!("{glob} matches more than {MAX_REPORT_FILES} files")),
        _ => Ok(files),
    }
}

/// Content at a report's path.
pub enum FoundFile {
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
    /// Returns the tree of its merge into the base; `None` if they conflict.
    pub merged_tree: &'a dyn Fn() -> Result<Option<TreeId>, PortError>,
    /// Time of the commit, in seconds since 1970.
    pub time: i64,
    /// Time of this machine, in seconds since 1970; only messages depend on it.
    pub now: i64,
    /// Returns the text of a file of the commit, or of the base.
    pub text: &'a dyn Fn(Side, &str) -> Result<CommittedFile, PortError>,
    /// Features that trailers of the change's commits name.
    pub declared_features: &'a DeclaredFeatures,
    /// Features that labels of the pull request name.
    pub label_features: &'a BTreeSet<u64>,
    /// The change, for the features whose files it touches.
    pub change_set: &'a ChangeSet,
    /// Path of the checkout, as tools write it.
    pub root: &'a str,
}

/// Placeholder for the path of the checkout, so that equal reports of two checkouts are recorded alike.
pub(super) const ANY_ROOT: &str = "/github/workspace";

/// Reads and records every report that the policy names. Those of the base come from a baseline where the policy names none.
pub fn record_reports(
    policy: &Policy,
    reports: &dyn Reports,
    head: &HeadCommit<'_>,
    baseline: Option<&Baseline>,
) -> Result<RecordedGates, PortError> {
    let mut recorded = RecordedGates::default();
    let mut intake = Intake { reports, head, room: MAX_REPORT_BYTES, album: Album::default() };
    for (gate, wanted) in &policy.gates {
        for report in &wanted.reports {
            recorded.reports.push(intake.record(*gate, report, &report.path, Side::Head)?);
            if let Some(base) = &report.base {
                recorded.reports.push(intake.record(*gate, report, base, Side::Base)?);
            }
        }
    }
    if let Some(baseline) = baseline {
        intake.take_baseline(policy, baseline, &mut recorded);
    }
    if policy.gates.contains_key(&GateName::StoryValidation) {
        recorded.feature_list = (head.text)(Side::Head, FEATURE_LIST)?.text();
        recorded.base_feature_list = (head.text)(Side::Base, FEATURE_LIST)?.text();
        recorded.workflow_state = (head.text)(Side::Base, WORKFLOW_STATE)?.text();
        recorded.declared_features = head.declared_features.features.iter().copied().collect();
        recorded.unreadable_trailers = head.declared_features.unreadable.iter().cloned().collect();
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

/// Returns the path of the record of a report: beside it, or in the directory of those that a glob matches.
pub fn record_path(report: &str) -> String {
    if !is_glob(report) {
        return format!("{report}.record.json");
    }
    let directory = glob_directory(report);
    let rest = report[directory.len()..].trim_start_matches('/');
    let name: String = rest
        .chars()
        .map(|part| if part.is_alphanumeric() || part == '.' || part == '_' { part } else { '-' })
        .collect();
    if directory.is_empty() {
        format!("{name}.record.json")
    } else {
        format!("{directory}/{name}.record.json")
    }
}

/// Reads reports until there is no room for more.
struct Intake<'a> {
    reports: &'a dyn Reports,
    head: &'a HeadCommit<'a>,
    /// Remaining bytes.
    room: usize,
    album: Album,
}

impl Intake<'_> {
    /// Adds the reports of a baseline for which the policy names none of the base, as far as there is room.
    fn take_baseline(&mut self, policy: &Policy, baseline: &Baseline, recorded: &mut RecordedGates) {
        for (gate, wanted) in &policy.gates {
            for declared in wanted.reports.iter().filter(|report| report.base.is_none()) {
                let Some(report) = baseline.report(*gate, declared) else { continue };
                let bytes = report.files.iter().map(|file| file.text.len()).sum();
                let Some(room) = self.room.checked_sub(bytes) else { continue };
                self.room = room;
                recorded.baseline = Some(baseline.identity.clone());
                let position =
                    recorded.reports.iter().position(|own| own.gate == *gate && own.path == declared.path);
                recorded.reports.insert(position.map_or(recorded.reports.len(), |head| head + 1), report);
            }
        }
    }

    /// Reads a report of the policy about one side, by its path or glob.
    fn record(
        &mut self,
        gate: GateName,
        declared: &PolicyReport,
        path: &str,
        side: Side,
    ) -> Result<RecordedReport, PortError> {
        let found = read_record(path, side, self.reports, self.head);
        let files = match &found {
            Ok(record) => self.files(path, side, record.as_ref())?,
            Err(error) => Err(error.clone()),
        };
        let mut empty = empty_record(gate, path, side);
        empty.step = found.ok().flatten().map(|found| found.step);
        let mut record = match files {
            Ok(files) => with_files(empty, declared, files, self.head.root),
            Err(error) => with_error(empty, error),
        };
        if side == Side::Head
            && let Ok(judged) = super::judge_report(gate, declared, Some(&record), &[])
        {
            let reports = self.reports;
            // A record shows that its command ran at this commit, so its pictures are not dated.
            let since = if record.step.is_none() { self.head.time } else { i64::MIN };
            record.pictures = self
                .album
                .take(&judged.report, |path| accept_picture(reports.read_report(&path.to_text()), since));
        }
        Ok(record)
    }

    /// Returns the files of a report with their texts, if they can be what its command left.
    fn files(
        &mut self,
        path: &str,
        side: Side,
        record: Option<&FoundRecord>,
    ) -> Result<Result<Vec<(String, String)>, GateError>, PortError> {
        let paths = match report_paths(path, self.reports) {
            Ok(paths) => paths,
            Err(error) => return Ok(Err(error)),
        };
        for path in &paths {
            if (self.head.is_committed)(path)? {
                let problem = format!("{path} is committed, so the change could have written it");
                return Ok(Err(GateError::new(Code::GateReportRefused, problem)));
            }
        }
        Ok(self.read_files(path, paths, side, record))
    }

    fn read_files(
        &mut self,
        report: &str,
        paths: Vec<String>,
        side: Side,
        record: Option<&FoundRecord>,
    ) -> Result<Vec<(String, String)>, GateError> {
        // The base's report may come from a cache, and be as old as the base. A record names its commit, so that no clock
        // decides.
        let is_dated = side == Side::Head && record.is_none();
        let since = if is_dated { self.head.time } else { i64::MIN };
        let mut digests = Vec::new();
        let mut files = Vec::new();
        for path in paths {
            let file = self.reports.read_report(&path);
            let bytes = accept_report(&path, file, since, self.head.now, &mut self.room)?;
            digests.push(ReportDigest { path: path.clone(), sha256: canonical::sha256(&bytes) });
            files.push((path.clone(), report_text(&path, bytes)?));
        }
        match record {
            Some(record) if record.reports != digests => {
                let problem = format!("{report} is not the report that {} is about", record_path(report));
                Err(GateError::new(Code::GateReportStale, problem))
            }
            Some(_) | None => Ok(files),
        }
    }
}

/// Returns the paths of a report's files.
fn report_paths(path: &str, reports: &dyn Reports) -> Result<Vec<String>, GateError> {
    if !is_glob(path) {
        return Ok(vec![path.to_owned()]);
    }
    let listed = reports.list_files(glob_directory(path));
    let files = listed.and_then(|listed| matching_files(path, listed));
    match files {
        Ok(files) if files.is_empty() => {
            Err(GateError::new(Code::GateReportMissing, format!("no file matches {path}")))
        }
        Ok(files) => Ok(files),
        Err(problem) => Err(GateError::new(Code::GateReportRefused, problem)),
    }
}

/// The record of a report's command, with the digests that its files had.
struct FoundRecord {
    step: RecordedStep,
    reports: Vec<ReportDigest>,
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
        FoundFile::Missing => return Ok(None),
        FoundFile::Refused(problem) => return Err(GateError::new(Code::GateReportRefused, problem)),
        FoundFile::Content { bytes, .. } => bytes,
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
    if side == Side::Head && !is_about(&record, head)? {
        let problem = format!("{path} is about {}", describe_checkout(&record));
        return Err(GateError::new(Code::GateReportStale, problem));
    }
    let mut commits = vec![record.head];
    if record.parents.len() > 1 {
        commits.extend(record.parents);
    }
    let step = RecordedStep {
        argv: record.argv.into_iter().map(secrets::masked).collect(),
        exit_code: record.exit_code,
        tool_version: record.tool_version.map(secrets::masked),
        commits,
    };
    Ok(Some(FoundRecord { step, reports: record.reports }))
}

/// Returns whether a command had head checked out, or its merge into the base as a pull request's step has it.
fn is_about(record: &GateRecord, head: &HeadCommit<'_>) -> Result<bool, GateError> {
    if record.head == *head.id {
        return Ok(true);
    }
    if record.parents.iter().ne([&head.change_set.base_sha, head.id]) {
        return Ok(false);
    }
    match (head.merged_tree)() {
        Ok(tree) => Ok(tree.is_some_and(|tree| tree == record.tree)),
        Err(error) => Err(GateError::new(error.code, error.message)),
    }
}

/// Describes the commit that a command had checked out.
fn describe_checkout(record: &GateRecord) -> String {
    let parents: Vec<&str> = record.parents.iter().map(CommitId::short).collect();
    match parents.as_slice() {
        [] | [_] => format!("another commit, {}", record.head.short()),
        _ => format!(
            "another commit, {}, a merge of {} that is not the one of head into the base",
            record.head.short(),
            parents.join(" and ")
        ),
    }
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
    file: FoundFile,
    since: i64,
    now: i64,
    room: &mut usize,
) -> Result<Vec<u8>, GateError> {
    match file {
        FoundFile::Missing => Err(GateError::new(Code::GateReportMissing, format!("{path} is not there"))),
        FoundFile::Refused(problem) => Err(GateError::new(Code::GateReportRefused, problem)),
        FoundFile::Content { modified, .. } if modified < since && now < since => {
            let problem = format!(
                "{path} is older than the date of the commit, which is {} s ahead of this machine's clock; \
                 run its command by `qa-skill record`, whose record names the commit",
                since - now
            );
            Err(GateError::new(Code::GateReportStale, problem))
        }
        FoundFile::Content { modified, .. } if modified < since => {
            let age = since - modified;
            let problem = format!("{path} was written {age} s before the commit that is judged");
            Err(GateError::new(Code::GateReportStale, problem))
        }
        FoundFile::Content { bytes, .. } if bytes.len() > *room => {
            let problem = format!("all reports together have more than {MAX_REPORT_BYTES} bytes");
            Err(GateError::new(Code::GateReportRefused, problem))
        }
        FoundFile::Content { bytes, .. } => {
            *room -= bytes.len();
            Ok(bytes)
        }
    }
}

/// Returns the bytes of a picture that a report names, unless it is older than `since`.
fn accept_picture(file: FoundFile, since: i64) -> Result<Vec<u8>, String> {
    match file {
        FoundFile::Missing => Err("it is not there".to_owned()),
        FoundFile::Refused(problem) => Err(problem),
        FoundFile::Content { modified, .. } if modified < since => {
            Err("it was written before the commit that is judged".to_owned())
        }
        FoundFile::Content { bytes, .. } => Ok(bytes),
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
        files: Vec::new(),
        code: None,
        problem: None,
        step: None,
        pictures: Vec::new(),
    }
}

/// Adds the texts of a report's files to its record. Secrets are masked before anything else uses them, since a test may
/// print its environment. If masking changes the result, the report is refused: otherwise output could be crafted to hide
/// faults.
fn with_files(
    mut record: RecordedReport,
    declared: &PolicyReport,
    files: Vec<(String, String)>,
    root: &str,
) -> RecordedReport {
    let mut unmasked = record.clone();
    for (path, text) in files {
        let text = with_placeholder(text, root);
        let sha256 = canonical::sha256(text.as_bytes());
        unmasked.files.push(RecordedReportFile { path, sha256, text });
    }
    record.files = unmasked.files.clone();
    for file in &mut record.files {
        file.text = secrets::masked(std::mem::take(&mut file.text));
    }
    if record != unmasked && verdict(declared, &record) != verdict(declared, &unmasked) {
        record.files.clear();
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
    match super::judge_report(report.gate, declared, Some(report), &[]) {
        Ok(judged) => Ok((judged.passed, judged.report.totals)),
        Err(error) => Err(error.code),
    }
}

/// Replaces the path of the checkout.
fn with_placeholder(text: String, root: &str) -> String {
    // The root of the file system is in every path.
    if root.len() < 2 { text } else { text.replace(&format!("{root}/"), &format!("{ANY_ROOT}/")) }
}
