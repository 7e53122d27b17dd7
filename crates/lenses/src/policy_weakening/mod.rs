//! Weakened policy of the gate, and removed code owners and lock files.

mod files;
mod gate;
mod locks;
mod owners;
mod policy;
mod rubric;
mod waivers;

use serde::{Deserialize, Serialize};

use super::changes::Change;
use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule};
use super::edits;
use qa_contracts::v1::{ChangedFile, Edit, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const CODEOWNERS: &str = "policy-weakening/codeowners-weakened";
const OWNERS_CHANGED: &str = "policy-weakening/codeowners-changed";
const GATE_DISARMED: &str = "policy-weakening/gate-disarmed";
const GATE_PRECEDED: &str = "policy-weakening/gate-preceded";
const LOCKFILE: &str = "policy-weakening/lockfile-removed";
const REPLACED: &str = "policy-weakening/lockfile-replaced";
const POLICY_CHANGED: &str = "policy-weakening/policy-file-changed";
const POLICY_REMOVED: &str = "policy-weakening/policy-file-removed";
const POLICY_UNREADABLE: &str = "policy-weakening/policy-unreadable";
const POLICY_WEAKENED: &str = "policy-weakening/policy-weakened";
const RUBRIC_CHANGED: &str = "policy-weakening/rubric-changed";
const WAIVER_ADDED: &str = "policy-weakening/waiver-added";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
/// Lock files count as generated and owners may stand among the documents, so the scope says nothing here.
const GUARDED: PresetStrengths =
    presets(ADVISE, ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) });
/// Nothing legitimate makes every later run fail.
const ALWAYS: PresetStrengths = presets(everywhere(Strength::Block), everywhere(Strength::Block));
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "policy-weakening",
    version: "11",
    class: LensClass::Security,
    title: "Weakened policy, removed code owners and lock files",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/policy-weakening.md")),
    rules: &[
        rule(
            OWNERS_CHANGED,
            "Files of the gate have other code owners",
            Severity::Medium,
            NOTICE,
            "Let an owner of the base approve the new owners in a change of its own.",
        ),
        rule(
            CODEOWNERS,
            "Code owners are removed",
            Severity::High,
            GUARDED,
            "Restore the owners, or let one of them approve the removal in a change of its own.",
        ),
        rule(
            GATE_DISARMED,
            "Job that runs the gate is removed or disarmed",
            Severity::High,
            ALWAYS,
            "Keep the job as the base has it; to change it, put a waiver for this finding on the base branch first.",
        ),
        rule(
            GATE_PRECEDED,
            "Something runs before the gate in its job",
            Severity::Medium,
            GUARDED,
            "Run it in a job of its own; where the gate reads its report, put a waiver on the base branch first.",
        ),
        rule(
            LOCKFILE,
            "Lock file is deleted, or locks less than the manifest needs",
            Severity::Medium,
            GUARDED,
            "Restore the lock file, so that builds use the reviewed versions.",
        ),
        rule(
            REPLACED,
            "Lock file is replaced by that of another tool",
            Severity::Low,
            NOTICE,
            "Compare the versions and checksums of both files, or switch in a change of its own.",
        ),
        rule(
            POLICY_CHANGED,
            "Configuration of the gate is changed",
            Severity::Info,
            NOTICE,
            "Ask an owner of the policy to review it.",
        ),
        rule(
            POLICY_REMOVED,
            "Configuration of the gate is deleted",
            Severity::High,
            GUARDED,
            "Keep the file, or delete it in a change of its own that an owner approves.",
        ),
        rule(
            POLICY_UNREADABLE,
            "Configuration of the gate cannot be parsed",
            Severity::High,
            ALWAYS,
            "Correct what the note says; `qa-skill policy-check --file FILE` reads the policy and the waivers as the gate does.",
        ),
        rule(
            POLICY_WEAKENED,
            "Policy setting is weakened",
            Severity::High,
            GUARDED,
            "Keep the setting, or loosen it in a change of its own that an owner approves.",
        ),
        rule(
            RUBRIC_CHANGED,
            "Frozen rubric is edited or weakened",
            Severity::High,
            GUARDED,
            "Mine and approve the rubric anew instead of editing it by hand.",
        ),
        rule(
            WAIVER_ADDED,
            "Waiver is added or excuses more",
            Severity::Medium,
            GUARDED,
            "Put the waiver into a change of its own; where this rule blocks, somebody who may bypass the required check \
             merges it.",
        ),
    ],
};

/// A change of a file that rules the gate, for what is judged beside other files.
#[derive(Serialize, Deserialize)]
enum Found {
    Owners(Change),
    Workflow(Change),
    /// The policy changed; the draft is on the line that names its rubric.
    Policy,
    LockGone(locks::Lock),
    LockAdded(locks::Lock),
    LockChanged(locks::Lock),
    /// A manifest is deleted or moved away.
    ManifestGone {
        folder: String,
    },
}

/// Compares the files that rule the gate.
pub(crate) struct PolicyWeakening;

impl Lens for PolicyWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let is_whole = policy::is_policy(file.path.as_bytes()) || files::is_waivers(&file.path);
        if is_whole { Need::WholeFile } else { Need::Hunks }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut seen = Inspection { drafts: Vec::new(), facts: locks::inspect(packet) };
        if files::is_own(packet.path()) {
            seen.drafts.extend(files::inspect(packet, &crate::registry()));
        }
        seen.drafts.extend(policy::inspect_place(packet));
        if files::is_waivers(packet.path()) {
            seen.drafts.extend(policy::inspect_waivers(packet, &crate::registry()));
        }
        let names = [Some(packet.path()), packet.file.old_path.as_ref()];
        if names.into_iter().flatten().any(|path| owners::is_codeowners(&path.to_text())) {
            seen.facts
                .push(Fact::new(&Found::Owners(Change::new(packet, qa_contracts::v1::Scope::ALL)), None));
        }
        if names.into_iter().flatten().any(gate::is_workflow) {
            seen.facts
                .push(Fact::new(&Found::Workflow(Change::new(packet, qa_contracts::v1::Scope::ALL)), None));
        }
        if policy::is_policy(packet.path().as_bytes()) {
            let compared = policy::inspect(packet, &crate::registry()).drafts;
            // Findings about single settings replace the general one about the file.
            if !compared.is_empty() {
                seen.drafts.retain(|draft| draft.rule != POLICY_CHANGED);
            }
            seen.drafts.extend(compared);
            seen.facts.push(Fact::new(&Found::Policy, policy::rubric_line(packet)));
        }
        seen
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        match &*draft.rule {
            CODEOWNERS | POLICY_WEAKENED => edits::restore(draft, packet),
            _ => None,
        }
    }

    fn look_up(&self, facts: &[Fact], policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let (mut changes, mut workflows) = (Vec::new(), Vec::new());
        let mut drafts = locks::compare(facts, lookups);
        for fact in facts {
            match fact.read::<Found>() {
                Some(Found::Owners(change)) => changes.push(change),
                Some(Found::Workflow(change)) => workflows.push(change),
                Some(Found::Policy) => {
                    let draft = fact.draft.as_ref();
                    drafts.extend(draft.and_then(|draft| rubric::swapped(draft, policy, lookups)));
                }
                Some(
                    Found::LockGone(_)
                    | Found::LockAdded(_)
                    | Found::LockChanged(_)
                    | Found::ManifestGone { .. },
                )
                | None => {}
            }
        }
        if !changes.is_empty() {
            drafts.extend(owners::compare(&changes, lookups));
        }
        drafts.extend(gate::compare(&workflows, lookups));
        drafts
    }
}

/// Returns a line without the blanks around it.
fn whole(text: &str) -> std::ops::Range<usize> {
    let lead = text.len() - text.trim_start().len();
    lead..text.trim_end().len().max(lead)
}
