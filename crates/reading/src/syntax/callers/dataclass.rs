//! Constructors that `dataclass` of Python makes out of the fields of a class.

use crate::tree::Node;
use qa_contracts::v1::{Parameter, Passing, Signature};

use super::super::shape::parts;
use super::super::walk::span;

/// Returns the parameters of the constructor of a decorated class; `None` where anything else may make it.
pub(super) fn constructor(text: &str, decorated: Node<'_>, class: Node<'_>) -> Option<Signature> {
    let decorators: Vec<&str> = decorated
        .named_children()
        .filter(|child| child.word() == "decorator")
        .map(|decorator| span(decorator).of(text).trim_start_matches('@').trim())
        .collect();
    let [decorator] = decorators[..] else { return None };
    let (name, given) = decorator.split_once('(').unwrap_or((decorator, ""));
    let is_of_library = match name.trim() {
        "dataclass" => text.contains("from dataclasses import"),
        "dataclasses.dataclass" => text.contains("import dataclasses"),
        _ => false,
    };
    let body = class.field("body")?;
    let is_plain = is_of_library
        && class.field("superclasses").is_none()
        && !["init", "kw_only", "**"].iter().any(|word| given.contains(word))
        && !["__init__", "__new__", "KW_ONLY", "kw_only"]
            .iter()
            .any(|word| span(body).of(text).contains(word));
    if !is_plain {
        return None;
    }
    let mut signature = Signature::default();
    for statement in parts(body) {
        let Some(field) = statement
            .named_child(0)
            .filter(|field| statement.word() == "expression_statement" && field.word() == "assignment")
        else {
            continue;
        };
        let Some(declared) = field.field("type") else { continue };
        let value = field.field("right").map(|value| span(value).of(text));
        let is_left_out = value.is_some_and(|value| value.contains("init=") || value.contains("init ="));
        if is_left_out {
            return None;
        }
        if span(declared).of(text).contains("ClassVar") {
            continue;
        }
        let name = span(field.field("left")?).of(text).to_owned();
        // A field without a default may be described by a call all the same.
        let optional = value.is_some_and(|value| !value.contains("field(") || value.contains("default"));
        signature.parameters.push(Parameter { name, optional, passing: Passing::Either });
    }
    Some(signature)
}
