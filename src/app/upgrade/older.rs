//! Runs an older version of this program for its calibration, within a time limit and a bound of its output.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::compare::is_newer;
use crate::app::exit::Failure;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::Calibration;
use qa_core::masking::sanitize_cut;
use qa_run::http::pause_unless_cancelled;
use qa_run::ports::Cancellation;

/// Size limit of a calibration: a document of the smallest values takes some ten times its size in memory.
const MOST_BYTES: u64 = 16 << 20;
/// Size limit of what the program says beside it.
const MOST_SAID: u64 = 64 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Name of the schema that both versions have to speak.
const SCHEMA: &str = "calibration.v1";

/// The older program, and the time it has.
pub(super) struct Older<'a> {
    pub(super) program: &'a Path,
    pub(super) repository: &'a Path,
    pub(super) jobs: Option<u64>,
    pub(super) time: Duration,
}

impl Older<'_> {
    /// Lets the program judge the same changes as `own` is about, which end in `commits`, and returns its calibration.
    pub(super) fn calibration(
        &self,
        own: &Calibration,
        commits: &BTreeSet<CommitId>,
        cancellation: &Cancellation,
    ) -> Result<Calibration, Failure> {
        let files = tempfile::tempfile().and_then(|output| Ok((output, tempfile::tempfile()?)));
        let (mut output, mut said) =
            files.map_err(|error| self.failed(&format!("no temporary file: {error}")))?;
        let child = output.try_clone().and_then(|out| self.start(own, out, said.try_clone()?));
        let mut child = child.map_err(|error| self.failed(&format!("it does not start: {error}")))?;
        let ended = self.wait(&mut child, [&output, &said], cancellation);
        // Only a program that goes on is killed, by its id, and each is waited for.
        if ended.is_err() && matches!(child.try_wait(), Ok(None)) {
            end_group(&mut child);
            let _reaped = child.wait();
        }
        let status = ended?;
        if !status.success() {
            let said = String::from_utf8_lossy(&read(&mut said, MOST_SAID)).into_owned();
            return Err(self.failed(&format!("it ended with {status}: {}", sanitize_cut(said.trim(), 300))));
        }
        self.parse(&read(&mut output, MOST_BYTES), own, commits)
    }

    #[expect(clippy::disallowed_methods, reason = "the person names the program, as if in a shell")]
    fn start(&self, own: &Calibration, output: File, said: File) -> std::io::Result<Child> {
        let mut command = Command::new(self.program);
        command.args(["calibrate", "--format", "json", "--quiet", "--head", own.head_sha.as_str()]);
        command.arg("--last").arg(own.changes.to_string()).arg("--repo").arg(self.repository);
        if let Some(jobs) = self.jobs {
            command.arg("--jobs").arg(jobs.to_string());
        }
        // A group of its own has the program and what it starts.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(output).stderr(said).spawn()
    }

    fn wait(
        &self,
        child: &mut Child,
        files: [&File; 2],
        cancellation: &Cancellation,
    ) -> Result<ExitStatus, Failure> {
        let started = Instant::now();
        loop {
            let ended = child.try_wait().map_err(|error| self.failed(&error.to_string()))?;
            let sizes = files.map(|file| file.metadata().map_or(u64::MAX, |metadata| metadata.len()));
            if sizes[0] > MOST_BYTES || sizes[1] > MOST_BYTES {
                return Err(self.failed("it prints more than 16 MiB"));
            }
            if let Some(status) = ended {
                return Ok(status);
            }
            cancellation.check()?;
            if started.elapsed() >= self.time {
                let text = format!("{} did not end within {} s", self.shown(), self.time.as_secs());
                return Err(Failure::with_code(Code::UpgradeProgramTimedOut, text));
            }
            pause_unless_cancelled(POLL_INTERVAL, cancellation);
        }
    }

    fn parse(
        &self,
        bytes: &[u8],
        own: &Calibration,
        commits: &BTreeSet<CommitId>,
    ) -> Result<Calibration, Failure> {
        let document: SchemaName = serde_json::from_slice(bytes).map_err(|_| {
            self.unknown("what it prints is not JSON that names a schema, so it is not qa-skill")
        })?;
        match document.schema_version.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => {
                let text = format!("it prints `{}` and not `{SCHEMA}`", sanitize_cut(other, 60));
                return Err(self.unknown(&text));
            }
            None => return Err(self.unknown("what it prints names no schema, so it is not qa-skill")),
        }
        let older: Calibration = serde_json::from_slice(bytes)
            .map_err(|error| self.unknown(&format!("its form of `{SCHEMA}` is another one: {error}")))?;
        if is_newer(&older, own) {
            let (theirs, ours) = (sanitize_cut(&older.engine, 60), &own.engine);
            let text = format!("{} is version {theirs}, and this is {ours}", self.shown());
            return Err(Failure::with_code(Code::UpgradeProgramNewer, text));
        }
        let is_same = (&older.head_sha, older.changes, older.preset, &older.policy)
            == (&own.head_sha, own.changes, own.preset, &own.policy);
        if !is_same {
            return Err(
                self.unknown("it judged other changes than this version, or by another policy or preset")
            );
        }
        check_commits(&older, commits).map_err(|reason| self.unknown(&reason))?;
        Ok(older)
    }

    fn shown(&self) -> String {
        sanitize_cut(&self.program.display().to_string(), 200)
    }

    fn failed(&self, reason: &str) -> Failure {
        let text = format!("failed to run {}: {reason}", self.shown());
        Failure::with_code(Code::UpgradeProgramFailed, text)
    }

    fn unknown(&self, reason: &str) -> Failure {
        let text =
            format!("failed to read the calibration of {}: {}", self.shown(), sanitize_cut(reason, 300));
        Failure::with_code(Code::UpgradeProgramUnknown, text)
    }
}

/// The member of a document that names its schema; all others are skipped and not kept.
#[derive(Deserialize)]
struct SchemaName {
    #[serde(rename = "schemaVersion", default)]
    schema_version: Option<String>,
}

/// Checks that each change of a calibration is one of those that were asked for, and is in one list once.
fn check_commits(older: &Calibration, commits: &BTreeSet<CommitId>) -> Result<(), String> {
    let blocked = older.blocked.iter().map(|change| &change.commit);
    let mut seen = BTreeSet::new();
    for commit in blocked.chain(older.without_verdict.iter().map(|change| &change.commit)) {
        if !commits.contains(commit) {
            return Err(format!(
                "it names {}, which is none of the changes that it was asked about",
                commit.short()
            ));
        }
        if !seen.insert(commit) {
            return Err(format!("it names {} twice", commit.short()));
        }
    }
    Ok(())
}

/// Kills a program that goes on, with all that it started and that did not leave its group.
fn end_group(child: &mut Child) {
    #[cfg(target_os = "linux")]
    crate::exec::kill_group(child.id());
    let _already_ended = child.kill();
}

/// Returns the first bytes of a file; none where it cannot be read.
fn read(file: &mut File, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    match file.seek(SeekFrom::Start(0)).and_then(|_| file.take(most).read_to_end(&mut bytes)) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}
