//! Assertions of Rust, whose arguments are read as text: those of a macro have no tree.

use super::super::rust_text::split;
use super::Reader;
use super::checks::{Claim, Demand, Operand};
use super::conditions::{bare, comparison, either, every};
use crate::tree::Node;

/// Parts of deeper conditions are taken as they are.
const MAX_DEPTH: usize = 30;

impl Reader<'_> {
    /// Returns the demand of a macro of Rust, whose arguments have no tree.
    pub(super) fn rust_macro(&self, node: Node<'_>) -> Option<Claim> {
        let name = self.text_of(node.field("macro")?);
        let name = name.rsplit("::").next().unwrap_or(name);
        let tokens = node.named_children().find(|child| child.word() == "token_tree")?;
        let text = self.spelled(tokens);
        let arguments = split(text.get(1..text.len().saturating_sub(1))?, &[","]);
        match name {
            "assert" | "debug_assert" => condition_of_text(arguments.first()?, 0),
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

/// Returns the demand that a condition holds, by its text.
fn condition_of_text(condition: &str, depth: usize) -> Option<Claim> {
    for (signs, is_every) in [(&["||"], false), (&["&&"], true)] {
        let parts = split(condition, signs);
        if parts.len() > 1 && depth < MAX_DEPTH {
            let claims = parts.iter().filter_map(|part| condition_of_text(part, depth + 1)).collect();
            return Some(if is_every { every(claims) } else { either(claims) });
        }
    }
    for sign in ["==", "!=", ">=", "<="] {
        if let [left, right] = split(condition, &[sign]).as_slice() {
            return comparison(sign, plain(left), plain(right));
        }
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
pub(super) fn unwrapped(text: &str) -> &str {
    text.strip_suffix("()").and_then(|text| text.strip_suffix(".unwrap")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::super::{Behaviour, Language, ParsedSource};

    #[test]
    fn assertions_about_quotes_are_seen_in_rust() {
        let text = "fn quotes() {\n    assert_eq!(find('\"'), Some(3));\n    assert_eq!(count(), 2);\n}\n";
        let source = ParsedSource::parse(Language::Rust, text, None).unwrap();
        let behaviour = Behaviour::new(&source);
        let subjects = behaviour.functions[1].checks().iter().flat_map(|check| &check.subjects);
        assert_eq!(subjects.collect::<Vec<_>>(), ["find('\"')", "count()"]);
    }
}
