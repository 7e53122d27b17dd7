//! Model drift: sends recorded requests again, and compares the new answers with the recorded ones and with each other. It
//! affects no verdict, since a verdict follows from the recorded answers.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::client::{Client, client};
use super::super::exit::Failure;
use super::super::verify::with_recording;
use crate::config::{provider_key, provider_keys};
use crate::git::{GitObjects, OpenRepository};
use crate::store::RunDirectory;
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{Conclusion, LensPlan, ModelDrift, ModelDriftClass, PlannedReview, RecordedReplies};
use qa_core::plan;
use qa_core::policy::{Overrides, POLICY_PATH, Policy};
use qa_core::usage::{micro_usd, usd};
use qa_run::derive::derive;
use qa_run::inputs::{Inputs, Ports, effective_policy};
use qa_run::keys::key;
use qa_run::plans::{plans, reviews};
use qa_run::ports::{Cancellation, Progress};
use qa_run::reviews::{
    NoStore, RepliesMode, ReplyCollector, SampleFindings, findings_by_sample, requested_replies,
};

/// Time limit of all requests of a drift check together.
const BUDGET: Duration = Duration::from_secs(2 * 3600);

/// Inputs of a live comparison.
pub(crate) struct Live {
    http: Client,
    /// The checkout's own policy. Anybody may have made a stored run, so its policy does not decide where a key is sent or
    /// how much is spent.
    trusted: Policy,
    /// Remaining budget for further runs.
    tokens_left: Cell<u64>,
    samples: u64,
    /// The job's own token.
    token: Option<Secret>,
}

impl Live {
    /// Prepares a comparison with the models that the policy at a checkout's HEAD names.
    pub(crate) fn new(
        checkout: &Path,
        samples: u64,
        token: Option<Secret>,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        let repository = OpenRepository::discover(checkout)?;
        let head = repository.commit_named("HEAD")?.ok_or_else(|| {
            Failure::usage(
                "the checkout has no commit",
                "--live needs the models that the policy of its HEAD names",
            )
        })?;
        let text = super::super::inputs::text_in_force(&GitObjects::new(&repository)?, &head, POLICY_PATH)?;
        let policy = effective_policy(text.as_deref(), &Overrides::default(), &qa_lenses::registry())
            .map_err(|error| Failure::policy(POLICY_PATH, &error))?;
        let tokens_left = Cell::new(policy.max_tokens);
        Ok(Self { http: client(BUDGET, cancellation)?, trusted: policy, tokens_left, samples, token })
    }

    /// Compares the answers to each request of a run.
    pub(super) fn compare_models(
        &self,
        run: &RunDirectory,
        cancellation: &Cancellation,
        progress: &dyn Progress,
    ) -> Result<Vec<ModelDrift>, Failure> {
        with_recording(run, cancellation, progress, |inputs, ports| self.compare_recorded(inputs, ports))?
    }

    fn compare_recorded(&self, inputs: &Inputs, ports: &Ports<'_>) -> Result<Vec<ModelDrift>, Failure> {
        let reviews = reviews(inputs, ports);
        let all = plans(inputs, ports);
        let recorded_refusals = plan::reserve(&all, &inputs.in_force.policy);
        let admitted = all.iter().zip(&recorded_refusals).filter(|(_, refusal)| refusal.is_none());
        let requesting: Vec<&LensPlan> = admitted
            .map(|(plan, _)| plan)
            .filter(|plan| plan.review.is_some() && !plan.changed_files.is_empty())
            .collect();
        let (known, unknown): (Vec<&LensPlan>, Vec<&LensPlan>) =
            requesting.into_iter().partition(|plan| self.is_trusted(plan, inputs));
        let again: Vec<LensPlan> =
            known.iter().map(|plan| with_samples(plan, self.samples.max(samples_of(plan)))).collect();
        let budget = Policy { max_tokens: self.tokens_left.get(), ..self.trusted.clone() };
        let refusals = plan::reserve(&again, &budget);
        let affordable = again.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none());
        let tokens: u64 = affordable.map(|(plan, _)| plan.max_input_tokens + plan.max_output_tokens).sum();
        self.tokens_left.set(self.tokens_left.get().saturating_sub(tokens));
        let token = self.token.clone();
        let collector = ReplyCollector {
            reviews: &reviews,
            plans: &again,
            refusals: &refusals,
            mode: RepliesMode::Off,
            store: &NoStore,
            http: &self.http,
            key: &|variable| {
                provider_key(variable).or_else(|| token.clone().filter(|_| variable == "GITHUB_TOKEN"))
            },
            secrets: &provider_keys().into_iter().chain(self.token.clone()).collect::<Vec<_>>(),
            earlier: &[],
            refused: None,
            pull_request: None,
            budget: None,
            concurrency: self.trusted.max_concurrency,
            cancellation: ports.cancellation,
            progress: ports.progress,
        };
        let live = collector.collect()?;
        let recorded = conclusion(inputs, ports)?;
        // Other findings call for other confirmations: a finding whose request was not recorded blocks.
        let replies = replace_replies(&live, &inputs.replies);
        let replies = requested_replies(&reviews, &all, &recorded_refusals, &replies)?;
        let live_conclusion = conclusion(&Inputs { replies, ..inputs.clone() }, ports)?;
        let conclusions = Conclusions { recorded, live: live_conclusion };
        let mut drifts = Vec::new();
        for ((plan, again), refusal) in known.iter().zip(&again).zip(&refusals) {
            if let Some(refusal) = refusal {
                let detail = format!("no request was sent: {}", refusal.code.hint());
                drifts.push(ModelDrift { detail, ..entry(plan, ModelDriftClass::Unavailable) });
                continue;
            }
            let recorded = findings_by_sample(&reviews, &inputs.replies, plan)?;
            let new = findings_by_sample(&reviews, &live, again)?;
            let unchanged = entry(plan, ModelDriftClass::Identical);
            drifts.push(compare_samples(unchanged, &recorded, &new, conclusions));
        }
        drifts.extend(unknown.into_iter().map(|plan| ModelDrift {
            detail: "the policy of this checkout names another model, so no request was sent".to_owned(),
            ..entry(plan, ModelDriftClass::Unavailable)
        }));
        Ok(drifts)
    }

    fn is_trusted(&self, plan: &LensPlan, inputs: &Inputs) -> bool {
        let name = &plan.provider_binding_id;
        let model = inputs.in_force.policy.models.get(name);
        model.is_some() && self.trusted.models.get(name) == model
    }
}

/// Returns the number of samples of a plan's request, at least 1.
fn samples_of(plan: &LensPlan) -> u64 {
    match &plan.review {
        Some(review) => review.samples.max(1),
        None => 1,
    }
}

fn with_samples(plan: &LensPlan, samples: u64) -> LensPlan {
    let before = samples_of(plan);
    LensPlan {
        // Requests to confirm findings are not sent again.
        review: plan.review.clone().map(|review| PlannedReview {
            samples,
            confirm_binding_id: None,
            ..review
        }),
        max_input_tokens: scale(plan.max_input_tokens, before, samples),
        max_output_tokens: scale(plan.max_output_tokens, before, samples),
        max_cost_usd: plan.max_cost_usd.map(|cost| usd(scale(micro_usd(cost), before, samples))),
        ..plan.clone()
    }
}

/// Scales the usage of `before` samples to `samples`.
fn scale(usage: u64, before: u64, samples: u64) -> u64 {
    (usage / before).saturating_mul(samples)
}

/// Replaces each recorded reply by the new one to the same request, if there is one.
fn replace_replies(live: &RecordedReplies, recorded: &RecordedReplies) -> RecordedReplies {
    let replies = recorded.replies.iter().map(|old| {
        let mut live = live.replies.iter();
        let new = live.find(|new| new.request_hash == old.request_hash && new.sample == old.sample);
        new.unwrap_or(old).clone()
    });
    RecordedReplies { replies: replies.collect(), ..recorded.clone() }
}

/// Derives the conclusion of a run.
fn conclusion(inputs: &Inputs, ports: &Ports<'_>) -> Result<Conclusion, Failure> {
    Ok(derive(inputs, ports, key(inputs, ports))?.verdict.conclusion)
}

fn entry(plan: &LensPlan, class: ModelDriftClass) -> ModelDrift {
    ModelDrift {
        lens_id: plan.lens_id.clone(),
        sub_lens_id: plan.sub_lens_id.clone(),
        model: plan.provider_binding_id.clone(),
        class,
        code: None,
        samples: 0,
        among_themselves_permille: None,
        with_recorded_permille: None,
        detail: String::new(),
    }
}

/// Conclusions of a run, by its recorded replies and by the new ones.
#[derive(Clone, Copy)]
struct Conclusions {
    recorded: Conclusion,
    live: Conclusion,
}

/// Compares new answers with the recorded ones, by their findings and places.
fn compare_samples(
    entry: ModelDrift,
    recorded: &[Result<SampleFindings, Code>],
    live: &[Result<SampleFindings, Code>],
    conclusions: Conclusions,
) -> ModelDrift {
    let (old, new) = (answers(recorded), answers(live));
    let mut drift = ModelDrift { samples: live.len() as u64, ..entry };
    if new.is_empty() || old.is_empty() {
        let codes: BTreeSet<Code> =
            live.iter().chain(recorded).filter_map(|it| it.as_ref().err().copied()).collect();
        let refuses = live.iter().any(|answer| matches!(answer, Err(Code::ProviderRefusal)));
        let is_malformed = live.iter().all(|answer| matches!(answer, Err(Code::ProviderOutputInvalid)));
        drift.class = if refuses { ModelDriftClass::Refusal } else { ModelDriftClass::Unavailable };
        // An outage is no drift; refusals and answers that are all malformed are.
        drift.code = ((refuses || is_malformed) && !old.is_empty()).then_some(Code::ModelDriftDetected);
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        drift.detail = format!("no answer to compare: {}", codes.join(", "));
        return drift;
    }
    let among: Vec<u64> = pairs(&new).map(|(left, right)| overlap(left, right)).collect();
    let with: Vec<u64> = old.iter().flat_map(|old| new.iter().map(|new| overlap(old, new))).collect();
    // A single answer has no variation of its own.
    let (among, with) = (mean(&among).unwrap_or(1000), mean(&with).unwrap_or(1000));
    drift.among_themselves_permille = Some(among);
    drift.with_recorded_permille = Some(with);
    let same_words = old.iter().all(|old| new.iter().all(|new| old.json == new.json));
    let moved = with < among;
    drift.class = match (same_words, with == 1000, moved && conclusions.recorded != conclusions.live) {
        (true, ..) => ModelDriftClass::Identical,
        (false, true, _) => ModelDriftClass::Wording,
        (false, false, true) => ModelDriftClass::Verdict,
        (false, false, false) => ModelDriftClass::Findings,
    };
    drift.code = (moved && !same_words).then_some(Code::ModelDriftDetected);
    let numbers = format!("agreement with the recorded answers {with} ‰, among the new answers {among} ‰");
    drift.detail = match (drift.class, moved) {
        (ModelDriftClass::Identical, _) => "the answers are identical".to_owned(),
        (ModelDriftClass::Wording, _) => "the answers name the same places in other words".to_owned(),
        (_, true) => {
            let Conclusions { recorded, live } = conclusions;
            format!("the answers changed: {numbers}; the verdict would be {live}, and was {recorded}")
        }
        (_, false) => format!("the new answers differ as much from each other: {numbers}"),
    };
    drift
}

fn answers(all: &[Result<SampleFindings, Code>]) -> Vec<&SampleFindings> {
    all.iter().filter_map(|answer| answer.as_ref().ok()).collect()
}

fn pairs<'s>(
    all: &'s [&'s SampleFindings],
) -> impl Iterator<Item = (&'s SampleFindings, &'s SampleFindings)> {
    all.iter().enumerate().flat_map(|(at, left)| all[at + 1..].iter().map(|right| (*left, *right)))
}

/// Returns the share of places that both answers name, in thousandths; 1000 if neither names any.
fn overlap(left: &SampleFindings, right: &SampleFindings) -> u64 {
    let either = left.places.union(&right.places).count() as u64;
    let both = left.places.intersection(&right.places).count() as u64;
    (both * 1000).checked_div(either).unwrap_or(1000)
}

fn mean(all: &[u64]) -> Option<u64> {
    let count = all.len() as u64;
    (count > 0).then(|| all.iter().sum::<u64>() / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::ids::RepoPath;

    fn saying(lines: &[u64]) -> Result<SampleFindings, Code> {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        let places = lines.iter().map(|line| ("rule".to_owned(), path.clone(), *line)).collect();
        Ok(SampleFindings { places, json: format!("{lines:?}") })
    }

    fn in_other_words(answer: Result<SampleFindings, Code>) -> Result<SampleFindings, Code> {
        answer.map(|sampled| SampleFindings { json: format!("otherwise {}", sampled.json), ..sampled })
    }

    #[test]
    fn drift_is_what_is_further_from_the_record_than_answers_are_from_each_other() {
        use ModelDriftClass::{Findings, Identical, Refusal, Unavailable, Verdict, Wording};
        let (pass, fail) = (Conclusion::Pass, Conclusion::Fail);
        let refusal = || Err(Code::ProviderRefusal);
        let outage = || Err(Code::ProviderUnavailable);
        let cases = [
            (vec![saying(&[1, 2])], vec![saying(&[1, 2]); 3], fail, Identical, false),
            (vec![saying(&[1])], vec![in_other_words(saying(&[1])); 3], pass, Wording, false),
            (vec![saying(&[1])], vec![saying(&[2]); 3], pass, Findings, true),
            (vec![saying(&[1])], vec![saying(&[]); 3], fail, Verdict, true),
            // It never says the same, so that another answer is nothing new.
            (vec![saying(&[1])], vec![saying(&[1]), saying(&[2]), saying(&[3])], fail, Findings, false),
            (vec![saying(&[1])], vec![refusal(), refusal(), refusal()], pass, Refusal, true),
            (vec![saying(&[1])], vec![outage(), outage(), outage()], pass, Unavailable, false),
            (vec![outage()], vec![saying(&[1]); 3], pass, Unavailable, false),
            (vec![saying(&[1])], vec![Err(Code::ProviderOutputInvalid); 3], pass, Unavailable, true),
        ];
        let entry = || ModelDrift {
            lens_id: "review-security".to_owned(),
            sub_lens_id: None,
            model: "pinned".to_owned(),
            class: Identical,
            code: None,
            samples: 0,
            among_themselves_permille: None,
            with_recorded_permille: None,
            detail: String::new(),
        };
        for (then, now, after, class, drifted) in cases {
            let drift = compare_samples(entry(), &then, &now, Conclusions { recorded: pass, live: after });
            assert_eq!((drift.class, drift.code.is_some()), (class, drifted), "{drift:?}");
        }
    }
}
