//! Places that rules look at, and what rules say about them.

use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::{Language, Span};

/// A rule with the code that finds it at one place.
pub(super) struct Check {
    pub(super) rule: &'static str,
    pub(super) summary: &'static str,
    /// Names of the calls that it looks at; empty for any expression of its kind.
    pub(super) names: &'static [&'static str],
    pub(super) find: fn(&Site<'_>) -> Found,
}

/// The parts of a finding, the one that is quoted first; empty where there is none.
pub(super) type Found = Vec<Span>;

/// An expression with its form.
pub(super) struct Site<'t> {
    pub(super) expression: Expression<'t>,
    pub(super) form: Form<'t>,
}

impl Check {
    pub(super) const fn new(rule: &'static str, summary: &'static str, find: fn(&Site<'_>) -> Found) -> Self {
        Self { rule, summary, names: &[], find }
    }

    /// Sets the names of the calls that it looks at.
    pub(super) const fn of_calls(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }
}

impl<'t> Site<'t> {
    pub(super) fn new(expression: Expression<'t>) -> Self {
        Self { expression, form: expression.form() }
    }

    pub(super) fn language(&self) -> Language {
        self.expression.language()
    }

    /// Reports the whole expression if a condition holds.
    pub(super) fn if_true(&self, holds: bool) -> Found {
        if holds { vec![self.expression.span()] } else { Vec::new() }
    }

    pub(super) fn is_ecma(&self) -> bool {
        is_ecma(self.language())
    }

    pub(super) fn arguments(&self) -> Vec<Expression<'t>> {
        self.expression.unwrapped().arguments()
    }

    /// Returns the first argument.
    pub(super) fn first(&self) -> Option<Expression<'t>> {
        self.arguments().first().copied()
    }
}

pub(super) fn is_ecma(language: Language) -> bool {
    matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx)
}

/// Returns the last name of an expression: of a name, a member or a call.
pub(super) fn last_name<'t>(mut expression: Expression<'t>) -> Option<&'t str> {
    for _ in 0..MOST_SIGNS {
        let form = expression.form();
        if let Form::Name(name) | Form::Member { name, .. } | Form::Call { name, .. } = form {
            return Some(name);
        }
        let Form::Unary { operand, .. } = form else { return None };
        expression = operand;
    }
    None
}

/// Returns a name without the marks of fields and variables.
pub(super) fn bare(name: &str) -> &str {
    name.trim_start_matches(['_', '$', '@', '#']).trim_end_matches('_')
}

/// Returns the number that a literal is.
pub(super) fn number(mut expression: Expression<'_>) -> Option<f64> {
    let mut sign = 1.0;
    for _ in 0..MOST_SIGNS {
        let form = expression.form();
        if let Form::Number(number) = form {
            return number.replace('_', "").parse().ok().map(|number: f64| sign * number);
        }
        let Form::Unary { operator: "-", operand } = form else { return None };
        (expression, sign) = (operand, -sign);
    }
    None
}

/// Maximum number of signs before a value that are read.
const MOST_SIGNS: usize = 8;

/// Maximum number of operands of a chain that are compared with each other.
const MOST_OPERANDS: usize = 64;

/// Returns the operands of a chain of one operator, in the order of the text; none of a very long one.
pub(super) fn operands<'t>(expression: Expression<'t>, joins: Operator) -> Vec<Expression<'t>> {
    let mut found = Vec::new();
    let mut pending = vec![expression];
    while let Some(next) = pending.pop() {
        if let Form::Binary { left, operator, right } = next.form()
            && operator == joins
        {
            pending.push(right);
            pending.push(left);
        } else {
            found.push(next);
        }
        if found.len() > MOST_OPERANDS {
            return Vec::new();
        }
    }
    found
}

/// Returns whether the expression is an operand of a larger chain of the same operator.
pub(super) fn is_inner(expression: Expression<'_>, joins: Operator) -> bool {
    let around = expression.ancestors().find(|node| node.unwrapped() == *node);
    around.is_some_and(|around| matches!(around.form(), Form::Binary { operator, .. } if operator == joins))
}
