//! Tests of expressions: constants, conditions and what they can be.

use super::*;

#[test]
fn constants_count_as_their_value() {
    let cases = [
        ("true", Some("true")),
        ("!true", Some("false")),
        (" 'it''s' ", Some("it's")),
        ("format('{0}{{{1}}}', 'a', 1)", Some("a{1}")),
        ("'A' == 'a' && 'x' || 'y'", Some("x")),
        ("1 == '1'", Some("true")),
        ("0x10 > 2", Some("true")),
        ("fromJSON('\"sh\"')", Some("sh")),
        ("('' || null) || 'z'", Some("z")),
        ("github.ref", None),
        ("false && github.ref", Some("false")),
    ];
    for (text, expected) in cases {
        let value = Expression::parse(text).expect(text).constant();
        assert_eq!(value.as_ref().map(Literal::to_text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_condition_may_be_decided_by_one_side() {
    let cases = [
        ("github.ref && false", Some(false)),
        ("always() && github.ref == 'x' && !true", Some(false)),
        ("github.ref || true", Some(true)),
        ("!(github.ref && false)", Some(true)),
        ("github.ref", None),
        ("success() || false", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Expression::parse(text).expect(text).truth(), expected, "{text}");
    }
}

#[test]
fn only_what_an_expression_comes_to_is_a_source() {
    let cases = [
        ("github.event.issue['Title']", "github.event.issue.title"),
        ("github.event.commits[0].message", "github.event.commits.*.message"),
        ("github.event.commits.*.message", "github.event.commits.*.message"),
        ("toJSON(github.event)", "github.event"),
        ("fromJSON(github.event.comment.body).x", "github.event.comment.body"),
        ("a.b == 'push' && 'a' || github.head_ref", "github.head_ref"),
        ("github.head_ref && 'a' || 'b'", ""),
        ("contains(github.head_ref, 'x')", ""),
        ("format('{0}-{1}', a.b, c.d)", "a.b c.d"),
        ("a[b.c].true", "a.*.true"),
        ("!github.head_ref", ""),
    ];
    for (text, expected) in cases {
        let parsed = Expression::parse(text).expect(text);
        let sources: Vec<String> = parsed.sources().iter().map(ToString::to_string).collect();
        assert_eq!(sources.join(" "), expected, "{text}");
    }
}

#[test]
fn what_github_refuses_is_none() {
    let deep = format!("{}a{}", "(".repeat(1000), ")".repeat(1000));
    let long = "a || ".repeat(1000) + "a";
    for text in ["", "a b", "a ==", "'a", "\"a\"", "f(a", "a.", "a[1", "(a", "1.2.3", &deep, &long] {
        assert_eq!(Expression::parse(text), None, "{text}");
    }
}
