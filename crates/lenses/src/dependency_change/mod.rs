//! Dependencies that come from elsewhere than before, run something when installed, or are no longer what was locked.

mod locks;
mod manifests;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, rule, text_rule};
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::{Line, Packet};

const CHANGED: &str = "dependency-change/checksum-changed";
const REMOVED: &str = "dependency-change/checksum-removed";
const INSTALL: &str = "dependency-change/install-script";
const REGISTRY: &str = "dependency-change/registry-changed";
const ELSEWHERE: &str = "dependency-change/resolved-elsewhere";
const SOURCE: &str = "dependency-change/source-outside-registry";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
/// Lock files count as generated.
const BLOCK: ScopeStrengths =
    ScopeStrengths { product: Strength::Block, generated: Strength::Block, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);

static SPEC: LensSpec = LensSpec {
    id: "dependency-change",
    version: "1",
    class: LensClass::Security,
    title: "Dependencies that come from elsewhere, run something or are not what was locked",
    required_by_default: true,
    triggers: &[
        "**/package.json",
        "**/package-lock.json",
        "**/npm-shrinkwrap.json",
        "**/yarn.lock",
        "**/pnpm-lock.yaml",
        "**/bun.lock",
        "**/.npmrc",
        "**/.yarnrc",
        "**/.yarnrc.yml",
        "**/Cargo.toml",
        "**/Cargo.lock",
        "**/.cargo/config",
        "**/.cargo/config.toml",
        "**/go.mod",
        "**/go.sum",
        "**/go.env",
        "**/*requirements*.txt",
        "**/*requirements*.in",
        "**/*constraints*.txt",
        "**/requirements/*.txt",
        "**/requirements/*.in",
        "**/pip.conf",
        "**/pip.ini",
        "**/pyproject.toml",
        "**/setup.cfg",
        "**/setup.py",
        "**/poetry.lock",
        "**/pdm.lock",
        "**/uv.lock",
        "**/uv.toml",
        "**/Gemfile",
        "**/Gemfile.lock",
        "**/gems.rb",
        "**/composer.json",
        "**/Dockerfile*",
        "**/Makefile",
        ".github/workflows/*.yml",
        ".github/workflows/*.yaml",
    ],
    trigger_symbols: &[],
    page: include_str!("../../../../tests/corpus/lenses/dependency-change.md"),
    rules: &[
        rule(
            CHANGED,
            "A locked version has another checksum than before",
            Severity::Critical,
            ALWAYS,
            "Find out what was published under the version; let the package manager write the lock file again.",
        ),
        rule(
            REMOVED,
            "A locked version loses its checksum",
            Severity::High,
            GUARDED,
            "Let the package manager write the lock file again.",
        ),
        text_rule(
            INSTALL,
            "A script runs when the package is installed",
            Severity::Medium,
            GUARDED,
            "Do the work when the package is built, or say in the change why it must be done on installation.",
        ),
        text_rule(
            REGISTRY,
            "Packages come from another registry, or are no longer checked",
            Severity::High,
            GUARDED,
            "Keep the registry, or change it in a change of its own that an owner approves.",
        ),
        text_rule(
            ELSEWHERE,
            "A locked package comes from a host that the lock file did not name before",
            Severity::High,
            GUARDED,
            "Let the package manager write the lock file again, against the registry that everybody uses.",
        ),
        text_rule(
            SOURCE,
            "A dependency comes from a repository or an address and not from a registry",
            Severity::Medium,
            GUARDED,
            "Depend on a published version, or name the full commit and say why.",
        ),
    ],
};

/// The lens.
pub(crate) struct DependencyChange;

impl Lens for DependencyChange {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if file.kind == ChangeKind::Deleted {
            Need::Nothing
        } else if locks::Format::of(&file.path).is_some() {
            Need::WholeFile
        } else {
            Need::Hunks
        }
    }

    /// Lock files are long; nearly always the lines around a change say enough.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        locks::wants_whole_file(file, hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut drafts = Vec::new();
        match locks::Format::of(packet.path()) {
            Some(format) => locks::inspect(packet, format, &mut drafts),
            None => manifests::inspect(packet, &mut drafts),
        }
        Inspection { drafts, facts: Vec::new() }
    }
}

/// Keeps the first draft of each rule and lets it count the others: a lock file says the same a thousand times.
fn fold(drafts: &mut Vec<Draft>, rule: &str) {
    let count = drafts.iter().filter(|draft| draft.rule == rule).count();
    let mut seen = false;
    drafts.retain_mut(|draft| {
        if draft.rule != rule || count < 2 {
            return true;
        }
        if !seen {
            draft.summary = format!("{}, and {} more in this file", draft.summary, count - 1);
        }
        !std::mem::replace(&mut seen, true)
    });
}

/// A draft about a part of a line.
fn draft(rule: &'static str, packet: &Packet<'_>, line: &Line<'_>, part: &str, summary: &str) -> Draft {
    let start = line.text.find(part).unwrap_or(0);
    Draft::on_line(rule, packet, line, start..start + part.len(), summary)
}

/// The host of the first address in a text.
fn host(text: &str) -> Option<&str> {
    let rest = &text[text.find("://")? + 3..];
    let end = rest.find(['/', '"', '\'', ' ', '#', ',', ')', '}', '?']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next()?;
    let host = host.split(':').next()?;
    (!host.is_empty()).then_some(host)
}
