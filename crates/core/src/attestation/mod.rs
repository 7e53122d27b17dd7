//! The in-toto statement of a run: what was judged, by which policy and engine, and which levels the verdict reached.

mod compare;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::canonical;
use super::observer::is_deferred;
use super::plan::PlanKind;
use qa_contracts::ids::{CommitId, Sha256Hex, TreeId};
use qa_contracts::v1::{
    ChangeSet, Conclusion, ConfigPreimage, LensPlan, LensResult, LensStatus, ResourceDigest, SkillResult,
    Statement, StatementResource, StatementSubject, SubjectDigest, SubjectName, VerificationResult,
    VerificationSummary, VerifiedLevel, Verifier, VerifierVersion,
};

pub use compare::{StatementDifference, first_difference};
pub use read::{AttestationError, read};

/// Facts that a statement follows from.
pub struct Judgement<'a> {
    pub repo_id: &'a str,
    pub change_set: &'a ChangeSet,
    pub config: &'a ConfigPreimage,
    pub result: &'a SkillResult,
    pub run_digest: &'a Sha256Hex,
}

/// Returns the statement of a run, or `None` if the run does not record the tree of its head.
pub fn statement(judgement: &Judgement<'_>) -> Option<Statement> {
    let Judgement { repo_id, change_set, config, result, run_digest } = *judgement;
    let levels = levels(judgement);
    let verification_result = match levels.as_slice() {
        [VerifiedLevel::Failed] => VerificationResult::Failed,
        _ => VerificationResult::Passed,
    };
    Some(Statement {
        statement_type: Default::default(),
        subject: subjects(change_set)?,
        predicate_type: Default::default(),
        predicate: VerificationSummary {
            verifier: Verifier {
                id: Default::default(),
                version: VerifierVersion {
                    qa_skill: config.engine_version.clone(),
                    qa_skill_sources: config.source_hash.clone(),
                },
            },
            resource_uri: format!("urn:qa-skill:repository:{}", encoded(repo_id)),
            policy: StatementResource {
                uri: format!("urn:qa-skill:policy:{}", change_set.base_sha),
                digest: ResourceDigest { sha256: config.policy_hash.clone() },
            },
            input_attestations: vec![StatementResource {
                uri: format!("urn:qa-skill:run:{}", result.execution_key),
                digest: ResourceDigest { sha256: run_digest.clone() },
            }],
            verification_result,
            verified_levels: levels,
            slsa_version: Default::default(),
        },
    })
}

fn subjects(change_set: &ChangeSet) -> Option<Vec<StatementSubject>> {
    let head_tree = change_set.head_tree.as_ref()?;
    let mut subjects =
        vec![commit(SubjectName::Head, &change_set.head_sha), tree(SubjectName::Tree, head_tree)];
    subjects.extend(change_set.landing_tree.as_ref().map(|merged| tree(SubjectName::MergedTree, merged)));
    Some(subjects)
}

fn commit(name: SubjectName, id: &CommitId) -> StatementSubject {
    let digest = SubjectDigest { git_commit: Some(id.clone()), ..SubjectDigest::default() };
    StatementSubject { name, digest }
}

fn tree(name: SubjectName, id: &TreeId) -> StatementSubject {
    let digest = SubjectDigest { git_tree: Some(id.clone()), ..SubjectDigest::default() };
    StatementSubject { name, digest }
}

/// Encodes the characters of a repository's id that have no place in a URN.
fn encoded(repo_id: &str) -> String {
    let mut text = String::with_capacity(repo_id.len());
    for byte in repo_id.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-~/".contains(&byte) {
            text.push(byte.into());
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Returns the levels of a verdict: `FAILED` alone unless it is a pass, and for a pass that looked at nothing none.
fn levels(judgement: &Judgement<'_>) -> Vec<VerifiedLevel> {
    let verdict = &judgement.result.final_verdict;
    let plans = &judgement.result.lens_plans;
    if verdict.conclusion != Conclusion::Pass || plans.iter().any(is_deferred) {
        return vec![VerifiedLevel::Failed];
    }
    if verdict.vacuous {
        return Vec::new();
    }
    let results = &judgement.result.lens_results;
    let results: BTreeMap<u64, &LensResult> =
        results.iter().map(|result| (result.plan_ordinal, result)).collect();
    let pairs: Vec<PlanResult<'_>> = plans
        .iter()
        .map(|plan| PlanResult { plan, result: results.get(&plan.plan_ordinal).copied() })
        .collect();
    // Of what a person selects by hand, no plan shows what was left out.
    if judgement.config.requested_lens_ids.is_some() {
        return Vec::new();
    }
    // A stage leaves out what another run judges.
    let is_whole = judgement.config.overrides.stage.is_none();
    let complete = is_whole && !verdict.degraded && pairs.iter().all(PlanResult::is_complete);
    let kinds = [lens_level(&pairs), gate_level(&pairs), review_level(&pairs)];
    complete.then_some(VerifiedLevel::Complete).into_iter().chain(kinds.into_iter().flatten()).collect()
}

/// A plan with its result.
struct PlanResult<'a> {
    plan: &'a LensPlan,
    result: Option<&'a LensResult>,
}

impl PlanResult<'_> {
    fn kind(&self) -> PlanKind {
        PlanKind::from_lens_id(&self.plan.lens_id)
    }

    fn is_complete(&self) -> bool {
        matches!(self.result, Some(result) if result.status == LensStatus::Completed && !result.degraded)
    }

    /// Returns whether a gate read a report or an output. One that the change does not touch reads none.
    fn has_evidence(&self) -> bool {
        let none = canonical::digest(&Vec::<Sha256Hex>::new()).expect("an empty list has a canonical form");
        matches!(self.result, Some(result) if result.adapter_response_hash != none)
    }

    /// Returns whether commands ran for the plan.
    fn is_executed(&self) -> bool {
        let audit = self.result.and_then(|result| result.execution_audit.as_ref());
        audit.is_some_and(|audit| !audit.commands.is_empty())
    }

    /// Returns whether a model replied to every request of the plan.
    fn is_answered(&self) -> bool {
        let review = self.result.and_then(|result| result.review.as_ref());
        let mut samples = review.map(|review| review.samples.iter()).into_iter().flatten().peekable();
        samples.peek().is_some() && samples.all(|sample| sample.code.is_none())
    }

    fn has_files(&self) -> bool {
        !self.plan.changed_files.is_empty()
    }
}

/// Returns whether all plans of a kind completed, of which there is at least one.
fn all_complete<'a>(mut pairs: impl Iterator<Item = &'a PlanResult<'a>>) -> bool {
    let Some(first) = pairs.next() else { return false };
    first.is_complete() && pairs.all(PlanResult::is_complete)
}

fn lens_level(pairs: &[PlanResult<'_>]) -> Option<VerifiedLevel> {
    let lenses = pairs.iter().filter(|pair| pair.kind() == PlanKind::Lens);
    all_complete(lenses).then_some(VerifiedLevel::Rules)
}

fn gate_level(pairs: &[PlanResult<'_>]) -> Option<VerifiedLevel> {
    let gates: Vec<&PlanResult<'_>> = pairs.iter().filter(|pair| pair.kind().gate().is_some()).collect();
    if !all_complete(gates.iter().copied()) || !gates.iter().any(|pair| pair.has_evidence()) {
        return None;
    }
    let executed = gates.iter().all(|pair| pair.is_executed());
    Some(if executed { VerifiedLevel::GatesExecuted } else { VerifiedLevel::GatesReported })
}

/// A review of which no file is read needs no reply, and gives no level either.
fn review_level(pairs: &[PlanResult<'_>]) -> Option<VerifiedLevel> {
    let reviews: Vec<&PlanResult<'_>> = pairs.iter().filter(|pair| pair.kind() == PlanKind::Review).collect();
    let mut read = reviews.iter().filter(|pair| pair.has_files()).peekable();
    let is_answered = read.peek().is_some() && read.all(|pair| pair.is_answered());
    (is_answered && all_complete(reviews.iter().copied())).then_some(VerifiedLevel::Reviews)
}
