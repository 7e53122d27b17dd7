//! Cases that are gone from the table of a test that stays.

use std::collections::BTreeSet;
use std::ops::Range;

use super::compared::Compared;
use super::statements::Statements;
use super::unexplained::{Seen, letters};
use super::{CASES, loops};
use crate::contract::{Draft, DraftExt, Fact};
use crate::pattern::Pattern;
use qa_contracts::v1::Scope;
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Row, Table};

/// Shorter words tell nothing about a case.
const SHORTEST_WORD: usize = 3;
/// Letters and digits by which a case is recognized elsewhere in its file.
const SHORTEST_CASE: usize = 8;

/// Returns the cases that a table of the base has and head has nowhere, where the table gains none.
pub(super) fn inspect(compared: &Compared<'_>) -> Vec<Fact> {
    let mut facts = sliced(compared);
    facts.extend(loops::left_early(compared));
    let older = compared.base.tables();
    let shrunk: Vec<&Table> = older.iter().filter(|table| table.is_cases && !table.rows.is_empty()).collect();
    if shrunk.is_empty() {
        return facts;
    }
    let added = compared.packet.added().flat_map(|line| tokens_of(line.text)).collect();
    let head = Head {
        tables: compared.head.all_tables(),
        older: compared.base.all_tables(),
        letters: letters(compared.head.text),
        older_letters: letters(compared.base.text),
        added,
    };
    facts.extend(
        shrunk.into_iter().filter_map(|table| {
            lost_case(compared, table, &head).or_else(|| emptied(compared, table, &head))
        }),
    );
    facts
}

const WITHOUT_CASES: &str = "test goes through a table without cases";

/// A name that is given an empty collection, a declaration of one in Go, and the empty result of a function.
static EMPTY: Pattern = Pattern::new(concat!(
    r"^(?:(.*[^=!<>:\s])\s*(?::=|=>|=)|.*\breturn)\s*&?(?:",
    r"\[\s*\](?:\.freeze|\s*as const)?|\{\s*\}|\(\s*\)|vec!\[\s*\]|nil|null|None|undefined",
    r"|(?:new\s+)?[\w.:]*(?:Array|Dictionary|HashMap|HashSet|List|Map|Seq|Sequence|Set|Stream|Vec|Enumerable|Collections)",
    r"(?:(?:::)?<[^()]*>)?(?:(?:\.|::)(?:of|new|[eE]mpty\w*))?(?:<[^()]*>)?\(\s*\)(?:\s*\{\s*\})?",
    r"|(?:empty\w+|listOf|setOf|mapOf|arrayOf|sequenceOf)(?:<[^()]*>)?\(\s*\)",
    r"|new\s+[\w.<>?]+\[0?\]\s*(?:\{\s*\})?",
    r")\s*[;,]?\s*(?:#.*|//.*)?$|^\s*var\s+(\w+)\s+(?:\[\]|map\[)[^={]*$",
));
/// Calls and signs behind the name of a collection that gains members.
const GROWS: &[&str] = &[
    " += ", " << ", " |= ", ".Add", ".add", ".append", ".concat", ".emplace", ".extend", ".insert", ".push",
    ".put", ".set(", ".unshift", ".update(",
];

/// Reports a table of the base in the place of which head has a collection without members in other words.
fn emptied(compared: &Compared<'_>, base: &Table, newer: &Head<'_>) -> Option<Fact> {
    let (owner, name) = name_of(base).rsplit_once(' ')?;
    let is_kept = newer.tables.iter().any(|table| name_of(table) == name_of(base));
    if is_kept || is_filled(compared.head.text, name) {
        return None;
    }
    let line = compared.packet.added().find(|line| {
        let Some(found) = EMPTY.captures(line.text) else { return false };
        match found.get(1).or(found.get(2)) {
            Some(own) => assigned_name(own.as_str()) == name,
            None => owner == name && compared.head.stands_in(line, name),
        }
    })?;
    let columns = line.text.len() - line.text.trim_start().len()..line.text.trim_end().len();
    let draft = Draft::on_line(CASES, compared.packet, &line, columns, WITHOUT_CASES);
    let text = base.rows.first()?.text.clone();
    Some(Fact::new(&Seen::CaseGone { text, words: BTreeSet::new(), is_all: true }, Some(draft)))
}

/// Returns the name in what stands before the sign of an assignment: without keywords, types and brackets.
fn assigned_name(before: &str) -> &str {
    let mut colons = before.match_indices(':').map(|(at, _)| at);
    let typed = colons.find(|at| !before[at + 1..].starts_with(':') && !before[..*at].ends_with(':'));
    let name = before[..typed.unwrap_or(before.len())].trim_end().trim_end_matches(['[', ']']);
    name.rsplit(|sign: char| !joins(sign)).next().unwrap_or_default()
}

/// Returns whether something puts members into a collection, or takes another one in its place.
fn is_filled(text: &str, name: &str) -> bool {
    let mut assigned = 0;
    for place in places(text, name) {
        let (before, behind) = (&text[..place.start], &text[place.end..]);
        let line = behind.split('\n').next().unwrap_or_default();
        let is_member =
            line.starts_with('[') && line.split_once(']').is_some_and(|(_, rest)| is_assigned(rest));
        let is_lent = ["append(", "&mut ", "push("].iter().any(|word| before.ends_with(word));
        if is_member || is_lent || GROWS.iter().any(|word| line.starts_with(word)) {
            return true;
        }
        assigned += usize::from(is_assigned(line));
    }
    assigned > 1
}

/// Returns whether a text begins with the sign of an assignment.
fn is_assigned(text: &str) -> bool {
    let text = text.trim_start();
    let rest = text.strip_prefix(":=").or_else(|| text.strip_prefix('='));
    rest.is_some_and(|rest| !rest.starts_with(['=', '>']))
}

/// A loop, or what gives a test its cases.
static WALKS: Pattern = Pattern::new(r"(?i)\bfor(?:each)?\b|\beach\b|\bparametri[sz]e|\brange\b|\bvalues\b");
/// A part of a list by the number of its members.
static SLICE: Pattern = Pattern::new(
    r"[\w})\]](\[:\d+\]|\[0:\d+\]|\[-?\d+:\]|\[\.\.\d+\])|(?:[\w})\]]|^)\s*(\.slice\(\s*0\s*,\s*\d+\s*\)|(?:\.iter\(\))?\.(?:[tT]ake|limit|first)\(\s*\d+\s*\))",
);

/// Reports loops and tables that go through a part of what they went through at the base.
fn sliced(compared: &Compared<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if compared.packet.file.scope != Scope::Test {
        return facts;
    }
    if compared.packet.added().all(|line| !SLICE.is_match(line.text)) {
        return facts;
    }
    let head = Statements::at_head(compared.packet);
    let base = Statements::at_base(compared.packet);
    for hunk in compared.packet.hunks() {
        let gone = base.iter().flat_map(|base| base.written_on(hunk.removed()));
        let removed: BTreeSet<String> = hunk
            .removed()
            .map(|line| without_blanks(line.text))
            .chain(gone.map(|text| without_blanks(&text)))
            .collect();
        for line in hunk.added() {
            let Some(slice) = slice_in(line.text) else { continue };
            let own = head.written_on(std::iter::once(line)).into_iter();
            let mut texts = own.chain([line.text.trim().to_owned()]);
            if texts.any(|text| WALKS.is_match(&text) && is_part_of(&text, &removed)) {
                let summary = "test goes through a part of its cases";
                let draft = Draft::on_line(CASES, compared.packet, &line, slice, summary);
                let text = line.text.trim().to_owned();
                let seen = Seen::CaseGone { text, words: BTreeSet::new(), is_all: true };
                facts.push(Fact::new(&seen, Some(draft)));
            }
        }
    }
    facts
}

/// Returns whether a statement is a removed one with a part of a list in the place of the list.
fn is_part_of(text: &str, removed: &BTreeSet<String>) -> bool {
    let Some(slice) = slice_in(text) else { return false };
    removed.contains(&without_blanks(&[&text[..slice.start], &text[slice.end..]].concat()))
}

fn slice_in(text: &str) -> Option<Range<usize>> {
    let found = SLICE.captures(text)?;
    found.get(1).or(found.get(2)).map(|slice| slice.range())
}

/// Returns a text as it is compared with one that a formatter may have broken elsewhere.
fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The later version of a file, in which a case may stand elsewhere.
struct Head<'t> {
    tables: Vec<Table>,
    /// Tables of the base.
    older: Vec<Table>,
    letters: String,
    /// Letters and digits of the base.
    older_letters: String,
    /// Names, texts and numbers on added lines.
    added: BTreeSet<&'t str>,
}

impl Head<'_> {
    /// Returns whether a case comes to stand in another table, in other code, or in what the change adds.
    fn has(&self, row: &Row) -> bool {
        let own = letters(&row.text);
        self.tables.iter().any(|other| self.is_moved(other, row))
            || own.len() >= SHORTEST_CASE && self.letters.contains(&own) && self.is_as_often(&own)
            || tokens_of(&row.text).all(|token| self.added.contains(token))
    }

    /// Returns whether a table has a case that it did not have at the base.
    fn is_moved(&self, table: &Table, row: &Row) -> bool {
        let mut older = self.older.iter().filter(|old| name_of(old) == name_of(table));
        has(table, row) && !older.any(|old| has(old, row))
    }

    /// Returns whether a text stands in head as often as at the base.
    fn is_as_often(&self, letters: &str) -> bool {
        self.letters.matches(letters).count() >= self.older_letters.matches(letters).count()
    }
}

/// Returns the names, texts and numbers of a text.
fn tokens_of(text: &str) -> impl Iterator<Item = &str> {
    let tokens = text.split(|sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '-'));
    tokens.filter(|token| token.contains(char::is_alphanumeric))
}

fn lost_case(compared: &Compared<'_>, base: &Table, newer: &Head<'_>) -> Option<Fact> {
    let head = same_table(base, &newer.tables)?;
    if head.rows.iter().any(|row| !has(base, row)) {
        return None;
    }
    let mut lost: Vec<&Row> = base.rows.iter().filter(|row| !has(head, row)).collect();
    lost.retain(|row| !newer.has(row));
    let first = *lost.first()?;
    if head.rows.is_empty()
        && is_filled(compared.head.text, name_of(base).rsplit(' ').next().unwrap_or_default())
    {
        return None;
    }
    let kept: BTreeSet<String> = head.rows.iter().flat_map(|row| words_of(&row.text)).collect();
    let words = lost.iter().flat_map(|row| words_of(&row.text)).filter(|word| !kept.contains(word)).collect();
    let summary = match head.rows.len() {
        0 => WITHOUT_CASES.to_owned(),
        _ if lost.len() == 1 => "case is removed from a test".to_owned(),
        _ => format!("{} cases are removed from a test", lost.len()),
    };
    let draft = compared.at_base(CASES, first.span, &summary)?;
    Some(Fact::new(
        &Seen::CaseGone { text: first.text.clone(), words, is_all: head.rows.is_empty() },
        Some(draft),
    ))
}

/// Returns the table of head that a table of the base is now: that of its name with most of its rows.
fn same_table<'t>(base: &Table, newer: &'t [Table]) -> Option<&'t Table> {
    let name = name_of(base);
    let of_name = newer.iter().filter(|table| name_of(table) == name);
    let best = of_name.max_by_key(|table| (shared(base, table), table.key == base.key))?;
    let is_same = shared(base, best) > 0 || best.rows.is_empty() && best.key == base.key;
    is_same.then_some(best)
}

fn name_of(table: &Table) -> &str {
    table.key.rsplit_once('#').map_or(table.key.as_str(), |(name, _)| name)
}

fn shared(one: &Table, other: &Table) -> usize {
    one.rows.iter().filter(|row| has(other, row)).count()
}

fn has(table: &Table, row: &Row) -> bool {
    table.rows.iter().any(|other| other.text == row.text)
}

/// Returns the words of a case that tell what it is about: names, texts and longer numbers.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    const COMMON: &[&str] =
        &["False", "None", "True", "err", "false", "name", "new", "nil", "null", "true", "want", "wantErr"];
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    words.filter(|word| word.len() >= SHORTEST_WORD && !COMMON.contains(word)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_collections_are_told_from_others() {
        for pattern in [&EMPTY, &SLICE, &WALKS] {
            pattern.check();
        }
        for (line, expected) in [
            ("CASES = []", Some("CASES")),
            ("const cases: Case[] = [];", Some("cases")),
            ("\ttests := []testCase{}", None),
            ("\tvar tests []testCase", Some("tests")),
            ("List<String> names = List.of();", Some("names")),
            ("val names = emptyList<String>()", Some("names")),
            ("var names = new string[] { };", Some("names")),
            ("var names = new List<object[]>();", Some("names")),
            ("public static IEnumerable<object[]> Cases => Enumerable.Empty<object[]>();", Some("Cases")),
            ("CASES = [].freeze", Some("CASES")),
            ("  std::vector<int> cases = {};", Some("cases")),
            ("const CASES: &[u8] = &[];", Some("CASES")),
            ("cases = load()", None),
            ("assert cases == []", None),
        ] {
            let found = EMPTY.captures(line);
            let name = found.as_ref().and_then(|found| found.get(1).or(found.get(2)));
            assert_eq!(name.map(|name| assigned_name(name.as_str())), expected, "{line}");
        }
        assert!(EMPTY.is_match("        return Stream.empty();"));
        assert!(!EMPTY.is_match("        return Stream.of(1);"));
    }

    #[test]
    fn collections_that_are_filled_are_told_from_others() {
        for (text, expected) in [
            ("rows = []\nfor row in rows:", false),
            ("rows = []\nrows.append(1)", true),
            ("rows = []\nrun(rows.append)", true),
            ("rows := []int{}\nrows = append(rows, 1)", true),
            ("rows = {}\nrows[1] = 2", true),
            ("rows = []\nif a == rows[0]:", false),
            ("rows = []\nrows = load()", true),
            ("arrows.append(1)\nrows = []", false),
        ] {
            assert_eq!(is_filled(text, "rows"), expected, "{text}");
        }
    }
}
