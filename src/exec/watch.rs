//! Carries a job out: starts the supervisor, takes in outputs and reports, and ends what takes too long or too much.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::deleted::{Held, Hiding};
use super::job::{Job, KEEPER, Report, read_reports, send_job};
use super::memory::Memory;
use super::orphans::{end_orphans, forget_keeper, start_keeper};
use super::output::Intake;
use super::usage::{room_left, room_used};
use qa_run::commands::{Captured, CommandLimits, Stop};
use qa_run::ports::Cancellation;

/// Polling interval of the deadline and the limits.
const TICK: Duration = Duration::from_millis(25);
/// Minimum interval of measuring the tree, as a multiple of the time it takes.
const MEASURE_PAUSE: u32 = 20;
/// Time limit for the supervisor to end everything, longer than its own.
const SUPERVISOR_ENDS_WITHIN: Duration = Duration::from_secs(20);
/// More than any job has to report.
const MAX_REPORT_BYTES: usize = 1 << 20;

/// Limits that are checked while a command runs.
pub(super) struct Watched<'a> {
    pub(super) limits: CommandLimits,
    /// Directories that it can write to.
    pub(super) directories: Vec<&'a Path>,
}

/// Outcome of a job.
pub(super) struct Outcome {
    pub(super) reports: Vec<Report>,
    pub(super) stopped: Option<Stop>,
    /// True if processes are left that the supervisor did not end.
    pub(super) survivors: bool,
    /// Standard output and standard error.
    pub(super) outputs: [Captured; 2],
}

/// Carries out one job, to its end.
pub(super) fn carry_out(
    job: &Job,
    watched: &Watched<'_>,
    cancellation: &Cancellation,
) -> io::Result<Outcome> {
    let begin = Instant::now();
    let mut room = Room::new(watched, job.user);
    let mut memory = Memory::new(watched.limits.memory_bytes, job.user);
    let mut running = Running::start(job, &watched.limits)?;
    let mut stopped = None;
    let mut give_up = None;
    let mut buffer = vec![0; 64 << 10];
    while running.listens() {
        let too_much = running.take_in(&mut buffer)?;
        if stopped.is_none() {
            stopped = if too_much {
                Some(Stop::Output)
            } else if begin.elapsed() >= watched.limits.wall {
                Some(Stop::TimedOut)
            } else if cancellation.check().is_err() {
                Some(Stop::Cancelled)
            } else if room.is_full(running.supervisor.id()) {
                Some(Stop::Disk)
            } else {
                memory.is_full(running.supervisor.id()).then_some(Stop::Memory)
            };
            if stopped.is_some() {
                running.stop()?;
                give_up = Some(Instant::now() + SUPERVISOR_ENDS_WITHIN);
            }
        }
        if running.supervisor_is_gone() || give_up.is_some_and(|time| Instant::now() > time) {
            break;
        }
    }
    running.finish(stopped)
}

/// A supervisor at work.
struct Running {
    supervisor: Child,
    control: Option<UnixStream>,
    reports: Vec<u8>,
    stdout: Intake<ChildStdout>,
    stderr: Intake<ChildStderr>,
}

impl Running {
    fn start(job: &Job, limits: &CommandLimits) -> io::Result<Self> {
        let (mut control, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "the supervisor is this binary")]
        let mut command = Command::new("/proc/self/exe");
        command.arg(KEEPER).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut supervisor = start_keeper(&mut command)?;
        // The command holds a copy of the supervisor's end, which would keep the socket from ending.
        drop(command);
        send_job(&mut control, job)?;
        let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("the supervisor has no outputs"));
        };
        Ok(Self {
            supervisor,
            control: Some(control),
            reports: Vec::new(),
            stdout: Intake::new(stdout, limits.stdout_bytes),
            stderr: Intake::new(stderr, limits.stderr_bytes),
        })
    }

    /// Returns whether the supervisor may still report.
    fn listens(&self) -> bool {
        self.control.is_some() || self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// Returns whether a supervisor is gone without a report of its command's end. Then the command alone keeps the outputs
    /// open, and no process ends it.
    fn supervisor_is_gone(&self) -> bool {
        self.control.is_none() && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        let reports = read_reports(&self.reports).unwrap_or_default();
        reports.iter().any(|report| matches!(report, Report::Ended { .. }))
    }

    /// Waits for a tick, or until there is something to read, and reads it. Says whether an output has become too much.
    fn take_in(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let sources = [
            self.stdout.pipe.as_ref().map(AsFd::as_fd),
            self.stderr.pipe.as_ref().map(AsFd::as_fd),
            self.control.as_ref().map(AsFd::as_fd),
        ];
        let mut watched = Vec::new();
        let places = sources.map(|source| {
            source.map(|source| {
                watched.push(PollFd::new(source, PollFlags::POLLIN));
                watched.len() - 1
            })
        });
        let tick = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
        match poll(&mut watched, tick) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = places.map(|place| place.is_some_and(|place| watched[place].any().unwrap_or(true)));
        drop(watched);
        let mut too_much = false;
        if ready[0] {
            too_much |= self.stdout.take_some(buffer)?;
        }
        if ready[1] {
            too_much |= self.stderr.take_some(buffer)?;
        }
        if ready[2]
            && let Some(control) = &mut self.control
        {
            let count = control.read(buffer)?;
            self.reports.extend_from_slice(&buffer[..count]);
            if count == 0 || self.reports.len() > MAX_REPORT_BYTES {
                self.control = None;
            }
        }
        Ok(too_much)
    }

    /// Asks for the end: the supervisor sees that the program has nothing more to say.
    fn stop(&self) -> io::Result<()> {
        match &self.control {
            Some(control) => match control.shutdown(Shutdown::Write) {
                Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }

    fn finish(mut self, stopped: Option<Stop>) -> io::Result<Outcome> {
        // Nothing is open any more, or the supervisor had its time: it is over either way.
        let _ended_already = self.supervisor.kill();
        self.supervisor.wait()?;
        forget_keeper(self.supervisor.id());
        let survivors = !self.has_ended() && !end_orphans();
        let reports = read_reports(&self.reports)?;
        Ok(Outcome { reports, stopped, survivors, outputs: [self.stdout.finish(), self.stderr.finish()] })
    }
}

/// Disk space that a command may still use.
struct Room<'a> {
    user: Option<u32>,
    directories: &'a [&'a Path],
    most_more: u64,
    /// Usage before the command.
    before: Option<u64>,
    /// Additional usage at the last measurement.
    added: u64,
    /// Free bytes of the file systems before the command.
    left_before: u64,
    left_at_measure: u64,
    hiding: Hiding,
    measured: Instant,
    took: Duration,
}

impl<'a> Room<'a> {
    fn new(watched: &'a Watched<'_>, user: Option<u32>) -> Self {
        let begin = Instant::now();
        let before = room_used(&watched.directories).map(|used| used.bytes);
        let left = room_left(&watched.directories);
        Self {
            user,
            directories: &watched.directories,
            most_more: watched.limits.disk_bytes,
            before,
            added: 0,
            left_before: left,
            left_at_measure: left,
            hiding: Hiding::default(),
            measured: Instant::now(),
            took: begin.elapsed(),
        }
    }

    /// Measures the tree when the file system says that it may have grown a lot, and otherwise seldom.
    fn is_full(&mut self, supervisor: u32) -> bool {
        let Some(before) = self.before else { return true };
        let lost = self.left_at_measure.saturating_sub(room_left(self.directories));
        let suspicious = lost >= self.most_more.saturating_sub(self.added) / 2;
        let pause = (self.took * MEASURE_PAUSE).max(Duration::from_secs(1));
        if !suspicious && !self.hiding.is_suspected() && self.measured.elapsed() < pause {
            return false;
        }
        let begin = Instant::now();
        // First, so that a file that is deleted meanwhile does not count twice.
        let held = Held::by(supervisor, self.user).disk;
        let Some(used) = room_used(self.directories) else { return true };
        self.added = used.bytes.saturating_sub(before).saturating_add(held.bytes());
        self.left_at_measure = room_left(self.directories);
        self.took = begin.elapsed();
        self.measured = Instant::now();
        let lost = self.left_before.saturating_sub(self.left_at_measure);
        // Writes of others to the same file systems count only if the command may hide as much.
        let may_hide = (held.hidden || used.hidden) && lost > self.most_more;
        self.hiding.note(may_hide) || self.added > self.most_more
    }
}
