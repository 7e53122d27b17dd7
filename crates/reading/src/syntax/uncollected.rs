//! Places where no runner finds tests, though they are written as such.

use tree_sitter::Node;

use super::Language;
use super::outline::Span;
use super::walk::{children, span};

/// Returns the head of a definition if a runner finds no tests inside of it: a function of Python or Rust, or a class
/// that pytest does not collect.
pub(super) fn hiding_definition(language: Language, text: &str, node: Node<'_>) -> Option<Span> {
    let hides = match language {
        Language::Python if node.kind() == "class_definition" => !is_collected_class(text, node),
        Language::Python | Language::Rust => node.kind().starts_with("function"),
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Java
        | Language::JavaScript
        | Language::Kotlin
        | Language::Php
        | Language::Ruby
        | Language::Tsx
        | Language::TypeScript => false,
    };
    hides.then(|| head(node))
}

/// Returns the text of a definition before its body.
pub(super) fn head(node: Node<'_>) -> Span {
    let body = node.child_by_field_name("body").or_else(|| node.child_by_field_name("value"));
    Span { start: node.start_byte(), end: body.map(|body| body.start_byte()).unwrap_or(node.end_byte()) }
}

/// Returns whether pytest collects the tests of a class: by its name, unless it is constructed with arguments, or by
/// what it extends.
fn is_collected_class(text: &str, class: Node<'_>) -> bool {
    let extends = class.child_by_field_name("superclasses").is_some_and(|all| {
        children(all).any(|base| base.kind() != "keyword_argument" && span(base).of(text) != "object")
    });
    let name = class.child_by_field_name("name").map(|name| span(name).of(text)).unwrap_or_default();
    let body = class.child_by_field_name("body");
    let has_constructor = body.into_iter().flat_map(children).any(|member| {
        let definition = member.child_by_field_name("definition").unwrap_or(member);
        definition.child_by_field_name("name").is_some_and(|name| span(name).of(text) == "__init__")
    });
    extends || name.starts_with("Test") && !has_constructor
}

/// Returns whether a decorator makes a function something else than a test, or a test without cases.
pub(super) fn is_disabling_decorator(text: &str, decorator: Node<'_>) -> bool {
    let Some(expression) = decorator.named_child(0) else { return false };
    let function = expression.child_by_field_name("function").unwrap_or(expression);
    let path = span(function).of(text);
    let last = path.rsplit('.').next().unwrap_or(path);
    match last {
        "fixture" => true,
        "parametrize" => {
            let Some(arguments) = expression.child_by_field_name("arguments") else { return false };
            cases_of_table(text, arguments).is_some_and(|cases| is_empty(text, cases))
        }
        _ => false,
    }
}

/// Returns the cases that `parametrize` is given.
fn cases_of_table<'n>(text: &str, arguments: Node<'n>) -> Option<Node<'n>> {
    let given = children(arguments).filter(|argument| !argument.kind().ends_with("comment"));
    let (named, plain): (Vec<_>, Vec<_>) = given.partition(|argument| argument.kind() == "keyword_argument");
    let values = named.into_iter().find(|argument| {
        argument.child_by_field_name("name").is_some_and(|name| span(name).of(text) == "argvalues")
    });
    values.and_then(|argument| argument.child_by_field_name("value")).or_else(|| plain.get(1).copied())
}

/// Returns whether a value is written as a collection without members; a name stands for what the file sets it to.
pub(super) fn is_empty(text: &str, node: Node<'_>) -> bool {
    let has_none = |node: Node<'_>| children(node).all(|child| child.kind().ends_with("comment"));
    match node.kind() {
        "array" | "dictionary" | "list" | "set" | "tuple" => has_none(node),
        "call" => {
            let squashed: String = span(node).of(text).split_whitespace().collect();
            matches!(squashed.as_str(), "dict()" | "list()" | "range(0)" | "set()" | "tuple()")
        }
        "identifier" => {
            assigned(text, node).is_some_and(|value| value.kind() != "identifier" && is_empty(text, value))
        }
        _ => false,
    }
}

/// Returns the value that the top level of a file last gives a name.
fn assigned<'n>(text: &str, name: Node<'n>) -> Option<Node<'n>> {
    let mut root = name;
    while let Some(parent) = root.parent() {
        root = parent;
    }
    let assignments = children(root).filter_map(|statement| statement.named_child(0));
    let of_name = assignments.filter(|node| {
        let target = node.child_by_field_name("left").filter(|_| node.kind() == "assignment");
        target.is_some_and(|target| span(target).of(text) == span(name).of(text))
    });
    of_name.last()?.child_by_field_name("right")
}

/// Returns the name of a statement's function if its body is empty, as in `function it() {}`.
pub(super) fn idle_function<'t>(text: &'t str, statement: Node<'_>) -> Option<&'t str> {
    let definition = match statement.kind() {
        "lexical_declaration" | "variable_declaration" => statement.named_child(0)?,
        _ => statement,
    };
    let body = definition.child_by_field_name("body").or_else(|| {
        let value = definition.child_by_field_name("value")?;
        value.child_by_field_name("body")
    })?;
    let is_idle = body.kind() == "statement_block" && children(body).all(|child| child.kind() == "comment");
    let name = definition.child_by_field_name("name")?;
    is_idle.then(|| span(name).of(text))
}

/// Returns the name that a statement at the top of a file sets or deletes.
pub(super) fn overwritten<'t>(text: &'t str, statement: Node<'_>) -> Option<&'t str> {
    let target = match statement.kind() {
        "delete_statement" => statement.named_child(0)?,
        "expression_statement" => {
            let assignment = statement.named_child(0).filter(|node| node.kind() == "assignment")?;
            assignment.child_by_field_name("left")?
        }
        _ => return None,
    };
    Some(span(target).of(text))
}
