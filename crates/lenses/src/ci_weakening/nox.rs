//! Reads the sessions of nox, and the commands of a project that other programs of Python call by name.

use std::collections::{BTreeMap, BTreeSet};

use qa_reading::documents::Node;
use qa_reading::shell::Options;
use qa_reading::syntax::Span;

use super::calls::Call;
use super::commands::{Effect, Mark, Step, Surroundings, steps};
use super::later::Setting;
use super::source::{Source, Unit};
use super::tasks::{COMPUTED, Run, TaskLanguage, task_commands};
use crate::pattern::Pattern;

/// A function that is a session, up to its name.
static SESSION: Pattern = Pattern::new(
    r"(?m)^@(?:\w+\.)*\w*session\b[ \t]*(\((?:[^()]|\([^()]*\))*\))?[^\n]*\n(?:@[^\n]*\n|[ \t)\]}][^\n]*\n)*def[ \t]+(\w+)[ \t]*\((?:\s|#[^\n]*\n)*(\w+)",
);
/// A name that the decorator gives.
static NAME: Pattern = Pattern::new(r#"\bname\s*=\s*["']([^"']+)["']"#);
static LEFT_OUT: Pattern = Pattern::new(r"\bdefault\s*=\s*False\b");
/// Parameters without any value, so that the session never runs.
static NO_VALUES: Pattern = Pattern::new(r"\bparametrize\([^()]*[\[(]\s*[\])]\s*\)");
/// The sessions that run where none is named.
static CHOSEN: Pattern =
    Pattern::new(r"(?m)^nox\.options\.(?:sessions|keywords|tags)\s*=\s*([\[(][^\])]*[\])]|[^\n]+)");
/// Another session that one has run behind it.
static NOTIFIES: Pattern = Pattern::new(r#"(?m)^[ \t]+\w+\.(notify)\([ \t]*["']([^"']+)["']\s*\)"#);
/// Words behind which a session may have ended, or is in another place.
static ENDS: Pattern =
    Pattern::new(r"\b(?:_exit|chdir|del|exit|quit|raise|return|setattr|skip|yield)\b|\bcd\(");
/// Ends of the whole file, and variables that it sets.
static ENDS_FILE: Pattern = Pattern::new(r"(?m)^(?:exit|os\._exit|quit|raise|sys\.exit)\b");
static SETS: Pattern = Pattern::new(r#"(?m)^os\.environ\[["'](\w+)["']\]\s*=\s*["']([^"'\n]*)["']"#);
/// A text of one line.
static TEXT: Pattern = Pattern::new(r#""[^"\n]*"|'[^'\n]*'"#);
/// A variable of the environment that a command gets.
static VARIABLE: Pattern = Pattern::new(r#"["'](\w+)["']\s*\]?\s*[:=]\s*["']([^"'\n]*)["']"#);
/// Option by which a command may fail.
static SUCCESS_CODES: Pattern = Pattern::new(r"\bsuccess_codes\b(?:\s*=\s*\[\s*0\s*\])?");

/// Text of the step of a session or a command that does more than is read here.
pub(super) const OPAQUE: &str = "opaque";

/// Reads the sessions of a file of nox.
pub(super) fn sessions(text: &str) -> Source {
    let text = &without_texts(text);
    let chosen = CHOSEN.captures_all(text).pop().and_then(|groups| groups.get(1)).map(|list| list.as_str());
    let chosen = chosen.map(|list| list.split(['"', '\'']).skip(1).step_by(2).collect::<BTreeSet<&str>>());
    let ends = ENDS_FILE.is_match(text);
    let settings = SETS.captures_all(text);
    let settings = settings.iter().filter_map(|own| Setting::new(&own[1], &own[2], Span::default()));
    let set = settings.map(|setting| setting.mark.effect).max();
    let mut units: BTreeMap<&str, Unit> = BTreeMap::new();
    for groups in SESSION.captures_all(text) {
        let (Some(whole), Some(function), Some(session)) = (groups.get(0), groups.get(2), groups.get(3))
        else {
            continue;
        };
        let decorator = groups.get(1).map(|options| options.as_str()).unwrap_or_default();
        let named = NAME.captures(decorator).and_then(|groups| groups.get(1)).map(|name| name.as_str());
        let name = named.unwrap_or(function.as_str());
        let is_chosen = chosen.as_ref().is_none_or(|names| names.contains(name));
        let span = Span { start: whole.end(), end: end_of_block(text, whole.end()) };
        let mut steps = Body::new(text, span, session.as_str()).steps();
        let never = NO_VALUES.is_match(whole.as_str()).then_some(Effect::Never);
        let effect = never.or(set).or(ends.then_some(Effect::Sometimes));
        let span = Span { start: whole.start(), end: whole.end() };
        steps.iter_mut().for_each(|step| step.marks.extend(effect.map(|effect| Mark { effect, span })));
        let is_left_out = !is_chosen || LEFT_OUT.is_match(decorator);
        let unit = Unit { name: name.to_owned(), is_called: true, is_left_out, steps, ..Unit::default() };
        // Of several sessions of a name the last one counts.
        units.insert(name, unit);
    }
    Source { units: units.into_values().collect(), ..Source::default() }
}

/// Returns a file with blanks in the place of its texts of several lines.
fn without_texts(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let quote = &rest[..1];
        let triple = quote.repeat(3);
        let is_long = quote != "#" && rest.starts_with(&triple);
        let length = match is_long {
            true => rest[3..].find(&triple).map_or(rest.len(), |end| end + 6),
            false => end_of_line_or_text(rest),
        };
        let (own, behind) = rest.split_at(length);
        match is_long {
            true => code.extend(own.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
            false => code.push_str(own),
        }
        rest = behind;
    }
    code + rest
}

/// Returns the length of a comment, or of a text of one line, at the begin of a text.
fn end_of_line_or_text(text: &str) -> usize {
    let quote = text.as_bytes().first().copied();
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            _ if Some(byte) == quote && byte != b'#' => return at + 1,
            _ => {}
        }
    }
    text.len()
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

/// The parameters and the block of a session.
struct Body<'t> {
    text: &'t str,
    span: Span,
    /// Name of the parameter that has its commands.
    session: &'t str,
    /// Indentation of the first statement.
    indent: Option<usize>,
    /// Begin of the line behind which nothing is sure to run.
    end: usize,
    /// Places of variables by which checks look at less, each with the worst effect up to it.
    settings: Vec<(usize, Effect)>,
}

impl<'t> Body<'t> {
    fn new(text: &'t str, span: Span, session: &'t str) -> Self {
        let mut body = Self { text, span, session, indent: None, end: span.end, settings: Vec::new() };
        let mut at = span.start;
        let mut is_block = false;
        for line in span.of(text).split_inclusive('\n') {
            let code = line.split('#').next().unwrap_or_default().trim_end();
            if !is_block {
                is_block = code.ends_with(':');
            } else if !code.is_empty() {
                let own = code.trim_start();
                body.indent.get_or_insert(code.len() - own.len());
                let rest = own.strip_prefix(session).map(|rest| rest.strip_prefix(".run").unwrap_or(rest));
                let is_another = rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ',']));
                if is_another || ends(own) {
                    body.end = at;
                    break;
                }
            }
            at += line.len();
        }
        let mut worst = None;
        for groups in VARIABLE.captures_all(span.of(text)) {
            let setting = Setting::new(&groups[1], &groups[2], span);
            worst = worst.max(setting.map(|setting| setting.mark.effect));
            let end = groups.get(0).map(|found| span.start + found.end());
            body.settings.extend(end.zip(worst));
        }
        body
    }

    fn steps(&self) -> Vec<Step> {
        let own = self.span.of(self.text);
        let mut found: Vec<Step> = Vec::new();
        for run in task_commands(TaskLanguage::Python, own).into_values().flatten() {
            let at = self.span.start;
            let span = Span { start: at + run.span.start, end: at + run.span.end };
            let rest = Span { start: at + run.rest.start, end: at + run.rest.end };
            let effect = self.effect(&run, span, rest.of(self.text));
            found.extend(in_shell(&run.words.join(" "), span, effect.map(|effect| Mark { effect, span })));
        }
        if self.is_opaque() {
            found.push(Step { text: OPAQUE.to_owned(), span: self.span, ..Step::default() });
        }
        for groups in NOTIFIES.captures_all(own) {
            let (Some(call), Some(name)) = (groups.get(1), groups.get(2)) else { continue };
            let start = self.span.start + call.start();
            let span = Span { start, end: start + call.as_str().len() };
            let marks = (!self.is_sure(start)).then_some(Mark { effect: Effect::Sometimes, span });
            found.push(Step {
                text: format!("needs {}", name.as_str()),
                calls: vec![Call::Unit(name.as_str().to_owned())],
                marks: marks.into_iter().collect(),
                span,
                ..Step::default()
            });
        }
        found
    }

    /// Returns whether another function gets the session, or code puts a command together.
    fn is_opaque(&self) -> bool {
        static HANDED_ON: Pattern =
            Pattern::new(r"(\w+)\((?:\s|#[^\n]*\n)*(\w+)\s*[,)]|(\w+)\.run\((?:\s|#[^\n]*\n)*\*");
        const IDLE: &[&str] =
            &["dir", "getattr", "hasattr", "id", "isinstance", "len", "print", "repr", "str", "type"];
        HANDED_ON.captures_all(self.span.of(self.text)).iter().any(|groups| {
            let name = groups.get(2).or(groups.get(3)).map(|name| name.as_str());
            let is_idle = groups.get(1).is_some_and(|function| IDLE.contains(&function.as_str()));
            name == Some(self.session) && !is_idle
        })
    }

    /// Returns what stands between a command and its failure, by the arguments that are no words of it.
    fn effect(&self, run: &Run, span: Span, rest: &str) -> Option<Effect> {
        let before = self.settings.partition_point(|(end, _)| *end <= span.start);
        let before = before.checked_sub(1).map(|at| self.settings[at].1);
        let given = VARIABLE.captures_all(rest);
        let given = given.iter().filter_map(|groups| Setting::new(&groups[1], &groups[2], span));
        let set = given.map(|setting| setting.mark.effect).max().max(before);
        let has_codes = SUCCESS_CODES.find(rest).is_some_and(|codes| !codes.as_str().ends_with(']'));
        let is_ignored = run.is_ignored || has_codes;
        let is_computed = run.words.iter().any(|word| word == COMPUTED) || rest.contains("**");
        let is_unsure = is_computed || !self.is_sure(span.start);
        let ignored = is_ignored.then_some(Effect::Ignored);
        ignored.or(set).or(is_unsure.then_some(Effect::Sometimes))
    }

    /// Returns whether the call at a place is a statement of the session itself, before anything that may end it.
    fn is_sure(&self, at: usize) -> bool {
        let before = &self.text[self.span.start..at];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let own = line.trim_start();
        let is_statement = own.strip_suffix('.') == Some(self.session);
        is_statement && self.indent == Some(line.len() - own.len()) && at < self.end
    }
}

/// Returns whether nothing may run behind a line, whatever its texts say.
fn ends(line: &str) -> bool {
    let mut code = line.to_owned();
    for found in TEXT.captures_all(line).iter().rev().filter_map(|groups| groups.get(0)) {
        code.replace_range(found.range(), "");
    }
    !code.contains(".run(") && ENDS.is_match(&code)
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
    let pdm = tool.at(&["pdm", "scripts"]).map(|table| units_of("pdm", table, table.get("_").is_some()));
    let poe = tool.get("poe").and_then(|poe| {
        let is_set = poe.entries().any(|entry| !matches!(entry.key, "executor" | "tasks" | "verbosity"));
        Some(units_of("poe", poe.get("tasks")?, is_set))
    });
    let hatch = tool.get("hatch").map(commands_of_hatch);
    [pdm, poe, hatch].into_iter().flatten().flatten().collect()
}

/// Returns the commands of the environments of Hatch.
pub(super) fn commands_of_hatch(hatch: Node<'_>) -> Vec<Unit> {
    const KNOWN: &[&str] = &[
        "dependencies",
        "description",
        "detached",
        "extra-dependencies",
        "features",
        "path",
        "python",
        "scripts",
        "skip-install",
        "type",
    ];
    let own = hatch.get("envs").into_iter().flat_map(Node::entries);
    let units = own.filter_map(|entry| {
        let is_set = entry.value.entries().any(|own| !KNOWN.contains(&own.key));
        Some(units_of(&format!("hatch {}", entry.key), entry.value.get("scripts")?, is_set))
    });
    units.flatten().collect()
}

/// Returns the units of a table of commands, which run only where a caller names them. Other settings may change what
/// they do.
fn units_of(caller: &str, table: Node<'_>, is_set: bool) -> Vec<Unit> {
    let names: BTreeSet<&str> = table.entries().map(|entry| entry.key).collect();
    let units = table.entries().map(|entry| Unit {
        name: format!("{caller} {}", entry.key),
        is_called: true,
        is_left_out: true,
        steps: steps_of(caller, &names, entry.value, is_set),
        ..Unit::default()
    });
    units.collect()
}

/// Returns the steps of a command, which may be a text, a list, or a table with one of them.
fn steps_of(caller: &str, names: &BTreeSet<&str>, value: Node<'_>, is_set: bool) -> Vec<Step> {
    const KEYS: &[&str] = &["cmd", "composite", "parallel", "sequence", "shell"];
    let is_ignored = value.get("ignore_fail").is_some_and(|ignored| ignored.flag() != Some(false));
    let mut others = value.entries().filter(|entry| !KEYS.contains(&entry.key) && entry.key != "help");
    let is_set = is_set || others.next().is_some();
    let value = KEYS.iter().find_map(|key| value.get(key)).unwrap_or(value);
    let mut found = Vec::new();
    let others = ["deps", "ref", "script", "switch"];
    if others.iter().any(|key| value.get(key).is_some()) {
        found.push(Step { text: OPAQUE.to_owned(), span: value.span(), ..Step::default() });
    }
    let parts = std::iter::once(value).filter(|value| value.text().is_some()).chain(value.items());
    for part in parts {
        let text = part.text().or(part.get("cmd").and_then(Node::text)).unwrap_or_default();
        let command = text.trim_start_matches("- ");
        let is_unsure = is_set || part.is_map() || command.contains("{env") || command.contains('$');
        let effect = match is_ignored || command.len() < text.len() {
            true => Some(Effect::Ignored),
            false => is_unsure.then_some(Effect::Sometimes),
        };
        let span = part.span();
        let mut own = in_shell(&without_arguments(command), span, effect.map(|effect| Mark { effect, span }));
        for step in &mut own {
            // A command may be another one of the table.
            let first = step.text.split(' ').next().unwrap_or_default();
            step.calls.extend(names.contains(first).then(|| Call::Unit(format!("{caller} {first}"))));
        }
        found.append(&mut own);
    }
    found
}

/// Returns a command as Hatch runs it where the command line has nothing more: `tests` for `{args:tests}`.
fn without_arguments(command: &str) -> String {
    static ARGUMENTS: Pattern = Pattern::new(r"\{args(?::([^{}]*))?\}");
    let mut text = String::new();
    let mut at = 0;
    for groups in ARGUMENTS.captures_all(command) {
        let Some(whole) = groups.get(0) else { continue };
        text.push_str(&command[at..whole.start()]);
        text.push_str(groups.get(1).map(|value| value.as_str()).unwrap_or_default());
        at = whole.end();
    }
    text.push_str(&command[at..]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_their_names_and_commands() {
        for pattern in [
            &SESSION,
            &NAME,
            &LEFT_OUT,
            &NO_VALUES,
            &CHOSEN,
            &NOTIFIES,
            &ENDS,
            &ENDS_FILE,
            &SETS,
            &TEXT,
            &VARIABLE,
            &SUCCESS_CODES,
        ] {
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
            "docs true: sphinx-build -W docs out 0",
            "style false: ruff check . 1, needs docs 0",
            "unit false: pytest -q 0",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
