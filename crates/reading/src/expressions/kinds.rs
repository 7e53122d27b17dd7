//! Kinds of nodes that rules about expressions have something to say about, by number.

use std::sync::OnceLock;

use tree_sitter::Node;

use super::form::Class;
use crate::nodes::Tabled;
use crate::syntax::Language;

/// Classes of the kinds of one grammar, by number.
struct Classes(Vec<Class>);

impl Classes {
    fn for_language(language: Language) -> &'static Self {
        static ALL: [OnceLock<Classes>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        ALL[language as usize].get_or_init(|| {
            let grammar = language.grammar();
            let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let words = (0..count).map(|id| {
                let word = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id));
                word.map(Class::of).unwrap_or(Class::Other)
            });
            Self(words.collect())
        })
    }
}

/// Returns the class of a node.
pub(super) fn class(language: Language, node: Node<'_>) -> Class {
    Classes::for_language(language).0.get(usize::from(node.kind_id())).copied().unwrap_or(Class::Other)
}

/// Returns whether a node is more than a name, a literal or punctuation.
pub(super) fn is_of_interest(node: Node<'_>) -> bool {
    !node.is_comment() && node.named_child_count() > 0
}
