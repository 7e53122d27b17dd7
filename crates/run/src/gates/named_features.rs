//! Finds the features that a change is about: by its trailers and labels, the policy's paths, and the state of the base.

use std::collections::BTreeSet;

use super::{GateError, WORKFLOW_STATE};
use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangeSet, GateName, RecordedGates};
use qa_core::classify::PathSet;
use qa_core::escape::harmless;
use qa_core::policy::Policy;
use qa_core::workflow;

/// A feature that a change is about, by a source that the change does not edit or that names it openly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedFeature {
    pub(super) id: u64,
    /// Source of the name, for messages.
    pub(super) source: String,
}

/// Features that a change is about.
pub(super) struct NamedFeatures {
    /// The one that the report is about.
    pub(super) current: Option<NamedFeature>,
    /// All whose steps have to be shown. Every source adds features and none excuses one.
    pub(super) all: Vec<NamedFeature>,
}

/// Evidence of the features that a change is about.
#[derive(Clone, Copy)]
pub struct FeatureEvidence<'a> {
    pub policy: &'a Policy,
    pub change_set: &'a ChangeSet,
    pub recorded: &'a RecordedGates,
}

impl FeatureEvidence<'_> {
    /// Returns the features that the change is about. A trailer or a label of the change takes precedence over the paths of
    /// the policy, and these over the workflow state of the base. Sources that leave open which feature the report is about
    /// are an error.
    pub(super) fn named_features(&self, passing: &BTreeSet<u64>) -> Result<NamedFeatures, GateError> {
        if let Some(trailer) = self.recorded.unreadable_trailers.first() {
            let problem =
                format!("a commit of the change has the trailer `{trailer}`, which names no feature");
            return Err(GateError::new(Code::FeatureTrailerInvalid, problem));
        }
        let declared = self.declared();
        if let [first, second, ..] = declared.as_slice() {
            return Err(conflict(first, second));
        }
        let by_state = self.by_state()?;
        let by_paths = self.by_paths(passing);
        let current = match (declared.first(), by_paths.as_slice()) {
            (Some(declared), [first, ..]) if !is_among(declared, &by_paths) => {
                return Err(conflict(declared, first));
            }
            (Some(declared), _) => Some(declared),
            (None, []) => by_state.as_ref(),
            (None, [only]) => Some(only),
            (None, [first, second, ..]) => match by_state.as_ref().filter(|named| is_among(named, &by_paths))
            {
                Some(by_state) => Some(by_state),
                None => return Err(conflict(first, second)),
            },
        };
        let current = current.cloned();
        let all = by_state.into_iter().chain(by_paths).chain(declared).collect();
        Ok(NamedFeatures { current, all })
    }

    /// Returns the features that trailers of the commits and labels of the pull request name, each once.
    fn declared(&self) -> Vec<NamedFeature> {
        let by_trailer = self.recorded.declared_features.iter().map(|id| (id, "a trailer of the change"));
        let by_label = self.recorded.label_features.iter().map(|id| (id, "a label of the pull request"));
        let mut declared: Vec<NamedFeature> = Vec::new();
        for (id, source) in by_trailer.chain(by_label) {
            if !declared.iter().any(|named| named.id == *id) {
                declared.push(NamedFeature { id: *id, source: source.to_owned() });
            }
        }
        declared
    }

    /// Returns the features whose files the change touches, by id. One that passes at the base is left out: its steps have
    /// to be shown anyway, and later changes to its files are about something else.
    fn by_paths(&self, passing: &BTreeSet<u64>) -> Vec<NamedFeature> {
        let Some(settings) = self.policy.gates.get(&GateName::StoryValidation) else { return Vec::new() };
        let files = &self.change_set.files;
        let mut named: Vec<NamedFeature> = Vec::new();
        for feature in settings.features.iter().filter(|feature| !passing.contains(&feature.id)) {
            let paths =
                PathSet::new(feature.paths.iter().map(String::as_str)).expect("the policy has valid globs");
            let mut touched =
                files.iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]).flatten();
            if let Some(path) = touched.find(|path| paths.matches(path))
                && !named.iter().any(|other| other.id == feature.id)
            {
                let source = format!("the policy, by {},", harmless(&path.to_text()));
                named.push(NamedFeature { id: feature.id, source });
            }
        }
        named
    }

    /// Returns the feature of the workflow state at the base.
    fn by_state(&self) -> Result<Option<NamedFeature>, GateError> {
        let Some(text) = &self.recorded.workflow_state else { return Ok(None) };
        let state = workflow::parse_state(text.as_bytes()).map_err(|error| {
            let problem = format!("failed to read {WORKFLOW_STATE} of the base: {error}");
            GateError::new(error.code(), problem)
        })?;
        let source = format!("{WORKFLOW_STATE} of the base");
        Ok(state.current_feature_id.map(|id| NamedFeature { id, source }))
    }
}

fn is_among(feature: &NamedFeature, others: &[NamedFeature]) -> bool {
    others.iter().any(|other| other.id == feature.id)
}

fn conflict(first: &NamedFeature, second: &NamedFeature) -> GateError {
    let problem = format!(
        "{} names feature {}, and {} names feature {}",
        first.source, first.id, second.source, second.id
    );
    GateError::new(Code::FeatureConflict, problem)
}
