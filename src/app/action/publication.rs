//! Publishes a result as a check run if the token allows it, else as workflow commands and the job summary.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
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
    Claim, GitHub, HeadChecks, Lease, Ownership, PublishError, Review, Reviewed, SarifUpload, StickyComment,
    Target, WantedCheck,
};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, ExecutionKey};
use qa_contracts::secret::Secret;
use qa_contracts::v1::RunStage;
use qa_core::escape::markdown;
use qa_core::event::Change;
use qa_formats::check_run::{CheckConclusion, CheckReport};
use qa_formats::contract::{Links, Report, SincePush};
use qa_formats::suggestion::{MOST, Suggestions, suggestions};
use qa_formats::{counted, sarif};
use qa_run::ports::{Cancellation, Close, Ending, NoVerdict, Objects};

/// The name of the check run, unlike the name of any job.
pub(crate) const CHECK_NAME: &str = "qa-skill verdict";
/// The name of the check run of the stage for reviews, which stands beside the job of the first stage.
pub(crate) const REVIEWS_CHECK_NAME: &str = "qa-skill reviews";
/// Author of texts that the job's own token writes.
pub(super) const COMMENT_AUTHOR: &str = "github-actions[bot]";
/// Age at which an unfinished check run of our app counts as abandoned. It exceeds the default deadline of a run.
const STALE: Duration = Duration::from_secs(2 * 60 * 60);
/// Time that a cancelled run has to finish publishing: the runner kills it after ten seconds.
const PARTING: Duration = Duration::from_secs(4);

/// Returns the name of the check run of a stage, `None` for a run of the whole policy.
pub(super) fn check_name(inputs: &Inputs, stage: Option<RunStage>) -> &str {
    let default = match stage {
        Some(RunStage::Reviews) => REVIEWS_CHECK_NAME,
        None => CHECK_NAME,
    };
    inputs.check_name.as_deref().unwrap_or(default)
}

/// Returns the check runs of a head that are this step's by its inputs.
pub(super) fn head_checks(inputs: &Inputs, stage: Option<RunStage>, head: &CommitId) -> HeadChecks {
    let author = inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR);
    HeadChecks {
        head: head.clone(),
        name: check_name(inputs, stage).to_owned(),
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
    /// Returns the repository of the step, or `None` without a token or an API.
    fn new(environment: &ActionEnvironment) -> Option<Self> {
        let context = &environment.context;
        let token = environment.inputs.token.clone()?;
        let known = !context.api_url.is_empty() && !context.repository.is_empty();
        known.then(|| Self {
            api_url: context.api_url.clone(),
            repository: context.repository.clone(),
            token,
        })
    }

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
            let github = self.github(&key, PARTING, &Arc::default());
            warn_unless_closed(github.and_then(|github| conclude_without_verdict(&github, &lease, reason)));
        })
    }

    /// Returns the step that starts a check run and completes it without a verdict.
    fn close_without_check(self, key: ExecutionKey, wanted: WantedCheck) -> Close {
        Box::new(move |reason| {
            let github = self.github(&key, PARTING, &Arc::default());
            warn_unless_closed(github.and_then(|github| {
                let lease = github.claim_head(wanted)?;
                conclude_without_verdict(&github, &lease, reason)
            }));
        })
    }
}

/// Returns a count with its noun and verb.
fn have(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

fn warn_unless_closed(closed: Result<(), PublishError>) {
    match closed {
        // A later run judges the head, and the check run is closed.
        Ok(()) | Err(PublishError::Superseded { .. }) => {}
        Err(error) => annotate("warning", error.code().as_str(), &format!("failed to {error}")),
    }
}

/// Lets a step of the second stage that fails before its check run began complete one without a verdict: no job of it is a
/// check of the head, so an earlier pass would stand.
pub(super) fn conclude_without_check(
    environment: &ActionEnvironment,
    head: &CommitId,
    cancellation: &Arc<Cancellation>,
) {
    let Some(destination) = Destination::new(environment) else { return };
    // There is no execution key yet.
    let key = ExecutionKey::from(qa_core::canonical::sha256(b"conclude"));
    let context = &environment.context;
    let wanted = WantedCheck {
        head_checks: head_checks(&environment.inputs, Some(RunStage::Reviews), head),
        claim: Claim::new(&key, &context.run_id, &context.run_attempt),
        details_url: run_page(environment),
    };
    cancellation.set_close_step(Some(destination.close_without_check(key, wanted)));
}

fn run_page(environment: &ActionEnvironment) -> Option<String> {
    let context = &environment.context;
    let parts = [&context.server_url, &context.repository, &context.run_id];
    let known = parts.iter().all(|part| !part.is_empty());
    known.then(|| format!("{}/{}/actions/runs/{}", context.server_url, context.repository, context.run_id))
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
    /// True if the check run has its conclusion, although GitHub refused its texts.
    is_concluded: Cell<bool>,
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
            is_concluded: Cell::new(false),
            check_error: RefCell::new(None),
        }
    }

    /// Starts the check run before plans run under this key, since the choice of the surface depends on it. Errors are
    /// reported beside the result, and end a run that needs the check run before it asks a model.
    pub(crate) fn start_check(&self, key: &ExecutionKey) -> Result<(), Failure> {
        if self.environment.inputs.surfaces == Surfaces::Auto
            && let Some(destination) = self.destination()
        {
            self.claim_head(destination, key);
        }
        if self.needs_check() && self.open_check.borrow().is_none() {
            return Err(self.without_check());
        }
        Ok(())
    }

    /// Returns the failure of a result that has no check run to go to.
    fn without_check(&self) -> Failure {
        match self.check_error.borrow_mut().take() {
            Some(error) => error.into(),
            None => {
                let message = "the result of this stage is a check run, and the step may not make one";
                let hint = "leave the input `publish` empty, and let `token` be `github.token` of a job with `checks: write`";
                Failure { hint: hint.to_owned(), ..Failure::with_code(Code::PublishForbidden, message) }
            }
        }
    }

    fn claim_head(&self, destination: Destination, key: &ExecutionKey) {
        let context = &self.environment.context;
        let wanted = WantedCheck {
            head_checks: head_checks(&self.environment.inputs, self.change.stage, &self.head),
            claim: Claim::new(key, &context.run_id, &context.run_attempt),
            details_url: run_page(self.environment),
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
        Destination::new(self.environment)
    }

    /// Returns whether the check run is the only surface of the result: the job of the second stage is no check of the head.
    fn needs_check(&self) -> bool {
        self.change.stage.is_some()
    }

    /// Publishes a verdict. `notes` is Markdown of the observer for the top of the check run's summary.
    pub(crate) fn publish(
        &self,
        report: &Report<'_>,
        notes: &str,
        objects: &dyn Objects,
        runner: &Runner,
    ) -> Result<Published, Failure> {
        let since_push = if notes.is_empty() { self.since_push(report) } else { None };
        let report = &Report { links: self.links(report), since_push, ..report.clone() };
        let verdict = &report.result.final_verdict;
        let surfaces = self.environment.inputs.surfaces;
        let mut published = Published { exit: Exit::from(verdict.conclusion), surface: "files", url: None };
        if surfaces == Surfaces::Files {
            return Ok(published);
        }
        if let Some(check) = self.finish_check(report, notes)? {
            published.surface = "check-run";
            published.url = check.page().map(str::to_owned);
        } else if self.needs_check() && !self.is_concluded.get() {
            return Err(self.without_check());
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

    /// Returns the addresses of head's files and of the rules; `None` outside of a job.
    fn links(&self, report: &Report<'_>) -> Option<Links> {
        let context = &self.environment.context;
        let (server, repository) = (&context.server_url, &context.repository);
        if server.is_empty() || repository.is_empty() {
            return None;
        }
        let files = format!("{server}/{repository}/blob/{}", report.input.head_sha);
        let (action, version) = (&context.action_repository, &context.action_ref);
        let is_known = !action.is_empty() && !version.is_empty();
        let rules = is_known.then(|| format!("{server}/{action}/blob/{version}/docs/rules.md"));
        Some(Links { files, rules })
    }

    /// Compares the blocking findings with those of the head before a push; `None` where they are not known.
    fn since_push(&self, report: &Report<'_>) -> Option<SincePush> {
        let head_before = self.change.head_before.as_ref().filter(|before| **before != self.change.head)?;
        self.open_check.borrow().as_ref()?;
        let checks = head_checks(&self.environment.inputs, self.change.stage, head_before);
        let github = self.github(&report.result.execution_key)?.ok()?;
        // Without an answer the summary has one sentence less.
        let before = github.blocking_of(&checks).ok().flatten()?;
        let now: BTreeSet<&str> = report
            .result
            .final_verdict
            .blocking_findings
            .iter()
            .map(|finding| finding.finding_id.as_str())
            .collect();
        let open = before.iter().filter(|id| now.contains(id.as_str())).count();
        Some(SincePush {
            head_before: head_before.clone(),
            resolved: before.len() - open,
            new: now.len() - open,
            open,
        })
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
            Ok(()) => {
                self.cancellation.set_close_step(None);
                self.is_concluded.set(true);
            }
            Err(error) => self.annotate_unpublished(&error),
        }
    }

    /// Publishes the comment, the suggestions and the code scanning results that inputs ask for. Their errors are warnings.
    fn beside_the_check(&self, report: &Report<'_>, objects: &dyn Objects) -> Result<(), Failure> {
        let inputs = &self.environment.inputs;
        let comment = self.change.pull_request.filter(|_| inputs.comment);
        let suggested = self.change.pull_request.filter(|_| inputs.suggestions);
        if comment.is_none() && suggested.is_none() && !inputs.upload_sarif {
            return Ok(());
        }
        let key = &report.result.execution_key;
        let Some(github) = self.github(key) else {
            annotate(
                "warning",
                "qa-skill",
                "no token is set, so no comment, no suggestion and no code scanning results are published",
            );
            return Ok(());
        };
        let github = github.map_err(Failure::from)?;
        let mut results = Vec::new();
        if let Some(number) = comment {
            let marker = format!("<!-- qa-skill: {} -->", check_name(inputs, self.change.stage));
            let author = self.author();
            let body = String::from_utf8_lossy(&console::render("markdown", report)).into_owned();
            let ownership = Ownership { marker: &marker, author_login: author };
            results
                .push(github.sticky_comment(&StickyComment { number, ownership, body: &body }).map(|_| ()));
        }
        if inputs.upload_sarif {
            results.push(self.upload_sarif(&github, report, objects));
        }
        // Last: they write the most, and may use up what GitHub lets a token write in a minute.
        if let Some(number) = suggested {
            results.push(self.suggest_edits(&github, number, report, objects));
        }
        for error in results.into_iter().filter_map(Result::err) {
            if error.ends_run() {
                return Err(error.into());
            }
            self.annotate_unpublished(&error);
        }
        Ok(())
    }

    /// Returns the token's account.
    fn author(&self) -> &str {
        self.environment.inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR)
    }

    /// Suggests safe edits of findings on the pull request, and says how many are not suggested.
    fn suggest_edits(
        &self,
        github: &GitHub,
        number: u64,
        report: &Report<'_>,
        objects: &dyn Objects,
    ) -> Result<(), PublishError> {
        let Suggestions { all, left_out } =
            suggestions(report, &|file| fingerprints::head_text(file, objects));
        let rest = match left_out {
            0 => String::new(),
            count => format!(
                " {} not suggested: each has to be at lines of the diff that can be shown and that no other one changes, and {MOST} are posted at most. `qa-skill fix` has all.",
                have(count, "safe edit")
            ),
        };
        let body = format!("qa-skill suggests these edits. One click accepts each of them.{rest}");
        let review = Review {
            number,
            head: &report.change_set.head_sha,
            author_login: self.author(),
            body: &body,
            suggestions: &all,
        };
        let text = match all.is_empty() {
            true => rest,
            false => match github.suggest(&review)? {
                Reviewed::Posted { new, refused } => {
                    let refused = match refused {
                        0 => String::new(),
                        count => format!(" {} refused by GitHub.", have(count, "other")),
                    };
                    format!("{} new on the pull request.{refused}{rest}", have(new, "suggestion"))
                }
                Reviewed::HeadMoved => {
                    "no edit is suggested: the pull request has another head than the judged one".to_owned()
                }
            },
        };
        if !text.is_empty() {
            annotate("notice", "qa-skill", text.trim_start());
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
        let expected = error.is_permission() && self.change.from_fork && !self.change.beside_secrets;
        let kind = if expected { "notice" } else { "warning" };
        annotate(kind, error.code().as_str(), &format!("failed to {error}\n{}", error.hint()));
    }
}
