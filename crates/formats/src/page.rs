//! Pages of rules, written in Markdown, as a person reads them on a terminal.

use crate::contract::TerminalStyle;
use crate::wrap::wrap;

const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Renders a page: headings without their signs, paragraphs, items and labelled values wrapped at the width. Code and tables
/// stay as they are.
pub fn terminal_page(markdown: &str, style: TerminalStyle) -> String {
    let width = style.width.clamp(40, 100);
    let mut page = String::new();
    let mut in_code = false;
    for line in markdown.lines() {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= is_fence;
        let heading = line.trim_start_matches('#');
        if is_fence {
            continue;
        }
        if in_code {
            page.push_str(&format!("    {line}"));
        } else if heading.len() < line.len() && heading.starts_with(' ') {
            let heading = heading.trim_start();
            page.push_str(&if style.color { format!("{BOLD}{heading}{PLAIN}") } else { heading.to_owned() });
        } else if line.starts_with('|') {
            page.push_str(line);
        } else {
            let begin = begin_of_value(line).filter(|_| line.starts_with(' '));
            let begin = begin.unwrap_or_else(|| indent_of_item(line));
            let lines = wrap(&line[begin..], width.saturating_sub(begin).max(MIN_COLUMN));
            page.push_str(&line[..begin]);
            page.push_str(&lines.join(&format!("\n{}", " ".repeat(begin))));
        }
        page.push('\n');
    }
    page
}

/// Returns the length of an item's sign, in bytes, which its further lines are indented by; 0 for a paragraph.
fn indent_of_item(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let space = line.len() - text.len();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = match text.as_bytes().get(digits..digits + 2) {
        Some(b". ") if digits > 0 => digits + 2,
        Some(b"- " | b"* ") if digits == 0 => 2,
        _ => return space.min(20),
    };
    (space + sign).min(20)
}

/// Breaks the lines of a text for people at spaces where they are wider than a terminal. Further lines begin below the
/// value of a line with a label, the text of an item, or two columns behind the begin of others. Lines of files, of tables
/// and with commands or settings stay whole, so that they can be compared and copied.
pub fn wrap_to_width(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| wrap_line(line, width));
    lines.collect::<Vec<_>>().join("\n")
}

/// Longest label before a value, in bytes.
const MAX_LABEL: usize = 40;
/// Least width of a column of text.
const MIN_COLUMN: usize = 20;

/// Returns the byte where the value of a line with a label begins.
fn begin_of_value(line: &str) -> Option<usize> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let end = line[indent..].find("  ").filter(|end| *end < MAX_LABEL)?;
    let value = line[indent + end..].trim_start_matches(' ');
    (!value.is_empty()).then_some(line.len() - value.len())
}

fn wrap_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width || is_to_copy(line) {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let item = indent_of_item(line);
    let (begin, hanging) = match begin_of_value(line) {
        Some(begin) => (begin, line[..begin].chars().count()),
        None if item > indent => (item, item),
        None => (indent, indent + 2),
    };
    let mut lines = wrap(&line[begin..], width.saturating_sub(hanging).max(MIN_COLUMN)).into_iter();
    let first = lines.next().unwrap_or_default();
    let rest = lines.map(|further| format!("\n{}{further}", " ".repeat(hanging)));
    format!("{}{first}{}", &line[..begin], rest.collect::<String>())
}

/// Returns whether a line is one of a file, a row of a table, a setting or a command.
fn is_to_copy(line: &str) -> bool {
    let content = line.trim_start_matches(' ');
    let columns = content.split("  ").filter(|column| !column.trim().is_empty()).count();
    content.starts_with(['+', '|'])
        || content.starts_with("-") && !content.starts_with("- ")
        || columns > 2
        || content.contains(" = ")
        || content.contains(": qa-skill ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_broken_below_their_value_and_lines_to_copy_stay() {
        let value = "  languages     python 12, typescript 11, rust 10, markdown 9, shell 8";
        assert_eq!(
            wrap_to_width(value, 40),
            "  languages     python 12, typescript\n                11, rust 10, markdown 9,\n                shell 8"
        );
        assert_eq!(wrap_to_width("  one two three four five six", 20), "  one two three four\n    five six");
        let command = "  run `qa-skill calibrate --last 400` again";
        assert_eq!(wrap_to_width(command, 20), "  run\n    `qa-skill calibrate --last 400`\n    again");
        let item = "  1. one two three four five six seven";
        assert_eq!(wrap_to_width(item, 30), "  1. one two three four five\n     six seven");
        for line in [
            "short",
            "  +a line of a file that is wide",
            "a_word_without_any_space_in_it_is_whole",
            "  strength = \"advise\"  # 1 change",
            "name  value of it  origin of it",
        ] {
            assert_eq!(wrap_to_width(line, 20), line);
        }
    }

    #[test]
    fn a_page_is_wrapped_but_for_what_has_a_form_of_its_own() {
        let page = "## secret-token/github-token\n\nA token that is committed is known to everyone who reads it.\n\n\
            - first item of a list whose text is longer than the width\n1. one\n\n\
            ```text\nqa-skill run --base main --head topic --format json=out.json\n```\n\n| a | b |\n|---|---|\n";
        let style = TerminalStyle { color: false, width: 40 };
        let expected = "secret-token/github-token\n\nA token that is committed is known to\neveryone who reads it.\n\n\
            - first item of a list whose text is\n  longer than the width\n1. one\n\n    \
            qa-skill run --base main --head topic --format json=out.json\n\n| a | b |\n|---|---|\n";
        assert_eq!(terminal_page(page, style), expected);
        let labelled = " run   /a/path/that/is/as/wide/as/the/whole/terminal\n fix   one two three four five six seven eight\n";
        let expected = " run   /a/path/that/is/as/wide/as/the/whole/terminal\n fix   one two three four five six seven\n       eight\n";
        assert_eq!(terminal_page(labelled, style), expected);
        let colored = terminal_page("# title\n", TerminalStyle { color: true, width: 40 });
        assert_eq!(colored, "\x1b[1mtitle\x1b[0m\n");
    }
}
