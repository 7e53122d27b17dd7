//! Python: names a module binds, however it does, and what it imports.

use super::idle;
use super::outline::{ImportKind, ImportedName, Span, SymbolKind};
use super::walk::{Found, Place, has_word, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    match kind {
        "function_definition" | "class_definition" => {
            let symbol = match (kind, place.nested) {
                ("class_definition", _) => SymbolKind::Class,
                (_, true) => SymbolKind::Method,
                (_, false) => SymbolKind::Function,
            };
            if let Some(name) = node.field("name") {
                bind(found, symbol, node, name, place);
                let text = found.text(name);
                let test = kind == "function_definition" && text.starts_with("test_")
                    || kind == "class_definition" && text.starts_with("Test");
                if test {
                    idle::note_test(found, node, test_body(found, node));
                }
            }
            Place { nested: true, ..place }
        }
        "lambda"
        | "list_comprehension"
        | "set_comprehension"
        | "dictionary_comprehension"
        | "generator_expression" => Place { nested: true, ..place },
        "assignment" | "augmented_assignment" | "for_statement" | "type_alias_statement" => {
            if let Some(left) = node.field("left") {
                targets(found, node, left, place, 0);
            }
            let loops = kind == "for_statement";
            Place { conditional: place.conditional || loops, ..place }
        }
        "named_expression" => {
            // A walrus binds in the scope around a comprehension.
            if let Some(name) = node.field("name") {
                let nested = false;
                bind(found, SymbolKind::Variable, node, name, Place { nested, ..place });
            }
            place
        }
        "as_pattern_target" | "case_pattern" => {
            targets(found, node, node, place, 0);
            place
        }
        "global_statement" => {
            for name in node.named_children().filter(|name| name.word() == "identifier") {
                bind(found, SymbolKind::Variable, node, name, Place { nested: false, ..place });
            }
            place
        }
        "if_statement" => {
            let is_for_types = found.field_text(node, "condition").ends_with("TYPE_CHECKING");
            let type_only = place.type_only || is_for_types;
            Place { conditional: true, type_only, ..place }
        }
        "while_statement" | "match_statement" => Place { conditional: true, ..place },
        "try_statement" => Place { conditional: true, guarded: true, ..place },
        // `with suppress(ImportError)` and its kind.
        "with_statement" => Place { guarded: true, ..place },
        "call" => {
            call(found, node, place);
            place
        }
        "attribute" => {
            // The module itself, looked up by its own name, may be given anything.
            let text = found.text(node);
            if text == "sys.modules" {
                let whole = node.parent().and_then(|parent| parent.parent()).unwrap_or(node);
                found.outline.dynamic |= found.text(whole).contains("__name__");
            }
            found.outline.relocates |= matches!(text, "sys.meta_path" | "sys.modules" | "sys.path_hooks");
            place
        }
        "identifier" => {
            let is_path = found.text(node) == "__path__";
            found.outline.dynamic |= !place.nested && is_path;
            found.outline.relocates |= is_path;
            place
        }
        "import_statement" => {
            plain_import(found, node, place);
            place
        }
        "import_from_statement" => {
            from_import(found, node, place);
            place
        }
        _ => place,
    }
}

fn bind(found: &mut Found<'_>, kind: SymbolKind, whole: Node<'_>, name: Node<'_>, place: Place) {
    let text = found.text(name);
    // Whoever gives a module these two, by a definition or by an assignment, may give it any name.
    found.outline.dynamic |= !place.nested && matches!(text, "__getattr__" | "__dir__");
    let exported = !place.nested && !text.starts_with('_');
    found.symbol(kind, whole, name, exported, place);
}

/// The names a pattern binds.
fn targets(found: &mut Found<'_>, whole: Node<'_>, pattern: Node<'_>, place: Place, depth: usize) {
    match pattern.word() {
        "identifier" => bind(found, SymbolKind::Variable, whole, pattern, place),
        // Attributes and items of an object are no names of the module.
        "attribute" | "subscript" | "call" => {}
        _ if depth > 50 => found.outline.dynamic = true,
        _ => {
            for child in pattern.named_children() {
                targets(found, whole, child, place, depth + 1);
            }
        }
    }
}

fn call(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(function) = node.field("function") else { return };
    let name = found.text(function).to_owned();
    let arguments = node.field("arguments");
    let given = arguments.into_iter().flat_map(|node| node.named_children()).count();
    let all = found.field_text(node, "arguments");
    // These calls may define names of the module that its text does not show.
    found.outline.dynamic |= match name.as_str() {
        "globals" => true,
        // With a place of their own they fill that one.
        "exec" => given < 2,
        "locals" | "vars" => !place.nested && given == 0,
        "__import__" => !place.nested,
        // The module itself is had by its own name.
        "setattr" | "import_module" | "importlib.import_module" => all.contains("__name__"),
        _ => false,
    };
    found.outline.relocates |= matches!(name.as_str(), "__import__" | "exec" | "extend_path");
    if !matches!(name.as_str(), "importlib.import_module" | "import_module" | "__import__") {
        return;
    }
    let first = arguments.and_then(|arguments| arguments.named_child(0));
    if let Some((module, at)) = first.and_then(|first| found.plain_string(first)) {
        let import = found.import(ImportKind::Call, node, module, at, place);
        found.outline.imports.push(import);
    }
}

fn plain_import(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    for child in node.named_children() {
        let (name, alias) = name_and_alias(child);
        let Some(name) = name else { continue };
        let mut import =
            found.import(ImportKind::Static, node, found.text(name).to_owned(), span(name), place);
        import.alias = alias.map(|alias| found.text(alias).to_owned());
        found.outline.imports.push(import);
        // `import a.b` binds `a`.
        let bound = alias.or_else(|| name.named_child(0)).unwrap_or(name);
        bind(found, SymbolKind::Imported, node, bound, place);
    }
}

fn from_import(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(module) = node.field("module_name") else { return };
    let text: String = found.text(module).chars().filter(|character| !character.is_whitespace()).collect();
    let mut import = found.import(ImportKind::Static, node, text, span(module), place);
    import.star = node.named_children().any(|child| child.word() == "wildcard_import");
    for child in node.named_children().filter(|child| *child != module) {
        let (Some(name), alias) = name_and_alias(child) else { continue };
        import.names.push(ImportedName {
            name: found.text(name).to_owned(),
            alias: alias.map(|alias| found.text(alias).to_owned()),
            span: span(name),
        });
        bind(found, SymbolKind::Imported, node, alias.unwrap_or(name), place);
    }
    found.outline.dynamic |= import.star && !place.nested;
    if has_word(node, "import") && (import.star || !import.names.is_empty()) {
        found.outline.imports.push(import);
    } else {
        found.outline.broken.push(Span { start: node.start_byte(), end: node.end_byte() });
    }
}

fn name_and_alias(node: Node<'_>) -> (Option<Node<'_>>, Option<Node<'_>>) {
    match node.word() {
        "dotted_name" => (Some(node), None),
        "aliased_import" => (node.field("name"), node.field("alias")),
        _ => (None, None),
    }
}

/// Returns the statements of a test; none where what it is given, or decorated with, may be the test.
fn test_body<'t>(found: &Found<'_>, node: Node<'t>) -> Option<Node<'t>> {
    let plain = node.field("parameters")?.named_children().all(|name| found.text(name) == "self");
    let bare = node.parent().is_none_or(|parent| parent.word() != "decorated_definition");
    node.field("body").filter(|_| plain && bare && node.word() == "function_definition")
}
