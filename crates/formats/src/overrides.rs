//! Exceptions that a pass owes its verdict to: waived findings, and lenses that are off.

use std::collections::BTreeSet;

use crate::common::counted;
use crate::contract::Report;
use qa_contracts::v1::Conclusion;
use qa_core::escape::visible_cut;
use qa_core::findings::all_places;
use qa_core::gates;
use qa_core::policy::reviews::is_review;

/// Lens that is on only where the policy names a rubric.
const CONVENTIONS: &str = "consistency";
/// Maximum number of lenses that are named in a headline.
const MAX_NAMED_LENSES: usize = 3;

/// Returns a sentence about a pass with waived findings or without all lenses, with a blank before it; empty for others.
pub(crate) fn overrides(report: &Report<'_>) -> String {
    if report.result.final_verdict.conclusion != Conclusion::Pass {
        return String::new();
    }
    let all = report.result.lens_results.iter().flat_map(|result| &result.findings);
    let waived = all_places(all.filter(|finding| finding.waiver.is_some() && !finding.blocking));
    let off = lenses_off(report);
    let mut parts = Vec::new();
    if waived > 0 {
        parts.push(counted(waived, "waived finding"));
    }
    match off.len() {
        0 => {}
        1 => parts.push(format!("1 lens off ({})", visible_cut(off[0], 100))),
        count if count <= MAX_NAMED_LENSES => parts.push(format!("{count} lenses off ({})", off.join(", "))),
        count => parts.push(format!("{count} lenses off")),
    }
    if parts.is_empty() { String::new() } else { format!(" Passed with {}.", parts.join(" and ")) }
}

/// Returns the lenses that are on unless the policy or the command turns them off, and were not planned. Gates, reviews
/// and conventions are on only where the policy has something for them.
fn lenses_off<'a>(report: &Report<'a>) -> Vec<&'a str> {
    let planned: BTreeSet<&str> = report.result.lens_plans.iter().map(|plan| plan.lens_id.as_str()).collect();
    let registered = report.registry.lenses.iter().map(|lens| lens.lens_id.as_str());
    registered
        .filter(|id| gates::find(id).is_none() && !is_review(id) && *id != CONVENTIONS)
        .filter(|id| !planned.contains(id))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::common::reason;
    use crate::sample;
    use qa_contracts::v1::{Conclusion, Finding};

    #[test]
    fn a_pass_counts_what_is_waived_and_the_lenses_that_are_off() {
        assert_eq!(reason(&sample::pass().report(false)), "No findings.");
        let mut sample = sample::pass();
        sample.result.lens_plans.retain(|plan| plan.lens_id == "secret-token");
        let off = "No findings. Passed with 1 lens off (debug-leftover).";
        assert_eq!(reason(&sample.report(false)), off);
        let waived = sample::fail().result.lens_results.into_iter().flat_map(|result| result.findings);
        let waived: Vec<Finding> = waived.filter(|finding| finding.waiver.is_some()).collect();
        assert_eq!(waived.len(), 1);
        sample.result.lens_results[0].findings = waived;
        let both = "Passed with 1 waived finding and 1 lens off (debug-leftover).";
        assert!(reason(&sample.report(false)).ends_with(both), "{}", reason(&sample.report(false)));
        sample.result.final_verdict.conclusion = Conclusion::Fail;
        assert!(!reason(&sample.report(false)).contains("Passed"));
    }
}
