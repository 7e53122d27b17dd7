//! Tests that cannot fail, or that sleep instead of waiting for an event.

use super::calls::{CallRule, Calls, Quoted};
use super::contract::{
    Census, Draft, DraftExt, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule,
};
use super::parsed::{self, Parsed};
use super::pattern::Pattern;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, FileClass, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::patterns::{Context, Definition, Variable};

const IDLE: &str = "weak-test/checks-nothing";
const SLEEPS: &str = "weak-test/sleeps";

const OFF: ScopeStrengths = everywhere(Strength::Off);
/// Rust has its tests beside the product.
const ADVICE: ScopeStrengths = ScopeStrengths { product: Strength::Advise, test: Strength::Advise, ..OFF };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, test: Strength::Block, ..OFF };
const SLEEPING: PresetStrengths =
    presets(ADVICE, ScopeStrengths { product: Strength::Advise, test: Strength::Ratchet, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "weak-test",
    version: "10",
    class: LensClass::Style,
    title: "Tests that cannot fail or that sleep",
    required_by_default: true,
    triggers: parsed::CODE,
    page: include_str!(concat!(env!("OUT_DIR"), "/weak-test.md")),
    rules: &[
        text_rule(
            IDLE,
            "Empty test cannot fail",
            Severity::Medium,
            presets(ADVICE, BLOCK),
            "Write the test, or explain in a comment why it is empty.",
        ),
        text_rule(
            SLEEPS,
            "Test sleeps for a fixed time",
            Severity::Low,
            SLEEPING,
            "Wait for the event with a timeout, or pass the test a clock.",
        ),
    ],
};

/// A tenth of a second or more, written out.
static WAITS: Calls = Calls::new(&[CallRule {
    id: SLEEPS,
    summary: "test sleeps for a fixed time",
    rows: &[
        Definition::new(&["python"], &["$F($T)"])
            .with(&[
                Variable::one_of("F", &["time.sleep", "asyncio.sleep"]),
                Variable::literal("T").matching(r"^(?:[1-9]\d*(?:\.\d*)?|0?\.[1-9]\d*)$"),
            ])
            .inside(TEST),
        Definition::new(&["javascript"], &["new Promise($P)"])
            .with(&[Variable::any("P")
                .matching(r"(?s)(?:=>|\))(?:\s|//[^\n]*\n|\{)*setTimeout\((?:\s|//[^\n]*\n)*\w+\s*,(?:\s|//[^\n]*\n)*[1-9][\d_]{2,}(?:[,\s]|//[^\n]*\n)*\)")])
            .inside(TEST),
        Definition::new(&["go"], &["time.Sleep($T)"])
            .with(&[Variable::any("T").matching(
                r"^(?:[1-9]\d\d+\s*\*\s*time\.Millisecond|time\.Millisecond\s*\*\s*[1-9]\d\d+|(?:\d+\s*\*\s*)?time\.Second)",
            )])
            .inside(TEST),
        Definition::new(&["rust"], &["$F($T)"])
            .with(&[
                Variable::one_of("F", &["std::thread::sleep", "tokio::time::sleep"]),
                Variable::any("T")
                    .matching(r"(?:^|::)Duration::from_(?:secs\(\s*[1-9]|millis\(\s*[1-9]\d\d)[\d_]*\s*,?\s*\)$"),
            ])
            .inside(TEST),
        Definition::new(&["java"], &["Thread.sleep($T)"])
            .with(&[Variable::literal("T").matching(r"^[1-9]\d\d[\d_]*L?$")])
            .inside(TEST),
        Definition::new(&["ruby"], &["sleep($T)", "Kernel.sleep($T)"])
            .with(&[Variable::literal("T").matching(r"^(?:[1-9]\d*(?:\.\d*)?|0\.[1-9]\d*)$")])
            .inside(TEST),
        Definition::new(&["php"], &["sleep($T)"])
            .with(&[Variable::literal("T").matching(r"^[1-9]\d*$")])
            .inside(TEST),
        Definition::new(&["php"], &["usleep($T)"])
            .with(&[Variable::literal("T").matching(r"^[1-9]\d\d[\d_]{3,}$")])
            .inside(TEST),
    ],
    quoted: Quoted::Call,
}]);

const TEST: &[Context] = &[Context::Test];

pub(crate) struct WeakTest;

impl Lens for WeakTest {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        parsed::context_need(file)
    }

    /// Requests whole files, since the test around a line may be unchanged.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        WAITS.wants_whole_file(file, hunks) || may_begin(&Packet { file, text: hunks, included: &included })
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        // Rust has its tests anywhere; elsewhere `test_it` may be part of the product.
        let is_rust = classify::language(packet.path()) == Some("rust");
        if !is_rust && classify::class(packet.path()) != FileClass::Test {
            return Inspection::default();
        }
        let mut inspection = WAITS.inspect(packet);
        inspection.drafts.extend(idle_tests(packet));
        inspection
    }

    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        if rule != SLEEPS || classify::language(file).is_none() {
            return Census::default();
        }
        let sleeps = SLEEP.captures_all(text).len() as u64;
        let support = (TESTS.captures_all(text).len() as u64).max(sleeps);
        Census { support, complying: support - sleeps }
    }
}

/// Heads of tests.
static TESTS: Pattern = Pattern::new(
    r#"\bdef test|\bfunc Test|@(?:Parameterized)?Test\b|\[(?:Fact|Test|TestCase|TestMethod|Theory)\b|#\[(?:\w+::)?test\b|\b(?:it|specify|test)\s*[("']|\bfunction test"#,
);

/// A call that sleeps, as base files are asked for it.
static SLEEP: Pattern = Pattern::new(r"(?i)\bu?sleep(?:_for)?\b|\bsetTimeout\(|\bTask\.Delay\(");

/// Reports tests that begin on an added line and do nothing.
fn idle_tests(packet: &Packet<'_>) -> Vec<Draft> {
    let file = packet.text.full_head.as_deref().filter(|_| packet.added().any(|line| begins_test(line.text)));
    let Some(file) = file.and_then(|text| Parsed::new(&packet.path_by_language(), text)) else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    for line in packet.added() {
        let Some(start) = file.start(&line) else { continue };
        let here = start..start + line.text.len();
        let idle = file.outline.idle_tests.iter().find(|test| here.contains(&test.start));
        if let Some(test) = idle.filter(|test| file.is_sound(test.start)) {
            let summary = "test is empty, so it cannot fail";
            let end = test.end.min(start + line.text.trim_end().len());
            drafts.push(Draft::on_line(IDLE, packet, &line, test.start - start..end - start, summary));
        }
    }
    drafts
}

/// Texts with which a test begins.
const BEGINNINGS: &[&str] = &[
    "#[Test]",
    "#[test]",
    "def test",
    "func Test",
    "function test",
    "it \"",
    "it '",
    "it(",
    "specify \"",
    "specify '",
    "test \"",
    "test '",
    "test(",
];

/// Returns whether a test may begin on an added line, by a quick look.
fn may_begin(packet: &Packet<'_>) -> bool {
    packet.added().any(|line| BEGINNINGS.iter().any(|word| line.text.contains(word)))
}

/// Returns whether a test may begin on a line: many names end like one, such as `emit` and `split`.
fn begins_test(line: &str) -> bool {
    let mut beginnings = BEGINNINGS.iter().flat_map(|word| line.match_indices(word));
    beginnings.any(|(at, _)| !line[..at].ends_with(is_part_of_name))
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::WAITS.check();
        super::SLEEP.check();
        super::TESTS.check();
    }
}
