//! Comparisons that cannot come out as meant: of identities, of other types, of texts in another case.

use super::rules;
use super::site::{Check, Found, Site, last_name, number};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const IDENTITY: Check =
    Check::new(rules::LITERAL_IDENTITY, "literal is compared by identity", identity);
pub(super) const REFERENCE: Check =
    Check::new(rules::LITERAL_IDENTITY, "literal is compared by identity", reference)
        .of_calls(&["ReferenceEquals"]);
pub(super) const FRESH: Check =
    Check::new(rules::FRESH_OBJECT, "new object is never identical to another", fresh);
pub(super) const NAN: Check = Check::new(rules::NAN_COMPARED, "nothing equals NaN", nan);
pub(super) const TYPE_WORD: Check =
    Check::new(rules::TYPE_WORD, "no type has this name here, so that the comparison never holds", type_word);
pub(super) const OTHER_TYPE: Check =
    Check::new(rules::OTHER_TYPE, "value is never equal to a literal of this type", other_type);
pub(super) const LENGTH: Check =
    Check::new(rules::LENGTH_SIGN, "a length is never negative, so that the result is fixed", length);
pub(super) const CASE: Check =
    Check::new(rules::OTHER_CASE, "text in one case is compared with text in the other", other_case);
pub(super) const CASE_CALL: Check =
    Check::new(rules::OTHER_CASE, "text in one case is searched for text in the other", other_case_call)
        .of_calls(&[
            "startsWith",
            "endsWith",
            "includes",
            "contains",
            "equals",
            "indexOf",
            "startswith",
            "endswith",
            "start_with?",
            "end_with?",
            "include?",
            "starts_with",
            "ends_with",
            "eq",
            "Equals",
            "StartsWith",
            "EndsWith",
            "Contains",
            "HasPrefix",
            "HasSuffix",
            "Contains",
            "str_contains",
            "str_starts_with",
            "str_ends_with",
        ]);
pub(super) const CASE_LABEL: Check =
    Check::new(rules::OTHER_CASE, "label in another case than the text never applies", other_case_label);
pub(super) const POSITION: Check =
    Check::new(rules::POSITION_AS_TRUTH, "position 0 counts as false, and -1 as true", position).of_calls(&[
        "indexOf",
        "lastIndexOf",
        "findIndex",
        "find",
        "rfind",
        "stripos",
        "strpos",
        "strrpos",
    ]);
pub(super) const NULL_EQUALS: Check =
    Check::new(rules::EQUALS_NULL, "`equals` is never true of null", equals_null)
        .of_calls(&["equals", "Equals"]);

fn sides<'t>(site: &Site<'t>) -> Option<(Expression<'t>, Operator, Expression<'t>)> {
    let Form::Binary { left, operator, right } = site.form else { return None };
    Some((left, operator, right))
}

fn identity(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    let is_identity = matches!(operator, Operator::Identical | Operator::NotIdentical);
    let found = [(left, right), (right, left)].into_iter().any(|(literal, other)| {
        let form = literal.form();
        let is_text = matches!(form, Form::Text(_) | Form::Template);
        match site.language() {
            Language::Python => {
                let is_made = matches!(form, Form::Number(_) | Form::List | Form::Record | Form::Tuple);
                is_identity && (is_text || is_made)
            }
            Language::Kotlin => is_identity && is_text,
            Language::Java => operator.is_equality() && is_text && !other.is_literal(),
            Language::C => operator.is_equality() && is_text && other.is_place(),
            Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Php
            | Language::Ruby
            | Language::Rust
            | Language::Tsx
            | Language::TypeScript => false,
        }
    });
    site.if_true(found)
}

fn reference(site: &Site<'_>) -> Found {
    let has_literal = site
        .arguments()
        .iter()
        .any(|given| matches!(given.form(), Form::Text(_) | Form::Number(_) | Form::Template));
    site.if_true(site.language() == Language::CSharp && has_literal)
}

fn fresh(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    let found = [left, right].into_iter().any(|side| {
        let form = side.form();
        if matches!(form, Form::Call { is_new: true, .. }) {
            return site.is_ecma() || matches!(site.language(), Language::Java | Language::CSharp);
        }
        site.is_ecma() && matches!(form, Form::List | Form::Record | Form::Regex | Form::Function)
    });
    site.if_true(found && operator.is_equality())
}

fn nan(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    site.if_true(operator.is_comparison() && (is_nan(left) || is_nan(right)))
}

fn is_nan(expression: Expression<'_>) -> bool {
    const OWNERS: &[&str] =
        &["Double", "Float", "Number", "double", "f32", "f64", "float", "math", "Math", "np", "numpy"];
    let form = expression.form();
    if let Form::Member { object, name } = form {
        let is_owner = OWNERS.contains(&last_name(object).unwrap_or(object.source()));
        is_owner && name.eq_ignore_ascii_case("nan")
    } else if let Form::Call { object: Some(object), name: "NaN", .. } = form {
        last_name(object) == Some("math")
    } else if let Form::Call { object: None, name: "float", .. } = form {
        let first = expression.unwrapped().arguments().first().and_then(|given| given.text_value());
        first.is_some_and(|text| text.eq_ignore_ascii_case("nan"))
    } else {
        matches!(form, Form::Name("NaN" | "NAN"))
    }
}

/// Types that `typeof` and `gettype` name.
const TYPES: &[&str] =
    &["bigint", "boolean", "function", "number", "object", "string", "symbol", "undefined", "unknown"];
const PHP_TYPES: &[&str] = &[
    "array",
    "boolean",
    "double",
    "integer",
    "NULL",
    "object",
    "resource",
    "resource (closed)",
    "string",
    "unknown type",
];

fn type_word(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    if !operator.is_equality() {
        return Vec::new();
    }
    let found = [(left, right), (right, left)].into_iter().any(|(asked, word)| {
        let form = asked.form();
        if let Form::Unary { operator: "typeof", .. } = form {
            let is_unknown = word.text_value().is_some_and(|word| !TYPES.contains(&word.as_str()));
            return is_unknown || word.form() == Form::Null;
        }
        let Form::Call { object: None, name, .. } = form else { return false };
        match (site.language(), name) {
            (Language::Php, "gettype") => {
                word.text_value().is_some_and(|word| !PHP_TYPES.contains(&word.as_str()))
            }
            (Language::Python, "type") => word.text_value().is_some() && asked.arguments().len() == 1,
            _ => false,
        }
    });
    site.if_true(found)
}

/// Returns whether an expression is a length or a count.
pub(super) fn is_length(expression: Expression<'_>) -> bool {
    measured(expression).is_some()
}

/// Returns the expression whose length another one is.
pub(super) fn measured<'t>(expression: Expression<'t>) -> Option<Expression<'t>> {
    match (expression.language(), expression.form()) {
        (
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java | Language::Ruby,
            Form::Member { object, name: "length" },
        )
        | (Language::CSharp, Form::Member { object, name: "Length" | "Count" })
        | (Language::Kotlin, Form::Member { object, name: "size" | "length" }) => Some(object),
        (
            Language::Java | Language::Cpp,
            Form::Call { object: Some(object), name: "size" | "length", .. },
        )
        | (Language::Rust, Form::Call { object: Some(object), name: "len", .. })
        | (Language::Ruby, Form::Call { object: Some(object), name: "length" | "size", .. }) => {
            expression.unwrapped().arguments().is_empty().then_some(object)
        }
        (Language::Python | Language::Go, Form::Call { object: None, name: "len", .. })
        | (Language::Php, Form::Call { object: None, name: "count" | "strlen", .. }) => {
            expression.unwrapped().arguments().first().copied()
        }
        _ => None,
    }
}

/// Returns whether an expression is the position that a search returns.
fn is_position(expression: Expression<'_>) -> bool {
    matches!(
        expression.form(),
        Form::Call { object: Some(_), name: "indexOf" | "lastIndexOf" | "findIndex" | "search", .. }
    )
}

/// Returns whether an expression is a text that a call made.
fn is_text_of_call(expression: Expression<'_>) -> bool {
    let Form::Call { object, name, .. } = expression.form() else { return false };
    match expression.language() {
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            object.is_some() && matches!(name, "toLowerCase" | "toUpperCase" | "trim" | "toFixed" | "join")
        }
        Language::Python => match object {
            Some(_) => matches!(name, "lower" | "upper" | "strip" | "rstrip" | "lstrip"),
            None => name == "str",
        },
        Language::Php => object.is_none() && matches!(name, "strtolower" | "strtoupper" | "trim" | "implode"),
        Language::Ruby => object.is_some() && matches!(name, "downcase" | "upcase" | "strip" | "to_s"),
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Java
        | Language::Kotlin
        | Language::Rust => false,
    }
}

fn other_type(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    let coerces = site.is_ecma() || site.language() == Language::Php;
    let is_strict = !coerces || site.expression.written_operator().len() == 3;
    let found = [(left, right), (right, left)].into_iter().any(|(value, literal)| {
        let form = literal.form();
        let is_no_text = matches!(form, Form::Number(_) | Form::Truth(_));
        let is_truth = matches!(form, Form::Truth(_)) && site.is_ecma() && is_position(value);
        is_truth || matches!(form, Form::Text(_)) && is_length(value) || is_no_text && is_text_of_call(value)
    });
    site.if_true(operator.is_equality() && is_strict && found)
}

fn length(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    // Opposites such as `<` and `>=` are fixed by the same numbers.
    let is_less = matches!(operator, Operator::Less | Operator::GreaterEqual);
    let is_greater = matches!(operator, Operator::Greater | Operator::LessEqual);
    let is_fixed = if is_length(left) {
        number(right).is_some_and(|number| {
            is_less && number <= 0.0 || (is_greater || operator.is_equality()) && number < 0.0
        })
    } else {
        is_length(right)
            && number(left).is_some_and(|number| is_greater && number <= 0.0 || is_less && number < 0.0)
    };
    let length = if is_length(left) { left } else { right };
    site.if_true(is_fixed && !is_stated(site.expression, length))
}

/// Returns whether an expression compares a value.
fn compares(expression: Expression<'_>, value: Expression<'_>) -> bool {
    let Form::Binary { left, operator, right } = expression.form() else { return false };
    operator.is_comparison() && (left.is_same(value) || right.is_same(value))
}

/// Returns whether a comparison is one end of a range, or is asserted.
fn is_stated(comparison: Expression<'_>, length: Expression<'_>) -> bool {
    const STATES: &[&str] =
        &["assert", "check", "ensure", "invariant", "postcondition", "precondition", "require"];
    let around = comparison.ancestors().find(|node| node.unwrapped() == *node);
    let Some(around) = around else { return false };
    if let Form::Binary { left, operator: Operator::And | Operator::Or, right } = around.form() {
        return [left, right].into_iter().all(|end| compares(end, length));
    }
    let statement = comparison.statement().source().trim_start().to_lowercase();
    let word =
        statement.split(|sign: char| !sign.is_alphanumeric() && sign != '.').next().unwrap_or_default();
    STATES.iter().any(|states| word.rsplit('.').next().is_some_and(|last| last.starts_with(states)))
}

/// The case that a call gives a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Upper,
}

impl Case {
    /// Returns the case of the text that an expression makes.
    fn of(expression: Expression<'_>) -> Option<Self> {
        let Form::Call { name, .. } = expression.form() else {
            // Ruby calls without parentheses, and Kotlin has none for a property.
            let Form::Member { name, .. } = expression.form() else { return None };
            return Self::of_name(name).filter(|_| expression.language() == Language::Ruby);
        };
        Self::of_name(name)
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            "toLowerCase" | "toLocaleLowerCase" | "lower" | "casefold" | "downcase" | "strtolower"
            | "mb_strtolower" | "ToLower" | "ToLowerInvariant" | "to_lowercase" | "to_ascii_lowercase"
            | "lowercase" => Some(Self::Lower),
            "toUpperCase" | "toLocaleUpperCase" | "upper" | "upcase" | "strtoupper" | "mb_strtoupper"
            | "ToUpper" | "ToUpperInvariant" | "to_uppercase" | "to_ascii_uppercase" | "uppercase" => {
                Some(Self::Upper)
            }
            _ => None,
        }
    }

    /// Returns whether a text has a letter that no text in this case has.
    fn excludes(self, text: &str) -> bool {
        match self {
            Self::Lower => text.chars().any(|letter| letter.is_ascii_uppercase()),
            Self::Upper => text.chars().any(|letter| letter.is_ascii_lowercase()),
        }
    }

    /// Returns whether a part of a text has letters in this case alone.
    fn occurs_in(self, text: &str) -> bool {
        match self {
            Self::Lower => text.chars().any(|letter| letter.is_ascii_lowercase()),
            Self::Upper => text.chars().any(|letter| letter.is_ascii_uppercase()),
        }
    }
}

/// Returns whether a literal is in another case, or one of a list of literals that has it in no other.
fn is_excluded(case: Case, literal: Expression<'_>) -> bool {
    if let Some(text) = literal.text_value() {
        return case.excludes(&text);
    }
    if !matches!(literal.form(), Form::List | Form::Tuple) {
        return false;
    }
    let texts: Vec<_> = literal.children().into_iter().filter_map(Expression::text_value).collect();
    texts.iter().any(|text| {
        let mut same = texts.iter().filter(|other| other.eq_ignore_ascii_case(text));
        same.all(|other| case.excludes(other))
    })
}

fn other_case(site: &Site<'_>) -> Found {
    let Some((left, operator, right)) = sides(site) else { return Vec::new() };
    let is_search = matches!(operator, Operator::In | Operator::NotIn);
    let is_left = Case::of(left).is_some_and(|case| {
        // A part of a text is searched for.
        let may_occur = is_search && right.text_value().is_some_and(|text| case.occurs_in(&text));
        is_excluded(case, right) && !may_occur
    });
    let is_right = Case::of(right).is_some_and(|case| is_excluded(case, left));
    site.if_true(is_left && is_search || (is_left || is_right) && operator.is_equality())
}

fn other_case_call(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else {
        let [value, literal] = site.arguments()[..] else { return Vec::new() };
        return site.if_true(Case::of(value).is_some_and(|case| is_excluded(case, literal)));
    };
    let arguments = site.arguments();
    let found = match arguments[..] {
        [literal] => {
            Case::of(object).is_some_and(|case| is_excluded(case, literal))
                || Case::of(literal).is_some_and(|case| is_excluded(case, object))
        }
        [value, literal] => Case::of(value).is_some_and(|case| is_excluded(case, literal)),
        _ => false,
    };
    site.if_true(found)
}

fn other_case_label(site: &Site<'_>) -> Found {
    let subject = site.expression.subject();
    let Some(case) = subject.and_then(Case::of) else { return Vec::new() };
    let labels = site.expression.cases().into_iter();
    labels.filter(|label| is_excluded(case, *label)).map(|label| label.span()).take(1).collect()
}

fn position(site: &Site<'_>) -> Found {
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let is_text = site.first().is_some_and(|given| matches!(given.form(), Form::Text(_) | Form::Template));
    let is_judged = if site.is_ecma() {
        object.is_some() && matches!(name, "indexOf" | "lastIndexOf" | "findIndex")
    } else {
        let is_python = site.language() == Language::Python;
        let is_php = site.language() == Language::Php && object.is_none() && name.starts_with("str");
        is_php || is_python && object.is_some() && matches!(name, "find" | "rfind") && is_text
    };
    // `!x.indexOf(y)` asks for the begin.
    let around = site.expression.ancestors().find(|node| !node.kind().starts_with("parenthesized_"));
    let is_negated = around.is_some_and(|around| matches!(around.form(), Form::Unary { .. }));
    let is_begin = is_negated && site.is_ecma();
    site.if_true(is_judged && !is_begin && site.expression.is_condition())
}

fn equals_null(site: &Site<'_>) -> Found {
    let [only] = site.arguments()[..] else { return Vec::new() };
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let text = site.expression.file();
    // The null object of org.json, destroyed objects of Unity and values that may be absent equal null.
    let is_java = site.language() == Language::Java
        && !["JSONArray", "JSONObject", "org.json", "JsonNull"].iter().any(|word| text.contains(word));
    let name = last_name(object).unwrap_or_default();
    let is_csharp = site.language() == Language::CSharp
        && !text.contains("UnityEngine")
        && !text.contains(&format!("? {name}"));
    site.if_true((is_java || is_csharp) && only.form() == Form::Null)
}
