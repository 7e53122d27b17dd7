//! Where the imports of a text end, told by its lines, so that what comes after them need not be parsed.

use super::Language;

/// The text up to and with the last line that may end an import in the file's own scope. It may be more than that, and
/// may end inside something; then the parse of it is broken.
pub(crate) fn until_last_import(language: Language, text: &str) -> &str {
    let ends: fn(&str) -> bool = match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => ends_ecma,
        Language::Python => begins_python,
        Language::Go | Language::Java | Language::Rust => return text,
    };
    let mut end = 0;
    let mut last = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if ends(line) {
            last = end;
        }
    }
    if language == Language::Python {
        last += rest_of_python(text, last);
    }
    &text[..last]
}

/// Whether a line may be the last of an import or of an export from another file: a string behind `from`, or one that
/// is imported or required.
fn ends_ecma(line: &str) -> bool {
    let code = line.trim_start();
    let is_quoted = |rest: &str| rest.trim_start().starts_with(['"', '\'']);
    let is_behind = |word: &str| code.match_indices(word).any(|(at, _)| is_quoted(&code[at + word.len()..]));
    let imports = code.starts_with("import");
    // What is indented is hardly a statement of the file's own scope.
    (code.len() == line.len() || imports || code.starts_with("export") || code.starts_with('}'))
        && (is_behind("from") || imports && (is_behind("import") || is_behind("require(")))
}

fn begins_python(line: &str) -> bool {
    ["import", "from"]
        .iter()
        .any(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t', '\\'])))
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
            (
                Language::Python,
                "import a\nx = 1\nfrom b import (\n    c,  # (\n    d,\n)\n",
                "def f():\n    import g\n",
            ),
            (Language::Python, "from a import \\\n    b, \\\n    c\n", "x = 1\n"),
            (Language::Python, "", "x = 1\n"),
            (Language::Rust, "use a;\nfn f() {}\n", ""),
        ];
        for (language, head, tail) in cases {
            assert_eq!(until_last_import(language, &format!("{head}{tail}")), head);
        }
    }
}
