//! Derives the feature-list update that a stored run justifies after merge: only results that follow from the run, and
//! only if the list is still the one that QA saw.

use std::path::Path;

use super::exit::Failure;
use super::verify::verify;
use crate::store::RunDirectory;
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    Conclusion, FinalVerdict, QaReport, QaStatus, RecordedGates, RecordedInputs, SkillInput, WorkflowState,
};
use qa_core::calendar;
use qa_core::escape::visible;
use qa_core::features::{self, FeatureListError};
use qa_core::policy::Overrides;
use qa_core::workflow::{self, WorkflowError, WorkflowEvent};
use qa_run::gates::current_feature;
use qa_run::inputs::effective_policy;
use qa_run::ports::{Cancellation, Progress};

/// QA passed a feature.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) feature_id: u64,
    /// The list of features that QA saw.
    list: String,
    summary: String,
    /// Time of the QA run.
    time: String,
}

/// Current or required content of the two files.
#[derive(Debug)]
pub(crate) struct FeatureUpdate {
    pub(crate) list: String,
    pub(crate) state: WorkflowState,
}

fn refused(problem: impl std::fmt::Display) -> Failure {
    let message = format!("failed to take over what QA found: {problem}");
    Failure::with_code(Code::ProposalRefused, visible(&message))
}

/// Reads a run. It has to follow from its own recording, be about `head` where one is named, and pass by the settings
/// of the policy. None when it is about no feature.
pub(crate) fn accepted(
    directory: &Path,
    head: Option<&CommitId>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Option<Accepted>, Failure> {
    let verified = verify(directory, None, cancellation, progress)?;
    if let Some(difference) = verified.difference {
        let text = visible(&difference.to_string());
        let message = format!("the run does not follow from its inputs: {text}");
        return Err(Failure::with_code(Code::DeterminismDriftDetected, message));
    }
    let (run, input) = (verified.run, verified.input);
    if let Some(head) = head.filter(|head| **head != input.head_sha) {
        return Err(refused(format!("the run is about {}, and not about {}", input.head_sha, head)));
    }
    let verdict: FinalVerdict = run.artifact()?;
    if verdict.conclusion != Conclusion::Pass {
        return Err(refused(format!("the run's verdict is {}", verdict.conclusion)));
    }
    by_the_policy(&run, &input)?;
    if !run.has(QaReport::FILE) || !run.has(RecordedGates::FILE) {
        return Ok(None);
    }
    let (report, gates): (QaReport, RecordedGates) = (run.artifact()?, run.artifact()?);
    let (Some((feature_id, _)), Some(list)) = (current_feature(&gates), gates.feature_list) else {
        return Ok(None);
    };
    if report.status != QaStatus::Passed {
        return Err(refused(format!("of the run's gates, {}", report.summary)));
    }
    if !calendar::is_timestamp(&report.timestamp) {
        return Err(refused("the report does not say when it was written"));
    }
    Ok(Some(Accepted { feature_id, list, summary: report.summary, time: report.timestamp }))
}

/// Checks that the run used the policy's own mode and lenses: the workflow of a change may request a milder mode, and
/// would get a milder verdict.
fn by_the_policy(run: &RunDirectory, input: &SkillInput) -> Result<(), Failure> {
    let recorded: RecordedInputs = run.artifact()?;
    let policy =
        effective_policy(recorded.base_policy.as_deref(), &Overrides::default(), &qa_lenses::registry())
            .map_err(|error| Failure::policy(".qa-skill/policy.toml", &error))?;
    if (policy.mode, policy.preset) == (input.run_mode, input.preset) && input.requested_lens_ids.is_none() {
        return Ok(());
    }
    Err(refused("the run was made by other settings than those of the policy"))
}

impl Accepted {
    /// The list and the state with the verdict in them, given what they are now; none when nothing is left to do.
    pub(crate) fn apply_verdict(
        &self,
        list: &str,
        state: &WorkflowState,
        now: &str,
    ) -> Result<Option<FeatureUpdate>, Failure> {
        let id = self.feature_id;
        let proposed = features::propose(&self.list, id, true, &self.time, Some(&self.summary))?;
        if list == proposed || passes(list, id)? && list == self.list {
            return Ok(None);
        }
        if list != self.list {
            return Err(refused("the list of features is not the one that QA saw"));
        }
        if state.current_feature_id != Some(id) {
            let other =
                state.current_feature_id.map_or("no feature".to_owned(), |id| format!("feature {id}"));
            return Err(refused(format!("the run is about feature {id}, and the workflow about {other}")));
        }
        let step = |state: &WorkflowState, event| -> Result<WorkflowState, WorkflowError> {
            workflow::advance(state, event, now)
        };
        let mut state = step(state, WorkflowEvent::PullRequest)?;
        state = step(&state, WorkflowEvent::Verdict(QaStatus::Passed))?;
        if features::all_pass(&proposed)? {
            state = step(&state, WorkflowEvent::AllFeaturesPass)?;
        }
        Ok(Some(FeatureUpdate { list: proposed, state }))
    }
}

fn passes(list: &str, id: u64) -> Result<bool, FeatureListError> {
    let list = features::FeatureDocument::parse(list)?.list(list)?;
    Ok(list.0.iter().any(|feature| feature.id == id && feature.passes))
}
