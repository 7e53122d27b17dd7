//! Modules of Rust with tests whose file stays while nothing declares it any more, so that no build has it.

use std::collections::BTreeSet;

use super::TEST_SKIPPED;
use super::gone::Found;
use crate::changes::Change;
use crate::contract::{Draft, Fact, Lookups};
use crate::imports::{Target, join, split, target};
use qa_contracts::v1::{ChangeKind, ImportForm, MentionKind, PlacedImport, Scope, Side};
use qa_core::packet::Packet;
use qa_reading::documents::{Document, Format, Node};
use qa_reading::syntax::Span;

const SUMMARY: &str = "tests of a module no longer run: its file stays, and nothing declares it";
/// Maximum number of files that are read for one module.
const MOST_FILES: usize = 50;

/// Returns a fact about a file whose change may take a declaration of a module away.
pub(super) fn inspect(packet: &Packet<'_>) -> Option<Fact> {
    const HIDING: &[&str] = &["/*", "*/", "cfg", "macro_rules", "mod "];
    let may_take = packet.file.kind != ChangeKind::Added
        && (packet.removed().any(|line| line.text.contains("mod ") || line.text.contains("*/"))
            || packet.added().any(|line| HIDING.iter().any(|word| line.text.contains(word))));
    may_take.then(|| Fact::new(&Found::Modules(Change::new(packet, Scope::ALL)), None))
}

/// Returns the drafts of declarations that went from a file while the modules stay.
pub(super) fn look_up(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for fact in facts {
        let Some(Found::Modules(change)) = fact.read() else { continue };
        let Some(base) = change.path(Side::Base) else { continue };
        let now = change.path(Side::Head).map(|head| declared(lookups, Side::Head, head)).unwrap_or_default();
        for module in declared(lookups, Side::Base, base) {
            let is_kept = now.iter().any(|other| other.module.name == module.module.name);
            let Target::File(file) = target(lookups, Side::Base, base, &module) else { continue };
            let is_lost = !is_kept
                && has_tests(lookups, &file)
                && !is_target(lookups, &file)
                && !is_declared_elsewhere(lookups, &file, &module.module.name);
            if is_lost {
                let line = line_of(lookups, base, &module);
                let draft = line
                    .and_then(|line| change.on_line(TEST_SKIPPED, Side::Base, Some(line), SUMMARY, lookups));
                let draft =
                    draft.unwrap_or_else(|| change.on_any_line(TEST_SKIPPED, Side::Head, SUMMARY, lookups));
                drafts.push(draft.with("module", file));
            }
        }
    }
    drafts
}

/// Returns the modules in files of their own that a file declares and that some build has.
fn declared(lookups: &dyn Lookups, side: Side, path: &str) -> Vec<PlacedImport> {
    let Some(outline) = lookups.outline(side, path) else { return Vec::new() };
    let text = lookups.text(side, path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let modules = outline.imports.iter().filter(|import| import.form == ImportForm::File && import.top_level);
    modules.filter(|module| !is_in_no_build(&lines, module)).cloned().collect()
}

/// Returns whether an attribute above a declaration leaves it out of every build with tests.
fn is_in_no_build(lines: &[&str], module: &PlacedImport) -> bool {
    const NEVER: &[&str] =
        &["cfg(any())", "cfg(false)", "cfg(not(all()))", "cfg(not(test))", "cfg(not(true))"];
    let above = lines.iter().take(module.module.line as usize).rev().enumerate();
    let attributes = above.take_while(|(at, line)| *at == 0 || line.trim_start().starts_with("#["));
    let text: String = attributes.flat_map(|(_, line)| line.split_whitespace()).collect();
    module.weak && NEVER.iter().any(|never| text.contains(never))
}

/// Returns the line of the base that declares a module.
fn line_of(lookups: &dyn Lookups, path: &str, module: &PlacedImport) -> Option<Span> {
    let text = lookups.text(Side::Base, path)?;
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if number == module.module.line {
            let lead = line.len() - line.trim_start().len();
            return Some(Span { start: start + lead, end: start + line.trim_end().len() });
        }
        start += line.len();
    }
    None
}

/// Returns whether a file of head, or a module below it, has a test.
fn has_tests(lookups: &dyn Lookups, file: &str) -> bool {
    let (mut pending, mut seen) = (vec![file.to_owned()], BTreeSet::new());
    while let Some(path) = pending.pop() {
        if seen.len() >= MOST_FILES {
            lookups.stop_short();
            return false;
        }
        let Some(text) = lookups.text(Side::Head, &path).filter(|_| seen.insert(path.clone())) else {
            continue;
        };
        if ["test]", "test(", "quickcheck", "proptest!"].iter().any(|word| text.contains(word)) {
            return true;
        }
        for module in declared(lookups, Side::Head, &path) {
            if let Target::File(below) = target(lookups, Side::Head, &path, &module) {
                pending.push(below);
            }
        }
    }
    false
}

/// Returns whether Cargo builds a file as a target of its own: it finds those in `tests`, and a manifest may name others.
fn is_target(lookups: &dyn Lookups, file: &str) -> bool {
    let (directory, name) = split(file);
    let folder = if name == "main.rs" { split(directory).0 } else { directory };
    let (package, kind) = split(folder);
    [package, folder, directory].into_iter().any(|place| {
        let Some(text) = lookups.text(Side::Head, &join(place, "Cargo.toml")) else { return false };
        // Cargo builds nothing by a manifest that it cannot read.
        let Ok(manifest) = Document::parse(Format::Toml, &text) else { return false };
        let finds = match kind {
            "benches" => "autobenches",
            "tests" => "autotests",
            _ => "",
        };
        let setting = manifest.root().get("package").and_then(|package| package.get(finds));
        let is_found = place == package
            && !finds.is_empty()
            && name != "mod.rs"
            && setting.and_then(Node::flag) != Some(false);
        is_found || names_target(&manifest, place, file)
    })
}

/// Returns whether a manifest in a directory names a file as that of a target.
fn names_target(manifest: &Document<'_>, directory: &str, file: &str) -> bool {
    const LISTS: &[&str] = &["bench", "bin", "example", "test"];
    let root = manifest.root();
    let listed = LISTS.iter().filter_map(|list| root.get(list)).flat_map(Node::items);
    let targets = listed.chain(root.get("lib"));
    let mut paths = targets.filter_map(|target| target.get("path")?.text());
    paths.any(|path| join(directory, path.trim_start_matches("./")) == file)
}

/// Returns whether another file declares a module, or includes its file by its path.
fn is_declared_elsewhere(lookups: &dyn Lookups, file: &str, name: &str) -> bool {
    let found = lookups.mentions(Side::Head, MentionKind::Rust, &[name.to_owned()]);
    if found.paths.len() > MOST_FILES || !found.complete {
        lookups.stop_short();
    }
    let own = format!("{}\"", split(file).1);
    found.paths.iter().filter(|path| *path != file).take(MOST_FILES).any(|path| {
        let by_path = lookups.text(Side::Head, path).is_some_and(|text| {
            text.lines().any(|line| {
                let line = line.trim_start();
                (line.starts_with("#[path") || line.contains("include!("))
                    && line.contains(&own)
                    && !line.starts_with("//")
            })
        });
        by_path
            || declared(lookups, Side::Head, path).iter().any(|module| {
                module.module.name == name
                    && target(lookups, Side::Head, path, module) == Target::File(file.to_owned())
            })
    })
}
