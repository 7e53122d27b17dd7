//! Verifies a drive: derives each run of it again, and each decision from the runs.
//!
//! With a repository that has base and head, the commits of turns are taken from their bundles, and everything is read again.

use std::path::Path;

use super::exit::Failure;
use super::progress::TerminalProgress;
use super::safe_edits::{apply_safe_edits, blocking_findings};
use super::skill_input::recorded_overrides;
use super::verify::{self, Source, Verified};
use crate::git::OpenRepository;
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    AgentChange, ChangeSet, DriveEndReason, DriveExecutor, DriveJudgement, DriveLimits, DriveSession,
    DriveTurn, RecordedInputs, SkillResult,
};
use qa_core::drive::builtin::agent_name;
use qa_core::drive::judgement::{agent_change, guard_ids, judgement};
use qa_core::drive::{Step, check, commit_before, current_commit, next_step, session_id};
use qa_core::escape::shell_word;
use qa_core::masking::sanitize;
use qa_formats::counted;
use qa_run::inputs::PolicyInForce;
use qa_run::ports::Cancellation;

/// A drive that was derived again.
pub(super) struct VerifiedDrive {
    pub(super) session: DriveSession,
    /// Number of runs.
    pub(super) runs: usize,
    /// The repository of the source, with the commits of the judged turns in its store.
    pub(super) repository: Option<OpenRepository>,
}

/// Verifies the drive in a directory, against a repository if the source is one.
pub(super) fn verify_drive(
    directory: &Path,
    source: Source,
    cancellation: &Cancellation,
) -> Result<VerifiedDrive, Failure> {
    let directory = DriveDirectory::open(directory);
    let session = directory.session()?.ok_or_else(|| {
        let shown = sanitize(&directory.path().display().to_string());
        Failure::with_code(Code::DriveNoSession, format!("there is no session in {shown}"))
    })?;
    let mut checker = RunChecker { directory: &directory, source, session: &session, cancellation };
    let mut runs = 0;
    if let Some(bootstrap) = &session.bootstrap {
        checker.check(bootstrap, &session.start.head_sha, "the head")?;
        runs += 1;
    }
    for turn in &session.turns {
        let (Some(judged), Some(change), Some(commit)) = (&turn.judgement, &turn.agent_change, &turn.commit)
        else {
            continue;
        };
        if let Source::Repository(repository) = &checker.source {
            take_turn(repository, &directory, &session, turn)?;
            check_edits(repository, &directory, &session, turn)?;
        }
        checker.check(judged, commit, &format!("turn {}", turn.number))?;
        checker.check_change(change, commit, &format!("the agent's change in turn {}", turn.number))?;
        runs += 2;
    }
    if let Some(difference) = check::difference(&session) {
        return Err(drift(format!("the session does not follow from its runs: {}", sanitize(&difference))));
    }
    let repository = match checker.source {
        Source::Recording => None,
        Source::Repository(repository) => Some(repository),
    };
    Ok(VerifiedDrive { session, runs, repository })
}

/// Takes the commit of a turn from its bundle into the store of a repository. Fails unless the commit is one on top of the drive's
/// head, with the changes that the session says.
pub(super) fn take_turn(
    repository: &OpenRepository,
    directory: &DriveDirectory,
    session: &DriveSession,
    turn: &DriveTurn,
) -> Result<(), Failure> {
    let bundle = directory.bundle(turn.number)?;
    let (Some(bundle), Some(commit)) = (bundle, &turn.commit) else {
        return Err(bundle_failure(directory, turn, "is gone"));
    };
    let is_as_recorded = repository.take_bundle(&bundle, commit).is_ok()
        && repository.is_commit_of_drive(commit, &session.start.head_sha)?
        && repository.differing_paths(commit_before(session, turn.number), commit)? == turn.changed;
    match is_as_recorded {
        true => Ok(()),
        false => Err(bundle_failure(directory, turn, "does not have the commit that the session names")),
    }
}

/// Fails unless a turn that applied safe edits left the tree that these edits make.
fn check_edits(
    repository: &OpenRepository,
    directory: &DriveDirectory,
    session: &DriveSession,
    turn: &DriveTurn,
) -> Result<(), Failure> {
    if turn.executor != DriveExecutor::SafeEdits {
        return Ok(());
    }
    let turns = session.turns.iter().take_while(|earlier| earlier.number != turn.number);
    let before = DriveSession {
        turns: turns.cloned().collect(),
        word: turn.person.clone(),
        plan: turn.plan.clone(),
        end: None,
        ..session.clone()
    };
    let findings = blocking_findings(directory, &before)?;
    let derived = match next_step(&before) {
        Some(Step::Dispatch(envelope)) => apply_safe_edits(repository, &before, &envelope, &findings)?.commit,
        Some(Step::Bootstrap | Step::Plan(_) | Step::Judge(_) | Step::End(_)) | None => None,
    };
    match derived == turn.commit {
        true => Ok(()),
        false => Err(drift(format!("turn {} did not apply safe edits alone", turn.number))),
    }
}

fn bundle_failure(directory: &DriveDirectory, turn: &DriveTurn, problem: &str) -> Failure {
    let path = shell_word(&directory.path().display().to_string());
    let name = DriveDirectory::bundle_name(turn.number);
    let message = format!("failed to read the drive in {path}: {name} {problem}");
    let hint = format!("restore the file, or remove {path} to begin this drive anew");
    Failure { hint, ..Failure::with_code(Code::ArtifactSchemaInvalid, message) }
}

fn drift(message: String) -> Failure {
    Failure::with_code(Code::DeterminismDriftDetected, message)
}

/// Derives the runs of a drive again.
struct RunChecker<'a> {
    directory: &'a DriveDirectory,
    source: Source,
    session: &'a DriveSession,
    cancellation: &'a Cancellation,
}

impl RunChecker<'_> {
    /// Fails unless a judgement is that of its run, by the base's policy alone.
    fn check(&mut self, judged: &DriveJudgement, commit: &CommitId, place: &str) -> Result<(), Failure> {
        let run = self.verify(&judged.run, [&self.session.start.base_sha, commit], place)?;
        if recorded_overrides(&run.input).names().next().is_some() {
            return Err(drift(format!("the run of {place} was not judged by the policy alone")));
        }
        self.check_limits(&run, place)?;
        let (result, change_set): (SkillResult, ChangeSet) = (run.run.artifact()?, run.run.artifact()?);
        let derived = judgement(&result, &change_set, &run.run.hashes.run_digest, &judged.run);
        ensure(derived == *judged, place)
    }

    /// Fails unless what a session says of an agent's change is what its run says, by the guards alone.
    fn check_change(&mut self, change: &AgentChange, commit: &CommitId, place: &str) -> Result<(), Failure> {
        let run = self.verify(&change.run, [&self.session.start.head_sha, commit], place)?;
        let overrides = recorded_overrides(&run.input);
        if !overrides.names().eq(["lenses"]) || overrides.lens_ids != Some(guard_ids()) {
            return Err(drift(format!("the run of {place} was not judged by the guards")));
        }
        let (result, change_set): (SkillResult, ChangeSet) = (run.run.artifact()?, run.run.artifact()?);
        let derived = agent_change(&result, &change_set, &run.run.hashes.run_digest, &change.run);
        ensure(derived == *change, place)
    }

    /// Fails unless the policy of a run, which is that of the base, gives the agent the rights of the session.
    fn check_limits(&self, verified: &Verified, place: &str) -> Result<(), Failure> {
        let recorded: RecordedInputs = verified.run.artifact()?;
        let overrides = recorded_overrides(&verified.input);
        let policy = PolicyInForce::parse(recorded, &overrides, &qa_lenses::registry())?.policy;
        let limits = &self.session.start.limits;
        let allowed = DriveLimits { max_turns: policy.drive.max_turns.min(limits.max_turns), ..policy.drive };
        if allowed != *limits {
            return Err(drift(format!("the policy of the run of {place} gives the agent other rights")));
        }
        Ok(())
    }

    /// Derives a run again. Fails unless it is about two commits.
    fn verify(&mut self, name: &str, commits: [&CommitId; 2], place: &str) -> Result<Verified, Failure> {
        let progress = TerminalProgress::new(false);
        let path = self.directory.run(name);
        let source = std::mem::replace(&mut self.source, Source::Recording);
        let verified = verify::verify(&path, source, self.cancellation, &progress);
        progress.clear();
        let mut verified = verified.map_err(|failure| {
            let message = format!("the run of {place}: {}", failure.message);
            Failure { message, ..failure }
        })?;
        if let Some(repository) = verified.repository.take() {
            self.source = Source::Repository(repository);
        }
        if let Some(difference) = &verified.difference {
            let difference = sanitize(&difference.to_string());
            return Err(drift(format!("the run of {place} does not follow from its inputs: {difference}")));
        }
        // With a merge of somebody, the change between the base and that merge would be judged.
        if verified.input.test_merge_sha.is_some() {
            return Err(drift(format!("the run of {place} is about a merge")));
        }
        if [&verified.input.base_sha, &verified.input.head_sha] != commits {
            return Err(drift(format!("the run of {place} is about other commits")));
        }
        Ok(verified)
    }
}

fn ensure(is_same: bool, place: &str) -> Result<(), Failure> {
    match is_same {
        true => Ok(()),
        false => Err(drift(format!("the judgement of {place} is not that of its run"))),
    }
}

/// Describes a drive that was verified.
pub(super) fn statement(verified: &VerifiedDrive) -> String {
    let VerifiedDrive { session, runs, repository } = verified;
    let start = &session.start;
    let end = match &session.end {
        Some(end) if end.reason == DriveEndReason::Passed => format!("PASS: {}", sanitize(&end.message)),
        // The message of an end by time or by a person is recorded and not derived.
        Some(end) => format!("NOT PASSED: {}", sanitize(&end.message)),
        None => "it has not ended".to_owned(),
    };
    let (runs, turns) = (counted(*runs, "run"), counted(session.turns.len(), "turn"));
    let mut text = format!("verified: {runs} and {turns}, every decision follows from them\n");
    let rows = [
        ("session", session_id(start).to_string()),
        ("end", end),
        ("repository", sanitize(&start.repo_id)),
        ("base", start.base_sha.to_string()),
        ("head", start.head_sha.to_string()),
        ("result", current_commit(session).to_string()),
        ("agent", sanitize(&agent_name(start))),
    ];
    for (name, value) in rows {
        text.push_str(&format!("{name:<15}{value}\n"));
    }
    let note = match repository {
        Some(_) => {
            "what agents did and models answered is taken as recorded; what they left was read from the bundles and the repository"
        }
        None => {
            "what agents did and models answered is taken as recorded; the commits of turns are named and not read"
        }
    };
    text.push_str(&format!("{:<15}{note}\n", "note"));
    text
}
