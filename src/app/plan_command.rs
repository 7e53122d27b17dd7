//! `qa-skill plan`: shows what a run would look at, without running anything.

use super::derive::{key, plans};
use super::exit::Failure;
use super::inputs::{Opened, Request, open};
use super::prepare::{Ports, prepare};
use super::shard::matrix;
use crate::contracts::codes::Code;
use crate::contracts::v1::{LensPlan, LensPlanList, RecordedLookups};
use crate::core::canonical;
use crate::core::escape::visible;
use crate::run::lookup::Asked;
use crate::run::ports::{Cancellation, Progress};
use crate::run::survey::RecordedSurveys;

/// What to show of the plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Table,
    /// The artifact a run would write.
    Json,
    /// The matrix for so many shards.
    Matrix(u64),
}

/// The plans.
pub(crate) fn plan(
    request: &Request,
    shown: Shown,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<u8>, Failure> {
    plan_opened(request, &open(request)?, shown, cancellation, progress)
}

/// As [`plan`], in a repository that is open already.
pub(crate) fn plan_opened(
    request: &Request,
    opened: &Opened,
    shown: Shown,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<u8>, Failure> {
    let prepared = prepare(request, opened, cancellation, progress)?;
    let nothing = RecordedLookups::default();
    let lookups = Asked::of_record(&nothing);
    let recorded = prepared.recorded(Ports {
        surveys: &RecordedSurveys(&[]),
        lookups: &lookups,
        lines: &|_, _, _, _| None,
        joined: None,
        cancellation,
        progress,
    });
    if let Shown::Matrix(shards) = shown {
        return matrix(&recorded, shards);
    }
    let plans = plans(&recorded);
    if shown == Shown::Json {
        let list = LensPlanList { schema_version: Default::default(), lens_plans: plans };
        let mut bytes = canonical::to_vec(&list).expect("plans have a canonical form");
        bytes.push(b'\n');
        return Ok(bytes);
    }
    let execution_key = key(&recorded).key;
    let hunks: usize = recorded.change_set.files.iter().map(|file| file.hunks.len()).sum();
    let mut text = format!(
        "{} changed files, {hunks} hunks, {} changed lines (base {} → head {})\nexecution key {execution_key}\n\n",
        recorded.change_set.files.len(),
        recorded.sensitivity.changed_lines,
        recorded.change_set.merge_base_sha.short(),
        recorded.change_set.head_sha.short(),
    );
    text.push_str(&format!(
        "{:<3} {:<18} {:<13} {:<9} {:>6} {:>8}  {}\n",
        "#", "lens", "class", "required", "files", "omitted", "notes"
    ));
    plans.iter().for_each(|plan| text.push_str(&row(plan)));
    text.push_str(&commands(&plans));
    Ok(text.into_bytes())
}

/// What would be run, and where.
fn commands(plans: &[LensPlan]) -> String {
    let mut text = String::new();
    for plan in plans.iter().filter(|plan| !plan.execution_commands.is_empty()) {
        text.push_str(&format!("\n{} ({})\n", plan.lens_id, plan.permission_profile_id.text()));
        for command in &plan.execution_commands {
            let place = if command.directory.is_empty() { "." } else { &command.directory };
            let line = format!("  {} in {place}: {}", command.purpose, command.command.join(" "));
            text.push_str(&visible(&line));
            text.push('\n');
        }
    }
    text
}

fn row(plan: &LensPlan) -> String {
    let notes: Vec<&str> = plan.planning_codes.iter().map(|code| Code::text(*code)).collect();
    format!(
        "{:<3} {:<18} {:<13} {:<9} {:>6} {:>8}  {}\n",
        plan.plan_ordinal,
        plan.lens_id,
        plan.lens_class.text(),
        if plan.required { "yes" } else { "no" },
        plan.changed_files.len(),
        plan.omitted_hunks.len(),
        notes.join(" ")
    )
}
