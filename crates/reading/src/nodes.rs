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
    /// Names with their numbers, sorted.
    fields: OnceLock<Vec<(String, u16)>>,
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

    fn number(&self, field: &str) -> Option<u16> {
        let fields = self.fields.get_or_init(|| {
            let numbers = 1..=u16::try_from(self.parser.field_count()).unwrap_or(u16::MAX);
            let named = numbers.filter_map(|id| Some((self.parser.field_name_for_id(id)?.to_owned(), id)));
            let mut fields: Vec<(String, u16)> = named.collect();
            fields.sort();
            fields
        });
        let at = fields.binary_search_by(|(known, _)| known.as_str().cmp(field)).ok()?;
        Some(fields[at].1)
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
    fn field(self, name: &str) -> Option<Self> {
        match Grammar::of(self) {
            Some(grammar) => self.child_by_field_id(grammar.number(name)?),
            None => self.child_by_field_name(name),
        }
    }

    fn properties(self) -> Option<&'static Kind> {
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
