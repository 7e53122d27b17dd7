//! Decides what becomes of each file: new, updated, unchanged, or left to its owner. Pure.

use super::pre_commit::{Hook, PRE_COMMIT};
use super::texts::{self, WorkflowKind};
use qa_contracts::codes::Code;
use qa_contracts::v1::{Preset, Registry, Strength};
use qa_core::masking::sanitize_cut;
use qa_core::policy::weakening::weakened;
use qa_core::policy::{Overrides, POLICY_PATH, PolicyError};
use qa_run::inputs::effective_policy;
use qa_run::setup::{ActionPin, CODEOWNERS, WorkflowUse, with_export_ignore, workflow_use};

/// Path of GitLab's pipeline.
pub(super) const GITLAB_PIPELINE: &str = ".gitlab-ci.yml";

/// Path of git's attributes.
pub(super) const ATTRIBUTES: &str = ".gitattributes";

/// A file of the checkout, by its path from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct WorkingFile {
    pub(in crate::app) path: String,
    /// None for one that is not UTF-8 or too large.
    pub(in crate::app) text: Option<String>,
}

/// Service that a repository is on, as far as its files and its origin say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Forge {
    #[default]
    GitHub,
    /// Has GitLab's pipeline, nothing of GitHub's, and no origin there.
    GitLab,
}

impl Forge {
    /// Returns the places of CODEOWNERS, of which the first that is there counts.
    pub(super) fn codeowners(self) -> [&'static str; 3] {
        match self {
            Self::GitHub => CODEOWNERS,
            Self::GitLab => ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"],
        }
    }
}

/// Files of the checkout that the plan depends on, committed or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    pub(super) forge: Forge,
    /// Sorted by path.
    pub(super) workflows: Vec<WorkingFile>,
    pub(super) policy: Option<WorkingFile>,
    /// The file that the forge reads.
    pub(super) codeowners: Option<WorkingFile>,
    /// Attributes of the root directory; none where they are no regular file.
    pub(super) attributes: Option<WorkingFile>,
    pub(super) pre_commit: Option<WorkingFile>,
}

/// Choices of the person, and the proposal.
pub(super) struct Wishes<'a> {
    /// The commit of the action that was named.
    pub(super) action: Option<ActionPin>,
    /// The preset that was named.
    pub(super) preset: Option<Preset>,
    pub(super) proposed: Preset,
    /// Numbers behind the preset, as one line.
    pub(super) numbers: &'a str,
    pub(super) owners: &'a [String],
    pub(super) nightly: bool,
    /// True if pre-commit should run the gate.
    pub(super) pre_commit: bool,
    pub(super) force: bool,
}

/// Outcome of a file in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) enum Step {
    Create {
        text: String,
    },
    Update {
        old: String,
        text: String,
    },
    Unchanged,
    /// Not written, for a reason.
    Leave {
        reason: String,
    },
    /// Shown with a placeholder and never written.
    Withhold {
        old: String,
        text: String,
    },
}

/// A file with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct PlannedFile {
    pub(in crate::app) path: String,
    pub(in crate::app) step: Step,
    /// Consequence that the changed lines do not show.
    pub(in crate::app) note: Option<String>,
}

impl PlannedFile {
    /// Returns the text to write.
    pub(in crate::app) fn text(&self) -> Option<&str> {
        match &self.step {
            Step::Create { text } | Step::Update { text, .. } => Some(text),
            Step::Unchanged | Step::Leave { .. } | Step::Withhold { .. } => None,
        }
    }
}

/// Files to write, and the preset of the policy once they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) files: Vec<PlannedFile>,
    pub(super) preset: Preset,
    /// Commit of the action that was not named and taken from a workflow.
    pub(super) source: Option<ActionSource>,
}

impl Plan {
    /// Returns whether a workflow cannot be written because the commit of the action is not known.
    pub(super) fn lacks_action(&self) -> bool {
        self.files.iter().any(|file| matches!(file.step, Step::Withhold { .. }))
    }

    /// Returns whether pre-commit has the hook's entry once the plan is carried out.
    pub(super) fn has_hook(&self) -> bool {
        self.files.iter().any(|file| file.path == PRE_COMMIT && !matches!(file.step, Step::Leave { .. }))
    }
}

/// A commit of the action with the workflow that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActionSource {
    pub(super) pin: ActionPin,
    pub(super) path: String,
}

/// Reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PlanError {
    #[error("the commit of the action is not known: there is no `--uses`, and no workflow here names one")]
    ActionUnknown,
    #[error("{0} is there already, and not marked as written by init")]
    NotOurs(String),
    #[error("{0} is not UTF-8, or has more than 1 MiB")]
    Unreadable(String),
    #[error("cannot read {}", .0.in_file(POLICY_PATH))]
    Policy(#[from] PolicyError),
    #[error("preset `{preset}` would weaken {POLICY_PATH}: {settings}")]
    Weakens { preset: &'static str, settings: String },
    #[error("{POLICY_PATH} sets its preset in a way that init does not edit")]
    Unedited,
}

impl PlanError {
    /// Returns the stable code; none for a wrong command line.
    pub(super) fn code(&self) -> Option<Code> {
        match self {
            Self::ActionUnknown => Some(Code::InitActionUnknown),
            Self::NotOurs(_) | Self::Unreadable(_) => Some(Code::InitFileNotOurs),
            Self::Policy(_) => Some(Code::PolicyInvalid),
            Self::Weakens { .. } | Self::Unedited => None,
        }
    }

    /// Returns the way out.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::ActionUnknown => Code::InitActionUnknown.hint(),
            Self::NotOurs(_) => Code::InitFileNotOurs.hint(),
            Self::Unreadable(_) => "correct or remove the file, and run init again",
            Self::Policy(_) => "correct the named line; docs/reference/policy.md has every setting",
            Self::Weakens { .. } => {
                "leave out --preset, or edit the file in a pull request of its own, where its owners see it"
            }
            Self::Unedited => "leave out --preset, and edit the file by hand",
        }
    }
}

impl Checkout {
    /// Returns the commit of the action that a workflow names: that of the gate before others.
    pub(super) fn action(&self) -> Option<ActionSource> {
        let gate = self.workflow(WorkflowKind::Gate.path());
        let mut files = gate.into_iter().chain(&self.workflows);
        files.find_map(|file| {
            let pin = workflow_use(file.text.as_deref()?).action?;
            Some(ActionSource { pin, path: file.path.clone() })
        })
    }

    /// Returns the commit of the action in the gate's workflow, if `init` wrote it.
    pub(super) fn written_pin(&self) -> Option<ActionPin> {
        let text = self.workflow(WorkflowKind::Gate.path())?.text.as_deref()?;
        workflow_use(text).action.filter(|_| texts::is_our_workflow(text))
    }

    /// Returns whether pre-commit runs the hook of the action's repository.
    fn has_hook(&self, action: Option<&ActionPin>) -> bool {
        let text = self.pre_commit.as_ref().and_then(|file| file.text.as_deref());
        text.is_some_and(|text| Hook::new(action).is_in(text))
    }

    fn workflow(&self, path: &str) -> Option<&WorkingFile> {
        self.workflows.iter().find(|file| file.path == path)
    }

    /// Returns the path of a workflow other than this one with that use.
    fn other_with(&self, path: &str, has: fn(&WorkflowUse) -> bool) -> Option<&str> {
        let others = self.workflows.iter().filter(|file| file.path != path);
        let mut using =
            others.filter(|file| file.text.as_deref().is_some_and(|text| has(&workflow_use(text))));
        using.next().map(|file| file.path.as_str())
    }
}

/// Plans the files of a repository.
pub(super) fn plan(checkout: &Checkout, wishes: &Wishes<'_>, registry: &Registry) -> Result<Plan, PlanError> {
    let source = if wishes.action.is_none() { checkout.action() } else { None };
    let action = wishes.action.as_ref().or_else(|| source.as_ref().map(|source| &source.pin));
    let mut files = Vec::new();
    if checkout.forge == Forge::GitHub {
        files.push(plan_workflow(WorkflowKind::Gate, checkout, action, wishes.force)?);
        if wishes.nightly || checkout.workflow(WorkflowKind::Nightly.path()).is_some() {
            files.push(plan_workflow(WorkflowKind::Nightly, checkout, action, wishes.force)?);
        }
    }
    let (policy, preset) = plan_policy(checkout.policy.as_ref(), action, wishes, registry)?;
    files.push(policy);
    files.extend(plan_attributes(checkout));
    if wishes.pre_commit || checkout.has_hook(action) {
        files.push(plan_pre_commit(checkout, action)?);
    }
    if !wishes.owners.is_empty() {
        let owners = plan_owners(checkout, &files, wishes.owners)?;
        files.push(owners);
    }
    Ok(Plan { files, preset, source })
}

/// Returns the path of a workflow that exists once the plan is carried out.
fn gate_path(file: &PlannedFile) -> Option<&str> {
    let is_workflow = file.path.starts_with(qa_run::setup::WORKFLOWS);
    let is_there = !matches!(&file.step, Step::Leave { .. });
    (is_workflow && is_there).then_some(file.path.as_str())
}

fn plan_workflow(
    kind: WorkflowKind,
    checkout: &Checkout,
    action: Option<&ActionPin>,
    force: bool,
) -> Result<PlannedFile, PlanError> {
    let path = kind.path();
    let has: fn(&WorkflowUse) -> bool = match kind {
        WorkflowKind::Gate => |found| found.judges,
        WorkflowKind::Nightly => |found| found.replays,
    };
    let done = match kind {
        WorkflowKind::Gate => "runs the action on pull requests already",
        WorkflowKind::Nightly => "replays verdicts already",
    };
    let now = checkout.workflow(path);
    let text = match now {
        None => match checkout.other_with(path, has) {
            Some(other) => {
                let reason = format!("{} {done}", sanitize_cut(other, 200));
                return Ok(planned(path, Step::Leave { reason }));
            }
            None => None,
        },
        Some(file) => {
            let Some(text) = file.text.as_deref() else { return Err(PlanError::Unreadable(path.to_owned())) };
            if !texts::is_our_workflow(text) && !force {
                if has(&workflow_use(text)) {
                    let reason = format!("it {done}, and is not marked as written by init");
                    return Ok(planned(path, Step::Leave { reason }));
                }
                return Err(PlanError::NotOurs(path.to_owned()));
            }
            Some(text)
        }
    };
    let step = step(text, &|now| kind.render(action, Some(now)));
    Ok(planned(path, withheld_without(action, step)))
}

fn plan_policy(
    now: Option<&WorkingFile>,
    action: Option<&ActionPin>,
    wishes: &Wishes<'_>,
    registry: &Registry,
) -> Result<(PlannedFile, Preset), PlanError> {
    let Some(file) = now else {
        let preset = wishes.preset.unwrap_or(wishes.proposed);
        let text = texts::new_policy(action, preset, wishes.numbers);
        return Ok((planned(POLICY_PATH, Step::Create { text }), preset));
    };
    let Some(text) = file.text.as_deref() else {
        return Err(PlanError::Unreadable(POLICY_PATH.to_owned()));
    };
    let policy = effective_policy(Some(text), &Overrides::default(), registry)?;
    let preset = wishes.preset.unwrap_or(policy.preset);
    let edit = |now: &str| {
        let text = if preset == policy.preset {
            now.to_owned()
        } else {
            texts::with_preset(now, preset, wishes.numbers)
        };
        match action {
            Some(action) => texts::with_schema(&text, action),
            None => text,
        }
    };
    let step = step(Some(text), &edit);
    if let Step::Update { text, .. } = &step {
        let edited = effective_policy(Some(text), &Overrides::default(), registry);
        let edited = edited.map_err(|_| PlanError::Unedited)?;
        if edited.preset != preset {
            return Err(PlanError::Unedited);
        }
        // A stricter preset turns off advice of a few rules, which blocked nothing.
        let advice = Strength::Advise.as_str();
        let mut weaker = weakened(&policy, &edited);
        weaker.retain(|setting| setting.base != advice);
        if let Some(first) = weaker.first() {
            let first = format!("{} from {} to {}", first.name, first.base, first.head);
            let settings = match weaker.len() {
                1 => first,
                count => format!("{first}, and {} more", count - 1),
            };
            return Err(PlanError::Weakens {
                preset: preset.as_str(),
                settings: sanitize_cut(&settings, 300),
            });
        }
    }
    Ok((planned(POLICY_PATH, step), preset))
}

/// Plans the line that keeps the policy out of archives, where the attributes name what stays out of them.
fn plan_attributes(checkout: &Checkout) -> Option<PlannedFile> {
    let file = checkout.attributes.as_ref()?;
    let step = step(Some(file.text.as_deref()?), &with_export_ignore);
    let note =
        "keeps the policy out of the archives that `git archive` makes, as other files are here".to_owned();
    let is_changed = matches!(step, Step::Update { .. });
    is_changed.then(|| PlannedFile { path: file.path.clone(), step, note: Some(note) })
}

fn plan_pre_commit(checkout: &Checkout, action: Option<&ActionPin>) -> Result<PlannedFile, PlanError> {
    let now = match &checkout.pre_commit {
        Some(WorkingFile { text: None, .. }) => return Err(PlanError::Unreadable(PRE_COMMIT.to_owned())),
        Some(WorkingFile { text: Some(text), .. }) => Some(text.as_str()),
        None => None,
    };
    let hook = Hook::new(action);
    if hook.added_to(now.unwrap_or_default()).is_none() {
        let reason = "its `repos` is no list in block form; docs/laptop.md has the entry".to_owned();
        return Ok(planned(PRE_COMMIT, Step::Leave { reason }));
    }
    let step = step(now, &|now| hook.added_to(now).unwrap_or_else(|| now.to_owned()));
    Ok(planned(PRE_COMMIT, withheld_without(action, step)))
}

/// Returns the step of a file that names the action; without the action's commit it is shown and not written.
fn withheld_without(action: Option<&ActionPin>, step: Step) -> Step {
    match (action, step) {
        (None, Step::Create { text }) => Step::Withhold { old: String::new(), text },
        (None, Step::Update { old, text }) => Step::Withhold { old, text },
        (_, step) => step,
    }
}

fn plan_owners(
    checkout: &Checkout,
    files: &[PlannedFile],
    owners: &[String],
) -> Result<PlannedFile, PlanError> {
    let now = checkout.codeowners.as_ref();
    let path = now.map_or(checkout.forge.codeowners()[0], |file| file.path.as_str());
    let workflows: Vec<&str> = match checkout.forge {
        Forge::GitHub => files.iter().filter_map(gate_path).collect(),
        Forge::GitLab => vec![GITLAB_PIPELINE],
    };
    let text = match now {
        Some(file) => match file.text.as_deref() {
            Some(text) => Some(text),
            None => return Err(PlanError::Unreadable(path.to_owned())),
        },
        None => None,
    };
    let paths = texts::owned_paths(&workflows, path);
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let file = planned(path, step(text, &|now| texts::with_owners(now, &paths, owners)));
    let replaced = texts::replaced_owners(text.unwrap_or_default(), &paths, owners);
    let names: Vec<String> = replaced.iter().map(|owner| sanitize_cut(owner, 100)).collect();
    let is_changed = file.text().is_some() && !names.is_empty();
    let note = is_changed.then(|| format!("these files no longer have the owners {}", names.join(", ")));
    Ok(PlannedFile { note, ..file })
}

fn planned(path: &str, step: Step) -> PlannedFile {
    PlannedFile { path: path.to_owned(), step, note: None }
}

/// Returns the step from a file's text to its edited one. The edit sees line ends as `\n` and keeps those of the file.
fn step(now: Option<&str>, edit: &dyn Fn(&str) -> String) -> Step {
    let Some(now) = now else { return Step::Create { text: edit("") } };
    let plain = now.replace("\r\n", "\n");
    let text = edit(&plain);
    if text == plain {
        return Step::Unchanged;
    }
    Step::Update { old: now.to_owned(), text: texts::with_line_ends_of(now, &text) }
}
