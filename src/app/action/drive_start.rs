//! Settings of a drive by the inputs, the policy and the commits of a job, to which a stored session is held.
//!
//! Each job derives them itself: what a session says of its own settings proves nothing.

use super::pull_to_drive::input_missing;
use super::stored_drive::Refusal;
use crate::app::agent_words::{NamedAgents, commands};
use crate::app::exit::Failure;
use crate::app::inputs::Opened;
use crate::app::prepare::repo_id;
use crate::config::Inputs;
use qa_contracts::codes::Code;
use qa_contracts::v1::DriveStart;
use qa_core::policy::Policy;
use qa_run::keys::BUILD;

/// Returns the settings that a drive by these inputs has now. `command` is the one that reads them.
pub(super) fn expected_start(
    inputs: &Inputs,
    opened: &Opened,
    policy: &Policy,
    command: &str,
) -> Result<DriveStart, Failure> {
    let agents = inputs.agent.as_deref().ok_or_else(|| input_missing("agent", command))?;
    let NamedAgents { builtin_fix, words, .. } =
        NamedAgents::parse(&commands(agents), &opened.repository.root)?;
    Ok(DriveStart {
        repo_id: repo_id(opened, policy),
        base_sha: opened.resolved.base.clone(),
        head_sha: opened.resolved.head.clone(),
        goal: inputs.goal.clone(),
        builtin_fix,
        agent: words,
        limits: policy.drive.clone(),
        attempt: 1,
        engine: BUILD.to_owned(),
    })
}

/// Fails unless a session has the expected settings. The number of the attempt counts the drives below an artifact root, of which
/// other jobs know nothing.
pub(super) fn check_start(
    stored: &DriveStart,
    expected: &DriveStart,
    refused: Refusal,
) -> Result<(), Failure> {
    if stored.head_sha != expected.head_sha {
        let message = format!("the head of the pull request is now {}", expected.head_sha.short());
        return Err(Failure::with_code(Code::HeadSuperseded, message));
    }
    if stored.base_sha != expected.base_sha {
        let (base, now) = (stored.base_sha.short(), expected.base_sha.short());
        let reason = format!("it was judged against {base}, and the base branch is now at {now}");
        return Err(refused(&reason));
    }
    let reason = if stored.repo_id != expected.repo_id {
        "it is about another repository"
    } else if stored.goal != expected.goal {
        "it has another goal than the input `goal` of this step"
    } else if (stored.builtin_fix, &stored.agent) != (expected.builtin_fix, &expected.agent) {
        "it has another agent than the input `agent` of this step"
    } else if stored.limits != expected.limits {
        "it gives the agent other rights than the policy of the base"
    } else if stored.engine != expected.engine {
        "another version of the engine judged it"
    } else {
        return Ok(());
    };
    Err(refused(reason))
}

/// Returns the failure of a session that is not taken.
pub(super) fn not_proposed(reason: &str) -> Failure {
    Failure::with_code(Code::DriveNotProposed, format!("the drive has no result to push: {reason}"))
}
