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
const EVENTS: &[&str] = &["pull_request", "pull_request_target", "merge_group", "workflow_call"];
/// Filters by which an event starts a workflow less often.
const FILTERS: &[&str] = &["branches", "branches-ignore", "paths", "paths-ignore", "types"];
/// Activities for which a pull request starts a workflow that names none.
const USUAL_TYPES: &[&str] = &["opened", "reopened", "synchronize"];
/// Begins of the names of inputs about what is published, kept and shown. Any other one may choose what is judged or how, or whether the action
/// runs at all, as `entrypoint` does.
const HARMLESS: &[&str] = &[
    "artifact-",
    "check-name",
    "comment",
    "fail-on-engine-change",
    "jobs",
    "limit",
    "no-model",
    "open-issue",
    "publish",
    "replies",
    "require-",
    "retention-",
    "since-",
    "suggestions",
    "token",
    "upload-",
];
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
        let mut filters = BTreeMap::new();
        for filter in FILTERS {
            if trigger.options.and_then(|options| options.get(filter)).is_some() {
                filters.insert(*filter, trigger.filter(filter).into_iter().map(str::to_owned).collect());
            }
        }
        Some(Self { name: name.to_owned(), span: trigger.name_span, filters })
    }

    /// Returns whether both are events of pull requests: `pull_request` or `pull_request_target`.
    fn is_kin_of(&self, other: &Self) -> bool {
        [self, other].iter().all(|event| event.name.starts_with("pull_request"))
    }

    /// Returns whether it starts the workflow for less than another one.
    fn is_narrower_than(&self, old: &Self) -> bool {
        let none = BTreeSet::new();
        self.filters.iter().any(|(name, new)| {
            let old = old.filters.get(name).unwrap_or(&none);
            let excludes = name.ends_with("-ignore");
            let is_excluded_anew = new.difference(old).any(|pattern| excludes || pattern.starts_with('!'));
            let usual: BTreeSet<String> = USUAL_TYPES.iter().map(|name| (*name).to_owned()).collect();
            let has_usual = *name == "types" && self.name != "merge_group";
            let wanted = if old.is_empty() && has_usual { &usual } else { old };
            let is_lost = !excludes
                && (wanted.is_empty() && *name != "types"
                    || wanted.iter().any(|pattern| !new.contains(pattern)));
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
    inputs: Vec<(String, Placed)>,
    conditions: Vec<Placed>,
    needs: Vec<Placed>,
    /// Conditions of the jobs that it waits for, and of those that they wait for.
    awaited: Vec<Placed>,
    /// True if it runs whatever became of the jobs that it waits for.
    runs_always: bool,
    /// Place of what lets it fail unseen.
    ignored: Option<Span>,
    events: Vec<Event>,
}

/// A job with the names under which it may report.
struct NamedJob {
    path: String,
    id: String,
    names: Names,
    span: Span,
}

impl NamedJob {
    /// Returns whether it may report under the name of a gate's job.
    fn may_report_as(&self, gate: &Gate) -> bool {
        self.names.may_be(&gate.check)
    }

    /// Returns whether it is the job of a gate: the same one of the same workflow.
    fn is_job_of(&self, gate: &Gate) -> bool {
        gate.path == self.path && gate.id == self.id
    }
}

/// Names under which a job may report.
enum Names {
    Known(Vec<String>),
    /// The text before and behind what is computed.
    Computed {
        before: String,
        behind: String,
    },
}

impl Names {
    fn new(job: &Job<'_>, text: &str) -> Self {
        let Some(name) = job.name else { return Self::Known(vec![job.id.to_owned()]) };
        if let Some(constant) = name.constant() {
            return Self::Known(vec![constant.trim().to_owned()]);
        }
        let template = name.span().of(text).trim_matches(['"', '\'', ' ']);
        let (before, rest) = template.split_once("${{").unwrap_or((template, ""));
        let (inside, behind) = rest.rsplit_once("}}").unwrap_or((rest, ""));
        let values = inside.trim().strip_prefix("matrix.").map(|key| job.matrix_values(key));
        let constants = values
            .filter(|values| !values.is_empty())
            .and_then(|values| values.iter().map(|value| value.constant()).collect::<Option<Vec<_>>>());
        match constants {
            Some(values) => {
                let names = values.iter().map(|value| format!("{before}{value}{behind}").trim().to_owned());
                Self::Known(names.collect())
            }
            None => Self::Computed { before: before.to_owned(), behind: behind.to_owned() },
        }
    }

    fn may_be(&self, name: &str) -> bool {
        match self {
            Self::Known(names) => names.iter().any(|own| own == name),
            Self::Computed { before, behind } => {
                name.strip_prefix(before.as_str()).is_some_and(|rest| rest.ends_with(behind.as_str()))
            }
        }
    }
}

/// Jobs of workflows on one side.
#[derive(Default)]
struct Jobs {
    gates: Vec<Gate>,
    all: Vec<NamedJob>,
    /// Workflows whose text is not to be had: too large, or no UTF-8.
    unread: Vec<String>,
}

impl Jobs {
    fn new(side: Side, paths: &[&str], lookups: &dyn Lookups) -> Self {
        let mut jobs = Self::default();
        for path in paths {
            let Some(text) = lookups.text(side, path) else {
                jobs.unread.push((*path).to_owned());
                continue;
            };
            // Another finding reports a file that cannot be parsed.
            let Ok(document) = Document::parse(Format::Yaml, &text) else { continue };
            let Ok(workflow) = Workflow::parse(&document) else { continue };
            let file = File { path, text: &text, workflow: &workflow };
            for job in &workflow.jobs {
                for (position, step) in job.steps.iter().enumerate() {
                    let gate =
                        action_of(step).and_then(|action| file.gate(job, Some((position, step)), action));
                    jobs.gates.extend(gate);
                }
                let called = job.uses.and_then(|uses| called_gate(uses, side, lookups));
                jobs.gates.extend(called.and_then(|action| file.gate(job, None, action)));
                let (path, id) = ((*path).to_owned(), job.id.to_owned());
                let span = job.name.map_or(job.id_span, Value::span);
                jobs.all.push(NamedJob { path, id, names: Names::new(job, &text), span });
            }
        }
        jobs
    }
}

/// Returns the name under which a job reports.
fn check_name(job: &Job<'_>) -> String {
    job.name.and_then(Value::constant).map_or_else(|| job.id.to_owned(), |name| name.trim().to_owned())
}

/// Returns the name of the gate's action that a step uses.
fn action_of(step: &Step<'_>) -> Option<Placed> {
    let uses = step.uses?;
    let text = uses.constant()?;
    let name = match Reference::parse(&text)? {
        Reference::Remote { name, .. } => name.to_lowercase(),
        Reference::Image(image) => {
            let (host, last) = image.rsplit_once('/').unwrap_or(("", image));
            format!("{host}/{}", last.split(['@', ':']).next()?).to_lowercase()
        }
        Reference::Local(_) => return None,
    };
    is_gate(&name).then(|| Placed { text: name, span: uses.span() })
}

/// Returns the workflow of this repository that a job calls, if that runs the gate.
fn called_gate(uses: Value<'_>, side: Side, lookups: &dyn Lookups) -> Option<Placed> {
    let text = uses.constant()?;
    let path = text.strip_prefix("./")?;
    let callee = lookups.text(side, path)?;
    let document = Document::parse(Format::Yaml, &callee).ok()?;
    let workflow = Workflow::parse(&document).ok()?;
    let runs_gate = workflow.jobs.iter().flat_map(|job| &job.steps).any(|step| action_of(step).is_some());
    runs_gate.then(|| Placed { text: path.to_owned(), span: uses.span() })
}

/// A workflow with its text.
struct File<'f, 'd> {
    path: &'f str,
    text: &'f str,
    workflow: &'f Workflow<'d>,
}

impl File<'_, '_> {
    /// Returns the gate that a step of a job runs, or that the job calls; `None` where it judges nothing that is to be
    /// merged.
    fn gate(&self, job: &Job<'_>, at: Option<(usize, &Step<'_>)>, action: Placed) -> Option<Gate> {
        let events: Vec<Event> = EVENTS.iter().filter_map(|name| Event::new(self.workflow, name)).collect();
        let step = at.map(|(_, step)| step);
        let inputs = self.inputs(job, step);
        let judges = inputs.iter().all(|(name, value)| name != "command" || value.text == "check");
        if events.is_empty() || !judges {
            return None;
        }
        let conditions = [job.condition, step.and_then(|step| step.condition)].into_iter().flatten();
        let conditions = conditions.filter(|one| one.constant() != Some(true));
        let conditions = conditions.map(|condition| self.condition(condition, job, step)).collect();
        let ignored = [job.continue_on_error, step.and_then(|step| step.continue_on_error)];
        let ignored = ignored.into_iter().flatten().find(|one| one.flag() != Some(false)).map(Value::span);
        let runs_always = job.condition.is_some_and(|condition| {
            let text = condition.value.span().of(self.text);
            text.contains("always()") || text.contains("!cancelled()")
        });
        Some(Gate {
            path: self.path.to_owned(),
            id: job.id.to_owned(),
            id_span: job.id_span,
            check: check_name(job),
            matrix: job.strategy.and_then(|strategy| strategy.get("matrix")).map(Value::span),
            before: at.map(|(position, _)| self.before(job, position)).unwrap_or_default(),
            action,
            inputs,
            conditions,
            needs: job.needs.iter().map(|need| placed(*need, self.text)).collect(),
            awaited: self.awaited(job),
            runs_always,
            ignored,
            events,
        })
    }

    /// Returns the inputs that may choose what is judged. An input is a variable of the action's container, which a
    /// variable of the step can set as well.
    fn inputs(&self, job: &Job<'_>, step: Option<&Step<'_>>) -> Vec<(String, Placed)> {
        let given = step.map_or(&job.with, |step| &step.with).iter();
        let given = given.map(|member| (member.name.to_lowercase(), member.value));
        let own = step.map(|step| step.env.as_slice()).unwrap_or_default();
        let variables = self.workflow.env.iter().chain(&job.env).chain(own).filter_map(|member| {
            Some((member.name.to_lowercase().strip_prefix("input_")?.to_owned(), member.value))
        });
        let inputs =
            given.chain(variables).filter(|(name, _)| !HARMLESS.iter().any(|begin| name.starts_with(begin)));
        let inputs = inputs.map(|(name, value)| (name, placed(value, self.text)));
        inputs.filter(|(_, value)| !value.text.is_empty()).collect()
    }

    /// Returns a condition, with the variables that it may read.
    fn condition(&self, condition: Condition<'_>, job: &Job<'_>, step: Option<&Step<'_>>) -> Placed {
        let mut found = placed(condition.value, self.text);
        if found.text.contains("env") {
            let own = step.map(|step| step.env.as_slice()).unwrap_or_default();
            for member in self.workflow.env.iter().chain(&job.env).chain(own) {
                found.text += &format!("\n{}={}", member.name, placed(member.value, self.text).text);
            }
        }
        found
    }

    /// Returns the conditions of the jobs that a job waits for, and of those that they wait for.
    fn awaited(&self, job: &Job<'_>) -> Vec<Placed> {
        let mut found = Vec::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut open: Vec<&Job<'_>> = vec![job];
        while let Some(waiting) = open.pop() {
            for need in waiting.needs.iter().filter_map(|need| need.constant()) {
                let needed = self.workflow.jobs.iter().find(|other| other.id == need);
                let Some(needed) = needed.filter(|_| seen.insert(need.clone().into_owned())) else {
                    continue;
                };
                open.push(needed);
                if let Some(condition) = needed.condition.filter(|one| one.constant() != Some(true)) {
                    let condition = placed(condition.value, self.text);
                    found.push(Placed { text: format!("{need}: {}", condition.text), ..condition });
                }
            }
        }
        found
    }

    /// Returns what runs in a job before its step at a position, and what it runs in and beside. Of an action another
    /// version is the same.
    fn before(&self, job: &Job<'_>, position: usize) -> Vec<Placed> {
        let steps = job.steps[..position].iter().filter_map(|step| self.step_before(step));
        let mut found: Vec<Placed> = steps.collect();
        if !found.is_empty() {
            let shells = [job.defaults.shell, self.workflow.defaults.shell].into_iter().flatten();
            found.extend(shells.map(|shell| self.written(shell)));
            found.extend(self.workflow.env.iter().chain(&job.env).map(|member| {
                let value = placed(member.value, self.text);
                Placed { text: format!("{}={}", member.name, value.text), span: value.span }
            }));
        }
        found.extend(job.container.iter().map(|container| self.written(container.value)));
        found.extend(job.services.iter().map(|service| self.written(service.container.value)));
        found
    }

    fn step_before(&self, step: &Step<'_>) -> Option<Placed> {
        let whole = Placed { text: meaning(step.value, &["uses"]), span: step.value.span() };
        let Some(uses) = step.uses else { return Some(whole) };
        let name = placed(uses, self.text).text;
        let name = name.split('@').next().unwrap_or_default();
        let is_checkout = name.eq_ignore_ascii_case(CHECKOUT);
        (!is_checkout).then(|| Placed { text: format!("{name} {}", whole.text), span: whole.span })
    }

    /// Returns a value with what it says.
    fn written(&self, value: Value<'_>) -> Placed {
        Placed { text: meaning(value, &[]), span: value.span() }
    }
}

/// Returns what a value says, however it is written, without some of its members.
fn meaning(value: Value<'_>, without: &[&str]) -> String {
    if let Some(template) = value.template() {
        return template.text().trim().to_owned();
    }
    let members = value.members().filter(|member| !without.contains(&member.name));
    let mut members: Vec<String> =
        members.map(|member| format!("{}={}", member.name, meaning(member.value, &[]))).collect();
    members.sort();
    let items = value.node().items().map(|item| meaning(Value::new(item), &[]));
    format!("({})", members.into_iter().chain(items).collect::<Vec<_>>().join(" "))
}

/// Returns a value with its place; its text is that of the file where it is computed.
fn placed(value: Value<'_>, text: &str) -> Placed {
    let constant = value.constant().map(|constant| constant.trim().to_owned());
    Placed { text: constant.unwrap_or_else(|| value.span().of(text).trim().to_owned()), span: value.span() }
}

/// Returns the paths on one side of the workflows that a change edits.
fn changed_workflows(changes: &[Change], side: Side) -> Vec<&str> {
    let paths = changes.iter().filter_map(|change| change.path(side));
    paths.filter(|path| is_workflow(&repo_path(path))).collect()
}

/// Compares the workflows of both sides.
pub(super) fn compare(changes: &[Change], lookups: &dyn Lookups) -> Vec<Draft> {
    let old_paths = changed_workflows(changes, Side::Base);
    let new_paths = changed_workflows(changes, Side::Head);
    if old_paths.is_empty() && new_paths.is_empty() {
        return Vec::new();
    }
    let base = Jobs::new(Side::Base, &old_paths, lookups);
    let head = Jobs::new(Side::Head, &new_paths, lookups);
    let files = lookups.files_in(Side::Head, WORKFLOWS).into_iter();
    let all: Vec<String> = files.map(|name| format!("{WORKFLOWS}/{name}")).collect();
    let unchanged = all.iter().map(String::as_str);
    let unchanged: Vec<&str> =
        unchanged.filter(|path| !new_paths.contains(path) && is_workflow(&repo_path(path))).collect();
    let unchanged = Jobs::new(Side::Head, &unchanged, lookups);
    let mut report = Report { changes, lookups, drafts: Vec::new() };
    report.namesakes(&base, &head, &unchanged);
    if !base.gates.is_empty() || !unchanged.gates.is_empty() {
        for path in &head.unread {
            let summary = "workflow cannot be read, so it may report under the name of the gate's job";
            report.add(GATE_DISARMED, Side::Head, path, Span { start: 0, end: 0 }, summary);
        }
    }
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
    gates
        .iter()
        .find(|new| new.check == old.check && new.action.text == old.action.text)
        .or_else(|| gates.iter().find(|new| new.path == old.path && new.id == old.id))
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
            let gates = base.gates.iter().chain(&unchanged.gates);
            let was_there = base.all.iter().any(|old| {
                let is_same = old.path == job.path && old.id == job.id;
                let mut namesakes = gates.clone().filter(|gate| job.may_report_as(gate));
                is_same && namesakes.all(|gate| old.may_report_as(gate))
            });
            let mut others = head.gates.iter().chain(&unchanged.gates);
            let has_other = others.any(|gate| job.may_report_as(gate) && !job.is_job_of(gate));
            // A job that takes the place of a gate is compared with it instead.
            let is_only_name = gates.clone().any(|gate| job.may_report_as(gate))
                && !head.gates.iter().any(|gate| job.is_job_of(gate));
            let is_own = base.gates.iter().any(|gate| job.is_job_of(gate));
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
        if !new.runs_always {
            for condition in new.awaited.iter().filter(|one| !has_text(&old.awaited, one)) {
                let summary = "gate is skipped with a job that it waits for, and counts as passed";
                self.add(GATE_DISARMED, Side::Head, path, condition.span, summary);
            }
            if let Some(need) = new.needs.first().filter(|_| old.runs_always) {
                let summary = "gate no longer runs whatever becomes of the jobs that it waits for";
                self.add(GATE_DISARMED, Side::Head, path, need.span, summary);
            }
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
            let same = new.events.iter().find(|other| other.name == event.name);
            let kin = new.events.iter().find(|other| event.is_kin_of(other));
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
        ("preset", "guarded") | ("mode", "strict") | ("objects", "server") => true,
        ("preset", "default") => before.is_some_and(|before| before.text == "advisory"),
        _ => false,
    }
}
