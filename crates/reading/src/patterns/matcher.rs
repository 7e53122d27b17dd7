//! Holds a compiled pattern against one node.

use std::collections::BTreeMap;

use super::Code;
use super::compile::{Demand, LazyRegex, NamePat, Pat, Pattern};
use super::grammar::{Grammar, Role};
use super::names::Resolved;
use super::plain;
use super::shape::{Callee, Node, Shape, Word};
use crate::syntax::Span;

/// Deepest nesting that is looked into to see whether a value is written out in full.
const MAX_DEPTH: usize = 32;

/// Names that are passed over between a pattern's arguments, at most.
const MOST_ARGUMENTS: usize = 1_000;

/// The bindings of a pattern's variables so far.
#[derive(Debug, Clone)]
pub(super) struct Captured<'t> {
    nodes: Vec<Option<Capture<'t>>>,
    /// The part to report, where the pattern marks one.
    pub(super) report: Option<Span>,
    /// Values of constants by which the node matches: to change one makes or ends the match.
    pub(super) constants: Vec<Span>,
}

#[derive(Debug, Clone)]
enum Capture<'t> {
    Node(Node<'t>),
    Word(Word<'t>),
}

/// A named argument or a member that a list gives.
#[derive(Debug, Clone, Copy)]
struct Given<'t> {
    node: Node<'t>,
    /// The `**NAME` or `...NAME` that brings it from a constant.
    spread: Option<Span>,
}

/// Named arguments and members of a list, one of them or those of a constant.
#[derive(Debug, Clone, Copy)]
enum Named<'t> {
    One(Node<'t>),
    Constant { spread: Span, record: &'t BTreeMap<String, Span> },
}

/// Attempt to match a pattern, within the steps that are left for the search.
pub(super) struct Attempt<'a, 't> {
    pub(super) code: Code<'t>,
    pub(super) pattern: &'a Pattern,
    /// Steps that are left for the whole search.
    pub(super) steps: &'a mut usize,
}

impl<'a, 't> Attempt<'a, 't> {
    /// Matches a pattern of the definition and those that take a match back.
    pub(super) fn run(&mut self, node: Node<'t>) -> Option<Captured<'t>> {
        let pattern = self.pattern;
        let unbound =
            Captured { nodes: vec![None; pattern.demands.len()], report: None, constants: Vec::new() };
        let mut captured = unbound.clone();
        if !self.is(&pattern.pat, node, &mut captured) {
            return None;
        }
        let is_excluded = pattern.unless.iter().any(|pat| self.is(pat, node, &mut unbound.clone()));
        (!is_excluded).then_some(captured)
    }

    fn step(&mut self) -> bool {
        *self.steps = self.steps.saturating_sub(1);
        *self.steps > 0
    }

    fn is(&mut self, pat: &'a Pat, node: Node<'t>, captured: &mut Captured<'t>) -> bool {
        if !self.step() {
            return false;
        }
        if let Pat::Any(variable) = pat {
            return self.capture(*variable, node, captured);
        }
        if let Pat::Path(expected) = pat {
            return self.code.path(node).is_some_and(|path| self.is_name(expected, &path));
        }
        match (pat, self.code.shape(node)) {
            (Pat::Rest, _) => true,
            (Pat::Member(object, name), Shape::Member(found, word)) => {
                self.is(object, found, captured) && self.is_word(name, &word, captured)
            }
            (Pat::Call(callee, arguments), Shape::Call(found, given)) => {
                self.is_callee(callee, &found, captured) && self.is_list(arguments, &given, captured)
            }
            (Pat::Record(items), Shape::Name(_) | Shape::Member(..))
                if let Some(record) = self.code.constant_record(node) =>
            {
                let named = Named::Constant { spread: self.code.span(node), record };
                self.are_given(items, &[named], &[], captured)
            }
            (
                Pat::Text(_) | Pat::Literal(_) | Pat::Record(_) | Pat::List(_),
                Shape::Name(_) | Shape::Member(..) | Shape::Pair(..),
            ) => {
                let Some(value) = self.code.constant(node) else { return false };
                captured.constants.push(self.code.span(value));
                self.is(pat, value, captured)
            }
            (Pat::Text(expected), Shape::Text(text)) => text == *expected,
            (Pat::Literal(expected), Shape::Literal(text)) => same_literal(&text, expected),
            // A member of a constant may be set on its own.
            (Pat::Pair(name, value), Shape::Assign(to, given))
                if let Shape::Member(_, found) = self.code.shape(to) =>
            {
                self.is_word(name, &found, captured) && self.is(value, given, captured)
            }
            (Pat::Pair(name, value), Shape::Pair(found, given)) => {
                let matches = self.is_word(name, &found, captured) && self.is(value, given, captured);
                if matches && matches!(name, NamePat::Is(name) if name == self.pattern.report) {
                    captured.report = Some(self.code.span(node));
                }
                matches
            }
            (Pat::Assign(left, right), Shape::Assign(to, from)) => {
                self.is(left, to, captured) && self.is(right, from, captured)
            }
            (Pat::Record(items), Shape::Record(given)) | (Pat::List(items), Shape::List(given)) => {
                self.is_list(items, &given, captured)
            }
            (Pat::Other(kind, operator, children), Shape::Other(found, with, given)) => {
                found == kind && with == operator && self.is_list(children, &given, captured)
            }
            _ => false,
        }
    }

    fn is_callee(&mut self, pat: &'a Pat, callee: &Callee<'t>, captured: &mut Captured<'t>) -> bool {
        match (pat, callee) {
            (Pat::Path(expected), callee) => {
                self.code.callee_path(callee).is_some_and(|path| self.is_name(expected, &path))
            }
            (pat, Callee::Node(node)) => self.is(pat, *node, captured),
            (Pat::Member(object, name), Callee::Method(Some(found), word)) => {
                self.is(object, *found, captured) && self.is_word(name, word, captured)
            }
            (Pat::Any(variable), Callee::Method(object, word)) => {
                let demand = &self.pattern.demands[*variable];
                let path = self.code.callee_path(callee);
                let is_named = demand.names.is_empty()
                    || path.is_some_and(|path| demand.names.iter().any(|name| self.is_name(name, &path)));
                is_named && self.keep(*variable, Capture::Word(word.clone()), object.is_none(), captured)
            }
            _ => false,
        }
    }

    /// Returns whether a dotted name is the expected one. A name that the file does not bind is taken for the module that
    /// usually has it.
    fn is_name(&self, expected: &Resolved, path: &str) -> bool {
        let (Resolved::Imported(expected) | Resolved::Unbound(expected)) = expected;
        match self.code.resolved(path) {
            Some(Resolved::Imported(found)) => found == *expected,
            Some(Resolved::Unbound(found)) => {
                let is_tail =
                    expected.strip_suffix(&found).is_some_and(|before| before.ends_with(['.', '/']));
                found == *expected || is_tail && is_telling(self.code.grammar(), &found)
            }
            None => false,
        }
    }

    fn is_word(&mut self, name: &'a NamePat, word: &Word<'t>, captured: &mut Captured<'t>) -> bool {
        match name {
            NamePat::Is(expected) => word.text == *expected,
            NamePat::Any(variable) => {
                let names = &self.pattern.demands[*variable].names;
                let is_named = names
                    .iter()
                    .any(|(Resolved::Imported(name) | Resolved::Unbound(name))| word.text == *name);
                (names.is_empty() || is_named)
                    && self.keep(*variable, Capture::Word(word.clone()), true, captured)
            }
        }
    }

    /// Binds a variable to a node that meets its demands.
    fn capture(&mut self, variable: usize, node: Node<'t>, captured: &mut Captured<'t>) -> bool {
        let demand = &self.pattern.demands[variable];
        let is_named = demand.names.is_empty()
            || self
                .code
                .path(node)
                .is_some_and(|path| demand.names.iter().any(|name| self.is_name(name, &path)));
        if !is_named {
            return false;
        }
        if !self.meets(demand, node) {
            let Some(value) = demand.matches.as_ref().and_then(|_| self.code.constant(node)) else {
                return false;
            };
            if !self.meets(demand, value) {
                return false;
            }
            captured.constants.push(self.code.span(value));
        }
        self.keep(variable, Capture::Node(node), true, captured)
    }

    fn meets(&self, demand: &Demand, node: Node<'t>) -> bool {
        if let Some(literal) = demand.literal
            && self.code.is_literal(node, 0) != literal
        {
            return false;
        }
        if demand.matches.is_none() && demand.not_matches.is_none() {
            return true;
        }
        let text = self.code.value(node);
        demand.matches.as_ref().is_none_or(|regex| is_match_on_one_line(regex, &text))
            && demand.not_matches.as_ref().is_none_or(|regex| !regex.is_match(&text))
    }

    /// Binds a variable, or compares with what it stands for already.
    fn keep(&self, variable: usize, found: Capture<'t>, whole: bool, captured: &mut Captured<'t>) -> bool {
        if let Some(before) = &captured.nodes[variable] {
            return before.key(&self.code) == found.key(&self.code);
        }
        if whole && self.pattern.demands[variable].name == self.pattern.report {
            captured.report = Some(found.span(&self.code));
        }
        captured.nodes[variable] = Some(found);
        true
    }

    /// Matches arguments, members or children: named ones in any order, others in theirs.
    fn is_list(&mut self, pats: &'a [Pat], nodes: &[Node<'t>], captured: &mut Captured<'t>) -> bool {
        if nodes.len() > MOST_ARGUMENTS {
            return false;
        }
        let (mut named, mut others) = (Vec::new(), Vec::new());
        for node in nodes {
            match self.code.spread_constant(*node) {
                Some(record) => named.push(Named::Constant { spread: self.code.span(*node), record }),
                None if self.code.is_pair(*node) => named.push(Named::One(*node)),
                None => others.push(*node),
            }
        }
        self.are_given(pats, &named, &others, captured)
    }

    fn are_given(
        &mut self,
        pats: &'a [Pat],
        given: &[Named<'t>],
        others: &[Node<'t>],
        captured: &mut Captured<'t>,
    ) -> bool {
        let (named, ordered): (Vec<&Pat>, Vec<&Pat>) =
            pats.iter().partition(|pat| matches!(pat, Pat::Pair(..)));
        let open = ordered.iter().any(|pat| matches!(pat, Pat::Rest));
        let count: usize = given.iter().map(Named::count).sum();
        if !open && count != named.len() {
            return false;
        }
        let found = named.into_iter().all(|pat| {
            self.code.candidates(pat, given).into_iter().any(|pair| {
                let mut attempt = captured.clone();
                let is = self.is(pat, pair.node, &mut attempt);
                if is {
                    if attempt.report.is_some() && captured.report.is_none() {
                        attempt.report = pair.spread.or(attempt.report);
                    }
                    attempt.constants.extend(pair.spread.map(|_| self.code.span(pair.node)));
                    *captured = attempt;
                }
                is
            })
        });
        found && self.is_sequence(&ordered, others, captured)
    }

    fn is_sequence(&mut self, pats: &[&'a Pat], nodes: &[Node<'t>], captured: &mut Captured<'t>) -> bool {
        let Some((first, rest)) = pats.split_first() else { return nodes.is_empty() };
        if matches!(first, Pat::Rest) {
            if rest.is_empty() {
                return true;
            }
            return (0..=nodes.len()).any(|skipped| {
                let mut attempt = captured.clone();
                let is = self.step() && self.is_sequence(rest, &nodes[skipped..], &mut attempt);
                if is {
                    *captured = attempt;
                }
                is
            });
        }
        let Some((node, others)) = nodes.split_first() else { return false };
        self.is(first, *node, captured) && self.is_sequence(rest, others, captured)
    }
}

impl Named<'_> {
    fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Constant { record, .. } => record.len(),
        }
    }
}

impl<'t> Captured<'t> {
    /// Returns the places of the variables that have to meet a demand.
    pub(super) fn demanded(&self, code: &Code<'t>, demands: &[Demand]) -> Vec<Span> {
        let pairs = self.nodes.iter().zip(demands);
        let demanded =
            pairs.filter(|(_, demand)| demand.is_demanding()).filter_map(|(node, _)| node.as_ref());
        demanded.map(|node| node.span(code)).collect()
    }
}

impl<'t> Capture<'t> {
    fn key(&self, code: &Code<'t>) -> String {
        match self {
            Self::Node(node) => code.key(*node),
            Self::Word(word) => word.text.to_string(),
        }
    }

    fn span(&self, code: &Code<'_>) -> Span {
        match self {
            Self::Node(node) => code.span(*node),
            Self::Word(word) => word.span,
        }
    }
}

/// Returns whether a name that the file does not bind says enough to be what is usually called so.
fn is_telling(grammar: Grammar, name: &str) -> bool {
    let has_types = matches!(grammar, Grammar::Java | Grammar::Php | Grammar::Plain(_));
    name.contains('.') || has_types && name.starts_with(|first: char| first.is_uppercase())
}

/// Returns whether a text matches as it is written, or without the line breaks that a formatter put into it.
fn is_match_on_one_line(regex: &LazyRegex, text: &str) -> bool {
    regex.is_match(text)
        || text.contains('\n') && regex.is_match(&text.lines().map(str::trim).collect::<String>())
}

fn same_literal(found: &str, expected: &str) -> bool {
    found == expected || found.replace('_', "").eq_ignore_ascii_case(&expected.replace('_', ""))
}

impl<'t> Code<'t> {
    pub(super) fn is_pair(&self, node: Node<'t>) -> bool {
        match self.unwrapped(node) {
            Node::Plain(tree, id) => tree.nodes[id].kind == plain::Kind::Pair,
            node @ Node::Parsed(_) => {
                matches!(self.role(node), Role::Pair(..) | Role::PairChildren | Role::Shorthand)
            }
        }
    }

    /// Returns the named arguments or members that a pattern is held against: where it has a name, the last of that.
    fn candidates(&self, pat: &Pat, given: &[Named<'t>]) -> Vec<Given<'t>> {
        if let Pat::Pair(NamePat::Is(name), _) = pat {
            return given.iter().rev().find_map(|named| self.given_as(*named, name)).into_iter().collect();
        }
        let mut all = Vec::new();
        for named in given {
            match named {
                Named::One(node) => all.push(Given { node: *node, spread: None }),
                Named::Constant { spread, record } => {
                    let nodes = record.values().filter_map(|place| self.node_at(*place));
                    all.extend(nodes.map(|node| Given { node, spread: Some(*spread) }));
                }
            }
        }
        all
    }

    /// Returns the argument or member of a name, if it is the given one or among those of the given constant.
    fn given_as(&self, named: Named<'t>, name: &str) -> Option<Given<'t>> {
        match named {
            Named::One(node) => {
                let Shape::Pair(found, _) = self.shape(node) else { return None };
                (found.text == name).then_some(Given { node, spread: None })
            }
            Named::Constant { spread, record } => {
                Some(Given { node: self.node_at(*record.get(name)?)?, spread: Some(spread) })
            }
        }
    }

    /// Returns the members of the constant that an argument spreads.
    fn spread_constant(&self, node: Node<'t>) -> Option<&'t BTreeMap<String, Span>> {
        let Node::Parsed(parsed) = node else { return None };
        if !matches!(parsed.word(), "dictionary_splat" | "spread_element" | "variadic_unpacking") {
            return None;
        }
        self.constant_record(self.children(node).first().copied()?)
    }

    fn are_literal(&self, nodes: &[Node<'t>], depth: usize) -> bool {
        nodes.len() <= MOST_ARGUMENTS && nodes.iter().all(|node| self.is_literal(*node, depth))
    }

    /// Returns whether a value is written out in full: nothing in it is a name or a call.
    pub(super) fn is_literal(&self, node: Node<'t>, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        match self.shape(node) {
            Shape::Text(_) | Shape::Literal(_) => true,
            Shape::Record(items) | Shape::List(items) => self.are_literal(&items, depth + 1),
            Shape::Pair(_, value) => self.is_literal(value, depth + 1),
            Shape::Other(kind, _, children) => {
                // Of a condition only what it chooses from is the value.
                let branches = match (kind, &children[..]) {
                    ("conditional_expression", [then, _, otherwise]) if self.grammar() == Grammar::Python => {
                        Some([*then, *otherwise])
                    }
                    (
                        "conditional" | "conditional_expression" | "ternary_expression",
                        [_, then, otherwise],
                    ) => Some([*then, *otherwise]),
                    _ => None,
                };
                if let Some(branches) = branches {
                    return self.are_literal(&branches, depth + 1);
                }
                let of_values = matches!(
                    kind,
                    "binary_operator"
                        | "binary_expression"
                        | "binary"
                        | "unary_operator"
                        | "unary_expression"
                        | "unary"
                        | "unary_op_expression"
                        | "group"
                        | "symbol"
                );
                of_values && self.are_literal(&children, depth + 1)
            }
            Shape::Name(_) | Shape::Member(..) | Shape::Call(..) | Shape::Template | Shape::Assign(..) => {
                false
            }
        }
    }
}
