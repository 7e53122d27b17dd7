//! Imports that a change leaves behind: of names it removes and of files it deletes or moves.

use std::collections::{BTreeMap, BTreeSet};

use super::super::contract::{Draft, Lookups};
use super::super::imports::{
    Change, Family, Has, Target, are_too_many, has, is_found_by_search, join, may_be_written, split, target,
};
use super::LEFT_BEHIND;
use qa_contracts::v1::{MentionKind, PlacedImport, PlacedName, Side};

/// Maximum number of words looked for per language family; a change that takes away more is a reorganisation.
const MOST_WORDS: usize = 60;
/// Maximum number of files with such words that are read.
const MOST_IMPORTERS: usize = 400;
/// Maximum number of importers in a finding.
const MOST_NAMED: usize = 5;

/// Names and files that a change removes from one family of languages.
#[derive(Default)]
struct Taken {
    /// Names by path at the base, each where it stood.
    names: Vec<(String, PlacedName)>,
    files: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Words of which an import of a default export that is gone has one.
    defaults: BTreeSet<String>,
}

impl Taken {
    /// Returns whether an imported name may be one of those that are gone.
    fn has_word(&self, name: &PlacedName) -> bool {
        name.name == "default" || self.words.contains(&name.name)
    }
}

/// Remaining importers, as path and line, of removed names by index and of removed files by path.
#[derive(Default)]
struct Importers {
    names: BTreeMap<usize, BTreeSet<(String, u32)>>,
    files: BTreeMap<String, BTreeSet<(String, u32)>>,
}

impl Importers {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.files.is_empty()
    }

    fn extend(&mut self, other: Self) {
        for (at, found) in other.names {
            self.names.entry(at).or_default().extend(found);
        }
        for (file, found) in other.files {
            self.files.entry(file).or_default().extend(found);
        }
    }
}

pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (kind, taken) in taken(change, lookups) {
        if taken.words.len() > MOST_WORDS {
            lookups.stop_short();
            continue;
        }
        let words: Vec<String> = taken.words.iter().cloned().collect();
        let found = lookups.mentions(Side::Head, kind, &words);
        are_too_many(lookups, &found, MOST_IMPORTERS);
        let search = Search { change, lookups, taken: &taken };
        let mut importers = Importers::default();
        let defaults: Vec<String> = taken.defaults.iter().cloned().collect();
        let of_default = (!defaults.is_empty()).then(|| lookups.mentions(Side::Head, kind, &defaults));
        let mut having: Vec<&str> = found.paths.iter().take(MOST_IMPORTERS).map(String::as_str).collect();
        if let Some(found) = &of_default {
            are_too_many(lookups, found, MOST_IMPORTERS);
            having.extend(found.paths.iter().take(MOST_IMPORTERS).map(String::as_str));
        }
        having.sort_unstable();
        having.dedup();
        lookups.expect_imports(Side::Head, &having);
        for path in having {
            // The statements are checked first: they may only look like imports, but they spare most files a parse.
            if lookups
                .imports(Side::Head, path)
                .is_some_and(|imports| !search.found(path, &imports).is_empty())
                && let Some(outline) = lookups.outline(Side::Head, path)
            {
                importers.extend(search.found(path, &outline.imports));
            }
        }
        drafts.extend(stated(change, &taken, importers));
    }
    drafts
}

fn taken(change: &Change, lookups: &dyn Lookups) -> BTreeMap<MentionKind, Taken> {
    let mut all: BTreeMap<MentionKind, Taken> = BTreeMap::new();
    for file in &change.gone {
        let Some(kind) = file.parse_family() else { continue };
        let word = word_of(file);
        // A package of Go is its directory, which other files may still make one.
        let still = kind == MentionKind::Go
            && lookups.files_in(Side::Head, split(file).0).iter().any(|other| other.ends_with(".go"));
        if word.is_empty() || still {
            continue;
        }
        let taken = all.entry(kind).or_default();
        taken.files.insert(file.clone());
        taken.words.insert(word.to_owned());
    }
    let changed = change.removed.keys().filter(|path| !change.gone.contains(path));
    let changed: Vec<(&str, MentionKind)> =
        changed.filter_map(|path| Some((path.as_str(), path.parse_family()?))).collect();
    lookups.expect_outlines(Side::Base, &changed.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    let mut before = Vec::new();
    for (path, kind) in changed {
        let outline = lookups.outline(Side::Base, path);
        let removed =
            outline.filter(|before| before.names.iter().any(|name| change.is_removed(path, name.line)));
        before.extend(removed.map(|outline| (path, kind, outline)));
    }
    lookups.expect_outlines(Side::Head, &before.iter().map(|(path, ..)| *path).collect::<Vec<_>>());
    for (path, kind, before) in before {
        // Most of what a large rewrite removes it adds again.
        let after = lookups.outline(Side::Head, path);
        let mut seen: BTreeSet<&str> =
            after.iter().flat_map(|after| &after.names).map(|name| name.name.as_str()).collect();
        for name in before.names.iter().filter(|name| change.is_removed(path, name.line)) {
            let is_new = seen.insert(name.name.as_str());
            if all.get(&kind).is_some_and(|taken| taken.words.len() > MOST_WORDS) {
                break;
            }
            if is_new && has(lookups, Side::Head, path, &name.name) == Has::No {
                let taken = all.entry(kind).or_default();
                taken.names.push((path.to_owned(), name.clone()));
                // Whoever imports a default export calls it something else.
                if name.name == "default" {
                    taken.defaults.extend(words_of_default(path));
                } else {
                    taken.words.insert(name.name.clone());
                }
            }
        }
    }
    all
}

/// The word an import of a file has.
fn word_of(file: &str) -> &str {
    let (directory, name) = split(file);
    let stem = name.split('.').next().unwrap_or(name);
    let of_directory = matches!(stem, "__init__" | "index" | "mod") || name.ends_with(".go");
    if of_directory { split(directory).1 } else { stem }
}

/// The words of which an import of a file's default export has one: its name, or for the index of a directory a path of
/// dots.
fn words_of_default(file: &str) -> Vec<String> {
    let name = split(file).1.trim_start_matches('.');
    let stem = name.split('.').next().unwrap_or(name);
    if stem != "index" {
        return vec![stem.to_owned()];
    }
    let dots =
        [".", "./", "..", "../"].iter().flat_map(|path| ["'", "\""].map(|quote| format!("{path}{quote}")));
    let named = [word_of(file), "index"].into_iter().filter(|word| !word.is_empty()).map(str::to_owned);
    named.chain(dots).collect()
}

/// A search for imports of what a change takes away.
struct Search<'a> {
    change: &'a Change,
    lookups: &'a dyn Lookups,
    taken: &'a Taken,
}

impl Search<'_> {
    /// Returns what some imports of a file still import.
    fn found(&self, path: &str, imports: &[PlacedImport]) -> Importers {
        let mut importers = Importers::default();
        for import in imports.iter().filter(|import| !import.weak) {
            self.note(path, import, &mut importers);
        }
        importers
    }

    fn note(&self, path: &str, import: &PlacedImport, importers: &mut Importers) {
        let Self { change, lookups, taken } = *self;
        match target(lookups, Side::Head, path, import) {
            Target::Unsure => {}
            Target::Missing(missing) => {
                if change.is_added(path, import.module.line) || taken.files.is_empty() {
                    return;
                }
                if let Target::File(file) = target(lookups, Side::Base, path, import)
                    && let Some(gone) = gone(taken, &file)
                    // A file that was committed at the base is not generated, unless it lies where builds write at
                    // head.
                    && !may_be_written(lookups, &missing)
                    && !may_be_found(change, &gone)
                {
                    importers.files.entry(gone).or_default().insert((path.to_owned(), import.module.line));
                }
            }
            Target::File(file) => {
                for name in import.names.iter().filter(|name| !change.is_added(path, name.line)) {
                    if !taken.has_word(name) || has(lookups, Side::Head, &file, &name.name) != Has::No {
                        continue;
                    }
                    let Target::File(old) = target(lookups, Side::Base, path, import) else { continue };
                    if has(lookups, Side::Base, &old, &name.name) != Has::Yes {
                        continue;
                    }
                    let importer = (path.to_owned(), name.line);
                    if let Some(at) = definition(taken, &old, &name.name) {
                        importers.names.entry(at).or_default().insert(importer);
                    } else if let Some(gone) = submodule(taken, &old, &name.name) {
                        importers.files.entry(gone).or_default().insert(importer);
                    }
                }
            }
        }
    }
}

/// The file that is gone, if an import led to it; a Go import leads to all files of a directory.
fn gone(taken: &Taken, file: &str) -> Option<String> {
    let mut files = taken.files.iter();
    files.find(|gone| *gone == file || file.ends_with(".go") && split(gone).0 == split(file).0).cloned()
}

/// Returns whether a build that searches several directories may find a new file of the same name in place of one that
/// is gone.
fn may_be_found(change: &Change, gone: &str) -> bool {
    is_found_by_search(gone) && change.new.iter().any(|new| searched_name(new) == searched_name(gone))
}

/// Returns the part of a path by which a build finds the file: below the source root in Java.
fn searched_name(path: &str) -> &str {
    match path.rsplit_once("/java/") {
        Some((_, below)) if path.ends_with(".java") => below,
        Some(_) | None => split(path).1,
    }
}

/// The name that is gone: of the file itself, or the only one of that name.
fn definition(taken: &Taken, file: &str, name: &str) -> Option<usize> {
    let all = taken.names.iter().enumerate();
    let named: Vec<usize> = all.filter(|(_, (_, gone))| gone.name == name).map(|(at, _)| at).collect();
    match named.as_slice() {
        [only] => Some(*only),
        _ => named.into_iter().find(|at| taken.names[*at].0 == file),
    }
}

/// The module that is gone from a package.
fn submodule(taken: &Taken, file: &str, name: &str) -> Option<String> {
    let (directory, own) = split(file);
    let module = join(directory, name);
    let places = [format!("{module}.py"), format!("{module}/__init__.py")];
    places.into_iter().find(|place| own == "__init__.py" && taken.files.contains(place))
}

fn stated(change: &Change, taken: &Taken, importers: Importers) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (at, found) in importers.names {
        let (path, name) = &taken.names[at];
        let summary = "a name is removed that other files still import";
        let draft = change.on_name(LEFT_BEHIND, Side::Base, path, name, summary);
        drafts.extend(draft.map(|draft| named(draft, &found)));
    }
    for (file, found) in importers.files {
        let Some(path) = change.paths.get(&file) else { continue };
        let summary = "a file is deleted or moved that other files still import";
        drafts.push(named(Draft::on_file(LEFT_BEHIND, path, Side::Base, summary), &found));
    }
    drafts
}

fn named(draft: Draft, importers: &BTreeSet<(String, u32)>) -> Draft {
    let shown: Vec<String> =
        importers.iter().take(MOST_NAMED).map(|(path, line)| format!("{path}:{line}")).collect();
    draft.with("importedBy", shown).with("importers", importers.len())
}
