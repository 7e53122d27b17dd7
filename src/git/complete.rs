//! Brings what a shallow clone lacks, exactly that, into a store of its own; the clone itself is only read.
//!
//! The store is a bare repository whose alternates name the clone's objects. So fetched history never changes what
//! the checkout looks like to anyone else, and it is gone with the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use git2::{Indexer, Oid, Repository};

use super::error::{GitError, reason};
use super::open::OpenRepository;
use super::pack_protocol::{FetchAnswer, FetchRequest, encode_tips, read_tip, serves_filters};
use crate::contracts::ids::CommitId;
use crate::contracts::secret::Secret;
use crate::run::http::{Http, HttpRequest, Method, shown_url};

/// How deep history is asked for, until the merge base is beyond doubt. The last is git's own "all of it".
const DEPTHS: [u32; 4] = [64, 1024, 16_384, 0x7fff_ffff];
/// More than the largest history of commits alone that is known; contents are bounded by the change's own limits.
const MAX_PACK_BYTES: u64 = 4 << 30;
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// Where missing objects are asked for.
pub(crate) struct Remote<'a> {
    pub(crate) http: &'a dyn Http,
    /// The repository's address, over HTTP.
    pub(crate) url: String,
    pub(crate) token: Option<Secret>,
}

impl Remote<'_> {
    /// The commit a ref stands at now; none when there is no such ref.
    pub(crate) fn tip(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let request = upload_pack(self, encode_tips(&[name]));
        let (reply, body) =
            self.http.fetch(request).map_err(|error| GitError::Incomplete(error.to_string()))?;
        if !reply.is_success() {
            return Err(refused(&shown_url(&self.url), reply.status));
        }
        Ok(read_tip(&body, name).and_then(|id| CommitId::parse(&id).ok()))
    }
}

impl OpenRepository {
    /// The parents that stand in a commit, whether or not they are here: a shallow clone knows their names. Asks the
    /// remote for the commit alone when it is not here.
    pub(crate) fn written_parents(
        &self,
        commit: &CommitId,
        remote: Option<&Remote<'_>>,
        scratch: &Path,
    ) -> Result<Option<Vec<CommitId>>, GitError> {
        let id = oid(commit)?;
        if let Some(parents) = parents_in(self.handle(), id) {
            return Ok(Some(parents));
        }
        let Some(remote) = remote else { return Ok(None) };
        let session = Session::open(remote)?;
        let store = Store::create(scratch, self.handle())?;
        let wants = [id.to_string()];
        let request = FetchRequest {
            wants: &wants,
            depth: 1,
            commits_only: session.filters,
            ..FetchRequest::default()
        };
        session.fetch(&request, &store)?;
        Ok(parents_in(&super::open::reopen(store.path())?, id))
    }

    /// A repository that holds both commits, their merge base, and the trees of all three: this one when it does, else
    /// one completed from the remote. The store is made below `scratch` and removed with the returned value.
    ///
    /// `refs` are where else the commits may be, for a remote that gives out no commit by its id.
    pub(crate) fn completed(
        self,
        base: &CommitId,
        head: &CommitId,
        remote: Option<&Remote<'_>>,
        refs: &[String],
        scratch: &Path,
    ) -> Result<Self, GitError> {
        let wanted = [oid(base)?, oid(head)?];
        if self.missing(&wanted).is_empty() && self.sure_merge_base(wanted)?.is_some() {
            return Ok(self);
        }
        let Some(remote) = remote else {
            return Err(GitError::Incomplete(
                "there is no remote to ask for what this clone lacks".to_owned(),
            ));
        };
        let clone_shallow = self.shallow_commits();
        let clone_head =
            self.handle().head().ok().and_then(|head| head.peel_to_commit().ok()).map(|commit| commit.id());
        let store = Store::create(scratch, self.handle())?;
        store.write_shallow(&clone_shallow)?;
        let mut repository = self.moved_to(&store)?;
        let session = Session::open(remote)?;

        let mut merge_base = repository.sure_merge_base_or_missing(wanted)?;
        let mut tips = wanted.map(|id| id.to_string()).to_vec();
        let mut commits_only = session.filters;
        for depth in DEPTHS {
            if merge_base.is_some() {
                break;
            }
            let request = FetchRequest { wants: &tips, depth, commits_only, ..FetchRequest::default() };
            let shallow = match session.fetch(&request, &store) {
                Ok(shallow) => shallow,
                Err(error) => {
                    tips = session.tips(refs).ok_or(error)?;
                    // Their trees could not be asked for by id afterwards.
                    commits_only = false;
                    let request = FetchRequest { wants: &tips, depth, ..FetchRequest::default() };
                    session.fetch(&request, &store)?
                }
            };
            store.write_shallow(&shallow)?;
            repository = repository.moved_to(&store)?;
            merge_base = repository.sure_merge_base_or_missing(wanted)?;
        }
        let merge_base =
            merge_base.ok_or_else(|| GitError::NoBase("base and head have no common commit".to_owned()))?;
        let needed = [wanted[0], wanted[1], merge_base];
        let wants: Vec<String> = repository.missing(&needed).iter().map(Oid::to_string).collect();
        if !wants.is_empty() {
            let present = needed.into_iter().chain(clone_head).filter(|id| repository.has_tree(*id));
            let haves: Vec<String> = present.map(|id| id.to_string()).collect();
            let request = FetchRequest {
                wants: &wants,
                haves: &haves,
                shallow: &clone_shallow,
                depth: 1,
                commits_only: false,
            };
            session.fetch(&request, &store)?;
            repository = repository.moved_to(&store)?;
        }
        match repository.missing(&needed).first() {
            Some(id) => Err(GitError::Incomplete(format!("{} did not send the tree of {id}", session.host))),
            None => Ok(repository.keeping(store.scratch)),
        }
    }

    fn shallow_commits(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.handle().commondir().join("shallow")).unwrap_or_default();
        text.lines().filter(|line| Oid::from_str(line).is_ok()).map(str::to_owned).collect()
    }

    fn has_tree(&self, commit: Oid) -> bool {
        self.handle()
            .find_commit(commit)
            .is_ok_and(|commit| self.handle().find_tree(commit.tree_id()).is_ok())
    }

    /// Which of the commits are not here with their trees, each once.
    fn missing(&self, commits: &[Oid]) -> Vec<Oid> {
        let mut missing: Vec<Oid> = commits.iter().copied().filter(|id| !self.has_tree(*id)).collect();
        missing.sort();
        missing.dedup();
        missing
    }

    fn sure_merge_base_or_missing(&self, tips: [Oid; 2]) -> Result<Option<Oid>, GitError> {
        let here = tips.iter().all(|id| self.handle().find_commit(*id).is_ok());
        if here { self.sure_merge_base(tips) } else { Ok(None) }
    }

    /// The merge base, when no history that is not here could have a better one: then nothing between it and the tips
    /// is cut off.
    fn sure_merge_base(&self, tips: [Oid; 2]) -> Result<Option<Oid>, GitError> {
        let repository = self.handle();
        let Ok(found) = repository.merge_base(tips[0], tips[1]) else { return Ok(None) };
        let cut = self.shallow_commits();
        if cut.is_empty() {
            return Ok(Some(found));
        }
        let walk = (|| {
            let mut walk = repository.revwalk()?;
            tips.iter().try_for_each(|tip| walk.push(*tip))?;
            walk.hide(found)?;
            for id in walk {
                if cut.contains(&id?.to_string()) {
                    return Ok(None);
                }
            }
            Ok(Some(found))
        })();
        walk.map_err(|error: git2::Error| GitError::NoBase(reason(&error)))
    }
}

fn parents_in(repository: &Repository, id: Oid) -> Option<Vec<CommitId>> {
    let odb = repository.odb().ok()?;
    let object = odb.read(id).ok().filter(|object| object.kind() == git2::ObjectType::Commit)?;
    let text = object.data();
    let header = text.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let parents = header.filter_map(|line| line.strip_prefix(b"parent "));
    parents.map(|id| CommitId::parse(std::str::from_utf8(id).ok()?).ok()).collect()
}

fn oid(commit: &CommitId) -> Result<Oid, GitError> {
    Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))
}

/// The store beside the clone.
pub(super) struct Store {
    scratch: tempfile::TempDir,
}

impl Store {
    fn create(scratch: &Path, clone: &Repository) -> Result<Self, GitError> {
        let objects = clone.commondir().join("objects");
        let failed = |error: std::io::Error| {
            GitError::Incomplete(format!("there is no room for what it lacks: {error}"))
        };
        let objects = objects.canonicalize().map_err(failed)?;
        let line = objects.to_str().filter(|path| !path.contains('\n'));
        let line = line.ok_or_else(|| {
            GitError::Unsupported("its path has characters no alternate can name".to_owned())
        })?;
        let scratch = std::fs::create_dir_all(scratch)
            .and_then(|()| tempfile::Builder::new().prefix("qa-skill-").tempdir_in(scratch))
            .map_err(failed)?;
        let directory = scratch.path();
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text);
        let made = std::fs::create_dir_all(directory.join("objects/pack"))
            .and_then(|()| std::fs::create_dir_all(directory.join("objects/info")))
            .and_then(|()| std::fs::create_dir_all(directory.join("refs/heads")))
            .and_then(|()| write("HEAD", "ref: refs/heads/none\n"))
            .and_then(|()| write("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"))
            .and_then(|()| write("objects/info/alternates", &format!("{line}\n")));
        made.map_err(failed)?;
        Ok(Self { scratch })
    }

    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn packs(&self) -> PathBuf {
        self.path().join("objects/pack")
    }

    fn write_shallow(&self, commits: &[String]) -> Result<(), GitError> {
        let path = self.path().join("shallow");
        let written = if commits.is_empty() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            let mut text = commits.join("\n");
            text.push('\n');
            std::fs::write(&path, text)
        };
        written.map_err(|error| GitError::Incomplete(format!("its history could not be noted: {error}")))
    }
}

/// A conversation with the remote's upload-pack service.
struct Session<'a> {
    remote: &'a Remote<'a>,
    host: String,
    filters: bool,
}

impl<'a> Session<'a> {
    fn open(remote: &'a Remote<'a>) -> Result<Self, GitError> {
        let host =
            crate::core::escape::visible_cut(remote.url.split(['?', '#', '@']).next().unwrap_or(""), 100);
        let request = with_protocol(remote, Method::Get, "/info/refs?service=git-upload-pack");
        let (reply, body) =
            remote.http.fetch(request).map_err(|error| GitError::Incomplete(error.to_string()))?;
        if !reply.is_success() {
            return Err(refused(&host, reply.status));
        }
        let filters = serves_filters(&body).ok_or_else(|| {
            GitError::Incomplete(format!("{host} does not speak version 2 of git's protocol"))
        })?;
        Ok(Self { remote, host, filters })
    }

    /// Where those of the refs stand that there are; none without any.
    fn tips(&self, refs: &[String]) -> Option<Vec<String>> {
        let found = refs.iter().filter_map(|name| self.remote.tip(name).ok().flatten());
        let mut tips: Vec<String> = found.map(|commit| commit.to_string()).collect();
        tips.sort();
        tips.dedup();
        (!tips.is_empty()).then_some(tips)
    }

    /// Fetches into the store; the commits whose parents did not come.
    fn fetch(&self, request: &FetchRequest<'_>, store: &Store) -> Result<Vec<String>, GitError> {
        let broken = |error: String| GitError::Incomplete(format!("{}: {error}", self.host));
        let indexer = Indexer::new(None, &store.packs(), 0, false).map_err(|error| broken(reason(&error)))?;
        let mut answer = FetchAnswer::new(indexer);
        let mut message = upload_pack(self.remote, request.encode());
        message.max_response_bytes = MAX_PACK_BYTES;
        message.timeout = FETCH_TIMEOUT;
        let reply = self.remote.http.send(message, &mut answer);
        let reply = reply.map_err(|error| GitError::Incomplete(error.to_string()))?;
        if !reply.is_success() {
            return Err(refused(&self.host, reply.status));
        }
        let shallow = std::mem::take(&mut answer.shallow);
        let indexer = answer.finish().map_err(broken)?;
        indexer.commit().map_err(|error| broken(reason(&error)))?;
        Ok(shallow)
    }
}

fn upload_pack(remote: &Remote<'_>, body: Vec<u8>) -> HttpRequest {
    with_protocol(remote, Method::Post, "/git-upload-pack")
        .header("content-type", "application/x-git-upload-pack-request")
        .header("accept", "application/x-git-upload-pack-result")
        .body(body)
}

fn with_protocol(remote: &Remote<'_>, method: Method, path: &str) -> HttpRequest {
    let authorization = remote.token.as_ref().and_then(|token| {
        let pair = format!("x-access-token:{}", token.expose());
        Secret::new(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)))
    });
    HttpRequest::new(method, format!("{}{path}", remote.url.trim_end_matches('/')))
        .header("git-protocol", "version=2")
        .authorization(authorization)
}

fn refused(host: &str, status: u16) -> GitError {
    let why = match status {
        401 | 403 | 404 => "it needs a token with `contents: read`",
        300..=399 => "it redirects, which is not followed",
        _ => "it could not answer",
    };
    GitError::Incomplete(format!("{host} answered {status}: {why}"))
}
