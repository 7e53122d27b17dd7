//! Reviews: what models are asked about a change, and what their recorded answers come to.

mod ask;
mod earlier;
mod judge;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

pub use ask::{NoStore, RepliesMode, ReplyCollector, ReplyStore};
pub use earlier::StoredHunk;
pub use judge::{ReviewOutcome, SampleFindings, findings_by_sample};

use super::gather::Texts;
use super::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeSet, ChangedFile, EarlierHunk, LensPlan, LensResult, RecordedReplies, RecordedReply, Rubric,
    Strength,
};
use qa_core::findings::with_strictest_scope;
use qa_core::packet::Packet;
use qa_core::plan::{self, Need, included_hunks};
use qa_core::policy::Policy;
use qa_lenses::contract::RuleSpec;
use qa_lenses::reviews::answer;
use qa_lenses::reviews::clean::Cleaned;
use qa_lenses::reviews::contract::ReviewSpec;
use qa_lenses::reviews::packet::{file_block, shown_path};
use qa_lenses::reviews::question::{Planted, instructions, prompt_template_hash, question, rule_ids};
use qa_lenses::reviews::{self};
use qa_providers::contract::Prompt;
use qa_providers::model::Model;
use qa_providers::request::Encoded;

/// What stands around the blocks of a packet, and a canary among them, have at most so many bytes.
const FENCE_BYTES: u64 = 2048;

/// The reviews of a policy over a change.
pub struct Reviews<'a> {
    change_set: &'a ChangeSet,
    texts: &'a dyn Texts,
    rubric: Option<&'a Rubric>,
    /// The model that each asks, by lens.
    models: BTreeMap<&'static str, (&'a str, Model)>,
    /// The bytes of each file's block, once they were needed.
    bytes: Vec<OnceLock<u64>>,
}

/// What a plan asks.
pub(crate) struct Request<'r> {
    pub(crate) spec: &'static ReviewSpec,
    pub(crate) model: &'r Model,
    pub(crate) encoded: Encoded,
    pub(crate) cleaned: Cleaned,
    pub(crate) planted: Option<Planted>,
    /// What an answer may name.
    rule_ids: Vec<&'r str>,
}

impl<'a> Reviews<'a> {
    /// The reviews that the policy has a model for.
    pub fn new(
        policy: &'a Policy,
        change_set: &'a ChangeSet,
        texts: &'a dyn Texts,
        rubric: Option<&'a Rubric>,
    ) -> Self {
        let model = |spec: &&'static ReviewSpec| {
            let settings = policy.lenses.get(spec.id).filter(|lens| lens.enabled)?;
            let name = settings.review.as_ref()?.model.as_str();
            let model = policy.models.get(name).map(|model| Model::of(name, model));
            let model = model.and_then(Result::ok).expect("reading the policy has resolved every model");
            Some((spec.id, (name, model)))
        };
        let models: BTreeMap<_, _> = reviews::ALL.iter().filter_map(model).collect();
        let count = if models.is_empty() { 0 } else { change_set.files.len() };
        let bytes = (0..count).map(|_| OnceLock::new()).collect();
        Self { change_set, texts, rubric, models, bytes }
    }

    /// The models that are asked, by the policy's name, each once.
    pub fn models(&self) -> BTreeMap<&'a str, &Model> {
        self.models.values().map(|(name, model)| (*name, model)).collect()
    }

    /// Whether a review could say something about a file that counts for anything: one with changed lines, or that may
    /// have some and was not read.
    pub fn need(lens_id: &str, policy: &Policy, file: &ChangedFile) -> Need {
        let Some(spec) = reviews::find(lens_id) else { return Need::Nothing };
        let counts = |rule: &RuleSpec| {
            let held = with_strictest_scope(policy, rule.id, file);
            policy.strength(rule.id, held.scope) != Strength::Off
        };
        let has_lines = file.text && !file.hunks.is_empty();
        match (has_lines || plan::is_unread(file)) && spec.rules.iter().any(counts) {
            true => Need::Hunks,
            false => Need::Nothing,
        }
    }

    /// What the planner has to know of how a review asks; null for a lens that is none, or has no model.
    pub fn planning<'s>(
        &'s self,
        lens_id: &str,
        file_bytes: &'s (dyn Fn(usize) -> u64 + Sync),
        cost: &'s (dyn Fn(u64, u64) -> Option<u64> + Sync),
    ) -> Option<plan::Asking<'s>> {
        let spec = reviews::find(lens_id)?;
        let (name, model) = self.models.get(spec.id)?;
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

    /// The most that an answer to a review costs, by tokens in and out.
    pub fn cost_bound(&self, lens_id: &str, input: u64, output: u64) -> Option<u64> {
        self.models.get(lens_id)?.1.cost_bound_micro_usd(input, output)
    }

    /// The bytes of a file's block. One that cannot be read is longer than any part; whoever reads it next says why.
    pub fn file_bytes(&self, position: usize) -> u64 {
        *self.bytes[position].get_or_init(|| {
            let file = &self.change_set.files[position];
            let included = vec![true; file.hunks.len()];
            let Ok(text) = self.texts.text(position) else { return u64::MAX };
            file_block(&Packet { file, text: &text, included: &included }).0.len() as u64
        })
    }

    /// What a plan asks; null where it is no review's or looks at no file.
    pub(crate) fn request(&self, plan: &LensPlan) -> Result<Option<Request<'_>>, PortError> {
        let (Some(spec), Some(review)) = (reviews::find(&plan.lens_id), &plan.review) else {
            return Ok(None);
        };
        let Some((_, model)) = self.models.get(spec.id) else { return Ok(None) };
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
        let is_taken = |path: &str| {
            let names = files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.old_path));
            names.into_iter().any(|name| shown_path(name) == path)
        };
        let seed = review.canary.then_some(&plan.scope_digest);
        let question = question(spec, self.rubric, blocks, (seed, &is_taken));
        let prompt = Prompt {
            instructions: question.instructions,
            packet: question.packet,
            schema_name: answer::SCHEMA_NAME,
            schema: question.schema,
        };
        Ok(Some(Request {
            spec,
            model,
            encoded: model.request(&prompt),
            cleaned: question.cleaned,
            planted: question.planted,
            rule_ids: rule_ids(spec, self.rubric),
        }))
    }
}

/// What reviews are judged from.
pub struct Evidence<'a> {
    pub reviews: Reviews<'a>,
    pub replies: &'a RecordedReplies,
}

impl Evidence<'_> {
    /// Whether the record holds each reply once, in its order, and none that no plan asks for.
    pub(crate) fn check(&self, plans: &[LensPlan], results: &[&LensResult]) -> Result<(), PortError> {
        let mut wanted = BTreeSet::new();
        for review in results.iter().filter_map(|result| result.review.as_ref()) {
            let samples = 1..=review.samples.len() as u64;
            wanted.extend(samples.map(|sample| (review.request_hash.clone(), sample)));
        }
        let key = |reply: &RecordedReply| (reply.request_hash.clone(), reply.sample);
        let replies = &self.replies.replies;
        let in_order = replies.windows(2).all(|pair| key(&pair[0]) < key(&pair[1]));
        let earlier = &self.replies.earlier;
        let earlier_is_theirs = earlier.is_empty() || self.is_of_plans(plans, results)?;
        if in_order && earlier_is_theirs && replies.iter().all(|reply| wanted.contains(&key(reply))) {
            return Ok(());
        }
        let code = Code::ArtifactSchemaInvalid;
        let message = "the recorded replies are not those of the plans".to_owned();
        Err(PortError { code, message, hint: code.hint() })
    }

    /// Whether what was said earlier is of hunks that are asked about, once each, in its order, and could have been said.
    fn is_of_plans(&self, plans: &[LensPlan], results: &[&LensResult]) -> Result<bool, PortError> {
        let earlier = &self.replies.earlier;
        let key = |said: &EarlierHunk| (said.lens_id.clone(), said.hunk.clone());
        let in_order = earlier.windows(2).all(|pair| key(&pair[0]) < key(&pair[1]));
        let mut theirs = 0;
        for (plan, _) in plans.iter().zip(results).filter(|(_, result)| result.review.is_some()) {
            let Some(request) = self.reviews.request(plan)? else { continue };
            for hunk in self.reviews.hunks(plan)? {
                let own = earlier.iter().filter(|said| said.lens_id == plan.lens_id);
                theirs += own.filter(|said| hunk.allows(said, &request.rule_ids)).count();
            }
        }
        Ok(in_order && theirs == earlier.len())
    }
}
