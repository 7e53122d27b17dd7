//! Parameters of functions and arguments of calls, where their numbers are certain.

use crate::tree::Node;
use qa_contracts::v1::{CallArguments, Parameter, Passing, Signature};

use super::super::Language;
use super::super::shape::parts;
use super::super::walk::span;

/// Returns the parameters of a function's node, without its receiver where it `is_method`.
pub(super) fn signature(
    language: Language,
    text: &str,
    function: Node<'_>,
    is_method: bool,
) -> Option<Signature> {
    let list = function.field("parameters")?;
    if list.has_error() {
        return None;
    }
    match language {
        Language::CSharp => of_csharp(text, list),
        Language::Go => of_go(text, list),
        Language::Java => of_java(text, list),
        Language::Php => of_php(text, list),
        Language::Python => of_python(text, list, is_method),
        Language::Rust => of_rust(list),
        Language::Tsx | Language::TypeScript => of_typescript(text, list),
        // A call in JavaScript may leave out any argument; the others have no imports that lead to files.
        Language::C | Language::Cpp | Language::JavaScript | Language::Kotlin | Language::Ruby => None,
    }
}

fn parameter(name: &str, optional: bool, passing: Passing) -> Parameter {
    Parameter { name: name.to_owned(), optional, passing }
}

fn of_python(text: &str, list: Node<'_>, is_method: bool) -> Option<Signature> {
    let mut signature = Signature::default();
    let mut passing = Passing::Either;
    for node in parts(list) {
        let name = node.field("name").or_else(|| node.named_child(0)).unwrap_or(node);
        let word = if node.word() == "typed_parameter" { name.word() } else { node.word() };
        match word {
            "positional_separator" => {
                for before in &mut signature.parameters {
                    before.passing = Passing::Position;
                }
            }
            "keyword_separator" => passing = Passing::Name,
            "list_splat_pattern" => {
                signature.any_positional = true;
                passing = Passing::Name;
            }
            "dictionary_splat_pattern" => signature.any_named = true,
            "identifier" => {
                let name = if node.word() == "identifier" { node } else { name };
                signature.parameters.push(parameter(span(name).of(text), false, passing));
            }
            "default_parameter" | "typed_default_parameter" => {
                signature.parameters.push(parameter(span(name).of(text), true, passing));
            }
            _ => return None,
        }
    }
    if is_method {
        // Without a receiver of its own it is none of these.
        if signature.parameters.is_empty() {
            return None;
        }
        signature.parameters.remove(0);
    }
    Some(signature)
}

fn of_typescript(text: &str, list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature::default();
    for node in parts(list) {
        let pattern = node.field("pattern")?;
        match (node.word(), pattern.word()) {
            (_, "this") => {}
            (_, "rest_pattern") => signature.any_positional = true,
            ("required_parameter", _) => {
                let name = span(pattern).of(text);
                let declared = node.field("type").map(|declared| span(declared).of(text)).unwrap_or_default();
                // An argument of such a type may be left out, and a parameter of types may stand for one.
                let optional = node.field("value").is_some()
                    || ["any", "unknown", "void"].iter().any(|word| declared.contains(word))
                    || is_type_parameter(text, node, declared);
                signature.parameters.push(parameter(name, optional, Passing::Position));
            }
            ("optional_parameter", _) => {
                signature.parameters.push(parameter(span(pattern).of(text), true, Passing::Position));
            }
            _ => return None,
        }
    }
    Some(signature)
}

/// Returns whether a declared type is a parameter of the function or the class around a node.
fn is_type_parameter(text: &str, node: Node<'_>, declared: &str) -> bool {
    let name = declared.trim_start_matches(':').trim();
    let mut around = node.parent();
    while let Some(outer) = around {
        let parameters = outer.field("type_parameters").map(parts).unwrap_or_default();
        let mut names = parameters.into_iter().filter_map(|parameter| parameter.field("name"));
        if names.any(|own| span(own).of(text) == name) {
            return true;
        }
        around = outer.parent();
    }
    false
}

fn of_go(text: &str, list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature::default();
    for node in parts(list) {
        match node.word() {
            "parameter_declaration" => {
                let declared = node.field("type")?;
                let names: Vec<&str> = parts(node)
                    .into_iter()
                    .filter(|part| *part != declared)
                    .map(|name| span(name).of(text))
                    .collect();
                let names = if names.is_empty() { vec![""] } else { names };
                let parameters = names.into_iter().map(|name| parameter(name, false, Passing::Position));
                signature.parameters.extend(parameters);
            }
            "variadic_parameter_declaration" => signature.any_positional = true,
            _ => return None,
        }
    }
    Some(signature)
}

fn of_java(text: &str, list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature::default();
    for node in parts(list) {
        match node.word() {
            "formal_parameter" => {
                let name = span(node.field("name")?).of(text);
                signature.parameters.push(parameter(name, false, Passing::Position));
            }
            "spread_parameter" => signature.any_positional = true,
            "receiver_parameter" => {}
            _ => return None,
        }
    }
    Some(signature)
}

fn of_csharp(text: &str, list: Node<'_>) -> Option<Signature> {
    // An array with `params` is a part of the list itself.
    let mut signature = Signature { any_positional: list.field("type").is_some(), ..Signature::default() };
    for node in parts(list).into_iter().filter(|node| node.word() == "parameter") {
        let (name, declared) = (node.field("name")?, node.field("type")?);
        let has_default = parts(node).last().is_some_and(|last| *last != name && *last != declared);
        let is_marked = node.named_child(0).is_some_and(|first| first.word() == "attribute_list");
        let name = span(name).of(text);
        signature.parameters.push(parameter(name, has_default || is_marked, Passing::Either));
    }
    Some(signature)
}

/// Returns the parameters of a function of PHP, to which any more arguments may be passed.
fn of_php(text: &str, list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature { any_positional: true, ..Signature::default() };
    for node in parts(list) {
        let name = span(node.field("name")?).of(text).trim_start_matches('$');
        match node.word() {
            "property_promotion_parameter" | "simple_parameter" => {
                let optional = node.field("default_value").is_some();
                signature.parameters.push(parameter(name, optional, Passing::Either));
            }
            "variadic_parameter" => signature.any_named = true,
            _ => return None,
        }
    }
    Some(signature)
}

fn of_rust(list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature::default();
    for node in parts(list) {
        match node.word() {
            // By its path a method is called with its receiver.
            "parameter" | "self_parameter" => {
                signature.parameters.push(parameter("", false, Passing::Position))
            }
            _ => return None,
        }
    }
    Some(signature)
}

/// Returns the fields of a struct of Rust as parameters of its literal; `None` where a field may be left out of a build.
pub(super) fn of_struct(text: &str, item: Node<'_>) -> Option<Signature> {
    let list = item.field("body").filter(|list| !list.has_error())?;
    let mut signature = Signature::default();
    for node in parts(list) {
        let is_conditional = node.word() == "attribute_item" && span(node).of(text).contains("cfg");
        if is_conditional {
            return None;
        }
        match (list.word(), node.word()) {
            ("field_declaration_list", "field_declaration") => {
                let name = span(node.field("name")?).of(text);
                signature.parameters.push(parameter(name, false, Passing::Name));
            }
            ("ordered_field_declaration_list", "attribute_item" | "visibility_modifier")
            | ("field_declaration_list", "attribute_item") => {}
            ("ordered_field_declaration_list", _) => {
                signature.parameters.push(parameter("", false, Passing::Position));
            }
            _ => return None,
        }
    }
    Some(signature)
}

/// Returns the arguments of a call; `None` where one may stand for several.
pub(super) fn arguments(language: Language, text: &str, list: Node<'_>) -> Option<CallArguments> {
    if list.has_error() || !matches!(list.word(), "argument_list" | "arguments" | "field_initializer_list") {
        return None;
    }
    let mut arguments = CallArguments::default();
    let all = parts(list);
    for node in &all {
        match node.word() {
            // An argument that stands for several in PHP, or for none.
            "argument" if matches!(node.named_child(0)?.word(), "variadic_unpacking") => return None,
            "variadic_placeholder" => return None,
            "argument" if node.field("name").is_some() => {
                arguments.named.push(span(node.field("name")?).of(text).to_owned());
            }
            "keyword_argument" => arguments.named.push(span(node.field("name")?).of(text).to_owned()),
            "field_initializer" => arguments.named.push(span(node.field("field")?).of(text).to_owned()),
            "shorthand_field_initializer" => arguments.named.push(span(*node).of(text).to_owned()),
            "base_field_initializer" => return None,
            "list_splat" | "dictionary_splat" | "spread_element" | "variadic_argument" | "attribute_item" => {
                return None;
            }
            // In Go the results of a call are the arguments of another one.
            "call_expression" if language == Language::Go && all.len() == 1 => return None,
            _ => arguments.positional += 1,
        }
    }
    Some(arguments)
}
