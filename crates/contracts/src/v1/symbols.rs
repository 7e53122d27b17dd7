//! The identifiers of a hunk's heading in one piece: a large change has hundreds of thousands of such lists.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of words; on the wire an array of strings.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Symbols {
    /// Each word and a line end.
    words: Box<str>,
}

impl Symbols {
    /// The words in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.split_terminator('\n')
    }

    /// The words, none of which may have a line end in it.
    fn joined<'w>(words: impl Iterator<Item = &'w str>) -> Option<Self> {
        let mut joined = String::new();
        for word in words {
            if word.contains('\n') {
                return None;
            }
            joined.push_str(word);
            joined.push('\n');
        }
        Some(Self { words: joined.into() })
    }
}

impl<'w> FromIterator<&'w str> for Symbols {
    /// Words are identifiers, so no word has a line end in it.
    fn from_iter<I: IntoIterator<Item = &'w str>>(words: I) -> Self {
        Self::joined(words.into_iter()).expect("an identifier has no line end")
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Symbols {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = Symbols;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of identifiers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Symbols, A::Error> {
                let mut words: Vec<String> = Vec::new();
                while let Some(word) = sequence.next_element()? {
                    words.push(word);
                }
                Symbols::joined(words.iter().map(String::as_str))
                    .ok_or_else(|| A::Error::custom("an identifier has no line end"))
            }
        }

        deserializer.deserialize_seq(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_an_array_of_strings() {
        for (symbols, json) in [(&[][..], "[]"), (&["fn", "first"], r#"["fn","first"]"#), (&[""], r#"[""]"#)]
        {
            let symbols: Symbols = symbols.iter().copied().collect();
            assert_eq!(serde_json::to_string(&symbols).unwrap(), json);
            assert_eq!(serde_json::from_str::<Symbols>(json).unwrap(), symbols);
        }
        assert!(serde_json::from_str::<Symbols>(r#"["two\nwords"]"#).is_err());
    }
}
