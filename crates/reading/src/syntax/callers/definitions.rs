//! Definitions of a file with their owners and parameters, by the symbols of its outline.

use crate::tree::{Node, Tree};
use qa_contracts::v1::{DefinitionKind, Signature};

use super::super::Language;
use super::super::outline::{Outline, Span, Symbol, SymbolKind};
use super::super::shape::{first_field, parts};
use super::super::walk::{has_word, span};
use super::seek::Seeker;
use super::signatures::{self, signature};
use super::{access, dataclass};
use crate::callers::CLOSED_TRAITS;
use crate::outlines::MAX_NAME_BYTES;

/// A definition that other files may refer to.
pub(crate) struct Defined {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) owner: Option<String>,
    pub(crate) kind: DefinitionKind,
    pub(crate) public: bool,
    /// A member that no other file may use.
    pub(crate) hidden: bool,
    /// A method that belongs to its type and not to objects of that.
    pub(crate) is_static: bool,
    pub(crate) open: bool,
    pub(crate) signature: Option<Signature>,
}

/// Nodes between a definition and what it belongs to.
const TRANSPARENT: &[&str] = &[
    "block",
    "class_body",
    "class_declaration",
    "const_declaration",
    "constant_declaration",
    "const_element",
    "declaration_list",
    "decorated_definition",
    "enum_body",
    "enum_body_declarations",
    "export_statement",
    "event_field_declaration",
    "expression_statement",
    "field_declaration",
    "interface_body",
    "lexical_declaration",
    "property_declaration",
    "property_element",
    "type_declaration",
    "var_declaration",
    "var_spec_list",
    "variable_declaration",
];
const ROOTS: &[&str] = &["compilation_unit", "module", "program", "source_file"];
/// Nodes around types that give them a namespace.
const NAMESPACES: &[&str] = &["file_scoped_namespace_declaration", "namespace_declaration"];
const TYPES: &[&str] = &[
    "abstract_class_declaration",
    "annotation_type_declaration",
    "class_declaration",
    "class_definition",
    "enum_declaration",
    "impl_item",
    "interface_declaration",
    "record_declaration",
    "struct_declaration",
    "trait_declaration",
];

/// Returns the definitions of a tree, in the order of the text.
pub(crate) fn definitions(language: Language, tree: &Tree, text: &str, outline: &Outline) -> Vec<Defined> {
    let reader = Reader { language, text };
    let mut seeker = Seeker::new(tree);
    let mut defined = Vec::new();
    for symbol in &outline.symbols {
        let found = seeker.find(symbol.name_span);
        defined.extend(reader.defined(symbol, found));
        if matches!(language, Language::Go | Language::Rust) {
            reader.add_members(symbol, found, &mut defined);
        }
        if symbol.kind == SymbolKind::Enum && symbol.top_level {
            reader.add_variants(symbol, found, &mut defined);
        }
    }
    defined
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
    fn defined(&self, symbol: &Symbol, name: Node<'t>) -> Option<Defined> {
        let whole = name.parent()?;
        let owner = match (symbol.top_level, whole.field("receiver")) {
            (true, _) => None,
            (false, Some(receiver)) => Some(self.receiver(receiver)?),
            (false, None) => match self.owner(whole.parent()?)? {
                Owner::File => None,
                Owner::Type(name) => Some(name),
            },
        };
        if owner.is_some() && matches!(self.language, Language::Kotlin | Language::Ruby) {
            return None;
        }
        Some(Defined {
            name: symbol.name.clone(),
            name_span: symbol.name_span,
            kind: kind(symbol.kind, whole),
            public: symbol.exported,
            hidden: owner.is_some() && access::is_private(self.language, self.text, whole),
            is_static: owner.is_some() && access::is_static(self.text, whole),
            open: self.is_open(symbol, whole),
            signature: self.signature(whole, owner.as_deref()),
            owner,
        })
    }

    /// Returns the type that a method of Go is one of.
    fn receiver(&self, receiver: Node<'t>) -> Option<String> {
        let [only] = parts(receiver)[..] else { return None };
        let mut named = only.field("type")?;
        while matches!(named.word(), "generic_type" | "parenthesized_type" | "pointer_type") {
            named = named.field("type").or_else(|| named.named_child(0))?;
        }
        let name = span(named).of(self.text);
        (named.word() == "type_identifier" && name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
    }

    /// Adds the fields of a struct of Go or Rust, or the methods of an interface.
    fn add_members(&self, symbol: &Symbol, name: Node<'t>, defined: &mut Vec<Defined>) {
        let body = name.parent().filter(|_| symbol.top_level);
        let body = body.and_then(|whole| first_field(whole, &["type", "body"]));
        let lists = body.into_iter().flat_map(|body| match body.word() {
            "struct_type" => parts(body).into_iter().flat_map(parts).collect(),
            "field_declaration_list" | "interface_type" => parts(body),
            _ => Vec::new(),
        });
        for member in lists {
            let is_method = member.word() == "method_elem";
            let is_rust = self.language == Language::Rust;
            let is_visible = has_word(member, "visibility_modifier");
            for name in parts(member).into_iter().filter(|part| part.word() == "field_identifier") {
                let text = span(name).of(self.text);
                defined.push(Defined {
                    name: text.to_owned(),
                    name_span: span(name),
                    owner: Some(symbol.name.clone()),
                    kind: if is_method { DefinitionKind::Function } else { DefinitionKind::Value },
                    public: if is_rust { is_visible } else { text.starts_with(char::is_uppercase) },
                    hidden: is_rust && !is_visible,
                    is_static: false,
                    open: false,
                    signature: is_method.then(|| self.parameters(member)).flatten(),
                });
            }
        }
    }

    /// Adds the members of an enumeration.
    fn add_variants(&self, symbol: &Symbol, name: Node<'t>, defined: &mut Vec<Defined>) {
        let body = name.parent().and_then(|whole| whole.field("body"));
        for member in body.map(parts).unwrap_or_default() {
            let named = match member.word() {
                "enum_assignment"
                | "enum_case"
                | "enum_constant"
                | "enum_member_declaration"
                | "enum_variant" => member.field("name"),
                "property_identifier" => Some(member),
                _ => None,
            };
            let Some(named) = named.filter(|named| named.child_count() == 0) else { continue };
            defined.push(Defined {
                name: span(named).of(self.text).to_owned(),
                name_span: span(named),
                owner: Some(symbol.name.clone()),
                kind: DefinitionKind::Variant,
                public: symbol.exported,
                hidden: false,
                is_static: false,
                open: false,
                signature: None,
            });
        }
    }

    /// Returns what a definition belongs to, or `None` for one that is local to a function.
    fn owner(&self, inner: Node<'t>) -> Option<Owner> {
        let mut node = inner;
        loop {
            let word = node.word();
            if ROOTS.contains(&word) {
                return Some(Owner::File);
            }
            if TYPES.contains(&word) {
                // Types inside of types have longer names.
                let is_outer = is_outermost(node);
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
            node = node.parent()?;
        }
    }

    fn is_open(&self, symbol: &Symbol, whole: Node<'t>) -> bool {
        let inherits =
            ["superclass", "interfaces", "superclasses"].iter().any(|field| whole.field(field).is_some())
                || whole
                    .named_children()
                    .any(|child| matches!(child.word(), "class_heritage" | "extends_interfaces"));
        symbol.conditional
            || inherits
            || is_annotated(whole)
            || self.is_decorated(whole)
            || self.is_extended(whole)
    }

    /// Returns whether a type has members that its text does not list, or a method is called on objects of other types.
    fn is_extended(&self, whole: Node<'t>) -> bool {
        match self.language {
            Language::CSharp if whole.word() == "method_declaration" => {
                let first = whole.field("parameters").and_then(|list| list.named_child(0));
                first.is_some_and(|first| span(first).of(self.text).starts_with("this "))
            }
            Language::CSharp => {
                let bases = whole.named_children().find(|child| child.word() == "base_list");
                whole.word() == "enum_declaration"
                    || whole.named_children().any(|child| span(child).of(self.text) == "partial")
                    || bases.into_iter().flat_map(parts).any(|base| {
                        whole.word() == "interface_declaration" || !is_interface(span(base).of(self.text))
                    })
            }
            Language::Go => whole.field("type").is_some_and(|declared| match declared.word() {
                "struct_type" => parts(declared)
                    .into_iter()
                    .flat_map(parts)
                    .any(|field| field.word() == "field_declaration" && field.field("name").is_none()),
                "interface_type" => parts(declared).iter().any(|part| part.word() != "method_elem"),
                // A name for another type, or keys of a map, which look like fields.
                _ => true,
            }),
            Language::Php => {
                let body = whole.field("body").map(parts).unwrap_or_default();
                matches!(whole.word(), "enum_declaration" | "trait_declaration")
                    || whole
                        .named_children()
                        .any(|child| matches!(child.word(), "base_clause" | "class_interface_clause"))
                    || body.iter().any(|member| {
                        let name = member.field("name").map(|name| span(name).of(self.text));
                        member.word() == "use_declaration"
                            || name.is_some_and(|name| name.starts_with("__call"))
                    })
            }
            Language::Python if whole.word() == "class_definition" => {
                ["__getattr__", "__getattribute__", "setattr", "__dict__"]
                    .iter()
                    .any(|word| span(whole).of(self.text).contains(word))
            }
            // Another file may add to an interface; a name for another type has the members of that.
            Language::Tsx | Language::TypeScript => {
                matches!(whole.word(), "interface_declaration" | "type_alias_declaration")
            }
            Language::Rust => whole.word() == "type_item",
            // The language, or a processor of a member's annotations, adds methods.
            Language::Java => {
                let body = whole.field("body").map(parts).unwrap_or_default();
                matches!(whole.word(), "annotation_type_declaration" | "enum_declaration")
                    || TYPES.contains(&whole.word()) && body.iter().any(|member| self.is_processed(*member))
            }
            Language::C
            | Language::Cpp
            | Language::JavaScript
            | Language::Kotlin
            | Language::Python
            | Language::Ruby => false,
        }
    }

    /// Returns whether a member of Java has an annotation that may be read by more than the compiler.
    fn is_processed(&self, member: Node<'t>) -> bool {
        const PLAIN: &[&str] = &[
            "Deprecated",
            "NonNull",
            "NotNull",
            "Nullable",
            "Override",
            "SafeVarargs",
            "SuppressWarnings",
            "VisibleForTesting",
        ];
        let modifiers = member.named_children().find(|child| child.word() == "modifiers");
        modifiers.into_iter().flat_map(|node| node.named_children()).any(|annotation| {
            let name = annotation.field("name").map(|name| span(name).of(self.text));
            name.is_none_or(|name| !PLAIN.contains(&name))
        })
    }

    /// Returns whether something makes another thing of a definition than its text says.
    fn is_decorated(&self, whole: Node<'t>) -> bool {
        match self.language {
            Language::Python => whole.parent().is_some_and(|around| around.word() == "decorated_definition"),
            Language::Tsx | Language::TypeScript => {
                let exported = whole.parent().filter(|around| around.word() == "export_statement");
                [Some(whole), exported].into_iter().flatten().any(|node| node.field("decorator").is_some())
            }
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
                    let is_plain =
                        plain.iter().any(|word| name.starts_with(word)) || derives_only_traits(name);
                    if node.word() == "attribute_item" && !is_plain {
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

    fn signature(&self, whole: Node<'t>, owner: Option<&str>) -> Option<Signature> {
        if self.is_decorated(whole) {
            let around = whole.parent().filter(|_| whole.word() == "class_definition")?;
            return dataclass::constructor(self.text, around, whole);
        }
        match whole.word() {
            "function_definition"
            | "function_declaration"
            | "function_item"
            | "generator_function_declaration" => self.parameters(whole),
            "struct_item" => signatures::of_struct(self.text, whole),
            "method_declaration" => owner.and_then(|_| self.parameters(whole)),
            "method_definition" if !has_word(whole, "get") && !has_word(whole, "set") => {
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
            Language::CSharp | Language::Java => {
                (class.field("name").map(|name| span(name).of(self.text))?, false)
            }
            Language::Php => ("__construct", false),
            Language::C
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Kotlin
            | Language::Ruby
            | Language::Rust => return None,
        };
        if self.language == Language::Java && is_annotated(class) {
            return None;
        }
        // A base, a metaclass, or a constructor of another kind may take other arguments.
        if self.language == Language::Python {
            let bases = class.field("superclasses");
            if bases.into_iter().flat_map(parts).any(|base| is_other_maker(span(base).of(self.text)))
                || class.field("body").is_some_and(|body| span(body).of(self.text).contains("__new__"))
            {
                return None;
            }
        }
        // Parameters of a class of C# are those of another constructor.
        if self.language == Language::CSharp
            && class.named_children().any(|child| child.word() == "parameter_list")
        {
            return None;
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
                    "function_definition"
                        | "method_declaration"
                        | "method_definition"
                        | "constructor_declaration"
                ) =>
            {
                signature(self.language, self.text, only, is_method)
            }
            _ => None,
        }
    }
}

/// Returns whether a type stands in no other one.
fn is_outermost(node: Node<'_>) -> bool {
    let mut words = node.ancestors().map(|outer| outer.word());
    let end = words.find(|word| {
        let is_between = NAMESPACES.contains(word) || TRANSPARENT.contains(word);
        ROOTS.contains(word) || !is_between || TYPES.contains(word)
    });
    end.is_some_and(|word| ROOTS.contains(&word))
}

/// Returns whether a base of C# is an interface that gives an object no members. One of another library, such as a list,
/// may have methods that are called on its objects.
fn is_interface(base: &str) -> bool {
    const PLAIN: &[&str] =
        &["IAsyncDisposable", "ICloneable", "IComparable", "IDisposable", "IEquatable", "IFormattable"];
    let name = base.split('<').next().unwrap_or(base).rsplit('.').next().unwrap_or(base);
    PLAIN.contains(&name)
}

/// Returns whether a base of a class of Python may make objects from other arguments than the class says.
fn is_other_maker(base: &str) -> bool {
    base != "object" && !base.ends_with("Error") && !base.ends_with("Exception")
}

/// Returns whether an attribute of Rust derives traits alone, whose methods have names that no other one has.
fn derives_only_traits(attribute: &str) -> bool {
    let Some(list) = attribute.strip_prefix("derive(") else { return false };
    let names = list.trim_end_matches([']', ')', ' ', '\n']).split(',').map(str::trim);
    let mut names = names.filter(|name| !name.is_empty());
    names.all(|name| CLOSED_TRAITS.contains(&name.rsplit(':').next().unwrap_or(name)))
}

/// Returns whether a processor of annotations, or a macro, may add members.
fn is_annotated(whole: Node<'_>) -> bool {
    let modifiers = whole.named_children().find(|child| child.word() == "modifiers");
    modifiers.is_some_and(|modifiers| modifiers.named_children().next().is_some())
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
