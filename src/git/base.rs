//! Resolves base, head and merge bases (S003-37), and records the rule that named the base.

use git2::{Commit, ErrorCode, Oid, Repository};

use super::bounded;
use super::error::GitError;
use super::missing::MissingCommit;
use super::open::OpenRepository;
use super::refs::{NAME_CHARACTERS, resolve_ref};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, TreeId};
use qa_contracts::v1::Landing;
use qa_core::masking::sanitize_cut;
use qa_run::landing::Merge;

/// The commits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Commit that the policy is read from.
    pub(crate) base: CommitId,
    /// The newest merge base, which the change is measured from.
    pub(crate) merge_base: CommitId,
    /// Further merge bases, newest first.
    pub(crate) other_merge_bases: Vec<CommitId>,
    /// Result of merging head into the base.
    pub(crate) merge: Merge,
    /// Commit that is judged.
    pub(crate) head: CommitId,
    /// The base commit's committer date, seconds since 1970.
    pub(crate) base_time: i64,
    /// The head commit's committer date, seconds since 1970.
    pub(crate) head_time: i64,
    /// Rule that named the base: `configured`, `origin/HEAD`, `origin/main` or `origin/master`; `main` or `master`, a local branch,
    /// where there is no remote; for uncommitted content `HEAD`, or `no commit` where there is none.
    pub(crate) base_rule: &'static str,
    /// The codes of the fallback chain, in order.
    pub(crate) codes: Vec<Code>,
}

/// Commits that policies are read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<'a> {
    pub(crate) base: &'a CommitId,
    pub(crate) head: &'a CommitId,
}

impl Resolved {
    /// Returns why this is the base, as the end of a phrase that begins with it.
    pub(crate) fn base_choice(&self) -> String {
        match self.base_rule {
            "configured" => "as requested".to_owned(),
            "no commit" => "because there is no commit yet".to_owned(),
            rule => format!("by {rule}"),
        }
    }

    pub(crate) fn sides(&self) -> Sides<'_> {
        Sides { base: &self.base, head: &self.head }
    }

    /// Returns the commit whose tree a change leads to.
    pub(crate) fn measured_to(&self, landing: Landing) -> &CommitId {
        match (landing, &self.merge) {
            (Landing::Merge, Merge::Tree { commit, .. }) => commit,
            (Landing::Merge | Landing::Change | Landing::Conflict, _) => &self.head,
        }
    }
}

/// Resolves base and head, and merges them. A configured base that does not exist is an error and never falls back.
pub(crate) fn resolve(
    repository: &OpenRepository,
    base: Option<&str>,
    head: &str,
    test_merge: Option<&CommitId>,
) -> Result<Resolved, GitError> {
    let head_commit = required_head(repository, head)?;
    let Base { commit: base_commit, rule: base_rule, codes } = match base {
        Some(name) => {
            let commit = match find_commit(repository, name)? {
                Some(commit) => commit,
                None => return Err(GitError::BaseNotFound(missing_commit(repository, name)?)),
            };
            Base { commit, rule: "configured", codes: Vec::new() }
        }
        None => fallback(repository)?,
    };
    let merge_bases = repository.merge_bases([base_commit.id(), head_commit.id()])?;
    let merge = repository.merge([&base_commit, &head_commit], &merge_bases, test_merge)?;
    let mut merge_bases = merge_bases.into_iter().map(commit_id).collect::<Result<Vec<_>, _>>()?.into_iter();
    let merge_base = merge_bases.next().expect("without a merge base there was an error");
    Ok(Resolved {
        base: commit_id(base_commit.id())?,
        merge_base,
        other_merge_bases: merge_bases.collect(),
        merge,
        head: commit_id(head_commit.id())?,
        base_time: base_commit.committer().when().seconds(),
        head_time: head_commit.committer().when().seconds(),
        base_rule,
        codes,
    })
}

/// Returns the commit of a name that is to be judged.
pub(super) fn required_head<'a>(repository: &'a OpenRepository, name: &str) -> Result<Commit<'a>, GitError> {
    match find_commit(repository, name)? {
        Some(commit) => Ok(commit),
        None => Err(GitError::HeadNotFound(missing_commit(repository, name)?)),
    }
}

fn missing_commit(repository: &OpenRepository, name: &str) -> Result<MissingCommit, GitError> {
    let start = name.split(['^', '~']).next().unwrap_or_default();
    let start_is_here = start_commit(repository, start)?.is_some();
    Ok(MissingCommit::new(repository, name, start_is_here))
}

/// Refs of the default branch, the first that names a commit counts, with the names to show.
const DEFAULT_BRANCHES: [(&str, &str); 6] = [
    ("refs/remotes/origin/HEAD", "origin/HEAD"),
    ("refs/remotes/origin/main", "origin/main"),
    ("refs/remotes/origin/master", "origin/master"),
    ("refs/heads/main", "main"),
    ("refs/heads/master", "master"),
    ("HEAD", "HEAD"),
];

impl OpenRepository {
    /// Returns the ref of the default branch as far as the clone knows it, and its name to show; `HEAD` without one.
    pub(crate) fn default_branch(&self) -> Result<(&'static str, &'static str), GitError> {
        for branch in DEFAULT_BRANCHES {
            if self.commit_named(branch.0)?.is_some() {
                return Ok(branch);
            }
        }
        Ok(("HEAD", "HEAD"))
    }

    /// Returns the commit of a name, by the rules of `--base` and `--head`.
    pub(crate) fn commit_named(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        find_commit(self, name)?.map(|commit| commit_id(commit.id())).transpose()
    }

    /// Returns the commit of the default branch, which is the base where none is configured.
    pub(crate) fn default_base(&self) -> Result<CommitId, GitError> {
        commit_id(fallback(self)?.commit.id())
    }
}

/// The commit that is checked out.
pub(crate) struct CheckedOut {
    pub(crate) head: CommitId,
    pub(crate) parents: Vec<CommitId>,
    pub(crate) tree: TreeId,
}

impl OpenRepository {
    /// Returns the commit that is checked out, with its parents.
    pub(crate) fn checked_out(&self) -> Result<CheckedOut, GitError> {
        let commit = required_head(self, "HEAD")?;
        Ok(CheckedOut {
            head: commit_id(commit.id())?,
            parents: commit.parent_ids().map(commit_id).collect::<Result<_, _>>()?,
            tree: TreeId::parse(&commit.tree_id().to_string())
                .map_err(|error| GitError::Other(error.to_string()))?,
        })
    }
}

/// A base commit, and the rule that named it.
struct Base<'a> {
    commit: Commit<'a>,
    rule: &'static str,
    codes: Vec<Code>,
}

fn fallback(repository: &OpenRepository) -> Result<Base<'_>, GitError> {
    if let Some(commit) = commit_of_ref(repository, "refs/remotes/origin/HEAD")? {
        return Ok(Base { commit, rule: "origin/HEAD", codes: Vec::new() });
    }
    let mut codes = vec![Code::BaseRefFallbackOriginHeadUnavailable];
    if let Some(commit) = commit_of_ref(repository, "refs/remotes/origin/main")? {
        codes.push(Code::BaseRefFallbackOriginMain);
        return Ok(Base { commit, rule: "origin/main", codes });
    }
    if let Some(commit) = commit_of_ref(repository, "refs/remotes/origin/master")? {
        codes.push(Code::BaseRefFallbackOriginMaster);
        return Ok(Base { commit, rule: "origin/master", codes });
    }
    let local = local_default_branch(repository)?;
    let has_origin = repository.has_origin();
    // A clone may call its origin otherwise.
    if let Some(rule) = local.filter(|_| !repository.has_remote())
        && let Some(commit) = commit_of_ref(repository, &format!("refs/heads/{rule}"))?
    {
        return Ok(Base { commit, rule, codes: Vec::new() });
    }
    Err(GitError::NoDefaultBase { local, has_origin })
}

/// Returns `main` or `master` if it is a local branch other than the checked-out one. Where there is a remote such a branch
/// may be behind or ahead of it, so then it is only suggested.
fn local_default_branch(repository: &OpenRepository) -> Result<Option<&'static str>, GitError> {
    let head = target_of_ref(repository, "HEAD")?;
    for branch in ["main", "master"] {
        let target = target_of_ref(repository, &format!("refs/heads/{branch}"))?;
        if target.is_some() && target != head {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

/// Returns the id of a commit as libgit2 has it.
pub(super) fn oid(commit: &CommitId) -> Result<Oid, GitError> {
    Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))
}

pub(super) fn commit_id(id: Oid) -> Result<CommitId, GitError> {
    CommitId::parse(&id.to_string()).map_err(|error| GitError::Other(error.to_string()))
}

/// Finds a commit by a full or abbreviated id, a branch, tag or remote branch, and any number of `^` and `~N` after it.
///
/// Other revision syntax of git is not supported: parts of it search text and history without bounds.
pub(super) fn find_commit<'a>(
    repository: &'a OpenRepository,
    name: &str,
) -> Result<Option<Commit<'a>>, GitError> {
    let cut = name.find(['^', '~']).unwrap_or(name.len());
    let (start, steps) = name.split_at(cut);
    let Some(mut commit) = start_commit(repository, start)? else { return Ok(None) };
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
            '^' => bounded::find_parent(repository.objects(), &commit, count as usize - 1),
            '~' if count <= 100_000 => nth_first_parent(repository.objects(), commit.clone(), count),
            _ => None,
        };
        match next {
            Some(next) => commit = next,
            None => return Ok(None),
        }
    }
    Ok(Some(commit))
}

fn nth_first_parent<'a>(
    repository: &'a Repository,
    mut commit: Commit<'a>,
    count: u32,
) -> Option<Commit<'a>> {
    for _ in 0..count {
        commit = bounded::find_parent(repository, &commit, 0)?;
    }
    Some(commit)
}

/// Returns the commit of a name without steps. A full id, `HEAD` (or `@`) and a name that begins with `refs/` are
/// unambiguous. Any other name may be `refs/NAME`, a tag, a branch, a remote branch, a remote's HEAD or an abbreviated id,
/// and is refused if these are different commits: a ref that somebody adds must not decide.
fn start_commit<'a>(repository: &'a OpenRepository, name: &str) -> Result<Option<Commit<'a>>, GitError> {
    let name = if name == "@" { "HEAD" } else { name };
    if CommitId::parse(name).is_ok() {
        return commit_of_id(repository, name);
    }
    if name.starts_with("refs/") || name == "HEAD" || is_special(name) {
        return commit_of_ref(repository, name);
    }
    /// A commit that the name may mean.
    struct Candidate<'a> {
        name: String,
        commit: Commit<'a>,
    }
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    for pattern in ["refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD"] {
        let full = pattern.replace("{}", name);
        if let Some(commit) = commit_of_ref(repository, &full)? {
            candidates.push(Candidate { name: full, commit });
        }
    }
    if let Some(commit) = commit_of_id(repository, name)? {
        candidates.push(Candidate { name: format!("commit {}", commit.id()), commit });
    }
    let differ = candidates.windows(2).any(|pair| pair[0].commit.id() != pair[1].commit.id());
    if differ {
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let names = sanitize_cut(&names.join(", "), 300);
        return Err(GitError::Ambiguous(format!("`{}` may be {names}", sanitize_cut(name, NAME_CHARACTERS))));
    }
    Ok(candidates.pop().map(|candidate| candidate.commit))
}

/// Returns whether a name is a pseudoref other than HEAD, such as `FETCH_HEAD`.
fn is_special(name: &str) -> bool {
    name.ends_with("_HEAD") && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn commit_of_ref<'a>(repository: &'a OpenRepository, full: &str) -> Result<Option<Commit<'a>>, GitError> {
    if !git2::Reference::is_valid_name(full) {
        return Ok(None);
    }
    match target_of_ref(repository, full)? {
        Some(id) => bounded::peel_to_commit(repository.objects(), id),
        None => Ok(None),
    }
}

/// Resolves a ref to its object, through symbolic refs.
pub(super) fn target_of_ref(repository: &OpenRepository, full: &str) -> Result<Option<Oid>, GitError> {
    if let Some(storage) = &repository.ref_storage {
        return Err(GitError::RefStorage(sanitize_cut(storage, NAME_CHARACTERS)));
    }
    resolve_ref(repository.checkout(), full)
}

fn commit_of_id<'a>(repository: &'a OpenRepository, name: &str) -> Result<Option<Commit<'a>>, GitError> {
    let hexadecimal = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hexadecimal || !(7..=40).contains(&name.len()) {
        return Ok(None);
    }
    let odb = bounded::objects_of(repository.objects())?;
    let short = Oid::from_str(name).map_err(|error| GitError::object(name, &error))?;
    match odb.exists_prefix(short, name.len()) {
        Ok(id) => bounded::peel_to_commit(repository.objects(), id),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) if error.code() == ErrorCode::Ambiguous => {
            Err(GitError::Ambiguous(format!("`{name}` begins several ids")))
        }
        Err(error) => Err(GitError::object(name, &error)),
    }
}
