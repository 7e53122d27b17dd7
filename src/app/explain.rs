//! `qa-skill explain`: a rule's page, or everything known about one finding.

use std::path::Path;

use super::exit::Failure;
use crate::store::RunDirectory;
use qa_contracts::v1::{Finding, SkillResult};
use qa_core::gates;
use qa_core::masking::{sanitize, sanitize_cut};
use qa_lenses::reviews;

/// Explains a rule, a lens, or a finding by the beginning of its id.
pub(crate) fn explain(subject: &str, artifact_root: &Path) -> Result<Vec<u8>, Failure> {
    if let Some(text) = rule_page(subject) {
        return Ok(text.into_bytes());
    }
    let is_id = subject.len() >= 6 && subject.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        return finding(&subject.to_lowercase(), artifact_root);
    }
    let registry = qa_lenses::registry();
    let rules = registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str());
    let near = rules.min_by_key(|rule| strsim::damerau_levenshtein(rule, subject)).unwrap_or("");
    let shown = sanitize_cut(subject, 80);
    Err(Failure::usage(
        format!("there is no rule or finding `{shown}`"),
        format!("did you mean `{near}`? `qa-skill policy-check` lists all rules"),
    ))
}

fn rule_page(subject: &str) -> Option<String> {
    if let Some(text) = gate_page(subject).or_else(|| review_page(subject)) {
        return Some(text);
    }
    let lens = qa_lenses::ALL.iter().find(|lens| {
        let spec = lens.spec();
        spec.id == subject || spec.rules.iter().any(|rule| rule.id == subject)
    })?;
    let page = lens.spec().page;
    if lens.spec().id == subject {
        return Some(prose(page));
    }
    let heading = format!("## {subject}");
    let section = page.split("\n## ").skip(1).find(|section| section.lines().next() == Some(subject))?;
    Some(prose(&format!("{heading}\n{}", section.split_once('\n').map_or("", |(_, rest)| rest))))
}

/// Reviews share a page, with a section for each of them and one for each rule.
fn review_page(subject: &str) -> Option<String> {
    let spec = reviews::ALL
        .iter()
        .find(|spec| spec.id == subject || spec.rules.iter().any(|rule| rule.id == subject))?;
    let (mark, ends): (&str, &[&str]) = match spec.id == subject {
        true => ("## ", &["## "]),
        false => ("### ", &["## ", "### "]),
    };
    let title = spec.rules.iter().find(|rule| rule.id == subject).map_or(spec.title, |rule| rule.title);
    let lines = reviews::PAGE.lines().skip_while(|line| line.strip_prefix(mark) != Some(subject)).skip(1);
    let section: Vec<&str> = lines.take_while(|line| !ends.iter().any(|end| line.starts_with(end))).collect();
    Some(format!("# {subject}\n\n{title}.\n\n{}\n", section.join("\n").trim()))
}

/// A gate's rules are all alike, so they share a page.
fn gate_page(subject: &str) -> Option<String> {
    let gate = gates::entries()
        .find(|gate| gate.lens_id == subject || gate.rules.iter().any(|rule| rule.rule_id == subject))?;
    let rule = gate.rules.iter().find(|rule| rule.rule_id == subject);
    let title = rule.map_or(&gate.title, |rule| &rule.title);
    Some(format!("# {subject}\n\n{title}.\n\n{}", include_str!("../../docs/gates.md")))
}

/// A page without its cases: those are for the tests.
fn prose(page: &str) -> String {
    let mut text = String::new();
    let (mut in_case, mut in_file) = (false, false);
    for line in page.lines() {
        // A file of a case may have lines that look like headings.
        if line.starts_with("~~~") {
            in_file = !in_file;
        } else if in_file {
            // Belongs to the case.
        } else if line.starts_with("### ") {
            in_case = true;
        } else if line.starts_with("## ") || line.starts_with("# ") {
            in_case = false;
        }
        if !in_case {
            text.push_str(line);
            text.push('\n');
        }
    }
    format!("{}\n", text.trim_end())
}

fn finding(id: &str, artifact_root: &Path) -> Result<Vec<u8>, Failure> {
    let runs = artifact_root.join("runs");
    let mut directories: Vec<_> = std::fs::read_dir(&runs)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect();
    directories.sort();
    for directory in directories {
        let Ok(result) = RunDirectory::open(&directory).and_then(|run| run.artifact::<SkillResult>()) else {
            continue;
        };
        let mut findings = result.lens_results.iter().flat_map(|result| &result.findings);
        if let Some(found) = findings.find(|finding| finding.finding_id.as_str().starts_with(id)) {
            return Ok(describe(found, &directory).into_bytes());
        }
    }
    let root = sanitize(&runs.display().to_string());
    Err(Failure::usage(
        format!("no run below {root} has a finding {id}"),
        "pass --out with the artifact root the run used",
    ))
}

fn describe(finding: &Finding, directory: &Path) -> String {
    let quote = finding.evidence.get("quote").and_then(serde_json::Value::as_str).unwrap_or("");
    let mut text = format!(
        "{}\n{}:{}\n\n{}\n",
        finding.rule_id,
        finding.file,
        finding.start_line,
        sanitize(&finding.summary)
    );
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<14} {value}\n"));
    line("finding", finding.finding_id.to_string());
    line("evidence hash", finding.evidence_hash.to_string());
    line("severity", finding.severity.to_string());
    line("blocks", if finding.blocking { "yes" } else { "no" }.to_owned());
    line("strength", format!("{} in {} scope", finding.strength, finding.scope));
    line("origin", finding.origin.to_string());
    line("quote", sanitize_cut(quote, 200));
    line("fix", finding.fix.clone());
    line("run", sanitize(&directory.display().to_string()));
    if let Some(page) = rule_page(&finding.rule_id) {
        text.push('\n');
        text.push_str(&page);
    }
    text
}
