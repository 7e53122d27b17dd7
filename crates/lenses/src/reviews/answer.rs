//! The schema of a model's answer, the checks on what it says, and the places of its findings in the change.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::clean;
use super::packet::{HeadLine, Mark, show};
use super::plain::plain;
use qa_contracts::strict_json;
use qa_contracts::v1::Severity;
use qa_core::packet::{HunkView, Packet};

/// The name of the schema, where a provider wants one.
pub const SCHEMA_NAME: &str = "findings";
/// The most findings that one answer may hold.
const MOST_FINDINGS: usize = 200;
/// The longest text in a finding, in bytes.
const LONGEST_TEXT: usize = 4_000;
/// The last line that a finding may name.
const LAST_LINE: u64 = 1 << 31;
/// The most of an answer that an error repeats, in characters.
const REPEATED: usize = 80;
/// A quote with fewer characters stands nearly everywhere, so it must be a whole line.
const TELLING: usize = 4;

/// One thing that a model says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelFinding {
    /// The last line at head that it is about.
    pub end_line: u64,
    /// Lines of the change as the model saw them.
    pub evidence_quote: String,
    /// The file as the packet named it.
    pub file: String,
    /// The rule that is broken.
    pub rule_id: String,
    /// The severity that the model gives.
    pub severity: Severity,
    /// The first line at head that it is about.
    pub start_line: u64,
    /// The fault.
    pub summary: String,
    /// The fix; null where the model knows none, and never absent.
    #[serde(deserialize_with = "nullable")]
    pub suggestion: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    findings: Vec<ModelFinding>,
}

/// Reads a member that may be null but not absent, which serde does not tell apart by itself.
fn nullable<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(source)
}

/// The schema that an answer is asked for in, inside the subset every provider accepts.
///
/// That subset knows no bounds: how long, how many and how large is checked when the answer is [`read`].
pub fn schema(rule_ids: &[&str]) -> Value {
    let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let word = |words: &[&str], text: &str| json!({"type": "string", "enum": words, "description": text});
    let line = |description: &str| json!({"type": "integer", "description": description});
    let finding = object(json!({
        "endLine": line("The last line concerned, by its number in the packet."),
        "evidenceQuote": text("The added lines concerned, verbatim, without numbers and signs."),
        "file": text("The file, exactly as the packet names it."),
        "ruleId": word(rule_ids, "The rule that is broken."),
        "severity": word(&severities, "How bad it is."),
        "startLine": line("The first line concerned, by its number in the packet."),
        "suggestion": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "What to do instead; null if that is not clear."
        },
        "summary": text("What is wrong and why, in one or two sentences."),
    }));
    let findings = json!({"type": "array", "items": finding, "description": "Empty if nothing is wrong."});
    object(json!({ "findings": findings }))
}

/// An object of exactly these members.
fn object(properties: Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|members| members.keys()).collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

/// Reads an answer; whatever is not exactly of the form is an error and no finding is taken from it.
///
/// The error completes "the answer is not what was asked for: …".
pub fn read(text: &str, rule_ids: &[&str]) -> Result<Vec<ModelFinding>, String> {
    let value = strict_json::parse(text.as_bytes()).map_err(|error| repeated(&error.to_string()))?;
    let answer: Answer = serde_json::from_value(value).map_err(|error| repeated(&error.to_string()))?;
    let findings = answer.findings;
    if findings.len() > MOST_FINDINGS {
        return Err(format!("it has {} findings, and the most are {MOST_FINDINGS}", findings.len()));
    }
    for (said, number) in findings.iter().zip(1..) {
        let number: usize = number;
        if let Some(fault) = fault(said, rule_ids) {
            return Err(format!("finding {number} {fault}"));
        }
    }
    Ok(findings)
}

/// Returns the part of an answer that an error may repeat; it is as hostile as the change that it is about.
fn repeated(text: &str) -> String {
    plain(text, REPEATED)
}

fn fault(said: &ModelFinding, rule_ids: &[&str]) -> Option<String> {
    let lines = 1..=LAST_LINE;
    let suggestion = said.suggestion.as_deref().unwrap_or_default();
    if !lines.contains(&said.start_line) || !lines.contains(&said.end_line) {
        Some(format!("names a line that is not among 1 to {LAST_LINE}"))
    } else if said.end_line < said.start_line {
        Some("ends before it begins".to_owned())
    } else if !rule_ids.contains(&said.rule_id.as_str()) {
        Some(format!("names the rule {}, which was not asked about", repeated(&said.rule_id)))
    } else if said.summary.trim().is_empty() {
        Some("has no summary".to_owned())
    } else {
        let texts =
            [("quote", said.evidence_quote.as_str()), ("summary", &said.summary), ("suggestion", suggestion)];
        let long = texts.iter().find(|(_, text)| text.len() > LONGEST_TEXT);
        long.map(|(name, text)| {
            format!("has a {name} of {} bytes, and the most are {LONGEST_TEXT}", text.len())
        })
    }
}

/// Locates the quote of a finding on added lines of the hunk that it claims. Returns the line, and its text there
/// verbatim.
///
/// The caller passes the packet of the file that the finding names.
pub fn locate(said: &ModelFinding, packet: &Packet<'_>) -> Option<(u64, String)> {
    let quote = Quote::new(&said.evidence_quote)?;
    let is_markup = clean::is_markup(&packet.path().to_text());
    let mut best: Option<(u64, u64, String)> = None;
    for hunk in packet.hunks().filter(|hunk| is_claimed(hunk, said)) {
        let lines = show(&hunk, is_markup).head;
        for (at, HeadLine { line, .. }) in lines.iter().enumerate() {
            let distance = line.number.abs_diff(said.start_line);
            let is_nearer = best.as_ref().is_none_or(|(nearest, ..)| distance < *nearest);
            if is_nearer && quote.stands_at(&lines[at..]) {
                best = Some((distance, line.number, line.text.trim().to_owned()));
            }
        }
    }
    best.map(|(_, number, verbatim)| (number, verbatim))
}

fn is_claimed(hunk: &HunkView<'_>, said: &ModelFinding) -> bool {
    let (first, count) = (hunk.hunk.new_start, hunk.hunk.new_lines);
    count > 0 && first <= said.end_line && said.start_line < first.saturating_add(count)
}

/// A quote by its lines, trimmed and without blank ones.
struct Quote<'a> {
    first: &'a str,
    others: Vec<&'a str>,
    is_telling: bool,
}

impl<'a> Quote<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next()?;
        let is_telling =
            text.chars().filter(|character| !character.is_whitespace()).nth(TELLING - 1).is_some();
        Some(Self { first, others: lines.collect(), is_telling })
    }

    /// Returns whether the first of the lines is added and has the beginning of the quote, and those that follow have the
    /// remaining lines.
    fn stands_at(&self, lines: &[HeadLine<'_>]) -> bool {
        let Some((first, following)) = lines.split_first() else { return false };
        let mut following = following.iter().filter(|line| !line.shown.trim().is_empty());
        first.mark == Mark::Added
            && self.matches(self.first, &first.shown)
            && self
                .others
                .iter()
                .all(|other| following.next().is_some_and(|line| self.matches(other, &line.shown)))
    }

    fn matches(&self, quoted: &str, shown: &str) -> bool {
        if self.is_telling { shown.contains(quoted) } else { shown.trim() == quoted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{CaseFile, changed_file};

    const RULES: &[&str] = &["review-security/injection", "review-security/secret"];

    fn finding() -> Value {
        json!({
            "endLine": 2, "evidenceQuote": "let a = b;", "file": "a.rs", "ruleId": RULES[0],
            "severity": "high", "startLine": 1, "suggestion": null, "summary": "It is wrong."
        })
    }

    fn said(lines: (u64, u64), quote: &str) -> ModelFinding {
        ModelFinding {
            end_line: lines.1,
            evidence_quote: quote.to_owned(),
            file: "a.rs".to_owned(),
            rule_id: RULES[0].to_owned(),
            severity: Severity::High,
            start_line: lines.0,
            summary: "It is wrong.".to_owned(),
            suggestion: None,
        }
    }

    /// Returns the parts of a schema that some provider refuses.
    fn outside_the_subset(schema: &Value) -> Vec<String> {
        const KNOWN: &[&str] = &[
            "additionalProperties",
            "anyOf",
            "description",
            "enum",
            "items",
            "properties",
            "required",
            "type",
        ];
        let Some(members) = schema.as_object() else { return vec![format!("{schema} is no object")] };
        let mut faults: Vec<String> =
            members.keys().filter(|key| !KNOWN.contains(&key.as_str())).cloned().collect();
        let kind = members.get("type");
        if kind.is_some_and(|kind| !kind.is_string()) {
            faults.push("a type is not one word".to_owned());
        }
        if kind.is_some() == members.contains_key("anyOf") {
            faults.push(format!("not either a type or a choice: {schema}"));
        }
        if let Some(words) = members.get("enum") {
            let words = words.as_array().cloned().unwrap_or_default();
            if kind != Some(&json!("string")) || words.is_empty() || !words.iter().all(Value::is_string) {
                faults.push("an enum is not of words".to_owned());
            }
        }
        let properties = members.get("properties").and_then(Value::as_object);
        if kind == Some(&json!("object")) {
            let names: Vec<&String> = properties.into_iter().flat_map(|members| members.keys()).collect();
            if members.get("required") != Some(&json!(names)) {
                faults.push("not every member is required".to_owned());
            }
            if members.get("additionalProperties") != Some(&json!(false)) {
                faults.push("an object is open".to_owned());
            }
        }
        if kind == Some(&json!("array")) && !members.contains_key("items") {
            faults.push("an array of anything".to_owned());
        }
        let choices = members.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let inner = properties.into_iter().flat_map(|members| members.values());
        faults.extend(choices.chain(inner).chain(members.get("items")).flat_map(outside_the_subset));
        faults
    }

    #[test]
    fn every_provider_accepts_the_schema() {
        assert_eq!(outside_the_subset(&schema(RULES)), Vec::<String>::new());
        assert_eq!(SCHEMA_NAME, "findings");
    }

    #[test]
    fn the_check_of_the_subset_sees_what_is_outside() {
        let with = |pointer: &str, key: &str, value: Value| {
            let mut schema = schema(RULES);
            schema.pointer_mut(pointer).unwrap()[key] = value;
            schema
        };
        let item = "/properties/findings/items";
        let member = |name: &str| format!("{item}/properties/{name}");
        for schema in [
            with("", "$schema", json!("x")),
            with("", "additionalProperties", json!(true)),
            with("/properties/findings", "maxItems", json!(200)),
            with(item, "additionalProperties", json!(true)),
            with(item, "required", json!(["file"])),
            with(&member("endLine"), "minimum", json!(1)),
            with(&member("summary"), "maxLength", json!(4000)),
            with(&member("summary"), "type", json!(["string", "null"])),
            with(&member("file"), "pattern", json!("^a$")),
            with(&member("file"), "$ref", json!("#/x")),
            with(&format!("{}/anyOf/0", member("suggestion")), "format", json!("uri")),
            with(&member("suggestion"), "oneOf", json!([])),
            with(&member("endLine"), "enum", json!([1])),
        ] {
            assert!(!outside_the_subset(&schema).is_empty(), "{schema}");
        }
    }

    #[test]
    fn the_schema_and_what_is_read_name_the_same_members() {
        let schema = schema(RULES);
        let item = &schema["properties"]["findings"]["items"];
        let written = serde_json::to_value(said((1, 2), "x")).unwrap();
        let names: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert_eq!(item["required"], json!(names));
        let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
        assert_eq!(item["properties"]["severity"]["enum"], json!(severities));
        assert_eq!(item["properties"]["ruleId"]["enum"], json!(RULES));
    }

    #[test]
    fn an_answer_of_the_form_is_read() {
        let mut second = finding();
        second["suggestion"] = json!("Do that.");
        let answer = json!({"findings": [finding(), second]}).to_string();
        let first = said((1, 2), "let a = b;");
        let expect = vec![first.clone(), ModelFinding { suggestion: Some("Do that.".to_owned()), ..first }];
        assert_eq!(read(&answer, RULES), Ok(expect));
        assert_eq!(read(" {\"findings\": []}\n", RULES), Ok(vec![]));
    }

    #[track_caller]
    fn check_refused(answer: &str, expect: &str) {
        let error = read(answer, RULES).unwrap_err();
        assert!(error.contains(expect), "{error:?} does not say {expect:?}");
        assert!(error.chars().count() <= 80 + REPEATED, "{error}");
        assert!(!error.chars().any(clean::is_hidden), "{error:?}");
    }

    #[test]
    fn an_answer_of_another_form_is_refused_as_a_whole() {
        let with = |name: &str, value: Value| {
            let mut wrong = finding();
            wrong[name] = value;
            json!({"findings": [finding(), wrong]}).to_string()
        };
        let long = "x".repeat(LONGEST_TEXT + 1);
        for (answer, expect) in [
            (with("startLine", json!(0)), "finding 2 names a line"),
            (with("endLine", json!(LAST_LINE + 1)), "finding 2 names a line"),
            (with("startLine", json!(3)), "finding 2 ends before it begins"),
            (with("startLine", json!(-1)), "invalid value"),
            (with("startLine", json!(1.0)), "invalid type"),
            (with("startLine", json!("1")), "invalid type"),
            (with("ruleId", json!("x\u{202e}".repeat(200))), "finding 2 names the rule xxx"),
            (with("severity", json!("High")), "unknown variant"),
            (with("summary", json!(" \n")), "finding 2 has no summary"),
            (with("summary", json!(long)), "finding 2 has a summary of 4001 bytes"),
            (with("evidenceQuote", json!(long)), "finding 2 has a quote of 4001 bytes"),
            (with("suggestion", json!(long)), "finding 2 has a suggestion of 4001 bytes"),
            (with("suggestion", json!(1)), "invalid type"),
            (with("more\u{1b}", json!(1)), "unknown field"),
            (with(&"m".repeat(500), json!(1)), "unknown field"),
            (json!({"findings": vec![finding(); 201]}).to_string(), "it has 201 findings"),
            (json!({"findings": [], "more": 1}).to_string(), "unknown field"),
            (json!([]).to_string(), ""),
            (r#"{"findings": [], "findings": []}"#.to_owned(), "appears twice"),
            (format!(r#"{{"{long}": 1, "{long}": 1}}"#), "key \"xxx"),
            ("```json\n{\"findings\": []}\n```".to_owned(), "expected value"),
            ("{\"findings\": []} and more".to_owned(), "trailing characters"),
            (String::new(), "EOF"),
        ] {
            check_refused(&answer, expect);
        }
    }

    #[test]
    fn every_member_must_be_there() {
        let whole = finding();
        for name in whole.as_object().unwrap().keys() {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(name);
            check_refused(&json!({"findings": [part]}).to_string(), &format!("missing field `{name}`"));
        }
    }

    const OLD: &str = "fn a() {\n    one();\n    two();\n}\n";
    const NEW: &str =
        "fn a() {\n    one();\n    call(x);\n\n    call(x, y);\n    }\n    call(x);\n    two();\n}\n";

    fn place(path: &str, old: &str, new: &str, lines: (u64, u64), quote: &str) -> Option<(u64, String)> {
        let side = |text: &str| Some((path.to_owned(), text.to_owned()));
        let (file, text) = changed_file(&CaseFile { old: side(old), new: side(new), modes: None });
        let included = vec![true; file.hunks.len()];
        locate(&said(lines, quote), &Packet { file: &file, text: &text, included: &included })
    }

    #[track_caller]
    fn check(lines: (u64, u64), quote: &str, expect: Option<(u64, &str)>) {
        let expect = expect.map(|(number, text)| (number, text.to_owned()));
        assert_eq!(place("a.rs", OLD, NEW, lines, quote), expect, "{quote:?} at {lines:?}");
    }

    #[test]
    fn the_nearest_added_line_that_holds_the_quote_is_meant() {
        check((3, 3), "call(x);", Some((3, "call(x);")));
        check((6, 7), "  call(x);  ", Some((7, "call(x);")));
        check((5, 5), "call(x);", Some((3, "call(x);")));
        check((3, 7), "call(x, y);", Some((5, "call(x, y);")));
        check((7, 90), "(x, y)", Some((5, "call(x, y);")));
    }

    #[test]
    fn a_quote_of_several_lines_stands_in_their_order() {
        check((7, 7), "call(x);\ncall(x, y);", Some((3, "call(x);")));
        check((3, 3), "\n\ncall(x);\n\n    two();\n}\n", Some((7, "call(x);")));
        check((3, 3), "call(x);\r\n}", None);
        check((3, 3), "call(x, y);\ncall(x);", None);
        check((3, 3), "two();\n}\nmore();", None);
    }

    #[test]
    fn a_quote_that_stands_elsewhere_is_no_evidence() {
        for quote in ["", " \n\t", "never(there);", "one();", "two();", "CALL(X);"] {
            check((3, 7), quote, None);
        }
        check((1, 2), "call(x);", None);
        check((8, 9), "call(x);", None);
        check((LAST_LINE, LAST_LINE), "call(x);", None);
    }

    #[test]
    fn a_short_quote_must_be_a_whole_line() {
        check((3, 7), "x", None);
        check((3, 7), "(x)", None);
        check((3, 7), "}", Some((6, "}")));
        check((3, 7), "l(x)", Some((3, "call(x);")));
    }

    #[test]
    fn a_removed_line_is_not_there_any_more() {
        assert_eq!(place("a.rs", "a();\nold();\n", "a();\n", (1, 2), "old();"), None);
        assert_eq!(place("a.rs", "old();\n", "new();\n", (1, 1), "old();"), None);
    }

    #[test]
    fn a_quote_is_held_against_what_the_model_saw() {
        let (old, new) = ("seen\n", "seen\nIgnore\u{200b} all <!-- hidden --> of it\n");
        let line = "Ignore\u{200b} all <!-- hidden --> of it".to_owned();
        assert_eq!(
            place("a.md", old, new, (2, 2), "Ignore all [comment removed] of it"),
            Some((2, line.clone()))
        );
        assert_eq!(place("a.md", old, new, (2, 2), "Ignore all"), Some((2, line.clone())));
        assert_eq!(place("a.md", old, new, (2, 2), "hidden"), None);
        assert_eq!(place("a.md", old, new, (2, 2), "of it"), Some((2, line)));
    }

    #[test]
    fn only_a_hunk_that_is_claimed_and_planned_counts() {
        let old: String = (1..=60).map(|number| format!("line {number}\n")).collect();
        let new = old.replace("line 5\n", "evil();\n").replace("line 50\n", "evil();\n");
        let side = |text: &str| Some(("a.rs".to_owned(), text.to_owned()));
        let (file, text) = changed_file(&CaseFile { old: side(&old), new: side(&new), modes: None });
        let at = |lines, included: &[bool]| {
            locate(&said(lines, "evil();"), &Packet { file: &file, text: &text, included })
                .map(|(line, _)| line)
        };
        assert_eq!(at((50, 50), &[true, true]), Some(50));
        assert_eq!(at((5, 50), &[true, true]), Some(5));
        assert_eq!(at((5, 50), &[false, true]), Some(50));
        assert_eq!(at((5, 5), &[false, true]), None);
        assert_eq!(at((20, 30), &[true, true]), None);
    }
}
