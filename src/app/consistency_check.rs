//! `qa-skill consistency-check`: checks that a commit still keeps the conventions of the rubric in force.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::inputs::read_policy;
use super::progress::TerminalProgress;
use crate::git::{GitObjects, OpenRepository, Sides};
use qa_contracts::v1::{ConventionFamily, FallenConvention, RubricStanding};
use qa_core::escape::{markdown as escaped, visible};
use qa_core::policy::Overrides;
use qa_lenses::consistency::mine::is_enough;
use qa_run::mining::Mining;
use qa_run::ports::Cancellation;

/// Number of threads that count conventions beside a drift check; a runner has as many processors.
pub(crate) const RUBRIC_WORKERS: u64 = 4;

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The commit whose policy names the rubric and whose files are checked: a branch, tag or commit
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    base: String,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Hide the progress
    #[arg(long, short)]
    quiet: bool,
}

/// Prints which conventions still hold. Those that do not need a person's decision, so the command succeeds.
pub(crate) fn print_standing(arguments: &CheckArgs, cancellation: &Cancellation) -> Result<Exit, Failure> {
    let progress = TerminalProgress::new(arguments.quiet);
    let standing = rubric_standing(&arguments.repo, &arguments.base, arguments.jobs, cancellation, &progress);
    progress.clear();
    let text = match standing? {
        Some(standing) => describe(&standing),
        None => "the policy names no rubric, so there is nothing to check\n".to_owned(),
    };
    console::write_stdout(text.as_bytes()).map(|()| Exit::Pass)
}

/// Counts the conventions in force in a commit, or returns `None` if its policy names no rubric.
pub(crate) fn rubric_standing(
    repository: &Path,
    base: &str,
    workers: u64,
    cancellation: &Cancellation,
    progress: &TerminalProgress,
) -> Result<Option<RubricStanding>, Failure> {
    let repository = OpenRepository::discover(repository)?;
    let commit = repository.commit_named(base)?.ok_or_else(|| {
        let message = format!("`{}` names no commit of this repository", visible(base));
        Failure::usage(message, "pass --base with a commit, branch or tag")
    })?;
    let objects = GitObjects::new(&repository)?;
    let in_force = read_policy(
        &objects,
        Sides { base: &commit, head: &commit },
        &Overrides::default(),
        &qa_lenses::registry(),
    )?;
    let Some(rubric) = in_force.rubric else { return Ok(None) };
    let mining = Mining {
        objects: &objects,
        commit: &commit,
        history: &[],
        scopes: &in_force.policy.scope_globs(),
        workers,
        cancellation,
        progress,
    };
    let counts = mining.recount(&rubric.conventions)?;
    let counted = rubric.conventions.iter().zip(counts);
    let of_files = counted.filter(|(convention, _)| convention.family != ConventionFamily::CoChange);
    let fallen = of_files.clone().filter(|(convention, (support_now, exceptions_now))| {
        !is_enough(convention.family, *support_now, *exceptions_now)
    });
    Ok(Some(RubricStanding {
        rubric_version: rubric.rubric_version,
        commit,
        counted: of_files.clone().count() as u64,
        fallen: fallen
            .map(|(convention, (support_now, exceptions_now))| FallenConvention {
                id: convention.id.clone(),
                statement: convention.statement.clone(),
                strength: convention.strength,
                support_then: convention.support,
                exceptions_then: convention.exceptions,
                support_now,
                exceptions_now,
            })
            .collect(),
    }))
}

fn first_line(standing: &RubricStanding) -> String {
    let RubricStanding { rubric_version, commit, counted, fallen } = standing;
    let kept = counted - fallen.len() as u64;
    let commit = commit.short();
    format!(
        "rubric {rubric_version} at {commit}: {kept} of {counted} conventions hold, {} do not",
        fallen.len()
    )
}

fn describe_counts(fallen: &FallenConvention) -> String {
    format!(
        "{} exceptions in {} places, {} in {} when it was frozen",
        fallen.exceptions_now, fallen.support_now, fallen.exceptions_then, fallen.support_then
    )
}

/// Describes the standing as text for a terminal.
pub(crate) fn describe(standing: &RubricStanding) -> String {
    let mut out = format!("{}\n", first_line(standing));
    for fallen in &standing.fallen {
        let (statement, strength) = (visible(&fallen.statement), fallen.strength);
        let _infallible =
            writeln!(out, "{}  ({strength})\n  {statement}\n  {}", fallen.id, describe_counts(fallen));
    }
    if !standing.fallen.is_empty() {
        out.push_str("run `qa-skill consistency-init` and approve a new version\n");
    }
    out
}

/// Describes the standing in Markdown for a job summary.
pub(crate) fn markdown(standing: &RubricStanding) -> String {
    let mut out = format!("\n## Conventions: {}\n", first_line(standing));
    for fallen in &standing.fallen {
        let (statement, strength) = (escaped(&fallen.statement), fallen.strength);
        let _infallible = write!(out, "\n- {statement} ({strength}): {}", describe_counts(fallen));
    }
    if !standing.fallen.is_empty() {
        out.push_str("\n\nRun `qa-skill consistency-init` and approve a new version.\n");
    }
    out
}
