//! Plays one case: this program as the step of a pull request, and what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::cases::Call;
use super::scene::{NUMBER, Scene, failure};
use super::stand_in::{NAME, StandIn, TOKEN, runtime_token};
use crate::app::exit::Failure;
use crate::faults::{LOG_VARIABLE, LOOPBACK_VARIABLE, VARIABLE};
use crate::store::RunDirectory;
use qa_contracts::ids::Sha256Hex;
use qa_run::http::pause_unless_cancelled;
use qa_run::ports::Cancellation;

/// Time limit of a case.
const LIMIT: Duration = Duration::from_secs(120);
/// Polling interval for the end of a case.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Outcome of a step, from outside.
pub(super) struct Observed {
    /// Exit code; `None` after a signal.
    pub(super) exit: Option<i32>,
    /// Conclusion of the check run, or its status.
    pub(super) check: String,
    /// The output `verdict`.
    verdict: String,
    /// Deterministic digests of the stored run's files; empty unless there is one whole run.
    pub(super) files: BTreeMap<String, Sha256Hex>,
    /// True if the artifact service has the run.
    pub(super) is_uploaded: bool,
    /// First code that was printed.
    pub(super) code: String,
    pub(super) calls: Vec<Call>,
    pub(super) stderr: String,
    /// True if it was killed at its time limit.
    pub(super) is_late: bool,
}

impl Observed {
    /// Returns whether anybody could take the step for passed.
    pub(super) fn passed(&self) -> bool {
        let passing = ["success", "neutral", "skipped"];
        self.exit == Some(0)
            || self.verdict == "pass"
            || self.check.split('+').any(|check| passing.contains(&check))
    }

    pub(super) fn failed(&self) -> bool {
        self.exit == Some(1)
            || self.verdict == "fail"
            || self.check.split('+').any(|check| check == "failure")
    }
}

/// A runner with its own servers and checkouts.
pub(super) struct Actor<'a> {
    scene: &'a Scene,
    home: PathBuf,
    project: PathBuf,
    servers: StandIn,
}

impl<'a> Actor<'a> {
    pub(super) fn new(scene: &'a Scene, number: usize) -> Result<Self, Failure> {
        let home = scene.directory.path().join(format!("actor-{number}"));
        let project = home.join("origin.git");
        fs::create_dir_all(home.join("temp")).map_err(|error| failure("make a directory", &error))?;
        scene.copy_origin(&project)?;
        for change in &scene.changes {
            scene.check_out(change, &home.join(change.name))?;
        }
        let servers = StandIn::start(&project);
        Ok(Self { scene, home, project, servers })
    }

    /// Runs the step for a change with faults.
    pub(super) fn run(
        &mut self,
        change: usize,
        faults: &str,
        cancellation: &Cancellation,
    ) -> Result<Observed, Failure> {
        let change = &self.scene.changes[change];
        self.scene.open(&self.project, change)?;
        self.servers.reset(NUMBER, &change.head);
        let checkout = self.home.join(change.name);
        // An earlier case left these.
        let _not_there = fs::remove_dir_all(checkout.join(".qa-skill"));
        for name in ["output", "summary", "log", "stdout", "stderr"] {
            let _not_there = fs::remove_file(self.home.join(name));
        }
        let event = json!({"action": "synchronize", "number": NUMBER, "pull_request": {
            "number": NUMBER,
            "head": {"sha": change.head, "repo": {"id": 1}},
            "base": {"sha": self.scene.base, "ref": "main", "repo": {"id": 1}},
        }});
        fs::write(self.home.join("event.json"), event.to_string())
            .map_err(|error| failure("write the event", &error))?;
        let mut child = self.command(&checkout, &change.merge, faults)?;
        let (exit, is_late) = end_of(&mut child, cancellation)?;
        let (stdout, stderr, output) = (self.text("stdout"), self.text("stderr"), self.text("output"));
        let verdict = output.lines().filter_map(|line| line.strip_prefix("verdict=")).next_back();
        Ok(Observed {
            exit,
            check: self.servers.check(),
            verdict: verdict.unwrap_or_default().to_owned(),
            files: only_run(&checkout.join(".qa-skill/runs")),
            is_uploaded: self.servers.has_artifact(),
            code: first_code(&stdout, &stderr),
            calls: self.text("log").lines().filter_map(Call::parse).collect(),
            stderr,
            is_late,
        })
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.home.join(name)).unwrap_or_default()).into_owned()
    }

    fn create(&self, name: &str) -> Result<fs::File, Failure> {
        fs::File::create(self.home.join(name)).map_err(|error| failure("write a log", &error))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "each case is a process of this program, so that a kill is one"
    )]
    fn command(&self, checkout: &Path, merge: &str, faults: &str) -> Result<Child, Failure> {
        let program = std::env::current_exe().map_err(|error| failure("find this program", &error))?;
        let merge_ref = format!("refs/pull/{NUMBER}/merge");
        let (server, api) = ("http://github.localhost", "http://api.github.localhost");
        let settings = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_SHA", merge),
            ("GITHUB_REF", &merge_ref),
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_REPOSITORY", NAME),
            ("GITHUB_SERVER_URL", server),
            ("GITHUB_API_URL", api),
            ("GITHUB_RETENTION_DAYS", "90"),
            ("ACTIONS_RESULTS_URL", "http://results.localhost/"),
            ("ACTIONS_RUNTIME_TOKEN", &runtime_token()),
            ("OPENAI_API_KEY", "key-of-the-rehearsal"),
            ("ANTHROPIC_API_KEY", "key-of-the-rehearsal"),
            ("INPUT_TOKEN", TOKEN),
            ("INPUT_JOBS", "1"),
            ("INPUT_REQUIRE-ARTIFACT", "true"),
            ("INPUT_COMMENT", "true"),
            ("INPUT_UPLOAD-SARIF", "true"),
            (VARIABLE, faults),
            (LOOPBACK_VARIABLE, &self.servers.url()),
        ];
        let mut command = Command::new(program);
        command.current_dir(checkout).env_clear().envs(settings);
        command.envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        for (name, path) in [
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("RUNNER_TEMP", "temp"),
            (LOG_VARIABLE, "log"),
        ] {
            command.env(name, self.home.join(path));
        }
        command.env("GITHUB_WORKSPACE", checkout).stdin(Stdio::null());
        let child = command.stdout(self.create("stdout")?).stderr(self.create("stderr")?).spawn();
        child.map_err(|error| failure("start this program", &error))
    }
}

/// Waits for the end of a process; kills it at its time limit, and when the rehearsal is cancelled.
fn end_of(child: &mut Child, cancellation: &Cancellation) -> Result<(Option<i32>, bool), Failure> {
    let started = Instant::now();
    loop {
        match child.try_wait().map_err(|error| failure("wait for a process", &error))? {
            Some(status) => return Ok((status.code(), false)),
            None if started.elapsed() >= LIMIT || cancellation.ending().is_some() => {
                let _already_ended = child.kill();
                let _reaped = child.wait();
                return Ok((None, true));
            }
            None => pause_unless_cancelled(POLL_INTERVAL, cancellation),
        }
    }
}

/// Returns the digests of the files of the only run below a directory, if they are as its manifest says.
fn only_run(runs: &Path) -> BTreeMap<String, Sha256Hex> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten().filter(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_directory && !entry.file_name().as_encoded_bytes().starts_with(b".")
    });
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    match paths.as_slice() {
        [only] => match RunDirectory::open(only) {
            Ok(run) => run.hashes.files.into_iter().map(|file| (file.path, file.deterministic)).collect(),
            Err(_) => BTreeMap::new(),
        },
        _ => BTreeMap::new(),
    }
}

/// Returns the code of the error, or of the first annotation that has one.
fn first_code(stdout: &str, stderr: &str) -> String {
    let error = stderr.lines().find_map(|line| line.strip_prefix("error[")?.split(']').next());
    let annotation = stdout.lines().find_map(|line| {
        let (_, rest) = line.split_once(" title=")?;
        rest.split("::")
            .next()
            .filter(|title| title.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
    });
    error.or(annotation).unwrap_or("-").to_owned()
}
