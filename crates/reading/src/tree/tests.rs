//! The nodes written down beside those of the parser.

use super::*;
use crate::syntax::{Language, parse_tree};

const TEXTS: &[(Language, &str)] = &[
    (
        Language::C,
        "#include <a.h>\nstatic int f(int *a, char b[2]) { for (;;) { a[0]++; } return a ? 1 : 2; }\n",
    ),
    (Language::Cpp, "namespace a { template<class T> struct B : C { T d = {}; auto e() const -> int; }; }\n"),
    (
        Language::CSharp,
        "using A;\n[B] class C<D> where D : E { int F => g?.H ?? 1; async Task I() { await J(k: 1); } }\n",
    ),
    (
        Language::Go,
        "package a\n\nimport b \"c\"\n\nfunc (d *E) F(g, h int) (i error) {\n\tif j := k(); j != nil {\n\t\treturn\n\t}\n\treturn // l\n}\n",
    ),
    (
        Language::Java,
        "package a;\nimport static b.C.*;\n@D(e = 1) class F<G extends H> { int i, j[] = {1}; void k() throws L { m(n -> o); } }\n",
    ),
    (
        Language::JavaScript,
        "import a, { b as c } from 'd';\nfor (const e of f) { if (g) h?.(`i ${j}`); else k(); }\nclass L { #m = 1; static n() {} }\n",
    ),
    (
        Language::Kotlin,
        "package a\nimport b.*\nclass C(val d: Int) : E() { fun f(g: Int = 1) = when (g) { 1 -> h?.i; else -> j!! } }\n",
    ),
    (
        Language::Php,
        "<?php\nnamespace A;\nuse B\\C as D;\nfunction e(int $f = 1): ?G { foreach ($h as $i => $j) { echo \"k $l\"; } }\n",
    ),
    (
        Language::Python,
        "from a import b as c\n@d\nasync def e(f, *g, h: int = 1, **i) -> j:\n    try:\n        k = [l for m in n if o]\n    except P as q:\n        raise\n    elif_ = f'{r!s}'\n",
    ),
    (
        Language::Ruby,
        "require 'a'\nclass B < C\n  def d(e, f: 1, *g)\n    h do |i| i&.j end\n  rescue K => l\n    <<~M\n      n #{o}\n    M\n  end\nend\n",
    ),
    (
        Language::Rust,
        "use a::{b, c as d};\n#[e]\nimpl<F: G> H for I<F> {\n    fn j(&self, k: u8) -> l { match k { 1..=2 if m => n!(o), _ => {} } }\n}\n",
    ),
    (Language::Tsx, "const a = <B c={d} {...e}>f {g} <h/></B>;\n"),
    (
        Language::TypeScript,
        "export abstract class A<B> extends C implements D { constructor(private e?: F) { super(); } }\ntype G = keyof H & { i: J };\n",
    ),
    // Texts with errors.
    (Language::Python, "def a(:\n    b(\nc = \n"),
    (Language::JavaScript, "function a( { b(c => ; }\n"),
    (Language::Rust, "fn a( -> { let b = ; }}\n"),
    (Language::Go, ""),
];

/// A node of both trees.
type Both<'t> = (tree_sitter::Node<'t>, Node<'t>);

/// Returns the nodes of both trees side by side, from the first to the last.
fn pairs(tree: &Tree) -> Vec<Both<'_>> {
    let (mut theirs, mut own) = (tree.parsed().walk(), tree.walk());
    let mut pairs = Vec::new();
    loop {
        pairs.push((theirs.node(), own.node()));
        assert_eq!(theirs.field_name(), own.field_name(), "{:?}", theirs.node());
        let [into_theirs, into_own] = [theirs.goto_first_child(), own.goto_first_child()];
        assert_eq!(into_theirs, into_own);
        if into_own {
            continue;
        }
        loop {
            let [next_of_theirs, next_of_own] = [theirs.goto_next_sibling(), own.goto_next_sibling()];
            assert_eq!(next_of_theirs, next_of_own);
            if next_of_own {
                break;
            }
            let [up_in_theirs, up_in_own] = [theirs.goto_parent(), own.goto_parent()];
            assert_eq!(up_in_theirs, up_in_own);
            if !up_in_own {
                return pairs;
            }
        }
    }
}

/// The properties of a node that are compared.
#[derive(Debug, PartialEq, Eq)]
struct Described<'t> {
    kind: &'t str,
    number: u16,
    start: usize,
    end: usize,
    marks: [bool; 4],
}

fn describe_theirs(node: tree_sitter::Node<'_>) -> Described<'_> {
    Described {
        kind: node.kind(),
        number: node.kind_id(),
        start: node.start_byte(),
        end: node.end_byte(),
        marks: [node.is_named(), node.is_error(), node.is_missing(), node.has_error()],
    }
}

fn describe(node: Node<'_>) -> Described<'_> {
    Described {
        kind: node.word(),
        number: node.kind_id(),
        start: node.start_byte(),
        end: node.end_byte(),
        marks: [node.is_named(), node.is_error(), node.is_missing(), node.has_error()],
    }
}

fn assert_same(theirs: Option<tree_sitter::Node<'_>>, own: Option<Node<'_>>, of: &str) {
    assert_eq!(theirs.map(describe_theirs), own.map(describe), "{of}");
}

fn assert_alike(language: Language, text: &str) {
    let Some(tree) = parse_tree(&language.grammar(), text, &[]) else { return };
    let (grammar, has_error) = (language.grammar(), tree.root_node().has_error());
    for (theirs, own) in pairs(&tree) {
        assert_eq!(describe_theirs(theirs), describe(own));
        assert_same(theirs.parent(), own.parent(), "parent");
        // The parser looks for siblings by their places, and does not find those that a repair made up of nothing.
        if !has_error {
            assert_same(theirs.next_sibling(), own.next_sibling(), "next sibling");
            assert_same(theirs.next_named_sibling(), own.next_named_sibling(), "next named sibling");
            assert_same(theirs.prev_named_sibling(), own.prev_named_sibling(), "previous named sibling");
        }
        assert_eq!(theirs.child_count() as usize, own.child_count());
        assert_eq!(theirs.named_child_count(), own.named_child_count());
        for at in 0..own.child_count().min(4) {
            assert_same(theirs.child(at as u32), own.child(at), "child");
            assert_same(theirs.named_child(at as u32), own.named_child(at), "named child");
        }
        for number in 1..=grammar.field_count() as u16 {
            let name = grammar.field_name_for_id(number).unwrap();
            assert_same(theirs.child_by_field_id(number), own.field(name), name);
            let mut cursor = theirs.walk();
            let all: Vec<_> = theirs.children_by_field_name(name, &mut cursor).map(describe_theirs).collect();
            assert_eq!(all, own.fields(name).map(describe).collect::<Vec<_>>(), "{name}");
        }

        let place = own.byte_range();
        let found = tree.parsed().root_node().named_descendant_for_byte_range(place.start, place.end);
        let own_found = tree.root_node().named_descendant_for_byte_range(place.start, place.end);
        assert_same(found, own_found, "descendant");
    }
}

#[test]
fn nodes_are_those_of_the_parser() {
    for (language, text) in TEXTS {
        assert_alike(*language, text);
    }
}

#[test]
fn every_language_has_a_text() {
    for language in Language::ALL {
        assert!(TEXTS.iter().any(|(of, _)| *of == language), "{language:?}");
    }
}

#[test]
fn ancestors_lead_from_the_parent_to_the_root() {
    let tree = parse_tree(&Language::Python.grammar(), "a(b)\n", &[]).unwrap();
    let inner = tree.root_node().named_descendant_for_byte_range(2, 3).unwrap();
    let words: Vec<&str> = inner.ancestors().map(|node| node.word()).collect();
    assert_eq!(words, ["argument_list", "call", "expression_statement", "module"]);
}

#[test]
fn a_cursor_does_not_leave_where_it_began() {
    let tree = parse_tree(&Language::Python.grammar(), "a = b\nc = d\n", &[]).unwrap();
    let mut cursor = tree.root_node().child(0).unwrap().walk();
    assert!(!cursor.goto_next_sibling() && !cursor.goto_parent());
    assert!(cursor.goto_first_child() && cursor.goto_first_child());
    assert_eq!(cursor.field_name(), Some("left"));
    assert_eq!(cursor.node().walk().field_name(), None);
}
