//! Reads YAML: block and flow, anchors, merge keys, tags, several documents.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Input, Marker, Parser, ScalarStyle, ScanError, Tag};

use super::build::{Builder, Id, Item, Member};
use super::{Document, MAX_DEPTH, ReadError, Style};
use crate::syntax::Span;

/// Parses a stream of YAML documents.
pub(super) fn parse(text: &str) -> Result<Document<'_>, ReadError> {
    let mut loader = Loader {
        builder: Builder::new(text),
        offsets: Offsets::new(text),
        text,
        anchors: BTreeMap::new(),
        open: Vec::new(),
    };
    if text.match_indices(MASK).any(|(at, _)| is_bare(&text[..at])) {
        loader.load(Parser::new_from_iter(without_bare_masks(text)))?;
    } else {
        loader.load(Parser::new_from_str(text))?;
    }
    Ok(loader.builder.finish())
}

/// Begin of a secret that is masked. Where it stands bare, YAML would take it for an alias, and the file that its owner
/// wrote for a broken one.
const MASK: &str = "****";

/// Returns whether what follows a text would begin a plain value.
fn is_bare(before: &str) -> bool {
    before.chars().next_back().is_none_or(|sign| sign.is_whitespace() || "[{,".contains(sign))
}

/// Returns the characters of a text, as many as it has, in which no masked secret begins as an alias does.
fn without_bare_masks(text: &str) -> impl Iterator<Item = char> + '_ {
    text.char_indices().map(|(at, sign)| match text[at..].starts_with(MASK) && is_bare(&text[..at]) {
        true => 'x',
        false => sign,
    })
}

/// A collection whose end has not been read.
struct Open {
    anchor: usize,
    tag: Option<String>,
    start: usize,
    is_map: bool,
    /// Values so far; keys and values in turn for a map.
    values: Vec<Item>,
}

struct Loader<'t> {
    builder: Builder<'t>,
    offsets: Offsets<'t>,
    text: &'t str,
    anchors: BTreeMap<usize, Id>,
    open: Vec<Open>,
}

impl<'t> Loader<'t> {
    fn load<I: Input>(&mut self, mut parser: Parser<'t, I>) -> Result<(), ReadError> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| self.syntax(&error))?;
            let span = without_properties(self.text, self.offsets.span(span.start, span.end));
            self.take(event, span)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'t>, span: Span) -> Result<(), ReadError> {
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
            Event::Alias(anchor) => {
                let Some(&target) = self.anchors.get(&anchor) else {
                    // An alias inside of its own anchor would make the tree a circle.
                    let message = "an alias stands inside of the value that it names".to_owned();
                    return Err(ReadError::Syntax { message, at: span.start });
                };
                self.value(target, span);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain if is_text(tag.as_deref()) => Style::Verbatim,
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let span = if style == Style::Block { with_header(self.text, span) } else { span };
                let id = self.builder.scalar(text, style, span);
                self.name(id, anchor, tag.as_deref().and_then(application_tag));
                self.value(id, span);
            }
            Event::SequenceStart(anchor, tag) => self.begin(anchor, tag.as_deref(), span, false)?,
            Event::MappingStart(anchor, tag) => self.begin(anchor, tag.as_deref(), span, true)?,
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, tag: Option<&Tag>, span: Span, is_map: bool) -> Result<(), ReadError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(ReadError::TooDeep);
        }
        let tag = tag.and_then(application_tag);
        self.open.push(Open { anchor, tag, start: span.start, is_map, values: Vec::new() });
        Ok(())
    }

    fn end(&mut self, span: Span) {
        let Some(open) = self.open.pop() else { return };
        // A block collection ends where the next token begins; its text ends with its last value.
        let end = match open.values.last() {
            Some(last) if span.end == span.start => last.place.end,
            _ => span.end.max(open.start),
        };
        let whole = Span { start: open.start.min(end), end };
        let id =
            if open.is_map { self.map(&open.values, whole) } else { self.builder.list(open.values, whole) };
        self.name(id, open.anchor, open.tag);
        self.value(id, whole);
    }

    /// Adds a map: its own members, and those of merge keys that no own member and no earlier merge has.
    fn map(&mut self, values: &[Item], whole: Span) -> Id {
        let mut merged = Vec::new();
        let mut own = Vec::new();
        for pair in values.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            let member = Member { value_place: value.place, ..self.builder.member(key.value, value.value) };
            let is_merge = self.builder.data(key.value).scalar_with_style() == Some(("<<", Style::Plain));
            if is_merge { merged.extend(self.merged_members(value.value)) } else { own.push(member) }
        }
        // Later members win, so the last merge goes first.
        merged.reverse();
        merged.extend(own);
        self.builder.map(merged, whole)
    }

    /// Members that a merge key brings: of a map, or of each map of a list, the first of which wins.
    fn merged_members(&self, value: Id) -> Vec<Member> {
        let data = self.builder.data(value);
        let mut members: Vec<Member> = data.members().iter().rev().copied().collect();
        for item in data.items() {
            members.extend(self.builder.data(item.value).members().iter().rev());
        }
        members.retain(|member| !member.shadowed);
        members.iter_mut().for_each(|member| member.merged = true);
        members
    }

    fn name(&mut self, id: Id, anchor: usize, tag: Option<String>) {
        if anchor > 0 {
            self.anchors.insert(anchor, id);
        }
        if let Some(tag) = tag {
            self.builder.set_tag(id, tag);
        }
    }

    fn value(&mut self, value: Id, place: Span) {
        match self.open.last_mut() {
            Some(open) => open.values.push(Item { value, place }),
            None => self.builder.root(value),
        }
    }

    fn syntax(&mut self, error: &ScanError) -> ReadError {
        let at = self.offsets.byte(error.marker().index()).min(self.text.len());
        ReadError::Syntax { message: error.info().to_owned(), at }
    }
}

/// Leaves out the anchor and the tag before a value.
fn without_properties(text: &str, span: Span) -> Span {
    let mut rest = span.of(text);
    while rest.starts_with(['&', '!']) {
        let Some(end) = rest.find(char::is_whitespace) else { break };
        rest = rest[end..].trim_start();
        while rest.starts_with('#') {
            let (_, below) = rest.split_once('\n').unwrap_or_default();
            rest = below.trim_start();
        }
    }
    Span { start: span.end - rest.len(), end: span.end }
}

/// Adds the header of a block, which the parser leaves out where the header names the indentation.
fn with_header(text: &str, span: Span) -> Span {
    let first = span.of(text).lines().next().unwrap_or("");
    let signs = first.trim_start_matches(['|', '>']);
    let behind = signs.trim_start_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '+' | '-'));
    if signs.len() < first.len() && (behind.trim().is_empty() || behind.trim_start().starts_with('#')) {
        return span;
    }
    let header = text[..span.start].rfind(['|', '>']);
    Span { start: header.unwrap_or(span.start), end: span.end }
}

/// Returns whether a tag makes a plain scalar a text.
fn is_text(tag: Option<&Tag>) -> bool {
    let Some(tag) = tag else { return false };
    tag.is_yaml_core_schema() && tag.suffix == "str" || is_non_specific(tag)
}

fn is_non_specific(tag: &Tag) -> bool {
    tag.handle.is_empty() && tag.suffix == "!"
}

fn application_tag(tag: &Tag) -> Option<String> {
    if tag.is_yaml_core_schema() || is_non_specific(tag) { None } else { Some(tag.to_string()) }
}

/// Bytes of the parser's places, which count characters.
///
/// Places come in the order of the text but for a few steps back, so a table is made only for text beyond ASCII.
struct Offsets<'t> {
    text: &'t str,
    /// Byte of every character; empty for plain ASCII.
    bytes: Vec<u32>,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        if text.is_ascii() {
            return Self { text, bytes: Vec::new() };
        }
        let offsets = text.char_indices().map(|(at, _)| at);
        let bytes = offsets.map(|at| u32::try_from(at).expect("the length of a text is bounded"));
        Self { text, bytes: bytes.collect() }
    }

    fn byte(&self, index: usize) -> usize {
        if self.bytes.is_empty() {
            return index.min(self.text.len());
        }
        match self.bytes.get(index) {
            Some(&byte) => byte as usize,
            None => self.text.len(),
        }
    }

    fn span(&self, start: Marker, end: Marker) -> Span {
        let start = self.byte(start.index());
        Span { start, end: self.byte(end.index()).max(start) }
    }
}
