//! Runs of one change that overlap, in one artifact root.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::support::server::Spoilt;
use crate::support::{Response, Server, answers, change, reviews};

#[test]
fn of_two_processes_that_judge_one_change_the_second_waits_and_a_killed_one_holds_nothing_up() {
    let silent = Server::start(|_| Response::new(200, "").spoilt(Spoilt::Slow(Duration::from_secs(90))));
    let repo = reviews::faulty(answers::CHAT, &silent, "");
    let run = |no_model: Option<&str>| {
        let mut command = reviews::run(&repo).bare_command();
        command.args(no_model).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut first = run(None);
    while silent.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut second = run(Some("--no-model"));
    let line = BufReader::new(second.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(line, "another process judges this change; waiting for it to end");
    assert_eq!(second.try_wait().unwrap(), None);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(3), "the review is missing");
    repo.run_dir().verify().run().expect(0);
}

#[test]
fn a_lock_that_a_commit_brought_is_refused() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    repo.judge().run().expect(0);
    let run = repo.run_dir().0;
    let lock = format!(".lock-{}", &run.file_name().unwrap().to_str().unwrap()[..2]);
    let lock = run.with_file_name(lock);
    assert!(!lock.exists(), "a run that ends leaves none");
    assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
    repo.judge().run().expect_code(3, "ARTIFACT_ROOT_UNSAFE");
}
