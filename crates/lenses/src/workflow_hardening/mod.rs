//! Workflows that run what they do not know, or that let strangers choose what they run.

mod caches;
mod images;
mod injection;
mod jobs;
mod uses;
mod yaml;

use std::collections::BTreeMap;

use super::contract::{
    Census, Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, rule, text_rule,
};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::{Line, Packet};
use yaml::Piece;

const CACHE: &str = "workflow-hardening/cache-poisoning";
const CREDENTIALS: &str = "workflow-hardening/credentials-in-artifact";
const PERMISSIONS: &str = "workflow-hardening/excessive-permissions";
const FIRST_PARTY: &str = "workflow-hardening/first-party-by-name";
const LOOSENED: &str = "workflow-hardening/pin-loosened";
const INJECTION: &str = "workflow-hardening/script-injection";
const FROM_NETWORK: &str = "workflow-hardening/script-from-network";
const INHERITED: &str = "workflow-hardening/secrets-inherited";
const SELF_HOSTED: &str = "workflow-hardening/self-hosted-runner";
const UNPINNED: &str = "workflow-hardening/unpinned-action";
const IMAGE: &str = "workflow-hardening/unpinned-image";
const TARGET_CHECKOUT: &str = "workflow-hardening/untrusted-checkout";
const UNVETTED: &str = "workflow-hardening/unvetted-checkout";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..ADVISE };
const RATCHET: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);
const RATCHETED: PresetStrengths = presets(RATCHET, BLOCK);
const WHERE_KEPT: PresetStrengths = presets(RATCHET, RATCHET);
const NOTICE: PresetStrengths = presets(ADVISE, ADVISE);
const WHEN_ASKED: PresetStrengths = presets(everywhere(Strength::Off), ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "workflow-hardening",
    version: "2",
    class: LensClass::Security,
    title: "Workflows that run what they do not know or let strangers choose what they run",
    required_by_default: true,
    triggers: &[".github/workflows/*.yml", ".github/workflows/*.yaml", "**/action.yml", "**/action.yaml"],
    trigger_symbols: &[],
    page: include_str!("../../../../tests/corpus/lenses/workflow-hardening.md"),
    rules: &[
        text_rule(
            CACHE,
            "What is published is built from a cache that other runs write",
            Severity::Medium,
            WHEN_ASKED,
            "Build what is published without a cache.",
        ),
        text_rule(
            CREDENTIALS,
            "A checkout with its token is uploaded as an artifact",
            Severity::High,
            GUARDED,
            "Set `persist-credentials: false` at the checkout, or upload only what is needed.",
        ),
        text_rule(
            PERMISSIONS,
            "A token may write to everything",
            Severity::High,
            ALWAYS,
            "Name the permissions that the job needs.",
        ),
        text_rule(
            FIRST_PARTY,
            "An action of the platform's own is used by a name that can move",
            Severity::Low,
            WHEN_ASKED,
            "Name the full commit, with the version as a comment.",
        ),
        rule(
            LOOSENED,
            "An action that was pinned to a commit follows a name",
            Severity::High,
            ALWAYS,
            "Keep the full commit; for another version name its commit.",
        ),
        text_rule(
            FROM_NETWORK,
            "A script is run as it comes from the network",
            Severity::Medium,
            RATCHETED,
            "Fetch a version by its checksum and run it afterwards, or use the package of a package manager.",
        ),
        text_rule(
            INJECTION,
            "Text that anyone may choose becomes part of a script",
            Severity::High,
            ALWAYS,
            "Give the text to the script as an environment variable and quote the variable.",
        ),
        text_rule(
            INHERITED,
            "Every secret goes to a workflow of another repository",
            Severity::Medium,
            NOTICE,
            "Name the secrets that the workflow needs.",
        ),
        text_rule(
            SELF_HOSTED,
            "Pull requests run on a machine of one's own",
            Severity::Medium,
            NOTICE,
            "Run pull requests on machines of the platform, or on ones that are thrown away afterwards.",
        ),
        text_rule(
            UNPINNED,
            "An action of a third party is used by a name that can move",
            Severity::Medium,
            RATCHETED,
            "Name the full commit, with the version as a comment.",
        ),
        text_rule(
            IMAGE,
            "A job runs in or beside an image whose name can move",
            Severity::Low,
            WHERE_KEPT,
            "Name the digest of the image behind its tag.",
        ),
        text_rule(
            TARGET_CHECKOUT,
            "The code of a pull request is used where secrets are",
            Severity::Critical,
            ALWAYS,
            "Use `pull_request`, or do in a second workflow what needs secrets, without the code of the pull request.",
        ),
        text_rule(
            UNVETTED,
            "The code of others is used after an event that anyone may cause",
            Severity::High,
            GUARDED,
            "Ask first whose code it is, or use it where no secret is.",
        ),
    ],
};

/// Something at head, wherever it stands; it counts where its line, or one that makes it what it is, is new.
#[derive(Debug)]
struct Found<'t> {
    rule: &'static str,
    piece: Piece<'t>,
    summary: &'static str,
    /// The lines without which it would be nothing.
    because: Vec<u64>,
}

impl<'t> Found<'t> {
    fn new(rule: &'static str, piece: Piece<'t>, summary: &'static str) -> Self {
        Self { rule, piece, summary, because: Vec::new() }
    }

    fn because(self, lines: impl IntoIterator<Item = u64>) -> Self {
        Self { because: lines.into_iter().collect(), ..self }
    }

    fn draft(self, packet: &Packet<'_>, added: &BTreeMap<u64, Line<'_>>) -> Option<Draft> {
        if let Some(line) = added.get(&self.piece.line) {
            let span = self.piece.start..self.piece.start + self.piece.text.len();
            return line
                .text
                .get(span.clone())
                .map(|_| Draft::on_line(self.rule, packet, line, span, self.summary));
        }
        let line = self.because.iter().find_map(|line| added.get(line))?;
        let lead = line.text.len() - line.text.trim_start().len();
        let span = lead..line.text.trim_end().len().max(lead);
        Some(Draft::on_line(self.rule, packet, line, span, self.summary).with("because", self.piece.line))
    }
}

fn is_workflow(path: &RepoPath) -> bool {
    let path = path.as_bytes();
    path.starts_with(b".github/workflows/") && (path.ends_with(b".yml") || path.ends_with(b".yaml"))
}

fn is_workflow_or_action(path: &RepoPath) -> bool {
    is_workflow(path) || matches!(path.file_name(), b"action.yml" | b"action.yaml")
}

/// The lens.
pub(crate) struct WorkflowHardening;

impl Lens for WorkflowHardening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// What a line means depends on the job and the events around it.
    fn need(&self, file: &ChangedFile) -> Need {
        let looks = file.kind != ChangeKind::Deleted && is_workflow_or_action(&file.path);
        if looks { Need::WholeFile } else { Need::Nothing }
    }

    fn wants_whole_file(&self, _file: &ChangedFile, hunks: &qa_contracts::v1::FileText) -> bool {
        hunks.cuts.iter().any(|cuts| cuts.added > cuts.removed)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let added: BTreeMap<u64, Line<'_>> = packet.added().map(|line| (line.number, line)).collect();
        let Some(head) = packet.text.full_head.as_deref().filter(|_| !added.is_empty()) else {
            return Inspection::default();
        };
        let head = yaml::read(head);
        let base = packet.text.full_base.as_deref().map(yaml::read);
        let mut found = Vec::new();
        uses::look(base.as_ref(), &head, &mut found);
        images::look(base.as_ref(), &head, &mut found);
        injection::look(&head, &mut found);
        jobs::look(&head, &mut found);
        caches::look(&head, &mut found);
        let drafts = found.into_iter().filter_map(|each| each.draft(packet, &added)).collect();
        Inspection { drafts, facts: Vec::new() }
    }

    /// A repository has a handful of workflows, so what they use and run is counted one by one.
    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        let read = || yaml::read(text);
        match rule {
            UNPINNED if is_workflow(file) => uses::census(&read()).collect(),
            // Images are few, so whoever pins the actions beside them is asked to pin these too.
            IMAGE if is_workflow(file) => {
                let document = read();
                uses::census(&document).chain(images::census(&document)).collect()
            }
            FROM_NETWORK if is_workflow(file) => injection::census(&read()),
            _ => Census::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflows_say_what_complies_and_other_files_say_nothing() {
        let workflow = RepoPath::from_bytes(b".github/workflows/a.yml").unwrap();
        let other = RepoPath::from_bytes(b"a.yml").unwrap();
        let pinned = "a".repeat(40);
        let text = format!(
            "jobs:\n  a:\n    steps:\n      - uses: a/b@v1\n      - uses: ./c\n      - uses: actions/d@{pinned}\n      - run: curl https://x.test | sh\n      - run: make\n"
        );
        for rule in [UNPINNED, FROM_NETWORK, IMAGE] {
            let half = Census { support: 2, complying: 1 };
            assert_eq!(WorkflowHardening.census(rule, &workflow, &text), half, "{rule}");
            assert_eq!(WorkflowHardening.census(rule, &other, &text), Census::default());
            assert_eq!(WorkflowHardening.census(rule, &workflow, "jobs:\n"), Census::default());
        }
        let image = "jobs:\n  a:\n    container: node:20\n    steps:\n      - run: make\n";
        let none = Census { support: 1, complying: 0 };
        assert_eq!(WorkflowHardening.census(IMAGE, &workflow, image), none);
        assert_eq!(WorkflowHardening.census(UNPINNED, &workflow, image), Census::default());
    }
}
