//! Everything that a verdict is derived from: the inputs, which are recorded, and the ports, which answer while plans run.

use super::declared_tools;
use super::gather::Texts;
use super::lookup::TreeLookups;
use super::ports::{Cancellation, Progress};
use super::survey::Surveys;
use super::sweep::ShardResults;
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, PolicyModel, RecordedExecution, RecordedGates, RecordedInputs,
    RecordedObserver, RecordedReplies, Registry, Rubric, Waiver,
};
use qa_core::crosscheck::LineReader;
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_core::nearest::nearest;
use qa_core::policy::file::{self, PolicyTextError};
use qa_core::policy::reviews::CONSISTENCY;
use qa_core::policy::{Overrides, POLICY_PATH, Policy, PolicyError, WAIVERS_PATH};
use qa_core::rubric::{self, RubricError};
use qa_lenses::reviews::conventions_template_hash;
use qa_providers::model::Model;

/// The recorded inputs of a run. The same inputs and the same answers of the ports give the same [`Outcome`].
///
/// [`Outcome`]: super::derive::Outcome
#[derive(Debug, Clone)]
pub struct Inputs {
    pub repo_id: String,
    pub overrides: Overrides,
    pub registry: Registry,
    pub in_force: PolicyInForce,
    pub change_set: ChangeSet,
    pub sensitivity: ChangeSensitivity,
    /// Reports that gates import.
    pub gates: RecordedGates,
    /// Outputs of the commands that gates ran.
    pub execution: RecordedExecution,
    /// Replies of models.
    pub replies: RecordedReplies,
    /// Decision of the observer; `None` where the policy enables none.
    pub observer: Option<RecordedObserver>,
}

/// Sources of the answers that plans ask for while they run: a repository, or the recording of a run.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    pub texts: &'a dyn Texts,
    pub surveys: &'a dyn Surveys,
    pub lookups: &'a TreeLookups<'a>,
    /// Lines of the cross-check, which reads each quote a second time.
    pub lines: &'a LineReader<'a>,
    /// Results of shards, used instead of running lenses.
    pub joined: Option<&'a dyn ShardResults>,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

/// The policy, waivers and rubric of the base commit, and the texts they were parsed from.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    pub policy: Policy,
    pub waivers: Vec<Waiver>,
    /// The frozen rubric, where the policy names one.
    pub rubric: Option<Rubric>,
    /// The texts, without surveys.
    pub texts: RecordedInputs,
}

/// Error of a policy, a waiver file, a rubric or a selection of lenses that cannot be in force.
#[derive(Debug, thiserror::Error)]
pub enum InForceError {
    #[error("failed to read {}", error.in_file(path))]
    Policy { path: &'static str, error: PolicyError },
    #[error("failed to read the rubric: {}", visible(&.0.to_string()))]
    Rubric(RubricError),
    #[error(
        "rubric {0} was approved with other instructions for models than this version sends; approve it again for {CONSISTENCY}"
    )]
    RubricInstructions(u64),
    #[error("there is no lens `{name}`")]
    UnknownLens { name: String, near: Option<String>, known: String },
    #[error("lens `{0}` is requested twice")]
    RepeatedLens(String),
}

impl InForceError {
    /// Returns the stable code, or `None` for a wrong command line.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Policy { .. } => Some(Code::PolicyInvalid),
            Self::Rubric(error) => Some(error.code()),
            Self::RubricInstructions(_) => Some(Code::RubricNotFrozen),
            Self::UnknownLens { .. } | Self::RepeatedLens(_) => None,
        }
    }

    /// Returns the way out, in one line.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownLens { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownLens { near: None, known, .. } => format!("known lenses: {known}"),
            Self::RepeatedLens(_) => "name each lens once".to_owned(),
            Self::Policy { .. } | Self::Rubric(_) | Self::RubricInstructions(_) => {
                self.code().map(Code::hint).unwrap_or_default().to_owned()
            }
        }
    }
}

impl PolicyInForce {
    /// Parses policy texts that were just read or that a run recorded.
    pub fn parse(
        texts: RecordedInputs,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Self, InForceError> {
        let policy = effective_policy(texts.base_policy.as_deref(), overrides, registry)
            .map_err(|error| InForceError::Policy { path: POLICY_PATH, error })?;
        let waivers = match &texts.base_waivers {
            Some(text) => file::parse_waivers(text, registry).map_err(|error| InForceError::Policy {
                path: WAIVERS_PATH,
                error: PolicyError::Text(error),
            })?,
            None => Default::default(),
        };
        let rubric = match &policy.consistency {
            Some(named) => {
                let text = texts.base_rubric.as_deref();
                Some(
                    rubric::parse(text, named.version, named.hash.as_deref())
                        .map_err(InForceError::Rubric)?,
                )
            }
            None => None,
        };
        if let Some(rubric) = &rubric {
            check_instructions(&policy, rubric)?;
        }
        check_lenses(overrides, registry)?;
        Ok(Self { policy, waivers: waivers.waiver, rubric, texts })
    }
}

/// Resolves a policy from its text, or the defaults from `None`, and checks that every tool, report format and model that
/// it names exists.
pub fn effective_policy(
    text: Option<&str>,
    overrides: &Overrides,
    registry: &Registry,
) -> Result<Policy, PolicyError> {
    let policy = Policy::parse(text, overrides, registry)?;
    declared_tools::check(&policy, text.unwrap_or(""))?;
    check_models(policy.models.iter(), text.unwrap_or(""))?;
    Ok(policy)
}

/// Checks that reviews still send models the instructions that the rubric was approved with.
fn check_instructions(policy: &Policy, rubric: &Rubric) -> Result<(), InForceError> {
    let asks = policy.lenses.get(CONSISTENCY).is_some_and(|lens| lens.enabled);
    if !asks || rubric.prompt_template_hash == conventions_template_hash() {
        return Ok(());
    }
    Err(InForceError::RubricInstructions(rubric.rubric_version))
}

/// Checks that each model accepts the settings that the policy gives it.
fn check_models<'a>(
    models: impl Iterator<Item = (&'a String, &'a PolicyModel)>,
    text: &str,
) -> Result<(), PolicyTextError> {
    for (name, model) in models {
        Model::new(name, model).map_err(|message| PolicyTextError {
            line: file::line_of_table(text, &format!("[models.{name}]")),
            message,
            suggestion: None,
        })?;
    }
    Ok(())
}

fn check_lenses(overrides: &Overrides, registry: &Registry) -> Result<(), InForceError> {
    let Some(requested) = &overrides.lens_ids else { return Ok(()) };
    let known: Vec<&str> = registry.lenses.iter().map(|lens| lens.lens_id.as_str()).collect();
    for (index, lens) in requested.iter().enumerate() {
        if !known.contains(&lens.as_str()) {
            let near = nearest(lens, known.iter().copied()).map(str::to_owned);
            let (name, known) = (sanitize_cut(lens, 80), known.join(", "));
            return Err(InForceError::UnknownLens { name, near, known });
        }
        if requested[..index].contains(lens) {
            return Err(InForceError::RepeatedLens(lens.clone()));
        }
    }
    Ok(())
}
