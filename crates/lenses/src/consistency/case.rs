//! Ways to write names, and whether a name is written in one of them.

/// Result of comparing a value with a convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The value follows the convention.
    Keeps,
    /// The value breaks the convention.
    Breaks,
    /// The value would look the same under another convention, so it is no evidence.
    Silent,
}

/// A way to write a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Style {
    Snake,
    Camel,
    Pascal,
    Kebab,
    Screaming,
    /// Go's: no underscores, whatever the first letter.
    Mixed,
    /// No capitals, however words are joined.
    Lower,
}

impl Style {
    pub(crate) const ALL: &'static [Self] =
        &[Self::Snake, Self::Camel, Self::Pascal, Self::Kebab, Self::Screaming, Self::Mixed, Self::Lower];

    /// The word for it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Snake => "snake_case",
            Self::Camel => "camelCase",
            Self::Pascal => "PascalCase",
            Self::Kebab => "kebab-case",
            Self::Screaming => "SCREAMING_SNAKE_CASE",
            Self::Mixed => "MixedCaps",
            Self::Lower => "lower case",
        }
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|style| style.text() == text)
    }

    /// Compares a name with this style. Leading and trailing underscores, which some languages use for "private", are
    /// ignored.
    pub(crate) fn fit(self, name: &str) -> Fit {
        let name = name.trim_matches('_');
        let upper = name.bytes().any(|byte| byte.is_ascii_uppercase());
        let lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
        let joined = name.contains(['_', '-']);
        let first_upper = name.starts_with(|first: char| first.is_ascii_uppercase());
        if !upper && !lower || !name.is_ascii() {
            return Fit::Silent;
        }
        let fits = match self {
            Self::Snake => !upper && !name.contains('-'),
            Self::Camel => !first_upper && !joined,
            Self::Pascal => first_upper && !joined,
            Self::Kebab => !upper && !name.contains('_'),
            Self::Screaming => !lower && !name.contains('-'),
            Self::Mixed => !joined,
            Self::Lower => !upper,
        };
        let one_word = match self {
            Self::Snake | Self::Camel | Self::Kebab => !upper && !joined,
            Self::Pascal | Self::Lower => false,
            Self::Screaming => !lower && !joined,
            Self::Mixed => !(joined || upper && lower),
        };
        match (fits, one_word) {
            (true, true) => Fit::Silent,
            (true, false) => Fit::Keeps,
            (false, _) => Fit::Breaks,
        }
    }

    /// The name written like this.
    pub(crate) fn rewrite(self, name: &str) -> String {
        let core = name.trim_matches('_');
        let (before, after) = name.split_once(core).unwrap_or(("", ""));
        let words = words(core);
        let written = match self {
            Self::Snake | Self::Lower => words.join("_"),
            Self::Kebab => words.join("-"),
            Self::Screaming => words.join("_").to_ascii_uppercase(),
            Self::Pascal => capitalized(&words),
            Self::Mixed if core.starts_with(|first: char| first.is_ascii_uppercase()) => capitalized(&words),
            Self::Camel | Self::Mixed => words
                .split_first()
                .map_or_else(String::new, |(first, rest)| first.clone() + &capitalized(rest)),
        };
        format!("{before}{written}{after}")
    }
}

/// Joins words, each with a capital.
fn capitalized(words: &[String]) -> String {
    let mut joined = String::new();
    for word in words {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

/// The words of a name, in lower case; `parseHTTPBody2` is `parse http body2`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        if matches!(letter, '_' | '-') {
            words.push(String::new());
            continue;
        }
        let before = index.checked_sub(1).map(|before| letters[before]);
        let after_small = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        let begins_word = before.is_some_and(|before| before.is_ascii_uppercase())
            && letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_small || begins_word) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_a_style_breaks_it_or_says_nothing_about_it() {
        let (keeps, breaks, silent) = (Fit::Keeps, Fit::Breaks, Fit::Silent);
        let cases = [
            ("read_all", [keeps, breaks, breaks, breaks, breaks, breaks, keeps]),
            ("readAll", [breaks, keeps, breaks, breaks, breaks, keeps, breaks]),
            ("ReadAll", [breaks, breaks, keeps, breaks, breaks, keeps, breaks]),
            ("read-all", [breaks, breaks, breaks, keeps, breaks, breaks, keeps]),
            ("READ_ALL", [breaks, breaks, breaks, breaks, keeps, breaks, breaks]),
            ("read", [silent, silent, breaks, silent, breaks, silent, keeps]),
            ("_read_", [silent, silent, breaks, silent, breaks, silent, keeps]),
            ("Read", [breaks, breaks, keeps, breaks, breaks, keeps, breaks]),
            ("__", [silent; 7]),
        ];
        for (name, fits) in cases {
            let seen: Vec<Fit> = Style::ALL.iter().map(|style| style.fit(name)).collect();
            assert_eq!(seen, fits, "{name}");
        }
    }

    #[test]
    fn a_name_written_in_a_style_does_not_break_it() {
        for name in ["read_all", "readAll2", "_parseHTTPBody", "ReadAll", "read-all", "READ_ALL"] {
            for style in Style::ALL {
                let written = style.rewrite(name);
                assert_ne!(style.fit(&written), Fit::Breaks, "{name} {written} {style:?}");
            }
        }
        assert_eq!(Style::Snake.rewrite("_parseHTTPBody"), "_parse_http_body");
        assert_eq!(Style::Mixed.rewrite("Read_all"), "ReadAll");
    }
}
