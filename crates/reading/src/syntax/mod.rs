//! Outline of a source file: symbols, imports, comments, strings and tests, from one tolerant parse.

mod attributes;
mod behaviour;
mod branches;
mod c;
pub(crate) mod callers;
mod ci;
mod closed;
mod comments;
mod constants;
mod coroutines;
mod csharp;
mod dead;
mod ecma;
mod environment;
mod file_names;
mod flow;
mod go;
mod idle;
mod java;
mod kinds;
mod kotlin;
#[cfg(test)]
mod loop_tests;
mod marks;
pub(crate) mod members;
mod memo;
mod needs;
mod occurrences;
mod outline;
#[cfg(test)]
mod outline_tests;
mod overwritten;
mod php;
#[cfg(test)]
mod pieces;
mod presence;
mod python;
pub(crate) mod results;
mod ruby;
mod runs;
mod rust;
mod rust_text;
mod shape;
mod spelled;
mod test_blocks;
mod test_calls;
mod test_cases;
#[cfg(test)]
mod tests;
mod trivial;
mod uncollected;
mod version;
mod versions;
mod walk;
mod written;

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Point, Range};

pub use behaviour::{
    Behaviour, Check, Declared, Demand, Effect, Facts, Fate, Function, Guard, Handler, ParsedSource, Row,
    Statement, Table, Tolerance,
};
pub use branches::Branch;
pub use ci::is_ci_variable;
pub use comments::{comments, gives_reason, has_reason, without_comment};
pub(crate) use flow::is_function;
pub(crate) use kinds::{Kind, Kinds};
pub use memo::parse_once;
pub(crate) use memo::{
    CURRENT_WITHIN, Cache, TREES_WITHIN, parse_script_once, parse_tree_once, parse_version_once,
};
pub use needs::NEEDS;
pub use outline::{Import, ImportKind, ImportedName, Outline, Span, Symbol, SymbolKind};
pub use spelled::{Argument, Asks, Form, Spelled, Value};
pub use test_cases::{Mark, MarkKind, TestCase, TestFile};
pub use version::OtherVersion;
pub(crate) use walk::outline;
pub(crate) use written::written_imports;

use crate::tree::Tree;

/// Larger texts are not parsed.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// A parser asks after every hundred steps whether to go on; real code takes about one step a byte, and what takes many
/// times that is made to.
const STEPS_PER_ASKING: usize = 100;
const MOST_STEPS_PER_BYTE: usize = 64;
/// Steps that any text may take.
const FREE_STEPS: usize = 100_000;

/// A language with a grammar here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    C,
    CSharp,
    Cpp,
    Go,
    Java,
    JavaScript,
    Kotlin,
    Php,
    Python,
    Ruby,
    Rust,
    Tsx,
    TypeScript,
}

impl Language {
    pub(crate) const ALL: [Self; 13] = [
        Self::C,
        Self::CSharp,
        Self::Cpp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Kotlin,
        Self::Php,
        Self::Python,
        Self::Ruby,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
    ];

    /// Returns the language of a path, by its ending.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending {
            "c" => Self::C,
            "cs" => Self::CSharp,
            // A header of C is one of C++ as well, nearly always.
            "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "ipp" => Self::Cpp,
            "go" => Self::Go,
            "java" => Self::Java,
            "kt" | "kts" => Self::Kotlin,
            "cjs" | "js" | "jsx" | "mjs" => Self::JavaScript,
            "php" => Self::Php,
            "py" | "pyi" => Self::Python,
            "gemspec" | "rake" | "rb" => Self::Ruby,
            "rs" => Self::Rust,
            "tsx" => Self::Tsx,
            "cts" | "mts" | "ts" => Self::TypeScript,
            _ => return None,
        })
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }
}

/// Returns the outline of a text. It never fails: what could not be parsed is in [`Outline::broken`], all of a text
/// that is too large or takes too long, and nothing there is to be judged.
pub fn parse(language: Language, text: &str) -> Outline {
    match parse_tree(&language.grammar(), text, &[]) {
        Some(tree) => outline(language, &tree, text),
        None => unread(text),
    }
}

/// Returns the outline of a text that could not be parsed.
pub(crate) fn unread(text: &str) -> Outline {
    let whole = Span { start: 0, end: text.len() };
    Outline { broken: vec![whole], ..Outline::default() }
}

thread_local! {
    /// The parser of each thread: making one costs as much as parsing a small file.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses a text, or only some spans of it, in their order. Returns `None` for a text that is too large or takes too
/// long.
pub(crate) fn parse_tree(grammar: &tree_sitter::Language, text: &str, spans: &[Span]) -> Option<Tree> {
    parse_by(grammar, text, spans, None)
}

/// Like [`parse_tree`], by a tree that was edited to have the places of this text.
fn parse_by(
    grammar: &tree_sitter::Language,
    text: &str,
    spans: &[Span],
    edited: Option<&tree_sitter::Tree>,
) -> Option<Tree> {
    if text.len() > MAX_BYTES {
        return None;
    }
    PARSER.with_borrow_mut(|parser| parse_with(parser, grammar, text, spans, edited))
}

fn parse_with(
    parser: &mut Parser,
    grammar: &tree_sitter::Language,
    text: &str,
    spans: &[Span],
    edited: Option<&tree_sitter::Tree>,
) -> Option<Tree> {
    // A parse that was stopped would be continued.
    parser.reset();
    parser.set_language(grammar).ok()?;
    parser.set_included_ranges(&ranges(text, spans)).ok()?;
    let most = (FREE_STEPS + text.len() * MOST_STEPS_PER_BYTE) / STEPS_PER_ASKING;
    let mut asked = 0;
    let bytes = text.as_bytes();
    let parsed = parser.parse_with_options(
        &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
        edited,
        Some(ParseOptions::new().progress_callback(&mut |_| {
            asked += 1;
            if asked > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })),
    );
    parsed.map(Tree::new)
}

/// Adds rows and columns to spans, which are in order.
fn ranges(text: &str, spans: &[Span]) -> Vec<Range> {
    let (mut at, mut point) = (0, Point { row: 0, column: 0 });
    let mut ranges = Vec::with_capacity(spans.len());
    for &Span { start, end } in spans {
        let start_point = advanced(point, &text[at..start]);
        let end_point = advanced(start_point, &text[start..end]);
        ranges.push(Range { start_byte: start, end_byte: end, start_point, end_point });
        (at, point) = (end, end_point);
    }
    ranges
}

/// Returns the point behind a text that begins at a point.
fn advanced(from: Point, text: &str) -> Point {
    match text.rfind('\n') {
        Some(newline) => {
            Point { row: from.row + text.matches('\n').count(), column: text.len() - newline - 1 }
        }
        None => Point { column: from.column + text.len(), ..from },
    }
}
