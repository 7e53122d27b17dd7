//! The outcome of a review: what its replies add up to.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Request;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ReviewRecord, ReviewSample, ReviewUsage, Surface, UsageMetrics, UsageUnavailableReason,
};
use qa_core::canonical;
use qa_core::findings::Statement;
use qa_core::usage::usd;
use qa_lenses::reviews::answer::ModelFinding;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;

/// Length limit of a sentence about a reply, in characters.
pub(super) const SENTENCE: usize = 300;

/// Outcome of a review: its findings, and the errors that make it incomplete.
#[derive(Default)]
pub struct ReviewOutcome {
    pub(crate) statements: Vec<Statement>,
    /// Reasons why the plan is incomplete.
    pub(crate) errors: BTreeSet<Code>,
    pub(crate) warnings: BTreeSet<Code>,
    /// True if more than half of the quotes could not be located in the change.
    pub(crate) is_doubtful: bool,
    pub(crate) summary: Vec<String>,
    pub(crate) usage: Option<UsageMetrics>,
    pub(crate) record: Option<ReviewRecord>,
    /// Replies without the members that differ between equal replies.
    pub(crate) responses: Vec<NormalizedReply>,
}

/// Model reply without ids, times and usage.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NormalizedReply {
    surface: Surface,
    requested_model: String,
    echoed_model: Option<String>,
    outcome: Option<Code>,
    parsed_output: Option<Vec<ModelFinding>>,
}

/// Error of a reply that cannot be used.
pub(super) struct ReplyError {
    pub(super) code: Code,
    pub(super) problem: String,
}

impl ReplyError {
    pub(super) fn invalid(problem: &str) -> Self {
        Self { code: Code::ProviderOutputInvalid, problem: plain(problem, SENTENCE) }
    }
}

impl ReviewOutcome {
    pub(super) fn add_reply(&mut self, request: &Request<'_>, reply: &Reply, findings: &[ModelFinding]) {
        if reply.echoed.model.as_ref().is_some_and(|echoed| request.sent.model.is_alias_of(echoed)) {
            self.warnings.insert(Code::ModelAliasUnpinned);
        }
        self.responses.push(NormalizedReply {
            surface: request.sent.model.provider.spec().surface,
            requested_model: request.sent.model.binding.model_id.clone(),
            echoed_model: reply.echoed.model.clone(),
            outcome: None,
            parsed_output: Some(findings.to_vec()),
        });
    }

    pub(super) fn add_failure(&mut self, request: &Request<'_>, sample: u64, error: &ReplyError) {
        self.errors.insert(error.code);
        let problem = qa_core::masking::sanitize_cut(&error.problem, SENTENCE);
        self.summary.push(format!("answer {sample}: {}: {problem}", error.code));
        self.responses.push(NormalizedReply {
            surface: request.sent.model.provider.spec().surface,
            requested_model: request.sent.model.binding.model_id.clone(),
            echoed_model: None,
            outcome: Some(error.code),
            parsed_output: None,
        });
    }

    /// Sums the usage of all samples; a sum is `None` if one of them does not report it.
    pub(super) fn sum_usage(&mut self, request: &Request<'_>, samples: &[ReviewSample], unverified: u64) {
        let input = sum(samples, |usage| usage.input_tokens);
        let output = sum(samples, |usage| usage.output_tokens);
        let cost = sum(samples, |usage| usage.cost_micro_usd);
        let lacks_tokens = input.is_none() || output.is_none();
        let failed = samples.iter().any(|sample| sample.code.is_some());
        let unavailable_reason = match (lacks_tokens, cost) {
            (true, _) if failed => Some(UsageUnavailableReason::AdapterError),
            (true, _) => Some(UsageUnavailableReason::MissingUsageData),
            (false, None) => Some(UsageUnavailableReason::ProviderNotSupported),
            (false, Some(_)) => None,
        };
        if lacks_tokens {
            self.warnings.insert(Code::ProviderUsageUnavailable);
        }
        let answered = samples.iter().filter(|sample| sample.code.is_none()).count();
        let findings: u64 = samples.iter().map(|sample| sample.findings).sum();
        let noun = if findings == 1 { "finding" } else { "findings" };
        let cost_text = match cost {
            Some(cost) => format!("{} USD", usd(cost)),
            None => "cost unknown".to_owned(),
        };
        self.summary.insert(
            0,
            format!(
                "{} answered {answered} of {}: {findings} {noun}, {unverified} without proof; {} tokens in, {} out, {cost_text}",
                request.sent.model.binding.model_id,
                samples.len(),
                count_text(input),
                count_text(output),
            ),
        );
        self.usage = Some(UsageMetrics {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input.zip(output).map(|(input, output)| input.saturating_add(output)),
            cost_usd: cost.map(usd),
            unavailable_reason,
        });
    }

    /// Returns the digest over the normalized replies.
    pub(crate) fn response_hash(&self) -> Sha256Hex {
        canonical::digest(&self.responses).expect("replies were parsed as JSON")
    }
}

fn sum(samples: &[ReviewSample], member: fn(&ReviewUsage) -> Option<u64>) -> Option<u64> {
    let counts = samples.iter().map(|sample| member(&sample.usage));
    counts.reduce(|left, right| Some(left?.saturating_add(right?))).flatten()
}

fn count_text(count: Option<u64>) -> String {
    match count {
        Some(count) => count.to_string(),
        None => "unknown".to_owned(),
    }
}
