//! `qa-skill init`: looks at a repository, measures presets on its history, and writes workflows and policy after asking.

pub(in crate::app) mod files;
pub(in crate::app) mod plan;
#[cfg(test)]
mod plan_tests;
mod pre_commit;
mod preset;
pub(in crate::app) mod report;
mod texts;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;

use self::plan::{Checkout, Forge, PlanError, Wishes};
use self::report::{Chosen, Measured, Measurement};
use super::calibrate::{BackTest, MOST_CHANGES, back_test_each};
use super::console;
use super::exit::{Exit, Failure};
use super::progress::TerminalProgress;
use crate::git::{GitObjects, OpenRepository};
use qa_contracts::codes::Code;
use qa_contracts::v1::Preset;
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_core::policy::POLICY_PATH;
use qa_run::ports::{Cancellation, Progress};
use qa_run::setup::{ActionPin, is_owner, take_inventory};

pub(crate) const EXAMPLES: &str = "\
Examples:
  qa-skill init --uses OWNER/qa-skill@COMMIT            show the plan and ask
  qa-skill init --uses OWNER/qa-skill@COMMIT --dry-run  show the plan
  qa-skill init --yes --preset default                  write without asking

Without --uses the action is that of the workflow here. Proposes guarded if, by
the 95 % interval, it stops at most 4 % of the measured changes, else default if
it would have stopped at most 5 %, else advisory; default where fewer than 20
changes were judged. A policy that is there keeps its settings, and is never
weakened. Nothing is measured with --preset, and where init wrote the policy
before.";

/// Consent to write files.
#[derive(Args)]
pub(in crate::app) struct ConfirmationArgs {
    /// Write the files without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// Print the plan and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl ConfirmationArgs {
    /// Returns whether a person is asked before files are written.
    fn asks(&self) -> bool {
        !self.yes && !self.dry_run && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

#[derive(Args)]
pub(crate) struct InitArgs {
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The action and the full id of a release's commit; by default those of a workflow that is there
    #[arg(long, value_name = "OWNER/qa-skill@COMMIT")]
    uses: Option<String>,
    /// The preset to write, instead of the proposed one; nothing is measured then
    #[arg(long, value_parser = super::option_values::word_parser::<Preset>())]
    preset: Option<Preset>,
    /// The newest change that presets are measured on: a branch, tag or commit; by default origin/HEAD, origin/main,
    /// origin/master, main, master or HEAD
    #[arg(long, value_name = "REV")]
    head: Option<String>,
    /// Number of merged changes that presets are measured on, at most
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_CHANGES))]
    last: u64,
    /// An owner of the policy and the workflows, which CODEOWNERS gets lines for: @user, @org/team or a mail address;
    /// repeatable
    #[arg(long, value_name = "OWNER")]
    codeowners: Vec<String>,
    /// Write no workflow that replays stored verdicts each night
    #[arg(long)]
    no_nightly: bool,
    /// Add the gate to the hooks of pre-commit, in .pre-commit-config.yaml
    #[arg(long)]
    pre_commit: bool,
    #[command(flatten)]
    confirmation: ConfirmationArgs,
    /// Replace workflows of the same names that init did not write
    #[arg(long)]
    force: bool,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,
    /// Hide the progress
    #[arg(long, short)]
    quiet: bool,
}

/// Shows the plan, asks, and writes the files.
pub(crate) fn init(arguments: &InitArgs, cancellation: &Cancellation) -> Result<Exit, Failure> {
    let action = parse_uses(arguments)?;
    check_owners(&arguments.codeowners)?;
    let repository = OpenRepository::discover(&arguments.repo)?;
    let root = repository.root.clone();
    if std::fs::symlink_metadata(root.join(".git")).is_err() {
        let shown = sanitize_cut(&root.display().to_string(), 300);
        let message = format!("{shown} is a bare repository, which has no checkout to write files to");
        return Err(Failure::usage(message, "run init in a clone of it"));
    }
    let commit = repository.checked_out()?.head;
    let forge = match action {
        // An action reference implies GitHub.
        Some(_) => Forge::GitHub,
        None => files::forge_of(&root, repository.origin()),
    };
    let checkout = files::read_checkout(&root, forge, !arguments.codeowners.is_empty())?;
    // Everything else may take minutes, which are spent for nothing if files are to be written at once and cannot be.
    let is_unknown = action.is_none() && forge == Forge::GitHub && checkout.action().is_none();
    if arguments.confirmation.yes && is_unknown {
        return Err(plan_failure(&PlanError::ActionUnknown));
    }
    let objects = GitObjects::new(&repository)?;
    let inventory = take_inventory(&objects, &commit, cancellation)?;
    let progress = TerminalProgress::with_log(arguments.quiet);
    let measured = measure(arguments, &repository, &checkout, cancellation, &progress);
    progress.clear();
    let measured = measured?;
    let shown = report::found(&inventory, commit.short()) + &report::measurement(&measured);
    console::write_page(&shown)?;
    let wishes = Wishes {
        action,
        preset: arguments.preset,
        proposed: measured.proposed().unwrap_or(Preset::Default),
        numbers: &measured.numbers(),
        owners: &arguments.codeowners,
        nightly: !arguments.no_nightly,
        pre_commit: arguments.pre_commit,
        force: arguments.force,
    };
    let plan = plan::plan(&checkout, &wishes, &qa_lenses::registry());
    let plan = plan.map_err(|error| plan_failure(&error))?;
    let shown = report::planned(&plan, measured.proposed()) + report::other_forge(forge);
    console::write_page(&shown)?;
    if plan.lacks_action() {
        console::write_page(report::missing_action())?;
        return Err(plan_failure(&PlanError::ActionUnknown));
    }
    let texts: Vec<(&str, &str)> =
        plan.files.iter().filter_map(|file| Some((file.path.as_str(), file.text()?))).collect();
    if texts.is_empty() {
        return console::write_stdout(b"\nNothing to write.\n").map(|()| Exit::Pass);
    }
    let is_shown_alone = !arguments.confirmation.yes && !arguments.confirmation.asks();
    if is_shown_alone && measured.proposed().is_some() {
        console::write_page(&report::without_measuring(plan.preset))?;
    }
    if !is_confirmed(&arguments.confirmation, texts.len())? {
        return console::write_stdout(b"\nNothing was written.\n").map(|()| Exit::Pass);
    }
    plan.files.iter().try_for_each(|file| files::check_target(&root, file))?;
    for (path, text) in &texts {
        cancellation.check()?;
        files::write_file(&root, path, text)?;
    }
    let steps = report::NextSteps { forge, has_hook: plan.has_hook() };
    console::write_page(&report::next_steps(texts.len(), &inventory, &steps)).map(|()| Exit::Pass)
}

/// Returns the commit of the action in the workflow that `init` wrote; `None` without such a workflow.
pub(crate) fn written_pin(root: &Path) -> Result<Option<ActionPin>, Failure> {
    Ok(files::read_checkout(root, Forge::GitHub, false)?.written_pin())
}

/// Returns whether the files may be written. On a terminal the person is asked.
pub(in crate::app) fn is_confirmed(arguments: &ConfirmationArgs, count: usize) -> Result<bool, Failure> {
    if arguments.yes {
        return Ok(true);
    }
    if arguments.dry_run {
        return Ok(false);
    }
    if !arguments.asks() {
        return Err(Failure::with_code(
            Code::InitNotConfirmed,
            "failed to ask: standard input and standard error are not both a terminal",
        ));
    }
    console::write_stderr(&format!("\n{}", report::question(count)));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::usage(format!("failed to read the answer: {error}"), ""))?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

fn parse_uses(arguments: &InitArgs) -> Result<Option<ActionPin>, Failure> {
    let Some(text) = &arguments.uses else { return Ok(None) };
    ActionPin::parse(text).map(Some).map_err(|reason| {
        let shown = sanitize_cut(text, 200);
        Failure::with_code(Code::InitActionUnknown, format!("`--uses {shown}` names no commit: {reason}"))
    })
}

fn check_owners(owners: &[String]) -> Result<(), Failure> {
    match owners.iter().find(|owner| !is_owner(owner)) {
        Some(owner) => Err(Failure::usage(
            format!("`{}` is no owner", sanitize_cut(owner, 100)),
            "pass --codeowners with @user, @organisation/team or a mail address",
        )),
        None => Ok(()),
    }
}

fn plan_failure(error: &PlanError) -> Failure {
    let message = format!("failed to plan the files: {error}");
    let failure = match error.code() {
        Some(code) => Failure::with_code(code, message),
        None => Failure::usage(message, ""),
    };
    Failure { hint: error.hint().to_owned(), ..failure }
}

/// Judges the newest changes of the default branch by the presets that block, unless the preset is chosen already.
fn measure(
    arguments: &InitArgs,
    repository: &OpenRepository,
    checkout: &Checkout,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Measurement, Failure> {
    if arguments.preset.is_some() {
        return Ok(Measurement::Skipped(Chosen::ByOption));
    }
    let now = checkout.policy.as_ref();
    if now.and_then(|file| file.text.as_deref()).is_some_and(texts::is_our_policy) {
        return Ok(Measurement::Skipped(Chosen::ByPolicy));
    }
    let branch = history(arguments, repository)?;
    let mut measured = Measured {
        branch: branch.shown,
        is_default_branch: branch.is_default,
        costs: Vec::new(),
        asked: arguments.last,
        is_shallow: repository.is_shallow(),
        proposed: Preset::Default,
    };
    if repository.merged(&branch.name, 1)?.is_empty() {
        return Ok(Measurement::Done(measured));
    }
    let policy = now.map(|_| repository.root.join(POLICY_PATH));
    let test = BackTest {
        repository: &repository.root,
        head: &branch.name,
        last: arguments.last,
        file: policy.as_deref(),
        jobs: arguments.jobs,
    };
    let presets = [Some(Preset::Default), Some(Preset::Guarded)];
    measured.costs = back_test_each(&test, &presets, cancellation, progress)?;
    measured.proposed = preset::propose(&measured.costs);
    Ok(Measurement::Done(measured))
}

/// Name of a branch for lookups, and for people.
struct Branch {
    name: String,
    shown: String,
    is_default: bool,
}

fn history(arguments: &InitArgs, repository: &OpenRepository) -> Result<Branch, Failure> {
    if let Some(name) = &arguments.head {
        return Ok(Branch { name: name.clone(), shown: visible(name), is_default: false });
    }
    let (name, shown) = repository.default_branch()?;
    Ok(Branch { name: name.to_owned(), shown: shown.to_owned(), is_default: name != "HEAD" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for (answer, expected) in
            [("y\n", true), (" YES \n", true), ("", false), ("\n", false), ("n\n", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn the_help_states_the_rule_of_the_proposal() {
        let words = |text: &str| text.replace('\n', " ");
        let rule =
            preset::RULE.split(';').next().unwrap().replace("of the changes", "of the measured changes");
        assert!(words(EXAMPLES).contains(&rule), "{rule}");
    }
}
