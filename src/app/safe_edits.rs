//! The tree that safe edits of findings make, in a turn of a drive and where such a turn is derived again.

use std::collections::BTreeMap;

use super::exit::Failure;
use crate::git::OpenRepository;
use crate::store::{DriveDirectory, RunDirectory};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{DispatchEnvelope, DriveSession, Finding, SkillResult};
use qa_core::drive::{builtin, current, current_commit};
use qa_core::edits::{apply, by_file};

/// A tree with applied edits.
pub(super) struct EditedTree<'f> {
    /// `None` where no edit was applied.
    pub(super) commit: Option<CommitId>,
    pub(super) applied: Vec<&'f Finding>,
}

/// Reads the findings that block the tree that the next turn begins with, with their edits.
pub(super) fn blocking_findings(
    directory: &DriveDirectory,
    session: &DriveSession,
) -> Result<Vec<Finding>, Failure> {
    let Some(bootstrap) = &session.bootstrap else { return Ok(Vec::new()) };
    let run = RunDirectory::open(&directory.run(&current(session, bootstrap).run))?;
    let result: SkillResult = run.artifact()?;
    Ok(result.final_verdict.blocking_findings)
}

/// Applies the safe edits of the findings that the next turn is about to the tree that it begins with.
pub(super) fn apply_safe_edits<'f>(
    repository: &OpenRepository,
    session: &DriveSession,
    envelope: &DispatchEnvelope,
    findings: &'f [Finding],
) -> Result<EditedTree<'f>, Failure> {
    let before = current_commit(session);
    let mut applied = builtin::choose_edits(session, envelope, findings);
    let mut texts = BTreeMap::new();
    for (path, _) in by_file(applied.iter().filter_map(|finding| finding.edit.as_ref())) {
        if let Some(bytes) = repository.file_bytes(before, path)? {
            texts.insert(path.clone(), bytes);
        }
    }
    applied.retain(|finding| applies(finding, &texts));
    let mut files = BTreeMap::new();
    for (path, replacements) in by_file(applied.iter().filter_map(|finding| finding.edit.as_ref())) {
        // Each of them applies, and no two overlap.
        let edited = apply(&texts[path], &replacements).map_err(|error| {
            Failure::with_code(Code::InternalError, format!("failed to apply an edit: {error}"))
        })?;
        files.insert(path.clone(), edited);
    }
    let commit = match files.is_empty() {
        true => None,
        false => Some(repository.commit_edited(before, &files, &session.start.head_sha)?),
    };
    Ok(EditedTree { commit, applied })
}

/// Returns whether the edit of a finding applies to the texts of its files.
fn applies(finding: &Finding, texts: &BTreeMap<RepoPath, Vec<u8>>) -> bool {
    by_file(&finding.edit)
        .into_iter()
        .all(|(path, replacements)| texts.get(path).is_some_and(|text| apply(text, &replacements).is_ok()))
}
