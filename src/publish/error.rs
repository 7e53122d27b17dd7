//! Errors of publishing, each with its stable code and a hint.

use std::time::Duration;

use qa_contracts::codes::Code;
use qa_run::http::HttpError;
use qa_run::retry::Transient;

/// Wait for a rate limit without a time, as GitHub advises.
const LIMITED: Duration = Duration::from_secs(60);

/// Permission that a token needs for an operation, as in a workflow's `permissions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Actions,
    ActionsRead,
    Checks,
    Contents,
    Issues,
    /// Every token has it, so a refusal means that the repository or the person is out of reach.
    Metadata,
    PullRequests,
    PullRequestsRead,
    SecurityEvents,
}

impl Permission {
    /// Returns the line for a workflow.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Actions => "actions: write",
            Self::ActionsRead => "actions: read",
            Self::Checks => "checks: write",
            Self::Contents => "contents: read",
            Self::Issues => "issues: write",
            Self::Metadata => "metadata: read",
            Self::PullRequests => "pull-requests: write",
            Self::PullRequestsRead => "pull-requests: read",
            Self::SecurityEvents => "security-events: write",
        }
    }
}

/// A failure to publish. Completes "failed to …". Texts of a server are masked, cut and printable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PublishError {
    /// The settings are not valid; no request was sent.
    #[error("publish to GitHub: {0}")]
    Settings(String),
    /// The token lacks a permission: 401, 403 or 404.
    #[error("{what}: {host} answered {status}: {message}")]
    Forbidden { what: &'static str, host: String, status: u16, message: String, needs: Permission },
    /// The requested wait exceeds the budget.
    #[error("{what}: {host} limits the rate of requests{}", wait_text(.seconds))]
    RateLimited { what: &'static str, host: String, seconds: Option<u64> },
    /// The server rejected the request; a retry cannot succeed.
    #[error("{what}: {host} answered {status}: {message}")]
    Refused { what: &'static str, host: String, status: u16, message: String },
    /// The body exceeds the server's limit; no request was sent.
    #[error("{what}: {bytes} bytes are over the limit of {limit}")]
    TooLarge { what: &'static str, bytes: usize, limit: usize },
    /// The server redirects. Redirects are not followed, so that the token is not sent elsewhere.
    #[error("{what}: {host} redirects to {target}; redirects are not followed")]
    Redirected { what: &'static str, host: String, target: String },
    /// No attempt had a usable response; the server may have processed the request.
    #[error("{what}: {reason}")]
    Unavailable { what: &'static str, reason: String },
    /// The run was cancelled.
    #[error("{what}: the run was cancelled")]
    Cancelled { what: &'static str },
    /// The token's account is another one than the settings say, so its texts would not be recognized.
    #[error("{what}: the token writes as {actual}, and comment-author is another account")]
    OtherAuthor { what: &'static str, actual: String },
    /// A run that began later judges the same head.
    #[error("{what}: {by} began later and judges the same commit")]
    Superseded { what: &'static str, by: String },
}

fn wait_text(seconds: &Option<u64>) -> String {
    match seconds {
        Some(seconds) => format!(", and asks to wait {seconds} s"),
        None => String::new(),
    }
}

impl PublishError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Forbidden { .. } => Code::PublishForbidden,
            Self::RateLimited { .. } => Code::PublishRateLimited,
            Self::Refused { .. } | Self::TooLarge { .. } => Code::PublishRefused,
            Self::Settings(_) | Self::Redirected { .. } | Self::Unavailable { .. } => Code::PublishFailed,
            Self::OtherAuthor { .. } => Code::InputInvalid,
            Self::Cancelled { .. } => Code::Cancelled,
            Self::Superseded { .. } => Code::RunSuperseded,
        }
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> String {
        match self {
            // No key of `permissions` names it.
            Self::Forbidden { needs: Permission::Metadata, .. } => {
                "give the step a token that can read the repository's collaborators, such as `github.token`".to_owned()
            }
            Self::Forbidden { needs, .. } => format!(
                "add `permissions: {}` to the job; on pull requests from forks and from Dependabot the token is read-only, and the result is in the job's log, summary and artifact",
                needs.as_str()
            ),
            Self::Settings(_) => {
                "do not set GITHUB_API_URL and GITHUB_REPOSITORY; the runner sets them, and the input `token` gives the token".to_owned()
            }
            Self::Redirected { .. } => {
                "check whether the repository was renamed, and the settings of the proxy".to_owned()
            }
            Self::OtherAuthor { actual, .. } => {
                format!("set the input comment-author to {actual}; until then nothing more is suggested")
            }
            Self::TooLarge { .. } => "split the change; the artifact has the complete report".to_owned(),
            Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::Unavailable { .. }
            | Self::Cancelled { .. }
            | Self::Superseded { .. } => self.code().hint().to_owned(),
        }
    }

    /// Returns whether the run ends here, so that its result goes to no other surface either.
    pub(crate) fn ends_run(&self) -> bool {
        matches!(self, Self::Cancelled { .. } | Self::Superseded { .. })
    }

    /// Returns whether the token lacks a permission, as for every pull request from a fork. Then the next surface is used.
    pub(crate) fn is_permission(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }
}

/// Failure of one attempt.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// There is no usable response; the server may have processed the request.
    Retryable { reason: String, hint: Option<Duration> },
    /// The server limits the rate and did not process the request.
    Limited { hint: Option<Duration> },
    /// A retry cannot succeed.
    Final(PublishError),
}

impl From<PublishError> for AttemptError {
    fn from(error: PublishError) -> Self {
        Self::Final(error)
    }
}

impl AttemptError {
    /// Returns the reason for another attempt, or `None` if the error is final.
    pub(super) fn transient(&self, host: &str) -> Option<Transient> {
        match self {
            Self::Final(_) => None,
            Self::Retryable { reason, hint } => {
                Some(Transient { code: Code::PublishFailed, reason: reason.clone(), hint: *hint })
            }
            Self::Limited { hint } => Some(Transient {
                code: Code::PublishRateLimited,
                reason: format!("{host} limits the rate of requests"),
                hint: Some(hint.unwrap_or(LIMITED)),
            }),
        }
    }

    /// Returns the error of an operation without another attempt.
    pub(super) fn into_error(self, what: &'static str, host: &str) -> PublishError {
        match self {
            Self::Final(error) => error,
            Self::Retryable { reason, .. } => PublishError::Unavailable { what, reason },
            Self::Limited { hint } => {
                let seconds = hint.map(|hint| hint.as_secs());
                PublishError::RateLimited { what, host: host.to_owned(), seconds }
            }
        }
    }

    /// Maps an error of the port to the error of an operation.
    pub(super) fn port(what: &'static str, error: &HttpError) -> Self {
        match error {
            HttpError::Cancelled => Self::Final(PublishError::Cancelled { what }),
            // The API has no response that large, so it is that of a proxy.
            HttpError::Unreachable { .. } | HttpError::Timeout { .. } | HttpError::TooLarge { .. } => {
                Self::Retryable { reason: error.to_string(), hint: None }
            }
            HttpError::Url(_) | HttpError::Sink { .. } => {
                Self::Final(PublishError::Unavailable { what, reason: error.to_string() })
            }
        }
    }
}
