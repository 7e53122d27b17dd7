//! RFC 8785 held against its published vectors, its number checksum and a second implementation.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

/// The published vectors travel inside the package of the reference implementation this test depends on.
#[expect(clippy::disallowed_methods, reason = "only cargo knows where the package is")]
fn vectors() -> PathBuf {
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let package = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "serde_json_canonicalizer")
        .expect("a development dependency");
    PathBuf::from(package["manifest_path"].as_str().unwrap()).with_file_name("tests/resources/testdata")
}

#[test]
fn the_six_published_vectors_match_byte_for_byte() {
    let names = ["arrays", "french", "structures", "unicode", "values", "weird"];
    let vectors = vectors();
    for name in names {
        let read = |kind: &str| std::fs::read(vectors.join(kind).join(format!("{name}.json"))).unwrap();
        let input: Value = serde_json::from_slice(&read("input")).unwrap();
        assert_eq!(to_vec(&input).unwrap(), read("output"), "{name}");
    }
}

/// The bit patterns the published number test begins with, read from its generator.
fn published_bit_patterns() -> Vec<u64> {
    let script =
        std::fs::read_to_string(vectors().with_file_name("generated-numbers").join("numgen.js")).unwrap();
    let table =
        script.split("BigUint64Array([").nth(1).and_then(|rest| rest.split("])").next()).expect("a table");
    table
        .split(',')
        .filter_map(|item| item.trim().strip_prefix("0x"))
        .map(|item| u64::from_str_radix(item.trim_end_matches('n'), 16).unwrap())
        .collect()
}

/// The published sequence: the table, 2000 neighbours of the smallest normal number, then a SHA-256 chain.
fn published_numbers(count: usize, mut each: impl FnMut(u64)) {
    let table = published_bit_patterns();
    let neighbours = (0..2000).map(|step| 0x0010_0000_0000_0000u64 + step);
    let fixed: Vec<u64> = table.into_iter().chain(neighbours).take(count).collect();
    fixed.iter().for_each(|&bits| each(bits));
    let mut written = fixed.len();
    let mut block = [0u8; 32];
    while written < count {
        block = Sha256::digest(block).into();
        for word in block.chunks_exact(8) {
            let bits = u64::from_le_bytes(word.try_into().unwrap());
            let number = f64::from_bits(bits);
            if number.is_finite() && number != 0.0 && written < count {
                each(bits);
                written += 1;
            }
        }
    }
}

#[test]
fn a_million_published_numbers_have_the_published_checksum() {
    let mut hasher = Sha256::new();
    let mut line = Vec::new();
    published_numbers(1_000_000, |bits| {
        line.clear();
        write!(line, "{bits:x},").unwrap();
        f64::from_bits(bits).serialize(Writer { out: &mut line }).unwrap();
        line.push(b'\n');
        hasher.update(&line);
    });
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16");
}

#[test]
fn every_character_of_ascii_is_escaped_as_the_reference_implementation_does() {
    for character in (0..=0x80_u8).map(char::from) {
        for text in [format!("{character}"), format!("a{character}é{character}{character}b")] {
            let expected = serde_json_canonicalizer::to_vec(&text).unwrap();
            assert_eq!(to_vec(&text).unwrap(), expected, "{character:?}");
        }
    }
}

#[test]
fn values_without_one_meaning_are_refused() {
    assert!(to_vec(&9_007_199_254_740_992u64).is_err());
    assert!(to_vec(&-9_007_199_254_740_992i64).is_err());
    assert!(to_vec(&f64::NAN).is_err());
    assert_eq!(to_vec(&9_007_199_254_740_991u64).unwrap(), b"9007199254740991");
}

#[test]
fn members_written_out_of_order_are_sorted_by_utf16_units() {
    #[derive(serde::Serialize)]
    struct Unsorted {
        #[serde(rename = "\u{fb33}")]
        hebrew: u8,
        #[serde(rename = "\u{1f600}")]
        smile: u8,
        b: Vec<Value>,
        a: Option<u8>,
    }
    let value = Unsorted { hebrew: 1, smile: 2, b: vec![json!({"z": 1, "y": [{}]})], a: None };
    let text = String::from_utf8(to_vec(&value).unwrap()).unwrap();
    assert_eq!(text, "{\"a\":null,\"b\":[{\"y\":[{}],\"z\":1}],\"\u{1f600}\":2,\"\u{fb33}\":1}");
}

/// `UPDATE_SCHEMAS=1` writes schemas and not this list: changing a contract takes a second, deliberate step.
#[test]
fn the_hash_of_every_schema_is_pinned() {
    use qa_contracts::schema;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/SHA256SUMS");
    let pinned = std::fs::read_to_string(path).unwrap();
    let line = |schema: &schema::Schema| {
        format!("{}  v1/{}.schema.json", sha256(schema.text.as_bytes()), schema.name)
    };
    let mut expected: Vec<String> = schema::ALL.iter().map(line).collect();
    let mut lines: Vec<&str> = pinned.lines().collect();
    expected.sort();
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-9_007_199_254_740_991i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        ".*".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::btree_map(".*", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_written_as_the_reference_implementation_writes_it(value in any_json()) {
        prop_assert_eq!(to_vec(&value).unwrap(), serde_json_canonicalizer::to_vec(&value).unwrap());
    }
}
