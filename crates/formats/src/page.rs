//! Pages of rules, written in Markdown, as a person reads them on a terminal.

use crate::contract::TerminalStyle;
use crate::terminal::wrap;

const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Renders a page: headings without their signs, paragraphs and items wrapped at the width. Code and tables stay as they are.
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
            let indent = indent_of_item(line);
            let lines = wrap(&line[indent..], width - indent);
            page.push_str(&line[..indent]);
            page.push_str(&lines.join(&format!("\n{}", " ".repeat(indent))));
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let colored = terminal_page("# title\n", TerminalStyle { color: true, width: 40 });
        assert_eq!(colored, "\x1b[1mtitle\x1b[0m\n");
    }
}
