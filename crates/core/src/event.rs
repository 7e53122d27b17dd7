//! Derives the task of a run from a GitHub Actions event: the change to judge, the way to its base, or nothing to do.
//!
//! Payloads are read leniently, member by member, because GitHub adds members at any time and many may be null.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::features;
use crate::masking::sanitize_cut;
use crate::observer::Occasion;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::RunStage;

/// Error of an event that cannot be used. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("read the event: {0}")]
    Malformed(String),
    #[error("judge on `{name}`: {reason}")]
    NotForThis { name: String, reason: &'static str },
    /// The payload is a file that an earlier step may have rewritten; variables come from the runner itself.
    #[error("believe the event: its {member} is not what {variable} says")]
    Contradicted { member: &'static str, variable: &'static str },
}

/// Task of a run that an event started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Judge a change.
    Check(Change),
    /// Judge the reviews of the change that a finished workflow run was about.
    Reviews(NamedRun),
    /// Replay stored verdicts.
    Drift,
    /// End successfully, with this reason in the log.
    Nothing(&'static str),
}

/// The finished workflow run that an event names. Its other members are not used: the run may be that of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRun {
    pub id: u64,
    /// Commit that the run was about, which GitHub has to confirm.
    pub head: CommitId,
}

/// The change an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Commit that is judged and that annotations are attached to.
    pub head: CommitId,
    /// Ways to find the base, in order of preference.
    pub bases: Vec<BaseRule>,
    pub pull_request: Option<u64>,
    /// True if head's author may lack write access, so that head's code is never executed.
    pub from_fork: bool,
    /// True if the job may have secrets and a write token although head's author chose its content
    /// (`pull_request_target`).
    pub beside_secrets: bool,
    /// Ref under which code scanning files the results.
    pub scanning_ref: String,
    /// Features that labels of the pull request name. They add to what the change has to show, so that a payload which
    /// was rewritten excuses nothing.
    pub label_features: BTreeSet<u64>,
    /// Reason why head is judged. A payload that was rewritten can only make a run do less and not pass, or do more.
    pub occasion: Occasion,
    /// Head of the pull request before a push, if the event is one.
    pub head_before: Option<CommitId>,
    /// True if the event opened the pull request, so that no head of it was judged before.
    pub opens: bool,
    /// Stage that is judged; `None` for all of the policy.
    pub stage: Option<RunStage>,
}

impl Change {
    /// Returns the reason why head is judged in an attempt of a workflow run: whoever starts it again wants all of it.
    pub fn occasion_in(&self, run_attempt: &str) -> Occasion {
        match run_attempt {
            "" | "1" => self.occasion,
            _ => Occasion::Final("the job was started again"),
        }
    }
}

/// A way to find the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseRule {
    /// The first parent of the test merge the event ran for, when its second parent is head.
    TestMerge(CommitId),
    /// A commit the event names.
    Named(CommitId),
    /// The tip of a branch.
    Branch(String),
    /// The commit that a push to the default branch replaced, as the event names it; only if the server says that the
    /// ref is the default branch.
    Replaced { commit: CommitId, git_ref: String },
    /// The tip of the server's default branch, or the first parent of head where head is that tip.
    DefaultBranch,
}

impl BaseRule {
    /// Returns the name that artifacts record.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::TestMerge(_) => "merge-commit",
            Self::Named(_) => "event",
            Self::Branch(_) => "branch-tip",
            Self::Replaced { .. } => "replaced-by-push",
            Self::DefaultBranch => "default-branch",
        }
    }
}

/// Variables of the runner that describe the event beside its payload.
#[derive(Debug, Clone, Copy)]
pub struct RunnerVariables<'a> {
    /// `GITHUB_EVENT_NAME`.
    pub name: &'a str,
    /// `GITHUB_SHA`.
    pub sha: &'a str,
    /// `GITHUB_REF`.
    pub git_ref: &'a str,
    /// `GITHUB_BASE_REF`; empty where the event has none.
    pub base_ref: &'a str,
}

/// Returns the task of an event.
pub fn task(runner: RunnerVariables<'_>, payload: &Value) -> Result<Task, EventError> {
    let event = Payload(payload);
    let reason = match runner.name {
        "pull_request" => return pull_request(runner, event, true),
        "pull_request_target" => return pull_request(runner, event, false),
        "merge_group" => return merge_group(runner, event),
        "push" => return push(runner, event),
        "workflow_dispatch" => return dispatch(runner),
        "schedule" => return Ok(Task::Drift),
        "workflow_run" => return named_run(event).map(Task::Reviews),
        "issue_comment" => "comments are not commands here",
        _ => "it names no change",
    };
    Err(EventError::NotForThis { name: sanitize_cut(runner.name, 60), reason })
}

fn pull_request(runner: RunnerVariables<'_>, event: Payload<'_>, merged: bool) -> Result<Task, EventError> {
    // The ref of a merged pull request is its base branch. One that only claims to be closed is judged: the payload is a
    // file that an earlier step can rewrite.
    let is_branch = runner.git_ref.starts_with("refs/heads/");
    if merged && is_branch && event.string("/action").as_deref() == Some("closed") {
        return Ok(Task::Nothing("the pull request is merged"));
    }
    Ok(Task::Check(pull_request_change(runner, event, merged)?))
}

/// Returns the change of an open pull request as the API has it, which is the member `pull_request` of a payload. It is
/// judged beside secrets.
pub fn change_of_pull(pull: &Value) -> Result<Change, EventError> {
    let payload = json!({ "pull_request": pull });
    let event = Payload(&payload);
    let base_ref = event.string("/pull_request/base/ref").unwrap_or_default();
    let runner = RunnerVariables { name: "workflow_run", sha: "", git_ref: "", base_ref: &base_ref };
    pull_request_change(runner, event, false)
}

fn pull_request_change(
    runner: RunnerVariables<'_>,
    event: Payload<'_>,
    merged: bool,
) -> Result<Change, EventError> {
    let head = event.commit("/pull_request/head/sha")?;
    let number =
        event.0.pointer("/pull_request/number").or(event.0.pointer("/number")).and_then(Value::as_u64);
    let number = number.ok_or_else(|| EventError::Malformed("it has no pull request number".to_owned()))?;
    let base_repository = event.0.pointer("/pull_request/base/repo/id").and_then(Value::as_u64);
    let head_repository = event.0.pointer("/pull_request/head/repo/id").and_then(Value::as_u64);
    // The repository of a deleted fork is null.
    let from_fork = head_repository.is_none() || head_repository != base_repository;
    let base_ref = event.string("/pull_request/base/ref");
    if base_ref.as_deref() != Some(runner.base_ref) {
        return Err(contradicted("pull_request.base.ref", "GITHUB_BASE_REF"));
    }
    let mut bases = Vec::new();
    if merged {
        if pull_request_of(runner.git_ref) != Some(number) {
            return Err(contradicted("pull_request.number", "GITHUB_REF"));
        }
        bases.extend(CommitId::parse(runner.sha).ok().map(BaseRule::TestMerge));
    }
    bases.extend(base_ref.map(BaseRule::Branch));
    let scanning_ref =
        if merged { format!("refs/pull/{number}/merge") } else { format!("refs/pull/{number}/head") };
    Ok(Change {
        head,
        bases,
        pull_request: Some(number),
        from_fork,
        beside_secrets: !merged,
        scanning_ref,
        label_features: event.label_features(),
        occasion: event.occasion(),
        head_before: event.commit("/before").ok(),
        opens: event.string("/action").as_deref() == Some("opened"),
        stage: None,
    })
}

/// Returns the number of a pull request in `refs/pull/N/merge`, or `refs/pull/N/head` as Forgejo sets it.
fn pull_request_of(git_ref: &str) -> Option<u64> {
    let (number, side) = git_ref.strip_prefix("refs/pull/")?.split_once('/')?;
    if matches!(side, "merge" | "head") { number.parse().ok() } else { None }
}

fn contradicted(member: &'static str, variable: &'static str) -> EventError {
    EventError::Contradicted { member, variable }
}

fn merge_group(runner: RunnerVariables<'_>, event: Payload<'_>) -> Result<Task, EventError> {
    let head = event.commit("/merge_group/head_sha")?;
    if head.as_str() != runner.sha {
        return Err(contradicted("merge_group.head_sha", "GITHUB_SHA"));
    }
    // A merge group's ref ends with the commit that it builds on.
    let base = event.commit("/merge_group/base_sha")?;
    if !runner.git_ref.ends_with(&format!("-{base}")) {
        return Err(contradicted("merge_group.base_sha", "GITHUB_REF"));
    }
    Ok(Task::Check(Change {
        head,
        bases: vec![BaseRule::Named(base)],
        pull_request: None,
        from_fork: false,
        beside_secrets: false,
        scanning_ref: runner.git_ref.to_owned(),
        label_features: BTreeSet::new(),
        occasion: Occasion::Final("a merge group is about to land"),
        head_before: None,
        opens: false,
        stage: None,
    }))
}

fn named_run(event: Payload<'_>) -> Result<NamedRun, EventError> {
    let id = event.0.pointer("/workflow_run/id").and_then(Value::as_u64);
    let id = id.ok_or_else(|| EventError::Malformed("it names no workflow run".to_owned()))?;
    Ok(NamedRun { id, head: event.commit("/workflow_run/head_sha")? })
}

fn push(runner: RunnerVariables<'_>, event: Payload<'_>) -> Result<Task, EventError> {
    if runner.git_ref.starts_with("refs/tags/") {
        return Ok(Task::Nothing("a tag changes no branch"));
    }
    let head = event.commit("/after")?;
    if head.as_str() != runner.sha {
        return Err(contradicted("after", "GITHUB_SHA"));
    }
    let before = event.optional_commit("/before")?;
    // The commit that a push to another branch replaced may be anything, so such a push is compared with the default
    // branch.
    let mut bases = Vec::new();
    if let Some(commit) = before
        && let Some(branch) = event.string("/repository/default_branch")
        && runner.git_ref.strip_prefix("refs/heads/") == Some(branch.as_str())
    {
        bases.push(BaseRule::Replaced { commit, git_ref: runner.git_ref.to_owned() });
    }
    bases.push(BaseRule::DefaultBranch);
    Ok(Task::Check(Change {
        head,
        bases,
        pull_request: None,
        from_fork: false,
        beside_secrets: false,
        scanning_ref: runner.git_ref.to_owned(),
        label_features: BTreeSet::new(),
        occasion: Occasion::Final("a push to a branch is no draft"),
        head_before: None,
        opens: false,
        stage: None,
    }))
}

fn dispatch(runner: RunnerVariables<'_>) -> Result<Task, EventError> {
    let head = CommitId::parse(runner.sha)
        .map_err(|_| EventError::Malformed("GITHUB_SHA is not a commit".to_owned()))?;
    let bases = vec![BaseRule::DefaultBranch];
    Ok(Task::Check(Change {
        head,
        bases,
        pull_request: None,
        from_fork: false,
        beside_secrets: false,
        scanning_ref: runner.git_ref.to_owned(),
        label_features: BTreeSet::new(),
        occasion: Occasion::Final("a person started the run"),
        head_before: None,
        opens: false,
        stage: None,
    }))
}

/// A payload, or an answer of the API.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a>(pub(crate) &'a Value);

impl Payload<'_> {
    /// Returns a string that is not empty.
    pub(crate) fn string(self, pointer: &str) -> Option<String> {
        self.0.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns the features that labels of the pull request name.
    fn label_features(self) -> BTreeSet<u64> {
        let labels = self.0.pointer("/pull_request/labels").and_then(Value::as_array);
        let names = labels.into_iter().flatten().filter_map(|label| label.get("name")?.as_str());
        names.filter_map(features::labelled).collect()
    }

    /// Returns whether a pull request is a draft, and whether the draft begins. One that does not say so is judged in full.
    fn occasion(self) -> Occasion {
        let action = self.string("/action");
        let action = action.as_deref().unwrap_or_default();
        let is_draft = self.0.pointer("/pull_request/draft").and_then(Value::as_bool) == Some(true);
        match (is_draft, action) {
            (true, "ready_for_review") | (false, _) => Occasion::Final("the pull request is no draft"),
            (true, _) => Occasion::Draft {
                begins: matches!(action, "opened" | "reopened") || self.0.pointer("/changes/base").is_some(),
            },
        }
    }

    pub(crate) fn commit(self, pointer: &str) -> Result<CommitId, EventError> {
        self.optional_commit(pointer)?
            .ok_or_else(|| EventError::Malformed(format!("{pointer} names no commit")))
    }

    /// Returns a commit; forty zeros and null stand for none.
    fn optional_commit(self, pointer: &str) -> Result<Option<CommitId>, EventError> {
        match self.string(pointer) {
            None => Ok(None),
            Some(text) if text.bytes().all(|byte| byte == b'0') => Ok(None),
            Some(text) => CommitId::parse(&text)
                .map(Some)
                .map_err(|_| EventError::Malformed(format!("{pointer} is not a commit id"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "1111111111111111111111111111111111111111";
    const BASE: &str = "2222222222222222222222222222222222222222";
    const MERGE: &str = "3333333333333333333333333333333333333333";
    const ZEROS: &str = "0000000000000000000000000000000000000000";

    fn id(text: &str) -> CommitId {
        CommitId::parse(text).unwrap()
    }

    fn of(name: &str, git_ref: &str, payload: &Value) -> Result<Task, EventError> {
        let sha = if matches!(name, "push" | "merge_group") { HEAD } else { MERGE };
        let base_ref = if name.starts_with("pull_request") { "main" } else { "" };
        task(RunnerVariables { name, sha, git_ref, base_ref }, payload)
    }

    fn pull(action: &str, head_repo: Value) -> Value {
        json!({"action": action, "number": 7, "pull_request": {
            "number": 7,
            "head": {"sha": HEAD, "repo": head_repo},
            "base": {"sha": BASE, "ref": "main", "repo": {"id": 1}}
        }})
    }

    #[track_caller]
    fn change(task: Result<Task, EventError>) -> Change {
        match task {
            Ok(Task::Check(change)) => change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pull_request_prefers_the_merge_commit_to_what_the_payload_says() {
        let same = change(of("pull_request", "refs/pull/7/merge", &pull("synchronize", json!({"id": 1}))));
        let expected = Change {
            head: id(HEAD),
            bases: vec![BaseRule::TestMerge(id(MERGE)), BaseRule::Branch("main".into())],
            pull_request: Some(7),
            from_fork: false,
            beside_secrets: false,
            scanning_ref: "refs/pull/7/merge".into(),
            label_features: BTreeSet::new(),
            occasion: Occasion::Final("the pull request is no draft"),
            head_before: None,
            opens: false,
            stage: None,
        };
        assert_eq!(same, expected);
        let target = change(of("pull_request_target", "refs/heads/main", &pull("opened", json!({"id": 1}))));
        assert_eq!(target.bases, [BaseRule::Branch("main".into())]);
    }

    #[test]
    fn labels_name_features() {
        let mut payload = pull("labeled", json!({"id": 1}));
        payload["pull_request"]["labels"] = json!([
            {"name": "feature:42"}, {"name": "Feature: #7"}, {"name": "feature:login"}, {"name": "bug"}, {"name": null}, 3
        ]);
        let labelled = change(of("pull_request", "refs/pull/7/merge", &payload));
        assert_eq!(labelled.label_features, BTreeSet::from([7, 42]));
    }

    #[test]
    fn only_a_payload_that_says_so_is_about_a_draft() {
        let occasion = |action: &str, draft: Value| {
            let mut payload = pull(action, json!({"id": 1}));
            payload["pull_request"]["draft"] = draft;
            if action == "edited" {
                payload["changes"] = json!({"base": {"ref": {"from": "release"}}});
            }
            change(of("pull_request", "refs/pull/7/merge", &payload)).occasion
        };
        for (action, begins) in [
            ("opened", true),
            ("reopened", true),
            ("edited", true),
            ("synchronize", false),
            ("converted_to_draft", false),
            ("labeled", false),
        ] {
            assert_eq!(occasion(action, json!(true)), Occasion::Draft { begins }, "{action}");
            for draft in [json!(false), json!(null), json!("true")] {
                assert!(matches!(occasion(action, draft), Occasion::Final(_)), "{action}");
            }
        }
        assert!(matches!(occasion("ready_for_review", json!(true)), Occasion::Final(_)));
    }

    #[test]
    fn another_repository_or_none_at_all_is_a_fork() {
        for repository in [json!({"id": 2}), json!(null), json!({})] {
            let fork = change(of("pull_request", "refs/pull/7/merge", &pull("opened", repository.clone())));
            assert!(fork.from_fork, "{repository}");
        }
    }

    #[test]
    fn a_push_is_measured_against_the_default_branch_unless_it_is_to_that() {
        let push = |git_ref: &str, before: &str| {
            let payload = json!({"before": before, "after": HEAD, "repository": {"default_branch": "main"}});
            change(of("push", git_ref, &payload)).bases
        };
        let replaced = BaseRule::Replaced { commit: id(BASE), git_ref: "refs/heads/main".into() };
        assert_eq!(push("refs/heads/main", BASE), [replaced, BaseRule::DefaultBranch]);
        for (git_ref, before) in
            [("refs/heads/main", ZEROS), ("refs/heads/topic", ZEROS), ("refs/heads/topic", BASE)]
        {
            assert_eq!(push(git_ref, before), [BaseRule::DefaultBranch], "{git_ref} {before}");
        }
    }

    #[test]
    fn a_merge_group_names_both_sides() {
        let payload =
            json!({"action": "checks_requested", "merge_group": {"head_sha": HEAD, "base_sha": BASE}});
        let git_ref = format!("refs/heads/gh-readonly-queue/main/pr-7-{BASE}");
        let group = change(of("merge_group", &git_ref, &payload));
        assert_eq!(
            (group.head, group.bases, group.pull_request),
            (id(HEAD), vec![BaseRule::Named(id(BASE))], None)
        );
    }

    #[test]
    fn some_events_have_nothing_to_judge_and_others_are_not_for_this() {
        let nothing = [
            of("pull_request", "refs/heads/main", &pull("closed", json!({"id": 1}))),
            of("push", "refs/tags/v1", &json!({"before": ZEROS, "after": HEAD})),
        ];
        for task in nothing {
            assert!(matches!(task, Ok(Task::Nothing(_))), "{task:?}");
        }
        // The payload alone does not make an event one with nothing to judge.
        let closed = of("pull_request", "refs/pull/7/merge", &pull("closed", json!({"id": 1})));
        assert!(matches!(closed, Ok(Task::Check(_))), "{closed:?}");
        let deleted =
            of("push", "refs/heads/topic", &json!({"deleted": true, "after": ZEROS, "before": BASE}));
        assert!(matches!(deleted, Err(EventError::Malformed(_))), "{deleted:?}");
        assert_eq!(of("schedule", "refs/heads/main", &json!({"schedule": "0 3 * * *"})), Ok(Task::Drift));
        for git_ref in ["", "refs/pull/8/merge", "refs/pull/7/merge/x", "refs/tags/v1"] {
            let closed = of("pull_request", git_ref, &pull("closed", json!({"id": 1})));
            assert!(matches!(closed, Err(EventError::Contradicted { .. })), "{git_ref}: {closed:?}");
        }
        for name in ["issue_comment", "release", ""] {
            assert!(
                matches!(of(name, "refs/heads/main", &json!({})), Err(EventError::NotForThis { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn of_a_workflow_run_only_its_id_and_its_head_are_read() {
        let payload = |id: Value, head: &str| {
            json!({"action": "completed", "workflow_run": {
                "id": id, "head_sha": head, "event": "push", "pull_requests": [{"number": 8}]
            }})
        };
        let named = of("workflow_run", "refs/heads/main", &payload(json!(5), HEAD));
        assert_eq!(named, Ok(Task::Reviews(NamedRun { id: 5, head: id(HEAD) })));
        for (id, head) in
            [(json!(null), HEAD), (json!("5"), HEAD), (json!(-5), HEAD), (json!(5), ZEROS), (json!(5), "x")]
        {
            let refused = of("workflow_run", "refs/heads/main", &payload(id.clone(), head));
            assert!(matches!(refused, Err(EventError::Malformed(_))), "{id} {head}: {refused:?}");
        }
    }

    #[test]
    fn a_payload_that_the_runner_contradicts_is_refused() {
        let pull = pull("opened", json!({"id": 1}));
        let group =
            json!({"action": "checks_requested", "merge_group": {"head_sha": BASE, "base_sha": BASE}});
        let stale =
            json!({"action": "checks_requested", "merge_group": {"head_sha": HEAD, "base_sha": BASE}});
        let push = json!({"before": BASE, "after": BASE, "repository": {"default_branch": "main"}});
        let cases = [
            ("pull_request", "refs/pull/8/merge", "main", &pull, "GITHUB_REF"),
            ("pull_request", "refs/heads/main", "main", &pull, "GITHUB_REF"),
            ("pull_request", "refs/pull/7/merge", "release", &pull, "GITHUB_BASE_REF"),
            ("pull_request_target", "refs/heads/main", "release", &pull, "GITHUB_BASE_REF"),
            ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-1", "", &group, "GITHUB_SHA"),
            ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-1", "", &stale, "GITHUB_REF"),
            ("pull_request", "refs/pull/7/merge", "", &pull, "GITHUB_BASE_REF"),
            ("push", "refs/heads/topic", "", &push, "GITHUB_SHA"),
        ];
        for (name, git_ref, base_ref, payload, variable) in cases {
            let refused = task(RunnerVariables { name, sha: HEAD, git_ref, base_ref }, payload).unwrap_err();
            assert!(refused.to_string().ends_with(&format!("not what {variable} says")), "{refused}");
        }
        let runner = RunnerVariables {
            name: "pull_request",
            sha: MERGE,
            git_ref: "refs/pull/7/merge",
            base_ref: "main",
        };
        assert!(task(runner, &pull).is_ok());
    }

    #[test]
    fn what_is_no_commit_is_refused_and_never_passed_on() {
        let mut payload = pull("opened", json!({"id": 1}));
        for bad in [json!("$(id)"), json!("-x"), json!(ZEROS), json!(null), json!(5), json!("abc")] {
            payload["pull_request"]["head"]["sha"] = bad.clone();
            assert!(matches!(of("pull_request", "", &payload), Err(EventError::Malformed(_))), "{bad}");
        }
    }
}
