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
    /// Form in which the key is sent; the endpoint's own when absent.
    pub auth_scheme: Option<AuthScheme>,
    /// Sampling parameters that are sent; `greedy` when absent, where the model accepts it.
    pub sampling: Option<SamplingMode>,
    /// Reasoning effort; the model's own default when absent, sent where the table of models has it.
    pub effort: Option<Effort>,
    /// The tier of service; the standard one when absent.
    pub service_tier: Option<String>,
    /// The most tokens one answer may have, reasoning included; 16,000 when absent.
    pub max_output_tokens: Option<u64>,
    /// The deadline of one attempt; 600 when absent.
    pub timeout_seconds: Option<u64>,
    /// A seed, where the dialect has one.
    pub seed: Option<u64>,
    /// Capabilities of a model that is not in the table of models.
    pub capabilities: Option<PolicyModelCapabilities>,
}

/// Capabilities of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyModelCapabilities {
    /// Sampling parameters that it accepts.
    pub sampling: SamplingSupport,
    /// Reasoning efforts that it accepts; none when absent.
    #[serde(default)]
    pub efforts: Vec<Effort>,
    /// The most tokens of one answer.
    pub max_output_tokens: u64,
}
