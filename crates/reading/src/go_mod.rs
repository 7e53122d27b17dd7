//! Reads go.mod and go.work: directives, alone or in blocks.

use crate::documents::ReadError;
use crate::lines::{Line, Part, lines};
use crate::syntax::Span;

/// Line of a directive: `require example.org/a v1.0.0`, or a line of a block `require ( … )`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// `module`, `go`, `require`, `replace`, `exclude`, `use` and others.
    pub verb: String,
    /// Words behind the verb without quotes; `=>` is one.
    pub words: Vec<Part>,
    /// `// indirect`
    pub indirect: bool,
    pub span: Span,
}

/// The module or directory that a `replace` directive puts in a module's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement<'d> {
    pub module: &'d Part,
    /// Version that is replaced; none for all of them.
    pub version: Option<&'d Part>,
    /// Folder or module.
    pub by: &'d Part,
    pub by_version: Option<&'d Part>,
}

/// Reads the directives of a file, in order.
///
/// # Errors
/// A block or a text without an end, or a line that Go would refuse.
pub fn directives(text: &str) -> Result<Vec<Directive>, ReadError> {
    let mut found = Vec::new();
    let mut block: Option<Part> = None;
    for line in lines(text) {
        let (words, comment) = words(line)?;
        let indirect = comment.split(';').next().unwrap_or("").trim() == "indirect";
        let Some((first, rest)) = words.split_first() else { continue };
        match (&block, first.text.as_str()) {
            (Some(_), ")") if rest.is_empty() => block = None,
            (Some(verb), _) => {
                let verb = verb.text.clone();
                found.push(Directive { verb, words, indirect, span: line.span() });
            }
            (None, ")" | "(") => return Err(line.error("expected a directive")),
            (None, _) if rest.first().is_some_and(|word| word.text == "(") => match &rest[1..] {
                [] => block = Some(first.clone()),
                [end] if end.text == ")" => {}
                [..] => return Err(line.error("expected the end of the line behind `(`")),
            },
            (None, verb) => {
                let (verb, words) = (verb.to_owned(), rest.to_vec());
                found.push(Directive { verb, words, indirect, span: line.span() });
            }
        }
    }
    match block {
        Some(verb) => {
            let message = format!("the block of `{}` has no end", verb.text);
            Err(ReadError::Syntax { message, at: verb.span.start })
        }
        None => Ok(found),
    }
}

impl Directive {
    /// Parts of a `replace`.
    pub fn replacement(&self) -> Option<Replacement<'_>> {
        let arrow = self.words.iter().position(|word| word.text == "=>")?;
        let (left, right) = (&self.words[..arrow], &self.words[arrow + 1..]);
        let (module, by) = (left.first()?, right.first()?);
        Some(Replacement { module, version: left.get(1), by, by_version: right.get(1) })
    }
}

/// Splits a line into words and the comment behind them. A parenthesis and an arrow are words of their own.
fn words(line: Line<'_>) -> Result<(Vec<Part>, &str), ReadError> {
    let mut found = Vec::new();
    let mut rest = line.text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok((found, "")) };
        if let Some(comment) = rest.strip_prefix("//") {
            return Ok((found, comment));
        }
        let length = match first {
            '"' | '`' => {
                let Some(end) = rest[1..].find(first) else { return Err(line.error("a quote has no end")) };
                found.push(line.part(&rest[1..=end]));
                rest = &rest[end + 2..];
                continue;
            }
            '(' | ')' | ',' | '[' | ']' => 1,
            _ => {
                let end = rest.find(|next: char| next.is_whitespace() || "(),[]\"`".contains(next));
                let end = end.unwrap_or(rest.len());
                rest[..end].find("//").unwrap_or(end)
            }
        };
        found.push(line.part(&rest[..length]));
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let shown: Vec<String> = directives(text)
            .unwrap()
            .iter()
            .map(|directive| {
                let words: Vec<&str> = directive.words.iter().map(|word| word.text.as_str()).collect();
                let mark = if directive.indirect { " indirect" } else { "" };
                format!("{} {}{mark}", directive.verb, words.join(" "))
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn lines_and_blocks_are_one_list() {
        let expected =
            ["module e.org/m", "go 1.22", "require e.org/a v1.0.0", "require e.org/b v2.0.0 indirect"];
        check(
            "module e.org/m // c\ngo 1.22\nrequire (\n\te.org/a v1.0.0\n\te.org/b v2.0.0 // indirect\n)\n",
            &expected,
        );
        check(
            "module \"e.org/m\"\r\ngo 1.22\nrequire\te.org/a   v1.0.0\nrequire `e.org/b` v2.0.0 // indirect; c\nexclude ()\n",
            &expected,
        );
    }

    #[test]
    fn a_replacement_has_two_sides() {
        let found = directives("replace e.org/a v1.0.0 => ../a\nreplace (\n b => c v2\n)\n").unwrap();
        let sides: Vec<_> = found.iter().filter_map(Directive::replacement).collect();
        assert_eq!((sides[0].version.unwrap().text.as_str(), sides[0].by.text.as_str()), ("v1.0.0", "../a"));
        assert_eq!((sides[1].version, sides[1].by_version.unwrap().text.as_str()), (None, "v2"));
    }

    #[test]
    fn what_go_refuses_is_an_error() {
        for text in ["require (\n", ")\n", "module \"a\n", "require ( a v1\n"] {
            assert!(directives(text).is_err(), "{text}");
        }
    }
}
