//! Coverage on plain values: when a cell is full, and the code of one that is not.

use serde_json::json;

use super::*;

const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Case with one file of two hunks, and one plan for it.
struct Case {
    planned: bool,
    omitted: bool,
    inspected: Option<u64>,
    status: &'static str,
    planning_codes: &'static [&'static str],
    error_codes: &'static [&'static str],
    file_codes: &'static [&'static str],
}

const WHOLE: Case = Case {
    planned: true,
    omitted: false,
    inspected: Some(2),
    status: "completed",
    planning_codes: &[],
    error_codes: &[],
    file_codes: &[],
};

impl Case {
    fn coverage(&self) -> Coverage {
        let id = "a".repeat(40);
        let hunk = |ordinal: u64| {
            json!({
                "ordinal": ordinal, "oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "section": ""
            })
        };
        let change_set: ChangeSet = serde_json::from_value(json!({
            "schemaVersion": "change-set.v1", "baseSha": id, "mergeBaseSha": id, "otherMergeBases": [], "landing": "change", "landingTree": null, "headSha": id, "baseTime": 0,
            "renames": {"exact": 0, "inexact": 0, "notCompared": 0},
            "files": [{
                "path": "a.py", "oldPath": null, "kind": "deleted", "oldMode": "100644", "newMode": null,
                "oldBlob": id, "newBlob": null, "class": "source", "scope": "product", "scopeReason": "name", "language": "python",
                "text": true, "hunks": [hunk(0), hunk(1)], "codes": self.file_codes
            }]
        }))
        .unwrap();
        let files = |present: bool| if present { json!(["a.py"]) } else { json!([]) };
        let plan: LensPlan = serde_json::from_value(json!({
            "schemaVersion": "lens-plan.v1", "planOrdinal": 7, "lensId": "a", "subLensId": null,
            "lensVersion": "1", "lensClass": "security", "required": true, "blockingPolicy": "rule_defined",
            "providerBindingId": "builtin", "permissionProfileId": "read_only", "scopeDigest": ZEROS,
            "changedFiles": files(self.planned), "fullContextFiles": [], "omittedFiles": files(self.omitted),
            "executionCommands": [], "maxInputTokens": 0, "maxOutputTokens": 0, "maxCostUsd": null,
            "overflowPolicy": "stop", "omittedHunks": [],
            "planningCodes": self.planning_codes
        }))
        .unwrap();
        let result: LensResult = serde_json::from_value(json!({
            "schemaVersion": "lens-result.v1", "planOrdinal": 7, "lensId": "a", "subLensId": null,
            "lensVersion": "1", "status": self.status, "degraded": false, "findings": [],
            "evidenceSummary": [], "usage": qa_contracts::v1::UsageMetrics::NONE,
            "errorCodes": self.error_codes, "warningCodes": [], "executionAudit": null,
            "adapterResponseHash": ZEROS
        }))
        .unwrap();
        let inspected = vec![self.inspected];
        coverage(
            &change_set,
            &[InspectedPlan { plan: &plan, result: &result, inspected: &inspected }],
            &GateLooks::new(),
        )
    }

    #[track_caller]
    fn gives(&self, status: CoverageStatus, hunks: u64, code: Option<Code>) {
        let coverage = self.coverage();
        let cell = CoverageCell { plan_ordinal: 7, status, inspected_hunks: hunks, code };
        assert_eq!(coverage.rows[0].cells, [cell]);
        let full = u64::from(status == CoverageStatus::Full);
        assert_eq!((coverage.full_cells, coverage.incomplete_cells), (full, 1 - full));
    }
}

#[test]
fn a_cell_is_full_only_where_every_hunk_was_seen_by_a_plan_that_left_nothing_out() {
    WHOLE.gives(CoverageStatus::Full, 2, None);
    Case { status: "degraded", ..WHOLE }.gives(CoverageStatus::Full, 2, None);

    let internal = Some(Code::InternalError);
    Case { inspected: Some(1), ..WHOLE }.gives(CoverageStatus::Partial, 1, internal);
    Case { omitted: true, ..WHOLE }.gives(CoverageStatus::Partial, 2, internal);
    Case { planned: false, omitted: true, inspected: None, ..WHOLE }.gives(
        CoverageStatus::Omitted,
        0,
        internal,
    );
    Case { inspected: None, ..WHOLE }.gives(CoverageStatus::Omitted, 0, internal);
    Case { status: "failed", ..WHOLE }.gives(CoverageStatus::Omitted, 0, internal);
    Case { file_codes: &["BLOB_TOO_LARGE"], ..WHOLE }.gives(CoverageStatus::Omitted, 2, internal);
}

#[test]
fn a_plan_without_business_with_a_file_has_no_cell_there() {
    let coverage = Case { planned: false, ..WHOLE }.coverage();
    assert_eq!((coverage.full_cells, coverage.incomplete_cells), (0, 0));
    assert_eq!(coverage.rows[0].cells, []);
    assert_eq!(coverage.rows[0].hunks, 2);
    // A deleted file is known by its base.
    assert_eq!(coverage.rows[0].blob.as_ref().map(ToString::to_string), Some("a".repeat(40)));
}

#[test]
fn the_code_is_the_plans_where_it_left_the_file_out_and_else_the_results() {
    let both = Case {
        inspected: Some(1),
        planning_codes: &["INTERNAL_ERROR", "DIFF_TOO_LARGE"],
        error_codes: &["LENS_PANICKED"],
        ..WHOLE
    };
    both.gives(CoverageStatus::Partial, 1, Some(Code::LensPanicked));
    let codes: [(&[&str], Code); 3] = [
        (&["DIFF_TOO_LARGE"], Code::DiffTooLarge),
        (&["CONTEXT_BOUND_EXCEEDED"], Code::ContextBoundExceeded),
        (&["BLOB_TOO_LARGE"], Code::BlobTooLarge),
    ];
    for (planning_codes, code) in codes {
        let omitted = Case { omitted: true, planning_codes, error_codes: &["LENS_PANICKED"], ..WHOLE };
        omitted.gives(CoverageStatus::Partial, 2, Some(code));
    }
    let other =
        Case { omitted: true, planning_codes: &["INTERNAL_ERROR"], error_codes: &["LENS_PANICKED"], ..WHOLE };
    other.gives(CoverageStatus::Partial, 2, Some(Code::LensPanicked));
}
