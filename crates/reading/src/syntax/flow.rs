//! Code that runs again or later: bodies of loops, functions and closures, and loops that wait in turn.

use super::outline::{Outline, Span};
use super::walk::{Found, has_word, span};
use crate::tree::Node;

/// Nodes of one loop that are looked at; a longer one is left alone.
const MOST_NODES: usize = 2_000;

/// Execution of code that does not run exactly once where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Again,
    Later,
}

/// Returns when the content of a node of this kind runs, or `None` where it runs once in its place.
pub(super) fn runs(kind: &str) -> Option<Runs> {
    match kind {
        "do_statement"
        | "enhanced_for_statement"
        | "for"
        | "for_expression"
        | "for_in_statement"
        | "for_statement"
        | "foreach_statement"
        | "loop_expression"
        | "until"
        | "while"
        | "while_expression"
        | "while_statement"
        | "dictionary_comprehension"
        | "generator_expression"
        | "list_comprehension"
        | "set_comprehension" => Some(Runs::Again),
        "anonymous_function"
        | "arrow_function"
        | "async_block"
        | "class_body"
        | "closure_expression"
        | "constructor_declaration"
        | "func_literal"
        | "function_declaration"
        | "function_definition"
        | "function_expression"
        | "function_item"
        | "generator_function"
        | "generator_function_declaration"
        | "lambda"
        | "lambda_expression"
        | "method"
        | "method_declaration"
        | "method_definition"
        | "singleton_method" => Some(Runs::Later),
        _ => None,
    }
}

/// Returns whether a node of this kind has a body that runs when it is called.
pub(crate) fn is_function(kind: &str) -> bool {
    runs(kind) == Some(Runs::Later)
}

/// Notes a loop or a function.
pub(super) fn note(found: &mut Found<'_>, node: Node<'_>, runs: Runs, kind: &str) {
    match runs {
        Runs::Again => {
            let Some(body) = node.field("body") else { return };
            found.outline.loops.push(span(body));
            in_turn(found, node, kind, body);
        }
        Runs::Later => {
            found.outline.functions.push(span(node));
            let modifiers = node.named_children().find(|child| child.word() == "function_modifiers");
            if kind == "async_block" || has_word(modifiers.unwrap_or(node), "async") {
                found.outline.asynchronous.push(span(node));
            }
        }
    }
}

/// Notes where a loop over something waits for one after the other, if no turn needs what an earlier one left: it has
/// no way out, sets nothing that was there before, and is not about what comes in over time.
fn in_turn(found: &mut Found<'_>, node: Node<'_>, kind: &str, body: Node<'_>) {
    let over_something = match kind {
        "for_in_statement" => has_word(node, "of") && !has_word(node, "await"),
        "for_statement" => node.field("right").is_some() && !has_word(node, "async"),
        _ => false,
    };
    if !over_something {
        return;
    }
    let mut cursor = body.walk();
    let (mut depth, mut seen, mut waits) = (0_usize, 0, None);
    loop {
        let at = cursor.node();
        seen += 1;
        found.flow_steps += 1;
        if seen > MOST_NODES || found.flow_steps > found.text.len() {
            return;
        }
        let later = match at.word() {
            "assignment_expression"
            | "augmented_assignment"
            | "augmented_assignment_expression"
            | "break_statement"
            | "continue_statement"
            | "raise_statement"
            | "return_statement"
            | "throw_statement"
            | "update_expression"
            | "yield"
            | "yield_expression"
            | "try_statement" => return,
            "await" | "await_expression" if at.is_named() => {
                waits.get_or_insert(span(at));
                false
            }
            "arrow_function"
            | "class_body"
            | "function_definition"
            | "function_expression"
            | "function_declaration"
            | "lambda"
            | "method_definition" => true,
            _ => false,
        };
        if !later && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                found.outline.waits_in_turn.extend(waits);
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}

impl Outline {
    /// Returns the body of the loop that a place is run again by, if it is in one and in no function inside of it.
    pub fn repeats(&self, at: usize) -> Option<Span> {
        let body = innermost(&self.loops, at)?;
        let inside = innermost(&self.functions, at)
            .is_none_or(|function| function.start <= body.start && body.end <= function.end);
        inside.then_some(body)
    }

    /// Returns whether the innermost function at a place is asynchronous.
    pub fn is_asynchronous(&self, at: usize) -> bool {
        innermost(&self.functions, at).is_some_and(|function| self.asynchronous.contains(&function))
    }
}

fn innermost(spans: &[Span], at: usize) -> Option<Span> {
    let around = spans.iter().filter(|span| span.start <= at && at < span.end);
    around.min_by_key(|span| span.end - span.start).copied()
}
