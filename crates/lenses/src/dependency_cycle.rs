//! Imports that close a cycle of files where there was none.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, everywhere, presets, text_rule};
use super::imports::{self, Change, reached};
use qa_contracts::v1::{
    FileClass, ImportForm, LensClass, PlacedImport, Scope, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const CLOSED: &str = "dependency-cycle/newly-closed";

/// Maximum number of files that are followed per change, on each side.
const MOST_FILES: usize = 400;

const OFF: ScopeStrengths = everywhere(Strength::Off);

static SPEC: LensSpec = LensSpec {
    id: "dependency-cycle",
    version: "4",
    class: LensClass::Architecture,
    title: "Imports that close a cycle",
    required_by_default: true,
    triggers: &[
        "**/*.cjs",
        "**/*.cts",
        "**/*.java",
        "**/*.js",
        "**/*.jsx",
        "**/*.mjs",
        "**/*.mts",
        "**/*.py",
        "**/*.ts",
        "**/*.tsx",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/dependency-cycle.md")),
    rules: &[text_rule(
        CLOSED,
        "Import closes an import cycle",
        Severity::Medium,
        presets(
            ScopeStrengths { product: Strength::Advise, ..OFF },
            ScopeStrengths { product: Strength::Block, ..OFF },
        ),
        "Move what both need to a file of its own, or hand it in where it is called.",
    )],
};

pub(crate) struct DependencyCycle;

impl Lens for DependencyCycle {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        Inspection { drafts: Vec::new(), facts: imports::added(packet) }
    }

    fn look_up(&self, facts: &[Fact], policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let change = Change::new(facts);
        let mut head = Graph::new(lookups, Side::Head);
        let mut base = Graph::new(lookups, Side::Base);
        let mut closing = closing(&change, &policy.scope_globs(), &mut head);
        // An edge that the base already has closes no cycle.
        lookups.expect_imports(Side::Base, &closing.iter().map(|each| each.path).collect::<Vec<_>>());
        let named = closing.iter().filter(|each| base.edges(each.path).contains(&each.next));
        let named: Vec<&str> = named.map(|each| each.path).collect();
        base.expect(named.into_iter());
        closing
            .retain(|each| !base.edges(each.path).contains(&each.next) || !base.holds(each.path, &each.next));
        // Files that were in a cycle before may be in another: the repository is built that way.
        let files: BTreeSet<&str> = closing.iter().flat_map(|each| [each.path, &each.next]).collect();
        let old = base.in_cycles(&files);
        closing.retain(|each| !old.contains(each.path) && !old.contains(&each.next));
        head.expect(closing.iter().map(|each| each.path));
        closing.retain(|each| head.holds(each.path, &each.next));
        let mut told: BTreeSet<BTreeSet<String>> = BTreeSet::new();
        let mut drafts = Vec::new();
        for Closing { path, import, next } in closing {
            let Some(way) = head.way(&next, path) else { continue };
            let Some(import) = imports::parsed(lookups, path, &import).filter(loads) else { continue };
            // The same files in another order are the same cycle. Another one that shares some of them is told too, or a
            // waiver of the one would hide it.
            if !told.insert(way.iter().cloned().collect()) {
                continue;
            }
            let summary = "an import closes a cycle of files that load each other";
            let mut cycle = vec![path.to_owned()];
            cycle.extend(way);
            let draft = change.on_name(CLOSED, Side::Head, path, &import.module, summary);
            drafts.extend(draft.map(|draft| draft.with("cycle", cycle.join(" → "))));
        }
        if head.is_cut || base.is_cut {
            lookups.stop_short();
        }
        drafts
    }
}

/// An added import with a way back, by what imports say.
struct Closing<'c> {
    path: &'c str,
    import: PlacedImport,
    next: String,
}

/// Returns the added imports that may close a cycle, judged by statements alone: most have no way back and need no
/// parse.
fn closing<'c>(change: &'c Change, scopes: &ScopeGlobs, head: &mut Graph<'_>) -> Vec<Closing<'c>> {
    let paths = change.added.keys().map(String::as_str);
    let paths: Vec<&str> = paths.filter(|path| is_product(change, scopes, path)).collect();
    head.lookups.expect_imports(Side::Head, &paths);
    let mut closing = Vec::new();
    for path in paths {
        let written = imports::written(head.lookups, path);
        let loading = written.iter().filter(|import| loads(import));
        for import in loading.filter(|import| change.is_added(path, import.module.line)) {
            for next in reached(head.lookups, Side::Head, path, import) {
                if next != path && head.written_way(&next, path).is_some() {
                    closing.push(Closing { path, import: import.clone(), next });
                }
            }
        }
    }
    closing
}

/// Returns whether an import loads its file as soon as the importing file is loaded.
fn loads(import: &PlacedImport) -> bool {
    import.is_firm() && !import.types_alone && import.form != ImportForm::Call
}

fn is_product(change: &Change, scopes: &ScopeGlobs, path: &str) -> bool {
    change.paths.get(path).is_some_and(|file| {
        let class = classify::class(file);
        class == FileClass::Source && scopes.scope(file, class) == Scope::Product
    })
}

/// Which files load which, as far as somebody asked.
struct Graph<'l> {
    lookups: &'l dyn Lookups,
    side: Side,
    files: BTreeMap<String, BTreeSet<String>>,
    /// The files whose imports were looked at closely.
    parsed: BTreeSet<String>,
    is_cut: bool,
}

impl<'l> Graph<'l> {
    fn new(lookups: &'l dyn Lookups, side: Side) -> Self {
        Self { lookups, side, files: BTreeMap::new(), parsed: BTreeSet::new(), is_cut: false }
    }

    /// The files that a file's imports name; none beyond the most files that are followed.
    fn edges(&mut self, path: &str) -> &BTreeSet<String> {
        if !self.files.contains_key(path) {
            let edges = if self.files.len() < MOST_FILES {
                let imports = self.lookups.imports(self.side, path).unwrap_or_default();
                self.reached(path, imports.iter().filter(|import| loads(import)))
            } else {
                self.is_cut = true;
                BTreeSet::new()
            };
            self.files.insert(path.to_owned(), edges);
        }
        &self.files[path]
    }

    /// Says that it will be looked at closely what files load.
    fn expect<'p>(&self, paths: impl Iterator<Item = &'p str>) {
        let paths: Vec<&str> = paths.filter(|path| !self.parsed.contains(*path)).collect();
        self.lookups.expect_outlines(self.side, &paths);
    }

    /// Returns whether a file loads another according to its parse, which replaces the edges read from statements: a
    /// compiler drops some of those.
    fn holds(&mut self, path: &str, next: &str) -> bool {
        if self.parsed.insert(path.to_owned()) {
            let outline = self.lookups.outline(self.side, path);
            let imports = outline.iter().flat_map(|outline| &outline.imports);
            let edges = self.reached(path, imports.filter(|import| loads(import)));
            self.files.insert(path.to_owned(), edges);
        }
        self.files[path].contains(next)
    }

    /// Which of some files are in cycles.
    fn in_cycles(&mut self, files: &BTreeSet<&str>) -> BTreeSet<String> {
        let ways: Vec<Vec<String>> = files.iter().filter_map(|file| self.written_way(file, file)).collect();
        self.expect(ways.iter().flatten().map(String::as_str));
        let candidates: Vec<String> = ways.into_iter().filter_map(|way| way.into_iter().next()).collect();
        candidates.into_iter().filter(|file| self.way(file, file).is_some()).collect()
    }

    fn reached<'i>(
        &self,
        path: &str,
        imports: impl IntoIterator<Item = &'i PlacedImport>,
    ) -> BTreeSet<String> {
        // A package of Java that is imported as a whole is no file.
        let imports = imports.into_iter().filter(|import| !(import.star && path.ends_with(".java")));
        let each = imports.flat_map(|import| reached(self.lookups, self.side, path, import));
        each.filter(|reached| reached != path).collect()
    }

    /// The shortest way on which files load each other, both ends included, over at least one import.
    fn way(&mut self, from: &str, to: &str) -> Option<Vec<String>> {
        loop {
            let way = self.written_way(from, to)?;
            self.expect(way[..way.len() - 1].iter().map(String::as_str));
            // Each failure looks closely at one file, which is done once.
            let holds = way.windows(2).all(|pair| self.holds(&pair[0], &pair[1]));
            if holds {
                return Some(way);
            }
        }
    }

    /// As [`Self::way`], by what the imports say that were not looked at closely.
    fn written_way(&mut self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut came: BTreeMap<String, String> = BTreeMap::new();
        let mut pending = vec![from.to_owned()];
        while !pending.is_empty() {
            let unknown = pending.iter().filter(|file| !self.files.contains_key(*file));
            let left = MOST_FILES.saturating_sub(self.files.len());
            let unknown: Vec<&str> = unknown.take(left).map(String::as_str).collect();
            self.lookups.expect_imports(self.side, &unknown);
            for file in std::mem::take(&mut pending) {
                for next in self.edges(&file).clone() {
                    if next == to {
                        return Some(way_back(&came, from, [next, file]));
                    }
                    if next != from && !came.contains_key(&next) {
                        came.insert(next.clone(), file.clone());
                        pending.push(next);
                    }
                }
            }
        }
        None
    }
}

/// The way to the first of two files by what came before what.
fn way_back(came: &BTreeMap<String, String>, from: &str, [last, file]: [String; 2]) -> Vec<String> {
    let mut way = vec![last, file];
    while let Some(before) = came.get(&way[way.len() - 1]).filter(|_| way[way.len() - 1] != from) {
        way.push(before.clone());
    }
    way.reverse();
    way
}
