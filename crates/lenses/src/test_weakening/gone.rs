//! Removed tests: renamed, merged or split elsewhere in the change, retired with the code under test, or deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{TEST_RETIRED, names};
use crate::contract::{Draft, Fact};

/// Fact about one file that is judged together with those of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Found {
    /// A test went from a file that stays.
    Removed(Shape),
    Added(Shape),
    /// A test stays and is a table of cases from now on.
    Grown(Shape),
    /// A file of tests is deleted; the draft is about all of them.
    Deleted {
        path: String,
    },
    InDeleted(Shape),
    /// A source file about this is deleted.
    SourceDeleted {
        stem: String,
    },
    /// The manifest of a folder is deleted.
    PackageGone {
        folder: String,
    },
    /// A file of shipped code defines or calls by name no more.
    SymbolsGone {
        path: String,
        defined: BTreeSet<String>,
        keys: BTreeSet<String>,
    },
    SymbolsNew {
        names: BTreeSet<String>,
    },
    /// A test of a file runs only where one of some words is given.
    Needs {
        path: String,
        words: Vec<String>,
    },
    /// A file of Rust may declare fewer modules.
    Modules(crate::changes::Change),
}

/// A share of what only the removed test said that has to stand in the one that replaces it, in percent.
pub(super) const ENOUGH: usize = 60;
/// Fewer words than this tell nothing about a test.
pub(super) const TELLING: usize = 3;

/// The properties of one test, as the second half of the lens gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub(super) path: String,
    pub(super) name: String,
    /// Number of lines with a known assertion.
    pub(super) assertions: usize,
    /// Set where nothing in it can check anything.
    pub(super) hollow: bool,
    /// Set where its whole file is deleted.
    pub(super) file_gone: bool,
    /// Set where a runner that goes by names finds its file.
    pub(super) is_collected: bool,
    /// Set for a table of cases.
    pub(super) table: bool,
    /// Set where it is skipped.
    pub(super) skipped: bool,
    /// Set where no runner is known to collect it and nothing else switches it off.
    pub(super) hidden: bool,
    /// Set where another test of the same hunk is already taken for this one under its other name.
    pub(super) paired: bool,
    /// Digest of its body, without comments and docstrings; empty for a short one.
    pub(super) body: String,
    /// Every word of it.
    pub(super) words: BTreeSet<String>,
    /// The numbers and texts that are written out in it, with those beside it for a table of cases.
    pub(super) literals: BTreeSet<String>,
    /// The words that stand in no unchanged line of its file: what it alone is about.
    pub(super) own: BTreeSet<String>,
}

/// Returns the words of lines of code: names, numbers and what strings are made of.
pub(super) fn words<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    lines
        .flat_map(|line| line.split(|character: char| !character.is_alphanumeric() && character != '_'))
        .filter(|word| word.len() > 1)
        .collect()
}

/// Returns the numbers and texts that lines of code write out.
pub(super) fn literals<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in lines {
        let mut parts = line.split(['"', '\'', '`']);
        // Outside of a text, then inside of one.
        while let Some(code) = parts.next() {
            let numbers = code.split(|sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '.'));
            let numbers = numbers.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
            found.extend(numbers.map(|number| number.trim_end_matches('.').to_owned()));
            found.extend(parts.next().map(str::to_owned));
        }
    }
    found
}

/// A fact with the draft that it came with.
struct Noted {
    found: Found,
    draft: Option<Draft>,
}

/// Tests that went and were not found again, with the draft each becomes.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let noted =
        facts.iter().filter_map(|fact| Some(Noted { found: fact.read()?, draft: fact.draft.clone() }));
    let noted: Vec<Noted> = noted.collect();
    if !noted.iter().any(|noted| matches!(noted.found, Found::Removed(_) | Found::InDeleted(_))) {
        return Vec::new();
    }
    let mut change = Change::new(&noted);
    let mut drafts = Vec::new();
    let mut in_deleted: BTreeMap<&str, Vec<(&Noted, Fate)>> = BTreeMap::new();
    for own in &noted {
        if let Found::Removed(shape) = &own.found {
            drafts.extend(change.fate(&Removed::new(shape)).draft(own));
        }
    }
    for own in &noted {
        if let Found::InDeleted(shape) = &own.found {
            let fate = change.fate(&Removed::new(shape));
            in_deleted.entry(&shape.path).or_default().push((own, fate));
        }
    }
    for file in &noted {
        let Found::Deleted { path } = &file.found else { continue };
        if !change.sources_gone.contains(stem(path).as_str()) {
            let own = in_deleted.remove(path.as_str()).unwrap_or_default();
            drafts.extend(drafts_of_file(file, path, &own, &change));
        }
    }
    drafts
}

/// Makes one draft for a deleted file, or one for each of its tests where most come back.
fn drafts_of_file(file: &Noted, path: &str, own: &[(&Noted, Fate)], change: &Change<'_>) -> Vec<Draft> {
    let missing = own.iter().filter(|(_, fate)| *fate == Fate::Missing).count();
    let retired = own.iter().filter(|(_, fate)| *fate == Fate::Retired).count();
    if missing > 0 && change.rewrites(path, own.len()) {
        Vec::new()
    } else if missing > 0 && missing * 2 >= own.len() {
        file.draft.clone().into_iter().collect()
    } else if missing == 0 && retired * 2 >= own.len() {
        Fate::Retired.draft(file).into_iter().collect()
    } else {
        own.iter().filter_map(|(test, fate)| fate.draft(test)).collect()
    }
}

/// The fate of a test that is not where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stands elsewhere, under its name or another.
    Kept,
    /// The code under test is gone too.
    Retired,
    /// Nothing in the change explains it.
    Missing,
}

impl Fate {
    fn draft(self, of: &Noted) -> Option<Draft> {
        let draft = of.draft.clone()?;
        match self {
            Self::Kept => None,
            Self::Missing => Some(draft),
            Self::Retired => Some(Draft {
                rule: TEST_RETIRED.into(),
                summary: "a test is removed together with what it tests".to_owned(),
                ..draft
            }),
        }
    }
}

/// A test that went, with what is asked of it again for every name that went too.
struct Removed<'a> {
    shape: &'a Shape,
    name: BTreeSet<String>,
    roots: BTreeSet<String>,
    stem: String,
    about: BTreeSet<String>,
}

impl<'a> Removed<'a> {
    fn new(shape: &'a Shape) -> Self {
        let (name, stem) = (names::words_of_name(&shape.name), stem(&shape.path));
        let (roots, about) = (roots(&name), names::words_of_name(&stem));
        Self { shape, name, roots, stem, about }
    }
}

/// An added test that may replace removed ones.
struct Candidate<'a> {
    shape: &'a Shape,
    roots: BTreeSet<String>,
    /// Set where it is already the replacement of a removed test of its name or of a like name.
    is_taken: bool,
}

impl<'a> Candidate<'a> {
    fn new(shape: &'a Shape) -> Self {
        Self { roots: roots(&names::words_of_name(&shape.name)), shape, is_taken: false }
    }
}

/// A definition of shipped code that is nowhere any more.
struct Gone {
    /// The stems of the files it went from; none for a mere key.
    stems: BTreeSet<String>,
    parts: BTreeSet<String>,
}

/// The additions of the change, among which replacements are searched.
struct Change<'a> {
    added: Vec<Candidate<'a>>,
    /// Tests that stay and are tables of cases from now on.
    tables: Vec<Candidate<'a>>,
    gone: BTreeMap<&'a str, Gone>,
    /// Folders whose manifest is deleted: packages that are gone.
    packages_gone: Vec<String>,
    /// The subjects of deleted source files.
    sources_gone: BTreeSet<&'a str>,
}

impl<'a> Change<'a> {
    fn new(noted: &'a [Noted]) -> Self {
        let mut change = Self {
            added: Vec::new(),
            tables: Vec::new(),
            gone: BTreeMap::new(),
            packages_gone: Vec::new(),
            sources_gone: BTreeSet::new(),
        };
        let mut new: BTreeSet<&str> = BTreeSet::new();
        for Noted { found, .. } in noted {
            match found {
                Found::Added(shape) => change.added.push(Candidate::new(shape)),
                Found::Grown(shape) => change.tables.push(Candidate::new(shape)),
                Found::SourceDeleted { stem } => drop(change.sources_gone.insert(stem)),
                Found::PackageGone { folder } if !folder.is_empty() => {
                    change.packages_gone.push(format!("{folder}/"));
                }
                Found::SymbolsNew { names } => new.extend(names.iter().map(String::as_str)),
                Found::SymbolsGone { path, defined, keys } => {
                    change.note_gone(defined, Some(stem(path)));
                    change.note_gone(keys, None);
                }
                Found::Modules(_)
                | Found::Needs { .. }
                | Found::PackageGone { .. }
                | Found::Removed(_)
                | Found::InDeleted(_)
                | Found::Deleted { .. } => {}
            }
        }
        change.gone.retain(|name, _| !new.contains(name));
        change
    }

    fn note_gone(&mut self, names: &'a BTreeSet<String>, stem: Option<String>) {
        for name in names {
            let gone = self
                .gone
                .entry(name)
                .or_insert_with(|| Gone { stems: BTreeSet::new(), parts: names::words_of_name(name) });
            gone.stems.extend(stem.clone());
        }
    }

    /// Returns whether new tests in a file about the same thing are no fewer than those of a deleted file.
    fn rewrites(&self, deleted: &str, count: usize) -> bool {
        let about = names::words_of_name(&stem_as_written(deleted));
        let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
        let strict = self
            .added
            .iter()
            .map(|new| new.shape)
            .filter(|test| test.assertions > 0 && test.is_collected && !test.skipped && !test.paired);
        strict.for_each(|test| *by_file.entry(&test.path).or_insert(0) += 1);
        !about.is_empty()
            && by_file.iter().any(|(path, tests)| {
                *tests >= count && about.is_subset(&names::words_of_name(&stem_as_written(path)))
            })
    }

    /// The looks are in order of certainty.
    fn fate(&mut self, removed: &Removed<'_>) -> Fate {
        let test = removed.shape;
        let same_name = self
            .added
            .iter_mut()
            .find(|new| !new.is_taken && new.shape.name == test.name && new.shape.may_be(test));
        if let Some(new) = same_name {
            new.is_taken = true;
            return Fate::Kept;
        }
        let same_body = self.added.iter_mut().find(|new| {
            !new.is_taken && !test.body.is_empty() && new.shape.body == test.body && new.shape.may_be(test)
        });
        if let Some(new) = same_body {
            new.is_taken = true;
            return Fate::Kept;
        }
        let own: BTreeSet<&str> =
            test.own.iter().map(String::as_str).filter(|word| !self.gone.contains_key(word)).collect();
        if own.len() >= TELLING {
            let has_words = self.added.iter().any(|new| {
                new.shape.may_stand_for(test) && share(&own, &borrowed(&new.shape.words)) >= ENOUGH
            });
            if has_words {
                return Fate::Kept;
            }
        }
        if self.added.iter().chain(&self.tables).any(|new| has_case(test, new.shape)) {
            return Fate::Kept;
        }
        let like = self.added.iter_mut().find(|new| {
            // A table of cases takes the place of many tests.
            let is_free = new.shape.table || !new.is_taken && !new.shape.paired;
            is_free && new.shape.may_stand_for(test) && is_like(removed, new)
        });
        if let Some(new) = like {
            new.is_taken = true;
            return Fate::Kept;
        }
        let is_in_table = self.tables.iter().any(|table| {
            table.shape.path == test.path && table.shape.may_stand_for(test) && is_like(removed, table)
        });
        if is_in_table {
            return Fate::Kept;
        }
        let path = test.path.to_lowercase();
        let package_gone = self.packages_gone.iter().any(|folder| path.starts_with(folder));
        // A skipped test no longer protected anything.
        if test.skipped
            || package_gone
            || self.gone.iter().any(|(symbol, gone)| exercises(removed, symbol, gone))
        {
            return Fate::Retired;
        }
        Fate::Missing
    }
}

impl Shape {
    /// A test of the same name may check through calls; one that is empty or switched off is no longer the same.
    fn may_be(&self, removed: &Self) -> bool {
        (!self.hollow || removed.assertions == 0) && self.runs_as(removed)
    }

    /// Returns whether the test runs if the removed one did: it is neither skipped nor in a file that no runner
    /// collects.
    fn runs_as(&self, removed: &Self) -> bool {
        let is_alike = !self.skipped || removed.skipped || self.hidden && removed.hidden;
        is_alike && (self.is_collected || !removed.is_collected)
    }

    /// A test with far fewer checks replaces no other, and one that is switched off none that ran. Of a test that is split
    /// in two or three, each has a part.
    fn may_stand_for(&self, removed: &Self) -> bool {
        (self.table && self.assertions > 0 || self.assertions * 3 >= removed.assertions)
            && self.runs_as(removed)
    }
}

pub(super) fn borrowed(words: &BTreeSet<String>) -> BTreeSet<&str> {
    words.iter().map(String::as_str).collect()
}

/// Returns the percentage of words that are among others.
pub(super) fn share<W: Ord>(words: &BTreeSet<W>, among: &BTreeSet<W>) -> usize {
    words.intersection(among).count() * 100 / words.len().max(1)
}

/// Returns the beginnings of the words of a name, which stay when a word is bent.
fn roots(parts: &BTreeSet<String>) -> BTreeSet<String> {
    parts.iter().map(|part| part.chars().take(4).collect()).collect()
}

/// Returns whether the name of one test is that of the other and more, and their bodies have something in common: a
/// test that is split, merged or renamed.
fn is_like(removed: &Removed<'_>, new: &Candidate<'_>) -> bool {
    let (old, own) = (&removed.roots, &new.roots);
    let contains = old.len() > 1 && old.is_subset(own) || own.len() > 1 && own.is_subset(old);
    // A table in the same file is named for what all of its cases have in common.
    let is_table = new.shape.table && new.shape.path == removed.shape.path;
    let holds_it = is_table && !own.is_empty() && own.is_subset(old);
    if !(contains || holds_it) {
        return false;
    }
    // The bodies are compared last: hardly any two names are alike.
    let shared = share(&removed.shape.words, &new.shape.words);
    contains && shared * 2 >= ENOUGH || holds_it && shared >= ENOUGH
}

/// Returns whether a table of the same file has a removed test as a case: it calls the same, and writes out what the test
/// did.
fn has_case(removed: &Shape, table: &Shape) -> bool {
    const FEWEST: usize = 2;
    table.table
        && table.path == removed.path
        && table.may_stand_for(removed)
        && removed.literals.len() >= FEWEST
        && removed.literals.is_subset(&table.literals)
        && share(&removed.words, &table.words) >= ENOUGH
}

/// Returns whether a removed test is about a definition that is gone: it is named for it, or uses it and stands in
/// the file of tests for its source file, or uses it under a name that is hardly ever another's and as nothing that
/// stays does. A mere key, which no stem comes with, has to be rare or be all of the test's name.
fn exercises(removed: &Removed<'_>, symbol: &str, Gone { stems, parts }: &Gone) -> bool {
    let test = removed.shape;
    let is_named = !parts.is_empty() && (parts.is_subset(&removed.name) || parts.is_subset(&removed.about));
    let uses = test.words.contains(symbol);
    let stays_unused = test.file_gone || test.own.contains(symbol);
    if stems.is_empty() {
        return uses && stays_unused && (parts.len() > 1 || *parts == removed.name);
    }
    let is_rare = (parts.len() > 1 || symbol.len() > 7) && stays_unused;
    uses && (is_named || is_rare || stems.contains(&removed.stem)) || is_named && parts.len() > 1
}

/// Returns the name of a file without its ending, in its own case.
fn stem_as_written(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or("").to_owned()
}

/// `test_foo.py`, `foo_test.go`, `foo.spec.ts` and `FooTest.java` are about `foo`.
pub(super) fn stem(path: &str) -> String {
    let stem = stem_as_written(path).to_lowercase();
    let stem = stem.as_str();
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_tests", "_test", "_spec", "-test", "-spec", "tests", "test", "spec"];
    ends.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem).to_owned()
}
