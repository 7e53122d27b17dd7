//! The servers of a step, and the nightly steps after it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::fake_github::{Artifact, FakeGitHub};
use super::hold::Holder;
use super::hub::{Hub, runtime_token};
use super::origin::{NAME, Origin, git_answer};
use super::program::in_another_programs_place;
use super::server::{Request, Response, Server};
use super::step::{Step, TOKEN, listing};
use super::{Files, Outcome, Program, sha256};

/// User id of the nightly step.
const ANOTHER_USER: u32 = 1002;

/// It is reached through a proxy, as on runners that have one, so that every host may have the name it has in the world.
pub(crate) struct World {
    pub(crate) origin: Origin,
    pub(crate) github: FakeGitHub,
    pub(crate) hub: Hub,
    pub(crate) proxy: Server,
    /// Counts every request of git, the API and the artifact service.
    pub(crate) holder: Holder,
    /// True if git serves only commits of refs.
    pub(crate) only_refs: Arc<AtomicBool>,
}

impl World {
    pub(crate) fn new(topic: &Files) -> Self {
        let github = FakeGitHub::new(NAME, TOKEN);
        let api = github.clone();
        Self::around(Origin::with_topic(topic), github, move |request| api.answer(request))
    }

    /// With something between the program and the API.
    pub(crate) fn around(
        origin: Origin,
        github: FakeGitHub,
        api: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        let (hub, only_refs) = (Hub::default(), Arc::new(AtomicBool::new(false)));
        let project = origin.repo.path().join(".git");
        let holder = Holder::default();
        let proxy = Server::start({
            let (hub, only_refs, holder) = (hub.clone(), Arc::clone(&only_refs), holder.clone());
            move |request| {
                let path = request.path();
                holder.answer(path, || {
                    if only_refs.load(Ordering::SeqCst) && wants_what_no_ref_has(&project, request) {
                        Response::new(200, "0028ERR upload-pack: not our ref at all\n")
                    } else if path.starts_with(&format!("/{NAME}")) {
                        git_answer(&project, request)
                    } else if path.starts_with("/repos/") || path.starts_with("/blobs/") {
                        api(request)
                    } else {
                        hub.answer(request)
                    }
                })
            }
        });
        Self { origin, github, hub, proxy, holder, only_refs }
    }

    /// A step with everything that a runner sets for it.
    pub(crate) fn program(&self, step: &Step<'_>) -> Program {
        step.program()
            .env("HTTP_PROXY", self.proxy.url())
            .env("http_proxy", self.proxy.url())
            .env("GITHUB_SERVER_URL", "http://github.localhost")
            .env("GITHUB_API_URL", "http://api.github.localhost")
            .env("ACTIONS_RESULTS_URL", "http://results.localhost/")
            .env("ACTIONS_RUNTIME_TOKEN", runtime_token())
            .env("INPUT_UPLOAD-ARTIFACT", "")
            .env("GITHUB_RETENTION_DAYS", "90")
    }

    /// Takes the archive that the last step uploaded. The next step is one of another workflow run.
    pub(crate) fn uploaded(&self) -> Vec<u8> {
        self.hub.0.lock().unwrap().blobs.remove("qa-skill-run").unwrap()
    }

    /// Makes these the repository's artifacts: archive, digest of what was uploaded, age, repository of the head.
    pub(crate) fn keep<'a>(&self, artifacts: impl IntoIterator<Item = Kept<'a>>) {
        let listed = artifacts.into_iter().zip(1..).map(|(kept, id)| Artifact {
            id,
            name: "qa-skill-run".to_owned(),
            zip: kept.archive.to_vec(),
            expired: false,
            digest: Some(format!("sha256:{}", sha256(kept.uploaded))),
            created_at: days_ago(kept.days_ago),
            head_sha: self.origin.head.to_string(),
            head_repository_id: if kept.of_a_fork { 8 } else { 7 },
            run_id: 10 + id,
        });
        self.github.state().artifacts = listed.collect();
    }

    /// A step of a later night: a checkout of another depth at another path, another zone and, where the test may
    /// become one, another user. The clock itself is the machine's: a static binary takes no other from outside. So the
    /// artifacts are dated back instead.
    pub(crate) fn night(&self, depth: u32) -> Outcome {
        self.night_with(depth, &[])
    }

    /// Runs a nightly step like [`World::night`], with further variables.
    pub(crate) fn night_with(&self, depth: u32, variables: &[(&str, &str)]) -> Outcome {
        let house = self.origin.repo.beside("another house");
        fs::remove_dir_all(&house).ok();
        let checkout = self.origin.checkout_at(house.join("a week later"), &self.proxy, depth);
        let mut step = Step::on_pull_request_in(checkout, &self.origin, &self.proxy);
        step.name = "schedule";
        step.git_ref = "refs/heads/main";
        step.event = json!({"schedule": "17 3 * * *"});
        let program = self.program(&step).env("TZ", "Pacific/Auckland").env("INPUT_OPEN-ISSUE", "true");
        let program = variables.iter().fold(program, |program, (name, value)| program.env(name, value));
        let outcome = self.as_another_user(program, &house).run();
        let expected = match outcome.exit {
            0 => "pass",
            4 => "drift",
            _ => "could-not-complete",
        };
        assert_eq!(step.output("verdict"), expected);
        outcome
    }

    fn as_another_user(&self, program: Program, house: &Path) -> Program {
        if in_another_programs_place().is_some() {
            return program.env("WORKSPACE_OWNER", ANOTHER_USER.to_string());
        }
        if fs::metadata(house).unwrap().uid() != 0 {
            eprintln!("not root, so the night is the same user's");
            return program;
        }
        // A checkout of root's may be below a directory that nobody else enters, and the program with it.
        let binary = house.join("qa-skill");
        fs::copy(env!("CARGO_BIN_EXE_qa-skill"), &binary).unwrap();
        fs::set_permissions(self.origin.repo.beside("."), PermissionsExt::from_mode(0o755)).unwrap();
        let mut own = listing(house);
        own.extend([
            house.to_owned(),
            self.origin.repo.beside("temp"),
            self.origin.repo.beside("output"),
            self.origin.repo.beside("summary.md"),
        ]);
        for path in own {
            fs::OpenOptions::new().create(true).append(true).open(&path).ok();
            chown(&path, Some(ANOTHER_USER), Some(ANOTHER_USER)).unwrap();
        }
        program.by_user(ANOTHER_USER, &binary)
    }
}

fn wants_what_no_ref_has(project: &Path, request: &Request) -> bool {
    let git = git2::Repository::open(project).unwrap();
    let tips: Vec<String> = git
        .references()
        .unwrap()
        .filter_map(|reference| Some(reference.unwrap().target()?.to_string()))
        .collect();
    let body = String::from_utf8_lossy(&request.body);
    let wanted: Vec<&str> = body.split("want ").skip(1).filter_map(|rest| rest.get(..40)).collect();
    wanted.iter().any(|id| !tips.iter().any(|tip| tip == id))
}

/// An archive as a listing has it.
pub(crate) struct Kept<'a> {
    pub(crate) archive: &'a [u8],
    /// The archive as it was uploaded.
    pub(crate) uploaded: &'a [u8],
    pub(crate) days_ago: u32,
    pub(crate) of_a_fork: bool,
}

impl<'a> Kept<'a> {
    /// Of this repository, from six days ago.
    pub(crate) fn whole(archive: &'a [u8]) -> Self {
        Self { archive, uploaded: archive, days_ago: 6, of_a_fork: false }
    }
}

fn days_ago(days: u32) -> String {
    let output = std::process::Command::new("date")
        .args(["--utc", "--date", &format!("{days} days ago"), "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
