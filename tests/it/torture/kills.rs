//! Processes that are killed at any moment, or run out of room: nothing half valid stands afterwards, and the next run of
//! the same key completes with the same digest.
//!
//! Two kinds of leftovers are known. A staging directory in `runs` is swept by the next run, which is checked here. A
//! temporary object store in `/tmp` stays after SIGKILL; those of the test are counted and removed at its end.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Amounts;
use super::changes::{Change, generate};
use super::circumstances::Machine;
use crate::drift::{packed, upload};
use crate::support::hub::Hub;
use crate::support::{Outcome, Program, Random, RunDir, copy_tree, git, qa_skill, runs_in, temp};

/// The one that no process can answer is drawn as often as the others together.
const SIGNALS: &[Signal] = &[Signal::SIGKILL, Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT];

/// When a signal is sent. A run is published within a few milliseconds, which a random delay seldom hits.
#[derive(Debug, Clone)]
enum Moment {
    After(Duration),
    /// As soon as a directory has so many files, those one level below counted.
    Written(PathBuf, usize),
    /// As soon as something has this name.
    Named(PathBuf),
}

impl Moment {
    fn has_come(&self) -> bool {
        match self {
            Self::After(_) => true,
            Self::Written(directory, count) => {
                names(directory).iter().map(|name| names(&directory.join(name)).len()).sum::<usize>()
                    >= *count
            }
            Self::Named(path) => path.exists(),
        }
    }
}

/// A place for one case.
struct Scene<'a> {
    change: &'a Change,
    machine: &'a Machine,
    spans: Spans,
    archive: &'a [u8],
    tally: &'a Tally,
    home: tempfile::TempDir,
}

/// The longest delays before a signal: a little more than what is to be killed takes when nothing disturbs it.
#[derive(Clone, Copy)]
struct Spans {
    run: Duration,
    check: Duration,
}

impl Spans {
    fn measure(change: &Change) -> Self {
        let again = || {
            let repo = qa_skill(["run", "--base", &change.base, "--head", &change.head, "--repo"]);
            let home = temp();
            repo.arg(&change.repo).arg("--out").arg(home.path()).run().expect(1);
        };
        let check = || drop(change.reference.verify().run().expect(0));
        Self { run: shortest(again), check: shortest(check) }
    }
}

fn shortest(action: impl Fn()) -> Duration {
    let times = (0..3).map(|_| {
        let started = Instant::now();
        action();
        started.elapsed()
    });
    times.min().unwrap().mul_f64(1.1)
}

/// Counts of what happened, to see that signals hit.
#[derive(Default)]
struct Tally {
    killed: AtomicUsize,
    cancelled: AtomicUsize,
    without_room: AtomicUsize,
    completed: AtomicUsize,
    /// Signals sent.
    signals: AtomicUsize,
    staging_left: AtomicUsize,
}

impl Tally {
    fn count(counter: &AtomicUsize) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A process that is about to get a signal.
struct Victim {
    child: Child,
    /// In a namespace of its own the program is the child of the process that was started.
    in_namespace: bool,
}

impl Victim {
    fn start(program: &Program, in_namespace: bool) -> Self {
        let mut command = program.bare_command();
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, in_namespace }
    }

    /// Sends a signal at a moment, to the program itself, and waits for the end.
    fn strike(mut self, signal: Signal, moment: &Moment) -> Outcome {
        let target = if self.in_namespace { self.first_process() } else { Some(self.child.id()) };
        if let Moment::After(delay) = moment {
            std::thread::sleep(*delay);
        }
        while !moment.has_come() && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
        // It is not waited for yet, so its id belongs to it even if it has ended. Of the child of a namespace that
        // cannot be said, and an id is not given out again at once.
        if let Some(target) = target.filter(|_| matches!(self.child.try_wait(), Ok(None))) {
            let _it_may_have_ended = kill(Pid::from_raw(target.cast_signed()), signal);
        }
        self.wait()
    }

    fn wait(self) -> Outcome {
        let output = self.child.wait_with_output().unwrap();
        let mut outcome = Outcome::from_output(&output);
        // As shells say it, and as `unshare` does for its child.
        outcome.exit = output.status.signal().map_or(outcome.exit, |signal| 128 + signal);
        outcome
    }

    /// Returns the first process of the namespace, once there is one.
    fn first_process(&mut self) -> Option<u32> {
        let id = self.child.id();
        while let Ok(None) = self.child.try_wait() {
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            if let Some(first) = children.split_whitespace().next() {
                return first.parse().ok();
            }
            std::thread::yield_now();
        }
        None
    }
}

impl Scene<'_> {
    fn out(&self) -> PathBuf {
        self.home.path().join("out")
    }

    fn judge(&self) -> Program {
        self.judge_in(&self.change.repo)
    }

    /// Judges the change in another checkout of the repository.
    fn judge_in(&self, checkout: &Path) -> Program {
        let program = qa_skill(["run", "--base", &self.change.base, "--head", &self.change.head, "--repo"]);
        program.arg(checkout).arg("--out").arg(self.out())
    }

    /// A copy of the reference run, in its place.
    fn stored(&self) -> RunDir {
        let name = self.change.reference.0.file_name().unwrap();
        self.change.reference.copy_to(&self.out().join("runs").join(name))
    }

    /// Accepts an end by a signal, by cancellation, for want of room, or with the exit code of success.
    fn count_end(&self, outcome: &Outcome, success: i32) -> Result<(), String> {
        let counter = match (outcome.exit, outcome.code()) {
            (exit, "") if exit == success => &self.tally.completed,
            (137 | 143 | 130, _) => &self.tally.killed,
            (3, "CANCELLED") => &self.tally.cancelled,
            (153, _) | (3, "ARTIFACT_WRITE_FAILED") => &self.tally.without_room,
            _ => return Err(format!("exit code {}: {}", outcome.exit, outcome.stderr)),
        };
        Tally::count(counter);
        Ok(())
    }

    /// Checks what is called a run, and that nothing else is taken for one.
    fn check_runs(&self, root: &Path) -> Result<(), String> {
        let runs = runs_in(root);
        let expected = self.change.reference.0.file_name();
        for run in &runs {
            let outcome = RunDir(run.clone()).verify().run();
            if run.file_name() != expected || outcome.exit != 0 {
                return Err(format!("{} stands: {}", run.display(), outcome.stderr));
            }
        }
        let leftovers = names(&root.join("runs")).iter().filter(|name| name.starts_with(".tmp-")).count();
        if leftovers == 0 {
            return Ok(());
        }
        self.tally.staging_left.fetch_add(leftovers, Ordering::Relaxed);
        let program = qa_skill(["drift-check", "--format", "json"]).arg(root);
        let report = program.run();
        let taken = if runs.is_empty() { 1 } else { runs.len() };
        let listed = report.json()["runs"].as_array().map_or(0, Vec::len);
        // A root without runs is itself taken for one, and found wanting.
        if listed != taken || (report.exit == 0) == runs.is_empty() {
            return Err(format!("{listed} runs are seen: {}", report.text()));
        }
        Ok(())
    }

    fn recover(&self) -> Result<(), String> {
        self.recover_in(&self.change.repo)
    }

    /// Judges once more, undisturbed: one whole run has to be there, and nothing else.
    fn recover_in(&self, checkout: &Path) -> Result<(), String> {
        self.check_runs(&self.out())?;
        let outcome = self.judge_in(checkout).run();
        if outcome.exit != 1 {
            return Err(format!("the next run ended with {}: {}", outcome.exit, outcome.stderr));
        }
        self.check_recovered(&self.out())
    }

    fn check_recovered(&self, root: &Path) -> Result<(), String> {
        let key = self.change.reference.0.file_name().unwrap().to_str().unwrap();
        let (found, expected) = (names(&root.join("runs")), [".gitignore", key]);
        if found != expected || names(root) != ["runs"] {
            return Err(format!("left after the next run: {found:?}, {:?}", names(root)));
        }
        if fs::read_to_string(root.join("runs/.gitignore")).unwrap() != "*\n" {
            return Err("runs/.gitignore does not say that nothing is to be committed".to_owned());
        }
        let digest = RunDir::only(root).run_digest();
        if digest == self.change.reference.run_digest() {
            Ok(())
        } else {
            Err(format!("another digest: {digest}"))
        }
    }

    fn kill(&self, random: &mut Random, program: &Program, success: i32) -> Result<(), String> {
        let writes = success == 1;
        let moment =
            if writes { self.moment(random) } else { Moment::After(delay(random, self.spans.check)) };
        self.kill_at(&moment, *random.pick(SIGNALS), Victim::start(program, false), success)
    }

    /// Draws a moment of a run.
    fn moment(&self, random: &mut Random) -> Moment {
        let runs = self.out().join("runs");
        match random.below(4) {
            0 => Moment::Named(runs.join(self.change.reference.0.file_name().unwrap())),
            1 => Moment::Written(runs, random.below(self.change.reference.files().len() + 2)),
            _ => Moment::After(delay(random, self.spans.run)),
        }
    }

    fn kill_at(&self, moment: &Moment, signal: Signal, victim: Victim, success: i32) -> Result<(), String> {
        let outcome = victim.strike(signal, moment);
        Tally::count(&self.tally.signals);
        self.count_end(&outcome, success).map_err(|fault| format!("{signal} {moment:?}: {fault}"))
    }
}

fn delay(random: &mut Random, span: Duration) -> Duration {
    span.mul_f64(random.below(1000) as f64 / 1000.0)
}

/// Names in a directory, sorted; none of one that is not there.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn bytes_of(run: &RunDir) -> Vec<(String, Vec<u8>)> {
    run.files().into_iter().map(|name| (name.clone(), run.bytes(&name))).collect()
}

/// A way to be killed.
type Scenario = fn(&mut Random, &Scene<'_>) -> Result<(), String>;

const SCENARIOS: &[(&str, Scenario)] = &[
    ("a run", kill_run),
    ("a run, several times", kill_run_often),
    ("a run of a key that is there", kill_repeated_run),
    ("a run as PID 1", kill_first_process),
    ("a run in a linked worktree", kill_in_worktree),
    ("two writers", kill_one_of_two),
    ("a full disk", fill_disk),
    ("a limit on file sizes", limit_file_size),
    ("verify", kill_verify),
    ("drift-check of an archive", kill_drift_check),
    ("upload", kill_upload),
];

fn kill_run(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    scene.kill(random, &scene.judge(), 1)?;
    scene.recover()
}

fn kill_run_often(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    (0..3).try_for_each(|_| scene.kill(random, &scene.judge(), 1))?;
    scene.recover()
}

fn kill_repeated_run(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let before = bytes_of(&scene.stored());
    scene.kill(random, &scene.judge(), 1)?;
    if bytes_of(&RunDir::only(&scene.out())) != before {
        return Err("the run that was there is another one".to_owned());
    }
    scene.recover()
}

fn kill_first_process(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let Some(own_pids) = scene.machine.own_pids else { return kill_run(random, scene) };
    let program = scene.judge().under(own_pids).under(["--mount-proc"]);
    let (moment, signal) = (scene.moment(random), *random.pick(SIGNALS));
    scene.kill_at(&moment, signal, Victim::start(&program, true), 1)?;
    scene.recover()
}

fn kill_in_worktree(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let [repo, linked] = ["repo", "linked"].map(|name| scene.home.path().join(name));
    copy_tree(&scene.change.repo, &repo);
    git(&repo, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap(), "main"]);
    let result = scene.kill(random, &scene.judge_in(&linked), 1).and_then(|()| scene.recover_in(&linked));
    remove_stores(&repo);
    result
}

fn kill_one_of_two(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let survivor = Victim::start(&scene.judge(), false);
    std::thread::sleep(delay(random, scene.spans.run).mul_f64(0.2));
    let killed = scene.kill(random, &scene.judge(), 1);
    let outcome = survivor.wait();
    killed?;
    if outcome.exit != 1 {
        return Err(format!("the survivor ended with {}: {}", outcome.exit, outcome.stderr));
    }
    scene.recover()
}

/// Mounts a small file system with a page of other data, judges, makes room and judges again. Both states are copied out of the namespace.
const ON_A_SMALL_DISK: &str = r#"
set -e
mount -t tmpfs -o "size=$1,nr_inodes=$2" none "$3"
root=$3 first=$4 second=$5
shift 5
head -c 4096 /dev/zero > "$root/filler"
"$@" && echo 0 > "$first.exit" || echo $? > "$first.exit"
rm "$root/filler"
cp -a "$root" "$first"
mount -o remount,size=64m,nr_inodes=10000 "$root"
"$@" && echo 0 > "$second.exit" || echo $? > "$second.exit"
cp -a "$root" "$second"
"#;

fn fill_disk(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    if scene.machine.own_pids.is_none() {
        return limit_file_size(random, scene);
    }
    let whole: usize = bytes_of(&scene.change.reference).iter().map(|(_, bytes)| bytes.len() + 4096).sum();
    let (size, entries) = match random.below(4) {
        0 => (64 << 20, 3 + random.below(40)),
        // No room at all: a file system is never smaller than a page, which the other data fill.
        1 => (4096, 10_000),
        _ => (4096 + random.below(whole), 10_000),
    };
    let paths = ["out", "first", "second"].map(|name| scene.home.path().join(name));
    fs::create_dir(&paths[0]).unwrap();
    let (size, entries) = (size.to_string(), entries.to_string());
    let program =
        scene.judge().under(["unshare", "--mount", "sh", "-c", ON_A_SMALL_DISK, "sh", &size, &entries]);
    let outcome = program.under(&paths).run();
    if outcome.exit != 0 {
        return Err(format!("no small disk: {}", outcome.stderr));
    }
    let exit = |path: &Path| fs::read_to_string(path.with_extension("exit")).unwrap().trim().to_owned();
    let told = format!("{size} bytes, {entries} entries: {}", outcome.stderr);
    match exit(&paths[1]).as_str() {
        "1" => Tally::count(&scene.tally.completed),
        "3" if outcome.code() == "ARTIFACT_WRITE_FAILED" => Tally::count(&scene.tally.without_room),
        exit => return Err(format!("exit code {exit} with {told}")),
    }
    scene.check_runs(&paths[1]).map_err(|fault| format!("{fault}; {told}"))?;
    if exit(&paths[2]) != "1" {
        return Err(format!("the next run ended with {}; {told}", exit(&paths[2])));
    }
    scene.check_recovered(&paths[2]).map_err(|fault| format!("{fault}; {told}"))
}

fn limit_file_size(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    // At least what the temporary object store needs, whose failure has another code.
    let limit = format!("--fsize={}", 1024 + random.below(60_000));
    // Either the signal ends the process, or the write fails.
    let script = *random.pick(&["exec \"$@\"", "trap '' XFSZ; exec \"$@\""]);
    let program = scene.judge().under(["sh", "-c", script, "sh", "prlimit", &limit]);
    let outcome = Victim::start(&program, false).wait();
    scene.count_end(&outcome, 1).map_err(|fault| format!("{limit}: {fault}"))?;
    scene.recover().map_err(|fault| format!("{limit}: {fault}"))
}

fn kill_verify(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let run = scene.stored();
    let before = bytes_of(&run);
    let program =
        if random.below(2) == 0 { run.verify().arg("--repo").arg(&scene.change.repo) } else { run.verify() };
    scene.kill(random, &program, 0)?;
    if bytes_of(&run) != before {
        return Err("verify changed the run".to_owned());
    }
    scene.check_runs(&scene.out())
}

fn kill_drift_check(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let (archive, scratch) = (scene.home.path().join("run.zip"), scene.home.path().join("scratch"));
    fs::write(&archive, scene.archive).unwrap();
    fs::create_dir(&scratch).unwrap();
    let program = qa_skill(["drift-check"]).arg(&archive).env("RUNNER_TEMP", &scratch);
    scene.kill(random, &program, 0)?;
    let outcome = program.run();
    if outcome.exit == 0 && fs::read(&archive).unwrap() == scene.archive {
        return Ok(());
    }
    Err(format!("the next check ended with {}: {}", outcome.exit, outcome.stderr))
}

fn kill_upload(random: &mut Random, scene: &Scene<'_>) -> Result<(), String> {
    let run = scene.stored();
    let hub = Hub::default();
    let server = hub.start();
    scene.kill(random, &upload(&server, &[&run.0]), 0)?;
    // What a dead client sent may still arrive, so the next one talks to another server.
    let kept = hub.0.lock().unwrap().blobs.clone();
    let next = Hub::default();
    next.0.lock().unwrap().blobs = kept.clone();
    let server = next.start();
    let outcome = upload(&server, &[&run.0]).run();
    let stored = next.0.lock().unwrap().blobs.clone();
    if outcome.exit == 0
        && stored.values().eq([scene.archive])
        && kept.values().all(|blob| blob == scene.archive)
    {
        return Ok(());
    }
    Err(format!("{} archives are stored, the next upload: {}", stored.len(), outcome.stderr))
}

/// Removes the temporary object stores that lend the objects of a repository, and returns their number.
fn remove_stores(repository: &Path) -> usize {
    let of_the_repository = |store: &PathBuf| {
        fs::read_link(store.join("checkout")).is_ok_and(|objects| objects.starts_with(repository))
    };
    let entries = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
    let stores: Vec<PathBuf> = entries.filter(of_the_repository).collect();
    for store in &stores {
        let _another_removes_it = fs::remove_dir_all(store);
    }
    stores.len()
}

#[test]
fn nothing_half_valid_stands_after_a_kill_and_the_next_run_completes() {
    let amounts = Amounts::from_environment();
    let machine = Machine::new();
    let change = generate(&mut amounts.for_change(0));
    let archive = packed(&change.reference);
    let tally = Tally::default();
    let spans = Spans::measure(&change);
    let scene = || {
        let (change, machine, archive, tally) = (&change, &machine, &archive, &tally);
        Scene { change, machine, spans, archive, tally, home: temp() }
    };
    amounts.for_each("kills", amounts.kills, |random, case| {
        let (name, run) = SCENARIOS[case % SCENARIOS.len()];
        run(random, &scene()).map_err(|fault| format!("{name}: {fault}"))
    });
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (signals, hits) = (count(&tally.signals), count(&tally.killed) + count(&tally.cancelled));
    println!(
        "{signals} signals: {} killed, {} cancelled, {} without room, {} completed; {} staging directories swept, {} stores left in /tmp",
        count(&tally.killed),
        count(&tally.cancelled),
        count(&tally.without_room),
        count(&tally.completed),
        count(&tally.staging_left),
        remove_stores(&change.repo),
    );
    // One case proves nothing about the others.
    assert!(3 * hits >= signals || amounts.case.is_some(), "{hits} of {signals} signals hit");
}
