//! Checks a judged run again in both directions: nothing blocks without proof, and nothing passes without it.

use std::collections::BTreeSet;

use crate::classify::PathSet;
use crate::escape::harmless;
use crate::gates;
use crate::policy::{Policy, WAIVERS_PATH};
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeSet, Coverage, CoverageStatus, CrossCheck, CrossCheckItem, Direction, Finding, FindingOrigin,
    ItemOutcome, LensPlan, LensResult, LensStatus, Scope, Side, Strength,
};

/// Reads lines of a version of a file independently of the packet a lens saw; `None` when they do not exist.
pub type LineReader<'a> = dyn Fn(&RepoPath, Side, u64, u64) -> Option<String> + 'a;

/// Digests of the drafts that one plan gave over the files of the self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    pub forward: Sha256Hex,
    /// With the files in reverse order.
    pub reverse: Sha256Hex,
}

/// A judged run with the independent evidence that it is checked against.
pub struct Subject<'a> {
    pub change_set: &'a ChangeSet,
    pub policy: &'a Policy,
    pub plans: &'a [LensPlan],
    /// Plans derived a second time from the same inputs.
    pub plans_again: &'a [LensPlan],
    pub results: &'a [&'a LensResult],
    pub coverage: &'a Coverage,
    /// Digests of each plan's drafts over the files of the self-test, forwards and in reverse.
    pub self_test: &'a [SelfTest],
    pub notices: &'a [Code],
    pub lines: &'a LineReader<'a>,
    /// The gates' reports, parsed a second time.
    pub gates: &'a [GateReports],
}

/// Content of a gate's reports, to compare its findings with.
pub struct GateReports {
    pub lens_id: String,
    /// True if all of the reports could be read and say that the gate passed.
    pub passed: bool,
    /// Every entry of the reports.
    pub entries: BTreeSet<ReportEntry>,
}

/// Entry of a gate's report, as a finding repeats it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportEntry {
    pub rule_id: String,
    pub file: RepoPath,
    pub line: u64,
    pub subject: String,
}

impl ReportEntry {
    fn from_finding(finding: &Finding) -> Self {
        Self {
            rule_id: finding.rule_id.clone(),
            file: finding.file.clone(),
            line: finding.start_line,
            subject: report_subject(finding).to_owned(),
        }
    }
}

/// Runs all items in their fixed order.
pub fn cross_check(subject: &Subject<'_>) -> CrossCheck {
    let items = vec![
        in_range(subject),
        verbatim(subject),
        may_block(subject),
        introduced(subject),
        no_duplicates(subject),
        plans_rederived(subject),
        results_match_plans(subject),
        required_scope_complete(subject),
        coverage_complete(subject),
        nothing_unseen(subject),
        order_does_not_matter(subject),
        evidence_not_empty(subject),
        policy_change_reported(subject),
        reports_say_so(subject),
        gates_agree(subject),
        reviews_answered(subject),
    ];
    let passed = items.iter().all(|item| item.outcome != ItemOutcome::Failed);
    CrossCheck { schema_version: Default::default(), passed, items }
}

fn item(name: &str, direction: Direction, outcome: ItemOutcome, detail: String) -> CrossCheckItem {
    CrossCheckItem { item: name.to_owned(), direction, outcome, detail }
}

/// Returns an item over a list: not applicable without members, failed when one is at fault.
fn check_each<T>(
    name: &str,
    direction: Direction,
    members: &[T],
    what: &str,
    fault: impl Fn(&T) -> Option<String>,
) -> CrossCheckItem {
    if members.is_empty() {
        return item(name, direction, ItemOutcome::NotApplicable, format!("no {what}"));
    }
    match members.iter().find_map(fault) {
        Some(fault) => item(name, direction, ItemOutcome::Failed, fault),
        None => item(name, direction, ItemOutcome::Passed, format!("{} {what} checked", members.len())),
    }
}

fn blocking<'a>(subject: &Subject<'a>) -> Vec<&'a Finding> {
    subject.results.iter().flat_map(|result| &result.findings).filter(|finding| finding.blocking).collect()
}

/// Blocking findings of lenses, whose evidence is a changed line; a gate's is a report.
fn quoting<'a>(subject: &Subject<'a>) -> Vec<&'a Finding> {
    let mut findings = blocking(subject);
    findings.retain(|finding| gates::find(&finding.lens_id).is_none());
    findings
}

fn side(finding: &Finding) -> Side {
    match finding.evidence.get("side").and_then(serde_json::Value::as_str) {
        Some("base") => Side::Base,
        _ => Side::Head,
    }
}

fn quote(finding: &Finding) -> &str {
    finding.evidence.get("quote").and_then(serde_json::Value::as_str).unwrap_or("")
}

/// Returns the report's words that a gate's finding repeats.
fn report_subject(finding: &Finding) -> &str {
    finding.evidence.get("subject").and_then(serde_json::Value::as_str).unwrap_or("")
}

fn in_range(subject: &Subject<'_>) -> CrossCheckItem {
    check_each("evidence-in-range", Direction::FalseFail, &quoting(subject), "blocking findings", |finding| {
        let files = &subject.change_set.files;
        let position = files.binary_search_by(|file| file.path.cmp(&finding.file));
        let Ok(file) = position.map(|position| &files[position]) else {
            return Some(format!("{} is not in the change", rule_at_place(finding)));
        };
        if quote(finding).is_empty() {
            return None;
        }
        let touches = file.hunks.iter().any(|hunk| {
            let (start, count) = match side(finding) {
                Side::Head => (hunk.new_start, hunk.new_lines),
                Side::Base => (hunk.old_start, hunk.old_lines),
            };
            finding.start_line < start + count && finding.end_line >= start && count > 0
        });
        (!touches).then(|| format!("{} is outside the changed lines", rule_at_place(finding)))
    })
}

fn rule_at_place(finding: &Finding) -> String {
    format!("{} at {}:{}", finding.rule_id, finding.file, finding.start_line)
}

fn verbatim(subject: &Subject<'_>) -> CrossCheckItem {
    check_each("evidence-verbatim", Direction::FalseFail, &quoting(subject), "blocking findings", |finding| {
        let quote = quote(finding);
        if quote.is_empty() {
            return None;
        }
        let text = (subject.lines)(&finding.file, side(finding), finding.start_line, finding.end_line);
        let stands = match text.map(|text| harmless(&text)) {
            Some(text) => text.lines().any(|line| stands_in(quote, line)) || stands_in(quote, &text),
            None => false,
        };
        (!stands).then(|| format!("{} quotes what is not there", rule_at_place(finding)))
    })
}

/// Returns whether a text contains a quote; `*` in the quote matches any byte, because secrets are masked in quotes.
pub fn stands_in(quote: &str, text: &str) -> bool {
    if text.contains(quote) {
        return true;
    }
    let (quote, text) = (quote.as_bytes(), text.as_bytes());
    quote.contains(&b'*')
        && quote.len() <= text.len()
        && text
            .windows(quote.len())
            .any(|window| window.iter().zip(quote).all(|(have, want)| *want == b'*' || have == want))
}

fn may_block(subject: &Subject<'_>) -> CrossCheckItem {
    check_each("rule-may-block", Direction::FalseFail, &blocking(subject), "blocking findings", |finding| {
        use qa_contracts::v1::BlockingPolicy;
        let strength = subject.policy.strength(&finding.rule_id, finding.scope);
        let by_rule = match strength {
            Strength::Block => true,
            Strength::Ratchet => matches!(&finding.ratchet, Some(ratchet) if ratchet.holds),
            Strength::Advise | Strength::Off => false,
        };
        let by_severity = finding.severity <= subject.policy.blocking_threshold;
        let allowed = match subject.policy.blocking_policy {
            BlockingPolicy::RuleDefined => by_rule,
            BlockingPolicy::SeverityThreshold => by_severity,
            BlockingPolicy::Mixed => by_rule || by_severity,
        };
        (!allowed).then(|| format!("{} may not block in {} scope", finding.rule_id, finding.scope))
    })
}

fn introduced(subject: &Subject<'_>) -> CrossCheckItem {
    check_each("introduced-only", Direction::FalseFail, &blocking(subject), "blocking findings", |finding| {
        let at_fault = finding.origin != FindingOrigin::Introduced || finding.waiver.is_some();
        at_fault.then(|| format!("{} is pre-existing or waived", rule_at_place(finding)))
    })
}

fn no_duplicates(subject: &Subject<'_>) -> CrossCheckItem {
    let findings = blocking(subject);
    let mut seen = BTreeSet::new();
    let twice = findings.iter().find(|finding| {
        let column = finding.evidence.get("startColumn").and_then(serde_json::Value::as_u64);
        let place = (&finding.rule_id, &finding.file, side(finding), finding.start_line, column);
        !seen.insert((place, report_subject(finding)))
    });
    let twice = twice.map(|finding| {
        format!("{} is reported twice at {}:{}", finding.rule_id, finding.file, finding.start_line)
    });
    check_each("no-duplicates", Direction::FalseFail, &findings, "blocking findings", |_| twice.clone())
}

fn plans_rederived(subject: &Subject<'_>) -> CrossCheckItem {
    let same = subject.plans == subject.plans_again;
    let (outcome, detail) = if same {
        (ItemOutcome::Passed, format!("{} plans were derived again and are the same", subject.plans.len()))
    } else {
        (ItemOutcome::Failed, "planning the same inputs again gave other plans".to_owned())
    };
    item("plans-rederived", Direction::FalsePass, outcome, detail)
}

fn results_match_plans(subject: &Subject<'_>) -> CrossCheckItem {
    let same = subject.plans.len() == subject.results.len()
        && subject.plans.iter().zip(subject.results.iter().copied()).all(|(plan, result)| {
            (plan.plan_ordinal, &plan.lens_id, &plan.sub_lens_id, &plan.lens_version)
                == (result.plan_ordinal, &result.lens_id, &result.sub_lens_id, &result.lens_version)
        });
    let (outcome, detail) = if same {
        (ItemOutcome::Passed, format!("{} results belong to their plans", subject.results.len()))
    } else {
        (ItemOutcome::Failed, "a result is missing or belongs to another plan".to_owned())
    };
    item("results-match-plans", Direction::FalsePass, outcome, detail)
}

fn required_scope_complete(subject: &Subject<'_>) -> CrossCheckItem {
    let required: Vec<&LensPlan> = subject.plans.iter().filter(|plan| plan.required).collect();
    check_each("required-scope-complete", Direction::FalsePass, &required, "required plans", |plan| {
        let left_out = !plan.omitted_files.is_empty() && !subject.policy.limits.allow_omitted;
        left_out.then(|| format!("{} leaves out {} files", plan.lens_id, plan.omitted_files.len()))
    })
}

/// Checks that every hunk of every file in a completed plan was given to its lens. The manifest is compared with the
/// change set and not with the scheduler's own record.
fn coverage_complete(subject: &Subject<'_>) -> CrossCheckItem {
    let completed: Vec<&LensPlan> = subject
        .plans
        .iter()
        .zip(subject.results.iter().copied())
        .filter(|(_, result)| result.status == LensStatus::Completed && !result.degraded)
        .map(|(plan, _)| plan)
        .collect();
    check_each("coverage-complete", Direction::FalsePass, &completed, "completed plans", |plan| {
        plan.changed_files
            .iter()
            .find(|path| !is_covered(subject, plan, path))
            .map(|path| format!("{} did not look at all of {path}", plan.lens_id))
    })
}

/// Checks that every changed file is covered by a lens unless the policy ignores it.
fn nothing_unseen(subject: &Subject<'_>) -> CrossCheckItem {
    let ignored: Vec<&str> =
        subject.policy.lenses.values().flat_map(|lens| &lens.ignore).map(String::as_str).collect();
    let ignored = PathSet::new(ignored).ok();
    let rows: Vec<_> = subject.change_set.files.iter().zip(&subject.coverage.rows).collect();
    check_each("nothing-unseen", Direction::FalsePass, &rows, "changed files", |(file, row)| {
        let is_ignored = matches!(&ignored, Some(ignored) if ignored.matches(&file.path));
        let unseen = row.file != file.path || row.cells.is_empty() && !is_ignored;
        unseen.then(|| format!("no lens had business with {}", file.path))
    })
}

fn is_covered(subject: &Subject<'_>, plan: &LensPlan, path: &RepoPath) -> bool {
    let Ok(index) = subject.change_set.files.binary_search_by(|file| file.path.cmp(path)) else {
        return false;
    };
    let file = &subject.change_set.files[index];
    let row = subject.coverage.rows.get(index).filter(|row| row.file == *path);
    let cell = row.and_then(|row| row.cells.iter().find(|cell| cell.plan_ordinal == plan.plan_ordinal));
    let Some(cell) = cell else { return false };
    let full = cell.status == CoverageStatus::Full && cell.inspected_hunks == file.hunks.len() as u64;
    full || subject.policy.limits.allow_omitted && plan.omitted_files.contains(path)
}

fn order_does_not_matter(subject: &Subject<'_>) -> CrossCheckItem {
    check_each(
        "order-does-not-matter",
        Direction::FalsePass,
        subject.self_test,
        "plans run twice in opposite order",
        |test| {
            (test.forward != test.reverse)
                .then(|| "a lens gave something else when files came in reverse".to_owned())
        },
    )
}

fn evidence_not_empty(subject: &Subject<'_>) -> CrossCheckItem {
    let (outcome, detail) = if subject.change_set.files.is_empty() {
        (ItemOutcome::NotApplicable, "nothing changed".to_owned())
    } else if subject.coverage.full_cells == 0 {
        (ItemOutcome::Failed, "files changed and no lens looked at one completely".to_owned())
    } else {
        (ItemOutcome::Passed, format!("{} complete looks at files", subject.coverage.full_cells))
    };
    item("evidence-not-empty", Direction::FalsePass, outcome, detail)
}

fn policy_change_reported(subject: &Subject<'_>) -> CrossCheckItem {
    let touched: Vec<&RepoPath> = subject
        .change_set
        .files
        .iter()
        .flat_map(|file| std::iter::once(&file.path).chain(&file.old_path))
        .filter(|path| path.as_bytes().starts_with(b".qa-skill/"))
        .collect();
    debug_assert!(WAIVERS_PATH.starts_with(".qa-skill/"));
    check_each("policy-change-reported", Direction::FalsePass, &touched, "policy files changed", |path| {
        (!subject.notices.contains(&Code::PolicyChangedInPr))
            .then(|| format!("{path} changed and nothing says so"))
    })
}

fn reports_say_so(subject: &Subject<'_>) -> CrossCheckItem {
    let mut findings = blocking(subject);
    findings.retain(|finding| gates::find(&finding.lens_id).is_some());
    check_each("reports-say-so", Direction::FalseFail, &findings, "blocking findings of gates", |finding| {
        let claim = ReportEntry::from_finding(finding);
        let stands =
            subject.gates.iter().any(|gate| gate.lens_id == finding.lens_id && gate.entries.contains(&claim));
        (!stands).then(|| format!("no report says what {} claims", rule_at_place(finding)))
    })
}

/// Checks that a gate whose reports do not say that it passed has a finding that says why, or is not complete.
fn gates_agree(subject: &Subject<'_>) -> CrossCheckItem {
    let planned: Vec<(&LensPlan, &LensResult)> = subject
        .plans
        .iter()
        .zip(subject.results.iter().copied())
        .filter(|(plan, _)| gates::find(&plan.lens_id).is_some())
        .collect();
    check_each("gates-agree", Direction::FalsePass, &planned, "gates", |(plan, result)| {
        let Some(gate) = subject.gates.iter().find(|gate| gate.lens_id == plan.lens_id) else {
            return Some(format!("nobody read the reports of {}", plan.lens_id));
        };
        if result.status != LensStatus::Completed {
            return None;
        }
        let reported: BTreeSet<ReportEntry> = result.findings.iter().map(ReportEntry::from_finding).collect();
        // Findings over the bound are counted in one finding of their rule.
        let counted: BTreeSet<&String> = result
            .findings
            .iter()
            .filter(|finding| finding.codes.contains(&Code::FindingsUnlisted))
            .map(|finding| &finding.rule_id)
            .collect();
        let missing = gate.entries.iter().any(|entry| {
            !is_turned_off(subject, entry) && !counted.contains(&entry.rule_id) && !reported.contains(entry)
        });
        let silent = missing || !gate.passed && gate.entries.is_empty();
        silent.then(|| format!("{} is silent about what its reports say", plan.lens_id))
    })
}

/// Returns whether the policy turns an entry's rule off, so that no finding repeats the entry.
fn is_turned_off(subject: &Subject<'_>, entry: &ReportEntry) -> bool {
    let file = subject.change_set.files.iter().find(|file| file.path == entry.file);
    let scope = match file {
        Some(file) => file.scope,
        None => Scope::Product,
    };
    subject.policy.strength(&entry.rule_id, scope) == Strength::Off
}

/// Checks that a complete review has as many replies as it requested, and that each is valid.
fn reviews_answered(subject: &Subject<'_>) -> CrossCheckItem {
    let reviews: Vec<(&LensPlan, &LensResult)> = subject
        .plans
        .iter()
        .zip(subject.results.iter().copied())
        .filter(|(plan, result)| {
            plan.review.is_some() && !plan.changed_files.is_empty() && result.status == LensStatus::Completed
        })
        .collect();
    check_each("reviews-answered", Direction::FalsePass, &reviews, "complete reviews", |(plan, result)| {
        let is_answered = match (&plan.review, &result.review) {
            (Some(planned), Some(review)) => {
                review.samples.len() as u64 == planned.samples
                    && review.samples.iter().all(|sample| sample.code.is_none())
                    && review.canary_found != Some(false)
            }
            _ => false,
        };
        if !is_answered {
            return Some(format!("{} is complete without all of its answers", plan.lens_id));
        }
        let unproven = result.findings.iter().find(|finding| !has_proven_rejection(finding, result))?;
        Some(format!("{} does not block, and no two models reject it", rule_at_place(unproven)))
    })
}

/// Returns whether a finding that models keep from blocking has the answers for that in its result.
fn has_proven_rejection(finding: &Finding, result: &LensResult) -> bool {
    let expected = match finding.codes.as_slice() {
        codes if codes.contains(&Code::ReviewRejected) => [Some(false), Some(false)],
        codes if codes.contains(&Code::ReviewUnstable) => [Some(false), Some(true)],
        _ => return true,
    };
    let subject = report_subject(finding);
    let rule = if subject.is_empty() { finding.rule_id.as_str() } else { subject };
    let confirmations = result.review.iter().flat_map(|review| &review.confirmations);
    let mut about = confirmations.filter(|confirmation| {
        (confirmation.rule_id.as_str(), &confirmation.file, confirmation.line)
            == (rule, &finding.file, finding.start_line)
    });
    about.any(|confirmation| confirmation.rounds.iter().map(|round| round.upheld).eq(expected))
}

#[cfg(test)]
#[path = "crosscheck_tests.rs"]
mod tests;
