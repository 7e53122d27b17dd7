//! Which names a line gives a module, as far as the line alone tells. Most changed definitions keep their names, and
//! those need no parse.

use std::collections::BTreeSet;

use super::super::imports::{Family, is_listing};
use qa_contracts::v1::MentionKind;
use qa_core::packet::{HunkView, Line, Packet};

/// The hunks that may take a name away that other files import.
pub(super) fn taking<'a>(packet: &Packet<'a>, path: &str) -> Vec<HunkView<'a>> {
    let language = match path.parse_family() {
        Some(MentionKind::Python) => PYTHON,
        Some(MentionKind::Ecma) => ECMA,
        // A compiler says it of names, and only files are looked after here.
        Some(
            MentionKind::C
            | MentionKind::CSharp
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Java
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Ruby
            | MentionKind::Rust,
        )
        | None => return Vec::new(),
    };
    if !packet.removed().any(|line| (language.may_bind)(line.text)) {
        return Vec::new();
    }
    let added = packet.hunks().flat_map(|hunk| language.read(&hunk, hunk.added(), language.surely_opens));
    let kept: BTreeSet<&str> = added.flatten().flatten().collect();
    packet.hunks().filter(|hunk| language.takes(hunk, &kept)).collect()
}

/// Rules by which a family of languages binds names in a module.
struct Language {
    /// True for a line that may be part of a binding.
    may_bind: fn(&str) -> bool,
    /// The names of a line that is none of a list; null where more than the line is needed to tell.
    bound: fn(&str) -> Option<Vec<&str>>,
    /// True for a line that may open a list of names. `None` (not visible in the hunk) counts: removed names count in
    /// doubt.
    may_open: fn(Option<&str>) -> bool,
    /// True for a line that certainly opens a list of names. `None` does not count: added names count only if certain.
    surely_opens: fn(Option<&str>) -> bool,
}

const PYTHON: Language = Language {
    may_bind: |text| starts_at_margin(text) || is_listing(text),
    bound: of_python,
    may_open: |opener| opener.is_none_or(|text| text.contains("import")),
    surely_opens: |opener| opener.is_some_and(|text| text.starts_with("from ")),
};
const ECMA: Language = Language {
    may_bind: |text| text.contains("export") || is_listing(text),
    bound: of_ecma,
    may_open: |opener| opener.is_none_or(|text| text.contains("export")),
    surely_opens: |opener| opener.is_some_and(|text| text.starts_with("export ")),
};

impl Language {
    /// Returns whether a hunk may take away other names than those that are kept.
    fn takes(&self, hunk: &HunkView<'_>, kept: &BTreeSet<&str>) -> bool {
        let mut removed = self.read(hunk, hunk.removed(), self.may_open).into_iter();
        removed.any(|names| names.is_none_or(|names| names.iter().any(|name| !kept.contains(name))))
    }

    /// Returns the names bound by each line that follows the hunk's unchanged lines; `None` where a line is not enough
    /// to tell.
    fn read<'a>(
        &self,
        hunk: &HunkView<'a>,
        lines: impl Iterator<Item = Line<'a>>,
        is_of_names: fn(Option<&str>) -> bool,
    ) -> Vec<Option<Vec<&'a str>>> {
        let mut opener = hunk.before().fold(None, |opener, line| opener_after(line.text, opener));
        let mut read = Vec::new();
        for Line { text, .. } in lines {
            if (self.may_bind)(text) {
                let is_member = !starts_at_margin(text) && is_listing(text);
                read.push(match is_member {
                    true if is_of_names(opener) => member(text),
                    true => Some(Vec::new()),
                    false => (self.bound)(text),
                });
            }
            opener = opener_after(text, opener);
        }
        read
    }
}

/// The line that opens what is open after a line, given what was open before it. After an end it is out of sight.
fn opener_after<'a>(text: &'a str, opener: Option<&'a str>) -> Option<&'a str> {
    let code = text.split(['#', '/']).next().unwrap_or(text).trim();
    if code.ends_with(['(', '[', '{', '\\']) {
        Some(text)
    } else {
        opener.filter(|_| !code.starts_with([')', ']', '}']))
    }
}

fn starts_at_margin(text: &str) -> bool {
    text.starts_with(|first: char| !first.is_whitespace())
}

/// The names that a line in a list of imports or exports binds.
fn member(text: &str) -> Option<Vec<&str>> {
    const STATEMENTS: &[&str] = &["for ", "if ", "return ", "switch ", "while "];
    let code = text.split(['#', '/']).next().unwrap_or(text).trim();
    if code.starts_with("...") {
        return None;
    }
    let is_closing = code.starts_with('}') || code.contains(" from ");
    let is_other = code.contains(['"', '.']) || STATEMENTS.iter().any(|word| code.starts_with(word));
    // No name that is imported or exported has a dot or is a text.
    if is_other && !is_closing { Some(Vec::new()) } else { listed(code) }
}

fn of_python(text: &str) -> Option<Vec<&str>> {
    let code = text.split('#').next().unwrap_or(text).trim_end();
    if !starts_at_margin(text) {
        return None;
    }
    if code.is_empty() || code.starts_with('@') {
        return Some(Vec::new());
    }
    if code.starts_with([')', ']', '}']) {
        return (!code.contains('=')).then(Vec::new);
    }
    if code.contains(';') {
        return None;
    }
    let (first, rest) = word(code)?;
    match first {
        "async" => of_python(rest.trim_start()).filter(|_| rest.trim_start().starts_with("def ")),
        "class" | "def" => word(rest.trim_start()).map(|(name, _)| vec![name]),
        "import" => listed(rest).map(|names| names.into_iter().map(first_part).collect()),
        "from" => listed(rest.split_once(" import")?.1),
        "else" | "except" | "finally" | "try" => None,
        name => {
            let rest = rest.trim_start();
            if rest.starts_with(':') {
                return Some(vec![name]);
            }
            // Chained assignments, and comparisons, need more than the line.
            let value = rest.strip_prefix('=')?;
            let several = value.split_once('=').is_some_and(|(next, _)| are_names(next));
            (!several).then(|| vec![name])
        }
    }
}

fn are_names(text: &str) -> bool {
    text.chars().all(|character| is_part(character) || " .,".contains(character))
}

fn of_ecma(text: &str) -> Option<Vec<&str>> {
    const BEFORE: &[&str] = &[
        "abstract",
        "async",
        "class",
        "const",
        "declare",
        "enum",
        "function",
        "interface",
        "let",
        "namespace",
        "type",
        "var",
    ];
    let code = text.trim();
    let mut rest = match code.strip_prefix("export ") {
        Some(rest) => rest,
        // A test's text about exports, and not one.
        None => return (code.starts_with(['"', '\'', '`']) && !code.contains(';')).then(Vec::new),
    };
    if rest.contains("export") {
        return None;
    }
    loop {
        rest = rest.trim_start();
        if rest.starts_with('{') {
            let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
            return if after.trim().is_empty() || after.trim_start().starts_with([';', 'f']) {
                listed(names)
            } else {
                None
            };
        }
        let (first, after) = word(rest)?;
        if !BEFORE.contains(&first) {
            let ends = after.is_empty() || after.starts_with([' ', '(', '<', ':', '=', '{', ';']);
            return (ends && first != "import" && !is_list(after)).then(|| vec![first]);
        }
        rest = after.strip_prefix('*').unwrap_or(after);
    }
}

/// Returns whether a comma is outside all brackets.
fn is_list(code: &str) -> bool {
    let mut depth = 0_i32;
    code.chars().any(|character| {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth <= 0
    })
}

/// The names of a list, each as it is called here; null for everything and for what is no list.
fn listed(code: &str) -> Option<Vec<&str>> {
    let parts = code.split([',', '{', '}', '(', ')', '[', ']', ';', '\\']).map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(|part| {
            let name = part.rsplit(char::is_whitespace).next().unwrap_or(part);
            let words = part.split_whitespace().count();
            let is_named = words == 1 || part.starts_with("type ") || part.contains(" as ");
            let is_name = name.chars().all(|character| is_part(character) || character == '.');
            (is_named && is_name).then_some(name)
        })
        .collect()
}

/// `a` of `a.b`, which is what importing `a.b` binds.
fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn word(code: &str) -> Option<(&str, &str)> {
    let end = code.find(|character| !is_part(character)).unwrap_or(code.len());
    (end > 0).then(|| code.split_at(end))
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_names_it_binds() {
        let python: &[(&str, &[&str])] = &[
            ("def a(b, c=1):", &["a"]),
            ("async def a():", &["a"]),
            ("class A(B, c=D):", &["A"]),
            ("A: list[str] = [", &["A"]),
            ("A = f(1)  # b = c", &["A"]),
            ("from .a import b, c as d", &["b", "d"]),
            ("from .a import (", &[]),
            ("import a.b, c as d", &["a", "d"]),
            ("@a(b=c)", &[]),
            (") -> A:", &[]),
        ];
        let ecma: &[(&str, &[&str])] = &[
            ("export const a: B = c(d, e)", &["a"]),
            ("export async function* a<T>(", &["a"]),
            ("export default class A {", &["default"]),
            ("export declare abstract class A", &["A"]),
            ("export type A<T> = B", &["A"]),
            ("export { a, b as c, type D } from './e'", &["a", "c", "D"]),
            ("export type { A } from './e'", &["A"]),
            ("`export { a }`,", &[]),
        ];
        let members: &[(&str, &[&str])] = &[
            ("    a, b as c,  # d", &["a", "c"]),
            ("  type A, b as c,", &["A", "c"]),
            ("  a.b, c,", &[]),
            ("    \"a\",", &[]),
            ("  if (a) {", &[]),
        ];
        for (text, names) in python {
            assert_eq!(of_python(text).as_deref(), Some(*names), "{text}");
        }
        for (text, names) in ecma {
            assert_eq!(of_ecma(text).as_deref(), Some(*names), "{text}");
        }
        for (text, names) in members {
            assert_eq!(member(text).as_deref(), Some(*names), "{text}");
        }
    }

    #[test]
    fn what_opens_a_list_is_out_of_sight_after_an_end() {
        let after =
            |lines: &[&'static str]| lines.iter().fold(None, |opener, line| opener_after(line, opener));
        assert_eq!(after(&["from .a import (  # b", "    c,"]), Some("from .a import (  # b"));
        assert_eq!(after(&["module.exports = {", "  a: {", "    b,"]), Some("  a: {"));
        assert_eq!(after(&["module.exports = {", "  a: {", "    b,", "  },", "  c,"]), None);
        assert_eq!(after(&["f(", "  a", "), {", "  b,"]), Some("), {"));
        let opens = |opener| ((PYTHON.may_open)(opener), (PYTHON.surely_opens)(opener));
        assert_eq!(opens(Some("from .a import (")), (true, true));
        assert_eq!(opens(Some("    x = importlib.import_module(")), (true, false));
        assert_eq!(opens(Some("LISTED = [")), (false, false));
        assert_eq!(opens(None), (true, false));
    }

    #[test]
    fn what_one_line_does_not_tell_is_left_to_the_parse() {
        let python = [
            "a, b = 1, 2",
            "a = b = 1",
            "a == b",
            "from a import *",
            "try:",
            "except A as b:",
            "if a: b = 1",
            "    def a():",
            "for a in b:",
            "a = 1; b = 2",
            ") = a",
            "with a as b:",
            "words of a text",
        ];
        let ecma = [
            "export * from './a'",
            "export const { a, b } = c",
            "export const a = 1, b = 2",
            "export let a = 1, b",
            "export const a = 1; export const b = 2",
            "'use strict'; exports.a = b",
            "export import a = b.c",
            "exports.a = b",
            "module.exports = { a }",
            "    export(a)",
            "export const [a] = b",
        ];
        for text in python {
            assert_eq!(of_python(text), None, "{text}");
        }
        for text in ecma {
            assert_eq!(of_ecma(text), None, "{text}");
        }
    }
}
