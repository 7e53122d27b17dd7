//! Runs the commands of gates, once, and keeps what they left.

use std::path::Path;
use std::time::{Duration, Instant};

use super::calls;
use super::judge_commands::{judged, needs_another};
use super::pictures::Album;
use super::record::ANY_ROOT;
use crate::commands::{
    Captured, CommandLimits, CommandOutcome, CommandSandbox, CommandWorkspace, Exit, Layers, SandboxError,
    Stop,
};
use crate::ports::{Cancellation, PortError, Progress};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_contracts::v1::{
    ChangeSet, ExecutionLayers, GateName, RecordedCommand, RecordedExecution, RecordedOutput, Side,
};
use qa_core::canonical;
use qa_core::masking::sanitize_cut;
use qa_core::permissions::Permission;
use qa_core::pictures::MAX_PICTURE_BYTES;
use qa_core::policy::{GatePolicy, Policy};
use qa_core::secrets;
use qa_gates::contract::{CommandTemplate, Report};
use qa_gates::judge::Judged;
use qa_gates::normalize::normalize_output;
use qa_gates::selection::{SelectedCommand, Selection};

/// How often a test command is tried in all (C-15).
const ATTEMPTS: u64 = 3;
/// What stands in recorded output for directories that were made for a command.
const ANY_ROOM: &str = "/tmp/qa-skill-room";

/// What commands run with.
pub struct CommandRunner<'a> {
    pub policy: &'a Policy,
    /// The lenses that were asked for, when not all were.
    pub requested: Option<&'a [String]>,
    pub change_set: &'a ChangeSet,
    pub command_sandbox: &'a dyn CommandSandbox,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

impl CommandRunner<'_> {
    /// Runs what the gates want and the policy allows, one command after another, and records it. Where one gate wants
    /// what is not allowed, nothing of any gate is run.
    pub fn run(&self, recorded: &mut RecordedExecution) -> Result<(), PortError> {
        let gates: Vec<(GateName, Selection, Permission)> = self
            .policy
            .gates
            .keys()
            .filter(|gate| self.is_wanted(**gate))
            .map(|gate| {
                let calls = calls::selected_commands(*gate, self.policy, self.change_set, recorded);
                let permission = calls::permission(*gate, self.policy, &calls);
                (*gate, calls, permission)
            })
            .collect();
        let is_violation = |permission: &Permission| matches!(permission, Permission::Violation(_));
        let total = gates
            .iter()
            .filter(|(_, _, permission)| *permission == Permission::Granted)
            .map(|(_, calls, _)| calls.commands.len())
            .sum();
        if recorded.denied.is_some() || total == 0 || gates.iter().any(|(_, _, it)| is_violation(it)) {
            return Ok(());
        }
        match self.command_sandbox.layers() {
            Ok(layers) => recorded.layers = Some(found(layers)),
            Err(refusal) => {
                recorded.denied = Some(sanitize_cut(&format!("failed to {refusal}"), 1000));
                return Ok(());
            }
        }
        let mut left = Left { room: MAX_REPORT_BYTES, album: Album::default() };
        let mut done = 0;
        for (gate, calls, permission) in &gates {
            if *permission != Permission::Granted {
                continue;
            }
            let mut head_has_faults = false;
            for (ordinal, wanted) in calls.commands.iter().enumerate() {
                self.progress.step("commands", done, total);
                done += 1;
                if wanted.side == Side::Base && !head_has_faults {
                    continue;
                }
                let command = Command { gate: *gate, ordinal: ordinal as u64, wanted };
                let attempts = match self.attempts(&command, &mut left) {
                    Ok(attempts) => attempts,
                    Err(Broken::Run(error)) => return Err(error),
                    // Nothing that comes after processes that do not end can be trusted.
                    Err(Broken::Machine(attempts)) => {
                        recorded.commands.extend(attempts);
                        return Ok(());
                    }
                };
                let judged = judged(wanted, &attempts);
                let excusable = |report: &Report| report.totals.has_faults() && report.partial.is_none();
                head_has_faults = judged.is_ok_and(|judged| excusable(&judged.report));
                recorded.commands.extend(attempts);
            }
        }
        self.progress.step("commands", total, total);
        Ok(())
    }

    /// Whether a gate takes part, or one that reads its tests does.
    fn is_wanted(&self, gate: GateName) -> bool {
        let asked = |gate: GateName| {
            self.requested.is_none_or(|requested| requested.iter().any(|lens| lens == gate.as_str()))
        };
        let reads = |(reader, settings): (&GateName, &GatePolicy)| {
            asked(*reader) && settings.tests_of.contains(&gate)
        };
        asked(gate) || self.policy.gates.iter().any(reads)
    }

    fn commit(&self, side: Side) -> &CommitId {
        match side {
            Side::Head => &self.change_set.head_sha,
            Side::Base => &self.change_set.merge_base_sha,
        }
    }

    /// One attempt, and another as long as nothing but tests fail and the tool is one of tests.
    fn attempts(&self, command: &Command<'_>, left: &mut Left) -> Result<Vec<RecordedCommand>, Broken> {
        let mut attempts = Vec::new();
        for attempt in 1..=ATTEMPTS {
            self.cancellation.check().map_err(Broken::Run)?;
            match self.attempt(command, attempt, left) {
                Ok(recorded) => attempts.push(recorded),
                Err(error) => {
                    let survivors = matches!(error, SandboxError::Survivors(_));
                    attempts.push(command.without_result(attempt, &error));
                    self.cancellation.check().map_err(Broken::Run)?;
                    return if survivors { Err(Broken::Machine(attempts)) } else { Ok(attempts) };
                }
            }
            if !command.wanted.template.retries || !needs_another(command.wanted, &attempts) {
                break;
            }
        }
        Ok(attempts)
    }

    fn attempt(
        &self,
        command: &Command<'_>,
        attempt: u64,
        left: &mut Left,
    ) -> Result<RecordedCommand, SandboxError> {
        let template = &command.wanted.template;
        let workspace = self.command_sandbox.open(self.commit(command.wanted.side))?;
        let argv = resolved(workspace.as_ref(), &template.argv)?;
        let limits = self.limits();
        let started = Instant::now();
        let ended = workspace.run(&argv, &template.directory, &limits)?;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if ended.stopped == Some(Stop::Cancelled) {
            return Err(SandboxError::Broken("the run was cancelled".to_owned()));
        }
        let report = match report_path(template) {
            Some(path) => workspace.read_output_file(&path, MAX_REPORT_BYTES as u64)?,
            None => None,
        };
        // After the command, so that it cannot be slowed or fooled by what this leaves.
        let tool_version = self.version(workspace.as_ref(), template);
        let mut keep = |captured: Captured| output(captured, workspace.as_ref(), &mut left.room);
        let CommandOutcome { exit, stopped, stdout, stderr, left_behind } = ended;
        let (exit_code, signal) = match (exit, stopped) {
            (_, Some(_)) => (None, None),
            (Exit::Code(code), None) => (Some(code), None),
            (Exit::Signal(signal), None) => (None, Some(signal)),
        };
        let as_it_is = RecordedCommand {
            exit_code,
            signal,
            stopped: stopped.map(|stop| stop.as_str().to_owned()),
            left_behind,
            duration_ms,
            tool_version,
            stdout: keep(stdout),
            stderr: keep(stderr),
            report: report.map(keep),
            ..command.nothing(attempt)
        };
        let mut recorded = masked(command.wanted, as_it_is);
        if command.wanted.side == Side::Head
            && let Ok(judged) = judged_alone(command.wanted, &recorded)
        {
            recorded.pictures = left.album.take(&judged.report, |path| picture(workspace.as_ref(), path));
        }
        Ok(recorded)
    }

    fn version(&self, workspace: &dyn CommandWorkspace, template: &CommandTemplate) -> Option<String> {
        let argv = resolved(workspace, &template.version_argv).ok()?;
        let limits = CommandLimits {
            wall: Duration::from_secs(60).min(self.limits().wall),
            stdout_bytes: 4096,
            stderr_bytes: 4096,
            ..self.limits()
        };
        let ended = workspace.run(&argv, &template.directory, &limits).ok()?;
        let text = ended.stdout.text();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        (ended.exit == Exit::Code(0)).then(|| sanitize_cut(&somewhere(line, workspace), 200))
    }

    fn limits(&self) -> CommandLimits {
        const MEBI: u64 = 1 << 20;
        let bounds = &self.policy.execution.limits;
        CommandLimits {
            wall: Duration::from_secs(bounds.timeout_seconds),
            stdout_bytes: bounds.max_stdout_bytes,
            stderr_bytes: bounds.max_stderr_bytes,
            disk_bytes: bounds.disk_mib * MEBI,
            memory_bytes: bounds.memory_mib.map(|memory| memory * MEBI),
            processes: bounds.processes,
            ..CommandLimits::default()
        }
    }
}

/// What of one run's commands may still be kept.
struct Left {
    /// Bytes of texts.
    room: usize,
    album: Album,
}

/// Why there is no complete list of attempts.
enum Broken {
    /// The run ends.
    Run(PortError),
    /// No command may follow these attempts.
    Machine(Vec<RecordedCommand>),
}

/// A command on its way.
struct Command<'a> {
    gate: GateName,
    ordinal: u64,
    wanted: &'a SelectedCommand,
}

impl Command<'_> {
    fn nothing(&self, attempt: u64) -> RecordedCommand {
        let none = || RecordedOutput {
            text: String::new(),
            bytes: 0,
            sha256: canonical::sha256(b""),
            normalized_sha256: canonical::sha256(b""),
            capped: false,
        };
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
            stdout: none(),
            stderr: none(),
            report: None,
            code: None,
            problem: None,
            pictures: Vec::new(),
        }
    }

    fn without_result(&self, attempt: u64, error: &SandboxError) -> RecordedCommand {
        let missing = matches!(error, SandboxError::NotStarted { .. });
        RecordedCommand {
            code: Some(if missing { Code::GateToolMissing } else { error.code() }),
            problem: Some(sanitize_cut(&format!("failed to {error}"), 1000)),
            ..self.nothing(attempt)
        }
    }
}

fn report_path(template: &CommandTemplate) -> Option<String> {
    let file = template.report_file.as_ref()?;
    let directory = &template.directory;
    Some(if directory.is_empty() { file.clone() } else { format!("{directory}/{file}") })
}

/// The command with its program's own workspace: what the commit brings is never taken for a tool.
fn resolved(workspace: &dyn CommandWorkspace, argv: &[String]) -> Result<Vec<String>, SandboxError> {
    let (program, arguments) = argv.split_first().ok_or(SandboxError::Order("it is empty".to_owned()))?;
    let not_started =
        |reason: &str| SandboxError::NotStarted { program: program.clone(), reason: reason.to_owned() };
    let found = workspace
        .find_program(program)
        .ok_or_else(|| not_started("it is in no declared toolchain and in no directory of the system"))?;
    let path = found.to_str().ok_or_else(|| not_started("its path is not UTF-8"))?.to_owned();
    Ok(std::iter::once(path).chain(arguments.iter().cloned()).collect())
}

/// Secrets are masked before anything else sees the text: a test may print what it was given. Masking must not change
/// what a command comes to, or what it prints could hide what stands after it.
fn masked(wanted: &SelectedCommand, as_it_is: RecordedCommand) -> RecordedCommand {
    let mut masked = as_it_is.clone();
    for output in [&mut masked.stdout, &mut masked.stderr].into_iter().chain(&mut masked.report) {
        output.text = secrets::masked(std::mem::take(&mut output.text));
        output.normalized_sha256 = canonical::sha256(normalize_output(&output.text).as_bytes());
    }
    let says = |command: &RecordedCommand| {
        judged_alone(wanted, command)
            .map(|judged| (judged.passed, judged.report.totals))
            .map_err(|(code, _)| code)
    };
    if masked != as_it_is && says(&masked) != says(&as_it_is) {
        masked.code = Some(Code::GateReportRefused);
        masked.problem =
            Some("what it left says something else once the secrets in it are masked".to_owned());
    }
    masked
}

/// What an attempt comes to as if it were the first and only one.
fn judged_alone(wanted: &SelectedCommand, command: &RecordedCommand) -> Result<Judged, (Code, String)> {
    judged(wanted, &[RecordedCommand { attempt: 1, ..command.clone() }])
}

/// The bytes of a picture that a command left, or why there are none.
fn picture(workspace: &dyn CommandWorkspace, path: &RepoPath) -> Result<Vec<u8>, String> {
    let taken = workspace.read_output_file(&path.to_text(), MAX_PICTURE_BYTES as u64);
    let captured = taken.map_err(|error| error.to_string())?.ok_or("it is not there")?;
    let whole = captured.kept.len() as u64 == captured.bytes;
    whole.then_some(captured.kept).ok_or_else(|| format!("it has more than {MAX_PICTURE_BYTES} bytes"))
}

fn output(captured: Captured, workspace: &dyn CommandWorkspace, room: &mut usize) -> RecordedOutput {
    let kept = captured.kept.len();
    let fits = kept <= *room;
    let whole = fits && kept as u64 == captured.bytes;
    let text = if fits { somewhere(&captured.text(), workspace) } else { String::new() };
    *room -= if fits { kept } else { 0 };
    let Captured { bytes, sha256, .. } = captured;
    let normalized_sha256 = canonical::sha256(normalize_output(&text).as_bytes());
    RecordedOutput { text, bytes, sha256, normalized_sha256, capped: !whole }
}

/// The text as it would be of a workspace elsewhere.
fn somewhere(text: &str, workspace: &dyn CommandWorkspace) -> String {
    let shown = |path: &Path| path.to_str().map(str::to_owned);
    let mut text = text.to_owned();
    for (path, instead) in [(workspace.tree(), ANY_ROOT), (workspace.root(), ANY_ROOM)] {
        if let Some(path) = shown(path) {
            text = text.replace(&path, instead);
        }
    }
    text
}

fn found(layers: Layers) -> ExecutionLayers {
    ExecutionLayers {
        landlock_abi: layers.landlock_abi,
        seccomp: true,
        identity: layers.identity.as_str().to_owned(),
        residuals: layers.residuals.iter().map(|&residual| residual.to_owned()).collect(),
    }
}
