//! Validates an order and prepares its user, directories and environment.

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
/// Variables that an order cannot set.
const FIXED: &[&str] = &["HOME", "TMPDIR", "LC_ALL", "TZ", "LOGNAME", "USER", "PWD"];

/// User of commands on this machine.
pub(super) fn identity() -> Identity {
    if nix::unistd::geteuid().is_root() { Identity::Private } else { Identity::Own }
}

/// Claims a private user for the worktree's commands, if this process may change users.
pub(super) fn take_user(worktree: &Path) -> io::Result<Option<PrivateUser>> {
    match identity() {
        Identity::Private => PrivateUser::claim(worktree).map(Some),
        Identity::Own => Ok(None),
    }
}

/// Gives a directory to a private user, if there is one.
pub(super) fn own(directory: &Path, user: Option<&PrivateUser>) -> io::Result<()> {
    match user {
        Some(user) => users::give(directory, user.id),
        None => Ok(()),
    }
}

/// Returns the message to the supervisor.
pub(super) fn job(
    purpose: Purpose,
    user: Option<&PrivateUser>,
    network: bool,
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    limits: &CommandLimits,
) -> Job {
    let cores = match std::thread::available_parallelism() {
        Ok(cores) => cores.get() as u64,
        Err(_) => 1,
    };
    // Without a private user, the kernel counts all processes of this user.
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

/// A prepared order. Its user and private directories are released when it is dropped.
pub(super) struct Prepared {
    pub(super) job: Job,
    user: Option<PrivateUser>,
    home: PathBuf,
    temporary: PathBuf,
}

impl Prepared {
    pub(super) fn new(order: &Order<'_>) -> Result<Self, SandboxError> {
        let directory = check(order)?;
        let user = take_user(order.worktree).map_err(|error| broken("claim a user", &error))?;
        let (home, temporary) = (order.private.join("home"), order.private.join("tmp"));
        for path in [&home, &temporary] {
            remove_tree(path).map_err(|error| broken("empty the private directory", &error))?;
            fs::DirBuilder::new()
                .mode(0o700)
                .create(path)
                .map_err(|error| broken("create a home", &error))?;
            own(path, user.as_ref()).map_err(|error| broken("change the owner of a home", &error))?;
        }
        own(order.worktree, user.as_ref())
            .map_err(|error| broken("change the owner of the worktree", &error))?;
        let purpose = Purpose::Command {
            argv: order.argv.to_vec(),
            directory,
            input: order.input.map(Path::to_owned),
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

    /// Fails if processes of the private user are left, independently of the supervisor's report.
    pub(super) fn check_gone(&self) -> Result<(), SandboxError> {
        let Some(user) = &self.user else { return Ok(()) };
        match users::has_processes(user.id) {
            Ok(false) => Ok(()),
            Ok(true) => Err(SandboxError::Survivors(format!("processes of user {} are left", user.id))),
            Err(error) => Err(SandboxError::Survivors(format!("its processes could not be listed: {error}"))),
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

/// Validates an order and returns its working directory.
fn check(order: &Order<'_>) -> Result<PathBuf, SandboxError> {
    let Some(program) = order.argv.first() else { return refuse("it names no program") };
    if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
        return refuse(format!("the program {program} is neither a name nor an absolute path"));
    }
    if order.argv.iter().any(|word| word.contains('\0')) {
        return refuse("an argument contains a NUL byte");
    }
    let given = [order.worktree, order.private].into_iter().chain(order.input);
    for path in order.readable.iter().map(PathBuf::as_path).chain(given) {
        if !is_plain(path) {
            return refuse(format!("{} is not a plain absolute path below /", path.display()));
        }
    }
    if order.private.starts_with(order.worktree) || order.worktree.starts_with(order.private.join("home")) {
        return refuse("the worktree and the private directory contain each other");
    }
    let mut directory = order.worktree.to_owned();
    check_directory(&directory)?;
    for part in Path::new(order.cwd).components() {
        let Component::Normal(name) = part else {
            return refuse(format!("its working directory {} is outside the worktree", order.cwd));
        };
        directory.push(name);
        check_directory(&directory)?;
    }
    Ok(directory)
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, SandboxError> {
    Err(SandboxError::Order(reason.into()))
}

fn check_directory(directory: &Path) -> Result<(), SandboxError> {
    match fs::symlink_metadata(directory) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) | Err(_) => refuse(format!("{} is not a directory", directory.display())),
    }
}

/// Returns the error of a step that failed for a reason other than the order.
pub(super) fn broken(step: &str, error: &io::Error) -> SandboxError {
    SandboxError::Broken(format!("{step}: {error}"))
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
    let mut all = vec![
        ("HOME".to_owned(), utf8(home)?),
        ("TMPDIR".to_owned(), utf8(temporary)?),
        ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
        ("LOGNAME".to_owned(), "qa-skill".to_owned()),
        ("TZ".to_owned(), "UTC".to_owned()),
        ("USER".to_owned(), "qa-skill".to_owned()),
    ];
    if !order.environment.iter().any(|(name, _)| name == "PATH") {
        all.push(("PATH".to_owned(), PATH.to_owned()));
    }
    for (name, value) in order.environment {
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            || FIXED.contains(&name.as_str())
            || value.contains('\0')
        {
            return Err(SandboxError::Order(format!("the variable {name} cannot be set")));
        }
        if name == "PATH" && !value.split(':').all(|part| is_outside(order, Path::new(part))) {
            return refuse("PATH has an entry that is not absolute or that the change can write to");
        }
        all.push((name.clone(), value.clone()));
    }
    Ok(all)
}

fn utf8(path: &Path) -> Result<String, SandboxError> {
    path.to_str().map(str::to_owned).ok_or_else(|| SandboxError::Order("a path is not UTF-8".to_owned()))
}

/// Returns whether a path is absolute, and outside the directories that a command can write to.
fn is_outside(order: &Order<'_>, path: &Path) -> bool {
    is_plain(path) && !path.starts_with(order.worktree) && !path.starts_with(order.private)
}

/// Prefix of the names of directories for the self-test.
const PREFIX: &str = "qa-skill-fence-";

/// A directory inside the sandbox and one outside, for the self-test.
pub(super) struct Bait {
    pub(super) tree: PathBuf,
    pub(super) outside: PathBuf,
    _room: ScratchDirectory,
}

impl Bait {
    pub(super) fn lay(scratch: &Path) -> io::Result<Self> {
        sweep(scratch, PREFIX);
        let room = ScratchDirectory::create(scratch, PREFIX, Readers::Owner)?;
        set_mode(room.path(), 0o755)?;
        let (tree, outside) = (room.path().join("inside"), room.path().join("outside"));
        fs::create_dir(&tree)?;
        fs::create_dir(&outside)?;
        set_mode(&outside, 0o777)?;
        fs::write(outside.join("bait"), "bait")?;
        set_mode(&outside.join("bait"), 0o666)?;
        Ok(Self { tree, outside, _room: room })
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
