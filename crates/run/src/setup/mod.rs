//! Checks of a repository's setup: ways around the gate in its workflows, owners and branch rules. Pure; the caller reads
//! the files and asks the API.

mod agent_command;
mod agent_settings;
mod attributes;
mod gate;
mod inventory;
mod pipeline;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

pub use self::agent_settings::{SettingsFileError, WantedHook, WantedHooks, with_hooks};
pub use self::attributes::with_export_ignore;
use self::gate::{Gate, PULL_REQUEST_EVENTS};
pub use self::inventory::{FoundTool, Inventory, LanguageCount, Silenced, ToolKind, take_inventory};
pub use self::pipeline::{OtherForge, OtherSetup, check_other};
use self::pipeline::{advisory, unowned_files};
pub use self::uses::{ActionPin, WorkflowUse, is_owner, owners_of, workflow_use};
use qa_contracts::v1::Preset;
use qa_core::policy::Policy;
use qa_lenses::is_gate;
use qa_reading::codeowners::CodeOwners;
use qa_reading::documents::{Document, Format};
use qa_reading::ignore::{IgnoreDialect, ignore_patterns};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Job, Reference, Step, Value, Workflow};

/// Directory of workflows.
pub const WORKFLOWS: &str = ".github/workflows";
/// Places of CODEOWNERS, the first that is there counts.
pub const CODEOWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// Event of the second stage.
const SECOND_STAGE_EVENT: &str = "workflow_run";
/// Name of the action's repository.
/// Default of the input `since-days` of a drift check.
const DEFAULT_SINCE_DAYS: u64 = 7;
/// Content of a repository that its setup is checked by.
pub struct Setup<'a> {
    /// Path and text of each workflow; no text where it cannot be read.
    pub workflows: &'a [(String, Option<String>)],
    /// Path and text of the file that GitHub reads owners from.
    pub codeowners: Option<(&'a str, &'a str)>,
    /// True if the repository is that of the action.
    pub is_own_repository: bool,
    pub policy: &'a Policy,
    /// Name of the check run that the action makes; no rule may require it.
    pub check_name: &'a str,
    /// Name of the check run that the second stage makes, which a rule has to require.
    pub reviews_check_name: &'a str,
    /// Rules of the default branch, or the reason why they could not be read.
    pub branch: Result<BranchRules, String>,
    /// Tells whether git ignores a path.
    pub is_ignored: &'a dyn Fn(&str) -> bool,
}

/// Requirements of the rules of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRules {
    /// Name of the branch.
    pub branch: String,
    /// Required status checks by name; true for one that only one app may report.
    pub required: BTreeMap<String, bool>,
    pub has_merge_queue: bool,
    /// True if code owners have to approve, false if they need not; `None` where the classic protection may say so, which
    /// only administrators can read.
    pub requires_owners: Option<bool>,
}

/// Outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Stable name of the check.
    pub id: &'static str,
    pub kind: Kind,
    pub place: Option<Place>,
    pub message: String,
    pub fix: &'static str,
}

/// Line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    /// From 1.
    pub line: usize,
}

/// Kind of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A change can pass around the gate, or the gate can give no verdict.
    Problem,
    /// The files or the API could not be read, so there may be a problem.
    Unseen,
}

/// Checks a setup. Empty where nothing is wrong and everything could be seen.
pub fn check(setup: &Setup<'_>) -> Vec<Observation> {
    let mut survey = Survey { has_second_stage: has_second_stage(setup), ..Survey::default() };
    for (path, text) in setup.workflows {
        if !survey.inspect_workflow(setup, path, text.as_deref()) {
            survey.found.push(unread(path));
        }
    }
    survey.check_gates();
    survey.check_names();
    if setup.policy.preset == Preset::Advisory {
        survey.found.push(advisory());
    }
    let mut found = survey.found;
    check_owners(setup, &mut found);
    check_reports(setup.policy, setup.is_ignored, &mut found);
    if let Err(reason) = &setup.branch {
        found.push(Observation {
            id: "branch-rules",
            kind: Kind::Unseen,
            place: None,
            message: format!("whether the job is a required status check could not be read: {reason}"),
            fix: "set GITHUB_TOKEN to a token that may read the repository, such as that of `gh auth token`; elsewhere than on github.com also GITHUB_API_URL, https://HOST/api/v3. Or look below Settings, Rules of the repository",
        });
    }
    found
}

/// Returns whether a workflow that runs the action starts when another one ends.
fn has_second_stage(setup: &Setup<'_>) -> bool {
    setup.workflows.iter().filter_map(|(_, text)| text.as_deref()).any(|text| {
        let Ok(document) = Document::parse(Format::Yaml, text) else { return false };
        let Ok(workflow) = Workflow::parse(&document) else { return false };
        let steps = workflow.jobs.iter().flat_map(|job| &job.steps);
        workflow.trigger(SECOND_STAGE_EVENT).is_some()
            && steps.into_iter().any(|step| is_ours(step, setup.is_own_repository))
    })
}

/// Observations of all workflows, and what is compared between them.
#[derive(Default)]
struct Survey {
    found: Vec<Observation>,
    /// True if a workflow judges the reviews of finished runs.
    has_second_stage: bool,
    /// Number of steps that judge pull requests.
    gates: usize,
    /// Names of the checks of their jobs, with the places of the jobs.
    names: Vec<(String, Place)>,
    /// Names of the checks of all jobs.
    all_names: Vec<String>,
    /// Workflows of other repositories that pull requests call, in which a gate may be.
    called: Vec<Place>,
    /// Days for which those steps keep runs, where they say.
    retentions: Vec<Retention>,
    /// Greatest age of runs that a nightly replay reads, in days.
    replayed_days: Option<u64>,
}

struct Retention {
    days: u64,
    place: Place,
}

impl Survey {
    /// Inspects the steps of a workflow that run the action. Returns false if the workflow cannot be read.
    fn inspect_workflow(&mut self, setup: &Setup<'_>, path: &str, text: Option<&str>) -> bool {
        let Some(text) = text else { return false };
        let Ok(document) = Document::parse(Format::Yaml, text) else { return false };
        let Ok(workflow) = Workflow::parse(&document) else { return false };
        for job in &workflow.jobs {
            self.all_names.push(check_name(job));
            let starts = PULL_REQUEST_EVENTS.iter().any(|name| workflow.trigger(name).is_some());
            if let Some(uses) = job.uses.filter(|_| starts) {
                self.called.push(place(path, text, uses.span()));
            }
            for step in job.steps.iter().filter(|step| is_ours(step, setup.is_own_repository)) {
                self.inspect_step(setup, &Gate { path, text, workflow: &workflow, job, step });
            }
        }
        true
    }

    fn inspect_step(&mut self, setup: &Setup<'_>, gate: &Gate<'_, '_>) {
        gate.check_pin(&mut self.found);
        match gate.input("command").as_deref() {
            Some("drift-check") => {
                let days = gate.number("since-days").unwrap_or(DEFAULT_SINCE_DAYS);
                self.replayed_days = self.replayed_days.max(Some(days));
            }
            None if gate.workflow.trigger("schedule").is_some() && gate.triggers().next().is_none() => {
                let days = gate.number("since-days").unwrap_or(DEFAULT_SINCE_DAYS);
                self.replayed_days = self.replayed_days.max(Some(days));
            }
            Some("plan" | "features") => {}
            // A shard has no verdict.
            _ if gate.step.input("shard").is_some() => {}
            _ if gate.triggers().next().is_some() => {
                self.gates += 1;
                self.names.push((check_name(gate.job), gate.place(gate.job.id_span)));
                gate.check(setup, &mut self.found);
                if self.has_second_stage {
                    gate.check_first_stage(&mut self.found);
                }
                if let Some(days) = gate.number("retention-days") {
                    self.retentions.push(Retention { days, place: gate.place(gate.step.value.span()) });
                }
            }
            None | Some("check") if gate.workflow.trigger(SECOND_STAGE_EVENT).is_some() => {
                gate.check_second_stage(setup, &mut self.found);
            }
            _ => {}
        }
    }

    /// Checks that there is a gate, and that runs are kept until the nightly replay reads them.
    fn check_gates(&mut self) {
        if let (0, Some(called)) = (self.gates, self.called.first()) {
            self.found.push(Observation {
                id: "called-workflow",
                kind: Kind::Unseen,
                place: Some(called.clone()),
                message: "the workflow that is called is not read, and no other runs the action".to_owned(),
                fix: "run `doctor --repository` where that workflow is, or let a job here run the action",
            });
        } else if self.gates == 0 {
            self.found.push(problem(
                "not-used",
                None,
                "no workflow runs the action on pull requests",
                "add the workflow that the README shows, on the default branch",
            ));
        }
        let Some(replayed) = self.replayed_days else { return };
        for Retention { days, place } in self.retentions.drain(..).filter(|kept| kept.days < replayed) {
            self.found.push(problem(
                "retention-short",
                Some(place),
                format!("runs are kept for {days} days and replayed for {replayed}"),
                "raise `retention-days` to `since-days` of the nightly replay, or leave it out",
            ));
        }
    }
}

impl Survey {
    /// Checks that no other job has the name of a gate, whose success would count for it.
    fn check_names(&mut self) {
        for (name, place) in std::mem::take(&mut self.names) {
            if self.all_names.iter().filter(|other| **other == name).count() > 1 {
                self.found.push(problem(
                    "name-shared",
                    Some(place),
                    format!("another job is named `{name}` too, and its success counts for this one"),
                    "give the job a name of its own, and require that",
                ));
            }
        }
    }
}

/// Returns the name of a job's status check.
fn check_name(job: &Job<'_>) -> String {
    let name = job.name.and_then(Value::constant);
    name.map_or_else(|| job.id.to_owned(), |name| name.into_owned())
}

fn place(path: &str, text: &str, span: Span) -> Place {
    let before = text.get(..span.start).unwrap_or_default();
    Place { path: path.to_owned(), line: before.matches('\n').count() + 1 }
}

fn problem(
    id: &'static str,
    place: Option<Place>,
    message: impl Into<String>,
    fix: &'static str,
) -> Observation {
    Observation { id, kind: Kind::Problem, place, message: message.into(), fix }
}

fn unread(path: &str) -> Observation {
    Observation {
        id: "workflow-unread",
        kind: Kind::Unseen,
        place: Some(Place { path: path.to_owned(), line: 1 }),
        message: "the workflow cannot be read".to_owned(),
        fix: "correct the file; GitHub does not run it either",
    }
}

/// Returns whether a step runs the action: from a repository of its name, from its image, or from its own repository.
fn is_ours(step: &Step<'_>, is_own_repository: bool) -> bool {
    let Some(text) = step.uses.and_then(Value::constant) else { return false };
    match Reference::parse(&text) {
        Some(Reference::Remote { name, .. }) => is_gate(name),
        Some(Reference::Image(image)) => image.split(['@', ':']).next().is_some_and(is_gate),
        Some(Reference::Local(path)) => path.is_empty() && is_own_repository,
        None => false,
    }
}

/// Returns whether the lists of ignored paths of a commit name a path; `text_at` gives the text of a file.
pub fn is_ignored(path: &str, text_at: &dyn Fn(&str) -> Option<String>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    let mut ignored = false;
    for start in std::iter::once(0).chain(ends) {
        let Some(text) = text_at(&format!("{}.gitignore", &path[..start])) else { continue };
        for pattern in ignore_patterns(IgnoreDialect::Git, &text) {
            if pattern.matches(&path[start..]) {
                ignored = !pattern.negated;
            }
        }
    }
    ignored
}

fn check_owners(setup: &Setup<'_>, found: &mut Vec<Observation>) {
    let (file, text) = setup.codeowners.unwrap_or((CODEOWNERS[0], ""));
    let owners = CodeOwners::parse(text);
    let fix = "name owners of `/.qa-skill/` and `/.github/` in CODEOWNERS, and require their review";
    if !owners.sections.is_empty() {
        let message = format!("`{file}` has sections, which GitHub does not know");
        found.push(problem("unowned", None, message, fix));
    }
    let workflows = setup.workflows.iter().map(|(path, _)| path.as_str());
    let paths = [".qa-skill/policy.toml", ".qa-skill/waivers.toml", file].into_iter().chain(workflows);
    let unowned: Vec<&str> = paths
        .filter(|path| {
            let rules = owners.rules_of(path);
            !rules.iter().flat_map(|rule| &rule.owners).any(|owner| is_owner(&owner.text))
        })
        .collect();
    found.extend(unowned_files(&unowned).map(|message| problem("unowned", None, message, fix)));
    if setup.branch.as_ref().is_ok_and(|rules| rules.requires_owners == Some(false)) {
        let message = "no rule of the default branch requires the review of code owners";
        let fix = "require it in the ruleset, below `Require a pull request before merging`";
        found.push(problem("owners-not-required", None, message, fix));
    }
}

fn check_reports(policy: &Policy, is_ignored: &dyn Fn(&str) -> bool, found: &mut Vec<Observation>) {
    let reports = policy.gates.values().flat_map(|gate| &gate.reports);
    let paths: BTreeSet<&str> = reports.map(|report| report.path.as_str()).collect();
    for path in paths.into_iter().filter(|path| !is_ignored(path)) {
        let message = format!("git does not ignore the report `{path}`, so a change could commit one");
        found.push(problem("report-not-ignored", None, message, "add the path to .gitignore"));
    }
}
