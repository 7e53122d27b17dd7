//! Names of definitions and of called functions.

use std::borrow::Cow;

use super::super::test_blocks::body_of;
use super::super::walk::span;
use super::Language;
use crate::tree::Node;

/// Named function or group, such as a class, that may enclose other definitions.
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

/// Kinds of nodes that may define something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defines {
    /// A class, a module or something else that groups others.
    Group,
    Implementation,
    Function,
    /// A name for a value, which may be a function.
    Value,
    /// A call, which may make a test of a function.
    Call,
}

impl Defines {
    /// Returns what nodes of a kind may define.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
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
            | "trait_item" => Self::Group,
            "impl_item" => Self::Implementation,
            "constructor_declaration"
            | "function_declaration"
            | "function_definition"
            | "function_item"
            | "generator_function_declaration"
            | "method"
            | "method_declaration"
            | "method_definition"
            | "singleton_method" => Self::Function,
            "assignment_expression"
            | "field_definition"
            | "pair"
            | "public_field_definition"
            | "variable_declarator" => Self::Value,
            "call" | "call_expression" | "function_call_expression" => Self::Call,
            _ => return None,
        })
    }

    /// Returns whether it takes a function that is a value, or a block.
    pub(crate) fn takes_value(self) -> bool {
        match self {
            Self::Group | Self::Implementation | Self::Function => false,
            Self::Value | Self::Call => true,
        }
    }
}

/// Returns what a node defines, if it has a name.
pub(super) fn definition<'n>(
    defines: Defines,
    language: Language,
    text: &str,
    node: Node<'n>,
) -> Option<Definition<'n>> {
    match defines {
        Defines::Group => {
            let name = node.field("name")?;
            Some(Definition { name: word(text, name).into_owned(), function: node, body: None })
        }
        Defines::Implementation => {
            let subject = word(text, node.field("type")?);
            let name = match node.field("trait") {
                Some(implemented) => format!("{subject} as {}", word(text, implemented)),
                None => subject.into_owned(),
            };
            Some(Definition { name, function: node, body: None })
        }
        Defines::Function => {
            let body = body_of(node)?;
            Some(Definition { name: function_name(language, text, node)?, function: node, body: Some(body) })
        }
        Defines::Value => {
            let value = ["value", "right"].iter().find_map(|field| node.field(field))?;
            let body = function_body(value)?;
            let name = ["name", "property", "key", "left"].iter().find_map(|field| node.field(field))?;
            Some(Definition { name: word(text, name).into_owned(), function: value, body: Some(body) })
        }
        Defines::Call => titled(text, node),
    }
}

fn function_name(language: Language, text: &str, node: Node<'_>) -> Option<String> {
    if let Some(name) = node.field("name") {
        let receiver = node.field("receiver").filter(|_| language == Language::Go);
        let receiver = receiver.and_then(|receiver| receiver.named_child(0)?.field("type"));
        let name = word(text, name);
        return Some(match receiver {
            Some(receiver) => format!("{}.{name}", word(text, receiver).trim_start_matches('*')),
            None => name.into_owned(),
        });
    }
    // C and C++ have the name inside of the declarator. Overloads differ in their parameters.
    let mut declarator = node.field("declarator")?;
    while let Some(inner) = declarator.field("declarator") {
        if declarator.word() == "function_declarator" {
            break;
        }
        declarator = inner;
    }
    Some(word(text, declarator).into_owned())
}

/// Returns the body of a function that is a value.
fn function_body(value: Node<'_>) -> Option<Node<'_>> {
    if is_function_value(value.word()) { value.field("body") } else { None }
}

/// Returns whether nodes of a kind are functions without a name of their own.
pub(crate) fn is_function_value(kind: &str) -> bool {
    matches!(
        kind,
        "anonymous_function"
            | "arrow_function"
            | "func_literal"
            | "function_expression"
            | "generator_function"
    )
}

/// Returns the test or group that a call makes of a title and a function: `it("…", () => { … })`.
fn titled<'n>(text: &str, call: Node<'n>) -> Option<Definition<'n>> {
    let callee = ["function", "method"].iter().find_map(|field| call.field(field))?;
    let callee = word(text, callee);
    let last = callee.rsplit('.').next().unwrap_or(&callee);
    let first = callee.split(['.', '(']).next().unwrap_or(&callee);
    if !TESTS.contains(&first) && !TESTS.contains(&last) {
        return None;
    }
    let arguments: Vec<Node<'n>> =
        call.field("arguments").into_iter().flat_map(|node| node.named_children()).collect();
    let title = arguments.first().map(|title| word(text, *title).into_owned()).unwrap_or_default();
    let block = call.field("block");
    if let Some(block) = block {
        let body = block.field("body")?;
        return Some(Definition { name: title, function: block, body: Some(body) });
    }
    let given = arguments.into_iter().map(|given| match given.word() {
        "argument" => given.named_child(0).unwrap_or(given),
        _ => given,
    });
    let (function, body) = given.filter_map(|given| Some((given, function_body(given)?))).next()?;
    Some(Definition { name: title, function, body: Some(body) })
}

/// Returns the text of a name without white space and quotes.
fn word<'t>(text: &'t str, node: Node<'_>) -> Cow<'t, str> {
    const QUOTES: &[char] = &['"', '\'', '`', '#'];
    let text = span(node).of(text);
    if !text.contains(char::is_whitespace) {
        return Cow::Borrowed(text.trim_matches(QUOTES));
    }
    let text: String = text.split_whitespace().collect();
    Cow::Owned(text.trim_matches(QUOTES).to_owned())
}

/// Returns the name of the function that a node calls, without what it is called on.
pub(super) fn callee(text: &str, node: Node<'_>) -> Option<String> {
    Some(word(text, called(node)?).into_owned())
}

/// Returns the place of that name.
pub(super) fn called(node: Node<'_>) -> Option<Node<'_>> {
    let fields: &[&str] = match node.word() {
        "call" | "method_invocation" | "member_call_expression" | "scoped_call_expression" => {
            &["method", "name", "function"]
        }
        "call_expression" | "function_call_expression" | "invocation_expression" => &["function"],
        "macro_invocation" => &["macro"],
        "new_expression" => &["constructor"],
        "object_creation_expression" => &["type"],
        _ => return None,
    };
    let named = fields.iter().find_map(|field| node.field(field)).or_else(|| node.named_child(0))?;
    let last = ["attribute", "property", "field", "name"].iter().find_map(|field| named.field(field));
    Some(last.unwrap_or(named))
}
