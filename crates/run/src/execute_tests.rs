//! Scheduling of lenses that misbehave, and of plans that do not fit.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::derive::derive;
use crate::inputs::{Inputs, PolicyInForce, Ports};
use crate::keys;
use crate::ports::{Cancellation, Progress};
use crate::survey::RecordedSurveys;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::*;
use qa_core::classify::PathSet;
use qa_core::diff::diff_file;
use qa_core::packet::Packet;
use qa_core::plan::{Candidate, Need};
use qa_core::policy::Overrides;
use qa_core::sensitivity;
pub(crate) use qa_lenses::contract::{DraftExt, Fact, Inspection, LensSpec, RuleSpec, everywhere, presets};

macro_rules! spec {
    ($id:literal) => {
        LensSpec {
            id: $id,
            version: "1",
            class: LensClass::Style,
            title: "",
            required_by_default: true,
            triggers: &["**"],
            rules: &[RuleSpec {
                id: concat!($id, "/rule"),
                title: "",
                severity: Severity::High,
                strengths: presets(everywhere(Strength::Block), everywhere(Strength::Block)),
                fix: "",
                moves: true,
            }],
            page: "",
        }
    };
}

static STEADY: LensSpec = spec!("steady");
static PANICKING: LensSpec = spec!("panicking");
static FORGETFUL: LensSpec = spec!("forgetful");
static INVENTING: LensSpec = spec!("inventing");
static UNREADING: LensSpec = spec!("unreading");

/// Reports every added line that says `bad`.
struct Steady;
/// Ends unexpectedly on one file.
struct Panicking;
/// Gives something else each time it is asked.
struct Forgetful(AtomicUsize);
/// Quotes what is not there.
struct Inventing;
/// Cannot read a file.
struct Unreading;

fn bad_lines(rule: &'static str, packet: &Packet<'_>) -> Inspection {
    let drafts = packet
        .added()
        .filter(|line| line.text.contains("bad"))
        .map(|line| Draft::on_line(rule, packet, &line, 0..line.text.len(), "bad"))
        .collect();
    Inspection { drafts, facts: Vec::new() }
}

impl Lens for Steady {
    fn spec(&self) -> &'static LensSpec {
        &STEADY
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        bad_lines("steady/rule", packet)
    }
}

impl Lens for Panicking {
    fn spec(&self) -> &'static LensSpec {
        &PANICKING
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        assert!(packet.path().as_bytes() != b"b.rs", "as planted");
        bad_lines("panicking/rule", packet)
    }
}

impl Lens for Forgetful {
    fn spec(&self) -> &'static LensSpec {
        &FORGETFUL
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let call = self.0.fetch_add(1, Ordering::SeqCst);
        let draft = Draft::on_file("forgetful/rule", packet.path(), Side::Head, format!("call {call}"));
        Inspection { drafts: vec![draft], facts: Vec::new() }
    }
}

impl Lens for Inventing {
    fn spec(&self) -> &'static LensSpec {
        &INVENTING
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut inspection = bad_lines("inventing/rule", packet);
        for draft in &mut inspection.drafts {
            draft.quote = "not in the file".to_owned();
        }
        inspection
    }
}

impl Lens for Unreading {
    fn spec(&self) -> &'static LensSpec {
        &UNREADING
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let unread = (packet.path().as_bytes() == b"b.rs").then(Fact::unread);
        Inspection { drafts: Vec::new(), facts: unread.into_iter().collect() }
    }
}

struct Silent;

impl Progress for Silent {
    fn step(&self, _: &'static str, _: usize, _: usize) {}
}

fn change() -> (ChangeSet, Vec<FileText>) {
    change_of(&[
        ("a.rs", "x\n", "x\nbad one\n"),
        ("b.rs", "y\n", "y\nbad two\n"),
        ("c.rs", "bad old\n", "z\n"),
    ])
}

/// Returns a change of files, each with its path and its text on both sides.
fn change_of(changed: &[(&str, &str, &str)]) -> (ChangeSet, Vec<FileText>) {
    let id = CommitId::parse(&"a".repeat(40)).unwrap();
    let (mut files, mut texts) = (Vec::new(), Vec::new());
    for (ordinal, (name, old, new)) in changed.iter().enumerate() {
        let mut diff = diff_file(old.as_bytes(), new.as_bytes(), 1 << 20);
        diff.hunks.iter_mut().for_each(|hunk| hunk.ordinal = ordinal as u64);
        let path = RepoPath::from_bytes(name.as_bytes()).unwrap();
        files.push(ChangedFile {
            language: qa_core::classify::language(&path).map(str::to_owned),
            path,
            old_path: None,
            kind: ChangeKind::Modified,
            old_mode: None,
            new_mode: None,
            old_blob: None,
            new_blob: None,
            class: FileClass::Source,
            scope: Scope::Product,
            scope_reason: qa_contracts::v1::ScopeReason::Name,
            text: true,
            hunks: diff.hunks,
            codes: vec![],
        });
        texts.push(diff.text);
    }
    let change_set = ChangeSet {
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
    };
    (change_set, texts)
}

fn run(lens: &'static dyn Lens, policy: &str, adjust: impl Fn(&mut LensPlan)) -> Executed {
    let spec = lens.spec();
    let rule = &spec.rules[0];
    let entry = RegistryLens {
        lens_id: spec.id.to_owned(),
        lens_version: "1".to_owned(),
        lens_class: spec.class,
        title: String::new(),
        required_by_default: true,
        triggers: vec!["**".to_owned()],
        rules: vec![RegistryRule {
            rule_id: rule.id.to_owned(),
            title: String::new(),
            severity: rule.severity,
            strengths: rule.strengths,
        }],
    };
    let registry = Registry {
        schema_version: Default::default(),
        skill_id: "q".to_owned(),
        lenses: vec![entry.clone()],
    };
    let policy = Policy::parse(Some(policy), &Overrides::default(), &registry).unwrap();
    let (change_set, texts) = change();
    let scores = change_set
        .files
        .iter()
        .zip(&texts)
        .map(|(file, text)| sensitivity::file_sensitivity(file, text))
        .collect();
    let sensitivity = sensitivity::change_sensitivity(&change_set.files, scores);
    let need = |_: usize, _: &ChangedFile| Need::Hunks;
    let candidate =
        Candidate { lens: &entry, triggers: PathSet::new(["**"]).unwrap(), need: &need, asking: None };
    let mut plans = plan::plan(&change_set, &sensitivity, &policy, None, &[candidate], &|_| Vec::new());
    plans.iter_mut().for_each(adjust);
    let cancellation = Cancellation::default();
    let nothing = RecordedLookups::default();
    let lookups = crate::lookup::TreeLookups::from_recording(&nothing);
    let execution = Execution {
        sweep: Sweep {
            rubric: None,
            change_set: &change_set,
            texts: &texts,
            workers: 2,
            cancellation: &cancellation,
            progress: &Silent,
            joined: None,
        },
        policy: &policy,
        waivers: &[],
        surveys: &RecordedSurveys(&[]),
        lookups: &lookups,
        evidence: super::gates::Evidence {
            policy: &policy,
            change_set: &change_set,
            reports: &RecordedGates::default(),
            execution: &RecordedExecution::default(),
            observer: None,
            key: &qa_core::canonical::sha256(b"").into(),
        },
        replies: crate::reviews::Evidence {
            reviews: crate::reviews::Reviews::new(&policy, &[], &change_set, &texts, None),
            replies: &RecordedReplies::default(),
        },
        lens: &|_| Some(lens),
    };
    execution.run(&plans).unwrap()
}

#[test]
fn a_lens_that_panics_fails_its_plan_and_keeps_what_it_found_elsewhere() {
    let executed = run(&Panicking, "", |_| ());
    let result = &executed.outcomes[0].result;
    assert_eq!((result.status, result.error_codes.clone()), (LensStatus::Failed, vec![Code::LensPanicked]));
    assert_eq!(result.findings.len(), 1);
    assert_eq!(executed.outcomes[0].inspected, [Some(1), None, Some(1)]);
}

#[test]
fn a_lens_that_keeps_state_is_caught_by_the_self_test() {
    static LENS: Forgetful = Forgetful(AtomicUsize::new(0));
    let executed = run(&LENS, "", |_| ());
    let test = &executed.self_test[0];
    assert_ne!(test.forward, test.reverse);
    let test = &run(&Steady, "", |_| ()).self_test[0];
    assert_eq!(test.forward, test.reverse);
}

#[test]
fn a_quote_that_does_not_stand_there_never_blocks_and_degrades_the_lens() {
    let executed = run(&Inventing, "", |_| ());
    let result = &executed.outcomes[0].result;
    assert_eq!((result.status, result.degraded), (LensStatus::Degraded, true));
    assert_eq!(result.error_codes, [Code::EvidenceUnverified]);
    assert_eq!(result.findings.len(), 2);
    assert!(
        result
            .findings
            .iter()
            .all(|finding| !finding.blocking && finding.codes == [Code::EvidenceUnverified])
    );
}

#[test]
fn a_file_that_a_lens_cannot_read_degrades_it_unless_the_policy_allows_it() {
    let result = run(&Unreading, "", |_| ()).outcomes.remove(0).result;
    assert_eq!((result.status, result.error_codes), (LensStatus::Degraded, vec![Code::SourceUnread]));
    assert_eq!(result.evidence_summary[1..], ["could not parse b.rs"]);
    let result = run(&Unreading, "[limits]\nallow-omitted = true\n", |_| ()).outcomes.remove(0).result;
    assert_eq!((result.status, result.warning_codes), (LensStatus::Completed, vec![Code::SourceUnread]));
}

#[test]
fn text_that_was_removed_elsewhere_explains_only_the_same_text() {
    let executed = run(&Steady, "", |_| ());
    let origins: Vec<_> = executed.outcomes[0]
        .result
        .findings
        .iter()
        .map(|finding| (finding.origin, finding.blocking))
        .collect();
    assert_eq!(origins, [(FindingOrigin::Introduced, true), (FindingOrigin::Introduced, true)]);
    // No added text equals the removed one, so nothing is counted as moved.
    assert!(executed.outcomes[0].moved.is_empty());
}

#[test]
fn a_finding_names_the_part_of_the_review_that_made_it() {
    let part = |plan: &mut LensPlan| plan.sub_lens_id = Some("part-002".to_owned());
    let result = run(&Steady, "", part).outcomes.remove(0).result;
    assert!(!result.findings.is_empty());
    assert!(result.findings.iter().all(|finding| finding.sub_lens_id.as_deref() == Some("part-002")));
}

#[test]
fn a_plan_over_the_run_budget_is_not_run_and_says_so() {
    let dear = |plan: &mut LensPlan| plan.max_input_tokens = 300_001;
    let result = run(&Steady, "", dear).outcomes.remove(0).result;
    assert_eq!((result.status, result.error_codes), (LensStatus::Failed, vec![Code::BudgetRunExceeded]));
    assert!(result.findings.is_empty());
}

#[test]
fn a_required_plan_that_leaves_hunks_out_is_degraded_unless_the_policy_allows_it() {
    let bounded = "[limits]\nmax-files = 2\n";
    let result = run(&Steady, bounded, |_| ()).outcomes.remove(0).result;
    assert_eq!((result.status, result.error_codes), (LensStatus::Degraded, vec![Code::DiffTooLarge]));
    let result =
        run(&Steady, "[limits]\nmax-files = 2\nallow-omitted = true\n", |_| ()).outcomes.remove(0).result;
    assert_eq!((result.status, result.warning_codes), (LensStatus::Completed, vec![Code::DiffTooLarge]));
}

/// The port that reads lines panics here, since no input makes the cross-check itself panic.
#[test]
fn a_cross_check_that_panics_is_reported_and_counts_as_failed() {
    let marker = format!("{} HEAD\n", "<".repeat(7));
    let conflict = format!("{marker}a\n{}\nb\n{} topic\n", "=".repeat(7), ">".repeat(7));
    let (change_set, texts) = change_of(&[("a.toml", "x\n", &conflict)]);
    let registry = qa_lenses::registry();
    let scores = change_set.files.iter().zip(&texts);
    let scores = scores.map(|(file, text)| sensitivity::file_sensitivity(file, text)).collect();
    let recorded = RecordedInputs {
        schema_version: Default::default(),
        base_policy: None,
        base_waivers: None,
        base_rubric: None,
        head_policy: None,
        surveys: Vec::new(),
        observer: None,
    };
    let inputs = Inputs {
        repo_id: "local".to_owned(),
        overrides: Overrides::default(),
        in_force: PolicyInForce::parse(recorded, &Overrides::default(), &registry).unwrap(),
        registry,
        sensitivity: sensitivity::change_sensitivity(&change_set.files, scores),
        change_set,
        gates: RecordedGates::default(),
        execution: RecordedExecution::default(),
        replies: RecordedReplies::default(),
        observer: None,
    };
    let nothing = RecordedLookups::default();
    let lookups = crate::lookup::TreeLookups::from_recording(&nothing);
    let cancellation = Cancellation::default();
    let mut ports = Ports {
        texts: &texts,
        surveys: &RecordedSurveys(&[]),
        lookups: &lookups,
        lines: &|_, _, _, _| Some(marker.trim_end().to_owned()),
        joined: None,
        cancellation: &cancellation,
        progress: &Silent,
    };
    let conclusion = |ports: &Ports<'_>| {
        let outcome = derive(&inputs, ports, keys::key(&inputs, ports)).unwrap();
        let codes: Vec<&str> = outcome.verdict.error_codes.iter().map(|code| code.as_str()).collect();
        (outcome.verdict.conclusion, outcome.cross_check.passed, codes)
    };
    assert_eq!(conclusion(&ports), (Conclusion::Fail, true, vec![]));
    ports.lines = &|_, _, _, _| panic!("as planted");
    assert_eq!(conclusion(&ports), (Conclusion::Fail, false, vec!["CROSS_CHECK_UNAVAILABLE"]));
}
