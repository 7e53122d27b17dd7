//! The turn before of an observed pull request, and the ledger that grows by each turn.
//!
//! A turn is a judged head. Its ledger is in the artifact of its run, beside the run directory; the next turn finds it there,
//! checks it and continues it. What is not found or does not hold costs a bootstrap, and never a verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::route::github;
use super::stored_runs::{LEDGER_DIRECTORY, Stored, StoredRun, StoredRuns};
use super::surfaces::{Outputs, annotate};
use crate::app::client::client;
use crate::app::exit::Failure;
use crate::app::finished::Finished;
use crate::config::ActionEnvironment;
use crate::publish::{GitHub, Trigger, WorkflowRun};
use crate::store::{fresh_directory, write_beside};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{
    ChangeSet, Conclusion, LedgerState, ObserverLedger, ObserverMode, RecordedObserver, ReviewedHunk,
    TurnCadence,
};
use qa_core::event::Change;
use qa_core::ledger::{self, JudgedTurn, incomplete_lenses, judged_findings};
use qa_core::observer::{EarlierTurns, Occasion, Pace, Settings, deferred_plans};
use qa_core::usage::micro_usd;
use qa_formats::contract::Report;
use qa_formats::observer_notes::ObserverNotes;
use qa_run::ports::Cancellation;

/// Time limit of all requests together.
const BUDGET: Duration = Duration::from_secs(60);

/// The turn before, with the ledger that ends with it.
pub(crate) struct TurnBefore {
    ledger: ObserverLedger,
    change_set: ChangeSet,
    /// Findings of reviews that it knew.
    pub(super) known_hunks: Vec<ReviewedHunk>,
}

/// Result of looking for the turns before a head.
pub(crate) struct Found {
    pub(crate) before: Option<TurnBefore>,
    pub(crate) state: LedgerState,
}

/// Finds the turn before, where the policy of the base enables the observer of a pull request. The reason why there is none
/// is a notice, unless the pull request begins.
pub(crate) fn find(
    environment: &ActionEnvironment,
    change: &Change,
    repo_id: &str,
    cancellation: &Arc<Cancellation>,
) -> Result<Found, Failure> {
    let occasion = change.occasion_in(&environment.context.run_attempt);
    let found = look_up(environment, change, occasion, cancellation).and_then(|found| match found {
        Some(before) if !ledger::is_about(&before.ledger, repo_id, change.pull_request) => {
            Err("its ledger is that of another pull request".to_owned())
        }
        found => Ok(found),
    });
    cancellation.check()?;
    // Starting a job again takes the right to begin the ledger anew.
    let begins = change.opens || occasion != change.occasion;
    let without = if begins { LedgerState::Begun } else { LedgerState::Lost };
    Ok(match found {
        Ok(Some(before)) => Found { before: Some(before), state: LedgerState::Continued },
        Ok(None) => Found { before: None, state: without },
        Err(reason) => {
            let text = format!("the turn before is not known, so the ledger begins anew: {reason}");
            annotate("notice", "qa-skill observer", &text);
            Found { before: None, state: without }
        }
    })
}

fn message(failure: Failure) -> String {
    failure.message
}

/// Looks at the head itself first: its runs were turns as well, if it was ready for review later or a job started again.
fn look_up(
    environment: &ActionEnvironment,
    change: &Change,
    occasion: Occasion,
    cancellation: &Arc<Cancellation>,
) -> Result<Option<TurnBefore>, String> {
    let Some(workflow) = environment.workflow() else {
        return Err("GITHUB_WORKFLOW_REF names no workflow".to_owned());
    };
    let http = client(BUDGET, cancellation).map_err(|error| error.to_string())?;
    let turns = Turns {
        github: github(environment, BUDGET, cancellation).map_err(message)?,
        artifacts: StoredRuns::new(environment, &http).map_err(message)?,
        workflow,
        cancellation,
    };
    for head in [&change.head].into_iter().chain(&change.head_before) {
        let Some((stored, ledger)) = turns.newest(head)? else { continue };
        if matches!(occasion, Occasion::Final(_)) {
            follows(&stored, head)?;
            turns.sample(&ledger, &change.head)?;
        }
        let known_hunks = stored.known_hunks().map_err(message)?;
        return Ok(Some(TurnBefore { ledger, change_set: stored.run.into_change_set(), known_hunks }));
    }
    match &change.head_before {
        Some(before) => Err(format!("no run of {} stored an artifact", before.short())),
        None => Ok(None),
    }
}

fn follows(stored: &StoredRun, head: &CommitId) -> Result<(), String> {
    stored
        .follows()
        .map_err(|code| format!("the run of {} does not follow from its recording: {code}", head.short()))
}

/// Stored turns of a pull request.
struct Turns<'a> {
    github: GitHub,
    artifacts: StoredRuns<'a>,
    workflow: &'a str,
    cancellation: &'a Cancellation,
}

impl Turns<'_> {
    fn runs(&self, head: &CommitId) -> Result<Vec<WorkflowRun>, String> {
        let runs = self.github.runs_of_head(self.workflow, head, Trigger::PullRequest);
        runs.map_err(|error| error.to_string())
    }

    /// Returns the newest turn of a head, and its ledger. The run of the head before it has to be in that ledger.
    fn newest(&self, head: &CommitId) -> Result<Option<(StoredRun, ObserverLedger)>, String> {
        let runs = self.runs(head)?;
        let turn = match self.newest_among(head, &runs)? {
            Turn::Missing => return Ok(None),
            Turn::Refused(reason) => return Err(reason),
            Turn::Judged(turn) => *turn,
        };
        let rest = runs.iter().position(|each| each.id == turn.run).map_or(&[][..], |at| &runs[at + 1..]);
        match self.newest_among(head, rest)? {
            Turn::Judged(earlier) if !ledger::continues(&turn.ledger, &earlier.ledger) => {
                Err(format!("two runs of {} continued the ledger apart from each other", head.short()))
            }
            // A run without a usable ledger continued none.
            Turn::Judged(_) | Turn::Missing | Turn::Refused(_) => Ok(Some((turn.stored, turn.ledger))),
        }
    }

    fn newest_among(&self, head: &CommitId, runs: &[WorkflowRun]) -> Result<Turn, String> {
        let (stored, run) = self.artifacts.newest(head, runs, self.cancellation).map_err(message)?;
        let (stored, run) = match (stored, run) {
            (Stored::Judged(stored), Some(run)) => (*stored, run.id),
            (Stored::Refused(code), _) => {
                return Ok(Turn::Refused(format!("the run of {} is not usable: {code}", head.short())));
            }
            (Stored::Judged(_) | Stored::Missing, _) => return Ok(Turn::Missing),
        };
        Ok(match stored.ledger() {
            Ok(ledger) => Turn::Judged(Box::new(StoredTurn { stored, ledger, run })),
            Err(code) => Turn::Refused(format!("the ledger of {} is not usable: {code}", head.short())),
        })
    }

    /// Derives one of the listed turns again, drawn by the head that is judged. An artifact that expired shows nothing.
    fn sample(&self, ledger: &ObserverLedger, judged: &CommitId) -> Result<(), String> {
        let Some((_, earlier)) = ledger.entries.split_last() else { return Ok(()) };
        let drawn = judged.as_str().bytes().fold(0, |sum, digit| sum + usize::from(digit));
        let Some(entry) = earlier.get(drawn % earlier.len().max(1)) else { return Ok(()) };
        let head = &entry.turn.head_sha;
        match self.newest_among(head, &self.runs(head)?)? {
            Turn::Judged(turn)
                if !ledger.entries.iter().any(|entry| turn.stored.run.is_turn(&entry.turn)) =>
            {
                Err(format!("the run of {} is not that of the ledger", head.short()))
            }
            Turn::Judged(turn) => follows(&turn.stored, head),
            Turn::Refused(reason) => Err(reason),
            Turn::Missing => Ok(()),
        }
    }
}

/// The newest turn among runs of a head.
enum Turn {
    Judged(Box<StoredTurn>),
    /// Its run or its ledger is not usable.
    Refused(String),
    Missing,
}

/// A stored run with the ledger that ends with it.
struct StoredTurn {
    stored: StoredRun,
    ledger: ObserverLedger,
    /// Id of the workflow run.
    run: u64,
}

impl TurnBefore {
    /// Returns what the cadence depends on, for a turn about a head.
    pub(crate) fn earlier_turns(&self, head: &CommitId) -> EarlierTurns {
        let last = ledger::last_turn(&self.ledger);
        let TurnCadence { last_due, .. } = last.cadence;
        EarlierTurns {
            turns: last.number,
            last_due,
            has_diff: last.head_sha != *head,
            failed_cross_check: last.mode == ObserverMode::CrossCheck && last.conclusion != Conclusion::Pass,
        }
    }
}

/// A ledger that was written, with the turn of this run at its end.
pub(crate) struct WrittenLedger {
    /// Directory that holds it and nothing else, for the artifact.
    pub(crate) directory: PathBuf,
    pub(crate) ledger: ObserverLedger,
    /// False if the policy requires the turns before it: later turns have no ledger either, until a person begins one.
    pub(crate) is_kept: bool,
    settings: Settings,
}

/// Appends a finished run to the ledger and writes it beside the run. `None` where the policy enables no observer.
pub(crate) fn write(
    before: Option<&TurnBefore>,
    pull_request: Option<u64>,
    pace: Pace,
    finished: &Finished,
) -> Result<Option<WrittenLedger>, Failure> {
    let Some(observer) = &finished.inputs.observer else { return Ok(None) };
    let settings = Settings::new(&finished.inputs.in_force.policy, pace)
        .expect("only an enabled observer decides about a run");
    let judged = judged_turn(before, observer, &settings, pull_request, finished);
    let ledger = ledger::append(before.map(|before| &before.ledger), &judged);
    let runs = finished.proof().path.parent().unwrap_or(&finished.proof().path);
    let directory = runs.with_file_name(LEDGER_DIRECTORY);
    // All of it is packed, and an earlier step of the job may have run code of the change.
    fresh_directory(&directory)?;
    write_beside(&directory, &ledger)?;
    let is_kept = observer.ledger != Some(LedgerState::Lost);
    Ok(Some(WrittenLedger { directory, ledger, is_kept, settings }))
}

impl WrittenLedger {
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(ObserverLedger::FILE)
    }

    /// Makes the notes of the turn, from the report of its run.
    pub(crate) fn notes(&self, report: &Report<'_>) -> ObserverNotes {
        ObserverNotes::new(report, &self.ledger, self.settings.cadence())
    }

    pub(crate) fn is_stuck(&self) -> bool {
        ledger::last_turn(&self.ledger).progress.stuck
    }
}

/// Adds the outputs of the observer; they are empty without one.
pub(crate) fn with_outputs(
    outputs: Outputs,
    ledger: Option<&WrittenLedger>,
    notes: Option<&ObserverNotes>,
) -> Outputs {
    let (mode, path, stuck) = match ledger {
        Some(ledger) => (
            ledger::last_turn(&ledger.ledger).mode.as_str(),
            ledger.path().display().to_string(),
            if ledger.is_stuck() { "true" } else { "false" },
        ),
        None => ("", String::new(), ""),
    };
    let [qa_update, review_request, guidance] = match notes {
        Some(notes) => [&notes.qa_update, &notes.review_request, &notes.guidance].map(String::as_str),
        None => [""; 3],
    };
    outputs
        .set("observer-mode", mode)
        .set("observer-ledger-path", &path)
        .set("qa-update", qa_update)
        .set("review-request", review_request)
        .set("guidance", guidance)
        .set("stuck", stuck)
}

fn judged_turn(
    before: Option<&TurnBefore>,
    observer: &RecordedObserver,
    settings: &Settings,
    pull_request: Option<u64>,
    finished: &Finished,
) -> JudgedTurn {
    let (outcome, change_set) = (&finished.outcome, &finished.inputs.change_set);
    let is_new =
        before.is_none_or(|before| ledger::last_turn(&before.ledger).head_sha != change_set.head_sha);
    let cost = outcome.verdict.aggregate_usage.cost_usd;
    JudgedTurn {
        repo_id: finished.skill_input.repo_id.clone(),
        pull_request,
        mode: observer.mode,
        base_sha: change_set.base_sha.clone(),
        merge_bases: [&change_set.merge_base_sha]
            .into_iter()
            .chain(&change_set.other_merge_bases)
            .cloned()
            .collect(),
        head_sha: change_set.head_sha.clone(),
        execution_key: outcome.key.clone(),
        run_digest: finished.proof().run_digest.clone(),
        conclusion: outcome.verdict.conclusion,
        deferred: deferred_plans(&outcome.plans),
        cost_micro_usd: cost.map(micro_usd),
        findings: judged_findings(&outcome.results, &touched(before, change_set)),
        incomplete: incomplete_lenses(&outcome.results),
        due: settings.was_due(observer.mode, &observer.deferred),
        has_diff: is_new && !change_set.files.is_empty(),
        cooldown: settings.cooldown(),
    }
}

/// Returns the files of a change that differ from those of the turn before; without one, all of them.
fn touched(before: Option<&TurnBefore>, now: &ChangeSet) -> BTreeSet<RepoPath> {
    let earlier: BTreeMap<&RepoPath, _> = match before {
        Some(before) => before
            .change_set
            .files
            .iter()
            .map(|file| (&file.path, (&file.new_blob, &file.new_mode)))
            .collect(),
        None => BTreeMap::new(),
    };
    let touched =
        now.files.iter().filter(|file| earlier.get(&file.path) != Some(&(&file.new_blob, &file.new_mode)));
    touched.map(|file| file.path.clone()).collect()
}
