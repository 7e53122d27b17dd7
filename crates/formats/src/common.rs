//! Wording that all formats share: the verdict, the reason why a finding blocks, and the order of findings.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::contract::Report;
use crate::overrides::overrides;
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, Conclusion, CoverageStatus, Finding, FindingOrigin, LensPlan, LensStatus,
    PolicyPreview, Preset, QaGate, RegistryRule, Severity, WeakenedSetting,
};
use qa_core::escape::visible_cut;
use qa_core::findings::all_places;
use qa_core::observer::is_deferred;
use qa_core::opaque::opaque_files;
use qa_core::qa_report::{RunDetails, qa_report};
use qa_core::verdict::{nothing_to_judge, unread_files};

/// Returns all findings of a run: blocking ones first, each half worst first, then by place.
pub(crate) fn findings<'a>(report: &Report<'a>) -> Vec<&'a Finding> {
    let mut all: Vec<&Finding> =
        report.result.lens_results.iter().flat_map(|result| &result.findings).collect();
    all.sort_by_key(|finding| rank(finding));
    all
}

/// Returns the key of the order of [`findings`].
pub(crate) fn rank(finding: &Finding) -> impl Ord + '_ {
    let place = (&finding.file, finding.start_line, &finding.rule_id, &finding.finding_id);
    (Reverse(finding.blocking), finding.severity, place)
}

/// Returns the findings without pre-existing ones in files that the change does not touch, and counts these. Tools of
/// gates read the whole repository, and their old findings would crowd out the new ones.
pub(crate) fn findings_here<'a>(report: &Report<'a>) -> (Vec<&'a Finding>, usize) {
    let files = Files::new(report);
    let all = findings(report);
    let total = all.len();
    let here: Vec<&Finding> = all
        .into_iter()
        .filter(|finding| finding.origin != FindingOrigin::PreExisting || files.get(finding).is_some())
        .collect();
    let elsewhere = total - here.len();
    (here, elsewhere)
}

/// Returns a sentence that counts the findings left out by [`findings_here`], or `None` for none.
pub(crate) fn elsewhere(count: usize) -> Option<String> {
    (count > 0).then(|| {
        let counted = counted(count, "pre-existing finding");
        let verb = if count == 1 { "is" } else { "are" };
        format!("{counted} {verb} in files that the change does not touch; report.html and results.sarif list them")
    })
}

/// Returns the verdict's name.
pub(crate) fn verdict_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "PASS",
        Conclusion::Fail => "FAIL",
        Conclusion::CouldNotComplete => "COULD NOT COMPLETE",
    }
}

/// Content that was judged in the place of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    Staged,
    Worktree,
}

impl Uncommitted {
    /// Returns its name as the begin of a sentence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Staged => "Staged changes",
            Self::Worktree => "Working tree",
        }
    }
}

/// Returns what was judged in the place of a commit, or `None` if a commit was judged.
pub(crate) fn uncommitted(report: &Report<'_>) -> Option<Uncommitted> {
    let warnings = &report.result.final_verdict.warning_codes;
    if warnings.contains(&Code::StagedJudged) {
        return Some(Uncommitted::Staged);
    }
    warnings.contains(&Code::WorktreeJudged).then_some(Uncommitted::Worktree)
}

/// Returns the commit that was judged. Where none was, the id in the input names no commit of any repository.
pub(crate) fn head_commit<'a>(report: &Report<'a>) -> &'a str {
    match uncommitted(report) {
        Some(_) => "none: it is not committed",
        None => report.input.head_sha.as_str(),
    }
}

/// Returns the verdict's reason in one sentence.
pub(crate) fn reason(report: &Report<'_>) -> String {
    let headline = headline(report) + &overrides(report);
    match uncommitted(report) {
        Some(content) => format!("{}: {headline}", content.as_str()),
        None => headline,
    }
}

/// Returns the headline of a verdict about a commit.
fn headline(report: &Report<'_>) -> String {
    let verdict = &report.result.final_verdict;
    let all = all_places(report.result.lens_results.iter().flat_map(|result| &result.findings));
    let blocking = all_places(&verdict.blocking_findings);
    match verdict.conclusion {
        Conclusion::Pass if verdict.vacuous => "The change has nothing to inspect.".to_owned(),
        Conclusion::Pass if is_partial(report) => {
            let unread = unread_files(&report.result.lens_plans).len();
            let advice = match all {
                0 => "No finding in the files that were read".to_owned(),
                _ => format!("Nothing blocks in the files that were read; {}", advisory(report)),
            };
            let verb = if unread == 1 { "was" } else { "were" };
            let opaque = opaque_clause(report);
            format!("{advice}; {} {verb} NOT read in full{opaque}.", counted(unread, "file"))
        }
        Conclusion::Pass => {
            let advice = match all {
                0 => "No findings".to_owned(),
                _ => format!("Nothing blocks; {}", advisory(report)),
            };
            let gap = if verdict.degraded { ", and an optional plan is incomplete" } else { "" };
            format!("{advice}{gap}{}.", opaque_clause(report))
        }
        Conclusion::Fail => {
            let verb = if blocking == 1 { "blocks" } else { "block" };
            let advisory = match report.input.preset {
                Preset::Advisory => " The preset advisory blocks nothing by itself; settings of the policy do.",
                Preset::Default | Preset::Guarded => "",
            };
            format!("{} {verb} this change.{advisory}", counted(blocking, "finding"))
        }
        Conclusion::CouldNotComplete if is_withheld(report) => {
            "Nothing blocks and nothing was deferred; by the policy's `pass` the cross-check gives the verdict."
                .to_owned()
        }
        Conclusion::CouldNotComplete if is_deferred_alone(report) => {
            "The change was reviewed in part; the rest waits for a later turn of the observer.".to_owned()
        }
        Conclusion::CouldNotComplete if verdict.error_codes == [Code::NothingToJudge] => {
            format!("There is nothing to judge: {}.", nothing_to_judge(report.change_set))
        }
        Conclusion::CouldNotComplete => {
            "The run could not be completed, so the change was not judged.".to_owned()
        }
    }
}

/// Counts the findings that do not block, and the worst of them: `3 advisory findings, 1 critical among them`.
fn advisory(report: &Report<'_>) -> String {
    let all = report.result.lens_results.iter().flat_map(|result| &result.findings);
    let mut text = counted(all_places(all.clone()), "advisory finding");
    let worst: Vec<String> = [Severity::Critical, Severity::High]
        .into_iter()
        .filter_map(|severity| {
            let of_it = all.clone().filter(|finding| finding.severity == severity && is_warning(finding));
            let count = all_places(of_it);
            (count > 0).then(|| format!("{count} {severity}"))
        })
        .collect();
    if !worst.is_empty() {
        text += &format!(", {} among them", worst.join(" and "));
    }
    text
}

/// Settings of a policy preview that are shown one by one.
pub(crate) struct ShownSettings<'a> {
    pub(crate) settings: Vec<&'a WeakenedSetting>,
    /// Number of settings of rules that are left out because the preset, from which most of them follow, is shown.
    pub(crate) of_rules: usize,
}

/// Returns the weakened settings of a preview to show.
pub(crate) fn shown_settings(preview: &PolicyPreview) -> ShownSettings<'_> {
    let has_preset = preview.weakened.iter().any(|setting| setting.name == "preset");
    let (of_rules, mut settings): (Vec<_>, Vec<_>) =
        preview.weakened.iter().partition(|setting| has_preset && setting.name.starts_with("rules."));
    settings.sort_by_key(|setting| setting.name != "preset");
    ShownSettings { settings, of_rules: of_rules.len() }
}

/// Returns the reasons beside the headline, which has the number of blocking findings and why there is nothing to judge
/// already.
pub(crate) fn further_reasons<'a>(report: &Report<'a>) -> Vec<&'a str> {
    let verdict = &report.result.final_verdict;
    let number = format!("{} blocking", all_places(&verdict.blocking_findings));
    let nothing = match verdict.error_codes == [Code::NothingToJudge] {
        true => nothing_to_judge(report.change_set),
        false => String::new(),
    };
    let further = verdict.rationale.iter().filter(|line| !line.starts_with(&number) && **line != nothing);
    further.map(String::as_str).collect()
}

/// Returns the clause of a headline that counts binary files; empty for none.
fn opaque_clause(report: &Report<'_>) -> String {
    match opaque_files(report.change_set) {
        Some(opaque) => format!("; {opaque}"),
        None => String::new(),
    }
}

/// Returns whether changed files were left out of plans, as `limits.allow-omitted` permits.
pub(crate) fn is_partial(report: &Report<'_>) -> bool {
    !unread_files(&report.result.lens_plans).is_empty()
}

/// Returns whether the observer deferred a plan of the run.
pub(crate) fn has_deferred_plans(report: &Report<'_>) -> bool {
    report.result.lens_plans.iter().any(is_deferred)
}

/// Returns whether a run lacks nothing, and its mode may not pass by the policy's `pass`.
pub(crate) fn is_withheld(report: &Report<'_>) -> bool {
    is_deferred_alone(report) && !has_deferred_plans(report)
}

/// Returns whether a run lacks nothing but what the observer deferred, or the mode that may pass.
pub(crate) fn is_deferred_alone(report: &Report<'_>) -> bool {
    let verdict = &report.result.final_verdict;
    verdict.conclusion == Conclusion::CouldNotComplete && verdict.error_codes == [Code::CadenceDeferred]
}

/// `1 finding`, `2 findings`, `20,000 findings`.
pub fn counted(count: usize, noun: &str) -> String {
    let digits = count.to_string();
    let mut number = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            number.push(',');
        }
        number.push(digit);
    }
    let ending = if count == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Begins a sentence with a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Returns the status of a finding in a word or two.
pub(crate) fn standing(finding: &Finding) -> &'static str {
    if finding.blocking {
        "blocks"
    } else if finding.waiver.is_some() {
        "waived"
    } else if finding.origin == FindingOrigin::PreExisting {
        "pre-existing"
    } else {
        "advice"
    }
}

/// Returns the evidence beside the quote that the lines shown with it, without blanks, do not have already:
/// `imported by: src/cart.ts; missing: total`.
pub(crate) fn note(finding: &Finding, shown: &str) -> Option<String> {
    /// Members that say where and what, or mean nothing to people.
    const ELSEWHERE: &[&str] =
        &["convention", "detector", "endColumn", "message", "quote", "side", "startColumn", "subject"];
    let members = finding.evidence.iter().filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()));
    let parts: Vec<String> = members
        .filter_map(|(name, value)| Some((name, plain_text(value).filter(|text| !text.is_empty())?)))
        .filter(|(_, value)| !shown.contains(&without_blanks(value)))
        .map(|(name, value)| format!("{}: {value}", words(name)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns a text without white space, to compare it with lines that may be laid out otherwise.
pub(crate) fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Maximum number of lines of a test's message that are shown.
const MOST_MESSAGE_LINES: usize = 20;

/// Returns the lines of a test's message, each harmless; none if the summary shows all of it.
pub(crate) fn message_lines(finding: &Finding) -> Vec<String> {
    let text = evidence_text(finding, "message").trim_end();
    if finding.summary.ends_with(text) {
        return Vec::new();
    }
    let mut lines: Vec<String> =
        text.lines().take(MOST_MESSAGE_LINES).map(|line| visible_cut(line, 300)).collect();
    if text.lines().count() > MOST_MESSAGE_LINES {
        lines.push("…".to_owned());
    }
    lines
}

/// Returns a value of the evidence as text, or `None` for kinds of values that are not shown.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        Value::Bool(_) | Value::Null | Value::Object(_) => None,
    }
}

/// `importedBy` as `imported by`.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 1);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// A text member of the evidence; empty when absent.
pub(crate) fn evidence_text<'a>(finding: &'a Finding, name: &str) -> &'a str {
    finding.evidence.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number of the evidence; 0 when absent.
pub(crate) fn evidence_number(finding: &Finding, name: &str) -> u64 {
    finding.evidence.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns whether a finding's lines are those of the base.
pub(crate) fn is_on_base(finding: &Finding) -> bool {
    evidence_text(finding, "side") == "base"
}

/// `path:line:column` for people, the path in its escaped form.
pub(crate) fn location(finding: &Finding) -> String {
    let column = evidence_number(finding, "startColumn");
    let column = if column > 0 { format!(":{column}") } else { String::new() };
    let side = if is_on_base(finding) { " (base)" } else { "" };
    format!("{}:{}{column}{side}", finding.file, finding.start_line)
}

/// Changed files by their paths at both sides.
pub(crate) struct Files<'a> {
    head: BTreeMap<&'a RepoPath, &'a ChangedFile>,
    base: BTreeMap<&'a RepoPath, &'a ChangedFile>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(report: &Report<'a>) -> Self {
        let files = &report.change_set.files;
        Self {
            head: files.iter().map(|file| (&file.path, file)).collect(),
            base: files.iter().map(|file| (file.old_path.as_ref().unwrap_or(&file.path), file)).collect(),
        }
    }

    /// The changed file a finding is in.
    pub(crate) fn get(&self, finding: &Finding) -> Option<&'a ChangedFile> {
        let by_side = if is_on_base(finding) { &self.base } else { &self.head };
        by_side.get(&finding.file).copied()
    }

    /// Returns the changed file of a path at head.
    pub(crate) fn at_head(&self, path: &RepoPath) -> Option<&'a ChangedFile> {
        self.head.get(path).copied()
    }

    /// Returns the place of a finding at head: its own lines, or the line where removed ones were.
    pub(crate) fn anchor(&self, finding: &'a Finding) -> Anchor<'a> {
        let start_column = evidence_number(finding, "startColumn");
        let end_column = evidence_number(finding, "endColumn");
        let (start_line, end_line) =
            (finding.start_line.max(1), finding.end_line.max(finding.start_line).max(1));
        if !is_on_base(finding) {
            let columns = (start_line == end_line && start_column > 0 && end_column >= start_column)
                .then_some((start_column, end_column));
            return Anchor { path: &finding.file, start_line, end_line, columns };
        }
        let Some(file) = self.get(finding) else {
            return Anchor { path: &finding.file, start_line: 1, end_line: 1, columns: None };
        };
        let line = line_at_head(file, start_line);
        Anchor { path: &file.path, start_line: line, end_line: line, columns: None }
    }
}

/// Returns the line at head where a line of the base was; 1 for a deleted file.
fn line_at_head(file: &ChangedFile, base_line: u64) -> u64 {
    let after = file.hunks.partition_point(|hunk| hunk.old_start <= base_line);
    match file.hunks[..after].last() {
        Some(hunk) if file.kind != ChangeKind::Deleted => hunk.new_start.max(1),
        Some(_) | None => 1,
    }
}

/// A place at head.
pub(crate) struct Anchor<'a> {
    /// The path at head; at the base for a deleted file.
    pub(crate) path: &'a RepoPath,
    /// The first line.
    pub(crate) start_line: u64,
    /// The last line.
    pub(crate) end_line: u64,
    /// The first column and the one after the last, where they are known and inside one line.
    pub(crate) columns: Option<(u64, u64)>,
}

/// Titles of rules, by id.
pub(crate) fn rules<'a>(report: &Report<'a>) -> BTreeMap<&'a str, &'a RegistryRule> {
    let rules = report.registry.lenses.iter().flat_map(|lens| &lens.rules);
    rules.map(|rule| (rule.rule_id.as_str(), rule)).collect()
}

/// Every code of the run with the word a reader knows it by, each once: those of the verdict, then those that only a
/// plan or a file has.
pub(crate) fn codes(report: &Report<'_>) -> Vec<(&'static str, Code)> {
    let verdict = &report.result.final_verdict;
    let errors = verdict.error_codes.iter().map(|&code| ("error", code));
    let mut codes: Vec<_> =
        errors.chain(verdict.warning_codes.iter().map(|&code| ("warning", code))).collect();
    let plans =
        report.result.lens_results.iter().flat_map(|one| one.error_codes.iter().chain(&one.warning_codes));
    let cells = report.coverage.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.code.as_ref());
    let files = report.change_set.files.iter().flat_map(|file| &file.codes);
    let mut rest: BTreeSet<Code> = plans.chain(cells).chain(files).copied().collect();
    for (_, code) in &codes {
        rest.remove(code);
    }
    codes.extend(rest.into_iter().map(|code| ("note", code)));
    codes
}

/// Returns a plan's name: its lens and part.
pub(crate) fn plan_name(plan: &LensPlan) -> String {
    match &plan.sub_lens_id {
        Some(part) => format!("{}/{part}", plan.lens_id),
        None => plan.lens_id.clone(),
    }
}

/// Returns the extent of the run as one sentence without a full stop.
pub(crate) fn extent(report: &Report<'_>) -> String {
    let coverage = report.coverage;
    let hunks: u64 = coverage.rows.iter().map(|row| row.hunks).sum();
    format!(
        "{} over {} of {}",
        counted(coverage.full_cells as usize, "complete check"),
        counted(hunks as usize, "hunk"),
        counted(coverage.rows.len(), "file")
    )
}

/// The quality gates in the words of `qa-report.json`, in its order; empty where the policy declares none.
pub(crate) fn quality_gates(report: &Report<'_>) -> Vec<QaGate> {
    let result = report.result;
    let gates = qa_report(&result.lens_plans, &result.lens_results, RunDetails::default());
    gates.into_iter().flat_map(|report| report.gates.into_values()).collect()
}

/// Review of a plan by a model.
pub(crate) struct ModelReview<'a> {
    /// The plan's name.
    pub(crate) plan: String,
    pub(crate) required: bool,
    pub(crate) status: LensStatus,
    /// Sentences about the request, the replies and the usage.
    pub(crate) notes: &'a [String],
}

/// Returns the plans that are reviews by a model, by ordinal.
pub(crate) fn model_reviews<'a>(report: &Report<'a>) -> Vec<ModelReview<'a>> {
    let results = report.result.lens_plans.iter().zip(&report.result.lens_results);
    results
        .filter(|(_, result)| result.review.is_some())
        .map(|(plan, result)| ModelReview {
            plan: plan_name(plan),
            required: plan.required,
            status: result.status,
            notes: &result.evidence_summary,
        })
        .collect()
}

/// Returns the result of a gate in two words at most.
pub(crate) fn gate_word(gate: &QaGate) -> &'static str {
    match (gate.passed, gate.error_codes.is_empty()) {
        (false, false) if gate.error_codes == [Code::CadenceDeferred] => "deferred",
        (true, _) => "passed",
        (false, true) => "failed",
        (false, false) => "no result",
    }
}

/// A plan's share of the coverage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PlanTotals {
    pub(crate) full: usize,
    pub(crate) partial: usize,
    pub(crate) omitted: usize,
    pub(crate) inspected_hunks: u64,
}

/// Coverage per plan, by ordinal.
pub(crate) fn plan_totals(report: &Report<'_>) -> BTreeMap<u64, PlanTotals> {
    let mut totals: BTreeMap<u64, PlanTotals> =
        report.result.lens_plans.iter().map(|plan| (plan.plan_ordinal, PlanTotals::default())).collect();
    for cell in report.coverage.rows.iter().flat_map(|row| &row.cells) {
        let entry = totals.entry(cell.plan_ordinal).or_default();
        entry.inspected_hunks += cell.inspected_hunks;
        match cell.status {
            CoverageStatus::Full => entry.full += 1,
            CoverageStatus::Partial => entry.partial += 1,
            CoverageStatus::Omitted => entry.omitted += 1,
        }
    }
    totals
}

/// Returns whether a finding that does not block is a warning, for surfaces that know only warnings and notes.
pub(crate) fn is_warning(finding: &Finding) -> bool {
    finding.waiver.is_none()
        && finding.origin == FindingOrigin::Introduced
        && matches!(finding.severity, Severity::Critical | Severity::High | Severity::Medium)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn blocking_findings_come_first_and_the_worst_before_the_others() {
        let sample = sample::fail();
        let report = sample.report(false);
        let order: Vec<(&str, Severity)> =
            findings(&report).iter().map(|finding| (standing(finding), finding.severity)).collect();
        assert_eq!(
            order,
            [
                ("blocks", Severity::Critical),
                ("blocks", Severity::Medium),
                ("waived", Severity::High),
                ("advice", Severity::High),
                ("advice", Severity::Medium),
                ("pre-existing", Severity::Low),
                ("advice", Severity::Low),
            ]
        );
    }

    #[test]
    fn what_was_there_before_elsewhere_is_counted_and_everything_else_shown() {
        let mut sample = sample::fail();
        let whole = findings(&sample.report(false)).len();
        assert_eq!((findings_here(&sample.report(false)).0.len(), elsewhere(0)), (whole, None));
        for finding in sample.result.lens_results.iter_mut().flat_map(|result| &mut result.findings) {
            if finding.origin == FindingOrigin::PreExisting {
                finding.file = RepoPath::from_bytes(b"untouched/elsewhere.py").unwrap();
            }
        }
        let report = sample.report(false);
        assert_eq!(findings_here(&report).1, 1);
        for format in crate::ALL {
            let text = String::from_utf8(format.render(&report)).unwrap();
            let shown = text.contains("untouched/elsewhere.py");
            let short = ["terminal", "github", "markdown"].contains(&format.spec().id);
            assert_eq!(shown, !short, "{}", format.spec().id);
        }
    }

    #[test]
    fn numbers_are_grouped_and_nouns_agree() {
        let cases = [
            (0, "0 files"),
            (1, "1 file"),
            (999, "999 files"),
            (1000, "1,000 files"),
            (1234567, "1,234,567 files"),
        ];
        for (count, expected) in cases {
            assert_eq!(counted(count, "file"), expected);
        }
    }
}
