//! The review of conventions: added lines that break one that the maintainers approved.

use super::contract::ReviewSpec;
use crate::contract::{everywhere, presets, rule};
use qa_contracts::v1::{LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};

// Nobody keeps conventions in what a program writes or another project owns.
const SCOPES: ScopeStrengths =
    ScopeStrengths { generated: Strength::Off, vendored: Strength::Off, ..everywhere(Strength::Advise) };
const ADVISE: PresetStrengths = presets(SCOPES, SCOPES);

pub(super) static SPEC: ReviewSpec = ReviewSpec {
    id: "review-consistency",
    version: "1",
    class: LensClass::Consistency,
    title: "Approved conventions that a change departs from",
    prompt: include_str!("prompts/consistency.v1.md"),
    rules: &[rule(
        "review-consistency/convention",
        "An added line departs from a convention that the maintainers approved",
        Severity::Medium,
        ADVISE,
        "Write the line as the convention asks, or have the convention changed.",
    )],
    canaries: &[],
};
