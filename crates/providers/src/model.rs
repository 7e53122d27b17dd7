//! A model of the policy, ready to be asked: its binding, its address, and whose key is sent where.

use super::binding::resolve;
use super::contract::{Prompt, Provider, TokenUsage};
use super::endpoint::Endpoint;
use super::models;
use super::request::{Encoded, encode};
use qa_contracts::v1::{AdapterId, PolicyModel, ProviderBinding, TokenEstimator};

/// A model of the policy.
pub struct Model {
    pub binding: ProviderBinding,
    pub(crate) endpoint: Endpoint,
    pub provider: &'static dyn Provider,
}

impl Model {
    /// Resolves a model; what it would refuse is an error here, before anything is sent.
    pub fn new(name: &str, model: &PolicyModel) -> Result<Self, String> {
        let (binding, endpoint) = resolve(name, model).map_err(|error| error.to_string())?;
        let surface = binding.model.as_ref().map(|model| model.surface);
        let provider = super::find(surface.expect("a resolved binding has a surface"));
        Ok(Self { binding, endpoint, provider })
    }

    /// The request that a prompt becomes.
    pub fn request(&self, prompt: &Prompt) -> Encoded {
        encode(self.provider, prompt, &self.binding, &self.endpoint.base_url)
    }

    /// The variable that holds its key. No policy can name another one: a key goes to its own provider, or to an
    /// address that the base commit names instead of it.
    pub fn key_variable(&self) -> &'static str {
        match (self.endpoint.id.as_str(), self.binding.adapter_id) {
            ("github-models", _) => "GITHUB_TOKEN",
            (_, AdapterId::AnthropicClaude) => "ANTHROPIC_API_KEY",
            (_, AdapterId::Builtin | AdapterId::OpenaiCodex) => "OPENAI_API_KEY",
        }
    }

    /// Returns the token estimator of the model.
    pub fn estimator(&self) -> TokenEstimator {
        match self.binding.adapter_id {
            AdapterId::AnthropicClaude => TokenEstimator::AnthropicBytes,
            AdapterId::Builtin | AdapterId::OpenaiCodex => TokenEstimator::OpenaiBytes,
        }
    }

    /// Returns the cost of a usage by the maker's price list, in millionths of a US dollar. `tier` is the service tier
    /// that the reply reports.
    pub fn cost_micro_usd(&self, tier: Option<&str>, usage: TokenUsage) -> Option<u64> {
        let stated = self.binding.model.as_ref().and_then(|model| model.service_tier.as_deref());
        models::cost_micro_usd(models::bare(&self.binding.model_id), tier.or(stated), usage)
    }

    /// Returns the highest cost of a number of tokens, in millionths of a US dollar.
    pub fn cost_bound_micro_usd(&self, input: u64, output: u64) -> Option<u64> {
        let usage = TokenUsage {
            input: Some(input),
            cached_input: Some(0),
            cache_write: Some(0),
            output: Some(output),
            reasoning: None,
        };
        self.cost_micro_usd(None, usage)
    }

    /// Returns whether the table lists the model as retired by a day, `YYYY-MM-DD`.
    pub fn retires_by(&self, day: &str) -> bool {
        let known = models::find(models::bare(&self.binding.model_id));
        known.and_then(|model| model.retires.as_deref()).is_some_and(|retires| retires <= day)
    }

    /// Returns whether a reply is from the requested model, or from a version that its name may stand for.
    pub fn is_answered_by(&self, echoed: &str) -> bool {
        date_suffix(&self.binding.model_id, echoed).is_some()
    }

    /// Returns whether a reply is from a dated version of the requested name, which may point to another version
    /// tomorrow.
    pub fn is_alias_of(&self, echoed: &str) -> bool {
        date_suffix(&self.binding.model_id, echoed).is_some_and(|date| !date.is_empty())
    }
}

/// Returns the date suffix of the model that replied, empty if the names are equal, or `None` if it is another model.
fn date_suffix<'a>(requested: &str, echoed: &'a str) -> Option<&'a str> {
    let rest = models::bare(echoed).strip_prefix(models::bare(requested))?;
    (rest.is_empty() || is_date_suffix(rest)).then_some(rest)
}

/// Returns whether a text is `-YYYYMMDD` or `-YYYY-MM-DD`.
fn is_date_suffix(text: &str) -> bool {
    let digits: String = text.strip_prefix('-').unwrap_or("").split('-').collect();
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
