//! JavaScript and TypeScript.

use super::super::outline::{Import, ImportKind, ImportedName, Span};
use super::tokens::{Token, Tokens, ends_line, is_part_of_word, is_space};
use super::{Budget, import, name};

/// A text in which something is written so that only a parse can tell it.
struct Odd;

type Found<T> = Result<Option<T>, Odd>;
type Reader = fn(&mut Tokens<'_>, usize) -> Found<Import>;

pub(super) fn imports(text: &str) -> Option<Vec<Import>> {
    let mut budget = Budget::new(text);
    let mut found = Vec::new();
    let readers: [(&str, Reader); 3] = [("export", exported), ("import", imported), ("require", required)];
    for (word, read) in readers {
        for (start, _) in text.match_indices(word) {
            let end = start + word.len();
            if text[..start].ends_with(is_part_of_word) || text[end..].starts_with(is_part_of_word) {
                continue;
            }
            let mut tokens = Tokens { text, at: end };
            let import = read(&mut tokens, start).ok()?;
            budget.spend(tokens.at - start)?;
            found.extend(import);
        }
    }
    found.sort_by_key(|import| import.span.start);
    Some(found)
}

/// Returns whether a statement may begin here: on a line of its own, or behind the end of another one.
fn begins_statement(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(is_space);
    let is_first = before.is_empty() || text[before.len()..at].contains(ends_line);
    // Nothing need stand between `do f(); while (0)` and the next statement.
    is_first || before.ends_with([';', '{', '}', ')']) || before.ends_with("*/")
}

fn imported(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    let after = tokens.at;
    if let Some(import) = called(tokens, start)? {
        return Ok(Some(import));
    }
    let looked_at = std::mem::replace(&mut tokens.at, after);
    let found = if begins_statement(tokens.text, start) { declared(tokens, start) } else { Ok(None) };
    tokens.at = tokens.at.max(looked_at);
    found
}

fn required(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    let before = &tokens.text[..start];
    let is_member = before.ends_with('.') && !before.ends_with("...");
    if is_member { Ok(None) } else { called(tokens, start) }
}

/// `("module")`, and whatever follows the name.
fn called(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    match tokens.next_ecma() {
        Some(Token::Mark('(')) => {}
        // Types between a function and what it is given, and calls of what may not be there.
        Some(Token::Mark('<' | '?')) => return Err(Odd),
        _ => return Ok(None),
    }
    let module = match tokens.next_ecma() {
        Some(Token::Text(module)) => module,
        // An escape in the text, which only a parse decodes.
        Some(Token::Mark('\\')) => return Err(Odd),
        Some(Token::Word(_) | Token::Mark(_)) | None => return Ok(None),
    };
    let is_plain = !tokens.text_of(module).contains("${");
    let ends = matches!(tokens.next_ecma(), Some(Token::Mark(',' | ')')));
    let span = Span { start, end: tokens.at };
    Ok((is_plain && ends).then(|| import(ImportKind::Call, tokens.text, span, module)))
}

/// Reads the declaration that follows `import` at the beginning of a statement.
fn declared(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    let Some(mut token) = next(tokens)? else { return Ok(None) };
    if let Token::Text(module) = token {
        return Ok(Some(import(ImportKind::Static, tokens.text, Span { start, end: tokens.at }, module)));
    }
    let (mut names, mut types) = (Vec::new(), false);
    if tokens.is_word(token, "type") || tokens.is_word(token, "typeof") {
        let after = tokens.at;
        let Some(following) = next(tokens)? else { return Ok(None) };
        types = match following {
            Token::Word(_) => !tokens.is_word(following, "from"),
            Token::Mark(mark) => matches!(mark, '{' | '*'),
            Token::Text(_) => false,
        };
        if types {
            token = following;
        } else {
            tokens.at = after;
        }
    }
    if let Token::Word(own) = token {
        names.push(ImportedName { name: "default".to_owned(), ..name(tokens.text, own) });
        let Some(following) = next(tokens)? else { return Ok(None) };
        if following == Token::Mark('=') {
            return assigned(tokens, start);
        }
        token = following;
        if token == Token::Mark(',') {
            let Some(more) = next(tokens)? else { return Ok(None) };
            token = more;
        }
    }
    match token {
        Token::Mark('{') => {
            let Some(listed) = listed(tokens)? else { return Ok(None) };
            names.extend(listed);
            token = Token::Mark('}');
        }
        Token::Mark('*') => {
            if !space_of_names(tokens)? {
                return Ok(None);
            }
        }
        Token::Word(_) | Token::Text(_) | Token::Mark(_) => {}
    }
    let is_from = tokens.is_word(token, "from");
    let from = if is_from { module(tokens)? } else { from(tokens)? };
    let span = Span { start, end: tokens.at };
    Ok(from.map(|module| Import {
        names,
        type_only: types,
        ..import(ImportKind::Static, tokens.text, span, module)
    }))
}

/// `require("module")` behind `import name =`.
fn assigned(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    let is_required = next(tokens)?.is_some_and(|token| tokens.is_word(token, "require"));
    let call = if is_required { called(tokens, start)? } else { None };
    Ok(call.map(|call| Import { kind: ImportKind::Static, ..call }))
}

/// Reads the reexport that follows `export`.
fn exported(tokens: &mut Tokens<'_>, start: usize) -> Found<Import> {
    if !begins_statement(tokens.text, start) {
        return Ok(None);
    }
    let Some(mut token) = next(tokens)? else { return Ok(None) };
    if tokens.is_word(token, "import") {
        return declared(tokens, start);
    }
    let types = tokens.is_word(token, "type");
    if types {
        let Some(following) = next(tokens)? else { return Ok(None) };
        token = following;
    }
    let (names, star) = match token {
        Token::Mark('{') => {
            let Some(listed) = listed(tokens)? else { return Ok(None) };
            (listed, false)
        }
        Token::Mark('*') => {
            let after = tokens.at;
            let is_named = space_of_names(tokens)?;
            if !is_named {
                tokens.at = after;
            }
            (Vec::new(), !is_named)
        }
        Token::Word(_) | Token::Text(_) | Token::Mark(_) => return Ok(None),
    };
    let from = from(tokens)?;
    let span = Span { start, end: tokens.at };
    Ok(from.map(|module| Import {
        names,
        star,
        type_only: types,
        ..import(ImportKind::Reexport, tokens.text, span, module)
    }))
}

/// `as name` behind `*`.
fn space_of_names(tokens: &mut Tokens<'_>) -> Result<bool, Odd> {
    let is_named = next(tokens)?.is_some_and(|token| tokens.is_word(token, "as"));
    Ok(is_named && matches!(next(tokens)?, Some(Token::Word(_) | Token::Text(_))))
}

/// Reads `from "module"`.
fn from(tokens: &mut Tokens<'_>) -> Found<Span> {
    let is_from = next(tokens)?.is_some_and(|token| tokens.is_word(token, "from"));
    if is_from { module(tokens) } else { Ok(None) }
}

fn module(tokens: &mut Tokens<'_>) -> Found<Span> {
    Ok(match next(tokens)? {
        Some(Token::Text(module)) => Some(module),
        Some(Token::Word(_) | Token::Mark(_)) | None => None,
    })
}

/// Returns the names up to the closing brace.
fn listed(tokens: &mut Tokens<'_>) -> Found<Vec<ImportedName>> {
    const MOST_PARTS: usize = 4;
    let mut names = Vec::new();
    let mut parts: Vec<Token> = Vec::with_capacity(MOST_PARTS);
    loop {
        let Some(token) = next(tokens)? else { return Ok(None) };
        match token {
            Token::Mark(mark @ (',' | '}')) => {
                // `name`, `type name`, `name as other`, `type name as other`.
                let at = usize::from(parts.len().is_multiple_of(2));
                names.extend(parts.get(at).map(|part| match *part {
                    Token::Word(span) => name(tokens.text, span),
                    Token::Text(span) => {
                        let quoted = Span { start: span.start - 1, end: span.end + 1 };
                        ImportedName { span: quoted, ..name(tokens.text, span) }
                    }
                    Token::Mark(_) => unreachable!("only words and texts are kept"),
                }));
                parts.clear();
                if mark == '}' {
                    return Ok(Some(names));
                }
            }
            Token::Word(_) | Token::Text(_) if parts.len() < MOST_PARTS => parts.push(token),
            Token::Word(_) | Token::Text(_) | Token::Mark(_) => return Ok(None),
        }
    }
}

/// Returns the next token of an import.
fn next(tokens: &mut Tokens<'_>) -> Found<Token> {
    match tokens.next_ecma() {
        Some(Token::Mark('\\')) => Err(Odd),
        token => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(text: &str) -> Vec<String> {
        imports(text).unwrap().into_iter().map(|import| import.module).collect()
    }

    #[test]
    fn imports_are_found_however_they_are_written() {
        let cases: &[(&str, &[&str])] = &[
            ("import a from './a'\nfunction f() {\n  return import('./b')\n}\n", &["./a", "./b"]),
            ("import {\n  a,\n} from './a'\n\nf()\nexport * from \"./b\"\n", &["./a", "./b"]),
            ("'use strict'\nconst a = 1\nimport './c'\n", &["./c"]),
            ("import {\n  a,\n  b } from './a'\n", &["./a"]),
            ("import { a } from\n\n  // why\n  './a'\n", &["./a"]),
            ("import { a /* don't */,\n  // don't\n  b } /* } */ from // \"b\"\n  './a'\n", &["./a"]),
            ("f(); import './a'\nfunction g() {} import './b'; import'./c'\n", &["./a", "./b", "./c"]),
            ("/*\n*/ import './a'\n/**/import/**/a/**/from/**/'./b'", &["./a", "./b"]),
            ("f()\rimport './a'\u{2028}import './b'", &["./a", "./b"]),
            ("\u{feff}import './a'", &["./a"]),
            ("import a, { b } from './a'\nimport c, * as d from './b'\n", &["./a", "./b"]),
            ("import{a}from'./a'\nimport*as b from'./b'\n", &["./a", "./b"]),
            ("import type from './a'\nimport type, { b } from './b'\n", &["./a", "./b"]),
            ("import type { A } from './a'\nimport type A from './b'\n", &["./a", "./b"]),
            ("import { type A, b } from './a'\nimport { 'a-b' as c } from './b'\n", &["./a", "./b"]),
            ("export * as a from './a'\nexport {\n  a\n}\nfrom './b'\n", &["./a", "./b"]),
            ("export * as 'a b' from './a'\n", &["./a"]),
            ("export { 'x' as default } from './a' with { type: 'json' }\n", &["./a"]),
            ("const a = `\nimport './a'\n`\n", &["./a"]),
            ("const a = require ( './a' ), b = require(`./b`, c)\n", &["./a", "./b"]),
            ("const a = [...require('./a')]\n", &["./a"]),
            ("do f(); while (0) import a from './a'\ndo {} while (0) export * from './b'\n", &["./a", "./b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(modules(text), *expected, "{text}");
        }
        let assigned = imports("import a = require('./a')\n").unwrap();
        assert!(assigned.iter().any(|import| import.kind == ImportKind::Static));
    }

    #[test]
    fn other_statements_are_no_imports() {
        let others = [
            "import.meta.url\nimports('./a')\nimport(a)\nrequire('./a' + b)\nrequire(`./${a}`)\n",
            "export { a }\nf('./a')\nexport { a };\nf('./a')\n",
            "export default './a'\nexport const a = './a'\nexport type A = './a' | './b'\n",
            "export function f() {\n  g('./a')\n}\nexport class A {}\n",
            "// import './a'\n * import './b'\nconst a = 1, import_ = './c'\na.require('./d')\n",
            "import a = b.c\nf('./a')\nimport 'a\n'\nimport a from f('./a')\n",
            "import",
            "import {",
            "import { a",
            "import '",
            "export",
            "import /*",
            "require(",
        ];
        for text in others {
            assert_eq!(modules(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_only_a_parse_can_tell_is_left_to_it() {
        let odd = [
            "import \\u0061b from './b'\n".to_owned(),
            "import { 'a-\\'b' as c } from './b'\n".to_owned(),
            "require<A>('./a')\n".to_owned(),
            "require?.('./a')\n".to_owned(),
            "import/*\n".repeat(60_000),
            format!("a {}", "import//".repeat(60_000)),
            format!("a {}", "import/*".repeat(60_000)),
        ];
        for text in odd {
            assert_eq!(imports(&text), None);
        }
        assert!(imports(&"import {\n".repeat(60_000)).is_some());
    }
}
