//! Compiles the text of a pattern, with what it asks of its parts, to what is matched.

use std::sync::OnceLock;

use regex::Regex;

use super::grammar::{Grammar, Role};
use super::names::{Bindings, Resolved};
use super::shape::{Callee, Node, Shape};
use super::{Code, ParsedText};
use crate::syntax::Span;

/// What runs around a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The innermost function is asynchronous.
    AsyncFunction,
    /// A loop repeats it, and no function inside of the loop holds it.
    Loop,
    /// It is the first wait in a loop over something whose turns do not need each other.
    LoopInTurn,
    /// A test, as the language marks them.
    Test,
}

/// Demands on what a `$NAME` of a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// Dotted names, one of which it has to be; as a name behind a dot, one of these words.
    pub names: &'static [&'static str],
    /// Whether it has to be, or must not be, written out in full.
    pub literal: Option<bool>,
    /// Regular expression over the value of a string, or over the text of anything else; empty for any.
    pub matches: &'static str,
    /// As `matches`, for what it must not be.
    pub not_matches: &'static str,
}

/// A pattern as a page states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Names of [`Grammar::named`].
    pub languages: &'static [&'static str],
    /// Spellings of which one has to match.
    pub code: &'static [&'static str],
    /// Modules whose import is a match.
    pub imports: &'static [&'static str],
    /// Import statements that the names of the pattern are resolved by.
    pub using: &'static [&'static str],
    /// Variable or named argument that is reported; empty for the whole match.
    pub report: &'static str,
    pub variables: &'static [Variable],
    /// Contexts that a match has to be in, all of them.
    pub inside: &'static [Context],
    /// Patterns that take a match back where they match the same node.
    pub unless: &'static [&'static str],
    /// Whether the match has to be a statement.
    pub statement: bool,
    /// Regular expression that takes a match back where the text of the statement has a match; empty for none.
    pub not_near: &'static str,
}

impl Variable {
    /// A variable without demands.
    pub const fn any(name: &'static str) -> Self {
        Self { name, names: &[], literal: None, matches: "", not_matches: "" }
    }

    /// A variable that is one of some dotted names.
    pub const fn one_of(name: &'static str, names: &'static [&'static str]) -> Self {
        Self { names, ..Self::any(name) }
    }

    /// A variable whose value has names, calls or expressions in it.
    pub const fn computed(name: &'static str) -> Self {
        Self { literal: Some(false), ..Self::any(name) }
    }

    /// A variable whose value is written out in full.
    pub const fn literal(name: &'static str) -> Self {
        Self { literal: Some(true), ..Self::any(name) }
    }

    /// Demands a match of a regular expression.
    pub const fn matching(self, matches: &'static str) -> Self {
        Self { matches, ..self }
    }

    /// Refuses the matches of a regular expression.
    pub const fn not_matching(self, not_matches: &'static str) -> Self {
        Self { not_matches, ..self }
    }
}

impl Definition {
    /// A definition of some spellings without demands.
    pub const fn new(languages: &'static [&'static str], code: &'static [&'static str]) -> Self {
        Self {
            languages,
            code,
            imports: &[],
            using: &[],
            report: "",
            variables: &[],
            inside: &[],
            unless: &[],
            statement: false,
            not_near: "",
        }
    }

    /// Demands on the variables.
    pub const fn with(self, variables: &'static [Variable]) -> Self {
        Self { variables, ..self }
    }

    /// The variable or named argument that is reported.
    pub const fn reporting(self, report: &'static str) -> Self {
        Self { report, ..self }
    }

    /// The import statements that the names are resolved by.
    pub const fn using(self, using: &'static [&'static str]) -> Self {
        Self { using, ..self }
    }

    /// Patterns that take a match back.
    pub const fn unless(self, unless: &'static [&'static str]) -> Self {
        Self { unless, ..self }
    }

    /// Contexts that a match has to be in.
    pub const fn inside(self, inside: &'static [Context]) -> Self {
        Self { inside, ..self }
    }

    /// A regular expression that takes a match back where the statement has a match.
    pub const fn not_near(self, not_near: &'static str) -> Self {
        Self { not_near, ..self }
    }

    /// Demands that the match is a statement.
    pub const fn as_statement(self) -> Self {
        Self { statement: true, ..self }
    }

    /// Returns for each spelling the lists of words of which the text of a file with a match has one each.
    pub(super) fn words(&self) -> Vec<Vec<Vec<&'static str>>> {
        let of_code = self.code.iter().map(|&code| words_of(code, self.variables));
        let of_imports = (!self.imports.is_empty()).then(|| vec![self.imports.to_vec()]);
        of_code.chain(of_imports).collect()
    }
}

/// Words of a pattern that may be spelled otherwise in a match, or not at all.
const SPELLED_OTHERWISE: &[&str] =
    &["FALSE", "False", "NULL", "None", "TRUE", "True", "false", "new", "nil", "null", "true", "undefined"];

/// Returns the words that one spelling brings into a file. Of a dotted name these are the last name, and the one before,
/// which is written in an import or before the dot; a type may be known to a file that does not say where it is from.
fn words_of(code: &'static str, variables: &[Variable]) -> Vec<Vec<&'static str>> {
    let mut words = Vec::new();
    let mut chain: Vec<&'static str> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_variable = first == '$' && rest[1..].starts_with(|next: char| next.is_ascii_uppercase());
        let from = usize::from(is_variable);
        if is_variable || is_part(first) {
            let end = rest[from..].find(|next| !is_part(next)).map_or(rest.len(), |end| from + end);
            let word = &rest[from..end];
            rest = &rest[end..];
            if is_variable {
                let variable = variables.iter().find(|variable| variable.name == word);
                let names = variable.map_or(&[][..], |variable| variable.names);
                words.extend(path_words(names));
                chain.clear();
            } else {
                chain.push(word);
            }
        } else if matches!(first, '"' | '\'' | '`') {
            let inside = rest[1..].split(first).next().unwrap_or("");
            rest = rest.get(inside.len() + 2..).unwrap_or("");
            let names = rest.trim_start().starts_with([':', '=']) && inside.chars().all(is_part);
            words.extend(names.then(|| vec![inside]));
        } else {
            rest = &rest[first.len_utf8()..];
        }
        let joins = [".", "::", "?.", "->"].into_iter().find(|dot| {
            rest.strip_prefix(dot)
                .is_some_and(|after| after.starts_with(|next: char| is_part(next) || next == '$'))
        });
        if let Some(dot) = joins.filter(|_| !chain.is_empty()) {
            rest = &rest[dot.len()..];
            continue;
        }
        words.extend(chain_words(&chain));
        chain.clear();
    }
    words
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn chain_words(chain: &[&'static str]) -> Vec<Vec<&'static str>> {
    let Some((last, before)) = chain.split_last() else { return Vec::new() };
    if SPELLED_OTHERWISE.contains(last) || last.starts_with(|first: char| first.is_ascii_digit()) {
        return Vec::new();
    }
    let is_type = last.starts_with(char::is_uppercase);
    let before = before.last().filter(|_| !is_type);
    [Some(last), before].into_iter().flatten().map(|word| vec![*word]).collect()
}

/// Returns the lists of words that one of some dotted names brings into a file.
fn path_words(paths: &[&'static str]) -> Vec<Vec<&'static str>> {
    let names = |from_end: usize| -> Option<Vec<&'static str>> {
        let name = |path: &&'static str| {
            let is_type =
                path.rsplit(NAME_ENDS).next().is_some_and(|last| last.starts_with(char::is_uppercase));
            let name = path.rsplit(NAME_ENDS).filter(|name| !name.is_empty()).nth(from_end);
            name.filter(|_| from_end == 0 || !is_type)
        };
        paths.iter().map(name).collect()
    };
    [names(0), names(1)].into_iter().flatten().filter(|names| !names.is_empty()).collect()
}

/// Signs between the names of a dotted name.
const NAME_ENDS: [char; 3] = ['.', '/', ':'];

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
pub(super) struct LazyRegex(&'static str, OnceLock<Option<Regex>>);

impl LazyRegex {
    fn new(source: &'static str) -> Option<Self> {
        (!source.is_empty()).then(|| Self(source, OnceLock::new()))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.1.get_or_init(|| Regex::new(self.0).ok()).as_ref().is_some_and(|regex| regex.is_match(text))
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

/// What a node has to be.
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
        let grammar = Grammar::named(language).ok_or_else(|| PatternError::Language(language.to_owned()))?;
        for regex in regexes(definition) {
            if let Err(error) = Regex::new(regex) {
                return Err(PatternError::Regex(regex.to_owned(), error.to_string()));
            }
        }
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
    let code = || definition.code.iter().chain(definition.unless);
    for variable in definition.variables {
        let name = format!("${}", variable.name);
        if !code().any(|code| code.contains(&name)) {
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
    let demand = |variable: &Variable| Demand {
        name: variable.name.to_owned(),
        names: variable.names.iter().filter_map(|name| bindings.resolve_pattern(grammar, name)).collect(),
        literal: variable.literal,
        matches: LazyRegex::new(variable.matches),
        not_matches: LazyRegex::new(variable.not_matches),
    };
    definition.variables.iter().map(demand).collect()
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
    let name_ends = code.find(|character: char| !(is_part(character) || "$'\"".contains(character)));
    let behind_name = name_ends.map_or("", |end| &code[end..]);
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
            let node = tree.root_node().named_descendant_for_byte_range(span.start, span.end)?;
            let mut node = node;
            while let Some(parent) = node.parent().filter(|parent| parent.byte_range() == node.byte_range()) {
                node = parent;
            }
            // A wrapper of the same span says nothing.
            let is_root = |node: &tree_sitter::Node<'_>| node.parent().is_none();
            if is_root(&node) {
                node = node.named_child(0)?;
            }
            let fits = node.start_byte() == span.start && node.end_byte() >= span.end;
            let rest = code.text.get(span.end..node.end_byte()).unwrap_or("");
            (fits && rest.trim_matches([';', '\n']).is_empty()).then_some(Node::Parsed(node))
        }
        super::Tree::Plain(tree) => {
            let is_inside =
                |node: &super::plain::Data| span.start <= node.span.start && node.span.end <= span.end;
            let found = tree.nodes[..tree.root].iter().rposition(is_inside)?;
            Some(Node::Plain(tree, found))
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
            Self::Pair(..) | Self::PairChildren => Class::Pair,
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
