//! Changes that make CI or commit hooks weaker.

mod ci;
mod jobs;
mod recipes;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Need, everywhere, presets, rule, text_rule};
use qa_contracts::v1::{ChangedFile, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};
use qa_core::packet::Packet;

const CI_REMOVED: &str = "gate-weakening/ci-removed";
const CI_SOFTENED: &str = "gate-weakening/ci-softened";
const HOOK_DISABLED: &str = "gate-weakening/hook-disabled";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
/// Lock files count as generated and owners may stand among the documents, so the scope says nothing here.
const GUARDED: PresetStrengths =
    presets(ADVISE, ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) });

static SPEC: LensSpec = LensSpec {
    id: "gate-weakening",
    version: "5",
    class: LensClass::Security,
    title: "Changes that make CI or commit hooks weaker",
    required_by_default: true,
    triggers: &["**"],
    trigger_symbols: &[],
    page: include_str!("../../../../tests/corpus/lenses/gate-weakening.md"),
    rules: &[
        rule(
            CI_REMOVED,
            "A check, a trigger or a whole workflow is removed from CI",
            Severity::High,
            GUARDED,
            "Keep the check, or replace it in the same change.",
        ),
        text_rule(
            CI_SOFTENED,
            "A failure of CI is ignored",
            Severity::High,
            GUARDED,
            "Let the step fail, or fix what makes it fail.",
        ),
        rule(
            HOOK_DISABLED,
            "A commit hook is removed or emptied",
            Severity::Medium,
            GUARDED,
            "Keep the hook, or run the same check in CI.",
        ),
    ],
};

/// The lens.
pub(crate) struct GateWeakening;

impl Lens for GateWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if ci::needs_whole_file(&file.path) { Need::WholeFile } else { Need::Hunks }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        ci::inspect(packet)
    }

    fn conclude(&self, facts: &[Fact]) -> Vec<Draft> {
        ci::conclude(facts)
    }
}

/// A line without the blanks around it.
fn whole(text: &str) -> std::ops::Range<usize> {
    let lead = text.len() - text.trim_start().len();
    lead..text.trim_end().len().max(lead)
}
