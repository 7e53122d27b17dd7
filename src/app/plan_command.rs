//! `qa-skill plan`: lists the plans of a run without executing them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::exit::Failure;
use super::inputs::{Opened, Request, open};
use super::prepare::prepare;
use super::shard::matrix;
use super::skill_input::skill_input;
use qa_contracts::v1::{LensPlan, LensPlanList};
use qa_core::escape::visible;
use qa_core::plan::Refusal;
use qa_core::policy::Policy;
use qa_core::usage::{micro_usd, usd};
use qa_core::{canonical, plan};
use qa_formats::counted;
use qa_run::keys::key;
use qa_run::plans::{plans, reviews};
use qa_run::ports::{Cancellation, Progress};
use qa_run::reviews::UsageBound;

/// Row of the cost of asking for findings again.
const CONFIRMATION: &str = "confirmation of findings";

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Table,
    /// The plans, as a run stores them.
    Json,
    /// The input of the run, as a run stores it.
    Input,
    /// Maximum cost of the reviews.
    Cost,
    /// The job matrix for this number of shards.
    Matrix(u64),
}

/// Opens the repository and lists the plans.
pub(crate) fn plan(
    request: &Request,
    shown: Shown,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<u8>, Failure> {
    plan_opened(request, &open(request)?, shown, cancellation, progress)
}

/// Lists the plans in an open repository.
pub(crate) fn plan_opened(
    request: &Request,
    opened: &Opened,
    shown: Shown,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Vec<u8>, Failure> {
    if request.uncommitted.is_some() && shown == Shown::Input {
        return Err(Failure::usage(
            "no other run can judge what is not committed, so it has no input document",
            "commit first, or leave out `--format input`",
        ));
    }
    let prepared = prepare(request, opened, cancellation, progress)?;
    let inputs = &prepared.inputs;
    if let Shown::Matrix(shards) = shown {
        return matrix(&inputs.change_set.files, shards);
    }
    if shown == Shown::Cost {
        let text = prepared.with_planning_ports(cancellation, progress, |ports| {
            let (plans, policy) = (plans(inputs, ports), &inputs.in_force.policy);
            let refusals = plan::reserve(&plans, policy);
            let confirmations = reviews(inputs, ports).confirmation_bound(&plans, &refusals);
            cost(&plans, &refusals, policy, confirmations)
        });
        return Ok(text.into_bytes());
    }
    let (plans, keyed) = prepared
        .with_planning_ports(cancellation, progress, |ports| (plans(inputs, ports), key(inputs, ports)));
    let execution_key = &keyed.key;
    if shown == Shown::Json {
        return Ok(document(&LensPlanList { schema_version: Default::default(), lens_plans: plans }));
    }
    if shown == Shown::Input {
        return Ok(document(&skill_input(request, opened, inputs, &keyed)));
    }
    let hunks: usize = inputs.change_set.files.iter().map(|file| file.hunks.len()).sum();
    let mut text = format!(
        "{}, {}, {} from {} to {}\nbase {} {}\nexecution key {execution_key}\n\n",
        counted(inputs.change_set.files.len(), "changed file"),
        counted(hunks, "hunk"),
        counted(usize::try_from(inputs.sensitivity.changed_lines).unwrap_or(usize::MAX), "changed line"),
        inputs.change_set.measured_from().short(),
        inputs.change_set.head_sha.short(),
        inputs.change_set.base_sha.short(),
        opened.resolved.base_choice(),
    );
    text.push_str(&table(&plans));
    text.push_str(&codes(&plans));
    text.push_str(&commands(&plans));
    Ok(text.into_bytes())
}

fn document(artifact: &impl Serialize) -> Vec<u8> {
    let mut bytes = canonical::to_vec(artifact).expect("artifacts have a canonical form");
    bytes.push(b'\n');
    bytes
}

/// Describes the maximum usage of each review, and whether the budget allows it. Stored replies cost nothing.
fn cost(
    plans: &[LensPlan],
    refusals: &[Option<Refusal>],
    policy: &Policy,
    confirmations: Option<UsageBound>,
) -> String {
    let rows = plans.iter().zip(refusals).filter(|(plan, _)| plan.review.is_some());
    let names = rows.clone().map(|(plan, _)| review_name(plan)).chain([CONFIRMATION.to_owned()]);
    let name = names.map(|name| name.len()).max().unwrap_or_default();
    let model = longest(rows.clone().map(|(plan, _)| plan.provider_binding_id.as_str()), "model");
    let mut text = format!(
        "{:<name$} {:<model$} {:>7} {:>9} {:>8} {:>9}  {}\n",
        "review", "model", "answers", "tokens in", "out", "USD", "budget"
    );
    let mut sum = Some(0u64);
    for (plan, refusal) in rows {
        let usd = match plan.max_cost_usd {
            Some(usd) => usd.to_string(),
            None => "unknown".to_owned(),
        };
        let answers = match &plan.review {
            Some(review) if !plan.changed_files.is_empty() => review.samples,
            _ => 0,
        };
        let reserved = match refusal {
            Some(refusal) => refusal.code.as_str(),
            None => "reserved",
        };
        text.push_str(&format!(
            "{:<name$} {:<model$} {answers:>7} {:>9} {:>8} {usd:>9}  {reserved}\n",
            review_name(plan),
            plan.provider_binding_id,
            plan.max_input_tokens,
            plan.max_output_tokens,
        ));
        if refusal.is_none() {
            sum = sum.zip(plan.max_cost_usd.map(micro_usd)).map(|(sum, cost)| sum + cost);
        }
    }
    if let Some(bound) = confirmations {
        let UsageBound { requests, input_tokens, output_tokens, cost_micro_usd } = bound;
        let price = cost_micro_usd.map_or("unknown".to_owned(), |cost| usd(cost).to_string());
        text.push_str(&format!(
            "{CONFIRMATION:<name$} {:<model$} {requests:>7} {input_tokens:>9} {output_tokens:>8} {price:>9}  unreserved\n",
            ""
        ));
        sum = sum.zip(cost_micro_usd).map(|(sum, cost)| sum + cost);
    }
    let sum = match sum {
        Some(sum) => format!("{} of {} USD", usd(sum), usd(policy.max_cost_micro_usd)),
        None => "unknown: the price of a model is not known".to_owned(),
    };
    format!("{text}\nat most {sum}\n")
}

/// Returns the name of a review and of its part of the change.
fn review_name(plan: &LensPlan) -> String {
    match &plan.sub_lens_id {
        Some(part) => format!("{}/{part}", plan.lens_id),
        None => plan.lens_id.to_string(),
    }
}

/// Lists the commands that would run, with their directories.
fn commands(plans: &[LensPlan]) -> String {
    let mut text = String::new();
    for plan in plans.iter().filter(|plan| !plan.execution_commands.is_empty()) {
        text.push_str(&format!("\n{} ({})\n", plan.lens_id, plan.permission_profile_id.as_str()));
        for command in &plan.execution_commands {
            let place = if command.directory.is_empty() { "." } else { &command.directory };
            let line = format!("  {} in {place}: {}", command.purpose, command.command.join(" "));
            text.push_str(&visible(&line));
            text.push('\n');
        }
    }
    text
}

fn table(plans: &[LensPlan]) -> String {
    let name = longest(plans.iter().map(|plan| plan.lens_id.as_str()), "lens");
    let mut text = format!(
        "{:<3} {:<name$} {:<13} {:<8} {:>5} {:>7}\n",
        "#", "lens", "class", "required", "files", "omitted"
    );
    for plan in plans {
        text.push_str(&format!(
            "{:<3} {:<name$} {:<13} {:<8} {:>5} {:>7}\n",
            plan.plan_ordinal,
            plan.lens_id,
            plan.lens_class.as_str(),
            if plan.required { "yes" } else { "no" },
            plan.changed_files.len(),
            plan.omitted_hunks.len(),
        ));
    }
    text
}

/// Lists the lenses that each planning code is about, one line for each code.
fn codes(plans: &[LensPlan]) -> String {
    let mut lenses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for plan in plans {
        plan.planning_codes
            .iter()
            .for_each(|code| lenses.entry(code.as_str()).or_default().push(&plan.lens_id));
    }
    let lines = lenses.iter().map(|(code, lenses)| format!("\n{code}  {}\n", lenses.join(", ")));
    lines.collect()
}

/// Returns the width of a column of names below a header.
fn longest<'a>(names: impl Iterator<Item = &'a str>, header: &str) -> usize {
    names.map(str::len).max().unwrap_or_default().max(header.len())
}
