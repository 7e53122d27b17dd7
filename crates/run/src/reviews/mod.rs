//! Reviews: the requests that models get about a change, and the judgement of their recorded replies.

mod ask;
mod confirm;
mod confirm_bound;
mod earlier;
mod judge;
mod outcome;
mod record;
mod request;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

pub use ask::{NoStore, PullRequestBudget, RepliesMode, ReplyCollector, ReplyStore};
pub use confirm_bound::UsageBound;
pub use judge::{SampleFindings, findings_by_sample, requested_replies};
pub use outcome::ReviewOutcome;

use request::SentRequest;

use super::gather::Texts;
use super::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ChangeSet, ChangedFile, EarlierHunk, LensPlan, LensResult, RecordedReplies, RecordedReply, Rubric,
    Strength, Waiver,
};
use qa_core::findings::with_strictest_scope;
use qa_core::packet::Packet;
use qa_core::plan::{self, Need, included_hunks};
use qa_core::policy::Policy;
use qa_core::policy::reviews::ReviewPolicy;
use qa_lenses::contract::RuleSpec;
use qa_lenses::reviews::answer;
use qa_lenses::reviews::clean::Cleaned;
use qa_lenses::reviews::contract::ReviewSpec;
use qa_lenses::reviews::packet::{file_block, shown_path};
use qa_lenses::reviews::question::{Planted, instructions, prompt_template_hash, question, rule_ids};
use qa_lenses::reviews::{self};
use qa_providers::contract::Prompt;
use qa_providers::model::Model;

/// Upper bound of a packet's text around the blocks of its files, a canary included, in bytes.
const FENCE_BYTES: u64 = 2048;

/// Reviews that a policy has models for, over one change.
pub struct Reviews<'a> {
    policy: &'a Policy,
    waivers: &'a [Waiver],
    change_set: &'a ChangeSet,
    texts: &'a dyn Texts,
    rubric: Option<&'a Rubric>,
    /// Model of each review, by lens.
    models: BTreeMap<&'static str, NamedModel<'a>>,
    /// Model that confirms findings of a review, by lens.
    confirming: BTreeMap<&'static str, NamedModel<'a>>,
    /// Size of each file's block in bytes, computed when it is needed.
    block_bytes: Vec<OnceLock<u64>>,
}

/// Model with its name in the policy.
struct NamedModel<'a> {
    name: &'a str,
    model: Model,
}

/// Request of a plan to a model.
pub(crate) struct Request<'r> {
    pub(crate) spec: &'static ReviewSpec,
    pub(crate) sent: SentRequest<'r>,
    pub(crate) cleaned: Cleaned,
    pub(crate) planted: Option<Planted>,
    /// Rules that a reply may name.
    rule_ids: Vec<&'r str>,
}

impl<'a> Reviews<'a> {
    /// Selects the enabled reviews that the policy has a model for.
    pub fn new(
        policy: &'a Policy,
        waivers: &'a [Waiver],
        change_set: &'a ChangeSet,
        texts: &'a dyn Texts,
        rubric: Option<&'a Rubric>,
    ) -> Self {
        let (mut models, mut confirming) = (BTreeMap::new(), BTreeMap::new());
        for spec in reviews::ALL {
            let Some(settings) = review_settings(policy, spec) else { continue };
            models.insert(spec.id, named_model(policy, &settings.model));
            let name = settings.confirm_model.as_deref();
            confirming.extend(name.map(|name| (spec.id, named_model(policy, name))));
        }
        let count = if models.is_empty() { 0 } else { change_set.files.len() };
        let block_bytes = (0..count).map(|_| OnceLock::new()).collect();
        Self { policy, waivers, change_set, texts, rubric, models, confirming, block_bytes }
    }

    /// Returns the models of all reviews, by their names in the policy.
    pub fn models(&self) -> BTreeMap<&'a str, &Model> {
        self.models.values().chain(self.confirming.values()).map(|named| (named.name, &named.model)).collect()
    }

    /// Returns the content that a review needs of a file: its hunks if it has changed lines, or may have some and was not
    /// read, and a rule of the review is on for it.
    pub fn need(lens_id: &str, policy: &Policy, file: &ChangedFile) -> Need {
        let Some(spec) = reviews::find(lens_id) else { return Need::Nothing };
        let has_lines = file.text && !file.hunks.is_empty();
        let is_on = spec.rules.iter().any(|rule| is_rule_on(policy, rule, file));
        match (has_lines || plan::is_unread(file)) && is_on {
            true => Need::Hunks,
            false => Need::Nothing,
        }
    }

    /// Returns what the planner needs to size a review's request, or `None` for a lens that is no review or has no model.
    pub fn request_planning<'s>(
        &'s self,
        lens_id: &str,
        file_bytes: &'s (dyn Fn(usize) -> u64 + Sync),
        cost: &'s (dyn Fn(u64, u64) -> Option<u64> + Sync),
    ) -> Option<plan::Asking<'s>> {
        let spec = reviews::find(lens_id)?;
        let NamedModel { name, model } = self.models.get(spec.id)?;
        let schema = answer::schema(&rule_ids(spec, self.rubric)).to_string();
        let frame = instructions(spec, self.rubric).len() + schema.len();
        Some(plan::Asking {
            binding_id: name,
            prompt_template_hash: prompt_template_hash(spec),
            estimator: model.estimator(),
            frame_bytes: frame as u64 + FENCE_BYTES,
            file_bytes,
            max_output_tokens: model.binding.max_tokens,
            cost_micro_usd: cost,
        })
    }

    /// Returns the highest cost of a reply by its tokens, in millionths of a US dollar.
    pub fn cost_bound(&self, lens_id: &str, input: u64, output: u64) -> Option<u64> {
        self.models.get(lens_id)?.model.cost_bound_micro_usd(input, output)
    }

    /// Returns the size of a file's block in bytes. A file that cannot be read counts as too large for any request; reading
    /// it for the request reports the error.
    pub fn file_bytes(&self, position: usize) -> u64 {
        *self.block_bytes[position].get_or_init(|| {
            let file = &self.change_set.files[position];
            let included = vec![true; file.hunks.len()];
            let Ok(text) = self.texts.text(position) else { return u64::MAX };
            file_block(&Packet { file, text: &text, included: &included }).text.len() as u64
        })
    }

    /// Returns the request of a plan, or `None` if it is not a review's or includes no file.
    pub(crate) fn request(&self, plan: &LensPlan) -> Result<Option<Request<'_>>, PortError> {
        let (Some(spec), Some(review)) = (reviews::find(&plan.lens_id), &plan.review) else {
            return Ok(None);
        };
        let Some(NamedModel { model, .. }) = self.models.get(spec.id) else { return Ok(None) };
        let files = &self.change_set.files;
        let mut blocks = Vec::new();
        for (position, included) in included_hunks(plan, files).into_iter().enumerate() {
            let Some(included) = included else { continue };
            let text = self.texts.text(position)?;
            blocks.push(file_block(&Packet { file: &files[position], text: &text, included: &included }));
        }
        if blocks.is_empty() {
            return Ok(None);
        }
        let seed = review.canary.then_some(&plan.scope_digest);
        let question = question(spec, self.rubric, blocks, seed, &|path| is_taken(files, path));
        let prompt = Prompt {
            instructions: question.instructions,
            packet: question.packet,
            schema_name: answer::SCHEMA_NAME,
            schema: question.schema,
        };
        Ok(Some(Request {
            spec,
            sent: SentRequest { model, encoded: model.request(&prompt) },
            cleaned: question.cleaned,
            planted: question.planted,
            rule_ids: rule_ids(spec, self.rubric),
        }))
    }
}

/// Returns the settings of a review that is enabled and has a model.
fn review_settings<'a>(policy: &'a Policy, spec: &ReviewSpec) -> Option<&'a ReviewPolicy> {
    policy.lenses.get(spec.id).filter(|lens| lens.enabled)?.review.as_ref()
}

fn named_model<'a>(policy: &'a Policy, name: &'a str) -> NamedModel<'a> {
    let model = policy.models.get(name).and_then(|model| Model::new(name, model).ok());
    NamedModel { name, model: model.expect("reading the policy has resolved every model") }
}

fn is_rule_on(policy: &Policy, rule: &RuleSpec, file: &ChangedFile) -> bool {
    let strictest = with_strictest_scope(policy, rule.id, file);
    policy.strength(rule.id, strictest.scope) != Strength::Off
}

/// Returns whether a changed file has or had a path.
fn is_taken(files: &[ChangedFile], path: &str) -> bool {
    let mut paths = files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.old_path));
    paths.any(|each| shown_path(each) == path)
}

/// Evidence that reviews are judged from.
pub struct Evidence<'a> {
    pub reviews: Reviews<'a>,
    pub replies: &'a RecordedReplies,
}

impl Evidence<'_> {
    /// Checks that the record holds each reply once, in order, and none that no plan requests.
    pub(crate) fn check(&self, plans: &[LensPlan], results: &[&LensResult]) -> Result<(), PortError> {
        let mut requested = BTreeSet::new();
        for review in results.iter().filter_map(|result| result.review.as_ref()) {
            requested.extend((1..=review.samples.len() as u64).map(|sample| (&review.request_hash, sample)));
            let rounds = review.confirmations.iter().flat_map(|confirmation| &confirmation.rounds);
            requested.extend(rounds.map(|round| (&round.request_hash, 1)));
        }
        let replies = &self.replies.replies;
        let in_order = replies.windows(2).all(|pair| reply_key(&pair[0]) < reply_key(&pair[1]));
        let are_requested = replies.iter().all(|reply| requested.contains(&reply_key(reply)));
        if in_order && are_requested && self.has_valid_earlier_findings(plans, results)? {
            return Ok(());
        }
        let code = Code::ArtifactSchemaInvalid;
        let message = "the recorded replies are not those of the plans".to_owned();
        Err(PortError { code, message, hint: code.hint() })
    }

    /// Returns whether the recorded earlier findings are in order, each of one reviewed hunk, with lines and rules that the
    /// review has.
    fn has_valid_earlier_findings(
        &self,
        plans: &[LensPlan],
        results: &[&LensResult],
    ) -> Result<bool, PortError> {
        let earlier = &self.replies.earlier;
        if earlier.is_empty() {
            return Ok(true);
        }
        let in_order = earlier.windows(2).all(|pair| hunk_key(&pair[0]) < hunk_key(&pair[1]));
        let mut allowed = 0;
        for (plan, _) in plans.iter().zip(results).filter(|(_, result)| result.review.is_some()) {
            let Some(request) = self.reviews.request(plan)? else { continue };
            for hunk in self.reviews.hunks(plan)? {
                let own = earlier.iter().filter(|recorded| recorded.lens_id == plan.lens_id);
                allowed += own.filter(|recorded| hunk.allows(recorded, &request.rule_ids)).count();
            }
        }
        Ok(in_order && allowed == earlier.len())
    }
}

fn reply_key(reply: &RecordedReply) -> (&Sha256Hex, u64) {
    (&reply.request_hash, reply.sample)
}

fn hunk_key(recorded: &EarlierHunk) -> (&str, &Sha256Hex) {
    (&recorded.lens_id, &recorded.hunk)
}
