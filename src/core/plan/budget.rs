//! Admits plans by reservation in queue order, so that timing never decides who is skipped (C-26).

use crate::contracts::codes::Code;
use crate::contracts::v1::{LensPlan, LensStatus, OverflowPolicy, RunMode};
use crate::core::usage::micro_usd;

/// What a plan that is not admitted becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: LensStatus,
    pub(crate) code: Code,
    /// Whether the summary asks a person to look.
    pub(crate) escalated: bool,
}

/// Walks plans in queue order and reserves what each may use at most. What a plan really uses later changes nothing.
///
/// Overflow (C-25): a required plan stops whatever the mode; a plan that is not required stops in strict mode, and in
/// best-effort mode does what its overflow policy says.
pub(crate) fn reserve(
    plans: &[LensPlan],
    mode: RunMode,
    max_tokens: u64,
    max_cost_micro_usd: Option<u64>,
) -> Vec<Option<Refusal>> {
    let mut tokens_left = max_tokens;
    let mut cost_left = max_cost_micro_usd;
    plans
        .iter()
        .map(|plan| {
            let tokens = plan.max_input_tokens.saturating_add(plan.max_output_tokens);
            let cost = plan.max_cost_usd.map_or(0, micro_usd);
            let fits = tokens <= tokens_left && cost_left.is_none_or(|left| cost <= left);
            if fits {
                tokens_left -= tokens;
                cost_left = cost_left.map(|left| left - cost);
                return None;
            }
            Some(refusal(plan, mode))
        })
        .collect()
}

fn refusal(plan: &LensPlan, mode: RunMode) -> Refusal {
    let stop = Refusal { status: LensStatus::Failed, code: Code::BudgetRunExceeded, escalated: false };
    if plan.required {
        return stop;
    }
    match (mode, plan.overflow_policy) {
        (RunMode::Strict, _) | (RunMode::BestEffort, OverflowPolicy::Stop) => stop,
        (RunMode::BestEffort, OverflowPolicy::Skip) => Refusal { status: LensStatus::Skipped, ..stop },
        (RunMode::BestEffort, OverflowPolicy::Escalate) => {
            Refusal { status: LensStatus::Skipped, escalated: true, ..stop }
        }
    }
}
