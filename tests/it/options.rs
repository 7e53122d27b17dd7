//! Options of the command line: each changes what its command judges, stores or prints.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::consistency::World;
use crate::support::answers::{CHAT, MESSAGES};
use crate::support::reviews::{self, findings};
use crate::support::{Files, Outcome, Program, Repo, RunDir, Server, conflict, qa_skill, runs_in};

/// A change that adds a conflict, on a branch with a commit more on each side.
fn repository() -> Repo {
    let repo = Repo::new();
    let base = Files::from_texts(&[("a.py", "a = 1\n"), ("b.toml", "b = 1\n")]);
    let (first, second) =
        repo.change(&base, &base.clone().with("a.py", "a = 2\n").with("b.toml", conflict()));
    let more = repo.commit(repo.tree(&base.with("a.py", "a = 3\n")), &[first]);
    repo.reference("refs/heads/other", more);
    repo.reference("refs/heads/topic", second);
    repo
}

fn words<'a>(command: &'a str, repo: &Repo, options: &'a [&str]) -> Program {
    let program = qa_skill([command, "--repo"]).arg(repo.path());
    options.iter().fold(program, |program, option| program.arg(option))
}

/// Judges the change by `run`, or in one shard that `aggregate` joins.
fn judge(command: &str, repo: &Repo, out: &str, planning: &[&str], more: &[&str]) -> Outcome {
    let root = |name: &str| repo.beside(name).display().to_string();
    let mut options = planning.to_vec();
    let parts = root(&format!("{out}-parts"));
    if command == "aggregate" {
        std::fs::remove_dir_all(&parts).ok();
        let part = [planning, &["--shard", "1/1", "--out", &parts]].concat();
        words("run", repo, &part).run().expect(0);
        options.extend(["--parts", &parts]);
    }
    let out = root(out);
    options.extend(["--out", &out]);
    options.extend(more);
    words(command, repo, &options).env("OPENAI_API_KEY", reviews::KEY).run()
}

#[test]
fn options_of_a_change_choose_what_is_judged_and_how() {
    let repo = repository();
    let (main, other) = (repo.tip("main").to_string(), repo.tip("other").to_string());
    let sides = ["--base", "main", "--head", "topic"];
    let input = "input.normalized.json";
    let cases: [(&[&str], &str, &str, Value); 7] = [
        (&[], "change-set.json", "/baseSha", json!(main)),
        (&["--base", "other"], "change-set.json", "/baseSha", json!(other)),
        (&["--head", "other"], "change-set.json", "/headSha", json!(other)),
        (&["--mode", "best_effort"], input, "/runMode", json!("best_effort")),
        (&["--preset", "advisory"], "final-verdict.json", "/conclusion", json!("pass")),
        (&["--lens", "secret-token"], input, "/requestedLensIds", json!(["secret-token"])),
        (&["--jobs", "2"], input, "/maxConcurrency", json!(2)),
    ];
    for command in ["run", "aggregate"] {
        for (number, (option, file, pointer, value)) in cases.iter().enumerate() {
            let named = option.first().copied().unwrap_or_default();
            let rest = sides.chunks(2).filter(|pair| pair[0] != named).flatten().copied();
            let planning: Vec<&str> = rest.chain(option.iter().copied()).collect();
            let out = format!("{command}-{number}");
            judge(command, &repo, &out, &planning, &[]);
            let stored = RunDir::only(&repo.beside(&out)).json(file);
            assert_eq!(stored.pointer(pointer), Some(value), "{command} {option:?}");
            // Without the option it is something else.
            let usual = RunDir::only(&repo.beside(&format!("{command}-0"))).json(file);
            assert_eq!(usual.pointer(pointer) == Some(value), option.is_empty(), "{command} {option:?}");
        }
    }
}

#[test]
fn options_of_a_verdict_choose_what_is_kept_and_printed() {
    let repo = repository();
    let sides = ["--base", "main", "--head", "topic"];
    for command in ["run", "aggregate"] {
        let judge = |more: &[&str]| judge(command, &repo, command, &sides, more);
        let usual = judge(&[]);
        assert!(usual.text().starts_with("FAIL") && usual.stderr.is_empty(), "{}", usual.stderr);
        assert_eq!(judge(&["--format", "json"]).json()["finalVerdict"]["status"], "FAIL");
        assert!(judge(&["--color", "always"]).text().contains('\u{1b}'));
        assert!(!judge(&["--verbose"]).stderr.is_empty());
        let root = repo.beside(command);
        assert_eq!(runs_in(&root).len(), 1);
        judge(&["--refresh"]);
        assert_eq!(runs_in(&root).len(), 2);
        assert!(!root.join("runs/delta.json").exists());
        let head = repo.tip("topic");
        let next = repo.commit(repo.tree_at_tip("topic"), &[head]);
        repo.reference("refs/heads/topic", next);
        judge(&["--since", root.to_str().unwrap()]);
        assert!(root.join("runs/delta.json").exists(), "{command}");
        repo.reference("refs/heads/topic", head);
    }
}

#[test]
fn options_about_models_choose_whether_one_is_asked_and_who_pays() {
    for command in ["run", "aggregate"] {
        for (options, requests) in
            [(&[][..], 1), (&["--no-model"], 0), (&["--replies", "replay"], 0), (&["--pull-request", "7"], 1)]
        {
            let server = Server::start(|_| findings(CHAT, &[]));
            let budget = "budget.max-pull-request-cost-micro-usd = 100000000\n";
            let policy = format!("{budget}{}", reviews::reviewing(CHAT, &server.url(), ""));
            let repo = reviews::repository(&policy, &[("app.py", reviews::FAULT)]);
            judge(command, &repo, "out", &["--base", "main", "--head", "topic"], options);
            assert_eq!(server.requests().len(), requests, "{command} {options:?}");
            let replies = std::fs::read_dir(repo.beside("out/replies")).into_iter().flatten();
            let mut names = replies.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let is_paid = names.any(|name| name.starts_with("7-") && name.ends_with(".spent.json"));
            assert_eq!(is_paid, options.contains(&"--pull-request"), "{command} {options:?}");
        }
    }
}

#[test]
fn options_of_a_plan_are_those_of_the_run_that_follows() {
    let repo = repository();
    let sides = ["--base", "main", "--head", "topic"];
    for options in [
        &["--base", "other"][..],
        &["--head", "other"],
        &["--mode", "best_effort"],
        &["--preset", "advisory"],
        &["--lens", "secret-token"],
    ] {
        let rest = sides.chunks(2).filter(|pair| pair[0] != options[0]).flatten().copied();
        let all: Vec<&str> = rest.chain(options.iter().copied()).collect();
        let plan = words("plan", &repo, &all).run().expect(0).text();
        judge("run", &repo, options[0], &all, &[]);
        let run = RunDir::only(&repo.beside(options[0]));
        assert!(plan.contains(run.0.file_name().unwrap().to_str().unwrap()), "{options:?}: {plan}");
        assert_ne!(plan, words("plan", &repo, &sides).run().expect(0).text(), "{options:?}");
    }
}

#[test]
fn options_of_other_commands_about_a_policy_change_what_is_shown() {
    let repo = repository();
    let check = |options: &[&str]| words("policy-check", &repo, options).run().expect(0).text();
    for options in [["--base", "other"], ["--mode", "best_effort"], ["--preset", "advisory"]] {
        let with_base = [&["--base", "main"][..], &options].concat();
        let options = if options[0] == "--base" { &options[..] } else { &with_base };
        assert_ne!(check(options), check(&["--base", "main"]), "{options:?}");
    }
    let calibrate = |options: &[&str]| words("calibrate", &repo, options).run().expect(0).text();
    assert_ne!(calibrate(&["--head", "topic"]), calibrate(&["--head", "topic", "--preset", "advisory"]));
    let file = repo.beside("model.toml");
    let model = |surface: &str| crate::support::answers::policy(surface, "http://127.0.0.1:9", "");
    let other = model(MESSAGES).replace("models.review", "models.other");
    std::fs::write(&file, format!("{}{other}", model(CHAT))).unwrap();
    let doctor = |model: &[&str]| {
        let program = qa_skill(["doctor", "--dry-run", "--file"]).arg(&file);
        model.iter().fold(program, |program, name| program.arg(name)).run().expect(0).text()
    };
    let [claude, gpt] = ["claude-opus-5-5", "gpt-4.1-2025-04-14"];
    assert!(doctor(&[]).contains(claude) && doctor(&[]).contains(gpt), "{}", doctor(&[]));
    assert!(!doctor(&["review"]).contains(claude) && doctor(&["review"]).contains(gpt));
    let out = |name: &str| repo.beside(name).display().to_string();
    // Half of the history is for the test of conventions, and the other half for mining them.
    for tree in ["main", "main", "main"] {
        let later = repo.commit(repo.tree_at_tip(tree), &[repo.tip("topic")]);
        repo.reference("refs/heads/topic", later);
    }
    for (history, changes) in [("1", 1), ("400", 2)] {
        let options = ["--base", "topic", "--history", history, "--out", &out(history)];
        words("consistency-init", &repo, &options).run().expect(0);
        let drafts = std::fs::read_dir(repo.beside(history)).unwrap().map(|entry| entry.unwrap().path());
        let draft = { drafts }.find(|path| path.extension().is_some_and(|ending| ending == "json")).unwrap();
        let draft: Value = serde_json::from_slice(&std::fs::read(draft).unwrap()).unwrap();
        assert_eq!(draft["changes"], changes, "{draft}");
    }
}

/// A command that shows its progress and has workers, and the repository to run it in.
struct LongCommand<'a> {
    repo: &'a Repo,
    words: String,
    /// Microseconds that each opening of a file takes longer, so that there is time for progress.
    delay: u32,
}

#[test]
fn more_jobs_are_more_threads_and_quiet_is_no_progress() {
    if !crate::faults::can_trace() {
        return;
    }
    let held = World::held(&[("src/app/item_1.py", "def read_item():\n    return 1\n")]).repo;
    let out = held.beside("out").display().to_string();
    let part = ["--base", "main", "--head", "topic", "--shard", "1/1", "--out", &out];
    words("run", &held, &part).run().expect(0);
    let wide = repository_of(40);
    let commands = [
        (&wide, 10_000, format!("run --base main --head topic --refresh --out {out}")),
        (&wide, 10_000, "plan --base main --head topic".to_owned()),
        (&wide, 5_000, "calibrate --head topic".to_owned()),
        (&wide, 5_000, format!("upgrade --head topic --from {}", env!("CARGO_BIN_EXE_qa-skill"))),
        (&wide, 5_000, format!("init --dry-run --head topic --uses acme/qa-skill@{}", "1".repeat(40))),
        (
            &held,
            10_000,
            format!("aggregate --base main --head topic --refresh --parts {out}/parts --out {out}"),
        ),
        (&held, 8_000, format!("consistency-init --base main --out {out}")),
        (&held, 5_000, "consistency-check --base main".to_owned()),
    ];
    for (repo, delay, words) in commands {
        let command = LongCommand { repo, words, delay };
        let counted = ["1", "8"].map(|jobs| command.threads(jobs));
        assert!(counted[0] < counted[1], "{}: {counted:?}", command.words);
        // A plan has no progress to hide.
        if !command.words.starts_with("plan") {
            let [draws, draws_quietly] = command.draws();
            assert!(draws && !draws_quietly, "{}", command.words);
        }
    }
}

impl LongCommand<'_> {
    fn strace(&self, options: &[&str], more: &str) -> Vec<String> {
        let mut line = vec!["strace".to_owned()];
        // A filter stops processes at the traced calls alone, and not at all of them.
        let tracing = ["-f", "--seccomp-bpf", "-qq"];
        line.extend(tracing.iter().chain(options).map(|word| (*word).to_owned()));
        line.push(env!("CARGO_BIN_EXE_qa-skill").to_owned());
        line.extend(format!("{}{more}", self.words).split(' ').map(str::to_owned));
        line
    }

    /// Number of threads that are started with so many jobs.
    fn threads(&self, jobs: &str) -> usize {
        let log = self.repo.beside("strace.log").display().to_string();
        let line = self.strace(&["-e", "trace=clone3", "-o", &log], &format!(" --jobs {jobs}"));
        let ran = Command::new(&line[0])
            .args(&line[1..])
            .current_dir(self.repo.path())
            .stdin(Stdio::null())
            .output();
        assert!(ran.unwrap().status.code().is_some_and(|exit| exit < 2), "{}", self.words);
        let log = std::fs::read_to_string(log).unwrap();
        log.lines().filter(|line| line.contains("clone3(") && !line.contains("unfinished")).count()
    }

    /// Returns whether progress is drawn on a terminal, with each opening of a file slowed down: without `--quiet`, and with it.
    /// Both processes wait most of the time, so they run at once.
    fn draws(&self) -> [bool; 2] {
        ["", " --quiet"].map(|more| self.start_on_terminal(more)).map(|child| {
            let output = child.wait_with_output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("\r\u{1b}[2K")
        })
    }

    fn start_on_terminal(&self, more: &str) -> Child {
        let inject = format!("inject=openat:delay_enter={}", self.delay);
        let options = ["-e", "trace=openat", "-e", &inject, "-o", "/dev/null"];
        let line = self.strace(&options, more).join(" ");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(self.repo.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }
}

/// A change of so many files, on top of a few others.
fn repository_of(files: usize) -> Repo {
    let side = |value: usize| {
        (0..files).fold(Files::new(), |all, number| {
            all.with(format!("src/{number}.py"), format!("value = {}\n", number * value))
        })
    };
    let repo = Repo::new();
    let commits = (1..6).fold(Vec::new(), |mut commits, value| {
        let parents: Vec<git2::Oid> = commits.last().copied().into_iter().collect();
        commits.push(repo.commit(repo.tree(&side(value)), &parents));
        commits
    });
    repo.reference("refs/heads/main", commits[3]);
    repo.reference("refs/heads/topic", commits[4]);
    repo
}
