//! Stand-ins of GitHub, its artifact service, git and models on loopback: those of the tests, included and not copied.

#![allow(
    dead_code,
    clippy::duplicate_mod,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the files belong to the tests, which use all of them and may fail by panicking"
)]

#[path = "../../../tests/it/support/answers.rs"]
mod answers;
#[path = "../../../tests/it/support/fake_github.rs"]
mod fake_github;
#[path = "../../../tests/it/support/git_http.rs"]
mod git_http;
#[path = "../../../tests/it/support/github_shapes.rs"]
mod github_shapes;
#[path = "../../../tests/it/support/hold.rs"]
mod hold;
#[path = "../../../tests/it/support/hub.rs"]
mod hub;
#[path = "../../../tests/it/support/server.rs"]
mod server;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fake_github::FakeGitHub;
pub(super) use git_http::NAME;
use git_http::git_answer;
use hub::Hub;
pub(super) use hub::runtime_token;
use qa_core::canonical;
use server::{Request, Response, Server};

/// Token of the API.
pub(super) const TOKEN: &str = "token-of-the-rehearsal";
/// Answer of a model that finds nothing.
const NOTHING_FOUND: &str = r#"{"findings":[]}"#;

fn sha256(bytes: &[u8]) -> String {
    canonical::sha256(bytes).as_str().to_owned()
}

/// Services with a state.
struct Services {
    github: FakeGitHub,
    hub: Hub,
}

impl Services {
    fn new() -> Self {
        Self { github: FakeGitHub::new(NAME, TOKEN), hub: Hub::default() }
    }
}

/// All servers of a step, on one port.
pub(super) struct StandIn {
    services: Arc<Mutex<Services>>,
    server: Server,
}

impl StandIn {
    /// Starts to serve the repository `project` beside empty services.
    pub(super) fn start(project: &Path) -> Self {
        let services = Arc::new(Mutex::new(Services::new()));
        let server = Server::start({
            let (services, project) = (Arc::clone(&services), project.to_owned());
            move |request| answer(&services, &project, request)
        });
        Self { services, server }
    }

    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Empties the services, and opens a pull request with a head.
    pub(super) fn reset(&self, number: u64, head: &str) {
        let services = Services::new();
        services.github.state().pulls.insert(number, head.to_owned());
        *self.services.lock().unwrap_or_else(PoisonError::into_inner) = services;
    }

    /// Returns whether an artifact is finished.
    pub(super) fn has_artifact(&self) -> bool {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let hub = services.hub.0.lock().unwrap_or_else(PoisonError::into_inner);
        !hub.blobs.is_empty()
    }

    /// Returns the conclusion of the check run, or its status without one.
    pub(super) fn check(&self) -> String {
        let services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let state = services.github.state();
        let shown = state.checks.iter().map(|check| check.conclusion.clone().unwrap_or(check.status.clone()));
        let shown: Vec<String> = shown.collect();
        if shown.is_empty() { "-".to_owned() } else { shown.join("+") }
    }
}

fn answer(services: &Mutex<Services>, project: &Path, request: &Request) -> Response {
    let (github, hub) = {
        let services = services.lock().unwrap_or_else(PoisonError::into_inner);
        (services.github.clone(), services.hub.clone())
    };
    let path = request.path();
    if path.starts_with(&format!("/{NAME}")) {
        git_answer(project, request)
    } else if path.starts_with("/repos/") || path.starts_with("/blobs/") {
        github.answer(request)
    } else if let Some(surface) = surface(path) {
        Response::json(200, &answers::answer(surface, NOTHING_FOUND))
    } else {
        hub.answer(request)
    }
}

/// Returns the dialect of a model's endpoint.
fn surface(path: &str) -> Option<&'static str> {
    let endings = [
        ("/chat/completions", answers::CHAT),
        ("/responses", answers::RESPONSES),
        ("/messages", answers::MESSAGES),
    ];
    endings.into_iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, surface)| surface)
}
