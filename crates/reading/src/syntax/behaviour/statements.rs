//! Statements of a text, each apart from those in its blocks.

use super::super::outline::Span;
use super::super::walk::span;
use super::ParsedSource;
use crate::tree::Node;
use crate::work;

/// Nodes whose children are statements.
const BLOCKS: &[&str] = &[
    "begin",
    "block",
    "block_body",
    "body_statement",
    "class_body",
    "compilation_unit",
    "compound_statement",
    "control_structure_body",
    "declaration_list",
    "do",
    "else",
    "ensure",
    "function_body",
    "module",
    "program",
    "source_file",
    "statement_block",
    "statement_list",
    "statements",
    "then",
    "translation_unit",
];

/// A statement or a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    pub span: Span,
    /// Part before its first block; all of it where it has none.
    pub head: Span,
}

impl ParsedSource<'_> {
    /// Returns the statements in the order of the text, each before those in its blocks.
    pub fn statements(&self) -> Vec<Statement> {
        let mut found: Vec<Statement> = Vec::new();
        let mut cursor = self.tree.root_node().walk();
        // Ancestors of the node.
        let mut around: Vec<Level> = Vec::new();
        loop {
            work::count();
            let node = cursor.node();
            let is_block = node.is_named() && BLOCKS.contains(&node.word());
            if is_block {
                cut_at(node, around.last(), &mut found);
            } else if around.last().is_some_and(|level| level.is_block) && is_statement(node) {
                found.push(Statement { span: span(node), head: span(node) });
            }
            let innermost = match around.last() {
                Some(level) if is_block || !level.is_block || !is_statement(node) => level.innermost,
                Some(_) => Some(found.len() - 1),
                None => None,
            };
            let level = Level { is_block, innermost };
            if cursor.goto_first_child() {
                around.push(level);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
                around.pop();
            }
        }
    }
}

/// A node around others.
struct Level {
    is_block: bool,
    /// Position of the innermost statement that it stands in, or is.
    innermost: Option<usize>,
}

fn is_statement(node: Node<'_>) -> bool {
    node.is_named() && !node.is_comment() && !node.word().ends_with("parameters")
}

/// Ends the head of the statement around a block, where the block is its first.
fn cut_at(block: Node<'_>, level: Option<&Level>, found: &mut [Statement]) {
    let around = level.and_then(|level| found.get_mut(level.innermost?));
    if let Some(statement) = around.filter(|statement| statement.head == statement.span) {
        statement.head.end = block.start_byte().max(statement.head.start);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Language;
    use super::super::ParsedSource;

    #[test]
    fn each_statement_is_apart_from_those_in_its_blocks() {
        for (language, text, expected) in [
            (
                Language::Go,
                "package a\n\nfunc f() {\n\tif a != b {\n\t\tt.Fatal()\n\t}\n}\n",
                vec!["package a", "func f()", "if a != b", "t.Fatal()"],
            ),
            (Language::Python, "if a:\n    b()\nc()\n", vec!["if a:", "b()", "c()"]),
            (Language::Ruby, "it 'x' do\n  expect(a).to eq b\nend\n", vec!["it 'x' do", "expect(a).to eq b"]),
            (
                Language::JavaScript,
                "it('x', () => {\n  expect(\n    a,\n  ).toBe(b);\n});\n",
                vec!["it('x', () =>", "expect(\n    a,\n  ).toBe(b);"],
            ),
        ] {
            let source = ParsedSource::parse(language, text, None).unwrap();
            let heads: Vec<&str> =
                source.statements().iter().map(|statement| statement.head.of(text).trim_end()).collect();
            assert_eq!(heads, expected, "{text}");
        }
    }
}
