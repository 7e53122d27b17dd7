//! What models answered, so that a replay asks none (S003-27, C-42).

use serde::{Deserialize, Serialize};

use super::{Severity, Surface};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::Sha256Hex;

schema_tag! {
    /// Names the schema of [`RecordedReplies`].
    RecordedRepliesTag = "recorded-replies.v1";
}

/// What came of every request to a model, by the request's hash and the number of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReplies {
    /// The schema's name.
    pub schema_version: RecordedRepliesTag,
    /// The replies.
    pub replies: Vec<RecordedReply>,
    /// What was said of hunks of this change when they were asked about in another request, by lens and hunk.
    pub earlier: Vec<EarlierHunk>,
}

impl Artifact for RecordedReplies {
    const SCHEMA: &'static str = "recorded-replies.v1";
    const FILE: &'static str = "recordings/replies.json";
}

/// What a review said of a hunk before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EarlierHunk {
    /// The review.
    pub lens_id: String,
    /// The digest over the file's path, the removed and the added lines.
    pub hunk: Sha256Hex,
    /// The digest of what was shown of its file, where what is found later comes late; null where it does not.
    pub shown: Option<Sha256Hex>,
    /// What it found there.
    pub findings: Vec<EarlierFinding>,
}

/// A finding that stood when it was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EarlierFinding {
    /// What the model named: a rule, or a convention.
    pub rule_id: String,
    /// Its place among the added lines of the hunk, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub offset: u64,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub summary: String,
    /// What to do about it.
    pub suggestion: Option<String>,
    /// How many answers said it.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub answers: u64,
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReply {
    /// The digest over dialect, version, endpoint, path and body of the request. The body follows from the change.
    pub request_hash: Sha256Hex,
    /// Which of several answers to the same request it is, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9)))]
    pub sample: u64,
    /// The dialect.
    pub surface: Surface,
    /// The digest of the body that was sent.
    pub request_body_sha256: Sha256Hex,
    /// How each attempt ended, in order; none where nothing was sent.
    pub attempts: Vec<RecordedAttempt>,
    /// What the last attempt got; null where there was no answer.
    pub response: Option<RecordedResponse>,
    /// Why there is no answer.
    pub code: Option<Code>,
    /// What was wrong, for a person.
    pub problem: Option<String>,
}

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedAttempt {
    /// The status of the answer; null where there was none.
    #[cfg_attr(test, schemars(range(min = 100, max = 999)))]
    pub status: Option<u16>,
    /// What it came to; null for an answer.
    pub code: Option<Code>,
}

/// An answer, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedResponse {
    /// The status.
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
    /// The value.
    pub value: String,
}
