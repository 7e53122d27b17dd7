//! Definitions that an expression refers to, and the parts of loops, cases and functions.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::Expression;
use super::kinds::Class;
use crate::tree::Node;

/// The functions of a file by their names, found at the first question.
#[derive(Debug)]
pub(super) struct Functions<'t> {
    root: Node<'t>,
    by_name: OnceCell<BTreeMap<&'t str, Vec<Node<'t>>>>,
}

impl<'t> Functions<'t> {
    pub(super) fn new(root: Node<'t>) -> Self {
        Self { root, by_name: OnceCell::new() }
    }
}

/// A case of a `switch`: its label and its statements.
#[derive(Debug, Clone)]
pub struct Case<'t> {
    pub label: Expression<'t>,
    pub statements: Vec<Expression<'t>>,
}

impl<'t> Expression<'t> {
    /// Returns the functions of the file that have a name. This walks the whole file.
    pub fn definitions(self, name: &str) -> Vec<Self> {
        let functions = self.functions.by_name.get_or_init(|| {
            let mut named: BTreeMap<&str, Vec<_>> = BTreeMap::new();
            self.with(self.functions.root).descend(&mut |node| {
                let function =
                    if node.word() == "variable_declarator" { node.field("value") } else { Some(node) };
                if let (Some(own), Some(function)) =
                    (node.defined_name(), function.filter(|it| it.is_function()))
                {
                    named.entry(own.source()).or_default().push(function.node);
                }
                true
            });
            named
        });
        let named = functions.get(name).into_iter().flatten();
        named.map(|function| self.with(*function)).collect()
    }

    /// Returns whether this is an entry of an object initializer of C#, whose left side is a member of the new object.
    pub fn is_initializer_entry(self) -> bool {
        self.parent().is_some_and(|parent| parent.word() == "initializer_expression")
    }

    /// Returns the cases of a `switch` of a language in which cases fall through.
    pub fn case_bodies(self) -> Vec<Case<'t>> {
        const CASES: &[&str] = &[
            "case_statement",
            "default_statement",
            "switch_block_statement_group",
            "switch_case",
            "switch_default",
        ];
        let body = self.field("body").unwrap_or(self);
        let cases = body.children().into_iter().filter(|case| CASES.contains(&case.word()));
        let read = cases.map(|case| {
            let value = case.field("value");
            let is_label = |part: &Self| part.word() == "switch_label" || Some(*part) == value;
            let parts = case.children();
            let label = parts.iter().copied().find(is_label).unwrap_or(case);
            let statements: Vec<Self> = parts.into_iter().filter(|part| !is_label(part)).collect();
            let statements = match statements[..] {
                [only] if only.class() == Class::Statements => only.children(),
                _ => statements,
            };
            Case { label, statements }
        });
        read.collect()
    }

    /// Returns the variable of a loop.
    pub fn target(self) -> Option<Self> {
        self.field("left")
    }

    /// Returns the condition of a loop.
    pub fn condition(self) -> Option<Self> {
        self.field("condition").map(Self::unwrapped)
    }

    /// Returns the statements of a body, without wrapper nodes.
    pub fn statements(self) -> Vec<Self> {
        match self.children()[..] {
            [only] if only.word() == "statement_list" => only.children(),
            ref all => all.to_vec(),
        }
    }

    /// Returns a function without its body.
    pub fn head(self) -> &'t str {
        let end = self.field("body").map_or(self.span().end, |body| body.span().start);
        self.text.get(self.span().start..end).unwrap_or_default()
    }

    /// Returns whether it leaves the function.
    pub fn is_way_out(self) -> bool {
        matches!(self.word(), "raise_statement" | "return_statement" | "throw_statement")
    }

    /// Returns whether a part of it, in any branch, leaves the function.
    pub fn has_way_out(self) -> bool {
        let mut leaves = false;
        self.descend(&mut |node| {
            leaves |= node.is_way_out();
            !leaves && !node.is_function()
        });
        leaves
    }

    /// Returns whether it is an `if` or a ternary.
    pub fn is_choice(self) -> bool {
        self.class() == Class::Choice
    }
}
