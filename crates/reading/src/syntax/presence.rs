//! Values that are there, or true, whatever the code does: a list around the actual one, a function that nobody calls.

use super::Language;
use super::shape::parts;
use super::spelled::Speller;
use crate::tree::Node;

/// Calls of a language that give an object, whatever they are given.
const MAKERS: &[&str] = &[
    "Array.of()",
    "Arrays.asList()",
    "List.of()",
    "Map.of()",
    "Object()",
    "Optional.of()",
    "Optional.ofNullable()",
    "Promise()",
    "Promise.all()",
    "Promise.allSettled()",
    "Promise.reject()",
    "Promise.resolve()",
    "Set.of()",
    "Symbol()",
    "listOf()",
    "setOf()",
    "type()",
];
/// Calls that give a text or a number, which may be false, and is always there.
const VALUES: &[&str] = &["String()", "String.valueOf()", "bool()", "int()", "len()", "repr()", "str()"];

impl Speller<'_> {
    /// Returns whether an expression is true in every run, by its kind.
    pub(super) fn is_object(&self, node: Node<'_>) -> bool {
        let Some(node) = self.inside(node) else { return false };
        // Other languages call a function that they are given as a condition.
        let holds_functions = matches!(
            self.language,
            Language::JavaScript | Language::Python | Language::Ruby | Language::Tsx | Language::TypeScript
        );
        match node.word() {
            "array" | "object" | "regex" => true,
            "list" | "set" | "tuple" | "dictionary" => !parts(node).is_empty(),
            "generator_expression" => self.language == Language::Python,
            "arrow_function" | "function_expression" | "generator_function" | "lambda" => holds_functions,
            _ => self.called(node).is_some_and(|path| MAKERS.contains(&format!("{path}()").as_str())),
        }
    }

    /// Returns whether an expression gives something in every run, be it false: what a comparison gives is there as well.
    pub(super) fn is_present(&self, node: Node<'_>) -> bool {
        const COMPARISONS: &[&str] =
            &["!=", "!==", "<", "<=", "==", "===", ">", ">=", "in", "is", "instanceof"];
        if self.is_object(node) {
            return true;
        }
        let Some(node) = self.inside(node) else { return false };
        let kind = node.word();
        match kind {
            "binary" | "binary_expression" | "comparison_operator" => match parts(node).as_slice() {
                [left, right] => {
                    let between = self.text.get(left.end_byte()..right.start_byte()).unwrap_or_default();
                    COMPARISONS.contains(&between.trim())
                }
                _ => kind == "comparison_operator",
            },
            "unary_expression"
            | "unary"
            | "not_operator"
            | "unary_op_expression"
            | "prefix_unary_expression" => {
                ["!", "not", "typeof"].iter().any(|begin| self.text_of(node).starts_with(begin))
            }
            "list" | "set" | "tuple" | "dictionary" | "hash" | "list_comprehension" | "template_string" => {
                true
            }
            "array_creation_expression"
            | "collection_expression"
            | "implicit_array_creation_expression"
            | "lambda_expression"
            | "lambda_literal" => true,
            _ => self.called(node).is_some_and(|path| VALUES.contains(&format!("{path}()").as_str())),
        }
    }

    /// Returns an expression without parentheses around it.
    fn inside<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        let mut node = node;
        while matches!(
            node.word(),
            "argument" | "parenthesized_expression" | "parenthesized_statements" | "value_argument"
        ) {
            node = parts(node).last().copied()?;
        }
        Some(node)
    }
}
