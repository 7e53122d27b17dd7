//! A repository with an origin and a small clean change, and a shell with the built binary on its path.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The checkout these tests were built from.
pub(crate) fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the project.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Runs a script with `set -euo pipefail`, the built binary first on the path and no configuration of git but its own.
pub(crate) fn run_bash(place: &Path, script: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_qa-skill"));
    let folder = binary.parent().expect("a binary is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    #[expect(clippy::disallowed_methods, reason = "a test starts a shell")]
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", script])
        .current_dir(place)
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("QA_SKILL", binary)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "someone")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "someone@example.invalid")))
        .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z")))
        .output()
        .expect("bash can be started")
}

/// A bare origin and a clone of it: `main` is what origin has, `topic` is checked out with one clean commit more.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        let scratch = Self(tempfile::tempdir().expect("a temporary directory can be made"));
        scratch.must(
            r#"
            git init -q --bare -b main origin.git
            git clone -q origin.git checkout 2> clone.log
            cd checkout
            git switch -q -c main
            printf 'def area(width, height):\n    return width * height\n' > shape.py
            printf 'port = 8080\n' > settings.toml
            git add -A
            git commit -q -m 'Add shapes'
            git push -q origin main
            git remote set-head origin main
            git switch -q -c topic
            printf 'def area(width, height):\n    return abs(width * height)\n' > shape.py
            git commit -q -a -m 'Areas are positive'
            "#,
        );
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn checkout(&self) -> PathBuf {
        self.path().join("checkout")
    }

    /// A merge that was never finished, put together here so that this file has none.
    pub(crate) fn conflict() -> String {
        let row = |sign: &str| sign.repeat(7);
        format!("{} main\nport = 1\n{}\nport = 2\n{} topic\n", row("<"), row("="), row(">"))
    }

    /// Commits a file on the head.
    pub(crate) fn commit_on_topic(&self, path: &str, text: &str) {
        self.commit(path, text);
    }

    /// Commits a file on the base, where policy and waivers are read from.
    pub(crate) fn commit_on_base(&self, path: &str, text: &str) {
        self.must("cd checkout; git switch -q main");
        self.commit(path, text);
        self.must(
            "cd checkout; git push -q origin main; git switch -q topic; git merge -q -m 'Merge main' main",
        );
    }

    fn commit(&self, path: &str, text: &str) {
        let full = self.checkout().join(path);
        std::fs::create_dir_all(full.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(full, text).expect("a file can be written");
        self.must(&format!("cd checkout; git add -A -- '{path}'; git commit -q -m 'Change a file'"));
    }

    fn must(&self, script: &str) {
        let output = run_bash(self.path(), script);
        assert!(output.status.success(), "{script}\n{output:#?}");
    }
}
