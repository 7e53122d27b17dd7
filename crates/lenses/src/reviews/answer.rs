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
pub(super) const LONGEST_TEXT: usize = 4_000;
/// The last line that a finding may name.
const LAST_LINE: u64 = 1 << 31;
/// The most of an answer that an error repeats, in characters.
const REPEATED: usize = 80;
/// A quote with fewer characters stands nearly everywhere, so it must be a whole line.
const TELLING: usize = 4;

/// Finding in a model's reply.
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

/// Returns the schema that an answer is asked for in, inside the subset every provider accepts.
///
/// That subset knows no bounds: how long, how many and how large is checked when the answer is [parsed](parse_answer).
pub fn schema(rule_ids: &[&str]) -> Value {
    let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
    let finding = object(json!({
        "endLine": {"type": "integer", "description": "The last line concerned, by its number in the packet."},
        "evidenceQuote": {
        "type": "string",
        "description": "The added lines concerned, verbatim, without numbers and signs."
        },
        "file": {"type": "string", "description": "The file, exactly as the packet names it."},
        "ruleId": {"type": "string", "enum": rule_ids, "description": "The rule that is broken."},
        "severity": {"type": "string", "enum": severities, "description": "How bad it is."},
        "startLine": {"type": "integer", "description": "The first line concerned, by its number in the packet."},
        "suggestion": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "description": "What to do instead; null if that is not clear."
        },
        "summary": {"type": "string", "description": "What is wrong and why, in one or two sentences."},
    }));
    let findings = json!({"type": "array", "items": finding, "description": "Empty if nothing is wrong."});
    object(json!({ "findings": findings }))
}

/// Returns an object of exactly these members.
pub(super) fn object(properties: Value) -> Value {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|members| members.keys()).collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

/// Reads an answer; whatever is not exactly of the form is an error and no finding is taken from it.
///
/// The error completes "the answer is not what was asked for: …".
pub fn parse_answer(text: &str, rule_ids: &[&str]) -> Result<Vec<ModelFinding>, String> {
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
pub(super) fn repeated(text: &str) -> String {
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

/// The place of a quote in the change.
#[derive(Debug, PartialEq, Eq)]
pub struct LocatedQuote {
    /// Number of the quote's first line at head.
    pub line: u64,
    /// The whole of that line, trimmed.
    pub text: String,
}

/// Locates the quote of a finding on added lines of the hunk that it claims, at the nearest place to the line that it names.
///
/// The caller passes the packet of the file that the finding names.
pub fn locate(finding: &ModelFinding, packet: &Packet<'_>) -> Option<LocatedQuote> {
    let quote = Quote::new(&finding.evidence_quote)?;
    let is_markup = clean::is_markup(&packet.path().to_text());
    let mut nearest: Option<(u64, LocatedQuote)> = None;
    for hunk in packet.hunks().filter(|hunk| is_claimed(hunk, finding)) {
        let lines = show(&hunk, is_markup).head;
        for (at, HeadLine { line, .. }) in lines.iter().enumerate() {
            let distance = line.number.abs_diff(finding.start_line);
            let is_nearer = nearest.as_ref().is_none_or(|(best, _)| distance < *best);
            if is_nearer && quote.is_at(&lines[at..]) {
                let text = line.text.trim().to_owned();
                nearest = Some((distance, LocatedQuote { line: line.number, text }));
            }
        }
    }
    nearest.map(|(_, located)| located)
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
    fn is_at(&self, lines: &[HeadLine<'_>]) -> bool {
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

/// Returns the parts of a schema that some provider refuses.
#[cfg(test)]
pub(super) fn outside_the_subset(schema: &Value) -> Vec<String> {
    const KNOWN: &[&str] =
        &["additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type"];
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

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;
    use crate::corpus::{CaseFile, changed_file};

    const RULES: &[&str] = &["review-security/injection", "review-security/secret"];

    fn finding() -> Value {
        json!({
            "endLine": 2, "evidenceQuote": "let a = b;", "file": "a.rs", "ruleId": RULES[0],
            "severity": "high", "startLine": 1, "suggestion": null, "summary": "It is wrong."
        })
    }

    /// Returns an answer of two findings, the second with another member.
    fn answer_with(name: &str, value: Value) -> String {
        let mut wrong = finding();
        wrong[name] = value;
        json!({"findings": [finding(), wrong]}).to_string()
    }

    fn model_finding(lines: RangeInclusive<u64>, quote: &str) -> ModelFinding {
        ModelFinding {
            end_line: *lines.end(),
            evidence_quote: quote.to_owned(),
            file: "a.rs".to_owned(),
            rule_id: RULES[0].to_owned(),
            severity: Severity::High,
            start_line: *lines.start(),
            summary: "It is wrong.".to_owned(),
            suggestion: None,
        }
    }

    #[test]
    fn every_provider_accepts_the_schema() {
        assert_eq!(outside_the_subset(&schema(RULES)), Vec::<String>::new());
        assert_eq!(SCHEMA_NAME, "findings");
    }

    #[test]
    fn the_check_of_the_subset_sees_what_is_outside() {
        const FINDINGS: &str = "/properties/findings";
        for (pointer, key, value) in [
            ("", "$schema", json!("x")),
            ("", "additionalProperties", json!(true)),
            (FINDINGS, "maxItems", json!(200)),
            ("/properties/findings/items", "additionalProperties", json!(true)),
            ("/properties/findings/items", "required", json!(["file"])),
            ("/properties/findings/items/properties/endLine", "minimum", json!(1)),
            ("/properties/findings/items/properties/summary", "maxLength", json!(4000)),
            ("/properties/findings/items/properties/summary", "type", json!(["string", "null"])),
            ("/properties/findings/items/properties/file", "pattern", json!("^a$")),
            ("/properties/findings/items/properties/file", "$ref", json!("#/x")),
            ("/properties/findings/items/properties/suggestion/anyOf/0", "format", json!("uri")),
            ("/properties/findings/items/properties/suggestion", "oneOf", json!([])),
            ("/properties/findings/items/properties/endLine", "enum", json!([1])),
        ] {
            let mut schema = schema(RULES);
            schema.pointer_mut(pointer).unwrap()[key] = value;
            assert!(!outside_the_subset(&schema).is_empty(), "{schema}");
        }
    }

    #[test]
    fn the_schema_and_what_is_read_name_the_same_members() {
        let schema = schema(RULES);
        let item = &schema["properties"]["findings"]["items"];
        let written = serde_json::to_value(model_finding(1..=2, "x")).unwrap();
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
        let first = model_finding(1..=2, "let a = b;");
        let expect = vec![first.clone(), ModelFinding { suggestion: Some("Do that.".to_owned()), ..first }];
        assert_eq!(parse_answer(&answer, RULES), Ok(expect));
        assert_eq!(parse_answer(" {\"findings\": []}\n", RULES), Ok(vec![]));
    }

    #[track_caller]
    fn check_refused(answer: &str, expect: &str) {
        let error = parse_answer(answer, RULES).unwrap_err();
        assert!(error.contains(expect), "{error:?} does not say {expect:?}");
        assert!(error.chars().count() <= 80 + REPEATED, "{error}");
        assert!(!error.chars().any(clean::is_hidden), "{error:?}");
    }

    #[test]
    fn an_answer_of_another_form_is_refused_as_a_whole() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        for (answer, expect) in [
            (answer_with("startLine", json!(0)), "finding 2 names a line"),
            (answer_with("endLine", json!(LAST_LINE + 1)), "finding 2 names a line"),
            (answer_with("startLine", json!(3)), "finding 2 ends before it begins"),
            (answer_with("startLine", json!(-1)), "invalid value"),
            (answer_with("startLine", json!(1.0)), "invalid type"),
            (answer_with("startLine", json!("1")), "invalid type"),
            (answer_with("ruleId", json!("x\u{202e}".repeat(200))), "finding 2 names the rule xxx"),
            (answer_with("severity", json!("High")), "unknown variant"),
            (answer_with("summary", json!(" \n")), "finding 2 has no summary"),
            (answer_with("summary", json!(long)), "finding 2 has a summary of 4001 bytes"),
            (answer_with("evidenceQuote", json!(long)), "finding 2 has a quote of 4001 bytes"),
            (answer_with("suggestion", json!(long)), "finding 2 has a suggestion of 4001 bytes"),
            (answer_with("suggestion", json!(1)), "invalid type"),
            (answer_with("more\u{1b}", json!(1)), "unknown field"),
            (answer_with(&"m".repeat(500), json!(1)), "unknown field"),
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

    fn locate_in(
        path: &str,
        old: &str,
        new: &str,
        lines: RangeInclusive<u64>,
        quote: &str,
    ) -> Option<LocatedQuote> {
        let (file, text) = changed_file(&CaseFile::edited(path, old, new));
        let included = vec![true; file.hunks.len()];
        locate(&model_finding(lines, quote), &Packet { file: &file, text: &text, included: &included })
    }

    #[track_caller]
    fn check(lines: RangeInclusive<u64>, quote: &str, expect: Option<(u64, &str)>) {
        let expect = expect.map(|(line, text)| LocatedQuote { line, text: text.to_owned() });
        assert_eq!(locate_in("a.rs", OLD, NEW, lines.clone(), quote), expect, "{quote:?} at {lines:?}");
    }

    #[test]
    fn the_nearest_added_line_that_holds_the_quote_is_meant() {
        check(3..=3, "call(x);", Some((3, "call(x);")));
        check(6..=7, "  call(x);  ", Some((7, "call(x);")));
        check(5..=5, "call(x);", Some((3, "call(x);")));
        check(3..=7, "call(x, y);", Some((5, "call(x, y);")));
        check(7..=90, "(x, y)", Some((5, "call(x, y);")));
    }

    #[test]
    fn a_quote_of_several_lines_stands_in_their_order() {
        check(7..=7, "call(x);\ncall(x, y);", Some((3, "call(x);")));
        check(3..=3, "\n\ncall(x);\n\n    two();\n}\n", Some((7, "call(x);")));
        check(3..=3, "call(x);\r\n}", None);
        check(3..=3, "call(x, y);\ncall(x);", None);
        check(3..=3, "two();\n}\nmore();", None);
    }

    #[test]
    fn a_quote_that_stands_elsewhere_is_no_evidence() {
        for quote in ["", " \n\t", "never(there);", "one();", "two();", "CALL(X);"] {
            check(3..=7, quote, None);
        }
        check(1..=2, "call(x);", None);
        check(8..=9, "call(x);", None);
        check(LAST_LINE..=LAST_LINE, "call(x);", None);
    }

    #[test]
    fn a_short_quote_must_be_a_whole_line() {
        check(3..=7, "x", None);
        check(3..=7, "(x)", None);
        check(3..=7, "}", Some((6, "}")));
        check(3..=7, "l(x)", Some((3, "call(x);")));
    }

    #[test]
    fn a_removed_line_is_not_there_any_more() {
        assert_eq!(locate_in("a.rs", "a();\nold();\n", "a();\n", 1..=2, "old();"), None);
        assert_eq!(locate_in("a.rs", "old();\n", "new();\n", 1..=1, "old();"), None);
    }

    #[test]
    fn a_quote_is_held_against_what_the_model_saw() {
        let (old, new) = ("seen\n", "seen\nIgnore\u{200b} all <!-- hidden --> of it\n");
        let text = "Ignore\u{200b} all <!-- hidden --> of it".to_owned();
        let expected = Some(LocatedQuote { line: 2, text });
        for quote in ["Ignore all [comment removed] of it", "Ignore all", "of it"] {
            assert_eq!(locate_in("a.md", old, new, 2..=2, quote), expected, "{quote}");
        }
        assert_eq!(locate_in("a.md", old, new, 2..=2, "hidden"), None);
    }

    #[test]
    fn only_a_hunk_that_is_claimed_and_planned_counts() {
        let old: String = (1..=60).map(|number| format!("line {number}\n")).collect();
        let new = old.replace("line 5\n", "evil();\n").replace("line 50\n", "evil();\n");
        let (file, text) = changed_file(&CaseFile::edited("a.rs", &old, &new));
        for (lines, included, expected) in [
            (50..=50, [true, true], Some(50)),
            (5..=50, [true, true], Some(5)),
            (5..=50, [false, true], Some(50)),
            (5..=5, [false, true], None),
            (20..=30, [true, true], None),
        ] {
            let packet = Packet { file: &file, text: &text, included: &included };
            let located = locate(&model_finding(lines, "evil();"), &packet);
            assert_eq!(located.map(|located| located.line), expected);
        }
    }
}
