//! Tokens of statements, as far as imports use them.

use super::super::outline::Span;

/// Token of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Word(Span),
    /// The inside of a quoted string.
    Text(Span),
    Mark(char),
}

/// Reads a text from a place on.
pub(super) struct Tokens<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

/// Returns whether a character ends a line by the rules of any of the languages.
pub(super) fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// Returns whether a character may be part of a name; every character beyond ASCII counts.
pub(super) fn is_part_of_word(character: char) -> bool {
    let is_foreign = !character.is_ascii() && !is_space(character);
    is_foreign || character.is_ascii_alphanumeric() || "_$".contains(character)
}

impl<'t> Tokens<'t> {
    pub(super) fn text_of(&self, span: Span) -> &'t str {
        span.of(self.text)
    }

    pub(super) fn is_word(&self, token: Token, word: &str) -> bool {
        matches!(token, Token::Word(span) if self.text_of(span) == word)
    }

    /// Returns the next token of JavaScript or TypeScript, behind spaces and comments; null at the end of the text.
    pub(super) fn next_ecma(&mut self) -> Option<Token> {
        self.skip_ecma();
        let start = self.at;
        let first = self.text[start..].chars().next()?;
        if is_part_of_word(first) {
            return Some(self.word());
        }
        self.at += first.len_utf8();
        if !matches!(first, '"' | '\'' | '`') {
            return Some(Token::Mark(first));
        }
        let end = self.until(self.at, |character| character == first || "\\\r\n".contains(character));
        if !self.text[end..].starts_with(first) {
            // A string with an escape, or not closed on its line, is no plain name.
            return Some(Token::Mark(if self.text[end..].starts_with('\\') { '\\' } else { first }));
        }
        self.at = end + 1;
        Some(Token::Text(Span { start: start + 1, end }))
    }

    fn skip_ecma(&mut self) {
        loop {
            self.at = self.until(self.at, |character| !is_space(character));
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at = self.until(self.at, ends_line);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let length = comment.find("*/").map(|length| length + 4);
                self.at += length.unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// Returns the next token of Python. A line's end ends a statement, but inside of parentheses it is a space.
    pub(super) fn next_python(&mut self, in_parentheses: bool) -> Token {
        const END: Token = Token::Mark('\n');
        loop {
            let Some(first) = self.text[self.at..].chars().next() else { return END };
            let width = first.len_utf8();
            match first {
                '#' => self.at = self.until(self.at, |character| matches!(character, '\n' | '\r')),
                '\n' | '\r' if !in_parentheses => return END,
                '\\' if self.text[self.at + 1..].starts_with("\r\n") => self.at += 3,
                '\\' if self.text[self.at + 1..].starts_with(['\n', '\r']) => self.at += 2,
                _ if is_space(first) => self.at += width,
                _ if is_part_of_word(first) => return self.word(),
                _ => {
                    self.at += width;
                    return Token::Mark(first);
                }
            }
        }
    }

    /// Returns the next word or mark of Rust, behind spaces and comments; null at the end of the text.
    pub(super) fn next_rust(&mut self) -> Option<Token> {
        self.skip_rust();
        let start = self.at;
        let first = self.text[start..].chars().next()?;
        if !is_part_of_word(first) {
            self.at += first.len_utf8();
            return Some(Token::Mark(first));
        }
        let mut token = self.word();
        let is_raw = self.is_word(token, "r") && self.text[self.at..].starts_with('#');
        if is_raw && self.text[self.at + 1..].starts_with(is_part_of_word) {
            self.at += 1;
            self.word();
            token = Token::Word(Span { start, end: self.at });
        }
        Some(token)
    }

    fn skip_rust(&mut self) {
        loop {
            self.at = self.until(self.at, |character| !is_space(character));
            if self.text[self.at..].starts_with("//") {
                self.at = self.until(self.at, |character| character == '\n');
            } else if self.text[self.at..].starts_with("/*") {
                self.skip_nested_comment();
            } else {
                return;
            }
        }
    }

    /// Goes past a comment that may hold others.
    fn skip_nested_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(length) = self.text[self.at..].find(['/', '*']) {
            self.at += length;
            let rest = &self.text[self.at..];
            let is_begin = rest.starts_with("/*");
            let is_end = rest.starts_with("*/");
            self.at += if is_begin || is_end { 2 } else { 1 };
            depth = if is_begin { depth + 1 } else { depth - usize::from(is_end) };
            if depth == 0 {
                return;
            }
        }
        self.at = self.text.len();
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        self.at = self.until(start, |character| !is_part_of_word(character));
        Token::Word(Span { start, end: self.at })
    }

    fn until(&self, start: usize, ends: impl Fn(char) -> bool) -> usize {
        match self.text[start..].find(ends) {
            Some(length) => start + length,
            None => self.text.len(),
        }
    }
}
