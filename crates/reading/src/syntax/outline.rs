//! The words of an outline: spans in bytes, symbols, imports.

/// A part of a text, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// Returns whether two spans share a byte, or one is empty and inside the other.
    pub fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Returns the text of the part.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    Class,
    Constant,
    Enum,
    Field,
    Function,
    /// A name that an import brings into a module whose names others may import.
    Imported,
    Interface,
    Macro,
    Method,
    Module,
    Struct,
    Trait,
    Type,
    Variable,
}

/// Symbol that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    /// Set where other files may name it, by the language's own rules; for Python every name of a module that does not
    /// begin with an underscore.
    pub exported: bool,
    /// Set for a name of the file's own scope.
    pub top_level: bool,
    /// Set where it is defined only under some condition.
    pub(crate) conditional: bool,
    /// The whole definition.
    pub span: Span,
    pub name_span: Span,
}

/// The form of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportKind {
    /// An import at its usual place.
    Static,
    /// An import whose names the file hands on: `export … from`, `pub use`.
    Reexport,
    /// A call: `import(…)`, `require(…)`, `importlib.import_module(…)`.
    Call,
    /// `mod name;`, which is a file.
    File,
}

/// A name an import asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedName {
    /// The name in the other module; `default` for a default import.
    pub(crate) name: String,
    /// The name here, if it is another.
    pub(crate) alias: Option<String>,
    pub(crate) span: Span,
}

/// An import of a module or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub(crate) kind: ImportKind,
    /// The imported module, as the language writes it and without quotes: `./util`, `..pkg.mod`, `crate::a::b`.
    pub module: String,
    pub module_span: Span,
    /// The names asked for; empty where the module itself is.
    pub(crate) names: Vec<ImportedName>,
    /// The name the module itself gets here, if it is given one.
    pub(crate) alias: Option<String>,
    /// Set where every name is imported.
    pub(crate) star: bool,
    /// Set where it is declared to import types only.
    pub type_only: bool,
    /// Set where it imports types only, declared or not, so that a compiler leaves it out.
    pub(crate) erased: bool,
    /// Set where it stands in the file's own scope.
    pub(crate) top_level: bool,
    /// Set where it happens only under some condition: in a branch, behind `cfg`.
    pub(crate) conditional: bool,
    /// Set where its failure is caught.
    pub guarded: bool,
    pub span: Span,
}

impl Import {
    /// Returns whether it imports a name of the module.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|each| each.name == name)
    }
}

/// A call of a coroutine function that nothing waits for, so that it never runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedCoroutine {
    pub call: Span,
    /// The name where the function is defined.
    pub definition: Span,
}

/// The definitions and imports of a file. Every list is in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    pub symbols: Vec<Symbol>,
    pub imports: Vec<Import>,
    pub comments: Vec<Span>,
    /// Attributes of Rust and annotations of Java.
    pub attributes: Vec<Span>,
    pub strings: Vec<Span>,
    /// Bodies of loops and of comprehensions.
    pub(crate) loops: Vec<Span>,
    /// Functions and closures, which run when they are called.
    pub(crate) functions: Vec<Span>,
    /// Those of them that others run beside while they wait.
    pub(crate) asynchronous: Vec<Span>,
    /// Awaits inside of loops whose turns do not depend on one another.
    pub waits_in_turn: Vec<Span>,
    /// Calls of the file's own coroutine functions, as statements of asynchronous functions; Python alone.
    pub dropped_coroutines: Vec<DroppedCoroutine>,
    /// Tests, as far as the language marks them.
    pub tests: Vec<Span>,
    /// Those of them that do nothing and say nothing of why.
    pub idle_tests: Vec<Span>,
    /// The parts of the text that could not be parsed, or were not. Nothing there, or touching it, is to be judged.
    pub broken: Vec<Span>,
    /// Set where names may be defined in ways that the symbols do not show: macros, `globals()`, `module.exports`.
    pub(crate) dynamic: bool,
    /// Set where modules below the file may be found in ways that the tree does not show: a package that sets its
    /// `__path__` or works on what the interpreter has loaded.
    pub(crate) relocates: bool,
    /// Set where the file is a module by the language's own rules, and not a script or a declaration for all files.
    pub(crate) module: bool,
}

impl Outline {
    /// Returns the names of the definitions around a place, outermost first, as in `Session.send`; empty at the top of a
    /// file, or `None` where the text could not be parsed. A variable is one where it holds the function around the place.
    pub fn definitions_around(&self, at: usize) -> Option<String> {
        let here = Span { start: at, end: at + 1 };
        if self.broken.iter().any(|broken| broken.touches(here)) {
            return None;
        }
        let contains = |span: Span| span.start <= at && at < span.end;
        let around = self.symbols.iter().filter(|symbol| contains(symbol.span));
        let defining = around.filter(|symbol| match symbol.kind {
            SymbolKind::Class
            | SymbolKind::Function
            | SymbolKind::Macro
            | SymbolKind::Method
            | SymbolKind::Module
            | SymbolKind::Trait => true,
            SymbolKind::Constant | SymbolKind::Field | SymbolKind::Variable => {
                self.functions.iter().any(|function| {
                    contains(*function)
                        && symbol.name_span.end <= function.start
                        && function.end <= symbol.span.end
                })
            }
            SymbolKind::Enum
            | SymbolKind::Imported
            | SymbolKind::Interface
            | SymbolKind::Struct
            | SymbolKind::Type => false,
        });
        let names: Vec<&str> = defining.map(|symbol| symbol.name.as_str()).collect();
        Some(names.join("."))
    }
}
