//! Workflows that run untrusted code or expose secrets.

mod actors;
mod agents;
mod caches;
mod images;
mod injection;
mod jobs;
mod known_agents;
mod network;
mod pins;
mod uses;

use super::contract::{
    Census, Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, rule, text_rule,
};
use super::edits;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, Edit, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};
use qa_core::packet::Packet;
use qa_reading::documents::ReadError;

use crate::workflows::model::{FILES, Kind, Model};
use crate::workflows::place::{Found, inspect_versions, new_ones};

const AGENT_OPEN: &str = "workflow-hardening/agent-open-to-anyone";
const AGENT_OUTPUT: &str = "workflow-hardening/agent-output-executed";
const AGENT_PROMPT: &str = "workflow-hardening/agent-prompt-injection";
const AGENT_TOOLS: &str = "workflow-hardening/agent-unrestricted-tools";
const CACHE: &str = "workflow-hardening/cache-poisoning";
const CREDENTIALS: &str = "workflow-hardening/credentials-in-artifact";
const ENVIRONMENT: &str = "workflow-hardening/environment-injection";
const PERMISSIONS: &str = "workflow-hardening/excessive-permissions";
const FIRST_PARTY: &str = "workflow-hardening/first-party-by-name";
const LOOSENED: &str = "workflow-hardening/pin-loosened";
const MOVED: &str = "workflow-hardening/pin-moved";
const INJECTION: &str = "workflow-hardening/script-injection";
const FROM_NETWORK: &str = "workflow-hardening/script-from-network";
const INHERITED: &str = "workflow-hardening/secrets-inherited";
const SELF_HOSTED: &str = "workflow-hardening/self-hosted-runner";
const UNPINNED: &str = "workflow-hardening/unpinned-action";
const IMAGE: &str = "workflow-hardening/unpinned-image";
const UNREADABLE: &str = "workflow-hardening/unreadable-workflow";
const TARGET_CHECKOUT: &str = "workflow-hardening/untrusted-checkout";
const UNVETTED: &str = "workflow-hardening/unvetted-checkout";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..ADVISE };
const RATCHET: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);
const RATCHETED: PresetStrengths = presets(RATCHET, BLOCK);
const WHERE_KEPT: PresetStrengths = presets(RATCHET, RATCHET);
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);
/// An agentic workflow is a Markdown file.
const AGENTS: PresetStrengths = presets(ADVISE, ScopeStrengths { docs: Strength::Block, ..BLOCK });
const WHEN_ASKED: PresetStrengths = presets(everywhere(Strength::Off), ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "workflow-hardening",
    version: "10",
    class: LensClass::Security,
    title: "Workflows that run untrusted code or expose secrets",
    required_by_default: true,
    triggers: FILES,
    page: include_str!(concat!(env!("OUT_DIR"), "/workflow-hardening.md")),
    rules: &[
        text_rule(
            AGENT_OPEN,
            "Anyone can start an agent that holds secrets",
            Severity::High,
            AGENTS,
            "Name the users who may start it, or check for write permission first.",
        ),
        text_rule(
            AGENT_OUTPUT,
            "Output of an agent is executed or lands without a review",
            Severity::High,
            AGENTS,
            "Pass the output as an environment variable to a program that checks it, and let a person merge.",
        ),
        text_rule(
            AGENT_PROMPT,
            "Untrusted event data is part of an agent's instructions",
            Severity::High,
            AGENTS,
            "Give the agent the number, and let it read the text by a tool; or check who wrote it first.",
        ),
        text_rule(
            AGENT_TOOLS,
            "Agent that reads untrusted text may run any command",
            Severity::High,
            AGENTS,
            "Allow the commands that it needs by name, and keep its sandbox and its approvals.",
        ),
        text_rule(
            CACHE,
            "Published artifact is built from a shared cache",
            Severity::Medium,
            WHEN_ASKED,
            "Build published artifacts without a cache.",
        ),
        text_rule(
            CREDENTIALS,
            "Uploaded artifact contains the checkout and its token",
            Severity::High,
            GUARDED,
            "Set `persist-credentials: false` at the checkout, or upload only what is needed.",
        ),
        text_rule(
            ENVIRONMENT,
            "Untrusted event data is written to GITHUB_ENV, GITHUB_OUTPUT or GITHUB_PATH",
            Severity::High,
            GUARDED,
            "Pass the value to the step that needs it by `env`, or write it behind a random delimiter.",
        ),
        text_rule(
            PERMISSIONS,
            "Excessive permissions of GITHUB_TOKEN",
            Severity::High,
            ALWAYS,
            "List only the permissions that the job needs.",
        ),
        text_rule(
            FIRST_PARTY,
            "Action of GitHub is not pinned to a commit SHA",
            Severity::Low,
            WHEN_ASKED,
            "Pin the full commit SHA, with the version as a comment.",
        ),
        rule(
            LOOSENED,
            "Action is no longer pinned to a commit SHA",
            Severity::High,
            ALWAYS,
            "Keep the full commit SHA; for another version pin its commit.",
        ),
        rule(
            MOVED,
            "Action is pinned to another commit under the same version",
            Severity::Medium,
            GUARDED,
            "Pin the commit that the action's repository has for this version, or name the version of the new commit.",
        ),
        text_rule(
            FROM_NETWORK,
            "Downloaded script is run without verification",
            Severity::Medium,
            RATCHETED,
            "Verify the checksum of a fixed version before running it, or use a package manager.",
        ),
        text_rule(
            INJECTION,
            "Untrusted event data is interpolated into a script",
            Severity::High,
            ALWAYS,
            "Pass the value as an environment variable, and quote the variable.",
        ),
        text_rule(
            INHERITED,
            "All secrets are inherited by a workflow of another repository",
            Severity::Medium,
            NOTICE,
            "List only the secrets that the workflow needs.",
        ),
        text_rule(
            SELF_HOSTED,
            "Pull requests run on a self-hosted runner",
            Severity::Medium,
            NOTICE,
            "Run pull requests on GitHub-hosted or ephemeral runners.",
        ),
        text_rule(
            UNPINNED,
            "Third-party action is not pinned to a commit SHA",
            Severity::Medium,
            RATCHETED,
            "Pin the full commit SHA, with the version as a comment.",
        ),
        text_rule(
            IMAGE,
            "Container image is not pinned by digest",
            Severity::Low,
            WHERE_KEPT,
            "Add the digest of the image behind its tag.",
        ),
        rule(
            UNREADABLE,
            "Workflow or action cannot be parsed",
            Severity::High,
            ALWAYS,
            "Write the file so that GitHub accepts it: one YAML document, each key once, jobs and steps where they belong.",
        ),
        text_rule(
            TARGET_CHECKOUT,
            "Pull request code is used in a privileged workflow",
            Severity::Critical,
            ALWAYS,
            "Use `pull_request`, or move the steps that need secrets to a second workflow without the pull request's code.",
        ),
        text_rule(
            UNVETTED,
            "Untrusted code is used after an event that anyone can trigger",
            Severity::High,
            GUARDED,
            "Check the author first, or use the code without secrets.",
        ),
    ],
};

/// Returns all findings of a file; the base shows what is new about names and pins.
fn audit(base: Option<&Model<'_>>, head: &Model<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    uses::audit(base, head, &mut found);
    images::audit(base, head, &mut found);
    injection::audit(head, &mut found);
    network::audit(head, &mut found);
    jobs::audit(head, &mut found);
    caches::audit(head, &mut found);
    agents::audit(head, &mut found);
    found
}

/// Events that strangers cause and that run with the rights of the repository.
const WITH_RIGHTS: &[&str] = &[
    "discussion",
    "discussion_comment",
    "fork",
    "issue_comment",
    "issues",
    "pull_request_target",
    "watch",
    "workflow_run",
];

/// Returns whether a workflow reacts at head to an event with rights that it did not react to at the base.
fn gains_rights(base: &Model<'_>, head: &Model<'_>) -> bool {
    WITH_RIGHTS.iter().any(|event| head.reacts_to(event) && !base.reacts_to(event))
}

/// Judges workflows and actions as the platform executes them.
pub(crate) struct WorkflowHardening;

impl Lens for WorkflowHardening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// The job and the events around a line decide its meaning.
    fn need(&self, file: &ChangedFile) -> Need {
        Kind::need(file)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        inspect_versions(packet, |base, head, changes| {
            let was_action = matches!(base, Some(Ok(Model::Action(_))));
            let head = match head {
                Ok(Model::Unrelated) if was_action => {
                    let message = "the action has no `runs.using`".to_owned();
                    Err(ReadError::Syntax { message, at: 0 })
                }
                head => head,
            };
            let head = match head {
                Ok(head) => head,
                Err(error) => {
                    // An unreadable workflow is reported again when it is edited, because it could hide any other edit.
                    let is_workflow = Kind::of(packet.path()) == Some(Kind::Workflow);
                    let is_new = is_workflow || base.is_none_or(|base| base.is_ok());
                    // Other files are called action.yml too, templates among them.
                    let is_executed = was_action
                        || is_workflow
                        || packet.text.full_head.as_deref().is_some_and(|text| text.contains("using:"));
                    let draft =
                        if is_new && is_executed { changes.unreadable(UNREADABLE, &error) } else { None };
                    return draft.into_iter().collect();
                }
            };
            let is_compared = !matches!(base, Some(Err(_)));
            let base = base.and_then(Result::ok);
            let mut before = base.as_ref().map(|base| audit(None, base)).unwrap_or_default();
            if let Some(base) = &base
                && gains_rights(base, &head)
            {
                // An injection is worse with more rights, so those that the base had count as new.
                before.retain(|found| !matches!(found.rule, INJECTION | ENVIRONMENT));
            }
            let mut found = new_ones(before, audit(base.as_ref(), &head), changes);
            if let Some(model) = &base
                && let [Some(old), Some(new)] = [&packet.text.full_base, &packet.text.full_head]
            {
                let old = pins::Version { model, text: old };
                found.extend(pins::audit(old, pins::Version { model: &head, text: new }));
            }
            found.iter().filter_map(|each| changes.draft(each, is_compared)).collect()
        })
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        match &*draft.rule {
            FIRST_PARTY | LOOSENED | UNPINNED => edits::pin_as_before(draft, packet),
            _ => None,
        }
    }

    /// A repository has a handful of workflows, so what they use and run is counted one by one.
    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        if Kind::of(file) != Some(Kind::Workflow) || !matches!(rule, UNPINNED | IMAGE | FROM_NETWORK) {
            return Census::default();
        }
        let document = Kind::Workflow.document(text);
        let Ok(model) = Model::parse(Kind::Workflow, &document) else { return Census::default() };
        match rule {
            UNPINNED => uses::census(&model).collect(),
            // Images are few, so whoever pins the actions beside them is asked to pin these too.
            IMAGE => uses::census(&model).chain(images::census(&model)).collect(),
            _ => network::census(&model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflows_say_what_complies_and_other_files_say_nothing() {
        let workflow = RepoPath::from_bytes(b".github/workflows/a.yml").unwrap();
        let other = RepoPath::from_bytes(b"a.yml").unwrap();
        let pinned = "a".repeat(40);
        let text = format!(
            "jobs:\n  a:\n    steps:\n      - uses: a/b@v1\n      - uses: ./c\n      - uses: actions/d@{pinned}\n      - run: curl https://x.test | sh\n      - run: make\n"
        );
        for rule in [UNPINNED, FROM_NETWORK, IMAGE] {
            let half = Census { support: 2, complying: 1 };
            assert_eq!(WorkflowHardening.census(rule, &workflow, &text), half, "{rule}");
            assert_eq!(WorkflowHardening.census(rule, &other, &text), Census::default());
            assert_eq!(WorkflowHardening.census(rule, &workflow, "jobs:\n"), Census::default());
        }
        let image = "jobs:\n  a:\n    container: node:20\n    steps:\n      - run: make\n";
        let none = Census { support: 1, complying: 0 };
        assert_eq!(WorkflowHardening.census(IMAGE, &workflow, image), none);
        assert_eq!(WorkflowHardening.census(UNPINNED, &workflow, image), Census::default());
    }
}
