//! Bounds what is listed of places that lenses find: a text made of nothing but faults must not cost more than it weighs.
//!
//! Findings over the bound are counted in one finding. It has the severity of the worst of them and is never excused as
//! moved text. So a bound can hide no fault, and the verdict is the same without it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{Finding, LensResult, Severity, Side};
use qa_core::canonical;
use qa_core::findings::{UNLISTED, places, sort_findings};
use qa_lenses::contract::Draft;

/// Places listed of one rule in one file.
pub(super) const PER_FILE: usize = 200;
/// Places listed of one rule in a run.
pub(super) const PER_RULE: usize = 5_000;
/// Findings listed in a run.
const PER_RUN: usize = 5_000;

/// Grouping key of counted drafts: everything that decides whether one blocks.
type Kind = (Cow<'static, str>, RepoPath, Side, Option<Severity>);

/// Keeps the first `most` drafts of each rule; of each file the others become one draft, at the first of their places.
pub(super) fn bounded(drafts: Vec<Draft>, most: usize) -> Vec<Draft> {
    if drafts.len() <= most {
        return drafts;
    }
    let mut counts: BTreeMap<Cow<'static, str>, usize> = BTreeMap::new();
    let mut rest: BTreeMap<Kind, (Draft, u64)> = BTreeMap::new();
    let mut kept = Vec::new();
    for draft in drafts {
        let count = counts.entry(draft.rule.clone()).or_default();
        *count += 1;
        if *count <= most {
            kept.push(draft);
            continue;
        }
        let weight = draft.detail.get(UNLISTED).and_then(Value::as_u64).unwrap_or(1);
        let kind = (draft.rule.clone(), draft.file.clone(), draft.side, draft.severity);
        rest.entry(kind).and_modify(|(_, unlisted)| *unlisted += weight).or_insert((draft, weight));
    }
    kept.extend(rest.into_values().map(|(first, unlisted)| stand_in(first, unlisted)));
    kept
}

fn stand_in(mut first: Draft, unlisted: u64) -> Draft {
    if unlisted > 1 {
        first.summary = summary(unlisted);
        first.detail.insert(UNLISTED.into(), unlisted.into());
    }
    first
}

fn summary(unlisted: u64) -> String {
    format!("{unlisted} places from here on are counted and not listed")
}

/// Keeps the findings of a run that are listed: those that block first, then the worst. Of each lens and rule the others
/// become one finding.
pub(super) fn bound_results(results: &mut [&mut LensResult]) {
    let total: usize = results.iter().map(|result| result.findings.len()).sum();
    if total <= PER_RUN {
        return;
    }
    let mut order: Vec<(bool, Severity, usize, usize)> = results
        .iter()
        .enumerate()
        .flat_map(|(result, one)| {
            one.findings
                .iter()
                .enumerate()
                .map(move |(index, finding)| (!finding.blocking, finding.severity, result, index))
        })
        .collect();
    order.sort_unstable();
    let mut listed: Vec<Vec<bool>> = results.iter().map(|one| vec![false; one.findings.len()]).collect();
    for (_, _, result, index) in &order[..PER_RUN] {
        listed[*result][*index] = true;
    }
    for (result, listed) in results.iter_mut().zip(listed) {
        if !listed.contains(&false) {
            continue;
        }
        let mut kept = Vec::new();
        let mut rest: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
        for (finding, listed) in std::mem::take(&mut result.findings).into_iter().zip(listed) {
            if listed {
                kept.push(finding);
            } else {
                rest.entry(finding.rule_id.clone()).or_default().push(finding);
            }
        }
        kept.extend(rest.into_values().filter_map(joined));
        sort_findings(&mut kept);
        result.findings = kept;
    }
}

/// Joins findings of one rule into the first that blocks, or else the first, with the number of all their places.
fn joined(findings: Vec<Finding>) -> Option<Finding> {
    let unlisted = findings.iter().map(places).sum::<u64>();
    let count = findings.len();
    let first = findings.iter().position(|finding| finding.blocking).unwrap_or(0);
    let mut one = findings.into_iter().nth(first)?;
    if count > 1 {
        one.summary = summary(unlisted);
        one.evidence.insert(UNLISTED.to_owned(), unlisted.into());
        let proof = json!([one.rule_id, one.file, one.start_line, one.end_line, one.evidence]);
        one.evidence_hash = canonical::digest(&proof).expect("evidence is made of JSON values");
        one.codes.push(Code::FindingsUnlisted);
        one.codes.sort();
        one.codes.dedup();
    }
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(rule: &'static str, line: u64) -> Draft {
        Draft {
            start_line: line,
            end_line: line,
            start_column: 1,
            end_column: 2,
            quote: format!("line {line}"),
            ..Draft::on_file(rule, &RepoPath::from_bytes(b"a.py").unwrap(), Side::Head, "a fault")
        }
    }

    fn shown(drafts: &[Draft]) -> Vec<(&str, u64, Option<u64>)> {
        let unlisted = |draft: &Draft| draft.detail.get(UNLISTED).and_then(Value::as_u64);
        drafts.iter().map(|draft| (&*draft.rule, draft.start_line, unlisted(draft))).collect()
    }

    #[test]
    fn places_beyond_the_bound_are_counted_by_rule_and_once() {
        let drafts = vec![draft("a", 1), draft("b", 2), draft("a", 3), draft("a", 4), draft("a", 5)];
        let once = bounded(drafts, 2);
        assert_eq!(shown(&once), [("a", 1, None), ("b", 2, None), ("a", 3, None), ("a", 4, Some(2))]);
        let more = [once.clone(), vec![draft("a", 6)]].concat();
        assert_eq!(
            shown(&bounded(more, 2)),
            [("a", 1, None), ("b", 2, None), ("a", 3, None), ("a", 4, Some(3))]
        );
        // Another file and another severity are counted apart.
        let elsewhere = Draft { file: RepoPath::from_bytes(b"b.py").unwrap(), ..draft("a", 1) };
        let worse = Draft { severity: Some(Severity::Critical), ..draft("a", 7) };
        let apart = bounded(vec![draft("a", 1), draft("a", 2), draft("a", 3), elsewhere, worse], 1);
        assert_eq!(shown(&apart), [("a", 1, None), ("a", 2, Some(2)), ("a", 7, None), ("a", 1, None)]);
        // A single place beyond the limit is listed itself.
        assert_eq!(shown(&bounded(vec![draft("a", 1), draft("a", 2)], 1)), [("a", 1, None), ("a", 2, None)]);
    }
}
