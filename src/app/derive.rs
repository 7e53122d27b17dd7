//! The pure line of the flow: from recorded inputs to plans, results, verdict and proof. A live run, a replay and a
//! verification all call this and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::exit::Failure;
use super::inputs::effective;
use super::keys;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, ChangedFile, Conclusion, ConfigPreimage, Coverage, CrossCheck, EmptyChange,
    ExecutionKeyPreimage, FileText, FinalVerdict, GateName, LensPlan, LensResult, PolicyPreview,
    ProviderBinding, RecordedExecution, RecordedGates, RecordedInputs, RecordedLookups, RecordedReplies,
    RecordedSurvey, Registry, Rubric, Waiver,
};
use qa_core::classify::PathSet;
use qa_core::coverage::coverage;
use qa_core::crosscheck::{LineReader, Subject, cross_check};
use qa_core::findings::{self, Judge};
use qa_core::pictures::Screenshot;
use qa_core::plan::{self, Candidate, Need};
use qa_core::policy::{Overrides, Policy};
use qa_core::policy_text;
use qa_core::reviews::is_review;
use qa_core::verdict::{Grounds, verdict};
use qa_core::weakening::{added_waivers, models_changed, reviews_changed, weakened};
use qa_lenses::contract::Lens;
use qa_run::execute::{Executed, Execution};
use qa_run::gates;
use qa_run::gather::Texts;
use qa_run::lookup::Answering;
use qa_run::ports::{Cancellation, Progress};
use qa_run::reviews::{self, Reviews};
use qa_run::survey::Surveys;
use qa_run::sweep::{Joined, Sweep};

/// Everything a verdict is derived from.
pub(crate) struct Recorded<'a> {
    pub(crate) repo_id: &'a str,
    pub(crate) change_set: &'a ChangeSet,
    pub(crate) sensitivity: &'a ChangeSensitivity,
    pub(crate) texts: &'a dyn Texts,
    pub(crate) inputs: &'a RecordedInputs,
    pub(crate) policy: &'a Policy,
    pub(crate) waivers: &'a [Waiver],
    /// The frozen rubric, where the policy names one.
    pub(crate) rubric: Option<&'a Rubric>,
    pub(crate) overrides: &'a Overrides,
    pub(crate) registry: &'a Registry,
    pub(crate) surveys: &'a dyn Surveys,
    pub(crate) lookups: &'a dyn Answering,
    pub(crate) gates: &'a RecordedGates,
    pub(crate) execution: &'a RecordedExecution,
    /// What models answered.
    pub(crate) replies: &'a RecordedReplies,
    pub(crate) lines: &'a LineReader<'a>,
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) progress: &'a dyn Progress,
    /// What shards found, instead of looking here.
    pub(crate) joined: Option<&'a dyn Joined>,
}

/// What is derived.
pub(crate) struct Derived {
    pub(crate) key: ExecutionKey,
    pub(crate) key_preimage: ExecutionKeyPreimage,
    pub(crate) config_preimage: ConfigPreimage,
    pub(crate) plans: Vec<LensPlan>,
    pub(crate) results: Vec<LensResult>,
    pub(crate) coverage: Coverage,
    pub(crate) cross_check: CrossCheck,
    pub(crate) verdict: FinalVerdict,
    pub(crate) surveys: Vec<RecordedSurvey>,
    pub(crate) lookups: RecordedLookups,
    pub(crate) texts: BTreeMap<RepoPath, FileText>,
    pub(crate) screenshots: Vec<Screenshot>,
    pub(crate) retried_tests: u64,
    pub(crate) durations: BTreeMap<GateName, u64>,
    /// What plans are bound to.
    pub(crate) bindings: Vec<ProviderBinding>,
}

/// The lens of an id.
pub(crate) fn find_lens(id: &str) -> Option<&'static dyn Lens> {
    qa_lenses::ALL.iter().copied().find(|lens| lens.spec().id == id)
}

/// Whether a whole file is needed, given its hunks with secrets masked.
pub(crate) type NeedsWholeFile = &'static (dyn Fn(&ChangedFile, &FileText) -> bool + Sync);

/// Whether any lens needs the whole of a file, or the preview does, which names the waivers a change adds. The lens of the
/// rubric needs nothing where the policy names none.
pub(crate) fn needs_whole_file(policy: &Policy) -> NeedsWholeFile {
    if policy.consistency.is_some() {
        &|file, hunks| is_wanted_whole(&|_| true, file, hunks)
    } else {
        &|file, hunks| is_wanted_whole(&|lens| lens.spec().id != qa_lenses::consistency::ID, file, hunks)
    }
}

fn is_wanted_whole(asked: &dyn Fn(&dyn Lens) -> bool, file: &ChangedFile, hunks: &FileText) -> bool {
    let is_waivers = file.path.as_bytes() == qa_core::policy::WAIVERS_PATH.as_bytes();
    let wants = |lens: &&dyn Lens| {
        lens.need(file) == Need::WholeFile && asked(*lens) && lens.wants_whole_file(file, hunks)
    };
    is_waivers || qa_lenses::ALL.iter().any(wants)
}

type NeedOf<'a> = Box<dyn Fn(usize, &ChangedFile) -> Need + Sync + 'a>;
type CostOf<'a> = Box<dyn Fn(u64, u64) -> Option<u64> + Sync + 'a>;

/// The reviews of what is recorded.
pub(crate) fn reviews<'a>(recorded: &Recorded<'a>) -> Reviews<'a> {
    Reviews::of(recorded.policy, recorded.change_set, recorded.texts, recorded.rubric)
}

/// The plans, in queue order.
pub(crate) fn plans(recorded: &Recorded<'_>) -> Vec<LensPlan> {
    let texts = recorded.texts;
    let reviews = reviews(recorded);
    let lens_ids = recorded.registry.lenses.iter().map(|entry| entry.lens_id.as_str());
    let costs: Vec<CostOf<'_>> = lens_ids
        .map(|id| -> CostOf<'_> { Box::new(|input, output| reviews.cost_bound(id, input, output)) })
        .collect();
    let file_bytes = |position| reviews.file_bytes(position);
    let askings: Vec<Option<plan::Asking<'_>>> = recorded
        .registry
        .lenses
        .iter()
        .zip(&costs)
        .map(|(entry, cost)| reviews.planning(&entry.lens_id, &file_bytes, cost.as_ref()))
        .collect();
    let needs: Vec<NeedOf<'_>> = recorded
        .registry
        .lenses
        .iter()
        .map(|entry| -> NeedOf<'_> {
            match find_lens(&entry.lens_id) {
                Some(lens) => Box::new(move |position, file| match lens.need(file) {
                    Need::WholeFile if !texts.has_whole_file(position) => Need::Hunks,
                    need @ (Need::Nothing | Need::Hunks | Need::WholeFile) => need,
                }),
                None if is_review(&entry.lens_id) => {
                    Box::new(|_, file| Reviews::need(&entry.lens_id, recorded.policy, file))
                }
                None => Box::new(|_, _| Need::Nothing),
            }
        })
        .collect();
    let candidates: Vec<Candidate<'_>> = recorded
        .registry
        .lenses
        .iter()
        .zip(&needs)
        .zip(&askings)
        .map(|((entry, need), asking)| Candidate {
            lens: entry,
            triggers: PathSet::new(entry.triggers.iter().map(String::as_str))
                .expect("a test compiles every trigger"),
            symbols: find_lens(&entry.lens_id).map_or(&[], |lens| lens.spec().trigger_symbols),
            need: need.as_ref(),
            asking: asking.as_ref(),
        })
        .collect();
    plan::plan(
        recorded.change_set,
        recorded.sensitivity,
        recorded.policy,
        recorded.overrides.lens_ids.as_deref(),
        &candidates,
        &|gate| {
            let calls = gates::of_gate(gate, recorded.policy, recorded.change_set, recorded.execution);
            gates::specs(gate, &calls)
        },
    )
}

/// The key of what is derived, and what it is the digest of.
pub(crate) struct Keyed {
    pub(crate) key: ExecutionKey,
    pub(crate) preimage: ExecutionKeyPreimage,
    pub(crate) config: ConfigPreimage,
}

/// Preimages and key.
pub(crate) fn key(recorded: &Recorded<'_>) -> Keyed {
    let requested = recorded.overrides.lens_ids.as_deref();
    let change_set = recorded.change_set;
    let config = keys::config_preimage(
        &change_set.merge_base_sha,
        recorded.policy,
        (recorded.waivers, recorded.rubric),
        recorded.registry,
        recorded.overrides,
        recorded.gates,
    );
    let config_hash = qa_core::canonical::digest(&config).expect("settings have a canonical form");
    let preimage = ExecutionKeyPreimage {
        repo_id: recorded.repo_id.to_owned(),
        base_sha: change_set.base_sha.clone(),
        head_sha: change_set.head_sha.clone(),
        selected_lens_versions: keys::selected_lenses(recorded.registry, recorded.policy, requested),
        provider_adapter_versions: keys::adapters(&reviews(recorded)),
        run_mode: recorded.policy.mode,
        config_hash,
    };
    Keyed { key: keys::execution_key(&preimage), preimage, config }
}

/// What gates are judged from.
fn evidence<'a>(recorded: &Recorded<'a>, key: &'a ExecutionKey) -> gates::Evidence<'a> {
    gates::Evidence {
        policy: recorded.policy,
        change_set: recorded.change_set,
        reports: recorded.gates,
        execution: recorded.execution,
        key,
    }
}

/// What plans are executed with.
pub(crate) fn execution<'a>(recorded: &Recorded<'a>, key: &'a ExecutionKey) -> Execution<'a> {
    Execution {
        sweep: Sweep {
            change_set: recorded.change_set,
            texts: recorded.texts,
            workers: recorded.policy.max_concurrency,
            cancellation: recorded.cancellation,
            progress: recorded.progress,
            rubric: recorded.rubric,
            joined: recorded.joined,
        },
        policy: recorded.policy,
        waivers: recorded.waivers,
        surveys: recorded.surveys,
        lookups: recorded.lookups,
        evidence: evidence(recorded, key),
        answers: reviews::Evidence { reviews: reviews(recorded), replies: recorded.replies },
        lens: &find_lens,
    }
}

/// Derives everything, by the [`key`] of the same inputs.
pub(crate) fn derive(recorded: &Recorded<'_>, keyed: Keyed) -> Result<Derived, Failure> {
    let Keyed { key, preimage: key_preimage, config: config_preimage } = keyed;
    let plans = plans(recorded);
    let executed = execution(recorded, &key).run(&plans)?;
    let coverage = coverage(recorded.change_set, &plans, &executed.results, &executed.inspected);
    let check = run_cross_check(recorded, &key, &plans, &executed, &coverage);
    let required: BTreeSet<String> = recorded
        .policy
        .lenses
        .iter()
        .filter(|(_, settings)| settings.required)
        .map(|(id, _)| id.clone())
        .collect();
    let mut grounds = Grounds {
        mode: recorded.policy.mode,
        required_lens_ids: &required,
        plans: &plans,
        results: &executed.results,
        change_set: recorded.change_set,
        coverage: &coverage,
        cross_check: check.as_ref(),
        empty_may_pass: recorded.policy.empty_change == EmptyChange::Pass,
        notices: &executed.notices,
        policy_preview: None,
    };
    let binding = verdict(&grounds);
    grounds.policy_preview = preview(recorded, &plans, &executed, binding.conclusion);
    let verdict = verdict(&grounds);
    Ok(Derived {
        key,
        key_preimage,
        config_preimage,
        cross_check: check.unwrap_or(CrossCheck {
            schema_version: Default::default(),
            passed: false,
            items: Vec::new(),
        }),
        verdict,
        coverage,
        results: executed.results,
        surveys: executed.surveys,
        lookups: executed.lookups,
        texts: executed.texts,
        screenshots: gates::screenshots(executed.screenshots, recorded.gates, recorded.execution),
        retried_tests: executed.retried_tests,
        durations: executed.durations,
        bindings: keys::bindings(&reviews(recorded)),
        plans,
    })
}

/// The verifier has its own code path; when it cannot finish, there is no PASS (D-11).
fn run_cross_check(
    recorded: &Recorded<'_>,
    key: &ExecutionKey,
    plans: &[LensPlan],
    executed: &Executed,
    coverage: &Coverage,
) -> Option<CrossCheck> {
    catch_unwind(AssertUnwindSafe(|| {
        cross_check(&Subject {
            change_set: recorded.change_set,
            policy: recorded.policy,
            plans,
            plans_again: &self::plans(recorded),
            results: &executed.results,
            coverage,
            self_test: &executed.self_test,
            notices: &executed.notices,
            lines: recorded.lines,
            gates: &gates::seen(&evidence(recorded, key)),
        })
    }))
    .ok()
}

/// What head's own policy would say; it never decides anything.
fn preview(
    recorded: &Recorded<'_>,
    plans: &[LensPlan],
    executed: &Executed,
    binding: Conclusion,
) -> Option<PolicyPreview> {
    let touched = recorded.change_set.files.iter().any(|file| {
        let is_policy = |path: &RepoPath| {
            path.as_bytes().starts_with(b".qa-skill/") && path.as_bytes().ends_with(b".toml")
        };
        is_policy(&file.path) || file.old_path.as_ref().is_some_and(is_policy)
    });
    if !touched {
        return None;
    }
    let text = recorded.inputs.head_policy.as_deref();
    let head = match effective(text, recorded.overrides, recorded.registry) {
        Ok(policy) => policy,
        Err(error) => {
            let error = Some(error.to_string());
            return Some(PolicyPreview {
                conclusion: None,
                blocking_findings: 0,
                error,
                weakened: Vec::new(),
            });
        }
    };
    let blocking = preview_blocking(recorded, plans, executed, &head);
    let conclusion = match (blocking, binding) {
        (1.., _) => Conclusion::Fail,
        (0, Conclusion::CouldNotComplete) => Conclusion::CouldNotComplete,
        (0, Conclusion::Pass | Conclusion::Fail) => Conclusion::Pass,
    };
    let mut settings = weakened(recorded.policy, &head);
    settings.extend(models_changed(recorded.policy, &head));
    settings.extend(reviews_changed(recorded.policy, &head));
    settings.extend(head_waivers(recorded));
    Some(PolicyPreview {
        conclusion: Some(conclusion),
        blocking_findings: blocking,
        error: None,
        weakened: settings,
    })
}

/// Waivers the change adds; they are read out of the change's own text, since only the base's are in force.
fn head_waivers(recorded: &Recorded<'_>) -> Vec<qa_contracts::v1::WeakenedSetting> {
    let path = RepoPath::from_bytes(qa_core::policy::WAIVERS_PATH.as_bytes()).expect("a plain path");
    let Ok(position) = recorded.change_set.files.binary_search_by(|file| file.path.cmp(&path)) else {
        return Vec::new();
    };
    let Ok(text) = recorded.texts.text(position) else { return Vec::new() };
    let parse = |text: Option<&str>| {
        text.and_then(|text| policy_text::parse_waivers(text, recorded.registry).ok()).unwrap_or_default()
    };
    added_waivers(&parse(recorded.inputs.base_waivers.as_deref()), &parse(text.full_head.as_deref()))
}

fn preview_blocking(recorded: &Recorded<'_>, plans: &[LensPlan], executed: &Executed, head: &Policy) -> u64 {
    let files = recorded.change_set.files.iter().map(|file| (&file.path, file)).collect();
    let mut blocking = 0;
    for (index, plan) in plans.iter().enumerate() {
        if !head.lenses.get(&plan.lens_id).is_some_and(|lens| lens.enabled) {
            continue;
        }
        let mut judge = Judge {
            policy: head,
            waivers: recorded.waivers,
            today: findings::day(recorded.change_set.base_time),
            surveys: &executed.surveys,
            moved: executed.moved[index].clone(),
        };
        let findings = findings::judge(&plan.lens_id, executed.statements[index].clone(), &files, &mut judge);
        blocking += findings.iter().filter(|finding| finding.blocking).count() as u64;
    }
    blocking
}
