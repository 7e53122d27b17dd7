//! Reads the files of the checkout that `init` may write, and writes them whole.

use std::io::Write;
use std::path::Path;

use super::super::exit::Failure;
use super::plan::{Checkout, WorkingFile};
use crate::paths::{list_files, refuse_links};
use qa_contracts::codes::Code;
use qa_core::masking::sanitize_cut;
use qa_core::policy::POLICY_PATH;
use qa_run::setup::{CODEOWNERS, WORKFLOWS};

/// Size limit of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Number of workflows that are read at most.
const MAX_WORKFLOWS: usize = 1_000;

/// Reads the files of a checkout. A link on the way to one is an error: writing would follow it.
pub(super) fn read_checkout(root: &Path) -> Result<Checkout, Failure> {
    let names = list_files(root, WORKFLOWS).map_err(|error| read_failure(WORKFLOWS, &error))?;
    let is_workflow = |name: &&String| {
        let ending = Path::new(name.as_str()).extension();
        ending.is_some_and(|ending| ending == "yml" || ending == "yaml")
    };
    let mut workflows = Vec::new();
    for path in names.iter().filter(is_workflow).take(MAX_WORKFLOWS) {
        workflows.extend(read_file(root, path)?);
    }
    let mut codeowners = None;
    for path in CODEOWNERS {
        if codeowners.is_none() {
            codeowners = read_file(root, path)?;
        }
    }
    Ok(Checkout { workflows, policy: read_file(root, POLICY_PATH)?, codeowners })
}

/// Reads a file, or returns `None` if it does not exist.
fn read_file(root: &Path, path: &str) -> Result<Option<WorkingFile>, Failure> {
    let full = root.join(path);
    refuse_links(&full).map_err(|error| read_failure(path, &error))?;
    let metadata = match std::fs::symlink_metadata(&full) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read_failure(path, &error)),
    };
    if !metadata.is_file() {
        return Err(read_failure(path, &std::io::Error::other("it is not a regular file")));
    }
    let text = if metadata.len() > MAX_BYTES {
        None
    } else {
        let bytes = std::fs::read(&full).map_err(|error| read_failure(path, &error))?;
        String::from_utf8(bytes).ok()
    };
    Ok(Some(WorkingFile { path: path.to_owned(), text }))
}

/// Writes a file whole: a temporary file beside it takes its place. Links are refused.
pub(super) fn write_file(root: &Path, path: &str, text: &str) -> Result<(), Failure> {
    let full = root.join(path);
    let written = refuse_links(&full).and_then(|()| {
        let directory = full.parent().unwrap_or(root);
        std::fs::create_dir_all(directory)?;
        replace_file(directory, &full, text)
    });
    written.map_err(|error| failure("write", path, &error))
}

fn replace_file(directory: &Path, full: &Path, text: &str) -> std::io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".qa-skill-init-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A new file has the rights that the umask leaves; an old one keeps its own.
        let permissions = match std::fs::metadata(full) {
            Ok(metadata) => metadata.permissions(),
            Err(_) => std::fs::Permissions::from_mode(0o666),
        };
        builder.permissions(permissions);
    }
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(full)?;
    Ok(())
}

fn read_failure(path: &str, error: &std::io::Error) -> Failure {
    failure("read", path, error)
}

fn failure(verb: &str, path: &str, error: &std::io::Error) -> Failure {
    let message = format!("failed to {verb} {}: {error}", sanitize_cut(path, 300));
    let hint = "init writes regular files below the checkout and follows no link; check what is at that path, and its rights";
    Failure { hint: hint.to_owned(), ..Failure::with_code(Code::ArtifactWriteFailed, message) }
}
