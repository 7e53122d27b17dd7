//! Rust: items with their visibility, `use` trees leaf by leaf, and `mod name;` as the file it is.

use super::idle;
use super::outline::{ImportKind, ImportedName, SymbolKind};
use super::walk::{Found, Place, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let item = match kind {
        "function_item" | "function_signature_item" => Some(SymbolKind::Function),
        "struct_item" | "union_item" => Some(SymbolKind::Struct),
        "enum_item" => Some(SymbolKind::Enum),
        "trait_item" => Some(SymbolKind::Trait),
        "type_item" | "associated_type" => Some(SymbolKind::Type),
        "const_item" => Some(SymbolKind::Constant),
        "static_item" => Some(SymbolKind::Variable),
        "macro_definition" => Some(SymbolKind::Macro),
        "mod_item" => Some(SymbolKind::Module),
        _ => None,
    };
    if let Some(symbol) = item {
        return self::item(found, symbol, node, place);
    }
    match kind {
        "use_declaration" => {
            let place = Place { conditional: place.conditional || attributes(found).conditional, ..place };
            if let Some(argument) = node.field("argument") {
                let kind = if is_visible(node) { ImportKind::Reexport } else { ImportKind::Static };
                use_tree(found, &Use { whole: node, kind, place }, String::new(), argument, 0);
            }
            Place { nested: true, ..place }
        }
        "extern_crate_declaration" => {
            let name = node.field("alias").or_else(|| node.field("name"));
            if let Some(name) = name {
                found.symbol(SymbolKind::Imported, node, name, is_visible(node), place);
            }
            found.outline.dynamic = true;
            place
        }
        // Items that a macro at item level makes are not visible.
        "macro_invocation" => {
            found.outline.dynamic |= !place.nested;
            Place { nested: true, ..place }
        }
        "inner_attribute_item" => {
            found.outline.dynamic |= !place.nested && !is_plain(found.text(node));
            place
        }
        "impl_item" | "block" | "closure_expression" | "field_declaration_list" | "enum_variant_list" => {
            Place { nested: true, ..place }
        }
        _ => place,
    }
}

/// The attributes before an item.
struct Attributes {
    conditional: bool,
    test: bool,
    /// Attributes that may make anything of the item.
    odd: bool,
}

/// Reads the attributes of the current node.
fn attributes(found: &Found<'_>) -> Attributes {
    let mut seen = Attributes { conditional: false, test: false, odd: false };
    for node in found.above().iter().filter(|node| node.word() == "attribute_item") {
        let text = found.text(*node);
        let name = text.trim_start_matches(['#', '[', ' ']);
        seen.conditional |= name.starts_with("cfg") || name.starts_with("path");
        let path = name.split([']', '(']).next().unwrap_or("").trim();
        seen.test |= path == "test" || path.ends_with("::test") || text.contains("cfg(test)");
        seen.odd |= !is_plain(text);
    }
    seen
}

/// Attributes that leave the names of an item as they are.
fn is_plain(attribute: &str) -> bool {
    const PLAIN: &[&str] = &[
        "allow",
        "cfg",
        "cfg_attr",
        "cold",
        "default",
        "deny",
        "deprecated",
        "derive",
        "doc",
        "error",
        "expect",
        "feature",
        "forbid",
        "inline",
        "macro_export",
        "must_use",
        "no_std",
        "non_exhaustive",
        "path",
        "repr",
        "rustfmt",
        "serde",
        "test",
        "track_caller",
        "warn",
    ];
    let name = attribute.trim_start_matches(['#', '!', '[', ' ']);
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
    PLAIN.contains(&&name[..end.unwrap_or(name.len())])
}

fn is_visible(node: Node<'_>) -> bool {
    node.named_children().any(|child| child.word() == "visibility_modifier")
}

fn item(found: &mut Found<'_>, kind: SymbolKind, node: Node<'_>, place: Place) -> Place {
    let Attributes { conditional, test, odd } = attributes(found);
    let place = Place { conditional: place.conditional || conditional, ..place };
    found.outline.dynamic |= odd && !place.nested;
    if test {
        idle::note_test(found, node, test_body(found, node));
    }
    if let Some(name) = node.field("name") {
        found.symbol(kind, node, name, is_visible(node), place);
        if kind == SymbolKind::Module && node.field("body").is_none() {
            let module = found.text(name).to_owned();
            let import = found.import(ImportKind::File, node, module, span(name), place);
            found.outline.imports.push(import);
        }
    }
    Place { nested: true, ..place }
}

/// Returns the statements of a test; none where other attributes may make it one that has to do nothing.
fn test_body<'t>(found: &Found<'_>, node: Node<'t>) -> Option<Node<'t>> {
    let (attribute, before) = found.above().split_last()?;
    let only = before.last().is_none_or(|before| before.word() != "attribute_item");
    let only = only && found.text(*attribute) == "#[test]";
    node.field("body").filter(|_| only && node.word() == "function_item")
}

struct Use<'t> {
    whole: Node<'t>,
    kind: ImportKind,
    place: Place,
}

/// Notes each leaf of a `use` tree, with what stands before it as its module.
fn use_tree(found: &mut Found<'_>, all: &Use<'_>, before: String, node: Node<'_>, depth: usize) {
    match node.word() {
        "use_list" if depth <= 50 => {
            for child in node.named_children() {
                use_tree(found, all, before.clone(), child, depth + 1);
            }
        }
        "scoped_use_list" if depth <= 50 => {
            if let Some(list) = node.field("list") {
                let before = joined_path(before, found.field_text(node, "path"));
                use_tree(found, all, before, list, depth + 1);
            }
        }
        "use_wildcard" => {
            let path = node.named_child(0).map(|path| found.text(path)).unwrap_or_default();
            let module = joined_path(before, path);
            let mut import = found.import(all.kind, all.whole, module, span(node), all.place);
            import.star = true;
            found.outline.imports.push(import);
            found.outline.dynamic |= !all.place.nested;
        }
        "use_as_clause" => {
            let alias = node.field("alias");
            if let Some(path) = node.field("path") {
                leaf(found, all, before, path, alias);
            }
        }
        "identifier" | "scoped_identifier" | "self" | "crate" | "super" => {
            leaf(found, all, before, node, None)
        }
        _ => found.outline.dynamic = true,
    }
}

/// Returns a path behind another, without its white space.
fn joined_path(before: String, path: &str) -> String {
    let path: String = path.split_whitespace().collect();
    match (before.as_str(), path.as_str()) {
        (_, "") => before,
        ("", _) => path,
        (_, _) => format!("{before}::{path}"),
    }
}

fn leaf(found: &mut Found<'_>, all: &Use<'_>, before: String, path: Node<'_>, alias: Option<Node<'_>>) {
    let (inner, name) = match path.word() {
        "scoped_identifier" => (path.field("path"), path.field("name")),
        _ => (None, Some(path)),
    };
    let Some(name) = name else { return };
    let module = joined_path(before, inner.map(|inner| found.text(inner)).unwrap_or_default());
    let mut import = found.import(all.kind, all.whole, module, span(path), all.place);
    import.names.push(ImportedName {
        name: found.text(name).to_owned(),
        alias: alias.map(|alias| found.text(alias).to_owned()),
        span: span(name),
    });
    let bound = match (alias, name.word()) {
        (Some(alias), _) => alias,
        (None, "self") => inner_name(path).unwrap_or(name),
        (None, _) => name,
    };
    found.outline.imports.push(import);
    found.symbol(SymbolKind::Imported, all.whole, bound, is_visible(all.whole), all.place);
}

/// `a::b::{self}` binds `b`, which stands before the list.
fn inner_name(path: Node<'_>) -> Option<Node<'_>> {
    let list = path.parent()?.parent()?;
    let before = list.field("path")?;
    before.field("name").or(Some(before))
}
