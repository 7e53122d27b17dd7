//! Kinds of nodes that rules about expressions have something to say about, by number.

use std::sync::OnceLock;

use crate::syntax::Language;
use crate::tree::Node;

/// Classes of the kinds of one grammar, by number.
struct Classes(Vec<Class>);

impl Classes {
    fn for_language(language: Language) -> &'static Self {
        static ALL: [OnceLock<Classes>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        ALL[language as usize].get_or_init(|| {
            let grammar = language.grammar();
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let words = (0..count).map(|id| {
                let word = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id));
                word.map(Class::of).unwrap_or(Class::Other)
            });
            Self(words.collect())
        })
    }
}

/// Returns the class of a node.
pub(super) fn class(language: Language, node: Node<'_>) -> Class {
    Classes::for_language(language).0.get(usize::from(node.kind_id())).copied().unwrap_or(Class::Other)
}

/// Returns whether a node is more than a name, a literal or punctuation.
pub(super) fn is_of_interest(node: Node<'_>) -> bool {
    !node.is_comment() && node.named_child_count() > 0
}

/// Class of a node kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Assert,
    Assign,
    Await,
    Binary,
    Call,
    Character,
    Choice,
    TypeBody,
    Compare,
    Declare,
    Defer,
    Finally,
    For,
    Function,
    Handler,
    Index,
    List,
    Member,
    Name,
    Null,
    Number,
    Pair,
    Record,
    Regex,
    Statement,
    Statements,
    Switch,
    Text,
    Throw,
    Truth,
    Tuple,
    Unary,
    Update,
    Other,
}

impl Class {
    pub(super) fn of(kind: &str) -> Self {
        match kind {
            "assert_statement" => Self::Assert,
            "assignment"
            | "assignment_expression"
            | "assignment_statement"
            | "augmented_assignment"
            | "augmented_assignment_expression"
            | "compound_assignment_expr"
            | "operator_assignment" => Self::Assign,
            "await" | "await_expression" => Self::Await,
            "binary_expression"
            | "binary"
            | "binary_operator"
            | "boolean_operator"
            | "infix_expression"
            | "instanceof_expression" => Self::Binary,
            "call"
            | "call_expression"
            | "function_call_expression"
            | "invocation_expression"
            | "member_call_expression"
            | "method_invocation"
            | "new_expression"
            | "nullsafe_member_call_expression"
            | "object_creation_expression"
            | "scoped_call_expression" => Self::Call,
            "char_literal" | "character_literal" | "rune_literal" => Self::Character,
            "comparison_operator" => Self::Compare,
            "conditional"
            | "conditional_expression"
            | "if"
            | "if_expression"
            | "if_modifier"
            | "if_statement"
            | "ternary_expression"
            | "unless"
            | "unless_modifier" => Self::Choice,
            "class" | "class_body" | "class_definition" | "declaration_list" | "enum_body_declarations" => {
                Self::TypeBody
            }
            "init_declarator"
            | "let_declaration"
            | "property_declaration"
            | "short_var_declaration"
            | "var_spec"
            | "variable_declarator" => Self::Declare,
            "defer_statement" => Self::Defer,
            "ensure" | "finally_block" | "finally_clause" => Self::Finally,
            "for_statement" => Self::For,
            "anonymous_function"
            | "anonymous_function_creation_expression"
            | "arrow_function"
            | "closure_expression"
            | "constructor_declaration"
            | "function_declaration"
            | "function_definition"
            | "function_expression"
            | "function_item"
            | "func_literal"
            | "lambda"
            | "lambda_expression"
            | "lambda_literal"
            | "method"
            | "method_declaration"
            | "method_definition"
            | "singleton_method" => Self::Function,
            "catch_clause" | "except_clause" | "rescue" => Self::Handler,
            "array_access"
            | "element_access_expression"
            | "element_reference"
            | "index_expression"
            | "subscript"
            | "subscript_expression" => Self::Index,
            "array" | "array_expression" | "array_initializer" | "initializer_list" | "list" | "set" => {
                Self::List
            }
            "attribute"
            | "class_constant_access_expression"
            | "conditional_access_expression"
            | "field_access"
            | "field_expression"
            | "member_access_expression"
            | "member_expression"
            | "navigation_expression"
            | "nullsafe_member_access_expression"
            | "qualified_identifier"
            | "scope_resolution"
            | "scoped_identifier"
            | "scoped_property_access_expression"
            | "selector_expression" => Self::Member,
            "class_variable"
            | "constant"
            | "field_identifier"
            | "global_variable"
            | "hash_key_symbol"
            | "identifier"
            | "instance_variable"
            | "name"
            | "namespace_identifier"
            | "private_property_identifier"
            | "property_identifier"
            | "self"
            | "super"
            | "this"
            | "type_identifier"
            | "undefined"
            | "variable_name" => Self::Name,
            "nil" | "none" | "null" | "null_literal" => Self::Null,
            "decimal_floating_point_literal"
            | "decimal_integer_literal"
            | "float"
            | "float_literal"
            | "hex_integer_literal"
            | "int_literal"
            | "integer"
            | "integer_literal"
            | "number"
            | "number_literal"
            | "real_literal" => Self::Number,
            "array_element_initializer"
            | "field_initializer"
            | "keyed_element"
            | "keyword_argument"
            | "named_argument"
            | "pair" => Self::Pair,
            "array_creation_expression" | "dictionary" | "hash" | "object" => Self::Record,
            "regex" => Self::Regex,
            "expression_statement" => Self::Statement,
            "block" | "block_body" | "body_statement" | "compound_statement" | "constructor_body"
            | "module" | "program" | "statement_block" | "statement_list" | "switch_case" | "then" => {
                Self::Statements
            }
            "case"
            | "expression_switch_statement"
            | "switch_expression"
            | "switch_statement"
            | "when_expression" => Self::Switch,
            "encapsed_string"
            | "interpreted_string_literal"
            | "multiline_string_literal"
            | "raw_string_literal"
            | "string"
            | "string_literal"
            | "template_string"
            | "verbatim_string_literal" => Self::Text,
            "interpolated_string_expression" => Self::Text,
            "raise_statement" | "throw_expression" | "throw_statement" => Self::Throw,
            "boolean" | "boolean_literal" | "false" | "true" => Self::Truth,
            "tuple" | "tuple_expression" => Self::Tuple,
            "not_operator"
            | "prefix_unary_expression"
            | "unary"
            | "unary_expression"
            | "unary_op_expression"
            | "unary_operator" => Self::Unary,
            "inc_statement" | "dec_statement" | "postfix_unary_expression" | "update_expression" => {
                Self::Update
            }
            _ => Self::Other,
        }
    }
}
