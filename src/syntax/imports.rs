//! Where the imports of a text end, told by its lines, so that what comes after them need not be parsed.

use super::Language;

/// The text up to and with the last line that may end an import in the file's own scope. It may be more than that, and
/// may end inside something; then the parse of it is broken.
pub(crate) fn until_last_import(language: Language, text: &str) -> &str {
    let ends: fn(&str, &mut bool) -> bool = match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => ends_ecma,
        Language::Python => begins_python,
        Language::Go | Language::Java | Language::Rust => return text,
    };
    let mut end = 0;
    let mut last = 0;
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if ends(line, &mut is_open) {
            last = end;
        }
    }
    if language == Language::Python {
        last += rest_of_python(text, last);
    }
    &text[..last]
}

/// Whether a line may be the last of an import or of an export from another file: a string behind `from`, or one that
/// is imported or required. Where the string may stand on a later line, that line counts.
fn ends_ecma(line: &str, is_open: &mut bool) -> bool {
    let behind =
        |word: &'static str| line.match_indices(word).map(|(at, word)| line[at + word.len()..].trim());
    let is_quoted = |rest: &str| rest.starts_with(['"', '\'', '/']);
    let ends = behind("from").any(is_quoted)
        || behind("import").any(|rest| is_quoted(rest) || rest.contains("require"))
        || *is_open && line.contains(['"', '\'']);
    let is_comment = ["//", "*", "/*"].iter().any(|mark| line.trim_start().starts_with(mark));
    let opens = |rest: &str| rest.is_empty() || rest.starts_with('/');
    *is_open = if is_comment || line.trim().is_empty() {
        *is_open
    } else {
        behind("from").chain(behind("import")).any(opens)
    };
    ends
}

/// Whether a line of a file's own scope may begin an import.
fn begins_python(line: &str, _: &mut bool) -> bool {
    !line.starts_with([' ', '\t']) && (line.contains("import") || line.starts_with("from"))
}

/// How much text follows the line that ends at an offset and begins the last import: what its parentheses hold.
fn rest_of_python(text: &str, end: usize) -> usize {
    let Some(first) = text[..end].split_inclusive('\n').next_back() else { return 0 };
    let code = |line: &str| line.split('#').next().unwrap_or(line).to_owned();
    let depth = |line: &str| {
        let count = |character: char| code(line).matches(character).count() as i64;
        count('(') - count(')')
    };
    let goes_on = |line: &str| code(line).trim_end().ends_with('\\');
    let (mut open, mut more, mut length) = (depth(first), goes_on(first), 0);
    for line in text[end..].split_inclusive('\n') {
        if open <= 0 && !more {
            break;
        }
        length += line.len();
        open += depth(line);
        more = goes_on(line);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_last_import_is_left_out() {
        let cases = [
            (Language::TypeScript, "import a from './a'\n", "function f() {\n  return import('./b')\n}\n"),
            (Language::TypeScript, "import {\n  a,\n} from './a'\n\nf()\nexport * from \"./b\"\n", "g()\n"),
            (Language::JavaScript, "'use strict'\nconst a = 1\nimport './c'\n", "a()\n"),
            (Language::TypeScript, "import {\n  a,\n  b } from './a'\n", "f()\n"),
            (Language::TypeScript, "import { a } from\n\n  // why\n  './a'\n", "f()\n"),
            (Language::TypeScript, "import { a } from // why\n  './a'\n", "f()\n"),
            (Language::TypeScript, "f(); import './a'\n", "g()\n"),
            (Language::TypeScript, "import a = require('./a')\n", "f()\n"),
            (Language::TypeScript, "import './a'\n", "// what is read from\nf('a')\n"),
            (
                Language::Python,
                "import a\nx = 1\nfrom b import (\n    c,  # (\n    d,\n)\n",
                "def f():\n    import g\n",
            ),
            (Language::Python, "from a import \\\n    b, \\\n    c\n", "x = 1\n"),
            (Language::Python, "from.a import b\nx = 1; import c\n", "x = 1\n"),
            (Language::Python, "", "x = 1\n"),
            (Language::Rust, "use a;\nfn f() {}\n", ""),
        ];
        for (language, head, tail) in cases {
            assert_eq!(until_last_import(language, &format!("{head}{tail}")), head);
        }
    }
}
