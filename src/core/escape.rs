//! Makes untrusted text harmless for each kind of surface, without hiding that something was there.

use crate::contracts::ids::is_unprintable;

/// Replaces every character that changes how text around it looks by a visible `\u{…}`; tabs become spaces.
pub(crate) fn visible(text: &str) -> String {
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

/// As [`visible`], cut to at most `limit` characters with an ellipsis that says so.
pub(crate) fn visible_cut(text: &str, limit: usize) -> String {
    let shown = visible(text);
    if shown.chars().count() <= limit {
        return shown;
    }
    let mut cut: String = shown.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Text for Markdown: nothing in it can start a link, an image, a mention, HTML, a table cell or emphasis.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in visible(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A zero-width joiner would hide; an entity shows the sign and stops mentions and issue links.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            ':' => out.push_str("&#58;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '+' | '-' | '!' | '|' | '~'
            | '$' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

/// The message of a workflow command.
pub(crate) fn workflow_message(text: &str) -> String {
    visible_keeping_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
pub(crate) fn workflow_property(text: &str) -> String {
    visible(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

fn visible_keeping_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            markdown("![x](https://evil/?d=1) @team #1 <img> `a|b`"),
            "\\!\\[x\\]\\(https&#58;//evil/?d=1\\) &#64;team &#35;1 &lt;img&gt; \\`a\\|b\\`"
        );
    }

    #[test]
    fn a_workflow_command_cannot_be_ended_early() {
        assert_eq!(workflow_message("a\n::error::b\r%"), "a%0A::error::b\\u{d}%25");
        assert_eq!(workflow_property("x,line=1::y"), "x%2Cline=1%3A%3Ay");
    }
}
