//! Uses of names and calls in expressions, in the order of evaluation.

use super::statements::{Builder, first_field, parts, span};
use super::{Act, Call, Event, Fate, Statement};
use crate::syntax::{Language, is_function};
use crate::tree::Node;

/// The surroundings of an expression.
#[derive(Debug, Clone)]
pub(super) struct Around {
    is_certain: bool,
    is_nested: bool,
    argument_of: Option<String>,
}

impl Default for Around {
    fn default() -> Self {
        Self { is_certain: true, is_nested: false, argument_of: None }
    }
}

impl Around {
    pub(super) fn nested() -> Self {
        Self { is_certain: false, is_nested: true, argument_of: None }
    }

    pub(super) fn uncertain() -> Self {
        Self { is_certain: false, ..Self::default() }
    }

    fn operand(&self) -> Self {
        Self { argument_of: None, ..self.clone() }
    }
}

/// The use that a member or an index makes of the object before it.
enum Access<'n> {
    Member(Node<'n>, Act),
    Index(Node<'n>, Option<Node<'n>>),
}

impl Builder<'_> {
    pub(super) fn push_events(&self, node: Node<'_>, statement: &mut Statement, around: &Around) {
        let word = node.word();
        if node.is_comment() || is_type(word) {
            return;
        }
        if let Some(name) = self.name_of(node) {
            self.push(name, Act::Read, node, statement, around);
            return;
        }
        if is_function(word) || self.is_closure(word) {
            for part in parts(node) {
                self.push_events(part, statement, &Around::nested());
            }
            return;
        }
        if let Some(callee) = self.callee_of(node) {
            self.push_call(node, callee, statement, around);
            return;
        }
        match self.access(node) {
            Some(Access::Member(object, act)) => {
                self.push_access(object, node, act, statement, around);
                return;
            }
            Some(Access::Index(object, index)) => {
                let act = if self.is_optional(node) { Act::OptionalMember } else { Act::Indexed };
                self.push_access(object, node, act, statement, around);
                if let Some(index) = index {
                    self.push_events(index, statement, &around.operand());
                }
                return;
            }
            None => {}
        }
        match word {
            "assignment"
            | "assignment_expression"
            | "assignment_statement"
            | "short_var_declaration"
            | "variable_declarator"
            | "var_spec"
            | "init_declarator"
            | "named_expression"
            | "resource"
            | "range_clause" => self.push_assignment(node, statement, around),
            "augmented_assignment"
            | "augmented_assignment_expression"
            | "operator_assignment"
            | "update_expression"
            | "inc_statement"
            | "dec_statement"
            | "delete_statement" => {
                for part in parts(node) {
                    self.push_events(part, statement, &around.operand());
                }
            }
            "keyword_argument" | "named_argument" => {
                let value = node.field("value").or_else(|| parts(node).last().copied());
                if let Some(value) = value {
                    self.push_events(value, statement, around);
                }
            }
            "binary_expression"
            | "boolean_operator"
            | "binary"
            | "conditional_expression"
            | "ternary_expression"
            | "conditional" => self.push_choice(node, statement, around),
            "parenthesized_expression"
            | "await"
            | "await_expression"
            | "non_null_expression"
            | "as_expression"
            | "unary_expression"
            | "spread_element"
            | "argument"
            | "pointer_expression" => {
                for part in parts(node) {
                    self.push_events(part, statement, around);
                }
            }
            _ => {
                let inside = if around.is_nested { Around::nested() } else { around.operand() };
                for part in parts(node) {
                    self.push_events(part, statement, &inside);
                }
            }
        }
    }

    /// Returns whether a node of this kind is code that is handed on, and not one of [`is_function`].
    fn is_closure(&self, word: &str) -> bool {
        matches!(
            word,
            "anonymous_method_expression"
                | "class"
                | "class_declaration"
                | "class_definition"
                | "decorated_definition"
                | "dictionary_comprehension"
                | "do_block"
                | "generator_expression"
                | "list_comprehension"
                | "local_function_statement"
                | "set_comprehension"
        ) || word == "block" && self.language == Language::Ruby
    }

    fn push(&self, name: String, act: Act, node: Node<'_>, statement: &mut Statement, around: &Around) {
        statement.events.push(Event {
            name,
            act,
            span: span(node),
            argument_of: around.argument_of.clone(),
            is_certain: around.is_certain && !around.is_nested,
            is_nested: around.is_nested,
        });
    }

    fn push_access(
        &self,
        object: Node<'_>,
        whole: Node<'_>,
        act: Act,
        statement: &mut Statement,
        around: &Around,
    ) {
        match self.name_of(object) {
            Some(name) => self.push(name, act, whole, statement, around),
            None => {
                let before = statement.calls.len();
                self.push_events(object, statement, &around.operand());
                let called = span(self.without_wrappers(object));
                if let Some(call) = statement.calls[before..].last_mut().filter(|call| call.span == called) {
                    call.fate = match act {
                        Act::Member(name, is_called) => Fate::Member(name, is_called),
                        Act::Indexed => Fate::Indexed(self.index_of(whole, object)),
                        Act::Called | Act::OptionalMember | Act::Read | Act::Written => Fate::Other,
                    };
                }
            }
        }
    }

    /// Returns the text of an index without its brackets.
    fn index_of(&self, whole: Node<'_>, object: Node<'_>) -> String {
        let index = parts(whole).into_iter().find(|part| *part != object);
        let text = index.map(|index| self.squashed(index)).unwrap_or_default();
        text.trim_matches(['[', ']']).to_owned()
    }

    /// Returns what stands in parentheses and behind `await`.
    fn without_wrappers<'n>(&self, mut node: Node<'n>) -> Node<'n> {
        while let "parenthesized_expression" | "await" | "await_expression" = node.word() {
            let Some(inside) = node.named_child(0).filter(|_| node.named_child_count() == 1) else { break };
            node = inside;
        }
        node
    }

    fn push_call(&self, node: Node<'_>, callee: String, statement: &mut Statement, around: &Around) {
        let function = first_field(node, &["function", "constructor"]);
        let list = node.field("arguments");
        let arguments = list.map(parts).unwrap_or_default();
        match function {
            Some(function) => match (self.name_of(function), self.access(function)) {
                (Some(name), _) => self.push(name, Act::Called, function, statement, &around.operand()),
                (None, Some(Access::Member(object, act))) => {
                    let act = if let Act::Member(word, _) = act { Act::Member(word, true) } else { act };
                    self.push_access(object, function, act, statement, &around.operand());
                }
                (None, _) => self.push_events(function, statement, &around.operand()),
            },
            None => {
                let name = first_field(node, &["name", "method"]).map(|name| self.text_of(name).to_owned());
                if let Some(object) = first_field(node, &["object", "receiver", "scope"]) {
                    let is_optional = self.is_optional(node);
                    let act = match name.filter(|_| !is_optional) {
                        Some(name) => Act::Member(name, true),
                        None => Act::OptionalMember,
                    };
                    self.push_access(object, node, act, statement, &around.operand());
                }
            }
        }
        let inside = Around { argument_of: Some(callee.clone()), ..around.clone() };
        for argument in &arguments {
            self.push_events(*argument, statement, &inside);
        }
        // A block of Ruby, a class body of Java.
        let taken = [function, list, node.field("object"), node.field("receiver"), node.field("type")];
        for part in parts(node) {
            let is_name = matches!(part.word(), "name" | "identifier" | "constant" | "type_arguments");
            if !taken.contains(&Some(part)) && !is_name {
                self.push_events(part, statement, &Around::nested());
            }
        }
        statement.calls.push(Call {
            callee,
            arguments: arguments.iter().map(|argument| self.squashed(*argument)).collect(),
            span: span(node),
            fate: around.argument_of.clone().map(Fate::Argument).unwrap_or_default(),
            is_nested: around.is_nested,
        });
    }

    fn push_assignment(&self, node: Node<'_>, statement: &mut Statement, around: &Around) {
        let left = first_field(node, &["left", "name", "declarator"]);
        let right = first_field(node, &["right", "value"]);
        match right {
            Some(right) => self.push_events(right, statement, &around.operand()),
            None => {
                for part in parts(node).into_iter().filter(|part| Some(*part) != left) {
                    self.push_events(part, statement, &around.operand());
                }
            }
        }
        if let Some(left) = left {
            self.push_written(left, statement, around);
        }
    }

    /// Notes the names that a target binds, and the uses in what it is a part of.
    pub(super) fn push_written(&self, target: Node<'_>, statement: &mut Statement, around: &Around) {
        if let Some(name) = self.name_of(target) {
            self.push(name, Act::Written, target, statement, &around.operand());
            return;
        }
        match target.word() {
            "array_pattern"
            | "expression_list"
            | "list_pattern"
            | "object_pattern"
            | "pair_pattern"
            | "pattern_list"
            | "rest_pattern"
            | "tuple_pattern"
            | "left_assignment_list"
            | "pointer_declarator"
            | "object_assignment_pattern"
            | "assignment_pattern"
            | "list_literal" => {
                for part in parts(target) {
                    self.push_written(part, statement, around);
                }
            }
            _ => self.push_events(target, statement, &around.operand()),
        }
    }

    /// Notes the operands of an operator, of which the first may decide if the others are looked at.
    fn push_choice(&self, node: Node<'_>, statement: &mut Statement, around: &Around) {
        let operator = node.field("operator").map(|operator| self.text_of(operator)).unwrap_or_default();
        let decides = matches!(operator, "&&" | "||" | "??" | "and" | "or" | "");
        let condition = node.field("condition");
        for (index, part) in parts(node).into_iter().enumerate() {
            let is_first = match condition {
                Some(condition) => part == condition,
                None if node.word() == "conditional_expression" => index == 1,
                None => index == 0,
            };
            let is_certain = around.is_certain && (is_first || !decides);
            // A value that is chosen is handed on by the call that takes the choice.
            let argument_of = around.argument_of.clone().filter(|_| decides);
            self.push_events(part, statement, &Around { is_certain, argument_of, ..around.clone() });
        }
    }

    /// Returns the callee of a call, as it is written and without white space.
    pub(super) fn callee_of(&self, node: Node<'_>) -> Option<String> {
        match node.word() {
            "call"
            | "call_expression"
            | "function_call_expression"
            | "invocation_expression"
            | "new_expression" => {
                if let Some(function) = first_field(node, &["function", "constructor"]) {
                    return Some(self.squashed(function));
                }
                self.callee_with_receiver(node)
            }
            "method_invocation"
            | "member_call_expression"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression" => self.callee_with_receiver(node),
            "object_creation_expression" => {
                let of = node.field("type").or_else(|| node.named_child(0))?;
                Some(self.squashed(of))
            }
            _ => None,
        }
    }

    fn callee_with_receiver(&self, node: Node<'_>) -> Option<String> {
        let name = self.text_of(first_field(node, &["name", "method"])?);
        Some(match first_field(node, &["object", "receiver", "scope"]) {
            Some(object) => format!("{}.{name}", self.squashed(object).trim_start_matches('$')),
            None => name.to_owned(),
        })
    }

    fn access<'n>(&self, node: Node<'n>) -> Option<Access<'n>> {
        let object = first_field(node, &["object", "operand", "expression", "argument", "value", "array"]);
        match node.word() {
            "attribute"
            | "member_expression"
            | "selector_expression"
            | "field_access"
            | "member_access_expression"
            | "field_expression" => {
                let name = first_field(node, &["attribute", "property", "field", "name"])?;
                if self.is_optional(node) {
                    return Some(Access::Member(object?, Act::OptionalMember));
                }
                Some(Access::Member(object?, Act::Member(self.text_of(name).to_owned(), false)))
            }
            "conditional_access_expression" => {
                Some(Access::Member(node.field("condition")?, Act::OptionalMember))
            }
            "nullsafe_member_access_expression" => Some(Access::Member(object?, Act::OptionalMember)),
            "subscript" => Some(Access::Index(node.field("value")?, node.field("subscript"))),
            "subscript_expression"
            | "index_expression"
            | "element_access_expression"
            | "array_access"
            | "element_reference" => {
                let object = object.or_else(|| node.named_child(0))?;
                let index = parts(node).into_iter().find(|part| *part != object);
                Some(Access::Index(object, index))
            }
            _ => None,
        }
    }

    /// Returns whether null passes a member access, as in `a?.b`.
    fn is_optional(&self, node: Node<'_>) -> bool {
        let operator = node.field("operator").map(|operator| self.text_of(operator));
        node.field("optional_chain").is_some()
            || operator == Some("&.")
            || node.word().starts_with("nullsafe")
    }
}

fn is_type(word: &str) -> bool {
    matches!(word, "type" | "type_annotation" | "type_arguments" | "generic_type" | "type_identifier")
}
