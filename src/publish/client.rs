//! Calls of the API: how one answer is judged, and when an attempt is made again.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http_body_util::BodyExt;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::error::{Permission, PublishError, Trouble};
use super::service::{ApiBase, PortService};
use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, Method};
use qa_run::retry::{self, WaitBudget};

/// GitHub's own advice where a limit comes without a time.
const LIMITED: Duration = Duration::from_secs(60);
/// Entries of a page, the most there are.
pub(super) const PER_PAGE: usize = 100;
/// More pages than any list of ours has.
const MAX_PAGES: usize = 100;

/// Destination repository and credentials.
#[derive(Debug, Clone)]
pub(crate) struct Target<'a> {
    /// GITHUB_API_URL, the only address the token is sent to.
    pub(crate) api_url: &'a str,
    /// `owner/name`.
    pub(crate) repository: &'a str,
    pub(crate) token: Secret,
    /// Decides the waits between attempts: the execution key, where there is one.
    pub(crate) seed: &'a str,
}

/// Operation, with the permission that it needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    /// Completes "failed to …".
    pub(super) what: &'static str,
    pub(super) needs: Permission,
}

/// The API of one repository.
pub(super) struct Client {
    octocrab: Octocrab,
    runtime: Runtime,
    http: Arc<dyn Http>,
    base: ApiBase,
    token: Secret,
    /// `/repos/owner/name`.
    root: String,
    seed: String,
    wait_budget: WaitBudget,
}

impl Client {
    pub(super) fn new(http: Arc<dyn Http>, target: Target<'_>) -> Result<Self, PublishError> {
        let Target { api_url, repository, token, seed } = target;
        let base = ApiBase::parse(api_url)?;
        if !is_repository(repository) {
            let shown = sanitize_cut(repository, 100);
            return Err(PublishError::Settings(format!("`{shown}` is not the name of a repository")));
        }
        let authorization = Secret::new(&format!("Bearer {}", token.expose()))
            .expect("a text with a word in it is not blank");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| PublishError::Settings(error.to_string()))?;
        let service = PortService { http: Arc::clone(&http), base: base.clone(), authorization };
        // Octocrab starts a task that hands requests over; it runs while this runtime is waited for.
        let inside = runtime.enter();
        let octocrab = OctocrabBuilder::new_empty()
            .with_service(service)
            .with_auth(AuthState::None)
            .build()
            .unwrap_or_else(|never| match never {});
        drop(inside);
        Ok(Self {
            octocrab,
            runtime,
            http,
            base,
            token,
            root: format!("/repos/{repository}"),
            seed: seed.to_owned(),
            wait_budget: WaitBudget::default(),
        })
    }

    /// Does something until it is done, is known to be impossible, or the waits are used up. The attempt is made from
    /// its beginning each time, so it has to look first at what earlier ones, or an earlier process, have left.
    pub(super) fn persist<T>(
        &self,
        operation: Operation,
        attempt: impl Fn() -> Result<T, Trouble>,
    ) -> Result<T, PublishError> {
        let what = operation.what;
        let mut tries = 0;
        loop {
            let (hint, error) = match attempt() {
                Ok(done) => return Ok(done),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Again { reason, hint }) => (hint, PublishError::Unavailable { what, reason }),
                Err(Trouble::Limited { hint }) => {
                    let host = self.base.host().to_owned();
                    let seconds = hint.map(|hint| hint.as_secs());
                    (Some(hint.unwrap_or(LIMITED)), PublishError::RateLimited { what, host, seconds })
                }
            };
            let Some(usual) = retry::backoff(&self.seed, what, tries) else { return Err(error) };
            tries += 1;
            let wait = hint.map_or(usual, |hint| hint.max(usual));
            if !self.wait_budget.spend(wait) {
                return Err(error);
            }
            self.http.pause(wait).map_err(|_| PublishError::Cancelled { what })?;
        }
    }

    /// One request, once. The route begins below the repository.
    pub(super) fn send(
        &self,
        operation: Operation,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, Trouble> {
        let what = operation.what;
        let route = format!("{}{route}", self.root);
        let call = async {
            let response = match method {
                Method::Get => self.octocrab._get(&*route).await,
                Method::Post => self.octocrab._post(&*route, body).await,
                Method::Patch => self.octocrab._patch(&*route, body).await,
                Method::Put => self.octocrab._put(&*route, body).await,
                Method::Delete => self.octocrab._delete(&*route, body).await,
            }?;
            let (parts, body) = response.into_parts();
            Ok((parts, body.collect().await?.to_bytes()))
        };
        let (parts, bytes) = self.runtime.block_on(call).map_err(|error| self.port_trouble(what, &error))?;
        self.judge(operation, parts.status.as_u16(), &parts.headers, &bytes)?;
        Ok(bytes.to_vec())
    }

    /// Sends a request and parses the response as JSON. A response that is not JSON is an error.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        operation: Operation,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<T, Trouble> {
        let bytes = self.send(operation, method, route, body)?;
        serde_json::from_slice(&bytes).map_err(|error| Trouble::Again {
            reason: format!("the answer of {} is not what its documentation says: {error}", self.base.host()),
            hint: None,
        })
    }

    /// Every entry of a list. Pages are counted and not followed, so no address in an answer matters.
    pub(super) fn list<T, P: DeserializeOwned>(
        &self,
        operation: Operation,
        route: &str,
        entries: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, Trouble> {
        let joint = if route.contains('?') { '&' } else { '?' };
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let route = format!("{route}{joint}per_page={PER_PAGE}&page={page}");
            let found = entries(self.ask(operation, Method::Get, &route, None)?);
            let last = found.len() < PER_PAGE;
            all.extend(found);
            if last {
                return Ok(all);
            }
        }
        let reason = format!("the list is longer than {} entries", MAX_PAGES * PER_PAGE);
        Err(Trouble::Final(PublishError::Unavailable { what: operation.what, reason }))
    }

    fn port_trouble(&self, what: &'static str, error: &octocrab::Error) -> Trouble {
        if let octocrab::Error::Service { source, .. } = error
            && let Some(error) = source.downcast_ref::<HttpError>()
        {
            return Trouble::port(what, error);
        }
        // Octocrab's words may hold the address of the request and nothing that is secret; they are masked all the same.
        Trouble::Final(PublishError::Unavailable { what, reason: self.shown(&error.to_string()) })
    }

    /// Maps a status to an outcome. Only 2xx is success.
    fn judge(
        &self,
        operation: Operation,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), Trouble> {
        let Operation { what, needs } = operation;
        let host = self.base.host().to_owned();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let hint = retry::server_hint(text);
        let message = self.error_message(body);
        match status {
            200..=299 => Ok(()),
            300..=399 => {
                let target = sanitize_cut(&target_host(&text("location").unwrap_or_default()), 100);
                Err(PublishError::Redirected { what, host, target }.into())
            }
            429 => Err(Trouble::Limited { hint }),
            403 if hint.is_some() || speaks_of_limits(&message) => Err(Trouble::Limited { hint }),
            401 | 403 | 404 => Err(PublishError::Forbidden { what, host, status, message, needs }.into()),
            408 | 500..=599 => {
                Err(Trouble::Again { reason: format!("{host} answered {status}: {message}"), hint })
            }
            _ => Err(PublishError::Refused { what, host, status, message }.into()),
        }
    }

    /// Returns GitHub's message of an error with the first of its details.
    fn error_message(&self, body: &[u8]) -> String {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return "without a reason".to_owned();
        };
        let mut text = value["message"].as_str().unwrap_or("without a reason").to_owned();
        let details = value["errors"].as_array().into_iter().flatten().take(3);
        for detail in details {
            let detail = detail.as_str().or_else(|| detail["message"].as_str()).map(str::to_owned);
            text.push_str(&detail.map_or_else(String::new, |detail| format!("; {detail}")));
        }
        self.shown(&text)
    }

    fn shown(&self, text: &str) -> String {
        sanitize_cut(&self.token.masked_in(text), 300)
    }
}

/// The words of GitHub's refusals that are about frequency and not about permission.
fn speaks_of_limits(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("rate limit") || message.contains("abuse")
}

/// The host of a redirect's target; one on the same host has none.
fn target_host(location: &str) -> String {
    let rest = location.split_once("//").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    match authority.rsplit('@').next().unwrap_or("") {
        "" => "another address".to_owned(),
        host => host.to_owned(),
    }
}

/// `owner/name`, with nothing that means something in an address.
fn is_repository(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| is_plain_name(owner) && is_plain_name(name))
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.chars().all(|character| character == '.')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
}

/// A value of a query.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
