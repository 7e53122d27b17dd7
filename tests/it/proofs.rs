//! Tables of what the program promises by name, each with the tests that fail when it stops working.
//!
//! A table has a name on a line of its own and below it, indented, the tests as `path::function`. Names are compared with
//! the program's own tables, and each test has to be one, and to mention the name itself or in what it uses of its file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::inputs::declared;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Tests by the name that they prove.
type Table = BTreeMap<String, Vec<String>>;

fn read(path: &str) -> String {
    let full = Path::new(ROOT).join(path);
    std::fs::read_to_string(full).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the rows of a table in their order.
pub(crate) fn rows(path: &str) -> Vec<(String, Vec<String>)> {
    let text = read(path);
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("  ") {
            Some(test) => rows.last_mut().expect("a name comes first").1.push(test.to_owned()),
            None => rows.push((line.to_owned(), Vec::new())),
        }
    }
    rows
}

fn table(path: &str) -> Table {
    let rows = rows(path);
    assert!(
        rows.is_sorted_by(|left, right| left.0 < right.0),
        "{path}: the names are not in order, each once"
    );
    rows.into_iter().collect()
}

/// A function, constant or type of a source.
struct Item<'a> {
    name: &'a str,
    text: &'a str,
    is_test: bool,
}

/// Finds the items of a source, those of `impl` blocks too. Formatted code ends an item where its first line is indented.
fn items(source: &str) -> Vec<Item<'_>> {
    const KINDS: [&str; 5] = ["fn ", "const ", "static ", "struct ", "macro_rules! "];
    let lines: Vec<&str> = source.lines().collect();
    let starts = line_starts(source);
    let mut items = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let code = code.strip_prefix("pub(crate) ").or(code.strip_prefix("pub ")).unwrap_or(code);
        let Some(rest) = KINDS.iter().find_map(|kind| code.strip_prefix(kind)) else { continue };
        let name =
            rest.split(|character: char| !character.is_alphanumeric() && character != '_').next().unwrap();
        let is_end =
            |line: &&str| line.len() - line.trim_start().len() == indent && line.ends_with(['}', ';']);
        let last = match is_end(line) {
            true => number,
            false => number + 1 + lines[number + 1..].iter().position(is_end).unwrap_or(0),
        };
        let attributes =
            lines[..number].iter().rev().take_while(|line| line.trim_start().starts_with(['#', '/']));
        let is_test = attributes.into_iter().any(|line| line.trim() == "#[test]");
        items.push(Item { name, text: &source[starts[number]..starts[last + 1]], is_test });
    }
    items
}

/// Offsets at which each line begins, and the end.
fn line_starts(source: &str) -> Vec<usize> {
    let ends = source.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// Returns the text of a test with that of everything that it uses of its own file, or a fault.
fn reach(test: &str) -> Result<String, String> {
    let (path, function) = test.split_once("::").ok_or(format!("{test} is not `path::function`"))?;
    let source =
        std::fs::read_to_string(Path::new(ROOT).join(path)).map_err(|error| format!("{test}: {error}"))?;
    let items = items(&source);
    let proof = items.iter().find(|item| item.is_test && item.name == function);
    let proof = proof.ok_or_else(|| format!("{test} is no test"))?;
    let mut seen = BTreeSet::new();
    let mut pending = vec![proof.text];
    let mut text = String::new();
    while let Some(next) = pending.pop() {
        text.push_str(next);
        let used: BTreeSet<&str> = words(next).collect();
        let helpers = items.iter().filter(|item| !item.is_test && used.contains(item.name));
        pending.extend(helpers.filter(|item| seen.insert(item.text.as_ptr())).map(|item| item.text));
    }
    Ok(text)
}

/// Compares a table with the names that it has to have. `mention` is the word of a name that its tests have to have.
#[track_caller]
fn check(path: &str, names: BTreeSet<String>, mention: fn(&str) -> &str) {
    let table = table(path);
    let mut faults = Vec::new();
    faults.extend(
        names.iter().filter(|name| !table.contains_key(*name)).map(|name| format!("{name} has no row")),
    );
    for (name, tests) in &table {
        if !names.contains(name) {
            faults.push(format!("{name} is not there any more"));
        } else if tests.is_empty() {
            faults.push(format!("{name} has no test"));
        }
        for test in tests {
            match reach(test) {
                Ok(text) if text.to_lowercase().contains(&mention(name).to_lowercase()) => {}
                Ok(_) => faults.push(format!("{name}: {test} does not mention `{}`", mention(name))),
                Err(fault) => faults.push(format!("{name}: {fault}")),
            }
        }
    }
    assert!(faults.is_empty(), "{path}\n{}\n", faults.join("\n"));
}

#[test]
fn every_code_is_seen_by_a_test() {
    let codes = qa_contracts::codes::Code::ALL.iter().map(|code| code.as_str().to_owned());
    check("tests/proofs/codes.txt", codes.collect(), |code| code);
}

/// Collects the key paths of a schema's leaves: `*` is any key, `[]` any item.
fn collect_keys(schema: &Value, node: &Value, path: &str, keys: &mut BTreeSet<String>) {
    let node = match node["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
        Some(pointer) => schema.pointer(pointer).expect("references lead somewhere"),
        None => node,
    };
    let before = keys.len();
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|choice| node[choice].as_array()).flatten();
    for choice in choices.filter(|choice| choice.get("$ref").is_some()) {
        collect_keys(schema, choice, path, keys);
    }
    if node["items"].is_object() {
        collect_keys(schema, &node["items"], &format!("{path}[]"), keys);
    }
    if node["additionalProperties"].is_object() {
        collect_keys(schema, &node["additionalProperties"], &format!("{path}.*"), keys);
    }
    for (name, member) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect_keys(schema, member, &path, keys);
    }
    if keys.len() == before && !path.is_empty() {
        keys.insert(path.trim_end_matches("[]").to_owned());
    }
}

#[test]
fn every_key_of_the_policy_changes_something_that_a_test_sees() {
    let mut keys = BTreeSet::new();
    for name in ["policy.v1", "waivers.v1"] {
        let schema = qa_contracts::schema::find(name).unwrap();
        let schema: Value = serde_json::from_str(schema.text).unwrap();
        collect_keys(&schema, &schema, "", &mut keys);
    }
    check("tests/proofs/policy-keys.txt", keys, |key| key.rsplit('.').find(|word| *word != "*").unwrap());
}

#[test]
fn every_input_and_output_of_the_action_is_seen_by_a_test() {
    check("tests/proofs/inputs.txt", declared("inputs"), |name| name);
    check("tests/proofs/outputs.txt", declared("outputs"), |name| name);
}

/// The names are compared with the command tree beside it, in `src/app/cli.rs`.
#[test]
fn every_option_changes_something_that_a_test_sees() {
    let path = "tests/proofs/options.txt";
    let names = table(path).into_keys().collect();
    // Nothing mentions the name of an argument that is not an option.
    check(path, names, |name| {
        name.rsplit(' ').next().filter(|word| word.starts_with('-')).unwrap_or_default()
    });
}

/// The number of a requirement, `S003-97` for example, for its order.
fn number(row: &str) -> (&str, u32) {
    let (id, _) = row.split_once(' ').unwrap_or_else(|| panic!("{row} says nothing"));
    let (seed, number) = id.split_once('-').unwrap_or_else(|| panic!("{id} is no number"));
    (seed, number.parse().unwrap())
}

/// Returns why a place of a decision, `see PATH: WORDS`, is none.
fn fault_of_place(place: &str) -> Option<String> {
    let (path, words) = place.strip_prefix("see ")?.split_once(": ")?;
    let text = std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_default();
    (!text.contains(words)).then(|| format!("{path} does not say `{words}`"))
}

#[test]
fn every_requirement_has_a_test_or_a_decision() {
    let rows = rows("tests/proofs/requirements.txt");
    let numbers: Vec<_> = rows.iter().map(|(row, _)| number(row)).collect();
    let (first, rest): (Vec<_>, Vec<_>) =
        numbers.into_iter().partition(|(seed, _)| matches!(*seed, "S000" | "S001"));
    assert!(first.is_sorted_by(|left, right| left < right), "{first:?}");
    let observer = (1..=23).map(|number| ("S000", number)).chain((62..=66).map(|number| ("S001", number)));
    let missing: Vec<_> = observer.filter(|row| !first.contains(row)).collect();
    assert_eq!(missing, []);
    let all = (1..=157).map(|number| ("S003", number)).chain((1..=89).map(|number| ("S004", number)));
    assert_eq!(rest, all.collect::<Vec<_>>());
    let mut faults = Vec::new();
    for (row, proofs) in &rows {
        assert!(!proofs.is_empty(), "{row}");
        for proof in proofs {
            let fault = if proof.starts_with("see ") { fault_of_place(proof) } else { reach(proof).err() };
            faults.extend(fault);
        }
    }
    assert!(faults.is_empty(), "{}\n", faults.join("\n"));
}
