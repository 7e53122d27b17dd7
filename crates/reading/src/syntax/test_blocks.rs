//! Tests that are calls with a block, or with functions and a chain of calls behind, RSpec and Pest, and tests that a
//! macro makes functions of, GoogleTest; and the statements of all of them.

use super::Language;
use super::outline::Span;
use super::spelled::{Form, Spelled};
use super::test_cases::{Mark, MarkKind, Reader};
use super::walk::span;
use crate::tree::Node;

/// Words of RSpec and of Rails, without the letter that switches them on or off.
const RUBY_CASES: &[&str] = &["example", "it", "pending", "scenario", "skip", "specify", "test"];
const RUBY_GROUPS: &[&str] = &["context", "describe", "example_group", "feature"];
/// Macros of GoogleTest.
const GOOGLE_TESTS: &[&str] = &["TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"];
/// The beginning of the name of a test of GoogleTest that is switched off.
const DISABLED: &str = "DISABLED_";
/// Functions of Pest.
const PEST_CASES: &[&str] = &["it", "test", "todo"];

impl<'t> Reader<'t> {
    /// Notes a call of Ruby that is a test, and returns what groups tests with its marks.
    pub(super) fn ruby_call<'n>(&mut self, call: Node<'n>, marks: &[Mark]) -> Option<(Node<'n>, Vec<Mark>)> {
        let receiver = call.field("receiver").map(|receiver| self.text_of(receiver));
        let method = call.field("method")?;
        let word = self.text_of(method);
        let word = word.strip_prefix(['x', 'f']).unwrap_or(word);
        let is_group = RUBY_GROUPS.contains(&word);
        let is_case = RUBY_CASES.contains(&word) && receiver.is_none();
        if !is_case && !is_group || receiver.is_some_and(|receiver| receiver != "RSpec") {
            return None;
        }
        let arguments: Vec<Node<'_>> =
            call.field("arguments").into_iter().flat_map(|node| node.named_children()).collect();
        // The title may say anything.
        let callee = match arguments.first() {
            Some(first) => Span { start: method.start_byte(), end: first.start_byte() + 1 },
            None => span(method),
        };
        let mut own = vec![Mark::new(MarkKind::Attribute, callee, self.speller.marks(call))];
        let tags = arguments.iter().filter(|tag| matches!(tag.word(), "pair" | "simple_symbol"));
        own.extend(tags.map(|tag| Mark::new(MarkKind::Attribute, span(*tag), self.speller.options(*tag))));
        let block = call.field("block");
        if is_group {
            return block.map(|block| (block, own));
        }
        let (name, place) = self.title(*arguments.first()?)?;
        // Without a block it is a note that a test is to come.
        let body = block?.field("body");
        self.case(name, place, span(call), body, own, marks);
        None
    }

    /// Notes a statement of Pest that is a test, with what is called on it: `it('…', fn () => …)->skip()`.
    pub(super) fn pest_call<'n>(
        &mut self,
        statement: Node<'n>,
        marks: &[Mark],
    ) -> Option<(Node<'n>, Vec<Mark>)> {
        let mut own = Vec::new();
        let mut call = statement.named_child(0)?;
        while call.word() == "member_call_expression" {
            let object = call.field("object")?;
            let chained = Span { start: object.end_byte(), end: call.end_byte() };
            let mut spelled = self.speller.marks(call);
            spelled.iter_mut().for_each(|mark| mark.span = chained);
            own.push(Mark::new(MarkKind::Attribute, chained, spelled));
            call = object;
        }
        if call.word() != "function_call_expression" {
            return None;
        }
        let function = call.field("function").map(|function| self.text_of(function))?;
        let arguments = call.field("arguments")?;
        let body = arguments
            .named_children()
            .filter(|argument| !argument.is_comment())
            .last()
            .and_then(|last| last.named_child(0));
        let body = body.and_then(|function| function.field("body"));
        if function == "describe" {
            return body.map(|body| (body, own));
        }
        if PEST_CASES.contains(&function) {
            let (name, place) = self.title(arguments.named_child(0)?.named_child(0)?)?;
            self.case(name, place, span(statement), body, own, marks);
        }
        None
    }

    /// Notes a test of GoogleTest: to the parser `TEST(Suite, Name) { … }` is a function with two parameters.
    pub(super) fn google_test(&mut self, node: Node<'_>, marks: &[Mark]) {
        let Some(declarator) = node.field("declarator") else { return };
        let word = declarator.field("declarator").map(|word| self.text_of(word));
        let parameters = declarator.field("parameters");
        let (Some(word), Some(parameters)) = (word, parameters) else { return };
        if !GOOGLE_TESTS.contains(&word) {
            return;
        }
        let place = span(parameters);
        let inside = place.of(self.text).trim_start_matches('(').trim_end_matches(')').trim();
        let head = Span { start: node.start_byte(), end: place.end };
        let names = inside.split(',').map(|name| Spelled {
            form: Form::Mark,
            path: name.trim().to_owned(),
            arguments: None,
            span: place,
        });
        let own = vec![Mark::new(MarkKind::Attribute, head, names.collect())];
        let body = node.field("body");
        self.case(inside.replace(DISABLED, ""), place, span(node), body, own, marks);
    }

    /// Notes a function of C that is a test by its name, and that others call or list: `static void test_a(void)`.
    pub(super) fn named_test(&mut self, node: Node<'_>, marks: &[Mark]) {
        let Some(declarator) = node.field("declarator").filter(|all| all.word() == "function_declarator")
        else {
            return;
        };
        let (Some(name), Some(parameters)) = (declarator.field("declarator"), declarator.field("parameters"))
        else {
            return;
        };
        let (word, given) = (self.text_of(name), self.text_of(parameters));
        let given: String = given.split_whitespace().collect();
        let is_plain = matches!(given.as_str(), "()" | "(void)") || given.starts_with("(void**");
        if !word.starts_with("test_") || !is_plain {
            return;
        }
        let head = Span { start: node.start_byte(), end: declarator.end_byte() };
        let is_own = head.of(self.text).split_whitespace().any(|word| word == "static");
        let is_idle = is_own && !self.is_named_elsewhere(word);
        let own = if is_idle { vec![Mark::uncollected(head)] } else { Vec::new() };
        self.case(word.to_owned(), span(name), span(node), node.field("body"), own, marks);
    }
}

/// Returns the statements of the block that a call of Ruby is given.
pub(super) fn block_of(call: Node<'_>) -> Option<Node<'_>> {
    call.field("block")?.field("body")
}

/// Returns the statements of a function.
pub(super) fn body_of(function: Node<'_>) -> Option<Node<'_>> {
    let body = function.field("body");
    body.or_else(|| function.named_children().find(|child| child.word() == "function_body")?.named_child(0))
}

/// Returns the statements of a body; an expression is one by itself.
pub(super) fn statements(body: Node<'_>) -> Vec<Node<'_>> {
    let list = body.named_child(0).filter(|child| child.word() == "statement_list");
    let is_block = [
        "block",
        "block_body",
        "body_statement",
        "class_body",
        "compound_statement",
        "declaration_list",
        "do",
        "module",
        "program",
        "source_file",
        "statement_block",
        "then",
    ];
    if !is_block.contains(&body.word()) {
        return vec![body];
    }
    list.unwrap_or(body)
        .named_children()
        .filter(|child| !child.is_comment() || body.parent().is_none())
        .collect()
}

/// Returns whether a statement leaves the body of a test, given its text.
pub(super) fn is_return(language: Language, statement: &str) -> bool {
    let word = statement.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next();
    word == Some("return") || word == Some("next") && language == Language::Ruby
}
