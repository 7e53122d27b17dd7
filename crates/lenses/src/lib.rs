//! The lenses: each a file here, an entry in [`ALL`] and a page in `tests/corpus/lenses`.

mod agent_settings;
#[cfg(test)]
mod behaviour_tests;
mod blocking_call;
mod broken_caller;
mod calls;
mod changes;
mod checking;
mod ci_weakening;
mod command_words;
pub mod consistency;
pub mod contract;
#[cfg(test)]
mod corpus;
mod costly_loop;
mod dangerous_call;
mod dependency_change;
mod dependency_cycle;
#[cfg(test)]
mod edit_tests;
mod edits;
mod feature_guard;
mod forgotten_await;
mod idioms;
mod import_boundary;
mod imports;
mod lint_weakening;
pub mod mentions;
mod merge_leftover;
mod parsed;
mod pattern;
mod permission_change;
mod phantom_dependency;
mod policy_weakening;
pub mod reviews;
#[cfg(test)]
mod sample;
mod scan;
mod secret_token;
mod selection;
mod shortcut;
#[cfg(test)]
mod spelling_tests;
mod successors;
mod suppression;
mod suspicious_expression;
mod test_weakening;
mod trojan_source;
mod unchecked_result;
mod unresolved_import;
mod weak_test;
mod workflow_conventions;
mod workflow_hardening;
mod workflows;

use contract::{Lens, RuleSpec};

/// Every lens, by id. A lens that is not listed here does not exist.
pub static ALL: &[&dyn Lens] = &[
    &agent_settings::AgentSettings,
    &blocking_call::BlockingCall,
    &broken_caller::BrokenCaller,
    &ci_weakening::CiWeakening,
    &consistency::Consistency,
    &costly_loop::CostlyLoop,
    &dangerous_call::DangerousCall,
    &dependency_change::DependencyChange,
    &dependency_cycle::DependencyCycle,
    &feature_guard::FeatureGuard,
    &forgotten_await::ForgottenAwait,
    &import_boundary::ImportBoundary,
    &lint_weakening::LintWeakening,
    &merge_leftover::MergeLeftover,
    &permission_change::PermissionChange,
    &phantom_dependency::PhantomDependency,
    &policy_weakening::PolicyWeakening,
    &secret_token::SecretToken,
    &shortcut::Shortcut,
    &suppression::Suppression,
    &suspicious_expression::SuspiciousExpression,
    &test_weakening::TestWeakening,
    &trojan_source::TrojanSource,
    &unchecked_result::UncheckedResult,
    &unresolved_import::UnresolvedImport,
    &weak_test::WeakTest,
    &workflow_conventions::WorkflowConventions,
    &workflow_hardening::WorkflowHardening,
];

/// Returns whether the last part of an action's name is that of the gate; GitHub does not tell upper from lower case.
pub fn is_gate(action: &str) -> bool {
    action.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case("qa-skill"))
}

/// Returns the registry, derived from [`ALL`], the reviews and the five gates.
pub fn registry() -> qa_contracts::v1::Registry {
    use qa_contracts::v1::{Registry, RegistryLens, RegistryRule};
    let lenses = ALL.iter().map(|lens| {
        let spec = lens.spec();
        let mut rules: Vec<RegistryRule> = spec.rules.iter().map(RuleSpec::registered).collect();
        rules.sort_by(|left, right| left.rule_id.cmp(&right.rule_id));
        RegistryLens {
            lens_id: spec.id.to_owned(),
            lens_version: spec.version.to_owned(),
            lens_class: spec.class,
            title: spec.title.to_owned(),
            required_by_default: spec.required_by_default,
            triggers: spec.triggers.iter().map(|&glob| glob.to_owned()).collect(),
            rules,
        }
    });
    let mut lenses: Vec<RegistryLens> =
        lenses.chain(reviews::entries()).chain(qa_core::gates::entries()).collect();
    lenses.sort_by(|left, right| left.lens_id.cmp(&right.lens_id));
    Registry { schema_version: Default::default(), skill_id: "qa-skill".to_owned(), lenses }
}
