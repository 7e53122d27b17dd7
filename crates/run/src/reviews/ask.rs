//! Collects the replies to the requests of the admitted plans: stored ones first, the others from models.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::confirm::Round;
use super::confirm_bound::ROUNDS;
use super::earlier::{self, KnownHunks};
use super::judge::Judging;
use super::request::{Question, SentRequest};
use super::{Request, Reviews, record};
use crate::ask::ModelRequest;
use crate::http::{Http, HttpError};
use crate::ports::{Cancellation, PortError, Progress};
use crate::workers;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{EarlierHunk, LensPlan, RecordedReplies, RecordedReply, ReviewedHunk};
use qa_core::plan::Refusal;
use qa_core::usage::micro_usd;

/// Problem of a request that was not sent or not waited for.
const NO_TIME: &str = "the run's deadline was near, so the model was not asked or not waited for";

/// Source of replies, and whether new ones are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepliesMode {
    /// Models; nothing is stored.
    Off,
    /// Models; replies are stored.
    Record,
    /// The store alone; no request is sent.
    Replay,
    /// The store, or models where it has no reply; new replies are stored.
    #[default]
    ReplayOrRecord,
}

impl RepliesMode {
    /// All modes with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Off, "off"),
        (Self::Record, "record"),
        (Self::Replay, "replay"),
        (Self::ReplayOrRecord, "replay_or_record"),
    ];

    /// Parses a mode's name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, word)| *word == text).map(|(mode, _)| mode)
    }

    fn reads_store(self) -> bool {
        matches!(self, Self::Replay | Self::ReplayOrRecord)
    }

    fn writes_store(self) -> bool {
        matches!(self, Self::Record | Self::ReplayOrRecord)
    }
}

/// Replies and findings stored between runs. Called from any thread.
pub trait ReplyStore: Sync {
    /// Returns a stored reply. With a key, only a reply that was sealed with the same key.
    fn reply(&self, request: &Sha256Hex, sample: u64, key: Option<&Secret>) -> Option<RecordedReply>;

    /// Stores a reply. On error, the next run sends the request again.
    fn save_reply(&self, reply: &RecordedReply, key: &Secret);

    /// Returns the stored findings of a hunk in a context. With a key, only those sealed with the same key.
    fn hunk(&self, context: &Sha256Hex, hunk: &Sha256Hex, key: Option<&Secret>) -> Option<ReviewedHunk>;

    /// Returns the cost of a pull request so far with one key, in millionths of a US dollar.
    fn spent(&self, pull_request: u64, key: &Secret) -> u64;

    /// Adds to the cost of a pull request.
    fn add_spent(&self, pull_request: u64, micro_usd: u64, key: &Secret);

    /// Stores the findings of a hunk in place of the earlier ones, which they include.
    fn save_hunk(&self, stored: &ReviewedHunk, key: &Secret);
}

/// Store that is always empty.
pub struct NoStore;

impl ReplyStore for NoStore {
    fn reply(&self, _: &Sha256Hex, _: u64, _: Option<&Secret>) -> Option<RecordedReply> {
        None
    }

    fn save_reply(&self, _: &RecordedReply, _: &Secret) {}

    fn hunk(&self, _: &Sha256Hex, _: &Sha256Hex, _: Option<&Secret>) -> Option<ReviewedHunk> {
        None
    }

    fn spent(&self, _: u64, _: &Secret) -> u64 {
        0
    }

    fn add_spent(&self, _: u64, _: u64, _: &Secret) {}

    fn save_hunk(&self, _: &ReviewedHunk, _: &Secret) {}
}

/// Collects the replies that the admitted plans need.
pub struct ReplyCollector<'a> {
    pub reviews: &'a Reviews<'a>,
    pub plans: &'a [LensPlan],
    pub refusals: &'a [Option<Refusal>],
    pub mode: RepliesMode,
    pub store: &'a dyn ReplyStore,
    pub http: &'a dyn Http,
    /// Returns the API key in an environment variable.
    pub key: &'a (dyn Fn(&str) -> Option<Secret> + Sync),
    /// Secrets that are masked in records.
    pub secrets: &'a [Secret],
    /// Findings that the turn before knew, from its record.
    pub earlier: &'a [ReviewedHunk],
    /// Reason why no request is sent, if there is one.
    pub refused: Option<&'a str>,
    /// The reviewed pull request.
    pub pull_request: Option<u64>,
    pub budget: Option<PullRequestBudget>,
    /// Number of requests at a time.
    pub concurrency: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

/// Cost limit of a pull request over all its runs.
#[derive(Clone, Copy)]
pub struct PullRequestBudget {
    pub pull_request: u64,
    /// In millionths of a US dollar.
    pub max_micro_usd: u64,
}

/// Reply that is wanted.
struct Ask<'q> {
    question: &'q dyn Question,
    sample: u64,
    /// True if PASS needs it.
    required: bool,
    /// Maximum cost of a reply, in millionths of a US dollar.
    cost_bound: u64,
}

/// Sample of a plan.
#[derive(Clone, Copy)]
struct Job<'p> {
    plan: &'p LensPlan,
    sample: u64,
}

impl ReplyCollector<'_> {
    /// Returns the ordinals of the plans that are over the budget of the pull request, taken in queue order. Stored
    /// replies cost nothing; a model without a known price is over any budget.
    fn plans_over_budget(&self, jobs: &[Job<'_>]) -> Result<BTreeSet<u64>, PortError> {
        let mut over = BTreeSet::new();
        let Some(budget) = self.budget.filter(|_| self.sends()) else { return Ok(over) };
        let mut used = self.spent(budget);
        for Job { plan, .. } in jobs.iter().filter(|job| job.sample == 1) {
            let Some(review) = &plan.review else { continue };
            let Some(request) = self.reviews.request(plan)? else { continue };
            let Some(key) = (self.key)(request.sent.model.key_variable()) else { continue };
            if (1..=review.samples).all(|sample| self.stored_reply(&request, sample, &key).is_some()) {
                continue;
            }
            let bound = plan.max_cost_usd.map_or(u64::MAX, micro_usd);
            match used.checked_add(bound).filter(|sum| *sum <= budget.max_micro_usd) {
                Some(sum) => used = sum,
                None => {
                    over.insert(plan.plan_ordinal);
                }
            }
        }
        Ok(over)
    }

    /// Collects all replies, sorted by request hash and sample.
    pub fn collect(&self) -> Result<RecordedReplies, PortError> {
        let mut jobs: Vec<Job<'_>> = Vec::new();
        for (plan, _) in self.plans.iter().zip(self.refusals).filter(|(_, refusal)| refusal.is_none()) {
            let Some(review) = &plan.review else { continue };
            jobs.extend((1..=review.samples).map(|sample| Job { plan, sample }));
        }
        let plans_over_budget = self.plans_over_budget(&jobs)?;
        let done = AtomicUsize::new(0);
        let replies = workers::each(jobs.len(), self.concurrency, |position| {
            self.cancellation.check()?;
            let Job { plan, sample } = jobs[position];
            let reply = match self.reviews.request(plan)? {
                Some(request) if plans_over_budget.contains(&plan.plan_ordinal) => {
                    Some(over_budget(&request.sent, sample))
                }
                Some(request) => {
                    let samples = plan.review.as_ref().map_or(1, |review| review.samples.max(1));
                    Some(self.reply(&Ask {
                        question: &request,
                        sample,
                        required: plan.required,
                        cost_bound: plan.max_cost_usd.map_or(0, micro_usd).div_ceil(samples),
                    })?)
                }
                None => None,
            };
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.progress.step("asking models", done, jobs.len());
            Ok(reply)
        })?;
        let mut replies: Vec<RecordedReply> = replies.into_iter().flatten().collect();
        sort_replies(&mut replies);
        let mut seen = BTreeSet::new();
        replies.retain(|reply| seen.insert((reply.request_hash.clone(), reply.sample)));
        let mut replies = RecordedReplies { replies, ..RecordedReplies::default() };
        replies.earlier = self.earlier_findings(&jobs, &replies)?;
        self.collect_confirmations(&mut replies)?;
        self.save_hunks(&jobs, &replies)?;
        replies.known = self.known_hunks(&jobs, &replies)?;
        Ok(replies)
    }

    /// Adds the replies to requests to confirm findings, one round of all findings after another.
    fn collect_confirmations(&self, replies: &mut RecordedReplies) -> Result<(), PortError> {
        if self.reviews.confirming.is_empty() {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let judging = Judging { reviews: self.reviews, replies };
            let outcomes = judging.judge_plans(self.plans, self.refusals)?;
            let confirmations = judging.confirmations(self.plans, self.refusals, &outcomes)?;
            let missing = confirmations.missing();
            if missing.is_empty() {
                break;
            }
            let is_affordable = self.affordable_rounds(&missing);
            let done = AtomicUsize::new(0);
            let new = workers::each(missing.len(), self.concurrency, |position| {
                self.cancellation.check()?;
                let round = missing[position];
                let reply = match is_affordable[position] {
                    true => self.reply(&Ask {
                        question: &round.request,
                        sample: 1,
                        required: round.required,
                        cost_bound: round.cost_bound.unwrap_or(0),
                    })?,
                    false => over_budget(&round.request.sent, 1),
                };
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.progress.step("confirming findings", done, missing.len());
                Ok(reply)
            })?;
            replies.replies.extend(new);
            sort_replies(&mut replies.replies);
        }
        Ok(())
    }

    /// Returns for each round whether the budget of the pull request allows it, in order.
    fn affordable_rounds(&self, rounds: &[&Round<'_>]) -> Vec<bool> {
        let Some(budget) = self.budget.filter(|_| self.sends()) else { return vec![true; rounds.len()] };
        let mut used = self.spent(budget);
        let mut affordable = Vec::with_capacity(rounds.len());
        for round in rounds {
            let key = (self.key)(round.request.sent.model.key_variable());
            let is_free = key.as_ref().is_none_or(|key| self.stored_reply(&round.request, 1, key).is_some());
            let sum = used.checked_add(round.cost_bound.unwrap_or(u64::MAX));
            let sum = sum.filter(|sum| *sum <= budget.max_micro_usd);
            affordable.push(is_free || sum.is_some());
            if !is_free {
                used = sum.unwrap_or(used);
            }
        }
        affordable
    }

    /// Returns whether requests may be sent.
    fn sends(&self) -> bool {
        self.refused.is_none() && self.mode != RepliesMode::Replay
    }

    /// Returns the cost of a pull request so far, in millionths of a US dollar.
    fn spent(&self, budget: PullRequestBudget) -> u64 {
        let variables: BTreeSet<&str> =
            self.reviews.models().into_values().map(|model| model.key_variable()).collect();
        let keys = variables.iter().filter_map(|variable| (self.key)(variable));
        keys.map(|key| self.store.spent(budget.pull_request, &key)).sum()
    }

    /// Returns the stored findings of the hunks of all plans. Those that equal the new ones are left out: they change
    /// nothing, and a run that replays all replies then equals the run that received them.
    fn earlier_findings(
        &self,
        jobs: &[Job<'_>],
        replies: &RecordedReplies,
    ) -> Result<Vec<EarlierHunk>, PortError> {
        let mut all = BTreeSet::new();
        if self.mode == RepliesMode::Off && self.earlier.is_empty() {
            return Ok(Vec::new());
        }
        let known = KnownHunks::new(self.earlier);
        for (plan, request) in self.requests(jobs)? {
            let context = earlier::context(&request, plan, self.reviews.rubric, self.pull_request);
            let new =
                (Judging { reviews: self.reviews, replies }).findings_by_hunk(plan, &request)?.complete();
            for hunk in self.reviews.hunks(plan)? {
                let stored = self.stored_hunk(&request, &context, &hunk.digest);
                let earlier = match (stored, known.get(&context, &hunk.digest)) {
                    (Some(stored), Some(known)) => earlier::merge_records(stored, known),
                    (Some(stored), None) => stored,
                    (None, Some(known)) => known.clone(),
                    (None, None) => continue,
                };
                let is_repeated =
                    new.iter().any(|new| new.hunk == earlier.hunk && new.findings == earlier.findings);
                if !is_repeated && hunk.allows(&earlier, &request.rule_ids) {
                    all.insert(earlier);
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns what the next run of the pull request has to know: the findings of this run, and those of earlier runs in hunks
    /// that it did not ask about.
    fn known_hunks(
        &self,
        jobs: &[Job<'_>],
        replies: &RecordedReplies,
    ) -> Result<Vec<ReviewedHunk>, PortError> {
        if self.pull_request.is_none() {
            return Ok(Vec::new());
        }
        let mut known = KnownHunks::new(self.earlier);
        for (plan, request) in self.requests(jobs)? {
            let context = earlier::context(&request, plan, self.reviews.rubric, self.pull_request);
            let found = (Judging { reviews: self.reviews, replies }).findings_by_hunk(plan, &request)?;
            for hunk in found.hunks {
                known.insert(&context, hunk);
            }
        }
        Ok(known.into_hunks())
    }

    /// Returns the stored findings of a hunk.
    fn stored_hunk(
        &self,
        request: &Request<'_>,
        context: &Sha256Hex,
        hunk: &Sha256Hex,
    ) -> Option<EarlierHunk> {
        let key = match self.mode {
            RepliesMode::Off => return None,
            RepliesMode::Replay => None,
            RepliesMode::Record | RepliesMode::ReplayOrRecord => Some(self.sealing_key(request)?),
        };
        Some(self.store.hunk(context, hunk, key.as_ref())?.findings)
    }

    /// Stores the findings of each hunk. Outside a pull request the earlier surroundings of a hunk are unknown, so no
    /// finding is late there.
    fn save_hunks(&self, jobs: &[Job<'_>], replies: &RecordedReplies) -> Result<(), PortError> {
        if !self.mode.writes_store() {
            return Ok(());
        }
        for (plan, request) in self.requests(jobs)? {
            let key = self.sealing_key(&request);
            let Some(key) = key else { continue };
            let context = earlier::context(&request, plan, self.reviews.rubric, self.pull_request);
            let judging = Judging { reviews: self.reviews, replies };
            for mut findings in judging.findings_by_hunk(plan, &request)?.complete() {
                if self.pull_request.is_none() {
                    findings.shown = None;
                }
                self.store.save_hunk(&ReviewedHunk { context: context.clone(), findings }, &key);
            }
        }
        Ok(())
    }

    /// Returns the key that findings of a review are sealed with, or `None` where none proves who stored them.
    fn sealing_key(&self, request: &Request<'_>) -> Option<Secret> {
        (self.key)(request.sent.model.key_variable()).filter(|key| seals(&request.sent, key))
    }

    fn requests<'j>(&self, jobs: &[Job<'j>]) -> Result<Vec<(&'j LensPlan, Request<'_>)>, PortError> {
        let mut all = Vec::new();
        for Job { plan, .. } in jobs.iter().filter(|job| job.sample == 1) {
            all.extend(self.reviews.request(plan)?.map(|request| (*plan, request)));
        }
        Ok(all)
    }

    /// Returns the reply to a request: a stored one, or that of the model.
    fn reply(&self, ask: &Ask<'_>) -> Result<RecordedReply, PortError> {
        let (request, sample) = (ask.question.sent(), ask.sample);
        if self.mode == RepliesMode::Replay {
            return Ok(match self.store.reply(&request.encoded.request_hash, sample, None) {
                Some(stored) => stored,
                None => record::refused(
                    request,
                    sample,
                    Code::ReplayRecordingMissing,
                    "no reply to this request is stored",
                ),
            });
        }
        if let Some(reason) = self.refused {
            return Ok(record::refused(request, sample, Code::ReviewNotAsked, reason));
        }
        let Some(key) = (self.key)(request.model.key_variable()) else {
            let problem = format!("{} is not set, so nothing was sent", request.model.key_variable());
            return Ok(record::refused(request, sample, Code::ProviderAuthError, &problem));
        };
        if let Some(stored) = self.stored_reply(ask.question, sample, &key) {
            return Ok(stored);
        }
        if !self.cancellation.has_time_for(ask.required) {
            return Ok(record::refused(request, sample, Code::RunDeadlineNear, NO_TIME));
        }
        let model_request = ModelRequest {
            provider: request.model.provider,
            binding: &request.model.binding,
            request: &request.encoded,
            key: &key,
            deadline: Duration::from_millis(request.model.binding.timeout_ms),
        };
        let exchange = model_request.send(self.http).map_err(cancelled)?;
        let reply = record::sent(request, sample, &exchange, self.secrets);
        let is_usable = ask.question.accepts(&reply);
        if let Some(budget) = self.budget {
            let spent = request.spent_micro_usd(&reply, is_usable, ask.cost_bound);
            self.store.add_spent(budget.pull_request, spent, &key);
        }
        if reply.response.is_none() && !self.cancellation.has_time_for(true) {
            return Ok(record::refused(request, sample, Code::RunDeadlineNear, NO_TIME));
        }
        // A failure is not stored: the next run may succeed.
        if self.mode.writes_store() && seals(request, &key) && is_usable {
            self.store.save_reply(&reply, &key);
        }
        Ok(reply)
    }

    /// Returns a stored reply that can be used. A failure does not count: the request may succeed now.
    fn stored_reply(&self, question: &dyn Question, sample: u64, key: &Secret) -> Option<RecordedReply> {
        let request = question.sent();
        if !self.mode.reads_store() || !seals(request, key) {
            return None;
        }
        let stored = self.store.reply(&request.encoded.request_hash, sample, Some(key))?;
        question.accepts(&stored).then_some(stored)
    }
}

/// Sorts replies by request hash and sample.
fn sort_replies(replies: &mut [RecordedReply]) {
    replies
        .sort_by(|left, right| (&left.request_hash, left.sample).cmp(&(&right.request_hash, right.sample)));
}

/// Records a request that the budget of the pull request does not allow.
fn over_budget(request: &SentRequest<'_>, sample: u64) -> RecordedReply {
    let problem = "the cost limit of this pull request's reviews is reached";
    record::refused(request, sample, Code::BudgetPullRequestExceeded, problem)
}

/// Returns whether a seal with a key proves who stored a reply. The token of a job is readable in every step and differs
/// from run to run, and a short key can be guessed.
fn seals(request: &SentRequest<'_>, key: &Secret) -> bool {
    const MIN_KEY_BYTES: usize = 16;
    request.model.key_variable() != "GITHUB_TOKEN" && key.expose().len() >= MIN_KEY_BYTES
}

fn cancelled(error: HttpError) -> PortError {
    let code = error.code();
    PortError { code, message: error.to_string(), hint: code.hint() }
}
