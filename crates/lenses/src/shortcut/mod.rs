//! Changes that only look finished: stubs, swallowed errors, weaker assertions, code that checks whether it is tested.

mod answers;
mod assertions;
mod beside;
mod blurred;
mod cases;
mod caught;
mod checkers;
mod compared;
mod detections;
mod disarmed;
mod errors;
mod expected;
mod failing;
mod guarded;
mod helpers;
mod libraries;
mod loops;
mod mocks;
mod refused;
mod repeated;
mod replaced;
mod retries;
mod rows;
mod special;
mod statements;
mod stubs;
mod timeouts;
mod types;
mod unexplained;
mod usual;
mod words;

use crate::contract::{
    Alike, Census, Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, fold, presets, rule,
    text_rule,
};
use crate::parsed;
use compared::{Compared, Trees};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::Packet;
use qa_core::policy::Policy;
use qa_reading::syntax::{Language, without_comment};

const REMOVED: &str = "shortcut/assertion-removed";
const WEAKENED: &str = "shortcut/assertion-weakened";
const CASES: &str = "shortcut/cases-removed";
const EXPECTED: &str = "shortcut/expectation-changed";
const SNAPSHOT: &str = "shortcut/snapshot-rewritten";
const TIMEOUT: &str = "shortcut/timeout-raised";
const APPROXIMATED: &str = "shortcut/number-approximated";
const SWALLOWED: &str = "shortcut/error-swallowed";
const INSTRUCTS: &str = "shortcut/instructs-reviewer";
const RETRIED: &str = "shortcut/retried-test";
const SPECIAL: &str = "shortcut/special-cased-test";
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
/// Blocks where the base has hardly any place like it.
const RARE_PRODUCT: PresetStrengths = presets(PRODUCT, ScopeStrengths { product: Strength::Ratchet, ..OFF });
/// Snapshots count as generated files.
const CERTAIN_OUTPUT: PresetStrengths = presets(
    ScopeStrengths { generated: Strength::Advise, ..BOTH },
    ScopeStrengths { product: Strength::Block, test: Strength::Block, generated: Strength::Block, ..OFF },
);
const RARE_TEST: PresetStrengths = presets(TESTS, ScopeStrengths { test: Strength::Ratchet, ..OFF });
const CERTAIN_PRODUCT: PresetStrengths = presets(PRODUCT, ScopeStrengths { product: Strength::Block, ..OFF });
const CERTAIN_TEST: PresetStrengths =
    presets(BOTH, ScopeStrengths { product: Strength::Block, test: Strength::Block, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "shortcut",
    version: "16",
    class: LensClass::Style,
    title: "Changes that only look finished",
    required_by_default: false,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/shortcut.md")),
    rules: &[
        rule(
            REMOVED,
            "Assertion is removed from a test that stays",
            Severity::Medium,
            CERTAIN_TEST,
            "Restore the assertion, or fix the code that fails it.",
        ),
        rule(
            WEAKENED,
            "Assertion demands less than before",
            Severity::High,
            CERTAIN_TEST,
            "Restore the assertion, or fix the code that fails it.",
        ),
        rule(
            CASES,
            "Cases are removed from the table of a test that stays",
            Severity::Medium,
            CERTAIN_TEST,
            "Restore the cases, or fix the code that fails them.",
        ),
        rule(
            SWALLOWED,
            "Failure that was handled or handed on is swallowed",
            Severity::High,
            CERTAIN_PRODUCT,
            "Hand the failure on or handle it; where nothing has to be done, explain why in a comment in the handler, in at least three words beyond `ignore`, `error` and the like.",
        ),
        rule(
            EXPECTED,
            "Test expects another value, and no code changes with it",
            Severity::Medium,
            CERTAIN_TEST,
            "Restore the value, or make the change that it comes from in the same pull request.",
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
            RARE_TEST,
            "Find what the test depends on, and control it in the test.",
        ),
        rule(
            SNAPSHOT,
            "Snapshot is rewritten, and no code changes with it",
            Severity::Medium,
            CERTAIN_OUTPUT,
            "Restore the snapshot, or make the change that it comes from in the same pull request.",
        ),
        rule(
            SPECIAL,
            "Input of a test is answered by the value that the test expects",
            Severity::High,
            CERTAIN_PRODUCT,
            "Compute the value, for other inputs too.",
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
            CERTAIN_TEST,
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
            TIMEOUT,
            "Timeout of a test is raised many times over",
            Severity::Low,
            presets(TESTS, ScopeStrengths { test: Strength::Block, ..OFF }),
            "Find what the test waits for, and wait for that.",
        ),
        rule(
            ESCAPED,
            "Type is replaced by one that allows everything",
            Severity::Low,
            RARE_PRODUCT,
            "Keep the type, or write the one that the code needs.",
        ),
        text_rule(
            UNFINISHED,
            "New code says that it is not written yet",
            Severity::Medium,
            RARE_PRODUCT,
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
        let may_grow = has_both && file.scope == Scope::Test && timeouts::may_grow(&packet);
        may_grow
            || has_both && may_compare(&packet)
            || file.scope == Scope::Test && disarmed::may_disarm(&packet)
            || rows.iter().any(|rows| rows.wants_whole_file(file, hunks))
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut inspection = Inspection::default();
        inspection.facts.extend(unexplained::snapshot(packet));
        inspection.facts.extend(replaced::inspect(packet));
        inspection.facts.extend(libraries::inspect(packet));
        if matches!(packet.file.scope, Scope::Product | Scope::Test)
            && Language::from_path(&packet.path_by_language()).is_some()
        {
            inspect_code(packet, &mut inspection);
            if packet.file.scope == Scope::Test {
                disarmed::add(packet, &mut inspection.drafts);
            }
        }
        if !unexplained::is_expectations_alone(&inspection.facts) {
            inspection.facts.extend(unexplained::reason(packet));
        }
        inspection
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let mut drafts = unexplained::drafts(facts, lookups);
        drafts.extend(special::drafts(facts, lookups));
        drafts.extend(replaced::drafts(facts, lookups));
        drafts.extend(libraries::drafts(facts, lookups));
        drafts.extend(refused::drafts(facts, lookups));
        drafts
    }

    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        usual::census(rule, file, text)
    }
}

/// Looks at the code of one file.
fn inspect_code(packet: &Packet<'_>, inspection: &mut Inspection) {
    inspection.drafts = words::inspect(packet);
    let is_test = packet.file.scope == Scope::Test;
    let language = Language::from_path(&packet.path_by_language());
    if is_test {
        join(inspection, retries::inspect(packet));
        join(inspection, mocks::inspect(packet));
        inspection.drafts.extend(answers::inspect(packet));
        inspection.drafts.extend(timeouts::inspect(packet));
    } else if !is_setup(&packet.path().to_text()) {
        join(inspection, detections::inspect(packet));
        inspection.facts.extend(special::inspect(packet));
    }
    if packet.file.kind == ChangeKind::Added {
        inspection.drafts.extend(stubs::inspect_new(packet));
    }
    if packet.text.full_base.is_none() || packet.text.full_head.is_none() || !may_compare(packet) {
        return;
    }
    let Some(trees) = Trees::parse(packet) else {
        inspection.facts.extend(language.is_some().then(Fact::unread));
        return;
    };
    let compared = Compared::new(packet, &trees);
    let pairs = compared.pairs();
    let mut drafts = Vec::new();
    if is_test || language == Some(Language::Rust) {
        drafts.extend(assertions::inspect(&compared, &pairs));
        drafts.extend(pairs.iter().filter_map(|pair| retries::looped(&compared, pair)));
        inspection.facts.extend(unexplained::inspect(&compared, &pairs));
    }
    if !is_test {
        drafts.extend(stubs::inspect(&compared, &pairs));
        inspection.facts.extend(refused::inspect(&compared, &pairs));
        drafts.extend(errors::inspect(&compared, &pairs));
        drafts.extend(types::inspect(&compared, &pairs));
    }
    fold(&mut drafts, ESCAPED, Alike::Rule);
    inspection.drafts.extend(drafts);
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
            || is_rust && !is_test && has_word(&added, RUST_WORDS)
            || !is_test && may_stub && !removed.is_empty()
            || !is_test && added.iter().any(|line| may_cut_off(line))
            || !is_test && may_narrow(&removed, &added)
            || is_test && added.iter().any(|line| may_empty(line) || may_guard(line) || may_give(line))
            || is_test && may_expect(&removed) && (may_expect(&added) || removed.len() > added.len())
            || has_word(&removed, if is_test { TEST_WORDS } else { FAILURE_WORDS })
    })
}

/// Returns whether a comparison by size may become one with a single number.
fn may_narrow(removed: &[&str], added: &[&str]) -> bool {
    let ([old], [new]) = (removed, added) else { return false };
    old.contains(['<', '>']) && new.contains("==") || new.contains(" False") || new.contains("false")
}

/// Returns whether a line of a test may leave a table without cases, or the function that it stands in.
fn may_empty(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "()", "(0", "[0", "[:", "[]", "[-", "empty", "limit(", "nil", "null", "None", "return", "slice(",
        "take(", "Take(", "var ", "{ }", "{}",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

/// Returns whether a line may begin a statement around unchanged assertions.
fn may_guard(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "begin", "catch", "else", "ensure", "except", "finally", "for", "if", "rescue", "suppress", "try",
        "unless", "when", "while", "with",
    ];
    let mut words = line.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|first| WORDS.contains(&first))
}

/// Returns whether a line of a test may give a name a copy, a part of what the code under test made, or another name's value.
fn may_give(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "**",
        "..",
        "Object.assign(",
        "clone",
        "copy",
        "dict(",
        "list(",
        "replace(",
        "setattr(",
        "structuredClone",
    ];
    line.contains('=')
        && !line.contains('(')
        && line.trim_end().ends_with(|end: char| end.is_alphanumeric() || end == ';')
        || WORDS.iter().any(|word| line.contains(word))
}

/// Returns whether lines may have a value that a test expects: a number or a text.
fn may_expect(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.contains(|sign: char| sign.is_ascii_digit() || "\"'`".contains(sign)))
}

/// Returns whether a line may be the body of a function that does nothing: a word of one, or a value alone.
fn may_do_nothing(line: &str) -> bool {
    const LONGEST_VALUE: usize = 40;
    let is_comment = ["//", "#", "/*", "*"].iter().any(|mark| line.trim_start().starts_with(mark));
    let line = without_comment(line).trim();
    let is_value = line.len() <= LONGEST_VALUE && !line.contains(' ');
    is_value
        || is_comment
        || line.contains('{') && line.contains('}')
        || STUB_WORDS.iter().any(|word| line.contains(word))
}

/// Returns whether a line may keep the code behind it from running: a value is returned, or a condition never holds.
fn may_cut_off(line: &str) -> bool {
    const LONGEST_VALUE: usize = 20;
    let line = without_comment(line).trim();
    let value = line.strip_prefix("return").map(|value| value.trim_end_matches(';').trim());
    value.is_some_and(|value| value.len() <= LONGEST_VALUE && !value.contains(['.', '+', ' ']))
        || ["if False", "if (false", "if(false", "if false", "if True", "if (true", "if(true", "if true"]
            .iter()
            .any(|begin| line.starts_with(begin))
        || line.starts_with("if")
            && ["env", "Env", "ENV", "getBoolean", "getProperty"].iter().any(|word| line.contains(word))
}

fn has_word(lines: &[&str], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().any(|word| line.contains(word)))
}

/// Words of handlers, results that are thrown away, and types, in product code.
const WORDS: &[&str] = &[
    "... ",
    "Object",
    "mixed",
    "object",
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
    "recover()",
    "except",
    "for now",
    "mplement",
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
    "!!",
    "!.",
    "![",
    "!)",
    "!;",
    "!,",
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
    "assert",
    "expect",
    "Expected",
    "require",
    "should",
    "Should",
    "wont_",
    "Assert",
    "EXPECT",
    "ASSERT",
    "must",
    "raises",
    "t.Error",
    "t.Fatal",
    "!=",
    "==",
    ".to",
    ".is",
    ".has",
    "abs",
    "approx",
    "delta",
    "eps",
    "places",
    "rel",
    "tol",
    "within",
    "break",
    "continue",
    "next",
    "recover()",
    "go func",
    "setTimeout",
    "setImmediate",
    "nextTick",
    "queueMicrotask",
    "async",
    "spawn(",
    "Thread",
    "thread",
    "Task.Run",
    "launch",
    "catch_unwind",
    "runAsync",
    "return",
];

/// Words of assertions in Rust, whose tests stand beside the product.
const RUST_WORDS: &[&str] = &["assert", "should_panic"];

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
