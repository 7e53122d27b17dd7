//! Python.

use super::{Body, is_part_of_word, keep};

/// F-strings inside of each other.
const MOST_NESTED: usize = 20;

/// The bodies of functions and classes that say nothing of their module; null where that cannot be told.
pub(super) fn bodies(text: &str) -> Option<Vec<Body>> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, tells: false };
    let mut bodies = Vec::new();
    let mut open: Vec<Definition> = Vec::new();
    let mut levels = vec![0];
    let (mut end, mut opens) = (0, false);
    while reader.at < text.len() {
        let start = reader.at;
        let indentation = reader.indentation()?;
        if !reader.is_code() {
            reader.skip_line();
            continue;
        }
        let is_deeper = levels.last().is_some_and(|level| *level < indentation);
        if is_deeper {
            levels.push(indentation);
        }
        while levels.pop_if(|level| *level > indentation).is_some() {}
        // What is indented in another way is no Python.
        if is_deeper != opens || levels.last() != Some(&indentation) {
            return None;
        }
        close(text, &mut open, &mut bodies, indentation, end);
        if let Some(definition) = open.last_mut() {
            definition.first.get_or_insert((start, reader.at));
        }
        let is_definition = reader.is_definition();
        reader.tells = false;
        opens = reader.statement()?;
        end = reader.at;
        if let Some(definition) = open.last_mut() {
            definition.tells |= reader.tells;
        }
        if is_definition && opens {
            open.push(Definition { indentation, start: end, first: None, tells: false });
        }
    }
    close(text, &mut open, &mut bodies, 0, end);
    Some(bodies)
}

/// A function or a class that is not over.
struct Definition {
    indentation: usize,
    start: usize,
    /// Where the first statement's line begins, and the statement.
    first: Option<(usize, usize)>,
    /// Whether something in it may say something of the module.
    tells: bool,
}

/// Ends the definitions that a statement of that indentation is not part of.
fn close(text: &str, open: &mut Vec<Definition>, bodies: &mut Vec<Body>, indentation: usize, end: usize) {
    while let Some(definition) = open.pop_if(|definition| definition.indentation >= indentation) {
        if definition.tells {
            if let Some(outer) = open.last_mut() {
                outer.tells = true;
            }
        } else if let Some((line, statement)) = definition.first {
            // A line's end is part of what it ends.
            let end = end - usize::from(text[..end].ends_with('\n'));
            let instead = format!("{}0", &text[line..statement]);
            keep(bodies, Body { start: definition.start, end, instead });
        }
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Whether something was read that may say something of a module from inside of a function.
    tells: bool,
}

impl Reader<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// How far the line is indented.
    fn indentation(&mut self) -> Option<usize> {
        let mut width = 0;
        loop {
            match self.byte(self.at) {
                Some(b' ') => width += 1,
                Some(b'\t') => width = (width / 8 + 1) * 8,
                // A form feed begins the indentation anew.
                Some(b'\x0c') => return None,
                _ => return Some(width),
            }
            self.at += 1;
        }
    }

    fn is_code(&self) -> bool {
        !matches!(self.byte(self.at), None | Some(b'#' | b'\n' | b'\r'))
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |length| length + 1);
    }

    /// Whether a function or a class begins here, whose own names are none of the module.
    fn is_definition(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let rest = rest.strip_prefix(b"async").map_or(rest, |rest| rest.trim_ascii_start());
        let after = rest.strip_prefix(b"def").or_else(|| rest.strip_prefix(b"class"));
        after.is_some_and(|rest| rest.starts_with(b" ") || rest.starts_with(b"\t"))
    }

    /// Goes past a statement and its line's end; whether it ends with a colon, so that something belongs to it.
    fn statement(&mut self) -> Option<bool> {
        let mut depth = 0_usize;
        let mut last = 0;
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'\n' if depth == 0 => {
                    self.at += 1;
                    break;
                }
                b'#' => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    continue;
                }
                b'\\' => self.continuation()?,
                b' ' | b'\t' | b'\n' => self.at += 1,
                _ => {
                    depth = match byte {
                        b'(' | b'[' | b'{' => depth + 1,
                        b')' | b']' | b'}' => depth.checked_sub(1)?,
                        _ => depth,
                    };
                    self.token(0)?;
                    if byte != b'\r' {
                        last = byte;
                    }
                }
            }
        }
        (depth == 0).then_some(last == b':')
    }

    /// Goes past one word, string or mark.
    fn token(&mut self, nested: usize) -> Option<()> {
        let byte = self.byte(self.at)?;
        match byte {
            b'"' | b'\'' => return self.string(b"", nested),
            b'\r' if self.byte(self.at + 1) != Some(b'\n') => return None,
            b':' if self.byte(self.at + 1) == Some(b'=') => self.tells = true,
            _ if is_part_of_word(byte) => return self.word(nested),
            _ => {}
        }
        self.at += 1;
        Some(())
    }

    /// Goes past a line's end that ends no statement.
    fn continuation(&mut self) -> Option<()> {
        let rest = &self.bytes[self.at + 1..];
        self.at += if rest.starts_with(b"\n") {
            2
        } else if rest.starts_with(b"\r\n") {
            3
        } else {
            return None;
        };
        Some(())
    }

    fn word(&mut self, nested: usize) -> Option<()> {
        let start = self.at;
        while self.byte(self.at).is_some_and(is_part_of_word) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let is_prefix = word.len() <= 3 && word.iter().all(|letter| b"bfrtuBFRTU".contains(letter));
        if is_prefix && matches!(self.byte(self.at), Some(b'"' | b'\'')) {
            return self.string(word, nested);
        }
        // What a syntax tree of the whole is asked for inside of functions.
        self.tells |= matches!(
            word,
            b"__import__"
                | b"__name__"
                | b"__path__"
                | b"exec"
                | b"extend_path"
                | b"global"
                | b"globals"
                | b"import"
                | b"import_module"
                | b"meta_path"
                | b"modules"
                | b"path_hooks"
                | b"setattr"
        );
        Some(())
    }

    fn string(&mut self, prefix: &[u8], nested: usize) -> Option<()> {
        let quote = self.byte(self.at)?;
        let rest = &self.bytes[self.at..];
        let long = rest.len() >= 3 && rest[1] == quote && rest[2] == quote;
        let width = if long { 3 } else { 1 };
        let is_end = |reader: &Self, at: usize| {
            let rest = &reader.bytes[at..];
            rest.len() >= width && rest[..width].iter().all(|byte| *byte == quote)
        };
        let has = |letters: [u8; 2]| prefix.iter().any(|letter| letters.contains(letter));
        let (is_raw, is_formatted) = (has(*b"rR"), has(*b"fF") || has(*b"tT"));
        self.at += width;
        loop {
            let byte = self.byte(self.at)?;
            match byte {
                _ if byte == quote && is_end(self, self.at) => {
                    self.at += width;
                    return Some(());
                }
                b'\n' if !long => return None,
                b'\\' => {
                    let rest = &self.bytes[self.at + 1..];
                    let is_named = is_formatted && !is_raw && rest.starts_with(b"N{");
                    self.at += if is_named {
                        2 + memchr::memchr(b'}', rest)?
                    } else if rest.starts_with(b"\r\n") {
                        3
                    } else if is_formatted && rest.starts_with(b"{") {
                        1
                    } else {
                        2
                    };
                }
                b'{' if is_formatted && self.byte(self.at + 1) == Some(b'{') => self.at += 2,
                b'{' if is_formatted => self.field(nested)?,
                _ => self.at += 1,
            }
        }
    }

    /// Goes past a field of a formatted string: an expression and how it is shown, which may have fields again.
    fn field(&mut self, nested: usize) -> Option<()> {
        if nested > MOST_NESTED {
            return None;
        }
        self.at += 1;
        let mut depth = 0_usize;
        loop {
            match self.byte(self.at)? {
                b'}' if depth == 0 => break,
                b':' if depth == 0 => return self.format(nested),
                b'#' => return None,
                byte => {
                    depth = match byte {
                        b'(' | b'[' | b'{' => depth + 1,
                        b')' | b']' | b'}' => depth.checked_sub(1)?,
                        _ => depth,
                    };
                    self.token(nested + 1)?;
                }
            }
        }
        self.at += 1;
        Some(())
    }

    fn format(&mut self, nested: usize) -> Option<()> {
        loop {
            match self.byte(self.at)? {
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                b'{' => self.field(nested + 1)?,
                b'\n' => return None,
                _ => self.at += 1,
            }
        }
    }
}
