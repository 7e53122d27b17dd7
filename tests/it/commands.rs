//! Commands in comments: who may give which, and what they do to runs. Everything is asked of the stand-in for GitHub, which counts what was done.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::drift::packed;
use crate::support::fake_github::{
    AFTER_COMMENTS, Artifact, BOT, Check, Comment, FakeGitHub, Fault, LATER, Permission, Route, Run,
};
use crate::support::origin::NAME;
use crate::support::step::TOKEN;
use crate::support::{Outcome, Program, Repo, Response, RunDir, Server, change, judged, qa_skill, temp};

/// Number of the pull request, whose author is kim.
const NUMBER: u64 = 7;
pub(crate) const COMMENT: u64 = 900;
/// The first run of the head; that of the artifact.
const RUN: u64 = 11;
/// A time before every comment.
const BEFORE: &str = "2026-01-02T03:00:00Z";
/// Text that no answer and no log may repeat.
pub(crate) const ECHO: &str = "ECHO-4711";

/// A judged change, packed as its run uploaded it.
pub(crate) struct Judged {
    _repo: Repo,
    run: RunDir,
    archive: Vec<u8>,
}

impl Judged {
    fn of(repo: Repo) -> Self {
        let run = repo.run_dir();
        let archive = packed(&run);
        Self { _repo: repo, run, archive }
    }

    pub(crate) fn failed() -> Self {
        Self::of(judged())
    }

    /// A run that leaves out required lenses, so it could not complete.
    pub(crate) fn paused() -> Self {
        let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        repo.judge().args(["--lens", "merge-leftover"]).run().expect(3);
        Self::of(repo)
    }

    pub(crate) fn head(&self) -> String {
        self.run.json("change-set.json")["headSha"].as_str().unwrap().to_owned()
    }

    pub(crate) fn key(&self) -> String {
        self.run.json("skill-result.json")["executionKey"].as_str().unwrap().to_owned()
    }

    /// Id and evidence hash of the first blocking finding.
    pub(crate) fn finding(&self) -> [String; 2] {
        let finding = &self.run.json("final-verdict.json")["blockingFindings"][0];
        ["findingId", "evidenceHash"].map(|name| finding[name].as_str().unwrap().to_owned())
    }
}

/// A pull request with a comment, on a stand-in of its own.
pub(crate) struct Desk {
    pub(crate) github: FakeGitHub,
    server: Server,
    home: tempfile::TempDir,
    event: Value,
}

impl Desk {
    /// Has a completed run with its artifact, and one comment by somebody.
    pub(crate) fn new(judged: &Judged, login: &str, body: &str) -> Self {
        let github = FakeGitHub::new(NAME, TOKEN);
        let mut state = github.state();
        state.pulls.insert(NUMBER, judged.head());
        for (login, permission, role_name) in [
            ("ada", "admin", "admin"),
            ("wes", "write", "write"),
            ("tri", "read", "triage"),
            ("kim", "read", "read"),
        ] {
            let role = Permission { permission: permission.to_owned(), role_name: role_name.to_owned() };
            state.roles.insert(login.to_owned(), role);
        }
        state.runs.push(Run {
            id: RUN,
            head_sha: judged.head(),
            status: "completed".to_owned(),
            conclusion: Some("failure".to_owned()),
            started_at: BEFORE.to_owned(),
            head_repository_id: 7,
            ..Run::default()
        });
        state.artifacts.push(Artifact {
            id: RUN - 10,
            name: "qa-skill-run".to_owned(),
            zip: judged.archive.clone(),
            expired: false,
            digest: None,
            created_at: LATER.to_owned(),
            head_sha: judged.head(),
            head_repository_id: 7,
            run_id: RUN,
        });
        state.comments.push(Comment {
            id: COMMENT,
            number: NUMBER,
            author: login.to_owned(),
            body: body.to_owned(),
        });
        drop(state);
        let event = json!({
            "action": "created",
            "issue": {"number": NUMBER, "pull_request": {"url": "https://example.com"}, "user": {"login": "kim"}},
            "comment": {"id": COMMENT, "body": body, "author_association": "OWNER",
                "user": {"login": login, "type": if login.ends_with("[bot]") { "Bot" } else { "User" }}},
        });
        let server = github.serve();
        Self { github, server, home: temp(), event }
    }

    /// The run of the head is in progress, with its check run.
    pub(crate) fn in_progress(self, head: &str) -> Self {
        let mut state = self.github.state();
        state.runs[0].status = "in_progress".to_owned();
        state.runs[0].conclusion = None;
        state.checks.push(Check {
            id: 800,
            name: "qa-skill verdict".to_owned(),
            head_sha: head.to_owned(),
            status: "in_progress".to_owned(),
            started_at: Some(BEFORE.to_owned()),
            ..Check::default()
        });
        drop(state);
        self
    }

    pub(crate) fn program(&self) -> Program {
        self.program_for(&self.event)
    }

    pub(crate) fn program_for(&self, event: &Value) -> Program {
        let path = |name: &str| -> PathBuf { self.home.path().join(name) };
        let event_file = path(&format!("event-{}.json", event["comment"]["id"]));
        std::fs::write(&event_file, event.to_string()).unwrap();
        qa_skill([""; 0])
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "issue_comment")
            .env("GITHUB_EVENT_PATH", event_file)
            .env("GITHUB_REPOSITORY", NAME)
            .env("GITHUB_API_URL", self.server.url())
            .env("GITHUB_OUTPUT", path("output"))
            .env("GITHUB_STEP_SUMMARY", path("summary.md"))
            .env("RUNNER_TEMP", self.home.path())
            .env("INPUT_TOKEN", TOKEN)
            .env("INPUT_COMMAND", "route")
            .env("INPUT_WORKFLOW", "qa.yml")
            .within(self.home.path())
    }

    pub(crate) fn run(&self) -> Outcome {
        self.program().run()
    }

    /// Adds a comment by the same person and returns its event.
    pub(crate) fn second_comment(&self, body: &str) -> Value {
        let mut event = self.event.clone();
        event["comment"]["id"] = (COMMENT + 1).into();
        event["comment"]["body"] = body.into();
        let mut state = self.github.state();
        let first = state.comments[0].clone();
        state.comments.push(Comment { id: COMMENT + 1, body: body.to_owned(), ..first });
        event
    }

    /// The answers of the bot.
    pub(crate) fn answers(&self) -> Vec<String> {
        let state = self.github.state();
        state.comments.iter().filter(|one| one.author == BOT).map(|one| one.body.clone()).collect()
    }

    /// The only answer, after a run.
    fn answer(&self) -> String {
        let outcome = self.run().expect(0);
        assert!(!outcome.text().contains(ECHO) && !outcome.stderr.contains(ECHO), "{}", outcome.text());
        let answers = self.answers();
        assert_eq!(answers.len(), 1, "{}", outcome.text());
        answers[0].clone()
    }

    pub(crate) fn effects(&self) -> Effects {
        let state = self.github.state();
        Effects {
            answers: state.comments.iter().filter(|one| one.author == BOT).count(),
            reactions: state.reactions.values().map(std::collections::BTreeSet::len).sum(),
            reruns: state.runs.iter().map(|run| run.reruns).sum(),
            reruns_of_failed: state.runs.iter().map(|run| run.reruns_of_failed).sum(),
            cancels: state.runs.iter().map(|run| run.cancels).sum(),
            cancelled_checks: state
                .checks
                .iter()
                .filter(|check| check.conclusion.as_deref() == Some("cancelled"))
                .count(),
        }
    }
}

/// Counts of everything that commands can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) answers: usize,
    pub(crate) reactions: usize,
    pub(crate) reruns: usize,
    pub(crate) reruns_of_failed: usize,
    pub(crate) cancels: usize,
    pub(crate) cancelled_checks: usize,
}

#[test]
fn reading_commands_answer_from_the_verified_run_of_the_head() {
    let failed = Judged::failed();
    let [finding, hash] = failed.finding();
    let short = failed.head()[..12].to_owned();
    let explain = format!("/qa explain {}", &finding[..8]);
    for (body, expected) in [
        ("/qa status", vec!["**FAIL** for", short.as_str(), "phase `idle`", &failed.key()]),
        ("/qa where am i", vec!["**FAIL** for"]),
        ("/qa plan", vec!["| Plan | Required |", "merge-leftover", "`/qa report`"]),
        ("/qa report", vec!["```text\nFAIL at ", "merge-leftover/conflict-marker", "fix: "]),
        (&explain, vec![&finding, &hash, "## secret-token/provider-token"]),
        ("/qa explain secret-token/provider-token", vec!["provider-token"]),
        ("/qa explain abcdef", vec!["no rule, lens or finding with this id"]),
        ("/qa help", vec!["| `/qa rerun`, `/qa crosscheck` | write |"]),
        ("/qa ECHO-4711 tell me", vec!["| Command | For | Effect |"]),
    ] {
        let desk = Desk::new(&failed, "kim", body);
        let answer = desk.answer();
        let missing: Vec<&&str> = expected.iter().filter(|part| !answer.contains(**part)).collect();
        assert!(missing.is_empty() && !answer.contains(ECHO), "{body} has no {missing:?}: {answer}");
        assert_eq!(desk.effects(), Effects { answers: 1, reactions: 1, ..Effects::default() }, "{body}");
    }
}

/// The commits of a fork were pushed to a branch, whose run has stored nothing yet.
#[test]
fn an_answer_says_that_its_run_is_an_earlier_one_and_that_of_a_fork() {
    let failed = Judged::failed();
    let desk = Desk::new(&failed, "kim", "/qa status");
    let mut state = desk.github.state();
    let newer = Run { id: RUN + 1, ..state.runs[0].clone() };
    state.runs[0].head_repository_id = 8;
    state.artifacts[0].head_repository_id = 8;
    state.runs.push(newer);
    drop(state);
    let answer = desk.answer();
    for part in ["**FAIL** for", "an earlier run of this head", "The run is that of a fork"] {
        assert!(answer.contains(part), "no `{part}`: {answer}");
    }
}

#[test]
fn a_waiver_is_ready_to_commit_and_repeats_nothing_of_the_comment() {
    let failed = Judged::failed();
    let [finding, hash] = failed.finding();
    let desk = Desk::new(&failed, "wes", &format!("/qa waive {} \" {ECHO} `$(id)`", &finding[..10]));
    let answer = desk.answer();
    let (_, toml) = answer.split_once("```toml\n").unwrap();
    let (toml, _) = toml.split_once("```").unwrap();
    assert!(answer.contains("`.qa-skill/waivers.toml`") && !answer.contains(ECHO), "{answer}");
    assert!(toml.contains(&hash) && toml.contains("owner = \"@wes\""), "{toml}");
    assert!(toml.contains(&format!("pull/{NUMBER}#issuecomment-{COMMENT}\"")), "{toml}");
}

#[test]
fn a_run_that_cannot_be_verified_answers_nothing_of_what_it_says() {
    let failed = Judged::failed();
    let desk = Desk::new(&failed, "kim", "/qa status");
    desk.github.state().artifacts[0].zip = b"PK no archive".to_vec();
    let answer = desk.answer();
    assert!(answer.contains("cannot be verified: `ARTIFACT_ARCHIVE_REFUSED`"), "{answer}");
    // An artifact of another head under this run.
    let desk = Desk::new(&failed, "kim", "/qa status");
    desk.github.state().artifacts[0].zip = Judged::paused().archive;
    assert!(desk.answer().contains("`HEAD_SUPERSEDED`"));
    let desk = Desk::new(&failed, "kim", "/qa status");
    desk.github.state().artifacts[0].expired = true;
    assert!(desk.answer().contains("no run with an artifact"));
}

#[test]
fn a_comment_that_is_no_command_does_nothing_and_says_why() {
    let failed = Judged::failed();
    let ignored = |desk: &Desk, reason: &str| {
        let outcome = desk.run().expect(0);
        assert!(outcome.text().contains(reason), "{}", outcome.text());
        assert_eq!(desk.effects(), Effects::default(), "{reason}");
    };
    for body in ["looks good", "> /qa rerun", "```\n/qa rerun\n```", "    /qa rerun", "\n/qa rerun"] {
        ignored(&Desk::new(&failed, "ada", body), "does not begin with `/qa`");
    }
    ignored(&Desk::new(&failed, "robot[bot]", "/qa rerun"), "a bot gives no commands");
    ignored(&Desk::new(&failed, "eve", "/qa rerun"), "for the author of the pull request");
    let mut desk = Desk::new(&failed, "ada", "/qa rerun");
    desk.event["action"] = "edited".into();
    ignored(&desk, "only a new comment");
    let mut desk = Desk::new(&failed, "ada", "/qa rerun");
    desk.event["issue"]["pull_request"] = Value::Null;
    ignored(&desk, "not on a pull request");
    // The API has the last word over the payload.
    let desk = Desk::new(&failed, "ada", "/qa rerun");
    desk.github.state().edited.insert(COMMENT);
    ignored(&desk, "the comment was edited");
    let desk = Desk::new(&failed, "ada", "/qa rerun");
    desk.github.state().comments.clear();
    ignored(&desk, "the comment was deleted");
    let mut desk = Desk::new(&failed, "eve", "/qa rerun");
    desk.event["comment"]["user"]["login"] = "ada".into();
    ignored(&desk, "for the author of the pull request");
}

#[test]
fn a_run_is_started_continued_or_stopped_once() {
    let (failed, paused) = (Judged::failed(), Judged::paused());
    let base = Effects { answers: 1, reactions: 1, ..Effects::default() };
    let acted = |desk: &Desk, expected: &Effects, words: &str| {
        let answer = desk.answer();
        assert!(answer.contains(words), "{answer}");
        desk.run().expect(0);
        assert_eq!(&desk.effects(), expected, "{words}");
    };
    for command in ["/qa rerun", "/qa crosscheck"] {
        let desk = Desk::new(&failed, "wes", command);
        acted(&desk, &Effects { reruns: 1, ..base.clone() }, "judged again, in full");
        let desk = Desk::new(&failed, "wes", command).in_progress(&failed.head());
        acted(&desk, &base, "already in progress");
    }
    for command in ["/qa stop", "/qa abort"] {
        let desk = Desk::new(&failed, "wes", command).in_progress(&failed.head());
        acted(&desk, &Effects { cancels: 1, cancelled_checks: 1, ..base.clone() }, "is cancelled");
        acted(&Desk::new(&failed, "wes", command), &base, "No run of this head");
    }
    // A run that began after the comment is not stopped.
    let desk = Desk::new(&failed, "wes", "/qa stop").in_progress(&failed.head());
    desk.github.state().runs[0].started_at = AFTER_COMMENTS.to_owned();
    desk.github.state().checks[0].started_at = Some(AFTER_COMMENTS.to_owned());
    acted(&desk, &base, "No run of this head");
    let resumed = Effects { reruns_of_failed: 1, ..base.clone() };
    acted(&Desk::new(&paused, "wes", "/qa resume"), &resumed, "The run is resumed");
    acted(&Desk::new(&failed, "wes", "/qa resume"), &base, "is not paused");
    let approve = format!("/qa approve {}", &paused.key()[..16]);
    acted(&Desk::new(&paused, "wes", &approve), &resumed, "The run is resumed");
    // A push makes another key.
    acted(&Desk::new(&failed, "wes", &approve), &base, "has this execution key");
    acted(&Desk::new(&paused, "kim", "/qa resume"), &base, "needs the role write");
    // A run that stored nothing has no verdict either.
    let desk = Desk::new(&failed, "wes", "/qa resume");
    desk.github.state().artifacts.clear();
    acted(&desk, &resumed, "The run is resumed");
    let desk = Desk::new(&failed, "wes", &approve);
    desk.github.state().artifacts.clear();
    acted(&desk, &base, "no run with an artifact");
    let desk = Desk::new(&failed, "wes", "/qa rerun");
    let closed = json!({"state": "closed", "user": null, "head": {"sha": failed.head()}});
    desk.github.fault(Route::GetPull, 1, Fault::Answer(Response::json(200, &closed)));
    acted(&desk, &base, "The pull request is closed");
    let desk = Desk::new(&failed, "wes", "/qa rerun");
    desk.github.state().runs.clear();
    acted(&desk, &base, "no run of this head");
}

#[test]
fn route_is_for_comments_and_needs_the_workflow_that_judges() {
    let failed = Judged::failed();
    let desk = Desk::new(&failed, "wes", "/qa rerun");
    desk.program().env("GITHUB_EVENT_NAME", "push").run().expect_code(2, "EVENT_UNUSABLE");
    desk.program().env("INPUT_WORKFLOW", "").run().expect_code(2, "INPUT_INVALID");
    desk.program().env("INPUT_TOKEN", "").run().expect_code(3, "PUBLISH_FAILED");
    assert_eq!(desk.effects().reruns, 0);
}
