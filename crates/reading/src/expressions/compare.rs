//! Compares expressions without their spelling, and tells those that only read.

use super::Expression;
use super::form::Form;
use super::kinds::Class;
use crate::syntax::Language;

/// Longer expressions are not compared.
pub const MOST_TOKENS: usize = 2_000;

impl<'t> Expression<'t> {
    /// Returns the words and signs of an expression without comments, commas, semicolons and parentheses of its own.
    /// Parentheses stand around each operation and call instead, and a quote before each string, so that what differs
    /// in meaning differs in tokens.
    pub fn tokens(self) -> Vec<&'t str> {
        let mut tokens = Vec::new();
        let mut cursor = self.node.walk();
        let mut depth = 0_usize;
        while tokens.len() < MOST_TOKENS {
            let node = cursor.node();
            // Not all of a text is in nodes of its own.
            let class = self.with(node).class();
            let is_text = matches!(class, Class::Text | Class::Character);
            if node.is_comment() {
                // Comments say nothing.
            } else if node.child_count() == 0 || is_text {
                let text = self.with(node).source();
                let text = if class == Class::Text { unquoted(text) } else { text };
                if class == Class::Text {
                    tokens.push("\"");
                }
                let is_spelling = !node.is_named() && matches!(text, "(" | ")" | "," | ";");
                if !is_spelling && (is_text || !text.is_empty()) {
                    tokens.push(text);
                }
            } else if cursor.goto_first_child() {
                if is_grouped(class) {
                    tokens.push("(");
                }
                depth += 1;
                continue;
            }
            loop {
                if depth == 0 {
                    return tokens;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
                depth -= 1;
                if is_grouped(self.with(cursor.node()).class()) {
                    tokens.push(")");
                }
            }
        }
        tokens
    }

    /// Returns whether two expressions are the same but for their spelling.
    pub fn is_same(self, other: Expression<'_>) -> bool {
        let (one, two) = (self.unwrapped(), other.unwrapped());
        if one.node.kind_id() != two.node.kind_id() {
            return false;
        }
        let tokens = one.tokens();
        tokens.len() < MOST_TOKENS && tokens == two.tokens()
    }

    /// Returns whether it only reads names, members, places of lists and literals, so that it has the same value twice.
    pub fn is_pure(self) -> bool {
        self.is_pure_within(8)
    }

    fn is_pure_within(self, depth: usize) -> bool {
        if depth == 0 {
            return false;
        }
        let form = self.form();
        // A method of Ruby without arguments is written as a name or a member.
        if form.is_literal() || matches!(form, Form::Name(_)) {
            return true;
        }
        if let Form::Member { object, name } = form {
            let is_fixed = !matches!(
                name,
                "next" | "current" | "value" | "shift" | "pop" | "rand" | "now" | "read" | "gets"
            );
            return is_fixed && object.is_pure_within(depth - 1);
        }
        if let Form::Index { object: one, index: two } | Form::Binary { left: one, right: two, .. } = form {
            return one.is_pure_within(depth - 1) && two.is_pure_within(depth - 1);
        }
        if let Form::Unary { operator, operand } = form {
            return matches!(operator, "!" | "-" | "+" | "~" | "typeof") && operand.is_pure_within(depth - 1);
        }
        let Form::Call { object, name, .. } = form else { return false };
        let arguments = self.unwrapped().arguments();
        let Some(object) = object else {
            return matches!(name, "len" | "count" | "sizeof" | "strlen")
                && arguments.iter().all(|given| given.is_pure_within(depth - 1));
        };
        // Lengths, and methods of Ruby and Java that are named as if they read.
        let reads = matches!(name, "length" | "size" | "len" | "count" | "nil?" | "empty?" | "isEmpty")
            || name.starts_with("get") && self.language == Language::Java;
        reads && arguments.is_empty() && object.is_pure_within(depth - 1)
    }

    /// Returns whether it calls or sets something.
    pub fn has_effect(self) -> bool {
        let mut has_effect = false;
        self.descend(&mut |node| {
            has_effect |= matches!(node.class(), Class::Assign | Class::Await | Class::Call | Class::Update);
            !has_effect
        });
        has_effect
    }

    /// Returns whether it is a name, a member or a place of a list, and nothing else.
    pub fn is_place(self) -> bool {
        self.is_pure() && matches!(self.class(), Class::Name | Class::Member | Class::Index)
    }

    /// Returns whether it is a literal number, string, truth value or nothing.
    pub fn is_literal(self) -> bool {
        let form = self.form();
        if let Form::Unary { operator: "-", operand } = form {
            return matches!(operand.form(), Form::Number(_));
        }
        form.is_literal()
    }
}

/// Returns a string without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inside = text.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    inside.unwrap_or(text)
}

/// Returns whether the operands of a node belong together without parentheses around them.
fn is_grouped(class: Class) -> bool {
    matches!(
        class,
        Class::Binary | Class::Call | Class::Choice | Class::Compare | Class::Tuple | Class::Unary
    )
}
