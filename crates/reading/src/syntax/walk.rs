//! Visits every node of a tree once, without recursion, and lets the language say what it means.

use std::collections::BTreeSet;

use super::kinds::{Kind, Kinds};
use super::outline::{Import, ImportKind, Outline, Span, Symbol, SymbolKind};
use super::{Language, c, coroutines, csharp, ecma, flow, go, java, kotlin, php, python, ruby, rust};
use crate::escapes::unescaped;
use crate::tree::{Node, Tree};

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 1_000;

/// The properties that a node inherits from those around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Inside something that has a scope of its own.
    pub(super) nested: bool,
    /// Inside functions that are all called where they stand, so that what they import is imported with the file.
    pub(super) at_load: bool,
    /// Inside a branch.
    pub(super) conditional: bool,
    /// Inside something that catches a failed import.
    pub(super) guarded: bool,
    /// Inside something for types alone.
    pub(super) type_only: bool,
    /// Inside something handed on to other files.
    pub(super) exported: bool,
    /// Inside a list of type parameters.
    pub(super) type_parameters: bool,
}

/// The outline so far.
pub(super) struct Found<'t> {
    pub(super) text: &'t str,
    pub(super) outline: Outline,
    /// Nodes that were looked at twice; bounded by the length of the text.
    pub(super) flow_steps: usize,
    /// Names that stand for a value somewhere, where a language has types that leave nothing behind.
    pub(super) values: BTreeSet<&'t str>,
    /// The parts of classes around the current node, and of classes before it, whose methods are not for others; the
    /// innermost last.
    hidden: Vec<Span>,
    /// For each level around the current node, the attributes and comments right above it, in a language that has them
    /// beside what they belong to. The tree would search for each from its root.
    above: Vec<Vec<Node<'t>>>,
}

impl<'t> Found<'t> {
    pub(super) fn text(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    /// Returns the attributes and comments right above the current node, in their order.
    pub(super) fn above(&self) -> &[Node<'t>] {
        self.above.last().map(Vec::as_slice).unwrap_or_default()
    }

    /// Notes a node that was looked at, for those behind it.
    fn pass(&mut self, node: Node<'t>, kind: Option<&Kind>) {
        let Some(above) = self.above.last_mut().filter(|_| node.is_named()) else { return };
        match kind.map(|kind| kind.word.as_str()) {
            Some("attribute_item" | "line_comment" | "block_comment") => above.push(node),
            Some(_) | None => above.clear(),
        }
    }

    /// Notes a part of the text, not before the current node, whose methods are not for others.
    pub(super) fn hide(&mut self, part: Span) {
        self.hidden.push(part);
    }

    /// Returns whether a node, which none before it in the text was asked after, is for others to use.
    pub(super) fn is_shown(&mut self, node: Node<'_>) -> bool {
        let start = node.start_byte();
        while self.hidden.last().is_some_and(|part| part.end <= start) {
            self.hidden.pop();
        }
        !self.hidden.iter().any(|part| part.start <= start)
    }

    /// Returns the text of a field of a node; empty where the node has none.
    pub(super) fn field_text(&self, node: Node<'_>, field: &str) -> &'t str {
        node.field(field).map(|child| self.text(child)).unwrap_or_default()
    }

    /// Records a symbol whose name is a node.
    pub(super) fn symbol(
        &mut self,
        kind: SymbolKind,
        whole: Node<'_>,
        name: Node<'_>,
        exported: bool,
        place: Place,
    ) {
        self.outline.symbols.push(Symbol {
            name: self.text(name).to_owned(),
            kind,
            exported,
            top_level: !place.nested,
            conditional: place.conditional,
            span: span(whole),
            name_span: span(name),
        });
    }

    /// Returns an import without names, to be filled in.
    pub(super) fn import(
        &self,
        kind: ImportKind,
        whole: Node<'_>,
        module: String,
        at: Span,
        place: Place,
    ) -> Import {
        Import {
            kind,
            module,
            module_span: at,
            names: Vec::new(),
            alias: None,
            star: false,
            type_only: place.type_only,
            erased: false,
            top_level: !place.nested || place.at_load,
            conditional: place.conditional,
            guarded: place.guarded,
            span: span(whole),
        }
    }

    /// Returns the value of a string literal, and where it stands without its quotes, if nothing in it is computed.
    pub(super) fn plain_string(&self, node: Node<'_>) -> Option<(String, Span)> {
        let all = span(node);
        let text = all.of(self.text);
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        let escaped = inside.contains('\\');
        let computed = quote == '`' && inside.contains("${");
        let value = if escaped { unescaped(inside) } else { inside.to_owned() };
        let plain = !computed && !inside.starts_with(quote) && !value.contains([quote, '\n']);
        plain.then(|| (value, Span { start: all.start + 1, end: all.end - 1 }))
    }
}

pub(super) fn span(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

/// Returns whether one of the direct children is this word.
pub(super) fn has_word(node: Node<'_>, word: &str) -> bool {
    node.children().any(|child| child.word() == word)
}

/// Returns the outline of a tree.
pub(crate) fn outline<'t>(language: Language, tree: &'t Tree, text: &'t str) -> Outline {
    let mut found = Found {
        text,
        outline: Outline::default(),
        flow_steps: 0,
        values: BTreeSet::new(),
        hidden: Vec::new(),
        above: vec![Vec::new(); usize::from(language == Language::Rust)],
    };
    let kinds = Kinds::for_language(language);
    let mut cursor = tree.walk();
    let mut places = vec![Place::default()];
    loop {
        let node = cursor.node();
        let kind = kinds.get(node.kind_id());
        let place = places.last().copied().unwrap_or_default();
        let inside = if node.is_error() || node.is_missing() || places.len() > MAX_DEPTH {
            if !is_variance(node, place, text) {
                found.outline.broken.push(span(node));
            }
            None
        } else {
            visit(language, kind, &mut found, node, place)
        };
        found.pass(node, kind);
        if let Some(inside) = inside
            && cursor.goto_first_child()
        {
            places.push(inside);
            if language == Language::Rust {
                found.above.push(Vec::new());
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return finished(language, found, tree.root_node());
            }
            places.pop();
            found.above.pop();
        }
    }
}

/// Returns whether the error is `in` or `out` before a type parameter, which is newer than the grammar and hides
/// nothing around it.
fn is_variance(node: Node<'_>, place: Place, text: &str) -> bool {
    let text = span(node).of(text);
    place.type_parameters
        && node.is_error()
        && !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || " _$".contains(character))
}

fn visit(
    language: Language,
    kind: Option<&Kind>,
    found: &mut Found<'_>,
    node: Node<'_>,
    place: Place,
) -> Option<Place> {
    // Words and punctuation of the language have nothing inside and mean nothing by themselves.
    let Some(kind) = kind.filter(|kind| kind.named) else { return Some(place) };
    if kind.comment {
        found.outline.comments.push(span(node));
        return None;
    }
    if kind.string {
        found.outline.strings.push(span(node));
    }
    let word = kind.word.as_str();
    if matches!(
        word,
        "annotation" | "attribute_item" | "attribute_list" | "inner_attribute_item" | "marker_annotation"
    ) {
        found.outline.attributes.push(span(node));
    }
    if let Some(runs) = kind.runs {
        flow::note(found, node, runs, word);
    }
    let inside = match language {
        Language::C | Language::Cpp => c::visit(found, node, word, place),
        Language::CSharp => csharp::visit(found, node, word, place),
        Language::Go => go::visit(found, node, word, place),
        Language::Java => java::visit(found, node, word, place),
        Language::Kotlin => kotlin::visit(found, node, word, place),
        Language::Php => php::visit(found, node, word, place),
        Language::Python => python::visit(found, node, word, place),
        Language::Ruby => ruby::visit(found, node, word, place),
        Language::Rust => rust::visit(found, node, word, place),
        Language::JavaScript | Language::Tsx | Language::TypeScript => ecma::visit(found, node, word, place),
    };
    Some(inside)
}

fn finished(language: Language, mut found: Found<'_>, root: Node<'_>) -> Outline {
    match language {
        Language::JavaScript => ecma::weaken_own_require(&mut found),
        Language::Tsx | Language::TypeScript => {
            ecma::weaken_own_require(&mut found);
            ecma::leave_out_types(&mut found);
        }
        Language::Python => {
            found.outline.module = true;
            coroutines::note(&mut found, root);
        }
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Java
        | Language::Kotlin
        | Language::Php
        | Language::Ruby
        | Language::Rust => {
            found.outline.module = true;
        }
    }
    found.outline
}
