//! A fake of GitHub's API: state, limits, permissions and faults. It answers in memory, or on loopback.

#[path = "fake_commands.rs"]
mod commands;
#[path = "fake_reviews.rs"]
mod reviews;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use base64::Engine;
use serde_json::{Value, json};

pub(crate) use self::commands::{OpenedPull, Permission, Pull, Run};
pub(crate) use self::reviews::{Review, ReviewComment};
use super::github_shapes::Names;
use super::hold::Holder;
use super::server::{Request, Response, Server, Spoilt};

/// A date in the future.
pub(crate) const LATER: &str = "2999-01-01T00:00:00Z";
/// A date after that of every comment.
pub(crate) const AFTER_COMMENTS: &str = "2026-01-02T03:30:00Z";

/// Account of the token.
pub(crate) const BOT: &str = "github-actions[bot]";

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Route {
    CreateCheck,
    UpdateCheck,
    GetCheck,
    ListChecks,
    ListAnnotations,
    GetPull,
    ListPulls,
    GetRun,
    GetComment,
    AddReaction,
    GetPermission,
    ListRuns,
    ListRunArtifacts,
    Rerun,
    RerunFailed,
    CancelRun,
    Dispatch,
    GetBranch,
    OpenPull,
    RemoveLabel,
    ListComments,
    CreateComment,
    UpdateComment,
    DeleteComment,
    ListReviewComments,
    CreateReview,
    DeleteReview,
    ListIssues,
    CreateIssue,
    UpdateIssue,
    UploadSarif,
    ListArtifacts,
    DownloadArtifact,
    /// Target of redirected downloads, which gets no token.
    Blob,
}

/// Routes that change state.
const WRITES: [Route; 17] = [
    Route::CreateReview,
    Route::DeleteReview,
    Route::RemoveLabel,
    Route::Dispatch,
    Route::OpenPull,
    Route::AddReaction,
    Route::Rerun,
    Route::RerunFailed,
    Route::CancelRun,
    Route::CreateCheck,
    Route::UpdateCheck,
    Route::CreateComment,
    Route::UpdateComment,
    Route::DeleteComment,
    Route::CreateIssue,
    Route::UpdateIssue,
    Route::UploadSarif,
];

/// Fault of one call.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An answer without anything done.
    Refuse(u16),
    /// Everything done, and then this answer.
    ActThenAnswer(u16),
    /// Everything done, and the answer spoilt.
    ActThenSpoil(Spoilt),
    /// This answer with nothing done.
    Answer(Response),
    /// The connection closed with nothing done.
    Drop,
    /// Asked to slow down; the headers say for how long.
    Limit { status: u16, headers: Vec<(&'static str, String)> },
    /// Sent elsewhere.
    Redirect { status: u16, location: String },
    /// Everything done, and an answer of so many bytes.
    ActThenFlood(usize),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Check {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) external_id: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    /// Annotations, as they were sent.
    pub(crate) annotations: Vec<Value>,
    /// Start time; now if absent.
    pub(crate) started_at: Option<String>,
    /// Time of its conclusion; long ago if absent.
    pub(crate) completed_at: Option<String>,
    /// Slug of its app; `None` for the token's app.
    pub(crate) app: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    /// Of the issue or pull request.
    pub(crate) number: u64,
    pub(crate) author: String,
    pub(crate) body: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) author: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: Vec<String>,
    pub(crate) open: bool,
    pub(crate) is_pull: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sarif {
    pub(crate) commit_sha: String,
    pub(crate) git_ref: String,
    pub(crate) tool_name: Option<String>,
    pub(crate) checkout_uri: Option<String>,
    /// Unpacked.
    pub(crate) document: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Artifact {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) zip: Vec<u8>,
    pub(crate) expired: bool,
    /// `sha256:…`, or null.
    pub(crate) digest: Option<String>,
    pub(crate) created_at: String,
    pub(crate) head_sha: String,
    /// 7 is the repository itself.
    pub(crate) head_repository_id: u64,
    /// Id of the workflow run that stored it.
    pub(crate) run_id: u64,
}

/// State of the fake, for tests to arrange and inspect.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) checks: Vec<Check>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) issues: Vec<Issue>,
    pub(crate) reviews: Vec<Review>,
    /// Id of the token's review that is not submitted.
    pub(crate) pending_review: Option<u64>,
    pub(crate) review_comments: Vec<ReviewComment>,
    /// First and last line at head of each hunk of a pull request's diff, by path.
    pub(crate) diffs: BTreeMap<String, Vec<(u64, u64)>>,
    /// The head of each open pull request.
    pub(crate) pulls: BTreeMap<u64, String>,
    /// The open pull requests of lists.
    pub(crate) open_pulls: Vec<Pull>,
    pub(crate) sarifs: Vec<Sarif>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) runs: Vec<Run>,
    /// Pull requests that were opened by the API.
    pub(crate) opened: Vec<OpenedPull>,
    /// Goals of drives that were started.
    pub(crate) goals: Vec<String>,
    /// Inputs of drives that were started.
    pub(crate) dispatched: Vec<Value>,
    /// Branches of pull requests that are not called `topic`.
    pub(crate) branches: BTreeMap<u64, String>,
    /// Base branches of pull requests that are not for `main`.
    pub(crate) bases: BTreeMap<u64, String>,
    /// Pull requests from forks, and those that are closed.
    pub(crate) forks: BTreeSet<u64>,
    pub(crate) closed: BTreeSet<u64>,
    /// Names of protected branches.
    pub(crate) protected: BTreeSet<String>,
    /// Labels of pull requests.
    pub(crate) labels: BTreeMap<u64, BTreeSet<String>>,
    /// Roles by login.
    pub(crate) roles: BTreeMap<String, Permission>,
    /// Reactions of the token's account by comment.
    pub(crate) reactions: BTreeMap<u64, BTreeSet<String>>,
    /// Comments that were edited.
    pub(crate) edited: BTreeSet<u64>,
    /// Calls that the token has no permission for.
    pub(crate) denied: BTreeSet<Route>,
    /// Every call that was understood, in order.
    pub(crate) calls: Vec<Route>,
    faults: Vec<PlannedFault>,
    last_id: u64,
}

/// A fault of one call of a route, counted from 1.
struct PlannedFault {
    route: Route,
    call: usize,
    fault: Fault,
}

/// Route of a request, with the variable parts of its path.
struct Routed {
    route: Route,
    parts: Vec<String>,
}

impl State {
    fn id(&mut self) -> u64 {
        let newest = self.checks.iter().map(|check| check.id).max().unwrap_or_default();
        self.last_id = self.last_id.max(newest) + 1;
        self.last_id
    }
}

/// One repository on a GitHub.
#[derive(Clone)]
pub(crate) struct FakeGitHub {
    state: Arc<Mutex<State>>,
    holder: Holder,
    token: String,
    repository: String,
    /// Path before `/repos`, for example `/api/v3`.
    prefix: String,
}

impl FakeGitHub {
    pub(crate) fn new(repository: &str, token: &str) -> Self {
        Self {
            state: Arc::default(),
            holder: Holder::default(),
            token: token.to_owned(),
            repository: repository.to_owned(),
            prefix: String::new(),
        }
    }

    /// Serves below a path, as a GitHub Enterprise Server does.
    pub(crate) fn below(mut self, prefix: &str) -> Self {
        self.prefix = prefix.to_owned();
        self
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns whether the token lacks the permission for a request.
    pub(crate) fn denies(&self, request: &Request) -> bool {
        matches!(self.route(request), Some(routed) if self.state().denied.contains(&routed.route))
    }

    /// Spoils the `call`-th request of a route, counted from 1 over the fake's life.
    pub(crate) fn fault(&self, route: Route, call: usize, fault: Fault) {
        self.state().faults.push(PlannedFault { route, call, fault });
    }

    /// A token that can only read, as on a pull request from a fork.
    pub(crate) fn read_only(&self) {
        self.state().denied.extend(WRITES);
    }

    /// Takes the permission for a route from the token.
    pub(crate) fn deny(&self, route: Route) {
        self.state().denied.insert(route);
    }

    /// Never answers the `call`-th request from now over all routes, after acting on it or not. The receiver is told its
    /// route when it has come that far, so that a test can kill the process that waits.
    pub(crate) fn hold(&self, call: usize, acts: bool) -> Receiver<String> {
        self.holder.hold(call, acts)
    }

    /// Closes the connection that is held.
    pub(crate) fn release(&self) {
        self.holder.release();
    }

    /// Serves on loopback until the server is dropped.
    pub(crate) fn serve(&self) -> Server {
        let fake = self.clone();
        Server::start(move |request| fake.answer(request))
    }

    /// The value of GITHUB_API_URL for a server of this fake.
    pub(crate) fn api_url(&self, server: &Server) -> String {
        format!("{}{}", server.url(), self.prefix)
    }

    /// Answers one request.
    pub(crate) fn answer(&self, request: &Request) -> Response {
        let Some(Routed { route, parts }) = self.route(request) else {
            return problem(404, "Not Found", &[]);
        };
        self.state().calls.push(route);
        self.holder.answer(&format!("{route:?}"), || self.answer_call(route, &parts, request))
    }

    fn answer_call(&self, route: Route, parts: &[String], request: &Request) -> Response {
        let fault = {
            let mut state = self.state();
            let call = state.calls.iter().filter(|known| **known == route).count();
            let found =
                state.faults.iter().position(|planned| planned.route == route && planned.call == call);
            found.map(|index| state.faults.swap_remove(index).fault)
        };
        match fault {
            None => self.act(route, parts, request),
            Some(Fault::Refuse(status)) => problem(status, "Server Error", &[]),
            Some(Fault::Answer(response)) => response,
            Some(Fault::Drop) => Response::new(500, "").spoilt(Spoilt::Reset),
            Some(Fault::Limit { status, headers }) => {
                let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
                headers.into_iter().fold(problem(status, message, &[]), |response, (name, value)| {
                    response.header(name, value)
                })
            }
            Some(Fault::Redirect { status, location }) => {
                problem(status, "Moved", &[]).header("location", location)
            }
            Some(Fault::ActThenAnswer(status)) => {
                let _lost_answer = self.act(route, parts, request);
                problem(status, "Server Error", &[])
            }
            Some(Fault::ActThenSpoil(spoilt)) => self.act(route, parts, request).spoilt(spoilt),
            Some(Fault::ActThenFlood(bytes)) => {
                let _lost_answer = self.act(route, parts, request);
                Response::new(200, vec![b' '; bytes])
            }
        }
    }

    fn route(&self, request: &Request) -> Option<Routed> {
        let path = request.path().strip_prefix(&*self.prefix)?;
        if let Some(id) = path.strip_prefix("/blobs/") {
            return Some(Routed { route: Route::Blob, parts: vec![id.to_owned()] });
        }
        let path = path.strip_prefix("/repos/")?.strip_prefix(&*self.repository)?.strip_prefix('/')?;
        let words: Vec<&str> = path.split('/').collect();
        let (route, parts): (Route, &[&str]) = match (request.method.as_str(), &*words) {
            ("POST", ["check-runs"]) => (Route::CreateCheck, &[]),
            ("PATCH", ["check-runs", id]) => (Route::UpdateCheck, &[id]),
            ("GET", ["check-runs", id]) => (Route::GetCheck, &[id]),
            ("GET", ["check-runs", id, "annotations"]) => (Route::ListAnnotations, &[id]),
            ("GET", ["commits", head, "check-runs"]) => (Route::ListChecks, &[head]),
            ("GET", ["pulls", number]) => (Route::GetPull, &[number]),
            ("GET", ["pulls"]) => (Route::ListPulls, &[]),
            ("POST", ["pulls"]) => (Route::OpenPull, &[]),
            ("GET", ["pulls", number, "comments"]) => (Route::ListReviewComments, &[number]),
            ("POST", ["pulls", number, "reviews"]) => (Route::CreateReview, &[number]),
            ("DELETE", ["pulls", _, "reviews", id]) => (Route::DeleteReview, &[id]),
            ("GET", ["branches", name]) => (Route::GetBranch, &[name]),
            ("POST", ["actions", "workflows", file, "dispatches"]) => (Route::Dispatch, &[file]),
            ("GET", ["actions", "runs", id]) => (Route::GetRun, &[id]),
            ("GET", ["issues", "comments", id]) => (Route::GetComment, &[id]),
            ("POST", ["issues", "comments", id, "reactions"]) => (Route::AddReaction, &[id]),
            ("GET", ["collaborators", login, "permission"]) => (Route::GetPermission, &[login]),
            ("GET", ["actions", "workflows", file, "runs"]) => (Route::ListRuns, &[file]),
            ("GET", ["actions", "runs", id, "artifacts"]) => (Route::ListRunArtifacts, &[id]),
            ("POST", ["actions", "runs", id, "rerun"]) => (Route::Rerun, &[id]),
            ("POST", ["actions", "runs", id, "rerun-failed-jobs"]) => (Route::RerunFailed, &[id]),
            ("POST", ["actions", "runs", id, "cancel"]) => (Route::CancelRun, &[id]),
            ("DELETE", ["issues", number, "labels", name]) => (Route::RemoveLabel, &[number, name]),
            ("GET", ["issues", number, "comments"]) => (Route::ListComments, &[number]),
            ("POST", ["issues", number, "comments"]) => (Route::CreateComment, &[number]),
            ("PATCH", ["issues", "comments", id]) => (Route::UpdateComment, &[id]),
            ("DELETE", ["issues", "comments", id]) => (Route::DeleteComment, &[id]),
            ("GET", ["issues"]) => (Route::ListIssues, &[]),
            ("POST", ["issues"]) => (Route::CreateIssue, &[]),
            ("PATCH", ["issues", number]) => (Route::UpdateIssue, &[number]),
            ("POST", ["code-scanning", "sarifs"]) => (Route::UploadSarif, &[]),
            ("GET", ["actions", "artifacts"]) => (Route::ListArtifacts, &[]),
            ("GET", ["actions", "artifacts", id, "zip"]) => (Route::DownloadArtifact, &[id]),
            _ => return None,
        };
        Some(Routed { route, parts: parts.iter().map(|part| (*part).to_owned()).collect() })
    }

    fn act(&self, route: Route, parts: &[String], request: &Request) -> Response {
        if route == Route::Blob {
            return self.blob(&parts[0], request);
        }
        if request.header("authorization") != Some(&*format!("Bearer {}", self.token)) {
            return problem(401, "Bad credentials", &[]);
        }
        let mut state = self.state();
        if state.denied.contains(&route) {
            return problem(403, "Resource not accessible by integration", &[]);
        }
        let host = request.header("host").unwrap_or("127.0.0.1");
        let names =
            Names { api: format!("http://{host}{}", self.prefix), repository: self.repository.clone() };
        let has_body = !request.body.is_empty();
        if WRITES.contains(&route) && has_body && !request.json().is_object() {
            return problem(400, "Problems parsing JSON", &[]);
        }
        let mut call = Call { state: &mut state, names, request, body: request.json() };
        let number: u64 = parts.first().and_then(|part| part.parse().ok()).unwrap_or(0);
        match route {
            Route::CreateCheck => call.create_check(),
            Route::UpdateCheck => call.update_check(number),
            Route::GetCheck => call.get_check(number),
            Route::ListChecks => call.list_checks(&parts[0]),
            Route::ListAnnotations => call.list_annotations(number),
            Route::GetPull => call.get_pull(number),
            Route::ListPulls => call.list_pulls(),
            Route::OpenPull => call.open_pull(),
            Route::GetBranch => call.get_branch(&parts[0]),
            Route::Dispatch => call.dispatch(&parts[0]),
            Route::GetRun => call.get_run(number),
            Route::GetComment => call.get_comment(number),
            Route::AddReaction => call.add_reaction(number),
            Route::GetPermission => call.get_permission(&parts[0]),
            Route::ListRuns => call.list_runs(&parts[0]),
            Route::ListRunArtifacts => call.list_run_artifacts(number),
            Route::Rerun => call.rerun(number, false),
            Route::RerunFailed => call.rerun(number, true),
            Route::CancelRun => call.cancel_run(number),
            Route::RemoveLabel => call.remove_label(number, &parts[1]),
            Route::ListComments => call.list_comments(number),
            Route::CreateComment => call.create_comment(number),
            Route::UpdateComment => call.update_comment(number),
            Route::DeleteComment => call.delete_comment(number),
            Route::ListReviewComments => call.list_review_comments(number),
            Route::CreateReview => call.create_review(number),
            Route::DeleteReview => call.delete_review(number),
            Route::ListIssues => call.list_issues(),
            Route::CreateIssue => call.create_issue(),
            Route::UpdateIssue => call.update_issue(number),
            Route::UploadSarif => call.upload_sarif(),
            Route::ListArtifacts => call.list_artifacts(),
            Route::DownloadArtifact => call.download_artifact(number),
            Route::Blob => problem(404, "Not Found", &[]),
        }
    }

    fn blob(&self, id: &str, request: &Request) -> Response {
        if request.header("authorization").is_some() {
            return problem(400, "a token was sent where none belongs", &[]);
        }
        let state = self.state();
        match state.artifacts.iter().find(|artifact| artifact.id.to_string() == id) {
            Some(artifact) => {
                Response::new(200, artifact.zip.clone()).header("content-type", "application/zip")
            }
            None => problem(404, "Not Found", &[]),
        }
    }
}

/// An answer that is an error, as GitHub words it.
fn problem(status: u16, message: &str, errors: &[String]) -> Response {
    let mut body = json!({
        "message": message, "status": status.to_string(), "documentation_url": "https://docs.github.com/rest",
    });
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    Response::json(status, &body)
}

/// One understood request with the state it acts on.
struct Call<'a> {
    state: &'a mut State,
    names: Names,
    request: &'a Request,
    body: Value,
}

impl Call<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.body[name].as_str().map(str::to_owned)
    }

    fn number(&self, name: &str, default: usize) -> usize {
        self.request.query(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// A page of a list with GitHub's `Link` header; `wrap` puts it where the route has it.
    fn page(&self, all: &[Value], wrap: impl Fn(&[Value]) -> Value) -> Response {
        let per_page = self.number("per_page", 30).clamp(1, 100);
        let page = self.number("page", 1).max(1);
        let from = ((page - 1) * per_page).min(all.len());
        let to = (from + per_page).min(all.len());
        let response = Response::json(200, &wrap(&all[from..to]));
        if to == all.len() {
            return response;
        }
        let path = self.request.path();
        let next = format!("<{}{path}?per_page={per_page}&page={}>; rel=\"next\"", self.names.api, page + 1);
        response.header("link", next)
    }

    fn invalid(errors: &[String]) -> Response {
        problem(422, "Invalid request.", errors)
    }

    fn create_check(&mut self) -> Response {
        let errors = check_errors(&self.body, true);
        if !errors.is_empty() {
            return Self::invalid(&errors);
        }
        let mut check = Check {
            id: self.state.id(),
            name: self.text("name").unwrap(),
            head_sha: self.text("head_sha").unwrap(),
            status: "queued".to_owned(),
            ..Check::default()
        };
        apply(&mut check, &self.body);
        let shown = self.names.check_run(&check);
        self.state.checks.push(check);
        Response::json(201, &shown)
    }

    fn update_check(&mut self, id: u64) -> Response {
        let Some(check) = self.state.checks.iter_mut().find(|check| check.id == id) else {
            return problem(404, "Not Found", &[]);
        };
        let errors = check_errors(&self.body, false);
        if !errors.is_empty() {
            return Self::invalid(&errors);
        }
        apply(check, &self.body);
        Response::json(200, &self.names.check_run(check))
    }

    fn get_check(&self, id: u64) -> Response {
        let check = self.state.checks.iter().find(|check| check.id == id);
        match check {
            Some(check) => Response::json(200, &self.names.check_run(check)),
            None => problem(404, "Not Found", &[]),
        }
    }

    fn list_checks(&self, head: &str) -> Response {
        let name = self.request.query("check_name");
        let mut found: Vec<&Check> =
            self.state.checks.iter().filter(|check| check.head_sha == head).collect();
        found.retain(|check| *name.as_ref().unwrap_or(&check.name) == check.name);
        found.sort_by_key(|check| std::cmp::Reverse(check.id));
        if self.request.query("filter").as_deref() != Some("all") {
            let mut seen = BTreeSet::new();
            found.retain(|check| seen.insert(&check.name));
        }
        let shown: Vec<Value> = found.iter().map(|check| self.names.check_run(check)).collect();
        self.page(&shown, |page| json!({ "total_count": shown.len(), "check_runs": page }))
    }

    fn list_annotations(&self, id: u64) -> Response {
        let Some(check) = self.state.checks.iter().find(|check| check.id == id) else {
            return problem(404, "Not Found", &[]);
        };
        let shown: Vec<Value> =
            check.annotations.iter().map(|sent| self.names.annotation(sent, &check.head_sha)).collect();
        self.page(&shown, |page| json!(page))
    }

    fn get_pull(&self, number: u64) -> Response {
        let head = self.state.pulls.get(&number);
        match head {
            Some(head) => {
                let mut shown = self.names.pull(number, head);
                if let Some(branch) = self.state.branches.get(&number) {
                    shown["head"]["ref"] = branch.as_str().into();
                }
                if let Some(base) = self.state.bases.get(&number) {
                    shown["base"]["ref"] = base.as_str().into();
                }
                if self.state.forks.contains(&number) {
                    shown["head"]["repo"]["id"] = 8.into();
                }
                let labels = self.state.labels.get(&number).into_iter().flatten();
                shown["labels"] = labels.map(|name| self.names.label(name)).collect();
                if self.state.closed.contains(&number) {
                    shown["state"] = "closed".into();
                }
                Response::json(200, &shown)
            }
            None => problem(404, "Not Found", &[]),
        }
    }

    fn list_comments(&self, number: u64) -> Response {
        let comments = self.state.comments.iter().filter(|comment| comment.number == number);
        let shown: Vec<Value> = comments.map(|comment| self.names.comment(comment)).collect();
        self.page(&shown, |page| json!(page))
    }

    fn create_comment(&mut self, number: u64) -> Response {
        let body = self.text("body").filter(|body| !body.trim().is_empty() && body.chars().count() <= 65_536);
        let Some(body) = body else { return Self::invalid(&["body is missing or too long".to_owned()]) };
        let comment = Comment { id: self.state.id(), number, author: BOT.to_owned(), body };
        let shown = self.names.comment(&comment);
        self.state.comments.push(comment);
        Response::json(201, &shown)
    }

    fn update_comment(&mut self, id: u64) -> Response {
        let body = self.text("body").filter(|body| !body.trim().is_empty() && body.chars().count() <= 65_536);
        let Some(body) = body else { return Self::invalid(&["body is missing or too long".to_owned()]) };
        let Some(comment) = self.state.comments.iter_mut().find(|comment| comment.id == id) else {
            return problem(404, "Not Found", &[]);
        };
        comment.body = body;
        Response::json(200, &self.names.comment(comment))
    }

    fn delete_comment(&mut self, id: u64) -> Response {
        let before = self.state.comments.len();
        self.state.comments.retain(|comment| comment.id != id);
        if self.state.comments.len() == before {
            problem(404, "Not Found", &[])
        } else {
            Response::new(204, "")
        }
    }

    fn list_issues(&self) -> Response {
        let state = self.request.query("state").unwrap_or_else(|| "open".to_owned());
        let labels = self.request.query("labels").unwrap_or_default();
        let labels: Vec<&str> = labels.split(',').filter(|label| !label.is_empty()).collect();
        let found = self.state.issues.iter().filter(|issue| {
            (state == "all" || issue.open == (state == "open"))
                && labels.iter().all(|label| issue.labels.iter().any(|known| known == label))
        });
        let shown: Vec<Value> = found.map(|issue| self.names.issue(issue)).collect();
        self.page(&shown, |page| json!(page))
    }

    fn create_issue(&mut self) -> Response {
        let Some(title) = self.text("title").filter(|title| title.chars().count() <= 256) else {
            return Self::invalid(&["title is missing or too long".to_owned()]);
        };
        let labels = self.body["labels"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let issue = Issue {
            number: self.state.id(),
            author: BOT.to_owned(),
            title,
            body: self.text("body").unwrap_or_default(),
            labels: labels.map(str::to_owned).collect(),
            open: true,
            is_pull: false,
        };
        let shown = self.names.issue(&issue);
        self.state.issues.push(issue);
        Response::json(201, &shown)
    }

    fn update_issue(&mut self, number: u64) -> Response {
        let (title, body, state) = (self.text("title"), self.text("body"), self.text("state"));
        let Some(issue) = self.state.issues.iter_mut().find(|issue| issue.number == number) else {
            return problem(404, "Not Found", &[]);
        };
        issue.title = title.unwrap_or_else(|| issue.title.clone());
        issue.body = body.unwrap_or_else(|| issue.body.clone());
        if let Some(state) = state {
            issue.open = state == "open";
        }
        Response::json(200, &self.names.issue(issue))
    }

    fn upload_sarif(&mut self) -> Response {
        let (Some(commit_sha), Some(git_ref), Some(packed)) =
            (self.text("commit_sha"), self.text("ref"), self.text("sarif"))
        else {
            return Self::invalid(&["commit_sha, ref and sarif are required".to_owned()]);
        };
        if !is_commit(&commit_sha) || !git_ref.starts_with("refs/") {
            return problem(400, "commit_sha or ref is not valid", &[]);
        }
        let known = ["commit_sha", "ref", "sarif", "checkout_uri", "tool_name", "started_at", "validate"];
        let unknown = self.body.as_object().unwrap().keys().find(|name| !known.contains(&name.as_str()));
        let bytes = base64::engine::general_purpose::STANDARD.decode(packed).unwrap_or_default();
        let mut text = String::new();
        let unpacked = flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text);
        let document = serde_json::from_str(&text).ok().filter(|_| unpacked.is_ok() && unknown.is_none());
        let Some(document) = document else {
            return problem(400, "the SARIF file could not be read", &[]);
        };
        if bytes.len() > 10 << 20 {
            return problem(413, "the SARIF file is too large", &[]);
        }
        let id = format!("47177e22-5596-11eb-80a1-{:012x}", self.state.id());
        let (tool_name, checkout_uri) = (self.text("tool_name"), self.text("checkout_uri"));
        self.state.sarifs.push(Sarif { commit_sha, git_ref, tool_name, checkout_uri, document });
        Response::json(202, &self.names.sarif_receipt(&id))
    }

    fn list_artifacts(&self) -> Response {
        let name = self.request.query("name");
        let mut found: Vec<&Artifact> = self.state.artifacts.iter().collect();
        found.retain(|artifact| *name.as_ref().unwrap_or(&artifact.name) == artifact.name);
        found.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
        let shown: Vec<Value> = found.iter().map(|artifact| self.names.artifact(artifact)).collect();
        self.page(&shown, |page| json!({ "total_count": shown.len(), "artifacts": page }))
    }

    fn download_artifact(&self, id: u64) -> Response {
        match self.state.artifacts.iter().find(|artifact| artifact.id == id) {
            None => problem(404, "Not Found", &[]),
            Some(artifact) if artifact.expired => problem(410, "Artifact has expired", &[]),
            // Another name of the same machine: to a client it is another host, where no token belongs.
            Some(_) => Response::new(302, "").header(
                "location",
                format!("{}/blobs/{id}", self.names.api.replace("127.0.0.1", "localhost")),
            ),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn apply(check: &mut Check, body: &Value) {
    check.external_id = text(&body["external_id"]).or(check.external_id.take());
    check.details_url = text(&body["details_url"]).or(check.details_url.take());
    if let Some(status) = text(&body["status"]) {
        check.conclusion = None;
        check.status = status;
    }
    if let Some(conclusion) = text(&body["conclusion"]) {
        check.status = "completed".to_owned();
        check.conclusion = Some(conclusion);
    }
    let output = &body["output"];
    if output.is_object() {
        check.title = text(&output["title"]).or(check.title.take());
        check.summary = text(&output["summary"]);
        check.text = text(&output["text"]);
        check.annotations.extend(output["annotations"].as_array().into_iter().flatten().cloned());
    }
}

/// Lists the errors that GitHub reports about the body of a request for a check run.
fn check_errors(body: &Value, is_new: bool) -> Vec<String> {
    let mut errors = Errors::default();
    if is_new {
        errors.expect(!body["name"].as_str().unwrap_or_default().is_empty(), "name is required");
        errors.expect(is_commit(body["head_sha"].as_str().unwrap_or_default()), "head_sha is no commit");
    }
    let conclusions =
        ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"];
    let statuses = ["queued", "in_progress", "completed"];
    errors.expect(is_null_or_one_of(&body["status"], &statuses), "status is not one of the list");
    errors.expect(is_null_or_one_of(&body["conclusion"], &conclusions), "conclusion is not one of the list");
    let (is_completed, is_concluded) = (body["status"] == "completed", body["conclusion"].is_string());
    errors.expect(!is_completed || is_concluded, "conclusion is required");
    errors.expect(body["conclusion"].is_null() || is_completed, "a conclusion of what goes on");
    let known = ["name", "head_sha", "external_id", "details_url", "status", "conclusion", "output"];
    let has_known_members =
        matches!(body, Value::Object(members) if members.keys().all(|name| known.contains(&name.as_str())));
    errors.expect(has_known_members, "unknown member");
    let output = &body["output"];
    if !output.is_null() {
        errors.expect(
            output["summary"].is_string() && (!is_new || output["title"].is_string()),
            "output needs title and summary",
        );
        for name in ["summary", "text"] {
            let length = output[name].as_str().unwrap_or_default().chars().count();
            errors.expect(
                length <= 65_535,
                &format!("Only 65535 characters are allowed; {length} were supplied."),
            );
        }
        let annotations = output["annotations"].as_array().cloned().unwrap_or_default();
        errors.expect(annotations.len() <= 50, "No more than 50 items are allowed");
        for annotation in &annotations {
            errors.expect(is_annotation(annotation), &format!("annotation is not valid: {annotation}"));
        }
    }
    errors.0
}

#[derive(Default)]
struct Errors(Vec<String>);

impl Errors {
    fn expect(&mut self, is_valid: bool, error: &str) {
        if !is_valid {
            self.0.push(error.to_owned());
        }
    }
}

fn is_null_or_one_of(value: &Value, words: &[&str]) -> bool {
    value.is_null() || words.contains(&value.as_str().unwrap_or_default())
}

fn is_annotation(annotation: &Value) -> bool {
    let path = annotation["path"].as_str().unwrap_or_default();
    let columns = ["start_column", "end_column"].map(|name| annotation[name].as_u64());
    let columns_fit = match columns {
        [None, None] => annotation["start_column"].is_null() && annotation["end_column"].is_null(),
        [Some(start), Some(end)] => {
            annotation["start_line"] == annotation["end_line"] && 1 <= start && start <= end
        }
        _ => false,
    };
    let lines_fit = match ["start_line", "end_line"].map(|name| annotation[name].as_u64()) {
        [Some(start), Some(end)] => 1 <= start && start <= end,
        _ => false,
    };
    let [message, raw_details, title] =
        ["message", "raw_details", "title"].map(|name| annotation[name].as_str().unwrap_or_default().len());
    !path.is_empty()
        && !path.starts_with('/')
        && lines_fit
        && columns_fit
        && ["notice", "warning", "failure"]
            .contains(&annotation["annotation_level"].as_str().unwrap_or_default())
        && (1..=64 << 10).contains(&message)
        && raw_details <= 64 << 10
        && title <= 255
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
