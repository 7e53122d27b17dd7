//! Uses of names that belong to other files, as paths from an imported module or from the file's own package.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::names::joins;
use crate::tree::{Node, Tree};
use qa_contracts::v1::CallArguments;

use super::super::Language;
use super::super::outline::{Outline, Span};
use super::super::shape::{first_field, parts};
use super::super::walk::span;
use super::Sought;
use super::bound::bound;
use super::chains::{Chain, arguments_list, call, inline_modules, is_named_in_php, object_of, type_of_key};
use super::expected::Expected;
use super::modules::{Binding, bindings, is_import, is_require, rooted};
use super::receivers::{Receivers, constructed};
use super::signatures::arguments;
use crate::outlines::MAX_NAME_BYTES;

/// Longest chain of members that is followed.
const LONGEST_CHAIN: usize = 16;
/// Deeper names are not looked at.
const MAX_DEPTH: usize = 1_000;

/// Words of a test that puts other objects in the place of real ones.
const REPLACED: &[&str] = &[
    "jest.doMock",
    "jest.mock",
    "mock.module",
    "mock.patch",
    "mocker.patch",
    "monkeypatch",
    "vi.doMock",
    "vi.mock",
];

/// A use of a name.
pub(crate) struct Used {
    /// `None` for the file's own package.
    pub(crate) module: Option<String>,
    pub(crate) path: Vec<String>,
    pub(crate) name_span: Span,
    pub(crate) is_imported: bool,
    pub(crate) is_called: bool,
    /// A member of an object, whose type begins the path.
    pub(crate) is_of_object: bool,
    pub(crate) arguments: Option<CallArguments>,
}

/// Returns the uses of some words that fail where the names are missing, in the order of the text.
pub(crate) fn uses(
    language: Language,
    tree: &Tree,
    text: &str,
    outline: &Outline,
    sought: &Sought<'_>,
) -> Vec<Used> {
    let words = sought.words;
    let all = bindings(language, tree, text, outline);
    let mut spelled = words.clone();
    // An import may give a name an alias.
    let aliases =
        all.iter().filter(|binding| binding.path.last().is_some_and(|last| words.contains(last.as_str())));
    spelled.extend(aliases.map(|binding| binding.local.as_str()));
    let mut places = occurrences(text, &spelled);
    places.retain(|place| {
        let next = sought.on.partition_point(|part| part.end <= place.start);
        sought.on.get(next).is_some_and(|part| part.start <= place.start)
    });
    let mut by_local: BTreeMap<&str, Vec<&Binding>> = BTreeMap::new();
    for binding in &all {
        by_local.entry(&binding.local).or_default().push(binding);
    }
    let reader = Reader {
        language,
        text,
        tree,
        bound: OnceCell::new(),
        assigned: OnceCell::new(),
        is_replaced: OnceCell::new(),
        receivers: Receivers::new(language, text),
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
            || matches!(node.word(), "import_declaration" | "export_specifier")
            || matches!(node.word(), "namespace_use_declaration" | "using_directive")
            || node.word() == "use_declaration" && language == Language::Rust;
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
    /// Members that the file assigns to, with the variable, once one is asked for.
    assigned: OnceCell<BTreeSet<&'t str>>,
    /// Set where the file puts other objects in the place of real ones, once asked.
    is_replaced: OnceCell<bool>,
    receivers: Receivers<'t>,
    bindings: BTreeMap<&'b str, Vec<&'b Binding>>,
    has_dot_import: bool,
}

/// The module that a chain begins in, and the names below it.
struct Resolved {
    module: Option<String>,
    path: Vec<String>,
    /// Set where an import has the last of the names.
    is_imported: bool,
    /// Set for a member of an object, whose type begins the path.
    is_of_object: bool,
}

impl Resolved {
    fn new(module: Option<String>, path: Vec<String>) -> Self {
        Self { module, path, is_imported: false, is_of_object: false }
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
                is_of_object: false,
                arguments: None,
            })
            .collect()
    }

    fn used(&self, name: Node<'t>, above: &[Node<'t>]) -> Option<Used> {
        // Code under a condition of a preprocessor may be left out.
        if above.len() > MAX_DEPTH || above.iter().any(|node| node.word().starts_with("preproc_")) {
            return None;
        }
        let chain = self.chain(name, above)?;
        let call = call(&chain);
        if (Expected { language: self.language, text: self.text }).is_weak(&chain) {
            return None;
        }
        let is_called = call.is_some();
        let arguments = match (call.and_then(arguments_list), call) {
            (Some(list), _) => arguments_of(self, list),
            // `new Name` of JavaScript.
            (None, Some(_)) => Some(CallArguments::default()),
            (None, None) => None,
        };
        let resolved = self.resolve(&chain)?;
        let arguments = arguments.and_then(|given| self.with_receiver(given, &resolved));
        let Resolved { module, path, is_imported, is_of_object } = resolved;
        Some(Used { module, path, name_span: span(name), is_imported, is_called, is_of_object, arguments })
    }

    /// Returns the arguments of a call as the definition counts them, which may have the receiver as its first parameter.
    fn with_receiver(&self, mut given: CallArguments, resolved: &Resolved) -> Option<CallArguments> {
        match self.language {
            Language::Python | Language::Rust => given.positional += u32::from(resolved.is_of_object),
            // `Type.Method` of Go is a function that takes the receiver as well.
            Language::Go if resolved.path.len() > 1 && !resolved.is_of_object => return None,
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::Java
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript => {}
        }
        Some(given)
    }

    fn resolve(&self, chain: &Chain<'t, '_>) -> Option<Resolved> {
        if let Some(module) = chain.required {
            return Some(Resolved::new(Some(module.to_owned()), chain.owned_names()));
        }
        if chain.is_of_new {
            return Some(Resolved { is_imported: false, is_of_object: true, ..self.resolve_path(chain)? });
        }
        match self.of_object(chain) {
            Some(resolved) => Some(resolved),
            None if chain.is_of_value(self.language) => None,
            None => self.resolve_path(chain),
        }
    }

    /// Resolves a member of a variable by the type of that.
    fn of_object(&self, chain: &Chain<'t, '_>) -> Option<Resolved> {
        let [first, member] = chain.names[..] else { return None };
        let is_variable =
            first.starts_with('$') || self.is_bound(first) && !self.bindings.contains_key(first);
        if !is_variable || self.is_assigned(first, member) {
            return None;
        }
        let named = self.receivers.type_of(first, chain.above)?;
        let (names, required) = self.flat(named, 0)?;
        let around = Chain { whole: named, above: chain.above, names, required, is_of_new: false };
        let mut resolved = self.resolve_path(&around).filter(|_| required.is_none())?;
        resolved.path.push(member.to_owned());
        Some(Resolved { is_imported: false, is_of_object: true, ..resolved })
    }

    /// Returns whether a file gives a variable a member of its own, or classes other ones than they have.
    fn is_assigned(&self, variable: &str, member: &str) -> bool {
        let is_dynamic = !matches!(
            self.language,
            Language::CSharp | Language::Go | Language::Java | Language::Php | Language::Rust
        );
        is_dynamic
            && (*self.is_replaced.get_or_init(|| REPLACED.iter().any(|words| self.text.contains(words)))
                || self
                    .assigned
                    .get_or_init(|| assigned(self.text))
                    .contains(format!("{variable}.{member}").as_str()))
    }

    fn resolve_path(&self, chain: &Chain<'t, '_>) -> Option<Resolved> {
        let (first, rest) = chain.names.split_first()?;
        if self.language == Language::Rust && matches!(*first, "crate" | "self" | "super") {
            let (module, path) = rooted(chain.owned_names(), inline_modules(chain))?;
            return Some(Resolved::new(Some(module), path));
        }
        if self.language == Language::Php && first.contains('\\') {
            return self.qualified(first, rest);
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
            return Some(Resolved { is_imported, ..Resolved::new(Some(binding.module.clone()), path) });
        }
        dotted(bindings, &chain.names).map(|(module, path)| Resolved::new(Some(module), path))
    }

    /// Resolves a name of PHP with its namespace, which may begin with an imported name.
    fn qualified(&self, name: &str, rest: &[&str]) -> Option<Resolved> {
        let (module, last) = match name.strip_prefix('\\') {
            Some(whole) => {
                let (module, last) = whole.rsplit_once('\\').unwrap_or(("", whole));
                (module.to_owned(), last)
            }
            None => {
                let (first, below) = name.split_once('\\')?;
                let [binding] = self.bindings.get(first)?[..] else { return None };
                let (inner, last) =
                    below.rsplit_once('\\').map_or((None, below), |(inner, last)| (Some(inner), last));
                let around = [binding.module.as_str(), binding.path.first()?].into_iter().chain(inner);
                let around: Vec<&str> = around.filter(|part| !part.is_empty()).collect();
                (around.join("\\"), last)
            }
        };
        let path = std::iter::once(&last).chain(rest).map(|name| (*name).to_owned()).collect();
        Some(Resolved::new(Some(module), path))
    }

    /// Returns whether the file binds a name itself, by anything but an import.
    fn is_bound(&self, name: &str) -> bool {
        let bound =
            self.bound.get_or_init(|| bound(self.tree, self.text, &|node| is_import(node, self.text)));
        bound.contains(name)
    }

    /// Returns a name that neither the file nor an import binds, in languages where it is one of the same package.
    fn own(&self, chain: &Chain<'t, '_>) -> Option<Resolved> {
        let names = chain.owned_names();
        match self.language {
            Language::Go if !self.has_dot_import => Some(Resolved::new(None, names)),
            Language::CSharp if names.len() > 2 => {
                let (around, path) = names.split_at(names.len() - 2);
                Some(Resolved::new(Some(around.join(".")), path.to_vec()))
            }
            Language::CSharp | Language::Java | Language::Php => Some(Resolved::new(None, names)),
            Language::Rust if names.len() > 1 && inline_modules(chain) == 0 => {
                Some(Resolved::new(Some("self".to_owned()), names))
            }
            Language::C
            | Language::Cpp
            | Language::Go
            | Language::JavaScript
            | Language::Kotlin
            | Language::Python
            | Language::Ruby
            | Language::Rust
            | Language::Tsx
            | Language::TypeScript => None,
        }
    }

    /// Returns the chain that ends in a name, or `None` where the name is no use or hangs on any object.
    fn chain<'a>(&self, name: Node<'t>, above: &'a [Node<'t>]) -> Option<Chain<'t, 'a>> {
        let own = span(name).of(self.text);
        let (mut name, mut above) = (name, above);
        // A name with its type arguments, or with its namespace in PHP, is one name.
        while let Some((parent, outer)) = above.split_last()
            && (parent.word() == "generic_name" && parent.named_child(0) == Some(name)
                || parent.word() == "qualified_name" && self.language == Language::Php)
        {
            (name, above) = (*parent, outer);
        }
        let (parent, outer) = above.split_last()?;
        let parent = *parent;
        if let Some(object) = object_of(parent, name) {
            let made = constructed(self.language, self.text, object);
            let (mut names, required) = self.flat(made.unwrap_or(object), 0)?;
            names.push(own);
            return Some(Chain { whole: parent, above: outer, names, required, is_of_new: made.is_some() });
        }
        if let Some(object) = outer.last().filter(|_| parent.word() == "member_binding_expression") {
            let (mut names, required) = self.flat(object.field("condition")?, 0)?;
            names.push(own);
            let above = &outer[..outer.len() - 1];
            return Some(Chain { whole: *object, above, names, required, is_of_new: false });
        }
        if self.language == Language::Php {
            return is_named_in_php(parent, name).then(|| {
                let names = vec![span(name).of(self.text)];
                Chain { whole: name, above, names, required: None, is_of_new: false }
            });
        }
        if let Some(named) = type_of_key(name, above) {
            let (mut names, required) = self.flat(named, 0)?;
            names.push(own);
            return Some(Chain { whole: name, above, names, required, is_of_new: false });
        }
        let is_plain = matches!(
            name.word(),
            "generic_name" | "identifier" | "type_identifier" | "shorthand_property_identifier"
        );
        let is_other = match parent.word() {
            "argument" | "keyword_argument" => parent.field("name") == Some(name),
            "method_invocation" | "method_declaration" | "element_value_pair" | "labeled_statement" => true,
            // A field of a struct, or a constant that is a key.
            "literal_element" => outer
                .last()
                .is_some_and(|pair| pair.word() == "keyed_element" && pair.named_child(0) == Some(parent)),
            "method_reference" => parent.named_child(0) != Some(name),
            _ => false,
        };
        (is_plain && !is_other).then(|| Chain {
            whole: name,
            above,
            names: vec![own],
            required: None,
            is_of_new: false,
        })
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
            let is_name = node.is_named() && !matches!(node.word(), "relative_scope" | "this" | "string");
            return is_name.then(|| (vec![span(node).of(self.text)], None));
        }
        let is_one = node.word() == "variable_name"
            || node.word() == "qualified_name" && self.language == Language::Php;
        if is_one || matches!(node.word(), "self" | "crate" | "super") {
            return Some((vec![span(node).of(self.text)], None));
        }
        if matches!(node.word(), "generic_name" | "generic_type") {
            return self.flat(node.named_child(0)?, depth + 1);
        }
        let last = parts(node).last().copied();
        let name = first_field(node, &["property", "attribute", "field", "name"]).or(last)?;
        let object = object_of(node, name)?;
        let (mut names, required) = self.flat(object, depth + 1)?;
        names.push(span(name).of(self.text));
        Some((names, required))
    }
}

/// Returns the paths of names, such as `a.b`, that stand before an equals sign.
fn assigned(text: &str) -> BTreeSet<&str> {
    let places = text.match_indices('=').filter(|(at, _)| !text[at + 1..].starts_with(['=', '>']));
    let paths = places.map(|(at, _)| {
        let before = text[..at].trim_end();
        before.rsplit(|sign: char| !joins(sign) && sign != '.').next().unwrap_or_default()
    });
    paths.collect()
}

fn arguments_of(reader: &Reader<'_, '_>, list: Node<'_>) -> Option<CallArguments> {
    // Python passes a generator without parentheses of its own: `f(x for x in y)`.
    if list.word() == "generator_expression" {
        return Some(CallArguments { positional: 1, named: Vec::new() });
    }
    arguments(reader.language, reader.text, list)
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
