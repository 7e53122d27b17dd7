//! Decisions about drafts, asked for on a terminal.

use super::*;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{BackTest, ConventionFamily, Scope};

fn convention(id: &str) -> Convention {
    Convention {
        id: id.to_owned(),
        family: ConventionFamily::FunctionName,
        statement: "functions\u{1b}[2J are named in snake_case".to_owned(),
        language: "python".to_owned(),
        part: Scope::Product,
        paths: vec!["**".to_owned()],
        topic: String::new(),
        form: "snake_case".to_owned(),
        strength: Strength::Block,
        reason: "none of 3 broke it".to_owned(),
        support: 30,
        exceptions: 0,
        confidence_permille: 1000,
        lower_bound_permille: 886,
        exceptions_listed: Vec::new(),
        exemplars: Vec::new(),
        back_test: BackTest::default(),
    }
}

fn draft() -> RubricDraft {
    RubricDraft {
        schema_version: Default::default(),
        draft_version: 1,
        engine_version: "1.0.0".to_owned(),
        commit: CommitId::parse(&"1".repeat(40)).unwrap(),
        commit_time: 0,
        changes: 3,
        files_read: 30,
        files_left_out: 0,
        conventions: vec![convention("a"), convention("b"), convention("c")],
        rejected: Vec::new(),
        difference: None,
    }
}

fn answers(text: &str) -> (Option<RubricDecisions>, String) {
    let mut output = Vec::new();
    let decisions = ask_decisions(&draft(), &mut text.as_bytes(), &mut output);
    (decisions, String::from_utf8(output).unwrap())
}

#[test]
fn each_answer_is_a_decision() {
    let (decisions, shown) = answers("what?\nr\nv\ne\nWe do.\nsrc/** lib/**\n");
    let frozen = apply_decisions(&draft(), &decisions.unwrap(), 4).unwrap();
    assert_eq!((frozen.rubric_version, &frozen.rejected), (4, &vec!["a".to_owned()]));
    assert_eq!(frozen.conventions[0].strength, Strength::Advise);
    assert_eq!(frozen.conventions[1].statement, "We do.");
    assert_eq!(frozen.conventions[1].paths, ["src/**", "lib/**"]);
    assert_eq!(frozen.rubric_hash, rubric::hash(&frozen));
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn all_accepts_the_rest_as_proposed() {
    let (decisions, _) = answers("r\nall\n");
    let frozen = apply_decisions(&draft(), &decisions.unwrap(), 1).unwrap();
    let ids: Vec<&str> = frozen.conventions.iter().map(|convention| convention.id.as_str()).collect();
    assert_eq!((ids, frozen.rejected), (vec!["b", "c"], vec!["a".to_owned()]));
}

#[test]
fn who_stops_or_says_nothing_more_decides_nothing() {
    for text in ["a\nq\n", "a\n", "", "e\n"] {
        assert!(answers(text).0.is_none(), "{text:?}");
    }
}
