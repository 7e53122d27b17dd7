//! Conditions that decide whether the assertions of a test run, and the values of its names.

use super::super::branches::{otherwise_of, then_of};
use super::super::dead::BLOCKS;
use super::super::outline::Span;
use super::super::walk::span;
use super::bodies::{inner, statements};
use super::checks::Demand;
use super::{Facts, Language, Reader, names};
use crate::tree::Node;

/// A place whose code depends on a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The place that decides.
    pub condition: Span,
    pub place: Span,
    /// Normalized texts of the expressions that the condition is about; constants are none.
    pub subjects: Vec<String>,
    /// Set where the condition is that they are there, or true, or not.
    pub is_bare: bool,
    /// Set for a place that never runs.
    pub is_dead: bool,
}

impl Reader<'_> {
    /// Notes the places whose code a node decides about.
    pub(super) fn note_guards(&self, node: Node<'_>, facts: &mut Facts) {
        let idle = self.speller().dead(node).into_iter();
        facts.guards.extend(idle.map(|idle| dead(idle.condition, span(idle.part))));
        match node.word() {
            "if" | "if_expression" | "if_modifier" | "if_statement" | "unless" | "unless_modifier" => {
                self.note_branch(node, facts);
            }
            "return_statement" | "return" | "return_expression" => self.note_end(node, facts),
            "expression_statement" => self.note_statement(node, facts),
            _ => {}
        }
    }

    fn note_branch(&self, node: Node<'_>, facts: &mut Facts) {
        let (Some(condition), Some(then)) = (node.field("condition"), then_of(node)) else { return };
        let otherwise = otherwise_of(node);
        let is_turned = node.word().starts_with("unless");
        let value = self.speller().value_of_condition(node).map(|value| value != is_turned);
        if value == Some(false) {
            return;
        }
        let (subjects, is_bare) = self.subjects_of(condition);
        // An assertion is not left out where the test fails otherwise.
        let fails = otherwise.is_some_and(|otherwise| self.fails(otherwise));
        if fails {
            return;
        }
        let mut places = vec![span(then)];
        places.extend(otherwise.map(span));
        let leaves = otherwise.is_none() && self.only_leaves(then);
        places.extend(self.behind(node).filter(|_| leaves));
        // Of a branch that leaves, any line may be the new one.
        let condition = if leaves { span(node) } else { span(condition) };
        let guards = places.into_iter().map(|place| Guard {
            condition,
            place,
            subjects: subjects.clone(),
            is_bare,
            is_dead: value == Some(true) && leaves && place.start >= node.end_byte(),
        });
        facts.guards.extend(guards);
    }

    /// Notes what stands behind a statement that leaves the function in any case.
    fn note_end(&self, node: Node<'_>, facts: &mut Facts) {
        let is_statement = node.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
        let behind = self.behind(node).filter(|_| is_statement);
        let place = behind.map(|place| dead(node, place));
        facts.guards.extend(place);
    }

    /// Notes the right side of `a && f()`, and an assumption.
    fn note_statement(&self, node: Node<'_>, facts: &mut Facts) {
        let expression = inner(node);
        let kind = expression.word();
        if kind == "binary_expression"
            && let (Some(left), Some(right)) = (expression.field("left"), expression.field("right"))
        {
            let between = Span { start: left.end_byte(), end: right.start_byte() }.of(self.text);
            if !matches!(between.trim(), "&&" | "||") {
                return;
            }
            let (subjects, is_bare) = self.subjects_of(left);
            let (condition, place) = (span(left), span(right));
            return facts.guards.push(Guard { condition, place, subjects, is_bare, is_dead: false });
        }
        let Some(callee) = names::callee(self.text, expression) else { return };
        let assumed = self.arguments(expression).into_iter().next();
        let assumed = assumed.filter(|_| callee.starts_with("assume") || callee.starts_with("Assume"));
        let place = self.behind(node);
        if let (Some(assumed), Some(place)) = (assumed, place) {
            let (subjects, is_bare) = self.subjects_of(assumed);
            facts.guards.push(Guard {
                condition: span(expression),
                place,
                subjects,
                is_bare,
                is_dead: false,
            });
        }
    }

    /// Returns the part of a block behind a statement of it.
    fn behind(&self, node: Node<'_>) -> Option<Span> {
        let mut node = node;
        if let Some(parent) = node.parent().filter(|parent| parent.word() == "expression_statement") {
            node = parent;
        }
        let end = node.parent()?.end_byte();
        (node.end_byte() < end).then(|| Span { start: node.end_byte(), end })
    }

    /// Returns the expressions that a condition is about, and whether it only says that they are there, or true.
    fn subjects_of(&self, condition: Node<'_>) -> (Vec<String>, bool) {
        let claim = self.condition(condition, true, 0);
        let is_bare = claim.as_ref().is_none_or(|claim| claim.demand == Demand::Exists);
        let operands = claim.into_iter().flat_map(|claim| claim.operands);
        let texts = operands.filter(|operand| !operand.is_constant).map(|operand| {
            let text = operand.text.trim_start_matches(['!', '&', '*']);
            let text = if self.language == Language::Python {
                text.strip_prefix("not").unwrap_or(text)
            } else {
                text
            };
            super::rust_checks::unwrapped(text).to_owned()
        });
        (texts.collect(), is_bare)
    }

    /// Returns whether code seems to fail a test.
    fn fails(&self, node: Node<'_>) -> bool {
        const WORDS: &[&str] =
            &["Error", "Fail", "Fatal", "assert", "expect", "fail", "panic", "raise", "throw"];
        let text = self.text_of(node);
        WORDS.iter().any(|word| text.contains(word))
    }

    /// Returns whether a block does nothing but leave the test or the turn of a loop.
    fn only_leaves(&self, block: Node<'_>) -> bool {
        let all = statements(block);
        let Some((last, others)) = all.split_last() else { return false };
        self.leaves_quietly(*last)
            && others
                .iter()
                .all(|other| self.is_log(*other) || self.leaves_quietly(*other) || self.is_idle(*other))
    }

    fn leaves_quietly(&self, statement: Node<'_>) -> bool {
        let node = inner(statement);
        let kind = node.word();
        let is_jump =
            ["break", "continue", "jump", "next", "return"].iter().any(|word| kind.starts_with(word));
        let text = self.text_of(node);
        let fails = ["rror", "xception", "fail", "Fail", "reject"].iter().any(|word| text.contains(word));
        let skips = names::callee(self.text, node).is_some_and(|callee| {
            let callee = callee.to_lowercase();
            callee.contains("skip") || callee.ends_with("xfail")
        });
        is_jump && !fails || skips || kind.starts_with("raise") && text.contains("Skip")
    }

    /// Notes the value that a name is given, or that it is given several.
    pub(super) fn note_value(&self, node: Node<'_>, facts: &mut Facts) {
        let (name, value) = match node.word() {
            "assignment" | "assignment_expression" | "assignment_statement" | "short_var_declaration" => {
                (node.field("left"), node.field("right"))
            }
            "let_declaration" => (node.field("pattern"), node.field("value")),
            "variable_declarator" => {
                let value = node.field("value").or_else(|| node.named_children().last());
                (node.field("name"), value)
            }
            "property_declaration" => {
                let name = node.named_children().find(|child| child.word() == "variable_declaration");
                (name, node.named_children().last())
            }
            "augmented_assignment" | "augmented_assignment_expression" | "compound_assignment_expr" => {
                (node.field("left"), None)
            }
            _ => return,
        };
        let Some(name) = name else { return };
        let value = value.map(|value| {
            let value = self.spelled(value);
            super::rust_checks::unwrapped(value.trim_start_matches(['&', '*'])).to_owned()
        });
        let is_list = matches!(name.word(), "expression_list" | "pattern_list" | "tuple_pattern");
        if is_list && name.named_child_count() > 1 {
            for (position, part) in name.named_children().enumerate() {
                let value = value.as_ref().map(|value| format!("{value}[{position}]"));
                facts.give(self.spelled(part), value);
            }
            return;
        }
        facts.give(self.spelled(name), value);
    }
}

impl Facts {
    /// Notes a value that a name is given; of several none is its value.
    fn give(&mut self, name: String, value: Option<String>) {
        let known = self.values.contains_key(&name);
        self.values.insert(name, value.filter(|_| !known));
    }
}

fn dead(condition: Node<'_>, place: Span) -> Guard {
    Guard { condition: span(condition), place, subjects: Vec::new(), is_bare: false, is_dead: true }
}
