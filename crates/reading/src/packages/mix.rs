//! Reads mix.lock, a map in the notation of Elixir: `%{"name": {:hex, :name, "1.0.0", "checksum", …}}`.

use super::{LockedPackage, Packages, Part, at_commit};
use crate::documents::ReadError;
use crate::syntax::Span;

/// A word, a text or a sign.
#[derive(Debug)]
struct Token<'t> {
    text: &'t str,
    span: Span,
    is_text: bool,
}

pub(super) fn packages(text: &str) -> Packages {
    let tokens = tokens(text)?;
    let begins = matches!(tokens.as_slice(), [percent, open, ..] if percent.text == "%" && open.text == "{");
    if !begins {
        return Err(ReadError::Syntax { message: "expected `%{`".to_owned(), at: 0 });
    }
    let mut found = Vec::new();
    // Texts and atoms of the tuple of a package, without those of lists and tuples inside of it.
    let mut values: Vec<&Token<'_>> = Vec::new();
    let (mut name, mut begin, mut depth) = (None, 0, 0usize);
    for (index, token) in tokens.iter().enumerate().skip(1) {
        match token.text {
            "{" | "[" if !token.is_text => {
                depth += 1;
                if depth == 2 {
                    (begin, values) = (token.span.start, Vec::new());
                }
            }
            "}" | "]" if !token.is_text => {
                depth = depth.checked_sub(1).ok_or_else(|| unexpected(token))?;
                if depth == 1 {
                    let name: Part = name.take().ok_or_else(|| unexpected(token))?;
                    found.push(package(name, Span { start: begin, end: token.span.end }, &values));
                }
                if depth == 0 && index + 1 < tokens.len() {
                    return Err(unexpected(&tokens[index + 1]));
                }
            }
            _ if depth == 1 && token.is_text => name = Some(Part::new(token.text, token.span)),
            _ if depth == 2 && (token.is_text || token.text.starts_with(':')) => values.push(token),
            _ => {}
        }
    }
    if depth != 0 {
        return Err(ReadError::Syntax { message: "expected `}`".to_owned(), at: text.len() });
    }
    Ok(found)
}

fn unexpected(token: &Token<'_>) -> ReadError {
    ReadError::Syntax { message: format!("unexpected `{}`", token.text), at: token.span.start }
}

fn package(name: Part, span: Span, values: &[&Token<'_>]) -> LockedPackage {
    let mut parts = values.iter().map(|token| Part::new(token.text, token.span)).skip(1);
    let mut package = LockedPackage::new(name, span);
    if values.first().is_some_and(|kind| kind.text == ":git") {
        let address = parts.next();
        package.version = parts.next();
        package.source = at_commit(address, package.version.clone());
        package.add_checksum(package.version.clone());
    } else {
        package.version = parts.nth(1);
        package.add_checksum(parts.next());
        // Lists between are left out, so the repository and the outer checksum follow at once.
        package.source = parts.next();
        package.add_checksum(parts.next());
    }
    package
}

fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | '-' | '@')
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, ReadError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match character {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let Some(end) = rest[1..].find('"') else {
                    return Err(ReadError::Syntax { message: "expected `\"`".to_owned(), at });
                };
                let span = Span { start: at + 1, end: at + 1 + end };
                tokens.push(Token { text: span.of(text), span, is_text: true });
                end + 2
            }
            _ if character.is_whitespace() || character == ',' => character.len_utf8(),
            _ => {
                let mut length = character.len_utf8();
                if character == ':' || is_part_of_word(character) {
                    length +=
                        rest[length..].find(|next| !is_part_of_word(next)).unwrap_or(rest.len() - length);
                }
                let span = Span { start: at, end: at + length };
                tokens.push(Token { text: span.of(text), span, is_text: false });
                length
            }
        };
        at += length;
    }
    Ok(tokens)
}
