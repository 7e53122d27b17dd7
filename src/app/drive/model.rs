//! Asks models of the policy: one for the edits of a turn, and one for its plan. Nothing runs by an answer.

use std::sync::Arc;
use std::time::Duration;

use crate::app::client::{Client, client};
use crate::app::exit::Failure;
use crate::app::inputs::ModelUse;
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::v1::DriveTokens;
use qa_core::drive::model_turn::Question;
use qa_core::masking::sanitize;
use qa_core::policy::Policy;
use qa_providers::contract::Prompt;
use qa_providers::model::Model;
use qa_run::ask::ModelRequest;
use qa_run::ports::Cancellation;

/// Time limit of one attempt at a request.
const ATTEMPT: Duration = Duration::from_secs(300);
/// Time limit of all requests of a drive together.
const BUDGET: Duration = Duration::from_secs(3 * 3600);

/// A model that a drive asks.
pub(super) struct DriveModel {
    model: Model,
    key: Secret,
    http: Client,
}

/// Answer of a model to one question.
pub(super) struct Answered {
    /// Text of the answer, with the key masked; empty where it cannot be read.
    pub(super) text: String,
    /// `None` where the provider counts none.
    pub(super) tokens: Option<DriveTokens>,
    /// Cost in millionths of a US dollar; `None` where the price is unknown.
    pub(super) cost_micro_usd: Option<u64>,
}

/// Result of a question that was sent.
pub(super) enum Asked {
    Answered(Answered),
    /// Nothing was answered, and nothing is billed.
    Failed(Failure),
}

impl DriveModel {
    /// Prepares the model that the policy names as the agent `builtin:model`.
    pub(super) fn for_edits(
        policy: &Policy,
        models: &ModelUse,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        let name = policy.drive.model.as_deref().ok_or_else(|| {
            Failure::usage(
                "the policy of the base names no model for drives",
                "set `model` under [drive] to a name of [models] on the base branch, or name another --agent",
            )
        })?;
        if models.no_model {
            return Err(Failure::usage("`no-model` is set, and the agent is a model", "name another agent"));
        }
        Self::new(name, policy, models, cancellation)
    }

    /// Prepares the model that the policy names for plans of turns; `None` without one.
    pub(super) fn for_plans(
        policy: &Policy,
        models: &ModelUse,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Option<Self>, Failure> {
        let Some(name) = policy.drive.coordinator.as_deref() else { return Ok(None) };
        if models.no_model {
            return Err(Failure::usage(
                "`no-model` is set, and the policy of the base names a model that plans turns",
                "leave `no-model` out, or take `coordinator` from [drive] on the base branch",
            ));
        }
        Self::new(name, policy, models, cancellation).map(Some)
    }

    fn new(
        name: &str,
        policy: &Policy,
        models: &ModelUse,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        // The policy was checked: it has a model of this name.
        let settings = &policy.models[name];
        let model = Model::new(name, settings)
            .map_err(|reason| Failure::with_code(Code::PolicyInvalid, sanitize(&reason)))?;
        let variable = model.key_variable();
        let key = models.key(variable).ok_or_else(|| {
            let message = format!("{variable} is not set, and the model `{name}` needs it");
            Failure::with_code(Code::ProviderAuthError, message)
        })?;
        Ok(Self { model, key, http: client(BUDGET, cancellation)? })
    }

    /// Returns the highest cost of a question, in millionths of a US dollar; `None` where the price is unknown.
    pub(super) fn cost_bound_micro_usd(&self, question: &Question) -> Option<u64> {
        let bytes = question.instructions.len() + question.packet.len() + question.schema.to_string().len();
        // No tokenizer makes more tokens than bytes, and each attempt may be billed.
        let attempts = 1 + self.model.binding.retry_backoff_ms.len() as u64;
        self.model.cost_bound_micro_usd(bytes as u64, self.model.binding.max_tokens)?.checked_mul(attempts)
    }

    /// Asks a question. A model that cannot be asked ends the drive for now; the next command goes on with the same turn.
    pub(super) fn ask(&self, question: &Question) -> Result<Answered, Failure> {
        match self.try_ask(question)? {
            Asked::Answered(answered) => Ok(answered),
            Asked::Failed(failure) => Err(failure),
        }
    }

    /// Asks a question. The error is that the drive was cancelled.
    pub(super) fn try_ask(&self, question: &Question) -> Result<Asked, Failure> {
        let prompt = Prompt {
            instructions: question.instructions.clone(),
            packet: question.packet.clone(),
            schema_name: question.schema_name,
            schema: question.schema.clone(),
        };
        let request = ModelRequest {
            provider: self.model.provider,
            binding: &self.model.binding,
            request: &self.model.request(&prompt),
            key: &self.key,
            deadline: ATTEMPT,
        };
        let exchange = request.send(&self.http)?;
        let is_billed = exchange.attempts.iter().any(|attempt| matches!(attempt.status, Some(200..=299)));
        // An answer that cannot be used is paid for too.
        let unusable = Asked::Answered(Answered {
            text: String::new(),
            tokens: None,
            cost_micro_usd: self.cost_bound_micro_usd(question),
        });
        let reply = match exchange.result {
            Ok(reply) => reply,
            Err(_) if is_billed => return Ok(unusable),
            Err(failed) => {
                let message = failed.message.replace(self.key.expose(), "[key]");
                let message = format!("failed to ask the model: {}", sanitize(&message));
                return Ok(Asked::Failed(Failure::with_code(failed.code, message)));
            }
        };
        if reply.echoed.model.as_ref().is_some_and(|echoed| !self.model.is_answered_by(echoed)) {
            return Ok(unusable);
        }
        let (input, output) = (reply.usage.input, reply.usage.output);
        Ok(Asked::Answered(Answered {
            text: reply.text.replace(self.key.expose(), "[key]"),
            tokens: input.zip(output).map(|(input, output)| DriveTokens { input, output }),
            cost_micro_usd: self.model.cost_micro_usd(reply.echoed.service_tier.as_deref(), reply.usage),
        }))
    }
}
