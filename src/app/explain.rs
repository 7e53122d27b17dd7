//! `qa-skill explain`: prints the page of a rule or lens, or the details of a finding.

use std::path::{Path, PathBuf};

use clap::Args;

use super::console::{Color, use_color, write_stdout};
use super::exit::{Exit, Failure};
use super::route_command::written_at;
use crate::config::Environment;
use crate::git::OpenRepository;
use crate::store::RunDirectory;
use qa_contracts::codes::{Code, CodeClass};
use qa_contracts::v1::{Finding, SkillResult};
use qa_core::gates;
use qa_core::masking::{sanitize, sanitize_cut};
use qa_core::nearest::nearest;
use qa_formats::contract::TerminalStyle;
use qa_formats::page::terminal_page;
use qa_formats::waive::{OPEN_TERMS, waiver_entry};
use qa_lenses::reviews;

#[derive(Args)]
pub(super) struct ExplainArgs {
    /// A rule, a lens, or the first six or more digits of a finding's id
    subject: String,
    /// The artifact root to search for findings; by default .qa-skill in the checkout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the explanation of a subject, wrapped for a person.
pub(super) fn print(arguments: &ExplainArgs) -> Result<Exit, Failure> {
    let environment = Environment::from_process();
    let color = use_color(Color::Auto, &environment);
    let text = explain(&arguments.subject, arguments.out.as_deref())?;
    let page = terminal_page(&text, TerminalStyle { color, width: environment.width() });
    write_stdout(page.as_bytes()).map(|()| Exit::Pass)
}

/// Explains a rule, a lens or a code by its id, or a finding by the first six or more digits of its id.
pub(super) fn explain(subject: &str, artifact_root: Option<&Path>) -> Result<String, Failure> {
    let full = full_id(subject);
    if let Some(text) = rule_page(full.as_deref().unwrap_or(subject)).or_else(|| code_page(subject)) {
        return Ok(text);
    }
    let is_id = subject.len() >= 6 && subject.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        return finding(&subject.to_lowercase(), &artifact_root.map_or_else(default_root, Path::to_owned));
    }
    let shown = sanitize_cut(subject, 80);
    Err(Failure::usage(format!("there is no rule, lens, code or finding `{shown}`"), suggestion(subject)))
}

/// Returns the id of the only rule that is called so within its lens.
fn full_id(name: &str) -> Option<String> {
    let registry = qa_lenses::registry();
    let rules = registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str());
    let mut called_so = rules.filter(|id| id.split_once('/').is_some_and(|(_, own)| own == name));
    let only = called_so.next().map(str::to_owned);
    only.filter(|_| called_so.next().is_none())
}

/// Returns the artifact root of runs without `--out`, from anywhere inside the checkout.
pub(crate) fn default_root() -> PathBuf {
    let checkout = OpenRepository::discover(Path::new(".")).map(|repository| repository.root);
    checkout.unwrap_or_default().join(".qa-skill")
}

/// Suggests a known id for an unknown one: the nearest, or the rules of the lens that the id begins with.
fn suggestion(subject: &str) -> String {
    let registry = qa_lenses::registry();
    let rules = registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str());
    let lenses = registry.lenses.iter().map(|lens| lens.lens_id.as_str());
    let near = match subject.contains('/') {
        true => nearest(subject, rules),
        false => nearest(subject, lenses.chain(Code::ALL.iter().map(|code| code.as_str()))),
    };
    if let Some(near) = near {
        return format!("did you mean `{near}`?");
    }
    let lens =
        subject.split('/').next().and_then(|id| registry.lenses.iter().find(|lens| lens.lens_id == id));
    match lens {
        Some(lens) => {
            let rules: Vec<&str> = lens.rules.iter().map(|rule| rule.rule_id.as_str()).collect();
            format!("the rules of {}: {}", lens.lens_id, rules.join(", "))
        }
        None => "`qa-skill schema registry` lists every lens with its rules; a finding is named by the first six or \
                 more digits of its id"
            .to_owned(),
    }
}

/// Returns the page of a rule, a lens, a gate or a review.
pub(crate) fn rule_page(subject: &str) -> Option<String> {
    if let Some(text) = gate_page(subject).or_else(|| review_page(subject)) {
        return Some(text);
    }
    let lens = qa_lenses::ALL.iter().find(|lens| {
        let spec = lens.spec();
        spec.id == subject || spec.rules.iter().any(|rule| rule.id == subject)
    })?;
    let page = lens.spec().page;
    if lens.spec().id == subject {
        return Some(page.to_owned());
    }
    let heading = format!("## {subject}");
    let section = page.split("\n## ").skip(1).find(|section| section.lines().next() == Some(subject))?;
    let body = section.strip_prefix(subject)?;
    Some(format!("{heading}{}\n", body.trim_end()))
}

/// Examples of the codes, one a line, by name.
const CODE_EXAMPLES: &str = include_str!("code_examples.txt");

/// Returns the example of a code.
fn code_example(code: Code) -> Option<&'static str> {
    CODE_EXAMPLES.lines().find_map(|line| line.strip_prefix(code.as_str())?.strip_prefix(": "))
}

/// Returns the page of a code: its kind of trouble, the cause with the way out, and an example.
fn code_page(subject: &str) -> Option<String> {
    let code = Code::ALL.iter().find(|code| code.as_str() == subject)?;
    let kind = match code.class() {
        CodeClass::Notice => "A notice, which changes nothing",
        CodeClass::Degradation => "Part of the run was narrowed, replaced or left out",
        CodeClass::Transient => "May succeed when it is tried again unchanged",
        CodeClass::UserRecoverable => {
            "A person has to change something: a setting, the policy or the command line"
        }
        CodeClass::Terminal => "The run cannot give a verdict as things stand",
    };
    let exit = Exit::without_verdict(*code);
    let ends = match exit == Exit::CouldNotComplete {
        true => String::new(),
        false => format!(" A command that ends with it has the exit code {}.", exit as u8),
    };
    let example =
        code_example(*code).map(|example| format!("\nFor example: {example}\n")).unwrap_or_default();
    Some(format!("# {code}\n\n{kind}.{ends}\n\n{}\n{example}", code.hint()))
}

/// Returns the section of a review or of its rule; all reviews share a page.
fn review_page(subject: &str) -> Option<String> {
    let spec = reviews::ALL
        .iter()
        .find(|spec| spec.id == subject || spec.rules.iter().any(|rule| rule.id == subject))?;
    let (mark, ends): (&str, &[&str]) = match spec.id == subject {
        true => ("## ", &["## "]),
        false => ("### ", &["## ", "### "]),
    };
    let title = match spec.rules.iter().find(|rule| rule.id == subject) {
        Some(rule) => rule.title,
        None => spec.title,
    };
    let lines = reviews::PAGE.lines().skip_while(|line| line.strip_prefix(mark) != Some(subject)).skip(1);
    let section: Vec<&str> = lines.take_while(|line| !ends.iter().any(|end| line.starts_with(end))).collect();
    Some(format!("# {subject}\n\n{title}.\n\n{}\n", section.join("\n").trim()))
}

/// Returns the page of gates, which all of them share.
fn gate_page(subject: &str) -> Option<String> {
    let gate = gates::entries()
        .find(|gate| gate.lens_id == subject || gate.rules.iter().any(|rule| rule.rule_id == subject))?;
    let rule = gate.rules.iter().find(|rule| rule.rule_id == subject);
    let title = match rule {
        Some(rule) => &rule.title,
        None => &gate.title,
    };
    Some(format!("# {subject}\n\n{title}.\n\n{}", include_str!("../../docs/gates.md")))
}

fn finding(id: &str, artifact_root: &Path) -> Result<String, Failure> {
    let runs = artifact_root.join("runs");
    let mut directories: Vec<_> = std::fs::read_dir(&runs)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| matches!(entry.file_type(), Ok(kind) if kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .collect();
    // The newest run answers: an earlier one may have had another policy.
    directories.sort_by_cached_key(|path| std::cmp::Reverse(written_at(path)));
    let mut found: Option<(Finding, PathBuf)> = None;
    let mut elsewhere = Vec::new();
    for directory in directories {
        let Ok(result) = RunDirectory::open(&directory).and_then(|run| run.artifact::<SkillResult>()) else {
            continue;
        };
        let findings = result.lens_results.into_iter().flat_map(|result| result.findings);
        for finding in findings.filter(|finding| finding.finding_id.as_str().starts_with(id)) {
            match &found {
                None => found = Some((finding, directory.clone())),
                Some((first, _)) if is_at_another_place(first, &finding) => {
                    elsewhere.push(format!(
                        "{}:{} in {}",
                        finding.file,
                        finding.start_line,
                        sanitize(&directory.display().to_string())
                    ));
                }
                Some(_) => {}
            }
        }
    }
    if let Some((finding, directory)) = found {
        return Ok(describe(&finding, &directory, &elsewhere));
    }
    let root = sanitize(&runs.display().to_string());
    Err(Failure::usage(
        format!("no run below {root} has a finding {id}"),
        "run `qa-skill run` first, or pass --out with the artifact root of the run that has it",
    ))
}

/// Returns whether a finding of the same id is about another place, as runs of other branches may have it.
fn is_at_another_place(one: &Finding, other: &Finding) -> bool {
    (&one.file, one.start_line, &one.evidence_hash) != (&other.file, other.start_line, &other.evidence_hash)
}

/// Returns a labelled value. A digest beside its label is 80 columns wide.
fn row(label: &str, value: &str) -> String {
    format!(" {label:<13}  {value}\n")
}

/// Number of other places that are listed.
const MOST_ELSEWHERE: usize = 5;

fn describe(finding: &Finding, directory: &Path, elsewhere: &[String]) -> String {
    let quote = finding.evidence.get("quote").and_then(serde_json::Value::as_str).unwrap_or("");
    let mut text = format!(
        "{}\n{}:{}\n\n{}\n\n",
        finding.rule_id,
        finding.file,
        finding.start_line,
        sanitize(&finding.summary)
    );
    let rows = [
        ("finding", finding.finding_id.to_string()),
        ("evidence hash", finding.evidence_hash.to_string()),
        ("severity", finding.severity.to_string()),
        ("blocks", if finding.blocking { "yes" } else { "no" }.to_owned()),
        ("strength", format!("{} in {} scope", finding.strength, finding.scope)),
        ("origin", finding.origin.to_string()),
        ("quote", sanitize_cut(quote, 200)),
        ("fix", finding.fix.clone()),
        ("run", sanitize(&directory.display().to_string())),
    ];
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&row(name, &value));
    }
    for place in elsewhere.iter().take(MOST_ELSEWHERE) {
        text.push_str(&row("also", place));
    }
    if elsewhere.len() > MOST_ELSEWHERE {
        text.push_str(&row("also", &format!("{} more in other runs", elsewhere.len() - MOST_ELSEWHERE)));
    }
    if finding.blocking {
        let entry = waiver_entry(finding, &OPEN_TERMS);
        text.push_str(&format!(
            "\n## Waiver\n\nFor `.qa-skill/waivers.toml` on the base branch:\n\n```\n{entry}```\n"
        ));
    }
    if let Some(page) = rule_page(&finding.rule_id) {
        text.push('\n');
        text.push_str(&page);
    }
    text
}
