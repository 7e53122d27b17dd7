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

/// Path of the committed policy.
pub const POLICY_PATH: &str = ".qa-skill/policy.toml";
/// Id of the lens that checks changes against the rubric.
const CONSISTENCY: &str = "consistency";
/// Path of the committed waivers.
pub const WAIVERS_PATH: &str = ".qa-skill/waivers.toml";

/// Error of a policy that cannot be used. Completes "failed to read the policy: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, or not of the policy's form.
    #[error(transparent)]
    Text(#[from] PolicyTextError),
    /// A glob that cannot be compiled.
    #[error("{0}")]
    Glob(#[from] GlobError),
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
}

impl Overrides {
    /// Returns the recorded part. The names of lenses are recorded elsewhere, and the number of workers decides nothing.
    pub fn recorded(&self) -> InputOverrides {
        InputOverrides { mode: self.mode, preset: self.preset }
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
    pub run_base: bool,
    pub untouched: EmptyChange,
    /// Sorted.
    pub tests_of: Vec<GateName>,
}

impl GatePolicy {
    fn from_file(file: &PolicyGate) -> Self {
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
    /// Models of reviews, by name.
    pub models: BTreeMap<String, PolicyModel>,
    pub rules: BTreeMap<String, ScopeStrengths>,
    /// Sorted.
    pub import_boundaries: Vec<PolicyImportBoundary>,
    #[serde(skip)]
    pub max_concurrency: u64,
    #[serde(skip)]
    pub settings: Vec<SettingOrigin>,
}

/// Collects each effective value with its origin.
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
    /// Disables quality gates and reviews, whose results depend on other tools' reports and models' replies.
    pub fn disable_gates_and_reviews(&mut self) {
        self.gates.clear();
        for (id, lens) in &mut self.lenses {
            if gates::find(id).is_some() || is_review(id) {
                (lens.enabled, lens.required) = (false, false);
            }
        }
    }

    /// Parses and resolves a policy file; `None` is an absent one.
    pub fn parse(
        text: Option<&str>,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Self, PolicyError> {
        let file: PolicyFile = match text {
            Some(text) => policy_text::parse_policy(text, registry)?,
            None => PolicyFile::default(),
        };
        Self::resolve(&file, overrides, registry)
    }

    fn resolve(file: &PolicyFile, overrides: &Overrides, registry: &Registry) -> Result<Self, PolicyError> {
        let mut origins = Origins::default();
        let origin = &mut origins;
        let preset = origin.choose(
            "preset",
            overrides.preset.as_ref(),
            file.preset.as_ref(),
            Preset::Default,
            Preset::to_string,
        );
        let mode = origin.choose(
            "mode",
            overrides.mode.as_ref(),
            file.mode.as_ref(),
            RunMode::Strict,
            RunMode::to_string,
        );
        let empty_change = origin.choose(
            "empty-change",
            None,
            file.empty_change.as_ref(),
            EmptyChange::CouldNotComplete,
            |value| match value {
                EmptyChange::CouldNotComplete => "could_not_complete".to_owned(),
                EmptyChange::Pass => "pass".to_owned(),
            },
        );
        let blocking_policy = origin.choose(
            "blocking-policy",
            None,
            file.blocking_policy.as_ref(),
            BlockingPolicy::RuleDefined,
            BlockingPolicy::to_string,
        );
        let blocking_threshold = origin.choose(
            "blocking-threshold",
            None,
            file.blocking_threshold.as_ref(),
            Severity::High,
            Severity::to_string,
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
        ScopeGlobs::new(|scope| globs_of(&file.scopes, scope))?;
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
            execution: ExecutionPolicy::from_file(&file.execution),
            gates: file.gates.iter().map(|(name, gate)| (*name, GatePolicy::from_file(gate))).collect(),
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

fn globs_of(scopes: &BTreeMap<Scope, Vec<String>>, scope: Scope) -> &[String] {
    match scopes.get(&scope) {
        Some(globs) => globs,
        None => &[],
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
        // The parser refuses a gate in `[lenses]`, so a gate has no settings there.
        let (enabled, required) = match gates::find(&lens.lens_id).map(|gate| file.gates.get(&gate)) {
            Some(Some(declared)) => (true, declared.required.unwrap_or(lens.required_by_default)),
            Some(None) => (false, false),
            None => {
                let is_usable = has_rules(file, &lens.lens_id);
                (
                    stated.enabled.unwrap_or(true) && is_usable,
                    stated.required.unwrap_or(lens.required_by_default && is_usable),
                )
            }
        };
        let settings = LensPolicy {
            enabled,
            required,
            ignore,
            overflow: stated.overflow.unwrap_or(OverflowPolicy::Stop),
            review: ReviewPolicy::from_file(stated),
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

/// Returns whether a lens has its prerequisites: consistency lenses need a rubric, and reviews need a model.
fn has_rules(file: &PolicyFile, lens_id: &str) -> bool {
    let has_model = matches!(file.lenses.get(lens_id), Some(lens) if lens.model.is_some());
    let has_rubric = file.consistency.rubric.is_some();
    (!is_review(lens_id) || has_model)
        && (![CONSISTENCY, reviews::CONSISTENCY].contains(&lens_id) || has_rubric)
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

/// Returns the same strength for every scope.
pub const fn everywhere(strength: Strength) -> ScopeStrengths {
    ScopeStrengths {
        product: strength,
        test: strength,
        docs: strength,
        generated: strength,
        vendored: strength,
    }
}

/// Returns the strengths of all presets; `advisory` advises wherever `guarded` is not off.
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

/// Returns the strength in one scope.
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
