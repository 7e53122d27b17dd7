//! Definitions of a file with their owners and parameters, by the symbols of its outline.

use qa_contracts::v1::{DefinitionKind, Signature};
use tree_sitter::{Node, Tree};

use super::super::Language;
use super::super::outline::{Outline, Span, Symbol, SymbolKind};
use super::super::shape::parts;
use super::super::walk::{children, has_word, span};
use super::seek::{Found, Seeker};
use super::signatures::signature;
use crate::nodes::Tabled;
use crate::outlines::MAX_NAME_BYTES;

/// A definition that other files may refer to.
pub(crate) struct Defined {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) owner: Option<String>,
    pub(crate) kind: DefinitionKind,
    pub(crate) public: bool,
    pub(crate) open: bool,
    pub(crate) signature: Option<Signature>,
}

/// Nodes between a definition and what it belongs to.
const TRANSPARENT: &[&str] = &[
    "class_body",
    "class_declaration",
    "const_declaration",
    "constant_declaration",
    "declaration_list",
    "decorated_definition",
    "enum_body",
    "enum_body_declarations",
    "export_statement",
    "field_declaration",
    "interface_body",
    "lexical_declaration",
    "type_declaration",
    "var_declaration",
    "var_spec_list",
    "variable_declaration",
];
const ROOTS: &[&str] = &["module", "program", "source_file"];
const TYPES: &[&str] = &[
    "annotation_type_declaration",
    "class_declaration",
    "enum_declaration",
    "impl_item",
    "interface_declaration",
    "record_declaration",
];

/// Returns the definitions of a tree, in the order of the text.
pub(crate) fn definitions(language: Language, tree: &Tree, text: &str, outline: &Outline) -> Vec<Defined> {
    let reader = Reader { language, text };
    let mut seeker = Seeker::new(tree);
    let defined = outline.symbols.iter().map(|symbol| reader.defined(symbol, seeker.find(symbol.name_span)));
    defined.flatten().collect()
}

struct Reader<'t> {
    language: Language,
    text: &'t str,
}

/// Owner of a definition.
enum Owner {
    File,
    Type(String),
}

impl<'t> Reader<'t> {
    fn defined(&self, symbol: &Symbol, name: Found<'_, 't>) -> Option<Defined> {
        let whole = name.parent()?;
        // A method of Go is found by the type of its receiver alone.
        if self.language == Language::Go && whole.node.word() == "method_declaration" {
            return None;
        }
        let owner = match symbol.top_level {
            true => None,
            false => match self.owner(whole.parent()?)? {
                Owner::File => None,
                Owner::Type(name) => Some(name),
            },
        };
        if owner.is_some() && !matches!(self.language, Language::Java | Language::Rust) {
            return None;
        }
        Some(Defined {
            name: symbol.name.clone(),
            name_span: symbol.name_span,
            kind: kind(symbol.kind, whole.node),
            public: symbol.exported,
            open: self.is_open(symbol, whole),
            signature: self.signature(whole, owner.as_deref()),
            owner,
        })
    }

    /// Returns what a definition belongs to, or `None` for one that is local to a function.
    fn owner(&self, mut around: Found<'_, 't>) -> Option<Owner> {
        loop {
            let node = around.node;
            let word = node.word();
            if ROOTS.contains(&word) {
                return Some(Owner::File);
            }
            if TYPES.contains(&word) {
                // Types inside of types have longer names.
                let is_outer = around.parent().is_some_and(|outer| ROOTS.contains(&outer.node.word()));
                let of_trait = node.field("trait").is_some();
                let name = node.field("name").or_else(|| node.field("type"))?;
                let name = if name.word() == "generic_type" { name.field("type")? } else { name };
                let name = span(name).of(self.text);
                let is_plain = is_outer && !of_trait && name.len() <= MAX_NAME_BYTES;
                return is_plain.then(|| Owner::Type(name.to_owned()));
            }
            if !TRANSPARENT.contains(&word) {
                return None;
            }
            around = around.parent()?;
        }
    }

    fn is_open(&self, symbol: &Symbol, found: Found<'_, 't>) -> bool {
        let whole = found.node;
        let inherits = ["superclass", "interfaces", "superclasses"]
            .iter()
            .any(|field| whole.field(field).is_some())
            || children(whole).any(|child| matches!(child.word(), "class_heritage" | "extends_interfaces"));
        symbol.conditional || inherits || is_annotated(whole) || self.is_decorated(found)
    }

    /// Returns whether something makes another thing of a definition than its text says.
    fn is_decorated(&self, found: Found<'_, 't>) -> bool {
        let whole = found.node;
        match self.language {
            Language::Python => {
                found.parent().is_some_and(|around| around.node.word() == "decorated_definition")
            }
            Language::Tsx | Language::TypeScript => whole.field("decorator").is_some(),
            Language::Rust => {
                let mut above = whole.prev_named_sibling();
                while let Some(node) =
                    above.filter(|node| node.is_comment() || node.word() == "attribute_item")
                {
                    let text = span(node).of(self.text);
                    let plain = [
                        "allow",
                        "cfg_attr",
                        "cold",
                        "deprecated",
                        "doc",
                        "expect",
                        "inline",
                        "must_use",
                        "track_caller",
                    ];
                    let name = text.trim_start_matches(['#', '[', ' ']);
                    if node.word() == "attribute_item" && !plain.iter().any(|word| name.starts_with(word)) {
                        return true;
                    }
                    above = node.prev_named_sibling();
                }
                false
            }
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::Java
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Ruby => false,
        }
    }

    fn signature(&self, found: Found<'_, 't>, owner: Option<&str>) -> Option<Signature> {
        if self.is_decorated(found) {
            return None;
        }
        let whole = found.node;
        match whole.word() {
            "function_definition"
            | "function_declaration"
            | "function_item"
            | "generator_function_declaration" => self.parameters(whole),
            "method_declaration" if self.language == Language::Java => {
                owner.and_then(|_| self.parameters(whole))
            }
            "class_definition" | "class_declaration" | "abstract_class_declaration" => {
                self.constructor(whole)
            }
            "variable_declarator" => {
                let value = whole.field("value").filter(|_| whole.field("type").is_none())?;
                matches!(value.word(), "arrow_function" | "function_expression")
                    .then(|| self.parameters(value))
                    .flatten()
            }
            _ => None,
        }
    }

    /// Returns the parameters of a function that is no method.
    fn parameters(&self, function: Node<'t>) -> Option<Signature> {
        signature(self.language, self.text, function, false)
    }

    /// Returns the parameters of a class's only constructor.
    fn constructor(&self, class: Node<'t>) -> Option<Signature> {
        let (name, is_method) = match self.language {
            Language::Python => ("__init__", true),
            Language::Tsx | Language::TypeScript => ("constructor", false),
            Language::Java => (class.field("name").map(|name| span(name).of(self.text))?, false),
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Ruby
            | Language::Rust => return None,
        };
        // A metaclass, or a constructor of another kind, may take other arguments.
        if self.language == Language::Python {
            let bases = class.field("superclasses");
            let keywords = bases.into_iter().flat_map(parts).any(|base| base.word() == "keyword_argument");
            if keywords
                || class.field("body").is_some_and(|body| span(body).of(self.text).contains("__new__"))
            {
                return None;
            }
        }
        let body = class.field("body")?;
        let members: Vec<Node<'t>> = parts(body)
            .into_iter()
            .filter(|member| {
                let member = member.field("definition").unwrap_or(*member);
                member.field("name").is_some_and(|each| span(each).of(self.text) == name)
            })
            .collect();
        match members[..] {
            [only]
                if matches!(
                    only.word(),
                    "function_definition" | "method_definition" | "constructor_declaration"
                ) =>
            {
                signature(self.language, self.text, only, is_method)
            }
            _ => None,
        }
    }
}

/// Returns whether a processor of annotations, or a macro, may add members.
fn is_annotated(whole: Node<'_>) -> bool {
    let modifiers = children(whole).find(|child| child.word() == "modifiers");
    modifiers.is_some_and(|modifiers| children(modifiers).next().is_some())
}

fn kind(symbol: SymbolKind, whole: Node<'_>) -> DefinitionKind {
    match symbol {
        SymbolKind::Class
        | SymbolKind::Enum
        | SymbolKind::Interface
        | SymbolKind::Struct
        | SymbolKind::Trait
        | SymbolKind::Type => DefinitionKind::Type,
        SymbolKind::Function | SymbolKind::Macro | SymbolKind::Method => DefinitionKind::Function,
        SymbolKind::Imported => DefinitionKind::Imported,
        SymbolKind::Module => DefinitionKind::Module,
        SymbolKind::Constant | SymbolKind::Field | SymbolKind::Variable => {
            let is_function = whole.field("value").is_some_and(|value| has_word(value, "=>"));
            if is_function { DefinitionKind::Function } else { DefinitionKind::Value }
        }
    }
}
