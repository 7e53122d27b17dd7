//! Uses of names that belong to other files, as paths from an imported module or from the file's own package.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::CallArguments;
use tree_sitter::{Node, Tree};

use super::super::Language;
use super::super::outline::{Outline, Span};
use super::super::shape::{first_field, parts};
use super::super::walk::span;
use super::bound::bound;
use super::modules::{Binding, bindings, is_import, is_require, rooted};
use super::signatures::arguments;
use crate::nodes::Tabled;
use crate::outlines::MAX_NAME_BYTES;

/// Longest chain of members that is followed.
const LONGEST_CHAIN: usize = 16;
/// Deeper names are not looked at.
const MAX_DEPTH: usize = 1_000;

/// A use of a name.
pub(crate) struct Used {
    /// `None` for the file's own package.
    pub(crate) module: Option<String>,
    pub(crate) path: Vec<String>,
    pub(crate) name_span: Span,
    pub(crate) is_imported: bool,
    pub(crate) is_called: bool,
    pub(crate) arguments: Option<CallArguments>,
}

/// Returns the uses of some words that fail where the names are missing, in the order of the text.
pub(crate) fn uses(
    language: Language,
    tree: &Tree,
    text: &str,
    outline: &Outline,
    words: &BTreeSet<&str>,
) -> Vec<Used> {
    let all = bindings(language, tree, text, outline);
    let mut spelled = words.clone();
    // An import may give a name an alias.
    let aliases =
        all.iter().filter(|binding| binding.path.last().is_some_and(|last| words.contains(last.as_str())));
    spelled.extend(aliases.map(|binding| binding.local.as_str()));
    let places = occurrences(text, &spelled);
    let mut by_local: BTreeMap<&str, Vec<&Binding>> = BTreeMap::new();
    for binding in &all {
        by_local.entry(&binding.local).or_default().push(binding);
    }
    let reader = Reader {
        language,
        text,
        tree,
        bound: OnceCell::new(),
        bindings: by_local,
        has_dot_import: outline.imports.iter().any(|import| import.star),
    };
    let mut uses = reader.imported(&all, words);
    let mut cursor = tree.walk();
    let mut above: Vec<Node<'_>> = Vec::new();
    loop {
        let node = cursor.node();
        let is_left_out = !has_one(&places, span(node))
            || node.is_error()
            || matches!(
                node.word(),
                "token_tree" | "attribute_item" | "import_statement" | "import_from_statement"
            )
            || matches!(node.word(), "import_declaration" | "use_declaration" | "export_specifier");
        if !is_left_out && node.child_count() == 0 && node.is_named() && spelled.contains(span(node).of(text))
        {
            let used = reader.used(node, &above);
            uses.extend(
                used.filter(|used| used.path.last().is_some_and(|last| words.contains(last.as_str()))),
            );
        }
        if !is_left_out && cursor.goto_first_child() {
            above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                uses.retain(|used| !outline.broken.iter().any(|broken| broken.touches(used.name_span)));
                uses.sort_by_key(|used| used.name_span);
                return uses;
            }
            above.pop();
        }
    }
}

/// Returns the places of some words in a text, in its order.
fn occurrences(text: &str, words: &BTreeSet<&str>) -> Vec<Span> {
    let mut places = Vec::new();
    let (plain, other): (Vec<&str>, Vec<&str>) =
        words.iter().copied().partition(|word| word.chars().all(joins));
    if !plain.is_empty() {
        for word in text.split(|character| !joins(character)).filter(|word| words.contains(word)) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            places.push(Span { start, end: start + word.len() });
        }
    }
    for word in other.iter().filter(|word| !word.is_empty()) {
        let found = text.match_indices(word);
        places.extend(found.map(|(start, word)| Span { start, end: start + word.len() }));
    }
    places.sort_unstable();
    places
}

fn joins(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns whether a part of the text has one of some places, which are in order.
fn has_one(places: &[Span], part: Span) -> bool {
    let next = places.partition_point(|place| place.start < part.start);
    places.get(next).is_some_and(|place| place.end <= part.end)
}

struct Reader<'t, 'b> {
    language: Language,
    text: &'t str,
    tree: &'t Tree,
    /// Names that the file binds itself, once one is asked for.
    bound: OnceCell<BTreeSet<&'t str>>,
    bindings: BTreeMap<&'b str, Vec<&'b Binding>>,
    has_dot_import: bool,
}

/// A path of names, with the whole node.
struct Chain<'t, 'a> {
    whole: Node<'t>,
    /// Nodes around the whole, outer ones first.
    above: &'a [Node<'t>],
    names: Vec<&'t str>,
    /// The module that a call at the beginning loads.
    required: Option<&'t str>,
}

impl Chain<'_, '_> {
    fn owned_names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }
}

impl<'t> Reader<'t, '_> {
    /// Returns the imports that a compiler holds to the names of another file.
    fn imported(&self, all: &[Binding], words: &BTreeSet<&str>) -> Vec<Used> {
        if !matches!(self.language, Language::Java | Language::Rust) {
            return Vec::new();
        }
        let firm = all.iter().filter(|binding| binding.is_firm);
        let named =
            firm.filter(|binding| binding.path.last().is_some_and(|last| words.contains(last.as_str())));
        named
            .map(|binding| Used {
                module: Some(binding.module.clone()),
                path: binding.path.clone(),
                name_span: binding.span,
                is_imported: true,
                is_called: false,
                arguments: None,
            })
            .collect()
    }

    fn used(&self, name: Node<'t>, above: &[Node<'t>]) -> Option<Used> {
        if above.len() > MAX_DEPTH {
            return None;
        }
        let chain = self.chain(name, above)?;
        let call = call(&chain);
        if self.is_weak(&chain) {
            return None;
        }
        let is_called = call.is_some();
        let arguments = call.and_then(|call| call.field("arguments"));
        let arguments = match (arguments, call) {
            (Some(list), _) => arguments_of(self, list),
            // `new Name` of JavaScript.
            (None, Some(_)) => Some(CallArguments::default()),
            (None, None) => None,
        };
        let (module, path, is_imported) = self.resolve(&chain)?;
        Some(Used { module, path, name_span: span(name), is_imported, is_called, arguments })
    }

    /// Returns the module that a chain begins in, the names below it, and whether an import has the last of them.
    fn resolve(&self, chain: &Chain<'t, '_>) -> Option<(Option<String>, Vec<String>, bool)> {
        if let Some(module) = chain.required {
            return Some((Some(module.to_owned()), chain.owned_names(), false));
        }
        let (first, rest) = chain.names.split_first()?;
        if self.language == Language::Rust && matches!(*first, "crate" | "self" | "super") {
            let (module, path) = rooted(chain.owned_names(), inline_modules(chain))?;
            return Some((Some(module), path, false));
        }
        let Some(bindings) = self.bindings.get(first) else {
            return self.own(chain).filter(|_| !self.is_bound(first));
        };
        if bindings.iter().any(|binding| !binding.is_firm) || self.is_bound(first) {
            return None;
        }
        if let [binding] = bindings[..]
            && !binding.is_dotted
        {
            let rest = rest.iter().map(|name| (*name).to_owned());
            let path: Vec<String> = binding.path.iter().cloned().chain(rest).collect();
            let is_imported = binding.is_statement && chain.names.len() == 1 && !path.is_empty();
            return Some((Some(binding.module.clone()), path, is_imported));
        }
        dotted(bindings, &chain.names).map(|(module, path)| (Some(module), path, false))
    }

    /// Returns whether the file binds a name itself, by anything but an import.
    fn is_bound(&self, name: &str) -> bool {
        let bound =
            self.bound.get_or_init(|| bound(self.tree, self.text, &|node| is_import(node, self.text)));
        bound.contains(name)
    }

    /// Returns a name that neither the file nor an import binds, in languages where it is one of the same package.
    fn own(&self, chain: &Chain<'t, '_>) -> Option<(Option<String>, Vec<String>, bool)> {
        let names = chain.owned_names();
        match self.language {
            Language::Go if !self.has_dot_import => Some((None, names, false)),
            Language::Java => Some((None, names, false)),
            Language::Rust if names.len() > 1 && inline_modules(chain) == 0 => {
                Some((Some("self".to_owned()), names, false))
            }
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust
            | Language::Tsx
            | Language::TypeScript => None,
        }
    }

    /// Returns the chain that ends in a name, or `None` where the name is no use or hangs on any object.
    fn chain<'a>(&self, name: Node<'t>, above: &'a [Node<'t>]) -> Option<Chain<'t, 'a>> {
        let (parent, outer) = above.split_last()?;
        let parent = *parent;
        let own = span(name).of(self.text);
        if let Some(object) = object_of(parent, name) {
            let (mut names, required) = self.flat(object, 0)?;
            names.push(own);
            return Some(Chain { whole: parent, above: outer, names, required });
        }
        let is_plain =
            matches!(name.word(), "identifier" | "type_identifier" | "shorthand_property_identifier");
        let is_other = match parent.word() {
            "keyword_argument" => parent.field("name") == Some(name),
            "method_invocation" | "method_declaration" | "element_value_pair" | "labeled_statement" => true,
            // A field of a struct, or a constant that is a key.
            "literal_element" => outer
                .last()
                .is_some_and(|pair| pair.word() == "keyed_element" && pair.named_child(0) == Some(parent)),
            "method_reference" => parent.named_child(0) != Some(name),
            _ => false,
        };
        (is_plain && !is_other).then(|| Chain { whole: name, above, names: vec![own], required: None })
    }

    /// Returns the names of a chain, and the module that a call loads at its beginning.
    fn flat(&self, node: Node<'t>, depth: usize) -> Option<(Vec<&'t str>, Option<&'t str>)> {
        if depth > LONGEST_CHAIN {
            return None;
        }
        if is_require(node, self.text) {
            let list = node.field("arguments")?;
            let [module] = parts(list)[..] else { return None };
            let module = span(module).of(self.text).trim_matches(['"', '\'', '`']);
            return (module.len() <= MAX_NAME_BYTES).then(|| (Vec::new(), Some(module)));
        }
        if node.child_count() == 0 {
            let is_name = node.is_named() && !matches!(node.word(), "this" | "string");
            return is_name.then(|| (vec![span(node).of(self.text)], None));
        }
        if matches!(node.word(), "self" | "crate" | "super") {
            return Some((vec![span(node).of(self.text)], None));
        }
        if node.word() == "generic_type" {
            return self.flat(node.named_child(0)?, depth + 1);
        }
        let last = parts(node).last().copied();
        let name = first_field(node, &["property", "attribute", "field", "name"]).or(last)?;
        let object = object_of(node, name)?;
        let (mut names, required) = self.flat(object, depth + 1)?;
        names.push(span(name).of(self.text));
        Some((names, required))
    }

    /// Returns whether a use is meant to fail, or only happens where the name is there.
    fn is_weak(&self, chain: &Chain<'t, '_>) -> bool {
        const TRIES: &[&str] =
            &["raises", "Raises", "throws", "Throws", "toThrow", "rejects", "suppress", "catch_unwind"];
        let whole = chain.whole;
        let own = span(whole).of(self.text);
        let line_start = self.text[..whole.start_byte()].rfind('\n').map_or(0, |at| at + 1);
        let above = self.text[..line_start].trim_end().rsplit('\n').next().unwrap_or_default();
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let is_excused = ["type: ignore", "no-member", "ts-expect-error", "ts-ignore"]
            .iter()
            .any(|word| line.contains(word) || above.contains(word) && word.starts_with("ts-"));
        let mut node = whole;
        let mut around = chain.above;
        while let Some((parent, outer)) = around.split_last() {
            let parent = *parent;
            let is_weak = match parent.word() {
                "assignment" | "assignment_expression" | "augmented_assignment" => {
                    parent.field("left") == Some(node)
                }
                "delete_statement" => true,
                "unary_expression" => span(parent).of(self.text).starts_with("typeof"),
                "try_statement" => parent.field("body") == Some(node) && self.catches(parent),
                // What is done for another version of the name.
                "except_clause" => self.is_caught(parent, &["AttributeError", "ImportError", "TypeError"]),
                "if_statement" | "ternary_expression" => self.tests(parent.field("condition"), node, own),
                "conditional_expression" => {
                    self.tests(parent.field("condition"), node, own)
                        || span(parent).of(self.text).contains("hasattr")
                }
                "binary_expression" | "boolean_operator" => self.tests(parent.field("left"), node, own),
                "with_statement" => {
                    let head = span(parent).of(self.text).split(':').next().unwrap_or_default();
                    TRIES.iter().any(|word| head.contains(word))
                }
                "call" | "call_expression" | "method_invocation" => {
                    let callee =
                        first_field(parent, &["function", "name"]).map(|callee| span(callee).of(self.text));
                    let is_in_arguments = parent.field("arguments") == Some(node);
                    is_in_arguments
                        && callee.is_some_and(|callee| TRIES.iter().any(|word| callee.contains(word)))
                        || outer
                            .last()
                            .and_then(|outer| first_field(*outer, &["property", "name", "attribute"]))
                            .is_some_and(|name| {
                                TRIES.iter().any(|word| span(name).of(self.text).contains(word))
                            })
                }
                _ => false,
            };
            if is_weak {
                return true;
            }
            (node, around) = (parent, outer);
        }
        is_excused
    }

    /// Returns whether a condition, of which a use is no part, asks if the name is there.
    fn tests(&self, condition: Option<Node<'t>>, used: Node<'t>, own: &str) -> bool {
        condition.filter(|condition| *condition != used).is_some_and(|condition| {
            let text = span(condition).of(self.text);
            text.contains(own) || text.contains("hasattr") || text.contains("version_info")
        })
    }

    /// Returns a clause up to its colon.
    fn head_of(&self, clause: Node<'t>) -> &'t str {
        span(clause).of(self.text).split(':').next().unwrap_or_default()
    }

    /// Returns whether a clause of Python names one of some errors.
    fn is_caught(&self, clause: Node<'t>, errors: &[&str]) -> bool {
        errors.iter().any(|error| self.head_of(clause).contains(error))
    }

    /// Returns whether a `try` catches what a missing name raises.
    fn catches(&self, tried: Node<'t>) -> bool {
        const ERRORS: &[&str] = &["AttributeError", "Exception", "ImportError", "NameError", "TypeError"];
        match self.language {
            Language::Python => {
                let mut clauses = parts(tried).into_iter().filter(|part| part.word() == "except_clause");
                clauses
                    .any(|clause| self.head_of(clause).trim() == "except" || self.is_caught(clause, ERRORS))
            }
            Language::JavaScript | Language::Tsx | Language::TypeScript => true,
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::Java
            | Language::Kotlin
            | Language::Php
            | Language::Ruby
            | Language::Rust => false,
        }
    }
}

/// Returns the call whose function is a chain.
fn call<'t>(chain: &Chain<'t, '_>) -> Option<Node<'t>> {
    let mut function = chain.whole;
    if function.word() == "method_invocation" {
        return Some(function);
    }
    let (parent, outer) = chain.above.split_last()?;
    let mut parent = *parent;
    if matches!(parent.word(), "generic_function" | "generic_type") {
        (function, parent) = (parent, *outer.last()?);
    }
    let is_call = match parent.word() {
        "call" | "call_expression" => {
            parent.field("function") == Some(function) && parent.field("optional_chain").is_none()
        }
        "new_expression" => parent.field("constructor") == Some(function),
        "object_creation_expression" => {
            parent.field("type") == Some(function)
                && parts(parent).iter().all(|part| part.word() != "class_body")
        }
        _ => false,
    };
    is_call.then_some(parent)
}

/// Returns the number of modules with a body around a chain.
fn inline_modules(chain: &Chain<'_, '_>) -> usize {
    chain.above.iter().filter(|node| node.word() == "mod_item").count()
}

fn arguments_of(reader: &Reader<'_, '_>, list: Node<'_>) -> Option<CallArguments> {
    // Python passes a generator without parentheses of its own: `f(x for x in y)`.
    if list.word() == "generator_expression" {
        return Some(CallArguments { positional: 1, named: Vec::new() });
    }
    arguments(reader.language, reader.text, list)
}

/// Returns the object that a name is a member of by a node.
fn object_of<'t>(member: Node<'t>, name: Node<'t>) -> Option<Node<'t>> {
    let (object, own) = match member.word() {
        "attribute" => ("object", "attribute"),
        "member_expression" => ("object", "property"),
        "selector_expression" => ("operand", "field"),
        "field_access" => ("object", "field"),
        "method_invocation" => ("object", "name"),
        "scoped_identifier" if member.field("path").is_some() => ("path", "name"),
        "scoped_identifier" => ("scope", "name"),
        "scoped_type_identifier" if member.field("name").is_some() => ("path", "name"),
        "qualified_type" => ("package", "name"),
        "nested_type_identifier" => ("module", "name"),
        "scoped_type_identifier" | "method_reference" => {
            return match parts(member)[..] {
                [object, own] if own == name => Some(object),
                _ => None,
            };
        }
        _ => return None,
    };
    (member.field(own) == Some(name)).then(|| member.field(object)).flatten()
}

/// Resolves a chain by imports such as `import a.b`, of which the longest counts that the chain begins with.
fn dotted(bindings: &[&Binding], names: &[&str]) -> Option<(String, Vec<String>)> {
    let mut best = 1;
    for binding in bindings {
        if !binding.is_dotted {
            return None;
        }
        let shared = binding.module.split('.').zip(names).take_while(|(left, right)| left == *right).count();
        best = best.max(shared);
    }
    let (module, path) = names.split_at_checked(best)?;
    (!path.is_empty()).then(|| (module.join("."), path.iter().map(|name| (*name).to_owned()).collect()))
}
