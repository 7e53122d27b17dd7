//! Where an action's result goes, whatever the network, the token and the runner do to it.

use std::time::Duration;

use serde_json::json;

use crate::support::fake_github::{Check, FakeGitHub, Fault, Route};
use crate::support::origin::{NAME, Origin};
use crate::support::server::{Response, Server, Spoilt};
use crate::support::step::{Step, TOKEN, clean, faulty, listing};
use crate::support::world::World;
use crate::support::{Files, Outcome, Program, conflict, in_another_programs_place};

/// A pull request with its origin and its GitHub.
struct Scene {
    origin: Origin,
    git: Server,
    github: FakeGitHub,
    api: Server,
}

impl Scene {
    fn new(topic: &Files) -> Self {
        let origin = Origin::with_topic(topic);
        let git = origin.serve();
        let github = FakeGitHub::new(NAME, TOKEN);
        github.state().pulls.insert(7, origin.head.to_string());
        let api = github.serve();
        Self { origin, git, github, api }
    }

    fn step(&self) -> Step<'_> {
        std::fs::remove_dir_all(self.origin.repo.beside("checkout-2")).ok();
        Step::on_pull_request(&self.origin, &self.git, 2)
    }

    fn program(&self, step: &Step<'_>) -> Program {
        step.program()
            .env("GITHUB_API_URL", self.github.api_url(&self.api))
            .env("GITHUB_RUN_ID", "31337")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("INPUT_PUBLISH-TIMEOUT", "8")
    }

    fn run(&self, step: &Step<'_>) -> Outcome {
        self.program(step).run()
    }

    /// Conclusion and annotated places of the only check run.
    #[track_caller]
    fn only_check(&self) -> (String, Vec<String>) {
        let state = self.github.state();
        assert_eq!(state.checks.len(), 1, "{:?}", state.checks);
        let check = &state.checks[0];
        let place = |note: &serde_json::Value| {
            format!(
                "{} {}:{}",
                note["annotation_level"].as_str().unwrap(),
                note["path"].as_str().unwrap(),
                note["start_line"]
            )
        };
        (check.conclusion.clone().unwrap_or_default(), check.annotations.iter().map(place).collect())
    }
}

#[test]
fn a_pass_over_files_that_were_not_read_is_neutral_and_says_so() {
    let policy = "version = 1\n[limits]\nmax-files = 1\nallow-omitted = true\n";
    let scene = Scene::new(&clean().with("src/new.py", "a = 1\n"));
    let base = Files::from_texts(&[("src/app.py", "value = 1\n"), ("README.md", "# Widget\n")]);
    let base = base.with("docs/a.md", "one\n").with(".qa-skill/policy.toml", policy);
    let repo = &scene.origin.repo;
    let main = repo.commit(repo.tree(&base), &[scene.origin.base]);
    repo.reference("refs/heads/main", main);
    let step = scene.step();
    // The base branch has moved on since the test merge, and the step is told to judge against it.
    let outcome = scene.program(&step).env("INPUT_BASE", "main").run().expect(0);
    assert_eq!(scene.only_check().0, "neutral");
    let title = scene.github.state().checks[0].title.clone().unwrap();
    assert_eq!(title, "PASS: No finding in the files that were read; 1 file was NOT read in full.");
    assert!(outcome.text().contains("NOT read in full"), "{}", outcome.text());
    let verdict = step.run_dir().json("final-verdict.json");
    assert_eq!((&verdict["status"], &verdict["degraded"]), (&json!("PASS"), &json!(true)));
    assert_eq!(step.output("verdict"), "pass");
    for file in ["report.html", "summary.md"] {
        let text = String::from_utf8(step.run_dir().bytes(file)).unwrap();
        assert!(text.contains("NOT read in full"), "{file}");
    }
}

#[test]
fn a_verdict_becomes_a_check_run_on_the_head_with_exactly_its_findings() {
    let scene = Scene::new(&faulty());
    let step = scene.step();
    let outcome = scene.run(&step).expect(1);
    assert_eq!(scene.only_check(), ("failure".into(), vec!["failure src/new.py:1".into()]));
    let state = scene.github.state();
    let check = &state.checks[0];
    assert_eq!((check.name.as_str(), &check.head_sha), ("qa-skill verdict", &scene.origin.head.to_string()));
    let key = step.run_dir().json("trace.json")["executionKey"].as_str().unwrap().to_owned();
    assert_eq!(check.external_id, Some(format!("{key}/31337/1")));
    assert!(check.details_url.as_ref().unwrap().ends_with("/acme/widget/actions/runs/31337"));
    assert_eq!((step.output("published-to"), step.output("verdict")), ("check-run".into(), "fail".into()));
    assert!(!outcome.text().contains("::error"), "annotations stand once: {}", outcome.text());
}

#[test]
fn a_push_is_compared_with_the_verdict_about_the_head_before_it() {
    let scene = Scene::new(&faulty());
    scene.run(&scene.step()).expect(1);
    let before = "1".repeat(40);
    {
        let mut state = scene.github.state();
        let check = &mut state.checks[0];
        check.head_sha = before.clone();
        let gone = json!({
            "path": "src/old.py", "start_line": 1, "end_line": 1, "annotation_level": "failure",
            "message": "gone", "title": "gone", "raw_details": "rule: a/b\nfinding: 0123"
        });
        check.annotations.push(gone);
    }
    let mut step = scene.step();
    step.event["before"] = json!(before);
    let program = scene.program(&step).env("GITHUB_ACTION_REPOSITORY", "acme/qa-skill");
    program.env("GITHUB_ACTION_REF", "v1").run().expect(1);
    let state = scene.github.state();
    let summary = state.checks[1].summary.as_deref().unwrap();
    assert!(
        summary.contains("Since 111111111111: 1 blocking finding resolved, 0 new, 1 still open."),
        "{summary}"
    );
    let server = scene.git.url();
    let lines = format!("`]({server}/{NAME}/blob/{}/src/new.py#L1)", scene.origin.head);
    let rule = format!("`]({server}/acme/qa-skill/blob/v1/docs/rules.md#");
    assert!(summary.contains(&lines) && summary.contains(&rule), "{summary}");
    let kept = String::from_utf8(step.run_dir().bytes("summary.md")).unwrap();
    assert!(!kept.contains("Since") && !kept.contains("](http"), "follows from the inputs alone: {kept}");
}

#[test]
fn a_clean_change_succeeds_on_an_enterprise_server_too() {
    let mut scene = Scene::new(&clean());
    scene.github = scene.github.below("/api/v3");
    scene.api = scene.github.serve();
    scene.run(&scene.step()).expect(0);
    assert_eq!(scene.only_check(), ("success".into(), vec![]));
}

#[test]
fn a_fork_is_judged_in_full_and_its_result_goes_to_annotations() {
    let scene = Scene::new(&faulty());
    scene.github.read_only();
    let mut step = scene.step();
    step.event["pull_request"]["head"]["repo"] = json!(null);
    let outcome = scene.run(&step).expect(1);
    assert_eq!(step.output("published-to"), "commands");
    assert!(outcome.text().contains("::error file=src/new.py,line=1"), "{}", outcome.text());
    assert!(outcome.text().contains("::notice title=PUBLISH_FORBIDDEN::"), "{}", outcome.text());
    assert!(scene.github.state().checks.is_empty());
}

#[test]
fn a_process_killed_after_any_call_leaves_what_the_next_one_completes() {
    let many = (0..60).fold(faulty(), |files, number| files.with(format!("src/{number:02}.py"), conflict()));
    let reference = Scene::new(&many);
    let program = |scene: &Scene, step: &Step<'_>| scene.program(step).env("INPUT_COMMENT", "true");
    program(&reference, &reference.step()).run().expect(1);
    let expected = reference.only_check();
    assert_eq!(expected.1.len(), 61);
    let calls = reference.github.state().calls.len();
    assert!(calls >= 6, "{calls}");
    for call in 1..=calls {
        for acts in [true, false] {
            let scene = Scene::new(&many);
            let step = scene.step();
            let reached = scene.github.hold(call, acts);
            let mut child =
                program(&scene, &step).bare_command().stdout(std::process::Stdio::null()).spawn().unwrap();
            let route = reached.recv_timeout(Duration::from_secs(60)).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            scene.github.release();
            program(&scene, &step).run().expect(1);
            assert_eq!(scene.only_check(), expected, "killed at {route:?}, call {call}, acted {acts}");
            assert_eq!(
                scene.github.state().comments.len(),
                1,
                "killed at {route:?}, call {call}, acted {acts}"
            );
        }
    }
}

#[test]
fn no_fault_of_the_network_makes_a_wrong_conclusion_or_takes_a_token_elsewhere() {
    let elsewhere = Server::start(|_| Response::new(200, "{}"));
    let limited = |headers: Vec<(&'static str, String)>| Fault::Limit { status: 403, headers };
    let faults: Vec<(&str, Fault)> = vec![
        ("502", Fault::Refuse(502)),
        ("503 after acting", Fault::ActThenAnswer(503)),
        ("limit with a short wait", limited(vec![("retry-after", "1".to_owned())])),
        ("limit with a long wait", limited(vec![("retry-after", "3600".to_owned())])),
        ("limit without a wait", limited(vec![])),
        ("429", Fault::Limit { status: 429, headers: vec![] }),
        ("reset", Fault::Drop),
        ("reset after acting", Fault::ActThenSpoil(Spoilt::Reset)),
        ("truncated", Fault::ActThenSpoil(Spoilt::Truncated)),
        ("slow", Fault::ActThenSpoil(Spoilt::Slow(Duration::from_secs(30)))),
        ("elsewhere", Fault::Redirect { status: 307, location: format!("{}/steal", elsewhere.url()) }),
        ("flood", Fault::ActThenFlood(40 << 20)),
        ("page of a proxy", Fault::Answer(Response::new(200, "<html>sign in</html>"))),
    ];
    let judge = |name: &str, fault: &Fault, route: Route| {
        let scene = Scene::new(&faulty());
        scene.github.fault(route, 1, fault.clone());
        let step = scene.step();
        let outcome = scene.run(&step).expect(1);
        let state = scene.github.state();
        assert!(state.checks.len() <= 1, "{name} at {route:?}");
        let conclusions: Vec<_> = state.checks.iter().filter_map(|check| check.conclusion.clone()).collect();
        assert!(
            conclusions.iter().all(|conclusion| conclusion == "failure"),
            "{name} at {route:?}: {conclusions:?}"
        );
        let published = step.output("published-to");
        let told = outcome.text().contains("::error file=src/new.py");
        assert!(
            published == "check-run" && !conclusions.is_empty() || published == "commands" && told,
            "{name} at {route:?}"
        );
        assert!(!outcome.text().contains(TOKEN) && !outcome.stderr.contains(TOKEN), "{name} at {route:?}");
    };
    // Most of them wait for something, so they wait beside each other.
    std::thread::scope(|scope| {
        for route in [Route::ListChecks, Route::CreateCheck, Route::ListAnnotations, Route::UpdateCheck] {
            for (name, fault) in &faults {
                let judge = &judge;
                scope.spawn(move || judge(name, fault, route));
            }
        }
    });
    assert_eq!(elsewhere.requests(), vec![], "nothing follows a redirect");
}

#[test]
fn an_interrupted_run_says_so_at_once_and_leaves_no_half_run() {
    for (call, signal) in [(2, "INT"), (4, "TERM")] {
        let scene = Scene::new(&faulty());
        let step = scene.step();
        let reached = scene.github.hold(call, true);
        let mut child =
            scene.program(&step).bare_command().stdout(std::process::Stdio::null()).spawn().unwrap();
        reached.recv_timeout(Duration::from_secs(60)).unwrap();
        let pid = child.id().to_string();
        std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        // The server hangs until it is released below, so whoever ends now has not waited for it.
        let status = child.wait().unwrap();
        scene.github.release();
        assert_eq!(status.code(), Some(3), "{signal}");
        assert_eq!(step.output("verdict"), "could-not-complete");
        let conclusions: Vec<_> =
            scene.github.state().checks.iter().filter_map(|check| check.conclusion.clone()).collect();
        assert!(conclusions.iter().all(|conclusion| conclusion == "cancelled"), "{conclusions:?}");
        assert!(call == 2 || conclusions.len() == 1, "a check run that was begun ends");
        let runs = step.checkout.join(".qa-skill/runs");
        let half = |path: &std::path::PathBuf| path.to_string_lossy().contains(".tmp-");
        assert!(!runs.exists() || !listing(&runs).iter().any(half), "{signal}");
    }
}

#[test]
fn a_run_over_its_deadline_could_not_complete_and_says_so_everywhere() {
    let settings = "version = 1\n[limits]\ndeadline-seconds = 2\n";
    let scene = Scene::new(&clean());
    let repo = &scene.origin.repo;
    let base = Files::from_texts(&[("src/app.py", "value = 1\n"), (".qa-skill/policy.toml", settings)]);
    repo.reference("refs/heads/main", repo.commit(repo.tree(&base), &[scene.origin.base]));
    let late = Fault::ActThenSpoil(Spoilt::Slow(Duration::from_secs(60)));
    scene.github.fault(Route::ListChecks, 2, late);
    let step = scene.step();
    let stderr = scene.program(&step).env("INPUT_BASE", "main").run().expect(3).stderr;
    assert!(
        stderr.contains("error[RUN_DEADLINE_EXCEEDED]") && stderr.contains("deadline-seconds"),
        "{stderr}"
    );
    assert_eq!(scene.only_check(), ("action_required".into(), vec![]));
    let title = scene.github.state().checks[0].title.clone();
    assert_eq!(title.as_deref(), Some("Could not complete: RUN_DEADLINE_EXCEEDED"));
    assert_eq!(step.output("verdict"), "could-not-complete");
    assert!(!step.checkout.join(".qa-skill/runs").exists() || step.output("run-path").is_empty());
    let summary = std::fs::read_to_string(repo.beside("summary.md")).unwrap();
    assert!(summary.contains("RUN_DEADLINE_EXCEEDED"), "{summary}");
}

#[test]
fn a_run_that_takes_long_leaves_publishing_its_whole_time() {
    use crate::support::{answers, reviews};
    // The model alone takes longer than publishing may.
    let time = Spoilt::Slow(Duration::from_secs(6));
    let model = Server::start(move |_| reviews::findings(answers::CHAT, &[]).spoilt(time));
    let scene = Scene::new(&faulty());
    let repo = &scene.origin.repo;
    let policy = reviews::reviewing(answers::CHAT, &model.url(), "");
    let base = Files::from_texts(&[("src/app.py", "value = 1\n"), (".qa-skill/policy.toml", &policy)]);
    repo.reference("refs/heads/main", repo.commit(repo.tree(&base), &[scene.origin.base]));
    let step = scene.step();
    let program = scene.program(&step).env("INPUT_BASE", "main").env("OPENAI_API_KEY", reviews::KEY);
    program.env("INPUT_PUBLISH-TIMEOUT", "5").run().expect(1);
    assert!(!model.requests().is_empty());
    assert_eq!(scene.only_check(), ("failure".into(), vec!["failure src/new.py:1".into()]));
    let check = scene.github.state().checks[0].clone();
    assert!(check.title.unwrap().starts_with("FAIL") && check.summary.unwrap().contains("src/new.py"));
    assert_eq!(step.output("published-to"), "check-run");
}

#[test]
fn a_check_run_ends_although_its_texts_are_refused() {
    let silent = Response::new(200, "").spoilt(Spoilt::Slow(Duration::from_secs(60)));
    let faults = [
        (Fault::Refuse(422), "PUBLISH_REFUSED"),
        (Fault::Refuse(400), "PUBLISH_REFUSED"),
        (Fault::Refuse(401), "PUBLISH_FORBIDDEN"),
        (Fault::Refuse(403), "PUBLISH_FORBIDDEN"),
        (Fault::Answer(Response::new(429, "").header("retry-after", "3600")), "PUBLISH_RATE_LIMITED"),
        // The time for publishing is spent on this request.
        (Fault::Answer(silent), "PUBLISH_FAILED"),
    ];
    for (topic, exit, conclusion) in [(faulty(), 1, "failure"), (clean(), 0, "success")] {
        for (fault, code) in &faults {
            let scene = Scene::new(&topic);
            scene.github.fault(Route::UpdateCheck, 1, fault.clone());
            let step = scene.step();
            let outcome = scene.program(&step).env("INPUT_PUBLISH-TIMEOUT", "5").run().expect(exit);
            assert_eq!(scene.only_check(), (conclusion.into(), vec![]), "{fault:?}");
            assert_eq!(step.output("published-to"), "commands");
            assert!(outcome.text().contains(&format!("title={code}")), "{}", outcome.text());
        }
    }
}

#[test]
fn a_check_run_ends_although_the_runner_takes_neither_text_nor_summary() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    // A container's engine does not start with a full device for its own standard output.
    let places: &[&str] = match in_another_programs_place() {
        Some(_) => &["job summary"],
        None => &["standard output", "job summary"],
    };
    for place in places.iter().copied() {
        let world = World::new(&clean());
        world.hub.0.lock().unwrap().out_of_order = true;
        let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
        let mut program = world.program(&step);
        if place == "job summary" {
            // A warning about the lost artifact has to be written there.
            program = program.env("GITHUB_STEP_SUMMARY", &step.checkout);
        }
        let mut command = program.command();
        if place == "standard output" {
            command.stdout(full());
        }
        let outcome = Outcome::from_output(&command.output().unwrap());
        assert_eq!((outcome.exit, outcome.code()), (3, "ARTIFACT_WRITE_FAILED"), "{place}");
        let state = world.github.state();
        let check = &state.checks[0];
        let title = check.title.clone().unwrap_or_default();
        assert_eq!(
            (check.conclusion.as_deref(), &*title),
            (Some("action_required"), "Could not complete: ARTIFACT_WRITE_FAILED"),
            "{place}"
        );
    }
}

#[test]
fn check_runs_that_were_abandoned_are_closed_by_the_next_run_and_no_others() {
    let scene = Scene::new(&clean());
    let abandoned = Check {
        name: "qa-skill verdict".to_owned(),
        head_sha: scene.origin.head.to_string(),
        external_id: Some("another key".to_owned()),
        status: "in_progress".to_owned(),
        started_at: Some("2024-01-01T00:00:00Z".to_owned()),
        ..Check::default()
    };
    let others = [
        Check { id: 901, ..abandoned.clone() },
        Check { id: 902, app: Some("other-app".to_owned()), ..abandoned.clone() },
        Check { id: 903, name: "other".to_owned(), ..abandoned.clone() },
        Check { id: 904, started_at: None, ..abandoned.clone() },
        Check {
            id: 905,
            status: "completed".to_owned(),
            conclusion: Some("failure".to_owned()),
            ..abandoned.clone()
        },
    ];
    scene.github.state().checks.extend(others);
    scene.run(&scene.step()).expect(0);
    let state = scene.github.state();
    let conclusion = |id: u64| state.checks.iter().find(|check| check.id == id).unwrap().conclusion.clone();
    let ended = [901, 902, 903, 904, 905].map(|id| conclusion(id).unwrap_or_default());
    assert_eq!(ended, ["timed_out", "", "", "cancelled", "failure"]);
    assert_eq!(state.checks.iter().filter(|check| check.conclusion.as_deref() == Some("success")).count(), 1);
}

/// While the first of two runs asks a model, the second begins and ends.
#[test]
fn a_run_of_the_same_head_that_began_later_has_the_check_run() {
    use crate::support::{answers, reviews};
    let model = Server::start(|_| {
        reviews::findings(answers::CHAT, &[]).spoilt(Spoilt::Slow(Duration::from_secs(30)))
    });
    let scene = Scene::new(&faulty());
    let repo = &scene.origin.repo;
    let policy = reviews::reviewing(answers::CHAT, &model.url(), "");
    let base = Files::from_texts(&[("src/app.py", "value = 1\n"), (".qa-skill/policy.toml", &policy)]);
    repo.reference("refs/heads/main", repo.commit(repo.tree(&base), &[scene.origin.base]));
    let (step, second) = (scene.step(), scene.step());
    let first = scene.program(&step).env("INPUT_BASE", "main").env("OPENAI_API_KEY", reviews::KEY);
    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| first.run().expect(3));
        while model.requests().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let later = scene.program(&second).env("INPUT_BASE", "main").env("GITHUB_RUN_ID", "31338");
        // Runs of two jobs share no directory, and in one the second would wait.
        let later = later.env("INPUT_ARTIFACT-ROOT", "elsewhere");
        later.env("INPUT_NO-MODEL", "true").run().expect(1);
        first.join().unwrap()
    });
    assert!(first.stderr.contains("error[RUN_SUPERSEDED]: "), "{}", first.stderr);
    let checks = scene.github.state().checks.clone();
    let ended: Vec<_> = checks.iter().map(|check| check.conclusion.as_deref().unwrap()).collect();
    assert_eq!(ended, ["cancelled", "failure"]);
}

/// Another job of the repository, with a token of the same app or of another, says beforehand that all is well.
#[test]
fn a_green_check_run_of_the_same_name_changes_nothing() {
    let reference = Scene::new(&faulty());
    let step = reference.step();
    reference.run(&step).expect(1);
    let (expected, key) = (reference.only_check(), step.output("execution-key"));
    assert_eq!(expected.0, "failure");
    for (app, external_id) in
        [(Some("other-app"), "another key"), (Some("other-app"), &key), (None, "another key"), (None, &key)]
    {
        let scene = Scene::new(&faulty());
        let green = Check {
            id: 0,
            name: "qa-skill verdict".to_owned(),
            head_sha: scene.origin.head.to_string(),
            external_id: Some(external_id.to_owned()),
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            app: app.map(str::to_owned),
            ..Check::default()
        };
        scene.github.state().checks.push(green.clone());
        let step = scene.step();
        scene.run(&step).expect(1);
        assert_eq!(
            (step.output("verdict"), step.output("published-to")),
            ("fail".into(), "check-run".into())
        );
        let state = scene.github.state();
        let own: Vec<&Check> = state.checks.iter().filter(|check| **check != green).collect();
        assert_eq!(own.len(), 1, "{app:?} {external_id}: {:?}", state.checks);
        assert_eq!(own[0].conclusion.as_deref(), Some("failure"), "{app:?} {external_id}");
        assert_eq!(own[0].annotations.len(), expected.1.len(), "{app:?} {external_id}");
        // The newest of a name is the one that a ruleset looks at.
        let newest = state.checks.iter().filter(|check| check.app.is_none()).max_by_key(|check| check.id);
        assert_eq!(newest.unwrap().conclusion.as_deref(), Some("failure"), "{app:?} {external_id}");
    }
}

#[test]
fn a_check_run_of_a_head_that_moved_is_cancelled() {
    let scene = Scene::new(&faulty());
    let step = scene.step();
    scene.origin.repo.reference("refs/pull/7/head", scene.origin.base);
    scene.run(&step).expect_code(3, "HEAD_SUPERSEDED");
    assert_eq!(scene.only_check(), ("cancelled".into(), vec![]));
}

#[test]
fn a_comment_is_kept_up_to_date_and_nobody_elses_is_touched() {
    let scene = Scene::new(&faulty());
    let marker = "<!-- qa-skill: qa-skill verdict -->";
    let foreign = crate::support::fake_github::Comment {
        id: 900,
        number: 7,
        author: "mallory".into(),
        body: format!("{marker}\nall is well"),
    };
    scene.github.state().comments.push(foreign.clone());
    for _ in 0..2 {
        let step = scene.step();
        let program = scene.program(&step).env("INPUT_COMMENT", "true").env("INPUT_UPLOAD-SARIF", "true");
        let program = program.env("GITHUB_ACTION_REPOSITORY", "acme/qa-skill");
        program.env("GITHUB_ACTION_REF", "v1").run().expect(1);
    }
    let state = scene.github.state();
    assert_eq!(state.comments.len(), 2);
    assert_eq!(state.comments[0], foreign);
    assert!(state.comments[1].body.starts_with(marker) && state.comments[1].body.contains("src/new.py"));
    assert_eq!(state.sarifs[0].git_ref, "refs/pull/7/merge");
    assert_eq!(state.sarifs[0].commit_sha, scene.origin.merge.to_string());
    let run = &state.sarifs[0].document["runs"][0];
    let page = format!("{}/acme/qa-skill/blob/v1/docs/rules.md#", scene.git.url());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["helpUri"].as_str().unwrap().starts_with(&page)));
    let prints: std::collections::BTreeSet<String> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["partialFingerprints"]["primaryLocationLineHash"].to_string())
        .collect();
    // What GitHub's own upload would call the first line of this conflict.
    assert_eq!(prints.into_iter().collect::<Vec<_>>(), ["\"28f3ba077ca12be7:1\""]);
}

#[test]
fn a_policy_that_cannot_be_read_is_no_success_anywhere() {
    let scene = Scene::new(&faulty());
    let tree = scene.origin.repo.tree(&clean().with(".qa-skill/policy.toml", "preset = \"strict\"\n"));
    let base = scene.origin.repo.commit_at(tree, &[scene.origin.base], 1_714_100_000);
    let mut step = scene.step();
    step.name = "merge_group";
    let git_ref = format!("refs/heads/gh-readonly-queue/main/pr-7-{base}");
    step.git_ref = &git_ref;
    step.event = json!({"action": "checks_requested",
        "merge_group": {"head_sha": scene.origin.head.to_string(), "base_sha": base.to_string()}});
    let outcome = scene.run(&step).expect_code(2, "POLICY_INVALID");
    assert!(outcome.text().contains("::error title=POLICY_INVALID::"), "{}", outcome.text());
    assert!(scene.github.state().checks.iter().all(|check| check.conclusion.as_deref() != Some("success")));
}
