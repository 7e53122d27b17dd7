//! One turn: runs the agent and takes what it left, as far as the referee lets it.

use super::agent::Ended;
use super::{Driven, report};
use crate::app::exit::Failure;
use crate::git::{GitError, OpenRepository};
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{DispatchEnvelope, DriveTurn};
use qa_core::drive::{conclude_turn, current_commit, referee, reply};
use qa_core::policy::drive::Rights;

impl Driven<'_> {
    /// Runs the agent for a turn and records what it did. The turn has an outcome unless its tree has to be judged.
    pub(super) fn dispatch(
        &mut self,
        repository: &OpenRepository,
        envelope: &DispatchEnvelope,
    ) -> Result<(), Failure> {
        let before = current_commit(&self.session).clone();
        let ended = self.agent.run(repository, &before, envelope)?;
        let mut refusals = Vec::new();
        let answer = match (
            &ended.exit.stopped,
            reply::answer(&ended.answer_text, &ended.exit, &envelope.envelope_id),
        ) {
            (Some(limit), _) => {
                refusals.push(referee::refuse_stopped(limit));
                reply::by_exit(&ended.exit, &envelope.envelope_id)
            }
            (None, Ok(answer)) => answer,
            (None, Err(reason)) => {
                refusals.push(referee::refuse_answer(&reason));
                reply::by_exit(&ended.exit, &envelope.envelope_id)
            }
        };
        refusals.extend(referee::refuse_failed(answer.outcome));
        let (commit, changed) = match self.take_tree(repository, &before, &ended) {
            Ok((commit, changed)) => (Some(commit), changed),
            Err(error @ GitError::NoScratch(_)) => return Err(error.into()),
            Err(GitError::NotCommittable { problem, .. }) => {
                refusals.push(referee::refuse_tree(&problem));
                (None, Vec::new())
            }
            Err(error) => {
                refusals.push(referee::refuse_tree(&error.to_string()));
                (None, Vec::new())
            }
        };
        let rights =
            Rights::new(&self.session.start.limits).map_err(|error| Failure::usage(error.to_string(), ""))?;
        refusals.extend(referee::refuse_paths(&rights, &changed));
        let outcome = referee::outcome(&refusals, &changed);
        let waits = refusals.is_empty() && !changed.is_empty();
        if let (true, Some(commit)) = (waits, &commit) {
            let bundle = repository.bundle(commit, &self.session.start.head_sha)?;
            self.directory.write_bundle(envelope.turn, &bundle)?;
        }
        self.session.turns.push(DriveTurn {
            number: envelope.turn,
            envelope_id: envelope.envelope_id.clone(),
            tasks: envelope.tasks.iter().map(|task| task.finding_id.clone()).collect(),
            exit: ended.exit,
            stdout: ended.stdout,
            stderr: ended.stderr,
            answer,
            commit,
            changed,
            judgement: None,
            agent_change: None,
            refusals,
            outcome: None,
            digest: None,
        });
        if !waits {
            conclude_turn(&mut self.session, outcome);
            self.say(&report::outcome(&self.session));
        }
        Ok(())
    }

    /// Makes a commit of the tree that the agent left. Returns it with the paths that differ from the tree before.
    fn take_tree(
        &self,
        repository: &OpenRepository,
        before: &CommitId,
        ended: &Ended,
    ) -> Result<(CommitId, Vec<RepoPath>), GitError> {
        let (tree, head) = (ended.tree(), &self.session.start.head_sha);
        let commit =
            repository.commit_directory(tree, before, &ended.omitted, &self.agent.provided(), head)?;
        let changed = repository.differing_paths(before, &commit)?;
        Ok((commit, changed))
    }
}
