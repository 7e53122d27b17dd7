//! The tests of a file: each with what marks it, what it runs first, and what of it never runs.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::branches::{Branch, branches};

use super::outline::Span;
use super::test_blocks::{block_of, body_of, statements};
use super::test_calls::function_of;
use super::uncollected::{
    empty_names, extended_classes, idle_function, is_disabling_decorator, is_empty, overwritten,
};
use super::walk::{children, span};
use super::{Language, OtherVersion, csharp, parse_tree_once, parse_version_once};

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;
/// Subtests deeper than this are not looked at.
const MAX_NESTED: usize = 8;

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

/// Something that may switch tests off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub kind: MarkKind,
    pub span: Span,
}

/// Form of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A decorator, attribute, annotation, build constraint, or the callee and the options of a call.
    Attribute,
    /// A statement that runs whenever the test, its setup or its file does.
    Statement,
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
}

impl TestFile {
    /// Parses the tests of a text, beside another version of it where there is one. Returns `None` where it cannot be
    /// parsed without errors.
    pub fn parse(language: Language, text: &str, other: Option<&OtherVersion<'_>>) -> Option<Self> {
        let tree = match other {
            Some(other) => parse_version_once(language, text, other),
            None => parse_tree_once(language, text),
        }?;
        let root = tree.root_node();
        if root.has_error() {
            return None;
        }
        let idle = children(root).filter_map(|statement| idle_function(text, statement)).collect();
        let mut reader = Reader {
            language,
            text,
            file: Self::default(),
            idle,
            empty: empty_names(text, root),
            extended: extended_classes(text, root),
            words: OnceCell::new(),
        };
        let marks = reader.marks_of_group(root);
        reader.file.marks.clone_from(&marks);
        reader.visit(&Visited { node: root, parent: None, above: &[] }, &marks, 0);
        if language == Language::Python {
            reader.note_overwritten(root);
        }
        Some(reader.file)
    }
}

/// A node with what stands around it, which the tree would search for from its root.
struct Visited<'v, 'n> {
    node: Node<'n>,
    parent: Option<Node<'n>>,
    /// Attributes of Rust and comments of PHP, which stand beside what they belong to.
    above: &'v [Node<'n>],
}

pub(super) struct Reader<'t> {
    pub(super) language: Language,
    pub(super) text: &'t str,
    file: TestFile,
    /// Functions at the top of the file that do nothing.
    pub(super) idle: BTreeSet<&'t str>,
    /// Names to which the top of the file gives a collection without members.
    pub(super) empty: BTreeSet<&'t str>,
    /// Classes of Python from which a class of tests in the file takes its tests.
    pub(super) extended: BTreeSet<&'t str>,
    /// Number of times that each word occurs in the file, counted when first asked for.
    words: OnceCell<BTreeMap<&'t str, usize>>,
}

/// Annotations of tests in Java.
const JAVA_TESTS: &[&str] =
    &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "Property", "TestTemplate"];
/// Words of marks that give a test its cases.
const TABLES: &[&str] = &["InlineData", "TestCase(", "parametrize"];
/// Functions that run before the tests of a group.
const SETUPS: &[&str] = &[
    "setUp",
    "setUpClass",
    "setUpModule",
    "setup",
    "setup_class",
    "setup_method",
    "setup_module",
    "asyncSetUp",
    "TestMain",
    "beforeEach",
    "beforeAll",
    "before",
];

impl<'t> Reader<'t> {
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn visit(&mut self, visited: &Visited<'_, '_>, marks: &[Mark], depth: usize) {
        let node = visited.node;
        if depth > MAX_DEPTH {
            return;
        }
        let group = match node.kind() {
            "call_expression" => self.call(node, marks),
            "call" if self.language == Language::Ruby => self.ruby_call(node, marks),
            "expression_statement" if self.language == Language::Php => self.pest_call(node, marks),
            "function_definition" if matches!(self.language, Language::C | Language::Cpp) => {
                self.google_test(node, marks);
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
                own.extend(self.attributes(visited));
                Some((node, own))
            }
            "if" | "if_statement" | "if_expression" => {
                self.note_dead(node);
                None
            }
            "while_statement" | "while_expression" if self.constant(node) == Some(false) => {
                self.file.dead.extend(node.child_by_field_name("body").map(span));
                None
            }
            "for_statement" | "for_in_statement" | "expression_statement" => {
                self.note_idle(node);
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
                own.extend(self.marks_of_group(body.child_by_field_name("body").unwrap_or(body)));
                own.extend_from_slice(marks);
                self.visit_children(node, &own, depth + 1);
            }
            None => self.visit_children(node, marks, depth + 1),
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
        let words = self.words.get_or_init(|| {
            let mut words = BTreeMap::new();
            let all = self.text.split(|sign: char| !sign.is_alphanumeric() && !"_$".contains(sign));
            for word in all.filter(|word| !word.is_empty()) {
                *words.entry(word).or_insert(0) += 1;
            }
            words
        });
        words.get(name).is_some_and(|count| *count > 1)
    }

    /// Marks tests of Python whose name something else takes further down.
    fn note_overwritten(&mut self, root: Node<'_>) {
        for statement in children(root) {
            let Some(name) = overwritten(self.text, statement) else { continue };
            let place = span(statement);
            let own =
                self.file.cases.iter_mut().filter(|case| case.name == name && case.span.end <= place.start);
            own.for_each(|case| case.marks.push(Mark { kind: MarkKind::Uncollected, span: place }));
        }
    }

    fn visit_children(&mut self, parent: Node<'_>, marks: &[Mark], depth: usize) {
        let mut above = Vec::new();
        for node in children(parent) {
            self.visit(&Visited { node, parent: Some(parent), above: &above }, marks, depth);
            match (self.language, node.kind()) {
                (Language::Rust, "attribute_item") | (Language::Php, "comment") => above.push(node),
                (_, kind) if kind.ends_with("comment") => {}
                _ => above.clear(),
            }
        }
    }

    /// Notes what a branch never runs.
    fn note_dead(&mut self, node: Node<'_>) {
        let branch = match self.constant(node) {
            Some(true) => node.child_by_field_name("alternative"),
            Some(false) => {
                node.child_by_field_name("consequence").or_else(|| node.child_by_field_name("body"))
            }
            None => None,
        };
        self.file.dead.extend(branch.map(span));
    }

    /// Notes the body of a loop over nothing, and an expectation that expects nothing.
    fn note_idle(&mut self, node: Node<'_>) {
        let looped = node.child_by_field_name("right").filter(|list| is_empty(self.text, *list, &self.empty));
        if looped.is_some() {
            self.file.dead.extend(node.child_by_field_name("body").map(span));
        }
        let call = node.named_child(0).filter(|call| call.kind() == "call_expression");
        let Some(function) = call.and_then(|call| call.child_by_field_name("function")) else { return };
        let is_over_nothing = function
            .child_by_field_name("object")
            .is_some_and(|list| list.kind() == "array" && is_empty(self.text, list, &self.empty));
        if self.text_of(function) == "expect" || is_over_nothing {
            self.file.dead.push(span(node));
        }
    }

    /// Returns what a condition is, where it is written out.
    fn constant(&self, node: Node<'_>) -> Option<bool> {
        let condition = node.child_by_field_name("condition")?;
        let text = squashed(self.text_of(condition));
        match text.trim_matches(['(', ')']) {
            "True" | "true" | "1" | "notFalse" | "!false" | "!0" => Some(true),
            "False" | "false" | "0" | "None" | "notTrue" | "!true" | "!1" => Some(false),
            _ => None,
        }
    }

    /// Notes a function that is a test by its name or by what stands above it.
    fn function(&mut self, visited: &Visited<'_, '_>, marks: &[Mark]) {
        let node = visited.node;
        let Some(name) = node.child_by_field_name("name") else { return };
        let text = self.text_of(name).trim_matches('`');
        let attributes = self.attributes(visited);
        let is_test = match self.language {
            Language::C | Language::Cpp => false,
            Language::CSharp => csharp::attributes(node).any(|attribute| {
                let name = attribute.child_by_field_name("name").map(|name| self.text_of(name));
                csharp::TESTS.contains(&csharp::plain_name(name.unwrap_or_default()))
            }),
            Language::Kotlin => self.has_attribute(&attributes, JAVA_TESTS),
            Language::Python => text.starts_with("test"),
            Language::Go => {
                let is_method = node.kind() == "method_declaration";
                let words = ["Test", "Fuzz", "Example"];
                // The word may not go on in small letters.
                words.iter().any(|word| {
                    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
                }) && text != "TestMain"
                    && (!is_method
                        || node
                            .child_by_field_name("parameters")
                            .is_some_and(|all| all.named_child_count() == 0))
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
                node.kind() == "method_declaration"
                    && (text.starts_with("test") || is_marked || self.has_attribute(&attributes, &["Test"]))
            }
            Language::Ruby => text.starts_with("test_"),
            Language::JavaScript | Language::Tsx | Language::TypeScript => false,
        };
        if !is_test {
            return;
        }
        let mut attributes = attributes;
        let modifiers = children(node).find(|child| child.kind() == "modifiers");
        let hidden = modifiers.filter(|all| self.is_private(*all));
        attributes.extend(hidden.map(|all| Mark { kind: MarkKind::Uncollected, span: span(all) }));
        let whole = visited.parent.filter(|parent| parent.kind() == "decorated_definition").unwrap_or(node);
        // Attributes of Rust stand beside their function, as do comments.
        let above = attributes.first().filter(|mark| mark.span.start < whole.start_byte());
        let mut whole = span(whole);
        if let Some(mark) = above {
            whole.start = mark.span.start;
        }
        self.case(text.to_owned(), span(name), whole, body_of(node), attributes, marks);
    }

    /// Returns whether one of some modifiers is `private`. What an annotation says is none.
    fn is_private(&self, modifiers: Node<'_>) -> bool {
        let mut cursor = modifiers.walk();
        let mut words = modifiers.children(&mut cursor);
        words.any(|word| !word.kind().contains("annotation") && self.text_of(word) == "private")
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
        own.extend(body.map(|body| self.marks_of_body(body)).unwrap_or_default());
        own.extend(body.map(|body| self.nested_marks(body, 0)).unwrap_or_default());
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
            matches!(node.kind(), "raise_statement" | "throw_statement")
                || matches!(
                    self.text_of(*node).trim_end_matches(';'),
                    "return" | "return true" | "return True" | "return None" | "return nil" | "return Ok(())"
                )
        })?;
        (at + 1 < statements.len()).then(|| span(statements[at]))
    }

    /// Returns whether one of the attributes of a definition has one of these words at the end of its path.
    fn has_attribute(&self, attributes: &[Mark], words: &[&str]) -> bool {
        attributes.iter().any(|mark| {
            let text = squashed(mark.span.of(self.text));
            let text = text.trim_start_matches(['#', '[', '@']);
            let path = text.split(['(', ']']).next().unwrap_or(text);
            words.contains(&path.rsplit(['.', ':', '\\']).next().unwrap_or(path))
        })
    }

    /// Returns the decorators, attributes and annotations of a definition.
    fn attributes(&self, visited: &Visited<'_, '_>) -> Vec<Mark> {
        let mut nodes: Vec<Node<'_>> = Vec::new();
        match self.language {
            Language::Python => {
                let parent = visited.parent.filter(|parent| parent.kind() == "decorated_definition");
                for decorator in
                    parent.into_iter().flat_map(children).filter(|child| child.kind() == "decorator")
                {
                    nodes.push(decorator);
                    nodes.extend(self.assigned(decorator));
                }
            }
            Language::Rust => nodes.extend(visited.above),
            Language::CSharp => {
                nodes.extend(children(visited.node).filter(|child| child.kind() == "attribute_list"));
            }
            Language::Java | Language::Kotlin => {
                let modifiers = children(visited.node).filter(|child| child.kind() == "modifiers");
                nodes
                    .extend(modifiers.flat_map(children).filter(|child| child.kind().contains("annotation")));
            }
            Language::Php => {
                nodes.extend(visited.above);
                let lists = visited.node.child_by_field_name("attributes").into_iter();
                nodes.extend(lists.flat_map(children).flat_map(children));
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
            let kind = if self.language == Language::Python
                && is_disabling_decorator(self.text, node, &self.empty)
            {
                MarkKind::Uncollected
            } else if TABLES.iter().any(|word| self.text_of(node).contains(word)) {
                MarkKind::Nested
            } else {
                MarkKind::Attribute
            };
            Mark { kind, span: span(node) }
        });
        marks.collect()
    }

    /// Returns the assignment that a decorator's name comes from.
    fn assigned<'n>(&self, decorator: Node<'n>) -> Option<Node<'n>> {
        let name = self.text_of(decorator.named_child(0).filter(|child| child.kind() == "identifier")?);
        let mut root = decorator;
        while let Some(parent) = root.parent() {
            root = parent;
        }
        let assignments = children(root).filter_map(|statement| statement.named_child(0));
        let of_name = assignments.filter(|node| {
            let target = node.child_by_field_name("left").filter(|_| node.kind() == "assignment");
            target.is_some_and(|target| self.text_of(target) == name)
        });
        of_name.last()
    }

    /// Returns the marks that may skip all tests of a group or a file. In Ruby a call there skips one test alone.
    fn marks_of_group(&self, body: Node<'_>) -> Vec<Mark> {
        if self.language != Language::Ruby {
            return self.marks_of_body(body);
        }
        let setups = statements(body).into_iter().filter_map(|statement| self.setup(statement));
        setups.flat_map(|setup| self.marks_of_body(setup)).collect()
    }

    /// Returns the marks that may skip all tests of a body: its own statements, those of its setup, and constraints of the
    /// file.
    fn marks_of_body(&self, body: Node<'_>) -> Vec<Mark> {
        let mut marks = Vec::new();
        for statement in statements(body) {
            let kind = match statement.kind() {
                "inner_attribute_item" => MarkKind::Attribute,
                "comment" | "line_comment" if self.is_constraint(statement) => MarkKind::Attribute,
                "expression_statement" if self.is_case(statement) => continue,
                _ if self.setup(statement).is_some() => {
                    marks.extend(
                        self.setup(statement).map(|body| self.marks_of_body(body)).unwrap_or_default(),
                    );
                    continue;
                }
                "if" | "if_statement" | "if_expression" if self.always_runs(statement) => {
                    let branch = statement.child_by_field_name("consequence");
                    let branch = branch.or_else(|| statement.child_by_field_name("body"));
                    marks.extend(branch.map(|branch| self.marks_of_body(branch)).unwrap_or_default());
                    continue;
                }
                "expression_statement"
                | "raise_statement"
                | "throw_statement"
                | "macro_invocation"
                | "call"
                | "call_expression"
                | "identifier"
                | "return_statement" => MarkKind::Statement,
                _ => continue,
            };
            marks.push(Mark { kind, span: span(statement) });
        }
        marks
    }

    /// Returns the marks that may skip subtests of a body.
    fn nested_marks(&self, body: Node<'_>, depth: usize) -> Vec<Mark> {
        let mut marks = Vec::new();
        for statement in statements(body) {
            let inner = match statement.kind() {
                "for" | "for_statement" | "for_in_statement" | "for_expression" | "foreach_statement"
                | "with_statement" => statement.child_by_field_name("body"),
                "call" => block_of(statement),
                "expression_statement" => {
                    let call = statement.named_child(0).filter(|call| call.kind() == "call_expression");
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

    /// Returns whether a branch is taken in any run, or in one that asks for short tests alone.
    fn always_runs(&self, statement: Node<'_>) -> bool {
        let condition = statement.child_by_field_name("condition").map(|node| self.text_of(node));
        self.constant(statement) == Some(true) || condition == Some("testing.Short()")
    }

    /// Returns whether a comment keeps a file of Go from being built.
    fn is_constraint(&self, comment: Node<'_>) -> bool {
        let text = self.text_of(comment);
        self.language == Language::Go && (text.starts_with("//go:build ") || text.starts_with("// +build "))
    }

    /// Returns the body of a function that runs before the tests around it.
    fn setup<'n>(&self, statement: Node<'n>) -> Option<Node<'n>> {
        let (inner, parent) = match statement.kind() {
            "call" => {
                let name = statement.child_by_field_name("method").map(|name| self.text_of(name));
                return block_of(statement).filter(|_| name.is_some_and(|name| SETUPS.contains(&name)));
            }
            "decorated_definition" => (statement.child_by_field_name("definition")?, Some(statement)),
            "expression_statement" => {
                let call = statement.named_child(0).filter(|call| call.kind() == "call_expression")?;
                let name = self.text_of(call.child_by_field_name("function")?);
                let last = name.rsplit('.').next().unwrap_or(name);
                return SETUPS.contains(&last).then(|| function_of(call)).flatten();
            }
            _ => (statement, None),
        };
        let name = self.text_of(inner.child_by_field_name("name")?);
        // Attributes of Rust name no setup.
        let visited = Visited { node: inner, parent, above: &[] };
        let is_before = SETUPS.contains(&name)
            || self.attributes(&visited).iter().any(|mark| mark.span.of(self.text).starts_with("@Before"));
        inner.child_by_field_name("body").filter(|_| is_before)
    }

    /// Returns whether a statement is a test or a group of its own.
    fn is_case(&self, statement: Node<'_>) -> bool {
        let call = statement.named_child(0).filter(|call| call.kind() == "call_expression");
        call.is_some_and(|call| self.framework_word(call).is_some() && function_of(call).is_some())
    }
}

pub(super) fn squashed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
#[path = "test_cases_tests.rs"]
mod tests;
