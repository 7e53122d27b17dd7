//! Edits of a feature list or workflow state that only QA may make: results set by hand, features removed or replaced.

mod anchors;
mod compare;
mod state;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, rule};
use anchors::Anchors;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, LensClass, PresetStrengths, Scope, Severity, Strength};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::features::{FeatureDocument, FeatureListError};
use qa_core::packet::Packet;

const ADDED_PASSING: &str = "feature-guard/added-as-passing";
const DUPLICATE_ID: &str = "feature-guard/duplicate-id";
const REDEFINED: &str = "feature-guard/feature-redefined";
const REMOVED: &str = "feature-guard/feature-removed";
const REPLACED: &str = "feature-guard/feature-replaced";
const LIST_PASSING: &str = "feature-guard/list-added-as-passing";
const LIST_REMOVED: &str = "feature-guard/list-removed";
const LIST_UNREADABLE: &str = "feature-guard/list-unreadable";
const PASSES_SET: &str = "feature-guard/passes-set";
const QA_FIELD: &str = "feature-guard/qa-field-changed";
const REORDERED: &str = "feature-guard/reordered";

const STATE_EDITED: &str = "feature-guard/state-edited";

const FILE_NAME: &str = "feature_list.json";
const STATE_NAME: &str = "workflow-state.json";

/// The scope is that of the path at head, which a change can choose; so it says nothing here.
const ALWAYS: PresetStrengths = presets(everywhere(Strength::Block), everywhere(Strength::Block));
const GUARDED: PresetStrengths = presets(everywhere(Strength::Advise), everywhere(Strength::Block));
const NOTICE: PresetStrengths = presets(everywhere(Strength::Advise), everywhere(Strength::Advise));

static SPEC: LensSpec = LensSpec {
    id: "feature-guard",
    version: "2",
    class: LensClass::Security,
    title: "Edits of a feature list or workflow state that only QA may make",
    required_by_default: true,
    triggers: &["**/feature_list.json", "**/workflow-state.json"],
    page: include_str!(concat!(env!("OUT_DIR"), "/feature-guard.md")),
    rules: &[
        rule(
            ADDED_PASSING,
            "Added feature already passes",
            Severity::High,
            ALWAYS,
            "Add the feature with `\"passes\": false` and let QA set it.",
        ),
        rule(
            DUPLICATE_ID,
            "Duplicate feature id",
            Severity::High,
            ALWAYS,
            "Give the new feature a unique id.",
        ),
        rule(
            REDEFINED,
            "Feature definition is edited",
            Severity::Medium,
            GUARDED,
            "Restore the feature, and add a new one for the new behaviour.",
        ),
        rule(
            REMOVED,
            "Feature is removed or renumbered",
            Severity::High,
            ALWAYS,
            "Restore the feature under its id.",
        ),
        rule(
            REPLACED,
            "The id of one feature is given to another",
            Severity::High,
            ALWAYS,
            "Restore the feature, and give the new one an id of its own.",
        ),
        rule(
            LIST_PASSING,
            "New feature list has passing features",
            Severity::Medium,
            GUARDED,
            "Begin with `\"passes\": false` everywhere and let QA set it.",
        ),
        rule(
            LIST_REMOVED,
            "Feature list is deleted or renamed",
            Severity::High,
            ALWAYS,
            "Keep the list where it is.",
        ),
        rule(
            LIST_UNREADABLE,
            "Feature list cannot be parsed",
            Severity::High,
            ALWAYS,
            "Fix the reported error; `qa-skill schema feature-list` prints the format.",
        ),
        rule(
            PASSES_SET,
            "Feature is marked as passing by hand",
            Severity::High,
            ALWAYS,
            "Set it back to `false`; QA sets it after the merge.",
        ),
        rule(
            QA_FIELD,
            "Field owned by QA is edited by hand",
            Severity::Medium,
            GUARDED,
            "Leave passes, qa_validated, last_qa_run, qa_notes and qa_report_path to QA.",
        ),
        rule(
            REORDERED,
            "Features stand in another order",
            Severity::Low,
            NOTICE,
            "Restore the order; features are worked on in it.",
        ),
        rule(
            STATE_EDITED,
            "Workflow state is edited where only QA may",
            Severity::High,
            ALWAYS,
            "Restore the file; name the feature of the change by the trailer `Feature: ID`.",
        ),
    ],
};

pub(crate) struct FeatureGuard;

impl Lens for FeatureGuard {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Lists and states are compared by meaning, so both sides are wanted whole.
    fn need(&self, file: &ChangedFile) -> Need {
        let guarded = is_guarded(&file.path) || file.old_path.as_ref().is_some_and(is_guarded);
        if guarded { Need::WholeFile } else { Need::Nothing }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let old_path = packet.file.old_path.as_ref().unwrap_or(packet.path());
        let base_of = |name| packet.text.full_base.as_deref().filter(|_| is_in_use(old_path, name));
        let head_of = |name| packet.text.full_head.as_deref().filter(|_| is_in_use(packet.path(), name));
        if let Some(base) = base_of(STATE_NAME) {
            let drafts = state::judge(packet, base, head_of(STATE_NAME)).into_iter().collect();
            return Inspection { drafts, facts: Vec::new() };
        }
        let (base, head) = (base_of(FILE_NAME), head_of(FILE_NAME));
        let drafts = match (base.map(|text| (text, FeatureDocument::parse(text))), head) {
            (Some((text, Ok(before))), head) => judge(packet, text, &before, head),
            // A base file that is no feature list gives nothing to compare with.
            (Some((_, Err(_))), _) | (None, None) => Vec::new(),
            (None, Some(text)) => first_list(packet, text),
        };
        Inspection { drafts: fold(drafts), facts: Vec::new() }
    }
}

/// Maximum findings of one rule in one list.
const MOST_FINDINGS: usize = 20;

/// Lets the last finding of a rule that is kept speak for all that follow it; it is bound to their features, so that no
/// waiver covers one that was not there.
fn fold(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut seen: BTreeMap<Cow<'static, str>, Vec<Draft>> = BTreeMap::new();
    for draft in drafts {
        seen.entry(draft.rule.clone()).or_default().push(draft);
    }
    let folded = seen.into_values().map(|mut drafts| {
        let others = drafts.split_off(drafts.len().min(MOST_FINDINGS));
        if let Some(last) = drafts.last_mut().filter(|_| !others.is_empty()) {
            last.summary = format!("{}, and so it is with {} more", last.summary, others.len());
            let features = others.into_iter().filter_map(|mut other| other.detail.remove("feature"));
            last.detail.insert("alsoFeatures".into(), features.collect());
        }
        drafts
    });
    folded.flatten().collect()
}

/// Returns whether a path is a feature list or a workflow state in use.
fn is_guarded(path: &RepoPath) -> bool {
    is_in_use(path, FILE_NAME) || is_in_use(path, STATE_NAME)
}

/// Returns whether a path is a file in use of that name: those among tests, documents, generated or vendored files are
/// examples.
fn is_in_use(path: &RepoPath, name: &str) -> bool {
    let text = path.to_text();
    if text.rsplit('/').next() != Some(name) {
        return false;
    }
    let built_in = ScopeGlobs::new(|_| &[]).expect("no globs are globs");
    built_in.scope(path, classify::class(path)) == Scope::Product
}

fn first_list(packet: &Packet<'_>, text: &str) -> Vec<Draft> {
    let Ok(list) = FeatureDocument::parse(text) else { return Vec::new() };
    let anchors = Anchors::new(packet, "", text);
    let passing = list.entries.iter().filter(|entry| entry.passes()).count();
    let first = list.entries.iter().find(|entry| entry.passes());
    let duplicates = compare::duplicates(None, &list, &anchors);
    let passing = first.map(|entry| {
        let summary = format!("new list has {passing} passing features that QA has not validated");
        anchors.on_member(LIST_PASSING, entry, "passes", summary).with("features", passing)
    });
    passing.into_iter().chain(duplicates).collect()
}

fn judge(packet: &Packet<'_>, base: &str, before: &FeatureDocument, head: Option<&str>) -> Vec<Draft> {
    let anchors = Anchors::new(packet, base, head.unwrap_or(""));
    let Some(head) = head else {
        let count = before.entries.len();
        let summary = format!("list of {count} features is deleted or moved to a path that is not guarded");
        let draft = anchors.on_gone_file(LIST_REMOVED, summary).with("features", count);
        return if count == 0 { Vec::new() } else { vec![draft] };
    };
    let summary = "feature list cannot be parsed, so nothing would guard it after a merge";
    match FeatureDocument::parse(head) {
        Err(error) => {
            let line = match &error {
                FeatureListError::NotJson { line, .. } => *line,
                FeatureListError::AnotherShape
                | FeatureListError::Fault(_)
                | FeatureListError::UnknownFeature(_) => 1,
            };
            vec![anchors.on_line(LIST_UNREADABLE, line, summary).with("error", error.to_string())]
        }
        Ok(after) => {
            let fault = after.faults.first().filter(|_| before.faults.is_empty());
            let unreadable = fault.map(|fault| {
                anchors.on_line(LIST_UNREADABLE, fault.line, summary).with("error", fault.to_string())
            });
            unreadable.into_iter().chain(compare::compare(before, &after, &anchors)).collect()
        }
    }
}

#[cfg(test)]
mod tests;
