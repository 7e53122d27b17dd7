//! Splits a review's files into parts of one model request each, with the limits of each part.

use std::cmp::Reverse;

use super::{Candidate, included_hunks, omission_codes, scope_digest};
use crate::policy::Policy;
use crate::policy::reviews::{PART_TOKENS, ReviewPolicy, estimated_tokens};
use crate::usage::usd;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ChangeSensitivity, ChangedFile, LensPlan, OmissionReason, OmittedHunk, PlannedReview, TokenEstimator,
};

/// Request settings of a review, as far as they matter to its plan.
pub struct Asking<'a> {
    /// The model's name in the policy.
    pub binding_id: &'a str,
    /// Digest of the instructions for the model.
    pub prompt_template_hash: Sha256Hex,
    pub estimator: TokenEstimator,
    /// Size of a request without any file, in bytes.
    pub frame_bytes: u64,
    /// Returns the bytes that a file adds, by its position in the change set.
    pub file_bytes: &'a (dyn Fn(usize) -> u64 + Sync),
    /// Maximum length of one reply, in tokens.
    pub max_output_tokens: u64,
    /// Returns the maximum cost of a reply, in millionths of a US dollar, by its input and output tokens; `None` where no
    /// price is known.
    pub cost_micro_usd: &'a (dyn Fn(u64, u64) -> Option<u64> + Sync),
}

/// Files of one model request.
#[derive(Default)]
struct Part {
    /// Positions in the change set, ascending.
    files: Vec<usize>,
    bytes: u64,
}

impl Part {
    /// Returns the score of its most sensitive file, 0 to 100.
    fn sensitivity(&self, sensitivity: &ChangeSensitivity) -> u8 {
        let scores = self.files.iter().filter_map(|position| sensitivity.files.get(*position));
        scores.map(|file| file.score).max().unwrap_or(0)
    }
}

/// Splits a review's plan into its parts; another lens's plan stays whole. The part with the most sensitive file comes
/// first, so that a budget that is too small leaves out what is least sensitive.
pub(super) fn split(
    candidate: &Candidate<'_>,
    whole: LensPlan,
    files: &[ChangedFile],
    sensitivity: &ChangeSensitivity,
    policy: &Policy,
) -> Vec<LensPlan> {
    let settings = policy.lenses[&whole.lens_id].review.as_ref();
    let (Some(asking), Some(settings)) = (candidate.asking, settings) else { return vec![whole] };
    let Split { mut parts, too_long } = fill_parts(&whole, files, asking, settings);
    parts.sort_by_key(|part| Reverse(part.sensitivity(sensitivity)));
    let count = parts.len();
    let mut whole = whole;
    // A file is not cut in its middle, because the model has to see its parts together.
    whole.omitted_hunks.extend(too_long.into_iter().map(|position| OmittedHunk {
        file: files[position].path.clone(),
        hunk_ordinal: None,
        reason: OmissionReason::LineLimit,
    }));
    whole.omitted_hunks.sort();
    whole.planning_codes.extend(omission_codes(&whole.omitted_hunks).collect::<Vec<_>>());
    whole.planning_codes.sort();
    whole.planning_codes.dedup();
    let review = Review { candidate, whole: &whole, files, asking, settings };
    let mut plans = Vec::with_capacity(count);
    for (number, part) in (1..).zip(parts) {
        let sub_lens_id = (count > 1).then(|| format!("part-{number:03}"));
        plans.push(part_plan(&review, sub_lens_id, &part));
    }
    plans
}

impl Asking<'_> {
    /// Estimates the tokens of a request with files of this size.
    fn tokens(&self, bytes: u64) -> u64 {
        estimated_tokens(self.estimator, bytes.saturating_add(self.frame_bytes))
    }
}

/// Result of filling parts.
struct Split {
    parts: Vec<Part>,
    /// Positions of files that are too long for any part.
    too_long: Vec<usize>,
}

/// Fills part after part in path order, so that a change of one file moves as few others as possible.
fn fill_parts(
    whole: &LensPlan,
    files: &[ChangedFile],
    asking: &Asking<'_>,
    settings: &ReviewPolicy,
) -> Split {
    let (mut parts, mut too_long) = (vec![Part::default()], Vec::new());
    for (position, included) in included_hunks(whole, files).into_iter().enumerate() {
        if included.is_none() {
            continue;
        }
        let bytes = (asking.file_bytes)(position);
        if asking.tokens(bytes) > settings.max_input_tokens {
            too_long.push(position);
            continue;
        }
        let last = parts.last_mut().expect("there is always one");
        let fits =
            asking.tokens(last.bytes.saturating_add(bytes)) <= PART_TOKENS.min(settings.max_input_tokens);
        if fits || last.files.is_empty() {
            last.files.push(position);
            last.bytes += bytes;
        } else {
            parts.push(Part { files: vec![position], bytes });
        }
    }
    Split { parts, too_long }
}

/// A review's whole plan with its settings.
struct Review<'a> {
    candidate: &'a Candidate<'a>,
    whole: &'a LensPlan,
    files: &'a [ChangedFile],
    asking: &'a Asking<'a>,
    settings: &'a ReviewPolicy,
}

fn part_plan(review: &Review<'_>, sub_lens_id: Option<String>, part: &Part) -> LensPlan {
    let &Review { candidate, whole, files, asking, settings } = review;
    let changed: Vec<&ChangedFile> = part.files.iter().map(|position| &files[*position]).collect();
    // Omissions of files that are in no part are listed once, with the first part.
    let is_first = matches!(sub_lens_id.as_deref(), None | Some("part-001"));
    let mut omitted_hunks = whole.omitted_hunks.clone();
    omitted_hunks.retain(|hunk| {
        changed.iter().any(|file| file.path == hunk.file)
            || is_first && whole.changed_files.binary_search(&hunk.file).is_err()
            || is_first && hunk.reason == OmissionReason::LineLimit && hunk.hunk_ordinal.is_none()
    });
    let mut omitted_files: Vec<_> = omitted_hunks.iter().map(|hunk| hunk.file.clone()).collect();
    omitted_files.dedup();
    let (input, output) = match part.files.is_empty() {
        true => (0, 0),
        false => (asking.tokens(part.bytes), asking.max_output_tokens),
    };
    let samples = settings.samples;
    let cost = (asking.cost_micro_usd)(input, output).map(|cost| usd(cost.saturating_mul(samples)));
    LensPlan {
        scope_digest: scope_digest(candidate.lens, sub_lens_id.as_deref(), &changed, &[], &omitted_hunks),
        sub_lens_id,
        provider_binding_id: asking.binding_id.to_owned(),
        changed_files: changed.iter().map(|file| file.path.clone()).collect(),
        full_context_files: Vec::new(),
        omitted_files,
        omitted_hunks,
        max_input_tokens: input.saturating_mul(samples),
        max_output_tokens: output.saturating_mul(samples),
        max_cost_usd: cost,
        review: Some(PlannedReview {
            prompt_template_hash: asking.prompt_template_hash.clone(),
            token_estimator: asking.estimator,
            samples,
            agree: settings.agree,
            canary: settings.canary,
            confirm_binding_id: settings.confirm_model.clone(),
        }),
        ..whole.clone()
    }
}
