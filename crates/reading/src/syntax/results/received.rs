//! Reads the use that callers make of the result of a call.

use super::super::Language;
use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::{has_word, span};
use crate::tree::{Node, Tree};

/// The use of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// A member of it is read or called.
    Member(String),
    /// It is an operand, a condition, an indexed value or what a loop runs over.
    Operand,
    /// The call is a statement.
    Statement,
    /// Members of it become variables.
    Taken(Vec<String>),
    /// `?` of Rust.
    Tried,
    /// It is assigned to a number of variables.
    Unpacked(u32),
    /// It is waited for, handed on, or used in another way that suits any result.
    Other,
}

/// Deeper calls are not looked at.
const MAX_DEPTH: usize = 200;

/// Returns the calls of a function, by the place of its name, with the use of the results.
pub(crate) fn received(language: Language, tree: &Tree, text: &str, name: &str) -> Vec<(Span, Use)> {
    let reader = Reader { language, text };
    let mut found = Vec::new();
    reader.gather(tree.root_node(), name, 0, &mut found);
    found
}

struct Reader<'t> {
    language: Language,
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn gather(&self, node: Node<'t>, name: &str, depth: usize, found: &mut Vec<(Span, Use)>) {
        if matches!(node.word(), "call" | "call_expression")
            && let Some(called) = node.field("function").map(last_name)
            && self.text_of(called) == name
            && !node.has_error()
        {
            found.push((span(called), self.use_of(node)));
        }
        if depth < MAX_DEPTH {
            for child in node.named_children() {
                self.gather(child, name, depth + 1, found);
            }
        }
    }

    fn use_of(&self, call: Node<'t>) -> Use {
        let mut result = call;
        let mut around = call.parent();
        while let Some(outer) = around.filter(|outer| outer.word() == "parenthesized_expression") {
            (result, around) = (outer, outer.parent());
        }
        let Some(around) = around else { return Use::Other };
        match around.word() {
            "attribute" | "member_expression" if has_part(around, "object", result) => self.member(around),
            "selector_expression" if has_part(around, "operand", result) => self.member(around),
            "field_expression" if has_part(around, "value", result) => self.member(around),
            "subscript" if has_part(around, "value", result) => Use::Operand,
            "index_expression" if has_part(around, "operand", result) => Use::Operand,
            "subscript_expression" if has_part(around, "object", result) => Use::Operand,
            "comparison_operator" | "interpolation" | "not_operator" | "template_substitution" => {
                Use::Operand
            }
            "binary_expression" | "binary_operator" | "unary_expression" | "unary_operator" => {
                self.operand(around)
            }
            "expression_statement" => Use::Statement,
            "assignment" if has_part(around, "right", result) => unpacked(around.field("left")),
            "for_statement" | "for_in_statement" if has_part(around, "right", result) => {
                self.run_over(around)
            }
            "if_statement" | "while_statement" | "ternary_expression"
                if has_part(around, "condition", result) =>
            {
                Use::Operand
            }
            "variable_declarator" if has_part(around, "value", result) => self.taken(around.field("name")),
            "expression_list" if self.language == Language::Go => assigned(around),
            "try_expression" => Use::Tried,
            _ => Use::Other,
        }
    }

    fn member(&self, around: Node<'t>) -> Use {
        let name = ["attribute", "property", "field"].iter().find_map(|field| around.field(field));
        name.map_or(Use::Other, |name| Use::Member(self.text_of(name).to_owned()))
    }

    /// Returns the use by an operator that looks at the value.
    fn operand(&self, around: Node<'t>) -> Use {
        const OTHERS: &[&str] =
            &["&", "&&", "*", "??", "await", "delete", "in", "instanceof", "typeof", "void", "||"];
        // In Go and Rust these are arithmetic or take an address.
        let is_ecma = matches!(self.language, Language::JavaScript | Language::Tsx | Language::TypeScript);
        let is_product = has_word(around, "*") && (is_ecma || around.field("left").is_some());
        if is_product || !OTHERS.iter().any(|word| has_word(around, word)) {
            Use::Operand
        } else {
            Use::Other
        }
    }

    fn run_over(&self, around: Node<'t>) -> Use {
        if has_word(around, "async") || has_word(around, "await") { Use::Other } else { Use::Operand }
    }

    fn taken(&self, name: Option<Node<'t>>) -> Use {
        let Some(pattern) = name else { return Use::Other };
        match pattern.word() {
            "array_pattern" => Use::Operand,
            "object_pattern" => {
                let names = parts(pattern).into_iter().filter_map(|part| match part.word() {
                    "pair_pattern" => part.field("key"),
                    "object_assignment_pattern" => part.field("left"),
                    "shorthand_property_identifier_pattern" => Some(part),
                    _ => None,
                });
                Use::Taken(names.map(|name| self.text_of(name).to_owned()).collect())
            }
            _ => Use::Other,
        }
    }
}

fn has_part(node: Node<'_>, field: &str, part: Node<'_>) -> bool {
    node.field(field) == Some(part)
}

/// Returns the name that a callee ends with.
fn last_name(callee: Node<'_>) -> Node<'_> {
    let field = match callee.word() {
        "attribute" => "attribute",
        "member_expression" => "property",
        "selector_expression" | "field_expression" => "field",
        "scoped_identifier" => "name",
        _ => return callee,
    };
    callee.field(field).unwrap_or(callee)
}

/// Returns the use by an assignment of Python to several variables.
fn unpacked(left: Option<Node<'_>>) -> Use {
    let Some(left) = left.filter(|left| matches!(left.word(), "pattern_list" | "tuple_pattern")) else {
        return Use::Other;
    };
    let all = parts(left);
    if all.iter().any(|part| part.word() == "list_splat_pattern") {
        return Use::Other;
    }
    u32::try_from(all.len()).map_or(Use::Other, Use::Unpacked)
}

/// Returns the use by an assignment of Go, whose only value is the call.
fn assigned(list: Node<'_>) -> Use {
    let Some(around) = list.parent().filter(|_| list.named_child_count() == 1) else { return Use::Other };
    let is_assigned = matches!(around.word(), "assignment_statement" | "short_var_declaration")
        && around.field("right") == Some(list);
    let left = around.field("left").filter(|_| is_assigned);
    let count = left.and_then(|left| u32::try_from(left.named_child_count()).ok());
    count.map_or(Use::Other, Use::Unpacked)
}
