//! Reads the files of the checkout that `init` may write, and writes them whole.

use std::path::Path;

use super::super::exit::Failure;
use super::plan::{ATTRIBUTES, Checkout, Forge, GITLAB_PIPELINE, PlannedFile, Step, WorkingFile};
use super::pre_commit::PRE_COMMIT;
use super::texts::WorkflowKind;
use crate::paths::{list_files, refuse_links_from, replace_file};
use qa_contracts::codes::Code;
use qa_core::masking::sanitize_cut;
use qa_core::policy::POLICY_PATH;
use qa_run::setup::WORKFLOWS;

/// Size limit of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Number of workflows that are read at most.
const MAX_WORKFLOWS: usize = 1_000;

/// Reads the files of a checkout, CODEOWNERS only where it may be written. A link on the way to a file that may be written
/// is an error: writing would follow it. Other linked workflows are not read.
pub(super) fn read_checkout(root: &Path, forge: Forge, wants_owners: bool) -> Result<Checkout, Failure> {
    let names = list_files(root, WORKFLOWS).map_err(|error| read_failure(WORKFLOWS, &error))?;
    let mut workflows = Vec::new();
    for path in names.iter().filter(|path| is_workflow(path)).take(MAX_WORKFLOWS) {
        let is_ours = WorkflowKind::ALL.iter().any(|kind| kind.path() == path);
        if is_ours || !root.join(path).is_symlink() {
            workflows.extend(read_file(root, path)?);
        }
    }
    let mut codeowners = None;
    for path in forge.codeowners() {
        if wants_owners && codeowners.is_none() {
            codeowners = read_file(root, path)?;
        }
    }
    // Git follows no link either.
    let [attributes, pre_commit] = [ATTRIBUTES, PRE_COMMIT].map(|path| read_regular(root, path));
    let (attributes, pre_commit) = (attributes?, pre_commit?);
    Ok(Checkout {
        forge,
        workflows,
        policy: read_file(root, POLICY_PATH)?,
        codeowners,
        attributes,
        pre_commit,
    })
}

/// Returns the forge of a checkout, by its files and the address of its origin.
pub(super) fn forge_of(root: &Path, origin: Option<&str>) -> Forge {
    let is_file = std::fs::symlink_metadata(root.join(GITLAB_PIPELINE)).is_ok_and(|file| file.is_file());
    let has_none_of_github = std::fs::symlink_metadata(root.join(".github")).is_err();
    let is_on_github = origin.is_some_and(|origin| host_of(origin).split('.').any(|label| label == "github"));
    match is_file && has_none_of_github && !is_on_github {
        true => Forge::GitLab,
        false => Forge::GitHub,
    }
}

/// Returns the host of a remote's address, `HOST:path` or `scheme://user@HOST:port/path`.
pub(in crate::app) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let place = rest.split(['/', ':']).next().unwrap_or_default();
    // A user may stand before the host, with a password.
    let place = if place.contains('@') { place } else { rest.split('/').next().unwrap_or_default() };
    let host = place.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}

fn is_workflow(path: &str) -> bool {
    let ending = Path::new(path).extension();
    ending.is_some_and(|ending| ending == "yml" || ending == "yaml")
}

/// Fails if a planned file cannot be written, before any is, or is another by now: somebody may write while the plan waits for an
/// answer.
pub(in crate::app) fn check_target(root: &Path, file: &PlannedFile) -> Result<(), Failure> {
    let path = file.path.as_str();
    let full = root.join(path);
    refuse_links_from(&full, root).map_err(|error| failure("write", path, &error))?;
    if full.is_dir() {
        return Err(failure("write", path, &std::io::ErrorKind::IsADirectory.into()));
    }
    let old = match &file.step {
        Step::Create { .. } => None,
        Step::Update { old, .. } => Some(old),
        Step::Unchanged | Step::Leave { .. } | Step::Withhold { .. } => return Ok(()),
    };
    let now = read_file(root, path)?;
    if now.is_none() && old.is_none() || now.is_some_and(|now| now.text.as_ref() == old && old.is_some()) {
        return Ok(());
    }
    Err(failure("write", path, &std::io::Error::other("it was written since the plan was made; run again")))
}

/// Reads a file that `init` can do without; something else than a regular file counts as none.
fn read_regular(root: &Path, path: &str) -> Result<Option<WorkingFile>, Failure> {
    let is_file = std::fs::symlink_metadata(root.join(path)).is_ok_and(|file| file.is_file());
    if is_file { read_file(root, path) } else { Ok(None) }
}

/// Reads a file, or returns `None` if it does not exist.
pub(in crate::app) fn read_file(root: &Path, path: &str) -> Result<Option<WorkingFile>, Failure> {
    let full = root.join(path);
    refuse_links_from(&full, root).map_err(|error| read_failure(path, &error))?;
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
pub(in crate::app) fn write_file(root: &Path, path: &str, text: &str) -> Result<(), Failure> {
    let full = root.join(path);
    let written = refuse_links_from(&full, root).and_then(|()| {
        let directory = full.parent().unwrap_or(root);
        std::fs::create_dir_all(directory)?;
        replace_file(&full, text.as_bytes())
    });
    written.map_err(|error| failure("write", path, &error))
}

fn read_failure(path: &str, error: &std::io::Error) -> Failure {
    failure("read", path, error)
}

fn failure(verb: &str, path: &str, error: &std::io::Error) -> Failure {
    let message = format!("failed to {verb} {}: {error}", sanitize_cut(path, 300));
    let hint =
        "only regular files are written, and no link is followed; check what is at that path, and its rights";
    Failure { hint: hint.to_owned(), ..Failure::with_code(Code::ArtifactWriteFailed, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_origin_is_that_of_its_address() {
        for (address, host) in [
            ("https://github.com/a/b", "github.com"),
            ("https://me:key@github.com:443/a/b.git", "github.com"),
            ("git@github.com:a/b.git", "github.com"),
            ("ssh://git@gitlab.com/github/b", "gitlab.com"),
            ("/srv/git/github", ""),
        ] {
            assert_eq!(host_of(address), host, "{address}");
        }
    }

    #[test]
    fn a_file_that_somebody_wrote_meanwhile_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (old, text) = ("{}\n".to_owned(), "{\"a\":1}\n".to_owned());
        let planned = |step| PlannedFile { path: "a.json".to_owned(), step, note: None };
        let created = planned(Step::Create { text: text.clone() });
        let updated = planned(Step::Update { old: old.clone(), text });
        assert!(check_target(root.path(), &created).is_ok() && check_target(root.path(), &updated).is_err());
        std::fs::write(root.path().join("a.json"), &old).unwrap();
        assert!(check_target(root.path(), &created).is_err() && check_target(root.path(), &updated).is_ok());
        std::fs::write(root.path().join("a.json"), "{\"b\":2}\n").unwrap();
        assert!(check_target(root.path(), &updated).is_err());
        std::fs::write(root.path().join("a.json"), [0xff]).unwrap();
        assert!(check_target(root.path(), &created).is_err() && check_target(root.path(), &updated).is_err());
    }
}
