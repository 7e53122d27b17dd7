//! Points a branch of the server at a commit, by git's wire protocol for pushes.
//!
//! Source: git's `gitprotocol-http` and `gitprotocol-pack` pages. There is no version 2 of it.

use std::time::Duration;

use super::complete::{Remote, authorized};
use super::pack_protocol::{encode_update, read_advertised, read_report};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_core::masking::sanitize_cut;
use qa_run::http::{HttpError, HttpReply, HttpRequest, Method, shown_url};

/// An update of one ref.
pub(crate) struct Push<'a> {
    /// Full name of the ref.
    pub(crate) name: &'a str,
    /// Commit that the ref has to have before; `None` for a ref that is made.
    pub(crate) old: Option<&'a CommitId>,
    pub(crate) new: &'a CommitId,
    /// Pack with the objects that the server may lack.
    pub(crate) pack: &'a [u8],
}

/// A push that did not happen, as far as is known. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushError {
    #[error("push: {host} answered {status}")]
    Forbidden { host: String, status: u16 },
    #[error("push {name}: {reason}")]
    Refused { name: String, reason: String },
    #[error("push {name}: it is at {now} and not at {expected}")]
    Moved { name: String, now: String, expected: String },
    #[error("push: {0}")]
    Unanswered(HttpError),
}

impl PushError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Forbidden { .. } => Code::PublishForbidden,
            Self::Refused { .. } => Code::PublishRefused,
            Self::Moved { .. } => Code::HeadSuperseded,
            Self::Unanswered(error) => error.code(),
        }
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Forbidden { .. } => "give the job `contents: write`, and the step that token",
            Self::Refused { .. } => {
                "see what the server says: a rule of the branch may forbid it, and changes below .github/workflows need a token with `workflows: write`"
            }
            Self::Moved { .. } => "somebody pushed meanwhile: drive the newer head",
            Self::Unanswered(_) => self.code().hint(),
        }
    }
}

/// Answers of the server, in turn.
enum Exchange {
    /// The list of refs was not usable.
    NoRefs(&'static str),
    /// The ref has the wanted commit already.
    Present,
    /// The ref has another commit than the expected one.
    Moved(String),
    /// The report about the update.
    Report(Vec<u8>),
}

impl Remote<'_> {
    /// Updates a ref, unless it has the new commit already: a push whose answer was lost is not sent twice.
    pub(crate) fn push(&self, push: &Push<'_>) -> Result<(), PushError> {
        let outcome = self.with_retries("push", || self.exchange(push)).map_err(PushError::Unanswered)?;
        let (reply, exchange) = outcome;
        if !reply.is_success() {
            return Err(match reply.status {
                401 | 403 | 404 => PushError::Forbidden { host: shown_url(&self.url), status: reply.status },
                status => refused(push, format!("{} answered {status}", shown_url(&self.url))),
            });
        }
        match exchange {
            Exchange::Present => Ok(()),
            Exchange::NoRefs(reason) => Err(refused(push, reason.to_owned())),
            Exchange::Moved(now) => {
                Err(PushError::Moved { name: shown(push), now, expected: expected(push).to_owned() })
            }
            Exchange::Report(report) => {
                read_report(&report, push.name).map_err(|reason| refused(push, reason))
            }
        }
    }

    fn exchange(&self, push: &Push<'_>) -> Result<(HttpReply, Exchange), HttpError> {
        let url = self.url.trim_end_matches('/');
        let mut request = HttpRequest::new(Method::Get, format!("{url}/info/refs?service=git-receive-pack"));
        (request.max_response_bytes, request.timeout) = (MAX_REFS_BYTES, PUSH_TIMEOUT);
        let (reply, body) = self.http.fetch(authorized(self, request))?;
        if !reply.is_success() {
            return Ok((reply, Exchange::NoRefs("the request failed")));
        }
        let now = match read_advertised(&body, push.name) {
            Ok(now) => now,
            Err(reason) => return Ok((reply, Exchange::NoRefs(reason))),
        };
        if now.as_deref() == Some(push.new.as_str()) {
            return Ok((reply, Exchange::Present));
        }
        if now.as_deref() != push.old.map(CommitId::as_str) {
            let now = now.unwrap_or_else(|| ABSENT.to_owned());
            return Ok((reply, Exchange::Moved(now)));
        }
        let mut body = encode_update(push.name, expected_id(push), push.new.as_str());
        body.extend_from_slice(push.pack);
        let mut request = HttpRequest::new(Method::Post, format!("{url}/git-receive-pack"))
            .header("content-type", "application/x-git-receive-pack-request")
            .header("accept", "application/x-git-receive-pack-result")
            .body(body);
        request.timeout = PUSH_TIMEOUT;
        let (reply, report) = self.http.fetch(authorized(self, request))?;
        Ok((reply, Exchange::Report(report)))
    }
}

fn shown(push: &Push<'_>) -> String {
    sanitize_cut(push.name, 200)
}

fn refused(push: &Push<'_>, reason: String) -> PushError {
    PushError::Refused { name: shown(push), reason }
}

/// Size limit of a list of refs: some hundred thousand.
const MAX_REFS_BYTES: u64 = 64 << 20;
/// Time limit of each of the two requests.
const PUSH_TIMEOUT: Duration = Duration::from_secs(300);
/// Word for a ref that the server does not have.
const ABSENT: &str = "no commit";
/// Id that stands for no commit.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

fn expected<'a>(push: &'a Push<'_>) -> &'a str {
    push.old.map_or(ABSENT, CommitId::as_str)
}

fn expected_id<'a>(push: &'a Push<'_>) -> &'a str {
    push.old.map_or(NO_COMMIT, CommitId::as_str)
}
