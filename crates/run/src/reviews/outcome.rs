//! The outcome of a review: what its replies add up to.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Request;
use super::confirm::ParsedVerdict;
use super::request::SentRequest;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ReviewRecord, ReviewSample, ReviewUsage, Surface, UsageMetrics, UsageUnavailableReason,
};
use qa_core::canonical;
use qa_core::findings::Statement;
use qa_core::usage::usd;
use qa_lenses::reviews::answer::ModelFinding;
use qa_lenses::reviews::confirm::ModelVerdict;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;

/// Length limit of a sentence about a reply, in characters.
pub(super) const SENTENCE: usize = 300;

/// Statement of a review, with what the model says of it.
pub(crate) struct ReviewStatement {
    pub(crate) statement: Statement,
    /// The model's sentence alone, which another model may be asked to confirm.
    pub(crate) claim: String,
    /// True if the samples that have it name other lines or use other words, so that they may mean several flaws.
    pub(crate) differs: bool,
}

/// Outcome of a review: its findings, and the errors that make it incomplete.
#[derive(Default)]
pub struct ReviewOutcome {
    pub(crate) statements: Vec<ReviewStatement>,
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
    /// Replies to requests to confirm findings, in the same form.
    verdicts: Vec<NormalizedVerdict>,
}

/// Reply to a request to confirm a finding, without ids, times and usage.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NormalizedVerdict {
    surface: Surface,
    requested_model: String,
    echoed_model: Option<String>,
    outcome: Option<Code>,
    parsed_output: Option<ModelVerdict>,
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

    pub(super) fn not_recorded() -> Self {
        Self { code: Code::ReplayRecordingMissing, problem: "it is not in the recording".to_owned() }
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
        let usage = usage_metrics(&samples.iter().map(UsedReply::of_sample).collect::<Vec<_>>());
        self.warnings.extend(usage.total_tokens.is_none().then_some(Code::ProviderUsageUnavailable));
        let answered = samples.iter().filter(|sample| sample.code.is_none()).count();
        let findings: u64 = samples.iter().map(|sample| sample.findings).sum();
        let noun = if findings == 1 { "finding" } else { "findings" };
        let cost_text = match usage.cost_usd {
            Some(cost) => format!("{cost} USD"),
            None => "cost unknown".to_owned(),
        };
        self.summary.insert(
            0,
            format!(
                "{} answered {answered} of {}: {findings} {noun}, {unverified} without proof; {} tokens in, {} out, {cost_text}",
                request.sent.model.binding.model_id,
                samples.len(),
                count_text(usage.input_tokens),
                count_text(usage.output_tokens),
            ),
        );
        self.usage = Some(usage);
    }

    /// Returns the digest over the normalized replies.
    pub(crate) fn response_hash(&self) -> Sha256Hex {
        let digest = match self.verdicts.is_empty() {
            true => canonical::digest(&self.responses),
            false => canonical::digest(&(&self.responses, &self.verdicts)),
        };
        digest.expect("replies were parsed as JSON")
    }

    /// Adds the answer to a request to confirm a finding, or the code of one that does not count.
    pub(super) fn add_verdict(
        &mut self,
        request: &SentRequest<'_>,
        code: Option<Code>,
        answer: Option<&ParsedVerdict>,
    ) {
        let echoed = answer.and_then(|answer| answer.reply.echoed.model.clone());
        if echoed.as_ref().is_some_and(|echoed| request.model.is_alias_of(echoed)) {
            self.warnings.insert(Code::ModelAliasUnpinned);
        }
        self.verdicts.push(NormalizedVerdict {
            surface: request.model.provider.spec().surface,
            requested_model: request.model.binding.model_id.clone(),
            echoed_model: echoed,
            outcome: code,
            parsed_output: answer.map(|answer| answer.verdict.clone()),
        });
    }

    /// Adds the usage of the requests to confirm findings to that of the review's own.
    pub(super) fn sum_confirmations(&mut self) {
        let Some(record) = self.record.as_ref().filter(|record| !record.confirmations.is_empty()) else {
            return;
        };
        let rounds = record.confirmations.iter().flat_map(|confirmation| &confirmation.rounds);
        let rounds = rounds.map(|round| UsedReply { usage: &round.usage, is_failed: round.code.is_some() });
        let samples = record.samples.iter().map(UsedReply::of_sample);
        let usage = usage_metrics(&samples.chain(rounds).collect::<Vec<_>>());
        self.warnings.extend(usage.total_tokens.is_none().then_some(Code::ProviderUsageUnavailable));
        self.usage = Some(usage);
    }
}

/// Usage of a reply, valid or not.
struct UsedReply<'u> {
    usage: &'u ReviewUsage,
    is_failed: bool,
}

impl<'u> UsedReply<'u> {
    fn of_sample(sample: &'u ReviewSample) -> Self {
        Self { usage: &sample.usage, is_failed: sample.code.is_some() }
    }
}

/// Sums the usage of replies; a sum is `None` if one of them does not report it.
fn usage_metrics(replies: &[UsedReply<'_>]) -> UsageMetrics {
    let input = sum(replies, |usage| usage.input_tokens);
    let output = sum(replies, |usage| usage.output_tokens);
    let cost = sum(replies, |usage| usage.cost_micro_usd);
    let lacks_tokens = input.is_none() || output.is_none();
    let unavailable_reason = match (lacks_tokens, cost) {
        (true, _) if replies.iter().any(|reply| reply.is_failed) => {
            Some(UsageUnavailableReason::AdapterError)
        }
        (true, _) => Some(UsageUnavailableReason::MissingUsageData),
        (false, None) => Some(UsageUnavailableReason::ProviderNotSupported),
        (false, Some(_)) => None,
    };
    UsageMetrics {
        input_tokens: input,
        output_tokens: output,
        total_tokens: input.zip(output).map(|(input, output)| input.saturating_add(output)),
        cost_usd: cost.map(usd),
        unavailable_reason,
    }
}

fn sum(replies: &[UsedReply<'_>], member: fn(&ReviewUsage) -> Option<u64>) -> Option<u64> {
    let counts = replies.iter().map(|reply| member(reply.usage));
    counts.reduce(|left, right| Some(left?.saturating_add(right?))).flatten()
}

fn count_text(count: Option<u64>) -> String {
    match count {
        Some(count) => count.to_string(),
        None => "unknown".to_owned(),
    }
}
