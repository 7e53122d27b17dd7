//! The part of a file's outline that a record keeps: the names that others may import and its imports, with places.

use crate::syntax::{self, Import, ImportKind, Language, Outline, Span, Symbol};
use qa_contracts::v1::{ImportForm, ModuleOutline, PlacedImport, PlacedName};

/// Longer names are left out.
const MAX_NAME_BYTES: usize = 300;

/// The outline of a file. A file without a grammar has its lines for names, which is what lists of paths are read with.
pub fn outline(path: &str, text: &str) -> ModuleOutline {
    match Language::of(path) {
        Some(language) => of_code(language, &syntax::parse_once(language, text), text),
        None => of_lines(text),
    }
}

/// The imports of a file as they are written, and perhaps more that only look like it.
pub fn imports(path: &str, text: &str) -> Vec<PlacedImport> {
    let Some(language) = Language::of(path) else { return Vec::new() };
    let Some(written) = syntax::written_imports(language, text) else {
        return of_code(language, &syntax::parse_once(language, text), text).imports;
    };
    let lines = Lines::new(text);
    let kept = |import: &PlacedImport| import.module.name.len() <= MAX_NAME_BYTES;
    written.iter().filter_map(|import| placed(language, &lines, import)).filter(kept).collect()
}

fn of_lines(text: &str) -> ModuleOutline {
    let place = |(index, line): (usize, &str)| {
        let name = line.trim().to_owned();
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        PlacedName { name, line, start_column: 0, end_column: 0 }
    };
    let kept = |name: &PlacedName| !name.name.is_empty() && name.name.len() <= MAX_NAME_BYTES;
    let names = text.lines().enumerate().map(place).filter(kept).collect();
    ModuleOutline { names, imports: Vec::new(), open: true, relocates: true }
}

fn of_code(language: Language, outline: &Outline, text: &str) -> ModuleOutline {
    let lines = Lines::new(text);
    let names = match language {
        Language::Go | Language::Java => Vec::new(),
        Language::Python | Language::Rust => {
            let own = outline.symbols.iter().filter(|symbol| symbol.top_level);
            own.map(|symbol| lines.name(&symbol.name, symbol.name_span)).collect()
        }
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            let own = |symbol: &&Symbol| symbol.top_level && symbol.exported;
            let exported = outline.symbols.iter().filter(own);
            exported.map(|symbol| lines.name(&symbol.name, symbol.name_span)).collect()
        }
    };
    let kept = |name: &PlacedName| name.name.len() <= MAX_NAME_BYTES;
    ModuleOutline {
        names: names.into_iter().filter(kept).collect(),
        imports: whole_imports(language, outline, &lines),
        open: outline.dynamic || !outline.broken.is_empty() || !outline.module,
        relocates: outline.relocates || !outline.broken.is_empty(),
    }
}

/// The imports that could be read whole.
fn whole_imports(language: Language, outline: &Outline, lines: &Lines<'_>) -> Vec<PlacedImport> {
    // What a module leaves out of every build has no part in what it requires.
    let left_out = language == Language::Go && lines.text.lines().any(|line| line.contains("build ignore"));
    let is_whole = |import: &&Import| !outline.broken.iter().any(|broken| broken.touches(import.span));
    let placed = |import: &Import| {
        let placed = placed(language, lines, import)?;
        let weak = placed.weak || left_out;
        Some(PlacedImport { weak, ..placed })
    };
    let kept = |import: &PlacedImport| import.module.name.len() <= MAX_NAME_BYTES;
    outline.imports.iter().filter(is_whole).filter_map(placed).filter(kept).collect()
}

/// The import, if it can be one of another file of the repository or of a package.
fn placed(language: Language, lines: &Lines<'_>, import: &Import) -> Option<PlacedImport> {
    let form = match import.kind {
        ImportKind::Static => ImportForm::Import,
        ImportKind::Reexport => ImportForm::Reexport,
        ImportKind::File => ImportForm::File,
        ImportKind::Call => ImportForm::Call,
    };
    let matters = match language {
        Language::Go => import.module.contains('.'),
        Language::Java => false,
        // Where a call finds a file is for whoever loads it to say.
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            form != ImportForm::Call || !import.module.starts_with(['.', '/'])
        }
        Language::Python => form != ImportForm::Call,
        Language::Rust => form == ImportForm::File || import.module.starts_with("crate"),
    };
    matters.then(|| PlacedImport {
        form,
        module: lines.name(&import.module, import.module_span),
        names: import.names.iter().map(|name| lines.name(&name.name, name.span)).collect(),
        star: import.star,
        top_level: import.top_level,
        weak: import.conditional || import.guarded,
        types_alone: import.type_only || import.erased,
    })
}

/// Lines and columns of a text.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after).collect() }
    }

    fn name(&self, name: &str, span: Span) -> PlacedName {
        let line = self.starts.partition_point(|start| *start <= span.start);
        let begin = self.starts[line.saturating_sub(1)];
        let columns = |end: usize| self.text.get(begin..end).map_or(0, |text| text.chars().count() + 1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        PlacedName {
            name: name.to_owned(),
            line: number(line),
            start_column: number(columns(span.start)),
            end_column: number(columns(span.end)),
        }
    }
}
