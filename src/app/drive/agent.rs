//! Runs the agent of a drive in a room of the sandbox.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::agent_words::{NamedAgents, no_program, plain, program_path};
use crate::app::exit::Failure;
use crate::config::provider_key;
use crate::exec::{Fence, Room, Toolchains};
use crate::git::{OmittedPath, OpenRepository, TreeLimits};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{DispatchEnvelope, DriveExit, DriveOutput, DriveStart, PolicyToolchain};
use qa_core::canonical;
use qa_core::escape::visible;
use qa_core::policy::Policy;
use qa_core::secrets;
use qa_run::commands::{Captured, CommandLimits, Exit, Order, Sandbox};
use qa_run::ports::Cancellation;

/// Parent directory of rooms; every user may enter it.
const SCRATCH: &str = "/tmp";
/// Name of the file with the envelope, in the room and outside of the tree.
const ENVELOPE: &str = "dispatch-envelope.json";
/// Bytes of an output that a session keeps: the last ones.
const KEPT_BYTES: usize = 16 << 10;

/// The agent of a drive, with its rights.
pub(super) struct Agent<'a> {
    argv: Vec<String>,
    readable: Vec<PathBuf>,
    declared: Vec<PolicyToolchain>,
    toolchains: Toolchains,
    network: bool,
    /// Variables that the policy names, with the values of this process.
    secrets: Vec<(String, Secret)>,
    turn: Duration,
    fence: Fence,
    cancellation: &'a Cancellation,
}

/// An agent that ended, with the room that it worked in.
pub(super) struct Ended {
    pub(super) exit: DriveExit,
    pub(super) stdout: DriveOutput,
    pub(super) stderr: DriveOutput,
    /// Standard output in which an answer is looked for, with secrets masked.
    pub(super) answer_text: String,
    /// Paths of the commit that are not in the tree.
    pub(super) omitted: Vec<OmittedPath>,
    room: Room,
}

impl Ended {
    /// The tree that the agent left.
    pub(super) fn tree(&self) -> &Path {
        &self.room.tree
    }
}

/// Returns the absolute path of something that exists. Links in it stay.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    fs::metadata(path)?;
    let plain = plain(path)?;
    // A link above `..` may have led elsewhere.
    fs::metadata(&plain)?;
    Ok(plain)
}

/// Fails unless the program of an agent is one that can be executed, where it is named by a path.
pub(super) fn check_program(agents: &NamedAgents, checkout: &Path) -> Result<(), Failure> {
    let Some(program) = agents.words.first() else { return Ok(()) };
    let Some(path) = program_path(program, checkout) else { return Ok(()) };
    let found = fs::metadata(&path).map_err(|_| no_program(&agents.named))?;
    match found.is_file() && found.mode() & 0o111 != 0 {
        true => Ok(()),
        false => {
            let message = format!("{} is not a file that can be executed", visible(&agents.named));
            Err(Failure::usage(message, "make it executable, as `chmod +x` does"))
        }
    }
}

impl<'a> Agent<'a> {
    /// Prepares an agent. A variable that the policy names and that is not set is left out.
    pub(super) fn new(
        start: &DriveStart,
        readable: &[PathBuf],
        policy: &Policy,
        checkout: &Path,
        cancellation: &'a Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for path in readable {
            let found = absolute(path).map_err(|error| {
                let message = format!("--readable {}: {error}", visible(&path.display().to_string()));
                Failure::usage(message, "name a file or directory that exists")
            })?;
            all.push(found);
        }
        let mut argv = start.agent.clone();
        let toolchains = Toolchains::find(&policy.execution.toolchains, checkout)?;
        if let Some(path) = program_path(&start.agent[0], checkout) {
            argv[0] = path.to_str().ok_or_else(|| no_program(&start.agent[0]))?.to_owned();
            all.push(path);
        } else if !toolchains.may_have(&start.agent[0]) {
            return Err(no_program(&start.agent[0]));
        }
        let names = start.limits.environment.iter();
        Ok(Self {
            argv,
            readable: all,
            declared: policy.execution.toolchains.clone(),
            toolchains,
            network: start.limits.network,
            secrets: names.filter_map(|name| Some((name.clone(), provider_key(name)?))).collect(),
            turn: Duration::from_secs(start.limits.turn_seconds),
            fence: Fence::new(PathBuf::from(SCRATCH), Arc::clone(cancellation)),
            cancellation,
        })
    }

    /// Directories of the tree that the agent did not make.
    pub(super) fn provided(&self) -> Vec<String> {
        let inside = self.declared.iter().filter(|toolchain| !toolchain.path.starts_with('/'));
        inside.map(|toolchain| toolchain.path.trim_end_matches('/').to_owned()).collect()
    }

    /// Runs the agent in the tree of a commit, to its end.
    pub(super) fn run(
        &self,
        repository: &OpenRepository,
        commit: &CommitId,
        envelope: &DispatchEnvelope,
    ) -> Result<Ended, Failure> {
        let room = Room::make(Path::new(SCRATCH)).map_err(|error| broken("create the room", &error))?;
        let omitted = repository.write_tree(commit, &room.tree, TreeLimits::default(), |_| false)?.omitted;
        let provided = self.toolchains.provide(&room)?;
        let file = room.private.join(ENVELOPE);
        write_envelope(&file, envelope)?;
        let mut argv = self.argv.clone();
        if !argv[0].contains('/') {
            argv[0] = provided.find(&argv[0])?.display().to_string();
        }
        let mut readable = provided.readable.clone();
        readable.extend(self.readable.iter().cloned());
        readable.push(file.clone());
        let environment = self.environment(&file, &provided.path, &provided.library_path);
        let outcome = self.fence.run(&Order {
            argv: &argv,
            cwd: "",
            worktree: &room.tree,
            private: &room.private,
            network: self.network,
            readable: &readable,
            input: Some(&file),
            environment: &environment,
            limits: CommandLimits { wall: self.turn, ..CommandLimits::default() },
        })?;
        self.cancellation.check()?;
        let (code, signal) = match outcome.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        let stopped = outcome.stopped.map(|stop| stop.as_str().to_owned());
        Ok(Ended {
            exit: DriveExit { code, signal, stopped },
            stdout: self.output(&outcome.stdout),
            stderr: self.output(&outcome.stderr),
            answer_text: self.masked(&outcome.stdout),
            omitted,
            room,
        })
    }

    fn environment(&self, envelope: &Path, path: &str, library_path: &str) -> Vec<(String, String)> {
        let mut all = vec![
            ("CI".to_owned(), "true".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("PATH".to_owned(), path.to_owned()),
            ("QA_SKILL_ENVELOPE".to_owned(), envelope.display().to_string()),
        ];
        if !library_path.is_empty() {
            all.push(("LD_LIBRARY_PATH".to_owned(), library_path.to_owned()));
        }
        all.extend(self.secrets.iter().map(|(name, secret)| (name.clone(), secret.expose().to_owned())));
        all
    }

    /// Returns an output as text, without secrets and without the values that the agent got.
    fn masked(&self, captured: &Captured) -> String {
        let mut text = captured.text();
        for (name, secret) in &self.secrets {
            text = text.replace(secret.expose(), &format!("[{name}]"));
        }
        secrets::masked(text)
    }

    fn output(&self, captured: &Captured) -> DriveOutput {
        let text = self.masked(captured);
        let mut from = text.len().saturating_sub(KEPT_BYTES);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        DriveOutput { bytes: captured.bytes, sha256: captured.sha256.clone(), text: text[from..].to_owned() }
    }
}

fn write_envelope(path: &Path, envelope: &DispatchEnvelope) -> Result<(), Failure> {
    let mut bytes = canonical::to_vec(envelope).map_err(|error| broken("write the envelope", &error))?;
    bytes.push(b'\n');
    let written =
        fs::write(path, bytes).and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o644)));
    written.map_err(|error| broken("write the envelope", &error))
}

fn broken(step: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::with_code(Code::ExecutionDenied, visible(&format!("failed to {step}: {error}")))
}

/// Time in which turns may begin.
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn after_minutes(minutes: u64) -> Self {
        Self(Instant::now() + Duration::from_secs(minutes * 60))
    }

    /// Moves the end by a time that does not count.
    pub(super) fn extend(&mut self, time: Duration) {
        self.0 += time;
    }

    pub(super) fn has_passed(&self) -> bool {
        Instant::now() >= self.0
    }
}
