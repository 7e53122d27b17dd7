//! Turns drafts into findings: evidence, identity, origin, strength, waiver, and so whether they block.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::canonical;
use super::classify;
use super::policy::Policy;
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{
    AppliedWaiver, BlockingPolicy, ChangedFile, Edit, Finding, FindingOrigin, RatchetEvidence,
    RecordedSurvey, Scope, Severity, Side, Strength, Waiver,
};

/// A lens's finding before it is judged. The scheduler makes it from the lens contract's draft.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub rule_id: String,
    pub severity: Severity,
    pub fix: String,
    pub edit: Option<Edit>,
    /// True if removing the same text elsewhere makes the finding pre-existing.
    pub moves: bool,
    pub file: RepoPath,
    pub side: Side,
    pub start_line: u64,
    pub end_line: u64,
    pub start_column: u64,
    pub end_column: u64,
    pub quote: String,
    /// Disambiguates findings whose quotes are identical after masking.
    pub value: Option<u32>,
    /// Disambiguates findings at the same place: a test's name, a tool's message, a convention. Empty where the quote is
    /// enough.
    pub subject: String,
    /// Absent where only the same text is the same fault.
    pub operand: Option<Operand>,
    pub summary: String,
    pub detail: BTreeMap<String, Value>,
    /// Reason why it cannot block, whatever its rule says: `EVIDENCE_UNVERIFIED` where the quote was not found at the
    /// claimed place inside the change.
    pub doubt: Option<Code>,
}

impl Statement {
    /// Returns the text that identifies the finding when its line moves. A tool's message includes the file: the same
    /// message about another file is another finding.
    pub fn identity(&self) -> String {
        match (self.quote.is_empty(), self.subject.is_empty()) {
            (false, _) | (true, true) => identity(&self.quote, self.detail.get(EXPRESSION)),
            (true, false) => match self.path_elsewhere() {
                Some(path) => normalized(&format!("{}: {path}: {}", self.file, self.subject)),
                None => normalized(&format!("{}: {}", self.file, self.subject)),
            },
        }
    }

    /// Returns the path of a file outside of the repository that the finding is about.
    fn path_elsewhere(&self) -> Option<&str> {
        self.detail.get(PATH_ELSEWHERE)?.as_str()
    }

    fn texts(&self) -> usize {
        texts(self.detail.get(ALSO_ON_LINES))
    }
}

/// Evidence member with the number of places that a finding stands for, where they are not listed one by one.
pub const UNLISTED: &str = "unlisted";

/// Evidence member with the file outside of the repository that a tool names, as its report writes it. The finding's own
/// file is then the report.
pub const PATH_ELSEWHERE: &str = "pathElsewhere";

/// Evidence member with the further lines of a file that a finding stands for.
pub const ALSO_ON_LINES: &str = "alsoOnLines";

/// Evidence member with the whole expression at fault, where the quote is only a part of it.
pub const EXPRESSION: &str = "expression";

/// Returns the text that identifies a hit when it is re-indented or wrapped: the whole expression where the draft has it,
/// else the quote; without white space, and without the commas that formatters add.
pub fn identity(quote: &str, expression: Option<&Value>) -> String {
    let text = normalized(expression.and_then(Value::as_str).unwrap_or(quote));
    [')', ']', '}'].iter().fold(text, |text, end| text.replace(&format!(",{end}"), &end.to_string()))
}

/// Returns the number of texts that a draft stands for, by its [`ALSO_ON_LINES`].
pub fn texts(also_on_lines: Option<&Value>) -> usize {
    1 + also_on_lines.and_then(Value::as_array).map(Vec::len).unwrap_or_default()
}

/// Returns the number of places that a finding stands for.
pub fn places(finding: &Finding) -> u64 {
    finding.evidence.get(UNLISTED).and_then(Value::as_u64).unwrap_or(1)
}

/// Returns the number of places that all the findings stand for.
pub fn all_places<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> usize {
    let all: u64 = findings.into_iter().map(places).sum();
    usize::try_from(all).unwrap_or(usize::MAX)
}

/// A text of removed lines, as a rule sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MovedText {
    pub rule_id: String,
    pub scope: Scope,
    /// The text without white space.
    pub quote: String,
    /// Number of the secret that is masked in it.
    pub secret: Option<u32>,
}

/// Part of a hit that stays when its receiver or its function is replaced, with its place: the same text in another
/// function is about something else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operand {
    pub rule_id: String,
    /// Path at head.
    pub file: RepoPath,
    /// Position of the hunk in the file.
    pub hunk: usize,
    /// Names of the definitions around it, outermost first.
    pub definition: String,
    pub text: String,
}

/// Texts of removed lines that explain added ones, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovedCounts {
    /// Number of times that each text occurs.
    texts: BTreeMap<MovedText, usize>,
    operands: BTreeMap<Operand, Vec<MovedText>>,
}

impl MovedCounts {
    /// Counts a removed text that occurs a number of times.
    pub fn add(&mut self, text: MovedText, operand: Option<Operand>, times: usize) {
        if let Some(operand) = operand {
            self.operands.entry(operand).or_default().extend(std::iter::repeat_n(text.clone(), times));
        }
        *self.texts.entry(text).or_insert(0) += times;
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Takes a removed text away, as often as it is needed. Takes nothing and returns false if fewer are left.
    fn take(&mut self, text: &MovedText, times: usize) -> bool {
        let count = self.texts.get_mut(text).filter(|count| **count >= times);
        count.map(|count| *count -= times).is_some()
    }

    /// Takes removed texts with the operand from its file. Takes nothing and returns false if fewer are left.
    fn take_operand(&mut self, operand: &Operand, scope: Scope, times: usize) -> bool {
        let Some(removed) = self.operands.get_mut(operand) else { return false };
        let mut taken = Vec::new();
        while taken.len() < times
            && let Some(text) = removed.pop()
        {
            match self.texts.get_mut(&text) {
                Some(count) if text.scope == scope && *count > 0 => {
                    *count -= 1;
                    taken.push(text);
                }
                // It explains another text already.
                Some(_) | None => {}
            }
        }
        let is_enough = taken.len() == times;
        if !is_enough {
            for text in taken {
                *self.texts.entry(text.clone()).or_default() += 1;
                removed.push(text);
            }
        }
        is_enough
    }
}

/// Inputs of a judgement besides the statement itself.
pub struct Judge<'a> {
    pub policy: &'a Policy,
    pub waivers: &'a [Waiver],
    /// The base commit's day, `YYYY-MM-DD`.
    pub today: String,
    pub surveys: &'a [RecordedSurvey],
    pub moved: MovedCounts,
}

/// Returns a quote without white space, which identifies a finding when it is re-indented or wrapped.
pub fn normalized(quote: &str) -> String {
    quote.chars().filter(|character| !character.is_whitespace()).collect()
}

/// Returns the name of the files that a ratchet surveys together with this one.
pub fn population(file: &ChangedFile) -> String {
    format!("language={} scope={}", file.language.as_deref().unwrap_or("none"), file.scope)
}

/// Returns a file with the scope that a rule applies. A renamed file has the stricter of its two paths' scopes, because
/// the change's author chooses the new path and must not loosen the rule by it.
pub fn with_strictest_scope<'f>(policy: &Policy, rule: &str, file: &'f ChangedFile) -> Cow<'f, ChangedFile> {
    let Some(old) = &file.old_path else { return Cow::Borrowed(file) };
    let scope = policy.scope_globs().scope(old, classify::class(old));
    if policy.strength(rule, scope) < policy.strength(rule, file.scope) {
        return Cow::Owned(ChangedFile { scope, ..file.clone() });
    }
    Cow::Borrowed(file)
}

/// Judges one plan's statements; the findings come out in S003-102 order.
pub fn judge(
    lens_id: &str,
    statements: Vec<Statement>,
    files: &BTreeMap<&RepoPath, &ChangedFile>,
    judge: &mut Judge<'_>,
) -> Vec<Finding> {
    let mut seen: BTreeMap<(String, RepoPath, String), u64> = BTreeMap::new();
    let mut statements = without_repeats(statements);
    statements.retain(|statement| {
        let file = judged_file(judge.policy, statement, files);
        judge.policy.strength(&statement.rule_id, scope(file.as_deref())) != Strength::Off
    });
    let origins = origins(&statements, files, &mut judge.moved);
    let mut findings: Vec<Finding> = statements
        .into_iter()
        .zip(origins)
        .map(|(statement, origin)| {
            let file = judged_file(judge.policy, &statement, files);
            let strength = judge.policy.strength(&statement.rule_id, scope(file.as_deref()));
            let key = (statement.rule_id.clone(), statement.file.clone(), statement.identity());
            let occurrence = seen.entry(key).or_insert(0);
            *occurrence += 1;
            finding(lens_id, statement, *occurrence, file.as_deref(), strength, origin, judge)
        })
        .collect();
    sort_findings(&mut findings);
    findings
}

/// Returns the file of a statement with the scope that the rule applies. A path that is not in the change cannot be
/// verified, but its findings are not dropped.
fn judged_file<'f>(
    policy: &Policy,
    statement: &Statement,
    files: &BTreeMap<&RepoPath, &'f ChangedFile>,
) -> Option<Cow<'f, ChangedFile>> {
    let file = files.get(&statement.file)?;
    Some(with_strictest_scope(policy, &statement.rule_id, file))
}

/// Drops repeated statements about one place; those without doubt win, then the more severe.
fn without_repeats(mut statements: Vec<Statement>) -> Vec<Statement> {
    statements.sort_by_cached_key(|statement| {
        let Statement { doubt, severity, quote, .. } = statement;
        (place(statement), *doubt, *severity, quote.clone())
    });
    statements.dedup_by(|next, kept| place(next) == place(kept));
    statements
}

/// Place and subject of a statement. Two secrets on a line begin at the same column where their quotes show the line from
/// its beginning, and are told apart by end and value.
fn place(statement: &Statement) -> impl Ord + use<> {
    let Statement { rule_id, file, side, start_line, start_column, end_column, subject, value, .. } =
        statement;
    let columns = (*start_column, *end_column);
    let elsewhere = statement.path_elsewhere().map(str::to_owned);
    (file.clone(), *start_line, columns, rule_id.clone(), *side, (subject.clone(), elsewhere), *value)
}

/// Returns a file's scope; a path that is not in the change counts as product code.
fn scope(file: Option<&ChangedFile>) -> Scope {
    match file {
        Some(file) => file.scope,
        None => Scope::Product,
    }
}

fn finding(
    lens_id: &str,
    statement: Statement,
    occurrence: u64,
    file: Option<&ChangedFile>,
    strength: Strength,
    origin: FindingOrigin,
    judge: &Judge<'_>,
) -> Finding {
    let snippet = statement.identity();
    let scope = scope(file);
    let identity = json!([lens_id, null, statement.rule_id, statement.file, snippet, occurrence]);
    let finding_id = canonical::digest(&identity).expect("strings and counts have a canonical form");
    let ratchet =
        file.filter(|_| strength == Strength::Ratchet).map(|file| ratchet(&statement.rule_id, file, judge));
    let mut evidence: BTreeMap<String, Value> = statement.detail;
    evidence.insert("quote".to_owned(), statement.quote.into());
    if !statement.subject.is_empty() {
        evidence.insert("subject".to_owned(), statement.subject.into());
    }
    evidence.insert("side".to_owned(), statement.side.as_str().into());
    evidence.insert("startColumn".to_owned(), statement.start_column.into());
    evidence.insert("endColumn".to_owned(), statement.end_column.into());
    let proof =
        json!([statement.rule_id, statement.file, statement.start_line, statement.end_line, evidence]);
    let evidence_hash = canonical::digest(&proof).expect("evidence is made of JSON values");
    let (waiver, mut codes) = waiver(&statement.rule_id, &evidence_hash, judge);
    codes.extend(evidence.contains_key(UNLISTED).then_some(Code::FindingsUnlisted));
    codes.extend(statement.doubt);
    codes.sort();
    let weighty = match judge.policy.blocking_policy {
        BlockingPolicy::RuleDefined => by_rule(strength, ratchet.as_ref()),
        BlockingPolicy::SeverityThreshold => statement.severity <= judge.policy.blocking_threshold,
        BlockingPolicy::Mixed => {
            by_rule(strength, ratchet.as_ref()) || statement.severity <= judge.policy.blocking_threshold
        }
    };
    let blocking =
        weighty && statement.doubt.is_none() && waiver.is_none() && origin == FindingOrigin::Introduced;
    Finding {
        finding_id,
        lens_id: lens_id.to_owned(),
        sub_lens_id: None,
        rule_id: statement.rule_id,
        severity: statement.severity,
        blocking,
        file: statement.file,
        start_line: statement.start_line,
        end_line: statement.end_line,
        summary: statement.summary,
        evidence,
        evidence_hash,
        origin,
        scope,
        strength,
        ratchet,
        waiver,
        fix: statement.fix,
        edit: statement.edit,
        codes,
    }
}

fn by_rule(strength: Strength, ratchet: Option<&RatchetEvidence>) -> bool {
    match strength {
        Strength::Block => true,
        Strength::Ratchet => matches!(ratchet, Some(ratchet) if ratchet.holds),
        Strength::Advise | Strength::Off => false,
    }
}

/// Returns the origin of each statement. Each removed text explains one added text, not two: the same text anywhere in
/// the change, and then one with the same operand in the same hunk of the same function.
fn origins(
    statements: &[Statement],
    files: &BTreeMap<&RepoPath, &ChangedFile>,
    moved: &mut MovedCounts,
) -> Vec<FindingOrigin> {
    let mut origins = vec![FindingOrigin::Introduced; statements.len()];
    for (statement, origin) in statements.iter().zip(&mut origins) {
        let text = MovedText {
            rule_id: statement.rule_id.clone(),
            scope: head_scope(statement, files),
            quote: statement.identity(),
            secret: statement.value,
        };
        if statement.moves && !text.quote.is_empty() && moved.take(&text, statement.texts()) {
            *origin = FindingOrigin::PreExisting;
        }
    }
    for (statement, origin) in statements.iter().zip(&mut origins) {
        let is_open = statement.moves && *origin == FindingOrigin::Introduced;
        if is_open
            && let Some(operand) = &statement.operand
            && moved.take_operand(operand, head_scope(statement, files), statement.texts())
        {
            *origin = FindingOrigin::PreExisting;
        }
    }
    origins
}

/// Returns the scope of the file's new path, under which moved text is counted.
fn head_scope(statement: &Statement, files: &BTreeMap<&RepoPath, &ChangedFile>) -> Scope {
    scope(files.get(&statement.file).copied())
}

fn ratchet(rule_id: &str, file: &ChangedFile, judge: &Judge<'_>) -> RatchetEvidence {
    let population = population(file);
    let survey =
        judge.surveys.iter().find(|survey| survey.rule_id == rule_id && survey.population == population);
    let (support, complying) = match survey {
        Some(survey) => (survey.support, survey.complying),
        None => (0, 0),
    };
    let (theta_permille, min_support) = (judge.policy.theta_permille, judge.policy.min_support);
    let holds = support >= min_support && complying * 1000 >= support * u64::from(theta_permille);
    RatchetEvidence { theta_permille, min_support, support, complying, holds }
}

fn waiver(rule_id: &str, evidence_hash: &Sha256Hex, judge: &Judge<'_>) -> (Option<AppliedWaiver>, Vec<Code>) {
    let bound = judge
        .waivers
        .iter()
        .filter(|waiver| waiver.rule == rule_id && waiver.evidence_hash == evidence_hash.as_str())
        .max_by_key(|waiver| &waiver.expires);
    match bound {
        None => (None, Vec::new()),
        // Dates of this form order as text.
        Some(waiver) if waiver.expires < judge.today => (None, vec![Code::WaiverExpired]),
        Some(waiver) => {
            let applied = AppliedWaiver {
                owner: waiver.owner.clone(),
                reason: waiver.reason.clone(),
                expires: waiver.expires.clone(),
            };
            (Some(applied), Vec::new())
        }
    }
}

/// Sorts findings in conflict resolution order (S003-102): severity worst first, lens, file, line, rule, evidence hash.
pub fn sort_findings(findings: &mut [Finding]) {
    findings.sort_by(|left, right| {
        (left.severity, &left.lens_id, &left.file, left.start_line, &left.rule_id, &left.evidence_hash).cmp(
            &(
                right.severity,
                &right.lens_id,
                &right.file,
                right.start_line,
                &right.rule_id,
                &right.evidence_hash,
            ),
        )
    });
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
