//! The whole life of a verdict, between the parts a runner has: pull request, step, artifact, a night a week later.

use serde_json::json;

use crate::support::fake_github::FakeGitHub;
use crate::support::hub::{Hub, runtime_token};
use crate::support::origin::{NAME, Origin, git_answer};
use crate::support::server::Server;
use crate::support::step::{Step, TOKEN, clean, faulty, listing};
use crate::support::{Files, Outcome, Program, copy_tree, qa_skill, repair, sha256};

/// Everything a step talks to. It is reached through a proxy, as on runners that have one, so that every host may have
/// the name it has in the world.
struct World {
    origin: Origin,
    github: FakeGitHub,
    hub: Hub,
    proxy: Server,
}

impl World {
    fn of(topic: &Files) -> Self {
        let origin = Origin::with_topic(topic);
        let github = FakeGitHub::new(NAME, TOKEN);
        let hub = Hub::default();
        hub.0.lock().unwrap().store = "http://store.localhost".to_owned();
        let project = origin.repo.path().join(".git");
        let proxy = Server::start({
            let (github, hub) = (github.clone(), hub.clone());
            move |request| {
                let path = request.path();
                if path.starts_with(&format!("/{NAME}")) {
                    git_answer(&project, request)
                } else if path.starts_with("/repos/") && !path.contains("/actions/artifacts") {
                    github.answer(request)
                } else {
                    hub.answer(request)
                }
            }
        });
        Self { origin, github, hub, proxy }
    }

    fn program(&self, step: &Step<'_>) -> Program {
        step.program()
            .env("HTTP_PROXY", self.proxy.url())
            .env("http_proxy", self.proxy.url())
            .env("GITHUB_SERVER_URL", "http://github.localhost")
            .env("GITHUB_API_URL", "http://api.github.localhost")
            .env("ACTIONS_RESULTS_URL", "http://results.localhost/")
            .env("ACTIONS_RUNTIME_TOKEN", runtime_token())
            .env("INPUT_UPLOAD-ARTIFACT", "")
            .env("GITHUB_RETENTION_DAYS", "90")
    }

    /// A step of another week: a new checkout, another clock zone.
    fn night(&self) -> Outcome {
        std::fs::remove_dir_all(self.origin.repo.beside("checkout-1")).ok();
        let mut step = Step::on_pull_request(&self.origin, &self.proxy, 1);
        step.name = "schedule";
        step.git_ref = "refs/heads/main";
        step.event = json!({"schedule": "17 3 * * *"});
        let outcome = self.program(&step).env("TZ", "Pacific/Auckland").env("INPUT_OPEN-ISSUE", "true").run();
        let expected = if outcome.exit == 0 { "pass" } else { "could-not-complete" };
        assert_eq!(step.output("verdict"), expected);
        outcome
    }
}

#[test]
fn a_verdict_is_published_kept_and_replayed_a_week_later() {
    for (topic, exit, conclusion) in [(faulty(), 1, "failure"), (clean(), 0, "success")] {
        let world = World::of(&topic);
        let step = Step::on_pull_request(&world.origin, &world.proxy, 1);
        let outcome = world.program(&step).run().expect(exit);
        assert_eq!(world.github.state().checks[0].conclusion.as_deref(), Some(conclusion));
        let archive = world.hub.0.lock().unwrap().blobs["qa-skill-run"].clone();
        assert_eq!(
            (step.output("artifact-id"), step.output("artifact-digest")),
            ("7".into(), sha256(&archive))
        );
        for canary in [TOKEN, &runtime_token()] {
            assert!(!outcome.text().contains(canary) && !outcome.stderr.contains(canary));
        }
        for request in world.proxy.requests().iter().filter(|request| request.path() == "/store") {
            assert_eq!(request.header("authorization"), None, "the store gets no token");
        }

        world.hub.list(1, &archive, |_| {});
        let outcome = world.night().expect(0);
        assert!(outcome.text().contains("1 run: 1 same"), "{}", outcome.text());
        assert!(world.github.state().issues.is_empty());

        let mut damaged = archive.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        world.hub.list(2, &damaged, |_| {});
        assert_eq!(world.night().exit, 3);
    }
}

#[test]
fn a_secret_of_the_environment_is_nowhere_but_where_it_belongs() {
    let world = World::of(&faulty());
    let step = Step::on_pull_request(&world.origin, &world.proxy, 1);
    let strangers: Vec<(&str, String)> = [
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "INPUT_UNKNOWN",
        "NPM_TOKEN",
    ]
    .into_iter()
    .map(|name| (name, format!("canary-of-{}", name.to_lowercase())))
    .collect();
    let program =
        strangers.iter().fold(world.program(&step), |program, (name, value)| program.env(name, value));
    let program = program.env("INPUT_COMMENT", "true").env("INPUT_UPLOAD-SARIF", "true");
    let outcome = program.run().expect(1);

    let runtime = runtime_token();
    let secrets: Vec<&str> =
        strangers.iter().map(|(_, value)| value.as_str()).chain([TOKEN, runtime.as_str()]).collect();
    let none_in = |place: &str, text: &str| {
        for secret in &secrets {
            assert!(!text.contains(secret), "{secret} stands in {place}");
        }
    };
    none_in("what is printed", &(outcome.text() + &outcome.stderr));
    let home = world.origin.repo.beside(".");
    for path in listing(&home).into_iter().filter(|path| path.is_file()) {
        none_in(&path.display().to_string(), &String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
    }
    let mut owners = std::collections::BTreeSet::new();
    for request in world.proxy.requests() {
        let host = request.header("host").unwrap().to_owned();
        let place = format!("{} {host}{}", request.method, request.path());
        for (name, value) in &request.headers {
            if name != "authorization" {
                none_in(&place, value);
                continue;
            }
            let own = match host.as_str() {
                "api.github.localhost" => value == &format!("Bearer {TOKEN}"),
                "results.localhost" => value == &format!("Bearer {runtime}"),
                "github.localhost" => value.starts_with("Basic "),
                _ => false,
            };
            assert!(own, "{place} has another's token");
            owners.insert(host.clone());
        }
        none_in(&place, &request.target);
        none_in(&place, &String::from_utf8_lossy(&request.body));
    }
    assert_eq!(owners.len(), 3, "each of the three was asked: {owners:?}");
}

#[test]
fn drift_is_told_in_one_issue_however_many_nights_it_lasts() {
    let world = World::of(&faulty());
    let step = Step::on_pull_request(&world.origin, &world.proxy, 1);
    world.program(&step).run().expect(1);
    let forged = world.origin.repo.beside("forged");
    copy_tree(&step.run_dir().0, &forged.join(step.run_dir().0.file_name().unwrap()));
    let run = crate::support::RunDir(forged.join(step.run_dir().0.file_name().unwrap()));
    let text = String::from_utf8(run.bytes("recordings/00000.json")).unwrap();
    std::fs::write(run.path("recordings/00000.json"), text.replace("value = 2", "value = 3")).unwrap();
    repair(&run, false);
    let mut upload = qa_skill(["upload"]).arg(&run.0).args(["--name", "forged"]);
    for (name, value) in [
        ("HTTP_PROXY", world.proxy.url()),
        ("http_proxy", world.proxy.url()),
        ("GITHUB_SERVER_URL", "http://github.localhost".to_owned()),
        ("ACTIONS_RESULTS_URL", "http://results.localhost/".to_owned()),
        ("ACTIONS_RUNTIME_TOKEN", runtime_token()),
    ] {
        upload = upload.env(name, value);
    }
    upload.run().expect(0);
    let archive = world.hub.0.lock().unwrap().blobs["forged"].clone();
    world.hub.list(1, &archive, |_| {});
    for _ in 0..2 {
        let outcome = world.night().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        assert!(outcome.text().contains("recordings/00000.json"), "{}", outcome.text());
        let state = world.github.state();
        assert_eq!(state.issues.len(), 1);
        assert!(state.issues[0].open && state.issues[0].body.contains("recordings/00000.json"));
    }
}

#[test]
fn a_pass_whose_proof_cannot_be_kept_is_none_and_a_fail_stays_one() {
    for (topic, exit, conclusion) in [(faulty(), 1, "failure"), (clean(), 3, "action_required")] {
        let world = World::of(&topic);
        world.hub.0.lock().unwrap().blobs.insert("qa-skill-run".to_owned(), b"of another job".to_vec());
        let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
        let outcome = world.program(&step).run().expect(exit);
        assert_eq!(
            world.github.state().checks[0].conclusion.as_deref(),
            Some(conclusion),
            "{}",
            outcome.text()
        );
        assert!(outcome.text().contains("title=ARTIFACT_NAME_TAKEN"), "{}", outcome.text());
    }
}
