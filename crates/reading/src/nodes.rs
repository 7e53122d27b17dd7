//! Fields and kinds of a node by tables of each grammar. Its own search compares a field's name with each that it has,
//! and measures and checks a kind's name whenever it is asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use tree_sitter::Node;

use crate::syntax::{Kind, Kinds, Language};

/// A grammar with its fields.
struct Grammar {
    parser: tree_sitter::Language,
    language: Language,
    fields: OnceLock<Fields>,
}

/// The fields of a grammar, by the hash of the name. A name that is written out has its hash computed when it is compiled.
struct Fields(Vec<Option<Field>>);

struct Field {
    name: String,
    number: u16,
}

const SLOTS: usize = 512;

impl Fields {
    fn new(parser: &tree_sitter::Language) -> Self {
        let mut slots: Vec<Option<Field>> = (0..SLOTS).map(|_| None).collect();
        let numbers = 1..=u16::try_from(parser.field_count()).unwrap_or(u16::MAX);
        for (name, number) in numbers.filter_map(|id| Some((parser.field_name_for_id(id)?, id))) {
            let free = (slot(name)..SLOTS).chain(0..SLOTS).find(|at| slots[*at].is_none());
            slots[free.expect("no grammar has so many fields")] =
                Some(Field { name: name.to_owned(), number });
        }
        Self(slots)
    }

    #[inline]
    fn number(&self, name: &str) -> Option<u16> {
        let from = slot(name);
        let mut fields = self.0[from..].iter().chain(&self.0).map_while(Option::as_ref);
        fields.find(|field| field.name == name).map(|field| field.number)
    }
}

/// Returns where a field is looked for first.
#[inline(always)]
fn slot(name: &str) -> usize {
    let hash = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    hash as usize % SLOTS
}

static GRAMMARS: LazyLock<Vec<Grammar>> =
    LazyLock::new(|| Language::ALL.iter().copied().map(Grammar::new).collect());

impl Grammar {
    fn new(language: Language) -> Self {
        Self { parser: language.grammar(), language, fields: OnceLock::new() }
    }

    fn of(node: Node<'_>) -> Option<&'static Self> {
        /// Position of the grammar that was asked for last.
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let (parser, all) = (node.language(), &*GRAMMARS);
        let last = &all[LAST.load(Ordering::Relaxed)];
        if last.parser == *parser {
            return Some(last);
        }
        let at = all.iter().position(|grammar| grammar.parser == *parser)?;
        LAST.store(at, Ordering::Relaxed);
        Some(&all[at])
    }

    #[inline]
    fn number(&self, field: &str) -> Option<u16> {
        self.fields.get_or_init(|| Fields::new(&self.parser)).number(field)
    }
}

pub(crate) trait Tabled<'t> {
    /// Like `child_by_field_name`.
    fn field(self, name: &str) -> Option<Node<'t>>;

    /// Returns what is known of the kind; `None` for what could not be parsed.
    fn properties(self) -> Option<&'static Kind>;

    /// Like `kind`.
    fn word(self) -> &'t str;

    #[expect(clippy::wrong_self_convention, reason = "a node is a reference")]
    fn is_comment(self) -> bool;
}

impl<'t> Tabled<'t> for Node<'t> {
    #[inline]
    fn field(self, name: &str) -> Option<Self> {
        crate::work::count();
        match Grammar::of(self) {
            Some(grammar) => self.child_by_field_id(grammar.number(name)?),
            None => self.child_by_field_name(name),
        }
    }

    fn properties(self) -> Option<&'static Kind> {
        crate::work::count();
        Kinds::for_language(Grammar::of(self)?.language).get(self.kind_id())
    }

    fn word(self) -> &'t str {
        match self.properties() {
            Some(kind) => &kind.word,
            None => self.kind(),
        }
    }

    fn is_comment(self) -> bool {
        self.properties().is_some_and(|kind| kind.comment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_every_grammar_has_its_number() {
        for grammar in GRAMMARS.iter() {
            let fields = Fields::new(&grammar.parser);
            for id in 1..=u16::try_from(grammar.parser.field_count()).unwrap() {
                let name = grammar.parser.field_name_for_id(id).unwrap();
                assert_eq!(fields.number(name), Some(id), "{name} of {:?}", grammar.language);
            }
            assert_eq!(fields.number("no field"), None);
        }
    }
}
