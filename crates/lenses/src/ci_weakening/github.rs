//! Reads GitHub's workflows and actions as units: a job is one, and all steps of an action are one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Action, Condition, Job, Member, Reference, Run, Step, Value, Workflow};

use super::calls::{Call, joined};
use super::commands::{self, Effect, Mark, Surroundings, Variable, shell_of};
use super::conditions::Known;
use super::guards::Directory;
use super::later::Setting;
use super::legs::Legs;
use super::names::names_of_checks;
use super::shells::effect_of_shell;
use super::source::{Source, Unit};
use super::triggers::Triggers;
use super::writers::repairs_before_it_judges;
use crate::is_gate;
use crate::selection::Selection;

/// Inputs of actions by which they get a command.
const COMMANDS: &[&str] = &["args", "arguments", "command", "run", "script"];

/// The properties of a job that hold for all of its steps.
#[derive(Debug, Clone, Default)]
struct Outer {
    marks: Vec<Mark>,
    around: Surroundings,
    /// Variables by which checks look at less.
    settings: Vec<Setting>,
    /// Place of the working directory.
    directory_span: Option<Span>,
    known: Known,
}

/// Reads a workflow.
///
/// # Errors
/// A file that GitHub refuses.
pub(super) fn workflow(text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let workflow = Workflow::parse(&document)?;
    let events: Vec<&str> = workflow.triggers.iter().map(|trigger| trigger.name).collect();
    let known =
        Known { events: events.iter().map(|event| (*event).to_owned()).collect(), ..Known::default() };
    let is_off = |job: &Job<'_>| {
        let effect = job.condition.and_then(|condition| known.effect_of(condition));
        effect == Some(Effect::Never)
    };
    let off: Vec<&str> = workflow.jobs.iter().filter(|job| is_off(job)).map(|job| job.id).collect();
    let units = workflow.jobs.iter().map(|own| job(own, &workflow.env, &known, &off)).collect();
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

/// Reads a job, given those that never run.
fn job(job: &Job<'_>, env: &[Member<'_>], known: &Known, off: &[&str]) -> Unit {
    let mut outer = Outer { known: known.clone(), ..Outer::default() };
    for env in [env, &job.env] {
        outer.around.variables.extend(variables(env));
        outer.around.environment.extend(env);
        outer.settings.extend(settings(env));
    }
    // Any earlier step may write to GITHUB_ENV, also from a program.
    outer.around.environment.forget_values();
    if let Some(matrix) = job.strategy.and_then(|strategy| strategy.get("matrix")) {
        outer.around.matrix = values_of(matrix.node());
        outer.around.matrix_span = matrix.span();
        outer.known.matrix = outer.around.matrix.clone();
        outer.known.whole = names_of_all_legs(matrix.node());
    }
    outer.marks = marks(job.condition, job.continue_on_error, &outer.known);
    // A job is skipped with one that it needs, unless a condition of its own says otherwise.
    let needs = job.needs.iter().filter(|_| job.condition.is_none());
    let skipped = needs.filter(|need| need.constant().is_some_and(|id| off.contains(&&*id)));
    outer.marks.extend(skipped.map(|need| Mark { effect: Effect::Never, span: need.span() }));
    let legs = Legs::new(job);
    let mut unit = Unit { name: job.id.to_owned(), legs, ..Unit::default() };
    unit.steps.extend(job.uses.map(|uses| used(uses, Vec::new(), &[], &outer)));
    let mut on_path: Vec<Directory> = Vec::new();
    for step in &job.steps {
        let own = steps(step, &outer);
        let first: Vec<Directory> = on_path.clone();
        for mut step in own {
            on_path.extend(step.first_on_path.iter().filter(|directory| directory.persists).cloned());
            step.first_on_path.extend(first.iter().cloned());
            unit.steps.push(step);
        }
    }
    unit
}

fn variables(env: &[Member<'_>]) -> Vec<Variable> {
    let variables = env.iter().map(|member| {
        let value = member.value.constant().map(Cow::into_owned);
        // Options count as they are written, whatever an expression in them comes to.
        let has_options = member.name.starts_with("TOX") || member.name.ends_with("FLAGS");
        let written = member.value.template().filter(|_| has_options);
        let value = value.or_else(|| written.map(|template| template.text().to_owned()));
        Variable { name: member.name.to_owned(), value: value.unwrap_or_default() }
    });
    variables.collect()
}

fn steps(step: &Step<'_>, outer: &Outer) -> Vec<commands::Step> {
    let mut outer = outer.clone();
    outer.marks.extend(marks(step.condition, step.continue_on_error, &outer.known));
    outer.around.variables.extend(variables(&step.env));
    outer.around.environment.extend(&step.env);
    outer.settings.extend(settings(&step.env));
    let mut found = Vec::new();
    if let Some(uses) = step.uses {
        let inputs = COMMANDS.iter().filter_map(|name| step.input(name)).collect();
        found.push(used(uses, inputs, &step.with, &outer));
    }
    if let Some(run) = step.run {
        let directory = step.working_directory.and_then(Value::constant).unwrap_or_default();
        outer.around.directory = joined("", &directory);
        outer.directory_span = step.working_directory.map(Value::span);
        found.extend(script(run, &outer));
    }
    found
}

/// Returns the commands of a script, placed in the file.
fn script(run: Run<'_>, outer: &Outer) -> Vec<commands::Step> {
    let template = run.template();
    let mut around = outer.around.clone();
    around.shell = shell_of(run.interpreter);
    around.environment.forget_unless_plain(run.shell);
    around.expansions = template.expressions.iter().map(|embedded| embedded.span).collect();
    let mut steps = commands::steps(template.text(), &around);
    let shell = run
        .shell
        .and_then(|shell| Some(Mark { effect: effect_of_shell(&shell.constant()?)?, span: shell.span() }));
    for step in &mut steps {
        for span in step.spans() {
            *span = template.place(*span);
        }
        step.marks.extend(outer.marks.iter().copied());
        step.marks.extend(shell);
        let settings = outer.settings.iter().filter(|setting| step.is_lessened_by(&setting.name));
        let settings: Vec<Mark> = settings.map(|setting| setting.mark).collect();
        step.marks.extend(settings);
        step.settings.extend(outer.directory_span);
        let is_of_matrix = template.text().contains("matrix.") || step.text.contains("matrix.");
        step.settings.extend(Some(around.matrix_span).filter(|_| is_of_matrix));
    }
    steps
}

/// Returns the step of an action, or of a workflow that a job calls.
fn used(uses: Value<'_>, inputs: Vec<Value<'_>>, settings: &[Member<'_>], outer: &Outer) -> commands::Step {
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
    if is_gate(name) {
        // The lens of the policy compares the jobs of the gate itself.
        return commands::Step {
            text: format!("uses {name}"),
            span: uses.span(),
            ..commands::Step::default()
        };
    }
    let mut command = format!("uses {name}");
    let mut marks = outer.marks.clone();
    marks.extend(settings.iter().filter_map(|member| {
        let value = constant_of(member.value)?;
        let name = member.name.replace(['_', '-'], "").to_lowercase();
        let is_soft = SOFT_INPUTS.contains(&(name.as_str(), &*value));
        is_soft.then(|| Mark { effect: Effect::Ignored, span: member.value.span() })
    }));
    let mut words: Vec<String> = Vec::new();
    for input in &inputs {
        let options = input.constant().unwrap_or_default();
        let own = commands::steps(&options, &outer.around).into_iter().flat_map(|step| step.marks);
        marks.extend(own.map(|mark| Mark { effect: mark.effect, span: input.span() }));
        words.extend(options.split_whitespace().map(str::to_owned));
        command.push(' ');
        command.push_str(&options);
    }
    let directory = settings.iter().find(|member| member.name.replace('_', "-") == "working-directory");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let repaired = inputs.iter().filter(|_| repairs(name, &words));
    marks.extend(repaired.map(|input| Mark { effect: Effect::Repaired, span: input.span() }));
    commands::Step {
        text: format!("uses {name}"),
        checks: names_of_checks(&command),
        calls,
        marks,
        span: uses.span(),
        selection: Selection::of_action(name, &words),
        directory: directory
            .and_then(|member| member.value.constant())
            .map(|path| joined("", &path))
            .unwrap_or_default(),
        settings: inputs
            .iter()
            .copied()
            .chain(directory.map(|member| member.value))
            .map(Value::span)
            .collect(),
        ..commands::Step::default()
    }
}

/// Inputs of actions, without dashes, with the values by which their failures count for nothing, or only those of new
/// lines do.
const SOFT_INPUTS: &[(&str, &str)] = &[
    ("allowfailure", "true"),
    ("continueonerror", "true"),
    ("dryrun", "true"),
    ("exitcode", "0"),
    ("exitzero", "true"),
    ("failciiferror", "false"),
    ("failonalert", "false"),
    ("failonerror", "false"),
    ("failonerrors", "false"),
    ("failonfindings", "false"),
    ("ignorefailure", "true"),
    ("onlynewissues", "true"),
    ("softfail", "true"),
    ("warnonly", "true"),
];

/// Actions by the begins of their names, with the commands that they hand their arguments to.
const ACTIONS: &[(&str, &str)] =
    &[("astral-sh/ruff-action", "ruff"), ("golangci/golangci-lint-action", "golangci-lint run")];

/// Returns whether an action runs a linter with words by which it puts right a part of what it finds.
fn repairs(action: &str, words: &[&str]) -> bool {
    let command = ACTIONS.iter().find(|(name, _)| action.starts_with(name));
    command.is_some_and(|(_, command)| repairs_before_it_judges(&format!("{command} {}", words.join(" "))))
}

/// Returns what a job or a step says of all its commands.
fn marks(condition: Option<Condition<'_>>, continue_on_error: Option<Value<'_>>, known: &Known) -> Vec<Mark> {
    let mut marks = Vec::new();
    if let Some(condition) = condition
        && let Some(effect) = known.effect_of(condition)
    {
        marks.push(Mark { effect, span: condition.value.span() });
    }
    if let Some(value) = continue_on_error.filter(|value| is_on(*value, known)) {
        let expressions = value.template().unwrap_or_default().expressions;
        let mut parsed = expressions.iter().filter_map(|embedded| embedded.expression.as_ref());
        // An expression that looks at no context is the same in every run.
        let is_partial =
            parsed.any(|expression| expression.truth() != Some(true) && !expression.paths().is_empty());
        let effect = if is_partial { Effect::Excused } else { Effect::Ignored };
        marks.push(Mark { effect, span: value.span() });
    }
    marks
}

/// Returns whether a value is true, also as an expression that is true whatever its context, that looks at none, or that
/// holds for proposed changes or for most legs of the matrix.
pub(super) fn is_on(value: Value<'_>, known: &Known) -> bool {
    if let Some(flag) = value.flag() {
        return flag;
    }
    let expressions = value.template().unwrap_or_default().expressions;
    !expressions.is_empty()
        && expressions.iter().all(|embedded| {
            let expression = embedded.expression.as_ref();
            expression.is_some_and(|expression| {
                expression.truth() == Some(true)
                    || expression.paths().is_empty()
                    || known.holds_mostly(expression)
            })
        })
}

/// Returns a value that is written out, or that is an expression without any context.
fn constant_of(value: Value<'_>) -> Option<String> {
    if let Some(text) = value.constant() {
        return Some(text.into_owned());
    }
    let template = value.template()?;
    let [embedded] = template.expressions.as_slice() else { return None };
    let is_whole = embedded.span.start == 0 && embedded.span.end == template.text().len();
    let constant = embedded.expression.as_ref().filter(|_| is_whole)?.constant()?;
    Some(constant.to_text().into_owned())
}

/// Returns the variables by which checks look at less.
fn settings(env: &[Member<'_>]) -> Vec<Setting> {
    let settings =
        env.iter().filter_map(|own| Setting::new(own.name, &constant_of(own.value)?, own.value.span()));
    settings.collect()
}

/// Returns the names that every leg of a matrix has a value for.
fn names_of_all_legs(matrix: Node<'_>) -> BTreeSet<String> {
    let own = matrix.entries().map(|entry| entry.key).filter(|key| !matches!(*key, "exclude" | "include"));
    let own: BTreeSet<String> = own.map(str::to_owned).collect();
    if !own.is_empty() {
        return own;
    }
    let included: Vec<Node<'_>> = matrix.get("include").into_iter().flat_map(Node::items).collect();
    let Some(first) = included.first() else { return own };
    let names = first.entries().map(|entry| entry.key);
    let names = names.filter(|name| included.iter().all(|leg| leg.get(name).is_some()));
    names.map(str::to_owned).collect()
}

/// Values of a matrix by name.
fn values_of(matrix: Node<'_>) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in matrix.entries().filter(|entry| entry.key != "exclude") {
        let own = values.entry(entry.key.to_owned()).or_default();
        own.extend(entry.value.texts().into_iter().map(str::to_owned));
        // The members of a value are `matrix.config.name`.
        for member in entry.value.items().flat_map(Node::entries).filter(|_| entry.key != "include") {
            if let Some(text) = member.value.text() {
                let name = format!("{}.{}", entry.key, member.key);
                values.entry(name).or_default().push(text.to_owned());
            }
        }
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
