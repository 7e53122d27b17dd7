//! What a drive takes from a run: what blocks, and what its rules say about tests, checks and the policy.

use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{ChangeSet, DriveJudgement, DriveTask, Finding, GuardedFinding, SkillResult};

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
    let findings = result.lens_results.iter().flat_map(|result| &result.findings);
    let mut guarded: Vec<GuardedFinding> = findings
        .filter(|finding| GUARDS.contains(&finding.lens_id.as_str()))
        .map(|finding| GuardedFinding {
            finding_id: finding.finding_id.clone(),
            rule_id: finding.rule_id.clone(),
            file: finding.file.clone(),
        })
        .collect();
    guarded.sort();
    let mut files: Vec<RepoPath> = change_set.files.iter().map(|file| file.path.clone()).collect();
    files.sort();
    DriveJudgement {
        run: run.to_owned(),
        execution_key: result.execution_key.clone(),
        run_digest: run_digest.clone(),
        conclusion: verdict.conclusion,
        vacuous: verdict.vacuous,
        files,
        tasks: verdict.blocking_findings.iter().map(task).collect(),
        guarded,
    }
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
    }
}
