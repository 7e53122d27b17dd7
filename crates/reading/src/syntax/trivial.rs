//! Assertions that hold whatever the code does: of truth or equality, over literals alone.

use tree_sitter::Node;

use super::Language;
use super::constants::{LONGEST_CONDITION, arguments};
use super::spelled::{Speller, first_field, parts};
use crate::nodes::Tabled;

/// Functions that assert the truth of an argument, in small letters without underscores.
const TRUTHS: &[&str] = &[
    "assert",
    "assertistrue",
    "asserttrue",
    "asserttruthy",
    "debugassert",
    "expecttrue",
    "istrue",
    "ok",
    "true",
];
const FALSITIES: &[&str] = &["assertfalse", "assertisfalse", "expectfalse", "false", "isfalse", "refute"];
const EQUALITIES: &[&str] = &[
    "areequal",
    "aresame",
    "asserteq",
    "assertequal",
    "assertequals",
    "assertis",
    "assertsame",
    "assertstrictequal",
    "debugasserteq",
    "deepequal",
    "deepstrictequal",
    "equal",
    "equals",
    "equalvalues",
    "exactly",
    "expecteq",
    "is",
    "same",
    "strictequal",
];
/// Objects whose members are words of an assertion and no assertion by themselves.
const OBJECTS: &[&str] = &["Assert", "Assertions", "assert", "chai", "expect", "require", "t", "test"];
/// Functions that take the value that is asserted about.
const SUBJECTS: &[&str] = &["Assert.That", "assertThat", "expect", "expectThat", "expect.soft"];

/// Objects whose methods are the assertions of a framework, and not those of a mock.
const FRAMEWORKS: &[&str] = &["$this", "Assert", "Assertions", "assert", "cls", "self", "static", "this"];

/// Returns whether an assertion about literals can hold: one that is sure to fail is no way to pass.
fn constant_assertion(word: &str, first: Option<bool>) -> bool {
    match word {
        "asserttrue" => first == Some(true),
        "assertfalse" => first == Some(false),
        _ => true,
    }
}

impl Speller<'_> {
    /// Returns whether a statement is an assertion over literals alone.
    pub(super) fn is_trivial(&self, statement: Node<'_>) -> bool {
        match statement.word() {
            "assert_statement" => {
                parts(statement).first().is_some_and(|condition| self.is_always_true(*condition))
            }
            "expression_statement" => self.is_trivial_call(self.inner(statement), 0),
            "call" if self.language == Language::Ruby => {
                const BLOCKS: &[&str] = &["block_body", "body_statement", "program", "then"];
                let is_statement = statement.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
                let is_unasked = self.path(statement).as_deref() == Some("expect()");
                is_statement && (is_unasked || self.is_trivial_call(statement, 0))
            }
            "macro_invocation" => self.is_trivial_macro(statement),
            _ => false,
        }
    }

    /// Returns whether an expression of an assertion is true in every run. One that is too long to be evaluated is so where
    /// it is made of literals alone, or where that holds for an operand by which it is decided.
    fn is_always_true(&self, node: Node<'_>) -> bool {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.byte_range().len() <= LONGEST_CONDITION {
                if self.constant(node) == Some(true) {
                    return true;
                }
                continue;
            }
            let operator = node.field("operator").map(|operator| self.text_of(operator));
            let is_choice = matches!(operator, Some("or" | "||"));
            let is_parenthesis = node.word() == "parenthesized_expression";
            if self.is_closed(node) {
                return true;
            }
            if is_choice || is_parenthesis {
                stack.extend(parts(node));
            }
        }
        false
    }

    /// Returns the value of an expression that is short enough to be evaluated, and the same in every run.
    fn short_constant(&self, node: Node<'_>) -> Option<bool> {
        if node.byte_range().len() > LONGEST_CONDITION { None } else { self.constant(node) }
    }

    /// Returns the expression of a statement.
    fn inner<'n>(&self, statement: Node<'n>) -> Node<'n> {
        match statement.word() {
            "expression_statement" | "await" | "await_expression" => {
                parts(statement).last().map(|inner| self.inner(*inner)).unwrap_or(statement)
            }
            _ => statement,
        }
    }

    fn is_trivial_call(&self, node: Node<'_>, depth: usize) -> bool {
        let Some(path) = self.called(node) else {
            return self.is_trivial_chain(node, None, depth);
        };
        let mut given = self.argument_nodes(node);
        // The test itself comes first in Go.
        if self.language == Language::Go && given.first().is_some_and(|first| self.text_of(*first) == "t") {
            given.remove(0);
        }
        let (object, last) = path.rsplit_once('.').unwrap_or(("", &path));
        let word = last.to_lowercase().replace('_', "");
        let claims_nothing =
            matches!(path.as_str(), "expect.assertions" | "expect.hasAssertions" | "expect.extend")
                || matches!(
                    word.as_str(),
                    "addtoassertioncount" | "expectnottoperformassertions" | "succeed"
                )
                || word == "pass" && OBJECTS.contains(&object);
        if claims_nothing {
            return true;
        }
        let is_of_framework =
            object.is_empty() || FRAMEWORKS.contains(&object.rsplit('.').next().unwrap_or(object));
        if is_of_framework && word.starts_with("assert") && word.len() > 6 && !given.is_empty() {
            let holds = constant_assertion(&word, given.first().and_then(|first| self.constant(*first)));
            if holds && given.iter().all(|given| self.is_closed(*given)) {
                return true;
            }
        }
        let is_assertion = word.starts_with("assert")
            || word.starts_with("expect")
            || OBJECTS.contains(&object.rsplit('.').next().unwrap_or(object));
        let holds = match given.as_slice() {
            _ if !is_assertion => false,
            [first, ..] if TRUTHS.contains(&word.as_str()) => self.is_always_true(*first),
            [first, ..] if FALSITIES.contains(&word.as_str()) || word == "refute" => {
                self.constant(*first) == Some(false)
            }
            [one, two, ..] if EQUALITIES.contains(&word.as_str()) => {
                self.is_closed(*one) && self.is_closed(*two) || self.is_same(*one, *two)
            }
            _ => false,
        };
        holds || self.is_trivial_chain(node, Some(&path), depth)
    }

    /// Returns whether a chain of words and calls begins with a literal that is asserted about, and is given no other.
    fn is_trivial_subject(&self, node: Node<'_>, depth: usize) -> bool {
        if depth > super::spelled::MAX_DEPTH {
            return false;
        }
        self.is_trivial_chain(node, self.called(node).as_deref(), depth)
    }

    /// Like [`Self::is_trivial_subject`], with the path that the node calls.
    fn is_trivial_chain(&self, node: Node<'_>, path: Option<&str>, depth: usize) -> bool {
        if path.is_some_and(|path| SUBJECTS.contains(&path)) {
            return self.argument_nodes(node).first().is_some_and(|subject| {
                let is_operation = matches!(subject.word(), "binary_expression" | "unary_expression");
                self.is_closed(*subject) || is_operation && self.short_constant(*subject).is_some()
            });
        }
        let chained = matches!(
            node.word(),
            "call"
                | "call_expression"
                | "invocation_expression"
                | "member_access_expression"
                | "member_call_expression"
                | "member_expression"
                | "method_invocation"
        );
        let object = first_field(node, &["function", "object", "receiver", "expression"]);
        let Some(object) = object.filter(|_| chained) else { return false };
        let given = self.argument_nodes(node);
        self.is_trivial_subject(object, depth + 1) && given.iter().all(|given| self.is_closed_matcher(*given))
    }

    /// Returns whether an argument is a literal, or a matcher that is given one.
    fn is_closed_matcher(&self, node: Node<'_>) -> bool {
        const MATCHERS: &[&str] =
            &["Is.EqualTo", "Is.True", "be", "be_true", "be_truthy", "eq", "eql", "equal", "equalTo", "is"];
        let path = self.called(node).or_else(|| self.path(node));
        let is_matcher = path.is_some_and(|path| MATCHERS.contains(&path.as_str()));
        self.is_closed(node)
            || is_matcher && self.argument_nodes(node).iter().all(|given| self.is_closed(*given))
    }

    fn argument_nodes<'n>(&self, call: Node<'n>) -> Vec<Node<'n>> {
        call.field("arguments").map(parts).unwrap_or_default()
    }

    /// Returns whether two expressions are the same names.
    fn is_same(&self, one: Node<'_>, two: Node<'_>) -> bool {
        self.text_of(one) == self.text_of(two) && one.word() == "identifier"
    }

    fn is_trivial_macro(&self, node: Node<'_>) -> bool {
        let name = node.field("macro").map(|name| self.text_of(name)).unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or(name);
        if !matches!(name, "assert" | "debug_assert" | "assert_eq" | "debug_assert_eq") {
            return false;
        }
        let Some(tokens) = parts(node).into_iter().find(|part| part.word() == "token_tree") else {
            return false;
        };
        let text = self.tokens(tokens);
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let given: Vec<&str> = arguments(inside).collect();
        let is_literal = |text: &str| {
            let quoted = text.starts_with('"') && text.ends_with('"');
            quoted
                || matches!(text, "true" | "false")
                || text.starts_with(|first: char| first.is_ascii_digit())
        };
        match (name, given.as_slice()) {
            ("assert" | "debug_assert", [first, ..]) => {
                matches!(*first, "true" | "!false" | "1==1" | "true==true")
                    || first.ends_with("||true")
                    || first.starts_with("true||")
            }
            ("assert_eq" | "debug_assert_eq", [one, two, ..]) => one == two && is_literal(one),
            _ => false,
        }
    }
}
