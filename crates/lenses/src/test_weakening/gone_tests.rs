//! Whether a test that went was renamed, merged or split elsewhere in the change, or went with what it tested.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{TEST_RETIRED, names};
use crate::contract::{Draft, Fact};

pub(super) const REMOVED: &str = "test removed";
pub(super) const ADDED: &str = "test added";
pub(super) const GROWN: &str = "test made a table";
pub(super) const DELETED: &str = "test file deleted";
pub(super) const PACKAGE_GONE: &str = "package gone";
pub(super) const DELETED_SOURCE: &str = "source file deleted";
pub(super) const IN_DELETED: &str = "test in deleted file";
pub(super) const SYMBOLS_GONE: &str = "definitions removed";
pub(super) const SYMBOLS_NEW: &str = "definitions added";

/// A share of what only the removed test said that has to stand in the one that replaces it, in percent.
pub(super) const ENOUGH: usize = 60;
/// Fewer words than this tell nothing about a test.
pub(super) const TELLING: usize = 3;

/// What is known of one test; written as the name of a fact, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) name: &'a str,
    /// Whether it checks something in words that are known.
    pub(super) asserts: bool,
    /// Whether nothing in it can check anything.
    pub(super) hollow: bool,
    /// Whether nothing of its file stays.
    pub(super) file_gone: bool,
    /// Whether it is a table of cases.
    pub(super) table: bool,
    /// Whether it is switched off.
    pub(super) skipped: bool,
    /// Whether another test of the same hunk is already taken to be this one under its other name.
    pub(super) paired: bool,
    /// Every word of it.
    pub(super) words: BTreeSet<&'a str>,
    /// The words that stand in no unchanged line of its file: what it alone is about.
    pub(super) own: BTreeSet<&'a str>,
}

impl<'a> Shape<'a> {
    pub(super) fn write(&self) -> String {
        let join = |words: &BTreeSet<&str>| words.iter().copied().collect::<Vec<_>>().join(" ");
        let flags = [self.asserts, self.skipped, self.table, self.file_gone, self.hollow, self.paired]
            .map(|flag| if flag { "1" } else { "0" })
            .concat();
        // A name can hold a line break no more than the line it was read from.
        [&self.path, self.name, &flags, &join(&self.words), &join(&self.own)].join("\n")
    }

    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split('\n');
        let (path, name, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let flag = |at: usize| flags.as_bytes().get(at) == Some(&b'1');
        let mut words = || Some(parts.next()?.split_whitespace().collect());
        Some(Self {
            path: path.into(),
            name,
            asserts: flag(0),
            skipped: flag(1),
            table: flag(2),
            file_gone: flag(3),
            hollow: flag(4),
            paired: flag(5),
            words: words()?,
            own: words()?,
        })
    }
}

/// The words of lines of code: names, numbers and what strings are made of.
pub(super) fn words<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    lines
        .flat_map(|line| line.split(|character: char| !character.is_alphanumeric() && character != '_'))
        .filter(|word| word.len() > 1)
        .collect()
}

/// Tests that went and were not found again, with the draft each becomes.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
    let shapes = |kind: &'static str| of(kind).filter_map(|fact| Some((fact, Shape::read(&fact.name)?)));
    let tests = |kind| shapes(kind).map(|(fact, shape)| (fact, Removed::new(shape))).collect();
    let (removed, in_deleted): (Vec<_>, Vec<_>) = (tests(REMOVED), tests(IN_DELETED));
    if removed.is_empty() && in_deleted.is_empty() {
        return Vec::new();
    }
    let mut change = Change::new(facts);
    let fates = |tests: &[(&Fact, Removed<'_>)], change: &mut Change<'_>| -> Vec<Fate> {
        tests.iter().map(|(_, test)| change.fate(test)).collect()
    };
    let (of_removed, of_deleted) = (fates(&removed, &mut change), fates(&in_deleted, &mut change));
    let mut drafts: Vec<Draft> =
        removed.iter().zip(&of_removed).filter_map(|((fact, _), fate)| fate.draft(fact)).collect();
    let gone_sources: BTreeSet<&str> = of(DELETED_SOURCE).map(|fact| fact.name.as_str()).collect();
    for file in of(DELETED).filter(|file| !gone_sources.contains(stem(&file.name).as_str())) {
        let own: Vec<(&Fact, &Fate)> = in_deleted
            .iter()
            .zip(&of_deleted)
            .filter(|((_, test), _)| test.shape.path == file.name)
            .map(|((fact, _), fate)| (*fact, fate))
            .collect();
        let missing = own.iter().filter(|(_, fate)| **fate == Fate::Missing).count();
        let retired = own.iter().filter(|(_, fate)| **fate == Fate::Retired).count();
        if missing > 0 && change.rewrites(&file.name, own.len()) {
            continue;
        }
        if missing > 0 && missing * 2 >= own.len() {
            drafts.extend(file.draft.clone());
        } else if missing == 0 && retired * 2 >= own.len() {
            drafts.extend(Fate::Retired.draft(file));
        } else {
            drafts.extend(own.iter().filter_map(|(fact, fate)| fate.draft(fact)));
        }
    }
    drafts
}

/// What became of a test that is not where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stands elsewhere, under its name or another.
    Kept,
    /// What it tested is gone too.
    Retired,
    /// Nothing in the change explains it.
    Missing,
}

impl Fate {
    fn draft(self, fact: &Fact) -> Option<Draft> {
        let draft = fact.draft.clone()?;
        match self {
            Self::Kept => None,
            Self::Missing => Some(draft),
            Self::Retired => Some(Draft {
                rule: TEST_RETIRED,
                summary: "a test is removed together with what it tests".to_owned(),
                ..draft
            }),
        }
    }
}

/// A test that went, with what is asked of it again for every name that went too.
struct Removed<'a> {
    shape: Shape<'a>,
    name: BTreeSet<String>,
    roots: BTreeSet<String>,
    stem: String,
    about: BTreeSet<String>,
}

impl<'a> Removed<'a> {
    fn new(shape: Shape<'a>) -> Self {
        let (name, stem) = (names::parts(shape.name), stem(&shape.path));
        let (roots, about) = (roots(&name), names::parts(&stem));
        Self { shape, name, roots, stem, about }
    }
}

/// A test that comes.
struct New<'a> {
    shape: Shape<'a>,
    roots: BTreeSet<String>,
    /// Whether it stands for a removed test of its name or of a like name already.
    is_taken: bool,
}

impl<'a> New<'a> {
    fn read(fact: &'a Fact) -> Option<Self> {
        let shape = Shape::read(&fact.name)?;
        Some(Self { roots: roots(&names::parts(shape.name)), shape, is_taken: false })
    }
}

/// A definition of shipped code that is nowhere any more.
struct Gone {
    /// The stems of the files it went from; none for a mere key.
    stems: BTreeSet<String>,
    parts: BTreeSet<String>,
}

/// What comes in the change, to look for what went.
struct Change<'a> {
    added: Vec<New<'a>>,
    /// Tests that stay and are tables of cases from now on.
    tables: Vec<New<'a>>,
    gone: BTreeMap<&'a str, Gone>,
    /// Folders whose manifest is deleted: packages that are gone.
    packages_gone: Vec<String>,
}

impl<'a> Change<'a> {
    fn new(facts: &'a [Fact]) -> Self {
        let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
        let new: BTreeSet<&str> = of(SYMBOLS_NEW).flat_map(|fact| fact.name.split(' ')).collect();
        let mut gone: BTreeMap<&str, Gone> = BTreeMap::new();
        for fact in of(SYMBOLS_GONE) {
            let mut parts = fact.name.split('\n');
            let (Some(path), Some(defined), Some(keys)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let definitions = defined.split_whitespace().map(|name| (name, Some(stem(path))));
            let keys = keys.split_whitespace().map(|name| (name, None));
            for (name, stem) in definitions.chain(keys).filter(|(name, _)| !new.contains(name)) {
                let unknown = || Gone { stems: BTreeSet::new(), parts: names::parts(name) };
                gone.entry(name).or_insert_with(unknown).stems.extend(stem);
            }
        }
        let packages = of(PACKAGE_GONE).filter(|fact| !fact.name.is_empty());
        let packages_gone = packages.map(|fact| format!("{}/", fact.name)).collect();
        let tests = |kind| of(kind).filter_map(New::read).collect();
        Self { added: tests(ADDED), tables: tests(GROWN), gone, packages_gone }
    }

    /// Whether new tests in a file about the same thing are no fewer than those of a deleted file.
    fn rewrites(&self, deleted: &str, count: usize) -> bool {
        let about = names::parts(&stem_as_written(deleted));
        let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
        let strict = self
            .added
            .iter()
            .map(|new| &new.shape)
            .filter(|test| test.asserts && !test.skipped && !test.paired);
        strict.for_each(|test| *by_file.entry(&test.path).or_insert(0) += 1);
        !about.is_empty()
            && by_file.iter().any(|(path, tests)| {
                *tests >= count && about.is_subset(&names::parts(&stem_as_written(path)))
            })
    }

    /// The looks are in order of certainty.
    fn fate(&mut self, removed: &Removed<'_>) -> Fate {
        let test = &removed.shape;
        let same_name =
            |new: &New<'_>| !new.is_taken && new.shape.name == test.name && new.shape.may_be(test);
        if let Some(found) = self.added.iter_mut().find(|new| same_name(new)) {
            found.is_taken = true;
            return Fate::Kept;
        }
        let own: BTreeSet<&str> =
            test.own.iter().copied().filter(|word| !self.gone.contains_key(word)).collect();
        if own.len() >= TELLING {
            let says_it = |new: &Shape<'_>| new.may_stand_for(test) && share(&own, &new.words) >= ENOUGH;
            if self.added.iter().any(|new| says_it(&new.shape)) {
                return Fate::Kept;
            }
        }
        // A table of cases takes the place of many tests.
        let is_free = |new: &New<'_>| new.shape.table || !new.is_taken && !new.shape.paired;
        let like = |new: &New<'_>| is_free(new) && new.shape.may_stand_for(test) && is_like(removed, new);
        if let Some(found) = self.added.iter_mut().find(|new| like(new)) {
            found.is_taken = true;
            return Fate::Kept;
        }
        let same_file = |table: &&New<'_>| table.shape.path == test.path && table.shape.may_stand_for(test);
        if self.tables.iter().filter(same_file).any(|table| is_like(removed, table)) {
            return Fate::Kept;
        }
        let path = test.path.to_lowercase();
        let package_gone = self.packages_gone.iter().any(|folder| path.starts_with(folder));
        // What was switched off protected nothing any more.
        if test.skipped
            || package_gone
            || self.gone.iter().any(|(symbol, gone)| exercises(removed, symbol, gone))
        {
            return Fate::Retired;
        }
        Fate::Missing
    }
}

impl Shape<'_> {
    /// A test of the same name may check through calls; one that is empty or switched off is no longer the same.
    fn may_be(&self, removed: &Self) -> bool {
        (!self.hollow || !removed.asserts) && (!self.skipped || removed.skipped)
    }

    /// A test without checks replaces none that checked something, and one that is switched off none that ran.
    fn may_stand_for(&self, removed: &Self) -> bool {
        (self.asserts || !removed.asserts) && (!self.skipped || removed.skipped)
    }
}

/// How many of a hundred words stand among others.
pub(super) fn share(words: &BTreeSet<&str>, among: &BTreeSet<&str>) -> usize {
    words.intersection(among).count() * 100 / words.len().max(1)
}

/// The beginnings of the words of a name, which stay when a word is bent.
fn roots(parts: &BTreeSet<String>) -> BTreeSet<String> {
    parts.iter().map(|part| part.chars().take(4).collect()).collect()
}

/// Whether the name of one test is that of the other and more, and their bodies have something in common: a test that
/// is split, merged or renamed.
fn is_like(removed: &Removed<'_>, new: &New<'_>) -> bool {
    let (old, own) = (&removed.roots, &new.roots);
    let contains = old.len() > 1 && old.is_subset(own) || own.len() > 1 && own.is_subset(old);
    contains && share(&removed.shape.words, &new.shape.words) * 2 >= ENOUGH
}

/// Whether a removed test is about a definition that is gone: it is named for it, or uses it and stands in the file of
/// tests for its source file, or uses it under a name that is hardly ever another's and as nothing that stays does.
/// A mere key, which no stem comes with, has to be rare or be all of the test's name.
fn exercises(removed: &Removed<'_>, symbol: &str, Gone { stems, parts }: &Gone) -> bool {
    let test = &removed.shape;
    let is_in = |name: &BTreeSet<String>| !parts.is_empty() && parts.is_subset(name);
    let is_named = is_in(&removed.name) || is_in(&removed.about);
    let uses = test.words.contains(symbol);
    let stays_unused = test.file_gone || test.own.contains(symbol);
    if stems.is_empty() {
        return uses && stays_unused && (parts.len() > 1 || *parts == removed.name);
    }
    let is_rare = (parts.len() > 1 || symbol.len() > 7) && stays_unused;
    uses && (is_named || is_rare || stems.contains(&removed.stem)) || is_named && parts.len() > 1
}

/// The name of a file without its ending, in its own case.
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
