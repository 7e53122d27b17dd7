//! Fails every system call of the writer in turn: no half of a run directory, no PASS without its proof.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{Repo, RunDir, change, runs_in};

const CALLS: &str = "openat,write,fsync,fdatasync,rename,renameat2,mkdir";

/// A call: its name, and which one of that name in a thread's own count, in strace's words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Point {
    call: String,
    when: String,
}

/// Files are synced by several threads and which takes which is chance, so these calls are not met one by one: the first
/// or second of every thread fails, or each one there is.
const SYNCS: &[&str] = &["1", "2", "1+"];

fn strace(repo: &Repo, out: &Path, options: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-s", "0"]).args(options).arg(env!("CARGO_BIN_EXE_qa-skill"));
    command.args(["run", "--base", "main", "--head", "topic", "--jobs", "1", "--quiet", "--repo"]);
    command.arg(repo.path()).arg("--out").arg(out).stdin(Stdio::null());
    command
}

/// Lists the calls that make, write, sync or rename something below the artifact root, or write the verdict.
fn points(repo: &Repo, out: &Path) -> Vec<Point> {
    let log = repo.beside("strace.log");
    let trace = format!("trace={CALLS}");
    let options = ["-e", &trace, "-o", log.to_str().unwrap()];
    assert!(strace(repo, out, &options).output().unwrap().status.success());
    let log = std::fs::read_to_string(log).unwrap();
    let first = log.split_whitespace().next().unwrap().to_owned();
    let mut counts = std::collections::BTreeMap::new();
    let (mut points, mut synced) = (Vec::new(), false);
    for line in log.lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        synced |= call == "fdatasync";
        if process != first || call == "fdatasync" || !CALLS.split(',').any(|known| known == call) {
            continue;
        }
        let count = counts.entry(call.to_owned()).or_insert(0);
        *count += 1;
        if is_the_writers(arguments, out) {
            points.push(Point { call: call.to_owned(), when: count.to_string() });
        }
    }
    assert!(synced, "no file was synced");
    points.extend(SYNCS.iter().map(|&when| Point { call: "fdatasync".to_owned(), when: when.to_owned() }));
    points
}

/// Returns whether a call makes, writes or renames something below the artifact root, or writes the verdict.
fn is_the_writers(arguments: &str, out: &Path) -> bool {
    arguments.contains(out.to_str().unwrap()) || arguments.starts_with("1<")
}

/// A run in which a call failed.
struct Faulty {
    output: Output,
    out: PathBuf,
    what: String,
}

/// Runs the program with a fault at one of the points. Processes that end meanwhile leave scratch directories to sweep,
/// which moves the count of calls: then the points are counted anew.
fn run_with_fault(repo: &Repo, points: &mut Vec<Point>, number: usize, fault: &str) -> Faulty {
    let log = repo.beside("fault.log");
    for attempt in 0..20 {
        let point = &points[number];
        let out = repo.beside(&format!("out-{number}-{}-{attempt}", &fault[6..]));
        let trace = format!("trace={}", point.call);
        let inject = format!("inject={}:{fault}:when={}", point.call, point.when);
        let options = ["-o", log.to_str().unwrap(), "-e", &trace, "-e", &inject];
        let output = strace(repo, &out, &options).output().unwrap();
        let what = format!("{fault} at {} {}", point.call, point.when);
        let lines = std::fs::read_to_string(&log).unwrap();
        // The call that a signal ended has no result, or not on its line.
        let ends = ["= ?", "<unfinished ...>"];
        let mut faults = lines
            .lines()
            .filter(|line| line.contains("INJECTED") || ends.iter().any(|end| line.ends_with(end)));
        let is_met =
            |line: &str| line.split_once('(').is_some_and(|(_, arguments)| is_the_writers(arguments, &out));
        if point.call == "fdatasync" || faults.any(is_met) {
            return Faulty { output, out, what };
        }
        std::fs::remove_dir_all(&out).ok();
        let counted = repo.beside("out-00000");
        std::fs::remove_dir_all(&counted).unwrap();
        *points = self::points(repo, &counted);
    }
    panic!(
        "{fault} never met point {number}, {:?}:\n{}",
        points[number],
        std::fs::read_to_string(&log).unwrap()
    );
}

pub(crate) fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let can = traced.is_ok_and(|ran| ran.status.success());
    if !can {
        eprintln!("skipped: strace is missing or may not trace here");
        assert!(std::env::var_os("CI").is_none(), "faults are not skipped where CI is set");
    }
    can
}

#[test]
fn a_fault_at_any_call_of_the_writer_leaves_no_half_and_gives_no_false_pass() {
    if can_trace() {
        sweep();
    }
}

/// Runs the program with several workers while a call fails, and returns exit code and standard error.
fn run_without(call: &str, error: &str) -> (Option<i32>, String) {
    let repo =
        change(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")], &[("a.py", "a = 2\n"), ("b.py", "b = 2\n")]);
    let inject = format!("inject={call}:error={error}");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
    command.arg(env!("CARGO_BIN_EXE_qa-skill")).args(["run", "--base", "main", "--head", "topic", "--repo"]);
    let output = command.arg(repo.path()).stdin(Stdio::null()).output().unwrap();
    assert!(runs_in(&repo.path().join(".qa-skill")).is_empty());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_machine_that_gives_no_thread_or_no_directory_gets_no_verdict() {
    if !can_trace() {
        return;
    }
    let (exit, said) = run_without("clone3", "EAGAIN");
    assert_eq!(exit, Some(70), "{said}");
    assert!(said.contains("error[INTERNAL_ERROR]"), "{said}");
    let (exit, said) = run_without("mkdir", "ENOSPC");
    assert_eq!(exit, Some(3), "{said}");
    assert!(said.contains("error[SCRATCH_UNAVAILABLE]"), "{said}");
}

fn sweep() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let clean = repo.beside("out-00000");
    let mut points = points(&repo, &clean);
    let count = points.len();
    let reference = RunDir::only(&clean).run_digest();
    for call in ["openat", "write", "fsync", "rename", "mkdir"] {
        assert!(points.iter().any(|point| point.call == call), "no {call} among {points:?}");
    }
    let (mut faults, mut killed, mut passed) = (0, 0, 0);
    for number in 0..count {
        for fault in ["signal=KILL", "error=ENOSPC", "error=EIO"] {
            let Faulty { output, out, what } = run_with_fault(&repo, &mut points, number, fault);
            assert_eq!(points.len(), count, "the writer does the same calls in every run");
            let point = &points[number];
            faults += 1;
            killed += usize::from(output.status.code().is_none());
            let runs = runs_in(&out);
            for run in &runs {
                let run = RunDir(run.clone());
                run.verify().run().expect(0);
                assert_eq!(run.run_digest(), reference, "{what}");
            }
            // Nobody may take a proof for stored that the disk refused to keep.
            let refused = point.call == "fdatasync" && point.when != "2";
            assert!(!(refused && output.status.success()), "{what}: PASS although nothing was synced");
            if output.status.success() {
                passed += 1;
                assert_eq!(runs.len(), 1, "{what}: PASS without a proof");
            } else if let Some(code) = output.status.code() {
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(code, 3, "{what}: {said}");
                assert!(said.starts_with("error[A"), "{what}: {said}");
            }
            if fault == "signal=KILL" {
                let later = crate::support::qa_skill(["run", "--base", "main", "--head", "topic", "--repo"])
                    .arg(repo.path())
                    .arg("--out")
                    .arg(&out)
                    .run();
                assert_eq!(later.exit, 0, "{what}: the next run: {}", later.stderr);
                assert_eq!(RunDir::only(&out).run_digest(), reference, "{what}");
                assert!(hidden(&out).is_empty(), "{what}: {:?} is left over", hidden(&out));
            }
            std::fs::remove_dir_all(&out).ok();
        }
    }
    println!(
        "{faults} faults at {} calls, {killed} kills, {passed} runs that passed all the same",
        points.len()
    );
}

/// Staging directories that no one swept.
fn hidden(out: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(out.join("runs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".tmp-")).collect()
}
