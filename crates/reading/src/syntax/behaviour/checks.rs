//! Assertions: what each is about, and how much it demands.

use tree_sitter::Node;

use super::super::outline::Span;
use super::super::walk::{children, span};
use super::bodies::inner;
use super::matchers::demand_of;
use super::tolerance::{Tolerance, tolerance};
use super::{Language, Reader, names};
use crate::nodes::Tabled;

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
struct Claim {
    demand: Demand,
    operands: Vec<Operand>,
}

struct Operand {
    text: String,
    is_constant: bool,
}

/// Functions that take the value that is asserted about.
const SUBJECTS: &[&str] =
    &["Assert.That", "assertThat", "assert_that", "expect", "expectThat", "expect.soft"];
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
            "assert_statement" => self.condition(node.named_child(0)?)?,
            "expression_statement" => self.property(inner(node))?,
            "if_statement" if self.language == Language::Go => self.go_condition(node)?,
            "macro_invocation" => self.rust_macro(node)?,
            _ => self.call_claim(node)?,
        };
        let text = self.spelled(node);
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
            tolerance: tolerance(&text),
            demand: claim.demand,
            subjects: subjects.into_iter().map(|operand| operand.text).collect(),
            is_same,
            is_truth,
            is_falsy,
            text,
        })
    }

    fn operand(&self, node: Node<'_>) -> Operand {
        let node = match node.word() {
            "argument" | "parenthesized_expression" | "value_argument" => node.named_child(0).unwrap_or(node),
            _ => node,
        };
        Operand { text: self.spelled(node), is_constant: self.is_constant(node, 0) }
    }

    /// Returns what a condition demands.
    fn condition(&self, node: Node<'_>) -> Option<Claim> {
        match node.word() {
            "argument" | "parenthesized_expression" | "value_argument" => {
                self.condition(node.named_child(0)?)
            }
            "binary_expression" | "comparison_operator" => {
                let parts: Vec<Node<'_>> = children(node).collect();
                let [left, right] = parts.as_slice() else { return None };
                let sign = Span { start: left.end_byte(), end: right.start_byte() }.of(self.text);
                let (left, right) = (self.operand(*left), self.operand(*right));
                comparison(&self.squashed(sign), left, right)
            }
            "boolean_operator" => None,
            _ => match names::callee(self.text, node).as_deref() {
                Some("isinstance") => {
                    let first = self.arguments(node).into_iter().next()?;
                    Some(Claim { demand: Demand::Kind, operands: vec![self.operand(first)] })
                }
                _ => Some(bare(self.operand(node))),
            },
        }
    }

    /// Returns what a test of Go demands that fails by itself: `if got != want { t.Errorf(…) }`.
    fn go_condition(&self, node: Node<'_>) -> Option<Claim> {
        let fails = self.text_of(node.field("consequence")?);
        if !["t.Error", "t.Fatal", "t.Fail"].iter().any(|word| fails.contains(word)) {
            return None;
        }
        let condition = node.field("condition")?;
        let parts: Vec<Node<'_>> = children(condition).collect();
        let ([left, right], "binary_expression") = (parts.as_slice(), condition.word()) else { return None };
        let sign = Span { start: left.end_byte(), end: right.start_byte() }.of(self.text);
        let opposite = match sign.trim() {
            "!=" => "==",
            "==" => "!=",
            _ => "<",
        };
        comparison(opposite, self.operand(*left), self.operand(*right))
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

    fn arguments<'n>(&self, call: Node<'n>) -> Vec<Node<'n>> {
        let list = call.field("arguments");
        let list = list.or_else(|| children(call).find(|child| child.word() == "value_arguments"));
        list.into_iter().flat_map(children).filter(|child| !child.is_comment()).collect()
    }

    /// Returns the demand of a property behind `expect(…)`: `expect(a).to.exist`.
    fn property(&self, node: Node<'_>) -> Option<Claim> {
        if node.word() != "member_expression" {
            return None;
        }
        let word = letters(self.text_of(node.field("property")?));
        let demand = demand_of(&word)?;
        let subject = self.subject(node.field("object")?)?;
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

    fn call_claim(&self, node: Node<'_>) -> Option<Claim> {
        let callee = names::callee(self.text, node)?;
        let word = letters(&callee);
        let arguments = self.arguments(node);
        if word == "to" || word == "notto" || word == "tonot" {
            // The matcher of RSpec is the argument.
            let subject = self.subject(node)?;
            let matcher = arguments.first()?;
            let demand = demand_of(&letters(
                &names::callee(self.text, *matcher).unwrap_or(self.text_of(*matcher).to_owned()),
            ))?;
            let given = self.arguments(*matcher).into_iter().map(|given| self.operand(given));
            return Some(Claim {
                demand,
                operands: std::iter::once(self.operand(subject)).chain(given).collect(),
            });
        }
        if SUBJECTS.contains(&callee.as_str()) {
            // Hamcrest has the matcher behind the subject.
            let [subject, matcher] = arguments.as_slice() else { return None };
            let demand = demand_of(&letters(&names::callee(self.text, *matcher)?))?;
            let given = self.arguments(*matcher).into_iter().map(|given| self.operand(given));
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
        let object =
            head.split('(').next().unwrap_or_default().rsplit_once(['.', ':', '>']).map(|(object, _)| object);
        let object = object.map(|object| object.trim_end_matches([':', '-', '?'])).unwrap_or_default();
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
            return Some(sized(Claim {
                demand,
                operands: std::iter::once(self.operand(subject)).chain(given).collect(),
            }));
        }
        if matches!(word.as_str(), "assertcalled" | "assertcalledwith" | "assertcalledoncewith") {
            let operand = Operand { text: object.to_owned(), is_constant: false };
            return Some(Claim { demand, operands: vec![operand] });
        }
        let is_assertion = word.starts_with("assert") && word != "assert"
            || word.starts_with("expect")
            || word == "assert" && object.is_empty()
            || OBJECTS.contains(&object.rsplit('.').next().unwrap_or(object)) && !object.is_empty();
        if !is_assertion {
            return None;
        }
        let mut arguments = arguments;
        if self.language == Language::Go
            && arguments.first().is_some_and(|first| matches!(self.text_of(*first), "t" | "s.T()"))
        {
            arguments.remove(0);
        }
        if demand == Demand::Exists {
            let first = *arguments.first()?;
            return match word.as_str() {
                "assert" | "asserttrue" | "expecttrue" | "istrue" | "ok" | "true" => self.condition(first),
                _ => Some(Claim { demand, operands: vec![self.operand(first)] }),
            };
        }
        let operands = arguments.into_iter().take(2).map(|argument| self.operand(argument));
        Some(sized(Claim { demand, operands: operands.collect() }))
    }

    /// Returns the demand of a macro of Rust, whose arguments have no tree.
    fn rust_macro(&self, node: Node<'_>) -> Option<Claim> {
        let name = self.text_of(node.field("macro")?);
        let name = name.rsplit("::").next().unwrap_or(name);
        let tokens = children(node).find(|child| child.word() == "token_tree")?;
        let text = self.spelled(tokens);
        let arguments = split(text.get(1..text.len().saturating_sub(1))?, &[","]);
        match name {
            "assert" | "debug_assert" => {
                let condition = arguments.first()?;
                for sign in ["==", "!=", ">=", "<="] {
                    if let [left, right] = split(condition, &[sign]).as_slice() {
                        return comparison(sign, plain(left), plain(right));
                    }
                }
                if split(condition, &["&&", "||"]).len() > 1 {
                    return None;
                }
                // Type arguments have the same signs.
                let signs = ["<", ">"].into_iter().filter(|_| !condition.contains("::<"));
                for sign in signs {
                    if let [left, right] = split(condition, &[sign]).as_slice() {
                        return comparison(sign, plain(left), plain(right));
                    }
                }
                Some(bare(plain(condition)))
            }
            "assert_eq" | "debug_assert_eq" | "assert_ne" => {
                let [left, right, ..] = arguments.as_slice() else { return None };
                let sign = if name == "assert_ne" { "!=" } else { "==" };
                comparison(sign, plain(left), plain(right))
            }
            "assert_matches" => {
                Some(Claim { demand: Demand::Part, operands: vec![plain(arguments.first()?)] })
            }
            _ => None,
        }
    }
}

/// Returns the value that a method of an assertion is called on: `total.ShouldBe(3)`.
fn receiver(call: Node<'_>) -> Option<Node<'_>> {
    let function = call.field("function");
    let of_function = function.and_then(|function| function.field("expression").or(function.field("object")));
    call.field("receiver").or(call.field("object")).or(of_function)
}

fn letters(word: &str) -> String {
    let word = word.trim_end_matches(['!', '?', 'f']);
    word.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn comparison(sign: &str, left: Operand, right: Operand) -> Option<Claim> {
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

/// Takes a demand on the length of something for one on the thing itself.
fn sized(claim: Claim) -> Claim {
    let Claim { mut demand, mut operands } = claim;
    for operand in operands.iter_mut().filter(|operand| !operand.is_constant) {
        let text = operand.text.as_str();
        let inside = text.strip_prefix("len(").and_then(|rest| rest.strip_suffix(')'));
        let ends = [".length", ".len()", ".size()", ".length()", ".Count", ".Length", ".size", ".count"];
        if let Some(inside) = inside.or_else(|| ends.iter().find_map(|end| text.strip_suffix(end))) {
            operand.text = inside.to_owned();
            demand = demand.min(Demand::Size);
        }
    }
    Claim { demand, operands }
}

/// Returns the demand that an expression alone is true.
fn bare(operand: Operand) -> Claim {
    let ends = [".is_empty()", ".is_ok()", ".is_some()", ".is_err()", ".is_none()", ".isPresent()"];
    let text = ends.iter().find_map(|end| operand.text.strip_suffix(end));
    let text = text.map_or(operand.text.as_str(), unwrapped).trim_start_matches('!').to_owned();
    Claim { demand: Demand::Exists, operands: vec![Operand { text, ..operand }] }
}

/// Returns an operand by its text.
fn plain(text: &str) -> Operand {
    let value = text.trim_start_matches(['&', '*', '-']);
    let starts = value.starts_with(|first: char| first.is_ascii_digit() || first == '"' || first == '\'');
    let is_word = matches!(value, "true" | "false" | "None" | "Ok(())" | "()" | "[]" | "vec![]");
    let is_list = ["vec![", "[", "Some(", "Ok("].iter().any(|begin| {
        let inside = value.strip_prefix(begin).map(|rest| rest.trim_end_matches([')', ']']));
        inside.is_some_and(|inside| {
            split(inside, &[","]).iter().all(|part| !part.is_empty() && plain(part).is_constant)
        })
    });
    let subject = unwrapped(text.trim_start_matches(['&', '*']));
    Operand { text: subject.to_owned(), is_constant: starts || is_word || is_list }
}

/// Returns the expression in Rust whose result a text takes or panics.
fn unwrapped(text: &str) -> &str {
    text.strip_suffix("()").and_then(|text| text.strip_suffix(".unwrap")).unwrap_or(text)
}

/// Splits a text of Rust at some signs outside of brackets and literals.
fn split<'t>(text: &'t str, signs: &[&str]) -> Vec<&'t str> {
    let (mut parts, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    let mut in_string = false;
    while let Some(next) = text[at..].chars().next() {
        let mut length = next.len_utf8();
        match next {
            '\\' if in_string => length += text[at + length..].chars().next().map_or(0, char::len_utf8),
            '\'' if !in_string => length = quoted(&text[at..]),
            '"' => in_string = !in_string,
            '(' | '[' | '{' if !in_string => depth += 1,
            ')' | ']' | '}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        let sign = signs.iter().find(|sign| depth == 0 && !in_string && text[at..].starts_with(**sign));
        match sign {
            Some(sign) => {
                parts.push(&text[start..at]);
                at += sign.len();
                start = at;
            }
            None => at += length,
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Returns the length of the character literal that a quote begins, or of the quote alone if a lifetime has it.
fn quoted(text: &str) -> usize {
    let inside = &text[1..];
    let length = match inside.chars().next() {
        Some('\\') => inside.get(2..).and_then(|rest| rest.find('\'')).map_or(0, |end| end + 2),
        // A literal of white space is empty in a normalized text.
        Some('\'') | None => 0,
        Some(only) => only.len_utf8(),
    };
    if inside[length..].starts_with('\'') { length + 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::super::{Behaviour, ParsedSource};
    use super::{Language, split};

    #[test]
    fn texts_are_split_outside_of_brackets_and_literals() {
        for (text, expected) in [
            ("f(a,b),[c,d]", vec!["f(a,b)", "[c,d]"]),
            (r#"",",a"#, vec![r#"",""#, "a"]),
            (r#"'"',a"#, vec![r#"'"'"#, "a"]),
            (r"'\'',a", vec![r"'\''", "a"]),
            ("'','(',a", vec!["''", "'('", "a"]),
            ("&'a(b,c),d", vec!["&'a(b,c)", "d"]),
            (r#"a,"\é,b"#, vec!["a", r#""\é,b"#]),
            (r#"a,"\"#, vec!["a", r#""\"#]),
        ] {
            assert_eq!(split(text, &[","]), expected, "{text}");
        }
    }

    #[test]
    fn assertions_about_quotes_are_seen_in_rust() {
        let text = "fn quotes() {\n    assert_eq!(find('\"'), Some(3));\n    assert_eq!(count(), 2);\n}\n";
        let source = ParsedSource::parse(Language::Rust, text, None).unwrap();
        let behaviour = Behaviour::new(&source);
        let subjects = behaviour.functions[1].checks().iter().flat_map(|check| &check.subjects);
        assert_eq!(subjects.collect::<Vec<_>>(), ["find('\"')", "count()"]);
    }
}
