//! What a provider is: how a prompt becomes the body of a request, and what an answer says. It opens no socket.

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
    /// What follows the address of an endpoint.
    pub(crate) path: &'static str,
    /// Versions of the API that can be asked for, the default first; empty where there is nothing to ask for.
    pub(crate) api_versions: &'static [&'static str],
    /// How keys may be sent, the default first.
    pub(crate) auth_schemes: &'static [AuthScheme],
    /// Tiers of service that can be asked for, the default first.
    pub(crate) service_tiers: &'static [&'static str],
    /// Whether a seed can be sent.
    pub(crate) has_seed: bool,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What is asked for; ours alone.
    pub instructions: String,
    /// What it is asked about.
    pub packet: String,
    /// The schema's name, of letters, digits, `_` and `-`.
    pub schema_name: &'static str,
    /// What the answer has to be; inside the subset that every dialect accepts.
    pub schema: Value,
}

/// An answer that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The answer's text, which should be JSON of the schema and may be anything.
    pub text: String,
    /// What the provider says it used.
    pub echoed: Echoed,
    /// What it cost.
    pub usage: TokenUsage,
}

/// What the provider says about how it answered, as it says it; null where it says nothing.
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

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// What it comes to.
    pub code: Code,
    /// Whether the same request may succeed a little later.
    pub is_transient: bool,
    /// What the provider says, as it says it. Whoever shows it masks keys first, then cuts and escapes it: after a cut a
    /// key could not be found any more.
    pub said: String,
}

impl Failed {
    /// A failure that asking again does not mend.
    pub fn terminal(code: Code, said: &str) -> Self {
        Self { code, is_transient: false, said: said.to_owned() }
    }

    /// A failure that may be over a little later.
    pub(crate) fn transient(code: Code, said: &str) -> Self {
        Self { is_transient: true, ..Self::terminal(code, said) }
    }
}

/// A dialect, which [`super::request`] and [`super::outcome`] ask. Functions of their arguments alone.
pub trait Provider: Sync {
    fn spec(&self) -> &'static ProviderSpec;

    /// The request's body. Its canonical JSON is what is sent. `model` is the binding's own; the built-in binding has
    /// none and never comes here.
    fn body(&self, prompt: &Prompt, binding: &ProviderBinding, model: &ModelBinding) -> Value;

    /// What the body of an answer with status 2xx says. Whatever is unknown or missing is no answer.
    fn read(&self, body: &Value) -> Result<Reply, Failed>;

    /// What the body of any other answer says beside its status; `Null` stands for one that is no JSON.
    fn fault(&self, body: &Value) -> Fault;
}

/// What an error says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fault {
    /// The dialect's own word for it, the most exact there is: `insufficient_quota`.
    pub(crate) word: String,
    /// For people.
    pub(crate) message: String,
}
