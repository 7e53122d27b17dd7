//! From plans to results: budget, sweep, evidence, surveys, judgement, and the proof of what was looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds;
use super::gates::{self, Caption};
use super::lookup::TreeLookups;
use super::parts;
use super::ports::PortError;
use super::reviews;
use super::statements::{checked_statements, find_file};
use super::survey::Surveys;
use super::sweep::{Assignment, LensSweep, Sweep};
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeSet, ChangedFile, ExecutionAudit, FileText, Finding, GateName, Landing, LensPlan, LensResult,
    LensStatus, PartFile, RecordedLookups, RecordedSurvey, ReviewRecord, Strength, UsageMetrics, Waiver,
};
use qa_core::calendar;
use qa_core::canonical;
use qa_core::coverage::{GateLooks, InspectedHunks, unparsed_line};
use qa_core::crosscheck::SelfTest;
use qa_core::escape::harmless;
use qa_core::findings::{self, Judge, MovedCounts, Statement, UNLISTED};
use qa_core::plan::{self, PlanKind, included_hunks};
use qa_core::policy::Policy;
use qa_lenses::contract::{Draft, Lens};

/// Everything plans are executed with.
pub struct Execution<'a> {
    pub sweep: Sweep<'a>,
    pub policy: &'a Policy,
    pub waivers: &'a [Waiver],
    pub surveys: &'a dyn Surveys,
    /// Answers about the rest of the repository.
    pub lookups: &'a TreeLookups<'a>,
    /// Evidence of the gates.
    pub evidence: gates::Evidence<'a>,
    /// Evidence of the reviews.
    pub replies: reviews::Evidence<'a>,
    /// Returns the lens of an id.
    pub lens: &'a dyn Fn(&str) -> Option<&'static dyn Lens>,
}

/// The outcome of one plan.
pub struct PlanOutcome {
    pub result: LensResult,
    pub inspected: InspectedHunks,
    /// Statements before the policy weighed them, so that another policy can weigh them again.
    pub statements: Vec<Statement>,
    pub moved: MovedCounts,
}

/// The outcomes of all plans, and what they looked up, left and noticed.
pub struct Executed {
    /// In the order of the plans.
    pub outcomes: Vec<PlanOutcome>,
    pub surveys: Vec<RecordedSurvey>,
    /// Lookups of lenses in files that did not change.
    pub lookups: RecordedLookups,
    pub self_test: Vec<SelfTest>,
    /// The text of every file with a finding, by path.
    pub texts: BTreeMap<RepoPath, FileText>,
    pub notices: Vec<Code>,
    /// Pictures that tests of gates left.
    pub screenshots: BTreeMap<RepoPath, Caption>,
    /// Number of further attempts at tests of gates.
    pub retries: u64,
    /// Looks of gates at changed files.
    pub gate_looks: GateLooks,
    /// Duration of each gate's commands, in milliseconds.
    pub durations: BTreeMap<GateName, u64>,
}

/// Results of executed plans by another policy.
pub struct Weighed {
    /// In the order of the plans.
    pub results: Vec<LensResult>,
    pub notices: Vec<Code>,
}

/// The statements of one plan with everything else that goes into its result, before the policy weighs them.
struct PlanReport {
    statements: Vec<Statement>,
    moved: MovedCounts,
    inspected: InspectedHunks,
    status: LensStatus,
    errors: BTreeSet<Code>,
    warnings: BTreeSet<Code>,
    summary: Vec<String>,
    usage: UsageMetrics,
    audit: Option<ExecutionAudit>,
    response_hash: Sha256Hex,
    review: Option<ReviewRecord>,
}

impl Execution<'_> {
    /// Executes all plans.
    pub fn run(&self, plans: &[LensPlan]) -> Result<Executed, PortError> {
        let refusals = self.refusals(plans);
        let (positions, assignments) = self.admitted(plans, &refusals);
        let (swept, self_test) = self.sweep.run(&assignments, self.policy, self.lookups)?;
        let lookups = self.lookups.recorded()?;
        let moved = self.moved(&assignments, &swept)?;

        let mut executed = Executed {
            outcomes: Vec::with_capacity(plans.len()),
            surveys: Vec::new(),
            lookups,
            self_test,
            texts: BTreeMap::new(),
            notices: Vec::new(),
            screenshots: BTreeMap::new(),
            retries: 0,
            gate_looks: BTreeMap::new(),
            durations: BTreeMap::new(),
        };
        let mut reviewed = self.replies.judge_replies(plans, &refusals)?;
        let mut by_plan: BTreeMap<usize, (LensSweep, MovedCounts)> =
            positions.into_iter().zip(swept.into_iter().zip(moved)).collect();
        for (index, plan) in plans.iter().enumerate() {
            let refusal = refusals[index];
            let report = match PlanKind::from_lens_id(&plan.lens_id) {
                PlanKind::Gate(gate) => self.report_gate(gate, plan, &mut executed),
                PlanKind::Review => self.report_review(plan, reviewed.remove(&index)),
                PlanKind::Lens => {
                    let (swept, moved) = by_plan.remove(&index).unwrap_or_default();
                    self.report_lens(plan, swept, moved, &mut executed)?
                }
            };
            let refusal = refusal.or_else(|| over_pull_request_budget(plan, &report));
            self.keep_texts(&report.statements, &mut executed.texts)?;
            let outcome = self.outcome(plan, refusal, report, &executed.surveys);
            executed.outcomes.push(outcome);
        }
        let results: Vec<&LensResult> = executed.outcomes.iter().map(|outcome| &outcome.result).collect();
        self.replies.check(plans, &results)?;
        let mut results: Vec<&mut LensResult> =
            executed.outcomes.iter_mut().map(|outcome| &mut outcome.result).collect();
        bounds::bound_results(&mut results);
        executed.notices = self.notices(executed.outcomes.iter().map(|outcome| &outcome.result));
        Ok(executed)
    }

    /// Weighs a plan's statements by the policy and makes its result. A plan that was refused has a result that says so.
    fn outcome(
        &self,
        plan: &LensPlan,
        refusal: Option<plan::Refusal>,
        report: PlanReport,
        surveys: &[RecordedSurvey],
    ) -> PlanOutcome {
        let findings = self.judge(plan, report.statements.clone(), report.moved.clone(), surveys);
        let (status, error_codes) = match refusal {
            Some(refusal) => (refusal.status, vec![refusal.code]),
            None => (report.status, report.errors.into_iter().collect()),
        };
        let degraded = match refusal {
            Some(_) => status == LensStatus::Skipped,
            None => status == LensStatus::Degraded,
        };
        let mut warnings = report.warnings;
        warnings.extend(refusal.is_some_and(|refusal| refusal.escalated).then_some(Code::BudgetEscalated));
        let result = LensResult {
            schema_version: Default::default(),
            plan_ordinal: plan.plan_ordinal,
            lens_id: plan.lens_id.clone(),
            sub_lens_id: plan.sub_lens_id.clone(),
            lens_version: plan.lens_version.clone(),
            status,
            degraded,
            findings,
            evidence_summary: report.summary,
            usage: report.usage,
            error_codes,
            warning_codes: warnings.into_iter().collect(),
            execution_audit: report.audit,
            adapter_response_hash: report.response_hash,
            review: report.review,
        };
        PlanOutcome {
            result,
            inspected: report.inspected,
            statements: report.statements,
            moved: report.moved,
        }
    }

    /// Weighs a plan's statements by the policy.
    fn judge(
        &self,
        plan: &LensPlan,
        statements: Vec<Statement>,
        moved: MovedCounts,
        surveys: &[RecordedSurvey],
    ) -> Vec<Finding> {
        let mut judge = Judge {
            policy: self.policy,
            waivers: self.waivers,
            today: calendar::day(self.sweep.change_set.base_time),
            surveys,
            moved,
        };
        let files = by_path(self.sweep.change_set);
        let mut findings = findings::judge(&plan.lens_id, statements, &files, &mut judge);
        for finding in &mut findings {
            finding.sub_lens_id.clone_from(&plan.sub_lens_id);
        }
        findings
    }

    /// Weighs the statements of executed plans by the policy of this execution. The caller makes sure that the policy they were
    /// executed with differs in the strengths of rules alone, which no plan and no lens reads.
    pub fn weigh_again(&self, plans: &[LensPlan], executed: &Executed) -> Result<Weighed, PortError> {
        let mut surveys = executed.surveys.clone();
        for (plan, outcome) in plans.iter().zip(&executed.outcomes) {
            if let Some(lens) = (self.lens)(&plan.lens_id) {
                self.survey(lens, &outcome.statements, &mut surveys)?;
            }
        }
        let weigh = plans.iter().zip(&executed.outcomes).map(|(plan, outcome)| LensResult {
            findings: self.judge(plan, outcome.statements.clone(), outcome.moved.clone(), &surveys),
            ..outcome.result.clone()
        });
        let mut results: Vec<LensResult> = weigh.collect();
        bounds::bound_results(&mut results.iter_mut().collect::<Vec<_>>());
        let notices = self.notices(results.iter());
        Ok(Weighed { results, notices })
    }

    /// Reports what a gate's reports and commands say.
    fn report_gate(&self, gate: GateName, plan: &LensPlan, executed: &mut Executed) -> PlanReport {
        let outcome = gates::judge_gate(gate, plan.plan_ordinal, &self.evidence);
        executed.screenshots.extend(outcome.screenshots);
        executed.retries += outcome.retries;
        executed.gate_looks.insert(gate, outcome.looks);
        executed.durations.extend(outcome.duration_ms.map(|duration| (gate, duration)));
        PlanReport {
            statements: outcome.statements,
            moved: outcome.moved,
            inspected: self.nothing_inspected(),
            status: if outcome.errors.is_empty() { LensStatus::Completed } else { LensStatus::Failed },
            errors: outcome.errors,
            warnings: outcome.warnings,
            summary: outcome.summary,
            usage: UsageMetrics::NONE,
            audit: outcome.audit,
            response_hash: canonical::digest(&outcome.digests).expect("digests have a canonical form"),
            review: None,
        }
    }

    /// Reports the findings in the replies to a review; a refused one has no outcome.
    fn report_review(&self, plan: &LensPlan, outcome: Option<reviews::ReviewOutcome>) -> PlanReport {
        let is_admitted = outcome.is_some();
        let outcome = outcome.unwrap_or_default();
        let response_hash = outcome.response_hash();
        let Completeness { mut status, mut errors } = self.completeness(plan);
        if outcome.is_doubtful {
            status = LensStatus::Degraded;
            errors.insert(Code::EvidenceUnverified);
        }
        if !outcome.errors.is_empty() {
            status = LensStatus::Failed;
        }
        errors.extend(outcome.errors);
        let mut warnings = outcome.warnings;
        warnings.extend(planning_warnings(plan));
        let inspected = match is_admitted && status != LensStatus::Failed {
            true => self.included(plan),
            false => self.nothing_inspected(),
        };
        let mut summary = outcome.summary;
        summary.push(inspection_summary(plan, &inspected));
        PlanReport {
            statements: outcome.statements.into_iter().map(|reviewed| reviewed.statement).collect(),
            moved: MovedCounts::default(),
            inspected,
            status,
            warnings: warnings.difference(&errors).copied().collect(),
            errors,
            summary,
            usage: outcome.usage.unwrap_or(UsageMetrics::NONE),
            audit: None,
            response_hash,
            review: outcome.record,
        }
    }

    /// Reports the drafts of a lens, each with its evidence checked, and surveys the base where a rule is a ratchet.
    fn report_lens(
        &self,
        plan: &LensPlan,
        swept: LensSweep,
        moved: MovedCounts,
        executed: &mut Executed,
    ) -> Result<PlanReport, PortError> {
        let response_hash = canonical::digest(&swept.drafts).expect("drafts are made of JSON values");
        let lens = (self.lens)(&plan.lens_id);
        let statements = match lens {
            Some(lens) => {
                let statements = self.statements(lens, plan, &swept, &mut executed.texts)?;
                self.survey(lens, &statements, &mut executed.surveys)?;
                statements
            }
            None => Vec::new(),
        };
        let Completeness { mut status, mut errors } = self.completeness(plan);
        if is_mostly_unverified(&statements) {
            status = LensStatus::Degraded;
            errors.insert(Code::EvidenceUnverified);
        }
        let is_unread_allowed = self.policy.limits.allow_omitted;
        if !swept.unread.is_empty() && !is_unread_allowed {
            status = LensStatus::Degraded;
            errors.insert(Code::SourceUnread);
        }
        if swept.panicked {
            status = LensStatus::Failed;
            errors.insert(Code::LensPanicked);
        }
        let mut warnings = planning_warnings(plan);
        warnings.extend((!swept.unread.is_empty()).then_some(Code::SourceUnread));
        warnings = warnings.difference(&errors).copied().collect();
        for file in &self.sweep.change_set.files {
            if plan.changed_files.binary_search(&file.path).is_ok() {
                let codes = file.codes.iter().copied();
                warnings.extend(codes.filter(|code| matches!(code, Code::CoarseDiff | Code::BinaryContent)));
            }
        }
        if lens.is_none() {
            status = LensStatus::Failed;
            errors = BTreeSet::from([Code::LensRequiredMissing]);
        }
        let unread = swept.unread.iter().map(|position| &self.sweep.change_set.files[*position].path);
        let summary = std::iter::once(inspection_summary(plan, &swept.inspected));
        let summary: Vec<String> = summary.chain(unread.map(unparsed_line)).collect();
        let inspected = match swept.inspected.is_empty() {
            true => self.nothing_inspected(),
            false => swept.inspected,
        };
        Ok(PlanReport {
            statements,
            moved,
            inspected,
            status,
            errors,
            warnings,
            summary,
            usage: UsageMetrics::NONE,
            audit: None,
            response_hash,
            review: None,
        })
    }

    fn nothing_inspected(&self) -> InspectedHunks {
        vec![None; self.sweep.change_set.files.len()]
    }

    /// Counts the hunks of each file that a plan includes.
    fn included(&self, plan: &LensPlan) -> InspectedHunks {
        included_hunks(plan, &self.sweep.change_set.files)
            .into_iter()
            .map(|hunks| Some(hunks?.iter().filter(|included| **included).count() as u64))
            .collect()
    }

    /// Keeps the text of every changed file with a finding.
    fn keep_texts(
        &self,
        statements: &[Statement],
        texts: &mut BTreeMap<RepoPath, FileText>,
    ) -> Result<(), PortError> {
        let files = &self.sweep.change_set.files;
        for statement in statements {
            let position = files.binary_search_by(|file| file.path.cmp(&statement.file));
            if let Ok(position) = position
                && !texts.contains_key(&statement.file)
            {
                texts.insert(statement.file.clone(), self.sweep.texts.text(position)?.into_owned());
            }
        }
        Ok(())
    }

    /// Returns the status of a plan by the files that it omits.
    fn completeness(&self, plan: &LensPlan) -> Completeness {
        let mut completeness = Completeness { status: LensStatus::Completed, errors: BTreeSet::new() };
        if !plan.omitted_files.is_empty() && !self.policy.limits.allow_omitted {
            completeness.status = LensStatus::Degraded;
            let reasons =
                [Code::DiffTooLarge, Code::ContextBoundExceeded, Code::BlobTooLarge, Code::EncodingUnread];
            let codes = plan.planning_codes.iter().copied();
            completeness.errors.extend(codes.filter(|code| reasons.contains(code)));
        }
        completeness
    }

    /// Runs the lenses of the admitted plans over some files, without judging their drafts: a shard's part.
    pub fn part(
        &self,
        plans: &[LensPlan],
        positions: std::ops::Range<usize>,
    ) -> Result<Vec<PartFile>, PortError> {
        let (_, assignments) = self.admitted(plans, &self.refusals(plans));
        let outcomes = self.sweep.part(&assignments, positions.clone())?;
        let files = self.sweep.change_set.files[positions].iter().zip(outcomes);
        Ok(files.map(|(file, outcome)| parts::part_file(&file.path, &assignments, outcome)).collect())
    }

    /// Returns the reason why each plan does not run, or `None` if it runs.
    fn refusals(&self, plans: &[LensPlan]) -> Vec<Option<plan::Refusal>> {
        plan::reserve(plans, self.policy)
    }

    /// Returns the plans that run, with their positions in the queue.
    fn admitted<'p>(
        &self,
        plans: &'p [LensPlan],
        refusals: &[Option<plan::Refusal>],
    ) -> (Vec<usize>, Vec<Assignment<'p>>) {
        let admitted = plans.iter().enumerate().filter(|(index, _)| refusals[*index].is_none());
        admitted
            .filter_map(|(index, plan)| Some((index, Assignment { plan, lens: (self.lens)(&plan.lens_id)? })))
            .unzip()
    }

    /// Counts moved texts. Skips the reverse sweep unless a finding could be moved text.
    fn moved(
        &self,
        assignments: &[Assignment<'_>],
        swept: &[LensSweep],
    ) -> Result<Vec<MovedCounts>, PortError> {
        let quotes: Vec<BTreeSet<String>> = assignments
            .iter()
            .zip(swept)
            .map(|(assignment, swept)| movable_quotes(assignment.lens, &swept.drafts))
            .collect();
        if quotes.iter().any(|quotes| !quotes.is_empty()) {
            self.sweep.count_moved(assignments, &quotes, self.policy)
        } else {
            Ok(vec![MovedCounts::default(); assignments.len()])
        }
    }

    /// Returns the drafts of a lens as statements, each with its quote looked for in the change.
    fn statements(
        &self,
        lens: &dyn Lens,
        plan: &LensPlan,
        swept: &LensSweep,
        texts: &mut BTreeMap<RepoPath, FileText>,
    ) -> Result<Vec<Statement>, PortError> {
        let files = &self.sweep.change_set.files;
        for draft in &swept.drafts {
            if let Some(position) = find_file(files, draft)
                && !texts.contains_key(&files[position].path)
            {
                texts.insert(files[position].path.clone(), self.sweep.texts.text(position)?.into_owned());
            }
        }
        Ok(checked_statements(lens, plan, files, texts, &swept.drafts))
    }

    /// Surveys the base for each ratcheted rule and population that has a statement.
    fn survey(
        &self,
        lens: &dyn Lens,
        statements: &[Statement],
        surveys: &mut Vec<RecordedSurvey>,
    ) -> Result<(), PortError> {
        let files = by_path(self.sweep.change_set);
        for statement in statements {
            let Some(file) = files.get(&statement.file) else { continue };
            let file = findings::with_strictest_scope(self.policy, &statement.rule_id, file);
            if self.policy.strength(&statement.rule_id, file.scope) != Strength::Ratchet {
                continue;
            }
            let population = findings::population(&file);
            let known = surveys
                .iter()
                .any(|survey| survey.rule_id == statement.rule_id && survey.population == population);
            if !known {
                surveys.push(self.surveys.survey(lens, &statement.rule_id, &file)?);
                surveys.sort_by(|left, right| {
                    (&left.rule_id, &left.population).cmp(&(&right.rule_id, &right.population))
                });
            }
        }
        Ok(())
    }

    fn notices<'r>(&self, results: impl Iterator<Item = &'r LensResult> + Clone) -> Vec<Code> {
        let mut notices = BTreeSet::new();
        let change_set = self.sweep.change_set;
        let mut paths = change_set.files.iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]);
        if paths.any(|path| path.is_some_and(|path| path.as_bytes().starts_with(b".qa-skill/"))) {
            notices.insert(Code::PolicyChangedInPr);
        }
        match change_set.landing {
            Landing::Merge => {
                notices.insert(Code::LandingJudged);
            }
            // With several merge bases the verdict is incomplete.
            Landing::Conflict if change_set.other_merge_bases.is_empty() => {
                notices.insert(Code::LandingConflict);
            }
            Landing::Change | Landing::Conflict => {}
        }
        if change_set.renames.not_compared > 0 {
            notices.insert(Code::RenameDetectionLimited);
        }
        if self.lookups.is_limited() {
            notices.insert(Code::LookupLimited);
        }
        let today = calendar::day(change_set.base_time);
        if self.waivers.iter().any(|waiver| waiver.expires < today && is_used(waiver, results.clone())) {
            notices.insert(Code::WaiverExpired);
        }
        let current = self.waivers.iter().filter(|waiver| waiver.expires >= today);
        if current.clone().any(|waiver| is_missed(waiver, results.clone())) {
            notices.insert(Code::WaiverUnmatched);
        }
        notices.into_iter().collect()
    }
}

/// Status of a plan, with the errors that make it incomplete.
struct Completeness {
    status: LensStatus,
    errors: BTreeSet<Code>,
}

/// Refuses a review that did not get its replies because the pull request's budget is used up.
fn over_pull_request_budget(plan: &LensPlan, report: &PlanReport) -> Option<plan::Refusal> {
    let code = Code::BudgetPullRequestExceeded;
    report.errors.contains(&code).then(|| plan::Refusal::over_budget(plan, code))
}

/// Returns the quotes of drafts whose rule excuses moved text, without white space.
fn movable_quotes(lens: &dyn Lens, drafts: &[Draft]) -> BTreeSet<String> {
    let rules = lens.spec().rules;
    drafts
        .iter()
        .filter(|draft| rules.iter().any(|rule| rule.id == draft.rule && rule.moves))
        .map(|draft| findings::normalized(&harmless(&draft.quote)))
        .filter(|quote| !quote.is_empty())
        .collect()
}

/// Returns whether a waiver is of a finding of the run.
fn is_used<'r>(waiver: &Waiver, results: impl Iterator<Item = &'r LensResult>) -> bool {
    let mut findings = results.flat_map(|result| &result.findings);
    findings.any(|finding| {
        finding.rule_id == waiver.rule && finding.evidence_hash.as_str() == waiver.evidence_hash
    })
}

/// Returns whether a waiver is of the rule of a blocking finding, and of no finding of the run.
fn is_missed<'r>(waiver: &Waiver, results: impl Iterator<Item = &'r LensResult> + Clone) -> bool {
    let mut findings = results.clone().flat_map(|result| &result.findings);
    findings.any(|finding| finding.blocking && finding.rule_id == waiver.rule) && !is_used(waiver, results)
}

/// Returns the codes of planning that a result repeats as warnings. That a change does not concern a lens is in the plan;
/// as a warning of every run it would be noise. That a plan is deferred is an error of its result.
fn planning_warnings(plan: &LensPlan) -> BTreeSet<Code> {
    let codes = plan.planning_codes.iter().copied();
    codes.filter(|code| !matches!(code, Code::LensNotApplicable | Code::CadenceDeferred)).collect()
}

/// Returns whether more than half of the quotes were not found, or one that stands for places which are not listed.
fn is_mostly_unverified(statements: &[Statement]) -> bool {
    let unverified = statements.iter().filter(|statement| statement.doubt.is_some());
    unverified.clone().any(|statement| statement.detail.contains_key(UNLISTED))
        || unverified.count() * 2 > statements.len()
}

fn inspection_summary(plan: &LensPlan, inspected: &InspectedHunks) -> String {
    let files = inspected.iter().flatten().count();
    let hunks: u64 = inspected.iter().flatten().sum();
    if plan.changed_files.is_empty() && plan.omitted_files.is_empty() {
        return "nothing in this change concerns the lens".to_owned();
    }
    format!("looked at {hunks} hunks in {files} files")
}

fn by_path(change_set: &ChangeSet) -> BTreeMap<&RepoPath, &ChangedFile> {
    change_set.files.iter().map(|file| (&file.path, file)).collect()
}

#[cfg(test)]
#[path = "execute_tests.rs"]
mod tests;
