//! Part of the fake for commands in comments: single comments, reactions, roles, and workflow runs.

use serde_json::json;

use super::{AFTER_COMMENTS, Artifact, Call, Response, problem};

/// A workflow run, with counts of what was done to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) head_sha: String,
    /// The event that started it; a pull request's without one.
    pub(crate) event: Option<&'static str>,
    /// Its title, if the workflow has a `run-name`.
    pub(crate) title: Option<String>,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    /// Start of the last attempt.
    pub(crate) started_at: String,
    /// 7 is the repository itself.
    pub(crate) head_repository_id: u64,
    /// Name of its branch; `topic` without one.
    pub(crate) branch: Option<String>,
    /// True if the repository of its head is gone.
    pub(crate) is_of_deleted_fork: bool,
    /// Number of attempts before the last.
    pub(crate) earlier_attempts: u64,
    pub(crate) reruns: usize,
    pub(crate) reruns_of_failed: usize,
    pub(crate) cancels: usize,
}

/// A pull request that was opened by the API.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpenedPull {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) head: String,
    pub(crate) base: String,
}

/// An open pull request in a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) head: String,
    /// Repository of its head, whose branch is `topic`; `None` if it is gone.
    pub(crate) repository: Option<u64>,
    pub(crate) base: String,
    pub(crate) draft: bool,
}

/// Permission and name of a role, as the API has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Permission {
    pub(crate) permission: String,
    pub(crate) role_name: String,
}

impl Call<'_> {
    pub(super) fn get_comment(&self, id: u64) -> Response {
        let Some(comment) = self.state.comments.iter().find(|comment| comment.id == id) else {
            return problem(404, "Not Found", &[]);
        };
        let mut shown = self.names.comment(comment);
        if self.state.edited.contains(&id) {
            shown["updated_at"] = AFTER_COMMENTS.into();
        }
        Response::json(200, &shown)
    }

    pub(super) fn add_reaction(&mut self, id: u64) -> Response {
        let content = self.text("content").unwrap_or_default();
        if !self.state.comments.iter().any(|comment| comment.id == id) {
            return problem(404, "Not Found", &[]);
        }
        if !["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"].contains(&&*content) {
            return Self::invalid(&["content is not one of the list".to_owned()]);
        }
        let is_new = self.state.reactions.entry(id).or_default().insert(content.clone());
        let user = self.names.user(super::BOT);
        let shown = json!({
            "id": id, "node_id": "R_1", "user": user, "content": content, "created_at": AFTER_COMMENTS,
        });
        Response::json(if is_new { 201 } else { 200 }, &shown)
    }

    pub(super) fn get_permission(&self, login: &str) -> Response {
        // Everybody may read a public repository.
        let read = Permission { permission: "read".to_owned(), role_name: "read".to_owned() };
        let Permission { permission, role_name } = self.state.roles.get(login).unwrap_or(&read);
        let mut user = self.names.user(login);
        user["role_name"] = role_name.as_str().into();
        Response::json(200, &json!({"permission": permission, "role_name": role_name, "user": user}))
    }

    pub(super) fn get_run(&self, id: u64) -> Response {
        match self.state.runs.iter().find(|run| run.id == id) {
            Some(run) => Response::json(200, &self.names.workflow_run(run)),
            None => problem(404, "Not Found", &[]),
        }
    }

    pub(super) fn list_pulls(&self) -> Response {
        if let Some(head) = self.request.query("head") {
            let (owner, branch) = head.split_once(':').unwrap();
            assert!(self.names.repository.starts_with(&format!("{owner}/")), "{head}");
            let base = self.request.query("base").unwrap();
            let found = self.state.opened.iter().filter(|pull| pull.head == branch && pull.base == base);
            let shown: Vec<_> = found.map(|pull| self.names.pull(pull.number, &"0".repeat(40))).collect();
            return self.page(&shown, |page| json!(page));
        }
        let shown: Vec<_> = self.state.open_pulls.iter().map(|pull| self.names.open_pull(pull)).collect();
        self.page(&shown, |page| json!(page))
    }

    pub(super) fn open_pull(&mut self) -> Response {
        let texts = ["title", "body", "head", "base"].map(|name| self.text(name).unwrap_or_default());
        let [title, body, head, base] = texts;
        if title.is_empty() || head.is_empty() || base.is_empty() || body.chars().count() > 65_536 {
            return Self::invalid(&["title, head or base is missing".to_owned()]);
        }
        if self.state.opened.iter().any(|pull| pull.head == head && pull.base == base) {
            return Self::invalid(&["A pull request already exists".to_owned()]);
        }
        let number = 100 + self.state.opened.len() as u64;
        self.state.opened.push(OpenedPull { number, title, body, head, base });
        Response::json(201, &self.names.pull(number, &"0".repeat(40)))
    }

    pub(super) fn remove_label(&mut self, number: u64, name: &str) -> Response {
        let labels = self.state.labels.entry(number).or_default();
        match labels.remove(&name.replace("%3A", ":")) {
            true => Response::json(200, &json!([])),
            false => problem(404, "Label does not exist", &[]),
        }
    }

    pub(super) fn get_branch(&self, name: &str) -> Response {
        let shown = json!({ "name": name, "protected": self.state.protected.contains(name) });
        Response::json(200, &shown)
    }

    /// Starts a run of `drive.yml`, whose `run-name` names the pull request and its head.
    pub(super) fn dispatch(&mut self, workflow: &str) -> Response {
        if workflow != "drive.yml" || self.text("ref").as_deref() != Some("main") {
            return problem(404, "Not Found", &[]);
        }
        let inputs = &self.body["inputs"];
        let known = ["pull-request", "head", "goal", "session", "word", "note", "person"];
        let is_known = |name: &String| known.contains(&name.as_str());
        if !inputs.as_object().is_some_and(|inputs| inputs.keys().all(is_known)) {
            return Self::invalid(&["Unexpected inputs provided".to_owned()]);
        }
        let [number, head] = ["pull-request", "head"].map(|name| inputs[name].as_str().unwrap_or_default());
        let from = inputs["session"].as_str().map(|session| format!(" from {session}")).unwrap_or_default();
        let title = format!("drive #{number} at {head}{from}");
        self.state.dispatched.push(inputs.clone());
        self.state.goals.extend(inputs["goal"].as_str().map(str::to_owned));
        let id = 60 + self.state.runs.len() as u64;
        self.state.runs.push(Run {
            id,
            head_sha: "0".repeat(40),
            event: Some("workflow_dispatch"),
            title: Some(title.trim_end().to_owned()),
            status: "queued".to_owned(),
            started_at: AFTER_COMMENTS.to_owned(),
            head_repository_id: 7,
            branch: Some("main".to_owned()),
            ..Run::default()
        });
        Response::new(204, "")
    }

    pub(super) fn list_runs(&self, workflow: &str) -> Response {
        let head = self.request.query("head_sha");
        let mut found: Vec<&Run> = match workflow {
            "qa.yml" => self.state.runs.iter().filter(|run| head.as_ref() == Some(&run.head_sha)).collect(),
            "drive.yml" => self.state.runs.iter().filter(|run| run.event.is_some()).collect(),
            _ => return problem(404, "Not Found", &[]),
        };
        found.sort_by_key(|run| std::cmp::Reverse(run.id));
        let shown: Vec<_> = found.iter().map(|run| self.names.workflow_run(run)).collect();
        self.page(&shown, |page| json!({ "total_count": shown.len(), "workflow_runs": page }))
    }

    fn run(&mut self, id: u64) -> Option<&mut Run> {
        self.state.runs.iter_mut().find(|run| run.id == id)
    }

    /// Begins another attempt, which GitHub refuses while one goes on.
    pub(super) fn rerun(&mut self, id: u64, only_failed: bool) -> Response {
        let Some(run) = self.run(id) else { return problem(404, "Not Found", &[]) };
        if run.status != "completed" {
            return problem(403, "This workflow is already running", &[]);
        }
        if only_failed && run.conclusion.as_deref() == Some("success") {
            return problem(403, "This workflow run has no failed jobs", &[]);
        }
        if only_failed {
            run.reruns_of_failed += 1
        } else {
            run.reruns += 1
        }
        run.status = "queued".to_owned();
        run.conclusion = None;
        run.started_at = AFTER_COMMENTS.to_owned();
        Response::json(201, &json!({}))
    }

    pub(super) fn cancel_run(&mut self, id: u64) -> Response {
        let Some(run) = self.run(id) else { return problem(404, "Not Found", &[]) };
        if run.status == "completed" {
            return problem(409, "Cannot cancel a workflow run that is completed.", &[]);
        }
        run.cancels += 1;
        run.status = "completed".to_owned();
        run.conclusion = Some("cancelled".to_owned());
        Response::json(202, &json!({}))
    }

    pub(super) fn list_run_artifacts(&self, run: u64) -> Response {
        let name = self.request.query("name");
        let mut found: Vec<&Artifact> = self.state.artifacts.iter().collect();
        found.retain(|artifact| artifact.run_id == run);
        found.retain(|artifact| *name.as_ref().unwrap_or(&artifact.name) == artifact.name);
        let shown: Vec<_> = found.iter().map(|artifact| self.names.artifact(artifact)).collect();
        self.page(&shown, |page| json!({ "total_count": shown.len(), "artifacts": page }))
    }
}
