//! The layers of the sandbox, in the order in which a process applies them to itself.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Pid, Uid};

use super::job::{Job, Purpose, Report, send_report};
use super::shared_memory::{self, Provided, SHARED_MEMORY};
use super::{probe, syscalls};

/// System paths that commands may read and execute. `/usr` is not allowed as a whole, since sources may be checked out in
/// it, and of `/etc` only files that programs look up.
pub(super) const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/include",
    "/usr/share",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/usr/local/include",
    "/usr/local/share",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// Files that are only needed to resolve other machines.
const SYSTEM_FOR_NETWORK: &[&str] = &["/etc/gai.conf", "/etc/resolv.conf", "/run/systemd/resolve"];
const DEVICES: &[&str] = &["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];
/// Oldest sufficient Landlock version: before it, files outside can be truncated.
const FLOOR: ABI = ABI::V3;
/// OOM score that makes the kernel kill the command first.
const OOM_SCORE: &[u8] = b"1000";

/// Reason why the command was not started.
enum Stopped {
    Layer { layer: &'static str, reason: String },
    Unusable(String),
}

fn layer(layer: &'static str) -> impl Fn(nix::Error) -> Stopped {
    move |error| Stopped::Layer { layer, reason: error.desc().to_owned() }
}

/// Applies every layer to this process and executes the command. Returns an exit status only if that fails; the socket
/// reports the failure to the program.
pub(super) fn enter(job: &Job, control: &mut UnixStream, supervisor: Pid) -> i32 {
    let report = match apply_layers(job, supervisor) {
        Ok(landlock_abi) => {
            if send_report(control, &Report::Fenced { landlock_abi }).is_err() {
                return 125;
            }
            execute(job)
        }
        Err(Stopped::Layer { layer, reason }) => Report::Refused { layer: layer.to_owned(), reason },
        Err(Stopped::Unusable(reason)) => Report::Unusable { reason },
    };
    let _the_program_misses_it = send_report(control, &report);
    125
}

fn apply_layers(job: &Job, supervisor: Pid) -> Result<u32, Stopped> {
    nix::unistd::setsid().map_err(layer("session"))?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None).map_err(layer("session"))?;
    umask(Mode::from_bits_truncate(0o022));
    prefer_for_oom();
    close_others_on_exec()?;
    limit(job)?;
    // Before the change of user, which drops the right to mount.
    let shared_memory = shared_memory::provide(job);
    if job.own_shared_memory && shared_memory != Provided::Own {
        let reason = "it cannot be mounted".to_owned();
        return Err(Stopped::Layer { layer: "shared memory", reason });
    }
    if let Some(user) = job.user {
        become_user(user)?;
    } else if nix::unistd::geteuid().is_root() {
        return Err(Stopped::Layer { layer: "private uid", reason: "root has no private user".to_owned() });
    }
    // After the change of user, which clears it.
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(layer("parent death signal"))?;
    if nix::unistd::getppid() != supervisor {
        let reason = "the supervisor is gone".to_owned();
        return Err(Stopped::Layer { layer: "parent death signal", reason });
    }
    nix::sys::prctl::set_no_new_privs().map_err(layer("no new privileges"))?;
    nix::sys::prctl::set_dumpable(false).map_err(layer("not dumpable"))?;
    if !has_no_capabilities() {
        return Err(Stopped::Layer { layer: "capabilities", reason: "not all were dropped".to_owned() });
    }
    let abi = restrict_files(job, shared_memory)?;
    syscalls::restrict(job.network)
        .map_err(|reason| Stopped::Layer { layer: "seccomp", reason })
        .map(|()| abi)
}

/// Makes the kernel kill the command first when memory runs out. A kernel that refuses keeps its own choice.
fn prefer_for_oom() {
    if let Ok(mut file) = OpenOptions::new().write(true).open("/proc/self/oom_score_adj") {
        let _not_ours_to_choose = file.write_all(OOM_SCORE);
    }
}

/// Marks every descriptor except standard input, output and error as close-on-exec.
fn close_others_on_exec() -> Result<(), Stopped> {
    #[expect(unsafe_code, reason = "no crate in use wraps close_range")]
    // SAFETY: the call takes three numbers and changes no descriptor now, only which of them survive an exec.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3 as libc::c_uint,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC as libc::c_uint,
        )
    };
    if result == 0 { Ok(()) } else { Err(layer("open files")(nix::Error::last())) }
}

fn limit(job: &Job) -> Result<(), Stopped> {
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_CPU, job.cpu_seconds),
        (Resource::RLIMIT_FSIZE, job.file_bytes),
        (Resource::RLIMIT_NOFILE, job.open_files),
        (Resource::RLIMIT_NPROC, job.processes),
        (Resource::RLIMIT_MSGQUEUE, 0),
    ];
    for (resource, wanted) in limits {
        let (_, most) = nix::sys::resource::getrlimit(resource).map_err(layer("limits"))?;
        let value = wanted.min(most);
        setrlimit(resource, value, value).map_err(layer("limits"))?;
    }
    Ok(())
}

fn become_user(user: u32) -> Result<(), Stopped> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    for pipe in [std::io::stdout().as_fd(), std::io::stderr().as_fd()] {
        give_pipe(pipe, uid, gid)?;
    }
    nix::unistd::setgroups(&[]).map_err(layer("private uid"))?;
    nix::unistd::setresgid(gid, gid, gid).map_err(layer("private uid"))?;
    nix::unistd::setresuid(uid, uid, uid).map_err(layer("private uid"))?;
    let now = nix::unistd::getresuid().map_err(layer("private uid"))?;
    if (now.real, now.effective, now.saved) != (uid, uid, uid)
        || nix::unistd::setuid(Uid::from_raw(0)).is_ok()
    {
        let reason = "the change of user did not last".to_owned();
        return Err(Stopped::Layer { layer: "private uid", reason });
    }
    Ok(())
}

/// Gives a pipe to the user: programs open `/dev/stdout` by name, which needs its ownership.
fn give_pipe(pipe: BorrowedFd<'_>, uid: Uid, gid: Gid) -> Result<(), Stopped> {
    nix::unistd::fchown(pipe, Some(uid), Some(gid)).map_err(layer("private uid"))
}

/// Returns whether this process has no more privileges than an ordinary one.
pub(super) fn has_no_capabilities() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    ["CapEff:", "CapPrm:", "CapAmb:"].iter().all(|set| is_empty_set(&status, set))
}

fn is_empty_set(status: &str, set: &str) -> bool {
    match status.lines().find_map(|line| line.strip_prefix(set)) {
        Some(digits) => digits.trim().bytes().all(|digit| digit == b'0'),
        None => false,
    }
}

fn landlock_error(error: landlock::RulesetError) -> Stopped {
    Stopped::Layer { layer: "landlock", reason: error.to_string() }
}

fn restrict_files(job: &Job, shared_memory: Provided) -> Result<u32, Stopped> {
    let all = AccessFs::from_all(ABI::V9);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FLOOR))
        .map_err(landlock_error)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .map_err(landlock_error)?
        .scope(Scope::from_all(ABI::V9))
        .map_err(landlock_error)?;
    if !job.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V9)).map_err(landlock_error)?;
    }
    let mut ruleset = ruleset.create().map_err(landlock_error)?;
    let read = AccessFs::from_read(ABI::V9);
    let devices_excepted =
        AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::ResolveUnix;
    let write = all & !devices_excepted;
    let for_network: &[&str] = if job.network { SYSTEM_FOR_NETWORK } else { &[] };
    for path in SYSTEM.iter().chain(for_network) {
        ruleset = allow_where_present(ruleset, Path::new(path), read)?;
    }
    for path in DEVICES {
        ruleset = allow_where_present(ruleset, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    if shared_memory != Provided::Nothing {
        ruleset = allow_where_present(ruleset, Path::new(SHARED_MEMORY), write & !AccessFs::Execute)?;
    }
    let named = job.readable.iter().map(|path| (path, read));
    for (path, access) in named.chain(job.writable.iter().map(|path| (path, write))) {
        ruleset = allow(ruleset, path, access)?.ok_or_else(|| unusable(path, "it does not exist"))?;
    }
    let status = ruleset.restrict_self().map_err(landlock_error)?;
    if let LandlockStatus::Available { effective_abi, .. } = status.landlock
        && status.ruleset != RulesetStatus::NotEnforced
        && effective_abi >= FLOOR
    {
        return Ok(effective_abi as u32);
    }
    Err(Stopped::Layer { layer: "landlock", reason: "the kernel does not enforce it".to_owned() })
}

fn allow_where_present(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Stopped> {
    if std::fs::metadata(path).is_err() {
        return Ok(ruleset);
    }
    allow(ruleset, path, access)?.ok_or_else(|| unusable(path, "it was removed"))
}

/// Allows access to a path; returns `None` if the path does not exist.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<Option<RulesetCreated>, Stopped> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(path, &format!("the command's user cannot reach it: {error}"))),
    };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(ABI::V9) };
    let opened = PathFd::new(path).map_err(|error| unusable(path, &error.to_string()))?;
    let added = ruleset.add_rule(PathBeneath::new(opened, access));
    added.map(Some).map_err(landlock_error)
}

fn unusable(path: &Path, reason: &str) -> Stopped {
    Stopped::Unusable(format!("{}: {reason}", path.display()))
}

/// Executes the command, or runs the probes. Returns only if there is no command, or if it could not be started.
fn execute(job: &Job) -> Report {
    match &job.purpose {
        Purpose::Probe { outside, program, shared_memory } => {
            Report::Probed(probe::run(outside, &job.writable, *program, *shared_memory))
        }
        Purpose::Command { argv, directory, environment, input: _ } => {
            let Some((program, arguments)) = argv.split_first() else {
                return Report::NotStarted { reason: "there is no program".to_owned() };
            };
            #[expect(clippy::disallowed_methods, reason = "this is the sandbox")]
            let mut command = std::process::Command::new(program);
            command.args(arguments).env_clear().current_dir(directory);
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            // It also sets signals back to what programs expect.
            Report::NotStarted { reason: command.exec().to_string() }
        }
    }
}
