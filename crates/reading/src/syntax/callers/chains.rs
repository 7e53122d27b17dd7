//! Chains of names: a name with the objects, types and modules before it, and the call that it is the function of.

use super::super::Language;
use super::super::shape::parts;
use crate::tree::Node;

/// A path of names, with the whole node.
pub(super) struct Chain<'t, 'a> {
    pub(super) whole: Node<'t>,
    /// Nodes around the whole, outer ones first.
    pub(super) above: &'a [Node<'t>],
    pub(super) names: Vec<&'t str>,
    /// The module that a call at the beginning loads.
    pub(super) required: Option<&'t str>,
    /// Set where the names begin with the type of an object that is made there.
    pub(super) is_of_new: bool,
}

impl Chain<'_, '_> {
    pub(super) fn owned_names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// Returns the call whose function is a chain.
pub(super) fn call<'t>(chain: &Chain<'t, '_>) -> Option<Node<'t>> {
    let mut function = chain.whole;
    if matches!(
        function.word(),
        "member_call_expression"
            | "method_invocation"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression"
    ) {
        return Some(function);
    }
    let (parent, outer) = chain.above.split_last()?;
    let mut parent = *parent;
    if matches!(parent.word(), "generic_function" | "generic_type") {
        (function, parent) = (parent, *outer.last()?);
    }
    let is_call = match parent.word() {
        "call" | "call_expression" | "function_call_expression" | "invocation_expression" => {
            parent.field("function") == Some(function) && parent.field("optional_chain").is_none()
        }
        "new_expression" => parent.field("constructor") == Some(function),
        // A literal of a struct has its fields as arguments.
        "struct_expression" => parent.field("name") == Some(function),
        "object_creation_expression" => {
            let all = parts(parent);
            parent.field("type").or_else(|| all.first().copied()) == Some(function)
                && all.iter().all(|part| part.word() != "class_body")
        }
        _ => false,
    };
    is_call.then_some(parent)
}

/// Returns whether a name of PHP stands where a class or a function that is missing is an error.
pub(super) fn is_named_in_php(parent: Node<'_>, name: Node<'_>) -> bool {
    match parent.word() {
        "base_clause" | "class_interface_clause" | "object_creation_expression" | "use_declaration" => true,
        "scoped_call_expression" => parent.field("scope") == Some(name),
        "function_call_expression" => parent.field("function") == Some(name),
        _ => false,
    }
}

impl Chain<'_, '_> {
    /// Returns whether a chain begins with a value and not with the name of a type, by the way it is written.
    pub(super) fn is_of_value(&self, language: Language) -> bool {
        let is_field = language == Language::Rust && self.whole.word() == "field_expression";
        is_field || self.names.first().is_some_and(|first| first.starts_with('$'))
    }
}

/// Returns the number of modules with a body around a chain.
pub(super) fn inline_modules(chain: &Chain<'_, '_>) -> usize {
    chain.above.iter().filter(|node| node.word() == "mod_item").count()
}

/// Returns the arguments of a call, which an object of PHP has without a field.
pub(super) fn arguments_list(call: Node<'_>) -> Option<Node<'_>> {
    let listed = call.field("arguments").or_else(|| call.field("body"));
    listed.or_else(|| parts(call).into_iter().find(|part| part.word() == "arguments"))
}

/// Returns the node that names the type of a literal of Go or a pattern of Rust with a field's name as a key.
pub(super) fn type_of_key<'t>(name: Node<'t>, above: &[Node<'t>]) -> Option<Node<'t>> {
    if let [.., pattern, field] = above
        && pattern.word() == "struct_pattern"
        && field.field("name") == Some(name)
    {
        return pattern.field("type");
    }
    let [.., literal, value, pair, element] = above else { return None };
    let is_key = element.word() == "literal_element"
        && pair.word() == "keyed_element"
        && pair.named_child(0) == Some(*element)
        && element.named_child(0) == Some(name);
    let is_literal = value.word() == "literal_value" && literal.word() == "composite_literal";
    if is_key && is_literal { literal.field("type") } else { None }
}

/// Returns the object that a name is a member of by a node.
pub(super) fn object_of<'t>(member: Node<'t>, name: Node<'t>) -> Option<Node<'t>> {
    let (object, own) = match member.word() {
        "attribute" => ("object", "attribute"),
        "member_expression" => ("object", "property"),
        "selector_expression" => ("operand", "field"),
        "field_access" => ("object", "field"),
        "method_invocation" => ("object", "name"),
        "scoped_identifier" if member.field("path").is_some() => ("path", "name"),
        "scoped_identifier" => ("scope", "name"),
        "scoped_type_identifier" if member.field("name").is_some() => ("path", "name"),
        "qualified_type" => ("package", "name"),
        "field_expression" => ("value", "field"),
        "member_access_expression" | "qualified_name" if member.field("object").is_none() => {
            (if member.word() == "qualified_name" { "qualifier" } else { "expression" }, "name")
        }
        "member_call_expression" | "nullsafe_member_call_expression" => ("object", "name"),
        "scoped_call_expression" => ("scope", "name"),
        "nested_type_identifier" => ("module", "name"),
        "class_constant_access_expression" | "scoped_type_identifier" | "method_reference" => {
            return match parts(member)[..] {
                [object, own] if own == name => Some(object),
                _ => None,
            };
        }
        _ => return None,
    };
    (member.field(own) == Some(name)).then(|| member.field(object)).flatten()
}
