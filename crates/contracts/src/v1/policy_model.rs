//! The policy's part about models: which one, where, and how it is asked.

use serde::{Deserialize, Serialize};

use super::{AdapterId, AuthScheme, Effort, SamplingMode, SamplingSupport, Surface};

/// A model that lenses may ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyModel {
    /// The adapter: `openai-codex` or `anthropic-claude`.
    pub provider: AdapterId,
    /// The model's exact id; no alias that moves.
    pub model: String,
    /// The dialect; the provider's own when absent.
    pub surface: Option<Surface>,
    /// `openai`, `anthropic`, `github-models` or an address that begins with https; the provider's own when absent.
    pub endpoint: Option<String>,
    /// The version of the API; the newest known when absent.
    pub api_version: Option<String>,
    /// How the key is sent; as the endpoint wants it when absent.
    pub auth_scheme: Option<AuthScheme>,
    /// What is said about sampling; `greedy` when absent, where the model accepts it.
    pub sampling: Option<SamplingMode>,
    /// How much the model reasons; the model's own default when absent, stated where the table of models knows it.
    pub effort: Option<Effort>,
    /// The tier of service; the standard one when absent.
    pub service_tier: Option<String>,
    /// The most tokens one answer may have, reasoning included; 16,000 when absent.
    pub max_output_tokens: Option<u64>,
    /// The deadline of one attempt; 600 when absent.
    pub timeout_seconds: Option<u64>,
    /// A seed, where the dialect has one.
    pub seed: Option<u64>,
    /// What a model accepts that is not in the table of models.
    pub capabilities: Option<PolicyModelCapabilities>,
}

/// What a model accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyModelCapabilities {
    /// Which sampling parameters.
    pub sampling: SamplingSupport,
    /// Which efforts; none when absent.
    #[serde(default)]
    pub efforts: Vec<Effort>,
    /// The most tokens of one answer.
    pub max_output_tokens: u64,
}
