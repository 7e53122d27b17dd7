//! `qa-skill upgrade`: shows what this version says differently from an older one about the changes merged last.

mod compare;
mod older;
mod report;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::calibrate::{BackTest, Format, MergedChangesArgs, back_test};
use super::exit::Failure;
use super::init::written_pin;
use super::progress::TerminalProgress;
use crate::git::OpenRepository;
use older::Older;
use qa_contracts::ids::CommitId;
use qa_run::ports::Cancellation;

#[derive(Args)]
pub(crate) struct UpgradeArgs {
    /// Program of the older version, such as the one that the workflow uses now
    #[arg(long, value_name = "PROGRAM")]
    from: PathBuf,
    #[command(flatten)]
    changes: MergedChangesArgs,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,
    /// Time limit of the older version
    #[arg(long, default_value_t = 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=10_800))]
    timeout: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Hide the progress
    #[arg(long, short)]
    quiet: bool,
}

/// Judges the merged changes with both versions and prints the difference.
pub(crate) fn upgrade(arguments: &UpgradeArgs, cancellation: &Cancellation) -> Result<(), Failure> {
    let pinned = written_pin(&OpenRepository::discover(&arguments.changes.repo)?.root)?;
    let head = arguments.changes.newest()?;
    let test = BackTest {
        repository: &arguments.changes.repo,
        head: &head,
        last: arguments.changes.last,
        file: None,
        jobs: arguments.jobs,
    };
    let progress = TerminalProgress::with_log(arguments.quiet);
    let own = back_test(&test, None, cancellation, &progress);
    progress.clear();
    let own = own?;
    let older = Older {
        program: &arguments.from,
        repository: &arguments.changes.repo,
        jobs: arguments.jobs,
        time: Duration::from_secs(arguments.timeout),
    };
    let from = older.calibration(&own, &judged_commits(&test)?, cancellation)?;
    let upgrade = compare::compare(&from, own, pinned.map(|pin| pin.to_string()));
    arguments.format.print(&upgrade, report::render_text)
}

/// Returns the commits of the changes that both versions judge.
fn judged_commits(test: &BackTest<'_>) -> Result<BTreeSet<CommitId>, Failure> {
    let repository = OpenRepository::discover(test.repository)?;
    let merged = repository.merged(test.head, usize::try_from(test.last).unwrap_or(usize::MAX))?;
    Ok(merged.into_iter().map(|change| change.resolved.head).collect())
}
