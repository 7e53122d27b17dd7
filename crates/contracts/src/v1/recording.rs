//! What the pure part read, kept for replay: changed text around each hunk, secrets masked (`recordings/*.json`).

use serde::{Deserialize, Serialize};

use super::{GateName, Side};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`Recording`].
    RecordingTag = "recording.v1";
    /// Names the schema of [`RecordedInputs`].
    RecordedInputsTag = "recorded-inputs.v1";
    /// Names the schema of [`RecordedGates`].
    RecordedGatesTag = "recorded-gates.v1";
}

/// Which of a file's recorded texts an offset points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TextPlace {
    /// [`FileText::text`].
    Hunks,
    /// [`FileText::full_base`].
    FullBase,
    /// [`FileText::full_head`].
    FullHead,
}

/// Where the parts of one hunk end inside [`FileText::text`], in bytes. Each part begins where the one before ends;
/// the first begins where the hunk before ends. Every part holds whole lines with their line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HunkCuts {
    /// The end of the unchanged lines before.
    pub before: u32,
    /// The end of the removed lines.
    pub removed: u32,
    /// The end of the added lines.
    pub added: u32,
    /// The end of the unchanged lines after.
    pub after: u32,
}

/// A secret that stood in a text and is masked in it now, byte for byte with `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MaskedSecret {
    /// The text.
    pub place: TextPlace,
    /// The first masked byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// What found it.
    pub detector: String,
    /// Which value it was: equal secrets of one change have equal numbers, in order of first appearance. Masked texts
    /// of two secrets look alike, and a rotated secret must not pass for an old one.
    pub value: u32,
}

/// The decoded text of one changed file as lenses see it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileText {
    /// All hunks one after another: unchanged lines before, removed, added, unchanged lines after.
    pub text: String,
    /// Where the parts of each hunk end, in the order of the file's hunks.
    pub cuts: Vec<HunkCuts>,
    /// The whole file at the merge base, where a plan needs it.
    pub full_base: Option<String>,
    /// The whole file at head, where a plan needs it.
    pub full_head: Option<String>,
    /// The secrets masked in these texts, sorted.
    pub secrets: Vec<MaskedSecret>,
}

impl FileText {
    /// Whether it holds a whole version and not only hunks.
    pub fn has_whole_file(&self) -> bool {
        self.full_base.is_some() || self.full_head.is_some()
    }

    /// How many bytes of text it holds.
    pub fn bytes(&self) -> usize {
        let whole = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.text.len() + whole(&self.full_base) + whole(&self.full_head)
    }
}

/// One file's recorded text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedFile {
    /// The path as in the change set.
    pub file: RepoPath,
    /// The text.
    pub text: FileText,
}

/// One part of the recorded texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recording {
    /// The schema's name.
    pub schema_version: RecordingTag,
    /// The files, by path.
    pub files: Vec<RecordedFile>,
}

impl Artifact for Recording {
    const SCHEMA: &'static str = "recording.v1";
    const FILE: &'static str = "recordings/00000.json";
}

/// A base file asked whether it complies with a ratcheted rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedSurvey {
    /// The rule.
    pub rule_id: String,
    /// The directory and language surveyed, as one name.
    pub population: String,
    /// How many base files were looked at.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// How many of them comply.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub complying: u64,
    /// The digest over the blobs looked at, by path.
    pub blobs_digest: Sha256Hex,
}

/// The small inputs of a run: policy, waivers and surveys, as read from the base (and the policy from head, for the
/// preview).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedInputs {
    /// The schema's name.
    pub schema_version: RecordedInputsTag,
    /// `.qa-skill/policy.toml` at the base; null when absent.
    pub base_policy: Option<String>,
    /// `.qa-skill/waivers.toml` at the base; null when absent.
    pub base_waivers: Option<String>,
    /// The frozen rubric at the base that its policy names; null when it names none.
    pub base_rubric: Option<String>,
    /// `.qa-skill/policy.toml` at head; null when absent or not readable as text.
    pub head_policy: Option<String>,
    /// Surveys for ratchets, by rule and population.
    pub surveys: Vec<RecordedSurvey>,
}

impl Artifact for RecordedInputs {
    const SCHEMA: &'static str = "recorded-inputs.v1";
    const FILE: &'static str = "recordings/inputs.json";
}

/// What the quality gates read: reports as they were found, secrets masked. Replay reads them here, so nothing is
/// executed or looked for again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedGates {
    /// The schema's name.
    pub schema_version: RecordedGatesTag,
    /// The reports, by gate and path, the base's after head's.
    pub reports: Vec<RecordedReport>,
    /// `feature_list.json` at head, where steps of features are looked at; null when absent or not readable as text.
    pub feature_list: Option<String>,
    /// `workflow-state.json` at head, likewise.
    pub workflow_state: Option<String>,
    /// `stories/<id>.json` at head of the features whose steps are looked at, by id, where there is one.
    pub stories: Vec<RecordedStory>,
}

/// The file that says which tests show the steps of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedStory {
    /// The feature.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub feature_id: u64,
    /// Its text; null when it is not UTF-8 or too large.
    pub text: Option<String>,
}

/// A report that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReport {
    /// The gate that reads it.
    pub gate: GateName,
    /// The path as the policy has it.
    pub path: String,
    /// Which commit it is about.
    pub side: Side,
    /// The digest of its text with the checkout's place replaced and no secret masked; null when it was not read.
    pub sha256: Option<Sha256Hex>,
    /// Its text, with `/github/workspace` for the place of the checkout and secrets masked; null when it was not read.
    pub text: Option<String>,
    /// Why it was not read.
    pub code: Option<Code>,
    /// What was wrong with it, for a person.
    pub problem: Option<String>,
    /// The pictures that its tests left, those of faulty tests first.
    pub pictures: Vec<RecordedPicture>,
}

/// A picture that a test left. What it shows cannot be masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedPicture {
    /// Where the report says that it is.
    pub path: RepoPath,
    /// The digest of its bytes, and its name below `screenshots/`; null when it was not taken.
    pub sha256: Option<Sha256Hex>,
    /// Its bytes in base64; null when it was not taken.
    pub data: Option<String>,
    /// Why it was not taken, for a person.
    pub problem: Option<String>,
}

impl Artifact for RecordedGates {
    const SCHEMA: &'static str = "recorded-gates.v1";
    const FILE: &'static str = "recordings/gates.json";
}
