//! Every item of the cross-check, made to fail once.

use std::collections::BTreeMap;

use super::*;
use crate::canonical;
use crate::policy::Overrides;
use qa_contracts::ids::{BlobId, CommitId};
use qa_contracts::v1::*;

/// A run in which everything is right, to be broken in one place.
struct Run {
    change_set: ChangeSet,
    policy: Policy,
    plans: Vec<LensPlan>,
    plans_again: Vec<LensPlan>,
    results: Vec<LensResult>,
    coverage: Coverage,
    self_test: Vec<SelfTest>,
    notices: Vec<Code>,
    line: &'static str,
    gates: Vec<GateReports>,
}

fn path(name: &str) -> RepoPath {
    RepoPath::from_bytes(name.as_bytes()).unwrap()
}

fn digest(text: &str) -> Sha256Hex {
    canonical::sha256(text.as_bytes())
}

fn finding() -> Finding {
    let evidence = [("quote", "let key = \"AB**\""), ("side", "head")];
    Finding {
        finding_id: digest("id"),
        lens_id: "lens".to_owned(),
        sub_lens_id: None,
        rule_id: "lens/rule".to_owned(),
        severity: Severity::High,
        blocking: true,
        file: path("a.rs"),
        start_line: 2,
        end_line: 2,
        summary: String::new(),
        evidence: evidence
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect::<BTreeMap<_, _>>(),
        evidence_hash: digest("evidence"),
        origin: FindingOrigin::Introduced,
        scope: Scope::Product,
        strength: Strength::Block,
        ratchet: None,
        waiver: None,
        fix: String::new(),
        edit: None,
        codes: vec![],
    }
}

fn good() -> Run {
    let all = |strength| ScopeStrengths {
        product: strength,
        test: strength,
        docs: Strength::Advise,
        generated: strength,
        vendored: strength,
    };
    let strengths = PresetStrengths {
        default: all(Strength::Block),
        guarded: all(Strength::Block),
        advisory: all(Strength::Advise),
    };
    let rule = RegistryRule {
        rule_id: "lens/rule".to_owned(),
        title: String::new(),
        severity: Severity::High,
        strengths,
    };
    let lens = RegistryLens {
        lens_id: "lens".to_owned(),
        lens_version: "1".to_owned(),
        lens_class: LensClass::Security,
        title: String::new(),
        required_by_default: true,
        triggers: vec!["**".to_owned()],
        rules: vec![rule],
    };
    let registry = Registry {
        schema_version: Default::default(),
        skill_id: "q".to_owned(),
        lenses: std::iter::once(lens).chain(crate::gates::entries()).collect(),
    };
    let id = CommitId::parse(&"a".repeat(40)).unwrap();
    let file = ChangedFile {
        path: path("a.rs"),
        old_path: None,
        kind: ChangeKind::Modified,
        old_mode: None,
        new_mode: None,
        old_blob: Some(BlobId::parse(&"1".repeat(40)).unwrap()),
        new_blob: Some(BlobId::parse(&"2".repeat(40)).unwrap()),
        class: FileClass::Source,
        scope: Scope::Product,
        scope_reason: qa_contracts::v1::ScopeReason::Name,
        language: None,
        text: true,
        hunks: vec![Hunk {
            ordinal: 0,
            old_start: 1,
            old_lines: 0,
            new_start: 2,
            new_lines: 1,
            section: String::new(),
        }],
        codes: vec![],
    };
    let plan = LensPlan {
        schema_version: Default::default(),
        plan_ordinal: 0,
        lens_id: "lens".to_owned(),
        sub_lens_id: None,
        lens_version: "1".to_owned(),
        lens_class: LensClass::Security,
        required: true,
        blocking_policy: BlockingPolicy::RuleDefined,
        provider_binding_id: "builtin".to_owned(),
        permission_profile_id: PermissionProfileId::ReadOnly,
        changed_files: vec![path("a.rs")],
        full_context_files: vec![],
        omitted_files: vec![],
        scope_digest: digest("scope"),
        execution_commands: vec![],
        max_input_tokens: 0,
        max_output_tokens: 0,
        max_cost_usd: None,
        overflow_policy: OverflowPolicy::Stop,
        omitted_hunks: vec![],
        planning_codes: vec![],
        review: None,
    };
    let result = LensResult {
        schema_version: Default::default(),
        plan_ordinal: 0,
        lens_id: "lens".to_owned(),
        sub_lens_id: None,
        lens_version: "1".to_owned(),
        status: LensStatus::Completed,
        degraded: false,
        findings: vec![finding()],
        evidence_summary: vec![],
        usage: UsageMetrics::NONE,
        error_codes: vec![],
        warning_codes: vec![],
        execution_audit: None,
        adapter_response_hash: digest("drafts"),
        review: None,
    };
    let mut gate_plan = plan.clone();
    gate_plan.plan_ordinal = 1;
    gate_plan.lens_id = "lint".to_owned();
    gate_plan.changed_files = vec![];
    let mut gate_result = result.clone();
    gate_result.plan_ordinal = 1;
    gate_result.lens_id = "lint".to_owned();
    // About a line that nobody changed, in a file that nobody changed.
    gate_result.findings = vec![Finding {
        lens_id: "lint".to_owned(),
        rule_id: "lint/error".to_owned(),
        file: path("elsewhere.rs"),
        evidence: BTreeMap::from([("subject".to_owned(), "unused".into())]),
        ..finding()
    }];
    let entries = BTreeSet::from([ReportEntry {
        rule_id: "lint/error".to_owned(),
        file: path("elsewhere.rs"),
        line: 2,
        subject: "unused".to_owned(),
    }]);
    let gate = GateReports { lens_id: "lint".to_owned(), passed: false, entries };
    let cell = CoverageCell { plan_ordinal: 0, status: CoverageStatus::Full, inspected_hunks: 1, code: None };
    Run {
        change_set: ChangeSet {
            schema_version: Default::default(),
            base_sha: id.clone(),
            merge_base_sha: id.clone(),
            other_merge_bases: Vec::new(),
            landing: qa_contracts::v1::Landing::Change,
            landing_tree: None,
            head_sha: id,
            head_tree: None,
            base_time: 0,
            renames: RenameSummary { exact: 0, inexact: 0, not_compared: 0 },
            files: vec![file],
        },
        policy: Policy::parse(None, &Overrides::default(), &registry).unwrap(),
        plans: vec![plan.clone(), gate_plan.clone()],
        plans_again: vec![plan, gate_plan],
        results: vec![result, gate_result],
        coverage: Coverage {
            schema_version: Default::default(),
            full_cells: 1,
            incomplete_cells: 0,
            rows: vec![CoverageRow {
                file: path("a.rs"),
                blob: None,
                hunks: 1,
                cells: vec![cell],
                gates: vec![],
            }],
        },
        self_test: vec![SelfTest { forward: digest("same"), reverse: digest("same") }],
        notices: vec![],
        gates: vec![gate],
        line: "    let key = \"ABCD\";",
    }
}

/// The items that fail.
fn failed(run: &Run) -> Vec<String> {
    let check = cross_check(&Subject {
        change_set: &run.change_set,
        policy: &run.policy,
        plans: &run.plans,
        plans_again: &run.plans_again,
        results: &run.results.iter().collect::<Vec<_>>(),
        coverage: &run.coverage,
        self_test: &run.self_test,
        notices: &run.notices,
        lines: &|_, _, _, _| Some(run.line.to_owned()),
        gates: &run.gates,
    });
    let failed: Vec<String> = check
        .items
        .iter()
        .filter(|item| item.outcome == ItemOutcome::Failed)
        .map(|item| item.item.clone())
        .collect();
    assert_eq!(check.passed, failed.is_empty());
    failed
}

#[test]
fn a_run_in_which_everything_is_right_passes_every_item() {
    assert!(failed(&good()).is_empty());
}

#[test]
fn each_item_fails_on_its_own_contradiction() {
    type Break = fn(&mut Run);
    let cases: &[(&str, Break)] = &[
        ("evidence-in-range", |run| run.results[0].findings[0].start_line = 9),
        ("evidence-in-range", |run| run.results[0].findings[0].file = path("b.rs")),
        ("evidence-verbatim", |run| run.line = "    let key = \"XYCD\";"),
        ("rule-may-block", |run| run.results[0].findings[0].scope = Scope::Docs),
        ("rule-may-block", |run| run.results[0].findings[0].rule_id = "lens/other".to_owned()),
        ("introduced-only", |run| run.results[0].findings[0].origin = FindingOrigin::PreExisting),
        ("no-duplicates", |run| {
            let again = run.results[0].findings[0].clone();
            run.results[0].findings.push(again);
        }),
        ("plans-rederived", |run| run.plans_again[0].required = false),
        ("results-match-plans", |run| run.results[0].lens_version = "2".to_owned()),
        ("results-match-plans", |run| {
            run.results.clear();
        }),
        ("required-scope-complete", |run| {
            run.plans[0].omitted_files = vec![path("z.rs")];
            run.plans_again = run.plans.clone();
        }),
        ("coverage-complete", |run| run.coverage.rows[0].cells[0].status = CoverageStatus::Partial),
        ("coverage-complete", |run| run.coverage.rows[0].cells[0].inspected_hunks = 0),
        ("coverage-complete", |run| run.coverage.rows[0].cells.clear()),
        ("coverage-complete", |run| {
            run.plans[0].changed_files.push(path("nowhere.rs"));
            run.plans_again = run.plans.clone();
        }),
        ("reports-say-so", |run| run.gates[0].entries.clear()),
        ("reports-say-so", |run| run.results[1].findings[0].start_line = 9),
        ("gates-agree", |run| run.results[1].findings.clear()),
        ("gates-agree", |run| {
            run.results[1].findings.clear();
            run.gates.clear();
        }),
        ("nothing-unseen", |run| run.coverage.rows[0].cells.clear()),
        ("nothing-unseen", |run| run.coverage.rows[0].file = path("other.rs")),
        ("order-does-not-matter", |run| run.self_test[0].reverse = digest("other")),
        ("evidence-not-empty", |run| {
            run.coverage.full_cells = 0;
        }),
        ("policy-change-reported", |run| {
            run.change_set.files[0].old_path = Some(path(".qa-skill/policy.toml"));
        }),
    ];
    for (item, break_it) in cases {
        let mut run = good();
        break_it(&mut run);
        assert!(
            failed(&run).iter().any(|name| name == item),
            "{item} did not notice; failed: {:?}",
            failed(&run)
        );
    }
}

/// A run whose only finding of a review does not block, for a reason, with the verdicts of models on it.
fn confirmed(code: Code, upheld: &[Option<bool>], line: u64) -> Run {
    let mut run = good();
    let review = PlannedReview {
        prompt_template_hash: digest("prompt"),
        token_estimator: TokenEstimator::OpenaiBytes,
        samples: 1,
        agree: 1,
        canary: false,
        confirm_binding_id: Some("second".to_owned()),
    };
    run.plans[0].review = Some(review);
    run.plans_again = run.plans.clone();
    let (effective, usage) = (EffectiveModel::default(), ReviewUsage::default());
    let sample = ReviewSample { code: None, findings: 1, effective: effective.clone(), usage: usage.clone() };
    let rounds = upheld.iter().map(|upheld| ConfirmationRound {
        binding_id: "second".to_owned(),
        request_hash: digest("request"),
        code: None,
        upheld: *upheld,
        reason: None,
        effective: effective.clone(),
        usage: usage.clone(),
    });
    let confirmation = Confirmation {
        rule_id: "lens/rule".to_owned(),
        file: path("a.rs"),
        line,
        outcome: ConfirmationOutcome::Rejected,
        rounds: rounds.collect(),
    };
    run.results[0].review = Some(ReviewRecord {
        request_hash: digest("review"),
        samples: vec![sample],
        unverified: 0,
        canary_found: None,
        confirmations: vec![confirmation],
    });
    run.results[0].findings[0].blocking = false;
    run.results[0].findings[0].codes = vec![code];
    run
}

#[test]
fn a_finding_is_rejected_by_the_answers_of_two_models_and_by_nothing_less() {
    let (no, yes) = (Some(false), Some(true));
    for (code, upheld) in [(Code::ReviewRejected, [no, no]), (Code::ReviewUnstable, [no, yes])] {
        assert!(failed(&confirmed(code, &upheld, 2)).is_empty());
        // About another line.
        assert_eq!(failed(&confirmed(code, &upheld, 3)), ["reviews-answered"]);
        for wrong in [&[][..], &[no], &[yes], &[yes, no], &[no, None], &[no, no, no]] {
            assert_eq!(failed(&confirmed(code, wrong, 2)), ["reviews-answered"], "{wrong:?}");
        }
    }
    assert_eq!(failed(&confirmed(Code::ReviewRejected, &[no, yes], 2)), ["reviews-answered"]);
    assert!(failed(&confirmed(Code::ReviewLate, &[], 2)).is_empty());
}

#[test]
fn a_mask_stands_for_any_character_and_nothing_else_does() {
    assert!(stands_in("AK**", "xAKIA"));
    assert!(!stands_in("AK**", "xAK1"));
    assert!(!stands_in("AK**", "xABIA"));
    assert!(stands_in("a", "bab") && !stands_in("ab", "a b"));
}
