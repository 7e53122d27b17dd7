//! Assertions that accept more values than the one that the base compared their subject with.

use super::WEAKENED;
use super::assertions::{has, is_kept, lost, weakness};
use super::compared::{Compared, Pair};
use super::expected::root;
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Check, Demand};

/// Returns whether an assertion is about what is left of an expression that another one compares with a value, after a step
/// that makes different values the same: `round(total)` of `total`.
pub(super) fn blurs(new: &Check, old: &Check) -> bool {
    const STEPS: &[&str] = &[
        "(int)",
        "Math.Ceiling(",
        "Math.Floor(",
        "Math.Round(",
        "Math.ceil(",
        "Math.floor(",
        "Math.max(",
        "Math.min(",
        "Math.round(",
        "Math.trunc(",
        "Number.isInteger(",
        "ceil(",
        "floor(",
        "int(",
        "len(",
        "max(",
        "min(",
        "parseInt(",
        "round(",
        "static_cast<int>(",
    ];
    const STEPS_BEHIND: &[&str] = &[
        ".ceil",
        ".floor",
        ".quantize(",
        ".round",
        ".roundToInt()",
        ".toFixed(0)",
        ".toInt()",
        ".to_i",
        ".trunc",
        "asi32",
        "asi64",
        "asu32",
        "asu64",
    ];
    const SIGNS: &[&str] = &["%", "//", "&&", "||"];
    let [subject] = old.subjects.as_slice() else { return false };
    let mut wider = new.subjects.iter().filter(|about| *about != subject && about.contains(subject.as_str()));
    old.demand == Demand::Value
        && wider.any(|about| {
            let mut at = places(about, subject);
            let is_step = STEPS.iter().any(|step| about.contains(step));
            let mut behind = SIGNS.iter().chain(STEPS_BEHIND);
            let is_left = behind.any(|sign| about.contains(&format!("{subject}{sign}")));
            is_step && at.next().is_some() || is_left
        })
}

/// Returns the assertions that other values of their subjects meet than at the base. A change of the product may be the
/// reason: a number that is random by now, or a name that may be absent.
pub(super) fn inspect(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Pair { base, head } = pair;
    let gone: Vec<&Check> = base.checks().iter().filter(|check| !has(head, check)).collect();
    let new = head.checks().iter().filter(|check| compared.head.touches(check.span) && !has(base, check));
    let lost = lost(base, head);
    let new = new.filter(|check| weakness(base, head, &lost, check, compared.head.text).is_none());
    let weaker = new.filter_map(|new| {
        let summary = if gone.iter().any(|old| admits(new, old)) {
            "assertion takes any value for a part that was compared"
        } else if gone.iter().any(|old| (defaults(new, old) || folds(new, old)) && !is_kept(base, head, old))
        {
            "assertion demands less than before"
        } else {
            return None;
        };
        compared.at_head(WEAKENED, new.span, summary)
    });
    weaker.collect()
}

/// Returns whether an assertion compares small or capital letters, where the base compared the text as it is.
fn folds(new: &Check, old: &Check) -> bool {
    const STEPS: &[&str] = &[
        ".ToLower",
        ".ToUpper",
        ".casefold(",
        ".downcase",
        ".lower(",
        ".toLowerCase(",
        ".toUpperCase(",
        ".upcase",
        ".upper(",
        "strings.ToLower(",
        "strings.ToUpper(",
        "strtolower(",
        "strtoupper(",
    ];
    let [subject] = old.subjects.as_slice() else { return false };
    old.demand == Demand::Value
        && new.subjects.iter().any(|about| {
            about != subject
                && places(about, subject).next().is_some()
                && STEPS.iter().any(|step| about.contains(step) && !subject.contains(step))
        })
}

/// Returns whether an assertion gives its subject the expected value where it has none, and the base compared it with that
/// value: `getattr(order, "total", 4) == 4` of `order.total == 4`.
fn defaults(new: &Check, old: &Check) -> bool {
    let [subject] = old.subjects.as_slice() else { return false };
    if old.demand != Demand::Value || new.demand != Demand::Value {
        return false;
    }
    let own = root(subject);
    let mut wider = new.subjects.iter().filter(|about| *about != subject && about.contains(own)).peekable();
    if wider.peek().is_none() {
        return false;
    }
    let rest = old.text.replacen(subject.as_str(), "", 1);
    let expected = literals(&rest);
    wider.any(|about| {
        let rest = new.text.replacen(about.as_str(), "", 1);
        let mut given = expected.iter().filter(|value| literals(&rest).contains(value));
        places(about, own).next().is_some()
            && given.any(|value| falls_back(about, subject, value) && !literals(subject).contains(value))
    })
}

/// Returns whether an assertion takes any value, or any other members, where the base asked for all of its subject.
fn admits(new: &Check, old: &Check) -> bool {
    static ANY: Pattern = Pattern::new(concat!(
        r"\bANY\b|\bexpect\.(?:any|anything)\(",
        r"|\bIt\.IsAny\b|\bIgnoreFields\(|\.ignoringFields\(|\.Excluding\(",
    ));
    let is_about = new.subjects.iter().any(|subject| old.subjects.contains(subject));
    old.demand == Demand::Value && is_about && ANY.is_match(&new.text) && !ANY.is_match(&old.text)
}

/// Returns the numbers and the quoted texts of an expression.
fn literals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sign) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_begin = !text[..at].ends_with(joins);
        let length = match sign {
            '"' | '\'' | '`' => rest[1..].find(sign).map_or(rest.len(), |end| end + 2),
            _ if sign.is_ascii_digit() && is_begin => rest
                .find(|next: char| !next.is_ascii_alphanumeric() && next != '.' && next != '_')
                .unwrap_or(rest.len()),
            _ => {
                at += sign.len_utf8();
                continue;
            }
        };
        found.push(&rest[..length]);
        at += length;
    }
    found
}

/// Returns whether an expression falls back on a value where its subject has none.
fn falls_back(expression: &str, subject: &str, value: &str) -> bool {
    const SIGNS: &[&str] = &["?:", "??", "||", "->"];
    const FUNCTIONS: &[&str] = &[
        "GetValueOrDefault",
        "coalesce",
        "dig",
        "fetch",
        "get",
        "getOrDefault",
        "getOrElse",
        "get_or",
        "getattr",
        "max",
        "min",
        "next",
        "orElse",
        "or_default",
        "pop",
        "setdefault",
        "unwrapOr",
        "unwrap_or",
        "valueOr",
        "value_or",
    ];
    expression.match_indices(value).any(|(at, _)| {
        let (before, behind) = (&expression[..at], &expression[at + value.len()..]);
        let is_last = behind.is_empty() || behind.starts_with(')');
        let callee = called_around(before);
        // Blanks are gone, and a name may end in these letters.
        let is_or = before.strip_suffix("or").is_some_and(|before| before.ends_with(subject));
        is_last && (is_or || SIGNS.iter().any(|sign| before.ends_with(sign)) || FUNCTIONS.contains(&callee))
    })
}

/// Returns the function in whose arguments a text ends; empty if it ends in none.
fn called_around(before: &str) -> &str {
    let mut depth = 0_usize;
    for (at, sign) in before.char_indices().rev() {
        match sign {
            ')' | ']' | '}' => depth += 1,
            '(' if depth == 0 => {
                let name = before[..at].rsplit(|sign| !joins(sign)).next();
                return name.unwrap_or_default();
            }
            '(' | '[' | '{' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ""
}

/// Returns whether the tolerance of an assertion is as large as what it expects, or half of it where it is relative.
pub(super) fn takes_anything(check: &Check) -> bool {
    const RELATIVE: &[&str] = &["InEpsilon(", "rel=", "rel_tol=", "rtol="];
    const BILLION: f64 = 1e9;
    let Some(tolerance) = &check.tolerance else { return false };
    let size = tolerance.parts as f64 / BILLION;
    if RELATIVE.iter().any(|word| check.text.contains(word)) {
        return size >= 0.5;
    }
    // The tolerance may stand before the value.
    let others = check.text.replacen(tolerance.before.as_str(), "", 1);
    let behind = others.split_once([',', ')']).map_or("", |(_, behind)| behind);
    let numbers = [tolerance.before.as_str(), behind].into_iter().flat_map(literals);
    let largest =
        numbers.filter_map(|number| number.parse::<f64>().ok()).fold(0.0_f64, |most, each| most.max(each));
    largest > 0.0 && size >= largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_falls_back_on_a_value() {
        let cases = [
            ("getattr(r,\"total\",4)", "4", true),
            ("(r.totalor4)", "4", true),
            ("r.total??4", "4", true),
            ("r.total?:4", "4", true),
            ("r.total().unwrap_or(4)", "4", true),
            ("r.orElseGet(()->4)", "4", true),
            ("next(iter(r),4)", "4", true),
            ("price(2,4)", "4", false),
            ("r.vector4", "4", false),
            ("r.total", "4", false),
            ("r[\"a\"]??\"x\"", "\"x\"", true),
        ];
        for (expression, value, expected) in cases {
            assert_eq!(falls_back(expression, "r.total", value), expected, "{expression}");
        }
    }

    #[test]
    fn literals_are_numbers_and_texts() {
        assert_eq!(literals("f(a1,4.5,\"x y\",'z')"), ["4.5", "\"x y\"", "'z'"]);
    }
}
