//! A file at base or at head with its tests, by its syntax tree or, where there is none, by its lines.

use std::collections::BTreeSet;

use super::names::{self, Test};
use super::skip_rows::asks;
use super::skips;
use qa_contracts::v1::ChangeKind;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{Language, Mark, MarkKind, OtherVersion, Span, TestFile};

/// A text with its tests.
#[derive(Debug, Default)]
pub(super) struct Version<'t> {
    pub(super) text: &'t str,
    /// The text without comments, code that never runs and assertions that always hold.
    pub(super) live: String,
    /// Numbers of the lines on which an assertion begins that always holds.
    pub(super) trivial: BTreeSet<u64>,
    pub(super) tests: Vec<Test>,
    /// Marks outside of tests that may skip them.
    pub(super) marks: Vec<Mark>,
    /// Set where the tests come from the syntax tree, which has the end of each.
    pub(super) is_parsed: bool,
    /// Set where the text is too large or takes too long to parse, so that its marks are not known.
    pub(super) is_unread: bool,
}

impl<'t> Version<'t> {
    /// Parses a text, by its own path; beside another version of it where there is one.
    pub(super) fn parse(
        path: &str,
        language: Option<&str>,
        text: &'t str,
        other: Option<&OtherVersion<'_>>,
    ) -> Self {
        match Language::from_path(path).and_then(|grammar| TestFile::parse(grammar, text, other, asks)) {
            Some(file) => Self::by_tree(&file, language, text),
            None => {
                let tests = names::tests(language, text.split('\n').map(|line| line.trim_end_matches('\r')));
                let language = Language::from_path(path);
                let marks = language.and_then(|grammar| TestFile::loose_marks(grammar, text, asks));
                let is_unread = language.is_some() && marks.is_none();
                let marks = marks.unwrap_or_default();
                Self { text, live: text.to_owned(), tests, marks, is_unread, ..Self::default() }
            }
        }
    }

    fn by_tree(file: &TestFile, language: Option<&str>, text: &'t str) -> Self {
        let newlines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let mut tests: Vec<Test> = Vec::new();
        for case in &file.cases {
            let (mut nested, mut own, mut asked_for, mut needs) = (Vec::new(), Vec::new(), None, None);
            for mark in &case.marks {
                let Some(off) = skips::switched_off(language, mark) else {
                    needs = needs.or_else(|| skips::needs(language, mark));
                    asked_for = asked_for.or(skips::asked_for(language, mark));
                    continue;
                };
                match mark.kind {
                    MarkKind::Nested => nested.push(off),
                    MarkKind::AskedFor => asked_for = asked_for.or(Some(off)),
                    MarkKind::Attribute | MarkKind::Statement | MarkKind::Uncollected => own.push(off),
                }
            }
            let is_hidden = !own.is_empty()
                && case
                    .marks
                    .iter()
                    .all(|mark| skips::switched_off(language, mark).is_none() || hides(mark, text));
            let [at, mark, end] = [case.name_span.start, case.span.start, case.span.end]
                .map(|offset| newlines.partition_point(|newline| *newline < offset));
            let cut = case.cut.map(|cut| newlines.partition_point(|newline| *newline < cut.start));
            tests.push(Test {
                name: case.name.clone(),
                at,
                mark,
                end: end + 1,
                cut,
                off: own.first().copied(),
                asked_for,
                needs,
                is_hidden,
                nested,
                body: case.body,
                branches: case.branches.clone(),
            });
        }
        // Arguments of macros have no syntax tree.
        if language == Some("rust") && text.contains("! {") {
            let mut more = names::tests(language, text.split('\n'));
            more.retain(|new| !tests.iter().any(|test| test.mark <= new.at && new.at < test.end));
            tests.extend(more);
        }
        tests.sort_by_key(|test| test.at);
        let idle = [file.dead.as_slice(), file.trivial.as_slice()].concat();
        let trivial = file.trivial.iter().map(|span| text[..span.start].matches('\n').count() as u64 + 1);
        Self {
            text,
            live: blanked(text, &idle),
            trivial: trivial.collect(),
            tests,
            marks: file.marks.clone(),
            is_parsed: true,
            is_unread: false,
        }
    }
}

/// Returns whether a mark says no more than that no runner is known to collect a test. A fixture is none for certain.
fn hides(mark: &Mark, text: &str) -> bool {
    let path = mark.span.of(text).split('(').next().unwrap_or_default();
    let is_fixture = path.starts_with('@') && path.trim_end().ends_with("fixture");
    mark.kind == MarkKind::Uncollected && !is_fixture
}

/// Takes each test of the base that no runner is known to collect for one that runs, and one of the same name that is
/// hidden at head with it. Another file or a call may have it collected, so only what comes to be hidden tells.
pub(super) fn reveal(base: &mut Version<'_>, head: &mut Version<'_>) {
    for old in base.tests.iter_mut().filter(|test| test.is_hidden) {
        let Some(mark) = old.off.take() else { continue };
        let mark = mark.mark.of(base.text);
        let mut twin = None;
        for test in head.tests.iter_mut().filter(|test| test.is_hidden && test.name == old.name) {
            let Some(own) = test.off else { continue };
            // A test that is hidden by the same words comes before others.
            if own.mark.of(head.text) == mark {
                twin = Some(test);
                break;
            }
            if twin.is_none() {
                twin = Some(test);
            }
        }
        if let Some(twin) = twin {
            twin.off = None;
        }
    }
}

/// Returns the text of one side of a new or deleted file, as far as its planned hunks show it.
pub(super) fn only_side(packet: &Packet<'_>) -> String {
    let lines: Vec<Line<'_>> = match packet.file.kind {
        ChangeKind::Deleted => packet.removed().collect(),
        ChangeKind::Added
        | ChangeKind::Modified
        | ChangeKind::ModeChanged
        | ChangeKind::Renamed
        | ChangeKind::TypeChanged => packet.added().collect(),
    };
    let mut text = String::new();
    let mut number = 1;
    for line in lines {
        while number < line.number {
            text.push('\n');
            number += 1;
        }
        text.push_str(line.text);
        text.push('\n');
        number += 1;
    }
    text
}

/// Replaces spans of a text by blanks, line for line.
fn blanked(text: &str, spans: &[Span]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        let end = span.end.min(bytes.len());
        for byte in bytes.iter_mut().take(end).skip(span.start).filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).expect("spans begin and end between characters")
}
