//! The process between the program and a command: starts the command, adopts its orphans and kills all of its processes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, Uid};

use super::inside;
use super::job::{Job, KEEPER, Purpose, Report, receive_job, send_report};
use super::usage::descendants;
use super::users::KILLER;

/// Time limit for processes to disappear after they were killed. The kernel needs milliseconds.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Interval at which killing is repeated.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Runs as a supervisor if the arguments ask for it, and returns its exit code. `main` calls it first: it forks, so there
/// must be no other thread.
pub fn run_supervisor(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != KEEPER || arguments.next().is_some() {
        return None;
    }
    // The socket reports failures to the program, or closes without a report.
    Some(if supervise().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn supervise() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    nix::unistd::dup2_stdin(&null)?;
    let job = receive_job(&mut control)?;
    if let Purpose::Command { input: Some(input), .. } = &job.purpose {
        nix::unistd::dup2_stdin(File::open(input)?)?;
    }
    // Signals of the terminal are for the program.
    nix::unistd::setsid()?;
    nix::sys::prctl::set_child_subreaper(true)?;
    nix::sys::prctl::set_dumpable(false)?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&children), None)?;
    let ended_children = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;

    let supervisor = nix::unistd::getpid();
    let command = fork(|| inside::enter(&job, &mut control, supervisor))?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;

    let mut supervised = Supervised { job: &job, command, status: None };
    while supervised.status.is_none() {
        if wait_for(control.as_fd(), &ended_children, PollTimeout::NONE)? {
            break;
        }
        supervised.reap()?;
    }
    let left_behind = supervised.reap()? && supervised.status.is_some();
    let survivors = !supervised.end_all(&ended_children)?;
    let (code, signal) = match supervised.status {
        Some(WaitStatus::Exited(_, code)) => (Some(code), None),
        Some(WaitStatus::Signaled(_, signal, _)) => (None, Some(signal as i32)),
        _ => (None, None),
    };
    send_report(&mut control, &Report::Ended { code, signal, left_behind, survivors })
}

/// Runs a function in a child process that ends with it.
fn fork(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    #[expect(unsafe_code, reason = "there is no safe fork; this process has one thread")]
    // SAFETY: `main` becomes the supervisor before it starts any thread, so the child may do whatever its parent may.
    let forked = unsafe { nix::unistd::fork() }?;
    match forked {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => std::process::exit(child()),
    }
}

/// Waits until a child ends or the timeout passes. Returns whether the program closed its end of the socket.
fn wait_for(control: BorrowedFd<'_>, children: &SignalFd, timeout: PollTimeout) -> io::Result<bool> {
    let mut watched =
        [PollFd::new(control, PollFlags::POLLIN), PollFd::new(children.as_fd(), PollFlags::POLLIN)];
    match poll(&mut watched, timeout) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    // The program sends nothing after the job, so an event means that it closed its end.
    let stop = watched[0].any().unwrap_or(true);
    while let Ok(Some(_)) = children.read_signal() {}
    Ok(stop)
}

struct Supervised<'a> {
    job: &'a Job,
    command: Pid,
    /// Exit of the command, once it ended.
    status: Option<WaitStatus>,
}

impl Supervised<'_> {
    /// Waits for every child that ended. Returns whether others still run.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return Ok(true),
                Ok(status) if status.pid() == Some(self.command) => self.status = Some(status),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::ECHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills until no child is left. This process adopts the command's orphans, so none of its processes is left then.
    fn end_all(&mut self, children: &SignalFd) -> io::Result<bool> {
        let begin = Instant::now();
        while self.reap()? {
            if begin.elapsed() > GONE_WITHIN {
                return Ok(false);
            }
            self.kill_once()?;
            let round = Instant::now();
            while self.reap()? && round.elapsed() < AGAIN_AFTER {
                let mut watched = [PollFd::new(children.as_fd(), PollFlags::POLLIN)];
                let _interrupted_is_as_good = poll(&mut watched, PollTimeout::from(5u8));
                while let Ok(Some(_)) = children.read_signal() {}
            }
        }
        Ok(true)
    }

    fn kill_once(&self) -> io::Result<()> {
        if let Some(user) = self.job.user {
            fork(|| kill_user(user)).map(|_| ())
        } else {
            // Without a private user only the process tree is known; the caller repeats this until it is empty.
            for process in descendants(std::process::id()) {
                if let Ok(process) = i32::try_from(process) {
                    let _already_gone = kill(Pid::from_raw(process), Signal::SIGKILL);
                }
            }
            Ok(())
        }
    }
}

/// Kills every process of a user at once. In the kernel this is one step, so forking faster does not help.
///
/// The killer has the user's id only where the kernel checks the sender of a signal. As a receiver it has another, so the
/// processes cannot kill it.
fn kill_user(user: u32) -> i32 {
    let killer = Uid::from_raw(KILLER);
    if nix::unistd::setgroups(&[]).is_err()
        || nix::unistd::setresuid(killer, Uid::from_raw(user), killer).is_err()
        || !inside::has_no_capabilities()
    {
        return 1;
    }
    i32::from(kill(Pid::from_raw(-1), Signal::SIGKILL).is_err())
}
