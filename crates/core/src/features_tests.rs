//! Lists of every kind read and proposed anew, by example and at random.

use super::*;
use proptest::prelude::*;

const NOW: &str = "2025-12-07T10:30:00Z";

fn read(text: &str) -> FeatureDocument {
    FeatureDocument::parse(text).unwrap()
}

#[test]
fn a_list_of_the_contract_is_read_whatever_else_it_holds() {
    let text = r#"[
  {"id": 42, "category": "functional", "description": "User can log in",
   "steps": ["Step 1: open the page", {"action": "click", "selector": "a"}], "passes": false,
   "qa_validated": false, "last_qa_run": null, "qa_notes": null, "priority": "high", "owner": {"team": 3}},
  {"id": 0, "description": "d", "passes": true}
]"#;
    let list = read(text).list(text).unwrap();
    assert_eq!(
        list.0.iter().map(|feature| (feature.id, feature.passes)).collect::<Vec<_>>(),
        [(42, false), (0, true)]
    );
    assert_eq!(list.0[0].steps.len(), 2);
    for empty in ["[]", " [ ]\n", "\u{feff}[]"] {
        assert_eq!(read(empty).list(empty), Ok(FeatureList::default()), "{empty:?}");
    }
}

#[test]
fn what_is_wrong_with_a_list_is_named_with_its_line_and_place() {
    let cases = [
        ("[\n{\"id\":1,\"id\":2,\"passes\":true}]", "line 2: key \"id\" appears twice at line 2 column 12"),
        ("[\n{\"id\":1,", "line 2: EOF while parsing a value at line 2 column 8"),
        ("{\"features\":[]}", "it is not a list of features with `id` and `passes`"),
        ("[{\"description\":\"d\",\"passes\":true}]", "it is not a list of features with `id` and `passes`"),
        ("[1]", "it is not a list of features with `id` and `passes`"),
        (
            "[\n{\"id\":1,\"description\":\"d\",\"passes\":true},\n{\"description\":\"d\",\"id\":1,\"passes\":true}]",
            "line 3, /1/id: the id 1 stands twice",
        ),
    ];
    for (text, expected) in cases {
        let found = FeatureDocument::parse(text).and_then(|document| document.list(text));
        assert_eq!(found.unwrap_err().to_string(), expected, "{text}");
    }
    let good = "{\"id\":1,\"description\":\"d\",\"passes\":true}";
    let faulty = [
        ("{\"id\":\"7\",\"description\":\"d\",\"passes\":true}", "/1/id"),
        ("{\"id\":1.0,\"description\":\"d\",\"passes\":true}", "/1/id"),
        ("{\"id\":1.5,\"description\":\"d\",\"passes\":true}", "/1/id"),
        ("{\"id\":-1,\"description\":\"d\",\"passes\":true}", "/1/id"),
        ("{\"id\":null,\"description\":\"d\",\"passes\":true}", "/1/id"),
        ("{\"description\":\"d\",\"passes\":true}", "/1"),
        ("{\"id\":7,\"description\":\"d\"}", "/1"),
        ("{\"id\":7,\"description\":\"d\",\"passes\":\"true\"}", "/1/passes"),
        ("{\"id\":7,\"description\":\"d\",\"passes\":1}", "/1/passes"),
        ("{\"id\":7,\"description\":\"d\",\"passes\":true,\"steps\":[\"a\",1]}", "/1/steps/1"),
        ("{\"id\":7,\"description\":\"d\",\"passes\":true,\"qa_notes\":3}", "/1/qa_notes"),
        ("\"a feature\"", "/1"),
    ];
    for (second, pointer) in faulty {
        let text = format!("[{good},\n{second}]");
        let document = read(&text);
        let places: Vec<(u64, &str)> =
            document.faults.iter().map(|fault| (fault.line, fault.pointer.as_str())).collect();
        assert_eq!(places, [(2, pointer)], "{second}");
        assert_eq!(document.list(&text).unwrap_err().code(), Code::FeatureListInvalid);
    }
}

#[test]
fn a_proposal_changes_four_members_and_keeps_the_formatting() {
    let odd = "[\r\n\t{ \"passes\" :false,\"id\":2 , \"description\":\"caf\\u00e9 \\\"1\\\"\",\r\n\t  \"x\":1e2,\"qa_notes\":\r\n\tnull,\"last_qa_run\":\"\" ,\"qa_validated\" : false }\r\n]";
    assert_eq!(
        propose(odd, 2, true, NOW, Some("fine – \u{1f600} \"so\"")).unwrap(),
        "[\r\n\t{ \"passes\" :true,\"id\":2 , \"description\":\"caf\\u00e9 \\\"1\\\"\",\r\n\t  \"x\":1e2,\"qa_notes\":\r\n\t\"fine \\u2013 \\ud83d\\ude00 \\\"so\\\"\",\"last_qa_run\":\"2025-12-07T10:30:00Z\" ,\"qa_validated\" : true }\r\n]"
    );
    let bare = "[\n  {\n    \"id\": 1,\n    \"description\": \"caf\u{e9}\",\n    \"passes\": true\n  }\n]\n";
    assert_eq!(
        propose(bare, 1, false, NOW, Some("na\u{ef}ve")).unwrap(),
        "[\n  {\n    \"id\": 1,\n    \"description\": \"caf\u{e9}\",\n    \"passes\": false,\n    \"qa_validated\": true,\n    \"last_qa_run\": \"2025-12-07T10:30:00Z\",\n    \"qa_notes\": \"na\u{ef}ve\"\n  }\n]\n"
    );
}

#[test]
fn a_proposal_for_a_feature_that_is_not_there_or_a_broken_list_is_an_error() {
    let one = "[{\"id\":1,\"description\":\"d\",\"passes\":false}]";
    assert_eq!(propose(one, 2, true, NOW, None), Err(FeatureListError::UnknownFeature(2)));
    let twice = "[{\"id\":1,\"description\":\"d\",\"passes\":false},{\"id\":1,\"description\":\"d\",\"passes\":false}]";
    assert!(matches!(propose(twice, 1, true, NOW, None), Err(FeatureListError::Fault(_))));
    assert!(matches!(propose("[{", 1, true, NOW, None), Err(FeatureListError::NotJson { .. })));
    assert_eq!(propose("{}", 1, true, NOW, None), Err(FeatureListError::AnotherShape));
}

fn feature(id: u64) -> impl Strategy<Value = Value> {
    let extra = prop::collection::btree_map("[a-z]{1,3}|qa_notes|last_qa_run", "[ -~\u{e9}]{0,8}", 0..4);
    ("[ -~\u{e9}\n]{0,12}", any::<bool>(), any::<Option<bool>>(), extra).prop_map(
        move |(description, passes, validated, extra)| {
            let mut members: Map<String, Value> = extra
                .into_iter()
                .filter(|(name, _)| name != "id")
                .map(|(name, text)| (name, text.into()))
                .collect();
            members.insert("id".to_owned(), id.into());
            members.insert("description".to_owned(), description.into());
            members.insert("passes".to_owned(), passes.into());
            if let Some(validated) = validated {
                members.insert("qa_validated".to_owned(), validated.into());
            }
            Value::Object(members)
        },
    )
}

proptest! {
    #[test]
    fn a_proposal_means_the_list_with_four_members_set(
        list in prop::collection::vec(any::<()>(), 1..6).prop_flat_map(|ids| {
            (0..ids.len() as u64).map(feature).collect::<Vec<_>>()
        }),
        chosen in any::<prop::sample::Index>(),
        passed in any::<bool>(),
        pretty in any::<bool>(),
        notes in prop::option::of("[ -~\u{e9}\n]{0,8}"),
    ) {
        let at = chosen.index(list.len());
        let value = Value::Array(list.clone());
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let proposed = propose(&text, at as u64, passed, NOW, notes.as_deref()).unwrap();
        let mut expected = list;
        for (name, value) in [
            ("passes", passed.into()),
            ("qa_validated", true.into()),
            ("last_qa_run", NOW.into()),
            ("qa_notes", notes.clone().map_or(Value::Null, Value::from)),
        ] {
            expected[at][name] = value;
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&proposed).unwrap(), Value::Array(expected));
        prop_assert_eq!(propose(&proposed, at as u64, passed, NOW, notes.as_deref()).unwrap(), proposed);
    }
}

#[test]
fn a_trailer_of_the_last_paragraph_names_a_feature() {
    for (message, ids) in [
        ("Add sums\n\nFeature: 42\n", vec![42]),
        ("Add sums\r\n\r\nfeature : #42\r\nFeature: 7\r\n", vec![7, 42]),
        ("Add sums\n\nFeature: 42\n\nReviewed-by: somebody\n", vec![]),
        // A subject is no trailer.
        ("Feature: add sums\n", vec![]),
        ("Feature: 42\n", vec![]),
        ("Add sums\n\nFeatures: 3\n", vec![]),
        ("", vec![]),
    ] {
        let mut declared = DeclaredFeatures::default();
        declared.add(message);
        assert_eq!(declared.features.into_iter().collect::<Vec<_>>(), ids, "{message:?}");
        assert!(declared.unreadable.is_empty(), "{message:?}");
    }
    for value in ["forty", "-1", "9007199254740993", "", "#", "##4", "42, 43", "42 43", "٤"] {
        let mut declared = DeclaredFeatures::default();
        declared.add(&format!("Add sums\n\nFeature: 7\nfeature: {value}\n"));
        assert_eq!(declared.features, BTreeSet::from([7]), "{value}");
        assert_eq!(declared.unreadable.len(), 1, "{value}");
    }
}
