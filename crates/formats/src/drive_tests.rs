//! Tests of the summary of a drive, with sessions that no agent had a part in.

use super::*;
use crate::sample::HOSTILE;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    AgentChange, DispatchOutcome, DispatchResult, DriveEnd, DriveExecutor, DriveExit, DriveLimits,
    DriveOutput, DriveRefusal, DriveStart, DriveTokens, PersonWord, Severity,
};
use qa_core::drive::begin;

fn digest(number: u64) -> Sha256Hex {
    Sha256Hex::parse(&format!("{number:064x}")).unwrap()
}

fn commit(number: u64) -> CommitId {
    CommitId::parse(&format!("{number:040x}")).unwrap()
}

fn path(text: &str) -> RepoPath {
    RepoPath::from_bytes(text.as_bytes()).unwrap()
}

fn file(name: &str, added: u64, removed: u64) -> DriveFile {
    DriveFile { path: path(name), blob: None, mode: None, added, removed }
}

fn task(number: u64, text: &str) -> DriveTask {
    DriveTask {
        finding_id: digest(number),
        rule_id: "debug-leftover/debugger".to_owned(),
        severity: Severity::High,
        file: path("src/a.py"),
        start_line: number,
        end_line: number,
        summary: text.to_owned(),
        fix: "Remove it.".to_owned(),
        quote: None,
        safe_edit: true,
    }
}

fn judged(tasks: Vec<DriveTask>) -> DriveJudgement {
    DriveJudgement {
        run: "run".to_owned(),
        execution_key: ExecutionKey::parse(digest(1).as_str()).unwrap(),
        run_digest: digest(2),
        conclusion: if tasks.is_empty() { Conclusion::Pass } else { Conclusion::Fail },
        vacuous: false,
        files: Vec::new(),
        tasks,
        guarded: Vec::new(),
    }
}

fn start(goal: Option<&str>) -> DriveStart {
    DriveStart {
        repo_id: "acme/widget".to_owned(),
        base_sha: commit(1),
        head_sha: commit(2),
        goal: goal.map(str::to_owned),
        builtin_fix: true,
        agent: vec!["/opt/agent.sh".to_owned(), "--fast".to_owned()],
        limits: DriveLimits {
            writable: vec!["**".to_owned()],
            open: Vec::new(),
            network: false,
            environment: Vec::new(),
            max_turns: 5,
            turn_seconds: 60,
            max_attempts: 5,
            max_attempts_per_head: 2,
            push: false,
            model: None,
            coordinator: None,
            max_cost_micro_usd: None,
        },
        attempt: 1,
        engine: "0".to_owned(),
    }
}

fn output() -> DriveOutput {
    DriveOutput { bytes: 0, sha256: digest(3), text: String::new() }
}

/// A turn that changes a file; `after` has what blocks then, and nothing where the turn is refused.
fn turn(number: u64, says: &str, after: Option<Vec<DriveTask>>) -> DriveTurn {
    let refusal = |message: &str| DriveRefusal {
        code: Code::DriveCheckWeakened,
        file: Some(path("tests/test_a.py")),
        message: message.to_owned(),
    };
    let change = AgentChange {
        run: "own".to_owned(),
        execution_key: ExecutionKey::parse(digest(1).as_str()).unwrap(),
        run_digest: digest(2),
        complete: true,
        files: vec![file("src/a.py", 3, 1)],
        guarded: Vec::new(),
    };
    DriveTurn {
        number,
        envelope_id: digest(number),
        person: (number == 3).then(|| PersonWord { text: Some(says.to_owned()), by: None }),
        plan: None,
        tasks: vec![digest(10)],
        executor: if number == 1 { DriveExecutor::SafeEdits } else { DriveExecutor::Program },
        exit: DriveExit { code: Some(0), signal: None, stopped: None },
        stdout: output(),
        stderr: output(),
        tokens: None,
        cost_micro_usd: None,
        answer: DispatchResult {
            schema_version: Default::default(),
            envelope_id: digest(number),
            outcome: DispatchOutcome::Done,
            summary: says.to_owned(),
            expected: String::new(),
        },
        commit: Some(commit(100 + number)),
        changed: vec![path("src/a.py")],
        ignored: IgnoredFiles { count: number - 1, first: vec![path("target"); usize::from(number > 1)] },
        outcome: Some(if after.is_some() { DriveOutcome::Accepted } else { DriveOutcome::Refused }),
        refusals: match &after {
            Some(_) => Vec::new(),
            None => vec![refusal("tests/test_a.py has a new finding of weak-test/no-assertion"); 7],
        },
        agent_change: after.is_some().then_some(change),
        judgement: after.map(judged),
        digest: Some(digest(number)),
    }
}

/// Returns a drive of three turns that passes.
pub(crate) fn session(goal: Option<&str>, text: &str) -> DriveSession {
    DriveSession {
        bootstrap: Some(judged(vec![task(3, text), task(9, text)])),
        turns: vec![
            turn(1, "applied safe edits: Delete the line", Some(vec![task(9, text)])),
            turn(2, "I removed a test\nwhich failed", None),
            turn(3, text, Some(Vec::new())),
        ],
        end: Some(DriveEnd {
            reason: DriveEndReason::Passed,
            message: "the tree passes the gate".to_owned(),
        }),
        ..begin(start(goal))
    }
}

/// Summary of [`session`].
const SUMMARY: &str = r"**PASS** after 3 turns (2 accepted, 1 refused): the tree passes the gate.

- Goal: the change passes its gate
- Change: `000000000000` against `000000000000`
- Result: `000000000000` on top of head, 1 file, 3 lines added and 1 removed
- Agent: `builtin:fix, then /opt/agent.sh --fast`

### What changed, and why

- Turn 1, builtin:fix: `src/a.py`
  - Findings: resolves `debug-leftover/debugger` in `src/a.py:3`
  - Its account: applied safe edits: Delete the line
- Turn 3, the agent: `src/a.py`; left out 2 new files that ignore rules name (`target`); a person said: a debugger statement
  - Findings: resolves `debug-leftover/debugger` in `src/a.py:9`
  - Its account: a debugger statement

### What was refused

- Turn 2, `DRIVE_CHECK_WEAKENED`: tests/test\_a.py has a new finding of weak\-test/no\-assertion

### What was checked

- The head and the trees of 2 turns were judged in whole by the policy of the base; the head: FAIL, with 2 blocking findings
- The result: PASS, execution key `0000000000000000000000000000000000000000000000000000000000000001`, run digest `0000000000000000000000000000000000000000000000000000000000000002`
- A turn that weakens a test, a check, a suppression or the policy does not count; whether the tests pass is known only where a gate of the policy runs them
- Session `6ff8c5ee036a5c409e7c44e0dad32acb0bbd83737677cacb36ac8dc2ff4849d1`: `qa-skill verify` with its directory derives every run and every decision again
";

#[test]
fn a_reviewer_reads_what_changed_and_why_and_what_was_refused_and_checked() {
    assert_eq!(drive_summary(&session(None, "a debugger statement")), SUMMARY);
}

#[test]
fn a_summary_of_many_turns_has_at_most_60_lines() {
    let tasks: Vec<DriveTask> = (1..100).map(|number| task(number, "x")).collect();
    let turns = (1..=1000).map(|number| {
        let after = (number % 2 == 0).then(|| tasks.clone());
        turn(number, &"long ".repeat(800), after)
    });
    let long =
        DriveSession { turns: turns.collect(), end: None, ..session(Some(&"goal\n".repeat(1000)), "x") };
    let text = drive_summary(&long);
    assert!(text.lines().count() <= 60, "{}", text.lines().count());
    assert!(text.len() < 30_000, "{}", text.len());
    assert!(text.starts_with("**In progress** after 1,000 turns (500 accepted, 500 refused)."), "{text}");
    assert!(text.contains("- and 494 turns more in the session"), "{text}");
}

/// A plan whose texts are somebody else's.
pub(crate) fn plan_with(text: &str, basis: DrivePlanBasis) -> DrivePlan {
    let is_answer = basis == DrivePlanBasis::Answer;
    let of_answer = |text: &str| if is_answer { text.to_owned() } else { String::new() };
    DrivePlan {
        question_id: digest(5),
        model: "review".to_owned(),
        basis,
        answer: is_answer.then(|| "{}".to_owned()),
        tokens: is_answer.then_some(DriveTokens { input: 70, output: 7 }),
        cost_micro_usd: is_answer.then_some(1500),
        problem: (!is_answer).then(|| text.to_owned()),
        tasks: if is_answer { vec![digest(10)] } else { Vec::new() },
        reasoning: of_answer(text),
        action: of_answer(text),
        expected: of_answer("It passes."),
        finished: false,
    }
}

#[test]
fn plans_are_part_of_the_summary_and_their_use_is_added_up() {
    assert_eq!(spent(&session(None, "x")), None);
    let mut planned = session(None, "x");
    planned.start.limits.max_cost_micro_usd = Some(2_000_000);
    planned.turns[0].plan = Some(plan_with("Mend it.", DrivePlanBasis::Answer));
    planned.turns[2].plan = Some(plan_with("nobody\nanswers", DrivePlanBasis::RequestFailed));
    planned.turns[2].tokens = Some(DriveTokens { input: 30, output: 3 });
    let text = drive_summary(&planned);
    for expected in [
        "- Models: 2 plans with review, 1 by the rule; 100 tokens sent and 10 generated; 0.0015 of 2 USD\n",
        "`src/a.py`; planned by review, 1 finding: Mend it. Expected: It passes.\n",
        "; planned by the rule and not by review: nobody answers\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    planned.turns[0].plan = Some(plan_with(HOSTILE, DrivePlanBasis::Answer));
    assert!(!drive_summary(&planned).contains('\u{1b}'));
}

#[test]
fn a_session_without_a_judgement_has_a_summary_and_hostile_texts_are_escaped() {
    let begun = DriveSession { bootstrap: None, turns: Vec::new(), end: None, ..session(None, "") };
    assert!(drive_summary(&begun).starts_with("**In progress** after 0 turns."));
    let text = drive_summary(&session(Some(HOSTILE), HOSTILE));
    assert!(!text.contains("<img") && !text.contains("](http") && !text.contains('\u{1b}'), "{text}");
}
