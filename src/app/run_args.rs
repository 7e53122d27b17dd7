//! Options of commands that judge or plan a change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::baseline;
use super::console::{self, Color, Output};
use super::exit::Failure;
use super::input_document::read_document;
use super::inputs::{HeadTrust, ModelUse, Request};
use super::observer::ObserverRequest;
use super::option_values::{parse_replies, parse_shard, word_parser};
use super::uncommitted_args::{JudgedContentArgs, PlannedContentArgs};
use qa_contracts::v1::{ObserverMode, Preset, RunMode, RunStage};
use qa_core::policy::Overrides;
use qa_core::shard::Shard;
use qa_run::reviews::RepliesMode;

/// Heading of the options that replace a setting, or name what a setting is about.
const POLICY: &str = "Policy";
/// Heading of the options about how a run is executed.
const EXECUTION: &str = "Execution";
/// Heading of the options about what a run prints and stores.
const OUTPUT: &str = "Output";
/// Heading of the options about requests to models.
const MODELS: &str = "Models";

/// Options of commands that read the policy of a base.
#[derive(Args, Clone)]
pub(super) struct BaseArgs {
    /// The repository, or a directory inside it
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The base; by default the main branch of origin
    ///
    /// A branch, tag or commit. Without this option the base is the first of origin/HEAD, origin/main and origin/master, or without a remote another
    /// branch called main or master. For an ambiguous name write refs/heads/NAME, refs/tags/NAME or refs/remotes/origin/NAME.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Treatment of incomplete plans: strict or best_effort
    #[arg(long, value_parser = word_parser::<RunMode>(), hide_possible_values = true, help_heading = POLICY)]
    mode: Option<RunMode>,
    /// Rule strengths: default, guarded or advisory
    #[arg(long, value_parser = word_parser::<Preset>(), hide_possible_values = true, help_heading = POLICY)]
    preset: Option<Preset>,
}

/// Options of commands that plan a run.
#[derive(Args)]
pub(super) struct PlanningArgs {
    #[command(flatten)]
    base: BaseArgs,
    /// The head: a branch, tag or commit
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    head: String,
    /// Only this lens; repeatable
    ///
    /// A run without a required lens cannot pass.
    #[arg(long = "lens", value_name = "LENS", help_heading = POLICY)]
    lenses: Vec<String>,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64), help_heading = EXECUTION)]
    jobs: Option<u64>,
    /// Run directory of the base commit, for the gates
    ///
    /// Its reports stand for those of the base where the policy names none, and its commands need not run on the base again.
    #[arg(long, value_name = "RUN", help_heading = POLICY)]
    baseline: Option<PathBuf>,
    /// Observer: bootstrap, cadence or cross-check
    ///
    /// The policy of the base has to enable the observer. With bootstrap or cadence, what it defers for drafts is not done,
    /// and the run does not pass. The default is cross-check.
    #[arg(
        long,
        value_name = "MODE",
        value_parser = word_parser::<ObserverMode>(),
        hide_possible_values = true,
        help_heading = POLICY,
    )]
    observer_mode: Option<ObserverMode>,
    /// Stage to judge instead of the whole run: reviews
    ///
    /// Rules and reviews are judged without gates, and every enabled review is required. The action judges
    /// this stage on workflow_run.
    #[arg(
        long,
        value_name = "STAGE",
        value_parser = word_parser::<RunStage>(),
        hide_possible_values = true,
        conflicts_with = "baseline",
        help_heading = POLICY,
    )]
    stage: Option<RunStage>,
}

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) verdict: VerdictArgs,
    #[command(flatten)]
    pub(super) content: JudgedContentArgs,
    /// Execute one shard of the run; `aggregate` joins them
    ///
    /// The shard's part is stored without a verdict; `aggregate` joins all parts and gives it.
    #[arg(long, value_name = "K/N", value_parser = parse_shard, help_heading = EXECUTION, conflicts_with_all = [
        "formats", "refresh", "since", "replies", "pull_request", "no_model", "color", "verify_drift",
    ])]
    pub(super) shard: Option<Shard>,
}

/// Options of commands that give a verdict.
#[derive(Args)]
pub(super) struct VerdictArgs {
    #[command(flatten)]
    pub(super) planning: PlanningArgs,
    /// Judge the run that a skill-input document describes
    ///
    /// `plan --format input` prints such a document, and every run stores its own as input.normalized.json. `-` is standard
    /// input. A run that differs from the document is an error.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "head", "mode", "preset", "lenses", "stage"])]
    input: Option<PathBuf>,
    /// The artifact root; .qa-skill by default
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// An output format; repeatable
    ///
    /// With a path the output is written there. One format can go to standard output.
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_parser = console::parse_output, help_heading = OUTPUT)]
    pub(super) formats: Vec<Output>,
    /// Derive the stored run again before the verdict is printed
    ///
    /// It is derived from its recording and from the repository, and drift-report.json is written among the runs. A
    /// difference is exit code 4.
    #[arg(long, help_heading = EXECUTION)]
    pub(super) verify_drift: bool,
    /// Store another attempt even if the same run is stored
    #[arg(long, help_heading = EXECUTION)]
    refresh: bool,
    /// Compare with the nearest earlier run in DIR
    ///
    /// Reports which findings are new, still open and resolved since, and writes them to delta.json among the runs.
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(super) since: Option<PathBuf>,
    /// Replies: off, record, replay, replay_or_record
    ///
    /// Replies of models are those of new requests (record), stored ones (replay), or stored ones where there are any
    /// (replay_or_record, the default).
    #[arg(
        long,
        value_name = "MODE",
        value_parser = parse_replies(),
        default_value = "replay_or_record",
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = MODELS,
    )]
    replies: RepliesMode,
    /// The pull request whose model budget this run uses
    #[arg(long, value_name = "NUMBER", help_heading = MODELS)]
    pull_request: Option<u64>,
    /// Send no request to a model
    ///
    /// Required reviews are then incomplete.
    #[arg(long, help_heading = MODELS)]
    no_model: bool,
    /// Use of colour: auto, always or never
    ///
    /// By default on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        value_enum,
        default_value_t = Color::Auto,
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = OUTPUT,
    )]
    pub(super) color: Color,
    /// Hide the progress
    #[arg(long, short, help_heading = OUTPUT)]
    pub(super) quiet: bool,
    /// Log each step and its time to standard error
    #[arg(long, short, help_heading = OUTPUT)]
    pub(super) verbose: bool,
}

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) planning: PlanningArgs,
    #[command(flatten)]
    pub(super) content: PlannedContentArgs,
    /// Output format: a table, the plans of the run, or its input, which `run --input` judges
    #[arg(long, value_parser = ["table", "json", "input"], default_value = "table")]
    pub(super) format: String,
    /// Print the maximum cost of the reviews instead; no request is sent
    #[arg(long, conflicts_with_all = ["format", "shards"])]
    pub(super) cost: bool,
    /// Print the job matrix for N shards, 1 to 256, instead
    #[arg(long, value_name = "N", conflicts_with = "format")]
    pub(super) shards: Option<u64>,
}

#[derive(Args)]
pub(super) struct AggregateArgs {
    #[command(flatten)]
    pub(super) verdict: VerdictArgs,
    /// A directory that is searched for parts; repeatable
    #[arg(long = "parts", value_name = "DIR", required = true)]
    pub(super) parts: Vec<PathBuf>,
}

impl BaseArgs {
    pub(super) fn into_request(self, head: String) -> Request {
        Request {
            repository: self.repo,
            base: self.base,
            head,
            uncommitted: None,
            stores_commits: true,
            test_merge: None,
            overrides: Overrides { mode: self.mode, preset: self.preset, ..Overrides::default() },
            artifact_root: None,
            refresh: false,
            head_trust: HeadTrust::Own,
            models: ModelUse::default(),
            label_features: BTreeSet::new(),
            baseline: None,
            observer: ObserverRequest::of_command(None),
            settings: Vec::new(),
            document: None,
        }
    }
}

impl PlanningArgs {
    /// Returns the request. Lenses are sorted, so that their order does not change the execution key.
    pub(super) fn into_request(mut self) -> Result<Request, Failure> {
        self.lenses.sort();
        let mut request = self.base.into_request(self.head);
        request.baseline = self.baseline.as_deref().map(baseline::open_named).transpose()?.map(Arc::new);
        request.observer = ObserverRequest::of_command(self.observer_mode);
        request.overrides.stage = self.stage;
        request.overrides.max_concurrency = self.jobs;
        request.overrides.lens_ids = (!self.lenses.is_empty()).then_some(self.lenses);
        Ok(request)
    }
}

impl VerdictArgs {
    pub(super) fn into_request(self) -> Result<Request, Failure> {
        let document = self.input.as_deref().map(read_document).transpose()?;
        let request = Request {
            artifact_root: self.out,
            refresh: self.refresh,
            models: ModelUse {
                replies: self.replies,
                no_model: self.no_model,
                pull_request: self.pull_request,
                ..ModelUse::default()
            },
            ..self.planning.into_request()?
        };
        Ok(match document {
            Some(document) => request.of_document(document),
            None => request,
        })
    }
}
