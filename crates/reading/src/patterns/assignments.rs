//! Names and members that a file sets, each in the scope that it belongs to.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Code;
use super::grammar::Grammar;
use super::shape::{Node, Shape};
use crate::syntax::{Span, is_function};
use crate::tree::Node as Parsed;

/// The innermost part of a file in which a name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    kind: ScopeKind,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    File,
    Function,
    /// Names of a class are members; in some languages its methods also use them by their bare name.
    Class,
}

/// A name in its scope, with all that sets it.
#[derive(Debug)]
pub(super) struct Binding {
    scope: Scope,
    /// Places that set the name.
    count: usize,
    /// The value that is written out, where the last place has that.
    literal: Option<Span>,
    /// Assignments to members of what the name stands for.
    pub(super) members: Vec<MemberSet>,
    /// Members by name, collected when they are first asked for.
    pub(super) record: OnceLock<BTreeMap<String, Span>>,
}

/// `NAME["member"] = value`.
#[derive(Debug)]
pub(super) struct MemberSet {
    pub(super) name: String,
    /// Place of the assignment.
    pub(super) span: Span,
    /// Set where the assignment runs whenever its scope does.
    pub(super) is_certain: bool,
}

/// A scope as a key: inner ones follow the outer ones that start at the same place.
type ScopeKey = (usize, Reverse<usize>);

/// An assignment that may be to a name of an outer scope, which is known at the end.
#[derive(Debug)]
struct Set {
    name: String,
    scope: Scope,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Value(Option<Span>),
    Member { set: MemberSet, block: Option<Span>, literal: Option<Span> },
}

/// Assignments of a file, by name and scope.
#[derive(Debug, Default)]
pub(super) struct Assignments {
    bindings: BTreeMap<String, BTreeMap<ScopeKey, Binding>>,
    sets: Vec<Set>,
    classes: BTreeMap<String, Scope>,
    class_scopes: BTreeMap<ScopeKey, Scope>,
    /// Functions that do not see the variables around them.
    closed: BTreeMap<ScopeKey, Scope>,
}

impl Scope {
    pub(super) const FILE: Self = Self { kind: ScopeKind::File, span: Span { start: 0, end: usize::MAX } };

    fn key(self) -> ScopeKey {
        (self.span.start, Reverse(self.span.end))
    }
}

impl Binding {
    /// Returns the value of a name that is set once and to a value that is written out.
    pub(super) fn value(&self) -> Option<Span> {
        self.literal.filter(|_| self.count == 1)
    }
}

/// Returns the innermost of some scopes that has a place, if it is one of a kind.
fn innermost<T>(scopes: &BTreeMap<ScopeKey, T>, at: Span) -> impl Iterator<Item = &T> {
    let before = scopes.range(..=(at.start, Reverse(0))).rev();
    before.filter(move |((_, end), _)| at.end <= end.0).map(|(_, scope)| scope)
}

fn is_class(kind: &str) -> bool {
    matches!(
        kind,
        "class"
            | "class_declaration"
            | "class_definition"
            | "enum_declaration"
            | "impl_item"
            | "trait_declaration"
    )
}

/// Returns whether an assignment binds its name in the function where it stands.
fn binds_where_it_stands(grammar: Grammar) -> bool {
    matches!(grammar, Grammar::Php | Grammar::Python | Grammar::Ruby)
}

/// Returns whether a function of the language does not see a name of this form that is set around it.
fn is_closed(grammar: Grammar, name: &str) -> bool {
    grammar == Grammar::Php && name.starts_with('$')
        || grammar == Grammar::Ruby && name.starts_with(|first: char| first.is_lowercase())
}

/// Returns whether the text of a node stands for the object or the class that a method is of.
fn is_own(object: &str) -> bool {
    matches!(object, "$this" | "Self" | "cls" | "self" | "static" | "this")
}

impl Assignments {
    /// Notes a scope and returns it, if a node of this kind is one.
    pub(super) fn enter(&mut self, code: &Code<'_>, node: Parsed<'_>) -> Option<Scope> {
        let kind = node.word();
        let span = Span { start: node.start_byte(), end: node.end_byte() };
        if is_class(kind) {
            let scope = Scope { kind: ScopeKind::Class, span };
            let name = node.field("name").or_else(|| node.field("type"));
            if let Some(name) = name {
                self.classes.insert(code.node_text(Node::Parsed(name)).to_owned(), scope);
            }
            self.class_scopes.insert(scope.key(), scope);
            return Some(scope);
        }
        if kind == "class_body" || !is_function(kind) {
            return None;
        }
        let scope = Scope { kind: ScopeKind::Function, span };
        if matches!(kind, "function_definition" | "method" | "method_declaration" | "singleton_method") {
            self.closed.insert(scope.key(), scope);
        }
        Some(scope)
    }

    /// Notes that a place defines a name.
    pub(super) fn define(&mut self, name: &str, scope: Scope) {
        self.binding(name, scope).count += 1;
    }

    fn binding(&mut self, name: &str, scope: Scope) -> &mut Binding {
        // A property of PHP is a member without its sign.
        let name = if scope.kind == ScopeKind::Class { name.trim_start_matches('$') } else { name };
        let scopes = self.bindings.entry(name.to_owned()).or_default();
        scopes.entry(scope.key()).or_insert_with(|| Binding {
            scope,
            count: 0,
            literal: None,
            members: Vec::new(),
            record: OnceLock::new(),
        })
    }

    /// Notes that a name is set, be it one of an outer scope.
    pub(super) fn set(&mut self, name: &str, scope: Scope, value: Option<Span>) {
        self.sets.push(Set { name: name.to_owned(), scope, change: Change::Value(value) });
    }

    /// Notes the values that a node sets names or members to. Names that a node defines are counted apart.
    pub(super) fn note(&mut self, code: &Code<'_>, node: Parsed<'_>, scope: Scope) {
        let sets = matches!(
            node.word(),
            "assignment_expression"
                | "assignment_statement"
                | "augmented_assignment"
                | "augmented_assignment_expression"
                | "operator_assignment"
        );
        let is_member = matches!(
            node.word(),
            "const_element" | "field_definition" | "property_element" | "public_field_definition"
        );
        for (target, value) in targets(node) {
            let literal = value.and_then(|value| written_out(code, value));
            if let Shape::Member(object, word) = code.shape(Node::Parsed(target)) {
                let object = code.node_text(code.unwrapped(object));
                let span = Span { start: node.start_byte(), end: node.end_byte() };
                let set = MemberSet { name: word.text.into_owned(), span, is_certain: false };
                let change = Change::Member { set, block: block_of(node), literal };
                self.sets.push(Set { name: object.to_owned(), scope, change });
            } else if sets {
                self.set(code.node_text(Node::Parsed(target)), scope, literal);
            } else {
                let binding = self.binding(code.node_text(Node::Parsed(target)), scope);
                binding.count += usize::from(is_member);
                binding.literal = literal;
            }
        }
    }

    /// Gives the assignments to the names that they set.
    pub(super) fn resolve(&mut self, grammar: Grammar) {
        for Set { name, scope, change } in std::mem::take(&mut self.sets) {
            match change {
                Change::Value(literal) => {
                    let known = self.named(grammar, &name, scope.span).map(|binding| binding.scope);
                    let scope = match known {
                        Some(known) if !binds_where_it_stands(grammar) => known,
                        _ if binds_where_it_stands(grammar) => scope,
                        _ => Scope::FILE,
                    };
                    let binding = self.binding(&name, scope);
                    binding.count += 1;
                    binding.literal = literal;
                }
                Change::Member { set, block, literal } => {
                    self.set_member(grammar, &name, set, block, literal)
                }
            }
        }
    }

    fn set_member(
        &mut self,
        grammar: Grammar,
        object: &str,
        mut set: MemberSet,
        block: Option<Span>,
        literal: Option<Span>,
    ) {
        if let Some(class) = self.class_of(object, set.span) {
            let binding = self.binding(&set.name, class);
            binding.count += 1;
            binding.literal = literal;
            return;
        }
        let Some(scope) = self.named(grammar, object, set.span).map(|binding| binding.scope) else { return };
        set.is_certain = block == Some(scope.span);
        self.binding(object, scope).members.push(set);
    }

    /// Returns the class whose member a name behind an object is: that around the place, or one that the file defines.
    fn class_of(&self, object: &str, at: Span) -> Option<Scope> {
        if is_own(object) {
            return innermost(&self.class_scopes, at).next().copied();
        }
        self.classes.get(object).copied()
    }

    /// Returns a member of an object or a class.
    pub(super) fn member(&self, object: &str, name: &str, at: Span) -> Option<&Binding> {
        let class = self.class_of(object, at)?;
        self.bindings.get(name.trim_start_matches('$'))?.get(&class.key())
    }

    /// Returns what a name is at a place.
    pub(super) fn named(&self, grammar: Grammar, name: &str, at: Span) -> Option<&Binding> {
        let scopes = self.bindings.get(name)?;
        let sees_classes = matches!(grammar, Grammar::Java | Grammar::Ruby);
        let closed = if is_closed(grammar, name) { innermost(&self.closed, at).next() } else { None };
        innermost(scopes, at).find(|binding| match (binding.scope.kind, closed) {
            (ScopeKind::Function, Some(closed)) => closed.span.start <= binding.scope.span.start,
            (ScopeKind::File | ScopeKind::Class, Some(_)) => false,
            (ScopeKind::Class, None) => sees_classes,
            (ScopeKind::File | ScopeKind::Function, None) => true,
        })
    }

    /// Returns the bindings with their names.
    pub(super) fn bindings(&self) -> impl Iterator<Item = (&str, &Binding)> {
        self.bindings
            .iter()
            .flat_map(|(name, scopes)| scopes.values().map(move |binding| (name.as_str(), binding)))
    }
}

/// Returns what a node sets, each with its value, where that can be told.
fn targets<'t>(node: Parsed<'t>) -> Vec<(Parsed<'t>, Option<Parsed<'t>>)> {
    const SIDES: &[(&str, &str)] = &[
        ("left", "right"),
        ("name", "value"),
        ("name", "default_value"),
        ("property", "value"),
        ("pattern", "value"),
    ];
    if node.word() == "const_element" {
        let children: Vec<Parsed<'t>> = node.named_children().collect();
        return if let [name, value] = children[..] { vec![(name, Some(value))] } else { Vec::new() };
    }
    let sides = SIDES.iter().find_map(|(to, from)| Some((node.field(to)?, to, node.field(from)?)));
    let Some((first, field, mut value)) = sides else { return Vec::new() };
    // The value of `a = b = 1` is that of the last assignment.
    while matches!(value.word(), "assignment" | "assignment_expression") {
        let Some(inner) = value.field("right") else { break };
        value = inner;
    }
    let names: Vec<Parsed<'t>> = match is_list(first.word()) {
        true => first.named_children().collect(),
        false => node.fields(field).filter(Parsed::is_named).collect(),
    };
    let values: Vec<Parsed<'t>> = match names.len() > 1 && is_list(value.word()) {
        true => value.named_children().collect(),
        false => vec![value],
    };
    let is_paired = names.len() == values.len();
    names
        .into_iter()
        .enumerate()
        .map(|(at, name)| (name, values.get(at).copied().filter(|_| is_paired)))
        .collect()
}

/// Returns whether a node of this kind has names or values one after the other.
fn is_list(kind: &str) -> bool {
    matches!(
        kind,
        "array"
            | "array_pattern"
            | "expression_list"
            | "left_assignment_list"
            | "list_literal"
            | "list_pattern"
            | "pattern_list"
            | "right_assignment_list"
            | "tuple"
            | "tuple_expression"
            | "tuple_pattern"
    )
}

/// Returns the place of a value, if it is written out.
fn written_out(code: &Code<'_>, value: Parsed<'_>) -> Option<Span> {
    let is_written_out = matches!(
        code.shape(Node::Parsed(value)),
        Shape::Text(_) | Shape::Literal(_) | Shape::Record(_) | Shape::List(_)
    );
    is_written_out.then(|| Span { start: value.start_byte(), end: value.end_byte() })
}

/// Returns the function or the file whose body a statement stands in, or `None` where something decides if it runs.
fn block_of(node: Parsed<'_>) -> Option<Span> {
    let mut block = node.parent()?;
    if block.word() == "expression_statement" {
        block = block.parent()?;
    }
    if block.parent().is_none() {
        return Some(Scope::FILE.span);
    }
    if !matches!(block.word(), "block" | "body_statement" | "compound_statement" | "statement_block") {
        return None;
    }
    let function = block.parent().filter(|function| is_function(function.word()))?;
    Some(Span { start: function.start_byte(), end: function.end_byte() })
}

/// Returns whether a node of this kind defines the names in this field.
pub(super) fn defines(kind: &str, field: Option<&str>) -> bool {
    match field {
        Some("name") => matches!(
            kind,
            "function_definition"
                | "class_definition"
                | "default_parameter"
                | "typed_default_parameter"
                | "named_expression"
                | "function_declaration"
                | "generator_function_declaration"
                | "class_declaration"
                | "interface_declaration"
                | "enum_declaration"
                | "variable_declarator"
                | "var_spec"
                | "const_spec"
                | "type_spec"
                | "parameter_declaration"
                | "method_declaration"
                | "formal_parameter"
                | "function_item"
                | "struct_item"
                | "enum_item"
                | "mod_item"
                | "trait_item"
                | "const_item"
                | "static_item"
                | "macro_definition"
                | "simple_parameter"
                | "property_promotion_parameter"
                | "static_variable_declaration"
                | "catch_clause"
                | "method"
        ),
        Some("left") => matches!(
            kind,
            "assignment"
                | "for_statement"
                | "for_in_clause"
                | "for_in_statement"
                | "short_var_declaration"
                | "range_clause"
        ),
        Some("pattern") => matches!(
            kind,
            "let_declaration" | "parameter" | "required_parameter" | "optional_parameter" | "for_expression"
        ),
        Some("parameter") => matches!(kind, "arrow_function" | "catch_clause"),
        Some(_) => false,
        None => matches!(
            kind,
            "parameters"
                | "lambda_parameters"
                | "formal_parameters"
                | "typed_parameter"
                | "list_splat_pattern"
                | "dictionary_splat_pattern"
                | "as_pattern_target"
                | "closure_parameters"
                | "method_parameters"
                | "block_parameters"
                | "inferred_parameters"
                | "foreach_statement"
                | "global_declaration"
        ),
    }
}

/// Returns whether the names in a node are defined where the node is.
pub(super) fn is_pattern(kind: &str) -> bool {
    matches!(
        kind,
        "object_pattern"
            | "array_pattern"
            | "pair_pattern"
            | "assignment_pattern"
            | "object_assignment_pattern"
            | "rest_pattern"
            | "pattern_list"
            | "tuple_pattern"
            | "list_pattern"
            | "expression_list"
            | "tuple"
            | "list"
            | "list_literal"
            | "by_ref"
            | "pair"
    )
}
