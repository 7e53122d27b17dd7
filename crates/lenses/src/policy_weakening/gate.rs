//! Compares the jobs that run the gate: whether one is gone, runs less often, or is told what to judge.

use std::collections::{BTreeMap, BTreeSet};

use super::{GATE_DISARMED, GATE_PRECEDED};
use crate::changes::{Change, repo_path};
use crate::contract::{Draft, Lookups};
use crate::is_gate;
use crate::workflows::model::Kind;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Condition, Job, Reference, Step, Value, Workflow};

/// Events for which a gate judges what is to be merged.
const EVENTS: &[&str] = &["pull_request", "pull_request_target", "merge_group"];
/// Filters by which an event starts a workflow less often.
const FILTERS: &[&str] = &["branches", "branches-ignore", "paths", "paths-ignore", "types"];
/// Activities for which a pull request starts a workflow that names none.
const USUAL_TYPES: &[&str] = &["opened", "reopened", "synchronize"];
/// Inputs that choose what is judged, or how.
const CHOOSING: &[&str] =
    &["base", "command", "head", "lenses", "mode", "parts", "preset", "shard", "shards", "working-directory"];
/// Directory of the workflows.
const WORKFLOWS: &str = ".github/workflows";
/// Action that only gets the commits.
const CHECKOUT: &str = "actions/checkout";

/// Returns whether a path is that of a workflow.
pub(super) fn is_workflow(path: &RepoPath) -> bool {
    Kind::of(path) == Some(Kind::Workflow)
}

/// A text with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    text: String,
    span: Span,
}

/// An event with the filters that narrow it.
struct Event {
    name: String,
    span: Span,
    /// Patterns of each filter that is there.
    filters: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Event {
    fn new(workflow: &Workflow<'_>, name: &str) -> Option<Self> {
        let trigger = workflow.trigger(name)?;
        let filters = FILTERS.iter().map(|filter| {
            let patterns = trigger.filter(filter).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
            (*filter, patterns)
        });
        let filters = filters.filter(|(_, patterns)| !patterns.is_empty()).collect();
        Some(Self { name: name.to_owned(), span: trigger.name_span, filters })
    }

    /// Returns whether it starts the workflow for less than another one.
    fn is_narrower_than(&self, old: &Self) -> bool {
        let none = BTreeSet::new();
        self.filters.iter().any(|(name, new)| {
            let old = old.filters.get(name).unwrap_or(&none);
            let excludes = |pattern: &&String| name.ends_with("-ignore") || pattern.starts_with('!');
            let is_excluded_anew = new.iter().filter(excludes).any(|pattern| !old.contains(pattern));
            let usual: BTreeSet<String> = USUAL_TYPES.iter().map(|name| (*name).to_owned()).collect();
            let wanted = if old.is_empty() && *name == "types" { &usual } else { old };
            let includes = !name.ends_with("-ignore");
            let is_lost =
                includes && (wanted.is_empty() || wanted.iter().any(|pattern| !new.contains(pattern)));
            is_excluded_anew || is_lost
        })
    }
}

/// A job that runs the gate.
struct Gate {
    path: String,
    id: String,
    id_span: Span,
    /// The name under which it reports.
    check: String,
    /// Place of the matrix, which makes several names of one.
    matrix: Option<Span>,
    /// Steps of the job before it but for the checkout, and its container: whatever can change what it finds.
    before: Vec<Placed>,
    /// The action, without its version.
    action: Placed,
    inputs: Vec<(&'static str, Placed)>,
    conditions: Vec<Placed>,
    needs: Vec<Placed>,
    /// Place of what lets it fail unseen.
    ignored: Option<Span>,
    events: Vec<Event>,
}

/// A job with the name under which it reports.
struct NamedJob {
    path: String,
    id: String,
    check: String,
    span: Span,
}

/// Jobs of workflows on one side.
#[derive(Default)]
struct Jobs {
    gates: Vec<Gate>,
    all: Vec<NamedJob>,
}

impl Jobs {
    fn new(side: Side, paths: &[&str], lookups: &dyn Lookups) -> Self {
        let mut jobs = Self::default();
        for path in paths {
            let Some(text) = lookups.text(side, path) else { continue };
            let Ok(document) = Document::parse(Format::Yaml, &text) else { continue };
            let Ok(workflow) = Workflow::parse(&document) else { continue };
            jobs.add(path, &text, &workflow);
        }
        jobs
    }

    fn add(&mut self, path: &str, text: &str, workflow: &Workflow<'_>) {
        for job in &workflow.jobs {
            let check = check_name(job);
            for (position, step) in job.steps.iter().enumerate() {
                let gate = gate(path, text, workflow, job, step);
                self.gates.extend(gate.map(|gate| Gate { before: before(text, job, position), ..gate }));
            }
            let (path, id) = (path.to_owned(), job.id.to_owned());
            self.all.push(NamedJob { path, id, check, span: job.id_span });
        }
    }
}

/// Returns the name under which a job reports.
fn check_name(job: &Job<'_>) -> String {
    job.name.and_then(Value::constant).map_or_else(|| job.id.to_owned(), |name| name.into_owned())
}

/// Returns the name of the gate's action that a step uses.
fn action_of(step: &Step<'_>) -> Option<Placed> {
    let uses = step.uses?;
    let text = uses.constant()?;
    let name = match Reference::parse(&text)? {
        Reference::Remote { name, .. } => name,
        Reference::Image(image) => image.split(['@', ':']).next()?,
        Reference::Local(_) => return None,
    };
    is_gate(name).then(|| Placed { text: name.to_lowercase(), span: uses.span() })
}

fn gate(path: &str, text: &str, workflow: &Workflow<'_>, job: &Job<'_>, step: &Step<'_>) -> Option<Gate> {
    let events: Vec<Event> = EVENTS.iter().filter_map(|name| Event::new(workflow, name)).collect();
    // An input is a variable of the action's container, which a variable of the step can set as well.
    let variables = [&workflow.env, &job.env, &step.env].into_iter().flatten();
    let of_variables = variables.filter_map(|member| {
        let name = CHOOSING.iter().find(|name| member.name.eq_ignore_ascii_case(&format!("input_{name}")))?;
        Some((*name, placed(member.value, text)))
    });
    let inputs: Vec<(&'static str, Placed)> = CHOOSING
        .iter()
        .filter_map(|name| Some((*name, placed(step.input(name)?, text))))
        .chain(of_variables)
        .filter(|(_, value)| !value.text.is_empty())
        .collect();
    let judges = inputs.iter().all(|(name, value)| *name != "command" || value.text == "check");
    if events.is_empty() || !judges {
        return None;
    }
    let conditions = [job.condition, step.condition].into_iter().flatten().filter(|one| can_be_false(*one));
    let is_on = |value: &Value<'_>| value.flag() != Some(false);
    let ignored = [job.continue_on_error, step.continue_on_error].into_iter().flatten().find(is_on);
    Some(Gate {
        path: path.to_owned(),
        id: job.id.to_owned(),
        id_span: job.id_span,
        check: check_name(job),
        matrix: job.strategy.and_then(|strategy| strategy.get("matrix")).map(Value::span),
        before: Vec::new(),
        action: action_of(step)?,
        inputs,
        conditions: conditions.map(|condition| placed(condition.value, text)).collect(),
        // A job with a condition of its own may run whatever became of those it waits for.
        needs: job.needs.iter().map(|need| placed(*need, text)).collect(),
        ignored: ignored.map(Value::span),
        events,
    })
}

/// Returns what runs in a job before its step at a position, and the container that the steps run in. A step that uses an
/// action is known by its name, so that another version of it is the same.
fn before(text: &str, job: &Job<'_>, position: usize) -> Vec<Placed> {
    let container = job.container.iter().filter_map(|container| container.image);
    let container = container.map(|image| placed(image, text));
    let steps = job.steps[..position].iter().filter_map(|step| {
        let Some(uses) = step.uses else { return Some(placed(step.value, text)) };
        let whole = placed(uses, text);
        let name = whole.text.split('@').next().unwrap_or_default().to_lowercase();
        (name != CHECKOUT).then_some(Placed { text: name, span: whole.span })
    });
    steps.chain(container).collect()
}

fn can_be_false(condition: Condition<'_>) -> bool {
    condition.constant() != Some(true)
}

/// Returns a value with its place; its text is that of the file where it is computed.
fn placed(value: Value<'_>, text: &str) -> Placed {
    let constant = value.constant().map(|constant| constant.trim().to_owned());
    Placed { text: constant.unwrap_or_else(|| value.span().of(text).trim().to_owned()), span: value.span() }
}

/// Compares the workflows of both sides.
pub(super) fn compare(changes: &[Change], lookups: &dyn Lookups) -> Vec<Draft> {
    let changed = |side: Side| -> Vec<&str> {
        let paths = changes.iter().filter_map(|change| change.path(side));
        paths.filter(|path| is_workflow(&repo_path(path))).collect()
    };
    let (old_paths, new_paths) = (changed(Side::Base), changed(Side::Head));
    if old_paths.is_empty() && new_paths.is_empty() {
        return Vec::new();
    }
    let base = Jobs::new(Side::Base, &old_paths, lookups);
    let head = Jobs::new(Side::Head, &new_paths, lookups);
    let files = lookups.files_in(Side::Head, WORKFLOWS).into_iter();
    let unchanged: Vec<String> = files.map(|name| format!("{WORKFLOWS}/{name}")).collect();
    let unchanged: Vec<&str> = unchanged.iter().map(String::as_str).collect();
    let unchanged: Vec<&str> = unchanged
        .into_iter()
        .filter(|path| !new_paths.contains(path) && is_workflow(&repo_path(path)))
        .collect();
    let unchanged = Jobs::new(Side::Head, &unchanged, lookups);
    let mut report = Report { changes, lookups, drafts: Vec::new() };
    report.namesakes(&base, &head, &unchanged);
    for old in &base.gates {
        let Some(new) = partner(old, &head.gates) else {
            report.add(
                GATE_DISARMED,
                Side::Base,
                &old.path,
                old.action.span,
                "job that runs the gate is removed",
            );
            continue;
        };
        report.compare(old, new);
    }
    report.drafts
}

/// Returns the job at head that is the same as one at the base, closest first.
fn partner<'g>(old: &Gate, gates: &'g [Gate]) -> Option<&'g Gate> {
    let is_same = |new: &&Gate| new.check == old.check && new.action.text == old.action.text;
    let is_at_place = |new: &&Gate| new.path == old.path && new.id == old.id;
    gates
        .iter()
        .find(is_same)
        .or_else(|| gates.iter().find(is_at_place))
        .or_else(|| gates.iter().find(|new| new.check == old.check))
        .or_else(|| gates.iter().find(|new| new.action.text == old.action.text))
}

struct Report<'a> {
    changes: &'a [Change],
    lookups: &'a dyn Lookups,
    drafts: Vec<Draft>,
}

impl Report<'_> {
    /// Reports jobs that get the name of a gate's job while that is there as well: either of them makes the check green.
    fn namesakes(&mut self, base: &Jobs, head: &Jobs, unchanged: &Jobs) {
        for job in &head.all {
            let is_name = |gate: &&Gate| gate.check == job.check;
            let is_itself = |gate: &Gate| gate.path == job.path && gate.id == job.id;
            let was_there = base.all.iter().any(|old| old.path == job.path && old.check == job.check);
            let others = head.gates.iter().chain(&unchanged.gates).filter(is_name);
            let has_other = others.clone().any(|gate| !is_itself(gate));
            // A job that takes the place of a gate is compared with it instead.
            let is_only_name = base.gates.iter().chain(&unchanged.gates).any(|gate| gate.check == job.check)
                && !head.gates.iter().any(is_itself);
            let is_own = base.gates.iter().any(|gate| gate.path == job.path && gate.id == job.id);
            if !was_there && (has_other || is_only_name && !is_own) {
                let summary = "another job reports under the name of the gate's job";
                self.add(GATE_DISARMED, Side::Head, &job.path, job.span, summary);
            }
        }
    }

    fn compare(&mut self, old: &Gate, new: &Gate) {
        let path = &new.path;
        if old.action.text != new.action.text {
            self.add(
                GATE_DISARMED,
                Side::Head,
                path,
                new.action.span,
                "gate is an action of another repository",
            );
        }
        if old.check != new.check {
            let summary = "job that runs the gate reports under another name";
            self.add(GATE_DISARMED, Side::Head, path, new.id_span, summary);
        }
        for (name, value) in &new.inputs {
            let before = old.inputs.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            if before.is_none_or(|before| before.text != value.text) && !is_stricter(name, value, before) {
                self.add(
                    GATE_DISARMED,
                    Side::Head,
                    path,
                    value.span,
                    "input of the gate chooses what is judged or how",
                );
            }
        }
        for (_, value) in
            old.inputs.iter().filter(|(name, _)| !new.inputs.iter().any(|(other, _)| other == name))
        {
            self.add(GATE_DISARMED, Side::Base, &old.path, value.span, "input of the gate is removed");
        }
        for condition in new.conditions.iter().filter(|one| !has_text(&old.conditions, one)) {
            self.add(GATE_DISARMED, Side::Head, path, condition.span, "gate runs under a condition only");
        }
        for need in new.needs.iter().filter(|one| !has_text(&old.needs, one)) {
            let summary = "gate is skipped with a job that it waits for, and counts as passed";
            self.add(GATE_DISARMED, Side::Head, path, need.span, summary);
        }
        if let Some(span) = new.matrix.filter(|_| old.matrix.is_none()) {
            let summary = "job that runs the gate reports under several names";
            self.add(GATE_DISARMED, Side::Head, path, span, summary);
        }
        for step in new.before.iter().filter(|one| !has_text(&old.before, one)) {
            let summary = "what runs before the gate in its job can change what it finds";
            self.add(GATE_PRECEDED, Side::Head, path, step.span, summary);
        }
        if let Some(span) = new.ignored.filter(|_| old.ignored.is_none()) {
            self.add(GATE_DISARMED, Side::Head, path, span, "failure of the gate is ignored");
        }
        for event in &old.events {
            let is_pull_request = |name: &str| name.starts_with("pull_request");
            let same = new.events.iter().find(|other| other.name == event.name);
            let kin =
                new.events.iter().find(|other| is_pull_request(&other.name) && is_pull_request(&event.name));
            match same.or(kin) {
                None => self.add(
                    GATE_DISARMED,
                    Side::Base,
                    &old.path,
                    event.span,
                    "gate no longer runs for this event",
                ),
                Some(other) if other.is_narrower_than(event) => {
                    self.add(
                        GATE_DISARMED,
                        Side::Head,
                        path,
                        other.span,
                        "gate no longer runs for every change",
                    );
                }
                Some(_) => {}
            }
        }
    }

    /// Reports a place, or the nearest changed line where it is on none.
    fn add(&mut self, rule: &'static str, side: Side, path: &str, span: Span, summary: &str) {
        let Some(change) = self.changes.iter().find(|change| change.path(side) == Some(path)) else { return };
        let draft = change
            .on_line(rule, side, Some(span), summary, self.lookups)
            .unwrap_or_else(|| change.on_any_line(rule, side, summary, self.lookups));
        let is_known = self
            .drafts
            .iter()
            .any(|other| other.summary == draft.summary && other.start_line == draft.start_line);
        if !is_known {
            self.drafts.push(draft);
        }
    }
}

fn has_text(all: &[Placed], one: &Placed) -> bool {
    all.iter().any(|other| other.text == one.text)
}

/// Returns whether an input asks for more than before, whatever the policy says.
fn is_stricter(name: &str, value: &Placed, before: Option<&Placed>) -> bool {
    match (name, value.text.as_str()) {
        ("preset", "guarded") | ("mode", "strict") => true,
        ("preset", "default") => before.is_some_and(|before| before.text == "advisory"),
        _ => false,
    }
}
