//! Lists of commit hooks: which hooks go from them, or no longer run.

use std::collections::BTreeSet;

use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::syntax::Span;

use super::guards;
use crate::selection::Selection;
use crate::successors;

/// The list of pre-commit and of prek.
pub(super) const LIST: &str = ".pre-commit-config.yaml";

/// Returns whether a command runs all hooks of the list over all files.
pub(super) fn runs_all(command: &str) -> bool {
    const ACTIONS: &[&str] = &["uses j178/prek-action", "uses pre-commit/action"];
    let words = command.split_whitespace().skip_while(|word| !matches!(*word, "pre-commit" | "prek"));
    let words: Vec<&str> = words.collect();
    let has_all = words.iter().any(|word| matches!(*word, "--all-files" | "-a"));
    let is_whole = words.iter().skip(2).all(|word| word.starts_with("--") || *word == "-a");
    ACTIONS.contains(&command) || words.get(1) == Some(&"run") && has_all && is_whole
}

/// A hook of a list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its id, or its command.
    name: String,
    span: Span,
    /// Place by which it does not run.
    off: Option<Span>,
    /// Settings by which it looks at less than all files.
    limits: Vec<Limit>,
    /// Its arguments, and their place.
    arguments: Selection,
    arguments_span: Option<Span>,
}

/// A setting by which a hook looks at less.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Limit {
    key: &'static str,
    text: String,
    span: Span,
}

/// Settings of pre-commit by which hooks look at less.
const LIMITS: &[&str] = &["exclude", "exclude_types", "files", "types", "types_or"];

impl Entry {
    fn new(name: &str, span: Span, off: Option<Span>) -> Self {
        Self {
            name: name.to_owned(),
            span,
            off,
            limits: Vec::new(),
            arguments: Selection::default(),
            arguments_span: None,
        }
    }

    /// Returns whether it runs a tool that does the work of another, or that one itself, on all files of its kind.
    pub(super) fn covers(&self, check: &str) -> bool {
        let is_limited = self.limits.iter().any(|limit| matches!(limit.key, "exclude" | "files"));
        self.off.is_none() && !is_limited && check != "check" && successors::covers(&self.name, check)
    }

    /// Takes over the settings by which a hook looks at less.
    fn with_limits(mut self, node: Node<'_>) -> Self {
        for key in LIMITS {
            if let Some(value) = node.get(key) {
                self.limits.push(Limit { key, text: value.texts().join(","), span: value.span() });
            }
        }
        if let Some(arguments) = node.get("args") {
            self.arguments = Selection::of_action(&self.name, &arguments.texts());
            self.arguments_span = Some(arguments.span());
        }
        self
    }

    /// Returns the place by which the hook looks at less than it did.
    fn narrowing(&self, old: &Self) -> Option<Span> {
        let gained = self.limits.iter().find(|limit| {
            let before = old.limits.iter().find(|old| old.key == limit.key);
            match before {
                Some(before) => limit.key == "exclude" && gains_parts(&before.text, &limit.text),
                None => !matches!(limit.text.as_str(), "" | "^$") || limit.key.starts_with("files"),
            }
        });
        let has_less = !old.arguments.narrowed_by(&self.arguments).is_empty();
        let arguments = self.arguments_span.or(Some(self.span)).filter(|_| has_less);
        gained.map(|limit| limit.span).or(arguments)
    }
}

/// Returns whether a pattern has alternatives that it did not have.
fn gains_parts(old: &str, new: &str) -> bool {
    let parts = |text: &str| -> BTreeSet<String> {
        text.split(['|', '(', ')']).map(|part| part.trim().to_owned()).collect()
    };
    !parts(new).is_subset(&parts(old))
}

/// A hook that a change takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) side: Side,
    pub(super) span: Span,
}

/// Reads a list of hooks, of pre-commit, lefthook or overcommit.
///
/// # Errors
/// A text that is no YAML.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let root = document.root();
    let mut found = Vec::new();
    // Limits of the list apply to all of its hooks.
    let list = Entry::new("", root.span(), None).with_limits(root);
    if root.get("repos").is_some() && !list.limits.is_empty() {
        found.push(list);
    }
    let skipped = root.at(&["ci", "skip"]);
    for hook in root.get("repos").into_iter().flat_map(Node::items).filter_map(|repo| repo.get("hooks")) {
        for hook in hook.items() {
            let Some(id) = hook.get("id") else { continue };
            let stages = hook.get("stages").or(root.get("default_stages"));
            let off = stages.filter(|stages| is_manual(*stages)).map(Node::span);
            let name = id.text().unwrap_or_default();
            let is_skipped = |list: &Node<'_>| list.texts().contains(&name);
            let entry = hook.get("entry").filter(|entry| {
                guards::is_idle(
                    entry.text().unwrap_or_default().split_whitespace().next().unwrap_or_default(),
                )
            });
            let off = off.or(skipped.filter(is_skipped).map(Node::span)).or(entry.map(Node::span));
            found.push(Entry::new(name, id.span(), off).with_limits(hook));
        }
    }
    for stage in root.entries() {
        let outer = skip(stage.value);
        let commands = ["commands", "scripts"].into_iter().filter_map(|key| stage.value.get(key));
        let commands = commands.flat_map(Node::entries).map(|entry| (entry.key, entry.key_span, entry.value));
        let jobs = stage.value.get("jobs").into_iter().flat_map(Node::items);
        let jobs =
            jobs.map(|job| (job.get("name").and_then(Node::text).unwrap_or_default(), job.span(), job));
        for (name, span, node) in commands.chain(jobs) {
            let run = node.get("run");
            let name = run.and_then(Node::text).unwrap_or(name);
            let span = run.map(Node::span).unwrap_or(span);
            found.push(Entry::new(name, span, outer.or_else(|| skip(node))));
        }
        for hook in stage.value.entries() {
            let enabled = hook.value.get("enabled");
            if let Some(enabled) = enabled {
                let off = if enabled.flag() == Some(false) { Some(enabled.span()) } else { None };
                found.push(Entry::new(hook.key, hook.key_span, off));
            }
        }
    }
    Ok(found)
}

/// Returns the hooks that head no longer runs: the first of those that go, and each that is switched off.
pub(super) fn lost_hooks(base: &[Entry], head: &[Entry]) -> Vec<Lost> {
    let [before, staying] =
        [base, head].map(|entries| entries.iter().map(|entry| entry.name.as_str()).collect::<BTreeSet<_>>());
    let was_on: BTreeSet<&str> =
        base.iter().filter(|entry| entry.off.is_none()).map(|entry| entry.name.as_str()).collect();
    let mut found: Vec<Lost> = Vec::new();
    for entry in head {
        if let Some(span) = entry.off.filter(|_| was_on.contains(entry.name.as_str())) {
            found.push(Lost { side: Side::Head, span });
        }
    }
    let unlimited = Entry::new("", Span::default(), None);
    for entry in head.iter().filter(|entry| entry.off.is_none()) {
        let before = base.iter().find(|old| old.name == entry.name && old.off.is_none());
        let before = before.or(Some(&unlimited).filter(|list| list.name == entry.name && !base.is_empty()));
        if let Some(span) = before.and_then(|old| entry.narrowing(old)) {
            found.push(Lost { side: Side::Head, span });
        }
    }
    let come: BTreeSet<String> = head
        .iter()
        .filter(|entry| entry.off.is_none() && !before.contains(entry.name.as_str()))
        .map(|entry| entry.name.clone())
        .collect();
    let hooks = base.iter().filter(|entry| entry.off.is_none() && !entry.name.is_empty());
    let gone: Vec<&Entry> = hooks.filter(|entry| !staying.contains(entry.name.as_str())).collect();
    // Each hook that comes takes the place of those whose work it does, or else of one.
    let spare = come.iter().filter(|new| !gone.iter().any(|old| successors::covers(new, &old.name))).count();
    let uncovered: Vec<&&Entry> = gone.iter().filter(|old| !successors::cover(&come, &old.name)).collect();
    if uncovered.len() > spare
        && let Some(first) = uncovered.first()
    {
        found.push(Lost { side: Side::Base, span: first.span });
    }
    found
}

/// Returns whether a list of stages is `manual` alone.
fn is_manual(stages: Node<'_>) -> bool {
    let stages = stages.texts();
    !stages.is_empty() && stages.iter().all(|stage| *stage == "manual")
}

/// Returns the `skip: true` of a stage or a command.
fn skip(node: Node<'_>) -> Option<Span> {
    node.get("skip").filter(|skip| skip.flag() == Some(true)).map(Node::span)
}
