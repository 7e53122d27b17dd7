//! Jobs that answer comments and are killed, lose an answer or overlap: nothing is done twice, and nothing that the role
//! may not.

use std::process::{Child, Stdio};

use crate::commands::{COMMENT, Desk, ECHO, Effects, Judged};
use crate::support::Random;

/// A made-up comment, and what it may do.
struct Case {
    login: &'static str,
    body: String,
    is_command: bool,
    is_edited: bool,
    is_in_progress: bool,
    is_paused: bool,
    /// The call in which the job is killed, and whether it had its effect.
    killed_at: usize,
    acts: bool,
}

const PEOPLE: [&str; 5] = ["ada", "wes", "tri", "kim", "eve"];

impl Case {
    fn draw(random: &mut Random, finding: &str, key: &str) -> Self {
        let commands = [
            "/qa status",
            "/qa next",
            &format!("/qa explain {}", &finding[..8]),
            "/qa report",
            "/qa help",
            "/qa rerun",
            "/qa crosscheck",
            "/qa stop",
            "/qa resume",
            &format!("/qa approve {}", &key[..12]),
            &format!("/qa waive {} {ECHO}", &finding[..8]),
            &format!("/qa {ECHO} rerun"),
        ];
        let command = (*random.pick(&commands)).to_owned();
        let (body, is_command) = match random.below(10) {
            0 => (format!("> {command}"), false),
            1 => (format!("```\n{command}\n```"), false),
            2 => (format!("Dear gate,\n{command}"), false),
            3 => (format!("{}\r\n{ECHO}\n/qa stop", command.to_uppercase()), true),
            _ => (command, true),
        };
        Self {
            login: random.pick::<&str>(&PEOPLE),
            body,
            is_command,
            is_edited: random.below(12) == 0,
            is_in_progress: random.below(3) == 0,
            is_paused: random.below(2) == 0,
            killed_at: 1 + random.below(11),
            acts: random.below(2) == 0,
        }
    }

    /// The oracle: written from the table of the documentation, and not from the program.
    fn expected(&self) -> Effects {
        let is_writer = ["ada", "wes"].contains(&self.login);
        let may_read = is_writer || ["tri", "kim"].contains(&self.login);
        let mut effects = Effects::default();
        if !self.is_command || self.is_edited || !may_read {
            return effects;
        }
        (effects.answers, effects.reactions) = (1, 1);
        let first = self.body.lines().next().unwrap().to_lowercase();
        let word = first.split(' ').nth(1).unwrap();
        match word {
            "rerun" | "crosscheck" if is_writer && !self.is_in_progress => effects.reruns = 1,
            "stop" if is_writer && self.is_in_progress => {
                (effects.cancels, effects.cancelled_checks) = (1, 1)
            }
            "resume" | "approve" if is_writer && !self.is_in_progress && self.is_paused => {
                effects.reruns_of_failed = 1
            }
            _ => {}
        }
        effects
    }
}

/// Starts the job and waits until one of its calls is held. Returns `None` if it ends before.
fn start_and_hold(desk: &Desk, call: usize, acts: bool) -> Option<Child> {
    let reached = desk.github.hold(call, acts);
    let mut command = desk.program().bare_command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while reached.recv_timeout(std::time::Duration::from_millis(2)).is_err() {
        if child.try_wait().unwrap().is_some() {
            desk.github.release();
            return None;
        }
    }
    Some(child)
}

/// Kills the job in a call, if it comes that far.
fn kill_in_call(desk: &Desk, case: &Case) -> bool {
    let Some(mut child) = start_and_hold(desk, case.killed_at, case.acts) else { return false };
    child.kill().unwrap();
    child.wait().unwrap();
    desk.github.release();
    true
}

/// `QA_SKILL_COMMANDS=1000` draws more cases, from the same seed.
#[test]
fn a_job_that_is_killed_in_any_call_and_run_again_does_nothing_twice_and_nothing_that_the_role_may_not() {
    let (failed, paused) = (Judged::failed(), Judged::paused());
    let amount = std::env::var("QA_SKILL_COMMANDS").map_or(60, |text| text.parse().unwrap());
    let mut random = Random(20_260_101);
    let mut killed = 0;
    for number in 0..amount {
        let mut case = Case::draw(&mut random, &failed.finding()[0], &paused.key());
        let judged = if case.is_paused { &paused } else { &failed };
        if case.login == "eve" && number % 2 == 0 {
            case.login = "robot[bot]";
        }
        let mut desk = Desk::new(judged, case.login, &case.body);
        if case.is_in_progress {
            desk = desk.in_progress(&judged.head());
        }
        if case.is_edited {
            desk.github.state().edited.insert(COMMENT);
        }
        killed += usize::from(kill_in_call(&desk, &case));
        let place = format!("case {number}: {} {:?} call {}", case.login, case.body, case.killed_at);
        for _ in 0..2 {
            let outcome = desk.run();
            assert_eq!(outcome.exit, 0, "{place}: {}", outcome.stderr);
            assert_eq!(desk.effects(), case.expected(), "{place}: {:?}", desk.answers());
            let quoted = desk.answers().iter().any(|answer| answer.contains(ECHO));
            assert!(!quoted && !outcome.text().contains(ECHO), "{place}: {:?}", desk.answers());
        }
    }
    assert!(killed >= amount / 4, "only {killed} of {amount} jobs were killed");
}

/// Two comments whose jobs overlap: the first job is held in a call while the second one runs, and then is killed, or gets no
/// answer to that call and goes on.
struct Overlap {
    commands: [&'static str; 2],
    is_in_progress: bool,
    call: usize,
    acts: bool,
    is_killed: bool,
}

impl Overlap {
    fn all() -> Vec<Self> {
        let idle = [
            ["rerun", "rerun"],
            ["rerun", "resume"],
            ["resume", "crosscheck"],
            ["resume", "resume"],
            ["rerun", "stop"],
            ["status", "rerun"],
        ];
        let in_progress = [["stop", "stop"], ["stop", "rerun"], ["rerun", "stop"], ["plan", "stop"]];
        let pairs = idle.map(|pair| (pair, false)).into_iter().chain(in_progress.map(|pair| (pair, true)));
        let mut all = Vec::new();
        for (commands, is_in_progress) in pairs {
            for call in 1..=11 {
                for flags in 0..4 {
                    let (acts, is_killed) = (flags % 2 == 0, flags < 2);
                    all.push(Self { commands, is_in_progress, call, acts, is_killed });
                }
            }
        }
        all
    }

    /// Returns whether a job was held.
    fn play(&self, judged: &Judged) -> bool {
        let [first, second] = self.commands.map(|command| format!("/qa {command}"));
        let mut desk = Desk::new(judged, "wes", &first);
        if self.is_in_progress {
            desk = desk.in_progress(&judged.head());
        }
        let event = desk.second_comment(&second);
        let held = start_and_hold(&desk, self.call, self.acts);
        let was_held = held.is_some();
        desk.program_for(&event).run().expect(0);
        if let Some(mut child) = held {
            if self.is_killed {
                child.kill().unwrap();
            }
            desk.github.release();
            child.wait().unwrap();
        }
        for _ in 0..2 {
            desk.run().expect(0);
            desk.program_for(&event).run().expect(0);
        }
        self.assert_once(&desk);
        was_held
    }

    fn assert_once(&self, desk: &Desk) {
        let has = |wanted: &[&str]| self.commands.iter().any(|command| wanted.contains(command));
        let effects = desk.effects();
        let place = format!("{:?} call {} {} {}", self.commands, self.call, self.acts, self.is_killed);
        assert_eq!((effects.answers, effects.reactions), (2, 2), "{place}: {effects:?}");
        let starts = effects.reruns + effects.reruns_of_failed;
        let stops = usize::from(self.is_in_progress && has(&["stop"]));
        assert_eq!((effects.cancels, effects.cancelled_checks), (stops, stops), "{place}: {effects:?}");
        if self.is_in_progress {
            // Whether the run that is to begin again was stopped before depends on which job is first.
            assert!(starts <= usize::from(has(&["rerun"])), "{place}: {effects:?}");
        } else {
            assert_eq!(starts, usize::from(has(&["rerun", "resume"])), "{place}: {effects:?}");
        }
    }
}

/// `QA_SKILL_COMMANDS` plays every case instead of one of 37.
#[test]
fn of_two_commands_in_flight_each_is_done_once_whatever_becomes_of_the_first_in_any_call() {
    let paused = Judged::paused();
    let step = if std::env::var_os("QA_SKILL_COMMANDS").is_some() { 1 } else { 37 };
    let cases: Vec<Overlap> = Overlap::all().into_iter().step_by(step).collect();
    let held = cases.iter().filter(|case| case.play(&paused)).count();
    assert!(held >= cases.len() / 2, "only {held} of {} jobs were held", cases.len());
}
