//! Compares the findings with those of the last run that had a verdict: new, still open, resolved. The comparison is
//! reported beside the run and decides nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::drift_check::runs_below;
use super::exit::Failure;
use super::finished::Finished;
use crate::store::{RunDirectory, write_beside};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    ChangeSet, Conclusion, Delta, DeltaFinding, DeltaRun, Finding, LensResult, SkillInput, SkillResult,
};

/// Maximum number of stored runs that are searched.
const MOST_RUNS: usize = 500;

/// An earlier run.
struct Earlier {
    result: SkillResult,
    head: CommitId,
}

/// Writes the comparison with the nearest earlier run below a directory and returns a summary of one line, or `None` if there
/// is no earlier run of this repository.
pub(crate) fn since(directory: &Path, finished: &Finished) -> Result<Option<String>, Failure> {
    let now = &finished.result;
    let head = &finished.inputs.change_set.head_sha;
    let mut runs: Vec<Earlier> = runs_below(directory)
        .into_iter()
        .take(MOST_RUNS)
        .filter_map(|path| earlier(path, finished))
        .collect();
    // The nearest ancestor. With a rewritten history there is none, and the directory's only run is used.
    let repository = &finished.opened.repository;
    let nearest =
        (0..runs.len()).filter_map(|at| Some((repository.ahead_of(&runs[at].head, head)?, at))).min();
    let (earlier, is_ancestor) = match nearest {
        Some((_, at)) => (runs.swap_remove(at), true),
        None if runs.len() == 1 => (runs.remove(0), false),
        None => return Ok(None),
    };
    let delta = Delta { history_rewritten: !is_ancestor, ..compare_runs(&earlier, now, head) };
    // The directory of runs is ignored by git; the digests in a comparison look like secrets where it is committed.
    let runs = finished.proof().path.parent().unwrap_or(directory);
    write_beside(runs, &delta)?;
    Ok(Some(describe(&delta)))
}

/// Reads a run of the same repository with a verdict about another head; `None` for any other or unreadable one.
fn earlier(path: PathBuf, finished: &Finished) -> Option<Earlier> {
    let run = RunDirectory::open(&path).ok()?;
    let input: SkillInput = run.artifact().ok()?;
    let head = run.artifact::<ChangeSet>().ok()?.head_sha;
    let result: SkillResult = run.artifact().ok()?;
    let is_verdict = result.final_verdict.conclusion != Conclusion::CouldNotComplete;
    let is_other =
        input.repo_id == finished.skill_input.repo_id && head != finished.inputs.change_set.head_sha;
    (is_verdict && is_other).then_some(Earlier { result, head })
}

fn compare_runs(earlier: &Earlier, later: &SkillResult, later_head: &CommitId) -> Delta {
    let (old, new) = (by_id(&earlier.result.lens_results), by_id(&later.lens_results));
    Delta {
        schema_version: Default::default(),
        since: delta_run(&earlier.result, &earlier.head),
        now: delta_run(later, later_head),
        history_rewritten: false,
        new: select_findings(&new, |id| !old.contains_key(id)),
        still_open: select_findings(&new, |id| old.contains_key(id)),
        resolved: select_findings(&old, |id| !new.contains_key(id)),
    }
}

fn delta_run(result: &SkillResult, head: &CommitId) -> DeltaRun {
    DeltaRun {
        execution_key: result.execution_key.clone(),
        head_sha: head.clone(),
        conclusion: result.final_verdict.conclusion,
    }
}

/// Returns the findings with a selected id, sorted.
fn select_findings(
    findings: &BTreeMap<&str, &Finding>,
    is_selected: impl Fn(&str) -> bool,
) -> Vec<DeltaFinding> {
    let selected = findings.iter().filter(|(id, _)| is_selected(id));
    let mut selected: Vec<DeltaFinding> = selected.map(|(_, finding)| delta_finding(finding)).collect();
    selected.sort();
    selected
}

fn by_id(results: &[LensResult]) -> BTreeMap<&str, &Finding> {
    let all = results.iter().flat_map(|result| &result.findings);
    all.map(|finding| (finding.finding_id.as_str(), finding)).collect()
}

fn delta_finding(finding: &Finding) -> DeltaFinding {
    DeltaFinding {
        file: finding.file.clone(),
        start_line: finding.start_line,
        rule_id: finding.rule_id.clone(),
        finding_id: finding.finding_id.clone(),
        blocking: finding.blocking,
        late: finding.codes.contains(&Code::ReviewLate),
    }
}

fn describe(delta: &Delta) -> String {
    let late = delta.new.iter().filter(|finding| finding.late).count();
    let late = if late > 0 { format!(", {late} of them late") } else { String::new() };
    let rewritten = if delta.history_rewritten { ", whose history was rewritten" } else { "" };
    format!(
        "since {}{rewritten}: {} new{late}, {} still open, {} resolved\n",
        delta.since.head_sha.short(),
        delta.new.len(),
        delta.still_open.len(),
        delta.resolved.len()
    )
}
