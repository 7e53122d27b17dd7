//! Tests of a drive's decisions, with sessions that no agent had a part in.

use super::check::difference;
use super::history::{COMPACTION_TOKENS, VERBATIM_TURNS, bytes_of, tokens};
use super::*;
use crate::policy::drive::Rights;
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, ExecutionKey, RepoPath};
use qa_contracts::v1::{
    AgentChange, DispatchResult, DriveExecutor, DriveExit, DriveFile, DriveHistory, DriveLimits, DriveOutput,
    DriveRefusal, DriveTask, GuardedFinding, Severity,
};

pub(super) fn digest(number: u64) -> Sha256Hex {
    canonical::sha256(&number.to_le_bytes())
}

pub(super) fn commit(number: u64) -> CommitId {
    CommitId::parse(&digest(number).as_str()[..40]).unwrap()
}

pub(super) fn path(text: &str) -> RepoPath {
    RepoPath::from_bytes(text.as_bytes()).unwrap()
}

pub(super) fn start(goal: Option<&str>) -> DriveStart {
    DriveStart {
        repo_id: "acme/widget".to_owned(),
        base_sha: commit(1),
        head_sha: commit(2),
        goal: goal.map(str::to_owned),
        builtin_fix: false,
        agent: vec!["agent".to_owned()],
        limits: DriveLimits {
            writable: vec!["**".to_owned()],
            open: Vec::new(),
            network: false,
            environment: Vec::new(),
            max_turns: 200,
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

/// Returns the judgement of a tree in which findings block, each in a file of its own.
pub(super) fn judged(blocking: &[u64]) -> DriveJudgement {
    let task = |number: &u64| DriveTask {
        finding_id: digest(*number),
        rule_id: "lens/rule".to_owned(),
        severity: Severity::High,
        file: path(&format!("src/{number}.py")),
        start_line: 1,
        end_line: 1,
        summary: "something".to_owned(),
        fix: "mend it".to_owned(),
        quote: None,
        safe_edit: false,
    };
    DriveJudgement {
        run: "run".to_owned(),
        execution_key: ExecutionKey::parse(digest(0).as_str()).unwrap(),
        run_digest: digest(0),
        conclusion: if blocking.is_empty() { Conclusion::Pass } else { Conclusion::Fail },
        vacuous: false,
        files: Vec::new(),
        tasks: blocking.iter().map(task).collect(),
        guarded: Vec::new(),
    }
}

pub(super) fn file(name: &str, added: u64, removed: u64) -> DriveFile {
    DriveFile { path: path(name), blob: None, mode: Some("100644".to_owned()), added, removed }
}

/// Returns what agents changed, by the names of files.
pub(super) fn agent_change(files: &[DriveFile]) -> AgentChange {
    AgentChange {
        run: "own".to_owned(),
        execution_key: ExecutionKey::parse(digest(0).as_str()).unwrap(),
        run_digest: digest(0),
        complete: true,
        files: files.to_vec(),
        guarded: Vec::new(),
    }
}

/// Returns a session whose head is judged.
pub(super) fn judged_session(goal: Option<&str>, blocking: &[u64]) -> DriveSession {
    DriveSession { bootstrap: Some(judged(blocking)), ..begin(start(goal)) }
}

/// Actions of an agent in a turn of a test.
pub(super) struct Played<'a> {
    pub(super) outcome: DispatchOutcome,
    pub(super) output: &'a str,
    pub(super) changed: &'a [&'a str],
    pub(super) after: Option<DriveJudgement>,
}

pub(super) const IDLE: Played<'_> =
    Played { outcome: DispatchOutcome::Done, output: "", changed: &[], after: None };

pub(super) fn changing(after: DriveJudgement) -> Played<'static> {
    Played { changed: &["src/a.py"], after: Some(after), ..IDLE }
}

/// Plays a turn as the program does.
pub(super) fn play(session: &mut DriveSession, played: Played<'_>) -> Box<DispatchEnvelope> {
    let Some(Step::Dispatch(envelope)) = next_step(session) else { panic!("no turn follows") };
    let changed: Vec<RepoPath> = played.changed.iter().map(|text| path(text)).collect();
    let mut refusals: Vec<DriveRefusal> = referee::refuse_failed(played.outcome).into_iter().collect();
    refusals.extend(referee::refuse_paths(&Rights::new(&session.start.limits).unwrap(), &changed));
    // Each turn leaves the files that it names in a state of its own.
    let number = envelope.turn;
    let mut files: Vec<DriveFile> = check::agent_files(session).to_vec();
    for changed in &changed {
        files.retain(|file| file.path != *changed);
        let mode = Some(number.to_string());
        files.push(DriveFile { path: changed.clone(), blob: None, mode, added: 1, removed: 0 });
    }
    files.sort();
    let output =
        |text: &str| DriveOutput { bytes: text.len() as u64, sha256: digest(3), text: text.to_owned() };
    let turn = DriveTurn {
        number: envelope.turn,
        envelope_id: envelope.envelope_id.clone(),
        person: None,
        plan: None,
        tasks: envelope.tasks.iter().map(|task| task.finding_id.clone()).collect(),
        executor: builtin::executor(session, &envelope),
        exit: exit(i32::from(played.outcome == DispatchOutcome::Failed)),
        stdout: output(played.output),
        stderr: output(""),
        tokens: None,
        cost_micro_usd: None,
        answer: DispatchResult { outcome: played.outcome, ..reply::by_exit(&exit(0), &envelope.envelope_id) },
        commit: Some(commit(100 + envelope.turn)),
        changed,
        ignored: Default::default(),
        judgement: None,
        agent_change: None,
        refusals,
        outcome: None,
        digest: None,
    };
    record_turn(session, turn);
    if let Some(Step::Judge(_)) = next_step(session) {
        judge_turn(session, played.after.expect("a tree is judged"), agent_change(&files));
    }
    envelope
}

pub(super) fn exit(code: i32) -> DriveExit {
    DriveExit { code: Some(code), signal: None, stopped: None }
}

pub(super) fn end_reason(session: &DriveSession) -> Option<DriveEndReason> {
    match next_step(session) {
        Some(Step::End(end)) => Some(end.reason),
        _ => None,
    }
}

#[test]
fn a_head_is_judged_before_the_first_turn_and_one_that_passes_needs_none() {
    assert_eq!(next_step(&begin(start(None))), Some(Step::Bootstrap));
    assert_eq!(end_reason(&judged_session(None, &[])), Some(DriveEndReason::Passed));
    // A goal is not reached by a change that passes already.
    assert_eq!(end_reason(&judged_session(Some("more"), &[])), None);
    let mut incomplete = judged_session(None, &[]);
    incomplete.bootstrap.as_mut().unwrap().conclusion = Conclusion::CouldNotComplete;
    assert_eq!(end_reason(&incomplete), Some(DriveEndReason::Incomplete));
    let mut empty = judged_session(Some("more"), &[]);
    let bootstrap = empty.bootstrap.as_mut().unwrap();
    (bootstrap.conclusion, bootstrap.vacuous) = (Conclusion::CouldNotComplete, true);
    assert_eq!(end_reason(&empty), None);
}

#[test]
fn a_drive_passes_by_the_verdict_of_an_accepted_tree_and_by_nothing_that_an_agent_says() {
    let mut session = judged_session(None, &[10, 11]);
    play(&mut session, IDLE);
    play(&mut session, changing(judged(&[11])));
    assert_eq!(end_reason(&session), None);
    let mut weakened = judged(&[]);
    weakened.guarded = vec![GuardedFinding {
        finding_id: digest(7),
        rule_id: "suppression/added".to_owned(),
        file: path("src/a.py"),
    }];
    play(&mut session, changing(weakened));
    let last = session.turns.last().unwrap();
    assert_eq!(
        (last.outcome, last.refusals[0].code),
        (Some(DriveOutcome::Refused), Code::DriveCheckWeakened)
    );
    assert_eq!(end_reason(&session), None);
    assert_eq!(current_commit(&session), &commit(102));
    play(&mut session, changing(judged(&[])));
    assert_eq!(end_reason(&session), Some(DriveEndReason::Passed));
    assert_eq!(current_commit(&session), &commit(104));
}

#[test]
fn a_goal_is_reached_when_the_agent_says_so_in_a_turn_that_counts() {
    let mut session = judged_session(Some("more"), &[]);
    play(&mut session, Played { outcome: DispatchOutcome::Blocked, ..changing(judged(&[])) });
    assert_eq!(end_reason(&session), None);
    play(&mut session, Played { changed: &[".github/workflows/ci.yml"], ..changing(judged(&[])) });
    assert_eq!(session.turns[1].refusals[0].code, Code::DrivePathRefused);
    assert_eq!(end_reason(&session), None);
    play(&mut session, IDLE);
    assert_eq!(end_reason(&session), Some(DriveEndReason::Passed));
    let mut idle = judged_session(Some("more"), &[]);
    play(&mut idle, IDLE);
    assert_eq!(end_reason(&idle), None);
}

#[test]
fn a_finding_that_stands_once_more_than_before_is_new() {
    let guarded = |count| {
        vec![GuardedFinding { finding_id: digest(7), rule_id: "r".to_owned(), file: path("a") }; count]
    };
    let (before, same) = (
        DriveJudgement { guarded: guarded(2), ..judged(&[1]) },
        DriveJudgement { guarded: guarded(2), ..judged(&[]) },
    );
    assert_eq!(referee::refuse_judgement(&before, &same, &agent_change(&[])), []);
    let more = DriveJudgement { guarded: guarded(3), ..judged(&[]) };
    assert_eq!(referee::refuse_judgement(&before, &more, &agent_change(&[])).len(), 1);
    let unjudged = DriveJudgement { conclusion: Conclusion::CouldNotComplete, ..judged(&[]) };
    assert_eq!(
        referee::refuse_judgement(&before, &unjudged, &agent_change(&[]))[0].code.as_str(),
        "DRIVE_TURN_NOT_JUDGED"
    );
}

#[test]
fn a_change_is_not_taken_back_but_for_files_with_findings() {
    let none = agent_change(&[]);
    let head =
        DriveJudgement { files: vec![file("src/1.py", 1, 0), file("src/a.py", 40, 0)], ..judged(&[1]) };
    let after = |names: &[&str]| DriveJudgement {
        files: names.iter().map(|name| file(name, 1, 0)).collect(),
        ..judged(&[])
    };
    assert_eq!(referee::refuse_judgement(&head, &after(&["src/a.py"]), &none), []);
    let refusals = referee::refuse_judgement(&head, &after(&["src/1.py", "src/b.py"]), &none);
    assert_eq!((refusals.len(), refusals[0].code), (1, Code::DriveChangeReverted));
    let nothing = DriveJudgement { vacuous: true, ..after(&[]) };
    assert_eq!(referee::refuse_judgement(&head, &nothing, &none)[0].code, Code::DriveChangeReverted);
    // Of 40 added lines at most half may go.
    let both = after(&["src/1.py", "src/a.py"]);
    for (removed, refused) in [(10, false), (20, false), (21, true)] {
        let change = agent_change(&[file("src/a.py", 0, removed)]);
        assert_eq!(!referee::refuse_judgement(&head, &both, &change).is_empty(), refused, "{removed}");
    }
}

#[test]
fn a_file_of_the_change_is_deleted_only_where_a_finding_asks_for_that() {
    let blob = |digit: &str| Some(BlobId::parse(&digit.repeat(40)).unwrap());
    let own = DriveFile { blob: blob("1"), ..file("src/1.py", 3, 0) };
    let head = DriveJudgement { files: vec![own, file("src/b.py", 0, 1)], ..judged(&[1]) };
    let after = DriveJudgement { files: vec![file("src/b.py", 0, 1)], ..judged(&[]) };
    let deleted = |name: &str, removed| DriveFile { mode: None, ..file(name, 0, removed) };
    let moved = |to: &str| DriveFile { path: path(to), ..head.files[0].clone() };
    let rewritten = DriveFile { blob: blob("9"), ..moved("src/2.py") };
    let codes = |head: &DriveJudgement, change: &[DriveFile]| -> Vec<Code> {
        let refusals = referee::refuse_judgement(head, &after, &agent_change(change));
        refusals.into_iter().map(|refusal| refusal.code).collect()
    };
    assert_eq!(codes(&head, &[deleted("src/1.py", 3)]), [Code::DriveChangeReverted]);
    assert_eq!(codes(&head, &[file("src/1.py", 0, 3)]), []);
    assert_eq!(codes(&head, &[deleted("src/b.py", 9)]), [Code::DriveChangeReverted]);
    // A file that has no lines, as a picture; one that the change leaves alone; and one that is moved, as it is or changed.
    assert_eq!(codes(&head, &[deleted("src/1.py", 0)]), [Code::DriveChangeReverted]);
    assert_eq!(codes(&head, &[deleted("src/c.py", 3)]), []);
    assert_eq!(codes(&head, &[deleted("src/1.py", 0), moved("src/2.py")]), []);
    assert_eq!(codes(&head, &[deleted("src/1.py", 0), rewritten]), [Code::DriveChangeReverted]);
    let mut leftover = head.clone();
    leftover.tasks[0].rule_id = "merge-leftover/editor-file".to_owned();
    assert_eq!(codes(&leftover, &[deleted("src/1.py", 3)]), []);
}

#[test]
fn a_refused_edit_leaves_the_others_to_the_next_turn() {
    let mut session = judged_session(None, &[10, 11]);
    session.start.builtin_fix = true;
    for task in &mut session.bootstrap.as_mut().unwrap().tasks {
        task.safe_edit = true;
    }
    let weakened = |rule_file: &str| DriveJudgement {
        guarded: vec![GuardedFinding {
            finding_id: digest(7),
            rule_id: "suppression/added".to_owned(),
            file: path(rule_file),
        }],
        ..judged(&[])
    };
    let both = ["src/10.py", "src/11.py"];
    play(&mut session, Played { changed: &both, after: Some(weakened("src/10.py")), ..IDLE });
    assert_eq!(session.turns[0].outcome, Some(DriveOutcome::Refused));
    let Some(Step::Dispatch(second)) = next_step(&session) else { panic!() };
    let rights = Rights::new(&session.start.limits).ok();
    let editable = |number: u64| {
        let task = second.tasks.iter().find(|task| task.finding_id == digest(number)).unwrap();
        builtin::is_editable(&session, rights.as_ref(), task)
    };
    assert_eq!((editable(10), editable(11)), (false, true));
    assert_eq!(builtin::executor(&session, &second), DriveExecutor::SafeEdits);
    let answer = builtin::answer(&session, &second, &[]);
    let left_out = "; left out, because a turn with them was refused: lens/rule, src/10.py:1";
    assert!(answer.summary.ends_with(left_out), "{}", answer.summary);
    // The others are tried once more, and a refusal about no file is one of them all.
    play(&mut session, Played { changed: &["src/11.py"], after: Some(weakened("src/10.py")), ..IDLE });
    let Some(Step::Dispatch(third)) = next_step(&session) else { panic!() };
    assert_eq!(builtin::executor(&session, &third), DriveExecutor::Program);
    assert_eq!(difference(&session), None);
    session.turns.truncate(1);
    session.turns[0].refusals[0].file = None;
    let tasks = &session.bootstrap.as_ref().unwrap().tasks;
    assert!(tasks.iter().all(|task| !builtin::is_editable(&session, rights.as_ref(), task)));
}

#[test]
fn what_an_agent_weakens_of_the_head_itself_is_refused() {
    let (head, after) = (judged(&[1]), judged(&[]));
    let finding =
        GuardedFinding { finding_id: digest(8), rule_id: "shortcut/x".to_owned(), file: path("tests/b.py") };
    let weakened = AgentChange { guarded: vec![finding], ..agent_change(&[]) };
    assert_eq!(referee::refuse_judgement(&head, &after, &weakened)[0].code, Code::DriveCheckWeakened);
    let partial = AgentChange { complete: false, ..agent_change(&[]) };
    assert_eq!(referee::refuse_judgement(&head, &after, &partial)[0].code, Code::DriveTurnNotJudged);
}

#[test]
fn each_end_without_a_pass_has_its_name() {
    let mut session = judged_session(None, &[10]);
    for _ in 0..2 {
        assert_eq!(end_reason(&session), None);
        play(&mut session, Played { outcome: DispatchOutcome::Blocked, ..IDLE });
    }
    assert_eq!(end_reason(&session), Some(DriveEndReason::Stuck));

    let mut session = judged_session(None, &[10]);
    for turn in [IDLE, changing(judged(&[10])), Played { outcome: DispatchOutcome::Failed, ..IDLE }] {
        assert_eq!(end_reason(&session), None);
        play(&mut session, turn);
    }
    assert_eq!(end_reason(&session), Some(DriveEndReason::NoProgress));

    let mut session = judged_session(None, &[10]);
    play(&mut session, Played { outcome: DispatchOutcome::Ask, ..IDLE });
    assert_eq!(end_reason(&session), Some(DriveEndReason::Ask));

    let mut session = judged_session(None, &[10, 11]);
    session.start.limits.max_turns = 1;
    play(&mut session, changing(judged(&[11])));
    assert_eq!(end_reason(&session), Some(DriveEndReason::Turns));

    let mut session = judged_session(None, &[10]);
    session.start.limits.writable = vec!["docs/**".to_owned()];
    assert_eq!(end_reason(&session), Some(DriveEndReason::Ask));

    let mut session = judged_session(None, &[10]);
    session.bootstrap.as_mut().unwrap().files = vec![file(".qa-skill/policy.toml", 1, 1)];
    assert_eq!(end_reason(&session), Some(DriveEndReason::Ask));
}

#[test]
fn findings_that_fewer_turns_were_about_come_first() {
    let all: Vec<u64> = (10..30).collect();
    let mut session = judged_session(None, &all);
    let Some(Step::Dispatch(first)) = next_step(&session) else { panic!() };
    assert_eq!((first.tasks.len(), first.tasks_waiting), (MOST_TASKS, 10));
    assert_eq!(first.tasks[0].finding_id, digest(10));
    play(&mut session, IDLE);
    let Some(Step::Dispatch(second)) = next_step(&session) else { panic!() };
    assert_eq!(second.tasks[0].finding_id, digest(20));
    assert_ne!(first.envelope_id, second.envelope_id);
}

#[test]
fn files_that_run_or_own_things_are_protected_unless_the_policy_opens_them() {
    let mut limits = start(None).limits;
    let rights = Rights::new(&limits).unwrap();
    for protected in [
        ".github/workflows/a.yml",
        ".qa-skill/policy.toml",
        "docs/CODEOWNERS",
        "CODEOWNERS",
        "web/package-lock.json",
        "Cargo.lock",
        "sub/.gitattributes",
        ".QA-SKILL/policy.toml",
        ".forgejo/workflows/a.yml",
        "ci.Jenkinsfile",
        "sub/.vscode/tasks.json",
        "azure-pipelines.yaml",
        ".appveyor.yml",
        ".gitlab-ci.yml",
    ] {
        assert!(rights.refusal(&path(protected)).is_some(), "{protected}");
    }
    assert_eq!(rights.refusal(&path("src/github/a.yml")), None);
    limits.open = vec!["**/package-lock.json".to_owned()];
    limits.writable = vec!["web/**".to_owned()];
    let rights = Rights::new(&limits).unwrap();
    assert_eq!(rights.refusal(&path("web/package-lock.json")), None);
    assert!(rights.refusal(&path("package-lock.json")).is_some());
    assert!(rights.refusal(&path("src/a.py")).is_some());
}

#[test]
fn a_history_of_200_turns_is_folded_within_its_limit_and_the_same_from_any_prefix() {
    let mut session = judged_session(Some("a long goal"), &[]);
    let output = "x".repeat(20_000);
    let compactions =
        |envelope: &DispatchEnvelope| envelope.history.folded.as_ref().map_or(0, |folded| folded.compactions);
    let (mut folds, mut most, mut last) = (0, 0, 0);
    for number in 0..199_u64 {
        let blocking = [1000 + number];
        let envelope = play(&mut session, Played { output: &output, ..changing(judged(&blocking)) });
        let bytes = canonical::to_vec(&envelope.history).unwrap().len();
        assert!(bytes <= bytes_of(&envelope.history), "turn {number}");
        most = most.max(tokens(bytes));
        let (bytes_before, folds_before) = (last, folds);
        (last, folds) = (bytes, compactions(&envelope));
        if folds > folds_before {
            assert!(bytes * 10 <= bytes_before * 9, "turn {number}: {bytes_before}, then {bytes}");
        }
        assert_eq!(envelope.goal, "a long goal");
        let listed = envelope.history.turns.len() as u64;
        assert_eq!(listed + envelope.history.folded.as_ref().map_or(0, |folded| folded.turns), number);
        assert!(listed >= number.min(VERBATIM_TURNS as u64));
    }
    assert!(folds >= 4, "{folds}");
    assert!(most <= COMPACTION_TOKENS, "{most}");
    session.turns.truncate(60);
    assert_eq!(difference(&session), None);
}

#[test]
fn a_history_that_goes_on_is_that_of_the_whole_session() {
    let mut session = judged_session(Some("goal"), &[]);
    let (mut history, mut folds) = (FoldedHistory::default(), 0);
    for number in 0..60 {
        play(&mut session, Played { output: &"x".repeat(20_000), ..changing(judged(&[1000 + number])) });
        // A turn that waits for its judgement is not part of it, and is when it has its outcome.
        let mut waiting = session.clone();
        waiting.turns.last_mut().unwrap().outcome = None;
        let bootstrap = session.bootstrap.as_ref().unwrap();
        assert!(history.of_all_turns(&waiting, bootstrap).turns.iter().all(|turn| turn.number <= number));
        let step = next_step_after(&session, &mut history);
        assert_eq!(step, next_step(&session));
        let Some(Step::Dispatch(envelope)) = step else { panic!() };
        folds = envelope.history.folded.map_or(0, |folded| folded.compactions);
    }
    assert!(folds >= 1, "{folds}");
}

#[test]
fn turns_that_are_too_long_by_themselves_lose_outputs_and_then_paths() {
    let mut history = DriveHistory::default();
    let mut session = judged_session(Some("goal"), &[]);
    let name = format!("src/{0}/{0}/{0}/{0}.py", "n".repeat(225));
    let names: Vec<&str> = std::iter::repeat_n(name.as_str(), 100).collect();
    for number in 0..20 {
        play(&mut session, Played { output: "y", changed: &names, ..changing(judged(&[1000 + number])) });
        let Some(Step::Dispatch(envelope)) = next_step(&session) else { panic!() };
        history = envelope.history;
    }
    assert_eq!(history.turns.len(), VERBATIM_TURNS);
    assert!(tokens(canonical::to_vec(&history).unwrap().len()) <= COMPACTION_TOKENS);
    assert!(history.turns[0].output.is_empty() && history.turns[0].changed.is_empty());
    assert_eq!(history.turns[9].changed.len(), 100);
    assert!(history.turns.iter().all(|turn| turn.opened.len() == 1));
}

#[test]
fn a_session_that_was_edited_does_not_follow() {
    let mut whole = judged_session(None, &[10, 11]);
    play(&mut whole, changing(judged(&[11])));
    play(&mut whole, Played { changed: &["Cargo.lock"], ..changing(judged(&[])) });
    play(&mut whole, changing(judged(&[])));
    let Some(Step::End(end)) = next_step(&whole) else { panic!() };
    whole.end = Some(end);
    assert_eq!(difference(&whole), None);
    type Edit = fn(&mut DriveSession);
    let edits: [(&str, Edit); 14] = [
        ("its executor is another", |session| session.turns[0].executor = DriveExecutor::SafeEdits),
        ("its outcome is another", |session| session.turns[1].outcome = Some(DriveOutcome::Accepted)),
        ("refuses it for another reason", |session| session.turns[1].refusals.clear()),
        ("its digest is another", |session| session.turns[0].answer.summary = "I did it".to_owned()),
        ("its digest is another", |session| session.turns[1].commit = None),
        ("its tasks are others", |session| session.turns[2].tasks.clear()),
        ("its envelope is another", |session| session.start.limits.max_turns = 3),
        ("another turn follows", |session| {
            session.turns.pop();
        }),
        ("refuses it for another reason", |session| session.turns[0].judgement = None),
        ("it has no outcome", |session| {
            let turn = &mut session.turns[1];
            (turn.outcome, turn.digest, turn.commit) = (None, None, None);
        }),
        ("to another envelope", |session| session.turns[0].answer.envelope_id = digest(9)),
        ("its answer says otherwise", |session| session.turns[0].exit.code = Some(1)),
        ("others than those of its runs", |session| session.turns[2].changed = vec![path("src/x.py")]),
        ("and Passed follows", |session| session.end.as_mut().unwrap().reason = DriveEndReason::Turns),
    ];
    for (reason, edit) in edits {
        let mut edited = whole.clone();
        edit(&mut edited);
        let found = difference(&edited).unwrap_or_default();
        assert!(found.contains(reason), "{reason}: {found}");
    }
}

#[test]
fn an_answer_is_the_last_line_or_follows_from_the_exit() {
    let id = digest(5);
    let line = |envelope: &Sha256Hex, outcome: &str| {
        format!(
            "{{\"schemaVersion\":\"dispatch-result.v1\",\"envelopeId\":\"{envelope}\",\"outcome\":\"{outcome}\",\"summary\":\"s\",\"expected\":\"pass\"}}"
        )
    };
    let read = |output: &str, code| reply::answer(output, &exit(code), &id).map(|answer| answer.outcome);
    assert_eq!(read("prose\n", 0), Ok(DispatchOutcome::Done));
    assert_eq!(read("prose\n", 3), Ok(DispatchOutcome::Failed));
    assert_eq!(read(&format!("prose\n{}\n\n", line(&id, "ask")), 0), Ok(DispatchOutcome::Ask));
    assert_eq!(read(&line(&id, "done"), 1), Ok(DispatchOutcome::Failed));
    // An answer that is not the last line is what an agent quotes.
    assert_eq!(read(&format!("{}\nbye", line(&id, "ask")), 0), Ok(DispatchOutcome::Done));
    assert!(read(&line(&digest(6), "done"), 0).unwrap_err().contains("another envelope"));
    assert!(read(&line(&id, "perfect"), 0).is_err());
    assert!(read("{\"schemaVersion\":\"dispatch-result.v1\"}", 0).is_err());
}
