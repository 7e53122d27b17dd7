//! Places where no runner finds tests, though they are written as such.

use std::collections::BTreeSet;

use super::Language;
use super::outline::Span;
use super::test_cases::{Mark, Reader};
use super::walk::span;
use crate::tree::Node;

impl Reader<'_> {
    /// Returns the mark of a definition that hides the tests inside of it.
    pub(super) fn uncollected(&self, node: Node<'_>) -> Option<Mark> {
        let hidden = hiding_definition(self.language, self.text, node, &self.extended)
            .or_else(|| self.uncalled(node))?;
        Some(Mark::uncollected(hidden))
    }

    /// Returns the word of Ruby that hides the methods of a class below it, and so a test.
    pub(super) fn hidden_below(&self, method: Node<'_>) -> Option<Mark> {
        let mut above = method.prev_named_sibling().filter(|_| self.language == Language::Ruby);
        while let Some(node) = above {
            match self.text_of(node) {
                "private" | "protected" => return Some(Mark::uncollected(span(node))),
                "public" => return None,
                _ => above = node.prev_named_sibling(),
            }
        }
        None
    }

    /// Returns the head of a function of JavaScript that nothing names and no other file can import.
    fn uncalled(&self, node: Node<'_>) -> Option<Span> {
        let is_function = node.word() == "function_declaration"
            || node.field("value").is_some_and(|value| value.word().contains("function"));
        let is_ecma = matches!(self.language, Language::JavaScript | Language::Tsx | Language::TypeScript);
        let name = node.field("name").filter(|_| is_function && is_ecma)?;
        if self.is_named_elsewhere(self.text_of(name)) {
            return None;
        }
        let is_exported = std::iter::successors(node.parent(), Node::parent)
            .take(2)
            .any(|parent| parent.word() == "export_statement");
        (!is_exported).then(|| head(node))
    }
}

/// Returns the head of a definition if a runner finds no tests inside of it: a function of Python or Rust, or a class
/// that pytest does not collect and that is none of those from which a class of tests takes its tests.
pub(super) fn hiding_definition(
    language: Language,
    text: &str,
    node: Node<'_>,
    extended: &BTreeSet<&str>,
) -> Option<Span> {
    let hides = match language {
        Language::Python if node.word() == "class_definition" => {
            let name = node.field("name").map(|name| span(name).of(text)).unwrap_or_default();
            !is_collected_class(text, node) && !extended.contains(name)
        }
        Language::Python | Language::Rust => node.word().starts_with("function"),
        // PHPUnit and Minitest run the tests of classes that extend theirs.
        Language::Php if node.word() == "class_declaration" => {
            node.named_children().all(|child| child.word() != "base_clause")
        }
        Language::Ruby if node.word() == "class" => node.field("superclass").is_none(),
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
    let body = node.field("body").or_else(|| node.field("value"));
    Span { start: node.start_byte(), end: body.map(|body| body.start_byte()).unwrap_or(node.end_byte()) }
}

/// Returns whether pytest collects the tests of a class: by its name, unless it is constructed with arguments, or by
/// what it extends.
fn is_collected_class(text: &str, class: Node<'_>) -> bool {
    let extends = bases(class).any(|base| !is_plain(text, class, base));
    let name = class.field("name").map(|name| span(name).of(text)).unwrap_or_default();
    let body = class.field("body");
    let has_constructor = body.into_iter().flat_map(|node| node.named_children()).any(|member| {
        let definition = member.field("definition").unwrap_or(member);
        definition.field("name").is_some_and(|name| span(name).of(text) == "__init__")
    });
    extends || name.starts_with("Test") && !has_constructor
}

/// Returns the classes that a class of Python extends.
fn bases(class: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let all = class.field("superclasses").into_iter().flat_map(|node| node.named_children());
    all.filter(|base| base.word() != "keyword_argument" && !base.is_comment())
}

/// Returns whether a base of a class is `object`, or a class at the top of the file that extends nothing else.
fn is_plain(text: &str, class: Node<'_>, base: Node<'_>) -> bool {
    let name = span(base).of(text);
    if name == "object" {
        return true;
    }
    let parent = class.parent();
    let around =
        parent.filter(|parent| parent.word() == "decorated_definition").and_then(|parent| parent.parent());
    let siblings = around.or(parent).into_iter().flat_map(|node| node.named_children());
    let mut classes = siblings.map(|sibling| sibling.field("definition").unwrap_or(sibling));
    classes.any(|other| {
        let is_named = other.word() == "class_definition"
            && other.field("name").is_some_and(|own| span(own).of(text) == name);
        is_named && bases(other).all(|base| span(base).of(text) == "object")
    })
}

/// Returns the names of the classes of Python that a class at the top of a file extends which is collected by its name
/// or by another class that it extends.
pub(super) fn extended_classes<'t>(text: &'t str, root: Node<'_>) -> BTreeSet<&'t str> {
    let mut extended = BTreeSet::new();
    for statement in root.named_children() {
        let class = statement.field("definition").unwrap_or(statement);
        let name = class.field("name").map(|name| span(name).of(text)).unwrap_or_default();
        let bases: Vec<&str> =
            bases(class).map(|base| span(base).of(text)).filter(|base| *base != "object").collect();
        if name.starts_with("Test") || bases.len() > 1 {
            extended.extend(bases);
        }
    }
    extended
}

/// Returns whether a decorator makes a function something else than a test, or a test without cases.
pub(super) fn is_disabling_decorator(text: &str, decorator: Node<'_>, empty: &BTreeSet<&str>) -> bool {
    let Some(expression) = decorator.named_child(0) else { return false };
    let function = expression.field("function").unwrap_or(expression);
    let path = span(function).of(text);
    let last = path.rsplit('.').next().unwrap_or(path);
    match last {
        "asynccontextmanager" | "cached_property" | "contextmanager" | "fixture" | "property" => true,
        "parametrize" => {
            let Some(arguments) = expression.field("arguments") else { return false };
            cases_of_table(text, arguments).is_some_and(|cases| is_empty(text, cases, empty))
        }
        _ => false,
    }
}

/// Returns the cases that `parametrize` is given.
fn cases_of_table<'n>(text: &str, arguments: Node<'n>) -> Option<Node<'n>> {
    let given = arguments.named_children().filter(|argument| !argument.word().ends_with("comment"));
    let (named, plain): (Vec<_>, Vec<_>) = given.partition(|argument| argument.word() == "keyword_argument");
    let values = named
        .into_iter()
        .find(|argument| argument.field("name").is_some_and(|name| span(name).of(text) == "argvalues"));
    values.and_then(|argument| argument.field("value")).or_else(|| plain.get(1).copied())
}

/// Returns whether a value is a collection without members, written out or by one of the names that stand for one.
pub(super) fn is_empty(text: &str, node: Node<'_>, names: &BTreeSet<&str>) -> bool {
    match node.word() {
        "array" | "dictionary" | "list" | "set" | "tuple" => {
            node.named_children().all(|child| child.word().ends_with("comment"))
        }
        "call" => {
            let squashed: String = span(node).of(text).split_whitespace().collect();
            matches!(squashed.as_str(), "dict()" | "list()" | "range(0)" | "set()" | "tuple()")
        }
        "identifier" => names.contains(span(node).of(text)),
        _ => false,
    }
}

/// Returns the names to which the top level of a file last gives a collection without members, and adds none.
pub(super) fn empty_names<'t>(text: &'t str, root: Node<'_>) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    let none = BTreeSet::new();
    for node in root.named_children().filter_map(|statement| statement.named_child(0)) {
        let left = node.field("left").map(|left| span(left).of(text));
        let right = node.field("right");
        let is_empty_value = right.is_some_and(|right| is_empty(text, right, &none));
        match (node.word(), left) {
            ("assignment", Some(left)) if is_empty_value => {
                names.insert(left);
            }
            ("augmented_assignment", Some(_)) if is_empty_value => {}
            ("assignment" | "augmented_assignment", Some(left)) => {
                names.remove(left);
            }
            _ => {
                if let Some(grown) = grown(text, node, &none) {
                    names.remove(grown);
                }
            }
        }
    }
    names
}

/// Returns the name to which a call adds members: `NAME.append(…)`.
fn grown<'t>(text: &'t str, call: Node<'_>, none: &BTreeSet<&str>) -> Option<&'t str> {
    let function = call.field("function").filter(|_| call.word() == "call")?;
    let arguments = call.field("arguments")?;
    let (name, method) = span(function).of(text).rsplit_once('.')?;
    let adds = match method {
        "add" | "append" | "insert" => true,
        "extend" | "update" => !arguments.named_children().all(|argument| is_empty(text, argument, none)),
        _ => false,
    };
    adds.then_some(name)
}

/// Returns the name of a statement's function if its body is empty, as in `function it() {}`.
pub(super) fn idle_function<'t>(text: &'t str, statement: Node<'_>) -> Option<&'t str> {
    let definition = match statement.word() {
        "lexical_declaration" | "variable_declaration" => statement.named_child(0)?,
        _ => statement,
    };
    let value = definition.field("value");
    let body = definition.field("body").or_else(|| value?.field("body"));
    let is_idle = match (body, value) {
        // A function that calls nothing makes no test.
        (Some(body), _) => {
            matches!(definition.word(), "function_declaration" | "variable_declarator")
                && body.word() != "class_body"
                && !span(body).of(text).contains(['(', '`'])
        }
        (None, Some(value)) => {
            let function = value.field("function").map(|function| span(function).of(text));
            matches!(function, Some("Object.assign" | "jest.fn" | "mock.fn" | "sinon.stub" | "vi.fn"))
        }
        (None, None) => false,
    };
    let name = definition.field("name")?;
    is_idle.then(|| span(name).of(text))
}

/// Returns whether a value is a call that is given a test and may return it.
pub(super) fn is_decorated(text: &str, value: Node<'_>, test: &str) -> bool {
    const OTHERWISE: &[&str] = &["fixture", "lambda", "print", "skip", "xfail"];
    let inner = value.named_child(0).filter(|_| value.word() == "parenthesized_expression");
    let call = inner.unwrap_or(value);
    let Some(function) = call.field("function") else { return false };
    let function = span(function).of(text);
    let arguments = call.field("arguments");
    arguments
        .into_iter()
        .flat_map(|node| node.named_children())
        .any(|argument| span(argument).of(text) == test)
        && !OTHERWISE.iter().any(|word| function.contains(word))
}
