//! Ruby: classes, modules, methods and constants, the files a file requires, and tests of RSpec and Minitest.

use super::comments::gives_reason;
use super::idle;
use super::outline::{ImportKind, Span, SymbolKind};
use super::walk::{Found, Place, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let nested = Place { nested: true, ..place };
    match kind {
        "class" | "module" => {
            let symbol = if kind == "class" { SymbolKind::Class } else { SymbolKind::Module };
            // `class A::B` defines `B`.
            let name = node.field("name");
            let last = name.and_then(|name| name.field("name")).or(name);
            if let Some(name) = last {
                let exported = found.is_shown(node);
                found.symbol(symbol, node, name, exported, place);
            }
            hide_private(found, node);
            nested
        }
        "singleton_class" => {
            hide_private(found, node);
            nested
        }
        "method" | "singleton_method" => {
            method(found, node, place);
            nested
        }
        "assignment" => {
            let constant = node.field("left").filter(|left| left.word() == "constant");
            if let Some(name) = constant {
                found.symbol(SymbolKind::Constant, node, name, true, place);
            }
            place
        }
        "call" => {
            call(found, node, place);
            place
        }
        "block" | "do_block" | "lambda" => Place { conditional: true, ..nested },
        "begin" if node.named_children().any(|child| child.word() == "rescue") => {
            Place { conditional: true, guarded: true, ..place }
        }
        "rescue_modifier" => Place { conditional: true, guarded: true, ..place },
        "binary" | "case" | "case_match" | "conditional" | "for" | "if" | "if_modifier" | "unless"
        | "unless_modifier" | "until" | "until_modifier" | "while" | "while_modifier" => {
            Place { conditional: true, ..place }
        }
        _ => place,
    }
}

fn method(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(name) = node.field("name") else { return };
    let exported = found.is_shown(node);
    let symbol = if place.nested { SymbolKind::Method } else { SymbolKind::Function };
    found.symbol(symbol, node, name, exported, place);
    // In a block it is a method of something else that a test makes.
    if node.word() == "method" && found.text(name).starts_with("test_") && !place.conditional {
        note_test(found, node, node);
    }
}

/// Notes a test whose statements stand in a method or a block.
fn note_test(found: &mut Found<'_>, test: Node<'_>, holder: Node<'_>) {
    let body = holder.field("body");
    let comments =
        holder.named_children().filter(|child| child.is_comment()).map(|comment| found.text(comment));
    let is_explained = gives_reason(&comments.collect::<Vec<_>>().join(" "));
    // Without a body a holder has nothing but its name and its parameters.
    let is_bare = body.is_none() && holder.field("parameters").is_none();
    idle::note_test(found, test, body.filter(|_| !is_explained));
    if is_bare && !is_explained && !test.has_error() {
        found.outline.idle_tests.push(span(test));
    }
}

/// Hides what stands behind `private` or `protected` in a class. Ruby may show it again below, which is rare.
fn hide_private(found: &mut Found<'_>, class: Node<'_>) {
    let Some(body) = class.field("body") else { return };
    let mark = body.named_children().find(|statement| {
        statement.word() == "identifier" && matches!(found.text(*statement), "private" | "protected")
    });
    if let Some(mark) = mark {
        found.hide(Span { start: mark.start_byte(), end: body.end_byte() });
    }
}

fn call(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    if node.field("receiver").is_some() {
        return;
    }
    let kind = match found.field_text(node, "method") {
        "private" | "protected" | "private_class_method" => {
            found.hide(span(node));
            return;
        }
        "example" | "it" | "scenario" | "specify" | "test" => {
            if let Some(block) = node.field("block") {
                note_test(found, node, block);
            }
            return;
        }
        "require_relative" => ImportKind::File,
        "load" | "require" => ImportKind::Static,
        "autoload" => ImportKind::Call,
        _ => return,
    };
    let path = node.field("arguments").and_then(|arguments| arguments.named_children().last());
    let Some(path) = path.filter(|path| path.word() == "string") else { return };
    let is_computed = path.named_children().any(|part| part.word() == "interpolation");
    if let Some((module, at)) = found.plain_string(path).filter(|_| !is_computed) {
        let import = found.import(kind, node, module, at, place);
        found.outline.imports.push(import);
    }
}
