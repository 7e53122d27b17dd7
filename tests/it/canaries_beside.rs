//! A secret in each field of what is read beside the change, and none in what any command shows of it.

use serde_json::{Value, json};

use crate::support::answers::{CHAT, SURFACES, answer};
use crate::support::canaries::{Canaries, Recorded};
use crate::support::reviews::{self, FAULT, QUOTE, finding};
use crate::support::{Files, Repo, Response, RunDir, Server, conflict, formats, qa_skill, repair, tamper};

const POLICY: &str = ".qa-skill/policy.toml";
const WAIVERS: &str = ".qa-skill/waivers.toml";
/// Five tools in six formats.
const GATES: &str = r#"
[gates.lint]
reports = [
    { path = "reports/eslint.json", tool = "eslint" },
    { path = "reports/eslint.sarif", tool = "eslint", format = "sarif" },
    { path = "reports/vet.json", tool = "go-vet" },
]
[gates.type_check]
reports = [{ path = "reports/mypy.txt", tool = "mypy" }]
[gates.unit_tests]
reports = [{ path = "reports/go.json", tool = "go-test" }]
[gates.story_validation]
reports = [{ path = "reports/junit.xml", tool = "pytest" }]
"#;

/// A feature list, the state of its workflow and the tests of its steps.
fn story(canaries: &mut Canaries) -> Files {
    let mut secret = |place: &str| canaries.hatch(place);
    let list = json!([{
        "id": 42,
        "category": secret("a category"),
        "description": secret("a description"),
        "steps": [
            format!("Step 1: {}", secret("a step")),
            {"action": secret("an action"), "selector": secret("a selector")},
            "Step 3: none",
        ],
        "passes": true,
        "qa_validated": true,
        "qa_notes": secret("notes of QA"),
        "qa_report_path": secret("a path of QA"),
    }]);
    let state = json!({
        "current_state": "QA_READY", "next_agent": "qa", "current_feature_id": 42, "qa_retries": 0,
        "last_transition": secret("the time of a transition"),
        "history": [{"from": "DEV", "to": "QA_READY", "timestamp": secret("the time of a step")}],
    });
    let bindings = json!({
        "1": [format!("test_sum::{}", secret("a binding")), "test_sum::adds"],
        "2": format!("tests/{}.py::adds", secret("a binding's file")),
    });
    Files::new()
        .with("feature_list.json", serde_json::to_string_pretty(&list).unwrap())
        .with("workflow-state.json", state.to_string())
        .with("stories/42.json", bindings.to_string())
}

fn eslint(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    let message = |rule: String, said: String| {
        json!({
            "ruleId": rule, "severity": 2, "message": said, "line": 1, "column": 1, "messageId": "x",
            "endLine": 1, "endColumn": 2
        })
    };
    let file = |path: String, message: Value| {
        json!({
            "filePath": format!("/github/workspace/{path}"), "messages": [message], "suppressedMessages": [],
            "errorCount": 1, "fatalErrorCount": 0, "warningCount": 0, "fixableErrorCount": 0,
            "fixableWarningCount": 0, "usedDeprecatedRules": []
        })
    };
    let files = [
        file(format!("src/{}.js", secret("ESLint's filePath")), message("a".to_owned(), "said".to_owned())),
        file("src/a.js".to_owned(), message(secret("ESLint's ruleId"), secret("ESLint's message"))),
    ];
    json!(files).to_string()
}

fn sarif(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    let split = secret("arguments of SARIF, in pieces");
    let place = |uri: String| json!({"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}});
    json!({
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": format!("ESLint {}", secret("SARIF's name of a tool")),
                "semanticVersion": secret("SARIF's version"),
                "rules": [{
                    "id": "templated",
                    "messageStrings": {"said": {"text": "it says {0}{1} and stops"}},
                    "shortDescription": {"text": secret("SARIF's description")},
                }]
            }},
            "invocations": [{"executionSuccessful": true}],
            "results": [
                {
                    "ruleId": secret("SARIF's ruleId"), "level": "error",
                    "message": {"text": secret("SARIF's message")}, "locations": [place("src/a.js".to_owned())]
                },
                {
                    "ruleId": "templated", "level": "error",
                    "message": {"id": "said", "arguments": [split[..14], split[14..]]},
                    "locations": [place(format!("src/{}.js", secret("SARIF's uri")))]
                },
            ]
        }]
    })
    .to_string()
}

/// Events as `go test -json` writes them: what a test prints comes in pieces.
fn go_test(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    let package = format!("example.com/{}", secret("Go's package"));
    let test = format!("TestSum/{}", secret("Go's test"));
    let split = secret("two events of Go, in pieces");
    let event = |action: &str, more: Value| {
        let mut event = json!({"Action": action, "Package": package});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event.to_string() + "\n"
    };
    let said = |text: &str| event("output", json!({"Test": test, "Output": text}));
    [
        event("start", json!({})),
        event("run", json!({"Test": test})),
        said(&format!("    a_test.go:7: {}\n", secret("Go's output"))),
        said(&format!("    a_test.go:8: {}", &split[..20])),
        said(&format!("{}\n", &split[20..])),
        event("attr", json!({"Test": test, "Key": secret("Go's key"), "Value": secret("Go's value")})),
        event("fail", json!({"Test": test, "Elapsed": 0.1})),
        event("output", json!({"Output": "FAIL\n"})),
        event("fail", json!({"Elapsed": 0.1})),
    ]
    .concat()
}

fn go_vet(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    let found = json!({secret("vet's package"): {secret("vet's analyzer"): [
        {"posn": format!("/github/workspace/{}.go:1:1", secret("vet's position")), "message": secret("vet's message")},
    ]}});
    serde_json::to_string_pretty(&found).unwrap() + "\n"
}

fn mypy(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    format!(
        "src/{}.py:1: error: {}  [{}]\nFound 1 error in 1 file (checked 1 source file)\n",
        secret("mypy's file"),
        secret("mypy's message"),
        secret("mypy's code")
    )
}

fn junit(canaries: &mut Canaries) -> String {
    let mut secret = |place: &str| canaries.hatch(place);
    let failure = format!(
        "<failure message=\"{}\" type=\"{}\">{}</failure>",
        secret("JUnit's message"),
        secret("JUnit's type"),
        secret("JUnit's text")
    );
    let property = format!("<property name=\"{}\" value=\"{}\"/>", secret("a property"), secret("its value"));
    let printed = format!(
        "<system-out>{} [[ATTACHMENT|shots/{}.png]]</system-out><system-err>{}</system-err>",
        secret("system-out"),
        secret("an attachment"),
        secret("system-err")
    );
    let case = |name: &str, class: &str, file: &str, inside: &str| {
        format!(
            "<testcase classname=\"{class}\" name=\"{name}\" file=\"{file}\" time=\"0\">{inside}</testcase>"
        )
    };
    let cases = [
        case("adds @feature:42 @step:1", "test_sum", "src/a.py", &failure),
        case(
            &format!("adds {} @feature:42 @step:3", secret("JUnit's name")),
            "test_sum",
            "src/a.py",
            &failure,
        ),
        case("other", &secret("JUnit's classname"), &format!("src/{}.py", secret("JUnit's file")), &failure),
        case("prints", "test_sum", "src/a.py", &printed),
        case("has", "test_sum", "src/a.py", &format!("<properties>{property}</properties>")),
    ];
    format!(
        "<?xml version=\"1.0\"?><testsuites><testsuite name=\"{}\" tests=\"5\" failures=\"3\" errors=\"0\" \
         skipped=\"0\" hostname=\"{}\"><properties>{property}</properties>{}</testsuite></testsuites>",
        secret("a suite's name"),
        secret("a suite's host"),
        cases.concat()
    )
}

/// A repository with reports beside its checkout, and what is said when it is judged.
fn judged(canaries: &mut Canaries, said: &mut Recorded) -> Repo {
    let repo = Repo::new();
    let waivers = format!("# {}\n", canaries.hatch("a comment of waivers"));
    let base = story(canaries).with(POLICY, GATES).with(WAIVERS, waivers).with("src/a.py", "a = 1\n");
    let head = base.clone().with("src/a.py", format!("a = 2\n{}", conflict())).with("src/a.js", "a();\n");
    let (base, head) = (repo.tree(&base), repo.tree(&head));
    let base = repo.commit(base, &[]);
    // One subject within the length that is shown, and one across it.
    let first = repo.commit_saying(&canaries.hatch("a subject"), head, &[base]);
    let second = repo.commit_saying(&canaries.hatch_across("a subject", 72), head, &[base]);
    let merged = repo.commit_saying("a merge", head, &[second, first]);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/heads/topic", merged);
    let reports = repo.path().join("reports");
    std::fs::create_dir(&reports).unwrap();
    for (name, text) in [
        ("eslint.json", eslint(canaries)),
        ("eslint.sarif", sarif(canaries)),
        ("vet.json", go_vet(canaries)),
        ("mypy.txt", mypy(canaries)),
        ("go.json", go_test(canaries)),
        ("junit.xml", junit(canaries)),
    ] {
        std::fs::write(reports.join(name), text).unwrap();
    }
    let judge = repo
        .judge()
        .env("CODE_QA_CADENCE", canaries.hatch("CODE_QA_CADENCE"))
        .env("CODE_QA_REVIEW_COOLDOWN_TURNS", canaries.hatch("CODE_QA_REVIEW_COOLDOWN_TURNS"));
    for format in formats() {
        said.streams(format, &judge.clone().args(["--verbose", "--format", format]).run().expect(1));
    }
    said.run(&repo.run_dir());
    repo
}

/// Fails if a secret was heard. A report is recorded as it was read, so a secret in pieces stays in pieces there.
#[track_caller]
fn assert_silent_but_for_pieces(canaries: &Canaries, said: &Recorded) {
    let mut heard = canaries.leaks_in(said);
    heard.retain(|heard| !heard.ends_with("in pieces in recordings/gates.json"));
    assert!(heard.is_empty(), "{heard:#?}");
}

#[test]
fn no_secret_of_what_is_read_beside_a_change_is_shown() {
    let (mut canaries, mut said) = (Canaries::default(), Recorded::default());
    let repo = judged(&mut canaries, &mut said);
    let run = repo.run_dir();
    let results = run.json("lens-results.json");
    for gate in ["lint", "type_check", "unit_tests", "story_validation"] {
        let all = results["lensResults"].as_array().unwrap();
        let result = all.iter().find(|result| result["lensId"] == gate).unwrap();
        assert_eq!(result["status"], "completed", "{result:#}");
        assert!(!result["findings"].as_array().unwrap().is_empty(), "{result:#}");
    }
    let path = repo.path();
    let place = path.to_str().unwrap();
    let sides = ["--base", "main", "--head", "topic", "--repo", place];
    for arguments in [&["plan"][..], &["plan", "--format=json"], &["plan", "--cost"], &["plan", "--shards=2"]]
    {
        said.streams("plan", &qa_skill(arguments).args(sides).run().expect(0));
    }
    let check = qa_skill(["policy-check", "--base", "main", "--repo", place]);
    said.streams("policy-check", &check.run().expect(0));
    for format in ["terminal", "json"] {
        let calibrate = qa_skill(["calibrate", "--head", "topic", "--format", format, "--repo", place]);
        let outcome = calibrate.run().expect(0);
        assert!(outcome.text().contains("ghp_***"), "{}", outcome.text());
        said.streams("calibrate", &outcome);
        let calibrate = qa_skill(["calibrate", "--head", "topic^2", "--format", format, "--repo", place]);
        said.streams("calibrate", &calibrate.run().expect(0));
    }
    said.streams("verify", &run.verify().run().expect(0));
    said.streams("verify --repo", &run.verify().args(["--repo", place]).run().expect(0));
    let since = repo.judge().arg("--refresh").arg("--since").arg(repo.beside("out")).run().expect(1);
    said.streams("run --since", &since);
    assert_silent_but_for_pieces(&canaries, &said);
}

/// A stored run is not believed, whoever wrote it, and what is said of it is no exception.
#[test]
fn no_secret_of_a_stored_run_is_shown() {
    let (mut canaries, mut said) = (Canaries::default(), Recorded::default());
    let repo = judged(&mut canaries, &mut said);
    let elsewhere = repo.beside("elsewhere");
    let copy = |name: &str| {
        let key = repo.run_dir().0.file_name().unwrap().to_owned();
        repo.run_dir().copy_to(&elsewhere.join(name).join(key))
    };
    let mut edited: Vec<RunDir> = Vec::new();
    for (number, limit) in [None, Some(80), Some(120)].into_iter().enumerate() {
        let run = copy(&number.to_string());
        let mut hatch = |place: &str| match limit {
            Some(limit) => canaries.hatch_across(place, limit),
            None => canaries.hatch(place),
        };
        tamper(&run, "final-verdict.json", "/rationale/0", hatch("a forged rationale").into());
        tamper(&run, "trace.json", "/configPreimage/engineVersion", hatch("a forged version").into());
        repair(&run, false);
        edited.push(run);
        let run = copy(&format!("{number} of this version"));
        tamper(&run, "final-verdict.json", "/rationale/0", hatch("a forged verdict").into());
        repair(&run, false);
        edited.push(run);
    }
    for run in &edited {
        said.streams("verify", &run.verify().run());
        for format in ["text", "json", "markdown"] {
            let checked =
                qa_skill(["drift-check", "--fail-on-engine-change", "--format", format]).arg(&run.0);
            said.streams("drift-check", &checked.run().expect(4));
        }
        let checked = qa_skill(["drift-check", "--fail-on-engine-change"]).arg(&run.0);
        said.streams("drift-check --repo", &checked.arg("--repo").arg(repo.path()).run().expect(4));
    }
    assert_silent_but_for_pieces(&canaries, &said);
}

#[test]
fn waivers_and_a_rubric_with_a_secret_are_refused_without_showing_it() {
    let (mut canaries, mut said) = (Canaries::default(), Recorded::default());
    let waiver = |owner: &str, reason: &str| {
        format!(
            "[[waiver]]\nrule = \"merge-leftover/conflict-marker\"\nevidence-hash = \"{}\"\nowner = \"{owner}\"\n\
             reason = \"{reason}\"\nexpires = \"2999-01-01\"\n",
            "0".repeat(64)
        )
    };
    let cases = [
        (WAIVERS, waiver(&canaries.hatch("an owner"), "a reason"), "POLICY_INVALID"),
        (WAIVERS, waiver("an owner", &canaries.hatch("a reason")), "POLICY_INVALID"),
        (WAIVERS, waiver("an owner", &canaries.hatch_across("a reason", 80)), "POLICY_INVALID"),
        (WAIVERS, format!("a = {}\n", canaries.hatch("a line that cannot be parsed")), "POLICY_INVALID"),
        (
            ".qa-skill/rubrics/1.json",
            json!({"schemaVersion": "rubric.v1", "statement": canaries.hatch("a rubric")}).to_string(),
            "RUBRIC_NOT_FROZEN",
        ),
    ];
    for (path, text, code) in cases {
        let repo = Repo::new();
        let base = Files::from_texts(&[(POLICY, "[consistency]\nrubric = 1\n"), ("a.py", "a = 1\n")])
            .with(path, text);
        let base = if path == WAIVERS { base.with(POLICY, "") } else { base };
        repo.change(&base, &base.clone().with("a.py", "a = 2\n"));
        let exit = if code == "POLICY_INVALID" { 2 } else { 3 };
        said.streams(path, &repo.judge().run().expect_code(exit, code));
        let check = qa_skill(["policy-check", "--base", "main", "--repo"]).arg(repo.path());
        said.streams("policy-check", &check.run());
    }
    canaries.assert_no_leak(&said);
}

#[test]
fn no_secret_that_a_model_says_is_shown() {
    for surface in SURFACES {
        let (mut canaries, mut said) = (Canaries::default(), Recorded::default());
        let mut with = |member: &str, place: &str| {
            let mut one = finding();
            one[member] = canaries.hatch(place).into();
            one
        };
        let mut answers: Vec<Response> = vec![];
        let all = json!({"findings": [
            finding(), with("summary", "a summary"), with("suggestion", "a suggestion"), with("evidenceQuote", "a quote"),
        ]});
        answers.push(Response::json(200, &answer(surface, &all.to_string())));
        for member in ["ruleId", "file", "severity"] {
            let wrong = json!({"findings": [with(member, member)]});
            answers.push(Response::json(200, &answer(surface, &wrong.to_string())));
        }
        answers.push(Response::json(200, &answer(surface, &canaries.hatch("an answer that is no JSON"))));
        let mut named = answer(surface, &json!({"findings": []}).to_string());
        named["model"] = canaries.hatch("a model's name").into();
        answers.push(Response::json(200, &named));
        let error =
            json!({"error": {"message": canaries.hatch("an error"), "type": canaries.hatch("its type")}});
        answers.push(Response::json(400, &error));
        answers.push(Response::new(400, canaries.hatch_across("a page", 300)));
        answers.push(Response::new(400, canaries.hatch_across("a long page", 64 << 10)));
        for header in ["x-request-id", "request-id", "retry-after"] {
            answers.push(Response::new(400, "no").header(header, canaries.hatch(header)));
        }
        let long = canaries.hatch_across("a long header", 300);
        answers.push(Response::new(400, "no").header("x-request-id", long));
        // What comes of a record does not depend on the dialect.
        let most = if surface == CHAT { usize::MAX } else { 2 };
        for answer in answers.into_iter().take(most) {
            let server = Server::start(move |_| answer.clone());
            let repo = reviews::faulty(surface, &server, "required = true");
            let outcome = reviews::run(&repo).args(["--verbose", "--format", "terminal"]).run();
            said.streams(surface, &outcome);
            said.run(&repo.run_dir());
            said.streams("verify", &repo.run_dir().verify().run().expect(0));
        }
        assert!(FAULT.contains(QUOTE));
        canaries.assert_no_leak(&said);
    }
}

#[test]
fn a_token_in_the_path_of_the_origin_stands_in_no_artifact() {
    let mut canaries = Canaries::default();
    let repo = crate::support::change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let url = format!("https://example.com/{}/widget.git", canaries.hatch("the address of the origin"));
    crate::support::git(&repo.path(), &["remote", "add", "origin", &url]);
    let outcome = repo.judge().run().expect(0);
    let mut said = Recorded::default();
    said.streams("the run", &outcome);
    said.run(&repo.run_dir());
    canaries.assert_no_leak(&said);
}
