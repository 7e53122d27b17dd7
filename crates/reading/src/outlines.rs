//! The part of a file's outline that a record keeps: the names that others may import and its imports, with places.

use std::ops::RangeInclusive;

use crate::syntax::{self, Import, ImportKind, Language, Outline, Span, Symbol};
use qa_contracts::v1::{ImportForm, ModuleOutline, PlacedImport, PlacedName};

/// Longer names are left out.
pub(crate) const MAX_NAME_BYTES: usize = 300;

/// Returns the outline of a file. A file without a grammar has its lines as names, which serves lists of paths.
pub fn outline(path: &str, text: &str) -> ModuleOutline {
    match Language::from_path(path) {
        Some(language) => outline_of_code(language, text),
        None => outline_of_lines(text),
    }
}

/// Returns the imports of a file, and perhaps more that only look like imports.
pub fn imports(path: &str, text: &str) -> Vec<PlacedImport> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let Some(written) = syntax::written_imports(language, text) else {
        return outline_of_code(language, text).imports;
    };
    let lines = Lines::new(text);
    written.iter().filter_map(|import| placed(language, &lines, import)).collect()
}

fn outline_of_lines(text: &str) -> ModuleOutline {
    let names = text.lines().map(str::trim).zip(1..);
    let names = names.filter(|(name, _)| !name.is_empty() && name.len() <= MAX_NAME_BYTES);
    let names = names.map(|(name, line)| PlacedName {
        name: name.to_owned(),
        written: None,
        line,
        start_column: 0,
        end_column: 0,
    });
    ModuleOutline { names: names.collect(), imports: Vec::new(), open: true, relocates: true }
}

fn outline_of_code(language: Language, text: &str) -> ModuleOutline {
    let outline = syntax::parse_once(language, text, None);
    let lines = Lines::new(text);
    let names = outline.symbols.iter().filter(|symbol| {
        symbol.top_level && symbol.name.len() <= MAX_NAME_BYTES && is_importable(language, symbol)
    });
    ModuleOutline {
        names: names.map(|symbol| lines.name(&symbol.name, symbol.name_span)).collect(),
        imports: whole_imports(language, &outline, &lines),
        open: outline.dynamic || !outline.broken.is_empty() || !outline.module,
        relocates: outline.relocates || !outline.broken.is_empty(),
    }
}

/// Returns whether another file can import a name of a module.
fn is_importable(language: Language, symbol: &Symbol) -> bool {
    match language {
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Kotlin
        | Language::Php
        | Language::Ruby => false,
        Language::Java | Language::Python | Language::Rust => true,
        Language::JavaScript | Language::Tsx | Language::TypeScript => symbol.exported,
    }
}

/// Returns the imports that do not touch a part of the text that could not be parsed.
fn whole_imports(language: Language, outline: &Outline, lines: &Lines<'_>) -> Vec<PlacedImport> {
    // A file that no build includes says nothing about the requirements of its module.
    let is_ignored = language == Language::Go && lines.text.lines().any(|line| line.contains("build ignore"));
    let whole = outline
        .imports
        .iter()
        .filter(|import| !outline.broken.iter().any(|broken| broken.touches(import.span)));
    let mut imports: Vec<PlacedImport> = whole.filter_map(|import| placed(language, lines, import)).collect();
    for import in &mut imports {
        import.weak |= is_ignored;
    }
    imports
}

/// Returns the import with its place, if it can be one of another file of the repository or of a package.
fn placed(language: Language, lines: &Lines<'_>, import: &Import) -> Option<PlacedImport> {
    let form = match import.kind {
        ImportKind::Static => ImportForm::Import,
        ImportKind::Reexport => ImportForm::Reexport,
        ImportKind::File => ImportForm::File,
        ImportKind::Call => ImportForm::Call,
    };
    let matters = match language {
        Language::Go => import.module.contains('.'),
        Language::Java | Language::JavaScript | Language::Tsx | Language::TypeScript => true,
        Language::C | Language::Cpp | Language::Php | Language::Ruby => form == ImportForm::File,
        Language::CSharp => import.star,
        Language::Kotlin => false,
        Language::Python => form != ImportForm::Call,
        Language::Rust => form == ImportForm::File || import.module.starts_with("crate"),
    };
    if !matters || import.module.len() > MAX_NAME_BYTES {
        return None;
    }
    Some(PlacedImport {
        form,
        module: lines.name(&import.module, import.module_span),
        names: import.names.iter().map(|name| lines.name(&name.name, name.span)).collect(),
        star: import.star,
        top_level: import.top_level,
        weak: import.conditional || import.guarded,
        types_alone: import.type_only || import.erased,
    })
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Lines and columns of a text.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    pub(crate) fn name(&self, name: &str, span: Span) -> PlacedName {
        let line = self.starts.partition_point(|start| *start <= span.start);
        let begin = self.starts[line.saturating_sub(1)];
        // The line's own end is no part of it.
        let written =
            self.text.get(span.start..span.end).and_then(|text| text.lines().next()).unwrap_or_default();
        PlacedName {
            name: name.to_owned(),
            written: (written != name).then(|| written.to_owned()),
            line: saturated(line),
            start_column: self.column(begin, span.start),
            end_column: self.column(begin, span.start + written.len()),
        }
    }

    /// Returns the place of some lines, counted from 1; empty behind the text.
    pub(crate) fn span(&self, lines: &RangeInclusive<u64>) -> Span {
        let start = self.start(lines.start().saturating_sub(1));
        Span { start, end: self.start(*lines.end()).max(start) }
    }

    /// Returns the start of a line, counted from 0, or the end of the text.
    fn start(&self, line: u64) -> usize {
        let start = usize::try_from(line).ok().and_then(|line| self.starts.get(line));
        start.copied().unwrap_or(self.text.len())
    }

    /// Returns the column of an offset in characters, from 1; 0 for an offset that is none of the line.
    fn column(&self, begin: usize, offset: usize) -> u32 {
        match self.text.get(begin..offset) {
            Some(before) => saturated(before.chars().count() + 1),
            None => 0,
        }
    }
}
