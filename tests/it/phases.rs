//! Phases of a run: in its trace, in what a person reads while it waits, and at its end.

use serde_json::Value;

use crate::support::fake_github::{FakeGitHub, Fault, Route};
use crate::support::origin::{NAME, Origin};
use crate::support::server::{Response, Server};
use crate::support::step::{Step, TOKEN, clean};
use crate::support::{Program, RunDir, change, qa_skill};

/// Steps and phases of a trace, without the plans between the first and the last.
fn walk(run: &RunDir) -> Vec<String> {
    let trace = run.json("trace.json");
    let mut words: Vec<String> = trace["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| format!("{} {}", event["step"].as_str().unwrap(), event["phase"].as_str().unwrap()))
        .collect();
    words.dedup();
    words
}

#[test]
fn a_trace_names_the_phase_of_each_event_and_a_replay_derives_it_again() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let out = repo.beside("out");
    let run = |options: &[&str]| {
        let mut arguments = vec!["run", "--base", "main", "--head", "topic", "--verify-drift", "--out"];
        arguments.push(out.to_str().unwrap());
        arguments.extend(options);
        qa_skill(&arguments).within(&repo.path()).run().expect(0);
    };
    run(&[]);
    let first = crate::support::runs_in(&out).pop().unwrap();
    assert_eq!(
        walk(&RunDir(first)),
        [
            "request awaiting_goal_entry",
            "base launching",
            "surface active",
            "plan awaiting_coordinator",
            "run awaiting_diagnostics",
            "cross-check awaiting_review",
            "verdict active",
            "end idle",
        ]
    );
    std::fs::remove_dir_all(&out).unwrap();
    run(&["--mode", "best_effort"]);
    let overridden = RunDir(crate::support::runs_in(&out).pop().unwrap());
    assert_eq!(
        walk(&overridden)[..3],
        ["request awaiting_goal_entry", "override awaiting_goal_entry", "base launching"]
    );
    let phases = overridden.json("metrics.json")["machine"]["phaseMs"].clone();
    let phases: Vec<&String> = phases.as_object().unwrap().keys().collect();
    let before_the_end = [
        "active",
        "awaiting_coordinator",
        "awaiting_diagnostics",
        "awaiting_goal_entry",
        "awaiting_review",
        "idle",
        "launching",
    ];
    assert_eq!(phases, before_the_end);
}

/// A step whose API has a fault, with its summary.
struct Scene {
    origin: Origin,
    github: FakeGitHub,
}

impl Scene {
    fn new() -> Self {
        let origin = Origin::with_topic(&clean());
        let github = FakeGitHub::new(NAME, TOKEN);
        github.state().pulls.insert(7, origin.head.to_string());
        Self { origin, github }
    }

    /// Runs a step; returns standard error and the job summary.
    fn run(&self, exit: i32, settings: impl FnOnce(Program) -> Program) -> (String, String, Value) {
        let (git, api) = (self.origin.serve(), self.github.serve());
        let step = Step::on_pull_request(&self.origin, &git, 2);
        let program = step.program().env("GITHUB_API_URL", self.github.api_url(&api));
        let outcome = settings(program).run().expect(exit);
        let summary = std::fs::read_to_string(self.origin.repo.beside("summary.md")).unwrap();
        let runs = crate::support::runs_in(&step.checkout.join(".qa-skill"));
        let metrics = runs.last().map(|run| RunDir(run.clone()).json("metrics.json"));
        (outcome.stderr, summary, metrics.unwrap_or_default())
    }

    fn conclusion(&self) -> Option<String> {
        self.github.state().checks.first().and_then(|check| check.conclusion.clone())
    }
}

#[test]
fn a_wait_is_a_line_and_stands_in_the_metrics_and_the_last_line() {
    let scene = Scene::new();
    scene.github.fault(Route::CreateCheck, 1, Fault::Refuse(503));
    (3..5).for_each(|call| scene.github.fault(Route::ListChecks, call, Fault::Refuse(502)));
    let (stderr, summary, metrics) = scene.run(0, |program| program);
    assert!(stderr.contains("retry 1/6 of `start the check run` in "), "{stderr}");
    assert!(stderr.contains("answered 503"), "{stderr}");
    let retries = &metrics["machine"]["retries"]["start the check run"];
    assert_eq!((&retries["retries"], &retries["codes"]["PUBLISH_FAILED"]), (&1.into(), &1.into()));
    assert_eq!(metrics["machine"]["retries"]["close other check runs of the head"]["retries"], 2);
    assert!((900..=1100).contains(&retries["waitedMs"].as_u64().unwrap()), "{retries}");
    assert!(metrics["machine"]["phaseMs"]["transient_recovery"].as_u64().unwrap() >= 900, "{metrics}");
    let last = summary.lines().last().unwrap();
    assert!(last.contains(" s; 2 retries to close other check runs of the head, "), "{last}");
    assert!(last.contains(" s waited; 1 retry to start the check run, "), "{last}");
    assert_eq!(scene.conclusion().as_deref(), Some("success"));
}

/// The end of a run without a verdict, for each class of codes: exit code, check run and phases.
#[test]
fn each_class_of_codes_ends_a_run_in_its_way() {
    let ends = |scene: &Scene, exit: i32, settings: fn(Program) -> Program| {
        let (_, summary, _) = scene.run(exit, settings);
        let phases = summary.lines().last().unwrap_or_default().to_owned();
        (phases, scene.conclusion())
    };

    // User recoverable: the base is not there.
    let end = ends(&Scene::new(), 3, |program| program.env("INPUT_BASE", "gone"));
    assert_eq!(end, ("The run stopped in phase `active` and is `paused_manual`.".to_owned(), None));
    // User recoverable, before anything runs.
    let end = ends(&Scene::new(), 2, |program| program.env("INPUT_MODE", "lax"));
    assert_eq!(end, ("The run stopped in phase `awaiting_goal_entry`.".to_owned(), None));
    // Transient: the server asks for a longer wait than a run has.
    let busy = Server::start(|_| Response::new(503, "").header("retry-after", "3600"));
    let url = busy.url();
    let (_, summary, _) = Scene::new().run(3, |program| program.env("GITHUB_SERVER_URL", url));
    let last = summary.lines().last();
    assert_eq!(last, Some("The run stopped in phase `active` and is `paused_manual`."));
    assert_eq!(busy.requests().len(), 1);
    // Terminal: a pipe where git reads a file.
    let scene = Scene::new();
    let (_, summary, _) = scene.run(3, |program| {
        let pipe = scene.origin.repo.beside("checkout-2").join(".git/packed-refs");
        std::fs::remove_file(&pipe).ok();
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        program
    });
    let last = summary.lines().last();
    assert_eq!(last, Some("The run stopped in phase `launching`."));
}

#[test]
fn a_check_run_shows_what_the_run_waits_for_until_it_ends() {
    let scene = Scene::new();
    let (git, api) = (scene.origin.serve(), scene.github.serve());
    let step = Step::on_pull_request(&scene.origin, &git, 2);
    // The abandoned check runs cannot be listed, at once and after 1, 2 and 4 seconds.
    (2..9).for_each(|call| scene.github.fault(Route::ListChecks, call, Fault::Refuse(503)));
    let program = step.program().env("GITHUB_API_URL", scene.github.api_url(&api));
    // The fourth of these requests is the seventh, and the title came before it.
    let reached = scene.github.hold(7, false);
    let mut child = program.bare_command().stderr(std::process::Stdio::null()).spawn().unwrap();
    assert_eq!(reached.recv_timeout(std::time::Duration::from_secs(60)).unwrap(), "ListChecks");
    let title = || scene.github.state().checks[0].title.clone().unwrap();
    assert!(title().starts_with("retry ") && title().contains("/6 of "), "{}", title());
    assert_eq!(scene.conclusion(), None, "it goes on");
    std::process::Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    // The server holds the request until it is released below, so whoever ends now has not waited for it.
    let status = child.wait().unwrap();
    scene.github.release();
    assert_eq!(status.code(), Some(3));
    assert_eq!((scene.conclusion().as_deref(), title().as_str()), (Some("cancelled"), "Cancelled"));
}
