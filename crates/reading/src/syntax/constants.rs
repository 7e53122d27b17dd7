//! Conditions that are the same in every run, and conditions about the platform alone.

use super::Language;
use super::ci::{is_ci_name, value_in_ci};
use super::spelled::{MAX_DEPTH, Speller, parts};
use super::versions::value_of_version;
use super::walk::span;
use crate::tree::Node;

/// Values of a platform's name that code is compared with.
const PLATFORMS: &[&str] = &[
    "aix",
    "android",
    "cpython",
    "cygwin",
    "darwin",
    "emscripten",
    "freebsd",
    "graalpy",
    "ios",
    "java",
    "linux",
    "linux2",
    "mac",
    "macos",
    "nt",
    "openbsd",
    "posix",
    "pypy",
    "sunos",
    "wasi",
    "win",
    "win32",
    "windows",
    "x86_64",
    "amd64",
    "arm64",
    "aarch64",
    "armv7l",
    "i386",
    "i686",
    "s390x",
    "ppc64le",
    "riscv64",
    "big",
    "little",
    "64bit",
    "32bit",
];

/// Names of Python that tell the platform or the version of the language.
const PLATFORM_NAMES: &[&str] = &[
    "os.name",
    "platform.architecture()",
    "platform.machine()",
    "platform.processor()",
    "platform.python_implementation()",
    "platform.python_version()",
    "platform.python_version_tuple()",
    "platform.release()",
    "platform.system()",
    "platform.version()",
    "sys.byteorder",
    "sys.implementation.name",
    "sys.maxsize",
    "sys.platform",
    "sys.version_info",
    "sys.version_info.major",
    "sys.version_info.minor",
    "sys.version_info[0]",
    "sys.version_info[1]",
];

/// Longest condition in bytes whose value is looked for; a longer one counts as true.
pub(super) const LONGEST_CONDITION: usize = 1_000;

impl Speller<'_> {
    /// Returns the truth value of an expression that has the same in every run.
    pub(super) fn constant(&self, node: Node<'_>) -> Option<bool> {
        // Nobody writes conditions this long, and each operand is compared with the others.
        if node.byte_range().len() > LONGEST_CONDITION {
            return Some(true);
        }
        let value = self.fold(node, 0);
        // An expression of literals alone is the same in every run, and hardly written to be false.
        value.or_else(|| self.is_closed(node).then_some(true))
    }

    fn fold(&self, node: Node<'_>, depth: usize) -> Option<bool> {
        if depth > MAX_DEPTH {
            self.paths.cut();
            return None;
        }
        let inner = |node: Node<'_>| self.fold(node, depth + 1);
        let (text, kind) = (self.text_of(node), node.word());
        if let Some(value) = value_in_ci(text).or_else(|| value_of_version(text)) {
            return Some(value);
        }
        let is_ruby = self.language == Language::Ruby;
        match kind {
            "True" | "true" | "False" | "false" | "boolean" | "boolean_literal" => {
                Some(text.eq_ignore_ascii_case("true"))
            }
            "none" | "None" | "nil" | "null" | "null_literal" | "undefined" => Some(false),
            _ if number(text).is_some() && !kind.contains("string") => {
                Some(is_ruby || number(text).is_some_and(|number| number != 0.0))
            }
            "tuple" | "list" | "dictionary" | "expression_list" | "set"
                if self.language == Language::Python =>
            {
                Some(!parts(node).is_empty())
            }
            "array_creation_expression" => Some(!parts(node).is_empty()),
            "array" | "object" | "regex" | "class" | "function_expression" => Some(true),
            "arrow_function" | "lambda" | "lambda_expression" | "anonymous_function" | "lambda_literal" => {
                self.returned(node).and_then(inner)
            }
            _ if kind.contains("string") => match self.string(node) {
                Some(text) => Some(is_ruby || !text.is_empty()),
                None => node.named_children().any(|part| part.word().contains("content")).then_some(true),
            },
            "not_operator"
            | "unary_expression"
            | "unary"
            | "prefix_unary_expression"
            | "unary_op_expression"
            | "unary_operator"
            | "prefix_expression" => {
                let operand = *parts(node).last()?;
                let operator = text[..operand.start_byte() - node.start_byte()].trim();
                match operator {
                    "!" | "not" => inner(operand).map(|value| !value),
                    "-" | "+" => inner(operand),
                    "void" => Some(false),
                    "typeof" => Some(true),
                    _ => None,
                }
            }
            "boolean_operator"
            | "binary_expression"
            | "binary"
            | "comparison_operator"
            | "infix_expression" => self.fold_binary(node, depth),
            "conditional_expression" | "ternary_expression" | "conditional" => {
                let chosen = self.chosen(node, depth).filter(|chosen| *chosen != node)?;
                inner(chosen)
            }
            "call" | "call_expression" => {
                let path = self.path(node)?;
                if is_ci_name(&path) && node.field("arguments").is_some_and(|list| parts(list).is_empty()) {
                    return Some(true);
                }
                // A run asks for short tests alone where it is told to. By itself it is a condition of its own.
                if path == "testing.Short()" && depth > 0 {
                    return Some(false);
                }
                let list = node.field("arguments")?;
                let arguments = parts(list);
                let [argument] = arguments.as_slice() else { return None };
                match path.as_str() {
                    "Boolean()" | "bool()" | "len()" | "int()" => inner(*argument),
                    "any()" | "all()" => self.fold_list(*argument, path == "any()", depth),
                    _ => None,
                }
            }
            "identifier" | "attribute" | "member_expression" | "simple_identifier" | "constant" => {
                let known = self.names.get(text).map(|meaning| meaning.value.constant);
                if let Some(known) = known {
                    return known;
                }
                match self.path(node)?.as_str() {
                    "TYPE_CHECKING"
                    | "typing.TYPE_CHECKING"
                    | "t.TYPE_CHECKING"
                    | "False"
                    | "false"
                    | "None"
                    | "undefined"
                    | "NaN" => Some(false),
                    "__debug__" | "True" | "true" | "Infinity" => Some(true),
                    path if is_ci_name(path) => Some(true),
                    _ => None,
                }
            }
            "named_expression" | "assignment_expression" => {
                inner(node.field("value").or_else(|| node.field("right"))?)
            }
            "parenthesized_expression"
            | "parenthesized_statements"
            | "condition_clause"
            | "sequence_expression"
            | "as_expression"
            | "expression_statement"
            | "await"
            | "cast_expression"
            | "non_null_expression"
            | "satisfies_expression"
            | "argument"
            | "value_argument" => {
                let all = parts(node);
                let first = matches!(kind, "as_expression" | "non_null_expression" | "satisfies_expression");
                inner(*(if first { all.first() } else { all.last() })?)
            }
            _ => None,
        }
    }

    /// Returns the expression that a function without statements has for a body.
    fn returned<'n>(&self, function: Node<'n>) -> Option<Node<'n>> {
        let body = function.field("body").or_else(|| parts(function).last().copied())?;
        match body.word() {
            "statement_block" | "block" | "compound_statement" => {
                let all = parts(body);
                let [only] = all.as_slice() else { return None };
                let returns = only.word() == "return_statement";
                parts(*only).first().copied().filter(|_| returns)
            }
            _ => Some(body),
        }
    }

    fn fold_binary(&self, node: Node<'_>, depth: usize) -> Option<bool> {
        let all = parts(node);
        let [left, .., right] = all.as_slice() else { return None };
        let between = Some(self.operator(node, *left, *right));
        let inner = |node: Node<'_>| self.fold(node, depth + 1);
        match between? {
            "and" | "&&" => match (inner(*left), inner(*right)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), right) => right,
                (None, _) => self.is_negation(*left, *right).then_some(false),
            },
            "|" => [*left, *right].map(inner).contains(&Some(true)).then_some(true),
            "&" => [*left, *right].map(inner).contains(&Some(false)).then_some(false),
            "or" | "||" => match (inner(*left), inner(*right)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), right) => right,
                (None, _) => self.is_negation(*left, *right).then_some(true),
            },
            "??" => inner(*left)
                .filter(|_| !matches!(left.word(), "null" | "undefined"))
                .or_else(|| inner(*right)),
            operator if all.len() == 2 => self.fold_comparison(*left, operator, *right),
            _ => None,
        }
    }

    /// Returns the operator between two operands.
    fn operator<'s>(&'s self, node: Node<'_>, left: Node<'_>, right: Node<'_>) -> &'s str {
        let mut between = node.children().filter(|child| {
            left.end_byte() <= child.start_byte()
                && child.end_byte() <= right.start_byte()
                && !child.word().ends_with("comment")
        });
        between.next().map(|operator| self.text_of(operator)).unwrap_or_default()
    }

    /// Returns whether one expression is another with a negation.
    fn is_negation(&self, left: Node<'_>, right: Node<'_>) -> bool {
        let [left, right] = [left, right].map(|node| {
            let text: String = self.text_of(node).split_whitespace().collect();
            text.replace(['(', ')'], "")
        });
        let negated =
            |text: &str| text.strip_prefix('!').or_else(|| text.strip_prefix("not")).map(str::to_owned);
        let is_opposite = left != right && left.replacen("==", "!=", 1) == right.replacen("==", "!=", 1);
        negated(&left).as_deref() == Some(&right) || negated(&right).as_deref() == Some(&left) || is_opposite
    }

    /// Returns the truth value of `any` or `all` of a list that is written out.
    fn fold_list(&self, list: Node<'_>, is_any: bool, depth: usize) -> Option<bool> {
        if !matches!(list.word(), "list" | "set" | "tuple") {
            return None;
        }
        let members = parts(list).into_iter().map(|member| self.fold(member, depth + 1));
        let values: Vec<Option<bool>> = members.collect();
        if values.contains(&Some(is_any)) {
            return Some(is_any);
        }
        values.iter().all(Option::is_some).then_some(!is_any)
    }

    fn fold_comparison(&self, left: Node<'_>, operator: &str, right: Node<'_>) -> Option<bool> {
        let texts = [left, right].map(|node| self.text_of(node));
        if self.language == Language::Python && operator == "==" && texts[0] == "__name__" {
            return Some(false);
        }
        // The objects of mocks that equal everything.
        let is_anything = texts.iter().any(|text| *text == "ANY" || text.ends_with("mock.ANY"));
        if self.language == Language::Python && operator == "==" && is_anything {
            return Some(true);
        }
        let is_length = texts[0].starts_with("len(") || texts[0].ends_with(".length");
        if is_length && (operator == ">=" && texts[1] == "0" || operator == ">" && texts[1] == "-1") {
            return Some(true);
        }
        if let [Some(left), Some(right)] = texts.map(number) {
            return match operator {
                "==" | "===" | "is" => Some(left == right),
                "!=" | "!==" => Some(left != right),
                "<" => Some(left < right),
                "<=" => Some(left <= right),
                ">" => Some(left > right),
                ">=" => Some(left >= right),
                _ => None,
            };
        }
        let is_same = match [left, right].map(|node| self.literal(node)) {
            [Some(left), Some(right)] => left == right,
            _ if texts[0] == texts[1] && self.is_plain(left) => true,
            _ => return None,
        };
        match operator {
            "==" | "===" | "is" | ">=" | "<=" if is_same => Some(true),
            "==" | "===" | "is" => Some(false),
            "!=" | "!==" if !is_same => Some(true),
            _ => None,
        }
    }

    /// Returns whether an expression is made of names alone.
    fn is_plain(&self, node: Node<'_>) -> bool {
        let is_name =
            matches!(node.word(), "identifier" | "attribute" | "member_expression" | "field_access");
        is_name && !self.text_of(node).contains('(')
    }

    /// Returns a literal in one spelling.
    pub(super) fn literal(&self, node: Node<'_>) -> Option<String> {
        if let Some(text) = self.string(node) {
            return Some(format!("\"{text}"));
        }
        let text = self.text_of(node);
        let is_word = matches!(
            text,
            "True"
                | "False"
                | "None"
                | "true"
                | "false"
                | "null"
                | "nil"
                | "undefined"
                | "TRUE"
                | "FALSE"
                | "NULL"
        );
        (is_word || number(text).is_some()).then(|| text.to_lowercase())
    }

    /// Returns the part of a conditional expression that runs, or is its value; the expression itself where that
    /// depends; `None` for anything else.
    pub(super) fn chosen<'n>(&self, node: Node<'n>, depth: usize) -> Option<Node<'n>> {
        match node.word() {
            "conditional_expression" | "ternary_expression" | "conditional" => {
                let [first, second, third] = &parts(node)[..] else { return None };
                // Python has the condition in the middle.
                let (condition, then, otherwise) = if self.language == Language::Python {
                    (second, first, third)
                } else {
                    (first, second, third)
                };
                Some(match self.fold(*condition, depth + 1) {
                    Some(true) => *then,
                    Some(false) => *otherwise,
                    None => node,
                })
            }
            "boolean_operator" | "binary_expression" | "binary" => {
                let [left, right] = &parts(node)[..] else { return None };
                let runs_right = match self.operator(node, *left, *right) {
                    "and" | "&&" => true,
                    "or" | "||" => false,
                    _ => return None,
                };
                Some(if self.fold(*left, depth + 1) == Some(runs_right) { *right } else { *left })
            }
            "if_modifier" | "unless_modifier" => {
                let body = node.field("body")?;
                let wanted = node.word() == "if_modifier";
                let value = self.fold(node.field("condition")?, depth + 1);
                Some(if value == Some(wanted) { body } else { node })
            }
            _ => None,
        }
    }

    /// Returns whether a condition of Python is about the platform or the version of the language, and about nothing
    /// else.
    pub(super) fn is_platform(&self, node: Node<'_>) -> bool {
        if self.language != Language::Python {
            return false;
        }
        let all = parts(node);
        match node.word() {
            "parenthesized_expression" | "not_operator" => {
                all.last().is_some_and(|inner| self.is_platform(*inner))
            }
            "boolean_operator" => {
                let [left, right] = all.as_slice() else { return false };
                let are = [left, right].map(|side| self.is_platform(*side));
                match self.operator(node, *left, *right) {
                    // Any other condition makes it hold less often.
                    "and" => are.contains(&true),
                    _ => are == [true, true],
                }
            }
            "comparison_operator" => {
                let [left, right] = all.as_slice() else { return false };
                let path = self.path(*left).unwrap_or_default();
                PLATFORM_NAMES.contains(&path.as_str()) && self.is_platform_value(*right)
            }
            "call" => {
                let path = self.path(node).unwrap_or_default();
                let name = path.strip_suffix(".startswith()").or_else(|| path.strip_suffix(".endswith()"));
                let arguments = node.field("arguments").map(parts).unwrap_or_default();
                name.is_some_and(|name| PLATFORM_NAMES.contains(&name))
                    && arguments.iter().all(|value| self.is_platform_value(*value))
            }
            "attribute" | "identifier" => {
                let text = self.text_of(node);
                match self.names.get(text) {
                    Some(known) => {
                        known.value.is_platform || known.path.as_deref().is_some_and(is_platform_word)
                    }
                    None => is_platform_word(text),
                }
            }
            _ => false,
        }
    }

    /// Returns whether a value is one that a platform or a version has.
    fn is_platform_value(&self, node: Node<'_>) -> bool {
        match node.word() {
            "tuple" | "list" | "set" => {
                let all = parts(node);
                let is_version =
                    all.len() > 1 && all.iter().all(|part| number(self.text_of(*part)).is_some());
                is_version || !all.is_empty() && all.iter().all(|part| self.is_platform_value(*part))
            }
            "integer" | "binary_operator" => true,
            _ => {
                let text = self.string(node).unwrap_or_default().to_lowercase();
                PLATFORMS.contains(&text.as_str()) || text.starts_with(|first: char| first.is_ascii_digit())
            }
        }
    }
}

/// Returns whether a name tells a platform by itself: `IS_WINDOWS`, `compat.PY38`.
fn is_platform_word(path: &str) -> bool {
    let word = path.rsplit('.').next().unwrap_or(path).to_lowercase();
    let word = word.strip_prefix("is_").or_else(|| word.strip_prefix("on_")).unwrap_or(&word);
    let starts = ["windows", "win32", "linux", "macos", "darwin", "pypy", "cpython"];
    starts.iter().any(|start| word.starts_with(start))
        || word == "win"
        || word.strip_prefix("py").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the value of a number.
fn number(text: &str) -> Option<f64> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || "-+.".contains(first)) {
        return None;
    }
    let plain: String = text.chars().filter(|sign| *sign != '_' && !sign.is_whitespace()).collect();
    let lower = plain.to_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits.trim_end_matches(['u', 'l', 'n']), 16)
            .ok()
            .map(|number| number as f64);
    }
    lower.trim_end_matches(|sign: char| "ulfdnjizes".contains(sign)).trim_end_matches("_").parse().ok()
}

/// Returns whether a predicate of `cfg` holds in every build of the tests, or in none.
pub(super) fn cfg(tokens: &str) -> Option<bool> {
    let tokens = tokens.trim();
    let inside = |word: &str| tokens.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(all) = inside("all") {
        let values: Vec<Option<bool>> = arguments(all).map(cfg).collect();
        let holds = values.iter().all(|value| *value == Some(true));
        return if values.contains(&Some(false)) { Some(false) } else { holds.then_some(true) };
    }
    if let Some(any) = inside("any") {
        let values: Vec<Option<bool>> = arguments(any).map(cfg).collect();
        let fails = values.iter().all(|value| *value == Some(false));
        return if values.contains(&Some(true)) { Some(true) } else { fails.then_some(false) };
    }
    if let Some(not) = inside("not") {
        return cfg(not.trim_end_matches(',')).map(|value| !value);
    }
    match tokens {
        "test" | "true" => Some(true),
        "false" | "FALSE" | "miri" | "doc" | "doctest" | "loom" | "kani" => Some(false),
        _ => None,
    }
}

/// Splits arguments at the commas outside of parentheses.
pub(super) fn arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let pieces = text.split(move |sign| {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty())
}

impl Speller<'_> {
    /// Returns the tokens of a node without blanks and comments.
    pub(super) fn tokens(&self, node: Node<'_>) -> String {
        let mut text = String::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.word().ends_with("comment") {
                continue;
            }
            if node.child_count() == 0 || node.word().contains("string") {
                text.push_str(span(node).of(self.text));
                continue;
            }
            let mut inner: Vec<Node<'_>> = node.children().collect();
            inner.reverse();
            stack.extend(inner);
        }
        text
    }
}
