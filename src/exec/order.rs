//! Makes an order ready to be carried out: what it may reach, as whom, with which variables.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::job::{Job, Purpose};
use super::remove::remove_tree;
use super::users::{self, PrivateUser};
use super::watch::Watched;
use crate::scratch::{Readers, ScratchDirectory, sweep};
use qa_run::commands::{CommandLimits, Identity, Order, SandboxError};

/// Search path of programs, if an order has none.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Variables that are ours to set.
const FIXED: &[&str] = &["HOME", "TMPDIR", "LC_ALL", "TZ", "LOGNAME", "USER", "PWD"];

/// User of commands on this machine.
pub(super) fn identity() -> Identity {
    if nix::unistd::geteuid().is_root() { Identity::Private } else { Identity::Own }
}

/// A user for the worktree's commands, when we are somebody who can give one.
pub(super) fn take_user(worktree: &Path) -> io::Result<Option<PrivateUser>> {
    match identity() {
        Identity::Private => PrivateUser::take(worktree).map(Some),
        Identity::Own => Ok(None),
    }
}

/// Lets the user have a directory, when there is one.
pub(super) fn own(directory: &Path, user: Option<&PrivateUser>) -> io::Result<()> {
    user.map_or(Ok(()), |user| users::give(directory, user.id))
}

/// Message to the supervisor.
pub(super) fn job(
    purpose: Purpose,
    user: Option<&PrivateUser>,
    network: bool,
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    limits: &CommandLimits,
) -> Job {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    // Without a user of its own, the kernel counts whatever else this one runs.
    let others = if user.is_some() { 0 } else { super::usage::threads_of(nix::unistd::getuid().as_raw()) };
    Job {
        purpose,
        user: user.map(|user| user.id),
        network,
        writable,
        readable,
        own_shared_memory: false,
        memory_bytes: limits.memory_bytes,
        processes: limits.processes.saturating_add(others),
        open_files: limits.open_files,
        file_bytes: limits.file_bytes,
        cpu_seconds: limits.wall.as_secs().saturating_add(1).saturating_mul(cores),
    }
}

/// An order whose user, directories and variables are there. They go away with it, but for the worktree.
pub(super) struct Prepared {
    pub(super) job: Job,
    user: Option<PrivateUser>,
    home: PathBuf,
    temporary: PathBuf,
}

impl Prepared {
    pub(super) fn new(order: &Order<'_>) -> Result<Self, SandboxError> {
        let directory = check(order)?;
        let broken = |what: &str, error: io::Error| SandboxError::Broken(format!("{what}: {error}"));
        let user = take_user(order.worktree).map_err(|error| broken("take a user", error))?;
        let (home, temporary) = (order.private.join("home"), order.private.join("tmp"));
        for path in [&home, &temporary] {
            remove_tree(path).map_err(|error| broken("empty the private directory", error))?;
            fs::DirBuilder::new().mode(0o700).create(path).map_err(|error| broken("make a home", error))?;
            own(path, user.as_ref()).map_err(|error| broken("give a home", error))?;
        }
        own(order.worktree, user.as_ref()).map_err(|error| broken("give the worktree", error))?;
        let purpose = Purpose::Command {
            argv: order.argv.to_vec(),
            directory,
            environment: environment(order, &home, &temporary)?,
        };
        let writable = vec![order.worktree.to_owned(), home.clone(), temporary.clone()];
        let job =
            job(purpose, user.as_ref(), order.network, writable, order.readable.to_vec(), &order.limits);
        Ok(Self { job, user, home, temporary })
    }

    pub(super) fn watched<'a>(&'a self, order: &Order<'a>) -> Watched<'a> {
        let directories = vec![order.worktree, &self.home, &self.temporary];
        Watched { limits: order.limits, directories }
    }

    /// A second opinion on whether everything is gone, from somebody who did not do it.
    pub(super) fn check_gone(&self) -> Result<(), SandboxError> {
        let Some(user) = &self.user else { return Ok(()) };
        match users::has_processes(user.id) {
            Ok(false) => Ok(()),
            Ok(true) => Err(SandboxError::Survivors(format!("processes of user {} are left", user.id))),
            Err(error) => Err(SandboxError::Survivors(format!(
                "the end of its processes could not be confirmed: {error}"
            ))),
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        for path in [&self.home, &self.temporary] {
            let _removed_with_the_private_directory = remove_tree(path);
        }
        if let Some(user) = &self.user {
            users::remove_shared_memory(user.id);
        }
    }
}

/// Checks everything that can be wrong with an order, and gives the directory it starts in.
fn check(order: &Order<'_>) -> Result<PathBuf, SandboxError> {
    let wrong = |text: String| Err(SandboxError::Order(text));
    let Some(program) = order.argv.first() else { return wrong("it names no program".to_owned()) };
    if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
        return wrong(format!("the program {program} is neither a name nor an absolute path"));
    }
    if order.argv.iter().any(|word| word.contains('\0')) {
        return wrong("a word of it has a NUL".to_owned());
    }
    for path in order.readable.iter().map(PathBuf::as_path).chain([order.worktree, order.private]) {
        if !is_plain(path) {
            return wrong(format!("{} is not a plain absolute path below /", path.display()));
        }
    }
    if order.private.starts_with(order.worktree) || order.worktree.starts_with(order.private.join("home")) {
        return wrong("the worktree and the private directory hold one another".to_owned());
    }
    let mut directory = order.worktree.to_owned();
    let inside = Path::new(order.cwd).components().map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    for name in std::iter::once(None).chain(inside.map(Some)) {
        match name {
            None => {}
            Some(None) => return wrong(format!("it starts in {}, outside the worktree", order.cwd)),
            Some(Some(name)) => directory.push(name),
        }
        if !fs::symlink_metadata(&directory).is_ok_and(|metadata| metadata.is_dir()) {
            return wrong(format!("{} is not a directory", directory.display()));
        }
    }
    Ok(directory)
}

fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && path.parent().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn environment(
    order: &Order<'_>,
    home: &Path,
    temporary: &Path,
) -> Result<Vec<(String, String)>, SandboxError> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| SandboxError::Order("a path is not UTF-8".to_owned()))
    };
    let mut all = vec![
        ("HOME".to_owned(), text(home)?),
        ("TMPDIR".to_owned(), text(temporary)?),
        ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
        ("LOGNAME".to_owned(), "qa-skill".to_owned()),
        ("TZ".to_owned(), "UTC".to_owned()),
        ("USER".to_owned(), "qa-skill".to_owned()),
    ];
    if !order.environment.iter().any(|(name, _)| name == "PATH") {
        all.push(("PATH".to_owned(), PATH.to_owned()));
    }
    for (name, value) in order.environment {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty()
            || !name.bytes().all(known)
            || FIXED.contains(&name.as_str())
            || value.contains('\0')
        {
            return Err(SandboxError::Order(format!("the variable {name} cannot be set")));
        }
        if name == "PATH" {
            let outside = |part: &str| {
                let part = Path::new(part);
                is_plain(part) && !part.starts_with(order.worktree) && !part.starts_with(order.private)
            };
            if !value.split(':').all(outside) {
                let message = "PATH has a part that is not absolute or that the change can write to";
                return Err(SandboxError::Order(message.to_owned()));
            }
        }
        all.push((name.clone(), value.clone()));
    }
    Ok(all)
}

/// Begin of the names of directories for the self-test.
const PREFIX: &str = "qa-skill-fence-";

/// A directory inside the fence and one outside, for the self-test.
pub(super) struct Bait {
    pub(super) tree: PathBuf,
    pub(super) outside: PathBuf,
    _room: ScratchDirectory,
}

impl Bait {
    pub(super) fn lay(scratch: &Path) -> io::Result<Self> {
        sweep(scratch, PREFIX);
        let room = ScratchDirectory::create(scratch, PREFIX, Readers::Owner)?;
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        mode(room.path(), 0o755)?;
        let (tree, outside) = (room.path().join("inside"), room.path().join("outside"));
        fs::create_dir(&tree)?;
        fs::create_dir(&outside)?;
        mode(&outside, 0o777)?;
        fs::write(outside.join("bait"), "bait")?;
        mode(&outside.join("bait"), 0o666)?;
        Ok(Self { tree, outside, _room: room })
    }
}
