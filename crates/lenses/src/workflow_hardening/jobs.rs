//! What a job may do, beside whose code it runs: triggers with rights, permissions, secrets, credentials and runners.

use std::collections::BTreeMap;

use super::yaml::{Document, Node, Piece};
use super::{CREDENTIALS, Found, INHERITED, PERMISSIONS, SELF_HOSTED, TARGET_CHECKOUT, UNVETTED};

/// The events of a workflow with their lines.
type Events<'t> = BTreeMap<&'t str, u64>;

fn events<'t>(document: &Document<'t>) -> Events<'t> {
    let Some(on) = document.get(document.root(), "on") else { return Events::new() };
    let own = on.text.iter().map(|piece| (piece.text, piece.line));
    let below = document.below(on).flat_map(|node| {
        let name =
            if node.key.is_empty() { node.text.first().map_or("", |piece| piece.text) } else { node.key };
        Some((name, node.line))
    });
    own.chain(below).collect()
}

/// Looks at permissions and at every job.
pub(super) fn look<'t>(document: &Document<'t>, found: &mut Vec<Found<'t>>) {
    let events = events(document);
    permissions(document, document.root(), found);
    let jobs = document.get(document.root(), "jobs");
    for job in jobs.into_iter().flat_map(|jobs| document.below(jobs)) {
        permissions(document, job, found);
        inherited(document, job, found);
        self_hosted(document, job, &events, found);
        let steps: Vec<&Node<'t>> =
            document.get(job, "steps").map(|steps| document.below(steps).collect()).unwrap_or_default();
        checkouts(document, job, &steps, &events, found);
        credentials(document, &steps, found);
    }
}

fn permissions<'t>(document: &Document<'t>, of: &Node<'t>, found: &mut Vec<Found<'t>>) {
    let granted = document.get(of, "permissions").filter(|node| node.scalar() == "write-all");
    if let Some(piece) = granted.and_then(|node| node.text.first()) {
        let summary = "the token may write to everything";
        found.push(Found::new(PERMISSIONS, *piece, summary));
    }
}

fn inherited<'t>(document: &Document<'t>, job: &Node<'t>, found: &mut Vec<Found<'t>>) {
    let elsewhere = document.get(job, "uses").filter(|uses| !uses.scalar().starts_with('.'));
    let secrets = document.get(job, "secrets").filter(|node| node.scalar() == "inherit");
    if let (Some(uses), Some(piece)) = (elsewhere, secrets.and_then(|node| node.text.first())) {
        let summary = "every secret goes to a workflow of another repository";
        found.push(Found::new(INHERITED, *piece, summary).because([uses.line]));
    }
}

fn self_hosted<'t>(document: &Document<'t>, job: &Node<'t>, events: &Events<'t>, found: &mut Vec<Found<'t>>) {
    let event = ["pull_request", "pull_request_target"].into_iter().find_map(|name| events.get(name));
    let (Some(event), Some(runs_on)) = (event, document.get(job, "runs-on")) else { return };
    let label = document
        .all(runs_on)
        .into_iter()
        .flat_map(|node| &node.text)
        .find(|piece| piece.text == "self-hosted");
    if let Some(piece) = label {
        let summary = "pull requests run on a machine of one's own";
        found.push(Found::new(SELF_HOSTED, *piece, summary).because([*event]));
    }
}

/// Whether a step gets the code of a pull request, and what says so.
fn foreign<'t>(document: &Document<'t>, step: &Node<'t>) -> Option<(Piece<'t>, Source)> {
    let uses = document.get(step, "uses").map_or("", |uses| uses.scalar());
    if uses.starts_with("actions/checkout@") {
        let with = document.get(step, "with")?;
        let named = [document.get(with, "ref"), document.get(with, "repository")];
        return named.into_iter().flatten().find_map(|node| {
            let piece = node.text.first()?;
            source(piece.text).map(|source| (*piece, source))
        });
    }
    let run = document.get(step, "run")?;
    run.text.iter().find_map(|piece| {
        let text = piece.text;
        let comment = text.trim_start().starts_with('#');
        let fetches = ["gh pr checkout", "git fetch origin pull/", "git fetch origin refs/pull/"];
        let by_number = fetches.iter().any(|command| text.contains(command));
        let by_name = text.contains("git checkout ") && text.contains("github.event.pull_request.head.");
        (!comment && (by_number || by_name)).then_some((*piece, Source::PullRequest))
    })
}

/// Whose code a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    PullRequest,
    WorkflowRun,
}

fn source(text: &str) -> Option<Source> {
    const HEADS: &[&str] = &[
        "github.event.pull_request.head.",
        "github.head_ref",
        "refs/pull/",
        "pull_request.merge_commit_sha",
    ];
    if HEADS.iter().any(|head| text.contains(head)) && text.contains("${{") {
        return Some(Source::PullRequest);
    }
    let run = ["workflow_run.head_", "workflow_run.pull_requests"];
    run.iter().any(|head| text.contains(head)).then_some(Source::WorkflowRun)
}

/// What a condition may ask about whoever wrote the code.
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

/// Code of others that is fetched where secrets are and used by a later step, and nothing that asks whose it is.
fn checkouts<'t>(
    document: &Document<'t>,
    job: &Node<'t>,
    steps: &[&Node<'t>],
    events: &Events<'t>,
    found: &mut Vec<Found<'t>>,
) {
    let vets = |node: &Node<'_>| {
        document.get(node, "if").is_some_and(|condition| VETTED.iter().any(|asks| condition.contains(asks)))
    };
    if vets(job) || document.get(job, "environment").is_some() {
        return;
    }
    for (position, step) in steps.iter().enumerate() {
        let Some((piece, source)) = foreign(document, step) else { continue };
        let later = &steps[position + 1..];
        if vets(step) || !is_used(document, step, later) {
            continue;
        }
        let filtered = document.at(document.root(), &["on", "workflow_run", "branches"]).is_some();
        let (rule, event, summary) = match source {
            Source::PullRequest if events.contains_key("pull_request_target") => (
                TARGET_CHECKOUT,
                "pull_request_target",
                "the code of a pull request is used where secrets and a token that may write are",
            ),
            Source::PullRequest if events.contains_key("issue_comment") => {
                (UNVETTED, "issue_comment", "a comment makes the code of a pull request run beside secrets")
            }
            Source::WorkflowRun if events.contains_key("workflow_run") && !filtered => {
                (UNVETTED, "workflow_run", "the code of another run's head is used beside secrets")
            }
            Source::PullRequest | Source::WorkflowRun => continue,
        };
        found.push(Found::new(rule, piece, summary).because(events.get(event).copied()));
    }
}

/// Whether later steps can run what was fetched. What lies in a directory of its own has to be named.
fn is_used(document: &Document<'_>, step: &Node<'_>, later: &[&Node<'_>]) -> bool {
    let place =
        document.at(step, &["with", "path"]).map(|path| path.scalar().trim_matches(['.', '/'])).unwrap_or("");
    later.iter().any(|step| {
        place.is_empty() && (document.get(step, "run").is_some() || document.get(step, "uses").is_some())
            || document.all(step).iter().any(|node| !place.is_empty() && node.contains(place))
    })
}

/// A whole checkout, with the token that it keeps, in an artifact that anyone may download.
fn credentials<'t>(document: &Document<'t>, steps: &[&Node<'t>], found: &mut Vec<Found<'t>>) {
    let uses = |step: &Node<'t>, name: &str| {
        document.get(step, "uses").is_some_and(|uses| uses.scalar().starts_with(name))
    };
    let keeps = |step: &&&Node<'t>| {
        let kept =
            document.at(step, &["with", "persist-credentials"]).is_none_or(|node| node.scalar() != "false");
        uses(step, "actions/checkout@") && document.at(step, &["with", "path"]).is_none() && kept
    };
    let Some(checkout) = steps.iter().find(keeps) else { return };
    for step in steps.iter().filter(|step| uses(step, "actions/upload-artifact@")) {
        let path = document.at(step, &["with", "path"]).and_then(|path| path.text.first());
        let whole = ["", ".", "./", "*", "**", "**/*", "${{ github.workspace }}", "${{github.workspace}}"];
        if let Some(piece) = path.filter(|piece| whole.contains(&piece.text) && !piece.text.is_empty()) {
            let summary = "an artifact holds the whole checkout with the token it keeps";
            found.push(Found::new(CREDENTIALS, *piece, summary).because([checkout.line]));
        }
    }
}
