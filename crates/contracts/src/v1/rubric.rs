//! Conventions a repository keeps: as a draft that was mined, and frozen as a person approved them.

use serde::{Deserialize, Serialize};

use super::{Scope, Strength};
use crate::artifact::schema_tag;
use crate::ids::{BlobId, CommitId, Sha256Hex};

schema_tag! {
    /// Names the schema of [`Rubric`].
    RubricTag = "rubric.v1";
    /// Names the schema of [`RubricDraft`].
    RubricDraftTag = "rubric-draft.v1";
    /// Names the schema of [`RubricDecisions`].
    RubricDecisionsTag = "rubric-decisions.v1";
}

/// What a convention is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ConventionFamily {
    /// How files are named.
    FileName,
    /// How functions are named.
    FunctionName,
    /// How methods are named.
    MethodName,
    /// How types are named.
    TypeName,
    /// How constants are named.
    ConstantName,
    /// Where files with tests stand.
    TestPlacement,
    /// Whether files begin with a notice about their licence.
    LicenceHeader,
    /// Whether what others may use has a documentation comment.
    PublicDoc,
    /// What is done about errors.
    ErrorIdiom,
    /// Which directories do not import which.
    ImportDirection,
    /// Which library does a job.
    Library,
    /// Which files change together.
    CoChange,
}

impl ConventionFamily {
    /// All, in the order of a draft.
    pub const ALL: &'static [Self] = &[
        Self::FileName,
        Self::FunctionName,
        Self::MethodName,
        Self::TypeName,
        Self::ConstantName,
        Self::TestPlacement,
        Self::LicenceHeader,
        Self::PublicDoc,
        Self::ErrorIdiom,
        Self::ImportDirection,
        Self::Library,
        Self::CoChange,
    ];

    /// The word of the contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileName => "file-name",
            Self::FunctionName => "function-name",
            Self::MethodName => "method-name",
            Self::TypeName => "type-name",
            Self::ConstantName => "constant-name",
            Self::TestPlacement => "test-placement",
            Self::LicenceHeader => "licence-header",
            Self::PublicDoc => "public-doc",
            Self::ErrorIdiom => "error-idiom",
            Self::ImportDirection => "import-direction",
            Self::Library => "library",
            Self::CoChange => "co-change",
        }
    }
}

/// A place in the base that keeps a convention, or does not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Witness {
    /// The file.
    pub path: String,
    /// Its content.
    pub blob: BlobId,
    /// The line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 4294967295u64)))]
    pub line: u32,
    /// What stands there.
    pub text: String,
}

/// What a convention would have done to changes that were merged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BackTest {
    /// How many merged changes were replayed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// How many of them break the convention anew.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub broken: u64,
    /// How many of those are in the newer half.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub lately: u64,
    /// The newest of those.
    pub commits: Vec<CommitId>,
}

/// A convention with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Convention {
    /// Made of what the convention says and where, so that the same convention has the same id in every draft.
    #[cfg_attr(test, schemars(regex(pattern = "^[a-z-]{3,24}-[0-9a-f]{10}$")))]
    pub id: String,
    /// What it is about.
    pub family: ConventionFamily,
    /// The convention in one sentence.
    #[cfg_attr(test, schemars(length(min = 1, max = 600)))]
    pub statement: String,
    /// The language, or the ending of file names.
    pub language: String,
    /// Whether it holds in product code or in tests.
    pub part: Scope,
    /// Globs of the files it holds for.
    #[cfg_attr(test, schemars(length(min = 1, max = 16)))]
    pub paths: Vec<String>,
    /// What of the family: a job that libraries do, a file whose changes are looked at; else empty.
    pub topic: String,
    /// The form that is kept.
    pub form: String,
    /// What breaking it weighs; `block`, `advise` or `off`.
    pub strength: Strength,
    /// Why that strength is proposed.
    pub reason: String,
    /// How many places could keep or break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// How many break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions: u64,
    /// The share that keeps it, in thousandths, rounded down.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub confidence_permille: u16,
    /// The lower end of the 95 % interval of that share (Wilson), in thousandths, rounded down.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub lower_bound_permille: u16,
    /// The first places that break it, by path and line.
    #[cfg_attr(test, schemars(length(max = 20)))]
    pub exceptions_listed: Vec<Witness>,
    /// Places that keep it.
    #[cfg_attr(test, schemars(length(max = 5)))]
    pub exemplars: Vec<Witness>,
    /// What it would have done.
    pub back_test: BackTest,
}

/// Something that was looked at and is no convention here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RejectedConvention {
    /// What it is about.
    pub family: ConventionFamily,
    /// The language, or the ending of file names.
    pub language: String,
    /// Product code or tests.
    pub part: Scope,
    /// What of the family.
    pub topic: String,
    /// The most frequent form.
    pub form: String,
    /// How many places could keep or break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// How many break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions: u64,
    /// Why it was rejected.
    pub reason: String,
}

/// What a draft changes about the newest frozen rubric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDifference {
    /// The frozen version.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub rubric_version: u64,
    /// Ids that the frozen version neither holds nor rejected.
    pub added: Vec<String>,
    /// Statements that the frozen version holds and the code no longer keeps.
    pub gone: Vec<String>,
    /// Statements of the frozen version whose share of places that keep them has fallen, with the numbers.
    pub fallen: Vec<String>,
}

/// What was mined from a commit and its history. Nothing is enforced before a person approves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDraft {
    /// The schema's name.
    pub schema_version: RubricDraftTag,
    /// The version it would get.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub draft_version: u64,
    /// The version of the program that mined it.
    pub engine_version: String,
    /// The commit.
    pub commit: CommitId,
    /// The commit's own time, in seconds since 1970.
    #[cfg_attr(test, schemars(range(min = -9007199254740991i64, max = 9007199254740991i64)))]
    pub commit_time: i64,
    /// How many merged changes were replayed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// How many source files were read.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub files_read: u64,
    /// How many were not: too large, not UTF-8, or too many.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub files_left_out: u64,
    /// The conventions.
    pub conventions: Vec<Convention>,
    /// What was considered and rejected.
    pub rejected: Vec<RejectedConvention>,
    /// The difference to the newest frozen rubric of the commit; null when there is none.
    pub difference: Option<RubricDifference>,
}

/// Conventions that a person approved. A file of this form never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rubric {
    /// The schema's name.
    pub schema_version: RubricTag,
    /// 1, 2, 3 …
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub rubric_version: u64,
    /// The digest of everything else here, as canonical JSON.
    pub rubric_hash: Sha256Hex,
    /// The digest of the template a model is asked with.
    pub prompt_template_hash: Sha256Hex,
    /// The digest of the draft that was approved.
    pub draft_hash: Sha256Hex,
    /// The version of the program that mined it.
    pub engine_version: String,
    /// The commit it was mined from.
    pub commit: CommitId,
    /// That commit's own time, in seconds since 1970.
    #[cfg_attr(test, schemars(range(min = -9007199254740991i64, max = 9007199254740991i64)))]
    pub commit_time: i64,
    /// The conventions in force.
    pub conventions: Vec<Convention>,
    /// Ids of those that were proposed and rejected.
    pub rejected: Vec<String>,
}

/// What a person decided about a draft.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDecisions {
    /// The schema's name.
    pub schema_version: RubricDecisionsTag,
    /// What becomes of conventions that are not decided one by one: accepted as proposed, or rejected.
    pub others: Decision,
    /// Decisions, each about one convention.
    #[serde(default)]
    pub decisions: Vec<RubricDecision>,
}

/// Accept or reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Decision {
    /// It becomes part of the rubric.
    Accept,
    /// It does not.
    #[default]
    Reject,
}

/// A decision about one convention, with what is edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDecision {
    /// The convention.
    pub id: String,
    /// Accept or reject.
    pub decision: Decision,
    /// Another sentence.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = 600)))]
    pub statement: Option<String>,
    /// Other globs.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = 16)))]
    pub paths: Option<Vec<String>>,
    /// Another strength: `block` or `advise`.
    #[serde(default)]
    pub strength: Option<Strength>,
}
