//! Compares the jobs that run the gate: whether one is gone, runs less often, or is told what to judge.

use std::collections::{BTreeMap, BTreeSet};

use super::GATE_DISARMED;
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
const CHOOSING: &[&str] = &["base", "command", "head", "lenses", "mode", "preset", "working-directory"];

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
    /// The action, without its version.
    action: Placed,
    inputs: Vec<(&'static str, Placed)>,
    conditions: Vec<Placed>,
    needs: Vec<Placed>,
    /// Place of what lets it fail unseen.
    ignored: Option<Span>,
    events: Vec<Event>,
}

/// A job that does not run the gate.
struct OtherJob {
    path: String,
    check: String,
    span: Span,
}

/// Jobs of the workflows that a change touches, on one side.
#[derive(Default)]
struct Jobs {
    gates: Vec<Gate>,
    others: Vec<OtherJob>,
}

impl Jobs {
    fn new(side: Side, changes: &[Change], lookups: &dyn Lookups) -> Self {
        let mut jobs = Self::default();
        for path in changes.iter().filter_map(|change| change.path(side)) {
            if !is_workflow(&repo_path(path)) {
                continue;
            }
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
            let steps: Vec<&Step<'_>> = job.steps.iter().filter(|step| action_of(step).is_some()).collect();
            for step in &steps {
                self.gates.extend(gate(path, text, workflow, job, step));
            }
            if steps.is_empty() {
                self.others.push(OtherJob { path: path.to_owned(), check, span: job.id_span });
            }
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
    let inputs: Vec<(&'static str, Placed)> = CHOOSING
        .iter()
        .filter_map(|name| Some((*name, placed(step.input(name)?, text))))
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
        action: action_of(step)?,
        inputs,
        conditions: conditions.map(|condition| placed(condition.value, text)).collect(),
        // A job with a condition of its own may run whatever became of those it waits for.
        needs: job.needs.iter().map(|need| placed(*need, text)).collect(),
        ignored: ignored.map(Value::span),
        events,
    })
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
    let base = Jobs::new(Side::Base, changes, lookups);
    if base.gates.is_empty() {
        return Vec::new();
    }
    let head = Jobs::new(Side::Head, changes, lookups);
    let mut report = Report { changes, lookups, drafts: Vec::new() };
    for old in &base.gates {
        let Some(new) = partner(old, &head.gates) else {
            report.add(Side::Base, &old.path, old.action.span, "job that runs the gate is removed");
            continue;
        };
        report.compare(old, new);
        let taken = head.others.iter().find(|other| other.check == old.check);
        let was_there = base.others.iter().any(|other| other.check == old.check);
        if let Some(other) = taken.filter(|_| !was_there) {
            let summary = "another job reports under the name of the gate's job";
            report.add(Side::Head, &other.path, other.span, summary);
        }
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
    fn compare(&mut self, old: &Gate, new: &Gate) {
        let path = &new.path;
        if old.action.text != new.action.text {
            self.add(Side::Head, path, new.action.span, "gate is an action of another repository");
        }
        if old.check != new.check {
            let summary = "job that runs the gate reports under another name";
            self.add(Side::Head, path, new.id_span, summary);
        }
        for (name, value) in &new.inputs {
            let before = old.inputs.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            if before.is_none_or(|before| before.text != value.text) && !is_stricter(name, value, before) {
                self.add(Side::Head, path, value.span, "input of the gate chooses what is judged or how");
            }
        }
        for (_, value) in
            old.inputs.iter().filter(|(name, _)| !new.inputs.iter().any(|(other, _)| other == name))
        {
            self.add(Side::Base, &old.path, value.span, "input of the gate is removed");
        }
        for condition in new.conditions.iter().filter(|one| !has_text(&old.conditions, one)) {
            self.add(Side::Head, path, condition.span, "gate runs under a condition only");
        }
        for need in new.needs.iter().filter(|one| !has_text(&old.needs, one)) {
            let summary = "gate is skipped with a job that it waits for, and counts as passed";
            self.add(Side::Head, path, need.span, summary);
        }
        if let Some(span) = new.ignored.filter(|_| old.ignored.is_none()) {
            self.add(Side::Head, path, span, "failure of the gate is ignored");
        }
        for event in &old.events {
            let is_pull_request = |name: &str| name.starts_with("pull_request");
            let same = new.events.iter().find(|other| other.name == event.name);
            let kin =
                new.events.iter().find(|other| is_pull_request(&other.name) && is_pull_request(&event.name));
            match same.or(kin) {
                None => self.add(Side::Base, &old.path, event.span, "gate no longer runs for this event"),
                Some(other) if other.is_narrower_than(event) => {
                    self.add(Side::Head, path, other.span, "gate no longer runs for every change");
                }
                Some(_) => {}
            }
        }
    }

    /// Reports a place, or the nearest changed line where it is on none.
    fn add(&mut self, side: Side, path: &str, span: Span, summary: &str) {
        let Some(change) = self.changes.iter().find(|change| change.path(side) == Some(path)) else { return };
        let draft = change
            .on_line(GATE_DISARMED, side, Some(span), summary, self.lookups)
            .unwrap_or_else(|| change.on_any_line(GATE_DISARMED, side, summary, self.lookups));
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
