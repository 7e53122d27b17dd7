//! Compares what two versions say about the same changes. Pure.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::CommitId;
use qa_contracts::v1::{BlockedChange, Calibration, ComparedChange, LensUpgrade, RuleUpgrade, Upgrade};

/// Returns the difference of two calibrations over the same changes.
pub(super) fn compare(from: &Calibration, to: Calibration, pinned: Option<String>) -> Upgrade {
    let unjudged = [from, &to].into_iter().flat_map(|side| &side.without_verdict);
    let mut not_compared: Vec<ComparedChange> = Vec::new();
    for change in unjudged {
        if !not_compared.iter().any(|known| known.commit == change.commit) {
            not_compared
                .push(ComparedChange { commit: change.commit.clone(), subject: change.subject.clone() });
        }
    }
    let left_out: BTreeSet<&CommitId> = not_compared.iter().map(|change| &change.commit).collect();
    let (before, now) = (Blocks::new(from, &left_out), Blocks::new(&to, &left_out));
    Upgrade {
        schema_version: Default::default(),
        from_engine: from.engine.clone(),
        to_engine: to.engine.clone(),
        lenses: lenses(from, &to),
        rules: rules(from, &to, &before, &now),
        policy: to.policy,
        preset: to.preset,
        head_sha: to.head_sha,
        changes: to.changes,
        not_compared,
        pinned,
    }
}

/// Blocked changes by rule, newest first; `None` is a required lens that failed.
struct Blocks<'a>(BTreeMap<Option<&'a str>, Vec<&'a BlockedChange>>);

impl<'a> Blocks<'a> {
    fn new(side: &'a Calibration, left_out: &BTreeSet<&CommitId>) -> Self {
        let mut blocks: BTreeMap<Option<&str>, Vec<&BlockedChange>> = BTreeMap::new();
        for change in side.blocked.iter().filter(|change| !left_out.contains(&change.commit)) {
            for rule in &change.rules {
                blocks.entry(Some(rule.as_str())).or_default().push(change);
            }
            if change.rules.is_empty() {
                blocks.entry(None).or_default().push(change);
            }
        }
        Self(blocks)
    }

    fn of(&self, rule: Option<&str>) -> &[&'a BlockedChange] {
        let found = self.0.iter().find(|(id, _)| **id == rule);
        found.map(|(_, changes)| changes.as_slice()).unwrap_or_default()
    }
}

fn rules(from: &Calibration, to: &Calibration, before: &Blocks<'_>, now: &Blocks<'_>) -> Vec<RuleUpgrade> {
    let advised = [from, to].into_iter().flat_map(|side| &side.rules).map(|rule| Some(rule.rule_id.as_str()));
    let ids: BTreeSet<Option<&str>> = before.0.keys().chain(now.0.keys()).copied().chain(advised).collect();
    let rules = ids.into_iter().map(|id| {
        let newly_blocked = only_in(now.of(id), before.of(id));
        RuleUpgrade {
            rule_id: id.map(str::to_owned),
            blocked_in_both: (now.of(id).len() - newly_blocked.len()) as u64,
            newly_blocked,
            no_longer_blocked: only_in(before.of(id), now.of(id)),
            advisory_before: advisory(from, id),
            advisory_now: advisory(to, id),
        }
    });
    rules.filter(is_told).collect()
}

fn is_told(rule: &RuleUpgrade) -> bool {
    let blocks =
        rule.blocked_in_both > 0 || !rule.newly_blocked.is_empty() || !rule.no_longer_blocked.is_empty();
    blocks || rule.advisory_before != rule.advisory_now
}

fn only_in(these: &[&BlockedChange], others: &[&BlockedChange]) -> Vec<ComparedChange> {
    let others: BTreeSet<&CommitId> = others.iter().map(|change| &change.commit).collect();
    let only = these.iter().filter(|change| !others.contains(&change.commit));
    only.map(|change| ComparedChange { commit: change.commit.clone(), subject: change.subject.clone() })
        .collect()
}

fn advisory(side: &Calibration, id: Option<&str>) -> u64 {
    let rule = side.rules.iter().find(|rule| Some(rule.rule_id.as_str()) == id);
    rule.map_or(0, |rule| rule.advisory_findings)
}

fn lenses(from: &Calibration, to: &Calibration) -> Vec<LensUpgrade> {
    let (before, now) = (versions(from), versions(to));
    let ids: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
    let changed = ids.into_iter().filter(|id| before.get(id) != now.get(id));
    let changed = changed.map(|id| {
        let [from, to] = [&before, &now].map(|side| side.get(id).map(|version| (*version).to_owned()));
        LensUpgrade { lens_id: id.to_owned(), from, to }
    });
    changed.collect()
}

fn versions(side: &Calibration) -> BTreeMap<&str, &str> {
    side.lenses.iter().map(|lens| (lens.lens_id.as_str(), lens.lens_version.as_str())).collect()
}

/// Returns whether a calibration is that of a later version: by the number of its release, and between builds of one release by
/// the versions of its lenses.
pub(super) fn is_newer(from: &Calibration, to: &Calibration) -> bool {
    match release(&from.engine).cmp(&release(&to.engine)) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => {
            let now = versions(to);
            // A lens that this version does not have is a later one.
            versions(from)
                .into_iter()
                .any(|(id, version)| now.get(id).is_none_or(|now| number(version) > number(now)))
        }
    }
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// Returns the numbers of a release, `1.2.3` of `1.2.3 (sources …)`.
fn release(engine: &str) -> Vec<u64> {
    let version = engine.split([' ', '-', '+']).next().unwrap_or_default();
    version.split('.').map(number).collect()
}
