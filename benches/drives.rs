//! Times of a drive's own steps over a session of 200 turns: its next step, a recorded turn, and its status as text and as a page.

use std::collections::BTreeMap;

use divan::{Bencher, black_box};
use qa_contracts::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    AgentChange, Conclusion, DispatchEnvelope, DispatchOutcome, DispatchResult, DriveExecutor, DriveExit,
    DriveFile, DriveJudgement, DriveLimits, DriveOutput, DriveSession, DriveStart, DriveTask, DriveTurn,
    Severity,
};
use qa_core::canonical::sha256;
use qa_core::drive::{Step, begin, judge_turn, next_step, record_turn};
use qa_formats::drive_summary;
use qa_formats::html::drive::{DrivePage, page};

/// Number of turns of the session.
const TURNS: u64 = 200;
/// Number of findings that block the head, one more than turns mend.
const FINDINGS: u64 = 101;
/// Bytes of the agent's output in each turn.
const OUTPUT_BYTES: usize = 16_000;

fn main() {
    divan::main();
}

fn digest(number: u64) -> Sha256Hex {
    sha256(&number.to_le_bytes())
}

fn commit(number: u64) -> CommitId {
    CommitId::parse(&digest(number).as_str()[..40]).expect("40 digits are a commit id")
}

fn path(number: u64) -> RepoPath {
    RepoPath::from_bytes(format!("src/{number}.py").as_bytes()).expect("it is a path")
}

fn start() -> DriveStart {
    DriveStart {
        repo_id: "acme/widget".to_owned(),
        base_sha: commit(1),
        head_sha: commit(2),
        goal: None,
        builtin_fix: false,
        agent: vec!["agent".to_owned()],
        limits: DriveLimits {
            writable: vec!["**".to_owned()],
            open: Vec::new(),
            network: false,
            environment: Vec::new(),
            max_turns: TURNS + 1,
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

/// Returns the judgement of a tree in which the findings from one number on block.
fn judged(from: u64) -> DriveJudgement {
    let tasks = (from..FINDINGS).map(|number| DriveTask {
        finding_id: digest(1000 + number),
        rule_id: "merge-leftover/debugger-statement".to_owned(),
        severity: Severity::High,
        file: path(number),
        start_line: 1,
        end_line: 1,
        summary: "a debugger statement is left".to_owned(),
        fix: "Remove it.".to_owned(),
        quote: Some("breakpoint()".to_owned()),
        safe_edit: false,
    });
    DriveJudgement {
        run: "run".to_owned(),
        execution_key: ExecutionKey::parse(digest(0).as_str()).expect("a digest is a key"),
        run_digest: digest(0),
        conclusion: Conclusion::Fail,
        vacuous: false,
        files: Vec::new(),
        tasks: tasks.collect(),
        guarded: Vec::new(),
    }
}

fn change(turn: u64) -> AgentChange {
    let files = (0..=turn).map(|number| DriveFile {
        path: path(number),
        blob: None,
        mode: Some(number.to_string()),
        added: 1,
        removed: 0,
    });
    AgentChange {
        run: "own".to_owned(),
        execution_key: ExecutionKey::parse(digest(0).as_str()).expect("a digest is a key"),
        run_digest: digest(0),
        complete: true,
        files: files.collect(),
        guarded: Vec::new(),
    }
}

/// Returns a turn in which an agent prints much, and in each second turn mends a finding.
fn turn(envelope: &DispatchEnvelope) -> DriveTurn {
    let output = |text: String| DriveOutput { bytes: text.len() as u64, sha256: digest(3), text };
    let mends = envelope.turn.is_multiple_of(2);
    DriveTurn {
        number: envelope.turn,
        envelope_id: envelope.envelope_id.clone(),
        person: None,
        plan: None,
        tasks: envelope.tasks.iter().map(|task| task.finding_id.clone()).collect(),
        executor: DriveExecutor::Program,
        exit: DriveExit { code: Some(0), signal: None, stopped: None },
        stdout: output("x".repeat(OUTPUT_BYTES)),
        stderr: output(String::new()),
        tokens: None,
        cost_micro_usd: None,
        answer: DispatchResult {
            schema_version: Default::default(),
            envelope_id: envelope.envelope_id.clone(),
            outcome: DispatchOutcome::Done,
            summary: "I removed a statement.".to_owned(),
            expected: String::new(),
        },
        commit: mends.then(|| commit(100 + envelope.turn)),
        changed: if mends { vec![path(envelope.turn)] } else { Vec::new() },
        ignored: Default::default(),
        judgement: None,
        agent_change: None,
        refusals: Vec::new(),
        outcome: None,
        digest: None,
    }
}

fn envelope(session: &DriveSession) -> Box<DispatchEnvelope> {
    match next_step(session) {
        Some(Step::Dispatch(envelope)) => envelope,
        other => panic!("no turn follows: {other:?}"),
    }
}

/// Returns a session of some turns.
fn session(turns: u64, coordinator: Option<&str>) -> DriveSession {
    let mut session = DriveSession { bootstrap: Some(judged(0)), ..begin(start()) };
    for number in 1..=turns {
        let turn = turn(&envelope(&session));
        record_turn(&mut session, turn);
        if let Some(Step::Judge(_)) = next_step(&session) {
            judge_turn(&mut session, judged(number / 2), change(number));
        }
    }
    session.start.limits.coordinator = coordinator.map(str::to_owned);
    session
}

#[divan::bench]
fn next_step_of_200_turns(bencher: Bencher<'_, '_>) {
    let session = session(TURNS, None);
    bencher.bench(|| next_step(black_box(&session)));
}

#[divan::bench]
fn question_about_a_plan_of_200_turns(bencher: Bencher<'_, '_>) {
    let session = session(TURNS, Some("review"));
    bencher.bench(|| next_step(black_box(&session)));
}

#[divan::bench]
fn next_step_and_recorded_turn_of_200_turns(bencher: Bencher<'_, '_>) {
    let session = session(TURNS - 1, None);
    bencher.with_inputs(|| session.clone()).bench_values(|mut session| {
        let turn = turn(&envelope(&session));
        record_turn(&mut session, turn);
        next_step(&session)
    });
}

#[divan::bench]
fn status_as_markdown_of_200_turns(bencher: Bencher<'_, '_>) {
    let session = session(TURNS, None);
    bencher.bench(|| drive_summary(black_box(&session)));
}

#[divan::bench]
fn status_as_a_page_of_200_turns(bencher: Bencher<'_, '_>) {
    let session = session(TURNS, None);
    let patches = BTreeMap::new();
    bencher.bench(|| page(&DrivePage { session: black_box(&session), patches: &patches, result: "" }));
}
