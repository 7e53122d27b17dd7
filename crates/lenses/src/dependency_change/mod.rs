//! Dependencies from other sources than before, with install scripts, or with changed checksums.

mod address;
mod commands;
mod finding;
mod locks;
mod manifests;
mod nuget;
mod reader;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::contract::{
    Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule, text_rule,
};
use finding::{Finding, Place, Placer};
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify::is_example;
use qa_core::packet::Packet;
use qa_core::policy::Policy;
use qa_reading::documents::ReadError;
use qa_reading::syntax::Span;
use reader::Reader;

const CHANGED: &str = "dependency-change/checksum-changed";
const REMOVED: &str = "dependency-change/checksum-removed";
const REPEATED: &str = "dependency-change/duplicate-key";
const FLOATING: &str = "dependency-change/floating-version";
const INSTALL: &str = "dependency-change/install-script";
const REGISTRY: &str = "dependency-change/registry-changed";
const ELSEWHERE: &str = "dependency-change/resolved-elsewhere";
const SOURCE: &str = "dependency-change/source-outside-registry";
const UNREADABLE: &str = "dependency-change/unreadable-file";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
/// Lock files count as generated.
const BLOCK: ScopeStrengths =
    ScopeStrengths { product: Strength::Block, generated: Strength::Block, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);

static SPEC: LensSpec = LensSpec {
    id: "dependency-change",
    version: "6",
    class: LensClass::Security,
    title: "Dependencies from other sources, with install scripts or changed checksums",
    required_by_default: true,
    triggers: &[
        "**/*.csproj",
        "**/*.fsproj",
        "**/*.vbproj",
        "**/*constraints*.txt",
        "**/*requirements*.in",
        "**/*requirements*.txt",
        "**/*.bash",
        "**/*.sh",
        "**/.cargo/config",
        "**/.cargo/config.toml",
        "**/.npmrc",
        "**/.yarnrc",
        "**/.yarnrc.yml",
        "**/buildscript-gradle.lockfile",
        "**/bun.lock",
        "**/Cargo.lock",
        "**/Cargo.toml",
        "**/composer.json",
        "**/composer.lock",
        "**/deno.lock",
        "**/Directory.Build.props",
        "**/Directory.Build.targets",
        "**/Directory.Packages.props",
        "**/Dockerfile*",
        "**/flake.lock",
        "**/Gemfile",
        "**/Gemfile.lock",
        "**/gems.locked",
        "**/gems.rb",
        "**/go.env",
        "**/go.mod",
        "**/go.sum",
        "**/go.work",
        "**/go.work.sum",
        "**/gradle.lockfile",
        "**/Makefile",
        "**/mix.lock",
        "**/npm-shrinkwrap.json",
        "**/NuGet.config",
        "**/NuGet.Config",
        "**/Nuget.config",
        "**/nuget.config",
        "**/package-lock.json",
        "**/package.json",
        "**/Package.resolved",
        "**/packages.lock.json",
        "**/pdm.lock",
        "**/pip.conf",
        "**/pip.ini",
        "**/Pipfile",
        "**/Pipfile.lock",
        "**/pnpm-lock.yaml",
        "**/pnpm-workspace.yaml",
        "**/Podfile.lock",
        "**/poetry.lock",
        "**/pubspec.lock",
        "**/pylock*.toml",
        "**/pyproject.toml",
        "**/requirements/*.in",
        "**/requirements/*.txt",
        "**/setup.cfg",
        "**/setup.py",
        "**/uv.lock",
        "**/uv.toml",
        "**/yarn.lock",
        ".github/workflows/*.yml",
        ".github/workflows/*.yaml",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/dependency-change.md")),
    rules: &[
        rule(
            CHANGED,
            "Checksum of a locked version changes",
            Severity::Critical,
            ALWAYS,
            "Check what was published under the version; regenerate the lockfile with the package manager.",
        ),
        rule(
            REMOVED,
            "Checksum of a locked version is removed",
            Severity::High,
            GUARDED,
            "Regenerate the lockfile with the package manager.",
        ),
        rule(
            REPEATED,
            "Duplicate key or package",
            Severity::Medium,
            GUARDED,
            "Delete the unused entry; regenerate a lockfile with the package manager.",
        ),
        text_rule(
            FLOATING,
            "Version of a package is a pattern",
            Severity::Medium,
            GUARDED,
            "Name the version, and let an updater raise it in a change of its own.",
        ),
        text_rule(
            INSTALL,
            "Install script is added",
            Severity::Medium,
            GUARDED,
            "Do the work when the package is built, or explain in the change why it must run on installation.",
        ),
        text_rule(
            REGISTRY,
            "Registry is changed, or package verification is disabled",
            Severity::High,
            GUARDED,
            "Keep the registry, or change it in a change of its own that an owner approves.",
        ),
        text_rule(
            ELSEWHERE,
            "Locked package comes from a new host",
            Severity::High,
            GUARDED,
            "Regenerate the lockfile with the package manager, against the usual registry.",
        ),
        text_rule(
            SOURCE,
            "Dependency is fetched from a repository or URL instead of a registry",
            Severity::Medium,
            GUARDED,
            "Depend on a published version, or pin the full commit and say why.",
        ),
        rule(
            UNREADABLE,
            "A lockfile or manifest cannot be parsed",
            Severity::Medium,
            GUARDED,
            "Fix the syntax; regenerate a lockfile with the package manager.",
        ),
    ],
};

/// Observations for the end of the lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Observation {
    /// A file could not be compared, so that the lens is not complete.
    Uncompared,
}

/// Returns the result for a file that could not be compared.
fn uncompared() -> Inspection {
    Inspection { drafts: Vec::new(), facts: vec![Fact::new(&Observation::Uncompared, None)] }
}

pub(crate) struct DependencyChange;

impl Lens for DependencyChange {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        match Reader::for_path(&file.path) {
            Some(_) if file.kind != ChangeKind::Deleted => Need::WholeFile,
            Some(_) | None => Need::Nothing,
        }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        match Reader::for_path(&file.path) {
            Some(Reader::Lock(_) | Reader::Manifest(_)) => true,
            Some(Reader::Commands(_)) => commands::may_set(&hunks.text),
            None => false,
        }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let Some(reader) = Reader::for_path(packet.path()) else { return Inspection::default() };
        let Some(head) = packet.text.full_head.as_deref() else {
            let is_unread = packet.file.codes.contains(&Code::BlobTooLarge);
            return if is_unread { uncompared() } else { Inspection::default() };
        };
        let base = packet.text.full_base.as_deref();
        if base == Some(head) {
            return Inspection::default();
        }
        let findings = match reader.compare(base, head) {
            Ok(findings) => findings,
            Err(ReadError::TooLarge | ReadError::TooDeep) => return uncompared(),
            // A text without content, and a template, are read by no tool.
            Err(ReadError::Syntax { .. }) if is_no_text(packet, head) => Vec::new(),
            Err(ReadError::Syntax { message, at }) => {
                if base.is_none_or(|base| reader.compare(None, base).is_err()) {
                    return uncompared();
                }
                let summary = "file cannot be parsed, so its packages cannot be compared";
                let place = Place::head(Span { start: at, end: at });
                vec![Finding::new(UNREADABLE, summary, vec![place]).with("error", message)]
            }
        };
        Inspection {
            drafts: Placer::new(packet, base.unwrap_or_default(), head).drafts(findings),
            facts: vec![],
        }
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        if facts.iter().any(|fact| fact.read() == Some(Observation::Uncompared)) {
            lookups.stop_short();
        }
        Vec::new()
    }
}

/// Returns whether a text that cannot be parsed is empty and new, an example, or made into something else.
fn is_no_text(packet: &Packet<'_>, head: &str) -> bool {
    let path = packet.path().to_text();
    head.trim().is_empty() && packet.text.full_base.is_none() || is_example(&path) || path.contains("{{")
}
