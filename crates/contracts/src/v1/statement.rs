//! The in-toto statement of a run: what was judged of a head, as a SLSA verification summary (file
//! `statement.intoto.json`).

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, schema_tag};
use crate::ids::{CommitId, Sha256Hex, TreeId};

schema_tag! {
    /// Form of a [`Statement`].
    StatementType = "https://in-toto.io/Statement/v1";
    /// Form of its predicate, a [`VerificationSummary`].
    PredicateType = "https://slsa.dev/verification_summary/v1";
    /// Version of the SLSA specification that the predicate follows.
    SlsaVersion = "1.1";
    /// Identity of the verifier.
    VerifierId = "urn:qa-skill:verifier";
}

/// Statement of a run. It follows from the other files, so it is no part of the run digest, which it contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Statement {
    /// Always `https://in-toto.io/Statement/v1`.
    #[serde(rename = "_type")]
    pub statement_type: StatementType,
    /// The head commit, its tree, and the tree of the merge where that was judged.
    #[cfg_attr(test, schemars(length(min = 2, max = 3)))]
    pub subject: Vec<StatementSubject>,
    /// Always `https://slsa.dev/verification_summary/v1`.
    pub predicate_type: PredicateType,
    /// The verification summary.
    pub predicate: VerificationSummary,
}

/// An object of git that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatementSubject {
    /// Role of the object.
    pub name: SubjectName,
    /// Id of the object.
    pub digest: SubjectDigest,
}

/// Role of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SubjectName {
    /// The head commit.
    Head,
    /// The tree of the head commit.
    Tree,
    /// The tree of the merge of head into the base, where the change is measured to it.
    MergedTree,
}

/// Id of a git object, under the name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SubjectDigest {
    /// Id of a commit; absent for a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub git_commit: Option<CommitId>,
    /// Id of a tree; absent for a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub git_tree: Option<TreeId>,
}

/// SLSA verification summary of a run. It has no `timeVerified`: a run has no clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerificationSummary {
    /// The engine that judged.
    pub verifier: Verifier,
    /// `urn:qa-skill:repository:` and the id of the repository.
    pub resource_uri: String,
    /// The policy: `urn:qa-skill:policy:` and the base commit, with the digest over the effective policy.
    pub policy: StatementResource,
    /// The run: `urn:qa-skill:run:` and the execution key, with the run digest.
    #[cfg_attr(test, schemars(length(min = 1, max = 1)))]
    pub input_attestations: Vec<StatementResource>,
    /// `PASSED` for the conclusion `pass`, else `FAILED`.
    pub verification_result: VerificationResult,
    /// Levels of a pass; `FAILED` and nothing else without one.
    pub verified_levels: Vec<VerifiedLevel>,
    /// Always `1.1`.
    pub slsa_version: SlsaVersion,
}

/// The engine that judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verifier {
    /// Always `urn:qa-skill:verifier`.
    pub id: VerifierId,
    /// Version and sources.
    pub version: VerifierVersion,
}

/// Build identity of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerifierVersion {
    /// Version of the engine.
    pub qa_skill: String,
    /// The digest over its sources, which all builds of them share.
    pub qa_skill_sources: Sha256Hex,
}

/// A resource with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatementResource {
    /// Name of the resource.
    pub uri: String,
    /// Its digest.
    pub digest: ResourceDigest,
}

/// Digest of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResourceDigest {
    /// SHA-256 over canonical JSON.
    pub sha256: Sha256Hex,
}

/// Result of a verification summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum VerificationResult {
    /// The run passed.
    Passed,
    /// The run failed, did not complete or left something for later.
    Failed,
}

/// A level that a run reached. `docs/attestation.md` says what each says and what not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum VerifiedLevel {
    /// The verdict is no pass.
    #[serde(rename = "FAILED")]
    Failed,
    /// The whole policy was applied to the whole change.
    #[serde(rename = "urn:qa-skill:level:complete")]
    Complete,
    /// Every lens of rules completed.
    #[serde(rename = "urn:qa-skill:level:rules")]
    Rules,
    /// Every gate completed, at least one by the report of another step alone.
    #[serde(rename = "urn:qa-skill:level:gates-reported")]
    GatesReported,
    /// Every gate completed, and each ran commands in the sandbox.
    #[serde(rename = "urn:qa-skill:level:gates-executed")]
    GatesExecuted,
    /// Every review completed with the replies of a model.
    #[serde(rename = "urn:qa-skill:level:reviews")]
    Reviews,
}

impl VerifiedLevel {
    /// Returns the last word of the level's URI.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "FAILED",
            Self::Complete => "complete",
            Self::Rules => "rules",
            Self::GatesReported => "gates-reported",
            Self::GatesExecuted => "gates-executed",
            Self::Reviews => "reviews",
        }
    }
}

impl Artifact for Statement {
    const SCHEMA: &'static str = "statement.v1";
    const FILE: &'static str = "statement.intoto.json";
}
