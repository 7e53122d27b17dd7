//! Reads lists of commands that CI calls by name, and scripts: Makefiles, justfiles, package.json, tox.ini, shell
//! scripts and Jenkinsfiles.

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::makefile::{Makefile, Variable};
use qa_reading::shell::{Interpreter, Options};
use qa_reading::syntax::Span;

use super::calls::Call;
use super::commands::{Effect, Mark, Step, Surroundings, shell_of, steps};
use super::files::Kind;
use super::guards;
use super::nox::{commands_of_hatch, named_commands};
use super::source::{Source, Unit};
use crate::pattern::Pattern;
use crate::selection::Selection;

fn in_shell(options: Options) -> Surroundings {
    Surroundings { shell: Some(options), ..Surroundings::default() }
}

fn shifted(mut step: Step, place: impl Fn(usize) -> usize) -> Step {
    for span in step.spans() {
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
    let settings: Vec<Mark> = read.variables.iter().filter_map(mark_of_setting).collect();
    let has_branches = ["ifeq", "ifneq", "ifdef", "ifndef"].iter().any(|word| text.contains(word));
    for rule in &read.rules {
        for target in &rule.targets {
            let unit = source.unit(&target.text);
            unit.is_called = true;
            // Of several recipes the last one counts.
            if !rule.recipe.is_empty() && !has_branches {
                unit.steps.retain(|step| step.text.starts_with("needs "));
            }
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
                    step.marks.extend(settings.iter().copied());
                    with_variables(&mut step, &read.variables);
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

/// Returns what a variable that make itself reads does to every recipe.
fn mark_of_setting(variable: &Variable) -> Option<Mark> {
    let value = variable.value.text.as_str();
    let first = value.split_whitespace().next().unwrap_or_default();
    let has = |letter: char| {
        value.split_whitespace().any(|word| word.trim_start_matches('-') == letter.to_string())
    };
    let effect = match variable.name.text.as_str() {
        "SHELL" if guards::is_idle(first) => Effect::Never,
        "MAKEFLAGS" if has('n') || has('t') => Effect::Never,
        "MAKEFLAGS" if has('i') || value.contains("--ignore-errors") => Effect::Ignored,
        _ => return None,
    };
    Some(Mark { effect, span: variable.value.span })
}

/// Puts the values of variables in the place of their names, in what a step looks at and in the program that it runs.
fn with_variables(step: &mut Step, variables: &[Variable]) {
    let mut text = step.text.clone();
    for variable in variables.iter().rev() {
        let name = &variable.name.text;
        for spelling in [format!("$({name})"), format!("${{{name}}}")] {
            if !text.contains(&spelling) {
                continue;
            }
            let first = variable.value.text.split_whitespace().next().unwrap_or_default();
            if step.text.starts_with(&spelling) && guards::is_idle(first) {
                step.marks.push(Mark { effect: Effect::Never, span: variable.value.span });
            }
            step.settings.push(variable.value.span);
            text = text.replace(&spelling, &variable.value.text);
        }
    }
    if text != step.text {
        step.selection = Selection::of_command(&text.split_whitespace().collect::<Vec<_>>());
    }
}

/// Reads the recipes of a justfile.
pub(super) fn justfile(text: &str) -> Source {
    static RECIPE: Pattern = Pattern::new(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=]*)?:(?:[^=]|$)");
    let mut source = Source::default();
    let mut name = String::new();
    let mut at = 0;
    let around = in_shell(Options { errexit: true, ..Options::default() });
    static SHELL: Pattern = Pattern::new(r#"(?m)^set\s+shell\s*:=\s*\[\s*["']([^"']*)["']"#);
    let shell = SHELL.captures(text).and_then(|groups| groups.get(1));
    let shell = shell.filter(|program| guards::is_idle(program.as_str()));
    let shell = shell.map(|program| Span { start: program.start(), end: program.end() });
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
                step.marks.extend(shell.map(|span| Mark { effect: Effect::Never, span }));
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
        let tools = root.get("tool").filter(|_| path.ends_with("pyproject.toml"));
        source.units.extend(tools.into_iter().flat_map(named_commands));
        let tox = match path.rsplit('/').next() {
            Some("pyproject.toml") => tools.and_then(|tools| tools.get("tox")),
            Some("hatch.toml") => {
                source.units.extend(commands_of_hatch(root));
                None
            }
            Some(_) | None => Some(root),
        };
        let Some(tox) = tox else { return Ok(source) };
        if let Some(base) = tox.get("env_run_base") {
            source.units.push(environment("", base));
        }
        let named = tox.get("env").into_iter().flat_map(Node::entries);
        source.units.extend(named.map(|entry| environment(entry.key, entry.value)));
        return Ok(source);
    }
    let document = Document::parse(Format::Ini, text)?;
    let list = document.root().get("tox").and_then(|own| own.get("envlist").or(own.get("env_list")));
    let listed = list.and_then(Node::text);
    let is_empty = listed.is_some_and(|listed| listed.trim().is_empty());
    let empty = list.filter(|_| is_empty).map(|list| Mark { effect: Effect::Partial, span: list.span() });
    for section in document.root().entries() {
        let Some(name) = section.key.strip_prefix("testenv") else { continue };
        let name = name.trim_start_matches(':');
        let unit = source.unit(name);
        unit.is_called = true;
        // A name with factors may stand for others.
        unit.is_left_out = !name.is_empty()
            && listed.is_some_and(|listed| {
                let mut names = listed.split([',', '\n', ' ']).map(str::trim);
                !listed.contains('{') && !names.any(|own| own == name)
            });
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
                    step.marks.extend(empty);
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
    let mut unit = Unit { name: name.to_owned(), is_called: true, ..Unit::default() };
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
    Source { units: vec![Unit { steps, ..Unit::default() }], ..Source::default() }
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
