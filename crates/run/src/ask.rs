//! Sends a request to a model, retries it at most twice, and returns every attempt (S003-100, 101).

use std::time::Duration;

use super::http::{Http, HttpError, HttpReply, HttpRequest, Method};
use super::retry::{self, Attempted, RetryPolicy, Transient};
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{AuthScheme, ProviderBinding};
use qa_providers::contract::{Failed, Provider, Reply};
use qa_providers::outcome;
use qa_providers::request::{Encoded, authorization};

/// Size limit of a response in bytes, above the longest reply that a model can give.
const MAX_RESPONSE_BYTES: u64 = 4 << 20;

/// Request to a model, with the key that it is sent with.
pub struct ModelRequest<'a> {
    pub provider: &'static dyn Provider,
    pub binding: &'a ProviderBinding,
    pub request: &'a Encoded,
    pub key: &'a Secret,
    /// Time limit of each attempt.
    pub deadline: Duration,
}

/// Outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// HTTP status; `None` without a response.
    pub status: Option<u16>,
    /// Error code; `None` for a usable reply.
    pub code: Option<Code>,
}

/// HTTP response of a model, with its body.
#[derive(Debug)]
pub(crate) struct ModelResponse {
    pub(crate) reply: HttpReply,
    pub(crate) body: Vec<u8>,
}

/// All attempts at a request, with the result of the last.
#[derive(Debug)]
pub struct ModelExchange {
    /// In order; the last one decides. Empty if nothing could be sent.
    pub attempts: Vec<Attempt>,
    /// Response of the last attempt, if it had one.
    pub(crate) response: Option<ModelResponse>,
    pub result: Result<Reply, Failed>,
}

/// Outcome of one attempt, with the server's hint for the wait before the next.
struct AttemptOutcome {
    response: Option<ModelResponse>,
    result: Result<Reply, Failed>,
    hint: Duration,
}

impl AttemptOutcome {
    fn without_response(error: &HttpError) -> Self {
        Self { response: None, result: Err(transport_failure(error)), hint: Duration::ZERO }
    }
}

impl ModelRequest<'_> {
    /// Sends the request until it succeeds, fails permanently or runs out of attempts. The only error is that the run was
    /// cancelled; every other failure is in the exchange.
    pub fn send(&self, http: &dyn Http) -> Result<ModelExchange, HttpError> {
        if !self.key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "the key has characters that no header may hold";
            let failed = Failed::terminal(Code::ProviderAuthError, message);
            return Ok(ModelExchange { attempts: Vec::new(), response: None, result: Err(failed) });
        }
        let max_hint_ms = self.binding.model.as_ref().map_or(0, |model| model.retry_after_cap_ms);
        let backoff = self.binding.retry_backoff_ms.iter();
        let policy = RetryPolicy {
            operation: self.provider.spec().surface.as_str(),
            waits: backoff.map(|milliseconds| Duration::from_millis(u64::from(*milliseconds))).collect(),
            // A retry before the hinted time would fail, and a longer wait is more than a review is worth (C-3).
            longest: Duration::from_millis(max_hint_ms),
            budget: None,
        };
        let mut attempts = Vec::new();
        let last = retry::with_retries(http, &policy, || {
            let outcome = match self.attempt(http) {
                Ok(outcome) => outcome,
                Err(error) => return Attempted { result: Err(error), transient: None },
            };
            let status = outcome.response.as_ref().map(|response| response.reply.status);
            let failed = outcome.result.as_ref().err();
            attempts.push(Attempt { status, code: failed.map(|failed| failed.code) });
            let transient = failed.filter(|failed| failed.is_transient).map(|failed| Transient {
                code: failed.code,
                reason: describe(status),
                hint: Some(outcome.hint),
            });
            Attempted { result: Ok(outcome), transient }
        });
        let AttemptOutcome { response, result, .. } = last?;
        Ok(ModelExchange { attempts, response, result })
    }

    fn attempt(&self, http: &dyn Http) -> Result<AttemptOutcome, HttpError> {
        let (reply, body) = match http.fetch(self.http_request()) {
            Ok(answer) => answer,
            // The status alone tells that the request failed.
            Err(HttpError::TooLarge { status, .. }) if !(200..=299).contains(&status) => {
                (HttpReply { status, headers: Vec::new() }, Vec::new())
            }
            Err(HttpError::Cancelled) => return Err(HttpError::Cancelled),
            Err(error) => return Ok(AttemptOutcome::without_response(&error)),
        };
        let result = outcome::decode(self.provider, reply.status, |name| reply.owned_header(name), &body);
        let hint = match &result {
            Ok(_) => None,
            Err(failed) => outcome::retry_hint(failed, |name| reply.owned_header(name)),
        };
        let hint = hint.unwrap_or_default();
        Ok(AttemptOutcome { response: Some(ModelResponse { reply, body }), result, hint })
    }

    fn http_request(&self) -> HttpRequest {
        let scheme = self.binding.model.as_ref().map_or(AuthScheme::Bearer, |model| model.auth_scheme);
        let (header, key) = authorization(scheme, self.key);
        let mut request = HttpRequest::new(Method::Post, self.request.url.clone())
            .body(self.request.body.clone())
            .authorization(Some(key));
        request.authorization_header = header;
        request.headers.clone_from(&self.request.headers);
        request.is_local = self.request.url.starts_with("http://");
        request.max_response_bytes = MAX_RESPONSE_BYTES;
        request.timeout = self.deadline;
        request
    }
}

/// Describes a failed attempt without text of the server, which may quote a key.
fn describe(status: Option<u16>) -> String {
    match status {
        Some(status) => format!("the provider answered {status}"),
        None => "the provider did not answer".to_owned(),
    }
}

/// Maps a request without a response to a provider failure.
fn transport_failure(error: &HttpError) -> Failed {
    let code = match error {
        HttpError::Timeout { .. } => Code::ProviderTimeout,
        HttpError::Unreachable { .. } => Code::ProviderUnavailable,
        HttpError::TooLarge { .. } | HttpError::Sink { .. } => Code::ProviderOutputInvalid,
        HttpError::Url(_) => Code::ProviderModelUnavailable,
        HttpError::Cancelled => Code::Cancelled,
    };
    Failed { is_transient: error.is_transient(), ..Failed::terminal(code, &error.to_string()) }
}
