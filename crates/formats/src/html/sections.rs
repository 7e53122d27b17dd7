//! The sections of the page below the findings: numbers, gaps, coverage, lenses, policy, cross-check, proof.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::common::{
    codes as all_codes, counted, gate_word, head_commit, model_reviews, plan_name, plan_totals,
    quality_gates, uncommitted, verdict_word,
};
use crate::contract::Report;
use crate::gaps::{Gaps, is_idle};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    CoverageCell, CoverageRow, CoverageStatus, Direction, Finding, ItemOutcome, LensPlan, LensResult,
    SensitivityReason,
};
use qa_core::escape::{visible, visible_cut};
use qa_core::findings::all_places;
use qa_core::verdict::merge_bases;

/// The most rows of any table here.
const MAX_ROWS: usize = 300;
/// The most files in the table of sensitivity.
const MAX_SENSITIVE: usize = 15;

/// A list's end: how many entries do not stand here, and where they stand.
pub(super) fn left_out(shown: usize, total: usize, noun: &str, file: &str) -> Markup {
    html! {
        @if total > shown {
            p.rest { (counted(total - shown, noun)) " left out here; " code { (file) } " of the run lists all." }
        }
    }
}

/// A text with its parts between backticks as code; a backtick without another one stays.
pub(super) fn with_code(text: &str) -> Markup {
    let mut parts: Vec<&str> = text.split('`').collect();
    let rest = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index.is_multiple_of(2) { (part) } @else { code { (part) } }
        }
        @if let Some(rest) = rest { "`" (rest) }
    }
}

/// A table that may be wider than the page.
fn table(label: &str, class: &str, head: Markup, body: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.list.(class) { caption.hidden { (label) } thead { tr { (head) } } tbody { (body) } }
        }
    }
}

/// Column heads; those of numbers, by position, stand to the right as the numbers do.
pub(super) fn columns(names: &[&str], numbers: &[usize]) -> Markup {
    html! { @for (index, name) in names.iter().enumerate() { th.r[numbers.contains(&index)] scope="col" { (name) } } }
}

pub(super) fn numbers(report: &Report<'_>, all: &[&Finding]) -> Markup {
    let blocking = all_places(all.iter().copied().filter(|finding| finding.blocking));
    let entries = [
        ("blocking", blocking.to_string()),
        ("not blocking", (all_places(all.iter().copied()) - blocking).to_string()),
        ("incomplete checks", report.coverage.incomplete_cells.to_string()),
        ("change sensitivity, of 100", report.sensitivity.score.to_string()),
    ];
    html! { dl.numbers { @for (name, value) in entries { div { dt { (name) } dd { (value) } } } } }
}

/// A section that is closed unless `is_open`. A link to it opens it, since its target is inside.
fn folded(id: &str, is_open: bool, heading: Markup, content: Markup) -> Markup {
    let heading_id = format!("{id}-heading");
    html! {
        section aria-labelledby=(heading_id) {
            details.section open[is_open] {
                summary { h2 id=(heading_id) { (heading) } }
                div.target id=(id) { (content) }
            }
        }
    }
}

pub(super) fn not_looked_at(gaps: &Gaps<'_>) -> Markup {
    if gaps.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="gaps" {
            h2 id="gaps" { "Not looked at" }
            ul.plain {
                @for lens in &gaps.missing {
                    li { span.tag.failed { "missing" } " required lens " code { (visible(lens)) } " has no result" }
                }
                @for gap in gaps.plans.iter().take(MAX_ROWS) {
                    li {
                        span.tag.(gap.status) { (gap.status) } " " @if gap.required { "required " }
                        (if gap.plans.len() == 1 { "lens " } else { "lenses " })
                        @for plan in &gap.plans { code { (visible(plan)) } " " }
                        @for code in &gap.codes { code { (code) } " " }
                    }
                }
            }
            @if !gaps.files.is_empty() {
                (table("Files not inspected", "gaps", columns(&["File", "Lenses", "Inspected", "Why"], &[]), html! {
                    @for gap in gaps.files.iter().take(MAX_ROWS) {
                        tr {
                            th scope="row" { code { (visible(&gap.file.to_string())) } }
                            td { (visible_cut(&gap.plans.join(", "), 400)) }
                            td { (gap.looked_at) }
                            td { (gap.reasons.join("; ")) " " @if let Some(code) = gap.code { code { (code) } } }
                        }
                    }
                }))
                (left_out(MAX_ROWS, gaps.files.len(), "file", "coverage.json"))
            }
        }
    }
}

pub(super) fn reviews(report: &Report<'_>) -> Markup {
    let reviews = model_reviews(report);
    if reviews.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="reviews" {
            h2 id="reviews" { "Reviews by a model" }
            (table("Reviews by a model", "gates", columns(&["Review", "Result", "Needed for PASS", "Answer"], &[]), html! {
                @for review in reviews.iter().take(MAX_ROWS) {
                    tr {
                        th scope="row" { code { (visible(&review.plan)) } }
                        td { span.tag.(review.status.as_str()) { (review.status) } }
                        td { @if review.required { "yes" } @else { "no" } }
                        td { @for note in review.notes.iter().take(MAX_ROWS) { div { (visible_cut(note, 400)) } } }
                    }
                }
            }))
            (left_out(MAX_ROWS, reviews.len(), "review", "lens-results.json"))
        }
    }
}

pub(super) fn gates(report: &Report<'_>) -> Markup {
    let gates = quality_gates(report);
    if gates.is_empty() {
        return html! {};
    }
    let passed = gates.iter().filter(|gate| gate.passed).count();
    html! {
        section aria-labelledby="gates" {
            h2 id="gates" { "Quality gates" small { (passed) " of " (gates.len()) " passed" } }
            (table("Quality gates", "gates", columns(&["Gate", "Result", "Needed for PASS", "Report"], &[]), html! {
                @for gate in &gates {
                    @let tag = if gate.passed { "completed" } else { "failed" };
                    tr {
                        th scope="row" { code { (gate.gate_name) } }
                        td { span.tag.(tag) { (gate_word(gate)) } }
                        td { @if gate.required { "yes" } @else { "no" } }
                        td { @for note in gate.notes.iter().take(MAX_ROWS) { div { (visible_cut(note, 400)) } } }
                    }
                }
            }))
        }
    }
}

pub(super) fn codes(report: &Report<'_>) -> Markup {
    let codes = all_codes(report);
    if codes.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="codes" {
            h2 id="codes" { "Codes" }
            ul.plain {
                @for (kind, code) in codes {
                    @let class = match kind { "error" => "failed", "warning" => "degraded", _ => "note" };
                    li { span.tag.(class) { (kind) } " " code { (code) } br; (with_code(code.hint())) }
                }
            }
        }
    }
}

pub(super) fn preview(report: &Report<'_>) -> Markup {
    let Some(preview) = &report.result.final_verdict.policy_preview else { return html! {} };
    html! {
        section aria-labelledby="preview" {
            h2 id="preview" { "Policy preview" small { "not binding" } }
            p { "The change edits the policy. It was judged by the policy of the base." }
            @match preview.conclusion {
                Some(conclusion) => p {
                    "Under the new policy: " strong { (verdict_word(conclusion)) } ", "
                    (counted(preview.blocking_findings as usize, "finding")) " would block."
                },
                None => p {
                    "The new policy cannot be read: "
                    (visible_cut(preview.error.as_deref().unwrap_or("unknown reason"), 400))
                },
            }
            @if !preview.weakened.is_empty() {
                (table("Weaker settings", "weaker", columns(&["Weaker setting", "Base", "Head"], &[]), html! {
                    @for setting in preview.weakened.iter().take(MAX_ROWS) {
                        tr {
                            th scope="row" { code { (visible_cut(&setting.name, 200)) } }
                            td { code { (visible_cut(&setting.base, 200)) } }
                            td { code { (visible_cut(&setting.head, 200)) } }
                        }
                    }
                }))
                (left_out(MAX_ROWS, preview.weakened.len(), "setting", "final-verdict.json"))
            }
        }
    }
}

fn is_complete(row: &CoverageRow) -> bool {
    row.cells.iter().all(|cell| cell.status == CoverageStatus::Full)
}

pub(super) fn coverage(report: &Report<'_>, all: &[&Finding]) -> Markup {
    let results = report.result.lens_results.iter().filter(|result| is_idle(result));
    let idle_ordinals: BTreeSet<u64> = results.map(|result| result.plan_ordinal).collect();
    let (idle, plans): (Vec<&LensPlan>, Vec<&LensPlan>) =
        report.result.lens_plans.iter().partition(|plan| idle_ordinals.contains(&plan.plan_ordinal));
    let with_findings: BTreeSet<&RepoPath> = all.iter().map(|finding| &finding.file).collect();
    let mut rows: Vec<&CoverageRow> = report.coverage.rows.iter().collect();
    if rows.len() > MAX_ROWS {
        // Too many to show: what is incomplete first, then what has findings.
        rows.retain(|row| !is_complete(row) || with_findings.contains(&row.file));
        rows.sort_by_key(|row| is_complete(row));
    }
    let shown = rows.len().min(MAX_ROWS);
    let content = html! {
        p.muted { "● looked at whole · ◐ in part · ○ not at all · a dash: the lens has no business with the file" }
        (table("Coverage by file and lens", "matrix", html! {
            th scope="col" { "File" } th scope="col" { "Hunks" }
            @for plan in &plans { th scope="col" { (visible(&plan_name(plan))) } }
        }, html! {
            @for row in rows.iter().take(MAX_ROWS) {
                @let cells: BTreeMap<_, _> = row.cells.iter().map(|cell| (cell.plan_ordinal, cell)).collect();
                tr {
                    th scope="row" { code { (visible(&row.file.to_string())) } }
                    td { (row.hunks) }
                    @for plan in &plans { (cell(cells.get(&plan.plan_ordinal).copied(), row.hunks)) }
                }
            }
        }))
        (left_out(shown, report.coverage.rows.len(), "file", "coverage.json"))
        @if !idle.is_empty() {
            p.muted {
                "Lenses with nothing to look at: "
                @for (index, plan) in idle.iter().enumerate() {
                    @if index > 0 { ", " } code { (visible(&plan_name(plan))) }
                }
                "."
            }
        }
    };
    folded(
        "coverage",
        report.coverage.incomplete_cells > 0,
        html! { "Coverage" small { (counted(report.coverage.rows.len(), "file")) } },
        content,
    )
}

fn cell(cell: Option<&CoverageCell>, hunks: u64) -> Markup {
    let Some(cell) = cell else { return html! { td.none { "–" span.hidden { " not concerned" } } } };
    let code = cell.code.map(|code| code.as_str());
    match cell.status {
        CoverageStatus::Full => html! { td.full { span aria-hidden="true" { "●" } span.hidden { "whole" } } },
        CoverageStatus::Partial => {
            html! { td.partial title=[code] { "◐ " (cell.inspected_hunks) " of " (hunks) } }
        }
        CoverageStatus::Omitted => html! { td.omitted title=[code] { "○ nothing" } },
    }
}

pub(super) fn plans(report: &Report<'_>) -> Markup {
    let totals = plan_totals(report);
    let results: BTreeMap<u64, &LensResult> =
        report.result.lens_results.iter().map(|result| (result.plan_ordinal, result)).collect();
    let plans = &report.result.lens_plans;
    let names = ["Lens", "Class", "Status", "Findings", "Hunks", "Needed for PASS", "Asks", "May"];
    let content = html! {
        (table("Lenses", "plans", columns(&names, &[3, 4]), html! {
            @for plan in plans.iter().take(MAX_ROWS) {
                @let result = results.get(&plan.plan_ordinal);
                @let status = result.map_or("no result", |result| result.status.as_str());
                tr {
                    th scope="row" {
                        code { (visible(&plan_name(plan))) } " " span.muted { (visible(&plan.lens_version)) }
                    }
                    td { (plan.lens_class) }
                    td { span.tag.(if result.is_some() { status } else { "failed" }) { (status) } }
                    td.r { (result.map_or(0, |result| all_places(&result.findings))) }
                    td.r { (totals.get(&plan.plan_ordinal).copied().unwrap_or_default().inspected_hunks) }
                    td { @if plan.required { "yes" } @else { "no" } }
                    td { code { (visible(&plan.provider_binding_id)) } }
                    td { (plan.permission_profile_id.as_str().replace('_', " ")) }
                }
            }
        }))
        (left_out(MAX_ROWS, plans.len(), "planned run", "lens-plan.json"))
    };
    folded("plans", false, html! { "Lenses" small { (counted(plans.len(), "planned run")) } }, content)
}

pub(super) fn sensitivity(report: &Report<'_>) -> Markup {
    let sensitivity = report.sensitivity;
    let mut files: Vec<_> = sensitivity.files.iter().collect();
    files.sort_by_key(|file| (std::cmp::Reverse(file.score), &file.file));
    let content = html! {
        p.muted {
            "How much attention the change needs; it does not affect the verdict. "
            (counted(sensitivity.changed_lines as usize, "changed line")) ", a "
            (word(&sensitivity.bucket)) " change."
        }
        (table("Sensitivity by file", "sensitive", columns(&["File", "Score", "Why"], &[1]), html! {
            @for file in files.iter().take(MAX_SENSITIVE) {
                tr {
                    th scope="row" { code { (visible(&file.file.to_string())) } }
                    td.r { (file.score) }
                    td { (reasons(&file.reasons)) }
                }
            }
        }))
        (left_out(MAX_SENSITIVE, files.len(), "file", "change-sensitivity.json"))
    };
    folded(
        "sensitivity",
        false,
        html! { "Sensitivity" small { (sensitivity.score) " of 100, " (word(&sensitivity.tier)) } },
        content,
    )
}

fn reasons(reasons: &[SensitivityReason]) -> String {
    let words =
        reasons.iter().map(|one| format!("{} {:+}", visible(&one.reason.replace('-', " ")), one.points));
    words.collect::<Vec<_>>().join(", ")
}

/// A word of the contract that has no text of its own, as it stands in artifacts.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

pub(super) fn cross_check(report: &Report<'_>) -> Markup {
    let check = report.cross_check;
    let content = html! {
        p.muted { "An independent check of the result." }
        (table("Cross-check", "items", columns(&["Item", "Outcome", "Guards against", "Compared"], &[]), html! {
            @for item in check.items.iter().take(MAX_ROWS) {
                @let (class, outcome) = match item.outcome {
                    ItemOutcome::Passed => ("passed", "holds"),
                    ItemOutcome::Failed => ("failed", "fails"),
                    ItemOutcome::NotApplicable => ("idle", "no concern"),
                };
                tr {
                    th scope="row" { (visible(&item.item.replace('-', " "))) }
                    td { span.tag.(class) { (outcome) } }
                    td {
                        @match item.direction {
                            Direction::FalseFail => "a wrong FAIL",
                            Direction::FalsePass => "a wrong PASS",
                        }
                    }
                    td { (visible_cut(&item.detail, 400)) }
                }
            }
        }))
        (left_out(MAX_ROWS, check.items.len(), "item", "cross-check.json"))
    };
    folded(
        "cross-check",
        !check.passed,
        html! { "Cross-check" small { @if check.passed { "agrees" } @else { "contradicts" } } },
        content,
    )
}

pub(super) fn proof(report: &Report<'_>) -> Markup {
    let (input, result) = (report.input, report.result);
    let rows = [
        ("Execution key", result.execution_key.as_str()),
        ("Repository", &input.repo_id),
        ("Base commit", input.base_sha.as_str()),
        ("Merge base", &merge_bases(&input.merge_base_sha, &input.other_merge_bases)),
        ("Head commit", head_commit(report)),
        ("Mode", input.run_mode.as_str()),
        ("Preset", input.preset.as_str()),
        ("Configuration", input.config_hash.as_str()),
        ("Normalised input", result.normalized_input_hash.as_str()),
    ];
    html! {
        section aria-labelledby="proof" {
            h2 id="proof" { "Proof" }
            @if uncommitted(report).is_some() {
                p { "No commit was judged, so nothing is stored and nothing is proved about a commit." }
            } @else {
                p { "The execution key is the SHA-256 over repository, commits, mode, configuration, lenses and adapters. "
                    "With the run's directory this verdict can be derived again offline, byte for byte:" }
                p { code { "qa-skill verify DIR" } }
            }
            dl.facts {
                @for (name, value) in rows { dt { (name) } dd { code { (visible(value)) } } }
                dt { "Lenses" }
                dd {
                    @for plan in result.lens_plans.iter().take(MAX_ROWS) {
                        code { (visible(&plan_name(plan))) "@" (visible(&plan.lens_version)) } " "
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use qa_contracts::codes::Code;
    use qa_contracts::v1::LensStatus;

    #[test]
    fn text_between_backticks_is_code_and_a_single_backtick_stays() {
        let cases = [
            ("run `make test` again", "run <code>make test</code> again"),
            ("`a` and `<b>`", "<code>a</code> and <code>&lt;b&gt;</code>"),
            ("a ` b", "a ` b"),
            ("`a` ` b", "<code>a</code> ` b"),
            ("plain", "plain"),
        ];
        for (text, expected) in cases {
            // No text at all is nothing to show.
            let shown = with_code(text).into_string().replace("<code></code>", "");
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn lenses_with_nothing_to_look_at_have_no_column() {
        let mut sample = sample::pass();
        let ordinal = sample.result.lens_results[1].plan_ordinal;
        let columns = |sample: &sample::Sample| {
            coverage(&sample.report(false), &[]).into_string().matches("<th scope=\"col\">").count()
        };
        let all = columns(&sample);
        sample.result.lens_results[1].status = LensStatus::Skipped;
        sample.result.lens_results[1].error_codes = vec![Code::LensNotApplicable];
        for row in &mut sample.coverage.rows {
            row.cells.retain(|cell| cell.plan_ordinal != ordinal);
        }
        assert_eq!(columns(&sample), all - 1);
        let page = coverage(&sample.report(false), &[]).into_string();
        assert!(page.contains("Lenses with nothing to look at: <code>debug-leftover</code>."), "{page}");
        // One that was not run is a gap and keeps its column.
        sample.result.lens_results[1].error_codes = vec![Code::ContextBoundExceeded];
        assert_eq!(columns(&sample), all);
    }
}
