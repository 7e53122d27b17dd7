//! Looks for patterns in the changed parts of a text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::compile::{Class, Pat, Pattern};
use super::definition::Context;
use super::grammar::Role;
use super::matcher::Attempt;
use super::names::ImportedModule;
use super::plain::PlainTree;
use super::shape::{Callee, Node, Shape, decoded_name};
use super::{Code, Tree};
use crate::syntax::Span;

/// Steps of matching that any text may take.
const FREE_STEPS: usize = 100_000;
const MOST_STEPS_PER_BYTE: usize = 64;
/// Longest statement in bytes whose text says something about a match in it.
const LONGEST_STATEMENT: usize = 1_000;
/// Nodes of a match by which it is compared with others.
const MOST_NODES: usize = 256;

/// Patterns of one language, by what they can match.
#[derive(Debug, Default)]
pub struct Patterns<'p> {
    patterns: Vec<&'p Pattern>,
    by_head: BTreeMap<Class, BTreeMap<String, Vec<usize>>>,
    /// Those that can have any name.
    any: BTreeMap<Class, Vec<usize>>,
    imports: Vec<usize>,
}

/// A place where a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Position of the pattern.
    pub pattern: usize,
    pub span: Span,
    /// The part that the pattern reports.
    pub report: Span,
    /// The parts that make the match: what is reported, the variables that meet a demand, and the values of constants. A
    /// change to none of them leaves the match as it was.
    pub parts: Vec<Span>,
    /// The match without its spelling: equal for matches that differ in white space, comments, quotes or parentheses.
    pub key: String,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order of the text.
    pub matches: Vec<Match>,
    /// False where the search stopped before the end of the text.
    pub is_complete: bool,
}

impl<'p> FromIterator<&'p Pattern> for Patterns<'p> {
    fn from_iter<I: IntoIterator<Item = &'p Pattern>>(patterns: I) -> Self {
        let mut all = Self::default();
        for (position, pattern) in patterns.into_iter().enumerate() {
            if matches!(pattern.pat, Pat::Import(_)) {
                all.imports.push(position);
            } else if pattern.heads.is_empty() {
                all.any.entry(pattern.class).or_default().push(position);
            }
            for head in &pattern.heads {
                let same = all.by_head.entry(pattern.class).or_default().entry(head.clone()).or_default();
                if same.last() != Some(&position) {
                    same.push(position);
                }
            }
            all.patterns.push(pattern);
        }
        all
    }
}

impl Patterns<'_> {
    /// Finds the matches that touch one of some spans, which are in order and apart, or use a constant that is set there;
    /// all matches without spans.
    pub fn find(&self, code: &Code<'_>, spans: Option<&[Span]>) -> Found {
        let spans = spans.map(|spans| code.with_uses_of_constants(spans));
        let spans = spans.as_deref();
        let steps = FREE_STEPS + code.text().len() * MOST_STEPS_PER_BYTE;
        let mut search = Search { patterns: self, code: *code, spans, steps, matches: Vec::new() };
        match &code.parsed.tree {
            Tree::Parsed(tree) => search.parsed(tree),
            Tree::Plain(tree) => search.plain(tree),
            Tree::Unread => return Found::default(),
        }
        search.imports();
        let Search { mut matches, steps, .. } = search;
        matches.sort_by_key(|found| (found.span, found.report, found.pattern));
        Found { matches, is_complete: steps > 0 }
    }
}

struct Search<'p, 't> {
    patterns: &'p Patterns<'p>,
    code: Code<'t>,
    spans: Option<&'p [Span]>,
    steps: usize,
    matches: Vec<Match>,
}

/// Returns whether a span touches one of those that are in order and apart.
pub(super) fn touches_one_of(spans: &[Span], span: Span) -> bool {
    let next = spans.partition_point(|other| other.end < span.start);
    spans.get(next).is_some_and(|other| other.start <= span.end)
}

/// Kinds of statements whose names are no use of what they name.
fn is_import(kind: &str) -> bool {
    matches!(
        kind,
        "import_statement"
            | "import_from_statement"
            | "import_declaration"
            | "use_declaration"
            | "namespace_use_declaration"
    )
}

/// Returns whether the children of a node of this kind are statements.
fn holds_statements(kind: &str) -> bool {
    matches!(
        kind,
        "block"
            | "block_body"
            | "body_statement"
            | "class_body"
            | "compound_statement"
            | "do_group"
            | "module"
            | "program"
            | "source_file"
            | "statement_block"
            | "statement_list"
            | "switch_case"
            | "then"
    )
}

/// An ancestor of the current node.
struct Level<'t> {
    statement: Span,
    role: Role,
    kind: &'t str,
}

impl Level<'_> {
    /// Returns whether the child in a field is the name of something and no use of a name.
    fn labels(&self, field: Option<&str>) -> bool {
        if let Role::Member(_, name) | Role::Method(_, name) | Role::Pair(name, _) | Role::Assign(name, _) =
            self.role
        {
            return field == Some(name);
        }
        field == Some("name") && (self.kind.contains("definition") || self.kind.contains("declarat"))
    }
}

impl<'p, 't> Search<'p, 't> {
    fn touches(&self, span: Span) -> bool {
        self.spans.is_none_or(|spans| touches_one_of(spans, span))
    }

    fn parsed(&mut self, tree: &'t crate::tree::Tree) {
        let mut cursor = tree.walk();
        let mut levels: Vec<Level<'t>> = Vec::new();
        loop {
            let node = cursor.node();
            let span = Span { start: node.start_byte(), end: node.end_byte() };
            let role = self.code.role(Node::Parsed(node));
            let descends =
                node.is_named() && role != Role::Skip && self.touches(span) && !is_import(node.word());
            let statement = match levels.last() {
                Some(parent) if !holds_statements(parent.kind) => parent.statement,
                Some(_) | None => span,
            };
            if descends {
                let is_wrapper = matches!(role, Role::Wrap(_) | Role::WrapLast);
                let is_label = levels.last().is_some_and(|parent| parent.labels(cursor.field_name()));
                if !is_wrapper && !is_label {
                    // A method without arguments is a member.
                    let is_member = matches!(role, Role::Method(..)) && node.field("arguments").is_none();
                    let class = if is_member { Class::Path } else { role.class() };
                    self.attempt(Node::Parsed(node), class, statement);
                }
                if cursor.goto_first_child() {
                    levels.push(Level { statement, role, kind: node.word() });
                    continue;
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                levels.pop();
            }
        }
    }

    fn plain(&mut self, tree: &'t PlainTree) {
        let mut pending = vec![(tree.root, tree.nodes[tree.root].span)];
        while let Some((id, statement)) = pending.pop() {
            let node = Node::Plain(tree, id);
            let data = &tree.nodes[id];
            if !self.touches(data.span) {
                continue;
            }
            self.attempt(node, Class::of_plain(data.kind), statement);
            let is_block = matches!(data.kind, super::plain::Kind::Group);
            pending.extend(
                data.children
                    .iter()
                    .map(|child| (*child, if is_block { tree.nodes[*child].span } else { statement })),
            );
        }
    }

    fn attempt(&mut self, node: Node<'t>, class: Class, statement: Span) {
        let patterns = self.patterns;
        for position in patterns.any.get(&class).into_iter().flatten() {
            self.attempt_one(*position, node, statement);
        }
        let Some(by_head) = patterns.by_head.get(&class) else { return };
        let Some(name) = self.head(node) else { return };
        let original = self.code.bindings().original(&name).filter(|original| *original != name);
        let same = by_head.get(&*name).into_iter().flatten();
        let renamed = original.and_then(|original| by_head.get(original)).into_iter().flatten();
        let positions: Vec<usize> = same.chain(renamed).copied().collect();
        for position in positions {
            self.attempt_one(position, node, statement);
        }
    }

    fn attempt_one(&mut self, position: usize, node: Node<'t>, statement: Span) {
        let pattern = self.patterns.patterns[position];
        let span = self.code.span(node);
        if pattern.statement
            && statement.of(self.code.text).trim_end_matches(';')
                != span.of(self.code.text).trim_end_matches(';')
        {
            return;
        }
        let mut attempt = Attempt { code: self.code, pattern, steps: &mut self.steps };
        let Some(captured) = attempt.run(node) else { return };
        let near = if statement.end - statement.start > LONGEST_STATEMENT { span } else { statement };
        if pattern.not_near.as_ref().is_some_and(|regex| regex.is_match(near.of(self.code.text))) {
            return;
        }
        if !pattern.inside.iter().all(|context| self.is_inside(*context, span)) {
            return;
        }
        let report = captured.report.unwrap_or(span);
        let demanded = captured.demanded(&self.code, &pattern.demands);
        let parts = std::iter::once(report).chain(demanded).chain(captured.constants).collect();
        let key = self.code.key(node);
        self.matches.push(Match { pattern: position, span, report, parts, key });
    }

    /// Returns the last name of a node, as it is written.
    fn head(&self, node: Node<'t>) -> Option<Cow<'t, str>> {
        let node = self.code.unwrapped(node);
        let role = self.code.role(node);
        let Node::Parsed(parsed) = node else { return self.head_by_shape(node) };
        if let Role::Member(_, name) | Role::Method(_, name) = role {
            let name = parsed.field(name)?;
            return Some(decoded_name(self.code.node_text(Node::Parsed(name))));
        }
        if let Role::Call(named, _) | Role::Assign(named, _) = role {
            return self.head_of_named(Node::Parsed(parsed.field(named)?));
        }
        self.head_by_shape(node)
    }

    /// Returns the last name of a callee, or of what is set.
    fn head_of_named(&self, node: Node<'t>) -> Option<Cow<'t, str>> {
        let shape = self.code.shape(node);
        if let Shape::Name(name) = shape {
            return name.rsplit('.').next().map(|last| Cow::Owned(last.to_owned()));
        }
        if let Shape::Member(_, name) = shape { Some(name.text) } else { None }
    }

    fn head_by_shape(&self, node: Node<'t>) -> Option<Cow<'t, str>> {
        let shape = self.code.shape(node);
        if let Shape::Pair(name, _) | Shape::Call(Callee::Method(_, name), _) = shape {
            return Some(name.text);
        }
        if let Shape::Call(Callee::Node(named), _) | Shape::Assign(named, _) = shape {
            return self.head_of_named(named);
        }
        self.head_of_named(node)
    }

    fn is_inside(&self, context: Context, span: Span) -> bool {
        let outline = self.code.outline();
        let here = Span { start: span.start, end: span.start + 1 };
        if outline.broken.iter().any(|broken| broken.touches(here)) {
            return false;
        }
        match context {
            Context::AsyncFunction => outline.is_asynchronous(span.start),
            Context::Loop => outline.repeats(span.start).is_some(),
            Context::LoopInTurn => outline.waits_in_turn.iter().any(|wait| wait.start == span.start),
            Context::Test => {
                outline.tests.iter().any(|test| test.start <= span.start && span.start < test.end)
            }
        }
    }

    fn imports(&mut self) {
        if self.patterns.imports.is_empty() {
            return;
        }
        for ImportedModule { name, span } in &self.code.bindings().modules {
            for position in &self.patterns.imports {
                let Pat::Import(modules) = &self.patterns.patterns[*position].pat else { continue };
                if self.touches(*span) && modules.contains(name) {
                    let key = span.of(self.code.text()).split_whitespace().collect();
                    let (span, parts) = (*span, vec![*span]);
                    self.matches.push(Match { pattern: *position, span, report: span, parts, key });
                }
            }
        }
    }
}

impl Class {
    fn of_plain(kind: super::plain::Kind) -> Self {
        match kind {
            super::plain::Kind::Call => Self::Call,
            super::plain::Kind::Name | super::plain::Kind::Member => Self::Path,
            super::plain::Kind::Pair => Self::Pair,
            super::plain::Kind::Assign => Self::Assign,
            super::plain::Kind::Text
            | super::plain::Kind::Template
            | super::plain::Kind::Literal
            | super::plain::Kind::Group
            | super::plain::Kind::Symbol => Self::Other,
        }
    }
}

impl<'t> Code<'t> {
    /// Returns a node without its spelling: words and signs without comments, quotes, parentheses and commas. What is
    /// beyond a bound is as written.
    pub(super) fn key(&self, node: Node<'t>) -> String {
        match node {
            Node::Parsed(node) => self.parsed_key(node),
            Node::Plain(..) => {
                let text = self.node_text(node).chars();
                text.filter(|character| !character.is_whitespace() && !"(),;".contains(*character)).collect()
            }
        }
    }

    fn parsed_key(&self, top: crate::tree::Node<'t>) -> String {
        let mut key = String::new();
        let mut cursor = top.walk();
        let mut depth = 0_usize;
        for _ in 0..MOST_NODES {
            let node = cursor.node();
            let role = self.role(Node::Parsed(node));
            let token = self.token(node, role);
            if let Some(token) = &token {
                key.push_str(token);
                key.push('\u{1f}');
            }
            if token.is_none() && role != Role::Skip && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while depth > 0 && !cursor.goto_next_sibling() {
                cursor.goto_parent();
                depth -= 1;
            }
            if depth == 0 {
                return key;
            }
        }
        key.push_str(&self.code_after(cursor.node(), top));
        key
    }

    /// Returns the source of a node from one inside it on.
    fn code_after(&self, inside: crate::tree::Node<'t>, node: crate::tree::Node<'t>) -> String {
        let rest = &self.text[inside.start_byte()..node.end_byte().max(inside.start_byte())];
        rest.split_whitespace().collect()
    }

    /// Returns what a node adds to a key, if it is a string or has nothing inside.
    fn token(&self, node: crate::tree::Node<'t>, role: Role) -> Option<Cow<'t, str>> {
        if matches!(role, Role::Text | Role::Texts)
            && let Shape::Text(text) = self.shape(Node::Parsed(node))
        {
            return Some(Cow::Owned(text));
        }
        let is_leaf = node.child_count() == 0 && role != Role::Skip && !"(),;".contains(node.word());
        is_leaf.then(|| Cow::Borrowed(self.node_text(Node::Parsed(node))))
    }
}
