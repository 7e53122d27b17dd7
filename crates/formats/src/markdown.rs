//! `markdown`: the job summary, readable on GitHub without opening anything else.

mod findings;

use crate::common::{
    codes, counted, extent, further_reasons, gate_word, head_commit, model_reviews, plan_name, plan_totals,
    quality_gates, reason, shown_settings, uncommitted, verdict_word,
};
use crate::contract::{Format, FormatSpec, Report, SincePush};
use crate::gaps::gaps;
use qa_contracts::v1::{Conclusion, ItemOutcome};
use qa_core::escape::{markdown, markdown_cell_code, markdown_code, visible_cut};
use qa_core::verdict::merge_bases;

/// GitHub drops a summary over 1 MiB whole; this leaves room for what other steps add.
const MAX_BYTES: usize = 900_000;
/// The most entries of a list.
const MAX_LIST: usize = 100;

/// Markdown for the job summary.
pub(crate) struct Markdown;

impl Format for Markdown {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "markdown", title: "The job summary", file: Some("summary.md") }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        page(report, MAX_BYTES).into_bytes()
    }
}

/// The page, with lists that end early where it would become larger than a surface takes.
pub(super) fn page(report: &Report<'_>, max_bytes: usize) -> String {
    let mut page = Page { out: String::new(), max_bytes };
    heading(&mut page, report);
    let incomplete = report.result.final_verdict.conclusion == Conclusion::CouldNotComplete;
    let parts: [fn(&mut Page, &Report<'_>); 3] = [findings::sections, not_looked_at, code_list];
    // The gaps are the message of a run that could not complete, so they come first.
    for part in if incomplete { [parts[1], parts[2], parts[0]] } else { parts } {
        part(&mut page, report);
    }
    preview(&mut page, report);
    cross_check(&mut page, report);
    reviews(&mut page, report);
    gates(&mut page, report);
    coverage(&mut page, report);
    proof(&mut page, report);
    page.out
}

/// Markdown that knows how large it may become.
struct Page {
    out: String,
    max_bytes: usize,
}

impl Page {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn section(&mut self, title: &str) {
        self.out.push_str(&format!("\n### {title}\n\n"));
    }

    /// Writes entries until the limit or the page is full, then says how many are left out and where they are.
    fn list<T>(&mut self, entries: &[T], limit: usize, noun: &str, line: impl Fn(&T) -> String) {
        let mut shown = 0;
        for entry in entries.iter().take(limit) {
            let line = line(entry);
            // Three quarters for lists: what follows them is short and must fit.
            if self.out.len() + line.len() > self.max_bytes / 4 * 3 {
                break;
            }
            self.push(&line);
            shown += 1;
        }
        if shown < entries.len() {
            let rest = counted(entries.len() - shown, noun);
            self.push(&format!(
                "\n{rest} not listed here; `lens-results.json` and `coverage.json` of the run list all."
            ));
        }
    }
}

fn heading(page: &mut Page, report: &Report<'_>) {
    let verdict = &report.result.final_verdict;
    let symbol = match verdict.conclusion {
        Conclusion::Pass => "✅",
        Conclusion::Fail => "❌",
        Conclusion::CouldNotComplete => "⚠️",
    };
    page.push(&format!("## {symbol} qa-skill: {}\n", verdict_word(verdict.conclusion)));
    let judged = match uncommitted(report) {
        Some(_) => String::new(),
        None => format!(
            "Judged {} against {}: ",
            markdown_code(report.input.head_sha.short()),
            markdown_code(report.input.base_sha.short())
        ),
    };
    page.push(&format!("{} {judged}{}.\n", reason(report), extent(report)));
    if let Some(since) = &report.since_push {
        let SincePush { head_before, resolved, new, open } = since;
        let resolved = counted(*resolved, "blocking finding");
        page.push(&format!(
            "Since {}: {resolved} resolved, {new} new, {open} still open.\n",
            head_before.short()
        ));
    }
    page.list(&further_reasons(report), MAX_LIST, "reason", |line| format!("- {}", text(line, 400)));
}

/// Untrusted text, cut and harmless.
fn text(text: &str, limit: usize) -> String {
    markdown(&visible_cut(text, limit))
}

/// Returns a text in which what stands between backticks is code; harmless, also in a table.
fn prose(text: &str, limit: usize) -> String {
    let shown = visible_cut(text, limit);
    if shown.matches('`').count() % 2 == 1 {
        return markdown(&shown);
    }
    let parts = shown.split('`').enumerate();
    let parts =
        parts.map(|(index, part)| if index % 2 == 1 { markdown_cell_code(part) } else { markdown(part) });
    parts.collect()
}

fn cell_code(text: &str, limit: usize) -> String {
    markdown_cell_code(&visible_cut(text, limit))
}

fn not_looked_at(page: &mut Page, report: &Report<'_>) {
    let gaps = gaps(report);
    if gaps.is_empty() {
        return;
    }
    page.section("Not looked at");
    if let Some(missing) = gaps.missing_sentence(markdown_code) {
        page.push(&format!("- {missing}"));
    }
    page.list(&gaps.plans, MAX_LIST, "lens group", |gap| {
        let codes: Vec<String> = gap.codes.iter().map(|code| format!("`{code}`")).collect();
        format!("- {} {}: {}", gap.subject(markdown_code), gap.status, codes.join(", "))
    });
    if gaps.files.is_empty() {
        return;
    }
    page.push("\n| File | Lenses | Looked at | Why |\n|---|---|---|---|");
    page.list(&gaps.files, MAX_LIST, "file", |gap| {
        let code = gap.code.map(|code| format!("`{code}`"));
        let why: Vec<String> = gap.reasons.iter().map(|reason| markdown(reason)).chain(code).collect();
        format!(
            "| {} | {} | {} | {} |",
            cell_code(&gap.file.to_string(), 300),
            cell_code(&gap.plans.join(", "), 300),
            gap.looked_at,
            why.join("; ")
        )
    });
}

fn code_list(page: &mut Page, report: &Report<'_>) {
    let codes = codes(report);
    if codes.is_empty() {
        return;
    }
    page.section("Codes");
    page.list(&codes, MAX_LIST, "code", |(kind, code)| format!("- {kind} `{code}`: {}", code.hint()));
}

fn preview(page: &mut Page, report: &Report<'_>) {
    let Some(preview) = &report.result.final_verdict.policy_preview else { return };
    page.section("Policy preview (not binding)");
    page.push("The change edits the policy. It was judged by the policy of the base.\n");
    match preview.conclusion {
        Some(conclusion) => page.push(&format!(
            "Under the new policy: {}, {} would block.",
            verdict_word(conclusion),
            counted(preview.blocking_findings as usize, "finding")
        )),
        None => page.push(&format!(
            "The new policy cannot be read: {}",
            text(preview.error.as_deref().unwrap_or("unknown reason"), 300)
        )),
    }
    if preview.weakened.is_empty() {
        return;
    }
    let shown = shown_settings(preview);
    page.push("\n| Weaker setting | Base | Head |\n|---|---|---|");
    page.list(&shown.settings, MAX_LIST, "setting", |setting| {
        let [name, base, head] =
            [&setting.name, &setting.base, &setting.head].map(|text| cell_code(text, 200));
        format!("| {name} | {base} | {head} |")
    });
    if shown.of_rules > 0 {
        page.push(&format!(
            "\nAnd {} of rules, all in `final-verdict.json`.",
            counted(shown.of_rules, "setting")
        ));
    }
}

fn cross_check(page: &mut Page, report: &Report<'_>) {
    let failed: Vec<_> = report
        .cross_check
        .items
        .iter()
        .filter(|item| match item.outcome {
            ItemOutcome::Failed => true,
            ItemOutcome::Passed | ItemOutcome::NotApplicable => false,
        })
        .collect();
    if failed.is_empty() {
        return;
    }
    page.section("Cross-check failed");
    page.list(&failed, MAX_LIST, "item", |item| {
        format!("- {}: {}", markdown_code(&item.item), text(&item.detail, 400))
    });
}

fn reviews(page: &mut Page, report: &Report<'_>) {
    let reviews = model_reviews(report);
    if reviews.is_empty() {
        return;
    }
    page.section("Reviews by a model");
    page.push("| Review | Result | What was answered |\n|---|---|---|");
    page.list(&reviews, MAX_LIST, "review", |review| {
        let required = if review.required { "" } else { " (not required)" };
        let notes: Vec<String> = review.notes.iter().take(MAX_LIST).map(|note| text(note, 300)).collect();
        format!("| {}{required} | {} | {} |", cell_code(&review.plan, 100), review.status, notes.join("<br>"))
    });
}

fn gates(page: &mut Page, report: &Report<'_>) {
    let gates = quality_gates(report);
    if gates.is_empty() {
        return;
    }
    page.section("Quality gates");
    page.push("| Gate | Result | What was read |\n|---|---|---|");
    page.list(&gates, MAX_LIST, "gate", |gate| {
        let required = if gate.required { "" } else { " (not required)" };
        let notes: Vec<String> = gate.notes.iter().take(MAX_LIST).map(|note| text(note, 200)).collect();
        format!("| `{}`{required} | {} | {} |", gate.gate_name, gate_word(gate), notes.join("<br>"))
    });
}

fn coverage(page: &mut Page, report: &Report<'_>) {
    let (full, gaps) = (report.coverage.full_cells, report.coverage.incomplete_cells);
    page.push(&format!(
        "\n<details><summary>Coverage: {}, {} complete, {gaps} incomplete</summary>\n",
        counted(report.result.lens_plans.len(), "lens group"),
        counted(full as usize, "check")
    ));
    page.push("| Lens | Files | Hunks | Not whole | Status |\n|---|---:|---:|---:|---|");
    let totals = plan_totals(report);
    let results: std::collections::BTreeMap<u64, _> =
        report.result.lens_results.iter().map(|result| (result.plan_ordinal, result)).collect();
    page.list(&report.result.lens_plans, MAX_LIST, "lens group", |plan| {
        let total = totals.get(&plan.plan_ordinal).copied().unwrap_or_default();
        let status = results.get(&plan.plan_ordinal).map_or("no result", |result| result.status.as_str());
        let required = if plan.required { " (required)" } else { "" };
        format!(
            "| {}{required} | {} | {} | {} | {status} |",
            cell_code(&plan_name(plan), 120),
            total.full,
            total.inspected_hunks,
            total.partial + total.omitted
        )
    });
    page.push("\n</details>");
}

fn proof(page: &mut Page, report: &Report<'_>) {
    let (input, result) = (report.input, report.result);
    page.push(&format!(
        "\n<details><summary>Proof: execution key {}</summary>\n",
        result.execution_key.short()
    ));
    page.push("| | |\n|---|---|");
    let rows = [
        ("Execution key", result.execution_key.as_str()),
        ("Repository", &input.repo_id),
        ("Base", input.base_sha.as_str()),
        ("Merge base", &merge_bases(&input.merge_base_sha, &input.other_merge_bases)),
        ("Head", head_commit(report)),
        ("Normalised input", result.normalized_input_hash.as_str()),
        ("Configuration", input.config_hash.as_str()),
    ];
    for (name, value) in rows {
        page.push(&format!("| {name} | {} |", cell_code(value, 200)));
    }
    page.push(&format!(
        "| Mode | {}, preset {} |",
        input.run_mode.as_str().replace('_', "\\_"),
        input.preset
    ));
    page.push(match uncommitted(report) {
        Some(_) => "\nNo commit was judged, so nothing is stored and nothing is proved about a commit. A finding",
        None => {
            "\nDownload the run's directory and re-derive this verdict offline: `qa-skill verify DIR`. A finding"
        }
    });
    page.push("explained: `qa-skill explain RULE`.");
    page.push("\n</details>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(sample: &sample::Sample) -> String {
        String::from_utf8(Markdown.render(&sample.report(false))).unwrap()
    }

    /// The lines outside of fenced blocks.
    fn without_fences(text: &str) -> String {
        let mut fence: Option<String> = None;
        let mut outside = String::new();
        for line in text.lines() {
            let ticks: String = line.chars().take_while(|&sign| sign == '`').collect();
            match &fence {
                Some(open) if ticks.len() >= open.len() && line == ticks => fence = None,
                Some(_) => {}
                None if ticks.len() >= 3 && !line[ticks.len()..].contains('`') => fence = Some(ticks),
                None => outside.push_str(&format!("{line}\n")),
            }
        }
        assert_eq!(fence, None, "a block that does not end");
        outside
    }

    /// Returns a text without fenced blocks, code spans, escapes and our own tags.
    fn active(text: &str) -> String {
        let escapes = regex::Regex::new(r"\\[^\w\s]").unwrap();
        let spans = regex::Regex::new(r"(`+)[^`\n](?:[^\n]*?[^`\n])??(`+)").unwrap();
        let tags = regex::Regex::new("<(br|details|details open|summary|/details|/summary)>").unwrap();
        let bare = spans.replace_all(&without_fences(text), "").into_owned();
        tags.replace_all(&escapes.replace_all(&bare, ""), "").into_owned()
    }

    #[test]
    fn untrusted_text_is_neither_link_mention_nor_tag() {
        for (name, sample) in sample::all() {
            let rest = active(&text(&sample));
            for sign in ["](", "![", "<", "@", "://", "www."] {
                assert!(!rest.contains(sign), "{name}: {sign} in {rest}");
            }
        }
    }

    #[test]
    fn tables_keep_their_columns() {
        let cell = regex::Regex::new(r"(?:^|[^\\])\|").unwrap();
        for (name, sample) in sample::all() {
            let mut columns = None;
            for line in text(&sample).lines() {
                let count = line.starts_with('|').then(|| cell.find_iter(line).count());
                if let (Some(before), Some(now)) = (columns, count) {
                    assert_eq!(before, now, "{name}: {line}");
                }
                columns = count;
            }
        }
    }

    #[test]
    fn findings_that_all_differ_stay_under_the_limit_and_are_counted() {
        let mut sample = sample::large(300, 3000);
        crate::tests::tell_apart(&mut sample);
        for limit in [60_000, MAX_BYTES] {
            let page = page(&sample.report(false), limit);
            assert!(page.len() < limit, "{}", page.len());
            assert!(page.contains("groups not listed here"), "{page}");
        }
    }

    #[test]
    fn a_large_run_stays_under_the_limit_and_says_what_is_left_out() {
        let text = text(&sample::large(2000, 20_000));
        assert!(text.len() < MAX_BYTES, "{}", text.len());
        assert!(text.contains("399 more places; `lens-results.json` lists all"), "{text}");
        assert!(text.contains("and 19,490 more places"), "{text}");
        assert!(text.contains("| `debug-leftover/dbg` | 0 | 19500 |"));
    }
}
