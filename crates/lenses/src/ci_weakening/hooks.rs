//! Lists of commit hooks: which hooks go from them, or no longer run.

use std::collections::BTreeSet;

use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::syntax::Span;

use crate::successors;

/// A hook of a list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its id, or its command.
    name: String,
    span: Span,
    /// Place by which it does not run.
    off: Option<Span>,
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
    for hook in root.get("repos").into_iter().flat_map(Node::items).filter_map(|repo| repo.get("hooks")) {
        for hook in hook.items() {
            let Some(id) = hook.get("id") else { continue };
            let stages = hook.get("stages").or(root.get("default_stages"));
            let off = stages.filter(|stages| is_manual(*stages)).map(Node::span);
            found.push(Entry { name: id.text().unwrap_or_default().to_owned(), span: id.span(), off });
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
            let name = run.and_then(Node::text).unwrap_or(name).to_owned();
            let span = run.map(Node::span).unwrap_or(span);
            found.push(Entry { name, span, off: outer.or_else(|| skip(node)) });
        }
        for hook in stage.value.entries() {
            let enabled = hook.value.get("enabled");
            if let Some(enabled) = enabled {
                let off = if enabled.flag() == Some(false) { Some(enabled.span()) } else { None };
                found.push(Entry { name: hook.key.to_owned(), span: hook.key_span, off });
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
    let come: BTreeSet<String> = head
        .iter()
        .filter(|entry| entry.off.is_none() && !before.contains(entry.name.as_str()))
        .map(|entry| entry.name.clone())
        .collect();
    let gone: Vec<&Entry> =
        base.iter().filter(|entry| entry.off.is_none() && !staying.contains(entry.name.as_str())).collect();
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
