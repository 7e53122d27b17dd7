//! Finds the session of a drive: the one to go on with, and the one to show.

use std::path::{Path, PathBuf};

use super::args::{DriveArgs, StatusFormat};
use super::{page, report};
use crate::app::console;
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::artifact_root;
use crate::git::OpenRepository;
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriveEnd, DriveEndReason, DriveSession, DriveStart};
use qa_core::drive;
use qa_core::masking::sanitize;
use qa_formats::drive_summary;

/// A session with its directory, which no other process has.
pub(super) struct TakenSession {
    pub(super) directory: DriveDirectory,
    pub(super) session: DriveSession,
}

/// Takes the session that was interrupted or ran out of time, or begins another attempt.
pub(super) fn take_session(root: &Path, start: DriveStart) -> Result<TakenSession, Failure> {
    let start = next_attempt(root, start)?;
    let id = drive::session_id(&start);
    let Some(directory) = DriveDirectory::take(root, &id)? else {
        return Err(Failure::usage(
            "another process drives this change",
            "wait for it; `qa-skill drive --status` shows how far it is",
        ));
    };
    // Read under the lock: the process that had it may have gone on meanwhile.
    let mut session = match directory.session()? {
        Some(session) if session.start == start => session,
        Some(_) => return Err(not_the_session(directory.path())),
        None => drive::begin(start),
    };
    if session.end.as_ref().is_some_and(is_by_time) {
        session.end = None;
    }
    Ok(TakenSession { directory, session })
}

/// Returns whether the same command goes on with a drive that ended so.
fn is_by_time(end: &DriveEnd) -> bool {
    end.reason == DriveEndReason::Time
}

/// Returns the settings of the first attempt that has not ended, or that only lacked time.
fn next_attempt(root: &Path, start: DriveStart) -> Result<DriveStart, Failure> {
    for attempt in 1..=i64::MAX as u64 {
        let start = DriveStart { attempt, ..start.clone() };
        let path = DriveDirectory::of(root, &drive::session_id(&start));
        match DriveDirectory::open(&path).session()? {
            Some(session) if session.start != start => return Err(not_the_session(&path)),
            Some(DriveSession { end: Some(end), .. }) if !is_by_time(&end) => {}
            Some(_) | None => return Ok(start),
        }
    }
    Err(Failure::usage("there are too many attempts", "remove the oldest below drive/ of the artifact root"))
}

fn not_the_session(path: &Path) -> Failure {
    let message =
        format!("{} holds another session than its name says", sanitize(&path.display().to_string()));
    Failure::with_code(Code::ArtifactSchemaInvalid, message)
}

/// Shows how far a drive is.
pub(super) fn show_status(arguments: &DriveArgs, named: &Path) -> Result<Exit, Failure> {
    let path = match named.as_os_str().is_empty() {
        true => newest(arguments)?,
        false => named.to_owned(),
    };
    let directory = DriveDirectory::open(&path);
    let session = directory.session()?.ok_or_else(|| no_session(&path))?;
    let text = match arguments.format {
        StatusFormat::Text => report::status(&session, &path),
        StatusFormat::Markdown => drive_summary(&session),
        StatusFormat::Html => page::render(&directory, &session)?,
    };
    console::write_stdout(text.as_bytes()).map(|()| Exit::Pass)
}

/// Returns the directory of the newest drive below the artifact root.
fn newest(arguments: &DriveArgs) -> Result<PathBuf, Failure> {
    let request = arguments.request();
    let root = match &request.artifact_root {
        Some(root) => root.clone(),
        None => artifact_root(&request, &OpenRepository::discover(&request.repository)?.root),
    };
    DriveDirectory::newest(&root)?.ok_or_else(|| no_session(&root.join("drive")))
}

fn no_session(path: &Path) -> Failure {
    let message = format!("there is no drive at {}", sanitize(&path.display().to_string()));
    Failure::with_code(Code::DriveNoSession, message)
}
