//! The effective policy as a value.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::file::{PolicyTextError, TextPlace, place_of_string};
use super::observer::ObserverPolicy;
use super::reviews::{ReviewPolicy, is_review};
use super::strengths::in_scope;
use crate::classify::{GlobError, ScopeGlobs};
use crate::gates;
use crate::permissions::ExecutionPolicy;
use qa_contracts::v1::{
    BlockingPolicy, DriveLimits, EmptyChange, GateName, InputOverrides, OverflowPolicy, PolicyCommand,
    PolicyFeature, PolicyGate, PolicyImportBoundary, PolicyModel, PolicyReport, Preset, RunMode, RunStage,
    Scope, ScopeStrengths, SettingOrigin, Severity, Strength,
};

/// Path of the committed policy.
pub const POLICY_PATH: &str = ".qa-skill/policy.toml";
/// Id of the lens that checks changes against the rubric.
pub(super) const CONSISTENCY: &str = "consistency";
/// Path of the committed waivers.
pub const WAIVERS_PATH: &str = ".qa-skill/waivers.toml";

/// Error of a policy that cannot be used. Completes "failed to read the policy: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, or not of the policy's form.
    #[error(transparent)]
    Text(#[from] PolicyTextError),
    /// A glob that cannot be compiled, with its place where the text has it as a string.
    #[error("{}{error}", before(*place))]
    Glob { place: Option<TextPlace>, error: GlobError },
}

fn before(place: Option<TextPlace>) -> String {
    match place {
        Some(TextPlace { line, column }) => format!("line {line}, column {column}: "),
        None => String::new(),
    }
}

impl From<GlobError> for PolicyError {
    fn from(error: GlobError) -> Self {
        Self::Glob { place: None, error }
    }
}

impl PolicyError {
    /// Adds the place of a glob.
    pub(super) fn with_place_in(self, text: &str) -> Self {
        match self {
            Self::Text(error) => Self::Text(error),
            Self::Glob { error, .. } => Self::Glob { place: place_of_string(text, &error.glob), error },
        }
    }

    /// Returns the message with the path of the file, and with the place as editors and compilers write it.
    pub fn in_file(&self, path: &str) -> String {
        match self {
            Self::Glob { place: Some(TextPlace { line, column }), error } => {
                format!("{path}:{line}:{column}: {error}")
            }
            Self::Glob { place: None, .. } | Self::Text(_) => format!("{path}: {self}"),
        }
    }
}

/// Settings of the command line or the action's inputs; they win over the policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--mode`.
    pub mode: Option<RunMode>,
    /// `--preset`.
    pub preset: Option<Preset>,
    /// `--jobs`.
    pub max_concurrency: Option<u64>,
    /// `--lens`.
    pub lens_ids: Option<Vec<String>>,
    /// `--stage`, or the stage of the event.
    pub stage: Option<RunStage>,
}

impl Overrides {
    /// Names the settings that are replaced and decide something, which the number of workers does not.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let replaced = [
            ("mode", self.mode.is_some()),
            ("preset", self.preset.is_some()),
            ("lenses", self.lens_ids.is_some()),
            ("stage", self.stage.is_some()),
        ];
        replaced.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name)
    }

    /// Returns the recorded part. The names of lenses are recorded elsewhere, and the number of workers decides nothing.
    pub fn recorded(&self) -> InputOverrides {
        InputOverrides { mode: self.mode, preset: self.preset, stage: self.stage }
    }
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub(crate) max_files: u64,
    pub(crate) max_hunks: u64,
    pub max_blob_bytes: u64,
    pub max_line_diff_bytes: u64,
    pub max_tree_entries: u64,
    pub max_rename_pairs: u64,
    pub allow_omitted: bool,
    pub(crate) context_max_files: u64,
    pub(crate) context_max_hunks: u64,
    pub(crate) context_max_changed_lines: u64,
    /// Time limit of a run, in seconds. Not part of the digest: a run over it has no verdict.
    #[serde(skip)]
    pub deadline_seconds: u64,
}

/// The effective settings of a lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LensPolicy {
    pub enabled: bool,
    pub required: bool,
    pub ignore: Vec<String>,
    pub(crate) overflow: OverflowPolicy,
    /// Model and request settings of a review; null for every other lens, and for a review without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
}

/// The rubric that a policy names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedRubric {
    pub version: u64,
    /// Expected hash, if the policy has one.
    pub hash: Option<String>,
}

/// The effective settings of a declared gate, beside whether it is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatePolicy {
    /// Sorted.
    pub reports: Vec<PolicyReport>,
    /// Ids of tools, sorted.
    pub run: Vec<String>,
    /// The policy's own commands, sorted.
    pub commands: Vec<PolicyCommand>,
    pub run_base: bool,
    /// Absent where it is false, as in keys from before there was such a setting.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
    pub untouched: EmptyChange,
    /// Globs, sorted.
    pub except: Vec<String>,
    /// Sorted.
    pub tests_of: Vec<GateName>,
    /// Sorted.
    pub features: Vec<PolicyFeature>,
}

impl GatePolicy {
    pub(super) fn from_file(file: &PolicyGate) -> Self {
        fn sorted<T: Ord + Clone>(items: &[T]) -> Vec<T> {
            let mut items = items.to_vec();
            items.sort();
            items.dedup();
            items
        }
        Self {
            reports: sorted(&file.reports),
            run: sorted(&file.run),
            commands: sorted(&file.command),
            run_base: file.run_base.unwrap_or(true),
            confirm: file.confirm.unwrap_or(false),
            untouched: file.untouched.unwrap_or(EmptyChange::CouldNotComplete),
            except: sorted(&file.except),
            tests_of: sorted(&file.tests_of),
            features: sorted(&file.features),
        }
    }

    /// Returns whether the gate runs commands itself.
    pub fn has_commands(&self) -> bool {
        !self.run.is_empty() || !self.commands.is_empty()
    }

    /// Returns the names of what the gate runs.
    pub fn runs(&self) -> Vec<&str> {
        self.run.iter().map(String::as_str).chain(self.commands.iter().map(PolicyCommand::writer)).collect()
    }
}

/// The effective policy. Its canonical form, without `max_concurrency`, is part of every execution key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub preset: Preset,
    pub mode: RunMode,
    /// Stage that the policy is restricted to; `None` where all of it is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<RunStage>,
    pub repo_id: Option<String>,
    pub empty_change: EmptyChange,
    pub blocking_policy: BlockingPolicy,
    pub blocking_threshold: Severity,
    pub limits: Limits,
    pub scopes: BTreeMap<Scope, Vec<String>>,
    pub theta_permille: u16,
    pub min_support: u64,
    pub max_tokens: u64,
    pub max_cost_micro_usd: u64,
    /// Cost limit of all runs of one pull request. It decides which requests are sent, and so what is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pull_request_cost_micro_usd: Option<u64>,
    /// Settings of lenses and gates, by id; a gate that the file does not declare is not enabled.
    pub lenses: BTreeMap<String, LensPolicy>,
    pub execution: ExecutionPolicy,
    /// Settings of the gates that the file declares.
    pub gates: BTreeMap<GateName, GatePolicy>,
    /// Frozen rubric that changes are checked against.
    pub consistency: Option<NamedRubric>,
    /// Settings of the observer; `None` where it is not enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observer: Option<ObserverPolicy>,
    /// Models of reviews, by name.
    pub models: BTreeMap<String, PolicyModel>,
    pub rules: BTreeMap<String, ScopeStrengths>,
    /// Sorted.
    pub import_boundaries: Vec<PolicyImportBoundary>,
    /// Rights and bounds of an agent in a drive, which judges nothing.
    #[serde(skip)]
    pub drive: DriveLimits,
    #[serde(skip)]
    pub max_concurrency: u64,
    #[serde(skip)]
    pub settings: Vec<SettingOrigin>,
}

impl Policy {
    /// Disables quality gates and reviews, whose results depend on other tools' reports and models' replies, and the
    /// observer, which defers nothing else.
    pub fn disable_gates_and_reviews(&mut self) {
        self.gates.clear();
        self.observer = None;
        for (id, lens) in &mut self.lenses {
            if gates::find(id).is_some() || is_review(id) {
                (lens.enabled, lens.required) = (false, false);
            }
        }
    }

    /// Restricts the policy to a stage.
    pub(super) fn restrict_to(&mut self, stage: RunStage) {
        match stage {
            RunStage::Reviews => self.require_reviews_without_gates(),
        }
        self.stage = Some(stage);
        let (name, value, origin) = ("stage".to_owned(), stage.to_string(), "input".to_owned());
        self.settings.push(SettingOrigin { name, value, origin });
    }

    fn require_reviews_without_gates(&mut self) {
        self.gates.clear();
        for (id, lens) in &mut self.lenses {
            if gates::find(id).is_some() {
                (lens.enabled, lens.required) = (false, false);
            } else if is_review(id) && lens.enabled {
                lens.required = true;
            }
        }
    }

    /// Returns the lenses without whose results nothing passes.
    pub fn required_lens_ids(&self) -> BTreeSet<String> {
        self.lenses.iter().filter(|(_, lens)| lens.required).map(|(id, _)| id.clone()).collect()
    }

    /// Compiles the policy's scope globs.
    pub fn scope_globs(&self) -> ScopeGlobs {
        ScopeGlobs::new(|scope| globs_of(&self.scopes, scope))
            .expect("the globs were compiled once when the policy was resolved")
    }

    /// Returns the strength of a rule in a scope; an unknown rule is off.
    pub fn strength(&self, rule: &str, scope: Scope) -> Strength {
        match self.rules.get(rule) {
            Some(strengths) => in_scope(strengths, scope),
            None => Strength::Off,
        }
    }
}

pub(super) fn globs_of(scopes: &BTreeMap<Scope, Vec<String>>, scope: Scope) -> &[String] {
    match scopes.get(&scope) {
        Some(globs) => globs,
        None => &[],
    }
}
