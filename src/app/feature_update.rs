//! Derives the feature-list update that a stored run justifies after merge. The run has to be reproducible, and the list
//! has to be unchanged since the run.

use std::path::Path;

use super::exit::Failure;
use super::verify::{Source, verify};
use crate::store::RunDirectory;
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    ChangeSet, Conclusion, FinalVerdict, QaReport, QaStatus, RecordedGates, RecordedInputs, SkillInput,
    WorkflowState,
};
use qa_core::calendar;
use qa_core::escape::visible;
use qa_core::features::{self, FeatureListError};
use qa_core::policy::{Overrides, Policy};
use qa_core::workflow::{self, WorkflowEvent};
use qa_run::gates::{FeatureEvidence, current_feature};
use qa_run::inputs::effective_policy;
use qa_run::ports::{Cancellation, Progress};

/// A feature that a stored run accepts.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) feature_id: u64,
    /// The feature list that the run recorded.
    list: String,
    summary: String,
    /// Time of the QA run.
    time: String,
}

/// New content of the feature list and the workflow state.
#[derive(Debug)]
pub(crate) struct FeatureUpdate {
    pub(crate) list: String,
    pub(crate) state: WorkflowState,
}

fn refused(problem: impl std::fmt::Display) -> Failure {
    let message = format!("failed to accept the run: {problem}");
    Failure::with_code(Code::ProposalRefused, visible(&message))
}

/// Verifies a run. It has to follow from its recording, judge `head` if that is given, and pass by the settings of the
/// policy. Returns `None` if it is about no feature.
pub(crate) fn accept_run(
    directory: &Path,
    head: Option<&CommitId>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Option<Accepted>, Failure> {
    let verified = verify(directory, Source::Recording, cancellation, progress)?;
    if let Some(difference) = verified.difference {
        let text = visible(&difference.to_string());
        let message = format!("the run does not follow from its inputs: {text}");
        return Err(Failure::with_code(Code::DeterminismDriftDetected, message));
    }
    let (run, input) = (verified.run, verified.input);
    if let Some(head) = head.filter(|head| **head != input.head_sha) {
        return Err(refused(format!("the run judged {} instead of {}", input.head_sha, head)));
    }
    let verdict: FinalVerdict = run.artifact()?;
    if verdict.conclusion != Conclusion::Pass {
        return Err(refused(format!("the run's verdict is {}", verdict.conclusion)));
    }
    let policy = policy_in_force(&run, &input)?;
    if !run.has(QaReport::FILE) || !run.has(RecordedGates::FILE) {
        return Ok(None);
    }
    let (report, gates): (QaReport, RecordedGates) = (run.artifact()?, run.artifact()?);
    let change_set: ChangeSet = run.artifact()?;
    let evidence = FeatureEvidence { policy: &policy, change_set: &change_set, recorded: &gates };
    let (Some((feature_id, _)), Some(list)) = (current_feature(evidence), gates.feature_list.clone()) else {
        return Ok(None);
    };
    if report.status != QaStatus::Passed {
        return Err(refused(format!("of the run's gates, {}", report.summary)));
    }
    if !calendar::is_timestamp(&report.timestamp) {
        return Err(refused("the timestamp of the report is not valid"));
    }
    Ok(Some(Accepted { feature_id, list, summary: report.summary, time: report.timestamp }))
}

/// Returns the policy of a run. Fails unless the run used its mode, preset and lenses, and all of it: the workflow of a change may request a
/// milder mode, which gives a milder verdict.
fn policy_in_force(run: &RunDirectory, input: &SkillInput) -> Result<Policy, Failure> {
    let recorded: RecordedInputs = run.artifact()?;
    let policy =
        effective_policy(recorded.base_policy.as_deref(), &Overrides::default(), &qa_lenses::registry())
            .map_err(|error| Failure::policy(".qa-skill/policy.toml", &error))?;
    let is_whole = input.requested_lens_ids.is_none() && input.overrides.stage.is_none();
    if (policy.mode, policy.preset) == (input.run_mode, input.preset) && is_whole {
        return Ok(policy);
    }
    Err(refused("the run overrides the mode, preset, lenses or stage of the policy"))
}

impl Accepted {
    /// Returns the list and the state with the verdict applied, or `None` if they have it already.
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
            return Err(refused("the feature list changed since the run"));
        }
        // A trailer may have named the feature. Work on another one that is not done is not given up for it.
        if let Some(current) = state.current_feature_id.filter(|current| *current != id)
            && !passes(list, current)?
        {
            let problem = format!("the run is about feature {id}, and the workflow is at feature {current}");
            return Err(refused(problem));
        }
        let state = workflow::choose(state.clone(), id);
        let mut state = workflow::advance(&state, WorkflowEvent::PullRequest, now)?;
        state = workflow::advance(&state, WorkflowEvent::Verdict(QaStatus::Passed), now)?;
        if features::all_pass(&proposed)? {
            state = workflow::advance(&state, WorkflowEvent::AllFeaturesPass, now)?;
        }
        Ok(Some(FeatureUpdate { list: proposed, state }))
    }
}

fn passes(list: &str, id: u64) -> Result<bool, FeatureListError> {
    let list = features::FeatureDocument::parse(list)?.list(list)?;
    Ok(list.0.iter().any(|feature| feature.id == id && feature.passes))
}
