//! Gaps of a run, from coverage, plans and results, so that every surface lists the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{counted, plan_name};
use crate::contract::Report;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{CoverageStatus, LensResult, LensStatus, OmissionReason};

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

/// A plan without a whole result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlanGap {
    /// Name of the plan.
    pub(crate) plan: String,
    /// Status of the plan.
    pub(crate) status: &'static str,
    /// True if PASS requires the plan.
    pub(crate) required: bool,
    /// Error codes.
    pub(crate) codes: Vec<Code>,
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
        files: file_gaps(report),
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
    let mut gaps = Vec::new();
    for result in &report.result.lens_results {
        let plan = plans.get(&result.plan_ordinal);
        if result.status == LensStatus::Completed || is_idle(result) {
            continue;
        }
        gaps.push(PlanGap {
            plan: plan.map(|plan| plan_name(plan)).unwrap_or_else(|| result.lens_id.clone()),
            status: result.status.as_str(),
            required: plan.is_some_and(|plan| plan.required),
            codes: result.error_codes.clone(),
        });
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
        assert_eq!(gaps.missing, ["merge-leftover"]);
        assert_eq!(
            gaps.plans,
            [PlanGap {
                plan: "secret-token".into(),
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
    fn an_omitted_hunk_counts_even_where_coverage_has_no_cell() {
        let mut sample = sample::incomplete();
        sample.coverage.rows.clear();
        let report = sample.report(false);
        let files: Vec<String> = gaps(&report).files.iter().map(|gap| gap.file.to_string()).collect();
        assert_eq!(files.len(), 2);
    }
}
