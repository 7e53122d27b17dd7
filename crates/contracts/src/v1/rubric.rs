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

/// Subject of a convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ConventionFamily {
    /// Names of files.
    FileName,
    /// Names of functions.
    FunctionName,
    /// Names of methods.
    MethodName,
    /// Names of types.
    TypeName,
    /// Names of constants.
    ConstantName,
    /// Places of files with tests.
    TestPlacement,
    /// Licence notices at the beginning of files.
    LicenceHeader,
    /// Documentation comments of public items.
    PublicDoc,
    /// Treatment of errors.
    ErrorIdiom,
    /// Directories that do not import certain others.
    ImportDirection,
    /// Library for a job.
    Library,
    /// Files that change together.
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
    /// Path of the file.
    pub path: String,
    /// Content of the file.
    pub blob: BlobId,
    /// The line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 4294967295u64)))]
    pub line: u32,
    /// Text at the place.
    pub text: String,
}

/// Effect that a convention, mined before some merged changes, would have had on them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BackTest {
    /// Commit before those changes, which kept the convention already; null when it did not, or when nothing was replayed.
    pub since: Option<CommitId>,
    /// Number of replayed merged changes.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// Number of changes that touched a place that the convention is about.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub touched: u64,
    /// Number of changes that newly break the convention.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub broken: u64,
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
    /// Subject of the convention.
    pub family: ConventionFamily,
    /// The convention in one sentence.
    #[cfg_attr(test, schemars(length(min = 1, max = 600)))]
    pub statement: String,
    /// The language, or the ending of file names.
    pub language: String,
    /// Scope of the convention: product code or tests.
    pub part: Scope,
    /// Globs of the files it holds for.
    #[cfg_attr(test, schemars(length(min = 1, max = 16)))]
    pub paths: Vec<String>,
    /// Topic within the family: a job that libraries do, or a file whose changes are counted; else empty.
    pub topic: String,
    /// The form that is kept.
    pub form: String,
    /// Strength of a finding that breaks it: `block`, `advise` or `off`.
    pub strength: Strength,
    /// Reason of the proposed strength.
    pub reason: String,
    /// Number of places that could keep or break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// Number of places that break it.
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
    /// Effect on merged changes.
    pub back_test: BackTest,
}

/// Candidate that is no convention here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RejectedConvention {
    /// Subject of the candidate.
    pub family: ConventionFamily,
    /// The language, or the ending of file names.
    pub language: String,
    /// Product code or tests.
    pub part: Scope,
    /// Topic within the family.
    pub topic: String,
    /// The most frequent form.
    pub form: String,
    /// Number of places that could keep or break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// Number of places that break it.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exceptions: u64,
    /// Reason of the rejection.
    pub reason: String,
}

/// Difference between a draft and the newest frozen rubric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDifference {
    /// Version of the frozen rubric.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000000)))]
    pub rubric_version: u64,
    /// Ids that the frozen version neither holds nor rejected.
    pub added: Vec<String>,
    /// Statements that the frozen version holds and the code no longer keeps.
    pub gone: Vec<String>,
    /// Statements of the frozen version whose share of places that keep them has fallen, with the numbers.
    pub fallen: Vec<String>,
}

/// Conventions mined from a commit and its history. Nothing is enforced before a person approves it.
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
    /// Commit that was mined.
    pub commit: CommitId,
    /// The commit's own time, in seconds since 1970.
    #[cfg_attr(test, schemars(range(min = -9007199254740991i64, max = 9007199254740991i64)))]
    pub commit_time: i64,
    /// Number of replayed merged changes.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// Number of source files that were read.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub files_read: u64,
    /// Number of source files that were not read: too large, not UTF-8, or too many.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub files_left_out: u64,
    /// Proposed conventions.
    pub conventions: Vec<Convention>,
    /// Rejected candidates.
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
    /// Time of that commit, in seconds since 1970.
    #[cfg_attr(test, schemars(range(min = -9007199254740991i64, max = 9007199254740991i64)))]
    pub commit_time: i64,
    /// The conventions in force.
    pub conventions: Vec<Convention>,
    /// Ids of those that were proposed and rejected.
    pub rejected: Vec<String>,
}

/// Decisions of a person about a draft.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RubricDecisions {
    /// The schema's name.
    pub schema_version: RubricDecisionsTag,
    /// Decision on all other conventions: accepted as proposed, or rejected.
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
    /// Id of the convention.
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
