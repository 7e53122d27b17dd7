//! Text that anyone may choose, put into a script before a shell reads it; and scripts that come from the network.

use super::yaml::{Document, Node, Piece};
use super::{FROM_NETWORK, Found, INJECTION};
use crate::contract::Census;
use crate::pattern::Pattern;

/// What whoever opens an issue, a pull request, a comment or a branch may choose.
static CHOSEN: Pattern = Pattern::new(concat!(
    r"(?:github\.(?:head_ref\b|event\.(?:",
    r"issue\.(?:title|body)\b",
    r"|pull_request\.(?:title\b|body\b|head\.(?:ref\b|label\b|repo\.(?:default_branch|description|homepage)\b))",
    r"|(?:comment|review|review_comment)\.body\b",
    r"|discussion\.(?:title|body)\b",
    r"|pages\.[\w*-]+\.page_name\b",
    r"|commits\.[\w*-]+\.(?:message|author\.(?:email|name))\b",
    r"|head_commit\.(?:message|(?:author|committer)\.(?:email|name))\b",
    r"|changes\.(?:title|body)\.from\b",
    r"|workflow_run\.(?:head_branch|display_title|head_commit\.(?:message|author\.(?:email|name)))\b",
    r"|workflow_run\.(?:head_repository\.description|pull_requests\.[\w*-]+\.head\.ref)\b",
    r"))|tojson\(\s*github(?:\.event(?:\.(?:issue|pull_request|comment|review|discussion))?)?\s*\))",
));

/// What actions call a script that they run.
const SCRIPTS: &[&str] = &["script", "inlineScript"];

static PIPED: Pattern = Pattern::new(concat!(
    r"\b((?:curl|wget)\b[^|;&]*\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+)?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby)\b)",
    r"|\b((?:ba|z|da)?sh\s+(?:-\w+\s+)*<\(\s*(?:curl|wget)\b)",
    r#"|\b((?:ba|z|da)?sh\s+-c\s+["']?\$\(\s*(?:curl|wget)\b)"#,
    r"|(?i:\b((?:iwr|irm|invoke-webrequest|invoke-restmethod)\b[^|;]*\|\s*(?:iex|invoke-expression)\b))",
    r"|(?i:\b((?:iex|invoke-expression)\b[^|;]*\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b))",
));
/// Looks at every script of a workflow or an action.
pub(super) fn look<'t>(document: &Document<'t>, found: &mut Vec<Found<'t>>) {
    let nodes = document.all(document.root());
    let env: Vec<&str> = nodes
        .iter()
        .filter(|node| node.key == "env")
        .flat_map(|node| document.below(node))
        .filter(|variable| {
            variable.text.iter().any(|piece| expressions(piece.text).any(|(_, text)| chosen(text, &[])))
        })
        .map(|variable| variable.key)
        .collect();
    for node in &nodes {
        if node.key == "run" {
            injected(node, &env, found);
            downloaded(node, found);
        }
        let given = SCRIPTS.iter().filter_map(|name| document.at(node, &["with", name]));
        given
            .filter(|_| document.get(node, "uses").is_some())
            .for_each(|script| injected(script, &env, found));
    }
}

fn injected<'t>(script: &Node<'t>, env: &[&str], found: &mut Vec<Found<'t>>) {
    for piece in &script.text {
        for (at, text) in expressions(piece.text).filter(|(_, text)| chosen(text, env)) {
            let begin = at - 3;
            let end = (at + text.len() + 2).min(piece.text.len());
            let part = Piece { start: piece.start + begin, text: &piece.text[begin..end], ..*piece };
            let summary = "text that anyone may choose becomes part of a script";
            found.push(Found::new(INJECTION, part, summary));
        }
    }
}

/// The insides of `${{ … }}` and where they begin.
fn expressions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("${{").map(move |(at, open)| {
        let from = at + open.len();
        let to = text[from..].find("}}").map_or(text.len(), |end| from + end);
        (from, &text[from..to])
    })
}

/// Whether what an expression comes to may be text that anyone chose; what only compares such text comes to true or
/// false.
fn chosen(expression: &str, env: &[&str]) -> bool {
    let mut text = expression.replace("['", ".").replace("[\"", ".").replace("']", "").replace("\"]", "");
    text = text.replace('[', ".").replace(']', "").to_lowercase();
    let mut spans: Vec<_> =
        CHOSEN.captures_all(&text).iter().filter_map(|found| Some(found.get(0)?.range())).collect();
    for name in env {
        let name = format!("env.{}", name.to_lowercase());
        let whole = |end: usize| !text[end..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        spans.extend(
            text.match_indices(&name).map(|(at, _)| at..at + name.len()).filter(|span| whole(span.end)),
        );
    }
    spans.into_iter().any(|span| !only_compared(&text, span))
}

fn only_compared(text: &str, span: std::ops::Range<usize>) -> bool {
    let before = text[..span.start].trim_end();
    let after = text[span.end..].trim_start();
    let beside = |signs: &[&str], matches: &dyn Fn(&str) -> bool| signs.iter().any(|sign| matches(sign));
    beside(&["==", "!=", "<", ">"], &|sign| after.starts_with(sign))
        || beside(&["==", "!=", "<", ">", "<=", ">=", "!"], &|sign| before.ends_with(sign))
        || after.starts_with("&&")
        || enclosing(before).any(|name| matches!(name, "contains" | "startswith" | "endswith" | "hashfiles"))
}

/// The names of the calls that are open at the end of a text.
fn enclosing(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Vec<usize> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open.push(at),
            b')' => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().map(|at| {
        let name = text[..at].trim_end();
        &name[name.rfind(|letter: char| !letter.is_alphanumeric()).map_or(0, |before| before + 1)..]
    })
}

fn downloaded<'t>(script: &Node<'t>, found: &mut Vec<Found<'t>>) {
    let summary = "a script is run as it comes from the network";
    for (position, piece) in script.text.iter().enumerate() {
        if piece.text.trim_start().starts_with('#') {
            continue;
        }
        if let Some(span) = PIPED.captures(piece.text).and_then(|groups| Some(groups.first_group()?.range()))
        {
            let part = Piece { start: piece.start + span.start, text: &piece.text[span], ..*piece };
            found.push(Found::new(FROM_NETWORK, part, summary));
        } else if let Some(previous) = position.checked_sub(1).map(|before| script.text[before])
            && goes_on(previous.text)
            && PIPED.is_match(&format!(
                "{} {}",
                previous.text.trim_end().trim_end_matches('\\'),
                piece.text.trim_start()
            ))
        {
            found.push(Found::new(FROM_NETWORK, *piece, summary).because([previous.line]));
        }
    }
}

/// Whether a command goes on in the next line.
fn goes_on(line: &str) -> bool {
    line.trim_end().ends_with(['\\', '|']) && (line.contains("curl ") || line.contains("wget "))
}

/// How many scripts of a workflow take nothing from the network to run it.
pub(super) fn census(document: &Document<'_>) -> Census {
    let scripts = document.all(document.root()).into_iter().filter(|node| node.key == "run");
    let complies = |script: &Node<'_>| {
        let mut found = Vec::new();
        downloaded(script, &mut found);
        found.is_empty()
    };
    scripts.map(complies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&CHOSEN, &PIPED] {
            pattern.check();
        }
    }

    #[test]
    fn what_an_expression_comes_to_decides() {
        let cases = [
            ("github.head_ref", true),
            ("github.event.issue['title']", true),
            ("github.event.commits[0].message", true),
            ("toJSON(github.event.comment.body)", true),
            ("toJson(github.event)", true),
            ("toJson(github.event.inputs)", false),
            ("github.event_name == 'push' && 'a' || github.head_ref", true),
            ("env.TITLE", true),
            ("env.TITLES", false),
            ("github.head_ref == 'main'", false),
            ("contains(github.event.issue.body, 'x')", false),
            ("github.head_ref && 'a' || 'b'", false),
            ("github.event.pull_request.head.sha", false),
            ("github.event.number", false),
        ];
        for (text, expected) in cases {
            assert_eq!(chosen(text, &["TITLE"]), expected, "{text}");
        }
    }

    #[test]
    fn a_pipe_into_a_shell_is_seen_in_every_form() {
        let cases = [
            ("curl -sSf https://x.test/i.sh | sudo -E bash -s", true),
            ("wget -qO- https://x.test | sh", true),
            ("curl -sS https://x.test | python3 -", true),
            ("bash <(curl -s https://x.test)", true),
            ("sh -c \"$(curl -fsSL https://x.test)\"", true),
            ("iwr https://x.test -useb | iex", true),
            ("curl https://x.test | tar xz", false),
            ("curl -o a.sh https://x.test && sha256sum -c a && sh a.sh", false),
            ("curl https://x.test | shasum", false),
        ];
        for (text, expected) in cases {
            assert_eq!(PIPED.is_match(text), expected, "{text}");
        }
    }
}
