//! The findings of the page: what blocks with its lines and its edit, each cause once, and the rest folded away.

use super::{MAX_LIST, Page, cell_code, prose, text};
use crate::causes::{Cause, by_rule, causes, place_line};
use crate::common::{
    Files, capital, counted, elsewhere, findings_here, is_on_base, is_warning, location, message_lines, note,
    standing,
};
use crate::contract::{Links, Report};
use crate::edit::{Reader, edit_lines, edit_title};
use crate::excerpt::{ExcerptLine, LineKind, Sides, excerpt, shown_text};
use crate::waive::{self, OPEN_TERMS, waiver_entry};
use crate::why::{special_reason, why};
use qa_contracts::v1::{Finding, Severity};
use qa_core::escape::{markdown_block, markdown_cell_code, markdown_code, visible_cut};

/// The most causes that are shown with their lines, and the most rows of advice.
const MAX_CAUSES: usize = 200;
/// The most places listed of one cause.
const MAX_PLACES: usize = 100;
/// The most places of a cause in a table.
const MAX_CELL_PLACES: usize = 10;
/// The most places of a cause in the table of what blocks.
const MAX_OVERVIEW_PLACES: usize = 3;
/// The most waivers that are shown to be copied.
const MAX_ENTRIES: usize = 10;
/// Unchanged lines on each side of a finding.
const CONTEXT: usize = 2;

/// Writes the findings in and around the changed files.
pub(super) fn sections(page: &mut Page, report: &Report<'_>) {
    let (all, before) = findings_here(report);
    if let Some(text) = elsewhere(before) {
        page.push(&format!("\n{text}"));
    }
    let files = Files::new(report);
    let (blocking, advice) = all.split_at(all.partition_point(|finding| finding.blocking));
    if !blocking.is_empty() {
        page.section("What blocks");
        blocking_causes(page, report, &files, &causes(blocking));
        waivers(page, blocking);
    }
    if !advice.is_empty() {
        let title = counted(advice.len(), "finding");
        let verb = if advice.len() == 1 { "does" } else { "do" };
        // Grave advice is not folded away: under a lax preset it is what a reviewer has to see.
        let is_grave = advice.iter().any(|finding| finding.severity <= Severity::High && is_warning(finding));
        let open = if is_grave { " open" } else { "" };
        page.push(&format!("\n<details{open}><summary>{title} that {verb} not block</summary>\n"));
        page.push("| Where | Finding |\n|---|---|");
        page.list(&causes(advice), MAX_CAUSES, "group", |cause| row(report, &files, cause));
        page.push("\n</details>");
    }
    if all.len() > MAX_CAUSES {
        page.push("\n| Rule | Blocking | Not blocking |\n|---|---:|---:|");
        let rules: Vec<_> = by_rule(&all).into_iter().collect();
        page.list(&rules, MAX_LIST, "rule", |(rule, (blocking, other))| {
            format!("| {} | {blocking} | {other} |", cell_code(rule, 120))
        });
    }
}

/// Writes a table of what blocks, the first of it with its lines, and the others folded.
fn blocking_causes(page: &mut Page, report: &Report<'_>, files: &Files<'_>, causes: &[Cause<'_>]) {
    let [first, others @ ..] = causes else { return };
    if !others.is_empty() {
        page.push("| Severity | What blocks | Where |\n|---|---|---|");
        page.list(causes, MAX_CAUSES, "group", |cause| overview_row(report, files, cause));
        page.push("");
    }
    page.push(&blocking_cause(report, files, first));
    if !others.is_empty() {
        let number = others.len();
        page.push(&format!("<details><summary>The other {number}, with lines, fixes and edits</summary>\n"));
        page.list(others, MAX_CAUSES, "group", |cause| blocking_cause(report, files, cause));
        page.push("</details>");
    }
}

/// Returns a row of the table of what blocks.
fn overview_row(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>) -> String {
    let finding = cause.first();
    let edit = if finding.edit.is_some() { " (has an edit)" } else { "" };
    format!(
        "| {} | {}{edit} | {} |",
        finding.severity,
        capital(&prose(&finding.summary, 300)),
        places(report, files, cause, MAX_OVERVIEW_PLACES).join("<br>")
    )
}

fn blocking_cause(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>) -> String {
    let finding = cause.first();
    let mut block = format!(
        "#### {}\n\n{} · {} · {}{}\n\n",
        capital(&prose(&finding.summary, 300)),
        linked(report, files, finding, &markdown_code(&visible_cut(&location(finding), 300))),
        rule(report, finding),
        finding.severity,
        match cause.others().len() {
            0 => String::new(),
            others => format!(" · {}", counted(others + 1, "place")),
        }
    );
    let shown = excerpt(report, files, finding, CONTEXT, Sides::Both);
    let lines = diff_lines(&shown);
    if !lines.is_empty() {
        block += &format!("{}\n", markdown_block("diff", &lines.join("\n")));
    }
    for line in details(finding, &shown_text(&shown)) {
        block += &format!("{line}\\\n");
    }
    block += &format!("**Fix:** {}\n", prose(&finding.fix, 300));
    if let Some(title) = edit_title(report, finding, Reader::Anybody) {
        block += &format!("\n**Edit:** {}\n\n", prose(&title, 400));
        let lines = edit_lines(report, finding);
        if !lines.is_empty() {
            block += &markdown_block("diff", &lines.join("\n"));
        }
    }
    block + &other_places(report, files, cause)
}

/// Returns the lines around a finding as those of a diff, with their numbers; harmless. A number before each line keeps
/// one from being read as a workflow command where the page is printed to a log.
fn diff_lines(lines: &[ExcerptLine]) -> Vec<String> {
    let last = lines.iter().flat_map(|line| [line.old, line.new]).flatten().max().unwrap_or_default();
    let width = last.to_string().len();
    let mut shown = Vec::new();
    for line in lines {
        let (sign, number) = match line.kind {
            LineKind::Context => (' ', line.new),
            LineKind::Removed => ('-', line.old),
            LineKind::Added => ('+', line.new),
        };
        let number = number.unwrap_or_default();
        shown.push(format!("{sign} {number:>width$} | {}{}{}", line.before, line.marked, line.after));
        if !line.marked.is_empty() {
            let indent = " ".repeat(width + line.before.chars().count());
            // In a diff a line of this sign has a colour of its own.
            shown.push(format!("!   {indent} {}", "^".repeat(line.marked.chars().count())));
        }
    }
    shown
}

/// Returns what the evidence says beside the place, a line each.
fn details(finding: &Finding, shown: &str) -> Vec<String> {
    let said = message_lines(finding).into_iter().map(|line| text(&line, 300));
    let removed = is_on_base(finding)
        .then(|| "The change removes this text; the line number is that of the base.".to_owned());
    let note = note(finding, shown).map(|note| capital(&text(&note, 300)));
    let reason = special_reason(finding).filter(|_| finding.blocking);
    let reason = reason.map(|reason| format!("{}.", capital(&text(&reason, 300))));
    said.chain(note).chain(reason).chain(removed).collect()
}

fn other_places(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>) -> String {
    let others = cause.others();
    if others.is_empty() {
        return String::new();
    }
    let title = counted(others.len(), "more place");
    let mut list = format!("\n<details><summary>The same in {title}</summary>\n\n");
    for finding in others.iter().take(MAX_PLACES) {
        let place = place_line(report, files, finding, 120);
        let at = linked(report, files, finding, &markdown_code(&place.location));
        list += &format!("- {at} {}\n", markdown_code(&place.line));
    }
    if others.len() > MAX_PLACES {
        list += &format!(
            "- {}; `lens-results.json` lists all\n",
            counted(others.len() - MAX_PLACES, "more place")
        );
    }
    list + "\n</details>\n"
}

/// Writes the entries that waive what blocks, folded.
fn waivers(page: &mut Page, blocking: &[&Finding]) {
    let entries = waive::entries(blocking);
    let is_critical = blocking.iter().any(|finding| finding.severity == Severity::Critical);
    page.push("\n<details><summary>Waive a finding</summary>\n");
    if !entries.is_empty() {
        page.push(&format!("{}\n", text(waive::ADVICE, 400)));
    }
    let shown = entries.iter().take(MAX_ENTRIES).map(|finding| {
        // The place stands in the entry, as a comment, so that each can be told from the others once it is copied.
        format!("# {}\n{}", visible_cut(&location(finding), 300), waiver_entry(finding, &OPEN_TERMS))
    });
    let shown: Vec<String> = shown.collect();
    if !shown.is_empty() {
        page.push(&markdown_block("toml", &shown.join("\n")));
    }
    if entries.len() > MAX_ENTRIES {
        let rest = counted(entries.len() - MAX_ENTRIES, "more waiver");
        page.push(&format!("{rest}: `qa-skill explain FINDING` has each.\n"));
    }
    if is_critical {
        page.push("No entry is shown for a critical finding: `qa-skill explain FINDING` has it.\n");
    }
    page.push("</details>");
}

/// Returns a row of the table of advice.
fn row(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>) -> String {
    let finding = cause.first();
    let details: String = details(finding, "").iter().map(|line| format!("<br>{line}")).collect();
    format!(
        "| {} | {}{details}<br>{} · {} · {}<br>*Fix:* {} |",
        places(report, files, cause, MAX_CELL_PLACES).join("<br>"),
        capital(&prose(&finding.summary, 300)),
        rule(report, finding),
        finding.severity,
        text(why(finding).strip_prefix("does not block: ").unwrap_or(standing(finding)), 300),
        prose(&finding.fix, 300)
    )
}

/// Returns the places of a cause, linked, with the number of those that are left out.
fn places(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>, most: usize) -> Vec<String> {
    let shown = cause.places().take(most);
    let mut places: Vec<String> =
        shown.map(|place| linked(report, files, place, &cell_code(&location(place), 300))).collect();
    let all = cause.places().count();
    if all > places.len() {
        places.push(format!("and {}", counted(all - places.len(), "more place")));
    }
    places
}

/// Returns a rule's id, linked to its page where the page is known.
fn rule(report: &Report<'_>, finding: &Finding) -> String {
    let id = markdown_cell_code(&visible_cut(&finding.rule_id, 120));
    match report.links.as_ref().and_then(|links| links.rule(&finding.rule_id)) {
        Some(address) => format!("[{id}]({address})"),
        None => id,
    }
}

/// Returns a label, linked to a finding's lines at head where the forge is known.
fn linked(report: &Report<'_>, files: &Files<'_>, finding: &Finding, label: &str) -> String {
    let links: Option<&Links> = report.links.as_ref().filter(|_| !is_on_base(finding));
    match links {
        Some(links) => {
            let anchor = files.anchor(finding);
            format!("[{label}]({})", links.lines(anchor.path, anchor.start_line, anchor.end_line))
        }
        None => label.to_owned(),
    }
}
