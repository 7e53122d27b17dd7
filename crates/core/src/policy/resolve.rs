//! Makes a policy file, the run's inputs and the defaults into the effective policy.

use std::collections::{BTreeMap, BTreeSet};

use super::drive;
use super::effective::{
    CONSISTENCY, GatePolicy, LensPolicy, Limits, NamedRubric, Overrides, Policy, PolicyError, globs_of,
};
use super::observer::ObserverPolicy;
use super::reviews::{self, ReviewPolicy, is_review};
use super::settings::{self, NumberSetting};
use super::strengths::{in_preset, scope_slot};
use super::{check, file as policy_file};
use crate::classify::{GlobError, PathSet, ScopeGlobs, is_glob};
use crate::gates;
use crate::permissions::ExecutionPolicy;
use qa_contracts::v1::{
    BlockingPolicy, DriveLimits, EmptyChange, GateName, ObserverMode, OverflowPolicy, PolicyFile,
    PolicyImportBoundary, Preset, Registry, RunMode, Scope, ScopeStrengths, SettingOrigin, Severity,
};

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

    fn number(&mut self, setting: &NumberSetting, file: &PolicyFile) -> u64 {
        let stated = (setting.stated)(file);
        self.choose(setting.name, None, stated.as_ref(), setting.value(file), u64::to_string)
    }

    /// As [`Origins::number`], where the default is the value of another setting.
    fn number_or(&mut self, setting: &NumberSetting, file: &PolicyFile, default: u64) -> u64 {
        self.choose(setting.name, None, (setting.stated)(file).as_ref(), default, u64::to_string)
    }
}

impl Policy {
    /// Parses and resolves a policy file; `None` is an absent one.
    pub fn parse(
        text: Option<&str>,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Self, PolicyError> {
        let file: PolicyFile = match text {
            Some(text) => {
                let file = policy_file::parse(text)?;
                check::check(text, &file, registry)?;
                file
            }
            None => PolicyFile::default(),
        };
        let policy = resolve(&file, overrides, registry);
        let mut policy = policy.map_err(|error| error.with_place_in(text.unwrap_or_default()))?;
        if let Some(stage) = overrides.stage {
            policy.restrict_to(stage);
        }
        Ok(policy)
    }
}

/// Resolves a file that was checked.
fn resolve(file: &PolicyFile, overrides: &Overrides, registry: &Registry) -> Result<Policy, PolicyError> {
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
    let theta = origin.number(&settings::THETA_PERMILLE, file);
    let min_support = origin.number(&settings::MIN_SUPPORT, file);
    let max_tokens = origin.number(&settings::MAX_TOKENS, file);
    let max_cost_micro_usd = origin.number(&settings::MAX_COST_MICRO_USD, file);
    let max_concurrency = origin.choose(
        settings::MAX_CONCURRENCY.name,
        overrides.max_concurrency.as_ref(),
        file.run.max_concurrency.as_ref(),
        settings::MAX_CONCURRENCY.value(file),
        u64::to_string,
    );
    ScopeGlobs::new(|scope| globs_of(&file.scopes, scope))?;
    let observer = resolve_observer(file, origin)?;
    let drive = resolve_drive(file, origin)?;
    Ok(Policy {
        observer,
        preset,
        mode,
        stage: None,
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
        max_pull_request_cost_micro_usd: (settings::MAX_PULL_REQUEST_COST_MICRO_USD.stated)(file),
        lenses: resolve_lenses(file, registry)?,
        execution: ExecutionPolicy::from_file(file),
        gates: resolve_gates(file)?,
        consistency: file
            .consistency
            .rubric
            .map(|version| NamedRubric { version, hash: file.consistency.hash.clone() }),
        models: file.models.clone(),
        rules: resolve_rules(file, registry, preset),
        import_boundaries: resolve_boundaries(file)?,
        drive,
        max_concurrency: max_concurrency.clamp(1, 64),
        settings: origins.0,
    })
}

/// Resolves the observer's table. Its settings are listed where it is enabled.
fn resolve_observer(file: &PolicyFile, origins: &mut Origins) -> Result<Option<ObserverPolicy>, GlobError> {
    let globs = file.observer.iter().flat_map(|stated| stated.defer.iter().flatten());
    PathSet::new(globs.map(String::as_str))?;
    let observer = ObserverPolicy::from_file(file);
    if let (Some(stated), Some(observer)) = (&file.observer, &observer) {
        origins.number(&settings::OBSERVER_CADENCE, file);
        origins.number(&settings::OBSERVER_COOLDOWN, file);
        let lists = [
            ("observer.defer", stated.defer.is_some(), observer.defer.clone()),
            ("observer.execute", stated.execute.is_some(), mode_names(&observer.execute)),
            ("observer.pass", stated.pass.is_some(), mode_names(&observer.pass)),
            ("observer.ledger", stated.ledger.is_some(), vec![observer.ledger.to_string()]),
        ];
        for (name, is_stated, list) in lists {
            let origin = if is_stated { "policy" } else { "default" };
            let (name, origin) = (name.to_owned(), origin.to_owned());
            origins.0.push(SettingOrigin { name, value: list.join(" "), origin });
        }
    }
    Ok(observer)
}

/// Resolves the table of the drive. Its settings are listed where the file has the table.
fn resolve_drive(file: &PolicyFile, origins: &mut Origins) -> Result<DriveLimits, GlobError> {
    let limits = drive::from_file(file);
    drive::Rights::new(&limits)?;
    if let Some(stated) = &file.drive {
        origins.number(&settings::DRIVE_MAX_TURNS, file);
        origins.number(&settings::DRIVE_TURN_SECONDS, file);
        origins.number(&settings::DRIVE_MAX_ATTEMPTS, file);
        origins.number(&settings::DRIVE_MAX_ATTEMPTS_PER_HEAD, file);
        let lists = [
            ("drive.writable", stated.writable.is_some(), limits.writable.join(" ")),
            ("drive.open", !stated.open.is_empty(), limits.open.join(" ")),
            ("drive.network", stated.network, limits.network.to_string()),
            ("drive.environment", !stated.environment.is_empty(), limits.environment.join(" ")),
            ("drive.push", stated.push, limits.push.to_string()),
            (
                "drive.max-cost-micro-usd",
                stated.max_cost_micro_usd.is_some(),
                limits.max_cost_micro_usd.map(|most| most.to_string()).unwrap_or_default(),
            ),
            ("drive.model", stated.model.is_some(), limits.model.clone().unwrap_or_default()),
            (
                "drive.coordinator",
                stated.coordinator.is_some(),
                limits.coordinator.clone().unwrap_or_default(),
            ),
        ];
        for (name, is_stated, value) in lists {
            let origin = if is_stated { "policy" } else { "default" };
            origins.0.push(SettingOrigin { name: name.to_owned(), value, origin: origin.to_owned() });
        }
    }
    Ok(limits)
}

fn mode_names(modes: &BTreeSet<ObserverMode>) -> Vec<String> {
    modes.iter().map(ObserverMode::to_string).collect()
}

fn resolve_limits(file: &PolicyFile, origins: &mut Origins) -> Limits {
    let max_files = origins.number(&settings::MAX_FILES, file);
    let max_hunks = origins.number(&settings::MAX_HUNKS, file);
    Limits {
        max_files,
        max_hunks,
        max_blob_bytes: origins.number(&settings::MAX_BLOB_BYTES, file),
        max_line_diff_bytes: origins.number(&settings::MAX_LINE_DIFF_BYTES, file),
        max_tree_entries: origins.number(&settings::MAX_TREE_ENTRIES, file),
        max_rename_pairs: origins.number(&settings::MAX_RENAME_PAIRS, file),
        allow_omitted: origins.choose(
            "limits.allow-omitted",
            None,
            file.limits.allow_omitted.as_ref(),
            false,
            bool::to_string,
        ),
        context_max_files: origins.number_or(&settings::CONTEXT_MAX_FILES, file, max_files),
        context_max_hunks: origins.number_or(&settings::CONTEXT_MAX_HUNKS, file, max_hunks),
        context_max_changed_lines: origins.number(&settings::CONTEXT_MAX_CHANGED_LINES, file),
        deadline_seconds: origins.number(&settings::DEADLINE_SECONDS, file),
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

fn resolve_gates(file: &PolicyFile) -> Result<BTreeMap<GateName, GatePolicy>, GlobError> {
    for gate in file.gates.values() {
        let reports = gate.reports.iter().map(|report| &report.covers);
        let commands = gate.command.iter().map(|command| &command.covers);
        let features = gate.features.iter().map(|feature| &feature.paths);
        for globs in reports.chain(commands).chain(features).chain([&gate.except]) {
            PathSet::new(globs.iter().map(String::as_str))?;
        }
        let paths = gate.reports.iter().flat_map(|report| [Some(&report.path), report.base.as_ref()]);
        let files = paths.chain(gate.command.iter().map(|command| command.report.as_ref())).flatten();
        PathSet::new(files.map(String::as_str).filter(|path| is_glob(path)))?;
    }
    Ok(file.gates.iter().map(|(name, gate)| (*name, GatePolicy::from_file(gate))).collect())
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
