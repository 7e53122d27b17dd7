//! The findings of the page: each in the lines around it, those that say the same in one card.

use maud::{Markup, html};

use super::filter::Filter;
use super::sections::{columns, left_out, with_code};
use crate::causes::{Cause, PlaceLine, by_rule, causes, listed, place_line};
use crate::common::{
    Files, capital, counted, evidence_text, is_on_base, location, message_lines, note, standing,
};
use crate::contract::Report;
use crate::edit::{Reader, edit_lines, edit_title};
use crate::excerpt::{ExcerptLine, LineKind, Sides, excerpt, shown_text};
use crate::waive::{self, OPEN_TERMS, waiver_entry};
use crate::why::special_reason;
use qa_contracts::v1::{Finding, Scope};
use qa_core::escape::{visible, visible_cut};

/// The most findings shown with their lines.
pub(super) const MAX_SHOWN: usize = 1000;
/// The most findings shown as a line of a table after those.
const MAX_ROWS: usize = 2000;
/// The most findings with all of their lines and their evidence, so that a page of many opens at once: a browser lays out
/// some 160 elements for each.
const MAX_CARDS_WITH_EVIDENCE: usize = 200;
/// The most further places of a cause that are shown whole.
const MAX_PLACES_WITH_EVIDENCE: usize = 5;
/// Unchanged lines on each side of a finding.
const CONTEXT: usize = 4;

/// Renders the findings: the first as cards with excerpts, the rest as a table.
pub(super) fn section(report: &Report<'_>, all: &[&Finding], filter: &Filter<'_>) -> Markup {
    let files = Files::new(report);
    let (shown, rest) = all.split_at(all.len().min(MAX_SHOWN));
    html! {
        section aria-labelledby="findings" {
            h2 id="findings" { "Findings" small { (listed(all)) } }
            @if all.is_empty() { p.muted { "No findings." } }
            (filter.controls())
            @for (index, cause) in causes(shown).iter().enumerate() {
                (card(report, &files, cause, index, filter))
            }
            @if !rest.is_empty() { (table_of_rest(all, rest)) }
        }
    }
}

fn card(
    report: &Report<'_>,
    files: &Files<'_>,
    cause: &Cause<'_>,
    index: usize,
    filter: &Filter<'_>,
) -> Markup {
    let finding = cause.first();
    let standing = standing(finding);
    let others = cause.others();
    html! {
        article class={ "card " (standing) " " (filter.classes(cause.places())) }
            aria-labelledby={ "finding-" (index) }
        {
            header {
                p.tags {
                    span.tag.(standing) { (standing) }
                    span.tag { (finding.severity) }
                    code { (visible(&finding.rule_id)) }
                    @if finding.scope != Scope::Product { span.muted { (finding.scope) " file" } }
                    @if !others.is_empty() { span.muted { (counted(others.len() + 1, "place")) } }
                }
                h3 id={ "finding-" (index) } { (with_code(&capital(&visible_cut(&finding.summary, 400)))) }
            }
            @let is_whole = index < MAX_CARDS_WITH_EVIDENCE;
            @let context = if is_whole { CONTEXT } else { 0 };
            @let lines = excerpt(report, files, finding, context, Sides::Both);
            (place(finding, &lines, filter))
            (message(report, finding, &shown_text(&lines)))
            @if is_whole { (facts(finding)) } @else { (elsewhere()) }
            @if !others.is_empty() {
                details.more {
                    summary { "The same in " (counted(others.len(), "more place")) }
                    @let (whole, brief) = others.split_at(others.len().min(if is_whole { MAX_PLACES_WITH_EVIDENCE } else { 0 }));
                    @for other in whole {
                        (place(other, &excerpt(report, files, other, CONTEXT, Sides::Both), filter))
                        (facts(other))
                    }
                    @if !brief.is_empty() { (elsewhere()) }
                    @for other in brief { (brief_place(report, files, other, filter)) }
                }
            }
        }
    }
}

/// Renders the lines around a finding.
fn place(finding: &Finding, lines: &[ExcerptLine], filter: &Filter<'_>) -> Markup {
    html! {
        div class={ "place " (filter.classes(std::iter::once(finding))) } {
            p.where { code { (visible(&location(finding))) } }
            @if !lines.is_empty() { (diff(finding, lines)) }
        }
    }
}

/// Says where the evidence and the waivers are that do not stand here.
fn elsewhere() -> Markup {
    html! {
        p.where { "Evidence and waiver of each: " code { "qa-skill explain ID" } ", or " code { "lens-results.json" } " of the run." }
    }
}

/// Renders a finding's place with its first line and its id alone.
fn brief_place(report: &Report<'_>, files: &Files<'_>, finding: &Finding, filter: &Filter<'_>) -> Markup {
    let PlaceLine { location, line } = place_line(report, files, finding, 200);
    html! {
        p class={ "place where " (filter.classes(std::iter::once(finding))) } { code { (location) "  " (line) } " " span.muted { (finding.finding_id.short()) } }
    }
}

fn diff(finding: &Finding, lines: &[ExcerptLine]) -> Markup {
    html! {
        table.diff {
            caption.hidden { "Lines around " (visible(&location(finding))) }
            colgroup { col.number; col.number; col.sign; col; }
            thead.hidden { tr { (columns(&["Base", "Head", "Change", "Text"], &[])) } }
            tbody {
                @for line in lines { (row(line)) }
            }
        }
    }
}

fn row(line: &ExcerptLine) -> Markup {
    let (class, sign) = match line.kind {
        LineKind::Context => ("context", " "),
        LineKind::Removed => ("removed", "−"),
        LineKind::Added => ("added", "+"),
    };
    let flagged = line.flagged.then_some("flagged");
    html! {
        tr.(class).(flagged.unwrap_or("plain")) {
            td.n { @if let Some(number) = line.old { (number) } }
            td.n { @if let Some(number) = line.new { (number) } }
            td.s { (sign) }
            td.c { (line.before) @if !line.marked.is_empty() { mark { (line.marked) } } (line.after) }
        }
    }
}

fn message(report: &Report<'_>, finding: &Finding, shown: &str) -> Markup {
    html! {
        div.message {
            @let said = message_lines(finding);
            @if !said.is_empty() { pre.said { (said.join("\n")) } }
            @if let Some(note) = note(finding, shown) { p { (with_code(&capital(&visible_cut(&note, 600)))) "." } }
            @if let Some(reason) = special_reason(finding) {
                p { (with_code(&capital(&visible_cut(&reason, 600)))) "." }
            }
            @if is_on_base(finding) { p.muted { "The change removes this text; the line number is that of the base." } }
            p { strong { "Fix: " } (with_code(&visible_cut(&finding.fix, 600))) }
            @if let Some(title) = edit_title(report, finding, Reader::Anybody) {
                p { strong { "Edit: " } (with_code(&title)) }
                @let lines = edit_lines(report, finding);
                @if !lines.is_empty() {
                    pre.said { @for line in &lines { span.(edit_class(line)) { (line) } "\n" } }
                }
            }
            @for code in &finding.codes { p { code { (code) } " " (with_code(code.hint())) } }
        }
    }
}

/// Returns the class of a line of an edit, which begins with its sign.
fn edit_class(line: &str) -> &'static str {
    match line.chars().next() {
        Some('-') => "removed",
        Some('+') => "added",
        _ => "context",
    }
}

fn facts(finding: &Finding) -> Markup {
    let quote = visible_cut(evidence_text(finding, "quote"), 400);
    html! {
        details {
            summary { "Evidence and waiver" }
            dl.facts {
                @if !quote.is_empty() { dt { "Quote" } dd { code { (quote) } } }
                dt { "Finding" } dd { code { (finding.finding_id) } }
                dt { "Evidence hash" } dd { code { (finding.evidence_hash) } }
                dt { "Origin" } dd { (finding.origin.as_str().replace('_', "-")) }
                dt { "Strength" } dd { (finding.strength) }
                @if let Some(ratchet) = &finding.ratchet {
                    dt { "Ratchet" }
                    dd {
                        (ratchet.complying) " of " (ratchet.support) " places at the base comply; holds from "
                        (ratchet.theta_permille) " ‰ and " (ratchet.min_support) " places"
                    }
                }
                @if let Some(waiver) = &finding.waiver {
                    dt { "Waiver" }
                    dd {
                        (visible_cut(&waiver.owner, 100)) ", until " (visible(&waiver.expires)) ": "
                        (visible_cut(&waiver.reason, 400))
                    }
                }
                dt { "Explain" } dd { code { "qa-skill explain " (visible(&finding.rule_id)) } }
            }
            @if !waive::entries(&[finding]).is_empty() {
                p { (with_code(waive::ADVICE)) }
                pre.said { (waiver_entry(finding, &OPEN_TERMS)) }
            }
        }
    }
}

fn table_of_rest(all: &[&Finding], rest: &[&Finding]) -> Markup {
    html! {
        h3 { "All findings by rule" }
        div.scroll tabindex="0" role="region" aria-label="Findings by rule" {
            table.list {
                thead { tr { (columns(&["Rule", "Blocking", "Not blocking"], &[1, 2])) } }
                tbody {
                    @for (rule, (blocking, other)) in by_rule(all) {
                        tr { th scope="row" { code { (visible(rule)) } } td.r { (blocking) } td.r { (other) } }
                    }
                }
            }
        }
        details {
            summary { (counted(rest.len().min(MAX_ROWS), "further finding")) " in short" }
            div.scroll tabindex="0" role="region" aria-label="Further findings" {
                table.list {
                    thead { tr { (columns(&["Where", "Rule", "Severity", "Standing"], &[])) } }
                    tbody {
                        @for finding in rest.iter().take(MAX_ROWS) {
                            tr {
                                th scope="row" { code { (visible_cut(&location(finding), 300)) } }
                                td { code { (visible(&finding.rule_id)) } }
                                td { (finding.severity) }
                                td { (standing(finding)) }
                            }
                        }
                    }
                }
            }
        }
        (left_out(MAX_ROWS, rest.len(), "finding", "lens-results.json"))
    }
}
