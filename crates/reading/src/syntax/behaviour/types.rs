//! Declared types, and casts around the type checker.

use super::super::outline::Span;
use super::super::walk::span;
use super::{Facts, Language, Reader};
use crate::tree::Node;

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
    pub(super) fn note_signature(&self, node: Node<'_>, facts: &mut Facts) {
        let parameters = ["parameters"].iter().find_map(|field| node.field(field));
        for parameter in parameters.into_iter().flat_map(|node| node.named_children()) {
            self.note_declared(parameter, facts);
        }
        let result = ["return_type", "result", "returns"].iter().find_map(|field| node.field(field));
        if let Some(result) = result {
            self.push_type(String::new(), result, facts);
        }
    }

    /// Notes the declared type of a variable, or a cast.
    pub(super) fn note_type(&self, node: Node<'_>, facts: &mut Facts) {
        match node.word() {
            "variable_declarator" | "assignment" | "let_declaration" => self.note_declared(node, facts),
            "as_expression" | "unsafe_block" | "call" | "type_assertion" if self.is_escape(node) => {
                facts.escapes.push(span(node));
            }
            _ => {}
        }
    }

    fn note_declared(&self, node: Node<'_>, facts: &mut Facts) {
        let Some(declared) = node.field("type") else { return };
        let fields = ["pattern", "name", "left"];
        let named = fields.iter().find_map(|field| node.field(field)).or_else(|| node.named_child(0));
        let name = named.map(|name| self.squashed(self.text_of(name))).unwrap_or_default();
        self.push_type(name, declared, facts);
    }

    fn push_type(&self, name: String, declared: Node<'_>, facts: &mut Facts) {
        let written = self.squashed(self.text_of(declared).trim_start_matches([':', ' ']));
        let is_any = self.is_any(&written);
        facts.types.push(Declared { name, is_any, span: span(declared) });
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
            Language::CSharp => matches!(written, "dynamic" | "object" | "object?"),
            Language::Java => {
                matches!(written, "Object" | "Object[]" | "List<Object>" | "Map<String,Object>")
            }
            Language::Kotlin => matches!(written, "Any" | "Any?"),
            Language::Php => written == "mixed",
            Language::C | Language::Cpp | Language::Ruby | Language::Rust => false,
        }
    }

    fn is_escape(&self, node: Node<'_>) -> bool {
        match node.word() {
            "as_expression" => {
                let is_any = node
                    .named_children()
                    .last()
                    .is_some_and(|target| matches!(self.text_of(target), "any" | "never"));
                let inner = node.named_child(0).filter(|inner| inner.word() == "as_expression");
                let is_double = inner.is_some_and(|inner| {
                    inner
                        .named_children()
                        .last()
                        .is_some_and(|target| matches!(self.text_of(target), "unknown" | "any"))
                });
                let is_inner = node.parent().is_some_and(|parent| parent.word() == "as_expression");
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
