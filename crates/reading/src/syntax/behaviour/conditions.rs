//! Conditions of assertions: the demands of their parts, joined.

use super::super::outline::Span;
use super::checks::{Claim, Demand, Operand};
use super::{Language, Reader, names};
use crate::tree::Node;

/// Parts of deeper conditions are read by their text alone.
const MAX_DEPTH: usize = 30;

impl Reader<'_> {
    /// Returns the demand that a condition holds, or that it does not.
    pub(super) fn condition(&self, node: Node<'_>, holds: bool, depth: usize) -> Option<Claim> {
        if depth > MAX_DEPTH {
            return Some(bare(self.operand(node)));
        }
        let parts: Vec<Node<'_>> = node.named_children().filter(|child| !child.is_comment()).collect();
        match (node.word(), parts.as_slice()) {
            ("argument" | "value_argument", [.., inner])
            | ("parenthesized_expression" | "parenthesized_statements", [inner]) => {
                self.condition(*inner, holds, depth + 1)
            }
            ("named_expression", _) => self.condition(node.field("value")?, holds, depth + 1),
            ("binary" | "binary_expression" | "boolean_operator" | "comparison_operator", [left, right]) => {
                self.operation(*left, *right, holds, depth).or_else(|| Some(bare(self.operand(node))))
            }
            ("instanceof_expression" | "is_expression" | "is_pattern_expression", [left, right]) => {
                let is_value = right.word() == "constant_pattern";
                let demand = if is_value { Demand::Value } else { Demand::Kind };
                Some(Claim { demand, operands: vec![self.operand(*left)] })
            }
            // A chain of comparisons.
            ("comparison_operator", _) => {
                let claims = parts.iter().map(|part| bare(self.operand(*part)));
                Some(Claim { demand: Demand::Part, ..every(claims.collect()) })
            }
            ("conditional" | "conditional_expression" | "ternary_expression", [first, second, third]) => {
                let is_value_first = self.language == Language::Python;
                let branches = [if is_value_first { *first } else { *second }, *third];
                Some(either(self.claims(branches.as_slice(), holds, depth)))
            }
            (
                "not_operator"
                | "prefix_unary_expression"
                | "unary"
                | "unary_expression"
                | "unary_op_expression",
                [.., inner],
            ) if self.is_negation(node, *inner) && (!holds || is_composed(*inner)) => {
                self.condition(*inner, !holds, depth + 1)
            }
            _ => self.called_condition(node, holds, depth),
        }
    }

    /// Returns the demand that a call gives a true value, or that it does not.
    fn called_condition(&self, node: Node<'_>, holds: bool, depth: usize) -> Option<Claim> {
        let arguments = self.arguments(node);
        let callee = names::callee(self.text, node).unwrap_or_default();
        match (callee.as_str(), arguments.as_slice()) {
            ("hasattr" | "isinstance", [first, ..]) => {
                Some(Claim { demand: Demand::Kind, operands: vec![self.operand(*first)] })
            }
            ("callable", [inner]) => Some(bare(self.operand(*inner))),
            ("Boolean" | "bool", [inner]) => self.condition(*inner, holds, depth + 1),
            ("all" | "any", [list]) if matches!(list.word(), "list" | "set" | "tuple") => {
                let members: Vec<Node<'_>> =
                    list.named_children().filter(|child| !child.is_comment()).collect();
                let claims = self.claims(&members, holds, depth);
                Some(if (callee == "all") == holds { every(claims) } else { either(claims) })
            }
            _ => Some(bare(self.operand(node))),
        }
    }

    fn claims(&self, nodes: &[Node<'_>], holds: bool, depth: usize) -> Vec<Claim> {
        let claims = nodes.iter().filter_map(|node| self.condition(*node, holds, depth + 1));
        claims.collect()
    }

    /// Returns the demand that an operation of two operands holds, or that it does not.
    fn operation(&self, left: Node<'_>, right: Node<'_>, holds: bool, depth: usize) -> Option<Claim> {
        let between = Span { start: left.end_byte(), end: right.start_byte() };
        let sign = self.squashed(between.of(self.text));
        match sign.as_str() {
            "&&" | "||" | "and" | "or" => {
                let claims = self.claims(&[left, right], holds, depth);
                let is_every = matches!(sign.as_str(), "&&" | "and") == holds;
                Some(if is_every { every(claims) } else { either(claims) })
            }
            "instanceof" => Some(Claim { demand: Demand::Kind, operands: vec![self.operand(left)] }),
            sign => {
                let sign = if holds { sign } else { opposite(sign) };
                comparison(sign, self.operand(left), self.operand(right))
            }
        }
    }

    /// Returns whether an expression is another one with a negation before it.
    fn is_negation(&self, node: Node<'_>, inner: Node<'_>) -> bool {
        let before = Span { start: node.start_byte(), end: inner.start_byte() }.of(self.text);
        matches!(before.trim(), "!" | "not")
    }

    /// Returns the demand of a test of Go that fails by itself: `if got != want { t.Errorf(…) }`.
    pub(super) fn go_condition(&self, node: Node<'_>) -> Option<Claim> {
        let fails = self.text_of(node.field("consequence")?);
        if !["t.Error", "t.Fatal", "t.Fail"].iter().any(|word| fails.contains(word)) {
            return None;
        }
        let condition =
            node.field("condition").filter(|condition| condition.word() == "binary_expression")?;
        if self.speller().constant(condition) == Some(false) {
            return Some(Claim { demand: Demand::Exists, operands: Vec::new() });
        }
        self.condition(condition, false, 0)
    }
}

/// Returns whether an expression has parts that are read apart.
fn is_composed(node: Node<'_>) -> bool {
    let mut node = node;
    while matches!(node.word(), "parenthesized_expression" | "parenthesized_statements") {
        let Some(inner) = node.named_child(0) else { return false };
        node = inner;
    }
    matches!(
        node.word(),
        "binary"
            | "binary_expression"
            | "boolean_operator"
            | "comparison_operator"
            | "not_operator"
            | "prefix_unary_expression"
            | "unary"
            | "unary_expression"
            | "unary_op_expression"
    )
}

fn opposite(sign: &str) -> &str {
    match sign {
        "!=" | "!==" | "isnot" => "==",
        "==" | "===" | "is" => "!=",
        _ => "<",
    }
}

/// Joins demands that all hold. A value that is compared with itself demands nothing.
pub(super) fn every(claims: Vec<Claim>) -> Claim {
    let demanding = claims.iter().filter(|claim| !is_same(claim));
    let demand = demanding.map(|claim| claim.demand).max().unwrap_or(Demand::Exists);
    Claim { demand, operands: joined(claims) }
}

/// Joins demands of which one holds.
pub(super) fn either(claims: Vec<Claim>) -> Claim {
    let demand = claims.iter().map(|claim| claim.demand).min().unwrap_or(Demand::Exists);
    Claim { demand: demand.min(Demand::Part), operands: joined(claims) }
}

fn joined(claims: Vec<Claim>) -> Vec<Operand> {
    let mut operands: Vec<Operand> = Vec::new();
    for claim in claims.into_iter().filter(|claim| !is_same(claim)) {
        for operand in claim.operands.into_iter().filter(|operand| !operand.is_constant) {
            if operands.iter().all(|known| known.text != operand.text) {
                operands.push(operand);
            }
        }
    }
    operands
}

fn is_same(claim: &Claim) -> bool {
    let operands = claim.operands.as_slice();
    claim.demand == Demand::Value && matches!(operands, [one, two] if one.text == two.text)
}

pub(super) fn comparison(sign: &str, left: Operand, right: Operand) -> Option<Claim> {
    const NOTHING: &[&str] = &["None", "nil", "null", "undefined"];
    let is_nothing = NOTHING.contains(&right.text.as_str());
    let demand = match sign {
        "==" | "===" | "is" => Demand::Value,
        "!=" | "!==" | "isnot" if is_nothing => Demand::Exists,
        "!=" | "!==" | "isnot" | "in" | "notin" | "<" | ">" | "<=" | ">=" => Demand::Part,
        _ => return None,
    };
    Some(sized(Claim { demand, operands: vec![left, right] }))
}

/// Takes a demand on the length or the type of a value for one on the value itself.
pub(super) fn sized(claim: Claim) -> Claim {
    const SIZES: &[&str] =
        &[".length", ".len()", ".size()", ".length()", ".Count", ".Length", ".size", ".count"];
    const KINDS: &[&str] = &[".getClass()", ".GetType()", ".__class__", ".constructor"];
    let Claim { mut demand, mut operands } = claim;
    for operand in operands.iter_mut().filter(|operand| !operand.is_constant) {
        let text = operand.text.as_str();
        let inside = text.strip_prefix("len(").and_then(|rest| rest.strip_suffix(')'));
        let kind = ["type(", "reflect.TypeOf("].iter().find_map(|begin| text.strip_prefix(begin));
        let kind = kind.and_then(|rest| rest.strip_suffix(')'));
        let kind = kind.or_else(|| KINDS.iter().find_map(|end| text.strip_suffix(end)));
        if let Some(inside) = inside.or_else(|| SIZES.iter().find_map(|end| text.strip_suffix(end))) {
            operand.text = inside.to_owned();
            demand = demand.min(Demand::Size);
        } else if let Some(kind) = kind {
            operand.text = kind.to_owned();
            demand = demand.min(Demand::Kind);
        }
    }
    Claim { demand, operands }
}

/// Returns the demand that an expression alone is true.
pub(super) fn bare(operand: Operand) -> Claim {
    const ENDS: &[&str] =
        &[".is_empty()", ".is_ok()", ".is_some()", ".is_err()", ".is_none()", ".isPresent()"];
    let text = ENDS.iter().find_map(|end| operand.text.strip_suffix(end));
    let text = text.map_or(operand.text.as_str(), super::rust_checks::unwrapped);
    let text = text.trim_start_matches('!').to_owned();
    Claim { demand: Demand::Exists, operands: vec![Operand { text, ..operand }] }
}
