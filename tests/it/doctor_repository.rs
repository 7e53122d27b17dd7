//! `doctor --repository` against repositories that are each wrong in one way.

use serde_json::{Value, json};

use crate::support::server::{Response, Server};
use crate::support::{Files, Outcome, Repo, qa_skill};

const WORKFLOW: &str = "\
on:
  pull_request:
  merge_group:
permissions: {}
concurrency:
  group: gate-${{ github.ref }}
  cancel-in-progress: ${{ github.event_name == 'pull_request' }}
jobs:
  gate:
    runs-on: ubuntu-latest
    permissions:
      contents: read
      checks: write
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
      - uses: acme/qa-skill@3d3c42e5aac5ba805825da76410c181273ba90b1
        with:
          retention-days: 30
";
const NIGHTLY: &str = "\
on:
  schedule:
    - cron: 17 3 * * *
jobs:
  nightly:
    runs-on: ubuntu-latest
    permissions:
      contents: read
      actions: read
    steps:
      - uses: acme/qa-skill@3d3c42e5aac5ba805825da76410c181273ba90b1
        with:
          command: drift-check
          since-days: 14
";
const POLICY: &str =
    "version = 1\n[gates.unit_tests]\nreports = [{ tool = \"pytest\", path = \"out/pytest.xml\" }]\n";
const FILES: [(&str, &str); 5] = [
    (".github/workflows/gate.yml", WORKFLOW),
    (".github/workflows/nightly.yml", NIGHTLY),
    (".github/CODEOWNERS", "/.github/ @acme/security\n/.qa-skill/ @acme/security\n"),
    (".qa-skill/policy.toml", POLICY),
    (".gitignore", "out/\n"),
];

/// A change of one file: the path, a text in it and what stands there instead.
type Edit = (&'static str, &'static str, &'static str);

/// Enables the observer.
const OBSERVED: Edit =
    (".qa-skill/policy.toml", "version = 1\n", "version = 1\n[observer]\nenabled = true\n");

/// A repository whose only commit is that of `main`.
fn published(files: &Files) -> Repo {
    let repo = Repo::new();
    repo.reference("refs/heads/main", repo.commit(repo.tree(files), &[]));
    std::fs::write(repo.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    repo
}

/// Rules of the default branch: required checks that GitHub Actions alone may report, and reviews of code owners.
fn rules_of(required: &[&str], queue: bool) -> Vec<Value> {
    let checks: Vec<_> =
        required.iter().map(|context| json!({"context": context, "integration_id": 15368})).collect();
    let mut rules = vec![
        json!({"type": "required_status_checks", "parameters": {"required_status_checks": checks}}),
        json!({"type": "pull_request", "parameters": {"require_code_owner_review": true}}),
    ];
    rules.extend(queue.then(|| json!({"type": "merge_queue", "parameters": {}})));
    rules
}

fn observe(edits: &[Edit], required: &[&str], queue: bool) -> (Vec<String>, Outcome) {
    observe_by(edits, rules_of(required, queue), json!({"name": "main"}))
}

/// Returns the observations of a repository with edits, rules and protection as `kind id: place`, and the outcome.
fn observe_by(edits: &[Edit], rules: Vec<Value>, protection: Value) -> (Vec<String>, Outcome) {
    let mut files = Files::default();
    for (path, text) in FILES {
        let mut text = text.to_owned();
        for (edited, from, to) in edits {
            if *edited == path {
                assert!(text.contains(from), "{from}");
                text = text.replacen(from, to, 1);
            }
        }
        files = files.with(path, text);
    }
    let repo = published(&files);
    let api = Server::start(move |request| match request.path() {
        "/repos/acme/widget" => Response::json(200, &json!({"default_branch": "main"})),
        "/repos/acme/widget/rules/branches/main" => Response::json(200, &json!(rules)),
        "/repos/acme/widget/branches/main" => Response::json(200, &protection),
        _ => Response::new(404, "{}"),
    });
    let outcome = doctor(&repo).env("GITHUB_API_URL", api.url()).env("GITHUB_TOKEN", "canary-4711").run();
    assert!(!outcome.text().contains("canary-4711"));
    let text = outcome.text();
    let lines = text.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        (line.starts_with("problem") || line.starts_with("unseen")).then(|| {
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            let place =
                words[2].strip_suffix(':').filter(|place| place.contains(".yml:")).unwrap_or_default();
            format!("{} {}{place}", words[0], words[1])
        })
    });
    (lines.collect(), outcome)
}

fn doctor(repo: &Repo) -> crate::support::Program {
    qa_skill(["doctor", "--repository", "--base", "main"])
        .env("GITHUB_REPOSITORY", "acme/widget")
        .within(&repo.path())
}

const NIGHT: &str = ".github/workflows/nightly.yml";
const GATE: &str = ".github/workflows/gate.yml";

#[test]
fn setup_without_a_problem_passes() {
    for (edits, queue) in [
        (&[][..], true),
        (&[(GATE, "merge_group:", "workflow_dispatch:")][..], false),
        (&[(GATE, "    runs-on", "    if: ${{ always() }}\n    runs-on")][..], true),
        (&[(GATE, "    steps", "    needs: [build]\n    if: ${{ !cancelled() }}\n    steps")][..], true),
        (&[(".gitignore", "out/", "*.xml")][..], true),
        (&[(".github/CODEOWNERS", "/.github/ @acme/security\n/.qa-skill/", "*")][..], true),
    ] {
        let (found, outcome) = observe(edits, &["gate", "build"], queue);
        assert_eq!(found, [""; 0], "{edits:?}\n{}", outcome.text());
        assert!(outcome.expect(0).text().contains("no problems found"));
    }
}

#[test]
fn each_problem_is_reported_alone() {
    let cases: &[(&str, &[Edit])] = &[
        ("not-used:", &[(GATE, "acme/qa-skill@", "acme/other@")]),
        (
            "not-pinned:.github/workflows/gate.yml:16",
            &[(GATE, "acme/qa-skill@3d3c42e5aac5ba805825da76410c181273ba90b1", "acme/qa-skill@v1")],
        ),
        (
            "event-missing:.github/workflows/gate.yml:2",
            &[(GATE, "pull_request:", "pull_request: { types: [opened, reopened] }")],
        ),
        (
            "paths-filtered:.github/workflows/gate.yml:2",
            &[(GATE, "pull_request:", "pull_request: { paths: [src/**] }")],
        ),
        ("merge-group-missing:.github/workflows/gate.yml:8", &[(GATE, "  merge_group:\n", "")]),
        (
            "merge-group-cancelled:.github/workflows/gate.yml:6",
            &[(GATE, "gate-${{ github.ref }}", "gate-${{ github.ref_type }}")],
        ),
        (
            "branches-filtered:.github/workflows/gate.yml:2",
            &[(GATE, "pull_request:", "pull_request: { branches: [develop, '!main'] }")],
        ),
        (
            "input-chosen:.github/workflows/gate.yml:18",
            &[(GATE, "retention-days: 30", "lenses: secret-token")],
        ),
        (
            "input-chosen:.github/workflows/gate.yml:18",
            &[(GATE, "retention-days: 30", "preset: ${{ vars.PRESET }}")],
        ),
        ("advisory:", &[(".qa-skill/policy.toml", "version = 1", "version = 1\npreset = \"advisory\"")]),
        (
            "matrix:.github/workflows/gate.yml:9",
            &[(GATE, "    runs-on", "    strategy: { matrix: { part: [1] } }\n    runs-on")],
        ),
        (
            "name-shared:.github/workflows/gate.yml:9",
            &[(NIGHT, "  nightly:\n", "  nightly:\n    name: gate\n")],
        ),
        (
            "check-run-required:.github/workflows/gate.yml:9",
            &[(GATE, "retention-days: 30", "check-name: gate")],
        ),
        (
            "condition:.github/workflows/gate.yml:10",
            &[(GATE, "    runs-on", "    if: github.actor != 'bot'\n    runs-on")],
        ),
        (
            "skipped-by-needs:.github/workflows/gate.yml:10",
            &[(GATE, "    runs-on", "    needs: [build]\n    runs-on")],
        ),
        (
            "failure-ignored:.github/workflows/gate.yml:10",
            &[(GATE, "    runs-on", "    continue-on-error: true\n    runs-on")],
        ),
        ("permission-missing:.github/workflows/gate.yml:12", &[(GATE, "      checks: write\n", "")]),
        ("permission-missing:.github/workflows/gate.yml:12", &[OBSERVED]),
        ("permission-excess:.github/workflows/gate.yml:12", &[(GATE, "contents: read", "contents: write")]),
        (
            "permissions:.github/workflows/gate.yml:8",
            &[
                (GATE, "permissions: {}\n", ""),
                (GATE, "    permissions:\n      contents: read\n      checks: write\n", ""),
            ],
        ),
        (
            "retention-short:.github/workflows/gate.yml:16",
            &[(GATE, "retention-days: 30", "retention-days: 5")],
        ),
        ("report-not-ignored:", &[(".gitignore", "out/", "!out/")]),
    ];
    for (expected, edits) in cases {
        let (found, outcome) = observe(edits, &["gate"], true);
        assert_eq!(found, [format!("problem {expected}")], "{}", outcome.text());
        outcome.expect(1);
    }
    let permitted = (GATE, "checks: write\n", "actions: read\n      checks: write\n");
    let (found, outcome) = observe(&[OBSERVED, permitted], &["gate"], true);
    assert!(found.is_empty(), "{}", outcome.text());
    let draft = "    if: ${{ !github.event.pull_request.draft }}\n    runs-on";
    let (found, _) = observe(&[(GATE, "    runs-on", draft)], &["gate"], true);
    let expected = [
        "problem draft-ready:.github/workflows/gate.yml:2",
        "problem draft-skipped:.github/workflows/gate.yml:10",
    ];
    assert_eq!(found, expected);
    let owners: [&[Edit]; 2] = [
        &[(".github/CODEOWNERS", "/.qa-skill/ @acme/security\n", "")],
        &[(".github/CODEOWNERS", "/.qa-skill/ @acme/security\n", "/.qa-skill/ security\n")],
    ];
    for edits in owners {
        assert_eq!(observe(edits, &["gate"], true).0, ["problem unowned:"]);
    }
    let unreadable = Files::from_texts(&FILES)
        .with(".github/CODEOWNERS", b"* @acme/security\n\xff")
        .with("docs/CODEOWNERS", "* @acme/security\n");
    let text = doctor(&published(&unreadable)).run().expect(1).text();
    assert!(text.contains("problem  unowned: "), "{text}");
    let (found, _) = observe(&[], &["build"], true);
    assert_eq!(found, ["problem not-required:.github/workflows/gate.yml:9"]);
    let (found, _) = observe(&[], &["qa-skill verdict"], true);
    assert_eq!(found, ["problem check-run-required:.github/workflows/gate.yml:9"]);
}

/// Makes the nightly workflow one of the second stage, and leaves models to it.
const STAGES: [Edit; 4] = [
    (
        NIGHT,
        "  schedule:\n    - cron: 17 3 * * *\n",
        "  workflow_run: { workflows: [gate], types: [completed] }\n",
    ),
    (NIGHT, "      actions: read\n", "      actions: read\n      pull-requests: read\n      checks: write\n"),
    (NIGHT, "        with:\n          command: drift-check\n          since-days: 14\n", ""),
    (GATE, "retention-days: 30", "no-model: true"),
];

#[test]
fn a_second_stage_needs_its_check_run_its_permissions_and_the_models_for_itself() {
    let both = ["gate", "qa-skill reviews"];
    let (found, outcome) = observe(&STAGES, &both, true);
    assert_eq!(found, [""; 0], "{}", outcome.text());
    outcome.expect(0);
    let (found, outcome) = observe(&STAGES, &["gate"], true);
    assert_eq!(found, [format!("problem reviews-not-required:{NIGHT}:4")], "{}", outcome.text());
    let (found, _) = observe(&STAGES[..3], &both, true);
    assert_eq!(found, [format!("problem first-stage-asks:{GATE}:16")]);
    let (found, _) = observe(&[STAGES[0], STAGES[2], STAGES[3]], &both, true);
    let missing = format!("problem permission-missing:{NIGHT}:7");
    assert_eq!(found, [missing.clone(), missing]);
}

#[test]
fn rules_that_bind_nobody_are_reported() {
    let unbound = json!({"type": "required_status_checks", "parameters": {
        "required_status_checks": [{"context": "gate"}],
    }});
    let review = json!({"type": "pull_request", "parameters": {"require_code_owner_review": true}});
    let none = json!({"name": "main"});
    let (found, _) = observe_by(&[], vec![unbound, review.clone()], none.clone());
    assert_eq!(found, ["problem not-bound:.github/workflows/gate.yml:9"]);
    let (found, _) = observe_by(&[], rules_of(&["gate"], true)[..1].to_vec(), none);
    assert_eq!(found, ["problem owners-not-required:"]);
    let classic = |enabled: bool, level: &str| {
        json!({"name": "main", "protection": {"enabled": enabled, "required_status_checks": {
            "enforcement_level": level, "contexts": ["gate"], "checks": [{"context": "gate", "app_id": 15368}],
        }}})
    };
    for (enabled, level, expected) in
        [(true, "everyone", vec![]), (true, "off", vec![""]), (false, "everyone", vec![""])]
    {
        let (found, _) = observe_by(&[], vec![review.clone()], classic(enabled, level));
        let expected: Vec<String> =
            expected.iter().map(|_| "problem not-required:.github/workflows/gate.yml:9".to_owned()).collect();
        assert_eq!(found, expected, "{enabled} {level}");
    }
}

#[test]
fn unreadable_workflow_or_rules_are_no_pass() {
    let (found, outcome) = observe(&[(GATE, "jobs:\n", "jobs: [\n")], &["gate"], true);
    assert_eq!(found[0], "unseen workflow-unread:.github/workflows/gate.yml:1", "{}", outcome.text());
    let called = [
        (GATE, "acme/qa-skill@", "acme/other@"),
        (GATE, "jobs:\n", "jobs:\n  away:\n    uses: acme/ci/.github/workflows/gate.yml@v1\n"),
    ];
    assert_eq!(observe(&called, &["gate"], true).0, ["unseen called-workflow:.github/workflows/gate.yml:10"]);
    let repo = published(&Files::from_texts(&FILES));
    let text = doctor(&repo).run().expect(3).text();
    assert!(text.contains("unseen   branch-rules: "), "{text}");
    let api = Server::start(|_| Response::new(403, "{\"message\": \"Resource not accessible\"}"));
    let outcome = doctor(&repo).env("GITHUB_API_URL", api.url()).env("GITHUB_TOKEN", "canary-4711").run();
    assert!(outcome.expect(3).text().contains("answered 403"));
}

/// Returns the text for files in a repository, without any variable of GitHub, and its exit code.
fn described(files: &[(&str, &str)], origin: Option<&str>) -> (String, i32) {
    let repo = published(&Files::from_texts(files));
    if let Some(origin) = origin {
        git2::Repository::open(repo.path()).unwrap().remote("origin", origin).unwrap();
    }
    let outcome = qa_skill(["doctor", "--repository", "--base", "main"]).within(&repo.path()).run();
    (outcome.text(), outcome.exit)
}

#[test]
fn repositories_of_other_forges_are_checked_by_their_pipeline_and_settings_stay_unseen() {
    let gitlab = "\
qa-skill:
  rules:
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
  script: [qa-skill run --base origin/main --head HEAD]
";
    let owners = ("CODEOWNERS", "* @acme/security/team\n");
    let (text, exit) = described(&[(".gitlab-ci.yml", gitlab), owners], None);
    assert!(text.contains("  unseen   forge-settings: settings of GitLab are not read"), "{text}");
    assert!(text.contains("`Pipelines must succeed`") && !text.contains("problem "), "{text}");
    assert!(!text.contains("GITHUB_TOKEN") && exit == 3, "{exit}: {text}");
    let failing = format!("{gitlab}  allow_failure: true\n");
    let (text, exit) = described(&[(".gitlab-ci.yml", &failing), ("a.yml", "a: 1\n")], None);
    assert!(text.contains("  problem  failure-ignored: .gitlab-ci.yml:5: "), "{text}");
    assert!(
        text.contains(".qa-skill/waivers.toml`, `CODEOWNERS`, `.gitlab-ci.yml` have no code owner"),
        "{text}"
    );
    assert_eq!(exit, 1);
    for (file, origin, forge) in [
        ("bitbucket-pipelines.yml", None, "Bitbucket"),
        ("azure-pipelines.yml", None, "Azure Repos"),
        ("a.txt", Some("git@ssh.dev.azure.com:v3/acme/widget/widget"), "Azure Repos"),
        ("a.txt", Some("https://gitlab.example.com/acme/widget.git"), "GitLab"),
    ] {
        let (text, exit) = described(&[(file, "a: 1\n")], origin);
        assert!(text.contains(&format!("settings of {forge} are not read")), "{file}: {text}");
        assert!(text.contains("  problem  not-used: ") && exit == 1, "{file}: {text}");
    }
    // What is mirrored is of GitHub where the origin is there.
    let (text, _) = described(&[(".gitlab-ci.yml", gitlab)], Some("git@github.com:acme/widget.git"));
    assert!(text.contains("no workflow runs the action on pull requests"), "{text}");
    assert!(text.contains("could not be read: not set: GITHUB_TOKEN\n"), "{text}");
    let (text, _) = described(&[("a.txt", "a\n")], None);
    assert!(text.contains("not set: GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_API_URL\n"), "{text}");
}
