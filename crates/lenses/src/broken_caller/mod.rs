//! Callers that a change leaves with names, parameters or members that are not there.

mod code;
mod facts;
mod gone;
mod invented;
mod left;
mod members;
mod place;
mod public;
mod results;
mod standard_members;
mod types;

use super::contract::{
    Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, RuleSpec, everywhere, presets, rule,
};
use qa_contracts::v1::{
    ChangedFile, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const CHANGED_PARAMETERS: &str = "broken-caller/changed-parameters";
const CHANGED_RESULT: &str = "broken-caller/changed-result";
const MISSING_MEMBER: &str = "broken-caller/missing-member";
const REMOVED_API: &str = "broken-caller/removed-api";
const REMOVED_NAME: &str = "broken-caller/removed-name";
const UNCOVERED_MEMBER: &str = "broken-caller/uncovered-member";
const UNIMPLEMENTED_MEMBER: &str = "broken-caller/unimplemented-member";
const WRONG_ARGUMENTS: &str = "broken-caller/wrong-arguments";

const DEFAULT: ScopeStrengths = ScopeStrengths {
    product: Strength::Advise,
    test: Strength::Advise,
    docs: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
};
/// Code that cannot run blocks where that is asked for.
const GUARDED: ScopeStrengths = ScopeStrengths { product: Strength::Block, test: Strength::Block, ..DEFAULT };
const STRENGTHS: PresetStrengths = presets(DEFAULT, GUARDED);

const RULES: &[RuleSpec] = &[
    rule(
        CHANGED_PARAMETERS,
        "Parameters are changed while callers pass the old arguments",
        Severity::High,
        STRENGTHS,
        "Change the callers as well, or give the new parameter a default.",
    ),
    rule(
        CHANGED_RESULT,
        "A result is changed while callers take the old one",
        Severity::High,
        STRENGTHS,
        "Change the callers as well, or give the new result under another name.",
    ),
    rule(
        MISSING_MEMBER,
        "A name is used that its module does not have",
        Severity::High,
        STRENGTHS,
        "Correct the name, or define it in the module.",
    ),
    rule(
        REMOVED_API,
        "A public name of a library is removed without a note",
        Severity::Low,
        presets(
            ScopeStrengths { product: Strength::Advise, ..everywhere(Strength::Off) },
            ScopeStrengths { product: Strength::Advise, ..everywhere(Strength::Off) },
        ),
        "Name it in the changelog, change the version, or keep it as a deprecated alias.",
    ),
    rule(
        REMOVED_NAME,
        "A name is removed that other files still use",
        Severity::High,
        STRENGTHS,
        "Change the files that use it as well, or keep it.",
    ),
    rule(
        UNCOVERED_MEMBER,
        "A type gains a member that a switch over all its members does not list",
        Severity::Medium,
        STRENGTHS,
        "Add a case to the switch, or give it a default.",
    ),
    rule(
        UNIMPLEMENTED_MEMBER,
        "An interface gains a member that a class which implements it does not have",
        Severity::High,
        STRENGTHS,
        "Add the member to the class, or give it a default in the interface.",
    ),
    rule(
        WRONG_ARGUMENTS,
        "Added call passes arguments that the function does not take",
        Severity::High,
        STRENGTHS,
        "Pass what the definition asks for.",
    ),
];

static SPEC: LensSpec = LensSpec {
    id: "broken-caller",
    version: "9",
    class: LensClass::Architecture,
    title: "Callers that no longer fit what they call",
    required_by_default: true,
    triggers: &[
        "**/*.cfg",
        "**/*.cjs",
        "**/*.cs",
        "**/*.cts",
        "**/*.gemspec",
        "**/*.go",
        "**/*.gradle",
        "**/*.java",
        "**/*.js",
        "**/*.json",
        "**/*.jsx",
        "**/*.kts",
        "**/*.md",
        "**/*.mjs",
        "**/*.mts",
        "**/*.properties",
        "**/*.php",
        "**/*.py",
        "**/*.rake",
        "**/*.rb",
        "**/*.rs",
        "**/*.rst",
        "**/*.toml",
        "**/*.ts",
        "**/*.tsx",
        "**/*.txt",
        "**/*.xml",
        "**/CHANGELOG",
        "**/CHANGES",
        "**/CHANGES/**",
        "**/HISTORY",
        "**/NEWS",
        "**/VERSION",
        "**/changes/**",
        "**/newsfragments/**",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/broken-caller.md")),
    rules: RULES,
};

/// Finds callers that no longer fit what they call.
pub(crate) struct BrokenCaller;

impl Lens for BrokenCaller {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if facts::is_of_callers(&file.path.to_text()) { Need::WholeFile } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file, text: hunks, included: &included };
        code::is_touched(&packet) || members::is_touched(&packet)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        Inspection { drafts: Vec::new(), facts: facts::of_packet(packet) }
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let change = facts::Change::new(facts);
        let taken = left::taken(&change, lookups);
        let mut drafts = left::drafts(&change, lookups, &taken);
        drafts.extend(invented::drafts(&change, lookups));
        drafts.extend(members::drafts(&change, lookups));
        drafts.extend(public::drafts(&change, lookups, &taken));
        drafts
    }
}
