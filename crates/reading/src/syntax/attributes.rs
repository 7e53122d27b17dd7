//! Attributes of Rust in one spelling, with those that a condition adds.

use super::constants;
use super::needs;
use super::outline::Span;
use super::spelled::{Argument, Form, Spelled, Speller, Value};
use super::walk::span;
use crate::tree::Node;

impl Speller<'_> {
    /// Spells an attribute of Rust, and those that a condition adds in every build of the tests.
    pub(super) fn rust_attribute(&self, node: Node<'_>) -> Vec<Spelled> {
        let mut found = Vec::new();
        rust_attribute(&self.tokens(node), span(node), &mut found);
        found
    }
}

fn rust_attribute(tokens: &str, place: Span, found: &mut Vec<Spelled>) {
    let end = tokens.find(['(', '=']).unwrap_or(tokens.len());
    let path = tokens[..end].replace("::", ".");
    let inside = tokens[end..].strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let given: Vec<&str> = inside.map(|inside| constants::arguments(inside).collect()).unwrap_or_default();
    match (path.as_str(), given.as_slice()) {
        ("cfg_attr", [condition, attributes @ ..]) => {
            if constants::cfg(condition) == Some(true) {
                attributes.iter().for_each(|attribute| rust_attribute(attribute, place, found));
            }
            // A test is ignored unless something is given.
            let words = condition.strip_prefix("not(").and_then(|inner| inner.strip_suffix(')'));
            let is_ignored = attributes.iter().any(|attribute| attribute.starts_with("ignore"));
            let words = words.filter(|_| is_ignored).and_then(needs::words_of_cfg);
            found.extend(words.map(|words| needs::spelled(words, place)));
        }
        ("cfg_attr", []) => {}
        _ => {
            let value =
                given.first().map(|given| Value { constant: constants::cfg(given), ..Value::default() });
            let words = given.first().filter(|_| path == "cfg").and_then(|given| needs::words_of_cfg(given));
            found.extend(words.map(|words| needs::spelled(words, place)));
            let arguments = Some(vec![Argument { name: String::new(), value: value.unwrap_or_default() }]);
            found.push(Spelled { form: Form::Mark, path, arguments, span: place });
        }
    }
}
