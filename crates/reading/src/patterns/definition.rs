//! Patterns as pages of rules state them, and the words that each brings into a file.

use super::words::{Choice, Needs, Spelling};
use crate::names::joins;

/// The code that has to run around a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The innermost function is asynchronous.
    AsyncFunction,
    /// A loop repeats it, and no function inside of the loop holds it.
    Loop,
    /// It is the first wait in a loop over something whose turns do not need each other.
    LoopInTurn,
    /// A test, as the language marks them.
    Test,
}

/// Demands on what a `$NAME` of a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// Dotted names, one of which it has to be; as a name behind a dot, one of these words.
    pub names: &'static [&'static str],
    /// Requires (`true`) or forbids (`false`) a literal; `None` allows both.
    pub literal: Option<bool>,
    /// Regular expression over the value of a string, or over the text of anything else; empty for any.
    pub matches: &'static str,
    /// Like `matches`, for values that are excluded.
    pub not_matches: &'static str,
}

/// A pattern as a page states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Names of [`Grammar::for_language`](super::Grammar::for_language).
    pub languages: &'static [&'static str],
    /// Spellings of which one has to match.
    pub code: &'static [&'static str],
    /// Modules whose import is a match.
    pub imports: &'static [&'static str],
    /// Import statements that the names of the pattern are resolved by.
    pub using: &'static [&'static str],
    /// Variable or named argument that is reported; empty for the whole match.
    pub report: &'static str,
    pub variables: &'static [Variable],
    /// Contexts that a match has to be in, all of them.
    pub inside: &'static [Context],
    /// Patterns that take a match back where they match the same node.
    pub unless: &'static [&'static str],
    /// Requires the match to be a statement.
    pub statement: bool,
    /// Regular expression that takes a match back where the text of the statement has a match; empty for none.
    pub not_near: &'static str,
}

impl Variable {
    /// Returns a variable without demands.
    pub const fn any(name: &'static str) -> Self {
        Self { name, names: &[], literal: None, matches: "", not_matches: "" }
    }

    /// Returns a variable that is one of some dotted names.
    pub const fn one_of(name: &'static str, names: &'static [&'static str]) -> Self {
        Self { names, ..Self::any(name) }
    }

    /// Returns a variable whose value has names, calls or expressions in it.
    pub const fn computed(name: &'static str) -> Self {
        Self { literal: Some(false), ..Self::any(name) }
    }

    /// Returns a variable whose value is written out in full.
    pub const fn literal(name: &'static str) -> Self {
        Self { literal: Some(true), ..Self::any(name) }
    }

    /// Demands a match of a regular expression.
    pub const fn matching(self, matches: &'static str) -> Self {
        Self { matches, ..self }
    }

    /// Refuses the matches of a regular expression.
    pub const fn not_matching(self, not_matches: &'static str) -> Self {
        Self { not_matches, ..self }
    }
}

impl Definition {
    /// Returns a definition of some spellings without demands.
    pub const fn new(languages: &'static [&'static str], code: &'static [&'static str]) -> Self {
        Self {
            languages,
            code,
            imports: &[],
            using: &[],
            report: "",
            variables: &[],
            inside: &[],
            unless: &[],
            statement: false,
            not_near: "",
        }
    }

    /// Sets the demands on the variables.
    pub const fn with(self, variables: &'static [Variable]) -> Self {
        Self { variables, ..self }
    }

    /// Sets the variable or named argument that is reported.
    pub const fn reporting(self, report: &'static str) -> Self {
        Self { report, ..self }
    }

    /// Sets the import statements by which names are resolved.
    pub const fn using(self, using: &'static [&'static str]) -> Self {
        Self { using, ..self }
    }

    /// Sets patterns that drop a match.
    pub const fn unless(self, unless: &'static [&'static str]) -> Self {
        Self { unless, ..self }
    }

    /// Sets the contexts that a match has to be in.
    pub const fn inside(self, inside: &'static [Context]) -> Self {
        Self { inside, ..self }
    }

    /// Sets a regular expression that drops a match where the statement matches it.
    pub const fn not_near(self, not_near: &'static str) -> Self {
        Self { not_near, ..self }
    }

    /// Requires the match to be a statement.
    pub const fn as_statement(self) -> Self {
        Self { statement: true, ..self }
    }

    /// Returns the words that a file with a match has.
    pub(super) fn words(&self) -> Needs<&'static str> {
        let of_code = self.code.iter().map(|&code| words_of(code, self.variables));
        let of_imports = (!self.imports.is_empty())
            .then(|| Spelling { choices: vec![Choice { words: self.imports.to_vec() }] });
        Needs { spellings: of_code.chain(of_imports).collect() }
    }
}

/// Words of a pattern that may be spelled otherwise in a match, or not at all.
const SPELLED_OTHERWISE: &[&str] =
    &["FALSE", "False", "NULL", "None", "TRUE", "True", "false", "new", "nil", "null", "true", "undefined"];

/// Returns the words that one spelling brings into a file. Of a dotted name these are the last name, and the one before,
/// which is written in an import or before the dot; a type may be known to a file that does not say where it is from.
fn words_of(code: &'static str, variables: &[Variable]) -> Spelling<&'static str> {
    let mut choices = Vec::new();
    let mut chain: Vec<&'static str> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_variable = first == '$' && rest[1..].starts_with(|next: char| next.is_ascii_uppercase());
        let from = usize::from(is_variable);
        if is_variable || joins(first) {
            let behind = rest[from..].trim_start_matches(joins);
            let word = &rest[from..rest.len() - behind.len()];
            rest = behind;
            if is_variable {
                if let Some(variable) = variables.iter().find(|variable| variable.name == word) {
                    choices.extend(path_words(variable.names));
                }
                chain.clear();
            } else {
                chain.push(word);
            }
        } else if matches!(first, '"' | '\'' | '`') {
            let inside = rest[1..].split(first).next().unwrap_or("");
            rest = rest.get(inside.len() + 2..).unwrap_or("");
            let names = rest.trim_start().starts_with([':', '=']) && inside.chars().all(joins);
            choices.extend(names.then(|| Choice { words: vec![inside] }));
        } else {
            rest = &rest[first.len_utf8()..];
        }
        let dot = [".", "::", "?.", "->"].into_iter().find(|dot| {
            rest.strip_prefix(dot)
                .is_some_and(|after| after.starts_with(|next: char| joins(next) || next == '$'))
        });
        if let Some(dot) = dot.filter(|_| !chain.is_empty()) {
            rest = &rest[dot.len()..];
            continue;
        }
        choices.extend(chain_words(&chain));
        chain.clear();
    }
    Spelling { choices }
}

fn chain_words(chain: &[&'static str]) -> Vec<Choice<&'static str>> {
    let Some((last, before)) = chain.split_last() else { return Vec::new() };
    if SPELLED_OTHERWISE.contains(last) || last.starts_with(|first: char| first.is_ascii_digit()) {
        return Vec::new();
    }
    let is_type = last.starts_with(char::is_uppercase);
    let before = before.last().filter(|_| !is_type);
    [Some(last), before].into_iter().flatten().map(|word| Choice { words: vec![*word] }).collect()
}

/// Returns the words that one of some dotted names brings into a file.
fn path_words(paths: &[&'static str]) -> Vec<Choice<&'static str>> {
    let choices = [0, 1].into_iter().filter_map(|from_end| {
        let words: Option<Vec<_>> = paths.iter().map(|path| word_of_path(path, from_end)).collect();
        words.filter(|words| !words.is_empty()).map(|words| Choice { words })
    });
    choices.collect()
}

/// Returns a word of a dotted name, counted from its end; `None` for the ones before a type.
fn word_of_path(path: &'static str, from_end: usize) -> Option<&'static str> {
    let is_type = path.rsplit(NAME_ENDS).next().is_some_and(|last| last.starts_with(char::is_uppercase));
    if from_end > 0 && is_type {
        return None;
    }
    path.rsplit(NAME_ENDS).filter(|word| !word.is_empty()).nth(from_end)
}

/// Signs between the names of a dotted name.
const NAME_ENDS: [char; 3] = ['.', '/', ':'];
