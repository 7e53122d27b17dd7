//! Paths that a lens looks at under a policy: by its triggers, and without those that the policy has it ignore.

use qa_contracts::ids::RepoPath;
use qa_core::classify::PathSet;
use qa_core::policy::Policy;

/// Paths that a lens reads under a policy.
pub(super) struct Reach {
    triggers: PathSet,
    ignore: PathSet,
}

impl Reach {
    pub(super) fn new<'t>(
        lens_id: &str,
        triggers: impl IntoIterator<Item = &'t str>,
        policy: &Policy,
    ) -> Self {
        let ignore = policy.lenses.get(lens_id).into_iter().flat_map(|lens| &lens.ignore);
        Self {
            triggers: PathSet::new(triggers).expect("a test compiles every trigger"),
            ignore: PathSet::new(ignore.map(String::as_str)).expect("globs were checked with the policy"),
        }
    }

    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.triggers.matches(path) && !self.ignore.matches(path)
    }
}

/// Reaches of all lenses, gates and reviews.
pub(super) struct Reaches(Vec<Reach>);

impl Reaches {
    pub(super) fn new(policy: &Policy) -> Self {
        let lenses = qa_lenses::registry().lenses;
        let reaches = lenses
            .iter()
            .map(|lens| Reach::new(&lens.lens_id, lens.triggers.iter().map(String::as_str), policy))
            .collect();
        Self(reaches)
    }

    /// Returns whether a lens reads one of two paths and not the other. A rename between them without a changed line
    /// would show it nothing, and what it reads there for the first time would be nobody's.
    pub(super) fn differ(&self, old: &RepoPath, new: &RepoPath) -> bool {
        self.0.iter().any(|reach| reach.has(old) != reach.has(new))
    }
}
