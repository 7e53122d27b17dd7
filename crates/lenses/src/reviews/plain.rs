//! Model output made safe to repeat: no links, no mentions and no commands.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::clean::is_hidden;
use qa_reading::names::joins;

/// Maximum passes over the text. One pass may leave something that only the next finds, rarely twice.
const LOOKS: usize = 4;

/// Returns model output as plain words on one line: no link, address, mention, issue reference, markup or hidden
/// character. At most `limit` characters, cut with `…`.
pub fn plain(text: &str, limit: usize) -> String {
    let mut words = one_line(text);
    for _ in 0..LOOKS {
        // Links are replaced first, so that the text reads well. Then each character is checked by itself, so that
        // safety does not depend on the regular expressions.
        let next = without_signs(&without_links(&words));
        if next == words {
            break;
        }
        words = next;
    }
    cut(&words, limit)
}

/// Without hidden characters, and with one blank for every run of blanks and line ends.
fn one_line(text: &str) -> String {
    let shown: String =
        text.chars().filter(|&character| character.is_whitespace() || !is_hidden(character)).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is valid")
}

/// A Markdown link or picture; what stands before it tells it from an indexed call.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(\w?)!?\[([^\[\]]*)\]\(((?:[^()]|\([^()]*\))*)\)"));
static URL: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?i)(?:[a-z][a-z0-9+.-]*://|(?:mailto|javascript|vbscript|xmpp):[^\s:]|\bdata:[^\s:]|www\.)[^\s<>"'`)\]]*"#,
    )
});
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"[\w.%+-]*[\w%+-]@(?:[\w-]+\.)+[^\W\d_][\w-]*[^\W\d_]"));
static COMMIT: LazyLock<Regex> = LazyLock::new(|| expression(r"([0-9a-fA-F]{7})[0-9a-fA-F]{33,}"));
/// A character spelled out, which a renderer would put back.
static ENTITY: LazyLock<Regex> = LazyLock::new(|| expression(r"&(#?[0-9A-Za-z]+;)"));

fn without_links(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..LOOKS {
        // A picture may be the text of a link, so the inner one goes first.
        match LINK.replace_all(&text, link_text) {
            Cow::Borrowed(_) => break,
            Cow::Owned(shorter) => text = shorter,
        }
    }
    let text = URL.replace_all(&text, "[link removed]");
    let text = ADDRESS.replace_all(&text, "[address removed]");
    let text = COMMIT.replace_all(&text, "$1…");
    ENTITY.replace_all(&text, "＆$1").into_owned()
}

/// Returns the text alone; a call of what an index gives keeps all its parts.
fn link_text(link: &Captures<'_>) -> String {
    if link[1].is_empty() { link[2].to_owned() } else { format!("{}[{}] ({})", &link[1], &link[2], &link[3]) }
}

/// Writes the text sign by sign, and never one that means something after those already written.
fn without_signs(text: &str) -> String {
    let text = text.trim_start_matches([':', '#', '>', ' ']);
    let mut out = String::with_capacity(text.len());
    let mut open_tags = 0_u32;
    for character in text.chars() {
        match character {
            '<' => {
                open_tags += 1;
                out.push('‹');
            }
            '>' if open_tags > 0 => {
                open_tags -= 1;
                out.push('›');
            }
            '/' if out.ends_with(":/") => {
                out.pop();
                out.push_str(" //");
            }
            '.' if ends_with_word(&out, "www") => out.push(' '),
            // A log that wraps at blanks would otherwise begin a line with `::`, which is a command to a runner.
            ':' if out.ends_with(" :") => {
                out.pop();
            }
            '(' if out.ends_with(']') => out.push_str(" ("),
            '[' if out.ends_with("##") => out.push_str(" ["),
            other => {
                if other.is_alphanumeric() {
                    drop_calls(&mut out, other);
                }
                out.push(other);
            }
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes back what would make a mention or the number of an issue of the character that comes next.
fn drop_calls(out: &mut String, next: char) {
    if out.ends_with('@') {
        out.truncate(out.trim_end_matches('@').len());
        if out.ends_with(joins) {
            out.push_str(" at ");
        }
    }
    if !next.is_numeric() {
        return;
    }
    let begin = if out.ends_with('#') {
        out.trim_end_matches('#').len()
    } else if ends_with_word(out, "GH-") && !out[..out.len() - 3].ends_with(char::is_alphanumeric) {
        out.len() - 3
    } else {
        return;
    };
    out.truncate(begin);
    let blank = if out.ends_with(char::is_alphanumeric) { " " } else { "" };
    out.push_str(blank);
    out.push_str("no. ");
}

/// Returns whether a text ends with an ASCII word, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= word.len() && bytes[bytes.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let Some(length) = limit.checked_sub(1) else { return String::new() };
    let kept: String = text.chars().take(length).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(plain(text, 400), expect, "{text:?}");
    }

    static ISSUE: LazyLock<Regex> = LazyLock::new(|| expression(r"(?i)\bGH-\d"));

    /// Checks the promises that hold for every text.
    #[track_caller]
    fn check_harmless(text: &str, limit: usize) {
        let said = plain(text, limit);
        let lower = said.to_lowercase();
        for sign in ["://", "www.", "](", "<", "javascript:", "mailto:", "##[", " ::", "\n", "\r"] {
            assert!(!lower.contains(sign), "{sign:?} in {said:?} of {text:?}");
        }
        let is_mention = said.split('@').skip(1).any(|next| next.starts_with(char::is_alphanumeric));
        assert!(!is_mention, "{said:?} of {text:?}");
        let is_issue = said.split('#').skip(1).any(|next| next.starts_with(char::is_numeric));
        assert!(!is_issue, "{said:?} of {text:?}");
        assert!(!ISSUE.is_match(&said), "{said:?} of {text:?}");
        assert!(!lower.contains("&#") && !lower.contains("&lt;"), "{said:?}");
        assert!(!said.chars().any(|character| is_hidden(character) || character.is_control()), "{said:?}");
        assert!(!said.starts_with([':', '#', '>', ' ']), "{said:?} of {text:?}");
        assert!(!COMMIT.is_match(&said), "{said:?} of {text:?}");
        assert!(said.chars().count() <= limit, "{said:?} is longer than {limit}");
    }

    #[test]
    fn words_about_code_stay_as_they_are() {
        for text in [
            "`read_all` never closes *file*; see src/a.rs:12 (line 3)",
            "std::fs::read returns a Result, x -> y, a && b, a[0] + 1",
            "use data::Row and if a > b { c } # why",
            "日本語 is fine, é too — 100% of it",
            "",
        ] {
            check(text, text);
        }
        check("calls handlers[name](event)", "calls handlers[name] (event)");
        check("returns Vec<String>", "returns Vec‹String›");
    }

    #[test]
    fn what_leads_somewhere_or_calls_someone_is_named_only() {
        check("see https://evil.example/?q=1 now", "see [link removed] now");
        check("see (http://a.example)", "see ([link removed])");
        check("see www.evil.example/x", "see [link removed]");
        check("[click](https://evil.example) ![x](y \"z\")", "click x");
        check("[![a](b)](c(d))", "a");
        check("thanks @octocat and @org/team", "thanks octocat and org/team");
        check("uses actions/checkout@v4", "uses actions/checkout at v4");
        check("mail a.b+c@evil.example.", "mail [address removed].");
        check("mailto:a@b.example", "[link removed]");
        check("fixes #123, GH-123, o/r#7", "fixes no. 123, no. 123, o/r no. 7");
        check("<b>x</b>", "‹b›x‹/b›");
        check("::error file=x::y", "error file=x::y");
        check("at 0123456789012345678901234567890123456789.", "at 0123456….");
        check("see ::error file=x::y and a :::stop", "see error file=x::y and a :stop");
        check("a\r\n\t b\u{200b}\u{2028}c", "a b c");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(plain("abcdef", 6), "abcdef");
        assert_eq!(plain("abcdef", 4), "abc…");
        assert_eq!(plain("ab def", 4), "ab…");
        assert_eq!(plain("日本語だ", 2), "日…");
        assert_eq!(plain("abc", 1), "…");
        assert_eq!(plain("abc", 0), "");
    }

    #[test]
    fn no_text_is_hostile_afterwards() {
        let hex = "0123456789abcdef".repeat(4);
        let hostile = [
            "https://evil.example",
            "HTTPS://EVIL.EXAMPLE",
            "ftp://evil.example/x",
            "1http://evil.example",
            "git+ssh://evil.example",
            "htt\u{200b}p://evil.example",
            "http:\u{2060}//evil.example",
            "http:/\u{fe0f}/evil.example",
            "h@ttp://evil.example",
            "http:@//evil.example",
            "://evil.example",
            "http:////evil.example",
            "www.evil.example",
            "WWW.evil.example",
            "ww@w.evil.example",
            "www..evil.example",
            "wwwwww.www.evil.example",
            "<https://evil.example>",
            "[a](https://evil.example)",
            "![a](https://evil.example/x.png \"t\")",
            "[a](b(c)d)",
            "[a](b(c(d)e)f)",
            "[[a]](b)",
            "[a]\u{200b}(b)",
            "[a](<b c>)",
            "[a] (b)](c)",
            "[![a](b)](c)",
            "mailto:a@evil.example",
            "java@script:alert(1)",
            "JavaScript:alert(1)",
            "jav\u{ad}ascript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "@octocat",
            "@@octocat",
            "a@@@@@@@@@@octocat",
            "@\u{200d}octocat",
            "#@1",
            "@#1",
            "@é",
            "a@b.example@c.example",
            "\"a b\"@evil.example",
            "&#64;octocat &commat;octocat &#x40;octocat",
            "&lt;script&gt;",
            "&#104;ttp&colon;//evil.example",
            "#123",
            "##123",
            "#\u{200b}123",
            "#٣",
            "GH-123",
            "gh-123",
            "G@H-1",
            "GH-@1",
            "owner/repo#123",
            "<script>alert(1)</script>",
            "<!-- x -->",
            "<img src=x onerror=alert(1)>",
            "::error file=a,line=1::x",
            "\n\n::set-output name=a::b",
            "a\n::error::b",
            "  :: ::stop-commands::x",
            "a ::error::b :\u{200b}:error::c :@:error::d",
            "#::error::x",
            "x ##[error]y",
            "#@#[error]y",
            "> quoted",
            "# heading",
            "\u{1b}[31mred\u{9b}0m",
            "\u{202e}gpj.exe",
            "\u{e0041}\u{e0042}x",
            &hex,
            &hex[..40],
            &hex.to_uppercase(),
            "a\u{0}b\u{7f}",
            "[x]: https://evil.example",
            "http://[::1]:80/@a#1",
        ];
        assert!(hostile.len() >= 40);
        for text in hostile {
            check_harmless(text, 400);
            for limit in [0, 1, 2, 5, 9, 12, 20] {
                check_harmless(text, limit);
            }
            for other in hostile {
                check_harmless(&format!("{text}{other}"), 400);
            }
        }
    }
}
