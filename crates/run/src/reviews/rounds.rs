//! The findings of a run that are to be confirmed, with every request that the recorded replies call for.
//!
//! Both the collector and the derivation ask this function, so that a replay finds exactly the requests of the run.

use std::collections::BTreeMap;

use super::confirm::{Asked, ConfirmRequest, Confirmations, NotAsked, ParsedVerdict, Place, Round};
use super::confirm_bound::{MOST_CONFIRMED, UsageBound};
use super::judge::{Judging, find_reply};
use super::outcome::{ReplyError, ReviewOutcome, ReviewStatement};
use super::request::{self, SentRequest};
use super::{NamedModel, Reviews, is_taken};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::v1::{ConfirmationRound, EffectiveModel, LensPlan, RecordedReply};
use qa_core::calendar::day;
use qa_core::canonical;
use qa_core::findings::{self, Judge, MovedCounts};
use qa_core::packet::Packet;
use qa_core::plan::{Refusal, Remaining, included_hunks};
use qa_lenses::reviews::confirm::{Claim, Judgement, SCHEMA_NAME, confirm_question};
use qa_lenses::reviews::contract::ReviewSpec;
use qa_lenses::reviews::{self};
use qa_providers::contract::Prompt;

/// Finding of a plan that is to be confirmed.
struct Subject<'s> {
    plan: &'s LensPlan,
    spec: &'static ReviewSpec,
    claim: Claim,
    /// Position of its file in the change set.
    position: usize,
    /// Size of its file's block in bytes.
    bytes: u64,
}

impl<'j> Judging<'j, '_> {
    /// Returns the findings that would block and are to be confirmed. The order of plans and findings decides which ones
    /// the run's budget allows.
    pub(super) fn confirmations(
        &self,
        plans: &[LensPlan],
        refusals: &[Option<Refusal>],
        outcomes: &BTreeMap<usize, ReviewOutcome>,
    ) -> Result<Confirmations<'j>, PortError> {
        let mut remaining = Remaining::after(plans, refusals, self.reviews.policy);
        let mut confirmations = Confirmations::default();
        for (index, outcome) in outcomes {
            let plan = &plans[*index];
            let Some(models) = self.reviews.round_models(plan) else { continue };
            for place in self.blocking_places(plan, outcome) {
                let subject = self.subject(plan, outcome, &place);
                let is_over = confirmations.asked.len() as u64 >= MOST_CONFIRMED;
                let reason = match &subject {
                    _ if is_over => format!("at most {MOST_CONFIRMED} findings of a run are asked about"),
                    Ok(subject) if take(&mut remaining, models, subject) => {
                        let rounds = self.rounds(subject, models)?;
                        if !rounds.is_empty() {
                            confirmations.asked.push(Asked { plan: *index, place, rounds });
                            continue;
                        }
                        Code::InternalError.to_string()
                    }
                    Ok(_) => Code::BudgetRunExceeded.to_string(),
                    Err(reason) => (*reason).to_owned(),
                };
                let reason = format!("not confirmed: {reason}");
                confirmations.not_asked.push(NotAsked { plan: *index, place, reason });
            }
        }
        Ok(confirmations)
    }

    /// Returns the findings of a plan that would block, the worst first.
    fn blocking_places(&self, plan: &LensPlan, outcome: &ReviewOutcome) -> Vec<Place> {
        let Reviews { change_set, policy, waivers, .. } = self.reviews;
        let files = change_set.files.iter().map(|file| (&file.path, file)).collect();
        let mut judge = Judge {
            policy,
            waivers,
            today: day(change_set.base_time),
            surveys: &[],
            moved: MovedCounts::default(),
        };
        let statements = outcome.statements.iter().map(|reviewed| reviewed.statement.clone()).collect();
        let findings = findings::judge(&plan.lens_id, statements, &files, &mut judge);
        findings.iter().filter(|finding| finding.blocking).map(Place::new).collect()
    }

    /// Returns what another model is asked about a finding, or the reason why it is not asked. An answer about one of
    /// several flaws would excuse the others.
    fn subject<'s>(
        &self,
        plan: &'s LensPlan,
        outcome: &ReviewOutcome,
        place: &Place,
    ) -> Result<Subject<'s>, &'static str> {
        let mut about = outcome.statements.iter().filter(|reviewed| place.holds(reviewed));
        let reviewed = match (about.next(), about.next()) {
            (Some(reviewed), None) if !reviewed.differs => reviewed,
            _ => return Err("the replies may mean several flaws at this place"),
        };
        self.subject_of(plan, place, reviewed).ok_or(Code::InternalError.as_str())
    }

    fn subject_of<'s>(
        &self,
        plan: &'s LensPlan,
        place: &Place,
        reviewed: &ReviewStatement,
    ) -> Option<Subject<'s>> {
        let spec = reviews::find(&plan.lens_id)?;
        let files = &self.reviews.change_set.files;
        let position = files.binary_search_by(|file| file.path.cmp(&place.file)).ok()?;
        let rule_id = place.named_rule();
        let rubric = self.reviews.rubric.into_iter().flat_map(|rubric| &rubric.conventions);
        let convention = rubric.filter(|convention| convention.id == rule_id).map(|it| it.statement.as_str());
        let rule = spec.rules.iter().filter(|rule| rule.id == rule_id).map(|rule| rule.title);
        let claim = Claim {
            rule_id: rule_id.to_owned(),
            rule: rule.chain(convention).next()?.to_owned(),
            line: place.line,
            summary: reviewed.claim.clone(),
        };
        Some(Subject { plan, spec, claim, position, bytes: self.reviews.file_bytes(position) })
    }

    /// Returns the rounds about a finding, up to the first that has no reply, no valid one or one that upholds it. There is
    /// none if the plan does not show the line of the finding.
    fn rounds(
        &self,
        subject: &Subject<'_>,
        models: [&'j NamedModel<'j>; 2],
    ) -> Result<Vec<Round<'j>>, PortError> {
        let mut rounds = Vec::new();
        // The review itself is the first round.
        for (number, named) in (2..).zip(models) {
            let number: u64 = number;
            let Some(request) = self.confirm_request(subject, named, number)? else { break };
            let recorded = find_reply(self.replies, &request.sent.encoded.request_hash, 1);
            let bound = UsageBound::of_request(&named.model, subject.bytes);
            let round = Round::new(request, recorded, named.name, bound, subject.plan.required);
            let is_rejected = round.is_rejected();
            rounds.push(round);
            if !is_rejected {
                break;
            }
        }
        Ok(rounds)
    }

    fn confirm_request(
        &self,
        subject: &Subject<'_>,
        named: &'j NamedModel<'j>,
        round: u64,
    ) -> Result<Option<ConfirmRequest<'j>>, PortError> {
        let files = &self.reviews.change_set.files;
        let Subject { plan, spec, claim, position, .. } = subject;
        let Some(included) = included_hunks(plan, files).swap_remove(*position) else { return Ok(None) };
        let text = self.reviews.texts.text(*position)?;
        let packet = Packet { file: &files[*position], text: &text, included: &included };
        let named_by = (round, spec.id, &claim.rule_id, &files[*position].path, claim.line, &claim.summary);
        let seed = canonical::digest(&named_by).expect("texts and counts have a canonical form");
        let question = confirm_question(spec, claim, &packet, &seed, &|path| is_taken(files, path));
        Ok(question.map(|question| {
            let prompt = Prompt {
                instructions: question.instructions.clone(),
                packet: question.packet.clone(),
                schema_name: SCHEMA_NAME,
                schema: question.schema.clone(),
            };
            let sent = SentRequest { model: &named.model, encoded: named.model.request(&prompt) };
            ConfirmRequest { sent, question }
        }))
    }
}

/// Reserves all rounds about a finding. Returns false where the run's budget does not allow them.
fn take(remaining: &mut Remaining, models: [&NamedModel<'_>; 2], subject: &Subject<'_>) -> bool {
    let bound = Reviews::finding_bound(models, subject.bytes);
    // As for a plan, a model without a price counts as zero.
    remaining.take(bound.tokens(), bound.cost_micro_usd.unwrap_or(0))
}

impl<'r> Round<'r> {
    fn new(
        request: ConfirmRequest<'r>,
        recorded: Option<&RecordedReply>,
        binding_id: &str,
        bound: UsageBound,
        required: bool,
    ) -> Self {
        let answer = recorded.map(|recorded| match request.sent.matches(recorded) {
            true => request.parse_reply(recorded),
            false => Err(ReplyError::not_recorded()),
        });
        let valid = answer.as_ref().and_then(|answer| answer.as_ref().ok());
        let record = ConfirmationRound {
            binding_id: binding_id.to_owned(),
            request_hash: request.sent.encoded.request_hash.clone(),
            code: match &answer {
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(error.code),
                None => Some(Code::ReplayRecordingMissing),
            },
            upheld: valid.map(|valid| valid.verdict.verdict == Judgement::Upheld),
            reason: valid.map(ParsedVerdict::plain_reason),
            effective: valid.map_or_else(EffectiveModel::default, |it| request::effective_model(&it.reply)),
            usage: match valid {
                Some(valid) => request.sent.usage(&valid.reply),
                None => request::failed_usage(recorded),
            },
        };
        Self { request, required, cost_bound: bound.cost_micro_usd, answer, record }
    }
}
