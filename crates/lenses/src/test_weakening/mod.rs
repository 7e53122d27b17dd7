//! Deleted, emptied or skipped tests.

mod checks;
mod endings;
mod failures;
mod gone;
mod modules;
mod names;
mod needs;
mod skip_rows;
mod skips;
mod symbols;
mod tests_by_hunk;
mod version;
mod visibility;

use std::collections::BTreeSet;

use super::contract::{
    Alike, Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, fold, presets, rule, text_rule,
};
use super::edits;
use qa_contracts::v1::{
    ChangedFile, Edit, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const TEST_DELETED: &str = "test-weakening/test-deleted";
const TEST_EMPTIED: &str = "test-weakening/test-emptied";
const TEST_REMOVED: &str = "test-weakening/test-removed";
const TEST_RETIRED: &str = "test-weakening/test-retired";
const TEST_SKIPPED: &str = "test-weakening/test-skipped";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const GUARDED_CODE: PresetStrengths =
    presets(ADVISE, ScopeStrengths { product: Strength::Block, test: Strength::Block, ..ADVISE });
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "test-weakening",
    version: "23",
    class: LensClass::Security,
    title: "Deleted, emptied or skipped tests",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/test-weakening.md")),
    rules: &[
        rule(
            TEST_DELETED,
            "Test file is deleted and its tests are not moved",
            Severity::High,
            GUARDED_CODE,
            "Keep the tests, or move them in the same change.",
        ),
        rule(
            TEST_EMPTIED,
            "Test no longer asserts anything",
            Severity::High,
            GUARDED_CODE,
            "Restore the assertions, or assert as much in another way.",
        ),
        rule(
            TEST_REMOVED,
            "Test is removed from its file",
            Severity::Medium,
            GUARDED_CODE,
            "Keep the test, or replace it in the same change.",
        ),
        rule(
            TEST_RETIRED,
            "Test is removed together with the code under test",
            Severity::Low,
            NOTICE,
            "Check that it tested nothing else.",
        ),
        text_rule(
            TEST_SKIPPED,
            "Test is skipped",
            Severity::Medium,
            GUARDED_CODE,
            "Remove the skip and fix the test; to skip it for a while, ask a maintainer for a waiver.",
        ),
    ],
};

/// Compares the tests of both versions of a file.
pub(crate) struct TestWeakening;

impl Lens for TestWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Tests are compared as a whole; everything else by what changed.
    fn need(&self, file: &ChangedFile) -> Need {
        if checks::needs_whole_file(file) { Need::WholeFile } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        checks::wants_whole_file(file, hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut seen = checks::inspect(packet);
        if packet.file.scope == Scope::Test {
            let endings = endings::inspect(packet);
            let known: BTreeSet<u64> = seen.drafts.iter().map(|draft| draft.start_line).collect();
            let new = endings.drafts.into_iter().filter(|draft| !known.contains(&draft.start_line));
            seen.drafts.extend(new);
            seen.facts.extend(endings.facts);
        }
        if packet.file.language.as_deref() == Some("rust") {
            seen.facts.extend(modules::inspect(packet));
        }
        seen
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        if draft.rule == TEST_SKIPPED { edits::run_test_again(draft, packet) } else { None }
    }

    fn conclude(&self, facts: &[Fact]) -> Vec<Draft> {
        let mut drafts = gone::conclude(facts);
        for rule in [TEST_REMOVED, TEST_RETIRED] {
            fold(&mut drafts, rule, Alike::Rule);
        }
        drafts
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let mut drafts = needs::look_up(facts, lookups);
        drafts.extend(modules::look_up(facts, lookups));
        drafts
    }
}

/// Returns a line without the blanks around it.
fn whole(text: &str) -> std::ops::Range<usize> {
    let lead = text.len() - text.trim_start().len();
    lead..text.trim_end().len().max(lead)
}
