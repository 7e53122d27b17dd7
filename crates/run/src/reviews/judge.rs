//! Judges recorded model replies: locates and merges their findings, and detects replies that reviewed nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::earlier::{PlannedHunk, findings_by_hunk, merge_earlier};
use super::outcome::{ReplyError, ReviewOutcome, ReviewStatement, SENTENCE};
use super::request::{self, Question, SentRequest};
use super::{Evidence, Request, Reviews};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{
    EarlierHunk, EffectiveModel, LensPlan, RecordedReplies, RecordedReply, ReviewRecord, ReviewSample,
    Severity, Side,
};
use qa_core::calendar::day;
use qa_core::findings::Statement;
use qa_core::packet::Packet;
use qa_core::plan::{PlanKind, Refusal, included_hunks};
use qa_core::policy::reviews::CONSISTENCY;
use qa_lenses::reviews::answer::{ModelFinding, locate, parse_answer};
use qa_lenses::reviews::packet::shown_path;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;

/// Largest distance of two findings that are merged, in lines.
pub(super) const NEAR_LINES: u64 = 3;
/// Time before a model's retirement from which on it is warned about, in seconds.
const SOON_SECONDS: i64 = 90 * 86_400;
/// Finding merged from one or more model replies.
pub(super) struct MergedFinding {
    pub(super) finding: ModelFinding,
    pub(super) path: RepoPath,
    pub(super) line: u64,
    pub(super) quote: String,
    /// Index of its hunk in the plan; `None` for a finding of an earlier review.
    pub(super) hunk: Option<usize>,
    /// Samples of this review that report it.
    pub(super) samples: BTreeSet<u64>,
    /// Number of samples that reported it, in this review or when it was found first.
    pub(super) answers: u64,
    /// True if an earlier review of the same lines did not report it.
    pub(super) is_late: bool,
    /// True if samples name other lines or use other words.
    pub(super) differs: bool,
}

/// Reply that could be parsed, with its findings.
pub(super) struct ParsedReply {
    reply: Reply,
    findings: Vec<ModelFinding>,
}

/// Location of a finding in a file of the change.
struct FindingPlace {
    path: RepoPath,
    line: u64,
    quote: String,
}

impl Question for Request<'_> {
    fn sent(&self) -> &SentRequest<'_> {
        &self.sent
    }

    fn accepts(&self, reply: &RecordedReply) -> bool {
        self.parse_reply(reply).is_ok()
    }
}

impl Request<'_> {
    /// Parses a recorded reply, whether it was received in this run or an earlier one.
    pub(super) fn parse_reply(&self, recorded: &RecordedReply) -> Result<ParsedReply, ReplyError> {
        let reply = self.sent.decode(recorded)?;
        let findings =
            parse_answer(&reply.text, &self.rule_ids).map_err(|error| ReplyError::invalid(&error))?;
        Ok(ParsedReply { reply, findings })
    }
}

/// Replies to a plan, merged.
struct MergedReplies {
    outcome: ReviewOutcome,
    merged: Vec<MergedFinding>,
    samples: Vec<ReviewSample>,
    /// Number of findings in all replies, canaries left out.
    findings: u64,
    /// Number of findings that could not be located in the change.
    unverified: u64,
    canary_found: bool,
}

/// Findings of a plan by hunk.
pub(super) struct HunkFindings {
    pub(super) hunks: Vec<EarlierHunk>,
    /// False if a reply cannot be used, so that findings may be missing.
    pub(super) is_complete: bool,
}

impl HunkFindings {
    /// Returns the findings, or none where some may be missing.
    pub(super) fn complete(self) -> Vec<EarlierHunk> {
        if self.is_complete { self.hunks } else { Vec::new() }
    }
}

impl Evidence<'_> {
    /// Judges the replies to all admitted reviews, by the position of their plans.
    pub(crate) fn judge_replies(
        &self,
        plans: &[LensPlan],
        refusals: &[Option<Refusal>],
    ) -> Result<BTreeMap<usize, ReviewOutcome>, PortError> {
        let judging = Judging { reviews: &self.reviews, replies: self.replies };
        let mut outcomes = judging.judge_plans(plans, refusals)?;
        judging.confirmations(plans, refusals, &outcomes)?.apply(&mut outcomes);
        Ok(outcomes)
    }
}

/// Returns the replies that admitted plans and the confirmation of their findings request.
pub fn requested_replies(
    reviews: &Reviews<'_>,
    plans: &[LensPlan],
    refusals: &[Option<Refusal>],
    replies: &RecordedReplies,
) -> Result<RecordedReplies, PortError> {
    let judging = Judging { reviews, replies };
    let outcomes = judging.judge_plans(plans, refusals)?;
    let confirmations = judging.confirmations(plans, refusals, &outcomes)?;
    let mut requested: BTreeSet<(&Sha256Hex, u64)> =
        confirmations.request_hashes().map(|hash| (hash, 1)).collect();
    for record in outcomes.values().filter_map(|outcome| outcome.record.as_ref()) {
        requested.extend((1..=record.samples.len() as u64).map(|sample| (&record.request_hash, sample)));
    }
    let kept =
        replies.replies.iter().filter(|reply| requested.contains(&(&reply.request_hash, reply.sample)));
    Ok(RecordedReplies { replies: kept.cloned().collect(), ..replies.clone() })
}

/// Findings of one reply, for comparison with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFindings {
    /// Rule, file and line of each finding that could be located.
    pub places: BTreeSet<(String, RepoPath, u64)>,
    /// All findings as JSON.
    pub json: String,
}

/// Returns the findings of each reply to a plan by itself, or the code of a reply that cannot be used.
pub fn findings_by_sample(
    reviews: &Reviews<'_>,
    replies: &RecordedReplies,
    plan: &LensPlan,
) -> Result<Vec<Result<SampleFindings, Code>>, PortError> {
    let Some(request) = reviews.request(plan)? else { return Ok(Vec::new()) };
    let judging = Judging { reviews, replies };
    let Some(review) = &plan.review else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for sample in 1..=review.samples {
        let Some(recorded) = find_reply(replies, &request.sent.encoded.request_hash, sample) else {
            all.push(Err(Code::ReplayRecordingMissing));
            continue;
        };
        let parsed = match request.parse_reply(recorded) {
            Ok(parsed) => parsed,
            Err(error) => {
                all.push(Err(error.code));
                continue;
            }
        };
        let findings = split_canary(&request, parsed.findings).findings;
        let mut places = BTreeSet::new();
        for finding in &findings {
            let place = judging.locate(plan, finding)?;
            places.extend(place.map(|place| (finding.rule_id.clone(), place.path, place.line)));
        }
        let json = serde_json::to_string(&findings).expect("findings were parsed from JSON");
        all.push(Ok(SampleFindings { places, json }));
    }
    Ok(all)
}

/// Reviews and the recorded replies to them.
pub(super) struct Judging<'j, 'a> {
    pub(super) reviews: &'j Reviews<'a>,
    pub(super) replies: &'j RecordedReplies,
}

impl Judging<'_, '_> {
    /// Judges the replies to all admitted reviews, before any finding is confirmed.
    pub(super) fn judge_plans(
        &self,
        plans: &[LensPlan],
        refusals: &[Option<Refusal>],
    ) -> Result<BTreeMap<usize, ReviewOutcome>, PortError> {
        let mut outcomes = BTreeMap::new();
        for (index, (plan, refusal)) in plans.iter().zip(refusals).enumerate() {
            if refusal.is_none() && PlanKind::from_lens_id(&plan.lens_id) == PlanKind::Review {
                outcomes.insert(index, self.judge_replies(plan)?);
            }
        }
        Ok(outcomes)
    }

    fn judge_replies(&self, plan: &LensPlan) -> Result<ReviewOutcome, PortError> {
        let Some(request) = self.reviews.request(plan)? else {
            let mut outcome = ReviewOutcome::default();
            // A planned review without a request counts as not reviewed.
            outcome.errors.extend((!plan.changed_files.is_empty()).then_some(Code::InternalError));
            return Ok(outcome);
        };
        let review = plan.review.as_ref().expect("only a review's plan asks");
        let hunks = self.reviews.hunks(plan)?;
        let MergedReplies { mut outcome, merged, samples, findings, unverified, canary_found } =
            self.merge_replies(plan, &request, &hunks)?;
        let merged = merge_earlier(&self.replies.earlier, &hunks, plan, merged);
        let quorum = Quorum { samples: review.samples, agree: review.agree };
        let statements = merged.into_iter().map(|finding| statement(&request, finding, quorum));
        outcome.statements.extend(statements);
        outcome.is_doubtful = unverified * 2 > findings;
        if unverified > 0 {
            outcome.warnings.insert(Code::EvidenceUnverified);
        }
        if outcome.statements.iter().any(|reviewed| reviewed.statement.doubt == Some(Code::ReviewLate)) {
            outcome.warnings.insert(Code::ReviewLate);
        }
        let confirming = self.reviews.round_models(plan).map(|[confirming, _]| &confirming.model);
        let soon = day(self.reviews.change_set.base_time + SOON_SECONDS);
        if [Some(request.sent.model), confirming].into_iter().flatten().any(|model| model.retires_by(&soon)) {
            outcome.warnings.insert(Code::ModelRetiring);
        }
        if !request.cleaned.is_nothing() {
            outcome.warnings.insert(Code::ReviewTextCleaned);
            outcome.summary.push(cleaning_summary(&request));
        }
        outcome.sum_usage(&request, &samples, unverified);
        outcome.record = Some(ReviewRecord {
            request_hash: request.sent.encoded.request_hash.clone(),
            samples,
            unverified,
            canary_found: request.planted.is_some().then_some(canary_found),
            confirmations: Vec::new(),
        });
        Ok(outcome)
    }

    /// Returns the findings of each hunk of a plan, those of earlier reviews included.
    pub(super) fn findings_by_hunk(
        &self,
        plan: &LensPlan,
        request: &Request<'_>,
    ) -> Result<HunkFindings, PortError> {
        let hunks = self.reviews.hunks(plan)?;
        let MergedReplies { outcome, merged, unverified, .. } = self.merge_replies(plan, request, &hunks)?;
        let merged = merge_earlier(&self.replies.earlier, &hunks, plan, merged);
        Ok(HunkFindings {
            hunks: findings_by_hunk(&hunks, &merged, &plan.lens_id, unverified == 0),
            is_complete: outcome.errors.is_empty(),
        })
    }

    fn merge_replies(
        &self,
        plan: &LensPlan,
        request: &Request<'_>,
        hunks: &[PlannedHunk],
    ) -> Result<MergedReplies, PortError> {
        let mut replies = MergedReplies {
            outcome: ReviewOutcome::default(),
            merged: Vec::new(),
            samples: Vec::new(),
            findings: 0,
            unverified: 0,
            canary_found: true,
        };
        let Some(review) = &plan.review else { return Ok(replies) };
        for sample in 1..=review.samples {
            let recorded = find_reply(self.replies, &request.sent.encoded.request_hash, sample);
            let recorded = recorded.filter(|recorded| request.sent.matches(recorded));
            let parsed = match recorded {
                Some(recorded) => request.parse_reply(recorded),
                None => Err(ReplyError::not_recorded()),
            };
            match parsed {
                Ok(parsed) => self.add_reply(plan, request, sample, parsed, hunks, &mut replies)?,
                Err(error) => {
                    replies.outcome.add_failure(request, sample, &error);
                    replies.canary_found = false;
                    replies.samples.push(ReviewSample {
                        code: Some(error.code),
                        findings: 0,
                        effective: EffectiveModel::default(),
                        usage: request::failed_usage(recorded),
                    });
                }
            }
        }
        let has_answers = replies.samples.iter().any(|sample| sample.code.is_none());
        if request.planted.is_some() && has_answers && !replies.canary_found {
            replies.outcome.errors.insert(Code::ReviewCanaryMissed);
        }
        Ok(replies)
    }

    fn add_reply(
        &self,
        plan: &LensPlan,
        request: &Request<'_>,
        sample: u64,
        parsed: ParsedReply,
        hunks: &[PlannedHunk],
        replies: &mut MergedReplies,
    ) -> Result<(), PortError> {
        let reply = &parsed.reply;
        replies.outcome.add_reply(request, reply, &parsed.findings);
        let SplitFindings { canaries, findings } = split_canary(request, parsed.findings);
        replies.canary_found &= canaries > 0;
        replies.findings += findings.len() as u64;
        replies.samples.push(ReviewSample {
            code: None,
            findings: findings.len() as u64,
            effective: request::effective_model(reply),
            usage: request.sent.usage(reply),
        });
        for finding in findings {
            match self.locate(plan, &finding)? {
                Some(place) => {
                    let hunk = hunks.iter().position(|hunk| hunk.offset(&place.path, place.line).is_some());
                    merge_finding(&mut replies.merged, sample, hunk, finding, place);
                }
                None => {
                    replies.unverified += 1;
                    replies.outcome.statements.extend(self.unverified(request, &finding));
                }
            }
        }
        Ok(())
    }

    /// Locates a finding's quote in the hunks of the plan.
    fn locate(&self, plan: &LensPlan, finding: &ModelFinding) -> Result<Option<FindingPlace>, PortError> {
        let files = &self.reviews.change_set.files;
        let Some(position) = files.iter().position(|file| shown_path(&file.path) == finding.file) else {
            return Ok(None);
        };
        let Some(included) = included_hunks(plan, files).swap_remove(position) else { return Ok(None) };
        let text = self.reviews.texts.text(position)?;
        let packet = Packet { file: &files[position], text: &text, included: &included };
        Ok(locate(finding, &packet).map(|located| FindingPlace {
            path: files[position].path.clone(),
            line: located.line,
            quote: located.text,
        }))
    }

    /// Returns a non-blocking statement for a finding whose quote could not be located, or `None` if the change does not
    /// have its file.
    fn unverified(&self, request: &Request<'_>, finding: &ModelFinding) -> Option<ReviewStatement> {
        let files = &self.reviews.change_set.files;
        let file = files.iter().find(|file| shown_path(&file.path) == finding.file)?;
        let merged = MergedFinding {
            finding: ModelFinding { severity: Severity::Info, ..finding.clone() },
            path: file.path.clone(),
            line: finding.start_line,
            quote: plain(&finding.evidence_quote, SENTENCE),
            hunk: None,
            samples: BTreeSet::new(),
            answers: 1,
            is_late: false,
            differs: false,
        };
        let mut reviewed = statement(request, merged, Quorum { samples: 1, agree: 1 });
        reviewed.statement.doubt = Some(Code::EvidenceUnverified);
        reviewed.statement.end_line = finding.end_line;
        Some(reviewed)
    }
}

pub(super) fn find_reply<'r>(
    replies: &'r RecordedReplies,
    request: &Sha256Hex,
    sample: u64,
) -> Option<&'r RecordedReply> {
    replies.replies.iter().find(|reply| (&reply.request_hash, reply.sample) == (request, sample))
}

/// Findings of a reply, apart from those about the canary.
struct SplitFindings {
    /// Number of findings that report the canary.
    canaries: usize,
    findings: Vec<ModelFinding>,
}

fn split_canary(request: &Request<'_>, findings: Vec<ModelFinding>) -> SplitFindings {
    let Some(planted) = &request.planted else { return SplitFindings { canaries: 0, findings } };
    let (own, findings): (Vec<ModelFinding>, Vec<ModelFinding>) =
        findings.into_iter().partition(|finding| finding.file == planted.path);
    let canaries = own.iter().filter(|finding| planted.is_named_by(finding)).count();
    SplitFindings { canaries, findings }
}

/// Adds a finding of a sample to the nearest finding of the same rule that other samples report, or as a new one.
fn merge_finding(
    all: &mut Vec<MergedFinding>,
    sample: u64,
    hunk: Option<usize>,
    finding: ModelFinding,
    place: FindingPlace,
) {
    let FindingPlace { path, line, quote } = place;
    // Two findings of one sample are never merged.
    let near = all.iter_mut().filter(|merged| {
        merged.path == path
            && merged.hunk == hunk
            && merged.finding.rule_id == finding.rule_id
            && merged.line.abs_diff(line) <= NEAR_LINES
            && !merged.samples.contains(&sample)
    });
    match near.min_by_key(|merged| merged.line.abs_diff(line)) {
        Some(merged) => {
            merged.samples.insert(sample);
            merged.answers += 1;
            merged.differs |= merged.line != line || merged.finding.summary != finding.summary;
            // Severities are declared worst first.
            merged.finding.severity = merged.finding.severity.min(finding.severity);
        }
        None => {
            let samples = BTreeSet::from([sample]);
            all.push(MergedFinding {
                finding,
                path,
                line,
                quote,
                hunk,
                samples,
                answers: 1,
                is_late: false,
                differs: false,
            });
        }
    }
}

/// Number of samples of a review, and of those that have to agree on a finding.
#[derive(Clone, Copy)]
struct Quorum {
    samples: u64,
    agree: u64,
}

fn statement(request: &Request<'_>, merged: MergedFinding, quorum: Quorum) -> ReviewStatement {
    let MergedFinding { finding, path, line, quote, answers, is_late, differs, samples: _, hunk: _ } = merged;
    // A line may break several conventions, and each is a finding.
    let (rule, subject) = match request.spec.id == CONSISTENCY {
        true => (request.spec.rules.first(), finding.rule_id.clone()),
        false => (request.spec.rules.iter().find(|rule| rule.id == finding.rule_id), String::new()),
    };
    let claim = plain(&finding.summary, SENTENCE);
    let mut summary = claim.clone();
    if quorum.samples > 1 {
        summary.push_str(&format!(" ({answers} of {} answers)", quorum.samples));
    }
    let suggested = finding.suggestion.as_deref().map(|text| plain(text, SENTENCE));
    let (rule_id, fix) = match rule {
        Some(rule) => (rule.id.to_owned(), rule.fix),
        None => (finding.rule_id, ""),
    };
    let statement = Statement {
        rule_id,
        severity: finding.severity,
        fix: suggested.filter(|text| !text.is_empty()).unwrap_or_else(|| fix.to_owned()),
        edit: None,
        moves: false,
        file: path,
        side: Side::Head,
        start_line: line,
        end_line: line,
        start_column: 0,
        end_column: 0,
        quote: qa_core::escape::harmless(&quote),
        value: None,
        subject,
        operand: None,
        summary,
        detail: BTreeMap::new(),
        doubt: match (is_late, answers < quorum.agree) {
            (true, _) => Some(Code::ReviewLate),
            (false, true) => Some(Code::ReviewNotAgreed),
            (false, false) => None,
        },
    };
    ReviewStatement { statement, claim, differs }
}

/// Lists the kinds of text that were removed from the packet.
fn cleaning_summary(request: &Request<'_>) -> String {
    let cleaned = request.cleaned;
    let counts = [
        (cleaned.characters, "hidden characters"),
        (cleaned.comments, "comments"),
        (cleaned.alt_texts, "alternative texts"),
    ];
    let shown: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("removed before the model saw the change: {}", shown.join(", "))
}
