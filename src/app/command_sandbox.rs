//! Workspaces for the commands of gates: the commit's tree in a room of the fence, with the policy's toolchains.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::exec::{Fence, Provided, Room, Toolchains};
use crate::git::{OpenRepository, TreeLimits};
use crate::paths::list_files;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::PolicyToolchain;
use qa_core::escape::visible;
use qa_core::policy::Policy;
use qa_gates::is_leftover;
use qa_run::commands::{
    Captured, CommandLimits, CommandOutcome, CommandSandbox, CommandWorkspace, Layers, Order, Refusal,
    Sandbox, SandboxError,
};
use qa_run::ports::Cancellation;

/// Parent directory of workspaces; every user may enter it.
const SCRATCH: &str = "/tmp";
/// Variable with the directories in which the linker looks for shared libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Creates the workspaces of one run's commands.
pub(super) struct FencedCommandSandbox<'a> {
    fence: Fence,
    repository: &'a OpenRepository,
    toolchains: Vec<PolicyToolchain>,
    environment: Vec<(String, String)>,
    network: bool,
}

impl<'a> FencedCommandSandbox<'a> {
    pub(super) fn new(
        policy: &Policy,
        repository: &'a OpenRepository,
        cancellation: &Arc<Cancellation>,
    ) -> Self {
        let execution = &policy.execution;
        // Keeps tools from prompts, new snapshots and colours.
        let mut environment =
            vec![("CI".to_owned(), "true".to_owned()), ("NO_COLOR".to_owned(), "1".to_owned())];
        environment.retain(|(name, _)| !execution.environment.contains_key(name));
        environment.extend(execution.environment.clone());
        Self {
            fence: Fence::new(PathBuf::from(SCRATCH), Arc::clone(cancellation)),
            repository,
            toolchains: execution.toolchains.clone(),
            environment,
            network: execution.network(),
        }
    }
}

impl CommandSandbox for FencedCommandSandbox<'_> {
    fn layers(&self) -> Result<Layers, Refusal> {
        self.fence.self_test()
    }

    fn open(&self, commit: &CommitId) -> Result<Box<dyn CommandWorkspace + '_>, SandboxError> {
        let room = Room::make(Path::new(SCRATCH)).map_err(|error| broken("create the workspace", &error))?;
        self.repository
            .write_tree(commit, &room.tree, TreeLimits::default(), is_leftover)
            .map_err(|error| broken("write the tree", &error))?;
        let provided = Toolchains::find(&self.toolchains, &self.repository.root)?.provide(&room)?;
        let mut environment = self.environment.clone();
        environment.push(("PATH".to_owned(), provided.path.clone()));
        if !provided.library_path.is_empty() && !environment.iter().any(|(name, _)| name == LIBRARY_PATH) {
            environment.push((LIBRARY_PATH.to_owned(), provided.library_path.clone()));
        }
        Ok(Box::new(FencedWorkspace { command_sandbox: self, room, provided, environment }))
    }
}

fn broken(step: &str, error: &dyn std::fmt::Display) -> SandboxError {
    SandboxError::Broken(visible(&format!("{step}: {error}")))
}

/// A workspace, which is removed when it is dropped.
struct FencedWorkspace<'a> {
    command_sandbox: &'a FencedCommandSandbox<'a>,
    room: Room,
    provided: Provided,
    environment: Vec<(String, String)>,
}

impl CommandWorkspace for FencedWorkspace<'_> {
    fn tree(&self) -> &Path {
        &self.room.tree
    }

    fn root(&self) -> &Path {
        &self.room.private
    }

    fn find_program(&self, program: &str) -> Result<PathBuf, SandboxError> {
        self.provided.find(program)
    }

    fn run(
        &self,
        argv: &[String],
        directory: &str,
        limits: &CommandLimits,
    ) -> Result<CommandOutcome, SandboxError> {
        if let Some(outcome) = crate::faults::command() {
            return Ok(outcome);
        }
        self.command_sandbox.fence.run(&Order {
            argv,
            cwd: directory,
            worktree: &self.room.tree,
            private: &self.room.private,
            network: self.command_sandbox.network,
            readable: &self.provided.readable,
            input: None,
            environment: &self.environment,
            limits: *limits,
        })
    }

    fn list_files(&self, directory: &str) -> Result<Vec<String>, SandboxError> {
        list_files(&self.room.tree, directory)
            .map_err(|error| broken(&format!("list the files of {directory}"), &error))
    }

    fn read_output_file(&self, path: &str, max_bytes: u64) -> Result<Option<Captured>, SandboxError> {
        self.room
            .read_output_file(path, max_bytes)
            .map_err(|error| broken(&format!("read the report {path}"), &error))
    }
}
