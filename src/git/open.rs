//! Opens a repository without trusting its owner's configuration, or anyone's.

use std::path::{Path, PathBuf};

use git2::Repository;

use super::bounded;
use super::error::{GitError, reason};
use super::find::{Nested, find_repository};
use super::guard;
use super::store::Store;
use qa_contracts::ids::CommitId;
use qa_core::masking::sanitize_cut;
use qa_core::secrets;

/// Makes libgit2 ignore the machine's configuration; called once, before any thread exists.
///
/// System, global and XDG files are not searched, so nothing of the account enters a result. Owner validation is off:
/// in a container the checkout belongs to another user, and it protects against running what a repository's
/// configuration names, which nothing here does. The hash of every object that is read is verified: whoever may write
/// to the checkout could otherwise put other content under a known id. The caches are small because every blob is read
/// once.
pub(crate) fn isolate() {
    use git2::ConfigLevel::{Global, ProgramData, System, XDG};
    #[expect(
        unsafe_code,
        reason = "libgit2's global options; no other thread exists yet, as these calls require"
    )]
    // SAFETY: `main` calls this before it starts any thread and before any other use of libgit2.
    unsafe {
        for level in [System, Global, XDG, ProgramData] {
            let _ignored_where_unknown = git2::opts::set_search_path(level, "");
        }
        let _default_stays_on_failure = git2::opts::set_verify_owner_validation(false);
        let _default_stays_on_failure = git2::opts::set_cache_max_size(32 << 20);
        // The one only says that objects may be absent, and an absent object has its own code; where refs are kept in
        // another way, commits can be named by id.
        let _default_stays_on_failure = git2::opts::set_extensions(&["partialclone", "refstorage"]);
    }
    git2::opts::strict_hash_verification(true);
    // A merged tree names every file, and a clone need not have those that did not change.
    git2::opts::strict_object_creation(false);
}

/// A checkout, which names commits, and the store that their objects are read from.
pub(crate) struct OpenRepository {
    /// Only names are read through it: HEAD, refs, the address of the origin.
    checkout: Repository,
    pub(super) store: Store,
    /// A handle on the store.
    objects: Repository,
    /// The checkout, or the git directory of a bare repository. Its configuration may name another work tree, which
    /// does not count: an earlier step can write it.
    pub(crate) root: PathBuf,
    origin: Option<String>,
    /// Ref storage format, if it is not files.
    pub(super) ref_storage: Option<String>,
}

impl OpenRepository {
    /// Finds the repository that holds a directory. Environment variables that redirect git are not consulted. A bare
    /// repository that the repository around it tracks is refused: a change can commit one.
    pub(crate) fn discover(from: &Path) -> Result<Self, GitError> {
        Self::open_at(&find_repository(from, Nested::WithDotGit)?)
    }

    /// Like [`Self::discover`], but refuses submodules as well. A step of a workflow judges the repository of the
    /// workflow, whatever a change makes of one of its directories.
    pub(crate) fn discover_of_workflow(from: &Path) -> Result<Self, GitError> {
        Self::open_at(&find_repository(from, Nested::Untracked)?)
    }

    fn open_at(from: &Path) -> Result<Self, GitError> {
        let checkout = Repository::open(from).map_err(|error| open_error(from, &error))?;
        let large = guard::check_repository(&checkout)?;
        let origin = checkout.find_remote("origin").ok();
        let origin = origin.and_then(|remote| Some(remote.url().ok()?.to_owned()));
        let config = checkout.config().and_then(|config| config.get_string("extensions.refstorage"));
        let ref_storage = config.ok().filter(|storage| storage != "files");
        let store = Store::beside(&checkout)?;
        let objects = store.open()?;
        bounded::check_loose(&bounded::objects_of(&objects)?, &large)?;
        Ok(Self { checkout, store, objects, root: from.to_owned(), origin, ref_storage })
    }

    /// The same checkout without its objects: all that is read has to be fetched.
    pub(crate) fn without_checkout_objects(self) -> Result<Self, GitError> {
        let store = Store::empty()?;
        let objects = store.open()?;
        Ok(Self { store, objects, ..self })
    }

    /// Opens the store anew, after something was fetched into it.
    pub(super) fn reopen(&mut self) -> Result<(), GitError> {
        self.objects = self.store.open()?;
        Ok(())
    }

    /// Repository for looking up names.
    pub(super) fn checkout(&self) -> &Repository {
        &self.checkout
    }

    /// Repository for reading objects.
    pub(super) fn objects(&self) -> &Repository {
        &self.objects
    }

    /// Returns whether the clone is shallow.
    pub(crate) fn is_shallow(&self) -> bool {
        self.objects.is_shallow()
    }

    /// Returns whether the checkout has a remote `origin`.
    pub(super) fn has_origin(&self) -> bool {
        self.origin.is_some()
    }

    /// Returns whether the repository has a remote, of any name. One whose configuration cannot be read counts as having one.
    pub(super) fn has_remote(&self) -> bool {
        !self.checkout.remotes().is_ok_and(|remotes| remotes.is_empty())
    }

    /// Returns whether the checkout is a partial clone, which leaves out objects until git needs them.
    pub(crate) fn is_partial(&self) -> bool {
        let Ok(config) = self.checkout.config() else { return false };
        if config.get_string("extensions.partialclone").is_ok() {
            return true;
        }
        let Ok(mut entries) = config.entries(Some(r"^remote\..*\.promisor$")) else { return false };
        matches!(entries.next(), Some(Ok(_)))
    }

    /// By how many commits a commit is ahead of an ancestor; none where the other is no ancestor, or is not here.
    pub(crate) fn ahead_of(&self, ancestor: &CommitId, commit: &CommitId) -> Option<usize> {
        let commit = git2::Oid::from_str(commit.as_str()).ok()?;
        let ancestor = git2::Oid::from_str(ancestor.as_str()).ok()?;
        let (ahead, behind) = self.objects.graph_ahead_behind(commit, ancestor).ok()?;
        (behind == 0).then_some(ahead)
    }

    /// Address of the remote `origin`.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// `owner/name` of the origin remote when it is on another host, secrets masked; local paths say nothing that two
    /// clones share.
    pub(crate) fn origin_repo_id(&self) -> Option<String> {
        repo_id_of_url(self.origin.as_deref()?).map(secrets::masked)
    }
}

fn open_error(path: &Path, error: &git2::Error) -> GitError {
    if mentions_format(error) {
        GitError::Unsupported(reason(error))
    } else {
        GitError::Open { path: display_path(path), reason: reason(error) }
    }
}

fn display_path(path: &Path) -> String {
    sanitize_cut(&path.display().to_string(), 300)
}

fn mentions_format(error: &git2::Error) -> bool {
    let message = error.message().to_lowercase();
    ["object format", "extension", "repository version", "repositoryformatversion"]
        .iter()
        .any(|word| message.contains(word))
}

/// The path of a remote URL without host, user, slashes and `.git`.
fn repo_id_of_url(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // scp-like: user@host:path; a slash before the colon makes it a local path.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') && host.len() > 1 => path,
            _ => return None,
        },
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_matches('/');
    let fit = !path.is_empty()
        && path.len() <= 200
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    fit.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::repo_id_of_url;

    #[test]
    fn clones_of_one_repository_have_one_id_however_they_name_it() {
        let urls = [
            "https://github.com/acme/widget.git",
            "https://user:pass@github.com/acme/widget",
            "ssh://git@github.com:22/acme/widget.git/",
            "git@github.com:acme/widget.git",
            "git@github.com:/acme/widget",
        ];
        for url in urls {
            assert_eq!(repo_id_of_url(url).as_deref(), Some("acme/widget"), "{url}");
        }
        for url in ["/srv/git/widget.git", "../widget", "file:///srv/widget", "C:\\widget", "https://host"] {
            assert_eq!(repo_id_of_url(url), None, "{url}");
        }
    }
}
