//! Modes, cadence and cooldown as tables, and the plans that wait in each mode.

use super::*;
use crate::policy::Overrides;
use crate::policy::weakening::weakened;
use qa_contracts::v1::{LensClass, Registry, RegistryLens};

const DRAFT: Occasion = Occasion::Draft { begins: false };

/// A registry of a rule, two reviews and all gates.
fn registry() -> Registry {
    let lens = |id: &str| -> RegistryLens {
        serde_json::from_value(serde_json::json!({
            "lensId": id, "lensVersion": "1", "lensClass": LensClass::Security, "title": id,
            "requiredByDefault": false, "triggers": ["**"], "rules": []
        }))
        .unwrap()
    };
    let ids = ["secret-token", "review-security", "review-logic", "lint", "unit_tests", "browser_tests"];
    let lenses = ids.iter().map(|id| lens(id)).chain([lens("type_check"), lens("story_validation")]);
    let mut registry: Registry = serde_json::from_value(serde_json::json!({
        "schemaVersion": "registry.v1", "skillId": "qa-skill", "lenses": []
    }))
    .unwrap();
    registry.lenses = lenses.collect();
    registry
}

const MODEL: &str = "
[models.m]
provider = \"openai-codex\"
model = \"gpt-5.1-codex\"
[lenses.review-security]
model = \"m\"
[lenses.review-logic]
model = \"m\"
";

/// Gates that run commands, import reports, and read another gate's tests.
const GATES: &str = "
[gates.lint]
reports = [{ path = \"lint.json\", tool = \"ruff\" }]
[gates.unit_tests]
run = [\"pytest\"]
[gates.browser_tests]
run = [\"playwright\"]
reports = [{ path = \"browser.json\", tool = \"playwright\" }]
[gates.story_validation]
tests-of = [\"unit_tests\"]
";

fn policy(observer: &str) -> Policy {
    let text = format!("{observer}\n{MODEL}\n{GATES}");
    Policy::parse(Some(&text), &Overrides::default(), &registry()).unwrap_or_else(|error| panic!("{error}"))
}

fn settings(observer: &str) -> Settings {
    Settings::new(&policy(&format!("[observer]\nenabled = true\n{observer}")), Pace::default()).unwrap()
}

#[test]
fn the_occasion_decides_the_mode() {
    let known = Some(EarlierTurns { turns: 1, last_due: None, has_diff: true, failed_cross_check: false });
    let beginning = Occasion::Draft { begins: true };
    let merging = Occasion::Final("a merge group is about to land");
    use ObserverMode::{Bootstrap, Cadence, CrossCheck};
    for (occasion, earlier, mode) in [
        (beginning, None, Bootstrap),
        (beginning, known, Bootstrap),
        (DRAFT, None, Bootstrap),
        (DRAFT, known, Cadence),
        (merging, None, CrossCheck),
        (merging, known, CrossCheck),
        (Occasion::Requested(Bootstrap), known, Bootstrap),
        (Occasion::Requested(Cadence), None, Cadence),
        (Occasion::Requested(CrossCheck), None, CrossCheck),
    ] {
        let decision = decide(occasion, earlier, &settings("defer = [\"*\"]"));
        assert_eq!(decision.mode, mode, "{occasion:?} {earlier:?}");
        assert_eq!(decision.deferred.is_empty(), mode == CrossCheck, "{occasion:?} {earlier:?}");
        assert!(!decision.due && !decision.why.is_empty());
    }
}

/// Numbers of the turns in which deferred plans are due.
fn due_turns(settings: &Settings, diffs: &[bool]) -> Vec<u64> {
    let mut due = Vec::new();
    for (turns, &has_diff) in (0..).zip(diffs) {
        if settings.is_due(EarlierTurns {
            turns,
            last_due: due.last().copied(),
            has_diff,
            failed_cross_check: false,
        }) {
            due.push(turns + 1);
        }
    }
    due
}

#[test]
fn cadence_and_cooldown_count_every_turn_and_fire_on_one_with_a_diff() {
    let of = |cadence: u64, cooldown: u64| settings(&format!("cadence = {cadence}\ncooldown = {cooldown}"));
    let (yes, no) = (true, false);
    for (cadence, cooldown, diffs, due) in [
        (3, 1, vec![yes; 7], vec![3, 6]),
        (1, 2, vec![yes, no, yes], vec![1, 3]),
        (1, 1, vec![yes, yes, no, yes], vec![1, 2, 4]),
        (1, 3, vec![yes; 7], vec![1, 4, 7]),
        (3, 1, vec![yes, yes, no, yes, yes, yes, yes], vec![4, 7]),
        (2, 5, vec![yes; 8], vec![2, 7]),
        (3, 1, vec![no; 7], vec![]),
    ] {
        assert_eq!(due_turns(&of(cadence, cooldown), &diffs), due, "{cadence} {cooldown} {diffs:?}");
    }
}

#[test]
fn the_environment_replaces_the_numbers_of_the_policy_and_off_is_never() {
    let policy = policy("[observer]\nenabled = true\ncadence = 2");
    let with = |pace: Pace| Settings::new(&policy, pace).unwrap();
    let every = Pace { cadence: Some(Cadence::Every(4)), cooldown: None };
    let off = Pace { cadence: Some(Cadence::Off), cooldown: Some(1) };
    assert_eq!(due_turns(&with(Pace::default()), &[true; 5]), [2, 4]);
    assert_eq!(due_turns(&with(every), &[true; 5]), [4]);
    assert_eq!(due_turns(&with(off), &[true; 9]), Vec::<u64>::new());

    let shown = |pace: Pace| -> Vec<String> {
        let settings = pace.in_settings(policy.settings.clone()).into_iter();
        let pace =
            settings.filter(|row| matches!(row.name.as_str(), "observer.cadence" | "observer.cooldown"));
        pace.map(|row| format!("{} {}", row.value, row.origin)).collect()
    };
    assert_eq!(shown(Pace::default()), ["2 policy", "1 default"]);
    assert_eq!(shown(every), ["4 environment", "1 default"]);
    assert_eq!(shown(off), ["off environment", "1 environment"]);
}

#[test]
fn a_turn_was_due_although_commands_wait_for_the_cross_check() {
    let settings = settings("defer = [\"review-*\"]");
    let commands = settings.deferred(ObserverMode::Cadence, true);
    let all = settings.deferred(ObserverMode::Cadence, false);
    assert!(!commands.is_empty() && commands.len() < all.len(), "{commands:?} {all:?}");
    for (mode, deferred, expected) in [
        (ObserverMode::Bootstrap, all.as_slice(), false),
        (ObserverMode::Cadence, &all, false),
        (ObserverMode::Cadence, &commands, true),
        (ObserverMode::CrossCheck, &[], true),
    ] {
        assert_eq!(settings.was_due(mode, deferred), expected, "{mode} {deferred:?}");
    }
}

#[test]
fn reviews_and_commands_wait_and_rules_and_imports_never_do() {
    use ObserverMode::{Bootstrap, Cadence};
    let (reviews, gates) =
        (["review-logic", "review-security"], ["gate:browser_tests", "gate:story_validation"]);
    let commands = [&gates[..], &["gate:unit_tests"]].concat();
    let executes = "execute = [\"bootstrap\", \"cadence\", \"cross-check\"]\n";
    for (table, mode, is_due, deferred) in [
        // Drafts execute nothing unless the policy says so, and steps wait for the tests that they need.
        ("", Bootstrap, false, [&commands[..], &reviews].concat()),
        ("", Cadence, true, commands.clone()),
        (executes, Bootstrap, false, [&gates[..1], &reviews].concat()),
        (executes, Cadence, true, vec![]),
        ("execute = [\"cadence\", \"cross-check\"]\n", Bootstrap, true, commands.clone()),
        ("defer = []\n", Bootstrap, false, commands.clone()),
        (&format!("defer = [\"*\"]\n{executes}"), Cadence, false, [&commands[..], &reviews].concat()),
        (&format!("defer = [\"review-s*\"]\n{executes}"), Cadence, false, vec!["review-security"]),
        (&format!("defer = [\"gate:lint\"]\n{executes}"), Bootstrap, false, vec![]),
    ] {
        assert_eq!(settings(table).deferred(mode, is_due), deferred, "{table}{mode} {is_due}");
    }
    let everything = settings("defer = [\"*\"]");
    assert_eq!(everything.deferred(ObserverMode::CrossCheck, false), Vec::<String>::new());
}

#[test]
fn a_cross_check_that_did_not_pass_sends_a_draft_back_to_its_bootstrap() {
    let settings = settings("");
    let mut earlier = EarlierTurns { turns: 4, last_due: None, has_diff: true, failed_cross_check: true };
    assert_eq!(decide(DRAFT, Some(earlier), &settings).mode, ObserverMode::Bootstrap);
    earlier.failed_cross_check = false;
    assert_eq!(decide(DRAFT, Some(earlier), &settings).mode, ObserverMode::Cadence);
}

#[test]
fn where_a_ledger_stands_is_recorded_only_where_the_policy_needs_one() {
    for (table, expected) in [("", None), ("ledger = \"required\"\n", Some(LedgerState::Lost))] {
        let policy = policy(&format!("[observer]\nenabled = true\n{table}"));
        let decision = decide(DRAFT, None, &Settings::new(&policy, Pace::default()).unwrap());
        let recorded = decision.recorded(&policy, Some(LedgerState::Lost));
        assert_eq!(recorded.ledger, expected, "{table}");
        assert!(is_decision_under(Some(&recorded), &policy));
        assert!(!is_decision_under(None, &policy));
        let planted = RecordedObserver { ledger: Some(LedgerState::Continued), ..recorded };
        assert_eq!(is_decision_under(Some(&planted), &policy), expected.is_some());
    }
}

#[test]
fn an_observer_that_is_not_enabled_decides_nothing() {
    for table in ["", "[observer]\nenabled = false\ndefer = [\"*\"]"] {
        assert_eq!(Settings::new(&policy(table), Pace::default()), None, "{table}");
    }
}

#[test]
fn a_table_that_could_not_be_followed_is_refused() {
    for (table, expected) in [
        ("cadence = 3", "missing field `enabled`"),
        ("enabled = true\ncadance = 3", "did you mean `cadence`?"),
        ("enabled = true\ncadence = 0", "observer.cadence is 0, it must be from 1 to 1000"),
        ("enabled = true\ncooldown = 1001", "observer.cooldown is 1001, it must be from 1 to 1000"),
        ("enabled = true\ndefer = [\"review-securty\"]", "did you mean `review-security`?"),
        ("enabled = true\ndefer = [\"browser_tests\"]", "did you mean `gate:browser_tests`?"),
        ("enabled = true\ndefer = [\"secret-token\"]", "`secret-token` has rules, which look at every turn"),
        ("enabled = true\ndefer = [\"[\"]", "glob"),
        ("enabled = true\nexecute = [\"cadence\"]", "observer.execute lacks `cross-check`"),
        ("enabled = true\npass = []", "observer.pass lacks `cross-check`"),
        ("enabled = true\npass = [\"cross_check\"]", "unknown variant `cross_check`"),
    ] {
        let text = format!("version = 1\n[observer]\n{table}\n{MODEL}");
        let error = Policy::parse(Some(&text), &Overrides::default(), &registry()).unwrap_err().to_string();
        assert!(error.contains(expected), "{table}: {error}");
    }
}

#[test]
fn a_policy_is_weaker_where_more_waits_or_more_modes_pass() {
    let names = |base: &str, head: &str| -> Vec<String> {
        weakened(&policy(base), &policy(head)).into_iter().map(|setting| setting.name).collect()
    };
    let on = |more: &str| format!("[observer]\nenabled = true\n{more}");
    let off = "[observer]\nenabled = false";
    let strict = on("pass = [\"cross-check\"]");
    let nothing = Vec::<String>::new();
    assert_eq!(names("", &on("")), ["observer.defer"]);
    assert_eq!(names(&on(""), off), nothing);
    assert_eq!(
        names(&on("defer = [\"review-*\"]"), &on("defer = [\"review-*\", \"gate:*\"]")),
        ["observer.defer"]
    );
    assert_eq!(names(&on("defer = [\"review-*\", \"gate:*\"]"), &on("defer = [\"gate:*\"]")), nothing);
    assert_eq!(names(&strict, &on("")), ["observer.pass"]);
    let required = on("ledger = \"required\"");
    for without in [on("ledger = \"optional\""), on(""), off.to_owned()] {
        assert_eq!(names(&required, &without), ["observer.ledger"]);
        assert!(!names(&without, &required).contains(&"observer.ledger".to_owned()));
    }
    assert_eq!(names(&strict, off), ["observer.pass"]);
    assert_eq!(names(&on(""), &strict), nothing);
}
