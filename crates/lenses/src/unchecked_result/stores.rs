//! Values that are replaced before anything reads them, and iterators that are read twice.

use super::seen::{Seen, is_one_of};
use super::{ITERATOR, PARAMETER, REALLOC, STORE};
use crate::unchecked_result::nulls::is_error;
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Act, Bind, Body, Statement, StatementKind, Value};

type Finding = (&'static str, Vec<Span>, String);

/// Reports stores that nothing reads.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found: Vec<Finding> = Vec::new();
    for body in &seen.bodies {
        for (block, is_tried) in body.blocks() {
            for (index, statement) in block.statements.iter().enumerate() {
                let after = &block.statements[index + 1..];
                if !is_tried && !body.is_module {
                    found.extend(overwritten(body, statement, after, seen.text));
                }
                found.extend(read_twice(seen.language, body, statement, after));
                if matches!(seen.language, Language::C | Language::Cpp) {
                    found.extend(realloc(statement));
                }
            }
        }
        // C# gives results back by parameters.
        if seen.language != Language::CSharp {
            found.extend(parameters(body, seen.text));
        }
    }
    for (rule, places, summary) in found {
        seen.report(rule, &places, summary);
    }
}

/// Returns a bind of one plain name.
fn only_bind(statement: &Statement) -> Option<(&Bind, &str, Span)> {
    let bind = statement.bind.as_ref().filter(|bind| !bind.is_compound)?;
    let [target] = bind.targets.as_slice() else { return None };
    (!target.name.is_empty() && !target.name.starts_with('_')).then_some((
        bind,
        target.name.as_str(),
        target.span,
    ))
}

/// Finds the result of a call that the next statement to name its variable replaces.
fn overwritten(body: &Body, statement: &Statement, after: &[Statement], text: &str) -> Option<Finding> {
    let (bind, name, place) = only_bind(statement).filter(|_| statement.kind == StatementKind::Plain)?;
    let is_computed =
        bind.value == Value::Call || bind.value == Value::Other && is_computed(bind.value_span.of(text));
    if !is_computed || is_error(name) || is_conversion(&bind.callee) {
        return None;
    }
    let next = after.iter().find(|later| later.all_events().iter().any(|event| event.name == name))?;
    let (_, again, second) = only_bind(next).filter(|_| next.kind == StatementKind::Plain)?;
    let reads = next.events.iter().any(|event| event.name == name && event.act != Act::Written);
    let is_captured = body.events().iter().any(|event| event.name == name && event.is_nested);
    let is_lost = again == name && !reads && !is_captured;
    let summary = format!("the value of `{name}` is overwritten before it is read");
    is_lost.then(|| (STORE, vec![place, second], summary))
}

/// Returns whether a value is computed from others, and no initial value.
fn is_computed(value: &str) -> bool {
    const SIGNS: &[&str] = &[" * ", " + ", " - ", " / "];
    let is_line = !value.contains('\n') && !value.contains("=>");
    is_line && value.starts_with(char::is_alphabetic) && SIGNS.iter().any(|sign| value.contains(sign))
}

/// Returns whether a callee makes an empty value, which a later one replaces on purpose.
fn is_conversion(callee: &str) -> bool {
    const EMPTY: &[&str] = &[
        "Array", "Object", "Some", "array", "dict", "float", "int", "list", "make", "new", "set", "str",
        "tuple",
    ];
    EMPTY.contains(&callee)
}

/// Finds parameters that the function replaces before it reads them.
fn parameters(body: &Body, text: &str) -> Vec<Finding> {
    let whole = body.span.of(text);
    if body.is_module
        || ["arguments", "locals()", "func_get_args", "super"].iter().any(|word| whole.contains(word))
    {
        return Vec::new();
    }
    let events = body.events();
    let replaced =
        body.parameters.iter().filter(|name| !name.is_empty() && !name.starts_with('_')).filter_map(|name| {
            let first = body
                .block
                .statements
                .iter()
                .find(|statement| statement.all_events().iter().any(|event| event.name == *name))?;
            let (_, target, place) = only_bind(first).filter(|_| first.kind == StatementKind::Plain)?;
            let reads = first.events.iter().any(|event| event.name == *name && event.act != Act::Written);
            let is_captured = events.iter().any(|event| event.name == *name && event.is_nested);
            let summary = format!("parameter `{name}` is overwritten before it is read");
            (target == name && !reads && !is_captured).then(|| (PARAMETER, vec![place], summary))
        });
    replaced.collect()
}

/// Calls that read an iterator to its end.
const CONSUMERS: &[&str] = &[
    "all",
    "any",
    "dict",
    "frozenset",
    "len",
    "list",
    "max",
    "min",
    "set",
    "sorted",
    "sum",
    "tuple",
    ".extend",
    ".join",
    ".update",
];

/// Finds an iterator that is read to its end twice.
fn read_twice(
    language: Language,
    body: &Body,
    statement: &Statement,
    after: &[Statement],
) -> Option<Finding> {
    let (bind, name, _) = only_bind(statement)?;
    let is_iterator = match language {
        Language::Python => {
            bind.value == Value::Generator
                || matches!(bind.callee.as_str(), "filter" | "iter" | "map" | "zip")
        }
        Language::Java => {
            bind.callee.ends_with(".stream") || bind.callee == "Stream.of" || bind.callee == "Arrays.stream"
        }
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::JavaScript
        | Language::Kotlin
        | Language::Php
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::TypeScript => false,
    };
    let events = body.events();
    let mut own = events.iter().filter(|event| event.name == name);
    let is_plain = own.all(|event| !event.is_nested);
    let writes = events.iter().filter(|event| event.name == name && event.act == Act::Written).count();
    if !is_iterator || !is_plain || writes != 1 {
        return None;
    }
    let mut reads: Vec<Span> = Vec::new();
    for later in after {
        if later.kind == StatementKind::Loop && later.over == name {
            // A loop that is left early leaves the rest.
            let is_left = later.blocks.iter().any(|block| block.statements.iter().any(leaves));
            if is_left {
                return None;
            }
            reads.extend(later.events.iter().find(|event| event.name == name).map(|event| event.span));
            continue;
        }
        let uses = later.events.iter().filter(|event| event.name == name && event.is_certain);
        reads.extend(uses.filter_map(|event| match (&event.act, &event.argument_of, language) {
            (Act::Read, Some(callee), Language::Python) => is_one_of(callee, CONSUMERS).then_some(event.span),
            (Act::Member(_, true), _, Language::Java) => Some(event.span),
            _ => None,
        }));
    }
    let second = *reads.get(1)?;
    let summary = format!("`{name}` is an iterator, and the first reading leaves nothing for the second");
    Some((ITERATOR, vec![second, reads[0], statement.span], summary))
}

fn leaves(statement: &Statement) -> bool {
    statement.kind.exits() || statement.blocks.iter().any(|block| block.statements.iter().any(leaves))
}

/// Finds `p = realloc(p, …)`, which loses the memory where there is no more.
fn realloc(statement: &Statement) -> Option<Finding> {
    let (bind, name, place) = only_bind(statement)?;
    let call =
        statement.calls.iter().find(|call| call.span == bind.value_span && call.callee == "realloc")?;
    let is_same = call.arguments.first().is_some_and(|first| first == name);
    let summary = format!("where `realloc` fails, the memory of `{name}` is lost");
    is_same.then(|| (REALLOC, vec![call.span, place], summary))
}
