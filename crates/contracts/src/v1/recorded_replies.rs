//! The models' recorded replies, so that a replay sends no request (S003-27, C-42).

use serde::{Deserialize, Serialize};

use super::{Severity, Surface};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::Sha256Hex;

schema_tag! {
    /// Names the schema of [`RecordedReplies`].
    RecordedRepliesTag = "recorded-replies.v1";
}

/// Outcome of every request to a model, by the request's hash and the number of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReplies {
    /// The schema's name.
    pub schema_version: RecordedRepliesTag,
    /// Outcomes of all requests.
    pub replies: Vec<RecordedReply>,
    /// Earlier findings in hunks of this change that were part of another request, by lens and hunk.
    pub earlier: Vec<EarlierHunk>,
    /// Findings after this run in hunks of the pull request, of this change and of earlier ones, for the runs after it. No
    /// verdict of this run depends on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub known: Vec<ReviewedHunk>,
}

/// Findings of a hunk, as runs of a pull request hand them on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewedHunk {
    /// The digest of everything else that decides how the hunk is reviewed: the review, its settings, its model, the
    /// conventions and the number of the pull request.
    pub context: Sha256Hex,
    /// The hunk with its findings.
    pub findings: EarlierHunk,
}

impl Artifact for RecordedReplies {
    const SCHEMA: &'static str = "recorded-replies.v1";
    const FILE: &'static str = "recordings/replies.json";
}

/// Earlier findings of a review in a hunk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EarlierHunk {
    /// Id of the review.
    pub lens_id: String,
    /// The digest over the file's path, the removed and the added lines.
    pub hunk: Sha256Hex,
    /// Digest of the file's text in that request, where a later finding counts as late; null elsewhere.
    pub shown: Option<Sha256Hex>,
    /// Findings in the hunk.
    pub findings: Vec<EarlierFinding>,
}

/// A finding that stood when it was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EarlierFinding {
    /// Id that the model gave: of a rule, or of a convention.
    pub rule_id: String,
    /// Its place among the added lines of the hunk, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub offset: u64,
    /// Severity of the finding.
    pub severity: Severity,
    /// One sentence.
    pub summary: String,
    /// Suggested fix.
    pub suggestion: Option<String>,
    /// Number of replies with the finding.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub answers: u64,
    /// True if replies that were merged had other lines or words; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub differs: bool,
}

/// Outcome of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReply {
    /// The digest over dialect, version, endpoint, path and body of the request. The body follows from the change.
    pub request_hash: Sha256Hex,
    /// Number of the reply among several to the same request, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub sample: u64,
    /// API dialect.
    pub surface: Surface,
    /// The digest of the body that was sent.
    pub request_body_sha256: Sha256Hex,
    /// Attempts in order; empty where nothing was sent.
    pub attempts: Vec<RecordedAttempt>,
    /// Response to the last attempt; null where there was none.
    pub response: Option<RecordedResponse>,
    /// Reason why there is no reply.
    pub code: Option<Code>,
    /// Description of the problem, for a person.
    pub problem: Option<String>,
}

/// Outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedAttempt {
    /// The status of the answer; null where there was none.
    #[cfg_attr(test, schemars(range(min = 100, max = 999)))]
    pub status: Option<u16>,
    /// Error of the attempt; null for a response.
    pub code: Option<Code>,
}

/// An answer, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedResponse {
    /// HTTP status.
    #[cfg_attr(test, schemars(range(min = 100, max = 999)))]
    pub status: u16,
    /// Headers that say something about the answer and nothing about the account, by name.
    pub headers: Vec<RecordedHeader>,
    /// The body: as it came, but for members that only mean something to the provider, and masked secrets.
    pub body: String,
    /// The digest of the bytes that came.
    pub body_sha256: Sha256Hex,
}

/// A header of an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedHeader {
    /// The name in lower case.
    pub name: String,
    /// Value of the header.
    pub value: String,
}
