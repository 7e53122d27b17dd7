//! Names that the imports of a file bind, with the modules that they come from.

use super::super::Language;
use super::super::outline::{Import, ImportKind, Outline, Span};
use super::super::shape::parts;
use super::super::walk::span;
use super::seek::Seeker;
use crate::outlines::MAX_NAME_BYTES;
use crate::tree::{Node, Tree};

/// A name that an import binds.
pub(super) struct Binding {
    pub(super) local: String,
    pub(super) module: String,
    /// Names below the module that the local one stands for.
    pub(super) path: Vec<String>,
    /// Place of the imported name.
    pub(super) span: Span,
    /// False for a binding that may fail or be another one.
    pub(super) is_firm: bool,
    /// Set where a statement imports the name, so that it fails where it stands.
    pub(super) is_statement: bool,
    /// Set for `import a.b` of Python, which binds `a`.
    pub(super) is_dotted: bool,
}

/// Returns the bindings of a file's imports.
pub(super) fn bindings(language: Language, tree: &Tree, text: &str, outline: &Outline) -> Vec<Binding> {
    let mut all = Vec::new();
    let mut seeker = Seeker::new(tree);
    for import in outline.imports.iter().filter(|import| import.kind != ImportKind::File) {
        match language {
            Language::Python => of_python(import, &mut all),
            Language::Go => of_go(import, &mut all),
            Language::Java | Language::Php => of_names(import, &mut all),
            Language::CSharp => of_csharp(import, &mut all),
            Language::Rust => of_rust(seeker.find(import.span), import, &mut all),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                if import.kind == ImportKind::Call {
                    of_require(seeker.find(import.span), text, import, &mut all);
                } else if import.kind == ImportKind::Static {
                    of_ecma(import, &mut all);
                }
            }
            Language::C | Language::Cpp | Language::Kotlin | Language::Ruby => {}
        }
    }
    all
}

fn is_firm(import: &Import) -> bool {
    !import.conditional && !import.guarded
}

/// Returns whether a module's name is short enough to be kept with each use.
fn is_short(import: &Import) -> bool {
    import.module.len() <= MAX_NAME_BYTES
}

fn are_short(path: &[String]) -> bool {
    path.iter().map(String::len).sum::<usize>() <= MAX_NAME_BYTES
}

/// Makes a binding, which is not firm where its names are too long to be kept with each use.
fn binding(import: &Import, local: &str, path: Vec<String>, span: Span) -> Binding {
    let is_short = is_short(import) && are_short(&path);
    Binding {
        local: local.to_owned(),
        module: if is_short { import.module.clone() } else { String::new() },
        path,
        span,
        is_firm: is_short && is_firm(import),
        is_statement: import.kind != ImportKind::Call,
        is_dotted: false,
    }
}

fn of_names(import: &Import, all: &mut Vec<Binding>) {
    for name in &import.names {
        let local = name.alias.as_ref().unwrap_or(&name.name);
        all.push(binding(import, local, vec![name.name.clone()], name.span));
    }
}

fn of_python(import: &Import, all: &mut Vec<Binding>) {
    match &import.alias {
        Some(alias) => all.push(binding(import, alias, Vec::new(), import.module_span)),
        None if import.names.is_empty() && !import.star && import.kind == ImportKind::Static => {
            let first = import.module.split('.').next().unwrap_or_default();
            let bound = binding(import, first, Vec::new(), import.module_span);
            all.push(Binding { is_dotted: true, ..bound });
        }
        None => of_names(import, all),
    }
}

fn of_ecma(import: &Import, all: &mut Vec<Binding>) {
    of_names(import, all);
    if let Some(alias) = &import.alias {
        all.push(binding(import, alias, Vec::new(), import.module_span));
    }
}

fn of_go(import: &Import, all: &mut Vec<Binding>) {
    let mut parts = import.module.rsplit('/');
    let last = parts.next().unwrap_or_default();
    let is_version = last.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    let name = if is_version { parts.next().unwrap_or(last) } else { last };
    let local = import.alias.as_deref().unwrap_or(name);
    if !matches!(local, "." | "_") {
        all.push(binding(import, local, Vec::new(), import.module_span));
    }
}

/// Binds the type that `using Name = Namespace.Type` names.
fn of_csharp(import: &Import, all: &mut Vec<Binding>) {
    let (Some(alias), Some((module, name))) = (&import.alias, import.module.rsplit_once('.')) else { return };
    if !is_short(import) {
        return;
    }
    let bound = binding(import, alias, vec![name.to_owned()], import.module_span);
    all.push(Binding { module: module.to_owned(), ..bound });
}

fn of_rust(found: Node<'_>, import: &Import, all: &mut Vec<Binding>) {
    // The number of modules with a body around it.
    let depth = found.ancestors().filter(|node| node.word() == "mod_item").count();
    let parts: Vec<&str> = import.module.split("::").filter(|part| !part.is_empty()).collect();
    let around: &[&str] = if is_short(import) { &parts } else { &[] };
    for name in &import.names {
        let mut path: Vec<String> = around.iter().map(|part| (*part).to_owned()).collect();
        let last = parts.last().map(|part| (*part).to_owned());
        let local = match (&name.alias, name.name.as_str(), last) {
            (Some(alias), ..) => alias.clone(),
            (None, "self", Some(last)) => last,
            (None, other, _) => other.to_owned(),
        };
        if name.name != "self" {
            path.push(name.name.clone());
        }
        if let Some((module, path)) = rooted(path, depth) {
            let bound = binding(import, &local, path, name.span);
            all.push(Binding { module, ..bound });
        } else {
            // A name of another crate hides one of this crate.
            all.push(Binding { is_firm: false, ..binding(import, &local, Vec::new(), name.span) });
        }
    }
}

/// Splits a path of Rust into the module it begins in, as seen from the file, and the names below. Returns `None` for one
/// of another crate, or that stays in a module inside of the file.
pub(super) fn rooted(path: Vec<String>, inline_modules: usize) -> Option<(String, Vec<String>)> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    match path.first().map(String::as_str)? {
        "crate" => Some(("crate".to_owned(), path[1..].to_vec())),
        "self" if inline_modules == 0 && path.get(1).is_none_or(|next| next != "super") => {
            Some(("self".to_owned(), path[1..].to_vec()))
        }
        "super" if supers == inline_modules => Some(("self".to_owned(), path[supers..].to_vec())),
        "super" if supers > inline_modules => {
            let module = vec!["super"; supers - inline_modules].join("::");
            Some((module, path[supers..].to_vec()))
        }
        _ => None,
    }
}

fn of_require(call: Node<'_>, text: &str, import: &Import, all: &mut Vec<Binding>) {
    if !is_require(call, text) {
        return;
    }
    let Some((declarator, path)) = declarator(call, text) else { return };
    if !are_short(&path) {
        return;
    }
    let Some(name) = declarator.field("name") else { return };
    if name.word() == "identifier" {
        all.push(binding(import, span(name).of(text), path, span(name)));
        return;
    }
    for member in parts(name) {
        let (key, local) = match member.word() {
            "shorthand_property_identifier_pattern" => (Some(member), Some(member)),
            "pair_pattern" => (member.field("key"), member.field("value")),
            _ => (None, None),
        };
        let Some((key, local)) = key.zip(local).filter(|(_, local)| local.word().ends_with(['r', 'n']))
        else {
            continue;
        };
        let mut path = path.clone();
        path.push(span(key).of(text).to_owned());
        all.push(binding(import, span(local).of(text), path, span(key)));
    }
}

pub(super) fn is_require(node: Node<'_>, text: &str) -> bool {
    node.word() == "call_expression"
        && node.field("function").is_some_and(|function| span(function).of(text) == "require")
}

/// Returns the declaration of a variable that is given a module, or one of its members, with the names of these.
fn declarator<'t>(call: Node<'t>, text: &str) -> Option<(Node<'t>, Vec<String>)> {
    let (mut node, mut path) = (call, Vec::new());
    for parent in call.ancestors() {
        match parent.word() {
            "member_expression" if parent.field("object") == Some(node) => {
                path.push(span(parent.field("property")?).of(text).to_owned());
            }
            "variable_declarator" if parent.field("value") == Some(node) => return Some((parent, path)),
            _ => return None,
        }
        node = parent;
    }
    None
}

/// Returns whether a node only imports, so that what it binds is no name of the file's own.
pub(super) fn is_import(node: Node<'_>, text: &str) -> bool {
    match node.word() {
        "import_statement"
        | "import_from_statement"
        | "import_declaration"
        | "namespace_use_declaration"
        | "use_declaration"
        | "using_directive" => true,
        "mod_item" => node.field("body").is_none(),
        "variable_declarator" => {
            let mut value = node.field("value");
            while let Some(member) = value.filter(|value| value.word() == "member_expression") {
                value = member.field("object");
            }
            value.is_some_and(|value| is_require(value, text))
        }
        _ => false,
    }
}
