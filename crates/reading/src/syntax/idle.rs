//! Tests, and which of them do nothing.

use super::comments::gives_reason;
use super::walk::{Found, span};
use crate::tree::Node;

/// Notes a test, and whether the statements of its body do nothing. A comment in it may give a reason.
pub(super) fn note_test(found: &mut Found<'_>, node: Node<'_>, body: Option<Node<'_>>) {
    found.outline.tests.push(span(node));
    let Some(body) = body.filter(|body| !body.has_error()) else { return };
    // Go has a list inside the braces.
    let list = body.named_child(0).filter(|child| child.word() == "statement_list");
    let (comments, statements): (Vec<Node<'_>>, Vec<Node<'_>>) =
        list.unwrap_or(body).named_children().partition(|child| child.is_comment());
    let comments = node.named_children().filter(|child| child.is_comment()).chain(comments);
    if gives_reason(&comments.map(|comment| found.text(comment)).collect::<Vec<_>>().join(" ")) {
        return;
    }
    if statements.into_iter().all(|statement| is_idle(found, statement)) {
        found.outline.idle_tests.push(span(node));
    }
}

/// Returns whether a statement has no effect and no reason: a pass, a literal, a print of a literal, or a true
/// assertion.
fn is_idle(found: &Found<'_>, statement: Node<'_>) -> bool {
    const NOTHING: &[&str] = &[
        "...",
        "$this->assertTrue(true)",
        "Ok(())",
        "_=t",
        "assert!(true)",
        "assert(true)",
        "assert.ok(true)",
        "assertTrue",
        "asserttrue",
        "expect(true).tobe(true)",
        "expect(true).tobe_truthy",
        "expect(true).tobetrue",
        "expect(true).toeq(true)",
        "expect(true).toeqtrue",
        "expect(true).toBe(true)",
        "expect(true).toBeTruthy()",
        "expect(true).toEqual(true)",
        "pass",
        "return",
        "self::assertTrue(true)",
        "returnOk(())",
        "self.assertTrue(True)",
    ];
    const PRINTS: &[&str] = &["console.log(", "fmt.Println(", "print(", "println!(", "t.Log("];
    let text: String = found.text(statement).split_whitespace().collect();
    let text = text.trim_end_matches(';');
    let is_text = statement.named_child(0).is_some_and(|child| child.word() == "string")
        && statement.word() == "expression_statement";
    let prints = PRINTS.iter().any(|print| text.starts_with(print)) && text.matches('(').count() == 1;
    is_text || prints || NOTHING.contains(&text)
}
