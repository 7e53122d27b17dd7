//! The second stage of a fork's pull request: what a stranger may leave, move or swap, none of it gets a pass.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::answers::CHAT;
use crate::support::fake_github::{Artifact, Check, FakeGitHub, LATER, Pull, Route, Run};
use crate::support::origin::{NAME, Origin};
use crate::support::reviews::{self, findings, reviewing};
use crate::support::step::{Step, TOKEN};
use crate::support::{Files, Outcome, Program, Server, git};

/// Id of the finished run of the first stage.
const RUN: u64 = 11;
/// Id of the fork's repository; 7 is the base's.
const FORK: u64 = 8;
const NAME_OF_CHECK: &str = "qa-skill reviews";
const POLICY: &str = ".qa-skill/policy.toml";
/// A gate whose report nobody wrote, and strengths by which the model's finding blocks.
const TABLES: &str = "[gates.unit_tests]\nreports = [{ tool = \"pytest\", path = \"reports/junit.xml\" }]\n\
                      [rules.\"review-security/injection\"]\nstrength = \"block\"\n";

type EditStep = fn(&Scene, &mut Step<'_>);
type ChangeGitHub = fn(&FakeGitHub);
type Without = fn(&Scene, Program) -> Program;
type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce(&FakeGitHub) + Send>>>>;

/// A fork's pull request after its first stage, with the servers of the second.
struct Scene {
    origin: Origin,
    git: Server,
    github: FakeGitHub,
    api: Server,
    model: Server,
    meanwhile: Meanwhile,
}

impl Scene {
    /// A change that the model answers with findings.
    fn new(found: Vec<Value>) -> Self {
        Self::under("mode = \"best_effort\"\n", "required = false", found)
    }

    /// Like [`Scene::new`], with the top of a policy and settings of its review.
    fn under(top: &str, settings: &str, found: Vec<Value>) -> Self {
        let github = FakeGitHub::new(NAME, TOKEN);
        let meanwhile = Meanwhile::default();
        let model = {
            let (github, meanwhile) = (github.clone(), Arc::clone(&meanwhile));
            Server::start(move |_| {
                if let Some(act) = meanwhile.lock().unwrap().take() {
                    act(&github);
                }
                findings(CHAT, &found)
            })
        };
        let policy = format!("{top}{TABLES}{}", reviewing(CHAT, &model.url(), settings));
        let start =
            Files::from_texts(&[("app.py", "import db\n\n\ndef find(name):\n    pass\n"), (POLICY, &policy)]);
        let topic = start.clone().with("app.py", reviews::FAULT).with("docs/a.md", "one\n");
        let origin = Origin::from_start(&start, &topic);
        let (git, api) = (origin.serve(), github.serve());
        let scene = Self { origin, git, github, api, model, meanwhile };
        scene.github.state().runs.push(Run {
            id: RUN,
            head_sha: scene.head(),
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            started_at: LATER.to_owned(),
            head_repository_id: FORK,
            ..Run::default()
        });
        scene.github.state().open_pulls.push(scene.pull());
        scene
    }

    fn head(&self) -> String {
        self.origin.head.to_string()
    }

    fn pull(&self) -> Pull {
        Pull { number: 7, head: self.head(), repository: Some(FORK), base: "main".to_owned(), draft: false }
    }

    /// Does something while the model is asked.
    fn meanwhile(&self, act: impl FnOnce(&FakeGitHub) + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(act));
    }

    /// A checkout of the default branch, as the event of the second stage has it.
    fn checkout(&self) -> PathBuf {
        let place = self.origin.repo.beside("checkout of main");
        std::fs::remove_dir_all(&place).ok();
        std::fs::create_dir_all(&place).unwrap();
        let url = format!("file://{}", self.origin.repo.path().display());
        git(&place, &["init", "-q"]);
        git(
            &place,
            &["fetch", "-q", "--no-tags", "--depth=1", &url, "+refs/heads/main:refs/remotes/origin/main"],
        );
        git(&place, &["remote", "add", "origin", &format!("{}/{NAME}", self.git.url())]);
        git(&place, &["checkout", "-q", "--detach", "origin/main"]);
        place
    }

    fn step(&self) -> Step<'_> {
        let mut step = Step::on_pull_request_in(self.checkout(), &self.origin, &self.git);
        step.name = "workflow_run";
        step.git_ref = "refs/heads/main";
        step.event = json!({"action": "completed", "workflow_run": {
            "id": RUN, "head_sha": self.head(), "conclusion": "success", "pull_requests": [{"number": 3}]
        }});
        step
    }

    fn program(&self, step: &Step<'_>) -> Program {
        self.without_key(step).env("OPENAI_API_KEY", reviews::KEY)
    }

    fn without_key(&self, step: &Step<'_>) -> Program {
        step.program()
            .env("GITHUB_SHA", self.origin.base.to_string())
            .env("GITHUB_API_URL", self.github.api_url(&self.api))
            .env("GITHUB_RUN_ID", "31337")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("INPUT_PUBLISH-TIMEOUT", "8")
    }

    fn run(&self) -> Outcome {
        self.program(&self.step()).run()
    }

    /// The newest check run of the head and its conclusion.
    fn newest(&self) -> Option<(String, Option<String>)> {
        let state = self.github.state();
        let of_head = state.checks.iter().filter(|check| check.head_sha == self.head());
        of_head.max_by_key(|check| check.id).map(|check| (check.name.clone(), check.conclusion.clone()))
    }

    #[track_caller]
    fn is_concluded(&self, conclusion: &str) {
        assert_eq!(self.newest(), Some((NAME_OF_CHECK.to_owned(), Some(conclusion.to_owned()))));
    }

    #[track_caller]
    fn has_no_pass(&self, case: &str) {
        let state = self.github.state();
        let open_or_passed =
            |check: &&Check| check.conclusion.as_deref().is_none_or(|word| word == "success");
        assert!(!state.checks.iter().any(|check| open_or_passed(&check)), "{case}: {:?}", state.checks);
    }
}

#[test]
fn an_honest_fork_passes_on_exactly_its_head_and_the_stored_run_replays() {
    let scene = Scene::new(Vec::new());
    let step = scene.step();
    let outcome = scene.program(&step).run().expect(0);
    scene.is_concluded("success");
    assert_eq!(scene.github.state().checks.len(), 1);
    assert_eq!(scene.model.requests().len(), 1);
    assert_eq!((step.output("verdict"), step.output("published-to")), ("pass".into(), "check-run".into()));
    reviews::has_no_key(&outcome, &step.checkout);

    let run = step.run_dir();
    let input = run.json("input.normalized.json");
    assert_eq!((&input["overrides"]["stage"], &input["headSha"]), (&json!("reviews"), &json!(scene.head())));
    assert_eq!(input["baseSha"], json!(scene.origin.base.to_string()));
    let plans = run.json("lens-plan.json").to_string();
    assert!(plans.contains("review-security") && !plans.contains("unit_tests"));
    run.verify().run().expect(0);
    run.verify().args(["--repo", scene.origin.repo.path().to_str().unwrap()]).run().expect(0);
}

#[test]
fn a_finding_of_the_model_that_blocks_fails_the_fork() {
    let scene = Scene::new(vec![reviews::finding()]);
    scene.run().expect(1);
    scene.is_concluded("failure");
    let state = scene.github.state();
    assert_eq!(state.checks[0].annotations[0]["path"], "app.py");
}

#[test]
fn without_a_reply_or_without_a_review_nothing_passes() {
    let scene = Scene::new(Vec::new());
    let step = scene.step();
    scene.without_key(&step).run().expect(3);
    assert_eq!(step.output("verdict"), "could-not-complete");
    scene.is_concluded("action_required");

    let scene = Scene::under("", "enabled = false", Vec::new());
    let outcome = scene.run().expect(3);
    assert!(outcome.text().contains("the policy of the base enables none"), "{}", outcome.text());
    scene.is_concluded("action_required");
    assert!(scene.model.requests().is_empty());
}

/// An artifact of the first stage, named as that of a run.
fn artifact(scene: &Scene, zip: Vec<u8>) -> Artifact {
    Artifact {
        id: RUN - 10,
        name: "qa-skill-run".to_owned(),
        digest: Some(format!("sha256:{}", crate::support::sha256(&zip))),
        zip,
        expired: false,
        created_at: LATER.to_owned(),
        head_sha: scene.head(),
        head_repository_id: FORK,
        run_id: RUN,
    }
}

#[test]
fn no_artifact_of_the_first_stage_is_requested() {
    let passing = Scene::new(Vec::new());
    let step = passing.step();
    passing.program(&step).run().expect(0);
    let pass = crate::support::archive(&step.run_dir());
    let reference = Scene::new(vec![reviews::finding()]);
    let step = reference.step();
    reference.program(&step).run().expect(1);
    let expected = step.run_dir().findings();

    type Edit = fn(&mut Artifact);
    let attacks: [(&str, Edit); 5] = [
        ("forged", |_| {}),
        ("swapped", |artifact| artifact.head_sha = "1".repeat(40)),
        ("stale", |artifact| artifact.created_at = "2020-01-01T00:00:00Z".to_owned()),
        ("foreign", |artifact| artifact.head_repository_id = 99),
        ("oversized", |artifact| artifact.zip = vec![0; 70 << 20]),
    ];
    for (name, edit) in attacks {
        let scene = Scene::new(vec![reviews::finding()]);
        let mut forged = artifact(&scene, pass.clone());
        edit(&mut forged);
        scene.github.state().artifacts.push(forged);
        let step = scene.step();
        scene.program(&step).run().expect(1);
        scene.is_concluded("failure");
        assert_eq!(step.run_dir().findings(), expected, "{name}");
        let state = scene.github.state();
        let about_artifacts =
            [Route::ListArtifacts, Route::ListRunArtifacts, Route::DownloadArtifact, Route::Blob];
        assert!(!state.calls.iter().any(|call| about_artifacts.contains(call)), "{name}: {:?}", state.calls);
    }
}

/// Something that happened before the second stage began.
struct Before {
    name: &'static str,
    act: fn(&Scene),
    code: &'static str,
}

#[test]
fn what_changed_before_the_second_stage_could_not_complete() {
    let cases = [
        Before {
            name: "head moved",
            act: |scene| scene.github.state().open_pulls[0].head = "1".repeat(40),
            code: "HEAD_SUPERSEDED",
        },
        Before {
            name: "head moved for git alone",
            act: |scene| scene.origin.repo.reference("refs/pull/7/head", scene.origin.base),
            code: "HEAD_SUPERSEDED",
        },
        Before {
            name: "closed",
            act: |scene| scene.github.state().open_pulls.clear(),
            code: "EVENT_UNUSABLE",
        },
        Before {
            name: "two pull requests of one head",
            act: |scene| {
                let other = Pull { number: 9, base: "release".to_owned(), ..scene.pull() };
                scene.github.state().open_pulls.push(other);
            },
            code: "EVENT_UNUSABLE",
        },
        Before {
            name: "another fork's pull request of the head against a milder base",
            act: |scene| {
                let other = Pull { number: 9, repository: Some(12), base: "lax".to_owned(), ..scene.pull() };
                scene.github.state().open_pulls.push(other);
            },
            code: "EVENT_UNUSABLE",
        },
        Before {
            name: "pull request of another repository",
            act: |scene| scene.github.state().open_pulls[0].repository = Some(12),
            code: "EVENT_UNUSABLE",
        },
        Before {
            name: "fork deleted, by the pull request",
            act: |scene| scene.github.state().open_pulls[0].repository = None,
            code: "EVENT_UNUSABLE",
        },
        Before {
            name: "pull requests that cannot be listed",
            act: |scene| scene.github.deny(Route::ListPulls),
            code: "PUBLISH_FORBIDDEN",
        },
    ];
    for Before { name, act, code } in cases {
        let scene = Scene::new(Vec::new());
        // An earlier pass of the head does not stand either.
        let earlier = Check {
            id: 1,
            name: NAME_OF_CHECK.to_owned(),
            head_sha: scene.head(),
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            ..Check::default()
        };
        scene.github.state().checks.push(earlier);
        act(&scene);
        let step = scene.step();
        scene.program(&step).run().expect_code(3, code);
        assert_eq!(step.output("verdict"), "could-not-complete", "{name}");
        let (_, conclusion) = scene.newest().unwrap();
        assert!(
            matches!(conclusion.as_deref(), Some("action_required" | "cancelled")),
            "{name}: {conclusion:?}"
        );
        assert!(scene.model.requests().is_empty(), "{name}");
    }
}

#[test]
fn a_run_that_is_not_what_the_event_says_leaves_no_pass_on_the_head() {
    let cases: [(&str, EditStep, &str); 6] = [
        (
            "another head",
            |_, step| step.event["workflow_run"]["head_sha"] = json!("1".repeat(40)),
            "EVENT_UNUSABLE",
        ),
        (
            "a run of another repository",
            |_, step| step.event["workflow_run"]["id"] = json!(12),
            "EVENT_UNUSABLE",
        ),
        (
            "a run that goes on",
            |scene, _| scene.github.state().runs[0].status = "in_progress".into(),
            "EVENT_UNUSABLE",
        ),
        (
            "a deleted fork",
            |scene, _| scene.github.state().runs[0].is_of_deleted_fork = true,
            "EVENT_UNUSABLE",
        ),
        ("no right to read", |scene, _| scene.github.deny(Route::GetRun), "PUBLISH_FORBIDDEN"),
        (
            "a queue that this is not",
            |scene, _| scene.github.state().runs[0].event = Some("merge_group"),
            "EVENT_UNUSABLE",
        ),
    ];
    for (name, edit, code) in cases {
        let scene = Scene::new(Vec::new());
        let mut step = scene.step();
        edit(&scene, &mut step);
        scene.program(&step).run().expect_code(3, code);
        assert!(scene.model.requests().is_empty(), "{name}");
        let named = step.event["workflow_run"]["head_sha"].clone();
        let state = scene.github.state();
        let check = state.checks.last().unwrap();
        assert_eq!(
            (json!(check.head_sha), check.conclusion.as_deref()),
            (named, Some("action_required")),
            "{name}"
        );
    }
    for event in ["push", "schedule", "pull_request_target"] {
        let scene = Scene::new(Vec::new());
        scene.github.state().runs[0].event = Some(event);
        let step = scene.step();
        let outcome = scene.program(&step).run().expect(0);
        assert!(outcome.text().contains("nothing to judge"), "{}", outcome.text());
        assert_eq!(step.output("verdict"), "none");
        assert!(scene.github.state().checks.is_empty(), "{event}");
    }
}

#[test]
fn what_changes_while_the_model_is_asked_gets_no_pass() {
    let cases: [(&str, ChangeGitHub); 5] = [
        ("head moved", |github| github.state().open_pulls[0].head = "1".repeat(40)),
        ("closed", |github| github.state().open_pulls.clear()),
        ("another base", |github| github.state().open_pulls[0].base = "release".to_owned()),
        ("a second pull request of the head", |github| {
            let other = Pull { number: 9, base: "lax".to_owned(), ..github.state().open_pulls[0].clone() };
            github.state().open_pulls.push(other);
        }),
        ("GitHub does not answer", |github| github.deny(Route::ListPulls)),
    ];
    for (name, act) in cases {
        let scene = Scene::new(Vec::new());
        scene.meanwhile(act);
        let step = scene.step();
        let outcome = scene.program(&step).run().expect(3);
        assert_eq!(scene.model.requests().len(), 1, "{name}: {}", outcome.stderr);
        assert_eq!(step.output("verdict"), "could-not-complete", "{name}");
        scene.has_no_pass(name);
    }
}

#[test]
fn without_its_check_run_the_stage_asks_no_model_and_annotates_nothing() {
    let cases: [(&str, Without); 3] = [
        ("forbidden", |scene, program| {
            scene.github.read_only();
            program
        }),
        ("annotations", |_, program| program.env("INPUT_PUBLISH", "commands")),
        ("files", |_, program| program.env("INPUT_PUBLISH", "files")),
    ];
    for (name, edit) in cases {
        let scene = Scene::new(vec![reviews::finding()]);
        let step = scene.step();
        let outcome = edit(&scene, scene.program(&step)).run().expect_code(3, "PUBLISH_FORBIDDEN");
        assert!(!outcome.text().contains("::error file="), "{name}: {}", outcome.text());
        assert!(scene.model.requests().is_empty(), "{name}");
        scene.has_no_pass(name);
    }
    // A check run that GitHub refuses at the end is no pass either.
    let scene = Scene::new(Vec::new());
    scene.meanwhile(|github| github.deny(Route::UpdateCheck));
    scene.run().expect_code(3, "PUBLISH_FORBIDDEN");
}

#[test]
fn inputs_choose_neither_the_change_nor_the_check_of_the_first_stage() {
    for (input, value) in [("BASE", "main"), ("HEAD", "main"), ("CHECK-NAME", "qa-skill verdict")] {
        let scene = Scene::new(Vec::new());
        let step = scene.step();
        let program = scene.program(&step).env(format!("INPUT_{input}"), value);
        program.run().expect_code(2, "INPUT_INVALID");
        assert!(scene.github.state().calls.is_empty(), "{input}");
    }
    let scene = Scene::new(Vec::new());
    let step = scene.step();
    scene.program(&step).env("INPUT_CHECK-NAME", "models").run().expect(0);
    assert_eq!(scene.newest(), Some(("models".to_owned(), Some("success".to_owned()))));
}

#[test]
fn reviews_of_a_draft_wait_and_no_ledger_is_written() {
    let observed = |draft: bool, earlier_attempts: u64| {
        let top = "mode = \"best_effort\"\n[observer]\nenabled = true\n";
        let scene = Scene::under(top, "required = false", Vec::new());
        scene.github.state().open_pulls[0].draft = draft;
        scene.github.state().runs[0].earlier_attempts = earlier_attempts;
        let step = scene.step();
        let exit = scene.program(&step).run().exit;
        assert_eq!(step.output("observer-ledger-path"), "");
        assert!(!step.checkout.join(".qa-skill/ledger").exists());
        let asked_for_artifacts = scene.github.state().calls.contains(&Route::ListRunArtifacts);
        assert!(!asked_for_artifacts);
        (exit, scene.model.requests().len(), scene.newest().unwrap().1.unwrap())
    };
    assert_eq!(observed(true, 0), (3, 0, "action_required".to_owned()));
    assert_eq!(observed(false, 0), (0, 1, "success".to_owned()));
    assert_eq!(observed(true, 1), (0, 1, "success".to_owned()), "the first stage was started again");
}

#[test]
fn a_merge_group_is_judged_while_the_queue_has_it() {
    for is_queued in [true, false] {
        let scene = Scene::new(Vec::new());
        let branch = format!("gh-readonly-queue/main/pr-7-{}", scene.origin.base);
        let head = if is_queued { scene.origin.merge } else { scene.origin.base };
        scene.origin.repo.reference(&format!("refs/heads/{branch}"), head);
        {
            let mut state = scene.github.state();
            state.open_pulls.clear();
            let run = &mut state.runs[0];
            run.event = Some("merge_group");
            (run.branch, run.head_sha) = (Some(branch), scene.origin.merge.to_string());
        }
        let mut step = scene.step();
        step.event["workflow_run"]["head_sha"] = json!(scene.origin.merge.to_string());
        let outcome = scene.program(&step).run();
        assert_eq!(outcome.exit, if is_queued { 0 } else { 3 }, "{}", outcome.stderr);
        let state = scene.github.state();
        assert_eq!(state.checks[0].head_sha, scene.origin.merge.to_string());
        assert_eq!(state.checks[0].conclusion.as_deref() == Some("success"), is_queued);
    }
}
