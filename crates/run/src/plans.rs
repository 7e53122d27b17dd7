//! The plans of a run: each lens, gate and review with the files and hunks that it looks at.

use super::gates;
use super::inputs::{Inputs, Ports};
use super::reviews::Reviews;
use qa_contracts::v1::{ChangedFile, FileText, LensPlan, RegistryLens};
use qa_core::classify::PathSet;
use qa_core::observer::defer_plans;
use qa_core::plan::{self, Asking, Candidate, Need};
use qa_core::policy::reviews::is_review;
use qa_core::policy::{Policy, WAIVERS_PATH};
use qa_lenses::contract::Lens;

/// Returns the lens of an id, or `None` for a gate, a review or an unknown id.
pub fn find_lens(id: &str) -> Option<&'static dyn Lens> {
    qa_lenses::ALL.iter().copied().find(|lens| lens.spec().id == id)
}

/// Test of whether a whole file is needed, given its hunks with secrets masked.
pub type NeedsWholeFile = &'static (dyn Fn(&ChangedFile, &FileText) -> bool + Sync);

/// Returns whether a lens, or the policy preview (which lists added waivers), needs the full text of a file. The
/// conventions lens needs nothing where the policy names no rubric.
pub fn needs_whole_file(policy: &Policy) -> NeedsWholeFile {
    match policy.consistency {
        Some(_) => &|file, hunks| any_lens_needs_whole_file(true, file, hunks),
        None => &|file, hunks| any_lens_needs_whole_file(false, file, hunks),
    }
}

fn any_lens_needs_whole_file(has_rubric: bool, file: &ChangedFile, hunks: &FileText) -> bool {
    if file.path.as_bytes() == WAIVERS_PATH.as_bytes() {
        return true;
    }
    qa_lenses::ALL.iter().any(|lens| {
        (has_rubric || lens.spec().id != qa_lenses::consistency::ID)
            && lens.need(file) == Need::WholeFile
            && lens.wants_whole_file(file, hunks)
    })
}

/// Returns the reviews of a run, each with its model.
pub fn reviews<'a>(inputs: &'a Inputs, ports: &Ports<'a>) -> Reviews<'a> {
    let in_force = &inputs.in_force;
    Reviews::new(
        &in_force.policy,
        &in_force.waivers,
        &inputs.change_set,
        ports.texts,
        in_force.rubric.as_ref(),
    )
}

/// Returns the plans in queue order.
pub fn plans(inputs: &Inputs, ports: &Ports<'_>) -> Vec<LensPlan> {
    let Inputs { registry, change_set, execution, .. } = inputs;
    let policy = &inputs.in_force.policy;
    let reviews = reviews(inputs, ports);
    let file_bytes: &(dyn Fn(usize) -> u64 + Sync) = &|position| reviews.file_bytes(position);
    let costs: Vec<CostOf<'_>> = registry.lenses.iter().map(|entry| cost_of(entry, &reviews)).collect();
    let askings: Vec<Option<Asking<'_>>> = registry
        .lenses
        .iter()
        .zip(&costs)
        .map(|(entry, cost)| reviews.request_planning(&entry.lens_id, file_bytes, cost.as_ref()))
        .collect();
    let needs: Vec<NeedOf<'_>> = registry.lenses.iter().map(|entry| need_of(entry, policy, ports)).collect();
    let candidates: Vec<Candidate<'_>> = registry
        .lenses
        .iter()
        .zip(&needs)
        .zip(&askings)
        .map(|((entry, need), asking)| Candidate {
            lens: entry,
            triggers: PathSet::new(entry.triggers.iter().map(String::as_str))
                .expect("a test compiles every trigger"),
            need: need.as_ref(),
            asking: asking.as_ref(),
        })
        .collect();
    let mut plans = plan::plan(
        change_set,
        &inputs.sensitivity,
        policy,
        inputs.overrides.lens_ids.as_deref(),
        &candidates,
        &|gate| gates::command_specs(gate, &gates::selected_commands(gate, policy, change_set, execution)),
    );
    if let Some(observer) = &inputs.observer {
        let reviews = observer.deferred.iter().filter(|name| is_review(name)).cloned();
        let gates = gates::deferred_gates(observer, policy, change_set, execution);
        defer_plans(&mut plans, &reviews.chain(gates).collect());
    }
    plans
}

type NeedOf<'a> = Box<dyn Fn(usize, &ChangedFile) -> Need + Sync + 'a>;
type CostOf<'a> = Box<dyn Fn(u64, u64) -> Option<u64> + Sync + 'a>;

fn cost_of<'a>(entry: &'a RegistryLens, reviews: &'a Reviews<'_>) -> CostOf<'a> {
    Box::new(|input, output| reviews.cost_bound(&entry.lens_id, input, output))
}

/// Returns how much of each file a lens or a review looks at; nothing for a gate.
fn need_of<'a>(entry: &'a RegistryLens, policy: &'a Policy, ports: &Ports<'a>) -> NeedOf<'a> {
    let texts = ports.texts;
    match find_lens(&entry.lens_id) {
        Some(lens) => Box::new(move |position, file| match lens.need(file) {
            Need::WholeFile if !texts.has_whole_file(position) => Need::Hunks,
            need @ (Need::Nothing | Need::Hunks | Need::WholeFile) => need,
        }),
        None if is_review(&entry.lens_id) => Box::new(|_, file| Reviews::need(&entry.lens_id, policy, file)),
        None => Box::new(|_, _| Need::Nothing),
    }
}
