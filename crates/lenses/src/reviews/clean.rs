//! Removal of text that a person would not see, before a model reads a change.

use std::sync::LazyLock;

use regex::Regex;

use qa_contracts::ids::is_unprintable;

/// The replacement of a removed comment.
const COMMENT: &str = "[comment removed]";
/// The ends of the names of files whose comments nobody sees and nothing runs. In a page or a notebook what looks like a
/// comment may be code, so all of it is shown.
const MARKUP: &[&str] = &["markdown", "md", "mdc", "mdown", "mkd", "mkdn"];

/// Counts of what was removed from a text before a model sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Characters that do not show, or that reorder others.
    pub characters: u64,
    /// Comments of markup.
    pub comments: u64,
    /// Texts that stand for a picture, or that show only under a pointer.
    pub alt_texts: u64,
}

impl Cleaned {
    /// Returns whether a model sees the text as it is.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns the sum of both counts.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            characters: self.characters + other.characters,
            comments: self.comments + other.comments,
            alt_texts: self.alt_texts + other.alt_texts,
        }
    }
}

/// An opening bracket.
struct Bracket {
    /// Offset behind it.
    inside: usize,
    is_picture: bool,
}

/// Cleans lines that follow one another; a comment or a tag may go on in the next.
#[derive(Debug, Clone)]
pub(crate) struct Cleaner {
    is_markup: bool,
    in_comment: bool,
    tag: Tag,
    /// The name of the attribute that a line ends with; its value may stand in the next.
    attribute: String,
    cleaned: Cleaned,
}

/// The state in a tag at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Outside,
    /// Between attributes; `hides` once the last of them shows nowhere and its value is still to come.
    Inside {
        hides: bool,
    },
    /// In the value of an attribute.
    Value {
        quote: char,
        hides: bool,
        counted: bool,
    },
}

impl Cleaner {
    /// Returns a cleaner at the beginning of a text.
    pub(crate) fn new(is_markup: bool) -> Self {
        Self {
            is_markup,
            in_comment: false,
            tag: Tag::Outside,
            attribute: String::new(),
            cleaned: Cleaned::default(),
        }
    }

    /// Returns a second cleaner in the same state, for the other side of a change. Its counts begin at zero.
    pub(crate) fn fork(&self) -> Self {
        Self { cleaned: Cleaned::default(), ..self.clone() }
    }

    /// Returns the next line, without its line end, as a model may see it.
    pub(crate) fn line(&mut self, text: &str) -> String {
        let mut line = self.without_hidden(text);
        if self.is_markup {
            line = self.without_comments(&line);
            line = self.without_picture_texts(&line);
            line = self.without_attributes(&line);
        }
        line
    }

    /// Returns the counts so far.
    pub(crate) fn cleaned(&self) -> Cleaned {
        self.cleaned
    }

    fn without_hidden(&mut self, text: &str) -> String {
        let shown: String = text.chars().filter(|&character| !is_hidden(character)).collect();
        if shown.len() < text.len() {
            self.cleaned.characters += text.chars().filter(|&character| is_hidden(character)).count() as u64;
        }
        shown
    }

    fn without_comments(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        loop {
            if self.in_comment {
                let Some(end) = rest.find("-->") else { return out };
                self.in_comment = false;
                rest = &rest[end + 3..];
            }
            let Some(start) = rest.find("<!--") else { break };
            out.push_str(&rest[..start]);
            out.push_str(COMMENT);
            self.cleaned.comments += 1;
            self.in_comment = true;
            // `<!-->` and `<!--->` are whole comments: their end may share its dashes with the beginning.
            rest = &rest[start + 2..];
        }
        out.push_str(rest);
        if HIDDEN_DEFINITION.is_match(&out) {
            self.cleaned.comments += 1;
            return COMMENT.to_owned();
        }
        out
    }

    /// Empties the brackets of pictures. Brackets pair as renderers pair them, each with the last open one.
    fn without_picture_texts(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut open: Vec<Bracket> = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' => {
                    out.push(character);
                    out.extend(characters.next());
                    continue;
                }
                '[' => open.push(Bracket { inside: out.len() + 1, is_picture: out.ends_with('!') }),
                ']' => {
                    if let Some(Bracket { inside, is_picture: true }) = open.pop()
                        && matches!(characters.peek(), Some('(' | '['))
                        && inside < out.len()
                    {
                        out.truncate(inside);
                        self.cleaned.alt_texts += 1;
                    }
                }
                _ => {}
            }
            out.push(character);
        }
        out
    }

    /// Empties the attributes of tags that hold text for somebody else than the reader.
    fn without_attributes(&mut self, text: &str) -> String {
        self.tag = self.tag.in_next_line(text);
        let mut name = std::mem::take(&mut self.attribute);
        if !text.trim_start().starts_with('=') {
            name.clear();
        }
        let mut out = String::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            let next = text[at + character.len_utf8()..].chars().next();
            let (tag, shows) = self.tag.after(character, next, &mut name);
            if !shows && !matches!(self.tag, Tag::Value { counted: true, .. }) {
                self.cleaned.alt_texts += 1;
            }
            self.tag = tag;
            if shows {
                out.push(character);
            }
        }
        self.attribute = name;
        out
    }
}

impl Tag {
    fn in_next_line(self, line: &str) -> Self {
        match self {
            // Beyond a blank line, a sign that only looked like the beginning of a tag has no effect.
            Self::Inside { .. } | Self::Value { .. } if line.trim().is_empty() => Self::Outside,
            Self::Value { quote: ' ', .. } => Self::Inside { hides: false },
            Self::Outside | Self::Inside { .. } | Self::Value { .. } => self,
        }
    }

    /// Returns the state after a character, and whether that character shows. `name` collects the name of an attribute.
    fn after(self, character: char, next: Option<char>, name: &mut String) -> (Self, bool) {
        match self {
            Self::Outside => {
                let begins = character == '<' && next.is_some_and(|next| next.is_ascii_alphabetic());
                name.clear();
                (if begins { Self::Inside { hides: false } } else { self }, true)
            }
            Self::Inside { hides } => Self::after_in_tag(character, next, hides, name),
            Self::Value { quote, hides, counted } => {
                let ends = if quote == ' ' {
                    character.is_whitespace() || character == '>'
                } else {
                    character == quote
                };
                if !ends {
                    return (Self::Value { quote, hides, counted: counted || hides }, !hides);
                }
                let outside = quote == ' ' && character == '>';
                (if outside { Self::Outside } else { Self::Inside { hides: false } }, true)
            }
        }
    }

    fn after_in_tag(character: char, next: Option<char>, hides: bool, name: &mut String) -> (Self, bool) {
        match character {
            '>' => (Self::Outside, true),
            '"' | '\'' => {
                name.clear();
                (Self::Value { quote: character, hides, counted: false }, true)
            }
            '=' => {
                let hides = ["alt", "title"].iter().any(|word| name.eq_ignore_ascii_case(word));
                name.clear();
                (Self::Inside { hides }, true)
            }
            _ if character.is_whitespace() || character == '/' => {
                // Blanks may stand between a name and its sign, and between the sign and the value.
                if next.is_some_and(|next| next != '=' && !next.is_whitespace()) {
                    name.clear();
                }
                (Self::Inside { hides }, true)
            }
            _ if hides => (Self::Value { quote: ' ', hides, counted: true }, false),
            _ => {
                name.push(character);
                (Self::Inside { hides }, true)
            }
        }
    }
}

/// A link that leads nowhere and whose title holds a text: it is never rendered, so it serves as a comment.
static HIDDEN_DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^[\s>*+-]*\[[^\]]+\]:\s*(?:#|<[^>]{0,100}>)\s*["'(]"#).expect("the expression is valid")
});

/// Returns whether a character is invisible, or moves others on the screen. A tab is not hidden.
pub(crate) fn is_hidden(character: char) -> bool {
    character != '\t'
        && (is_unprintable(character)
            || matches!(character,
                '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'))
}

/// Returns whether a file is rendered, so that it may have text that nobody sees: Markdown, HTML and their kin, by the
/// end of its name.
pub(crate) fn is_markup(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, end)| MARKUP.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(is_markup: bool, text: &str) -> (String, Cleaned) {
        let mut cleaner = Cleaner::new(is_markup);
        let lines: Vec<String> = text.split('\n').map(|line| cleaner.line(line)).collect();
        (lines.join("\n"), cleaner.cleaned())
    }

    #[track_caller]
    fn check(is_markup: bool, text: &str, expect: &str, [characters, comments, alt_texts]: [u64; 3]) {
        let cleaned = Cleaned { characters, comments, alt_texts };
        assert_eq!(clean(is_markup, text), (expect.to_owned(), cleaned), "{text:?}");
    }

    #[test]
    fn characters_that_nobody_sees_go_from_every_file() {
        let hidden = "\u{0}\u{1b}\u{7f}\u{85}\u{9b}\r\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{180e}\u{200b}\u{200c}\u{200d}\
            \u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{3164}\u{fe00}\u{fe0f}\
            \u{feff}\u{ffa0}\u{fff9}\u{e0000}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}";
        for character in hidden.chars() {
            check(false, &format!("a{character}b"), "ab", [1, 0, 0]);
            check(true, &format!("{character}<!-{character}- x -->"), COMMENT, [2, 1, 0]);
        }
        check(false, "\tlet é = \"日本\"; // 👍", "\tlet é = \"日本\"; // 👍", [0, 0, 0]);
    }

    #[test]
    fn a_source_file_keeps_its_comments() {
        for text in ["a <!-- b --> c", "![alt](target)", "<img alt=\"x\">", "[//]: # (x)"] {
            check(false, text, text, [0, 0, 0]);
        }
    }

    #[test]
    fn comments_of_markup_go() {
        check(true, "a <!-- b --> c", "a [comment removed] c", [0, 1, 0]);
        check(true, "<!--a--><!--b-->", "[comment removed][comment removed]", [0, 2, 0]);
        check(true, "a <!-- b\nhidden\n\nend --> c\nd", "a [comment removed]\n\n\n c\nd", [0, 1, 0]);
        check(true, "a <!-- b\nc --> d <!-- e\nf", "a [comment removed]\n d [comment removed]\n", [0, 2, 0]);
        check(true, "<!--> seen", "[comment removed] seen", [0, 1, 0]);
        check(true, "<!---> seen", "[comment removed] seen", [0, 1, 0]);
        check(true, "a <!- b --> c", "a <!- b --> c", [0, 0, 0]);
    }

    #[test]
    fn definitions_that_serve_as_comments_go() {
        for text in
            ["[//]: # (do this)", "[//]: # \"do this\"", "[comment]: <> (do this)", "> [x]: <#> 'do this'"]
        {
            check(true, text, COMMENT, [0, 1, 0]);
        }
        for text in ["[//]: #", "[a]: https://example.org (title)", "see [//] # (seen)"] {
            check(true, text, text, [0, 0, 0]);
        }
    }

    #[test]
    fn texts_of_pictures_go() {
        check(true, "a ![do this](x.png) b", "a ![](x.png) b", [0, 0, 1]);
        check(true, "![do [this] too](x.png)", "![](x.png)", [0, 0, 1]);
        check(true, "[![build](b.svg)](https://ci)", "[![](b.svg)](https://ci)", [0, 0, 1]);
        check(true, "![do this][ref]", "![][ref]", [0, 0, 1]);
        for text in ["![](x.png)", "[text](x)", "![seen]", "![seen\\](x)", "![a [seen](x)", "!\\[seen](x)"] {
            check(true, text, text, [0, 0, 0]);
        }
    }

    #[test]
    fn attributes_that_hold_hidden_text_go() {
        check(true, "<img src=\"a\" alt=\"do this\">", "<img src=\"a\" alt=\"\">", [0, 0, 1]);
        check(true, "<a TITLE = 'do > this' b>t</a>", "<a TITLE = '' b>t</a>", [0, 0, 1]);
        check(true, "<img alt=this src=a>", "<img alt= src=a>", [0, 0, 1]);
        check(true, "<img alt=this>seen", "<img alt=>seen", [0, 0, 1]);
        check(true, "<img\nalt=\"do\nthis\" x>\"seen\"", "<img\nalt=\"\n\" x>\"seen\"", [0, 0, 1]);
        check(true, "<img alt\n= \n'do' src=x\ny>", "<img alt\n= \n'' src=x\ny>", [0, 0, 1]);
        check(true, "<img alt=a\nsrc=b>", "<img alt=\nsrc=b>", [0, 0, 1]);
        check(true, "<img src=\"a\"alt=\"do\"/>", "<img src=\"a\"alt=\"\"/>", [0, 0, 1]);
        for text in [
            "<img alt=\"\" title=''>",
            "alt=\"seen\"",
            "a < b title=\"seen\"",
            "<a b=\"title='seen'\" subtitle=\"c\" data-alt='d'>",
            "<a b\n\ntitle=\"seen\"",
            "<a title b=\"c\">",
        ] {
            check(true, text, text, [0, 0, 0]);
        }
    }

    #[test]
    fn a_long_line_is_shown_whole() {
        let long = "é".repeat(100_000);
        check(false, &long, &long, [0, 0, 0]);
    }

    #[test]
    fn no_beginning_of_a_text_is_too_nasty() {
        let nasty = [
            "<!-- é --> ![ü[]](x) <img alt='日\u{202e}本' title=\u{e0041}b>\\",
            "<!--<!---->-->![![![]]](<a b=\"c\n\n'>\"=alt=alt = \"<!-",
            "[//]: # (\n[comment]: <> (x\\\n\\",
            "<a\talt\u{a0}=\u{a0}\u{200b}'x\n<!--\n\u{feff}-\u{200b}->👩\u{200d}👩",
        ];
        for text in nasty {
            for (end, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let (shown, _) = clean(true, &text[..end]);
                assert!(!shown.contains("<!--"), "{shown:?}");
                assert!(
                    !shown.chars().any(|character| character != '\n' && is_hidden(character)),
                    "{shown:?}"
                );
                assert_eq!(shown.split('\n').count(), text[..end].split('\n').count());
            }
        }
    }

    #[test]
    fn a_nasty_line_may_have_any_length() {
        for nasty in ["![", "<!--", "<a alt='", "![]", "[", "\\", "<!-->", " ", "> "] {
            let text = nasty.repeat(1 << 16);
            assert!(clean(true, &text).0.len() <= text.len() * 4);
        }
    }

    #[test]
    fn the_end_of_a_name_tells_markup() {
        for path in ["README.md", "docs/a.MD", "a/b.markdown"] {
            assert!(is_markup(path), "{path}");
        }
        for path in ["src/a.rs", "md", "a.md/b.rs", "a.mdb", "a.html", "a.mdx", "a.rmd", "a.svg"] {
            assert!(!is_markup(path), "{path}");
        }
    }

    #[test]
    fn what_was_taken_out_adds_up() {
        let one = clean(true, "a\u{200b}<!-- -->").1;
        let both = Cleaned { characters: 2, comments: 2, alt_texts: 0 };
        assert_eq!(one.with(one), both);
        assert!(!one.is_nothing() && Cleaned::default().is_nothing());
    }
}
