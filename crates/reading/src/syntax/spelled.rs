//! Names, calls, assignments and options in one spelling: without blanks, comments, aliases and computed members.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Language;
use super::outline::Span;
use super::runs::sets_by_arguments;
pub(super) use super::shape::{Callee, Shape, first_field, parts, shape};
use super::walk::span;
use crate::escapes::unescaped;
use crate::tree::Node;

/// Deeper nodes are not looked at.
pub(super) const MAX_DEPTH: usize = 60;

/// A name, call, assignment or option in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled {
    pub form: Form,
    /// Names joined by dots, with `()` behind those that are called on the way: `test.info().skip`.
    pub path: String,
    /// Arguments of a call, the value of an assignment or of an option; `None` for a mere name, and for a call or an
    /// assignment whose arguments nobody asks for.
    pub arguments: Option<Vec<Argument>>,
    /// The place of the path.
    pub span: Span,
}

/// Modules of JavaScript whose members are the words of a framework.
pub(super) const FRAMEWORKS: &[&str] = &["@jest/globals", "bun:test", "mocha", "vitest"];

/// Role of a name or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A decorator, attribute, annotation, the callee of a test, or a call on a test.
    Mark,
    /// A call that runs with the statement.
    Run,
    Assigned,
    Deleted,
    /// A named option of a test.
    Option,
}

/// An argument with its name; the name is empty where it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    pub value: Value,
}

/// Properties of an expression that follow from its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    /// Truth value, where it is the same in every run.
    pub constant: Option<bool>,
    /// Set for a condition about the platform or the version of the language and nothing else.
    pub is_platform: bool,
    /// Set where a variable of the environment decides.
    pub reads_environment: bool,
    /// Set for a list that leaves out members of another.
    pub is_filtered: bool,
    /// Value of a string.
    pub text: Option<String>,
    /// Dotted name of a name or of a called function; empty for anything else.
    pub path: String,
}

/// Meaning of a name that the top of a file imports or sets once.
#[derive(Debug, Clone, Default)]
pub(super) struct Meaning {
    pub(super) path: Option<String>,
    arguments: Option<Vec<Argument>>,
    pub(super) value: Value,
    /// Marks of a list, or the one that it is.
    marks: Vec<Spelled>,
    /// Members of an object.
    options: Vec<Spelled>,
}

/// Returns whether the arguments of a path matter that is called, or the value that it is set to. All paths that end in
/// the same name have the same answer. To spell arguments costs more than all else about a statement.
pub type Asks = fn(Language, Form, &str) -> bool;

/// Spells the nodes of one text.
pub(super) struct Speller<'t> {
    pub(super) language: Language,
    pub(super) asks: Asks,
    pub(super) text: &'t str,
    pub(super) names: BTreeMap<&'t str, Meaning>,
    pub(super) paths: Paths,
}

/// Paths that are spelled already: of a chain of calls, each call is asked about.
#[derive(Default)]
pub(super) struct Paths {
    /// By the number of the node, with the depth at which it was spelled.
    known: RefCell<BTreeMap<u32, (usize, Option<String>)>>,
    /// Set where something was too deep to be looked at, so that what is around it depends on its own depth.
    is_cut: Cell<bool>,
}

impl Paths {
    fn get(&self, node: Node<'_>, depth: usize) -> Option<Option<String>> {
        let known = self.known.borrow();
        let (spelled_at, path) = known.get(&node.id())?;
        (depth <= *spelled_at).then(|| path.clone())
    }

    fn insert(&self, node: Node<'_>, depth: usize, path: &Option<String>) {
        if !self.is_cut.get() {
            self.known.borrow_mut().insert(node.id(), (depth, path.clone()));
        }
    }

    /// Notes that something is too deep to be looked at.
    pub(super) fn cut(&self) {
        self.is_cut.set(true);
    }
}

impl<'t> Speller<'t> {
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    pub(super) fn word(&self, node: Node<'_>) -> String {
        let text: String = self.text_of(node).split_whitespace().collect();
        let text = text.trim_start_matches(['\\', '#', '@']).trim_matches('`');
        let text = text.replace("::", ".").replace('\\', ".");
        text.split('<').next().unwrap_or_default().to_owned()
    }

    /// Returns the dotted name of a node.
    pub(super) fn path(&self, node: Node<'_>) -> Option<String> {
        self.path_within(node, 0)
    }

    fn path_within(&self, node: Node<'_>, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            self.paths.cut();
            return None;
        }
        if node.child_count() == 0 {
            return self.path_anew(node, depth);
        }
        self.paths.get(node, depth).unwrap_or_else(|| {
            let path = self.path_anew(node, depth);
            self.paths.insert(node, depth, &path);
            path
        })
    }

    fn path_anew(&self, node: Node<'_>, depth: usize) -> Option<String> {
        match shape(node) {
            Shape::Name => {
                let name = escapes_resolved(&self.word(node));
                let known = self.names.get(name.as_str()).and_then(|meaning| meaning.path.clone());
                Some(known.unwrap_or(name))
            }
            Shape::Member(object, name) => {
                let word = escapes_resolved(&self.word(name));
                Some(self.member(object, &word, depth))
            }
            Shape::Index(object, index) => {
                let word = self.string(index).unwrap_or_else(|| format!("[{}]", self.word(index)));
                let path = self.member(object, &word, depth).replace(".[", "[");
                // The names of a module are those of its dictionary.
                let own =
                    ["globals().", "locals().", "vars()."].iter().find_map(|all| path.strip_prefix(all));
                Some(own.map(str::to_owned).unwrap_or(path))
            }
            Shape::Call(callee) => {
                let path = self.callee(&callee, depth)?;
                let is_import = matches!(path.as_str(), "__import__" | "importlib.import_module");
                let module = callee.arguments.filter(|_| is_import).map(parts).unwrap_or_default();
                let module = module.first().and_then(|module| self.string(*module));
                let required = callee.arguments.filter(|_| path == "require").map(parts).unwrap_or_default();
                let required = required.first().and_then(|module| self.string(*module));
                if required.is_some_and(|module| FRAMEWORKS.contains(&module.as_str())) {
                    return Some(String::new());
                }
                Some(module.unwrap_or_else(|| format!("{path}()")))
            }
            Shape::Inside(inner) => self.path_within(inner, depth + 1),
            Shape::Other => match self.chosen(node, depth) {
                Some(chosen) if chosen != node => self.path_within(chosen, depth + 1),
                // A conditional expression is spelled like its shorter branch.
                Some(_) => {
                    let branches = parts(node).into_iter().rev().take(2);
                    let paths = branches.filter_map(|branch| self.path_within(branch, depth + 1));
                    paths.min_by_key(String::len)
                }
                None => None,
            },
        }
    }

    pub(super) fn member(&self, object: Node<'_>, word: &str, depth: usize) -> String {
        let object = self.path_within(object, depth + 1).unwrap_or_else(|| "?".to_owned());
        // A module that is imported as a whole has no part in the name.
        if object.is_empty() { word.to_owned() } else { format!("{object}.{word}") }
    }

    fn callee(&self, callee: &Callee<'_>, depth: usize) -> Option<String> {
        match (callee.of, callee.method) {
            (Some(object), Some(method)) => Some(self.member(object, &self.word(method), depth)),
            (None, Some(method)) => Some(self.word(method)),
            (Some(function), None) => {
                let path = self.path_within(function, depth + 1)?;
                match path.as_str() {
                    "getattr" => Some(self.read_attribute(callee, depth).unwrap_or(path)),
                    _ => Some(path),
                }
            }
            (None, None) => None,
        }
    }

    /// `getattr(object, "name")` of Python is a member.
    fn read_attribute(&self, callee: &Callee<'_>, depth: usize) -> Option<String> {
        let arguments = parts(callee.arguments?);
        let [object, name, ..] = arguments.as_slice() else { return None };
        Some(self.member(*object, &self.string(*name)?, depth))
    }

    /// Returns the value of a string without expressions in it.
    pub(super) fn string(&self, node: Node<'_>) -> Option<String> {
        let kind = node.word();
        if let Shape::Inside(inner) = shape(node) {
            return self.string(inner);
        }
        if kind == "concatenated_string" || kind == "binary_operator" || kind == "binary_expression" {
            let pieces: Option<Vec<String>> = parts(node).into_iter().map(|part| self.string(part)).collect();
            let is_sum = node.field("operator").is_none_or(|sign| self.text_of(sign) == "+");
            return pieces.filter(|_| is_sum).map(|pieces| pieces.concat());
        }
        if !kind.contains("string") || node.named_children().any(|part| part.word().contains("substitution"))
        {
            return None;
        }
        if node.named_children().any(|part| part.word() == "interpolation") {
            return None;
        }
        let text = self.text_of(node);
        let open = text.find(['"', '\'', '`']).filter(|open| *open < 4)?;
        let quoted = text[open..].trim_end_matches('#');
        let marks = if quoted.len() >= 6 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''")) {
            3
        } else {
            1
        };
        let inside = quoted.get(marks..quoted.len().checked_sub(marks)?)?;
        Some(if inside.contains('\\') { unescaped(inside) } else { inside.to_owned() })
    }

    /// Returns the properties of an expression.
    pub(super) fn value(&self, node: Node<'_>) -> Value {
        let name = Some(self.text_of(node)).filter(|_| matches!(shape(node), Shape::Name));
        let known = name.and_then(|name| self.names.get(name)).map(|meaning| meaning.value.clone());
        if let Some(known) = known {
            return known;
        }
        let path =
            if let Shape::Call(callee) = shape(node) { self.callee(&callee, 0) } else { self.path(node) };
        Value {
            constant: self.constant(node),
            is_platform: self.is_platform(node),
            reads_environment: self.reads_environment(node),
            is_filtered: self.is_filtered(node),
            text: self.string(node),
            path: path.unwrap_or_default(),
        }
    }

    fn is_filtered(&self, node: Node<'_>) -> bool {
        let is_comprehension = matches!(node.word(), "list_comprehension" | "generator_expression");
        is_comprehension && node.named_children().any(|child| child.word() == "if_clause")
            || node.word() == "subscript"
            || matches!(node.word(), "call" | "list") && self.text_of(node).contains("filter(")
    }

    /// Returns the arguments in a list of them.
    pub(super) fn arguments(&self, list: Option<Node<'_>>) -> Vec<Argument> {
        let all = list.map(parts).unwrap_or_default();
        all.into_iter().map(|node| self.argument(node)).collect()
    }

    fn argument(&self, node: Node<'_>) -> Argument {
        let name = first_field(node, &["name", "key"]);
        let named = ["keyword_argument", "element_value_pair", "attribute_argument", "argument", "pair"];
        let value = node.field("value").or_else(|| parts(node).last().copied());
        match (named.contains(&node.word()), name, value) {
            (true, Some(name), Some(value)) => Argument { name: self.key(name), value: self.value(value) },
            (true, None, Some(value)) => Argument { name: String::new(), value: self.value(value) },
            _ if node.word() == "value_argument" => match parts(node).as_slice() {
                [name, value] => Argument { name: self.word(*name), value: self.value(*value) },
                [value] => Argument { name: String::new(), value: self.value(*value) },
                _ => Argument::default(),
            },
            _ => Argument { name: String::new(), value: self.value(node) },
        }
    }

    /// Returns the name of an option or of a named argument.
    fn key(&self, node: Node<'_>) -> String {
        let inner = match node.word() {
            "computed_property_name" => parts(node).first().copied().unwrap_or(node),
            _ => node,
        };
        self.string(inner).unwrap_or_else(|| self.word(inner)).trim_matches(':').to_owned()
    }

    /// Returns the path that a node calls, if it is a call.
    pub(super) fn called(&self, node: Node<'_>) -> Option<String> {
        let Shape::Call(callee) = shape(node) else { return None };
        self.callee(&callee, 0)
    }

    /// Spells a call, if a node is one.
    pub(super) fn call(&self, node: Node<'_>, form: Form) -> Option<Spelled> {
        let Shape::Call(callee) = shape(node) else { return None };
        self.call_of(&callee, form)
    }

    pub(super) fn call_of(&self, callee: &Callee<'_>, form: Form) -> Option<Spelled> {
        let path = self.callee(callee, 0)?;
        let start = callee.of.or(callee.method)?.start_byte();
        let end = match (callee.method, callee.of) {
            (Some(method), _) => method.end_byte(),
            (None, Some(of)) => of.end_byte(),
            (None, None) => return None,
        };
        let is_asked =
            form != Form::Run || sets_by_arguments(&path) || (self.asks)(self.language, form, &path);
        let arguments = is_asked.then(|| self.arguments(callee.arguments));
        Some(Spelled { form, path, arguments, span: Span { start, end } })
    }

    /// Spells what marks a definition or makes a test: a name, a call, or a list of them.
    pub(super) fn marks(&self, node: Node<'_>) -> Vec<Spelled> {
        let mut found = Vec::new();
        self.note_marks(node, &mut found, 0);
        found
    }

    fn note_marks(&self, node: Node<'_>, found: &mut Vec<Spelled>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node.word() {
            "annotation"
            | "attribute"
            | "attribute_item"
            | "attribute_list"
            | "inner_attribute_item"
            | "marker_annotation"
            | "attribute_group"
                if self.language != Language::Python =>
            {
                return self.note_attribute(node, found, depth);
            }
            "decorator" | "list" | "tuple" | "expression_list" | "list_splat" => {
                return parts(node).into_iter().for_each(|part| self.note_marks(part, found, depth + 1));
            }
            _ => {}
        }
        match shape(node) {
            Shape::Name => {
                let known = self.names.get(self.text_of(node));
                match known.filter(|known| !known.marks.is_empty()) {
                    Some(known) => found.extend(known.marks.iter().cloned()),
                    None => found.extend(self.named(node, known)),
                }
            }
            Shape::Member(..) | Shape::Index(..) => found.extend(self.named(node, None)),
            Shape::Call(callee) => {
                // The callee's own call may have marks: `it.skipIf(true)('…')`.
                if callee.method.is_none() {
                    let inner = callee.of.filter(|of| matches!(shape(*of), Shape::Call(_)));
                    inner.into_iter().for_each(|inner| self.note_marks(inner, found, depth + 1));
                }
                found.extend(self.call(node, Form::Mark));
            }
            Shape::Inside(inner) => self.note_marks(inner, found, depth + 1),
            Shape::Other => {
                let chosen = self.chosen(node, depth).filter(|chosen| *chosen != node);
                chosen.into_iter().for_each(|chosen| self.note_marks(chosen, found, depth + 1));
            }
        }
    }

    pub(super) fn named(&self, node: Node<'_>, known: Option<&Meaning>) -> Option<Spelled> {
        let arguments = known.and_then(|known| known.arguments.clone());
        Some(Spelled { form: Form::Mark, path: self.path(node)?, arguments, span: span(node) })
    }

    /// Spells an attribute or annotation, or each of a list.
    fn note_attribute(&self, node: Node<'_>, found: &mut Vec<Spelled>, depth: usize) {
        let is_list = matches!(
            node.word(),
            "attribute_item" | "attribute_list" | "inner_attribute_item" | "attribute_group"
        );
        if is_list {
            return parts(node).into_iter().for_each(|part| self.note_marks(part, found, depth + 1));
        }
        if self.language == Language::Rust {
            return found.extend(self.rust_attribute(node));
        }
        let inner = parts(node).into_iter().find(|part| part.word() == "constructor_invocation");
        if let Some(call) = inner {
            return found.extend(self.call(call, Form::Mark));
        }
        let Some(name) = node.field("name").or_else(|| parts(node).first().copied()) else {
            return;
        };
        let list = first_field(node, &["arguments", "parameters"])
            .or_else(|| node.named_children().find(|child| child.word() == "attribute_argument_list"));
        let Some(path) = self.path(name) else { return };
        let arguments = list.map(|list| self.arguments(Some(list)));
        found.push(Spelled { form: Form::Mark, path, arguments, span: span(name) });
    }

    /// Spells every name and call in a table that a mark may be given to a case by.
    pub(super) fn marks_inside(&self, node: Node<'_>) -> Vec<Spelled> {
        let mut found = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            match shape(node) {
                Shape::Name | Shape::Member(..) | Shape::Call(_) => found.extend(self.marks(node)),
                Shape::Index(..) | Shape::Inside(_) | Shape::Other => {}
            }
            if self.language == Language::CSharp && node.word() == "attribute" {
                found.extend(self.marks(node));
            }
            stack.extend(parts(node));
        }
        found
    }

    /// Spells the options that a test is given.
    pub(super) fn options(&self, node: Node<'_>) -> Vec<Spelled> {
        match node.word() {
            "object" => parts(node).into_iter().flat_map(|member| self.options(member)).collect(),
            "pair" | "hash" | "shorthand_property_identifier" | "simple_symbol" | "keyword_argument" => {
                let (key, value) = match (first_field(node, &["key", "name"]), node.field("value")) {
                    (Some(key), Some(value)) => (self.key(key), self.value(value)),
                    _ if node.word() == "simple_symbol" => {
                        (self.key(node), Value { constant: Some(true), ..Value::default() })
                    }
                    _ => (self.word(node), self.value(node)),
                };
                let arguments = Some(vec![Argument { name: String::new(), value }]);
                vec![Spelled { form: Form::Option, path: key, arguments, span: span(node) }]
            }
            "identifier" => {
                let known = self.names.get(self.text_of(node)).map(|meaning| meaning.options.clone());
                let whole = span(node);
                known.into_iter().flatten().map(|option| Spelled { span: whole, ..option }).collect()
            }
            _ => {
                let inner = if let Shape::Inside(inner) = shape(node) { Some(inner) } else { None };
                inner.map(|inner| self.options(inner)).unwrap_or_default()
            }
        }
    }

    /// Notes what a name stands for.
    pub(super) fn note_name(&mut self, name: &'t str, value: Node<'_>) {
        let options = self.options(value);
        let marks = self.marks(value);
        let arguments = self.call(value, Form::Mark).and_then(|call| call.arguments);
        let path = if let Shape::Call(callee) = shape(value) {
            self.callee(&callee, 0).filter(|_| self.language == Language::Python)
        } else {
            self.path(value)
        };
        let meaning = Meaning { path, arguments, value: self.value(value), marks, options };
        self.paths = Paths::default();
        let is_set_again = self.names.contains_key(name);
        self.names.insert(name, meaning);
        if is_set_again && let Some(meaning) = self.names.get_mut(name) {
            meaning.value = Value::default();
        }
    }

    /// Notes another name of a dotted name.
    pub(super) fn note_alias(&mut self, name: &'t str, path: String) {
        self.paths = Paths::default();
        self.names.insert(name, Meaning { path: Some(path), ..Meaning::default() });
    }
}

fn escapes_resolved(name: &str) -> String {
    if name.contains("\\u") || name.contains(".u{") { unescaped(name) } else { name.to_owned() }
}
