//! Escapes untrusted text for each kind of surface, so that what is escaped stays visible.

use qa_contracts::ids::is_unprintable;

/// Replaces every character that changes how text around it looks by a visible `\u{…}`; tabs become spaces.
pub fn visible(text: &str) -> String {
    if !text.chars().any(is_unprintable) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            other if is_unprintable(other) => out.push_str(&format!("\\u{{{:x}}}", other as u32)),
            other => out.push(other),
        }
    }
    out
}

/// Escapes the characters that JSON does not escape and a terminal would obey: direction and other invisible characters,
/// DEL and the C1 controls. JSON itself escapes the C0 controls, so tabs and line ends stay and quotes stay verbatim.
pub fn harmless(text: &str) -> String {
    if !text.chars().any(is_harmful) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmful(character) {
            out.push_str(&format!("\\u{{{:x}}}", character as u32));
        } else {
            out.push(character);
        }
    }
    out
}

fn is_harmful(character: char) -> bool {
    is_unprintable(character) && (character as u32) > 0x1f
}

/// Splits `##[`, which starts a command of GitHub Actions anywhere in a printed line.
pub fn without_runner_commands(text: &str) -> String {
    text.replace("##[", "#\\u{23}[")
}

/// Returns a name as one word of a POSIX shell, quoted where it needs that. What changes how text looks becomes visible.
pub fn shell_word(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./+,=@%".contains(&byte));
    match is_plain && !name.is_empty() {
        true => name.to_owned(),
        false => format!("'{}'", visible(name).replace('\'', r"'\''")),
    }
}

/// Like [`visible`], cut to at most `limit` characters, with an ellipsis where it is cut.
pub fn visible_cut(text: &str, limit: usize) -> String {
    let shown = visible(text);
    if shown.chars().count() <= limit {
        return shown;
    }
    let mut cut: String = shown.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Escapes text for Markdown: nothing in it can start a link, an image, a mention, HTML, a table cell or emphasis.
///
/// Signs that renderers look for after entities are decoded (mentions, mail addresses, issue links, bare addresses) are
/// put into code spans of their own, the one place where no renderer looks.
pub fn markdown(text: &str) -> String {
    let shown = visible(text);
    let mut out = String::with_capacity(shown.len() + 16);
    let mut rest = shown.as_str();
    while let Some(character) = rest.chars().next() {
        let tail = &rest[character.len_utf8()..];
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '#' => push_span(&mut out, &rest[..1]),
            '.' if ends_with_www(&out) => push_span(&mut out, "."),
            '-' if is_issue_prefix(&out, tail) => push_span(&mut out, "-"),
            ':' if tail.starts_with("//") => {
                out.push(':');
                push_span(&mut out, "//");
                rest = &tail[2..];
                continue;
            }
            ':' if !tail.is_empty() && !tail.starts_with(' ') => out.push_str("&#58;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '+' | '-' | '!' | '|' | '~'
            | '$' | '=' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
        rest = tail;
    }
    out
}

/// Adds a code span, or lengthens the one the text ends with: two fences side by side would read as one of two signs.
fn push_span(out: &mut String, text: &str) {
    if out.ends_with('`') && !out.ends_with("\\`") {
        out.pop();
    } else {
        out.push('`');
    }
    out.push_str(text);
    out.push('`');
}

/// Returns whether a hyphen between two texts makes an issue link of them, as in `GH-12`.
fn is_issue_prefix(before: &str, after: &str) -> bool {
    let start = before.len().saturating_sub(2);
    before.as_bytes()[start..].eq_ignore_ascii_case(b"gh")
        && after.starts_with(|next: char| next.is_ascii_digit())
}

fn ends_with_www(out: &str) -> bool {
    out.len() >= 3 && out.as_bytes()[out.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// Returns text as a Markdown code span; empty for empty text.
pub fn markdown_code(text: &str) -> String {
    let shown = visible(text);
    if shown.is_empty() {
        return shown;
    }
    let longest = longest_backticks(&shown);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 || shown.starts_with(' ') || shown.ends_with(' ') { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// Returns a fenced code block that no line of its text ends.
pub fn markdown_block(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn longest_backticks(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// Like [`markdown_code`], for a cell of a table: a pipe becomes `\|`, and one behind a backslash, on which renderers
/// disagree, becomes `\u{7c}`.
pub fn markdown_cell_code(text: &str) -> String {
    markdown_code(&text.replace("\\|", "\\u{7c}")).replace('|', "\\|")
}

/// Escapes the message of a workflow command.
pub fn workflow_message(text: &str) -> String {
    visible_keeping_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
pub fn workflow_property(text: &str) -> String {
    visible(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

fn visible_keeping_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_shell() {
        for (name, word) in [
            ("a/b-1.c", "a/b-1.c"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
            ("~/a", "'~/a'"),
            ("a\u{1b}", r"'a\u{1b}'"),
        ] {
            assert_eq!(shell_word(name), word);
        }
    }

    #[test]
    fn nothing_invisible_reaches_a_surface() {
        assert_eq!(
            visible("a\u{202e}b\u{1b}[31m\u{9b}\r\u{200b}é"),
            "a\\u{202e}b\\u{1b}[31m\\u{9b}\\u{d}\\u{200b}é"
        );
        assert_eq!(visible_cut("abcdef", 4), "abc…");
    }

    #[test]
    fn markdown_keeps_text_text() {
        assert_eq!(markdown("GH-12 xgh-3 GH-x utf-8"), "GH`-`12 xgh`-`3 GH\\-x utf\\-8");
        assert_eq!(markdown("@@ -1 `@"), "`@@` \\-1 \\``@`");
        assert_eq!(
            markdown("![x](https://evil/?d=1) @team #1 <img> `a|b` www.evil.com me@evil.com :x:"),
            "\\!\\[x\\]\\(https:`//`evil/?d\\=1\\) `@`team `#`1 &lt;img&gt; \\`a\\|b\\` www`.`evil.com me`@`evil.com &#58;x:"
        );
    }

    #[test]
    fn a_code_span_cannot_be_ended_early() {
        assert_eq!(markdown_code("src/a.rs"), "`src/a.rs`");
        assert_eq!(markdown_code("a``b"), "``` a``b ```");
        assert_eq!(markdown_cell_code("a|b\n"), "`a\\|b\\u{a}`");
        assert_eq!(markdown_cell_code("a\\|b"), "`a\\u{7c}b`");
        assert_eq!(markdown_code(""), "");
    }

    #[test]
    fn a_workflow_command_cannot_be_ended_early() {
        assert_eq!(workflow_message("a\n::error::b\r%"), "a%0A::error::b\\u{d}%25");
        assert_eq!(workflow_property("x,line=1::y"), "x%2Cline=1%3A%3Ay");
    }
}
