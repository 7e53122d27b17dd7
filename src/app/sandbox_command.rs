//! `sandbox`: one command, run as gates run theirs, with what stood around it and what came of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::console;
use super::exit::{Exit, Failure};
use crate::exec::{Fence, Room};
use crate::git::{Omitted, OpenRepository, TreeLimits};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_core::escape::{harmless, visible};
use qa_core::secrets;
use qa_run::commands::{
    Captured, CommandLimits, CommandOutcome, Exit as CommandExit, Layers, Order, Refusal, Sandbox,
    SandboxError, SharedMemory,
};
use qa_run::ports::Cancellation;

#[derive(Args)]
pub(crate) struct SandboxArgs {
    /// The repository whose tree the command runs in
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The commit whose tree is written, without what is not committed
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    rev: String,
    /// Run in an empty directory instead
    #[arg(long)]
    empty: bool,
    /// Let the command open internet sockets; without, not even those of the machine itself
    #[arg(long)]
    network: bool,
    /// A file or directory that it may read and run, such as a toolchain; repeatable
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// A variable for it; nothing of the environment reaches it otherwise. Never a secret. Repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Where it starts, within the tree
    #[arg(long, default_value = "", value_name = "DIR")]
    cwd: String,
    /// Seconds it may take
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    /// Mebibytes its processes may have resident together, files in memory without a name among them
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// Mebibytes it may write, deleted files that are open among them
    #[arg(long, default_value_t = 2048, value_name = "MIB")]
    disk: u64,
    /// Processes and threads it may have
    #[arg(long, default_value_t = 512, value_name = "N")]
    processes: u64,
    /// Kibibytes of each output that are kept and shown
    #[arg(long, default_value_t = 16_384, value_name = "KIB")]
    output: u64,
    /// Where the tree is written: a directory that every user may pass through
    #[arg(long, default_value = "/tmp", value_name = "DIR")]
    scratch: PathBuf,
    /// Run it so many times, each in the tree as the last one left it
    #[arg(long, default_value_t = 1, value_name = "N", hide = true)]
    times: u32,
    /// Print one JSON document instead
    #[arg(long)]
    json: bool,
    /// The command and its arguments; without one, only the fence is tested
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl SandboxArgs {
    /// Time that the command may take in all its repetitions.
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
        let pair = |text: &String| {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| Failure::usage("--env is not NAME=VALUE", "for example --env CI=1"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        self.env.iter().map(pair).collect()
    }
}

/// Runs it, and says how it ended: pass when it succeeded, fail when it did not.
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
            Failure::usage(format!("{} names no commit", visible(&arguments.rev)), "name one with --rev")
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
        environment: &environment,
        limits: arguments.limits(),
    };
    let mut ended = fence.run(&order)?;
    for _ in 1..arguments.times {
        ended = fence.run(&order)?;
    }
    console::write_stdout(&render(arguments.json, &layers, Some((&ended, &omitted))))?;
    let succeeded = ended.exit == CommandExit::Code(0) && ended.stopped.is_none();
    Ok(if succeeded { Exit::Pass } else { Exit::Fail })
}

/// The document, or lines for a person. What the command printed is shown with nothing in it that could act.
fn render(
    as_json: bool,
    layers: &Layers,
    ended: Option<(&CommandOutcome, &[(RepoPath, Omitted)])>,
) -> Vec<u8> {
    if as_json {
        let mut document = json!({ "layers": {
            "landlockAbi": layers.landlock_abi,
            "identity": layers.identity.as_str(),
            "seccomp": true,
            "sharedMemory": layers.shared_memory.as_str(),
            "residuals": layers.residuals,
        }});
        if let Some((ended, omitted)) = ended {
            let left_out =
                |(path, reason): &(RepoPath, Omitted)| json!({ "path": path, "reason": reason.as_str() });
            document["omitted"] = omitted.iter().map(left_out).collect();
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
        return inert(&format!("{document:#}\n"), "\\u0023#[").into_bytes();
    }
    let mut text =
        format!("fence       Landlock {}, seccomp, {}\n", layers.landlock_abi, layers.identity.as_str());
    text.push_str(&format!("/dev/shm    {}\n", shared(layers.shared_memory)));
    for residual in &layers.residuals {
        text.push_str(&format!("not held    {residual}\n"));
    }
    let Some((ended, omitted)) = ended else { return text.into_bytes() };
    for (path, reason) in omitted {
        text.push_str(&format!("left out    {path} ({})\n", reason.as_str()));
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
            text.push_str(&format!("  | {}\n", inert(&visible(line), "#\\u{23}[")));
        }
    }
    text.into_bytes()
}

fn shared(memory: SharedMemory) -> &'static str {
    match memory {
        SharedMemory::Own => "of each command's own, as large as its memory",
        SharedMemory::Machine => "of this machine, unless larger than a command's memory",
        SharedMemory::Nothing => "none",
    }
}

/// The runner of GitHub Actions obeys what begins so, wherever in a line it stands.
fn inert(text: &str, instead: &str) -> String {
    text.replace("##[", instead)
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
