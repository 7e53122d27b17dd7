//! Classes that name the types whose members they have to write.

use super::super::Language;
use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::span;
use super::{Reader, each, last_name};
use crate::tree::{Node, Tree};

/// A class with the types that it extends or implements.
pub(crate) struct Implementer {
    pub(crate) name: String,
    /// The name, or the begin of a class without one.
    pub(crate) place: Span,
    pub(crate) bases: Vec<String>,
}

/// Returns the classes of a file that have to write every member of what they implement: none that is abstract, or that
/// gets members from elsewhere.
pub(crate) fn implementers(language: Language, tree: &Tree, text: &str) -> Vec<Implementer> {
    let reader = Reader { language, text };
    let mut found = Vec::new();
    each(tree, &mut |node| {
        found.extend(reader.implementer(node).filter(|found| !node.has_error() && !found.bases.is_empty()));
    });
    found
}

impl<'t> Reader<'t> {
    fn implementer(&self, node: Node<'t>) -> Option<Implementer> {
        use Language::{CSharp, Go, Java, Php, Python, Rust, Tsx, TypeScript};
        match (self.language, node.word()) {
            (Java, "class_declaration" | "record_declaration" | "object_creation_expression")
            | (Tsx | TypeScript, "class" | "class_declaration")
            | (CSharp, "class_declaration" | "record_declaration" | "struct_declaration")
            | (Php, "anonymous_class" | "class_declaration")
            | (Python, "class_definition") => self.class(node),
            (Rust, "impl_item") => self.rust_implementation(node),
            (Go, "var_spec") => self.go_assertion(node),
            _ => None,
        }
    }

    fn class(&self, node: Node<'t>) -> Option<Implementer> {
        let body = node
            .field("body")
            .or_else(|| node.named_children().find(|child| child.word() == "class_body"))?;
        let is_other =
            ["abstract", "partial", "sealed interface"].iter().any(|word| self.has_modifier(node, word));
        let inside = parts(body);
        let is_open = inside.iter().any(|member| {
            matches!(member.word(), "index_signature" | "use_declaration")
                || member.field("name").is_some_and(|name| name.word().starts_with("computed"))
        });
        if is_other || is_open || self.is_marked(node) {
            return None;
        }
        let name = node.field("name");
        let place = name.map_or(Span { start: node.start_byte(), end: node.start_byte() + 1 }, span);
        let name = name.map(|name| self.text_of(name).to_owned()).unwrap_or_default();
        Some(Implementer { name, place, bases: self.bases(node) })
    }

    /// Returns whether a decorator or an abstract member makes something else of a class.
    fn is_marked(&self, node: Node<'t>) -> bool {
        if self.language != Language::Python {
            return false;
        }
        let is_decorated = node.parent().is_some_and(|around| around.word() == "decorated_definition");
        is_decorated || self.text_of(node).contains("abstractmethod")
    }

    /// Returns the last names of the types that a class extends or implements.
    fn bases(&self, node: Node<'t>) -> Vec<String> {
        const LISTS: &[&str] = &[
            "argument_list",
            "base_clause",
            "base_list",
            "class_heritage",
            "class_interface_clause",
            "extends_clause",
            "implements_clause",
            "super_interfaces",
            "superclass",
            "type_list",
        ];
        let mut bases = Vec::new();
        let mut pending: Vec<Node<'t>> =
            node.named_children().filter(|child| LISTS.contains(&child.word())).collect();
        if node.word() == "object_creation_expression" {
            pending = node.field("type").into_iter().collect();
        }
        while let Some(part) = pending.pop() {
            match part.word() {
                word if LISTS.contains(&word) => pending.extend(parts(part)),
                "type_arguments" => {}
                // A keyword of Python, such as a metaclass, may make anything of a class.
                "keyword_argument" => bases.push("?".to_owned()),
                _ => bases.push(last_name(self.text_of(part)).to_owned()),
            }
        }
        bases
    }

    fn rust_implementation(&self, node: Node<'t>) -> Option<Implementer> {
        let implemented = last_name(self.text_of(node.field("trait")?)).to_owned();
        let above = node.prev_named_sibling().filter(|above| above.word() == "attribute_item");
        let is_plain = above.is_none_or(|above| {
            ["allow", "async_trait", "expect"].iter().any(|word| self.text_of(above).contains(word))
        });
        let inside = parts(node.field("body")?);
        if !is_plain || inside.iter().any(|member| member.word().contains("macro")) {
            return None;
        }
        let name = node.field("type")?;
        Some(Implementer {
            name: last_name(self.text_of(name)).to_owned(),
            place: span(name),
            bases: vec![implemented],
        })
    }

    /// Returns the type of Go that a line says to implement an interface: `var _ Store = (*Memory)(nil)`.
    fn go_assertion(&self, node: Node<'t>) -> Option<Implementer> {
        let name = node.field("name").filter(|name| self.text_of(*name) == "_")?;
        let base = last_name(self.field_of(node, "type")).to_owned();
        let value: String = self.field_of(node, "value").split_whitespace().collect();
        let value = value.trim_start_matches("new").trim_start_matches(['(', '*', '&']);
        let end = value.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(value.len());
        let implementer = value[..end].to_owned();
        let is_own = !implementer.is_empty() && !value[end..].starts_with('.');
        is_own.then(|| Implementer { name: implementer, place: span(name), bases: vec![base] })
    }
}
