//! Collects the models' replies of a run before the derivation, after it prints the maximum cost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::client::client;
use super::console::write_stderr;
use super::exit::Failure;
use super::inputs::{ModelUse, Opened, artifact_root};
use super::prepare::Prepared;
use crate::config::provider_keys;
use crate::store::Replies;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{LensPlan, RecordedReplies};
use qa_core::plan;
use qa_core::usage::{micro_usd, usd};
use qa_run::plans::{plans, reviews};
use qa_run::ports::{Cancellation, Objects, Progress};
use qa_run::reviews::{NoStore, PullRequestBudget, RepliesMode, ReplyCollector, ReplyStore, UsageBound};

/// Time limit of all model requests of a run together.
const BUDGET: Duration = Duration::from_secs(3 * 3600);

/// Collects the replies to all reviews. Without a review it opens no store and prints nothing.
pub(crate) fn collect_replies(
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
            let known = prepared.request.models.earlier.clone();
            return Ok(RecordedReplies { known, ..RecordedReplies::default() });
        }
        let ModelUse { replies: mode, no_model, .. } = prepared.request.models;
        let models = &prepared.request.models;
        let budget = models.pull_request.zip(policy.max_pull_request_cost_micro_usd);
        let secrets: Vec<Secret> = provider_keys().into_iter().chain(models.token.clone()).collect();
        let is_committed = prepared.request.uncommitted.is_none();
        if is_committed && !no_model && mode != RepliesMode::Replay {
            write_stderr(&maximum_usage(&requesting, reviews.confirmation_bound(&plans, &refusals)));
        }
        let root = artifact_root(prepared.request, &opened.repository.root);
        if mode == RepliesMode::Replay {
            refuse_committed_replies(&root, opened)?;
        }
        let stored;
        let store: &dyn ReplyStore = if is_committed {
            stored = Replies::below(&root)?;
            &stored
        } else {
            &NoStore
        };
        let collector = ReplyCollector {
            reviews: &reviews,
            plans: &plans,
            refusals: &refusals,
            mode,
            store,
            // Requests that the run cannot wait for end before it has to.
            http: &client(
                cancellation.time_for_plans().map_or(BUDGET, |left| left.min(BUDGET)),
                cancellation,
            )?,
            key: &|variable| models.key(variable),
            secrets: &secrets,
            earlier: &models.earlier,
            refused: match is_committed {
                true => no_model.then_some("`no-model` is set, so no request was sent"),
                false => Some("what is not committed is sent to no model"),
            },
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

/// Fails if stored replies are committed: replay trusts replies without a seal, so a change must not bring them.
#[expect(
    clippy::disallowed_methods,
    reason = "the check needs the real location of the files; the path is not passed on"
)]
fn refuse_committed_replies(root: &Path, opened: &Opened) -> Result<(), Failure> {
    // A directory that does not exist holds no replies.
    let Ok(replies) = std::fs::canonicalize(root.join("replies")) else { return Ok(()) };
    let checkout = std::fs::canonicalize(&opened.repository.root);
    let checkout =
        checkout.map_err(|error| replies_refused(&format!("the checkout cannot be found: {error}")))?;
    let Ok(inside) = replies.strip_prefix(&checkout) else { return Ok(()) };
    let inside = inside.to_str().ok_or_else(|| replies_refused("its path is not Unicode"))?;
    let resolved = &opened.resolved;
    for commit in [&resolved.head, &resolved.base] {
        if opened.objects.is_tracked_at(commit, inside)? {
            return Err(replies_refused(
                "they are committed, so a change could forge the answers of the model",
            ));
        }
    }
    Ok(())
}

fn replies_refused(reason: &str) -> Failure {
    let message = format!("stored replies of this directory cannot be replayed: {reason}");
    Failure::usage(message, "pass --out with a directory that is not committed")
}

/// Describes the most that plans and the confirmation of their findings may use.
fn maximum_usage(plans: &[&LensPlan], confirmations: Option<UsageBound>) -> String {
    let confirmations = confirmations.unwrap_or(UsageBound::NONE);
    let requests: u64 = plans.iter().filter_map(|plan| Some(plan.review.as_ref()?.samples)).sum();
    let requests = requests + confirmations.requests;
    let input: u64 = plans.iter().map(|plan| plan.max_input_tokens).sum();
    let input = input.saturating_add(confirmations.input_tokens);
    let output: u64 = plans.iter().map(|plan| plan.max_output_tokens).sum();
    let output = output.saturating_add(confirmations.output_tokens);
    let costs: Option<u64> = plans.iter().map(|plan| plan.max_cost_usd.map(micro_usd)).sum();
    let costs = costs.zip(confirmations.cost_micro_usd).map(|(plans, rounds)| plans + rounds);
    let cost = match costs {
        Some(cost) => format!("at most {} USD", usd(cost)),
        None => "at an unknown price".to_owned(),
    };
    format!(
        "sending at most {requests} requests to models: about {input} tokens in, at most {output} out, {cost}; stored replies are not requested again\n"
    )
}
