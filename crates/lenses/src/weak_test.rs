//! Tests that cannot fail, or that wait for a time instead of an event.

use std::sync::LazyLock;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::idioms::{Idiom, Table, code};
use super::parsed::{self, Parsed};
use super::scan;
use qa_contracts::v1::{
    ChangedFile, FileClass, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::packet::Packet;

const IDLE: &str = "weak-test/checks-nothing";
const SLEEPS: &str = "weak-test/sleeps";

const OFF: ScopeStrengths = everywhere(Strength::Off);
/// Rust has its tests beside the product.
const ADVICE: ScopeStrengths = ScopeStrengths { product: Strength::Advise, test: Strength::Advise, ..OFF };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, test: Strength::Block, ..OFF };
const SLEEPING: PresetStrengths = presets(ADVICE, ADVICE);

static SPEC: LensSpec = LensSpec {
    id: "weak-test",
    version: "1",
    class: LensClass::Style,
    title: "Tests that cannot fail, or wait for a time",
    required_by_default: true,
    triggers: parsed::CODE,
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/weak-test.md"),
    rules: &[
        text_rule(
            IDLE,
            "A test does nothing, so it cannot fail",
            Severity::Medium,
            presets(ADVICE, BLOCK),
            "Write what the test is named after, or say in it why running nothing is enough.",
        ),
        text_rule(
            SLEEPS,
            "A test waits for a time and not for what it waits for",
            Severity::Low,
            SLEEPING,
            "Wait for the event itself, with a limit, or hand the test a clock of its own.",
        ),
    ],
};

static WAITS: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        // A tenth of a second or more, written out.
        code(
            &["python"],
            "sleep",
            r"(?:^|[^\w.])((?:time|asyncio)\.sleep\(\s*(?:[1-9]\d*(?:\.\d*)?|0?\.[1-9]\d*)\s*\))",
        ),
        code(
            &["javascript", "typescript"],
            "setTimeout",
            r"(new\s+Promise\([^)]{1,40}\)\s*=>\s*(?:\{\s*)?setTimeout\(\s*\w+\s*,\s*[1-9]\d\d[\d_]*\s*\))",
        ),
        code(
            &["go"],
            "Sleep",
            r"(?:^|[^\w.])(time\.Sleep\(\s*(?:[1-9]\d\d+\s*\*\s*time\.Millisecond|time\.Millisecond\s*\*\s*[1-9]\d\d+|(?:\d+\s*\*\s*)?time\.Second)[^)]*\))",
        ),
        code(
            &["rust"],
            "sleep",
            r"(?:^|[^\w])((?:thread|time)::sleep\(\s*(?:\w+::)*Duration::from_(?:secs\(\s*[1-9]|millis\(\s*[1-9]\d\d)[\d_]*\s*\)\s*\))",
        ),
        code(&["java"], "sleep", r"(?:^|[^\w.])(Thread\.sleep\(\s*[1-9]\d\d[\d_]*L?\s*\))"),
    ];
    Table::new(IDIOMS)
});

/// The lens.
pub(crate) struct WeakTest;

impl Lens for WeakTest {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        parsed::need(file)
    }

    /// Whether added lines may begin a test, or wait; the test around may be older.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        is_concerned(&Packet { file, text: hunks, included: &included })
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let name = classify::language(packet.path());
        // Rust has its tests anywhere; elsewhere `test_it` may be part of the product.
        let may_test = name == Some("rust") || classify::class(packet.path()) == FileClass::Test;
        let file = packet.text.full_head.as_deref().filter(|_| may_test && is_concerned(packet));
        let Some(file) = file.and_then(|text| Parsed::of(&packet.path().to_text(), text)) else {
            return Inspection::default();
        };
        let mut drafts = Vec::new();
        for line in packet.added() {
            let Some(start) = file.start(&line) else { continue };
            let here = start..start + line.text.len();
            let idle = file.outline.idle_tests.iter().find(|test| here.contains(&test.start));
            if let Some(test) = idle.filter(|test| file.is_sound(test.start)) {
                let summary = "a test does nothing, so it cannot fail";
                let end = test.end.min(start + line.text.trim_end().len());
                drafts.push(Draft::on_line(IDLE, packet, &line, test.start - start..end - start, summary));
            }
            let mut scanner = scan::Scanner::new(name, true);
            let Some(found) = WAITS.find(name, line.text, &scanner.line(line.text)) else { continue };
            let at = start + found.start;
            let is_test = file.outline.tests.iter().any(|test| test.start <= at && at < test.end);
            if is_test && file.is_sound(at) {
                let summary = "a test waits for a time and not for what it waits for";
                drafts.push(Draft::on_line(SLEEPS, packet, &line, found, summary));
            }
        }
        Inspection { drafts, facts: Vec::new() }
    }
}

/// Whether a test may begin on an added line, or something may wait there.
fn is_concerned(packet: &Packet<'_>) -> bool {
    const BEGINNINGS: &[&str] = &["#[test]", "def test", "func Test", "it(", "test("];
    let name = classify::language(packet.path());
    packet.added().any(|line| {
        BEGINNINGS.iter().any(|word| line.text.contains(word)) || WAITS.may_match(name, line.text)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_idiom_compiles() {
        super::WAITS.check();
    }
}
