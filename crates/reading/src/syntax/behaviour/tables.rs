//! Tables of cases: lists that a test goes through, and the attributes that give a test its arguments.

use std::collections::BTreeMap;

use super::{MAX_DEPTH, ParsedSource, Reader};
use crate::names::{joins, places};
use crate::syntax::walk::span;
use crate::syntax::{Language, Span};
use crate::tree::{Node, TreeCursor};

/// A table of cases of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name of what holds the table, with its position among those of the same name.
    pub key: String,
    pub span: Span,
    pub rows: Vec<Row>,
    /// Set where a test goes through it, and a row is a case.
    pub is_cases: bool,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub span: Span,
    /// Normalized text.
    pub text: String,
}

/// Functions and attributes that take a table of cases.
const TAKERS: &[&str] = &[
    "CsvSource",
    "EnumSource",
    "MethodSource",
    "ValueSource",
    "cases",
    "each",
    "expand",
    "forEach",
    "parameterize",
    "parametrize",
    "values",
    "with",
];
/// Attributes each of which is a case.
const CASES: &[&str] = &["DataRow", "InlineData", "TestCase", "TestWith", "case", "example", "test_case"];
/// Words before a table, or its name, that a loop goes through.
const LOOPS: &[&str] = &["foreach(", "foreach (", " in", " of", "range"];
/// Calls on a table that go through it.
const WALKS: &[&str] = &[
    ".each",
    ".entries(",
    ".forEach(",
    ".for_each(",
    ".into_iter(",
    ".items(",
    ".iter(",
    ".iter().enumerate(",
    ".map(",
];
/// Words by which a file says that a function makes cases.
const SOURCES: &[&str] =
    &["dataProvider ", "DataProvider(", "DynamicData(", "MethodSource(", "MemberData(", "TestCaseSource("];
/// Maximum number of tables of a file that are read; none of a file with more is.
const MOST_TABLES: usize = 2_000;
/// Maximum number of nodes between a list and what holds it.
const MOST_WRAPPERS: usize = 8;

impl ParsedSource<'_> {
    /// Returns the tables of the text that touch one of some places, in its order. Places are sorted.
    pub fn tables(&self, places: &[Span]) -> Vec<Table> {
        let reader = Reader { language: self.language, text: self.text };
        let mut finder =
            Finder { reader, places, above: Vec::new(), tables: Vec::new(), attributes: BTreeMap::new() };
        finder.visit(&mut self.tree.root_node().walk(), 0);
        let Finder { mut tables, attributes, .. } = finder;
        if tables.len() > MOST_TABLES {
            return Vec::new();
        }
        tables.extend(attributes.into_values());
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        for table in &mut tables {
            let count = alike.entry(table.key.clone()).or_default();
            table.key = format!("{}#{count}", table.key);
            *count += 1;
        }
        tables
    }
}

struct Finder<'t, 'p> {
    reader: Reader<'t>,
    places: &'p [Span],
    /// The nodes around the current one, the innermost last.
    above: Vec<Node<'t>>,
    tables: Vec<Table>,
    /// Attributes with the arguments of a test, by the name of the test.
    attributes: BTreeMap<String, Table>,
}

impl<'t> Finder<'t, '_> {
    fn visit(&mut self, cursor: &mut TreeCursor<'t>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let node = cursor.node();
        if let Some(rows) = self.reader.rows(node, self.above.last()) {
            self.note_list(node, rows);
        } else if let Some(name) = self.reader.case_attribute(node) {
            self.note_attribute(node, name);
        }
        if node.named_child_count() == 0 || !cursor.goto_first_child() {
            return;
        }
        self.above.push(node);
        loop {
            if cursor.node().is_named() {
                self.visit(cursor, depth + 1);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        self.above.pop();
        cursor.goto_parent();
    }

    fn note_list(&mut self, node: Node<'t>, rows: Vec<Node<'t>>) {
        let Some(holder) = self.reader.holder(node, &self.above) else { return };
        let is_changed = touches(self.places, span(node));
        let rows = if is_changed { self.reader.rows_of(rows) } else { Vec::new() };
        let is_cases = is_changed && self.reader.is_walked(&holder);
        self.tables.push(Table { key: holder.key, span: span(node), rows, is_cases });
    }

    fn note_attribute(&mut self, node: Node<'t>, name: &str) {
        let Some(owner) = self.reader.owner_of_attribute(&self.above) else { return };
        let key = format!("{owner} {name}");
        let row = Row { span: span(node), text: self.reader.spelled(node) };
        let table = self.attributes.entry(key.clone());
        let table =
            table.or_insert_with(|| Table { key, span: span(node), rows: Vec::new(), is_cases: true });
        table.rows.push(row);
    }
}

/// Returns whether a span touches one of some places.
fn touches(places: &[Span], own: Span) -> bool {
    let first = places.partition_point(|place| place.end < own.start);
    places.get(first).is_some_and(|place| place.start <= own.end)
}

/// Holder of a table: a name, a call or a loop.
struct Holder<'t> {
    key: String,
    /// Name of the variable, of the called function or of the function that returns the table.
    name: &'t str,
    kind: HolderKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HolderKind {
    Variable,
    Call,
    Loop,
    Result,
}

impl<'t> Reader<'t> {
    /// Returns the elements of a list; `None` for another node.
    fn rows(&self, node: Node<'t>, parent: Option<&Node<'t>>) -> Option<Vec<Node<'t>>> {
        let is_list = match node.word() {
            // In other languages it has a type and the list itself.
            "array_creation_expression" => self.language == Language::Php,
            "array"
            | "array_expression"
            | "array_initializer"
            | "dictionary"
            | "element_value_array_initializer"
            | "hash"
            | "initializer_expression"
            | "initializer_list"
            | "list"
            | "literal_value"
            | "object"
            | "set"
            | "tuple" => true,
            "argument_list" | "arguments" | "value_arguments" => self.is_list_call(*parent?),
            "token_tree" => {
                let owner = parent?;
                owner.word() == "macro_invocation" && self.text_of(owner.field("macro")?) == "vec"
            }
            _ => false,
        };
        if !is_list {
            return None;
        }
        Some(node.named_children().filter(|child| !child.is_comment()).collect())
    }

    /// Returns whether a call makes a list of its arguments.
    fn is_list_call(&self, call: Node<'_>) -> bool {
        const MAKERS: &[&str] = &[
            "Arrays.asList",
            "List.of",
            "Set.of",
            "Stream.of",
            "arrayOf",
            "listOf",
            "mapOf",
            "sequenceOf",
            "setOf",
        ];
        let words = self.text_of(call);
        let head = words.split('(').next().unwrap_or_default();
        MAKERS.contains(&head.trim())
    }

    fn rows_of(&self, nodes: Vec<Node<'_>>) -> Vec<Row> {
        let rows = nodes.into_iter().map(|node| Row { span: span(node), text: self.spelled(node) });
        rows.collect()
    }

    /// Finds what holds a list, which stands in no other list.
    fn holder(&self, list: Node<'t>, above: &[Node<'t>]) -> Option<Holder<'t>> {
        let mut node = list;
        // A call that makes a list is a list itself.
        let is_made = ["argument_list", "arguments", "value_arguments"].contains(&list.word());
        for (at, &parent) in above.iter().enumerate().rev().take(MOST_WRAPPERS) {
            let around = &above[..=at];
            if is_made && node == list {
                node = parent;
                continue;
            }
            match parent.word() {
                "assignment"
                | "assignment_expression"
                | "assignment_statement"
                | "const_item"
                | "const_spec"
                | "field_declaration"
                | "init_declarator"
                | "keyword_argument"
                | "let_declaration"
                | "property_declaration"
                | "short_var_declaration"
                | "static_item"
                | "var_spec"
                | "variable_declaration"
                | "variable_declarator"
                | "public_field_definition" => {
                    return self.held(around, HolderKind::Variable, self.name_before(parent, node));
                }
                "call"
                | "call_expression"
                | "method_invocation"
                | "annotation"
                | "invocation_expression"
                | "member_call_expression"
                | "function_call_expression" => {
                    let name = self.callee_of(parent, node)?;
                    if name == "freeze" {
                        node = parent;
                        continue;
                    }
                    return self.held(around, HolderKind::Call, name);
                }
                "enhanced_for_statement"
                | "for"
                | "for_expression"
                | "for_in_statement"
                | "for_range_loop"
                | "for_statement"
                | "foreach_statement"
                | "range_clause" => {
                    let is_source = parent.field("body") != Some(node);
                    return is_source.then(|| self.held(around, HolderKind::Loop, "loop")).flatten();
                }
                "return_statement" | "body_statement" => {
                    let name = self.function_around(around)?;
                    return self.held(around, HolderKind::Result, name);
                }
                "argument"
                | "argument_list"
                | "arguments"
                | "array_creation_expression"
                | "arrow_expression_clause"
                | "as_expression"
                | "attribute_argument"
                | "await_expression"
                | "composite_literal"
                | "element_value_pair"
                | "implicit_array_creation_expression"
                | "equals_value_clause"
                | "expression_list"
                | "annotation_argument_list"
                | "member_expression"
                | "navigation_expression"
                | "new_expression"
                | "parenthesized_expression"
                | "reference_expression"
                | "satisfies_expression"
                | "unary_expression"
                | "macro_invocation"
                | "value_argument"
                | "value_arguments"
                | "field_expression"
                | "implicit_object_creation_expression"
                | "object_creation_expression" => node = parent,
                _ => return None,
            }
        }
        None
    }

    fn held(&self, around: &[Node<'t>], kind: HolderKind, name: &'t str) -> Option<Holder<'t>> {
        let owner = self.function_around(around).unwrap_or_default();
        if name.is_empty() {
            return None;
        }
        Some(Holder { key: format!("{owner} {name}"), name, kind })
    }

    /// Returns the name that an assignment or a declaration gives its value.
    fn name_before(&self, holder: Node<'t>, value: Node<'t>) -> &'t str {
        let before = Span { start: holder.start_byte(), end: value.start_byte() }.of(self.text);
        let before = before.trim_end().trim_end_matches(['=', ':', ' ', '&']);
        let before = before.split([':', '=']).next().unwrap_or_default().trim_end();
        before.rsplit(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default()
    }

    /// Returns the last name of what a call calls: `each` of `it.each(…)`, and of `[…].each`, whose list is a part of it.
    fn callee_of(&self, call: Node<'t>, list: Node<'t>) -> Option<&'t str> {
        if call.start_byte() == list.start_byte() {
            let behind = Span { start: list.end_byte(), end: call.end_byte() }.of(self.text);
            let behind =
                behind.trim_start_matches(|sign: char| ".?! ".contains(sign) || sign.is_whitespace());
            let name = behind.split(|sign: char| !joins(sign)).next().filter(|name| !name.is_empty());
            return name.or_else(|| self.text_of(list).rsplit(|sign: char| !joins(sign)).next());
        }
        let head = self.text_of(call).split(['(', '[', '{']).next().unwrap_or_default();
        head.trim().rsplit(|sign: char| !joins(sign)).next()
    }

    /// Returns the name of the innermost function around.
    fn function_around(&self, around: &[Node<'t>]) -> Option<&'t str> {
        let mut functions = around.iter().rev().filter(|node| {
            let word = node.word();
            let is_function = ["constructor", "function", "method"].iter().any(|kind| word.contains(kind));
            is_function && !["call", "invocation"].iter().any(|kind| word.contains(kind))
        });
        functions.find_map(|function| function.field("name")).map(|name| self.text_of(name))
    }

    /// Returns whether a test goes through a table.
    fn is_walked(&self, holder: &Holder<'_>) -> bool {
        match holder.kind {
            HolderKind::Loop => true,
            HolderKind::Call => TAKERS.contains(&holder.name),
            HolderKind::Result | HolderKind::Variable => places(self.text, holder.name).any(|name| {
                let before = &self.text[..name.start];
                let line = before.rsplit('\n').next().unwrap_or_default();
                SOURCES.iter().any(|source| line.contains(source)) || self.is_walked_at(name)
            }),
        }
    }

    /// Returns whether a loop, or the attribute of a test, goes through what stands at a place.
    fn is_walked_at(&self, name: Span) -> bool {
        let (before, behind) = (&self.text[..name.start], &self.text[name.end..]);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let start = line.trim_end_matches(['&', '$', '(', '*', ' ', '.']);
        let is_in_loop = LOOPS.iter().any(|word| {
            start.ends_with(word.trim_end_matches('('))
                && ["for", "each", "range"].iter().any(|word| line.contains(word))
        });
        // Java writes `for (Case each : CASES)`.
        let is_in_java = line.trim_end().ends_with(':') && line.contains("for") && behind.starts_with(')');
        let is_taken = TAKERS.iter().any(|taker| line.contains(&format!("{taker}(")));
        is_in_loop || is_in_java || is_taken || WALKS.iter().any(|walk| behind.starts_with(walk))
    }

    /// Returns the name of an attribute that is a case of its test.
    fn case_attribute(&self, node: Node<'t>) -> Option<&'t str> {
        let is_attribute = match node.word() {
            "attribute" => matches!(self.language, Language::CSharp | Language::Php | Language::Rust),
            "decorator" => self.language == Language::Python,
            _ => false,
        };
        if !is_attribute {
            return None;
        }
        let words = self.text_of(node).trim_start_matches('@');
        let path = words.split(['(', '<']).next().unwrap_or_default().trim();
        let name = path.rsplit([':', '.', '\\']).next().unwrap_or_default();
        (words.contains('(') && CASES.contains(&name)).then_some(name)
    }

    /// Returns the name of the function that an attribute below some nodes belongs to.
    fn owner_of_attribute(&self, above: &[Node<'t>]) -> Option<&'t str> {
        if self.language != Language::Rust {
            let mut around = above.iter().rev().take(MOST_WRAPPERS);
            let named = around.find_map(|node| {
                node.field("name").or_else(|| node.field("definition").and_then(|own| own.field("name")))
            });
            return named.map(|name| self.text_of(name));
        }
        let mut next = above.last()?.next_named_sibling();
        while let Some(item) = next.filter(|item| item.word() != "function_item") {
            let is_between = item.word() == "attribute_item" || item.is_comment();
            next = if is_between { item.next_named_sibling() } else { None };
        }
        Some(self.text_of(next?.field("name")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(language: Language, text: &str) -> Vec<String> {
        let source = ParsedSource::parse(language, text, None).unwrap();
        let whole = [Span { start: 0, end: text.len() }];
        let tables = source.tables(&whole).into_iter().filter(|table| table.is_cases);
        tables.map(|table| format!("{} {}", table.key, table.rows.len())).collect()
    }

    #[test]
    fn tables_of_cases_are_found_in_each_language() {
        for (language, text, expected) in [
            (
                Language::Python,
                "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a): pass\n",
                " parametrize#0 2",
            ),
            (
                Language::Python,
                "CASES = [(1, 2), (3, 4)]\ndef test_a():\n    for a, b in CASES:\n        f(a)\n",
                " CASES#0 2",
            ),
            (Language::Python, "def test_a():\n    for a in (1, 2, 3):\n        f(a)\n", "test_a loop#0 3"),
            (
                Language::Go,
                "func TestA(t *testing.T) {\n\ttests := []struct{ a int }{\n\t\t{1},\n\t\t{2},\n\t}\n\tfor _, tt := range tests {\n\t}\n}\n",
                "TestA tests#0 2",
            ),
            (
                Language::Go,
                "func TestA(t *testing.T) {\n\tfor _, a := range []int{1, 2} {\n\t}\n}\n",
                "TestA loop#0 2",
            ),
            (Language::TypeScript, "it.each([[1, 2], [3, 4]])('a', () => {});", " each#0 2"),
            (
                Language::TypeScript,
                "const cases = [[1], [2]];\ncases.forEach((c) => it('a', () => {}));",
                " cases#0 2",
            ),
            (Language::TypeScript, "for (const a of [1, 2]) { it('a', () => {}); }", " loop#0 2"),
            (
                Language::Java,
                "class A { @ValueSource(strings = {\"a\", \"b\"}) void a(String b) {} }",
                "a ValueSource#0 2",
            ),
            (
                Language::CSharp,
                "class A { [InlineData(1)] [InlineData(2)] void B(int c) {} }",
                "B InlineData#0 2",
            ),
            (Language::Rust, "#[rstest]\n#[case(1)]\n#[case(2)]\nfn a(#[case] b: u8) {}\n", "a case#0 2"),
            (Language::Rust, "fn a() {\n    for (b, c) in [(1, 2), (3, 4)] {}\n}\n", "a loop#0 2"),
            (
                Language::Rust,
                "fn a() {\n    let cases = vec![(1, 2), (3, 4)];\n    for case in cases {}\n}\n",
                "a cases#0 2",
            ),
            (
                Language::Php,
                "<?php class A { /** @dataProvider rows */ function testA($a) {} static function rows() { return [[1], [2]]; } }",
                "rows rows#0 2",
            ),
            (Language::Ruby, "[[1, 2], [3, 4]].each do |a, b|\n  it 'a' do\n  end\nend\n", " each#0 2"),
            (Language::Kotlin, "fun a() {\n  listOf(1, 2).forEach { f(it) }\n}\n", "a forEach#0 2"),
        ] {
            assert_eq!(cases(language, text), [expected], "{text}");
        }
        for (language, text) in [
            (Language::Python, "def test_a():\n    assert f() == [1, 2]\n"),
            (Language::Python, "def test_a():\n    rows = [1, 2]\n    assert f(rows) == 3\n"),
            (Language::TypeScript, "it('a', () => { expect(f([1, 2])).toEqual([3, 4]); });"),
        ] {
            assert!(cases(language, text).is_empty(), "{text}");
        }
    }
}
