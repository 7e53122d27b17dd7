//! Caches that a workflow which publishes builds from: whoever can write one writes what is published.

use qa_reading::syntax::Span;
use qa_reading::workflow::{Step, Value, Workflow};

use super::{CACHE, Found};
use crate::workflows::model::{Model, action_of, text_of};

/// Looks at every step of a workflow that a release, a tag or a branch of releases starts, and of a job that publishes.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    let Some(workflow) = model.workflow() else { return };
    let event = release_event(workflow);
    for group in model.groups() {
        let publishing = group.steps.iter().find_map(|step| publishes(step));
        let reasons: Vec<Span> = event.into_iter().chain(publishing).collect();
        if reasons.is_empty() {
            continue;
        }
        for step in &group.steps {
            if let Some(value) = restored(step) {
                let summary = "published artifact is built from a cache that other runs can write";
                let subject = action_of(step).unwrap_or_default();
                found.push(Found::new(CACHE, value, subject, summary).because(reasons.iter().copied()));
            }
        }
    }
}

/// Place of an event that starts the workflow for a release, a tag or a branch of releases.
fn release_event(workflow: &Workflow<'_>) -> Option<Span> {
    if let Some(release) = workflow.trigger("release") {
        return Some(release.name_span);
    }
    let push = workflow.trigger("push")?;
    if let Some(tags) = push.options.and_then(|options| options.get("tags")) {
        return Some(tags.span());
    }
    push.filter("branches").iter().any(|branch| branch.starts_with("release")).then_some(push.name_span)
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
    const ACTIONS: &[&str] = &["attest", "goreleaser", "publish", "release"];
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

/// Inputs by which actions are told to keep a cache.
const OPT_IN: &[(&str, &str)] = &[
    ("actions/setup-dotnet", "cache"),
    ("actions/setup-java", "cache"),
    ("actions/setup-node", "cache"),
    ("actions/setup-python", "cache"),
    ("docker/setup-buildx-action", "cache-binary"),
    ("pnpm/action-setup", "cache"),
    ("pyo3/maturin-action", "sccache"),
    ("ruby/setup-ruby", "bundler-cache"),
];

/// Actions that keep a cache unless an input has this value.
const OPT_OUT: &[(&str, &str, &str)] = &[
    ("actions-rust-lang/setup-rust-toolchain", "cache", "false"),
    ("actions/cache", "lookup-only", "true"),
    ("actions/cache/restore", "lookup-only", "true"),
    ("actions/setup-go", "cache", "false"),
    ("astral-sh/setup-uv", "enable-cache", "false"),
    ("golangci/golangci-lint-action", "skip-cache", "true"),
    ("gradle/actions/setup-gradle", "cache-disabled", "true"),
    ("mozilla-actions/sccache-action", "", ""),
    ("ramsey/composer-install", "ignore-cache", "true"),
    ("swatinem/rust-cache", "lookup-only", "true"),
];

/// Returns the value of a step that restores a cache.
fn restored<'d>(step: &Step<'d>) -> Option<Value<'d>> {
    let uses = step.uses?;
    let name = action_of(step)?.to_ascii_lowercase();
    if let Some((_, input, off)) = OPT_OUT.iter().find(|(action, ..)| *action == name) {
        let given = step.input(input).and_then(Value::constant).unwrap_or_default();
        return (off.is_empty() || !means(given.trim(), off)).then_some(uses);
    }
    if let Some((_, input)) = OPT_IN.iter().find(|(action, _)| *action == name) {
        let given =
            step.input(input).filter(|given| !matches!(text_of(*given).trim(), "" | "false" | "none"));
        return given.or_else(|| (name == "actions/setup-node" && caches_by_itself(step)).then_some(uses));
    }
    let is_build = name == "docker/build-push-action";
    step.input("cache-from").filter(|value| is_build && text_of(*value).contains("type=gha"))
}

/// Returns whether `actions/setup-node` keeps a cache unasked, as it does since version 5.
fn caches_by_itself(step: &Step<'_>) -> bool {
    let version = step.uses.map(text_of).unwrap_or_default();
    let version = version.rsplit_once('@').map(|(_, version)| version).unwrap_or_default();
    let is_old =
        ["v1", "v2", "v3", "v4"].iter().any(|old| version == *old || version.starts_with(&format!("{old}.")));
    let is_off = step.input("package-manager-cache").and_then(Value::flag) == Some(false);
    !is_old && !is_off
}

/// Returns whether a value of an input says true or false, in any of the spellings that actions take.
fn means(given: &str, expected: &str) -> bool {
    let spellings: &[&str] = if expected == "true" { &["true", "yes", "1"] } else { &["false", "no", "0"] };
    spellings.iter().any(|spelling| given.eq_ignore_ascii_case(spelling))
}
