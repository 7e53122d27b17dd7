//! Reads TOML: dotted keys, inline tables and arrays of tables are one tree.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::build::{Builder, Id};
use super::{Document, MAX_DEPTH, ReadError, Style};
use crate::syntax::Span;

/// Parses a TOML text.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ReadError> {
    let table = DeTable::parse(text).map_err(|error| ReadError::Syntax {
        message: error.message().to_owned(),
        at: error.span().unwrap_or_default().start,
    })?;
    let mut loader = Loader { builder: Builder::new(text), text };
    let root = loader.table(table.into_inner(), Span { start: 0, end: text.len() }, 0)?;
    loader.builder.root(root);
    Ok(loader.builder.finish())
}

struct Loader<'t> {
    builder: Builder<'t>,
    text: &'t str,
}

impl<'t> Loader<'t> {
    fn table(&mut self, table: DeTable<'t>, span: Span, depth: usize) -> Result<Id, ReadError> {
        let mut members = Vec::with_capacity(table.len());
        for (key, value) in table {
            let key = self.key(key);
            let value = self.value(value, depth + 1)?;
            members.push(self.builder.member(key, value));
        }
        members.sort_by_key(|member| self.builder.data(member.key).span);
        Ok(self.builder.map(members, span))
    }

    fn key(&mut self, key: Spanned<DeString<'t>>) -> Id {
        let span = span(&key);
        self.builder.scalar(key.into_inner(), Style::Verbatim, span)
    }

    fn value(&mut self, value: Spanned<DeValue<'t>>, depth: usize) -> Result<Id, ReadError> {
        if depth > MAX_DEPTH {
            return Err(ReadError::TooDeep);
        }
        let span = span(&value);
        Ok(match value.into_inner() {
            DeValue::String(text) => {
                let escapes = span.of(self.text).starts_with('"');
                let style = if escapes { Style::Double } else { Style::Verbatim };
                self.builder.scalar(text, style, span)
            }
            DeValue::Array(array) => {
                let mut items = Vec::with_capacity(array.len());
                for element in array {
                    let id = self.value(element, depth + 1)?;
                    items.push(self.builder.item(id));
                }
                self.builder.list(items, span)
            }
            DeValue::Table(table) => self.table(table, span, depth)?,
            DeValue::Integer(number) if !has_digits(number.as_str(), number.radix()) => {
                let message = "invalid integer, expected digits".to_owned();
                return Err(ReadError::Syntax { message, at: span.start });
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
                self.builder.scalar(span.of(self.text), Style::Plain, span)
            }
        })
    }
}

/// Returns whether an integer is one, which the parser leaves to whoever takes its value.
fn has_digits(text: &str, radix: u32) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

fn span<T>(spanned: &Spanned<T>) -> Span {
    let range = spanned.span();
    Span { start: range.start, end: range.end }
}
