//! Parts of expressions and statements that have several: arguments, branches, cases, entries.

use super::form::{Form, Operator};
use super::kinds::Class;
use super::{Expression, LONGEST_CHAIN};
use crate::syntax::Language;

/// A condition with what runs if it holds.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'t> {
    pub condition: Expression<'t>,
    pub body: Option<Expression<'t>>,
}

/// All branches of an `if` or a ternary.
#[derive(Debug, Clone)]
pub struct Branches<'t> {
    pub arms: Vec<Arm<'t>>,
    pub otherwise: Option<Expression<'t>>,
    pub is_value: bool,
}

/// A key of a literal with its value.
#[derive(Debug, Clone)]
pub struct Entry<'t> {
    pub key: Expression<'t>,
    /// The key without its spelling, or `None` where it is computed.
    pub name: Option<String>,
}

impl<'t> Expression<'t> {
    /// Returns the arguments of a call.
    pub fn arguments(self) -> Vec<Self> {
        const LISTS: &[&str] = &["argument_list", "arguments", "value_arguments"];
        let list = self.field("arguments");
        let list = list.or_else(|| self.children().into_iter().find(|child| LISTS.contains(&child.word())));
        let mut arguments: Vec<Self> =
            list.map(|list| list.children().into_iter().map(Self::unwrapped).collect()).unwrap_or_default();
        let lambdas = self.children().into_iter().filter(|child| child.word() == "annotated_lambda");
        arguments.extend(lambdas.filter_map(|lambda| lambda.children().first().copied()));
        arguments
    }

    /// Returns the branches of an `if` or a ternary; `None` for one that is a branch of another.
    pub fn branches(self) -> Option<Branches<'t>> {
        if self.is_alternative() {
            return None;
        }
        let is_value = matches!(self.word(), "conditional" | "conditional_expression" | "ternary_expression");
        let mut branches = Branches { arms: Vec::new(), otherwise: None, is_value };
        let mut pending = vec![self];
        for _ in 0..LONGEST_CHAIN {
            let Some(choice) = pending.pop() else { break };
            let (arm, mut rest) = choice.arm()?;
            branches.arms.push(arm);
            rest.reverse();
            for alternative in rest {
                let inside = alternative.else_body();
                let is_choice = inside.class() == Class::Choice || inside.word().starts_with("el");
                let is_choice = is_choice && inside.word() != "else" && inside.word() != "else_clause";
                if is_choice && !is_value && !inside.word().contains("conditional") {
                    pending.push(inside);
                } else {
                    branches.otherwise = Some(inside);
                }
            }
        }
        Some(branches)
    }

    /// Returns whether an `if` is the `else` of another.
    fn is_alternative(self) -> bool {
        let Some(parent) = self.parent() else { return false };
        match parent.word() {
            "else_clause" => parent.children().len() == 1,
            word if self.word() == word && word.starts_with("if") => {
                parent.field("alternative") == Some(self)
                    || self.language == Language::Kotlin
                        && parent.children().last() == Some(&self)
                        && parent.children().len() > 2
            }
            _ => false,
        }
    }

    /// Returns the first branch, and the alternatives in the order of the text.
    fn arm(self) -> Option<(Arm<'t>, Vec<Self>)> {
        let children = self.children();
        if self.word() == "conditional_expression" && self.field("condition").is_none() {
            // Python names none of the three.
            let [then, condition, otherwise] = children[..] else { return None };
            return Some((Arm { condition, body: Some(then) }, vec![otherwise]));
        }
        let condition = self.field("condition")?;
        let body = self.first_field(&["consequence", "body"]);
        let alternatives = self.node.fields("alternative");
        let mut alternatives: Vec<Self> = alternatives.map(|node| self.with(node)).collect();
        alternatives.retain(|node| !node.node.is_comment());
        if body.is_none() && self.language == Language::Kotlin {
            let rest: Vec<Self> = children.into_iter().filter(|child| *child != condition).collect();
            return Some((
                Arm { condition, body: rest.first().copied() },
                rest.into_iter().skip(1).collect(),
            ));
        }
        Some((Arm { condition, body }, alternatives))
    }

    /// Returns what an `else` holds.
    fn else_body(self) -> Self {
        match self.word() {
            "else_clause" => {
                let body = self.field("body").or_else(|| self.children().last().copied());
                body.unwrap_or(self)
            }
            _ => self,
        }
    }

    /// Returns the labels of all cases of a `switch`.
    pub fn cases(self) -> Vec<Self> {
        let mut labels = Vec::new();
        let body = self.field("body").filter(|body| body.word() != "then").unwrap_or(self);
        for case in body.children() {
            match case.word() {
                "switch_case" | "case_statement" | "expression_case" => {
                    let Some(value) = case.field("value") else { continue };
                    let is_list = value.word() == "expression_list";
                    labels.extend(if is_list { value.children() } else { vec![value] });
                }
                "when" => {
                    let patterns = case.node.fields("pattern");
                    labels.extend(patterns.map(|node| case.with(node)));
                }
                "when_entry" => {
                    let conditions = case.node.fields("condition");
                    labels.extend(conditions.map(|node| case.with(node)));
                }
                _ => {}
            }
        }
        labels.retain(|label| label.node.is_named());
        labels.into_iter().map(Self::unwrapped).collect()
    }

    /// Returns the keys of a literal with braces.
    pub fn entries(self) -> Vec<Entry<'t>> {
        let pairs = self.children().into_iter().filter_map(|child| {
            if child.class() != Class::Pair {
                return None;
            }
            let Form::Pair { name: key, .. } = child.form() else { return None };
            Some(Entry { key, name: key.key_name() })
        });
        pairs.collect()
    }

    fn key_name(self) -> Option<String> {
        let is_bare = matches!(self.word(), "property_identifier" | "hash_key_symbol");
        let form = self.form();
        if let Form::Text(text) = form {
            return Some(if self.language == Language::Ruby { format!("\"{text}\"") } else { text });
        }
        if let Form::Number(number) = form {
            return Some(number.to_owned());
        }
        if let Form::Name(name) = form
            && is_bare
        {
            return Some(name.to_owned());
        }
        if matches!(form, Form::Name(_) | Form::Member { .. }) && self.is_pure() {
            return Some(format!("({})", self.tokens().concat()));
        }
        let is_symbol = self.word() == "simple_symbol";
        is_symbol.then(|| self.source().trim_start_matches(':').to_owned())
    }

    /// Returns whether a function is asynchronous.
    pub fn is_async(self) -> bool {
        let body = self.field("body").map(|body| body.span().start).unwrap_or(self.span().end);
        let head = self.text.get(self.span().start..body).unwrap_or_default();
        head.split(|sign: char| !sign.is_alphanumeric() && sign != '_').take(6).any(|word| word == "async")
    }

    /// Returns the body of a function or a loop.
    pub fn body(self) -> Option<Self> {
        self.field("body")
    }

    /// Returns the names of the parameters of a function.
    pub fn parameters(self) -> Vec<&'t str> {
        let list = self.first_field(&["parameters", "parameter"]);
        let list =
            list.or_else(|| self.children().into_iter().find(|child| child.word().contains("parameters")));
        let Some(list) = list else { return Vec::new() };
        if list.class() == Class::Name {
            return vec![list.source()];
        }
        let mut names = Vec::new();
        for parameter in list.children() {
            let several = parameter.node.fields("name");
            let several: Vec<Self> = several.map(|node| self.with(node)).collect();
            let named = parameter.first_field(&["pattern", "left", "declarator"]);
            let named = named.or_else(|| parameter.children().first().copied());
            if parameter.class() == Class::Name {
                names.push(parameter.source());
            } else if several.is_empty() {
                names.extend(named.filter(|name| name.class() == Class::Name).map(Self::source));
            } else {
                names.extend(several.into_iter().map(Self::source));
            }
        }
        names
    }

    /// Returns the name of a function, a class or a method.
    pub fn defined_name(self) -> Option<Self> {
        self.field("name")
    }

    /// Returns the nearest function around it.
    pub fn function(self) -> Option<Self> {
        self.ancestors().find(|node| node.class() == Class::Function)
    }

    /// Returns the statement around it that stands in a block.
    pub fn statement(self) -> Self {
        let mut statement = self;
        for around in self.ancestors() {
            if around.class() == Class::Statements {
                return statement;
            }
            statement = around;
        }
        statement
    }

    /// Returns the nearest loop around it that no function inside of the loop holds it.
    pub fn repeating_loop(self) -> Option<Self> {
        for around in self.ancestors() {
            if around.class() == Class::Function {
                return None;
            }
            let is_loop = around.word().starts_with("for") || around.word().starts_with("while");
            if is_loop && around.body().is_some_and(|body| body.span().start <= self.span().start) {
                return Some(around);
            }
        }
        None
    }

    /// Returns whether the value of an expression is thrown away, for certain.
    pub fn is_dropped(self) -> bool {
        let Some(parent) = self.parent() else { return false };
        if parent.word() == "expression_statement" {
            // The last expression of a block is its value in Rust.
            // So it is between the tags of a page in PHP.
            let may_be_value = matches!(self.language, Language::Php | Language::Rust);
            let before = self.text.get(..parent.span().start).unwrap_or_default().trim_end();
            return !may_be_value || parent.source().ends_with(';') && !before.ends_with("<?=");
        }
        // Ruby and Kotlin have no node for the statement, and the last one may be a result.
        let holds = matches!(parent.class(), Class::Statements) || parent.word() == "begin";
        let is_bare = matches!(self.language, Language::Ruby | Language::Kotlin);
        if !is_bare || !holds {
            return false;
        }
        let next = parent.children().into_iter().find(|next| next.span().start >= self.span().end);
        next.is_some_and(|next| !matches!(next.word(), "rescue" | "ensure" | "else" | "heredoc_body"))
    }

    /// Returns the parts of a counted loop: where it begins, its condition and its step.
    pub fn counted(self) -> Option<(Self, Self, Self)> {
        let clause = self.children().into_iter().find(|child| child.word() == "for_clause").unwrap_or(self);
        let initial = clause.first_field(&["initializer", "initialize", "init"])?;
        let condition = clause.field("condition")?;
        let step = clause.first_field(&["update", "increment"])?;
        Some((initial, condition.unwrapped(), step.unwrapped()))
    }

    /// Visits every node below it.
    pub fn descend(self, visitor: &mut impl FnMut(Self) -> bool) {
        let mut pending = vec![self];
        while let Some(node) = pending.pop() {
            if visitor(node) {
                let mut children = node.children();
                children.reverse();
                pending.extend(children);
            }
        }
    }

    /// Returns whether it is a function.
    pub fn is_function(self) -> bool {
        self.class() == Class::Function
    }

    /// Returns the types that a handler catches.
    pub fn caught(self) -> Vec<Self> {
        let Some(node) = self.first_field(&["exceptions", "value"]) else { return Vec::new() };
        let inside = if node.word() == "as_pattern" { node.children().first().copied() } else { Some(node) };
        match inside {
            Some(list) if list.word() == "exceptions" => list.children(),
            Some(only) => vec![only.unwrapped()],
            None => Vec::new(),
        }
    }

    /// Returns whether its truth decides a branch or a loop: it is a condition, or an operand of `and`, `or` and `not` in
    /// one.
    pub fn is_condition(self) -> bool {
        let mut inside = self;
        for around in self.ancestors() {
            let is_part = around.word().starts_with("parenthesized_")
                || around.word() == "condition_clause"
                || matches!(around.class(), Class::Unary)
                || matches!(around.form(), Form::Binary { operator: Operator::And | Operator::Or, .. });
            if around.field("condition") == Some(inside) {
                return true;
            }
            if around.word() == "conditional_expression" && around.field("condition").is_none() {
                return around.children().get(1) == Some(&inside);
            }
            if !is_part {
                return false;
            }
            inside = around;
        }
        false
    }

    /// Returns the functions of a class body, by their names.
    pub fn methods(self) -> Vec<(&'t str, Self)> {
        let functions = self.children().into_iter().filter(|child| child.is_function());
        functions.filter_map(|function| Some((function.field("name")?.source(), function))).collect()
    }

    /// Returns the nearest body of a class around it.
    pub fn class_body(self) -> Option<Self> {
        self.ancestors().find(|node| {
            let is_of_python = node.parent().is_some_and(|parent| parent.word() == "class_definition");
            matches!(node.word(), "class_body" | "declaration_list") || is_of_python && node.word() == "block"
        })
    }

    /// Returns the sign or word between two operands, or before one, as it is written.
    pub fn written_operator(self) -> &'t str {
        self.unwrapped().sign()
    }

    /// Returns the default value of each parameter of a function, with its name.
    pub fn defaults(self) -> Vec<(&'t str, Self)> {
        let Some(list) = self.first_field(&["parameters"]) else { return Vec::new() };
        let all = list.children().into_iter();
        all.filter_map(|parameter| Some((parameter.field("name")?.source(), parameter.field("value")?)))
            .collect()
    }

    /// Returns the kind of the node, as its grammar calls it.
    pub fn kind(self) -> &'t str {
        self.word()
    }
}

impl<'t> Expression<'t> {
    /// Returns the expression that a `switch` decides by.
    pub fn subject(self) -> Option<Self> {
        let subject = self.first_field(&["value", "condition"]);
        let subject =
            subject.or_else(|| self.children().into_iter().find(|child| child.word() == "when_subject"));
        subject.map(|subject| {
            if subject.word() == "when_subject" {
                subject.children().first().copied().unwrap_or(subject)
            } else {
                subject.unwrapped()
            }
        })
    }
}

impl<'t> Expression<'t> {
    /// Returns whether the statement behind it leaves the function or the loop.
    pub fn is_last_way_out(self) -> bool {
        let mut next = self.node.next_named_sibling();
        while let Some(node) = next {
            if matches!(node.word(), "break_statement" | "return_statement") {
                return true;
            }
            next = node.next_named_sibling();
        }
        false
    }
}
