//! PASS or FAIL (S003-108…111): every path that is not shown to be complete and clean ends in FAIL.

use std::collections::BTreeSet;

use super::findings::{all_places, sort_findings};
use super::opaque::opaque_files;
use super::usage::{micro_usd, usd};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeSet, Conclusion, Coverage, CrossCheck, FinalVerdict, Finding, LensPlan, LensResult, LensStatus,
    PolicyPreview, RunMode, UsageMetrics, UsageUnavailableReason, VerdictStatus,
};

/// Everything a verdict depends on.
pub struct Grounds<'a> {
    pub mode: RunMode,
    /// The lenses PASS needs, whether or not they were planned.
    pub required_lens_ids: &'a BTreeSet<String>,
    pub plans: &'a [LensPlan],
    pub results: &'a [&'a LensResult],
    pub change_set: &'a ChangeSet,
    pub coverage: &'a Coverage,
    /// Null when the check itself could not run.
    pub cross_check: Option<&'a CrossCheck>,
    /// Whether an empty change may pass.
    pub empty_may_pass: bool,
    /// Codes of the run as a whole that do not decide anything by themselves.
    pub notices: &'a [Code],
    pub policy_preview: Option<PolicyPreview>,
}

/// The verdict.
pub fn verdict(grounds: &Grounds<'_>) -> FinalVerdict {
    let missing = missing_lenses(grounds);
    let failed = failed_lenses(grounds);
    let mut blocking: Vec<Finding> = grounds
        .results
        .iter()
        .flat_map(|result| &result.findings)
        .filter(|finding| finding.blocking)
        .cloned()
        .collect();
    sort_findings(&mut blocking);
    let unread = unread_files(grounds.plans);
    let degraded = !unread.is_empty()
        || grounds.results.iter().any(|result| result.degraded || result.status != LensStatus::Completed);

    let mut errors: BTreeSet<Code> =
        grounds.results.iter().flat_map(|result| result.error_codes.clone()).collect();
    let mut rationale = Vec::new();
    if !blocking.is_empty() {
        rationale.push(format!(
            "{} blocking {}",
            all_places(&blocking),
            plural(all_places(&blocking), "finding", "findings")
        ));
    }
    let mut complete = true;
    let mut incomplete = |code: Code, reason: String| {
        complete = false;
        errors.insert(code);
        rationale.push(reason);
    };
    if !missing.is_empty() {
        incomplete(
            Code::LensRequiredMissing,
            format!("required but without a result: {}", missing.join(", ")),
        );
    }
    if !failed.is_empty() {
        incomplete(Code::LensRequiredFailed, format!("required but not completed: {}", failed.join(", ")));
    }
    match grounds.cross_check {
        None => incomplete(Code::CrossCheckUnavailable, "the cross-check could not run".to_owned()),
        Some(check) if !check.passed => incomplete(Code::CrossCheckFailed, failed_items(check)),
        Some(_) => {}
    }
    // Not a failure of one lens: somebody believes to have allowed something else (C-33).
    if errors_has_violation(grounds.results) {
        incomplete(
            Code::ExecutionPolicyViolation,
            "a command is outside what the policy allows, so none was run".to_owned(),
        );
    }
    let vacuous = grounds.coverage.full_cells == 0;
    let empty = grounds.change_set.files.is_empty();
    if vacuous && !(empty && grounds.empty_may_pass) {
        let reason =
            if empty { "nothing changed between base and head" } else { "no lens looked at anything" };
        incomplete(Code::NothingToJudge, reason.to_owned());
    }
    // A degradation nobody can name is a defect, and a defect must not pass (S003-111).
    let unnamed = grounds.results.iter().any(|result| {
        (result.degraded || result.status != LensStatus::Completed) && result.error_codes.is_empty()
    });
    if unnamed {
        incomplete(Code::InternalError, "a lens is degraded without saying why".to_owned());
    }

    let conclusion = match (blocking.is_empty(), complete) {
        (false, _) => Conclusion::Fail,
        (true, false) => Conclusion::CouldNotComplete,
        (true, true) => Conclusion::Pass,
    };
    if conclusion == Conclusion::Pass {
        rationale.push(pass_reason(grounds, degraded, unread.len()));
    }
    let warnings: BTreeSet<Code> = grounds
        .results
        .iter()
        .flat_map(|result| &result.warning_codes)
        .chain(grounds.notices)
        .chain(grounds.results.iter().flat_map(|result| &result.findings).flat_map(|finding| &finding.codes))
        .copied()
        .collect();
    FinalVerdict {
        schema_version: Default::default(),
        status: if conclusion == Conclusion::Pass { VerdictStatus::Pass } else { VerdictStatus::Fail },
        degraded,
        rationale,
        required_lens_ids: grounds.required_lens_ids.iter().cloned().collect(),
        missing_required_lens_ids: missing,
        failed_required_lens_ids: failed,
        blocking_findings: blocking,
        error_codes: errors.into_iter().collect(),
        aggregate_usage: aggregate_usage(grounds.results),
        conclusion,
        warning_codes: warnings.into_iter().collect(),
        vacuous,
        policy_preview: grounds.policy_preview.clone(),
    }
}

fn errors_has_violation(results: &[&LensResult]) -> bool {
    results.iter().any(|result| result.error_codes.contains(&Code::ExecutionPolicyViolation))
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Changed files that plans leave out, wholly or in part.
pub fn unread_files(plans: &[LensPlan]) -> BTreeSet<&RepoPath> {
    plans.iter().flat_map(|plan| &plan.omitted_files).collect()
}

fn pass_reason(grounds: &Grounds<'_>, degraded: bool, unread: usize) -> String {
    let checks = grounds.coverage.full_cells;
    let files = grounds.change_set.files.len();
    let base = format!(
        "{checks} {} over {files} changed {}, nothing blocks",
        plural(usize::try_from(checks).unwrap_or(usize::MAX), "check", "checks"),
        plural(files, "file", "files")
    );
    let base = match opaque_files(grounds.change_set) {
        Some(opaque) => format!("{base}; {opaque}"),
        None => base,
    };
    if unread > 0 {
        let files = plural(unread, "file", "files");
        return format!("{base}; {unread} {files} not read in full, which limits.allow-omitted permits");
    }
    match (grounds.mode, degraded) {
        (_, false) => base,
        (RunMode::Strict | RunMode::BestEffort, true) => {
            format!("{base}; something that is not required is missing")
        }
    }
}

fn failed_items(check: &CrossCheck) -> String {
    use qa_contracts::v1::ItemOutcome;
    let failed: Vec<&str> = check
        .items
        .iter()
        .filter(|item| item.outcome == ItemOutcome::Failed)
        .map(|item| item.item.as_str())
        .collect();
    format!("the cross-check failed: {}", failed.join(", "))
}

fn missing_lenses(grounds: &Grounds<'_>) -> Vec<String> {
    let has_result = |lens_id: &String| {
        let planned: Vec<u64> = grounds
            .plans
            .iter()
            .filter(|plan| plan.lens_id == *lens_id)
            .map(|plan| plan.plan_ordinal)
            .collect();
        !planned.is_empty()
            && planned.iter().all(|ordinal| {
                grounds
                    .results
                    .iter()
                    .any(|result| result.plan_ordinal == *ordinal && result.lens_id == *lens_id)
            })
    };
    grounds.required_lens_ids.iter().filter(|lens_id| !has_result(lens_id)).cloned().collect()
}

/// A required lens must be completed in either mode; only what is not required may be degraded.
fn failed_lenses(grounds: &Grounds<'_>) -> Vec<String> {
    let failed: BTreeSet<String> = grounds
        .results
        .iter()
        .filter(|result| {
            grounds.required_lens_ids.contains(&result.lens_id)
                && (result.status != LensStatus::Completed || result.degraded)
        })
        .map(|result| result.lens_id.clone())
        .collect();
    failed.into_iter().collect()
}

/// The sum of what is known per member; null with the most serious reason where nothing is (decisions, section 7).
pub(crate) fn aggregate_usage(results: &[&LensResult]) -> UsageMetrics {
    let sum = |member: fn(&UsageMetrics) -> Option<u64>| {
        results
            .iter()
            .filter_map(|result| member(&result.usage))
            .reduce(|left, right| left.saturating_add(right))
    };
    let micro: Option<u64> = results
        .iter()
        .filter_map(|result| result.usage.cost_usd)
        .map(micro_usd)
        .reduce(|left, right| left.saturating_add(right));
    let reasons = results.iter().filter_map(|result| result.usage.unavailable_reason);
    if results.is_empty() {
        return UsageMetrics::NONE;
    }
    UsageMetrics {
        input_tokens: sum(|usage| usage.input_tokens),
        output_tokens: sum(|usage| usage.output_tokens),
        total_tokens: sum(|usage| usage.total_tokens),
        cost_usd: micro.map(usd),
        // Declared most serious first.
        unavailable_reason: reasons.min_by_key(|reason: &UsageUnavailableReason| *reason),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
