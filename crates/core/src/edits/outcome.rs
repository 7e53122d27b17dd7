//! Compares the findings before and after edits: which of them mend nothing, or bring something new.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::{EXPRESSION, identity};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Finding;

/// Findings of a change before and after some edits.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub before: &'a [&'a Finding],
    pub after: &'a [&'a Finding],
}

/// Properties that two findings share if they are the same fault at different lines.
type Kind<'f> = (&'f str, &'f RepoPath, String);

fn kind(finding: &Finding) -> Kind<'_> {
    let quote = finding.evidence.get("quote").and_then(|quote| quote.as_str()).unwrap_or_default();
    let subject = finding.evidence.get("subject").and_then(|subject| subject.as_str()).unwrap_or_default();
    let text = identity(quote, finding.evidence.get(EXPRESSION));
    (&finding.rule_id, &finding.file, format!("{text}\n{subject}"))
}

fn count<'f>(findings: &[&'f Finding]) -> BTreeMap<Kind<'f>, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(kind(finding)).or_default() += 1;
    }
    counts
}

/// Returns the positions in `applied` of the edits that have to go: those whose finding stays, and those of the files with a
/// finding that was not there before. A new finding in a file without an edit is the fault of all of them, since nothing tells
/// of which.
pub fn failed_edits(judged: Judged<'_>, applied: &[&Finding]) -> Vec<usize> {
    let (before, after, mended) = (count(judged.before), count(judged.after), count(applied));
    let mut failed = BTreeSet::new();
    for (kind, now) in &after {
        let known = before.get(kind).copied().unwrap_or_default();
        let expected = known.saturating_sub(mended.get(kind).copied().unwrap_or_default());
        if *now <= expected {
            continue;
        }
        let own = positions(applied, |finding| &self::kind(finding) == kind);
        let in_file = positions(applied, |finding| edits_file(finding, kind.1));
        let all = positions(applied, |_| true);
        failed.extend([own, in_file, all].into_iter().find(|found| !found.is_empty()).unwrap_or_default());
    }
    failed.into_iter().collect()
}

fn positions(applied: &[&Finding], is_wanted: impl Fn(&Finding) -> bool) -> Vec<usize> {
    let wanted = applied.iter().enumerate().filter(|(_, finding)| is_wanted(finding));
    wanted.map(|(position, _)| position).collect()
}

fn edits_file(finding: &Finding, file: &RepoPath) -> bool {
    let replacements = finding.edit.iter().flat_map(|edit| &edit.replacements);
    replacements.into_iter().any(|replacement| replacement.file == *file)
}
