//! `sarif`: SARIF 2.1.0 for code scanning and editors.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::common::{
    Files, codes, counted, evidence_number, evidence_text, findings, is_on_base, is_warning, standing,
};
use crate::contract::{Format, FormatSpec, Links, Report};
use crate::why::{message, why};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    Conclusion, Edit, EditSafety, Finding, FindingOrigin, LensClass, RegistryLens, RegistryRule, Severity,
};
use qa_core::canonical;
use qa_core::edits::by_file;
use qa_core::escape::{visible, visible_cut};

/// GitHub refuses a run with more results.
const MAX_RESULTS: usize = 25_000;
/// The longest description GitHub takes.
const MAX_DESCRIPTION: usize = 1024;
/// The most characters of a snippet.
const MAX_SNIPPET: usize = 400;

/// SARIF 2.1.0, for code scanning.
pub(crate) struct Sarif;

impl Format for Sarif {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "sarif", title: "SARIF 2.1.0 for code scanning", file: Some("results.sarif") }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        document(report, None)
    }
}

/// The document as it is uploaded without GitHub's upload action: with the address of each rule's page where
/// [`Report::links`] has it, and with the fingerprint that code scanning tells alerts apart by. `hashes` are those that
/// GitHub's action would give the lines of [`places`]; where there is none, it is the finding's id, which survives moved
/// lines as well, and the number of the finding among those of one id.
pub fn for_upload(report: &Report<'_>, hashes: &BTreeMap<(RepoPath, u64), String>) -> Vec<u8> {
    document(report, Some(hashes))
}

/// Locations of the document's results: paths at head and first lines.
pub fn places(report: &Report<'_>) -> Vec<(RepoPath, u64)> {
    let files = Files::new(report);
    let anchors = findings(report).into_iter().take(MAX_RESULTS).map(|finding| files.anchor(finding));
    anchors.map(|anchor| (anchor.path.clone(), anchor.start_line)).collect()
}

fn document(report: &Report<'_>, hashes: Option<&BTreeMap<(RepoPath, u64), String>>) -> Vec<u8> {
    let (rules, indexes) = rules(report, report.links.as_ref().filter(|_| hashes.is_some()));
    let files = Files::new(report);
    let all = findings(report);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let results: Vec<Value> = all
        .iter()
        .take(MAX_RESULTS)
        .map(|finding| {
            let mut result = result(&files, &indexes, finding);
            if let Some(hashes) = hashes {
                let anchor = files.anchor(finding);
                let hash = hashes.get(&(anchor.path.clone(), anchor.start_line)).cloned();
                let print = hash.unwrap_or_else(|| {
                    let id = finding.finding_id.as_str();
                    let number = seen.entry(id).or_insert(0);
                    *number += 1;
                    format!("{}:{number}", id.get(..16).unwrap_or(id))
                });
                result["partialFingerprints"]["primaryLocationLineHash"] = print.into();
            }
            result
        })
        .collect();
    let mut run = json!({
        "automationDetails": {"id": "qa-skill/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation(report, all.len())],
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the repository."}}},
        "properties": {"executionKey": report.result.execution_key.as_str()},
        "tool": {"driver": {"name": "qa-skill", "semanticVersion": env!("CARGO_PKG_VERSION")}},
    });
    // A value inside the macro is copied; these are most of the document, so they are moved.
    run["results"] = Value::Array(results);
    run["tool"]["driver"]["rules"] = Value::Array(rules);
    let mut log = json!({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0"});
    log["runs"] = Value::Array(vec![run]);
    let mut bytes = canonical::to_vec(&log)
        .expect("only lines, columns and counts are numbers here, all of them from validated artifacts");
    bytes.push(b'\n');
    bytes
}

/// The rules as the driver lists them, and the place of each by id. Rules a finding names and the registry does not
/// know stand at the end: a result must be able to point to its rule.
fn rules<'a>(report: &Report<'a>, links: Option<&Links>) -> (Vec<Value>, BTreeMap<&'a str, usize>) {
    let mut list = Vec::new();
    let mut indexes = BTreeMap::new();
    for lens in &report.registry.lenses {
        for rule in &lens.rules {
            indexes.insert(rule.rule_id.as_str(), list.len());
            let mut descriptor = known_rule(lens, rule);
            if let Some(page) = links.and_then(|links| links.rule(&rule.rule_id)) {
                descriptor["helpUri"] = page.into();
            }
            list.push(descriptor);
        }
    }
    for finding in report.result.lens_results.iter().flat_map(|result| &result.findings) {
        if !indexes.contains_key(finding.rule_id.as_str()) {
            indexes.insert(&finding.rule_id, list.len());
            let text = visible(&finding.rule_id);
            list.push(json!({
                "fullDescription": {"text": text},
                "help": {"text": help(&text)},
                "id": text,
                "shortDescription": {"text": text},
            }));
        }
    }
    (list, indexes)
}

fn known_rule(lens: &RegistryLens, rule: &RegistryRule) -> Value {
    let strengths = &rule.strengths.default;
    // A lens may be named as its class is, and tags are unique.
    let mut tags = vec![lens.lens_class.as_str(), lens.lens_id.as_str()];
    tags.dedup();
    let mut properties = json!({
        "lens": lens.lens_id,
        "precision": "high",
        "severity": rule.severity.as_str(),
        "strength": strengths.product.as_str(),
        "tags": tags,
    });
    if lens.lens_class == LensClass::Security {
        properties["security-severity"] = json!(security_severity(rule.severity));
    }
    let full = format!("{}. Found by the lens {}: {}.", rule.title, lens.lens_id, lens.title);
    json!({
        "defaultConfiguration": {"level": level(rule.severity)},
        "fullDescription": {"text": visible_cut(&full, MAX_DESCRIPTION)},
        "help": {"text": help(&rule.rule_id)},
        "id": rule.rule_id,
        "properties": properties,
        "shortDescription": {"text": visible_cut(&rule.title, MAX_DESCRIPTION)},
    })
}

fn help(rule: &str) -> String {
    format!("`qa-skill explain {rule}` tells what the rule looks for, what it leaves alone and what to do.")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// The middle of GitHub's bands: over 9.0 critical, 7.0 high, 4.0 medium, below low.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.1",
    }
}

fn result(files: &Files<'_>, indexes: &BTreeMap<&str, usize>, finding: &Finding) -> Value {
    let level = match finding.blocking {
        true => "error",
        false if is_warning(finding) => "warning",
        false => "note",
    };
    let baseline = match finding.origin {
        FindingOrigin::Introduced => "new",
        FindingOrigin::PreExisting => "unchanged",
    };
    let mut result = json!({
        "baselineState": baseline,
        "level": level,
        "locations": [{"physicalLocation": place(files, finding)}],
        "message": {"text": message(finding)},
        // The only name of ours in the file: GitHub's upload action makes `primaryLocationLineHash` itself and complains
        // loudly about a value that is not its own. [`for_upload`] adds one.
        "partialFingerprints": {"qaSkillFindingId/v1": finding.finding_id.as_str()},
        "properties": {
            "blocking": finding.blocking,
            "evidenceHash": finding.evidence_hash.as_str(),
            "lens": visible(&finding.lens_id),
            "scope": finding.scope.as_str(),
            "severity": finding.severity.as_str(),
            "standing": standing(finding),
            "strength": finding.strength.as_str(),
            "why": visible(&why(finding)),
        },
        "ruleId": visible(&finding.rule_id),
        "ruleIndex": indexes.get(finding.rule_id.as_str()),
    });
    if let Some(edit) = &finding.edit {
        result["fixes"] = json!([fix(edit)]);
    }
    if let Some(waiver) = &finding.waiver {
        let text = format!("{} until {}: {}", waiver.owner, waiver.expires, waiver.reason);
        result["suppressions"] =
            json!([{"justification": visible(&text), "kind": "external", "status": "accepted"}]);
    }
    result
}

fn place(files: &Files<'_>, finding: &Finding) -> Value {
    let anchor = files.anchor(finding);
    let mut region = Map::new();
    region.insert("startLine".to_owned(), json!(anchor.start_line));
    region.insert("endLine".to_owned(), json!(anchor.end_line));
    let quote = evidence_text(finding, "quote");
    if is_on_base(finding) {
        // The text is not at head: the place names where it stood, and no text there belongs to the finding.
        region.insert("startColumn".to_owned(), json!(1));
        region.insert("endColumn".to_owned(), json!(1));
    } else {
        region.insert("startColumn".to_owned(), json!(evidence_number(finding, "startColumn").max(1)));
        let whole = (anchor.start_line == anchor.end_line).then(|| quote.chars().count() as u64 + 1);
        if let Some(end) = anchor.columns.map(|(_, end)| end).or(whole) {
            region.insert("endColumn".to_owned(), json!(end));
        }
        if !quote.is_empty() {
            region.insert("snippet".to_owned(), json!({"text": visible_cut(quote, MAX_SNIPPET)}));
        }
    }
    json!({
        "artifactLocation": {"uri": uri(anchor.path.as_bytes()), "uriBaseId": "SRCROOT"},
        "region": region,
    })
}

/// Returns an edit for an editor, which shows it before it applies it.
fn fix(edit: &Edit) -> Value {
    let mut changes: Vec<Value> = Vec::new();
    for (path, replacements) in by_file([edit]) {
        let replacements: Vec<Value> = replacements
            .into_iter()
            .map(|replacement| {
                json!({
                    "deletedRegion": {
                        "startLine": replacement.start_line,
                        "startColumn": replacement.start_column,
                        "endLine": replacement.end_line,
                        "endColumn": replacement.end_column,
                    },
                    "insertedContent": {"text": replacement.text},
                })
            })
            .collect();
        changes.push(json!({
            "artifactLocation": {"uri": uri(path.as_bytes()), "uriBaseId": "SRCROOT"},
            "replacements": replacements,
        }));
    }
    let advice = match edit.safety {
        EditSafety::Safe => "",
        EditSafety::Unsafe => " (look at it first)",
    };
    json!({"artifactChanges": changes, "description": {"text": format!("{}{advice}", visible(&edit.title))}})
}

/// A relative reference (RFC 3986): every byte but unreserved ones and `/` is `%XX`, a colon included, as it would make
/// the first segment a scheme.
fn uri(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn invocation(report: &Report<'_>, total: usize) -> Value {
    let verdict = &report.result.final_verdict;
    let mut notifications: Vec<Value> = codes(report)
        .into_iter()
        .map(|(level, code)| {
            json!({"descriptor": {"id": code.as_str()}, "level": level, "message": {"text": code.hint()}})
        })
        .collect();
    if total > MAX_RESULTS {
        let rest = counted(total - MAX_RESULTS, "result");
        let text = format!("{rest} left out here; lens-results.json of the run lists all");
        notifications.push(json!({"level": "warning", "message": {"text": text}}));
    }
    json!({
        "executionSuccessful": verdict.conclusion != Conclusion::CouldNotComplete,
        "properties": {"conclusion": verdict.conclusion.as_str()},
        "toolExecutionNotifications": notifications,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn log(sample: &sample::Sample) -> Value {
        serde_json::from_slice(&Sarif.render(&sample.report(false))).unwrap()
    }

    fn find<'a>(log: &'a Value, rule: &str) -> &'a Value {
        log["runs"][0]["results"].as_array().unwrap().iter().find(|result| result["ruleId"] == rule).unwrap()
    }

    #[test]
    fn every_result_points_to_its_rule() {
        for (name, sample) in sample::all() {
            let log = log(&sample);
            let run = &log["runs"][0];
            for result in run["results"].as_array().unwrap() {
                let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
                assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"], "{name}");
            }
        }
    }

    #[test]
    fn a_blocking_finding_is_an_error_with_its_exact_place() {
        let log = log(&sample::fail());
        let result = find(&log, "secret-token/github-token");
        assert_eq!((&result["level"], &result["properties"]["blocking"]), (&json!("error"), &json!(true)));
        assert_eq!(
            result["locations"][0]["physicalLocation"],
            json!({
                "artifactLocation": {"uri": "src/config.rs", "uriBaseId": "SRCROOT"},
                "region": {
                    "startLine": 13, "startColumn": 20, "endLine": 13, "endColumn": 60,
                    "snippet": {"text": "*".repeat(40)}
                }
            })
        );
    }

    #[test]
    fn a_waiver_suppresses_and_an_old_finding_is_unchanged() {
        let log = log(&sample::fail());
        assert_eq!(find(&log, "secret-token/private-key")["suppressions"][0]["kind"], "external");
        assert_eq!(find(&log, "debug-leftover/todo")["baselineState"], "unchanged");
    }

    #[test]
    fn text_of_the_base_is_anchored_at_head() {
        let log = log(&sample::fail());
        let place = &find(&log, "debug-leftover/deleted-test")["locations"][0]["physicalLocation"];
        assert_eq!(place["region"], json!({"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}));
    }

    #[test]
    fn an_upload_leads_to_the_page_of_each_rule() {
        let sample = sample::fail();
        let page = "https://github.com/acme/qa-skill/blob/v1/docs/rules.md";
        let files = "https://github.com/owner/name/blob/main".to_owned();
        let links = Some(Links { files, rules: Some(page.to_owned()) });
        let report = Report { links, ..sample.report(false) };
        let uploaded: Value = serde_json::from_slice(&for_upload(&report, &BTreeMap::new())).unwrap();
        for rule in uploaded["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap() {
            let lens = rule["properties"]["lens"].as_str();
            assert_eq!(rule["helpUri"].as_str(), lens.map(|lens| format!("{page}#{lens}")).as_deref());
        }
        // The file is the same wherever it is made.
        assert_eq!(Sarif.render(&report), Sarif.render(&sample.report(false)));
    }

    #[test]
    fn a_path_is_one_relative_reference() {
        assert_eq!(uri("a b/ü:#?%\n.rs".as_bytes()), "a%20b/%C3%BC%3A%23%3F%25%0A.rs");
    }

    #[test]
    fn a_run_without_a_whole_look_was_not_successful() {
        assert_eq!(log(&sample::incomplete())["runs"][0]["invocations"][0]["executionSuccessful"], false);
        assert_eq!(log(&sample::fail())["runs"][0]["invocations"][0]["executionSuccessful"], true);
    }
}
