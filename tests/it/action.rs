//! A step of GitHub Actions, seen from outside: events, shallow checkouts, what is said to the runner.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::origin::{NAME, Origin, git_answer};
use crate::support::server::{Request, Response, Server};
use crate::support::step::{Step, TOKEN, clean, faulty, listing};
use crate::support::{RunDir, git, in_another_programs_place, qa_skill};

#[test]
fn every_depth_of_checkout_gives_the_run_a_laptop_gives() {
    let origin = Origin::with_topic(&faulty());
    let server = origin.serve();
    let laptop = origin.checkout(&server, 0);
    let out = origin.repo.beside("laptop");
    qa_skill(["run", "--repo"])
        .arg(&laptop)
        .args(["--base", &origin.base.to_string(), "--head", &origin.head.to_string(), "--out"])
        .arg(&out)
        .run()
        .expect(1);
    let expected = RunDir::only(&out);
    std::fs::remove_dir_all(&laptop).unwrap();

    for depth in [1, 2, 0] {
        let step = Step::on_pull_request(&origin, &server, depth);
        let before = listing(&step.checkout.join(".git"));
        step.run().expect(1);
        let run = step.run_dir();
        assert_eq!(run.digests(), expected.digests(), "depth {depth}");
        let changes = run.json("change-set.json");
        assert_eq!(changes["mergeBaseSha"], origin.fork_point.to_string(), "depth {depth}");
        assert_eq!(run.json("trace.json")["baseRule"], "merge-commit");
        assert_eq!(listing(&step.checkout.join(".git")), before, "the checkout's own objects are left alone");
        assert_eq!(
            listing(&origin.repo.beside("temp")),
            Vec::<PathBuf>::new(),
            "nothing is left in the temp directory"
        );
    }
}

#[test]
fn a_pull_request_on_the_tip_of_its_base_is_judged_at_every_depth() {
    let origin = Origin::up_to_date(&faulty());
    let server = origin.serve();
    for depth in [1, 2, 0] {
        let step = Step::on_pull_request(&origin, &server, depth);
        step.run().expect(1);
        let changes = step.run_dir().json("change-set.json");
        assert_eq!(changes["mergeBaseSha"], origin.base.to_string(), "depth {depth}");
    }
}

#[test]
fn a_list_of_refs_that_is_not_one_makes_no_branch_the_default() {
    let origin = Origin::with_topic(&clean());
    for answer in ["", "<html>", "{}", "0000"] {
        let server = Server::start(move |_| Response::new(200, answer));
        let checkout = origin.checkout_at(origin.repo.beside("checkout"), &origin.serve(), 0);
        let mut step = Step::on_pull_request_in(checkout, &origin, &server);
        step.name = "push";
        step.git_ref = "refs/heads/topic";
        step.event = json!({
            "ref": "refs/heads/topic", "before": origin.head.to_string(), "after": origin.head.to_string(),
            "repository": {"default_branch": "topic"},
        });
        step.run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
        std::fs::remove_dir_all(&step.checkout).unwrap();
    }
}

/// In the image, the variable means nothing.
#[test]
fn faults_on_purpose_are_announced_or_unknown() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 2);
    let is_released = in_another_programs_place().is_some();
    let outcome = step.program().env("QA_FAULTS", "enospc:store").run();
    assert_eq!(outcome.stderr.contains("QA_FAULTS"), !is_released, "{}", outcome.stderr);
    assert_eq!(outcome.exit, if is_released { 0 } else { 3 }, "{}", outcome.stderr);
}

#[test]
fn the_runner_is_told_the_verdict_and_where_everything_is() {
    let origin = Origin::with_topic(&faulty());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 2);
    let outcome = step.run().expect(1);
    assert_eq!(step.output("verdict"), "fail");
    assert_eq!(step.output("execution-key"), step.run_dir().json("trace.json")["executionKey"]);
    assert_eq!(
        (step.output("blocking-findings"), step.output("published-to")),
        ("1".into(), "commands".into())
    );
    for name in ["report-path", "sarif-path"] {
        let path = step.output(name).replace("/github/workspace", step.checkout.to_str().unwrap());
        assert!(Path::new(&path).is_file(), "{name}");
    }
    let text = outcome.text();
    let word = text.lines().next().unwrap().strip_prefix("::stop-commands::").unwrap();
    let (quoting, commands) = text.split_once(&format!("\n::{word}::\n")).unwrap();
    assert!(quoting.contains("src/new.py") && commands.contains("::error file=src/new.py,line=1"), "{text}");
    let summary = std::fs::read_to_string(origin.repo.beside("summary.md")).unwrap();
    assert!(summary.contains("src/new.py"), "{summary}");
}

#[test]
fn a_clean_pull_request_passes() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 1);
    step.run().expect(0);
    assert_eq!(step.output("verdict"), "pass");
}

#[test]
fn the_token_goes_to_the_origin_and_nowhere_else() {
    let origin = Origin::with_topic(&faulty());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 1);
    let outcome = step.run().expect(1);
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.header("authorization").unwrap().starts_with("Basic ")));
    assert!(!outcome.text().contains(TOKEN) && !outcome.stderr.contains(TOKEN));
    let files = listing(&step.checkout.join(".qa-skill"));
    for path in files.iter().filter(|path| path.is_file()) {
        let bytes = std::fs::read(path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(TOKEN), "{}", path.display());
    }
}

#[test]
fn what_cannot_be_fetched_is_an_error_with_the_way_out_and_never_a_pass() {
    let origin = Origin::with_topic(&clean());
    let project = origin.repo.path().join(".git");
    type Answer = fn(&Path, &Request) -> Response;
    let answers: [(&str, Answer); 6] = [
        ("forbidden", |_, _| Response::new(403, "no")),
        ("old", |_, _| Response::new(200, "001e# service=git-upload-pack\n00000000")),
        ("html", |_, _| Response::new(200, "<html>a proxy's page</html>")),
        ("endless", |_, _| Response::new(200, vec![b'x'; (8 << 20) + 1])),
        ("elsewhere", |_, _| Response::new(302, "").header("location", "http://127.0.0.1:9/steal")),
        ("cut", |project, request| {
            let mut response = git_answer(project, request);
            if request.method == "POST" {
                response.body.truncate(response.body.len() / 2);
            }
            response
        }),
    ];
    for (name, answer) in answers {
        let project = project.clone();
        let server = Server::start(move |request| answer(&project, request));
        let step = Step::on_pull_request(&origin, &server, 1);
        let code = if name == "endless" { "NETWORK_UNAVAILABLE" } else { "BASE_REF_RESOLUTION_FAILED" };
        let outcome = step.run().expect_code(3, code);
        assert!(outcome.stderr.contains("fetch-depth: 0"), "{name}: {}", outcome.stderr);
        assert_eq!(step.output("verdict"), "could-not-complete", "{name}");
        let summary = std::fs::read_to_string(origin.repo.beside("summary.md")).unwrap();
        assert!(summary.contains("could not complete") && summary.contains(code), "{summary}");
        assert!(outcome.text().contains(&format!("::error title={code}::")), "{}", outcome.text());
        std::fs::remove_dir_all(&step.checkout).unwrap();
    }
}

#[test]
fn a_server_that_serves_no_partial_objects_is_asked_for_whole_ones() {
    let origin = Origin::with_topic(&faulty());
    git(&origin.repo.path(), &["config", "uploadpack.allowFilter", "false"]);
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 1);
    step.run().expect(1);
    assert_eq!(step.run_dir().json("change-set.json")["mergeBaseSha"], origin.fork_point.to_string());
}

/// A checkout as actions/checkout leaves it with `filter` and all history.
fn partial_checkout(origin: &Origin, server: &Server, filter: &str) -> PathBuf {
    let place = origin.repo.beside(&filter.replace(':', "-"));
    std::fs::create_dir_all(&place).unwrap();
    let url = format!("file://{}", origin.repo.path().display());
    let tracked = format!("refs/remotes/pull/{}/merge", origin.number);
    git(&place, &["init", "-q"]);
    git(&place, &["remote", "add", "origin", &url]);
    let refspec = format!("+{}:{tracked}", origin.merge_ref);
    git(&place, &["fetch", "-q", "--no-tags", &format!("--filter={filter}"), "origin", &refspec]);
    git(&place, &["checkout", "-q", "--detach", &tracked]);
    git(&place, &["remote", "set-url", "origin", &format!("{}/{NAME}", server.url())]);
    place
}

#[test]
fn a_partial_checkout_is_judged_by_the_objects_of_the_server() {
    let origin = Origin::with_topic(&faulty());
    let server = origin.serve();
    let whole = Step::on_pull_request(&origin, &server, 0);
    let outcome = whole.run().expect(1);
    assert!(!outcome.text().contains("partial clone"), "{}", outcome.text());
    for filter in ["blob:none", "tree:0"] {
        let checkout = partial_checkout(&origin, &server, filter);
        let step = Step::on_pull_request_in(checkout, &origin, &server);
        let outcome = step.run().expect(1);
        assert!(outcome.text().contains("the checkout is a partial clone"), "{}", outcome.text());
        assert_eq!(step.run_dir().digests(), whole.run_dir().digests(), "{filter}");
    }
}

#[test]
fn a_step_without_a_checkout_is_told_to_check_out() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let empty = origin.repo.beside("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let outcome =
        Step::on_pull_request_in(empty, &origin, &server).run().expect_code(3, "REPOSITORY_NOT_FOUND");
    let summary = std::fs::read_to_string(origin.repo.beside("summary.md")).unwrap();
    for text in [outcome.text(), outcome.stderr, summary.replace('\\', "")] {
        assert!(text.contains("actions/checkout") && text.contains("working-directory"), "{text}");
        assert!(!text.contains("--repo"), "an input has no options: {text}");
    }
}

#[test]
fn each_event_has_its_own_base() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let (base, head, fork_point) =
        (origin.base.to_string(), origin.head.to_string(), origin.fork_point.to_string());
    let zeros = "0".repeat(40);
    let push = |before: &str, default_branch: &str| json!({"before": before, "after": head, "repository": {"default_branch": default_branch}});
    let queue = format!("refs/heads/gh-readonly-queue/main/pr-7-{base}");
    let cases = [
        (
            "merge_group",
            json!({"action": "checks_requested", "merge_group": {"head_sha": head, "base_sha": base}}),
            "event",
            &base,
        ),
        ("push", push(&fork_point, "main"), "default-branch", &base),
        ("push", push(&zeros, "main"), "default-branch", &base),
        // An event file that calls another branch the default one does not choose what is judged.
        ("push", push(&head, "topic"), "default-branch", &base),
        ("workflow_dispatch", json!({}), "default-branch", &base),
        ("pull_request_target", Step::on_pull_request(&origin, &server, 1).event, "branch-tip", &base),
    ];
    for (name, event, rule, expected) in cases {
        std::fs::remove_dir_all(origin.repo.beside("checkout-1")).ok();
        let git_ref = if name == "merge_group" { queue.as_str() } else { "refs/heads/topic" };
        let step = Step { name, event, git_ref, ..Step::on_pull_request(&origin, &server, 1) };
        let program = step.program();
        let program = if name == "workflow_dispatch" { program.env("GITHUB_SHA", &head) } else { program };
        program.run().expect(0);
        let run = step.run_dir();
        let (trace, changes) = (run.json("trace.json"), run.json("change-set.json"));
        assert_eq!(
            (&trace["baseRule"], &changes["baseSha"], &changes["headSha"]),
            (&json!(rule), &json!(expected), &json!(head)),
            "{name}"
        );
    }
}

#[test]
fn a_head_that_moved_meanwhile_gets_no_result_of_the_old_one() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 0);
    origin.repo.reference("refs/pull/7/head", origin.base);
    let outcome = step.run().expect_code(3, "HEAD_SUPERSEDED");
    assert_eq!(step.output("verdict"), "could-not-complete");
    assert!(!outcome.text().contains("stop-commands"), "{}", outcome.text());
}

#[test]
fn an_event_without_a_change_says_so() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let mut step = Step::on_pull_request(&origin, &server, 1);
    step.event["action"] = json!("closed");
    // The file alone does not say that there is nothing to judge.
    step.run().expect(0);
    assert_eq!(step.output("verdict"), "pass");
    step.git_ref = "refs/heads/main";
    let outcome = step.run().expect(0);
    assert!(outcome.text().contains("the pull request is merged"), "{}", outcome.text());
    assert_eq!(step.output("verdict"), "none");

    for name in ["issue_comment", "release"] {
        step.name = name;
        step.run().expect_code(2, "EVENT_UNUSABLE");
        assert_eq!(step.output("verdict"), "could-not-complete");
    }
    let refused = step.program().env("INPUT_JOBS", "many").run().expect_code(2, "INPUT_INVALID");
    assert!(refused.stderr.contains("Number of worker threads, 1 to 64"), "{}", refused.stderr);
}

#[test]
fn an_event_file_that_is_a_pipe_or_has_no_end_is_refused() {
    let origin = Origin::with_topic(&clean());
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 1);
    let beside = |name: &str| origin.repo.beside(name);
    assert!(std::process::Command::new("mkfifo").arg(beside("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", beside("endless")).unwrap();
    std::fs::File::create(beside("large")).unwrap().set_len((25 << 20) + 1).unwrap();
    for (name, reason) in [
        ("pipe", "not a regular file"),
        ("endless", "not a regular file"),
        ("large", "larger than 26214400 bytes"),
    ] {
        let program = step.program().env("GITHUB_EVENT_PATH", beside(name));
        let outcome = program.run().expect_code(3, "EVENT_UNUSABLE");
        assert!(outcome.stderr.contains(reason), "{name}: {}", outcome.stderr);
        assert_eq!(step.output("verdict"), "could-not-complete", "{name}");
    }
}

#[test]
fn git_over_http_is_asked_again_and_what_it_does_not_answer_is_told() {
    let origin = Origin::with_topic(&clean());
    let project = origin.repo.path().join(".git");
    // Each kind of request fails once before it is answered.
    let failed = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let server = Server::start(move |request| {
        let body = String::from_utf8_lossy(&request.body);
        let kind = body.get(4..16).unwrap_or(request.path()).to_owned();
        if failed.lock().unwrap().insert(kind) {
            return Response::new(503, "busy").header("retry-after", "0");
        }
        git_answer(&project, request)
    });
    let step = Step::on_pull_request(&origin, &server, 1);
    step.run().expect(0);
    let failures = server.requests().len();
    assert!(failures >= 6, "advertisement, refs and packs are asked for twice each: {failures}");

    // A checkout that needs nothing is judged, and that nobody knows where head is now is said.
    let gone = Server::start(|_| Response::new(404, "no"));
    let step = Step::on_pull_request_in(origin.checkout(&gone, 0), &origin, &gone);
    let outcome = step.run().expect(0);
    assert!(outcome.text().contains("is still the head of the pull request"), "{}", outcome.text());
}
