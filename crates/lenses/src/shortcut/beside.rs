//! Assertions of the base that run beside their test, which does not wait for them, and panics that a test swallows.

use super::WEAKENED;
use super::assertions::has;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_reading::syntax::{Check, Function, Handler, Span};

/// Words of a test that waits for what it starts.
static WAITS: Pattern = Pattern::new(
    r"\.(?:get|join|Join|value|Wait\w*)\b|<-|\b(?:await|done|Done|Eventually|resolve|synctest|waitFor\w*|join)\b|\bselect\s*\{|[lL]atch|[sS]leep|[tT]imers|\btick\b",
);

/// Reports code with assertions of the base that runs beside its test, where nothing waits for it.
pub(super) fn detached(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let places = head.facts().detached.iter().copied();
    let mut places = places.filter(|place| compared.head.touches(*place)).peekable();
    places.peek()?;
    let own = head.span.of(compared.head.text);
    let waits = WAITS.captures_all(own);
    let waits = waits.iter().filter_map(|groups| Some(head.span.start + groups.get(0)?.start()));
    let waits: Vec<usize> = waits.collect();
    let summary = "assertion runs beside the test, which does not wait for it";
    places.find_map(|place| {
        // They are in the order of the text.
        let is_before = waits.first().is_some_and(|first| *first < place.start);
        let is_behind = waits.last().is_some_and(|last| place.end <= *last);
        if is_before || is_behind {
            return None;
        }
        let mut inside = head.checks().iter().filter(|check| holds(place, check));
        let is_moved = inside.any(|check| has(base, check) && !runs_beside(base, check));
        compared.at_head(WEAKENED, place, summary).filter(|_| is_moved)
    })
}

/// Returns whether an assertion of the same text runs beside a function.
fn runs_beside(function: &Function<'_>, check: &Check) -> bool {
    let mut same = function.checks().iter().filter(|other| other.text == check.text);
    same.any(|same| function.facts().detached.iter().any(|place| holds(*place, same)))
}

fn holds(place: Span, check: &Check) -> bool {
    place.start <= check.span.start && check.span.end <= place.end
}

/// Reports a deferred `recover` of Go by which a test passes where the code under test panics.
pub(super) fn recovered(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let was_there = base.facts().handlers.iter().any(catches_panics);
    let mut new = head.facts().handlers.iter().filter(|handler| catches_panics(handler));
    let handler = new.find(|handler| !was_there && !handler.is_explained)?;
    compared.at_head(WEAKENED, handler.whole, "panic of the code under test is swallowed")
}

fn catches_panics(handler: &Handler) -> bool {
    handler.caught == "panic"
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::WAITS.check();
    }
}
