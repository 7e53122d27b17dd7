//! JavaScript and TypeScript.

use super::{Body, is_part_of_word, keep};

/// The bodies of functions that say nothing of their module; null where that cannot be told, as where markup stands
/// among the code.
pub(super) fn bodies(text: &str) -> Option<Vec<Body>> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        last: Last::Mark(b';'),
        open: vec![Open { kind: Kind::File, ..Open::default() }],
        bodies: Vec::new(),
    };
    if text.starts_with("#!") {
        reader.at = memchr::memchr(b'\n', reader.bytes)?;
    }
    while reader.at < text.len() {
        reader.token()?;
    }
    (reader.open.len() == 1).then_some(reader.bodies)
}

/// What stands before a place, spaces and comments aside.
#[derive(Clone, Copy)]
enum Last {
    Word {
        is_keyword: bool,
    },
    /// A string, a template or a regular expression.
    Value,
    Arrow,
    /// The end of a list in parentheses, and whether it is what a function takes or is given.
    Given(bool),
    Mark(u8),
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    File,
    Braces,
    Brackets,
    /// What a keyword such as `if` asks for.
    Condition,
    Parentheses,
    Template,
}

/// Something that is not closed.
#[derive(Clone, Copy, Default)]
struct Open {
    kind: Kind,
    /// Where the body of a function begins.
    body: Option<usize>,
    /// Whether something in it may say something of the module.
    tells: bool,
    /// Whether what comes may be the type of what a function returns.
    is_typed: bool,
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    last: Last,
    open: Vec<Open>,
    bodies: Vec<Body>,
}

impl Reader<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Goes past one word, string, comment or mark.
    fn token(&mut self) -> Option<()> {
        let byte = self.byte(self.at)?;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
            b'/' => return self.slash(),
            b'"' | b'\'' => return self.string(byte),
            b'`' => {
                self.at += 1;
                return self.template();
            }
            b'(' => {
                let kind = match self.last {
                    Last::Word { is_keyword: true } => Kind::Condition,
                    _ => Kind::Parentheses,
                };
                self.begin(kind, None);
            }
            b'[' => self.begin(Kind::Brackets, None),
            b'{' => {
                let body = self.opens_body().then_some(self.at + 1);
                self.begin(Kind::Braces, body);
            }
            b')' | b']' | b'}' => return self.end(byte),
            b'=' if self.byte(self.at + 1) == Some(b'>') => {
                self.at += 2;
                self.last = Last::Arrow;
            }
            _ if is_part_of_word(byte) => self.word(),
            _ => {
                if let Some(open) = self.open.last_mut() {
                    match (byte, self.last) {
                        (b':', Last::Given(true)) => open.is_typed = true,
                        (b';' | b',' | b'=' | b'?', _) => open.is_typed = false,
                        _ => {}
                    }
                }
                self.at += 1;
                self.last = Last::Mark(byte);
            }
        }
        Some(())
    }

    fn begin(&mut self, kind: Kind, body: Option<usize>) {
        self.open.push(Open { kind, body, ..Open::default() });
        self.last = Last::Mark(self.bytes[self.at]);
        self.at += 1;
    }

    fn end(&mut self, byte: u8) -> Option<()> {
        let closed = self.open.pop()?;
        let outer = self.open.last_mut()?;
        outer.tells |= closed.tells;
        let fits = match closed.kind {
            Kind::File => false,
            Kind::Brackets => byte == b']',
            Kind::Condition | Kind::Parentheses => byte == b')',
            Kind::Braces | Kind::Template => byte == b'}',
        };
        if !fits {
            return None;
        }
        if let Some(start) = closed.body {
            outer.is_typed = false;
            if !closed.tells {
                keep(&mut self.bodies, Body { start, end: self.at, instead: String::new() });
            }
        }
        self.at += 1;
        self.last = match closed.kind {
            Kind::Template => return self.template(),
            Kind::Condition => Last::Given(false),
            Kind::Parentheses => Last::Given(true),
            Kind::File | Kind::Braces | Kind::Brackets => Last::Mark(byte),
        };
        Some(())
    }

    /// Whether a brace begins what a function does: behind what it takes, behind an arrow, or behind the type of what it
    /// returns. Where it is something else, such as a type or a class, no name of the module stands there either.
    fn opens_body(&self) -> bool {
        let is_typed = self.open.last().is_some_and(|open| open.is_typed);
        match self.last {
            Last::Arrow | Last::Given(true) => true,
            Last::Word { is_keyword } => is_typed && !is_keyword,
            Last::Value => is_typed,
            Last::Mark(mark) => is_typed && matches!(mark, b'>' | b']' | b'}'),
            Last::Given(false) => false,
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.byte(self.at).is_some_and(is_part_of_word) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let is_member = matches!(self.last, Last::Mark(b'.'));
        let Some(open) = self.open.last_mut() else { return };
        // What a syntax tree of the whole is asked for inside of functions.
        open.tells |= match word {
            b"import" => !self.bytes[self.at..].starts_with(b"."),
            b"require" => true,
            _ => word.starts_with(b"export") || word == b"__exportStar",
        };
        let declares = matches!(
            word,
            b"abstract"
                | b"class"
                | b"const"
                | b"declare"
                | b"enum"
                | b"export"
                | b"function"
                | b"import"
                | b"interface"
                | b"let"
                | b"namespace"
                | b"type"
                | b"var"
        );
        open.is_typed &= !declares;
        let is_keyword = !is_member && KEYWORDS.binary_search(&word).is_ok();
        self.last = Last::Word { is_keyword };
    }

    fn slash(&mut self) -> Option<()> {
        let rest = &self.bytes[self.at..];
        match self.byte(self.at + 1) {
            Some(b'/') => self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            Some(b'*') => self.at += memchr::memmem::find(&rest[2..], b"*/")? + 4,
            _ => match self.last {
                // What markup closes, and what only a parse can tell.
                Last::Mark(b'<' | b'}') => return None,
                Last::Word { is_keyword: false } | Last::Value | Last::Given(true) | Last::Mark(b']') => {
                    self.at += 1;
                    self.last = Last::Mark(b'/');
                }
                _ => return self.pattern(),
            },
        }
        Some(())
    }

    /// Goes past a regular expression.
    fn pattern(&mut self) -> Option<()> {
        let mut is_class = false;
        loop {
            self.at += 1;
            match self.byte(self.at)? {
                b'\\' => self.at += 1,
                b'\n' => return None,
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => break,
                _ => {}
            }
        }
        self.at += 1;
        self.last = Last::Value;
        Some(())
    }

    fn string(&mut self, quote: u8) -> Option<()> {
        loop {
            self.at += 1;
            match self.byte(self.at)? {
                b'\\' => self.at += 1,
                b'\n' => return None,
                byte if byte == quote => break,
                _ => {}
            }
        }
        self.at += 1;
        self.last = Last::Value;
        Some(())
    }

    /// Goes on in a template, to its end or to a place that is computed.
    fn template(&mut self) -> Option<()> {
        loop {
            match self.byte(self.at)? {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    self.last = Last::Value;
                    return Some(());
                }
                b'$' if self.byte(self.at + 1) == Some(b'{') => {
                    self.at += 1;
                    self.begin(Kind::Template, None);
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }
}

/// Words behind which no value ends, sorted.
const KEYWORDS: &[&[u8]] = &[
    b"await",
    b"case",
    b"catch",
    b"delete",
    b"do",
    b"else",
    b"for",
    b"if",
    b"in",
    b"instanceof",
    b"is",
    b"keyof",
    b"new",
    b"of",
    b"return",
    b"switch",
    b"throw",
    b"typeof",
    b"void",
    b"while",
    b"with",
    b"yield",
];
