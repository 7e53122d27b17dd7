//! Breaks text into lines of a width.

/// Breaks at spaces; a word longer than a line stands alone, and so does text between backticks. No line begins with the
/// sign of a workflow command, which the text may have anywhere and a runner obeys only there.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words(text) {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width && !word.starts_with("::") {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
}

/// Returns the parts of a text between spaces outside of backticks, since a command to be copied is one line. A number and
/// its percent sign are one part. A last backtick without another one is a character like any other.
fn words(text: &str) -> Vec<&str> {
    let paired = text.matches('`').count() / 2 * 2;
    let (mut words, mut begin, mut ticks) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        if character == '`' {
            ticks += 1;
        } else if character == ' ' && (ticks % 2 == 0 || ticks > paired) && !text[at..].starts_with(" %") {
            words.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    words.push(&text[begin..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_at_the_width() {
        assert_eq!(wrap("a bb ccc dddddd e", 6), ["a bb", "ccc", "dddddd", "e"]);
        assert_eq!(wrap("", 6), [""]);
        assert_eq!(wrap("a bb ::error::x cc", 6), ["a bb ::error::x", "cc"]);
        assert_eq!(wrap("at most 4 % of", 9), ["at most", "4 % of"]);
    }

    #[test]
    fn a_command_is_not_broken() {
        assert_eq!(wrap("run `a b c d` or `e f`, then", 8), ["run", "`a b c d`", "or", "`e f`,", "then"]);
        assert_eq!(wrap("`a b` and ` is left", 8), ["`a b`", "and ` is", "left"]);
    }
}
