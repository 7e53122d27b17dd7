//! Asks the models of a run, before anything is derived: how much that may cost is said first.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::client::client;
use super::console::say;
use super::exit::Failure;
use super::inputs::{Opened, artifact_root};
use super::prepare::Prepared;
use crate::config::{provider_key, provider_keys};
use crate::store::Replies;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{LensPlan, RecordedReplies};
use qa_core::plan;
use qa_core::usage::{micro_usd, usd};
use qa_run::plans::{plans, reviews};
use qa_run::ports::{Cancellation, Objects, Progress};
use qa_run::reviews::{PullRequestBudget, RepliesMode, ReplyCollector};

/// The longest that all questions of a run may take together.
const BUDGET: Duration = Duration::from_secs(3 * 3600);

/// Use of models in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelUse {
    /// Source of replies.
    pub(crate) replies: RepliesMode,
    /// True if no model is used.
    pub(crate) no_model: bool,
    /// The pull request whose budget is used.
    pub(crate) pull_request: Option<u64>,
    /// The job's own token, which is the key of GitHub's models.
    pub(crate) token: Option<Secret>,
}

impl ModelUse {
    /// Returns the key in an environment variable, or the job's token, which a step has as an input.
    fn key(&self, variable: &str) -> Option<Secret> {
        provider_key(variable).or_else(|| self.token.clone().filter(|_| variable == "GITHUB_TOKEN"))
    }
}

/// Collects the replies to all reviews. Without a review it opens no store and prints nothing.
pub(crate) fn ask(
    prepared: &Prepared<'_>,
    opened: &Opened,
    cancellation: &Arc<Cancellation>,
    progress: &dyn Progress,
) -> Result<RecordedReplies, Failure> {
    prepared.with_ports(opened, cancellation, progress, |ports| {
        let inputs = &prepared.inputs;
        let policy = &inputs.in_force.policy;
        let reviews = reviews(inputs, ports);
        if reviews.models().is_empty() {
            return Ok(RecordedReplies::default());
        }
        let plans = plans(inputs, ports);
        let refusals = plan::reserve(&plans, policy);
        let requesting: Vec<&LensPlan> = plans
            .iter()
            .zip(&refusals)
            .filter(|(plan, refusal)| {
                refusal.is_none() && plan.review.is_some() && !plan.changed_files.is_empty()
            })
            .map(|(plan, _)| plan)
            .collect();
        if requesting.is_empty() {
            return Ok(RecordedReplies::default());
        }
        let ModelUse { replies: mode, no_model, .. } = prepared.request.models;
        let models = &prepared.request.models;
        let budget = models.pull_request.zip(policy.max_pull_request_cost_micro_usd);
        let secrets: Vec<Secret> = provider_keys().into_iter().chain(models.token.clone()).collect();
        if !no_model && mode != RepliesMode::Replay {
            say(&bound(&requesting));
        }
        let root = artifact_root(prepared.request, &opened.repository.root);
        if mode == RepliesMode::Replay {
            not_committed(&root, opened)?;
        }
        let collector = ReplyCollector {
            reviews: &reviews,
            plans: &plans,
            refusals: &refusals,
            mode,
            store: &Replies::below(&root)?,
            http: &client(BUDGET, cancellation)?,
            key: &|variable| models.key(variable),
            secrets: &secrets,
            refused: no_model.then_some("`no-model` is set, so no request was sent"),
            pull_request: models.pull_request,
            budget: budget
                .map(|(pull_request, max_micro_usd)| PullRequestBudget { pull_request, max_micro_usd }),
            concurrency: policy.max_concurrency,
            cancellation,
            progress,
        };
        Ok(collector.collect()?)
    })
}

/// Checks that no stored reply is committed: replay trusts replies without a seal, so they must not come with the
/// change.
#[expect(
    clippy::disallowed_methods,
    reason = "what counts is where the files really are; the path goes nowhere"
)]
fn not_committed(root: &Path, opened: &Opened) -> Result<(), Failure> {
    let hint = "pass --out with a directory that no commit has";
    let refused =
        |why: &str| Failure::usage(format!("stored replies cannot be replayed from there: {why}"), hint);
    // What is not there cannot be replayed either.
    let Ok(replies) = std::fs::canonicalize(root.join("replies")) else { return Ok(()) };
    let checkout = std::fs::canonicalize(&opened.repository.root);
    let checkout = checkout.map_err(|error| refused(&format!("the checkout cannot be found: {error}")))?;
    let Ok(inside) = replies.strip_prefix(&checkout) else { return Ok(()) };
    let inside = inside.to_str().ok_or_else(|| refused("its path is not Unicode"))?;
    let resolved = &opened.resolved;
    for commit in [&resolved.head, &resolved.base] {
        if opened.objects.is_tracked_at(commit, inside)? {
            return Err(refused("they are committed, so a change could answer for the model"));
        }
    }
    Ok(())
}

/// The most that plans may use, said before anything is asked.
fn bound(plans: &[&LensPlan]) -> String {
    let questions: u64 = plans.iter().filter_map(|plan| Some(plan.review.as_ref()?.samples)).sum();
    let input: u64 = plans.iter().map(|plan| plan.max_input_tokens).sum();
    let output: u64 = plans.iter().map(|plan| plan.max_output_tokens).sum();
    let costs: Option<u64> = plans.iter().map(|plan| plan.max_cost_usd.map(micro_usd)).sum();
    let cost =
        costs.map_or("at a price that no list tells".to_owned(), |cost| format!("at most {} USD", usd(cost)));
    format!(
        "models are asked {questions} questions: an estimated {input} tokens in, at most {output} out, {cost}; stored replies are not requested again\n"
    )
}
