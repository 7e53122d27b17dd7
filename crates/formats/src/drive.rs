//! A drive in Markdown, for a reviewer of what its agent did: goal, changes with their reasons, refusals, checks.

use crate::common::{counted, verdict_word};
use qa_contracts::v1::{
    Conclusion, DriveEndReason, DriveFile, DriveJudgement, DriveOutcome, DrivePlan, DrivePlanBasis,
    DriveSession, DriveTask, DriveTurn, IgnoredFiles,
};
use qa_core::drive::builtin::{agent_name, cost_micro_usd, executor, executor_name};
use qa_core::drive::check::agent_files;
use qa_core::drive::coordinator::{plans, tokens};
use qa_core::drive::{Step, count_turns, current, current_commit, judgement_before, next_step, session_id};
use qa_core::escape::{markdown, markdown_code};
use qa_core::masking::sanitize_cut;
use qa_core::usage::usd;

/// Maximum number of turns, of refusals and of findings that a list shows. All lists together have at most 60 lines.
const MOST_LISTED: usize = 6;
/// Maximum number of places that a line names.
const MOST_PLACES: usize = 4;
/// Maximum number of characters of the goal and of an account of the agent.
const MOST_CHARACTERS: usize = 600;

/// Describes a drive in at most 60 lines of Markdown. Texts of the repository, of the agent and of the goal are escaped.
pub fn drive_summary(session: &DriveSession) -> String {
    let mut text = heading(session);
    let Some(bootstrap) = &session.bootstrap else { return text };
    text.push_str(&changes(session, bootstrap));
    text.push_str(&refusals(session));
    text.push_str(&open_findings(current(session, bootstrap)));
    text.push_str(&checks(session, bootstrap));
    text
}

/// Names the turn that comes next, such as `turn 2 of 5`; `None` where none does.
pub fn drive_next_turn(session: &DriveSession) -> Option<String> {
    match next_step(session)? {
        Step::Dispatch(envelope) => {
            Some(format!("turn {} of {}", envelope.turn, session.start.limits.max_turns))
        }
        Step::Bootstrap | Step::Plan(_) | Step::Judge(_) | Step::End(_) => None,
    }
}

/// Describes in Markdown what a drive waits for: goal, turn and findings, and the commands that go on with it. Empty where no turn
/// comes next.
pub fn drive_wait(session: &DriveSession) -> String {
    let (Some(turn), Some(Step::Dispatch(envelope))) = (drive_next_turn(session), next_step(session)) else {
        return String::new();
    };
    let start = &session.start;
    let mut text = format!(
        "**The drive waits for a person** before {turn}.\n\n- Goal: {}\n- Change: {} against {}\n- Next: {} gets {}\n- So far: {}\n",
        plain(&goal(session)),
        markdown_code(start.head_sha.short()),
        markdown_code(start.base_sha.short()),
        code(executor_name(executor(session, &envelope))),
        counted(envelope.tasks.len(), "finding"),
        turn_counts(session),
    );
    let entries = envelope.tasks.iter().take(MOST_LISTED);
    let entries = entries.map(|task| format!("- {}: {}", finding(task), plain(&task.summary)));
    text.push_str(&section("Findings of the turn", entries.collect(), envelope.tasks.len(), "finding"));
    text.push_str(
        "\n`/qa approve` lets the turn begin, `/qa edit TEXT` gives the agent a text as well, and `/qa stop` ends the drive. \
         They are for people with the role write.\n",
    );
    text
}

fn heading(session: &DriveSession) -> String {
    let start = &session.start;
    let end = match &session.end {
        Some(end) => format!(": {}", plain(&end.message)),
        None => String::new(),
    };
    let files = agent_files(session);
    let result = match files.is_empty() {
        true => "nothing of the head changed".to_owned(),
        false => {
            format!("{} on top of head, {}", markdown_code(current_commit(session).short()), size(files))
        }
    };
    let spent = spent(session).map(|spent| format!("- Models: {}\n", plain(&spent))).unwrap_or_default();
    format!(
        "**{}** after {}{end}.\n\n- Goal: {}\n- Change: {} against {}\n- Result: {result}\n- Agent: {}\n{spent}",
        end_word(session),
        turn_counts(session),
        plain(&goal(session)),
        markdown_code(start.head_sha.short()),
        markdown_code(start.base_sha.short()),
        markdown_code(&sanitize_cut(&agent_name(start), MOST_CHARACTERS)),
    )
}

/// Describes a plan in a line. Its texts are the model's, and the caller escapes the line.
pub fn plan(plan: &DrivePlan) -> String {
    let problem = plan.problem.as_deref().unwrap_or_default();
    match plan.basis {
        DrivePlanBasis::Answer => {
            let findings = match plan.tasks.len() {
                0 => "no choice".to_owned(),
                count => counted(count, "finding"),
            };
            let finished = if plan.finished { "; it says that the goal is reached" } else { "" };
            format!("by {}, {findings}: {} Expected: {}{finished}", plan.model, plan.action, plan.expected)
        }
        DrivePlanBasis::AnswerInvalid | DrivePlanBasis::RequestFailed | DrivePlanBasis::NoMoney => {
            format!("by the rule and not by {}: {problem}", plan.model)
        }
    }
}

/// Describes plans, tokens and cost of a drive in a line; `None` where no model had a part in it.
pub fn spent(session: &DriveSession) -> Option<String> {
    let plans: Vec<&DrivePlan> = plans(session).collect();
    let (tokens, cost) = (tokens(session), cost_micro_usd(session));
    let mut parts = Vec::new();
    if let Some(plan) = plans.first() {
        let by_rule = plans.iter().filter(|plan| plan.basis != DrivePlanBasis::Answer).count();
        parts.push(format!("{} with {}, {by_rule} by the rule", counted(plans.len(), "plan"), plan.model));
    }
    if let Some(tokens) = tokens {
        parts.push(format!("{} tokens sent and {} generated", tokens.input, tokens.output));
    }
    if cost > 0 {
        let bound = session.start.limits.max_cost_micro_usd;
        let bound = bound.map(|most| format!(" of {}", usd(most))).unwrap_or_default();
        parts.push(format!("{}{bound} USD", usd(cost)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Names the end of a drive in a word or two.
pub(crate) fn end_word(session: &DriveSession) -> &'static str {
    match &session.end {
        Some(end) if end.reason == DriveEndReason::Passed => "PASS",
        Some(_) => "NOT PASSED",
        None => "In progress",
    }
}

/// Returns the goal of a drive.
pub(crate) fn goal(session: &DriveSession) -> String {
    session.start.goal.clone().unwrap_or_else(|| "the change passes its gate".to_owned())
}

/// `3 turns (1 accepted, 1 refused, 1 without a change)`.
fn turn_counts(session: &DriveSession) -> String {
    let words = [
        (DriveOutcome::Accepted, "accepted"),
        (DriveOutcome::Refused, "refused"),
        (DriveOutcome::Unchanged, "without a change"),
    ];
    let counts = words.map(|(outcome, word)| (count_turns(session, outcome), word));
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let turns = counted(session.turns.len(), "turn");
    if parts.is_empty() { turns } else { format!("{turns} ({})", parts.join(", ")) }
}

/// `2 files, 3 lines added and 1 removed`.
fn size(files: &[DriveFile]) -> String {
    let sum =
        |lines: fn(&DriveFile) -> u64| files.iter().fold(0_u64, |sum, file| sum.saturating_add(lines(file)));
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let lines = counted(usize::try_from(added).unwrap_or(usize::MAX), "line");
    format!("{}, {lines} added and {removed} removed", counted(files.len(), "file"))
}

fn changes(session: &DriveSession, bootstrap: &DriveJudgement) -> String {
    let accepted: Vec<&DriveTurn> =
        session.turns.iter().filter(|turn| turn.outcome == Some(DriveOutcome::Accepted)).collect();
    let entries = accepted.iter().take(MOST_LISTED).map(|turn| change(session, bootstrap, turn));
    section("What changed, and why", entries.collect(), accepted.len(), "turn")
}

/// Describes an accepted turn in two or three lines.
fn change(session: &DriveSession, bootstrap: &DriveJudgement, turn: &DriveTurn) -> String {
    let paths: Vec<String> = turn.changed.iter().map(|path| code(&path.to_string())).collect();
    let mut text = format!("- Turn {}, {}: {}", turn.number, executor_name(turn.executor), places(&paths));
    text.push_str(&ignored(&turn.ignored));
    if let Some(said) = turn.person.as_ref().and_then(|person| person.text.as_ref()) {
        text.push_str(&format!("; a person said: {}", plain(said)));
    }
    if let Some(planned) = &turn.plan {
        text.push_str(&format!("; planned {}", plain(&plan(planned))));
    }
    let before = judgement_before(session, bootstrap, turn.number);
    let after = turn.judgement.as_ref().map(|after| after.tasks.as_slice()).unwrap_or_default();
    text.push_str(&format!("\n  - Findings: {}", resolved(&before.tasks, after)));
    if !turn.answer.summary.is_empty() {
        text.push_str(&format!("\n  - Its account: {}", plain(&turn.answer.summary)));
    }
    text
}

/// Names the blocking findings that a turn resolved, and counts those that it brought.
fn resolved(before: &[DriveTask], after: &[DriveTask]) -> String {
    let (gone, new) = (only_in(before, after), only_in(after, before));
    let mut text = match gone.is_empty() {
        true => "none resolved".to_owned(),
        false => format!("resolves {}", places(&gone)),
    };
    if !new.is_empty() {
        text.push_str(&format!("; brings {}", places(&new)));
    }
    text
}

/// Names the findings of one list that another does not have.
fn only_in(one: &[DriveTask], other: &[DriveTask]) -> Vec<String> {
    let gone = one.iter().filter(|task| other.iter().all(|kept| kept.finding_id != task.finding_id));
    let mut places: Vec<String> = gone.map(finding).collect();
    places.dedup();
    places
}

fn ignored(files: &IgnoredFiles) -> String {
    match files.count {
        0 => String::new(),
        count => {
            let names: Vec<String> = files.first.iter().map(|path| code(&path.to_string())).collect();
            let names = places(&names);
            let files = counted(usize::try_from(count).unwrap_or(usize::MAX), "new file");
            format!("; left out {files} that ignore rules name ({names})")
        }
    }
}

fn refusals(session: &DriveSession) -> String {
    let refused: Vec<&DriveTurn> = session.turns.iter().filter(|turn| !turn.refusals.is_empty()).collect();
    let entries = refused.iter().take(MOST_LISTED).map(|turn| {
        let mut reasons: Vec<String> = turn.refusals.iter().map(|refusal| plain(&refusal.message)).collect();
        reasons.dedup();
        let code = turn.refusals.first().map(|refusal| refusal.code.as_str()).unwrap_or_default();
        format!("- Turn {}, `{code}`: {}", turn.number, places(&reasons))
    });
    section("What was refused", entries.collect(), refused.len(), "turn")
}

fn open_findings(judgement: &DriveJudgement) -> String {
    let entries = judgement.tasks.iter().take(MOST_LISTED).map(|task| {
        let summary = plain(&task.summary);
        format!("- {}: {summary}", finding(task))
    });
    section("What still blocks", entries.collect(), judgement.tasks.len(), "finding")
}

fn checks(session: &DriveSession, bootstrap: &DriveJudgement) -> String {
    let judged = session.turns.iter().filter(|turn| turn.judgement.is_some()).count();
    let last = current(session, bootstrap);
    let verdict = match last.vacuous && last.conclusion == Conclusion::CouldNotComplete {
        true => "nothing to judge",
        false => verdict_word(last.conclusion),
    };
    let trees = match judged {
        0 => "The head was".to_owned(),
        1 => "The head and the tree of 1 turn were".to_owned(),
        _ => format!("The head and the trees of {judged} turns were"),
    };
    let entries = vec![
        format!(
            "- {trees} judged in whole by the policy of the base; the head: {}, with {}",
            verdict_word(bootstrap.conclusion),
            counted(bootstrap.tasks.len(), "blocking finding"),
        ),
        format!("- The result: {verdict}, execution key `{}`, run digest `{}`", last.execution_key, last.run_digest),
        "- A turn that weakens a test, a check, a suppression or the policy does not count; whether the tests pass is \
         known only where a gate of the policy runs them"
            .to_owned(),
        format!(
            "- Session `{}`: `qa-skill verify` with its directory derives every run and every decision again",
            session_id(&session.start)
        ),
    ];
    let count = entries.len();
    section("What was checked", entries, count, "check")
}

/// Returns a heading with entries, and a line for those that are not listed; empty where there is none.
fn section(title: &str, entries: Vec<String>, total: usize, noun: &str) -> String {
    if total == 0 {
        return String::new();
    }
    let mut text = format!("\n### {title}\n\n");
    for entry in &entries {
        text.push_str(&format!("{entry}\n"));
    }
    if total > entries.len() {
        text.push_str(&format!("- and {} more in the session\n", counted(total - entries.len(), noun)));
    }
    text
}

/// Joins the first of some names, and counts the others.
fn places(names: &[String]) -> String {
    let shown = names.iter().take(MOST_PLACES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST_PLACES + 1) {
        Some(more) => format!("{shown} and {} more", more + 1),
        None => shown,
    }
}

fn finding(task: &DriveTask) -> String {
    format!("{} in {}", code(&task.rule_id), code(&format!("{}:{}", task.file, task.start_line)))
}

fn code(text: &str) -> String {
    markdown_code(&sanitize_cut(text, MOST_CHARACTERS))
}

/// Returns a text of somebody else as one line.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    markdown(&sanitize_cut(&line, MOST_CHARACTERS))
}

#[cfg(test)]
#[path = "drive_tests.rs"]
pub(crate) mod tests;
