//! Exit codes, and the failures that end a command with them.

use crate::config::SettingsError;
use crate::git::{GitError, PushError};
use crate::publish::PublishError;
use crate::store::StoreError;
use qa_contracts::codes::Code;
use qa_contracts::v1::Conclusion;
use qa_core::event::EventError;
use qa_core::finished_run::RunError;
use qa_core::phases::ForbiddenMove;
use qa_core::policy::PolicyError;
use qa_core::secrets;
use qa_run::http::HttpError;
use qa_run::inputs::InForceError;
use qa_run::ports::{Cancellation, PortError};

/// Exit codes of the process. A tool failure and a verdict never share a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// PASS.
    Pass = 0,
    /// FAIL: the change violates the policy.
    Fail = 1,
    /// The command line or the policy is wrong.
    Usage = 2,
    /// No verdict was reached; the change may be right or wrong.
    CouldNotComplete = 3,
    /// A replay differs from its recording.
    Drift = 4,
    /// A defect of this program.
    Bug = 70,
}

impl Exit {
    /// Returns the exit code of a command that a code ends without a result.
    #[must_use]
    pub fn without_verdict(code: Code) -> Self {
        let special = [
            (Code::PolicyInvalid, Self::Usage),
            (Code::InputInvalid, Self::Usage),
            (Code::InitActionUnknown, Self::Usage),
            (Code::InitFileNotOurs, Self::Usage),
            (Code::InitNotConfirmed, Self::Usage),
            (Code::DeterminismDriftDetected, Self::Drift),
            (Code::ExpectationUnmet, Self::Drift),
            (Code::EngineChanged, Self::Drift),
            (Code::InternalError, Self::Bug),
            (Code::PhaseMoveForbidden, Self::Bug),
        ];
        match special.iter().find(|(known, _)| *known == code) {
            Some((_, exit)) => *exit,
            None => Self::CouldNotComplete,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Pass => Self::Pass,
            Conclusion::Fail => Self::Fail,
            Conclusion::CouldNotComplete => Self::CouldNotComplete,
        }
    }
}

/// Error that ends a command without its result.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The stable code; none for a wrong command line.
    pub(crate) code: Option<Code>,
    /// Single line of trusted or escaped text, with secrets masked.
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let message = secrets::masked(message.into());
        Self { exit: Exit::Usage, code: None, message, hint: hint.into() }
    }

    pub(crate) fn with_code(code: Code, message: impl Into<String>) -> Self {
        let exit = Exit::without_verdict(code);
        let message = secrets::masked(message.into());
        Self { exit, code: Some(code), message, hint: code.hint().to_owned() }
    }

    /// Returns the reason why the run ends, if this failure is only its consequence: code that waits on the network reports a
    /// cancellation without the reason. Otherwise returns this failure.
    pub(crate) fn or_ending(self, cancellation: &Cancellation) -> Self {
        match cancellation.ending() {
            Some(ending) if self.code == Some(Code::Cancelled) => ending.error().into(),
            _ => self,
        }
    }

    /// Returns the code, or the program's name for a failure without one, as the title of an annotation.
    pub(crate) fn title(&self) -> &'static str {
        match self.code {
            Some(code) => code.as_str(),
            None => "qa-skill",
        }
    }

    pub(crate) fn policy(path: &str, error: &PolicyError) -> Self {
        Self::with_code(Code::PolicyInvalid, format!("failed to read {}", error.in_file(path)))
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Self { hint: error.hint.to_owned(), ..Self::with_code(error.code, error.message) }
    }
}

impl From<ForbiddenMove> for Failure {
    fn from(error: ForbiddenMove) -> Self {
        Self::with_code(error.code(), error.to_string())
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        Self {
            hint: error.hint().into_owned(),
            ..Self::with_code(error.code(), format!("failed to {error}"))
        }
    }
}

impl From<PushError> for Failure {
    fn from(error: PushError) -> Self {
        Self { hint: error.hint().to_owned(), ..Self::with_code(error.code(), format!("failed to {error}")) }
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::with_code(error.code(), format!("failed to reach a server: {error}"))
    }
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        Self { hint: error.hint(), ..Self::with_code(error.code(), format!("failed to {error}")) }
    }
}

impl From<InForceError> for Failure {
    fn from(error: InForceError) -> Self {
        match error.code() {
            Some(code) => Self::with_code(code, error.to_string()),
            None => Self::usage(error.to_string(), error.hint()),
        }
    }
}

impl From<EventError> for Failure {
    fn from(error: EventError) -> Self {
        Self { exit: Exit::Usage, ..Self::with_code(Code::EventUnusable, format!("failed to {error}")) }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let hint = error.hint().to_owned();
        Self { hint, ..Self::with_code(error.code(), format!("failed to {error}")) }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        let failure = Self::with_code(Code::InputInvalid, format!("failed to read {error}"));
        match error {
            SettingsError::Certificates(name) => Self {
                hint: format!(
                    "unset {name} for this step; for a private CA build an image from this one with the CA certificate in /etc/ssl/certs/ca-certificates.crt"
                ),
                ..failure
            },
            SettingsError::Input { name, meaning, .. } => {
                Self { hint: format!("change the input `{name}` of the workflow: {meaning}"), ..failure }
            }
            SettingsError::Environment(_) => failure,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::with_code(error.code(), format!("failed to {error}"))
    }
}
