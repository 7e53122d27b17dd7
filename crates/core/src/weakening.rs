//! Names every setting that one policy makes less strict than another.

use std::collections::{BTreeMap, BTreeSet};

use super::gates;
use super::policy::{Policy, in_scope};
use super::reviews::ReviewPolicy;
use qa_contracts::v1::{
    BlockingPolicy, EmptyChange, GateName, OverflowPolicy, PermissionProfileId, PolicyImportBoundary,
    PolicyModel, PolicyReport, RunMode, Scope, Strength, WaiverFile, WeakenedSetting,
};

/// How strict a value is; more is stricter.
struct Strictness {
    shown: String,
    rank: i64,
}

/// Compares two effective policies; a setting that only one of them knows is not compared, a list counts as weaker when
/// it exempts more.
pub fn weakened(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let (base_ranks, head_ranks) = (ranks(base), ranks(head));
    let mut found: Vec<WeakenedSetting> = base_ranks
        .iter()
        .filter_map(|(name, base)| {
            let head = head_ranks.get(name)?;
            (head.rank < base.rank).then(|| WeakenedSetting {
                name: name.clone(),
                base: base.shown.clone(),
                head: head.shown.clone(),
            })
        })
        .collect();
    let (base_lists, head_lists) = (exemptions(base), exemptions(head));
    for (name, head_list) in &head_lists {
        let base_list = base_lists.get(name).cloned().unwrap_or_default();
        if !head_list.is_subset(&base_list) {
            found.push(WeakenedSetting {
                name: name.clone(),
                base: shown(&base_list),
                head: shown(head_list),
            });
        }
    }
    found.extend(base.gates.iter().filter_map(|(gate, settings)| runs_less(*gate, &settings.run, head)));
    found.extend(
        base.gates.iter().filter_map(|(gate, settings)| reports_less(*gate, &settings.reports, head)),
    );
    found.extend(boundaries_gone(base, head));
    found.extend(rubric_less(base, head));
    found.sort();
    found
}

/// Boundaries that head no longer has, or has in another way.
fn boundaries_gone(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let gone = base.import_boundaries.iter().filter(|boundary| !head.import_boundaries.contains(boundary));
    let setting = |boundary: &PolicyImportBoundary| WeakenedSetting {
        name: format!("import-boundary.{}", boundary.from.join(",")),
        base: boundary.must_not_import.join(", "),
        head: "none".to_owned(),
    };
    gone.map(setting).collect()
}

/// A rubric that is no longer named, or an older one.
fn rubric_less(base: &Policy, head: &Policy) -> Option<WeakenedSetting> {
    let base = base.consistency.as_ref()?;
    let head = head.consistency.as_ref();
    let is_less = head.is_none_or(|head| head.version < base.version);
    is_less.then(|| WeakenedSetting {
        name: "consistency.rubric".to_owned(),
        base: base.version.to_string(),
        head: head.map_or_else(|| "none".to_owned(), |head| head.version.to_string()),
    })
}

/// Reviews that ask in another way. More answers, or more that have to agree, is stricter in one way and milder in another.
pub fn reviews_changed(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let shown = |review: Option<&ReviewPolicy>| match review {
        Some(ReviewPolicy { model, samples, agree, canary, max_input_tokens }) => {
            let canary = if *canary { "with a canary" } else { "without a canary" };
            format!("{model}, {agree} of {samples} answers, {canary}, {max_input_tokens} tokens")
        }
        None => "none".to_owned(),
    };
    let reviews = base.lenses.iter().map(|(id, base)| {
        let head = head.lenses.get(id).and_then(|head| head.review.as_ref());
        (id, base.review.as_ref(), head)
    });
    reviews
        .filter(|(_, base, head)| base.is_some() && base != head)
        .map(|(id, base, head)| WeakenedSetting {
            name: format!("lenses.{id}.model"),
            base: shown(base),
            head: shown(head),
        })
        .collect()
}

/// Models that are other ones, or asked elsewhere. Nothing says which is stricter, so that no rule speaks about it, but it
/// is where code and a key go.
pub fn models_changed(base: &Policy, head: &Policy) -> Vec<WeakenedSetting> {
    let shown = |model: Option<&PolicyModel>| match model {
        Some(PolicyModel { provider, model, endpoint, .. }) => {
            format!("{provider} {model} at {}", endpoint.as_deref().unwrap_or("its own endpoint"))
        }
        None => "none".to_owned(),
    };
    let names: BTreeSet<&String> = base.models.keys().chain(head.models.keys()).collect();
    let changed = names.into_iter().map(|name| (name, base.models.get(name), head.models.get(name)));
    changed
        .filter(|(_, base, head)| base != head)
        .map(|(name, base, head)| {
            let (base, mut head) = (shown(base), shown(head));
            if base == head {
                head.push_str(", asked in another way");
            }
            WeakenedSetting { name: format!("models.{name}"), base, head }
        })
        .collect()
}

/// A gate that stays and runs less.
fn runs_less(gate: GateName, base: &[String], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.run;
    let shown = |tools: &[String]| shown(&tools.iter().cloned().collect());
    base.iter().any(|tool| !head.contains(tool)).then(|| WeakenedSetting {
        name: format!("gates.{gate}.run"),
        base: shown(base),
        head: shown(head),
    })
}

/// A gate that stays and reads less, or reads something else in place of what it read.
fn reports_less(gate: GateName, base: &[PolicyReport], head: &Policy) -> Option<WeakenedSetting> {
    let head = &head.gates.get(&gate)?.reports;
    let shown = |reports: &[PolicyReport]| shown(&reports.iter().map(|report| report.path.clone()).collect());
    let gone = base.iter().any(|report| !head.contains(report));
    gone.then(|| WeakenedSetting {
        name: format!("gates.{gate}.reports"),
        base: shown(base),
        head: shown(head),
    })
}

/// The waivers that head has and the base has not.
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

fn shown(list: &BTreeSet<String>) -> String {
    if list.is_empty() { "none".to_owned() } else { list.iter().cloned().collect::<Vec<_>>().join(", ") }
}

fn word_of(value: EmptyChange) -> (&'static str, i64) {
    match value {
        EmptyChange::CouldNotComplete => ("could_not_complete", 1),
        EmptyChange::Pass => ("pass", 0),
    }
}

fn ranks(policy: &Policy) -> BTreeMap<String, Strictness> {
    let mut ranks = BTreeMap::new();
    let mut add = |name: String, shown: String, rank: i64| {
        ranks.insert(name, Strictness { shown, rank });
    };
    let mode = match policy.mode {
        RunMode::Strict => 1,
        RunMode::BestEffort => 0,
    };
    add("mode".to_owned(), policy.mode.to_string(), mode);
    let (empty, rank) = word_of(policy.empty_change);
    add("empty-change".to_owned(), empty.to_owned(), rank);
    let blocking = match policy.blocking_policy {
        BlockingPolicy::RuleDefined | BlockingPolicy::SeverityThreshold => 0,
        BlockingPolicy::Mixed => 1,
    };
    add("blocking-policy".to_owned(), policy.blocking_policy.to_string(), blocking);
    // Severities are declared worst first: a larger one lets more through.
    add(
        "blocking-threshold".to_owned(),
        policy.blocking_threshold.to_string(),
        policy.blocking_threshold as i64,
    );
    add(
        "limits.allow-omitted".to_owned(),
        policy.limits.allow_omitted.to_string(),
        -i64::from(policy.limits.allow_omitted),
    );
    add(
        "ratchet.theta-permille".to_owned(),
        policy.theta_permille.to_string(),
        -i64::from(policy.theta_permille),
    );
    let support = i64::try_from(policy.min_support).unwrap_or(i64::MAX);
    add("ratchet.min-support".to_owned(), policy.min_support.to_string(), -support);
    // What may be run can be used against the repository, so more of it is less strict.
    let execution = &policy.execution;
    let profile = match execution.profile {
        PermissionProfileId::ReadOnly => 2,
        PermissionProfileId::ExecSandboxedNetworkOff => 1,
        PermissionProfileId::ExecSandboxed => 0,
    };
    add("execution.profile".to_owned(), execution.profile.to_string(), profile);
    let forks = execution.fork_heads;
    add("execution.fork-heads".to_owned(), forks.to_string(), -i64::from(forks));
    for (gate, settings) in &policy.gates {
        let (untouched, rank) = word_of(settings.untouched);
        add(format!("gates.{gate}.untouched"), untouched.to_owned(), rank);
    }
    for (id, lens) in &policy.lenses {
        let table = if gates::find(id).is_some() { "gates" } else { "lenses" };
        add(format!("{table}.{id}.enabled"), lens.enabled.to_string(), lens.enabled.into());
        add(format!("{table}.{id}.required"), lens.required.to_string(), lens.required.into());
        let overflow = match lens.overflow {
            OverflowPolicy::Stop => 1,
            OverflowPolicy::Skip | OverflowPolicy::Escalate => 0,
        };
        add(format!("lenses.{id}.overflow"), lens.overflow.to_string(), overflow);
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
            add(format!("rules.{id}.{scope}"), strength.to_string(), rank);
        }
    }
    ranks
}

/// Lists whose growth takes files out of view or into a milder scope.
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
    scopes.chain(ignores).chain(execution).collect()
}
