//! Events that strangers cause, and the conditions and steps that ask who caused one.

use std::collections::BTreeSet;

use qa_reading::workflow::{Condition, Expression, Job, Literal, Operator, Path, Step, Trigger, Workflow};

use super::WITH_RIGHTS;
use crate::workflows::chosen::is_chosen;
use crate::workflows::model::{Group, Model, action_of, text_of};

/// Events that strangers cause, beside those with the rights of the repository: on a branch of its own a review runs with
/// its secrets too.
const REVIEWS: &[&str] = &["pull_request_review", "pull_request_review_comment"];

/// Types of events that only whoever may triage causes.
const TRIAGE: &[&str] = &[
    "assigned",
    "demilestoned",
    "labeled",
    "locked",
    "milestoned",
    "pinned",
    "review_requested",
    "transferred",
    "unassigned",
    "unlabeled",
    "unlocked",
    "unpinned",
];

/// Events that need rights or nobody.
const TRUSTED: &[&str] = &["merge_group", "push", "repository_dispatch", "schedule", "workflow_dispatch"];

/// Parts of actions' names and of scripts that ask for the permission of a person.
const ASKING_ACTIONS: &[&str] = &["permission", "membership", "team-member", "authorize"];
const ASKING_SCRIPTS: &[&str] = &[
    "/collaborators/",
    "author_association",
    "checkcollaborator",
    "getcollaboratorpermissionlevel",
    "/memberships/",
];

/// Returns the events of a workflow that a stranger causes.
pub(super) fn strangers<'w, 'd>(workflow: &'w Workflow<'d>) -> Vec<&'w Trigger<'d>> {
    let names = WITH_RIGHTS.iter().chain(REVIEWS);
    let triggers = names.filter_map(|name| workflow.trigger(name));
    triggers.filter(|trigger| !is_only(trigger, TRIAGE)).collect()
}

fn is_only(trigger: &Trigger<'_>, types: &[&str]) -> bool {
    let own = trigger.filter("types");
    !own.is_empty() && own.iter().all(|each| types.contains(each))
}

/// Returns whether a text of an event is by whoever caused it. Others write the issue below a comment, and the issue that
/// somebody edits or reopens.
pub(super) fn is_by_actor(event: &Trigger<'_>, text: &Path) -> bool {
    if matches!(text.name(1), Some("comment" | "review" | "workflow_run")) {
        return true;
    }
    match event.name {
        "issues" | "discussion" => is_only(event, &["opened", "created"]),
        "pull_request_target" => is_only(event, &["opened", "synchronize"]),
        "workflow_run" => true,
        _ => false,
    }
}

/// Returns whether something asks who caused the event before a job's steps run: a condition of the job or of one that it
/// waits for, an environment with its reviewers, or a step.
pub(super) fn is_vetted(model: &Model<'_>, group: &Group<'_, '_>) -> bool {
    let (Some(workflow), Some(job)) = (model.workflow(), group.job) else { return true };
    let mut seen = BTreeSet::new();
    job.environment.is_some() || is_job_vetted(workflow, job, &mut seen)
}

fn is_job_vetted<'w>(workflow: &'w Workflow<'_>, job: &'w Job<'_>, seen: &mut BTreeSet<&'w str>) -> bool {
    if !seen.insert(job.id) {
        return false;
    }
    if asks(job.condition, has_comments(workflow)) || job.steps.iter().any(asks_for_permission) {
        return true;
    }
    // `always()` runs a job whatever became of the ones before.
    let runs_anyway = job.condition.is_some_and(|condition| {
        let text = text_of(condition.value).to_ascii_lowercase();
        text.contains("always()") || text.contains("cancelled()") || text.contains("failure()")
    });
    let ids: Vec<String> = job.needs.iter().map(|id| text_of(*id)).collect();
    let mut needed = workflow.jobs.iter().filter(|other| ids.iter().any(|id| id == other.id));
    !runs_anyway && needed.any(|other| is_job_vetted(workflow, other, seen))
}

/// Returns whether the condition of a step asks who caused the event.
pub(super) fn is_asked(model: &Model<'_>, step: &Step<'_>) -> bool {
    asks(step.condition, model.workflow().is_some_and(has_comments))
}

/// Returns whether comments start a workflow: who wrote the issue says nothing of who comments on it.
fn has_comments(workflow: &Workflow<'_>) -> bool {
    ["issue_comment", "discussion_comment"].iter().any(|event| workflow.trigger(event).is_some())
}

/// Returns whether a step asks for somebody's permission. What it does with the answer is not read.
fn asks_for_permission(step: &Step<'_>) -> bool {
    let name = action_of(step).unwrap_or_default().to_ascii_lowercase();
    if ASKING_ACTIONS.iter().any(|part| name.contains(part)) {
        return true;
    }
    let scripts = step.run.map(|run| run.value).into_iter().chain(step.input("script"));
    scripts.into_iter().any(|script| {
        let text = text_of(script).to_ascii_lowercase();
        ASKING_SCRIPTS.iter().any(|part| text.contains(part))
    })
}

fn asks(condition: Option<Condition<'_>>, has_comments: bool) -> bool {
    condition.and_then(Condition::expression).is_some_and(|expression| vets(&expression, has_comments))
}

/// Returns whether an expression holds only for events of people with rights, or of nobody.
fn vets(expression: &Expression, has_comments: bool) -> bool {
    match expression {
        Expression::Literal(literal) => matches!(literal, Literal::Flag(false)),
        Expression::Path(path) => is_computed(path),
        Expression::Part { of, .. } => of.paths().into_iter().any(is_computed),
        Expression::Not(inner) => matches!(&**inner, Expression::Path(path) if is_head_fork(path)),
        // `contains(list, somebody)`: a text that a stranger writes is no list.
        Expression::Call { function, arguments } => {
            let paths: Vec<&Path> = arguments.iter().flat_map(Expression::paths).collect();
            let names_strangers = arguments.iter().any(names_strangers);
            let is_chosen = paths.iter().any(|path| is_chosen(path));
            function == "contains"
                && !names_strangers
                && !is_chosen
                && paths.into_iter().any(|path| is_identity(path, has_comments) || is_computed(path))
        }
        Expression::Binary { operator, left, right } => match operator {
            Operator::And => vets(left, has_comments) || vets(right, has_comments),
            Operator::Or => vets(left, has_comments) && vets(right, has_comments),
            Operator::Equal => {
                is_equal_to_somebody(left, right, has_comments)
                    || is_equal_to_somebody(right, left, has_comments)
            }
            Operator::Unequal => [left, right].into_iter().any(|side| match &**side {
                Expression::Path(path) => is_computed(path) || is_head_fork(path),
                Expression::Literal(_)
                | Expression::Part { .. }
                | Expression::Call { .. }
                | Expression::Not(_)
                | Expression::Binary { .. } => false,
            }),
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => false,
        },
    }
}

/// Returns whether a comparison holds for people whom the workflow or its repository names.
fn is_equal_to_somebody(path: &Expression, other: &Expression, has_comments: bool) -> bool {
    let Expression::Path(path) = path else { return false };
    let is_fixed = match other {
        Expression::Literal(_) => !names_strangers(other),
        Expression::Path(other) => {
            matches!(other.context.as_str(), "vars" | "secrets")
                || other.is_within(&["github", "repository"])
                || other.is_within(&["github", "repository_owner"])
        }
        Expression::Part { .. }
        | Expression::Call { .. }
        | Expression::Not(_)
        | Expression::Binary { .. } => false,
    };
    if path.is_within(&["github", "event_name"]) {
        return matches!(other, Expression::Literal(Literal::Text(name)) if TRUSTED.contains(&name.as_str()));
    }
    if path.is_within(&["github", "event", "action"]) {
        return matches!(other, Expression::Literal(Literal::Text(name)) if TRIAGE.contains(&name.as_str()));
    }
    let is_own_code = is_head_fork(path) && matches!(other, Expression::Literal(Literal::Flag(false)));
    is_computed(path) || is_own_code || is_fixed && is_identity(path, has_comments)
}

/// Returns whether a text names an association that everybody has or gets.
fn names_strangers(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(Literal::Text(text)) => {
            // GitHub compares without case.
            let text = text.to_ascii_uppercase();
            ["CONTRIBUTOR", "FIRST_TIMER", "MANNEQUIN", "NONE"].iter().any(|name| text.contains(name))
        }
        Expression::Call { arguments, .. } => arguments.iter().any(names_strangers),
        Expression::Literal(_)
        | Expression::Path(_)
        | Expression::Part { .. }
        | Expression::Not(_)
        | Expression::Binary { .. } => false,
    }
}

/// Returns whether a path is about what jobs, steps or callers worked out.
fn is_computed(path: &Path) -> bool {
    matches!(path.context.as_str(), "inputs" | "needs" | "steps")
}

/// Returns whether a path says who acts, or what only whoever may triage sets.
fn is_identity(path: &Path, has_comments: bool) -> bool {
    const OF_EVENT: &[&str] = &["author_association", "full_name", "login"];
    const WHOLE: &[&[&str]] = &[
        &["github", "actor"],
        &["github", "actor_id"],
        &["github", "triggering_actor"],
        &["github", "event", "label"],
        &["github", "event", "issue", "labels"],
        &["github", "event", "pull_request", "labels"],
    ];
    // Facts about the repository hold for everybody.
    let is_of_actor = match path.name(1) {
        Some("repository" | "organization") => false,
        Some("issue" | "discussion") => !has_comments,
        Some(_) | None => true,
    };
    WHOLE.iter().any(|names| path.is_within(names))
        || path.is_within(&["github", "event"])
            && is_of_actor
            && OF_EVENT.iter().any(|name| ends_with(path, name))
}

fn is_head_fork(path: &Path) -> bool {
    path.name(2) == Some("head") && ends_with(path, "fork")
}

fn ends_with(path: &Path, name: &str) -> bool {
    let last = path.segments.len().checked_sub(1);
    last.and_then(|at| path.name(at)) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_asks_who_it_was_or_something_else() {
        let cases = [
            ("github.event.comment.author_association == 'OWNER'", true),
            ("contains(fromJSON('[\"OWNER\", \"MEMBER\"]'), github.event.comment.author_association)", true),
            (
                "contains(fromJSON('[\"OWNER\", \"CONTRIBUTOR\"]'), github.event.comment.author_association)",
                false,
            ),
            ("github.event.comment.author_association == 'NONE'", false),
            ("github.event.comment.author_association != 'NONE'", false),
            ("contains(github.event.comment.body, '@claude')", false),
            ("github.event.issue.pull_request && startsWith(github.event.comment.body, '/fix')", false),
            ("github.actor == 'dependabot[bot]'", true),
            ("github.actor != 'dependabot[bot]'", false),
            ("github.event.comment.user.login == 'alice'", true),
            ("github.event.issue.user.login == 'alice'", false),
            ("github.event.issue.author_association == 'OWNER'", false),
            ("github.event.repository.full_name == github.repository", false),
            ("!github.event.repository.fork", false),
            ("contains(github.event.comment.body, github.actor)", false),
            ("endsWith(github.actor, 'x')", false),
            (
                "contains(fromJSON('[\"owner\", \"contributor\"]'), github.event.comment.author_association)",
                false,
            ),
            ("github.event.sender.type != 'Bot'", false),
            ("github.event.label.name == 'ai'", true),
            ("contains(github.event.issue.labels.*.name, 'ai')", true),
            ("github.event.pull_request.head.repo.full_name == github.repository", true),
            ("!github.event.pull_request.head.repo.fork", true),
            ("github.event.pull_request.head.repo.fork == false", true),
            ("needs.check.outputs.allowed == 'true'", true),
            ("steps.check.outputs.allowed", true),
            ("github.event.comment.user.login == github.event.issue.user.login", false),
            ("github.event_name == 'workflow_dispatch'", true),
            ("github.event_name == 'issue_comment'", false),
            (
                "github.event_name == 'workflow_dispatch' || github.event.comment.author_association == 'MEMBER'",
                true,
            ),
            ("github.event_name == 'workflow_dispatch' || contains(github.event.comment.body, '/ai')", false),
            (
                "contains(github.event.comment.body, '/ai') && github.event.comment.author_association == 'MEMBER'",
                true,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(vets(&Expression::parse(text).expect(text), true), expected, "{text}");
        }
    }
}
