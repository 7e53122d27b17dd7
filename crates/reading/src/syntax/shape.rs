//! Parts of paths, which are names, members and calls, by the kind of a node and its fields.

use crate::tree::Node;

/// Kinds of nodes, as far as paths are made of them.
pub(super) enum Shape<'n> {
    Name,
    Member(Node<'n>, Node<'n>),
    Index(Node<'n>, Node<'n>),
    Call(Callee<'n>),
    Inside(Node<'n>),
    Other,
}

/// Parts of a call.
pub(super) struct Callee<'n> {
    /// The function, or the object of a method.
    pub(super) of: Option<Node<'n>>,
    /// Name of the method, where the grammar has no node for object and name.
    pub(super) method: Option<Node<'n>>,
    pub(super) arguments: Option<Node<'n>>,
}

/// Returns the named children without comments.
pub(super) fn parts<'n>(node: Node<'n>) -> Vec<Node<'n>> {
    node.named_children().filter(|child| !child.is_comment()).collect()
}

pub(super) fn first_field<'n>(node: Node<'n>, names: &[&str]) -> Option<Node<'n>> {
    names.iter().find_map(|name| node.field(name))
}

/// Kinds of nodes that have their shape in common, told by the name of the kind alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Name,
    Member,
    Index,
    Call,
    /// A function or a type with its type arguments.
    Generic,
    /// Stands for its first part.
    First,
    /// Stands for its last part.
    Last,
    /// Stands for its only part.
    Only,
    Other,
}

impl Class {
    pub(super) fn of(kind: &str) -> Self {
        match kind {
            "base"
            | "constant"
            | "dotted_name"
            | "field_identifier"
            | "identifier"
            | "instance_variable"
            | "name"
            | "namespace_identifier"
            | "namespace_name"
            | "package_identifier"
            | "predefined_type"
            | "property_identifier"
            | "qualified_name"
            | "relative_scope"
            | "self"
            | "shorthand_property_identifier"
            | "super"
            | "this"
            | "this_expression"
            | "type_identifier"
            | "user_type"
            | "variable_name" => Self::Name,
            "attribute"
            | "class_constant_access_expression"
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
            | "scoped_type_identifier"
            | "selector_expression" => Self::Member,
            "subscript" | "subscript_expression" => Self::Index,
            "call"
            | "call_expression"
            | "function_call_expression"
            | "invocation_expression"
            | "method_invocation"
            | "member_call_expression"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression"
            | "new_expression"
            | "object_creation_expression"
            | "constructor_invocation"
            | "macro_invocation" => Self::Call,
            "generic_function" | "generic_name" | "instantiation_expression" => Self::Generic,
            "as_expression" | "satisfies_expression" | "non_null_expression" => Self::First,
            "argument"
            | "attribute_argument"
            | "await"
            | "await_expression"
            | "cast_expression"
            | "comma_expression"
            | "condition_clause"
            | "expression_statement"
            | "parenthesized_expression"
            | "parenthesized_statements"
            | "reference_expression"
            | "sequence_expression"
            | "spread_element"
            | "try_expression"
            | "type_assertion"
            | "value_argument"
            | "literal_element" => Self::Last,
            "expression_list" => Self::Only,
            _ => Self::Other,
        }
    }
}

pub(super) fn shape(node: Node<'_>) -> Shape<'_> {
    const OBJECTS: &[&str] =
        &["object", "value", "operand", "expression", "argument", "path", "scope", "receiver", "qualifier"];
    const NAMES: &[&str] = &["property", "attribute", "field", "name", "method"];
    let class = node.properties().map_or_else(|| Class::of(node.word()), |kind| kind.class);
    let inner = match class {
        Class::Name => return Shape::Name,
        Class::Member => {
            if let Some((object, name)) = first_field(node, OBJECTS).zip(first_field(node, NAMES)) {
                return Shape::Member(object, name);
            }
            match parts(node)[..] {
                [object, name] => return Shape::Member(object, name),
                [name] => Some(name),
                _ => None,
            }
        }
        Class::Index => {
            let index = first_field(node, OBJECTS).zip(first_field(node, &["subscript", "index"]));
            return index.map_or(Shape::Other, |(object, index)| Shape::Index(object, index));
        }
        Class::Call => return Shape::Call(callee(node)),
        Class::Generic => node.field("function").or_else(|| parts(node).first().copied()),
        Class::First => parts(node).first().copied(),
        Class::Last => parts(node).last().copied(),
        Class::Only => match parts(node)[..] {
            [only] => Some(only),
            _ => None,
        },
        Class::Other => None,
    };
    inner.map_or(Shape::Other, Shape::Inside)
}

/// Returns the parts of a call.
fn callee(node: Node<'_>) -> Callee<'_> {
    let method = first_field(node, &["method", "name"]);
    let of = match method {
        Some(_) => first_field(node, &["object", "receiver", "scope"]),
        None => first_field(node, &["function", "constructor", "type", "macro"])
            .or_else(|| parts(node).first().copied()),
    };
    let arguments =
        node.field("arguments").or_else(|| node.named_children().find(|child| is_argument_list(*child)));
    Callee { of, method, arguments }
}

fn is_argument_list(node: Node<'_>) -> bool {
    matches!(node.word(), "value_arguments" | "arguments" | "argument_list" | "token_tree")
}
