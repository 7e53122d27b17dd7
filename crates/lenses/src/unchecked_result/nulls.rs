//! Values that are used where a condition says that they are null, or before one asks.

use super::seen::Seen;
use super::{CHECKED_LATE, ERROR_LATE, NULL_BRANCH};
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Act, Block, Body, Event, NullTest, Statement, StatementKind};

/// Reports uses that disagree with a condition about null.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found: Vec<(&'static str, [Span; 2], String)> = Vec::new();
    for body in &seen.bodies {
        for (block, _) in body.blocks() {
            for (index, statement) in block.statements.iter().enumerate() {
                found.extend(null_branch(seen.language, statement));
                found.extend(checked_late(seen.language, body, &block.statements[..index], statement));
                if seen.language == Language::Go {
                    found.extend(error_late(statement, &block.statements[index + 1..]));
                }
            }
        }
        found.extend(callback_error_late(seen.language, body));
    }
    for (rule, places, summary) in found {
        seen.report(rule, &places, summary);
    }
}

/// Finds the use of a name in the branch in which it is null.
fn null_branch(language: Language, statement: &Statement) -> Option<(&'static str, [Span; 2], String)> {
    let test = statement.null_test.as_ref()?;
    let branch = match (test.is_null, test.is_whole, statement.blocks.as_slice()) {
        (true, _, [then, ..]) => then,
        (false, true, [_, otherwise]) => otherwise,
        _ => return None,
    };
    let place = first_use(language, branch, &test.name)?;
    let condition = Span { start: statement.span.start, end: place.end };
    let summary = format!("`{}` is null in this branch, and a member of it is used", test.name);
    Some((NULL_BRANCH, [place, first_line(condition, place)], summary))
}

/// Returns the begin of a condition up to a use, so that a changed condition counts where the use is old.
fn first_line(condition: Span, place: Span) -> Span {
    Span { start: condition.start, end: place.start.max(condition.start + 1) }
}

/// Returns the first use of a name in a block, if it is one that fails for null and certain to happen there.
fn first_use(language: Language, block: &Block, name: &str) -> Option<Span> {
    for statement in &block.statements {
        let events = statement.all_events();
        let Some(first) = events.into_iter().find(|event| event.name == name) else { continue };
        let is_own = statement.events.contains(first) || statement.kind == StatementKind::Scope;
        return (is_own && first.is_certain && fails(language, first)).then_some(first.span);
    }
    None
}

/// Methods of C# that are no extension methods, so that they fail for null.
const TEXT_METHODS: &[&str] = &[
    "GetHashCode",
    "GetType",
    "IndexOf",
    "Replace",
    "Split",
    "StartsWith",
    "Substring",
    "ToLower",
    "ToUpper",
    "Trim",
];

/// Returns whether a use fails for null.
fn fails(language: Language, event: &Event) -> bool {
    match (&event.act, language) {
        // A method may have a pointer that is null for its receiver, an extension method may take one, and any object of
        // Ruby and Python has some methods.
        (Act::Member(name, true), Language::CSharp) => TEXT_METHODS.contains(&name.as_str()),
        (Act::Member(_, true), Language::Go | Language::Kotlin) => false,
        (Act::Member(name, _), Language::Ruby) => !matches!(
            name.as_str(),
            "blank?" | "class" | "inspect" | "is_a?" | "nil?" | "present?" | "to_a" | "to_s" | "tap" | "then"
        ),
        (Act::Member(name, _), Language::Python) => !name.starts_with("__"),
        (Act::Member(..), _) => true,
        (Act::Indexed, Language::Go | Language::Php | Language::C | Language::Cpp) => false,
        (Act::Indexed, _) => true,
        (Act::Called | Act::OptionalMember | Act::Read | Act::Written, _) => false,
    }
}

/// Finds the use before a condition that asks if the name is null: either the use fails or the condition never holds.
fn checked_late(
    language: Language,
    body: &Body,
    before: &[Statement],
    statement: &Statement,
) -> Option<(&'static str, [Span; 2], String)> {
    let test: &NullTest = statement.null_test.as_ref().filter(|test| test.is_exact)?;
    let is_loose = matches!(language, Language::C | Language::Cpp | Language::Ruby | Language::Php);
    if is_loose || statement.kind != StatementKind::If {
        return None;
    }
    let all = body.events();
    let is_captured = all.iter().any(|event| event.name == test.name && event.is_nested);
    if is_captured {
        return None;
    }
    for earlier in before.iter().rev() {
        let events = earlier.all_events();
        if events.iter().any(|event| event.name == test.name && event.act == Act::Written) {
            return None;
        }
        let is_straight = matches!(
            earlier.kind,
            StatementKind::Call | StatementKind::Plain | StatementKind::If | StatementKind::Defer
        );
        let own = earlier.events.iter().find(|event| event.name == test.name);
        let Some(used) = own.filter(|_| is_straight) else { continue };
        if earlier.null_test.as_ref().is_some_and(|earlier| earlier.name == test.name) {
            return None;
        }
        if used.is_certain && fails(language, used) {
            let condition = statement.events.iter().find(|event| event.name == test.name)?;
            let summary = format!("`{}` is asked for null after a member of it was used", test.name);
            return Some((CHECKED_LATE, [used.span, condition.span], summary));
        }
    }
    None
}

/// Finds a result of Go that is used before its error is looked at.
fn error_late(statement: &Statement, after: &[Statement]) -> Option<(&'static str, [Span; 2], String)> {
    let bind = statement.bind.as_ref().filter(|_| statement.kind != StatementKind::If)?;
    let [value, .., error] = bind.targets.as_slice() else { return None };
    if !is_error(&error.name) || value.name.is_empty() || value.name == "_" {
        return None;
    }
    for later in after {
        let events = later.all_events();
        if events.iter().any(|event| event.name == error.name) {
            let used = events.iter().find(|event| [&value.name, &error.name].contains(&&event.name))?;
            let is_first = used.name == value.name && used.is_certain && is_member(used);
            // `return v.x, err` gives the error to the caller.
            let is_judged = !matches!(later.kind, StatementKind::Return) && later.kind != StatementKind::If;
            return (is_first && is_judged).then(|| error_late_at(used, value.name.as_str(), error.span));
        }
        let used = events.iter().find(|event| event.name == value.name);
        if let Some(used) = used {
            let is_checked_behind = after.iter().any(|one| {
                one.span.start > later.span.start
                    && one.null_test.as_ref().is_some_and(|test| test.name == error.name)
            });
            let is_member = is_member(used) && !used.is_nested;
            return (is_member && is_checked_behind)
                .then(|| error_late_at(used, value.name.as_str(), error.span));
        }
    }
    None
}

fn error_late_at(used: &Event, name: &str, error: Span) -> (&'static str, [Span; 2], String) {
    let summary = format!("`{name}` is used before the error that came with it is checked");
    (ERROR_LATE, [used.span, error], summary)
}

fn is_member(event: &Event) -> bool {
    matches!(event.act, Act::Member(..))
}

/// Finds a result that a callback of Node uses before the error that comes first.
fn callback_error_late(language: Language, body: &Body) -> Option<(&'static str, [Span; 2], String)> {
    if !matches!(language, Language::JavaScript | Language::Tsx | Language::TypeScript) {
        return None;
    }
    let [error, value, ..] = body.parameters.as_slice() else { return None };
    if !is_error(error) || body.passed_to.is_none() {
        return None;
    }
    let first =
        body.block.statements.iter().find(|statement| {
            statement.all_events().iter().any(|event| [error, value].contains(&&event.name))
        })?;
    let is_checked_later = body.block.statements.iter().any(|one| {
        one.span.start > first.span.start
            && one.kind == StatementKind::If
            && one.events.iter().any(|event| event.name == *error)
    });
    let used = first.events.iter().find(|event| [error, value].contains(&&event.name))?;
    let is_used = used.name == *value && used.is_certain && is_member(used);
    (is_used && is_checked_later).then(|| error_late_at(used, value, used.span))
}

/// Returns whether a name is that of an error.
pub(super) fn is_error(name: &str) -> bool {
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let is_flag = ["has", "is"].iter().any(|word| name.starts_with(word));
    matches!(name, "err" | "error" | "e" | "er")
        || !is_flag && (name.ends_with("Err") || name.ends_with("Error"))
}
