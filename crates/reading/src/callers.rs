//! The parts of a file that its callers depend on, and its own uses of other files, as records keep them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::outlines::{Lines, MAX_NAME_BYTES};
use crate::syntax::{self, Language, OtherVersion, Outline, Span, callers};
use crate::tree::Tree;
use qa_contracts::v1::{Definition, DefinitionKind, ModuleSurface, PlacedUse};

/// Traits of Rust whose methods every one of their types writes, or which have names of no other method.
pub const CLOSED_TRAITS: &[&str] = &[
    "AsMut",
    "AsRef",
    "Borrow",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Display",
    "Drop",
    "Eq",
    "From",
    "FromStr",
    "Hash",
    "Into",
    "PartialEq",
    "Send",
    "Serialize",
    "Sync",
    "TryFrom",
    "Unpin",
];

/// Returns the definitions of a file with their parameters. One without a grammar may define anything.
pub fn surface(path: &str, text: &str) -> ModuleSurface {
    surface_beside(path, text, None)
}

/// Like [`surface`], parsed by the tree of another version where that is cached.
pub fn surface_beside(path: &str, text: &str, other: Option<&OtherVersion<'_>>) -> ModuleSurface {
    let unknown = ModuleSurface { open: true, ..ModuleSurface::default() };
    let Some(language) = Language::from_path(path) else { return unknown };
    let Some(tree) = syntax::parse_version_once(language, text, other) else { return unknown };
    let lines = Lines::new(text);
    if language == Language::Ruby {
        let definitions = placed(callers::ruby::definitions(&tree, text), &lines);
        let open = tree.root_node().has_error();
        return ModuleSurface { definitions, open, ..ModuleSurface::default() };
    }
    let outline = syntax::parse_once(language, text, other);
    let mut surface = ModuleSurface {
        package: package(language, text),
        definitions: Vec::new(),
        open: outline.dynamic || !outline.broken.is_empty() || !outline.module,
        conditional: language == Language::Go && is_constrained(path, text),
    };
    let is_common_js = language == Language::JavaScript && !outline.module && outline.broken.is_empty();
    match is_common_js.then(|| callers::exports(&tree, text)).flatten() {
        Some(exports) => {
            surface.open = exports.is_empty();
            let exports = exports.into_iter().map(|(name, span)| Definition {
                name: lines.name(name, span),
                owner: None,
                kind: DefinitionKind::Value,
                public: true,
                hidden: false,
                is_static: false,
                open: false,
                signature: None,
            });
            surface.definitions.extend(exports);
        }
        None => surface.definitions = defined(language, &tree, text, &outline, &lines),
    }
    surface
}

fn defined(
    language: Language,
    tree: &Tree,
    text: &str,
    outline: &Outline,
    lines: &Lines<'_>,
) -> Vec<Definition> {
    placed(callers::definitions(language, tree, text, outline), lines)
}

fn placed(all: Vec<callers::Defined>, lines: &Lines<'_>) -> Vec<Definition> {
    let short = all.into_iter().filter(|defined| defined.name.len() <= MAX_NAME_BYTES);
    short
        .map(|defined| Definition {
            name: lines.name(&defined.name, defined.name_span),
            owner: defined.owner,
            kind: defined.kind,
            public: defined.public,
            hidden: defined.hidden,
            is_static: defined.is_static,
            open: defined.open,
            signature: defined.signature,
        })
        .collect()
}

/// Returns the uses of some words in a file that are names of other files.
pub fn uses(path: &str, text: &str, words: &[String]) -> Vec<PlacedUse> {
    uses_on(path, text, words, &[1..=u64::MAX])
}

/// Like [`uses`], of which only those on some lines are looked for. The lines are in order and apart; others may be among
/// what is returned.
pub fn uses_on(path: &str, text: &str, words: &[String], on: &[RangeInclusive<u64>]) -> Vec<PlacedUse> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    // Parsing would find none.
    if !words.iter().any(|word| text.contains(word.as_str())) {
        return Vec::new();
    }
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
    let uses = if language == Language::Ruby {
        callers::ruby::uses(&tree, text, &words)
    } else {
        let outline = syntax::parse_once(language, text, None);
        let on: Vec<Span> = on.iter().map(|range| lines.span(range)).collect();
        let sought = callers::Sought { words: &words, on: &on };
        callers::uses(language, &tree, text, &outline, &sought)
    };
    uses.into_iter()
        .map(|used| PlacedUse {
            module: used.module,
            name: lines.name(used.path.last().map(String::as_str).unwrap_or_default(), used.name_span),
            path: used.path,
            imported: used.is_imported,
            called: used.is_called,
            of_object: used.is_of_object,
            arguments: used.arguments,
        })
        .collect()
}

/// Returns the package or the namespace that a file says it belongs to, which is empty where it names no namespace; `None`
/// where it names several.
fn package(language: Language, text: &str) -> Option<String> {
    let word = match language {
        Language::Go | Language::Java => "package ",
        Language::CSharp | Language::Php => "namespace ",
        Language::C
        | Language::Cpp
        | Language::JavaScript
        | Language::Kotlin
        | Language::Python
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::TypeScript => return None,
    };
    let mut clauses = text.lines().filter_map(|line| {
        let line = line.trim_start_matches('\u{feff}').trim();
        line.strip_prefix("<?php ").unwrap_or(line).strip_prefix(word)
    });
    let is_namespace = word == "namespace ";
    let Some(clause) = clauses.next() else { return is_namespace.then(String::new) };
    if is_namespace && clauses.next().is_some() {
        return None;
    }
    let name = clause.split(['/', ';', '{']).next().unwrap_or(clause).trim();
    Some(name.to_owned())
}

/// Returns whether a build for some system or some tags leaves a file out.
fn is_constrained(path: &str, text: &str) -> bool {
    const SYSTEMS: &[&str] = &[
        "android", "darwin", "freebsd", "ios", "js", "linux", "netbsd", "openbsd", "plan9", "solaris",
        "unix", "wasip1", "windows",
    ];
    const PROCESSORS: &[&str] = &[
        "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "ppc64", "ppc64le", "riscv64", "s390x",
        "wasm",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".go").trim_end_matches("_test");
    let by_name = name
        .rsplit('_')
        .take(2)
        .any(|part| part != name && (SYSTEMS.contains(&part) || PROCESSORS.contains(&part)));
    by_name || text.lines().any(|line| line.starts_with("//go:build") || line.starts_with("// +build"))
}
