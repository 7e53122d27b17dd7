//! Reads lists of ignored paths, one pattern on a line, as .gitignore and .prettierignore have them.

use super::build::Builder;
use super::{Document, Style};
use crate::ignore::{IgnoreDialect, ignore_patterns};
use crate::syntax::Span;

/// Parses a list: a map whose member `patterns` has the patterns as they are written. Those that take paths out of what is
/// ignored are no part of it.
pub(super) fn parse(text: &str) -> Document<'_> {
    let mut builder = Builder::new(text);
    let mut items = Vec::new();
    for pattern in ignore_patterns(IgnoreDialect::Git, text).iter().filter(|pattern| !pattern.negated) {
        let written = builder.scalar(pattern.span.of(text).trim(), Style::Plain, pattern.span);
        items.push(builder.item(written));
    }
    let whole = Span { start: 0, end: text.len() };
    let key = builder.scalar("patterns", Style::Plain, Span::default());
    let list = builder.list(items, whole);
    let member = builder.member(key, list);
    let root = builder.map(vec![member], whole);
    builder.root(root);
    builder.finish()
}
