//! Types of variables that are declared with their type, or are given a new object where they are declared.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::Language;
use super::super::shape::parts;
use super::super::walk::span;
use super::bound::{BoundName, bound_names};
use super::narrowed::narrowed;
use crate::tree::Node;

/// Maximum number of functions around a place whose variables are looked for.
const MOST_FUNCTIONS: usize = 8;
/// Nodes with parameters and variables of their own.
const FUNCTIONS: &[&str] = &[
    "anonymous_function",
    "anonymous_method_expression",
    "arrow_function",
    "closure_expression",
    "constructor_declaration",
    "func_literal",
    "function_declaration",
    "function_definition",
    "function_expression",
    "function_item",
    "generator_function",
    "generator_function_declaration",
    "lambda",
    "lambda_expression",
    "local_function_statement",
    "method_declaration",
    "method_definition",
];

/// Maximum number of bindings of one name that are looked at.
const MOST_BINDINGS: usize = 16;
/// Nodes whose names hold inside of them alone.
const BLOCKS: &[&str] = &[
    "arrow_function",
    "block",
    "catch_clause",
    "class_body",
    "closure_expression",
    "compilation_unit",
    "constructor_body",
    "constructor_declaration",
    "declaration_list",
    "enhanced_for_statement",
    "for_in_statement",
    "for_statement",
    "foreach_statement",
    "func_literal",
    "function_declaration",
    "function_expression",
    "function_item",
    "if_statement",
    "lambda_expression",
    "local_function_statement",
    "method_declaration",
    "method_definition",
    "program",
    "source_file",
    "statement_block",
    "switch_block_statement_group",
    "try_with_resources_statement",
    "using_statement",
];

/// Nodes that stand for their last part as far as members are concerned: a pointer to a type, a type that may be null.
const WRAPPERS: &[&str] = &[
    "expression_list",
    "named_type",
    "nullable_type",
    "optional_type",
    "parenthesized_expression",
    "parenthesized_type",
    "pointer_type",
    "reference_type",
    "type",
    "type_annotation",
];

/// The uses of types that a language is certain about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typing {
    /// A declared type holds for everything that the variable is given.
    Checked,
    /// A declared type holds, and one that is not declared may change with each assignment.
    Declared,
    /// Only the value says what a variable is.
    Untyped,
}

fn typing(language: Language) -> Typing {
    match language {
        Language::CSharp | Language::Go | Language::Java | Language::Rust => Typing::Checked,
        Language::Php | Language::Tsx | Language::TypeScript => Typing::Declared,
        Language::C
        | Language::Cpp
        | Language::JavaScript
        | Language::Kotlin
        | Language::Python
        | Language::Ruby => Typing::Untyped,
    }
}

/// Names that one scope binds.
struct Scope<'t> {
    bound: BTreeMap<&'t str, Vec<BoundName<'t>>>,
    /// Names that are asked for their type, which may be another one below.
    narrowed: BTreeSet<&'t str>,
    /// Types by name, once asked for.
    types: RefCell<BTreeMap<&'t str, Option<Node<'t>>>>,
}

/// Types of the variables of a file. Each scope is read once, whatever the number of variables.
pub(super) struct Receivers<'t> {
    language: Language,
    text: &'t str,
    /// By the node of the scope.
    scopes: RefCell<BTreeMap<u32, Rc<Scope<'t>>>>,
}

impl<'t> Receivers<'t> {
    pub(super) fn new(language: Language, text: &'t str) -> Self {
        Self { language, text, scopes: RefCell::default() }
    }

    fn scope(&self, node: Node<'t>) -> Rc<Scope<'t>> {
        let mut scopes = self.scopes.borrow_mut();
        let scope = scopes.entry(node.id()).or_insert_with(|| {
            let is_checked = typing(self.language) == Typing::Checked;
            Rc::new(Scope {
                bound: bound_names(node, self.text, FUNCTIONS),
                narrowed: if is_checked { BTreeSet::new() } else { narrowed(node, self.text) },
                types: RefCell::default(),
            })
        });
        Rc::clone(scope)
    }

    /// Returns the node that names the type of a variable at a place, by the innermost function around the place that
    /// binds it, or by the file. Returns `None` where its bindings do not surely agree. `above` has the outer nodes first.
    pub(super) fn type_of(&self, name: &'t str, above: &[Node<'t>]) -> Option<Node<'t>> {
        let functions = above.iter().rev().filter(|node| FUNCTIONS.contains(&node.word()));
        let mut scopes = functions.take(MOST_FUNCTIONS).chain(above.first());
        let (scope, is_file) = scopes.find_map(|node| {
            let (scope, is_file) = (self.scope(*node), Some(node) == above.first());
            let is_bound =
                scope.bound.get(name).is_some_and(|all| self.counted(all, is_file).next().is_some());
            is_bound.then_some((scope, is_file))
        })?;
        let mut types = scope.types.borrow_mut();
        let agreed = *types.entry(name).or_insert_with(|| self.agreed(&scope, name, is_file));
        agreed.filter(|_| self.is_visible(&scope, name, above))
    }

    /// Returns whether a binding of a name holds at a place: it stands in a block around that, where blocks have names of
    /// their own.
    fn is_visible(&self, scope: &Scope<'t>, name: &str, above: &[Node<'t>]) -> bool {
        if matches!(self.language, Language::Php | Language::Python) {
            return true;
        }
        let bound = scope.bound.get(name).into_iter().flatten().take(MOST_BINDINGS);
        let mut blocks = bound.filter_map(|bound| {
            let mut around = bound.binder.parent();
            while let Some(node) = around.filter(|node| !BLOCKS.contains(&node.word())) {
                around = node.parent();
            }
            around
        });
        blocks.any(|block| above.contains(&block))
    }

    /// Returns the bindings that say what type a name has.
    fn counted<'b>(
        &self,
        bound: &'b [BoundName<'t>],
        is_file: bool,
    ) -> impl Iterator<Item = &'b BoundName<'t>> {
        let is_checked = typing(self.language) == Typing::Checked;
        bound
            .iter()
            .filter(move |each| !(is_checked && is_assignment(each.binder) || is_file && is_local(each)))
    }

    /// Returns the type that all bindings of a name in a scope agree on.
    fn agreed(&self, scope: &Scope<'t>, name: &str, is_file: bool) -> Option<Node<'t>> {
        if scope.narrowed.contains(name) {
            return None;
        }
        let mut types = self
            .counted(scope.bound.get(name)?, is_file)
            .map(|each| declared_type(self.language, self.text, each));
        let found = types.next()??;
        let spelled = span(found).of(self.text);
        types.all(|each| each.is_some_and(|each| span(each).of(self.text) == spelled)).then_some(found)
    }
}

/// Returns whether a name is bound for one function of the file alone.
fn is_local(bound: &BoundName<'_>) -> bool {
    bound.is_in_function && !is_assignment(bound.binder) && bound.binder.word() != "global_statement"
}

fn is_assignment(binder: Node<'_>) -> bool {
    matches!(binder.word(), "assignment_expression" | "augmented_assignment" | "update_expression")
}

/// Returns the node that names the type of a bound name.
fn declared_type<'t>(language: Language, text: &str, bound: &BoundName<'t>) -> Option<Node<'t>> {
    let binder = bound.binder;
    if !binds_directly(bound) {
        return None;
    }
    let written = binder.field("type").or_else(|| {
        let holder = bound.holder.filter(|_| binder.word() == "variable_declarator")?;
        holder.field("type")
    });
    let is_checked = typing(language) != Typing::Untyped;
    if let Some(written) = written.filter(|node| is_checked && !is_inferred(text, *node)) {
        return unwrapped(written);
    }
    constructed(language, text, value_of(binder)?)
}

/// Returns whether the word of a type leaves it to the value.
fn is_inferred(text: &str, declared: Node<'_>) -> bool {
    declared.word() == "implicit_type" || span(declared).of(text) == "var"
}

/// Returns whether a name is what the binder binds, and no part of a pattern.
fn binds_directly(bound: &BoundName<'_>) -> bool {
    matches!(
        bound.binder.word(),
        "assignment"
            | "assignment_expression"
            | "declaration_pattern"
            | "enhanced_for_statement"
            | "foreach_statement"
            | "formal_parameter"
            | "let_declaration"
            | "optional_parameter"
            | "parameter"
            | "parameter_declaration"
            | "property_promotion_parameter"
            | "required_parameter"
            | "resource"
            | "short_var_declaration"
            | "simple_parameter"
            | "var_spec"
            | "variable_declarator"
    ) && bound.is_whole
}

/// Returns the only value that a binder gives.
fn value_of(binder: Node<'_>) -> Option<Node<'_>> {
    // A loop has the list that its variable runs through.
    if matches!(binder.word(), "enhanced_for_statement" | "foreach_statement") {
        return None;
    }
    let value = match binder.field("value").or_else(|| binder.field("right")) {
        Some(value) => value,
        // A variable of C# has its value behind its name.
        None if binder.word() == "variable_declarator" => {
            parts(binder).pop().filter(|value| Some(*value) != binder.field("name"))?
        }
        None => return None,
    };
    if value.word() != "expression_list" {
        return Some(value);
    }
    let [only] = parts(value)[..] else { return None };
    Some(only)
}

/// Returns the node that names the type of an expression that makes an object.
pub(super) fn constructed<'t>(language: Language, text: &str, value: Node<'t>) -> Option<Node<'t>> {
    match value.word() {
        "parenthesized_expression" => {
            let [only] = parts(value)[..] else { return None };
            constructed(language, text, only)
        }
        // `&Type{}`.
        "unary_expression" => {
            let operand = value.field("operand").filter(|_| span(value).of(text).starts_with('&'))?;
            (operand.word() == "composite_literal").then(|| constructed(language, text, operand)).flatten()
        }
        "composite_literal" => unwrapped(value.field("type")?),
        "struct_expression" => unwrapped(value.field("name")?),
        "new_expression" => value.field("constructor"),
        "object_creation_expression" => {
            // A body makes a class of its own.
            let all = parts(value);
            let is_plain = all.iter().all(|part| !matches!(part.word(), "anonymous_class" | "class_body"));
            let named = value.field("type").or_else(|| all.first().copied());
            named.filter(|_| is_plain).and_then(unwrapped)
        }
        "call_expression" if language == Language::Go => {
            let function = value.field("function")?;
            let [only] = parts(value.field("arguments")?)[..] else { return None };
            (span(function).of(text) == "new").then(|| unwrapped(only)).flatten()
        }
        // A class of Python is called; the lens holds against the definition that it is one.
        "call" if language == Language::Python => value.field("function"),
        _ => None,
    }
}

/// Returns the node that names a type, without what is around it that changes no member.
fn unwrapped(declared: Node<'_>) -> Option<Node<'_>> {
    let mut node = declared;
    while WRAPPERS.contains(&node.word()) {
        node = node.field("type").or_else(|| parts(node).pop())?;
    }
    let is_name = node.child_count() == 0 && node.is_named()
        || matches!(
            node.word(),
            "generic_name"
                | "generic_type"
                | "nested_type_identifier"
                | "qualified_name"
                | "qualified_type"
                | "scoped_identifier"
                | "scoped_type_identifier"
        );
    is_name.then_some(node)
}
