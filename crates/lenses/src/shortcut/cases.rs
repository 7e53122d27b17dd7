//! Cases that are gone from the table of a test that stays.

use std::collections::BTreeSet;

use super::CASES;
use super::compared::Compared;
use super::unexplained::{Seen, letters};
use crate::contract::Fact;
use qa_reading::syntax::{Row, Table};

/// Shorter words tell nothing about a case.
const SHORTEST_WORD: usize = 3;
/// Letters and digits by which a case is recognized elsewhere in its file.
const SHORTEST_CASE: usize = 8;

/// Returns the cases that a table of the base has and head has nowhere, where the table gains none.
pub(super) fn inspect(compared: &Compared<'_>) -> Vec<Fact> {
    let older = compared.base.tables();
    let shrunk: Vec<&Table> = older.iter().filter(|table| table.is_cases && !table.rows.is_empty()).collect();
    if shrunk.is_empty() {
        return Vec::new();
    }
    let added = compared.packet.added().flat_map(|line| tokens_of(line.text)).collect();
    let head = Head { tables: compared.head.all_tables(), letters: letters(compared.head.text), added };
    shrunk.into_iter().filter_map(|table| lost_case(compared, table, &head)).collect()
}

/// The later version of a file, in which a case may stand elsewhere.
struct Head<'t> {
    tables: Vec<Table>,
    letters: String,
    /// Names, texts and numbers on added lines.
    added: BTreeSet<&'t str>,
}

impl Head<'_> {
    /// Returns whether a case stands in another table, in other code, or in what the change adds.
    fn has(&self, row: &Row) -> bool {
        let own = letters(&row.text);
        self.tables.iter().any(|other| has(other, row))
            || own.len() >= SHORTEST_CASE && self.letters.contains(&own)
            || tokens_of(&row.text).all(|token| self.added.contains(token))
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
    let kept: BTreeSet<String> = head.rows.iter().flat_map(|row| words_of(&row.text)).collect();
    let words = lost.iter().flat_map(|row| words_of(&row.text)).filter(|word| !kept.contains(word)).collect();
    let summary = match head.rows.len() {
        0 => "test goes through a table without cases".to_owned(),
        _ if lost.len() == 1 => "case is removed from a test".to_owned(),
        _ => format!("{} cases are removed from a test", lost.len()),
    };
    let draft = compared.at_base(CASES, first.span, &summary)?;
    Some(Fact::new(&Seen::CaseGone { text: first.text.clone(), words }, Some(draft)))
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
