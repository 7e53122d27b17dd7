//! Groups findings that say the same about several places, so that a page says it once.

use std::collections::BTreeMap;

use crate::common::{Files, counted, is_on_base, location, message_lines, note};
use crate::contract::Report;
use crate::excerpt::{Sides, excerpt};
use crate::why::why;
use qa_contracts::codes::Code;
use qa_contracts::v1::{Finding, Severity};
use qa_core::escape::visible_cut;
use qa_core::findings::all_places;

/// Findings whose texts are equal, so that only their places differ. At least one.
pub(crate) struct Cause<'a> {
    first: &'a Finding,
    others: Vec<&'a Finding>,
}

impl<'a> Cause<'a> {
    /// Returns the finding that is shown whole.
    pub(crate) fn first(&self) -> &'a Finding {
        self.first
    }

    /// Returns the findings that say the same elsewhere.
    pub(crate) fn others(&self) -> &[&'a Finding] {
        &self.others
    }

    /// Returns all findings, the first one first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &'a Finding> + Clone {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// Everything that a page says about a finding beside its place and its lines.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Texts<'a> {
    is_blocking: bool,
    severity: Severity,
    rule: &'a str,
    summary: &'a str,
    fix: &'a str,
    why: String,
    note: Option<String>,
    message: Vec<String>,
    edit: Option<&'a str>,
    codes: &'a [Code],
    is_on_base: bool,
}

impl<'a> Texts<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            is_blocking: finding.blocking,
            severity: finding.severity,
            rule: &finding.rule_id,
            summary: &finding.summary,
            fix: &finding.fix,
            why: why(finding),
            note: note(finding, ""),
            message: message_lines(finding),
            edit: finding.edit.as_ref().map(|edit| edit.title.as_str()),
            codes: &finding.codes,
            is_on_base: is_on_base(finding),
        }
    }
}

/// Groups findings; causes stand in the order of their first findings.
pub(crate) fn causes<'a>(findings: &[&'a Finding]) -> Vec<Cause<'a>> {
    let mut causes: Vec<Cause<'a>> = Vec::new();
    let mut known: BTreeMap<Texts<'a>, usize> = BTreeMap::new();
    for &finding in findings {
        let next = causes.len();
        let at = *known.entry(Texts::new(finding)).or_insert(next);
        match causes.get_mut(at) {
            Some(cause) => cause.others.push(finding),
            None => causes.push(Cause { first: finding, others: Vec::new() }),
        }
    }
    causes
}

/// Place of a finding with its first line, both harmless.
pub(crate) struct PlaceLine {
    pub(crate) location: String,
    /// Without the white space around it; empty where the run did not record the line.
    pub(crate) line: String,
}

/// Returns a finding's place with its line, cut to `limit` characters.
pub(crate) fn place_line(
    report: &Report<'_>,
    files: &Files<'_>,
    finding: &Finding,
    limit: usize,
) -> PlaceLine {
    let lines = excerpt(report, files, finding, 0, Sides::Own);
    let first = lines.into_iter().find(|line| line.flagged);
    let line = first.map(|line| line.before + &line.marked + &line.after).unwrap_or_default();
    PlaceLine { location: visible_cut(&location(finding), 300), line: visible_cut(line.trim(), limit) }
}

/// Counts the findings of each rule, blocking and not.
pub(crate) fn by_rule<'a>(findings: &[&'a Finding]) -> BTreeMap<&'a str, (usize, usize)> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        let entry: &mut (usize, usize) = counts.entry(finding.rule_id.as_str()).or_default();
        let places = all_places([*finding]);
        if finding.blocking { entry.0 += places } else { entry.1 += places }
    }
    counts
}

/// Counts findings that are listed, and the places that the verdict counts where a finding stands for more than one.
pub(crate) fn listed(findings: &[&Finding]) -> String {
    let places = all_places(findings.iter().copied());
    match places > findings.len() {
        true => {
            format!("{} listed, {} with those only counted", findings.len(), counted(places, "finding"))
        }
        false => findings.len().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::findings;
    use crate::sample;

    fn sizes(findings: &[&Finding]) -> Vec<usize> {
        causes(findings).iter().map(|cause| cause.places().count()).collect()
    }

    #[test]
    fn findings_that_differ_in_place_alone_have_one_cause() {
        let sample = sample::large(300, 3000);
        let all = findings(&sample.report(false));
        assert_eq!(sizes(&all), [75, 2925]);
    }

    #[test]
    fn a_heading_tells_listed_findings_from_counted_ones() {
        let sample = sample::fail();
        let all = findings(&sample.report(false));
        let first = all[0].clone();
        assert_eq!(listed(&[&first]), "1");
        let evidence = [(qa_core::findings::UNLISTED.to_owned(), 1_200.into())].into();
        let many = Finding { evidence, ..first.clone() };
        assert_eq!(listed(&[&first, &many]), "2 listed, 1,201 findings with those only counted");
    }

    #[test]
    fn no_finding_is_lost_and_other_words_are_another_cause() {
        let sample = sample::fail();
        let all = findings(&sample.report(false));
        assert_eq!(sizes(&all), vec![1; all.len()]);
        let first = all[0].clone();
        let same = Finding { start_line: first.start_line + 1, ..first.clone() };
        let others = [
            Finding { summary: "other".into(), ..first.clone() },
            Finding { fix: "other".into(), ..first.clone() },
            Finding { severity: Severity::Low, ..first.clone() },
            Finding { blocking: false, ..first.clone() },
            Finding { codes: vec![Code::EvidenceUnverified], ..first.clone() },
            Finding { evidence: [("missing".to_owned(), "total".into())].into(), ..first.clone() },
        ];
        let list: Vec<&Finding> = std::iter::once(&first).chain(&others).chain([&same]).collect();
        assert_eq!(sizes(&list), [2, 1, 1, 1, 1, 1, 1]);
    }
}
