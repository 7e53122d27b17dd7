//! Tests of Python and Ruby whose name something else takes further down, and hooks of pytest that leave tests out.

use super::Language;
use super::outline::Span;
use super::spelled::{Form, Spelled, parts};
use super::test_cases::{Mark, MarkKind, Reader};
use super::uncollected::{head, is_decorated};
use super::walk::span;
use crate::tree::Node;

/// Hooks that keep a test from running by what they return.
const ANSWERING_HOOKS: &[&str] =
    &["pytest_ignore_collect", "pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtestloop"];

/// A name that a statement binds, with what is done to it.
struct Bound {
    name: String,
    /// Assignment to a member of the name, such as `__test__`.
    member: Option<Spelled>,
}

impl Reader<'_> {
    /// Marks the tests of a block whose name a later statement of it takes, deletes or sets a member of.
    pub(super) fn note_overwritten(&mut self, block: Node<'_>) {
        if !matches!(self.language, Language::Python | Language::Ruby) {
            return;
        }
        let definitions = block.named_children().map(|node| node.field("definition").unwrap_or(node));
        let classes: Vec<Node<'_>> = definitions.filter(|node| node.word() == "class_definition").collect();
        for statement in self.certain_statements(block, 0) {
            let place = span(statement);
            for Bound { name, member } in self.bound(statement) {
                let class = classes.iter().find(|class| self.name_of(**class) == name).copied().map(span);
                let own = self.file.cases.iter_mut().filter(|case| {
                    let is_own = case.name == name || class.is_some_and(|class| contains(class, case.span));
                    is_own && contains(span(block), case.span) && case.span.end <= place.start
                });
                for case in own {
                    let set = member.as_ref().filter(|set| set.path.rsplit('.').next() != Some(&case.name));
                    case.marks.push(match (set, &member) {
                        (Some(set), _) => Mark::new(MarkKind::Statement, place, vec![set.clone()]),
                        // Another test of the class, or the test itself.
                        (None, Some(_) | None) => Mark::uncollected(place),
                    });
                }
            }
        }
    }

    /// Returns the statements of a block, and those of blocks in it that run whenever it does.
    fn certain_statements<'n>(&self, block: Node<'n>, depth: usize) -> Vec<Node<'n>> {
        let mut all = Vec::new();
        for statement in block.named_children() {
            let is_certain = match statement.word() {
                "try_statement" | "with_statement" => true,
                "if_statement" => {
                    let condition = statement.field("condition");
                    condition.is_some_and(|condition| self.speller.constant(condition) == Some(true))
                }
                _ => false,
            };
            all.push(statement);
            if is_certain && depth < super::spelled::MAX_DEPTH {
                for part in parts(statement) {
                    let inner = if part.word() == "block" { Some(part) } else { parts(part).last().copied() };
                    let is_run = matches!(part.word(), "block" | "finally_clause");
                    all.extend(
                        inner
                            .filter(|_| is_run)
                            .map(|inner| self.certain_statements(inner, depth + 1))
                            .into_iter()
                            .flatten(),
                    );
                }
            }
        }
        all
    }

    /// Returns the mark of a function that unittest asks to run tests, and that asks nothing that would.
    pub(super) fn overridden_run(&self, statement: Node<'_>, body: Node<'_>) -> Option<Mark> {
        let function = statement.field("definition").unwrap_or(statement);
        let (name, text) = (self.name_of(function), self.text_of(body));
        let runs: &[&str] = match name {
            "load_tests" => &["addTest", "loader.", "tests"],
            "run" => &["super", ".run(", "TestCase"],
            _ => return None,
        };
        let is_method = block_parent(statement).is_some_and(|parent| parent.word() == "class_definition");
        let replaces = is_method == (name == "run") && !runs.iter().any(|word| text.contains(word));
        replaces.then(|| Mark::uncollected(head(function)))
    }

    /// Returns the mark of a test of Python that no runner runs to its end: a generator, or a coroutine that waits for
    /// nothing in a file that names no library for coroutines.
    pub(super) fn never_awaited(&self, function: Node<'_>, attributes: &[Mark]) -> Option<Mark> {
        const LIBRARIES: &[&str] =
            &["anyio", "async_test", "asyncio", "Async", "curio", "gen_test", "inlineCallbacks", "trio"];
        let is_decorated =
            attributes.iter().flat_map(|mark| mark.spelled.iter()).any(|mark| !mark.path.contains("mark."));
        if self.language != Language::Python || is_decorated {
            return None;
        }
        let body = function.field("body")?;
        let text = self.text_of(body);
        let is_coroutine = self.text_of(function).starts_with("async")
            && !["await ", "async "].iter().any(|word| text.contains(word))
            && !LIBRARIES.iter().any(|word| self.text.contains(word));
        let is_generator = body
            .named_children()
            .any(|statement| parts(statement).first().is_some_and(|first| first.word() == "yield"));
        (is_coroutine || is_generator).then(|| Mark::uncollected(head(function)))
    }

    fn name_of(&self, node: Node<'_>) -> &str {
        node.field("name").map(|name| self.text_of(name)).unwrap_or_default()
    }

    /// Returns the names that a statement binds or deletes. One that sets a test to what a function makes of it keeps the
    /// test, unless the function is known to do otherwise.
    fn bound(&self, statement: Node<'_>) -> Vec<Bound> {
        let plain = |name: &str| Bound { name: name.to_owned(), member: None };
        let inner = statement.field("definition").unwrap_or(statement);
        match inner.word() {
            "class_definition" | "function_definition" | "method" => vec![plain(self.name_of(inner))],
            "import_from_statement" | "import_statement" => {
                let names = parts(inner).into_iter().map(|name| match name.field("alias") {
                    Some(alias) => self.text_of(alias),
                    None => self.text_of(name),
                });
                names.map(plain).collect()
            }
            "for_statement" => {
                inner.field("left").map(|left| plain(self.text_of(left))).into_iter().collect()
            }
            "delete_statement" | "expression_statement" => {
                let assignment = parts(inner).first().copied();
                let kept = assignment.and_then(|assignment| {
                    let target = self.text_of(assignment.field("left")?);
                    is_decorated(self.text, assignment.field("right")?, target).then_some(target)
                });
                let all = self.runs(statement);
                let set = all.iter().filter(|run| matches!(run.form, Form::Assigned | Form::Deleted));
                set.filter(|run| Some(run.path.as_str()) != kept)
                    .map(|run| match run.path.split_once('.') {
                        Some((name, _)) => Bound { name: name.to_owned(), member: Some(run.clone()) },
                        None => plain(&run.path),
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Prefixes the marks of a hook of pytest by its name, and adds one if it leaves tests out by what it returns, for
    /// another reason than the platform.
    pub(super) fn marks_of_hook(&self, statement: Node<'_>, body: Node<'_>, marks: Vec<Mark>) -> Vec<Mark> {
        let function = statement.field("definition").unwrap_or(statement);
        let name = self.name_of(function);
        if !name.starts_with("pytest_") {
            return marks;
        }
        let of_hook = |spelled: &Spelled| {
            let path = match spelled.form {
                Form::Mark | Form::Option => spelled.path.clone(),
                Form::Assigned | Form::Deleted | Form::Run => format!("{name}.{}", spelled.path),
            };
            Spelled { path, ..spelled.clone() }
        };
        let mut marks: Vec<Mark> = marks
            .into_iter()
            .map(|mark| Mark { spelled: mark.spelled.iter().map(of_hook).collect(), ..mark })
            .collect();
        if ANSWERING_HOOKS.contains(&name) && self.leaves_out(body, 0) {
            let place = Span { start: function.start_byte(), end: body.start_byte() };
            let path = format!("{name}.returns");
            let spelled = Spelled { form: Form::Run, path, arguments: Some(Vec::new()), span: place };
            marks.push(Mark::new(MarkKind::Statement, place, vec![spelled]));
        }
        marks
    }

    /// Returns whether a return that may say yes is among some statements, other than those behind a platform.
    fn leaves_out(&self, node: Node<'_>, depth: usize) -> bool {
        match node.word() {
            _ if depth > super::spelled::MAX_DEPTH => true,
            "return_statement" => {
                let value = parts(node).first().copied();
                value.is_some_and(|value| {
                    self.speller.constant(value) != Some(false) && !self.speller.is_platform(value)
                })
            }
            "if_statement" | "elif_clause" => {
                let condition = node.field("condition");
                let is_platform = condition.is_some_and(|condition| self.speller.is_platform(condition));
                let then = node.field("consequence");
                parts(node)
                    .into_iter()
                    .any(|part| !(is_platform && Some(part) == then) && self.leaves_out(part, depth + 1))
            }
            "function_definition" => false,
            _ => parts(node).into_iter().any(|part| self.leaves_out(part, depth + 1)),
        }
    }
}

/// Returns the definition whose block a statement stands in.
fn block_parent(statement: Node<'_>) -> Option<Node<'_>> {
    statement.parent()?.parent()
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
