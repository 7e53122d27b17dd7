//! Surfaces that show a model's text, and the checks that it holds no link, mention, tag, picture or command.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Outcome, Repo, RunDir, rendered_files};

/// Marks in the texts of a test's model, which no surface may show.
pub(crate) const FOREIGN: [&str; 10] = [
    "://model.invalid",
    "www.model.invalid",
    "@model.invalid",
    "@model-mention",
    "#4711",
    "GH-4711",
    "##[error]model",
    "<b>model",
    "javascript:model",
    "\u{1b}",
];

/// All that a run shows.
pub(crate) struct Surfaces {
    pub(crate) run: RunDir,
    /// It goes away with its files.
    _repo: Repo,
    /// The names and texts of everything that people read.
    pub(crate) texts: Vec<(&'static str, String)>,
}

impl Surfaces {
    /// The only run of a repository, with what it printed and its workflow commands.
    pub(crate) fn new(repo: Repo, outcome: &Outcome, commands: String) -> Self {
        let run = repo.run_dir();
        let rendered = rendered_files().into_iter().map(|(_, file)| file);
        let mut texts: Vec<_> = rendered
            .chain(["lens-results.json"])
            .map(|name| (name, String::from_utf8(run.bytes(name)).unwrap()))
            .collect();
        texts.push(("terminal", outcome.text()));
        texts.push(("progress", outcome.stderr.clone()));
        texts.push(("github", commands));
        Self { run, _repo: repo, texts }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        &self.texts.iter().find(|(own, _)| *own == name).unwrap().1
    }

    /// Everything that is wrong with any of them.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (name, text) in &self.texts {
            all.extend(foreign(text).into_iter().map(|complaint| format!("{name}: {complaint}")));
            let own = match *name {
                "summary.md" => markdown(text),
                "report.html" => html(text),
                "results.sarif" => sarif(&serde_json::from_str(text).unwrap()),
                "lens-results.json" => results(&serde_json::from_str(text).unwrap()),
                "github" => commands(text),
                "terminal" | "progress" => log(text),
                _ => Vec::new(),
            };
            all.extend(own.into_iter().map(|complaint| format!("{name}: {complaint}")));
        }
        all
    }
}

/// Lists a model's marks in a text.
pub(crate) fn foreign(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let found = FOREIGN.iter().filter(|mark| lower.contains(&mark.to_lowercase()));
    found.map(|mark| format!("{mark:?} in {}", around(&lower, &mark.to_lowercase()))).collect()
}

/// A place in a text, for a person.
fn around(text: &str, mark: &str) -> String {
    let Some(at) = text.find(mark) else { return String::new() };
    let before: String = text[..at].chars().rev().take(80).collect();
    let after: String = text[at..].chars().take(80).collect();
    format!("{:?}", before.chars().rev().collect::<String>() + &after)
}

/// Lists active syntax in Markdown, outside of code spans, escapes, our own tags, and links from code to lines of the head
/// on the server of a test.
pub(crate) fn markdown(page: &str) -> Vec<String> {
    page.lines().flat_map(|line| signs(&live(&LINES.replace_all(line, "$code")))).collect()
}

static LINES: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"http://127\.0\.0\.1:\d+/acme/widget/blob/[0-9a-f]{40}/[\w./~%-]+#L\d+(?:-L\d+)?";
    Regex::new(&format!(r"\[(?P<code>`[^\n]*?`)\]\({address}\)")).unwrap()
});

/// A line of Markdown without code spans and escaped signs, as CommonMark has both.
fn live(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if character == '`' {
            let length = rest.len() - rest.trim_start_matches('`').len();
            let (fence, inside) = rest.split_at(length);
            let runs: Vec<_> = RUN.find_iter(inside).collect();
            match runs.iter().find(|run| run.len() == length) {
                Some(run) => rest = &inside[run.end()..],
                None => {
                    out.push_str(fence);
                    rest = inside;
                }
            }
            // Both sides of a span are apart.
            out.push('\u{1f}');
            continue;
        }
        let next = rest[character.len_utf8()..].chars().next();
        if character == '\\' && matches!(next, Some(next) if next.is_ascii_punctuation()) {
            out.push('\u{1f}');
            rest = &rest[2..];
            continue;
        }
        let own = ["&#58;", "<br>", "<details>", "<details open>", "</details>", "<summary>", "</summary>"];
        match own.iter().find(|tag| rest.starts_with(**tag)) {
            Some(tag) => rest = &rest[tag.len()..],
            None => {
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    out
}

static RUN: LazyLock<Regex> = LazyLock::new(|| Regex::new("`+").unwrap());
static MENTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"@\w").unwrap());
static ISSUE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)#\d|\bGH-\d").unwrap());
static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<[a-zA-Z/!?]").unwrap());

/// Signs that a renderer makes something of.
fn signs(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let lower = text.to_lowercase();
    for sign in ["](", "://", "www.", "mailto:", "javascript:"] {
        if lower.contains(sign) {
            all.push(format!("{sign:?} in {}", around(&lower, sign)));
        }
    }
    for (name, expression) in [("a mention", &MENTION), ("an issue", &ISSUE), ("a tag", &TAG)] {
        if let Some(found) = expression.find(text) {
            all.push(format!("{name} in {}", around(text, found.as_str())));
        }
    }
    all
}

/// Lists violations of a page: external links, scripts, loaded resources, and tags that a report does not use.
pub(crate) fn html(page: &str) -> Vec<String> {
    static TAGS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<(/?)([a-zA-Z!][^\s>/]*)([^>]*)>").unwrap());
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"(?i)\b(?:href|src|action|data|srcset)\s*=\s*"?([^"\s>]*)"#).unwrap());
    static RUNS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\s(?:on[a-z]+|style)\s*=").unwrap());
    const USED: &[&str] = &[
        "!doctype", "a", "article", "body", "br", "caption", "code", "col", "colgroup", "dd", "details",
        "div", "dl", "dt", "fieldset", "h1", "h2", "h3", "head", "header", "html", "input", "label",
        "legend", "li", "main", "mark", "meta", "nav", "ol", "option", "p", "pre", "section", "select",
        "small", "span", "strong", "style", "summary", "table", "tbody", "td", "th", "thead", "title", "tr",
        "ul",
    ];
    let mut all = BTreeSet::new();
    for tag in TAGS.captures_iter(page) {
        let (name, attributes) = (tag[2].to_lowercase(), &tag[3]);
        if !USED.contains(&name.as_str()) {
            all.insert(format!("a tag {name}"));
        }
        if RUNS.is_match(attributes) {
            all.insert(format!("{attributes} runs"));
        }
        let links = LINK.captures_iter(attributes).map(|link| link[1].to_owned());
        all.extend(links.filter(|to| !to.starts_with('#')).map(|to| format!("{name} leads to {to}")));
    }
    all.into_iter().collect()
}

/// Lists violations of messages for code scanning, except in quotes, which are the change's own text.
pub(crate) fn sarif(document: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for result in
        document["runs"].as_array().into_iter().flatten().flat_map(|run| run["results"].as_array().unwrap())
    {
        let message = &result["message"];
        if !message["markdown"].is_null() {
            all.push("a message in Markdown".to_owned());
        }
        let own = message["text"].as_str().unwrap().lines().filter(|line| !line.starts_with("Quote: "));
        all.extend(own.flat_map(signs));
        for member in ["hostedViewerUri", "workItemUris", "relatedLocations", "attachments"] {
            if !result[member].is_null() {
                all.push(format!("a result has {member}"));
            }
        }
    }
    for rule in document.pointer("/runs/0/tool/driver/rules").and_then(Value::as_array).into_iter().flatten()
    {
        if !rule["helpUri"].is_null() || !rule["help"]["markdown"].is_null() {
            all.push(format!("{} leads elsewhere", rule["id"]));
        }
    }
    all
}

/// Lists violations of a review's sentences in the results.
pub(crate) fn results(document: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for result in document["lensResults"].as_array().into_iter().flatten() {
        if result["review"].is_null() {
            continue;
        }
        let findings = result["findings"].as_array().into_iter().flatten();
        let texts = findings.flat_map(|finding| [&finding["summary"], &finding["fix"]]);
        for text in texts.chain(result["evidenceSummary"].as_array().into_iter().flatten()) {
            all.extend(sentence(text.as_str().unwrap_or_default()));
        }
    }
    all
}

/// Lists violations of a model's sentence.
fn sentence(text: &str) -> Vec<String> {
    let mut all = signs(text);
    if text.contains("##[") || text.split_whitespace().any(|word| word.starts_with("::")) {
        all.push(format!("a command in {text:?}"));
    }
    if text.chars().any(char::is_control) {
        all.push(format!("a control character in {text:?}"));
    }
    all
}

/// Lists violations of a check run's annotation, except in quotes, which are the change's own text.
pub(crate) fn note(note: &Value) -> Vec<String> {
    let lines = [&note["title"], &note["message"]].into_iter().filter_map(Value::as_str).flat_map(str::lines);
    lines.filter(|line| !line.starts_with("Quote: ")).flat_map(sentence).collect()
}

/// Lists lines of a run's workflow commands that are not its annotations, and control characters.
pub(crate) fn commands(text: &str) -> Vec<String> {
    const OWN: [&str; 3] = ["::error ", "::warning ", "::notice "];
    let others = text.lines().filter(|line| !OWN.iter().any(|own| line.starts_with(own)));
    let others = others.map(|line| format!("{line:?}"));
    others.chain(first_control_character(text)).collect()
}

/// Lists commands at the beginning of a log's lines, and control characters.
pub(crate) fn log(text: &str) -> Vec<String> {
    let commands = text.lines().filter(|line| line.trim_start().starts_with("::"));
    let commands = commands.map(|line| format!("a command {line:?}"));
    commands.chain(first_control_character(text)).collect()
}

fn first_control_character(text: &str) -> Option<String> {
    let found = text.chars().find(|character| character.is_control() && *character != '\n');
    found.map(|character| format!("{character:?}"))
}
