//! Functions that did something and are stubs now, and new code that says that it is not written yet.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::compared::{Compared, Pair, Version};
use super::{STUBBED, UNFINISHED};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_contracts::v1::Scope;
use qa_core::packet::{Packet, line_start};
use qa_reading::syntax::{Behaviour, Effect, Function, Language, ParsedSource, Span, gives_reason};

pub(super) const UNIMPLEMENTED: &str = "function that was implemented is not implemented any more";
/// Fewer deeds are no behaviour that is missed.
pub(super) const BEHAVIOUR: usize = 3;

/// Words of comments and documentation by which people say that doing nothing is meant.
static MEANT: Pattern = Pattern::new(
    r"(?i)\b(?:abstract|always|backwards?[- ]compat\w*|deprecat\w*|intentional\w*|kept for|legacy|no longer|not needed|not supported|obsolete|removed|subclass\w*|unsupported)\b",
);

/// Words of comments that postpone the work, and so give no reason for an empty body.
static UNDONE: Pattern = Pattern::new(
    r"(?i)\b(?:demo|dummy|example|fake|fixme|for now|hack|hard-?coded?|implement\w*|later|mock\w*|nothing (?:else )?(?:here|needed|to do)\W*$|placeholder|real|simplif\w*|skip\w*|stub\w*|temporar\w*|tests?|todo|until)\b",
);
/// Head of a type whose methods are declarations, or do nothing by design.
static IDLE: Pattern = Pattern::new(
    r"\b(?:class|interface|struct|trait|protocol)\s+(?:\w*(?:Noop|NoOp|Null|Nop|Dummy)\w*|\w+\s*\((?:[^)]*\b)?(?:ABC|Protocol)\b)|\b(?:class|struct)\s+\w+\s*(?:\(|:|<|extends|implements)[^{]*\b(?:Noop|NoOp|Null|Nop)\w*",
);

/// Words by which people say that code is not written yet.
static UNWRITTEN: Pattern = Pattern::new(concat!(
    r"(?i)\bin (?:a |the )?(?:real|actual|proper|production|full|complete)(?:[- ]world)? (?:implementation|application|app|code|system|scenario|environment|version),? (?:this|you|we|it|one|the|would|should|use|call|query|fetch)",
    r"|\bin (?:practice|production|real life|reality),? (?:it|one|this|we|you)(?:'d| should| would)\b",
    r"|\b(?:placeholder|dummy|mock|stub(?:bed)?|fake|simplified|hard-?coded) (?:implementation|logic|response|result|data|value|return|for now)s?\b(?: (?:for now|until|here|only))?\s*(?:$|[.:;,(*-]|for now|until)",
    r"|\bTODO:? *\(?(?:implement|finish|complete|add|write|replace)(?: (?:this|me|it|the|real|actual|logic|implementation|function|method)\b|\s*$|\s*\*/)",
    r"|\b(?:implementation|logic|code) goes here\b|\byour (?:code|logic|implementation) here\b",
    r"|\b(?:rest|remainder) of (?:the |your |this )?(?:code|implementation|file|function|method|logic|class)\b.{0,24}(?:unchanged|same|remains|here|omitted|\.\.\.)",
    r"|\.\.\. ?(?:existing|rest of|other|previous|remaining) (?:code|the|implementation|methods|logic|imports)",
    r"|\bnot (?:yet )?(?:been )?implemented(?: yet)?\b.{0,20}\b(?:return|so|for now|placeholder)\b",
    r"|\bfor now,? (?:just |simply |we (?:just |simply )?)?(?:return|assume|pretend|hard-?code|skip)\b",
));

pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for pair in pairs {
        drafts.extend(stubbed(compared, pair));
        drafts.extend(switched_off(compared, pair));
    }
    let Compared { packet, language, head, .. } = compared;
    let new = compared.new_functions();
    drafts.extend(new.filter_map(|function| unimplemented(*language, packet, head, function)));
    drafts.extend(unwritten(packet, head));
    drafts
}

/// Reports unfinished functions and comments of a new file, whose hunks are all of it.
pub(super) fn inspect_new(packet: &Packet<'_>) -> Vec<Draft> {
    let Some(language) = Language::from_path(&packet.path_by_language()) else { return Vec::new() };
    let mut text = String::new();
    for line in packet.added() {
        text.push_str(line.text);
        text.push('\n');
    }
    let telling = ["nimplemented", "mplement", "TODO", "todo!"];
    let may_tell = packet.file.scope == Scope::Product && telling.iter().any(|word| text.contains(word));
    if !may_tell && !UNWRITTEN.is_match(&text) {
        return Vec::new();
    }
    let Some(source) = ParsedSource::parse(language, &text, None) else { return Vec::new() };
    let head = Version::new(&source, packet.added());
    let mut drafts = unwritten(packet, &head);
    let functions = head.behaviour.functions.iter().skip(1).filter(|function| !function.is_broken);
    drafts.extend(functions.filter_map(|function| unimplemented(language, packet, &head, function)));
    drafts
}

/// Reports a new function that refuses to work.
fn unimplemented(
    language: Language,
    packet: &Packet<'_>,
    head: &Version<'_>,
    function: &Function<'_>,
) -> Option<Draft> {
    let facts = function.facts();
    let words = facts.statement.of(head.text);
    let is_meant = is_abstract(language, function, head.text, words) || says_why(words);
    // Interfaces of Java have members that a class need not support.
    let says_unwritten = ["mplement", "TODO", "yet"].iter().any(|word| words.contains(word));
    let is_optional = words.contains("UnsupportedOperation") && !says_unwritten;
    if facts.effect != Effect::Unimplemented || is_meant || is_optional {
        return None;
    }
    head.draft(packet, UNFINISHED, facts.statement, "new function is not implemented")
}

fn stubbed(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let now = head.facts();
    if now.effect == Effect::Acts {
        return None;
    }
    let before = base.facts();
    if before.effect != Effect::Acts || before.deeds < BEHAVIOUR || is_moved(compared, pair) {
        return None;
    }
    let text = head.span.of(compared.head.text);
    let summary = match now.effect {
        Effect::Acts => return None,
        // `refused` asks who overrides it.
        Effect::Unimplemented if is_abstract(compared.language, head, compared.head.text, text) => {
            return None;
        }
        Effect::Unimplemented => UNIMPLEMENTED,
        Effect::Constant | Effect::Nothing if is_meant(compared, head) => return None,
        Effect::Constant => "function that computed its result returns a constant",
        Effect::Nothing => "function that did something does nothing",
    };
    let statement = compared.at_head(STUBBED, now.statement, summary);
    statement.or_else(|| compared.at_head(STUBBED, head.span, summary)).or_else(|| {
        let body = Span { start: base.head.end, end: base.span.end };
        compared.at_base(STUBBED, body, summary)
    })
}

/// Settings by which code says more about what it does, or is told to do less.
static TALKATIVE: Pattern = Pattern::new(
    r"(?i)debug|verbose|trace|\blog|log_|_log|profil|telemetry|metric|colou?r|disable|skip|\bno_|\bci\b",
);

/// Reports a function all of whose work depends on a setting that nothing sets.
fn switched_off(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let condition = head.facts().switched_by?;
    let before = base.facts();
    let does_as_before =
        before.deeds >= 1 && before.calls.iter().all(|call| head.facts().calls.contains(call));
    let is_new = before.switched_by.is_none() && does_as_before;
    if !is_new || TALKATIVE.is_match(condition.of(compared.head.text)) || is_meant(compared, head) {
        return None;
    }
    compared.at_head(STUBBED, condition, "all of the function runs only if a setting asks for it")
}

/// Returns whether most of what a function called is called by another function that did not call it before.
pub(super) fn is_moved(compared: &Compared<'_>, pair: &Pair<'_>) -> bool {
    let older = compared.base.behaviour.by_path();
    let others = compared.head.behaviour.functions.iter().filter(|other| other.path != pair.head.path);
    let mut gained: BTreeSet<&str> = BTreeSet::new();
    for other in others {
        let before = older.get(other.path.as_str());
        let calls = other.facts().calls.iter().map(String::as_str);
        gained.extend(calls.filter(|name| before.is_none_or(|before| !before.facts().calls.contains(*name))));
    }
    let calls = &pair.base.facts().calls;
    let kept = calls.iter().filter(|name| gained.contains(name.as_str())).count();
    kept > 0 && kept * 2 >= calls.len()
}

/// Returns whether a function that refuses, by this text, is a method for others to override.
pub(super) fn is_abstract(language: Language, function: &Function<'_>, version: &str, refusal: &str) -> bool {
    let head = function.head.of(version);
    let is_method = function.path.contains('.');
    let is_idiom = is_method && (language == Language::Python || language == Language::Ruby);
    let says_when = ["yet", "TODO", "todo", "FIXME"].iter().any(|word| refusal.contains(word));
    head.contains("abstract") || head.contains("overload") || is_idiom && !says_when
}

/// Returns whether a macro of Rust says why it is not to be called, and not that it is still to be written.
fn says_why(refusal: &str) -> bool {
    let message = refusal.strip_prefix("unimplemented!").map(|rest| rest.trim_matches(['(', ')', ';', ' ']));
    let unwritten = ["yet", "todo", "TODO", "mplement"];
    message.is_some_and(|message| !message.is_empty() && !unwritten.iter().any(|word| message.contains(word)))
}

/// Returns the comments of a file in the order of the text, without those that are part of another one.
fn comments(behaviour: &Behaviour<'_>) -> Vec<Span> {
    let all = behaviour.functions.iter().flat_map(|function| &function.comments);
    let mut comments: Vec<Span> = all.copied().collect();
    comments.sort_by_key(|comment| (comment.start, Reverse(comment.end)));
    comments.dedup_by(|next, kept| next.start < kept.end);
    comments
}

/// Returns whether the documentation of a function, or a comment in it, says that doing nothing is meant.
pub(super) fn is_meant(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    let head = &compared.head;
    let comments = comments(&head.behaviour);
    let start = documented_from(head.text, function.span.start, &comments);
    let own = comments.iter().filter(|comment| start <= comment.start && comment.start < function.span.end);
    let is_documented =
        own.chain(&function.facts().documentation).any(|words| MEANT.is_match(words.of(head.text)));
    is_documented || is_explained(compared, function) || is_of_idle_type(head.text, function)
}

/// Returns whether an added comment in the body gives a reason and does not postpone the work.
fn is_explained(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    let Compared { base, head, .. } = compared;
    let changed = function.comments.iter().filter(|comment| head.touches(**comment));
    let words: Vec<&str> = changed.map(|comment| comment.of(head.text)).collect();
    // Other blanks before a comment are no new reason.
    let mut new = words.iter().filter(|words| !base.text.contains(words.trim()));
    new.any(|words| gives_reason(words)) && !words.iter().any(|words| UNDONE.is_match(words))
}

/// Returns whether a method belongs to an abstract type, or to one that does nothing by design.
fn is_of_idle_type(text: &str, function: &Function<'_>) -> bool {
    let Some((owner, _)) = function.path.rsplit_once('.') else { return false };
    let owner = owner.rsplit('.').next().unwrap_or(owner);
    let before = &text[..function.span.start];
    let mut heads = before.match_indices(owner).map(|(at, _)| {
        let start = line_start(text, at);
        // The head ends before what it holds.
        let end = before[at..].find([':', '{']).map_or(before.len(), |end| at + end);
        &text[start..end]
    });
    heads.any(|head| IDLE.is_match(head))
}

/// Returns the begin of the comments and annotations right above the line that an offset is on.
fn documented_from(text: &str, at: usize, comments: &[Span]) -> usize {
    let mut start = line_start(text, at);
    while start > 0 {
        let above = line_start(text, start - 1);
        let line = text[above..start - 1].trim_start();
        let first = start - 1 - line.len();
        let before = comments.partition_point(|comment| comment.start <= first);
        let is_comment = comments[..before].last().is_some_and(|comment| first < comment.end);
        let is_annotation = ["@", "[", "#["].iter().any(|begin| line.starts_with(begin));
        if !is_comment && !is_annotation {
            break;
        }
        start = above;
    }
    start
}

/// Reports added words of comments that say that the code beside them is not written yet.
fn unwritten(packet: &Packet<'_>, head: &Version<'_>) -> Vec<Draft> {
    let comments = head.behaviour.functions.iter().flat_map(|function| &function.comments);
    let changed = comments.filter(|comment| head.touches(**comment));
    let said = changed.filter_map(|comment| said_unwritten(head, *comment));
    let summary = "comment says that the code is not written yet";
    said.filter_map(|place| head.draft(packet, UNFINISHED, place, summary)).collect()
}

/// Returns the lines of a comment with words of which a part is added. Documentation is long, and old words in it say
/// nothing about what is added elsewhere.
fn said_unwritten(head: &Version<'_>, comment: Span) -> Option<Span> {
    let text = comment.of(head.text);
    let found = UNWRITTEN.captures_all(text);
    let mut phrases = found.iter().filter_map(|groups| groups.get(0)).map(|phrase| phrase.range());
    let phrase = phrases.find(|phrase| {
        head.touches(Span { start: comment.start + phrase.start, end: comment.start + phrase.end })
    })?;
    let start = line_start(text, phrase.start);
    let end = text[phrase.end..].find('\n').map_or(text.len(), |end| phrase.end + end);
    Some(Span { start: comment.start + start, end: comment.start + end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        MEANT.check();
        UNDONE.check();
        IDLE.check();
        UNWRITTEN.check();
        TALKATIVE.check();
    }

    #[test]
    fn words_of_unwritten_code_are_told_from_others() {
        for (comment, expected) in [
            ("// In a real implementation, this would call the API", true),
            ("# In production, you would use a database", true),
            ("# In a real app we would query the server", true),
            ("// placeholder implementation", true),
            ("# TODO: implement", true),
            ("// TODO: implement this", true),
            ("// ... existing code ...", true),
            ("# ... rest of the implementation", true),
            ("// rest of the code remains unchanged", true),
            ("# For now, just return True", true),
            ("# mock data for now", true),
            ("// Your code here", true),
            ("// dummy value", true),
            ("// placeholder text of the input", false),
            ("# the real implementation is in C", false),
            ("# TODO: implement RFC 7231 section 4 once #123 lands", false),
            ("// the mock data directory is made by the fixture", false),
        ] {
            assert_eq!(UNWRITTEN.is_match(comment), expected, "{comment}");
        }
    }
}
