//! Asks what the admitted plans ask, a few questions at a time, and keeps what came of each.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::earlier::{self, StoredHunk};
use super::judge::Judging;
use super::{Request, Reviews, record};
use crate::ask::ModelRequest;
use crate::http::{Http, HttpError};
use crate::ports::{Cancellation, PortError, Progress};
use crate::workers;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{EarlierHunk, LensPlan, RecordedReplies, RecordedReply};
use qa_core::plan::Refusal;
use qa_core::usage::micro_usd;

/// Where answers come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RepliesMode {
    /// From models, and nothing is kept for another run.
    Off,
    /// From models, and kept.
    Record,
    /// From what was kept, and nothing is ever asked.
    Replay,
    /// From what was kept, and where nothing was, from models; then it is kept.
    #[default]
    ReplayOrRecord,
}

impl RepliesMode {
    /// All, with their words.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Off, "off"),
        (Self::Record, "record"),
        (Self::Replay, "replay"),
        (Self::ReplayOrRecord, "replay_or_record"),
    ];

    /// Reads a word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, word)| *word == text).map(|(mode, _)| mode)
    }

    fn reads(self) -> bool {
        matches!(self, Self::Replay | Self::ReplayOrRecord)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Record | Self::ReplayOrRecord)
    }
}

/// What was kept of other runs. Called from any thread.
pub trait ReplyStore: Sync {
    /// What was kept. With a key only what somebody with the same key has kept.
    fn reply(&self, request: &Sha256Hex, sample: u64, key: Option<&Secret>) -> Option<RecordedReply>;

    /// Keeps a reply; one that cannot be kept is asked for again.
    fn save_reply(&self, reply: &RecordedReply, key: &Secret);

    /// What was said of a hunk when it was asked about first, in one way of asking; by the same keys.
    fn hunk(&self, context: &Sha256Hex, hunk: &Sha256Hex, key: Option<&Secret>) -> Option<StoredHunk>;

    /// What a pull request has cost so far, with one key, in millionths of a US dollar.
    fn spent(&self, pull_request: u64, key: &Secret) -> u64;

    /// Adds to it.
    fn add_spent(&self, pull_request: u64, micro_usd: u64, key: &Secret);

    /// Keeps what stands of a hunk, which holds what stood before.
    fn save_hunk(&self, stored: &StoredHunk, key: &Secret);
}

/// Keeps nothing.
pub struct NoStore;

impl ReplyStore for NoStore {
    fn reply(&self, _: &Sha256Hex, _: u64, _: Option<&Secret>) -> Option<RecordedReply> {
        None
    }

    fn save_reply(&self, _: &RecordedReply, _: &Secret) {}

    fn hunk(&self, _: &Sha256Hex, _: &Sha256Hex, _: Option<&Secret>) -> Option<StoredHunk> {
        None
    }

    fn spent(&self, _: u64, _: &Secret) -> u64 {
        0
    }

    fn add_spent(&self, _: u64, _: u64, _: &Secret) {}

    fn save_hunk(&self, _: &StoredHunk, _: &Secret) {}
}

/// Everything that asking needs.
pub struct ReplyCollector<'a> {
    pub reviews: &'a Reviews<'a>,
    pub plans: &'a [LensPlan],
    pub refusals: &'a [Option<Refusal>],
    pub mode: RepliesMode,
    pub store: &'a dyn ReplyStore,
    pub http: &'a dyn Http,
    /// The key in a variable.
    pub key: &'a (dyn Fn(&str) -> Option<Secret> + Sync),
    /// Every secret that no record may have.
    pub secrets: &'a [Secret],
    /// Why nothing is asked, if that is so.
    pub refused: Option<&'a str>,
    /// The pull request that is reviewed.
    pub pull_request: Option<u64>,
    /// The pull request that pays, and the most that it may cost with earlier runs.
    pub purse: Option<(u64, u64)>,
    /// How many questions at a time.
    pub concurrency: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

/// A plan, and which of its answers.
type Job<'p> = (&'p LensPlan, u64);

impl ReplyCollector<'_> {
    /// The plans that a pull request cannot pay for, in queue order: what is kept costs nothing, and what no list has a
    /// price for cannot be paid.
    fn over(&self, jobs: &[Job<'_>]) -> Result<BTreeSet<u64>, PortError> {
        let mut over = BTreeSet::new();
        let asks = self.refused.is_none() && self.mode != RepliesMode::Replay;
        let Some((pull_request, most)) = self.purse.filter(|_| asks) else {
            return Ok(over);
        };
        let variables: BTreeSet<&str> =
            self.reviews.models().into_values().map(|model| model.key_variable()).collect();
        let keys = variables.iter().filter_map(|variable| (self.key)(variable));
        let mut used: u64 = keys.map(|key| self.store.spent(pull_request, &key)).sum();
        for (plan, _) in jobs.iter().filter(|(_, sample)| *sample == 1) {
            let Some(request) = self.reviews.request(plan)? else { continue };
            let Some(key) = (self.key)(request.model.key_variable()) else { continue };
            let samples = plan.review.as_ref().map_or(0, |review| review.samples);
            if (1..=samples).all(|sample| self.kept(&request, sample, &key).is_some()) {
                continue;
            }
            let bound = plan.max_cost_usd.map_or(u64::MAX, micro_usd);
            match used.checked_add(bound).filter(|all| *all <= most) {
                Some(all) => used = all,
                None => {
                    over.insert(plan.plan_ordinal);
                }
            }
        }
        Ok(over)
    }

    /// Asks everything, and gives it in the order of hashes and samples whichever came first.
    pub fn run(&self) -> Result<RecordedReplies, PortError> {
        let admitted = self.plans.iter().zip(self.refusals).filter(|(_, refusal)| refusal.is_none());
        let jobs: Vec<Job<'_>> = admitted
            .filter_map(|(plan, _)| Some((plan, plan.review.as_ref()?.samples)))
            .flat_map(|(plan, samples)| (1..=samples).map(move |sample| (plan, sample)))
            .collect();
        let over = self.over(&jobs)?;
        let done = AtomicUsize::new(0);
        let replies = workers::each(jobs.len(), self.concurrency, |position| {
            self.cancellation.check()?;
            let (plan, sample) = jobs[position];
            let reply = match self.reviews.request(plan)? {
                Some(request) if over.contains(&plan.plan_ordinal) => {
                    let problem = "the reviews of this pull request have cost too much already";
                    Some(record::refused(&request, sample, Code::BudgetPullRequestExceeded, problem))
                }
                Some(request) => Some(self.reply(plan, &request, sample)?),
                None => None,
            };
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.progress.step("asking models", done, jobs.len());
            Ok(reply)
        })?;
        let mut replies: Vec<RecordedReply> = replies.into_iter().flatten().collect();
        replies.sort_by(|left, right| {
            (&left.request_hash, left.sample).cmp(&(&right.request_hash, right.sample))
        });
        let mut seen = BTreeSet::new();
        replies.retain(|reply| seen.insert((reply.request_hash.clone(), reply.sample)));
        let mut replies =
            RecordedReplies { schema_version: Default::default(), replies, earlier: Vec::new() };
        replies.earlier = self.earlier(&jobs, &replies)?;
        self.save_hunks(&jobs, &replies)?;
        Ok(replies)
    }

    /// What was said before of the hunks of all plans and is not just what is said now: that changes nothing, and a run
    /// that asks nothing new is then the same as the one that asked.
    fn earlier(&self, jobs: &[Job<'_>], replies: &RecordedReplies) -> Result<Vec<EarlierHunk>, PortError> {
        let mut all = BTreeSet::new();
        if self.mode == RepliesMode::Off {
            return Ok(Vec::new());
        }
        for (plan, request) in self.requests(jobs)? {
            let key = (self.key)(request.model.key_variable()).filter(|key| seals(&request, key));
            let seal = key.as_ref().filter(|_| self.mode != RepliesMode::Replay);
            if seal.is_none() && self.mode != RepliesMode::Replay {
                continue;
            }
            let context = earlier::context(&request, plan, self.reviews.rubric, self.pull_request);
            let now = (Judging { reviews: self.reviews, replies }).said(plan, &request)?;
            let is_said_now = |before: &EarlierHunk| {
                now.iter().any(|now| now.hunk == before.hunk && now.findings == before.findings)
            };
            for hunk in self.reviews.hunks(plan)? {
                let kept = self.store.hunk(&context, &hunk.digest, seal);
                let before = kept.map(|kept| kept.said).filter(|said| !is_said_now(said));
                all.extend(before.filter(|said| hunk.allows(said, &request.rule_ids)));
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Keeps what stands of each hunk now. Outside a pull request nobody knows what the lines stood beside before, so
    /// nothing comes late there.
    fn save_hunks(&self, jobs: &[Job<'_>], replies: &RecordedReplies) -> Result<(), PortError> {
        if !self.mode.writes() {
            return Ok(());
        }
        for (plan, request) in self.requests(jobs)? {
            let key = (self.key)(request.model.key_variable()).filter(|key| seals(&request, key));
            let Some(key) = key else { continue };
            let context = earlier::context(&request, plan, self.reviews.rubric, self.pull_request);
            for said in (Judging { reviews: self.reviews, replies }).said(plan, &request)? {
                let said = EarlierHunk { shown: said.shown.filter(|_| self.pull_request.is_some()), ..said };
                self.store.save_hunk(&StoredHunk { context: context.clone(), said }, &key);
            }
        }
        Ok(())
    }

    fn requests<'j>(&self, jobs: &[Job<'j>]) -> Result<Vec<(&'j LensPlan, Request<'_>)>, PortError> {
        let mut all = Vec::new();
        for (plan, _) in jobs.iter().filter(|(_, sample)| *sample == 1) {
            all.extend(self.reviews.request(plan)?.map(|request| (*plan, request)));
        }
        Ok(all)
    }

    fn reply(&self, plan: &LensPlan, request: &Request<'_>, sample: u64) -> Result<RecordedReply, PortError> {
        let hash = &request.encoded.request_hash;
        if self.mode == RepliesMode::Replay {
            let kept = self.store.reply(hash, sample, None);
            let missing =
                || record::refused(request, sample, Code::ReplayRecordingMissing, "nothing was kept");
            return Ok(kept.unwrap_or_else(missing));
        }
        if let Some(why) = self.refused {
            return Ok(record::refused(request, sample, Code::ReviewNotAsked, why));
        }
        let Some(key) = (self.key)(request.model.key_variable()) else {
            let problem = format!("{} is not set, so nothing was sent", request.model.key_variable());
            return Ok(record::refused(request, sample, Code::ProviderAuthError, &problem));
        };
        if let Some(kept) = self.kept(request, sample, &key) {
            return Ok(kept);
        }
        let model_request = ModelRequest {
            provider: request.model.provider,
            binding: &request.model.binding,
            request: &request.encoded,
            key: &key,
            deadline: Duration::from_millis(request.model.binding.timeout_ms),
        };
        let exchange = model_request.send(self.http).map_err(cancelled)?;
        let reply = record::asked(request, sample, &exchange, self.secrets);
        if let Some((pull_request, _)) = self.purse {
            let samples = plan.review.as_ref().map_or(1, |review| review.samples.max(1));
            let bound = plan.max_cost_usd.map_or(0, micro_usd).div_ceil(samples);
            self.store.add_spent(pull_request, request.spent_micro_usd(&reply, bound), &key);
        }
        // What failed may succeed next time, and must not take the place of what did.
        if self.mode.writes() && seals(request, &key) && request.answer(&reply).is_ok() {
            self.store.save_reply(&reply, &key);
        }
        Ok(reply)
    }

    /// An answer that was kept. What failed is not one: it may succeed now.
    fn kept(&self, request: &Request<'_>, sample: u64, key: &Secret) -> Option<RecordedReply> {
        let hash = &request.encoded.request_hash;
        let may = self.mode.reads() && seals(request, key);
        let kept = may.then(|| self.store.reply(hash, sample, Some(key))).flatten()?;
        request.answer(&kept).is_ok().then_some(kept)
    }
}

/// Whether a seal with a key says whose answer it is. A job's own token is in the reach of every step and is another one
/// the next time, and a short word can be guessed.
fn seals(request: &Request<'_>, key: &Secret) -> bool {
    const LEAST: usize = 16;
    request.model.key_variable() != "GITHUB_TOKEN" && key.expose().len() >= LEAST
}

fn cancelled(error: HttpError) -> PortError {
    let code = error.code();
    PortError { code, message: error.to_string(), hint: code.hint() }
}
