//! Added uses of members that a module of the repository does not have.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::{Family, join, split};
use super::facts::Change;
use super::members::is_of_tests;
use super::place::{Place, followed, is_same_package, place};
use super::standard_members::lacks;
use super::types::{defined, has_other_meaning, is_missing};
use super::{MISSING_MEMBER, WRONG_ARGUMENTS};
use crate::mentions::has_word;
use qa_contracts::v1::{DefinitionKind, MentionKind, PlacedUse, Side};

/// Maximum number of files of the base that are asked whether it was like that before.
const MOST_ASKED: usize = 60;

pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (path, file) in &change.files {
        if file.is_cut {
            lookups.stop_short();
        }
        let Some(kind) = path.parse_family() else { continue };
        let mut seen = BTreeSet::new();
        for used in &file.uses {
            if kind == MentionKind::Python
                && let Some(module) = lacking_module(lookups, path, used)
            {
                let summary = "module of the standard library has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", module.to_owned())));
                continue;
            }
            let place = place(lookups, Side::Head, path, used)
                .filter(|place| place.file != *path && is_same_package(lookups, path, used, place));
            if let Some(place) = &place
                && is_judged(path)
                && is_wrong(lookups, kind, place, used)
            {
                let summary = "the function does not take these arguments";
                let draft = change.draft(WRONG_ARGUMENTS, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
            // `unresolved-import` reports imported names of these languages.
            let is_of_import = matches!(kind, MentionKind::Ecma | MentionKind::Python);
            // A function of the own package may be one that a command makes.
            let is_plain = kind == MentionKind::Go && used.module.is_none() && used.path.len() == 1;
            // Elsewhere objects may have members that no definition of their type shows, and a test gives them some.
            let is_checked = match kind {
                MentionKind::Go | MentionKind::Java => true,
                MentionKind::Php => used.called && !is_of_tests(path),
                MentionKind::C
                | MentionKind::CSharp
                | MentionKind::Configuration
                | MentionKind::Ecma
                | MentionKind::Lockfile
                | MentionKind::Python
                | MentionKind::Ruby
                | MentionKind::Rust => false,
            };
            let is_ours = (!used.imported || !is_of_import) && !is_plain;
            let place = place.filter(|place| is_ours && (place.owner.is_none() || is_checked));
            let place = place.and_then(|place| match &place.owner {
                Some(_) => followed(lookups, Side::Head, place),
                None => Some(place),
            });
            let Some(place) = place.filter(|place| seen.insert(place.clone())) else { continue };
            let is_member = kind == MentionKind::Php && place.owner.is_some();
            if is_missing(lookups, kind, &place)
                && !(is_member && checks_for_methods(lookups, path))
                && !was_used_before(lookups, path, &place)
            {
                let summary = "module has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
        }
    }
    drafts
}

/// Returns whether a file of PHP checks which methods exist, or another one gives a class a second name.
fn checks_for_methods(lookups: &dyn Lookups, path: &str) -> bool {
    const QUESTIONS: &[&str] = &["is_callable", "method_exists"];
    let aliased = lookups.mentions(Side::Head, MentionKind::Php, &["class_alias".to_owned()]);
    let text = lookups.text(Side::Head, path);
    !aliased.complete
        || !aliased.paths.is_empty()
        || text.is_none_or(|text| QUESTIONS.iter().any(|question| text.contains(question)))
}

/// Returns the module of Python's standard library in which a use looks for a member that no version of it has.
fn lacking_module<'u>(lookups: &dyn Lookups, path: &str, used: &'u PlacedUse) -> Option<&'u str> {
    /// Texts of files that may mean something else by the name of a module, or run where there is another library.
    const AMBIGUOUS: &[&str] = &[
        "circuitpython",
        "from board",
        "from machine",
        "import *",
        "import board",
        "import machine",
        "micropython",
    ];
    let (module, name) = standard(used)?;
    if !lacks(module, name) {
        return None;
    }
    let text = lookups.text(Side::Head, path)?;
    let stem = module.split('.').next().unwrap_or(module);
    let is_captured = text.lines().any(|line| {
        line.trim_start()
            .strip_prefix("case ")
            .is_some_and(|pattern| has_word(MentionKind::Python, pattern, stem))
    });
    if is_captured || AMBIGUOUS.iter().any(|word| text.contains(word)) || is_shadowed(lookups, path, stem) {
        return None;
    }
    // Code may give the module the member.
    let full = format!("{module}.{name}");
    let given = [
        format!("{full} ="),
        format!("\"{full}\""),
        format!("'{full}'"),
        format!("{module}, \"{name}\""),
        format!("{module}, '{name}'"),
    ];
    let given = lookups.mentions(Side::Head, MentionKind::Python, &given);
    let words = [name.clone()];
    let users = lookups.mentions(Side::Base, MentionKind::Python, std::slice::from_ref(&full));
    let was_used = users.paths.len() > MOST_ASKED
        || users.paths.iter().any(|user| {
            let uses = lookups.uses(Side::Base, user, &words);
            let mut uses = uses.iter().flat_map(|uses| uses.iter());
            uses.any(|before| standard(before) == Some((module, name)))
        });
    let is_read = given.complete && users.complete;
    (is_read && given.paths.is_empty() && !was_used).then_some(module)
}

/// Returns the module of a use with the name that it looks for there; `os.path` is one.
fn standard(used: &PlacedUse) -> Option<(&str, &String)> {
    let module = used.module.as_deref()?;
    match &used.path[..] {
        [first, name, ..] if module == "os" && first == "path" => Some(("os.path", name)),
        [name, ..] => Some((module, name)),
        [] => None,
    }
}

/// Returns whether a module of the repository may stand before one of the standard library.
fn is_shadowed(lookups: &dyn Lookups, path: &str, stem: &str) -> bool {
    let mut around = split(path).0;
    loop {
        let mut roots = ["", "lib", "src"].iter().map(|inside| join(around, inside));
        let is_own = roots.any(|root| {
            let root = root.trim_end_matches('/');
            let own = lookups.files_in(Side::Head, root).contains(&format!("{stem}.py"));
            own || !lookups.files_in(Side::Head, &join(root, stem)).is_empty()
        });
        if is_own || around.is_empty() {
            return is_own;
        }
        around = split(around).0;
    }
}

/// Returns whether calls in a file are held to the number of parameters. One of JavaScript may leave out any argument, and
/// definitions of a namespace would have to be searched for.
fn is_judged(path: &str) -> bool {
    [".cts", ".go", ".java", ".mts", ".py", ".pyi", ".rake", ".rb", ".rs", ".ts", ".tsx"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Returns whether a call surely passes other arguments than the only definition of its function takes.
fn is_wrong(lookups: &dyn Lookups, kind: MentionKind, place: &Place, used: &PlacedUse) -> bool {
    let Some(arguments) = used.arguments.as_ref().filter(|_| used.called) else { return false };
    let Some(place) = followed(lookups, Side::Head, place.clone()) else { return false };
    let Some(all) = defined(lookups, kind, &place) else { return false };
    let [only] = &all[..] else { return false };
    (!only.open || only.kind != DefinitionKind::Function)
        && only.signature.as_ref().is_some_and(|signature| !signature.accepts(arguments))
        && !has_other_meaning(lookups, kind, &place)
}

/// Returns whether the base used the name as well and did without a definition.
fn was_used_before(lookups: &dyn Lookups, path: &str, missing: &Place) -> bool {
    let Some(kind) = path.parse_family() else { return true };
    let words = [missing.name.clone()];
    let found = lookups.mentions(Side::Base, kind, &words);
    !found.complete
        || found.paths.len() > MOST_ASKED
        || found.paths.iter().any(|user| {
            let uses = lookups.uses(Side::Base, user, &words);
            let mut uses = uses.iter().flat_map(|uses| uses.iter());
            uses.any(|used| place(lookups, Side::Base, user, used).as_ref() == Some(missing))
                && lookups.surface(Side::Base, &missing.file).is_none_or(|surface| {
                    surface.definitions.iter().all(|each| each.name.name != missing.name)
                })
        })
}
