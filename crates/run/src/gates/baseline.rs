//! Reports and results of commands about the base, from a stored run of that commit.

use super::GateError;
use super::calls;
use super::judge_commands::{commands_of, has_passed};
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeSet, ExecutionLayers, GateName, PolicyReport, RecordedBaseline, RecordedCommand, RecordedExecution,
    RecordedGates, RecordedReport, Side,
};
use qa_core::policy::Policy;
use qa_gates::selection::SelectedCommand;

/// A stored run: what its gates read about its head, and what their commands said there.
#[derive(Debug, Clone)]
pub struct Baseline {
    pub identity: RecordedBaseline,
    /// Policy that the run was judged by.
    pub policy: Policy,
    pub change_set: ChangeSet,
    pub recorded: RecordedGates,
    pub execution: RecordedExecution,
}

impl Baseline {
    /// Returns whether the run is about the base of a change.
    pub fn fits(&self, change_set: &ChangeSet) -> bool {
        is_about_base(&self.identity, change_set)
    }

    /// Returns a report of the run as one about the base, if the run read it as the policy in force does.
    pub(super) fn report(&self, gate: GateName, declared: &PolicyReport) -> Option<RecordedReport> {
        self.policy.gates.get(&gate)?.reports.iter().find(|own| is_read_alike(own, declared))?;
        let report = super::find_report(&self.recorded.reports, gate, &declared.path, Side::Head)?;
        (!report.files.is_empty()).then(|| RecordedReport {
            side: Side::Base,
            pictures: Vec::new(),
            ..report.clone()
        })
    }

    /// Returns the attempts of the run at a command of the base, if it ran that command on that commit by the same settings,
    /// isolation and version of the tool, and found nothing. A finding there would excuse one of head, and nothing compares
    /// the machines, so then the command runs on the base again.
    pub(super) fn attempts(&self, wanted: &WantedCommand<'_>) -> Option<Vec<RecordedCommand>> {
        let WantedCommand { gate, ordinal, command, policy, change_set, layers, tool_version } = *wanted;
        let is_same_place = self.identity.commit == *change_set.measured_from()
            && self.policy.execution == policy.execution
            && self.execution.layers.as_ref() == layers;
        if !is_same_place || tool_version.is_none() {
            return None;
        }
        let selection = calls::selected_commands(gate, &self.policy, &self.change_set, &self.execution);
        let position = selection.commands.iter().position(|own| is_run_alike(own, command))? as u64;
        let mut attempts: Vec<RecordedCommand> =
            commands_of(gate, &self.execution).filter(|own| own.ordinal == position).cloned().collect();
        // A second run that holds a pass against itself is one of head alone.
        attempts.truncate(1);
        for attempt in &mut attempts {
            attempt.ordinal = ordinal;
            attempt.pictures.clear();
            attempt.baseline = Some(self.identity.clone());
        }
        let is_same_tool = attempts.iter().all(|attempt| attempt.tool_version.as_ref() == tool_version);
        let has_passed = attempts.first().is_some_and(|first| has_passed(gate, command, first));
        (is_same_tool && has_passed).then_some(attempts)
    }
}

/// Command of the base whose result is wanted.
pub(super) struct WantedCommand<'a> {
    pub(super) gate: GateName,
    pub(super) ordinal: u64,
    pub(super) command: &'a SelectedCommand,
    pub(super) policy: &'a Policy,
    pub(super) change_set: &'a ChangeSet,
    pub(super) layers: Option<&'a ExecutionLayers>,
    /// Version that the tool printed at head.
    pub(super) tool_version: Option<&'a String>,
}

/// Returns whether the command of head of one run is the command of the base of another.
fn is_run_alike(head: &SelectedCommand, base: &SelectedCommand) -> bool {
    head.side == Side::Head
        && base.side == Side::Base
        && head.tool.spec().id == base.tool.spec().id
        && head.name == base.name
        && head.template == base.template
}

/// Refuses attempts of a stored run where they cannot be: at head, of another commit than the base that the change is measured
/// from, and with a result that would excuse something.
pub(super) fn check_attempts(
    gate: GateName,
    command: &SelectedCommand,
    attempts: &[&RecordedCommand],
    change_set: &ChangeSet,
) -> Result<(), GateError> {
    for attempt in attempts {
        let Some(run) = &attempt.baseline else { continue };
        let of_commit = run.commit.short();
        let problem = if command.side == Side::Head {
            format!("its result is that of a stored run, of {of_commit}")
        } else if !is_about_base(run, change_set) || run.commit != *change_set.measured_from() {
            format!("its result is that of a stored run of another commit, {of_commit}")
        } else if !has_passed(gate, command, attempt) {
            format!("its result in the stored run of {of_commit} is no pass")
        } else {
            continue;
        };
        return Err(GateError::new(Code::ExecutionAuditUnavailable, problem));
    }
    Ok(())
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

/// Describes what a stored run stands for, for the summary of a gate.
pub(super) fn describe_comparison(what: &str, run: &RecordedBaseline) -> String {
    format!("{what} is compared with that of {}, by its stored run", run.commit.short())
}
