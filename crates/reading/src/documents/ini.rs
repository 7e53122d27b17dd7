//! Reads INI files as Python's configparser does, which setup.cfg, tox.ini, mypy.ini, .flake8 and .coveragerc are for,
//! as npm does, and as editors and Roslyn read .editorconfig.

use super::build::{Builder, Id, Member};
use super::{Document, Style};
use crate::syntax::Span;

/// Parses an INI text: a map of sections, each a map of options. Options before the first section, as .pylintrc-like
/// files of other tools have them, stand in the root itself. Names of options are in lower case.
///
/// A line that is neither stands for nothing: configparser would refuse the file, other readers of INI skip the line.
///
/// In npm's dialect only `=` ends a name, names keep their case, no value goes on below, and `;` and `#` begin a comment
/// behind a value without quotes. In that of .editorconfig no value goes on below, and `;` and `#` begin a comment.
pub(super) fn parse(text: &str, dialect: Dialect) -> Document<'_> {
    let builder = Builder::new(text);
    let mut reader = Reader { builder, dialect, root: Vec::new(), section: None, option: None };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reader.line(line.trim_end_matches(['\n', '\r']), start);
        start += line.len();
    }
    reader.finish(text.len())
}

/// Reader whose rules for INI apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Configparser,
    EditorConfig,
    Npm,
}

/// An option whose value may go on below.
struct Open {
    key: Id,
    value: String,
    span: Span,
    indent: usize,
    /// Lines without content behind the value, which belong to it if it goes on.
    empty_lines: usize,
}

struct Section {
    key: Id,
    members: Vec<Member>,
    span: Span,
}

struct Reader<'t> {
    builder: Builder<'t>,
    dialect: Dialect,
    root: Vec<Member>,
    section: Option<Section>,
    option: Option<Open>,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str, start: usize) {
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        if content.starts_with(['#', ';']) {
            return;
        }
        let at = Span { start: start + indent, end: start + indent + content.len() };
        if content.is_empty() {
            if let Some(option) = &mut self.option {
                option.empty_lines += 1;
            }
            return;
        }
        if let Some(option) = &mut self.option
            && indent > option.indent
            && self.dialect == Dialect::Configparser
        {
            if option.value.is_empty() {
                option.span.start = at.start;
            }
            for _ in 0..=std::mem::take(&mut option.empty_lines) {
                option.value.push('\n');
            }
            option.value.push_str(content);
            option.span.end = at.end;
            return;
        }
        if let Some(name) = section_name(content) {
            self.end_section();
            let name_span = Span { start: at.start + 1, end: at.start + 1 + name.len() };
            let key = self.builder.scalar(name, Style::Verbatim, name_span);
            self.section = Some(Section { key, members: Vec::new(), span: at });
            return;
        }
        self.end_option();
        let separator = match self.dialect {
            Dialect::Npm => content.find('='),
            Dialect::Configparser | Dialect::EditorConfig => content.find(['=', ':']),
        };
        let (name, value) = match separator {
            Some(at) => (content[..at].trim_end(), content[at + 1..].trim_start()),
            None => (content, ""),
        };
        let key_span = Span { start: at.start, end: at.start + name.len() };
        let whole = value;
        let (name, value) = match self.dialect {
            Dialect::Npm => (name.to_owned(), npm_value(value)),
            Dialect::EditorConfig => (name.to_lowercase(), without_comment(value)),
            Dialect::Configparser => (name.to_lowercase(), value),
        };
        let key = self.builder.scalar(name, Style::Verbatim, key_span);
        let quote = usize::from(value.len() < whole.len() && !whole.starts_with(value));
        let start = at.end - whole.len() + quote;
        let span = Span { start, end: start + value.len() };
        self.option = Some(Open { key, value: value.to_owned(), span, indent, empty_lines: 0 });
    }

    fn end_option(&mut self) {
        let Some(Open { key, value, span, .. }) = self.option.take() else { return };
        let value = self.builder.scalar(value, Style::Plain, span);
        let member = self.builder.member(key, value);
        match &mut self.section {
            Some(section) => {
                section.span.end = span.end;
                section.members.push(member);
            }
            None => self.root.push(member),
        }
    }

    fn end_section(&mut self) {
        self.end_option();
        let Some(Section { key, members, span }) = self.section.take() else { return };
        let value = self.builder.map(members, span);
        self.root.push(self.builder.member(key, value));
    }

    fn finish(mut self, length: usize) -> Document<'t> {
        self.end_section();
        let root = self.builder.map(self.root, Span { start: 0, end: length });
        self.builder.root(root);
        self.builder.finish()
    }
}

/// Name between the brackets of a line that begins a section; the last bracket ends it.
fn section_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('[')?;
    rest.rfind(']').map(|end| &rest[..end])
}

/// Cuts a comment behind a value.
fn without_comment(value: &str) -> &str {
    let end = value.find(['#', ';']).unwrap_or(value.len());
    value[..end].trim_end()
}

/// Cuts quotes, or a comment behind a value without them.
fn npm_value(value: &str) -> &str {
    for quote in ['"', '\''] {
        let inside = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inside) = inside {
            return inside;
        }
    }
    let mut signs = value.match_indices([';', '#']).map(|(at, _)| at);
    match signs.find(|at| !value[..*at].ends_with('\\')) {
        Some(at) => value[..at].trim_end(),
        None => value,
    }
}
