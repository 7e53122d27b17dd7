//! Assertions that hold whatever the code does: of truth or equality, over literals alone.

use super::Language;
use super::constants::LONGEST_CONDITION;
use super::rust_text;
use super::spelled::{Speller, first_field, parts};
use crate::names::{joins, places};
use crate::tree::Node;

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
/// Functions that assert that an argument is there.
const PRESENCES: &[&str] = &[
    "assertexists",
    "assertisnotnone",
    "assertisnotnull",
    "assertnotnil",
    "assertnotnull",
    "exists",
    "isdefined",
    "isnotnull",
    "notnil",
    "notnull",
    "refutenil",
];
/// Words of a chain by which the value that it begins with is there, and by which it is true.
const THERE: &[&str] =
    &["exist", "isnotnull", "notbenull", "nottobenull", "nottobeundefined", "tobedefined", "tonotnull"];
const TRUE: &[&str] = &["beok", "betruthy", "ok", "tobetruthy"];
/// Words behind an expectation that say something about it, and demand nothing.
const DESCRIPTIONS: &[&str] =
    &["as", "because", "describedas", "overridingerrormessage", "should", "withfailmessage"];
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
            "assert_statement" => match parts(statement).as_slice() {
                [condition, message @ ..] => {
                    self.is_always_true(*condition)
                        || message.first().is_some_and(|message| self.leaves_test(*message))
                }
                [] => false,
            },
            "expression_statement" => self.is_trivial_call(self.inner(statement), 0),
            "call" if self.language == Language::Ruby => {
                const BLOCKS: &[&str] = &["block_body", "body_statement", "program", "then"];
                let is_statement = statement.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
                let is_unasked = self.path(statement).as_deref() == Some("expect()");
                is_statement && (is_unasked || self.is_trivial_call(statement, 0))
            }
            "call_expression" if self.language == Language::Kotlin => {
                const BLOCKS: &[&str] =
                    &["block", "function_body", "lambda_literal", "source_file", "statements"];
                let is_statement = statement.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
                is_statement && self.is_trivial_call(statement, 0)
            }
            "macro_invocation" => self.is_trivial_macro(statement),
            _ => false,
        }
    }

    /// Returns whether the message of an assertion ends the test without failing it.
    fn leaves_test(&self, message: Node<'_>) -> bool {
        let path = self.called(message).unwrap_or_default();
        let last = path.rsplit('.').next().unwrap_or_default();
        matches!(last, "_exit" | "exit" | "quit" | "skip" | "skipTest" | "xfail")
    }

    /// Returns whether an expression of an assertion is true in every run. One that is too long to be evaluated is so where
    /// it is made of literals alone, or where that holds for an operand by which it is decided.
    fn is_always_true(&self, node: Node<'_>) -> bool {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.byte_range().len() <= LONGEST_CONDITION {
                if self.constant(node) == Some(true) || self.is_object(node) {
                    return true;
                }
            } else if self.is_closed(node) {
                return true;
            }
            let operator = node.field("operator").map(|operator| self.text_of(operator));
            let is_choice = matches!(operator, Some("or" | "||" | "|"));
            let is_parenthesis = node.word() == "parenthesized_expression";
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

    /// Returns whether the text defines a function of a name: right before it stands a word that defines, or its type.
    fn defines(&self, name: &str) -> bool {
        const WORDS: &[&str] = &["def", "fn", "fun", "func", "function", "macro_rules"];
        let has_types =
            matches!(self.language, Language::C | Language::Cpp | Language::CSharp | Language::Java);
        places(self.text, name).any(|place| {
            let line = self.text[..place.start].rsplit('\n').next().unwrap_or_default();
            let before = line.trim_end_matches([' ', '!']);
            let word = before.rsplit(|sign| !joins(sign)).next().unwrap_or_default();
            let is_type =
                has_types && !matches!(word, "" | "await" | "else" | "new" | "return" | "throw" | "yield");
            before.len() < line.len() && (WORDS.contains(&word) || is_type && !line.contains("//"))
        })
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
        if claims_nothing || self.is_undemanding(node, &word) {
            return true;
        }
        let is_of_framework = object.is_empty() && !self.defines(last)
            || FRAMEWORKS.contains(&object.rsplit('.').next().unwrap_or(object));
        if is_of_framework && word.starts_with("assert") && word.len() > 6 && !given.is_empty() {
            let holds = constant_assertion(&word, given.first().and_then(|first| self.constant(*first)));
            if holds && given.iter().all(|given| self.is_closed(*given)) {
                return true;
            }
        }
        let is_assertion = ["assert", "expect", "refute"].iter().any(|begin| word.starts_with(begin))
            || OBJECTS.contains(&object.rsplit('.').next().unwrap_or(object));
        let holds = match given.as_slice() {
            _ if !is_assertion => false,
            [first, ..] if TRUTHS.contains(&word.as_str()) => self.is_always_true(*first),
            [first, ..] if FALSITIES.contains(&word.as_str()) || word == "refute" => {
                self.constant(*first) == Some(false)
            }
            [first, ..] if PRESENCES.contains(&word.as_str()) => self.is_present(*first),
            [one, two, ..] if EQUALITIES.contains(&word.as_str()) => {
                self.is_closed(*one) && self.is_closed(*two) || self.is_same(*one, *two)
            }
            _ => false,
        };
        holds || self.is_trivial_chain(node, Some(&path), depth) || self.is_trivial_presence(node)
    }

    /// Returns whether a chain ends before it demands something of the value that it begins with.
    fn is_undemanding(&self, node: Node<'_>, word: &str) -> bool {
        let has_chains = matches!(self.language, Language::CSharp | Language::Java | Language::Kotlin)
            && word == "assertthat";
        let given = self.argument_nodes(node).len();
        if word == "should" {
            return given == 0 && self.language == Language::CSharp;
        }
        let text: String = self.text_of(node).split_whitespace().collect();
        let begins = ["assertThat(", "Assertions.assertThat("].iter().any(|begin| text.starts_with(begin));
        has_chains && given == 1 || DESCRIPTIONS.contains(&word) && begins && text.matches(").").count() == 1
    }

    /// Returns whether a chain demands that a value is there, or true, that always is: `expect([f()]).toBeTruthy()`.
    fn is_trivial_presence(&self, node: Node<'_>) -> bool {
        let (mut words, mut next) = (String::new(), Some(node));
        while let Some(node) = next {
            let name = first_field(node, &["property", "name", "method"]);
            if self.called(node).is_some_and(|path| SUBJECTS.contains(&path.as_str())) {
                let Some(subject) = self.argument_nodes(node).first().copied() else { return false };
                let is_there = THERE.iter().any(|word| words.ends_with(word));
                let is_true = TRUE.iter().any(|word| words.ends_with(word)) && !words.contains("not");
                return is_there && self.is_present(subject) || is_true && self.is_object(subject);
            }
            let name =
                name.map(|name| self.text_of(name).to_lowercase().replace('_', "")).unwrap_or_default();
            let given = self.argument_nodes(node);
            let matcher = given.first().map(|given| self.text_of(*given).to_lowercase().replace('_', ""));
            let matcher =
                matcher.filter(|given| matches!(given.as_str(), "null" | "undefined" | "betruthy" | "benil"));
            let own = format!("{name}{}", matcher.unwrap_or_default()).replace("benil", "benull");
            words = format!("{own}{words}");
            next = first_field(node, &["function", "object", "receiver", "expression"]);
        }
        false
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
                const OPERATIONS: &[&str] = &[
                    "binary",
                    "binary_expression",
                    "boolean_operator",
                    "conditional",
                    "ternary_expression",
                    "unary",
                    "unary_expression",
                ];
                let is_operation = OPERATIONS.contains(&subject.word());
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
        let list = call.field("arguments");
        let list = list.or_else(|| parts(call).into_iter().find(|part| part.word() == "value_arguments"));
        list.map(parts).unwrap_or_default()
    }

    /// Returns whether two expressions are the same names.
    fn is_same(&self, one: Node<'_>, two: Node<'_>) -> bool {
        self.text_of(one) == self.text_of(two) && one.word() == "identifier"
    }

    fn is_trivial_macro(&self, node: Node<'_>) -> bool {
        let name = node.field("macro").map(|name| self.text_of(name)).unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or(name);
        if !matches!(name, "assert" | "assert_matches" | "debug_assert" | "assert_eq" | "debug_assert_eq") {
            return false;
        }
        let Some(tokens) = parts(node).into_iter().find(|part| part.word() == "token_tree") else {
            return false;
        };
        let text = self.tokens(tokens);
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        let given = rust_text::split(inside, &[","]);
        match (name, given.as_slice()) {
            ("assert" | "debug_assert", [first, ..]) => rust_text::truth(first) == Some(true),
            ("assert_eq" | "debug_assert_eq", [one, two, ..]) => one == two && rust_text::is_literal(one),
            ("assert_matches", [_, "_", ..]) => true,
            _ => false,
        }
    }
}
