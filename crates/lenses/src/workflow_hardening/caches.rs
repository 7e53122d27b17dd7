//! Caches that a workflow which publishes builds from: whoever can write one writes what is published.

use qa_reading::syntax::Span;
use qa_reading::workflow::{Step, Value};

use super::model::{Model, action_of, text_of};
use super::{CACHE, Found};

/// Looks at every step of a workflow that a release or a tag starts, and that publishes something.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    let Some(event) = release_event(model) else { return };
    let groups = model.groups();
    let steps: Vec<_> = groups.iter().flat_map(|group| &group.steps).collect();
    let Some(publishing) = steps.iter().find_map(|step| publishes(step)) else { return };
    for step in steps {
        if let Some(value) = restored(step) {
            let summary = "published artifact is built from a cache that other runs can write";
            let subject = action_of(step).unwrap_or_default();
            found.push(Found::new(CACHE, value, subject, summary).because([event, publishing]));
        }
    }
}

/// Place of an event that starts the workflow for a release or a tag.
fn release_event(model: &Model<'_>) -> Option<Span> {
    let workflow = model.workflow()?;
    if let Some(release) = workflow.trigger("release") {
        return Some(release.name_span);
    }
    let tags = workflow.trigger("push")?.options?.get("tags")?;
    Some(tags.span())
}

/// Place in a step that publishes.
fn publishes(step: &Step<'_>) -> Option<Span> {
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
    if let Some(run) = step.run {
        let text = run.template().text().split_whitespace().collect::<Vec<_>>().join(" ");
        if COMMANDS.iter().any(|command| text.contains(command)) {
            return Some(run.value.span());
        }
    }
    if let Some(uses) = step.uses
        && let Some(name) = action_of(step)
        && ACTIONS.iter().any(|action| name.contains(action))
    {
        return Some(uses.span());
    }
    step.input("push").filter(|push| push.flag() == Some(true)).map(Value::span)
}

/// Value of a step that restores a cache.
fn restored<'d>(step: &Step<'d>) -> Option<Value<'d>> {
    let uses = step.uses?;
    match action_of(step)?.to_ascii_lowercase().as_str() {
        "actions/cache" | "actions/cache/restore" | "swatinem/rust-cache" => {
            let is_lookup = step.input("lookup-only").and_then(Value::flag) == Some(true);
            (!is_lookup).then_some(uses)
        }
        // The default is to cache.
        "actions/setup-go" => {
            let is_off = step.input("cache").and_then(Value::flag) == Some(false);
            (!is_off).then_some(uses)
        }
        "actions/setup-java" | "actions/setup-node" | "actions/setup-python" | "pnpm/action-setup" => {
            enabled_input(step, "cache")
        }
        "astral-sh/setup-uv" => enabled_input(step, "enable-cache"),
        "ruby/setup-ruby" => enabled_input(step, "bundler-cache"),
        "docker/build-push-action" => {
            step.input("cache-from").filter(|value| text_of(*value).contains("type=gha"))
        }
        _ => None,
    }
}

/// Returns an input of a step, unless it is empty or switched off.
fn enabled_input<'d>(step: &Step<'d>, input: &str) -> Option<Value<'d>> {
    step.input(input).filter(|value| !matches!(text_of(*value).trim(), "" | "false" | "none"))
}
