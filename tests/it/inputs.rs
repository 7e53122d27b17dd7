//! Every input of the action changes something, and every output has an exact value: what a workflow is written against.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gates_story;
use crate::support::fake_github::{BOT, Check, Comment, Route};
use crate::support::origin::Origin;
use crate::support::step::{Step, TOKEN, clean, faulty};
use crate::support::world::{Kept, World};
use crate::support::{Outcome, answers, reviews};

/// The names below a heading of action.yml.
pub(crate) fn declared(heading: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/action.yml")).unwrap();
    let (_, rest) = text.split_once(&format!("\n{heading}:\n")).unwrap();
    let section = rest.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let name = |line: &str| line.strip_prefix("  ")?.strip_suffix(':').map(str::to_owned);
    section.filter_map(name).filter(|name| !name.starts_with(' ')).collect()
}

/// A step that has run, for one look at what an input did.
struct Ran {
    world: World,
    checkout: std::path::PathBuf,
    outcome: Outcome,
    output: String,
}

impl Ran {
    fn with(topic: &crate::support::Files, inputs: &[(&str, &str)]) -> Self {
        Self::in_world(World::new(topic), inputs)
    }

    fn in_world(world: World, inputs: &[(&str, &str)]) -> Self {
        let checkout = world.origin.checkout(&world.proxy, 2);
        Self::in_checkout(world, checkout, inputs)
    }

    fn in_checkout(world: World, checkout: std::path::PathBuf, inputs: &[(&str, &str)]) -> Self {
        let step = Step::on_pull_request_in(checkout.clone(), &world.origin, &world.proxy);
        let program = inputs.iter().fold(world.program(&step), |program, (name, value)| {
            program.env(format!("INPUT_{}", name.to_uppercase()), value)
        });
        let outcome = program.run();
        let output = std::fs::read_to_string(world.origin.repo.beside("output")).unwrap_or_default();
        Self { world, checkout, outcome, output }
    }

    fn output(&self, name: &str) -> String {
        let mut values = self.output.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next_back().unwrap_or_default().to_owned()
    }

    fn json(&self, name: &str) -> Value {
        let path = std::path::Path::new(&self.output("run-path")).join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    fn setting(&self, name: &str) -> String {
        let input = self.json("input.normalized.json");
        let settings = input["settings"].as_array().unwrap();
        settings.iter().rfind(|setting| setting["name"] == name).unwrap()["value"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// A world whose base branch asks a model that has nothing to say, and that branch's commit.
fn with_review(server: &crate::support::Server) -> (World, git2::Oid) {
    let world = World::new(&clean());
    let policy = reviews::reviewing(answers::CHAT, &server.url(), "");
    let files = crate::support::Files::from_texts(&[
        ("src/app.py", "value = 1\n"),
        (".qa-skill/policy.toml", &policy),
    ]);
    let repo = &world.origin.repo;
    let main = repo.commit(repo.tree(&files), &[world.origin.base]);
    repo.reference("refs/heads/main", main);
    (world, main)
}

const OLD_COMMENT: &str = "<!-- qa-skill: qa-skill verdict -->\nof an earlier run";

/// A world with a comment and an abandoned check run each of GitHub Actions and of another app.
fn with_traces_of_two_apps() -> World {
    let world = World::new(&clean());
    let mut state = world.github.state();
    for (id, author, app) in [(801, BOT, None), (802, "other-app[bot]", Some("other-app".to_owned()))] {
        let (author, body) = (author.to_owned(), OLD_COMMENT.to_owned());
        state.comments.push(Comment { id, number: 7, author, body });
        state.checks.push(Check {
            id,
            name: "qa-skill verdict".to_owned(),
            head_sha: world.origin.head.to_string(),
            status: "in_progress".to_owned(),
            started_at: Some("2024-01-01T00:00:00Z".to_owned()),
            app,
            ..Check::default()
        });
    }
    drop(state);
    world
}

/// The date three days from now, in UTC.
fn in_three_days() -> String {
    let arguments = ["--utc", "--date", "3 days", "+%Y-%m-%d"];
    let output = std::process::Command::new("date").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn every_input_changes_what_a_step_does() {
    let mut tried = BTreeSet::new();
    let mut of = |names: &[&str]| tried.extend(names.iter().map(|name| (*name).to_owned()));

    of(&["mode", "preset", "jobs", "lenses"]);
    let ran = Ran::with(&faulty(), &[("mode", "best_effort"), ("preset", "advisory"), ("jobs", "2")]);
    assert_eq!((ran.outcome.exit, ran.output("verdict")), (0, "pass".to_owned()));
    let input = ran.json("input.normalized.json");
    assert_eq!((&input["runMode"], &input["maxConcurrency"]), (&json!("best_effort"), &json!(2)));
    let ran = Ran::with(&faulty(), &[("lenses", "merge-leftover, secret-token")]);
    let asked = &ran.json("input.normalized.json")["requestedLensIds"];
    assert_eq!(asked, &json!(["merge-leftover", "secret-token"]));

    of(&["base", "head"]);
    let world = World::new(&faulty());
    let (fork_point, main) = (world.origin.fork_point.to_string(), world.origin.base.to_string());
    let ran = Ran::in_world(world, &[("base", &fork_point), ("head", "main")]);
    let changes = ran.json("change-set.json");
    assert_eq!((&changes["baseSha"], &changes["headSha"]), (&json!(fork_point), &json!(main)));

    of(&["working-directory", "artifact-root"]);
    let ran = Ran::with(&clean(), &[("artifact-root", "kept/here")]);
    assert!(ran.output("run-path").starts_with(ran.checkout.join("kept/here/runs").to_str().unwrap()));
    let nowhere = Ran::with(&clean(), &[("working-directory", "../nowhere")]);
    assert_eq!(nowhere.outcome.code(), "REPOSITORY_NOT_FOUND", "{}", nowhere.outcome.stderr);

    of(&["token", "publish", "check-name"]);
    let ran = Ran::with(&clean(), &[("token", "")]);
    assert!(ran.world.github.state().checks.is_empty() && ran.output("published-to") == "commands");
    let ran = Ran::with(&clean(), &[("publish", "files")]);
    assert_eq!(ran.output("published-to"), "files");
    let ran = Ran::with(&clean(), &[("check-name", "our gate")]);
    assert_eq!(ran.world.github.state().checks[0].name, "our gate");

    of(&["comment", "comment-author"]);
    for (author, taken) in [("", 0), ("other-app[bot]", 1)] {
        let ran =
            Ran::in_world(with_traces_of_two_apps(), &[("comment", "true"), ("comment-author", author)]);
        let state = ran.world.github.state();
        let renewed: Vec<bool> = state.comments.iter().map(|comment| comment.body != OLD_COMMENT).collect();
        let closed: Vec<bool> = state.checks[..2].iter().map(|check| check.conclusion.is_some()).collect();
        let expected = vec![taken == 0, taken == 1];
        assert_eq!((&renewed, &closed), (&expected, &expected), "`{author}`");
    }

    of(&["suggestions"]);
    for (value, asked) in [("", 0), ("true", 1)] {
        let files = clean().with("a.js", "export const a = 1;\ndebugger;\n");
        let ran = Ran::with(&files, &[("suggestions", value)]);
        let calls = ran.world.github.state().calls.clone();
        assert_eq!(calls.iter().filter(|call| **call == Route::GetPull).count(), asked, "`{value}`");
    }

    of(&["objects"]);
    let ran = Ran::with(&clean(), &[("objects", "server")]);
    assert_eq!((ran.outcome.exit, ran.setting("objects")), (0, "server".to_owned()));

    of(&["upload-artifact", "artifact-name", "require-artifact", "retention-days"]);
    let ran = Ran::with(&clean(), &[("upload-artifact", "false")]);
    assert!(ran.world.hub.0.lock().unwrap().blobs.is_empty() && ran.output("artifact-id").is_empty());
    let day = in_three_days();
    let ran = Ran::with(&clean(), &[("artifact-name", "proof"), ("retention-days", "3")]);
    assert!(ran.world.hub.0.lock().unwrap().blobs.contains_key("proof"));
    let asked = ran.world.proxy.requests().into_iter().find(|one| one.path().ends_with("/CreateArtifact"));
    let expires = asked.unwrap().json()["expires_at"].as_str().unwrap()[..10].to_owned();
    // The second day differs from the first where midnight passed in between.
    assert!([day.clone(), in_three_days()].contains(&expires), "{expires} is not {day}");
    let world = World::new(&clean());
    world.hub.0.lock().unwrap().out_of_order = true;
    assert_eq!(Ran::in_world(world, &[("require-artifact", "true")]).outcome.exit, 3);
    let contradiction = [("require-artifact", "true"), ("upload-artifact", "false")];
    assert_eq!(Ran::with(&clean(), &contradiction).outcome.code(), "INPUT_INVALID");
    let world = World::new(&clean());
    let step = Step::on_pull_request_in(world.origin.checkout(&world.proxy, 2), &world.origin, &world.proxy);
    let program = world.program(&step).env("INPUT_REQUIRE-ARTIFACT", "true");
    program
        .env("ACTIONS_RESULTS_URL", "")
        .env("ACTIONS_RUNTIME_TOKEN", "")
        .run()
        .expect_code(3, "ARTIFACT_UPLOAD_UNSUPPORTED");

    of(&["upload-sarif"]);
    let ran = Ran::with(&faulty(), &[("upload-sarif", "true")]);
    assert_eq!(ran.world.github.state().sarifs.len(), 1);

    of(&["command", "shards", "shard", "parts"]);
    let ran = Ran::with(&faulty(), &[("command", "plan"), ("shards", "2")]);
    let matrix: Value = serde_json::from_str(&ran.output("matrix")).unwrap();
    let jobs =
        [json!({"shard": "1/2", "files": 1, "lines": 2}), json!({"shard": "2/2", "files": 1, "lines": 5})];
    assert_eq!(matrix, json!({ "include": jobs }));
    let ran = Ran::with(&clean(), &[("command", "check"), ("shard", "1/1")]);
    assert_eq!(ran.output("verdict"), "none");
    let parts = std::path::Path::new(&ran.output("run-path")).parent().unwrap().to_owned();
    let inside = parts.strip_prefix(&ran.checkout).unwrap().to_str().unwrap().to_owned();
    let joining = Step::on_pull_request_in(ran.checkout.clone(), &ran.world.origin, &ran.world.proxy);
    let joined = ran.world.program(&joining).env("INPUT_COMMAND", "aggregate").env("INPUT_PARTS", inside);
    joined.run().expect(0);

    of(&["replies", "no-model"]);
    let server = crate::support::Server::start(|_| reviews::findings(answers::CHAT, &[]));
    let asked = |world: &World, variable: (&str, &str)| {
        let before = server.requests().len();
        let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
        let program = world.program(&step).env("INPUT_BASE", "main").env("OPENAI_API_KEY", reviews::KEY);
        program.env("NO_PROXY", "127.0.0.1").env(variable.0, variable.1).run();
        server.requests().len() - before
    };
    for (name, value, times) in [("NO-MODEL", "", 1), ("NO-MODEL", "true", 0), ("REPLIES", "replay", 0)] {
        let (world, _) = with_review(&server);
        assert_eq!(asked(&world, (&format!("INPUT_{name}"), value)), times, "{name}={value}");
    }

    // The rehearsal of a whole week tests `fail-on-engine-change`.
    of(&["since-days", "limit", "open-issue", "live", "fail-on-engine-change"]);
    let (mut world, main) = with_review(&server);
    asked(&world, ("INPUT_REPLIES", "record"));
    // A schedule checks out the default branch.
    world.origin.merge = main;
    let archive = world.uploaded();
    let kept = |days_ago| Kept { days_ago, ..Kept::whole(&archive) };
    world.keep([kept(2), kept(5)]);
    let before = server.requests().len();
    for (name, value, runs) in [("LIMIT", "", 2), ("LIMIT", "1", 1), ("SINCE-DAYS", "3", 1)] {
        let outcome = world.night_with(1, &[(&format!("INPUT_{name}"), value)]).expect(0);
        assert!(outcome.text().contains(&format!("{runs} same")), "{name}: {}", outcome.text());
    }
    assert_eq!(server.requests().len(), before);
    let live = [("INPUT_LIVE", "true"), ("INPUT_LIMIT", "1"), ("OPENAI_API_KEY", reviews::KEY)];
    world.night_with(1, &[&live[..], &[("NO_PROXY", "127.0.0.1")]].concat()).expect(0);
    assert_eq!(server.requests().len(), before + 3);
    for (value, issues) in [("false", 0), ("true", 1)] {
        world.keep([Kept { archive: b"PK", ..kept(1) }]);
        world.night_with(1, &[("INPUT_OPEN-ISSUE", value)]).expect(3);
        assert_eq!(world.github.state().issues.len(), issues, "{value}");
    }

    of(&["publish-timeout"]);
    let refused = Ran::with(&clean(), &[("publish-timeout", "1")]);
    assert_eq!(refused.outcome.code(), "INPUT_INVALID");
    let ran = Ran::with(&clean(), &[("publish-timeout", "60")]);
    assert_eq!(ran.setting("publish-timeout"), "60");

    of(&["workflow"]);
    let ran = Ran::with(&clean(), &[("workflow", "qa.yml")]);
    assert_eq!(ran.setting("workflow"), "qa.yml");

    // What drives do by these is in drives_on_github.rs.
    for (name, value) in [
        ("agent", "builtin:fix"),
        ("continue", "manual"),
        ("drive-workflow", "drive.yml"),
        ("goal", "Add a flag"),
        ("note", "Keep the signature"),
        ("person", "wes"),
        ("session", "60@0f"),
        ("word", "approve"),
        ("pull-request", "7"),
    ] {
        of(&[name]);
        let ran = Ran::with(&clean(), &[(name, value)]);
        assert_eq!(ran.setting(name), value);
    }

    assert_eq!(tried, declared("inputs"));
}

#[test]
fn every_output_of_a_judged_change_has_its_value() {
    let ran = Ran::with(&faulty(), &[]);
    assert_eq!(ran.outcome.exit, 1, "{}", ran.outcome.stderr);
    let path = ran.output("run-path");
    let key = path.rsplit('/').next().unwrap().to_owned();
    let check = ran.world.github.state().checks[0].id;
    let archive = ran.world.uploaded();
    let expected = [
        ("verdict", "fail".to_owned()),
        ("matrix", String::new()),
        ("execution-key", key.clone()),
        ("run-path", ran.checkout.join(".qa-skill/runs").join(key).display().to_string()),
        ("report-path", format!("{path}/report.html")),
        ("qa-report-path", String::new()),
        ("next-agent", String::new()),
        ("sarif-path", format!("{path}/results.sarif")),
        ("statement-path", format!("{path}/statement.intoto.json")),
        ("blocking-findings", "1".to_owned()),
        ("advisory-findings", "0".to_owned()),
        ("escalated", "false".to_owned()),
        ("observer-mode", String::new()),
        ("observer-ledger-path", String::new()),
        ("qa-update", String::new()),
        ("review-request", String::new()),
        ("guidance", String::new()),
        ("stuck", String::new()),
        ("published-to", "check-run".to_owned()),
        ("check-run-url", format!("https://example.com/acme/widget/runs/{check}")),
        ("artifact-id", "7".to_owned()),
        ("artifact-digest", crate::support::sha256(&archive)),
    ];
    for (name, value) in &expected {
        assert_eq!(ran.output(name), *value, "{name}");
    }
    // The outputs of drives are in drives_on_github.rs.
    let of_drives = ["drive-path", "pull-request-url", "waits-for"];
    let names = expected.iter().map(|(name, _)| *name).chain(of_drives).map(str::to_owned);
    assert_eq!(names.collect::<BTreeSet<String>>(), declared("outputs"));
}

#[test]
fn outputs_say_what_advises_and_what_a_person_has_to_decide() {
    let review = reviews::reviewing(answers::CHAT, "http://127.0.0.1:9", "overflow = \"escalate\"\n");
    let advise = "[rules.\"merge-leftover/conflict-marker\"]\nstrength = \"advise\"\n";
    let policy = format!("mode = \"best_effort\"\nbudget.max-tokens = 1\n{advise}{review}");
    let world = World::new(&faulty());
    let repo = &world.origin.repo;
    let files = faulty().without("src/new.py").with(".qa-skill/policy.toml", policy);
    repo.reference("refs/heads/main", repo.commit(repo.tree(&files), &[world.origin.base]));
    let ran = Ran::in_world(world, &[("base", "main")]);
    assert_eq!(ran.outcome.exit, 0, "{}", ran.outcome.stderr);
    let counts = ["blocking-findings", "advisory-findings", "escalated"].map(|name| ran.output(name));
    assert_eq!(counts, ["0", "1", "true"]);
}

#[test]
fn outputs_about_gates_name_the_report_and_whose_turn_it_is() {
    let (list, state) = (gates_story::features(false), gates_story::state("QA_READY", "qa"));
    let files = clean().with("feature_list.json", &list).with("workflow-state.json", &state);
    let world = World::new(&files);
    let repo = &world.origin.repo;
    let base = files.with(".qa-skill/policy.toml", gates_story::POLICY);
    repo.reference("refs/heads/main", repo.commit(repo.tree(&base), &[world.origin.base]));
    let checkout = world.origin.checkout(&world.proxy, 2);
    std::fs::create_dir(checkout.join("reports")).unwrap();
    let tests = [(gates_story::ADDS, ""), (gates_story::NONE, "")];
    std::fs::write(checkout.join("reports/junit.xml"), gates_story::junit(&tests)).unwrap();
    let ran = Ran::in_checkout(world, checkout, &[("base", "main")]);
    assert_eq!(ran.outcome.exit, 0, "{}", ran.outcome.stderr);
    assert_eq!(ran.output("qa-report-path"), format!("{}/qa-report.json", ran.output("run-path")));
    assert_eq!(ran.json("qa-report.json")["status"], "PASSED");
    assert_eq!(ran.output("next-agent"), "dev");
}

#[test]
fn the_output_verdict_has_one_word_for_each_end() {
    let verdict = |topic: &crate::support::Files, inputs: &[(&str, &str)]| {
        let ran = Ran::with(topic, inputs);
        (ran.outcome.exit, ran.output("verdict"))
    };
    assert_eq!(verdict(&clean(), &[]), (0, "pass".to_owned()));
    assert_eq!(verdict(&faulty(), &[]), (1, "fail".to_owned()));
    assert_eq!(verdict(&clean(), &[("lenses", "merge-leftover")]), (3, "could-not-complete".to_owned()));
    assert_eq!(verdict(&clean(), &[("jobs", "many")]), (2, "could-not-complete".to_owned()));
    // `drift` and `none` are those of nights and of events without a change, which have tests of their own.
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let mut step = Step::on_pull_request(&origin, &server, 1);
    step.event["action"] = json!("closed");
    step.git_ref = "refs/heads/main";
    step.program().env("INPUT_TOKEN", TOKEN).run().expect(0);
    assert_eq!(step.output("verdict"), "none");
}
