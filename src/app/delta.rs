//! What is new, still open and resolved since the last run that came to a verdict. It is told beside the runs and decides
//! nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::check::Finished;
use super::drift_check::runs_below;
use super::exit::Failure;
use crate::store::{RunDirectory, write_beside};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    ChangeSet, Conclusion, Delta, DeltaFinding, DeltaRun, Finding, LensResult, SkillInput, SkillResult,
};

/// How many stored runs are looked at.
const MOST_RUNS: usize = 500;

/// An earlier run.
struct Earlier {
    result: SkillResult,
    head: CommitId,
}

/// Writes what moved since the nearest earlier run below a directory, and says it in one line. None where there is no
/// earlier run of this repository.
pub(crate) fn since(directory: &Path, finished: &Finished) -> Result<Option<String>, Failure> {
    let now = &finished.stored.result;
    let head = &finished.inputs.change_set.head_sha;
    let mut runs: Vec<Earlier> = runs_below(directory)
        .into_iter()
        .take(MOST_RUNS)
        .filter_map(|path| earlier(path, finished))
        .collect();
    let ahead = |run: &Earlier| finished.opened.repository.ahead_of(&run.head, head);
    // The nearest ancestor; where history was rewritten there is none, and the directory must leave no choice.
    let nearest = (0..runs.len()).filter_map(|at| Some((ahead(&runs[at])?, at))).min();
    let (earlier, is_ancestor) = match nearest {
        Some((_, at)) => (runs.swap_remove(at), true),
        None if runs.len() == 1 => (runs.remove(0), false),
        None => return Ok(None),
    };
    let delta =
        Delta { history_rewritten: !is_ancestor, ..compared((&earlier.result, &earlier.head), (now, head)) };
    let root = finished.stored.path.parent().and_then(Path::parent).unwrap_or(directory);
    write_beside(root, &delta)?;
    Ok(Some(told(&delta)))
}

/// A run of the same repository that came to a verdict about another head. One that cannot be read is none.
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

fn compared(
    (earlier, earlier_head): (&SkillResult, &CommitId),
    (later, later_head): (&SkillResult, &CommitId),
) -> Delta {
    let (old, new) = (by_id(&earlier.lens_results), by_id(&later.lens_results));
    let of = |findings: &BTreeMap<&str, &Finding>, others: &BTreeMap<&str, &Finding>, in_both: bool| {
        let chosen = findings.iter().filter(|(id, _)| others.contains_key(*id) == in_both);
        let mut chosen: Vec<DeltaFinding> = chosen.map(|(_, finding)| shown(finding)).collect();
        chosen.sort();
        chosen
    };
    let run = |result: &SkillResult, head: &CommitId| DeltaRun {
        execution_key: result.execution_key.clone(),
        head_sha: head.clone(),
        conclusion: result.final_verdict.conclusion,
    };
    Delta {
        schema_version: Default::default(),
        since: run(earlier, earlier_head),
        now: run(later, later_head),
        history_rewritten: false,
        new: of(&new, &old, false),
        still_open: of(&new, &old, true),
        resolved: of(&old, &new, false),
    }
}

fn by_id(results: &[LensResult]) -> BTreeMap<&str, &Finding> {
    let all = results.iter().flat_map(|result| &result.findings);
    all.map(|finding| (finding.finding_id.as_str(), finding)).collect()
}

fn shown(finding: &Finding) -> DeltaFinding {
    DeltaFinding {
        file: finding.file.clone(),
        start_line: finding.start_line,
        rule_id: finding.rule_id.clone(),
        finding_id: finding.finding_id.clone(),
        blocking: finding.blocking,
        late: finding.codes.contains(&Code::ReviewLate),
    }
}

fn told(delta: &Delta) -> String {
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
