//! Rules about calls: patterns as data, held against the syntax tree of a changed file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::contract::{Draft, DraftExt, Fact, Inspection, Need};
use qa_contracts::v1::{ChangedFile, FileText};
use qa_core::canonical;
use qa_core::classify;
use qa_core::findings::{EXPRESSION, identity, normalized};
use qa_core::packet::{Line, Packet};
use qa_reading::patterns::{Code, Definition, Grammar, Match, ParsedText, Pattern, Patterns, Words};
use qa_reading::syntax::Span;

/// A rule with its patterns.
#[derive(Debug)]
pub(crate) struct CallRule {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) rows: &'static [Definition],
    pub(crate) quoted: Quoted,
}

/// Part of a match that a finding quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoted {
    /// The reported part.
    Part,
    /// The whole match if it stands on one line, else the reported part.
    Call,
}

/// The rules of one lens. Nothing is compiled before a file has the words of a pattern.
#[derive(Debug)]
pub(crate) struct Calls {
    rules: &'static [CallRule],
    languages: OnceLock<BTreeMap<Grammar, OnceLock<Rows>>>,
}

/// The patterns of one language.
#[derive(Debug)]
struct Rows {
    words: Words,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    rule: &'static CallRule,
    definition: &'static Definition,
    patterns: OnceLock<Vec<Pattern>>,
}

/// Matches in one text.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) matches: Vec<CallMatch>,
    /// True if the text was parsed and searched to its end.
    pub(crate) is_complete: bool,
}

/// A match of a rule.
#[derive(Debug)]
pub(crate) struct CallMatch {
    pub(crate) rule: &'static CallRule,
    pub(crate) found: Match,
}

impl Row {
    fn patterns(&self, grammar: Grammar) -> &[Pattern] {
        self.patterns.get_or_init(|| {
            let mut languages = self.definition.languages.iter();
            let language = languages.find(|name| Grammar::for_language(name) == Some(grammar));
            let language = language.expect("rows are kept by language");
            Pattern::compile(self.definition, language).expect("a test compiles every pattern")
        })
    }
}

impl Calls {
    /// Returns the rules of a lens.
    pub(crate) const fn new(rules: &'static [CallRule]) -> Self {
        Self { rules, languages: OnceLock::new() }
    }

    fn rows(&self, path: &str) -> Option<&Rows> {
        let grammar = Grammar::for_path(path)?.family();
        let languages = self.languages.get_or_init(|| {
            let named = self.rules.iter().flat_map(|rule| rule.rows).flat_map(|row| row.languages);
            named.filter_map(|name| Some((Grammar::for_language(name)?, OnceLock::new()))).collect()
        });
        Some(languages.get(&grammar)?.get_or_init(|| Rows::new(self.rules, grammar)))
    }

    /// Returns how much of a file the rules need: all of it where a pattern is for its language.
    pub(crate) fn need(&self, file: &ChangedFile) -> Need {
        if self.rows(&classify::path_by_language(file)).is_some() { Need::WholeFile } else { Need::Nothing }
    }

    /// Returns whether the hunks of a file have a word of a pattern.
    pub(crate) fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let rows = self.rows(&classify::path_by_language(file));
        rows.is_some_and(|rows| {
            rows.words.may_match(&hunks.text)
                || hunks.text.lines().any(|line| !switches_set_in(line).is_empty())
        })
    }

    /// Reports the matches whose parts touch added lines, one for each rule and quoted place: a second call on a line may
    /// be new where the first one is not.
    pub(crate) fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let Some(text) = packet.text.full_head.as_deref() else { return Inspection::default() };
        let path = packet.path_by_language();
        let Some(rows) = self.rows(&path) else { return Inspection::default() };
        let possible = rows.words.possible(|| shown_lines(packet, text), text);
        if possible.is_empty() {
            return Inspection::default();
        }
        let lines = AddedLines::new(packet, text);
        let found = rows.find(&path, text, possible, Some(&lines.spans));
        let mut drafts: Vec<Draft> = Vec::new();
        for CallMatch { rule, found } in &found.matches {
            let Some((line, quote)) = lines.added_line_of(rule.quoted, found, text) else { continue };
            let draft = draft(rule, packet, line, quote, found, text);
            let is_known = drafts.iter().any(|known| {
                known.rule == rule.id
                    && known.start_line == draft.start_line
                    && known.start_column == draft.start_column
                    && known.end_column == draft.end_column
            });
            if !is_known {
                drafts.push(draft);
            }
        }
        let unread = (!found.is_complete).then(Fact::unread);
        Inspection { drafts, facts: unread.into_iter().collect() }
    }

    /// Searches all of a text for the rules' patterns.
    pub(crate) fn search(&self, path: &str, text: &str) -> Found {
        match self.rows(path) {
            Some(rows) => rows.find(path, text, rows.words.possible(|| text, text), None),
            None => Found { matches: Vec::new(), is_complete: true },
        }
    }

    /// Returns whether a file has no match of a rule, or `None` where no pattern of the rule is for its language or the
    /// file cannot be parsed.
    pub(crate) fn complies(&self, rule: &str, path: &str, text: &str) -> Option<bool> {
        if !self.rows(path)?.rows.iter().any(|row| row.rule.id == rule) {
            return None;
        }
        let found = self.search(path, text);
        found.is_complete.then(|| !found.matches.iter().any(|found| found.rule.id == rule))
    }

    /// Compiles every pattern, and sees that each needs a word.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut faults = Vec::new();
        for row in self.rules.iter().flat_map(|rule| rule.rows) {
            let compiled = row.languages.iter().map(|language| (language, Pattern::check(row, language)));
            faults.extend(
                compiled.filter_map(|(language, found)| Some(format!("{language}: {}", found.err()?))),
            );
            if !Words::new([row]).possible(|| "", "").is_empty() {
                faults.push(format!("{:?} needs no word", row.code));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

/// Longer expressions are compared by their digest.
const LONGEST_EXPRESSION: usize = 1000;

/// Returns a draft about a match, with the whole expression where the quote is a part of it: another expression may
/// begin with the same line.
fn draft(
    rule: &'static CallRule,
    packet: &Packet<'_>,
    line: &Line<'_>,
    quote: std::ops::Range<usize>,
    found: &Match,
    text: &str,
) -> Draft {
    let draft = Draft::on_line(rule.id, packet, line, quote, rule.summary);
    let expression = identity(found.span.of(text), None);
    if expression == identity(&draft.quote, None) {
        return draft;
    }
    let is_short = expression.len() <= LONGEST_EXPRESSION;
    let expression = if is_short { expression } else { canonical::sha256(expression.as_bytes()).to_string() };
    draft.with(EXPRESSION, expression)
}

/// Returns the part of a call or an assignment that stays when the receiver or the function is replaced: the arguments
/// with their parentheses, or the last name with the value. `ctx.verify = False` and `context.verify = False` share
/// `verify=False`; `dill.load(file)` and `pickle.load(file)` share `(file)`. An argument that is quoted by itself is one.
pub(crate) fn operand(draft: &Draft) -> Option<String> {
    let argument = normalized(&draft.quote);
    let whole = identity(&draft.quote, draft.detail.get(EXPRESSION));
    if is_argument(&argument, &whole) {
        return Some(argument);
    }
    let (callee, rest) = whole.split_at(whole.find(|character| !is_callee(character))?);
    if !is_whole(rest) {
        return None;
    }
    if rest.starts_with('(') && rest.ends_with(')') && rest != "()" {
        return Some(rest.to_owned());
    }
    let last = callee.rfind(['.', '>', ':']).map(|at| &callee[at + 1..])?;
    let is_assigned = rest.starts_with('=') && !rest.starts_with("==");
    (is_assigned && !last.is_empty()).then(|| format!("{last}{rest}"))
}

/// Returns whether a text is a named argument or a member inside of an expression.
fn is_argument(text: &str, expression: &str) -> bool {
    text.contains(['=', ':'])
        && is_whole(text)
        && expression.match_indices(text).any(|(at, _)| {
            let (before, after) = (&expression[..at], &expression[at + text.len()..]);
            before.ends_with(['(', ',', '{']) && after.starts_with([')', ',', '}'])
        })
}

fn is_callee(character: char) -> bool {
    character.is_alphanumeric() || "_$@.:?>-".contains(character)
}

/// Returns whether brackets and quotes are paired, and no operator waits for the next line.
fn is_whole(text: &str) -> bool {
    let pairs = [['(', ')'], ['[', ']'], ['{', '}']];
    pairs.iter().all(|[open, close]| text.matches(*open).count() == text.matches(*close).count())
        && ['"', '\'', '`'].iter().all(|quote| text.matches(*quote).count() % 2 == 0)
        && !text.ends_with(|last| "=+-*/%&|^,.<>?:\\".contains(last))
}

/// A pattern with its rule.
struct Chosen<'r> {
    rule: &'static CallRule,
    pattern: &'r Pattern,
}

impl Rows {
    fn new(rules: &'static [CallRule], grammar: Grammar) -> Self {
        let mut rows = Vec::new();
        for rule in rules {
            for definition in rule.rows {
                let mut languages = definition.languages.iter();
                if languages.any(|language| Grammar::for_language(language) == Some(grammar)) {
                    rows.push(Row { rule, definition, patterns: OnceLock::new() });
                }
            }
        }
        Self { words: Words::new(rows.iter().map(|row| row.definition)), rows }
    }

    /// Searches a text for the patterns of some rows, by position: in all of it, or where they touch one of some spans.
    fn find(&self, path: &str, text: &str, possible: Vec<usize>, spans: Option<&[Span]>) -> Found {
        let nothing = Found { matches: Vec::new(), is_complete: true };
        if possible.is_empty() {
            return nothing;
        }
        let Some((parsed, grammar)) = ParsedText::parse(path, text).zip(Grammar::for_path(path)) else {
            return nothing;
        };
        let chosen: Vec<Chosen<'_>> = possible
            .into_iter()
            .flat_map(|position| {
                let row = &self.rows[position];
                row.patterns(grammar.family()).iter().map(|pattern| Chosen { rule: row.rule, pattern })
            })
            .collect();
        let patterns: Patterns<'_> = chosen.iter().map(|chosen| chosen.pattern).collect();
        let found = patterns.find(&Code::new(text, &parsed), spans);
        let matches = found.matches.into_iter();
        let matches = matches.map(|found| CallMatch { rule: chosen[found.pattern].rule, found }).collect();
        Found { matches, is_complete: found.is_complete }
    }
}

/// The added lines of a file with their places in its text.
pub(crate) struct AddedLines<'p> {
    lines: Vec<Line<'p>>,
    /// The place of each line, without its end.
    spans: Vec<Span>,
}

/// Returns the added lines and those that the hunks show around them, where the rest of a call may stand, and the lines of
/// the file that use a switch which the added lines set.
fn shown_lines(packet: &Packet<'_>, text: &str) -> String {
    let mut shown = String::new();
    for line in packet.hunks().flat_map(|hunk| hunk.before().chain(hunk.added()).chain(hunk.after())) {
        shown.push_str(line.text);
        shown.push('\n');
    }
    push_uses_of_switches(&mut shown, packet, text);
    shown
}

/// Values that turn something on or off.
const SWITCHES: &[&str] = &["False", "false", "True", "true", "0", "1", "None", "null"];

/// Returns the names that a line may set to a value that turns something on or off: `VERIFY = False` is the whole
/// change where calls say `verify=VERIFY`. Names beside them may be among them.
fn switches_set_in(line: &str) -> Vec<&str> {
    let is_set = line.contains('=') || ["const ", "define(", "dict("].iter().any(|mark| line.contains(mark));
    if !is_set || !words(line).any(|word| SWITCHES.contains(&word)) {
        return Vec::new();
    }
    words(line)
        .filter(|word| !SWITCHES.contains(word) && !word.starts_with(|first: char| first.is_ascii_digit()))
        .collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// Adds the lines of a file that use a switch which the added lines set.
fn push_uses_of_switches(shown: &mut String, packet: &Packet<'_>, text: &str) {
    let names: BTreeSet<&str> = packet.added().flat_map(|line| switches_set_in(line.text)).collect();
    if names.is_empty() {
        return;
    }
    // Most words have no length that a name with their first byte has.
    let mut lengths = [0_u64; 256];
    for name in &names {
        lengths[first_byte(name)] |= 1 << name.len().min(63);
    }
    for line in text.lines().filter(|line| {
        words(line)
            .any(|word| lengths[first_byte(word)] & 1 << word.len().min(63) != 0 && names.contains(word))
    }) {
        shown.push_str(line);
        shown.push('\n');
    }
}

fn first_byte(word: &str) -> usize {
    word.as_bytes().first().copied().map_or(0, usize::from)
}

impl<'p> AddedLines<'p> {
    pub(crate) fn new(packet: &Packet<'p>, text: &str) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let (mut lines, mut spans) = (Vec::new(), Vec::new());
        for line in packet.added() {
            let index = line.number.checked_sub(1).and_then(|index| usize::try_from(index).ok());
            let Some(start) = index.and_then(|index| starts.get(index)) else { continue };
            // The hunks and the file are masked alike.
            spans.push(Span { start: *start, end: start + line.text.len() });
            lines.push(line);
        }
        Self { lines, spans }
    }

    /// Returns the place of each line, without its end.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the line on which a match is reported, and the columns: the first added line that the first of its parts
    /// to touch one does.
    fn added_line_of(
        &self,
        quoted: Quoted,
        found: &Match,
        text: &str,
    ) -> Option<(&Line<'p>, std::ops::Range<usize>)> {
        let is_on_one_line = !found.span.of(text).contains('\n');
        let whole = (quoted == Quoted::Call && is_on_one_line).then_some(found.span);
        whole.iter().chain(&found.parts).find_map(|part| self.on(*part))
    }

    /// Returns the first added line that a place touches, and the columns of the place there.
    pub(crate) fn on(&self, place: Span) -> Option<(&Line<'p>, std::ops::Range<usize>)> {
        let first = self.spans.partition_point(|line| line.end <= place.start);
        for (line, span) in self.lines[first..].iter().zip(&self.spans[first..]) {
            if place.end <= span.start {
                return None;
            }
            let (from, to) = (place.start.max(span.start) - span.start, place.end.min(span.end) - span.start);
            let shown = line.text.get(from..to).unwrap_or("");
            let begin = from + (shown.len() - shown.trim_start().len());
            let end = begin + shown.trim().len();
            if begin < end {
                return Some((line, begin..end));
            }
        }
        None
    }
}
