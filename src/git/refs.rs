//! Resolves refs, whose files are checked before libgit2 reads them.

use git2::{ErrorCode, Oid, Repository};

use super::error::{GitError, reason};
use super::guard;
use qa_core::masking::sanitize_cut;

/// Longest chain of symbolic refs; git's own limit.
const MAX_SYMBOLIC_REFS: usize = 5;
/// Longest ref name in a message, in characters.
pub(super) const NAME_CHARACTERS: usize = 100;

fn unreadable(full: &str, error: &git2::Error) -> GitError {
    GitError::RefUnreadable { name: sanitize_cut(full, NAME_CHARACTERS), reason: reason(error) }
}

/// Resolves a ref to its object, through symbolic refs; `None` where there is no such ref.
pub(super) fn resolve_ref(repository: &Repository, full: &str) -> Result<Option<Oid>, GitError> {
    let mut name = full.to_owned();
    for _ in 0..MAX_SYMBOLIC_REFS {
        guard::check_ref(repository, &name)?;
        let reference = match repository.find_reference(&name) {
            Ok(reference) => reference,
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(full, &error)),
        };
        match reference.symbolic_target() {
            Ok(Some(next)) => name = next.to_owned(),
            Ok(None) => return Ok(reference.target()),
            Err(error) => return Err(unreadable(full, &error)),
        }
    }
    Ok(None)
}
