//! Fetches the objects that a shallow clone lacks into the run's own store. The clone itself is only read.

use std::time::Duration;

use base64::Engine;
use git2::{Indexer, Oid, Repository};

use super::base::{oid, target_of_ref};
use super::bounded;
use super::error::{GitError, reason};
use super::open::OpenRepository;
use super::pack_protocol::{FetchAnswer, FetchRequest, encode_tips, read_tip, serves_filters};
use super::store::{Store, shallow_commits};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::secret::Secret;
use qa_run::http::{Http, HttpError, HttpReply, HttpRequest, Method, shown_url};
use qa_run::retry::{self, Attempted, RetryPolicy, Transient, WaitBudget};

/// Depths of history that are fetched in turn until the merge base is certain. The last is git's value for all of it.
const DEPTHS: [u32; 4] = [64, 1024, 16_384, 0x7fff_ffff];
/// Size limit of a pack: above the largest known history of commits without their trees.
const MAX_PACK_BYTES: u64 = 4 << 30;
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);
/// Idle time limit of a fetch. `git upload-pack` sends a keepalive every five seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Remote that missing objects are fetched from.
pub(crate) struct Remote<'a> {
    pub(crate) http: &'a dyn Http,
    /// HTTP URL of the repository.
    pub(crate) url: String,
    pub(crate) token: Option<Secret>,
    /// Seed for retry jitter.
    pub(crate) seed: &'a str,
    /// Budget of the waits between attempts.
    pub(crate) wait_budget: WaitBudget,
}

impl Remote<'_> {
    /// Returns the current commit of a ref, or `None` if there is no such ref.
    pub(crate) fn tip(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let request = upload_pack(self, encode_tips(&[name]));
        let (reply, body) = self
            .with_retries("ls-refs", || self.http.fetch(request.clone()))
            .map_err(GitError::Unanswered)?;
        if !reply.is_success() {
            return Err(refused(&shown_url(&self.url), reply.status));
        }
        match read_tip(&body, name).map_err(|reason| self.incomplete(reason))? {
            Some(id) => CommitId::parse(&id).map(Some).map_err(|error| self.incomplete(&error.to_string())),
            None => Ok(None),
        }
    }

    fn incomplete(&self, reason: &str) -> GitError {
        GitError::Incomplete(format!("{}: {reason}", shown_url(&self.url)))
    }

    /// Sends a request until it is answered or no wait is left.
    pub(super) fn with_retries<T>(
        &self,
        operation: &str,
        attempt: impl Fn() -> Result<(HttpReply, T), HttpError>,
    ) -> Result<(HttpReply, T), HttpError> {
        let policy = RetryPolicy::infrastructure(self.seed, operation).within(&self.wait_budget);
        retry::with_retries(self.http, &policy, || {
            let outcome = attempt();
            let transient = match &outcome {
                Ok((reply, _)) if matches!(reply.status, 408 | 429 | 500..=599) => Some(Transient {
                    code: Code::NetworkUnavailable,
                    reason: format!("{} answered {}", shown_url(&self.url), reply.status),
                    hint: retry::server_hint(|name| reply.header(name).map(str::to_owned)),
                }),
                Ok(_) => None,
                Err(error) => Transient::unanswered(error),
            };
            Attempted { result: outcome, transient }
        })
    }
}

impl OpenRepository {
    /// Returns the ids of a commit's parents, which a shallow clone has without the parents themselves. Fetches the commit if
    /// it is missing.
    pub(crate) fn written_parents(
        &self,
        commit: &CommitId,
        remote: Option<&Remote<'_>>,
    ) -> Result<Option<Vec<CommitId>>, GitError> {
        let id = oid(commit)?;
        if let Some(parents) = parents_in(self.objects(), id)? {
            return Ok(Some(parents));
        }
        let Some(remote) = remote else { return Ok(None) };
        let session = Session::open(remote)?;
        let store = Store::empty()?;
        let wants = [id.to_string()];
        let request = FetchRequest {
            wants: &wants,
            depth: 1,
            commits_only: session.filters,
            ..FetchRequest::default()
        };
        session.fetch(&request, &store)?;
        parents_in(&store.open()?, id)
    }

    /// Fetches the missing ones of both commits, their merge bases, and their trees. Fetches a pull request's test merge as
    /// well, unless head follows the base; if that fails, the merge is computed locally.
    ///
    /// `refs` lead to the commits on a remote that serves no commit by its id.
    pub(crate) fn completed(
        mut self,
        base: &CommitId,
        head: &CommitId,
        test_merge: Option<&CommitId>,
        remote: Option<&Remote<'_>>,
        refs: &[String],
    ) -> Result<Self, GitError> {
        // A partial clone may lack any object below a tree that it has.
        if self.is_partial() && remote.is_some() {
            self = self.without_checkout_objects()?;
        }
        let wanted = [oid(base)?, oid(head)?];
        let test_merge = test_merge.map(oid).transpose()?;
        if self.missing(&wanted).is_empty()
            && let Some(merge_bases) = self.certain_merge_bases(wanted)?
        {
            let lacking = test_merge.filter(|id| merge_bases != [wanted[0]] && !self.has_tree(*id));
            if let (Some(id), Some(remote)) = (lacking, remote) {
                // If it fails, the merge is computed locally.
                let _not_needed =
                    Session::open(remote).and_then(|session| self.fetch_merge(&session, id, wanted));
            }
            return Ok(self);
        }
        let Some(remote) = remote else {
            return Err(GitError::Incomplete("this clone is incomplete, and it has no remote".to_owned()));
        };
        let clone_shallow = shallow_commits(self.objects())?;
        // Spares the server from sending present objects.
        let clone_head = target_of_ref(&self, "HEAD").unwrap_or_default();
        let session = Session::open(remote)?;

        let mut merge_bases = self.certain_merge_bases_or_missing(wanted)?;
        let mut tips = wanted.map(|id| id.to_string()).to_vec();
        let mut commits_only = session.filters;
        for depth in DEPTHS {
            if merge_bases.is_some() {
                break;
            }
            let request = FetchRequest { wants: &tips, depth, commits_only, ..FetchRequest::default() };
            let shallow = match session.fetch(&request, &self.store) {
                Ok(shallow) => shallow,
                Err(error) => {
                    tips = session.tips(refs).ok_or(error)?;
                    // Their trees cannot be fetched by id afterwards.
                    commits_only = false;
                    let request = FetchRequest { wants: &tips, depth, ..FetchRequest::default() };
                    session.fetch(&request, &self.store)?
                }
            };
            self.store.write_shallow(&shallow)?;
            self.reopen()?;
            merge_bases = self.certain_merge_bases_or_missing(wanted)?;
        }
        let merge_bases = merge_bases.ok_or_else(|| GitError::NoMergeBase {
            reason: "base and head have no common commit".to_owned(),
            is_shallow: false,
        })?;
        let needed = [&wanted[..], &merge_bases[..]].concat();
        let wants: Vec<String> = self.missing(&needed).iter().map(Oid::to_string).collect();
        if !wants.is_empty() {
            let present = needed.iter().copied().chain(clone_head).filter(|id| self.has_tree(*id));
            let haves: Vec<String> = present.map(|id| id.to_string()).collect();
            session.fetch_trees(&wants, &haves, clone_shallow, &self.store)?;
            self.reopen()?;
        }
        if let Some(id) = self.missing(&needed).first() {
            return Err(GitError::Incomplete(format!("{} did not send the tree of {id}", session.host)));
        }
        let lacking = test_merge.filter(|id| merge_bases != [wanted[0]] && !self.has_tree(*id));
        if let Some(id) = lacking {
            let _not_needed = self.fetch_merge(&session, id, wanted);
        }
        Ok(self)
    }

    /// Fetches a merge of two present commits.
    fn fetch_merge(&mut self, session: &Session<'_>, merge: Oid, parents: [Oid; 2]) -> Result<(), GitError> {
        let (wants, haves) = ([merge.to_string()], parents.map(|id| id.to_string()));
        let shallow = shallow_commits(self.objects())?;
        session.fetch_trees(&wants, &haves, shallow, &self.store)?;
        self.reopen()
    }

    fn has_tree(&self, commit: Oid) -> bool {
        match bounded::find_commit(self.objects(), commit) {
            Ok(commit) => bounded::find_tree(self.objects(), commit.tree_id()).is_ok(),
            Err(_) => false,
        }
    }

    /// Returns the commits that are missing or lack their trees, each once.
    fn missing(&self, commits: &[Oid]) -> Vec<Oid> {
        let mut missing: Vec<Oid> = commits.iter().copied().filter(|id| !self.has_tree(*id)).collect();
        missing.sort();
        missing.dedup();
        missing
    }

    fn certain_merge_bases_or_missing(&self, tips: [Oid; 2]) -> Result<Option<Vec<Oid>>, GitError> {
        let here = tips.iter().all(|id| bounded::find_commit(self.objects(), *id).is_ok());
        if here { self.certain_merge_bases(tips) } else { Ok(None) }
    }

    /// Returns the merge bases, or `None` if missing history may hold better ones.
    fn certain_merge_bases(&self, tips: [Oid; 2]) -> Result<Option<Vec<Oid>>, GitError> {
        let Ok(merge_bases) = self.present_merge_bases(tips) else { return Ok(None) };
        Ok(self.are_certain_merge_bases(&merge_bases, tips)?.then_some(merge_bases))
    }
}

/// Returns the ids of a commit's parents, or `None` if the commit is missing.
fn parents_in(repository: &Repository, id: Oid) -> Result<Option<Vec<CommitId>>, GitError> {
    let odb = bounded::objects_of(repository)?;
    if !odb.exists(id) {
        return Ok(None);
    }
    let object = bounded::read(&odb, id)?;
    let text = object.data();
    let header = text.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let parents = header.filter_map(|line| line.strip_prefix(b"parent "));
    Ok(parents.map(|id| CommitId::parse(std::str::from_utf8(id).ok()?).ok()).collect())
}

/// A session with the remote's upload-pack service.
struct Session<'a> {
    remote: &'a Remote<'a>,
    host: String,
    filters: bool,
}

impl<'a> Session<'a> {
    fn open(remote: &'a Remote<'a>) -> Result<Self, GitError> {
        let host =
            qa_core::masking::sanitize_cut(remote.url.split(['?', '#', '@']).next().unwrap_or(""), 100);
        let request = with_protocol(remote, Method::Get, "/info/refs?service=git-upload-pack");
        let (reply, body) = remote
            .with_retries("info/refs", || remote.http.fetch(request.clone()))
            .map_err(GitError::Unanswered)?;
        if !reply.is_success() {
            return Err(refused(&host, reply.status));
        }
        let filters = serves_filters(&body).ok_or_else(|| {
            GitError::Incomplete(format!("{host} does not support version 2 of git's protocol"))
        })?;
        Ok(Self { remote, host, filters })
    }

    /// Returns the commits of the existing refs.
    fn tips(&self, refs: &[String]) -> Option<Vec<String>> {
        let commits = refs.iter().filter_map(|name| self.remote.tip(name).ok().flatten());
        let mut tips: Vec<String> = commits.map(|commit| commit.to_string()).collect();
        tips.sort();
        tips.dedup();
        (!tips.is_empty()).then_some(tips)
    }

    /// Fetches into the store. Returns the commits whose parents were not sent.
    fn fetch(&self, request: &FetchRequest<'_>, store: &Store) -> Result<Vec<String>, GitError> {
        let message = pack_request(self.remote, request);
        let sent = self.remote.with_retries("fetch", || {
            let indexer = Indexer::new(None, &store.packs(), 0, false)
                .map_err(|error| HttpError::Sink { host: self.host.clone(), reason: reason(&error) })?;
            let mut answer = FetchAnswer::new(indexer);
            let reply = self.remote.http.send(message.clone(), &mut answer)?;
            Ok((reply, answer))
        });
        let (reply, mut answer) = sent.map_err(GitError::Unanswered)?;
        if !reply.is_success() {
            return Err(refused(&self.host, reply.status));
        }
        let shallow = std::mem::take(&mut answer.shallow);
        let indexer = answer.finish().map_err(|error| self.broken(&error))?;
        indexer.commit().map_err(|error| self.broken(&reason(&error)))?;
        Ok(shallow)
    }

    /// Fetches commits with their trees. The trees of `haves` are present and those of their ancestors may not be, so the
    /// haves are declared shallow: else the server leaves out what it takes for present.
    fn fetch_trees(
        &self,
        wants: &[String],
        haves: &[String],
        mut shallow: Vec<String>,
        store: &Store,
    ) -> Result<(), GitError> {
        shallow.extend_from_slice(haves);
        shallow.sort();
        shallow.dedup();
        let request = FetchRequest { wants, haves, shallow: &shallow, depth: 1, commits_only: false };
        self.fetch(&request, store).map(drop)
    }

    fn broken(&self, reason: &str) -> GitError {
        GitError::Incomplete(format!("{}: {reason}", self.host))
    }
}

/// Returns the request for a pack, which may be large and take long, with an idle time limit.
fn pack_request(remote: &Remote<'_>, request: &FetchRequest<'_>) -> HttpRequest {
    let mut message = upload_pack(remote, request.encode());
    message.max_response_bytes = MAX_PACK_BYTES;
    message.timeout = FETCH_TIMEOUT;
    message.idle_timeout = IDLE_TIMEOUT;
    message
}

fn upload_pack(remote: &Remote<'_>, body: Vec<u8>) -> HttpRequest {
    with_protocol(remote, Method::Post, "/git-upload-pack")
        .header("content-type", "application/x-git-upload-pack-request")
        .header("accept", "application/x-git-upload-pack-result")
        .body(body)
}

fn with_protocol(remote: &Remote<'_>, method: Method, path: &str) -> HttpRequest {
    let request = HttpRequest::new(method, format!("{}{path}", remote.url.trim_end_matches('/')));
    authorized(remote, request.header("git-protocol", "version=2"))
}

/// Adds the remote's token to a request, as git sends it.
pub(super) fn authorized(remote: &Remote<'_>, request: HttpRequest) -> HttpRequest {
    request.authorization(remote.token.as_ref().and_then(|token| {
        let pair = format!("x-access-token:{}", token.expose());
        Secret::new(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)))
    }))
}

fn refused(host: &str, status: u16) -> GitError {
    let reason = match status {
        401 | 403 | 404 => "the token needs `contents: read`",
        300..=399 => "redirects are not followed",
        _ => "the request failed",
    };
    GitError::Incomplete(format!("{host} answered {status}: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use super::*;
    use qa_run::control::Wait;

    /// Server that is always busy. Records the waits that it caused.
    struct Busy {
        retry_after: &'static str,
        waits: Mutex<Vec<Duration>>,
    }

    impl Http for Busy {
        fn send(&self, _: HttpRequest, _: &mut dyn Write) -> Result<HttpReply, HttpError> {
            let headers = vec![("retry-after".to_owned(), self.retry_after.to_owned())];
            Ok(HttpReply { status: 503, headers })
        }

        fn wait(&self, wait: &Wait<'_>) -> bool {
            self.waits.lock().unwrap().push(wait.time);
            true
        }
    }

    fn remote(http: &dyn Http) -> Remote<'_> {
        let url = "https://git.example/a/b".to_owned();
        Remote { http, url, token: None, seed: "seed", wait_budget: WaitBudget::default() }
    }

    #[test]
    fn a_pack_may_take_ten_minutes_and_no_minute_of_silence() {
        let busy = Busy { retry_after: "0", waits: Mutex::default() };
        let message = pack_request(&remote(&busy), &FetchRequest::default());
        let limits = [message.timeout, message.idle_timeout].map(|limit| limit.as_secs());
        assert_eq!((limits, message.max_response_bytes), ([600, 60], 4 << 30));
    }

    #[test]
    fn waits_for_a_busy_server_share_one_budget() {
        let busy = Busy { retry_after: "100", waits: Mutex::default() };
        let remote = remote(&busy);
        assert!(remote.tip("refs/heads/main").is_err());
        // The second request of the same remote has 20 seconds left, and a wait of 100 does not fit.
        assert!(Session::open(&remote).is_err());
        assert_eq!(*busy.waits.lock().unwrap(), [Duration::from_secs(100)]);
    }
}
