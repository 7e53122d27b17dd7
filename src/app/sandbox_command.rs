//! `qa-skill sandbox`: runs one command in the sandbox of gates, and shows the sandbox and the outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::console;
use super::exit::{Exit, Failure};
use crate::exec::{Fence, Room};
use crate::git::{OmittedPath, OpenRepository, TreeLimits};
use qa_contracts::codes::Code;
use qa_core::escape::{harmless, visible, without_runner_commands};
use qa_core::secrets;
use qa_run::commands::{
    Captured, CommandLimits, CommandOutcome, Exit as CommandExit, Layers, Order, Refusal, Sandbox,
    SandboxError, SharedMemory,
};
use qa_run::ports::Cancellation;

pub(crate) const EXAMPLES: &str = "\
Examples:
  qa-skill sandbox                         test the sandbox of this machine
  qa-skill sandbox -- python3 -m unittest  run the tests of HEAD's tree
  qa-skill sandbox --readable /opt/go --env PATH=/opt/go/bin -- go test ./...

Exit codes: 0 the command succeeded, 1 it failed, 2 usage error,
3 it was not run or its exit status is unknown";

#[derive(Args)]
pub(crate) struct SandboxArgs {
    /// The repository whose tree the command runs in
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The commit whose tree the command gets: a branch, tag or commit
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    rev: String,
    /// Run in an empty directory instead
    #[arg(long, conflicts_with_all = ["repo", "rev"])]
    empty: bool,
    /// Allow internet sockets; by default even those to localhost are denied
    #[arg(long)]
    network: bool,
    /// A file or directory that the command may read and execute, such as a toolchain; repeatable
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// An environment variable for the command, which inherits none; never pass a secret; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Working directory, relative to the tree
    #[arg(long, default_value = "", value_name = "DIR")]
    cwd: String,
    /// Time limit in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    /// Limit of resident memory of all its processes, in MiB, including nameless files in memory
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// Limit of disk space in MiB, including deleted files that are open
    #[arg(long, default_value_t = 2048, value_name = "MIB")]
    disk: u64,
    /// Limit of processes and threads
    #[arg(long, default_value_t = 512, value_name = "N")]
    processes: u64,
    /// Limit of each captured output, in KiB
    #[arg(long, default_value_t = 16_384, value_name = "KIB")]
    output: u64,
    /// Parent directory of the tree, which every user may enter
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    scratch: PathBuf,
    /// Number of runs, each in the tree that the last one left
    #[arg(long, default_value_t = 1, value_name = "N", hide = true)]
    times: u32,
    /// Print one JSON document instead
    #[arg(long)]
    json: bool,
    /// The command and its arguments; without one, only the sandbox is tested
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl SandboxArgs {
    /// Returns the time limit of all runs together.
    pub(super) fn longest(&self) -> Duration {
        Duration::from_secs(self.timeout).saturating_mul(self.times)
    }

    fn limits(&self) -> CommandLimits {
        const MEBI: u64 = 1 << 20;
        CommandLimits {
            wall: Duration::from_secs(self.timeout),
            stdout_bytes: self.output.saturating_mul(1024),
            stderr_bytes: self.output.saturating_mul(1024),
            disk_bytes: self.disk.saturating_mul(MEBI),
            memory_bytes: self.memory.map(|memory| memory.saturating_mul(MEBI)),
            processes: self.processes,
            ..CommandLimits::default()
        }
    }

    fn environment(&self) -> Result<Vec<(String, String)>, Failure> {
        self.env.iter().map(|text| parse_variable(text)).collect()
    }
}

fn parse_variable(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Failure::usage("--env is not NAME=VALUE", "for example --env CI=1"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A command that ended, with the paths of the tree that it did not get.
struct EndedCommand<'a> {
    outcome: &'a CommandOutcome,
    omitted: &'a [OmittedPath],
}

/// Runs the command and prints how it ended. Returns `Pass` if it succeeded, else `Fail`.
pub(crate) fn sandbox(arguments: &SandboxArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let fence = Fence::new(arguments.scratch.clone(), Arc::clone(cancellation));
    let layers = fence.self_test()?;
    if arguments.command.is_empty() {
        return console::write_stdout(&render(arguments.json, &layers, None)).map(|()| Exit::Pass);
    }
    let room = Room::make(&arguments.scratch).map_err(|error| {
        let message = format!("failed to create a workspace in {}: {error}", arguments.scratch.display());
        Failure::with_code(Code::ExecutionDenied, visible(&message))
    })?;
    let mut omitted = Vec::new();
    if !arguments.empty {
        let repository = OpenRepository::discover(&arguments.repo)?;
        let commit = repository.commit_named(&arguments.rev)?.ok_or_else(|| {
            Failure::usage(
                format!("{} names no commit", visible(&arguments.rev)),
                "pass --rev with a branch, tag or commit",
            )
        })?;
        omitted = repository.write_tree(&commit, &room.tree, TreeLimits::default(), |_| false)?.omitted;
    }
    let environment = arguments.environment()?;
    let order = Order {
        argv: &arguments.command,
        cwd: &arguments.cwd,
        worktree: &room.tree,
        private: &room.private,
        network: arguments.network,
        readable: &arguments.readable,
        input: None,
        environment: &environment,
        limits: arguments.limits(),
    };
    let mut ended = fence.run(&order)?;
    for _ in 1..arguments.times {
        ended = fence.run(&order)?;
    }
    console::write_stdout(&render(
        arguments.json,
        &layers,
        Some(EndedCommand { outcome: &ended, omitted: &omitted }),
    ))?;
    let succeeded = ended.exit == CommandExit::Code(0) && ended.stopped.is_none();
    Ok(if succeeded { Exit::Pass } else { Exit::Fail })
}

/// Renders the result as JSON or as text. Control characters and workflow commands in the output are escaped.
fn render(as_json: bool, layers: &Layers, ended: Option<EndedCommand<'_>>) -> Vec<u8> {
    if as_json {
        let mut document = json!({ "layers": {
            "landlockAbi": layers.landlock_abi,
            "identity": layers.identity.as_str(),
            "seccomp": true,
            "sharedMemory": layers.shared_memory.as_str(),
            "residuals": layers.residuals,
        }});
        if let Some(EndedCommand { outcome: ended, omitted }) = ended {
            document["omitted"] = omitted
                .iter()
                .map(|omitted| json!({ "path": omitted.path, "reason": omitted.reason.as_str() }))
                .collect();
            let (code, signal) = match ended.exit {
                CommandExit::Code(code) => (Some(code), None),
                CommandExit::Signal(signal) => (None, Some(signal)),
            };
            document["exit"] = json!({ "code": code, "signal": signal });
            document["stopped"] = json!(ended.stopped.map(qa_run::commands::Stop::as_str));
            document["leftBehind"] = json!(ended.left_behind);
            document["stdout"] = output(&ended.stdout);
            document["stderr"] = output(&ended.stderr);
        }
        return format!("{document:#}\n").replace("##[", "\\u0023#[").into_bytes();
    }
    let mut text =
        format!("sandbox     Landlock {}, seccomp, {}\n", layers.landlock_abi, layers.identity.as_str());
    text.push_str(&format!("/dev/shm    {}\n", describe_shared_memory(layers.shared_memory)));
    for residual in &layers.residuals {
        text.push_str(&format!("not denied  {residual}\n"));
    }
    let Some(EndedCommand { outcome: ended, omitted }) = ended else { return text.into_bytes() };
    for OmittedPath { path, reason } in omitted {
        text.push_str(&format!("omitted     {path} ({})\n", reason.as_str()));
    }
    let exit = match (ended.stopped, ended.exit) {
        (Some(stop), _) => format!("stopped: {}", stop.as_str()),
        (None, CommandExit::Code(code)) => format!("exit {code}"),
        (None, CommandExit::Signal(signal)) => format!("ended by signal {signal}"),
    };
    text.push_str(&format!("command     {exit}\n"));
    if ended.left_behind {
        text.push_str("left        processes, which were killed\n");
    }
    for (name, captured) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let kept = captured.kept.len() as u64;
        let cut = if kept < captured.bytes { format!(", the first {kept} shown") } else { String::new() };
        text.push_str(&format!(
            "{name}      {} bytes, sha256 {}{cut}\n",
            captured.bytes,
            captured.sha256.short()
        ));
        for line in secrets::masked(captured.text()).lines() {
            text.push_str(&format!("  | {}\n", without_runner_commands(&visible(line))));
        }
    }
    text.into_bytes()
}

fn describe_shared_memory(memory: SharedMemory) -> &'static str {
    match memory {
        SharedMemory::Own => "private to each command, up to its memory limit",
        SharedMemory::Machine => "shared with this machine, up to the memory limit of the command",
        SharedMemory::Nothing => "none",
    }
}

fn output(captured: &Captured) -> serde_json::Value {
    json!({
        "bytes": captured.bytes,
        "keptBytes": captured.kept.len(),
        "sha256": captured.sha256.as_str(),
        "text": harmless(&secrets::masked(captured.text())),
    })
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        SandboxError::from(refusal).into()
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        let message = visible(&format!("failed to {error}"));
        Self { hint: error.hint().to_owned(), ..Self::with_code(error.code(), message) }
    }
}
