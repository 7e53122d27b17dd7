//! `qa-skill plan`: shows what a run would look at, without running anything.

use super::check::{gather, repo_id};
use super::derive::{Recorded, key, plans};
use super::exit::Failure;
use super::inputs::{Request, open, read_policy};
use crate::contracts::codes::Code;
use crate::contracts::v1::{LensPlan, LensPlanList};
use crate::core::canonical;
use crate::lenses;
use crate::run::gather::Gathered;
use crate::run::ports::{Cancellation, Progress};
use crate::run::survey::RecordedSurveys;

/// The plans as a table, or as the artifact a run would write.
pub(crate) fn plan(
    request: &Request,
    json: bool,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<u8>, Failure> {
    let registry = lenses::registry();
    let opened = open(request)?;
    let in_force = read_policy(&opened.objects, &opened.resolved, &request.overrides, &registry)?;
    let Gathered { change_set, sensitivity, texts } = gather(&opened, &in_force, cancellation, progress)?;
    let repo_id = repo_id(&opened, &in_force);
    let recorded = Recorded {
        repo_id: &repo_id,
        change_set: &change_set,
        sensitivity: &sensitivity,
        texts: &texts,
        inputs: &in_force.recorded,
        policy: &in_force.policy,
        waivers: &in_force.waivers,
        overrides: &request.overrides,
        registry: &registry,
        surveys: &RecordedSurveys(&[]),
        lines: &|_, _, _, _| None,
        cancellation,
        progress,
    };
    let plans = plans(&recorded);
    if json {
        let list = LensPlanList { schema_version: Default::default(), lens_plans: plans };
        let mut bytes = canonical::to_vec(&list).expect("plans have a canonical form");
        bytes.push(b'\n');
        return Ok(bytes);
    }
    let (_, _, execution_key) = key(&recorded);
    let hunks: usize = change_set.files.iter().map(|file| file.hunks.len()).sum();
    let mut text = format!(
        "{} changed files, {hunks} hunks, {} changed lines (base {} → head {})\nexecution key {execution_key}\n\n",
        change_set.files.len(),
        sensitivity.changed_lines,
        change_set.merge_base_sha.short(),
        change_set.head_sha.short(),
    );
    text.push_str(&format!(
        "{:<3} {:<18} {:<13} {:<9} {:>6} {:>8}  {}\n",
        "#", "lens", "class", "required", "files", "omitted", "notes"
    ));
    plans.iter().for_each(|plan| text.push_str(&row(plan)));
    Ok(text.into_bytes())
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
