//! Declared types, and casts around the type checker.

use tree_sitter::Node;

use super::super::outline::Span;
use super::super::walk::{children, span};
use super::{Language, Reader};

/// The declared type of a parameter, of a variable, or of the result, whose name is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    /// Set for a type that allows everything.
    pub is_any: bool,
    pub span: Span,
}

impl Reader<'_> {
    /// Notes the types of the parameters and of the result.
    pub(super) fn note_signature(&mut self, node: Node<'_>, function: usize) {
        let parameters = ["parameters"].iter().find_map(|field| node.child_by_field_name(field));
        for parameter in parameters.into_iter().flat_map(children) {
            self.note_declared(parameter, function);
        }
        let result =
            ["return_type", "result", "returns"].iter().find_map(|field| node.child_by_field_name(field));
        if let Some(result) = result {
            self.push_type(String::new(), result, function);
        }
    }

    /// Notes the declared type of a variable, or a cast.
    pub(super) fn note_type(&mut self, node: Node<'_>, function: usize) {
        match node.kind() {
            "variable_declarator" | "assignment" | "let_declaration" => self.note_declared(node, function),
            "as_expression" | "unsafe_block" | "call" | "type_assertion" if self.is_escape(node) => {
                self.functions[function].escapes.push(span(node));
            }
            _ => {}
        }
    }

    fn note_declared(&mut self, node: Node<'_>, function: usize) {
        let Some(declared) = node.child_by_field_name("type") else { return };
        let fields = ["pattern", "name", "left"];
        let named =
            fields.iter().find_map(|field| node.child_by_field_name(field)).or_else(|| node.named_child(0));
        let name = named.map(|name| self.squashed(self.text_of(name))).unwrap_or_default();
        self.push_type(name, declared, function);
    }

    fn push_type(&mut self, name: String, declared: Node<'_>, function: usize) {
        let written = self.squashed(self.text_of(declared).trim_start_matches([':', ' ']));
        let is_any = self.is_any(&written);
        self.functions[function].types.push(Declared { name, is_any, span: span(declared) });
    }

    /// Returns whether a type allows everything.
    fn is_any(&self, written: &str) -> bool {
        match self.language {
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                matches!(written, "any" | "any[]" | "Array<any>" | "Promise<any>" | "Record<string,any>")
            }
            Language::Python => {
                matches!(written, "Any" | "typing.Any" | "t.Any" | "Optional[Any]" | "Any|None")
            }
            Language::Go => matches!(written, "any" | "interface{}" | "[]any" | "[]interface{}"),
            Language::CSharp => written == "dynamic",
            Language::C
            | Language::Cpp
            | Language::Java
            | Language::Kotlin
            | Language::Php
            | Language::Ruby
            | Language::Rust => false,
        }
    }

    fn is_escape(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "as_expression" => {
                let is_any = children(node)
                    .last()
                    .is_some_and(|target| matches!(self.text_of(target), "any" | "never"));
                let inner = node.named_child(0).filter(|inner| inner.kind() == "as_expression");
                let is_double = inner.is_some_and(|inner| {
                    children(inner)
                        .last()
                        .is_some_and(|target| matches!(self.text_of(target), "unknown" | "any"))
                });
                let is_inner = node.parent().is_some_and(|parent| parent.kind() == "as_expression");
                is_double || is_any && !is_inner
            }
            "type_assertion" => self.text_of(node).starts_with("<any>"),
            "unsafe_block" => self.language == Language::Rust,
            "call" if self.language == Language::Python => {
                let text = self.squashed(self.text_of(node));
                ["cast(Any,", "typing.cast(Any,", "cast(\"Any\","].iter().any(|cast| text.starts_with(cast))
            }
            _ => false,
        }
    }
}
