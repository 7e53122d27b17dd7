//! Interface of a provider: encodes a prompt as a request body, and decodes responses. It opens no socket.

use serde_json::Value;

use qa_contracts::codes::Code;
use qa_contracts::v1::{AdapterId, AuthScheme, ModelBinding, ProviderBinding, Surface};

/// A dialect of a provider.
#[derive(Debug)]
pub struct ProviderSpec {
    /// The dialect, the key of [`super::ALL`].
    pub surface: Surface,
    /// The adapter it belongs to.
    pub(crate) adapter_id: AdapterId,
    /// Changed whenever the same prompt may give other bytes; it is part of the execution key.
    pub(crate) version: &'static str,
    /// Path of the request below the endpoint's URL.
    pub(crate) path: &'static str,
    /// Versions of the API that can be asked for, the default first; empty where there is nothing to ask for.
    pub(crate) api_versions: &'static [&'static str],
    /// Supported headers for keys, the default first.
    pub(crate) auth_schemes: &'static [AuthScheme],
    /// Tiers of service that can be asked for, the default first.
    pub(crate) service_tiers: &'static [&'static str],
    /// True if the API accepts a seed.
    pub(crate) has_seed: bool,
}

/// Prompt of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Task description; it contains no text of the change.
    pub instructions: String,
    /// Text under review.
    pub packet: String,
    /// The schema's name, of letters, digits, `_` and `-`.
    pub schema_name: &'static str,
    /// JSON schema of the reply, inside the subset that every dialect supports.
    pub schema: Value,
}

/// An answer that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The answer's text, which should be JSON of the schema and may be anything.
    pub text: String,
    /// Settings that the provider reports for this reply.
    pub echoed: Echoed,
    /// Token usage.
    pub usage: TokenUsage,
}

/// Settings that the provider reports for a reply, verbatim; `None` where it reports none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Echoed {
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub effort: Option<String>,
    pub service_tier: Option<String>,
    pub system_fingerprint: Option<String>,
}

/// Tokens; null where the provider says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// All that was sent, cached or not.
    pub input: Option<u64>,
    /// Of these, read from the provider's cache.
    pub cached_input: Option<u64>,
    /// Of these, written to it.
    pub cache_write: Option<u64>,
    /// All that was generated.
    pub output: Option<u64>,
    /// Of these, reasoning that is not part of the answer.
    pub reasoning: Option<u64>,
}

/// Failure of a request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Error code.
    pub code: Code,
    /// True if a retry of the same request may succeed.
    pub is_transient: bool,
    /// Message of the provider, verbatim. Callers mask keys before they cut and escape it: a key that was cut could no
    /// longer be found.
    pub message: String,
}

impl Failed {
    /// Returns a failure that no retry can fix.
    pub fn terminal(code: Code, message: &str) -> Self {
        Self { code, is_transient: false, message: message.to_owned() }
    }

    /// Returns a failure after which a retry may succeed.
    pub(crate) fn transient(code: Code, message: &str) -> Self {
        Self { is_transient: true, ..Self::terminal(code, message) }
    }
}

/// A dialect, which [`super::request`] and [`super::outcome`] ask. Functions of their arguments alone.
pub trait Provider: Sync {
    fn spec(&self) -> &'static ProviderSpec;

    /// The request's body. Its canonical JSON is what is sent. `model` is the binding's own; the built-in binding has
    /// none and never comes here.
    fn body(&self, prompt: &Prompt, binding: &ProviderBinding, model: &ModelBinding) -> Value;

    /// Decodes the body of a response with status 2xx. Unknown and missing members are errors.
    fn decode_reply(&self, body: &Value) -> Result<Reply, Failed>;

    /// Decodes the body of any other response; `Null` stands for a body that is not JSON.
    fn fault(&self, body: &Value) -> Fault;
}

/// Error in a response body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// Error code of the dialect, the most specific one: `insufficient_quota`.
    pub(crate) word: String,
    /// Message for people.
    pub(crate) message: String,
}
