//! The built-in agents. Of `builtin:fix`, which safe edits of findings a turn applies, and what it answers.

use std::collections::BTreeSet;

use super::{coordinator, may_change};
use crate::edits::select;
use crate::policy::drive::Rights;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    DispatchEnvelope, DispatchOutcome, DispatchResult, DriveExecutor, DriveOutcome, DriveSession, DriveStart,
    DriveTask, DriveTurn, Edit, EditSafety, Finding,
};

/// Name of the agent on the command line.
pub const NAME: &str = "builtin:fix";
/// Name of the agent that asks a model, in the place of a program.
pub const MODEL: &str = "builtin:model";
/// Number of turns that may apply the edit of a finding: the first may leave it out, because it overlaps another one.
const ATTEMPTS: usize = 2;
/// Maximum number of edits that an answer lists.
const MOST_LISTED: usize = 10;

/// Names the agents of a drive.
pub fn agent_name(start: &DriveStart) -> String {
    let program = start.agent.join(" ");
    match (start.builtin_fix, program.is_empty()) {
        (true, true) => NAME.to_owned(),
        (true, false) => format!("{NAME}, then {program}"),
        (false, _) => program,
    }
}

/// Names the executor of a turn.
pub fn executor_name(executor: DriveExecutor) -> &'static str {
    match executor {
        DriveExecutor::SafeEdits => NAME,
        DriveExecutor::Program => "the agent",
        DriveExecutor::Model => "the model",
    }
}

/// Returns the executor of the turn that an envelope is for.
pub fn executor(session: &DriveSession, envelope: &DispatchEnvelope) -> DriveExecutor {
    let start = &session.start;
    match start.builtin_fix && (start.agent.is_empty() || !editable(session, envelope).is_empty()) {
        true => DriveExecutor::SafeEdits,
        false if is_model(start) => DriveExecutor::Model,
        false => DriveExecutor::Program,
    }
}

/// Returns whether a drive asks a model in the place of a program.
pub fn is_model(start: &DriveStart) -> bool {
    start.agent.iter().eq([MODEL])
}

/// Returns the cost of a drive so far with its plans, in millionths of a US dollar.
pub fn cost_micro_usd(session: &DriveSession) -> u64 {
    let turns = cost_of(session.turns.iter().map(|turn| turn.cost_micro_usd));
    turns.saturating_add(coordinator::cost_micro_usd(session))
}

/// Returns the sum of costs. One that is not known counts as none.
pub(super) fn cost_of(costs: impl Iterator<Item = Option<u64>>) -> u64 {
    costs.flatten().fold(0, u64::saturating_add)
}

/// Returns whether a turn may apply the safe edit of a task. Of a turn that was refused, edits in other files than those that its
/// refusals name are tried once more.
pub(super) fn is_editable(session: &DriveSession, rights: Option<&Rights>, task: &DriveTask) -> bool {
    let earlier: Vec<&DriveTurn> = earlier_turns(session, task).collect();
    task.safe_edit
        && may_change(rights, &task.file)
        && earlier.len() < ATTEMPTS
        && !earlier.iter().any(|turn| is_ruled_out(turn, task))
}

/// Returns whether a turn was refused for the file of a task, or for a reason that is about no file.
fn is_ruled_out(turn: &DriveTurn, task: &DriveTask) -> bool {
    let mut files = turn.refusals.iter().map(|refusal| &refusal.file);
    turn.outcome == Some(DriveOutcome::Refused)
        && files.any(|file| file.as_ref().is_none_or(|file| *file == task.file))
}

/// Returns the ids of the tasks whose safe edits a turn applies.
fn editable<'e>(session: &DriveSession, envelope: &'e DispatchEnvelope) -> BTreeSet<&'e Sha256Hex> {
    let rights = Rights::new(&session.start.limits).ok();
    let chosen = envelope.tasks.iter().filter(|task| is_editable(session, rights.as_ref(), task));
    chosen.map(|task| &task.finding_id).collect()
}

/// Chooses the findings of a run whose edits a turn applies: safe ones in files that may change, and no two that overlap.
pub fn choose_edits<'f>(
    session: &DriveSession,
    envelope: &DispatchEnvelope,
    findings: &'f [Finding],
) -> Vec<&'f Finding> {
    let ids = editable(session, envelope);
    let rights = Rights::new(&session.start.limits).ok();
    let chosen = findings.iter().filter(|finding| ids.contains(&finding.finding_id));
    let allowed =
        chosen.filter(|finding| finding.edit.as_ref().is_some_and(|edit| may_apply(rights.as_ref(), edit)));
    select(allowed).chosen
}

fn may_apply(rights: Option<&Rights>, edit: &Edit) -> bool {
    edit.safety == EditSafety::Safe
        && edit.replacements.iter().all(|replacement| may_change(rights, &replacement.file))
}

/// Returns the answer of a turn that applied the edits of some findings. It names the edits that were left out because an earlier
/// turn was refused with them.
pub fn answer(session: &DriveSession, envelope: &DispatchEnvelope, applied: &[&Finding]) -> DispatchResult {
    let mut listed: Vec<String> = applied.iter().take(MOST_LISTED).map(|finding| line(finding)).collect();
    if let Some(more) = applied.len().checked_sub(MOST_LISTED + 1) {
        listed.push(format!("and {} more", more + 1));
    }
    let left_out: Vec<String> = envelope
        .tasks
        .iter()
        .filter(|task| task.safe_edit && earlier_turns(session, task).any(|turn| is_ruled_out(turn, task)))
        .map(|task| format!("{}, {}:{}", task.rule_id, task.file, task.start_line))
        .collect();
    let is_complete = applied.len() == envelope.tasks.len() && envelope.tasks_waiting == 0;
    DispatchResult {
        schema_version: Default::default(),
        envelope_id: envelope.envelope_id.clone(),
        outcome: if applied.is_empty() { DispatchOutcome::Blocked } else { DispatchOutcome::Done },
        summary: summary(&listed, &left_out),
        expected: if is_complete { "pass" } else { "fail" }.to_owned(),
    }
}

fn summary(applied: &[String], left_out: &[String]) -> String {
    let mut text = match applied.is_empty() {
        true => "none of these findings has a safe edit that may be applied".to_owned(),
        false => format!("applied safe edits: {}", applied.join("; ")),
    };
    if !left_out.is_empty() {
        text.push_str(&format!("; left out, because a turn with them was refused: {}", left_out.join("; ")));
    }
    text
}

/// Returns the turns that were about a task.
fn earlier_turns<'s>(session: &'s DriveSession, task: &'s DriveTask) -> impl Iterator<Item = &'s DriveTurn> {
    session.turns.iter().filter(move |turn| turn.tasks.contains(&task.finding_id))
}

fn line(finding: &Finding) -> String {
    let title = finding.edit.as_ref().map(|edit| edit.title.as_str()).unwrap_or_default();
    let title: String = title.chars().take(200).collect();
    format!("{title} ({}, {}:{})", finding.rule_id, finding.file, finding.start_line)
}

/// Returns whether a recorded turn is one that its executor can have. Of safe edits no process has a part in it, and it changes a
/// file or is blocked.
pub(super) fn is_possible(turn: &DriveTurn) -> bool {
    let is_without_model = turn.cost_micro_usd.is_none() && turn.tokens.is_none();
    let is_without_process = turn.stderr.bytes == 0 && turn.ignored.count == 0;
    match turn.executor {
        DriveExecutor::Program => is_without_model,
        DriveExecutor::Model => is_without_process,
        DriveExecutor::SafeEdits => {
            let expected = match turn.changed.is_empty() {
                true => DispatchOutcome::Blocked,
                false => DispatchOutcome::Done,
            };
            let is_quiet = is_without_process && turn.stdout.bytes == 0 && is_without_model;
            is_quiet && turn.answer.outcome == expected
        }
    }
}
