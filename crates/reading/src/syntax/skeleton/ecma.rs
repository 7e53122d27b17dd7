//! JavaScript and TypeScript.

use std::collections::BTreeSet;

use super::{Body, is_part_of_word, keep};

/// What stands in braces and says nothing of the module; null where that cannot be told, as where markup stands among
/// the code.
pub(super) fn bodies(text: &str) -> Option<Vec<Body>> {
    Some(read(text, BTreeSet::new(), &[])?.bodies)
}

/// The same, where nothing outside of them is done again and again; else null.
pub(super) fn bodies_outside_loops(text: &str) -> Option<Vec<Body>> {
    let Reader { bodies, loops, .. } = read(text, BTreeSet::new(), &[])?;
    let is_inside = |at: &usize| {
        let before = bodies.partition_point(|body| body.start <= *at);
        before > 0 && *at < bodies[before - 1].end
    };
    loops.iter().all(is_inside).then_some(bodies)
}

/// What is known of names that stand in bodies.
#[derive(Debug, Default)]
pub(super) struct Used<'t> {
    /// Those that stand for a value somewhere, beyond doubt.
    pub(super) values: BTreeSet<&'t str>,
    /// Those that stand somewhere, each with the positions of the bodies.
    all: BTreeSet<(&'t str, usize)>,
}

impl Used<'_> {
    /// The positions of the bodies that a name stands in.
    pub(super) fn bodies_with(&self, name: &str) -> Vec<usize> {
        self.all.range((name, 0)..=(name, usize::MAX)).map(|(_, body)| *body).collect()
    }
}

/// Which of some names stand in the bodies of a text.
pub(super) fn used<'t>(text: &'t str, names: BTreeSet<&'t str>, bodies: &[Body]) -> Option<Used<'t>> {
    Some(read(text, names, bodies)?.used)
}

fn read<'t, 'b>(text: &'t str, names: BTreeSet<&'t str>, known: &'b [Body]) -> Option<Reader<'t, 'b>> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        last: Last::Mark(b';'),
        last_end: 0,
        open: vec![Open { kind: Kind::File, ..Open::default() }],
        bodies: Vec::new(),
        names,
        known,
        passed: 0,
        used: Used::default(),
        loops: Vec::new(),
    };
    if text.starts_with("#!") {
        reader.at = memchr::memchr(b'\n', reader.bytes)?;
    }
    while reader.at < text.len() {
        reader.token()?;
    }
    (reader.open.len() == 1).then_some(reader)
}

/// What stands before a place, spaces and comments aside.
#[derive(Clone, Copy)]
enum Last {
    Word(Word),
    /// A string, a template or a regular expression.
    Value,
    Arrow,
    /// The end of a list in parentheses, and whether it is what a function takes or is given.
    Given(bool),
    Mark(u8),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// One that a value follows and no type.
    BeforeValue,
    /// One that something in parentheses follows, and then a statement.
    Condition,
    /// Another behind which no value ends.
    Keyword,
    /// One that a list of names may follow.
    Declaring,
    Name,
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

struct Reader<'t, 'b> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    last: Last,
    /// Where that ends.
    last_end: usize,
    open: Vec<Open>,
    bodies: Vec<Body>,
    /// The names that are looked for.
    names: BTreeSet<&'t str>,
    /// Where they are looked for, and how many of that are behind.
    known: &'b [Body],
    passed: usize,
    used: Used<'t>,
    /// Where loops begin.
    loops: Vec<usize>,
}

impl<'t> Reader<'t, '_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Goes past one word, string, comment or mark.
    fn token(&mut self) -> Option<()> {
        let byte = self.byte(self.at)?;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                self.at += 1;
                return Some(());
            }
            // A part of a name may be escaped, and hides which one it is.
            b'\\' => return None,
            b'/' if matches!(self.byte(self.at + 1), Some(b'/' | b'*')) => return self.comment(),
            b'/' => self.slash()?,
            b'"' | b'\'' => self.string(byte)?,
            b'`' => {
                self.at += 1;
                self.template()?;
            }
            b'(' => {
                let is_condition = matches!(self.last, Last::Word(Word::Condition));
                self.begin(if is_condition { Kind::Condition } else { Kind::Parentheses }, None);
            }
            b'[' => self.begin(Kind::Brackets, None),
            b'{' => {
                let body = self.opens_body().then_some(self.at + 1);
                self.begin(Kind::Braces, body);
            }
            b')' | b']' | b'}' => self.end(byte)?,
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
        self.last_end = self.at;
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

    /// Whether a brace begins something that no name of the module stands in: what a function does, a class, a type, an
    /// object. Where names may be taken from an object or a module it is none.
    fn opens_body(&self) -> bool {
        let is_typed = self.open.last().is_some_and(|open| open.is_typed);
        match self.last {
            Last::Arrow | Last::Given(_) | Last::Word(Word::Name) => true,
            Last::Word(Word::BeforeValue | Word::Condition | Word::Keyword | Word::Declaring) => false,
            Last::Value => is_typed,
            Last::Mark(b'=' | b'(' | b'|' | b'&') => true,
            Last::Mark(mark) => is_typed && matches!(mark, b'>' | b']' | b'}'),
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.byte(self.at).is_some_and(is_part_of_word) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let is_spread = self.bytes[..self.last_end].ends_with(b"..");
        let is_member = matches!(self.last, Last::Mark(b'.' | b'#')) && !is_spread;
        if matches!(word, b"do" | b"for" | b"while") && !is_member {
            self.loops.push(start);
        }
        if !self.names.is_empty() && !is_member {
            self.note(start);
        }
        let Some(open) = self.open.last_mut() else { return };
        // What a syntax tree of the whole is asked for inside of functions.
        open.tells |= match word {
            b"import" => !self.bytes[self.at..].starts_with(b"."),
            b"require" => true,
            _ => word.starts_with(b"export") || word == b"__exportStar",
        };
        let kind = match word {
            _ if is_member => Word::Name,
            b"await" | b"case" | b"delete" | b"instanceof" | b"new" | b"return" | b"throw" | b"yield" => {
                Word::BeforeValue
            }
            b"catch" | b"for" | b"if" | b"switch" | b"while" | b"with" => Word::Condition,
            b"do" | b"else" | b"in" | b"is" | b"keyof" | b"of" | b"typeof" | b"void" => Word::Keyword,
            b"const" | b"export" | b"import" | b"let" | b"type" | b"var" => Word::Declaring,
            _ => Word::Name,
        };
        let declares = matches!(
            word,
            b"abstract" | b"class" | b"declare" | b"enum" | b"function" | b"interface" | b"namespace"
        );
        open.is_typed &= kind != Word::Declaring && !declares;
        self.last = Last::Word(kind);
    }

    /// Notes a word that ends here, if it is one of the names and stands in a body.
    fn note(&mut self, start: usize) {
        self.passed += self.known[self.passed..].iter().take_while(|body| body.end <= start).count();
        if self.known.get(self.passed).is_none_or(|body| start < body.start) {
            return;
        }
        let Some(name) = self.names.get(&self.text[start..self.at]).copied() else { return };
        self.used.all.insert((name, self.passed));
        if self.is_value(start) {
            self.used.values.insert(name);
        }
    }

    /// Whether the word that ends here is surely a value, by what stands around it: an operand, or something that is
    /// called or has a method that is. What is listed or named may be a type, a parameter of one, or a method.
    fn is_value(&self, start: usize) -> bool {
        const OPERATORS: &[&[u8]] = &[b"!=", b"&&", b"==", b"??", b"||"];
        let (before, word, after) =
            (&self.bytes[..self.last_end], &self.bytes[start..self.at], &self.bytes[self.at..]);
        let is_behind = match self.last {
            Last::Word(Word::BeforeValue) | Last::Mark(b'!' | b'+' | b'-' | b'/' | b'%') => true,
            Last::Mark(_) => OPERATORS.iter().any(|operator| before.ends_with(operator)),
            Last::Word(_) | Last::Value | Last::Arrow | Last::Given(_) => false,
        };
        let has_called = || {
            let mut rest = after;
            while let Some(member) = rest.strip_prefix(b".") {
                let length = member.iter().take_while(|byte| is_part_of_word(**byte)).count();
                if length == 0 {
                    return false;
                }
                rest = &member[length..];
            }
            rest.len() < after.len() && rest.starts_with(b"(")
        };
        // A method has its name at the beginning of a statement or behind another one.
        let is_called = || {
            let is_method =
                self.open.last().is_none_or(|open| matches!(open.kind, Kind::Braces | Kind::File));
            let follows = &self.bytes[self.last_end..start];
            // Words of the language may be names.
            let is_plain = !matches!(word, b"async" | b"infer" | b"keyof" | b"readonly" | b"unique");
            is_plain
                && after.starts_with(b"(")
                && match self.last {
                    Last::Arrow | Last::Mark(b'=' | b':') => true,
                    Last::Mark(b'?') => !follows.contains(&b'\n'),
                    Last::Mark(_) => !is_method,
                    Last::Word(_) | Last::Value | Last::Given(_) => false,
                }
        };
        // What stands behind `as` is a type, with all that is joined to it.
        let is_operand = || {
            let next = after.trim_ascii_start();
            let is_first = matches!(self.last, Last::Mark(b'(' | b'[' | b'{' | b';' | b',' | b'=' | b'?'));
            is_first
                && (next.starts_with(b"?.") || OPERATORS.iter().any(|operator| next.starts_with(operator)))
        };
        is_behind || is_called() || has_called() || is_operand()
    }

    fn comment(&mut self) -> Option<()> {
        let rest = &self.bytes[self.at..];
        self.at += if rest.starts_with(b"//") {
            memchr::memchr(b'\n', rest).unwrap_or(rest.len())
        } else {
            memchr::memmem::find(&rest[2..], b"*/")? + 4
        };
        Some(())
    }

    fn slash(&mut self) -> Option<()> {
        match self.last {
            // What markup closes, what may have ended a value, and what only a parse can tell.
            Last::Mark(b'<' | b'}' | b'!' | b'+' | b'-' | b'.') | Last::Word(Word::Keyword) => None,
            Last::Word(Word::Name | Word::Declaring) | Last::Value | Last::Given(true) | Last::Mark(b']') => {
                self.at += 1;
                self.last = Last::Mark(b'/');
                Some(())
            }
            Last::Word(Word::BeforeValue | Word::Condition)
            | Last::Arrow
            | Last::Given(false)
            | Last::Mark(_) => self.pattern(),
        }
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
