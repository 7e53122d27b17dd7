//! A step of GitHub Actions about to run: its event, its checkout and what the runner sets for it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::origin::{NAME, Origin};
use super::{Files, Outcome, Program, RunDir, Server, conflict, qa_skill};

/// A value that must turn up nowhere but in the header it was made for.
pub(crate) const TOKEN: &str = "canary-api-token-4711";

pub(crate) fn faulty() -> Files {
    Files::from_texts(&[("src/app.py", "value = 2\n"), ("README.md", "# Widget\n"), ("docs/a.md", "one\n")])
        .with("src/new.py", conflict())
}

pub(crate) fn clean() -> Files {
    Files::from_texts(&[("src/app.py", "value = 2\n"), ("README.md", "# Widget\n"), ("docs/a.md", "one\n")])
}

/// A step about to run in a checkout.
pub(crate) struct Step<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) server: &'a Server,
    pub(crate) checkout: PathBuf,
    pub(crate) name: &'a str,
    pub(crate) git_ref: &'a str,
    pub(crate) event: Value,
}

impl<'a> Step<'a> {
    pub(crate) fn on_pull_request(origin: &'a Origin, server: &'a Server, depth: u32) -> Self {
        Self::on_pull_request_in(origin.checkout(server, depth), origin, server)
    }

    /// Prepares a step like [`Step::on_pull_request`] in an existing checkout.
    pub(crate) fn on_pull_request_in(checkout: PathBuf, origin: &'a Origin, server: &'a Server) -> Self {
        let event = json!({"action": "synchronize", "number": origin.number, "pull_request": {
            "number": origin.number,
            "head": {"sha": origin.head.to_string(), "repo": {"id": 1}},
            "base": {"sha": origin.fork_point.to_string(), "ref": "main", "repo": {"id": 1}},
        }});
        Self { origin, server, checkout, name: "pull_request", git_ref: &origin.merge_ref, event }
    }

    pub(crate) fn program(&self) -> Program {
        std::fs::write(self.origin.repo.beside("event.json"), self.event.to_string()).unwrap();
        std::fs::create_dir_all(self.origin.repo.beside("temp")).unwrap();
        let sha = match self.name {
            "push" => self.event["after"].as_str(),
            "merge_group" => self.event["merge_group"]["head_sha"].as_str(),
            _ => None,
        };
        let merge = self.origin.merge.to_string();
        let base_ref = if self.name.starts_with("pull_request") { "main" } else { "" };
        qa_skill([""; 0])
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", self.name)
            .env("GITHUB_EVENT_PATH", self.origin.repo.beside("event.json"))
            .env("GITHUB_SHA", sha.unwrap_or(&merge))
            .env("GITHUB_REF", self.git_ref)
            .env("GITHUB_BASE_REF", base_ref)
            .env("GITHUB_REPOSITORY", NAME)
            .env("GITHUB_SERVER_URL", self.server.url())
            .env("GITHUB_WORKSPACE", &self.checkout)
            .env("GITHUB_OUTPUT", self.origin.repo.beside("output"))
            .env("GITHUB_STEP_SUMMARY", self.origin.repo.beside("summary.md"))
            .env("RUNNER_TEMP", self.origin.repo.beside("temp"))
            .env("INPUT_TOKEN", TOKEN)
            .env("INPUT_MODE", "")
            .env("INPUT_UPLOAD-ARTIFACT", "false")
            .within(&self.checkout)
    }

    pub(crate) fn run(&self) -> Outcome {
        self.program().run()
    }

    pub(crate) fn run_dir(&self) -> RunDir {
        RunDir::only(&self.checkout.join(".qa-skill"))
    }

    pub(crate) fn output(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.origin.repo.beside("output")).unwrap();
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next_back().unwrap_or_default().to_owned()
    }
}

/// Names of everything below a directory.
pub(crate) fn listing(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}
