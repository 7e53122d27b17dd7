//! Reads what a configuration module of JavaScript or TypeScript exports, as far as it is written out as literals.
//!
//! Wrappers that give back what they get (`defineConfig(…)`, `as const`, a function that returns an object) are looked
//! through. An expression whose value is not known is a scalar of [`Style::Code`]; a spread is a member named `...`.

use super::build::{Builder, Id, Item, Member};
use super::{Document, MAX_DEPTH, ReadError, Style, Text};
use crate::syntax::{self, Language, Span};
use crate::tree::Node;

/// Name of the member that a spread stands for.
const SPREAD: &str = "...";

/// Parses a module. TypeScript's grammar reads JavaScript too, but for JSX, which no configuration has.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ReadError> {
    let Some(tree) = syntax::parse_tree(&Language::TypeScript.grammar(), text, &[]) else {
        return Err(ReadError::TooLarge);
    };
    let mut loader = Loader { builder: Builder::new(text), text, root: tree.root_node() };
    let Some(exported) = loader.exported() else {
        let message = "no default export that is written out".to_owned();
        return Err(ReadError::Syntax { message, at: 0 });
    };
    let id = loader.exported_value(exported, 0)?;
    loader.builder.root(id);
    Ok(loader.builder.finish())
}

struct Loader<'t, 'n> {
    builder: Builder<'t>,
    text: &'t str,
    root: Node<'n>,
}

impl<'t, 'n> Loader<'t, 'n> {
    /// Returns the expression behind `export default`, `export =` or the last `module.exports =`.
    fn exported(&self) -> Option<Node<'n>> {
        let mut found = None;
        for statement in self.root.named_children() {
            let value = match statement.word() {
                "export_statement" => statement.field("value").or_else(|| after_equals(statement)),
                "expression_statement" => self.assigned_export(statement),
                _ => None,
            };
            found = value.or(found);
        }
        found
    }

    fn assigned_export(&self, statement: Node<'n>) -> Option<Node<'n>> {
        let assignment = statement.named_child(0)?;
        let target = self.source(assignment.field("left")?);
        let is_export = matches!(target, "module.exports" | "exports.default" | "module.exports.default");
        if is_export { assignment.field("right") } else { None }
    }

    /// Looks through what gives back what it gets.
    fn unwrapped(&self, node: Node<'n>, depth: usize) -> Result<Node<'n>, ReadError> {
        if depth > MAX_DEPTH {
            return Err(ReadError::TooDeep);
        }
        let inner = match node.word() {
            "as_expression"
            | "satisfies_expression"
            | "parenthesized_expression"
            | "non_null_expression"
            | "await_expression" => node.named_child(0),
            "type_assertion" => node.named_children().last(),
            "arrow_function" | "function_expression" => node.field("body").and_then(returned),
            "identifier" => self.definition(self.source(node)),
            _ => None,
        };
        match inner {
            Some(inner) => self.unwrapped(inner, depth + 1),
            None => Ok(node),
        }
    }

    /// Returns the initial value of a variable of the module.
    fn definition(&self, name: &str) -> Option<Node<'n>> {
        for statement in self.root.named_children() {
            let exported = statement.field("declaration");
            for declarator in exported.unwrap_or(statement).named_children() {
                let is_named = declarator.word() == "variable_declarator"
                    && declarator.field("name").map(|node| self.source(node)) == Some(name);
                if is_named {
                    return declarator.field("value");
                }
            }
        }
        None
    }

    /// Adds the exported value: a call stands for its argument, or for the list of several.
    fn exported_value(&mut self, node: Node<'n>, depth: usize) -> Result<Id, ReadError> {
        let node = self.unwrapped(node, depth)?;
        let arguments = match node.field("arguments") {
            Some(arguments) if node.word() == "call_expression" => arguments.named_children().collect(),
            _ => Vec::new(),
        };
        match arguments[..] {
            [] => self.value(node, depth),
            [only] => self.exported_value(only, depth + 1),
            _ => {
                let mut items = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    items.push(self.item(argument, depth + 1)?);
                }
                Ok(self.builder.list(items, span(node)))
            }
        }
    }

    fn value(&mut self, node: Node<'n>, depth: usize) -> Result<Id, ReadError> {
        let node = self.unwrapped(node, depth)?;
        let at = span(node);
        let source = self.source(node);
        Ok(match node.word() {
            "object" => {
                let mut members = Vec::new();
                for child in node.named_children() {
                    members.extend(self.member(child, depth + 1)?);
                }
                self.builder.map(members, at)
            }
            "array" => {
                let mut items = Vec::new();
                for child in node.named_children().filter(|child| child.word() != "comment") {
                    items.push(self.item(child, depth + 1)?);
                }
                self.builder.list(items, at)
            }
            "string" => self.builder.scalar(decoded(source), Style::Double, at),
            "template_string" if !source.contains("${") => {
                self.builder.scalar(decoded(source), Style::Double, at)
            }
            "number" | "true" | "false" | "null" | "undefined" => {
                self.builder.scalar(source, Style::Plain, at)
            }
            _ => self.builder.scalar(source, Style::Code, at),
        })
    }

    fn item(&mut self, node: Node<'n>, depth: usize) -> Result<Item, ReadError> {
        let id = self.value(node, depth)?;
        Ok(self.builder.item(id))
    }

    /// Adds a member of an object; methods are no configuration.
    fn member(&mut self, node: Node<'n>, depth: usize) -> Result<Option<Member>, ReadError> {
        let at = span(node);
        match node.word() {
            "pair" => {
                let (Some(key), Some(value)) = (node.field("key"), node.field("value")) else {
                    return Ok(None);
                };
                let name = match key.word() {
                    "computed_property_name" => key.named_child(0).unwrap_or(key),
                    _ => key,
                };
                let text = match name.word() {
                    "string" | "template_string" => decoded(self.source(name)),
                    _ => Text::Borrowed(self.source(name)),
                };
                let key = self.builder.scalar(text, Style::Verbatim, span(name));
                let value = self.value(value, depth)?;
                Ok(Some(self.builder.member(key, value)))
            }
            "spread_element" | "shorthand_property_identifier" => {
                let value =
                    if node.word() == "spread_element" { node.named_child(0).unwrap_or(node) } else { node };
                let name = if node.word() == "spread_element" { SPREAD } else { self.source(node) };
                let key = self.builder.scalar(name, Style::Verbatim, at);
                let value = self.value(value, depth)?;
                Ok(Some(self.builder.member(key, value)))
            }
            _ => Ok(None),
        }
    }

    fn source(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }
}

/// Returns the expression of `export = …`.
fn after_equals(statement: Node<'_>) -> Option<Node<'_>> {
    let is_assignment = statement.child(1).map(|word| word.word()) == Some("=");
    if is_assignment { statement.named_child(0) } else { None }
}

/// Returns the value that the body of a function gives back.
fn returned(body: Node<'_>) -> Option<Node<'_>> {
    if body.word() != "statement_block" {
        return Some(body);
    }
    let last = body.named_children().filter(|statement| statement.word() == "return_statement").last()?;
    last.named_child(0)
}

fn span(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

/// Decodes a string literal with its quotes.
fn decoded(literal: &str) -> Text<'_> {
    let inside = literal.get(1..literal.len().saturating_sub(1)).unwrap_or("");
    if !inside.contains('\\') {
        return Text::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((before, escape)) = rest.split_once('\\') {
        text.push_str(before);
        let Some(marker) = escape.chars().next() else { break };
        let digits = match marker {
            'x' => escape.get(1..3),
            'u' if escape.starts_with("u{") => escape.get(2..).and_then(|open| open.split('}').next()),
            'u' => escape.get(1..5),
            _ => None,
        };
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        let used = match (code, digits) {
            (Some(_), Some(digits)) if escape.starts_with("u{") => digits.len() + 3,
            (Some(_), Some(digits)) => digits.len() + 1,
            _ => marker.len_utf8(),
        };
        match (code, marker) {
            (Some(code), _) => text.push(code),
            (None, 'n') => text.push('\n'),
            (None, 'r') => text.push('\r'),
            (None, 't') => text.push('\t'),
            (None, '\n') => {}
            (None, other) => text.push(other),
        }
        rest = &escape[used..];
    }
    text.push_str(rest);
    Text::Owned(text)
}
