//! The pure line of the flow, from inputs to plans, results, verdict and proof. A live run, a replay and a verification
//! call this and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::execute::{Executed, Execution};
use super::gates;
use super::head_policy::{self, HeadTexts};
use super::inputs::{Inputs, Ports, effective_policy};
use super::keys::Keyed;
use super::plans::{find_lens, plans, reviews};
use super::ports::PortError;
use super::reviews;
use super::sweep::Sweep;
use qa_contracts::codes::Code;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{
    Conclusion, ConfigPreimage, Coverage, CrossCheck, EmptyChange, ExecutionKeyPreimage, FileText,
    FinalVerdict, GateName, LedgerState, LensPlan, LensResult, PolicyPreview, ProviderBinding,
    RecordedLookups, RecordedObserver, RecordedSurvey, Registry, Waiver, WaiverFile, WeakenedSetting,
};
use qa_core::calendar;
use qa_core::coverage::{InspectedPlan, coverage};
use qa_core::crosscheck::{SelfTest, Subject, cross_check};
use qa_core::findings::{self, Judge};
use qa_core::pictures::Screenshot;
use qa_core::policy::file;
use qa_core::policy::weakening::{added_waivers, models_changed, reviews_changed, weakened};
use qa_core::policy::{Policy, WAIVERS_PATH};
use qa_core::verdict::{Grounds, ObserverGrounds, verdict};

/// The outcome of a run.
pub struct Outcome {
    pub key: ExecutionKey,
    pub key_preimage: ExecutionKeyPreimage,
    pub config_preimage: ConfigPreimage,
    pub plans: Vec<LensPlan>,
    pub results: Vec<LensResult>,
    pub coverage: Coverage,
    pub cross_check: CrossCheck,
    pub verdict: FinalVerdict,
    pub surveys: Vec<RecordedSurvey>,
    pub lookups: RecordedLookups,
    /// Texts of the files with findings.
    pub texts: BTreeMap<RepoPath, FileText>,
    pub screenshots: Vec<Screenshot>,
    pub retries: u64,
    /// Duration of each gate's commands, in milliseconds.
    pub durations: BTreeMap<GateName, u64>,
    /// Models and adapters that plans are bound to.
    pub bindings: Vec<ProviderBinding>,
}

/// Returns what plans are executed with.
pub fn execution<'a>(inputs: &'a Inputs, ports: &Ports<'a>, key: &'a ExecutionKey) -> Execution<'a> {
    let in_force = &inputs.in_force;
    Execution {
        sweep: Sweep {
            change_set: &inputs.change_set,
            texts: ports.texts,
            workers: in_force.policy.max_concurrency,
            cancellation: ports.cancellation,
            progress: ports.progress,
            rubric: in_force.rubric.as_ref(),
            joined: ports.joined,
        },
        policy: &in_force.policy,
        waivers: &in_force.waivers,
        surveys: ports.surveys,
        lookups: ports.lookups,
        evidence: gate_evidence(inputs, key),
        replies: reviews::Evidence { reviews: reviews(inputs, ports), replies: &inputs.replies },
        lens: &find_lens,
    }
}

/// Derives plans, results and verdict. `keyed` is the key of the same inputs.
pub fn derive(inputs: &Inputs, ports: &Ports<'_>, keyed: Keyed) -> Result<Outcome, PortError> {
    let Keyed { key, preimage: key_preimage, config: config_preimage, bindings } = keyed;
    let (policy, change_set) = (&inputs.in_force.policy, &inputs.change_set);
    let plans = plans(inputs, ports);
    let executed = execution(inputs, ports, &key).run(&plans)?;
    let results: Vec<&LensResult> = executed.outcomes.iter().map(|outcome| &outcome.result).collect();
    let coverage = coverage(change_set, &inspected_plans(&plans, &executed), &executed.gate_looks);
    ports.cancellation.journal.results_ready();
    let judged = Judged {
        policy,
        plans: &plans,
        results: &results,
        coverage: &coverage,
        self_test: &executed.self_test,
        notices: &executed.notices,
    };
    let check = run_cross_check(inputs, ports, &key, &judged);
    let required = policy.required_lens_ids();
    let mut grounds = judged.grounds(inputs, &required, check.as_ref());
    let binding = verdict(&grounds);
    grounds.policy_preview = preview(inputs, ports, &plans, &executed, binding.conclusion);
    let verdict = verdict(&grounds);
    Ok(Outcome {
        key,
        key_preimage,
        config_preimage,
        cross_check: check.unwrap_or_else(CrossCheck::unavailable),
        verdict,
        coverage,
        results: executed.outcomes.into_iter().map(|outcome| outcome.result).collect(),
        surveys: executed.surveys,
        lookups: executed.lookups,
        texts: executed.texts,
        screenshots: gates::screenshots(executed.screenshots, &inputs.gates, &inputs.execution),
        retries: executed.retries,
        durations: executed.durations,
        bindings,
        plans,
    })
}

/// Results and verdict of a change by one policy.
pub struct Judgement {
    pub results: Vec<LensResult>,
    pub verdict: FinalVerdict,
}

/// Executes the plans of a change once, by the policy of `inputs`, and judges the change by each policy. `None` where one differs
/// in more than its preset and the strengths of rules, so that its plans may be others.
pub fn judge_by_each(
    inputs: &Inputs,
    ports: &Ports<'_>,
    key: &ExecutionKey,
    policies: &[Policy],
) -> Result<Option<Vec<Judgement>>, PortError> {
    if policies.iter().any(|policy| !differs_in_strengths_alone(policy, &inputs.in_force.policy)) {
        return Ok(None);
    }
    let plans = plans(inputs, ports);
    let executed = execution(inputs, ports, key).run(&plans)?;
    let coverage = coverage(&inputs.change_set, &inspected_plans(&plans, &executed), &executed.gate_looks);
    let mut judgements = Vec::with_capacity(policies.len());
    for policy in policies {
        let by_policy = Execution { policy, ..execution(inputs, ports, key) };
        let weighed = by_policy.weigh_again(&plans, &executed)?;
        let results: Vec<&LensResult> = weighed.results.iter().collect();
        let judged = Judged {
            policy,
            plans: &plans,
            results: &results,
            coverage: &coverage,
            self_test: &executed.self_test,
            notices: &weighed.notices,
        };
        let check = run_cross_check(inputs, ports, key, &judged);
        let verdict = verdict(&judged.grounds(inputs, &policy.required_lens_ids(), check.as_ref()));
        judgements.push(Judgement { results: weighed.results, verdict });
    }
    Ok(Some(judgements))
}

/// Returns whether policies are the same but for their preset and the strengths of rules.
fn differs_in_strengths_alone(policy: &Policy, other: &Policy) -> bool {
    let Policy { preset, rules, settings, .. } = other;
    let alike =
        Policy { preset: *preset, rules: rules.clone(), settings: settings.clone(), ..policy.clone() };
    alike == *other
}

/// Executed plans with everything that a verdict is made of.
struct Judged<'a> {
    policy: &'a Policy,
    plans: &'a [LensPlan],
    results: &'a [&'a LensResult],
    coverage: &'a Coverage,
    self_test: &'a [SelfTest],
    notices: &'a [Code],
}

impl<'a> Judged<'a> {
    fn grounds(
        &self,
        inputs: &'a Inputs,
        required: &'a BTreeSet<String>,
        check: Option<&'a CrossCheck>,
    ) -> Grounds<'a> {
        Grounds {
            mode: self.policy.mode,
            required_lens_ids: required,
            plans: self.plans,
            results: self.results,
            change_set: &inputs.change_set,
            coverage: self.coverage,
            cross_check: check,
            empty_may_pass: self.policy.empty_change == EmptyChange::Pass,
            notices: self.notices,
            stage: self.policy.stage,
            observer: observer_grounds(inputs.observer.as_ref(), self.policy),
            policy_preview: None,
        }
    }
}

/// Returns the observer's part in the verdict, where the policy enables an observer.
pub fn observer_grounds(decision: Option<&RecordedObserver>, policy: &Policy) -> Option<ObserverGrounds> {
    let RecordedObserver { mode, ledger, .. } = decision?;
    let may_pass = policy.observer.as_ref()?.pass.contains(mode);
    Some(ObserverGrounds { mode: *mode, may_pass, lost_ledger: *ledger == Some(LedgerState::Lost) })
}

fn inspected_plans<'a>(plans: &'a [LensPlan], executed: &'a Executed) -> Vec<InspectedPlan<'a>> {
    plans
        .iter()
        .zip(&executed.outcomes)
        .map(|(plan, outcome)| InspectedPlan { plan, result: &outcome.result, inspected: &outcome.inspected })
        .collect()
}

/// Returns what gates are judged from.
pub fn gate_evidence<'a>(inputs: &'a Inputs, key: &'a ExecutionKey) -> gates::Evidence<'a> {
    gates::Evidence {
        policy: &inputs.in_force.policy,
        change_set: &inputs.change_set,
        reports: &inputs.gates,
        execution: &inputs.execution,
        observer: inputs.observer.as_ref(),
        key,
    }
}

/// Checks plans and results by code of its own. Returns `None` if it panics; then there is no PASS (D-11).
fn run_cross_check(
    inputs: &Inputs,
    ports: &Ports<'_>,
    key: &ExecutionKey,
    judged: &Judged<'_>,
) -> Option<CrossCheck> {
    catch_unwind(AssertUnwindSafe(|| {
        cross_check(&Subject {
            change_set: &inputs.change_set,
            policy: judged.policy,
            plans: judged.plans,
            plans_again: &super::plans::plans(inputs, ports),
            results: judged.results,
            coverage: judged.coverage,
            self_test: judged.self_test,
            notices: judged.notices,
            lines: ports.lines,
            gates: &gates::gate_reports(&gate_evidence(inputs, key)),
        })
    }))
    .ok()
}

/// Judges by head's own policy where the change touches it. The preview decides nothing.
fn preview(
    inputs: &Inputs,
    ports: &Ports<'_>,
    plans: &[LensPlan],
    executed: &Executed,
    binding: Conclusion,
) -> Option<PolicyPreview> {
    if !head_policy::is_touched(&inputs.change_set) {
        return None;
    }
    let in_force = &inputs.in_force;
    let policy = in_force.texts.head_policy.as_deref();
    let waivers = head_waivers(inputs, ports);
    let texts = HeadTexts { policy, waivers: waivers.as_deref() };
    let head = match effective_policy(policy, &inputs.overrides, &inputs.registry) {
        Ok(policy) => policy,
        Err(error) => return Some(unreadable_preview(error.to_string())),
    };
    if let Some(fault) = head_policy::fault(&inputs.change_set, &texts, &inputs.registry) {
        return Some(unreadable_preview(fault));
    }
    let waivers_of_head = match changed_position(inputs, WAIVERS_PATH) {
        Some(_) => parse_waivers(texts.waivers, &inputs.registry).waiver,
        None => in_force.waivers.clone(),
    };
    let blocking = blocking_by_policy(inputs, plans, executed, &head, &waivers_of_head);
    let conclusion = match (blocking, binding) {
        (1.., _) => Conclusion::Fail,
        (0, Conclusion::CouldNotComplete) => Conclusion::CouldNotComplete,
        (0, Conclusion::Pass | Conclusion::Fail) => Conclusion::Pass,
    };
    let mut settings = weakened(&in_force.policy, &head);
    settings.extend(models_changed(&in_force.policy, &head));
    settings.extend(reviews_changed(&in_force.policy, &head));
    settings.extend(weakened_waivers(inputs, texts.waivers));
    Some(PolicyPreview {
        conclusion: Some(conclusion),
        blocking_findings: blocking,
        error: None,
        weakened: settings,
    })
}

fn unreadable_preview(reason: String) -> PolicyPreview {
    PolicyPreview { conclusion: None, blocking_findings: 0, error: Some(reason), weakened: Vec::new() }
}

/// Returns head's waivers, where the change touches them and they are text.
fn head_waivers(inputs: &Inputs, ports: &Ports<'_>) -> Option<String> {
    ports.texts.text(changed_position(inputs, WAIVERS_PATH)?).ok()?.full_head.clone()
}

/// Returns the position of a file among those that the change touches.
fn changed_position(inputs: &Inputs, path: &str) -> Option<usize> {
    let path = RepoPath::from_bytes(path.as_bytes()).expect("a plain path");
    inputs.change_set.files.binary_search_by(|file| file.path.cmp(&path)).ok()
}

/// Lists the waivers that the change adds, from the change's own text: only the base's are in force.
fn weakened_waivers(inputs: &Inputs, head: Option<&str>) -> Vec<WeakenedSetting> {
    let base = inputs.in_force.texts.base_waivers.as_deref();
    added_waivers(&parse_waivers(base, &inputs.registry), &parse_waivers(head, &inputs.registry))
}

/// Parses waivers; a file that is missing or invalid has none.
fn parse_waivers(text: Option<&str>, registry: &Registry) -> WaiverFile {
    text.and_then(|text| file::parse_waivers(text, registry).ok()).unwrap_or_default()
}

/// Counts the findings that would block by another policy with other waivers.
fn blocking_by_policy(
    inputs: &Inputs,
    plans: &[LensPlan],
    executed: &Executed,
    policy: &Policy,
    waivers: &[Waiver],
) -> u64 {
    let files = inputs.change_set.files.iter().map(|file| (&file.path, file)).collect();
    let mut blocking = 0;
    for (plan, outcome) in plans.iter().zip(&executed.outcomes) {
        if !policy.lenses.get(&plan.lens_id).is_some_and(|lens| lens.enabled) {
            continue;
        }
        let mut judge = Judge {
            policy,
            waivers,
            today: calendar::day(inputs.change_set.base_time),
            surveys: &executed.surveys,
            moved: outcome.moved.clone(),
        };
        let findings = findings::judge(&plan.lens_id, outcome.statements.clone(), &files, &mut judge);
        blocking += findings.iter().filter(|finding| finding.blocking).count() as u64;
    }
    blocking
}
