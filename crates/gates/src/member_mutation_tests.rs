//! Changes one member, element or line of every recorded report with a failure: none may turn it into a pass.

use serde_json::Value;

use super::contract::Tool;
use super::corpus::{Case, Page, each_report};
use super::mutation_tests::is_about_the_status;
use super::readers::xml::{Element, parse};

/// A report with one change.
struct Mutant {
    /// The change and what it is made to.
    change: String,
    report: String,
}

/// Changes that take away the fault itself: a line or a number, and what makes the level of a result, whose absence means a
/// warning. Where a command ended with status 0, a doubt about it is none.
const ALLOWED: &[(&str, &str)] = &[
    ("eslint", "drop level"),
    ("eslint", "null level"),
    ("pytest", "drop testsuite failures"),
    ("pytest", "prefix testsuite failures"),
    ("pytest", "rename testsuite failures"),
    ("pytest", "unwrap testsuite"),
    ("sarif", "drop defaultConfiguration"),
    ("sarif", "drop invocations"),
    ("sarif", "drop level"),
    ("sarif", "drop ruleConfigurationOverrides"),
    ("sarif", "null defaultConfiguration"),
    ("sarif", "null invocations"),
    ("sarif", "null level"),
    ("sarif", "null ruleConfigurationOverrides"),
    ("sarif", "rename defaultConfiguration"),
    ("sarif", "rename invocations"),
    ("sarif", "rename level"),
    ("sarif", "rename ruleConfigurationOverrides"),
    ("tsc", "drop lib/b.ts(1,14): error TS2322: Type 'number' is not assignable to type 'string'."),
];

/// A named change to a member of a document.
type MemberChange = (&'static str, fn(&mut serde_json::Map<String, Value>, &str));
/// A named change to an element.
type ElementChange = (&'static str, fn(&mut Element));
/// A named change to the attribute at a position.
type AttributeChange = (&'static str, fn(&mut Vec<(String, String)>, usize));

/// Returns a document with each of its members removed, renamed and given another value in turn.
fn json_mutants(document: &Value) -> Vec<Mutant> {
    let mut pointers = Vec::new();
    list_members(document, "", &mut pointers);
    let mut mutants = Vec::new();
    for (parent, key) in pointers {
        let changes: [MemberChange; 4] = [
            ("drop", drop_member),
            ("rename", rename_member),
            ("null", clear_member),
            ("word", reword_member),
        ];
        for (name, change) in changes {
            let mut changed = document.clone();
            let members = changed.pointer_mut(&parent).and_then(Value::as_object_mut).unwrap();
            change(members, &key);
            if changed != *document {
                mutants.push(Mutant { change: format!("{name} {key}"), report: changed.to_string() });
            }
        }
    }
    mutants
}

fn list_members(value: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                found.push((pointer.to_owned(), key.clone()));
                let escaped = key.replace('~', "~0").replace('/', "~1");
                list_members(member, &format!("{pointer}/{escaped}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                list_members(item, &format!("{pointer}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn drop_member(members: &mut serde_json::Map<String, Value>, key: &str) {
    members.remove(key);
}

fn rename_member(members: &mut serde_json::Map<String, Value>, key: &str) {
    let value = members.remove(key).unwrap();
    members.insert(format!("{key}X"), value);
}

fn clear_member(members: &mut serde_json::Map<String, Value>, key: &str) {
    members.insert(key.to_owned(), Value::Null);
}

/// Gives a text that names nothing, and anything else as a text.
fn reword_member(members: &mut serde_json::Map<String, Value>, key: &str) {
    members.insert(key.to_owned(), Value::String("unknown".to_owned()));
}

/// Returns a document with each of its elements and attributes changed in turn.
fn xml_mutants(root: &Element) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut path = Vec::new();
    change_element(root, root, &mut path, &mut mutants);
    mutants
}

fn change_element(root: &Element, element: &Element, path: &mut Vec<usize>, mutants: &mut Vec<Mutant>) {
    let name = &element.name;
    let changes: [ElementChange; 2] = [("rename", rename_element), ("wrap", wrap_element)];
    for (word, change) in changes {
        mutants.push(mutant(root, path, &format!("{word} {name}"), change));
    }
    for (position, (key, _)) in element.attributes.iter().enumerate() {
        let changes: [AttributeChange; 4] = [
            ("drop", |attributes, at| drop(attributes.remove(at))),
            ("rename", |attributes, at| attributes[at].0 += "X"),
            ("prefix", |attributes, at| attributes[at].0.insert_str(0, "x:")),
            ("word", |attributes, at| attributes[at].1 = "unknown".to_owned()),
        ];
        for (word, change) in changes {
            let made = format!("{word} {name} {key}");
            mutants.push(mutant(root, path, &made, |it| change(&mut it.attributes, position)));
        }
    }
    for (position, child) in element.children.iter().enumerate() {
        if !child.children.is_empty() {
            mutants.push(mutant(root, path, &format!("unwrap {}", child.name), |parent| {
                let inner = parent.children.remove(position);
                parent.children.splice(position..position, inner.children);
            }));
        }
        mutants.push(mutant(root, path, &format!("double {}", child.name), |parent| {
            let copy = copy(&parent.children[position]);
            parent.children.insert(position, copy);
        }));
        path.push(position);
        change_element(root, child, path, mutants);
        path.pop();
    }
}

fn copy(element: &Element) -> Element {
    Element {
        name: element.name.clone(),
        attributes: element.attributes.clone(),
        text: element.text.clone(),
        children: element.children.iter().map(copy).collect(),
    }
}

fn mutant(root: &Element, path: &[usize], change: &str, make: impl FnOnce(&mut Element)) -> Mutant {
    let mut changed = copy(root);
    let mut at = &mut changed;
    for &position in path {
        at = &mut at.children[position];
    }
    make(at);
    let mut report = String::new();
    changed.write(&mut report);
    Mutant { change: change.to_owned(), report }
}

fn rename_element(element: &mut Element) {
    element.name = "unknown".to_owned();
}

fn wrap_element(element: &mut Element) {
    let inner = copy(element);
    *element = Element { name: "unknown".to_owned(), children: vec![inner], ..Element::default() };
}

/// Returns a text with each of its lines removed, doubled, moved and changed in turn.
fn line_mutants(report: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = report.lines().collect();
    let mut mutants = Vec::new();
    for (position, line) in lines.iter().enumerate() {
        let mut add = |word: &str, instead: &[&str], skipped: usize| {
            let changed = [&lines[..position], instead, &lines[position + skipped..]].concat().join("\n");
            mutants.push(Mutant { change: format!("{word} {line}"), report: format!("{changed}\n") });
        };
        add("drop", &[], 1);
        add("double", &[line, line], 1);
        add("indent", &[&format!("    {line}")], 1);
        add("dedent", &[line.strip_prefix("    ").unwrap_or(line)], 1);
        add("garble", &[&format!("x{line}")], 1);
        if let Some(next) = lines.get(position + 1) {
            add("swap", &[next, line], 2);
        }
    }
    mutants
}

fn mutants(report: &str) -> Vec<Mutant> {
    if let Ok(root) = parse(report.as_bytes()) {
        return xml_mutants(&root);
    }
    if let Ok(document) = serde_json::from_str(report) {
        return json_mutants(&document);
    }
    let lines: Vec<&str> = report.lines().collect();
    if lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()) {
        let mut mutants = Vec::new();
        for (position, line) in lines.iter().enumerate() {
            for mutant in json_mutants(&serde_json::from_str(line).unwrap()) {
                let changed =
                    [&lines[..position], &[&mutant.report], &lines[position + 1..]].concat().join("\n");
                mutants.push(Mutant { change: mutant.change, report: format!("{changed}\n") });
            }
        }
        return mutants;
    }
    line_mutants(report)
}

#[test]
fn no_change_of_a_member_makes_a_failing_report_pass() {
    let (mut seen, mut passing) = (0, std::collections::BTreeSet::new());
    each_report(|page: &Page, case: &Case, tool: &dyn Tool| {
        let Some(block) = case.report_block(tool) else { return };
        let Ok(whole) = case.with_report(block, case.blocks[block].1.as_bytes(), Some("0"), tool) else {
            return;
        };
        if whole.passed || whole.report.diagnostics.iter().any(is_about_the_status) {
            return;
        }
        for mutant in mutants(&case.blocks[block].1) {
            seen += 1;
            let judged = case.with_report(block, mutant.report.as_bytes(), Some("0"), tool);
            let allowed = ALLOWED.contains(&(&page.name, &mutant.change));
            if judged.is_ok_and(|judged| judged.passed) && !allowed {
                passing.insert(format!("(\"{}\", \"{}\"), // {}", page.name, mutant.change, case.title));
            }
        }
    });
    assert!(seen > 5_000, "{seen} mutants");
    let passing: Vec<String> = passing.into_iter().collect();
    assert!(passing.is_empty(), "{seen}\n{}", passing.join("\n"));
}
