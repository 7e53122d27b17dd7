//! Calls that are tests or groups of tests: of frameworks of JavaScript, and of Ginkgo.

use super::Language;
use super::outline::Span;
use super::test_cases::{Mark, MarkKind, Reader};
use super::uncollected::is_empty;
use super::walk::span;
use crate::tree::Node;

/// Words of test frameworks in JavaScript, without the letter that switches them on or off.
const CASES: &[&str] = &["it", "test", "specify", "bench", "Deno.test"];
const GROUPS: &[&str] = &["describe", "context", "suite"];
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

impl Reader<'_> {
    /// Notes a call that is a test, and returns what groups tests with its marks.
    pub(super) fn call<'n>(&mut self, node: Node<'n>, marks: &[Mark]) -> Option<(Node<'n>, Vec<Mark>)> {
        let is_group = self.framework_word(node)?;
        let arguments = node.field("arguments").filter(|node| node.word().starts_with("argument"))?;
        let function = node.field("function")?;
        let body = function_of(node);
        let mut own = self.marks_of_call(node, function, arguments);
        let root = self.text_of(function);
        let root = root.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or(root);
        let table = function.field("arguments").and_then(|cases| cases.named_child(0));
        let is_table_empty =
            table.is_some_and(|cases| cases.word() == "array" && is_empty(self.text, cases, &self.empty));
        if is_table_empty
            || self.idle.contains(root)
            || !is_group && body.is_none() && self.is_pending(arguments)
        {
            own.push(Mark::uncollected(span(function)));
        }
        if is_group {
            return Some((body?, own));
        }
        let first = arguments.named_children().find(|child| !child.word().ends_with("comment"))?;
        let (name, place) = self.title(first)?;
        self.case(name, place, span(node), body, own, marks);
        None
    }

    /// Returns the marks of a call of a framework: its callee, and the options and decorators that it is given.
    fn marks_of_call(&self, call: Node<'_>, function: Node<'_>, arguments: Node<'_>) -> Vec<Mark> {
        let place = callee(self.text, function, arguments);
        let mut own = vec![Mark::new(MarkKind::Attribute, place, self.speller.marks(call))];
        for given in arguments.named_children() {
            let options = self.speller.options(given);
            if !options.is_empty() {
                own.push(Mark::new(MarkKind::Attribute, span(given), options));
            }
            // Ginkgo has decorators among the arguments.
            if self.language == Language::Go && matches!(given.word(), "identifier" | "selector_expression") {
                own.push(Mark::new(MarkKind::Attribute, span(given), self.speller.marks(given)));
            }
        }
        own
    }

    /// Collects the marks of every node that no condition is around.
    pub(super) fn loose_marks(&self, root: Node<'_>) -> Vec<Mark> {
        const CONDITIONS: &[&str] = &[
            "case",
            "catch",
            "conditional",
            "elif",
            "else",
            "except",
            "if",
            "match",
            "rescue",
            "switch",
            "ternary",
            "unless",
            "when",
        ];
        let mut marks = Vec::new();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let kind = node.word();
            if node.is_named() && CONDITIONS.iter().any(|word| kind.starts_with(word)) {
                self.note_branches(node, &mut marks);
                continue;
            }
            match kind {
                "annotation"
                | "attribute_item"
                | "decorator"
                | "inner_attribute_item"
                | "marker_annotation" => {
                    marks.push(Mark::new(MarkKind::Attribute, span(node), self.speller.marks(node)));
                }
                "attribute" if self.language != Language::Python => {
                    marks.push(Mark::new(MarkKind::Attribute, span(node), self.speller.marks(node)));
                }
                "call_expression" if self.framework_word(node).is_some() => {
                    let function = node.field("function");
                    if let Some((function, arguments)) = function.zip(node.field("arguments")) {
                        marks.extend(self.marks_of_call(node, function, arguments));
                    }
                }
                "call" | "member_call_expression" if self.language != Language::Python => {
                    let arguments =
                        node.field("arguments").into_iter().flat_map(|node| node.named_children());
                    let options = arguments.flat_map(|given| self.speller.options(given));
                    let spelled = self.speller.marks(node).into_iter().chain(options).collect();
                    marks.push(Mark::new(MarkKind::Attribute, span(node), spelled));
                }
                "expression_statement" | "raise_statement" | "throw_statement" | "identifier" => {
                    let is_statement = kind != "identifier"
                        || self.language == Language::Ruby
                            && node.parent().is_some_and(|parent| parent.word() == "body_statement");
                    let runs = if is_statement { self.speller.runs(node) } else { Vec::new() };
                    marks.push(Mark::new(MarkKind::Statement, span(node), runs));
                }
                "comment" | "line_comment" => marks.extend(self.constraint(node)),
                _ => {}
            }
            stack.extend(node.named_children());
        }
        marks.sort_by_key(|mark| mark.span);
        marks
    }

    /// Returns whether a test is given a title and nothing to run.
    fn is_pending(&self, arguments: Node<'_>) -> bool {
        let given: Vec<Node<'_>> =
            arguments.named_children().filter(|given| given.word() != "comment").collect();
        match given.as_slice() {
            [title] => title.word() != "object",
            [_, function] => {
                let text = self.text_of(*function);
                matches!(text, "null" | "undefined") || self.idle.contains(text)
            }
            _ => false,
        }
    }

    /// Returns whether a call is one of a group of tests; `None` where it is none of a framework.
    pub(super) fn framework_word(&self, call: Node<'_>) -> Option<bool> {
        let known = self.framework_words.borrow().get(&call.id()).copied();
        known.unwrap_or_else(|| {
            let word = self.read_framework_word(call);
            self.framework_words.borrow_mut().insert(call.id(), word);
            word
        })
    }

    fn read_framework_word(&self, call: Node<'_>) -> Option<bool> {
        match self.language {
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Java
            | Language::Kotlin
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust => return None,
            Language::Go | Language::JavaScript | Language::Tsx | Language::TypeScript => {}
        }
        let text = self.speller.path(call.field("function")?)?;
        let path: &str = text.split('(').next().unwrap_or(&text);
        let path = path.strip_prefix("QUnit.").unwrap_or(path);
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
    pub(super) fn title(&self, first: Node<'_>) -> Option<(String, Span)> {
        let node = match first.word() {
            "object" => first
                .named_children()
                .filter(|pair| pair.field("key").is_some_and(|key| self.text_of(key) == "name"))
                .find_map(|pair| pair.field("value"))?,
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
    object.named_children().find_map(|member| {
        let value = member.field("value");
        let is_function = value.is_some_and(|value| value.word().contains("function"));
        if member.word() != "method_definition" && !is_function {
            return None;
        }
        member.field("body").or_else(|| value?.field("body"))
    })
}

/// Returns the body of the function that a call is given.
pub(super) fn function_of(call: Node<'_>) -> Option<Node<'_>> {
    let arguments = call.field("arguments")?;
    let given = arguments.named_children().filter_map(|argument| match argument.word() {
        "object" => body_in_options(argument),
        _ => argument.field("body"),
    });
    given.last()
}
