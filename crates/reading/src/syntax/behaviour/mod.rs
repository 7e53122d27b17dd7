//! Facts about what the functions of a file do, by which two versions of it are compared.

mod bodies;
mod checks;
mod drops;
mod names;
mod tolerance;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::outline::Span;
use super::walk::{children, span};
use super::{Language, OtherVersion, parse_version_once};

pub use bodies::Effect;
pub use checks::{Check, Demand};
pub use drops::{Fate, Handler};
pub use tolerance::Tolerance;
pub use types::Declared;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;

/// The functions of a file in the order of the text; the first is the file itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Behaviour {
    pub functions: Vec<Function>,
}

/// A function, or the test that a call makes of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function {
    /// Names of the definitions around it and its own, joined by dots; the title of a test that a call makes.
    pub path: String,
    pub span: Span,
    /// The definition without its body.
    pub head: Span,
    pub effect: Effect,
    /// Statement that the effect is read from, or the body.
    pub statement: Span,
    /// Number of calls, assignments and branches in the body.
    pub deeds: usize,
    /// Comments in the body.
    pub comments: Vec<Span>,
    /// String at the begin of the body that documents it.
    pub documentation: Option<Span>,
    /// Names of the functions that it calls.
    pub calls: BTreeSet<String>,
    pub handlers: Vec<Handler>,
    /// Fates of the results of calls that may fail, by the called name.
    pub fates: BTreeMap<String, Fate>,
    pub checks: Vec<Check>,
    /// Declared types of parameters, variables and the result.
    pub types: Vec<Declared>,
    /// Casts around the type checker, and code that the language does not check.
    pub escapes: Vec<Span>,
    /// Set where a part of it could not be parsed.
    pub is_broken: bool,
}

impl Behaviour {
    /// Parses a text, beside another version of it where there is one. Returns `None` for a text that is too large or
    /// takes too long to parse.
    pub fn parse(language: Language, text: &str, other: Option<&OtherVersion<'_>>) -> Option<Self> {
        let tree = parse_version_once(language, text, other)?;
        let root = tree.root_node();
        let whole = Function { span: span(root), is_broken: root.has_error(), ..Function::default() };
        let mut reader = Reader { language, text, functions: vec![whole] };
        reader.visit(root, Owner { function: 0, path: "" }, 0);
        Some(Self { functions: reader.functions })
    }

    /// Returns the functions by path. Of several with one path, such as overloads, none is among them.
    pub fn by_path(&self) -> BTreeMap<&str, &Function> {
        let mut found: BTreeMap<&str, Option<&Function>> = BTreeMap::new();
        for function in self.functions.iter().skip(1) {
            let known = found.entry(&function.path).or_insert(Some(function));
            if known.is_some_and(|known| known.span != function.span) {
                *known = None;
            }
        }
        found.into_iter().filter_map(|(path, function)| Some((path, function?))).collect()
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

struct Reader<'t> {
    language: Language,
    text: &'t str,
    functions: Vec<Function>,
}

impl<'t> Reader<'t> {
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
            if next.kind().ends_with("comment") {
                spelled.push_str(Span { start: at, end: next.start_byte() }.of(self.text));
                at = next.end_byte();
                continue;
            }
            let inside: Vec<Node<'_>> = children(next).collect();
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

    fn visit(&mut self, node: Node<'_>, owner: Owner<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.functions[owner.function].is_broken = true;
            return;
        }
        if let Some(definition) = names::definition(self.language, self.text, node) {
            let path = joined(owner.path, &definition.name);
            let mut inside = Owner { path: &path, ..owner };
            if let Some(body) = definition.body {
                inside.function = self.functions.len();
                let function = self.function(node, body, path.clone());
                self.functions.push(function);
                self.note_signature(definition.function, inside.function);
            }
            self.visit_children(node, inside, depth);
            return;
        }
        self.note(node, owner.function);
        self.visit_children(node, owner, depth);
    }

    fn visit_children(&mut self, node: Node<'_>, owner: Owner<'_>, depth: usize) {
        for child in children(node) {
            self.visit(child, owner, depth + 1);
        }
    }

    fn function(&self, node: Node<'_>, body: Node<'_>, path: String) -> Function {
        let (effect, statement) = self.effect(body);
        Function {
            path,
            span: span(node),
            head: Span { start: node.start_byte(), end: body.start_byte() },
            effect,
            statement,
            documentation: self.documentation(body),
            is_broken: node.has_error(),
            ..Function::default()
        }
    }

    /// Notes what a node says about the function around it.
    fn note(&mut self, node: Node<'_>, function: usize) {
        let kind = node.kind();
        if kind.ends_with("comment") {
            self.functions[function].comments.push(span(node));
            return;
        }
        if let Some(callee) = names::callee(self.text, node) {
            self.functions[function].deeds += 1;
            self.functions[function].calls.insert(callee);
        } else if is_deed(kind) {
            self.functions[function].deeds += 1;
        }
        let handler = self.handler(node);
        self.functions[function].handlers.extend(handler);
        self.note_fate(node, function);
        let check = self.check(node);
        self.functions[function].checks.extend(check);
        self.note_type(node, function);
    }
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
