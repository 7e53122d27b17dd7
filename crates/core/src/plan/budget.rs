//! Admits plans by reservation in queue order, so that timing never decides which plan is skipped (C-26).

use std::collections::BTreeMap;

use crate::observer::is_deferred;
use crate::policy::Policy;
use crate::usage::micro_usd;
use qa_contracts::codes::Code;
use qa_contracts::v1::{LensPlan, LensStatus, OverflowPolicy};

/// Status of a plan that is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub status: LensStatus,
    pub code: Code,
    /// True if a person is asked to decide.
    pub escalated: bool,
}

impl Refusal {
    /// Refuses a plan that waits for a later turn.
    fn deferred() -> Self {
        Self { status: LensStatus::Skipped, code: Code::CadenceDeferred, escalated: false }
    }

    /// Refuses a plan over a budget, as its overflow policy says.
    pub fn over_budget(plan: &LensPlan, code: Code) -> Self {
        let (status, escalated) = match plan.overflow_policy {
            OverflowPolicy::Stop => (LensStatus::Failed, false),
            OverflowPolicy::Skip => (LensStatus::Skipped, false),
            OverflowPolicy::Escalate => (LensStatus::Skipped, true),
        };
        Self { status, code, escalated }
    }
}

/// Budget of a run that plans leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining {
    pub tokens: u64,
    pub cost_micro_usd: u64,
}

impl Remaining {
    fn whole(policy: &Policy) -> Self {
        Self { tokens: policy.max_tokens, cost_micro_usd: policy.max_cost_micro_usd }
    }

    /// Returns what the reservations of admitted plans leave: nothing, if they were admitted under a larger budget.
    pub fn after(plans: &[LensPlan], refusals: &[Option<Refusal>], policy: &Policy) -> Self {
        let mut remaining = Self::whole(policy);
        for (plan, _) in plans.iter().zip(refusals).filter(|(_, refusal)| refusal.is_none()) {
            if !remaining.take_plan(plan) {
                return Self { tokens: 0, cost_micro_usd: 0 };
            }
        }
        remaining
    }

    /// Reserves a usage. Reserves nothing and returns false if it does not fit.
    pub fn take(&mut self, tokens: u64, cost_micro_usd: u64) -> bool {
        let fits = tokens <= self.tokens && cost_micro_usd <= self.cost_micro_usd;
        if fits {
            self.tokens -= tokens;
            self.cost_micro_usd -= cost_micro_usd;
        }
        fits
    }

    fn take_plan(&mut self, plan: &LensPlan) -> bool {
        let tokens = plan.max_input_tokens.saturating_add(plan.max_output_tokens);
        self.take(tokens, plan.max_cost_usd.map(micro_usd).unwrap_or(0))
    }
}

/// Walks plans in queue order and reserves the maximum usage of each that is not deferred; the actual usage changes nothing later. Returns
/// one entry per plan, `None` where it is admitted.
pub fn reserve(plans: &[LensPlan], policy: &Policy) -> Vec<Option<Refusal>> {
    let mut remaining = Remaining::whole(policy);
    let mut read: BTreeMap<&str, u64> = BTreeMap::new();
    plans
        .iter()
        .map(|plan| {
            if is_deferred(plan) {
                return Some(Refusal::deferred());
            }
            if let Some(review) = &plan.review {
                let settings = policy.lenses.get(&plan.lens_id).and_then(|lens| lens.review.as_ref());
                let limit = match settings {
                    Some(settings) => settings.max_input_tokens,
                    None => 0,
                };
                let read = read.entry(&plan.lens_id).or_default();
                *read = read.saturating_add(plan.max_input_tokens / review.samples.max(1));
                if *read > limit {
                    return Some(Refusal::over_budget(plan, Code::BudgetLensExceeded));
                }
            }
            if remaining.take_plan(plan) {
                return None;
            }
            Some(Refusal::over_budget(plan, Code::BudgetRunExceeded))
        })
        .collect()
}
