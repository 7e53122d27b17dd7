//! Marks that skip the tests of a body, a group or a file: statements that run for certain, setups, hooks and fixtures.

use std::sync::Arc;

use super::Language;
use super::branches::{otherwise_of, then_of};
use super::ci::names_ci;
use super::file_names::constraint;
use super::outline::Span;
use super::spelled::{Argument, Form, Spelled, Value, parts};
use super::test_blocks::{block_of, body_of, is_return, statements};
use super::test_calls::function_of;
use super::test_cases::{Mark, MarkKind, Reader, Visited, squashed};
use super::uncollected::head;
use super::walk::span;
use crate::tree::Node;

/// Subtests deeper than this are not looked at.
const MAX_NESTED: usize = 8;
/// Path of what ends a test without a call.
const RETURN: &str = "return";
/// Path of what leaves a group of Ruby.
const LEAVES: &str = "next";
/// Functions that run before the tests of a group.
const SETUPS: &[&str] = &[
    "setUp",
    "setUpClass",
    "setUpModule",
    "setup",
    "setup_class",
    "setup_function",
    "setup_method",
    "setup_module",
    "asyncSetUp",
    "TestMain",
    "BeforeEach",
    "BeforeSuite",
    "BeforeTest",
    "JustBeforeEach",
    "SetupSuite",
    "SetupTest",
    "beforeEach",
    "beforeAll",
    "before",
];

impl<'t> Reader<'t> {
    /// Returns the marks that may skip all tests of a group or a file. In Ruby a call there skips one test alone.
    pub(super) fn marks_of_group(&self, body: Node<'_>) -> Vec<Mark> {
        if self.language != Language::Ruby {
            return self.marks_of_body(body);
        }
        let all = statements(body);
        let setups = all.iter().filter_map(|statement| self.setup(*statement));
        let mut marks: Vec<Mark> = setups.flat_map(|setup| self.marks_of_body(setup)).collect();
        // Nothing is left out behind the last statement.
        let before_others = all.split_last().map(|(_, before)| before).unwrap_or_default();
        marks.extend(before_others.iter().find_map(|statement| self.end_of_group(*statement)));
        marks
    }

    /// Returns the mark of a statement of Ruby that leaves a group in every run, before the examples behind it.
    fn end_of_group(&self, statement: Node<'_>) -> Option<Mark> {
        let last = match statement.word() {
            "if" | "if_modifier" | "unless" | "unless_modifier" => {
                let holds = statement.word().starts_with("if");
                let is_taken = self.speller.value_of_condition(statement) == Some(holds);
                let branch = then_of(statement).filter(|_| is_taken)?;
                if is_end(branch) { branch } else { statements(branch).last().copied()? }
            }
            _ => statement,
        };
        let place = is_end(last).then(|| span(statement))?;
        let spelled = Spelled { form: Form::Run, path: LEAVES.to_owned(), arguments: None, span: span(last) };
        Some(Mark::new(MarkKind::Statement, place, vec![spelled]))
    }

    /// Returns the marks that may skip all tests of a body: its own statements, those of its setup, and constraints of the
    /// file.
    pub(super) fn marks_of_body(&self, body: Node<'_>) -> Vec<Mark> {
        let mut marks = Vec::new();
        for statement in statements(body) {
            self.note_statement(statement, &mut marks);
        }
        marks
    }

    /// Notes what a statement runs for certain.
    fn note_statement(&self, statement: Node<'_>, marks: &mut Vec<Mark>) {
        let inner = match statement.word() {
            "inner_attribute_item" => {
                return marks.push(self.mark(MarkKind::Attribute, statement, self.speller.marks(statement)));
            }
            "comment" | "line_comment" => return marks.extend(self.constraint(statement)),
            "expression_statement" if self.is_case(statement) => return,
            _ if self.setup(statement).is_some() => {
                return marks.extend(
                    self.setup(statement)
                        .map(|body| self.marks_of_setup(statement, body))
                        .unwrap_or_default(),
                );
            }
            "if" | "if_statement" | "if_expression" | "unless" => {
                return self.note_branches(statement, marks);
            }
            "block" | "compound_statement" | "statement_block" => Some(statement),
            "labeled_statement" | "using_statement" => parts(statement).last().copied(),
            "do_statement" => statement.field("body"),
            "try_statement" | "while_statement"
                if statement.word() == "try_statement"
                    || self.speller.value_of_condition(statement) == Some(true) =>
            {
                marks.extend(self.needs_of_imports(statement));
                let last = parts(statement).into_iter().find(|part| part.word() == "finally_clause");
                last.and_then(|last| parts(last).last().copied())
                    .into_iter()
                    .for_each(|block| marks.extend(self.marks_of_body(block)));
                statement.field("body")
            }
            // Subtests of unittest are looked at as such.
            "with_statement" if !self.text_of(statement).contains("subTest") => statement.field("body"),
            _ => None,
        };
        if let Some(inner) = inner {
            return marks.extend(self.marks_of_body(inner));
        }
        const EXPRESSIONS: &[&str] = &[
            "assert_statement",
            "assignment",
            "assignment_statement",
            "await_expression",
            "binary",
            "binary_expression",
            "call",
            "call_expression",
            "defer_statement",
            "delete_statement",
            "exit_statement",
            "expression_statement",
            "function_call_expression",
            "identifier",
            "if_modifier",
            "jump_expression",
            "let_declaration",
            "lexical_declaration",
            "local_declaration_statement",
            "local_variable_declaration",
            "macro_invocation",
            "member_call_expression",
            "scoped_call_expression",
            "raise_statement",
            "return_statement",
            "short_var_declaration",
            "throw_expression",
            "throw_statement",
            "unless_modifier",
            "variable_declaration",
            "var_declaration",
            "yield_statement",
        ];
        if EXPRESSIONS.contains(&statement.word()) {
            let spelled = self.with_helpers(self.runs(statement));
            marks.push(Mark { kind: MarkKind::Statement, span: span(statement), spelled });
        }
    }

    fn mark(&self, kind: MarkKind, node: Node<'_>, spelled: Vec<Spelled>) -> Mark {
        Mark::new(kind, span(node), spelled)
    }

    /// Notes what a condition runs whatever it is about.
    pub(super) fn note_branches(&self, statement: Node<'_>, marks: &mut Vec<Mark>) {
        let (branch, alternative) = (then_of(statement), otherwise_of(statement));
        let is_asked_for = statement.field("condition").is_some_and(|condition| self.is_asked_for(condition));
        let value = self.speller.value_of_condition(statement);
        if let Some(value) = value.map(|value| value ^ statement.word().starts_with("unless")) {
            let taken = if value { branch } else { alternative };
            marks.extend(taken.into_iter().flat_map(|branch| self.marks_of_branch(branch)));
        } else if let (Some(branch), Some(alternative)) = (branch, alternative) {
            // Whatever holds, one of both runs.
            let other = self.marks_of_branch(alternative);
            let is_in_both = |run: &Spelled| {
                let mut others = other.iter().flat_map(|mark| mark.spelled.iter());
                others.any(|other| other.path == run.path)
            };
            let own = self.marks_of_branch(branch).into_iter();
            marks.extend(own.filter(|mark| mark.spelled.iter().any(is_in_both)));
        } else if let Some(branch) = branch.filter(|_| is_asked_for) {
            let own = self.marks_of_branch(branch).into_iter();
            marks.extend(own.map(|mark| Mark { kind: MarkKind::AskedFor, ..mark }));
        }
    }

    /// Returns the marks of conditions that end the body of a test early in a run of a CI, or where a run does not ask for
    /// it.
    pub(super) fn ends_unless_asked(&self, body: Node<'_>) -> Vec<Mark> {
        let ends = statements(body).into_iter().filter_map(|statement| {
            let inner = statement.named_child(0).filter(|_| statement.word() == "expression_statement");
            let statement = inner.filter(|inner| inner.word() == "if_expression").unwrap_or(statement);
            let (condition, branch) = match statement.word() {
                "if" | "if_expression" | "if_modifier" | "if_statement" | "unless" | "unless_modifier" => {
                    let is_whole = otherwise_of(statement).is_none();
                    (statement.field("condition").filter(|_| is_whole)?, then_of(statement)?)
                }
                "let_declaration" => (statement.field("value")?, statement.field("alternative")?),
                // `System.getenv("A") ?: return` of Kotlin.
                "binary_expression" | "property_declaration" => {
                    let value =
                        parts(statement).last().copied().filter(|_| self.language == Language::Kotlin);
                    let is_declared = statement.word() == "property_declaration";
                    let choice = if is_declared { value? } else { statement };
                    let is_choice = choice.field("operator").is_some_and(|sign| self.text_of(sign) == "?:");
                    (choice.field("left").filter(|_| is_choice)?, choice.field("right")?)
                }
                _ => return None,
            };
            let last = if self.is_return(branch) { branch } else { *statements(branch).last()? };
            let is_of_ci = self.ends_in_ci(statement, condition);
            let is_end = self.is_return(last) && (is_of_ci || self.is_asked_for(condition));
            let place = is_end.then(|| span(last))?;
            let spelled = Spelled { form: Form::Run, path: RETURN.to_owned(), arguments: None, span: place };
            let kind = if is_of_ci { MarkKind::Statement } else { MarkKind::AskedFor };
            Some(Mark::new(kind, place, vec![spelled]))
        });
        ends.collect()
    }

    /// Returns whether a condition of a statement holds in every run of a CI, and asks for one.
    fn ends_in_ci(&self, statement: Node<'_>, condition: Node<'_>) -> bool {
        let is_if = statement.word().starts_with("if") || statement.word().starts_with("unless");
        let holds = !statement.word().starts_with("unless");
        let head = Span { start: statement.start_byte(), end: condition.end_byte() };
        is_if && names_ci(head.of(self.text)) && self.speller.value_of_condition(statement) == Some(holds)
    }

    /// Returns whether a condition is about what a run asks for.
    fn is_asked_for(&self, condition: Node<'_>) -> bool {
        squashed(self.text_of(condition)) == "testing.Short()" || self.speller.reads_environment(condition)
    }

    /// Returns whether a statement leaves the body of a test.
    pub(super) fn is_return(&self, statement: Node<'_>) -> bool {
        is_return(self.language, self.text_of(statement))
    }

    /// Returns the marks of a branch, or of what an `else` has for one.
    fn marks_of_branch(&self, branch: Node<'_>) -> Vec<Mark> {
        let inner = parts(branch).last().copied().filter(|_| branch.word() == "else_clause");
        match branch.word() {
            "elif_clause" | "elsif" | "if_statement" => {
                let mut marks = Vec::new();
                self.note_branches(branch, &mut marks);
                marks
            }
            _ => self.marks_of_body(inner.unwrap_or(branch)),
        }
    }

    /// Spells what runs whenever a statement does, once for each statement: one of a helper is asked about three times.
    pub(super) fn runs(&self, statement: Node<'_>) -> Arc<[Spelled]> {
        let known = self.runs.borrow().get(&statement.id()).cloned();
        known.unwrap_or_else(|| {
            let runs: Arc<[Spelled]> = self.speller.runs(statement).into();
            self.runs.borrow_mut().insert(statement.id(), Arc::clone(&runs));
            runs
        })
    }

    /// Adds what the functions of the file run that are called.
    fn with_helpers(&self, spelled: Arc<[Spelled]>) -> Arc<[Spelled]> {
        let runs = spelled.iter().filter(|call| call.form == Form::Run);
        if runs.clone().any(|call| self.defined.contains(call.path.as_str())) {
            self.has_called_defined.set(true);
        }
        let called: Vec<Spelled> = runs
            .filter_map(|call| Some((call, self.helpers.get(call.path.as_str())?)))
            .flat_map(|(call, runs)| runs.iter().map(|run| Spelled { span: call.span, ..run.clone() }))
            .collect();
        if called.is_empty() { spelled } else { [&*spelled, &*called].concat().into() }
    }

    /// Notes what the functions at the top of a file run whenever they are called.
    pub(super) fn note_helpers(&mut self, root: Node<'_>) {
        /// A function that runs more is none that skips.
        const MOST_RUNS: usize = 64;
        let functions = root.named_children().filter_map(|statement| {
            let function = statement.field("definition").unwrap_or(statement);
            let is_function = matches!(
                function.word(),
                "function_declaration" | "function_definition" | "function_item" | "method"
            );
            let name = function.field("name").filter(|_| is_function)?;
            Some((self.text_of(name), body_of(function)?))
        });
        let functions: Vec<(&'t str, Node<'_>)> = functions.collect();
        self.defined = functions.iter().map(|(name, _)| *name).collect();
        // A function may call one further down.
        for _ in 0..2 {
            for (name, body) in &functions {
                let marks = self.marks_of_function(*body);
                let runs: Vec<Spelled> = marks
                    .iter()
                    .filter(|mark| mark.kind == MarkKind::Statement)
                    .flat_map(|mark| mark.spelled.iter().filter(|run| run.form == Form::Run).cloned())
                    .take(MOST_RUNS)
                    .collect();
                self.helpers.insert(name, runs.into());
            }
        }
    }

    /// Returns the marks of the body of a function; once for all where they do not depend on other functions of the file.
    fn marks_of_function(&mut self, body: Node<'_>) -> Vec<Mark> {
        if let Some(marks) = self.independent.get(&body.id()) {
            return marks.clone();
        }
        self.has_called_defined.set(false);
        let marks = self.marks_of_body(body);
        if !self.has_called_defined.get() {
            self.independent.insert(body.id(), marks.clone());
        }
        marks
    }

    /// Returns the marks of the fixtures that a test of Python asks for by their names.
    pub(super) fn fixtures(&self, function: Node<'_>, attributes: &[Mark]) -> Vec<Mark> {
        let parameters = function.field("parameters").filter(|_| self.language == Language::Python);
        let named =
            parameters.into_iter().flat_map(parts).map(|node| (self.text_of(node).to_owned(), span(node)));
        let used = attributes.iter().flat_map(|mark| {
            let used = mark.spelled.iter().filter(|spelled| spelled.path.ends_with("usefixtures"));
            let names = used.flat_map(|used| used.arguments.iter().flatten());
            names.filter_map(|name| Some((name.value.text.clone()?, mark.span)))
        });
        let mut marks = Vec::new();
        for (name, place) in named.chain(used) {
            let runs = self.helpers.get(name.as_str()).filter(|runs| !runs.is_empty());
            marks.extend(runs.map(|runs| Mark {
                kind: MarkKind::Statement,
                span: place,
                spelled: runs.iter().map(|run| Spelled { span: place, ..run.clone() }).collect(),
            }));
        }
        marks
    }

    /// Returns the marks that a setup or a hook sets for the tests around it.
    fn marks_of_setup(&self, statement: Node<'_>, body: Node<'_>) -> Vec<Mark> {
        let mut marks = self.marks_of_body(body);
        if self.language == Language::Python {
            marks.extend(self.overridden_run(statement, body));
            let nested = self.nested_marks(body, 0).into_iter();
            marks.extend(nested.map(|mark| Mark { kind: MarkKind::Statement, ..mark }));
            return self.marks_of_hook(statement, body, marks);
        }
        // A main function that runs no tests succeeds.
        let is_main = self.language == Language::Go && self.text_of(statement).starts_with("func TestMain");
        if is_main && !self.text_of(body).contains(".Run") {
            marks.push(Mark::uncollected(head(statement)));
        }
        marks
    }

    /// Returns the marks that may skip subtests of a body.
    pub(super) fn nested_marks(&self, body: Node<'_>, depth: usize) -> Vec<Mark> {
        let mut marks = Vec::new();
        for statement in statements(body) {
            let inner = match statement.word() {
                "for" | "for_statement" | "for_in_statement" | "for_expression" | "foreach_statement"
                | "while_statement" | "with_statement" => statement.field("body"),
                "call" => block_of(statement),
                "expression_statement" => {
                    let call = statement.named_child(0).filter(|call| call.word() == "call_expression");
                    call.and_then(function_of)
                }
                _ => None,
            };
            let Some(inner) = inner.filter(|_| depth < MAX_NESTED) else { continue };
            let own = self.marks_of_body(inner);
            marks.extend(own.into_iter().map(|mark| Mark { kind: MarkKind::Nested, ..mark }));
            marks.extend(self.nested_marks(inner, depth + 1));
        }
        marks
    }

    /// Returns the mark of a build constraint of Go.
    pub(super) fn constraint(&self, comment: Node<'_>) -> Option<Mark> {
        let holds = constraint(self.text_of(comment)).filter(|_| self.language == Language::Go)?;
        let value = Value { constant: holds, ..Value::default() };
        let arguments = Some(vec![Argument { name: String::new(), value }]);
        let place = span(comment);
        let spelled = Spelled { form: Form::Mark, path: "go:build".to_owned(), arguments, span: place };
        Some(Mark::new(MarkKind::Attribute, place, vec![spelled]))
    }

    /// Returns the body of a function that runs before the tests around it.
    fn setup<'n>(&self, statement: Node<'n>) -> Option<Node<'n>> {
        let (inner, parent) = match statement.word() {
            "call" => {
                let name = statement.field("method").map(|name| self.text_of(name));
                return block_of(statement).filter(|_| name.is_some_and(|name| SETUPS.contains(&name)));
            }
            "decorated_definition" => (statement.field("definition")?, Some(statement)),
            "expression_statement" => {
                let call =
                    statement.named_child(0).filter(|call| call.word().ends_with("call_expression"))?;
                let name = self.speller.path(call.field("function")?)?;
                let last = name.rsplit('.').next().unwrap_or(&name);
                let given = call.field("arguments").map(parts).unwrap_or_default();
                let wrapped = given.last().and_then(|last| last.named_child(0)?.field("body"));
                return SETUPS.contains(&last).then(|| function_of(call).or(wrapped)).flatten();
            }
            _ => (statement, None),
        };
        let name = self.text_of(inner.field("name")?);
        // Attributes of Rust name no setup.
        let visited = Visited { node: inner, parent, above: &[] };
        let is_function = inner.word().contains("function") || inner.word().contains("method");
        let is_hook = self.language == Language::Python
            && (name.starts_with("pytest_") || matches!(name, "load_tests" | "run"));
        let is_before = SETUPS.contains(&name)
            || is_hook
            || self.attributes(&visited).iter().flat_map(|mark| mark.spelled.iter()).any(runs_before);
        body_of(inner).filter(|_| is_before && is_function)
    }
}

/// Returns whether a node of Ruby leaves the block that it stands in.
fn is_end(node: Node<'_>) -> bool {
    matches!(node.word(), "break" | "next" | "return")
}

/// Returns whether a mark makes a function run before the tests around it.
fn runs_before(mark: &Spelled) -> bool {
    let last = mark.path.rsplit('.').next().unwrap_or(&mark.path);
    let is_automatic = mark
        .arguments
        .iter()
        .flatten()
        .any(|argument| argument.name == "autouse" && argument.value.constant == Some(true));
    last.starts_with("Before")
        || matches!(last, "OneTimeSetUp" | "SetUp" | "TestInitialize" | "ClassInitialize")
        || last == "fixture" && is_automatic
}
