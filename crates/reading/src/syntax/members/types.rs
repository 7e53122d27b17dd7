//! Types with members that other files list one by one.

use std::collections::BTreeMap;

use super::super::Language;
use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::span;
use super::Reader;
use crate::tree::{Node, Tree};

/// The way in which a type has its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Constants of a type of Go, which are names of their package.
    Constants,
    Enumeration,
    /// An interface, a trait or an abstract class.
    Interface,
    /// A union of texts.
    Union,
}

/// A type with its members.
pub(crate) struct ListedType {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) members: Vec<Span>,
    pub(crate) is_open: bool,
}

/// Nodes between a file and its types.
const TRANSPARENT: &[&str] = &[
    "compilation_unit",
    "declaration_list",
    "decorated_definition",
    "export_statement",
    "file_scoped_namespace_declaration",
    "module",
    "namespace_declaration",
    "namespace_definition",
    "program",
    "source_file",
    "type_declaration",
];

/// Returns the types of a file.
pub(crate) fn types(language: Language, tree: &Tree, text: &str) -> Vec<ListedType> {
    let reader = Reader { language, text };
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if TRANSPARENT.contains(&node.word()) {
            let inside: Vec<Node<'_>> = node.named_children().collect();
            pending.extend(inside.into_iter().rev());
        } else {
            found.extend(reader.listed(node).filter(|_| !node.has_error()));
        }
    }
    if language == Language::Go {
        found.extend(reader.constants(tree.root_node()));
    }
    found
}

impl Reader<'_> {
    fn listed(&self, node: Node<'_>) -> Option<ListedType> {
        use Language::{CSharp, Go, Java, Php, Python, Rust, Tsx, TypeScript};
        let (form, members) = match (self.language, node.word()) {
            (CSharp | Java | Php | Tsx | TypeScript, "enum_declaration") | (Rust, "enum_item") => {
                (Form::Enumeration, self.constants_of(node.field("body")?))
            }
            (Tsx | TypeScript, "type_alias_declaration") => {
                (Form::Union, self.texts_of(node.field("value")?)?)
            }
            (Python, "class_definition") => self.python_class(node)?,
            (CSharp | Java | Php | Tsx | TypeScript, "interface_declaration") | (Rust, "trait_item") => {
                (Form::Interface, self.required(node.field("body")?, false))
            }
            (Tsx | TypeScript, "abstract_class_declaration") => {
                (Form::Interface, self.required(node.field("body")?, true))
            }
            (CSharp | Java | Php, "class_declaration") if self.has_modifier(node, "abstract") => {
                (Form::Interface, self.required(node.field("body")?, true))
            }
            (Go, "type_spec") => {
                let declared = node.field("type").filter(|declared| declared.word() == "interface_type")?;
                (Form::Interface, self.required(declared, false))
            }
            _ => return None,
        };
        let name = self.field_of(node, "name").to_owned();
        Some(ListedType { name, form, members, is_open: self.is_open(node) })
    }

    /// Returns whether a build may leave members out, or another file may add some.
    fn is_open(&self, node: Node<'_>) -> bool {
        let head = node.field("body").map_or(node.end_byte(), |body| body.start_byte());
        let head = Span { start: node.start_byte(), end: head }.of(self.text);
        let body = node.field("body").map(parts).unwrap_or_default();
        let is_built = body.iter().any(|part| {
            let is_mark = matches!(part.word(), "attribute_item" | "attribute_list" | "macro_invocation");
            part.word().starts_with("preproc") || is_mark && self.text_of(*part).contains("cfg")
        });
        is_built || head.contains("[Flags") || self.has_modifier(node, "partial")
    }

    /// Returns the constants of an enumeration.
    fn constants_of(&self, body: Node<'_>) -> Vec<Span> {
        let constants = parts(body).into_iter().filter_map(|part| match part.word() {
            "property_identifier" => Some(span(part)),
            "enum_assignment"
            | "enum_case"
            | "enum_constant"
            | "enum_member_declaration"
            | "enum_variant" => part.field("name").map(span),
            _ => None,
        });
        constants.collect()
    }

    /// Returns the texts of a union that has nothing else.
    fn texts_of(&self, value: Node<'_>) -> Option<Vec<Span>> {
        if value.word() != "union_type" {
            return None;
        }
        let (mut texts, mut pending) = (Vec::new(), vec![value]);
        while let Some(node) = pending.pop() {
            match node.word() {
                "union_type" => pending.extend(parts(node).into_iter().rev()),
                "literal_type" => {
                    let text = node.named_child(0).filter(|text| text.word() == "string")?;
                    texts.push(span(text.named_child(0)?));
                }
                _ => return None,
            }
        }
        Some(texts)
    }

    /// Returns the members of an enumeration or of an abstract class of Python.
    fn python_class(&self, node: Node<'_>) -> Option<(Form, Vec<Span>)> {
        const ENUMERATIONS: &[&str] = &["Enum", "IntEnum", "StrEnum"];
        let bases = node.field("superclasses").map(parts).unwrap_or_default();
        let body = parts(node.field("body")?);
        let names = bases.iter().map(|base| super::last_name(self.text_of(*base)));
        if names.clone().any(|name| ENUMERATIONS.contains(&name)) {
            let values = body.iter().filter(|part| part.word() == "expression_statement");
            let values = values
                .filter_map(|part| part.named_child(0))
                .filter(|part| part.word() == "assignment" && part.field("type").is_none());
            let names = values
                .filter_map(|part| part.field("left"))
                .filter(|name| name.word() == "identifier" && !self.text_of(*name).starts_with('_'));
            return Some((Form::Enumeration, names.map(span).collect()));
        }
        // A protocol asks nothing of who names it as a base.
        if names.clone().any(|name| name == "Protocol") {
            return None;
        }
        let methods = body.iter().filter(|part| {
            part.word() == "decorated_definition" && self.text_of(**part).contains("abstractmethod")
        });
        let names = methods.filter_map(|part| part.field("definition")?.field("name"));
        Some((Form::Interface, names.map(span).collect()))
    }

    /// Returns the members that whoever implements a type has to write.
    fn required(&self, body: Node<'_>, is_class: bool) -> Vec<Span> {
        let mut previous: Option<Node<'_>> = None;
        let mut names = Vec::new();
        for part in parts(body) {
            let is_conditional = previous.is_some_and(|previous| {
                previous.word() == "attribute_item" && self.text_of(previous).contains("cfg")
            });
            previous = Some(part);
            let is_marked = ["default", "private", "static"].iter().any(|word| self.has_modifier(part, word));
            let is_required = match part.word() {
                "function_signature_item" => !is_conditional,
                "method_elem" => true,
                "method_signature" | "property_signature" => !self.is_optional(part) && !is_class,
                "abstract_method_signature" => !self.is_optional(part),
                "method_declaration" | "property_declaration" if is_class => {
                    part.field("body").is_none() && self.has_modifier(part, "abstract")
                }
                "method_declaration" => part.field("body").is_none() && !is_marked,
                "property_declaration" => {
                    let accessors = self.field_of(part, "accessors");
                    !accessors.is_empty()
                        && !accessors.contains("=>")
                        && !accessors[1..].contains('{')
                        && !is_marked
                }
                _ => false,
            };
            let name = part.field("name").filter(|name| !name.word().starts_with("computed"));
            names.extend(name.filter(|_| is_required).map(span));
        }
        names
    }

    /// Returns whether a question mark stands behind the name of a member.
    fn is_optional(&self, member: Node<'_>) -> bool {
        let name = member.field("name");
        name.is_some_and(|name| self.text[name.end_byte()..].trim_start().starts_with('?'))
    }

    /// Returns the constants of Go by their types: those below the first of a group have its type as well.
    fn constants(&self, root: Node<'_>) -> Vec<ListedType> {
        let mut all: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
        for group in root.named_children().filter(|node| node.word() == "const_declaration") {
            let mut current = "";
            for spec in group.named_children().filter(|node| node.word() == "const_spec") {
                if spec.field("type").is_some() || spec.field("value").is_some() {
                    current = self.field_of(spec, "type");
                }
                let name = spec.field("name").filter(|name| self.text_of(*name) != "_");
                if let Some(name) = name.filter(|_| !current.is_empty()) {
                    all.entry(current).or_default().push(span(name));
                }
            }
        }
        let types = all.into_iter().map(|(name, members)| ListedType {
            name: name.to_owned(),
            form: Form::Constants,
            members,
            is_open: false,
        });
        types.collect()
    }
}
