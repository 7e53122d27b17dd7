//! Finds runs in directories and archives, and replays or compares them.

use std::path::{Path, PathBuf};

use super::super::exit::Failure;
use super::live::Live;
use super::replay::{Against, Replayer, compare, entry};
use crate::store::{Caps, unpack};
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftReport, DriftRun, DriftStatus, Mover};
use qa_core::masking::sanitize;
use qa_run::ports::{Cancellation, Progress};

/// Search depth for run directories below the named path: an artifact root has them two levels below.
const DEEPEST: usize = 3;

/// Replays the runs of every path. Two directories of one run each, without a repository, are compared with each other.
pub(crate) fn check_paths(
    paths: &[PathBuf],
    repository: Option<&Path>,
    scratch: &Path,
    live: Option<&Live>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<DriftReport, Failure> {
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        let path = sanitize(&path.display().to_string());
        let hint = "name run directories, directories that hold some, or archives of them";
        return Err(Failure::usage(format!("there is no file or directory {path}"), hint));
    }
    if let ([left, right], None, None) = (paths, repository, live)
        && let (Some(left), Some(right)) = (only_run(left), only_run(right))
    {
        return Ok(super::report(vec![compare(&left, &right)], None));
    }
    let against = match repository {
        Some(repository) => Against::Repository(repository),
        None => Against::Recording,
    };
    let replayer = Replayer { against, cancellation, progress, live };
    let mut runs = Vec::new();
    for path in paths {
        cancellation.check()?;
        if path.is_dir() {
            let found = runs_below(path);
            if found.is_empty() {
                let entry = entry(&path.display().to_string());
                runs.push(not_replayed(entry, Code::RecordingMissing, "it holds no run".to_owned()));
            }
            for run in found {
                runs.push(replayer.replay(&run, entry(&run.display().to_string()))?);
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

/// Replays every run of an archive. An archive that is refused or holds no run is reported as an entry.
pub(super) fn replay_archive(
    replayer: &Replayer<'_>,
    archive: &Path,
    entry: DriftRun,
    scratch: &Path,
) -> Result<Vec<DriftRun>, Failure> {
    let directory = match unpack(archive, Caps::DEFAULT, scratch) {
        Ok(directory) => directory,
        Err(error) => return Ok(vec![not_replayed(entry, error.code(), format!("failed to {error}"))]),
    };
    let runs = runs_below(directory.path());
    if runs.is_empty() {
        return Ok(vec![not_replayed(entry, Code::RecordingMissing, "it holds no run".to_owned())]);
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

/// Returns the entry of a run that could not be replayed.
pub(super) fn not_replayed(entry: DriftRun, code: Code, detail: String) -> DriftRun {
    let mover =
        [Code::ArtifactArchiveRefused, Code::RecordingMissing].contains(&code).then_some(Mover::Recording);
    DriftRun { status: DriftStatus::CouldNotReplay, code: Some(code), mover, detail, ..entry }
}

/// Returns the run directories at or below a path, sorted; links are not followed. A directory with a manifest is a run, and
/// so is one with the name of a key, so that a run without its manifest is reported.
pub(crate) fn runs_below(path: &Path) -> Vec<PathBuf> {
    let mut runs = Vec::new();
    collect_runs(path, DEEPEST, &mut runs);
    runs.sort();
    runs
}

fn collect_runs(path: &Path, depth: usize, runs: &mut Vec<PathBuf>) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let key = name.split('.').next().unwrap_or_default();
    let named_like_a_key = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if path.join("hashes.json").is_file() || named_like_a_key {
        runs.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        // Skips unfinished runs and parts of runs.
        let name = entry.file_name();
        let other = name.to_string_lossy().starts_with(".tmp-") || name == "parts";
        let is_directory = matches!(entry.file_type(), Ok(kind) if kind.is_dir());
        if depth > 0 && !other && is_directory {
            collect_runs(&entry.path(), depth - 1, runs);
        }
    }
}
