//! A stored run that was checked, as answers to commands need it.

use std::collections::BTreeSet;
use std::path::Path;

use super::drift::compare_statement;
use super::exit::Failure;
use super::skill_input::{normalized_input_hash, recorded_overrides};
use crate::store::{Entry, RunDirectory};
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ChangeSet, Coverage, CrossCheck, EmptyChange, FinalVerdict, LedgerTurn, LensPlanList, LensResult,
    LensResultList, RecordedInputs, RunPhase, SkillInput, SkillResult, Trace,
};
use qa_core::attestation::{Judgement, statement};
use qa_core::observer::{defer_plans, is_decision_under};
use qa_core::phases::{RunEvent, next};
use qa_core::policy::Policy;
use qa_core::verdict::{Grounds, verdict};
use qa_formats::answers::Judged;
use qa_run::derive::observer_grounds;
use qa_run::inputs::PolicyInForce;
use qa_run::keys::{execution_key, settings_hash};

/// A run whose files, key and verdict agree with one another.
///
/// Its plans are not executed again, as by `qa-skill verify`: for an answer in a conversation that takes too long.
pub(crate) struct JudgedRun {
    result: SkillResult,
    change_set: ChangeSet,
    phase: RunPhase,
    run_digest: Sha256Hex,
}

impl JudgedRun {
    /// Opens a run directory and checks it; what does not agree is a failure.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        Ok(Self::check(&RunDirectory::open(directory)?)?.0)
    }

    /// Checks a run directory and returns the run with the policy that it was judged by.
    pub(crate) fn check(run: &RunDirectory) -> Result<(Self, Policy), Failure> {
        let (input, result): (SkillInput, SkillResult) = (run.artifact()?, run.artifact()?);
        let change_set: ChangeSet = run.artifact()?;
        let registry = qa_lenses::registry();
        let recorded: RecordedInputs = run.artifact()?;
        let observer = recorded.observer.clone();
        let (plans, results): (LensPlanList, LensResultList) = (run.artifact()?, run.artifact()?);
        ensure(plans.lens_plans == result.lens_plans, "it has two lists of plans")?;
        ensure(results.lens_results == result.lens_results, "it has two lists of results")?;
        let policy = PolicyInForce::parse(recorded, &recorded_overrides(&input), &registry)?.policy;
        let Trace { execution_key_preimage: preimage, config_preimage: config, .. } = run.artifact()?;
        ensure(is_decision_under(observer.as_ref(), &policy), "its policy and its observer disagree")?;
        ensure(config.observer == observer, "its key is that of another observer")?;
        let names: BTreeSet<String> =
            observer.iter().flat_map(|observer| observer.deferred.clone()).collect();
        let mut again = result.lens_plans.clone();
        again.iter_mut().for_each(|plan| plan.planning_codes.retain(|code| *code != Code::CadenceDeferred));
        defer_plans(&mut again, &names);
        ensure(again == result.lens_plans, "plans that its observer deferred are not deferred")?;
        let keys = [&result.execution_key, &execution_key(&preimage)];
        ensure(keys.into_iter().all(|key| *key == run.hashes.execution_key), "its key is another")?;
        let configs = [&input.config_hash, &settings_hash(&config)];
        ensure(
            configs.into_iter().all(|hash| *hash == preimage.config_hash),
            "its configuration is another",
        )?;
        let commits = [
            [&input.base_sha, &input.head_sha],
            [&preimage.base_sha, &preimage.head_sha],
            [&change_set.base_sha, &change_set.head_sha],
        ];
        ensure(commits.windows(2).all(|pair| pair[0] == pair[1]), "its parts name different commits")?;
        let input_hash = normalized_input_hash(&input);
        ensure(input_hash == result.normalized_input_hash, "its result is that of another input")?;
        let stored: FinalVerdict = run.artifact()?;
        ensure(stored == result.final_verdict, "its two verdicts differ")?;
        let (coverage, cross_check): (Coverage, CrossCheck) = (run.artifact()?, run.artifact()?);
        let results: Vec<&LensResult> = result.lens_results.iter().collect();
        let again = verdict(&Grounds {
            mode: policy.mode,
            required_lens_ids: &policy.required_lens_ids(),
            plans: &result.lens_plans,
            results: &results,
            change_set: &change_set,
            coverage: &coverage,
            cross_check: (cross_check != CrossCheck::unavailable()).then_some(&cross_check),
            empty_may_pass: policy.empty_change == EmptyChange::Pass,
            stage: policy.stage,
            observer: observer_grounds(observer.as_ref(), &policy),
            // Notices and the preview of head's policy decide nothing, and are taken as stored.
            notices: &stored.warning_codes,
            policy_preview: stored.policy_preview.clone(),
        });
        ensure(again == result.final_verdict, "its verdict does not follow from its results")?;
        let stated = statement(&Judgement {
            repo_id: &input.repo_id,
            change_set: &change_set,
            config: &config,
            result: &result,
            run_digest: &run.hashes.run_digest,
        });
        let entry = stated.as_ref().map(Entry::artifact).transpose()?;
        let difference = compare_statement(run, entry.as_ref().map(Entry::bytes).as_deref())?;
        ensure(difference.is_none(), "its statement is that of another run")?;
        let phase = next(RunPhase::Active, RunEvent::concluded(result.final_verdict.conclusion))?;
        Ok((Self { result, change_set, phase, run_digest: run.hashes.run_digest.clone() }, policy))
    }

    /// Returns whether a turn of a ledger is about this run.
    pub(crate) fn is_turn(&self, turn: &LedgerTurn) -> bool {
        turn.execution_key == self.result.execution_key && turn.run_digest == self.run_digest
    }

    pub(crate) fn into_change_set(self) -> ChangeSet {
        self.change_set
    }

    pub(crate) fn judged(&self) -> Judged<'_> {
        Judged { result: &self.result, change_set: &self.change_set, phase: self.phase }
    }
}

fn ensure(holds: bool, reason: &str) -> Result<(), Failure> {
    if holds {
        return Ok(());
    }
    Err(Failure::with_code(
        Code::DeterminismDriftDetected,
        format!("the stored run is inconsistent: {reason}"),
    ))
}
