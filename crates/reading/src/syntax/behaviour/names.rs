//! Names of definitions and of called functions.

use tree_sitter::Node;

use super::super::test_blocks::body_of;
use super::super::walk::{children, span};
use super::Language;

/// Something with a name that others stand in.
pub(super) struct Definition<'n> {
    pub(super) name: String,
    /// Node with the parameters.
    pub(super) function: Node<'n>,
    /// Body of a function; `None` for what only groups others.
    pub(super) body: Option<Node<'n>>,
}

/// Functions that make a test or a group of the function that they are given.
const TESTS: &[&str] = &[
    "afterAll",
    "afterEach",
    "beforeAll",
    "beforeEach",
    "context",
    "describe",
    "it",
    "scenario",
    "specify",
    "suite",
    "test",
];

/// Returns what a node defines, if it has a name.
pub(super) fn definition<'n>(language: Language, text: &str, node: Node<'n>) -> Option<Definition<'n>> {
    match node.kind() {
        "abstract_class_declaration"
        | "class"
        | "class_declaration"
        | "class_definition"
        | "class_specifier"
        | "enum_declaration"
        | "interface_declaration"
        | "internal_module"
        | "mod_item"
        | "module"
        | "namespace_declaration"
        | "namespace_definition"
        | "object_declaration"
        | "record_declaration"
        | "struct_declaration"
        | "struct_specifier"
        | "trait_declaration"
        | "trait_item" => {
            let name = node.child_by_field_name("name")?;
            Some(Definition { name: word(text, name), function: node, body: None })
        }
        "impl_item" => {
            let subject = word(text, node.child_by_field_name("type")?);
            let name = match node.child_by_field_name("trait") {
                Some(implemented) => format!("{subject} as {}", word(text, implemented)),
                None => subject,
            };
            Some(Definition { name, function: node, body: None })
        }
        "constructor_declaration"
        | "function_declaration"
        | "function_definition"
        | "function_item"
        | "generator_function_declaration"
        | "method"
        | "method_declaration"
        | "method_definition"
        | "singleton_method" => {
            let body = body_of(node)?;
            Some(Definition { name: function_name(language, text, node)?, function: node, body: Some(body) })
        }
        "assignment_expression"
        | "field_definition"
        | "pair"
        | "public_field_definition"
        | "variable_declarator" => {
            let value = ["value", "right"].iter().find_map(|field| node.child_by_field_name(field))?;
            let name = ["name", "property", "key", "left"]
                .iter()
                .find_map(|field| node.child_by_field_name(field))?;
            let body = function_body(value)?;
            Some(Definition { name: word(text, name), function: value, body: Some(body) })
        }
        "call" | "call_expression" | "function_call_expression" => titled(text, node),
        _ => None,
    }
}

fn function_name(language: Language, text: &str, node: Node<'_>) -> Option<String> {
    if let Some(name) = node.child_by_field_name("name") {
        let receiver = node.child_by_field_name("receiver").filter(|_| language == Language::Go);
        let receiver = receiver.and_then(|receiver| receiver.named_child(0)?.child_by_field_name("type"));
        let name = word(text, name);
        return Some(match receiver {
            Some(receiver) => format!("{}.{name}", word(text, receiver).trim_start_matches('*')),
            None => name,
        });
    }
    // C and C++ have the name inside of the declarator. Overloads differ in their parameters.
    let mut declarator = node.child_by_field_name("declarator")?;
    while let Some(inner) = declarator.child_by_field_name("declarator") {
        if declarator.kind() == "function_declarator" {
            break;
        }
        declarator = inner;
    }
    Some(word(text, declarator))
}

/// Returns the body of a function that is a value.
fn function_body(value: Node<'_>) -> Option<Node<'_>> {
    let is_function = matches!(
        value.kind(),
        "anonymous_function"
            | "arrow_function"
            | "func_literal"
            | "function_expression"
            | "generator_function"
    );
    value.child_by_field_name("body").filter(|_| is_function)
}

/// Returns the test or group that a call makes of a title and a function: `it("…", () => { … })`.
fn titled<'n>(text: &str, call: Node<'n>) -> Option<Definition<'n>> {
    let callee = ["function", "method"].iter().find_map(|field| call.child_by_field_name(field))?;
    let callee = word(text, callee);
    let last = callee.rsplit('.').next().unwrap_or(&callee);
    let first = callee.split(['.', '(']).next().unwrap_or(&callee);
    if !TESTS.contains(&first) && !TESTS.contains(&last) {
        return None;
    }
    let arguments: Vec<Node<'n>> =
        call.child_by_field_name("arguments").into_iter().flat_map(children).collect();
    let title = arguments.first().map(|title| word(text, *title)).unwrap_or_default();
    let block = call.child_by_field_name("block");
    if let Some(block) = block {
        let body = block.child_by_field_name("body")?;
        return Some(Definition { name: title, function: block, body: Some(body) });
    }
    let given = arguments.into_iter().map(|given| match given.kind() {
        "argument" => given.named_child(0).unwrap_or(given),
        _ => given,
    });
    let (function, body) = given.filter_map(|given| Some((given, function_body(given)?))).next()?;
    Some(Definition { name: title, function, body: Some(body) })
}

/// Returns the text of a name without white space and quotes.
fn word(text: &str, node: Node<'_>) -> String {
    let text: String = span(node).of(text).split_whitespace().collect();
    text.trim_matches(['"', '\'', '`', '#']).to_owned()
}

/// Returns the name of the function that a node calls, without what it is called on.
pub(super) fn callee(text: &str, node: Node<'_>) -> Option<String> {
    let fields: &[&str] = match node.kind() {
        "call" | "method_invocation" | "member_call_expression" | "scoped_call_expression" => {
            &["method", "name", "function"]
        }
        "call_expression" | "function_call_expression" | "invocation_expression" => &["function"],
        "macro_invocation" => &["macro"],
        "new_expression" => &["constructor"],
        "object_creation_expression" => &["type"],
        _ => return None,
    };
    let named =
        fields.iter().find_map(|field| node.child_by_field_name(field)).or_else(|| node.named_child(0))?;
    let last =
        ["attribute", "property", "field", "name"].iter().find_map(|field| named.child_by_field_name(field));
    Some(word(text, last.unwrap_or(named)))
}
