//! Caches that a workflow which publishes builds from: whoever can write one writes what is published.

use super::yaml::{Document, Node, Piece};
use super::{CACHE, Found};

/// Looks at every step of a workflow that a release or a tag starts, and that publishes something.
pub(super) fn look<'t>(document: &Document<'t>, found: &mut Vec<Found<'t>>) {
    let Some(event) = released(document) else { return };
    let jobs = document.get(document.root(), "jobs");
    let steps: Vec<&Node<'t>> = jobs
        .into_iter()
        .flat_map(|jobs| document.below(jobs))
        .filter_map(|job| document.get(job, "steps"))
        .flat_map(|steps| document.below(steps))
        .collect();
    let Some(publishing) = steps.iter().find_map(|step| publishes(document, step)) else { return };
    for step in steps {
        if let Some(piece) = restored(document, step) {
            let summary = "what is published is built from a cache that other runs write";
            found.push(Found::new(CACHE, piece, summary).because([event, publishing]));
        }
    }
}

/// The line of an event that starts the workflow for a release or a tag.
fn released(document: &Document<'_>) -> Option<u64> {
    let on = document.get(document.root(), "on")?;
    let named = document.all(on).into_iter().find(|node| node.key == "release" || node.scalar() == "release");
    let tags = document.at(document.root(), &["on", "push", "tags"]);
    named.or(tags).map(|node| node.line)
}

/// The line of a step that publishes.
fn publishes(document: &Document<'_>, step: &Node<'_>) -> Option<u64> {
    const COMMANDS: &[&str] = &[
        "cargo publish",
        "docker push",
        "gem push",
        "gh release",
        "goreleaser",
        "gradlew publish",
        "lerna publish",
        "mvn deploy",
        "npm publish",
        "nuget push",
        "poetry publish",
        "twine upload",
        "uv publish",
        "yarn publish",
    ];
    const ACTIONS: &[&str] = &["attest", "goreleaser", "publish", "release", "upload-artifact"];
    let run = document.get(step, "run").filter(|run| COMMANDS.iter().any(|command| run.contains(command)));
    let uses = document.get(step, "uses").filter(|uses| ACTIONS.iter().any(|action| uses.contains(action)));
    let pushes = document.at(step, &["with", "push"]).filter(|push| push.scalar() == "true");
    run.or(uses).or(pushes).map(|node| node.line)
}

/// What of a step restores a cache.
fn restored<'t>(document: &Document<'t>, step: &Node<'t>) -> Option<Piece<'t>> {
    let uses = document.get(step, "uses")?;
    let name = uses.scalar().split('@').next().unwrap_or("");
    let with = |key: &str| document.at(step, &["with", key]);
    let is = |key: &str, value: &str| with(key).is_some_and(|node| node.scalar() == value);
    let asked = |key: &str| with(key).filter(|node| !matches!(node.scalar(), "" | "false" | "none"));
    let node = match name {
        "actions/cache" | "actions/cache/restore" | "Swatinem/rust-cache" if !is("lookup-only", "true") => {
            uses
        }
        // It keeps a cache unless it is told not to.
        "actions/setup-go" if !is("cache", "false") => uses,
        "actions/setup-java" | "actions/setup-node" | "actions/setup-python" | "pnpm/action-setup" => {
            asked("cache")?
        }
        "astral-sh/setup-uv" => asked("enable-cache")?,
        "ruby/setup-ruby" => asked("bundler-cache")?,
        "docker/build-push-action" => with("cache-from").filter(|node| node.contains("type=gha"))?,
        _ => return None,
    };
    node.text.first().copied()
}
