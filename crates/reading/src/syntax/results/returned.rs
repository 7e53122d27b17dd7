//! The shape of what the functions of a file give back, as far as their callers depend on it.

use super::super::Language;
use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::{has_word, span};
use crate::tree::{Node, Tree};

/// The shape of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// An object with these declared members.
    Members(Vec<String>),
    /// A promise, or a coroutine.
    Promise,
    /// A number of values, of which several are taken apart by the caller.
    Values(u32),
    /// An `Option` or a `Result` of Rust.
    Wrapped,
    Unknown,
}

/// Returns the functions of a file outside of types, by their names, with the shapes of their results.
pub(crate) fn returned(language: Language, tree: &Tree, text: &str) -> Vec<(Span, Shape)> {
    let reader = Reader { language, text };
    let mut found = Vec::new();
    for node in tree.root_node().named_children() {
        let node = if node.word() == "export_statement" { node.field("declaration") } else { Some(node) };
        let Some(node) = node.filter(|node| !node.has_error()) else { continue };
        if matches!(node.word(), "lexical_declaration" | "variable_declaration") {
            for declarator in parts(node) {
                let value = declarator.field("value").filter(|value| is_function(*value));
                found.extend(value.and_then(|value| Some((declarator.field("name")?, value))));
            }
        } else if is_function(node) {
            found.extend(node.field("name").map(|name| (name, node)));
        }
    }
    found.into_iter().map(|(name, function)| (span(name), reader.shape(function))).collect()
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.word(),
        "arrow_function"
            | "function_declaration"
            | "function_definition"
            | "function_expression"
            | "function_item"
            | "generator_function_declaration"
    )
}

struct Reader<'t> {
    language: Language,
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn shape(&self, function: Node<'t>) -> Shape {
        match self.language {
            Language::Go => self.of_go(function),
            Language::JavaScript | Language::Tsx | Language::TypeScript => self.of_ecma(function),
            Language::Python => of_python(function),
            Language::Rust => self.of_rust(function),
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Java
            | Language::Kotlin
            | Language::Php
            | Language::Ruby => Shape::Unknown,
        }
    }

    fn of_go(&self, function: Node<'t>) -> Shape {
        let Some(result) = function.field("result") else { return Shape::Values(0) };
        if result.word() != "parameter_list" {
            return Shape::Values(1);
        }
        let mut count = 0;
        for declaration in parts(result) {
            // Names share the type behind them.
            count += parts(declaration).len().saturating_sub(1).max(1);
        }
        u32::try_from(count).map_or(Shape::Unknown, Shape::Values)
    }

    fn of_ecma(&self, function: Node<'t>) -> Shape {
        if function.word() == "generator_function_declaration" || has_word(function, "*") {
            return Shape::Unknown;
        }
        if has_word(function, "async") {
            return Shape::Promise;
        }
        let declared = function.field("return_type").and_then(|declared| declared.named_child(0));
        let Some(declared) = declared else { return Shape::Unknown };
        if self.text_of(declared).starts_with("Promise<") {
            return Shape::Promise;
        }
        let members: Option<Vec<String>> = parts(declared)
            .into_iter()
            .map(|member| {
                let name = member.field("name").filter(|name| name.word() == "property_identifier");
                name.map(|name| self.text_of(name).to_owned())
            })
            .collect();
        match members {
            Some(members) if declared.word() == "object_type" && !members.is_empty() => {
                Shape::Members(members)
            }
            _ => Shape::Unknown,
        }
    }

    fn of_rust(&self, function: Node<'t>) -> Shape {
        if has_word(function, "async") || function.field("return_type").is_none() {
            return Shape::Unknown;
        }
        let declared = function.field("return_type").map(|declared| self.text_of(declared));
        let declared = declared.unwrap_or_default();
        let path = declared.split('<').next().unwrap_or(declared);
        let last = path.rsplit("::").next().unwrap_or(path);
        if declared.contains('<') && matches!(last, "Option" | "Result") || path.ends_with("io::Result") {
            return Shape::Wrapped;
        }
        const PLAIN: &[&str] = &[
            "String", "bool", "char", "f32", "f64", "i16", "i32", "i64", "i8", "isize", "u16", "u32", "u64",
            "u8", "usize",
        ];
        if PLAIN.contains(&declared) { Shape::Values(1) } else { Shape::Unknown }
    }
}

fn of_python(function: Node<'_>) -> Shape {
    let Some(body) = function.field("body") else { return Shape::Unknown };
    let mut returns = Vec::new();
    if gather_returns(body, &mut returns, 0).is_none() {
        return Shape::Unknown;
    }
    if has_word(function, "async") {
        return Shape::Promise;
    }
    let mut shapes = returns.into_iter().map(of_returned);
    let Some(first) = shapes.next() else { return Shape::Unknown };
    if shapes.all(|other| other == first) { first } else { Shape::Unknown }
}

/// Deeper statements are not looked at.
const MAX_DEPTH: usize = 100;

/// Gathers the returns of a function; `None` for a generator.
fn gather_returns<'t>(node: Node<'t>, returns: &mut Vec<Node<'t>>, depth: usize) -> Option<()> {
    match node.word() {
        "class_definition" | "function_definition" | "lambda" => return Some(()),
        "yield" => return None,
        "return_statement" => returns.push(node),
        _ => {}
    }
    if depth > MAX_DEPTH {
        return None;
    }
    node.named_children().try_for_each(|child| gather_returns(child, returns, depth + 1))
}

fn of_returned(statement: Node<'_>) -> Shape {
    let Some(value) = statement.named_child(0) else { return Shape::Unknown };
    match value.word() {
        "expression_list" | "tuple" => {
            let all = parts(value);
            if all.iter().any(|part| part.word() == "list_splat") {
                return Shape::Unknown;
            }
            u32::try_from(all.len()).map_or(Shape::Unknown, Shape::Values)
        }
        "comparison_operator"
        | "false"
        | "float"
        | "integer"
        | "none"
        | "not_operator"
        | "true"
        | "unary_operator" => Shape::Values(1),
        // A sum may join two tuples.
        "binary_operator" if !has_word(value, "+") => Shape::Values(1),
        _ => Shape::Unknown,
    }
}
