//! A secret of its own in each field of each input, and none of them in anything that is written, said or sent.

use std::path::Path;

use serde_json::json;

use crate::support::canaries::{Canaries, Recorded};
use crate::support::fake_github::FakeGitHub;
use crate::support::origin::{NAME, Origin};
use crate::support::step::{Step, TOKEN, clean};
use crate::support::{Files, Random, Repo, conflict, formats, qa_skill};

const POLICY: &str = ".qa-skill/policy.toml";
/// Lengths that texts are cut to in messages, in characters.
const LIMITS: [usize; 5] = [60, 80, 100, 200, 300];

/// A head with secrets wherever a head can have them.
fn head(canaries: &mut Canaries, base: &Files) -> Files {
    let mut secret = |place: &str| canaries.hatch(place);
    let key_line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7dQ2xKz9vLr4Yt0S";
    let key = format!("-----BEGIN {0}-----\n{key_line}\n-----END {0}-----\n", "PRIVATE KEY");
    let gitlink = git2::Oid::from_bytes(&[7; 20]).unwrap();
    base.clone()
        .with("src/a.py", format!("NEW = \"{}\"\nkept = 1\n", secret("an added line")))
        .with("src/escaped.py", format!("KEY = \"\\x67{}\"\n", &secret("an escaped line")[1..]))
        .with("tests/key.pem", key)
        .with(format!("named/{}.txt", secret("a file's name")), "x\n")
        .with(format!("renamed/{}.py", secret("a renamed file's name")), "r = 1\ns = 2\nt = 3\n")
        .with(format!("in/{}/a.py", secret("a directory's name")), format!("breakpoint()\n{}", conflict()))
        .with(format!("binary/{}.bin", secret("a binary file's name")), [0, 1, 2, 3].repeat(99))
        .with(".gitmodules", {
            let (name, path) = (secret("a submodule's name"), secret("a submodule's path"));
            let url = format!("https://x:{}@example.com/a", secret("a submodule's address"));
            format!("[submodule \"{name}\"]\n\tpath = sub/{path}\n\turl = {url}\n")
        })
        .with(
            ".github/workflows/ci.yml",
            format!(
                "env:\n  T: {}\n  url: https://user:{}@example.com/\n",
                secret("a workflow"),
                secret("an address")
            ),
        )
        .with("docs/a.md", format!("`{}`\n{}\n", secret("a document"), conflict()))
        .with(
            "src/b.py",
            format!("from pkg.{} import a\nimport {}\n", secret("an import"), secret("a module")),
        )
        .with(".github/CODEOWNERS", format!("* @{}\n", secret("an owner")))
        .with("package.json", format!("{{\"dependencies\": {{\"{}\": \"1\"}}}}\n", secret("a dependency")))
        .with("feature_list.json", format!("[{{\"description\": \"{}\"}}]", secret("a feature")))
        .with(
            POLICY,
            format!(
                "# {}\nmode = \"strict\"\n[lenses.{}]\nenabled = true\n",
                secret("a comment of head's policy"),
                secret("a lens of head's policy")
            ),
        )
        .with(
            ".qa-skill/waivers.toml",
            format!("[[waiver]]\nreason = \"{}\"\nowner = \"{}\"\n", secret("a waiver"), secret("its owner")),
        )
        .mode("120000", format!("link/{}", secret("a link's name")), secret("a link's target"))
        .object("160000", format!("sub/{}", secret("a gitlink's name")), gitlink)
        .without("src/old.py")
}

/// Reports that say secrets in the notations of those who write reports.
fn write_reports(canaries: &mut Canaries, checkout: &Path) {
    let mut secret = |place: &str| canaries.hatch(place);
    let (bold, angle, slash) =
        (secret("a coloured message"), secret("a message of Go"), secret("an escaped message"));
    let message = |line: u64, said: &str| {
        format!(
            "{{\"ruleId\": \"no-undef\", \"severity\": 2, \"message\": \"{said}\", \"line\": {line}, \"column\": 1, \
             \"messageId\": \"undef\", \"endLine\": {line}, \"endColumn\": 2}}"
        )
    };
    let messages = [
        message(1, &format!("\\u001b[31m{bold}\\u001b[0m")),
        message(2, &format!("\\u003c{angle}\\u003e")),
        message(1, &format!("one: \\u0067{}", &slash[1..])),
    ];
    let eslint = format!(
        "[{{\"filePath\": \"/github/workspace/src/a.py\", \"messages\": [{}], \"suppressedMessages\": [], \
         \"errorCount\": 3, \"fatalErrorCount\": 0, \"warningCount\": 0, \"fixableErrorCount\": 0, \
         \"fixableWarningCount\": 0, \"usedDeprecatedRules\": []}}]",
        messages.join(", ")
    );
    let failures = [
        format!("E #x1B[32m{}#x1B[0m", secret("a coloured failure")),
        format!("&lt;{}&gt;", secret("a quoted failure")),
        format!("&#x67;{}", &secret("an escaped failure")[1..]),
    ];
    let cases: String = failures
        .iter()
        .map(|said| format!("<testcase classname=\"a\" name=\"t {said}\" file=\"src/a.py\" time=\"0\"><failure message=\"{said}\">{said}</failure></testcase>"))
        .collect();
    let junit = format!(
        "<?xml version=\"1.0\"?><testsuites tests=\"3\" failures=\"3\"><testsuite name=\"a\" tests=\"3\" failures=\"3\" errors=\"0\" skipped=\"0\">{cases}</testsuite></testsuites>"
    );
    std::fs::create_dir_all(checkout.join("reports")).unwrap();
    std::fs::write(checkout.join("reports/eslint.json"), eslint).unwrap();
    std::fs::write(checkout.join("reports/junit.xml"), junit).unwrap();
}

/// A policy whose gates read those reports.
fn gates(canaries: &mut Canaries) -> String {
    format!(
        "# {}\n[gates.lint]\nreports = [{{ path = \"reports/eslint.json\", tool = \"eslint\" }}]\n[gates.unit_tests]\n\
         reports = [{{ path = \"reports/junit.xml\", tool = \"pytest\" }}]\n",
        canaries.hatch("a comment of the base's policy")
    )
}

#[test]
fn no_secret_of_any_input_stands_in_what_is_written_or_said() {
    let mut canaries = Canaries::default();
    let repo = Repo::new();
    let policy = gates(&mut canaries);
    let base = Files::from_texts(&[(POLICY, policy.as_str()), ("src/old.py", "r = 1\ns = 2\nt = 3\n")])
        .with("src/a.py", format!("OLD = \"{}\"\nkept = 1\n", canaries.hatch("a removed line")))
        .with(format!("old/{}.txt", canaries.hatch("a deleted file's name")), "x\n");
    let head = head(&mut canaries, &base).without(&format!("old/ghp_{}.txt", canaries.0[2].body));
    let (_, head) = repo.change(&base, &head);
    write_reports(&mut canaries, &repo.path());
    let branch = format!("topic-{}", canaries.hatch("a branch's name"));
    repo.reference(&format!("refs/heads/{branch}"), head);

    let mut said = Recorded::default();
    for format in formats() {
        let judged =
            repo.judge().without("topic").without("--head").args(["--head", &branch, "--format", format]);
        said.streams(format, &judged.run().expect(1));
    }
    let run = repo.run_dir();
    said.run(&run);
    said.streams("verify", &run.verify().arg("--repo").arg(repo.path()).run().expect(0));
    for finding in run.json("final-verdict.json")["blockingFindings"].as_array().unwrap() {
        let id = &finding["findingId"].as_str().unwrap()[..12];
        let explained = qa_skill(["explain", id, "--out"]).arg(repo.beside("out")).run().expect(0);
        said.streams("explain", &explained);
    }
    canaries.assert_no_leak(&said);

    // What was to be judged was judged: each name and each report is told of, masked.
    let findings = run.findings();
    let names = findings.iter().filter(|finding| finding.starts_with("secret-token/token-in-name ")).count();
    assert_eq!(names, 6, "{findings:#?}");
    for rule in ["lint/", "unit_tests/", "secret-token/private-key"] {
        assert!(findings.iter().any(|finding| finding.contains(rule)), "{rule}: {findings:#?}");
    }
}

/// A pull request with secrets wherever it, the reports beside it and the inputs of the action can have them, and all
/// that comes of it. A fork's goes to workflow commands.
fn publish(mut canaries: Canaries, topic: &Files, fork: bool) {
    let origin = Origin::with_topic(topic);
    let base = clean().with(POLICY, gates(&mut canaries));
    let base = origin.repo.commit(origin.repo.tree(&base), &[origin.base]);
    let [base_name, head_name] =
        ["INPUT_BASE", "INPUT_HEAD"].map(|input| format!("topic-{}", canaries.hatch(input)));
    origin.repo.reference(&format!("refs/heads/{base_name}"), base);
    origin.repo.reference(&format!("refs/heads/{head_name}"), origin.head);
    let git = origin.serve();
    let github = FakeGitHub::new(NAME, TOKEN);
    github.state().pulls.insert(7, origin.head.to_string());
    let api = github.serve();
    let mut step = Step::on_pull_request(&origin, &git, 2);
    write_reports(&mut canaries, &step.checkout);
    let pull = &mut step.event["pull_request"];
    pull["title"] = canaries.hatch("a title").into();
    pull["body"] = canaries.hatch("a description").into();
    pull["head"]["ref"] = canaries.hatch("a branch").into();
    pull["user"] = json!({"login": canaries.hatch("an author")});
    if fork {
        pull["head"]["repo"] = json!(null);
        github.read_only();
    }
    let program = step
        .program()
        .env("GITHUB_API_URL", github.api_url(&api))
        .env("INPUT_COMMENT", "true")
        .env("INPUT_UPLOAD-SARIF", "true")
        .env("INPUT_BASE", &base_name)
        .env("INPUT_HEAD", &head_name)
        .env("INPUT_CHECK-NAME", format!("gate {}", canaries.hatch("INPUT_CHECK-NAME")))
        .env("INPUT_COMMENT-AUTHOR", canaries.hatch("INPUT_COMMENT-AUTHOR"))
        .env("INPUT_ARTIFACT-NAME", canaries.hatch("INPUT_ARTIFACT-NAME"))
        .env("INPUT_PARTS", canaries.hatch("INPUT_PARTS"))
        .env("CODE_QA_CADENCE", canaries.hatch("CODE_QA_CADENCE"))
        .env("CODE_QA_REVIEW_COOLDOWN_TURNS", canaries.hatch("CODE_QA_REVIEW_COOLDOWN_TURNS"))
        .env("GITHUB_HEAD_REF", canaries.hatch("GITHUB_HEAD_REF"));
    let outcome = program.run().expect(1);
    let mut said = Recorded::default();
    said.streams("the step", &outcome);
    said.bytes("the job summary", std::fs::read(origin.repo.beside("summary.md")).unwrap());
    said.bytes("the outputs", std::fs::read(origin.repo.beside("output")).unwrap());
    said.run(&step.run_dir());
    for request in api.requests() {
        said.bytes(request.target.clone(), request.target.clone());
        said.bytes(request.target, request.body);
    }
    let commands = outcome.text();
    let state = github.state();
    if fork {
        assert!(state.checks.is_empty() && commands.contains("::error file="), "{commands}");
    } else {
        assert_eq!((state.checks.len(), state.comments.len(), state.sarifs.len()), (1, 1, 1));
        said.bytes("SARIF", state.sarifs[0].document.to_string());
    }
    for gate in ["lint/error", "unit_tests/failure"] {
        let notes = if fork { commands.clone() } else { json!(state.checks[0].annotations).to_string() };
        assert!(notes.contains(gate), "{notes}");
    }
    canaries.assert_no_leak(&said);
}

#[test]
fn no_secret_of_a_pull_request_reaches_github() {
    let mut canaries = Canaries::default();
    let topic = head(&mut canaries, &clean());
    publish(canaries, &topic, false);
}

#[test]
fn no_secret_of_a_fork_reaches_the_log() {
    let mut canaries = Canaries::default();
    let topic = head(&mut canaries, &clean());
    publish(canaries, &topic, true);
    // A log has ten annotations of a kind, and with fewer findings of lenses there is room for those of gates.
    let mut canaries = Canaries::default();
    let named = format!("src/{}.py", canaries.hatch("a file's name"));
    let topic = clean().with(named, format!("A = \"{}\"\n", canaries.hatch("an added line")));
    publish(canaries, &topic, true);
}

#[test]
fn an_error_that_quotes_what_it_refuses_quotes_no_secret() {
    let mut canaries = Canaries::default();
    let changed = ("a.py", "a = 1\n");
    let mut said = Recorded::default();
    let policies = [
        ("a lens's name", "[lenses.SECRET]\nenabled = true\n"),
        ("a setting", "SECRET = 1\n"),
        ("a value", "repo-id = \"SECRET\"\n"),
        ("a pattern that would be accepted", "[lenses.trojan-source]\nignore = [\"SECRET/**\"]\n"),
        ("a line that cannot be parsed", "preset = SECRET\n"),
        ("an address", "[models.a]\naddress = \"https://a:SECRET@example.com/\"\n"),
        ("a lens's quoted name", "[lenses.\"SECRET\"]\nenabled = true\n"),
        ("a gate's tool", "[gates.lint]\nreports = [{ path = \"a\", tool = \"SECRET\" }]\n"),
        ("a report's path", "[gates.lint]\nreports = [{ path = \"/SECRET\", tool = \"ruff\" }]\n"),
    ];
    let cut = LIMITS.iter().flat_map(|limit| policies.iter().map(move |policy| (policy, Some(*limit))));
    for (&(place, policy), limit) in policies.iter().map(|policy| (policy, None)).chain(cut) {
        let secret = match limit {
            Some(limit) => canaries.hatch_across(place, limit),
            None => canaries.hatch(place),
        };
        let policy = policy.replace("SECRET", &secret);
        let repo = Repo::new();
        let base = Files::from_texts(&[(POLICY, policy.as_str()), changed]);
        repo.change(&base, &base.clone().with("a.py", "a = 2\n"));
        let outcome = repo.judge().run().expect_code(2, "POLICY_INVALID");
        said.streams(place, &outcome);
        let file = repo.beside("policy.toml");
        std::fs::write(&file, policy).unwrap();
        said.streams(
            &format!("policy-check of {place}"),
            &qa_skill(["policy-check", "--file"]).arg(&file).run(),
        );
    }
    let repo = crate::support::change(&[changed], &[("a.py", "a = 2\n")]);
    let path = repo.path().display().to_string();
    let honest =
        [("--repo", path.as_str()), ("--base", "main"), ("--head", "topic"), ("--lens", "secret-token")];
    for (option, _) in honest {
        for limit in [None].into_iter().chain(LIMITS.map(Some)) {
            let secret = match limit {
                Some(limit) => canaries.hatch_across(option, limit),
                None => canaries.hatch(option),
            };
            let program = honest.into_iter().fold(qa_skill(["run"]), |program, (name, value)| {
                program.arg(name).arg(if name == option { &secret } else { value })
            });
            let outcome = program.run();
            let is_masked = outcome.stderr.contains("****") || limit.is_some();
            assert!(outcome.exit > 1 && is_masked, "{option}: {}", outcome.stderr);
            said.streams(option, &outcome);
        }
    }
    for (place, arguments) in [
        ("a finding", ["explain", "SECRET"]),
        ("a schema", ["schema", "SECRET"]),
        ("a directory", ["verify", "SECRET"]),
        ("a format", ["run", "--format=SECRET"]),
        ("a mode", ["run", "--mode=SECRET"]),
        ("a command", ["SECRET", "--help"]),
        ("an option", ["run", "--SECRET"]),
    ] {
        for limit in [None].into_iter().chain(LIMITS.map(Some)) {
            let secret = match limit {
                Some(limit) => canaries.hatch_across(place, limit),
                None => canaries.hatch(place),
            };
            let outcome = qa_skill(arguments.map(|argument| argument.replace("SECRET", &secret))).run();
            assert!(outcome.exit > 1, "{place}: {}", outcome.stderr);
            said.streams(place, &outcome);
        }
    }
    canaries.assert_no_leak(&said);
}

/// Each input that a step refuses, with a secret whole and across each limit of what is quoted.
#[test]
fn an_input_that_is_refused_is_quoted_without_its_secret() {
    let origin = Origin::with_topic(&clean());
    let git = origin.serve();
    let mut canaries = Canaries::default();
    let mut said = Recorded::default();
    let mut step = Step::on_pull_request(&origin, &git, 2);
    let names = ["BASE", "HEAD", "MODE", "JOBS", "COMMENT", "SHARD", "LENSES", "WORKING-DIRECTORY"];
    for name in names.iter().copied().chain(["an event", "a branch of an event"]) {
        for limit in [None].into_iter().chain(LIMITS.map(Some)) {
            let secret = match limit {
                Some(limit) => canaries.hatch_across(name, limit),
                None => canaries.hatch(name),
            };
            let honest = step.event.clone();
            let mut program = step.program();
            match name {
                "an event" => program = program.env("GITHUB_EVENT_NAME", &secret),
                "a branch of an event" => {
                    step.event["pull_request"]["head"]["sha"] = secret.as_str().into();
                    program = step.program();
                }
                input => program = program.env(format!("INPUT_{input}"), &secret),
            }
            let outcome = program.run();
            assert!(outcome.exit > 1, "{name}: {}{}", outcome.text(), outcome.stderr);
            said.streams(name, &outcome);
            let summary = origin.repo.beside("summary.md");
            said.bytes(format!("the summary of {name}"), std::fs::read(&summary).unwrap());
            std::fs::remove_file(summary).unwrap();
            step.event = honest;
        }
    }
    canaries.assert_no_leak(&said);
}

#[test]
fn two_names_that_differ_in_a_secret_alone_are_refused() {
    let mut canaries = Canaries::default();
    let (one, other) = (canaries.hatch("one"), canaries.hatch("other"));
    let repo = Repo::new();
    let base = Files::from_texts(&[("a.py", "a = 1\n")]);
    repo.change(&base, &base.clone().with(format!("{one}.txt"), "x\n").with(format!("{other}.txt"), "y\n"));
    let outcome = repo.judge().run().expect_code(3, "PATH_REFUSED");
    assert!(
        !outcome.stderr.contains(&one[4..]) && !outcome.stderr.contains(&other[4..]),
        "{}",
        outcome.stderr
    );
}

/// Judges a head beside one with markers of a key around it, which must not say less.
#[test]
fn the_markers_of_a_key_hide_nothing_but_a_key() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let marker = |word: &str| format!("# -----{word} {0}-----\n", "PRIVATE KEY");
    let workflow = "on: issues\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n";
    let digest = format!("      # {body}\n");
    let injection = "      - run: echo \"${{ github.event.issue.title }}\"\n";
    let payloads = [
        (".github/workflows/a.yml", format!("{workflow}{digest}"), injection.to_owned()),
        ("docs/a.md", format!("{body}\n"), "word \u{202e}drow\n".to_owned()),
        ("docs/b.md", format!("{body}\n"), conflict()),
        (
            "tests/a.test.js",
            format!("// {body}\n"),
            "it.only('a', () => { expect(1).toBe(1); });\n".to_owned(),
        ),
    ];
    for (path, before, payload) in payloads {
        for escaped in [false, true] {
            let spelt = |marker: String| if escaped { marker.replace("# -", "# \\x2d") } else { marker };
            let repo = Repo::new();
            let policy = (POLICY, "preset = \"guarded\"\n");
            let base = Files::from_texts(&[policy, (path, before.as_str())]);
            let plain = repo.tree(&base.clone().with(path, format!("{before}{payload}")));
            let hidden = format!("{}{before}{payload}{}", spelt(marker("BEGIN")), spelt(marker("END")));
            let hidden = repo.tree(&base.clone().with(path, hidden));
            let base = repo.commit(repo.tree(&base), &[]);
            let [plain, hidden] = [plain, hidden].map(|tree| {
                let head = repo.commit(tree, &[base]);
                let out = repo.beside(&head.to_string());
                let ids = [base.to_string(), head.to_string()];
                let program = qa_skill(["run", "--base", &ids[0], "--head", &ids[1], "--repo"]);
                program.arg(repo.path()).arg("--out").arg(&out).run();
                let findings = crate::support::RunDir::only(&out).findings();
                let rules = findings
                    .iter()
                    .filter_map(|finding| finding.split_once(' '))
                    .map(|(rule, _)| rule.to_owned());
                rules.collect::<std::collections::BTreeSet<String>>()
            });
            assert!(
                !plain.is_empty() && hidden.is_superset(&plain),
                "{path} {escaped}: {plain:?} {hidden:?}"
            );
        }
    }
}

#[test]
fn a_masked_name_is_still_read_by_its_ending() {
    let mut canaries = Canaries::default();
    let token = canaries.hatch("a name").replace("ghp_", "glpat-");
    for name in [format!("{}.test.js", &token[..26]), format!("{}/a.test.js", &token[..26])] {
        let repo = Repo::new();
        let base = Files::from_texts(&[(POLICY, "preset = \"guarded\"\n")]);
        let test = "it.only('a', () => { expect(1).toBe(1); });\n";
        repo.change(&base, &base.clone().with(format!("tests/{name}"), test));
        repo.judge().run().expect(1);
        let findings = repo.run_dir().findings();
        assert!(findings.iter().any(|finding| finding.contains("focused-test")), "{findings:#?}");
        assert!(findings.iter().any(|finding| finding.contains("token-in-name")), "{findings:#?}");
    }
}

#[test]
fn the_middle_of_a_private_key_is_found_and_masked() {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut random = Random(4711);
    let mut line = || (0..64).map(|_| char::from(letters[random.below(64)])).collect::<String>();
    let [old, new]: [Vec<String>; 2] = std::array::from_fn(|_| (0..20).map(|_| line()).collect());
    let key = |lines: &[String]| {
        let body = lines.join("\n");
        format!("a\n-----BEGIN {0}-----\n{body}\n-----END {0}-----\n", "RSA PRIVATE KEY")
    };
    let rotated: Vec<String> = old[..8].iter().chain(&new[8..12]).chain(&old[12..]).cloned().collect();
    let repo = crate::support::change(&[("src/k.pem", &key(&old))], &[("src/k.pem", &key(&rotated))]);
    let outcome = repo.judge().run().expect(1);
    let run = repo.run_dir();
    assert_eq!(run.findings(), ["secret-token/private-key src/k.pem:11"]);
    let recorded = run.bytes("recordings/00000.json");
    let recorded = String::from_utf8_lossy(&recorded);
    for secret in old.iter().chain(&rotated) {
        assert!(!recorded.contains(secret) && !outcome.text().contains(secret), "{recorded}");
    }
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);

    // Keys of one format begin and end alike, so a new one elsewhere is no old one that moved.
    let other: Vec<String> = [&old[..1], &new[1..19], &old[19..]].concat();
    let repo = crate::support::change(&[("src/k.pem", &key(&old))], &[("src/l.pem", &key(&other))]);
    repo.judge().run().expect(1);
}
