//! Failures that a function handled or handed on, and forgets now.

use super::SWALLOWED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::Handler;

/// Functions that end something, whose failure changes nothing any more.
const CLEANUPS: &[&str] = &[
    "Close",
    "Fprint",
    "Fprintf",
    "Fprintln",
    "Remove",
    "RemoveAll",
    "Rollback",
    "Shutdown",
    "close",
    "remove_file",
    "shutdown",
];

pub(super) fn inspect(compared: &Compared<'_>) -> Vec<Draft> {
    let pairs = compared.pairs();
    pairs.iter().flat_map(|pair| swallowed(compared, pair).chain(dropped(compared, pair))).collect()
}

/// Reports handlers that forget failures of code that the function ran before.
fn swallowed<'c>(compared: &'c Compared<'_>, pair: &'c Pair<'c>) -> impl Iterator<Item = Draft> + 'c {
    let Pair { base, head } = pair;
    let handlers = head.handlers.iter().filter(|handler| handler.drops && !handler.is_explained);
    let worse = handlers.filter_map(move |handler| {
        let is_alike = |other: &&Handler| other.caught == handler.caught && shares(other, handler);
        let before: Vec<&Handler> = base.handlers.iter().filter(is_alike).collect();
        let did_same = before.iter().any(|before| before.drops);
        if did_same {
            return None;
        }
        let ran_before = handler.guarded.iter().any(|name| base.calls.contains(name));
        if !before.is_empty() {
            return Some((handler, "failure that was handled is swallowed"));
        }
        let was_caught = base.handlers.iter().any(|before| before.drops && shares(before, handler));
        (handler.is_broad && ran_before && !was_caught)
            .then_some((handler, "failure that was handed on is swallowed"))
    });
    worse.filter_map(|(handler, summary)| {
        let draft = compared.at_head(SWALLOWED, handler.span, summary);
        draft.or_else(|| compared.at_head(SWALLOWED, handler.whole, summary))
    })
}

/// Returns whether two handlers guard one function's failures.
fn shares(one: &Handler, other: &Handler) -> bool {
    one.guarded == other.guarded || one.guarded.intersection(&other.guarded).next().is_some()
}

/// Reports results that were looked at and are thrown away.
fn dropped<'c>(compared: &'c Compared<'_>, pair: &'c Pair<'c>) -> impl Iterator<Item = Draft> + 'c {
    let worse = pair.head.fates.iter().filter(|(callee, fate)| {
        if CLEANUPS.contains(&callee.as_str()) {
            return false;
        }
        let Some(before) = pair.base.fates.get(*callee) else { return false };
        fate.dropped.len() > before.dropped.len() && fate.handled < before.handled
    });
    let summary = "error that was looked at is thrown away";
    worse
        .flat_map(|(_, fate)| &fate.dropped)
        .filter_map(move |place| compared.at_head(SWALLOWED, *place, summary))
}
