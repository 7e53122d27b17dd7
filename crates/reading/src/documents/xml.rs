//! Reads XML: an element is a map of its attributes (`@name`), its text (`#text`) and its children.

use roxmltree::{Document as Xml, Node, ParsingOptions};

use super::build::{Builder, Id};
use super::{Document, MAX_DEPTH, ReadError, Style};
use crate::syntax::Span;

/// Name of the member that holds an element's own text.
const TEXT: &str = "#text";

/// Parses an XML text. The root is a map with the document element as its one member.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ReadError> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let xml = Xml::parse_with_options(text, options).map_err(|error| {
        let position = error.pos();
        ReadError::Syntax { message: error.to_string(), at: byte_of(text, position.row, position.col) }
    })?;
    let mut builder = Builder::new(text);
    let element = xml.root_element();
    let member = child(&mut builder, element, 0)?;
    let root = builder.map_with_siblings(vec![member], Span { start: 0, end: text.len() });
    builder.root(root);
    Ok(builder.finish())
}

/// Offset of a row and a column in characters, both from 1.
fn byte_of(text: &str, row: u32, column: u32) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(row.saturating_sub(1) as usize) {
        start += line.len();
    }
    let rest = text.get(start..).unwrap_or("");
    let before: usize = rest.chars().take(column.saturating_sub(1) as usize).map(char::len_utf8).sum();
    start + before
}

fn child<'t>(
    builder: &mut Builder<'t>,
    element: Node<'_, 't>,
    depth: usize,
) -> Result<super::build::Member, ReadError> {
    let start = element.range().start + 1;
    let name = element.tag_name().name();
    let key = builder.scalar(name.to_owned(), Style::Verbatim, Span { start, end: start + name.len() });
    let value = element_value(builder, element, depth)?;
    Ok(builder.member(key, value))
}

fn element_value<'t>(
    builder: &mut Builder<'t>,
    element: Node<'_, 't>,
    depth: usize,
) -> Result<Id, ReadError> {
    if depth > MAX_DEPTH {
        return Err(ReadError::TooDeep);
    }
    let range = element.range();
    let span = Span { start: range.start, end: range.end };
    let mut members = Vec::new();
    for attribute in element.attributes() {
        let (name, value) = (attribute.range_qname(), attribute.range_value());
        let key_span = Span { start: name.start, end: name.end };
        let value_span = Span { start: value.start, end: value.end };
        let key = builder.scalar(format!("@{}", attribute.name()), Style::Verbatim, key_span);
        let value = builder.scalar(attribute.value().to_owned(), Style::Verbatim, value_span);
        members.push(builder.member(key, value));
    }
    for inner in element.children() {
        if inner.is_element() {
            members.push(child(builder, inner, depth + 1)?);
        } else if let Some(text) = inner.text().filter(|text| inner.is_text() && !text.trim().is_empty()) {
            let at = place_of_text(builder.source(), inner.range(), text.trim());
            let key = builder.scalar(TEXT, Style::Verbatim, at);
            let value = builder.scalar(text.trim().to_owned(), Style::Verbatim, at);
            members.push(builder.member(key, value));
        }
    }
    Ok(builder.map_with_siblings(members, span))
}

/// Place of a text without the blanks around it; that of the whole node where an entity or CDATA spells it otherwise.
fn place_of_text(source: &str, range: std::ops::Range<usize>, text: &str) -> Span {
    let inside = source.get(range.clone()).and_then(|node| node.find(text));
    match inside {
        Some(at) => Span { start: range.start + at, end: range.start + at + text.len() },
        None => Span { start: range.start, end: range.end },
    }
}
