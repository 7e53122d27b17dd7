//! The planner on plain values: the same bytes each time, nothing left out silently, budget cells.

use super::*;
use crate::policy::Overrides;
use crate::sensitivity;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::*;

fn path(name: &str) -> RepoPath {
    RepoPath::from_bytes(name.as_bytes()).unwrap()
}

fn file(name: &str, hunk_lines: &[u64], first_ordinal: u64) -> ChangedFile {
    let hunks = hunk_lines
        .iter()
        .enumerate()
        .map(|(index, &lines)| Hunk {
            ordinal: first_ordinal + index as u64,
            old_start: 1,
            old_lines: 0,
            new_start: 1 + index as u64 * 1000,
            new_lines: lines,
            section: String::new(),
        })
        .collect();
    ChangedFile {
        path: path(name),
        old_path: None,
        kind: ChangeKind::Modified,
        old_mode: Some("100644".to_owned()),
        new_mode: Some("100644".to_owned()),
        old_blob: Some(BlobId::parse(&"1".repeat(40)).unwrap()),
        new_blob: Some(BlobId::parse(&"2".repeat(40)).unwrap()),
        class: crate::classify::class(&path(name)),
        scope: Scope::Product,
        scope_reason: qa_contracts::v1::ScopeReason::Name,
        language: None,
        text: true,
        hunks,
        codes: vec![],
    }
}

fn change_set(mut files: Vec<ChangedFile>) -> ChangeSet {
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let id = CommitId::parse(&"a".repeat(40)).unwrap();
    ChangeSet {
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
        files,
    }
}

fn lens(id: &str, class: LensClass, required: bool, triggers: &[&str]) -> RegistryLens {
    RegistryLens {
        lens_id: id.to_owned(),
        lens_version: "1".to_owned(),
        lens_class: class,
        title: String::new(),
        required_by_default: required,
        triggers: triggers.iter().map(|&glob| glob.to_owned()).collect(),
        rules: vec![],
    }
}

struct Setup {
    lenses: Vec<RegistryLens>,
    policy: &'static str,
}

impl Setup {
    fn plan(&self, change_set: &ChangeSet) -> Vec<LensPlan> {
        let registry = Registry {
            schema_version: Default::default(),
            skill_id: "q".to_owned(),
            lenses: self.lenses.clone(),
        };
        let policy = Policy::parse(Some(self.policy), &Overrides::default(), &registry).unwrap();
        let need = |_: usize, _: &ChangedFile| Need::Hunks;
        let candidates: Vec<Candidate<'_>> = self
            .lenses
            .iter()
            .map(|lens| Candidate {
                lens,
                triggers: PathSet::new(lens.triggers.iter().map(String::as_str)).unwrap(),
                need: &need,
                asking: None,
            })
            .collect();
        let scores = change_set
            .files
            .iter()
            .map(|file| FileSensitivity {
                file: file.path.clone(),
                score: 0,
                tier: SensitivityTier::Informational,
                reasons: vec![],
                hunk_scores: vec![],
            })
            .collect();
        let sensitivity = sensitivity::change_sensitivity(&change_set.files, scores);
        super::plan(change_set, &sensitivity, &policy, None, &candidates, &|_| Vec::new())
    }
}

#[test]
fn a_hundred_plans_of_one_input_are_the_same_bytes() {
    let changes =
        change_set(vec![file("src/b.rs", &[3, 9], 0), file("src/a.rs", &[1], 2), file("docs/x.md", &[2], 3)]);
    let setup = Setup {
        lenses: vec![
            lens("zeta", LensClass::Security, true, &["**"]),
            lens("alpha", LensClass::Style, true, &["**/*.rs"]),
            lens("beta", LensClass::Security, false, &["src/**"]),
        ],
        policy: "",
    };
    let first = canonical::to_vec(&setup.plan(&changes)).unwrap();
    for _ in 0..100 {
        assert_eq!(canonical::to_vec(&setup.plan(&changes)).unwrap(), first);
    }
}

#[test]
fn the_queue_is_ordered_by_requiredness_class_lens_sub_lens_and_scope() {
    let changes = change_set(vec![file("src/b.rs", &[3], 0)]);
    let setup = Setup {
        lenses: vec![
            lens("a", LensClass::Performance, false, &["**"]),
            lens("b", LensClass::Performance, true, &["**"]),
            lens("c", LensClass::Consistency, false, &["**"]),
            lens("d", LensClass::Security, true, &["**"]),
            lens("e", LensClass::Security, true, &["**"]),
        ],
        policy: "",
    };
    let mut plans = setup.plan(&changes);
    let ids = |plans: &[LensPlan]| plans.iter().map(|plan| plan.lens_id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&plans), ["d", "e", "b", "c", "a"]);
    plans[1].lens_id = "d".to_owned();
    plans[0].sub_lens_id = Some("x".to_owned());
    plans.reverse();
    sort_queue(&mut plans);
    assert_eq!((plans[0].sub_lens_id.clone(), plans[1].sub_lens_id.clone()), (None, Some("x".to_owned())));
}

#[test]
fn a_lens_without_a_matching_file_is_not_applicable_and_scans_nothing() {
    let changes = change_set(vec![file("README.md", &[3], 0)]);
    let setup = Setup { lenses: vec![lens("code", LensClass::Style, true, &["**/*.rs"])], policy: "" };
    let plans = setup.plan(&changes);
    assert_eq!(plans[0].planning_codes, [Code::LensNotApplicable]);
    assert_eq!(plans[0].changed_files.len(), 0);
}

#[test]
fn whatever_does_not_fit_is_listed_with_its_reason() {
    use OmissionReason::{FileLimit, HardFileLimit, HardHunkLimit, HunkLimit, LineLimit};
    let changes = change_set(vec![
        file("a.rs", &[5, 4, 1], 0),
        file("b.rs", &[6], 3),
        file("c.rs", &[2], 4),
        file("d.rs", &[1], 5),
    ]);
    let omitted = |policy: &'static str| {
        let setup = Setup { lenses: vec![lens("l", LensClass::Style, true, &["**"])], policy };
        let plan = setup.plan(&changes).remove(0);
        let omitted: Vec<(String, Option<u64>, OmissionReason)> = plan
            .omitted_hunks
            .iter()
            .map(|hunk| (hunk.file.to_string(), hunk.hunk_ordinal, hunk.reason))
            .collect();
        (omitted, plan.planning_codes, plan.changed_files.len())
    };
    let file = |name: &str, reason| (name.to_owned(), None, reason);
    let hunk = |name: &str, ordinal, reason| (name.to_owned(), Some(ordinal), reason);
    assert_eq!(omitted(""), (vec![], vec![], 4));
    assert_eq!(
        omitted("[limits]\nmax-files = 3\n"),
        (vec![file("d.rs", HardFileLimit)], vec![Code::DiffTooLarge], 3)
    );
    assert_eq!(
        omitted("[limits]\nmax-hunks = 4\n"),
        (vec![hunk("c.rs", 4, HardHunkLimit), hunk("d.rs", 5, HardHunkLimit)], vec![Code::DiffTooLarge], 2)
    );
    assert_eq!(
        omitted("[limits.context]\nmax-files = 2\n"),
        (vec![file("c.rs", FileLimit), file("d.rs", FileLimit)], vec![Code::ContextBoundExceeded], 2)
    );
    assert_eq!(
        omitted("[limits.context]\nmax-hunks = 2\n"),
        (
            vec![
                hunk("a.rs", 2, HunkLimit),
                hunk("b.rs", 3, HunkLimit),
                hunk("c.rs", 4, HunkLimit),
                hunk("d.rs", 5, HunkLimit)
            ],
            vec![Code::ContextBoundExceeded],
            1
        )
    );
    // 5 fits, 4 does not, 1 does; 6 does not; 2 fits exactly, 1 no more.
    assert_eq!(
        omitted("[limits.context]\nmax-changed-lines = 8\n"),
        (
            vec![hunk("a.rs", 1, LineLimit), hunk("b.rs", 3, LineLimit), hunk("d.rs", 5, LineLimit)],
            vec![Code::ContextBoundExceeded],
            2
        )
    );
}

#[test]
fn the_scope_digest_follows_content_and_not_only_names() {
    let setup = Setup { lenses: vec![lens("l", LensClass::Style, true, &["**"])], policy: "" };
    let before = change_set(vec![file("a.rs", &[1], 0)]);
    let mut after = before.clone();
    after.files[0].new_blob = Some(BlobId::parse(&"3".repeat(40)).unwrap());
    assert_ne!(setup.plan(&before)[0].scope_digest, setup.plan(&after)[0].scope_digest);
}

#[test]
fn a_plan_that_pass_needs_stops_over_a_budget_whatever_its_overflow_says() {
    for overflow in [OverflowPolicy::Stop, OverflowPolicy::Skip, OverflowPolicy::Escalate] {
        let settings =
            |required| LensPolicy { enabled: true, required, ignore: Vec::new(), overflow, review: None };
        assert_eq!(overflow_policy(&settings(true), RunMode::Strict), OverflowPolicy::Stop);
        assert_eq!(overflow_policy(&settings(true), RunMode::BestEffort), OverflowPolicy::Stop);
        assert_eq!(overflow_policy(&settings(false), RunMode::Strict), OverflowPolicy::Stop);
        assert_eq!(overflow_policy(&settings(false), RunMode::BestEffort), overflow);
    }
}

#[test]
fn budgets_are_reserved_in_queue_order() {
    let changes = change_set(vec![file("a.rs", &[1], 0)]);
    let setup = Setup { lenses: vec![lens("l", LensClass::Style, true, &["**"])], policy: "" };
    let template = setup.plan(&changes).remove(0);
    let plan = LensPlan { max_input_tokens: 60, max_output_tokens: 0, ..template };
    let refusals = reserve(&[plan.clone(), plan.clone()], &budget(RunMode::Strict, 100, u64::MAX));
    assert_eq!(refusals, [None, Some(Refusal::over_budget(&plan, Code::BudgetRunExceeded))]);
    let dear = LensPlan { max_cost_usd: Some(7.0), ..plan };
    let refused: Vec<bool> = reserve(&[dear.clone(), dear], &budget(RunMode::Strict, 1000, 12_000_000))
        .iter()
        .map(Option::is_some)
        .collect();
    assert_eq!(refused, [false, true]);
}

fn budget(mode: RunMode, max_tokens: u64, max_cost_micro_usd: u64) -> Policy {
    let registry = Registry { schema_version: Default::default(), skill_id: String::new(), lenses: vec![] };
    let overrides = Overrides { mode: Some(mode), ..Overrides::default() };
    let policy = Policy::parse(None, &overrides, &registry).unwrap();
    Policy { max_tokens, max_cost_micro_usd, ..policy }
}
