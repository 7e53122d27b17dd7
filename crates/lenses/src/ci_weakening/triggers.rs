//! The events that a pipeline runs for, and where a change makes it run for fewer.

use qa_contracts::v1::Side;
use qa_reading::documents::Node;
use qa_reading::syntax::Span;
use qa_reading::workflow::{Value, Workflow};

use crate::pattern::Pattern;

/// The events that a pipeline runs for.
#[derive(Debug, Clone, Default)]
pub(super) struct Triggers {
    events: Vec<Event>,
    /// Events that it would run for by default and does not.
    disabled: Vec<Event>,
    /// False if the pipeline does not name its events.
    is_known: bool,
}

#[derive(Debug, Clone)]
struct Event {
    name: String,
    span: Span,
    filters: Vec<Filter>,
}

/// `branches`, `paths` and the like.
#[derive(Debug, Clone)]
struct Filter {
    name: String,
    span: Span,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    text: String,
    span: Span,
}

impl Entry {
    /// Returns whether it matches all that another one matches.
    fn covers(&self, other: &Self) -> bool {
        let prefix = self.text.strip_suffix("**").or_else(|| self.text.strip_suffix("**/*"));
        self.text == other.text || prefix.is_some_and(|prefix| other.text.starts_with(prefix))
    }
}

/// Changes that a pipeline judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// None: it runs for a schedule, for a release, or by hand.
    Nothing,
    Pushes,
    Proposals,
}

/// An event that a pipeline no longer runs for, or not always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Narrowing {
    pub(super) side: Side,
    pub(super) span: Span,
    pub(super) event: String,
    /// True if the event as a whole goes.
    pub(super) is_removal: bool,
    /// True if the pipeline still runs for the event, but on the code of the base.
    pub(super) is_for_base: bool,
}

/// Events by which changes are judged before or when they come in.
const JUDGING: &[&str] = &[
    "pull_request",
    "pull_request_target",
    "merge_group",
    "push",
    "merge_request_event",
    "merge_requests",
    "external_pull_requests",
];
/// Those of them that stand for a proposed change, each as good as another.
const PROPOSALS: &[&str] = &[
    "pull_request",
    "pull_request_target",
    "merge_request_event",
    "merge_requests",
    "external_pull_requests",
];
/// The default `types` of `pull_request`.
const DEFAULT_TYPES: &[&str] = &["opened", "synchronize", "reopened"];

/// Paths whose change needs no test.
static NO_CODE: Pattern = Pattern::new(
    r"(?i)\.(?:md|mdx|txt|rst|adoc|png|jpe?g|svg|gif|ipynb)\b|doc|readme|licen[cs]e|changelog|changes|news|authors|examples?|samples?|website|\.github|\.vscode|\.idea|\.gitignore|\.gitattributes|\.editorconfig|codeowners|assets|images|img",
);

impl Triggers {
    /// Reads the events of a workflow.
    pub(super) fn of_workflow(workflow: &Workflow<'_>) -> Self {
        let events = workflow.triggers.iter().map(|trigger| Event {
            name: trigger.name.to_owned(),
            span: trigger.name_span,
            filters: trigger.options.map(filters).unwrap_or_default(),
        });
        let events: Vec<Event> = events.collect();
        Self { is_known: !events.is_empty(), events, disabled: Vec::new() }
    }

    /// Reads which rules of GitLab are about merge requests, and what Azure leaves out.
    pub(super) fn of_pipeline(root: Node<'_>) -> Self {
        let mut triggers = Self::default();
        for leaf in root.leaves().unwrap_or_default() {
            let text = leaf.value.text().unwrap_or_default();
            let event = JUDGING[4..].iter().find(|event| text.contains(**event));
            if let Some(name) = event {
                let span = leaf.value.span();
                triggers.events.push(Event { name: (*name).to_owned(), span, filters: Vec::new() });
            }
        }
        for (key, name) in [("pr", "pull_request"), ("trigger", "push")] {
            if let Some(value) = root.get(key).filter(|value| value.text() == Some("none")) {
                let span = value.span();
                triggers.disabled.push(Event { name: name.to_owned(), span, filters: Vec::new() });
            }
        }
        triggers
    }

    /// Describes the events without their places.
    pub(super) fn meaning(&self) -> Vec<String> {
        let mut meaning = Vec::new();
        for event in self.events.iter().chain(&self.disabled) {
            meaning.push(event.name.clone());
            for filter in &event.filters {
                let entries: Vec<&str> = filter.entries.iter().map(|entry| entry.text.as_str()).collect();
                meaning.push(format!("{} {entries:?}", filter.name));
            }
        }
        meaning.push(format!("{} {}", self.is_known, self.disabled.len()));
        meaning
    }

    /// Returns which changes the pipeline judges: all of them where it does not name its events.
    pub(super) fn reach(&self) -> Reach {
        if !self.is_known || self.has_proposals() || self.event("merge_group").is_some() {
            Reach::Proposals
        } else if self.event("push").is_some() {
            Reach::Pushes
        } else {
            Reach::Nothing
        }
    }

    /// Returns whether other workflows call it.
    pub(super) fn is_callable(&self) -> bool {
        self.events.iter().any(|event| event.name == "workflow_call")
    }

    /// Returns whether the pipeline runs for an event, or for another one that is as good.
    pub(super) fn runs_for(&self, name: &str) -> bool {
        !self.is_known && self.events.is_empty()
            || self.event(name).is_some()
            || PROPOSALS.contains(&name) && self.has_proposals()
    }

    fn has_proposals(&self) -> bool {
        PROPOSALS.iter().any(|name| self.event(name).is_some())
    }

    /// Returns whether `pull_request_target`, which runs on the code of the base, is the one event of proposed changes.
    fn is_for_base_alone(&self) -> bool {
        let mut own = PROPOSALS.iter().filter(|name| self.event(name).is_some());
        own.all(|name| *name == "pull_request_target") && self.event("merge_group").is_none()
    }

    /// The event of a name; pushes of tags judge no change, nor does what runs when a proposal is closed.
    fn event(&self, name: &str) -> Option<&Event> {
        let event = self.events.iter().find(|event| event.name == name)?;
        let types = event.filter("types").map(|types| types.entries.as_slice()).unwrap_or_default();
        if !types.is_empty() && types.iter().all(|kind| kind.text == "closed") {
            return None;
        }
        let is_tagged = event.filter("tags").is_some() || event.filter("tags-ignore").is_some();
        let is_branched = event.filter("branches").is_some() || event.filter("branches-ignore").is_some();
        if is_tagged && !is_branched { None } else { Some(event) }
    }

    /// Lists where head runs for less than the base.
    pub(super) fn narrowings(&self, head: &Self) -> Vec<Narrowing> {
        let mut found = Vec::new();
        for name in JUDGING {
            let Some(old) = self.event(name) else { continue };
            let new = head.event(name);
            let is_replaced = PROPOSALS.contains(name) && head.has_proposals()
                || *name == "push" && !self.has_proposals() && head.has_proposals();
            match new {
                None if is_replaced && (*name != "pull_request" || !head.is_for_base_alone()) => {}
                None => found.push(Narrowing {
                    side: Side::Base,
                    span: old.span,
                    event: (*name).to_owned(),
                    is_removal: true,
                    is_for_base: is_replaced,
                }),
                // A gate that judges pull requests need not run for every pushed branch.
                Some(_) if *name == "push" && head.has_proposals() => {}
                Some(new) => found.extend(old.narrowings(new)),
            }
        }
        for event in &head.disabled {
            if !self.disabled.iter().any(|old| old.name == event.name) {
                found.push(Narrowing {
                    side: Side::Head,
                    span: event.span,
                    event: event.name.clone(),
                    is_removal: true,
                    is_for_base: false,
                });
            }
        }
        found
    }
}

fn filters(options: Value<'_>) -> Vec<Filter> {
    let filters = options.members().map(|member| {
        let entries = member.value.scalars().into_iter().filter_map(|value| {
            Some(Entry { text: value.constant()?.into_owned(), span: value.definition() })
        });
        Filter { name: member.name.to_owned(), span: member.name_span, entries: entries.collect() }
    });
    filters.collect()
}

impl Event {
    fn filter(&self, name: &str) -> Option<&Filter> {
        self.filters.iter().find(|filter| filter.name == name)
    }

    fn narrowing(&self, side: Side, span: Span) -> Narrowing {
        Narrowing { side, span, event: self.name.clone(), is_removal: false, is_for_base: false }
    }

    fn narrowings(&self, head: &Self) -> Vec<Narrowing> {
        let mut found = Vec::new();
        for name in ["branches", "paths", "types"] {
            match (self.filter(name), head.filter(name)) {
                (None, Some(new)) if new.leaves_out() => found.push(self.narrowing(Side::Head, new.span)),
                (Some(old), Some(new)) => {
                    let lost = old.lost_entries(new).into_iter();
                    found.extend(lost.map(|entry| self.narrowing(Side::Base, entry.span)));
                }
                (None, Some(_) | None) | (Some(_), None) => {}
            }
        }
        for name in ["branches-ignore", "paths-ignore", "paths"] {
            let Some(new) = head.filter(name) else { continue };
            let old = self.filter(name);
            for entry in &new.entries {
                let is_old = old.is_some_and(|old| old.has_entry(&entry.text));
                let excludes = name != "paths" || old.is_some() && entry.text.starts_with('!');
                if !is_old && excludes && !NO_CODE.is_match(&entry.text) {
                    found.push(self.narrowing(Side::Head, entry.span));
                }
            }
        }
        found
    }
}

impl Filter {
    /// Returns whether the filter, which is new, leaves out what ran before.
    fn leaves_out(&self) -> bool {
        match self.name.as_str() {
            "types" => !DEFAULT_TYPES.iter().all(|name| self.has_entry(name)),
            _ => !self.has_entry("**") && !self.has_entry("**/*"),
        }
    }

    fn has_entry(&self, text: &str) -> bool {
        self.entries.iter().any(|entry| entry.text == text)
    }

    /// Entries that no entry of head stands for.
    fn lost_entries(&self, head: &Self) -> Vec<&Entry> {
        let lost = self.entries.iter().filter(|old| {
            let is_code = self.name != "paths" || !NO_CODE.is_match(&old.text);
            let is_positive = !old.text.starts_with('!');
            is_positive && is_code && !head.entries.iter().any(|new| new.covers(old))
        });
        let lost: Vec<&Entry> = lost.collect();
        let gained = head.entries.iter().filter(|new| !self.has_entry(&new.text)).count();
        // A branch or a directory that is renamed goes under one name and comes under another.
        if self.name != "types" && lost.len() <= gained { Vec::new() } else { lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_reading::documents::{Document, Format};

    fn narrowings(base: &str, head: &str) -> Vec<String> {
        let [old, new] = [base, head].map(|text| {
            let text = format!("{text}\njobs: {{}}\n");
            let document = Document::parse(Format::Yaml, &text).unwrap();
            Triggers::of_workflow(&Workflow::parse(&document).unwrap())
        });
        let narrowings = old.narrowings(&new).into_iter().map(|narrowing| {
            let text = if narrowing.side == Side::Base { base } else { head };
            format!("{:?} {}", narrowing.side, narrowing.span.of(text))
        });
        narrowings.collect()
    }

    #[test]
    fn fewer_events_branches_paths_and_types_are_less() {
        for (base, head, expected) in [
            ("on: [push, pull_request]", "on: {pull_request: , push: {branches: [main]}}", vec![]),
            ("on: pull_request", "on: {pull_request: {branches: [main]}}", vec!["Head branches"]),
            ("on: [push, pull_request]", "on: push", vec!["Base pull_request"]),
            ("on: push", "on: workflow_dispatch", vec!["Base push"]),
            ("on: push", "on: pull_request", vec![]),
            ("on: pull_request", "on: pull_request_target", vec!["Base pull_request"]),
            ("on: pull_request", "on: [pull_request_target, merge_group]", vec![]),
            ("on: pull_request_target", "on: pull_request", vec![]),
            ("on: {push: {tags: [v1]}}", "on: workflow_dispatch", vec![]),
            ("on: pull_request", "on: {pull_request: {types: [labeled]}}", vec!["Head types"]),
            ("on: {pull_request_target: {types: [closed]}}", "on: workflow_dispatch", vec![]),
            ("on: pull_request", "on: {pull_request: {types: closed}}", vec!["Base pull_request"]),
            (
                "on: {pull_request: {branches: [main, next]}}",
                "on: {pull_request: {branches: [main]}}",
                vec!["Base next"],
            ),
            ("on: {pull_request: {branches: [master]}}", "on: {pull_request: {branches: [main]}}", vec![]),
            (
                "on: pull_request",
                "on: {pull_request: {paths-ignore: ['**.md', src/**]}}",
                vec!["Head src/**"],
            ),
        ] {
            assert_eq!(narrowings(base, head), expected, "{base} -> {head}");
        }
    }
}
