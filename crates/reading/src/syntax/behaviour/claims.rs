//! Demands of assertions on their subjects, and what two of them or a distance come to.

use super::checks::{Demand, split};
use super::tolerance::{Tolerance, Unit, number, parts_of};

/// Stands for the arrow of PHP, which is no minus.
const ARROW: &str = "\u{1}";

/// Subjects with the demand on them.
pub(super) struct Claim {
    pub(super) demand: Demand,
    pub(super) operands: Vec<Operand>,
}

pub(super) struct Operand {
    pub(super) text: String,
    pub(super) is_constant: bool,
}

/// Returns the demand that two others hold.
pub(super) fn both(one: Claim, other: Claim) -> Claim {
    let demand = one.demand.max(other.demand);
    let claims = [one, other].into_iter().filter(|claim| claim.demand == demand);
    Claim { demand, operands: claims.flat_map(|claim| claim.operands).collect() }
}

/// Returns the demand that one of two others holds.
pub(super) fn either(one: Claim, other: Claim) -> Claim {
    let demand = one.demand.min(other.demand).min(Demand::Part);
    Claim { demand, operands: one.operands.into_iter().chain(other.operands).collect() }
}

/// Takes a demand on the distance of two values for one on the values, with a tolerance.
pub(super) fn apart(claim: Claim) -> (Claim, Option<Tolerance>) {
    let Some(operands) = claim.operands.iter().find_map(|operand| distant(&operand.text)) else {
        return (claim, None);
    };
    let mut others = claim.operands.iter().filter(|operand| distant(&operand.text).is_none());
    let margin = others.find_map(|operand| number(&operand.text));
    let before = operands.iter().map(|operand| operand.text.as_str()).collect::<Vec<_>>().join("-");
    let claim = Claim { demand: claim.demand.min(Demand::Part), operands };
    (claim, margin.map(|margin| Tolerance::new(before, margin, Unit::Amount)))
}

/// Returns the values whose distance an expression is: `abs(a - b)`, `Math.Abs(a - b)`, `(a - b).abs()`.
fn distant(text: &str) -> Option<Vec<Operand>> {
    let inside = match text.strip_suffix(".abs()") {
        Some(inside) => inside,
        None => {
            let (name, inside) = text.split_once('(')?;
            let is_name = name.chars().all(|sign| sign.is_alphanumeric() || "_.:".contains(sign));
            if !is_name || !name.to_lowercase().ends_with("abs") {
                return None;
            }
            inside.strip_suffix(')')?
        }
    };
    let inside = bared(inside).replace("->", ARROW);
    let [left, right] = <[&str; 2]>::try_from(split(&inside, &["-"])).ok()?;
    let values = [left, right].map(|value| bared(&value.replace(ARROW, "->")).to_owned());
    let is_whole = values
        .iter()
        .all(|value| !value.is_empty() && value.matches('(').count() == value.matches(')').count());
    is_whole.then(|| {
        let operands = values.into_iter().map(|text| Operand { is_constant: number(&text).is_some(), text });
        operands.collect()
    })
}

/// Returns an expression without conversions to a number, and parentheses, around it.
fn bared(text: &str) -> &str {
    const CONVERSIONS: &[&str] = &["", "Number", "double", "float", "float32", "float64", "int"];
    let mut text = text;
    while let Some((name, rest)) = text.split_once('(')
        && let Some(inside) = rest.strip_suffix(')')
        && CONVERSIONS.contains(&name)
        && is_balanced(inside)
    {
        text = inside;
    }
    text
}

/// Returns whether no parenthesis of a text is closed before it is opened.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().all(|sign| {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
        true
    })
}

/// Returns the size of the number that an operand is, or approximates.
pub(super) fn expected(operand: &Operand) -> Option<u128> {
    let text = match operand.text.split_once("approx(") {
        Some((_, inside)) => inside.split([',', ')']).next()?,
        None if operand.is_constant => operand.text.as_str(),
        None => return None,
    };
    number(text).map(parts_of)
}
