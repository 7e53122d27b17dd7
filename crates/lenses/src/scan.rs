//! Places of code, string literals and comments on a line: a cheap scan by language, made for lines of a diff.

use qa_contracts::ids::RepoPath;
use qa_core::packet::{HunkView, Line};
use qa_reading::syntax::{Outline, Span};

/// The part of the program that a character belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    /// The inside of a string literal.
    Text,
    Comment,
}

/// The marks of comments and strings in one family of languages.
#[derive(Debug)]
struct Syntax {
    /// Begin a comment that ends with the line.
    line: &'static [&'static str],
    /// Begin and end a comment of any length.
    block: &'static [(&'static str, &'static str)],
    /// Begin and end a string on one line.
    quotes: &'static str,
    /// Begin and end a string of any length.
    long: &'static [&'static str],
    /// The bytes with which anything above begins; at all others there is nothing to look for.
    begins: [bool; 256],
}

impl Syntax {
    const fn marked(mut self) -> Self {
        let mut at = 0;
        while at < self.quotes.len() {
            self.begins[self.quotes.as_bytes()[at] as usize] = true;
            at += 1;
        }
        at = 0;
        while at < self.block.len() {
            self.begins[self.block[at].0.as_bytes()[0] as usize] = true;
            at += 1;
        }
        at = 0;
        while at < self.line.len() + self.long.len() {
            let mark = if at < self.line.len() { self.line[at] } else { self.long[at - self.line.len()] };
            self.begins[mark.as_bytes()[0] as usize] = true;
            at += 1;
        }
        self
    }
}

const UNSET: [bool; 256] = [false; 256];
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];
static C_LIKE: Syntax =
    Syntax { line: &["//"], block: C_BLOCK, quotes: "\"'", long: &[], begins: UNSET }.marked();
static TEMPLATES: Syntax =
    Syntax { line: &["//"], block: C_BLOCK, quotes: "\"'", long: &["`"], begins: UNSET }.marked();
static TRIPLE_C: Syntax =
    Syntax { line: &["//"], block: C_BLOCK, quotes: "\"'", long: &["\"\"\""], begins: UNSET }.marked();
static RUST: Syntax =
    Syntax { line: &["//"], block: C_BLOCK, quotes: "\"", long: &[], begins: UNSET }.marked();
static CSS: Syntax = Syntax { line: &[], block: C_BLOCK, quotes: "\"'", long: &[], begins: UNSET }.marked();
static HASH: Syntax = Syntax { line: &["#"], block: &[], quotes: "\"'", long: &[], begins: UNSET }.marked();
static PYTHON: Syntax =
    Syntax { line: &["#"], block: &[], quotes: "\"'", long: &["\"\"\"", "'''"], begins: UNSET }.marked();
static PHP: Syntax =
    Syntax { line: &["//", "#"], block: C_BLOCK, quotes: "\"'", long: &[], begins: UNSET }.marked();
static SQL: Syntax =
    Syntax { line: &["--"], block: C_BLOCK, quotes: "\"'", long: &[], begins: UNSET }.marked();
static LUA: Syntax =
    Syntax { line: &["--"], block: &[("--[[", "]]")], quotes: "\"'", long: &[], begins: UNSET }.marked();
static HASKELL: Syntax =
    Syntax { line: &["--"], block: &[("{-", "-}")], quotes: "\"", long: &[], begins: UNSET }.marked();
static ERLANG: Syntax = Syntax { line: &["%"], block: &[], quotes: "\"", long: &[], begins: UNSET }.marked();
static MARKUP: Syntax =
    Syntax { line: &[], block: &[("<!--", "-->")], quotes: "\"", long: &[], begins: UNSET }.marked();
static UNKNOWN: Syntax =
    Syntax { line: &["//", "#"], block: C_BLOCK, quotes: "\"'", long: &[], begins: UNSET }.marked();

fn syntax(language: Option<&str>) -> &'static Syntax {
    match language {
        Some("c" | "c++" | "c#" | "java" | "objective-c" | "protobuf" | "zig") => &C_LIKE,
        Some("go" | "javascript" | "typescript") => &TEMPLATES,
        Some("kotlin" | "scala" | "swift" | "dart") => &TRIPLE_C,
        Some("rust") => &RUST,
        Some("css") => &CSS,
        Some("python" | "elixir") => &PYTHON,
        Some("ruby" | "shell" | "perl" | "r" | "terraform") => &HASH,
        Some("php") => &PHP,
        Some("sql") => &SQL,
        Some("lua") => &LUA,
        Some("haskell") => &HASKELL,
        Some("erlang") => &ERLANG,
        Some("html") => &MARKUP,
        _ => &UNKNOWN,
    }
}

/// A part of a line, up to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset in bytes.
    pub(crate) start: usize,
    pub(crate) kind: Kind,
}

/// The parts of one line; none when all of it is program text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    /// Returns the kind of the byte at an offset.
    pub(crate) fn kind_at(&self, offset: usize) -> Kind {
        self.part_at(offset).kind
    }

    /// Returns the part around an offset.
    pub(crate) fn part_at(&self, offset: usize) -> Part {
        let after = self.0.partition_point(|part| part.start <= offset);
        match after.checked_sub(1) {
            Some(last) => self.0[last],
            None => Part { start: 0, kind: Kind::Code },
        }
    }

    /// Returns a line that is one kind from its beginning to its end.
    pub(crate) fn whole_line(kind: Kind) -> Self {
        Self(vec![Part { start: 0, kind }])
    }

    /// Returns the parts of a line at a place of a text, by where a parser found its comments and strings.
    pub(crate) fn by_outline(line: Span, outline: &Outline, ends: &Ends) -> Self {
        let comments = ends.comments.reaching(&outline.comments, line).map(|span| (*span, Kind::Comment));
        let strings = ends.strings.reaching(&outline.strings, line).map(|span| (*span, Kind::Text));
        let mut spans: Vec<_> = comments.chain(strings).collect();
        spans.sort_unstable_by_key(|(span, _)| *span);
        let mut parts = Vec::new();
        for (span, kind) in spans {
            parts.push(Part { start: span.start.saturating_sub(line.start), kind });
            parts.push(Part { start: span.end.min(line.end) - line.start, kind: Kind::Code });
        }
        Self(parts)
    }

    /// Returns the line with everything that is not program text blanked out, byte for byte.
    #[cfg(test)]
    fn code(&self, line: &str) -> String {
        if self.0.is_empty() {
            return line.to_owned();
        }
        let mut out = String::with_capacity(line.len());
        for (position, Part { start, kind }) in self.0.iter().enumerate() {
            let end = self.0.get(position + 1).map(|next| next.start).unwrap_or(line.len());
            match kind {
                Kind::Code => out.push_str(&line[*start..end]),
                Kind::Text | Kind::Comment => out.extend(std::iter::repeat_n(' ', end - start)),
            }
        }
        out
    }
}

/// Ends of what an outline has, by which the spans around a line are found.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) attributes: LastEnds,
    pub(crate) comments: LastEnds,
    strings: LastEnds,
}

impl Ends {
    pub(crate) fn new(outline: &Outline) -> Self {
        Self {
            attributes: LastEnds::new(&outline.attributes),
            comments: LastEnds::new(&outline.comments),
            strings: LastEnds::new(&outline.strings),
        }
    }
}

/// Last end of each span and those before it, for spans in the order of the text.
#[derive(Debug)]
pub(crate) struct LastEnds(Vec<usize>);

impl LastEnds {
    fn new(spans: &[Span]) -> Self {
        let mut last = 0;
        let ends = spans.iter().map(|span| {
            last = last.max(span.end);
            last
        });
        Self(ends.collect())
    }

    /// Returns those of the spans that begin before the end of a line and end behind its start, the last first. A span
    /// around the line begins hardly ever more than these before.
    pub(crate) fn reaching<'s>(&self, spans: &'s [Span], line: Span) -> impl Iterator<Item = &'s Span> {
        const NEAR: usize = 200;
        let end = spans.partition_point(|span| span.start < line.end);
        let near = spans[..end].iter().zip(&self.0[..end]).rev().take(NEAR);
        let near = near.take_while(move |(_, last)| line.start < **last).map(|(span, _)| span);
        near.filter(move |span| line.start < span.end)
    }
}

/// A string or a comment that goes on in the next line.
#[derive(Debug, Clone, Copy)]
struct Open {
    end: &'static str,
    kind: Kind,
}

/// A walk over lines in order. Lines outside of a hunk are unknown: a block comment that opens inside the hunk is
/// carried on, a long string only when the walk began at the first line of the file, because a closing delimiter looks
/// like an opening one.
#[derive(Debug)]
pub(crate) struct Scanner {
    syntax: &'static Syntax,
    from_first_line: bool,
    open: Option<Open>,
}

impl Scanner {
    /// Returns a scanner that begins at the first line of a file or somewhere inside.
    pub(crate) fn new(language: Option<&str>, from_first_line: bool) -> Self {
        Self { syntax: syntax(language), from_first_line, open: None }
    }

    /// Scans the next line.
    pub(crate) fn line(&mut self, text: &str) -> Parts {
        let mut parts = Vec::new();
        let mut offset = 0;
        if self.open.is_none() && begins_inside_block_comment(self.syntax, text) {
            return Parts::whole_line(Kind::Comment);
        }
        if self.open.is_none() && !text.bytes().any(|byte| self.syntax.begins[usize::from(byte)]) {
            return Parts(parts);
        }
        while offset < text.len() {
            if let Some(Open { end, kind }) = self.open {
                parts.push(Part { start: offset, kind });
                let Some(found) = text[offset..].find(end) else { break };
                offset += found + end.len();
                self.open = None;
                parts.push(Part { start: offset, kind: Kind::Code });
                continue;
            }
            parts.push(Part { start: offset, kind: Kind::Code });
            let Some(next) = self.next_opening(text, offset) else { break };
            match next {
                Opening::Line(start) => {
                    parts.push(Part { start, kind: Kind::Comment });
                    break;
                }
                Opening::Long(start, begin, end, kind) => {
                    offset = start + begin;
                    parts.push(Part { start: if kind == Kind::Text { offset } else { start }, kind });
                    self.open = Some(Open { end, kind });
                }
                Opening::Quote(start, end) => {
                    parts.push(Part { start: start + 1, kind: Kind::Text });
                    parts.push(Part { start: end, kind: Kind::Code });
                    offset = end + 1;
                }
            }
        }
        if let Some(Open { kind: Kind::Text, .. }) = self.open
            && !self.from_first_line
        {
            self.open = None;
        }
        parts.dedup_by(|next, kept| {
            let is_empty = next.start == kept.start;
            if is_empty {
                *kept = *next;
            }
            is_empty
        });
        Parts(parts)
    }

    fn next_opening(&self, text: &str, from: usize) -> Option<Opening> {
        let syntax = self.syntax;
        for (step, byte) in text.as_bytes()[from..].iter().enumerate() {
            if !syntax.begins[usize::from(*byte)] {
                continue;
            }
            let at = from + step;
            let rest = &text[at..];
            if let Some((begin, end)) = syntax.block.iter().find(|(begin, _)| rest.starts_with(begin)) {
                return Some(Opening::Long(at, begin.len(), end, Kind::Comment));
            }
            if let Some(mark) = syntax.line.iter().find(|mark| rest.starts_with(**mark))
                && (*mark != "#" || at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace())
                && (*mark != "//" || at == 0 || text.as_bytes()[at - 1] != b':')
            {
                return Some(Opening::Line(at));
            }
            if let Some(long) = syntax.long.iter().find(|long| rest.starts_with(**long)) {
                return Some(Opening::Long(at, long.len(), long, Kind::Text));
            }
            if syntax.quotes.as_bytes().contains(byte)
                && let Some(end) = closing_quote(text, at)
            {
                return Some(Opening::Quote(at, end));
            }
        }
        None
    }
}

enum Opening {
    Line(usize),
    Long(usize, usize, &'static str, Kind),
    Quote(usize, usize),
}

/// A quote that does not close on its line is an apostrophe, a lifetime or the end of a longer string.
fn closing_quote(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 1;
        } else if bytes[at] == bytes[start] {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// A line that begins with `*` continues a comment in every language with `/* */`.
fn begins_inside_block_comment(syntax: &Syntax, text: &str) -> bool {
    let rest = text.trim_start();
    syntax.block == C_BLOCK && (rest == "*" || rest.starts_with("* ") && !rest.contains("*/"))
}

/// Returns whether people read the file rather than programs, in any directory.
pub(crate) fn is_prose(path: &RepoPath) -> bool {
    const ENDINGS: &[&str] = &["md", "mdx", "markdown", "rst", "adoc", "asciidoc", "txt", "tex", "org"];
    let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Returns the added lines of a hunk with their parts.
pub(crate) fn added<'a>(
    language: Option<&str>,
    hunk: HunkView<'a>,
) -> impl Iterator<Item = (Line<'a>, Parts)> {
    let mut scanner = begin(language, &hunk);
    hunk.added().map(move |line| (line, scanner.line(line.text)))
}

/// Returns the removed lines of a hunk with their parts.
pub(crate) fn removed<'a>(
    language: Option<&str>,
    hunk: HunkView<'a>,
) -> impl Iterator<Item = (Line<'a>, Parts)> {
    let mut scanner = begin(language, &hunk);
    hunk.removed().map(move |line| (line, scanner.line(line.text)))
}

fn begin(language: Option<&str>, hunk: &HunkView<'_>) -> Scanner {
    let first = hunk.before().next().map(|line| line.number);
    let first = first.unwrap_or(hunk.hunk.new_start.min(hunk.hunk.old_start));
    let mut scanner = Scanner::new(language, first <= 1);
    for line in hunk.before() {
        scanner.line(line.text);
    }
    scanner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(language: &str, lines: &[&str]) -> Vec<String> {
        let mut scanner = Scanner::new(Some(language), true);
        lines.iter().map(|line| scanner.line(line).code(line)).collect()
    }

    #[test]
    fn strings_and_comments_are_told_from_code() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("rust", &["let a = \"x // y\"; // z"], &["let a = \"      \";     "]),
            ("rust", &["fn f<'a>(x: &'a str) {"], &["fn f<'a>(x: &'a str) {"]),
            (
                "python",
                &["a = 'b' # c", "\"\"\"doc", "breakpoint()", "\"\"\""],
                &["a = ' '    ", "\"\"\"   ", "            ", "   "],
            ),
            (
                "javascript",
                &["a(`x", "debugger", "`); /* b", "c */ d"],
                &["a(` ", "        ", " );     ", "     d"],
            ),
            ("shell", &["echo ${a#b} # c"], &["echo ${a#b}    "]),
            ("java", &[" * it.only( in a comment"], &["                        "]),
        ];
        for (language, lines, expected) in cases {
            assert_eq!(code(language, lines), *expected, "{lines:?}");
        }
    }

    #[test]
    fn spans_that_reach_a_line_are_found_behind_shorter_ones() {
        let spans: Vec<Span> = [(0, 90), (3, 5), (10, 20), (30, 95), (40, 45), (70, 80)]
            .map(|(start, end)| Span { start, end })
            .to_vec();
        let ends = LastEnds::new(&spans);
        for start in 0..100 {
            for end in start..100 {
                let line = Span { start, end };
                let expected = spans.iter().rev().filter(|span| span.start < end && start < span.end);
                assert!(ends.reaching(&spans, line).eq(expected), "{line:?}");
            }
        }
    }

    #[test]
    fn a_long_string_is_not_carried_on_from_the_middle_of_a_file() {
        let mut scanner = Scanner::new(Some("python"), false);
        scanner.line("\"\"\"");
        assert_eq!(scanner.line("breakpoint()").code("breakpoint()"), "breakpoint()");
    }
}
