//! A drive as one self-contained page: its goal and end, each turn with its tasks, account, diff and judgement, and the result.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, html};

use super::ledger::head;
use crate::common::{counted, verdict_word};
use crate::drive::{end_word, goal, plan, spent};
use qa_contracts::v1::{DispatchOutcome, DriveJudgement, DriveOutcome, DriveSession, DriveTask, DriveTurn};
use qa_core::drive::builtin::{agent_name, executor_name};
use qa_core::drive::{conclusion, count_turns, current, current_commit, judgement_before, session_id};
use qa_core::escape::{visible, visible_cut};
use qa_core::masking::{sanitize, sanitize_cut};
use qa_core::secrets;

/// Maximum number of lines of a diff or an output.
const MAX_LINES: usize = 300;
/// Maximum number of lines of all diffs and outputs of a page.
const MAX_ALL_LINES: usize = 6000;
/// Maximum number of characters of a line.
const MAX_CHARACTERS: usize = 400;
/// Maximum number of characters of an account or a message.
const MAX_TEXT: usize = 4000;
/// Maximum number of turns, and of entries in a list of a turn.
const MAX_TURNS: usize = 200;
const MAX_LIST: usize = 20;

/// A drive with the texts that its session does not have.
pub struct DrivePage<'a> {
    pub session: &'a DriveSession,
    /// Patches by the number of their turn.
    pub patches: &'a BTreeMap<u64, String>,
    /// Patch of the result; empty where nothing changed.
    pub result: &'a str,
}

/// Renders the page.
pub fn page(drive: &DrivePage<'_>) -> String {
    let session = drive.session;
    let mut left = MAX_ALL_LINES;
    let turns: Vec<Markup> =
        session.turns.iter().take(MAX_TURNS).map(|turn| turn_item(drive, turn, &mut left)).collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(html! { "Drive · qa-skill · " (visible_cut(&session.start.repo_id, 200)) }))
            body {
                a.skip href="#main" { "Skip to the turns" }
                (banner(session))
                main.page id="main" {
                    (numbers(session))
                    section aria-labelledby="turns" {
                        h2 id="turns" { "Turns" small { (session.turns.len()) } }
                        @if turns.is_empty() { p.muted { "No turn was needed or taken." } }
                        ol.line { @for turn in &turns { (turn) } }
                        @if session.turns.len() > turns.len() {
                            p.rest { "and " (counted(session.turns.len() - turns.len(), "turn")) " more in drive-session.json" }
                        }
                    }
                    (result(drive))
                    (proof(session))
                }
            }
        }
    };
    markup.into_string() + "\n"
}

fn banner(session: &DriveSession) -> Markup {
    let start = &session.start;
    let end = session.end.as_ref().map(|end| sanitize_cut(&end.message, MAX_TEXT));
    html! {
        header.banner.(conclusion(session).as_str()) {
            div.page {
                p.name {
                    "qa-skill drive · " (visible_cut(&start.repo_id, 200)) " · "
                    code { (start.base_sha.short()) } " → " code { (start.head_sha.short()) }
                }
                h1 { (end_word(session)) }
                p.reason { (end.unwrap_or_else(|| "It goes on, waits for a person, or was interrupted".to_owned())) "." }
                p.extent { "Goal: " (sanitize_cut(&goal(session), MAX_TEXT)) }
                @if let Some(planned) = &session.plan {
                    p.extent { "Next turn, planned " (sanitize_cut(&plan(planned), MAX_TEXT)) }
                }
            }
        }
    }
}

fn numbers(session: &DriveSession) -> Markup {
    let now = session.bootstrap.as_ref().map(|bootstrap| current(session, bootstrap));
    let entries = [
        ("turns", session.turns.len().to_string()),
        ("accepted", count_turns(session, DriveOutcome::Accepted).to_string()),
        ("refused", count_turns(session, DriveOutcome::Refused).to_string()),
        ("blocking at head", number_of_tasks(session.bootstrap.as_ref())),
        ("blocking now", number_of_tasks(now)),
    ];
    html! { dl.numbers { @for (name, value) in entries { div { dt { (name) } dd { (value) } } } } }
}

fn number_of_tasks(judged: Option<&DriveJudgement>) -> String {
    judged.map_or_else(|| "–".to_owned(), |judged| judged.tasks.len().to_string())
}

/// Name of an outcome, and the classes of its turn and of its label.
struct OutcomeLook {
    word: &'static str,
    turn: &'static str,
    tag: &'static str,
}

fn look(turn: &DriveTurn) -> OutcomeLook {
    match turn.outcome {
        Some(DriveOutcome::Accepted) => OutcomeLook { word: "accepted", turn: "pass", tag: "passed" },
        Some(DriveOutcome::Refused) => OutcomeLook { word: "refused", turn: "fail", tag: "failed" },
        Some(DriveOutcome::Unchanged) => {
            OutcomeLook { word: "nothing changed", turn: "could_not_complete", tag: "degraded" }
        }
        None => OutcomeLook { word: "not judged yet", turn: "could_not_complete", tag: "degraded" },
    }
}

fn turn_item(drive: &DrivePage<'_>, turn: &DriveTurn, left: &mut usize) -> Markup {
    let look = look(turn);
    let patch = drive.patches.get(&turn.number).map(String::as_str).unwrap_or_default();
    html! {
        li.turn.(look.turn) id={ "turn-" (turn.number) } {
            h3 { "Turn " (turn.number) " · " (executor_name(turn.executor)) }
            p.tags {
                span.tag.(look.tag) { (look.word) }
                span { "answers " (answer_word(turn.answer.outcome)) }
                span { (counted(turn.changed.len(), "file")) " changed" }
            }
            @for refusal in turn.refusals.iter().take(MAX_LIST) {
                div.message { p { code { (refusal.code.as_str()) } " " (sanitize_cut(&refusal.message, MAX_TEXT)) } }
            }
            dl.facts {
                dt { "Asked" } dd { (asked(drive.session, turn)) }
                @if let Some(text) = turn.person.as_ref().and_then(|person| person.text.as_ref()) {
                    dt { "A person added" } dd { (sanitize_cut(text, MAX_TEXT)) }
                }
                @if let Some(planned) = &turn.plan {
                    dt { "Planned" } dd { (sanitize_cut(&plan(planned), MAX_TEXT)) }
                    @if !planned.reasoning.is_empty() { dt { "Because" } dd { (sanitize_cut(&planned.reasoning, MAX_TEXT)) } }
                }
                @if !turn.answer.summary.is_empty() { dt { "Said" } dd { (sanitize_cut(&turn.answer.summary, MAX_TEXT)) } }
                @if !turn.changed.is_empty() { dt { "Changed" } dd { (paths(turn.changed.iter().map(ToString::to_string).collect())) } }
                @if turn.ignored.count > 0 {
                    dt { "Left out" }
                    dd { (turn.ignored.count) " that ignore rules name: " (paths(turn.ignored.first.iter().map(ToString::to_string).collect())) }
                }
                @if let Some(judged) = &turn.judgement { dt { "Judged" } dd { (judged_as(judged)) } }
                @if let Some(change) = &turn.agent_change {
                    dt { "Against head" } dd { a href={ "runs/" (change.run) "/report.html" } { "report of the guards" } }
                }
            }
            (diff(patch, &format!("Diff of turn {}", turn.number), &format!("turn-{:03}.patch", turn.number), left))
            (output(&turn.stdout.text, &format!("Standard output of turn {}", turn.number), left))
            (output(&turn.stderr.text, &format!("Standard error of turn {}", turn.number), left))
        }
    }
}

fn answer_word(outcome: DispatchOutcome) -> &'static str {
    match outcome {
        DispatchOutcome::Done => "done",
        DispatchOutcome::Blocked => "blocked",
        DispatchOutcome::Ask => "ask",
        DispatchOutcome::Failed => "failed",
    }
}

/// Lists the findings that a turn was about.
fn asked(session: &DriveSession, turn: &DriveTurn) -> Markup {
    let before =
        session.bootstrap.as_ref().map(|bootstrap| judgement_before(session, bootstrap, turn.number));
    let all = before.map(|judged| judged.tasks.as_slice()).unwrap_or_default();
    let tasks: Vec<&DriveTask> = all.iter().filter(|task| turn.tasks.contains(&task.finding_id)).collect();
    html! {
        @if tasks.is_empty() { "the goal" } @else {
            ul.plain {
                @for task in tasks.iter().take(MAX_LIST) {
                    li {
                        code { (sanitize(&task.file.to_string())) ":" (task.start_line) } " "
                        code { (visible(&task.rule_id)) } " " (sanitize_cut(&task.summary, MAX_CHARACTERS))
                    }
                }
            }
        }
    }
}

fn paths(paths: Vec<String>) -> Markup {
    html! {
        @for (index, path) in paths.iter().take(MAX_LIST).enumerate() {
            @if index > 0 { ", " } code { (sanitize(path)) }
        }
        @if paths.len() > MAX_LIST { " and " (paths.len() - MAX_LIST) " more" }
    }
}

fn judged_as(judged: &DriveJudgement) -> Markup {
    html! {
        (verdict_word(judged.conclusion)) ", " (counted(judged.tasks.len(), "blocking finding")) ", "
        a href={ "runs/" (judged.run) "/report.html" } { "report" }
    }
}

/// Renders a patch in a box that opens. Content of binary files is left out.
fn diff(patch: &str, title: &str, file: &str, left: &mut usize) -> Markup {
    let patch = secrets::masked(patch.to_owned());
    let lines = patch_lines(&patch);
    let shown = lines.len().min(MAX_LINES).min(*left);
    *left -= shown;
    html! {
        @if !lines.is_empty() {
            details {
                summary { (title) }
                table.diff {
                    caption.hidden { (title) }
                    colgroup { col.sign; col; }
                    tbody { @for line in &lines[..shown] { (diff_line(line)) } }
                }
                @if lines.len() > shown {
                    p.rest { "and " (counted(lines.len() - shown, "line")) " more in " (file) }
                }
            }
        }
    }
}

/// A line of a patch.
struct PatchLine<'p> {
    class: &'static str,
    sign: &'static str,
    text: &'p str,
}

/// Returns the lines of a patch without binary content and object ids.
fn patch_lines(patch: &str) -> Vec<PatchLine<'_>> {
    let (mut is_binary, mut is_hunk) = (false, false);
    let mut lines = Vec::new();
    for line in patch.lines() {
        if line.starts_with("diff --git ") {
            (is_binary, is_hunk) = (false, false);
        }
        is_hunk |= line.starts_with("@@ ");
        if !is_binary && (is_hunk || !line.starts_with("index ")) {
            lines.push(match (is_hunk, line.chars().next()) {
                (true, Some('+')) => PatchLine { class: "added", sign: "+", text: &line[1..] },
                (true, Some('-')) => PatchLine { class: "removed", sign: "−", text: &line[1..] },
                (true, Some(' ')) => PatchLine { class: "same", sign: "", text: &line[1..] },
                _ => PatchLine { class: "heading", sign: "", text: line },
            });
        }
        is_binary |= !is_hunk && line == "GIT binary patch";
    }
    lines
}

fn diff_line(line: &PatchLine<'_>) -> Markup {
    let text = visible_cut(line.text, MAX_CHARACTERS);
    html! {
        tr.(line.class) { td.s { (line.sign) } td.c { @if line.class == "heading" { b { (text) } } @else { (text) } } }
    }
}

fn output(text: &str, title: &str, left: &mut usize) -> Markup {
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.len().min(MAX_LINES).min(*left);
    *left -= shown;
    // The end tells more than the beginning.
    let shown = lines[lines.len() - shown..].iter().map(|line| visible_cut(line, MAX_CHARACTERS));
    let shown = shown.collect::<Vec<_>>().join("\n");
    html! { @if !shown.is_empty() { details { summary { (title) } pre.said tabindex="0" { (shown) } } } }
}

fn result(drive: &DrivePage<'_>) -> Markup {
    html! {
        section aria-labelledby="result" {
            h2 id="result" { "Result" }
            @if drive.result.is_empty() { p.muted { "Nothing of the head changed." } } @else {
                p {
                    code { (current_commit(drive.session).short()) } " on top of " code { (drive.session.start.head_sha.short()) }
                    ", as " a href="result.patch" { "result.patch" } " and " a href="result.bundle" { "result.bundle" } "."
                }
                // The page of a drive with few turns has room for it.
                (diff(drive.result, "Diff of the result", "result.patch", &mut { MAX_LINES }))
            }
        }
    }
}

fn proof(session: &DriveSession) -> Markup {
    let start = &session.start;
    let rows = [
        ("Session", session_id(start).to_string()),
        ("Repository", sanitize_cut(&start.repo_id, 200)),
        ("Base commit", start.base_sha.to_string()),
        ("Head commit", start.head_sha.to_string()),
        ("Result", current_commit(session).to_string()),
        ("Agent", sanitize_cut(&agent_name(start), MAX_CHARACTERS)),
        ("Engine", visible_cut(&start.engine, MAX_CHARACTERS)),
    ];
    html! {
        section aria-labelledby="proof" {
            h2 id="proof" { "Proof" }
            p { "Each decision follows from the runs, and each run from its recorded inputs. What agents did, and the diffs on this "
                "page, are taken as recorded. With the directory of this page:" }
            p { code { "qa-skill verify DIR" } }
            dl.facts {
                @for (name, value) in rows { dt { (name) } dd { code { (value) } } }
                @if let Some(spent) = spent(session) { dt { "Models" } dd { (sanitize_cut(&spent, MAX_TEXT)) } }
                @if let Some(bootstrap) = &session.bootstrap { dt { "Head" } dd { (judged_as(bootstrap)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::tests::{plan_with, session};
    use crate::html::STYLE;
    use crate::html::ledger::LEDGER_STYLE;
    use crate::sample::HOSTILE;
    use crate::tests::elements;
    use qa_contracts::v1::DrivePlanBasis;

    fn rendered(goal: Option<&str>, text: &str) -> String {
        let patch = format!(
            "diff --git a/src/a.py b/src/a.py\nindex 1..2 100644\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n \
             def a():\n-    breakpoint()\n+    return 1\n+{}\n",
            text.replace('\n', " ")
        );
        let binary = "diff --git a/x b/x\nGIT binary patch\nliteral 5\nzzzzz\n";
        let patches = BTreeMap::from([(1, patch.clone()), (3, binary.to_owned())]);
        let mut session = session(goal, text);
        session.turns[0].plan = Some(plan_with(text, DrivePlanBasis::Answer));
        session.plan = Some(plan_with(text, DrivePlanBasis::NoMoney));
        page(&DrivePage { session: &session, patches: &patches, result: &patch })
    }

    #[test]
    fn the_page_is_well_formed_and_loads_and_runs_nothing() {
        let active = regex::Regex::new("<[^>]* (?:src|style|on[a-z]+)=").unwrap();
        let links = regex::Regex::new("href=\"([^\"]*)\"").unwrap();
        for page in [rendered(None, "a debugger statement"), rendered(Some(HOSTILE), HOSTILE)] {
            let names = elements(&page.replace(STYLE, "").replace(LEDGER_STYLE, ""));
            for banned in ["script", "link", "iframe", "object", "form", "base", "svg", "img"] {
                assert!(!names.contains(banned), "{banned}");
            }
            assert!(!active.is_match(&page) && !page.contains('\u{1b}') && !page.contains('\u{202e}'));
            for link in links.captures_iter(&page) {
                match link[1].strip_prefix('#') {
                    Some(target) => {
                        assert_eq!(page.matches(&format!("id=\"{target}\"")).count(), 1, "{target}")
                    }
                    None => assert!(
                        ["runs/run/report.html", "runs/own/report.html", "result.patch", "result.bundle"]
                            .contains(&&link[1]),
                        "{}",
                        &link[1]
                    ),
                }
            }
        }
    }

    #[test]
    fn the_page_has_each_turn_with_its_tasks_account_diff_and_refusals() {
        let page = rendered(None, "a debugger statement");
        for text in [
            "id=\"turn-3\"",
            "Turn 1 · builtin:fix",
            "DRIVE_CHECK_WEAKENED",
            "I removed a test",
            "<tr class=\"removed\"><td class=\"s\">−</td><td class=\"c\">    breakpoint()</td></tr>",
            "GIT binary patch",
            "Diff of the result",
            "Goal: the change passes its gate",
            "<dt>Planned</dt><dd>by review, 1 finding: a debugger statement Expected: It passes.</dd>",
            "<dt>Because</dt><dd>a debugger statement</dd>",
            "Next turn, planned by the rule and not by review: a debugger statement",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("zzzzz") && !page.contains("index 1..2"));
    }

    #[test]
    fn a_page_of_long_texts_stays_small() {
        let mut long = session(None, "x");
        let turn = long.turns[0].clone();
        long.turns = vec![turn; 1000];
        for turn in &mut long.turns {
            turn.stdout.text = "y\n".repeat(1000);
        }
        let patches = BTreeMap::from([(1, format!("@@ -0,0 +1 @@\n{}", "+z\n".repeat(100_000)))]);
        let page = page(&DrivePage {
            session: &long,
            patches: &patches,
            result: &format!("@@ -0,0 +1 @@\n{}", "+z\n".repeat(100_000)),
        });
        assert!(page.len() < 1_500_000, "{}", page.len());
        assert!(page.contains("and 800 turns more in drive-session.json"));
        assert!(page.contains("and 99,701 lines more in result.patch"));
    }
}
