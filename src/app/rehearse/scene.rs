//! The origin of a rehearsal: a copy of the repository with two pull requests on its HEAD, one clean and one with a fault.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::app::exit::Failure;
use qa_contracts::codes::Code;
use qa_core::escape::visible;
use qa_core::policy::{Overrides, POLICY_PATH, Policy};

/// Number of the pull request.
pub(super) const NUMBER: u64 = 7;
/// Time of the commits, in the form of git.
const DATE: &str = "1714000000 +0000";
/// The added file.
const FILE: &str = "qa-skill-rehearsal.txt";

/// A pull request.
pub(super) struct Change {
    pub(super) name: &'static str,
    pub(super) head: String,
    /// Commit that merges the head into the base.
    pub(super) merge: String,
}

pub(super) struct Scene {
    pub(super) directory: TempDir,
    /// The bare repository that is served.
    pub(super) project: PathBuf,
    pub(super) base: String,
    pub(super) changes: Vec<Change>,
    /// Root of the repository.
    root: PathBuf,
    /// Directories of tools below the root that no commit has.
    toolchains: Vec<String>,
}

impl Scene {
    /// Copies a repository and commits the changes.
    pub(super) fn prepare(repository: &Path) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("qa-rehearsal-").tempdir();
        let directory = directory.map_err(|error| failure("make a directory", &error))?;
        let project = directory.path().join("origin.git");
        let from = repository.to_string_lossy();
        let root = git(repository, &["rev-parse", "--show-toplevel"], "")?;
        let base = git(repository, &["rev-parse", "--verify", "HEAD^{commit}"], "")?;
        git(directory.path(), &["clone", "-q", "--bare", &root, "origin.git"], "").map_err(|error| {
            Failure {
                hint: format!("{} has to be a checkout with the history of its HEAD", visible(&from)),
                ..error
            }
        })?;
        for setting in [["uploadpack.allowFilter", "true"], ["core.logAllRefUpdates", "false"]] {
            git(&project, &[&["config"], &setting[..]].concat(), "")?;
        }
        git(&project, &["update-ref", "refs/heads/main", &base], "")?;
        git(&project, &["symbolic-ref", "HEAD", "refs/heads/main"], "")?;
        // Put together here, since this file is judged as well.
        let conflict = format!("{} ours\n{}\n{} theirs\n", "<".repeat(7), "=".repeat(7), ">".repeat(7));
        let mut changes = Vec::new();
        for (name, text) in [("clean", "A line for a rehearsal.\n"), ("planted", &*conflict)] {
            changes.push(commit(&project, &base, name, text)?);
        }
        let root = PathBuf::from(root);
        let toolchains = installed_toolchains(&root)?;
        Ok(Self { directory, project, base, changes, root, toolchains })
    }

    /// Makes the checkout of a pull request, as actions/checkout does.
    pub(super) fn check_out(&self, change: &Change, place: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(place).map_err(|error| failure("make a checkout", &error))?;
        let url = format!("file://{}", self.project.display());
        let tracked = format!("refs/remotes/pull/{NUMBER}/merge");
        let refspec = format!("+{}:{tracked}", change.merge);
        git(place, &["init", "-q"], "")?;
        git(place, &["fetch", "-q", "--no-tags", "--depth=1", &url, &refspec], "")?;
        git(place, &["checkout", "-q", "--detach", &tracked], "")?;
        for path in &self.toolchains {
            let (from, to) = (self.root.join(path), place.join(path));
            let words = ["-a", &*from.to_string_lossy(), &*to.to_string_lossy()];
            run("cp", place, &words, "")?;
        }
        Ok(())
    }

    /// Points the refs of the pull request to a change, in the repository that is served.
    pub(super) fn open(&self, project: &Path, change: &Change) -> Result<(), Failure> {
        git(project, &["update-ref", &format!("refs/pull/{NUMBER}/head"), &change.head], "")?;
        git(project, &["update-ref", &format!("refs/pull/{NUMBER}/merge"), &change.merge], "")?;
        Ok(())
    }

    /// Makes a copy of the origin, whose refs no other actor moves.
    pub(super) fn copy_origin(&self, place: &Path) -> Result<(), Failure> {
        let (from, to) = (self.project.display().to_string(), place.display().to_string());
        git(self.directory.path(), &["clone", "-q", "--mirror", &from, &to], "")?;
        git(place, &["config", "uploadpack.allowFilter", "true"], "")?;
        Ok(())
    }
}

/// Returns the toolchains of the policy at HEAD that an earlier step would have installed in the checkout.
fn installed_toolchains(root: &Path) -> Result<Vec<String>, Failure> {
    let text = git(root, &["show", &format!("HEAD:{POLICY_PATH}")], "").ok();
    let policy = Policy::parse(text.as_deref(), &Overrides::default(), &qa_lenses::registry());
    let policy = policy.map_err(|error| Failure::policy(POLICY_PATH, &error))?;
    let paths = policy.execution.toolchains.into_iter().map(|toolchain| toolchain.path);
    Ok(paths.filter(|path| Path::new(path).is_relative() && root.join(path).is_dir()).collect())
}

/// Commits one file on the base, and the merge of that commit.
fn commit(project: &Path, base: &str, name: &'static str, text: &str) -> Result<Change, Failure> {
    let blob = git(project, &["hash-object", "-w", "--stdin"], text)?;
    git(project, &["read-tree", base], "")?;
    git(project, &["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{FILE}")], "")?;
    let tree = git(project, &["write-tree"], "")?;
    let head = git(project, &["commit-tree", &tree, "-p", base, "-m", "Rehearse"], "")?;
    let merge = git(project, &["commit-tree", &tree, "-p", base, "-p", &head, "-m", "Merge"], "")?;
    for (kind, id) in [("head", &head), ("merge", &merge)] {
        git(project, &["update-ref", &format!("refs/rehearsal/{name}/{kind}"), id], "")?;
    }
    Ok(Change { name, head, merge })
}

/// Runs git in a directory and returns its output.
fn git(directory: &Path, arguments: &[&str], input: &str) -> Result<String, Failure> {
    run("git", directory, &[&["-c", "safe.directory=*"], arguments].concat(), input)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a rehearsal makes a repository with the programs of the machine"
)]
fn run(program: &str, directory: &Path, arguments: &[&str], input: &str) -> Result<String, Failure> {
    let what = format!("run {program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_clear();
    command.envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "rehearsal").env(format!("GIT_{name}_DATE"), DATE);
        command.env(format!("GIT_{name}_EMAIL"), "rehearsal@example.com");
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failure(&what, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| failure(&what, &error))?;
    }
    let output = child.wait_with_output().map_err(|error| failure(&what, &error))?;
    if !output.status.success() {
        return Err(failure(&what, &visible(&String::from_utf8_lossy(&output.stderr))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(super) fn failure(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::with_code(Code::ScratchUnavailable, format!("failed to {what}: {error}"))
}
