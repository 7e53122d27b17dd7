//! Runs in directories and archives: found, taken apart where they are packed, and replayed or compared.

use std::path::{Path, PathBuf};

use super::super::exit::Failure;
use super::live::Live;
use super::replay::{Against, Replayer, compare, entry};
use crate::store::{Caps, unpack};
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftReport, DriftRun, DriftStatus, Mover};
use qa_run::ports::{Cancellation, Progress};

/// Search depth for run directories below the named path: an artifact root has them two levels below.
const DEEPEST: usize = 3;

/// Replays the runs of every path; two directories of one run each and no repository are compared with each other.
pub(crate) fn check_paths(
    paths: &[PathBuf],
    repository: Option<&Path>,
    scratch: &Path,
    (live, cancellation): (Option<&Live>, &Cancellation),
    progress: &dyn Progress,
) -> Result<DriftReport, Failure> {
    if let ([left, right], None, None) = (paths, repository, live)
        && let (Some(left), Some(right)) = (only_run(left), only_run(right))
    {
        return Ok(super::report(vec![compare(&left, &right)], None));
    }
    let against = repository.map_or(Against::Recording, Against::Repository);
    let replayer = Replayer { against, cancellation, progress, live };
    let mut runs = Vec::new();
    for path in paths {
        cancellation.check()?;
        if path.is_dir() {
            for (place, run) in named_runs(path, &path.display().to_string()) {
                runs.push(replayer.replay(&run, entry(&place))?);
            }
        } else {
            runs.extend(replay_archive(&replayer, path, entry(&path.display().to_string()), scratch)?);
        }
    }
    Ok(super::report(runs, None))
}

fn only_run(path: &Path) -> Option<PathBuf> {
    let mut runs = runs_below(path);
    if runs.len() == 1 && path.is_dir() { runs.pop() } else { None }
}

/// Replays every run of an archive. An archive that is refused, or has no run in it, is an entry that says so.
pub(super) fn replay_archive(
    replayer: &Replayer<'_>,
    archive: &Path,
    entry: DriftRun,
    scratch: &Path,
) -> Result<Vec<DriftRun>, Failure> {
    let directory = match unpack(archive, Caps::DEFAULT, scratch) {
        Ok(directory) => directory,
        Err(error) => return Ok(vec![refused(entry, error.code(), format!("failed to {error}"))]),
    };
    let runs = runs_below(directory.path());
    if runs.is_empty() {
        return Ok(vec![refused(entry, Code::RecordingMissing, "there is no run in it".to_owned())]);
    }
    runs.iter()
        .map(|run| {
            let inside = run.strip_prefix(directory.path()).unwrap_or(run).display();
            let place =
                if runs.len() == 1 { entry.place.clone() } else { format!("{}:{inside}", entry.place) };
            replayer.replay(run, DriftRun { place, ..entry.clone() })
        })
        .collect()
}

/// An entry that could not be replayed.
pub(super) fn refused(entry: DriftRun, code: Code, detail: String) -> DriftRun {
    let mover =
        [Code::ArtifactArchiveRefused, Code::RecordingMissing].contains(&code).then_some(Mover::Recording);
    DriftRun { status: DriftStatus::CouldNotReplay, code: Some(code), mover, detail, ..entry }
}

/// The runs of a directory with how they are called; what has none is taken for a run itself, and will be found wanting.
fn named_runs(path: &Path, place: &str) -> Vec<(String, PathBuf)> {
    let runs = runs_below(path);
    if runs.is_empty() {
        return vec![(place.to_owned(), path.to_owned())];
    }
    runs.into_iter().map(|run| (run.display().to_string(), run)).collect()
}

/// The run directories at or below a path, in the order of their names; links are not followed. A directory with a
/// manifest is one, and so is one that is named like a key: one without its manifest must not go unseen.
pub(crate) fn runs_below(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(path, DEEPEST, &mut found);
    found.sort();
    found
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let key = name.split('.').next().unwrap_or_default();
    let named_like_a_key = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if path.join("hashes.json").is_file() || named_like_a_key {
        found.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        // Unfinished runs, and the parts of runs, are none.
        let name = entry.file_name();
        let other = name.to_string_lossy().starts_with(".tmp-") || name == "parts";
        if depth > 0 && !other && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), depth - 1, found);
        }
    }
}
