//! PASS or FAIL (S003-108…111): every path that is not shown to be complete and clean ends in FAIL.

use std::collections::BTreeSet;

use super::findings::{all_places, sort_findings};
use super::observer::{deferred_plans, is_deferred};
use super::opaque::opaque_files;
use super::policy::reviews::is_review;
use super::usage::{micro_usd, usd};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{
    ChangeSet, Conclusion, Coverage, CrossCheck, FinalVerdict, Finding, Landing, LensPlan, LensResult,
    LensStatus, ObserverMode, OverflowPolicy, PolicyPreview, RunMode, RunStage, UsageMetrics,
    UsageUnavailableReason, VerdictStatus,
};

/// Inputs of a verdict.
pub struct Grounds<'a> {
    pub mode: RunMode,
    /// Lenses that PASS needs, planned or not.
    pub required_lens_ids: &'a BTreeSet<String>,
    pub plans: &'a [LensPlan],
    pub results: &'a [&'a LensResult],
    pub change_set: &'a ChangeSet,
    pub coverage: &'a Coverage,
    /// Null when the check itself could not run.
    pub cross_check: Option<&'a CrossCheck>,
    /// True if an empty change may pass.
    pub empty_may_pass: bool,
    /// Codes of the run as a whole that do not decide anything by themselves.
    pub notices: &'a [Code],
    /// Stage that the run is restricted to; `None` where it judges all of the policy.
    pub stage: Option<RunStage>,
    /// Mode of the observer; `None` where the policy enables none.
    pub observer: Option<ObserverGrounds>,
    pub policy_preview: Option<PolicyPreview>,
}

/// The observer's part in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObserverGrounds {
    pub mode: ObserverMode,
    /// True if the policy lets a run in this mode pass.
    pub may_pass: bool,
    /// True if the policy requires the turns before this one, and they are not known.
    pub lost_ledger: bool,
}

/// Reasons against PASS that are found so far.
#[derive(Default)]
struct Reasons {
    is_incomplete: bool,
    errors: BTreeSet<Code>,
    rationale: Vec<String>,
}

impl Reasons {
    fn add_gap(&mut self, code: Code, reason: String) {
        self.is_incomplete = true;
        self.errors.insert(code);
        self.rationale.push(reason);
    }
}

/// Judges a run: FAIL when something blocks or is incomplete, else PASS.
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
    let degraded = !unread.is_empty() || grounds.results.iter().any(|result| is_incomplete(result));

    let mut reasons = Reasons::default();
    reasons.errors.extend(grounds.results.iter().flat_map(|result| result.error_codes.clone()));
    if !blocking.is_empty() {
        reasons.rationale.push(format!(
            "{} blocking {}",
            all_places(&blocking),
            plural(all_places(&blocking), "finding", "findings")
        ));
    }
    let vacuous = grounds.coverage.full_cells == 0;
    add_gaps(&mut reasons, grounds, &missing, &failed);
    let Reasons { is_incomplete, errors, mut rationale } = reasons;

    let conclusion = match (blocking.is_empty(), is_incomplete) {
        (false, _) => Conclusion::Fail,
        (true, true) => Conclusion::CouldNotComplete,
        (true, false) => Conclusion::Pass,
    };
    if conclusion == Conclusion::Pass {
        rationale.push(pass_reason(grounds, degraded, unread.len()));
    }
    rationale.extend(landing_notes(grounds.change_set));
    rationale.extend(grounds.stage.map(stage_note));
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

/// Adds everything that makes the run incomplete.
fn add_gaps(reasons: &mut Reasons, grounds: &Grounds<'_>, missing: &[String], failed: &[String]) {
    if !missing.is_empty() {
        let reason = format!("required but without a result: {}", missing.join(", "));
        reasons.add_gap(Code::LensRequiredMissing, reason);
    }
    if !failed.is_empty() {
        let reason = format!("required but not completed: {}", failed.join(", "));
        reasons.add_gap(Code::LensRequiredFailed, reason);
    }
    add_stage_gap(reasons, grounds);
    add_optional_gaps(reasons, grounds);
    add_deferral(reasons, grounds);
    add_lost_ledger(reasons, grounds);
    match grounds.cross_check {
        None => {
            reasons.add_gap(Code::CrossCheckUnavailable, "the cross-check could not run".to_owned());
        }
        Some(check) if !check.passed => reasons.add_gap(Code::CrossCheckFailed, failed_items(check)),
        Some(_) => {}
    }
    // Not a failure of one lens: the policy's author believes another command is allowed (C-33).
    if errors_has_violation(grounds.results) {
        let reason = "a command is outside what the policy allows, so none was run".to_owned();
        reasons.add_gap(Code::ExecutionPolicyViolation, reason);
    }
    let is_empty = grounds.change_set.files.is_empty();
    if grounds.coverage.full_cells == 0 && !(is_empty && grounds.empty_may_pass) {
        reasons.add_gap(Code::NothingToJudge, nothing_to_judge(grounds.change_set));
    }
    if grounds.change_set.landing == Landing::Conflict && !grounds.change_set.other_merge_bases.is_empty() {
        let reason = "base and head conflict and have several merge bases, so what lands is unknown";
        reasons.add_gap(Code::LandingUnknown, reason.to_owned());
    }
    // A degradation without a code is a defect, and a defect must not pass (S003-111).
    let is_unnamed =
        grounds.results.iter().any(|result| is_incomplete(result) && result.error_codes.is_empty());
    if is_unnamed {
        reasons.add_gap(Code::InternalError, "a lens is degraded without saying why".to_owned());
    }
}

/// Returns why a change has nothing to judge.
pub fn nothing_to_judge(change_set: &ChangeSet) -> String {
    let ChangeSet { base_sha, merge_base_sha, head_sha, .. } = change_set;
    if !change_set.files.is_empty() {
        return "no lens looked at anything".to_owned();
    }
    if merge_base_sha == base_sha {
        return "nothing changed between base and head".to_owned();
    }
    if merge_base_sha == head_sha {
        let (head, base) = (head_sha.short(), base_sha.short());
        return format!(
            "head {head} is already contained in base {base}, which is ahead of it; swap --base and --head, or fetch \
             the commits that head should have"
        );
    }
    "base has everything that head changes".to_owned()
}

/// Adds that a stage for reviews has none to judge by: its pass would say that a model looked.
fn add_stage_gap(reasons: &mut Reasons, grounds: &Grounds<'_>) {
    let has_reviews = grounds.plans.iter().any(|plan| is_review(&plan.lens_id));
    match grounds.stage {
        Some(RunStage::Reviews) if !has_reviews => {
            let reason = "the stage `reviews` judges by reviews, and the policy of the base enables none";
            reasons.add_gap(Code::LensRequiredMissing, reason.to_owned());
        }
        Some(RunStage::Reviews) | None => {}
    }
}

/// Returns what a reader has to know of a run that judges a part of the policy.
fn stage_note(stage: RunStage) -> String {
    match stage {
        RunStage::Reviews => "stage `reviews`: rules and reviews were judged, and no gate".to_owned(),
    }
}

/// Adds what waits for a later turn. It is required or not, and in every mode: a check run that passes stays on the head,
/// and a draft can be merged as soon as it is ready.
fn add_deferral(reasons: &mut Reasons, grounds: &Grounds<'_>) {
    let deferred = deferred_plans(grounds.plans);
    let mode = match grounds.observer {
        Some(observer) => observer.mode.as_str(),
        None => "unknown",
    };
    if !deferred.is_empty() {
        let names = deferred.into_iter().collect::<Vec<_>>().join(", ");
        let reason = format!(
            "deferred in mode `{mode}`, until the pull request is ready for review or their turn has come: {names}"
        );
        reasons.add_gap(Code::CadenceDeferred, reason);
    } else if matches!(grounds.observer, Some(observer) if !observer.may_pass) {
        let reason =
            format!("no run in mode `{mode}` passes by `observer.pass`; the cross-check gives the verdict");
        reasons.add_gap(Code::CadenceDeferred, reason);
    }
}

/// Adds a ledger that the policy requires and that does not continue.
fn add_lost_ledger(reasons: &mut Reasons, grounds: &Grounds<'_>) {
    if matches!(grounds.observer, Some(observer) if observer.lost_ledger) {
        let reason = "the turns before this one are not known, and `observer.ledger` requires them";
        reasons.add_gap(Code::ObserverLedgerLost, reason.to_owned());
    }
}

/// Adds the optional plans that PASS needs: all in strict mode (S003-109), and in best-effort mode those that had no time
/// left, since a slow change must not pass by it, and those over a budget whose overflow policy is to stop.
fn add_optional_gaps(reasons: &mut Reasons, grounds: &Grounds<'_>) {
    let optional: Vec<&LensResult> = grounds
        .results
        .iter()
        .copied()
        .filter(|result| !grounds.required_lens_ids.contains(&result.lens_id))
        .filter(|result| is_incomplete(result) && !waits(grounds, result))
        .collect();
    match grounds.mode {
        RunMode::Strict if !optional.is_empty() => {
            let ids = lens_ids(&optional).join(", ");
            let reason = format!("not completed, and mode `strict` needs every enabled lens: {ids}");
            reasons.add_gap(Code::LensOptionalFailed, reason);
        }
        RunMode::Strict => {}
        RunMode::BestEffort => {
            let (late, rest): (Vec<&LensResult>, Vec<_>) =
                optional.into_iter().partition(|result| result.error_codes.contains(&Code::RunDeadlineNear));
            let stopped: Vec<&LensResult> =
                rest.into_iter().filter(|result| is_stopped(grounds, result)).collect();
            for (results, reason) in [
                (late, "no time was left in the run"),
                (stopped, "over budget, and its `overflow` is `stop`"),
            ] {
                if !results.is_empty() {
                    let ids = lens_ids(&results).join(", ");
                    reasons.add_gap(Code::LensOptionalFailed, format!("{reason}: {ids}"));
                }
            }
        }
    }
}

/// Returns whether a result is that of a deferred plan, by the plan and not by the result.
fn waits(grounds: &Grounds<'_>, result: &LensResult) -> bool {
    grounds.plans.iter().any(|plan| plan.plan_ordinal == result.plan_ordinal && is_deferred(plan))
}

/// Returns whether a plan is over a budget and stops the run.
fn is_stopped(grounds: &Grounds<'_>, result: &LensResult) -> bool {
    let is_over = result.error_codes.iter().any(|code| {
        matches!(code, Code::BudgetRunExceeded | Code::BudgetLensExceeded | Code::BudgetPullRequestExceeded)
    });
    is_over
        && grounds.plans.iter().any(|plan| {
            plan.plan_ordinal == result.plan_ordinal && plan.overflow_policy == OverflowPolicy::Stop
        })
}

fn is_incomplete(result: &LensResult) -> bool {
    result.status != LensStatus::Completed || result.degraded
}

/// Returns the lenses of results, each once and sorted.
fn lens_ids(results: &[&LensResult]) -> Vec<String> {
    let ids: BTreeSet<&String> = results.iter().map(|result| &result.lens_id).collect();
    ids.into_iter().cloned().collect()
}

/// Returns all merge bases of a run as one text, the newest first.
pub fn merge_bases(newest: &CommitId, others: &[CommitId]) -> String {
    let all: Vec<&str> = std::iter::once(newest).chain(others).map(CommitId::as_str).collect();
    all.join(", ")
}

/// Returns what a reader has to know of merge bases and merge, where the change since one merge base is not all.
fn landing_notes(change_set: &ChangeSet) -> Vec<String> {
    let mut notes = Vec::new();
    if !change_set.other_merge_bases.is_empty() {
        let all = merge_bases(&change_set.merge_base_sha, &change_set.other_merge_bases);
        notes.push(format!("base and head have several merge bases: {all}"));
    }
    match (&change_set.landing, &change_set.landing_tree) {
        (Landing::Merge, Some(tree)) => notes.push(format!(
            "a merge brings more than the change since the merge base shows, so the change from the base to the merged \
             tree {tree} was judged"
        )),
        (Landing::Merge | Landing::Change | Landing::Conflict, _) => {}
    }
    notes
}

fn errors_has_violation(results: &[&LensResult]) -> bool {
    results.iter().any(|result| result.error_codes.contains(&Code::ExecutionPolicyViolation))
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Returns the changed files that plans omit, wholly or in part.
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
    match degraded {
        false => base,
        true => {
            let missing: Vec<&LensResult> =
                grounds.results.iter().copied().filter(|result| is_incomplete(result)).collect();
            let ids = lens_ids(&missing).join(", ");
            format!("{base}; not completed, and optional in mode `best_effort`: {ids}")
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
    grounds.required_lens_ids.iter().filter(|lens_id| !has_result(grounds, lens_id)).cloned().collect()
}

/// Returns whether a lens was planned and each of its plans has a result.
fn has_result(grounds: &Grounds<'_>, lens_id: &str) -> bool {
    let mut plans = grounds.plans.iter().filter(|plan| plan.lens_id == lens_id).peekable();
    plans.peek().is_some()
        && plans.all(|plan| {
            grounds
                .results
                .iter()
                .any(|result| result.plan_ordinal == plan.plan_ordinal && result.lens_id == lens_id)
        })
}

/// Returns the required lenses that are not completed; they must be in either mode.
fn failed_lenses(grounds: &Grounds<'_>) -> Vec<String> {
    let failed: Vec<&LensResult> = grounds
        .results
        .iter()
        .copied()
        .filter(|result| grounds.required_lens_ids.contains(&result.lens_id))
        .filter(|result| is_incomplete(result) && !waits(grounds, result))
        .collect();
    lens_ids(&failed)
}

/// Returns the sum of the known values of each member; null with the most serious reason where none is known (decisions,
/// section 7).
pub(crate) fn aggregate_usage(results: &[&LensResult]) -> UsageMetrics {
    let reasons = results.iter().filter_map(|result| result.usage.unavailable_reason);
    if results.is_empty() {
        return UsageMetrics::NONE;
    }
    UsageMetrics {
        input_tokens: sum(results.iter().filter_map(|result| result.usage.input_tokens)),
        output_tokens: sum(results.iter().filter_map(|result| result.usage.output_tokens)),
        total_tokens: sum(results.iter().filter_map(|result| result.usage.total_tokens)),
        cost_usd: sum(results.iter().filter_map(|result| result.usage.cost_usd).map(micro_usd)).map(usd),
        // Declared most serious first.
        unavailable_reason: reasons.min_by_key(|reason: &UsageUnavailableReason| *reason),
    }
}

fn sum(values: impl Iterator<Item = u64>) -> Option<u64> {
    values.reduce(u64::saturating_add)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
