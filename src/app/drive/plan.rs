//! The plan of a turn: asks the model that the policy names for plans, unless the money that is left does not cover it.

use super::model::Asked;
use super::wait::Permission;
use super::{Driven, report};
use crate::app::exit::Failure;
use crate::git::OpenRepository;
use qa_contracts::codes::Code;
use qa_core::drive::coordinator::{PlanQuestion, PlanReply, plan, recorded_answer};

impl Driven<'_> {
    /// Asks for the plan of the next turn and records it, unless the head moved. Where no answer can be had, a rule decides.
    pub(super) fn plan(
        &mut self,
        repository: &OpenRepository,
        question: &PlanQuestion,
    ) -> Result<(), Failure> {
        if let Permission::End(end) = self.unless_head_moved(repository, Permission::Begin)? {
            return self.end(repository, end);
        }
        let reply = self.ask_for_plan(question)?;
        let plan = plan(question, reply, self.session.plan.as_ref());
        self.say(&report::plan(&plan));
        self.session.plan = Some(plan);
        Ok(())
    }

    fn ask_for_plan(&self, question: &PlanQuestion) -> Result<PlanReply, Failure> {
        let Some(model) = &self.coordinator else {
            let message = "the drive has no model for plans, and its settings name one";
            return Err(Failure::with_code(Code::InternalError, message));
        };
        let most = self.session.start.limits.max_cost_micro_usd;
        if most.is_some_and(|most| !self.covers(model, &question.question, most)) {
            return Ok(PlanReply::NoMoney);
        }
        let asked = model.try_ask(&question.question)?;
        self.cancellation.check()?;
        Ok(match asked {
            Asked::Answered(answered) => PlanReply::Answered {
                text: recorded_answer(answered.text),
                tokens: answered.tokens,
                cost_micro_usd: answered.cost_micro_usd,
            },
            Asked::Failed(failure) => PlanReply::Failed(failure.message),
        })
    }
}
