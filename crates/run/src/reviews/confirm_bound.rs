//! Highest usage of the requests to confirm findings, which is known before any finding is.

use super::{NamedModel, Reviews};
use qa_contracts::v1::LensPlan;
use qa_core::plan::{Refusal, Remaining, included_hunks};
use qa_core::policy::reviews::estimated_tokens;
use qa_providers::model::Model;

/// Maximum number of findings of a run that models are asked to confirm. Further ones block without being asked about.
pub(super) const MOST_CONFIRMED: u64 = 10;
/// Number of requests about one finding: to the confirming model, and to the review's own.
pub(super) const ROUNDS: u64 = 2;
/// Upper bound of a request's text around the file of its finding, in bytes.
const FRAME_BYTES: u64 = 8 << 10;

/// Highest usage of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageBound {
    pub requests: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// In millionths of a US dollar; `None` where no price is known.
    pub cost_micro_usd: Option<u64>,
}

impl UsageBound {
    pub const NONE: Self = Self { requests: 0, input_tokens: 0, output_tokens: 0, cost_micro_usd: Some(0) };

    /// Returns the usage of one request with a file of this size.
    pub(super) fn of_request(model: &Model, file_bytes: u64) -> Self {
        let input_tokens = estimated_tokens(model.estimator(), file_bytes.saturating_add(FRAME_BYTES));
        let output_tokens = model.binding.max_tokens;
        let cost_micro_usd = model.cost_bound_micro_usd(input_tokens, output_tokens);
        Self { requests: 1, input_tokens, output_tokens, cost_micro_usd }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micro_usd: self
                .cost_micro_usd
                .zip(other.cost_micro_usd)
                .map(|(one, other)| one.saturating_add(other)),
        }
    }

    pub(super) fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the usage of the most findings that may be asked about, each like this one.
    fn of_all_findings(self) -> Self {
        Self {
            requests: self.requests * MOST_CONFIRMED,
            input_tokens: self.input_tokens.saturating_mul(MOST_CONFIRMED),
            output_tokens: self.output_tokens.saturating_mul(MOST_CONFIRMED),
            cost_micro_usd: self.cost_micro_usd.map(|cost| cost.saturating_mul(MOST_CONFIRMED)),
        }
    }

    /// Returns the higher value of each member.
    fn or_higher(self, other: Self) -> Self {
        Self {
            requests: self.requests.max(other.requests),
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cost_micro_usd: self.cost_micro_usd.zip(other.cost_micro_usd).map(|(one, other)| one.max(other)),
        }
    }

    fn within(self, left: &Remaining) -> Self {
        Self {
            requests: self.requests,
            input_tokens: self.input_tokens.min(left.tokens),
            output_tokens: self.output_tokens.min(left.tokens),
            cost_micro_usd: self.cost_micro_usd.map(|cost| cost.min(left.cost_micro_usd)),
        }
    }
}

impl Reviews<'_> {
    /// Returns the highest usage of the confirmations of admitted plans, or `None` where the policy wants none: as many
    /// findings as are ever asked about, in the largest file, within what the plans leave of the run's budget.
    pub fn confirmation_bound(&self, plans: &[LensPlan], refusals: &[Option<Refusal>]) -> Option<UsageBound> {
        let mut highest: Option<UsageBound> = None;
        for (plan, _) in plans.iter().zip(refusals).filter(|(_, refusal)| refusal.is_none()) {
            let Some(models) = self.round_models(plan) else { continue };
            let included = included_hunks(plan, &self.change_set.files);
            let shown = included.iter().enumerate().filter(|(_, hunks)| hunks.is_some());
            let Some(bytes) = shown.map(|(position, _)| self.file_bytes(position)).max() else { continue };
            let bound = Self::finding_bound(models, bytes).of_all_findings();
            highest = Some(highest.unwrap_or(UsageBound::NONE).or_higher(bound));
        }
        let left = Remaining::after(plans, refusals, self.policy);
        highest.map(|bound| bound.within(&left))
    }

    /// Returns the highest usage of all rounds about one finding in a file of a size.
    pub(super) fn finding_bound(models: [&NamedModel<'_>; ROUNDS as usize], file_bytes: u64) -> UsageBound {
        let bounds = models.into_iter().map(|named| UsageBound::of_request(&named.model, file_bytes));
        bounds.fold(UsageBound::NONE, UsageBound::plus)
    }

    /// Returns the models of both rounds in order, or `None` for a plan whose findings nothing confirms.
    pub(super) fn round_models(&self, plan: &LensPlan) -> Option<[&NamedModel<'_>; ROUNDS as usize]> {
        plan.review.as_ref()?.confirm_binding_id.as_ref()?;
        let id = plan.lens_id.as_str();
        Some([self.confirming.get(id)?, self.models.get(id)?])
    }
}
