//! Changes that make the gate itself weaker: tests, CI, lint, coverage, owners, lock files, hooks and policy.

mod checks;
mod ci;

mod files;
mod gone_tests;
mod jobs;
mod names;
mod policy;
mod recipes;
mod suppressions;
mod symbols;
mod tests_by_hunk;
mod thresholds;

use std::collections::BTreeMap;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Need, everywhere, presets, rule, text_rule};
use super::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::Packet;

const CI_REMOVED: &str = "gate-weakening/ci-removed";
const CI_SOFTENED: &str = "gate-weakening/ci-softened";
const CODEOWNERS: &str = "gate-weakening/codeowners-weakened";
const COVERAGE: &str = "gate-weakening/coverage-excluded";
const BLANKET: &str = "gate-weakening/file-suppressed";
const HOOK_DISABLED: &str = "gate-weakening/hook-disabled";
const LOCKFILE: &str = "gate-weakening/lockfile-removed";
const POLICY_CHANGED: &str = "gate-weakening/policy-file-changed";
const POLICY_REMOVED: &str = "gate-weakening/policy-file-removed";
const POLICY_UNREADABLE: &str = "gate-weakening/policy-unreadable";
const POLICY_WEAKENED: &str = "gate-weakening/policy-weakened";
const RUBRIC_CHANGED: &str = "gate-weakening/rubric-changed";
const SUPPRESSION: &str = "gate-weakening/suppression-added";
const UNEXPLAINED: &str = "gate-weakening/suppression-unexplained";
const TEST_DELETED: &str = "gate-weakening/test-deleted";
const TEST_EMPTIED: &str = "gate-weakening/test-emptied";
const TEST_REMOVED: &str = "gate-weakening/test-removed";
const TEST_RETIRED: &str = "gate-weakening/test-retired";
const TEST_SKIPPED: &str = "gate-weakening/test-skipped";
const THRESHOLD: &str = "gate-weakening/threshold-lowered";
const WAIVER_ADDED: &str = "gate-weakening/waiver-added";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
/// Lock files count as generated and owners may stand among the documents, so the scope says nothing here.
const GUARDED: PresetStrengths =
    presets(ADVISE, ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) });
const GUARDED_CODE: PresetStrengths =
    presets(ADVISE, ScopeStrengths { product: Strength::Block, test: Strength::Block, ..ADVISE });
/// Three of a hundred merged changes add such a place: whoever did not ask for this rule would only learn to skip it.
const RATCHETED: PresetStrengths =
    presets(everywhere(Strength::Off), ScopeStrengths { product: Strength::Ratchet, ..ADVISE });
/// Where this rule is asked for, a reason costs a line, and whoever reads the change sees it.
const REASONED: PresetStrengths =
    presets(everywhere(Strength::Off), ScopeStrengths { product: Strength::Block, ..ADVISE });
/// Nothing legitimate makes every later run fail.
const ALWAYS: PresetStrengths = presets(everywhere(Strength::Block), everywhere(Strength::Block));
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "gate-weakening",
    version: "4",
    class: LensClass::Security,
    title: "Changes that make tests, CI, lint or the gate itself weaker",
    required_by_default: true,
    triggers: &["**"],
    trigger_symbols: &[],
    page: include_str!("../../../../tests/corpus/lenses/gate-weakening.md"),
    rules: &[
        rule(
            CI_REMOVED,
            "A check, a trigger or a whole workflow is removed from CI",
            Severity::High,
            GUARDED,
            "Keep the check, or replace it in the same change.",
        ),
        text_rule(
            CI_SOFTENED,
            "A failure of CI is ignored",
            Severity::High,
            GUARDED,
            "Let the step fail, or fix what makes it fail.",
        ),
        rule(
            CODEOWNERS,
            "Paths lose owners",
            Severity::High,
            GUARDED,
            "Keep the owners, or name others in the same change.",
        ),
        text_rule(
            COVERAGE,
            "Code is taken out of the coverage",
            Severity::Low,
            GUARDED_CODE,
            "Test the code instead of leaving it out.",
        ),
        text_rule(
            BLANKET,
            "A whole file or every rule is taken out of a check",
            Severity::Medium,
            GUARDED_CODE,
            "Suppress the one rule at the one place, with the reason.",
        ),
        rule(
            HOOK_DISABLED,
            "A commit hook is removed or emptied",
            Severity::Medium,
            GUARDED,
            "Keep the hook, or run the same check in CI.",
        ),
        rule(
            LOCKFILE,
            "A lock file is deleted",
            Severity::Medium,
            GUARDED,
            "Commit the lock file again, so that builds use what was reviewed.",
        ),
        rule(
            POLICY_CHANGED,
            "The gate's own settings change",
            Severity::Info,
            NOTICE,
            "Ask an owner of the policy to look at it.",
        ),
        rule(
            POLICY_REMOVED,
            "A file of the gate's own settings is deleted",
            Severity::High,
            GUARDED,
            "Keep the file, or delete it in a change of its own that an owner approves.",
        ),
        rule(
            POLICY_UNREADABLE,
            "The policy could not be read any more",
            Severity::High,
            ALWAYS,
            "Run `qa-skill policy-check --file .qa-skill/policy.toml` and mend what it names.",
        ),
        rule(
            POLICY_WEAKENED,
            "A setting of the policy is less strict than at the base",
            Severity::High,
            GUARDED,
            "Keep the setting, or loosen it in a change of its own that an owner approves.",
        ),
        rule(
            RUBRIC_CHANGED,
            "A frozen rubric is edited",
            Severity::High,
            GUARDED,
            "Mine and approve the rubric anew instead of editing it by hand.",
        ),
        text_rule(
            SUPPRESSION,
            "A warning is suppressed at one place",
            Severity::Low,
            RATCHETED,
            "Fix what the linter reports.",
        ),
        text_rule(
            UNEXPLAINED,
            "A warning is suppressed at one place, and nothing says why",
            Severity::Low,
            REASONED,
            "Fix what the linter reports, or say beside the suppression why it is wrong here.",
        ),
        rule(
            TEST_DELETED,
            "A file of tests is deleted and its tests come back nowhere",
            Severity::High,
            GUARDED_CODE,
            "Keep the tests, or move them in the same change.",
        ),
        rule(
            TEST_EMPTIED,
            "A test stays and no longer checks anything",
            Severity::High,
            GUARDED_CODE,
            "Keep the assertions, or delete the test openly.",
        ),
        rule(
            TEST_REMOVED,
            "A test is removed from a file that stays",
            Severity::Medium,
            GUARDED_CODE,
            "Keep the test, or replace it in the same change.",
        ),
        rule(
            TEST_RETIRED,
            "A test is removed together with what it tests",
            Severity::Low,
            NOTICE,
            "Make sure that nothing else was tested by it.",
        ),
        text_rule(
            TEST_SKIPPED,
            "A test is switched off",
            Severity::Medium,
            GUARDED_CODE,
            "Fix the test, or delete it openly.",
        ),
        rule(
            THRESHOLD,
            "A threshold asks for less than before",
            Severity::Medium,
            GUARDED,
            "Keep the number, or raise the coverage to it.",
        ),
        rule(
            WAIVER_ADDED,
            "A waiver is added",
            Severity::Medium,
            GUARDED,
            "Add the waiver in a change of its own that an owner approves.",
        ),
    ],
};

/// The lens.
pub(crate) struct GateWeakening;

impl Lens for GateWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Tests, workflows and configurations are compared as a whole; everything else by what changed.
    fn need(&self, file: &ChangedFile) -> Need {
        let whole = checks::needs_whole_file(file) || needs_whole_settings(&file.path);
        if whole { Need::WholeFile } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        needs_whole_settings(&file.path) || checks::wants_whole_file(file, hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut seen = Inspection::default();
        for part in [checks::inspect(packet), ci::inspect(packet), files::inspect(packet), marks(packet)] {
            seen.drafts.extend(part.drafts);
            seen.facts.extend(part.facts);
        }
        for rule in [SUPPRESSION, UNEXPLAINED] {
            fold(&mut seen.drafts, rule);
        }
        if policy::is_policy(packet.path().as_bytes()) {
            let compared = policy::inspect(packet, &crate::registry()).drafts;
            // What is said exactly need not be said in general as well.
            if !compared.is_empty() {
                seen.drafts.retain(|draft| draft.rule != POLICY_CHANGED);
            }
            seen.drafts.extend(compared);
        }
        seen
    }

    fn conclude(&self, facts: &[Fact]) -> Vec<Draft> {
        let parts = [gone_tests::conclude(facts), ci::conclude(facts), files::conclude(facts)];
        let mut drafts = parts.into_iter().flatten().collect();
        for rule in [TEST_REMOVED, TEST_RETIRED] {
            fold(&mut drafts, rule);
        }
        drafts
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        if rule == SUPPRESSION { suppressions::complies(file, text) } else { None }
    }
}

/// Suppressions in code, and numbers in commands that ask for less.
fn marks(packet: &Packet<'_>) -> Inspection {
    let mut seen = Inspection::default();
    let path = packet.path().to_text();
    let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
    if ci::is_workflow(&path) || matches!(name.as_str(), "makefile" | "justfile" | "noxfile.py" | "tox.ini") {
        seen.drafts.extend(packet.hunks().flat_map(|hunk| thresholds::lowered(packet, &hunk)));
    }
    let is_code = matches!(packet.file.scope, Scope::Product | Scope::Test) && packet.file.language.is_some();
    if is_code && !scan::is_prose(packet.path()) {
        suppressions::inspect(packet, &mut seen);
    }
    seen
}

/// Whether a file is a workflow or a configuration, which is compared as a whole.
fn needs_whole_settings(path: &RepoPath) -> bool {
    ci::needs_whole_file(path) || files::is_codeowners(&path.to_text()) || policy::is_policy(path.as_bytes())
}

/// Keeps the first draft of a rule in each file and lets it speak for the others: fifty lines that say the same hide
/// everything else.
fn fold(drafts: &mut Vec<Draft>, rule: &str) {
    let mut lines: BTreeMap<RepoPath, Vec<u64>> = BTreeMap::new();
    for draft in drafts.iter().filter(|draft| draft.rule == rule) {
        lines.entry(draft.file.clone()).or_default().push(draft.start_line);
    }
    lines.values_mut().for_each(|lines| lines.sort_unstable());
    drafts.retain_mut(|draft| {
        let others = if draft.rule == rule { lines.get(&draft.file) } else { None };
        let Some([first, rest @ ..]) = others.map(Vec::as_slice).filter(|lines| lines.len() > 1) else {
            return true;
        };
        draft.summary = format!("{}, and {} more in this file", draft.summary, rest.len());
        draft.detail.insert("alsoOnLines".into(), rest.into());
        draft.start_line == *first
    });
}

/// A line without the blanks around it.
fn whole(text: &str) -> std::ops::Range<usize> {
    let lead = text.len() - text.trim_start().len();
    lead..text.trim_end().len().max(lead)
}
