//! Conditions that are always true or false by their own operands.

use super::rules;
use super::site::{Check, Found, Site, is_inner, number, operands};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const IMPOSSIBLE: Check =
    Check::new(rules::IMPOSSIBLE_CONDITION, "condition can never hold", impossible);
pub(super) const ALWAYS: Check = Check::new(rules::ALWAYS_TRUE, "condition always holds", always);
pub(super) const NULL_USED: Check =
    Check::new(rules::NULL_DEREFERENCED, "the value is used exactly where it is missing", null_used);
pub(super) const NULL_USED_BITS: Check = Check::new(
    rules::NULL_DEREFERENCED,
    "both operands are evaluated, so that the value is used where it is missing",
    null_used_by_bits,
);
pub(super) const ALTERNATIVE: Check = Check::new(
    rules::LITERAL_ALTERNATIVE,
    "literal is a condition of its own, which always holds",
    alternative,
);
pub(super) const LABEL: Check =
    Check::new(rules::LITERAL_ALTERNATIVE, "label joins literals, of which only one counts", label);
pub(super) const CONSTANT: Check = Check::new(
    rules::CONSTANT_OPERAND,
    "literal decides the condition whatever the other operand is",
    constant,
);
pub(super) const CONCATENATED: Check = Check::new(
    rules::CONCATENATED_CONDITION,
    "joined text is never empty, so that it always holds",
    concatenated,
);
pub(super) const CONCATENATED_CHOICE: Check = Check::new(
    rules::CONCATENATED_CONDITION,
    "joined text is never empty, so that it always holds",
    chosen_by_text,
);
pub(super) const ASSIGNED: Check =
    Check::new(rules::ASSIGNED_CONDITION, "literal is assigned where a comparison is meant", assigned);

/// A comparison of an expression with a literal.
struct Comparison<'t> {
    place: Expression<'t>,
    operator: Operator,
    literal: Expression<'t>,
}

impl<'t> Comparison<'t> {
    fn of(expression: Expression<'t>) -> Option<Self> {
        let Form::Binary { left, operator, right } = expression.form() else { return None };
        if !operator.is_comparison() {
            return None;
        }
        if (right.is_literal() || right.kind() == "simple_symbol") && left.is_pure() && !left.is_literal() {
            return Some(Self { place: left, operator, literal: right });
        }
        let is_mirrored = left.is_literal() && right.is_pure() && !right.is_literal();
        is_mirrored.then_some(Self { place: right, operator: mirrored(operator), literal: left })
    }

    /// Returns whether both are about the same expression and different values of one type.
    fn differs_from(&self, other: &Comparison<'_>) -> bool {
        let is_of_one_type = match (self.literal.form(), other.literal.form()) {
            (Form::Text(one), Form::Text(two)) => one != two,
            (Form::Number(_) | Form::Unary { .. }, Form::Number(_) | Form::Unary { .. }) => {
                let (one, two) = (number(self.literal), number(other.literal));
                one.is_some() && two.is_some() && one != two
            }
            (Form::Character(one), Form::Character(two)) => one != two,
            (Form::Other, Form::Other) => {
                let are_symbols =
                    self.literal.kind() == "simple_symbol" && other.literal.kind() == "simple_symbol";
                are_symbols && self.literal.source() != other.literal.source()
            }
            _ => false,
        };
        is_of_one_type && self.place.is_same(other.place)
    }
}

/// Operators with those that say the same of the operands the other way round.
const MIRRORED: &[(Operator, Operator)] = &[
    (Operator::Less, Operator::Greater),
    (Operator::LessEqual, Operator::GreaterEqual),
    (Operator::Greater, Operator::Less),
    (Operator::GreaterEqual, Operator::LessEqual),
];

fn mirrored(operator: Operator) -> Operator {
    let found = MIRRORED.iter().find(|(written, _)| *written == operator);
    found.map_or(operator, |(_, mirrored)| *mirrored)
}

/// Returns the first two comparisons of a chain about which something holds.
fn pair(site: &Site<'_>, joins: Operator, holds: fn(&Comparison<'_>, &Comparison<'_>) -> bool) -> Found {
    if is_inner(site.expression, joins) {
        return Vec::new();
    }
    let mut earlier: Vec<(Expression<'_>, Comparison<'_>)> = Vec::new();
    for operand in operands(site.expression, joins) {
        if let Some(comparison) = Comparison::of(operand) {
            if let Some((first, _)) = earlier.iter().find(|(_, first)| holds(first, &comparison)) {
                return vec![operand.span(), first.span()];
            }
            earlier.push((operand, comparison));
        }
        // A call may change what was compared before it.
        if !operand.is_pure() {
            earlier.clear();
        }
    }
    Vec::new()
}

fn impossible(site: &Site<'_>) -> Found {
    pair(site, Operator::And, |one, two| {
        let both_equal = is_equal(one.operator) && is_equal(two.operator);
        both_equal && one.differs_from(two) || is_empty_range(one, two) || is_empty_range(two, one)
    })
}

fn always(site: &Site<'_>) -> Found {
    pair(site, Operator::Or, |one, two| {
        let neither = is_unequal(one.operator) && is_unequal(two.operator);
        neither && one.differs_from(two) || is_full_range(one, two) || is_full_range(two, one)
    })
}

fn is_equal(operator: Operator) -> bool {
    matches!(operator, Operator::Equal | Operator::Identical)
}

fn is_unequal(operator: Operator) -> bool {
    matches!(operator, Operator::NotEqual | Operator::NotIdentical)
}

/// Returns whether nothing is above the first bound and below the second.
fn is_empty_range(above: &Comparison<'_>, below: &Comparison<'_>) -> bool {
    let is_range = matches!(above.operator, Operator::Greater | Operator::GreaterEqual)
        && matches!(below.operator, Operator::Less | Operator::LessEqual);
    let Some((low, high)) = number(above.literal).zip(number(below.literal)) else { return false };
    is_range && low > high && above.place.is_same(below.place)
}

/// Returns whether everything is above the first bound or below the second.
fn is_full_range(above: &Comparison<'_>, below: &Comparison<'_>) -> bool {
    let is_range = matches!(above.operator, Operator::Greater | Operator::GreaterEqual)
        && matches!(below.operator, Operator::Less | Operator::LessEqual);
    let Some((low, high)) = number(above.literal).zip(number(below.literal)) else { return false };
    is_range && low < high && above.place.is_same(below.place)
}

fn null_used(site: &Site<'_>) -> Found {
    let Form::Binary { operator, .. } = site.form else { return Vec::new() };
    // Functions of Kotlin and methods of Go may be called on nothing.
    if is_inner(site.expression, operator) || matches!(site.language(), Language::Kotlin | Language::Rust) {
        return Vec::new();
    }
    let all = operands(site.expression, operator);
    for (position, operand) in all.iter().enumerate() {
        let Some(missing) = missing_value(*operand, operator) else { continue };
        for later in &all[position + 1..] {
            if let Some(used) = use_of(*later, missing) {
                return vec![used.span(), operand.span()];
            }
        }
    }
    Vec::new()
}

fn null_used_by_bits(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator: Operator::BitAnd | Operator::BitOr, right } = site.form else {
        return Vec::new();
    };
    let is_judged = site.is_ecma() || matches!(site.language(), Language::CSharp | Language::Java);
    let Form::Binary { left: place, operator, right: nothing } = left.form() else { return Vec::new() };
    let asks = operator.is_equality() && nothing.form() == Form::Null && place.is_place();
    let used = if is_judged && asks { use_of(right, place) } else { None };
    used.map(|used| vec![used.span(), left.span()]).unwrap_or_default()
}

/// Returns the expression that is missing where evaluation goes on behind an operand.
fn missing_value<'t>(operand: Expression<'t>, joins: Operator) -> Option<Expression<'t>> {
    let form = operand.form();
    let place = if let Form::Binary { left, operator, right } = form
        && matches!(right.form(), Form::Null)
    {
        let goes_on = if joins == Operator::And { is_equal(operator) } else { is_unequal(operator) };
        goes_on.then_some(left)?
    } else if let Form::Unary { operator: "!", operand } = form
        && joins == Operator::And
    {
        operand
    } else {
        return None;
    };
    (place.is_place() && !place.source().contains('?')).then_some(place)
}

/// Returns the member of a missing value that an expression reads.
fn use_of<'t>(expression: Expression<'t>, missing: Expression<'t>) -> Option<Expression<'t>> {
    let mut used = None;
    expression.descend(&mut |node| {
        let form = node.form();
        let is_skipped = matches!(
            form,
            Form::Call { object: None, name: "isset" | "empty", .. } | Form::Assign { .. } | Form::Function
        );
        if is_skipped {
            return false;
        }
        if let Form::Member { object, name } | Form::Call { object: Some(object), name, .. } = form
            && is_member_of_value(name)
        {
            let between = node.file().get(object.span().end..node.span().end).unwrap_or_default();
            let is_use = object.is_same(missing) && !between.trim_start().starts_with(['?', '&']);
            if is_use && used.is_none() {
                used = Some(node);
            }
        }
        used.is_none()
    });
    used
}

/// Returns whether a member is one that nothing lacks; Ruby's `nil` has some.
fn is_member_of_value(name: &str) -> bool {
    !name.starts_with("to_")
        && !matches!(name, "nil?" | "class" | "is_a?" | "inspect" | "respond_to?" | "blank?" | "present?")
}

/// Returns whether an operand compares with a literal that is a text, or with one that is none.
fn compares(operand: Expression<'_>, is_text: bool) -> bool {
    let Form::Binary { operator: Operator::Equal | Operator::In, right, .. } = operand.form() else {
        return false;
    };
    matches!(right.form(), Form::Text(_)) == is_text && right.is_literal()
}

fn alternative(site: &Site<'_>) -> Found {
    if is_inner(site.expression, Operator::Or) || !site.expression.is_condition() {
        return Vec::new();
    }
    let all = operands(site.expression, Operator::Or);
    let literal = all.iter().skip(1).find(|operand| {
        let text = operand.text_value();
        let is_text = text.is_some();
        let is_number = matches!(operand.form(), Form::Number(_));
        let holds = text.is_some_and(|text| !text.is_empty())
            || is_number && number(**operand).is_some_and(|number| number != 0.0);
        holds && all.iter().any(|other| compares(*other, is_text))
    });
    literal.map(|literal| vec![literal.span()]).unwrap_or_default()
}

fn label(site: &Site<'_>) -> Found {
    let labels = site.expression.cases().into_iter();
    let joined = labels.filter(|label| {
        let Form::Binary { left, operator: Operator::Or, right } = label.form() else { return false };
        matches!(
            (left.form(), right.form()),
            (Form::Text(_), Form::Text(_)) | (Form::Number(_), Form::Number(_))
        )
    });
    joined.map(|label| label.span()).take(1).collect()
}

fn constant(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    let decides = operator == Operator::Or;
    let is_constant =
        |operand: Expression<'_>| matches!(operand.form(), Form::Truth(truth) if truth == decides);
    site.if_true(site.expression.is_condition() && (is_constant(left) || is_constant(right)))
}

fn is_joined_text(expression: Expression<'_>) -> bool {
    let Form::Binary { left, operator: Operator::Plus, right } = expression.form() else { return false };
    [left, right].iter().any(|part| part.text_value().is_some_and(|text| !text.is_empty()))
}

fn concatenated(site: &Site<'_>) -> Found {
    let Form::Binary { left, .. } = site.form else { return Vec::new() };
    if is_joined_text(left) { vec![site.expression.span()] } else { Vec::new() }
}

fn chosen_by_text(site: &Site<'_>) -> Found {
    let Some(branches) = site.expression.branches() else { return Vec::new() };
    let chosen = branches.arms.iter().find(|arm| is_joined_text(arm.condition));
    chosen.map(|arm| vec![arm.condition.span()]).unwrap_or_default()
}

fn assigned(site: &Site<'_>) -> Found {
    let Some(branches) = site.expression.branches() else { return Vec::new() };
    for arm in branches.arms {
        let is_assigned =
            matches!(arm.condition.form(), Form::Assign { value, is_plain: true, .. } if value.is_literal());
        if is_assigned {
            return vec![arm.condition.unwrapped().span()];
        }
    }
    Vec::new()
}
