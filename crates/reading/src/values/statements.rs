//! Statements and blocks of a function.

use super::events::Around;
use super::tests_for_null::null_test;
use super::{Bind, Block, Body, Fate, PassedTo, Statement, StatementKind, Target, Value};
use crate::syntax::{Language, Span, is_function};
use crate::tree::Node;

/// Deeper statements and expressions are not read, nor is the function around them.
pub(super) const MAX_DEPTH: usize = 200;
/// Longer functions are not read, in bytes.
const LONGEST_BODY: usize = 100_000;

#[derive(Clone, Copy)]
pub(super) struct Builder<'t> {
    pub(super) language: Language,
    pub(super) text: &'t str,
}

pub(super) fn span(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

/// Returns the named children that are no comments.
pub(super) fn parts(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children().filter(|child| !child.is_comment()).collect()
}

/// Returns the first of some fields that a node has.
pub(super) fn first_field<'n>(node: Node<'n>, fields: &[&str]) -> Option<Node<'n>> {
    fields.iter().find_map(|field| node.field(field))
}

impl<'t> Builder<'t> {
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    /// Returns the text of a node without white space.
    pub(super) fn squashed(&self, node: Node<'_>) -> String {
        self.text_of(node).split_whitespace().collect()
    }

    /// Reads a function below some nodes, outer ones first; `None` for one without a body and for one that is broken, too
    /// long or too deep.
    pub(super) fn body(&self, node: Node<'_>, above: &[Node<'_>]) -> Option<Body> {
        let place = span(node);
        let inside = node.field("body")?;
        if node.has_error() || place.end - place.start > LONGEST_BODY || is_deep(inside) {
            return None;
        }
        let block = if is_block(inside.word()) {
            self.block(inside)
        } else {
            let mut only = self.plain(inside, StatementKind::Return);
            only.returned.push(self.squashed(inside));
            Block { statements: vec![only] }
        };
        let head = Span { start: place.start, end: inside.start_byte() }.of(self.text);
        Some(Body {
            span: place,
            name: node.field("name").map(|name| self.text_of(name).to_owned()).unwrap_or_default(),
            parameters: self.parameters(node),
            result: node.field("result").map(|result| self.text_of(result).to_owned()).unwrap_or_default(),
            passed_to: self.passed_to(above),
            is_module: false,
            is_generator: node.word().contains("generator") || has_yield(inside) || head.contains('*'),
            is_asynchronous: head.split_whitespace().any(|word| word == "async"),
            block,
        })
    }

    /// Reads the statements of a file outside of functions, in a language that runs them.
    pub(super) fn module(&self, root: Node<'_>) -> Option<Body> {
        let runs = match self.language {
            Language::JavaScript
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript => true,
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::Java
            | Language::Kotlin
            | Language::Rust => false,
        };
        if !runs || root.has_error() || root.end_byte() > LONGEST_BODY || is_deep(root) {
            return None;
        }
        let block = self.group(parts(root));
        Some(Body { span: span(root), is_module: true, block, ..Body::default() })
    }

    fn parameters(&self, function: Node<'_>) -> Vec<String> {
        let Some(list) = first_field(function, &["parameters", "parameter"]) else { return Vec::new() };
        if list.word() == "identifier" {
            return vec![self.text_of(list).to_owned()];
        }
        let names = parts(list).into_iter().map(|one| {
            let name = first_field(one, &["pattern", "name", "left"]).unwrap_or(one);
            let name =
                if name.word() == "typed_parameter" { name.named_child(0).unwrap_or(name) } else { name };
            self.name_of(name).unwrap_or_default()
        });
        names.collect()
    }

    /// Returns the name that a node is.
    pub(super) fn name_of(&self, node: Node<'_>) -> Option<String> {
        match node.word() {
            "identifier" | "shorthand_property_identifier" | "shorthand_property_identifier_pattern" => {
                Some(self.text_of(node).to_owned())
            }
            "variable_name" => Some(self.text_of(node).trim_start_matches('$').to_owned()),
            _ => None,
        }
    }

    /// Returns the call that a function is passed to, by the nodes above the function.
    fn passed_to(&self, above: &[Node<'_>]) -> Option<PassedTo> {
        let mut around = above.iter().rev();
        let mut list = around.next()?;
        if list.word() == "argument" {
            list = around.next()?;
        }
        let is_list = matches!(list.word(), "arguments" | "argument_list");
        let call = around.next().filter(|_| is_list)?;
        let callee = self.callee_of(*call)?;
        let above = around.next()?;
        let is_result_used = !matches!(above.word(), "expression_statement" | "program" | "statement_block");
        Some(PassedTo { callee, is_result_used })
    }

    /// Reads the statements of a block, those of nodes that only group statements among them.
    pub(super) fn block(&self, node: Node<'_>) -> Block {
        let mut block = Block::default();
        self.push_statements(node, &mut block);
        block
    }

    fn push_statements(&self, node: Node<'_>, block: &mut Block) {
        if !is_block(node.word()) {
            self.push_statement(node, block);
            return;
        }
        let mut handlers = Vec::new();
        for child in parts(node) {
            match child.word() {
                "statement_list" | "block_body" => self.push_statements(child, block),
                "rescue" | "ensure" | "else" if self.language == Language::Ruby => handlers.push(child),
                _ => self.push_statement(child, block),
            }
        }
        if handlers.is_empty() {
            return;
        }
        // Statements before a `rescue` are the body of a `try`.
        let tried = std::mem::take(block);
        let mut statement = Statement {
            kind: StatementKind::Try,
            span: span(node),
            blocks: vec![tried],
            ..Statement::default()
        };
        statement.blocks.extend(handlers.into_iter().map(|handler| self.clause(handler)));
        block.statements.push(statement);
    }

    /// Reads the block of a clause such as `else` or `catch`.
    fn clause(&self, node: Node<'_>) -> Block {
        let body = first_field(node, &["body", "consequence"]);
        match body {
            Some(body) => self.block(body),
            None => {
                let inside = parts(node);
                let last = inside.last().filter(|last| is_block(last.word()) || inside.len() == 1);
                match last {
                    Some(last) => self.block(*last),
                    None => self.group(inside),
                }
            }
        }
    }

    fn group(&self, nodes: Vec<Node<'_>>) -> Block {
        let mut block = Block::default();
        for node in nodes {
            self.push_statement(node, &mut block);
        }
        block
    }

    fn push_statement(&self, node: Node<'_>, block: &mut Block) {
        let statement = match node.word() {
            "comment" | "line_comment" | "block_comment" | "empty_statement" | ";" => return,
            word if word.starts_with("preproc") => return,
            "expression_statement" | "expression" if node.named_child_count() > 0 => {
                let inside = parts(node);
                match inside.as_slice() {
                    [only] => self.expression_statement(node, *only),
                    _ => self.plain(node, StatementKind::Plain),
                }
            }
            _ => self.statement(node),
        };
        block.statements.push(statement);
    }

    /// Notes that the value of a statement's bind is bound.
    fn with_bind(&self, mut statement: Statement, bind: Option<Bind>) -> Statement {
        if let Some(bind) = &bind {
            let value = statement.calls.iter_mut().find(|call| call.span == bind.value_span);
            if let Some(call) = value {
                call.fate = Fate::Bound;
            }
        }
        Statement { bind, ..statement }
    }

    fn expression_statement(&self, whole: Node<'_>, inside: Node<'_>) -> Statement {
        let awaited = match inside.word() {
            "await" | "await_expression" => inside.named_child(0).unwrap_or(inside),
            _ => inside,
        };
        let kind = match inside.word() {
            "throw_expression" => StatementKind::Throw,
            _ if self.callee_of(awaited).is_some() => StatementKind::Call,
            _ => StatementKind::Plain,
        };
        let statement = Statement { span: span(whole), ..self.plain(inside, kind) };
        self.with_bind(statement, self.bind(inside))
    }

    fn statement(&self, node: Node<'_>) -> Statement {
        let word = node.word();
        match word {
            "return_statement" | "return" | "return_expression" => self.returned(node),
            "raise_statement" | "throw_statement" | "throw_expression" => {
                self.plain(node, StatementKind::Throw)
            }
            "break_statement" | "continue_statement" | "goto_statement" | "break" | "next" | "redo" => {
                let is_continue = matches!(word, "continue_statement" | "next");
                Statement { is_continue, ..self.plain(node, StatementKind::Jump) }
            }
            "if_statement" | "if" | "unless" | "if_modifier" | "unless_modifier" => self.branch(node),
            "for_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "foreach_statement"
            | "for_range_loop"
            | "while_statement"
            | "do_statement"
            | "for"
            | "while"
            | "until" => self.repeated(node),
            "try_statement" | "try_with_resources_statement" | "begin" => self.tried(node),
            "with_statement"
            | "using_statement"
            | "synchronized_statement"
            | "lock_statement"
            | "fixed_statement"
            | "checked_statement"
            | "unsafe_statement" => self.scope(node),
            "switch_statement"
            | "switch_expression"
            | "expression_switch_statement"
            | "type_switch_statement"
            | "select_statement"
            | "match_statement"
            | "case"
            | "case_match" => self.switch(node),
            "defer_statement" | "go_statement" => self.plain(node, StatementKind::Defer),
            "labeled_statement" | "case_statement" => self.plain(node, StatementKind::Label),
            "class_declaration"
            | "class_definition"
            | "decorated_definition"
            | "local_function_statement" => self.plain(node, StatementKind::Definition),
            _ if is_function(word) => self.plain(node, StatementKind::Definition),
            _ if is_block(word) => Statement {
                kind: StatementKind::Scope,
                span: span(node),
                blocks: vec![self.block(node)],
                ..Statement::default()
            },
            _ => {
                let kind =
                    if self.callee_of(node).is_some() { StatementKind::Call } else { StatementKind::Plain };
                self.with_bind(self.plain(node, kind), self.bind(node))
            }
        }
    }

    /// Reads a statement without blocks.
    fn plain(&self, node: Node<'_>, kind: StatementKind) -> Statement {
        let mut statement = Statement { kind, span: span(node), ..Statement::default() };
        let is_definition = kind == StatementKind::Definition;
        let around = if is_definition { Around::nested() } else { Around::default() };
        self.push_events(node, &mut statement, &around);
        if kind == StatementKind::Call
            && let Some(call) = statement.calls.last_mut()
        {
            call.fate = Fate::Dropped;
        }
        statement
    }

    fn returned(&self, node: Node<'_>) -> Statement {
        let values = parts(node).into_iter().flat_map(|value| match value.word() {
            "expression_list" | "argument_list" => parts(value),
            _ => vec![value],
        });
        let returned = values.map(|value| self.squashed(value)).collect();
        Statement { returned, ..self.plain(node, StatementKind::Return) }
    }

    fn branch(&self, node: Node<'_>) -> Statement {
        let mut statement = Statement { kind: StatementKind::If, span: span(node), ..Statement::default() };
        if let Some(initializer) = node.field("initializer") {
            self.push_events(initializer, &mut statement, &Around::default());
            statement = self.with_bind(statement, self.bind(initializer));
        }
        if let Some(condition) = node.field("condition") {
            self.push_events(condition, &mut statement, &Around::default());
            statement.null_test = null_test(self.language, self.text, condition);
        }
        if let (true, Some(test)) = (node.word().starts_with("unless"), &mut statement.null_test) {
            test.is_null = !test.is_null;
        }
        let then = first_field(node, &["consequence", "body"]);
        statement.blocks.push(then.map(|then| self.block(then)).unwrap_or_default());
        let alternatives: Vec<Node<'_>> = node.fields("alternative").filter(Node::is_named).collect();
        for alternative in alternatives {
            let block = match alternative.word() {
                "elif_clause" | "elsif" | "else_if_clause" => {
                    Block { statements: vec![self.branch(alternative)] }
                }
                "else_clause" | "else" => self.clause(alternative),
                _ => self.block(alternative),
            };
            statement.blocks.push(block);
        }
        statement
    }

    fn repeated(&self, node: Node<'_>) -> Statement {
        let mut statement = Statement { kind: StatementKind::Loop, span: span(node), ..Statement::default() };
        let body = node.field("body").or_else(|| parts(node).last().copied());
        let over = match node.word() {
            "enhanced_for_statement" => node.field("value"),
            _ => node.field("right"),
        };
        statement.over = over.map(|over| self.squashed(over)).unwrap_or_default();
        for part in parts(node).into_iter().filter(|part| Some(*part) != body) {
            if matches!(part.word(), "else_clause" | "else") {
                statement.blocks.push(self.clause(part));
                continue;
            }
            let is_target = [node.field("left"), node.field("name")].contains(&Some(part));
            if is_target {
                self.push_written(part, &mut statement, &Around::default());
            } else {
                self.push_events(part, &mut statement, &Around::default());
            }
        }
        statement.blocks.insert(0, body.map(|body| self.block(body)).unwrap_or_default());
        statement
    }

    fn tried(&self, node: Node<'_>) -> Statement {
        let mut statement = Statement { kind: StatementKind::Try, span: span(node), ..Statement::default() };
        if node.word() == "begin" {
            let mut inside = Block::default();
            let (clauses, own): (Vec<_>, Vec<_>) =
                parts(node).into_iter().partition(|part| matches!(part.word(), "rescue" | "ensure" | "else"));
            for one in own {
                self.push_statement(one, &mut inside);
            }
            statement.blocks.push(inside);
            statement.blocks.extend(clauses.into_iter().map(|clause| self.clause(clause)));
            return statement;
        }
        for part in parts(node) {
            match part.word() {
                _ if Some(part) == node.field("body") => statement.blocks.insert(0, self.block(part)),
                "catch_clause"
                | "except_clause"
                | "except_group_clause"
                | "finally_clause"
                | "else_clause" => {
                    if let Some(parameter) = first_field(part, &["parameter", "value"]) {
                        self.push_events(parameter, &mut statement, &Around::uncertain());
                    }
                    statement.blocks.push(self.clause(part));
                }
                _ => self.push_events(part, &mut statement, &Around::default()),
            }
        }
        statement
    }

    fn scope(&self, node: Node<'_>) -> Statement {
        let mut statement =
            Statement { kind: StatementKind::Scope, span: span(node), ..Statement::default() };
        let body = node.field("body").or_else(|| parts(node).last().copied());
        for part in parts(node).into_iter().filter(|part| Some(*part) != body) {
            self.push_events(part, &mut statement, &Around::default());
        }
        statement.blocks.extend(body.map(|body| self.block(body)));
        statement
    }

    fn switch(&self, node: Node<'_>) -> Statement {
        let mut statement =
            Statement { kind: StatementKind::Switch, span: span(node), ..Statement::default() };
        let mut pending: Vec<Node<'_>> = parts(node);
        pending.reverse();
        while let Some(part) = pending.pop() {
            match part.word() {
                "switch_body" | "switch_block" | "block" => pending.extend(parts(part).into_iter().rev()),
                "switch_case"
                | "switch_default"
                | "switch_block_statement_group"
                | "switch_rule"
                | "switch_section"
                | "expression_case"
                | "default_case"
                | "type_case"
                | "communication_case"
                | "case_clause"
                | "case_statement"
                | "default_statement"
                | "when" => {
                    let value = first_field(part, &["value", "pattern", "communication", "type"]);
                    if let Some(value) = value {
                        self.push_events(value, &mut statement, &Around::default());
                    }
                    let inside = parts(part).into_iter().filter(|one| Some(*one) != value);
                    let mut block = Block::default();
                    for one in inside {
                        self.push_statements(one, &mut block);
                    }
                    statement.blocks.push(block);
                }
                "else" => statement.blocks.push(self.clause(part)),
                _ => self.push_events(part, &mut statement, &Around::default()),
            }
        }
        statement
    }

    /// Reads an assignment or a declaration of one name, or of several by one value.
    fn bind(&self, node: Node<'_>) -> Option<Bind> {
        let node = match node.word() {
            "lexical_declaration"
            | "variable_declaration"
            | "local_variable_declaration"
            | "local_declaration_statement"
            | "var_declaration"
            | "declaration" => {
                let kinds = ["variable_declarator", "var_spec", "init_declarator", "variable_declaration"];
                let mut inside = parts(node).into_iter().filter(|part| kinds.contains(&part.word()));
                let only = inside.next().filter(|_| inside.next().is_none())?;
                return self.bind(only);
            }
            _ => node,
        };
        let (left, right) = match node.word() {
            "assignment" | "assignment_expression" | "assignment_statement" | "short_var_declaration" => {
                (node.field("left")?, node.field("right")?)
            }
            "variable_declarator" | "var_spec" | "init_declarator" => {
                let left = first_field(node, &["name", "declarator"])?;
                let last = parts(node).last().copied().filter(|last| *last != left);
                (left, node.field("value").or(last)?)
            }
            "augmented_assignment" | "augmented_assignment_expression" | "operator_assignment" => {
                let bind =
                    Bind { is_compound: true, ..self.bound(node.field("left")?, node.field("right")?) };
                return Some(bind);
            }
            _ => return None,
        };
        let between = Span { start: left.end_byte(), end: right.start_byte() }.of(self.text);
        let operator = between.rsplit_once(['\n', ' ']).map_or(between, |_| between).trim();
        let is_compound = operator.len() > 1 && operator.ends_with('=') && operator != ":=";
        Some(Bind { is_compound, ..self.bound(left, right) })
    }

    fn bound(&self, left: Node<'_>, right: Node<'_>) -> Bind {
        let lefts = match left.word() {
            "expression_list" | "pattern_list" | "tuple_pattern" | "left_assignment_list" => parts(left),
            "pointer_declarator" => parts(left),
            _ => vec![left],
        };
        let targets = lefts
            .into_iter()
            .map(|one| Target { name: self.name_of(one).unwrap_or_default(), span: span(one) });
        let mut value = right;
        while matches!(
            value.word(),
            "await" | "await_expression" | "parenthesized_expression" | "equals_value_clause"
        ) || value.word() == "expression_list" && value.named_child_count() == 1
        {
            let Some(inside) = value.named_child(0) else { break };
            value = inside;
        }
        let callee = self.callee_of(value).unwrap_or_default();
        let form = match value.word() {
            "generator_expression" => Value::Generator,
            "new_expression" | "object_creation_expression" => Value::Construction,
            _ if !callee.is_empty() => Value::Call,
            _ => Value::Other,
        };
        Bind { targets: targets.collect(), value: form, callee, value_span: span(value), is_compound: false }
    }
}

/// Returns whether a node of this kind groups statements.
fn is_block(kind: &str) -> bool {
    matches!(
        kind,
        "block"
            | "body_statement"
            | "colon_block"
            | "compound_statement"
            | "constructor_body"
            | "do"
            | "function_body"
            | "statement_block"
            | "statement_list"
            | "block_body"
            | "then"
    )
}

fn is_deep(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let mut depth = 0;
    loop {
        if depth > MAX_DEPTH {
            return true;
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if depth == 0 || !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
        if depth == 0 {
            return false;
        }
    }
}

/// Returns whether a function's own code yields.
fn has_yield(body: Node<'_>) -> bool {
    let mut pending = vec![body];
    while let Some(node) = pending.pop() {
        if matches!(node.word(), "yield" | "yield_expression" | "yield_statement") {
            return true;
        }
        pending.extend(parts(node).into_iter().filter(|part| !is_function(part.word())));
    }
    false
}
