//! Drives that are killed: each goes on with what was stored, does nothing twice, and has the history of one that was not killed.

use std::collections::BTreeMap;

use super::check::difference;
use super::coordinator::{PlanQuestion, PlanReply};
use super::tests::{agent_change, commit, digest, exit, file, judged, path, start};
use super::*;
use crate::policy::drive::Rights;
use qa_contracts::v1::{DispatchResult, DriveFile, DriveOutput, PersonWord};

/// A generator that gives the same numbers everywhere (xorshift).
struct Random(u64);

impl Random {
    /// Small seeds beside each other give unlike numbers.
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The low bits of such numbers are alike.
        (self.0 >> 33) % below
    }
}

/// Everything outside of a session: an agent whose acts follow from the turn, and the stored bytes.
struct World {
    seed: u64,
    /// True if each third turn makes progress, so that all turns are taken.
    is_steady: bool,
    /// Number of findings that block the head.
    faults: u64,
    stored: Vec<u8>,
    /// Envelopes by turn: how often each was given to the agent.
    given: BTreeMap<u64, BTreeMap<Sha256Hex, usize>>,
}

impl World {
    fn new(seed: u64, faults: u64, max_turns: u64) -> Self {
        let mut start = start(None);
        start.limits.max_turns = max_turns;
        start.builtin_fix = seed.is_multiple_of(3);
        start.limits.coordinator = seed.is_multiple_of(2).then(|| "review".to_owned());
        Self {
            seed,
            is_steady: false,
            faults,
            stored: canonical::to_vec(&begin(start)).unwrap(),
            given: BTreeMap::new(),
        }
    }

    fn load(&self) -> DriveSession {
        serde_json::from_slice(&self.stored).unwrap()
    }

    fn store(&mut self, session: &DriveSession) {
        self.stored = canonical::to_vec(session).unwrap();
    }

    /// Takes a step, as the program does. Returns false if there is none.
    fn step(&mut self, session: &mut DriveSession) -> bool {
        match next_step(session) {
            None => return false,
            Some(Step::Bootstrap) => session.bootstrap = Some(judged(&(0..self.faults).collect::<Vec<_>>())),
            Some(Step::Plan(question)) => self.plan(session, &question),
            Some(Step::Dispatch(envelope)) => self.turn(session, &envelope),
            Some(Step::Judge(_)) => self.judge(session),
            Some(Step::End(end)) => session.end = Some(end),
        }
        true
    }

    /// Plans the next turn: with some of the offered findings, an answer that is none, or no answer.
    fn plan(&self, session: &mut DriveSession, question: &PlanQuestion) {
        let turn = session.turns.len() as u64;
        let mut random = Random::new(self.seed << 20 | turn << 1 | 1);
        let offered = question.question.schema["properties"]["tasks"]["items"]["enum"].as_array();
        let mut names = offered.cloned().unwrap_or_default();
        let by = turn as usize % names.len().max(1);
        names.rotate_left(by);
        names.truncate(1 + random.next(3) as usize);
        let answer = serde_json::json!({
            "action": format!("act {turn}"), "expected": "pass", "finished": false, "reasoning": "", "tasks": names,
        });
        let answered = |text: String| PlanReply::Answered { text, tokens: None, cost_micro_usd: Some(7) };
        let reply = match random.next(4) {
            0 => PlanReply::Failed("nobody answers".to_owned()),
            1 => answered("I would begin with the tests.".to_owned()),
            _ => answered(answer.to_string()),
        };
        session.plan = Some(coordinator::plan(question, reply, session.plan.as_ref()));
    }

    fn turn(&mut self, session: &mut DriveSession, envelope: &DispatchEnvelope) {
        let given = self.given.entry(envelope.turn).or_default();
        *given.entry(envelope.envelope_id.clone()).or_default() += 1;
        let executor = builtin::executor(session, envelope);
        let mut random = Random::new(self.seed << 20 | envelope.turn << 1);
        let drawn = match self.is_steady {
            true => [4, 3, 7][(envelope.turn % 3) as usize],
            false => random.next(8),
        };
        let (outcome, changed) = match drawn {
            0 if session.turns.len() > 1 => (DispatchOutcome::Ask, vec![]),
            1 => (DispatchOutcome::Blocked, vec![]),
            2 => (DispatchOutcome::Failed, vec![path("src/x.py")]),
            3 => (DispatchOutcome::Done, vec![path("Cargo.lock")]),
            4 => (DispatchOutcome::Done, vec![]),
            _ => (DispatchOutcome::Done, vec![path(&format!("src/{}.py", random.next(9)))]),
        };
        let mut refusals: Vec<_> = referee::refuse_failed(outcome).into_iter().collect();
        refusals.extend(referee::refuse_paths(&Rights::new(&session.start.limits).unwrap(), &changed));
        let output = DriveOutput { bytes: 0, sha256: digest(3), text: String::new() };
        let exit = exit(i32::from(outcome == DispatchOutcome::Failed));
        let turn = DriveTurn {
            number: envelope.turn,
            envelope_id: envelope.envelope_id.clone(),
            person: None,
            plan: None,
            tasks: envelope.tasks.iter().map(|task| task.finding_id.clone()).collect(),
            executor,
            exit: exit.clone(),
            stdout: output.clone(),
            stderr: output,
            tokens: None,
            cost_micro_usd: None,
            answer: DispatchResult { outcome, ..reply::by_exit(&exit, &envelope.envelope_id) },
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
    }

    /// Judges the last turn: it may resolve a finding, bring one, or have no verdict.
    fn judge(&self, session: &mut DriveSession) {
        let turn = session.turns.last().unwrap();
        let mut random = Random::new(self.seed << 20 | turn.number << 1 | 1);
        let mended = if self.is_steady { turn.number } else { turn.number / 2 + random.next(2) };
        let kept = self.faults.saturating_sub(mended);
        let mut judgement = judged(&(0..kept).collect::<Vec<_>>());
        if random.next(9) == 0 && !self.is_steady {
            judgement.conclusion = Conclusion::CouldNotComplete;
        }
        let mut files: Vec<DriveFile> = check::agent_files(session).to_vec();
        for changed in &turn.changed {
            files.retain(|file| file.path != *changed);
            let name = changed.to_string();
            files.push(DriveFile { mode: Some(turn.number.to_string()), ..file(&name, 1, 0) });
        }
        files.sort();
        judge_turn(session, judgement, agent_change(&files));
    }
}

/// Plays a drive to its end without a kill.
fn play_whole(world: &mut World) -> DriveSession {
    let mut session = world.load();
    while world.step(&mut session) {
        world.store(&session);
    }
    session
}

#[test]
fn a_drive_of_30_turns_that_is_killed_after_each_step_has_the_same_history() {
    let mut world = World { is_steady: true, ..World::new(1, 60, 30) };
    let begun = world.stored.clone();
    let whole = play_whole(&mut world);
    assert_eq!((whole.turns.len(), difference(&whole)), (30, None));
    world.given.clear();
    world.stored = begun;
    let mut steps = 0;
    loop {
        // A process that is killed before it stores a step, and one that is killed after.
        let mut lost = world.load();
        if !world.step(&mut lost) {
            break;
        }
        let mut session = world.load();
        world.step(&mut session);
        world.store(&session);
        assert_eq!(difference(&session), None);
        steps += 1;
    }
    assert_eq!(world.load(), whole);
    assert!(steps > 40, "{steps}");
    for (turn, envelopes) in &world.given {
        assert_eq!(envelopes.values().copied().collect::<Vec<_>>(), [2], "turn {turn}");
    }
}

#[test]
fn a_thousand_random_sequences_of_events_resume_with_the_same_history() {
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut bases: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 1..=1000 {
        let mut random = Random::new(seed);
        let mut world = World::new(seed, 1 + seed % 7, 2 + seed % 9);
        // The person's word and its turn belong to a sequence, and not to its kills.
        let says = seed % 4;
        let word = |session: &mut DriveSession| {
            if session.turns.len() as u64 == says && session.word.is_none() && session.bootstrap.is_some() {
                let text = (seed % 2 == 0).then(|| "smaller".to_owned());
                session.word = Some(PersonWord { text, by: None });
            }
        };
        let begun = world.stored.clone();
        let mut whole = world.load();
        word(&mut whole);
        while world.step(&mut whole) {
            word(&mut whole);
        }
        world.given.clear();
        world.stored = begun;
        let mut stored_steps = 0;
        let mut session = world.load();
        loop {
            word(&mut session);
            let is_over = !world.step(&mut session);
            match random.next(4) {
                // Killed before the step is stored.
                0 if !is_over => session = world.load(),
                // Killed after it.
                1 => {
                    world.store(&session);
                    session = world.load();
                    stored_steps += 1;
                }
                _ => {
                    world.store(&session);
                    stored_steps += 1;
                }
            }
            if is_over {
                break;
            }
        }
        assert_eq!(session, whole, "seed {seed}");
        assert_eq!(difference(&session), None, "seed {seed}");
        assert!(stored_steps > session.turns.len(), "seed {seed}");
        for (turn, envelopes) in &world.given {
            assert_eq!(envelopes.len(), 1, "seed {seed}, turn {turn}");
        }
        for plan in coordinator::plans(&session) {
            *bases.entry(format!("{:?}", plan.basis)).or_default() += 1;
        }
        *ends.entry(format!("{:?}", session.end.unwrap().reason)).or_default() += 1;
    }
    // The sequences are not all of one kind.
    for basis in ["Answer", "AnswerInvalid", "RequestFailed"] {
        assert!(bases.get(basis).is_some_and(|count| *count > 100), "{bases:?}");
    }
    for end in ["Passed", "Turns", "NoProgress", "Stuck", "Ask"] {
        assert!(ends.contains_key(end), "{ends:?}");
    }
}
