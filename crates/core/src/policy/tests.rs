//! Settings that a policy may have, and the messages for faulty ones.

use super::file::parse_waivers;
use super::*;
use qa_contracts::v1::{
    LensClass, Preset, PresetStrengths, Registry, RegistryLens, RegistryRule, RunMode, Scope, ScopeStrengths,
    Severity, Strength,
};

fn registry() -> Registry {
    let all = |strength| ScopeStrengths {
        product: strength,
        test: strength,
        docs: strength,
        generated: strength,
        vendored: strength,
    };
    Registry {
        schema_version: Default::default(),
        skill_id: "qa-skill".to_owned(),
        lenses: vec![RegistryLens {
            lens_id: "merge-leftover".to_owned(),
            lens_version: "1".to_owned(),
            lens_class: LensClass::Style,
            title: String::new(),
            required_by_default: true,
            triggers: vec!["**".to_owned()],
            rules: vec![RegistryRule {
                rule_id: "merge-leftover/conflict-marker".to_owned(),
                title: String::new(),
                severity: Severity::High,
                strengths: PresetStrengths {
                    default: all(Strength::Block),
                    guarded: all(Strength::Block),
                    advisory: all(Strength::Advise),
                },
            }],
        }],
    }
}

fn read(text: &str) -> Result<Policy, String> {
    Policy::parse(Some(text), &Overrides::default(), &registry()).map_err(|error| error.to_string())
}

#[test]
fn mistakes_are_named_with_line_and_suggestion() {
    let cases = [
        (
            "preset = \"default\"\nmod = \"strict\"\n",
            "line 2: unknown field `mod`",
            Some("did you mean `mode`?"),
        ),
        ("mode = \"strict\"\nmode = \"strict\"\n", "line 2: duplicate key", None),
        (
            "[limits]\nmax-files = 1\n[limits.context]\nmax-files = 0\n",
            "line 4: limits.context.max-files is 0, it must be from 1 to 1000000",
            None,
        ),
        ("consistency.rubric = 0\n", "line 1: consistency.rubric is 0", None),
        ("preset = \"gaurded\"\n", "line 1: unknown variant `gaurded`", Some("did you mean `guarded`?")),
        (
            "\n[lenses.merge-leftovers]\n",
            "line 2: there is no lens `merge-leftovers`",
            Some("did you mean `merge-leftover`?"),
        ),
        (
            "[rules.\"merge-leftover/conflict-markers\"]\nstrength = \"off\"\n",
            "line 1: there is no rule",
            Some("did you mean `merge-leftover/conflict-marker`?"),
        ),
        ("[limits]\nmax-files = 0\n", "line 2: limits.max-files is 0", None),
        ("[limits]\nmax-files = -1\n", "line 2: ", None),
        ("[limits]\nmax-files = \"many\"\n", "expected a whole number that is not negative", None),
        ("rules = 3\n", "invalid type: integer `3`, expected a table", None),
        ("[rules]\n\"merge-leftover/conflict-marker\" = \"off\"\n", "expected a table", None),
        ("[scopes]\ntest = \"a\"\n", "expected an array", None),
        ("[lenses.secret-token]\nenabled = 1\n", "expected true or false", None),
        ("version = 2\n", "line 1: version 2 is not known", None),
        ("[scopes]\ntest = [\"a[\"]\n", "line 2, column 9: glob \"a[\"", None),
        (
            "# merge-leftover\n[rules.merge-leftover]\nstrength = \"off\"\n",
            "line 2: `merge-leftover` is a lens, and the key of a rule is LENS/RULE: write [rules.\"merge-leftover/conflict-marker\"]",
            None,
        ),
        (
            "[rules.conflict-marker]\nstrength = \"off\"\n",
            "line 1: `conflict-marker` lacks its lens; the key of a rule is LENS/RULE: write [rules.\"merge-leftover/conflict-marker\"]",
            None,
        ),
        (
            "version = 1\n[rules.merge-leftover/conflict-marker]\nstrength = \"off\"\n",
            "line 2: the key of a rule is quoted: write [rules.\"merge-leftover/conflict-marker\"]",
            None,
        ),
        (
            "[rules.merge-leftover.conflict-marker]\nstrength = \"off\"\n",
            "line 1: the key of a rule is quoted: write [rules.\"merge-leftover/conflict-marker\"]",
            None,
        ),
        ("repo-id = \"a b\"\n", "line 1: repo-id", None),
        ("a = [\n", "line ", None),
    ];
    for (text, expected, suggestion) in cases {
        let message = read(text).unwrap_err();
        assert!(message.contains(expected), "{text:?} gave {message:?}");
        if let Some(suggestion) = suggestion {
            assert!(message.contains(suggestion), "{text:?} gave {message:?}");
        }
    }
}

#[test]
fn a_glob_that_does_not_compile_is_named_with_its_place() {
    let file = |text: &str| {
        let error = Policy::parse(Some(text), &Overrides::default(), &registry()).unwrap_err();
        error.in_file("policy.toml")
    };
    for (text, expected) in [
        ("[scopes]\ntest = [\"ok/**\",\n  \"ä\", \"a[\"]\n", "policy.toml:3:8: glob \"a[\": "),
        ("[scopes]\ntest = [\"a\\u005B\"]\n", "policy.toml:2:9: glob \"a[\": "),
        ("[lenses.merge-leftover]\nignore = ['{a']\n", "policy.toml:2:11: glob \"{a\": "),
    ] {
        assert!(file(text).starts_with(expected), "{}", file(text));
    }
}

#[test]
fn no_file_means_strict_and_default() {
    let policy = Policy::parse(None, &Overrides::default(), &registry()).unwrap();
    assert_eq!((policy.mode, policy.preset), (RunMode::Strict, Preset::Default));
    assert_eq!(policy.strength("merge-leftover/conflict-marker", Scope::Product), Strength::Block);
    assert!(policy.settings.iter().all(|setting| setting.origin == "default"));
}

#[test]
fn inputs_win_over_the_file_and_the_file_over_the_default() {
    let overrides = Overrides { mode: Some(RunMode::BestEffort), ..Overrides::default() };
    let text = "mode = \"strict\"\npreset = \"advisory\"\n";
    let policy = Policy::parse(Some(text), &overrides, &registry()).unwrap();
    let origin =
        |name: &str| policy.settings.iter().find(|setting| setting.name == name).unwrap().origin.clone();
    assert_eq!(policy.mode, RunMode::BestEffort);
    assert_eq!(
        (origin("mode"), origin("preset"), origin("limits.max-files")),
        ("input".into(), "policy".into(), "default".into())
    );
    assert_eq!(policy.strength("merge-leftover/conflict-marker", Scope::Product), Strength::Advise);
}

#[test]
fn a_scope_wins_over_the_rule_and_an_unknown_rule_weighs_nothing() {
    let text =
        "[rules.\"merge-leftover/conflict-marker\"]\nstrength = \"advise\"\nscopes = { docs = \"off\" }\n";
    let policy = read(text).unwrap();
    assert_eq!(policy.strength("merge-leftover/conflict-marker", Scope::Product), Strength::Advise);
    assert_eq!(policy.strength("merge-leftover/conflict-marker", Scope::Docs), Strength::Off);
    assert_eq!(policy.strength("nobody/knows", Scope::Product), Strength::Off);
}

#[test]
fn the_number_of_workers_is_not_part_of_the_policy_hash() {
    let digest = |text| crate::canonical::digest(&read(text).unwrap()).unwrap();
    assert_eq!(digest(""), digest("[run]\nmax-concurrency = 16\n"));
    assert_ne!(digest(""), digest("mode = \"best_effort\"\n"));
}

#[test]
fn a_waiver_needs_a_rule_a_hash_an_owner_a_reason_and_a_day() {
    let waiver = |rule: &str, hash: &str, owner: &str, expires: &str| {
        format!(
            "[[waiver]]\nrule = \"{rule}\"\nevidence-hash = \"{hash}\"\nowner = \"{owner}\"\nreason = \"known\"\nexpires = \"{expires}\"\n"
        )
    };
    let (rule, hash) = ("merge-leftover/conflict-marker", "a".repeat(64));
    assert!(parse_waivers(&waiver(rule, &hash, "alice", "2028-02-29"), &registry()).is_ok());
    let faults = [
        waiver("merge-leftover/other", &hash, "alice", "2027-01-01"),
        waiver(rule, "abc", "alice", "2027-01-01"),
        waiver(rule, &hash, " ", "2027-01-01"),
        waiver(rule, &hash, "alice", "2027-02-29"),
        waiver(rule, &hash, "alice", "soon"),
        "[[waiver]]\nrule = \"merge-leftover/conflict-marker\"\n".to_owned(),
    ];
    for text in faults {
        assert!(parse_waivers(&text, &registry()).is_err(), "{text}");
    }
}
