//! The life of a pull request: a draft of eleven pushes, ready for review, one more push, and the merge queue.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::answers::CHAT;
use crate::support::reviews::{self, findings, reviewing};
use crate::support::step::{Step, clean, faulty};
use crate::support::{Files, Program, Random, Server, copy_tree, qa_skill};
use crate::turns::{PullRequest, Turn};

/// Reviews wait for every fourth turn, so that the last draft leaves the cross-check something to ask.
const OBSERVED: &str = "[observer]\nenabled = true\ncadence = 4\n";
const TEST: &str = "def test_value():\n    assert value() > 0\n";
const SKIPPED: &str = "import pytest\n\n\n@pytest.mark.skip\ndef test_value():\n    assert value() > 0\n";

/// The repository after a push, counted from 1. The seventh and the eighth skip a test.
fn files(push: u64) -> Files {
    let test = if matches!(push, 7 | 8) { SKIPPED } else { TEST };
    let app = format!("def value():\n    return {push}\n");
    Files::from_texts(&[("src/app.py", &app), ("tests/test_app.py", test), ("docs/a.md", "one\n")])
}

/// A pull request that has been pushed to twelve times and is in the merge queue.
struct Life {
    pull: PullRequest,
    model: Server,
    /// Replies of earlier turns, as a cache of the workflow restores them.
    replies: PathBuf,
    turns: Vec<Turn>,
    /// Number of questions to the model after each turn.
    asked: Vec<usize>,
}

impl Life {
    fn live(table: &str) -> Self {
        let model = Server::start(|_| findings(CHAT, &[]));
        let policy = format!("preset = \"guarded\"\n{table}{}", reviewing(CHAT, &model.url(), ""));
        let mut pull = PullRequest::from_start(&policy, &files(0), &files(1));
        pull.variables = vec![("OPENAI_API_KEY", reviews::KEY), ("NO_PROXY", "127.0.0.1")];
        let replies = pull.world.origin.repo.beside("replies");
        let mut life = Self { pull, model, replies, turns: Vec::new(), asked: Vec::new() };
        life.judge("opened", true);
        for push in 2..=11 {
            life.push(push, true);
        }
        life.judge("ready_for_review", false);
        life.push(12, false);
        life.enqueue();
        life
    }

    fn push(&mut self, push: u64, is_draft: bool) {
        self.pull.push(&files(push));
        self.judge("synchronize", is_draft);
    }

    fn judge(&mut self, action: &str, is_draft: bool) {
        self.pull.turns += 1;
        let turn = self.play(&self.pull.step(action, is_draft));
        self.pull.store(self.pull.world.origin.head.to_string());
        self.turns.push(turn);
        self.asked.push(self.model.requests().len());
    }

    /// Judges the merge group that would land.
    fn enqueue(&mut self) {
        let origin = &self.pull.world.origin;
        let (head, base) = (origin.merge.to_string(), origin.base.to_string());
        let git_ref = format!("refs/heads/gh-readonly-queue/main/pr-{}-{base}", origin.number);
        let mut step = self.pull.step("enqueued", false);
        (step.name, step.git_ref) = ("merge_group", &git_ref);
        step.event =
            json!({"action": "checks_requested", "merge_group": {"head_sha": head, "base_sha": base}});
        let turn = self.play(&step);
        self.turns.push(turn);
        self.asked.push(self.model.requests().len());
    }

    /// Runs a step with the replies of earlier turns.
    fn play(&self, step: &Step<'_>) -> Turn {
        let replies = step.checkout.join(".qa-skill/replies");
        if self.replies.exists() {
            copy_tree(&self.replies, &replies);
        }
        let turn = self.pull.play(step);
        if replies.exists() {
            copy_tree(&replies, &self.replies);
        }
        turn
    }
}

fn last_entry(turn: &Turn) -> Value {
    turn.ledger()["entries"].as_array().unwrap().last().unwrap().clone()
}

/// Describes a turn as its ledger does.
fn description(turn: &Turn) -> String {
    let entry = last_entry(turn);
    let judged = &entry["turn"];
    let [number, opened, open, resolved] = ["/number", "/counts/opened", "/counts/open", "/counts/resolved"]
        .map(|pointer| judged.pointer(pointer).unwrap().as_u64().unwrap());
    let [mode, conclusion] = ["mode", "conclusion"].map(|name| judged[name].as_str().unwrap());
    let waits = if judged["deferred"] == json!([]) { "" } else { ", review-security waits" };
    format!("{number} {mode}: {conclusion}, {opened} new, {open} open, {resolved} resolved{waits}")
}

#[test]
fn the_life_of_a_pull_request_has_one_chain_and_a_third_of_the_questions() {
    let life = Life::live(OBSERVED);
    let described: Vec<String> = life.turns.iter().map(description).collect();
    let expected = [
        "1 bootstrap: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "2 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "3 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "4 cadence: pass, 0 new, 0 open, 0 resolved",
        "5 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "6 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "7 cadence: fail, 1 new, 0 open, 0 resolved, review-security waits",
        "8 cadence: fail, 0 new, 1 open, 0 resolved",
        "9 cadence: could_not_complete, 0 new, 0 open, 1 resolved, review-security waits",
        "10 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "11 cadence: could_not_complete, 0 new, 0 open, 0 resolved, review-security waits",
        "12 cross-check: pass, 0 new, 0 open, 0 resolved",
        "13 cross-check: pass, 0 new, 0 open, 0 resolved",
        "1 cross-check: pass, 0 new, 0 open, 0 resolved",
    ];
    assert_eq!(described, expected);
    let pushes = &life.turns[..13];
    for pair in pushes.windows(2) {
        assert_eq!(last_entry(&pair[1])["previousDigest"], last_entry(&pair[0])["digest"]);
    }
    // The merge group is another head with a chain of its own: no event says which pull requests it holds.
    assert_eq!(life.turns[13].ledger()["pullRequest"], Value::Null);

    // Turns 4 and 8 are due, and the cross-checks ask what no turn asked.
    assert_eq!(life.asked, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4]);
    let unobserved = Life::live("");
    assert_eq!(unobserved.asked.last(), Some(&12));

    has_the_page(&life.turns[12]);
    verifies_elsewhere(&life);
}

/// The page of the pull request shows each turn, the skipped test and what waited.
fn has_the_page(last: &Turn) {
    let observe = |format: &str| {
        let program = qa_skill(["observe", "--format", format, "--ledger"]).arg(&last.ledger);
        program.run().expect(0).text()
    };
    let (page, table) = (observe("html"), observe("text"));
    assert!(table.contains("3 turns before these: 0 passed, 0 failed, 3 could not complete"), "{table}");
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        // The third word is the head.
        if words.len() > 7 && words[1].starts_with('c') && words[0].parse::<u64>().is_ok() {
            words.remove(2);
            rows.push(words.join(" "));
        }
    }
    let expected = [
        "4 cadence pass 0 0 0 0",
        "5 cadence could not complete 0 0 0 1",
        "6 cadence could not complete 0 0 0 1",
        "7 cadence fail 1 1 0 1",
        "8 cadence fail 0 1 0 0",
        "9 cadence could not complete 0 0 1 1",
        "10 cadence could not complete 0 0 0 1",
        "11 cadence could not complete 0 0 0 1",
        "12 cross-check pass 0 0 0 0",
        "13 cross-check pass 0 0 0 0",
    ];
    assert_eq!(rows, expected, "{table}");
    for entry in last.ledger()["entries"].as_array().unwrap() {
        let head = &entry["turn"]["headSha"].as_str().unwrap()[..12];
        assert!(page.contains(head), "{head}: {page}");
    }
    assert!(!page.contains("<script"), "{page}");
}

/// Everything that the pull request left behind holds on another machine, for somebody who finds it a year later.
fn verifies_elsewhere(life: &Life) {
    let place = tempfile::tempdir().unwrap();
    for (number, turn) in life.turns.iter().enumerate() {
        let run = place.path().join(number.to_string()).join(turn.run.file_name().unwrap());
        copy_tree(&turn.run, &run);
        let ledger = run.with_file_name("ledger.json");
        std::fs::copy(&turn.ledger, &ledger).unwrap();
        let statement = run.with_file_name("statement.json");
        std::fs::copy(run.join("statement.intoto.json"), &statement).unwrap();
        a_year_older(place.path());
        let verify = qa_skill(["verify"]).arg(&run).arg("--ledger").arg(&ledger);
        let verify = verify.arg("--attestation").arg(&statement).within(place.path());
        verify.env("TZ", "Pacific/Kiritimati").env("HOME", place.path()).run().expect(0);
    }
}

/// Dates everything below a directory back.
fn a_year_older(directory: &Path) {
    let mut touch = Command::new("find");
    touch.arg(directory).args(["-exec", "touch", "--no-dereference", "--date", "1 year ago", "{}", "+"]);
    assert!(touch.status().unwrap().success());
}

/// A head of a pull request whose job is killed in a request, and then runs again.
struct Killed {
    is_faulty: bool,
    /// The request from the start of the job, counted from 1, and whether it had its effect.
    request: usize,
    acts: bool,
    /// Time that the job goes on after the request failed; `None` kills it in the request.
    delay: Option<Duration>,
    /// Attempt of the second run: a runner may start a job anew, or a person.
    attempt: &'static str,
}

/// A job that keeps a comment, in the run of the head's push.
fn job(pull: &PullRequest, step: &Step<'_>, attempt: &str) -> Program {
    let run = pull.world.origin.head.to_string()[..8].to_owned();
    let run = u64::from_str_radix(&run, 16).unwrap().to_string();
    let program = pull.program(step).env("INPUT_COMMENT", "true");
    program.env("GITHUB_RUN_ID", run).env("GITHUB_RUN_ATTEMPT", attempt)
}

impl Killed {
    fn draw(random: &mut Random, requests: usize) -> Self {
        Self {
            is_faulty: random.below(2) == 0,
            request: 1 + random.below(requests),
            acts: random.below(2) == 0,
            delay: (random.below(2) == 0).then(|| Duration::from_micros(random.next() % 20_000)),
            attempt: random.pick::<&str>(&["1", "2"]),
        }
    }

    /// Returns whether the job was killed before it ended.
    fn kill(&self, pull: &PullRequest) -> bool {
        let step = pull.step("synchronize", true);
        let reached = pull.world.holder.hold(self.request, self.acts);
        let program = job(pull, &step, "1");
        let mut command = program.bare_command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while reached.recv_timeout(Duration::from_millis(2)).is_err() {
            if child.try_wait().unwrap().is_some() {
                pull.world.holder.release();
                return false;
            }
        }
        if let Some(delay) = self.delay {
            pull.world.holder.release();
            std::thread::sleep(delay);
        }
        let was_running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        pull.world.holder.release();
        was_running
    }
}

/// `QA_SKILL_KILLS=500` draws more cases, from the same seed.
#[test]
fn jobs_that_are_killed_in_any_request_leave_one_chain_one_comment_and_no_wrong_conclusion() {
    let amount = std::env::var("QA_SKILL_KILLS").map_or(30, |text| text.parse().unwrap());
    let mut random = Random(20_260_202);
    let mut pull = PullRequest::opened(&clean());
    let mut last = last_entry(&pull.judge("opened", true));
    // A job needs at most so many requests: the second one is counted.
    let mut requests = 60;
    let mut killed = 0;
    for number in 0..amount {
        let case = Killed::draw(&mut random, requests);
        let files = if case.is_faulty { faulty() } else { clean() };
        pull.push(&files.with("notes.md", format!("{number}\n")));
        pull.turns += 1;
        killed += usize::from(case.kill(&pull));
        let before = pull.world.holder.requests();
        last = case.judge_again(&mut pull, &last, number);
        requests = pull.world.holder.requests() - before;
    }
    assert!(killed >= amount / 3, "only {killed} of {amount} jobs were killed");
    assert_eq!(pull.world.github.state().comments.len(), 1);
}

impl Killed {
    /// Judges a head again whose job was killed, and returns the last entry of its ledger.
    fn judge_again(&self, pull: &mut PullRequest, before: &Value, number: usize) -> Value {
        let head = pull.world.origin.head.to_string();
        let place = format!("head {number}, request {}, {:?}, acts: {}", self.request, self.delay, self.acts);
        // The first job may have stored its artifact before it was killed.
        let was_stored = pull.world.hub.0.lock().unwrap().blobs.contains_key("qa-skill-run");
        if was_stored {
            pull.store(head.clone());
        }
        pull.turns += 1;
        let mut step = pull.step("synchronize", true);
        step.event["before"] = before["turn"]["headSha"].clone();
        let outcome = job(pull, &step, self.attempt).run();
        assert_eq!(outcome.exit, i32::from(self.is_faulty), "{place}: {}{}", outcome.text(), outcome.stderr);
        pull.store(head.clone());

        let ledger = std::fs::read(step.checkout.join(".qa-skill/observer/observer-ledger.json")).unwrap();
        let ledger: Value = serde_json::from_slice(&ledger).unwrap();
        let entries = ledger["entries"].as_array().unwrap();
        let last = entries.last().unwrap().clone();
        // A stored turn of the same head is one of the chain.
        let added = if was_stored { 2 } else { 1 };
        let numbers = [before, &last].map(|entry| entry["turn"]["number"].as_u64().unwrap());
        assert_eq!(numbers[1], numbers[0] + added, "{place}: {}", outcome.text());
        let mut digests = entries.iter().rev().map(|entry| &entry["digest"]);
        assert_eq!(digests.nth(usize::try_from(added).unwrap()), Some(&before["digest"]), "{place}");

        let state = pull.world.github.state();
        assert!(state.comments.len() == 1, "{place}: {:?}", state.comments);
        let expected = if self.is_faulty { "failure" } else { "success" };
        let mut of_head: Vec<&str> = Vec::new();
        for check in state.checks.iter().filter(|check| check.head_sha == head) {
            of_head.push(check.conclusion.as_deref().unwrap_or("goes on"));
        }
        assert_eq!(of_head.last(), Some(&expected), "{place}: {of_head:?}");
        let allowed = [expected, "cancelled", "timed_out"];
        assert!(of_head.iter().all(|conclusion| allowed.contains(conclusion)), "{place}: {of_head:?}");
        last
    }
}
