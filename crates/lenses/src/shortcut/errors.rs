//! Failures that a function handled or handed on, and forgets now.

use std::ops::Range;

use super::SWALLOWED;
use super::compared::{Compared, Pair};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_core::packet::Line;
use qa_reading::syntax::{Facts, Handler, Language, gives_reason, has_reason, without_comment};

/// Functions that end something, whose failure changes nothing any more.
const CLEANUPS: &[&str] = &[
    "Close",
    "Fprint",
    "Fprintf",
    "Fprintln",
    "Remove",
    "RemoveAll",
    "Rollback",
    "Shutdown",
    "close",
    "remove_file",
    "shutdown",
];

pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let (replaced, turned) = (replaced(compared), turned(compared));
    for pair in pairs {
        drafts.extend(swallowed(compared, pair));
        drafts.extend(dropped(compared, pair));
        drafts.extend(narrowed(compared, pair, &replaced));
        drafts.extend(filtered(compared, pair));
        drafts.extend(rescued(compared, pair));
        for draft in succeeded(compared, pair, &turned) {
            if drafts.iter().all(|known: &Draft| known.start_line != draft.start_line) {
                drafts.push(draft);
            }
        }
    }
    drafts
}

/// A failure that leaves a function: `throw …`, `raise …`, `return err`, `return Err(…)`.
static FAILURE: Pattern = Pattern::new(
    r"^(\s*)(?:(?:throw|raise)\b[^;]*;?|return (?:nil, |[\w.]+, )?(?:err|fmt\.Errorf\(.*\)|errors\.New\(.*\))|return Err\(.*\);?|(?:return )?(?:next|callback|cb|done|reject)\((?:err|error|e|new \w*Error\(.*\))\);?)\s*$",
);
/// A return that says that nothing failed.
static SUCCESS: Pattern = Pattern::new(
    r"^(\s*)(?:return(?: (?:None|True|null|nil|true|undefined|\{\}|\[\]|Ok\(\(\)\)|(?:nil|[\w.]+), nil))?|(?:return )?(?:next|callback|cb|done|resolve)\((?:null(?:, [^;]*)?|undefined)?\));?\s*$",
);

/// A call that writes something to a log or a console and does nothing else.
static LOGS: Pattern = Pattern::new(
    r"^(\s*)(?:(?:\w+\.)*(?:Debug|Trace|Console|console|Log|log|logger|Logger|logging|_log|_logger|\w*Log(?:ger)?|\w+_log(?:ger)?)(?:\(\))?\.\w+|print(?:f|ln)?!?|eprintln!|puts)\s*\(.*\)\s*;?\s*$",
);

/// Failures that are part of a contract, such as the end of a file or a missing entry. They may become a value.
static EXPECTED: Pattern = Pattern::new(
    r"\b(?:EOF|EOFError|EOFException|ENOENT|ErrNoRows|ErrNotExist|ErrNotFound|FileNotFoundError|GeneratorExit|IndexError|IsNotExist|KeyError|KeyNotFoundException|KeyboardInterrupt|LookupError|NoSuchElementException|NotFound|StopAsyncIteration|StopIteration|SystemExit)\b",
);
/// Number of lines above a return that may name its failure.
const LINES_ABOVE: usize = 2;

/// A condition that compares a value with a number by its size, and one that compares it with a number alone.
static RANGE: Pattern = Pattern::new(r"^(.*[\w)\]])\s*(<=|<|>=|>)\s*(-?\d[\d_.]*)(\D*)$");
static POINT: Pattern = Pattern::new(r"^(.*[\w)\]])\s*={2,3}\s*(-?\d[\d_.]*)(\D*)$");
/// Begin of a statement that refuses.
static REFUSES: Pattern = Pattern::new(
    r"^\s*(?:\{\s*)?(?:throw|raise|panic!?\(|abort\(|return\s+(?:Err\(|.*\b(?:err|fmt\.Errorf|errors\.New)\b))",
);

/// A line in the place of another one.
struct Replaced<'p> {
    old: Line<'p>,
    new: Line<'p>,
}

/// Returns the lines that alone take the place of another one.
fn replaced<'p>(compared: &Compared<'p>) -> Vec<Replaced<'p>> {
    let replaced = compared.packet.hunks().filter_map(|hunk| {
        let (mut removed, mut added) = (hunk.removed(), hunk.added());
        let (old, new) = (removed.next()?, added.next()?);
        (removed.next().is_none() && added.next().is_none()).then_some(Replaced { old, new })
    });
    replaced.collect()
}

/// Reports a refusal whose condition never holds any more, and one of a range of numbers that is one of a single number
/// outside of the range's bound.
fn narrowed(compared: &Compared<'_>, pair: &Pair<'_>, replaced: &[Replaced<'_>]) -> Vec<Draft> {
    let Compared { base, head, packet, .. } = compared;
    let mut drafts = Vec::new();
    for Replaced { old, new } in replaced {
        let is_inside = base.is_on(old, pair.base.span) && head.is_on(new, pair.head.span);
        if !is_inside {
            continue;
        }
        let next = usize::try_from(new.number).ok().and_then(|number| head.text.lines().nth(number));
        let refuses = next.is_some_and(|line| REFUSES.is_match(line));
        let start = new.text.len() - new.text.trim_start().len();
        let columns = start..new.text.trim_end().len();
        if refuses && is_switched_off(old.text, new.text) {
            let summary = "condition of a refusal never holds";
            drafts.push(Draft::on_line(SWALLOWED, packet, new, columns, summary));
            continue;
        }
        let (Some(range), Some(point)) = (RANGE.captures(old.text), POINT.captures(new.text)) else {
            continue;
        };
        let is_same = range[1] == point[1] && range[4] == point[3] && range[1].trim_start().starts_with("if");
        if is_same && refuses && !is_bound(&range[2], &range[3], &point[2]) {
            let summary = "range that was refused is refused for one number alone";
            drafts.push(Draft::on_line(SWALLOWED, packet, new, columns, summary));
        }
    }
    drafts
}

/// An adapter of Rust that leaves failures out of a sequence of results.
static FILTERS: Pattern = Pattern::new(
    r"\.(?:filter_map|flat_map)\(\s*(?:(?:Result|std::result::Result)::ok|\|(\w+)\|\s*\w+\.ok\(\))\s*\)|\.flatten\(\)",
);

/// Counts the places of a line that hand a failure on.
fn handed_on(line: &str) -> usize {
    line.matches('?').count() + line.matches("collect::<Result<").count()
}

/// Reports an adapter that leaves failures out which the lines in its place handed on.
fn filtered(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Compared { base, head, packet, language } = compared;
    let mut drafts = Vec::new();
    for hunk in packet.hunks().filter(|_| *language == Language::Rust) {
        let removed = hunk.removed().filter(|line| base.is_on(line, pair.base.span));
        let before: Vec<&str> = removed.map(|line| line.text).collect();
        let added: Vec<Line<'_>> = hunk.added().filter(|line| head.is_on(line, pair.head.span)).collect();
        let was: usize = before.iter().map(|line| handed_on(line)).sum();
        let is: usize = added.iter().map(|line| handed_on(line.text)).sum();
        let new = added.iter().find(|line| FILTERS.is_match(line.text));
        if let Some(line) = new.filter(|_| was > is && !before.iter().any(|line| FILTERS.is_match(line))) {
            let start = line.text.len() - line.text.trim_start().len();
            let columns = start..line.text.trim_end().len();
            let summary = "failures that were handed on are left out of the results";
            drafts.push(Draft::on_line(SWALLOWED, packet, line, columns, summary));
        }
    }
    drafts
}

/// Names of what ends something, which often may fail without consequences.
static ENDS: Pattern = Pattern::new(
    r"(?i)(?:^|[._]|\b)(?:clean|close|delete|disconnect|dispose|flush|kill|notify|prefetch|release|rm|rm_f|rm_rf|shutdown|stop|teardown|unlink|warm)(?:\w*)$|(?:\b|[._])(?:close|delete|disconnect|kill|rm|rm_f|rm_rf|shutdown|stop|unlink)\b",
);
/// A handler of Ruby behind an expression, which takes any failure of it.
static MODIFIER: Pattern = Pattern::new(r"\S[^#]*?\s(rescue\s+[^#]*)");

/// Reports an expression that stood there before and whose failure gives a value now.
fn rescued(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let Compared { base, head, packet, language } = compared;
    let mut drafts = Vec::new();
    for hunk in packet.hunks().filter(|_| *language == Language::Ruby) {
        let removed = hunk.removed().filter(|line| base.is_on(line, pair.base.span));
        let before: Vec<String> = removed.map(|line| squeezed(line.text)).collect();
        for line in hunk.added().filter(|line| head.is_on(line, pair.head.span)) {
            let Some(groups) = MODIFIER.captures(line.text) else { continue };
            let Some(handler) = groups.first_group() else { continue };
            let guarded = squeezed(&line.text[..handler.start()]);
            let ran_before = before.contains(&guarded);
            if ran_before && !ENDS.is_match(&guarded) && !has_reason(line.text) {
                let columns = handler.start()..handler.start() + handler.as_str().trim_end().len();
                let summary = "failure that was handed on is swallowed";
                drafts.push(Draft::on_line(SWALLOWED, packet, &line, columns, summary));
            }
        }
    }
    drafts
}

/// Returns code without blanks and parentheses.
fn squeezed(code: &str) -> String {
    let code = without_comment(code);
    code.chars().filter(|sign| !sign.is_whitespace() && !"()".contains(*sign)).collect()
}

/// Returns whether a condition is the one before with an operand that never holds.
fn is_switched_off(old: &str, new: &str) -> bool {
    const NEVER: &[&str] = &[" and False", " && false", "False and ", "false && "];
    let before: String = old.chars().filter(|sign| !"() ".contains(*sign)).collect();
    NEVER.iter().filter(|never| new.contains(*never)).any(|never| {
        let rest = new.replacen(never, "", 1);
        rest.chars().filter(|sign| !"() ".contains(*sign)).eq(before.chars())
    })
}

/// Returns whether a number is the one at the bound of a range, which is all of it where nothing lies beyond.
fn is_bound(sign: &str, bound: &str, number: &str) -> bool {
    let (Ok(bound), Ok(number)) = (bound.parse::<f64>(), number.parse::<f64>()) else { return true };
    match sign {
        "<" => number == bound - 1.0,
        ">" => number == bound + 1.0,
        _ => number == bound,
    }
}

/// Returns whether a return gives a reason, or the lines right above do or name an expected failure.
fn is_expected(text: &str, line: &Line<'_>) -> bool {
    let last = usize::try_from(line.number.saturating_sub(1)).unwrap_or(usize::MAX);
    let above: Vec<&str> = text.lines().take(last).collect();
    let mut above = above.iter().rev().take(LINES_ABOVE);
    has_reason(line.text)
        || above.any(|line| {
            let comment = ["//", "#"].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
            EXPECTED.is_match(line) || comment.is_some_and(gives_reason)
        })
}

/// A line without a failure in the place of one.
struct Turned<'p> {
    old: Line<'p>,
    new: Line<'p>,
    /// Set where lines before it say something about the failure.
    is_told: bool,
    columns: Range<usize>,
    summary: &'static str,
}

/// Returns the lines that stand in the place of a failure, in whatever function.
fn turned<'p>(compared: &Compared<'p>) -> Vec<Turned<'p>> {
    let mut all = Vec::new();
    for hunk in compared.packet.hunks() {
        let removed: Vec<Line<'_>> = hunk.removed().collect();
        let added: Vec<Line<'_>> = hunk.added().collect();
        // The failure alone is replaced, on one line or over several: what it depends on stays.
        // What is said about it before makes no difference.
        let ([old, ..], [said @ .., new]) = (removed.as_slice(), added.as_slice()) else { continue };
        let is_open = old.text.matches('(').count() > old.text.matches(')').count();
        if removed.len() > 1 && !is_open {
            continue;
        }
        if !said.iter().all(|line| LOGS.is_match(without_comment(line.text).trim_end())) {
            continue;
        }
        let texts: Vec<&str> = removed.iter().map(|line| without_comment(line.text).trim_end()).collect();
        let texts = texts.join(" ");
        let Some(failure) = FAILURE.captures(&texts) else { continue };
        let code = without_comment(new.text).trim_end();
        let (success, summary) = match (SUCCESS.captures(code), LOGS.captures(code)) {
            (Some(success), _) => (success, "failure is turned into success"),
            (None, Some(logs)) => (logs, "failure is logged and the function goes on"),
            (None, None) => continue,
        };
        let is_contract = EXPECTED.is_match(&texts) || is_expected(compared.head.text, new);
        if failure[1] == success[1] && !is_contract {
            let (is_told, columns) = (!said.is_empty(), success[1].len()..code.len());
            all.push(Turned { old: *old, new: *new, is_told, columns, summary });
        }
    }
    all
}

/// Reports a return that stands in the place of a failure.
fn succeeded(compared: &Compared<'_>, pair: &Pair<'_>, turned: &[Turned<'_>]) -> Vec<Draft> {
    let Compared { base, head, packet, .. } = compared;
    let own = turned.iter().filter(|Turned { old, new, is_told, .. }| {
        let is_inside = base.is_on(old, pair.base.span) && head.is_on(new, pair.head.span);
        is_inside && !(*is_told && ENDS.is_match(&pair.head.path))
    });
    own.map(|Turned { new, columns, summary, .. }| {
        Draft::on_line(SWALLOWED, packet, new, columns.clone(), *summary)
    })
    .collect()
}

/// Reports handlers that forget failures of code that the function ran before.
fn swallowed(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let handlers = pair.head.facts().handlers.iter();
    let handlers = handlers.filter(|handler| handler.drops && !handler.is_explained);
    let worse =
        handlers.filter_map(|handler| Some((handler, loss(pair.base.facts(), handler, compared.head.text)?)));
    worse
        .filter_map(|(handler, summary)| {
            let draft = compared.at_head(SWALLOWED, handler.span, summary);
            let draft = draft.or_else(|| compared.at_head(SWALLOWED, handler.whole, summary));
            // A handler may be emptied by removed lines alone.
            let mut before = pair.base.facts().handlers.iter().filter(|before| shares(before, handler));
            draft.or_else(|| before.find_map(|before| compared.at_base(SWALLOWED, before.whole, summary)))
        })
        .collect()
}

/// Returns what became of a failure that a handler forgets, where the base did more about it.
fn loss(base: &Facts, handler: &Handler, text: &str) -> Option<&'static str> {
    let before: Vec<&Handler> = base.handlers.iter().filter(|before| shares(before, handler)).collect();
    let alike: Vec<&&Handler> = before.iter().filter(|before| before.caught == handler.caught).collect();
    if alike.iter().any(|before| before.drops) {
        return None;
    }
    // A lookup of an entry that is missing may return a value of its own.
    let gives_value = handler.whole.of(text).contains("return");
    let is_contract = EXPECTED.is_match(&handler.caught) && !handler.is_broad && gives_value;
    if is_contract {
        return None;
    }
    if !alike.is_empty() {
        return Some("failure that was handled is swallowed");
    }
    let ran_before = handler.guarded.iter().any(|name| base.calls.contains(name));
    let was_dropped = before.iter().any(|before| before.drops);
    (handler.is_broad && ran_before && !was_dropped).then_some("failure that was handed on is swallowed")
}

/// Returns whether two handlers guard one function's failures.
fn shares(one: &Handler, other: &Handler) -> bool {
    one.guarded == other.guarded || one.guarded.intersection(&other.guarded).next().is_some()
}

/// Reports results that were looked at and are thrown away.
fn dropped(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let fates = pair.head.facts().fates.iter().filter(|(_, fate)| !fate.dropped.is_empty());
    let fates = fates.filter(|(callee, _)| !CLEANUPS.contains(&callee.as_str()));
    let worse = fates.filter(|(callee, fate)| {
        let before = pair.base.facts().fates.get(*callee);
        before
            .is_some_and(|before| fate.dropped.len() > before.dropped.len() && fate.handled < before.handled)
    });
    let summary = "error that was looked at is thrown away";
    let places = worse.flat_map(|(_, fate)| &fate.dropped);
    places.filter_map(|place| compared.at_head(SWALLOWED, *place, summary)).collect()
}
