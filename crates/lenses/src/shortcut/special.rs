//! Product code that answers the very input of a test with the value that the test expects.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::SPECIAL;
use crate::contract::{Draft, DraftExt, Fact, Lookups};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangeKind, MentionKind, Side};
use qa_core::packet::Packet;
use qa_reading::names::places;
use qa_reading::syntax::Language;

/// A comparison with a value that is written out.
static CONDITION: Pattern = Pattern::new(
    r#"(?:(?:\b(?:and|if|when)\b|&&).*?(?:===?|\bis\b|\.equals\(|\beq\b)|^\s*(?:case|when)\b)\s*\(?\s*("[^"\\]+"|'[^'\\]+'|-?\d[\d_.]*)"#,
);
/// Words without which a line compares with nothing that is written out.
const COMPARISONS: &[&str] = &["==", " is ", ".equals(", "case ", "eq", "when "];
/// A value that is written out and returned.
static RESULT: Pattern = Pattern::new(
    r#"\breturn\b\s*\(?\s*("[^"\\]+"|'[^'\\]+'|-?\d[\d_.]*)(?:\.to_(?:owned|string)\(\))?\s*\)?\s*;?\s*\}?\s*(?:(?://|#|/\*).*)?$"#,
);

/// Shorter inputs are often a case of their own, such as an empty text or a letter.
const SHORTEST_INPUT: usize = 4;
/// Shorter answers stand near many inputs.
const SHORTEST_ANSWER: usize = 2;
/// Number of characters behind or before an input within which the line begins on which a test expects a value for it.
const NEAR: usize = 120;
/// Maximum number of test files that are read for an input.
const MOST_FILES: usize = 20;

/// An input that the product answers by a value that is written out; the draft says where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answered {
    input: String,
    answer: String,
    kind: MentionKind,
}

/// Returns the inputs that a file of the product newly answers by a value that is written out.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Fact> {
    let kind = Language::from_path(&packet.path_by_language()).and_then(kind_of);
    let (Some(kind), ChangeKind::Modified) = (kind, packet.file.kind) else { return Vec::new() };
    let mut facts = Vec::new();
    for hunk in packet.hunks() {
        let added: Vec<_> = hunk.added().collect();
        for (at, line) in added.iter().enumerate() {
            // Most lines compare nothing, and these checks cost next to nothing.
            if !COMPARISONS.iter().any(|word| line.text.contains(word)) {
                continue;
            }
            let Some(condition) = CONDITION.captures(line.text) else { continue };
            let Some(input) =
                condition.get(1).filter(|input| content(input.as_str()).len() >= SHORTEST_INPUT)
            else {
                continue;
            };
            let next = added.get(at + 1).filter(|next| next.number == line.number + 1);
            let behind = &line.text[input.end()..];
            let texts = [Some(behind), next.map(|next| next.text)];
            let answer = texts.into_iter().flatten().find_map(|text| RESULT.captures(text));
            let Some(answer) = answer.as_ref().and_then(|found| found.get(1)) else { continue };
            if content(answer.as_str()).len() < SHORTEST_ANSWER {
                continue;
            }
            let draft = Draft::on_line(SPECIAL, packet, line, input.start()..input.end(), SUMMARY);
            let answered = Answered {
                input: content(input.as_str()).to_owned(),
                answer: content(answer.as_str()).to_owned(),
                kind,
            };
            let known = packet.removed().any(|line| line.text.contains(&answered.input));
            facts.extend((!known).then(|| Fact::new(&answered, Some(draft))));
        }
    }
    facts
}

const SUMMARY: &str = "input of a test is answered by the value that the test expects";

/// Returns the facts that a test of the base bears out.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let answered = facts.iter().filter_map(|fact| Some((fact.read::<Answered>()?, fact.draft.as_ref()?)));
    let borne_out =
        answered.filter(|(answered, draft)| is_of_a_test(answered, &draft.file.to_text(), lookups));
    borne_out.map(|(_, draft)| draft.clone()).collect()
}

/// Returns whether a test of the base gives the input to the code of a file and expects the answer, which the base of that
/// file did not have.
fn is_of_a_test(answered: &Answered, path: &str, lookups: &dyn Lookups) -> bool {
    let Answered { input, answer, kind } = answered;
    let words: BTreeSet<&str> = input
        .split(|sign: char| !sign.is_alphanumeric() && sign != '_')
        .filter(|word| word.len() > 2)
        .collect();
    let longest = words.into_iter().max_by_key(|word| word.len());
    let base = lookups.text(Side::Base, path);
    let (Some(word), Some(base)) = (longest, base) else { return false };
    if base.contains(input.as_str()) {
        return false;
    }
    let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    let found = lookups.mentions(Side::Base, *kind, &[word.to_owned()]);
    let tests = found.paths.iter().filter(|path| is_test(path)).take(MOST_FILES);
    tests
        .filter_map(|path| Some((path, lookups.text(Side::Base, path)?)))
        .any(|(test, text)| (names(test, stem) || text.contains(stem)) && expects(&text, input, answer))
}

fn is_test(path: &str) -> bool {
    path.to_lowercase().split('/').any(|part| part.contains("test") || part.contains("spec"))
}

fn names(test: &str, stem: &str) -> bool {
    test.to_lowercase().rsplit('/').next().is_some_and(|name| name.contains(&stem.to_lowercase()))
}

/// Returns whether a text has an input as a value that is written out, and the answer to it near behind or before.
fn expects(text: &str, input: &str, answer: &str) -> bool {
    places(text, input).any(|place| {
        has_near(&text[place.end..], answer, false) || has_near(&text[..place.start], answer, true)
    })
}

/// Returns whether an answer stands on the first two lines of a text, or on the last two, and not far from there.
fn has_near(text: &str, answer: &str, is_before: bool) -> bool {
    let lines: Vec<&str> = match is_before {
        true => text.rsplitn(3, '\n').take(2).collect(),
        false => text.splitn(3, '\n').take(2).collect(),
    };
    let mut near = 0;
    lines.into_iter().any(|line| {
        let is_near = near < NEAR;
        near += line.len();
        is_near && places(line, answer).next().is_some()
    })
}

/// Returns a value without its quotes.
fn content(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

fn kind_of(language: Language) -> Option<MentionKind> {
    Some(match language {
        Language::C | Language::Cpp => MentionKind::C,
        Language::CSharp => MentionKind::CSharp,
        Language::Go => MentionKind::Go,
        Language::Java | Language::Kotlin => MentionKind::Java,
        Language::JavaScript | Language::Tsx | Language::TypeScript => MentionKind::Ecma,
        Language::Php => MentionKind::Php,
        Language::Python => MentionKind::Python,
        Language::Ruby => MentionKind::Ruby,
        Language::Rust => MentionKind::Rust,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        CONDITION.check();
        RESULT.check();
    }

    #[test]
    fn a_test_expects_the_answer_near_its_input() {
        for (text, expected) in [
            ("expect(slug('Hello, World!')).toBe('hello-world');", true),
            ("{\"Hello, World!\", \"hello-world\"},", true),
            ("slug('Hello, World!')\n\n\n  .toBe('hello-world')", false),
            ("slug('Hello, World!!x')", false),
            ("assertEquals(\"hello-world\", Slug.of(\"Hello, World!\"));", true),
            ("is('hello-world');\n\n\nslug('Hello, World!')", false),
        ] {
            assert_eq!(expects(text, "Hello, World!", "hello-world"), expected, "{text}");
        }
    }
}
