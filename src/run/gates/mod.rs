//! What the quality gates come to: reports read once and recorded, then judged from the record alone.

mod features;
mod record;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use features::feature;
pub(crate) use record::{Found, Reports, Subject, record};

use crate::contracts::codes::Code;
use crate::contracts::ids::{CommitId, RepoPath, Sha256Hex};
use crate::contracts::v1::{
    ChangeSet, GateName, PolicyReport, RecordedGates, RecordedReport, RunMode, Scope, Side,
};
use crate::core::crosscheck::GateSeen;
use crate::core::escape::{harmless, visible_cut};
use crate::core::findings::{MovedKey, Statement};
use crate::core::gates::{GateRule, rule_id};
use crate::core::policy::Policy;
use crate::gates;
use crate::gates::contract::{
    DiagnosticSeverity, Outcome, Output, Places, Report, ReportError, ReportFormat, Source,
};
use crate::gates::judge::{Judged, judge};

const FEATURE_LIST: &str = "feature_list.json";
const WORKFLOW_STATE: &str = "workflow-state.json";

/// What the reports of a gate come to.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What they say about head.
    pub(crate) statements: Vec<Statement>,
    /// What they say about the base, which is not held against the change.
    pub(crate) moved: BTreeMap<MovedKey, usize>,
    /// Why the gate has no usable result.
    pub(crate) errors: BTreeSet<Code>,
    pub(crate) warnings: BTreeSet<Code>,
    /// One sentence for each report.
    pub(crate) summary: Vec<String>,
    /// The digests of the reports about head.
    pub(crate) digests: Vec<Option<Sha256Hex>>,
    /// Pictures that tests left.
    pub(crate) screenshots: BTreeSet<RepoPath>,
    /// How many tests were tried more than once.
    pub(crate) retried_tests: u64,
    /// Whether every report says that nothing fails.
    pub(crate) passed: bool,
}

/// Reads what is recorded of a gate.
pub(crate) fn hear(
    gate: GateName,
    policy: &Policy,
    recorded: &RecordedGates,
    change_set: &ChangeSet,
) -> Heard {
    let mut heard = Heard { passed: true, ..Heard::default() };
    let scopes = Scopes(change_set);
    let (mut tests, mut all_well) = (Vec::new(), true);
    for wanted in policy.gates.get(&gate).map_or(&[][..], Vec::as_slice) {
        let recorded = |path: &str, side| {
            recorded
                .reports
                .iter()
                .find(|report| (report.gate, report.path.as_str(), report.side) == (gate, path, side))
        };
        let about_head = recorded(&wanted.path, Side::Head);
        heard.digests.push(about_head.and_then(|report| report.sha256.clone()));
        match read(wanted, about_head, &[&change_set.head_sha]) {
            Ok(judged) if gate == GateName::StoryValidation => {
                heard.look_at(wanted, &judged.report);
                all_well &= judged.passed;
                tests.extend(judged.report.tests);
            }
            Ok(judged) => heard.take(gate, wanted, &judged),
            Err((code, problem)) => heard.fail(wanted, code, &problem),
        }
        let Some(base) = &wanted.base else { continue };
        match read(wanted, recorded(base, Side::Base), &[&change_set.base_sha, &change_set.merge_base_sha]) {
            Ok(judged) => {
                for mut statement in statements(gate, wanted, &judged.report) {
                    statement.file = scopes.at_head(statement.file);
                    let (scope, identity) = (scopes.of(&statement.file), statement.identity());
                    let key = (statement.rule_id, scope, identity, None);
                    *heard.moved.entry(key).or_insert(0) += 1;
                }
            }
            // Without it everything is held against the change, which can only be too strict.
            Err((code, problem)) => {
                heard.warnings.insert(code);
                heard.summary.push(format!("the report about the base does not count: {problem}"));
            }
        }
    }
    if gate == GateName::StoryValidation {
        // A test may be missing because its file did not load, which no mode takes lightly.
        heard.hold_against_features(if all_well { policy.mode } else { RunMode::Strict }, recorded, &tests);
    }
    heard
}

/// What all gates' reports say, for whoever looks a second time.
pub(crate) fn seen(policy: &Policy, recorded: &RecordedGates, change_set: &ChangeSet) -> Vec<GateSeen> {
    let of = |gate: &GateName| {
        let heard = hear(*gate, policy, recorded, change_set);
        let said = heard.statements.into_iter();
        GateSeen {
            lens_id: gate.text().to_owned(),
            passed: heard.passed && heard.errors.is_empty(),
            said: said.map(|said| (said.rule_id, said.file, said.start_line, said.subject)).collect(),
        }
    };
    policy.gates.keys().map(of).collect()
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
    let tool = gates::find(&wanted.tool).ok_or_else(missing)?;
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

impl Heard {
    fn take(&mut self, gate: GateName, wanted: &PolicyReport, judged: &Judged) {
        let statements = statements(gate, wanted, &judged.report);
        let fails = |statement: &Statement| {
            [GateRule::Error, GateRule::Failure].iter().any(|rule| statement.rule_id == rule_id(gate, *rule))
        };
        self.passed &= judged.passed;
        if !judged.passed && !statements.iter().any(fails) {
            self.fail(wanted, Code::GateReportIncomplete, "it fails without saying where");
        }
        self.look_at(wanted, &judged.report);
        self.statements.extend(statements);
    }

    fn look_at(&mut self, wanted: &PolicyReport, report: &Report) {
        self.summary.push(summary(wanted, report));
        let pictures = report.screenshots().into_iter();
        self.screenshots.extend(pictures.filter_map(|picture| picture.path.clone()));
        self.retried_tests += report.tests.iter().filter(|test| test.attempts > 1).count() as u64;
    }

    fn fail(&mut self, wanted: &PolicyReport, code: Code, problem: &str) {
        self.passed = false;
        self.errors.insert(code);
        self.summary.push(format!("{}: {problem}", wanted.tool));
    }
}

fn summary(wanted: &PolicyReport, report: &Report) -> String {
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
    format!("{} in {}: {what}", wanted.tool, wanted.path)
}

/// What a report says, in the words of findings.
fn statements(gate: GateName, wanted: &PolicyReport, report: &Report) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for diagnostic in &report.diagnostics {
        let rule = match diagnostic.severity {
            DiagnosticSeverity::Error => GateRule::Error,
            DiagnosticSeverity::Warning => GateRule::Warning,
        };
        let named = diagnostic.rule.as_ref().map_or(String::new(), |rule| format!("{rule}: "));
        let mut statement = said(gate, rule, wanted, diagnostic.path.as_ref(), diagnostic.line);
        statement.end_line =
            diagnostic.end_line.map_or(statement.start_line, u64::from).max(statement.start_line);
        statement.start_column = diagnostic.column.map_or(0, u64::from);
        statement.end_column = diagnostic.end_column.map_or(0, u64::from);
        statement.subject = harmless(&format!("{named}{}", diagnostic.message));
        statement.summary = headline(&format!("{}: {named}{}", wanted.tool, diagnostic.message));
        statements.push(statement);
    }
    for test in &report.tests {
        let (rule, how) = match test.outcome {
            Outcome::Failed => (GateRule::Failure, "failed"),
            Outcome::Errored => (GateRule::Failure, "could not be run"),
            Outcome::Flaky => (GateRule::Flaky, "failed and then passed"),
            Outcome::Passed | Outcome::Skipped => continue,
        };
        let mut statement = said(gate, rule, wanted, test.path.as_ref(), test.line);
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
        let mut statement = said(gate, GateRule::Error, wanted, None, None);
        statement.subject = format!("{} more errors and failures", all - kept);
        statement.summary =
            format!("{}: {} are in the report and not listed here", wanted.tool, statement.subject);
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
    wanted: &PolicyReport,
    path: Option<&RepoPath>,
    line: Option<u32>,
) -> Statement {
    let report = || RepoPath::from_bytes(wanted.path.as_bytes()).expect("paths were checked with the policy");
    let start_line = line.map_or(1, |line| u64::from(line).max(1));
    Statement {
        rule_id: rule_id(gate, rule),
        severity: rule.severity(),
        fix: rule.fix().to_owned(),
        moves: true,
        file: path.cloned().unwrap_or_else(report),
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
            ("report".to_owned(), wanted.path.clone().into()),
            ("tool".to_owned(), wanted.tool.clone().into()),
        ]),
        verified: true,
    }
}

/// The first line, cut to what fits an annotation's title.
fn headline(text: &str) -> String {
    visible_cut(text.lines().next().unwrap_or(""), 300)
}
