//! Lists the settings that one policy makes less strict than another.

use std::collections::{BTreeMap, BTreeSet};

use super::effective::Policy;
use super::reviews::ReviewPolicy;
use super::strengths::in_scope;
use crate::gates;
use qa_contracts::v1::{
    BlockingPolicy, EmptyChange, GateName, LedgerNeed, ObserverMode, OverflowPolicy, PermissionProfileId,
    PolicyCommand, PolicyFeature, PolicyModel, PolicyReport, Preset, RunMode, Scope, Strength, WaiverFile,
    WeakenedSetting,
};

/// A setting's value, with a rank that is higher the stricter the value is.
struct Strictness {
    value: String,
    rank: i64,
}

/// Compares two effective policies. A setting that only one of them has is not compared, and a list counts as weaker
/// when it exempts more.
pub fn weakened(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let (base_ranks, head_ranks) = (ranks(base), ranks(head));
    let mut found: Vec<WeakenedSetting> = base_ranks
        .iter()
        .filter_map(|(name, base)| {
            let head = head_ranks.get(name)?;
            (head.rank < base.rank).then(|| WeakenedSetting {
                name: name.clone(),
                base: base.value.clone(),
                head: head.value.clone(),
            })
        })
        .collect();
    let (base_lists, head_lists) = (exemptions(base), exemptions(head));
    for (name, head_list) in &head_lists {
        let base_list = base_lists.get(name).cloned().unwrap_or_default();
        if !head_list.is_subset(&base_list) {
            found.push(WeakenedSetting { name: name.clone(), base: join(&base_list), head: join(head_list) });
        }
    }
    found.extend(base.gates.iter().filter_map(|(gate, settings)| fewer_runs(*gate, &settings.run, head)));
    found.extend(
        base.gates.iter().filter_map(|(gate, settings)| fewer_reports(*gate, &settings.reports, head)),
    );
    found.extend(
        base.gates.iter().filter_map(|(gate, settings)| fewer_features(*gate, &settings.features, head)),
    );
    found.extend(
        base.gates.iter().filter_map(|(gate, settings)| fewer_commands(*gate, &settings.commands, head)),
    );
    found.extend(removed_boundaries(base, head));
    found.extend(weaker_rubric(base, head));
    found.sort();
    found
}

/// Returns the boundaries that head removes or changes.
fn removed_boundaries(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    base.import_boundaries
        .iter()
        .filter(|boundary| !head.import_boundaries.contains(boundary))
        .map(|boundary| WeakenedSetting {
            name: format!("import-boundary.{}", boundary.from.join(",")),
            base: boundary.must_not_import.join(", "),
            head: "none".to_owned(),
        })
        .collect()
}

/// Returns the rubric setting if head removes it or has an older version.
fn weaker_rubric(base: &Policy, head: &Policy) -> Option<WeakenedSetting> {
    let base = base.consistency.as_ref()?;
    let head = match &head.consistency {
        Some(head) if head.version >= base.version => return None,
        Some(head) => head.version.to_string(),
        None => "none".to_owned(),
    };
    Some(WeakenedSetting { name: "consistency.rubric".to_owned(), base: base.version.to_string(), head })
}

/// Returns the reviews with other request settings. More samples, or a higher agreement, is stricter in one way and milder
/// in another.
pub fn reviews_changed(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let reviews = base.lenses.iter().map(|(id, base)| {
        let head = head.lenses.get(id).and_then(|head| head.review.as_ref());
        (id, base.review.as_ref(), head)
    });
    reviews
        .filter(|(_, base, head)| base.is_some() && base != head)
        .map(|(id, base, head)| WeakenedSetting {
            name: format!("lenses.{id}.model"),
            base: describe_review(base),
            head: describe_review(head),
        })
        .collect()
}

fn describe_review(review: Option<&ReviewPolicy>) -> String {
    match review {
        Some(ReviewPolicy { model, samples, agree, canary, max_input_tokens, confirm_model }) => {
            let canary = if *canary { "with a canary" } else { "without a canary" };
            let confirmed = match confirm_model {
                Some(name) => format!(", confirmed by {name}"),
                None => String::new(),
            };
            format!("{model}, {agree} of {samples} answers, {canary}, {max_input_tokens} tokens{confirmed}")
        }
        None => "none".to_owned(),
    }
}

/// Returns the models that are replaced or have another endpoint. None is stricter than another, so no rule reports
/// them, but code and a key are sent to them.
pub fn models_changed(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let names: BTreeSet<&String> = base.models.keys().chain(head.models.keys()).collect();
    let changed = names.into_iter().map(|name| (name, base.models.get(name), head.models.get(name)));
    changed
        .filter(|(_, base, head)| base != head)
        .map(|(name, base, head)| {
            let (base, mut head) = (describe_model(base), describe_model(head));
            if base == head {
                head.push_str(", asked in another way");
            }
            WeakenedSetting { name: format!("models.{name}"), base, head }
        })
        .collect()
}

fn describe_model(model: Option<&PolicyModel>) -> String {
    match model {
        Some(PolicyModel { provider, model, endpoint, .. }) => {
            format!("{provider} {model} at {}", endpoint.as_deref().unwrap_or("its own endpoint"))
        }
        None => "none".to_owned(),
    }
}

/// Returns a gate's setting if the gate stays and runs fewer tools.
fn fewer_runs(gate: GateName, base: &[String], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.run;
    base.iter().any(|tool| !head.contains(tool)).then(|| WeakenedSetting {
        name: format!("gates.{gate}.run"),
        base: join(base),
        head: join(head),
    })
}

/// Returns a gate's setting if the gate stays and runs fewer or other commands.
fn fewer_commands(gate: GateName, base: &[PolicyCommand], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.commands;
    base.iter().any(|command| !head.contains(command)).then(|| WeakenedSetting {
        name: format!("gates.{gate}.command"),
        base: join(&command_lines(base)),
        head: join(&command_lines(head)),
    })
}

fn command_lines(commands: &[PolicyCommand]) -> Vec<String> {
    let lines = commands.iter().map(|command| {
        let report = command.report.as_deref().unwrap_or("on standard output");
        let covers =
            if command.covers.is_empty() { "everything".to_owned() } else { command.covers.join(" ") };
        format!("{} (report {report}, covers {covers})", command.run.join(" "))
    });
    lines.collect()
}

/// Returns a gate's setting if the gate stays and reads fewer or other reports.
fn fewer_reports(gate: GateName, base: &[PolicyReport], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.reports;
    base.iter().any(|report| !head.contains(report)).then(|| WeakenedSetting {
        name: format!("gates.{gate}.reports"),
        base: join(base.iter().map(|report| &report.path)),
        head: join(head.iter().map(|report| &report.path)),
    })
}

/// Returns a gate's setting if the gate stays and names fewer features by paths.
fn fewer_features(gate: GateName, base: &[PolicyFeature], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.features;
    base.iter().any(|feature| !head.contains(feature)).then(|| WeakenedSetting {
        name: format!("gates.{gate}.features"),
        base: join(&feature_lines(base)),
        head: join(&feature_lines(head)),
    })
}

fn feature_lines(features: &[PolicyFeature]) -> Vec<String> {
    features.iter().map(|feature| format!("{}: {}", feature.id, feature.paths.join(" "))).collect()
}

/// Returns the waivers that head adds.
pub fn added_waivers(base: &WaiverFile, head: &WaiverFile) -> Vec<WeakenedSetting> {
    let mut found: Vec<WeakenedSetting> = head
        .waiver
        .iter()
        .filter(|waiver| !base.waiver.contains(waiver))
        .map(|waiver| WeakenedSetting {
            name: format!("waivers.{}", waiver.rule),
            base: "none".to_owned(),
            head: format!("{} until {}", waiver.evidence_hash, waiver.expires),
        })
        .collect();
    found.sort();
    found
}

/// Joins the items of a list, sorted and without repeats.
fn join<'i>(items: impl IntoIterator<Item = &'i String>) -> String {
    let items: BTreeSet<&str> = items.into_iter().map(String::as_str).collect();
    if items.is_empty() { "none".to_owned() } else { items.into_iter().collect::<Vec<_>>().join(", ") }
}

fn empty_change_strictness(setting: EmptyChange) -> (&'static str, i64) {
    match setting {
        EmptyChange::CouldNotComplete => ("could_not_complete", 1),
        EmptyChange::Pass => ("pass", 0),
    }
}

/// Strictness of each setting, by its name.
#[derive(Default)]
struct Ranks(BTreeMap<String, Strictness>);

impl Ranks {
    fn add(&mut self, name: &str, value: impl ToString, rank: i64) {
        self.0.insert(name.to_owned(), Strictness { value: value.to_string(), rank });
    }
}

fn ranks(policy: &Policy) -> BTreeMap<String, Strictness> {
    let mut ranks = Ranks::default();
    let mode = match policy.mode {
        RunMode::Strict => 1,
        RunMode::BestEffort => 0,
    };
    ranks.add("mode", policy.mode, mode);
    let preset = match policy.preset {
        Preset::Guarded => 2,
        Preset::Default => 1,
        Preset::Advisory => 0,
    };
    ranks.add("preset", policy.preset, preset);
    let (empty, rank) = empty_change_strictness(policy.empty_change);
    ranks.add("empty-change", empty, rank);
    let blocking = match policy.blocking_policy {
        BlockingPolicy::RuleDefined | BlockingPolicy::SeverityThreshold => 0,
        BlockingPolicy::Mixed => 1,
    };
    ranks.add("blocking-policy", policy.blocking_policy, blocking);
    // Severities are declared worst first: a larger one lets more through.
    ranks.add("blocking-threshold", policy.blocking_threshold, policy.blocking_threshold as i64);
    ranks.add("limits.allow-omitted", policy.limits.allow_omitted, -i64::from(policy.limits.allow_omitted));
    ranks.add("ratchet.theta-permille", policy.theta_permille, -i64::from(policy.theta_permille));
    let support = i64::try_from(policy.min_support).unwrap_or(i64::MAX);
    ranks.add("ratchet.min-support", policy.min_support, -support);
    // Permitted commands can be used against the repository, so permitting more is less strict.
    let execution = &policy.execution;
    let profile = match execution.profile {
        PermissionProfileId::ReadOnly => 2,
        PermissionProfileId::ExecSandboxedNetworkOff => 1,
        PermissionProfileId::ExecSandboxed => 0,
    };
    ranks.add("execution.profile", execution.profile, profile);
    let forks = execution.fork_heads;
    ranks.add("execution.fork-heads", forks, -i64::from(forks));
    for (gate, settings) in &policy.gates {
        let (untouched, rank) = empty_change_strictness(settings.untouched);
        ranks.add(&format!("gates.{gate}.untouched"), untouched, rank);
        ranks.add(&format!("gates.{gate}.confirm"), settings.confirm, settings.confirm.into());
    }
    for (id, lens) in &policy.lenses {
        let table = if gates::find(id).is_some() { "gates" } else { "lenses" };
        ranks.add(&format!("{table}.{id}.enabled"), lens.enabled, lens.enabled.into());
        ranks.add(&format!("{table}.{id}.required"), lens.required, lens.required.into());
        let overflow = match lens.overflow {
            OverflowPolicy::Stop => 1,
            OverflowPolicy::Skip | OverflowPolicy::Escalate => 0,
        };
        ranks.add(&format!("lenses.{id}.overflow"), lens.overflow, overflow);
        // A model that is asked to confirm findings may keep one from blocking, and can add none.
        if let Some(review) = &lens.review {
            let confirming = review.confirm_model.as_deref().unwrap_or("none");
            let rank = review.confirm_model.is_none().into();
            ranks.add(&format!("lenses.{id}.confirm-model"), confirming, rank);
        }
    }
    for (id, strengths) in &policy.rules {
        for &scope in Scope::ALL {
            let strength = in_scope(strengths, scope);
            let rank = match strength {
                Strength::Block => 3,
                Strength::Ratchet => 2,
                Strength::Advise => 1,
                Strength::Off => 0,
            };
            ranks.add(&format!("rules.{id}.{scope}"), strength, rank);
        }
    }
    ranks.0
}

/// Returns the lists that exempt files or move them to a milder scope as they grow.
fn exemptions(policy: &Policy) -> BTreeMap<String, BTreeSet<String>> {
    let scopes = policy
        .scopes
        .iter()
        .filter(|(scope, _)| **scope != Scope::Product)
        .map(|(scope, globs)| (format!("scopes.{scope}"), globs.iter().cloned().collect()));
    let ignores = policy
        .lenses
        .iter()
        .map(|(id, lens)| (format!("lenses.{id}.ignore"), lens.ignore.iter().cloned().collect()));
    let execution = &policy.execution;
    let lists: [(&str, BTreeSet<String>); 3] = [
        ("allow", execution.allow.iter().map(|rule| rule.prefix.join(" ")).collect()),
        ("lens-classes", execution.lens_classes.iter().map(|class| class.as_str().to_owned()).collect()),
        ("toolchains", execution.toolchains.iter().map(|toolchain| toolchain.path.clone()).collect()),
    ];
    let execution = lists.into_iter().map(|(name, list)| (format!("execution.{name}"), list));
    let gates = policy
        .gates
        .iter()
        .map(|(gate, settings)| (format!("gates.{gate}.except"), settings.except.iter().cloned().collect()));
    let rights = observer_lists(policy).into_iter().chain(drive_lists(policy));
    scopes.chain(ignores).chain(execution).chain(gates).chain(rights).collect()
}

/// Returns what an agent may change and use. The table `writable` names everything by itself.
fn drive_lists(policy: &Policy) -> [(String, BTreeSet<String>); 5] {
    let drive = &policy.drive;
    let [network, push] =
        [drive.network, drive.push].map(|is_set| if is_set { vec!["true".to_owned()] } else { Vec::new() });
    let lists = [
        ("writable", &drive.writable),
        ("open", &drive.open),
        ("environment", &drive.environment),
        ("network", &network),
        ("push", &push),
    ];
    lists.map(|(name, list)| (format!("drive.{name}"), list.iter().cloned().collect()))
}

/// Returns what drafts leave for later, and the modes that may pass. Without an observer nothing waits and every run may
/// pass, so one is weaker only by what it defers, and its absence only where not every mode may pass.
fn observer_lists(policy: &Policy) -> [(String, BTreeSet<String>); 3] {
    let (defer, pass, needs_ledger) = match &policy.observer {
        Some(observer) => {
            let needs_ledger = observer.ledger == LedgerNeed::Required;
            (observer.defer.iter().cloned().collect(), observer.pass.clone(), needs_ledger)
        }
        None => (BTreeSet::new(), ObserverMode::ALL.iter().copied().collect(), false),
    };
    let pass = pass.iter().map(ObserverMode::to_string).collect();
    let optional = if needs_ledger { None } else { Some(LedgerNeed::Optional.to_string()) };
    let optional = optional.into_iter().collect();
    let lists = [("defer", defer), ("pass", pass), ("ledger", optional)];
    lists.map(|(name, list)| (format!("observer.{name}"), list))
}
