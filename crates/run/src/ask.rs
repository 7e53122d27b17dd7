//! Asks a model: one request, sent again at most twice, and everything that came of it (S003-100, 101).

use std::time::Duration;

use super::http::{Http, HttpError, HttpReply, HttpRequest, Method};
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{AuthScheme, ProviderBinding};
use qa_providers::contract::{Failed, Provider, Reply};
use qa_providers::outcome;
use qa_providers::request::{Encoded, authorization};

/// More than the longest answer that a model can give.
const MOST_RESPONSE_BYTES: u64 = 4 << 20;

/// What is asked, and with whose key.
pub struct ModelRequest<'a> {
    pub provider: &'static dyn Provider,
    pub binding: &'a ProviderBinding,
    pub request: &'a Encoded,
    pub key: &'a Secret,
    /// Of each attempt.
    pub deadline: Duration,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The status of the answer; null where there was none.
    pub status: Option<u16>,
    /// What it came to; null for an answer.
    pub code: Option<Code>,
}

/// What came of a question.
#[derive(Debug)]
pub struct ModelExchange {
    /// In order; the last one decides. Empty when nothing could be sent.
    pub attempts: Vec<Attempt>,
    /// What the last attempt got, if it got an answer.
    pub(crate) answer: Option<(HttpReply, Vec<u8>)>,
    pub result: Result<Reply, Failed>,
}

/// How one attempt ended, and how long the server asks to wait before the next.
struct AttemptOutcome {
    answer: Option<(HttpReply, Vec<u8>)>,
    result: Result<Reply, Failed>,
    hint: Duration,
}

impl ModelRequest<'_> {
    /// Asks. The only error is that the run was cancelled: whatever else happens is an outcome.
    pub fn send(&self, http: &dyn Http) -> Result<ModelExchange, HttpError> {
        if !self.key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            let said = "the key has characters that no header may hold";
            let failed = Failed::terminal(Code::ProviderAuthError, said);
            return Ok(ModelExchange { attempts: Vec::new(), answer: None, result: Err(failed) });
        }
        let model = self.binding.model.as_ref();
        let cap = Duration::from_millis(model.map_or(0, |model| model.retry_after_cap_ms));
        let mut attempts = Vec::new();
        loop {
            let AttemptOutcome { answer, result, hint } = self.attempt(http)?;
            let status = answer.as_ref().map(|(reply, _)| reply.status);
            let wait = self.binding.retry_backoff_ms.get(attempts.len());
            attempts.push(Attempt { status, code: result.as_ref().err().map(|failed| failed.code) });
            // Before the server lets us a try is lost, and a longer wait is more than a review is worth (C-3).
            let again = result.as_ref().is_err_and(|failed| failed.is_transient) && hint <= cap;
            match wait.filter(|_| again) {
                Some(wait) => http.pause(hint.max(Duration::from_millis(u64::from(*wait))))?,
                None => return Ok(ModelExchange { attempts, answer, result }),
            }
        }
    }

    fn attempt(&self, http: &dyn Http) -> Result<AttemptOutcome, HttpError> {
        let (reply, body) = match http.fetch(self.http_request()) {
            Ok(answer) => answer,
            // What a failure says is not needed to know that it is one.
            Err(HttpError::TooLarge { status, .. }) if !(200..=299).contains(&status) => {
                (HttpReply { status, headers: Vec::new() }, Vec::new())
            }
            Err(HttpError::Cancelled) => return Err(HttpError::Cancelled),
            Err(error) => {
                return Ok(AttemptOutcome {
                    answer: None,
                    result: Err(failed(&error)),
                    hint: Duration::ZERO,
                });
            }
        };
        let header = |name: &str| reply.header(name).map(ToOwned::to_owned);
        let result = outcome::decode(self.provider, reply.status, header, &body);
        let hint = result.as_ref().err().and_then(|failed| outcome::wait(failed, header));
        let hint = hint.unwrap_or_default();
        Ok(AttemptOutcome { answer: Some((reply, body)), result, hint })
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
        request.max_response_bytes = MOST_RESPONSE_BYTES;
        request.timeout = self.deadline;
        request
    }
}

/// What it comes to when there is no answer.
fn failed(error: &HttpError) -> Failed {
    let code = match error {
        HttpError::Timeout { .. } => Code::ProviderTimeout,
        HttpError::Unreachable { .. } => Code::ProviderUnavailable,
        HttpError::TooLarge { .. } | HttpError::Sink { .. } => Code::ProviderOutputInvalid,
        HttpError::Url(_) => Code::ProviderModelUnavailable,
        HttpError::Cancelled => Code::Cancelled,
    };
    Failed { is_transient: error.is_transient(), ..Failed::terminal(code, &error.to_string()) }
}
