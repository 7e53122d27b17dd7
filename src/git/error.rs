//! Errors of reading a repository, each with its stable code and a hint.

use std::borrow::Cow;

use super::missing::{MissingCommit, UNSHALLOW};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_core::masking::sanitize_cut;
use qa_run::http::HttpError;

/// A failure to read. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("find a git repository at {path}: {reason}")]
    NotFound { path: String, reason: &'static str },
    #[error("open a git repository at {path}: {reason}")]
    Open { path: String, reason: String },
    #[error("read this repository: {0}")]
    Unsupported(String),
    #[error("find the base {0}")]
    BaseNotFound(MissingCommit),
    #[error("find the head {0}")]
    HeadNotFound(MissingCommit),
    #[error("find a base: {0}")]
    NoBase(String),
    #[error("find a base: none of origin/HEAD, origin/main and origin/master names a commit")]
    NoDefaultBase {
        /// A local branch that may be meant.
        local: Option<&'static str>,
        has_origin: bool,
    },
    #[error("find a merge base: {reason}")]
    NoMergeBase { reason: String, is_shallow: bool },
    #[error("complete this clone: {0}")]
    Incomplete(String),
    #[error("complete this clone: {0}")]
    Unanswered(HttpError),
    #[error("read object {id}: {reason}")]
    ObjectMissing { id: String, reason: String },
    #[error("read tree {id}: {reason}")]
    TreeMalformed { id: String, reason: String },
    #[error("accept {0}")]
    PathRefused(String),
    #[error("create a temporary repository: {0}")]
    NoScratch(String),
    #[error("read the repository: {0} is not a regular file")]
    NotRegularFile(String),
    #[error("accept the file {path}: {reason}")]
    UnsafeFile { path: String, reason: String },
    #[error("read object {id}: the {kind} claims {bytes} bytes, and more than {most} are not read")]
    ObjectTooLarge { kind: git2::ObjectType, id: String, bytes: u64, most: u64 },
    #[error("accept the repository at {inner}: the repository at {outer} tracks that directory")]
    Planted { inner: String, outer: String },
    #[error("accept object {0}: its content has another hash")]
    HashMismatch(String),
    #[error("read the ref {name}: {reason}")]
    RefUnreadable { name: String, reason: String },
    #[error("judge this head: the head of the pull request is now {}", .0.short())]
    HeadMoved(CommitId),
    #[error("look up names: this repository stores its refs as `{0}`")]
    RefStorage(String),
    #[error("choose a commit: {0}")]
    Ambiguous(String),
    #[error("make a commit of what is not committed: {problem}")]
    NotCommittable { problem: String, hint: &'static str },
    #[error("write a tree: {0}")]
    NotWritten(String),
    #[error("read the repository: {0}")]
    Other(String),
}

impl GitError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::RepositoryNotFound,
            Self::Open { .. }
            | Self::Unsupported(_)
            | Self::NotRegularFile(_)
            | Self::RefUnreadable { .. }
            | Self::RefStorage(_) => Code::RepositoryUnsupported,
            Self::BaseNotFound(_) => Code::BaseRefConfiguredNotFound,
            Self::HeadNotFound(_)
            | Self::NoBase(_)
            | Self::NoDefaultBase { .. }
            | Self::NoMergeBase { .. }
            | Self::Incomplete(_) => Code::BaseRefResolutionFailed,
            Self::Unanswered(error) => error.code(),
            Self::ObjectMissing { .. } => Code::ObjectMissing,
            Self::TreeMalformed { .. } => Code::TreeMalformed,
            Self::PathRefused(_) => Code::PathRefused,
            Self::NoScratch(_) => Code::ScratchUnavailable,
            Self::UnsafeFile { .. } | Self::Planted { .. } => Code::RepositoryUnsafe,
            Self::ObjectTooLarge { kind: git2::ObjectType::Tree, .. } => Code::TreeMalformed,
            Self::ObjectTooLarge { .. } => Code::ObjectMissing,
            Self::HashMismatch(_) => Code::ObjectHashMismatch,
            Self::HeadMoved(_) => Code::HeadSuperseded,
            Self::Ambiguous(_) => Code::RefAmbiguous,
            Self::NotCommittable { .. } => Code::NotCommittable,
            Self::NotWritten(_) => Code::ExecutionDenied,
            Self::Other(_) => Code::InternalError,
        }
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> Cow<'static, str> {
        if let Self::BaseNotFound(missing) = self {
            return missing.hint("--base").into();
        }
        if let Self::HeadNotFound(missing) = self {
            return missing.hint("--head").into();
        }
        if let Self::NoDefaultBase { local: Some(branch), .. } = self {
            return format!("name the branch or commit that the change goes into, such as `--base {branch}`")
                .into();
        }
        self.fixed_hint().into()
    }

    /// Returns the hint of an error whose hint is always the same.
    pub(super) fn fixed_hint(&self) -> &'static str {
        match self {
            Self::Open { .. } | Self::RefUnreadable { .. } => {
                "see what `git status` says there as the same user; a repository that git can read, this program can"
            }
            Self::NoDefaultBase { has_origin: true, .. } => {
                "fetch the branch that the change goes into and name it: \
                 `git fetch origin BRANCH:refs/remotes/origin/BRANCH`, then `--base origin/BRANCH`; in a workflow \
                 `fetch-depth: 0` of actions/checkout fetches every branch"
            }
            Self::NoDefaultBase { has_origin: false, .. } => {
                "name the branch or commit that the change goes into, such as `--base HEAD~1` for the last commit alone"
            }
            Self::NoMergeBase { is_shallow: true, .. } => UNSHALLOW,
            Self::NoMergeBase { is_shallow: false, .. } => {
                "the two have separate histories; name another base with --base"
            }
            Self::Unanswered(HttpError::Cancelled) => self.code().hint(),
            Self::Incomplete(_) | Self::Unanswered(_) => {
                "check out more history (`fetch-depth: 0` of actions/checkout always suffices), or give a token with `contents: read`"
            }
            Self::RefStorage(_) => {
                "name commits by id, as in `--base \"$(git rev-parse origin/main)\" --head \"$(git rev-parse HEAD)\"`, or clone it with `git clone --ref-format=files`"
            }
            Self::ObjectTooLarge { .. } => {
                "delete the checkout and fetch again, or, in a workflow, set `objects: server`: an earlier step may have planted the object; if the change brings it, make it smaller"
            }
            Self::NotRegularFile(_) => {
                "commit a regular file there on the base branch: links and directories are not followed"
            }
            Self::NotCommittable { hint, .. } => hint,
            Self::NotWritten(_) => {
                "check the free space of the directory for trees, and the files of the commit"
            }
            Self::Planted { .. } => {
                "run in the outer checkout, or name it with --repo; the inner repository may come from a change"
            }
            Self::NotFound { .. }
            | Self::Unsupported(_)
            | Self::BaseNotFound(_)
            | Self::HeadNotFound(_)
            | Self::NoBase(_)
            | Self::ObjectMissing { .. }
            | Self::TreeMalformed { .. }
            | Self::PathRefused(_)
            | Self::NoScratch(_)
            | Self::UnsafeFile { .. }
            | Self::HashMismatch(_)
            | Self::HeadMoved(_)
            | Self::Ambiguous(_)
            | Self::Other(_) => self.code().hint(),
        }
    }

    /// Returns the error for an object that libgit2 cannot read.
    pub(super) fn object(id: impl std::fmt::Display, error: &git2::Error) -> Self {
        if error.code() == git2::ErrorCode::HashsumMismatch {
            return Self::HashMismatch(id.to_string());
        }
        let is_absent = error.code() == git2::ErrorCode::NotFound;
        let reason = if is_absent { "this clone does not have it".to_owned() } else { reason(error) };
        Self::ObjectMissing { id: id.to_string(), reason }
    }
}

/// Returns libgit2's message, escaped, since it may hold text from the repository.
pub(super) fn reason(error: &git2::Error) -> String {
    sanitize_cut(error.message(), 200)
}
