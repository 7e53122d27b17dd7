//! Makes `qa-report.json` from the gates' results (S004-29…41).

use std::collections::BTreeMap;

use crate::gates::{self, GateRule, rule_id};
use crate::masking::sanitize_cut;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    Conclusion, Finding, FindingOrigin, GateName, LensPlan, LensResult, LensStatus, QaGate, QaMessage,
    QaReport, QaStatus,
};

/// Maximum number of priority fixes of one gate.
const MOST_FIXES_OF_GATE: usize = 3;
/// Maximum number of priority fixes of all gates.
const MOST_FIXES: usize = 10;

/// Facts about the run that a report has beside the gates' results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunDetails {
    /// Time of writing, in RFC 3339.
    pub timestamp: String,
    pub duration_total_ms: u64,
    /// Sorted.
    pub screenshots: Vec<RepoPath>,
    pub retry_count: u64,
    /// Duration of each gate's commands, in milliseconds.
    pub durations: BTreeMap<GateName, u64>,
    /// Id and description of the current feature.
    pub feature: Option<(u64, String)>,
    /// Verdict of the run; `None` where only the gates are of interest.
    pub conclusion: Option<Conclusion>,
}

/// Returns the report, or `None` when the policy declares no gate.
pub fn qa_report(plans: &[LensPlan], results: &[LensResult], details: RunDetails) -> Option<QaReport> {
    let gates: BTreeMap<GateName, QaGate> = plans
        .iter()
        .zip(results)
        .filter_map(|(plan, result)| Some((gates::find(&plan.lens_id)?, plan, result)))
        .map(|(name, plan, result)| (name, gate(name, plan, result, details.durations.get(&name).copied())))
        .collect();
    if gates.is_empty() {
        return None;
    }
    let fixes: Vec<String> = gates.values().flat_map(|gate| fixes(gate).take(MOST_FIXES_OF_GATE)).collect();
    let errors = gates.values().map(fixes_count).sum::<usize>();
    let priority_fixes: Vec<String> = fixes.into_iter().take(MOST_FIXES).collect();
    let (feature_id, feature_description) = details.feature.unzip();
    let passed = gates.values().filter(|gate| gate.passed).count();
    let has_failed = gates.values().any(|gate| fixes_count(gate) > 0);
    Some(QaReport {
        schema_version: Default::default(),
        feature_id,
        feature_description,
        status: match (details.conclusion, passed == gates.len(), has_failed) {
            (Some(Conclusion::Fail), _, _) | (_, false, true) => QaStatus::Failed,
            (Some(Conclusion::CouldNotComplete), _, _) | (_, false, false) => QaStatus::Error,
            (Some(Conclusion::Pass) | None, true, _) => QaStatus::Passed,
        },
        summary: match details.conclusion.filter(|_| passed == gates.len()) {
            Some(conclusion @ (Conclusion::Fail | Conclusion::CouldNotComplete)) => {
                format!("{passed} of {} gates passed; the verdict is {conclusion}", gates.len())
            }
            Some(Conclusion::Pass) | None => format!("{passed} of {} gates passed", gates.len()),
        },
        priority_fixes_omitted: (errors - priority_fixes.len()) as u64,
        priority_fixes,
        gates,
        screenshots: details.screenshots,
        timestamp: details.timestamp,
        duration_total_ms: details.duration_total_ms,
        retry_count: details.retry_count,
    })
}

fn gate(name: GateName, plan: &LensPlan, result: &LensResult, duration_ms: Option<u64>) -> QaGate {
    let failing = [rule_id(name, GateRule::Error), rule_id(name, GateRule::Failure)];
    let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) =
        result.findings.iter().partition(|finding| failing.contains(&finding.rule_id));
    QaGate {
        gate_name: name,
        passed: result.status == LensStatus::Completed
            && !result.degraded
            && !result.findings.iter().any(|finding| finding.blocking),
        required: plan.required,
        duration_ms,
        errors: errors.into_iter().map(|finding| message(finding, "error")).collect(),
        warnings: warnings.into_iter().map(|finding| message(finding, "warning")).collect(),
        error_codes: result.error_codes.clone(),
        notes: result.evidence_summary.clone(),
    }
}

fn message(finding: &Finding, severity: &str) -> QaMessage {
    let column = finding.evidence.get("startColumn").and_then(serde_json::Value::as_u64);
    QaMessage {
        file: finding.file.clone(),
        line: finding.start_line,
        column: column.filter(|column| *column > 0),
        step: finding.evidence.get("step").and_then(serde_json::Value::as_u64),
        message: finding.summary.clone(),
        severity: severity.to_owned(),
        finding_id: finding.finding_id.as_str().to_owned(),
        pre_existing: finding.origin == FindingOrigin::PreExisting,
    }
}

/// Returns a line for each error that the change introduces, in the gate's order.
fn fixes(gate: &QaGate) -> impl Iterator<Item = String> + '_ {
    gate.errors.iter().filter(|error| !error.pre_existing).map(|error| {
        let message = sanitize_cut(&error.message, 200);
        format!("[{}] {}:{} - {message}", gate.gate_name, error.file, error.line)
    })
}

fn fixes_count(gate: &QaGate) -> usize {
    gate.errors.iter().filter(|error| !error.pre_existing).count()
}
