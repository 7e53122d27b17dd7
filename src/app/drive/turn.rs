//! Execution of one turn, and the commit of its tree that is judged, as far as the referee allows it.

use super::agent::{Agent, Ended};
use super::model::DriveModel;
use super::page::readable_diff;
use super::{Driven, Executor, diff_name, report};
use crate::app::exit::Failure;
use crate::app::safe_edits::{EditedTree, apply_safe_edits, blocking_findings};
use crate::git::{CommittedDirectory, GitError, OpenRepository};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{
    DispatchEnvelope, DispatchOutcome, DispatchResult, DriveExecutor, DriveExit, DriveOutput, DriveRefusal,
    DriveTokens, DriveTurn, IgnoredFiles,
};
use qa_core::canonical::sha256;
use qa_core::drive::model_turn::{self, MAX_FILE_BYTES, Place, Question, parse_answer, question};
use qa_core::drive::{builtin, current_commit, record_turn, referee, reply};
use qa_core::policy::drive::Rights;
use qa_core::secrets;

/// Work of an executor in a turn.
struct Work {
    exit: DriveExit,
    stdout: DriveOutput,
    stderr: DriveOutput,
    answer: DispatchResult,
    tree: Tree,
    refusals: Vec<DriveRefusal>,
    tokens: Option<DriveTokens>,
    cost_micro_usd: Option<u64>,
}

/// Tree that an executor left.
#[derive(Default)]
struct Tree {
    /// `None` where none was written.
    commit: Option<CommitId>,
    changed: Vec<RepoPath>,
    ignored: IgnoredFiles,
}

impl Driven<'_> {
    /// Has a turn executed and records it. The turn has an outcome unless its tree has to be judged.
    pub(super) fn dispatch(
        &mut self,
        repository: &OpenRepository,
        envelope: &DispatchEnvelope,
    ) -> Result<(), Failure> {
        let before = current_commit(&self.session).clone();
        let executor = builtin::executor(&self.session, envelope);
        let work = match (executor, &self.agent) {
            (DriveExecutor::Program, Executor::Program(agent)) => {
                self.run_agent(agent, repository, &before, envelope)?
            }
            (DriveExecutor::Model, Executor::Model(model)) => {
                self.ask_model(model, repository, &before, envelope)?
            }
            (DriveExecutor::SafeEdits, _) => self.apply_edits(repository, &before, envelope)?,
            // Both follow from the settings of the drive.
            (DriveExecutor::Program | DriveExecutor::Model, _) => {
                let message = "the drive has another executor than its settings say";
                return Err(Failure::with_code(Code::InternalError, message));
            }
        };
        let Work { exit, stdout, stderr, answer, tree, mut refusals, tokens, cost_micro_usd } = work;
        let Tree { commit, changed, ignored } = tree;
        let rights =
            Rights::new(&self.session.start.limits).map_err(|error| Failure::usage(error.to_string(), ""))?;
        refusals.extend(referee::refuse_paths(&rights, &changed));
        let turn = DriveTurn {
            number: envelope.turn,
            envelope_id: envelope.envelope_id.clone(),
            person: None,
            plan: None,
            tasks: envelope.tasks.iter().map(|task| task.finding_id.clone()).collect(),
            executor,
            exit,
            stdout,
            stderr,
            tokens,
            cost_micro_usd,
            answer,
            commit,
            changed,
            ignored,
            judgement: None,
            agent_change: None,
            refusals,
            outcome: None,
            digest: None,
        };
        if let Some(commit) = turn.commit.as_ref().filter(|_| !turn.changed.is_empty()) {
            let diff = readable_diff(repository.patch(&before, commit)?);
            self.directory.write(&diff_name(envelope.turn), &diff)?;
        }
        let judged_commit = turn.commit.clone().filter(|_| referee::needs_judgement(&turn));
        if let Some(commit) = judged_commit {
            let bundle = repository.bundle(&commit, &self.session.start.head_sha)?;
            self.directory.write_bundle(envelope.turn, &bundle)?;
        }
        record_turn(&mut self.session, turn);
        if self.session.turns.last().is_some_and(|turn| turn.outcome.is_some()) {
            self.say(&report::outcome(&self.session));
        }
        Ok(())
    }

    /// Runs the agent in a copy of the tree.
    fn run_agent(
        &self,
        agent: &Agent<'_>,
        repository: &OpenRepository,
        before: &CommitId,
        envelope: &DispatchEnvelope,
    ) -> Result<Work, Failure> {
        let ended = agent.run(repository, before, envelope)?;
        let mut refusals = Vec::new();
        let answer = match (
            &ended.exit.stopped,
            reply::answer(&ended.answer_text, &ended.exit, &envelope.envelope_id),
        ) {
            (Some(limit), _) => {
                refusals.push(referee::refuse_stopped(limit));
                // It may have ended by itself in the moment in which it was stopped.
                let answer = reply::by_exit(&ended.exit, &envelope.envelope_id);
                DispatchResult { outcome: DispatchOutcome::Failed, ..answer }
            }
            (None, Ok(answer)) => answer,
            (None, Err(reason)) => {
                refusals.push(referee::refuse_answer(&reason));
                reply::by_exit(&ended.exit, &envelope.envelope_id)
            }
        };
        refusals.extend(referee::refuse_failed(answer.outcome));
        let tree = match self.take_tree(agent, repository, before, &ended) {
            Ok(tree) => tree,
            Err(error @ GitError::NoScratch(_)) => return Err(error.into()),
            Err(GitError::NotCommittable { problem, .. }) => {
                refusals.push(referee::refuse_tree(&problem));
                Tree::default()
            }
            Err(error) => {
                refusals.push(referee::refuse_tree(&error.to_string()));
                Tree::default()
            }
        };
        Ok(Work {
            exit: ended.exit,
            stdout: ended.stdout,
            stderr: ended.stderr,
            answer,
            tree,
            refusals,
            tokens: None,
            cost_micro_usd: None,
        })
    }

    /// Makes a commit of the tree that the agent left.
    fn take_tree(
        &self,
        agent: &Agent<'_>,
        repository: &OpenRepository,
        before: &CommitId,
        ended: &Ended,
    ) -> Result<Tree, GitError> {
        let head = &self.session.start.head_sha;
        let CommittedDirectory { commit, ignored } =
            repository.commit_directory(ended.tree(), before, &ended.omitted, &agent.provided(), head)?;
        let changed = repository.differing_paths(before, &commit)?;
        Ok(Tree { commit: Some(commit), changed, ignored })
    }

    /// Applies the safe edits that the findings of a turn carry. No process has a part in it.
    fn apply_edits(
        &self,
        repository: &OpenRepository,
        before: &CommitId,
        envelope: &DispatchEnvelope,
    ) -> Result<Work, Failure> {
        let findings = blocking_findings(&self.directory, &self.session)?;
        let EditedTree { commit, applied } =
            apply_safe_edits(repository, &self.session, envelope, &findings)?;
        let changed = match &commit {
            Some(commit) => repository.differing_paths(before, commit)?,
            None => Vec::new(),
        };
        let tree = Tree { commit, changed, ..Tree::default() };
        Ok(Work {
            exit: DriveExit { code: Some(0), signal: None, stopped: None },
            stdout: output(""),
            stderr: output(""),
            answer: builtin::answer(&self.session, envelope, &applied),
            tree,
            refusals: Vec::new(),
            tokens: None,
            cost_micro_usd: None,
        })
    }

    /// Returns whether the money that is left covers the question of a turn. A turn without a question costs nothing, and a model
    /// without a known price more than any bound.
    pub(super) fn can_afford(
        &self,
        repository: &OpenRepository,
        envelope: &DispatchEnvelope,
    ) -> Result<bool, Failure> {
        let (Executor::Model(model), Some(most)) =
            (&self.agent, self.session.start.limits.max_cost_micro_usd)
        else {
            return Ok(true);
        };
        if builtin::executor(&self.session, envelope) != DriveExecutor::Model {
            return Ok(true);
        }
        let Some(question) = self.question(repository, current_commit(&self.session), envelope)? else {
            return Ok(true);
        };
        Ok(self.covers(model, &question, most))
    }

    /// Returns whether the money that is left of a bound covers a question.
    pub(super) fn covers(&self, model: &DriveModel, question: &Question, most: u64) -> bool {
        let spent = builtin::cost_micro_usd(&self.session);
        let bound = model.cost_bound_micro_usd(question).and_then(|bound| bound.checked_add(spent));
        bound.is_some_and(|sum| sum <= most)
    }

    /// Returns the question about the first finding that the agent may mend; `None` where there is none in a file that it can be shown.
    fn question(
        &self,
        repository: &OpenRepository,
        before: &CommitId,
        envelope: &DispatchEnvelope,
    ) -> Result<Option<Question>, Failure> {
        for task in &envelope.tasks {
            let bytes = repository.file_bytes(before, &task.file)?.unwrap_or_default();
            if bytes.is_empty() || bytes.len() > MAX_FILE_BYTES {
                continue;
            }
            if let Ok(text) = String::from_utf8(bytes) {
                return Ok(Some(question(envelope, task, &text)));
            }
        }
        Ok(None)
    }

    /// Asks a model about one finding, and applies the edits of its answer.
    fn ask_model(
        &self,
        model: &DriveModel,
        repository: &OpenRepository,
        before: &CommitId,
        envelope: &DispatchEnvelope,
    ) -> Result<Work, Failure> {
        let id = &envelope.envelope_id;
        let mut work = Work {
            exit: DriveExit { code: Some(0), signal: None, stopped: None },
            stdout: output(""),
            stderr: output(""),
            answer: reply::by_model(DispatchOutcome::Blocked, "no finding is in a text file of its size", id),
            tree: Tree::default(),
            refusals: Vec::new(),
            tokens: None,
            cost_micro_usd: None,
        };
        let Some(question) = self.question(repository, before, envelope)? else { return Ok(work) };
        let answered = model.ask(&question)?;
        work.stdout = output(&answered.text);
        (work.tokens, work.cost_micro_usd) = (answered.tokens, answered.cost_micro_usd);
        let applied = parse_answer(&answered.text).and_then(|turn| {
            let files = model_turn::apply(&turn.edits, |path| place_of(repository, before, path))?;
            Ok((turn, files))
        });
        let (turn, files) = match applied {
            Ok(applied) => applied,
            Err(reason) => {
                work.exit.code = Some(1);
                work.answer = reply::by_exit(&work.exit, id);
                work.refusals.push(referee::refuse_answer(&reason));
                work.refusals.extend(referee::refuse_failed(work.answer.outcome));
                return Ok(work);
            }
        };
        work.answer = reply::by_model(turn.outcome, &secrets::masked(turn.summary), id);
        if !files.is_empty() {
            let head = &self.session.start.head_sha;
            match repository.commit_changed(before, &files, head) {
                Ok(commit) => {
                    work.tree.changed = repository.differing_paths(before, &commit)?;
                    work.tree.commit = Some(commit);
                }
                Err(error) => work.refusals.push(referee::refuse_tree(&error.to_string())),
            }
        }
        Ok(work)
    }
}

/// Returns what stands at a path of a commit. A place that cannot be read is none for an edit.
fn place_of(repository: &OpenRepository, commit: &CommitId, path: &RepoPath) -> Place {
    match (repository.has_entry(commit, path), repository.file_bytes(commit, path)) {
        (Ok(false), _) => Place::Absent,
        (Ok(true), Ok(Some(bytes))) => String::from_utf8(bytes).map_or(Place::Other, Place::Text),
        (Ok(true), Ok(None) | Err(_)) | (Err(_), _) => Place::Other,
    }
}

/// Returns a text as the output of an executor without a process.
fn output(text: &str) -> DriveOutput {
    let masked = secrets::masked(text.to_owned());
    DriveOutput { bytes: masked.len() as u64, sha256: sha256(masked.as_bytes()), text: masked }
}
