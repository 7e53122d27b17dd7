//! Decodes words: quotes and escapes are gone, expansions stay as they are written.

use crate::syntax::Span;
use crate::tree::Node;

/// Text with the place of each of its parts in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded {
    pub text: String,
    /// Begins of parts that were copied as they are.
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    decoded: usize,
    source: usize,
}

/// A word after quotes are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    pub decoded: Decoded,
    pub span: Span,
    /// Places of expansions: variables, substitutions, and GitHub's `${{ … }}`.
    pub expansions: Vec<Span>,
    /// True if some of the word stands in quotes.
    pub quoted: bool,
}

impl Word {
    /// Returns the word without quotes; expansions are as written.
    pub fn text(&self) -> &str {
        &self.decoded.text
    }

    /// Returns the word, if no expansion decides it.
    pub fn constant(&self) -> Option<&str> {
        self.expansions.is_empty().then_some(self.text())
    }

    pub(super) fn move_by(&mut self, place: &impl Fn(Span) -> Span) {
        self.span = place(self.span);
        self.decoded.move_by(place);
        for expansion in &mut self.expansions {
            *expansion = place(*expansion);
        }
    }
}

impl Decoded {
    /// Place in the source of a byte of the decoded text.
    pub fn source_of(&self, offset: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.decoded <= offset);
        match after.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) => {
                let source = piece.source + (offset - piece.decoded);
                self.pieces.get(after).map(|next| next.source.min(source)).unwrap_or(source)
            }
            None => self.pieces.first().map(|piece| piece.source).unwrap_or_default(),
        }
    }

    /// Returns the place in the source of a part of the decoded text.
    pub(super) fn source_span(&self, span: Span) -> Span {
        let start = self.source_of(span.start);
        let last = span.end.saturating_sub(1).max(span.start);
        Span { start, end: (self.source_of(last) + (span.end - last)).max(start) }
    }

    fn end_of_piece(&self, index: usize) -> usize {
        self.pieces.get(index + 1).map(|next| next.decoded).unwrap_or(self.text.len())
    }

    /// Places the parts of a text that was decoded from another one.
    pub(super) fn move_by(&mut self, place: &impl Fn(Span) -> Span) {
        for piece in &mut self.pieces {
            piece.source = place(Span { start: piece.source, end: piece.source }).start;
        }
    }

    pub(crate) fn push(&mut self, text: &str, source: usize) {
        let contiguous = self
            .pieces
            .last()
            .is_some_and(|piece| self.text.len() - piece.decoded == source.wrapping_sub(piece.source));
        if !contiguous {
            self.pieces.push(Piece { decoded: self.text.len(), source });
        }
        self.text.push_str(text);
    }

    /// Text from a byte on.
    pub(crate) fn from(&self, offset: usize) -> Self {
        self.slice(offset, self.text.len())
    }

    /// Text between two bytes.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        let mut slice = Self::default();
        let first = self.pieces.partition_point(|piece| piece.decoded <= from).saturating_sub(1);
        for (index, piece) in self.pieces.iter().enumerate().skip(first) {
            if piece.decoded >= to {
                break;
            }
            let (begin, end) = (piece.decoded.max(from), self.end_of_piece(index).min(to));
            if begin < end {
                slice.push(&self.text[begin..end], piece.source + (begin - piece.decoded));
            }
        }
        slice
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for (index, piece) in other.pieces.iter().enumerate() {
            self.push(&other.text[piece.decoded..other.end_of_piece(index)], piece.source);
        }
    }
}

/// The characters that a backslash escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// Any character, as outside of quotes.
    All,
    /// `$`, `` ` ``, `"`, `\` and line ends, as in double quotes.
    Quoted,
    /// `\n` and the like, as in `$'…'`.
    Ansi,
}

/// Decodes the words of one text.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'t> {
    pub(super) text: &'t str,
    /// Places of `${{ … }}`, in order.
    pub(super) expressions: &'t [Span],
}

impl Decoder<'_> {
    /// Decodes the word that nodes make together, which stand side by side.
    pub(super) fn word(self, nodes: &[Node<'_>]) -> Word {
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Word::default() };
        let span = Span { start: first.start_byte(), end: last.end_byte() };
        let mut word = Word { span, ..Word::default() };
        for node in nodes {
            self.add(*node, &mut word);
        }
        let begin = self.expressions.partition_point(|expression| expression.end <= span.start);
        for expression in self.expressions[begin..].iter().take_while(|next| next.start < span.end) {
            word.expansions.push(*expression);
        }
        word
    }

    fn add(self, node: Node<'_>, word: &mut Word) {
        let span = Span { start: node.start_byte(), end: node.end_byte() };
        match node.word() {
            "concatenation" | "command_name" | "translated_string" => {
                for child in node.children() {
                    self.add(child, word);
                }
            }
            "raw_string" => {
                word.quoted = true;
                let inside =
                    Span { start: span.start + 1, end: span.end.saturating_sub(1).max(span.start + 1) };
                self.copy(inside, Escapes::None, word);
            }
            "ansi_c_string" => {
                word.quoted = true;
                let inside =
                    Span { start: span.start + 2, end: span.end.saturating_sub(1).max(span.start + 2) };
                self.copy(inside, Escapes::Ansi, word);
            }
            "string" => {
                word.quoted = true;
                self.string(node, word);
            }
            "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion" => {
                word.expansions.push(span);
                word.decoded.push(span.of(self.text), span.start);
            }
            // A `$` before a string that is to be translated.
            "$" if node.next_sibling().is_some_and(|next| next.start_byte() == span.end) => {}
            _ => self.copy(span, Escapes::All, word),
        }
    }

    /// Adds the parts of a string and the blanks between them, which the grammar leaves out.
    fn string(self, node: Node<'_>, word: &mut Word) {
        let end = node.end_byte().saturating_sub(1);
        let mut at = node.start_byte() + 1;
        for child in node.named_children() {
            if child.word() == "string_content" {
                continue;
            }
            self.copy(Span { start: at, end: child.start_byte().max(at) }, Escapes::Quoted, word);
            self.add(child, word);
            at = child.end_byte();
        }
        self.copy(Span { start: at.min(end), end: end.max(at.min(end)) }, Escapes::Quoted, word);
    }

    /// Decodes the text of a heredoc between its first line and its delimiter.
    pub(super) fn heredoc(self, body: Node<'_>, is_raw: bool, strips_tabs: bool) -> Decoded {
        let mut word = Word::default();
        let mut at = body.start_byte();
        let text = body.start_byte()..body.end_byte();
        for line in self.text.get(text).unwrap_or_default().split_inclusive('\n') {
            let tabs = if strips_tabs { line.len() - line.trim_start_matches('\t').len() } else { 0 };
            let escapes = if is_raw { Escapes::None } else { Escapes::Quoted };
            self.copy(Span { start: at + tabs, end: at + line.len() }, escapes, &mut word);
            at += line.len();
        }
        word.decoded
    }

    fn copy(self, span: Span, escapes: Escapes, word: &mut Word) {
        let source = self.text.get(span.start..span.end).unwrap_or_default();
        let mut at = 0;
        while let Some(found) = source[at..].find('\\').filter(|_| escapes != Escapes::None) {
            word.decoded.push(&source[at..at + found], span.start + at);
            at += found;
            let escaped = source[at + 1..].chars().next();
            let length = 1 + escaped.map(char::len_utf8).unwrap_or_default();
            let character = &source[at + 1..at + length];
            match (escapes, escaped) {
                (Escapes::Ansi, Some(letter)) => {
                    let decoded = match letter {
                        'n' => "\n",
                        't' => "\t",
                        'r' => "\r",
                        'e' | 'E' => "\u{1b}",
                        '0' => "\0",
                        _ => character,
                    };
                    word.decoded.push(decoded, span.start + at + 1);
                }
                (Escapes::All | Escapes::Quoted, Some('\n')) => {}
                (Escapes::Quoted, Some('$' | '`' | '"' | '\\')) | (Escapes::All, Some(_)) => {
                    word.decoded.push(character, span.start + at + 1);
                }
                (Escapes::None | Escapes::Quoted, Some(_)) | (_, None) => {
                    word.decoded.push(&source[at..at + length], span.start + at);
                }
            }
            at += length;
        }
        word.decoded.push(&source[at..], span.start + at);
    }
}

/// Joins words with blanks, as `eval` does.
pub(super) fn joined(words: &[Word]) -> Decoded {
    let mut joined = Decoded::default();
    for word in words {
        if !joined.text.is_empty() {
            joined.push(" ", word.span.start.saturating_sub(1));
        }
        joined.append(&word.decoded);
    }
    joined
}
