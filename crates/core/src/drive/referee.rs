//! The referee: what an agent may not do in a turn, whatever it says and however well the result passes.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::drive::Rights;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    AgentChange, Conclusion, DispatchOutcome, DriveFile, DriveJudgement, DriveOutcome, DriveRefusal,
    DriveTurn, GuardedFinding,
};

/// Maximum number of refusals of a kind that a turn lists.
const MOST_LISTED: usize = 20;

/// Returns a refusal for each changed path that the agent may not change.
pub fn refuse_paths(rights: &Rights, changed: &[RepoPath]) -> Vec<DriveRefusal> {
    let refused = changed.iter().filter_map(|path| {
        let message = format!("{path} may not change: {}", rights.refusal(path)?);
        Some(refusal(Code::DrivePathRefused, Some(path), message))
    });
    refused.take(MOST_LISTED).collect()
}

/// Returns the refusals of a judged turn: it has no verdict, it weakens what checks the change, or it takes the change back.
pub fn refuse_judgement(
    bootstrap: &DriveJudgement,
    after: &DriveJudgement,
    change: &AgentChange,
) -> Vec<DriveRefusal> {
    if after.vacuous && !bootstrap.vacuous {
        return vec![refusal(Code::DriveChangeReverted, None, "nothing is left of the change".to_owned())];
    }
    if after.conclusion == Conclusion::CouldNotComplete && !after.vacuous || !change.complete {
        return vec![refusal(Code::DriveTurnNotJudged, None, "the tree has no verdict".to_owned())];
    }
    let mut refusals = refuse_weakening(bootstrap, after);
    for refusal in change.guarded.iter().map(weakening).take(MOST_LISTED) {
        if !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }
    refusals.extend(refuse_reverts(bootstrap, after));
    refusals.extend(refuse_losses(bootstrap, change));
    refusals.extend(refuse_deletions(bootstrap, change));
    refusals
}

/// Lines by which a file may always become shorter.
const FEW_LINES: u64 = 10;

/// Returns a refusal for each file that loses more than half of the lines that the head adds to it, whatever its findings ask.
fn refuse_losses<'a>(
    bootstrap: &'a DriveJudgement,
    own: &'a AgentChange,
) -> impl Iterator<Item = DriveRefusal> + 'a {
    let shorter = own.files.iter().filter(|file| file.removed > file.added.saturating_add(FEW_LINES));
    let lost = shorter.filter_map(|file| {
        let head = bootstrap.files.iter().find(|head| head.path == file.path)?;
        ((file.removed - file.added).saturating_mul(2) > head.added).then_some(file)
    });
    lost.take(MOST_LISTED).map(|file| {
        let message = format!("{} loses more than half of the lines that the change adds", file.path);
        refusal(Code::DriveChangeReverted, Some(&file.path), message)
    })
}

/// Rules whose advice is to delete the file.
const DELETING_RULES: [&str; 1] = ["merge-leftover/editor-file"];

/// Returns a refusal for each file of the change that is gone, unless a finding in it asks for that: with its file, any finding is
/// gone, and a move that changes the file may take the change back. A file that is moved as it is takes its findings along.
fn refuse_deletions<'a>(
    bootstrap: &'a DriveJudgement,
    own: &'a AgentChange,
) -> impl Iterator<Item = DriveRefusal> + 'a {
    let gone = own.files.iter().filter(|file| file.mode.is_none());
    let own_files = gone.filter(|file| {
        let mut heads = bootstrap.files.iter().filter(|head| head.path == file.path && head.mode.is_some());
        heads.any(|head| own.files.iter().all(|moved| moved.blob.is_none() || moved.blob != head.blob))
    });
    let unasked = own_files.filter(|file| {
        let mut tasks = bootstrap.tasks.iter().filter(|task| task.file == file.path);
        !tasks.any(|task| DELETING_RULES.contains(&task.rule_id.as_str()))
    });
    unasked.take(MOST_LISTED).map(|file| {
        let message = format!(
            "{} of the change is gone or moved with changes, and no finding asks for that",
            file.path
        );
        refusal(Code::DriveChangeReverted, Some(&file.path), message)
    })
}

/// Returns a refusal for each file that is as at the base again although no finding is in it: without its change nothing of it can
/// block, and nothing of it is reached either.
fn refuse_reverts<'a>(
    bootstrap: &'a DriveJudgement,
    after: &'a DriveJudgement,
) -> impl Iterator<Item = DriveRefusal> + 'a {
    let left: BTreeSet<&RepoPath> = after.files.iter().map(|file| &file.path).collect();
    let reverted = bootstrap.files.iter().map(|file| &file.path).filter(move |path| !left.contains(path));
    let unasked = reverted.filter(|path| bootstrap.tasks.iter().all(|task| task.file != **path));
    let refusals = unasked.map(|file| {
        let message = format!("{file} is as at the base again, and no finding is in it");
        refusal(Code::DriveChangeReverted, Some(file), message)
    });
    refusals.take(MOST_LISTED)
}

/// Returns a refusal for each finding of a guard that the head did not have.
fn refuse_weakening(bootstrap: &DriveJudgement, after: &DriveJudgement) -> Vec<DriveRefusal> {
    let mut known: BTreeMap<&GuardedFinding, usize> = BTreeMap::new();
    for finding in &bootstrap.guarded {
        *known.entry(finding).or_default() += 1;
    }
    let added = after.guarded.iter().filter(|finding| match known.get_mut(finding) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    });
    added.map(weakening).take(MOST_LISTED).collect()
}

fn weakening(finding: &GuardedFinding) -> DriveRefusal {
    let GuardedFinding { rule_id, file, .. } = finding;
    refusal(Code::DriveCheckWeakened, Some(file), format!("{file} has a new finding of {rule_id}"))
}

/// Returns the paths in which the trees of two turns differ, from what agents changed up to each.
pub fn differing_paths(before: &[DriveFile], after: &[DriveFile]) -> Vec<RepoPath> {
    let [before, after] = [before, after].map(|files| {
        files.iter().map(|file| (&file.path, (&file.blob, &file.mode))).collect::<BTreeMap<_, _>>()
    });
    let paths: BTreeSet<&RepoPath> = before.keys().chain(after.keys()).copied().collect();
    paths.into_iter().filter(|path| before.get(path) != after.get(path)).cloned().collect()
}

/// Returns the refusal of a tree that is no tree of git, or over a limit.
pub fn refuse_tree(reason: &str) -> DriveRefusal {
    refusal(Code::DriveTreeRefused, None, format!("the tree cannot be taken: {reason}"))
}

/// Returns the refusal of an answer that is none.
pub fn refuse_answer(reason: &str) -> DriveRefusal {
    refusal(Code::DriveAnswerInvalid, None, format!("the answer is invalid: {reason}"))
}

/// Returns the refusal of an agent that failed, by its exit or in its own words.
pub fn refuse_failed(outcome: DispatchOutcome) -> Option<DriveRefusal> {
    let message = "the agent failed, so its work is not taken".to_owned();
    (outcome == DispatchOutcome::Failed).then(|| refusal(Code::DriveAgentFailed, None, message))
}

/// Returns the refusal of an agent that did not end by itself.
pub fn refuse_stopped(limit: &str) -> DriveRefusal {
    refusal(Code::DriveAgentStopped, None, format!("the agent was stopped: {limit}"))
}

fn refusal(code: Code, file: Option<&RepoPath>, message: String) -> DriveRefusal {
    DriveRefusal { code, file: file.cloned(), message }
}

/// Returns whether a turn changes the tree and nothing refuses it before its tree is judged.
pub fn needs_judgement(turn: &DriveTurn) -> bool {
    turn.judgement.is_none() && turn.commit.is_some() && outcome(turn) == DriveOutcome::Accepted
}

/// Returns the outcome of a turn whose refusals are complete.
pub(super) fn outcome(turn: &DriveTurn) -> DriveOutcome {
    match (turn.refusals.is_empty(), turn.changed.is_empty()) {
        (false, _) => DriveOutcome::Refused,
        (true, true) => DriveOutcome::Unchanged,
        (true, false) => DriveOutcome::Accepted,
    }
}
