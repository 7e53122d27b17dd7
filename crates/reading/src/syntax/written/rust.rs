//! Rust: the leaves of `use` trees, and `mod name;`.

use super::super::outline::{Import, ImportKind, Span};
use super::tokens::{Token, Tokens, is_part_of_word};
use super::{Budget, import, name};

/// Deeper trees are left to a parse.
const MAX_DEPTH: usize = 50;

pub(super) fn imports(text: &str) -> Option<Vec<Import>> {
    // A lone carriage return may end a comment; the parser decides.
    if text.match_indices('\r').any(|(at, _)| !text[at + 1..].starts_with('\n')) {
        return None;
    }
    let mut budget = Budget::new(text);
    let mut found = Vec::new();
    for start in words(text, "mod") {
        let mut tokens = Tokens { text, at: start + "mod".len() };
        if let Some(Token::Word(module)) = tokens.next_rust()
            && tokens.next_rust() == Some(Token::Mark(';'))
        {
            found.push(import(ImportKind::File, text, Span { start, end: tokens.at }, module));
        }
        budget.spend(tokens.at - start)?;
    }
    for start in words(text, "use") {
        let tokens = Tokens { text, at: start + "use".len() };
        let mut reader = UseTree { tokens, start, leaves: Vec::new() };
        let end = reader.next().and_then(|first| reader.read(first, "", 0));
        budget.spend(reader.tokens.at - start)?;
        match end {
            Ok(Token::Mark(';')) => {}
            Ok(_) | Err(Stop::Other) => continue,
            Err(Stop::TooDeep) => return None,
        }
        if may_be_visible(&text[..start]) {
            let reexports = reader.leaves.iter().cloned();
            found.extend(reexports.map(|leaf| Import { kind: ImportKind::Reexport, ..leaf }));
        }
        found.extend(reader.leaves);
    }
    found.sort_by_key(|import| import.module_span);
    Some(found)
}

/// Returns where a word stands by itself.
fn words<'t>(text: &'t str, word: &'static str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(word).map(|(start, _)| start).filter(move |start| {
        !text[..*start].ends_with(is_part_of_word) && !text[start + word.len()..].starts_with(is_part_of_word)
    })
}

/// Returns whether a statement behind a text may be handed on. The end of a comment may be anything.
fn may_be_visible(before: &str) -> bool {
    let before = before.trim_end();
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    last_line.contains("//") || ["pub", "crate", ")", "*/"].iter().any(|end| before.ends_with(end))
}

/// Reason that a tree is not read.
enum Stop {
    /// It is none.
    Other,
    TooDeep,
}

/// Reads the tree of one `use`.
struct UseTree<'t> {
    tokens: Tokens<'t>,
    start: usize,
    leaves: Vec<Import>,
}

impl UseTree<'_> {
    fn next(&mut self) -> Result<Token, Stop> {
        self.tokens.next_rust().ok_or(Stop::Other)
    }

    /// Reads a tree from its first token on, behind the path of the trees around it. Returns the token that follows.
    fn read(&mut self, first: Token, before: &str, depth: usize) -> Result<Token, Stop> {
        if depth > MAX_DEPTH {
            return Err(Stop::TooDeep);
        }
        let start = match first {
            Token::Word(span) => span.start,
            Token::Text(_) | Token::Mark(_) => self.tokens.at - 1,
        };
        // The path ends with the last word that others follow.
        let mut path = Span { start, end: start };
        let mut token = first;
        loop {
            match token {
                Token::Word(span) => {
                    let next = self.next()?;
                    if next != Token::Mark(':') {
                        self.leaf(before, path, Some(span));
                        return self.alias(next);
                    }
                    path.end = span.end;
                    token = self.behind_colons()?;
                }
                // A path of all crates.
                Token::Mark(':') => token = self.behind_colons()?,
                Token::Mark('*') => {
                    self.leaf(before, path, None);
                    return self.next();
                }
                Token::Mark('{') => {
                    let before = joined(before, self.tokens.text_of(path));
                    return self.list(&before, depth);
                }
                Token::Text(_) | Token::Mark(_) => return Err(Stop::Other),
            }
        }
    }

    fn list(&mut self, before: &str, depth: usize) -> Result<Token, Stop> {
        loop {
            let mut token = self.next()?;
            if token != Token::Mark('}') {
                token = self.read(token, before, depth + 1)?;
            }
            match token {
                Token::Mark(',') => {}
                Token::Mark('}') => return self.next(),
                Token::Word(_) | Token::Text(_) | Token::Mark(_) => return Err(Stop::Other),
            }
        }
    }

    /// Goes past the second colon.
    fn behind_colons(&mut self) -> Result<Token, Stop> {
        if self.next()? == Token::Mark(':') { self.next() } else { Err(Stop::Other) }
    }

    /// Goes past `as name`.
    fn alias(&mut self, next: Token) -> Result<Token, Stop> {
        if !self.tokens.is_word(next, "as") {
            return Ok(next);
        }
        match self.next()? {
            Token::Word(_) => self.next(),
            Token::Text(_) | Token::Mark(_) => Err(Stop::Other),
        }
    }

    /// Notes a name, or all names of a module.
    fn leaf(&mut self, before: &str, path: Span, named: Option<Span>) {
        let text = self.tokens.text;
        let end = named.map_or(self.tokens.at, |named| named.end);
        let place = Span { start: path.start, end };
        let leaf = import(ImportKind::Static, text, Span { start: self.start, end }, place);
        self.leaves.push(Import {
            module: joined(before, path.of(text)),
            names: named.into_iter().map(|named| name(text, named)).collect(),
            star: named.is_none(),
            ..leaf
        });
    }
}

/// Returns a path behind another, without its white space.
fn joined(before: &str, path: &str) -> String {
    let path: String = path.split_whitespace().collect();
    match (before, path.as_str()) {
        (_, "") => before.to_owned(),
        ("", _) => path,
        (_, _) => format!("{before}::{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_however_they_are_written() {
        let cases: &[(&str, &[&str])] = &[
            ("use crate::a;\nuse crate :: b::c as d;", &["crate a", "crate::b c"]),
            (
                "pub(crate) use crate::{\n    a, // why\n    b::{self, r#c},\n    d::*,\n};",
                &[
                    "crate a",
                    "crate a",
                    "crate::b self",
                    "crate::b self",
                    "crate::b r#c",
                    "crate::b r#c",
                    "crate::d *",
                    "crate::d *",
                ],
            ),
            ("mod a;\nmod b { mod c ; }\nmod /* d */ e;", &["a *", "c *", "e *"]),
            ("fn f() -> impl A + use<'a> {}\n// use the mod; it is there\nreuse!(a);", &[]),
        ];
        for (text, expected) in cases {
            let found = imports(text).expect("it can be told");
            let found: Vec<String> = found
                .iter()
                .map(|import| {
                    let name = import.names.first().map_or("*", |name| name.name.as_str());
                    format!("{} {name}", import.module)
                })
                .collect();
            assert_eq!(found, *expected, "{text}");
        }
        assert!(imports(&format!("use {}a{};", "a::{".repeat(60), "}".repeat(60))).is_none());
    }
}
