//! Paths that exist on one machine only.

use super::contract::{Draft, DraftExt, Inspection, Lens, LensSpec, RuleSpec, everywhere, presets};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{LensClass, Severity, Strength};
use qa_core::packet::Packet;

const HOME: &str = "machine-path/home-directory";

static SPEC: LensSpec = LensSpec {
    id: "machine-path",
    version: "1",
    class: LensClass::Style,
    title: "Paths that exist on one machine",
    required_by_default: false,
    triggers: &["**"],
    page: include_str!("../../../CONTRIBUTING.md"),
    rules: &[RuleSpec {
        id: HOME,
        title: "A path into one person's home directory",
        severity: Severity::Low,
        strengths: presets(everywhere(Strength::Advise), everywhere(Strength::Ratchet)),
        fix: "Make the path relative, or read it from a setting.",
        moves: true,
    }],
};

/// Finds paths that exist on one machine.
pub(crate) struct MachinePath;

impl Lens for MachinePath {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let drafts = packet.added().filter_map(|line| {
            let start = line.text.find("/home/")?;
            let rest = &line.text[start..];
            let end = start + rest.find([' ', '"', '\'']).unwrap_or(rest.len());
            Some(Draft::on_line(HOME, packet, &line, start..end, "a path into a home directory"))
        });
        Inspection { drafts: drafts.collect(), facts: Vec::new() }
    }

    fn complies(&self, _rule: &str, _file: &RepoPath, text: &str) -> Option<bool> {
        Some(!text.contains("/home/"))
    }
}
