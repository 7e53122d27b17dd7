//! Expressions made of nothing but literals and names of the language, which have the same value in every run.

use super::Language;
use super::spelled::{Speller, first_field, parts};
use crate::tree::Node;

const OBJECTS: &[&str] = &["Array", "Boolean", "Math", "Number", "Object", "String"];

impl Speller<'_> {
    /// Returns whether an expression is made of literals and functions of the language alone.
    pub(super) fn is_closed(&self, node: Node<'_>) -> bool {
        const OF_PYTHON: &[&str] = &[
            "abs",
            "all",
            "any",
            "bool",
            "dict",
            "float",
            "int",
            "isinstance",
            "len",
            "list",
            "max",
            "min",
            "object",
            "range",
            "set",
            "str",
            "sum",
            "tuple",
            "type",
        ];
        const OF_GO: &[&str] = &["len", "max", "min"];
        const OTHERS: &[(Language, &[&str])] = &[(Language::Go, OF_GO), (Language::Python, OF_PYTHON)];
        let others = OTHERS.iter().find(|(language, _)| *language == self.language);
        let functions = others.map_or(OBJECTS, |(_, functions)| functions);
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let kind = node.word();
            let is_named = kind.contains("identifier")
                || kind.contains("name")
                || matches!(kind, "constant" | "self" | "this");
            let is_open = is_named && kind != "property_identifier" && !self.is_builtin(self.text_of(node))
                || kind.contains("await")
                || kind.contains("function")
                || kind.contains("new_expression");
            if is_open {
                return false;
            }
            let is_call = kind.contains("call") || kind.contains("invocation");
            let callee = first_field(node, &["function", "name"]).filter(|callee| {
                is_call && callee.word().contains("identifier") && functions.contains(&self.text_of(*callee))
            });
            stack.extend(parts(node).into_iter().filter(|part| Some(*part) != callee));
        }
        true
    }

    /// Returns whether a name that is not called is one of the language. In Python a class is such a name where the file
    /// gives no value the same name; other languages have their own in capitals.
    fn is_builtin(&self, name: &str) -> bool {
        const CLASSES: &[&str] =
            &["bool", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type"];
        OBJECTS.contains(&name)
            || self.language == Language::Python && CLASSES.contains(&name) && !self.is_given_value(name)
    }

    /// Returns whether the file assigns a value to a name of the language, in any way that a search of its text sees.
    fn is_given_value(&self, name: &str) -> bool {
        [format!("{name} ="), format!("for {name} "), format!("as {name}"), format!("{name},")]
            .iter()
            .any(|spelling| self.text.contains(spelling.as_str()))
    }
}
