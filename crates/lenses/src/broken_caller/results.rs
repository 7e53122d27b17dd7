//! Functions that give back something else than before, while callers take what they gave.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::contract::Lookups;
use super::super::imports::Family;
use qa_contracts::v1::{MentionKind, PlacedName, PlacedUse, Side};
use qa_reading::results::{self, Shape, Use};

/// A function with another result than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangedResult {
    /// Name at head.
    pub(super) name: PlacedName,
    pub(super) loss: Loss,
}

/// The part of a result that callers no longer get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Loss {
    /// The value, which comes later by now.
    Waiting,
    /// Another number of values.
    Count { before: u32, after: u32 },
    /// Declared members.
    Members(BTreeSet<String>),
    /// The `Option` or `Result` around the value.
    Wrapping,
}

/// Members of a promise or a coroutine.
const OF_PROMISES: &[&str] = &["__await__", "catch", "close", "finally", "send", "then", "throw"];
/// Methods of an `Option` or a `Result` that other types do not have.
const OF_WRAPPED: &[&str] = &[
    "and_then",
    "err",
    "expect",
    "is_err",
    "is_none",
    "is_ok",
    "is_some",
    "map_err",
    "ok",
    "ok_or",
    "ok_or_else",
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
    "unwrap_or_else",
];

/// Returns the functions of a file whose results lose something, by both versions.
pub(super) fn changed(path: &str, base: &str, head: &str) -> Vec<ChangedResult> {
    let is_read = matches!(
        path.parse_family(),
        Some(MentionKind::Ecma | MentionKind::Go | MentionKind::Python | MentionKind::Rust)
    );
    if !is_read {
        return Vec::new();
    }
    let before = sole(results::returned(path, base));
    let after = sole(results::returned(path, head));
    let changed = after.into_iter().filter_map(|(name, after)| {
        let loss = loss(&before.get(&name)?.shape, &after.shape)?;
        Some(ChangedResult { name: after.name, loss })
    });
    changed.collect()
}

/// Returns the functions that are the only ones of their names.
fn sole(all: Vec<results::Returned>) -> BTreeMap<String, results::Returned> {
    let mut named: BTreeMap<String, Vec<results::Returned>> = BTreeMap::new();
    for each in all {
        named.entry(each.name.name.clone()).or_default().push(each);
    }
    let sole = named.into_iter().filter_map(|(name, mut all)| {
        let only = all.pop()?;
        all.is_empty().then_some((name, only))
    });
    sole.collect()
}

fn loss(before: &Shape, after: &Shape) -> Option<Loss> {
    match (before, after) {
        (Shape::Promise, _) => None,
        (_, Shape::Promise) => Some(Loss::Waiting),
        (Shape::Values(before), Shape::Values(after)) if before != after => {
            Some(Loss::Count { before: *before, after: *after })
        }
        (Shape::Wrapped, Shape::Values(_)) => Some(Loss::Wrapping),
        (Shape::Members(before), Shape::Members(after)) => {
            let lost: BTreeSet<String> =
                before.iter().filter(|member| !after.contains(member)).cloned().collect();
            (!lost.is_empty()).then_some(Loss::Members(lost))
        }
        (Shape::Members(_) | Shape::Unknown | Shape::Values(_) | Shape::Wrapped, _) => None,
    }
}

/// Calls in a file with the use of their results, read once for each name.
pub(super) struct ReceivedCalls<'a> {
    lookups: &'a dyn Lookups,
    path: &'a str,
    by_name: BTreeMap<String, BTreeMap<(u32, u32), Use>>,
}

impl<'a> ReceivedCalls<'a> {
    pub(super) fn new(lookups: &'a dyn Lookups, path: &'a str) -> Self {
        Self { lookups, path, by_name: BTreeMap::new() }
    }

    /// Returns whether a caller takes what a function no longer gives.
    pub(super) fn is_broken(&mut self, used: &PlacedUse, changed: &ChangedResult) -> bool {
        let Some(kind) = self.path.parse_family() else { return false };
        // An import may give the function another name in the file.
        let name = used.name.written.as_deref().unwrap_or(&used.name.name);
        if !self.by_name.contains_key(name) {
            let text = self.lookups.text(Side::Head, self.path);
            let all = text.map(|text| results::received(self.path, &text, name)).unwrap_or_default();
            let placed = all.into_iter().map(|each| ((each.name.line, each.name.start_column), each.used));
            self.by_name.insert(name.to_owned(), placed.collect());
        }
        let here = self.by_name[name].get(&(used.name.line, used.name.start_column));
        here.is_some_and(|used| takes(kind, used, &changed.loss))
    }
}

fn takes(kind: MentionKind, used: &Use, loss: &Loss) -> bool {
    match (loss, used) {
        (Loss::Waiting, Use::Member(name)) => !OF_PROMISES.contains(&name.as_str()),
        (Loss::Waiting, Use::Operand | Use::Taken(_) | Use::Unpacked(_)) => true,
        // A promise runs without anybody waiting for it, and a coroutine does not.
        (Loss::Waiting, Use::Statement) => kind == MentionKind::Python,
        (Loss::Count { before, after }, Use::Unpacked(count)) => count == before && count != after,
        (Loss::Count { before: 1, .. }, Use::Member(_) | Use::Operand) => kind == MentionKind::Go,
        (Loss::Members(lost), Use::Member(name)) => lost.contains(name),
        (Loss::Members(lost), Use::Taken(names)) => names.iter().any(|name| lost.contains(name)),
        (Loss::Wrapping, Use::Member(name)) => OF_WRAPPED.contains(&name.as_str()),
        (Loss::Wrapping, Use::Tried) => true,
        (Loss::Count { .. }, _) | (Loss::Members(_), _) | (Loss::Waiting, _) | (Loss::Wrapping, _) => false,
    }
}
