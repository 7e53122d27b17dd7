//! Parsers of option values.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use qa_contracts::v1::{GateName, ObserverMode, Preset, RunMode, RunStage};
use qa_core::shard::Shard;
use qa_run::reviews::RepliesMode;

/// Enum of the contract whose words are values of an option.
pub(crate) trait Word: Copy + Clone + Send + Sync + 'static {
    fn parse_word(text: &str) -> Option<Self>;
    fn all_words() -> Vec<&'static str>;
}

macro_rules! word {
    ($name:ident) => {
        impl Word for $name {
            fn parse_word(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }

            fn all_words() -> Vec<&'static str> {
                Self::ALL.iter().map(|word| word.as_str()).collect()
            }
        }
    };
}
word!(GateName);
word!(RunMode);
word!(ObserverMode);
word!(Preset);
word!(RunStage);

/// Returns a parser of the words of an enum of the contract.
pub(crate) fn word_parser<T: Word>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::all_words())
        .map(|text| T::parse_word(&text).expect("the parser accepts known words only"))
}

/// Returns a parser of the words of [`RepliesMode`].
pub(crate) fn parse_replies() -> impl TypedValueParser<Value = RepliesMode> {
    PossibleValuesParser::new(RepliesMode::ALL.map(|(_, word)| word))
        .map(|text| RepliesMode::parse(&text).expect("the parser accepts known words only"))
}

/// Parses `K/N`.
pub(crate) fn parse_shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).ok_or_else(|| "expected K/N with K from 1 to N and N up to 256".to_owned())
}
