//! Tests that expect something else, or less, while nothing else of the change tells why.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::checkers::none_fails;
use super::compared::{Compared, Pair};
use super::repeated::{asserts_less, gone_from, is_reworded, without};
use super::{EXPECTED, REMOVED, SNAPSHOT, blurred, cases, helpers};
use crate::checking::{any_may_check, is_idle};
use crate::contract::{Draft, DraftExt, Fact, Lookups};
use crate::mentions::has_word;
use qa_contracts::v1::{ChangeKind, FileClass, MentionKind, Scope, Side};
use qa_core::packet::{HunkView, Line, Packet};
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Check, Demand, Function, Span};

/// Maximum number of changed files that are read for a reason; a larger change may have one anywhere.
const MOST_FILES: usize = 60;
/// Shorter words tell nothing about what an assertion looks at.
const SHORTEST: usize = 3;

/// A part of a change that tells why a test expects something else, or a draft that waits for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Seen {
    /// Another value is expected; the draft says where.
    Expected,
    /// Other values of the subject are taken as well; the draft says where.
    Blurred,
    /// An assertion is gone, with its normalized text and the names in it; the draft says where it was. Where a weaker one
    /// takes its place, only a name that the product loses tells why. The functions that the test calls from now on check
    /// in its place, unless they can fail nothing.
    Gone { text: String, names: BTreeSet<String>, is_replaced: bool, checkers: Vec<String> },
    /// A case is gone from a table, with its normalized text and the words in it; the draft says where it was. Where all
    /// are gone, only a test that has them tells why.
    CaseGone { text: String, words: BTreeSet<String>, is_all: bool },
    /// A file that what tests see may depend on.
    Reason { path: String },
    /// A file of tests.
    Tests { path: String },
}

/// Returns what a file may explain.
pub(super) fn reason(packet: &Packet<'_>) -> Option<Fact> {
    let path = packet.path().to_text().into_owned();
    if is_silent(packet, &path) || is_snapshot(&path) {
        return None;
    }
    let is_test = packet.file.scope == Scope::Test && packet.file.language.is_some() || is_in_tests(packet);
    Some(Fact::new(&if is_test { Seen::Tests { path } } else { Seen::Reason { path } }, None))
}

/// Returns whether every changed line of a file of Rust stands in the module of its tests.
fn is_in_tests(packet: &Packet<'_>) -> bool {
    let base = packet.text.full_base.as_deref().and_then(tests_from);
    let head = packet.text.full_head.as_deref().and_then(tests_from);
    let (Some(base), Some(head)) = (base, head) else { return false };
    packet.removed().all(|line| line.number >= base) && packet.added().all(|line| line.number >= head)
}

/// Returns the line on which the tests of a file of Rust begin.
fn tests_from(text: &str) -> Option<u64> {
    text.find("#[cfg(test)]").map(|at| text[..at].matches('\n').count() as u64 + 1)
}

/// Returns whether a file tells nothing about what code gives: prose, and how CI runs.
fn is_silent(packet: &Packet<'_>, path: &str) -> bool {
    let is_prose = [".adoc", ".md", ".mdx", ".rst"].iter().any(|ending| path.ends_with(ending));
    let is_of_service =
        [".changeset/", ".circleci/", ".github/", ".gitlab/"].iter().any(|begin| path.starts_with(begin));
    packet.file.scope == Scope::Docs || packet.file.class == FileClass::Docs || is_prose || is_of_service
}

/// Returns whether a file holds the output that tests expect, as a tool wrote it.
pub(super) fn is_snapshot(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.contains("__snapshots__/")
        || path.contains("/snapshots/") && name.ends_with(".snap")
        || [".snap", ".golden", ".snap.new"].iter().any(|ending| name.ends_with(ending))
        || [".approved.", ".verified.", ".golden."].iter().any(|part| name.contains(part))
        || is_expected_data(path, name)
}

/// Returns whether a file of data stands in a directory of what tests expect.
fn is_expected_data(path: &str, name: &str) -> bool {
    const EXPECTED: &[&str] = &["expectations", "expected", "golden", "goldens"];
    const TESTS: &[&str] = &["__tests__", "fixtures", "spec", "test", "testdata", "tests"];
    const DATA: &[&str] = &["csv", "html", "json", "out", "svg", "toml", "txt", "xml", "yaml", "yml"];
    let ending = name.rsplit('.').next().unwrap_or_default();
    let mut parts = path.split('/');
    DATA.contains(&ending)
        && parts.clone().any(|part| EXPECTED.contains(&part))
        && parts.any(|part| TESTS.contains(&part))
}

/// Returns a snapshot that the change writes anew, in place of what stood there.
pub(super) fn snapshot(packet: &Packet<'_>) -> Option<Fact> {
    if packet.file.kind != ChangeKind::Modified || !is_snapshot(&packet.path().to_text()) {
        return None;
    }
    let replaced = packet.hunks().find(|hunk| is_other(hunk) && hunk.added().any(|line| is_text(line.text)));
    // Entries of a file of many snapshots go with their tests, or were left behind.
    let is_single = !packet.path().to_text().ends_with(".snap");
    let shortened = if is_single { packet.hunks().find(is_other) } else { None };
    let summary = "snapshot is rewritten and no code of the change explains it";
    let draft = match (&replaced, &shortened) {
        (Some(hunk), _) => {
            let line = hunk.added().find(|line| is_text(line.text))?;
            Draft::on_line(SNAPSHOT, packet, &line, code_of(line.text), summary)
        }
        (None, Some(hunk)) => {
            let line = hunk.removed().find(|line| is_text(line.text))?;
            Draft::on_base_line(SNAPSHOT, packet, &line, code_of(line.text), summary)
        }
        (None, None) => return None,
    };
    Some(Fact::new(&Seen::Expected, Some(draft)))
}

/// Returns whether a hunk takes output away, and not only white space and signs.
fn is_other(hunk: &HunkView<'_>) -> bool {
    letters_of(hunk.removed()) != letters_of(hunk.added()) && hunk.removed().any(|line| is_text(line.text))
}

/// Returns the columns of a line without the blanks around it.
fn code_of(line: &str) -> std::ops::Range<usize> {
    line.len() - line.trim_start().len()..line.trim_end().len()
}

/// Returns the letters and digits of some lines.
fn letters_of<'l>(lines: impl Iterator<Item = Line<'l>>) -> String {
    lines.flat_map(|line| line.text.chars()).filter(|sign| sign.is_alphanumeric()).collect()
}

/// Returns whether a line of a snapshot is output, and not what the tool notes about it.
fn is_text(line: &str) -> bool {
    const NOTES: &[&str] = &[
        "// Jest",
        "// Vitest",
        "assertion_line:",
        "created:",
        "creator:",
        "expression:",
        "info:",
        "source:",
    ];
    line.chars().any(char::is_alphanumeric) && !NOTES.iter().any(|note| line.starts_with(note))
}

/// Returns the expectations of tests that differ, where nothing else of their file does, and assertions that are gone.
pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = pairs.iter().flat_map(|pair| gone(compared, pair)).collect();
    facts.extend(cases::inspect(compared));
    let blurred = pairs.iter().flat_map(|pair| blurred::inspect(compared, pair));
    facts.extend(blurred.map(|draft| Fact::new(&Seen::Blurred, Some(draft))));
    let turned: Vec<Turned<'_>> = pairs.iter().flat_map(|pair| turned(compared, pair)).collect();
    let (old, new): (Vec<Span>, Vec<Span>) =
        turned.iter().map(|turned| (turned.old.span, turned.new.span)).unzip();
    if turned.is_empty() || !compared.base.changes_only(&old) || !compared.head.changes_only(&new) {
        return facts;
    }
    let summary = "expected value is changed and no code of the change explains it";
    let drafts = new.iter().filter_map(|place| compared.at_head(EXPECTED, *place, summary));
    facts.extend(drafts.map(|draft| Fact::new(&Seen::Expected, Some(draft))));
    facts
}

/// Returns whether every changed line of a test file is one of an expectation, so that the file explains nothing.
pub(super) fn is_expectations_alone(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| fact.read::<Seen>() == Some(Seen::Expected))
}

/// An assertion with another value than before.
struct Turned<'c> {
    old: &'c Check,
    new: &'c Check,
}

fn turned<'c>(compared: &'c Compared<'_>, pair: &'c Pair<'_>) -> Vec<Turned<'c>> {
    let gone = gone_from(compared, pair);
    let new = without(pair.head, pair.base);
    if gone.is_empty() || gone.len() != new.len() {
        return Vec::new();
    }
    let both: Vec<Turned<'c>> = gone.into_iter().zip(new).map(|(old, new)| Turned { old, new }).collect();
    if both.iter().all(Turned::is_same_but_for_values) { both } else { Vec::new() }
}

impl Turned<'_> {
    fn is_same_but_for_values(&self) -> bool {
        let is_of_same = self.old.subjects == self.new.subjects && !self.new.subjects.is_empty();
        is_of_same && without_values(&self.old.text) == without_values(&self.new.text)
    }
}

/// Returns a text with a sign in the place of each number and each text that is written out.
fn without_values(text: &str) -> String {
    let mut out = String::new();
    let mut signs = text.chars().peekable();
    let mut previous = ' ';
    while let Some(sign) = signs.next() {
        let is_number = sign.is_ascii_digit() && !previous.is_alphanumeric() && previous != '_';
        previous = sign;
        if matches!(sign, '"' | '\'') {
            let mut is_escaped = false;
            for inside in signs.by_ref() {
                if inside == sign && !is_escaped {
                    break;
                }
                is_escaped = inside == '\\' && !is_escaped;
            }
            out.push('#');
        } else if is_number {
            while signs.next_if(|next| next.is_alphanumeric() || matches!(next, '.' | '_')).is_some() {}
            out.push('#');
        } else {
            out.push(sign);
        }
    }
    out
}

/// Reports an assertion that is gone from a test that keeps another one, where the test gains nothing in its place, or no
/// more than that what it was about is there; and one that is gone from a helper that asserts nothing any more.
fn gone(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Fact> {
    let Pair { base, head } = pair;
    if base.checks().is_empty() {
        return Vec::new();
    }
    let (mut old, new) = (gone_from(compared, pair), without(head, base));
    // Of several assertions of one text, one that is written in other words is none that is gone.
    old.retain(|check| head.times(&check.text) == 0 || !is_reworded(&new, check));
    let (repeated, new): (Vec<&Check>, Vec<&Check>) =
        new.into_iter().partition(|check| repeats(base, head, check));
    let is_replaced = !new.is_empty() && new.iter().all(|check| is_left_of(check, &old));
    let is_helper = head.checks().is_empty() && helpers::asserts_for_others(compared, pair);
    let is_less = asserts_less(compared, pair, &repeated);
    let calls = &base.facts().calls;
    let before = base.span.of(compared.base.text);
    let gained = head.facts().calls.iter().filter(|name| !calls.contains(*name));
    // The arguments of macros have no calls.
    let gained = gained.filter(|name| {
        let name = name.rsplit(['.', ':']).next().unwrap_or(name);
        places(before, name).next().is_none()
    });
    // A test that no longer has what the assertions were about may check something else in words of its own.
    let now_text = head.span.of(compared.head.text);
    let is_rewritten = !old.iter().flat_map(|check| &check.subjects).any(|subject| {
        let root = subject.split(|sign| !joins(sign)).find(|word| !word.is_empty()).unwrap_or(subject);
        places(now_text, root).next().is_some()
    });
    // The words of an assertion that says nothing new are no call that could check in its place.
    let checkers = gained.filter(|name| {
        let call = format!("{name}(");
        let may_check = if is_rewritten { !is_idle(name) } else { any_may_check(now_text, name) };
        !is_replaced && may_check && !repeated.iter().any(|check| check.text.contains(&call))
    });
    let checkers: Vec<String> = checkers.cloned().collect();
    let asserts = !head.checks().is_empty() || helpers::asserts_no_failure(compared, head);
    let is_fewer = (asserts || !checkers.is_empty()) && is_less;
    if !(is_replaced || is_helper || is_fewer && new.is_empty()) {
        return Vec::new();
    }
    // An assertion in words that are not known may demand as much.
    let functions = compared.head.behaviour.functions.iter();
    let inside = functions
        .filter(|function| head.span.start <= function.span.start && function.span.end <= head.span.end);
    let inside = inside.flat_map(Function::checks);
    let known = inside.filter(|check| compared.head.touches(check.span)).count();
    if helpers::asserting_lines(compared, pair, &checkers) > known {
        return Vec::new();
    }
    let comments: String =
        head.comments.iter().map(|comment| letters(comment.of(compared.head.text))).collect();
    let lost = old.into_iter();
    let lost = lost.filter(|check| {
        !helpers::runs_as_often(compared, check) && !comments.contains(&letters(&check.text))
    });
    let summary = match (is_helper, is_replaced) {
        (true, _) => "assertion is removed from a function that tests call to assert",
        (_, true) => "assertion is replaced by one that only says that a value is there",
        _ => "assertion is removed and nothing stands in its place",
    };
    let facts = lost.filter(|check| !check.subjects.is_empty()).filter_map(|check| {
        // The line may stay, below the head of another function.
        let draft = compared.at_base(REMOVED, check.span, summary).or_else(|| {
            let place = helpers::new_place(compared, check)?;
            compared.at_head(REMOVED, place, summary)
        })?;
        let names = check.subjects.iter().flat_map(|subject| words_of(subject)).collect();
        let is_replaced = is_helper || is_replaced;
        Some(Fact::new(
            &Seen::Gone { text: letters(&check.text), names, is_replaced, checkers: checkers.clone() },
            Some(draft),
        ))
    });
    facts.collect()
}

/// Returns whether a new assertion demands of an expression no more than another one that stays.
fn repeats(base: &Function<'_>, head: &Function<'_>, new: &Check) -> bool {
    let kept = head.checks().iter().filter(|check| base.times(&check.text) > 0);
    // The result of a call may differ from one call to the next.
    let is_weaker = new.demand < Demand::Value || !new.subjects.iter().any(|subject| subject.contains('('));
    !new.subjects.is_empty()
        && is_weaker
        && kept.into_iter().any(|kept| kept.demand == Demand::Value && kept.subjects == new.subjects)
}

/// Returns whether an assertion says no more than that a value is there, of which others said what a part of it is.
fn is_left_of(new: &Check, old: &[&Check]) -> bool {
    let [subject] = new.subjects.as_slice() else { return false };
    let mut demanding = old.iter().filter(|check| check.demand > new.demand);
    new.demand <= Demand::Kind
        && demanding.any(|check| {
            let mut parts = check.subjects.iter().filter_map(|part| part.strip_prefix(subject.as_str()));
            parts.any(|rest| rest.starts_with(['.', '[', '(', '-', '?', ':']))
        })
}

/// Returns the names in a line.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    const COMMON: &[&str] = &[
        "None",
        "True",
        "False",
        "assert",
        "assertEqual",
        "assertEquals",
        "await",
        "const",
        "expect",
        "false",
        "func",
        "len",
        "length",
        "let",
        "new",
        "nil",
        "null",
        "result",
        "return",
        "self",
        "size",
        "str",
        "this",
        "toBe",
        "toEqual",
        "true",
        "var",
        "value",
        "values",
        "void",
    ];
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    words
        .filter(|word| word.len() >= SHORTEST && !COMMON.contains(word))
        .filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
}

/// Returns the letters and digits of a text.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|sign| sign.is_alphanumeric()).collect()
}

/// Returns the drafts that nothing else of the change explains.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    if facts.iter().all(|fact| fact.draft.is_none()) {
        return Vec::new();
    }
    let seen: Vec<Option<Seen>> = facts.iter().map(Fact::read::<Seen>).collect();
    let changed = Changed::new(&seen);
    let drafts = facts.iter().zip(&seen).filter_map(|(fact, own)| match own.as_ref()? {
        Seen::Expected => {
            fact.draft.clone().filter(|_| changed.reasons.is_empty() && changed.tests.is_empty())
        }
        Seen::Blurred => fact.draft.clone().filter(|_| changed.reasons.is_empty()),
        Seen::Gone { checkers, .. } if !checkers.is_empty() && !is_idle_in(lookups, fact, checkers) => None,
        Seen::Gone { is_replaced: true, text, names, .. } => {
            fact.draft.clone().filter(|draft| !changed.loses(lookups, draft, text, names))
        }
        Seen::Gone { is_replaced: false, text, names, .. } => {
            fact.draft.clone().filter(|draft| !changed.explains(lookups, draft, text, names))
        }
        Seen::CaseGone { text, words, is_all } => {
            let draft = fact.draft.clone();
            draft.filter(|draft| match is_all {
                true => !changed.takes_over(lookups, draft, text),
                false => !changed.explains_case(lookups, draft, text, words),
            })
        }
        Seen::Reason { .. } | Seen::Tests { .. } => None,
    });
    drafts.collect()
}

/// Returns whether the functions that a test calls in the place of an assertion can fail nothing.
fn is_idle_in(lookups: &dyn Lookups, fact: &Fact, checkers: &[String]) -> bool {
    fact.draft.as_ref().is_some_and(|draft| none_fails(lookups, &draft.file.to_text(), checkers))
}

/// The changed files that may explain something.
struct Changed<'s> {
    reasons: Vec<&'s str>,
    tests: Vec<&'s str>,
}

impl<'s> Changed<'s> {
    fn new(seen: &'s [Option<Seen>]) -> Self {
        let mut changed = Self { reasons: Vec::new(), tests: Vec::new() };
        for seen in seen.iter().flatten() {
            match seen {
                Seen::Reason { path } => changed.reasons.push(path),
                Seen::Tests { path } => changed.tests.push(path),
                Seen::Blurred | Seen::CaseGone { .. } | Seen::Expected | Seen::Gone { .. } => {}
            }
        }
        changed
    }

    /// Returns whether a changed file of the product has a name of a removed assertion, or another changed test has the
    /// assertion. Of an assertion without names any change of the product may be the reason.
    fn explains(&self, lookups: &dyn Lookups, draft: &Draft, text: &str, names: &BTreeSet<String>) -> bool {
        if self.reasons.len() + self.tests.len() > MOST_FILES {
            return true;
        }
        if names.is_empty() && !self.reasons.is_empty() {
            return true;
        }
        let own = draft.file.to_text();
        self.reasons.iter().any(|path| has_name(lookups, path, names))
            || self.tests.iter().any(|path| *path != own && has_letters(lookups, path, text))
    }

    /// Returns whether a changed file of the product loses a name of a removed assertion, or another changed test has the
    /// assertion.
    fn loses(&self, lookups: &dyn Lookups, draft: &Draft, text: &str, names: &BTreeSet<String>) -> bool {
        let own = draft.file.to_text();
        self.reasons.len() + self.tests.len() > MOST_FILES
            || self.reasons.iter().any(|path| loses_name(lookups, path, names))
            || self.tests.iter().any(|path| *path != own && has_letters(lookups, path, text))
    }

    /// Returns whether a changed file of the product has a word of a removed case, or another changed test has the case.
    /// Of a case without words any change of the product may be the reason.
    fn explains_case(
        &self,
        lookups: &dyn Lookups,
        draft: &Draft,
        text: &str,
        words: &BTreeSet<String>,
    ) -> bool {
        words.is_empty() && !self.reasons.is_empty()
            || self.takes_over(lookups, draft, text)
            || self.reasons.iter().any(|path| has_name(lookups, path, words))
    }

    /// Returns whether another changed test has a removed case.
    fn takes_over(&self, lookups: &dyn Lookups, draft: &Draft, text: &str) -> bool {
        let own = draft.file.to_text();
        self.reasons.len() + self.tests.len() > MOST_FILES
            || self.tests.iter().any(|path| *path != own && has_case(lookups, path, text))
    }
}

/// Returns whether a version of a file has one of some names.
fn has_name(lookups: &dyn Lookups, path: &str, names: &BTreeSet<String>) -> bool {
    [Side::Base, Side::Head].iter().any(|side| {
        let text = lookups.text(*side, path);
        text.is_some_and(|text| names.iter().any(|name| has_word(MentionKind::Rust, &text, name)))
    })
}

/// Returns whether the base version of a file has one of some names and head has it no more.
fn loses_name(lookups: &dyn Lookups, path: &str, names: &BTreeSet<String>) -> bool {
    let Some(base) = lookups.text(Side::Base, path) else { return false };
    let head = lookups.text(Side::Head, path);
    let mut names = names.iter().filter(|name| has_word(MentionKind::Rust, &base, name));
    names.any(|name| head.as_ref().is_none_or(|head| !has_word(MentionKind::Rust, head, name)))
}

/// Returns whether a file of head has the letters of an assertion.
fn has_letters(lookups: &dyn Lookups, path: &str, assertion: &str) -> bool {
    lookups.text(Side::Head, path).is_some_and(|text| letters(&text).contains(assertion))
}

/// Returns whether a file of head has a case, in brackets of any kind.
fn has_case(lookups: &dyn Lookups, path: &str, case: &str) -> bool {
    let inner = case.trim_matches(['(', ')', '[', ']', '{', '}', ',']);
    lookups.text(Side::Head, path).is_some_and(|text| squashed(&text).contains(&squashed(inner)))
}

/// Returns a text without white space, with one kind of quotes.
fn squashed(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(['\'', '`'], "\"")
}

#[cfg(test)]
mod tests {
    use super::{is_snapshot, without_values};

    #[test]
    fn assertions_differ_in_their_values_alone() {
        for (one, other, expected) in [
            ("assert total(a1) == 12", "assert total(a1) == 13.5", true),
            ("expect(name).toBe('a')", "expect(name).toBe(\"it's\")", true),
            ("assert total == 12", "assert count == 12", false),
            ("assert a1 == 2", "assert a2 == 2", false),
        ] {
            assert_eq!(without_values(one) == without_values(other), expected, "{one}");
        }
    }

    #[test]
    fn snapshots_are_told_from_other_data() {
        for (path, expected) in [
            ("test/__snapshots__/a.test.ts.snap", true),
            ("src/snapshots/a__b.snap", true),
            ("testdata/help.golden", true),
            ("test/A.Prints.verified.txt", true),
            ("test/fixtures/expected/order.json", true),
            ("src/expected/order.json", false),
            ("testdata/input.json", false),
            ("snapcraft.yaml", false),
        ] {
            assert_eq!(is_snapshot(path), expected, "{path}");
        }
    }
}
