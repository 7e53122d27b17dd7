//! The reviews: each a file here, an entry in [`ALL`], a prompt in `prompts/` and a section in `docs/reviews.md`.

pub mod answer;
mod architecture;
pub mod clean;
pub mod confirm;
mod consistency;
pub mod contract;
pub mod packet;
mod performance;
pub mod plain;
pub mod question;
mod security;

use contract::ReviewSpec;

use crate::contract::RuleSpec;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::RegistryLens;

/// Every review, by id.
pub static ALL: &[&ReviewSpec] =
    &[&architecture::SPEC, &consistency::SPEC, &performance::SPEC, &security::SPEC];

/// The documentation of all of them.
pub const PAGE: &str = include_str!("../../../../docs/reviews.md");

/// Returns the review of a lens id.
pub fn find(lens_id: &str) -> Option<&'static ReviewSpec> {
    ALL.iter().copied().find(|spec| spec.id == lens_id)
}

/// Returns the digest of what a model is told to do about conventions; a frozen rubric names it.
pub fn conventions_template_hash() -> Sha256Hex {
    question::prompt_template_hash(&consistency::SPEC)
}

/// Returns the reviews' entries in the registry. Any file may be asked about; which are is the planner's to say.
pub(super) fn entries() -> impl Iterator<Item = RegistryLens> {
    ALL.iter().map(|spec| RegistryLens {
        lens_id: spec.id.to_owned(),
        lens_version: spec.version.to_owned(),
        lens_class: spec.class,
        title: spec.title.to_owned(),
        required_by_default: false,
        triggers: vec!["**".to_owned()],
        rules: spec.rules.iter().map(RuleSpec::registered).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::policy::reviews::is_review;

    #[test]
    fn a_lens_is_a_review_by_its_name_and_its_rules_are_its_own() {
        assert!(ALL.is_sorted_by_key(|spec| spec.id));
        for spec in ALL {
            assert!(is_review(spec.id), "{}", spec.id);
            assert!(!spec.rules.is_empty() && spec.rules.is_sorted_by_key(|rule| rule.id), "{}", spec.id);
            for rule in spec.rules {
                assert!(rule.id.starts_with(&format!("{}/", spec.id)), "{}", rule.id);
                assert!(!rule.moves, "{}: what a model quotes may stand elsewhere by chance", rule.id);
            }
            for canary in spec.canaries {
                assert!(spec.rules.iter().any(|rule| rule.id == canary.rule), "{}", canary.rule);
                assert!(*canary.faulty.end() <= canary.lines.len() as u64, "{}", canary.rule);
                assert!(canary.lines.iter().any(|line| line.contains("{}")), "{}", canary.rule);
            }
        }
        assert!(crate::ALL.iter().all(|lens| !is_review(lens.spec().id)));
    }

    #[test]
    fn every_rule_has_a_section_and_every_section_a_rule() {
        let sections: std::collections::BTreeSet<&str> = PAGE
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .filter(|name| name.contains('/'))
            .collect();
        let rules = ALL.iter().flat_map(|spec| spec.rules).map(|rule| rule.id).collect();
        assert_eq!(sections, rules);
    }
}
