//! Loops and places of lists that are off by one or never end.

use super::comparisons::measured;
use super::rules;
use super::site::{Check, Found, Site, number};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const PAST_END: Check =
    Check::new(rules::INDEX_PAST_END, "the last place is one before the length", past_end);
pub(super) const PAST_END_CALL: Check =
    Check::new(rules::INDEX_PAST_END, "the last place is one before the length", past_end_call).of_calls(&[
        "get",
        "charAt",
        "elementAt",
        "codePointAt",
    ]);
pub(super) const RUNS_PAST: Check =
    Check::new(rules::INDEX_PAST_END, "the last turn reads one place behind the end", runs_past);
pub(super) const COUNTS_PAST: Check =
    Check::new(rules::INDEX_PAST_END, "the last turn reads one place behind the end", counts_past);
pub(super) const STEP: Check = Check::new(rules::LOOP_STEP, "step of the loop leads away from its end", step);
pub(super) const DEFER: Check = Check::new(
    rules::DEFER_IN_LOOP,
    "deferred call runs when the function ends, and not after each turn",
    defer,
);

fn past_end(site: &Site<'_>) -> Found {
    let Form::Index { object, index } = site.form else { return Vec::new() };
    let is_past = object.is_pure() && measured(index).is_some_and(|of| of.is_same(object));
    // Setting the place behind the last one adds to a map, and in some languages to a list.
    let grows = !matches!(site.language(), Language::Java | Language::Rust);
    let around = site.expression.parent();
    let is_set = around.is_some_and(|around| {
        matches!(around.form(), Form::Assign { target, .. } if target == site.expression.unwrapped())
    });
    site.if_true(is_past && !(grows && is_set))
}

fn past_end_call(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let [index] = site.arguments()[..] else { return Vec::new() };
    let is_judged = site.is_ecma() || matches!(site.language(), Language::Java | Language::Kotlin);
    site.if_true(is_judged && object.is_pure() && measured(index).is_some_and(|of| of.is_same(object)))
}

fn runs_past(site: &Site<'_>) -> Found {
    let Some((initial, condition, _)) = site.expression.counted() else { return Vec::new() };
    let Form::Binary { left, operator: Operator::LessEqual, right } = condition.form() else {
        return Vec::new();
    };
    let (Form::Name(counter), Some(list)) = (left.form(), measured(right)) else { return Vec::new() };
    let begin = initial.tokens().concat();
    let begins_at_zero =
        [format!("{counter}=0"), format!("{counter}:=0")].iter().any(|zero| begin.ends_with(zero));
    let Some(body) = site.expression.body().filter(|_| begins_at_zero) else { return Vec::new() };
    if reads_unguarded(body, list, counter) { vec![condition.span()] } else { Vec::new() }
}

/// Finds a loop of Rust over `0..=list.len()` that indexes the list.
fn counts_past(site: &Site<'_>) -> Found {
    if site.language() != Language::Rust || site.expression.kind() != "for_expression" {
        return Vec::new();
    }
    let [pattern, range, body] = site.expression.children()[..] else { return Vec::new() };
    let ([_, end], true) = (&range.children()[..], range.source().contains("..=")) else { return Vec::new() };
    let (Form::Name(counter), Some(list)) = (pattern.form(), measured(*end)) else { return Vec::new() };
    if reads_unguarded(body, list, counter) { vec![range.span()] } else { Vec::new() }
}

/// Returns whether a body reads a list at a counter and compares nothing with a length.
fn reads_unguarded(body: Expression<'_>, list: Expression<'_>, counter: &str) -> bool {
    let (mut reads, mut is_guarded) = (false, false);
    body.descend(&mut |node| {
        let form = node.form();
        if let Form::Index { object, index } = form {
            reads |= object.is_same(list) && matches!(index.form(), Form::Name(name) if name == counter);
        } else if let Form::Binary { left, right, .. } = form {
            is_guarded |= measured(right).is_some() || measured(left).is_some();
        }
        true
    });
    reads && !is_guarded
}

/// Returns the variable that a step changes, and whether it grows.
fn changed<'t>(step: Expression<'t>) -> Option<(&'t str, bool)> {
    let form = step.form();
    let (target, grows) = if let Form::Update(target) = form {
        let source = step.source();
        let is_up = source.starts_with("++") || source.ends_with("++");
        (target, is_up)
    } else if let Form::Assign { target, value, is_plain: false } = form {
        let is_up = match step.written_operator() {
            "+=" => true,
            "-=" => false,
            _ => return None,
        };
        (target, number(value).filter(|by| *by > 0.0).map(|_| is_up)?)
    } else {
        return None;
    };
    let Form::Name(name) = target.form() else { return None };
    Some((name, grows))
}

fn step(site: &Site<'_>) -> Found {
    let Some((initial, condition, step)) = site.expression.counted() else { return Vec::new() };
    let Form::Binary { left, operator, .. } = condition.form() else { return Vec::new() };
    let (Form::Name(counter), Some((name, grows))) = (left.form(), changed(step)) else { return Vec::new() };
    if name == counter {
        let is_away = if grows {
            matches!(operator, Operator::Greater | Operator::GreaterEqual)
        } else {
            // Numbers without a sign end such a loop below zero.
            let has_unsigned =
                matches!(site.language(), Language::C | Language::Cpp | Language::Go | Language::CSharp);
            // `:=` with a number makes a variable with a sign.
            let has_sign = site.language() == Language::Go && begins_with_number(initial);
            matches!(operator, Operator::Less | Operator::LessEqual) && (!has_unsigned || has_sign)
        };
        return if is_away { vec![step.span()] } else { Vec::new() };
    }
    let is_other = operator.is_comparison() && !condition.tokens().contains(&name);
    let is_changed = site.expression.body().is_some_and(|body| changes(body, counter));
    if is_other && !is_changed { vec![step.span()] } else { Vec::new() }
}

/// Returns whether a declaration of Go gives a counter a number.
fn begins_with_number(initial: Expression<'_>) -> bool {
    let tokens = initial.tokens();
    matches!(tokens[..], [_, ":=", number] if number.chars().all(|digit| digit.is_ascii_digit()))
}

/// Returns whether a body may set a variable.
pub(super) fn changes(body: Expression<'_>, variable: &str) -> bool {
    let mut is_changed = false;
    body.descend(&mut |node| {
        let form = node.form();
        if let Form::Assign { target, .. } | Form::Update(target) | Form::Declare { target, .. } = form {
            is_changed |= target.tokens().contains(&variable);
        } else {
            is_changed |= matches!(form, Form::Unary { operator: "&", .. });
        }
        !is_changed
    });
    is_changed
}

fn defer(site: &Site<'_>) -> Found {
    let is_deferred = matches!(site.form, Form::Defer(_));
    let ends = site.expression.statement().is_last_way_out();
    site.if_true(is_deferred && !ends && site.expression.repeating_loop().is_some())
}
