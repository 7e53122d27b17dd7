//! Results, lookups and resources that a function uses or drops without a look at what became of them.

mod blocks;
mod errors;
mod ignored;
mod lookups;
mod nulls;
mod resources;
mod rules;
mod seen;
mod stores;

use crate::contract::{Census, Fact, Inspection, Lens, LensSpec, Need};
use crate::parsed;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, ChangedFile, FileText, LensClass, Scope};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::syntax::Language;
use seen::Seen;

const CANCEL: &str = "unchecked-result/cancel-dropped";
const NO_RETURN: &str = "unchecked-result/callback-without-return";
const CHECKED_LATE: &str = "unchecked-result/checked-after-use";
const MODIFIED: &str = "unchecked-result/collection-modified";
const ENVIRONMENT: &str = "unchecked-result/environment-unchecked";
const AS_SUCCESS: &str = "unchecked-result/error-as-success";
const ERROR: &str = "unchecked-result/error-discarded";
const ERROR_OVERWRITTEN: &str = "unchecked-result/error-overwritten";
const STATUS: &str = "unchecked-result/failure-ignored";
const ITERATOR: &str = "unchecked-result/iterator-reused";
const KEY: &str = "unchecked-result/key-unchecked";
const LOCK: &str = "unchecked-result/lock-unreleased";
const MATCH: &str = "unchecked-result/match-unchecked";
const NULL_BRANCH: &str = "unchecked-result/null-branch";
const OPTIONAL: &str = "unchecked-result/optional-unchecked";
const OTHER_ERROR: &str = "unchecked-result/other-error";
const PARAMETER: &str = "unchecked-result/parameter-overwritten";
const PARTIAL: &str = "unchecked-result/partial-read";
const REALLOC: &str = "unchecked-result/realloc-overwritten";
const RESOURCE: &str = "unchecked-result/resource-unclosed";
const SEARCH: &str = "unchecked-result/search-unchecked";
const STORE: &str = "unchecked-result/store-overwritten";
const TASK: &str = "unchecked-result/task-dropped";
const UNREACHABLE: &str = "unchecked-result/unreachable-code";
const ERROR_LATE: &str = "unchecked-result/used-before-check";

static SPEC: LensSpec = LensSpec {
    id: "unchecked-result",
    version: "4",
    class: LensClass::Style,
    title: "Results, lookups and resources that nothing checks",
    required_by_default: false,
    triggers: TRIGGERS,
    page: include_str!(concat!(env!("OUT_DIR"), "/unchecked-result.md")),
    rules: rules::RULES,
};

/// Globs of the files whose functions are read.
const TRIGGERS: &[&str] = &[
    "**/*.c",
    "**/*.cc",
    "**/*.cjs",
    "**/*.cpp",
    "**/*.cs",
    "**/*.cts",
    "**/*.cxx",
    "**/*.go",
    "**/*.java",
    "**/*.js",
    "**/*.jsx",
    "**/*.mjs",
    "**/*.mts",
    "**/*.php",
    "**/*.py",
    "**/*.rake",
    "**/*.rb",
    "**/*.ts",
    "**/*.tsx",
];

/// Reads what becomes of values in the functions that have added lines.
pub(crate) struct UncheckedResult;

impl Lens for UncheckedResult {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let judged = matches!(file.scope, Scope::Product | Scope::Test) && file.kind != ChangeKind::Deleted;
        if judged && language_of(&classify::path_by_language(file)).is_some() {
            parsed::content_need(file)
        } else {
            Need::Hunks
        }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file, text: hunks, included: &included };
        may_tell(&packet)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let Some((language, text)) =
            language_of(&packet.path_by_language()).zip(packet.text.full_head.as_deref())
        else {
            return Inspection::default();
        };
        if !may_tell(packet) {
            return Inspection::default();
        }
        let Some(mut seen) = Seen::parse(packet, language, text) else {
            return Inspection { drafts: Vec::new(), facts: vec![Fact::unread()] };
        };
        for family in FAMILIES {
            family(&mut seen);
        }
        Inspection { drafts: seen.drafts, facts: Vec::new() }
    }

    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        let language = language_of(&file.to_text());
        let Some(mut seen) = language.and_then(|language| Seen::parse_base(language, text)) else {
            return Census::default();
        };
        for family in FAMILIES {
            family(&mut seen);
        }
        Census::of_rare(seen.rules.contains(rule))
    }
}

const FAMILIES: &[fn(&mut Seen<'_>)] = &[
    blocks::inspect,
    errors::inspect,
    ignored::inspect,
    lookups::inspect,
    nulls::inspect,
    resources::inspect,
    stores::inspect,
];

/// Returns the language of a file whose functions are read. Rust and Kotlin are left out, whose compilers do it, and
/// headers, which have few.
fn language_of(path: &str) -> Option<Language> {
    let (_, ending) = path.rsplit_once('.')?;
    let is_read = TRIGGERS.iter().any(|glob| glob.ends_with(&format!(".{ending}")));
    Language::from_path(path).filter(|_| is_read)
}

/// Returns whether an added line may call, bind, test or leave something.
fn may_tell(packet: &Packet<'_>) -> bool {
    const WORDS: &[&str] = &["(", " = ", ":=", "break", "continue", "raise", "return", "throw"];
    packet.added().any(|line| {
        let text = line.text.trim_start();
        let is_comment = ["//", "#", "*", "/*", "import ", "from ", "using ", "use "]
            .iter()
            .any(|begin| text.starts_with(begin));
        !is_comment && WORDS.iter().any(|word| text.contains(word))
    })
}
