//! A prompt as it is sent to one model, and what a recorded reply to it says and costs, whatever was asked.

use super::outcome::{ReplyError, SENTENCE};
use qa_contracts::codes::Code;
use qa_contracts::v1::{EffectiveModel, RecordedReply, RecordedResponse, ReviewUsage};
use qa_core::canonical;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;
use qa_providers::model::Model;
use qa_providers::outcome;
use qa_providers::request::Encoded;

/// Request that a model gets, with the check of its replies. Called from any thread.
pub(super) trait Question: Sync {
    /// Returns the request as it is sent.
    fn sent(&self) -> &SentRequest<'_>;

    /// Returns whether a reply can be used. Others are not stored, so that the next run sends the request again.
    fn accepts(&self, reply: &RecordedReply) -> bool;
}

/// Prompt that is encoded for a model.
pub(crate) struct SentRequest<'r> {
    pub(crate) model: &'r Model,
    pub(crate) encoded: Encoded,
}

impl SentRequest<'_> {
    /// Decodes a recorded reply: complete, and of the model that was asked.
    pub(super) fn decode(&self, recorded: &RecordedReply) -> Result<Reply, ReplyError> {
        let Some(response) = &recorded.response else {
            return Err(ReplyError {
                code: recorded.code.unwrap_or(Code::InternalError),
                problem: recorded.problem.clone().unwrap_or_default(),
            });
        };
        let decoded = outcome::decode(
            self.model.provider,
            response.status,
            |name| recorded_header(response, name),
            response.body.as_bytes(),
        );
        // The error quotes the reply, so its text is cleaned.
        let reply = decoded
            .map_err(|failed| ReplyError { code: failed.code, problem: plain(&failed.message, SENTENCE) })?;
        if let Some(echoed) = reply.echoed.model.as_ref().filter(|echoed| !self.model.is_answered_by(echoed))
        {
            let wanted = &self.model.binding.model_id;
            return Err(ReplyError::invalid(&format!("{echoed} answered in the place of {wanted}")));
        }
        Ok(reply)
    }

    /// Returns whether a record is of this request and consistent in itself.
    pub(super) fn matches(&self, recorded: &RecordedReply) -> bool {
        let last = recorded.attempts.last().and_then(|attempt| attempt.status);
        recorded.surface == self.model.provider.spec().surface
            && recorded.request_body_sha256 == canonical::sha256(&self.encoded.body)
            && recorded.response.as_ref().map(|response| response.status) == last
            && recorded.response.is_some() != recorded.code.is_some()
    }

    /// Returns the cost of a reply by the provider's price list, in millionths of a US dollar. A successful response that
    /// cannot be used is billed too, so it counts as `bound`; a response with an error status costs nothing.
    pub(super) fn spent_micro_usd(&self, recorded: &RecordedReply, is_usable: bool, bound: u64) -> u64 {
        let is_billed =
            recorded.response.as_ref().is_some_and(|response| (200..300).contains(&response.status));
        match self.decode(recorded) {
            Ok(reply) if is_usable => self.usage(&reply).cost_micro_usd.unwrap_or(bound),
            Ok(_) => bound,
            Err(_) if is_billed => bound,
            Err(_) => 0,
        }
    }

    pub(super) fn usage(&self, reply: &Reply) -> ReviewUsage {
        let used = reply.usage;
        ReviewUsage {
            input_tokens: used.input,
            cached_input_tokens: used.cached_input,
            cache_write_tokens: used.cache_write,
            output_tokens: used.output,
            reasoning_tokens: used.reasoning,
            cost_micro_usd: self.model.cost_micro_usd(reply.echoed.service_tier.as_deref(), used),
        }
    }
}

pub(super) fn effective_model(reply: &Reply) -> EffectiveModel {
    let echoed = reply.echoed.clone();
    EffectiveModel {
        model: echoed.model,
        temperature: echoed.temperature,
        top_p: echoed.top_p,
        effort: echoed.effort,
        service_tier: echoed.service_tier,
        system_fingerprint: echoed.system_fingerprint,
    }
}

/// Returns the usage of a sample without a usable reply: unknown if a request was sent, else zero.
pub(super) fn failed_usage(recorded: Option<&RecordedReply>) -> ReviewUsage {
    if recorded.is_some_and(|reply| !reply.attempts.is_empty()) {
        return ReviewUsage::default();
    }
    let zero = Some(0);
    ReviewUsage {
        input_tokens: zero,
        cached_input_tokens: zero,
        cache_write_tokens: zero,
        output_tokens: zero,
        reasoning_tokens: zero,
        cost_micro_usd: zero,
    }
}

fn recorded_header(response: &RecordedResponse, name: &str) -> Option<String> {
    response.headers.iter().find(|header| header.name == name).map(|header| header.value.clone())
}
