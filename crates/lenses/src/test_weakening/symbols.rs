//! Names that shipped code defines, as far as changed lines tell: what a removed test exercised may be gone as well.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::pattern::Pattern;

use super::gone::Found;
use super::names;
use crate::contract::{Fact, Inspection};
use qa_core::packet::{HunkView, Line, Packet};

/// Functions, methods, types and macros. Values are left out: a test mentions many that it does not test.
static DEFINITION: Pattern = Pattern::new(concat!(
    r"^\s*(?:(?:pub(?:\([^)]*\))?|export|default|declare|async|static|public|private|protected|internal|final|",
    r"abstract|override|virtual|open|inline|unsafe|extern|suspend|sealed|data|partial|const)\s+)*",
    r"(?:fn|def[pm]?|func|fun|function\s*\*?|class|struct|enum|union|trait|interface|type|module|defmodule|record|",
    r"object|protocol|macro_rules!)\s*(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_]\w{2,})",
    // Methods of Java, C# and their like, whose only word before the name is a type.
    r"|^\s*(?:(?:public|private|protected|internal|static|final|abstract|override|virtual|synchronized)\s+)+",
    r"(?:<[^>]*>\s*)?[\w.]+(?:<[^()]*>)?(?:\[\])*\s+([A-Za-z_]\w{2,})\s*\(",
    r"|^\s*(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$]\w{2,})[^=]*=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|\w+\s*=>)",
));

/// Methods of JavaScript and TypeScript, which no word announces.
static METHOD: Pattern = Pattern::new(
    r"^\s+(?:(?:async|get|set)\s+)?([A-Za-z_]\w{2,})(?:<[^()]*>)?\(.*\)\s*(?::[^;{]+[;{]|\{)\s*$",
);

/// A function given to a member: `exports.load = function`, `self.load = (path) =>`.
static ASSIGNED: Pattern =
    Pattern::new(r"^\s*(?:[\w$]+\.)+([A-Za-z_]\w{2,})\s*=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*=>)");

/// A word in quotes or before a colon: the name of an option, a field or a message.
static KEY: Pattern =
    Pattern::new(r#"["'`]([A-Za-z_]\w{3,})["'`]|^\s*(?:pub\s+|readonly\s+)?([A-Za-z_]\w{3,})\??:\s"#);

/// Words with which a definition can begin; a look at the first word spares most lines the search.
static OPENINGS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| OPENING_WORDS.split_whitespace().collect());
const OPENING_WORDS: &str = "\
    pub export default declare async static public private protected internal final abstract override \
    virtual open inline unsafe extern suspend sealed data partial const fn def defp defm func fun \
    function class struct enum union trait interface type module defmodule record object protocol \
    macro_rules synchronized let var";
const STATEMENTS: &[&str] = &[
    "if", "for", "while", "switch", "catch", "return", "function", "with", "else", "match", "elif", "await",
    "new",
];

/// Returns the name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let end = text.find(|each: char| !each.is_ascii_alphanumeric() && each != '_').unwrap_or(text.len());
    let first = &text[..end];
    if OPENINGS.contains(first)
        && let Some(captures) = DEFINITION.captures(line)
    {
        return captures.first_group().map(|name| name.as_str());
    }
    // The patterns come last: most lines are no definitions, and these checks cost next to nothing.
    if text[end..].starts_with('.')
        && let Some(captures) = ASSIGNED.captures(line)
    {
        return captures.get(1).map(|name| name.as_str());
    }
    let may_be_method =
        line.trim_end().ends_with(['{', ';']) && text.contains('(') && !STATEMENTS.contains(&first);
    let captures = may_be_method.then(|| METHOD.captures(line)).flatten()?;
    captures.get(1).map(|name| name.as_str())
}

/// Returns the names that lines of one side define, test functions included.
fn of_lines<'a>(lines: impl Iterator<Item = Line<'a>>) -> BTreeSet<&'a str> {
    lines.filter_map(|line| defined(line.text)).collect()
}

/// The names that a hunk defines on removed and on added lines.
struct Defined<'a> {
    before: BTreeSet<&'a str>,
    after: BTreeSet<&'a str>,
}

impl<'a> Defined<'a> {
    fn new(hunk: &HunkView<'a>) -> Self {
        Self { before: of_lines(hunk.removed()), after: of_lines(hunk.added()) }
    }
}

fn keys<'a>(lines: impl Iterator<Item = Line<'a>>) -> BTreeSet<&'a str> {
    let lines = lines.filter(|line| line.text.contains(['"', '\'', '`', ':']));
    let found = lines.flat_map(|line| KEY.captures_all(line.text));
    found.filter_map(|captures| captures.get(1).or(captures.get(2))).map(|word| word.as_str()).collect()
}

/// Tells what a file of shipped code defines or calls by name no more, and what anew.
pub(super) fn inspect(packet: &Packet<'_>, seen: &mut Inspection) {
    let new_words = keys(packet.added());
    let hunks: Vec<Defined<'_>> = packet.hunks().map(|hunk| Defined::new(&hunk)).collect();
    let gone = removed_names(&hunks);
    let words_gone: BTreeSet<&str> = keys(packet.removed()).difference(&new_words).copied().collect();
    if !gone.is_empty() || !words_gone.is_empty() {
        let path = packet.path().to_text().into_owned();
        let found = Found::SymbolsGone { path, defined: owned(gone), keys: owned(words_gone) };
        seen.facts.push(Fact::new(&found, None));
    }
    let mut new: BTreeSet<&str> = hunks.iter().flat_map(|hunk| &hunk.after).copied().collect();
    new.extend(new_words);
    if !new.is_empty() {
        seen.facts.push(Fact::new(&Found::SymbolsNew { names: owned(new) }, None));
    }
}

/// Definitions that went. One that makes room for another in the same hunk is renamed, and what tested it can test the
/// other, so each that comes takes away the one most like it; elsewhere in the file it does so when the names have a
/// word in common.
fn removed_names<'a>(hunks: &[Defined<'a>]) -> BTreeSet<&'a str> {
    let all_before: BTreeSet<&str> = hunks.iter().flat_map(|hunk| &hunk.before).copied().collect();
    let all_after: BTreeSet<&str> = hunks.iter().flat_map(|hunk| &hunk.after).copied().collect();
    let (mut gone, mut elsewhere) = (BTreeSet::new(), Vec::new());
    for hunk in hunks {
        let mut old: Vec<&str> = hunk.before.difference(&all_after).copied().collect();
        for &new in hunk.after.difference(&all_before) {
            match (0..old.len()).max_by_key(|&at| names::alike(old[at], new)) {
                Some(nearest) => drop(old.remove(nearest)),
                None => elsewhere.push(new),
            }
        }
        gone.extend(old);
    }
    for new in elsewhere {
        let parts = names::words_of_name(new);
        let like = gone.iter().filter(|name| !names::words_of_name(name).is_disjoint(&parts));
        if let Some(nearest) = like.max_by_key(|name| names::alike(name, new)).copied() {
            gone.remove(nearest);
        }
    }
    gone
}

fn owned(names: BTreeSet<&str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_in_each_language() {
        let cases: &[(&str, Option<&str>)] = &[
            ("pub(crate) async fn load<T>(x: T) {", Some("load")),
            ("func (c *Command) Print(i ...any) {", Some("Print")),
            ("    def save(self):", Some("save")),
            ("  def self.build", Some("build")),
            ("export default class Store {", Some("Store")),
            ("export const parse = (text) => text;", Some("parse")),
            ("  public static List<String> names(int x) {", Some("names")),
            ("macro_rules! check {", Some("check")),
            ("  refine<T>(check: (value: T) => boolean): this;", Some("refine")),
            ("  async load(path) {", Some("load")),
            ("    inst.refine = (check, params) => inst.check(check);", Some("refine")),
            ("  if (parse(text)) {", None),
            ("  parse(text);", None),
            ("return parse(text)", None),
            ("const LIMIT = 3;", None),
            ("// fn old() {}", None),
        ];
        for (line, expected) in cases {
            assert_eq!(defined(line), *expected, "{line}");
        }
    }
}
