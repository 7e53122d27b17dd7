//! Handlers that catch the failure of an assertion of the base, and do nothing about it.

use super::WEAKENED;
use super::assertions::has;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::{Check, Function, Handler, Language, Span};

/// Words of a handler that looks at the failure, or hands it on.
const HANDLES: &[&str] = &[
    "throw", "raise", "fail", "assert", "Assert", "expect", "should", "done(", "reject", "skip", "must",
    "t.", "return",
];
/// Parts of the names of classes that are failures of assertions and of nothing else.
const ASSERTIONS: &[&str] = &[
    "Assert",
    "ComparisonFailure",
    "ExpectationFailed",
    "ExpectationNotMet",
    "MultipleFailuresError",
    "Xunit",
    "failureException",
];

/// Reports a handler that catches what the assertions of a test throw, where nothing caught it before.
pub(super) fn inspect(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    if head.checks().is_empty() {
        return None;
    }
    let endings = head.facts().endings.iter();
    let handlers = head.facts().handlers.iter().filter(|handler| is_silent(compared, handler));
    let mut silent = handlers.chain(endings).filter(|handler| compared.head.touches(handler.whole));
    let worse = silent.find(|handler| {
        let mut checks = head.checks().iter().filter(|check| guards(handler, check));
        checks.any(|check| has(base, check) && !is_guarded(base, check))
    })?;
    compared.at_head(WEAKENED, worse.whole, "failure of an assertion is caught")
}

/// Returns whether a handler takes the failure of an assertion and does nothing about it. A reason does not make up for a
/// failure that is caught by its name.
fn is_silent(compared: &Compared<'_>, handler: &Handler) -> bool {
    let reaction = reaction(handler).of(compared.head.text);
    let is_named = is_of_assertions(&handler.caught);
    // A test that is skipped where it would fail never fails.
    let mut handles = HANDLES.iter().filter(|word| !is_named || **word != "skip");
    let forgets = handler.drops || !handles.any(|word| reaction.contains(word));
    forgets && (is_named || !handler.is_explained && takes_assertions(compared.language, handler))
}

/// Returns the part of a handler that runs where something failed.
fn reaction(handler: &Handler) -> Span {
    let Handler { span, whole, .. } = *handler;
    match () {
        // The block of Python that suppresses failures reacts to none.
        () if handler.around == whole && span.start == whole.start && span != whole => Span::default(),
        () if handler.around == whole => span,
        () if span == whole => whole,
        () => Span { start: span.end, end: whole.end },
    }
}

/// Returns whether an assertion stands in the code that a handler guards.
fn guards(handler: &Handler, check: &Check) -> bool {
    // A block that suppresses failures is one with its handler.
    let end = if handler.around == handler.whole { handler.whole.end } else { handler.whole.start };
    handler.around.start <= check.span.start && check.span.end <= end
}

/// Returns whether a handler stands around an assertion of the same text.
fn is_guarded(base: &Function<'_>, check: &Check) -> bool {
    let mut same = base.checks().iter().filter(|other| other.text == check.text);
    let facts = base.facts();
    same.any(|same| facts.handlers.iter().chain(&facts.endings).any(|handler| guards(handler, same)))
}

/// Returns whether the failures that a clause is for are those of assertions.
fn is_of_assertions(caught: &str) -> bool {
    ASSERTIONS.iter().any(|class| caught.contains(class))
}

/// Returns whether a handler takes the failure of an assertion, which is no exception of the common kind everywhere.
fn takes_assertions(language: Language, handler: &Handler) -> bool {
    let classes: &[&str] = match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            return handler.around != handler.whole;
        }
        Language::Go | Language::Rust => return false,
        Language::Java | Language::Kotlin => &["Throwable", "Error"],
        Language::Ruby => &["Exception"],
        Language::Python => &["BaseException", "Exception"],
        Language::Php => &["Throwable", "Exception"],
        Language::CSharp | Language::C | Language::Cpp => &["Exception", "..."],
    };
    let is_any = handler.caught.is_empty() && language != Language::Ruby;
    let mut caught = handler.caught.split(|sign: char| !sign.is_alphanumeric());
    is_any || caught.any(|class| classes.contains(&class))
}
