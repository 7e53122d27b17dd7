//! Sharded runs: the job matrix, the part of one shard, and the parts that are read back and joined.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::exit::Failure;
use super::input_document::confirm;
use super::inputs::{Opened, Request, artifact_root};
use super::prepare::prepare;
use super::skill_input::skill_input;
use crate::store;
use qa_contracts::codes::Code;
use qa_contracts::ids::ExecutionKey;
use qa_contracts::v1::{ChangedFile, ShardPart};
use qa_core::canonical;
use qa_core::shard::{MAX_SHARDS, Shard};
use qa_run::derive::execution;
use qa_run::keys::key;
use qa_run::parts::{Parts, weight};
use qa_run::plans::plans;
use qa_run::ports::{Cancellation, PortError, Progress};

/// Size limit of one output of a step.
const MAX_MATRIX_BYTES: usize = 1 << 20;

/// Returns the job matrix: at most `shards` shards, and at most one for each file.
pub(crate) fn matrix(files: &[ChangedFile], shards: u64) -> Result<Vec<u8>, Failure> {
    if !(1..=MAX_SHARDS).contains(&shards) {
        let hint = format!("a matrix has 1 to {MAX_SHARDS} jobs");
        return Err(Failure::usage(format!("{shards} shards are not possible"), hint));
    }
    let of = shards.min(files.len().max(1) as u64);
    let weights: Vec<u64> = files.iter().map(weight).collect();
    let include: Vec<_> = (1..=of)
        .map(|number| {
            let shard = Shard { number, of };
            let range = shard.range(&weights);
            let lines: u64 = weights[range.clone()].iter().sum();
            json!({ "shard": shard.to_string(), "files": range.len(), "lines": lines })
        })
        .collect();
    let mut bytes =
        canonical::to_vec(&json!({ "include": include })).expect("words and numbers have a canonical form");
    bytes.push(b'\n');
    assert!(bytes.len() <= MAX_MATRIX_BYTES, "256 short rows are far below the limit");
    Ok(bytes)
}

/// A stored part.
pub(crate) struct StoredPart {
    pub(crate) path: PathBuf,
    pub(crate) key: ExecutionKey,
    pub(crate) files: usize,
}

/// Executes one shard and stores its part.
pub(crate) fn run_shard(
    request: &Request,
    opened: &Opened,
    shard: Shard,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<StoredPart, Failure> {
    let prepared = prepare(request, opened, cancellation, progress)?;
    let inputs = &prepared.inputs;
    let weights: Vec<u64> = inputs.change_set.files.iter().map(weight).collect();
    let keyed = prepared.with_planning_ports(cancellation, progress, |ports| key(inputs, ports));
    confirm(request, &skill_input(request, opened, inputs, &keyed))?;
    let key = keyed.key;
    let files = prepared.with_planning_ports(cancellation, progress, |ports| {
        let files = execution(inputs, ports, &key).part(&plans(inputs, ports), shard.range(&weights))?;
        Ok::<_, PortError>(files)
    })?;
    let part = ShardPart {
        schema_version: Default::default(),
        execution_key: key.clone(),
        shard: shard.number,
        shards: shard.of,
        files,
    };
    let root = artifact_root(request, &opened.repository.root);
    let path = store::write_part(&root, &part)?;
    Ok(StoredPart { path, key, files: part.files.len() })
}

/// Reads every part below the directories and joins them.
pub(crate) fn join_parts(
    key: &ExecutionKey,
    files: &[ChangedFile],
    directories: &[PathBuf],
) -> Result<Parts, Failure> {
    let mut parts = Vec::new();
    for directory in directories {
        for path in part_files(directory)? {
            parts.push(store::read_part(&path)?);
        }
    }
    Ok(Parts::join(key, files, parts)?)
}

/// Lists the part files below a directory, at any depth, since downloads nest them differently.
fn part_files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    const MAX_ENTRIES: usize = 10_000;
    let (mut files, mut pending, mut entries) = (Vec::new(), vec![directory.to_owned()], 0);
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).map_err(|error| unreadable(&next, &error))? {
            let entry = entry.map_err(|error| unreadable(&next, &error))?;
            let kind = entry.file_type().map_err(|error| unreadable(&next, &error))?;
            entries += 1;
            if entries > MAX_ENTRIES {
                let message = format!("the directory of parts has more than {MAX_ENTRIES} entries");
                return Err(Failure::with_code(Code::ShardMissing, message));
            }
            // Links are skipped: a download has none.
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() && entry.path().extension() == Some("json".as_ref()) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let path = qa_core::escape::visible(&path.display().to_string());
    let failure = Failure::with_code(Code::ShardMissing, format!("failed to read {path}: {error}"));
    let hint = "name the directory with the parts: `run --shard` prints the file that it writes";
    Failure { hint: hint.to_owned(), ..failure }
}
