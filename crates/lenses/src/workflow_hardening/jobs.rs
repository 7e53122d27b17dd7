//! Rights of a job, beside whose code it runs: triggers, permissions, secrets, credentials and runners.

use qa_reading::shell::Word;
use qa_reading::workflow::{
    Access, Job, ParsedRun, Path, Permissions, Reference, Secrets, Step, Trigger, Value, Workflow,
};

use super::{CREDENTIALS, Found, INHERITED, PERMISSIONS, SELF_HOSTED, TARGET_CHECKOUT, UNVETTED};
use crate::workflows::model::{Group, Model, Scope, text_of, uses_action};

/// Fewest scopes that a token writes to when it counts as one that may write to nearly everything.
const MANY_SCOPES: usize = 6;

/// Looks at permissions and at every job.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    if let Some(workflow) = model.workflow() {
        permissions(workflow.permissions.as_ref(), found);
    }
    for group in model.groups() {
        credentials(&group, found);
        let (Some(workflow), Some(job)) = (model.workflow(), group.job) else { continue };
        permissions(job.permissions.as_ref(), found);
        inherited(job, found);
        self_hosted(workflow, job, found);
        checkouts(workflow, job, &group, found);
    }
}

fn permissions(permissions: Option<&Permissions<'_>>, found: &mut Vec<Found>) {
    let Some(permissions) = permissions else { return };
    if permissions.all == Some(Access::Write) {
        let summary = "GITHUB_TOKEN has write permission for all scopes";
        found.push(Found::new(PERMISSIONS, permissions.value, "write-all", summary));
        return;
    }
    let mut scopes: Vec<&str> = permissions.writes().map(|grant| grant.scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.len() >= MANY_SCOPES {
        let summary = "GITHUB_TOKEN has write permission for six scopes or more";
        let places = permissions.writes().map(|grant| grant.scope_span);
        let found_here = Found::new(PERMISSIONS, permissions.value, scopes.join(" "), summary);
        found.push(found_here.because(places));
    }
}

fn inherited(job: &Job<'_>, found: &mut Vec<Found>) {
    let (Some(uses), Some(Secrets::Inherited(secrets))) = (job.uses, &job.secrets) else { return };
    let called = text_of(uses);
    if matches!(Reference::parse(&called), Some(Reference::Local(_))) {
        return;
    }
    let name = called.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let summary = "all secrets are inherited by a workflow of another repository";
    found.push(Found::new(INHERITED, *secrets, name, summary).because([uses.span()]));
}

fn self_hosted(workflow: &Workflow<'_>, job: &Job<'_>, found: &mut Vec<Found>) {
    let events = ["pull_request", "pull_request_target"];
    let Some(event) = events.into_iter().find_map(|name| workflow.trigger(name)) else { return };
    if let Some(label) = job.labels().into_iter().find(is_self_hosted) {
        let summary = "pull requests run on a self-hosted runner";
        found.push(Found::new(SELF_HOSTED, label, "", summary).because([event.name_span]));
    }
}

fn is_self_hosted(label: &Value<'_>) -> bool {
    label.constant().is_some_and(|text| text.eq_ignore_ascii_case("self-hosted"))
}

/// Owner of code that a step fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    PullRequest,
    WorkflowRun,
}

/// Code of others that a step fetches.
struct Fetched {
    source: Source,
    found: Found,
}

/// Returns the code of a pull request, or of another run, that a step gets.
fn fetched<'d>(step: &Step<'d>, scope: &Scope<'_, 'd>) -> Option<Fetched> {
    let summary = "pull request code is used in a privileged workflow";
    if uses_action(step, "actions/checkout") {
        return ["ref", "repository"].into_iter().find_map(|input| {
            let value = step.input(input)?;
            let source = source_of(value, scope)?;
            Some(Fetched { source, found: Found::new(TARGET_CHECKOUT, value, text_of(value), summary) })
        });
    }
    let run = step.run?;
    if let Some(parsed) = run.parse() {
        let command =
            parsed.script.commands.iter().find(|command| fetches(&parsed, command.effective(), scope))?;
        let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
        let place = parsed.template.place(command.span);
        let found = Found::new(TARGET_CHECKOUT, run.value, words.join(" "), summary).placed_at(place);
        return Some(Fetched { source: Source::PullRequest, found });
    }
    let template = run.template();
    let begin = template.text().find("gh pr checkout")?;
    let place =
        template.place(qa_reading::syntax::Span { start: begin, end: begin + "gh pr checkout".len() });
    let found = Found::new(TARGET_CHECKOUT, run.value, "gh pr checkout", summary).placed_at(place);
    Some(Fetched { source: Source::PullRequest, found })
}

/// Returns whether a command gets the code of a pull request.
fn fetches(parsed: &ParsedRun, words: &[Word], scope: &Scope<'_, '_>) -> bool {
    let texts: Vec<&str> = words.iter().map(Word::text).collect();
    let (Some(program), arguments) = (texts.first(), texts.get(1..).unwrap_or_default()) else {
        return false;
    };
    match program.rsplit('/').next() {
        Some("gh") => arguments.starts_with(&["pr", "checkout"]),
        Some("git") => {
            let gets = ["fetch", "pull"].into_iter().any(|name| arguments.contains(&name));
            let uses =
                ["checkout", "switch", "reset", "merge"].into_iter().any(|name| arguments.contains(&name));
            let mut refs = arguments.iter().map(|word| word.trim_start_matches('+'));
            let mut sources = words.iter().flat_map(|word| scope.word_sources(parsed, word));
            gets && refs.any(|name| name.starts_with("pull/") || name.starts_with("refs/pull/"))
                || uses && sources.any(|path| is_head(&path))
        }
        Some(_) | None => false,
    }
}

fn is_head(path: &Path) -> bool {
    const HEADS: &[&[&str]] = &[
        &["github", "event", "pull_request", "head"],
        &["github", "event", "pull_request", "merge_commit_sha"],
        &["github", "head_ref"],
    ];
    HEADS.iter().any(|names| path.is_within(names))
}

fn source_of(value: Value<'_>, scope: &Scope<'_, '_>) -> Option<Source> {
    let template = value.template()?;
    let mut paths = Vec::new();
    for embedded in &template.expressions {
        if let Some(expression) = &embedded.expression {
            paths.extend(scope.sources(expression));
        }
    }
    let is_pull = template.text().contains("refs/pull/") && !template.expressions.is_empty();
    if is_pull || paths.iter().any(is_head) {
        return Some(Source::PullRequest);
    }
    let is_run = paths.iter().any(|path| {
        let name = path.name(2).unwrap_or_default();
        path.is_within(&["github", "event", "workflow_run"])
            && (name.starts_with("head_") || name == "pull_requests")
    });
    is_run.then_some(Source::WorkflowRun)
}

/// Parts of a condition that ask about whoever wrote the code.
const VETTED: &[&str] = &[
    "head.repo.full_name",
    "head.repo.fork",
    "head.repo.owner",
    "head_repository",
    "user.login",
    "user.type",
    "github.actor",
    "triggering_actor",
    "sender.",
    "author_association",
    "label",
    "workflow_run.event",
    "workflow_run.head_branch",
    "== 'pull_request'",
    "!= 'pull_request_target'",
    "== 'push'",
    "== 'workflow_dispatch'",
    "merged",
    "inputs.",
    "needs.",
    "steps.",
];

/// Returns whether a condition asks whose code it is; one that always holds asks nothing.
fn is_vetted(condition: Option<qa_reading::workflow::Condition<'_>>) -> bool {
    let Some(condition) = condition.filter(|condition| condition.constant().is_none()) else { return false };
    let text = text_of(condition.value);
    VETTED.iter().any(|part| text.contains(part))
}

/// Finds code of others that is fetched where secrets are and used by a later step, and nothing that asks whose it is.
fn checkouts<'a, 'd>(workflow: &Workflow<'d>, job: &Job<'d>, group: &Group<'a, 'd>, found: &mut Vec<Found>) {
    if is_vetted(job.condition) || job.environment.is_some() {
        return;
    }
    for (position, step) in group.steps.iter().enumerate() {
        let Some(Fetched { source, found: mut each }) = fetched(step, &group.scope(step)) else { continue };
        let later = group.steps.get(position + 1..).unwrap_or_default();
        if is_vetted(step.condition) || !is_used(step, later) {
            continue;
        }
        let Some((rule, trigger)) = rule_for(workflow, source) else { continue };
        each.rule = rule;
        if rule == UNVETTED {
            each.summary = match source {
                Source::PullRequest => "comment runs pull request code in a privileged workflow",
                Source::WorkflowRun => "code of the triggering run's head is used in a privileged workflow",
            };
        }
        found.push(each.because([trigger.name_span]));
    }
}

/// Returns the rule that code of others breaks in a workflow, and the trigger that makes it so.
fn rule_for<'w, 'd>(workflow: &'w Workflow<'d>, source: Source) -> Option<(&'static str, &'w Trigger<'d>)> {
    match source {
        Source::PullRequest => match workflow.trigger("pull_request_target") {
            Some(trigger) => Some((TARGET_CHECKOUT, trigger)),
            None => Some((UNVETTED, workflow.trigger("issue_comment")?)),
        },
        Source::WorkflowRun => {
            let trigger = workflow.trigger("workflow_run")?;
            trigger.filter("branches").is_empty().then_some((UNVETTED, trigger))
        }
    }
}

/// Returns whether later steps can run the fetched code. Code in a directory of its own has to be named.
fn is_used(step: &Step<'_>, later: &[&Step<'_>]) -> bool {
    let path = step.input("path").map(text_of).unwrap_or_default();
    let place = path.trim().trim_matches(['.', '/']);
    later.iter().any(|step| {
        let mut values: Vec<Value<'_>> = step.run.map(|run| run.value).into_iter().chain(step.uses).collect();
        if place.is_empty() {
            return !values.is_empty();
        }
        values.extend(step.working_directory);
        values.extend(step.with.iter().chain(&step.env).map(|member| member.value));
        values.into_iter().any(|value| text_of(value).contains(place))
    })
}

/// Finds a whole checkout, with the token that it keeps, in an artifact that anyone may download.
fn credentials(group: &Group<'_, '_>, found: &mut Vec<Found>) {
    for (position, checkout) in group.steps.iter().enumerate() {
        let kept = checkout.input("persist-credentials").is_none_or(|value| value.flag() != Some(false));
        if !uses_action(checkout, "actions/checkout") || !kept {
            continue;
        }
        let directory = checkout.input("path").map(text_of).unwrap_or_default();
        let directory = inside_workspace(&directory);
        for upload in group.steps.iter().skip(position + 1) {
            if !uses_action(upload, "actions/upload-artifact") {
                continue;
            }
            let Some(path) = upload.input("path") else { continue };
            if holds_token(&text_of(path), directory) {
                let summary = "artifact contains the checkout and its persisted token";
                let place = checkout.uses.map(Value::span);
                found.push(Found::new(CREDENTIALS, path, text_of(path), summary).because(place));
            }
        }
    }
}

/// Path without what stands for the workspace itself.
fn inside_workspace(path: &str) -> &str {
    let path = path.trim();
    let path = ["${{ github.workspace }}", "${{github.workspace}}", "$GITHUB_WORKSPACE"]
        .iter()
        .find_map(|workspace| path.strip_prefix(workspace))
        .unwrap_or(path);
    path.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/').trim_end_matches('.')
}

/// Returns whether the paths of an upload take in `.git/config` of a checkout.
fn holds_token(paths: &str, directory: &str) -> bool {
    let git = if directory.is_empty() { ".git".to_owned() } else { format!("{directory}/.git") };
    let (mut holds, mut is_excluded) = (false, false);
    for path in paths.lines().map(str::trim).filter(|path| !path.is_empty()) {
        let (excludes, path) = match path.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, path),
        };
        let own = inside_workspace(path);
        let own = own.trim_end_matches("**").trim_end_matches('*').trim_end_matches('/');
        let own = own.trim_end_matches("/**").trim_end_matches("**").trim_end_matches('/');
        let is_whole = own.is_empty() || own == directory || directory.starts_with(&format!("{own}/"));
        let is_git = own == git || own.strip_prefix(git.as_str()).is_some_and(|rest| rest.starts_with('/'));
        if excludes {
            is_excluded |= is_git;
        } else {
            holds |= is_whole || is_git;
        }
    }
    holds && !is_excluded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_holds_the_token_of_the_checkout_that_it_takes_in() {
        let cases = [
            (".", "", true),
            ("./", "", true),
            ("**/*", "", true),
            ("${{ github.workspace }}", "", true),
            ("${{ github.workspace }}/", "", true),
            ("dist\n.", "", true),
            (".git", "", true),
            (".git/config", "", true),
            ("sub", "sub", true),
            ("./sub/", "sub", true),
            (".", "sub", true),
            ("dist", "", false),
            ("dist", "sub", false),
            ("dist/**", "", false),
            (".\n!.git", "", false),
            (".github", "", false),
            ("subs", "sub", false),
        ];
        for (paths, directory, expected) in cases {
            assert_eq!(holds_token(paths, directory), expected, "{paths:?} {directory}");
        }
    }
}
