//! The gate's own settings: policy, rubrics and waivers.

use super::{POLICY_CHANGED, POLICY_REMOVED, RUBRIC_CHANGED, waivers, whole};
use crate::contract::{Draft, DraftExt};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, Registry, Side};
use qa_core::packet::{Line, Packet};
use qa_core::policy::WAIVERS_PATH;
use qa_core::rubric::RUBRICS;

/// Returns whether a file holds settings of the gate.
pub(super) fn is_own(path: &RepoPath) -> bool {
    path.as_bytes().starts_with(b".qa-skill/") && !path.as_bytes().starts_with(b".qa-skill/runs/")
}

/// Returns whether a file is the list of waivers, which is compared as a whole.
pub(super) fn is_waivers(path: &RepoPath) -> bool {
    path.as_bytes() == WAIVERS_PATH.as_bytes()
}

fn first_changed<'a>(packet: &Packet<'a>) -> Option<Line<'a>> {
    packet.added().find(|line| !line.text.trim().is_empty()).or_else(|| packet.added().next())
}

/// Looks at one file of settings.
pub(super) fn inspect(packet: &Packet<'_>, registry: &Registry) -> Vec<Draft> {
    if packet.file.kind == ChangeKind::Deleted {
        let summary = "configuration of the gate is deleted";
        return vec![on_removed_line(packet, POLICY_REMOVED, Side::Base, summary)];
    }
    if is_waivers(packet.path()) {
        let new = waivers::inspect(packet, registry);
        if !new.is_empty() {
            return new;
        }
    }
    let is_frozen = packet.path().as_bytes().starts_with(RUBRICS.as_bytes());
    let rubric = is_frozen && packet.file.kind != ChangeKind::Added;
    let (rule, summary) = if rubric {
        (RUBRIC_CHANGED, "frozen rubric is edited")
    } else {
        (POLICY_CHANGED, "configuration of the gate is changed")
    };
    match first_changed(packet) {
        Some(line) => vec![Draft::on_line(rule, packet, &line, whole(line.text), summary)],
        None => vec![on_removed_line(packet, rule, Side::Head, summary)],
    }
}

/// Reports the first removed line, or the file where none is removed.
pub(super) fn on_removed_line(packet: &Packet<'_>, rule: &'static str, side: Side, summary: &str) -> Draft {
    match packet.removed().next() {
        Some(line) => Draft::on_base_line(rule, packet, &line, whole(line.text), summary),
        None => Draft::on_file(rule, packet.path(), side, summary),
    }
}
