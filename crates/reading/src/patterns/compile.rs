//! Compiles the text of a pattern, with what it asks of its parts, to what is matched.

use std::sync::OnceLock;

use regex::Regex;

use super::definition::{Context, Definition};
use super::grammar::{Grammar, Role};
use super::names::{Bindings, Resolved};
use super::shape::{Callee, Node, Shape};
use super::{Code, ParsedText};
use crate::names::joins;
use crate::syntax::Span;

/// Reason why a pattern cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("there is no language `{0}`")]
    Language(String),
    #[error("`{0}` cannot be parsed as {1:?}")]
    Syntax(String, Grammar),
    #[error("`{0}` has a string with an expression in it")]
    Template(String),
    #[error("`${0}` stands in no pattern")]
    UnknownVariable(String),
    #[error("`{0}` is reported and stands in no pattern")]
    UnknownReport(String),
    #[error("`{0}` is no regular expression: {1}")]
    Regex(String, String),
    #[error("`{0}` matches anything")]
    Anything(String),
}

/// A regular expression that is compiled when first asked.
#[derive(Debug)]
pub(super) struct LazyRegex(&'static str, OnceLock<Regex>);

impl LazyRegex {
    fn new(source: &'static str) -> Option<Self> {
        (!source.is_empty()).then(|| Self(source, OnceLock::new()))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.1.get_or_init(|| Regex::new(self.0).expect("a test compiles every regex")).is_match(text)
    }
}

/// Demands on a variable, compiled.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) name: String,
    pub(super) names: Vec<Resolved>,
    pub(super) literal: Option<bool>,
    pub(super) matches: Option<LazyRegex>,
    pub(super) not_matches: Option<LazyRegex>,
}

impl Demand {
    /// Returns whether anything is demanded.
    pub(super) fn is_demanding(&self) -> bool {
        let has_text = self.matches.is_some() || self.not_matches.is_some();
        has_text || self.literal.is_some() || !self.names.is_empty()
    }
}

/// A name in a pattern.
#[derive(Debug)]
pub(super) enum NamePat {
    Is(String),
    /// A variable, by its position.
    Any(usize),
}

/// A condition on a node.
#[derive(Debug)]
pub(super) enum Pat {
    /// A variable, by its position.
    Any(usize),
    /// Any number of arguments, members or nodes.
    Rest,
    /// A dotted name.
    Path(Resolved),
    Member(Box<Pat>, NamePat),
    Call(Box<Pat>, Vec<Pat>),
    Text(String),
    Literal(String),
    Pair(NamePat, Box<Pat>),
    Assign(Box<Pat>, Box<Pat>),
    Record(Vec<Pat>),
    List(Vec<Pat>),
    Other(String, String, Vec<Pat>),
    /// An import statement of one of these modules.
    Import(Vec<String>),
}

/// Coarse kind of a node, by which patterns are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Call,
    Path,
    Pair,
    Assign,
    Other,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    pub(super) pat: Pat,
    pub(super) unless: Vec<Pat>,
    pub(super) demands: Vec<Demand>,
    pub(super) report: &'static str,
    pub(super) inside: &'static [Context],
    pub(super) statement: bool,
    pub(super) not_near: Option<LazyRegex>,
    pub(super) class: Class,
    /// Last names that the node can have; empty for any.
    pub(super) heads: Vec<String>,
}

/// Stands for `...` in the text that is parsed.
const REST: &str = "qa_rest";
/// Stands for `$` in the text that is parsed.
const VARIABLE: &str = "qa_variable_";

impl Pattern {
    /// Compiles the patterns of a definition for one of its languages.
    ///
    /// # Errors
    /// The reason, with the part of the definition that is at fault.
    pub fn compile(definition: &Definition, language: &str) -> Result<Vec<Self>, PatternError> {
        let grammar =
            Grammar::for_language(language).ok_or_else(|| PatternError::Language(language.to_owned()))?;
        let using = definition.using.join("\n");
        let modules: Vec<String> = definition.imports.iter().map(|&module| module.to_owned()).collect();
        let mut patterns = Vec::new();
        for code in definition.code {
            let mut compiler =
                Compiler { grammar, using: &using, demands: demands(definition, grammar, &using) };
            let pat = compiler.compile(code)?;
            let unless = definition.unless.iter().map(|code| compiler.compile(code));
            let unless = unless.collect::<Result<Vec<Pat>, PatternError>>()?;
            if matches!(pat, Pat::Any(_) | Pat::Rest) {
                return Err(PatternError::Anything((*code).to_owned()));
            }
            patterns.push(Self::new(definition, pat, unless, compiler.demands));
        }
        if !modules.is_empty() {
            patterns.push(Self::new(definition, Pat::Import(modules), Vec::new(), Vec::new()));
        }
        check_names(definition)?;
        Ok(patterns)
    }

    /// Compiles the patterns of a definition and all its regular expressions, which [`Self::compile`] leaves until a match
    /// depends on them. Tests call it.
    ///
    /// # Errors
    /// The reason, with the part of the definition that is at fault.
    pub fn check(definition: &Definition, language: &str) -> Result<Vec<Self>, PatternError> {
        for regex in regexes(definition) {
            if let Err(error) = Regex::new(regex) {
                return Err(PatternError::Regex(regex.to_owned(), error.to_string()));
            }
        }
        Self::compile(definition, language)
    }

    fn new(definition: &Definition, pat: Pat, unless: Vec<Pat>, demands: Vec<Demand>) -> Self {
        let (class, heads) = head(&pat, &demands);
        Self {
            pat,
            unless,
            demands,
            report: definition.report,
            inside: definition.inside,
            statement: definition.statement,
            not_near: LazyRegex::new(definition.not_near),
            class,
            heads,
        }
    }
}

fn regexes(definition: &Definition) -> impl Iterator<Item = &'static str> {
    let of_variables =
        definition.variables.iter().flat_map(|variable| [variable.matches, variable.not_matches]);
    of_variables.chain([definition.not_near]).filter(|regex| !regex.is_empty())
}

/// Checks that every variable and what is reported stands in a pattern.
fn check_names(definition: &Definition) -> Result<(), PatternError> {
    for variable in definition.variables {
        let name = format!("${}", variable.name);
        let mut code = definition.code.iter().chain(definition.unless);
        if !code.any(|code| code.contains(&name)) {
            return Err(PatternError::UnknownVariable(variable.name.to_owned()));
        }
    }
    if !definition.code.iter().all(|code| code.contains(definition.report)) {
        return Err(PatternError::UnknownReport(definition.report.to_owned()));
    }
    Ok(())
}

fn demands(definition: &Definition, grammar: Grammar, using: &str) -> Vec<Demand> {
    let bindings = bindings(grammar, using);
    let demands = definition.variables.iter().map(|variable| Demand {
        name: variable.name.to_owned(),
        names: variable.names.iter().filter_map(|name| bindings.resolve_pattern(grammar, name)).collect(),
        literal: variable.literal,
        matches: LazyRegex::new(variable.matches),
        not_matches: LazyRegex::new(variable.not_matches),
    });
    demands.collect()
}

/// Returns the names that import statements bind.
fn bindings(grammar: Grammar, using: &str) -> Bindings {
    let prefix = if grammar == Grammar::Go { "package a\n" } else { "" };
    let text = format!("{prefix}{using}");
    let parsed = ParsedText::parse_as(grammar, &text);
    Code::new(&text, &parsed).collect()
}

/// Texts around a pattern in which it is tried, in order.
fn surroundings(grammar: Grammar, code: &str) -> &'static [(&'static str, &'static str)] {
    let behind_name =
        code.trim_start_matches(|character: char| joins(character) || "$'\"".contains(character));
    match grammar {
        Grammar::Bash => &[("", "")],
        Grammar::Go => &[("package a\nvar a = T{", "}"), ("package a\nfunc f() {\n", "\n}")],
        Grammar::Java => &[
            ("class A { void f() { f(", "); } }"),
            ("class A { void f() { ", "; } }"),
            ("class A { void f() { ", " } }"),
            ("class A { ", " int a; }"),
        ],
        Grammar::JavaScript | Grammar::Tsx | Grammar::TypeScript => {
            // A text that does not parse takes many times longer.
            match behind_name.get(..1) {
                Some(":") => &[("({", "})")],
                Some("=") if behind_name.starts_with("={") => &[("<a ", " />")],
                Some(_) | None => &[("async () => { ", "\n}")],
            }
        }
        Grammar::Php => &[("<?php [", "];"), ("<?php ", ";")],
        Grammar::Plain(_) if code.contains(" = ") => &[("", "")],
        Grammar::Plain(_) => &[("f(", ")"), ("", "")],
        Grammar::Python => &[("f(", ")"), ("", "\n"), ("", "\ndef f(): pass\n")],
        Grammar::Ruby => &[("f(", ")"), ("", "\n")],
        Grammar::Rust => &[("async fn f() {\n", "\n}"), ("async fn f() {\n", ";\n}")],
    }
}

struct Compiler<'d> {
    grammar: Grammar,
    using: &'d str,
    demands: Vec<Demand>,
}

impl Compiler<'_> {
    fn compile(&mut self, code: &str) -> Result<Pat, PatternError> {
        let written = self.written(code);
        for (before, after) in surroundings(self.grammar, code) {
            let text = format!("{before}{written}{after}");
            let parsed = ParsedText::parse_as(self.grammar, &text);
            // The names of a pattern are those of modules and not its own.
            let _ = parsed.bindings.set(bindings(self.grammar, self.using));
            let snippet = Code::new(&text, &parsed);
            let span = Span { start: before.len(), end: before.len() + written.len() };
            if parsed.has_errors() {
                continue;
            }
            if let Some(node) = covering(&snippet, span) {
                return self.pat(&snippet, node).ok_or_else(|| PatternError::Template(code.to_owned()));
            }
        }
        Err(PatternError::Syntax(code.to_owned(), self.grammar))
    }

    /// Replaces `$NAME` and `...` by names that the grammar takes.
    fn written(&self, code: &str) -> String {
        let sigil = if self.grammar == Grammar::Php { "$" } else { "" };
        let mut out = String::new();
        let mut rest = code;
        while let Some(at) = rest.find(['$', '.']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_variable = rest[1..].starts_with(|next: char| next.is_ascii_uppercase());
            if rest.starts_with("...") {
                out.push_str(&format!("{sigil}{REST}"));
                rest = &rest[3..];
            } else if rest.starts_with('$') && is_variable {
                // A name behind an arrow is no variable of PHP.
                let sigil = if out.ends_with("->") || out.ends_with("::") { "" } else { sigil };
                out.push_str(&format!("{sigil}{VARIABLE}"));
                rest = &rest[1..];
            } else {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        out + rest
    }

    /// Returns the position of the variable that a name stands for.
    fn variable(&mut self, name: &str) -> Option<usize> {
        let name = name.trim_start_matches('$').strip_prefix(VARIABLE)?;
        if let Some(position) = self.demands.iter().position(|demand| demand.name == name) {
            return Some(position);
        }
        self.demands.push(Demand {
            name: name.to_owned(),
            names: Vec::new(),
            literal: None,
            matches: None,
            not_matches: None,
        });
        Some(self.demands.len() - 1)
    }

    fn name(&mut self, name: &str) -> NamePat {
        match self.variable(name) {
            Some(variable) => NamePat::Any(variable),
            None => NamePat::Is(name.to_owned()),
        }
    }

    fn pat(&mut self, code: &Code<'_>, node: Node<'_>) -> Option<Pat> {
        let shape = code.shape(node);
        if let Shape::Name(word) = &shape {
            return self.leaf(code, word);
        }
        // In a pattern `{ name }` has a variable, or `...`.
        if let Shape::Pair(name, value) = &shape
            && name.span == code.span(*value)
        {
            return self.leaf(code, &name.text);
        }
        if let Shape::Member(..) = &shape
            && let Some(path) = code.path(node)
            && !path.contains(VARIABLE)
        {
            return code.resolved(&path).map(Pat::Path);
        }
        Some(match shape {
            Shape::Name(_) | Shape::Template => return None,
            Shape::Member(object, name) => {
                Pat::Member(Box::new(self.pat(code, object)?), self.name(&name.text))
            }
            Shape::Call(callee, arguments) => {
                let callee = self.callee(code, callee)?;
                Pat::Call(Box::new(callee), self.all(code, arguments)?)
            }
            Shape::Text(text) => match self.variable(&text) {
                Some(variable) => Pat::Any(variable),
                None if text == REST => Pat::Rest,
                None => Pat::Text(text),
            },
            Shape::Literal(text) => Pat::Literal(text.into_owned()),
            Shape::Pair(name, value) => {
                let name = self.name(&name.text);
                Pat::Pair(name, Box::new(self.pat(code, value)?))
            }
            Shape::Assign(left, right) => {
                Pat::Assign(Box::new(self.pat(code, left)?), Box::new(self.pat(code, right)?))
            }
            Shape::Record(items) => Pat::Record(self.all(code, items)?),
            Shape::List(items) => Pat::List(self.all(code, items)?),
            Shape::Other(kind, operator, children) => {
                Pat::Other(kind.to_owned(), operator.to_owned(), self.all(code, children)?)
            }
        })
    }

    fn leaf(&mut self, code: &Code<'_>, word: &str) -> Option<Pat> {
        if word.trim_start_matches('$') == REST {
            return Some(Pat::Rest);
        }
        match self.variable(word) {
            Some(variable) => Some(Pat::Any(variable)),
            None => code.resolved(word).map(Pat::Path),
        }
    }

    fn callee(&mut self, code: &Code<'_>, callee: Callee<'_>) -> Option<Pat> {
        let path = code.callee_path(&callee).filter(|path| !path.contains(VARIABLE));
        if let Some(path) = path {
            return code.resolved(&path).map(Pat::Path);
        }
        match callee {
            Callee::Node(node) => self.pat(code, node),
            Callee::Method(None, name) => self.leaf(code, &name.text),
            Callee::Method(Some(object), name) => {
                Some(Pat::Member(Box::new(self.pat(code, object)?), self.name(&name.text)))
            }
        }
    }

    fn all(&mut self, code: &Code<'_>, nodes: Vec<Node<'_>>) -> Option<Vec<Pat>> {
        nodes.into_iter().map(|node| self.pat(code, node)).collect()
    }
}

/// Returns the outermost node over exactly a span.
fn covering<'t>(code: &Code<'t>, span: Span) -> Option<Node<'t>> {
    match &code.parsed.tree {
        super::Tree::Parsed(tree) => {
            let mut node = tree.root_node().named_descendant_for_byte_range(span.start, span.end)?;
            while let Some(parent) = node.parent().filter(|parent| parent.byte_range() == node.byte_range()) {
                node = parent;
            }
            // A wrapper of the same span adds nothing.
            if node.parent().is_none() {
                node = node.named_child(0)?;
            }
            let fits = node.start_byte() == span.start && node.end_byte() >= span.end;
            let rest = code.text.get(span.end..node.end_byte()).unwrap_or("");
            (fits && rest.trim_matches([';', '\n']).is_empty()).then_some(Node::Parsed(node))
        }
        super::Tree::Plain(tree) => {
            let last_inside = tree.nodes[..tree.root]
                .iter()
                .rposition(|node| span.start <= node.span.start && node.span.end <= span.end)?;
            Some(Node::Plain(tree, last_inside))
        }
        super::Tree::Unread => None,
    }
}

/// Returns what kind of node a pattern can match, and the last names that it can have.
fn head(pat: &Pat, demands: &[Demand]) -> (Class, Vec<String>) {
    match pat {
        Pat::Call(callee, _) => (Class::Call, head_names(callee, demands)),
        Pat::Path(_) | Pat::Member(..) => (Class::Path, head_names(pat, demands)),
        Pat::Pair(NamePat::Is(name), _) => (Class::Pair, vec![name.clone()]),
        Pat::Pair(NamePat::Any(variable), _) => (Class::Pair, last_names(&demands[*variable])),
        Pat::Assign(left, _) => (Class::Assign, head_names(left, demands)),
        Pat::Import(_)
        | Pat::Any(_)
        | Pat::Rest
        | Pat::Text(_)
        | Pat::Literal(_)
        | Pat::Record(_)
        | Pat::List(_)
        | Pat::Other(..) => (Class::Other, Vec::new()),
    }
}

fn head_names(pat: &Pat, demands: &[Demand]) -> Vec<String> {
    match pat {
        Pat::Path(path) => vec![last_name(path)],
        Pat::Any(variable) | Pat::Member(_, NamePat::Any(variable)) => last_names(&demands[*variable]),
        Pat::Member(_, NamePat::Is(name)) => vec![name.clone()],
        Pat::Rest
        | Pat::Call(..)
        | Pat::Text(_)
        | Pat::Literal(_)
        | Pat::Pair(..)
        | Pat::Assign(..)
        | Pat::Record(_)
        | Pat::List(_)
        | Pat::Other(..)
        | Pat::Import(_) => Vec::new(),
    }
}

fn last_names(demand: &Demand) -> Vec<String> {
    demand.names.iter().map(last_name).collect()
}

fn last_name(path: &Resolved) -> String {
    let (Resolved::Imported(path) | Resolved::Unbound(path)) = path;
    path.rsplit(['.', '/']).next().unwrap_or(path).to_owned()
}

impl Bindings {
    /// Resolves a name of a pattern, which has no names of its own.
    fn resolve_pattern(&self, grammar: Grammar, name: &str) -> Option<Resolved> {
        let dotted = name.replace("::", ".");
        self.resolve(grammar, &dotted)
    }
}

impl Role {
    /// Returns the class of the nodes with this role.
    pub(super) fn class(self) -> Class {
        match self {
            Self::Call(..) | Self::CallFirst | Self::Method(..) | Self::Command | Self::Macro => Class::Call,
            Self::Name | Self::Dotted | Self::Member(..) | Self::MemberPair | Self::Index(..) => Class::Path,
            Self::Pair(..) | Self::PairChildren | Self::Shorthand => Class::Pair,
            Self::Assign(..) => Class::Assign,
            Self::Skip
            | Self::Wrap(_)
            | Self::WrapLast
            | Self::Text
            | Self::Texts
            | Self::Literal
            | Self::Binary
            | Self::Unary
            | Self::List
            | Self::Record
            | Self::Other => Class::Other,
        }
    }
}
