//! Methods that a test gives an answer of its own and then asserts about, so that it tests its own answer.

use std::collections::BTreeSet;

use super::MOCKED;
use super::statements::Statements;
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_core::packet::Packet;
use qa_reading::names::{joins, places};

/// A method of an object that answers as the test says, by language: the object, then the method.
struct Answer {
    languages: &'static [&'static str],
    /// A text without which the pattern finds nothing.
    literal: &'static str,
    pattern: Pattern,
    /// The sign between an object and its method.
    joint: &'static str,
}

static ANSWERS: [Answer; 11] = [
    Answer {
        languages: &["ruby"],
        literal: "receive",
        pattern: Pattern::new(
            r"\ballow\(\s*([A-Za-z_][\w:.]*)\s*\)\s*\.to\s+receive(?:_messages)?\(\s*:?(\w+[?!]?)",
        ),
        joint: ".",
    },
    Answer {
        languages: &["ruby"],
        literal: "stub",
        pattern: Pattern::new(r"\b([A-Z][\w:]*)\.(?:stub|stubs)\(\s*:(\w+[?!]?)"),
        joint: ".",
    },
    Answer {
        languages: &["javascript", "typescript"],
        literal: "mock",
        pattern: Pattern::new(
            r#"\b(?:jest|vi|mock|t\.mock)\.(?:spyOn|method)\(\s*([\w.]+)\s*,\s*["'`](\w+)["'`]\s*(?:\)\s*\.mock(?:Implementation|Return|Resolved|Rejected)\w*\(|,)"#,
        ),
        joint: ".",
    },
    Answer {
        languages: &["python"],
        literal: "",
        pattern: Pattern::new(
            r#"\b(?:patch\.object|monkeypatch\.setattr|mocker\.patch\.object)\(\s*([A-Za-z_][\w.]*)\s*,\s*["'](\w+)["']"#,
        ),
        joint: ".",
    },
    Answer {
        languages: &["javascript", "typescript"],
        literal: "sinon",
        pattern: Pattern::new(r#"\bsinon\.(?:replace|stub)\(\s*([\w.]+)\s*,\s*["'`](\w+)["'`]\s*[,)]"#),
        joint: ".",
    },
    // By its path, of which the test may name the end.
    Answer {
        languages: &["python"],
        literal: "",
        pattern: Pattern::new(r#"\b(?:patch|monkeypatch\.setattr)\(\s*["']([\w.]+)\.(\w+)["']"#),
        joint: ".",
    },
    Answer {
        languages: &["java", "kotlin"],
        literal: "given",
        pattern: Pattern::new(r"\bgiven\(\s*([A-Za-z_][\w.]*)\.(\w+)\("),
        joint: ".",
    },
    Answer {
        languages: &["java", "kotlin"],
        literal: "when",
        pattern: Pattern::new(r"\bwhen(?:ever)?\(\s*([A-Za-z_][\w.]*)\.(\w+)\("),
        joint: ".",
    },
    Answer {
        languages: &["java", "kotlin"],
        literal: "when",
        pattern: Pattern::new(r"\.when(?:ever)?\(\s*([A-Za-z_][\w.]*)\s*\)\s*\.(\w+)\("),
        joint: ".",
    },
    Answer {
        languages: &["php"],
        literal: "willReturn",
        pattern: Pattern::new(
            r#"(\$\w+)\s*->\s*(?:expects\(.*\)\s*->\s*)?method\(\s*["'](\w+)["']\s*\).*->\s*willReturn"#,
        ),
        joint: "->",
    },
    Answer {
        languages: &["php"],
        literal: "andReturn",
        pattern: Pattern::new(r#"(\$\w+)\s*->\s*shouldReceive\(\s*["'](\w+)["']\s*\).*->\s*andReturn"#),
        joint: "->",
    },
];
/// Words of an answer that is the method's own.
static ORIGINAL: Pattern = Pattern::new(
    r"and_call_original|and_wrap_original|allRealMethod\b|\bwraps\s*=|\bcallThrough\b|\bwrappedMethod\b",
);
/// Words of an answer for a method that may not be there without it.
static ADDS: Pattern = Pattern::new(r"\bcreate\s*=\s*True|\braising\s*=\s*False");
/// The function that answers in the place of a method.
static SIDE_EFFECT: Pattern = Pattern::new(r"\bside_effect\s*=\s*(?:\w+\.)*(\w+)\s*[,)]");
/// Calls by which methods become their own again, with what has the answer.
static GIVES_BACK: Pattern = Pattern::new(
    r"([\w$.>-]+)(?:\.|->)(?:mockRestore|reset\w*|restore\w*|stop|stopall|undo|unstubAll\w*)\(|\breset\(\s*(\w+)",
);
/// Names of what has the answers of tests.
static ANSWERING: Pattern = Pattern::new(r"(?i)^(?:jest|vi)$|mock|monkeypatch|patch|sandbox|sinon|spy|stub");
/// Begin of an assertion.
static ASSERTS: Pattern = Pattern::new(r"\b(?:assert|expect|must|refute|should)\w*\b");
/// Begin of what runs before the tests of a group.
static SETUP: Pattern = Pattern::new(r"^(?:around|before|beforeAll|beforeEach|setup)\b");
/// Number of statements between such a begin and the answer.
const STATEMENTS_OF_SETUP: usize = 4;
/// Number of statements behind an answer that are read.
const STATEMENTS_OF_GROUP: usize = 400;

/// Returns the answers of methods that assertions of the same group then ask for.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref().unwrap_or_default();
    let own: Vec<&Answer> = ANSWERS.iter().filter(|answer| answer.languages.contains(&language)).collect();
    if own.is_empty()
        || packet.added().all(|line| own.iter().all(|answer| !line.text.contains(answer.literal)))
    {
        return Vec::new();
    }
    let head = Statements::at_head(packet);
    let base = Statements::at_base(packet);
    let removed: BTreeSet<String> = base.iter().flat_map(|base| base.written_on(packet.removed())).collect();
    let imports: Vec<String> = (0..head.len())
        .map(|position| head.written(position))
        .filter(|line| line.starts_with("import ") || line.starts_with("from "))
        .collect();
    let mut found: Vec<(String, Draft)> = Vec::new();
    for changed in head.on(packet.added()) {
        let text = head.written(changed.position);
        let is_new = !removed.contains(&text);
        let mut answers = own.iter().filter(|_| is_new);
        if let Some(method) =
            answers.find_map(|answer| asserted(answer, &text, &imports, &head, changed.position))
        {
            let line = changed.line.text;
            let columns = line.len() - line.trim_start().len()..line.trim_end().len();
            let summary = "the code under test is mocked";
            found.push((method, Draft::on_line(MOCKED, packet, &changed.line, columns, summary)));
        }
    }
    // A method that had an answer already may get another one.
    let mut answered: BTreeSet<String> = BTreeSet::new();
    for base in base.iter().filter(|_| !found.is_empty()) {
        for text in (0..base.len()).map(|position| base.written(position)) {
            let given = own.iter().filter_map(|answer| answer.pattern.captures(&text));
            answered.extend(given.map(|groups| named(&groups[1], &groups[2])));
        }
    }
    found.retain(|(method, _)| !answered.contains(method));
    let mut drafts: Vec<Draft> = found.into_iter().map(|(_, draft)| draft).collect();
    drafts.dedup_by_key(|draft| draft.start_line);
    drafts
}

/// Returns a method with the last name of what it belongs to.
fn named(owner: &str, method: &str) -> String {
    format!("{}.{method}", owner.rsplit('.').next().unwrap_or(owner))
}

/// Returns the method that a statement gives an answer, where assertions behind it ask for that.
fn asserted(
    answer: &Answer,
    text: &str,
    imports: &[String],
    head: &Statements,
    position: usize,
) -> Option<String> {
    if !text.contains(answer.literal) || ORIGINAL.is_match(text) {
        return None;
    }
    let found = answer.pattern.captures(text)?;
    let (owner, method) = (&found[1], &found[2]);
    let is_path = text[..found.get(1).map_or(0, |owner| owner.start())].ends_with(['"', '\'']);
    if is_path && (!is_module(owner, imports) || ADDS.is_match(text)) {
        return None;
    }
    // The method itself, or what a test keeps of it, answers as before.
    let effect = SIDE_EFFECT.captures(text);
    let is_own = effect
        .is_some_and(|name| name[1] == *method || name[1].starts_with("real") || name[1].starts_with("orig"));
    if is_own {
        return None;
    }
    let owner = if is_path { owner.rsplit('.').next().unwrap_or(owner) } else { owner };
    let call = format!("{owner}{}{method}", answer.joint);
    let mut results: Vec<String> = Vec::new();
    let behind = group_behind(head, position).map(|other| head.written(other));
    let kept = text.split_once('=').map(|(kept, _)| kept.trim()).unwrap_or_default();
    let mut behind = behind.take_while(|line| {
        let ended = GIVES_BACK.captures(line);
        let name = ended.as_ref().and_then(|groups| groups.first_group()).map(|name| name.as_str());
        !name.is_some_and(|name| {
            name == kept || name == owner || name.starts_with(&call) || ANSWERING.is_match(name)
        })
    });
    let is_asserted = behind.any(|line| {
        let asserts = asserts_about(&line, &call) || results.iter().any(|name| asserts_value(&line, name));
        results.extend(result_of(&line, &call));
        asserts
    });
    is_asserted.then(|| named(&found[1], method))
}

/// Returns whether one of some imports is of the module of a path, so that its last name stands for it.
fn is_module(path: &str, imports: &[String]) -> bool {
    let (package, name) = path.rsplit_once('.').unwrap_or(("", path));
    imports.iter().any(|line| {
        let is_own = match package {
            "" => line.starts_with("import "),
            _ => {
                line.starts_with(&format!("from {package} import "))
                    || line.starts_with(&format!("import {path} as {name}"))
            }
        };
        is_own && places(line, name).next().is_some()
    })
}

/// Returns the name that a statement gives the result of a call.
fn result_of(line: &str, call: &str) -> Option<String> {
    let (target, value) = line.split_once('=')?;
    let value = value.trim_start().trim_start_matches("await ");
    let name = target.trim_end_matches([':', ' ']).rsplit([' ', '\t']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|sign| joins(sign) || sign == '$');
    let is_called = value.strip_prefix(call).is_some_and(|rest| {
        rest.starts_with('(') && behind_call(rest).trim_end_matches([';', ' ']).is_empty()
    });
    (is_name && is_called).then(|| name.to_owned())
}

/// Returns whether a line asserts something about a name, and names nothing else that the code under test may give.
fn asserts_value(line: &str, name: &str) -> bool {
    let asserts = ASSERTS.find(line);
    asserts.is_some_and(|asserts| {
        places(line, name.trim_start_matches('$')).any(|at| at.start > asserts.start())
            && is_plain(&line[asserts.end()..])
    })
}

/// Returns the text behind the arguments of a call, of which the begin is given.
fn behind_call(text: &str) -> &str {
    let mut open = 0_usize;
    let end = text.char_indices().find(|(_, sign)| {
        match sign {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0
    });
    end.map(|(at, sign)| &text[at + sign.len_utf8()..]).unwrap_or_default()
}

/// Returns whether an assertion, behind its first word, neither calls nor reads anything but matchers.
fn is_plain(text: &str) -> bool {
    static READS: Pattern = Pattern::new(
        r#""[^"]*"|'[^']*'|`[^`]*`|(^|[)\s]|\bnot|\bto)?\s*\.\s*\w+[?!]?|\$?\w+\s*(?:\(|\.\s*\w|->|::)"#,
    );
    const MATCHERS: &[&str] = &[
        "BigInt",
        "Number",
        "String",
        "abs",
        "any",
        "anything",
        "approx",
        "be",
        "be_within",
        "contains",
        "eq",
        "eql",
        "equal",
        "equalTo",
        "expect",
        "float",
        "in",
        "int",
        "is",
        "len",
        "list",
        "pytest",
        "round",
        "sorted",
        "str",
    ];
    READS.captures_all(text).iter().all(|found| {
        let read = found[0].trim();
        let name = read.trim_matches(|sign: char| !joins(sign));
        let is_text = read.starts_with(['"', '\'', '`']);
        let is_chained = read.starts_with([')', '.']) || found.get(1).is_some();
        is_text || is_chained || MATCHERS.contains(&name.split(['(', '.']).next().unwrap_or(name))
    })
}

/// Returns the statements behind one in the group of tests that it sets up, or in its test.
fn group_behind(head: &Statements, position: usize) -> impl Iterator<Item = usize> {
    let own = head.indent(position);
    let text = head.written(position);
    // What a decorator does lasts for its function, and what `with` does for its block.
    let is_for_block = text.starts_with('@') || text.starts_with("with ");
    let before = position.saturating_sub(STATEMENTS_OF_SETUP)..position;
    let mut setups = before.rev().filter(|before| SETUP.is_match(&head.written(*before)));
    let level = setups.find(|setup| head.indent(*setup) < own).map_or(own, |setup| head.indent(setup));
    let behind = (position + 1..head.len()).take(STATEMENTS_OF_GROUP);
    let mut is_inside = !text.starts_with('@');
    behind.take_while(move |behind| {
        let indent = head.indent(*behind);
        let goes_on = if is_for_block { !is_inside || indent > own } else { indent >= level };
        is_inside |= indent > own;
        goes_on
    })
}

/// Returns whether a line asserts something about the result of a call.
fn asserts_about(line: &str, call: &str) -> bool {
    let Some(asserts) = ASSERTS.find(line) else { return false };
    // `expected` is a name.
    let behind = line[asserts.end()..].trim_start();
    if behind.starts_with('=') && !behind.starts_with("==") {
        return false;
    }
    line.match_indices(call).any(|(at, _)| {
        let behind = &line[at + call.len()..];
        let is_name = !behind.starts_with(|sign: char| joins(sign) || ".?!=".contains(sign));
        let is_own = !line[..at].ends_with(|sign: char| joins(sign) || sign == '.' || sign == ':');
        // A spy itself is asserted about without a call.
        let is_called = behind.starts_with('(') || line.contains(".to ") || line.contains("must_");
        let rest = if behind.starts_with('(') { behind_call(behind) } else { behind };
        let others = [line.get(asserts.end()..at).unwrap_or_default(), rest].concat();
        asserts.start() < at && is_name && is_own && is_called && is_plain(&others)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_reading::syntax::{Language, ParsedSource};

    #[test]
    fn answers_that_a_test_asserts_about_are_told_from_others() {
        for answer in &ANSWERS {
            answer.pattern.check();
        }
        for pattern in [&ORIGINAL, &ADDS, &SIDE_EFFECT, &GIVES_BACK, &ANSWERING, &ASSERTS, &SETUP] {
            pattern.check();
        }
        for (line, call, expected) in [
            ("  expect(Cart.total(1)).to eq(3)", "Cart.total", true),
            ("  expect(Cart.total).to eq(3)", "Cart.total", true),
            ("  expect(Cart.totals).to eq(3)", "Cart.total", false),
            ("  expect(cart.total).toHaveBeenCalled();", "cart.total", false),
            ("  expect(cart.total(1)).toBe(3);", "cart.total", true),
            ("  cart.total(1)", "cart.total", false),
            ("    assert cart.total(1) == 3", "cart.total", true),
            ("    assert cart.total(1) == expected", "cart.total", true),
            ("    expected = cart.total(1)", "cart.total", false),
            ("    assert bill.total == cart.total(1)", "cart.total", false),
            ("    assert bill(cart) == cart.total(1) * 2", "cart.total", false),
            ("    self.assertEqual(cart.total(f(1)), 3)", "cart.total", true),
            ("  expect(toBill(cart).total).toBe(cart.total(1));", "cart.total", false),
            ("  expect(await cart.total(1)).not.toBe(3);", "cart.total", true),
            ("  expect(cart.total(1)).to.equal(3);", "cart.total", true),
            ("  assert.strictEqual(cart.total(1), 3);", "cart.total", true),
            ("  assertThat(cart.total(1)).isEqualTo(3);", "cart.total", true),
            ("  assertThat(cart.total(1), is(3));", "cart.total", true),
            ("  assertEquals(bill.total(), cart.total(1));", "cart.total", false),
        ] {
            assert_eq!(asserts_about(line, call), expected, "{line}");
        }
    }

    #[test]
    fn a_setup_reaches_to_the_end_of_its_group() {
        let text = "describe 'a' do\n  before do\n    allow(A).to receive(:b)\n  end\n  it { expect(A.b).to eq 1 }\nend\nit { expect(A.b).to eq 2 }\n";
        let source = ParsedSource::parse(Language::Ruby, text, None).unwrap();
        let head = Statements::new(&source);
        let answer = (0..head.len()).find(|at| head.written(*at).starts_with("allow")).unwrap();
        let behind: Vec<String> = group_behind(&head, answer).map(|at| head.written(at)).collect();
        assert!(behind.contains(&"expect(A.b).to eq 1".to_owned()), "{behind:?}");
        assert!(!behind.contains(&"expect(A.b).to eq 2".to_owned()), "{behind:?}");
    }
}
