//! The contract of a review: a lens whose judgement is a model's, described as data. Nothing here sends a request.

use crate::contract::RuleSpec;
use qa_contracts::v1::LensClass;

/// A review as the registry, the planner and the documentation know it.
#[derive(Debug)]
pub struct ReviewSpec {
    /// `review-` and a word; the file has the word as its name.
    pub id: &'static str,
    /// Changed whenever the same change may be asked about in another way; it is part of the execution key.
    pub(crate) version: &'static str,
    pub(crate) class: LensClass,
    pub title: &'static str,
    /// The task of the model: `include_str!("prompts/<word>.v<N>.md")`. A released prompt never changes.
    pub(crate) prompt: &'static str,
    /// The rules, by id. What a model may say is one of them; each title is what it is told of the rule.
    pub rules: &'static [RuleSpec],
    /// Defects to look for in an answer where the policy asks for that.
    pub(crate) canaries: &'static [Canary],
}

/// A defect that nobody wrote: whoever does not see it did not look.
#[derive(Debug)]
pub(crate) struct Canary {
    /// The rule that it breaks; a model may call it by another one.
    pub(crate) rule: &'static str,
    /// The ending of its file.
    pub(crate) extension: &'static str,
    /// Its lines. `{}` stands for a word that differs from change to change.
    pub(crate) lines: &'static [&'static str],
    /// Fault of these lines, in one sentence.
    pub(crate) claim: &'static str,
    /// The faulty lines, counted from 1.
    pub(crate) faulty: std::ops::RangeInclusive<u64>,
}
