//! The ledger of a pull request as one self-contained page: a table of its turns, and a time line with their findings.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::STYLE;
use super::sections::columns;
use crate::common::{capital, verdict_word};
use crate::ledger::{
    Totals, cost, count, deferred, deferred_names, folded, left_out, new, open, progress, subject, totals,
    word,
};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{Conclusion, LedgerEntry, LedgerTurn, LensFindings, ObserverLedger};
use qa_core::usage::usd;

/// Rules of this page, beside those of the report.
pub(super) const LEDGER_STYLE: &str = include_str!("ledger.css");
/// Maximum number of ids that the page lists in one state of a turn.
const MAX_IDS: usize = 50;

/// Returns the head of a page with a time line of turns.
pub(super) fn head(title: Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(super::policy_of(&[STYLE, LEDGER_STYLE], false));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            meta name="robots" content="noindex";
            title { (title) }
            style { (PreEscaped(STYLE)) }
            style { (PreEscaped(LEDGER_STYLE)) }
        }
    }
}

/// Renders the page.
pub fn page(ledger: &ObserverLedger) -> String {
    let last = ledger.entries.last().map(|entry| &entry.turn);
    let title = subject(ledger);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(html! { "Observer · qa-skill · " (title) }))
            body {
                a.skip href="#main" { "Skip to the turns" }
                @if let Some(turn) = last { (banner(ledger, turn)) }
                main.page id="main" {
                    (numbers(&totals(ledger), last))
                    (overview(ledger))
                    (time_line(ledger))
                }
            }
        }
    };
    markup.into_string() + "\n"
}

fn symbol(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "✔",
        Conclusion::Fail => "✖",
        Conclusion::CouldNotComplete => "◌",
    }
}

/// The class of a verdict's label.
fn tone(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "passed",
        Conclusion::Fail => "failed",
        Conclusion::CouldNotComplete => "degraded",
    }
}

fn banner(ledger: &ObserverLedger, turn: &LedgerTurn) -> Markup {
    html! {
        header.banner.(turn.conclusion.as_str()) {
            div.page {
                p.name { "qa-skill observer · " (subject(ledger)) }
                h1 {
                    span aria-hidden="true" { (symbol(turn.conclusion)) " " } (verdict_word(turn.conclusion))
                }
                p.reason { "Turn " (turn.number) ", " (turn.mode) ", of head " code { (turn.head_sha.short()) } "." }
                @if let Some(progress) = progress(turn) { p.extent { (capital(&progress)) "." } }
            }
        }
    }
}

fn numbers(totals: &Totals, last: Option<&LedgerTurn>) -> Markup {
    let entries = [
        ("turns", totals.turns.to_string()),
        ("findings opened", totals.opened.to_string()),
        ("findings resolved", totals.resolved.to_string()),
        ("open now", last.map(open).unwrap_or_default().to_string()),
        ("USD for models", usd(totals.cost_micro_usd).to_string()),
    ];
    html! { dl.numbers { @for (name, value) in entries { div { dt { (name) } dd { (value) } } } } }
}

fn overview(ledger: &ObserverLedger) -> Markup {
    html! {
        section aria-labelledby="turns" {
            h2 id="turns" { "Turns" }
            div.scroll {
                table.list.turns {
                    caption.hidden { "Turns of the pull request" }
                    thead { tr { (columns(&["Turn", "Verdict", "New", "Open", "Resolved"], &[2, 3, 4])) } }
                    tbody {
                        @for LedgerEntry { turn, .. } in &ledger.entries {
                            tr {
                                th scope="row" { a href={ "#turn-" (turn.number) } { (turn.number) } }
                                td { span.tag.(tone(turn.conclusion)) { (word(turn.conclusion)) } }
                                td.r { (new(turn)) }
                                td.r { (open(turn)) }
                                td.r { (turn.counts.resolved) }
                            }
                        }
                    }
                }
            }
            @if let Some(folded) = folded(ledger) { p.rest { (folded) "." } }
            p.rest { "Cost of models: " (cost(&totals(ledger))) "." }
            @for note in left_out(ledger) { p.rest { (capital(&note)) "." } }
        }
    }
}

fn time_line(ledger: &ObserverLedger) -> Markup {
    html! {
        section aria-labelledby="time-line" {
            h2 id="time-line" { "Time line" }
            ol.line {
                @for entry in &ledger.entries { (turn(entry)) }
            }
        }
    }
}

fn turn(entry: &LedgerEntry) -> Markup {
    let turn = &entry.turn;
    let counts = &turn.counts;
    html! {
        li.turn.(turn.conclusion.as_str()) id={ "turn-" (turn.number) } {
            h3 { "Turn " (turn.number) " · " (turn.mode) }
            p.tags {
                span.tag.(tone(turn.conclusion)) {
                    span aria-hidden="true" { (symbol(turn.conclusion)) " " } (word(turn.conclusion))
                }
                span { (new(turn)) " new" }
                span { (open(turn)) " open, " (counts.blocking) " blocking" }
                span { (counts.resolved) " resolved" }
            }
            @if let Some(progress) = progress(turn) {
                div.message { p { (capital(&progress)) "." } }
            }
            dl.facts {
                dt { "Head" } dd { code { (turn.head_sha.short()) } }
                @if deferred(turn) > 0 { dt { "Deferred" } dd { (deferred_names(turn)) } }
                @if let Some(cost) = turn.cost_micro_usd.filter(|cost| *cost > 0) {
                    dt { "Cost" } dd { (usd(cost)) " USD" }
                }
                @if turn.cost_micro_usd.is_none() { dt { "Cost" } dd { "unknown" } }
                @if counts.unfollowed > 0 { dt { "Not followed" } dd { (count(counts.unfollowed, "finding")) } }
            }
            (findings(entry))
            details {
                summary { "Proof of turn " (turn.number) }
                dl.facts {
                    dt { "Head" } dd { code { (turn.head_sha) } }
                    dt { "Base" } dd { code { (turn.base_sha) } }
                    @for merge_base in &turn.merge_bases { dt { "Merge base" } dd { code { (merge_base) } } }
                    dt { "Execution key" } dd { code { (turn.execution_key) } }
                    dt { "Run digest" } dd { code { (turn.run_digest) } }
                    dt { "Digest" } dd { code { (entry.digest) } }
                }
            }
        }
    }
}

/// Lists the findings of a turn by lens, with what became of them.
fn findings(entry: &LedgerEntry) -> Markup {
    let number = entry.turn.number;
    let Some(findings) = &entry.findings else {
        return html! { p.rest { "The findings of this turn are counted and not listed." } };
    };
    if findings.lenses.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { "Findings of turn " (number) }
            ul { @for lens in &findings.lenses { (lens_findings(lens)) } }
        }
    }
}

fn lens_findings(lens: &LensFindings) -> Markup {
    let states = [
        ("new", &lens.opened),
        ("came back", &lens.reopened),
        ("still open", &lens.open),
        ("not looked for", &lens.unseen),
        ("resolved", &lens.resolved),
    ];
    html! {
        li {
            code { (lens.lens_id) }
            ul { @for (state, ids) in states { @if !ids.is_empty() { li { (state) ": " (id_list(ids)) } } } }
        }
    }
}

fn id_list(ids: &[Sha256Hex]) -> Markup {
    html! {
        @for (index, id) in ids.iter().take(MAX_IDS).enumerate() { @if index > 0 { ", " } code { (id.short()) } }
        @if ids.len() > MAX_IDS { " and " (ids.len() - MAX_IDS) " more" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::{crowded, story};
    use crate::tests::elements;

    #[test]
    fn the_page_is_well_formed_and_loads_and_runs_nothing() {
        let active = regex::Regex::new("<[^>]* (?:src|style|on[a-z]+)=").unwrap();
        let links = regex::Regex::new("href=\"([^\"]*)\"").unwrap();
        for ledger in [story(), crowded()] {
            let page = page(&ledger);
            let names = elements(&page.replace(STYLE, "").replace(LEDGER_STYLE, ""));
            for banned in ["script", "link", "iframe", "object", "form", "base", "svg", "img"] {
                assert!(!names.contains(banned), "{banned}");
            }
            assert!(!active.is_match(&page));
            for link in links.captures_iter(&page) {
                let target = link[1].strip_prefix('#').expect("a link stays in the page");
                assert_eq!(page.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
            }
        }
        assert!(
            !LEDGER_STYLE.contains("url(")
                && !LEDGER_STYLE.contains("@import")
                && !LEDGER_STYLE.contains('<')
        );
    }

    #[test]
    fn the_page_has_each_turn_with_its_verdict_findings_and_deferred_plans() {
        let page = page(&story());
        for text in [
            "id=\"turn-3\"",
            "id=\"turn-12\"",
            "Turn 12 · cross-check",
            "2 turns before these: 0 passed, 2 failed",
            "gate:browser_tests, review-security",
            "0.0123 USD, unknown for 1 turn",
            "A person should look: 1 blocking finding still open after up to 4 turns",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("id=\"turn-2\""));
    }

    #[test]
    fn the_page_of_a_ledger_at_its_limit_stays_small() {
        let page = page(&crowded());
        assert!(page.len() < 400_000, "{}", page.len());
        assert!(page.contains("The findings of this turn are counted and not listed."));
    }
}
