//! Publishes a result as a check run if the token allows it, else as workflow commands and the job summary.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::fingerprints;
use super::live_status::{LiveStatus, StepCounter};
use super::surfaces::{Runner, annotate};
use crate::app::client::client;
use crate::app::console;
use crate::app::exit::{Exit, Failure};
use crate::config::{ActionEnvironment, Inputs, Surfaces, now};
use crate::publish::artifact::moment;
use crate::publish::{
    Claim, GitHub, HeadChecks, Lease, Ownership, PublishError, SarifUpload, StickyComment, Target,
    WantedCheck,
};
use qa_contracts::ids::{CommitId, ExecutionKey};
use qa_contracts::secret::Secret;
use qa_core::escape::markdown;
use qa_core::event::Change;
use qa_formats::check_run::{CheckConclusion, CheckReport};
use qa_formats::contract::Report;
use qa_formats::sarif;
use qa_run::ports::{Cancellation, Close, Ending, NoVerdict, Objects};

/// The name of the check run, unlike the name of any job.
pub(crate) const CHECK_NAME: &str = "qa-skill verdict";
/// Author of texts that the job's own token writes.
pub(super) const COMMENT_AUTHOR: &str = "github-actions[bot]";
/// Age at which an unfinished check run of our app counts as abandoned. It exceeds the default deadline of a run.
const STALE: Duration = Duration::from_secs(2 * 60 * 60);
/// Time that a cancelled run has to finish publishing: the runner kills it after ten seconds.
const PARTING: Duration = Duration::from_secs(4);

/// Returns the check runs of a head that are this step's by its inputs.
pub(super) fn head_checks(inputs: &Inputs, head: &CommitId) -> HeadChecks {
    let author = inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR);
    HeadChecks {
        head: head.clone(),
        name: inputs.check_name.as_deref().unwrap_or(CHECK_NAME).to_owned(),
        app: author.strip_suffix("[bot]").unwrap_or(author).to_owned(),
    }
}

/// Outcome of publishing.
pub(crate) struct Published {
    /// The verdict's exit code.
    pub(crate) exit: Exit,
    /// `check-run`, `commands` or `files`.
    pub(crate) surface: &'static str,
    /// URL of the check run.
    pub(crate) url: Option<String>,
}

/// The API of a repository, and the token for it.
#[derive(Clone)]
struct Destination {
    api_url: String,
    repository: String,
    token: Secret,
}

impl Destination {
    fn github(
        &self,
        key: &ExecutionKey,
        budget: Duration,
        cancellation: &Arc<Cancellation>,
    ) -> Result<GitHub, PublishError> {
        let Self { api_url, repository, token } = self;
        let target = Target { api_url, repository, token: token.clone(), seed: key.as_str() };
        let http = client(budget, cancellation).map_err(|error| PublishError::Settings(error.to_string()))?;
        GitHub::new(Arc::new(http), target)
    }

    /// Returns the step that completes a check run without a verdict. It uses a client of its own, since the run's client is
    /// cancelled by then.
    fn close(self, key: ExecutionKey, lease: Lease, live: LiveStatus) -> Close {
        Box::new(move |reason| {
            live.stop();
            let closed = self
                .github(&key, PARTING, &Arc::default())
                .and_then(|github| conclude_without_verdict(&github, &lease, reason));
            match closed {
                // A later run judges the head, and the check run is closed.
                Ok(()) | Err(PublishError::Superseded { .. }) => {}
                Err(error) => annotate("warning", error.code().as_str(), &format!("failed to {error}")),
            }
        })
    }
}

fn conclude_without_verdict(
    github: &GitHub,
    lease: &Lease,
    reason: NoVerdict<'_>,
) -> Result<(), PublishError> {
    let NoVerdict { code, message, hint } = reason;
    let conclusion = CheckConclusion::without_verdict(code);
    if conclusion == CheckConclusion::Cancelled {
        let cancelled = github.cancel_check(lease, message);
        return cancelled.or_else(|_| github.conclude_check(lease, conclusion));
    }
    let report = CheckReport {
        conclusion,
        title: format!("Could not complete: {code}"),
        summary: format!("{}\n\n{}\n", markdown(message), markdown(hint)),
        text: None,
        annotations: Vec::new(),
    };
    // GitHub may refuse the texts, and an unfinished check run would block the pull request.
    github.finish_check(lease, &report).or_else(|_| github.conclude_check(lease, conclusion))
}

/// The publication of one run.
pub(crate) struct Publication<'a> {
    environment: &'a ActionEnvironment,
    change: &'a Change,
    head: CommitId,
    cancellation: &'a Arc<Cancellation>,
    /// Check run that waits for the verdict.
    open_check: RefCell<Option<Lease>>,
    /// Titles of that check run.
    live: RefCell<Option<LiveStatus>>,
    /// Counters that the titles show.
    counter: &'a Arc<StepCounter>,
    /// Error of the check run, which makes the result go to another surface.
    check_error: RefCell<Option<PublishError>>,
}

impl<'a> Publication<'a> {
    /// Prepares a publication. Sends nothing: the first request is that of [`Self::start_check`].
    pub(crate) fn new(
        environment: &'a ActionEnvironment,
        change: &'a Change,
        head: CommitId,
        cancellation: &'a Arc<Cancellation>,
        counter: &'a Arc<StepCounter>,
    ) -> Self {
        Self {
            environment,
            change,
            head,
            cancellation,
            open_check: RefCell::new(None),
            live: RefCell::new(None),
            counter,
            check_error: RefCell::new(None),
        }
    }

    /// Starts the check run before plans run under this key, since the choice of the surface depends on it. Errors are
    /// reported beside the result.
    pub(crate) fn start_check(&self, key: &ExecutionKey) {
        if self.environment.inputs.surfaces != Surfaces::Auto {
            return;
        }
        let Some(destination) = self.destination() else { return };
        let context = &self.environment.context;
        let wanted = WantedCheck {
            head_checks: head_checks(&self.environment.inputs, &self.head),
            claim: Claim::new(key, &context.run_id, &context.run_attempt),
            details_url: self.run_page(),
        };
        let github = destination.github(key, self.budget(), self.cancellation);
        match github.and_then(|github| Ok((github.claim_head(wanted)?, github))) {
            Ok((lease, github)) => {
                let live = self.show_progress(destination.clone(), key, &lease);
                let close = destination.close(key.clone(), lease.clone(), live.clone());
                *self.live.borrow_mut() = Some(live);
                self.cancellation.set_close_step(Some(close));
                let stale = now().checked_sub(STALE).and_then(moment).unwrap_or_default();
                match github.close_earlier(&lease, &stale) {
                    Ok(()) => {}
                    Err(PublishError::Superseded { .. }) => {
                        self.cancellation.end(Ending::Superseded);
                    }
                    Err(error) => self.annotate_unpublished(&error),
                }
                *self.open_check.borrow_mut() = Some(lease);
            }
            Err(error) => *self.check_error.borrow_mut() = Some(error),
        }
    }

    /// Starts to show the run's progress on its check run, until GitHub refuses a title. Its answers tell first that a later
    /// run claimed the head.
    fn show_progress(&self, destination: Destination, key: &ExecutionKey, lease: &Lease) -> LiveStatus {
        let (key, lease, cancellation) = (key.clone(), lease.clone(), Arc::clone(self.cancellation));
        LiveStatus::start(self.cancellation, self.counter, move |title| {
            let github = destination.github(&key, PARTING, &cancellation);
            let shown = github.and_then(|github| github.show_title(&lease, title));
            if let Err(PublishError::Superseded { .. }) = &shown {
                cancellation.end(Ending::Superseded);
            }
            shown.is_ok()
        })
    }

    /// Stops the titles, before the check run gets its conclusion.
    fn stop_titles(&self) {
        if let Some(live) = self.live.borrow().as_ref() {
            live.stop();
        }
    }

    /// Returns a client whose time limit begins now, or `None` without a token or an API. Work between two requests, such as
    /// plans, reviews and the upload, does not use up the time for publishing.
    fn github(&self, key: &ExecutionKey) -> Option<Result<GitHub, PublishError>> {
        Some(self.destination()?.github(key, self.budget(), self.cancellation))
    }

    /// Time limit of one client, from the input `publish-timeout`.
    fn budget(&self) -> Duration {
        Duration::from_secs(self.environment.inputs.publish_timeout)
    }

    fn destination(&self) -> Option<Destination> {
        let context = &self.environment.context;
        let token = self.environment.inputs.token.clone()?;
        let known = !context.api_url.is_empty() && !context.repository.is_empty();
        known.then(|| Destination {
            api_url: context.api_url.clone(),
            repository: context.repository.clone(),
            token,
        })
    }

    fn run_page(&self) -> Option<String> {
        let context = &self.environment.context;
        let known =
            [&context.server_url, &context.repository, &context.run_id].iter().all(|part| !part.is_empty());
        known
            .then(|| format!("{}/{}/actions/runs/{}", context.server_url, context.repository, context.run_id))
    }

    /// Publishes a verdict. `notes` is Markdown of the observer for the top of the check run's summary.
    pub(crate) fn publish(
        &self,
        report: &Report<'_>,
        notes: &str,
        objects: &dyn Objects,
        runner: &Runner,
    ) -> Result<Published, Failure> {
        let verdict = &report.result.final_verdict;
        let surfaces = self.environment.inputs.surfaces;
        let mut published = Published { exit: Exit::from(verdict.conclusion), surface: "files", url: None };
        if surfaces == Surfaces::Files {
            return Ok(published);
        }
        if let Some(check) = self.finish_check(report, notes)? {
            published.surface = "check-run";
            published.url = check.page().map(str::to_owned);
        } else {
            published.surface = "commands";
            if let Some(error) = self.check_error.borrow_mut().take() {
                self.annotate_unpublished(&error);
            }
            console::write_stdout(&console::render("github", report))?;
        }
        self.beside_the_check(report, objects)?;
        if let Err(failure) = runner.summary(&console::render("markdown", report)) {
            annotate("warning", "qa-skill", &failure.message);
        }
        Ok(published)
    }

    /// Completes the check run and returns it, or `None` if there is none or GitHub refuses it.
    fn finish_check(&self, report: &Report<'_>, notes: &str) -> Result<Option<Lease>, Failure> {
        let open_check = self.open_check.borrow();
        let Some(check) = open_check.as_ref() else { return Ok(None) };
        let Some(github) = self.github(&report.result.execution_key) else { return Ok(None) };
        self.stop_titles();
        let report = CheckReport::with_notes(report, notes);
        match github.and_then(|github| github.finish_check(check, &report)) {
            Ok(()) => {
                self.cancellation.set_close_step(None);
                Ok(Some(check.clone()))
            }
            Err(error) if error.ends_run() => Err(error.into()),
            Err(error) => {
                *self.check_error.borrow_mut() = Some(error);
                self.conclude_alone(check, report.conclusion);
                Ok(None)
            }
        }
    }

    /// Sets the conclusion of a check run whose result goes to another surface, within a time limit of its own.
    fn conclude_alone(&self, lease: &Lease, conclusion: CheckConclusion) {
        let Some(destination) = self.destination() else { return };
        // Only seeds the retry jitter.
        let key = ExecutionKey::from(qa_core::canonical::sha256(b"conclude"));
        let concluded = destination
            .github(&key, PARTING, self.cancellation)
            .and_then(|github| github.conclude_check(lease, conclusion));
        match concluded {
            Ok(()) => self.cancellation.set_close_step(None),
            Err(error) => self.annotate_unpublished(&error),
        }
    }

    /// Publishes the comment and the code scanning results that inputs ask for. Their errors are warnings.
    fn beside_the_check(&self, report: &Report<'_>, objects: &dyn Objects) -> Result<(), Failure> {
        let inputs = &self.environment.inputs;
        let comment = self.change.pull_request.filter(|_| inputs.comment);
        if comment.is_none() && !inputs.upload_sarif {
            return Ok(());
        }
        let key = &report.result.execution_key;
        let Some(github) = self.github(key) else {
            annotate(
                "warning",
                "qa-skill",
                "no token is set, so no comment and no code scanning results are published",
            );
            return Ok(());
        };
        let github = github.map_err(Failure::from)?;
        let mut results = Vec::new();
        if let Some(number) = comment {
            let marker = format!("<!-- qa-skill: {} -->", inputs.check_name.as_deref().unwrap_or(CHECK_NAME));
            let author = inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR);
            let body = String::from_utf8_lossy(&console::render("markdown", report)).into_owned();
            let ownership = Ownership { marker: &marker, author_login: author };
            results
                .push(github.sticky_comment(&StickyComment { number, ownership, body: &body }).map(|_| ()));
        }
        if inputs.upload_sarif {
            results.push(self.upload_sarif(&github, report, objects));
        }
        for error in results.into_iter().filter_map(Result::err) {
            if error.ends_run() {
                return Err(error.into());
            }
            self.annotate_unpublished(&error);
        }
        Ok(())
    }

    fn upload_sarif(
        &self,
        github: &GitHub,
        report: &Report<'_>,
        objects: &dyn Objects,
    ) -> Result<(), PublishError> {
        let context = &self.environment.context;
        // For a pull request code scanning expects the merge commit, which is the event's own.
        let commit = if self.change.scanning_ref.ends_with("/merge") {
            CommitId::parse(&context.sha).unwrap_or_else(|_| self.head.clone())
        } else {
            self.head.clone()
        };
        let upload = SarifUpload {
            commit: &commit,
            git_ref: &self.change.scanning_ref,
            sarif: &sarif::for_upload(report, &fingerprints::head_fingerprints(report, objects)),
            checkout_uri: &format!("file://{}", context.workspace),
            tool: "qa-skill",
        };
        github.upload_sarif(&upload).map(|_| ())
    }

    /// Annotates that a surface was not used. The token of a fork has no write permission by design, so that is a notice.
    fn annotate_unpublished(&self, error: &PublishError) {
        let expected = error.is_permission() && self.change.from_fork;
        let kind = if expected { "notice" } else { "warning" };
        annotate(kind, error.code().as_str(), &format!("failed to {error}\n{}", error.hint()));
    }
}
