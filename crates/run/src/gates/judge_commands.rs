//! What the commands of gates come to, from their record alone.

use super::calls;
use super::{Evidence, GateOutcome, Origin, code_of};
use crate::commands::Stop;
use qa_contracts::codes::Code;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{
    EmptyChange, ExecutionAudit, ExecutionCommandResult, GateName, RecordedCommand, RecordedExecution, Side,
};
use qa_core::escape::harmless;
use qa_core::permissions::Permission;
use qa_core::policy::POLICY_PATH;
use qa_gates::contract::{CommandOutput, Output, Places, ReportError, Source};
use qa_gates::judge::{Judged, judge_attempts};
use qa_gates::selection::{SelectedCommand, Selection};

impl GateOutcome {
    /// What the tools say that the gate runs itself.
    pub(super) fn judge_gate_commands(
        &mut self,
        gate: GateName,
        plan_ordinal: u64,
        evidence: &Evidence<'_>,
    ) -> Vec<Judged> {
        let Some(settings) = evidence.policy.gates.get(&gate).filter(|settings| !settings.run.is_empty())
        else {
            return Vec::new();
        };
        let execution = evidence.execution;
        let calls = calls::selected_commands(gate, evidence.policy, evidence.change_set, execution);
        for (tool, directory) in &calls.lost {
            let place = if directory.is_empty() { "the root" } else { directory.as_str() };
            self.fail(tool, Code::GateNothingRan, &format!("the base uses it in {place}, and head does not"));
        }
        if calls.commands.is_empty() {
            if calls.lost.is_empty() {
                self.untouched(&settings.run.join(", "), settings.untouched);
            }
            return Vec::new();
        }
        let denied = match calls::permission(gate, evidence.policy, &calls) {
            Permission::Granted => execution.denied.clone(),
            Permission::Denied(reason) => Some(reason),
            Permission::Violation(reason) => {
                self.fail(gate.as_str(), Code::ExecutionPolicyViolation, &harmless(&reason));
                return Vec::new();
            }
        };
        if let Some(reason) = denied {
            self.fail(gate.as_str(), Code::ExecutionDenied, &harmless(&reason));
            return Vec::new();
        }
        let all = self.judge_selection(gate, &calls, evidence);
        self.audit = audit(gate, plan_ordinal, &calls, evidence);
        let durations = of(gate, None, execution).map(|command| command.duration_ms);
        self.duration_ms = Some(durations.sum());
        all
    }

    fn untouched(&mut self, tools: &str, untouched: EmptyChange) {
        let problem = "no file of the change belongs to a project that uses it";
        match untouched {
            EmptyChange::CouldNotComplete => self.fail(tools, Code::GateNothingRan, problem),
            EmptyChange::Pass => self.summary.push(format!("{tools}: {problem}")),
        }
    }

    fn judge_selection(&mut self, gate: GateName, calls: &Selection, evidence: &Evidence<'_>) -> Vec<Judged> {
        let execution = evidence.execution;
        let mut all = Vec::new();
        let mut head = None;
        for (ordinal, wanted) in calls.commands.iter().enumerate() {
            let attempts: Vec<&RecordedCommand> = of(gate, Some(ordinal as u64), execution).collect();
            let origin = origin(wanted, execution);
            match wanted.side {
                Side::Head => {
                    self.digests.extend(attempts.iter().map(|it| Some(it.stdout.normalized_sha256.clone())));
                    let judged = judged_of(wanted, &attempts);
                    head = None;
                    match judged {
                        Ok(judged) => {
                            let may_be_excused = self.take(gate, &origin, &judged);
                            head = Some(may_be_excused && judged.report.totals.has_faults());
                            all.push(judged);
                        }
                        Err((code, problem)) => self.fail(origin.tool, code, &problem),
                    }
                }
                // Only asked for when there is something that it could excuse.
                Side::Base if head == Some(true) => match judged_of(wanted, &attempts) {
                    Ok(judged) => self.excuse(gate, &origin, &judged.report, evidence.change_set),
                    Err((code, problem)) => self.without_base(code, &problem),
                },
                Side::Base => {}
            }
        }
        all
    }
}

/// The recorded attempts of a gate's command, or of all of them.
fn of(
    gate: GateName,
    ordinal: Option<u64>,
    execution: &RecordedExecution,
) -> impl Iterator<Item = &RecordedCommand> {
    execution.commands.iter().filter(move |command| {
        command.gate == gate && ordinal.is_none_or(|ordinal| command.ordinal == ordinal)
    })
}

/// Whether another attempt could end better: tests failed, and nothing else did.
pub(super) fn needs_another(wanted: &SelectedCommand, attempts: &[RecordedCommand]) -> bool {
    judged(wanted, attempts).is_ok_and(|judged| {
        let totals = &judged.report.totals;
        !judged.passed && totals.errors == 0 && totals.failed + totals.errored > 0
    })
}

/// What the attempts at a command come to.
pub(super) fn judged(
    wanted: &SelectedCommand,
    attempts: &[RecordedCommand],
) -> Result<Judged, (Code, String)> {
    judged_of(wanted, &attempts.iter().collect::<Vec<_>>())
}

fn judged_of(wanted: &SelectedCommand, attempts: &[&RecordedCommand]) -> Result<Judged, (Code, String)> {
    if attempts.is_empty() || !(1..).zip(attempts).all(|(number, attempt)| attempt.attempt == number) {
        let problem = "what became of its command is not in the recording";
        return Err((Code::ExecutionAuditUnavailable, problem.to_owned()));
    }
    for attempt in attempts {
        if let Some(code) = attempt.code {
            return Err((code, harmless(attempt.problem.as_deref().unwrap_or(code.hint()))));
        }
        match attempt.stopped.as_deref() {
            None => {}
            Some(stop) if stop == Stop::TimedOut.as_str() => {
                return Err((Code::ExecutionTimeout, "it was stopped at its deadline".to_owned()));
            }
            Some(stop) => {
                let problem = format!("it was stopped, since it was over its limit of {}", harmless(stop));
                return Err((Code::ExecutionLimitExceeded, problem));
            }
        }
    }
    let template = &wanted.template;
    let places = Places { roots: &[], directory: &template.directory, module: &template.module };
    let outputs: Vec<Output<'_>> =
        attempts.iter().map(|attempt| Output { source: Source::Command(left(attempt)), places }).collect();
    judge_attempts(wanted.tool, &outputs).map_err(|error| {
        let ended_badly = matches!(error, ReportError::Signal | ReportError::Broken { .. });
        let code = if ended_badly { Code::ExecutionExitNonzero } else { code_of(&error) };
        (code, harmless(&error.to_string()))
    })
}

fn left(attempt: &RecordedCommand) -> CommandOutput<'_> {
    let report = attempt.report.as_ref();
    CommandOutput {
        stdout: attempt.stdout.text.as_bytes(),
        stderr: attempt.stderr.text.as_bytes(),
        report_file: report.map(|report| report.text.as_bytes()),
        exit: attempt.exit_code,
        capped: attempt.stdout.capped || attempt.stderr.capped || report.is_some_and(|report| report.capped),
    }
}

/// Where the tool's findings point that name no file: the manifest of the project it ran in.
fn origin(wanted: &SelectedCommand, execution: &RecordedExecution) -> Origin {
    let directory = &wanted.template.directory;
    let files = match wanted.side {
        Side::Head => &execution.head_files,
        Side::Base => &execution.base_files,
    };
    let manifest = files.iter().find(|file| qa_gates::selection::directory_of(&file.path) == directory);
    let policy = || RepoPath::from_bytes(POLICY_PATH.as_bytes()).expect("a plain path");
    Origin {
        tool: wanted.tool.spec().id,
        from: if directory.is_empty() { "the root".to_owned() } else { directory.clone() },
        file: manifest.map_or_else(policy, |file| file.path.clone()),
    }
}

/// Everything the gate executed (S003-89), and what stood around it.
fn audit(
    gate: GateName,
    plan_ordinal: u64,
    calls: &Selection,
    evidence: &Evidence<'_>,
) -> Option<ExecutionAudit> {
    let result = |command: &RecordedCommand| {
        let wanted = calls.commands.get(usize::try_from(command.ordinal).ok()?)?;
        Some(ExecutionCommandResult {
            ordinal: command.ordinal,
            exit_code: command.exit_code,
            timed_out: command.stopped.as_deref() == Some(Stop::TimedOut.as_str()),
            stdout_sha256: command.stdout.sha256.clone(),
            stderr_sha256: command.stderr.sha256.clone(),
            attempt: command.attempt,
            command: wanted.template.argv.clone(),
            tool_version: command.tool_version.clone(),
            stdout_normalized_sha256: command.stdout.normalized_sha256.clone(),
            stderr_normalized_sha256: command.stderr.normalized_sha256.clone(),
            capped: left(command).capped,
        })
    };
    Some(ExecutionAudit {
        schema_version: Default::default(),
        permission_profile_id: evidence.policy.execution.profile,
        worktree_path: Some(worktree_path(evidence.key, plan_ordinal)),
        commands: of(gate, None, evidence.execution).filter_map(result).collect(),
        layers: evidence.execution.layers.clone()?,
    })
}

/// Where a plan's commands run, by name (S003-104, C-40): the directory itself is elsewhere, and gone.
fn worktree_path(key: &ExecutionKey, plan_ordinal: u64) -> String {
    format!(".worktrees/qa-skill/{key}/{plan_ordinal}/")
}
