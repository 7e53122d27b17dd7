//! Reports about the base, from a stored run of that commit.

use std::collections::BTreeMap;

use qa_contracts::v1::{
    ChangeSet, GateName, PolicyReport, RecordedBaseline, RecordedGates, RecordedReport, Side,
};
use qa_core::policy::GatePolicy;

/// Reports that the gates of a stored run read about its head.
#[derive(Debug, Clone)]
pub struct Baseline {
    pub identity: RecordedBaseline,
    /// Gates of the policy that the run was judged by.
    pub gates: BTreeMap<GateName, GatePolicy>,
    pub recorded: RecordedGates,
}

impl Baseline {
    /// Returns whether the run is about the base of a change.
    pub fn fits(&self, change_set: &ChangeSet) -> bool {
        is_about_base(&self.identity, change_set)
    }

    /// Returns a report of the run as one about the base, if the run read it as the policy in force does.
    pub(super) fn report(&self, gate: GateName, declared: &PolicyReport) -> Option<RecordedReport> {
        self.gates.get(&gate)?.reports.iter().find(|own| is_read_alike(own, declared))?;
        let report = super::find_report(&self.recorded.reports, gate, &declared.path, Side::Head)?;
        (!report.files.is_empty()).then(|| RecordedReport {
            side: Side::Base,
            pictures: Vec::new(),
            ..report.clone()
        })
    }
}

/// Returns whether a run is about the base of a change. A merge base is not enough: its commit is any that the author of a
/// change starts from, and what its reports say may have been mended on the base since.
fn is_about_base(run: &RecordedBaseline, change_set: &ChangeSet) -> bool {
    run.commit == change_set.base_sha
}

/// Returns whether two policies find the same in a report. What a tool looked at, its name and the need of a record change no
/// finding.
fn is_read_alike(left: &PolicyReport, right: &PolicyReport) -> bool {
    left.path == right.path
        && left.tool == right.tool
        && left.format == right.format
        && left.directory == right.directory
        && left.module == right.module
}

/// Returns whether a baseline has a report of the base, although the policy names none.
pub(super) fn has_report(
    recorded: &RecordedGates,
    gate: GateName,
    path: &str,
    change_set: &ChangeSet,
) -> bool {
    recorded.baseline.as_ref().is_some_and(|run| is_about_base(run, change_set))
        && super::find_report(&recorded.reports, gate, path, Side::Base).is_some()
}
