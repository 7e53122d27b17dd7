//! Properties of the node kinds of a grammar, computed once, so that of each node only the number of its kind is read.

use std::sync::OnceLock;

use super::Language;
use super::behaviour::{Defines, is_function_value};
use super::callers::Binds;
use super::flow::{self, Runs};
use super::runs::is_later;
use super::shape::Class;

/// The kinds of one grammar, by number.
pub(crate) struct Kinds(Vec<Kind>);

/// Properties of one node kind.
pub(crate) struct Kind {
    pub(crate) word: String,
    /// False for punctuation and keywords.
    pub(super) named: bool,
    pub(crate) comment: bool,
    pub(super) string: bool,
    pub(super) runs: Option<Runs>,
    /// Set where what is inside runs later, if at all.
    pub(super) later: bool,
    pub(super) class: Class,
    pub(super) defines: Option<Defines>,
    pub(super) binds: Binds,
}

impl Kinds {
    /// Returns the kinds of a language.
    pub(crate) fn for_language(language: Language) -> &'static Self {
        static ALL: [OnceLock<Kinds>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
        ALL[language as usize].get_or_init(|| {
            let grammar = language.grammar();
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let kinds = (0..count).map(|id| {
                let word = grammar.node_kind_for_id(id).unwrap_or("").to_owned();
                Kind::new(word, grammar.node_kind_is_named(id))
            });
            let mut kinds: Vec<Kind> = kinds.collect();
            let has_values = kinds.iter().any(|kind| is_function_value(&kind.word));
            if !has_values && grammar.field_id_for_name("block").is_none() {
                kinds.iter_mut().for_each(|kind| {
                    kind.defines = kind.defines.filter(|defines| !defines.takes_value());
                });
            }
            Self(kinds)
        })
    }

    /// Returns the kind of a number; what is not in the grammar is what could not be parsed.
    pub(crate) fn get(&self, id: u16) -> Option<&Kind> {
        self.0.get(usize::from(id))
    }
}

impl Kind {
    fn new(word: String, named: bool) -> Self {
        let is_part =
            word.starts_with("string_") && word != "string_literal" || word.contains("concatenated");
        let string = word.contains("string") && !is_part
            || matches!(
                word.as_str(),
                "char_literal" | "character_literal" | "heredoc" | "heredoc_body" | "nowdoc" | "rune_literal"
            );
        Self {
            named,
            comment: word.ends_with("comment"),
            string,
            runs: flow::runs(&word),
            later: is_later(&word),
            class: Class::of(&word),
            defines: Defines::of(&word),
            binds: Binds::of(&word),
            word,
        }
    }
}
