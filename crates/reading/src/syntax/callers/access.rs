//! Members that their modifiers keep inside of their type.

use super::super::Language;
use super::super::walk::{has_word, span};
use crate::tree::Node;

/// Returns whether a member of a type, given by the node around its name, is private to it.
pub(super) fn is_private(language: Language, text: &str, whole: Node<'_>) -> bool {
    let member = declaration(whole);
    let modifiers = modifiers(member);
    match language {
        Language::CSharp => is_private_in_csharp(member, &modifiers, text),
        Language::Java | Language::Php | Language::Tsx | Language::TypeScript => {
            modifiers.iter().any(|node| has_word(*node, "private") || span(*node).of(text) == "private")
        }
        Language::C
        | Language::Cpp
        | Language::Go
        | Language::JavaScript
        | Language::Kotlin
        | Language::Python
        | Language::Ruby => false,
        // Its module sees it as well.
        Language::Rust => {
            modifiers.is_empty() && around(member).is_some_and(|around| around.word() == "impl_item")
        }
    }
}

/// Returns whether a method, given by the node around its name, belongs to its type and not to objects of that.
pub(super) fn is_static(text: &str, whole: Node<'_>) -> bool {
    let is_method = matches!(
        whole.word(),
        "field_definition" | "method_declaration" | "method_definition" | "public_field_definition"
    );
    is_method
        && (has_word(whole, "static")
            || modifiers(whole)
                .iter()
                .any(|node| has_word(*node, "static") || span(*node).of(text) == "static"))
}

fn modifiers(member: Node<'_>) -> Vec<Node<'_>> {
    let kept = member.named_children().filter(|child| {
        matches!(
            child.word(),
            "accessibility_modifier" | "modifier" | "modifiers" | "static_modifier" | "visibility_modifier"
        )
    });
    kept.collect()
}

/// Returns the declaration that gives a name its modifiers: it may declare several.
fn declaration(whole: Node<'_>) -> Node<'_> {
    let mut node = whole;
    while matches!(
        node.word(),
        "const_element" | "property_element" | "variable_declaration" | "variable_declarator"
    ) && let Some(around) = node.parent()
    {
        node = around;
    }
    node
}

fn around(member: Node<'_>) -> Option<Node<'_>> {
    member.parent().and_then(|body| body.parent())
}

/// Returns whether a member of a class or a struct of C# gives no other access: without any it is private.
fn is_private_in_csharp(member: Node<'_>, modifiers: &[Node<'_>], text: &str) -> bool {
    let is_of_class = around(member).is_some_and(|around| {
        matches!(around.word(), "class_declaration" | "record_declaration" | "struct_declaration")
    });
    let is_explicit = member.named_children().any(|child| child.word() == "explicit_interface_specifier");
    is_of_class
        && !is_explicit
        && modifiers.iter().all(|node| !matches!(span(*node).of(text), "internal" | "protected" | "public"))
}
