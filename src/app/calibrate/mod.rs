//! `qa-skill calibrate`: judges the changes merged last by a policy, to show its cost before it is in force.

mod cost;
mod report;

pub(in crate::app) use self::report::wilson;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::console;
use super::exit::Failure;
use super::inputs::{HeadTrust, Opened, Request, policy_in_file, read_policy};
use super::observer::ObserverRequest;
use super::prepare::prepare_by;
use super::progress::TerminalProgress;
use crate::git::{GitObjects, Merged, OpenRepository};
use qa_contracts::v1::{Calibration, Preset, Registry};
use qa_core::canonical;
use qa_core::policy::{Overrides, POLICY_PATH, Policy};
use qa_run::derive::{Judgement, judge_by_each};
use qa_run::inputs::PolicyInForce;
use qa_run::keys::key;
use qa_run::ports::{Cancellation, Progress};

/// Maximum of `--last`, which bounds the time.
pub(crate) const MOST_CHANGES: u64 = 100_000;

/// Merged changes that are judged again.
#[derive(Args)]
pub(crate) struct MergedChangesArgs {
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) repo: PathBuf,
    /// The newest change: a branch, tag or commit; by default the default branch
    #[arg(long, value_name = "REV")]
    pub(crate) head: Option<String>,
    /// Number of changes, each a first-parent commit against its parent
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_CHANGES))]
    pub(crate) last: u64,
}

impl MergedChangesArgs {
    /// Returns the newest change that is judged.
    pub(crate) fn newest(&self) -> Result<String, Failure> {
        match &self.head {
            Some(head) => Ok(head.clone()),
            None => Ok(OpenRepository::discover(&self.repo)?.default_branch()?.0.to_owned()),
        }
    }
}

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    changes: MergedChangesArgs,
    /// An uncommitted policy file, instead of the policy and the waivers of the newest change
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The rule strengths to start from; overrides the policy
    #[arg(long, value_parser = super::option_values::word_parser::<Preset>())]
    preset: Option<Preset>,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Hide the progress
    #[arg(long, short)]
    quiet: bool,
}

/// Format of the printed result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Terminal,
    Json,
}

impl Format {
    /// Prints a document as canonical JSON, or as the text that `render` makes of it.
    pub(crate) fn print<T: Serialize>(
        self,
        document: &T,
        render: impl Fn(&T) -> String,
    ) -> Result<(), Failure> {
        let mut bytes = match self {
            Self::Terminal => render(document).into_bytes(),
            Self::Json => canonical::to_vec(document).expect("counts have a canonical form"),
        };
        if self == Self::Json {
            bytes.push(b'\n');
        }
        console::write_stdout(&bytes)
    }
}

/// Judges the merged changes and prints the cost of the policy.
pub(crate) fn calibrate(arguments: &CalibrateArgs, cancellation: &Cancellation) -> Result<(), Failure> {
    let progress = TerminalProgress::with_log(arguments.quiet);
    let head = arguments.changes.newest()?;
    let calibration = back_test(&arguments.back_test(&head), arguments.preset, cancellation, &progress);
    progress.clear();
    let calibration = calibration?;
    arguments.format.print(&calibration, report::render_text)
}

/// Merged changes to judge, and the policy to judge them by.
pub(crate) struct BackTest<'a> {
    pub(crate) repository: &'a Path,
    /// Name of the newest change.
    pub(crate) head: &'a str,
    /// Number of changes.
    pub(crate) last: u64,
    /// A policy file that is not committed, instead of the policy of the newest change.
    pub(crate) file: Option<&'a Path>,
    /// Number of threads; as many as the machine has without it.
    pub(crate) jobs: Option<u64>,
}

impl CalibrateArgs {
    fn back_test<'a>(&'a self, head: &'a str) -> BackTest<'a> {
        BackTest {
            repository: &self.changes.repo,
            head,
            last: self.changes.last,
            file: self.file.as_deref(),
            jobs: self.jobs,
        }
    }
}

/// Policies and registry that every change is judged by.
struct Bench<'a> {
    request: &'a Request,
    /// By preset; alike but for the strengths of rules.
    policies: &'a [PolicyInForce],
    registry: &'a Registry,
    cancellation: &'a Cancellation,
}

/// Judges merged changes by a policy without its gates and reviews, and returns what it would have cost. A change that passes with
/// parts of it not looked at counts as one without a verdict.
pub(crate) fn back_test(
    test: &BackTest<'_>,
    preset: Option<Preset>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Calibration, Failure> {
    let mut calibrations = back_test_each(test, &[preset], cancellation, progress)?;
    Ok(calibrations.swap_remove(0))
}

/// Judges merged changes once, and returns what each preset would have cost; `None` is the preset of the policy.
pub(crate) fn back_test_each(
    test: &BackTest<'_>,
    presets: &[Option<Preset>],
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<Calibration>, Failure> {
    let request = request(test, presets.first().copied().flatten());
    let repository = OpenRepository::discover(&request.repository)?;
    let count = usize::try_from(test.last).unwrap_or(usize::MAX);
    let merged = repository.merged(&request.head, count)?;
    let Some(newest) = merged.first() else {
        let message = "the history has no commit with a parent, so there is no change to judge";
        return Err(Failure::usage(message, "in a shallow clone, fetch more of the history first"));
    };
    let registry = qa_lenses::registry();
    let objects = GitObjects::new(&repository)?;
    let (mut policies, mut sources) = (Vec::new(), Vec::new());
    for preset in presets {
        let overrides = Overrides { preset: *preset, ..Overrides::default() };
        let (mut in_force, source) = in_force(test, &overrides, &objects, newest, &registry)?;
        in_force.policy.disable_gates_and_reviews();
        // Changes are judged side by side, so each has one thread.
        in_force.policy.max_concurrency = 1;
        policies.push(in_force);
        sources.push(source);
    }
    let workers = match test.jobs {
        Some(jobs) => usize::try_from(jobs).unwrap_or(1),
        None => std::thread::available_parallelism().map(usize::from).unwrap_or(1),
    };
    let bench = Bench { request: &request, policies: &policies, registry: &registry, cancellation };
    progress.step("judging merged changes", 0, merged.len());
    let costs = bench.judge_all(&merged, workers.min(merged.len()), progress)?;
    let mut costs_by_preset: Vec<Vec<cost::ChangeCost>> = presets.iter().map(|_| Vec::new()).collect();
    for change in costs {
        for (costs, cost) in costs_by_preset.iter_mut().zip(change) {
            costs.push(cost);
        }
    }
    let by_preset = policies.iter().zip(sources).zip(costs_by_preset);
    Ok(by_preset
        .map(|((in_force, source), costs)| {
            cost::sum(&registry, source, in_force.policy.preset, &merged, costs)
        })
        .collect())
}

/// Changes that threads take from, and the costs of those that are done.
struct Queue<'a> {
    merged: &'a [Merged],
    next: AtomicUsize,
    done: AtomicUsize,
    /// Costs by each policy, by position of the change.
    costs: Mutex<BTreeMap<usize, Vec<cost::ChangeCost>>>,
    progress: &'a dyn Progress,
}

impl Bench<'_> {
    fn judge_all(
        &self,
        merged: &[Merged],
        workers: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<cost::ChangeCost>>, Failure> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let queue = Queue { merged, next, done, costs: Mutex::default(), progress };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(|| self.judge_queued(&queue))).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        let costs = queue.costs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(costs.into_values().collect())
    }

    /// Judges changes of the queue until none is left, with a repository handle of its own.
    fn judge_queued(&self, queue: &Queue<'_>) -> Result<(), Failure> {
        let repository = OpenRepository::discover(&self.request.repository)?;
        let objects = GitObjects::new(&repository)?;
        let mut opened = Opened { repository, objects, resolved: queue.merged[0].resolved.clone() };
        loop {
            let index = queue.next.fetch_add(1, Ordering::Relaxed);
            let Some(change) = queue.merged.get(index) else { return Ok(()) };
            opened.resolved = change.resolved.clone();
            let judgements = self.judge(&opened).inspect_err(|_| {
                // Ends the other threads.
                queue.next.store(queue.merged.len(), Ordering::Relaxed);
            })?;
            let mut costs = queue.costs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            costs.insert(index, judgements.iter().map(cost::measure).collect());
            let done = queue.done.fetch_add(1, Ordering::Relaxed) + 1;
            queue.progress.step("judging merged changes", done, queue.merged.len());
        }
    }

    /// Judges a change by each policy, with one execution of its plans where they have the same plans.
    fn judge(&self, opened: &Opened) -> Result<Vec<Judgement>, Failure> {
        if let Some(judgements) = self.judge_together(opened, self.policies)? {
            return Ok(judgements);
        }
        let mut judgements = Vec::new();
        for policy in self.policies {
            judgements.extend(self.judge_together(opened, std::slice::from_ref(policy))?.unwrap_or_default());
        }
        Ok(judgements)
    }

    /// Judges a change by policies with the same plans, or returns `None` where they may have others.
    fn judge_together(
        &self,
        opened: &Opened,
        policies: &[PolicyInForce],
    ) -> Result<Option<Vec<Judgement>>, Failure> {
        let Some(in_force) = policies.first().cloned() else { return Ok(None) };
        let policies: Vec<Policy> = policies.iter().map(|in_force| in_force.policy.clone()).collect();
        let prepared =
            prepare_by(self.request, opened, in_force, self.registry.clone(), self.cancellation, &Silent)?;
        prepared.with_ports(opened, self.cancellation, &Silent, |ports| {
            let keyed = key(&prepared.inputs, ports);
            Ok(judge_by_each(&prepared.inputs, ports, &keyed.key, &policies)?)
        })
    }
}

/// Progress of a single change, which is not shown.
struct Silent;

impl Progress for Silent {
    fn step(&self, _: &'static str, _: usize, _: usize) {}
}

fn request(test: &BackTest<'_>, preset: Option<Preset>) -> Request {
    Request {
        repository: test.repository.to_owned(),
        base: None,
        head: test.head.to_owned(),
        uncommitted: None,
        stores_commits: true,
        test_merge: None,
        overrides: Overrides { preset, ..Overrides::default() },
        artifact_root: None,
        refresh: false,
        head_trust: HeadTrust::Own,
        models: super::inputs::ModelUse::default(),
        label_features: Default::default(),
        baseline: None,
        observer: ObserverRequest::of_command(None),
        settings: Vec::new(),
        document: None,
    }
}

/// Returns the policy and its source for display: that of the newest change, which judges the next one, or that of a file.
fn in_force(
    test: &BackTest<'_>,
    overrides: &Overrides,
    objects: &GitObjects,
    newest: &Merged,
    registry: &Registry,
) -> Result<(PolicyInForce, String), Failure> {
    let mut resolved = newest.resolved.clone();
    resolved.base = resolved.head.clone();
    let mut in_force = read_policy(objects, resolved.sides(), overrides, registry)?;
    // Only runs preview the policy of head.
    in_force.texts.head_policy = None;
    let Some(path) = test.file else {
        let source =
            if in_force.texts.base_policy.is_some() { POLICY_PATH } else { "no policy file, defaults" };
        return Ok((in_force, format!("{source} at {}", resolved.head.short())));
    };
    let file = policy_in_file(path, overrides, registry)?;
    in_force.policy = file.policy;
    in_force.texts.base_policy = Some(file.text);
    Ok((in_force, file.display_path))
}
