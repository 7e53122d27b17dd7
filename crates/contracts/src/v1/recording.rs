//! The recorded input of the pure part, for replay: changed text around each hunk, secrets masked
//! (`recordings/*.json`).

use serde::{Deserialize, Serialize};

use super::{GateName, RecordedObserver, Side};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`Recording`].
    RecordingTag = "recording.v1";
    /// Names the schema of [`RecordedInputs`].
    RecordedInputsTag = "recorded-inputs.v1";
    /// Names the schema of [`RecordedGates`].
    RecordedGatesTag = "recorded-gates.v1";
}

/// Recorded text of a file that an offset points into.
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

/// Ends of the parts of one hunk inside [`FileText::text`], in bytes. Each part begins where the one before ends; the
/// first begins where the hunk before ends. Every part holds whole lines with their line ends.
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

/// A secret of a text that is masked in it, byte for byte with `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MaskedSecret {
    /// Text that contains the secret.
    pub place: TextPlace,
    /// The first masked byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// Id of the detector.
    pub detector: String,
    /// Number of the secret: equal secrets of one change have equal numbers, in order of first appearance. Two secrets
    /// look alike when masked, and a rotated secret must not pass for an old one.
    pub value: u32,
}

/// The decoded text of one changed file as lenses see it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileText {
    /// All hunks one after another: unchanged lines before, removed, added, unchanged lines after.
    pub text: String,
    /// Ends of each hunk's parts, in the order of the file's hunks.
    pub cuts: Vec<HunkCuts>,
    /// The whole file at the merge base, where a plan needs it.
    pub full_base: Option<String>,
    /// The whole file at head, where a plan needs it.
    pub full_head: Option<String>,
    /// The secrets masked in these texts, sorted.
    pub secrets: Vec<MaskedSecret>,
}

impl FileText {
    /// Returns whether it holds a whole version besides hunks.
    pub fn has_whole_file(&self) -> bool {
        self.full_base.is_some() || self.full_head.is_some()
    }

    /// Returns the number of bytes of text.
    pub fn bytes(&self) -> usize {
        let full = [&self.full_base, &self.full_head].into_iter().flatten().map(String::len);
        self.text.len() + full.sum::<usize>()
    }
}

/// One file's recorded text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedFile {
    /// The path as in the change set.
    pub file: RepoPath,
    /// Texts of the file.
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
    /// Id of the rule.
    pub rule_id: String,
    /// The directory and language surveyed, as one name.
    pub population: String,
    /// Number of surveyed places in files of the base.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub support: u64,
    /// Number of surveyed places that comply.
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
    /// The observer's decision; absent where the policy enables no observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub observer: Option<RecordedObserver>,
}

impl Artifact for RecordedInputs {
    const SCHEMA: &'static str = "recorded-inputs.v1";
    const FILE: &'static str = "recordings/inputs.json";
}

/// The gates' recorded input: reports with secrets masked. A replay reads them here, so that it neither executes a
/// command nor searches for a report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedGates {
    /// The schema's name.
    pub schema_version: RecordedGatesTag,
    /// The reports, by gate and path, the base's after head's.
    pub reports: Vec<RecordedReport>,
    /// The stored run whose reports stand for those of the base; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub baseline: Option<RecordedBaseline>,
    /// `feature_list.json` at head, where steps of features are looked at; null when absent or not readable as text.
    pub feature_list: Option<String>,
    /// `feature_list.json` at the base, likewise. What passes there has to be shown, whatever head's list says.
    pub base_feature_list: Option<String>,
    /// `workflow-state.json` at the base, likewise; a change does not choose the feature that it is judged by.
    pub workflow_state: Option<String>,
    /// Features that trailers of the change's commits name, sorted.
    pub declared_features: Vec<u64>,
    /// Trailers `Feature:` of the change's commits that name no feature by its number, sorted.
    pub unreadable_trailers: Vec<String>,
    /// Features that labels of the pull request name, by the event of the run, sorted.
    pub label_features: Vec<u64>,
    /// `stories/<id>.json` at head of the features whose steps are looked at, by id, where there is one.
    pub stories: Vec<RecordedStory>,
}

/// A stored run of the base commit. It is believed as a report is: nothing in this run shows that it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedBaseline {
    /// Head of the stored run.
    pub commit: CommitId,
    /// Its execution key.
    pub execution_key: ExecutionKey,
    /// Its run digest.
    pub run_digest: Sha256Hex,
}

/// The file that says which tests show the steps of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedStory {
    /// Id of the feature.
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
    /// Commit that it is about.
    pub side: Side,
    /// Its files, by path; none when it was not read.
    pub files: Vec<RecordedReportFile>,
    /// Reason why it was not read.
    pub code: Option<Code>,
    /// Description of the problem, for a person.
    pub problem: Option<String>,
    /// The command that wrote it, by its record; null when there is none.
    pub step: Option<RecordedStep>,
    /// The pictures that its tests left, those of faulty tests first.
    pub pictures: Vec<RecordedPicture>,
}

/// A file of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReportFile {
    /// Path from the root of the repository.
    pub path: String,
    /// The digest of its text with the checkout's place replaced and no secret masked.
    pub sha256: Sha256Hex,
    /// Its text, with `/github/workspace` for the place of the checkout and secrets masked.
    pub text: String,
}

/// A command of an earlier step that wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedStep {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status; null when a signal ended the command.
    pub exit_code: Option<i32>,
    /// Version as the tool prints it.
    pub tool_version: Option<String>,
    /// The commit that was checked out and, if it is a merge, its parents.
    pub commits: Vec<CommitId>,
}

/// A picture that a test left. What it shows cannot be masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedPicture {
    /// Path in the report.
    pub path: RepoPath,
    /// The digest of its bytes, and its name below `screenshots/`; null when it was not taken.
    pub sha256: Option<Sha256Hex>,
    /// Its bytes in base64; null when it was not taken.
    pub data: Option<String>,
    /// Reason why it was not recorded, for a person.
    pub problem: Option<String>,
}

impl Artifact for RecordedGates {
    const SCHEMA: &'static str = "recorded-gates.v1";
    const FILE: &'static str = "recordings/gates.json";
}
