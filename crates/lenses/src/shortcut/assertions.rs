//! Assertions that demand less of their subject than at the base, or that hold whatever the code does.

use std::collections::BTreeSet;

use super::WEAKENED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::{Check, Function};

pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = pairs.iter().flat_map(|pair| weakened(compared, pair)).collect();
    let Compared { base, head, .. } = compared;
    let functions = head.behaviour.functions.iter();
    let changed = functions.filter(|function| !function.is_broken && head.touches(function.span));
    let checks = changed.flat_map(Function::checks);
    let same: Vec<&Check> = checks.filter(|check| check.is_same && head.touches(check.span)).collect();
    if same.is_empty() {
        return drafts;
    }
    let older = base.behaviour.functions.iter().flat_map(Function::checks);
    let known: BTreeSet<&str> = older.map(|check| check.text.as_str()).collect();
    let new = same.into_iter().filter(|check| !known.contains(check.text.as_str()));
    let summary = "assertion compares a value with itself";
    drafts.extend(new.filter_map(|check| compared.at_head(WEAKENED, check.span, summary)));
    drafts
}

fn weakened(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Pair { base, head } = pair;
    let changed = head.checks().iter().filter(|check| compared.head.touches(check.span));
    let added = changed.filter(|check| !has(base, check));
    added
        .filter_map(|check| {
            let summary = weakness(base, head, check)?;
            compared.at_head(WEAKENED, check.span, summary)
        })
        .collect()
}

/// Returns the way in which a new assertion demands less than one that is gone.
fn weakness(base: &Function<'_>, head: &Function<'_>, new: &Check) -> Option<&'static str> {
    let gone = base.checks().iter().filter(|check| !has(head, check));
    let mut about: Vec<&Check> = gone.filter(|check| shares(check, new)).collect();
    about.sort_by_key(|check| check.demand);
    if let Some(strongest) = about.last().filter(|strongest| strongest.demand > new.demand) {
        // Another assertion may demand as much as the one that is gone.
        let is_kept =
            head.checks().iter().any(|other| other.demand >= strongest.demand && shares(other, strongest));
        return (!is_kept).then_some("assertion demands less than before");
    }
    let tolerance = new.tolerance.as_ref()?;
    let before = about
        .iter()
        .filter_map(|check| check.tolerance.as_ref())
        .find(|before| before.before == tolerance.before);
    before
        .is_some_and(|before| before.parts < tolerance.parts)
        .then_some("tolerance of an assertion is raised")
}

fn has(function: &Function<'_>, check: &Check) -> bool {
    function.checks().iter().any(|other| other.text == check.text)
}

/// Returns whether two assertions are about the same expression.
fn shares(one: &Check, other: &Check) -> bool {
    one.subjects.iter().any(|subject| other.subjects.contains(subject))
}
