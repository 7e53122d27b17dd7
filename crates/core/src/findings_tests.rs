//! From statement to finding: identity, origin, strength, waiver, and so whether it blocks.

use proptest::prelude::*;

use super::*;
use crate::policy::Overrides;
use qa_contracts::v1::{LensClass, PresetStrengths, Registry, RegistryLens, RegistryRule, ScopeStrengths};

const RULE: &str = "a/rule";
const RATCHET: &str = "a/ratchet";
const ADVICE: &str = "a/advice";

fn policy(text: &str) -> Policy {
    let rule = |id: &str, strength| {
        let everywhere = ScopeStrengths {
            product: strength,
            test: strength,
            docs: strength,
            generated: strength,
            vendored: Strength::Off,
        };
        RegistryRule {
            rule_id: id.to_owned(),
            title: String::new(),
            severity: Severity::High,
            strengths: PresetStrengths { default: everywhere, guarded: everywhere, advisory: everywhere },
        }
    };
    let registry = Registry {
        schema_version: Default::default(),
        skill_id: "q".to_owned(),
        lenses: vec![RegistryLens {
            lens_id: "a".to_owned(),
            lens_version: "1".to_owned(),
            lens_class: LensClass::Style,
            title: String::new(),
            required_by_default: true,
            triggers: vec!["**".to_owned()],
            rules: vec![
                rule(ADVICE, Strength::Advise),
                rule(RATCHET, Strength::Ratchet),
                rule(RULE, Strength::Block),
            ],
        }],
    };
    Policy::parse(Some(text), &Overrides::default(), &registry).unwrap()
}

fn path(name: &str) -> RepoPath {
    RepoPath::from_bytes(name.as_bytes()).unwrap()
}

fn file(name: &str, scope: Scope) -> ChangedFile {
    serde_json::from_value(json!({
        "path": name, "oldPath": null, "kind": "modified", "oldMode": null, "newMode": null,
        "oldBlob": null, "newBlob": null, "class": "source", "scope": scope, "scopeReason": "name", "language": "python",
        "text": true, "hunks": [], "codes": []
    }))
    .unwrap()
}

fn renamed(old: &str, name: &str, scope: Scope) -> ChangedFile {
    ChangedFile { old_path: Some(path(old)), ..file(name, scope) }
}

fn statement(rule: &str, line: u64, quote: &str) -> Statement {
    Statement {
        rule_id: rule.to_owned(),
        severity: Severity::Medium,
        fix: String::new(),
        edit: None,
        moves: true,
        file: path("a.py"),
        side: Side::Head,
        start_line: line,
        end_line: line,
        start_column: 1,
        end_column: 2,
        quote: quote.to_owned(),
        value: None,
        subject: String::new(),
        operand: None,
        summary: String::new(),
        detail: BTreeMap::new(),
        doubt: None,
    }
}

/// The operand `y` in the first hunk of a file.
fn operand(rule: &str, file: &str) -> Operand {
    let (definition, text) = ("f".to_owned(), "y".to_owned());
    Operand { rule_id: rule.to_owned(), file: path(file), hunk: 0, definition, text }
}

#[derive(Default)]
struct World {
    policy: &'static str,
    waivers: Vec<Waiver>,
    today: &'static str,
    survey: Option<(u64, u64)>,
    moved: Vec<(&'static str, Scope, &'static str, Option<u32>)>,
    /// Removed texts with the operand `y`, each with its file.
    moved_operands: Vec<(&'static str, Scope, &'static str, &'static str)>,
}

impl World {
    fn judge(&self, statements: Vec<Statement>) -> Vec<Finding> {
        let files = [
            file("a.py", Scope::Product),
            file("b.py", Scope::Product),
            file("vendor/c.py", Scope::Vendored),
            renamed("d.py", "vendor/d.py", Scope::Vendored),
            renamed("vendor/e.py", "e.py", Scope::Product),
        ];
        let by_path = files.iter().map(|file| (&file.path, file)).collect();
        let policy = policy(self.policy);
        let surveys: Vec<RecordedSurvey> = self
            .survey
            .iter()
            .map(|(support, complying)| RecordedSurvey {
                rule_id: RATCHET.to_owned(),
                population: population(&files[0]),
                support: *support,
                complying: *complying,
                blobs_digest: canonical::sha256(b""),
            })
            .collect();
        let mut moved = MovedCounts::default();
        for (rule, scope, text, value) in &self.moved {
            let text = MovedText {
                rule_id: (*rule).to_owned(),
                scope: *scope,
                quote: (*text).to_owned(),
                secret: *value,
            };
            moved.add(text, None, 1);
        }
        for (rule, scope, text, file) in &self.moved_operands {
            let (rule_id, quote) = ((*rule).to_owned(), (*text).to_owned());
            let operand = operand(rule, file);
            moved.add(MovedText { rule_id, scope: *scope, quote, secret: None }, Some(operand), 1);
        }
        let mut context = Judge {
            policy: &policy,
            waivers: &self.waivers,
            today: self.today.to_owned(),
            surveys: &surveys,
            moved,
        };
        judge("a", statements, &by_path, &mut context)
    }

    fn blocks(&self, statement: Statement) -> bool {
        let findings = self.judge(vec![statement]);
        assert_eq!(findings.len(), 1);
        findings[0].blocking
    }
}

#[test]
fn the_blocking_policy_decides_between_rule_and_severity() {
    let cases = [
        ("", RULE, Severity::Info, true),
        ("", ADVICE, Severity::Critical, false),
        ("blocking-policy = \"severity_threshold\"\n", RULE, Severity::Medium, false),
        ("blocking-policy = \"severity_threshold\"\n", RULE, Severity::High, true),
        ("blocking-policy = \"severity_threshold\"\n", ADVICE, Severity::Critical, true),
        (
            "blocking-policy = \"severity_threshold\"\nblocking-threshold = \"low\"\n",
            ADVICE,
            Severity::Low,
            true,
        ),
        (
            "blocking-policy = \"severity_threshold\"\nblocking-threshold = \"low\"\n",
            RULE,
            Severity::Info,
            false,
        ),
        ("blocking-policy = \"mixed\"\n", RULE, Severity::Info, true),
        ("blocking-policy = \"mixed\"\n", ADVICE, Severity::High, true),
        ("blocking-policy = \"mixed\"\n", ADVICE, Severity::Medium, false),
    ];
    for (policy, rule, severity, blocks) in cases {
        let world = World { policy, ..World::default() };
        let statement = Statement { severity, ..statement(rule, 1, "x") };
        assert_eq!(world.blocks(statement), blocks, "{policy:?} {rule} {severity}");
    }
}

#[test]
fn a_renamed_file_is_judged_where_the_rule_is_stricter() {
    let about = |name| Statement { file: path(name), ..statement(RULE, 1, "q") };
    for (name, expected) in [
        ("vendor/c.py", None),
        ("vendor/d.py", Some((Scope::Product, true))),
        ("e.py", Some((Scope::Product, true))),
    ] {
        let found = World::default().judge(vec![about(name)]);
        let found = found.first().map(|finding| (finding.scope, finding.blocking));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_rule_that_is_off_in_a_scope_says_nothing_there() {
    let there = Statement { file: path("vendor/c.py"), ..statement(RULE, 1, "x") };
    assert_eq!(World::default().judge(vec![there]), []);
    assert_eq!(World::default().judge(vec![statement("a/unknown", 1, "x")]), []);
}

#[test]
fn what_is_said_about_a_path_that_is_not_in_the_change_is_kept() {
    let elsewhere = Statement {
        file: path("not-in-the-change.py"),
        doubt: Some(Code::EvidenceUnverified),
        ..statement(RULE, 1, "x")
    };
    let findings = World::default().judge(vec![elsewhere]);
    assert_eq!((findings.len(), findings[0].blocking), (1, false));
}

#[test]
fn what_cannot_be_shown_is_kept_and_does_not_block() {
    for policy in ["", "blocking-policy = \"mixed\"\nblocking-threshold = \"info\"\n"] {
        let world = World { policy, ..World::default() };
        let findings =
            world.judge(vec![Statement { doubt: Some(Code::EvidenceUnverified), ..statement(RULE, 1, "x") }]);
        assert_eq!((findings[0].blocking, &findings[0].codes[..]), (false, &[Code::EvidenceUnverified][..]));
    }
}

#[test]
fn a_ratchet_holds_from_its_share_and_support_on() {
    let cases = [
        (None, false),
        (Some((19, 19)), false),
        (Some((20, 20)), true),
        (Some((20, 19)), false),
        (Some((50, 49)), true),
        (Some((100, 98)), true),
        (Some((1000, 979)), false),
        (Some((1000, 980)), true),
    ];
    for (survey, holds) in cases {
        let world = World { survey, ..World::default() };
        let finding = world.judge(vec![statement(RATCHET, 1, "x")]).remove(0);
        let ratchet = finding.ratchet.clone().unwrap();
        assert_eq!((finding.blocking, ratchet.holds), (holds, holds), "{survey:?}");
        assert_eq!((ratchet.support, ratchet.complying), survey.unwrap_or((0, 0)));
        assert_eq!((ratchet.theta_permille, ratchet.min_support), (980, 20));
    }
    let policy = "[ratchet]\ntheta-permille = 500\nmin-support = 2\n";
    assert!(World { policy, survey: Some((2, 1)), ..World::default() }.blocks(statement(RATCHET, 1, "x")));
}

#[test]
fn a_waiver_holds_for_one_rule_and_evidence_to_the_end_of_its_day() {
    let finding = World::default().judge(vec![statement(RULE, 1, "x")]).remove(0);
    let waiver = |rule: &str, hash: &str, expires: &str| Waiver {
        rule: rule.to_owned(),
        evidence_hash: hash.to_owned(),
        owner: "ann".to_owned(),
        reason: "why".to_owned(),
        expires: expires.to_owned(),
    };
    let hash = finding.evidence_hash.as_str();
    let other = "0".repeat(64);
    let cases = [
        (vec![waiver(RULE, hash, "2024-05-02")], false, vec![]),
        (vec![waiver(RULE, hash, "2024-05-01")], false, vec![]),
        (vec![waiver(RULE, hash, "2024-04-30")], true, vec![Code::WaiverExpired]),
        (vec![waiver(RULE, hash, "2023-12-31"), waiver(RULE, hash, "2024-12-31")], false, vec![]),
        (vec![waiver(ADVICE, hash, "2030-01-01")], true, vec![]),
        (vec![waiver(RULE, &other, "2030-01-01")], true, vec![]),
    ];
    for (waivers, blocks, codes) in cases {
        let world = World { waivers: waivers.clone(), today: "2024-05-01", ..World::default() };
        let finding = world.judge(vec![statement(RULE, 1, "x")]).remove(0);
        assert_eq!((finding.blocking, finding.waiver.is_none()), (blocks, blocks), "{waivers:?}");
        assert_eq!(finding.codes, codes, "{waivers:?}");
    }
    // The same text on another line is other evidence.
    let world =
        World { waivers: vec![waiver(RULE, hash, "2030-01-01")], today: "2024-05-01", ..World::default() };
    assert!(world.blocks(statement(RULE, 2, "x")));
}

#[test]
fn a_text_that_was_removed_explains_one_that_was_added() {
    let removed = (RULE, Scope::Product, "x=1", None);
    let two = || vec![statement(RULE, 1, "x = 1"), statement(RULE, 9, "x =  1")];
    let origins = |world: &World| -> Vec<(FindingOrigin, bool)> {
        world.judge(two()).into_iter().map(|finding| (finding.origin, finding.blocking)).collect()
    };
    let (old, new) = ((FindingOrigin::PreExisting, false), (FindingOrigin::Introduced, true));
    assert_eq!(origins(&World::default()), [new, new]);
    assert_eq!(origins(&World { moved: vec![removed], ..World::default() }), [old, new]);
    assert_eq!(origins(&World { moved: vec![removed, removed], ..World::default() }), [old, old]);
    for other in [
        (ADVICE, Scope::Product, "x=1", None),
        (RULE, Scope::Test, "x=1", None),
        (RULE, Scope::Product, "x=1", Some(0)),
        (RULE, Scope::Product, "x=2", None),
    ] {
        assert_eq!(origins(&World { moved: vec![other], ..World::default() }), [new, new], "{other:?}");
    }
    let act = Statement { moves: false, ..statement(RULE, 1, "x = 1") };
    assert!(World { moved: vec![removed], ..World::default() }.blocks(act));
}

#[test]
fn a_removed_hit_of_the_rule_explains_one_of_its_operand_in_its_hunk_and_function() {
    let in_a = (RULE, Scope::Product, "b.y", "a.py");
    let calls = || {
        let call =
            |line, quote| Statement { operand: Some(operand(RULE, "a.py")), ..statement(RULE, line, quote) };
        vec![call(1, "a.y"), call(2, "c.y"), call(3, "b.y")]
    };
    let blocking =
        |world: &World| world.judge(calls()).iter().map(|finding| finding.blocking).collect::<Vec<bool>>();
    let with = |moved_operands: &[_]| World { moved_operands: moved_operands.to_vec(), ..World::default() };
    assert_eq!(blocking(&World::default()), [true, true, true]);
    // The same text comes first, then what has the same operand.
    assert_eq!(blocking(&with(&[in_a])), [true, true, false]);
    assert_eq!(blocking(&with(&[in_a, in_a])), [false, true, false]);
    assert_eq!(blocking(&with(&[in_a, in_a, in_a])), [false, false, false]);
    let in_b = (RULE, Scope::Product, "b.y", "b.py");
    assert_eq!(
        blocking(&with(&[in_a, in_b])),
        [false, true, false],
        "another file explains its own text alone"
    );
    for other in [
        (ADVICE, Scope::Product, "z.y", "a.py"),
        (RULE, Scope::Test, "z.y", "a.py"),
        (RULE, Scope::Product, "z.y", "b.py"),
    ] {
        assert_eq!(blocking(&with(&[other])), [true, true, true], "{other:?}");
    }
    for other in [
        Operand { hunk: 1, ..operand(RULE, "a.py") },
        Operand { definition: "g".to_owned(), ..operand(RULE, "a.py") },
    ] {
        let elsewhere = Statement { operand: Some(other.clone()), ..statement(RULE, 1, "a.y") };
        assert!(with(&[in_a]).blocks(elsewhere), "{other:?}");
    }
    for other in [
        Operand { hunk: 1, ..operand(RULE, "a.py") },
        Operand { definition: "g".to_owned(), ..operand(RULE, "a.py") },
    ] {
        let elsewhere = Statement { operand: Some(other.clone()), ..statement(RULE, 1, "a.y") };
        assert!(with(&[in_a]).blocks(elsewhere), "{other:?}");
    }
    let act = Statement { moves: false, ..calls().remove(0) };
    assert!(with(&[in_a]).blocks(act));
    assert!(with(&[in_a]).blocks(statement(RULE, 1, "a.y")));
}

#[test]
fn a_finding_about_several_lines_is_explained_by_as_many() {
    let removed = (RULE, Scope::Product, "x", None);
    let folded = || {
        let detail = BTreeMap::from([(ALSO_ON_LINES.to_owned(), json!([5, 9]))]);
        Statement { detail, ..statement(RULE, 1, "x") }
    };
    let with = |count: usize| World { moved: vec![removed; count], ..World::default() };
    assert!(with(1).blocks(folded()));
    assert!(with(2).blocks(folded()));
    assert!(!with(3).blocks(folded()));
}

#[test]
fn equal_lines_are_told_apart_and_an_identity_survives_a_move_within_its_file() {
    let ids = |lines: &[(u64, &str)]| -> Vec<String> {
        let statements = lines.iter().map(|(line, quote)| statement(RULE, *line, quote)).collect();
        World::default().judge(statements).into_iter().map(|finding| finding.finding_id.to_string()).collect()
    };
    let (first, moved) = (ids(&[(1, "x"), (5, "x")]), ids(&[(101, " x"), (205, "x ")]));
    assert_ne!(first[0], first[1]);
    assert_eq!(first, moved);
    assert_ne!(ids(&[(1, "y")])[0], first[0]);
    let elsewhere = Statement { file: path("b.py"), ..statement(RULE, 1, "x") };
    assert_ne!(World::default().judge(vec![elsewhere])[0].finding_id.as_str(), first[0]);
    // The same place twice is one finding; another column is another.
    assert_eq!(ids(&[(1, "x"), (1, "x")]).len(), 1);
    let right = Statement { start_column: 9, ..statement(RULE, 1, "x") };
    assert_eq!(World::default().judge(vec![statement(RULE, 1, "x"), right]).len(), 2);
}

#[test]
fn findings_are_ordered_by_severity_lens_file_line_rule_and_evidence() {
    let base = World::default().judge(vec![statement(RULE, 1, "x")]).remove(0);
    let hash = |digit: &str| Sha256Hex::parse(&digit.repeat(64)).unwrap();
    let ordered = [
        Finding { severity: Severity::Critical, lens_id: "z".to_owned(), ..base.clone() },
        Finding { severity: Severity::High, lens_id: "b".to_owned(), ..base.clone() },
        Finding { severity: Severity::Medium, evidence_hash: hash("0"), ..base.clone() },
        Finding { severity: Severity::Medium, evidence_hash: hash("f"), ..base.clone() },
        Finding { rule_id: "a/z".to_owned(), evidence_hash: hash("0"), ..base.clone() },
        Finding { start_line: 2, ..base.clone() },
        Finding { start_line: 10, ..base.clone() },
        Finding { file: path("b.py"), ..base.clone() },
        Finding { lens_id: "b".to_owned(), ..base.clone() },
        Finding { severity: Severity::Info, ..base },
    ];
    let mut shuffled: Vec<Finding> = ordered.to_vec();
    for _ in 0..ordered.len() {
        shuffled.rotate_left(3);
        shuffled.swap(0, 5);
        let mut sorted = shuffled.clone();
        sort_findings(&mut sorted);
        assert_eq!(sorted, ordered);
    }
}

proptest! {
    #[test]
    fn the_order_of_statements_does_not_matter(
        lines in prop::collection::vec((1u64..6, 0usize..3, 0usize..2), 0..12),
        seed in 0usize..100,
    ) {
        let rules = [RULE, RATCHET, ADVICE];
        let statements: Vec<Statement> = lines
            .iter()
            .map(|(line, rule, quote)| Statement {
                start_column: *quote as u64,
                ..statement(rules[*rule], *line, ["x", "y"][*quote])
            })
            .collect();
        let mut other = statements.clone();
        if !other.is_empty() {
            let middle = seed % other.len();
            other.rotate_left(middle);
            other.reverse();
        }
        prop_assert_eq!(World::default().judge(statements), World::default().judge(other));
    }
}
