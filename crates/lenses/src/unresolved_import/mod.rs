//! Imports of files and names that are not there at head: added ones, and those a change leaves behind elsewhere.

mod behind;
mod bound;
mod introduced;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups};
use super::imports::{self, Change, Touched};
use qa_contracts::v1::{ChangeKind, LensClass};
use qa_core::packet::{HunkView, Packet};
use qa_core::policy::Policy;

const LEFT_BEHIND: &str = "unresolved-import/left-behind";
const MISSING_MODULE: &str = "unresolved-import/missing-module";
const MISSING_NAME: &str = "unresolved-import/missing-name";

static SPEC: LensSpec = LensSpec {
    id: "unresolved-import",
    version: "7",
    class: LensClass::Architecture,
    title: "Imports of files and names that do not exist",
    required_by_default: true,
    triggers: &[
        "**/*.c",
        "**/*.cc",
        "**/*.cjs",
        "**/*.cpp",
        "**/*.cts",
        "**/*.cxx",
        "**/*.gemspec",
        "**/*.go",
        "**/*.h",
        "**/*.hh",
        "**/*.hpp",
        "**/*.hxx",
        "**/*.ipp",
        "**/*.java",
        "**/*.js",
        "**/*.jsx",
        "**/*.mjs",
        "**/*.mts",
        "**/*.php",
        "**/*.py",
        "**/*.rake",
        "**/*.rb",
        "**/*.rs",
        "**/*.ts",
        "**/*.tsx",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/unresolved-import.md")),
    rules: &[
        imports::rule(
            LEFT_BEHIND,
            "Something is removed that other files still import",
            "Change the files that import it as well, or keep it.",
            false,
        ),
        imports::rule(
            MISSING_MODULE,
            "A file is imported that does not exist",
            "Add the file that is missing, or correct the path.",
            false,
        ),
        imports::rule(
            MISSING_NAME,
            "A name is imported that its file does not have",
            "Correct the name, or define it where it is imported from.",
            false,
        ),
    ],
};

pub(crate) struct UnresolvedImport;

impl Lens for UnresolvedImport {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let old = packet.file.old_path.as_ref().unwrap_or(packet.path());
        let mut facts = imports::added(packet);
        for HunkView { hunk, .. } in bound::taking(packet, &old.to_text()) {
            let lines = imports::line_range(hunk.old_start, hunk.old_lines);
            facts.push(Fact::new(&Touched::Removed { file: old.clone(), lines }, None));
        }
        let goes = matches!(packet.file.kind, ChangeKind::Deleted | ChangeKind::Renamed);
        if goes && !is_test_of_its_own(&old.to_text()) {
            facts.push(Fact::new(&Touched::Gone { file: old.clone() }, None));
        }
        let comes = matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Renamed);
        if comes && imports::is_found_by_search(&packet.path().to_text()) {
            facts.push(Fact::new(&Touched::New { file: packet.path().clone() }, None));
        }
        Inspection { drafts: Vec::new(), facts }
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let change = Change::new(facts);
        let mut drafts = introduced::drafts(&change, lookups);
        drafts.extend(behind::drafts(&change, lookups));
        drafts
    }
}

/// Returns whether a file is probably loaded by nothing but a test runner.
fn is_test_of_its_own(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.") || name.contains(".spec.")
}
