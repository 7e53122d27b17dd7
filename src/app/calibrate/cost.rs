//! Sums up the findings of rules over merged changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::Merged;
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    BlockedChange, BlockingFinding, Calibration, Conclusion, FindingOrigin, LensVersion, Preset, Registry,
    RuleCost, UnjudgedChange,
};
use qa_run::derive::Judgement;
use qa_run::keys::BUILD;

/// Number of blocking findings that are listed for a change.
const FINDINGS_SHOWN: usize = 20;

/// Result of one change.
pub(super) struct ChangeCost {
    conclusion: Conclusion,
    /// True if parts of the change were not looked at.
    is_degraded: bool,
    codes: Vec<Code>,
    findings: Vec<BlockingFinding>,
    blocking: u64,
    /// The rules that block.
    blockers: BTreeSet<String>,
    /// The rules that advise, with how many findings.
    advised: BTreeMap<String, u64>,
}

/// Returns the cost of a judged change. Pre-existing findings do not count.
pub(super) fn measure(judgement: &Judgement) -> ChangeCost {
    let verdict = &judgement.verdict;
    let mut cost = ChangeCost {
        conclusion: verdict.conclusion,
        is_degraded: verdict.degraded,
        codes: verdict.error_codes.clone(),
        findings: Vec::new(),
        blocking: 0,
        blockers: BTreeSet::new(),
        advised: BTreeMap::new(),
    };
    for finding in judgement.results.iter().flat_map(|result| &result.findings) {
        if !finding.blocking {
            if finding.origin == FindingOrigin::Introduced {
                *cost.advised.entry(finding.rule_id.clone()).or_default() += 1;
            }
            continue;
        }
        cost.blocking += 1;
        cost.blockers.insert(finding.rule_id.clone());
        if cost.findings.len() < FINDINGS_SHOWN {
            cost.findings.push(BlockingFinding {
                rule_id: finding.rule_id.clone(),
                file: finding.file.clone(),
                line: finding.start_line,
                summary: finding.summary.clone(),
            });
        }
    }
    cost
}

/// Returns the cost of a policy over changes, which are sorted newest first.
pub(super) fn sum(
    registry: &Registry,
    policy: String,
    preset: Preset,
    merged: &[Merged],
    costs: Vec<ChangeCost>,
) -> Calibration {
    let mut rules: BTreeMap<String, RuleCost> = BTreeMap::new();
    let (mut blocked, mut without_verdict) = (Vec::new(), Vec::new());
    for (change, cost) in merged.iter().zip(costs) {
        let (commit, subject) = (change.resolved.head.clone(), change.subject.clone());
        for rule in &cost.blockers {
            let entry = entry(&mut rules, rule);
            entry.blocked_changes += 1;
            entry.blocked_alone += u64::from(cost.blockers.len() == 1);
        }
        for (rule, findings) in cost.advised {
            let entry = entry(&mut rules, &rule);
            entry.advised_changes += 1;
            entry.advisory_findings += findings;
        }
        match cost.conclusion {
            Conclusion::Pass if !cost.is_degraded => {}
            Conclusion::Fail => blocked.push(BlockedChange {
                commit,
                subject,
                rules: cost.blockers.into_iter().collect(),
                findings: cost.findings,
                blocking: cost.blocking,
            }),
            // A change that was not fully reviewed might have blocked.
            Conclusion::Pass | Conclusion::CouldNotComplete => {
                without_verdict.push(UnjudgedChange { commit, subject, codes: cost.codes });
            }
        }
    }
    let mut rules: Vec<RuleCost> = rules.into_values().collect();
    rules.sort_by(|left, right| {
        right
            .blocked_changes
            .cmp(&left.blocked_changes)
            .then_with(|| right.advised_changes.cmp(&left.advised_changes))
            .then_with(|| right.advisory_findings.cmp(&left.advisory_findings))
            .then_with(|| left.rule_id.cmp(&right.rule_id))
    });
    let lenses = registry.lenses.iter();
    let lenses = lenses
        .map(|lens| LensVersion { lens_id: lens.lens_id.clone(), lens_version: lens.lens_version.clone() });
    Calibration {
        schema_version: Default::default(),
        engine: BUILD.to_owned(),
        lenses: lenses.collect(),
        policy,
        preset,
        head_sha: merged[0].resolved.head.clone(),
        changes: merged.len() as u64,
        rules,
        blocked,
        without_verdict,
    }
}

fn entry<'a>(rules: &'a mut BTreeMap<String, RuleCost>, id: &str) -> &'a mut RuleCost {
    rules.entry(id.to_owned()).or_insert_with(|| RuleCost {
        rule_id: id.to_owned(),
        blocked_changes: 0,
        blocked_alone: 0,
        advised_changes: 0,
        advisory_findings: 0,
    })
}
