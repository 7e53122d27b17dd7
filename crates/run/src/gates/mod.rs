//! What the quality gates come to: reports read once and recorded, then judged from the record alone.

mod calls;
mod execute;
mod features;
mod judge_commands;
mod pictures;
pub mod record;

use std::collections::{BTreeMap, BTreeSet};

pub use calls::{command_specs, has_commands, manifests, selected_commands};
pub use execute::CommandRunner;
pub use features::current_feature;
use pictures::captions;
pub use pictures::{Caption, screenshots};
pub use record::{HeadCommit, HeadFile, ReportFile, Reports, record_reports};

use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeSet, ExecutionAudit, GateName, PolicyReport, RecordedExecution, RecordedGates, RecordedReport,
    RunMode, Scope, Side,
};
use qa_core::crosscheck::{GateReports, ReportEntry};
use qa_core::escape::harmless;
use qa_core::findings::{MovedCounts, MovedText, Statement};
use qa_core::gates::{GateRule, rule_id};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_gates::contract::{
    DiagnosticSeverity, Outcome, Output, Places, Report, ReportError, ReportFormat, Source,
};
use qa_gates::judge::{Judged, judge};

pub const FEATURE_LIST: &str = "feature_list.json";
pub const WORKFLOW_STATE: &str = "workflow-state.json";
/// The directory of the files that bind tests to steps.
pub(crate) const STORIES: &str = "stories";

/// What the reports of a gate come to.
#[derive(Debug, Default)]
pub struct GateOutcome {
    /// What they say about head.
    pub(crate) statements: Vec<Statement>,
    /// What they say about the base, which is not held against the change.
    pub(crate) moved: MovedCounts,
    /// Why the gate has no usable result.
    pub(crate) errors: BTreeSet<Code>,
    pub(crate) warnings: BTreeSet<Code>,
    /// One sentence for each report.
    pub(crate) summary: Vec<String>,
    /// The digests of the reports about head.
    pub(crate) digests: Vec<Option<Sha256Hex>>,
    /// Pictures that tests left.
    pub(crate) screenshots: BTreeMap<RepoPath, Caption>,
    /// How many tests were tried more than once.
    pub(crate) retried_tests: u64,
    /// Whether every report says that nothing fails.
    pub(crate) passed: bool,
    /// What was executed, where the gate runs tools itself.
    pub(crate) audit: Option<ExecutionAudit>,
    /// How long that took, in milliseconds.
    pub(crate) duration_ms: Option<u64>,
}

/// Everything gates are judged from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub policy: &'a Policy,
    pub change_set: &'a ChangeSet,
    pub reports: &'a RecordedGates,
    pub execution: &'a RecordedExecution,
    /// The key, which is part of the places where commands ran.
    pub key: &'a ExecutionKey,
}

/// Who says something about the code, and what to point at where nothing else is named.
struct Origin {
    tool: &'static str,
    /// The report's path or the command.
    from: String,
    file: RepoPath,
}

/// Reads what is recorded of a gate.
pub(crate) fn judge_gate(gate: GateName, plan_ordinal: u64, evidence: &Evidence<'_>) -> GateOutcome {
    let mut heard = GateOutcome { passed: true, ..GateOutcome::default() };
    let Some(settings) = evidence.policy.gates.get(&gate) else { return heard };
    let mut all = heard.judge_reports(gate, &settings.reports, evidence);
    all.extend(heard.judge_gate_commands(gate, plan_ordinal, evidence));
    for of in &settings.tests_of {
        // What they say for themselves is said by their own gate; here only their tests count.
        let mut other = GateOutcome { passed: true, ..GateOutcome::default() };
        let settings = &evidence.policy.gates.get(of).map_or(&[][..], |gate| gate.reports.as_slice());
        let mut theirs = other.judge_reports(*of, settings, evidence);
        theirs.extend(other.judge_gate_commands(*of, 0, evidence));
        heard.digests.extend(other.digests);
        heard.errors.extend(other.errors.iter());
        heard.warnings.extend(other.warnings);
        heard.passed &= other.errors.is_empty();
        heard.summary.push(format!("the tests of {of}: {}", other.summary.join("; ")));
        all.extend(theirs);
    }
    if gate == GateName::StoryValidation && all.is_empty() && heard.errors.is_empty() {
        // That no test was called for shows no step, and is no reason to say that one failed.
        heard.fail(gate.as_str(), Code::GateNothingRan, "the change calls for no test");
    }
    if gate == GateName::StoryValidation && heard.errors.is_empty() {
        let all_well = all.iter().all(|judged| judged.passed);
        let tests: Vec<_> = all.into_iter().flat_map(|judged| judged.report.tests).collect();
        // A test may be missing because its file did not load, which no mode takes lightly.
        let mode = if all_well { evidence.policy.mode } else { RunMode::Strict };
        heard.hold_against_features(mode, evidence.reports, &tests);
    }
    heard
}

/// What all gates' reports say, for whoever looks a second time.
pub fn gate_reports(evidence: &Evidence<'_>) -> Vec<GateReports> {
    let of = |gate: &GateName| {
        let heard = judge_gate(*gate, 0, evidence);
        let entries = heard.statements.into_iter().map(|statement| ReportEntry {
            rule_id: statement.rule_id,
            file: statement.file,
            line: statement.start_line,
            subject: statement.subject,
        });
        GateReports {
            lens_id: gate.as_str().to_owned(),
            passed: heard.passed && heard.errors.is_empty(),
            entries: entries.collect(),
        }
    };
    evidence.policy.gates.keys().map(of).collect()
}

/// Whose code a path is, as findings have it.
struct Scopes<'a>(&'a ChangeSet);

impl Scopes<'_> {
    fn of(&self, path: &RepoPath) -> Scope {
        let files = &self.0.files;
        files.binary_search_by(|file| file.path.cmp(path)).map_or(Scope::Product, |index| files[index].scope)
    }
}

impl Scopes<'_> {
    /// Where head has a file of the base.
    fn at_head(&self, path: RepoPath) -> RepoPath {
        let renamed = self.0.files.iter().find(|file| file.old_path.as_ref() == Some(&path));
        renamed.map_or(path, |file| file.path.clone())
    }
}

/// Reads one recorded report as what the policy says it is. One that names a commit has to name one of `commits`; with
/// none of them any will do.
fn read(
    wanted: &PolicyReport,
    recorded: Option<&RecordedReport>,
    commits: &[&CommitId],
) -> Result<Judged, (Code, String)> {
    let missing = || (Code::RecordingMissing, format!("{} is not in the recording", wanted.path));
    let recorded = recorded.ok_or_else(missing)?;
    let Some(text) = &recorded.text else {
        let problem = recorded.problem.clone().unwrap_or_default();
        return Err((recorded.code.unwrap_or(Code::GateReportMissing), problem));
    };
    let tool = qa_gates::find(&wanted.tool).ok_or_else(missing)?;
    let format = match &wanted.format {
        Some(name) => ReportFormat::parse(name).ok_or_else(missing)?,
        None => tool.spec().formats[0],
    };
    let directory = wanted.directory.as_deref().unwrap_or("");
    let output = Output {
        source: Source::Import { format, report: text.as_bytes() },
        places: Places { roots: &[], directory, module: wanted.module.as_deref().unwrap_or("") },
    };
    let judged = judge(tool, &output).map_err(|error| {
        (
            code_of(&error),
            harmless(&format!("failed to read the result of {} in {}: {error}", wanted.tool, recorded.path)),
        )
    })?;
    match &judged.report.commit {
        Some(named) if !commits.is_empty() && !commits.contains(&named) => {
            let problem = format!("{} says that it is of commit {}", recorded.path, named.short());
            Err((Code::GateReportStale, problem))
        }
        _ => Ok(judged),
    }
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
    /// What the declared reports say. Those of `story_validation` are only looked at for their tests.
    fn judge_reports(
        &mut self,
        gate: GateName,
        reports: &[PolicyReport],
        evidence: &Evidence<'_>,
    ) -> Vec<Judged> {
        let change_set = evidence.change_set;
        let mut all = Vec::new();
        for wanted in reports {
            let recorded = |path: &str, side| {
                let all = &evidence.reports.reports;
                all.iter().find(|it| (it.gate, it.path.as_str(), it.side) == (gate, path, side))
            };
            let Some(origin) = Origin::of_report(wanted) else {
                self.fail(&wanted.tool, Code::InternalError, "there is no such tool");
                continue;
            };
            let about_head = recorded(&wanted.path, Side::Head);
            self.digests.push(about_head.and_then(|report| report.sha256.clone()));
            match read(wanted, about_head, &[&change_set.head_sha]) {
                Ok(judged) => {
                    let may_be_excused = self.take(gate, &origin, &judged);
                    all.push(judged);
                    if !may_be_excused {
                        continue;
                    }
                }
                Err((code, problem)) => self.fail(origin.tool, code, &problem),
            }
            let Some(base) = &wanted.base else { continue };
            let commits = [&change_set.base_sha, &change_set.merge_base_sha];
            match read(wanted, recorded(base, Side::Base), &commits) {
                Ok(judged) => self.excuse(gate, &origin, &judged.report, change_set),
                Err((code, problem)) => self.without_base(code, &problem),
            }
        }
        all
    }

    /// Takes what is said of head, and says whether what the base says too may excuse it.
    fn take(&mut self, gate: GateName, origin: &Origin, judged: &Judged) -> bool {
        self.summary.push(summary(origin, &judged.report));
        self.screenshots.extend(captions(&judged.report));
        self.retried_tests += judged.report.tests.iter().filter(|test| test.attempts > 1).count() as u64;
        if gate == GateName::StoryValidation {
            return true;
        }
        if let Some(why) = &judged.report.partial {
            self.summary.push(format!(
                "{}: {}, so nothing of it is excused by the base",
                origin.tool,
                harmless(why)
            ));
        }
        let statements = statements(gate, origin, &judged.report);
        let fails = |statement: &Statement| {
            [GateRule::Error, GateRule::Failure].iter().any(|rule| statement.rule_id == rule_id(gate, *rule))
        };
        self.passed &= judged.passed;
        if !judged.passed && !statements.iter().any(fails) {
            self.fail(origin.tool, Code::GateReportIncomplete, "it fails without saying where");
        }
        self.statements.extend(statements);
        judged.report.partial.is_none()
    }

    /// What is said of the base as well is not held against the change.
    fn excuse(&mut self, gate: GateName, origin: &Origin, report: &Report, change_set: &ChangeSet) {
        let scopes = Scopes(change_set);
        for mut statement in statements(gate, origin, report) {
            statement.file = scopes.at_head(statement.file);
            let text = MovedText {
                scope: scopes.of(&statement.file),
                quote: statement.identity(),
                rule_id: statement.rule_id,
                secret: None,
            };
            *self.moved.entry(text).or_insert(0) += 1;
        }
    }

    /// Without it everything is held against the change, which can only be too strict.
    fn without_base(&mut self, code: Code, problem: &str) {
        self.warnings.insert(code);
        self.summary.push(format!("the report about the base does not count: {problem}"));
    }

    fn fail(&mut self, tool: &str, code: Code, problem: &str) {
        self.passed = false;
        self.errors.insert(code);
        self.summary.push(format!("{tool}: {problem}"));
    }
}

impl Origin {
    fn of_report(wanted: &PolicyReport) -> Option<Self> {
        Some(Self {
            tool: qa_gates::find(&wanted.tool)?.spec().id,
            from: wanted.path.clone(),
            file: RepoPath::from_bytes(wanted.path.as_bytes()).ok()?,
        })
    }
}

fn summary(origin: &Origin, report: &Report) -> String {
    let totals = &report.totals;
    let tests = [
        (totals.passed, "passed"),
        (totals.failed, "failed"),
        (totals.errored, "could not be run"),
        (totals.flaky, "passed when tried again"),
        (totals.skipped, "skipped"),
    ];
    let tests: Vec<String> =
        tests.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}")).collect();
    let counted = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let faults = [counted(totals.errors, "error"), counted(totals.warnings, "warning")].join(", ");
    let what = match (tests.is_empty(), totals.errors + totals.warnings) {
        (true, _) => faults,
        (false, 0) => format!("tests: {}", tests.join(", ")),
        (false, _) => format!("tests: {}; {faults}", tests.join(", ")),
    };
    format!("{} in {}: {what}", origin.tool, origin.from)
}

/// What a report says, in the words of findings.
fn statements(gate: GateName, origin: &Origin, report: &Report) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for diagnostic in &report.diagnostics {
        let rule = match diagnostic.severity {
            DiagnosticSeverity::Error => GateRule::Error,
            DiagnosticSeverity::Warning => GateRule::Warning,
        };
        let named = diagnostic.rule.as_ref().map_or(String::new(), |rule| format!("{rule}: "));
        let mut statement = said(gate, rule, origin, diagnostic.path.as_ref(), diagnostic.line);
        statement.end_line =
            diagnostic.end_line.map_or(statement.start_line, u64::from).max(statement.start_line);
        statement.start_column = diagnostic.column.map_or(0, u64::from);
        statement.end_column = diagnostic.end_column.map_or(0, u64::from);
        statement.subject = harmless(&format!("{named}{}", diagnostic.message));
        statement.summary = headline(&format!("{}: {named}{}", origin.tool, diagnostic.message));
        statements.push(statement);
    }
    for test in &report.tests {
        let (rule, how) = match test.outcome {
            Outcome::Failed => (GateRule::Failure, "failed"),
            Outcome::Errored => (GateRule::Failure, "could not be run"),
            Outcome::Flaky => (GateRule::Flaky, "failed and then passed"),
            Outcome::Passed | Outcome::Skipped => continue,
        };
        let mut statement = said(gate, rule, origin, test.path.as_ref(), test.line);
        statement.subject = harmless(&test.id);
        let because = test.message.as_ref().map_or(String::new(), |message| format!(": {message}"));
        statement.summary = headline(&format!("{} {how}{because}", test.id));
        if let Some(message) = &test.message {
            statement.detail.insert("message".to_owned(), harmless(message).into());
        }
        statement.detail.insert("attempts".to_owned(), test.attempts.into());
        statements.push(statement);
    }
    let faults = |statement: &&Statement| statement.severity <= GateRule::Error.severity();
    let kept = statements.iter().filter(faults).count() as u64;
    let all = report.totals.errors + report.totals.failed + report.totals.errored;
    if all > kept {
        let mut statement = said(gate, GateRule::Error, origin, None, None);
        statement.subject = format!("{} more errors and failures", all - kept);
        statement.summary =
            format!("{}: {} are in the report and not listed here", origin.tool, statement.subject);
        // The base may have as many others.
        statement.moves = false;
        statements.push(statement);
    }
    statements
}

/// A finding about a place that a report names, or about the report where it names none.
fn said(
    gate: GateName,
    rule: GateRule,
    origin: &Origin,
    path: Option<&RepoPath>,
    line: Option<u32>,
) -> Statement {
    let start_line = line.map_or(1, |line| u64::from(line).max(1));
    Statement {
        rule_id: rule_id(gate, rule),
        severity: rule.severity(),
        fix: rule.fix().to_owned(),
        moves: true,
        file: path.unwrap_or(&origin.file).clone(),
        side: Side::Head,
        start_line,
        end_line: start_line,
        start_column: 0,
        end_column: 0,
        quote: String::new(),
        value: None,
        subject: String::new(),
        summary: String::new(),
        detail: BTreeMap::from([
            ("report".to_owned(), origin.from.clone().into()),
            ("tool".to_owned(), origin.tool.into()),
        ]),
        doubt: None,
    }
}

/// The first line, cut to what fits an annotation's title.
fn headline(text: &str) -> String {
    sanitize_cut(text.lines().next().unwrap_or(""), 300)
}
