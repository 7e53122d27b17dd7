//! Rounds about findings that would block: requests to confirm one, what recorded replies to them say, and what that
//! makes of the finding.

use std::collections::BTreeMap;

use super::outcome::{ReplyError, ReviewOutcome, ReviewStatement, SENTENCE};
use super::request::{Question, SentRequest};
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{Confirmation, ConfirmationOutcome, ConfirmationRound, Finding, RecordedReply};
use qa_lenses::reviews::confirm::{AnswerFault, ConfirmQuestion, ModelVerdict};
use qa_lenses::reviews::packet::shown_path;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;

/// Length limit of a model's reason beside a finding, in characters.
const REASON: usize = 120;

/// Identity of a finding among those of its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    rule_id: String,
    pub(super) file: RepoPath,
    pub(super) line: u64,
    /// Id of the convention, for a finding about one.
    subject: String,
}

impl Place {
    pub(super) fn new(finding: &Finding) -> Self {
        let subject = finding.evidence.get("subject").and_then(serde_json::Value::as_str);
        Self {
            rule_id: finding.rule_id.clone(),
            file: finding.file.clone(),
            line: finding.start_line,
            subject: subject.unwrap_or_default().to_owned(),
        }
    }

    /// Returns whether a statement without doubt is about this place.
    pub(super) fn holds(&self, reviewed: &ReviewStatement) -> bool {
        let statement = &reviewed.statement;
        statement.doubt.is_none()
            && statement.rule_id == self.rule_id
            && statement.file == self.file
            && statement.start_line == self.line
            && statement.subject == self.subject
    }

    /// Returns the id that the review gives: of a rule, or of a convention.
    pub(super) fn named_rule(&self) -> &str {
        if self.subject.is_empty() { &self.rule_id } else { &self.subject }
    }
}

/// Request to confirm a finding.
pub(super) struct ConfirmRequest<'r> {
    pub(super) sent: SentRequest<'r>,
    pub(super) question: ConfirmQuestion,
}

/// Valid answer to a request to confirm a finding.
pub(super) struct ParsedVerdict {
    pub(super) reply: Reply,
    pub(super) verdict: ModelVerdict,
}

impl ParsedVerdict {
    /// Returns the model's reason, safe to show.
    pub(super) fn plain_reason(&self) -> String {
        plain(&self.verdict.reason, SENTENCE)
    }
}

impl Question for ConfirmRequest<'_> {
    fn sent(&self) -> &SentRequest<'_> {
        &self.sent
    }

    fn accepts(&self, reply: &RecordedReply) -> bool {
        self.parse_reply(reply).is_ok()
    }
}

impl ConfirmRequest<'_> {
    pub(super) fn parse_reply(&self, recorded: &RecordedReply) -> Result<ParsedVerdict, ReplyError> {
        let reply = self.sent.decode(recorded)?;
        let fault = match self.question.parse_answer(&reply.text) {
            Ok(verdict) => return Ok(ParsedVerdict { reply, verdict }),
            Err(fault) => fault,
        };
        let (code, problem) = match fault {
            AnswerFault::Form(problem) => return Err(ReplyError::invalid(&problem)),
            AnswerFault::CanaryMissed => {
                (Code::ReviewCanaryMissed, "it does not uphold the finding that was planted")
            }
            AnswerFault::Unproven => (Code::EvidenceUnverified, "its quote is not in the file"),
        };
        Err(ReplyError { code, problem: problem.to_owned() })
    }
}

/// Round about a finding, with what came of it.
pub(super) struct Round<'r> {
    pub(super) request: ConfirmRequest<'r>,
    /// True if PASS needs the review.
    pub(super) required: bool,
    /// Maximum cost in millionths of a US dollar; `None` where no price is known.
    pub(super) cost_bound: Option<u64>,
    /// `None` where no reply is recorded.
    pub(super) answer: Option<Result<ParsedVerdict, ReplyError>>,
    pub(super) record: ConfirmationRound,
}

impl Round<'_> {
    pub(super) fn is_rejected(&self) -> bool {
        self.record.upheld == Some(false)
    }

    /// Describes the answer, with a reason of at most `limit` characters.
    fn describe(&self, limit: usize) -> String {
        let name = &self.record.binding_id;
        match &self.answer {
            Some(Ok(ParsedVerdict { verdict, .. })) => {
                let word = if self.is_rejected() { "rejected" } else { "upheld" };
                format!("{word} by {name}: {}", plain(&verdict.reason, limit))
            }
            Some(Err(error)) => {
                let problem = qa_core::masking::sanitize_cut(&error.problem, limit);
                format!("no valid answer of {name}: {}: {problem}", error.code)
            }
            None => format!("no answer of {name} is recorded"),
        }
    }
}

/// Finding that models are asked to confirm.
pub(super) struct Asked<'r> {
    /// Position of its plan.
    pub(super) plan: usize,
    pub(super) place: Place,
    pub(super) rounds: Vec<Round<'r>>,
}

impl Asked<'_> {
    /// Two answers in a row that agree decide, the review itself being the first; without a valid one, the finding blocks.
    fn outcome(&self) -> ConfirmationOutcome {
        let upheld: Vec<Option<bool>> = self.rounds.iter().map(|round| round.record.upheld).collect();
        match upheld.as_slice() {
            [Some(true)] => ConfirmationOutcome::Upheld,
            [Some(false), Some(false)] => ConfirmationOutcome::Rejected,
            [Some(false), Some(true)] => ConfirmationOutcome::Unstable,
            _ => ConfirmationOutcome::Unanswered,
        }
    }
}

/// Finding that blocks without being asked about, with the reason.
pub(super) struct NotAsked {
    /// Position of its plan.
    pub(super) plan: usize,
    pub(super) place: Place,
    pub(super) reason: String,
}

/// Findings of a run that would block, under a policy that wants them confirmed.
#[derive(Default)]
pub(super) struct Confirmations<'r> {
    pub(super) asked: Vec<Asked<'r>>,
    pub(super) not_asked: Vec<NotAsked>,
}

impl<'r> Confirmations<'r> {
    /// Returns the rounds that have no reply yet. The round after a rejection is one of them as soon as that is recorded.
    pub(super) fn missing(&self) -> Vec<&Round<'r>> {
        let last = self.asked.iter().filter_map(|asked| asked.rounds.last());
        last.filter(|round| round.answer.is_none()).collect()
    }

    /// Returns the hashes of all requests.
    pub(super) fn request_hashes(&self) -> impl Iterator<Item = &Sha256Hex> {
        self.asked.iter().flat_map(|asked| &asked.rounds).map(|round| &round.record.request_hash)
    }

    /// Writes the results into the outcomes of the plans.
    pub(super) fn apply(self, outcomes: &mut BTreeMap<usize, ReviewOutcome>) {
        for NotAsked { plan, place, reason } in self.not_asked {
            let Some(outcome) = outcomes.get_mut(&plan) else { continue };
            outcome.warnings.insert(Code::ReviewNotConfirmed);
            outcome.note(&place, None, &reason);
        }
        for asked in self.asked {
            if let Some(outcome) = outcomes.get_mut(&asked.plan) {
                outcome.add_confirmation(asked);
            }
        }
        outcomes.values_mut().for_each(ReviewOutcome::sum_confirmations);
    }
}

impl ReviewOutcome {
    /// Adds a note to a finding's summary, and its reason not to block, if there is one.
    fn note(&mut self, place: &Place, doubt: Option<Code>, note: &str) {
        for reviewed in self.statements.iter_mut().filter(|reviewed| place.holds(reviewed)) {
            reviewed.statement.summary.push_str(&format!(" ({note})"));
            reviewed.statement.doubt = doubt;
        }
    }

    fn add_confirmation(&mut self, asked: Asked<'_>) {
        let outcome = asked.outcome();
        let notes: Vec<String> = asked.rounds.iter().map(|round| round.describe(REASON)).collect();
        let doubt = match outcome {
            ConfirmationOutcome::Rejected => Some(Code::ReviewRejected),
            ConfirmationOutcome::Unstable => Some(Code::ReviewUnstable),
            ConfirmationOutcome::Unanswered => {
                self.warnings.insert(Code::ReviewNotConfirmed);
                None
            }
            ConfirmationOutcome::Upheld => None,
        };
        self.note(&asked.place, doubt, &notes.join("; "));
        let Place { file, line, .. } = &asked.place;
        let rule_id = asked.place.named_rule().to_owned();
        for round in &asked.rounds {
            self.summary.push(format!(
                "{rule_id} at {}:{line}: {}",
                shown_path(file),
                round.describe(SENTENCE)
            ));
            let answer = round.answer.as_ref().and_then(|answer| answer.as_ref().ok());
            self.add_verdict(&round.request.sent, round.record.code, answer);
        }
        let rounds = asked.rounds.into_iter().map(|round| round.record).collect();
        if let Some(record) = &mut self.record {
            let (file, line) = (asked.place.file, asked.place.line);
            record.confirmations.push(Confirmation { rule_id, file, line, outcome, rounds });
        }
    }
}
