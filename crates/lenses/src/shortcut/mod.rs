//! Changes that only look finished: stubs, swallowed errors, weaker assertions, code that checks whether it is tested.

mod assertions;
mod compared;
mod detections;
mod errors;
mod mocks;
mod rows;
mod stubs;
mod types;
mod words;

use crate::contract::{
    Alike, Fact, Inspection, Lens, LensSpec, Need, everywhere, fold, presets, rule, text_rule,
};
use crate::parsed;
use compared::{Compared, Trees};
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::Packet;
use qa_reading::syntax::Language;

const WEAKENED: &str = "shortcut/assertion-weakened";
const APPROXIMATED: &str = "shortcut/number-approximated";
const SWALLOWED: &str = "shortcut/error-swallowed";
const INSTRUCTS: &str = "shortcut/instructs-reviewer";
const RETRIED: &str = "shortcut/retried-test";
const STUBBED: &str = "shortcut/stubbed-function";
const MOCKED: &str = "shortcut/subject-mocked";
const DETECTED: &str = "shortcut/test-detected";
const ESCAPED: &str = "shortcut/type-escaped";
const UNFINISHED: &str = "shortcut/unfinished-code";

const OFF: ScopeStrengths = everywhere(Strength::Off);
const PRODUCT: ScopeStrengths = ScopeStrengths { product: Strength::Advise, ..OFF };
const TESTS: ScopeStrengths = ScopeStrengths { test: Strength::Advise, ..OFF };
/// Rust has its tests beside the product.
const BOTH: ScopeStrengths = ScopeStrengths { product: Strength::Advise, test: Strength::Advise, ..OFF };
const CERTAIN_PRODUCT: PresetStrengths = presets(PRODUCT, ScopeStrengths { product: Strength::Block, ..OFF });
const CERTAIN_TEST: PresetStrengths =
    presets(BOTH, ScopeStrengths { product: Strength::Block, test: Strength::Block, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "shortcut",
    version: "3",
    class: LensClass::Style,
    title: "Changes that only look finished",
    required_by_default: false,
    triggers: parsed::GRAMMARS,
    page: include_str!("../../../../tests/corpus/lenses/shortcut.md"),
    rules: &[
        rule(
            WEAKENED,
            "Assertion demands less than before",
            Severity::High,
            CERTAIN_TEST,
            "Restore the assertion, or fix the code that fails it.",
        ),
        rule(
            SWALLOWED,
            "Failure that was handled or handed on is swallowed",
            Severity::High,
            CERTAIN_PRODUCT,
            "Hand the failure on or handle it; where nothing has to be done, say why in a comment.",
        ),
        text_rule(
            INSTRUCTS,
            "Comment tells an agent or a reviewer what to do",
            Severity::High,
            CERTAIN_TEST,
            "Remove the comment.",
        ),
        rule(
            APPROXIMATED,
            "Exact comparison of a number allows a difference",
            Severity::Low,
            presets(BOTH, BOTH),
            "Compare with the exact number, or say where the difference comes from.",
        ),
        text_rule(
            RETRIED,
            "Test is run again until it passes",
            Severity::Medium,
            presets(TESTS, TESTS),
            "Find what the test depends on, and control it in the test.",
        ),
        rule(
            STUBBED,
            "Function that did something is a stub",
            Severity::High,
            CERTAIN_PRODUCT,
            "Restore the function, or remove it with its callers.",
        ),
        text_rule(
            MOCKED,
            "Code under test is mocked",
            Severity::Medium,
            presets(TESTS, ScopeStrengths { test: Strength::Block, ..OFF }),
            "Mock what the code depends on, and call the code itself.",
        ),
        text_rule(
            DETECTED,
            "Product code checks whether it runs under test",
            Severity::Medium,
            CERTAIN_PRODUCT,
            "Hand the difference in as an argument or a setting.",
        ),
        rule(
            ESCAPED,
            "Type is replaced by one that allows everything",
            Severity::Low,
            presets(PRODUCT, PRODUCT),
            "Keep the type, or write the one that the code needs.",
        ),
        text_rule(
            UNFINISHED,
            "New code says that it is not written yet",
            Severity::Medium,
            presets(PRODUCT, PRODUCT),
            "Write the code, or leave the function out of the change.",
        ),
    ],
};

/// Compares what functions and tests do at base and at head.
pub(crate) struct Shortcut;

impl Lens for Shortcut {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let judged = matches!(file.scope, Scope::Product | Scope::Test) && file.kind != ChangeKind::Deleted;
        if judged { parsed::content_need(file) } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file, text: hunks, included: &included };
        let rows = [&rows::DETECTIONS, &rows::RETRIES, &rows::MOCKS];
        let has_both = file.kind != ChangeKind::Added;
        has_both && may_compare(&packet) || rows.iter().any(|rows| rows.wants_whole_file(file, hunks))
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut inspection = Inspection::default();
        if !matches!(packet.file.scope, Scope::Product | Scope::Test) {
            return inspection;
        }
        inspection.drafts = words::inspect(packet);
        let is_test = packet.file.scope == Scope::Test;
        let language = Language::from_path(&packet.path().to_text());
        if is_test {
            join(&mut inspection, rows::RETRIES.inspect(packet));
            join(&mut inspection, mocks::inspect(packet));
        } else if !is_setup(&packet.path().to_text()) {
            join(&mut inspection, detections::inspect(packet));
        }
        if packet.file.kind == ChangeKind::Added {
            inspection.drafts.extend(stubs::inspect_new(packet));
        }
        if packet.text.full_base.is_none() || packet.text.full_head.is_none() || !may_compare(packet) {
            return inspection;
        }
        let Some(trees) = Trees::parse(packet) else {
            inspection.facts.extend(language.is_some().then(Fact::unread));
            return inspection;
        };
        let compared = Compared::new(packet, &trees);
        let pairs = compared.pairs();
        let mut drafts = Vec::new();
        if is_test || language == Some(Language::Rust) {
            drafts.extend(assertions::inspect(&compared, &pairs));
        }
        if !is_test {
            drafts.extend(stubs::inspect(&compared, &pairs));
            drafts.extend(errors::inspect(&compared, &pairs));
            drafts.extend(types::inspect(&compared, &pairs));
        }
        fold(&mut drafts, ESCAPED, Alike::Rule);
        inspection.drafts.extend(drafts);
        inspection
    }
}

fn join(inspection: &mut Inspection, other: Inspection) {
    inspection.drafts.extend(other.drafts);
    inspection.facts.extend(other.facts);
}

/// Returns whether the changed lines may make a function a stub, swallow an error, weaken an assertion or widen a type.
/// Comparing costs two trees, so files whose lines have no word of these are left alone.
fn may_compare(packet: &Packet<'_>) -> bool {
    let is_test = packet.file.scope == Scope::Test;
    let is_rust = packet.file.language.as_deref() == Some("rust");
    let words = if is_test { TEST_WORDS } else { WORDS };
    packet.hunks().any(|hunk| {
        let added: Vec<&str> = hunk.added().map(|line| line.text).collect();
        let removed: Vec<&str> = hunk.removed().map(|line| line.text).collect();
        let may_stub = added.is_empty() || added.iter().any(|line| may_do_nothing(line));
        has_word(&added, words)
            || is_rust && has_word(&added, TEST_WORDS)
            || !is_test && may_stub && !removed.is_empty()
            || !is_test && added.iter().any(|line| may_cut_off(line))
            || has_word(&removed, if is_test { TEST_WORDS } else { FAILURE_WORDS })
    })
}

/// Returns whether a line may be the body of a function that does nothing: a word of one, or a value alone.
fn may_do_nothing(line: &str) -> bool {
    const LONGEST_VALUE: usize = 40;
    let line = line.trim();
    let is_value = line.len() <= LONGEST_VALUE && !line.contains(' ');
    is_value || line.contains('{') && line.contains('}') || STUB_WORDS.iter().any(|word| line.contains(word))
}

/// Returns whether a line may keep the code behind it from running: a value is returned, or a condition never holds.
fn may_cut_off(line: &str) -> bool {
    const LONGEST_VALUE: usize = 20;
    let line = line.trim();
    let value = line.strip_prefix("return").map(|value| value.trim_end_matches(';').trim());
    value.is_some_and(|value| value.len() <= LONGEST_VALUE && !value.contains(['.', '+', ' ']))
        || ["if False", "if (false", "if(false", "if false"].iter().any(|begin| line.starts_with(begin))
}

fn has_word(lines: &[&str], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().any(|word| line.contains(word)))
}

/// Words of handlers, results that are thrown away, and types, in product code.
const WORDS: &[&str] = &[
    "... ",
    ".ok()",
    "Any",
    "Err",
    "TODO",
    "_ =",
    "any",
    "catch",
    "dummy",
    "dynamic",
    "err",
    "except",
    "for now",
    "implement",
    "interface{}",
    "let _",
    "mock",
    "never",
    "placeholder",
    "production",
    "real ",
    "rescue",
    "rest of",
    "suppress",
    "then",
    "todo!",
    "unsafe",
    "unwrap_or",
    "your ",
];
/// Words of a body that does nothing, and of one that stands on the line of its function.
const STUB_WORDS: &[&str] = &["=>", "def ", "fun ", "panic", "pass", "raise", "return", "throw", "{}"];

/// Words of what a removed line did about a failure.
const FAILURE_WORDS: &[&str] = &[
    "Err", "bail", "catch", "err", "except", "expect", "fail", "panic", "raise", "reject", "rescue", "throw",
    "unwrap", "?;", "?)",
];
/// Words of assertions.
const TEST_WORDS: &[&str] = &[
    "assert", "expect", "require", "should", "Should", "wont_", "Assert", "EXPECT", "ASSERT", "must",
    "raises", "t.Error", "t.Fatal", "!=", "==", ".to", ".is", ".has", "abs", "approx", "delta", "eps",
    "places", "rel", "tol", "within",
];

/// Returns whether a file sets up tools or tests, which may look at what they run for.
fn is_setup(path: &str) -> bool {
    const SETUPS: &[&str] = &[
        "babel", "config", "configs", "conftest", "jest", "karma", "rollup", "settings", "setup", "test",
        "testing", "tests", "vite", "vitest", "webpack",
    ];
    words_of(path).iter().any(|word| SETUPS.contains(&word.as_str()))
}

/// Returns the words of a path in small letters, which begin behind punctuation and at capitals.
fn words_of(path: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '/';
    let mut signs = path.chars().peekable();
    while let Some(sign) = signs.next() {
        // `aB` begins a word at B, and `ABc` at B as well.
        let is_before_small = signs.peek().is_some_and(|next| next.is_lowercase());
        let begins = sign.is_uppercase() && (!previous.is_uppercase() || is_before_small);
        if begins || !sign.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        previous = sign;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_setup;

    #[test]
    fn files_that_set_up_tests_may_look_for_them() {
        for (path, expected) in [
            ("src/app.py", false),
            ("src/latest.py", false),
            ("attestation/verify.go", false),
            ("lib/contest.ts", false),
            ("invite.ts", false),
            ("babel.config.js", true),
            ("app/settings.py", true),
            ("src/setupTests.js", true),
            ("src/test_support/clock.rs", true),
            ("src/HTTPTestServer.java", true),
        ] {
            assert_eq!(is_setup(path), expected, "{path}");
        }
    }
}
