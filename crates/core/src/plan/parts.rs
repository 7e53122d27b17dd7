//! Cuts what a review looks at into parts that a model reads at once, and says what each may use.

use super::{Candidate, included_hunks, omission_codes, scope_digest};
use crate::policy::Policy;
use crate::reviews::{PART_TOKENS, ReviewPolicy, estimated_tokens};
use crate::usage::usd;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{ChangedFile, LensPlan, OmissionReason, OmittedHunk, PlannedReview, TokenEstimator};

/// What planning a review has to know of how it asks.
pub struct Asking<'a> {
    /// The model's name in the policy.
    pub binding_id: &'a str,
    /// The digest of what the model is told to do.
    pub prompt_template_hash: Sha256Hex,
    pub estimator: TokenEstimator,
    /// The bytes of a request without any file.
    pub frame_bytes: u64,
    /// The bytes that a file adds, by its position in the change set.
    pub file_bytes: &'a (dyn Fn(usize) -> u64 + Sync),
    /// The most tokens of one answer.
    pub max_output_tokens: u64,
    /// The most that an answer costs, in millionths of a US dollar, by its tokens in and out; null where no price is
    /// known.
    pub cost_micro_usd: &'a (dyn Fn(u64, u64) -> Option<u64> + Sync),
}

/// A part while it is filled.
#[derive(Default)]
struct Part {
    /// Positions in the change set, ascending.
    files: Vec<usize>,
    bytes: u64,
}

/// The plans that a whole one becomes: itself, unless it is a review's.
pub(super) fn of(
    candidate: &Candidate<'_>,
    whole: LensPlan,
    files: &[ChangedFile],
    policy: &Policy,
) -> Vec<LensPlan> {
    let settings = policy.lenses[&whole.lens_id].review.as_ref();
    let (Some(asking), Some(settings)) = (candidate.asking, settings) else { return vec![whole] };
    let (parts, too_long) = cut(&whole, files, asking, settings);
    let count = parts.len();
    let mut whole = whole;
    // Cutting a file in its middle would hide from the model what belongs together.
    whole.omitted_hunks.extend(too_long.into_iter().map(|position| OmittedHunk {
        file: files[position].path.clone(),
        hunk_ordinal: None,
        reason: OmissionReason::LineLimit,
    }));
    whole.omitted_hunks.sort();
    whole.planning_codes.extend(omission_codes(&whole.omitted_hunks).collect::<Vec<_>>());
    whole.planning_codes.sort();
    whole.planning_codes.dedup();
    let plan = |(number, part): (usize, Part)| {
        let sub_lens_id = (count > 1).then(|| format!("part-{:03}", number + 1));
        part_plan(candidate, &whole, sub_lens_id, &part, (files, asking, settings))
    };
    parts.into_iter().enumerate().map(plan).collect()
}

/// Fills part after part in the order of paths, so that what changes in one file moves as few others as it can. The second
/// list has files that no part could take.
fn cut(
    whole: &LensPlan,
    files: &[ChangedFile],
    asking: &Asking<'_>,
    settings: &ReviewPolicy,
) -> (Vec<Part>, Vec<usize>) {
    let tokens = |bytes: u64| estimated_tokens(asking.estimator, bytes.saturating_add(asking.frame_bytes));
    let (mut parts, mut too_long) = (vec![Part::default()], Vec::new());
    for (position, included) in included_hunks(whole, files).into_iter().enumerate() {
        if included.is_none() {
            continue;
        }
        let bytes = (asking.file_bytes)(position);
        if tokens(bytes) > settings.max_input_tokens {
            too_long.push(position);
            continue;
        }
        let last = parts.last_mut().expect("there is always one");
        let fits = tokens(last.bytes.saturating_add(bytes)) <= PART_TOKENS.min(settings.max_input_tokens);
        if fits || last.files.is_empty() {
            last.files.push(position);
            last.bytes += bytes;
        } else {
            parts.push(Part { files: vec![position], bytes });
        }
    }
    (parts, too_long)
}

fn part_plan(
    candidate: &Candidate<'_>,
    whole: &LensPlan,
    sub_lens_id: Option<String>,
    part: &Part,
    (files, asking, settings): (&[ChangedFile], &Asking<'_>, &ReviewPolicy),
) -> LensPlan {
    let changed: Vec<&ChangedFile> = part.files.iter().map(|position| &files[*position]).collect();
    // What nobody looks at is told once, and what a part looks at in part with the part.
    let is_first = sub_lens_id.as_deref().is_none_or(|id| id == "part-001");
    let concerns = |hunk: &&OmittedHunk| {
        changed.iter().any(|file| file.path == hunk.file)
            || is_first && whole.changed_files.binary_search(&hunk.file).is_err()
            || is_first && hunk.reason == OmissionReason::LineLimit && hunk.hunk_ordinal.is_none()
    };
    let omitted_hunks: Vec<OmittedHunk> = whole.omitted_hunks.iter().filter(concerns).cloned().collect();
    let mut omitted_files: Vec<_> = omitted_hunks.iter().map(|hunk| hunk.file.clone()).collect();
    omitted_files.dedup();
    let (input, output) = match part.files.is_empty() {
        true => (0, 0),
        false => (
            estimated_tokens(asking.estimator, part.bytes.saturating_add(asking.frame_bytes)),
            asking.max_output_tokens,
        ),
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
        }),
        ..whole.clone()
    }
}
