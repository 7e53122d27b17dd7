//! Renders a drift report: plain text for a terminal, Markdown for a job summary or an issue.

use std::fmt::Write;

use crate::app::consistency_check;
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftReport, DriftRun, DriftStatus, ModelDrift};
use qa_core::escape::{markdown as escaped, markdown_cell_code, markdown_code};

/// Maximum number of runs that Markdown lists, since the body of an issue is limited; further runs are counted.
const MOST_LISTED: usize = 100;

/// Formats the result of one replay; runs of forks are marked.
fn result(run: &DriftRun) -> String {
    let fork = if run.foreign { " (of a fork)" } else { "" };
    format!("{}{fork}", word(run.status))
}

fn word(status: DriftStatus) -> &'static str {
    match status {
        DriftStatus::Same => "same",
        DriftStatus::CouldNotReplay => "not replayed",
        DriftStatus::EngineChanged => "engine changed",
        DriftStatus::Drift => "drift",
    }
}

/// Counts the runs by status, the worst first: `3 runs: 1 drift, 2 same`.
fn count_by_status(report: &DriftReport) -> String {
    let mut parts = Vec::new();
    for status in DriftStatus::ALL.iter().rev() {
        let count = report.runs.iter().filter(|run| run.status == *status).count();
        if count > 0 {
            parts.push(format!("{count} {}", word(*status)));
        }
    }
    let runs = report.runs.len();
    match runs {
        0 => "no runs".to_owned(),
        1 => format!("1 run: {}", parts.join(", ")),
        _ => format!("{runs} runs: {}", parts.join(", ")),
    }
}

/// Describes the searched artifacts and the omitted ones.
fn searched_artifacts(report: &DriftReport) -> Option<String> {
    let listing = report.listing.as_ref()?;
    let mut line = format!(
        "{} artifacts named {} in {} from the last {} days",
        listing.found, listing.artifact_name, listing.repository, listing.since_days
    );
    for (count, what) in [
        (listing.expired, "expired"),
        (listing.foreign, "of forks, which do not count"),
        (listing.beyond_limit, "beyond the limit"),
    ] {
        if count > 0 {
            line.push_str(&format!(", {count} {what}"));
        }
    }
    if !listing.complete {
        line.push_str("; the listing is incomplete");
    }
    Some(line)
}

/// Returns the runs, the worst first, otherwise in the order of the report.
fn ordered(report: &DriftReport) -> Vec<&DriftRun> {
    let mut runs: Vec<&DriftRun> = report.runs.iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.status));
    runs
}

fn key(run: &DriftRun) -> &str {
    match &run.execution_key {
        Some(key) => key.short(),
        None => "unknown",
    }
}

fn bracketed(code: Option<Code>) -> String {
    match code {
        Some(code) => format!(" [{code}]"),
        None => String::new(),
    }
}

/// Describes the new answers of a model on one line.
fn describe(model: &ModelDrift) -> String {
    let part = match &model.sub_lens_id {
        Some(part) => format!("/{part}"),
        None => String::new(),
    };
    let code = bracketed(model.code);
    format!("{}{part} by {}: {}{code}: {}", model.lens_id, model.model, model.class, model.detail)
}

/// Renders a report as text for a terminal.
pub(crate) fn render_text(report: &DriftReport) -> String {
    let mut out = String::new();
    for run in ordered(report) {
        let code = bracketed(run.code);
        let mover = match run.mover {
            Some(mover) => format!(" ({mover})"),
            None => String::new(),
        };
        let _infallible = writeln!(out, "{}{code}{mover}  key {}  {}", result(run), key(run), run.place);
        let _infallible = writeln!(out, "  {}", run.detail);
        for model in &run.models {
            let _infallible = writeln!(out, "  {}", describe(model));
        }
    }
    if let Some(line) = searched_artifacts(report) {
        let _infallible = writeln!(out, "{line}");
    }
    let _infallible =
        writeln!(out, "{}, replayed by qa-skill {}", count_by_status(report), report.engine_version);
    out.extend(report.rubric.as_ref().map(consistency_check::describe));
    out
}

/// Renders a report in Markdown for a job summary or an issue.
pub(crate) fn markdown(report: &DriftReport) -> String {
    let mut out = format!("## Drift check: {}\n\n", count_by_status(report));
    if let Some(line) = searched_artifacts(report) {
        let _infallible = writeln!(out, "{}.\n", escaped(&line));
    }
    let (shown, runs) = (ordered(report), report.runs.len());
    if runs > 0 {
        out.push_str("| Result | Key | Made by | Cause | Run |\n|---|---|---|---|---|\n");
    }
    for run in shown.iter().take(MOST_LISTED) {
        let code = match run.code {
            Some(code) => format!(" {}", markdown_code(code.as_str())),
            None => String::new(),
        };
        let made_by = match &run.made_by {
            Some(version) => markdown_cell_code(version),
            None => "unknown".to_owned(),
        };
        let cause = match run.mover {
            Some(mover) => mover.as_str(),
            None => "nothing",
        };
        let _infallible = writeln!(
            out,
            "| {}{code} | {} | {made_by} | {cause} | {} |",
            result(run),
            markdown_cell_code(key(run)),
            markdown_cell_code(&run.place)
        );
    }
    let models: Vec<_> = shown.iter().flat_map(|run| &run.models).take(MOST_LISTED).collect();
    if !models.is_empty() {
        out.push_str("\n### Model answers compared\n\n");
    }
    for model in models {
        let _infallible = writeln!(out, "- {}", escaped(&describe(model)));
    }
    for run in shown.iter().take(MOST_LISTED).filter(|run| run.status != DriftStatus::Same) {
        let _infallible = writeln!(out, "\n### {} of {}\n", result(run), markdown_code(key(run)));
        let _infallible = writeln!(out, "{}.", escaped(&run.detail));
        if let Some(difference) = &run.difference {
            let place = format!("{}#{}", difference.file, difference.pointer);
            let _infallible = writeln!(
                out,
                "\n- at {}\n- recorded {}\n- derived {}",
                markdown_code(&place),
                markdown_code(&difference.recorded),
                markdown_code(&difference.derived)
            );
        }
        if let Some(code) = run.code {
            let _infallible = writeln!(out, "- {}", escaped(code.hint()));
        }
    }
    if runs > MOST_LISTED {
        let _infallible = writeln!(out, "\n{} more runs are not listed.", runs - MOST_LISTED);
    }
    let _infallible = writeln!(out, "\nReplayed by qa-skill {}.", escaped(&report.engine_version));
    out.extend(report.rubric.as_ref().map(consistency_check::markdown));
    out
}
