//! A drive of a pull request's head, in a step of GitHub Actions.

use std::path::PathBuf;
use std::sync::Arc;

use super::wait::{ContinueMode, HeadSource};
use super::{DriveArgs, carry_out};
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::{Opened, Request};
use qa_contracts::v1::DriveSession;
use qa_core::policy::Policy;
use qa_run::ports::Cancellation;

/// Task of a drive.
pub(in crate::app) struct Order<'a> {
    /// Goal of a person; `None` where the goal is that the change passes.
    pub(in crate::app) goal: Option<&'a str>,
    /// Programs with arguments, one a line, as `--agent` takes them.
    pub(in crate::app) agents: &'a str,
    pub(in crate::app) mode: ContinueMode,
    /// Word of a person to a drive that waits, which the artifact root has.
    pub(in crate::app) word: Option<OrderedWord>,
    /// Login of that person.
    pub(in crate::app) by: Option<&'a str>,
    pub(in crate::app) head: &'a dyn HeadSource,
}

/// Word of a person to a drive that waits.
pub(in crate::app) enum OrderedWord {
    Approve,
    /// With a text for the agent.
    Edit(String),
    Stop,
}

/// A drive that ended, or that waits for a person.
pub(in crate::app) struct DrivenChange {
    pub(in crate::app) session: DriveSession,
    /// Directory of the session.
    pub(in crate::app) path: PathBuf,
    pub(in crate::app) exit: Exit,
}

/// Drives an agent on an opened change, and prints how it ended.
pub(in crate::app) fn drive_change(
    request: Request,
    opened: Opened,
    policy: &Policy,
    order: &Order<'_>,
    cancellation: &Arc<Cancellation>,
) -> Result<DrivenChange, Failure> {
    let arguments = DriveArgs::of_change(&request, order);
    let driven = carry_out(&arguments, request, opened, policy, Some(order.head), cancellation)?;
    let exit = driven.finish()?;
    Ok(DrivenChange { path: driven.directory.path().to_owned(), session: driven.session, exit })
}
