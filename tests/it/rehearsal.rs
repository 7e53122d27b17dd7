//! The whole life of a verdict, between the parts a runner has: pull request, step, artifact, a night a week later.

use serde_json::{Value, json};

use crate::support::fake_github::FakeGitHub;
use crate::support::hub::runtime_token;
use crate::support::origin::{NAME, Origin};
use crate::support::prism::{Prism, forward};
use crate::support::server::{Request, Response};
use crate::support::step::{Step, TOKEN, clean, faulty, listing};
use crate::support::world::{Kept, World};
use crate::support::{Files, RunDir, archive, conflict, qa_skill, rekey, repair, sha256, tamper, token};

/// A change with faults that block and one that does not.
fn planted() -> Files {
    clean()
        .with("src/new.py", conflict())
        .with("src/config.py", format!("REGION = \"north\"\nKEY = \"{}\"\n", token()))
        .with("src/app.py", "value = 2\nbreakpoint()\n")
}

/// All that is to be said about it: level, path, lines, rule.
const PLANTED: [&str; 3] = [
    "failure src/config.py:2-2 secret-token/provider-token",
    "failure src/new.py:1-1 merge-leftover/conflict-marker",
    "warning src/app.py:2-2 merge-leftover/debugger-statement",
];

/// The API as GitHub describes it. What the description has no words for goes past Prism: a permission that is missing,
/// and the redirect of a download, which Prism would follow by itself.
fn described(
    github: &FakeGitHub,
    prism: Option<&Prism>,
) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    let (github, address) = (github.clone(), prism.map(|prism| prism.address.clone()));
    move |request| {
        let path = request.path();
        let past = path.ends_with("/zip") || path.starts_with("/blobs/") || github.denies(request);
        match address.as_ref().filter(|_| !past) {
            Some(address) => forward(address, request),
            None => github.answer(request),
        }
    }
}

/// What became of a pull request.
struct Day {
    /// Of its check run.
    conclusion: Option<String>,
    annotations: Vec<String>,
    /// Annotations by workflow command.
    commands: Vec<String>,
    comments: usize,
    summary: String,
    archive: Vec<u8>,
    run: RunDir,
}

fn day(world: &World, pull: &Origin, depth: u32, fork: bool, exit: i32) -> Day {
    let summary = pull.repo.beside("summary.md");
    std::fs::remove_file(&summary).ok();
    let place = pull.repo.beside(&format!("pull-{}", pull.number));
    let checkout = pull.checkout_at(place, &world.proxy, depth);
    let mut step = Step::on_pull_request_in(checkout, pull, &world.proxy);
    if fork {
        step.event["pull_request"]["head"]["repo"]["id"] = 2.into();
    }
    let program = world.program(&step).env("INPUT_COMMENT", "true").env("INPUT_UPLOAD-SARIF", "true");
    let outcome = program.run().expect(exit);
    let summary = std::fs::read_to_string(summary).unwrap();
    let archive = world.uploaded();
    assert_eq!(
        (step.output("artifact-id"), step.output("artifact-digest"), step.output("published-to")),
        ("7".into(), sha256(&archive), if fork { "commands" } else { "check-run" }.into())
    );
    for canary in [TOKEN, &runtime_token(), &token()] {
        for said in [&outcome.text(), &outcome.stderr, &summary] {
            assert!(!said.contains(canary), "{canary} is told: {said}");
        }
    }

    let state = world.github.state();
    let mut checks = state.checks.iter().filter(|check| check.head_sha == pull.head.to_string());
    let (check, another) = (checks.next(), checks.next());
    assert_eq!(another, None);
    let annotation = |note: &Value| {
        let text = |name: &str| note[name].as_str().unwrap_or_default();
        let (path, title) = (text("path"), text("title"));
        format!("{} {path}:{}-{} {title}", text("annotation_level"), note["start_line"], note["end_line"])
    };
    let printed = outcome.text();
    Day {
        conclusion: check.and_then(|check| check.conclusion.clone()),
        annotations: check.map_or(Vec::new(), |check| check.annotations.iter().map(annotation).collect()),
        commands: printed.lines().filter_map(annotating).collect(),
        comments: state.comments.iter().filter(|comment| comment.number == pull.number).count(),
        summary,
        archive,
        run: step.run_dir(),
    }
}

/// The same words about a workflow command that annotates a place.
fn annotating(line: &str) -> Option<String> {
    let (command, _) = line.strip_prefix("::")?.split_once("::")?;
    let (kind, properties) = command.split_once(' ')?;
    let value = |name: &str| {
        let mut all = properties.split(',').filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        all.next()
    };
    let level = if kind == "error" { "failure" } else { kind };
    Some(format!("{level} {}:{}-{} {}", value("file")?, value("line")?, value("endLine")?, value("title")?))
}

/// An archive of the same run after somebody changed it.
fn forged(world: &World, run: &RunDir, change: impl Fn(&mut RunDir)) -> Vec<u8> {
    let place = world.origin.repo.beside("forged").join(run.0.file_name().unwrap());
    std::fs::remove_dir_all(&place).ok();
    let mut copy = run.copy_to(&place);
    change(&mut copy);
    archive(&copy)
}

fn flip(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
}

/// Each night on which something is wrong with an artifact: what, exit code, code, and what is said.
fn nights_of_damage(world: &World, depth: u32, day: &Day) {
    let mut stored = day.archive.clone();
    flip(&mut stored);
    let inside = forged(world, &day.run, |run| {
        let mut bytes = run.bytes("coverage.json");
        flip(&mut bytes);
        std::fs::write(run.path("coverage.json"), bytes).unwrap();
    });
    let lens = forged(world, &day.run, |run| {
        tamper(run, "trace.json", "/executionKeyPreimage/selectedLensVersions/1/lensVersion", "0".into());
        rekey(run);
    });
    let missing = forged(world, &day.run, |run| {
        std::fs::remove_file(run.path("recordings/00000.json")).unwrap();
    });
    let in_store = Kept { archive: &stored, ..Kept::whole(&day.archive) };
    let cases = [
        ("a byte flipped in the store", in_store, 3, "ARTIFACT_UNAVAILABLE", "is listed"),
        (
            "a byte flipped before packing",
            Kept::whole(&inside),
            3,
            "ARTIFACT_SCHEMA_INVALID",
            "coverage.json",
        ),
        ("a recording missing", Kept::whole(&missing), 3, "RECORDING_MISSING", "recordings/00000.json"),
    ];
    for (what, kept, exit, code, said) in cases {
        world.keep([kept]);
        let outcome = world.night(depth).expect_code(exit, code);
        assert!(outcome.stderr.contains(said), "{what}: {}", outcome.stderr);
        assert_eq!(world.github.state().issues.len(), 1, "{what}");
        world.github.state().issues.clear();
    }
    // Nobody outside can make a night fail.
    world.keep([Kept { of_a_fork: true, ..Kept::whole(&missing) }]);
    let told = world.night(depth).expect(0);
    assert!(told.text().contains("not replayed (of a fork)"), "{}", told.text());
    world.keep([Kept::whole(&lens)]);
    let told = world.night(depth).expect(0);
    assert!(told.text().contains("1 engine changed"), "{}", told.text());
    assert!(world.github.state().issues.is_empty());
    let asked = world.night_with(depth, &[("INPUT_FAIL-ON-ENGINE-CHANGE", "true")]);
    let asked = asked.expect_code(4, "ENGINE_CHANGED");
    assert!(asked.stderr.contains(" 0 → "), "{}", asked.stderr);
    assert_eq!(world.github.state().issues.len(), 1);
    world.github.state().issues.clear();
}

#[test]
fn pull_requests_are_judged_told_kept_and_replayed_a_week_later() {
    for depth in [1, 2, 0] {
        let github = FakeGitHub::new(NAME, TOKEN);
        let api = github.serve();
        let prism = Prism::start(&api);
        let world =
            World::around(Origin::with_topic(&planted()), github.clone(), described(&github, prism.as_ref()));

        let faulty = day(&world, &world.origin, depth, false, 1);
        assert_eq!((faulty.conclusion.as_deref(), faulty.comments), (Some("failure"), 1));
        assert_eq!(faulty.annotations, PLANTED);
        assert!(faulty.commands.is_empty(), "annotations stand once: {:?}", faulty.commands);
        let good = day(&world, &world.origin.another(8, &clean()), depth, false, 0);
        assert_eq!((good.conclusion.as_deref(), good.comments), (Some("success"), 1));
        assert_eq!((good.annotations, good.commands), (vec![], vec![]));
        github.read_only();
        let of_fork = world.origin.another(9, &planted().with("FORK.md", "# A fork\n"));
        let fork = day(&world, &of_fork, depth, true, 1);
        assert_eq!((fork.conclusion, fork.comments, fork.annotations), (None, 0, vec![]));
        assert_eq!(fork.commands, PLANTED);
        for path in ["src/config.py", "src/new.py", "src/app.py"] {
            assert!(fork.summary.contains(path), "{}", fork.summary);
        }
        github.state().denied.clear();
        assert_eq!(github.state().sarifs.len(), 2);
        let to_store = world.proxy.requests().into_iter().filter(|request| request.path() == "/store");
        assert!(to_store.map(|request| request.header("authorization").is_none()).eq([true; 6]));

        world.keep([
            Kept::whole(&faulty.archive),
            Kept::whole(&good.archive),
            Kept { of_a_fork: true, ..Kept::whole(&fork.archive) },
            Kept { days_ago: 8, ..Kept::whole(&faulty.archive) },
        ]);
        let outcome = world.night(depth).expect(0);
        let said = outcome.text();
        assert!(said.contains("3 runs: 3 same") && said.contains("same (of a fork)"), "{said}");
        assert!(!said.contains("from the recording only"), "{said}");
        assert!(said.contains("3 artifacts named") && said.contains("1 of forks"), "{said}");
        assert!(github.state().issues.is_empty());
        nights_of_damage(&world, depth, &faulty);

        // Whatever Prism refused stands in its log: one request, made now to see it refuse.
        let Some(prism) = prism else { continue };
        let arrived = api.requests().len();
        assert_eq!(prism.send("POST", "/check-runs", Some(&json!({"head_sha": "1".repeat(40)}))).0, 422);
        let log = prism.read_until("#UNPROCESSABLE_ENTITY");
        let count = |words: &str| log.iter().filter(|line| line.contains(words)).count();
        assert_eq!(count("terminated with error"), 1, "{log:?}");
        assert_eq!((count("Request received"), arrived >= 20), (arrived + 1, true), "{log:?}");
    }
}

#[test]
fn a_secret_of_the_environment_is_nowhere_but_where_it_belongs() {
    let world = World::new(&faulty());
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
    let world = World::new(&faulty());
    let step = Step::on_pull_request(&world.origin, &world.proxy, 1);
    world.program(&step).run().expect(1);
    let run = step.run_dir();
    let run = run.copy_to(&world.origin.repo.beside("forged").join(run.0.file_name().unwrap()));
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
    world.keep([Kept::whole(&archive)]);
    for _ in 0..2 {
        let outcome = world.night(1).expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        assert!(outcome.text().contains("recordings/00000.json"), "{}", outcome.text());
        let state = world.github.state();
        assert_eq!(state.issues.len(), 1);
        assert!(state.issues[0].open && state.issues[0].body.contains("recordings/00000.json"));
    }
}

#[test]
fn commits_that_are_not_given_out_by_id_are_found_by_the_pull_request() {
    let world = World::new(&faulty());
    let step = Step::on_pull_request(&world.origin, &world.proxy, 0);
    world.program(&step).run().expect(1);
    world.keep([Kept::whole(&world.uploaded())]);
    // Both sides went on, so that neither the head nor the base is what a ref stands at.
    let repo = &world.origin.repo;
    let newer = |parents: &[git2::Oid]| repo.commit(repo.tree(&clean()), parents);
    let head = newer(&[world.origin.head]);
    repo.reference("refs/heads/main", newer(&[world.origin.base]));
    repo.reference("refs/pull/7/head", head);
    repo.reference("refs/pull/7/merge", newer(&[world.origin.base, head]));
    world.only_refs.store(true, std::sync::atomic::Ordering::SeqCst);
    let said = world.night(1).expect(0).text();
    assert!(said.contains("1 run: 1 same") && !said.contains("from the recording only"), "{said}");

    for side in ["head", "merge"] {
        repo.git.find_reference(&format!("refs/pull/7/{side}")).unwrap().delete().unwrap();
    }
    let said = world.night(1).expect(0).text();
    assert!(said.contains("1 run: 1 same") && said.contains("not our ref"), "{said}");
}

#[test]
fn a_night_says_which_conventions_the_code_no_longer_keeps() {
    let mut world = World::new(&clean());
    let repo = &world.origin.repo;
    world.origin.merge = repo.commit(repo.tree(&crate::consistency::fallen()), &[world.origin.merge]);
    repo.reference(&world.origin.merge_ref, world.origin.merge);
    let said = world.night(1).expect(0).text();
    assert!(said.contains("::warning title=RUBRIC_FALLEN::"), "{said}");
    assert!(said.contains("`.py` files are named in snake_case"), "{said}");
}

#[test]
fn a_verdict_stands_without_its_artifact_unless_the_workflow_requires_it() {
    for (topic, exit, conclusion) in [(faulty(), 1, "failure"), (clean(), 0, "success")] {
        for required in ["", "true"] {
            let world = World::new(&topic);
            world.hub.0.lock().unwrap().out_of_order = true;
            let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
            let program = world.program(&step).env("INPUT_REQUIRE-ARTIFACT", required);
            let (exit, conclusion) =
                if required == "true" && exit == 0 { (3, "action_required") } else { (exit, conclusion) };
            let outcome = program.run().expect(exit);
            let check = world.github.state().checks[0].conclusion.clone();
            assert_eq!(check.as_deref(), Some(conclusion), "{}", outcome.text());
            assert!(outcome.text().contains("title=ARTIFACT_UPLOAD_FAILED"), "{}", outcome.text());
            assert_eq!(step.output("artifact-id"), "");
            if exit == 0 {
                let summary = std::fs::read_to_string(world.origin.repo.beside("summary.md")).unwrap();
                assert!(summary.contains("the run directory was not uploaded"), "{summary}");
            }
        }
    }
}

#[test]
fn an_artifact_whose_name_is_taken_gets_the_next() {
    let world = World::new(&clean());
    for preset in ["default", "guarded"] {
        std::fs::remove_dir_all(world.origin.repo.beside("checkout-2")).ok();
        let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
        world.program(&step).env("INPUT_PRESET", preset).run().expect(0);
        assert!(!step.output("artifact-id").is_empty(), "{preset}");
    }
    let names: Vec<String> = world.hub.0.lock().unwrap().blobs.keys().cloned().collect();
    assert_eq!(names, ["qa-skill-run", "qa-skill-run-2"]);
}

#[test]
fn a_limit_is_for_our_own_runs_before_those_of_forks() {
    let world = World::new(&clean());
    let step = Step::on_pull_request(&world.origin, &world.proxy, 2);
    world.program(&step).run().expect(0);
    let archive = world.uploaded();
    let ours = || Kept::whole(&archive);
    let of_a_fork = || Kept { of_a_fork: true, days_ago: 1, ..ours() };
    // The last one is the newest.
    world.keep([ours(), of_a_fork(), of_a_fork()]);
    let told = world.night_with(1, &[("INPUT_LIMIT", "1")]).expect(0).text();
    assert!(told.contains("1 run: 1 same") && !told.contains("(of a fork)"), "{told}");
    assert!(told.contains(", 2 beyond the limit"), "{told}");

    world.keep(std::iter::repeat_with(ours).take(60));
    let told = world.night(1).expect(0).text();
    assert!(told.contains("60 runs: 60 same") && !told.contains("beyond the limit"), "{told}");
}
