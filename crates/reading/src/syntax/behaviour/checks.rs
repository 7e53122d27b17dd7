//! Assertions: what each is about, and how much it demands.

use super::super::outline::Span;
use super::super::walk::span;
use super::bodies::inner;
use super::conditions::sized;
use super::matchers::demand_of;
use super::tolerance::{Tolerance, tolerance};
use super::{Language, Reader, names};
use crate::tree::Node;

/// Longest chain of calls behind `expect(…)` that is followed.
const LONGEST_CHAIN: usize = 12;

/// Strength of the demand of an assertion on its subject, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// It is there, or true.
    Exists,
    Kind,
    /// It has a part, or is in some range.
    Part,
    Size,
    /// It is one value.
    Value,
}

/// An assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub span: Span,
    /// Normalized text of the assertion.
    pub text: String,
    pub demand: Demand,
    /// Normalized texts of the expressions that it is about; constants are none.
    pub subjects: Vec<String>,
    /// Tolerance of a comparison of numbers.
    pub tolerance: Option<Tolerance>,
    /// Set where it compares an expression without calls with itself.
    pub is_same: bool,
    /// Set where it compares with true.
    pub is_truth: bool,
    /// Set where it compares with false, null or an empty value.
    pub is_falsy: bool,
}

/// Subjects with the demand on them.
pub(super) struct Claim {
    pub(super) demand: Demand,
    pub(super) operands: Vec<Operand>,
}

pub(super) struct Operand {
    pub(super) text: String,
    pub(super) is_constant: bool,
}

/// Functions that take the value that is asserted about.
const SUBJECTS: &[&str] = &[
    "ASSERT_THAT",
    "Assert.That",
    "EXPECT_THAT",
    "assertThat",
    "assert_that",
    "expect",
    "expectThat",
    "expect.soft",
];
/// Values that are falsy in some language.
const FALSY: &[&str] = &[
    "\"\"",
    "''",
    "()",
    "0",
    "Collections.emptyList()",
    "Collections.emptyMap()",
    "Collections.emptySet()",
    "False",
    "List.of()",
    "Map.of()",
    "None",
    "Set.of()",
    "String::new()",
    "Vec::new()",
    "[]",
    "array()",
    "dict()",
    "false",
    "list()",
    "nil",
    "null",
    "set()",
    "string.Empty",
    "undefined",
    "vec![]",
    "{}",
];
/// Objects whose members are words of an assertion and no assertion by themselves.
const OBJECTS: &[&str] = &[
    "$this",
    "Assert",
    "Assertions",
    "assert",
    "cls",
    "is",
    "require",
    "self",
    "static",
    "t",
    "test",
    "this",
];

impl Reader<'_> {
    /// Returns the assertion that a node is.
    pub(super) fn check(&self, node: Node<'_>) -> Option<Check> {
        let claim = match node.word() {
            "assert_statement" => self.condition(node.named_child(0)?, true, 0),
            "expression_statement" => self.property(inner(node)),
            "if_statement" if self.language == Language::Go => self.go_condition(node),
            "macro_invocation" => self.rust_macro(node),
            _ => self.call_claim(node),
        };
        let nothing = Claim { demand: Demand::Exists, operands: Vec::new() };
        let claim = if self.demands_nothing(node) { nothing } else { claim? };
        let text = self.spelled(node);
        let tolerance = tolerance(&text);
        let demand = if tolerance.is_some() { claim.demand.min(Demand::Part) } else { claim.demand };
        let is_truth = claim.demand == Demand::Value
            && claim
                .operands
                .iter()
                .any(|operand| operand.is_constant && ["True", "true"].contains(&operand.text.as_str()));
        let is_falsy = matches!(claim.demand, Demand::Size | Demand::Value)
            && claim.operands.iter().any(|operand| FALSY.contains(&operand.text.as_str()));
        let subjects: Vec<Operand> =
            claim.operands.into_iter().filter(|operand| !operand.is_constant).collect();
        let is_same = claim.demand == Demand::Value
            && matches!(subjects.as_slice(), [one, two] if one.text == two.text && !one.text.contains(['(', '!']));
        Some(Check {
            span: span(node),
            tolerance,
            demand,
            subjects: subjects.into_iter().map(|operand| operand.text).collect(),
            is_same,
            is_truth,
            is_falsy,
            text,
        })
    }

    /// Returns whether a node is an assertion that holds whatever the code does.
    fn demands_nothing(&self, node: Node<'_>) -> bool {
        let kind = node.word();
        if matches!(kind, "assert_statement" | "macro_invocation") {
            return self.speller().is_trivial(node);
        }
        let statement = match kind {
            "expression_statement" if inner(node).word() == "member_expression" => Some(node),
            // The grammars of these languages have no statement around a call.
            "call" | "call_expression" if matches!(self.language, Language::Kotlin | Language::Ruby) => {
                Some(node)
            }
            _ if names::callee(self.text, node).is_some_and(|callee| may_assert(&callee)) => {
                node.parent().filter(|parent| parent.word() == "expression_statement")
            }
            _ => None,
        };
        statement.is_some_and(|statement| self.speller().is_trivial(statement))
    }

    pub(super) fn operand(&self, node: Node<'_>) -> Operand {
        let node = match node.word() {
            "argument" | "parenthesized_expression" | "value_argument" => node.named_child(0).unwrap_or(node),
            _ => node,
        };
        Operand { text: self.spelled(node), is_constant: self.is_constant(node, 0) }
    }

    /// Returns what a test demands of a failure.
    fn failure(&self, word: &str, arguments: &[Node<'_>]) -> Option<Claim> {
        const BROAD: &[&str] =
            &["BaseException", "Error", "Exception", "Exception.class", "StandardError", "Throwable.class"];
        if !matches!(word, "assertraises" | "assertthrows" | "raises") {
            return None;
        }
        let is_broad = arguments.first().is_none_or(|first| BROAD.contains(&self.text_of(*first)));
        let demand = if is_broad && arguments.len() < 2 { Demand::Exists } else { Demand::Kind };
        Some(Claim { demand, operands: vec![Operand { text: "raises".to_owned(), is_constant: false }] })
    }

    pub(super) fn arguments<'n>(&self, call: Node<'n>) -> Vec<Node<'n>> {
        let list = call.field("arguments");
        let list = list.or_else(|| call.named_children().find(|child| child.word() == "value_arguments"));
        list.into_iter().flat_map(|node| node.named_children()).filter(|child| !child.is_comment()).collect()
    }

    /// Returns the demand of a property behind `expect(…)`: `expect(a).to.exist`.
    fn property(&self, node: Node<'_>) -> Option<Claim> {
        if node.word() != "member_expression" {
            return None;
        }
        const PROPERTIES: &[&str] = &["exist", "ok", "true"];
        let word = letters(self.text_of(node.field("property")?));
        let demand = demand_of(&word)?;
        let subject = self.subject(node.field("object")?)?;
        if !PROPERTIES.contains(&word.as_str()) {
            // A matcher that is not called: `expect(a).toBe;`.
            return Some(Claim { demand: Demand::Exists, operands: Vec::new() });
        }
        Some(Claim { demand, operands: vec![self.operand(subject)] })
    }

    /// Returns the argument of the `expect(…)` that a chain begins with.
    fn subject<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        let mut node = node;
        for _ in 0..LONGEST_CHAIN {
            let inner =
                ["object", "receiver", "function", "expression"].iter().find_map(|field| node.field(field));
            if names::callee(self.text, node).is_some()
                && SUBJECTS.contains(&self.spelled(node).split('(').next().unwrap_or_default())
                && inner.is_none_or(|inner| !self.text_of(inner).contains('('))
            {
                return self.arguments(node).into_iter().next();
            }
            node = inner?;
        }
        None
    }

    /// Returns the demand of a matcher that is an argument: a call, a property, or an operator of RSpec.
    fn demand_of_matcher(&self, matcher: Node<'_>) -> Option<Demand> {
        let text = self.text_of(matcher);
        let compared = text.strip_prefix("be ").map(str::trim_start);
        if let Some(operator) = compared.and_then(|rest| rest.split(' ').next()) {
            return if operator == "==" { Some(Demand::Value) } else { Some(Demand::Part) };
        }
        // The weaker one of two matchers is enough.
        if let Some((one, other)) = text.split_once(").or").or_else(|| text.split_once('|')) {
            let words =
                [one, other].map(|text| text.trim_start_matches(['(', ' ']).split(['(', ' ', ')']).next());
            return words.into_iter().flatten().filter_map(|word| demand_of(&letters(word))).min();
        }
        if text.starts_with("be(") && !text.contains(").") {
            return Some(Demand::Value);
        }
        demand_of(&letters(&names::callee(self.text, matcher).unwrap_or(text.to_owned())))
    }

    fn call_claim(&self, node: Node<'_>) -> Option<Claim> {
        let callee = names::callee(self.text, node)?;
        let word = letters(&callee);
        let arguments = self.arguments(node);
        if word == "to" || word == "notto" || word == "tonot" {
            // The matcher of RSpec is the argument.
            let subject = self.subject(node)?;
            let matcher = arguments.first()?;
            let demand = self.demand_of_matcher(*matcher)?;
            let demand = if word == "to" { demand } else { demand.min(Demand::Part) };
            let given = self.arguments(*matcher).into_iter().map(|given| self.operand(given));
            return Some(Claim {
                demand,
                operands: std::iter::once(self.operand(subject)).chain(given).collect(),
            });
        }
        if SUBJECTS.contains(&callee.as_str()) {
            // Hamcrest has the matcher behind the subject.
            let [subject, matcher] = arguments.as_slice() else { return None };
            let inside = matcher.named_child(0).filter(|_| matcher.word() == "argument");
            let matcher = inside.unwrap_or(*matcher);
            let demand = self.demand_of_matcher(matcher)?;
            let given = self.arguments(matcher).into_iter().map(|given| self.operand(given));
            return Some(Claim {
                demand,
                operands: std::iter::once(self.operand(*subject)).chain(given).collect(),
            });
        }
        if let Some(claim) = self.failure(&word, &arguments) {
            return Some(claim);
        }
        let demand = demand_of(&word)?;
        if ["must", "should", "wont"].iter().any(|begin| word.starts_with(begin))
            && let Some(subject) = receiver(node)
        {
            let given = arguments.into_iter().take(1).map(|given| self.operand(given));
            let operands = std::iter::once(self.operand(subject)).chain(given).collect();
            return Some(sized(Claim { demand, operands }));
        }
        let head = self.spelled(node);
        let before = Span { start: node.start_byte(), end: names::called(node)?.start_byte() };
        let object = self.squashed(before.of(self.text));
        let object = object.trim_end_matches(['.', ':', '-', '>', '?']);
        if let Some(subject) = self.subject(node).filter(|subject| *subject != node) {
            let given = arguments.into_iter().map(|given| self.operand(given));
            let given: Vec<Operand> = given.collect();
            let demand = match demand {
                _ if given.first().is_some_and(|given| given.text.starts_with("expect.any")) => {
                    Demand::Exists
                }
                Demand::Value if head.contains(".not.") && given.is_empty() => Demand::Exists,
                Demand::Value if head.contains(".not.") => Demand::Part,
                Demand::Exists | Demand::Kind | Demand::Part | Demand::Size | Demand::Value => demand,
            };
            let is_truth = match given.as_slice() {
                [] => matches!(word.as_str(), "istrue" | "tobetruthy"),
                [given] => demand == Demand::Value && given.text == "true",
                _ => false,
            };
            if is_truth
                && !head.contains(".not.")
                && ["binary_expression", "unary_expression"].contains(&subject.word())
            {
                return self.condition(subject, true, 0);
            }
            let operands = std::iter::once(self.operand(subject)).chain(given).collect();
            return Some(sized(Claim { demand, operands }));
        }
        if matches!(word.as_str(), "assertcalled" | "assertcalledwith" | "assertcalledoncewith") {
            let operand = Operand { text: object.to_owned(), is_constant: false };
            return Some(Claim { demand, operands: vec![operand] });
        }
        let is_assertion = word.starts_with("assert") && word != "assert"
            || word.starts_with("expect")
            || word.starts_with("refute")
            || word == "assert" && object.is_empty()
            || OBJECTS.contains(&object.rsplit('.').next().unwrap_or(object)) && !object.is_empty();
        if !is_assertion {
            return None;
        }
        let mut arguments = arguments;
        if self.language == Language::Go
            && arguments.first().is_some_and(|first| {
                matches!(self.text_of(*first), "&testing.T{}" | "new(testing.T)" | "s.T()" | "t")
            })
        {
            arguments.remove(0);
        }
        if demand == Demand::Exists {
            let first = *arguments.first()?;
            return match word.as_str() {
                "assert" | "asserttrue" | "expecttrue" | "istrue" | "ok" | "true" => {
                    self.condition(first, true, 0)
                }
                _ => Some(Claim { demand, operands: vec![self.operand(first)] }),
            };
        }
        let operands = arguments.into_iter().take(2).map(|argument| self.operand(argument));
        Some(sized(Claim { demand, operands: operands.collect() }))
    }
}

/// Returns the value that a method of an assertion is called on: `total.ShouldBe(3)`.
fn receiver(call: Node<'_>) -> Option<Node<'_>> {
    let function = call.field("function");
    let of_function = function.and_then(|function| function.field("expression").or(function.field("object")));
    call.field("receiver").or(call.field("object")).or(of_function)
}

/// Returns whether a function is one of an assertion, by its name. Others may assert that their literal arguments are what
/// the code under test gave, such as the status of a response.
fn may_assert(callee: &str) -> bool {
    const OTHERS: &[&str] = &[
        "as",
        "assertexists",
        "assertfalse",
        "assertisfalse",
        "assertthat",
        "because",
        "describedas",
        "expectfalse",
        "false",
        "isdefined",
        "isfalse",
        "notto",
        "overridingerrormessage",
        "refute",
        "refutenil",
        "should",
        "to",
        "tonot",
        "withfailmessage",
    ];
    let word = letters(callee);
    demand_of(&word).is_some() || OTHERS.contains(&word.as_str())
}

/// Returns the letters of the name of a function, in small letters, without its type arguments.
fn letters(word: &str) -> String {
    let word = word.split('<').next().unwrap_or(word).trim_end_matches(['!', '?']);
    // Go has an assertion with a format beside each: `Equalf`. Others end in a word: `kind_of`.
    let is_word = ["Of", "of"].iter().any(|end| word.ends_with(end));
    let word = if is_word { word } else { word.trim_end_matches('f') };
    word.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
