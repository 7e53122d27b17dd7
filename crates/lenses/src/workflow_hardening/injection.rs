//! Text that anyone may choose: put into a script before a shell reads it, or written to a file that sets variables.

use qa_reading::shell::{Command, Word};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Embedded, Expression, ParsedRun, Path, Template, Value};

use super::{ENVIRONMENT, Found, INJECTION};
use crate::workflows::chosen::{chosen, chosen_source, scripts};
use crate::workflows::model::{Group, Model, Scope, pipelines_of, runs, text_of, variable_name};

/// Files whose lines become variables, outputs or parts of the search path of later steps.
const DESTINATIONS: &[&str] = &["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"];

/// Looks at every script of a workflow or an action.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    for group in model.groups() {
        // Outputs of earlier steps that hold such a text: `steps.id.outputs.name`.
        let mut outputs: Vec<Path> = Vec::new();
        for step in &group.steps {
            let scope = group.scope(step);
            for script in scripts(step) {
                injected(script, &scope, found);
            }
        }
        for (position, run) in runs(&group) {
            let Some(parsed) = run.parse() else { continue };
            let step = group.steps[position];
            let id = step.id.map(text_of).unwrap_or_default();
            written(&parsed, &group.scope(step), &id.to_lowercase(), &mut outputs, found);
        }
        if !outputs.is_empty() {
            injected_outputs(&group, &outputs, found);
        }
    }
}

/// Finds scripts into which an output of an earlier step brings a chosen text.
fn injected_outputs(group: &Group<'_, '_>, outputs: &[Path], found: &mut Vec<Found>) {
    for (_, run) in runs(group) {
        let template = run.template();
        for embedded in &template.expressions {
            let sources = embedded.expression.as_ref().map(Expression::sources).unwrap_or_default();
            if let Some(path) = sources.into_iter().find(|path| outputs.contains(path)) {
                push_injection(run.value, &template, embedded, path.to_string(), found);
            }
        }
    }
}

fn injected(script: Value<'_>, scope: &Scope<'_, '_>, found: &mut Vec<Found>) {
    let template = script.template().unwrap_or_default();
    for embedded in &template.expressions {
        let Some(expression) = &embedded.expression else { continue };
        if let Some(path) = chosen_source(expression, scope) {
            push_injection(script, &template, embedded, path.to_string(), found);
        }
    }
}

fn push_injection(
    script: Value<'_>,
    template: &Template,
    embedded: &Embedded,
    subject: String,
    found: &mut Vec<Found>,
) {
    let summary = "untrusted event data is interpolated into a script";
    let place = template.place(embedded.span);
    found.push(Found::new(INJECTION, script, subject, summary).placed_at(place));
}

/// Finds commands that write a chosen text to a file of the runner, and notes the outputs that hold one.
fn written(
    parsed: &ParsedRun,
    scope: &Scope<'_, '_>,
    step: &str,
    outputs: &mut Vec<Path>,
    found: &mut Vec<Found>,
) {
    for command in &parsed.script.commands {
        let Some(destination) = destination(parsed, command) else { continue };
        let heredocs = command.redirections.iter().filter_map(|redirection| redirection.heredoc.as_ref());
        let mut texts: Vec<WrittenText> = command
            .arguments()
            .iter()
            .map(|word| WrittenText {
                text: word.text().to_owned(),
                span: word.span,
                sources: scope.word_sources(parsed, word),
            })
            .collect();
        for heredoc in heredocs {
            texts.extend(heredoc_text(&heredoc.text, command, scope));
        }
        for WrittenText { text, span, sources } in texts {
            let Some((path, chosen)) = sources.iter().find_map(|path| Some((path, chosen(path, true)?)))
            else {
                continue;
            };
            let name = text.split_once('=').map(|(name, _)| name).filter(|name| is_name(name));
            if destination == "GITHUB_OUTPUT" && !step.is_empty() {
                outputs.extend(name.and_then(|name| output_path(step, name)));
            }
            // A single-line value behind `NAME=` can set only that variable.
            if name.is_some() && !chosen.has_lines && destination != "GITHUB_PATH" {
                continue;
            }
            let summary = "untrusted event data is written to GITHUB_ENV, GITHUB_OUTPUT or GITHUB_PATH";
            let subject = format!("{destination} {path}");
            found.push(Found::at_place(ENVIRONMENT, parsed.template.place(span), subject, summary));
        }
    }
}

struct WrittenText {
    text: String,
    span: Span,
    sources: Vec<Path>,
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-'))
}

fn output_path(step: &str, name: &str) -> Option<Path> {
    match Expression::parse(&format!("steps.{step}.outputs.{name}"))? {
        Expression::Path(path) => Some(path),
        Expression::Literal(_)
        | Expression::Part { .. }
        | Expression::Call { .. }
        | Expression::Not(_)
        | Expression::Binary { .. } => None,
    }
}

/// Returns the file of the runner that a command writes to, by its own redirection or one of a group around it.
fn destination(parsed: &ParsedRun, command: &Command) -> Option<&'static str> {
    let outputs = command
        .redirections
        .iter()
        .filter(|own| matches!(own.operator.as_str(), ">" | ">>" | "&>" | "&>>" | ">|"));
    let mut targets: Vec<&Word> = outputs.map(|output| &output.target).collect();
    let pipelines = pipelines_of(parsed, command);
    // Most commands stand in no pipeline.
    let others = parsed.script.commands.iter().filter(|_| !pipelines.is_empty());
    for other in others.filter(|other| other.program() == Some("tee")) {
        if pipelines_of(parsed, other).iter().any(|pipeline| pipelines.contains(pipeline)) {
            targets.extend(other.arguments());
        }
    }
    let own = targets.iter().find_map(|target| destination_of(target.text()));
    let behind = parsed.template.text().get(command.span.end..).filter(|behind| behind.contains('}'));
    own.or_else(|| destination_of_group(behind?))
}

/// Returns the file of the runner that a group around a command writes to, given the text behind the command:
/// `} >> "$GITHUB_ENV"` on a line of its own.
fn destination_of_group(behind: &str) -> Option<&'static str> {
    let mut depth = 0_usize;
    for line in behind.lines().skip(1).map(str::trim) {
        if let Some(rest) = line.strip_prefix('}') {
            let Some(outer) = depth.checked_sub(1) else {
                let (_, target) = rest.rsplit_once('>')?;
                return destination_of(target.trim().trim_matches('"'));
            };
            depth = outer;
        }
        depth += usize::from(line.ends_with('{'));
    }
    None
}

fn destination_of(target: &str) -> Option<&'static str> {
    let name = target.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
    let expression = target.strip_prefix("${{").and_then(|inside| inside.strip_suffix("}}"));
    let name = match expression.map(str::trim) {
        Some("github.env") => "GITHUB_ENV",
        Some("github.output") => "GITHUB_OUTPUT",
        Some("github.path") => "GITHUB_PATH",
        Some(_) | None => name,
    };
    DESTINATIONS.iter().find(|destination| **destination == name).copied()
}

/// Lines of a heredoc that hold an expression or a variable of the scope.
fn heredoc_text(text: &str, command: &Command, scope: &Scope<'_, '_>) -> Vec<WrittenText> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut sources = Vec::new();
        for span in qa_reading::workflow::embedded(line) {
            let inside = &span.of(line)[3..span.end - span.start - 2];
            if let Some(expression) = Expression::parse(inside) {
                sources.extend(scope.sources(&expression));
            }
        }
        for (at, _) in line.match_indices('$') {
            if let Some(name) = variable_name(&line[at..]) {
                sources.extend(scope.variable(name));
            }
        }
        found.push(WrittenText { text: line.to_owned(), span: command.span, sources });
    }
    found
}
