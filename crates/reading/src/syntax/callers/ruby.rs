//! Modules of Ruby with the methods that are called by their constant, and such calls.

use std::collections::BTreeSet;

use crate::tree::{Node, Tree};
use qa_contracts::v1::{CallArguments, DefinitionKind, Parameter, Passing, Signature};

use super::super::shape::parts;
use super::super::walk::span;
use super::definitions::Defined;
use super::uses::Used;
use crate::outlines::MAX_NAME_BYTES;
use crate::work;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;
/// Words of a body that gives a module methods under names that it may not write.
const DYNAMIC: &[&str] = &[
    "ClassMethods",
    "attr_accessor",
    "attr_reader",
    "class_eval",
    "class_methods",
    "const_missing",
    "def_delegator",
    "define_method",
    "define_singleton_method",
    "delegate",
    "extend",
    "include",
    "instance_eval",
    "instance_variable",
    "method_missing",
    "prepend",
    "send",
    "singleton_class",
];

/// Returns the modules and classes of a file by their full names, and their methods that are called on the constant: those
/// of `self`, and `new` by the parameters of `initialize`.
pub(crate) fn definitions(tree: &Tree, text: &str) -> Vec<Defined> {
    let mut reader = Definitions { text, found: Vec::new() };
    reader.gather(tree.root_node(), "", false, 0);
    reader.found
}

struct Definitions<'t> {
    text: &'t str,
    found: Vec<Defined>,
}

impl<'t> Definitions<'t> {
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn gather(&mut self, node: Node<'t>, owner: &str, is_singleton: bool, depth: usize) {
        if depth > MAX_DEPTH || node.has_error() {
            return;
        }
        match node.word() {
            "program" | "body_statement" => {
                for child in node.named_children() {
                    self.gather(child, owner, is_singleton, depth + 1);
                }
            }
            "class" | "module" => self.module(node, owner, depth),
            "singleton_class" => {
                let is_own = node.field("value").is_some_and(|value| value.word() == "self");
                if let Some(body) = node.field("body").filter(|_| is_own) {
                    self.gather(body, owner, true, depth + 1);
                }
            }
            "singleton_method" if node.field("object").is_some_and(|object| object.word() == "self") => {
                self.method(node, owner, None);
            }
            "method" if is_singleton => self.method(node, owner, None),
            "method" if node.field("name").is_some_and(|name| self.text_of(name) == "initialize") => {
                self.method(node, owner, Some("new"));
            }
            _ => {}
        }
    }

    fn module(&mut self, node: Node<'t>, owner: &str, depth: usize) {
        let Some(name) = node.field("name") else { return };
        let written = self.text_of(name);
        let path = match written.strip_prefix("::") {
            Some(rooted) => rooted.to_owned(),
            None => joined(owner, written),
        };
        let body = node.field("body");
        let is_dynamic = body.is_some_and(|body| {
            let text = self.text_of(body);
            DYNAMIC.iter().any(|word| text.contains(word))
        });
        self.found.push(Defined {
            name: path.clone(),
            name_span: span(name),
            owner: None,
            kind: DefinitionKind::Type,
            public: true,
            hidden: false,
            is_static: false,
            open: is_dynamic || node.field("superclass").is_some(),
            signature: None,
        });
        if let Some(body) = body {
            self.gather(body, &path, false, depth + 1);
        }
    }

    fn method(&mut self, node: Node<'t>, owner: &str, called: Option<&str>) {
        let Some(name) = node.field("name").filter(|_| !owner.is_empty()) else { return };
        if owner.len() > MAX_NAME_BYTES || self.text_of(name).len() > MAX_NAME_BYTES {
            return;
        }
        let signature = match node.field("parameters") {
            Some(list) => signature(self.text, list),
            None => Some(Signature { any_named: true, ..Signature::default() }),
        };
        self.found.push(Defined {
            name: called.unwrap_or(self.text_of(name)).to_owned(),
            name_span: span(name),
            owner: Some(owner.to_owned()),
            kind: DefinitionKind::Function,
            public: true,
            hidden: false,
            is_static: false,
            open: false,
            signature,
        });
    }
}

fn joined(owner: &str, name: &str) -> String {
    if owner.is_empty() { name.to_owned() } else { format!("{owner}::{name}") }
}

/// Returns the parameters of a method; `None` where a required one stands behind an optional one, which is filled first.
fn signature(text: &str, list: Node<'_>) -> Option<Signature> {
    let mut signature = Signature::default();
    let (mut has_optional, mut has_named) = (false, false);
    for node in parts(list) {
        let name = node.field("name").map(|name| span(name).of(text)).unwrap_or_default();
        let (name, optional, passing) = match node.word() {
            "identifier" if has_optional => return None,
            "identifier" => (span(node).of(text), false, Passing::Position),
            "optional_parameter" => (name, true, Passing::Position),
            "keyword_parameter" => (name, node.field("value").is_some(), Passing::Name),
            "splat_parameter" => {
                signature.any_positional = true;
                has_optional = true;
                continue;
            }
            "hash_splat_parameter" => {
                signature.any_named = true;
                continue;
            }
            "block_parameter" => continue,
            _ => return None,
        };
        has_optional |= optional && passing == Passing::Position;
        has_named |= passing == Passing::Name;
        signature.parameters.push(Parameter { name: name.to_owned(), optional, passing });
    }
    // Without keywords of its own a method gets those of a call as one hash.
    signature.any_named |= !has_named;
    Some(signature)
}

/// Returns the calls of methods of some names on constants, in the order of the text; the module is the full name of the
/// one around the call.
pub(crate) fn uses(tree: &Tree, text: &str, words: &BTreeSet<&str>) -> Vec<Used> {
    let mut reader = Uses { text, words, asked: asked_names(text), found: Vec::new() };
    reader.gather(tree.root_node(), "", 0);
    reader.found
}

/// Returns the names of the methods that a text asks for before it calls them.
fn asked_names(text: &str) -> BTreeSet<&str> {
    const QUESTION: &str = "respond_to?(:";
    let places = text.match_indices(QUESTION).map(|(at, _)| &text[at + QUESTION.len()..]);
    let names = places.map(|behind| {
        work::count();
        let is_end = |sign: char| !sign.is_alphanumeric() && !"_?!=".contains(sign);
        behind.split(is_end).next().unwrap_or_default()
    });
    names.collect()
}

/// Returns whether a `rescue`, given by its line, names the error of a missing method. One of everything hides the loss.
fn names_missing_method(head: &str) -> bool {
    let listed = head.trim_start_matches("rescue").split("=>").next().unwrap_or_default();
    listed.split([',', ' ']).any(|name| matches!(name, "NameError" | "NoMethodError"))
}

struct Uses<'t, 'w> {
    text: &'t str,
    words: &'w BTreeSet<&'w str>,
    /// Methods that are called only where they are there.
    asked: BTreeSet<&'t str>,
    found: Vec<Used>,
}

impl<'t> Uses<'t, '_> {
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    fn gather(&mut self, node: Node<'t>, nesting: &str, depth: usize) {
        if depth > MAX_DEPTH || self.asks_for_failure(node) {
            return;
        }
        let mut inside = nesting.to_owned();
        if matches!(node.word(), "class" | "module")
            && let Some(name) = node.field("name")
        {
            inside = joined(nesting, self.text_of(name).trim_start_matches("::"));
        }
        if node.word() == "call" {
            let used = self.used(node, nesting);
            self.found.extend(used);
        }
        let is_caught = node.named_children().any(|child| {
            let head = self.text_of(child).lines().next().unwrap_or_default();
            child.word() == "rescue" && names_missing_method(head)
        });
        for child in node.named_children() {
            // What handles the error fails by itself.
            if !is_caught || matches!(child.word(), "else" | "ensure" | "rescue") {
                self.gather(child, &inside, depth + 1);
            }
        }
    }

    /// Returns whether a call is a test that asks for a failure.
    fn asks_for_failure(&self, node: Node<'t>) -> bool {
        if node.word() != "call" {
            return false;
        }
        let name = node.field("method").map(|name| self.text_of(name)).unwrap_or_default();
        let given = node.field("arguments").map(|given| self.text_of(given)).unwrap_or_default();
        matches!(name, "assert_raise" | "assert_raises") || name == "to" && given.contains("raise_error")
    }

    fn used(&self, call: Node<'t>, nesting: &str) -> Option<Used> {
        let (receiver, method) = (call.field("receiver")?, call.field("method")?);
        let name = self.text_of(method);
        let is_constant = matches!(receiver.word(), "constant" | "scope_resolution")
            && self.text_of(receiver).split("::").all(|part| part.is_empty() || is_constant_name(part));
        if !is_constant || !self.words.contains(name) || call.has_error() {
            return None;
        }
        if self.asked.contains(name) {
            return None;
        }
        let written = self.text_of(receiver);
        let rooted = written.strip_prefix("::");
        let module = (rooted.is_none() && !nesting.is_empty()).then(|| nesting.to_owned());
        let mut path: Vec<String> = rooted.unwrap_or(written).split("::").map(str::to_owned).collect();
        path.push(name.to_owned());
        Some(Used {
            module,
            path,
            name_span: span(method),
            is_imported: false,
            is_called: true,
            is_of_object: false,
            arguments: match call.field("arguments") {
                Some(list) => self.arguments(list),
                None => Some(CallArguments::default()),
            },
        })
    }

    /// Returns the arguments of a call; `None` where one may stand for several.
    fn arguments(&self, list: Node<'t>) -> Option<CallArguments> {
        let mut arguments = CallArguments::default();
        for node in parts(list) {
            match node.word() {
                "block_argument" => {}
                "pair" => {
                    let key = node.field("key").filter(|key| key.word() == "hash_key_symbol")?;
                    arguments.named.push(self.text_of(key).to_owned());
                }
                "forward_argument" | "hash_splat_argument" | "splat_argument" => return None,
                _ => arguments.positional += 1,
            }
        }
        Some(arguments)
    }
}

fn is_constant_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::super::super::{Language, parse_tree_once};
    use super::uses;
    use crate::work::counted;

    /// Returns the number of looks that the uses of a text with that many calls and questions take.
    #[cfg(debug_assertions)]
    fn work(size: usize) -> usize {
        let text: String = (0..size)
            .map(|at| format!("Cart.add{at}(1) if Cart.respond_to?(:ad{at})\nCart.total\n"))
            .collect();
        let tree = parse_tree_once(Language::Ruby, &text).unwrap();
        let begin = counted();
        assert_eq!(uses(&tree, &text, &["total"].into()).len(), size);
        counted() - begin
    }

    #[test]
    #[cfg(debug_assertions)]
    fn questions_for_methods_are_read_once_and_not_for_each_call() {
        let [once, twice] = [200, 400].map(work);
        assert!(once >= 200, "questions are not counted: {once}");
        assert!(twice <= once * 9 / 4, "{once} {twice}");
    }

    #[test]
    fn a_call_behind_a_question_for_its_own_name_is_left_out() {
        let text = "Cart.total if Cart.respond_to?(:total)\nCart.sum if Cart.respond_to?(:summary)\n";
        let tree = parse_tree_once(Language::Ruby, text).unwrap();
        let found = uses(&tree, text, &["sum", "total"].into());
        assert_eq!(found.iter().map(|used| used.path.join(".")).collect::<Vec<_>>(), ["Cart.sum"]);
    }
}
