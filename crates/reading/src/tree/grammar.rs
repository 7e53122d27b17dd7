//! Names of the kinds and fields of each grammar, by number.

use std::sync::{LazyLock, OnceLock};

use crate::syntax::{Kind, Kinds, Language};

/// A grammar with its names.
#[derive(Debug)]
pub(crate) struct Grammar {
    parser: tree_sitter::Language,
    /// `None` for shells, which are no language of the outline.
    language: Option<Language>,
    names: OnceLock<Names>,
}

#[derive(Debug)]
struct Names {
    kinds: Vec<&'static str>,
    /// By number from 1 on.
    fields: Vec<&'static str>,
    slots: Slots,
}

/// Numbers of fields by the hash of the name. A name that is written out has its hash computed when it is compiled.
#[derive(Debug)]
struct Slots(Vec<Option<Field>>);

#[derive(Debug, Clone, Copy)]
struct Field {
    name: &'static str,
    number: u16,
}

const SLOTS: usize = 512;

/// Name of the kind of what could not be parsed, which has no number in a grammar.
const ERROR: &str = "ERROR";

static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| {
    let languages = Language::ALL.iter().map(|language| Grammar::new(language.grammar(), Some(*language)));
    languages.chain([Grammar::new(tree_sitter_bash::LANGUAGE.into(), None)]).collect()
});

impl Grammar {
    fn new(parser: tree_sitter::Language, language: Option<Language>) -> Self {
        Self { parser, language, names: OnceLock::new() }
    }

    /// Returns the grammar of a parser.
    pub(super) fn of(parser: &tree_sitter::Language) -> &'static Self {
        let found = GRAMMARS.iter().find(|grammar| grammar.parser == *parser);
        found.expect("every parser here has one of these grammars")
    }

    fn names(&'static self) -> &'static Names {
        self.names.get_or_init(|| Names::new(&self.parser))
    }

    pub(super) fn word(&'static self, kind: u16) -> &'static str {
        self.names().kinds.get(usize::from(kind)).copied().unwrap_or(ERROR)
    }

    pub(super) fn properties(&self, kind: u16) -> Option<&'static Kind> {
        Kinds::for_language(self.language?).get(kind)
    }

    #[inline]
    pub(super) fn field(&'static self, name: &str) -> Option<u16> {
        self.names().slots.number(name)
    }

    pub(super) fn field_name(&'static self, number: u16) -> Option<&'static str> {
        self.names().fields.get(usize::from(number.checked_sub(1)?)).copied()
    }
}

impl Names {
    fn new(parser: &'static tree_sitter::Language) -> Self {
        let kinds = 0..u16::try_from(parser.node_kind_count()).unwrap_or(u16::MAX);
        let fields = 1..=u16::try_from(parser.field_count()).unwrap_or(u16::MAX);
        let fields: Vec<&'static str> =
            fields.map(|number| parser.field_name_for_id(number).unwrap_or_default()).collect();
        Self {
            kinds: kinds.map(|kind| parser.node_kind_for_id(kind).unwrap_or_default()).collect(),
            slots: Slots::new(&fields),
            fields,
        }
    }
}

impl Slots {
    fn new(fields: &[&'static str]) -> Self {
        let mut slots: Vec<Option<Field>> = vec![None; SLOTS];
        for (name, number) in fields.iter().zip(1..) {
            let free = (slot(name)..SLOTS).chain(0..SLOTS).find(|at| slots[*at].is_none());
            slots[free.expect("no grammar has so many fields")] = Some(Field { name, number });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_every_grammar_has_its_number() {
        for grammar in GRAMMARS.iter() {
            for number in 1..=u16::try_from(grammar.parser.field_count()).unwrap() {
                let name = grammar.parser.field_name_for_id(number).unwrap();
                assert_eq!(grammar.field(name), Some(number), "{name} of {:?}", grammar.language);
                assert_eq!(grammar.field_name(number), Some(name));
            }
            assert_eq!(grammar.field("no field"), None);
            assert_eq!(grammar.field_name(0), None);
        }
    }
}
