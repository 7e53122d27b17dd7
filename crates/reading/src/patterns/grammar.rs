//! Languages that patterns are matched in, and the role of each kind of node in their grammars.

use std::sync::OnceLock;

use tree_sitter::Language as Parser;

use super::plain::Style;
use crate::syntax::Language;

/// Grammar of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grammar {
    Bash,
    Go,
    Java,
    JavaScript,
    Php,
    /// A language without a grammar here: names, strings and brackets alone.
    Plain(Style),
    Python,
    Ruby,
    Rust,
    Tsx,
    TypeScript,
}

/// Grammars of tree-sitter, in the order of [`Grammar::position`].
const PARSED: usize = 11;

/// Meaning of a kind of node to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A node that is passed over, such as a comment.
    Skip,
    /// Parentheses, a cast, a reference: stands for the node inside. The node is a field, or the first named child.
    Wrap(&'static str),
    /// Stands for its last named child.
    WrapLast,
    Name,
    /// Names with dots, `::` or the like between them.
    Dotted,
    Member(&'static str, &'static str),
    /// Like `Member`, for grammars whose node has no fields.
    MemberPair,
    /// `object["name"]`.
    Index(&'static str, &'static str),
    Call(&'static str, &'static str),
    /// Like `Call`, with the callee as first child and the arguments among the others.
    CallFirst,
    /// A call with fields for the object, the name and the arguments; without arguments a member.
    Method(&'static str, &'static str),
    Command,
    Macro,
    Text,
    /// Strings one after the other.
    Texts,
    Literal,
    /// `name: value`, `name=value`, `name => value`.
    Pair(&'static str, &'static str),
    /// Like `Pair`, with the name as first child and the value as second; stands for its only child where it has one.
    PairChildren,
    /// `name`, which stands for `name: name`.
    Shorthand,
    Assign(&'static str, &'static str),
    Binary,
    Unary,
    List,
    Record,
    Other,
}

use Role::{
    Assign, Binary, Call, CallFirst, Command, Dotted, Index, List, Literal, Macro, Member, MemberPair,
    Method, Name, Other, Pair, PairChildren, Record, Shorthand, Skip, Text, Texts, Unary, Wrap, WrapLast,
};

type Row = (&'static str, Role);

const BASH: &[Row] = &[
    ("comment", Skip),
    ("command", Command),
    ("word", Text),
    ("string", Text),
    ("raw_string", Text),
    ("ansi_c_string", Text),
    ("number", Text),
    ("concatenation", Texts),
    ("variable_assignment", Assign("name", "value")),
    ("variable_name", Name),
];

const GO: &[Row] = &[
    ("comment", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("literal_element", Wrap("")),
    ("expression_list", Wrap("")),
    ("generic_type", Wrap("type")),
    ("identifier", Name),
    ("field_identifier", Name),
    ("package_identifier", Name),
    ("type_identifier", Name),
    ("selector_expression", Member("operand", "field")),
    ("qualified_type", Member("package", "name")),
    ("call_expression", Call("function", "arguments")),
    ("interpreted_string_literal", Text),
    ("raw_string_literal", Text),
    ("rune_literal", Literal),
    ("int_literal", Literal),
    ("float_literal", Literal),
    ("true", Literal),
    ("false", Literal),
    ("nil", Literal),
    ("keyed_element", Pair("key", "value")),
    ("assignment_statement", Assign("left", "right")),
    ("short_var_declaration", Assign("left", "right")),
    ("binary_expression", Binary),
    ("unary_expression", Unary),
    ("literal_value", Record),
];

const JAVA: &[Row] = &[
    ("line_comment", Skip),
    ("block_comment", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("cast_expression", Wrap("value")),
    ("generic_type", Wrap("")),
    ("identifier", Name),
    ("type_identifier", Name),
    ("this", Name),
    ("super", Name),
    ("field_access", Member("object", "field")),
    ("scoped_identifier", Member("scope", "name")),
    ("scoped_type_identifier", MemberPair),
    ("method_invocation", Method("object", "name")),
    ("object_creation_expression", Call("type", "arguments")),
    ("string_literal", Text),
    ("character_literal", Literal),
    ("decimal_integer_literal", Literal),
    ("hex_integer_literal", Literal),
    ("decimal_floating_point_literal", Literal),
    ("true", Literal),
    ("false", Literal),
    ("null_literal", Literal),
    ("assignment_expression", Assign("left", "right")),
    ("binary_expression", Binary),
    ("unary_expression", Unary),
    ("array_initializer", List),
];

const JAVASCRIPT: &[Row] = &[
    ("comment", Skip),
    ("html_comment", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("as_expression", Wrap("")),
    ("satisfies_expression", Wrap("")),
    ("non_null_expression", Wrap("")),
    ("instantiation_expression", Wrap("")),
    ("type_assertion", WrapLast),
    ("jsx_expression", Wrap("")),
    ("computed_property_name", Wrap("")),
    ("sequence_expression", WrapLast),
    ("identifier", Name),
    ("property_identifier", Name),
    ("private_property_identifier", Name),
    ("shorthand_property_identifier", Shorthand),
    ("type_identifier", Name),
    ("this", Name),
    ("super", Name),
    ("import", Name),
    ("member_expression", Member("object", "property")),
    ("nested_type_identifier", Member("module", "name")),
    ("subscript_expression", Index("object", "index")),
    ("call_expression", Call("function", "arguments")),
    ("new_expression", Call("constructor", "arguments")),
    ("string", Text),
    ("template_string", Text),
    ("number", Literal),
    ("true", Literal),
    ("false", Literal),
    ("null", Literal),
    ("undefined", Literal),
    ("regex", Literal),
    ("pair", Pair("key", "value")),
    ("jsx_attribute", PairChildren),
    ("assignment_expression", Assign("left", "right")),
    ("augmented_assignment_expression", Assign("left", "right")),
    ("binary_expression", Binary),
    ("unary_expression", Unary),
    ("object", Record),
    ("array", List),
];

const PHP: &[Row] = &[
    ("comment", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("cast_expression", Wrap("value")),
    ("error_suppression_expression", Wrap("")),
    ("argument", Pair("name", "")),
    ("name", Name),
    ("variable_name", Name),
    ("namespace_name", Dotted),
    ("qualified_name", Dotted),
    ("member_access_expression", Member("object", "name")),
    ("nullsafe_member_access_expression", Member("object", "name")),
    ("scoped_property_access_expression", Member("scope", "name")),
    ("class_constant_access_expression", MemberPair),
    ("function_call_expression", Call("function", "arguments")),
    ("member_call_expression", Method("object", "name")),
    ("nullsafe_member_call_expression", Method("object", "name")),
    ("scoped_call_expression", Method("scope", "name")),
    ("object_creation_expression", CallFirst),
    ("string", Text),
    ("encapsed_string", Text),
    ("heredoc", Text),
    ("nowdoc", Text),
    ("integer", Literal),
    ("float", Literal),
    ("boolean", Literal),
    ("null", Literal),
    ("assignment_expression", Assign("left", "right")),
    ("augmented_assignment_expression", Assign("left", "right")),
    ("array_creation_expression", Record),
    ("array_element_initializer", PairChildren),
    ("binary_expression", Binary),
    ("unary_op_expression", Unary),
];

const PYTHON: &[Row] = &[
    ("comment", Skip),
    ("line_continuation", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("identifier", Name),
    ("dotted_name", Dotted),
    ("attribute", Member("object", "attribute")),
    ("subscript", Index("value", "subscript")),
    ("call", Call("function", "arguments")),
    ("string", Text),
    ("concatenated_string", Texts),
    ("integer", Literal),
    ("float", Literal),
    ("true", Literal),
    ("false", Literal),
    ("none", Literal),
    ("ellipsis", Literal),
    ("keyword_argument", Pair("name", "value")),
    ("default_parameter", Pair("name", "value")),
    ("typed_default_parameter", Pair("name", "value")),
    ("pair", Pair("key", "value")),
    ("assignment", Assign("left", "right")),
    ("augmented_assignment", Assign("left", "right")),
    ("named_expression", Assign("name", "value")),
    ("binary_operator", Binary),
    ("unary_operator", Unary),
    ("not_operator", Unary),
    ("dictionary", Record),
    ("list", List),
    ("tuple", List),
    ("set", List),
];

const RUBY: &[Row] = &[
    ("comment", Skip),
    ("parenthesized_statements", Wrap("")),
    ("identifier", Name),
    ("constant", Name),
    ("instance_variable", Name),
    ("hash_key_symbol", Name),
    ("self", Name),
    ("scope_resolution", Member("scope", "name")),
    ("element_reference", Other),
    ("call", Method("receiver", "method")),
    ("string", Text),
    ("bare_string", Text),
    ("chained_string", Texts),
    ("heredoc_body", Text),
    ("simple_symbol", Literal),
    ("integer", Literal),
    ("float", Literal),
    ("true", Literal),
    ("false", Literal),
    ("nil", Literal),
    ("pair", Pair("key", "value")),
    ("assignment", Assign("left", "right")),
    ("operator_assignment", Assign("left", "right")),
    ("binary", Binary),
    ("unary", Unary),
    ("hash", Record),
    ("array", List),
    ("string_array", List),
];

const RUST: &[Row] = &[
    ("line_comment", Skip),
    ("block_comment", Skip),
    ("expression_statement", Wrap("")),
    ("parenthesized_expression", Wrap("")),
    ("reference_expression", Wrap("value")),
    ("type_cast_expression", Wrap("value")),
    ("try_expression", Wrap("")),
    ("generic_function", Wrap("function")),
    ("generic_type", Wrap("type")),
    ("identifier", Name),
    ("field_identifier", Name),
    ("type_identifier", Name),
    ("self", Name),
    ("super", Name),
    ("crate", Name),
    ("field_expression", Member("value", "field")),
    ("scoped_identifier", Member("path", "name")),
    ("scoped_type_identifier", Member("path", "name")),
    ("call_expression", Call("function", "arguments")),
    ("macro_invocation", Macro),
    ("string_literal", Text),
    ("raw_string_literal", Text),
    ("char_literal", Literal),
    ("integer_literal", Literal),
    ("float_literal", Literal),
    ("boolean_literal", Literal),
    ("field_initializer", Pair("field", "value")),
    ("field_initializer_list", Record),
    ("assignment_expression", Assign("left", "right")),
    ("binary_expression", Binary),
    ("unary_expression", Unary),
    ("array_expression", List),
];

/// Roles of the kinds of one grammar, by number.
pub(super) struct Roles(Vec<Role>);

impl Roles {
    /// Returns the role of a kind of node.
    pub(super) fn role(&self, kind: u16) -> Role {
        self.0.get(usize::from(kind)).copied().unwrap_or(Other)
    }
}

impl Grammar {
    /// Returns the grammar of a path by its ending, or `None` where no rule knows the language.
    ///
    /// A page counts as JavaScript: its scripts are read and nothing else.
    pub fn for_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        if let Some(grammar) = Language::from_path(path).and_then(Self::of_language) {
            return Some(grammar);
        }
        Some(match ending {
            "bash" | "sh" | "zsh" => Self::Bash,
            "astro" | "htm" | "html" | "svelte" | "vue" => Self::JavaScript,
            "pyx" => Self::Python,
            _ => Self::Plain(Style::for_ending(ending)?),
        })
    }

    /// Returns the grammar of a language, or `None` where patterns read it without one.
    fn of_language(language: Language) -> Option<Self> {
        Some(match language {
            Language::C | Language::CSharp | Language::Cpp | Language::Kotlin => return None,
            Language::Go => Self::Go,
            Language::Java => Self::Java,
            Language::JavaScript => Self::JavaScript,
            Language::Php => Self::Php,
            Language::Python => Self::Python,
            Language::Ruby => Self::Ruby,
            Language::Rust => Self::Rust,
            Language::Tsx => Self::Tsx,
            Language::TypeScript => Self::TypeScript,
        })
    }

    /// Returns the language whose outline the text has, if it has one.
    pub(super) fn language(self) -> Option<Language> {
        match self {
            Self::Bash | Self::Plain(_) => None,
            Self::Go => Some(Language::Go),
            Self::Java => Some(Language::Java),
            Self::JavaScript => Some(Language::JavaScript),
            Self::Php => Some(Language::Php),
            Self::Python => Some(Language::Python),
            Self::Ruby => Some(Language::Ruby),
            Self::Rust => Some(Language::Rust),
            Self::Tsx => Some(Language::Tsx),
            Self::TypeScript => Some(Language::TypeScript),
        }
    }

    /// Returns the grammar that patterns for this one are written in: JavaScript's for TypeScript.
    pub fn family(self) -> Self {
        match self {
            Self::Tsx | Self::TypeScript => Self::JavaScript,
            Self::Bash
            | Self::Go
            | Self::Java
            | Self::JavaScript
            | Self::Php
            | Self::Plain(_)
            | Self::Python
            | Self::Ruby
            | Self::Rust => self,
        }
    }

    /// Returns the grammar that a page of a rule calls by this name.
    pub fn for_language(name: &str) -> Option<Self> {
        Some(match name {
            "go" => Self::Go,
            "java" => Self::Java,
            "javascript" => Self::JavaScript,
            "php" => Self::Php,
            "python" => Self::Python,
            "ruby" => Self::Ruby,
            "rust" => Self::Rust,
            "shell" => Self::Bash,
            _ => Self::Plain(Style::for_language(name)?),
        })
    }

    /// Returns the grammar of tree-sitter, or `None` for a language that has none here.
    pub(super) fn parser(self) -> Option<Parser> {
        Some(match self {
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Plain(_) => return None,
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        })
    }

    fn rows(self) -> &'static [Row] {
        match self {
            Self::Bash => BASH,
            Self::Go => GO,
            Self::Java => JAVA,
            Self::JavaScript | Self::Tsx | Self::TypeScript => JAVASCRIPT,
            Self::Php => PHP,
            Self::Plain(_) => &[],
            Self::Python => PYTHON,
            Self::Ruby => RUBY,
            Self::Rust => RUST,
        }
    }

    fn position(self) -> usize {
        match self {
            Self::Bash => 0,
            Self::Go => 1,
            Self::Java => 2,
            Self::JavaScript => 3,
            Self::Php => 4,
            Self::Python => 5,
            Self::Ruby => 6,
            Self::Rust => 7,
            Self::Tsx => 8,
            Self::TypeScript => 9,
            Self::Plain(_) => 10,
        }
    }

    /// Returns the roles of the grammar's kinds of nodes.
    pub(super) fn roles(self) -> &'static Roles {
        static ALL: [OnceLock<Roles>; PARSED] = [const { OnceLock::new() }; PARSED];
        ALL[self.position()].get_or_init(|| {
            let Some(parser) = self.parser() else { return Roles(Vec::new()) };
            let count = u16::try_from(parser.node_kind_count()).unwrap_or(u16::MAX);
            let roles = (0..count).map(|kind| {
                let word = parser.node_kind_for_id(kind).filter(|_| parser.node_kind_is_named(kind));
                match self.rows().iter().find(|(name, _)| Some(*name) == word) {
                    Some((_, role)) => *role,
                    None => Other,
                }
            });
            Roles(roles.collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_kind_and_fields_of_its_grammar() {
        for grammar in [
            Grammar::Bash,
            Grammar::Go,
            Grammar::Java,
            Grammar::JavaScript,
            Grammar::Php,
            Grammar::Python,
            Grammar::Ruby,
            Grammar::Rust,
        ] {
            let parsers: [Parser; 2] =
                [grammar.parser().unwrap(), tree_sitter_typescript::LANGUAGE_TSX.into()];
            for (kind, role) in grammar.rows() {
                let is_known = parsers.iter().any(|parser| parser.id_for_node_kind(kind, true) != 0);
                assert!(is_known || *kind == "type_assertion", "{grammar:?} {kind}");
                let fields = if let Role::Member(one, two)
                | Role::Index(one, two)
                | Role::Call(one, two)
                | Role::Method(one, two)
                | Role::Pair(one, two)
                | Role::Assign(one, two) = role
                {
                    vec![*one, *two]
                } else if let Role::Wrap(one) = role {
                    vec![*one]
                } else {
                    Vec::new()
                };
                for field in fields.into_iter().filter(|field| !field.is_empty()) {
                    let is_known = parsers.iter().any(|parser| parser.field_id_for_name(field).is_some());
                    assert!(is_known, "{grammar:?} {kind} {field}");
                }
            }
        }
    }
}
