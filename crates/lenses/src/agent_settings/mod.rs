//! Settings of coding agents in the repository: what they let everybody's agent do unasked.
//!
//! The changed files are read at the base and at head and compared setting by setting, whichever file of an agent has
//! them. So a setting that moves is none that is new, and a reformatted file has no findings.

mod commands;
mod entries;
mod read;
mod rows;

use std::collections::BTreeSet;

use qa_contracts::v1::{
    ChangedFile, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::canonical::sha256;
use qa_core::findings::EXPRESSION;
use qa_core::packet::Packet;
use qa_core::policy::Policy;
use read::{Kind, Setting, settings};
use rows::SettingsFile;

use super::changes::Change;
use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule};

const DENY_REMOVED: &str = "agent-settings/deny-removed";
const GATE_HOOK_REMOVED: &str = "agent-settings/gate-hook-removed";
const HOOK_ADDED: &str = "agent-settings/hook-added";
const HOOK_FROM_NETWORK: &str = "agent-settings/hook-from-network";
const BYPASSED: &str = "agent-settings/permission-bypassed";
const WIDENED: &str = "agent-settings/permission-widened";
const SERVER_ADDED: &str = "agent-settings/server-added";
const UNREADABLE: &str = "agent-settings/settings-unreadable";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const BLOCK: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) };
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);
/// Settings may count as documents or as product, so the scope is no reason here.
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);
/// Nobody needs these for everyone who opens the repository.
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);

/// Longest text in bytes that a finding has beside its quote; of a longer one it has the digest.
const LONGEST_EXPRESSION: usize = 1000;

static SPEC: LensSpec = LensSpec {
    id: "agent-settings",
    version: "1",
    class: LensClass::Security,
    title: "Settings of coding agents that let them do more unasked",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/agent-settings.md")),
    rules: &[
        rule(
            DENY_REMOVED,
            "Agent's settings refuse less",
            Severity::Medium,
            GUARDED,
            "Restore the entry, or loosen it in a change of its own that an owner approves.",
        ),
        rule(
            GATE_HOOK_REMOVED,
            "Gate's hook is removed or made harmless",
            Severity::High,
            GUARDED,
            "Restore the hook as `qa-skill skill --agent NAME --hooks` writes it.",
        ),
        rule(
            HOOK_ADDED,
            "Command is added that an agent or editor runs unasked",
            Severity::Low,
            NOTICE,
            "Read the command: it runs on the machine of everyone who opens the repository.",
        ),
        rule(
            HOOK_FROM_NETWORK,
            "Command that runs unasked executes what it downloads",
            Severity::High,
            ALWAYS,
            "Commit the script and review it, instead of downloading it on every machine.",
        ),
        rule(
            BYPASSED,
            "Agent is allowed to do anything unasked",
            Severity::High,
            ALWAYS,
            "Leave the choice to the person: keep the setting in the account's own settings.",
        ),
        rule(
            WIDENED,
            "Agent's permissions are widened",
            Severity::Medium,
            GUARDED,
            "Allow the commands that are needed by name, and keep the sandbox.",
        ),
        rule(
            SERVER_ADDED,
            "Server or plug-in is added that an agent uses",
            Severity::Medium,
            GUARDED,
            "Let an owner review the command or address, and pin the version.",
        ),
        rule(
            UNREADABLE,
            "Settings of an agent cannot be parsed",
            Severity::Medium,
            GUARDED,
            "Fix the syntax, so that the settings apply and can be compared.",
        ),
    ],
};

/// Compares the settings of coding agents.
pub(crate) struct AgentSettings;

impl Lens for AgentSettings {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let names = [Some(&file.path), file.old_path.as_ref()];
        let is_concerned =
            names.into_iter().flatten().any(|path| SettingsFile::of(&path.to_text()).is_some());
        if is_concerned { Need::Hunks } else { Need::Nothing }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let fact = Fact::new(&Change::new(packet, Scope::ALL), None);
        let is_concerned = self.need(packet.file) != Need::Nothing;
        Inspection { drafts: Vec::new(), facts: if is_concerned { vec![fact] } else { Vec::new() } }
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let changes: Vec<Change> = facts.iter().filter_map(Fact::read).collect();
        let [base, head] = [Side::Base, Side::Head].map(|side| Version::read(&changes, side, lookups));
        let mut drafts = head.unreadable_drafts(&base, lookups);
        drafts.extend(head.added_drafts(&base, lookups));
        drafts.extend(base.removed_drafts(&head, lookups));
        drafts
    }
}

/// A setting with the changed file that has it.
#[derive(Debug)]
struct Placed<'c> {
    change: &'c Change,
    agent: &'static str,
    setting: Setting,
}

/// The settings of the changed files on one side.
#[derive(Debug)]
struct Version<'c> {
    side: Side,
    settings: Vec<Placed<'c>>,
    /// Changed files with a text that has no tree.
    unreadable: Vec<&'c Change>,
}

impl<'c> Version<'c> {
    fn read(changes: &'c [Change], side: Side, lookups: &dyn Lookups) -> Self {
        let mut version = Self { side, settings: Vec::new(), unreadable: Vec::new() };
        for change in changes {
            let Some(path) = change.path(side) else { continue };
            let Some(file) = SettingsFile::of(path) else { continue };
            let text = lookups.text(side, path);
            match text.as_deref().map(|text| settings(file, text)) {
                Some(Ok(settings)) => version.settings.extend(settings.into_iter().map(|setting| Placed {
                    change,
                    agent: file.agent,
                    setting,
                })),
                Some(Err(_)) | None => version.unreadable.push(change),
            }
        }
        version
    }

    /// Returns whether a hook of an agent runs the gate.
    fn runs_gate(&self, agent: &str) -> bool {
        let mut own = self.settings.iter().filter(|placed| placed.agent == agent);
        own.any(|placed| placed.setting.kind == Kind::GateHook)
    }

    /// Reports files that could be read at the base, or are new, and cannot be read.
    fn unreadable_drafts(&self, base: &Version<'_>, lookups: &dyn Lookups) -> Vec<Draft> {
        let summary = "an agent's settings cannot be parsed, so nothing in them is compared";
        let new = self.unreadable.iter().filter(|change| !base.unreadable.contains(change));
        new.map(|change| change.on_any_line(UNREADABLE, self.side, summary, lookups)).collect()
    }

    /// Reports what this side lets agents do and the other does not.
    fn added_drafts(&self, base: &Version<'_>, lookups: &dyn Lookups) -> Vec<Draft> {
        let mut known: BTreeSet<(Kind, &str)> = BTreeSet::new();
        for placed in &base.settings {
            known.insert((placed.setting.kind, placed.setting.identity.as_str()));
        }
        let mut drafts = Vec::new();
        for placed in &self.settings {
            let setting = &placed.setting;
            let Some(rule) = rule_of_added(setting.kind, base.runs_gate(placed.agent)) else { continue };
            if known.insert((setting.kind, setting.identity.as_str())) {
                let old = base
                    .settings
                    .iter()
                    .filter(|old| old.setting.kind == setting.kind && old.setting.group == setting.group);
                let tokens: BTreeSet<&str> = old.flat_map(|old| old.setting.texts()).collect();
                drafts.push(self.draft(placed, rule, &tokens, lookups));
            }
        }
        drafts
    }

    /// Reports what this side keeps agents from and the other does not.
    fn removed_drafts(&self, head: &Version<'_>, lookups: &dyn Lookups) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for placed in &self.settings {
            let rule = match placed.setting.kind {
                Kind::Refusal => DENY_REMOVED,
                Kind::GateHook => GATE_HOOK_REMOVED,
                Kind::Bypass | Kind::Hook | Kind::NetworkHook | Kind::NoHooks | Kind::Server | Kind::Wide => {
                    continue;
                }
            };
            let mut others = head.settings.iter().filter(|other| other.agent == placed.agent);
            if !others.any(|other| other.setting.keeps(&placed.setting)) {
                drafts.push(self.draft(placed, rule, &BTreeSet::new(), lookups));
            }
        }
        drafts
    }

    /// Makes a draft on the first token of a setting that stands on a changed line, those first that are not known.
    fn draft(
        &self,
        placed: &Placed<'_>,
        rule: &'static str,
        known: &BTreeSet<&str>,
        lookups: &dyn Lookups,
    ) -> Draft {
        let Placed { change, setting, .. } = placed;
        let (old, new): (Vec<_>, Vec<_>) =
            setting.tokens.iter().partition(|token| known.contains(token.text.as_str()));
        let mut tokens = new.into_iter().chain(old);
        let draft = tokens
            .find_map(|token| change.on_line(rule, self.side, Some(token.span), setting.summary, lookups));
        let draft = draft.unwrap_or_else(|| change.on_any_line(rule, self.side, setting.summary, lookups));
        // A waiver for a server's name is none for the next command under it.
        let is_short = setting.identity.len() <= LONGEST_EXPRESSION;
        let expression =
            if is_short { setting.identity.clone() } else { sha256(setting.identity.as_bytes()).to_string() };
        draft.with(EXPRESSION, expression)
    }
}

/// Returns the rule about a setting that is new, given whether a hook of the agent ran the gate.
fn rule_of_added(kind: Kind, ran_gate: bool) -> Option<&'static str> {
    match kind {
        Kind::NoHooks if ran_gate => Some(GATE_HOOK_REMOVED),
        Kind::Bypass => Some(BYPASSED),
        Kind::Hook => Some(HOOK_ADDED),
        Kind::NetworkHook => Some(HOOK_FROM_NETWORK),
        Kind::Server => Some(SERVER_ADDED),
        Kind::NoHooks | Kind::Wide => Some(WIDENED),
        Kind::GateHook | Kind::Refusal => None,
    }
}
