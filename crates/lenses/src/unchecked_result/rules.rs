//! The rules, with what they weigh.

use super::*;
use crate::contract::{RuleSpec, everywhere, presets, text_rule};
use qa_contracts::v1::{PresetStrengths, ScopeStrengths, Severity, Strength};

const OFF: ScopeStrengths = everywhere(Strength::Off);
const ADVISE: ScopeStrengths = ScopeStrengths { product: Strength::Advise, ..OFF };
const ADVISE_BOTH: ScopeStrengths = ScopeStrengths { test: Strength::Advise, ..ADVISE };
const PRODUCT: PresetStrengths = presets(ADVISE, ADVISE);
const BOTH: PresetStrengths = presets(ADVISE_BOTH, ADVISE_BOTH);
/// Certain enough to block in `guarded`.
const CERTAIN: PresetStrengths = presets(ADVISE, ScopeStrengths { product: Strength::Block, ..OFF });
const CERTAIN_BOTH: PresetStrengths =
    presets(ADVISE_BOTH, ScopeStrengths { product: Strength::Block, ..ADVISE_BOTH });
/// True of nearly every place, with an honest idiom that a few repositories have: blocks in product code of `guarded`
/// where none of the base's files has one.
const UNUSUAL: PresetStrengths = presets(ADVISE, ScopeStrengths { product: Strength::Ratchet, ..OFF });
const UNUSUAL_BOTH: PresetStrengths =
    presets(ADVISE_BOTH, ScopeStrengths { product: Strength::Ratchet, ..ADVISE_BOTH });
const WHEN_ASKED: PresetStrengths = presets(OFF, ADVISE);

pub(super) static RULES: &[RuleSpec] = &[
    text_rule(
        NO_RETURN,
        "Callback returns nothing where a value is used",
        Severity::High,
        UNUSUAL_BOTH,
        "Return the value, or use a loop.",
    ),
    text_rule(
        CANCEL,
        "Function that ends a context is dropped",
        Severity::Medium,
        CERTAIN_BOTH,
        "Keep the function and defer it.",
    ),
    text_rule(
        CHECKED_LATE,
        "Value is checked for null after it was used",
        Severity::Medium,
        UNUSUAL,
        "Check the value before its first use, or drop the check.",
    ),
    text_rule(
        MODIFIED,
        "Collection is changed while a loop runs over it",
        Severity::High,
        UNUSUAL_BOTH,
        "Loop over a copy, or gather what is to be changed.",
    ),
    text_rule(
        ENVIRONMENT,
        "Environment variable is used unchecked",
        Severity::Medium,
        PRODUCT,
        "Give the variable a default, or say which one is missing.",
    ),
    text_rule(
        AS_SUCCESS,
        "Error is returned as success",
        Severity::Medium,
        PRODUCT,
        "Return the error, or say in a comment why it does not matter.",
    ),
    text_rule(
        ERROR,
        "Error is dropped",
        Severity::Medium,
        PRODUCT,
        "Check the error, or say in a comment why it cannot happen.",
    ),
    text_rule(
        ERROR_OVERWRITTEN,
        "Error is overwritten before it is checked",
        Severity::High,
        CERTAIN_BOTH,
        "Check the first error before the second call.",
    ),
    text_rule(
        STATUS,
        "Result that reports a failure is dropped",
        Severity::Medium,
        PRODUCT,
        "Check the result, or use the form that throws.",
    ),
    text_rule(
        ITERATOR,
        "Iterator is read twice",
        Severity::High,
        BOTH,
        "Make a list of it, or make the iterator anew.",
    ),
    text_rule(
        KEY,
        "Value of a key is used unchecked",
        Severity::Medium,
        PRODUCT,
        "Give the lookup a default, check the value, or use the form that fails for a missing key.",
    ),
    text_rule(
        LOCK,
        "Lock is never released",
        Severity::High,
        UNUSUAL,
        "Release the lock on every way out: `defer`, `with`, `finally`.",
    ),
    text_rule(
        MATCH,
        "Result of a match is used unchecked",
        Severity::Medium,
        WHEN_ASKED,
        "Keep the result, and check it before its groups are read.",
    ),
    text_rule(
        NULL_BRANCH,
        "Value is used where it is null",
        Severity::High,
        UNUSUAL_BOTH,
        "Turn the condition round, or use another value in the branch.",
    ),
    text_rule(
        OPTIONAL,
        "Value of an Optional is taken unchecked",
        Severity::Medium,
        PRODUCT,
        "Use `orElseThrow` with what is missing, `orElse` or `ifPresent`.",
    ),
    text_rule(
        OTHER_ERROR,
        "Another error is returned than is checked",
        Severity::High,
        BOTH,
        "Return the error that the condition is about.",
    ),
    text_rule(
        PARAMETER,
        "Parameter is overwritten before it is read",
        Severity::Medium,
        PRODUCT,
        "Read the parameter, or give the value another name.",
    ),
    text_rule(
        PARTIAL,
        "Number of bytes that were read is dropped",
        Severity::High,
        PRODUCT,
        "Read in a loop, or use the form that reads all: `readNBytes`, `ReadExactly`, `io.ReadFull`.",
    ),
    text_rule(
        REALLOC,
        "Pointer is overwritten by the result of realloc",
        Severity::Medium,
        PRODUCT,
        "Keep the result in another pointer until it is checked.",
    ),
    text_rule(
        RESOURCE,
        "Resource is never closed",
        Severity::Medium,
        UNUSUAL,
        "Close it on every way out: `with`, `defer`, try-with-resources, `using`.",
    ),
    text_rule(
        SEARCH,
        "Result of a search is used unchecked",
        Severity::Medium,
        WHEN_ASKED,
        "Check the result, or use the form that fails with a message of its own.",
    ),
    text_rule(
        STORE,
        "Result of a call is overwritten before it is read",
        Severity::Medium,
        UNUSUAL,
        "Read the first value, or drop it with its variable.",
    ),
    text_rule(
        TASK,
        "Task or promise is dropped",
        Severity::Medium,
        CERTAIN,
        "Keep the task until it is done, or wait for the promise.",
    ),
    text_rule(
        UNREACHABLE,
        "Code is never reached",
        Severity::Medium,
        CERTAIN_BOTH,
        "Remove the code, or the statement that leaves before it.",
    ),
    text_rule(
        ERROR_LATE,
        "Result is used before its error is checked",
        Severity::High,
        UNUSUAL_BOTH,
        "Check the error first.",
    ),
];
