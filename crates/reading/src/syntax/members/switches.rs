//! Switches that name each of their cases.

use std::collections::BTreeMap;

use super::super::Language;
use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::span;
use super::{Reader, each};
use crate::tree::{Node, Tree};

/// A label of a switch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Name before the last one: that of the type or of the package.
    pub owner: Option<String>,
    pub name: String,
    /// Set for a text.
    pub is_text: bool,
}

/// A switch without a default.
pub(crate) struct Switch {
    /// The first label.
    pub(crate) place: Span,
    pub(crate) labels: Vec<Label>,
    pub(crate) subject_types: Vec<String>,
}

/// Words of a default that only says that every case is there.
const NEVER: &[&str] = &["never", "Never"];

/// Returns the switches of a file that name each of their cases and have no default.
pub(crate) fn switches(language: Language, tree: &Tree, text: &str) -> Vec<Switch> {
    let reader = Reader { language, text };
    let (mut found, mut declared) = (Vec::new(), BTreeMap::new());
    each(tree, &mut |node| {
        reader.note_type(node, &mut declared);
        found.extend(reader.switch(node).filter(|_| !node.has_error()));
    });
    let found = found.into_iter().map(|(subject, switch)| Switch {
        subject_types: declared.get(subject).cloned().unwrap_or_default(),
        ..switch
    });
    found.collect()
}

impl<'t> Reader<'t> {
    /// Returns a switch with the name that it looks at.
    fn switch(&self, node: Node<'t>) -> Option<(&'t str, Switch)> {
        use Language::{CSharp, Go, Java, JavaScript, Php, Python, Rust, Tsx, TypeScript};
        let body = match (self.language, node.word()) {
            (Go, "expression_switch_statement") | (CSharp, "switch_expression") => node,
            (CSharp | JavaScript | Php | Tsx | TypeScript, "switch_statement")
            | (Java, "switch_expression")
            | (Php | Rust, "match_expression")
            | (Python, "match_statement") => node.field("body")?,
            _ => return None,
        };
        let subject = ["value", "condition", "subject"].iter().find_map(|field| node.field(field));
        let subject = subject.map(|subject| self.text_of(subject)).unwrap_or_default();
        let subject = subject.trim_matches(['(', ')', ' ']).trim_start_matches("this.");
        let (mut places, mut labels) = (Vec::new(), Vec::new());
        for arm in parts(body) {
            for label in self.labels(arm)? {
                labels.push(label_of(self.language, self.text_of(label))?);
                places.push(span(label));
            }
        }
        if self.fails_behind(node) {
            return None;
        }
        Some((subject, Switch { place: *places.first()?, labels, subject_types: Vec::new() }))
    }

    /// Returns whether the statement behind a switch fails, which is what its default would do.
    fn fails_behind(&self, switch: Node<'t>) -> bool {
        const FAILURES: &[&str] = &["assert_never(", "panic(", "raise", "throw", "unreachable"];
        let is_whole = switch.parent().is_some_and(|around| around.word() == "expression_statement");
        let statement = if is_whole { switch.parent() } else { Some(switch) };
        let next = statement.and_then(|statement| statement.next_named_sibling());
        next.is_some_and(|next| FAILURES.iter().any(|word| self.text_of(next).starts_with(word)))
    }

    /// Returns the labels of an arm; `None` where it takes what has no arm, or only some of its values.
    fn labels(&self, arm: Node<'t>) -> Option<Vec<Node<'t>>> {
        match arm.word() {
            "expression_case" => Some(parts(arm.field("value")?)),
            "switch_case" | "case_statement" => Some(vec![arm.field("value")?]),
            "switch_default" => {
                let text = self.text_of(arm);
                NEVER.iter().any(|word| text.contains(word)).then(Vec::new)
            }
            "match_conditional_expression" => Some(parts(arm.field("conditional_expressions")?)),
            "switch_block_statement_group" | "switch_rule" => {
                let labels = parts(arm).into_iter().filter(|part| part.word() == "switch_label");
                let mut all = Vec::new();
                for label in labels {
                    let inside = parts(label);
                    if inside.is_empty()
                        || inside.iter().any(|part| matches!(part.word(), "guard" | "pattern"))
                    {
                        return None;
                    }
                    all.extend(inside);
                }
                Some(all)
            }
            "match_arm" => {
                let pattern = arm.field("pattern").filter(|pattern| pattern.field("condition").is_none())?;
                Some(alternatives(pattern.named_child(0)?))
            }
            "case_clause" => self.python_labels(arm),
            "switch_section" | "switch_expression_arm" => {
                let inside = parts(arm);
                let is_partial = inside.iter().any(|part| part.word() == "when_clause");
                let is_default = self.text_of(arm).starts_with("default");
                let first = inside.first().filter(|_| !is_partial && !is_default)?;
                Some(vec![*first])
            }
            "default_case" | "default_statement" | "match_default_expression" => None,
            // The value that a switch of C# looks at.
            _ => Some(Vec::new()),
        }
    }

    fn python_labels(&self, arm: Node<'t>) -> Option<Vec<Node<'t>>> {
        if arm.field("guard").is_some() {
            return None;
        }
        let patterns: Vec<Node<'t>> =
            parts(arm).into_iter().filter(|part| part.word() == "case_pattern").collect();
        if patterns.len() == 1 && self.text_of(patterns[0]) == "_" {
            let body = self.field_of(arm, "consequence");
            return body.contains("assert_never").then(Vec::new);
        }
        let inside = patterns.into_iter().flat_map(|pattern| match pattern.named_child(0) {
            Some(inner) if inner.word() == "union_pattern" => parts(inner),
            Some(inner) => vec![inner],
            None => vec![pattern],
        });
        Some(inside.collect())
    }

    /// Notes the declared type of a variable.
    fn note_type(&self, node: Node<'t>, declared: &mut BTreeMap<&'t str, Vec<String>>) {
        let (name, kind) = match (self.language, node.word()) {
            (Language::Tsx | Language::TypeScript, "optional_parameter" | "required_parameter") => {
                (node.field("pattern"), node.field("type"))
            }
            (
                Language::Tsx | Language::TypeScript,
                "property_signature" | "public_field_definition" | "variable_declarator",
            )
            | (Language::Java, "enhanced_for_statement" | "formal_parameter") => {
                (node.field("name"), node.field("type"))
            }
            (Language::Java, "field_declaration" | "local_variable_declaration") => {
                let name = node.field("declarator").and_then(|declarator| declarator.field("name"));
                (name, node.field("type"))
            }
            _ => return,
        };
        let Some(name) = name else { return };
        // A variable without a type has an unknown one.
        let kind = kind.map(|kind| self.text_of(kind)).unwrap_or_default();
        let kind = kind.trim_start_matches(':').trim().to_owned();
        declared.entry(self.text_of(name)).or_default().push(kind);
    }
}

/// Returns the alternatives of a pattern of Rust.
fn alternatives<'t>(pattern: Node<'t>) -> Vec<Node<'t>> {
    let (mut all, mut pending) = (Vec::new(), vec![pattern]);
    while let Some(node) = pending.pop() {
        match node.word() {
            "or_pattern" => pending.extend(parts(node).into_iter().rev()),
            _ => all.push(node),
        }
    }
    all
}

/// Returns the label that a text is; `None` where it may stand for any value, or for a part of one.
fn label_of(language: Language, text: &str) -> Option<Label> {
    let text = text.trim().trim_start_matches('&');
    if let Some(inside) = text.strip_prefix(['"', '\'']) {
        let name = inside.strip_suffix(['"', '\''])?.to_owned();
        return Some(Label { owner: None, name, is_text: true });
    }
    let path = text.split(['(', '{', ' ']).next().unwrap_or(text).trim();
    // A pattern inside of another one takes only some values of that.
    let payload = text[path.len()..].trim();
    let is_whole = payload.chars().all(|sign| sign.is_lowercase() || "(){}_.,: &".contains(sign));
    if !is_whole
        || path.is_empty()
        || !path.chars().all(|sign| sign.is_alphanumeric() || "_.:\\".contains(sign))
    {
        return None;
    }
    let names: Vec<&str> = path.split(['.', ':', '\\']).filter(|name| !name.is_empty()).collect();
    let (name, around) = names.split_last()?;
    let is_bound = around.is_empty() && name.starts_with(|first: char| first.is_lowercase() || first == '_');
    if is_bound && matches!(language, Language::CSharp | Language::Python | Language::Rust) {
        return None;
    }
    let owner = around.last().map(|owner| (*owner).to_owned());
    Some(Label { owner, name: (*name).to_owned(), is_text: false })
}
