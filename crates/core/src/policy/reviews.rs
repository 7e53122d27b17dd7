//! Reviews as the policy and the planner know them: lenses whose judgement is a model's.

use serde::Serialize;

use super::file::{PolicyTextError, line_of_table};
use crate::nearest::nearest;
use qa_contracts::v1::{OverflowPolicy, PolicyFile, PolicyLens, RunMode, TokenEstimator};

/// Prefix of the ids of reviews, and of no other lens.
const PREFIX: &str = "review-";
/// Id of the review that checks changes against the rubric.
pub const CONSISTENCY: &str = "review-consistency";
/// Default limit of a review's input for one sample, in tokens, over all its parts (S003-130).
const MAX_INPUT_TOKENS: u64 = 70_000;
/// Maximum size of a part, in tokens. Models read smaller parts better, and fewer are requested again when a file
/// changes; larger parts repeat the instructions less.
pub(crate) const PART_TOKENS: u64 = 20_000;

/// Returns whether a lens is a review.
pub fn is_review(lens_id: &str) -> bool {
    lens_id.starts_with(PREFIX)
}

/// The effective settings of a review that has a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewPolicy {
    /// The model's name in the policy.
    pub model: String,
    pub(crate) samples: u64,
    pub(crate) agree: u64,
    pub(crate) canary: bool,
    pub(crate) max_input_tokens: u64,
    /// Name of the model that confirms findings. Absent without one, as in keys from before there was such a setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_model: Option<String>,
}

impl ReviewPolicy {
    /// Returns the settings of a review, or `None` for a lens without a model.
    pub(crate) fn from_file(lens: &PolicyLens) -> Option<Self> {
        let samples = lens.samples.unwrap_or(1);
        Some(Self {
            model: lens.model.clone()?,
            samples,
            agree: lens.agree.unwrap_or(samples / 2 + 1),
            canary: lens.canary.unwrap_or(false),
            max_input_tokens: lens.max_input_tokens.unwrap_or(MAX_INPUT_TOKENS),
            confirm_model: lens.confirm_model.clone(),
        })
    }
}

/// Refuses settings that no review could follow.
pub(crate) fn check(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for (id, lens) in &file.lenses {
        let line = line_of_table(text, &format!("[lenses.{id}]"));
        if let Some((message, suggestion)) = fault(id, lens, file) {
            return Err(PolicyTextError { line, message, suggestion });
        }
    }
    Ok(())
}

fn fault(id: &str, lens: &PolicyLens, file: &PolicyFile) -> Option<(String, Option<String>)> {
    let stated = [
        ("model", lens.model.is_some()),
        ("samples", lens.samples.is_some()),
        ("agree", lens.agree.is_some()),
        ("canary", lens.canary.is_some()),
        ("max-input-tokens", lens.max_input_tokens.is_some()),
        ("confirm-model", lens.confirm_model.is_some()),
    ];
    if !is_review(id) {
        let stated = stated.into_iter().chain([("overflow", lens.overflow.is_some())]);
        let (name, _) = stated.into_iter().find(|(_, is_stated)| *is_stated)?;
        return Some((format!("`{id}` asks no model, so `{name}` means nothing there"), None));
    }
    if let Some(reason) = overflow_fault(lens, file.mode) {
        return Some((format!("`overflow` of `{id}` cannot act: {reason}"), None));
    }
    let Some(model) = &lens.model else {
        let needs = lens.enabled == Some(true) || lens.required == Some(true);
        let more = stated.iter().any(|(_, is_stated)| *is_stated);
        return (needs || more).then(|| (format!("`{id}` names no `model`, so it could not run"), None));
    };
    for name in [Some(model), lens.confirm_model.as_ref()].into_iter().flatten() {
        if !file.models.contains_key(name) {
            let shown = crate::masking::sanitize_cut(name, 80);
            let names = file.models.keys().map(String::as_str);
            return Some((
                format!("`{id}` asks `{shown}`, and there is no [models.{shown}]"),
                nearest(name, names).map(str::to_owned),
            ));
        }
    }
    if let Some(confirming) = &lens.confirm_model
        && file.models[confirming] == file.models[model]
    {
        let shown = crate::masking::sanitize_cut(confirming, 80);
        return Some((
            format!("`confirm-model` of `{id}` is `{shown}`, the model that it asks already"),
            None,
        ));
    }
    if id == CONSISTENCY && file.consistency.rubric.is_none() {
        return Some((format!("`{id}` holds a change to a rubric, and [consistency] names none"), None));
    }
    let ranges = [
        ("samples", lens.samples, 1, 9),
        ("agree", lens.agree, 1, lens.samples.unwrap_or(1)),
        ("max-input-tokens", lens.max_input_tokens, 1000, 10_000_000),
    ];
    ranges.into_iter().find_map(|(name, value, least, most)| {
        let value = value.filter(|value| !(least..=most).contains(value))?;
        Some((format!("{name} of `{id}` is {value}, it must be from {least} to {most}"), None))
    })
}

/// Returns why a review over a budget stops whatever `overflow` says.
fn overflow_fault(lens: &PolicyLens, mode: Option<RunMode>) -> Option<&'static str> {
    let leaves_out = match lens.overflow? {
        OverflowPolicy::Stop => false,
        OverflowPolicy::Skip | OverflowPolicy::Escalate => true,
    };
    if leaves_out && lens.required == Some(true) {
        return Some("a required review that does not fit ends the run; set `required = false`");
    }
    let is_strict = mode != Some(RunMode::BestEffort);
    (leaves_out && is_strict).then_some("mode `strict` needs every review; set `mode = \"best_effort\"`")
}

/// Estimates the tokens of a text from its size, rounded up.
pub fn estimated_tokens(estimator: TokenEstimator, bytes: u64) -> u64 {
    match estimator {
        TokenEstimator::OpenaiBytes => bytes.div_ceil(3),
        TokenEstimator::AnthropicBytes => bytes.saturating_mul(10).div_ceil(22),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_asks_once_and_reads_70_000_tokens_unless_it_is_told_otherwise() {
        let lens = PolicyLens { model: Some("m".to_owned()), ..PolicyLens::default() };
        let expected = ReviewPolicy {
            model: "m".to_owned(),
            samples: 1,
            agree: 1,
            canary: false,
            max_input_tokens: 70_000,
            confirm_model: None,
        };
        let policy = ReviewPolicy::from_file(&lens).unwrap();
        assert_eq!(policy, expected);
        // A setting that is not used is not part of any key.
        let digested = serde_json::to_string(&policy).unwrap();
        let before = r#"{"model":"m","samples":1,"agree":1,"canary":false,"maxInputTokens":70000}"#;
        assert_eq!(digested, before);
    }

    #[test]
    fn tokens_are_counted_upwards() {
        let of =
            |estimator: TokenEstimator| [0, 1, 3, 4, 22, 23].map(|bytes| estimated_tokens(estimator, bytes));
        assert_eq!(of(TokenEstimator::OpenaiBytes), [0, 1, 1, 2, 8, 8]);
        assert_eq!(of(TokenEstimator::AnthropicBytes), [0, 1, 2, 2, 10, 11]);
    }
}
