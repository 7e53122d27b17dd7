//! The plan of a drive's turn, as a model of the policy makes it.

use serde::{Deserialize, Serialize};

use crate::ids::Sha256Hex;

/// Plan of a turn: the answer of the model that plans turns, or the reason why a rule chooses the findings of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DrivePlan {
    /// Digest of the question, which follows from what happened before.
    pub question_id: Sha256Hex,
    /// Name of the model under `[models]`.
    pub model: String,
    /// Origin of the plan.
    pub basis: DrivePlanBasis,
    /// Answer of the model with secrets masked, at most its first 65,536 bytes; null where there is none.
    pub answer: Option<String>,
    /// Tokens of the answered questions of this turn; null where none was answered, or the provider counts none.
    pub tokens: Option<DriveTokens>,
    /// Cost of the questions of this turn in millionths of a US dollar; null where none was answered, or the price is unknown.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cost_micro_usd: Option<u64>,
    /// Reason why the rule decides; null where the answer is a plan.
    pub problem: Option<String>,
    /// Ids of the chosen findings, in the order in which the agent gets them; empty where the rule decides.
    pub tasks: Vec<Sha256Hex>,
    /// Reasons of the model; empty where the rule decides.
    pub reasoning: String,
    /// Next action, for the agent; empty where the rule decides.
    pub action: String,
    /// Expected outcome; empty where the rule decides.
    pub expected: String,
    /// True if the goal is reached in the eyes of the model. The gate decides what that is worth.
    pub finished: bool,
}

/// Origin of a turn's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DrivePlanBasis {
    /// The answer of the model.
    Answer,
    /// The rule, because the answer is not of the form that was asked for.
    AnswerInvalid,
    /// The rule, because the request failed.
    RequestFailed,
    /// The rule, because the money that is left does not cover the question.
    NoMoney,
}

/// Tokens of questions to a model, as its provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveTokens {
    /// Tokens that were sent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub input: u64,
    /// Tokens that were generated.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub output: u64,
}
