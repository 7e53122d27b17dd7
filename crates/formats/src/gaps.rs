//! Gaps of a run, from coverage, plans and results, so that every surface lists the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{counted, plan_name};
use crate::contract::Report;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{CoverageStatus, LensResult, LensStatus, OmissionReason};
use qa_core::coverage::is_unparsed;

/// A file that plans did not look at, wholly or in part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileGap<'a> {
    /// File that was not looked at whole.
    pub(crate) file: &'a RepoPath,
    /// The plans, by name.
    pub(crate) plans: Vec<String>,
    /// Inspected part: `nothing`, `2 of 5 hunks`.
    pub(crate) looked_at: String,
    /// Reasons in words; empty if only the code explains the gap.
    pub(crate) reasons: Vec<&'static str>,
    /// Code of the omission; null where a reason says it.
    pub(crate) code: Option<Code>,
}

/// Plans without a whole result that have the same status and codes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlanGap {
    /// Names of the plans.
    pub(crate) plans: Vec<String>,
    /// Status of the plans.
    pub(crate) status: &'static str,
    /// True if PASS requires them.
    pub(crate) required: bool,
    /// Error codes.
    pub(crate) codes: Vec<Code>,
}

impl PlanGap {
    /// Returns the plans as the subject of a sentence, each name as `show` writes it.
    pub(crate) fn subject(&self, show: fn(&str) -> String) -> String {
        lenses(self.required, self.plans.iter().map(String::as_str), show)
    }
}

/// Returns lenses as the subject of a sentence.
fn lenses<'a>(is_required: bool, names: impl Iterator<Item = &'a str>, show: fn(&str) -> String) -> String {
    let names: Vec<String> = names.map(show).collect();
    let noun = if names.len() == 1 { "lens" } else { "lenses" };
    format!("{}{noun} {}", if is_required { "required " } else { "" }, names.join(", "))
}

/// Everything that was not looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gaps<'a> {
    /// Required lenses without any plan or result.
    pub(crate) missing: Vec<&'a str>,
    /// Plans, by ordinal.
    pub(crate) plans: Vec<PlanGap>,
    /// Files, by path.
    pub(crate) files: Vec<FileGap<'a>>,
}

impl Gaps<'_> {
    /// Returns a sentence about the required lenses without any plan or result; none without such.
    pub(crate) fn missing_sentence(&self, show: fn(&str) -> String) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let verb = if self.missing.len() == 1 { "has" } else { "have" };
        Some(format!("{} {verb} no result", lenses(true, self.missing.iter().copied(), show)))
    }

    /// Returns whether the run has no gap.
    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.plans.is_empty() && self.files.is_empty()
    }
}

/// Puts the gaps together.
pub(crate) fn gaps<'a>(report: &Report<'a>) -> Gaps<'a> {
    let verdict = &report.result.final_verdict;
    Gaps {
        missing: verdict.missing_required_lens_ids.iter().map(String::as_str).collect(),
        plans: plan_gaps(report),
        files: file_gaps(report).into_iter().chain(unparsed_files(report)).collect(),
    }
}

/// Returns whether a lens had nothing to look at.
pub(crate) fn is_idle(result: &LensResult) -> bool {
    result.status == LensStatus::Skipped
        && result.error_codes.iter().all(|&code| code == Code::LensNotApplicable)
}

fn plan_gaps(report: &Report<'_>) -> Vec<PlanGap> {
    let plans: BTreeMap<u64, _> =
        report.result.lens_plans.iter().map(|plan| (plan.plan_ordinal, plan)).collect();
    let mut gaps: Vec<PlanGap> = Vec::new();
    for result in &report.result.lens_results {
        let plan = plans.get(&result.plan_ordinal);
        if result.status == LensStatus::Completed || is_idle(result) {
            continue;
        }
        let name = plan.map(|plan| plan_name(plan)).unwrap_or_else(|| result.lens_id.clone());
        let (status, required) = (result.status.as_str(), plan.is_some_and(|plan| plan.required));
        let alike = gaps
            .iter_mut()
            .find(|gap| (gap.status, gap.required, &gap.codes) == (status, required, &result.error_codes));
        match alike {
            Some(gap) => gap.plans.push(name),
            None => {
                gaps.push(PlanGap { plans: vec![name], status, required, codes: result.error_codes.clone() })
            }
        }
    }
    gaps
}

type Key<'a> = (&'a RepoPath, CoverageStatus, u64, u64, Option<Code>);

fn file_gaps<'a>(report: &Report<'a>) -> Vec<FileGap<'a>> {
    let plans = &report.result.lens_plans;
    let names: BTreeMap<u64, String> =
        plans.iter().map(|plan| (plan.plan_ordinal, plan_name(plan))).collect();
    let mut reasons: BTreeMap<&RepoPath, BTreeSet<&'static str>> = BTreeMap::new();
    let mut unplanned: BTreeMap<&RepoPath, BTreeSet<u64>> = BTreeMap::new();
    for plan in plans {
        for omitted in &plan.omitted_hunks {
            reasons.entry(&omitted.file).or_default().insert(omission(omitted.reason));
            unplanned.entry(&omitted.file).or_default().insert(plan.plan_ordinal);
        }
    }
    let mut grouped: BTreeMap<Key<'a>, BTreeSet<u64>> = BTreeMap::new();
    for row in &report.coverage.rows {
        for cell in row.cells.iter().filter(|cell| cell.status != CoverageStatus::Full) {
            let key = (&row.file, cell.status, cell.inspected_hunks, row.hunks, cell.code);
            grouped.entry(key).or_default().insert(cell.plan_ordinal);
            if let Some(rest) = unplanned.get_mut(&row.file) {
                rest.remove(&cell.plan_ordinal);
            }
        }
    }
    for (file, rest) in unplanned.into_iter().filter(|(_, rest)| !rest.is_empty()) {
        grouped.insert((file, CoverageStatus::Omitted, 0, 0, None), rest);
    }
    grouped
        .iter()
        .map(|(&(file, status, inspected, hunks, code), ordinals)| FileGap {
            file,
            plans: ordinals
                .iter()
                .map(|ordinal| names.get(ordinal).cloned().unwrap_or_else(|| format!("plan {ordinal}")))
                .collect(),
            looked_at: looked_at(status, inspected, hunks),
            reasons: reasons.get(file).map(|words| words.iter().copied().collect()).unwrap_or_default(),
            code,
        })
        .collect()
}

/// Returns the files that lenses could not parse.
fn unparsed_files<'a>(report: &Report<'a>) -> Vec<FileGap<'a>> {
    let results: Vec<(String, &LensResult)> =
        report.result.lens_plans.iter().map(plan_name).zip(&report.result.lens_results).collect();
    let mut gaps = Vec::new();
    for file in &report.change_set.files {
        let unparsed = results.iter().filter(|(_, result)| is_unparsed(result, &file.path));
        let plans: Vec<String> = unparsed.map(|(name, _)| name.clone()).collect();
        if !plans.is_empty() {
            gaps.push(FileGap {
                file: &file.path,
                plans,
                looked_at: "only what needs no parsing".to_owned(),
                reasons: vec!["it is over 1 MiB, or takes too long to parse"],
                code: Some(Code::SourceUnread),
            });
        }
    }
    gaps
}

fn looked_at(status: CoverageStatus, inspected: u64, hunks: u64) -> String {
    match status {
        CoverageStatus::Full => "everything".to_owned(),
        CoverageStatus::Partial => format!("{inspected} of {}", counted(hunks as usize, "hunk")),
        CoverageStatus::Omitted => "nothing".to_owned(),
    }
}

fn omission(reason: OmissionReason) -> &'static str {
    match reason {
        OmissionReason::HardFileLimit => "the change has more files than limits.max-files",
        OmissionReason::HardHunkLimit => "the change has more hunks than limits.max-hunks",
        OmissionReason::FileLimit => "the plan exceeds its limit of files",
        OmissionReason::HunkLimit => "the plan exceeds its limit of hunks",
        OmissionReason::LineLimit => "the plan exceeds its limit of changed lines",
        OmissionReason::BlobTooLarge => "the file is over limits.max-blob-bytes",
        OmissionReason::EncodingUnread => "its encoding may hide other code than its text shows",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_whole_run_has_no_gaps() {
        assert!(gaps(&sample::pass().report(false)).is_empty());
    }

    #[test]
    fn gaps_name_lens_file_reason_and_code() {
        let sample = sample::incomplete();
        let report = sample.report(false);
        let gaps = gaps(&report);
        let missing = gaps.missing_sentence(str::to_owned);
        assert_eq!(missing.as_deref(), Some("required lens merge-leftover has no result"));
        assert_eq!(
            gaps.plans,
            [PlanGap {
                plans: vec!["secret-token".into()],
                status: "failed",
                required: true,
                codes: vec![Code::BlobTooLarge, Code::ContextBoundExceeded]
            }]
        );
        let shown: Vec<String> = gaps
            .files
            .iter()
            .map(|gap| format!("{} {:?} {} {:?}", gap.file, gap.plans, gap.looked_at, gap.reasons))
            .filter(|line| line.starts_with("src/config.rs"))
            .collect();
        assert_eq!(
            shown,
            ["src/config.rs [\"secret-token\"] 1 of 2 hunks [\"the file is over limits.max-blob-bytes\"]"]
        );
    }

    #[test]
    fn a_file_that_a_lens_could_not_parse_is_named() {
        let mut sample = sample::pass();
        let path = sample.change_set.files[0].path.clone();
        sample.result.lens_results[0].warning_codes.push(Code::SourceUnread);
        sample.result.lens_results[0].evidence_summary.push(format!("could not parse {path}"));
        let report = sample.report(false);
        let gaps = gaps(&report);
        let [gap] = &gaps.files[..] else { panic!("{:?}", gaps.files) };
        assert_eq!((gap.file, gap.code), (&path, Some(Code::SourceUnread)));
        assert_eq!(gap.plans, [plan_name(&sample.result.lens_plans[0])]);
    }

    #[test]
    fn plans_that_lack_the_same_are_named_together() {
        let mut sample = sample::incomplete();
        let failed = sample.result.lens_results[0].clone();
        sample.result.lens_results.push(failed);
        sample.result.final_verdict.missing_required_lens_ids.push("other".to_owned());
        let report = sample.report(false);
        let gaps = gaps(&report);
        let subjects: Vec<String> = gaps.plans.iter().map(|gap| gap.subject(str::to_owned)).collect();
        assert_eq!(subjects, ["required lenses secret-token, secret-token"]);
        let missing = gaps.missing_sentence(str::to_owned);
        assert_eq!(missing.as_deref(), Some("required lenses merge-leftover, other have no result"));
    }

    #[test]
    fn an_omitted_hunk_counts_even_where_coverage_has_no_cell() {
        let mut sample = sample::incomplete();
        sample.coverage.rows.clear();
        let report = sample.report(false);
        let files: Vec<String> = gaps(&report).files.iter().map(|gap| gap.file.to_string()).collect();
        assert_eq!(files.len(), 2);
    }
}
