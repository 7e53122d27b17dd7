//! The verdict on plain values: what keeps it from PASS, and that nothing added ever brings it there.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::plan::Refusal;
use qa_contracts::v1::RenameSummary;

/// Everything a verdict depends on, owned; contract values are made from JSON, as a stored run would bring them.
#[derive(Debug, Clone)]
struct Case {
    mode: RunMode,
    required: BTreeSet<String>,
    plans: Vec<LensPlan>,
    results: Vec<LensResult>,
    full_cells: u64,
    files: usize,
    cross_check: Option<bool>,
    empty_may_pass: bool,
    stage: Option<RunStage>,
    observer: Option<ObserverGrounds>,
}

const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn plan(ordinal: u64, lens: &str) -> LensPlan {
    serde_json::from_value(json!({
        "schemaVersion": "lens-plan.v1", "planOrdinal": ordinal, "lensId": lens, "subLensId": null,
        "lensVersion": "1", "lensClass": "security", "required": true, "blockingPolicy": "rule_defined",
        "providerBindingId": "builtin", "permissionProfileId": "read_only", "scopeDigest": ZEROS,
        "changedFiles": [], "fullContextFiles": [], "omittedFiles": [], "executionCommands": [],
        "maxInputTokens": 0, "maxOutputTokens": 0, "maxCostUsd": null, "overflowPolicy": "stop",
        "omittedHunks": [], "planningCodes": []
    }))
    .unwrap()
}

fn result(ordinal: u64, lens: &str) -> LensResult {
    serde_json::from_value(json!({
        "schemaVersion": "lens-result.v1", "planOrdinal": ordinal, "lensId": lens, "subLensId": null,
        "lensVersion": "1", "status": "completed", "degraded": false, "findings": [], "evidenceSummary": [],
        "usage": UsageMetrics::NONE, "errorCodes": [], "warningCodes": [], "executionAudit": null,
        "adapterResponseHash": ZEROS
    }))
    .unwrap()
}

fn finding(rule: &str, line: u64, blocking: bool) -> Finding {
    serde_json::from_value(json!({
        "findingId": ZEROS, "lensId": "a", "subLensId": null, "ruleId": rule, "severity": "high",
        "blocking": blocking, "file": "a.py", "startLine": line, "endLine": line, "summary": "s",
        "evidence": {}, "evidenceHash": ZEROS, "origin": "introduced", "scope": "product",
        "strength": "block", "ratchet": null, "waiver": null, "fix": "", "codes": []
    }))
    .unwrap()
}

impl Case {
    /// Two lenses, `a` required and `b` not, both complete: PASS.
    fn clean() -> Self {
        Self {
            mode: RunMode::Strict,
            required: BTreeSet::from(["a".to_owned()]),
            plans: vec![plan(0, "a"), plan(1, "b")],
            results: vec![result(0, "a"), result(1, "b")],
            full_cells: 2,
            files: 1,
            cross_check: Some(true),
            empty_may_pass: false,
            stage: None,
            observer: None,
        }
    }

    fn judge(&self) -> FinalVerdict {
        let id = json!("a".repeat(40));
        let file = json!({
            "path": "a.py", "oldPath": null, "kind": "modified", "oldMode": "100644", "newMode": "100644",
            "oldBlob": id, "newBlob": id, "class": "source", "scope": "product", "scopeReason": "name", "language": "python",
            "text": true, "hunks": [], "codes": []
        });
        let change_set = ChangeSet {
            schema_version: Default::default(),
            base_sha: serde_json::from_value(id.clone()).unwrap(),
            merge_base_sha: serde_json::from_value(id.clone()).unwrap(),
            other_merge_bases: Vec::new(),
            landing: Landing::Change,
            landing_tree: None,
            head_sha: serde_json::from_value(id).unwrap(),
            head_tree: None,
            base_time: 0,
            renames: RenameSummary { exact: 0, inexact: 0, not_compared: 0 },
            files: (0..self.files).map(|_| serde_json::from_value(file.clone()).unwrap()).collect(),
        };
        let coverage = Coverage {
            schema_version: Default::default(),
            full_cells: self.full_cells,
            incomplete_cells: 0,
            rows: vec![],
        };
        let check = self.cross_check.map(|passed| CrossCheck {
            schema_version: Default::default(),
            passed,
            items: vec![],
        });
        verdict(&Grounds {
            mode: self.mode,
            required_lens_ids: &self.required,
            plans: &self.plans,
            results: &self.results.iter().collect::<Vec<_>>(),
            change_set: &change_set,
            coverage: &coverage,
            cross_check: check.as_ref(),
            empty_may_pass: self.empty_may_pass,
            notices: &[],
            stage: self.stage,
            observer: self.observer,
            policy_preview: None,
        })
    }
}

/// Additional defect of a run.
#[derive(Debug, Clone)]
enum Trouble {
    Blocking(usize),
    Advice(usize),
    Error(usize, Code),
    /// An outcome less than complete, with its reason.
    Status(usize, LensStatus),
    Degraded(usize),
    /// The same without a reason, which only a defect brings about: giving one later takes the defect away again, so this
    /// is no part of the order that verdicts keep.
    Unnamed(usize),
    NoResult(usize),
    Required(&'static str),
    CrossCheck(Option<bool>),
    NothingLookedAt,
    NothingChanged,
}

fn make_worse(case: &mut Case, trouble: &Trouble) {
    let at = |case: &Case, index: usize| (!case.results.is_empty()).then(|| index % case.results.len());
    match trouble {
        Trouble::Blocking(index) | Trouble::Advice(index) => {
            let blocking = matches!(trouble, Trouble::Blocking(_));
            if let Some(at) = at(case, *index) {
                case.results[at].findings.push(finding("a/r", *index as u64 + 1, blocking));
            }
        }
        Trouble::Error(index, code) => {
            if let Some(at) = at(case, *index) {
                case.results[at].error_codes.push(*code);
            }
        }
        Trouble::Status(index, status) => {
            // A status is only ever replaced by a worse one.
            if let Some(at) = at(case, *index) {
                case.results[at].status = case.results[at].status.max(*status);
                case.results[at].error_codes.push(Code::ProviderTimeout);
            }
        }
        Trouble::Degraded(index) => {
            if let Some(at) = at(case, *index) {
                case.results[at].degraded = true;
                case.results[at].error_codes.push(Code::ContextBoundExceeded);
            }
        }
        Trouble::Unnamed(index) => {
            if let Some(at) = at(case, *index) {
                case.results[at].degraded = true;
            }
        }
        Trouble::NoResult(index) => {
            if let Some(at) = at(case, *index) {
                case.results.remove(at);
            }
        }
        Trouble::Required(lens) => {
            case.required.insert((*lens).to_owned());
        }
        Trouble::CrossCheck(outcome) => {
            if case.cross_check.is_some() {
                case.cross_check = *outcome;
            }
        }
        Trouble::NothingLookedAt => case.full_cells = 0,
        Trouble::NothingChanged => (case.full_cells, case.files) = (0, 0),
    }
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let index = 0usize..4;
    prop_oneof![
        index.clone().prop_map(Trouble::Blocking),
        index.clone().prop_map(Trouble::Advice),
        (index.clone(), prop::sample::select(Code::ALL))
            .prop_map(|(index, code)| Trouble::Error(index, code)),
        (index.clone(), prop::sample::select(LensStatus::ALL))
            .prop_map(|(index, status)| Trouble::Status(index, status)),
        index.clone().prop_map(Trouble::Degraded),
        index.prop_map(Trouble::NoResult),
        prop::sample::select(&["a", "b", "c"][..]).prop_map(Trouble::Required),
        prop::sample::select(&[None, Some(false)][..]).prop_map(Trouble::CrossCheck),
        Just(Trouble::NothingLookedAt),
        Just(Trouble::NothingChanged),
    ]
}

/// PASS, then could not complete, then FAIL: more trouble never goes back to PASS, and a FAIL stays one.
fn badness(verdict: &FinalVerdict) -> u8 {
    match verdict.conclusion {
        Conclusion::Pass => 0,
        Conclusion::CouldNotComplete => 1,
        Conclusion::Fail => 2,
    }
}

proptest! {
    #[test]
    fn trouble_never_turns_a_verdict_towards_pass(
        troubles in prop::collection::vec(trouble(), 1..8),
        best_effort: bool,
    ) {
        let mut case = Case::clean();
        case.mode = if best_effort { RunMode::BestEffort } else { RunMode::Strict };
        let mut before = case.judge();
        prop_assert_eq!(before.status, VerdictStatus::Pass);
        for trouble in &troubles {
            make_worse(&mut case, trouble);
            let after = case.judge();
            // A result that is gone takes its findings with it; it may say less but never PASS.
            let lost = matches!(trouble, Trouble::NoResult(_));
            if before.conclusion != Conclusion::Pass && !lost {
                prop_assert!(badness(&after) >= badness(&before), "{:?}", trouble);
            }
            prop_assert_eq!(after.status == VerdictStatus::Pass, after.conclusion == Conclusion::Pass);
            if after.status == VerdictStatus::Pass {
                prop_assert!(after.blocking_findings.is_empty() && after.missing_required_lens_ids.is_empty());
                prop_assert!(after.failed_required_lens_ids.is_empty());
            }
            before = after;
        }
    }

    #[test]
    fn the_order_of_results_does_not_matter(
        troubles in prop::collection::vec(trouble(), 0..8),
    ) {
        let mut case = Case::clean();
        troubles.iter().for_each(|trouble| make_worse(&mut case, trouble));
        let mut reversed = case.clone();
        reversed.results.reverse();
        reversed.plans.reverse();
        reversed.results.iter_mut().for_each(|result| result.findings.reverse());
        prop_assert_eq!(case.judge(), reversed.judge());
    }
}

#[test]
fn each_kind_of_incompleteness_has_its_code_and_withholds_pass() {
    let status = |status| Trouble::Status(0, status);
    let cases: &[(&[Trouble], Conclusion, &[Code])] = &[
        (&[], Conclusion::Pass, &[]),
        (&[Trouble::Advice(0)], Conclusion::Pass, &[]),
        (&[Trouble::Blocking(1)], Conclusion::Fail, &[]),
        (&[Trouble::NoResult(0)], Conclusion::CouldNotComplete, &[Code::LensRequiredMissing]),
        (&[Trouble::NoResult(1)], Conclusion::Pass, &[]),
        (&[Trouble::Required("c")], Conclusion::CouldNotComplete, &[Code::LensRequiredMissing]),
        (
            &[status(LensStatus::Skipped)],
            Conclusion::CouldNotComplete,
            &[Code::LensRequiredFailed, Code::ProviderTimeout],
        ),
        (
            &[Trouble::Degraded(0)],
            Conclusion::CouldNotComplete,
            &[Code::LensRequiredFailed, Code::ContextBoundExceeded],
        ),
        (
            &[Trouble::Degraded(1)],
            Conclusion::CouldNotComplete,
            &[Code::LensOptionalFailed, Code::ContextBoundExceeded],
        ),
        (
            &[Trouble::Unnamed(1)],
            Conclusion::CouldNotComplete,
            &[Code::InternalError, Code::LensOptionalFailed],
        ),
        (&[Trouble::CrossCheck(None)], Conclusion::CouldNotComplete, &[Code::CrossCheckUnavailable]),
        (&[Trouble::CrossCheck(Some(false))], Conclusion::CouldNotComplete, &[Code::CrossCheckFailed]),
        (&[Trouble::NothingLookedAt], Conclusion::CouldNotComplete, &[Code::NothingToJudge]),
        (&[Trouble::NothingChanged], Conclusion::CouldNotComplete, &[Code::NothingToJudge]),
        (
            &[Trouble::CrossCheck(None), Trouble::Blocking(0)],
            Conclusion::Fail,
            &[Code::CrossCheckUnavailable],
        ),
    ];
    for (troubles, conclusion, codes) in cases {
        let mut case = Case::clean();
        troubles.iter().for_each(|trouble| make_worse(&mut case, trouble));
        let verdict = case.judge();
        let mut codes = codes.to_vec();
        codes.sort();
        assert_eq!((verdict.conclusion, verdict.error_codes), (*conclusion, codes), "{troubles:?}");
    }
}

#[test]
fn an_outage_is_forgiven_only_in_best_effort_and_where_the_lens_is_optional() {
    for mode in [RunMode::Strict, RunMode::BestEffort] {
        for (index, required) in [(0, true), (1, false)] {
            let mut case = Case { mode, ..Case::clean() };
            make_worse(&mut case, &Trouble::Status(index, LensStatus::Failed));
            make_worse(&mut case, &Trouble::Error(index, Code::ProviderUnavailable));
            let verdict = case.judge();
            let may_pass = !required && mode == RunMode::BestEffort;
            let expected = if may_pass { Conclusion::Pass } else { Conclusion::CouldNotComplete };
            assert_eq!((verdict.conclusion, verdict.degraded), (expected, true), "{mode} {required}");
            assert!(verdict.error_codes.contains(&Code::ProviderUnavailable));
        }
    }
}

/// Makes a result that of a deferred plan, whatever the plan says.
fn defer_result(case: &mut Case, index: usize) {
    let result = &mut case.results[index];
    (result.status, result.degraded) = (LensStatus::Skipped, true);
    result.error_codes = vec![Code::CadenceDeferred];
}

#[test]
fn a_deferred_plan_keeps_a_run_from_passing_and_hides_nothing_that_blocks() {
    let observer = Some(ObserverGrounds { mode: ObserverMode::Cadence, may_pass: true, lost_ledger: false });
    for (mode, index) in
        [(RunMode::Strict, 0), (RunMode::Strict, 1), (RunMode::BestEffort, 0), (RunMode::BestEffort, 1)]
    {
        let mut case = Case { mode, observer, ..Case::clean() };
        case.plans[index].planning_codes.push(Code::CadenceDeferred);
        defer_result(&mut case, index);
        let verdict = case.judge();
        assert_eq!(verdict.conclusion, Conclusion::CouldNotComplete, "{mode} {index}");
        assert_eq!(verdict.error_codes, [Code::CadenceDeferred], "a deferred plan has not failed");
        let names = ["a", "b"][index];
        let reason = format!(
            "deferred in mode `cadence`, until the pull request is ready for review or their turn has come: {names}"
        );
        assert_eq!(verdict.rationale, [reason]);
        make_worse(&mut case, &Trouble::Blocking(1 - index));
        assert_eq!(case.judge().conclusion, Conclusion::Fail, "{mode} {index}");
    }
    // A result that only claims to be deferred has failed.
    let mut case = Case { observer, ..Case::clean() };
    defer_result(&mut case, 0);
    assert!(case.judge().error_codes.contains(&Code::LensRequiredFailed));
    // A plan that is deferred and has a complete result contradicts itself.
    let mut case = Case { observer, ..Case::clean() };
    case.plans[1].planning_codes.push(Code::CadenceDeferred);
    assert_eq!(case.judge().conclusion, Conclusion::CouldNotComplete);
}

#[test]
fn only_modes_that_the_policy_accepts_pass() {
    for may_pass in [true, false] {
        let observer = Some(ObserverGrounds { mode: ObserverMode::Bootstrap, may_pass, lost_ledger: false });
        let verdict = Case { observer, ..Case::clean() }.judge();
        assert_eq!(verdict.conclusion == Conclusion::Pass, may_pass);
        assert_eq!(verdict.error_codes.contains(&Code::CadenceDeferred), !may_pass);
    }
}

#[test]
fn a_stage_for_reviews_needs_one_and_says_that_no_gate_was_judged() {
    let stage = Some(RunStage::Reviews);
    let mut case = Case { stage, ..Case::clean() };
    let verdict = case.judge();
    assert_eq!(verdict.conclusion, Conclusion::CouldNotComplete);
    assert_eq!(verdict.error_codes, [Code::LensRequiredMissing]);
    make_worse(&mut case, &Trouble::Blocking(0));
    assert_eq!(case.judge().conclusion, Conclusion::Fail, "what a rule finds still blocks");

    let mut case = Case { stage, ..Case::clean() };
    case.plans.push(plan(2, "review-security"));
    case.results.push(result(2, "review-security"));
    let verdict = case.judge();
    assert_eq!(verdict.conclusion, Conclusion::Pass);
    assert_eq!(verdict.rationale[1], "stage `reviews`: rules and reviews were judged, and no gate");
}

#[test]
fn a_plan_without_time_keeps_a_run_from_passing_in_either_mode() {
    for (mode, index) in [(RunMode::Strict, 1), (RunMode::BestEffort, 1), (RunMode::BestEffort, 0)] {
        let mut case = Case { mode, ..Case::clean() };
        make_worse(&mut case, &Trouble::Status(index, LensStatus::Failed));
        make_worse(&mut case, &Trouble::Error(index, Code::RunDeadlineNear));
        assert_eq!(case.judge().conclusion, Conclusion::CouldNotComplete, "{mode} {index}");
    }
}

/// Every cell of the table in docs/policy.md about reviews that do not fit a budget.
#[test]
fn what_does_not_fit_a_budget_follows_mode_requiredness_and_overflow() {
    let (pass, gap) = (Conclusion::Pass, Conclusion::CouldNotComplete);
    let cells = [
        (RunMode::Strict, 0, OverflowPolicy::Stop, LensStatus::Failed, gap, Code::LensRequiredFailed),
        (RunMode::BestEffort, 0, OverflowPolicy::Stop, LensStatus::Failed, gap, Code::LensRequiredFailed),
        (RunMode::Strict, 1, OverflowPolicy::Stop, LensStatus::Failed, gap, Code::LensOptionalFailed),
        (RunMode::BestEffort, 1, OverflowPolicy::Stop, LensStatus::Failed, gap, Code::LensOptionalFailed),
        (RunMode::BestEffort, 1, OverflowPolicy::Skip, LensStatus::Skipped, pass, Code::BudgetRunExceeded),
        (
            RunMode::BestEffort,
            1,
            OverflowPolicy::Escalate,
            LensStatus::Skipped,
            pass,
            Code::BudgetRunExceeded,
        ),
    ];
    for (mode, index, overflow, status, conclusion, code) in cells {
        let mut case = Case { mode, ..Case::clean() };
        case.plans[index].overflow_policy = overflow;
        let refusal = Refusal::over_budget(&case.plans[index], Code::BudgetRunExceeded);
        assert_eq!((refusal.status, refusal.escalated), (status, overflow == OverflowPolicy::Escalate));
        case.results[index].status = refusal.status;
        make_worse(&mut case, &Trouble::Error(index, refusal.code));
        let verdict = case.judge();
        assert_eq!((verdict.conclusion, verdict.degraded), (conclusion, true), "{mode} {index} {overflow}");
        assert!(verdict.error_codes.contains(&code), "{mode} {index} {overflow}: {:?}", verdict.error_codes);
    }
}

#[test]
fn a_pass_over_unread_files_is_degraded_and_says_how_many() {
    let mut case = Case::clean();
    case.plans[1].omitted_files = vec![RepoPath::from_bytes(b"large.py").unwrap()];
    let verdict = case.judge();
    assert_eq!((verdict.conclusion, verdict.degraded), (Conclusion::Pass, true));
    assert_eq!(
        verdict.rationale,
        [
            "2 checks over 1 changed file, nothing blocks; 1 file not read in full, which limits.allow-omitted permits"
        ]
    );
}

#[test]
fn an_empty_change_passes_only_where_the_policy_says_so() {
    let mut case = Case { empty_may_pass: true, full_cells: 0, files: 0, ..Case::clean() };
    let verdict = case.judge();
    assert_eq!((verdict.conclusion, verdict.vacuous), (Conclusion::Pass, true));
    case.files = 1;
    assert_eq!(case.judge().conclusion, Conclusion::CouldNotComplete);
}

#[test]
fn usage_is_summed_where_it_is_known_and_null_with_the_worst_reason_where_it_is_not() {
    use UsageUnavailableReason::{AdapterError, MissingUsageData, ProviderNotSupported};
    let usage = |tokens: Option<u64>, cost: Option<f64>, reason| UsageMetrics {
        input_tokens: tokens,
        output_tokens: None,
        total_tokens: tokens,
        cost_usd: cost,
        unavailable_reason: reason,
    };
    let cases = [
        (vec![], UsageMetrics::NONE),
        (vec![usage(None, None, Some(MissingUsageData))], usage(None, None, Some(MissingUsageData))),
        (
            vec![usage(None, None, Some(ProviderNotSupported)), usage(None, None, Some(AdapterError))],
            usage(None, None, Some(AdapterError)),
        ),
        (
            vec![
                usage(Some(3), Some(0.1), None),
                usage(None, None, Some(MissingUsageData)),
                usage(Some(4), Some(0.2), None),
            ],
            usage(Some(7), Some(0.3), Some(MissingUsageData)),
        ),
        (
            vec![usage(Some(u64::MAX), None, None), usage(Some(1), None, None)],
            usage(Some(u64::MAX), None, None),
        ),
    ];
    for (usages, expected) in cases {
        let results: Vec<LensResult> =
            usages.iter().map(|usage| LensResult { usage: usage.clone(), ..result(0, "a") }).collect();
        assert_eq!(aggregate_usage(&results.iter().collect::<Vec<_>>()), expected, "{usages:?}");
    }
}
