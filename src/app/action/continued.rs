//! A drive that goes on after a person's word: its session is taken from the artifact of the workflow run that stored it.
//!
//! The session is held to the pull request, the inputs and the policy as they are now, and derived again from the repository, before
//! anything goes on from it.

use std::path::Path;
use std::sync::Arc;

use super::drive_start::{check_start, expected_start};
use super::person::Told;
use super::stored_drive::{ARTIFACT, StoredDrive};
use crate::app::exit::Failure;
use crate::app::inputs::Opened;
use crate::app::verify::Source;
use crate::app::verify_drive::verify_drive;
use crate::config::ActionEnvironment;
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_core::drive::{is_waiting, session_id};
use qa_core::policy::Policy;
use qa_run::ports::Cancellation;

/// Puts the session that a person's word is for below an artifact root. The repository has the commits of its turns then.
pub(super) fn adopt(
    environment: &ActionEnvironment,
    told: &Told,
    opened: Opened,
    policy: &Policy,
    root: &Path,
    cancellation: &Arc<Cancellation>,
) -> Result<Opened, Failure> {
    let inputs = &environment.inputs;
    let name = inputs.artifact_name.as_deref().unwrap_or(ARTIFACT);
    let stored =
        StoredDrive::fetch_existing(environment, name, told.session.run, not_continued, cancellation)?;
    if stored.digest() != told.session.digest {
        return Err(not_continued("its session is not the one that the input `session` names"));
    }
    let expected = expected_start(inputs, &opened, policy, "drive")?;
    check_start(&stored.session.start, &expected, not_continued)?;
    if stored.session.start != expected || !is_waiting(&stored.session) {
        return Err(not_continued("its session does not wait for a person"));
    }
    let verified = verify_drive(&stored.path, Source::Repository(opened.repository), cancellation)?;
    DriveDirectory::adopt(&stored.path, root, &session_id(&verified.session.start))?;
    let repository = verified.repository.expect("a drive that was verified against a repository returns it");
    Ok(Opened { repository, ..opened })
}

/// Returns the failure of a session that is not gone on with.
pub(super) fn not_continued(reason: &str) -> Failure {
    Failure::with_code(Code::DriveNotAllowed, format!("the drive does not go on: {reason}"))
}
