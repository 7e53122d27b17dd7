//! Quality gates: reports and commands are recorded once, then judged from the record alone.

mod baseline;
mod calls;
mod execute;
mod features;
mod idle_tests;
mod judge_commands;
mod named_features;
mod pictures;
pub mod record;
mod scope;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

pub use baseline::Baseline;
use calls::is_deferred;
pub use calls::{command_specs, deferred_gates, has_commands, manifests, selected_commands};
pub use execute::CommandRunner;
pub use features::current_feature;
pub use idle_tests::record_idle_tests;
pub use named_features::FeatureEvidence;
use pictures::captions;
pub use pictures::{Caption, screenshots};
use scope::{Looks, ReportScope};
use statements::{statements, status_statement};

pub use record::{
    CommittedFile, FoundFile, HeadCommit, Reports, matching_files, record_path, record_reports,
};

use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeSet, ExecutionAudit, GateName, PolicyReport, RecordUse, RecordedExecution, RecordedGates,
    RecordedObserver, RecordedReport, RecordedStep, RunMode, Scope, Side,
};
use qa_core::classify::is_glob;
use qa_core::crosscheck::{GateReports, ReportEntry};
use qa_core::escape::harmless;
use qa_core::findings::{MovedCounts, MovedText, Statement};
use qa_core::gates::{GateRule, rule_id};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_gates::contract::{
    ImportEnd, Output, Places, Report, ReportError, ReportFile, ReportFormat, Source, ToolSpec,
};
use qa_gates::judge::{Judged, judge};

pub const FEATURE_LIST: &str = "feature_list.json";
pub const WORKFLOW_STATE: &str = "workflow-state.json";
/// Directory of the files that bind tests to steps.
pub(crate) const STORIES: &str = "stories";

/// Outcome of a gate: its findings, and the errors that leave it without a result.
#[derive(Debug, Default)]
pub struct GateOutcome {
    /// Findings in reports of head.
    pub(crate) statements: Vec<Statement>,
    /// Findings in reports of the base, which are pre-existing.
    pub(crate) moved: MovedCounts,
    /// Reasons why the gate has no result.
    pub(crate) errors: BTreeSet<Code>,
    pub(crate) warnings: BTreeSet<Code>,
    /// Summaries of the reports, one sentence each.
    pub(crate) summary: Vec<String>,
    /// Digests of the reports of head.
    pub(crate) digests: Vec<Option<Sha256Hex>>,
    /// Pictures that tests left.
    pub(crate) screenshots: BTreeMap<RepoPath, Caption>,
    /// Number of further attempts at tests.
    pub(crate) retries: u64,
    /// True if no report has a failure.
    pub(crate) passed: bool,
    /// Looks at changed files that the gate's tools are for.
    pub(crate) looks: Looks,
    /// Record of the executed commands, if the gate runs tools itself.
    pub(crate) audit: Option<ExecutionAudit>,
    /// Total duration of the commands, in milliseconds.
    pub(crate) duration_ms: Option<u64>,
}

/// Evidence that gates are judged from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub policy: &'a Policy,
    pub change_set: &'a ChangeSet,
    pub reports: &'a RecordedGates,
    pub execution: &'a RecordedExecution,
    /// Decision of the observer, which may defer commands.
    pub observer: Option<&'a RecordedObserver>,
    /// Execution key, which is part of the paths of worktrees.
    pub key: &'a ExecutionKey,
}

impl<'a> Evidence<'a> {
    fn features(&self) -> FeatureEvidence<'a> {
        let Self { policy, change_set, reports, .. } = *self;
        FeatureEvidence { policy, change_set, recorded: reports }
    }

    fn is_deferred(&self, gate: GateName) -> bool {
        let Self { policy, change_set, execution, observer, .. } = *self;
        observer.is_some_and(|observer| is_deferred(gate, observer, policy, change_set, execution))
    }
}

/// Error of a report or command that gives no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateError {
    pub(crate) code: Code,
    pub(crate) problem: String,
}

impl GateError {
    fn new(code: Code, problem: impl Into<String>) -> Self {
        Self { code, problem: problem.into() }
    }
}

/// Tool that reports findings, and the file that they name where the tool names none.
struct Origin {
    /// Name of the tool.
    tool: String,
    spec: &'static ToolSpec,
    /// Path of the report, or directory of the command.
    from: String,
    file: RepoPath,
}

/// A readable report about head, from a file or a command.
pub(crate) struct GateReport {
    pub(crate) scope: ReportScope,
    pub(crate) judged: Judged,
}

/// Judges a gate from its recorded reports and commands.
pub(crate) fn judge_gate(gate: GateName, plan_ordinal: u64, evidence: &Evidence<'_>) -> GateOutcome {
    let mut outcome = GateOutcome { passed: true, ..GateOutcome::default() };
    if evidence.is_deferred(gate) {
        outcome.judge_imports_alone(gate, evidence);
        return outcome;
    }
    let all = outcome.judge_all(gate, plan_ordinal, evidence);
    if !gate.runs_tests() {
        outcome.check_scope(gate, &all, evidence);
    }
    if gate == GateName::StoryValidation && outcome.errors.is_empty() {
        let all_passed = all.iter().all(|report| report.judged.passed);
        let tests = idle_tests::project_tests(all, &evidence.execution.idle_tests);
        // After a failure a test may be missing because its file did not load, so an unbound step fails in every mode.
        let mode = if all_passed { evidence.policy.mode } else { RunMode::Strict };
        outcome.check_features(mode, evidence.features(), &tests);
    }
    outcome
}

/// Returns the findings of all gates, for the cross-check.
pub fn gate_reports(evidence: &Evidence<'_>) -> Vec<GateReports> {
    evidence.policy.gates.keys().map(|gate| gate_report(*gate, evidence)).collect()
}

fn gate_report(gate: GateName, evidence: &Evidence<'_>) -> GateReports {
    let outcome = judge_gate(gate, 0, evidence);
    let entries = outcome.statements.into_iter().map(|statement| ReportEntry {
        rule_id: statement.rule_id,
        file: statement.file,
        line: statement.start_line,
        subject: statement.subject,
    });
    GateReports {
        lens_id: gate.as_str().to_owned(),
        passed: outcome.passed && outcome.errors.is_empty(),
        entries: entries.collect(),
    }
}

/// Returns the scope of a path; files outside the change count as product code.
fn scope_at(change_set: &ChangeSet, path: &RepoPath) -> Scope {
    let files = &change_set.files;
    match files.binary_search_by(|file| file.path.cmp(path)) {
        Ok(index) => files[index].scope,
        Err(_) => Scope::Product,
    }
}

/// Returns the path at head of a file of the base.
fn path_at_head(change_set: &ChangeSet, path: RepoPath) -> RepoPath {
    match change_set.files.iter().find(|file| file.old_path.as_ref() == Some(&path)) {
        Some(renamed) => renamed.path.clone(),
        None => path,
    }
}

/// Parses and judges a recorded report. A report that names a commit must name one of `commits`, unless that list is
/// empty.
fn judge_report(
    gate: GateName,
    declared: &PolicyReport,
    recorded: Option<&RecordedReport>,
    commits: &[&CommitId],
) -> Result<Judged, GateError> {
    let Some(recorded) = recorded else { return Err(not_recorded(declared)) };
    if recorded.files.is_empty() {
        let problem = recorded.problem.clone().unwrap_or_default();
        return Err(GateError::new(recorded.code.unwrap_or(Code::GateReportMissing), problem));
    }
    let Some((tool, format)) = qa_gates::declared_reader(&declared.tool, declared.format.as_deref()) else {
        return Err(not_recorded(declared));
    };
    let directory = declared.directory.as_deref().unwrap_or("");
    let files: Vec<ReportFile<'_>> = recorded
        .files
        .iter()
        .map(|file| ReportFile { path: &file.path, bytes: file.text.as_bytes() })
        .collect();
    let output = Output {
        gate,
        source: Source::Import { format, reports: &files, end: import_end(recorded) },
        places: Places { roots: &[], directory, module: declared.module.as_deref().unwrap_or("") },
    };
    let mut judged = judge(tool, &output).map_err(|error| {
        let problem =
            format!("failed to read the result of {} in {}: {error}", declared.writer(), recorded.path);
        GateError::new(code_of(&error), harmless(&problem))
    })?;
    if recorded.side == Side::Head && is_hidden(declared, tool.spec(), format, recorded) {
        let reason = match is_glob(&declared.path) {
            true => format!("nothing shows that {} wrote all of its files", declared.writer()),
            false => format!("{} does not show every failure of {}", format.as_str(), declared.writer()),
        };
        if judged.passed {
            let problem = format!("{reason}; run it by `qa-skill record`, which keeps its exit status");
            return Err(GateError::new(Code::GateReportIncomplete, problem));
        }
        // The failures that it shows may be those of the base, beside one that it does not show.
        judged.report.partial.get_or_insert(reason);
    }
    match &judged.report.commit {
        Some(named) if !commits.is_empty() && !commits.contains(&named) => {
            let problem = format!("{} is about another commit, {}", recorded.path, named.short());
            Err(GateError::new(Code::GateReportStale, problem))
        }
        _ => Ok(judged),
    }
}

/// Returns the end of the command that wrote a report.
fn import_end(recorded: &RecordedReport) -> ImportEnd {
    match &recorded.step {
        Some(step) => ImportEnd::Recorded(step.exit_code),
        None => ImportEnd::Unknown,
    }
}

/// Returns whether a report without a failure needs the record of its command, and has none.
fn is_hidden(
    declared: &PolicyReport,
    spec: &ToolSpec,
    format: ReportFormat,
    recorded: &RecordedReport,
) -> bool {
    let is_needed = match declared.record {
        Some(RecordUse::Required) => true,
        Some(RecordUse::Optional) => false,
        // Without the end of its command nothing shows that every file was written.
        None => spec.hiding.contains(&format) || is_glob(&declared.path),
    };
    is_needed && recorded.step.is_none()
}

fn not_recorded(declared: &PolicyReport) -> GateError {
    GateError::new(Code::RecordingMissing, format!("{} is not in the recording", declared.path))
}

fn find_report<'r>(
    reports: &'r [RecordedReport],
    gate: GateName,
    path: &str,
    side: Side,
) -> Option<&'r RecordedReport> {
    reports.iter().find(|report| report.gate == gate && report.path == path && report.side == side)
}

/// Returns the code of a command that has no result.
fn command_code(error: &ReportError) -> Code {
    let is_broken = matches!(error, ReportError::Signal | ReportError::Broken { .. });
    if is_broken { Code::ExecutionExitNonzero } else { code_of(error) }
}

fn code_of(error: &ReportError) -> Code {
    match error {
        ReportError::Nothing(_) => Code::GateNothingRan,
        ReportError::TooLarge(_) => Code::GateReportRefused,
        ReportError::Signal
        | ReportError::Broken { .. }
        | ReportError::Missing
        | ReportError::Empty
        | ReportError::Unreadable(_)
        | ReportError::Unfinished(_)
        | ReportError::Inconsistent(_)
        | ReportError::Format(_) => Code::GateReportIncomplete,
    }
}

impl GateOutcome {
    /// Judges the reports of a gate whose commands wait for a later turn: what they find counts now.
    fn judge_imports_alone(&mut self, gate: GateName, evidence: &Evidence<'_>) {
        if let Some(settings) = evidence.policy.gates.get(&gate) {
            let _findings_alone = self.judge_reports(gate, &settings.reports, evidence);
        }
        self.summary.push("its commands wait for a later turn".to_owned());
    }

    /// Judges all reports and commands of a gate, with those of the gates whose tests it reads.
    fn judge_all(&mut self, gate: GateName, plan_ordinal: u64, evidence: &Evidence<'_>) -> Vec<GateReport> {
        let Some(settings) = evidence.policy.gates.get(&gate) else { return Vec::new() };
        let mut all = self.judge_reports(gate, &settings.reports, evidence);
        all.extend(self.judge_gate_commands(gate, plan_ordinal, evidence));
        for other_gate in &settings.tests_of {
            // The other gate reports its findings itself; here only its tests count.
            let mut other = GateOutcome { passed: true, ..GateOutcome::default() };
            let reports = match evidence.policy.gates.get(other_gate) {
                Some(settings) => settings.reports.as_slice(),
                None => &[],
            };
            all.extend(other.judge_reports(*other_gate, reports, evidence));
            all.extend(other.judge_gate_commands(*other_gate, 0, evidence));
            self.digests.extend(other.digests);
            self.errors.extend(other.errors.iter());
            self.warnings.extend(other.warnings);
            self.passed &= other.errors.is_empty();
            self.summary.push(format!("the tests of {other_gate}: {}", other.summary.join("; ")));
        }
        if gate == GateName::StoryValidation && all.is_empty() && self.errors.is_empty() {
            // Without a test no step is verified, but none failed either.
            self.fail(gate.as_str(), Code::GateNothingRan, "the change calls for no test");
        }
        all
    }

    /// Judges the declared reports. Those of `story_validation` are used for their tests alone.
    fn judge_reports(
        &mut self,
        gate: GateName,
        reports: &[PolicyReport],
        evidence: &Evidence<'_>,
    ) -> Vec<GateReport> {
        let change_set = evidence.change_set;
        let recorded = &evidence.reports.reports;
        let mut all = Vec::new();
        for declared in reports {
            let head_report = find_report(recorded, gate, &declared.path, Side::Head);
            let Some(origin) = Origin::from_report(declared, head_report) else {
                self.fail(&declared.tool, Code::InternalError, "there is no such tool");
                continue;
            };
            let files = head_report.map(|report| report.files.as_slice()).unwrap_or_default();
            match files {
                [] => self.digests.push(None),
                files => self.digests.extend(files.iter().map(|file| Some(file.sha256.clone()))),
            }
            let mut head_statuses = BTreeSet::new();
            match judge_report(gate, declared, head_report, &[&change_set.head_sha]) {
                Ok(judged) => {
                    let may_be_excused = self.add_head_report(gate, &origin, &judged);
                    head_statuses.extend(judged.statuses.iter().flatten());
                    if let Some(broken) = &judged.broken {
                        self.fail(&origin.tool, code_of(broken), &harmless(&broken.to_string()));
                    }
                    self.summary.push(describe_end(&declared.path, head_report));
                    let directory = declared.directory.as_deref().unwrap_or_default();
                    let scope = ReportScope::new(origin.spec, directory, &declared.covers);
                    all.push(GateReport { scope, judged });
                    if !may_be_excused {
                        continue;
                    }
                }
                Err(error) => self.fail(&origin.tool, error.code, &error.problem),
            }
            let base = match &declared.base {
                Some(base) => base,
                None if baseline::has_report(evidence.reports, gate, &declared.path, change_set) => {
                    &declared.path
                }
                None => continue,
            };
            let commits = [&change_set.base_sha, change_set.measured_from()];
            match judge_report(gate, declared, find_report(recorded, gate, base, Side::Base), &commits) {
                Ok(base_report) => {
                    if let (None, Some(run)) = (&declared.base, &evidence.reports.baseline) {
                        self.summary.push(baseline::describe_comparison(&declared.path, run));
                    }
                    self.add_base_report(gate, &origin, &head_statuses, &base_report, change_set);
                }
                Err(error) => self.warn_without_base(error),
            }
        }
        all
    }

    /// Adds a report of head. Returns whether findings that the base has too may be excused.
    fn add_head_report(&mut self, gate: GateName, origin: &Origin, judged: &Judged) -> bool {
        self.summary.push(summary(origin, &judged.report));
        self.screenshots.extend(captions(&judged.report));
        self.retries +=
            judged.report.tests.iter().map(|test| u64::from(test.attempts.saturating_sub(1))).sum::<u64>();
        if gate == GateName::StoryValidation {
            return true;
        }
        if let Some(reason) = &judged.report.partial {
            self.summary.push(format!(
                "{}: {}, so nothing of it is excused by the base",
                origin.tool,
                harmless(reason)
            ));
        }
        let statements = statements(gate, origin, &judged.report);
        let failing_rules = [rule_id(gate, GateRule::Error), rule_id(gate, GateRule::Failure)];
        let has_failure = statements.iter().any(|statement| failing_rules.contains(&statement.rule_id));
        self.passed &= judged.passed;
        if !judged.passed && !has_failure {
            self.fail(&origin.tool, Code::GateReportIncomplete, "it fails and lists no failure");
        }
        self.statements.extend(statements);
        judged.report.partial.is_none()
    }

    /// Adds a report of the base, whose findings are pre-existing, and fails for an exit status that head alone has.
    fn add_base_report(
        &mut self,
        gate: GateName,
        origin: &Origin,
        head_statuses: &BTreeSet<i32>,
        base: &Judged,
        change_set: &ChangeSet,
    ) {
        // Without a fault the base excuses nothing. The findings of stories are those of their steps.
        if base.report.totals.has_faults() && gate != GateName::StoryValidation {
            let new =
                head_statuses.difference(&base.explained_statuses(origin.spec)).copied().collect::<Vec<_>>();
            self.statements.extend(new.into_iter().map(|exit| status_statement(gate, origin, exit, base)));
        }
        let here: BTreeSet<String> = self.statements.iter().map(Statement::identity).collect();
        let mut fixed = 0;
        for mut statement in statements(gate, origin, &base.report) {
            statement.file = path_at_head(change_set, statement.file);
            let quote = statement.identity();
            // A count of findings that are not listed is none that could be fixed.
            fixed += u64::from(statement.moves && !here.contains(&quote));
            let scope = scope_at(change_set, &statement.file);
            self.moved.add(MovedText { scope, quote, rule_id: statement.rule_id, secret: None }, None, 1);
        }
        // The findings of stories are those of their steps, and not of tests.
        if fixed > 0 && gate != GateName::StoryValidation {
            self.summary.push(format!("{}: {} of the base fixed", origin.tool, with_noun(fixed, "finding")));
        }
    }

    /// Warns that the base has no usable report. Then no finding is excused, which can only be too strict.
    fn warn_without_base(&mut self, error: GateError) {
        self.warnings.insert(error.code);
        self.summary.push(format!("the report about the base is ignored: {}", error.problem));
    }

    fn fail(&mut self, tool: &str, code: Code, problem: &str) {
        self.passed = false;
        self.errors.insert(code);
        self.summary.push(format!("{tool}: {problem}"));
    }
}

/// Describes the end of the command that wrote a report.
fn describe_end(path: &str, recorded: Option<&RecordedReport>) -> String {
    match recorded.and_then(|recorded| recorded.step.as_ref()) {
        Some(RecordedStep { exit_code: Some(exit), argv, tool_version, .. }) => {
            let version = match tool_version {
                Some(version) => format!(" ({})", headline(version)),
                None => String::new(),
            };
            format!(
                "{path} is recorded: {} ended with status {exit}{version}",
                headline(&harmless(&argv.join(" ")))
            )
        }
        Some(RecordedStep { exit_code: None, .. }) => {
            format!("{path} is recorded: a signal ended its command")
        }
        None => format!("how the command that wrote {path} ended is not recorded"),
    }
}

impl Origin {
    /// Returns the origin of a report's findings. Those that name no file are about the report, or its first file.
    fn from_report(declared: &PolicyReport, recorded: Option<&RecordedReport>) -> Option<Self> {
        let first = recorded.and_then(|recorded| recorded.files.first());
        let file = match first {
            Some(first) => &first.path,
            None => &declared.path,
        };
        Some(Self {
            tool: declared.writer().to_owned(),
            spec: qa_gates::find(&declared.tool)?.spec(),
            from: declared.path.clone(),
            file: RepoPath::from_bytes(file.as_bytes()).ok()?,
        })
    }
}

fn summary(origin: &Origin, report: &Report) -> String {
    let totals = &report.totals;
    let tests = [
        (totals.passed, "passed"),
        (totals.failed, "failed"),
        (totals.errored, "could not be run"),
        (totals.flaky, "flaky"),
        (totals.skipped, "skipped"),
    ];
    let tests: Vec<String> =
        tests.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}")).collect();
    let faults = [with_noun(totals.errors, "error"), with_noun(totals.warnings, "warning")].join(", ");
    let counts = match (tests.is_empty(), totals.errors + totals.warnings) {
        (true, _) => faults,
        (false, 0) => format!("tests: {}", tests.join(", ")),
        (false, _) => format!("tests: {}; {faults}", tests.join(", ")),
    };
    format!("{} in {}: {counts}", origin.tool, origin.from)
}

fn with_noun(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns the first line, cut to the length of an annotation's title.
fn headline(text: &str) -> String {
    sanitize_cut(text.lines().next().unwrap_or(""), 300)
}
