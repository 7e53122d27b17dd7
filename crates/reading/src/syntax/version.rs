//! Parses one version of a text by the tree of another, so that what both share is parsed once.

use std::ops::Range;

use qa_contracts::v1::Hunk;
use tree_sitter::InputEdit;

use super::outline::Span;
use super::{Language, advanced, parse_by, ranges};
use crate::tree::Tree;

/// Another version of a text, with the hunks between both.
#[derive(Debug, Clone, Copy)]
pub struct OtherVersion<'a> {
    pub text: &'a str,
    pub hunks: &'a [Hunk],
    /// Set where the hunks lead from the text to the other version, and not to the text.
    pub is_newer: bool,
}

/// A part of a text in the place of a part of the other version.
struct Edit {
    other: Span,
    own: Span,
}

/// Parses a text by the tree of another version. Returns `None` where the hunks do not lead from one to the other, and
/// where the text has errors: the repair of an error depends on where the parser comes from, and everything else does not.
pub(super) fn parse_beside(
    language: Language,
    text: &str,
    other: &OtherVersion<'_>,
    tree: &Tree,
) -> Option<Tree> {
    let edits = edits(text, other)?;
    let replaced: Vec<Span> = edits.iter().map(|edit| edit.other).collect();
    let mut edited = tree.parsed().clone();
    // The last first, so that the offsets of the others stay those of the other version.
    for (range, Edit { own, .. }) in ranges(other.text, &replaced).iter().zip(&edits).rev() {
        edited.edit(&InputEdit {
            start_byte: range.start_byte,
            old_end_byte: range.end_byte,
            new_end_byte: range.start_byte + (own.end - own.start),
            start_position: range.start_point,
            old_end_position: range.end_point,
            new_end_position: advanced(range.start_point, own.of(text)),
        });
    }
    let tree = parse_by(&language.grammar(), text, &[], Some(&edited))?;
    (!tree.root_node().has_error()).then_some(tree)
}

/// Returns the edits that make the text from the other version, or `None` where they do not.
fn edits(text: &str, other: &OtherVersion<'_>) -> Option<Vec<Edit>> {
    let (other_lines, own_lines) = (Lines::new(other.text), Lines::new(text));
    let mut edits = Vec::with_capacity(other.hunks.len());
    let mut behind = Edit { other: Span::default(), own: Span::default() };
    for hunk in other.hunks {
        let old = [hunk.old_start, hunk.old_lines];
        let new = [hunk.new_start, hunk.new_lines];
        let [from, to] = if other.is_newer { [new, old] } else { [old, new] };
        let edit = Edit { other: other_lines.span(from)?, own: own_lines.span(to)? };
        let between = [behind.other.end..edit.other.start, behind.own.end..edit.own.start];
        is_same(other.text, text, between)?;
        behind = Edit { ..edit };
        edits.push(edit);
    }
    is_same(other.text, text, [behind.other.end..other.text.len(), behind.own.end..text.len()])?;
    Some(edits)
}

/// Returns `None` where parts of two texts differ.
fn is_same(other: &str, own: &str, [of_other, of_own]: [Range<usize>; 2]) -> Option<()> {
    (other.get(of_other)? == own.get(of_own)?).then_some(())
}

/// Offsets of the lines of a text, and of its end.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after).chain([text.len()]).collect())
    }

    /// Returns the place of lines as a hunk counts them: from the line before where there are none.
    fn span(&self, [start, count]: [u64; 2]) -> Option<Span> {
        let first = usize::try_from(if count == 0 { start } else { start.checked_sub(1)? }).ok()?;
        let end = first.checked_add(usize::try_from(count).ok()?)?;
        Some(Span { start: *self.0.get(first)?, end: *self.0.get(end)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_tree;
    use super::*;

    const TEXTS: &[(Language, &str)] = &[
        (
            Language::Go,
            "package a\n\nimport \"b\"\n\nfunc TestA(t *testing.T) {\n\tif x := f(); x > 1 {\n\t\tt.Fatal(`a\n`)\n\t}\n}\n\ntype T struct {\n\tA int\n}\n",
        ),
        (
            Language::Java,
            "class A<T extends B> {\n  @Test\n  void a() {\n    f(x -> y < z);\n    for (int i = 0; i < 3; i++) g(i);\n  }\n  /* no */\n  int b = (c) + d;\n}\n",
        ),
        (
            Language::JavaScript,
            "import a from 'b';\nit('c', async () => {\n  const d = `e ${f} g`\n  await h(d)\n})\nconst i = j / k / l\nlet m = <n o={p}>q</n>;\n",
        ),
        (
            Language::Python,
            "import a\n\ndef test_b(x=1):\n    if x:\n        y = \"\"\"c\n        d\"\"\"\n        return\n    assert y\n\n@e\nclass F:\n    def g(self): pass\n",
        ),
        (
            Language::Rust,
            "use a::b;\n#[test]\nfn c() {\n    let d = e::<f>(g) < h;\n    match i { j => k!(\"l\"), _ => {} }\n    if m < n { o(r#\"p\"#) }\n}\nmod q {\n    fn r<'s>(t: &'s u8) {}\n}\n",
        ),
        (
            Language::Tsx,
            "type A<B> = B extends C ? D : E;\nconst f = <G,>(h: G) => <I j={h as K}>l</I>;\nexport class M {\n  n?: O = p < q;\n}\n",
        ),
        (
            Language::TypeScript,
            "type A<B> = B extends C ? D : E;\nconst f = <G>(h: G) => i<J>(h);\nexport abstract class M {\n  n?: O = p < q;\n}\ndeclare module 'r' {\n  let s: T;\n}\n",
        ),
    ];

    /// Every node with its place and its field.
    fn nodes(tree: &Tree) -> Vec<String> {
        let mut cursor = tree.walk();
        let mut nodes = Vec::new();
        loop {
            let node = cursor.node();
            nodes.push(format!("{:?} {node:?}", cursor.field_name()));
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return nodes;
                }
            }
        }
    }

    #[test]
    fn the_tree_made_by_another_version_is_the_tree_made_anew() {
        let mut same = 0;
        for (language, text) in TEXTS {
            let grammar = language.grammar();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for first in 0..lines.len() {
                for (removed, added) in
                    (0..3).flat_map(|removed| lines.iter().map(move |added| (removed, added)))
                {
                    let behind = (first + removed).min(lines.len());
                    let newer = [&lines[..first].concat(), *added, &lines[behind..].concat()].concat();
                    let removed = behind - first;
                    let hunk = Hunk {
                        ordinal: 0,
                        old_start: (first + usize::from(removed > 0)) as u64,
                        old_lines: removed as u64,
                        new_start: first as u64 + 1,
                        new_lines: 1,
                        section: String::new(),
                    };
                    let hunks = std::slice::from_ref(&hunk);
                    for (from, to, is_newer) in
                        [(*text, newer.as_str(), false), (newer.as_str(), *text, true)]
                    {
                        let from_tree = parse_tree(&grammar, from, &[]).unwrap();
                        let other = OtherVersion { text: from, hunks, is_newer };
                        let fresh = parse_tree(&grammar, to, &[]).unwrap();
                        let beside = parse_beside(*language, to, &other, &from_tree);
                        assert_eq!(beside.is_none(), fresh.root_node().has_error(), "{from}\n->\n{to}");
                        if let Some(beside) = beside {
                            assert_eq!(nodes(&beside), nodes(&fresh), "{from}\n->\n{to}");
                            same += 1;
                        }
                    }
                }
            }
        }
        assert!(same > 1_000, "{same}");
    }

    #[test]
    fn hunks_that_do_not_lead_to_the_text_are_not_followed() {
        let other = OtherVersion { text: "a\nb\n", hunks: &[], is_newer: false };
        assert!(edits("a\nb\n", &other).is_some());
        assert!(edits("a\nc\n", &other).is_none());
    }
}
