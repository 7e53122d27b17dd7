//! Verifies a drive: derives each run of it again, and each decision from the runs.

use std::path::Path;

use super::exit::Failure;
use super::progress::TerminalProgress;
use super::skill_input::recorded_overrides;
use super::verify::{self, Verified};
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    AgentChange, ChangeSet, Conclusion, DriveEndReason, DriveJudgement, DriveLimits, DriveSession,
    RecordedInputs, SkillResult,
};
use qa_core::drive::judgement::{agent_change, guard_ids, judgement};
use qa_core::drive::{check, current_commit, session_id};
use qa_core::masking::sanitize;
use qa_formats::counted;
use qa_run::inputs::PolicyInForce;
use qa_run::ports::Cancellation;

/// A drive that was derived again.
pub(super) struct VerifiedDrive {
    pub(super) session: DriveSession,
    /// Number of runs.
    pub(super) runs: usize,
}

/// Verifies the drive in a directory, against a repository if one is given.
pub(super) fn verify_drive(
    directory: &Path,
    repository: Option<&Path>,
    cancellation: &Cancellation,
) -> Result<VerifiedDrive, Failure> {
    let directory = DriveDirectory::open(directory);
    let session = directory.session()?.ok_or_else(|| {
        let shown = sanitize(&directory.path().display().to_string());
        Failure::with_code(Code::DriveNoSession, format!("there is no session in {shown}"))
    })?;
    let checker = RunChecker { directory: &directory, repository, session: &session, cancellation };
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
        checker.check(judged, commit, &format!("turn {}", turn.number))?;
        checker.check_change(change, commit, &format!("the agent's change in turn {}", turn.number))?;
        runs += 2;
    }
    if let Some(difference) = check::difference(&session) {
        return Err(drift(format!("the session does not follow from its runs: {}", sanitize(&difference))));
    }
    Ok(VerifiedDrive { session, runs })
}

fn drift(message: String) -> Failure {
    Failure::with_code(Code::DeterminismDriftDetected, message)
}

/// Derives the runs of a drive again.
struct RunChecker<'a> {
    directory: &'a DriveDirectory,
    repository: Option<&'a Path>,
    session: &'a DriveSession,
    cancellation: &'a Cancellation,
}

impl RunChecker<'_> {
    /// Fails unless a judgement is that of its run, by the base's policy alone.
    fn check(&self, judged: &DriveJudgement, commit: &CommitId, place: &str) -> Result<(), Failure> {
        let run = self.verify(&judged.run, [&self.session.start.base_sha, commit], place)?;
        if recorded_overrides(&run.input).names().next().is_some() {
            return Err(drift(format!("the run of {place} was not judged by the policy alone")));
        }
        let (result, change_set): (SkillResult, ChangeSet) = (run.run.artifact()?, run.run.artifact()?);
        let derived = judgement(&result, &change_set, &run.run.hashes.run_digest, &judged.run);
        ensure(derived == *judged, place)
    }

    /// Fails unless what a session says of an agent's change is what its run says, by the guards alone.
    fn check_change(&self, change: &AgentChange, commit: &CommitId, place: &str) -> Result<(), Failure> {
        let run = self.verify(&change.run, [&self.session.start.head_sha, commit], place)?;
        let overrides = recorded_overrides(&run.input);
        if !overrides.names().eq(["lenses"]) || overrides.lens_ids != Some(guard_ids()) {
            return Err(drift(format!("the run of {place} was not judged by the guards")));
        }
        let (result, change_set): (SkillResult, ChangeSet) = (run.run.artifact()?, run.run.artifact()?);
        let derived = agent_change(&result, &change_set, &run.run.hashes.run_digest, &change.run);
        ensure(derived == *change, place)
    }

    /// Derives a run again. Fails unless it is about two commits, under a policy that gives the agent the rights of the session.
    fn verify(&self, name: &str, commits: [&CommitId; 2], place: &str) -> Result<Verified, Failure> {
        let progress = TerminalProgress::new(false);
        let path = self.directory.run(name);
        let repository = self.repository.filter(|_| *commits[1] == self.session.start.head_sha);
        let verified = verify::verify(&path, repository, self.cancellation, &progress);
        progress.clear();
        let verified = verified.map_err(|failure| {
            let message = format!("the run of {place}: {}", failure.message);
            Failure { message, ..failure }
        })?;
        if let Some(difference) = &verified.difference {
            let difference = sanitize(&difference.to_string());
            return Err(drift(format!("the run of {place} does not follow from its inputs: {difference}")));
        }
        if [&verified.input.base_sha, &verified.input.head_sha] != commits {
            return Err(drift(format!("the run of {place} is about other commits")));
        }
        let recorded: RecordedInputs = verified.run.artifact()?;
        let overrides = recorded_overrides(&verified.input);
        let policy = PolicyInForce::parse(recorded, &overrides, &qa_lenses::registry())?.policy;
        let limits = &self.session.start.limits;
        let allowed = DriveLimits { max_turns: policy.drive.max_turns.min(limits.max_turns), ..policy.drive };
        if allowed != *limits {
            return Err(drift(format!("the policy of the run of {place} gives the agent other rights")));
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
    let VerifiedDrive { session, runs } = verified;
    let start = &session.start;
    let end = match &session.end {
        Some(end) => sanitize(&end.message),
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
        ("agent", sanitize(&start.agent.join(" "))),
    ];
    for (name, value) in rows {
        text.push_str(&format!("{name:<15}{value}\n"));
    }
    text.push_str(&format!(
        "{:<15}{}\n",
        "note", "what agents did is taken as recorded; the commits of turns are named and not read"
    ));
    text
}

/// Returns the conclusion of a drive, which is that of its last judged tree only where the drive passed.
pub(super) fn conclusion(session: &DriveSession) -> Conclusion {
    match session.end.as_ref().map(|end| end.reason) {
        Some(DriveEndReason::Passed) => Conclusion::Pass,
        Some(
            DriveEndReason::Turns | DriveEndReason::Time | DriveEndReason::NoProgress | DriveEndReason::Stuck,
        ) => Conclusion::Fail,
        Some(DriveEndReason::Ask | DriveEndReason::Incomplete) | None => Conclusion::CouldNotComplete,
    }
}
