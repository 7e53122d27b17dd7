//! Finds base, head and merge base (S003-37), and says by which rule.

use git2::{Commit, ErrorCode, Oid, Repository};

use super::error::{GitError, reason};
use super::open::OpenRepository;
use crate::contracts::codes::Code;
use crate::contracts::ids::CommitId;
use crate::core::escape::visible_cut;

/// The commits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The policy is read from it.
    pub(crate) base: CommitId,
    /// The change is measured from it.
    pub(crate) merge_base: CommitId,
    /// What is judged.
    pub(crate) head: CommitId,
    /// The base commit's committer date, seconds since 1970.
    pub(crate) base_time: i64,
    /// The head commit's committer date, seconds since 1970.
    pub(crate) head_time: i64,
    /// Which rule named the base: `configured`, `origin/HEAD`, `origin/main` or `origin/master`.
    pub(crate) base_rule: &'static str,
    /// The codes of the fallback chain, in order.
    pub(crate) codes: Vec<Code>,
}

impl Resolved {
    /// Base and head, which a policy is read from.
    pub(crate) fn sides(&self) -> (&CommitId, &CommitId) {
        (&self.base, &self.head)
    }
}

/// Resolves base and head. A configured base that does not exist is an error and never falls back.
pub(crate) fn resolve(
    repository: &OpenRepository,
    base: Option<&str>,
    head: &str,
) -> Result<Resolved, GitError> {
    let handle = repository.handle();
    let head_commit =
        find_commit(handle, head)?.ok_or_else(|| GitError::HeadNotFound(visible_cut(head, 100)))?;
    let (base_commit, base_rule, codes) = match base {
        Some(name) => {
            let commit =
                find_commit(handle, name)?.ok_or_else(|| GitError::BaseNotFound(visible_cut(name, 100)))?;
            (commit, "configured", Vec::new())
        }
        None => fallback(handle, repository.is_shallow())?,
    };
    let merge_base = handle.merge_base(base_commit.id(), head_commit.id()).map_err(|error| {
        let clone = if repository.is_shallow() { " in this shallow clone" } else { "" };
        if error.code() == ErrorCode::NotFound {
            return GitError::NoBase(format!("base and head have no common commit{clone}"));
        }
        GitError::NoBase(format!("{}{clone}", reason(&error)))
    })?;
    Ok(Resolved {
        base: commit_id(base_commit.id())?,
        merge_base: commit_id(merge_base)?,
        head: commit_id(head_commit.id())?,
        base_time: base_commit.committer().when().seconds(),
        head_time: head_commit.committer().when().seconds(),
        base_rule,
        codes,
    })
}

impl OpenRepository {
    /// The commit a name stands for here, as `--base` and `--head` understand names.
    pub(crate) fn commit_named(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        find_commit(self.handle(), name)?.map(|commit| commit_id(commit.id())).transpose()
    }
}

type Fallback<'a> = (Commit<'a>, &'static str, Vec<Code>);

fn fallback(repository: &Repository, shallow: bool) -> Result<Fallback<'_>, GitError> {
    if let Some(commit) = remote_commit(repository, "refs/remotes/origin/HEAD") {
        return Ok((commit, "origin/HEAD", Vec::new()));
    }
    let mut codes = vec![Code::BaseRefFallbackOriginHeadUnavailable];
    if let Some(commit) = remote_commit(repository, "refs/remotes/origin/main") {
        codes.push(Code::BaseRefFallbackOriginMain);
        return Ok((commit, "origin/main", codes));
    }
    if let Some(commit) = remote_commit(repository, "refs/remotes/origin/master") {
        codes.push(Code::BaseRefFallbackOriginMaster);
        return Ok((commit, "origin/master", codes));
    }
    let clone = if shallow { " (the clone is shallow)" } else { "" };
    Err(GitError::NoBase(format!("none of origin/HEAD, origin/main and origin/master names a commit{clone}")))
}

fn remote_commit<'a>(repository: &'a Repository, name: &str) -> Option<Commit<'a>> {
    repository.find_reference(name).ok()?.peel_to_commit().ok()
}

pub(super) fn commit_id(id: Oid) -> Result<CommitId, GitError> {
    CommitId::parse(&id.to_string()).map_err(|error| GitError::Other(error.to_string()))
}

/// Finds a commit by a full or abbreviated id, a branch, tag or remote branch, and any number of `^` and `~N` after it.
///
/// The full revision language of git is not spoken here: parts of it search text and history without bounds.
pub(super) fn find_commit<'a>(
    repository: &'a Repository,
    name: &str,
) -> Result<Option<Commit<'a>>, GitError> {
    let cut = name.find(['^', '~']).unwrap_or(name.len());
    let (start, steps) = name.split_at(cut);
    let Some(mut commit) = start_commit(repository, start) else { return Ok(None) };
    let mut rest = steps;
    while let Some(kind) = rest.chars().next() {
        if !matches!(kind, '^' | '~') {
            return Ok(None);
        }
        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
        let number = &rest[1..1 + digits];
        let count: u32 = if number.is_empty() { 1 } else { number.parse().unwrap_or(u32::MAX) };
        rest = &rest[1 + digits..];
        let next = match kind {
            '^' if count == 0 => Some(commit.clone()),
            '^' => commit.parent(count as usize - 1).ok(),
            '~' if count <= 100_000 => nth_first_parent(commit.clone(), count),
            _ => None,
        };
        match next {
            Some(next) => commit = next,
            None => return Ok(None),
        }
    }
    Ok(Some(commit))
}

fn nth_first_parent(mut commit: Commit<'_>, count: u32) -> Option<Commit<'_>> {
    for _ in 0..count {
        commit = commit.parent(0).ok()?;
    }
    Some(commit)
}

fn start_commit<'a>(repository: &'a Repository, name: &str) -> Option<Commit<'a>> {
    if let Some(commit) = by_id(repository, name) {
        return Some(commit);
    }
    let name = if name == "@" { "HEAD" } else { name };
    let candidates =
        ["{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD"];
    candidates
        .iter()
        .map(|pattern| pattern.replace("{}", name))
        .filter(|full| full == "HEAD" || full.starts_with("refs/") || full.ends_with("_HEAD"))
        .filter(|full| git2::Reference::is_valid_name(full))
        .find_map(|full| repository.find_reference(&full).ok()?.peel_to_commit().ok())
}

fn by_id<'a>(repository: &'a Repository, name: &str) -> Option<Commit<'a>> {
    let hexadecimal = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hexadecimal || !(7..=40).contains(&name.len()) {
        return None;
    }
    repository.find_object_by_prefix(name, None).ok()?.peel_to_commit().ok()
}
