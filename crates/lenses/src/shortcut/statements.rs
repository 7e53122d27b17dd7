//! Statements of a file, each as one line, whatever lines it is broken into.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::ChangeKind;
use qa_core::packet::{Line, Packet, line_start};
use qa_reading::syntax::{Language, OtherVersion, ParsedSource, Span, Statement, without_comment};

/// Length in bytes of the longest statement that is read beyond its first block.
const LONGEST: usize = 2_000;
/// Beginnings of statements whose blocks are part of what they say.
const WITH_BLOCKS: &[&str] = &[
    "assert",
    "const assert",
    "const expect",
    "const should",
    "expect",
    "let assert",
    "let expect",
    "let should",
    "should",
    "var assert",
    "var expect",
    "var should",
];

/// The statements of one side of a file.
#[derive(Debug)]
pub(super) struct Statements {
    text: String,
    /// Places that are read, in the order of the text.
    places: Vec<Span>,
    /// Positions of the statements on each line.
    on_line: BTreeMap<u64, Vec<usize>>,
    /// Offsets at which lines start.
    starts: Vec<usize>,
    /// True if the text is all of the file.
    is_whole: bool,
}

/// A statement with a changed line.
#[derive(Debug)]
pub(super) struct Changed<'t> {
    pub(super) position: usize,
    /// Its first changed line.
    pub(super) line: Line<'t>,
}

impl Statements {
    /// Returns the statements at the base; `None` where its text is not there or cannot be parsed.
    pub(super) fn at_base(packet: &Packet<'_>) -> Option<Self> {
        let language = Language::from_path(&packet.path_by_language())?;
        let base = packet.text.full_base.as_deref()?;
        let newer = packet.text.full_head.as_deref();
        let hunks = &packet.file.hunks;
        let other = newer.map(|text| OtherVersion { text, hunks, is_newer: true });
        Some(Self::new(&ParsedSource::parse(language, base, other.as_ref())?))
    }

    /// Returns the statements at head; the added lines by themselves where its text is not there or cannot be parsed.
    pub(super) fn at_head(packet: &Packet<'_>) -> Self {
        let language = Language::from_path(&packet.path_by_language());
        let whole = match &packet.text.full_head {
            Some(text) => Some(text.clone()),
            // The hunks of a new file are all of it.
            None if packet.file.kind == ChangeKind::Added => {
                Some(packet.added().map(|line| format!("{}\n", line.text)).collect())
            }
            None => None,
        };
        let parsed = language.zip(whole.as_deref()).and_then(|(language, text)| {
            let source = ParsedSource::parse(language, text, None)?;
            Some(Self::new(&source))
        });
        parsed.unwrap_or_else(|| Self::of_lines(packet))
    }

    /// Returns the statements of a parsed text.
    pub(super) fn new(source: &ParsedSource<'_>) -> Self {
        let text = source.text();
        let places = source.statements().iter().map(|statement| read_place(text, statement)).collect();
        Self::of_places(text.to_owned(), places, true)
    }

    /// Returns the added lines as statements.
    fn of_lines(packet: &Packet<'_>) -> Self {
        let (mut text, mut places, mut on_line) = (String::new(), Vec::new(), BTreeMap::new());
        for line in packet.added() {
            let start = text.len();
            text.push_str(line.text);
            on_line.insert(line.number, vec![places.len()]);
            places.push(Span { start, end: text.len() });
            text.push('\n');
        }
        Self { text, places, on_line, starts: Vec::new(), is_whole: false }
    }

    fn of_places(text: String, places: Vec<Span>, is_whole: bool) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut on_line: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (position, place) in places.iter().enumerate() {
            let [first, last] = [place.start, place.end.saturating_sub(1).max(place.start)]
                .map(|at| starts.partition_point(|start| *start <= at) as u64);
            for number in first..=last {
                on_line.entry(number).or_default().push(position);
            }
        }
        Self { text, places, on_line, starts, is_whole }
    }

    /// Returns whether they are those of all of the file.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of statements.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the statements on some lines in the order of the lines, each with the first of them.
    pub(super) fn on<'l>(&self, lines: impl Iterator<Item = Line<'l>>) -> Vec<Changed<'l>> {
        let (mut found, mut known) = (Vec::new(), BTreeSet::new());
        for line in lines.filter(|line| !line.text.trim().is_empty()) {
            let positions = self.on_line.get(&line.number).into_iter().flatten();
            let new = positions.copied().filter(|position| known.insert(*position));
            found.extend(new.map(|position| Changed { position, line }));
        }
        found
    }

    /// Returns the statements on some lines, each as one line.
    pub(super) fn written_on<'l>(&self, lines: impl Iterator<Item = Line<'l>>) -> Vec<String> {
        self.on(lines).iter().map(|found| self.written(found.position)).collect()
    }

    /// Returns the number of signs before the line on which a statement begins.
    pub(super) fn indent(&self, position: usize) -> usize {
        let start = self.places.get(position).map(|place| place.start).unwrap_or_default();
        let line = line_start(&self.text, start);
        self.text[line..start].len() - self.text[line..start].trim_start().len()
    }

    /// Returns the lines right before a statement.
    pub(super) fn lines_before(&self, position: usize, count: usize) -> impl Iterator<Item = &str> {
        let start = self.places.get(position).map(|place| place.start).unwrap_or_default();
        let own = self.starts.partition_point(|line| *line <= start);
        let first = self.starts.get(own.saturating_sub(count + 1)).copied().unwrap_or(start);
        self.text[first.min(start)..start].lines()
    }

    /// Returns a statement as one line, without the comments behind its lines.
    pub(super) fn written(&self, position: usize) -> String {
        let place = self.places.get(position).copied().unwrap_or_default();
        let mut written = String::new();
        for line in place.of(&self.text).lines() {
            let line = code_of(line).trim();
            if line.starts_with([')', ']']) && written.ends_with(',') {
                written.pop();
            }
            let is_joined = written.is_empty() || written.ends_with(['(', '[']);
            if !is_joined && !line.is_empty() && !line.starts_with([')', ']', '.', '?']) {
                written.push(' ');
            }
            written.push_str(line);
        }
        written
    }
}

/// Returns a line without the comment behind it. A mark of one inside a text is a part of the text.
fn code_of(line: &str) -> &str {
    let code = without_comment(line);
    let is_in_text = ['"', '\'', '`'].iter().any(|quote| code.matches(*quote).count() % 2 == 1);
    if is_in_text { line } else { code }
}

/// Returns the part of a statement that is read: what stands before its first block, or all of an expectation.
fn read_place(text: &str, statement: &Statement) -> Span {
    let begin = statement.span.of(text);
    let has_blocks = begin.len() <= LONGEST && WITH_BLOCKS.iter().any(|word| begin.starts_with(word));
    if has_blocks { statement.span } else { statement.head }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_one_line_in_every_spelling() {
        for (language, text, expected) in [
            (
                Language::JavaScript,
                "expect(\n  total(\n    cart, // all of it\n  ),\n)\n  .not\n  .toBe(3);\n",
                "expect(total(cart)).not.toBe(3);",
            ),
            (Language::JavaScript, "f(\n  \"a //b\",\n)\n", "f(\"a //b\")"),
            (Language::Python, "assert (\n    a\n    == b\n)\n", "assert (a == b)"),
            (Language::Ruby, "expect(a)\n  .to eq(\n    b\n  )\n", "expect(a).to eq(b)"),
        ] {
            let source = ParsedSource::parse(language, text, None).unwrap();
            let statements = Statements::new(&source);
            assert_eq!(statements.written(0), expected);
            assert_eq!(statements.on_line[&2], [0]);
        }
    }
}
