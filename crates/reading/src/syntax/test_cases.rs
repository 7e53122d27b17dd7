//! The tests of a file: each with what marks it, what it runs first, and what of it never runs.

use tree_sitter::Node;

use super::outline::Span;
use super::walk::{children, span};
use super::{Language, parse_tree_once};

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
    /// Parses the tests of a text. Returns `None` where it cannot be parsed without errors.
    pub fn parse(language: Language, text: &str) -> Option<Self> {
        let tree = parse_tree_once(language, text)?;
        let root = tree.root_node();
        if root.has_error() {
            return None;
        }
        let mut reader = Reader { language, text, file: Self::default() };
        let marks = reader.marks_of_body(root);
        reader.file.marks.clone_from(&marks);
        reader.visit(&Visited { node: root, parent: None, above: &[] }, &marks, 0);
        Some(reader.file)
    }
}

/// A node with what stands around it, which the tree would search for from its root.
struct Visited<'v, 'n> {
    node: Node<'n>,
    parent: Option<Node<'n>>,
    /// Attributes of Rust, which stand beside what they belong to.
    above: &'v [Node<'n>],
}

struct Reader<'t> {
    language: Language,
    text: &'t str,
    file: TestFile,
}

/// Words of test frameworks in JavaScript, without the letter that switches them on or off.
const CASES: &[&str] = &["it", "test", "specify", "bench", "Deno.test"];
const GROUPS: &[&str] = &["describe", "context", "suite"];
/// Annotations of tests in Java.
const JAVA_TESTS: &[&str] =
    &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "Property", "TestTemplate"];
/// Words of Ginkgo in Go.
const GO_CASES: &[&str] = &["It", "Specify", "Entry"];
const GO_GROUPS: &[&str] = &["Describe", "Context", "When", "DescribeTable"];
/// Members of a framework's function that make no test.
const NO_CASES: &[&str] = &[
    "after",
    "afterAll",
    "afterEach",
    "before",
    "beforeAll",
    "beforeEach",
    "expect",
    "extend",
    "info",
    "setTimeout",
    "slow",
    "step",
    "use",
];
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
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn visit(&mut self, visited: &Visited<'_, '_>, marks: &[Mark], depth: usize) {
        let node = visited.node;
        if depth > MAX_DEPTH {
            return;
        }
        let group = match node.kind() {
            "call_expression" => self.call(node, marks),
            "function_definition" | "function_item" | "function_declaration" | "method_declaration" => {
                self.function(visited, marks);
                None
            }
            "class_definition" | "class_declaration" | "mod_item" => Some((node, self.attributes(visited))),
            "if_statement" | "if_expression" => {
                self.note_dead(node);
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
                own.extend(self.marks_of_body(body.child_by_field_name("body").unwrap_or(body)));
                own.extend_from_slice(marks);
                self.visit_children(node, &own, depth + 1);
            }
            None => self.visit_children(node, marks, depth + 1),
        }
    }

    fn visit_children(&mut self, parent: Node<'_>, marks: &[Mark], depth: usize) {
        let mut above = Vec::new();
        for node in children(parent) {
            self.visit(&Visited { node, parent: Some(parent), above: &above }, marks, depth);
            if self.language == Language::Rust {
                match node.kind() {
                    "attribute_item" => above.push(node),
                    kind if kind.ends_with("comment") => {}
                    _ => above.clear(),
                }
            }
        }
    }

    /// Notes what a branch never runs.
    fn note_dead(&mut self, node: Node<'_>) {
        let branch = match self.constant(node) {
            Some(true) => node.child_by_field_name("alternative"),
            Some(false) => node.child_by_field_name("consequence"),
            None => None,
        };
        self.file.dead.extend(branch.map(span));
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
        let text = self.text_of(name);
        let attributes = self.attributes(visited);
        let is_test = match self.language {
            Language::Python => text.starts_with("test"),
            Language::Go => {
                let is_method = node.kind() == "method_declaration";
                ["Test", "Fuzz", "Example"].iter().any(|word| text.starts_with(word))
                    && text != "TestMain"
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
            Language::JavaScript | Language::Tsx | Language::TypeScript => false,
        };
        if !is_test {
            return;
        }
        let whole = visited.parent.filter(|parent| parent.kind() == "decorated_definition").unwrap_or(node);
        // Attributes of Rust stand beside their function.
        let above = attributes.first().filter(|_| self.language == Language::Rust);
        let mut whole = span(whole);
        if let Some(mark) = above {
            whole.start = mark.span.start;
        }
        self.case(text.to_owned(), span(name), whole, node.child_by_field_name("body"), attributes, marks);
    }

    fn case(
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
        let end = body.map(|body| body.end_byte());
        if let (Some(cut), Some(end)) = (cut, end) {
            self.file.dead.push(Span { start: cut.end, end });
        }
        let body = body.map(span).unwrap_or_default();
        self.file.cases.push(TestCase { name, name_span, span: whole, body, marks: own, cut });
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
            words.contains(&path.rsplit(['.', ':']).next().unwrap_or(path))
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
            Language::Java => {
                let modifiers = children(visited.node).filter(|child| child.kind() == "modifiers");
                nodes
                    .extend(modifiers.flat_map(children).filter(|child| child.kind().contains("annotation")));
            }
            Language::Go | Language::JavaScript | Language::Tsx | Language::TypeScript => {}
        }
        let marks = nodes.into_iter().map(|node| {
            // A table may skip some of its cases.
            let kind = match self.text_of(node).contains("parametrize") {
                true => MarkKind::Nested,
                false => MarkKind::Attribute,
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
                "if_statement" | "if_expression" if self.always_runs(statement) => {
                    let branch = statement.child_by_field_name("consequence");
                    marks.extend(branch.map(|branch| self.marks_of_body(branch)).unwrap_or_default());
                    continue;
                }
                "expression_statement"
                | "raise_statement"
                | "throw_statement"
                | "macro_invocation"
                | "call_expression"
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
                "for_statement" | "for_in_statement" | "for_expression" | "with_statement" => {
                    statement.child_by_field_name("body")
                }
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

    /// Notes a call that is a test, and returns what groups tests with its marks.
    fn call<'n>(&mut self, node: Node<'n>, marks: &[Mark]) -> Option<(Node<'n>, Vec<Mark>)> {
        let is_group = self.framework_word(node)?;
        let arguments =
            node.child_by_field_name("arguments").filter(|node| node.kind().starts_with("argument"))?;
        let function = node.child_by_field_name("function")?;
        let body = function_of(node);
        let mut own = vec![Mark { kind: MarkKind::Attribute, span: callee(self.text, function, arguments) }];
        let options = children(arguments).filter(|child| child.kind() == "object");
        own.extend(options.map(|node| Mark { kind: MarkKind::Attribute, span: span(node) }));
        if is_group {
            return Some((body?, own));
        }
        let first = children(arguments).find(|child| !child.kind().ends_with("comment"))?;
        let (name, place) = self.title(first)?;
        self.case(name, place, span(node), body, own, marks);
        None
    }

    /// Returns whether a call is one of a group of tests; `None` where it is none of a framework.
    fn framework_word(&self, call: Node<'_>) -> Option<bool> {
        if matches!(self.language, Language::Python | Language::Rust | Language::Java) {
            return None;
        }
        let text = squashed(self.text_of(call.child_by_field_name("function")?));
        let path: &str = text.split(['(', '`']).next().unwrap_or(&text);
        let path = if path.starts_with("test.describe") { "describe" } else { path };
        let root = match path.strip_prefix("Deno.test") {
            Some(_) => "Deno.test",
            None => path.split('.').next().unwrap_or(path),
        };
        if path.split('.').any(|part| NO_CASES.contains(&part)) {
            return None;
        }
        let (cases, groups) =
            if self.language == Language::Go { (GO_CASES, GO_GROUPS) } else { (CASES, GROUPS) };
        let plain = root.strip_prefix(['x', 'f', 'P', 'X', 'F']).unwrap_or(root);
        if cases.contains(&root) || cases.contains(&plain) {
            Some(false)
        } else if groups.contains(&root) || groups.contains(&plain) {
            Some(true)
        } else {
            None
        }
    }

    /// Returns the title that a call is given, or that its options name.
    fn title(&self, first: Node<'_>) -> Option<(String, Span)> {
        let node = match first.kind() {
            "object" => children(first)
                .filter(|pair| pair.child_by_field_name("key").is_some_and(|key| self.text_of(key) == "name"))
                .find_map(|pair| pair.child_by_field_name("value"))?,
            _ => first,
        };
        let place = span(node);
        let text = place.of(self.text);
        let name = text.strip_prefix(['"', '\'', '`'])?;
        Some((name.trim_end_matches(['"', '\'', '`']).to_owned(), place))
    }
}

/// Returns the callee of a test, without the table that it may be given, and what its arguments begin with.
fn callee(text: &str, function: Node<'_>, arguments: Node<'_>) -> Span {
    const TABLE: &str = ".each";
    let start = function.start_byte();
    if let Some(at) = span(function).of(text).find(TABLE) {
        return Span { start, end: start + at + TABLE.len() + 1 };
    }
    let end = match arguments.named_child(0) {
        Some(first) => arguments.end_byte().min(first.start_byte() + 1),
        None => arguments.end_byte(),
    };
    Span { start, end }
}

/// Returns the body of the function among an object's members.
fn body_in_options(object: Node<'_>) -> Option<Node<'_>> {
    children(object).find_map(|member| {
        let value = member.child_by_field_name("value");
        let is_function = value.is_some_and(|value| value.kind().contains("function"));
        if member.kind() != "method_definition" && !is_function {
            return None;
        }
        member.child_by_field_name("body").or_else(|| value?.child_by_field_name("body"))
    })
}

/// Returns the body of the function that a call is given.
fn function_of(call: Node<'_>) -> Option<Node<'_>> {
    let arguments = call.child_by_field_name("arguments")?;
    let given = children(arguments).filter_map(|argument| match argument.kind() {
        "object" => body_in_options(argument),
        _ => argument.child_by_field_name("body"),
    });
    given.last()
}

/// Returns the statements of a body; an expression is one by itself.
fn statements(body: Node<'_>) -> Vec<Node<'_>> {
    let list = body.named_child(0).filter(|child| child.kind() == "statement_list");
    let is_block =
        ["block", "module", "program", "source_file", "declaration_list", "class_body", "statement_block"];
    if !is_block.contains(&body.kind()) {
        return vec![body];
    }
    children(list.unwrap_or(body))
        .filter(|child| child.kind() != "comment" || body.parent().is_none())
        .collect()
}

fn squashed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_in_each_language() {
        let cases: &[(Language, &str, &[&str])] = &[
            (
                Language::Python,
                "class TestA:\n    @mark\n    async def test_a(self):\n        pass\ndef helper():\n    pass\n",
                &["test_a"],
            ),
            (
                Language::TypeScript,
                "describe('g', () => {\n  it.skip(\n    'does a',\n    () => {},\n  );\n});\ntest.each([1])('b %d', f);\nmodel.test('c');\n",
                &["does a", "b %d"],
            ),
            (
                Language::JavaScript,
                "Deno.test({ name: 'd', fn() {} });\ntest.describe('g', () => { test('e', f); });\n",
                &["d", "e"],
            ),
            (
                Language::Go,
                "package a\n\nfunc TestA(t *testing.T) {}\nfunc (s *S) TestB() {}\nfunc helper() {}\n",
                &["TestA", "TestB"],
            ),
            (
                Language::Rust,
                "#[test]\n#[ignore]\nfn a() {}\nfn b() {}\n#[tokio::test]\nasync fn c() {}\n",
                &["a", "c"],
            ),
            (Language::Java, "class A {\n  @Test\n  void a() {}\n  void b() {}\n}\n", &["a"]),
        ];
        for (language, text, expected) in cases {
            let file = TestFile::parse(*language, text).expect("it parses");
            let names: Vec<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
            assert_eq!(names, *expected, "{language:?}");
        }
    }

    #[test]
    fn code_that_never_runs_is_dead() {
        let text = "def test_a():\n    x = a()\n    return\n    assert x\ndef test_b():\n    if False:\n        assert b()\n";
        let file = TestFile::parse(Language::Python, text).expect("it parses");
        let dead: Vec<&str> = file.dead.iter().map(|span| span.of(text).trim()).collect();
        assert_eq!(dead, ["assert x", "assert b()"]);
        assert_eq!(file.cases[0].cut.map(|cut| cut.of(text)), Some("return"));
    }
}
