//! Restrictions that a repository's workflows keep and a changed one drops.

use std::collections::BTreeSet;

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};
use qa_core::packet::Packet;
use qa_reading::workflow::{Access, Expression, Job, Path, Permissions, Step, Workflow};

use super::contract::{Census, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::workflows::chosen::{chosen_source, scripts};
use super::workflows::model::{self, Group, Kind, Model, uses_action, values_of};
use super::workflows::place::{Found, inspect_versions, new_ones};

const BROAD: &str = "workflow-conventions/broad-permissions";
const DEFAULT: &str = "workflow-conventions/default-permissions";
const EXPRESSION: &str = "workflow-conventions/expression-in-script";
const KEPT: &str = "workflow-conventions/persisted-credentials";
const TRIGGER: &str = "workflow-conventions/privileged-trigger";
const RUNNER: &str = "workflow-conventions/self-hosted-runner";

const OFF: ScopeStrengths = everywhere(Strength::Off);
const RATCHET: PresetStrengths = presets(OFF, ScopeStrengths { product: Strength::Ratchet, ..OFF });
const ADVISE: PresetStrengths = presets(OFF, ScopeStrengths { product: Strength::Advise, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "workflow-conventions",
    version: "1",
    class: LensClass::Security,
    title: "Workflows with more rights than the others",
    required_by_default: true,
    triggers: model::FILES,
    page: include_str!(concat!(env!("OUT_DIR"), "/workflow-conventions.md")),
    rules: &[
        text_rule(
            BROAD,
            "Permission is granted to all jobs",
            Severity::Medium,
            RATCHET,
            "Grant the permission in the job that needs it.",
        ),
        text_rule(
            DEFAULT,
            "Permissions of GITHUB_TOKEN are the repository's default",
            Severity::Medium,
            RATCHET,
            "Set `permissions: {}` for the workflow, and in each job what it needs.",
        ),
        text_rule(
            EXPRESSION,
            "Expression is interpolated into a script",
            Severity::Low,
            RATCHET,
            "Pass the value as an environment variable, and quote the variable.",
        ),
        text_rule(
            KEPT,
            "Checkout keeps its token for later steps",
            Severity::Medium,
            RATCHET,
            "Set `persist-credentials: false`, and give the token to the step that needs it.",
        ),
        text_rule(
            TRIGGER,
            "Event runs the workflow with secrets for strangers",
            Severity::Medium,
            ADVISE,
            "Use `pull_request`, or check who caused the event before anything else.",
        ),
        text_rule(
            RUNNER,
            "Job runs on a self-hosted runner",
            Severity::Low,
            ADVISE,
            "Use a runner that is new for each job.",
        ),
    ],
};

/// Names of values that the platform makes: numbers, digests, words of a fixed set and places on the machine.
const MADE: &[&str] = &[
    "action_path",
    "conclusion",
    "fork",
    "id",
    "job",
    "number",
    "outcome",
    "run_attempt",
    "run_id",
    "run_number",
    "server_url",
    "sha",
    "workspace",
];

pub(crate) struct WorkflowConventions;

impl Lens for WorkflowConventions {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        Kind::need(file)
    }

    /// Leaves a file that cannot be read to `workflow-hardening`.
    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        inspect_versions(packet, |base, head, changes| {
            let Ok(head) = head else { return Vec::new() };
            let is_compared = !matches!(base, Some(Err(_)));
            let before = base.and_then(Result::ok).map(|base| audit(&base)).unwrap_or_default();
            let found = new_ones(before, audit(&head), changes);
            found.iter().filter_map(|each| changes.draft(each, is_compared)).collect()
        })
    }

    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        if Kind::of(file) != Some(Kind::Workflow) {
            return Census::default();
        }
        let document = Kind::Workflow.document(text);
        let Ok(model) = Model::parse(Kind::Workflow, &document) else { return Census::default() };
        let places = places(rule, &model);
        let found = audit(&model);
        let found = found.iter().filter(|found| found.rule == rule);
        // Several expressions break one script.
        let broken: BTreeSet<usize> =
            found.map(|found| found.because.first().unwrap_or(&found.place).start).collect();
        Census { support: places as u64, complying: places.saturating_sub(broken.len()) as u64 }
    }
}

/// Counts the places of a file where a rule could be broken.
fn places(rule: &str, model: &Model<'_>) -> usize {
    let groups = model.groups();
    let steps = groups.iter().flat_map(|group| &group.steps);
    match rule {
        BROAD => usize::from(model.workflow().is_some_and(|workflow| workflow.permissions.is_some())),
        // The workflow itself and each job.
        DEFAULT => 1 + model.workflow().map_or(0, |workflow| workflow.jobs.len()),
        EXPRESSION => steps.map(|step| scripts(step).count()).sum(),
        KEPT => steps.filter(|step| uses_action(step, "actions/checkout")).count(),
        _ => 0,
    }
}

/// Returns all places of a file that a careful workflow does not have.
fn audit(model: &Model<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    if let Model::Workflow(workflow) = model {
        rights(workflow, &mut found);
        triggers(workflow, &mut found);
    }
    for group in model.groups() {
        if let Some(job) = group.job {
            runners(job, &mut found);
        }
        for step in &group.steps {
            credentials(step, &mut found);
            expressions(&group, step, &mut found);
        }
    }
    found
}

/// Finds permissions that nobody set, and permissions of all jobs.
fn rights(workflow: &Workflow<'_>, found: &mut Vec<Found>) {
    broad(workflow.permissions.as_ref(), true, found);
    // A workflow that is only called has the permissions of its caller.
    let is_started = workflow.triggers.iter().any(|trigger| trigger.name != "workflow_call");
    let unset = workflow.permissions.is_none();
    let summary = "permissions of GITHUB_TOKEN are the repository's default";
    let own = workflow.jobs.iter().all(|job| job.permissions.is_some());
    if unset
        && is_started
        && !own
        && let Some(trigger) = workflow.triggers.first()
    {
        found.push(Found::at_place(DEFAULT, trigger.name_span, "workflow", summary));
    }
    for job in &workflow.jobs {
        broad(job.permissions.as_ref(), false, found);
        if unset && job.permissions.is_none() && (is_started || job.uses.is_some()) {
            found.push(Found::at_place(DEFAULT, job.id_span, "job", summary));
        }
    }
}

/// Finds the right to read everything, and rights to write that are granted to all jobs.
fn broad(permissions: Option<&Permissions<'_>>, to_all: bool, found: &mut Vec<Found>) {
    let Some(permissions) = permissions else { return };
    if permissions.all == Some(Access::Read) {
        let summary = "GITHUB_TOKEN has read permission for all scopes";
        found.push(Found::new(BROAD, permissions.value, "read-all", summary));
    }
    for grant in permissions.writes().filter(|_| to_all) {
        let summary = "write permission is granted to all jobs";
        found.push(Found::at_place(BROAD, grant.scope_span, grant.scope, summary));
    }
}

/// Finds events of strangers that run with the rights of the repository.
fn triggers(workflow: &Workflow<'_>, found: &mut Vec<Found>) {
    for trigger in &workflow.triggers {
        if matches!(trigger.name, "pull_request_target" | "workflow_run") {
            let summary = "event runs the workflow with secrets for strangers";
            found.push(Found::at_place(TRIGGER, trigger.name_span, trigger.name, summary));
        }
    }
}

/// Finds runners that keep what a job leaves behind, in a matrix too. Runners of a group may be of either kind.
fn runners(job: &Job<'_>, found: &mut Vec<Found>) {
    let labels = job.labels().into_iter();
    let kept = labels.filter(|label| {
        values_of(*label, Some(job)).iter().any(|value| value.eq_ignore_ascii_case("self-hosted"))
    });
    let group = job.runs_on.and_then(|runs_on| runs_on.get("group"));
    if let Some(label) = kept.chain(group).next() {
        found.push(Found::new(RUNNER, label, "", "job runs on a self-hosted runner").because([job.id_span]));
    }
}

/// Finds checkouts whose token later steps can read.
fn credentials(step: &Step<'_>, found: &mut Vec<Found>) {
    let kept = step.input("persist-credentials").is_none_or(|value| value.flag() != Some(false));
    if let Some(uses) = step.uses.filter(|_| kept && uses_action(step, "actions/checkout")) {
        let summary = "checkout keeps its token for later steps";
        found.push(Found::new(KEPT, uses, "", summary).because([step.value.span()]));
    }
}

/// Finds scripts that contain the value of an expression. What strangers choose is found by `workflow-hardening`.
fn expressions(group: &Group<'_, '_>, step: &Step<'_>, found: &mut Vec<Found>) {
    let scope = group.scope(step);
    for script in scripts(step) {
        let template = script.template().unwrap_or_default();
        for embedded in &template.expressions {
            let expression = embedded.expression.as_ref();
            if !expression.is_some_and(|own| is_made(own) || chosen_source(own, &scope).is_some()) {
                let subject = embedded.span.of(template.text());
                let summary = "expression is interpolated into a script";
                let place = template.place(embedded.span);
                found.push(Found::new(EXPRESSION, script, subject, summary).placed_at(place));
            }
        }
    }
}

/// Returns whether the platform makes whatever an expression may come to.
fn is_made(expression: &Expression) -> bool {
    expression.leaves().into_iter().all(|leaf| match leaf {
        Expression::Path(path) => is_made_path(path),
        Expression::Literal(_) => true,
        Expression::Part { .. }
        | Expression::Not(_)
        | Expression::Call { .. }
        | Expression::Binary { .. } => false,
    })
}

/// Returns whether the platform makes the value of a path. Inputs, outputs and payloads are made by others, whatever
/// their name.
fn is_made_path(path: &Path) -> bool {
    let names: Vec<&str> = (0..path.segments.len()).filter_map(|at| path.name(at)).collect();
    let by_others = names.iter().any(|name| matches!(*name, "inputs" | "outputs" | "client_payload"));
    match path.context.as_str() {
        "job" | "runner" | "strategy" => true,
        "github" | "needs" | "steps" => !by_others && names.last().is_some_and(|last| MADE.contains(last)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_counts_once_and_each_job_for_itself() {
        let path = RepoPath::from_bytes(b".github/workflows/a.yml").unwrap();
        let text = "on: push\njobs:\n  a:\n    steps:\n      - run: echo ${{ inputs.a }} ${{ inputs.b }}\n      \
                    - run: make\n      - uses: actions/checkout@v4\n  b:\n    if: false\n    permissions: {}\n    steps: []\n";
        let cases = [
            (EXPRESSION, Census { support: 2, complying: 1 }),
            (DEFAULT, Census { support: 3, complying: 1 }),
            (KEPT, Census { support: 1, complying: 0 }),
            (TRIGGER, Census::default()),
        ];
        for (rule, expected) in cases {
            assert_eq!(WorkflowConventions.census(rule, &path, text), expected, "{rule}");
        }
        let other = RepoPath::from_bytes(b"a.yml").unwrap();
        assert_eq!(WorkflowConventions.census(KEPT, &other, text), Census::default());
    }

    #[test]
    fn a_name_of_the_platform_is_made_by_it_in_its_own_contexts() {
        let cases = [
            ("github.sha", true),
            ("github.event.pull_request.head.sha", true),
            ("steps.a.outcome || github.run_id", true),
            ("steps.a.outputs.id", false),
            ("inputs.id", false),
            ("github.event.inputs.sha", false),
            ("github.event.client_payload.id", false),
            ("matrix.number", false),
            ("env.workspace", false),
            ("github.ref_name", false),
            ("runner.os", true),
            ("needs.a.outputs.number", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_made(&Expression::parse(text).expect(text)), expected, "{text}");
        }
    }
}
