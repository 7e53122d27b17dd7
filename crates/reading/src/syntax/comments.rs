//! Comments of lines whose language need not be known, and those that give a reason.

/// Number of words from which on a comment gives a reason.
const FEWEST_WORDS: usize = 3;

/// Returns whether a comment says more than that nothing is done.
pub fn gives_reason(comment: &str) -> bool {
    const EMPTY: &[&str] = &[
        "all",
        "any",
        "error",
        "errors",
        "exception",
        "exceptions",
        "failure",
        "failures",
        "for",
        "ignore",
        "ignored",
        "it",
        "nothing",
        "now",
        "noop",
        "pass",
        "pylint",
        "silently",
        "skip",
        "swallow",
        "the",
        "this",
        "noqa",
        "eslint",
        "disable",
        "todo",
        "handle",
        "later",
        "do",
    ];
    let words = comment.split(|sign: char| !sign.is_alphanumeric()).filter(|word| word.len() > 1);
    words.filter(|word| !EMPTY.contains(&word.to_lowercase().as_str())).count() >= FEWEST_WORDS
}

/// Returns whether the comments in some lines give a reason, one of them or all together.
pub fn has_reason(lines: &str) -> bool {
    gives_reason(&comments(lines))
}

/// Returns the comments in some lines, with a blank between them.
pub fn comments(lines: &str) -> String {
    let comments: Vec<&str> = lines.lines().map(|line| &line[code_length(line)..]).collect();
    comments.join(" ")
}

/// Returns a line without the comment at its end.
pub fn without_comment(line: &str) -> &str {
    &line[..code_length(line)]
}

/// Returns the number of bytes before a comment. A mark counts at the begin of a line or behind a blank, so that most
/// texts and addresses are no comments.
fn code_length(line: &str) -> usize {
    const MARKS: &[&str] = &["//", "/*", "# ", "* "];
    let code = line.trim_start();
    let indent = line.len() - code.len();
    if MARKS.iter().any(|mark| code.starts_with(mark)) {
        return indent;
    }
    let marks = [" //", "\t//", " /*", "\t/*", " # ", "\t# "].iter();
    // A comment without words ends the line with its sign.
    let bare =
        code.trim_end().strip_suffix('#').filter(|before| before.is_empty() || before.ends_with([' ', '\t']));
    let found = marks.filter_map(|mark| code.find(mark)).chain(bare.map(str::len)).min();
    found.map(|at| indent + at).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_three_words_in_comments_of_any_language() {
        for (lines, is_reason) in [
            ("return nil // x", false),
            ("return nil // ignore the error for now", false),
            ("return nil // a missing file counts as empty", true),
            ("pass  # a missing file counts as empty", true),
            ("{\n  // a missing file\n  // counts as empty\n}", true),
            ("{\n  /*\n   * missing files count as empty\n   */\n}", true),
            ("open(\"https://a.example/one/two/three/four\")", false),
        ] {
            assert_eq!(has_reason(lines), is_reason, "{lines}");
        }
    }

    #[test]
    fn code_ends_before_its_comment() {
        for (line, code) in [
            ("  true # x", "  true"),
            ("  return 1; // x", "  return 1;"),
            ("  // x", "  "),
            ("a(\"http://b\")", "a(\"http://b\")"),
        ] {
            assert_eq!(without_comment(line), code);
        }
    }
}
