//! Assertions that demand less of their subject than at the base, or that hold whatever the code does.

use std::collections::BTreeSet;

use super::blurred::{blurs, takes_anything};
use super::compared::{Compared, Pair};
use super::{APPROXIMATED, WEAKENED, beside, caught, expected, failing, guarded, helpers};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_reading::names::places;
use qa_reading::syntax::{Check, Demand, Function, Span};

const APPROXIMATES: &str = "exact comparison of a number allows a difference";
/// Letters of an assertion by which it is recognized in a comment.
const SHORTEST: usize = 12;

pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = pairs.iter().flat_map(|pair| weakened(compared, pair)).collect();
    drafts.extend(pairs.iter().flat_map(|pair| commented_out(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| caught::inspect(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| guarded::inspect(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| guarded::if_there(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| expected::inspect(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| expected::given(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| helpers::cut_short(compared, pair)));
    drafts.extend(failing::inspect(compared, pairs));
    drafts.extend(pairs.iter().flat_map(|pair| unawaited(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| beside::detached(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| beside::recovered(compared, pair)));
    let Compared { base, head, .. } = compared;
    let functions = head.behaviour.functions.iter();
    let changed = functions.filter(|function| !function.is_broken && head.touches(function.span));
    let checks = changed.flat_map(Function::checks);
    let same: Vec<&Check> = checks.filter(|check| check.is_same && head.touches(check.span)).collect();
    if same.is_empty() {
        return drafts;
    }
    let older = base.behaviour.functions.iter().flat_map(Function::checks);
    let known: BTreeSet<&str> = older.map(|check| check.text.as_str()).collect();
    let new = same.into_iter().filter(|check| !known.contains(check.text.as_str()));
    // The base may say the same in other words.
    let new = new.filter(|check| {
        let subject = check.subjects.first().map(String::as_str).unwrap_or_default();
        !compared.packet.removed().any(|line| uses(line.text, subject) > 1)
    });
    let summary = "assertion compares a value with itself";
    drafts.extend(new.filter_map(|check| compared.at_head(WEAKENED, check.span, summary)));
    drafts
}

/// Returns the number of times that a line has an expression, but for where Go gives its value to a name.
fn uses(line: &str, expression: &str) -> usize {
    let all = line.match_indices(expression).map(|(at, _)| line[at + expression.len()..].trim_start());
    all.filter(|behind| !behind.starts_with(":=")).count()
}

fn weakened(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Pair { base, head } = pair;
    let changed = head.checks().iter().filter(|check| compared.head.touches(check.span));
    let added = changed.filter(|check| !has(base, check));
    let gone = lost(base, head);
    added
        .filter_map(|check| {
            let summary = weakness(base, head, &gone, check, compared.head.text)?;
            let rule = if summary == APPROXIMATES { APPROXIMATED } else { WEAKENED };
            compared.at_head(rule, check.span, summary)
        })
        .collect()
}

/// Returns the assertions that head makes less often.
pub(super) fn lost<'c>(base: &'c Function<'_>, head: &Function<'_>) -> Vec<&'c Check> {
    let checks = base.checks().iter();
    checks.filter(|check| head.times(&check.text) < base.times(&check.text)).collect()
}

/// Returns the way in which a new assertion, in the text of head, demands less than one that is gone.
pub(super) fn weakness(
    base: &Function<'_>,
    head: &Function<'_>,
    gone: &[&Check],
    new: &Check,
    text: &str,
) -> Option<&'static str> {
    // A test without any other assertion is one for `test-weakening`.
    let replaces = if new.subjects.is_empty() {
        !gone.is_empty() && head.checks().iter().any(|other| !always_holds(other))
    } else {
        gone.iter().any(|check| shares(check, new))
    };
    if !new.is_same && always_holds(new) && replaces {
        return Some("assertion holds whatever the code does");
    }
    if is_vacuous(new, text) && gone.iter().any(|check| shares(check, new) || wraps(new, check)) {
        return Some("assertion holds whatever the code does");
    }
    // Of several comparisons of one call with true and false, one is that with true.
    let mut about = gone.iter().filter(|check| head.times(&check.text) == 0 && shares(check, new));
    if about.any(|old| old.is_truth && says_true(new) || old.is_falsy && says_false(new)) {
        return None;
    }
    let wrapped = gone.iter().filter(|check| wraps(new, check) && check.demand > new.demand);
    let mut left = wrapped.filter(|check| !is_kept(base, head, check));
    if left.next().is_some() && new.demand < Demand::Size {
        return Some("assertion demands less than before");
    }
    let mut blurred = gone.iter().filter(|check| blurs(new, check));
    if blurred.any(|check| !is_kept(base, head, check)) {
        return Some("assertion demands less than before");
    }
    let about = gone.iter().copied().filter(|check| shares(check, new));
    let mut about: Vec<&Check> = about.filter(|check| !is_as_strong(check, new)).collect();
    about.sort_by_key(|check| check.demand);
    let mut stronger = about.iter().rev().filter(|old| old.demand > new.demand).peekable();
    if stronger.peek().is_some() {
        // Another assertion may demand as much as the one that is gone.
        let strongest = stronger.find(|old| !is_kept(base, head, old))?;
        let is_near = approximates(strongest, new) && !takes_anything(new);
        return Some(if is_near { APPROXIMATES } else { "assertion demands less than before" });
    }
    let tolerance = new.tolerance.as_ref()?;
    let before = about
        .iter()
        .filter_map(|check| check.tolerance.as_ref())
        .find(|before| before.before == tolerance.before);
    before
        .is_some_and(|before| before.parts < tolerance.parts)
        .then_some("tolerance of an assertion is raised")
}

/// Returns whether another assertion demands as much as one that is gone.
pub(super) fn is_kept(base: &Function<'_>, head: &Function<'_>, gone: &Check) -> bool {
    let (kept, known) = (demanding(head, gone), demanding(base, gone));
    kept > 0 && kept >= known
}

/// Returns the number of assertions about the same that demand as much.
fn demanding(function: &Function<'_>, check: &Check) -> usize {
    let checks = function.checks().iter();
    checks.filter(|other| other.demand >= check.demand && shares(other, check)).count()
}

/// Returns whether an assertion demands a part that every value has: the empty text, or a size of nothing or more. It is read as it is
/// written, because blanks and quotes inside of a text tell it from the empty one.
fn is_vacuous(check: &Check, text: &str) -> bool {
    static OF_NOTHING: Pattern = Pattern::new(
        r#"(?i)(?:contains?|include)\(\s*(?:""|''|``)\s*\)|match\(\s*//\s*\)|\bassert\s+(?:""|'')\s+in\b"#,
    );
    static CONTAINS_NOTHING: Pattern =
        Pattern::new(r#"(?i)contains\w*\((?:\s*(?:""|'')\s*,|[^"']*,\s*(?:""|'')\s*\))"#);
    static ANY_SIZE: Pattern =
        Pattern::new(r"(?i)(?:(?:count|len|length|size)(?:\(\s*\))?|len\([^<>=]*\))\s*>=\s*0(?:[^.\w]|$)");
    /// Assertion whose failure no test reports.
    static DISCARDED: Pattern = Pattern::new(r"\(\s*(?:new\(testing\.T\)|&testing\.T\{\})\s*,");
    let text = check.span.of(text);
    DISCARDED.is_match(text)
        || OF_NOTHING.is_match(text)
        || check.demand == Demand::Part && CONTAINS_NOTHING.is_match(text)
        || ANY_SIZE.is_match(text)
}

/// Returns whether an assertion is about something made of the very expression that another one compares with a value:
/// `str(total)[:1]` of `total`.
fn wraps(new: &Check, old: &Check) -> bool {
    const SHORTEST_SUBJECT: usize = 3;
    const MAKERS: &[&str] = &[
        "String(",
        "String.valueOf(",
        "str(",
        "repr(",
        "format!(",
        "(string)",
        "(String)",
        "bool(",
        "Boolean(",
        "Math.abs(",
        "abs(",
        "\"${",
        "f\"{",
        "Some(",
        "hash(",
        "id(",
        "typeof",
    ];
    old.demand == Demand::Value
        && old.subjects.iter().filter(|subject| subject.len() >= SHORTEST_SUBJECT).any(|subject| {
            let mut about = new
                .subjects
                .iter()
                .filter(|about| *about != subject && MAKERS.iter().any(|maker| about.contains(maker)));
            about.any(|about| places(about, subject).next().is_some())
        })
}

/// Returns whether an exact comparison of a number is replaced by one with a tolerance.
fn approximates(old: &Check, new: &Check) -> bool {
    const WORDS: &[&str] =
        &["allclose", "almost", "approx", "closeto", "delta", "epsilon", "isclose", "within"];
    let text = new.text.to_lowercase();
    let is_near = new.tolerance.is_some() || WORDS.iter().any(|word| text.contains(word));
    old.demand == Demand::Value && new.demand == Demand::Part && is_near
}

/// Returns whether a new assertion demands the same as a comparison with true, false, null or an empty value.
fn is_as_strong(old: &Check, new: &Check) -> bool {
    old.is_truth && says_true(new)
        || old.is_falsy && (new.is_falsy || says_false(new))
        || is_unlike_nothing(old) && new.demand == Demand::Exists
        || new.demand == Demand::Part && is_of_slice(old, new)
}

/// Returns whether an assertion is about a slice of what another one is about: the begin of a text, and how it begins.
fn is_of_slice(old: &Check, new: &Check) -> bool {
    const SLICES: &[&str] = &["[", ".slice(", ".substr(", ".substring("];
    let mut rests = old
        .subjects
        .iter()
        .flat_map(|part| new.subjects.iter().filter_map(|whole| part.strip_prefix(whole.as_str())));
    rests.any(|rest| SLICES.iter().any(|slice| rest.starts_with(slice)))
}

/// Returns whether an assertion demands that a value is not an empty text, zero or null.
fn is_unlike_nothing(check: &Check) -> bool {
    const NOTHING: &[&str] = &["\"\"", "''", "(nil,", ",nil", "(null,", ",null", "none", ",0,", ",0)", "(0,"];
    let text = check.text.to_lowercase();
    let is_unlike = ["notequal", "!=", "assertne", "noteq"].iter().any(|word| text.contains(word));
    is_unlike && NOTHING.iter().any(|nothing| text.contains(nothing))
}

/// Returns whether an assertion demands that a value is false, null or empty.
fn says_false(check: &Check) -> bool {
    const WORDS: &[&str] =
        &["empty", "falsy", "false", "isnone", "isnull", "null", "nil", "noerror", "undefined"];
    let text: String = check
        .text
        .to_lowercase()
        .chars()
        .filter(|sign| sign.is_alphanumeric() || "(!".contains(*sign))
        .collect();
    let is_turned = text.contains("(!") || text.starts_with("refute") || text.contains("wont");
    let is_named = WORDS.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| !text[..at].ends_with("not") && !text[..at].ends_with("notbe"))
    });
    // `assert not x`, `assert!(!x)`.
    let is_negated = ["assertnot", "assert!(!"].iter().any(|begin| text.starts_with(begin))
        && check.demand == Demand::Exists;
    is_named && !is_turned || is_negated && !is_named
}

/// Returns whether an assertion demands that something is true, and not only that it is there or is no null. Linters write
/// a comparison with true so.
fn says_true(check: &Check) -> bool {
    const THERE: &[&str] =
        &["called", "defined", "empty", "exist", "nil", "none", "not", "null", "present", "some", "!"];
    let mut text = check.text.trim_start_matches("assert!").to_owned();
    // A negation may be a part of the subject; names in it say nothing.
    for subject in check.subjects.iter().filter(|subject| !subject.starts_with(['!', '(', 'n'])) {
        text = text.replacen(subject.as_str(), "", 1);
    }
    let text = text.to_lowercase();
    check.demand == Demand::Exists && !THERE.iter().any(|word| text.contains(word))
}

/// Returns whether an assertion is about constants alone, or compares an expression with itself.
pub(super) fn always_holds(check: &Check) -> bool {
    match check.subjects.as_slice() {
        [] => true,
        [one, other] => one == other && check.demand == Demand::Value,
        _ => false,
    }
}

/// Reports assertions of the base that are comments now.
fn commented_out(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let comments: Vec<Span> =
        head.comments.iter().copied().filter(|comment| compared.head.touches(*comment)).collect();
    if comments.is_empty() {
        return None;
    }
    let texts: Vec<String> =
        comments.iter().map(|comment| squashed(comment.of(compared.head.text))).collect();
    let all = texts.concat();
    let mut gone = lost(base, head).into_iter().map(|check| squashed(&check.text));
    let found = gone.find(|check| check.len() >= SHORTEST && all.contains(check.as_str()))?;
    let begin: String = found.chars().take(SHORTEST).collect();
    let first = texts.iter().position(|text| text.contains(&begin)).unwrap_or(0);
    compared.at_head(WEAKENED, comments[first], "assertion is commented out")
}

/// Returns a text without white space, marks of comments and the kind of quotes.
fn squashed(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['/', '#', '*', ' ']));
    let text: String = lines.flat_map(str::split_whitespace).collect();
    text.replace(['\'', '`'], "\"").replace(",)", ")").trim_end_matches(['/', '*']).to_owned()
}

/// Reports assertions on promises that nothing waits for any more, so that they fail behind the test.
fn unawaited(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Pair { base, head } = pair;
    let text = head.span.of(compared.head.text);
    if !text.contains(".rejects") && !text.contains(".resolves") {
        return Vec::new();
    }
    let before = without_blanks(base.span.of(compared.base.text));
    let summary = "assertion on a promise is not awaited any more";
    let mut drafts = Vec::new();
    for (at, _) in text.match_indices("expect(") {
        let is_awaited =
            ["(", ",", "=>", "[", "await", "return"].iter().any(|word| text[..at].trim_end().ends_with(word));
        let statement = text[at..].split(';').next().unwrap_or_default();
        let words =
            [".rejects", ".resolves"].iter().filter_map(|word| Some(statement.find(word)? + word.len()));
        let Some(end) = words.min().filter(|_| !is_awaited) else { continue };
        let own = without_blanks(&statement[..end]);
        if ["await", "return"].iter().any(|word| before.contains(&format!("{word}{own}"))) {
            let start = head.span.start + at;
            drafts.extend(compared.at_head(WEAKENED, Span { start, end: start + end }, summary));
        }
    }
    drafts
}

/// Returns a text without white space, with one kind of quotes.
fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(['\'', '`'], "\"")
}

pub(super) fn has(function: &Function<'_>, check: &Check) -> bool {
    function.times(&check.text) > 0
}

/// Returns whether two assertions are about the same expression.
pub(super) fn shares(one: &Check, other: &Check) -> bool {
    one.subjects.iter().any(|subject| other.subjects.contains(subject))
}
