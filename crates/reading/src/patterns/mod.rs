//! Matches patterns over the syntax trees of source files.
//!
//! A pattern is a piece of code in the language that it is for: `subprocess.run($COMMAND, ..., shell=True)`. `$NAME`
//! stands for one expression, `...` for any arguments. Names are resolved through the imports of the file, strings are
//! compared by value, named arguments and members in any order; comments, parentheses, casts and trailing commas mean
//! nothing.

mod assignments;
mod compile;
#[cfg(test)]
mod constant_tests;
mod constants;
mod definition;
mod grammar;
mod matcher;
mod names;
mod plain;
mod search;
mod shape;
#[cfg(test)]
mod tests;
mod words;

use std::sync::{Arc, OnceLock};

pub use compile::{Pattern, PatternError};
pub use definition::{Context, Definition, Variable};
pub use grammar::Grammar;
pub use search::{Found, Match, Patterns};
pub use words::Words;

use crate::syntax::{self, CURRENT_WITHIN, Cache, Outline, Span};
use names::Bindings;
use plain::PlainTree;

/// Cache of the last texts, with the names that each binds: lenses search the same file one after the other.
static PARSED: Cache<Grammar, Arc<ParsedText>> = Cache::new(CURRENT_WITHIN);

/// A text that was parsed; the text itself is kept by the caller.
#[derive(Debug)]
pub struct ParsedText {
    grammar: Grammar,
    tree: Tree,
    bindings: OnceLock<Bindings>,
    outline: OnceLock<Arc<Outline>>,
}

#[derive(Debug)]
enum Tree {
    Parsed(crate::tree::Tree),
    Plain(PlainTree),
    /// The text is too large or takes too long.
    Unread,
}

impl Tree {
    fn new(tree: Option<crate::tree::Tree>) -> Self {
        match tree {
            Some(tree) => Self::Parsed(tree),
            None => Self::Unread,
        }
    }

    fn parsed(&self) -> Option<&crate::tree::Tree> {
        match self {
            Self::Parsed(tree) => Some(tree),
            Self::Plain(_) | Self::Unread => None,
        }
    }
}

/// A parsed text beside its text.
#[derive(Debug, Clone, Copy)]
pub struct Code<'t> {
    text: &'t str,
    parsed: &'t ParsedText,
}

impl ParsedText {
    /// Parses a text by the language of its path, or returns `None` where that has no grammar.
    pub fn parse(path: &str, text: &str) -> Option<Arc<Self>> {
        let grammar = Grammar::for_path(path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_page = syntax::Language::from_path(path).is_none() && grammar == Grammar::JavaScript;
        Some(match is_page {
            true => Arc::new(Self::parse_page(name, text)),
            false => PARSED.get_or_compute(grammar, text, || Arc::new(Self::parse_file(grammar, text))),
        })
    }

    fn parse_file(grammar: Grammar, text: &str) -> Self {
        let parsed = Self::parse_whole(grammar, text);
        // Types in a file of JavaScript are those of Flow, which are written as those of TypeScript are.
        if grammar == Grammar::JavaScript && parsed.has_errors() {
            let typed = Self::parse_whole(Grammar::Tsx, text);
            if !typed.has_errors() {
                return typed;
            }
        }
        parsed
    }

    /// Like [`Self::parse_as`], with the tree that others read the text by as well.
    fn parse_whole(grammar: Grammar, text: &str) -> Self {
        match grammar.language() {
            Some(language) => Self::new(grammar, Tree::new(syntax::parse_tree_once(language, text))),
            None => Self::parse_as(grammar, text),
        }
    }

    fn parse_as(grammar: Grammar, text: &str) -> Self {
        let tree = if let Grammar::Plain(style) = grammar {
            if text.len() > syntax::MAX_BYTES { Tree::Unread } else { Tree::Plain(plain::parse(style, text)) }
        } else {
            parse_ranges(grammar, text, &[])
        };
        Self::new(grammar, tree)
    }

    fn new(grammar: Grammar, tree: Tree) -> Self {
        Self { grammar, tree, bindings: OnceLock::new(), outline: OnceLock::new() }
    }

    /// Parses the scripts of a page.
    fn parse_page(name: &str, text: &str) -> Self {
        let scripts = scripts(name, text);
        let typed = scripts.iter().any(|script| script.typed);
        let grammar = if typed { Grammar::TypeScript } else { Grammar::JavaScript };
        let spans: Vec<Span> = scripts.into_iter().map(|script| script.span).collect();
        let tree = match spans.is_empty() {
            true => Tree::Plain(PlainTree::empty()),
            false => parse_ranges(grammar, text, &spans),
        };
        Self::new(grammar, tree)
    }

    fn has_errors(&self) -> bool {
        match &self.tree {
            Tree::Parsed(tree) => tree.root_node().has_error(),
            Tree::Plain(_) => false,
            Tree::Unread => true,
        }
    }

    /// Returns whether the text could be parsed, be it with errors.
    pub fn is_read(&self) -> bool {
        !matches!(self.tree, Tree::Unread)
    }
}

impl<'t> Code<'t> {
    /// Joins a parsed text with the text that it was parsed from.
    pub fn new(text: &'t str, parsed: &'t ParsedText) -> Self {
        Self { text, parsed }
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the grammar that the text was parsed by.
    pub fn grammar(&self) -> Grammar {
        self.parsed.grammar
    }

    /// Returns the outline of the text, made from the same tree; empty for a language that has none.
    pub fn outline(&self) -> &'t Outline {
        self.parsed.outline.get_or_init(|| {
            let language = self.parsed.grammar.language();
            Arc::new(match (language, &self.parsed.tree) {
                (Some(language), Tree::Parsed(tree)) => syntax::outline(language, tree, self.text),
                (Some(_), Tree::Unread) => syntax::unread(self.text),
                (_, Tree::Parsed(_) | Tree::Plain(_) | Tree::Unread) => Outline::default(),
            })
        })
    }

    fn bindings(&self) -> &'t Bindings {
        self.parsed.bindings.get_or_init(|| self.collect())
    }
}

fn parse_ranges(grammar: Grammar, text: &str, spans: &[Span]) -> Tree {
    Tree::new(grammar.parser().and_then(|parser| syntax::parse_tree(&parser, text, spans)))
}

/// A script in a page.
struct Script {
    span: Span,
    /// Set for TypeScript.
    typed: bool,
}

/// Finds the scripts of a page: what stands between `<script>` and `</script>`, and the front matter of Astro.
fn scripts(name: &str, text: &str) -> Vec<Script> {
    let mut found = Vec::new();
    let mut from = 0;
    if name.ends_with(".astro")
        && text.starts_with("---")
        && let Some(end) = text[3..].find("\n---")
    {
        found.push(Script { span: Span { start: 3, end: 4 + end }, typed: true });
        from = end;
    }
    let lower = text.to_ascii_lowercase();
    while let Some(tag) = lower[from..].find("<script") {
        let tag = from + tag;
        let Some(open) = lower[tag..].find('>').map(|end| tag + end + 1) else { break };
        let end = match lower[open..].find("</script") {
            Some(length) => open + length,
            None => text.len(),
        };
        let attributes = &lower[tag..open];
        let is_data = attributes.contains("json") || attributes.contains("template");
        if !is_data && open < end {
            let typed = attributes.contains("ts\"")
                || attributes.contains("ts'")
                || attributes.contains("typescript");
            found.push(Script { span: Span { start: open, end }, typed });
        }
        from = end;
    }
    found
}
