//! Drives of pull requests: a comment starts one job, whose result another one pushes. GitHub and its git server are stand-ins.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::drives_manual::restart;
use crate::support::fake_github::{
    AFTER_COMMENTS, Artifact, Comment, FakeGitHub, Fault, LATER, Permission, Route, Run,
};
use crate::support::origin::{NAME, Origin};
use crate::support::step::{Step, TOKEN, listing};
use crate::support::world::World;
use crate::support::{Files, Outcome, RunDir, copy_tree, git, qa_skill, repair, sha256, tamper};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{DriveSession, DriveStart};

/// Number of the pull request.
pub(crate) const NUMBER: u64 = 7;
const COMMENT: u64 = 900;
const PRODUCT: &str = "def add(a, b):\n    return a + b\n";
const FAULT: &str =
    "def add(a, b):\n    breakpoint()\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";
pub(crate) const MENDED: &str = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";
pub(crate) const MEND: &str = "sed -i /breakpoint/d src/app.py";
pub(crate) const POLICY: &str = "version = 1\npreset = \"guarded\"\n";

/// A pull request of this repository that a debugger statement blocks.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) checkout: PathBuf,
}

impl Stage {
    pub(crate) fn new(policy: &str, agent: &str) -> Self {
        let start = Files::from_texts(&[(".qa-skill/policy.toml", policy), ("src/app.py", PRODUCT)]);
        let topic = start
            .clone()
            .with("src/app.py", FAULT)
            .with("docs/a.md", "one\n")
            .with("docs/b.md", "Some words.\n");
        let origin = Origin::from_start(&start, &topic);
        origin.repo.reference("refs/heads/topic", origin.head);
        git(&origin.repo.path(), &["config", "http.receivepack", "true"]);
        let github = FakeGitHub::new(NAME, TOKEN);
        let mut state = github.state();
        state.pulls.insert(NUMBER, origin.head.to_string());
        let role = Permission { permission: "write".to_owned(), role_name: "write".to_owned() };
        state.roles.insert("wes".to_owned(), role);
        drop(state);
        let api = github.clone();
        let world = World::around(origin, github, move |request| api.answer(request));
        fs::set_permissions(world.origin.repo.beside(""), fs::Permissions::from_mode(0o755)).unwrap();
        let checkout = world.origin.checkout(&world.proxy, 1);
        let path = checkout.join("agent.sh");
        fs::write(&path, format!("#!/bin/bash\n{agent}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { world, checkout }
    }

    /// Runs a step of the drive's workflow, or of that of commands.
    pub(crate) fn step(&self, name: &'static str, event: Value, inputs: &[(&str, &str)]) -> Outcome {
        let mut step = self.plain_step();
        (step.name, step.git_ref, step.event) = (name, "refs/heads/main", event);
        let mut program = self
            .world
            .program(&step)
            .env("GITHUB_RUN_ID", self.run_id().to_string())
            .env("GITHUB_WORKFLOW_REF", format!("{NAME}/.github/workflows/drive.yml@refs/heads/main"));
        for (input, value) in inputs {
            program = program.env(format!("INPUT_{}", input.to_uppercase()), value);
        }
        program.run()
    }

    pub(crate) fn plain_step(&self) -> Step<'_> {
        Step::on_pull_request_in(self.checkout.clone(), &self.world.origin, &self.world.proxy)
    }

    /// Id of the newest run of the drive's workflow.
    fn run_id(&self) -> u64 {
        self.world.github.state().runs.last().map_or(60, |run| run.id)
    }

    /// Somebody comments, and the commands' workflow answers. Returns the answer.
    pub(crate) fn comment(&self, body: &str) -> String {
        let mut state = self.world.github.state();
        let id = COMMENT + state.comments.len() as u64;
        let comment = Comment { id, number: NUMBER, author: "wes".to_owned(), body: body.to_owned() };
        state.comments.push(comment);
        drop(state);
        self.route(id, body).expect(0);
        let state = self.world.github.state();
        state.comments.last().unwrap().body.clone()
    }

    fn route(&self, id: u64, body: &str) -> Outcome {
        let event = json!({
            "action": "created",
            "issue": {"number": NUMBER, "pull_request": {"url": "https://example.com"}, "user": {"login": "kim"}},
            "comment": {"id": id, "body": body, "user": {"login": "wes", "type": "User"}},
        });
        let inputs = [("command", "route"), ("workflow", "qa.yml"), ("drive-workflow", "drive.yml")];
        self.step("issue_comment", event, &inputs)
    }

    /// Somebody starts the drive's workflow by hand.
    pub(crate) fn start_by_hand(&self, title: &str) {
        let mut state = self.world.github.state();
        let run = Run {
            id: 60 + state.runs.len() as u64,
            event: Some("workflow_dispatch"),
            title: Some(title.to_owned()),
            status: "in_progress".to_owned(),
            started_at: AFTER_COMMENTS.to_owned(),
            head_repository_id: 7,
            ..Run::default()
        };
        state.runs.push(run);
    }

    /// The job with the agent.
    pub(crate) fn drive(&self, inputs: &[(&str, &str)]) -> Outcome {
        let own = [("command", "drive"), ("pull-request", "7"), ("agent", "./agent.sh")];
        self.step("workflow_dispatch", json!({}), &[&own, inputs].concat())
    }

    /// Lists what the job with the agent uploaded as the artifact of its workflow run.
    pub(crate) fn store(&self) {
        let archive = self.world.hub.0.lock().unwrap().blobs.remove("qa-skill-drive").unwrap();
        self.store_archive("qa-skill-drive", &archive);
    }

    pub(crate) fn store_archive(&self, name: &str, archive: &[u8]) {
        let run_id = self.run_id();
        let mut state = self.world.github.state();
        let id = 1 + state.artifacts.len() as u64;
        state.artifacts.push(Artifact {
            id,
            name: name.to_owned(),
            zip: archive.to_vec(),
            expired: false,
            digest: Some(format!("sha256:{}", sha256(archive))),
            created_at: LATER.to_owned(),
            head_sha: self.world.origin.base.to_string(),
            head_repository_id: 7,
            run_id,
        });
    }

    /// The job that may write, in a checkout of its own.
    pub(crate) fn propose(&self) -> Outcome {
        self.propose_goal("")
    }

    fn propose_goal(&self, goal: &str) -> Outcome {
        self.propose_with(&[("goal", goal)])
    }

    pub(crate) fn propose_with(&self, inputs: &[(&str, &str)]) -> Outcome {
        fs::remove_dir_all(self.checkout.join(".qa-skill")).ok();
        let own = [("command", "propose"), ("pull-request", "7"), ("agent", "./agent.sh")];
        self.step("workflow_dispatch", json!({}), &[&own, inputs].concat())
    }

    /// Branches with results, with their commits.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let git = &self.world.origin.repo.git;
        let found = git.references_glob("refs/heads/qa/*").unwrap();
        let found = found.map(|reference| {
            let reference = reference.unwrap();
            (reference.shorthand().unwrap().to_owned(), reference.target().unwrap().to_string())
        });
        found.collect()
    }

    /// The text of a file of a commit.
    pub(crate) fn text(&self, commit: &str, path: &str) -> String {
        let git = &self.world.origin.repo.git;
        let object = git.revparse_single(&format!("{commit}:{path}")).unwrap();
        String::from_utf8(object.peel_to_blob().unwrap().content().to_vec()).unwrap()
    }

    /// Drives by the workflow, and stores what it uploads.
    fn driven(policy: &str) -> Self {
        let stage = Self::new(policy, MEND);
        stage.start_by_hand("drive #7 at");
        stage.drive(&[]).expect(0);
        stage.store();
        stage
    }

    /// Has the gate judge a pushed head like anyone's, against the base branch of the pull request that was driven.
    pub(crate) fn judge_result(&self, branch: &str) {
        let repo = &self.world.origin.repo;
        let result = repo.tip(branch);
        repo.reference("refs/pull/7/head", result);
        let mut step = self.plain_step();
        step.name = "pull_request_target";
        step.git_ref = "refs/heads/main";
        step.event["pull_request"]["head"]["sha"] = result.to_string().into();
        let outcome = self.world.program(&step).run().expect(0);
        assert!(outcome.text().contains("PASS"), "{}", outcome.text());
        let state = self.world.github.state();
        let checks = state.checks.iter().filter(|check| check.name == "qa-skill verdict");
        let checks: Vec<_> = checks.collect();
        let [check] = &checks[..] else { panic!("{checks:?}") };
        assert_eq!((&check.head_sha, check.conclusion.as_deref()), (&result.to_string(), Some("success")));
    }

    fn tip(&self, branch: &str) -> String {
        self.world.origin.repo.tip(branch).to_string()
    }
}

#[test]
fn a_comment_leads_to_a_pull_request_that_passes() {
    let stage = Stage::new(POLICY, MEND);
    let answer = stage.comment("/qa fix");
    assert!(answer.contains("A drive of this head is started."), "{answer}");
    // The job of the commands may be run again, and starts nothing twice.
    stage.route(COMMENT, "/qa fix").expect(0);
    assert_eq!(stage.world.github.state().runs.len(), 1);

    let head = stage.world.origin.head.to_string();
    stage.drive(&[("head", &head)]).expect(0);
    assert_eq!(stage.plain_step().output("verdict"), "pass");
    assert!(Path::new(&stage.plain_step().output("drive-path")).join("drive-session.json").is_file());
    assert_eq!(stage.results(), []);
    stage.store();
    stage.propose().expect(0);
    let results = stage.results();
    let [(branch, commit)] = &results[..] else { panic!("{results:?}") };
    assert_eq!(*branch, format!("qa/fix-7-{}", &commit[..12]));
    let path = stage.world.origin.repo.path();
    git(&path, &["diff", "--exit-code", "--quiet", &format!("{commit}^"), &head]);
    assert_eq!(stage.text(commit, "src/app.py"), MENDED);
    let opened = stage.world.github.state().opened.clone();
    let [pull] = &opened[..] else { panic!("{opened:?}") };
    assert_eq!((&pull.head, pull.base.as_str()), (branch, "topic"));
    let url = stage.plain_step().output("pull-request-url");
    assert!(url.ends_with("/pulls/100/html"), "{url}");
    // Running it again finds everything there.
    stage.propose().expect(0);
    assert_eq!((stage.results(), stage.world.github.state().opened.len()), (results.clone(), 1));

    stage.judge_result(branch);
}

#[test]
fn a_result_goes_to_the_branch_only_where_the_policy_and_the_branch_allow_it() {
    let policy = format!("{POLICY}[drive]\npush = true\n");
    let stage = Stage::driven(&policy);
    stage.propose().expect(0);
    let result = stage.tip("topic");
    assert_eq!((stage.text(&result, "src/app.py"), stage.results()), (MENDED.to_owned(), vec![]));
    assert_eq!(stage.world.github.state().opened, []);
    // Nothing begins on the commit of a drive.
    let mut state = stage.world.github.state();
    state.pulls.insert(NUMBER, result.clone());
    drop(state);
    let repo = &stage.world.origin.repo;
    repo.reference("refs/pull/7/head", repo.tip("topic"));
    let outcome = stage.drive(&[]).expect_code(3, "DRIVE_NOT_ALLOWED");
    assert!(outcome.text().contains("its head is a commit of a drive"), "{}", outcome.text());

    let stage = Stage::driven(&policy);
    stage.world.github.state().protected.insert("topic".to_owned());
    stage.propose().expect(0);
    assert_eq!((stage.tip("topic"), stage.results().len()), (stage.world.origin.head.to_string(), 1));

    let stage = Stage::driven(&policy);
    stage.world.github.state().branches.insert(NUMBER, "main".to_owned());
    stage.propose().expect(0);
    assert_eq!((stage.tip("main"), stage.results().len()), (stage.world.origin.base.to_string(), 1));
}

#[test]
fn no_drive_begins_on_the_code_of_strangers_on_results_or_without_end() {
    let stage = Stage::new(POLICY, MEND);
    let head = stage.world.origin.head.to_string();
    let refused = |inputs: &[(&str, &str)], reason: &str| {
        let outcome = stage.drive(inputs).expect_code(3, "DRIVE_NOT_ALLOWED");
        assert!(outcome.text().contains(reason), "{reason}: {}", outcome.text());
    };
    // A run that does not say what it drives is not counted, and so does not begin.
    refused(&[], "started by hand");
    stage.start_by_hand("drive");
    refused(&[], "started by hand");
    stage.start_by_hand(&format!("drive #7 at {head}"));
    stage.start_by_hand("drive #7 at");
    stage.start_by_hand(&format!("drive #7 at {head}"));
    refused(&[], "attempt 3 for this head, and the policy allows 2");
    for digit in 1..=4 {
        stage.start_by_hand(&format!("drive #7 at {}", digit.to_string().repeat(40)));
    }
    stage.world.github.state().pulls.insert(NUMBER, head.clone());
    let lenient =
        Stage::new(&format!("{POLICY}[drive]\nmax-attempts-per-head = 9\nmax-attempts = 1\n"), MEND);
    lenient.start_by_hand("drive #7 at");
    lenient.start_by_hand("drive #7 at");
    let outcome = lenient.drive(&[]).expect_code(3, "DRIVE_NOT_ALLOWED");
    assert!(outcome.text().contains("attempt 2 for this pull request"), "{}", outcome.text());

    let stage = Stage::new(POLICY, MEND);
    stage.start_by_hand("drive #7 at");
    let other = "a1".repeat(20);
    stage.drive(&[("head", &other)]).expect_code(3, "HEAD_SUPERSEDED");
    stage.drive(&[("head", "topic")]).expect_code(2, "INPUT_INVALID");
    for input in
        [("mode", "best_effort"), ("preset", "advisory"), ("lenses", "secret-token"), ("base", "main")]
    {
        stage.drive(&[input]).expect_code(2, "INPUT_INVALID");
    }
    stage.drive(&[("agent", "")]).expect_code(2, "INPUT_INVALID");
    stage.drive(&[("pull-request", "")]).expect_code(2, "INPUT_INVALID");
    let refused = |reason: &str, answer: &str| {
        for outcome in [stage.drive(&[]), stage.propose()] {
            let outcome = outcome.expect_code(3, "DRIVE_NOT_ALLOWED");
            assert!(outcome.text().contains(reason), "{reason}: {}", outcome.text());
        }
        let told = stage.comment("/qa fix");
        assert!(told.contains(answer), "{answer}: {told}");
    };
    stage.world.github.state().branches.insert(NUMBER, "qa/fix-7-a1".to_owned());
    refused("it is the result of a drive", "no drive begins on one");
    stage.world.github.state().branches.clear();
    stage.world.github.state().forks.insert(NUMBER);
    refused("it is from a fork", "from a fork");
    stage.world.github.state().forks.clear();
    stage.world.github.state().closed.insert(NUMBER);
    refused("it is closed", "is closed");
    stage.world.github.state().closed.clear();
    // Whoever may push a branch could choose the policy.
    stage.world.github.state().bases.insert(NUMBER, "side".to_owned());
    for outcome in [stage.drive(&[]), stage.propose()] {
        let outcome = outcome.expect_code(3, "DRIVE_NOT_ALLOWED");
        assert!(
            outcome.text().contains("neither the default branch nor a protected one"),
            "{}",
            outcome.text()
        );
    }
    assert_eq!(stage.world.github.state().runs.len(), 1, "no comment started a drive");
}

#[test]
fn what_the_job_with_the_agent_left_is_not_believed() {
    let stage = Stage::new(POLICY, MEND);
    stage.start_by_hand("drive #7 at");
    stage.propose().expect_code(3, "ARTIFACT_UNAVAILABLE");
    stage.drive(&[]).expect(0);
    let archive = stage.world.hub.0.lock().unwrap().blobs.remove("qa-skill-drive").unwrap();
    let refused = |archive: &[u8], code: &str, reason: &str| {
        stage.world.github.state().artifacts.clear();
        stage.store_archive("qa-skill-drive", archive);
        let outcome = stage.propose();
        assert!(
            outcome.text().contains(code) && outcome.text().contains(reason),
            "{code}: {}",
            outcome.text()
        );
        assert_ne!(outcome.exit, 0);
        assert_eq!((stage.results(), stage.world.github.state().opened.len()), (vec![], 0), "{reason}");
    };
    refused(b"PK", "ARTIFACT", "");
    let edited = |edit: &dyn Fn(&Path)| {
        let place = tempfile::tempdir().unwrap();
        zip::ZipArchive::new(std::io::Cursor::new(&archive)).unwrap().extract(place.path()).unwrap();
        let session = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
        edit(&session);
        packed(place.path())
    };
    let other_session = edited(&|session| copy_tree(session, &session.with_file_name("other")));
    refused(&other_session, "DRIVE_NOT_PROPOSED", "2 sessions");
    refused(&edited(&|session| fs::remove_dir_all(session).unwrap()), "DRIVE_NOT_PROPOSED", "0 sessions");
    let unbundled = edited(&|session| fs::remove_file(session.join("turn-001.bundle")).unwrap());
    refused(&unbundled, "ARTIFACT_SCHEMA_INVALID", "turn-001.bundle is gone");
    // A recording that says more than the repository has, with every digest repaired, holds offline and not here.
    let forged = edited(&forge_text);
    refused(&forged, "DETERMINISM_DRIFT_DETECTED", "turn 1");
    refused(&edited(&forge_merge), "DETERMINISM_DRIFT_DETECTED", "is about a merge");
    let path = stage.world.origin.repo.path();
    let foreign = edited(&|session| forge_author(session, &path));
    refused(&foreign, "ARTIFACT_SCHEMA_INVALID", "does not have the commit");
    refused(
        &edited(&|session| change(session, |drive| drive.start.repo_id = "acme/other".to_owned())),
        "DRIVE_NOT_PROPOSED",
        "another repository",
    );
    refused(
        &edited(&|session| change(session, |drive| drive.end = None)),
        "DRIVE_NOT_PROPOSED",
        "did not end in a pass",
    );
    // The settings are those of this job, by its inputs and the policy.
    type Edit<'e> = &'e dyn Fn(&mut DriveStart);
    let settings: [(Edit<'_>, &str); 7] = [
        (&|start| start.agent = vec!["./other.sh".to_owned()], "another agent"),
        (&|start| start.agent.push("--unsafe".to_owned()), "another agent"),
        (&|start| start.builtin_fix = true, "another agent"),
        (&|start| start.limits.max_turns -= 1, "other rights"),
        (&|start| start.limits.network = true, "other rights"),
        (&|start| start.goal = Some("Take the file out".to_owned()), "another goal"),
        (&|start| start.engine.push('x'), "another version of the engine"),
    ];
    for (edit, reason) in settings {
        let forged = edited(&|session| change(session, |drive| restart(drive, edit, &|_| ())));
        refused(&forged, "DRIVE_NOT_PROPOSED", reason);
    }
    stage.world.github.state().artifacts.clear();
    stage.store_archive("qa-skill-drive", &archive);
    for (agent, reason) in [("builtin:fix", "another agent"), ("./agent.sh\nbuiltin:fix", "another agent")] {
        let outcome = stage.propose_with(&[("agent", agent)]).expect_code(3, "DRIVE_NOT_PROPOSED");
        assert!(outcome.text().contains(reason), "{agent}: {}", outcome.text());
    }
    stage.propose_with(&[("agent", "")]).expect_code(2, "INPUT_INVALID");
    assert_eq!((stage.results(), stage.world.github.state().opened.len()), (vec![], 0));

    // The pull request and its base are those of now.
    let repo = &stage.world.origin.repo;
    let moved = repo.commit_at(
        repo.tree(&Files::from_texts(&[("a.py", "A = 1\n")])),
        &[stage.world.origin.base],
        1_800_000_000,
    );
    repo.reference("refs/heads/main", moved);
    refused(&archive, "DRIVE_NOT_PROPOSED", "the base branch is now at");
    repo.reference("refs/heads/main", stage.world.origin.base);
    stage.world.github.state().pulls.insert(NUMBER, moved.to_string());
    repo.reference("refs/pull/7/head", moved);
    refused(&archive, "HEAD_SUPERSEDED", "the head of the pull request is now");
    stage.world.github.state().pulls.insert(NUMBER, stage.world.origin.head.to_string());
    repo.reference("refs/pull/7/head", stage.world.origin.head);
    stage.world.github.state().artifacts.clear();
    stage.store_archive("qa-skill-drive", &archive);
    // A branch of that name with something else is not overwritten.
    let session = edited_session(&archive);
    let name = format!("refs/heads/qa/fix-7-{}", &session.turns[0].commit.as_ref().unwrap().as_str()[..12]);
    repo.reference(&name, moved);
    stage.propose().expect_code(3, "HEAD_SUPERSEDED");
    repo.git.find_reference(&name).unwrap().delete().unwrap();
    // An answer that is lost leads to no second pull request.
    stage.world.github.fault(Route::OpenPull, 1, Fault::ActThenAnswer(502));
    stage.propose().expect(0);
    assert_eq!((stage.results().len(), stage.world.github.state().opened.len()), (1, 1));
}

/// Packs the directories below a place, as an upload does.
pub(crate) fn packed(place: &Path) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for path in listing(place).into_iter().filter(|path| path.is_file()) {
        let name = path.strip_prefix(place).unwrap().to_str().unwrap().to_owned();
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(&fs::read(path).unwrap()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn edited_session(archive: &[u8]) -> DriveSession {
    let place = tempfile::tempdir().unwrap();
    zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap().extract(place.path()).unwrap();
    let session = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&fs::read(session.join("drive-session.json")).unwrap()).unwrap()
}

/// Changes a stored session.
pub(crate) fn change(directory: &Path, edit: impl Fn(&mut DriveSession)) {
    let path = directory.join("drive-session.json");
    let mut session: DriveSession = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut session);
    let mut bytes = qa_core::canonical::to_vec(&session).unwrap();
    bytes.push(b'\n');
    fs::write(path, bytes).unwrap();
}

/// Changes the recorded text of the last judged tree, and repairs every digest over it, so that the session holds offline.
fn forge_text(directory: &Path) {
    change(directory, |session| {
        let turn = session.turns.last_mut().unwrap();
        let (mut judged, change) = (turn.judgement.take().unwrap(), turn.agent_change.take().unwrap());
        let run = RunDir(directory.join("runs").join(&judged.run));
        let name = "recordings/00000.json";
        let text = String::from_utf8(run.bytes(name)).unwrap();
        assert!(text.contains("Some words."), "{text}");
        fs::write(run.path(name), text.replace("Some words.", "Some lines.")).unwrap();
        repair(&run, false);
        judged.run_digest = Sha256Hex::parse(run.json("hashes.json")["runDigest"].as_str().unwrap()).unwrap();
        (turn.outcome, turn.digest) = (None, None);
        qa_core::drive::judge_turn(session, judged, change);
    });
    qa_skill(["verify"]).arg(directory).run().expect(0);
}

#[test]
fn a_comment_stops_a_drive_and_starts_no_second_one() {
    let stage = Stage::new(POLICY, MEND);
    assert!(stage.comment("/qa stop").contains("No run of this head"));
    let mut state = stage.world.github.state();
    let head = state.pulls[&NUMBER].clone();
    state.runs.push(Run {
        id: 60,
        event: Some("workflow_dispatch"),
        title: Some(format!("drive #7 at {head}")),
        status: "in_progress".to_owned(),
        started_at: "2026-01-02T03:00:00Z".to_owned(),
        head_repository_id: 7,
        ..Run::default()
    });
    let first = state.runs[0].clone();
    state.runs.push(Run { id: 61, title: Some(format!("drive #8 at {head}")), ..first });
    drop(state);
    assert!(stage.comment("/qa drive Add a flag").contains("in progress"));
    assert!(stage.comment("/qa stop").contains("The drive of this pull request is cancelled."));
    let cancelled: Vec<usize> = stage.world.github.state().runs.iter().map(|run| run.cancels).collect();
    assert_eq!(cancelled, [1, 0]);
    assert!(stage.comment("/qa drive Add a `--json` flag").contains("is started"));
    assert_eq!(stage.world.github.state().goals, ["Add a `--json` flag"]);
}

#[test]
fn a_goal_is_the_title_of_its_pull_request() {
    let stage = Stage::new(POLICY, MEND);
    stage.start_by_hand("drive #7 at");
    let goal = "Take the breakpoint out\nof add";
    stage.drive(&[("goal", goal)]).expect(0);
    stage.store();
    for other in ["", "Something else"] {
        stage.propose_goal(other).expect_code(3, "DRIVE_NOT_PROPOSED");
    }
    stage.propose_goal(goal).expect(0);
    let opened = stage.world.github.state().opened.clone();
    assert_eq!(opened[0].title, "Take the breakpoint out");
}

#[test]
fn a_session_is_read_again_from_the_repository() {
    let stage = Stage::driven(POLICY);
    let session = stage.plain_step().output("drive-path");
    let path = stage.world.origin.repo.path();
    let verify = || qa_skill(["verify"]).arg(&session).arg("--repo").arg(&path);
    let text = verify().run().expect(0).text();
    assert!(text.contains("what they left was read from the bundles and the repository"), "{text}");
    // Commits that are in no repository cannot be read again.
    let elsewhere = crate::support::Repo::new();
    assert_ne!(qa_skill(["verify"]).arg(&session).arg("--repo").arg(elsewhere.path()).run().exit, 0);
    fs::remove_file(Path::new(&session).join("turn-001.bundle")).unwrap();
    verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    qa_skill(["verify"]).arg(&session).run().expect(0);
}

/// Gives the run of the last judged tree a merge, a member that no digest covers.
fn forge_merge(directory: &Path) {
    let path = directory.join("drive-session.json");
    let session: DriveSession = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let run = RunDir(directory.join("runs").join(&session.turns[0].judgement.as_ref().unwrap().run));
    tamper(&run, "input.normalized.json", "/testMergeSha", "a1".repeat(20).into());
    repair(&run, true);
}

/// Puts a commit with the judged tree and somebody's name and message in the place of the drive's.
fn forge_author(directory: &Path, repository: &Path) {
    let bundle = directory.join("turn-001.bundle");
    git(repository, &["fetch", "-q", bundle.to_str().unwrap(), "+qa-skill-drive:refs/heads/forged"]);
    git(repository, &["checkout", "-q", "forged"]);
    git(
        repository,
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.com",
            "commit",
            "-q",
            "--amend",
            "--author",
            "Ada <ada@example.com>",
            "-m",
            "Closes #12",
        ],
    );
    let forged = git2::Repository::open(repository).unwrap().head().unwrap().target().unwrap().to_string();
    git(repository, &["branch", "-q", "-f", "qa-skill-drive", "forged"]);
    git(repository, &["bundle", "create", "-q", bundle.to_str().unwrap(), "qa-skill-drive", "^forged^"]);
    git(repository, &["checkout", "-q", "main"]);
    git(repository, &["branch", "-q", "-D", "forged", "qa-skill-drive"]);
    change(directory, |session| {
        session.turns[0].commit = Some(qa_contracts::ids::CommitId::parse(&forged).unwrap());
    });
}
