//! Converts the diagnostics and tests of a report to statements.

use std::collections::BTreeMap;

use super::{Origin, headline};
use qa_contracts::v1::{GateName, Side};
use qa_core::escape::harmless;
use qa_core::findings::{PATH_ELSEWHERE, Statement};
use qa_core::gates::{GateRule, rule_id};
use qa_gates::contract::{Diagnostic, DiagnosticSeverity, Outcome, Report, ReportedPath, TestCase};
use qa_gates::judge::Judged;

/// Converts a report to statements. Errors and failures that it counts and does not list become one statement.
pub(super) fn statements(gate: GateName, origin: &Origin, report: &Report) -> Vec<Statement> {
    let mut statements: Vec<Statement> =
        report.diagnostics.iter().map(|diagnostic| diagnostic_statement(gate, origin, diagnostic)).collect();
    statements.extend(report.tests.iter().filter_map(|test| test_statement(gate, origin, test)));
    let faults = statements.iter().filter(|statement| statement.severity <= GateRule::Error.severity());
    let listed = faults.count() as u64;
    let all = report.totals.errors + report.totals.failed + report.totals.errored;
    if all > listed {
        let mut statement = empty_statement(gate, GateRule::Error, origin, None, None);
        statement.subject = format!("{} more errors and failures", all - listed);
        statement.summary =
            format!("{}: {} are in the report and not listed here", origin.tool, statement.subject);
        // The base may have as many others.
        statement.moves = false;
        statements.push(statement);
    }
    statements
}

/// Returns the statement for an exit status that the base does not explain, which faults of the base do not excuse.
pub(super) fn status_statement(gate: GateName, origin: &Origin, exit: i32, base: &Judged) -> Statement {
    let mut statement = empty_statement(gate, GateRule::Error, origin, None, None);
    let at_base = match &base.statuses {
        None => {
            "Write the report about the base by `qa-skill record` too.".clone_into(&mut statement.fix);
            "the exit status at the base is not recorded".to_owned()
        }
        Some(statuses) if statuses.is_empty() => "that of the base with status 0".to_owned(),
        Some(statuses) => {
            let statuses: Vec<String> = statuses.iter().map(ToString::to_string).collect();
            format!("that of the base with status {}", statuses.join(" and "))
        }
    };
    statement.subject = format!("its command ended with status {exit}, and {at_base}");
    statement.summary = headline(&format!("{}: {}", origin.tool, statement.subject));
    statement.moves = false;
    statement
}

fn diagnostic_statement(gate: GateName, origin: &Origin, diagnostic: &Diagnostic) -> Statement {
    let rule = match diagnostic.severity {
        DiagnosticSeverity::Error => GateRule::Error,
        DiagnosticSeverity::Warning => GateRule::Warning,
    };
    let message = match &diagnostic.rule {
        Some(rule) => format!("{rule}: {}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut statement = empty_statement(gate, rule, origin, diagnostic.path.as_ref(), diagnostic.line);
    if let Some(end_line) = diagnostic.end_line {
        statement.end_line = statement.start_line.max(end_line.into());
    }
    statement.start_column = diagnostic.column.unwrap_or(0).into();
    statement.end_column = diagnostic.end_column.unwrap_or(0).into();
    statement.subject = harmless(&message);
    let message = match diagnostic.path.as_ref().and_then(ReportedPath::elsewhere) {
        Some(path) => format!("{path}: {message}"),
        None => message,
    };
    statement.summary = headline(&format!("{}: {message}", origin.tool));
    statement
}

/// Returns the statement for a test that failed or is flaky, or `None`.
fn test_statement(gate: GateName, origin: &Origin, test: &TestCase) -> Option<Statement> {
    let (rule, fault) = match test.outcome {
        Outcome::Failed => (GateRule::Failure, "failed"),
        Outcome::Errored => (GateRule::Failure, "could not be run"),
        Outcome::Flaky => (GateRule::Flaky, "failed in one attempt and passed in another"),
        Outcome::Passed | Outcome::Skipped => return None,
    };
    let mut statement = empty_statement(gate, rule, origin, test.path.as_ref(), test.line);
    statement.subject = harmless(&test.id);
    statement.summary = match &test.message {
        Some(message) => headline(&format!("{} {fault}: {message}", test.id)),
        None => headline(&format!("{} {fault}", test.id)),
    };
    if let Some(message) = &test.message {
        statement.detail.insert("message".to_owned(), harmless(message).into());
    }
    statement.detail.insert("attempts".to_owned(), test.attempts.into());
    Some(statement)
}

/// Returns a statement without text, about a place that a report names, or about the report.
fn empty_statement(
    gate: GateName,
    rule: GateRule,
    origin: &Origin,
    path: Option<&ReportedPath>,
    line: Option<u32>,
) -> Statement {
    let start_line = u64::from(line.unwrap_or(1)).max(1);
    let mut detail = BTreeMap::from([
        ("report".to_owned(), origin.from.clone().into()),
        ("tool".to_owned(), origin.tool.clone().into()),
    ]);
    if let Some(path) = path.and_then(ReportedPath::elsewhere) {
        detail.insert(PATH_ELSEWHERE.to_owned(), harmless(path).into());
    }
    Statement {
        rule_id: rule_id(gate, rule),
        severity: rule.severity(),
        fix: rule.fix().to_owned(),
        edit: None,
        moves: true,
        file: path.and_then(ReportedPath::in_repository).unwrap_or(&origin.file).clone(),
        side: Side::Head,
        start_line,
        end_line: start_line,
        start_column: 0,
        end_column: 0,
        quote: String::new(),
        value: None,
        subject: String::new(),
        operand: None,
        summary: String::new(),
        detail,
        doubt: None,
    }
}
