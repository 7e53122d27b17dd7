//! Facts about what the functions of a file do, by which two versions of it are compared.

mod bodies;
mod checks;
mod conditions;
mod detached;
mod drops;
mod guards;
mod matchers;
mod names;
mod rust_checks;
mod statements;
mod tables;
mod tolerance;
mod types;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::kinds::{Kind, Kinds};
use super::outline::Span;
use super::spelled::{Paths, Speller};
use super::walk::span;
use super::{Language, OtherVersion, parse_version_once};
use crate::tree::{Node, Tree, TreeCursor};

pub use bodies::Effect;
pub use checks::{Check, Demand};
pub use drops::{Fate, Handler};
pub use guards::Guard;
pub(crate) use names::{Defines, is_function_value};
pub use statements::Statement;
pub use tables::{Row, Table};
pub use tolerance::Tolerance;
pub use types::Declared;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;

/// The functions of a file in the order of the text; the first is the file itself.
#[derive(Debug)]
pub struct Behaviour<'t> {
    pub functions: Vec<Function<'t>>,
}

/// A function, or the test that a call makes of one. What it does is read when it is asked for: of most functions of a
/// file no line changes.
#[derive(Debug)]
pub struct Function<'t> {
    /// Names of the definitions around it and its own, joined by dots; the title of a test that a call makes.
    pub path: String,
    pub span: Span,
    /// The definition without its body.
    pub head: Span,
    /// Comments in the body.
    pub comments: Vec<Span>,
    /// Set where a part of it could not be parsed.
    pub is_broken: bool,
    source: &'t ParsedSource<'t>,
    node: Node<'t>,
    /// Number of nodes around it.
    depth: usize,
    facts: OnceCell<Facts>,
    checks: OnceCell<Vec<Check>>,
    /// Numbers of assertions by their text.
    times: OnceCell<BTreeMap<String, usize>>,
}

/// Effects and results of a function, without those of the functions in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub effect: Effect,
    /// Statement that the effect is read from, or the body.
    pub statement: Span,
    /// Number of calls, assignments and branches in the body.
    pub deeds: usize,
    /// Condition on a setting of the process that all of the body depends on.
    pub switched_by: Option<Span>,
    /// Statement that leaves the function before others of its body, in every run that does not ask for the others.
    pub cut: Option<Span>,
    /// String at the begin of the body that documents it.
    pub documentation: Option<Span>,
    /// Names of the functions that it calls.
    pub calls: BTreeSet<String>,
    pub handlers: Vec<Handler>,
    /// Clauses that run in any case and leave the function, so that a failure before them is forgotten.
    pub endings: Vec<Handler>,
    /// Places that run under a condition, or never.
    pub guards: Vec<Guard>,
    /// Values of names, as normalized texts; `None` for a name with several.
    pub values: BTreeMap<String, Option<String>>,
    pub loops: Vec<Span>,
    /// Statements whose code runs beside or behind the others, or whose failure nobody hears of.
    pub detached: Vec<Span>,
    /// Fates of the results of calls that may fail, by the called name.
    pub fates: BTreeMap<String, Fate>,
    /// Declared types of parameters, variables and the result.
    pub types: Vec<Declared>,
    /// Casts around the type checker, and code that the language does not check.
    pub escapes: Vec<Span>,
}

/// A parsed text.
#[derive(Debug)]
pub struct ParsedSource<'t> {
    language: Language,
    text: &'t str,
    tree: Tree,
}

impl<'t> ParsedSource<'t> {
    /// Parses a text, beside another version of it where there is one. Returns `None` for a text that is too large or
    /// takes too long to parse.
    pub fn parse(language: Language, text: &'t str, other: Option<&OtherVersion<'_>>) -> Option<Self> {
        let tree = parse_version_once(language, text, other)?;
        Some(Self { language, text, tree })
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    fn kinds(&self) -> &'static Kinds {
        Kinds::for_language(self.language)
    }

    /// Returns what a node defines, if it has a name.
    fn defined_by<'n>(&self, kind: &Kind, node: Node<'n>) -> Option<names::Definition<'n>> {
        names::definition(kind.defines?, self.language, self.text, node)
    }
}

impl<'t> Behaviour<'t> {
    /// Finds the functions of a text.
    pub fn new(source: &'t ParsedSource<'t>) -> Self {
        let root = source.tree.root_node();
        let whole = Function::new(source, root, String::new(), 0);
        let mut finder = Finder { source, kinds: source.kinds(), functions: vec![whole] };
        finder.visit(&mut root.walk(), Owner { function: 0, path: "" }, 0);
        Self { functions: finder.functions }
    }

    /// Returns the functions by path. Of several with one path, such as overloads, the parameters are part of the key;
    /// those that have them in common are left out.
    pub fn by_path(&self) -> BTreeMap<String, &Function<'t>> {
        let mut alike: BTreeMap<&str, usize> = BTreeMap::new();
        for function in self.functions.iter().skip(1) {
            *alike.entry(&function.path).or_default() += 1;
        }
        let mut found: BTreeMap<String, Option<&Function<'t>>> = BTreeMap::new();
        for function in self.functions.iter().skip(1) {
            let mut key = function.path.clone();
            if alike.get(function.path.as_str()).is_some_and(|&count| count > 1) {
                let head = function.head.of(function.source.text);
                let name = function.path.rsplit('.').next().unwrap_or_default();
                let from = head.find(name).map_or(0, |at| at + name.len());
                let parameters =
                    head[from..].rfind(')').map(|end| &head[from..=from + end]).unwrap_or_default();
                key.extend(parameters.split_whitespace());
            }
            let known = found.entry(key).or_insert(Some(function));
            if known.is_some_and(|known| known.span != function.span) {
                *known = None;
            }
        }
        found.into_iter().filter_map(|(path, function)| Some((path, function?))).collect()
    }
}

impl<'t> Function<'t> {
    /// Makes a function without a body.
    fn new(source: &'t ParsedSource<'t>, node: Node<'t>, path: String, depth: usize) -> Self {
        Self {
            path,
            span: span(node),
            head: Span::default(),
            comments: Vec::new(),
            is_broken: node.has_error(),
            source,
            node,
            depth,
            facts: OnceCell::new(),
            checks: OnceCell::new(),
            times: OnceCell::new(),
        }
    }

    /// Returns what the function does, without what functions in it do.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let (reader, mut facts) = (self.reader(), Facts::default());
            if let Some((definition, body)) = self.definition() {
                (facts.effect, facts.statement) = reader.effect(body);
                facts.switched_by = reader.switched_by(body);
                facts.cut = reader.cut(body);
                facts.documentation = reader.documentation(body);
                reader.note_signature(definition, &mut facts);
            }
            self.each_node(&mut |node| reader.note(node, &mut facts));
            facts
        })
    }

    /// Returns the number of its assertions of a text.
    pub fn times(&self, text: &str) -> usize {
        let times = self.times.get_or_init(|| {
            self.checks().iter().fold(BTreeMap::new(), |mut times, check| {
                *times.entry(check.text.clone()).or_default() += 1;
                times
            })
        });
        times.get(text).copied().unwrap_or_default()
    }

    /// Returns the assertions of the function, without those of functions in it.
    pub fn checks(&self) -> &[Check] {
        self.checks.get_or_init(|| {
            let (reader, mut checks) = (self.reader(), Vec::new());
            self.each_node(&mut |node| checks.extend(reader.check(node)));
            checks
        })
    }

    fn reader(&self) -> Reader<'t> {
        Reader { language: self.source.language, text: self.source.text }
    }

    /// Returns the node with the parameters, and the body; `None` for the file itself.
    fn definition(&self) -> Option<(Node<'t>, Node<'t>)> {
        let kind = self.source.kinds().get(self.node.kind_id())?;
        let definition = self.source.defined_by(kind, self.node).filter(|_| self.depth > 0)?;
        Some((definition.function, definition.body?))
    }

    /// Gives every node of the function that defines nothing, in the order of the text.
    fn each_node(&self, take: &mut impl FnMut(Node<'t>)) {
        if self.depth == 0 {
            take(self.node);
        }
        self.each_below(&mut self.node.walk(), self.depth, take);
    }

    fn each_below(&self, cursor: &mut TreeCursor<'t>, depth: usize, take: &mut impl FnMut(Node<'t>)) {
        if depth >= MAX_DEPTH || cursor.node().named_child_count() == 0 || !cursor.goto_first_child() {
            return;
        }
        loop {
            let node = cursor.node();
            if node.is_named() {
                let kind = self.source.kinds().get(node.kind_id());
                let definition = kind.and_then(|kind| self.source.defined_by(kind, node));
                if definition.is_none() {
                    take(node);
                }
                if definition.is_none_or(|definition| definition.body.is_none()) {
                    self.each_below(cursor, depth + 1, take);
                }
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }
}

/// The definitions around a node.
#[derive(Clone, Copy)]
struct Owner<'p> {
    /// Position of the innermost function.
    function: usize,
    /// Names joined by dots.
    path: &'p str,
}

/// Finds the functions of a text, with their comments.
struct Finder<'t> {
    source: &'t ParsedSource<'t>,
    kinds: &'static Kinds,
    functions: Vec<Function<'t>>,
}

impl<'t> Finder<'t> {
    fn visit(&mut self, cursor: &mut TreeCursor<'t>, owner: Owner<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.functions[owner.function].is_broken = true;
            return;
        }
        let node = cursor.node();
        let kind = self.kinds.get(node.kind_id());
        if kind.is_some_and(|kind| kind.comment) {
            self.functions[owner.function].comments.push(span(node));
        }
        let Some(definition) = kind.and_then(|kind| self.source.defined_by(kind, node)) else {
            self.visit_children(cursor, owner, depth);
            return;
        };
        let path = joined(owner.path, &definition.name);
        let mut inside = Owner { path: &path, ..owner };
        if let Some(body) = definition.body {
            inside.function = self.functions.len();
            let head = Span { start: node.start_byte(), end: body.start_byte() };
            let function = Function::new(self.source, node, path.clone(), depth);
            self.functions.push(Function { head, ..function });
        }
        self.visit_children(cursor, inside, depth);
    }

    fn visit_children(&mut self, cursor: &mut TreeCursor<'t>, owner: Owner<'_>, depth: usize) {
        if cursor.node().named_child_count() == 0 || !cursor.goto_first_child() {
            return;
        }
        loop {
            if cursor.node().is_named() {
                self.visit(cursor, owner, depth + 1);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }
}

/// Reads what nodes do.
#[derive(Clone, Copy)]
struct Reader<'t> {
    language: Language,
    text: &'t str,
}

impl<'t> Reader<'t> {
    /// Returns a reader of values, which knows no names of the file.
    fn speller(&self) -> Speller<'t> {
        Speller {
            language: self.language,
            asks: |_, _, _| false,
            text: self.text,
            names: BTreeMap::new(),
            paths: Paths::default(),
        }
    }

    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    /// Returns the normalized text of a node, without the comments in it.
    fn spelled(&self, node: Node<'_>) -> String {
        let text = self.text_of(node);
        if !["#", "//", "/*"].iter().any(|mark| text.contains(mark)) {
            return self.squashed(text);
        }
        let (mut spelled, mut at, mut pending) = (String::new(), node.start_byte(), vec![node]);
        while let Some(next) = pending.pop() {
            if next.is_comment() {
                spelled.push_str(Span { start: at, end: next.start_byte() }.of(self.text));
                at = next.end_byte();
                continue;
            }
            let inside: Vec<Node<'_>> = next.named_children().collect();
            pending.extend(inside.into_iter().rev());
        }
        spelled.push_str(Span { start: at, end: node.end_byte() }.of(self.text));
        self.squashed(&spelled)
    }

    /// Returns a text without white space, with one kind of quotes and without trailing commas.
    fn squashed(&self, text: &str) -> String {
        let mut text: String = text.split_whitespace().collect();
        // Rust writes characters and lifetimes with the other kind.
        if self.language != Language::Rust {
            text = text.replace(['\'', '`'], "\"");
        }
        text.replace(",)", ")").replace(",]", "]").replace(",}", "}")
    }

    /// Notes what a node says about the function around it.
    fn note(&self, node: Node<'_>, facts: &mut Facts) {
        if node.is_comment() {
            return;
        }
        if let Some(callee) = names::callee(self.text, node) {
            facts.deeds += 1;
            facts.calls.insert(callee);
        } else if is_deed(node.word()) {
            facts.deeds += 1;
        }
        if node.word() == "macro_invocation" {
            // The arguments of a macro of Rust have no tree.
            facts.deeds += self.text_of(node).matches(['(', '?']).count().saturating_sub(1);
        }
        facts.handlers.extend(self.handler(node));
        facts.endings.extend(self.ending(node));
        facts.detached.extend(self.detached(node));
        if is_loop(node.word()) {
            facts.loops.push(span(node));
        }
        self.note_guards(node, facts);
        self.note_value(node, facts);
        self.note_fate(node, facts);
        self.note_type(node, facts);
    }
}

fn is_loop(kind: &str) -> bool {
    matches!(
        kind,
        "do_statement"
            | "enhanced_for_statement"
            | "for"
            | "for_each_statement"
            | "for_expression"
            | "for_in_statement"
            | "for_statement"
            | "foreach_statement"
            | "loop_expression"
            | "until"
            | "while"
            | "while_expression"
            | "while_statement"
    )
}

/// Returns whether a node of this kind, which is no call, does something.
fn is_deed(kind: &str) -> bool {
    matches!(
        kind,
        "assignment"
            | "assignment_expression"
            | "assignment_statement"
            | "augmented_assignment"
            | "binary_operator"
            | "binary_expression"
            | "comparison_operator"
            | "for_expression"
            | "for_in_statement"
            | "for_statement"
            | "if"
            | "if_expression"
            | "if_statement"
            | "let_declaration"
            | "match_expression"
            | "return_statement"
            | "short_var_declaration"
            | "switch_statement"
            | "variable_declarator"
            | "while_statement"
            | "yield"
    )
}

fn joined(around: &str, name: &str) -> String {
    if around.is_empty() { name.to_owned() } else { format!("{around}.{name}") }
}
