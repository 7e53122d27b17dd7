//! Reads GitHub's workflows and actions as units: a job is one, and all steps of an action are one.

use std::collections::BTreeMap;

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::workflow::{Action, Condition, Job, Reference, Run, Step, Value, Workflow};

use super::calls::Call;
use super::commands::{self, Effect, Mark, Surroundings, joined, names_of_checks, shell_of};
use super::source::{Source, Unit};
use super::triggers::Triggers;

/// Inputs of actions by which they get a command.
const COMMANDS: &[&str] = &["args", "arguments", "command", "run", "script"];

/// The properties of a job that hold for all of its steps.
#[derive(Debug, Clone, Default)]
struct Outer {
    marks: Vec<Mark>,
    around: Surroundings,
}

/// Reads a workflow.
///
/// # Errors
/// A file that GitHub refuses.
pub(super) fn workflow(text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let workflow = Workflow::parse(&document)?;
    let units = workflow.jobs.iter().map(job).collect();
    Ok(Source { units, triggers: Triggers::of_workflow(&workflow) })
}

/// Reads an action; one that is no list of steps runs nothing that could be compared.
///
/// # Errors
/// A file that GitHub refuses.
pub(super) fn action(text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let Some(action) = Action::parse(&document)? else { return Ok(Source::default()) };
    let mut unit = Unit::default();
    for step in &action.steps {
        unit.steps.extend(steps(step, &Outer::default()));
    }
    Ok(Source { units: vec![unit], ..Source::default() })
}

fn job(job: &Job<'_>) -> Unit {
    let mut outer = Outer { marks: marks(job.condition, job.continue_on_error), ..Outer::default() };
    if let Some(matrix) = job.strategy.and_then(|strategy| strategy.get("matrix")) {
        outer.around.matrix = values_of(matrix.node());
        outer.around.matrix_span = matrix.span();
    }
    let mut unit = Unit { name: job.id.to_owned(), ..Unit::default() };
    unit.steps.extend(job.uses.map(|uses| used(uses, Vec::new(), &outer)));
    for step in &job.steps {
        unit.steps.extend(steps(step, &outer));
    }
    unit
}

fn steps(step: &Step<'_>, outer: &Outer) -> Vec<commands::Step> {
    let mut outer = outer.clone();
    outer.marks.extend(marks(step.condition, step.continue_on_error));
    let mut found = Vec::new();
    if let Some(uses) = step.uses {
        let inputs = COMMANDS.iter().filter_map(|name| step.input(name)).collect();
        found.push(used(uses, inputs, &outer));
    }
    if let Some(run) = step.run {
        let directory = step.working_directory.and_then(Value::constant).unwrap_or_default();
        outer.around.directory = joined("", &directory);
        found.extend(script(run, &outer));
    }
    found
}

/// Returns the commands of a script, placed in the file.
fn script(run: Run<'_>, outer: &Outer) -> Vec<commands::Step> {
    let template = run.template();
    let mut around = outer.around.clone();
    around.shell = shell_of(run.interpreter);
    around.expansions = template.expressions.iter().map(|embedded| embedded.span).collect();
    let mut steps = commands::steps(template.text(), &around);
    let shown = run.shell.filter(|shell| prints_alone(*shell));
    for step in &mut steps {
        step.span = template.place(step.span);
        for mark in &mut step.marks {
            mark.span = template.place(mark.span);
        }
        step.marks.extend(outer.marks.iter().copied());
        step.marks.extend(shown.map(|shell| Mark { effect: Effect::Never, span: shell.span() }));
        step.matrix = Some(around.matrix_span).filter(|_| template.text().contains("matrix."));
    }
    steps
}

/// Returns whether the shell of a step is a program that runs no script.
fn prints_alone(shell: Value<'_>) -> bool {
    let text = shell.constant().unwrap_or_default();
    matches!(
        text.split_whitespace().next(),
        Some(":" | "cat" | "echo" | "head" | "ls" | "printf" | "tee" | "true")
    )
}

/// Returns the step of an action, or of a workflow that a job calls.
fn used(uses: Value<'_>, inputs: Vec<Value<'_>>, outer: &Outer) -> commands::Step {
    let text = uses.constant().unwrap_or_default();
    let reference = Reference::parse(&text);
    let name = match reference {
        Some(Reference::Local(name) | Reference::Image(name) | Reference::Remote { name, .. }) => name,
        None => text.as_ref(),
    };
    let calls = match reference {
        Some(Reference::Local(path)) if path.ends_with(".yml") || path.ends_with(".yaml") => {
            vec![Call::File(path.to_owned())]
        }
        Some(Reference::Local(path)) => {
            ["action.yml", "action.yaml"].map(|name| Call::File(joined(path, name))).to_vec()
        }
        Some(Reference::Image(_) | Reference::Remote { .. }) | None => Vec::new(),
    };
    let mut command = format!("uses {name}");
    let mut marks = outer.marks.clone();
    for input in inputs {
        let options = input.constant().unwrap_or_default();
        let own = commands::steps(&options, &outer.around).into_iter().flat_map(|step| step.marks);
        marks.extend(own.map(|mark| Mark { effect: mark.effect, span: input.span() }));
        command.push(' ');
        command.push_str(&options);
    }
    commands::Step {
        text: format!("uses {name}"),
        checks: names_of_checks(&command),
        calls,
        marks,
        span: uses.span(),
        ..commands::Step::default()
    }
}

/// Returns what a job or a step says of all its commands.
fn marks(condition: Option<Condition<'_>>, continue_on_error: Option<Value<'_>>) -> Vec<Mark> {
    let mut marks = Vec::new();
    if let Some(condition) = condition.filter(|condition| condition.constant() == Some(false)) {
        marks.push(Mark { effect: Effect::Never, span: condition.value.span() });
    }
    if let Some(value) = continue_on_error.filter(|value| is_on(*value)) {
        marks.push(Mark { effect: Effect::Ignored, span: value.span() });
    }
    marks
}

/// Returns whether a value is true, also as an expression that is true whatever its context, or looks at none.
fn is_on(value: Value<'_>) -> bool {
    if let Some(flag) = value.flag() {
        return flag;
    }
    let expressions = value.template().unwrap_or_default().expressions;
    !expressions.is_empty()
        && expressions.iter().all(|embedded| {
            let expression = embedded.expression.as_ref();
            expression
                .is_some_and(|expression| expression.truth() == Some(true) || expression.paths().is_empty())
        })
}

/// Values of a matrix by name.
fn values_of(matrix: Node<'_>) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in matrix.entries().filter(|entry| entry.key != "exclude") {
        let own = values.entry(entry.key.to_owned()).or_default();
        own.extend(entry.value.texts().into_iter().map(str::to_owned));
    }
    for included in matrix.get("include").into_iter().flat_map(Node::items) {
        for entry in included.entries() {
            if let Some(text) = entry.value.text() {
                values.entry(entry.key.to_owned()).or_default().push(text.to_owned());
            }
        }
    }
    values.retain(|_, values| !values.is_empty());
    values
}
