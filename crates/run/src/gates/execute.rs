//! Runs the commands of gates, once, and records their outputs.

use std::time::{Duration, Instant};

use super::baseline::{Baseline, WantedCommand};
use super::calls;
use super::judge_commands::{has_passed, is_confirmed, is_retryable, judge_recorded, judge_single};
use super::pictures::Album;
use super::record::{ANY_ROOT, matching_files};
use crate::commands::{
    Captured, CommandLimits, CommandOutcome, CommandSandbox, CommandWorkspace, Exit, Layers, SandboxError,
    Stop,
};
use crate::ports::{Cancellation, PortError, Progress};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{
    ChangeSet, ExecutionLayers, GateName, RecordedCommand, RecordedExecution, RecordedObserver,
    RecordedOutput, RecordedReportOutput, Side,
};
use qa_core::canonical;
use qa_core::classify::glob_directory;
use qa_core::masking::sanitize_cut;
use qa_core::permissions::Permission;
use qa_core::pictures::MAX_PICTURE_BYTES;
use qa_core::policy::Policy;
use qa_core::secrets;
use qa_gates::contract::{CommandTemplate, ReportFiles};
use qa_gates::normalize::normalize_output;
use qa_gates::report::Totals;
use qa_gates::selection::{SelectedCommand, Selection};

/// Number of attempts at a test command at most (C-15).
const ATTEMPTS: u64 = 3;
/// Placeholder in recorded output for the directory that was made for a command.
const ANY_ROOM: &str = "/tmp/qa-skill-room";

/// Runs the commands that the gates of a policy select.
pub struct CommandRunner<'a> {
    pub policy: &'a Policy,
    /// Requested lenses; `None` for all.
    pub requested: Option<&'a [String]>,
    pub change_set: &'a ChangeSet,
    /// Decision of the observer, which may defer commands.
    pub observer: Option<&'a RecordedObserver>,
    pub command_sandbox: &'a dyn CommandSandbox,
    /// Stored run of the base, which may have run the commands of the base before.
    pub baseline: Option<&'a Baseline>,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

impl CommandRunner<'_> {
    /// Runs the permitted commands one after another and records them. If a gate's commands violate the policy, no
    /// command of any gate is run.
    pub fn run(&self, recorded: &mut RecordedExecution) -> Result<(), PortError> {
        let gates: Vec<SelectedGate> = self
            .policy
            .gates
            .keys()
            .filter(|gate| self.is_selected(**gate) && !self.is_deferred(**gate, recorded))
            .map(|gate| {
                let selection = calls::selected_commands(*gate, self.policy, self.change_set, recorded);
                let permission = calls::permission(*gate, self.policy, &selection);
                SelectedGate { gate: *gate, selection, permission }
            })
            .collect();
        let permitted: Vec<&SelectedGate> =
            gates.iter().filter(|gate| gate.permission == Permission::Granted).collect();
        let total = permitted.iter().map(|gate| gate.selection.commands.len()).sum();
        let has_violation = gates.iter().any(|gate| matches!(gate.permission, Permission::Violation(_)));
        if recorded.denied.is_some() || total == 0 || has_violation {
            return Ok(());
        }
        match self.command_sandbox.layers() {
            Ok(layers) => recorded.layers = Some(recorded_layers(layers)),
            Err(refusal) => {
                recorded.denied = Some(sanitize_cut(&format!("failed to {refusal}"), 1000));
                return Ok(());
            }
        }
        let mut budget = RecordingBudget { text_bytes: MAX_REPORT_BYTES, album: Album::default() };
        let mut done = 0;
        for SelectedGate { gate, selection, .. } in permitted {
            let mut head_has_faults = false;
            for (ordinal, selected) in selection.commands.iter().enumerate() {
                self.progress.step("commands", done, total);
                done += 1;
                if selected.side == Side::Base && !head_has_faults {
                    continue;
                }
                let command = Command { gate: *gate, ordinal: ordinal as u64, selected };
                // Only a command of the base has some, and the next one is of head.
                if let Some(stored) = self.stored_attempts(&command, recorded, &mut budget) {
                    recorded.commands.extend(stored);
                    continue;
                }
                let attempts = match self.attempts(&command, &mut budget) {
                    Ok(attempts) => attempts,
                    Err(AttemptsError::Run(error)) => return Err(error),
                    // Processes that cannot be ended may tamper with every later command.
                    Err(AttemptsError::Machine(attempts)) => {
                        recorded.commands.extend(attempts);
                        return Ok(());
                    }
                };
                head_has_faults = match judge_recorded(*gate, selected, &attempts) {
                    Ok(judged) => judged.report.totals.has_faults() && judged.report.partial.is_none(),
                    Err(_) => false,
                };
                recorded.commands.extend(attempts);
            }
        }
        self.progress.step("commands", total, total);
        Ok(())
    }

    /// Returns a gate and those that use its tests.
    fn readers(&self, gate: GateName) -> impl Iterator<Item = GateName> {
        let users = self.policy.gates.iter().filter(move |(_, settings)| settings.tests_of.contains(&gate));
        std::iter::once(gate).chain(users.map(|(user, _)| *user))
    }

    fn is_selected(&self, gate: GateName) -> bool {
        self.readers(gate)
            .any(|reader| self.requested.is_none_or(|all| all.iter().any(|lens| lens == reader.as_str())))
    }

    fn is_deferred(&self, gate: GateName, recorded: &RecordedExecution) -> bool {
        let Self { policy, change_set, observer, .. } = *self;
        observer.is_some_and(|observer| calls::is_deferred(gate, observer, policy, change_set, recorded))
    }

    fn is_required(&self, gate: GateName) -> bool {
        self.readers(gate)
            .any(|reader| self.policy.lenses.get(reader.as_str()).is_some_and(|lens| lens.required))
    }

    fn commit(&self, side: Side) -> &CommitId {
        match side {
            Side::Head => &self.change_set.head_sha,
            Side::Base => self.change_set.measured_from(),
        }
    }

    /// Returns whether a command runs once more: while only tests fail and its tool allows retries, and after a first pass
    /// that has to be confirmed.
    fn runs_again(&self, command: &Command<'_>, attempts: &[RecordedCommand]) -> bool {
        let Command { gate, selected, .. } = *command;
        match attempts {
            [first, more @ ..] if selected.side == Side::Head && has_passed(gate, selected, first) => {
                more.is_empty() && is_confirmed(gate, self.policy)
            }
            _ => selected.template.retries && is_retryable(gate, selected, attempts),
        }
    }

    /// Runs a command, and again where that may change its result.
    fn attempts(
        &self,
        command: &Command<'_>,
        budget: &mut RecordingBudget,
    ) -> Result<Vec<RecordedCommand>, AttemptsError> {
        let mut attempts = Vec::new();
        for attempt in 1..=ATTEMPTS {
            self.cancellation.check().map_err(AttemptsError::Run)?;
            if !self.cancellation.has_time_for(self.is_required(command.gate)) {
                attempts.push(command.without_time(attempt));
                return Ok(attempts);
            }
            match self.attempt(command, attempt, budget) {
                Ok(recorded) => attempts.push(recorded),
                Err(error) => {
                    let survivors = matches!(error, SandboxError::Survivors(_));
                    attempts.push(command.without_result(attempt, &error));
                    self.cancellation.check().map_err(AttemptsError::Run)?;
                    return if survivors { Err(AttemptsError::Machine(attempts)) } else { Ok(attempts) };
                }
            }
            if !self.runs_again(command, &attempts) {
                break;
            }
        }
        Ok(attempts)
    }

    /// Returns the attempts of the baseline at a command of the base, if there is room for their outputs.
    fn stored_attempts(
        &self,
        command: &Command<'_>,
        recorded: &RecordedExecution,
        budget: &mut RecordingBudget,
    ) -> Option<Vec<RecordedCommand>> {
        let Command { gate, ordinal, selected } = *command;
        let Self { policy, change_set, .. } = *self;
        let attempts = self.baseline?.attempts(&WantedCommand {
            gate,
            ordinal,
            command: selected,
            policy,
            change_set,
            layers: recorded.layers.as_ref(),
            // A command of the base follows the one of head that it is compared with.
            tool_version: recorded.commands.last()?.tool_version.as_ref(),
        })?;
        let bytes: usize = attempts.iter().map(recorded_bytes).sum();
        budget.text_bytes = budget.text_bytes.checked_sub(bytes)?;
        Some(attempts)
    }

    fn attempt(
        &self,
        command: &Command<'_>,
        attempt: u64,
        budget: &mut RecordingBudget,
    ) -> Result<RecordedCommand, SandboxError> {
        let template = &command.selected.template;
        let workspace = self.command_sandbox.open(self.commit(command.selected.side))?;
        let argv = with_program_path(workspace.as_ref(), &template.argv)?;
        if let Some(ReportFiles::Matching(_)) = template.report_files
            && let Some(path) = report_paths(workspace.as_ref(), template)?.first()
        {
            let problem = format!(
                "{path} is committed, so the change could have written it; narrow `report`, or remove the file"
            );
            return Ok(command.with_refused_report(attempt, &problem));
        }
        let limits = self.limits();
        let started = Instant::now();
        let ended = workspace.run(&argv, &template.directory, &limits)?;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if ended.stopped == Some(Stop::Cancelled) {
            return Err(SandboxError::Broken("the run was cancelled".to_owned()));
        }
        if ended.stopped == Some(Stop::TimedOut) && !self.cancellation.has_time_for(true) {
            return Ok(command.without_time(attempt));
        }
        let mut reports = Vec::new();
        for path in report_paths(workspace.as_ref(), template)? {
            let report = workspace.read_output_file(&path, MAX_REPORT_BYTES as u64);
            if matches!(template.report_files, Some(ReportFiles::Matching(_))) {
                match report {
                    Ok(Some(report)) => reports.push((path, report)),
                    Ok(None) => {
                        let problem = format!("{path} is not a file that can be read");
                        return Ok(command.with_refused_report(attempt, &problem));
                    }
                    Err(error) => {
                        return Ok(command.with_refused_report(attempt, &format!("{path}: {error}")));
                    }
                }
            } else if let Some(report) = report? {
                reports.push((path, report));
            }
        }
        // After the command, which files of this one could slow down or mislead.
        let tool_version = self.version(workspace.as_ref(), template);
        let CommandOutcome { exit, stopped, stdout, stderr, left_behind } = ended;
        let room = &mut budget.text_bytes;
        let (exit_code, signal) = match (exit, stopped) {
            (_, Some(_)) => (None, None),
            (Exit::Code(code), None) => (Some(code), None),
            (Exit::Signal(signal), None) => (None, Some(signal)),
        };
        let unmasked = RecordedCommand {
            exit_code,
            signal,
            stopped: stopped.map(|stop| stop.as_str().to_owned()),
            left_behind,
            duration_ms,
            tool_version,
            stdout: recorded_output(stdout, workspace.as_ref(), room),
            stderr: recorded_output(stderr, workspace.as_ref(), room),
            reports: reports
                .into_iter()
                .map(|(path, report)| {
                    let output = recorded_output(report, workspace.as_ref(), room);
                    RecordedReportOutput { path, output }
                })
                .collect(),
            ..command.empty_record(attempt)
        };
        let mut recorded = masked(command, unmasked);
        if command.selected.side == Side::Head
            && let Ok(judged) = judge_single(command.gate, command.selected, &recorded)
        {
            recorded.pictures =
                budget.album.take(&judged.report, |path| read_picture(workspace.as_ref(), path));
        }
        Ok(recorded)
    }

    fn version(&self, workspace: &dyn CommandWorkspace, template: &CommandTemplate) -> Option<String> {
        let argv = with_program_path(workspace, &template.version_argv).ok()?;
        let limits = CommandLimits {
            wall: Duration::from_secs(60).min(self.limits().wall),
            stdout_bytes: 4096,
            stderr_bytes: 4096,
            ..self.limits()
        };
        let ended = workspace.run(&argv, &template.directory, &limits).ok()?;
        let text = ended.stdout.text();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        (ended.exit == Exit::Code(0)).then(|| sanitize_cut(&with_placeholders(line, workspace), 200))
    }

    fn limits(&self) -> CommandLimits {
        const MEBI: u64 = 1 << 20;
        let bounds = &self.policy.execution.limits;
        let wall = Duration::from_secs(bounds.timeout_seconds);
        CommandLimits {
            wall: self.cancellation.time_for_plans().map_or(wall, |left| left.min(wall)),
            stdout_bytes: bounds.max_stdout_bytes,
            stderr_bytes: bounds.max_stderr_bytes,
            disk_bytes: bounds.disk_mib * MEBI,
            memory_bytes: bounds.memory_mib.map(|memory| memory * MEBI),
            processes: bounds.processes,
            ..CommandLimits::default()
        }
    }
}

/// Gate with its commands and the policy's answer to them.
struct SelectedGate {
    gate: GateName,
    selection: Selection,
    permission: Permission,
}

/// Remaining space for the outputs of a run's commands.
struct RecordingBudget {
    text_bytes: usize,
    album: Album,
}

/// Error that ends the execution of commands.
enum AttemptsError {
    /// The run ends.
    Run(PortError),
    /// No command may follow these attempts.
    Machine(Vec<RecordedCommand>),
}

/// Command of a gate with its place in the order.
struct Command<'a> {
    gate: GateName,
    ordinal: u64,
    selected: &'a SelectedCommand,
}

impl Command<'_> {
    fn empty_record(&self, attempt: u64) -> RecordedCommand {
        RecordedCommand {
            gate: self.gate,
            ordinal: self.ordinal,
            attempt,
            exit_code: None,
            signal: None,
            stopped: None,
            left_behind: false,
            duration_ms: 0,
            tool_version: None,
            stdout: empty_output(),
            stderr: empty_output(),
            reports: Vec::new(),
            code: None,
            problem: None,
            pictures: Vec::new(),
            baseline: None,
        }
    }

    fn without_result(&self, attempt: u64, error: &SandboxError) -> RecordedCommand {
        let missing = matches!(error, SandboxError::NotStarted { .. });
        RecordedCommand {
            code: Some(if missing { Code::GateToolMissing } else { error.code() }),
            problem: Some(sanitize_cut(&format!("failed to {error}"), 1000)),
            ..self.empty_record(attempt)
        }
    }

    /// Returns the record of a command that was not started, or stopped, near the deadline.
    fn without_time(&self, attempt: u64) -> RecordedCommand {
        RecordedCommand {
            code: Some(Code::RunDeadlineNear),
            problem: Some("the run's deadline was near".to_owned()),
            ..self.empty_record(attempt)
        }
    }

    /// Returns the record of a command with a report file that no report can be.
    fn with_refused_report(&self, attempt: u64, problem: &str) -> RecordedCommand {
        RecordedCommand {
            code: Some(Code::GateReportRefused),
            problem: Some(sanitize_cut(problem, 1000)),
            ..self.empty_record(attempt)
        }
    }
}

/// Returns the size of the recorded outputs of an attempt, in bytes.
fn recorded_bytes(attempt: &RecordedCommand) -> usize {
    let reports = attempt.reports.iter().map(|report| &report.output);
    [&attempt.stdout, &attempt.stderr].into_iter().chain(reports).map(|output| output.text.len()).sum()
}

fn empty_output() -> RecordedOutput {
    RecordedOutput {
        text: String::new(),
        bytes: 0,
        sha256: canonical::sha256(b""),
        normalized_sha256: canonical::sha256(b""),
        capped: false,
    }
}

/// Returns the paths of a command's report files that are there.
fn report_paths(
    workspace: &dyn CommandWorkspace,
    template: &CommandTemplate,
) -> Result<Vec<String>, SandboxError> {
    match &template.report_files {
        None => Ok(Vec::new()),
        // Its name is one that no file of the commit has in the tree.
        Some(ReportFiles::File(path)) => Ok(vec![path.clone()]),
        Some(ReportFiles::Matching(glob)) => {
            let listed = workspace.list_files(glob_directory(glob))?;
            matching_files(glob, listed).map_err(SandboxError::Broken)
        }
    }
}

/// Replaces the program by its absolute path. A file of the commit is never used as a tool.
fn with_program_path(workspace: &dyn CommandWorkspace, argv: &[String]) -> Result<Vec<String>, SandboxError> {
    let (program, arguments) = argv.split_first().ok_or(SandboxError::Order("it is empty".to_owned()))?;
    let found = workspace.find_program(program)?;
    let Some(path) = found.to_str() else {
        let reason = "its path is not UTF-8".to_owned();
        return Err(SandboxError::NotStarted { program: program.clone(), reason });
    };
    Ok(std::iter::once(path.to_owned()).chain(arguments.iter().cloned()).collect())
}

/// Masks secrets in outputs before anything else uses them, since a test may print its environment. If masking changes the
/// result, the command is refused: otherwise output could be crafted to hide faults.
fn masked(command: &Command<'_>, unmasked: RecordedCommand) -> RecordedCommand {
    let mut masked = unmasked.clone();
    let reports = masked.reports.iter_mut().map(|report| &mut report.output);
    for output in [&mut masked.stdout, &mut masked.stderr].into_iter().chain(reports) {
        output.text = secrets::masked(std::mem::take(&mut output.text));
        output.normalized_sha256 = canonical::sha256(normalize_output(&output.text).as_bytes());
    }
    if masked != unmasked && verdict(command, &masked) != verdict(command, &unmasked) {
        masked.code = Some(Code::GateReportRefused);
        masked.problem = Some("its output has another result once the secrets in it are masked".to_owned());
    }
    masked
}

fn verdict(command: &Command<'_>, recorded: &RecordedCommand) -> Result<(bool, Totals), Code> {
    match judge_single(command.gate, command.selected, recorded) {
        Ok(judged) => Ok((judged.passed, judged.report.totals)),
        Err(error) => Err(error.code),
    }
}

/// Reads a picture that a command left.
fn read_picture(workspace: &dyn CommandWorkspace, path: &RepoPath) -> Result<Vec<u8>, String> {
    let taken = workspace.read_output_file(&path.to_text(), MAX_PICTURE_BYTES as u64);
    let captured = taken.map_err(|error| error.to_string())?.ok_or("it is not there")?;
    let whole = captured.kept.len() as u64 == captured.bytes;
    whole.then_some(captured.kept).ok_or_else(|| format!("it has more than {MAX_PICTURE_BYTES} bytes"))
}

/// Returns the record of an output, with its text if that fits into `room`, the remaining bytes.
fn recorded_output(captured: Captured, workspace: &dyn CommandWorkspace, room: &mut usize) -> RecordedOutput {
    let kept = captured.kept.len();
    let fits = kept <= *room;
    let whole = fits && kept as u64 == captured.bytes;
    let text = if fits { with_placeholders(&captured.text(), workspace) } else { String::new() };
    *room -= if fits { kept } else { 0 };
    let Captured { bytes, sha256, .. } = captured;
    let normalized_sha256 = canonical::sha256(normalize_output(&text).as_bytes());
    RecordedOutput { text, bytes, sha256, normalized_sha256, capped: !whole }
}

/// Replaces the workspace's paths, so that equal runs in different directories have equal records.
fn with_placeholders(text: &str, workspace: &dyn CommandWorkspace) -> String {
    let mut text = text.to_owned();
    for (path, placeholder) in [(workspace.tree(), ANY_ROOT), (workspace.root(), ANY_ROOM)] {
        if let Some(path) = path.to_str() {
            text = text.replace(path, placeholder);
        }
    }
    text
}

fn recorded_layers(layers: Layers) -> ExecutionLayers {
    ExecutionLayers {
        landlock_abi: layers.landlock_abi,
        seccomp: true,
        identity: layers.identity.as_str().to_owned(),
        residuals: layers.residuals.iter().map(|&residual| residual.to_owned()).collect(),
    }
}
