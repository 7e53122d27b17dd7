//! `doctor --repository` against repositories that are each wrong in one way.

use serde_json::json;

use crate::support::server::{Response, Server};
use crate::support::{Files, Outcome, Repo, qa_skill};

const WORKFLOW: &str = "\
on:
  pull_request:
  merge_group:
permissions: {}
concurrency:
  group: gate
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

/// A repository whose only commit is that of `main`.
fn published(files: &Files) -> Repo {
    let repo = Repo::new();
    repo.reference("refs/heads/main", repo.commit(repo.tree(files), &[]));
    std::fs::write(repo.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    repo
}

/// Observations of a repository with edits, as `kind id: place`, and the outcome.
fn observe(edits: &[Edit], required: &[&str], queue: bool) -> (Vec<String>, Outcome) {
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
    let checks: Vec<_> = required.iter().map(|context| json!({"context": context})).collect();
    let mut rules =
        vec![json!({"type": "required_status_checks", "parameters": {"required_status_checks": checks}})];
    rules.extend(queue.then(|| json!({"type": "merge_queue", "parameters": {}})));
    let api = Server::start(move |request| match request.path() {
        "/repos/acme/widget" => Response::json(200, &json!({"default_branch": "main"})),
        "/repos/acme/widget/rules/branches/main" => Response::json(200, &json!(rules)),
        "/repos/acme/widget/branches/main" => Response::json(200, &json!({"name": "main"})),
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
    let queue = "cancel-in-progress: ${{ github.event_name == 'pull_request' }}";
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
        ("merge-group-cancelled:.github/workflows/gate.yml:7", &[(GATE, queue, "cancel-in-progress: true")]),
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
        ("unowned:", &[(".github/CODEOWNERS", "/.qa-skill/ @acme/security\n", "")]),
        ("report-not-ignored:", &[(".gitignore", "out/", "!out/")]),
    ];
    for (expected, edits) in cases {
        let (found, outcome) = observe(edits, &["gate"], true);
        assert_eq!(found, [format!("problem {expected}")], "{}", outcome.text());
        outcome.expect(1);
    }
    let draft = "    if: ${{ !github.event.pull_request.draft }}\n    runs-on";
    let (found, _) = observe(&[(GATE, "    runs-on", draft)], &["gate"], true);
    let expected = [
        "problem draft-ready:.github/workflows/gate.yml:2",
        "problem draft-skipped:.github/workflows/gate.yml:10",
    ];
    assert_eq!(found, expected);
    let (found, _) = observe(&[], &["build"], true);
    assert_eq!(found, ["problem not-required:.github/workflows/gate.yml:9"]);
    let (found, _) = observe(&[], &["qa-skill verdict"], true);
    assert_eq!(found, ["problem check-run-required:.github/workflows/gate.yml:9"]);
}

#[test]
fn unreadable_workflow_or_rules_are_no_pass() {
    let (found, outcome) = observe(&[(GATE, "jobs:\n", "jobs: [\n")], &["gate"], true);
    assert_eq!(found[0], "unseen workflow-unread:.github/workflows/gate.yml:1", "{}", outcome.text());
    let mut files = Files::default();
    for (path, text) in FILES {
        files = files.with(path, text);
    }
    let repo = published(&files);
    let text = doctor(&repo).run().expect(3).text();
    assert!(text.contains("unseen   branch-rules: "), "{text}");
    let api = Server::start(|_| Response::new(403, "{\"message\": \"Resource not accessible\"}"));
    let outcome = doctor(&repo).env("GITHUB_API_URL", api.url()).env("GITHUB_TOKEN", "canary-4711").run();
    assert!(outcome.expect(3).text().contains("answered 403"));
}
