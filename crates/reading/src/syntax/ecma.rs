//! JavaScript and TypeScript: what a module exports under which name, and what it imports.

use super::idle;
use super::outline::{Import, ImportKind, ImportedName, SymbolKind};
use super::walk::{Found, Place, has_word, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    match kind {
        "import_statement" => {
            import(found, node, place);
            found.outline.module = true;
            Place { nested: true, type_only: true, ..place }
        }
        "identifier" | "shorthand_property_identifier" => {
            if !place.type_only {
                found.values.insert(found.text(node));
            }
            place
        }
        "type_parameters" => Place { type_parameters: true, ..place },
        "nested_type_identifier" | "type_query" => Place { type_only: true, ..place },
        "export_statement" => export(found, node, place),
        "ambient_declaration" => Place { exported: place.exported, ..ambient(found, node, place) },
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            declared(found, SymbolKind::Function, node, place)
        }
        "class_declaration" | "abstract_class_declaration" => declared(found, SymbolKind::Class, node, place),
        "interface_declaration" => {
            Place { type_only: true, ..declared(found, SymbolKind::Interface, node, place) }
        }
        "type_alias_declaration" => {
            Place { type_only: true, ..declared(found, SymbolKind::Type, node, place) }
        }
        "enum_declaration" => declared(found, SymbolKind::Enum, node, place),
        "internal_module" | "module" => declared(found, SymbolKind::Module, node, place),
        "import_alias" => {
            if let Some(name) = node.named_child(0) {
                found.symbol(SymbolKind::Imported, node, name, place.exported, place);
            }
            place
        }
        "variable_declarator" => {
            if let Some(name) = node.field("name") {
                pattern(found, node, name, place, 0);
            }
            Place { exported: false, ..place }
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            if let Some(name) = node.field("name") {
                found.symbol(SymbolKind::Method, node, name, false, Place { nested: true, ..place });
            }
            Place { nested: true, at_load: false, exported: false, ..place }
        }
        "arrow_function" | "function_expression" | "generator_function" | "class" | "class_body" => {
            let at_load = (!place.nested || place.at_load) && is_called_at_once(found, node);
            Place { nested: true, at_load, exported: false, ..place }
        }
        // The body of a function that is called where it stands runs whenever what is around it does.
        "statement_block" if place.at_load && node.parent().is_some_and(is_function) => place,
        "if_statement" | "switch_statement" | "ternary_expression" => Place { conditional: true, ..place },
        "for_statement" | "for_in_statement" | "while_statement" | "do_statement" | "statement_block" => {
            Place { conditional: true, exported: false, ..place }
        }
        "try_statement" => Place { conditional: true, guarded: true, ..place },
        "assignment_expression" => {
            found.outline.dynamic |= common_js(found.field_text(node, "left"));
            place
        }
        "call_expression" => {
            call(found, node, place);
            place
        }
        _ => place,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.word(), "arrow_function" | "function_expression")
}

/// Returns whether a function is called by the statement that it stands in: `(function () { … }());`, also by `.call`,
/// with an operator before it, or as the value of a name. A generator runs nothing when it is called.
fn is_called_at_once(found: &Found<'_>, function: Node<'_>) -> bool {
    if !is_function(function) {
        return false;
    }
    let (mut node, mut is_called) = (function, false);
    while let Some(parent) = node.parent() {
        match parent.word() {
            "parenthesized_expression" | "sequence_expression" | "comment" => {}
            "await_expression" | "unary_expression" | "variable_declarator" | "assignment_expression"
                if is_called => {}
            "member_expression" if !is_called && parent.field("object") == Some(node) => {
                if !matches!(found.field_text(parent, "property"), "apply" | "call") {
                    return false;
                }
            }
            "call_expression" if !is_called && parent.field("function") == Some(node) => is_called = true,
            "expression_statement" | "lexical_declaration" | "variable_declaration" => return is_called,
            _ => return false,
        }
        node = parent;
    }
    false
}

/// Returns whether the branches around a call, up to the function that is called with the file, are those that Node
/// takes in a wrapper for several loaders.
fn is_branch_of_node(found: &Found<'_>, call: Node<'_>) -> bool {
    let (mut node, mut has_branch) = (call, false);
    while let Some(parent) = node.parent() {
        match parent.word() {
            "if_statement" | "ternary_expression" => {
                let asked: String = found.field_text(parent, "condition").split_whitespace().collect();
                let is_taken = if parent.field("consequence") == Some(node) {
                    asks_for_node(&asked) && asks_for_presence(&asked)
                } else if parent.field("alternative") == Some(node) {
                    has_any(&asked, &["define.amd", "typeofdefine"]) && !asks_for_node(&asked)
                } else {
                    false
                };
                if !is_taken {
                    return false;
                }
                has_branch = true;
            }
            "arrow_function" | "function_expression" => return has_branch,
            "do_statement" | "for_in_statement" | "for_statement" | "switch_statement" | "try_statement"
            | "while_statement" => return false,
            _ => {}
        }
        node = parent;
    }
    false
}

/// Returns whether a condition without blanks asks for a variable that Node gives a module.
fn asks_for_node(condition: &str) -> bool {
    has_any(condition, &["typeofexports", "typeofmodule"])
}

/// Returns whether a condition without blanks holds where a variable is there, and not where it is missing.
fn asks_for_presence(condition: &str) -> bool {
    !has_any(condition, &["!=='object'", "!==\"object\"", "=='undefined'", "==\"undefined\""])
        || has_any(condition, &["!=='undefined'", "!==\"undefined\"", "!='undefined'", "!=\"undefined\""])
}

/// Returns whether a text contains one of several words.
fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

fn common_js(left: &str) -> bool {
    left.starts_with("module.exports") || left.starts_with("exports.") || left.starts_with("exports[")
}

fn ambient(found: &mut Found<'_>, node: Node<'_>, place: Place) -> Place {
    // `declare module "x"` and `declare global` speak of other files.
    let of_others = has_word(node, "global")
        || node.named_children().any(|child| {
            let name = child.field("name");
            child.word() == "module" && name.is_some_and(|name| name.word() == "string")
        });
    found.outline.dynamic |= of_others;
    Place { nested: place.nested || of_others, type_only: true, ..place }
}

fn declared<'t>(found: &mut Found<'_>, kind: SymbolKind, node: Node<'t>, place: Place) -> Place {
    let name = node.field("name").filter(|name| name.word() != "string");
    // `namespace A.B` is a name `A`.
    let first =
        |name: Node<'t>| if name.word() == "nested_identifier" { name.named_child(0) } else { Some(name) };
    if let Some(name) = name.and_then(first) {
        found.symbol(kind, node, name, place.exported, place);
    }
    Place { nested: true, at_load: false, exported: false, ..place }
}

/// The names a pattern binds.
fn pattern(found: &mut Found<'_>, whole: Node<'_>, node: Node<'_>, place: Place, depth: usize) {
    match node.word() {
        "identifier" | "shorthand_property_identifier_pattern" => {
            found.symbol(SymbolKind::Variable, whole, node, place.exported, place);
        }
        "pair_pattern" => {
            if let Some(value) = node.field("value") {
                pattern(found, whole, value, place, depth + 1);
            }
        }
        "assignment_pattern" | "object_assignment_pattern" => {
            if let Some(left) = node.field("left") {
                pattern(found, whole, left, place, depth + 1);
            }
        }
        "object_pattern" | "array_pattern" | "rest_pattern" if depth <= 50 => {
            for child in node.named_children() {
                pattern(found, whole, child, place, depth + 1);
            }
        }
        // Nobody is handed what is only bound here.
        _ => found.outline.dynamic |= place.exported && node.word() != "comment",
    }
}

fn source(found: &Found<'_>, node: Node<'_>, kind: ImportKind, place: Place) -> Option<Import> {
    let (module, at) = found.plain_string(node.field("source")?)?;
    let mut import = found.import(kind, node, module, at, place);
    import.type_only |= has_word(node, "type") || has_word(node, "typeof");
    Some(import)
}

fn import(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let required = node.named_children().find(|child| child.word() == "import_require_clause");
    let Some(mut import) = source(found, required.unwrap_or(node), ImportKind::Static, place) else { return };
    import.span = span(node);
    let clause = node.named_children().find(|child| child.word() == "import_clause");
    for child in clause.into_iter().flat_map(|node| node.named_children()) {
        match child.word() {
            "identifier" => import.names.push(ImportedName {
                name: "default".to_owned(),
                alias: Some(found.text(child).to_owned()),
                span: span(child),
            }),
            "namespace_import" => {
                import.alias = child.named_child(0).map(|name| found.text(name).to_owned());
            }
            _ => {
                let specifiers: Vec<_> =
                    child.named_children().filter_map(|each| specifier(found, each)).collect();
                import.names.extend(specifiers);
            }
        }
    }
    import.alias = import.alias.or_else(|| Some(found.text(required?.named_child(0)?).to_owned()));
    found.outline.imports.push(import);
}

/// Returns the value of a string without escapes, and otherwise the text of a node.
fn string_or_text(found: &Found<'_>, node: Node<'_>) -> String {
    match found.plain_string(node) {
        Some((text, _)) => text,
        None => found.text(node).to_owned(),
    }
}

/// Reads `name` or `name as alias`.
fn specifier(found: &Found<'_>, node: Node<'_>) -> Option<ImportedName> {
    let name = node.field("name")?;
    let alias = node.field("alias");
    Some(ImportedName {
        name: string_or_text(found, name),
        alias: alias.map(|alias| string_or_text(found, alias)),
        span: span(name),
    })
}

fn export(found: &mut Found<'_>, node: Node<'_>, place: Place) -> Place {
    let inside = Place { exported: true, ..place };
    if place.nested {
        return inside;
    }
    found.outline.module = true;
    if has_word(node, "=") || has_word(node, "namespace") {
        found.outline.dynamic = true;
    }
    let clause = node.named_children().find(|child| child.word() == "export_clause");
    let names: Vec<(ImportedName, Node<'_>)> = clause
        .into_iter()
        .flat_map(|node| node.named_children())
        .filter_map(|each| Some((specifier(found, each)?, each)))
        .collect();
    for (name, each) in &names {
        let at = each.field("alias").or_else(|| each.field("name"));
        found.symbol(SymbolKind::Imported, *each, at.unwrap_or(*each), true, place);
        if let Some(symbol) = found.outline.symbols.last_mut() {
            symbol.name = name.alias.clone().unwrap_or_else(|| name.name.clone());
        }
    }
    if let Some(mut import) = source(found, node, ImportKind::Reexport, place) {
        let namespace = node.named_children().find(|child| child.word() == "namespace_export");
        if let Some(name) = namespace.and_then(|namespace| namespace.named_child(0)) {
            found.symbol(SymbolKind::Imported, node, name, true, place);
            import.alias = Some(found.text(name).to_owned());
        }
        import.star = namespace.is_none() && has_word(node, "*");
        import.names = names.into_iter().map(|(name, _)| name).collect();
        found.outline.imports.push(import);
    } else if node.field("source").is_some() {
        found.outline.dynamic = true;
    }
    if has_word(node, "default") {
        let word = (0..node.child_count())
            .filter_map(|index| node.child(index))
            .find(|child| child.word() == "default");
        found.symbol(SymbolKind::Variable, node, word.unwrap_or(node), true, place);
        // Only the default is exported, whatever it is called here.
        return Place { exported: false, ..place };
    }
    inside
}

fn call(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(function) = node.field("function") else { return };
    let name = found.text(function);
    let given = node.field("arguments");
    // Bundlers are told things in a comment before the name.
    let first = given.and_then(|given| given.named_children().find(|child| child.word() != "comment"));
    let head = name.split(['.', '(']).next().unwrap_or(name);
    if matches!(head, "describe" | "it" | "test" | "suite")
        && first.is_some_and(|first| first.word() == "string")
    {
        // `test("title", macro, () => {})` gives the function to a macro that checks something with it.
        let second =
            given.and_then(|given| given.named_children().filter(|child| child.word() != "comment").nth(1));
        let has_macro = second.is_some_and(|second| second.word() == "identifier");
        let body = test_body(node).filter(|_| matches!(name, "it" | "test") && !has_macro);
        idle::note_test(found, node, body);
    }
    if matches!(name, "Object.defineProperty" | "Object.assign" | "__exportStar") {
        found.outline.dynamic |= first.is_some_and(|first| common_js_object(found.text(first)));
    }
    if name != "require" && function.word() != "import" {
        return;
    }
    if let Some((module, at)) = first.and_then(|first| found.plain_string(first)) {
        let mut import = found.import(ImportKind::Call, node, module, at, place);
        // A file that is loaded later may be built by then, and its absence is often caught.
        let is_awaited = node.parent().is_some_and(|parent| parent.word() == "await_expression");
        let is_later = name != "require" && !is_awaited;
        if place.at_load && place.conditional && is_branch_of_node(found, node) {
            import.conditional = false;
        }
        import.conditional |= is_later && import.module.starts_with('.');
        found.outline.imports.push(import);
    }
}

/// Marks calls of a function of the file's own that is called `require`: it may look elsewhere.
pub(super) fn weaken_own_require(found: &mut Found<'_>) {
    let Found { outline, text, .. } = found;
    let mut requires = outline.symbols.iter().filter(|symbol| symbol.name == "require");
    let is_own = requires.any(|symbol| !resolves_from_its_file(symbol.span.of(text)));
    let calls = outline.imports.iter_mut().filter(|import| import.kind == ImportKind::Call);
    for import in calls.filter(|_| is_own) {
        import.conditional |= import.span.of(text).starts_with("require");
    }
}

/// Returns whether a definition of `require` is one of Node that resolves from its own file.
fn resolves_from_its_file(definition: &str) -> bool {
    definition.contains("createRequire")
        && (definition.contains("import.meta") || definition.contains("__filename"))
}

/// Returns the statements of the function that a call of `test` is given.
fn test_body(call: Node<'_>) -> Option<Node<'_>> {
    let function =
        call.field("arguments")?.named_children().filter(|argument| !argument.is_comment()).last()?;
    function.field("body").filter(|body| body.word() == "statement_block")
}

fn common_js_object(text: &str) -> bool {
    text == "exports" || text.starts_with("module.exports")
}

/// Notes the imports whose names stand for types alone: a compiler leaves them out.
pub(super) fn leave_out_types(found: &mut Found<'_>) {
    let Found { outline, values, .. } = found;
    for import in &mut outline.imports {
        if import.kind != ImportKind::Static || import.type_only {
            continue;
        }
        let names = import.names.iter().map(|name| name.alias.as_ref().unwrap_or(&name.name));
        let mut own = names.chain(&import.alias).peekable();
        import.erased = own.peek().is_some() && own.all(|name| !values.contains(name.as_str()));
    }
}
