//! Answers of GitHub's API with every member its published description requires.

use serde_json::{Value, json};

const TIME: &str = "2026-01-02T03:04:05Z";

/// Names that all shapes share.
pub(crate) struct Names {
    /// The API's address.
    pub(crate) api: String,
    /// `owner/name`.
    pub(crate) repository: String,
}

impl Names {
    fn repo_url(&self) -> String {
        format!("{}/repos/{}", self.api, self.repository)
    }

    fn owner(&self) -> &str {
        self.repository.split('/').next().unwrap()
    }

    pub(crate) fn user(&self, login: &str) -> Value {
        let bot = login.ends_with("[bot]");
        let at = format!("{}/users/{login}", self.api).replace('[', "%5B").replace(']', "%5D");
        let id: u64 = login.bytes().fold(7, |id, byte| (id * 31 + u64::from(byte)) % 1_000_003);
        let mut user = json!({
            "login": login, "id": id, "node_id": "U_41", "gravatar_id": "", "type": if bot { "Bot" } else { "User" },
            "site_admin": false, "url": at,
        });
        for name in ["avatar", "html", "followers", "following", "gists", "starred", "subscriptions"] {
            user[format!("{name}_url")] = format!("{at}/{name}").into();
        }
        for name in ["organizations", "repos", "events", "received_events"] {
            user[format!("{name}_url")] = format!("{at}/{name}").into();
        }
        user
    }

    fn app(&self, slug: &str) -> Value {
        json!({
            "id": 15368, "slug": slug, "node_id": "A_1", "owner": self.user("github"),
            "name": "GitHub Actions", "description": null, "external_url": "https://example.com/actions",
            "html_url": "https://example.com/apps/github-actions", "created_at": TIME, "updated_at": TIME,
            "permissions": { "checks": "write" }, "events": ["check_run"],
        })
    }

    pub(crate) fn check_run(&self, check: &super::fake_github::Check) -> Value {
        let url = format!("{}/check-runs/{}", self.repo_url(), check.id);
        json!({
            "id": check.id, "node_id": format!("CR_{}", check.id), "head_sha": check.head_sha,
            "external_id": check.external_id, "url": url,
            "html_url": format!("https://example.com/{}/runs/{}", self.repository, check.id),
            "details_url": check.details_url, "status": check.status, "conclusion": check.conclusion,
            "started_at": check.started_at.as_deref().unwrap_or(super::fake_github::LATER),
            "completed_at": check.conclusion.as_ref().map(|_| check.completed_at.as_deref().unwrap_or(TIME)),
            "output": {
                "title": check.title, "summary": check.summary, "text": check.text,
                "annotations_count": check.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "name": check.name, "check_suite": { "id": 5 }, "app": self.app(check.app.as_deref().unwrap_or("github-actions")),
            "pull_requests": [],
        })
    }

    pub(crate) fn annotation(&self, sent: &Value, head: &str) -> Value {
        let mut shown = json!({ "blob_href": format!("https://example.com/{}/blob/{head}/{}", self.repository, encoded_path(sent)) });
        for name in
            ["path", "start_line", "end_line", "start_column", "end_column", "annotation_level", "title"]
        {
            shown[name] = sent[name].clone();
        }
        for name in ["message", "raw_details"] {
            shown[name] = sent[name].clone();
        }
        shown
    }

    pub(crate) fn comment(&self, comment: &super::fake_github::Comment) -> Value {
        let issue = format!("{}/issues/{}", self.repo_url(), comment.number);
        json!({
            "id": comment.id, "node_id": format!("IC_{}", comment.id),
            "url": format!("{}/issues/comments/{}", self.repo_url(), comment.id), "body": comment.body,
            "html_url": format!("https://example.com/{}/pull/{}#issuecomment-{}", self.repository, comment.number, comment.id),
            "user": self.user(&comment.author), "created_at": TIME, "updated_at": TIME, "issue_url": issue,
            "author_association": "NONE",
        })
    }

    pub(crate) fn review(&self, review: &super::fake_github::Review) -> Value {
        let pull = format!("{}/pulls/{}", self.repo_url(), review.number);
        json!({
            "id": review.id, "node_id": format!("PRR_{}", review.id), "user": self.user(super::fake_github::BOT),
            "body": review.body, "state": "COMMENTED", "html_url": format!("{pull}#{}", review.id),
            "pull_request_url": pull, "_links": { "html": { "href": pull }, "pull_request": { "href": pull } },
            "commit_id": review.commit_id, "author_association": "NONE", "submitted_at": TIME,
        })
    }

    pub(crate) fn review_comment(&self, comment: &super::fake_github::ReviewComment) -> Value {
        let pull = format!("{}/pulls/{}", self.repo_url(), comment.number);
        let own = format!("{}/pulls/comments/{}", self.repo_url(), comment.id);
        json!({
            "url": own, "id": comment.id, "node_id": format!("PRRC_{}", comment.id),
            "pull_request_review_id": comment.review, "diff_hunk": "@@ -1 +1 @@", "path": comment.path,
            "commit_id": "0".repeat(40), "original_commit_id": "0".repeat(40), "user": self.user(&comment.author),
            "body": comment.body, "created_at": TIME, "updated_at": TIME, "html_url": format!("{pull}#{}", comment.id),
            "pull_request_url": pull, "author_association": "NONE", "line": comment.lines.1, "side": "RIGHT",
            "_links": { "self": { "href": own }, "html": { "href": pull }, "pull_request": { "href": pull } },
        })
    }

    pub(crate) fn label(&self, name: &str) -> Value {
        json!({
            "id": 1, "node_id": "L_1", "name": name, "description": null,
            "url": format!("{}/labels/{name}", self.repo_url()), "color": "ededed", "default": false,
        })
    }

    pub(crate) fn issue(&self, issue: &super::fake_github::Issue) -> Value {
        let url = format!("{}/issues/{}", self.repo_url(), issue.number);
        let labels = issue.labels.iter().enumerate().map(|(index, name)| {
            json!({
                "id": index + 1, "node_id": format!("L_{index}"), "name": name, "description": null,
                "url": format!("{}/labels/{index}", self.repo_url()), "color": "ededed", "default": false,
            })
        });
        let mut shown = json!({
            "id": 1000 + issue.number, "node_id": format!("I_{}", issue.number), "number": issue.number, "url": url,
            "repository_url": self.repo_url(), "labels_url": format!("{url}/labels"),
            "comments_url": format!("{url}/comments"), "events_url": format!("{url}/events"),
            "html_url": format!("https://example.com/{}/issues/{}", self.repository, issue.number),
            "state": if issue.open { "open" } else { "closed" }, "title": issue.title, "body": issue.body,
            "user": self.user(&issue.author), "labels": labels.collect::<Vec<_>>(), "assignee": null,
            "assignees": [], "milestone": null, "locked": false, "comments": 0,
            "closed_at": if issue.open { Value::Null } else { TIME.into() }, "created_at": TIME,
            "updated_at": TIME, "author_association": "NONE",
        });
        if issue.is_pull {
            let pull = format!("{}/pulls/{}", self.repo_url(), issue.number);
            shown["pull_request"] =
                json!({ "url": pull, "html_url": pull, "diff_url": pull, "patch_url": pull });
        }
        shown
    }

    pub(crate) fn pull(&self, number: u64, head: &str) -> Value {
        let url = format!("{}/pulls/{number}", self.repo_url());
        let mut pull = json!({
            "id": 2000 + number, "node_id": format!("PR_{number}"), "number": number, "url": url, "state": "open",
            "locked": false, "title": "A change", "body": null, "user": self.user("kim"), "labels": [],
            "assignee": null, "milestone": null, "created_at": TIME, "updated_at": TIME, "closed_at": null,
            "merged_at": null, "merge_commit_sha": null, "author_association": "CONTRIBUTOR", "auto_merge": null,
            "additions": 1, "changed_files": 1, "comments": 0, "commits": 1, "deletions": 0, "mergeable": true,
            "mergeable_state": "clean", "merged": false, "maintainer_can_modify": true, "merged_by": null,
            "review_comments": 0, "_links": {},
            "head": { "label": "kim:topic", "ref": "topic", "sha": head, "repo": self.repo(), "user": self.user("kim") },
            "base": {
                "label": "owner:main", "ref": "main", "sha": "0".repeat(40), "repo": self.repo(),
                "user": self.user(self.owner()),
            },
        });
        for name in [
            "diff",
            "html",
            "issue",
            "patch",
            "review_comment",
            "review_comments",
            "statuses",
            "comments",
            "commits",
        ] {
            pull[format!("{name}_url")] = format!("{url}/{name}").into();
        }
        for name in
            ["comments", "commits", "statuses", "html", "issue", "review_comments", "review_comment", "self"]
        {
            pull["_links"][name] = json!({ "href": format!("{url}/{name}") });
        }
        pull
    }

    pub(crate) fn open_pull(&self, pull: &super::fake_github::Pull) -> Value {
        let mut shown = self.pull(pull.number, &pull.head);
        shown["draft"] = pull.draft.into();
        shown["base"]["ref"] = pull.base.as_str().into();
        match pull.repository {
            Some(id) => shown["head"]["repo"]["id"] = id.into(),
            None => shown["head"]["repo"] = Value::Null,
        }
        shown
    }

    fn repo(&self) -> Value {
        let url = self.repo_url();
        let mut repo = json!({
            "id": 7, "node_id": "R_7", "name": self.repository.split('/').nth(1), "full_name": self.repository,
            "owner": self.user(self.owner()), "private": false, "description": null, "fork": false, "url": url,
            "html_url": format!("https://example.com/{}", self.repository), "default_branch": "main", "forks": 0,
            "forks_count": 0, "has_downloads": true, "has_issues": true, "has_projects": false, "has_wiki": false,
            "has_pages": false, "homepage": null, "language": null, "archived": false, "disabled": false,
            "mirror_url": null, "open_issues": 0, "open_issues_count": 0, "license": null, "pushed_at": TIME,
            "size": 1, "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "created_at": TIME,
            "updated_at": TIME, "git_url": "git:example.com/a.git", "ssh_url": "git@example.com:a.git",
            "clone_url": "https://example.com/a.git", "svn_url": "https://example.com/a",
        });
        let links = "archive assignees blobs branches collaborators comments commits compare contents contributors \
            deployments downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues \
            keys labels languages merges milestones notifications pulls releases stargazers statuses subscribers \
            subscription tags teams trees";
        for name in links.split_whitespace() {
            repo[format!("{name}_url")] = format!("{url}/{name}").into();
        }
        repo
    }

    pub(crate) fn artifact(&self, artifact: &super::fake_github::Artifact) -> Value {
        let url = format!("{}/actions/artifacts/{}", self.repo_url(), artifact.id);
        json!({
            "id": artifact.id, "node_id": format!("AR_{}", artifact.id), "name": artifact.name,
            "size_in_bytes": artifact.zip.len(), "url": url, "archive_download_url": format!("{url}/zip"),
            "expired": artifact.expired, "created_at": artifact.created_at, "updated_at": artifact.created_at,
            "expires_at": super::fake_github::LATER,
            "digest": artifact.digest,
            "workflow_run": {
                "id": artifact.run_id, "repository_id": 7, "head_repository_id": artifact.head_repository_id,
                "head_branch": "topic", "head_sha": artifact.head_sha,
            },
        })
    }

    pub(crate) fn workflow_run(&self, run: &super::fake_github::Run) -> Value {
        let url = format!("{}/actions/runs/{}", self.repo_url(), run.id);
        let mut head_repository = self.repo();
        head_repository["id"] = run.head_repository_id.into();
        if run.is_of_deleted_fork {
            head_repository = Value::Null;
        }
        let mut shown = json!({
            "id": run.id, "node_id": format!("WFR_{}", run.id), "name": "qa",
            "head_branch": run.branch.as_deref().unwrap_or("topic"),
            "head_sha": run.head_sha, "path": ".github/workflows/qa.yml", "display_title": run.title.as_deref().unwrap_or("A change"),
            "run_number": 1, "run_attempt": run.earlier_attempts + 1, "event": run.event.unwrap_or("pull_request"), "status": run.status,
            "conclusion": run.conclusion, "workflow_id": 3, "url": url, "html_url": url, "pull_requests": [],
            "created_at": TIME, "updated_at": TIME, "run_started_at": run.started_at, "head_commit": null,
            "repository": self.repo(), "head_repository": head_repository,
        });
        for name in ["jobs", "logs", "check_suite", "artifacts", "cancel", "rerun", "workflow"] {
            shown[format!("{name}_url")] = format!("{url}/{name}").into();
        }
        shown
    }

    pub(crate) fn sarif_receipt(&self, id: &str) -> Value {
        json!({ "id": id, "url": format!("{}/code-scanning/sarifs/{id}", self.repo_url()) })
    }
}

fn encoded_path(annotation: &Value) -> String {
    let path = annotation["path"].as_str().unwrap_or_default();
    path.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}
