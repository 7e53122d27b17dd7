//! The effective policy: the committed file, the run's inputs and the defaults made into one validated value.

use std::collections::BTreeMap;

use serde::Serialize;

use super::classify::{GlobError, PathSet, ScopeGlobs};
use super::gates;
use super::permissions::ExecutionPolicy;
use super::policy_text::{self, PolicyTextError};
use super::reviews::{self, ReviewPolicy, is_review};
use qa_contracts::v1::{
    BlockingPolicy, EmptyChange, GateName, InputOverrides, OverflowPolicy, PolicyFile, PolicyGate,
    PolicyImportBoundary, PolicyModel, PolicyReport, Preset, PresetStrengths, Registry, RunMode, Scope,
    ScopeStrengths, SettingOrigin, Severity, Strength,
};

/// Where the policy is committed.
pub const POLICY_PATH: &str = ".qa-skill/policy.toml";
/// The lens that holds changes to the rubric.
const CONSISTENCY: &str = "consistency";
/// Where waivers are committed.
pub const WAIVERS_PATH: &str = ".qa-skill/waivers.toml";

/// Why a policy cannot be used. Completes "failed to read the policy: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, or not of the policy's form.
    #[error(transparent)]
    Text(#[from] PolicyTextError),
    /// A glob that cannot be compiled.
    #[error("{0}")]
    Glob(#[from] GlobError),
}

/// What the command line or the action's inputs say; they win over the policy file.
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
}

impl Overrides {
    /// The part that is recorded beside the names of lenses; the number of workers decides nothing.
    pub fn recorded(&self) -> InputOverrides {
        InputOverrides { mode: self.mode, preset: self.preset }
    }
}

/// The bounds of a run.
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
    /// Whom a review asks; null for every other lens, and for a review that has no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
}

/// The rubric that a policy names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedRubric {
    pub version: u64,
    /// Its hash, where the policy says it too.
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
    pub run_base: bool,
    pub untouched: EmptyChange,
    /// Sorted.
    pub tests_of: Vec<GateName>,
}

impl GatePolicy {
    fn of(file: &PolicyGate) -> Self {
        fn sorted<T: Ord + Clone>(items: &[T]) -> Vec<T> {
            let mut items = items.to_vec();
            items.sort();
            items.dedup();
            items
        }
        Self {
            reports: sorted(&file.reports),
            run: sorted(&file.run),
            run_base: file.run_base.unwrap_or(true),
            untouched: file.untouched.unwrap_or(EmptyChange::CouldNotComplete),
            tests_of: sorted(&file.tests_of),
        }
    }
}

/// The effective policy. Its canonical form, without `max_concurrency`, is part of every execution key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub preset: Preset,
    pub mode: RunMode,
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
    /// Of all runs of one pull request; decides what is asked, and so what is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pull_request_cost_micro_usd: Option<u64>,
    /// Of lenses and gates; a gate that the file does not declare is not enabled.
    pub lenses: BTreeMap<String, LensPolicy>,
    /// What commands of gates may do.
    pub execution: ExecutionPolicy,
    /// The declared gates.
    pub gates: BTreeMap<GateName, GatePolicy>,
    /// The frozen rubric that changes are held to.
    pub consistency: Option<NamedRubric>,
    /// Models that may be asked, by name.
    pub models: BTreeMap<String, PolicyModel>,
    pub rules: BTreeMap<String, ScopeStrengths>,
    /// Sorted.
    pub import_boundaries: Vec<PolicyImportBoundary>,
    #[serde(skip)]
    pub max_concurrency: u64,
    #[serde(skip)]
    pub settings: Vec<SettingOrigin>,
}

/// Collects each effective value with where it came from.
#[derive(Default)]
struct Origins(Vec<SettingOrigin>);

impl Origins {
    fn choose<T: Clone>(
        &mut self,
        name: &str,
        input: Option<&T>,
        policy: Option<&T>,
        default: T,
        show: impl Fn(&T) -> String,
    ) -> T {
        let (value, origin) = match (input, policy) {
            (Some(input), _) => (input.clone(), "input"),
            (None, Some(policy)) => (policy.clone(), "policy"),
            (None, None) => (default, "default"),
        };
        self.0.push(SettingOrigin { name: name.to_owned(), value: show(&value), origin: origin.to_owned() });
        value
    }

    fn number(&mut self, name: &str, policy: Option<u64>, default: u64) -> u64 {
        self.choose(name, None, policy.as_ref(), default, u64::to_string)
    }
}

impl Policy {
    /// Without its quality gates and reviews, which judge what other tools and models say at one moment.
    pub fn leave_out_what_is_asked(&mut self) {
        self.gates.clear();
        let asked = self.lenses.iter_mut();
        let asked = asked.filter(|(id, _)| gates::find(id).is_some() || is_review(id));
        asked.for_each(|(_, lens)| (lens.enabled, lens.required) = (false, false));
    }

    /// Reads and resolves a policy file; `None` is an absent one.
    pub fn read(text: Option<&str>, overrides: &Overrides, registry: &Registry) -> Result<Self, PolicyError> {
        let file: PolicyFile = match text {
            Some(text) => policy_text::parse_policy(text, registry)?,
            None => PolicyFile::default(),
        };
        Self::resolve(&file, overrides, registry)
    }

    fn resolve(file: &PolicyFile, overrides: &Overrides, registry: &Registry) -> Result<Self, PolicyError> {
        let mut origins = Origins::default();
        let origin = &mut origins;
        let word = |value: &str| value.to_owned();
        let preset = origin.choose(
            "preset",
            overrides.preset.as_ref(),
            file.preset.as_ref(),
            Preset::Default,
            |preset| word(preset.as_str()),
        );
        let mode =
            origin.choose("mode", overrides.mode.as_ref(), file.mode.as_ref(), RunMode::Strict, |mode| {
                word(mode.as_str())
            });
        let empty_change = origin.choose(
            "empty-change",
            None,
            file.empty_change.as_ref(),
            EmptyChange::CouldNotComplete,
            |value| match value {
                EmptyChange::CouldNotComplete => word("could_not_complete"),
                EmptyChange::Pass => word("pass"),
            },
        );
        let blocking_policy = origin.choose(
            "blocking-policy",
            None,
            file.blocking_policy.as_ref(),
            BlockingPolicy::RuleDefined,
            |value| word(value.as_str()),
        );
        let blocking_threshold = origin.choose(
            "blocking-threshold",
            None,
            file.blocking_threshold.as_ref(),
            Severity::High,
            |value| word(value.as_str()),
        );
        let limits = resolve_limits(file, origin);
        let theta = origin.number("ratchet.theta-permille", file.ratchet.theta_permille.map(u64::from), 980);
        let min_support = origin.number("ratchet.min-support", file.ratchet.min_support, 20);
        let max_tokens = origin.number("budget.max-tokens", file.budget.max_tokens, 300_000);
        let max_cost_micro_usd =
            origin.number("budget.max-cost-micro-usd", file.budget.max_cost_micro_usd, 12_000_000);
        let max_concurrency = origin.choose(
            "run.max-concurrency",
            overrides.max_concurrency.as_ref(),
            file.run.max_concurrency.as_ref(),
            4,
            u64::to_string,
        );
        ScopeGlobs::new(|scope| file.scopes.get(&scope).map_or(&[], Vec::as_slice))?;
        Ok(Self {
            preset,
            mode,
            repo_id: file.repo_id.clone(),
            empty_change,
            blocking_policy,
            blocking_threshold,
            limits,
            scopes: file.scopes.clone(),
            theta_permille: u16::try_from(theta).unwrap_or(1000),
            min_support,
            max_tokens,
            max_cost_micro_usd,
            max_pull_request_cost_micro_usd: file.budget.max_pull_request_cost_micro_usd,
            lenses: resolve_lenses(file, registry)?,
            execution: ExecutionPolicy::of(&file.execution),
            gates: file.gates.iter().map(|(name, gate)| (*name, GatePolicy::of(gate))).collect(),
            consistency: file
                .consistency
                .rubric
                .map(|version| NamedRubric { version, hash: file.consistency.hash.clone() }),
            models: file.models.clone(),
            rules: resolve_rules(file, registry, preset),
            import_boundaries: resolve_boundaries(file)?,
            max_concurrency: max_concurrency.clamp(1, 64),
            settings: origins.0,
        })
    }

    /// The policy's scope globs, compiled.
    pub fn scope_globs(&self) -> ScopeGlobs {
        ScopeGlobs::new(|scope| self.scopes.get(&scope).map_or(&[], Vec::as_slice))
            .expect("the globs were compiled once when the policy was resolved")
    }

    /// What a rule's findings weigh in a scope; a rule nobody knows weighs nothing.
    pub fn strength(&self, rule: &str, scope: Scope) -> Strength {
        self.rules.get(rule).map_or(Strength::Off, |strengths| in_scope(strengths, scope))
    }
}

fn resolve_limits(file: &PolicyFile, origins: &mut Origins) -> Limits {
    let limits = &file.limits;
    let max_files = origins.number("limits.max-files", limits.max_files, 20_000);
    let max_hunks = origins.number("limits.max-hunks", limits.max_hunks, 1_000_000);
    let context = &limits.context;
    Limits {
        max_files,
        max_hunks,
        max_blob_bytes: origins.number("limits.max-blob-bytes", limits.max_blob_bytes, 8 << 20),
        max_line_diff_bytes: origins.number(
            "limits.max-line-diff-bytes",
            limits.max_line_diff_bytes,
            1 << 20,
        ),
        max_tree_entries: origins.number("limits.max-tree-entries", limits.max_tree_entries, 2_000_000),
        max_rename_pairs: origins.number("limits.max-rename-pairs", limits.max_rename_pairs, 10_000),
        allow_omitted: origins.choose(
            "limits.allow-omitted",
            None,
            limits.allow_omitted.as_ref(),
            false,
            bool::to_string,
        ),
        context_max_files: origins.number("limits.context.max-files", context.max_files, max_files),
        context_max_hunks: origins.number("limits.context.max-hunks", context.max_hunks, max_hunks),
        context_max_changed_lines: origins.number(
            "limits.context.max-changed-lines",
            context.max_changed_lines,
            100_000_000,
        ),
        deadline_seconds: origins.number("limits.deadline-seconds", limits.deadline_seconds, 1200),
    }
}

fn resolve_lenses(file: &PolicyFile, registry: &Registry) -> Result<BTreeMap<String, LensPolicy>, GlobError> {
    let absent = qa_contracts::v1::PolicyLens::default();
    let mut lenses = BTreeMap::new();
    for lens in &registry.lenses {
        let stated = file.lenses.get(&lens.lens_id).unwrap_or(&absent);
        PathSet::new(stated.ignore.iter().map(String::as_str))?;
        let mut ignore = stated.ignore.clone();
        ignore.sort();
        ignore.dedup();
        // Of a gate `[lenses]` says nothing; reading the file has seen to that.
        let gate = gates::find(&lens.lens_id);
        let declared = gate.and_then(|gate| file.gates.get(&gate));
        let settings = LensPolicy {
            enabled: match gate {
                Some(_) => declared.is_some(),
                None => stated.enabled.unwrap_or(true) && has_rules(file, &lens.lens_id),
            },
            required: match gate {
                Some(_) => declared.is_some_and(|gate| gate.required.unwrap_or(lens.required_by_default)),
                None => stated.required.unwrap_or(lens.required_by_default && has_rules(file, &lens.lens_id)),
            },
            ignore,
            overflow: stated.overflow.unwrap_or(OverflowPolicy::Stop),
            review: ReviewPolicy::of(stated),
        };
        lenses.insert(lens.lens_id.clone(), settings);
    }
    Ok(lenses)
}

fn resolve_boundaries(file: &PolicyFile) -> Result<Vec<PolicyImportBoundary>, GlobError> {
    let mut boundaries = file.import_boundary.clone();
    for boundary in &boundaries {
        for globs in [&boundary.from, &boundary.must_not_import, &boundary.except] {
            PathSet::new(globs.iter().map(String::as_str))?;
        }
    }
    boundaries.sort();
    boundaries.dedup();
    Ok(boundaries)
}

/// Whether a lens has what it judges by: conventions are those of a rubric, and a review is a model's.
fn has_rules(file: &PolicyFile, lens_id: &str) -> bool {
    let has_model = || file.lenses.get(lens_id).is_some_and(|lens| lens.model.is_some());
    let has_rubric = || file.consistency.rubric.is_some();
    (!is_review(lens_id) || has_model())
        && (![CONSISTENCY, reviews::CONSISTENCY].contains(&lens_id) || has_rubric())
}

fn resolve_rules(file: &PolicyFile, registry: &Registry, preset: Preset) -> BTreeMap<String, ScopeStrengths> {
    let rules = registry.lenses.iter().flat_map(|lens| &lens.rules);
    rules
        .map(|rule| {
            let mut strengths = in_preset(&rule.strengths, preset);
            if let Some(stated) = file.rules.get(&rule.rule_id) {
                for &scope in Scope::ALL {
                    if let Some(strength) = stated.scopes.get(&scope).copied().or(stated.strength) {
                        *scope_slot(&mut strengths, scope) = strength;
                    }
                }
            }
            (rule.rule_id.clone(), strengths)
        })
        .collect()
}

fn in_preset(strengths: &PresetStrengths, preset: Preset) -> ScopeStrengths {
    match preset {
        Preset::Default => strengths.default,
        Preset::Guarded => strengths.guarded,
        Preset::Advisory => strengths.advisory,
    }
}

/// The same strength in every scope.
pub const fn everywhere(strength: Strength) -> ScopeStrengths {
    ScopeStrengths {
        product: strength,
        test: strength,
        docs: strength,
        generated: strength,
        vendored: strength,
    }
}

/// Strengths for `default` and `guarded`; `advisory` advises wherever `default` does anything.
pub const fn presets(default: ScopeStrengths, guarded: ScopeStrengths) -> PresetStrengths {
    PresetStrengths {
        advisory: ScopeStrengths {
            product: softened(guarded.product),
            test: softened(guarded.test),
            docs: softened(guarded.docs),
            generated: softened(guarded.generated),
            vendored: softened(guarded.vendored),
        },
        default,
        guarded,
    }
}

const fn softened(strength: Strength) -> Strength {
    match strength {
        Strength::Off => Strength::Off,
        Strength::Block | Strength::Ratchet | Strength::Advise => Strength::Advise,
    }
}

/// The strength in one scope.
pub fn in_scope(strengths: &ScopeStrengths, scope: Scope) -> Strength {
    match scope {
        Scope::Product => strengths.product,
        Scope::Test => strengths.test,
        Scope::Docs => strengths.docs,
        Scope::Generated => strengths.generated,
        Scope::Vendored => strengths.vendored,
    }
}

fn scope_slot(strengths: &mut ScopeStrengths, scope: Scope) -> &mut Strength {
    match scope {
        Scope::Product => &mut strengths.product,
        Scope::Test => &mut strengths.test,
        Scope::Docs => &mut strengths.docs,
        Scope::Generated => &mut strengths.generated,
        Scope::Vendored => &mut strengths.vendored,
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
