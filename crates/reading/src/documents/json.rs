//! Reads JSON with the liberties that JSONC and JSON5 take.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::build::{Builder, Id};
use super::{Document, MAX_DEPTH, ReadError, Style};
use crate::syntax::Span;

/// Parses a JSON text.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ReadError> {
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - content.len();
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    // A missing comma is an error for every tool, whatever else it allows.
    let options = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let parsed = parse_to_ast(content, &collect, &options).map_err(|error| ReadError::Syntax {
        message: error.kind().to_string(),
        at: error.range().start + shift,
    })?;
    let mut loader = Loader { builder: Builder::new(text), shift };
    let Some(value) = parsed.value else {
        return Err(ReadError::Syntax { message: "the text has no value".to_owned(), at: text.len() });
    };
    let root = loader.value(value, 0)?;
    loader.builder.root(root);
    Ok(loader.builder.finish())
}

struct Loader<'t> {
    builder: Builder<'t>,
    /// Bytes of a byte order mark.
    shift: usize,
}

impl<'t> Loader<'t> {
    fn value(&mut self, value: Value<'t>, depth: usize) -> Result<Id, ReadError> {
        if depth > MAX_DEPTH {
            return Err(ReadError::TooDeep);
        }
        let span = self.span(value.range());
        Ok(match value {
            Value::StringLit(literal) => self.builder.scalar(literal.value, Style::Double, span),
            Value::NumberLit(literal) => self.builder.scalar(literal.value, Style::Plain, span),
            Value::BooleanLit(literal) => {
                self.builder.scalar(if literal.value { "true" } else { "false" }, Style::Plain, span)
            }
            Value::NullKeyword(_) => self.builder.scalar("null", Style::Plain, span),
            Value::Array(array) => {
                let mut items = Vec::with_capacity(array.elements.len());
                for element in array.elements {
                    let id = self.value(element, depth + 1)?;
                    items.push(self.builder.item(id));
                }
                self.builder.list(items, span)
            }
            Value::Object(object) => {
                let mut members = Vec::with_capacity(object.properties.len());
                for property in object.properties {
                    let key_span = self.span(property.name.range());
                    let key = match property.name {
                        ObjectPropName::String(literal) => {
                            self.builder.scalar(literal.value, Style::Double, key_span)
                        }
                        ObjectPropName::Word(word) => {
                            self.builder.scalar(word.value, Style::Verbatim, key_span)
                        }
                    };
                    let value = self.value(property.value, depth + 1)?;
                    members.push(self.builder.member(key, value));
                }
                self.builder.map(members, span)
            }
        })
    }

    fn span(&self, range: Range) -> Span {
        Span { start: range.start + self.shift, end: range.end + self.shift }
    }
}
