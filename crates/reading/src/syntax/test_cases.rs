//! The tests of a file: each with what marks it, what it runs first, and what of it never runs.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::branches::{Branch, branches};
use super::occurrences::Occurrences;
use super::outline::Span;
use super::spelled::{Asks, Form, Paths, Spelled, Speller, parts};
use super::test_blocks::{body_of, statements};
use super::test_calls::function_of;
use super::uncollected::{empty_names, extended_classes, idle_function, is_disabling_decorator, is_empty};
use super::walk::span;
use super::{Cache, Language, OtherVersion, TREES_WITHIN, csharp, parse_tree_once, parse_version_once};
use crate::tree::Node;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;

/// Both the self-test and the search for moved texts ask about a file again.
static TESTS: Cache<(Language, Asks), Option<Arc<TestFile>>> = Cache::new(TREES_WITHIN);

/// A test function, or a call that is given one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    pub name: String,
    pub name_span: Span,
    /// The test with its decorators, attributes or annotations.
    pub span: Span,
    /// The statements of the test; empty where it has none.
    pub body: Span,
    /// Marks that may skip the test, its own first, then those of the groups around it.
    pub marks: Vec<Mark>,
    /// Statement that ends the test before others of its body.
    pub cut: Option<Span>,
    /// Parts that need not run for the test to pass.
    pub branches: Vec<Branch>,
}

/// Code or attribute that may switch tests off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub kind: MarkKind,
    pub span: Span,
    /// Names, calls and options of it, in one spelling.
    pub spelled: Arc<[Spelled]>,
}

impl Mark {
    pub(super) fn new(kind: MarkKind, span: Span, spelled: Vec<Spelled>) -> Self {
        Self { kind, span, spelled: spelled.into() }
    }

    fn without_assignments(self) -> Self {
        let left = self.spelled.iter().filter(|spelled| spelled.form != Form::Assigned).cloned().collect();
        Self { spelled: left, ..self }
    }

    /// Returns the mark of tests that no runner collects.
    pub(super) fn uncollected(span: Span) -> Self {
        Self::new(MarkKind::Uncollected, span, Vec::new())
    }
}

/// Form of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A decorator, attribute, annotation, build constraint, or the callee and the options of a call.
    Attribute,
    /// A statement that runs whenever the test, its setup or its file does.
    Statement,
    /// A statement of runs that ask for it, by a flag or a variable of the environment.
    AskedFor,
    /// A statement of a loop or of a function that the test hands on, or a table: it concerns some cases of the test.
    Nested,
    /// The head of a definition in which no runner looks for tests, a table without cases, or what takes the test's name.
    Uncollected,
}

/// The tests of a file, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestFile {
    pub cases: Vec<TestCase>,
    /// Marks that may skip every test of the file.
    pub marks: Vec<Mark>,
    /// Comments, and code that never runs.
    pub dead: Vec<Span>,
    /// Assertions that hold whatever the code does.
    pub trivial: Vec<Span>,
}

impl TestFile {
    /// Parses the tests of a text, beside another version of it where there is one. Returns `None` where it cannot be
    /// parsed without errors.
    pub fn parse(
        language: Language,
        text: &str,
        other: Option<&OtherVersion<'_>>,
        asks: Asks,
    ) -> Option<Arc<Self>> {
        TESTS.get_or_compute((language, asks), text, || {
            Self::parse_anew(language, text, other, asks).map(Arc::new)
        })
    }

    fn parse_anew(
        language: Language,
        text: &str,
        other: Option<&OtherVersion<'_>>,
        asks: Asks,
    ) -> Option<Self> {
        let tree = parse_version_once(language, text, other)?;
        let root = tree.root_node();
        if root.has_error() {
            return None;
        }
        let mut reader = Reader::new(language, text, root, asks);
        let marks = reader.marks_of_group(root);
        reader.file.marks.clone_from(&marks);
        reader.visit(&Visited { node: root, parent: None, above: &[] }, &marks, 0);
        Some(reader.file)
    }

    /// Collects all marks of a text that has errors, but for those behind a condition. Returns `None` for a text that is
    /// too large or takes too long to parse.
    pub fn loose_marks(language: Language, text: &str, asks: Asks) -> Option<Vec<Mark>> {
        let tree = parse_tree_once(language, text)?;
        Some(Reader::new(language, text, tree.root_node(), asks).loose_marks(tree.root_node()))
    }
}

/// A node with what stands around it, which the tree would search for from its root.
pub(super) struct Visited<'v, 'n> {
    pub(super) node: Node<'n>,
    pub(super) parent: Option<Node<'n>>,
    /// Attributes of Rust and comments of PHP, which stand beside what they belong to.
    pub(super) above: &'v [Node<'n>],
}

pub(super) struct Reader<'t> {
    pub(super) language: Language,
    pub(super) text: &'t str,
    pub(super) file: TestFile,
    pub(super) speller: Speller<'t>,
    /// Calls that functions at the top of the file make whenever they are called.
    pub(super) helpers: BTreeMap<&'t str, Arc<[Spelled]>>,
    /// Names of the functions at the top of the file.
    pub(super) defined: BTreeSet<&'t str>,
    /// Set once a statement was spelled that calls one of them.
    pub(super) has_called_defined: Cell<bool>,
    /// Marks of the bodies at the top of the file that call none of them, by the number of the node.
    pub(super) independent: BTreeMap<u32, Vec<Mark>>,
    /// Functions at the top of the file that do nothing.
    pub(super) idle: BTreeSet<&'t str>,
    /// Names to which the top of the file gives a collection without members.
    pub(super) empty: BTreeSet<&'t str>,
    /// Classes of Python from which a class of tests in the file takes its tests.
    pub(super) extended: BTreeSet<&'t str>,
    /// Calls that statements run, by the number of the node.
    pub(super) runs: RefCell<BTreeMap<u32, Arc<[Spelled]>>>,
    /// Calls with the words of a framework, by the number of the node: each is asked about some three times.
    pub(super) framework_words: RefCell<BTreeMap<u32, Option<bool>>>,
    words: Occurrences<'t>,
}

/// Annotations of tests in Java.
const JAVA_TESTS: &[&str] =
    &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "Property", "TestTemplate"];
/// Words of marks that give a test its cases.
const TABLES: &[&str] = &["InlineData", "TestCase", "case", "parametrize", "test_case"];

impl<'t> Reader<'t> {
    pub(super) fn new(language: Language, text: &'t str, root: Node<'_>, asks: Asks) -> Self {
        let idle = root.named_children().filter_map(|statement| idle_function(text, statement)).collect();
        let mut speller = Speller { language, asks, text, names: BTreeMap::new(), paths: Paths::default() };
        speller.note_names(root);
        speller.note_parameters();
        let hooks = root.named_children().map(|node| node.field("definition").unwrap_or(node));
        let hooks = hooks.filter(|node| language == Language::Python && node.word() == "function_definition");
        for body in hooks.filter(|hook| span(*hook).of(text).starts_with("def pytest_")).filter_map(body_of) {
            speller.note_names(body);
        }
        let mut reader = Reader {
            language,
            text,
            file: TestFile::default(),
            speller,
            helpers: BTreeMap::new(),
            defined: BTreeSet::new(),
            has_called_defined: Cell::new(false),
            independent: BTreeMap::new(),
            idle,
            empty: empty_names(text, root),
            extended: extended_classes(text, root),
            runs: RefCell::default(),
            framework_words: RefCell::default(),
            words: Occurrences::new(text),
        };
        reader.note_helpers(root);
        reader
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    pub(super) fn visit(&mut self, visited: &Visited<'_, '_>, marks: &[Mark], depth: usize) {
        let node = visited.node;
        if depth > MAX_DEPTH {
            return;
        }
        if self.speller.is_trivial(node) {
            self.file.trivial.push(span(node));
        }
        let dead: Vec<Node<'_>> = self.dead(node);
        self.file.dead.extend(dead.iter().copied().map(span));
        let group = match node.word() {
            _ if dead.iter().any(|part| *part != node) && !node.word().starts_with("preproc") => {
                return self.visit_branches(node, &dead, marks, depth);
            }
            "call_expression" => self.call(node, marks),
            "call" if self.language == Language::Ruby => self.ruby_call(node, marks),
            "expression_statement" if self.language == Language::Php => self.pest_call(node, marks),
            "function_definition" if matches!(self.language, Language::C | Language::Cpp) => {
                self.google_test(node, marks);
                self.named_test(node, marks);
                None
            }
            "function_definition"
            | "function_item"
            | "function_declaration"
            | "method"
            | "method_declaration" => {
                self.function(visited, marks);
                return self.visit_hidden(node, marks, depth);
            }
            "variable_declarator" => return self.visit_hidden(node, marks, depth),
            "class" | "class_definition" | "class_declaration" | "mod_item" => {
                let mut own: Vec<Mark> = self.uncollected(node).into_iter().collect();
                own.extend(self.needs_of_class(node));
                own.extend(self.attributes(visited));
                Some((node, own))
            }
            "if" | "if_statement" | "if_expression" | "preproc_if" | "preproc_ifdef" | "unless" => {
                if let Some(needs) = self.needs_of_directive(node) {
                    return self.visit_directive(node, needs, marks, depth);
                }
                return self.visit_branches(node, &dead, marks, depth);
            }
            // A docstring, or another text that nothing gets.
            "expression_statement"
                if self.language == Language::Python
                    && node.named_child_count() == 1
                    && node.named_child(0).is_some_and(|text| text.word() == "string") =>
            {
                self.file.dead.push(span(node));
                return;
            }
            "expression_statement" if self.is_open_expectation(node) => {
                self.file.dead.push(span(node));
                None
            }
            kind if kind.ends_with("comment") => {
                self.file.dead.push(span(node));
                return;
            }
            _ => None,
        };
        match group {
            Some((body, mut own)) => {
                let block = body.field("body").unwrap_or(body);
                own.extend(self.marks_of_group(block));
                let cases = self.file.cases.len();
                let around = [own.as_slice(), marks].concat();
                self.visit_children(node, &around, depth + 1);
                // A class without tests may be there for others to extend.
                if self.file.cases.len() == cases {
                    own.retain(|mark| mark.kind != MarkKind::Uncollected);
                    self.file.marks.extend(own);
                }
                self.note_overwritten(block);
            }
            None => self.visit_children(node, marks, depth + 1),
        }
        if depth == 0 {
            self.note_overwritten(node);
        }
    }

    /// Visits the branches of a condition; tests in one that is never taken do not run.
    fn visit_branches(&mut self, node: Node<'_>, dead: &[Node<'_>], marks: &[Mark], depth: usize) {
        let head = node.field("condition").unwrap_or(node);
        let mut hidden = vec![Mark::uncollected(Span { start: node.start_byte(), end: head.end_byte() })];
        hidden.extend_from_slice(marks);
        for child in node.named_children() {
            let marks = if dead.contains(&child) { hidden.as_slice() } else { marks };
            self.visit(&Visited { node: child, parent: Some(node), above: &[] }, marks, depth + 1);
        }
    }

    /// Visits a definition; no runner finds the tests inside of some.
    fn visit_hidden(&mut self, node: Node<'_>, marks: &[Mark], depth: usize) {
        let mut own: Vec<Mark> = self.uncollected(node).into_iter().collect();
        own.extend_from_slice(marks);
        self.visit_children(node, &own, depth + 1);
    }

    /// Returns whether a name occurs in the file beside its definition.
    pub(super) fn is_named_elsewhere(&self, name: &str) -> bool {
        self.words.has_twice(name)
    }

    fn visit_children(&mut self, parent: Node<'_>, marks: &[Mark], depth: usize) {
        let mut above = Vec::new();
        let mut marks = Cow::Borrowed(marks);
        for node in parent.named_children() {
            self.visit(&Visited { node, parent: Some(parent), above: &above }, &marks, depth);
            // Tests behind a return from the function of a group are never made.
            if self.is_ecma() && matches!(node.word(), "return_statement" | "throw_statement") {
                marks.to_mut().push(Mark::uncollected(span(node)));
            }
            match (self.language, node.word()) {
                (Language::Rust, "attribute_item") | (Language::Php, "comment") => above.push(node),
                (_, kind) if kind.ends_with("comment") => {}
                _ => above.clear(),
            }
        }
    }

    fn is_ecma(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::Tsx | Language::TypeScript)
    }

    /// Returns the parts of a node that never run.
    fn dead<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let looped = node.field("right").filter(|list| is_empty(self.text, *list, &self.empty));
        let body = node.field("body").filter(|_| looped.is_some());
        let dead = self.speller.dead(node).into_iter().map(|dead| dead.part);
        dead.chain(body).collect()
    }

    /// Returns whether a statement is `expect(…)` alone, or with a matcher that is not called, which expects nothing.
    fn is_open_expectation(&self, statement: Node<'_>) -> bool {
        let mut call = statement.named_child(0);
        if let Some(member) = call.filter(|member| member.word() == "member_expression") {
            let matcher = member
                .field("property")
                .map(|name| self.text_of(name))
                .and_then(|name| name.strip_prefix("to"));
            let is_matcher = matcher.is_some_and(|rest| rest.starts_with(char::is_uppercase));
            call = member.field("object").filter(|_| is_matcher);
        }
        let call = call.filter(|call| call.word() == "call_expression");
        let function = call.and_then(|call| call.field("function"));
        function.is_some_and(|function| self.text_of(function) == "expect")
    }

    /// Notes a function that is a test by its name or by what stands above it.
    fn function(&mut self, visited: &Visited<'_, '_>, marks: &[Mark]) {
        let node = visited.node;
        let Some(name) = node.field("name") else { return };
        let text = self.text_of(name).trim_matches('`');
        let attributes = self.attributes(visited);
        let is_test = match self.language {
            Language::C | Language::Cpp => false,
            Language::CSharp => csharp::attributes(node).any(|attribute| {
                let name = attribute.field("name").map(|name| self.text_of(name));
                csharp::TESTS.contains(&csharp::plain_name(name.unwrap_or_default()))
            }),
            Language::Kotlin => self.has_attribute(&attributes, JAVA_TESTS),
            Language::Python => text.starts_with("test"),
            Language::Go => {
                let is_method = node.word() == "method_declaration";
                let words = ["Test", "Fuzz", "Example"];
                // The word may not go on in small letters.
                words.iter().any(|word| {
                    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
                }) && text != "TestMain"
                    && (!is_method
                        || node.field("parameters").is_some_and(|all| all.named_child_count() == 0))
            }
            Language::Rust => self.has_attribute(
                &attributes,
                &["test", "rstest", "test_case", "proptest", "quickcheck", "wasm_bindgen_test"],
            ),
            Language::Java => {
                let is_old = text.starts_with("test") && self.text_of(node).contains("public void");
                is_old || self.has_attribute(&attributes, JAVA_TESTS)
            }
            Language::Php => {
                let is_marked = attributes.iter().any(|mark| {
                    let text = mark.span.of(self.text);
                    text.starts_with("/*")
                        && text.split_whitespace().any(|word| word.trim_end_matches("*/") == "@test")
                });
                node.word() == "method_declaration"
                    && (text.starts_with("test") || is_marked || self.has_attribute(&attributes, &["Test"]))
            }
            Language::Ruby => text.starts_with("test_"),
            Language::JavaScript | Language::Tsx | Language::TypeScript => false,
        };
        if !is_test {
            return;
        }
        let mut attributes = attributes;
        let modifiers = node.named_children().find(|child| child.word() == "modifiers");
        let modifiers =
            modifiers.or_else(|| node.named_children().find(|child| child.word() == "visibility_modifier"));
        let hidden = modifiers.filter(|all| self.is_private(*all));
        attributes.extend(hidden.map(|all| Mark::uncollected(span(all))));
        attributes.extend(self.hidden_below(node));
        attributes.extend(self.fixtures(node, &attributes));
        attributes.extend(self.never_awaited(node, &attributes));
        let whole = visited.parent.filter(|parent| parent.word() == "decorated_definition").unwrap_or(node);
        // Attributes of Rust stand beside their function, as do comments.
        let above = attributes.first().filter(|mark| mark.span.start < whole.start_byte());
        let mut whole = span(whole);
        if let Some(mark) = above {
            whole.start = mark.span.start;
        }
        self.case(text.to_owned(), span(name), whole, body_of(node), attributes, marks);
    }

    /// Returns whether one of some modifiers hides a test from its runner. What an annotation says is none.
    fn is_private(&self, modifiers: Node<'_>) -> bool {
        let hidden: &[&str] = if self.language == Language::Java {
            &["abstract", "private", "static"]
        } else if self.language == Language::Php {
            &["private", "protected"]
        } else {
            &["private"]
        };
        let mut words = modifiers.children();
        words.any(|word| !word.word().contains("annotation") && hidden.contains(&self.text_of(word)))
    }

    pub(super) fn case(
        &mut self,
        name: String,
        name_span: Span,
        whole: Span,
        body: Option<Node<'_>>,
        mut own: Vec<Mark>,
        around: &[Mark],
    ) {
        let body_marks = body.map(|body| match self.independent.get(&body.id()) {
            Some(marks) => marks.clone(),
            None => self.marks_of_body(body),
        });
        let body_marks = body_marks.unwrap_or_default();
        // Assignments in a body affect only that test.
        let is_run = |mark: &Mark| mark.spelled.iter().all(|spelled| spelled.form != Form::Assigned);
        own.extend(
            body_marks.into_iter().map(|mark| if is_run(&mark) { mark } else { mark.without_assignments() }),
        );
        own.extend(body.map(|body| self.nested_marks(body, 0)).unwrap_or_default());
        own.extend(body.map(|body| self.ends_unless_asked(body)).unwrap_or_default());
        own.extend_from_slice(around);
        let cut = body.and_then(|body| self.cut(body));
        let is_called = |name: &str| self.is_named_elsewhere(name);
        let branches =
            body.map(|body| branches(self.language, self.text, body, &is_called)).unwrap_or_default();
        let end = body.map(|body| body.end_byte());
        if let (Some(cut), Some(end)) = (cut, end) {
            self.file.dead.push(Span { start: cut.end, end });
        }
        let body = body.map(span).unwrap_or_default();
        self.file.cases.push(TestCase { name, name_span, span: whole, body, marks: own, cut, branches });
    }

    /// Finds the statement that leaves a body, where others come behind it.
    fn cut(&self, body: Node<'_>) -> Option<Span> {
        let statements = statements(body);
        let at = statements.iter().position(|node| {
            matches!(node.word(), "raise_statement" | "throw_statement") || self.is_return(*node)
        })?;
        (at + 1 < statements.len()).then(|| span(statements[at]))
    }

    /// Returns whether one of the attributes of a definition has one of these words at the end of its path.
    fn has_attribute(&self, attributes: &[Mark], words: &[&str]) -> bool {
        let mut spelled = attributes.iter().flat_map(|mark| mark.spelled.iter());
        spelled.any(|mark| words.contains(&mark.path.rsplit('.').next().unwrap_or(&mark.path)))
    }

    /// Returns the decorators, attributes and annotations of a definition.
    pub(super) fn attributes(&self, visited: &Visited<'_, '_>) -> Vec<Mark> {
        let mut nodes: Vec<Node<'_>> = Vec::new();
        match self.language {
            Language::Python => {
                let parent = visited.parent.filter(|parent| parent.word() == "decorated_definition");
                let all = parent.into_iter().flat_map(|node| node.named_children());
                nodes.extend(all.filter(|child| child.word() == "decorator"));
            }
            Language::Rust => nodes.extend(visited.above),
            Language::CSharp => {
                nodes.extend(csharp::attributes(visited.node));
            }
            Language::Java | Language::Kotlin => {
                let modifiers = visited.node.named_children().filter(|child| child.word() == "modifiers");
                nodes.extend(
                    modifiers
                        .flat_map(|node| node.named_children())
                        .filter(|child| child.word().contains("annotation")),
                );
            }
            Language::Php => {
                nodes.extend(visited.above);
                let lists = visited.node.field("attributes").into_iter();
                nodes.extend(
                    lists.flat_map(|node| node.named_children()).flat_map(|node| node.named_children()),
                );
            }
            Language::C
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript => {}
        }
        let marks = nodes.into_iter().map(|node| {
            // A table may skip some of its cases.
            let is_disabling =
                self.language == Language::Python && is_disabling_decorator(self.text, node, &self.empty);
            let spelled = self.with_conditions(node, self.speller.marks(node));
            let is_table = spelled
                .iter()
                .any(|mark| TABLES.contains(&mark.path.rsplit('.').next().unwrap_or(&mark.path)));
            match (is_disabling, is_table) {
                (true, _) => Mark::new(MarkKind::Uncollected, span(node), spelled),
                (false, true) => Mark::new(MarkKind::Nested, span(node), self.speller.marks_inside(node)),
                (false, false) => Mark::new(MarkKind::Attribute, span(node), spelled),
            }
        });
        marks.collect()
    }

    /// Returns whether a statement is a test or a group of its own.
    pub(super) fn is_case(&self, statement: Node<'_>) -> bool {
        let call = statement.named_child(0).filter(|call| call.word() == "call_expression");
        let Some(call) = call.filter(|call| self.framework_word(*call).is_some()) else { return false };
        let arguments = call.field("arguments").map(parts).unwrap_or_default();
        let is_titled = arguments.first().is_none_or(|first| !first.word().contains("function"));
        is_titled && function_of(call).is_some()
    }
}

pub(super) fn squashed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
#[path = "test_cases_tests.rs"]
mod tests;
