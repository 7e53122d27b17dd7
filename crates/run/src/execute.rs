//! From plans to results: budget, sweep, evidence, surveys, judgement, and the proof of what was looked at.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::bounds;
use super::gates::{self, Caption};
use super::lookup::Answering;
use super::parts;
use super::ports::PortError;
use super::reviews;
use super::survey::Surveys;
use super::sweep::{Assignment, SelfTest, Sweep, Swept};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeSet, ChangedFile, FileText, GateName, LensPlan, LensResult, LensStatus, PartFile, RecordedLookups,
    RecordedSurvey, Side, Strength, UsageMetrics, Waiver,
};
use qa_core::canonical;
use qa_core::coverage::Inspected;
use qa_core::crosscheck::stands_in;
use qa_core::escape::harmless;
use qa_core::findings::{self, Judge, Statement, UNLISTED};
use qa_core::packet::{Line, Packet};
use qa_core::plan::{self, included_hunks};
use qa_core::policy::Policy;
use qa_lenses::contract::{Draft, Lens};

/// Everything plans are executed with.
pub struct Execution<'a> {
    pub sweep: Sweep<'a>,
    pub policy: &'a Policy,
    pub waivers: &'a [Waiver],
    pub surveys: &'a dyn Surveys,
    /// Answers about the rest of the repository.
    pub lookups: &'a dyn Answering,
    /// What the gates are judged from.
    pub evidence: gates::Evidence<'a>,
    /// What the reviews are judged from.
    pub answers: reviews::Evidence<'a>,
    /// The lens of an id.
    pub lens: &'a dyn Fn(&str) -> Option<&'static dyn Lens>,
}

/// What executing gave.
pub struct Executed {
    pub results: Vec<LensResult>,
    pub inspected: Vec<Inspected>,
    pub surveys: Vec<RecordedSurvey>,
    /// What lenses asked about the rest of the repository.
    pub lookups: RecordedLookups,
    pub self_test: Vec<SelfTest>,
    /// The text of every file with a finding, by path.
    pub texts: BTreeMap<RepoPath, FileText>,
    /// What was stated, per plan, before the policy weighed it; another policy can weigh it again.
    pub statements: Vec<Vec<Statement>>,
    /// What stood on removed lines, per plan.
    pub moved: Vec<BTreeMap<findings::MovedKey, usize>>,
    pub notices: Vec<Code>,
    /// Pictures that tests of gates left, sorted.
    pub screenshots: BTreeMap<RepoPath, Caption>,
    /// How many tests of gates were tried more than once.
    pub retried_tests: u64,
    /// How long the commands of gates took, in milliseconds.
    pub durations: BTreeMap<GateName, u64>,
}

impl Execution<'_> {
    /// Executes all plans.
    pub fn run(&self, plans: &[LensPlan]) -> Result<Executed, PortError> {
        let change_set = self.sweep.change_set;
        let refusals = self.refusals(plans);
        let (positions, assignments) = self.admitted(plans, &refusals);
        let (swept, self_test) = self.sweep.run(&assignments, self.policy, self.lookups.lookups())?;
        let lookups = self.lookups.recorded()?;
        let moved = self.moved(&assignments, &swept)?;

        let mut executed = Executed {
            results: Vec::new(),
            inspected: Vec::new(),
            surveys: Vec::new(),
            lookups,
            self_test,
            texts: BTreeMap::new(),
            statements: Vec::new(),
            moved: Vec::new(),
            notices: Vec::new(),
            screenshots: BTreeMap::new(),
            retried_tests: 0,
            durations: BTreeMap::new(),
        };
        let mut by_plan: BTreeMap<usize, (Swept, BTreeMap<findings::MovedKey, usize>)> =
            positions.into_iter().zip(swept.into_iter().zip(moved)).collect();
        for (index, plan) in plans.iter().enumerate() {
            if let Some(gate) = qa_core::gates::find(&plan.lens_id) {
                self.hear(gate, plan, refusals[index], &mut executed)?;
                continue;
            }
            if plan.review.is_some() {
                self.review(plan, refusals[index], &mut executed)?;
                continue;
            }
            let (swept, moved) = by_plan.remove(&index).unwrap_or_default();
            let ran = refusals[index].is_none() && (self.lens)(&plan.lens_id).is_some();
            let statements = self.statements(plan, &swept, &mut executed.texts)?;
            self.survey(plan, &statements, &mut executed.surveys)?;
            let mut result = self.result(plan, &swept, statements.clone(), moved.clone(), &executed.surveys);
            if let Some(refusal) = refusals[index] {
                refuse(&mut result, refusal.status, refusal.code);
            } else if !ran {
                refuse(&mut result, LensStatus::Failed, Code::LensRequiredMissing);
            }
            let inspected = if ran { swept.inspected } else { vec![None; change_set.files.len()] };
            executed.inspected.push(inspected);
            executed.results.push(result);
            executed.statements.push(statements);
            executed.moved.push(moved);
        }
        self.answers.check(plans, &executed.results)?;
        bounds::bound_results(&mut executed.results);
        executed.notices = self.notices(&executed.results);
        Ok(executed)
    }

    /// A gate's plan: what its reports say, judged like everything else.
    fn hear(
        &self,
        gate: GateName,
        plan: &LensPlan,
        refusal: Option<plan::Refusal>,
        executed: &mut Executed,
    ) -> Result<(), PortError> {
        let files = by_path(self.sweep.change_set);
        let heard = gates::hear(gate, plan.plan_ordinal, &self.evidence);
        let mut judge = Judge {
            policy: self.policy,
            waivers: self.waivers,
            today: findings::day(self.sweep.change_set.base_time),
            surveys: &[],
            moved: heard.moved.clone(),
        };
        let findings = findings::judge(&plan.lens_id, heard.statements.clone(), &files, &mut judge);
        let mut result = LensResult {
            schema_version: Default::default(),
            plan_ordinal: plan.plan_ordinal,
            lens_id: plan.lens_id.clone(),
            sub_lens_id: plan.sub_lens_id.clone(),
            lens_version: plan.lens_version.clone(),
            status: if heard.errors.is_empty() { LensStatus::Completed } else { LensStatus::Failed },
            degraded: false,
            findings,
            evidence_summary: heard.summary,
            usage: UsageMetrics::NONE,
            error_codes: heard.errors.into_iter().collect(),
            warning_codes: heard.warnings.into_iter().collect(),
            execution_audit: heard.audit,
            adapter_response_hash: canonical::digest(&heard.digests).expect("digests have a canonical form"),
            review: None,
        };
        if let Some(refusal) = refusal {
            refuse(&mut result, refusal.status, refusal.code);
        }
        executed.inspected.push(vec![None; files.len()]);
        executed.results.push(result);
        self.keep_texts(&heard.statements, &mut executed.texts)?;
        executed.statements.push(heard.statements);
        executed.moved.push(heard.moved);
        executed.screenshots.extend(heard.screenshots);
        executed.retried_tests += heard.retried_tests;
        executed.durations.extend(heard.duration_ms.map(|duration| (gate, duration)));
        Ok(())
    }

    /// Keeps the text of every changed file that something is said of.
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

    /// A review's plan: what was answered to it, judged like everything else.
    fn review(
        &self,
        plan: &LensPlan,
        refusal: Option<plan::Refusal>,
        executed: &mut Executed,
    ) -> Result<(), PortError> {
        let files = &self.sweep.change_set.files;
        let heard = match refusal {
            None => self.answers.hear(plan)?,
            Some(_) => reviews::Heard::default(),
        };
        let mut judge = Judge {
            policy: self.policy,
            waivers: self.waivers,
            today: findings::day(self.sweep.change_set.base_time),
            surveys: &[],
            moved: BTreeMap::new(),
        };
        let by_path = by_path(self.sweep.change_set);
        let findings = findings::judge(&plan.lens_id, heard.statements.clone(), &by_path, &mut judge);
        let response_hash = heard.response_hash();
        let Incomplete { mut status, mut errors } = self.omitted(plan);
        if heard.is_doubtful {
            status = LensStatus::Degraded;
            errors.insert(Code::EvidenceUnverified);
        }
        if !heard.errors.is_empty() {
            status = LensStatus::Failed;
        }
        errors.extend(heard.errors);
        let told = |code: &Code| *code != Code::LensNotApplicable;
        let planned = plan.planning_codes.iter().copied().filter(told);
        let warnings: BTreeSet<Code> =
            heard.warnings.into_iter().chain(planned).filter(|code| !errors.contains(code)).collect();
        let looked_at = refusal.is_none() && status != LensStatus::Failed;
        let inspected: Inspected = match looked_at {
            true => included_hunks(plan, files)
                .into_iter()
                .map(|hunks| Some(hunks?.iter().filter(|included| **included).count() as u64))
                .collect(),
            false => vec![None; files.len()],
        };
        let mut evidence_summary = heard.summary;
        evidence_summary.push(summary(plan, &inspected));
        let mut result = LensResult {
            schema_version: Default::default(),
            plan_ordinal: plan.plan_ordinal,
            lens_id: plan.lens_id.clone(),
            sub_lens_id: plan.sub_lens_id.clone(),
            lens_version: plan.lens_version.clone(),
            status,
            degraded: status == LensStatus::Degraded,
            findings,
            evidence_summary,
            usage: heard.usage.unwrap_or(UsageMetrics::NONE),
            error_codes: errors.into_iter().collect(),
            warning_codes: warnings.into_iter().collect(),
            execution_audit: None,
            adapter_response_hash: response_hash,
            review: heard.record,
        };
        if let Some(refusal) = refusal {
            refuse(&mut result, refusal.status, refusal.code);
        }
        executed.inspected.push(inspected);
        executed.results.push(result);
        self.keep_texts(&heard.statements, &mut executed.texts)?;
        executed.statements.push(heard.statements);
        executed.moved.push(BTreeMap::new());
        Ok(())
    }

    /// What leaving something out makes of a plan.
    fn omitted(&self, plan: &LensPlan) -> Incomplete {
        let mut incomplete = Incomplete { status: LensStatus::Completed, errors: BTreeSet::new() };
        if !plan.omitted_files.is_empty() && !self.policy.limits.allow_omitted {
            incomplete.status = LensStatus::Degraded;
            let reasons = [Code::DiffTooLarge, Code::ContextBoundExceeded, Code::BlobTooLarge];
            let codes = plan.planning_codes.iter().copied();
            incomplete.errors.extend(codes.filter(|code| reasons.contains(code)));
        }
        incomplete
    }

    /// What the lenses of the admitted plans say of some files, without judging it: a shard's part.
    pub fn part(
        &self,
        plans: &[LensPlan],
        positions: std::ops::Range<usize>,
    ) -> Result<Vec<PartFile>, PortError> {
        let (_, assignments) = self.admitted(plans, &self.refusals(plans));
        let outcomes = self.sweep.part(&assignments, positions.clone())?;
        let files = self.sweep.change_set.files[positions].iter().zip(outcomes);
        Ok(files.map(|(file, outcome)| parts::stated(&file.path, &assignments, outcome)).collect())
    }

    /// Why plans do not run, by plan.
    fn refusals(&self, plans: &[LensPlan]) -> Vec<Option<plan::Refusal>> {
        plan::reserve(plans, self.policy)
    }

    /// The plans that run, with their places in the queue.
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

    /// Only worth a second sweep when a finding could turn out to be an old acquaintance.
    fn moved(
        &self,
        assignments: &[Assignment<'_>],
        swept: &[Swept],
    ) -> Result<Vec<BTreeMap<findings::MovedKey, usize>>, PortError> {
        let minds = |lens: &dyn Lens, draft: &Draft| {
            lens.spec().rules.iter().any(|rule| rule.id == draft.rule && rule.moves)
        };
        let wanted: Vec<BTreeSet<String>> = assignments
            .iter()
            .zip(swept)
            .map(|(assignment, swept)| {
                let minded = swept.drafts.iter().filter(|draft| minds(assignment.lens, draft));
                let quotes = minded.map(|draft| findings::normalized(&harmless(&draft.quote)));
                quotes.filter(|quote| !quote.is_empty()).collect()
            })
            .collect();
        if wanted.iter().any(|quotes| !quotes.is_empty()) {
            self.sweep.moved(assignments, &wanted)
        } else {
            Ok(assignments.iter().map(|_| BTreeMap::new()).collect())
        }
    }

    fn statements(
        &self,
        plan: &LensPlan,
        swept: &Swept,
        texts: &mut BTreeMap<RepoPath, FileText>,
    ) -> Result<Vec<Statement>, PortError> {
        let Some(lens) = (self.lens)(&plan.lens_id) else { return Ok(Vec::new()) };
        let files = &self.sweep.change_set.files;
        let included = included_hunks(plan, files);
        let positions: Vec<Option<usize>> =
            swept.drafts.iter().map(|draft| find_file(files, draft)).collect();
        for position in positions.iter().flatten() {
            if !texts.contains_key(&files[*position].path) {
                texts.insert(files[*position].path.clone(), self.sweep.texts.text(*position)?.into_owned());
            }
        }
        // Drafts come file by file, and the lines of one are looked up many times.
        let mut held: Option<(usize, TouchedLines<'_>)> = None;
        let mut statements = Vec::with_capacity(swept.drafts.len());
        for (draft, position) in swept.drafts.iter().zip(positions) {
            let Some(position) = position else {
                statements.push(statement(lens, draft, draft.file.clone(), false));
                continue;
            };
            let file = &files[position];
            let lines = match held.take() {
                Some((known, lines)) if known == position => lines,
                _ => {
                    let included = included[position].as_deref().unwrap_or(&[]);
                    TouchedLines::of(&Packet { file, text: &texts[&file.path], included })
                }
            };
            statements.push(statement(lens, draft, file.path.clone(), lines.show(draft)));
            held = Some((position, lines));
        }
        Ok(statements)
    }

    fn survey(
        &self,
        plan: &LensPlan,
        statements: &[Statement],
        surveys: &mut Vec<RecordedSurvey>,
    ) -> Result<(), PortError> {
        let Some(lens) = (self.lens)(&plan.lens_id) else { return Ok(()) };
        let files = by_path(self.sweep.change_set);
        for statement in statements {
            let Some(file) = files.get(&statement.file) else { continue };
            let file = findings::held_to(self.policy, &statement.rule_id, file);
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

    fn result(
        &self,
        plan: &LensPlan,
        swept: &Swept,
        statements: Vec<Statement>,
        moved: BTreeMap<findings::MovedKey, usize>,
        surveys: &[RecordedSurvey],
    ) -> LensResult {
        let change_set = self.sweep.change_set;
        let unverified = statements.iter().filter(|statement| statement.doubt.is_some()).count();
        // One that stands for many has to be right about its own place, or nothing is known of the others.
        let unknown =
            |statement: &Statement| statement.doubt.is_some() && statement.detail.contains_key(UNLISTED);
        let mostly_unverified = unverified * 2 > statements.len() || statements.iter().any(unknown);
        let mut judge = Judge {
            policy: self.policy,
            waivers: self.waivers,
            today: findings::day(change_set.base_time),
            surveys,
            moved,
        };
        let findings = findings::judge(&plan.lens_id, statements, &by_path(change_set), &mut judge);
        let Incomplete { mut status, mut errors } = self.omitted(plan);
        if mostly_unverified {
            status = LensStatus::Degraded;
            errors.insert(Code::EvidenceUnverified);
        }
        if swept.panicked {
            status = LensStatus::Failed;
            errors.insert(Code::LensPanicked);
        }
        // That a change does not concern a lens is in the plan; told of every run it would be noise.
        let told = |code: &Code| *code != Code::LensNotApplicable && !errors.contains(code);
        let mut warnings: BTreeSet<Code> = plan.planning_codes.iter().copied().filter(told).collect();
        let in_plan =
            change_set.files.iter().filter(|file| plan.changed_files.binary_search(&file.path).is_ok());
        warnings.extend(
            in_plan
                .flat_map(|file| &file.codes)
                .copied()
                .filter(|code| *code == Code::CoarseDiff || *code == Code::BinaryContent),
        );
        LensResult {
            schema_version: Default::default(),
            plan_ordinal: plan.plan_ordinal,
            lens_id: plan.lens_id.clone(),
            sub_lens_id: plan.sub_lens_id.clone(),
            lens_version: plan.lens_version.clone(),
            status,
            degraded: status == LensStatus::Degraded,
            findings,
            evidence_summary: vec![summary(plan, &swept.inspected)],
            usage: UsageMetrics::NONE,
            error_codes: errors.into_iter().collect(),
            warning_codes: warnings.into_iter().collect(),
            execution_audit: None,
            adapter_response_hash: canonical::digest(&swept.drafts).expect("drafts are made of JSON values"),
            review: None,
        }
    }

    fn notices(&self, results: &[LensResult]) -> Vec<Code> {
        let mut notices = BTreeSet::new();
        let change_set = self.sweep.change_set;
        let touches_policy = |path: &RepoPath| path.as_bytes().starts_with(b".qa-skill/");
        if change_set
            .files
            .iter()
            .any(|file| touches_policy(&file.path) || file.old_path.as_ref().is_some_and(touches_policy))
        {
            notices.insert(Code::PolicyChangedInPr);
        }
        if change_set.renames.not_compared > 0 {
            notices.insert(Code::RenameDetectionLimited);
        }
        if self.lookups.is_limited() {
            notices.insert(Code::LookupLimited);
        }
        let used = |waiver: &Waiver| {
            results.iter().flat_map(|result| &result.findings).any(|finding| {
                finding.rule_id == waiver.rule && finding.evidence_hash.as_str() == waiver.evidence_hash
            })
        };
        if self
            .waivers
            .iter()
            .any(|waiver| waiver.expires < findings::day(change_set.base_time) && used(waiver))
        {
            notices.insert(Code::WaiverExpired);
        }
        notices.into_iter().collect()
    }
}

/// Whether and why a plan is not complete.
struct Incomplete {
    status: LensStatus,
    errors: BTreeSet<Code>,
}

fn refuse(result: &mut LensResult, status: LensStatus, code: Code) {
    result.status = status;
    result.degraded = status == LensStatus::Skipped;
    result.error_codes = vec![code];
}

fn summary(plan: &LensPlan, inspected: &Inspected) -> String {
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

/// The changed file a draft is about; one about the base may name the old path.
fn find_file(files: &[ChangedFile], draft: &Draft) -> Option<usize> {
    let by_path = files.binary_search_by(|file| file.path.cmp(&draft.file)).ok();
    match draft.side {
        Side::Head => by_path,
        Side::Base => {
            by_path.or_else(|| files.iter().position(|file| file.old_path.as_ref() == Some(&draft.file)))
        }
    }
}

fn statement(lens: &dyn Lens, draft: &Draft, file: RepoPath, verified: bool) -> Statement {
    let rule = lens.spec().rules.iter().find(|rule| rule.id == draft.rule);
    Statement {
        rule_id: draft.rule.to_owned(),
        severity: draft
            .severity
            .or(rule.map(|rule| rule.severity))
            .unwrap_or(qa_contracts::v1::Severity::Info),
        fix: rule.map_or(String::new(), |rule| rule.fix.to_owned()),
        moves: rule.is_some_and(|rule| rule.moves) && !draft.detail.contains_key(UNLISTED),
        file,
        side: draft.side,
        start_line: draft.start_line,
        end_line: draft.end_line.max(draft.start_line),
        start_column: draft.start_column,
        end_column: draft.end_column,
        quote: harmless(&draft.quote),
        value: draft.value,
        subject: String::new(),
        summary: harmless(&draft.summary),
        detail: draft.detail.iter().map(|(name, value)| (name.to_string(), harmless_value(value))).collect(),
        doubt: (!verified || rule.is_none()).then_some(Code::EvidenceUnverified),
    }
}

fn harmless_value(value: &Value) -> Value {
    match value {
        Value::String(text) => harmless(text).into(),
        Value::Array(items) => items.iter().map(harmless_value).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (harmless(name), harmless_value(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The lines of a file that a change touches and a plan includes, by number.
struct TouchedLines<'t> {
    added: Vec<Line<'t>>,
    removed: Vec<Line<'t>>,
}

impl<'t> TouchedLines<'t> {
    fn of(packet: &Packet<'t>) -> Self {
        Self { added: packet.added().collect(), removed: packet.removed().collect() }
    }

    /// Returns whether the quote stands where the draft says. A draft without a quote is about the file, and the file is
    /// in the change.
    fn show(&self, draft: &Draft) -> bool {
        if draft.quote.is_empty() {
            return true;
        }
        let lines = match draft.side {
            Side::Head => &self.added,
            Side::Base => &self.removed,
        };
        let first = lines.partition_point(|line| line.number < draft.start_line);
        let after = lines.partition_point(|line| line.number <= draft.end_line.max(draft.start_line));
        lines[first..after].iter().any(|line| stands_in(&draft.quote, line.text))
    }
}

#[cfg(test)]
#[path = "execute_tests.rs"]
mod tests;
