//! Reads a run for a drive: the blocking findings, and those about tests, checks and the policy.

use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    AgentChange, ChangeKind, ChangeSet, DriveFile, DriveJudgement, DriveTask, EditSafety, Finding,
    GuardedFinding, LensStatus, SkillResult,
};

/// Lenses whose findings say that something checks less than before. A turn that brings one is refused, whatever its strength.
pub const GUARDS: [&str; 9] = [
    "ci-weakening",
    "feature-guard",
    "lint-weakening",
    "permission-change",
    "policy-weakening",
    "shortcut",
    "suppression",
    "test-weakening",
    "weak-test",
];

/// Returns the judgement of a stored run, by the name of its directory.
pub fn judgement(
    result: &SkillResult,
    change_set: &ChangeSet,
    run_digest: &Sha256Hex,
    run: &str,
) -> DriveJudgement {
    let verdict = &result.final_verdict;
    DriveJudgement {
        run: run.to_owned(),
        execution_key: result.execution_key.clone(),
        run_digest: run_digest.clone(),
        conclusion: verdict.conclusion,
        vacuous: verdict.vacuous,
        files: files(change_set),
        tasks: verdict.blocking_findings.iter().map(task).collect(),
        guarded: guarded(result),
    }
}

/// Returns what a stored run of the guards alone says of the change from the drive's head to a tree.
pub fn agent_change(
    result: &SkillResult,
    change_set: &ChangeSet,
    run_digest: &Sha256Hex,
    run: &str,
) -> AgentChange {
    let guards = result.lens_results.iter().filter(|result| is_guard(&result.lens_id));
    let (complete, count) = guards.fold((true, 0), |(complete, count), result| {
        (complete && result.status == LensStatus::Completed && !result.degraded, count + 1)
    });
    AgentChange {
        run: run.to_owned(),
        execution_key: result.execution_key.clone(),
        run_digest: run_digest.clone(),
        complete: complete && (count > 0 || change_set.files.is_empty()),
        files: files(change_set),
        guarded: guarded(result),
    }
}

/// Returns the ids of the guards, as an override of the lenses to run.
pub fn guard_ids() -> Vec<String> {
    GUARDS.map(str::to_owned).to_vec()
}

fn is_guard(lens_id: &str) -> bool {
    GUARDS.contains(&lens_id)
}

fn guarded(result: &SkillResult) -> Vec<GuardedFinding> {
    let findings = result.lens_results.iter().flat_map(|result| &result.findings);
    let mut guarded: Vec<GuardedFinding> = findings
        .filter(|finding| is_guard(&finding.lens_id))
        .map(|finding| GuardedFinding {
            finding_id: finding.finding_id.clone(),
            rule_id: finding.rule_id.clone(),
            file: finding.file.clone(),
        })
        .collect();
    guarded.sort();
    guarded
}

/// Returns the changed files by path. The old path of a renamed file is one that is gone.
fn files(change_set: &ChangeSet) -> Vec<DriveFile> {
    let mut files = Vec::new();
    for file in &change_set.files {
        files.push(DriveFile {
            path: file.path.clone(),
            blob: file.new_blob.clone(),
            mode: file.new_mode.clone(),
            added: file.hunks.iter().map(|hunk| hunk.new_lines).sum(),
            removed: file.hunks.iter().map(|hunk| hunk.old_lines).sum(),
        });
        let old = file.old_path.iter().filter(|_| file.kind == ChangeKind::Renamed);
        files.extend(old.map(|path| DriveFile {
            path: path.clone(),
            blob: None,
            mode: None,
            added: 0,
            removed: 0,
        }));
    }
    files.sort();
    files
}

fn task(finding: &Finding) -> DriveTask {
    DriveTask {
        finding_id: finding.finding_id.clone(),
        rule_id: finding.rule_id.clone(),
        severity: finding.severity,
        file: finding.file.clone(),
        start_line: finding.start_line,
        end_line: finding.end_line,
        summary: finding.summary.clone(),
        fix: finding.fix.clone(),
        quote: finding.evidence.get("quote").and_then(|quote| quote.as_str()).map(str::to_owned),
        safe_edit: finding.edit.as_ref().is_some_and(|edit| edit.safety == EditSafety::Safe),
    }
}
