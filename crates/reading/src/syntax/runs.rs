//! Calls, assignments and deletions that run whenever a statement does, in one spelling.

use super::Language;
use super::spelled::{Argument, Callee, Form, MAX_DEPTH, Shape, Spelled, Speller, first_field, parts, shape};
use super::walk::span;
use crate::tree::Node;

/// Returns whether a call of Python sets or deletes what its arguments name.
pub(super) fn sets_by_arguments(path: &str) -> bool {
    matches!(
        path,
        "setattr" | "delattr" | "globals().pop" | "globals().update" | "vars().pop" | "vars().update"
    )
}

/// Returns whether what a node has in it runs later, if at all.
pub(super) fn is_later(kind: &str) -> bool {
    kind.contains("function_definition")
        || kind.contains("lambda")
        || kind.contains("comprehension")
        || kind.contains("closure")
        || matches!(
            kind,
            "anonymous_function"
                | "arrow_function"
                | "block"
                | "class"
                | "class_body"
                | "do_block"
                | "func_literal"
                | "function_expression"
                | "generator_expression"
                | "statement_block"
        )
}

impl Speller<'_> {
    /// Spells what runs whenever a statement does.
    pub(super) fn runs(&self, statement: Node<'_>) -> Vec<Spelled> {
        let mut found = Vec::new();
        let lone = match statement.word() {
            "expression_statement" => parts(statement).first().copied(),
            _ => Some(statement),
        };
        // A word of Ruby alone is a call, and an exception may be raised by its name.
        let named = match statement.word() {
            "raise_statement" | "throw_statement" => parts(statement).first().copied(),
            _ => lone.filter(|_| self.language == Language::Ruby),
        };
        let name = named.filter(|node| matches!(shape(*node), Shape::Name | Shape::Member(..)));
        found.extend(
            name.and_then(|name| self.named(name, None)).map(|name| Spelled { form: Form::Run, ..name }),
        );
        if statement.word() == "exit_statement" {
            let arguments = Some(self.arguments(Some(statement)));
            let whole = span(statement);
            found.push(Spelled { form: Form::Run, path: "exit".to_owned(), arguments, span: whole });
        }
        self.note_runs(statement, &mut found, 0);
        found
    }

    fn note_runs(&self, node: Node<'_>, found: &mut Vec<Spelled>, depth: usize) {
        let is_leaf = node.child_count() == 0;
        let is_later = node.properties().is_some_and(|kind| kind.later);
        if is_leaf || depth > MAX_DEPTH || depth > 0 && is_later {
            return;
        }
        match node.word() {
            "assignment"
            | "assignment_expression"
            | "augmented_assignment"
            | "named_expression"
            | "variable_declarator" => {
                self.note_assigned(node, found);
            }
            "delete_statement" => {
                let targets = parts(node).into_iter().flat_map(|target| match target.word() {
                    "expression_list" => parts(target),
                    _ => vec![target],
                });
                found.extend(targets.filter_map(|target| {
                    let path = self.path(target)?;
                    Some(Spelled { form: Form::Deleted, path, arguments: None, span: span(node) })
                }));
                return;
            }
            _ => {}
        }
        if let Some(chosen) = self.chosen(node, 0) {
            if chosen != node {
                let is_word = self.language == Language::Ruby && matches!(shape(chosen), Shape::Name);
                let word = self.named(chosen, None).filter(|_| is_word);
                found.extend(word.map(|word| Spelled { form: Form::Run, ..word }));
                self.note_runs(chosen, found, depth + 1);
            }
            return;
        }
        if let Shape::Call(callee) = shape(node) {
            self.note_call(node, &callee, found, depth);
        }
        for part in parts(node) {
            self.note_runs(part, found, depth + 1);
        }
    }

    fn note_call(&self, node: Node<'_>, callee: &Callee<'_>, found: &mut Vec<Spelled>, depth: usize) {
        // A function that is called where it is written runs.
        if let Some(of) = callee.of {
            let function =
                if of.word() == "parenthesized_expression" { parts(of).last().copied() } else { Some(of) };
            let body = function.and_then(|function| function.field("body"));
            for statement in body.filter(|_| depth < MAX_DEPTH).into_iter().flat_map(parts) {
                let inner =
                    if statement.word() == "statement_list" { parts(statement) } else { vec![statement] };
                inner.into_iter().for_each(|inner| self.note_runs(inner, found, depth + 1));
            }
        }
        if let Some(call) = self.call_of(callee, Form::Run) {
            self.note_set(node, callee, &call, found);
            found.push(call);
        }
    }

    /// Spells what a call of Python sets or deletes: a member, a name of the module, or a mark.
    fn note_set(&self, node: Node<'_>, callee: &Callee<'_>, call: &Spelled, found: &mut Vec<Spelled>) {
        let is_of_marks =
            matches!(call.path.as_str(), "pytestmark.append" | "pytestmark.extend" | "pytestmark.insert");
        if !is_of_marks && !sets_by_arguments(&call.path) {
            return;
        }
        let arguments = callee.arguments.map(parts).unwrap_or_default();
        let given = call.arguments.as_deref().unwrap_or_default();
        match (call.path.as_str(), arguments.as_slice()) {
            ("setattr" | "delattr", [object, name, value @ ..]) => {
                let Some(name) = self.string(*name) else { return };
                let path = self.member(*object, &name, 0);
                let form = if value.is_empty() { Form::Deleted } else { Form::Assigned };
                let arguments = given.get(2).map(|value| vec![value.clone()]);
                found.push(Spelled { form, path, arguments, span: span(node) });
            }
            ("globals().pop" | "globals().update" | "vars().pop" | "vars().update", _) => {
                let names = given.iter().filter_map(|given| match given.name.as_str() {
                    "" => given.value.text.clone(),
                    name => Some(name.to_owned()),
                });
                let all = names.map(|path| Spelled {
                    form: Form::Deleted,
                    path,
                    arguments: None,
                    span: span(node),
                });
                found.extend(all);
            }
            ("pytestmark.append" | "pytestmark.extend" | "pytestmark.insert", values) => {
                found.extend(values.iter().flat_map(|value| self.marks(*value)));
            }
            _ => {}
        }
    }

    /// Spells the targets of an assignment; marks of Python are those that it sets.
    fn note_assigned(&self, node: Node<'_>, found: &mut Vec<Spelled>) {
        let Some(left) = first_field(node, &["left", "name"]) else { return };
        let right = first_field(node, &["right", "value"]);
        let targets = if is_list(left) { parts(left) } else { vec![left] };
        let values = right.filter(|right| is_list(left) && is_list(*right)).map(parts);
        for (at, target) in targets.into_iter().enumerate() {
            let value = match &values {
                Some(values) => values.get(at).copied(),
                None => right.filter(|_| !is_list(left)).map(last_assigned),
            };
            let is_name = matches!(shape(target), Shape::Name);
            let path = if is_name { Some(self.word(target)) } else { self.path(target) };
            let Some(path) = path else { continue };
            if path.rsplit('.').next() == Some("pytestmark") {
                found.extend(value.map(|value| self.marks(value)).unwrap_or_default());
            }
            let is_asked = (self.asks)(self.language, Form::Assigned, &path);
            let arguments = is_asked.then(|| {
                let value = value.map(|value| self.value(value)).unwrap_or_default();
                vec![Argument { name: String::new(), value }]
            });
            found.push(Spelled { form: Form::Assigned, path, arguments, span: span(target) });
        }
    }
}

/// Returns the value of the last of assignments in a row.
fn last_assigned(mut node: Node<'_>) -> Node<'_> {
    for _ in 0..MAX_DEPTH {
        let inner = node.field("right").filter(|_| node.word() == "assignment");
        let Some(inner) = inner else { break };
        node = inner;
    }
    node
}

/// Returns whether a node stands for several targets or values.
fn is_list(node: Node<'_>) -> bool {
    let lists = ["pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list"];
    lists.contains(&node.word())
}
