//! Strengths of a rule by kind of file, and what each preset makes of them.

use qa_contracts::v1::{Preset, PresetStrengths, Scope, ScopeStrengths, Strength};

pub(super) fn in_preset(strengths: &PresetStrengths, preset: Preset) -> ScopeStrengths {
    match preset {
        Preset::Default => strengths.default,
        Preset::Guarded => strengths.guarded,
        Preset::Advisory => strengths.advisory,
    }
}

/// Returns the same strength for every scope.
pub const fn everywhere(strength: Strength) -> ScopeStrengths {
    ScopeStrengths {
        product: strength,
        test: strength,
        docs: strength,
        generated: strength,
        vendored: strength,
    }
}

/// Returns the strengths of all presets; `advisory` advises wherever `guarded` is not off.
pub const fn presets(default: ScopeStrengths, guarded: ScopeStrengths) -> PresetStrengths {
    PresetStrengths {
        advisory: ScopeStrengths {
            product: softened(guarded.product),
            test: softened(guarded.test),
            docs: softened(guarded.docs),
            generated: softened(guarded.generated),
            vendored: softened(guarded.vendored),
        },
        default,
        guarded,
    }
}

const fn softened(strength: Strength) -> Strength {
    match strength {
        Strength::Off => Strength::Off,
        Strength::Block | Strength::Ratchet | Strength::Advise => Strength::Advise,
    }
}

/// Returns the strength in one scope.
pub fn in_scope(strengths: &ScopeStrengths, scope: Scope) -> Strength {
    match scope {
        Scope::Product => strengths.product,
        Scope::Test => strengths.test,
        Scope::Docs => strengths.docs,
        Scope::Generated => strengths.generated,
        Scope::Vendored => strengths.vendored,
    }
}

pub(super) fn scope_slot(strengths: &mut ScopeStrengths, scope: Scope) -> &mut Strength {
    match scope {
        Scope::Product => &mut strengths.product,
        Scope::Test => &mut strengths.test,
        Scope::Docs => &mut strengths.docs,
        Scope::Generated => &mut strengths.generated,
        Scope::Vendored => &mut strengths.vendored,
    }
}
