//! Reads the sessions of nox, and the commands of a project that other programs of Python call by name.

use qa_reading::documents::Node;
use qa_reading::shell::Options;
use qa_reading::syntax::Span;

use super::calls::Call;
use super::commands::{Effect, Mark, Step, Surroundings, steps};
use super::names::names_of_checks;
use super::source::{Source, Unit};
use super::tasks::{COMPUTED, Run, TaskLanguage, WORD, task_commands};
use crate::pattern::Pattern;

/// A function that is a session, up to its name.
static SESSION: Pattern = Pattern::new(
    r"(?m)^@(?:nox\.)?session\b[ \t]*(\((?:[^()]|\([^()]*\))*\))?[^\n]*\n(?:@[^\n]*\n|[ \t)\]}][^\n]*\n)*def[ \t]+(\w+)",
);
/// A name that the decorator gives.
static NAME: Pattern = Pattern::new(r#"\bname\s*=\s*["']([^"']+)["']"#);
static LEFT_OUT: Pattern = Pattern::new(r"\bdefault\s*=\s*False\b");
/// The sessions that run where none is named.
static CHOSEN: Pattern =
    Pattern::new(r"(?m)^nox\.options\.(?:sessions|keywords|tags)\s*=\s*([\[(][^\])]*[\])]|[^\n]+)");
/// Another session that one has run behind it.
static NOTIFIES: Pattern = Pattern::new(r#"(?m)^[ \t]+session\.notify\([ \t]*["']([^"']+)["']"#);

/// Reads the sessions of a file of nox.
pub(super) fn sessions(text: &str) -> Source {
    let chosen = CHOSEN.captures(text).and_then(|groups| groups.get(1)).map(|list| list.as_str());
    let mut source = Source::default();
    for groups in SESSION.captures_all(text) {
        let (Some(whole), Some(function)) = (groups.get(0), groups.get(2)) else { continue };
        let decorator = groups.get(1).map(|options| options.as_str()).unwrap_or_default();
        let named = NAME.captures(decorator).and_then(|groups| groups.get(1)).map(|name| name.as_str());
        let name = named.unwrap_or(function.as_str());
        let is_chosen = chosen.is_none_or(|list| {
            ['"', '\''].into_iter().any(|quote| list.contains(&format!("{quote}{name}{quote}")))
        });
        let body = Span { start: whole.end(), end: end_of_block(text, whole.end()) };
        source.units.push(Unit {
            name: name.to_owned(),
            is_called: true,
            is_left_out: !is_chosen || LEFT_OUT.is_match(decorator),
            steps: commands(text, body),
            ..Unit::default()
        });
    }
    source
}

/// Returns the begin of the first line behind a place that is not indented.
fn end_of_block(text: &str, from: usize) -> usize {
    let mut at = from + text[from..].find('\n').map(|length| length + 1).unwrap_or(text.len() - from);
    for line in text[at..].split_inclusive('\n') {
        if !line.starts_with([' ', '\t', '\n', '\r', ')', '#']) {
            break;
        }
        at += line.len();
    }
    at
}

/// Returns the commands of a session.
fn commands(text: &str, body: Span) -> Vec<Step> {
    let own = body.of(text);
    let runs: Vec<Run> = task_commands(TaskLanguage::Python, own).into_values().flatten().collect();
    let mut found: Vec<Step> = Vec::new();
    for run in &runs {
        let span = Span { start: body.start + run.span.start, end: body.start + run.span.end };
        let ignored = Mark { effect: Effect::Ignored, span };
        found.extend(in_shell(&run.words.join(" "), span, Some(ignored).filter(|_| run.is_ignored)));
    }
    // Where a function of the session puts commands together, the texts of the session say what they check.
    if runs.iter().any(|run| run.words.iter().any(|word| word == COMPUTED)) {
        let texts = WORD.captures_all(own);
        let texts: Vec<&str> =
            texts.iter().filter_map(|text| text.first_group()).map(|text| text.as_str()).collect();
        let text = texts.join(" ");
        found.push(Step { checks: names_of_checks(&text), text, span: body, ..Step::default() });
    }
    for groups in NOTIFIES.captures_all(own) {
        let name = groups[1].to_owned();
        let span =
            groups.get(1).map(|name| Span { start: body.start + name.start(), end: body.start + name.end() });
        let span = span.unwrap_or(body);
        found.push(Step {
            text: format!("needs {name}"),
            calls: vec![Call::Unit(name)],
            span,
            ..Step::default()
        });
    }
    found
}

/// Returns the steps of a text that no shell changes, all of them at one place.
fn in_shell(command: &str, span: Span, mark: Option<Mark>) -> Vec<Step> {
    let around = Surroundings { shell: Some(Options::default()), ..Surroundings::default() };
    let mut found = steps(command, &around);
    for step in &mut found {
        step.spans().for_each(|own| *own = span);
        step.marks.extend(mark);
    }
    found
}

/// Returns the commands that Hatch, PDM and Poe the Poet call by name, from the tables below `tool`.
pub(super) fn named_commands(tool: Node<'_>) -> Vec<Unit> {
    let tables = [("pdm", ["pdm", "scripts"]), ("poe", ["poe", "tasks"])];
    let tables = tables.iter().filter_map(|(caller, path)| Some((*caller, tool.at(path)?)));
    let units = tables.flat_map(|(caller, table)| units_of(caller, table));
    units.chain(tool.get("hatch").into_iter().flat_map(commands_of_hatch)).collect()
}

/// Returns the commands of the environments of Hatch.
pub(super) fn commands_of_hatch(hatch: Node<'_>) -> Vec<Unit> {
    let own = hatch.get("envs").into_iter().flat_map(Node::entries);
    let own = own.filter_map(|entry| Some((format!("hatch {}", entry.key), entry.value.get("scripts")?)));
    own.flat_map(|(caller, scripts)| units_of(&caller, scripts)).collect()
}

/// Returns the units of a table of commands, which run only where a caller names them.
fn units_of(caller: &str, table: Node<'_>) -> Vec<Unit> {
    let units = table.entries().map(|entry| Unit {
        name: format!("{caller} {}", entry.key),
        is_called: true,
        is_left_out: true,
        steps: steps_of(caller, entry.value),
        ..Unit::default()
    });
    units.collect()
}

/// Returns the steps of a command, which may be a text, a list, or a table with one of them.
fn steps_of(caller: &str, value: Node<'_>) -> Vec<Step> {
    let keys = ["cmd", "shell", "composite", "sequence"];
    let value = keys.iter().find_map(|key| value.get(key)).unwrap_or(value);
    let parts = std::iter::once(value).filter(|value| value.text().is_some()).chain(value.items());
    let mut found = Vec::new();
    for part in parts {
        let text = part.text().or(part.get("cmd").and_then(Node::text)).unwrap_or_default();
        let command = text.trim_start_matches("- ");
        let ignored = Mark { effect: Effect::Ignored, span: part.span() };
        let mut own = in_shell(command, part.span(), Some(ignored).filter(|_| command.len() < text.len()));
        for step in &mut own {
            // A command may be another one of the table.
            let first = step.text.split(' ').next().unwrap_or_default();
            step.calls.push(Call::Unit(format!("{caller} {first}")));
        }
        found.append(&mut own);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_their_names_and_commands() {
        for pattern in [&SESSION, &NAME, &LEFT_OUT, &CHOSEN, &NOTIFIES] {
            pattern.check();
        }
        let text = r#"
import nox

nox.options.sessions = ["unit", "style"]


@nox.session(python=["3.12", "3.13"], name="unit")
@nox.parametrize("django", ["4", "5"])
def tests(session: nox.Session, django: str) -> None:
    session.install(".", f"django=={django}")
    session.run("pytest", "-q", *session.posargs, env={"A": "1"})
    # session.run("mypy")


@nox.session
def style(session):
    session.run(
        "ruff", "check", ".",  # all
        success_codes=[0, 1],
    )
    session.notify("docs")


@nox.session(default=False)
def docs(session):
    session.run("sphinx-build", "-W", "docs", "out")
"#;
        let found = sessions(text).units.into_iter().map(|unit| {
            let steps = unit.steps.iter().map(|step| format!("{} {}", step.text, step.marks.len()));
            format!("{} {}: {}", unit.name, unit.is_left_out, steps.collect::<Vec<_>>().join(", "))
        });
        let expected = [
            "unit false: pytest -q 0",
            "style false: ruff check . 1, needs docs 0",
            "docs true: sphinx-build -W docs out 0",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
