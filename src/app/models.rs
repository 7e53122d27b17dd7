//! The models of a policy, ready to be asked: bindings, addresses and whose key is sent where.

use crate::contracts::v1::{AdapterId, PolicyModel, ProviderBinding};
use crate::core::policy_text::{self, PolicyTextError};
use crate::providers;
use crate::providers::binding::resolve;
use crate::providers::contract::{Prompt, Provider};
use crate::providers::endpoint::Endpoint;
use crate::providers::request::{Encoded, encode};

/// A model of the policy.
pub(super) struct Model {
    pub(super) binding: ProviderBinding,
    pub(super) endpoint: Endpoint,
    pub(super) provider: &'static dyn Provider,
}

impl Model {
    /// Resolves a model; what it would refuse is an error here, before anything is sent.
    pub(super) fn of(name: &str, model: &PolicyModel) -> Result<Self, String> {
        let (binding, endpoint) = resolve(name, model).map_err(|error| error.to_string())?;
        let surface = binding.model.as_ref().map(|model| model.surface);
        let provider = providers::find(surface.expect("a resolved binding has a surface"));
        Ok(Self { binding, endpoint, provider })
    }

    /// The request that a prompt becomes.
    pub(super) fn request(&self, prompt: &Prompt) -> Encoded {
        encode(self.provider, prompt, &self.binding, &self.endpoint.base_url)
    }

    /// The variable that holds its key. No policy can name another one: a key goes to its own provider, or to an
    /// address that the base commit names instead of it.
    pub(super) fn key_variable(&self) -> &'static str {
        match (self.endpoint.id.as_str(), self.binding.adapter_id) {
            ("github-models", _) => "GITHUB_TOKEN",
            (_, AdapterId::AnthropicClaude) => "ANTHROPIC_API_KEY",
            (_, AdapterId::Builtin | AdapterId::OpenaiCodex) => "OPENAI_API_KEY",
        }
    }
}

/// Whether every model of a policy can be asked as the policy says.
pub(super) fn check<'a>(
    models: impl Iterator<Item = (&'a String, &'a PolicyModel)>,
    text: &str,
) -> Result<(), PolicyTextError> {
    for (name, model) in models {
        Model::of(name, model).map_err(|message| PolicyTextError {
            line: policy_text::line_of_table(text, &format!("[models.{name}]")),
            message,
            suggestion: None,
        })?;
    }
    Ok(())
}
