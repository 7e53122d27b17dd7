//! Conditions of Rust by their text: the arguments of a macro have no tree.

use super::constants::LONGEST_CONDITION;

/// Splits a text of Rust at some signs outside of brackets and literals.
pub(super) fn split<'t>(text: &'t str, signs: &[&str]) -> Vec<&'t str> {
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

/// Returns the truth value of a condition without blanks that has the same in every run.
pub(super) fn truth(condition: &str) -> Option<bool> {
    if condition.len() > LONGEST_CONDITION {
        return split(condition, &["||"]).contains(&"true").then_some(true);
    }
    let condition = unwrapped(condition);
    for (signs, decides) in [(&["||"], true), (&["&&"], false), (&["|"], true), (&["&"], false)] {
        let parts = split(condition, signs);
        if parts.len() < 2 {
            continue;
        }
        let values: Vec<Option<bool>> = parts.iter().map(|part| truth(part)).collect();
        let is_decided = values.contains(&Some(decides)) || decides && has_opposites(&parts);
        let is_known = values.iter().all(Option::is_some);
        return if is_decided { Some(decides) } else { is_known.then_some(!decides) };
    }
    match condition {
        "true" => return Some(true),
        "false" => return Some(false),
        _ => {}
    }
    if let Some(inside) = condition.strip_prefix('!').filter(|inside| !inside.starts_with('=')) {
        return truth(inside).map(|value| !value);
    }
    if let Some(inside) = condition.strip_prefix("matches!(").and_then(|rest| rest.strip_suffix(')')) {
        return (split(inside, &[","]).last() == Some(&"_")).then_some(true);
    }
    match split(condition, &["=="]).as_slice() {
        [left, right] if is_literal(left) && is_literal(right) => Some(left == right),
        _ => None,
    }
}

/// Returns a text without parentheses around all of it.
fn unwrapped(text: &str) -> &str {
    let mut text = text;
    while let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let mut depth = 0_i32;
        let is_whole = inside.chars().all(|sign| {
            depth += i32::from(sign == '(') - i32::from(sign == ')');
            depth >= 0
        });
        if !is_whole {
            break;
        }
        text = inside;
    }
    text
}

/// Returns whether one of two conditions holds where the other one does not.
fn has_opposites(parts: &[&str]) -> bool {
    parts.iter().any(|one| {
        let opposite = one.replacen("==", "!=", 1);
        let negated = format!("!{one}");
        parts.iter().any(|other| *other != *one && (*other == opposite || *other == negated))
    })
}

/// Returns whether a text is a number, a word of truth or a string.
pub(super) fn is_literal(text: &str) -> bool {
    let is_quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    is_quoted
        || matches!(text, "true" | "false")
        || text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|sign| sign.is_alphanumeric() || "_.".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::{split, truth};

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
    fn conditions_with_the_same_value_in_every_run_are_evaluated() {
        for (condition, expected) in [
            ("true", Some(true)),
            ("f(3)==9||true", Some(true)),
            ("true|(f(3)==9)", Some(true)),
            ("(f(3)==9||(true))", Some(true)),
            ("f(3)==9&&false", Some(false)),
            ("!false", Some(true)),
            ("matches!(f(3),_)", Some(true)),
            ("f(3)==9||f(3)!=9", Some(true)),
            ("a||!a", Some(true)),
            ("1==1", Some(true)),
            ("matches!(f(3),Some(_))", None),
            ("f(3)==9||f(4)!=9", None),
            ("(a)==(b)", None),
            ("f(3)==9", None),
            ("a!=b", None),
            ("f(|a|a)", None),
        ] {
            assert_eq!(truth(condition), expected, "{condition}");
        }
    }
}
