//! Text that anyone may choose: put into a script before a shell reads it, or written to a file that sets variables.

use qa_reading::shell::{Command, Word};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Embedded, Expression, ParsedRun, Path, Step, Template, Value};

use super::model::{Group, Model, Scope, pipelines_of, runs, text_of, uses_action, variable_name};
use super::{ENVIRONMENT, Found, INJECTION};

/// Texts that whoever opens an issue, a pull request, a comment or a branch may choose.
const CHOSEN: &[Chosen] = &[
    line("github.head_ref"),
    line("github.event.issue.title"),
    lines("github.event.issue.body"),
    line("github.event.pull_request.title"),
    lines("github.event.pull_request.body"),
    line("github.event.pull_request.head.ref"),
    line("github.event.pull_request.head.label"),
    line("github.event.pull_request.head.repo.default_branch"),
    line("github.event.pull_request.head.repo.description"),
    line("github.event.pull_request.head.repo.homepage"),
    lines("github.event.comment.body"),
    lines("github.event.review.body"),
    lines("github.event.review_comment.body"),
    line("github.event.discussion.title"),
    lines("github.event.discussion.body"),
    line("github.event.pages.*.page_name"),
    lines("github.event.commits.*.message"),
    line("github.event.commits.*.author.email"),
    line("github.event.commits.*.author.name"),
    lines("github.event.head_commit.message"),
    line("github.event.head_commit.author.email"),
    line("github.event.head_commit.author.name"),
    line("github.event.head_commit.committer.email"),
    line("github.event.head_commit.committer.name"),
    line("github.event.changes.title.from"),
    lines("github.event.changes.body.from"),
    line("github.event.workflow_run.head_branch"),
    line("github.event.workflow_run.display_title"),
    lines("github.event.workflow_run.head_commit.message"),
    line("github.event.workflow_run.head_commit.author.email"),
    line("github.event.workflow_run.head_commit.author.name"),
    line("github.event.workflow_run.head_repository.description"),
    line("github.event.workflow_run.pull_requests.*.head.ref"),
];

/// A path of the event to a text that anyone may choose.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    path: &'static str,
    /// True if the text may have several lines.
    has_lines: bool,
}

const fn line(path: &'static str) -> Chosen {
    Chosen { path, has_lines: false }
}

const fn lines(path: &'static str) -> Chosen {
    Chosen { path, has_lines: true }
}

/// Inputs of actions that run them as scripts, whatever the action.
const SCRIPTS: &[&str] = &["script", "inlineScript"];

/// Inputs that one action runs as a script.
const SCRIPTS_OF: &[(&str, &[&str])] = &[
    ("addnab/docker-run-action", &["run"]),
    ("cypress-io/github-action", &["build", "command", "install-command", "start"]),
    ("mikefarah/yq", &["cmd"]),
    ("nick-fields/retry", &["command"]),
];

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

/// Returns the texts of a step that are run as scripts.
pub(crate) fn scripts<'d>(step: &Step<'d>) -> impl Iterator<Item = Value<'d>> + use<'d> {
    let own = SCRIPTS_OF.iter().filter(|(action, _)| uses_action(step, action)).flat_map(|(_, names)| *names);
    let names = SCRIPTS.iter().filter(|_| step.uses.is_some()).chain(own);
    let given: Vec<_> = names.filter_map(|name| step.input(name)).collect();
    step.run.map(|run| run.value).into_iter().chain(given)
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

/// Returns the path to a chosen text that an expression takes its value from.
pub(crate) fn chosen_source(expression: &Expression, scope: &Scope<'_, '_>) -> Option<Path> {
    let whole = calls(expression, "tojson");
    scope.sources(expression).into_iter().find(|path| chosen(path, whole).is_some())
}

/// Returns whether a path names a chosen text, or an object with one in it.
pub(super) fn is_chosen(path: &Path) -> bool {
    chosen(path, true).is_some()
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

/// Returns the text that a path names, or that is a part of the object that it names where `toJSON` writes all of it.
fn chosen(path: &Path, whole: bool) -> Option<Chosen> {
    CHOSEN.iter().copied().find(|chosen| {
        let names: Vec<&str> = chosen.path.split('.').collect();
        path.is_within(&names) || whole && is_part_of(&names, path)
    })
}

fn is_part_of(names: &[&str], path: &Path) -> bool {
    let prefix = names.get(..=path.segments.len());
    prefix.is_some_and(|prefix| path.is_within(prefix))
}

fn calls(expression: &Expression, name: &str) -> bool {
    match expression {
        Expression::Literal(_) | Expression::Path(_) => false,
        Expression::Part { of, .. } => calls(of, name),
        Expression::Not(inner) => calls(inner, name),
        Expression::Call { function, arguments } => {
            function == name || arguments.iter().any(|argument| calls(argument, name))
        }
        Expression::Binary { left, right, .. } => calls(left, name) || calls(right, name),
    }
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
            // One line behind a name sets that name alone.
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
    for other in parsed.script.commands.iter().filter(|other| other.program() == Some("tee")) {
        if pipelines_of(parsed, other).iter().any(|pipeline| pipelines.contains(pipeline)) {
            targets.extend(other.arguments());
        }
    }
    let own = targets.iter().find_map(|target| destination_of(target.text()));
    own.or_else(|| destination_of_group(parsed.template.text().get(command.span.end..)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_expression_decides() {
        let cases = [
            ("github.head_ref", true),
            ("github.event.issue['title']", true),
            ("github.event.commits[0].message", true),
            ("join(github.event.commits.*.message, ' ')", true),
            ("toJSON(github.event.comment.body)", true),
            ("toJson(github.event)", true),
            ("toJson(github.event.commits)", true),
            ("toJson(github.event.inputs)", false),
            ("github.event", false),
            ("github.event_name == 'push' && 'a' || github.head_ref", true),
            ("github.head_ref == 'main'", false),
            ("contains(github.event.issue.body, 'x')", false),
            ("github.head_ref && 'a' || 'b'", false),
            ("github.event.pull_request.head.sha", false),
            ("github.event.number", false),
        ];
        for (text, expected) in cases {
            let expression = Expression::parse(text).expect(text);
            let whole = calls(&expression, "tojson");
            let is_chosen = expression.sources().into_iter().any(|path| chosen(path, whole).is_some());
            assert_eq!(is_chosen, expected, "{text}");
        }
    }
}
