//! Reads lists of commands that CI calls by name, and scripts: Makefiles, justfiles, package.json, tox.ini, shell
//! scripts and Jenkinsfiles.

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::makefile::Makefile;
use qa_reading::shell::{Interpreter, Options};
use qa_reading::syntax::Span;

use super::calls::Call;
use super::commands::{Effect, Mark, Step, Surroundings, shell_of, steps};
use super::files::Kind;
use super::source::{Source, Unit};
use crate::pattern::Pattern;

fn in_shell(options: Options) -> Surroundings {
    Surroundings { shell: Some(options), ..Surroundings::default() }
}

fn shifted(mut step: Step, place: impl Fn(usize) -> usize) -> Step {
    for span in step.marks.iter_mut().map(|mark| &mut mark.span).chain([&mut step.span]) {
        let start = place(span.start);
        let end = (place(span.end.saturating_sub(1).max(span.start)) + 1).max(start);
        *span = Span { start, end };
    }
    step
}

/// Returns a step that does nothing but call units of a list.
fn call_of(list: Kind, name: &str, span: Span) -> Step {
    let call = Call::Listed { list, directory: String::new(), name: name.to_owned() };
    Step { text: format!("needs {name}"), calls: vec![call], span, ..Step::default() }
}

/// Reads the targets of a Makefile.
pub(super) fn makefile(text: &str) -> Source {
    let read = Makefile::parse(text);
    let options = read.options();
    let mut source = Source::default();
    for rule in &read.rules {
        for target in &rule.targets {
            let unit = source.unit(&target.text);
            unit.is_called = true;
            for name in &rule.prerequisites {
                unit.steps.push(Step {
                    calls: vec![Call::Unit(name.text.clone())],
                    ..call_of(Kind::Make, &name.text, name.span)
                });
            }
            for line in &rule.recipe {
                let around = Surroundings { expansions: line.expansions.clone(), ..in_shell(options) };
                let is_ignored = line.ignores_failure || read.ignores_failures_of(&target.text);
                for step in steps(&line.script.text, &around) {
                    let mut step = shifted(step, |at| line.script.source_of(at));
                    if is_ignored {
                        step.marks.push(Mark { effect: Effect::Ignored, span: line.span });
                    }
                    unit.steps.push(step);
                }
            }
        }
    }
    source
}

/// Reads the recipes of a justfile.
pub(super) fn justfile(text: &str) -> Source {
    static RECIPE: Pattern = Pattern::new(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=]*)?:(?:[^=]|$)");
    let mut source = Source::default();
    let mut name = String::new();
    let mut at = 0;
    let around = in_shell(Options { errexit: true, ..Options::default() });
    for raw in text.split_inclusive('\n') {
        let start = at;
        at += raw.len();
        let line = raw.trim_end();
        if let Some(groups) = RECIPE.captures(line) {
            name = groups[1].to_owned();
            let unit = source.unit(&name);
            unit.is_called = true;
            let behind = line.split_once(':').map(|(_, behind)| behind).unwrap_or_default();
            for needed in behind.split_whitespace().take_while(|word| !word.starts_with('#')) {
                let needed = needed.trim_matches(['(', ')', '&']);
                let span = Span { start, end: start + line.len() };
                unit.steps.push(Step {
                    calls: vec![Call::Unit(needed.to_owned())],
                    ..call_of(Kind::Just, needed, span)
                });
            }
        } else if line.starts_with([' ', '\t']) && !name.is_empty() {
            let command = line.trim_start().trim_start_matches('@');
            let script = command.trim_start_matches(['-', '@']);
            let begin = start + line.len() - script.len();
            for step in steps(script, &around) {
                let mut step = shifted(step, |at| begin + at);
                if command.starts_with('-') {
                    step.marks.push(Mark { effect: Effect::Ignored, span: step.span });
                }
                source.unit(&name).steps.push(step);
            }
        } else if !line.is_empty() {
            name.clear();
        }
    }
    source
}

/// Reads the scripts of a package.
pub(super) fn package(text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Json, text)?;
    let mut source = Source::default();
    for entry in document.root().get("scripts").into_iter().flat_map(Node::entries) {
        let Some(script) = entry.value.text() else { continue };
        let unit = source.unit(entry.key);
        unit.is_called = true;
        let found = steps(script, &in_shell(Options::default()));
        unit.steps.extend(found.into_iter().map(|step| shifted(step, |at| entry.value.place_of(at))));
    }
    Ok(source)
}

/// Reads the environments of tox.
pub(super) fn tox(path: &str, text: &str) -> Result<Source, ReadError> {
    let mut source = Source::default();
    if path.ends_with(".toml") {
        let document = Document::parse(Format::Toml, text)?;
        let root = document.root();
        let tox = if path.ends_with("pyproject.toml") { root.at(&["tool", "tox"]) } else { Some(root) };
        let Some(tox) = tox else { return Ok(source) };
        if let Some(base) = tox.get("env_run_base") {
            source.units.push(environment("", base));
        }
        let named = tox.get("env").into_iter().flat_map(Node::entries);
        source.units.extend(named.map(|entry| environment(entry.key, entry.value)));
        return Ok(source);
    }
    let document = Document::parse(Format::Ini, text)?;
    for section in document.root().entries() {
        let Some(name) = section.key.strip_prefix("testenv") else { continue };
        let unit = source.unit(name.trim_start_matches(':'));
        unit.is_called = true;
        let is_ignored = section.value.get("ignore_outcome").filter(|value| value.flag() == Some(true));
        if let Some(commands) = section.value.get("commands") {
            let mut at = commands.span().start;
            for raw in commands.span().of(text).split_inclusive('\n') {
                let line = raw.trim_start_matches(|sign: char| sign.is_whitespace() || sign == '-');
                let begin = at + raw.len() - line.len();
                at += raw.len();
                if line.starts_with(['#', ';']) {
                    continue;
                }
                for step in steps(line, &in_shell(Options::default())) {
                    let mut step = shifted(step, |offset| begin + offset);
                    if raw.trim_start().starts_with('-') {
                        step.marks.push(Mark { effect: Effect::Ignored, span: step.span });
                    }
                    step.marks
                        .extend(is_ignored.map(|value| Mark { effect: Effect::Ignored, span: value.span() }));
                    unit.steps.push(step);
                }
            }
        }
    }
    Ok(source)
}

/// Returns an environment in TOML, where each command is a list of words.
fn environment(name: &str, value: Node<'_>) -> Unit {
    let mut unit = Unit { name: name.to_owned(), is_called: true, steps: Vec::new() };
    let is_ignored = value.get("ignore_outcome").filter(|value| value.flag() == Some(true));
    for command in value.get("commands").into_iter().flat_map(Node::items) {
        let words = command.texts().join(" ");
        let script = words.trim_start_matches(['-', ' ']);
        for mut step in steps(script, &in_shell(Options::default())) {
            step.span = command.span();
            let own = step.marks.iter().map(|mark| mark.effect);
            let ignored = is_ignored.map(|_| Effect::Ignored);
            let dashed = if script.len() < words.len() { Some(Effect::Ignored) } else { None };
            let effects: Vec<Effect> = own.chain(ignored).chain(dashed).collect();
            let span = is_ignored.unwrap_or(command).span();
            step.marks = effects.into_iter().map(|effect| Mark { effect, span }).collect();
            unit.steps.push(step);
        }
    }
    unit
}

/// Reads a script of a shell.
pub(super) fn script(path: &str, text: &str) -> Source {
    let shell = match Interpreter::of_shebang(text) {
        Some(interpreter) => shell_of(interpreter),
        // Husky runs hooks by `sh -e`.
        None => Some(Options { errexit: path.contains(".husky/"), ..Options::default() }),
    };
    let steps = steps(text, &Surroundings { shell, ..Surroundings::default() });
    Source { units: vec![Unit { name: String::new(), is_called: false, steps }], ..Source::default() }
}

/// Reads the commands that a Jenkinsfile hands to a shell, each with the stage it stands in.
pub(super) fn jenkinsfile(text: &str) -> Source {
    static STAGE: Pattern = Pattern::new(r#"stage\s*\(\s*["']([^"']*)["']"#);
    static CALL: Pattern =
        Pattern::new(r#"\b(?:sh|bat|pwsh|powershell)\s*\(?\s*(?:[^"'\n]*?\bscript:\s*)?("{3}|'{3}|"|')"#);
    static IGNORED: Pattern = Pattern::new(r"\bcatchError\b|\bwarnError\b|\breturnStatus:\s*true");
    let mut source = Source::default();
    let mut stage = String::new();
    let mut ignored: Option<Span> = None;
    let mut at = 0;
    while at < text.len() {
        let line_end = end_of_line(text, at);
        let line = &text[at..line_end];
        if line.trim_start().starts_with("//") {
            at = line_end;
            continue;
        }
        if let Some(groups) = STAGE.captures(line) {
            stage = groups[1].to_owned();
            ignored = None;
        }
        if let Some(found) = IGNORED.find(line) {
            ignored = Some(Span { start: at + found.start(), end: at + found.end() });
        }
        let Some(quote) = CALL.captures(line).and_then(|groups| groups.get(1)) else {
            at = line_end;
            continue;
        };
        let start = at + quote.end();
        let end = text[start..].find(quote.as_str()).map(|length| start + length).unwrap_or(text.len());
        let around = in_shell(Options { errexit: true, ..Options::default() });
        for step in steps(&text[start..end], &around) {
            let mut step = shifted(step, |at| start + at);
            step.marks.extend(ignored.map(|span| Mark { effect: Effect::Ignored, span }));
            source.unit(&stage).steps.push(step);
        }
        at = end_of_line(text, end);
    }
    source
}

/// Returns the begin of the next line.
fn end_of_line(text: &str, at: usize) -> usize {
    match text[at..].find('\n') {
        Some(length) => at + length + 1,
        None => text.len(),
    }
}
