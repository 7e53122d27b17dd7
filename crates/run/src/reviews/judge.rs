//! Judges what a model answered from the record alone: which findings stand, and whether it looked at all.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::earlier::{PlannedHunk, held_against, said_of};
use super::{Evidence, Request, Reviews};
use crate::ports::PortError;
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{
    EarlierHunk, EffectiveModel, LensPlan, RecordedReplies, RecordedReply, ReviewRecord, ReviewSample,
    ReviewUsage, Severity, Side, Surface, UsageMetrics, UsageUnavailableReason,
};
use qa_core::calendar::day;
use qa_core::canonical;
use qa_core::findings::Statement;
use qa_core::packet::Packet;
use qa_core::plan::included_hunks;
use qa_core::policy::reviews::CONSISTENCY;
use qa_core::usage::usd;
use qa_lenses::reviews::answer::{ModelFinding, locate, read};
use qa_lenses::reviews::packet::shown_path;
use qa_lenses::reviews::plain::plain;
use qa_providers::contract::Reply;
use qa_providers::outcome;

/// Two answers mean the same place when their lines are no further apart.
pub(super) const NEAR_LINES: u64 = 3;
/// A model that is switched off so soon after the base commit is warned about: ninety days.
const SOON_SECONDS: i64 = 90 * 86_400;
/// The longest sentence of a finding, in characters.
const SENTENCE: usize = 300;

/// What the answers to a plan come to.
#[derive(Default)]
pub struct ReviewOutcome {
    pub(crate) statements: Vec<Statement>,
    /// Why the plan is not complete.
    pub(crate) errors: BTreeSet<Code>,
    pub(crate) warnings: BTreeSet<Code>,
    /// Whether too much of what was said stands nowhere.
    pub(crate) is_doubtful: bool,
    pub(crate) summary: Vec<String>,
    pub(crate) usage: Option<UsageMetrics>,
    pub(crate) record: Option<ReviewRecord>,
    /// What came back, without what differs between equal answers.
    pub(crate) responses: Vec<Normalised>,
}

/// An answer without ids, times and usage.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Normalised {
    surface: Surface,
    requested_model: String,
    echoed_model: Option<String>,
    outcome: Option<Code>,
    parsed_output: Option<Vec<ModelFinding>>,
}

/// Something that answers say of one place.
pub(super) struct MergedFinding {
    pub(super) said: ModelFinding,
    pub(super) path: RepoPath,
    pub(super) line: u64,
    pub(super) quote: String,
    /// Which hunk of the plan it is in; none for what was said before.
    pub(super) hunk: Option<usize>,
    /// Which answers say it now.
    pub(super) samples: BTreeSet<u64>,
    /// How many said it, now or when it was said first.
    pub(super) answers: u64,
    /// Whether its lines were asked about before and nothing was said of them.
    pub(super) is_late: bool,
}

impl Request<'_> {
    /// What an answer says, or why it is none. The same for an answer that came just now and for one that was recorded.
    pub(super) fn answer(
        &self,
        recorded: &RecordedReply,
    ) -> Result<(Reply, Vec<ModelFinding>), (Code, String)> {
        let Some(response) = &recorded.response else {
            let problem = recorded.problem.clone().unwrap_or_default();
            return Err((recorded.code.unwrap_or(Code::InternalError), problem));
        };
        let header = |name: &str| {
            let header = response.headers.iter().find(|header| header.name == name);
            header.map(|header| header.value.clone())
        };
        let decoded = outcome::decode(self.model.provider, response.status, header, response.body.as_bytes());
        // What is wrong with an answer is told with words of the answer.
        let reply = decoded.map_err(|failed| (failed.code, plain(&failed.said, SENTENCE)))?;
        let invalid = |said: String| (Code::ProviderOutputInvalid, plain(&said, SENTENCE));
        if let Some(echoed) = reply.echoed.model.as_ref().filter(|echoed| !self.model.is_answered_by(echoed))
        {
            let wanted = &self.model.binding.model_id;
            return Err(invalid(format!("{echoed} answered in the place of {wanted}")));
        }
        let said = read(&reply.text, &self.rule_ids).map_err(invalid)?;
        Ok((reply, said))
    }

    /// Whether a record is about this request, and does not contradict itself.
    fn is_of(&self, recorded: &RecordedReply) -> bool {
        let last = recorded.attempts.last().and_then(|attempt| attempt.status);
        recorded.surface == self.model.provider.spec().surface
            && recorded.request_body_sha256 == canonical::sha256(&self.encoded.body)
            && recorded.response.as_ref().map(|response| response.status) == last
            && recorded.response.is_some() != recorded.code.is_some()
    }

    /// What an answer cost, as far as its maker's list tells. One that cannot be used was made all the same, and counts as
    /// the longest there could be; one that was refused with a status of its own costs nothing.
    pub(super) fn spent_micro_usd(&self, recorded: &RecordedReply, bound: u64) -> u64 {
        let was_made =
            recorded.response.as_ref().is_some_and(|response| (200..300).contains(&response.status));
        match self.answer(recorded) {
            Ok((reply, _)) => self.usage(&reply).cost_micro_usd.unwrap_or(bound),
            Err(_) if was_made => bound,
            Err(_) => 0,
        }
    }

    fn effective(reply: &Reply) -> EffectiveModel {
        let echoed = reply.echoed.clone();
        EffectiveModel {
            model: echoed.model,
            temperature: echoed.temperature,
            top_p: echoed.top_p,
            effort: echoed.effort,
            service_tier: echoed.service_tier,
            system_fingerprint: echoed.system_fingerprint,
        }
    }

    fn usage(&self, reply: &Reply) -> ReviewUsage {
        let used = reply.usage;
        ReviewUsage {
            input_tokens: used.input,
            cached_input_tokens: used.cached_input,
            cache_write_tokens: used.cache_write,
            output_tokens: used.output,
            reasoning_tokens: used.reasoning,
            cost_micro_usd: self.model.cost_micro_usd(reply.echoed.service_tier.as_deref(), used),
        }
    }
}

/// What the answers to a plan say together.
struct Collected {
    heard: ReviewOutcome,
    merged: Vec<MergedFinding>,
    samples: Vec<ReviewSample>,
    /// How many things were said, and how many of them stand nowhere.
    said: u64,
    unverified: u64,
    canary_found: bool,
}

impl Evidence<'_> {
    /// What was answered to a plan.
    pub(crate) fn judge_replies(&self, plan: &LensPlan) -> Result<ReviewOutcome, PortError> {
        Judging { reviews: &self.reviews, replies: self.replies }.judge_replies(plan)
    }
}

/// One answer, as far as two can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFindings {
    /// What it finds where: what the model named, the file, the line. What stands nowhere is left out.
    pub places: BTreeSet<(String, RepoPath, u64)>,
    /// Everything it says.
    pub said: String,
}

/// Each answer to a plan by itself.
pub fn findings_by_sample(
    reviews: &Reviews<'_>,
    replies: &RecordedReplies,
    plan: &LensPlan,
) -> Result<Vec<Result<SampleFindings, Code>>, PortError> {
    let Some(request) = reviews.request(plan)? else { return Ok(Vec::new()) };
    let judging = Judging { reviews, replies };
    let mut all = Vec::new();
    for sample in 1..=plan.review.as_ref().map_or(0, |review| review.samples) {
        let recorded = find(replies, &request.encoded.request_hash, sample);
        let answer =
            recorded.map_or(Err((Code::ReplayRecordingMissing, String::new())), |it| request.answer(it));
        let (_, said) = match answer {
            Ok(answer) => answer,
            Err((code, _)) => {
                all.push(Err(code));
                continue;
            }
        };
        let (_, said) = without_canary(&request, said);
        let mut places = BTreeSet::new();
        for said in &said {
            let place = judging.locate(plan, said)?;
            places.extend(place.map(|(path, line, _)| (said.rule_id.clone(), path, line)));
        }
        let said = serde_json::to_string(&said).expect("what was said was read as JSON");
        all.push(Ok(SampleFindings { places, said }));
    }
    Ok(all)
}

/// Reviews and what was answered to them.
pub(super) struct Judging<'j, 'a> {
    pub(super) reviews: &'j Reviews<'a>,
    pub(super) replies: &'j RecordedReplies,
}

impl Judging<'_, '_> {
    fn judge_replies(&self, plan: &LensPlan) -> Result<ReviewOutcome, PortError> {
        let Some(request) = self.reviews.request(plan)? else {
            let mut heard = ReviewOutcome::default();
            // What is planned and cannot be asked was not looked at.
            heard.errors.extend((!plan.changed_files.is_empty()).then_some(Code::InternalError));
            return Ok(heard);
        };
        let review = plan.review.as_ref().expect("only a review's plan asks");
        let hunks = self.reviews.hunks(plan)?;
        let Collected { mut heard, merged, samples, said, unverified, canary_found } =
            self.collect(plan, &request, &hunks)?;
        let merged = held_against(&self.replies.earlier, &hunks, &plan.lens_id, merged);
        let stated =
            merged.into_iter().map(|finding| statement(&request, finding, (review.samples, review.agree)));
        heard.statements.extend(stated);
        heard.is_doubtful = unverified * 2 > said;
        if unverified > 0 {
            heard.warnings.insert(Code::EvidenceUnverified);
        }
        if heard.statements.iter().any(|statement| statement.doubt == Some(Code::ReviewLate)) {
            heard.warnings.insert(Code::ReviewLate);
        }
        if request.model.retires_by(&day(self.reviews.change_set.base_time + SOON_SECONDS)) {
            heard.warnings.insert(Code::ModelRetiring);
        }
        if !request.cleaned.is_nothing() {
            heard.warnings.insert(Code::ReviewTextCleaned);
            heard.summary.push(taken_out(&request));
        }
        heard.count(&request, &samples, unverified);
        heard.record = Some(ReviewRecord {
            request_hash: request.encoded.request_hash.clone(),
            samples,
            unverified,
            canary_found: request.planted.is_some().then_some(canary_found),
        });
        Ok(heard)
    }

    /// What stands of each hunk of a plan, if it was answered whole.
    pub(super) fn said(&self, plan: &LensPlan, request: &Request<'_>) -> Result<Vec<EarlierHunk>, PortError> {
        let hunks = self.reviews.hunks(plan)?;
        let Collected { heard, merged, unverified, .. } = self.collect(plan, request, &hunks)?;
        if !heard.errors.is_empty() {
            return Ok(Vec::new());
        }
        let merged = held_against(&self.replies.earlier, &hunks, &plan.lens_id, merged);
        Ok(said_of(&hunks, &merged, &plan.lens_id, unverified == 0))
    }

    fn collect(
        &self,
        plan: &LensPlan,
        request: &Request<'_>,
        hunks: &[PlannedHunk],
    ) -> Result<Collected, PortError> {
        let wanted = plan.review.as_ref().map_or(0, |review| review.samples);
        let mut all = Collected {
            heard: ReviewOutcome::default(),
            merged: Vec::new(),
            samples: Vec::new(),
            said: 0,
            unverified: 0,
            canary_found: true,
        };
        for sample in 1..=wanted {
            let recorded = find(self.replies, &request.encoded.request_hash, sample);
            let recorded = recorded.filter(|recorded| request.is_of(recorded));
            let answer = match recorded {
                Some(recorded) => request.answer(recorded),
                None => Err((Code::ReplayRecordingMissing, "it is not in the recording".to_owned())),
            };
            match answer {
                Ok((reply, said)) => self.take(plan, request, (sample, &reply, said), (hunks, &mut all))?,
                Err((code, problem)) => {
                    all.heard.fail(request, sample, code, &problem);
                    all.canary_found = false;
                    all.samples.push(ReviewSample {
                        code: Some(code),
                        findings: 0,
                        effective: EffectiveModel::default(),
                        usage: unused(recorded),
                    });
                }
            }
        }
        let has_answers = all.samples.iter().any(|sample| sample.code.is_none());
        if request.planted.is_some() && has_answers && !all.canary_found {
            all.heard.errors.insert(Code::ReviewCanaryMissed);
        }
        Ok(all)
    }

    /// Takes an answer.
    fn take(
        &self,
        plan: &LensPlan,
        request: &Request<'_>,
        (sample, reply, said): (u64, &Reply, Vec<ModelFinding>),
        (hunks, all): (&[PlannedHunk], &mut Collected),
    ) -> Result<(), PortError> {
        all.heard.take_reply(request, reply, &said);
        let (own, said) = without_canary(request, said);
        all.canary_found &= own > 0;
        all.said += said.len() as u64;
        all.samples.push(ReviewSample {
            code: None,
            findings: said.len() as u64,
            effective: Request::effective(reply),
            usage: request.usage(reply),
        });
        for said in said {
            match self.locate(plan, &said)? {
                Some(place) => {
                    let hunk = hunks.iter().position(|hunk| hunk.offset(&place.0, place.1).is_some());
                    merge_finding(&mut all.merged, (sample, hunk), said, place);
                }
                None => {
                    all.unverified += 1;
                    all.heard.statements.extend(self.unverified(request, &said));
                }
            }
        }
        Ok(())
    }

    /// Where a finding stands: the file, the line, and what is there.
    fn locate(
        &self,
        plan: &LensPlan,
        said: &ModelFinding,
    ) -> Result<Option<(RepoPath, u64, String)>, PortError> {
        let files = &self.reviews.change_set.files;
        let Some(position) = files.iter().position(|file| shown_path(&file.path) == said.file) else {
            return Ok(None);
        };
        let Some(included) = included_hunks(plan, files).swap_remove(position) else { return Ok(None) };
        let text = self.reviews.texts.text(position)?;
        let packet = Packet { file: &files[position], text: &text, included: &included };
        Ok(locate(said, &packet).map(|(line, quote)| (files[position].path.clone(), line, quote)))
    }

    /// What quotes something that does not stand there is kept as that; about a file that did not change it says nothing.
    fn unverified(&self, request: &Request<'_>, said: &ModelFinding) -> Option<Statement> {
        let files = &self.reviews.change_set.files;
        let file = files.iter().find(|file| shown_path(&file.path) == said.file)?;
        let finding = MergedFinding {
            said: ModelFinding { severity: Severity::Info, ..said.clone() },
            path: file.path.clone(),
            line: said.start_line,
            quote: plain(&said.evidence_quote, SENTENCE),
            hunk: None,
            samples: BTreeSet::new(),
            answers: 1,
            is_late: false,
        };
        let stated = statement(request, finding, (1, 1));
        Some(Statement { doubt: Some(Code::EvidenceUnverified), end_line: said.end_line, ..stated })
    }
}

fn find<'r>(replies: &'r RecordedReplies, request: &Sha256Hex, sample: u64) -> Option<&'r RecordedReply> {
    replies.replies.iter().find(|reply| (&reply.request_hash, reply.sample) == (request, sample))
}

/// What a sample used that has no answer: nothing, where nothing was sent.
fn unused(recorded: Option<&RecordedReply>) -> ReviewUsage {
    if recorded.is_some_and(|reply| !reply.attempts.is_empty()) {
        return ReviewUsage::default();
    }
    let zero = Some(0);
    ReviewUsage {
        input_tokens: zero,
        cached_input_tokens: zero,
        cache_write_tokens: zero,
        output_tokens: zero,
        reasoning_tokens: zero,
        cost_micro_usd: zero,
    }
}

/// How often the canary is named, and what else is said.
fn without_canary(request: &Request<'_>, said: Vec<ModelFinding>) -> (usize, Vec<ModelFinding>) {
    let Some(planted) = &request.planted else { return (0, said) };
    let (own, said): (Vec<ModelFinding>, Vec<ModelFinding>) =
        said.into_iter().partition(|said| said.file == planted.path);
    (own.iter().filter(|said| planted.is_named_by(said)).count(), said)
}

/// Adds what an answer says to what others said of the same place.
fn merge_finding(
    merged: &mut Vec<MergedFinding>,
    (sample, hunk): (u64, Option<usize>),
    said: ModelFinding,
    (path, line, quote): (RepoPath, u64, String),
) {
    // One answer that says two things of a place says two things.
    let near = merged.iter_mut().filter(|finding| {
        finding.path == path
            && finding.hunk == hunk
            && finding.said.rule_id == said.rule_id
            && finding.line.abs_diff(line) <= NEAR_LINES
            && !finding.samples.contains(&sample)
    });
    match near.min_by_key(|finding| finding.line.abs_diff(line)) {
        Some(finding) => {
            finding.samples.insert(sample);
            finding.answers += 1;
            // Declared worst first.
            finding.said.severity = finding.said.severity.min(said.severity);
        }
        None => {
            let samples = BTreeSet::from([sample]);
            merged.push(MergedFinding { said, path, line, quote, hunk, samples, answers: 1, is_late: false });
        }
    }
}

fn statement(request: &Request<'_>, finding: MergedFinding, (samples, agree): (u64, u64)) -> Statement {
    let MergedFinding { said, path, line, quote, answers, is_late, samples: _, hunk: _ } = finding;
    // Several conventions may be broken in one line, and each is a finding.
    let (rule, subject) = match request.spec.id == CONSISTENCY {
        true => (request.spec.rules.first(), said.rule_id.clone()),
        false => (request.spec.rules.iter().find(|rule| rule.id == said.rule_id), String::new()),
    };
    let mut summary = plain(&said.summary, SENTENCE);
    if samples > 1 {
        summary.push_str(&format!(" ({answers} of {samples} answers)"));
    }
    let suggested = said.suggestion.as_deref().map(|text| plain(text, SENTENCE));
    let own = rule.map_or("", |rule| rule.fix);
    Statement {
        rule_id: rule.map_or(said.rule_id.clone(), |rule| rule.id.to_owned()),
        severity: said.severity,
        fix: suggested.filter(|text| !text.is_empty()).unwrap_or_else(|| own.to_owned()),
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
        summary,
        detail: BTreeMap::new(),
        doubt: match (is_late, answers < agree) {
            (true, _) => Some(Code::ReviewLate),
            (false, true) => Some(Code::ReviewNotAgreed),
            (false, false) => None,
        },
    }
}

fn taken_out(request: &Request<'_>) -> String {
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
    format!("kept from the model: {}", shown.join(", "))
}

impl ReviewOutcome {
    fn take_reply(&mut self, request: &Request<'_>, reply: &Reply, said: &[ModelFinding]) {
        if reply.echoed.model.as_ref().is_some_and(|echoed| request.model.is_alias_of(echoed)) {
            self.warnings.insert(Code::ModelAliasUnpinned);
        }
        self.responses.push(Normalised {
            surface: request.model.provider.spec().surface,
            requested_model: request.model.binding.model_id.clone(),
            echoed_model: reply.echoed.model.clone(),
            outcome: None,
            parsed_output: Some(said.to_vec()),
        });
    }

    fn fail(&mut self, request: &Request<'_>, sample: u64, code: Code, problem: &str) {
        self.errors.insert(code);
        let problem = qa_core::masking::sanitize_cut(problem, SENTENCE);
        self.summary.push(format!("answer {sample}: {code}: {problem}"));
        self.responses.push(Normalised {
            surface: request.model.provider.spec().surface,
            requested_model: request.model.binding.model_id.clone(),
            echoed_model: None,
            outcome: Some(code),
            parsed_output: None,
        });
    }

    /// What the answers used together; null where one of them does not say.
    fn count(&mut self, request: &Request<'_>, samples: &[ReviewSample], unverified: u64) {
        let sum = |member: fn(&ReviewUsage) -> Option<u64>| {
            let counts = samples.iter().map(|sample| member(&sample.usage));
            counts.reduce(|left, right| Some(left?.saturating_add(right?))).flatten()
        };
        let (input, output) = (sum(|usage| usage.input_tokens), sum(|usage| usage.output_tokens));
        let cost = sum(|usage| usage.cost_micro_usd);
        let lacks_tokens = input.is_none() || output.is_none();
        let failed = samples.iter().any(|sample| sample.code.is_some());
        let unavailable_reason = match (lacks_tokens, cost) {
            (true, _) if failed => Some(UsageUnavailableReason::AdapterError),
            (true, _) => Some(UsageUnavailableReason::MissingUsageData),
            (false, None) => Some(UsageUnavailableReason::ProviderNotSupported),
            (false, Some(_)) => None,
        };
        if lacks_tokens {
            self.warnings.insert(Code::ProviderUsageUnavailable);
        }
        let answered = samples.iter().filter(|sample| sample.code.is_none()).count();
        let findings: u64 = samples.iter().map(|sample| sample.findings).sum();
        let noun = if findings == 1 { "finding" } else { "findings" };
        let tokens = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
        let cost_shown = cost.map_or("cost unknown".to_owned(), |cost| format!("{} USD", usd(cost)));
        self.summary.insert(
            0,
            format!(
                "{} answered {answered} of {}: {findings} {noun}, {unverified} without proof; {} tokens in, {} out, {cost_shown}",
                request.model.binding.model_id,
                samples.len(),
                tokens(input),
                tokens(output),
            ),
        );
        self.usage = Some(UsageMetrics {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input.zip(output).map(|(input, output)| input.saturating_add(output)),
            cost_usd: cost.map(usd),
            unavailable_reason,
        });
    }

    /// The digest over what came back.
    pub(crate) fn response_hash(&self) -> Sha256Hex {
        canonical::digest(&self.responses).expect("answers were read as JSON")
    }
}
