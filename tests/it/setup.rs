//! The setup action's steps, with a server on loopback in place of the release's: what it cannot verify is never on the PATH.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::server::Spoilt;
use crate::support::{Outcome, Response, Server, sha256, temp};

const NAME: &str = "qa-skill-x86_64-unknown-linux-musl.tar.gz";

/// A runner that has the action, and a directory for what its steps leave.
struct Runner {
    home: tempfile::TempDir,
    archive: Vec<u8>,
}

impl Runner {
    /// Returns a runner with the action of a commit of `main`, which has no release.
    fn new() -> Self {
        let mut runner = Self { home: temp(), archive: Vec::new() };
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("setup/setup.sh");
        runner.write("action/setup/setup.sh", &std::fs::read_to_string(ours).unwrap());
        for folder in ["src", "crates", "schemas", "skill", "docs", "tests/corpus"] {
            runner.write(&format!("action/{folder}/file"), "text\n");
        }
        runner.write("action/Cargo.toml", "");
        runner.write("action/Cargo.lock", "");
        runner.write("temp/.keep", "");
        runner.archive = runner.pack("qa-skill 1.2.3");
        runner
    }

    /// Makes the action that of a release whose archives are below an address.
    fn release_at(&self, address: &str) {
        let (other, digest) = ("0".repeat(64), sha256(&self.archive));
        let text = format!("{address}/v1.2.3\n{other}  qa-skill-other.tar.gz\n{digest}  {NAME}\n");
        self.write("action/setup/release.txt", &text);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the bytes of an archive whose program answers with a line.
    fn pack(&self, answer: &str) -> Vec<u8> {
        let folder = NAME.trim_end_matches(".tar.gz");
        let script = format!(
            "mkdir -p pack/{folder} && cd pack && printf '#!/bin/sh\\necho \"{answer}\"\\n' > {folder}/qa-skill \
             && chmod +x {folder}/qa-skill && tar -czf ../archive.tar.gz {folder}"
        );
        let status =
            Command::new("bash").args(["-ec", &script]).current_dir(self.home.path()).status().unwrap();
        assert!(status.success());
        std::fs::read(self.path("archive.tar.gz")).unwrap()
    }

    /// Puts a program before those of the machine. Another process writes it, as in the tests of releases.
    fn stand_in(&self, name: &str, script: &str) {
        self.write("script", &format!("#!/bin/sh\n{script}\n"));
        let install = format!("install -D -m 0755 script bin/{name}");
        assert!(
            Command::new("bash")
                .args(["-ec", &install])
                .current_dir(self.home.path())
                .status()
                .unwrap()
                .success()
        );
    }

    /// Runs the steps of the action as action.yml has them, with variables in addition to those of the runner.
    fn set_up(&self, variables: &[(&str, &str)]) -> Outcome {
        for file in ["output", "github-path"] {
            self.write(file, "");
        }
        let steps = "step() { bash \"$GITHUB_ACTION_PATH/setup.sh\" \"$1\"; }\n\
                     step fetch\nif grep -q '^build-key=.' \"$GITHUB_OUTPUT\"; then step build; fi\nstep finish";
        let mut command = Command::new("bash");
        command
            .args(["-euc", steps])
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap()))
            .env("GITHUB_ACTION_PATH", self.path("action/setup"))
            .env("GITHUB_OUTPUT", self.path("output"))
            .env("GITHUB_PATH", self.path("github-path"))
            .env("RUNNER_TEMP", self.path("temp"))
            .env("RUNNER_TOOL_CACHE", self.path("tools"))
            .envs([("RUNNER_OS", "Linux"), ("RUNNER_ARCH", "X64"), ("QA_SKILL_SETUP_RETRIES", "0")])
            .envs(variables.iter().copied());
        Outcome::from_output(&command.output().unwrap())
    }

    /// Runs the steps, which succeed, and returns where the binary is from.
    #[track_caller]
    fn source(&self, variables: &[(&str, &str)]) -> String {
        self.set_up(variables).expect(0);
        let outputs = self.read("output");
        let output =
            |name: &str| outputs.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        assert_eq!(output("version="), "1.2.3");
        let folder = self.read("github-path").trim().to_owned();
        assert_eq!(output("path="), format!("{folder}/qa-skill"));
        let answer = Command::new(output("path=")).output().unwrap().stdout;
        assert_eq!(String::from_utf8(answer).unwrap(), "qa-skill 1.2.3\n");
        output("source=")
    }

    /// Runs the steps, which are refused for a reason, and put nothing on the PATH.
    #[track_caller]
    fn refuses(&self, variables: &[(&str, &str)], reasons: &[&str]) {
        let outcome = self.set_up(variables).expect(1);
        for reason in reasons {
            assert!(outcome.stderr.contains(reason), "{reason}: {}", outcome.stderr);
        }
        assert_eq!(self.read("github-path"), "", "nothing is on the PATH");
    }

    fn cached(&self) -> PathBuf {
        self.path("tools/qa-skill/1.2.3").join(NAME)
    }
}

/// Serves one archive to everybody who asks for it by its name.
fn serve(archive: Vec<u8>) -> Server {
    Server::start(move |request| match request.path().ends_with(NAME) {
        true => Response::new(200, archive.clone()),
        false => Response::new(404, ""),
    })
}

/// Returns a runner and the server of its release.
fn released() -> (Runner, Server) {
    let runner = Runner::new();
    let server = serve(runner.archive.clone());
    runner.release_at(&server.url());
    (runner, server)
}

#[test]
fn archive_is_downloaded_once_and_kept() {
    let (runner, server) = released();
    assert_eq!(runner.source(&[]), "release");
    assert_eq!(runner.source(&[]), "tool-cache");
    let asked: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(asked, [format!("/v1.2.3/{NAME}")]);
    // On a machine without a tool cache each job downloads it.
    assert_eq!(runner.source(&[("RUNNER_TOOL_CACHE", "")]), "release");
}

#[test]
fn archive_with_another_digest_is_refused() {
    let (runner, _server) = released();
    let other = serve(runner.pack("qa-skill 1.2.3 of somebody else"));
    let url = other.url();
    runner.refuses(
        &[("INPUT_DOWNLOAD_URL", url.as_str())],
        &["is not the archive of this release", "Nothing of it was used", "`build: always`"],
    );
    assert!(!runner.cached().exists());
    assert!(!runner.path("temp/qa-skill-setup/bin").exists(), "nothing is unpacked");
}

#[test]
fn download_that_ends_early_is_refused() {
    let (runner, _server) = released();
    let archive = runner.archive.clone();
    let cut = Server::start(move |_| Response::new(200, archive.clone()).spoilt(Spoilt::Truncated));
    let url = cut.url();
    runner.refuses(&[("INPUT_DOWNLOAD_URL", url.as_str())], &["could not be downloaded whole", "Ways out"]);
    // Also where the server says that what it sent is all.
    let (runner, _server) = released();
    let half = serve(runner.archive[..runner.archive.len() / 2].to_vec());
    let url = half.url();
    runner.refuses(&[("INPUT_DOWNLOAD_URL", url.as_str())], &["is not the archive of this release"]);
    assert!(!runner.cached().exists());
}

#[test]
fn cached_archive_that_was_changed_is_downloaded_again() {
    let (runner, server) = released();
    assert_eq!(runner.source(&[]), "release");
    std::fs::write(runner.cached(), runner.pack("qa-skill 1.2.3 of somebody else")).unwrap();
    assert_eq!(runner.source(&[]), "release");
    assert_eq!(server.requests().len(), 2);
    // Without the server there is no other origin.
    std::fs::write(runner.cached(), "no archive").unwrap();
    drop(server);
    runner.refuses(&[], &["could not be downloaded whole", "`download-url`", "`build: always`"]);
}

#[test]
fn address_without_a_server_and_address_that_is_none_have_a_way_out() {
    let runner = Runner::new();
    runner.release_at("http://127.0.0.1:1");
    runner.refuses(&[], &["could not be downloaded whole", "run the job again", "`build: always`"]);
    runner.refuses(&[("INPUT_DOWNLOAD_URL", "ftp://mirror.example")], &["begins with https", "Way out"]);
    runner.refuses(&[("INPUT_DOWNLOAD_URL", "http://mirror.example")], &["begins with https", "Way out"]);
    runner.refuses(&[("RUNNER_ARCH", "ARM")], &["there is no binary for Linux on ARM", "Way out"]);
    runner.refuses(
        &[("RUNNER_OS", "macOS")],
        &["has no digest of qa-skill-x86_64-apple-darwin.tar.gz", "Way out"],
    );
    runner.refuses(&[("INPUT_BUILD", "sometimes")], &["`build` is sometimes"]);
    let (runner, _server) = released();
    runner.refuses(&[("INPUT_PROVENANCE", "perhaps")], &["`provenance` is perhaps"]);
}

#[test]
fn mirror_serves_the_same_archive() {
    let (runner, server) = released();
    let mirror = serve(runner.archive.clone());
    let url = format!("{}/mirrored", mirror.url());
    assert_eq!(runner.source(&[("INPUT_DOWNLOAD_URL", url.as_str())]), "release");
    assert_eq!(mirror.requests()[0].target, format!("/mirrored/{NAME}"));
    assert!(server.requests().is_empty());
}

#[test]
fn commit_without_a_release_is_compiled() {
    let runner = Runner::new();
    runner.stand_in("cargo", "exit 1");
    runner.refuses(&[], &["cargo could not compile qa-skill", "pin the commit of a release's tag"]);
    runner
        .refuses(&[("INPUT_BUILD", "never")], &["is not of a release", "pin the commit of a release's tag"]);
    let build = "echo \"$*\" > cargo.log\nmkdir -p temp/qa-skill-build/bin\n\
                 printf '#!/bin/sh\\necho qa-skill 1.2.3\\n' > temp/qa-skill-build/bin/qa-skill\n\
                 chmod +x temp/qa-skill-build/bin/qa-skill";
    runner.stand_in("cargo", build);
    assert_eq!(runner.source(&[]), "build");
    assert!(runner.read("cargo.log").starts_with("install --locked --path "), "{}", runner.read("cargo.log"));
    // Another source is another key of the cache, and so is another name of a file.
    let key = |runner: &Runner| runner.read("output").lines().next().unwrap().to_owned();
    let first = key(&runner);
    runner.write("action/src/file", "other text\n");
    runner.source(&[]);
    let second = key(&runner);
    std::fs::rename(runner.path("action/src/file"), runner.path("action/src/name")).unwrap();
    runner.source(&[]);
    assert!(first != second && second != key(&runner), "{first} {second}");
    // An action that is not whole has no key.
    std::fs::remove_file(runner.path("action/Cargo.lock")).unwrap();
    runner.refuses(&[], &["are not whole"]);
}

#[test]
fn release_can_be_compiled_instead() {
    let (runner, server) = released();
    runner.stand_in("cargo", "exit 1");
    runner.refuses(&[("INPUT_BUILD", "always")], &["cargo could not compile qa-skill"]);
    assert!(server.requests().is_empty());
}

#[test]
fn provenance_is_verified_where_gh_is_there_and_a_failure_is_one() {
    let (runner, _server) = released();
    let token = ("GH_TOKEN", "token");
    // No release of github.com: it cannot be verified, and the digest alone counts only where somebody says so.
    runner.stand_in("gh", "exit 0");
    runner.refuses(&[token], &["is no release of github.com", "`provenance: off`"]);
    assert_eq!(runner.source(&[token, ("INPUT_PROVENANCE", "off")]), "release");

    let runner = Runner::new();
    let mirror = serve(runner.archive.clone());
    runner.release_at("https://github.com/Owner/qa-skill/releases/download");
    let url = mirror.url();
    let mirrored = ("INPUT_DOWNLOAD_URL", url.as_str());
    runner.stand_in("gh", "exit 1");
    runner.refuses(&[token, mirrored], &["the provenance of the archive could not be verified"]);
    assert!(!runner.cached().exists());
    runner.stand_in("gh", "echo \"$*\" > gh.log");
    assert_eq!(runner.source(&[token, mirrored]), "release");
    let asked = runner.read("gh.log");
    for part in
        [NAME, "--repo Owner/qa-skill", "--signer-workflow Owner/qa-skill/.github/workflows/release.yml"]
    {
        assert!(asked.contains(part), "{asked}");
    }
    // The cached archive is that one to the byte; `required` asks again all the same.
    runner.stand_in("gh", "exit 1");
    assert_eq!(runner.source(&[token]), "tool-cache");
    runner.refuses(&[token, ("INPUT_PROVENANCE", "required")], &["could not be verified"]);
}

#[test]
fn program_of_another_version_is_refused() {
    let mut runner = Runner::new();
    runner.archive = runner.pack("qa-skill 1.2.2");
    let server = serve(runner.archive.clone());
    runner.release_at(&server.url());
    runner.refuses(&[], &["says that it is qa-skill 1.2.2, not qa-skill 1.2.3"]);
}

#[test]
fn main_names_no_release_and_the_action_runs_the_steps_that_are_tested() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("setup");
    let action = std::fs::read_to_string(ours.join("action.yml")).unwrap();
    let steps: Vec<&str> = action.lines().filter(|line| line.contains("setup.sh")).map(str::trim).collect();
    let expected = ["fetch", "build", "finish"]
        .map(|step| format!("run: 'bash \"$GITHUB_ACTION_PATH/setup.sh\" {step}'"));
    assert_eq!(steps, expected);
    let page = std::fs::read_to_string(ours.parent().unwrap().join("docs/getting-started.md")).unwrap();
    for input in ["download-url", "provenance", "build", "cache-build", "token"] {
        assert!(action.contains(&format!("\n  {input}:\n")), "{input}");
        assert!(page.contains(&format!("| `{input}` |")), "docs/getting-started.md: {input}");
    }
    // Only the commit of a release's tag has it; these tests run there too.
    if let Ok(release) = std::fs::read_to_string(ours.join("release.txt")) {
        assert_eq!(release.lines().count(), 7, "{release}");
    }
}
