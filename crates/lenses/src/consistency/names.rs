//! Sightings of the names of files, functions, types and constants.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::ConventionFamily;
use qa_reading::syntax::{Language, Span, Symbol, SymbolKind};

/// The name of a file up to its first dot. Names that a compiler reads are its own business.
pub(super) fn of_file(path: &str) -> Option<Sighting> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, endings) = name.split_once('.')?;
    let ending = endings.rsplit('.').next().unwrap_or(endings);
    if matches!(
        Language::from_path(path),
        Some(Language::CSharp | Language::Java | Language::Kotlin | Language::Php)
    ) {
        return None;
    }
    if stem.len() < 2
        || !stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        || !stem.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    {
        return None;
    }
    Some(Sighting {
        family: ConventionFamily::FileName,
        topic: "",
        language: ending.to_owned().into(),
        value: stem.to_owned(),
        name: stem.to_owned(),
        span: None,
    })
}

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    if is_free_of_style(source) {
        return;
    }
    for symbol in &source.outline.symbols {
        let Some(family) = family(source, symbol) else { continue };
        let name = symbol.name.strip_prefix("r#").unwrap_or(&symbol.name);
        let magic = name.starts_with("__") && name.ends_with("__");
        // Go's test runner reads what follows an underscore; helpers of tests need not be in files of tests.
        let runner = ["Benchmark", "Example", "Fuzz", "Test"];
        let of_runner =
            source.language == Language::Go && runner.iter().any(|prefix| name.starts_with(prefix));
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_free = source.language != Language::Rust || is_named_freely(source, symbol);
        if name.len() > 2 && !magic && !of_runner && plain && is_free && source.is_whole(symbol.name_span) {
            all.push(source.sighting(family, "", name, name, Some(symbol.name_span)));
        }
    }
}

fn family(source: &Source<'_>, symbol: &Symbol) -> Option<ConventionFamily> {
    let family = match symbol.kind {
        SymbolKind::Class
        | SymbolKind::Enum
        | SymbolKind::Interface
        | SymbolKind::Struct
        | SymbolKind::Trait
        | SymbolKind::Type => ConventionFamily::TypeName,
        SymbolKind::Function => ConventionFamily::FunctionName,
        SymbolKind::Method => match source.language {
            Language::CSharp | Language::Cpp | Language::Java if is_constructor(source, symbol) => {
                return None;
            }
            // A method of these is a function in a class.
            Language::C
            | Language::Cpp
            | Language::Go
            | Language::Kotlin
            | Language::Python
            | Language::Ruby
            | Language::Rust => ConventionFamily::FunctionName,
            Language::CSharp
            | Language::Java
            | Language::JavaScript
            | Language::Php
            | Language::Tsx
            | Language::TypeScript => ConventionFamily::MethodName,
        },
        SymbolKind::Constant if matches!(source.language, Language::Go | Language::Rust) => {
            ConventionFamily::ConstantName
        }
        SymbolKind::Variable if is_function_value(source, symbol) => ConventionFamily::FunctionName,
        SymbolKind::Constant
        | SymbolKind::Field
        | SymbolKind::Imported
        | SymbolKind::Macro
        | SymbolKind::Module
        | SymbolKind::Variable => return None,
    };
    Some(family)
}

/// Words of attributes by which somebody else chose a name, or the compiler's warning about it is switched off.
const NOT_FREE: &[&str] =
    &["no_mangle", "export_name", "nonstandard_style", "non_snake", "non_camel", "non_upper"];

fn says_not_free(attribute: &str) -> bool {
    NOT_FREE.iter().any(|word| attribute.contains(word))
}

/// Returns whether an inner attribute exempts all names of a Rust file from naming conventions.
fn is_free_of_style(source: &Source<'_>) -> bool {
    let mut for_all = source.text.lines().map(str::trim).filter(|line| line.starts_with("#!["));
    source.language == Language::Rust && for_all.any(says_not_free)
}

/// Returns whether a symbol's author could choose its name, which a linker, a foreign function or a disabled naming
/// lint rules out.
fn is_named_freely(source: &Source<'_>, symbol: &Symbol) -> bool {
    let before = &source.text[..symbol.span.start];
    let above = before.lines().rev().skip(usize::from(!before.ends_with('\n')));
    let mut attributes =
        above.map(str::trim).take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let head = Span { start: symbol.span.start, end: symbol.name_span.start }.of(source.text);
    // A function without a body outside of a trait is declared for another language.
    let is_foreign = symbol.kind == SymbolKind::Function
        && symbol.span.of(source.text).ends_with(';')
        && !is_in_trait(source, symbol);
    !(attributes.any(says_not_free) || head.contains("extern") || is_foreign)
}

fn is_in_trait(source: &Source<'_>, symbol: &Symbol) -> bool {
    source.outline.symbols.iter().any(|other| {
        other.kind == SymbolKind::Trait && (other.span.start..other.span.end).contains(&symbol.span.start)
    })
}

fn is_constructor(source: &Source<'_>, symbol: &Symbol) -> bool {
    source.outline.symbols.iter().any(|other| {
        other.name == symbol.name
            && matches!(other.kind, SymbolKind::Class | SymbolKind::Enum)
            && other.span.start <= symbol.span.start
            && symbol.span.end <= other.span.end
    })
}

/// `const name = (…) => …` and `const name = function …`.
fn is_function_value(source: &Source<'_>, symbol: &Symbol) -> bool {
    let is_ecma = matches!(source.language, Language::JavaScript | Language::Tsx | Language::TypeScript);
    if !is_ecma || symbol.name_span.start != symbol.span.start {
        return false;
    }
    let rest = Span { start: symbol.name_span.end, end: symbol.span.end }.of(source.text);
    let Some(value) = rest.trim_start().strip_prefix('=') else { return false };
    let value = value.trim_start();
    let first = value.lines().next().unwrap_or("");
    let value = value.strip_prefix("async").map_or(value, str::trim_start);
    value.starts_with("function") || value.starts_with('(') && first.contains("=>")
}
