//! Python.

use super::super::outline::{Import, ImportKind, ImportedName, Span};
use super::tokens::{Token, Tokens, is_part_of_word};
use super::{Budget, import, name};

type Reader = fn(&mut Tokens<'_>, usize) -> Option<Vec<Import>>;

pub(super) fn imports(text: &str) -> Option<Vec<Import>> {
    let mut budget = Budget::new(text);
    let mut found = Vec::new();
    let readers: [(&str, Reader); 2] = [("import", plain), ("from", of_names)];
    for (word, read) in readers {
        let mut line = 0;
        let mut known = 0;
        for (start, _) in text.match_indices(word) {
            let end = start + word.len();
            if let Some(ending) = text[known..start].rfind(['\n', '\r']) {
                line = known + ending + 1;
            }
            known = start;
            let Some(top_level) = begins_statement(text, line, start) else { continue };
            if text[end..].starts_with(is_part_of_word) {
                continue;
            }
            let mut tokens = Tokens { text, at: end };
            let imports = read(&mut tokens, start).unwrap_or_default();
            budget.spend(tokens.at - start)?;
            found.extend(imports.into_iter().map(|import| Import { top_level, ..import }));
        }
    }
    found.sort_by_key(|import| import.module_span);
    Some(found)
}

/// Returns whether a statement that begins at `at`, in the line that begins at `line`, may be one of the module
/// itself: an indented one, or one behind a colon, is not. Returns `None` where no statement can begin.
fn begins_statement(text: &str, line: usize, at: usize) -> Option<bool> {
    let before = text[line..at].trim_end_matches([' ', '\t', '\u{c}', '\u{feff}']);
    if before.is_empty() {
        // A form feed begins the indentation anew.
        let lead = text[line..at].rsplit('\u{c}').next().unwrap_or_default();
        let goes_on = text[..line].trim_end_matches(['\n', '\r']).ends_with('\\');
        return Some(goes_on || !lead.starts_with([' ', '\t']));
    }
    match before.chars().next_back() {
        Some(';') => Some(true),
        Some(':') => Some(false),
        _ => None,
    }
}

/// `import a.b as c, d`.
fn plain(tokens: &mut Tokens<'_>, start: usize) -> Option<Vec<Import>> {
    let mut modules = Vec::new();
    loop {
        let first = tokens.next_python(false);
        let (module, next) = dotted(tokens, first, false)?;
        let next = alias(tokens, next, false)?;
        let span = Span { start, end: tokens.at };
        modules.push(import(ImportKind::Static, tokens.text, span, module));
        if next != Token::Mark(',') {
            return ends(next).then_some(modules);
        }
    }
}

/// `from .a import b as c, d`, `from a import (b, c)`, `from a import *`.
fn of_names(tokens: &mut Tokens<'_>, start: usize) -> Option<Vec<Import>> {
    let mut token = tokens.next_python(false);
    let mut module: Option<Span> = None;
    while token == Token::Mark('.') {
        let end = tokens.at;
        module = Some(Span { end, ..module.unwrap_or(Span { start: end - 1, end }) });
        token = tokens.next_python(false);
    }
    if !tokens.is_word(token, "import") {
        let (path, next) = dotted(tokens, token, false)?;
        module = Some(Span { end: path.end, ..module.unwrap_or(path) });
        token = next;
    }
    let module = module.filter(|_| tokens.is_word(token, "import"))?;
    token = tokens.next_python(false);
    let is_listed = token == Token::Mark('(');
    if is_listed {
        token = tokens.next_python(true);
    }
    let star = token == Token::Mark('*');
    let mut names: Vec<ImportedName> = Vec::new();
    if star {
        token = tokens.next_python(is_listed);
    }
    while let Token::Word(span) = token {
        names.push(name(tokens.text, span));
        let next = tokens.next_python(is_listed);
        token = alias(tokens, next, is_listed)?;
        if token == Token::Mark(',') {
            token = tokens.next_python(is_listed);
        }
    }
    if is_listed {
        token = if token == Token::Mark(')') { tokens.next_python(false) } else { return None };
    }
    if !ends(token) || star != names.is_empty() {
        return None;
    }
    let written = import(ImportKind::Static, tokens.text, Span { start, end: tokens.at }, module);
    let module = written.module.chars().filter(|character| !character.is_whitespace()).collect();
    Some(vec![Import { names, star, module, ..written }])
}

/// Returns a name of words with dots between them, and what follows it.
fn dotted(tokens: &mut Tokens<'_>, first: Token, in_parentheses: bool) -> Option<(Span, Token)> {
    let Token::Word(mut span) = first else { return None };
    loop {
        let next = tokens.next_python(in_parentheses);
        if next != Token::Mark('.') {
            return Some((span, next));
        }
        let Token::Word(part) = tokens.next_python(in_parentheses) else { return None };
        span.end = part.end;
    }
}

/// Goes past `as name`; what follows it.
fn alias(tokens: &mut Tokens<'_>, next: Token, in_parentheses: bool) -> Option<Token> {
    if !tokens.is_word(next, "as") {
        return Some(next);
    }
    match tokens.next_python(in_parentheses) {
        Token::Word(_) => Some(tokens.next_python(in_parentheses)),
        Token::Text(_) | Token::Mark(_) => None,
    }
}

fn ends(token: Token) -> bool {
    matches!(token, Token::Mark('\n' | ';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_however_they_are_written() {
        /// A module, whether it is loaded at the top level, and the names taken from it.
        type Said<'a> = (&'a str, bool, &'a [&'a str]);
        let cases: &[(&str, &[Said])] = &[
            (
                "import a\nx = 1\nfrom b import (\n    c,  # (\n    d,\n)\n",
                &[("a", true, &[]), ("b", true, &["c", "d"])],
            ),
            ("from a import \\\n    b, \\\n    c\n", &[("a", true, &["b", "c"])]),
            ("from.a import b\nx = 1; import c\n", &[(".a", true, &["b"]), ("c", true, &[])]),
            ("import a.b as c, d # e\n", &[("a.b", true, &[]), ("d", true, &[])]),
            ("from . import a as b\nfrom ... c import d\n", &[(".", true, &["a"]), ("...c", true, &["d"])]),
            ("try:\n    import a\nexcept E: from b import c\n", &[("a", false, &[]), ("b", false, &["c"])]),
            (
                "  \u{c}import a\rimport b\r\nfrom c import *",
                &[("a", true, &[]), ("b", true, &[]), ("c", true, &[])],
            ),
            ("a = 1; \\\n    import b\n", &[("b", true, &[])]),
            ("\"\"\"\nfrom a import b\n\"\"\"\n", &[("a", true, &["b"])]),
        ];
        for (text, expected) in cases {
            let found = imports(text).unwrap();
            let said: Vec<(&str, bool, Vec<&str>)> = found
                .iter()
                .map(|import| {
                    let names = import.names.iter().map(|name| name.name.as_str());
                    (import.module.as_str(), import.top_level, names.collect())
                })
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|(module, top, names)| (*module, *top, names.to_vec())).collect();
            assert_eq!(said, expected, "{text}");
        }
    }

    #[test]
    fn other_lines_are_no_imports() {
        let others = [
            "from the beginning on\nimport the thing\nimportant = 1\nyield from a\nraise A from b\n",
            "from a import\nfrom import b\nimport\nfrom a import (b\n",
            "import a =\nfrom a import b.c\nfrom a import *, b\nfrom a import ()\n",
            "x = import_a\nprint('import a')\n# import a\n",
            &"import ".repeat(60_000),
        ];
        for text in others {
            assert_eq!(imports(text).unwrap(), [], "{text}");
        }
    }
}
