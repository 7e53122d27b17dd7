//! Conventions of the repository itself, as a frozen rubric has them, held against what a change adds.

mod case;
pub mod collect;
mod directions;
mod documented;
mod errors;
mod header;
mod imports;
mod judge;
pub mod mine;
mod names;
mod place;
pub mod replay;
pub mod sighting;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Need, RuleSpec, presets};
use qa_contracts::v1::{
    ChangedFile, ConventionFamily, FileText, LensClass, PresetStrengths, Rubric, Scope, ScopeStrengths,
    Severity, Strength,
};
use qa_core::packet::Packet;
use qa_reading::syntax::Language;

const ADVISED: &str = "consistency/advised";
const ERROR_IDIOM: &str = "consistency/error-idiom";
const FILE_NAME: &str = "consistency/file-name";
const IMPORT_DIRECTION: &str = "consistency/import-direction";
const LICENCE_HEADER: &str = "consistency/licence-header";
const PUBLIC_DOC: &str = "consistency/public-doc";
const SYMBOL_NAME: &str = "consistency/symbol-name";
const TEST_PLACEMENT: &str = "consistency/test-placement";

/// The lens's own id, which the policy's `[consistency]` switches on.
pub const ID: &str = "consistency";

const fn in_code(strength: Strength) -> ScopeStrengths {
    ScopeStrengths {
        product: strength,
        test: strength,
        docs: Strength::Off,
        generated: Strength::Off,
        vendored: Strength::Off,
    }
}

/// A person approved that it blocks, so it does wherever the convention holds.
const BLOCKS: PresetStrengths = presets(in_code(Strength::Block), in_code(Strength::Block));
const ADVISES: PresetStrengths = presets(in_code(Strength::Advise), in_code(Strength::Advise));

const fn rule(
    id: &'static str,
    title: &'static str,
    strengths: PresetStrengths,
    fix: &'static str,
) -> RuleSpec {
    RuleSpec { id, title, severity: Severity::Medium, strengths, fix, moves: true }
}

static SPEC: LensSpec = LensSpec {
    id: ID,
    version: "5",
    class: LensClass::Consistency,
    title: "Conventions that the repository keeps and a change does not",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/consistency.md")),
    rules: &[
        rule(
            ADVISED,
            "Advised convention is broken",
            ADVISES,
            "Follow the convention where nothing speaks against it.",
        ),
        rule(
            ERROR_IDIOM,
            "Error handling breaks the repository's convention",
            BLOCKS,
            "Treat the error as the quoted places do.",
        ),
        rule(
            FILE_NAME,
            "File name breaks the repository's naming convention",
            BLOCKS,
            "Rename the file to the form that is named.",
        ),
        rule(
            IMPORT_DIRECTION,
            "A directory imports one that imports it",
            BLOCKS,
            "Move what is needed to where both may import it.",
        ),
        rule(
            LICENCE_HEADER,
            "Licence header is missing",
            BLOCKS,
            "Begin the file with the notice that the quoted files have.",
        ),
        rule(
            PUBLIC_DOC,
            "Public item has no documentation comment",
            BLOCKS,
            "Say in a documentation comment what it is for.",
        ),
        rule(
            SYMBOL_NAME,
            "Symbol name breaks the repository's naming convention",
            BLOCKS,
            "Rename it to the form that is named.",
        ),
        rule(
            TEST_PLACEMENT,
            "Test file is outside the repository's test directories",
            BLOCKS,
            "Move the file to where the quoted tests stand.",
        ),
    ],
};

pub(crate) struct Consistency;

impl Lens for Consistency {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let in_part = matches!(file.scope, Scope::Product | Scope::Test);
        let is_code =
            std::str::from_utf8(file.path.as_bytes()).is_ok_and(|path| Language::from_path(path).is_some());
        if in_part && is_code { Need::WholeFile } else { Need::Hunks }
    }

    fn wants_whole_file(&self, _file: &ChangedFile, hunks: &FileText) -> bool {
        judge::may_matter(hunks)
    }

    /// Without a rubric there is nothing to hold a change to.
    fn inspect(&self, _packet: &Packet<'_>) -> Inspection {
        Inspection::default()
    }

    fn inspect_by(&self, packet: &Packet<'_>, rubric: Option<&Rubric>) -> Inspection {
        rubric.map_or_else(Inspection::default, |rubric| judge::inspect(packet, rubric))
    }

    fn conclude(&self, facts: &[Fact]) -> Vec<Draft> {
        judge::conclude(facts)
    }
}

/// The rule a broken convention is reported under.
fn rule_of(family: ConventionFamily, strength: Strength) -> &'static str {
    match (strength, family) {
        (Strength::Advise | Strength::Ratchet | Strength::Off, _) => ADVISED,
        (Strength::Block, ConventionFamily::FileName) => FILE_NAME,
        (
            Strength::Block,
            ConventionFamily::FunctionName
            | ConventionFamily::MethodName
            | ConventionFamily::TypeName
            | ConventionFamily::ConstantName,
        ) => SYMBOL_NAME,
        (Strength::Block, ConventionFamily::TestPlacement) => TEST_PLACEMENT,
        (Strength::Block, ConventionFamily::LicenceHeader) => LICENCE_HEADER,
        (Strength::Block, ConventionFamily::PublicDoc) => PUBLIC_DOC,
        (Strength::Block, ConventionFamily::ErrorIdiom) => ERROR_IDIOM,
        (Strength::Block, ConventionFamily::ImportDirection) => IMPORT_DIRECTION,
        (Strength::Block, ConventionFamily::Library | ConventionFamily::CoChange) => ADVISED,
    }
}
