//! Carries a job out: starts the keeper, takes in outputs and reports, and ends what takes too long or too much.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::deleted::Held;
use super::job::{Job, KEEPER, Report, read_reports, send_job};
use super::memory::Memory;
use super::orphans::{end_orphans, forget_keeper, start_keeper};
use super::output::Intake;
use super::usage::{room_left, room_used};
use qa_run::commands::{Captured, CommandLimits, Stop};
use qa_run::ports::Cancellation;

/// How often the clock and the limits are looked at.
const TICK: Duration = Duration::from_millis(25);
/// How often the tree is measured at most, as a multiple of what measuring takes.
const MEASURE_PAUSE: u32 = 20;
/// What the keeper may take to end everything, and longer than it tries.
const KEEPER_ENDS_WITHIN: Duration = Duration::from_secs(20);
/// More than any job has to report.
const MAX_REPORT_BYTES: usize = 1 << 20;

/// What is looked at while a command runs.
pub(super) struct Watched<'a> {
    pub(super) limits: CommandLimits,
    /// Where it can write.
    pub(super) directories: Vec<&'a Path>,
}

/// What came of a job.
pub(super) struct Outcome {
    pub(super) reports: Vec<Report>,
    pub(super) stopped: Option<Stop>,
    /// Whether processes are left that the keeper did not end.
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
            } else if room.is_full(running.keeper.id()) {
                Some(Stop::Disk)
            } else {
                memory.is_full(running.keeper.id()).then_some(Stop::Memory)
            };
            if stopped.is_some() {
                running.stop()?;
                give_up = Some(Instant::now() + KEEPER_ENDS_WITHIN);
            }
        }
        if running.keeper_is_gone() || give_up.is_some_and(|time| Instant::now() > time) {
            break;
        }
    }
    running.finish(stopped)
}

/// A keeper at work.
struct Running {
    keeper: Child,
    control: Option<UnixStream>,
    reports: Vec<u8>,
    stdout: Intake<ChildStdout>,
    stderr: Intake<ChildStderr>,
}

impl Running {
    fn start(job: &Job, limits: &CommandLimits) -> io::Result<Self> {
        let (mut control, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "the keeper is this binary")]
        let mut command = Command::new("/proc/self/exe");
        command.arg(KEEPER).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = start_keeper(&mut command)?;
        // The command holds a copy of the keeper's end, which would keep the socket from ending.
        drop(command);
        send_job(&mut control, job)?;
        let (stdout, stderr) = (keeper.stdout.take(), keeper.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("the keeper has no outputs"));
        };
        Ok(Self {
            keeper,
            control: Some(control),
            reports: Vec::new(),
            stdout: Intake::new(stdout, limits.stdout_bytes),
            stderr: Intake::new(stderr, limits.stderr_bytes),
        })
    }

    /// Whether anybody is left who could say something.
    fn listens(&self) -> bool {
        self.control.is_some() || self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// Whether nothing more will be heard of a keeper that did not say how its command ended. What holds the outputs
    /// open then is the command, and nobody is there to end it.
    fn keeper_is_gone(&self) -> bool {
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

    /// Asks for the end: the keeper sees that the program has nothing more to say.
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
        // Nothing is open any more, or the keeper had its time: it is over either way.
        let _ended_already = self.keeper.kill();
        self.keeper.wait()?;
        forget_keeper(self.keeper.id());
        let survivors = !self.has_ended() && !end_orphans();
        let reports = read_reports(&self.reports)?;
        Ok(Outcome { reports, stopped, survivors, outputs: [self.stdout.finish(), self.stderr.finish()] })
    }
}

/// How much room a command has left.
struct Room<'a> {
    user: Option<u32>,
    directories: &'a [&'a Path],
    most_more: u64,
    /// What stood there before.
    before: Option<u64>,
    /// What it had added when the tree was last measured.
    added: u64,
    /// Free bytes of the file systems before the command.
    left_before: u64,
    left_at_measure: u64,
    /// True if the command might have hidden too much then.
    hides: bool,
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
            hides: false,
            measured: Instant::now(),
            took: begin.elapsed(),
        }
    }

    /// Measures the tree when the file system says that it may have grown a lot, and otherwise seldom.
    fn is_full(&mut self, keeper: u32) -> bool {
        let Some(before) = self.before else { return true };
        let lost = self.left_at_measure.saturating_sub(room_left(self.directories));
        let suspicious = lost >= self.most_more.saturating_sub(self.added) / 2;
        let pause = (self.took * MEASURE_PAUSE).max(Duration::from_secs(1));
        if !suspicious && !self.hides && self.measured.elapsed() < pause {
            return false;
        }
        let begin = Instant::now();
        // First, so that a file that is deleted meanwhile does not count twice.
        let held = Held::by(keeper, self.user).disk;
        let Some(used) = room_used(self.directories) else { return true };
        self.added = used.bytes.saturating_sub(before).saturating_add(held.bytes());
        self.left_at_measure = room_left(self.directories);
        self.took = begin.elapsed();
        self.measured = Instant::now();
        let lost = self.left_before.saturating_sub(self.left_at_measure);
        // What others write to the same file systems counts only where the command may hide as much, and only at the
        // second look in a row: a process that begins or ends cannot be looked into for a moment.
        let hid = self.hides;
        self.hides = (held.hidden || used.hidden) && lost > self.most_more;
        self.added > self.most_more || hid && self.hides
    }
}
