//! Calls of the API, with the retries and the mapping of responses to errors.

use std::sync::Arc;

use http::HeaderMap;
use http_body_util::BodyExt;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::error::{AttemptError, Permission, PublishError};
use super::service::{ApiBase, PortService};
use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, Method};
use qa_run::retry::{self, Attempted, RetryPolicy, WaitBudget};

/// GitHub's limit of entries on a page.
pub(super) const PER_PAGE: usize = 100;
/// Page limit of a list.
const MAX_PAGES: usize = 100;

/// Destination repository and credentials.
#[derive(Debug, Clone)]
pub(crate) struct Target<'a> {
    /// GITHUB_API_URL, the only address the token is sent to.
    pub(crate) api_url: &'a str,
    /// `owner/name`.
    pub(crate) repository: &'a str,
    pub(crate) token: Secret,
    /// Seed for retry jitter: the execution key, if there is one.
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
        // Octocrab starts a task on this runtime; it runs during `block_on`.
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

    /// Retries until success, a permanent error, or the wait budget runs out. Each attempt has to check first for the results
    /// of earlier ones, also of an earlier process.
    pub(super) fn with_retries<T>(
        &self,
        operation: Operation,
        attempt: impl Fn() -> Result<T, AttemptError>,
    ) -> Result<T, PublishError> {
        let policy = RetryPolicy::infrastructure(&self.seed, operation.what).within(&self.wait_budget);
        retry::with_retries(self.http.as_ref(), &policy, || {
            let outcome = attempt();
            let transient = outcome.as_ref().err().and_then(|error| error.transient(self.base.host()));
            Attempted { result: outcome.map_err(|error| self.failure(operation, error)), transient }
        })
    }

    /// Returns the error of an operation whose last attempt failed.
    pub(super) fn failure(&self, operation: Operation, error: AttemptError) -> PublishError {
        error.into_error(operation.what, self.base.host())
    }

    /// Sends one request, without retries. The route is relative to the repository.
    pub(super) fn send(
        &self,
        operation: Operation,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, AttemptError> {
        let what = operation.what;
        self.http.begin(what);
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
        let (parts, bytes) = self.runtime.block_on(call).map_err(|error| self.port_error(what, &error))?;
        self.judge(operation, parts.status.as_u16(), &parts.headers, &bytes)?;
        Ok(bytes.to_vec())
    }

    /// Sends a request and parses the response as JSON. A response that is not JSON is an error.
    pub(super) fn request_json<T: DeserializeOwned>(
        &self,
        operation: Operation,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<T, AttemptError> {
        let bytes = self.send(operation, method, route, body)?;
        serde_json::from_slice(&bytes).map_err(|error| AttemptError::Retryable {
            reason: format!("the response of {} is malformed: {error}", self.base.host()),
            hint: None,
        })
    }

    /// Returns every entry of a list. Pages are requested by number, so URLs in responses are not used.
    pub(super) fn list<T, P: DeserializeOwned>(
        &self,
        operation: Operation,
        route: &str,
        entries: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, AttemptError> {
        let joint = if route.contains('?') { '&' } else { '?' };
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let route = format!("{route}{joint}per_page={PER_PAGE}&page={page}");
            let found = entries(self.request_json(operation, Method::Get, &route, None)?);
            let last = found.len() < PER_PAGE;
            all.extend(found);
            if last {
                return Ok(all);
            }
        }
        let reason = format!("the list is longer than {} entries", MAX_PAGES * PER_PAGE);
        Err(AttemptError::Final(PublishError::Unavailable { what: operation.what, reason }))
    }

    fn port_error(&self, what: &'static str, error: &octocrab::Error) -> AttemptError {
        if let octocrab::Error::Service { source, .. } = error
            && let Some(error) = source.downcast_ref::<HttpError>()
        {
            return AttemptError::port(what, error);
        }
        // Masked as a precaution: octocrab's messages hold at most the URL of the request.
        AttemptError::Final(PublishError::Unavailable { what, reason: self.mask(&error.to_string()) })
    }

    /// Maps a status to an outcome. Only 2xx is success.
    fn judge(
        &self,
        operation: Operation,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), AttemptError> {
        let Operation { what, needs } = operation;
        let host = self.base.host().to_owned();
        let hint = retry::server_hint(|name| header_text(headers, name));
        let message = self.error_message(body);
        match status {
            200..=299 => Ok(()),
            300..=399 => {
                let target =
                    sanitize_cut(&target_host(&header_text(headers, "location").unwrap_or_default()), 100);
                Err(PublishError::Redirected { what, host, target }.into())
            }
            429 => Err(AttemptError::Limited { hint }),
            403 if hint.is_some() || is_rate_limit(&message) => Err(AttemptError::Limited { hint }),
            401 | 403 | 404 => Err(PublishError::Forbidden { what, host, status, message, needs }.into()),
            408 | 500..=599 => {
                Err(AttemptError::Retryable { reason: format!("{host} answered {status}: {message}"), hint })
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
            if let Some(detail) = detail.as_str().or_else(|| detail["message"].as_str()) {
                text.push_str(&format!("; {detail}"));
            }
        }
        self.mask(&text)
    }

    fn mask(&self, text: &str) -> String {
        sanitize_cut(&self.token.masked_in(text), 300)
    }
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns whether GitHub's message of a refusal is about the rate of requests and not about permission.
fn is_rate_limit(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("rate limit") || message.contains("abuse")
}

/// Returns the host of a redirect's target; a relative target has none.
fn target_host(location: &str) -> String {
    let (_, rest) = location.split_once("//").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    match authority.rsplit('@').next().unwrap_or("") {
        "" => "another URL".to_owned(),
        host => host.to_owned(),
    }
}

/// Returns whether a text is `owner/name`, without characters that have a meaning in a URL.
fn is_repository(text: &str) -> bool {
    matches!(text.split_once('/'), Some((owner, name)) if is_plain_name(owner) && is_plain_name(name))
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.chars().all(|character| character == '.')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
}

/// Encodes a value of a query.
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
