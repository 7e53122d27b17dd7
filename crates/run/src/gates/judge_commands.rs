//! Judges the commands of gates from their record alone.

use super::baseline::{check_attempts, describe_comparison};
use super::calls;
use super::{Evidence, GateError, GateOutcome, GateReport, Origin, ReportScope, command_code};
use crate::commands::Stop;
use qa_contracts::codes::Code;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{
    EmptyChange, ExecutionAudit, ExecutionCommandResult, GateName, RecordedCommand, RecordedExecution,
    RecordedManifest, Side,
};
use qa_core::escape::harmless;
use qa_core::permissions::Permission;
use qa_core::policy::{POLICY_PATH, Policy};
use qa_gates::contract::{CommandOutput, CommandTemplate, Output, Places, ReportFile, Source, ToolSpec};
use qa_gates::judge::{Judged, judge_attempts};
use qa_gates::manifests::directory_of;
use qa_gates::selection::{SelectedCommand, Selection};
use qa_gates::sockets;

impl GateOutcome {
    /// Judges the tools that the gate runs itself.
    pub(super) fn judge_gate_commands(
        &mut self,
        gate: GateName,
        plan_ordinal: u64,
        evidence: &Evidence<'_>,
    ) -> Vec<GateReport> {
        let Some(settings) = evidence.policy.gates.get(&gate).filter(|settings| settings.has_commands())
        else {
            return Vec::new();
        };
        let execution = evidence.execution;
        let selection = calls::selected_commands(gate, evidence.policy, evidence.change_set, execution);
        for (tool, directory) in &selection.lost {
            let place = if directory.is_empty() { "the root" } else { directory.as_str() };
            self.fail(tool, Code::GateNothingRan, &format!("the base uses it in {place}, and head does not"));
        }
        if selection.commands.is_empty() {
            if selection.lost.is_empty() {
                self.judge_untouched(&settings.runs().join(", "), settings.untouched);
            }
            return Vec::new();
        }
        let denied = match calls::permission(gate, evidence.policy, &selection) {
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
        let all = self.judge_selection(gate, &selection, evidence);
        self.audit = audit(gate, plan_ordinal, &selection, evidence);
        let durations = executed_commands(gate, execution).map(|command| command.duration_ms);
        self.duration_ms = Some(durations.sum());
        all
    }

    /// Judges a gate whose tools are used by no project of the change.
    fn judge_untouched(&mut self, tools: &str, untouched: EmptyChange) {
        let problem = "the change touches no project of these tools and no file of these commands";
        match untouched {
            EmptyChange::CouldNotComplete => self.fail(tools, Code::GateNothingRan, problem),
            EmptyChange::Pass => self.summary.push(format!("{tools}: {problem}")),
        }
    }

    fn judge_selection(
        &mut self,
        gate: GateName,
        selection: &Selection,
        evidence: &Evidence<'_>,
    ) -> Vec<GateReport> {
        let execution = evidence.execution;
        let mut all = Vec::new();
        // Exit statuses of the last report of head, if the base may excuse its findings.
        let mut excusable = None;
        for (ordinal, command) in selection.commands.iter().enumerate() {
            let attempts: Vec<&RecordedCommand> =
                commands_of(gate, execution).filter(|each| each.ordinal == ordinal as u64).collect();
            let origin = command_origin(command, execution);
            match command.side {
                Side::Head => {
                    self.digests.extend(attempts.iter().map(|it| Some(it.stdout.normalized_sha256.clone())));
                    excusable = None;
                    let earlier = self.statements.len();
                    let judged = check_attempts(gate, command, &attempts, evidence.change_set)
                        .and_then(|()| self.judge_head_command(gate, command, &attempts, evidence));
                    let passed = judged.as_ref().is_ok_and(|judged| judged.passed);
                    match judged {
                        Ok(judged) => {
                            let may_be_excused = self.add_head_report(gate, &origin, &judged);
                            if may_be_excused && judged.report.totals.has_faults() {
                                excusable = Some(judged.statuses.clone().unwrap_or_default());
                            }
                            if let Some(broken) = &judged.broken {
                                self.fail(&origin.tool, command_code(broken), &harmless(&broken.to_string()));
                            }
                            let scope =
                                ReportScope::new(origin.spec, &command.template.directory, &command.covers);
                            all.push(GateReport { scope, judged });
                        }
                        Err(error) => self.fail(&origin.tool, error.code, &error.problem),
                    }
                    if !passed && !evidence.policy.execution.network() && has_refused_socket(&attempts) {
                        self.explain_refused_sockets(&origin.tool, earlier);
                    }
                }
                // The base matters only if head has findings that it may excuse.
                Side::Base => {
                    let Some(head_statuses) = &excusable else { continue };
                    let judged = check_attempts(gate, command, &attempts, evidence.change_set)
                        .and_then(|()| judge_command(gate, command, &attempts));
                    match judged {
                        Ok(base) => {
                            if let Some(run) = attempts.iter().find_map(|attempt| attempt.baseline.as_ref()) {
                                self.summary.push(describe_comparison(&origin.tool, run));
                            }
                            self.add_base_report(gate, &origin, head_statuses, &base, evidence.change_set);
                        }
                        Err(error) => self.warn_without_base(error),
                    }
                }
            }
        }
        all
    }
}

impl GateOutcome {
    /// Judges the attempts at a command of head, and holds a pass against its second run where the gate asks for one.
    fn judge_head_command(
        &mut self,
        gate: GateName,
        command: &SelectedCommand,
        attempts: &[&RecordedCommand],
        evidence: &Evidence<'_>,
    ) -> Result<Judged, GateError> {
        let judged = judge_command(gate, command, attempts)?;
        if !is_confirmed(gate, evidence.policy) {
            return Ok(judged);
        }
        match attempts {
            [_] if judged.passed => {
                let problem = "it passed, and its second run is not in the recording";
                Err(GateError::new(Code::ExecutionAuditUnavailable, problem))
            }
            [first, second] if has_passed(gate, command, first) && !has_passed(gate, command, second) => {
                self.warnings.insert(Code::GateFlaky);
                self.summary
                    .push(format!("{}: it passed, and failed when it was run once more", command.name));
                Ok(judged)
            }
            _ => Ok(judged),
        }
    }
}

/// Advice for tests that the sandbox refused a socket.
const NO_SOCKETS: &str = "The profile exec_sandboxed_network_off allows no sockets, not even to this machine: use the profile exec_sandboxed, or a test without one.";

impl GateOutcome {
    /// Names the profile as the likely cause of failures, in those that mention a refused call and in the summary.
    fn explain_refused_sockets(&mut self, tool: &str, earlier: usize) {
        for statement in &mut self.statements[earlier..] {
            let message = statement.detail.get("message").and_then(serde_json::Value::as_str);
            if [message.unwrap_or_default(), &statement.subject].into_iter().any(sockets::mentions_refusal) {
                NO_SOCKETS.clone_into(&mut statement.fix);
            }
        }
        self.summary.push(format!("{tool}: a socket was refused, it seems; {NO_SOCKETS}"));
    }
}

/// Returns whether the output or the report of an attempt shows a refused socket.
fn has_refused_socket(attempts: &[&RecordedCommand]) -> bool {
    attempts.iter().any(|attempt| {
        let reports = attempt.reports.iter().map(|report| &report.output);
        let outputs = [&attempt.stdout, &attempt.stderr].into_iter().chain(reports);
        outputs.into_iter().any(|output| sockets::suggests_refused_socket(&output.text))
    })
}

/// Returns the recorded attempts at all commands of a gate.
pub(super) fn commands_of(
    gate: GateName,
    execution: &RecordedExecution,
) -> impl Iterator<Item = &RecordedCommand> {
    execution.commands.iter().filter(move |command| command.gate == gate)
}

/// Returns the attempts that the run made itself.
fn executed_commands(
    gate: GateName,
    execution: &RecordedExecution,
) -> impl Iterator<Item = &RecordedCommand> {
    commands_of(gate, execution).filter(|command| command.baseline.is_none())
}

/// Returns whether another attempt may succeed: tests failed, and nothing else did.
pub(super) fn is_retryable(gate: GateName, command: &SelectedCommand, attempts: &[RecordedCommand]) -> bool {
    judge_recorded(gate, command, attempts).is_ok_and(|judged| {
        let totals = &judged.report.totals;
        !judged.passed && judged.broken.is_none() && totals.errors == 0 && totals.failed + totals.errored > 0
    })
}

/// Returns whether a pass of a gate's commands counts only after a second run.
pub(super) fn is_confirmed(gate: GateName, policy: &Policy) -> bool {
    policy.gates.get(&gate).is_some_and(|settings| settings.confirm)
}

/// Returns whether an attempt passed, judged as if it were the first and only one.
pub(super) fn has_passed(gate: GateName, command: &SelectedCommand, attempt: &RecordedCommand) -> bool {
    judge_single(gate, command, attempt).is_ok_and(|judged| judged.passed)
}

/// Judges an attempt as if it were the first and only one.
pub(super) fn judge_single(
    gate: GateName,
    command: &SelectedCommand,
    attempt: &RecordedCommand,
) -> Result<Judged, GateError> {
    judge_recorded(gate, command, &[RecordedCommand { attempt: 1, ..attempt.clone() }])
}

/// Judges the attempts at a command.
pub(super) fn judge_recorded(
    gate: GateName,
    command: &SelectedCommand,
    attempts: &[RecordedCommand],
) -> Result<Judged, GateError> {
    judge_command(gate, command, &attempts.iter().collect::<Vec<_>>())
}

fn judge_command(
    gate: GateName,
    command: &SelectedCommand,
    attempts: &[&RecordedCommand],
) -> Result<Judged, GateError> {
    if attempts.is_empty() || !(1..).zip(attempts).all(|(number, attempt)| attempt.attempt == number) {
        let problem = "the result of its command is not in the recording";
        return Err(GateError::new(Code::ExecutionAuditUnavailable, problem));
    }
    for attempt in attempts {
        if let Some(code) = attempt.code {
            let problem = harmless(attempt.problem.as_deref().unwrap_or(code.hint()));
            return Err(GateError::new(code, problem));
        }
        match attempt.stopped.as_deref() {
            None => {}
            Some(stop) if stop == Stop::TimedOut.as_str() => {
                return Err(GateError::new(Code::ExecutionTimeout, "it was stopped at its deadline"));
            }
            Some(stop) => {
                let problem = format!("it was stopped, since it was over its limit of {}", harmless(stop));
                return Err(GateError::new(Code::ExecutionLimitExceeded, problem));
            }
        }
    }
    let template = &command.template;
    let places = Places { roots: &[], directory: &template.directory, module: &template.module };
    let files: Vec<Vec<ReportFile<'_>>> =
        attempts.iter().map(|attempt| report_files(template, attempt)).collect();
    let outputs: Vec<Output<'_>> = attempts
        .iter()
        .zip(&files)
        .map(|(attempt, files)| {
            let source = Source::Command(command_output(template, attempt, files));
            Output { gate, source, places }
        })
        .collect();
    judge_attempts(command.tool, &outputs)
        .map_err(|error| GateError::new(command_code(&error), harmless(&error.to_string())))
}

/// Returns the report files of an attempt. Of a command of the policy, standard output is one unless it names files.
fn report_files<'a>(template: &CommandTemplate, attempt: &'a RecordedCommand) -> Vec<ReportFile<'a>> {
    if template.format.is_some() && template.report_files.is_none() {
        return vec![ReportFile { path: "standard output", bytes: attempt.stdout.text.as_bytes() }];
    }
    let reports = attempt.reports.iter();
    reports.map(|report| ReportFile { path: &report.path, bytes: report.output.text.as_bytes() }).collect()
}

fn command_output<'a>(
    template: &CommandTemplate,
    attempt: &'a RecordedCommand,
    reports: &'a [ReportFile<'a>],
) -> CommandOutput<'a> {
    CommandOutput {
        stdout: attempt.stdout.text.as_bytes(),
        stderr: attempt.stderr.text.as_bytes(),
        reports,
        format: template.format,
        exit: attempt.exit_code,
        capped: is_capped(attempt),
    }
}

fn is_capped(attempt: &RecordedCommand) -> bool {
    attempt.stdout.capped
        || attempt.stderr.capped
        || attempt.reports.iter().any(|report| report.output.capped)
}

/// Returns the origin of a command's findings. Those that name no file are about the manifest of its project.
fn command_origin(command: &SelectedCommand, execution: &RecordedExecution) -> Origin {
    let directory = &command.template.directory;
    let files = match command.side {
        Side::Head => &execution.head_files,
        Side::Base => &execution.base_files,
    };
    let spec = command.tool.spec();
    let mut manifests: Vec<&RecordedManifest> =
        files.iter().filter(|file| directory_of(&file.path) == directory).collect();
    manifests.sort_by_key(|file| rank(spec, &file.path));
    let manifest = manifests.first();
    Origin {
        tool: command.name.clone(),
        spec,
        from: if directory.is_empty() { "the root".to_owned() } else { directory.clone() },
        file: match manifest {
            Some(manifest) => manifest.path.clone(),
            None => RepoPath::from_bytes(POLICY_PATH.as_bytes()).expect("a plain path"),
        },
    }
}

/// Returns the position of a manifest among those of a tool's projects; other files come last.
fn rank(spec: &ToolSpec, path: &RepoPath) -> usize {
    let path = path.to_text();
    let name = path.rsplit_once('/').map_or(path.as_ref(), |(_, name)| name);
    let names = spec.manifests();
    names.iter().position(|manifest| *manifest == name).unwrap_or(names.len())
}

/// Returns the audit of all commands of a gate and their sandbox (S003-89), or `None` if nothing was executed.
fn audit(
    gate: GateName,
    plan_ordinal: u64,
    selection: &Selection,
    evidence: &Evidence<'_>,
) -> Option<ExecutionAudit> {
    Some(ExecutionAudit {
        schema_version: Default::default(),
        permission_profile_id: evidence.policy.execution.profile,
        worktree_path: Some(worktree_path(evidence.key, plan_ordinal)),
        commands: executed_commands(gate, evidence.execution)
            .filter_map(|recorded| command_audit(selection, recorded))
            .collect(),
        layers: evidence.execution.layers.clone()?,
    })
}

fn command_audit(selection: &Selection, recorded: &RecordedCommand) -> Option<ExecutionCommandResult> {
    let command = selection.commands.get(usize::try_from(recorded.ordinal).ok()?)?;
    Some(ExecutionCommandResult {
        ordinal: recorded.ordinal,
        exit_code: recorded.exit_code,
        timed_out: recorded.stopped.as_deref() == Some(Stop::TimedOut.as_str()),
        stdout_sha256: recorded.stdout.sha256.clone(),
        stderr_sha256: recorded.stderr.sha256.clone(),
        attempt: recorded.attempt,
        command: command.template.argv.clone(),
        tool_version: recorded.tool_version.clone(),
        stdout_normalized_sha256: recorded.stdout.normalized_sha256.clone(),
        stderr_normalized_sha256: recorded.stderr.normalized_sha256.clone(),
        capped: is_capped(recorded),
    })
}

/// Returns the name of a plan's worktree (S003-104, C-40). The directory itself is elsewhere, and removed after the run.
fn worktree_path(key: &ExecutionKey, plan_ordinal: u64) -> String {
    format!(".worktrees/qa-skill/{key}/{plan_ordinal}/")
}
