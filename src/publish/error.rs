//! Errors of publishing, each with its stable code and a hint.

use qa_contracts::codes::Code;
use qa_run::http::HttpError;

/// Permission that a token needs for an operation, as in a workflow's `permissions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Checks,
    Issues,
    PullRequests,
    SecurityEvents,
}

impl Permission {
    /// The line of the workflow.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Checks => "checks: write",
            Self::Issues => "issues: write",
            Self::PullRequests => "pull-requests: write",
            Self::SecurityEvents => "security-events: write",
        }
    }
}

/// A failure to publish. Completes "failed to …". Texts of a server are masked, cut and printable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PublishError {
    /// Nothing was sent.
    #[error("publish to GitHub: {0}")]
    Settings(String),
    /// The token may not do it, or may not even see what it would act on: 401, 403 or 404.
    #[error("{what}: {host} answered {status}: {message}")]
    Forbidden { what: &'static str, host: String, status: u16, message: String, needs: Permission },
    /// The wait that is asked for does not fit.
    #[error("{what}: {host} limits the rate of requests{}", wait_text(.seconds))]
    RateLimited { what: &'static str, host: String, seconds: Option<u64> },
    /// The server rejected the request; a retry cannot succeed.
    #[error("{what}: {host} answered {status}: {message}")]
    Refused { what: &'static str, host: String, status: u16, message: String },
    /// More than the server takes; nothing was sent.
    #[error("{what}: {bytes} bytes are over the limit of {limit}")]
    TooLarge { what: &'static str, bytes: usize, limit: usize },
    /// Redirects are not followed, so the token stayed here.
    #[error("{what}: {host} redirects to {target}, which is not followed")]
    Redirected { what: &'static str, host: String, target: String },
    /// Every try ended without a usable answer: whether the server acted is unknown.
    #[error("{what}: {reason}")]
    Unavailable { what: &'static str, reason: String },
    /// The run was cancelled.
    #[error("{what}: the run was cancelled")]
    Cancelled { what: &'static str },
}

fn wait_text(seconds: &Option<u64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!(", and asks to wait {seconds} s"))
}

impl PublishError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Forbidden { .. } => Code::PublishForbidden,
            Self::RateLimited { .. } => Code::PublishRateLimited,
            Self::Refused { .. } | Self::TooLarge { .. } => Code::PublishRefused,
            Self::Settings(_) | Self::Redirected { .. } | Self::Unavailable { .. } => Code::PublishFailed,
            Self::Cancelled { .. } => Code::Cancelled,
        }
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Forbidden { needs, .. } => format!(
                "add `permissions: {}` to the job; on pull requests from forks and of Dependabot the token can only read, and the result is in the job's log, summary and artifact",
                needs.as_str()
            ),
            Self::Settings(_) => {
                "GITHUB_API_URL, GITHUB_REPOSITORY and the token come from the workflow; do not set them by hand".to_owned()
            }
            Self::Redirected { .. } => {
                "the repository may have been renamed, or a proxy stands before GitHub; correct the remote or the proxy".to_owned()
            }
            Self::TooLarge { .. } => "split the change; the report in the artifact is whole".to_owned(),
            Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::Unavailable { .. }
            | Self::Cancelled { .. } => self.code().hint().to_owned(),
        }
    }

    /// Returns whether the token lacks a permission, as for every pull request from a fork. Then the next surface is
    /// used, and nobody is at fault.
    pub(crate) fn is_permission(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }
}

/// Failure of one attempt.
#[derive(Debug)]
pub(super) enum Trouble {
    /// No usable answer; whether the server acted is unknown.
    Again { reason: String, hint: Option<std::time::Duration> },
    /// The server asked to slow down, and did nothing.
    Limited { hint: Option<std::time::Duration> },
    /// Another attempt would end alike.
    Final(PublishError),
}

impl From<PublishError> for Trouble {
    fn from(error: PublishError) -> Self {
        Self::Final(error)
    }
}

impl Trouble {
    /// Maps an error of the port to the error of an operation.
    pub(super) fn port(what: &'static str, error: &HttpError) -> Self {
        match error {
            HttpError::Cancelled => Self::Final(PublishError::Cancelled { what }),
            // No answer of the API is that large, so someone in between gave it: as good as none.
            HttpError::Unreachable { .. } | HttpError::Timeout { .. } | HttpError::TooLarge { .. } => {
                Self::Again { reason: error.to_string(), hint: None }
            }
            HttpError::Url(_) | HttpError::Sink { .. } => {
                Self::Final(PublishError::Unavailable { what, reason: error.to_string() })
            }
        }
    }
}
