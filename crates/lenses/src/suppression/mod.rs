//! Comments and attributes that silence a linter or exclude code from coverage.

mod idioms;
mod rules;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::ops::Range;

use crate::contract::{
    Alike, Draft, DraftExt, Inspection, Lens, LensSpec, Need, everywhere, fold, presets, text_rule,
};
use crate::idioms::Table;
use crate::parsed::{self, Parsed};
use crate::pattern::Pattern;
use crate::scan::{self, Ends, Kind, Parts};

use idioms::{BLANKETS, SUPPRESSIONS, UNCOVERED};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::findings::EXPRESSION;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{OtherVersion, Span};
use rules::Silenced;

const SUPPRESSION: &str = "suppression/added";
const COVERAGE: &str = "suppression/coverage-excluded";
const UNEXPLAINED: &str = "suppression/unexplained";
const BLANKET: &str = "suppression/whole-file";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const GUARDED_CODE: PresetStrengths =
    presets(ADVISE, ScopeStrengths { product: Strength::Block, test: Strength::Block, ..ADVISE });
/// Three of a hundred merged changes add such a place: whoever did not ask for this rule would only learn to skip it.
const RATCHETED: PresetStrengths =
    presets(everywhere(Strength::Off), ScopeStrengths { product: Strength::Ratchet, ..ADVISE });
/// Blocking in `guarded`: a reason costs a line, and reviewers see it.
const REASONED: PresetStrengths =
    presets(everywhere(Strength::Off), ScopeStrengths { product: Strength::Block, ..ADVISE });

static SPEC: LensSpec = LensSpec {
    id: "suppression",
    version: "9",
    class: LensClass::Security,
    title: "Suppressed warnings and code excluded from coverage",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/suppression.md")),
    rules: &[
        text_rule(
            SUPPRESSION,
            "Warning is suppressed in one place",
            Severity::Low,
            RATCHETED,
            "Fix the reported problem.",
        ),
        text_rule(
            COVERAGE,
            "Lines are excluded from coverage",
            Severity::Low,
            GUARDED_CODE,
            "Test the code instead of excluding it.",
        ),
        text_rule(
            UNEXPLAINED,
            "Warning is suppressed without its rule or a reason",
            Severity::Low,
            REASONED,
            "Fix the reported problem, or name its rule and give the reason beside the suppression.",
        ),
        text_rule(
            BLANKET,
            "Check is disabled for a whole file",
            Severity::Medium,
            GUARDED_CODE,
            "Suppress one rule in one place, with a reason.",
        ),
    ],
};

/// Finds suppressions that a change adds.
pub(crate) struct Suppression;

impl Lens for Suppression {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// A file with a grammar is read as a whole, where an added line may suppress something.
    fn need(&self, file: &ChangedFile) -> Need {
        if is_code(file) { parsed::content_need(file) } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file, text: hunks, included: &included };
        let language = file.language.as_deref();
        packet.hunks().any(|hunk| {
            let added = without_calls(&hunks.text[hunk.added_span()]);
            [&BLANKETS, &UNCOVERED, &SUPPRESSIONS].iter().any(|table| table.may_match(language, &added))
        })
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut seen = Inspection::default();
        if is_code(packet.file) {
            inspect(packet, &mut seen);
        }
        for rule in [SUPPRESSION, UNEXPLAINED] {
            fold(&mut seen.drafts, rule, Alike::Quote);
        }
        seen
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        if rule == SUPPRESSION { complies(file, text) } else { None }
    }
}

/// Returns a text without a method of Rust's that has the name of an attribute, and stands in most files.
fn without_calls(text: &str) -> String {
    text.replace(".expect(", ".")
}

fn is_code(file: &ChangedFile) -> bool {
    let is_own = matches!(file.scope, Scope::Product | Scope::Test);
    is_own && file.language.is_some() && !scan::is_prose(&file.path)
}

/// Code that only exists for readers and type checkers, or that no test can run.
static NEVER_RUN: Pattern = Pattern::new(
    r"TYPE_CHECKING|__name__|__main__|NotImplemented|overload|abstractmethod|\.\{3\}|\.\.\.|unreachable|assert_never|Protocol",
);

/// Returns whether a line of Python imports and does nothing else: to exclude it hides no code.
fn is_import(line: &str) -> bool {
    let code = line.split('#').next().unwrap_or(line).trim();
    (code.starts_with("import ") || code.starts_with("from ")) && !code.contains([';', ':'])
}

/// Rule, idioms and summary.
type TableRow = (&'static str, &'static Table, &'static str);

/// Comments and attributes that come without one going from the same hunk that silences as much.
fn inspect<'a>(packet: &Packet<'a>, seen: &mut Inspection) {
    let language = packet.file.language.as_deref();
    let product = packet.file.scope == Scope::Product;
    let tables: [TableRow; 3] = [
        (BLANKET, &BLANKETS, "check is disabled for a whole file"),
        (COVERAGE, &UNCOVERED, "lines are excluded from coverage"),
        (SUPPRESSION, &SUPPRESSIONS, "warning is suppressed"),
    ];
    let path = packet.path_by_language();
    // A file is parsed where a line may suppress something, and its base where one does.
    let (old, new) = (packet.text.full_base.as_deref(), packet.text.full_head.as_deref());
    let newer = new.map(|text| OtherVersion { text, hunks: &packet.file.hunks, is_newer: true });
    let base = LazyCell::new(|| Version::new(&path, old, newer.as_ref()));
    let head = LazyCell::new(|| Version::new(&path, new, None));
    let in_head = LazyCell::new(|| {
        tables.map(|(_, table, _)| {
            packet.text.full_head.as_deref().is_none_or(|text| table.may_find(language, text))
        })
    });
    for hunk in packet.hunks() {
        let text = without_calls(&packet.text.text[hunk.added_span()]);
        let tables: Vec<_> = tables
            .iter()
            .enumerate()
            .filter(|(position, (rule, table, _))| {
                (product || *rule == BLANKET) && table.may_match(language, &text) && in_head[*position]
            })
            .map(|(_, table)| table)
            .collect();
        if tables.is_empty() {
            continue;
        }
        let mut old = LazyCell::new(|| {
            let removed = units(scan::removed(language, hunk), base.as_ref());
            let mut old: Vec<Vec<Silenced>> = tables.iter().map(|_| Vec::new()).collect();
            for unit in &removed {
                for mark in unit.marks(&tables, language) {
                    old[mark.table].push(unit.silenced(mark.span));
                }
            }
            old
        });
        let added = units(scan::added(language, hunk), head.as_ref());
        for (at, unit) in added.iter().enumerate() {
            let marks = unit.marks(&tables, language);
            for (position, mark) in marks.iter().enumerate() {
                let (rule, _, summary) = tables[mark.table];
                let mut statement = added[statement_start(&added, at)..=at].iter();
                if *rule == COVERAGE
                    && statement.any(|unit| NEVER_RUN.is_match(&unit.text) || is_import(&unit.text))
                {
                    continue;
                }
                let silenced = unit.silenced(mark.span.clone());
                let is_explained = || {
                    (position..marks.len()).any(|later| is_explained(&added, at, &marks[later..], language))
                };
                let (rule, summary) = if *rule == SUPPRESSION && !silenced.is_narrow() && !is_explained() {
                    (UNEXPLAINED, silenced.missing())
                } else {
                    (*rule, *summary)
                };
                if let Some(replaced) = old[mark.table].iter().position(|old| old.covers(&silenced)) {
                    old[mark.table].swap_remove(replaced);
                    continue;
                }
                let draft = Draft::on_line(rule, packet, &unit.line, unit.quoted(mark.span.clone()), summary);
                seen.drafts.push(match silenced.text == draft.quote {
                    true => draft,
                    false => draft.with(EXPRESSION, silenced.text),
                });
            }
        }
    }
}

/// A suppression in a unit: the position of its table, and its place.
#[derive(Debug, Clone)]
struct Suppressing {
    table: usize,
    span: Range<usize>,
}

/// A changed line, or all lines of a comment or an attribute that stands on several.
struct Unit<'a> {
    /// The first changed line.
    line: Line<'a>,
    /// Number of the last.
    last: u64,
    text: Cow<'a, str>,
    parts: Parts,
    /// Place of a comment or an attribute that stands on several lines.
    whole: Option<Span>,
    /// Text behind the whole, on its last line.
    behind: &'a str,
}

impl Unit<'_> {
    fn find(&self, table: &Table, language: Option<&str>) -> Option<Range<usize>> {
        table.find(language, &self.text, &self.parts)
    }

    /// Returns every suppression in it, in order; each belongs to the first table that knows it.
    fn marks(&self, tables: &[&TableRow], language: Option<&str>) -> Vec<Suppressing> {
        let mut marks: Vec<Suppressing> = Vec::new();
        for (table, (_, idioms, _)) in tables.iter().enumerate() {
            for span in idioms.find_all(language, &self.text, &self.parts) {
                let is_known =
                    marks.iter().any(|mark| mark.span.start < span.end && span.start < mark.span.end);
                if !is_known {
                    marks.push(Suppressing { table, span });
                }
            }
        }
        marks.sort_by_key(|mark| mark.span.start);
        marks
    }

    /// Returns what a mark in it silences.
    fn silenced(&self, mark: Range<usize>) -> Silenced {
        let is_comment = self.parts.kind_at(mark.start) == Kind::Comment;
        Silenced::new(&self.text, mark, is_comment)
    }

    /// Returns the part of the first line that a finding quotes.
    fn quoted(&self, found: Range<usize>) -> Range<usize> {
        let text = self.line.text;
        match self.whole {
            Some(_) => text.len() - text.trim_start().len()..text.trim_end().len(),
            None => found,
        }
    }
}

/// A whole version of a file with its tree.
struct Version<'a> {
    text: &'a str,
    parsed: Parsed,
    ends: Ends,
}

impl<'a> Version<'a> {
    fn new(path: &str, text: Option<&'a str>, other: Option<&OtherVersion<'_>>) -> Option<Self> {
        let text = text?;
        let parsed = Parsed::beside(path, text, other)?;
        Some(Self { text, ends: Ends::new(&parsed.outline), parsed })
    }
}

/// Joins lines to units by the tree of their file; without one, each line is a unit.
fn units<'a>(lines: impl Iterator<Item = (Line<'a>, Parts)>, file: Option<&Version<'a>>) -> Vec<Unit<'a>> {
    let mut units: Vec<Unit<'a>> = Vec::new();
    for (line, parts) in lines {
        let unit =
            Unit { line, last: line.number, text: Cow::Borrowed(line.text), parts, whole: None, behind: "" };
        let Some((file, start)) = file.and_then(|file| Some((file, file.parsed.start(&line)?))) else {
            units.push(unit);
            continue;
        };
        let here = Span { start, end: start + line.text.len() };
        let Some(whole) = several_lines_at(file, here) else {
            units.push(Unit { parts: Parts::by_outline(here, &file.parsed.outline, &file.ends), ..unit });
            continue;
        };
        if let Some(last) = units.last_mut().filter(|last| last.whole == Some(whole)) {
            last.last = line.number;
            continue;
        }
        let joined: Vec<&str> = whole.of(file.text).lines().map(str::trim).collect();
        let is_comment = file.parsed.outline.comments.contains(&whole);
        let kind = if is_comment { Kind::Comment } else { Kind::Code };
        let text = Cow::Owned(joined.join(" "));
        let behind = file.text[whole.end..].lines().next().unwrap_or_default();
        units.push(Unit { text, parts: Parts::whole_line(kind), whole: Some(whole), behind, ..unit });
    }
    units
}

/// Returns the comment or attribute on several lines that a line is part of.
fn several_lines_at(file: &Version<'_>, line: Span) -> Option<Span> {
    let (outline, ends) = (&file.parsed.outline, &file.ends);
    let comments = ends.comments.reaching(&outline.comments, line);
    let mut spans = comments.chain(ends.attributes.reaching(&outline.attributes, line));
    spans.find(|span| span.of(file.text).contains('\n')).copied()
}

/// An attribute over more lines than this is not followed to its reason.
const ATTRIBUTE_LINES: usize = 8;

/// Returns whether the suppression at a place comes with a reason: after it on its line, as an attribute's own
/// argument, or in a comment that was added right above.
fn is_explained(added: &[Unit<'_>], at: usize, marks: &[Suppressing], language: Option<&str>) -> bool {
    let Unit { line, text, parts, .. } = &added[at];
    let [Suppressing { span, .. }, others @ ..] = marks else { return false };
    // Another suppression behind it is no reason.
    let text = &text[..others.first().map(|next| next.span.start).unwrap_or(text.len())];
    let after = &text[span.end..];
    let is_comment = parts.kind_at(span.start) == Kind::Comment;
    let beside = if !is_comment {
        let mut offsets = (span.end..text.len()).filter(|&offset| text.is_char_boundary(offset));
        offsets.find(|&offset| parts.kind_at(offset) == Kind::Comment).map(|offset| &text[offset..])
    } else if text[span.clone()].contains("lint-disable") {
        // These take the names of any number of rules, and a reason only behind this mark.
        after.split_once("--").map(|(_, reason)| reason)
    } else {
        Some(rules::behind_rules(after))
    };
    if beside.is_some_and(has_words) {
        return true;
    }
    let attribute = (at..added.len().min(at + ATTRIBUTE_LINES))
        .take_while(|position| added[*position].line.number == line.number + (position - at) as u64);
    for position in attribute.filter(|_| !is_comment) {
        let text = &added[position].text;
        if argument(text).is_some_and(has_words) {
            return true;
        }
        if text.contains(']') {
            break;
        }
    }
    let behind = added[at].behind.trim_start();
    let is_behind = !is_comment && behind.starts_with(['/', '#']) && has_words(behind);
    let below = if is_comment { "" } else { comment_below(added, at, language) };
    is_behind
        || has_words(below)
        || has_words(&comment_above(added, at, language))
        || has_words(&comment_above(added, statement_start(added, at), language))
}

/// Returns the plain comment that was added right below an attribute, where formatters put what stood behind it.
fn comment_below<'a>(added: &'a [Unit<'_>], at: usize, language: Option<&str>) -> &'a str {
    let Some(below) = added.get(at + 1).filter(|below| below.line.number == added[at].last + 1) else {
        return "";
    };
    let text = below.text.trim_start();
    let is_documentation = ["///", "//!", "/**"].iter().any(|mark| text.starts_with(mark));
    if is_documentation || !is_comment(below, language) { "" } else { text }
}

/// Returns the position of the line where brackets open that the line at a position closes.
fn statement_start(added: &[Unit<'_>], at: usize) -> usize {
    let mut open = 0;
    let mut next = added[at].last + 1;
    for position in (0..=at).rev() {
        let unit = &added[position];
        if unit.last + 1 != next {
            break;
        }
        next = unit.line.number;
        for (offset, _) in unit.text.match_indices(['(', '[', '{', ')', ']', '}']) {
            if unit.parts.kind_at(offset) == Kind::Code {
                open += if unit.text[offset..].starts_with(['(', '[', '{']) { -1 } else { 1 };
            }
        }
        if open <= 0 {
            return position;
        }
    }
    at
}

fn is_comment(unit: &Unit<'_>, language: Option<&str>) -> bool {
    let start = unit.text.len() - unit.text.trim_start().len();
    unit.parts.kind_at(start) == Kind::Comment && unit.find(&SUPPRESSIONS, language).is_none()
}

/// Returns the comment that was added right above, over all of its lines.
fn comment_above(added: &[Unit<'_>], at: usize, language: Option<&str>) -> String {
    let mut next = added[at].line.number;
    let mut lines: Vec<&str> = Vec::new();
    for above in added[..at].iter().rev() {
        let has_text = above.text.contains(char::is_alphanumeric);
        if above.last + 1 != next || !has_text || !is_comment(above, language) {
            break;
        }
        lines.push(&above.text);
        next = above.line.number;
    }
    lines.reverse();
    lines.join(" ")
}

/// Returns the argument of an attribute that is meant for a reason.
fn argument(text: &str) -> Option<&str> {
    let (_, value) = text.split_once("reason").or_else(|| text.split_once("Justification"))?;
    value.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?.split('"').next()
}

/// Returns whether a text says something: two words, or letters of a script that writes without blanks.
fn has_words(text: &str) -> bool {
    text.split_whitespace().map(word_count).sum::<usize>() > 1
}

/// Returns the words that a word counts for: none for one that is not plain, two for a link, and for a longer one beyond
/// ASCII, whose language may not put spaces between words.
fn word_count(word: &str) -> usize {
    if word.contains("://") {
        return 2;
    }
    let word = word.trim_matches(|character: char| !character.is_alphanumeric());
    let letters = word.chars().filter(|character| character.is_alphabetic()).count();
    let plain = word.chars().all(|character| character.is_alphabetic() || "-'’".contains(character));
    match (plain && letters > 1, word.is_ascii()) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 1 + usize::from(letters > 3),
    }
}

/// Returns whether a base file is free of suppressions, for the ratchet.
fn complies(file: &RepoPath, text: &str) -> Option<bool> {
    let language = classify::language(file);
    language?;
    if ![&BLANKETS, &SUPPRESSIONS].iter().any(|table| table.may_find(language, text)) {
        return Some(true);
    }
    let parsed = Version::new(&file.to_text(), Some(text), None);
    let mut scanner = scan::Scanner::new(language, true);
    let lines = (1..).zip(text.lines()).map(|(number, line)| {
        let parts = scanner.line(line);
        (Line { number, text: line, offset: 0 }, parts)
    });
    let units = units(lines, parsed.as_ref());
    Some(
        units.iter().all(|unit| {
            unit.find(&SUPPRESSIONS, language).is_none() && unit.find(&BLANKETS, language).is_none()
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for table in [&BLANKETS, &SUPPRESSIONS, &UNCOVERED] {
            table.check();
        }
        assert!(NEVER_RUN.is_match("if TYPE_CHECKING:"));
    }

    fn explained(language: &str, text: &str) -> bool {
        let mut scanner = scan::Scanner::new(Some(language), true);
        let lines: Vec<_> = text
            .lines()
            .zip(1..)
            .map(|(text, number)| (Line { number, text, offset: 0 }, scanner.line(text)))
            .collect();
        let lines = units(lines.into_iter(), None);
        let mut found = lines
            .iter()
            .enumerate()
            .filter_map(|(at, line)| Some((at, line.find(&SUPPRESSIONS, Some(language))?)));
        let (at, span) = found.next().expect("a suppression");
        is_explained(&lines, at, &[Suppressing { table: 0, span }], Some(language))
    }

    #[test]
    fn a_reason_stands_behind_the_rules_or_above() {
        let cases: [(&str, &str, bool); 37] = [
            ("python", "x = f()  # noqa: E501", false),
            ("python", "x = f()  # noqa: E501, W291 F401", false),
            ("python", "x = f()  # noqa: E501 the address is long", true),
            ("python", "import x  # noqa: F401  # re-exported for users", true),
            ("python", "x = f()  # type: ignore[arg-type]", false),
            ("python", "x = f()  # type: ignore[arg-type, misc]  # stubs are behind", true),
            ("python", "x = f()  # type: ignore # noqa", false),
            ("python", "x = f(reason=\"it is late\")  # noqa: E501", false),
            ("python", "x = f()  # pylint: disable=line-too-long, unused-argument", false),
            ("python", "# The stubs of this library are wrong.\nx = f()  # type: ignore[misc]", true),
            ("python", "# y = g()  # noqa\n\nx = f()  # type: ignore[misc]", false),
            ("python", "# The stubs are wrong.\nx = f(\n    [1],\n)  # type: ignore[misc]", true),
            ("python", "# The stubs are wrong.\ny = g()\nx = f(\n    1,\n)  # type: ignore[misc]", false),
            ("python", "# The stubs are wrong.\nx = f(\n    1,\n    y,  # type: ignore[misc]\n)", false),
            ("typescript", "// eslint-disable-next-line camelcase, eqeqeq, curly", false),
            ("typescript", "// eslint-disable-next-line no-console -- a tool for terminals", true),
            ("typescript", "// @ts-ignore", false),
            ("typescript", "// @ts-expect-error later", false),
            ("typescript", "// @ts-expect-error it takes only strings", true),
            ("typescript", "// @ts-ignore 型定義が間違っている", true),
            ("typescript", "// biome-ignore lint/a/b: <explanation>", false),
            ("typescript", "// biome-ignore lint/a/b: read by another program", true),
            ("go", "x := f() //nolint:errcheck,gosec", false),
            ("go", "x := f() //nolint:errcheck // closing cannot fail here", true),
            ("go", "x := f() // #nosec G404", false),
            ("rust", "#[allow(dead_code)]", false),
            ("rust", "#[allow(dead_code, reason = \"used by a macro\")]", true),
            ("rust", "#[expect(\n    clippy::too_many_lines,\n    reason = \"one long table\"\n)]", true),
            ("rust", "#[allow(dead_code)]\nfn f() {}\n// for later use", false),
            ("rust", "#[allow(dead_code)] // read by the linker alone", true),
            ("rust", "#[allow(dead_code)]\n// Read by the linker alone.\nfn f() {}", true),
            ("rust", "#[allow(dead_code)]\n/// Reads the whole file.\nfn f() {}", false),
            ("rust", "#[allow(dead_code)]\n#[inline]\n// Reads the whole file.\nfn f() {}", false),
            ("java", "@SuppressWarnings(\"unchecked\")", false),
            ("java", "@SuppressWarnings({\"rawtypes\", \"unchecked\"}) // checked by the caller", true),
            ("java", "// The caller checks it.\n@SuppressWarnings(\"unchecked\")", true),
            ("c#", "[SuppressMessage(\"A\", \"B\", Justification = \"read by reflection\")]", true),
        ];
        for (language, text, expected) in cases {
            assert_eq!(explained(language, text), expected, "{text}");
        }
    }

    #[test]
    fn a_base_file_without_suppressions_complies() {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        assert_eq!(complies(&path, "x = 1  # noqa\n"), Some(false));
        assert_eq!(complies(&path, "x = '# noqa'\n"), Some(true));
    }
}
