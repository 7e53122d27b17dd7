//! Makes the coverage manifest from the planned files and the hunks that the scheduler gave to lenses.

use std::collections::BTreeMap;

use crate::plan::is_unread;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeSet, Coverage, CoverageCell, CoverageRow, CoverageStatus, GateCell, GateLook, GateName, LensPlan,
    LensResult, LensStatus,
};

/// Number of hunks of each changed file that a plan's lens was given, by position in the change set; `None` where the
/// lens was not called for the file.
pub type InspectedHunks = Vec<Option<u64>>;

/// Looks of each gate at changed files.
pub type GateLooks = BTreeMap<GateName, BTreeMap<RepoPath, GateLook>>;

/// A plan with its result and the numbers of hunks that its lens was given.
pub struct InspectedPlan<'a> {
    pub plan: &'a LensPlan,
    pub result: &'a LensResult,
    pub inspected: &'a InspectedHunks,
}

/// Returns one row per changed file, with one cell per plan that includes or omits it.
pub fn coverage(change_set: &ChangeSet, plans: &[InspectedPlan<'_>], gates: &GateLooks) -> Coverage {
    let mut rows: Vec<CoverageRow> = Vec::with_capacity(change_set.files.len());
    for (index, file) in change_set.files.iter().enumerate() {
        let cells = plans
            .iter()
            .filter_map(|InspectedPlan { plan, result, inspected }| {
                let planned = plan.changed_files.binary_search(&file.path).is_ok();
                let omitted = plan.omitted_files.binary_search(&file.path).is_ok();
                if !planned && !omitted {
                    return None;
                }
                let usable = result.status == LensStatus::Completed || result.status == LensStatus::Degraded;
                let seen = inspected[index].filter(|_| usable);
                let hunks = file.hunks.len() as u64;
                let status = match seen {
                    None => CoverageStatus::Omitted,
                    Some(_) if is_unread(file) => CoverageStatus::Omitted,
                    Some(count) if count == hunks && !omitted => CoverageStatus::Full,
                    Some(_) => CoverageStatus::Partial,
                };
                let code = match status {
                    CoverageStatus::Full => None,
                    CoverageStatus::Partial | CoverageStatus::Omitted => {
                        Some(omission_code(plan, result, omitted))
                    }
                };
                Some(CoverageCell {
                    plan_ordinal: plan.plan_ordinal,
                    status,
                    inspected_hunks: seen.unwrap_or(0),
                    code,
                })
            })
            .collect();
        rows.push(CoverageRow {
            file: file.path.clone(),
            blob: file.new_blob.clone().or_else(|| file.old_blob.clone()),
            hunks: file.hunks.len() as u64,
            cells,
            gates: gates
                .iter()
                .filter_map(|(gate, files)| Some(GateCell { gate: *gate, look: *files.get(&file.path)? }))
                .collect(),
        });
    }
    let (mut full_cells, mut incomplete_cells) = (0, 0);
    for cell in rows.iter().flat_map(|row| &row.cells) {
        match cell.status {
            CoverageStatus::Full => full_cells += 1,
            CoverageStatus::Partial | CoverageStatus::Omitted => incomplete_cells += 1,
        }
    }
    Coverage { schema_version: Default::default(), full_cells, incomplete_cells, rows }
}

/// Returns the code that explains an incomplete cell.
fn omission_code(plan: &LensPlan, result: &LensResult, omitted: bool) -> Code {
    let from_plan = plan.planning_codes.iter().copied().find(|code| {
        matches!(
            code,
            Code::DiffTooLarge | Code::ContextBoundExceeded | Code::BlobTooLarge | Code::EncodingUnread
        )
    });
    let from_plan = if omitted { from_plan } else { None };
    from_plan.or_else(|| result.error_codes.first().copied()).unwrap_or(Code::InternalError)
}

/// Returns the line of a result that names a file which the lens could not parse.
pub fn unparsed_line(file: &RepoPath) -> String {
    format!("could not parse {file}")
}

/// Returns whether a result names a file as one that the lens could not parse.
pub fn is_unparsed(result: &LensResult, file: &RepoPath) -> bool {
    let codes = [&result.error_codes, &result.warning_codes];
    codes.iter().any(|codes| codes.contains(&Code::SourceUnread))
        && result.evidence_summary.contains(&unparsed_line(file))
}

#[cfg(test)]
#[path = "coverage_tests.rs"]
mod tests;
