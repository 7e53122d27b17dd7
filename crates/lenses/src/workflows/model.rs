//! A workflow or an action as the rules see it: the steps that can run, with the variables around them.

use std::borrow::Cow;

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, ChangedFile};
use qa_reading::documents::{Document, Format, ReadError};
use qa_reading::shell::{Command, Surrounding, Word};
use qa_reading::syntax::Span;
use qa_reading::workflow::{
    Action, Condition, Embedded, Expression, Job, Member, ParsedRun, Path, Run, Step, Template, Value,
    Workflow,
};

use crate::contract::Need;

/// Globs of the files that the platform executes.
pub(crate) const FILES: &[&str] = &[
    ".github/workflows/*.yml",
    ".github/workflows/*.yaml",
    ".github/workflows/*.md",
    "**/action.yml",
    "**/action.yaml",
];

/// Kind of a file that the platform executes, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Workflow,
    Agentic,
    Action,
}

impl Kind {
    pub(crate) fn of(path: &RepoPath) -> Option<Self> {
        if matches!(path.file_name(), b"action.yml" | b"action.yaml") && !is_beside_workflows(path) {
            return Some(Self::Action);
        }
        let name = path.file_name();
        match is_beside_workflows(path) {
            true if name.ends_with(b".yml") || name.ends_with(b".yaml") => Some(Self::Workflow),
            true if name.ends_with(b".md") => Some(Self::Agentic),
            _ => None,
        }
    }

    /// Requests the whole of a file that the platform executes.
    pub(crate) fn need(file: &ChangedFile) -> Need {
        let looks = file.kind != ChangeKind::Deleted && Self::of(&file.path).is_some();
        if looks { Need::WholeFile } else { Need::Nothing }
    }

    /// Returns the part of a file that is YAML.
    pub(crate) fn document(self, text: &str) -> Result<Document<'_>, ReadError> {
        let end = match self {
            Self::Workflow | Self::Action => text.len(),
            Self::Agentic => front_matter(text),
        };
        Document::parse(Format::Yaml, &text[..end])
    }
}

fn is_beside_workflows(path: &RepoPath) -> bool {
    path.as_bytes().strip_prefix(b".github/workflows/").is_some_and(|name| !name.contains(&b'/'))
}

/// Length of the front matter of a Markdown file, without the line that ends it; 0 for a file that has none.
pub(crate) fn front_matter(text: &str) -> usize {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_mark = line.trim_end() == "---";
        match number {
            0 if !is_mark => return 0,
            0 => {}
            _ if is_mark => return at,
            _ => {}
        }
        at += line.len();
    }
    0
}

/// A file that the platform executes.
#[derive(Debug)]
pub(crate) enum Model<'d> {
    Workflow(Workflow<'d>),
    /// Front matter of a Markdown file that is compiled to a workflow.
    Agentic(Workflow<'d>),
    Action(Action<'d>),
    /// An `action.yml` of something else.
    Unrelated,
}

/// Steps that run one after another on one machine.
#[derive(Debug)]
pub(crate) struct Group<'a, 'd> {
    /// The job of the steps; an action has none.
    pub(crate) job: Option<&'a Job<'d>>,
    pub(crate) steps: Vec<&'a Step<'d>>,
    /// Variables of the workflow and of the job.
    env: Vec<&'a Member<'d>>,
}

/// Variables that a step sees; those of the step come last.
#[derive(Debug)]
pub(crate) struct Scope<'a, 'd> {
    env: Vec<&'a Member<'d>>,
}

impl<'d> Model<'d> {
    /// Returns whether it is a workflow that an event starts.
    pub(crate) fn reacts_to(&self, event: &str) -> bool {
        self.workflow().is_some_and(|workflow| workflow.trigger(event).is_some())
    }

    /// Parses a file by its kind.
    ///
    /// # Errors
    /// Returns an error for a file that GitHub refuses.
    pub(crate) fn parse(
        kind: Kind,
        document: &'d Result<Document<'d>, ReadError>,
    ) -> Result<Self, ReadError> {
        let document = match document {
            Ok(document) => document,
            // A note beside workflows may begin with anything.
            Err(_) if kind == Kind::Agentic => return Ok(Self::Unrelated),
            Err(error) => return Err(error.clone()),
        };
        let model = match kind {
            Kind::Workflow => Self::Workflow(Workflow::parse(document)?),
            // Other notes lie beside workflows, and what the compiler refuses never runs.
            Kind::Agentic => Workflow::parse_agentic(document).map_or(Self::Unrelated, Self::Agentic),
            Kind::Action => Action::parse(document)?.map_or(Self::Unrelated, Self::Action),
        };
        let has_merge_keys = document.text().contains("<<:");
        match document.shadowed().first() {
            // Members that merge keys bring may be replaced; no others.
            Some(shadowed) if !has_merge_keys && !matches!(model, Self::Unrelated) => {
                let message = "a key is given twice".to_owned();
                Err(ReadError::Syntax { message, at: shadowed.entry.key_span.start })
            }
            Some(_) | None => Ok(model),
        }
    }

    pub(crate) fn workflow(&self) -> Option<&Workflow<'d>> {
        match self {
            Self::Workflow(workflow) | Self::Agentic(workflow) => Some(workflow),
            Self::Action(_) | Self::Unrelated => None,
        }
    }

    /// Returns the jobs and steps that no constant condition switches off.
    pub(crate) fn groups(&self) -> Vec<Group<'_, 'd>> {
        match self {
            Self::Workflow(workflow) | Self::Agentic(workflow) => {
                let jobs = workflow.jobs.iter().filter(|job| can_run(job.condition));
                jobs.map(|job| Group {
                    job: Some(job),
                    steps: running(&job.steps),
                    env: workflow.env.iter().chain(&job.env).collect(),
                })
                .collect()
            }
            Self::Action(action) => {
                vec![Group { job: None, steps: running(&action.steps), env: Vec::new() }]
            }
            Self::Unrelated => Vec::new(),
        }
    }
}

fn running<'a, 'd>(steps: &'a [Step<'d>]) -> Vec<&'a Step<'d>> {
    steps.iter().filter(|step| can_run(step.condition)).collect()
}

fn can_run(condition: Option<Condition<'_>>) -> bool {
    condition.and_then(Condition::constant) != Some(false)
}

impl<'a, 'd> Group<'a, 'd> {
    /// Returns the variables that a step sees.
    pub(crate) fn scope(&self, step: &'a Step<'d>) -> Scope<'a, 'd> {
        let mut env = self.env.clone();
        env.extend(&step.env);
        Scope { env }
    }
}

impl Scope<'_, '_> {
    /// Returns the paths that an expression takes its text from; those of a variable in its place.
    pub(crate) fn sources(&self, expression: &Expression) -> Vec<Path> {
        let mut found = Vec::new();
        for path in expression.sources() {
            match path.name(0) {
                Some(name) if path.context == "env" => found.extend(self.variable(name)),
                Some(_) | None => found.push(path.clone()),
            }
        }
        found
    }

    /// Returns the paths that a variable takes its text from.
    pub(crate) fn variable(&self, name: &str) -> Vec<Path> {
        let member = self.env.iter().rev().find(|member| member.name.eq_ignore_ascii_case(name));
        let template = member.and_then(|member| member.value.template()).unwrap_or_default();
        let expressions = template.expressions.iter().filter_map(|embedded| embedded.expression.as_ref());
        expressions.flat_map(|expression| expression.sources().into_iter().cloned()).collect()
    }

    /// Returns the paths that a word of a script takes its text from, by expressions and by variables.
    pub(crate) fn word_sources(&self, parsed: &ParsedRun, word: &Word) -> Vec<Path> {
        let mut found = Vec::new();
        for expansion in &word.expansions {
            let text = expansion.of(parsed.template.text());
            if let Some(expression) = expression_at(&parsed.template, *expansion) {
                found.extend(self.sources(expression));
            } else if let Some(name) = variable_name(text) {
                found.extend(self.variable(name));
            }
        }
        found
    }
}

fn expression_at(template: &Template, span: Span) -> Option<&Expression> {
    let embedded = template.expressions.iter().find(|embedded| embedded.span == span)?;
    embedded.expression.as_ref()
}

/// Name in `$NAME` or `${NAME…}`.
pub(crate) fn variable_name(expansion: &str) -> Option<&str> {
    let name = expansion.strip_prefix('$')?.trim_start_matches('{');
    let end = name.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// Returns whether a step uses an action, at any version.
pub(crate) fn uses_action(step: &Step<'_>, name: &str) -> bool {
    action_of(step).is_some_and(|own| own.eq_ignore_ascii_case(name))
}

/// Name of the action that a step uses.
pub(crate) fn action_of(step: &Step<'_>) -> Option<String> {
    let uses = step.uses?.constant()?;
    let name = uses.split('@').next().unwrap_or_default();
    Some(name.to_owned())
}

/// Returns the text of a value, expressions as they are written.
pub(crate) fn text_of(value: Value<'_>) -> String {
    value.template().map(|template| template.text().to_owned()).unwrap_or_default()
}

/// Returns the texts that a value may come to: its own, those of the matrix that it names, and those that an expression
/// chooses from. What an expression takes from elsewhere is not known and left out.
pub(crate) fn values_of(value: Value<'_>, job: Option<&Job<'_>>) -> Vec<String> {
    let template = value.template().unwrap_or_default();
    let [Embedded { span, expression: Some(expression) }] = &template.expressions[..] else {
        return vec![template.text().to_owned()];
    };
    if span.of(template.text()).len() != template.text().trim().len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for leaf in expression.leaves() {
        match leaf {
            Expression::Literal(literal) => found.push(literal.to_text().into_owned()),
            Expression::Path(path) if path.context == "matrix" => {
                let values = path.name(0).zip(job).map(|(name, job)| job.matrix_values(name));
                found.extend(
                    values.unwrap_or_default().into_iter().filter_map(Value::constant).map(Cow::into_owned),
                );
            }
            Expression::Path(_) | Expression::Part { .. } | Expression::Not(_) => {}
            Expression::Call { .. } | Expression::Binary { .. } => {}
        }
    }
    found
}

/// Returns the scripts of steps, with their position among the steps.
pub(crate) fn runs<'a, 'd>(group: &Group<'a, 'd>) -> impl Iterator<Item = (usize, Run<'d>)> + use<'a, 'd> {
    let runs: Vec<_> =
        group.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.run?))).collect();
    runs.into_iter()
}

/// Places of the pipelines around a command.
pub(crate) fn pipelines_of(parsed: &ParsedRun, command: &Command) -> Vec<Span> {
    let surroundings = parsed.script.surroundings(command);
    let pipelines =
        surroundings.filter(|(surrounding, _)| matches!(surrounding, Surrounding::Pipeline { .. }));
    pipelines.map(|(_, span)| span).collect()
}
