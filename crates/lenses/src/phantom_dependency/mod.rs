//! Imports of packages that no manifest names, among them misspelt ones.

mod ecma;
mod go;
mod known;
mod lock;
mod manifest;
mod python;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule};
use super::imports::{self, Change, Family};
use qa_contracts::v1::{
    ChangedFile, LensClass, MentionKind, PlacedImport, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const LOOKALIKE: &str = "phantom-dependency/lookalike-package";
const LOCK_BEHIND: &str = "phantom-dependency/lockfile-behind";
const UNDECLARED: &str = "phantom-dependency/undeclared-package";

/// Maximum number of base files that are read to see whether they already import the package.
const MOST_ASKED: usize = 200;

static SPEC: LensSpec = LensSpec {
    id: "phantom-dependency",
    version: "5",
    class: LensClass::Architecture,
    title: "Imports of packages that no manifest names",
    required_by_default: true,
    triggers: &[
        "**/*.cjs",
        "**/*.cts",
        "**/*.go",
        "**/*.js",
        "**/*.jsx",
        "**/*.mjs",
        "**/*.mts",
        "**/*.py",
        "**/*.ts",
        "**/*.tsx",
        "**/Cargo.toml",
        "**/go.mod",
        "**/package.json",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/phantom-dependency.md")),
    rules: &[
        rule(
            LOCK_BEHIND,
            "Declared dependency is missing from the lockfile",
            Severity::Medium,
            presets(
                ScopeStrengths { product: Strength::Advise, ..everywhere(Strength::Off) },
                ScopeStrengths { product: Strength::Block, ..everywhere(Strength::Off) },
            ),
            "Let the package manager write the lockfile again, and commit it with the manifest.",
        ),
        imports::rule(
            LOOKALIKE,
            "Imported package name looks like that of another package",
            "Correct the name; if the package is meant, declare it after looking at who publishes it.",
            true,
        ),
        imports::rule(
            UNDECLARED,
            "Imported package is not declared in any manifest",
            "Declare the package where the project's other dependencies are, or import one of those.",
            true,
        ),
    ],
};

pub(crate) struct PhantomDependency;

impl Lens for PhantomDependency {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if lock::is_manifest(&file.path.to_text()) { Need::WholeFile } else { Need::Hunks }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut facts = lock::facts(packet);
        if packet.path().to_text().parse_family().is_some() {
            facts.extend(imports::added(packet));
        }
        Inspection { drafts: Vec::new(), facts }
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let change = Change::new(facts);
        let mut drafts = lock::drafts(facts, lookups);
        for path in change.added.keys() {
            let written = imports::written(lookups, path);
            let added = written.iter().filter(|import| change.is_added(path, import.module.line));
            for import in added.filter(|import| import.is_firm()) {
                let Some(judgement) = judged(lookups, path, import) else { continue };
                let Some(import) = imports::parsed(lookups, path, import).filter(PlacedImport::is_firm)
                else {
                    continue;
                };
                let summary = match &judgement.resembles {
                    Some(_) => "a package is imported that is not declared and is nearly the name of another",
                    None => "a package is imported that no manifest names",
                };
                let rule = if judgement.resembles.is_some() { LOOKALIKE } else { UNDECLARED };
                let draft = change.on_name(rule, Side::Head, path, &import.module, summary);
                drafts.extend(draft.map(|draft| judgement.in_detail(draft)));
            }
        }
        drafts
    }
}

/// A package that is imported and not declared.
struct Judgement {
    package: String,
    manifest: String,
    resembles: Option<String>,
}

impl Judgement {
    fn in_detail(self, draft: Draft) -> Draft {
        let draft = draft.with("package", self.package).with("manifest", self.manifest);
        match self.resembles {
            Some(other) => draft.with("resembles", other),
            None => draft,
        }
    }
}

fn judged(lookups: &dyn Lookups, path: &str, import: &PlacedImport) -> Option<Judgement> {
    let kind = path.parse_family()?;
    let module = import.module.name.as_str();
    let judgement = match kind {
        MentionKind::Ecma => ecma::judged(lookups, path, module),
        MentionKind::Go => go::judged(lookups, path, module),
        MentionKind::Python => python::judged(lookups, path, module),
        MentionKind::C
        | MentionKind::CSharp
        | MentionKind::Configuration
        | MentionKind::Java
        | MentionKind::Lockfile
        | MentionKind::Php
        | MentionKind::Ruby
        | MentionKind::Rust => None,
    }?;
    // A package that a configuration mentions may come from there, whatever the manifests list.
    let words = manifest::spellings(&judgement.package);
    let configured = lookups.mentions(Side::Head, MentionKind::Configuration, &words);
    let elsewhere = !configured.complete || !configured.paths.is_empty();
    (!elsewhere && !was_imported(lookups, kind, &judgement.package)).then_some(judgement)
}

fn is_of_package(kind: MentionKind, module: &str, package: &str) -> bool {
    match kind {
        MentionKind::Ecma => ecma::package(module) == Some(package),
        MentionKind::Python => module.split('.').next() == Some(package),
        MentionKind::C
        | MentionKind::CSharp
        | MentionKind::Configuration
        | MentionKind::Go
        | MentionKind::Java
        | MentionKind::Lockfile
        | MentionKind::Php
        | MentionKind::Ruby
        | MentionKind::Rust => manifest::is_below(module, package),
    }
}

/// Returns whether the base already imported the package, or describes it in a declaration file. True in doubt.
fn was_imported(lookups: &dyn Lookups, kind: MentionKind, package: &str) -> bool {
    let found = lookups.mentions(Side::Base, kind, &[package.to_owned()]);
    !found.complete
        || imports::are_too_many(lookups, &found, MOST_ASKED)
        || found.paths.iter().any(|importer| {
            let described = importer.ends_with(".d.ts");
            described
                || lookups.imports(Side::Base, importer).is_none()
                || imports::has_import(lookups, Side::Base, importer, &|import| {
                    is_of_package(kind, &import.module.name, package)
                })
        })
}
