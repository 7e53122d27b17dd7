//! Answers what lenses ask about the trees of the merge base and head, from git objects or from a record.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ports::{BlobRead, Cancellation, MAX_LISTED_FILES, Objects, PortError};
use super::workers;
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, CommitId};
use qa_contracts::v1::{
    MentionKind, ModuleOutline, PlacedImport, RecordedDirectory, RecordedImports, RecordedLookups,
    RecordedMentions, RecordedModule, RecordedPath, Side,
};
use qa_core::diff::lossy;
use qa_core::secrets;
use qa_lenses::contract::Lookups;
use qa_lenses::mentions::{has_word, is_of, joins};
use qa_reading::outlines;

/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// So much text of files is kept for the next question; beyond it everything is forgotten.
const MAX_KEPT_BYTES: usize = 4 << 20;
/// How many files that will be asked about have their texts in memory at the same time.
const MOST_AT_ONCE: usize = 64;
/// Lockfiles list everything that a repository needs.
const MAX_LOCKFILE_BYTES: u64 = 16 << 20;
/// How many files, and how many bytes of them, are searched for words.
const MAX_SEARCHED_FILES: usize = 20_000;
const MAX_SEARCHED_BYTES: usize = 128 << 20;
/// So many bytes of them at the most are read before they are counted.
const MOST_SEARCHED_AT_ONCE: u64 = 64 << 20;
/// More plain words than these are looked for together.
const MOST_ONE_BY_ONE: usize = 8;

/// Answers lenses, and says afterwards what it was asked.
pub trait Answering {
    /// What lenses ask.
    fn lookups(&self) -> &dyn Lookups;

    /// Everything that was asked and answered; an error if something could not be answered.
    fn recorded(&self) -> Result<RecordedLookups, PortError>;

    /// Whether an answer is incomplete, or a lens asked for less than it would have had to.
    fn is_limited(&self) -> bool;
}

/// The trees that are asked about.
pub struct Trees<'a> {
    pub objects: &'a dyn Objects,
    pub merge_base: &'a CommitId,
    pub head: &'a CommitId,
    pub workers: u64,
    pub cancellation: &'a Cancellation,
}

enum Source<'a> {
    Trees(Trees<'a>),
    Record(&'a RecordedLookups),
}

type Place = (Side, String);
type Words = (Side, MentionKind, Vec<String>);
/// Paths and blobs of a tree.
type Files = Arc<[(String, BlobId)]>;

/// What was asked so far, each question answered once.
#[derive(Default)]
struct Said {
    paths: BTreeMap<Place, bool>,
    directories: BTreeMap<Place, Vec<String>>,
    modules: BTreeMap<Place, Option<Arc<ModuleOutline>>>,
    imports: BTreeMap<Place, Option<Arc<[PlacedImport]>>>,
    mentions: BTreeMap<Words, RecordedMentions>,
    /// Not said to anybody: the files of a tree, and whether they are all.
    listed: BTreeMap<Side, (Vec<(String, BlobId)>, bool)>,
    /// Those of them that words of a kind are looked for in.
    searched: BTreeMap<(Side, MentionKind), Files>,
    /// Nor these.
    texts: Texts,
    ahead: Ahead,
    /// What could not be answered, by what was asked.
    faults: BTreeMap<(&'static str, Place), PortError>,
    limited: bool,
}

/// Answers, and keeps them.
pub struct Asked<'a> {
    source: Source<'a>,
    said: Mutex<Said>,
}

impl<'a> Asked<'a> {
    /// Answers from git objects.
    pub fn of_trees(trees: Trees<'a>) -> Self {
        Self { source: Source::Trees(trees), said: Mutex::default() }
    }

    /// Answers from a record.
    pub fn of_record(record: &'a RecordedLookups) -> Self {
        Self { source: Source::Record(record), said: Mutex::default() }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. One that cannot be answered says the least and keeps no other from being asked: lenses ask at
    /// the same time, and which fault is told in the end is not to hang on who came first.
    fn answer<T: Default>(
        &self,
        what: &'static str,
        place: &Place,
        answer: impl FnOnce() -> Result<T, PortError>,
    ) -> T {
        answer().unwrap_or_else(|error| {
            self.said().faults.insert((what, place.clone()), error);
            T::default()
        })
    }
}

fn unrecorded(what: &str) -> PortError {
    let code = Code::RecordingMissing;
    PortError { code, message: format!("the record does not say {what}"), hint: code.hint() }
}

impl Answering for Asked<'_> {
    fn lookups(&self) -> &dyn Lookups {
        self
    }

    fn recorded(&self) -> Result<RecordedLookups, PortError> {
        let said = self.said();
        if let Some(fault) = said.faults.values().next() {
            return Err(fault.clone());
        }
        let path = |((side, path), present): (&Place, &bool)| RecordedPath {
            side: *side,
            path: path.clone(),
            present: *present,
        };
        let directory = |((side, path), files): (&Place, &Vec<String>)| RecordedDirectory {
            side: *side,
            path: path.clone(),
            files: files.clone(),
        };
        let module = |((side, path), outline): (&Place, &Option<Arc<ModuleOutline>>)| RecordedModule {
            side: *side,
            path: path.clone(),
            outline: outline.as_deref().cloned(),
        };
        let imports = |((side, path), imports): (&Place, &Option<Arc<[PlacedImport]>>)| RecordedImports {
            side: *side,
            path: path.clone(),
            imports: imports.as_deref().map(<[PlacedImport]>::to_vec),
        };
        Ok(RecordedLookups {
            schema_version: Default::default(),
            paths: said.paths.iter().map(path).collect(),
            directories: said.directories.iter().map(directory).collect(),
            modules: said.modules.iter().map(module).collect(),
            imports: said.imports.iter().map(imports).collect(),
            mentions: said.mentions.values().cloned().collect(),
        })
    }

    fn is_limited(&self) -> bool {
        let said = self.said();
        said.limited || said.mentions.values().any(|found| !found.complete)
    }
}

impl Lookups for Asked<'_> {
    fn is_present(&self, side: Side, path: &str) -> bool {
        let place = (side, path.to_owned());
        if let Some(known) = self.said().paths.get(&place) {
            return *known;
        }
        let answer = self.answer("path", &place, || match &self.source {
            Source::Trees(trees) => trees.objects.is_tracked_at(trees.commit(side), path),
            Source::Record(record) => record
                .paths
                .iter()
                .find(|each| each.side == side && each.path == path)
                .map(|each| each.present)
                .ok_or_else(|| unrecorded("what stands at a path")),
        });
        self.said().paths.insert(place, answer);
        answer
    }

    fn files_in(&self, side: Side, directory: &str) -> Vec<String> {
        let place = (side, directory.to_owned());
        if let Some(known) = self.said().directories.get(&place) {
            return known.clone();
        }
        let answer = self.answer("directory", &place, || match &self.source {
            Source::Trees(trees) => {
                let files = trees.objects.files_in(trees.commit(side), directory)?;
                let mut names: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
                names.sort();
                Ok(names)
            }
            Source::Record(record) => record
                .directories
                .iter()
                .find(|each| each.side == side && each.path == directory)
                .map(|each| each.files.clone())
                .ok_or_else(|| unrecorded("which files a directory has")),
        });
        self.said().directories.insert(place, answer.clone());
        answer
    }

    fn outline(&self, side: Side, path: &str) -> Option<Arc<ModuleOutline>> {
        let place = (side, path.to_owned());
        let mut said = self.said();
        if let Some(known) = said.modules.get(&place) {
            return known.clone();
        }
        if let Some(ahead) = said.ahead.outlines.remove(&place) {
            let answer: Option<Arc<ModuleOutline>> = ahead.map(Arc::new);
            said.modules.insert(place, answer.clone());
            return answer;
        }
        drop(said);
        let answer = self.answer("outline", &place, || match &self.source {
            Source::Trees(trees) => self.read(trees, side, path, outlines::outline),
            Source::Record(record) => record
                .modules
                .iter()
                .find(|each| each.side == side && each.path == path)
                .map(|each| each.outline.clone())
                .ok_or_else(|| unrecorded("what a file defines")),
        });
        let answer = answer.map(Arc::new);
        self.said().modules.insert(place, answer.clone());
        answer
    }

    fn imports(&self, side: Side, path: &str) -> Option<Arc<[PlacedImport]>> {
        let place = (side, path.to_owned());
        let mut said = self.said();
        if let Some(known) = said.imports.get(&place) {
            return known.clone();
        }
        if let Some(ahead) = said.ahead.imports.remove(&place) {
            let answer: Option<Arc<[PlacedImport]>> = ahead.map(Into::into);
            said.imports.insert(place, answer.clone());
            return answer;
        }
        drop(said);
        let answer = self.answer("imports", &place, || match &self.source {
            Source::Trees(trees) => self.read(trees, side, path, outlines::imports),
            Source::Record(record) => record
                .imports
                .iter()
                .find(|each| each.side == side && each.path == path)
                .map(|each| each.imports.clone())
                .ok_or_else(|| unrecorded("what a file imports")),
        });
        let answer: Option<Arc<[PlacedImport]>> = answer.map(Into::into);
        self.said().imports.insert(place, answer.clone());
        answer
    }

    fn mentions(&self, side: Side, kind: MentionKind, words: &[String]) -> RecordedMentions {
        let mut words = words.to_vec();
        words.sort();
        words.dedup();
        let asked = (side, kind, words.clone());
        if let Some(known) = self.said().mentions.get(&asked) {
            return known.clone();
        }
        let found = self.answer("mentions", &(side, format!("{kind:?} {words:?}")), || match &self.source {
            Source::Trees(trees) => self.search(trees, side, kind, &words).map(Some),
            Source::Record(record) => record
                .mentions
                .iter()
                .find(|each| each.side == side && each.kind == kind && each.words == words)
                .map(|each| Some((each.paths.clone(), each.complete)))
                .ok_or_else(|| unrecorded("which files have some words")),
        });
        let (paths, complete) = found.unwrap_or_default();
        let answer = RecordedMentions { side, kind, words, paths, complete };
        self.said().mentions.insert(asked, answer.clone());
        answer
    }

    fn stop_short(&self) {
        self.said().limited = true;
    }

    fn expect_outlines(&self, side: Side, paths: &[&str]) {
        let is_known = |said: &Said, place: &Place| {
            said.modules.contains_key(place) || said.ahead.outlines.contains_key(place)
        };
        let found = self.read_ahead(side, paths, is_known, outlines::outline);
        self.said().ahead.outlines.extend(found);
    }

    fn expect_imports(&self, side: Side, paths: &[&str]) {
        let is_known = |said: &Said, place: &Place| {
            said.imports.contains_key(place) || said.ahead.imports.contains_key(place)
        };
        let found = self.read_ahead(side, paths, is_known, outlines::imports);
        self.said().ahead.imports.extend(found);
    }
}

/// Answers to what lenses say they will ask. They are recorded when they are asked for and not before, so that what is
/// recorded does not hang on the number of workers.
#[derive(Default)]
struct Ahead {
    outlines: BTreeMap<Place, Option<ModuleOutline>>,
    imports: BTreeMap<Place, Option<Vec<PlacedImport>>>,
}

/// A masked text; null for what is no text or too large.
type Text = Option<Arc<str>>;

/// Masked texts of files: several questions about one file come one after the other.
#[derive(Default)]
struct Texts {
    bytes: usize,
    known: BTreeMap<BlobId, Text>,
}

impl Texts {
    fn keep(&mut self, id: BlobId, text: Text) {
        self.bytes += text.as_deref().map_or(0, str::len);
        if self.bytes > MAX_KEPT_BYTES {
            *self = Self { bytes: text.as_deref().map_or(0, str::len), known: BTreeMap::new() };
        }
        self.known.insert(id, text);
    }
}

impl Asked<'_> {
    /// What is made of a file's path and masked text; null when it is no regular file that could be read.
    fn read<T>(
        &self,
        trees: &Trees<'_>,
        side: Side,
        path: &str,
        made: impl FnOnce(&str, &str) -> T,
    ) -> Result<Option<T>, PortError> {
        trees.cancellation.check()?;
        let Some(id) = trees.file(side, path)? else { return Ok(None) };
        let known = self.said().texts.known.get(&id).cloned();
        let text = match known {
            Some(text) => text,
            None => {
                let text = trees.text(&id)?;
                self.said().texts.keep(id, text.clone());
                text
            }
        };
        Ok(text.map(|text| made(path, &text)))
    }

    /// As [`Self::read`], for several files at the same time; where one cannot be read there is nothing, and whoever asks
    /// for it is told why.
    fn read_ahead<T: Send>(
        &self,
        side: Side,
        paths: &[&str],
        is_known: fn(&Said, &Place) -> bool,
        made: fn(&str, &str) -> T,
    ) -> Vec<(Place, Option<T>)> {
        let Source::Trees(trees) = &self.source else { return Vec::new() };
        if trees.workers < 2 {
            return Vec::new();
        }
        let paths: BTreeSet<&str> = paths.iter().copied().collect();
        let is_unknown = |path: &&str| !is_known(&self.said(), &(side, (*path).to_owned()));
        let wanted: Vec<(&str, BlobId)> = paths
            .into_iter()
            .filter(is_unknown)
            .filter_map(|path| Some((path, trees.file(side, path).ok()??)))
            .collect();
        let mut answers = Vec::new();
        for wanted in wanted.chunks(MOST_AT_ONCE) {
            let known = |id| self.said().texts.known.get(id).cloned();
            let read = workers::each(wanted.len(), trees.workers, |position| {
                trees.cancellation.check()?;
                let (path, id) = &wanted[position];
                let text = known(id).map_or_else(|| trees.text(id), Ok)?;
                let answer = text.as_deref().map(|text| made(path, text));
                Ok((text, answer))
            });
            let Ok(read) = read else { break };
            let mut said = self.said();
            for ((path, id), (text, answer)) in wanted.iter().zip(read) {
                if !said.texts.known.contains_key(id) {
                    said.texts.keep(id.clone(), text);
                }
                answers.push(((side, (*path).to_owned()), answer));
            }
        }
        answers
    }

    /// The files that words of a kind are looked for in, and whether the tree has no others.
    fn searched(&self, trees: &Trees<'_>, side: Side, kind: MentionKind) -> Result<(Files, bool), PortError> {
        let mut said = self.said();
        let Said { listed, searched, .. } = &mut *said;
        if let Entry::Vacant(place) = listed.entry(side) {
            let (mut named, mut count) = (Vec::new(), 0);
            trees.objects.files_at(trees.commit(side), &mut |path, id| {
                count += 1;
                named.extend(std::str::from_utf8(path.as_bytes()).map(|path| (path.to_owned(), id)));
            })?;
            place.insert((named, count < MAX_LISTED_FILES));
        }
        let (listed, whole) = &listed[&side];
        let of_kind = || listed.iter().filter(|(path, _)| is_of(kind, path)).cloned().collect();
        Ok((Arc::clone(searched.entry((side, kind)).or_insert_with(of_kind)), *whole))
    }

    fn search(
        &self,
        trees: &Trees<'_>,
        side: Side,
        kind: MentionKind,
        words: &[String],
    ) -> Result<(Vec<String>, bool), PortError> {
        let (files, whole) = self.searched(trees, side, kind)?;
        let words = Wanted::new(kind, words);
        let most = if kind == MentionKind::Lockfile { MAX_LOCKFILE_BYTES } else { MAX_FILE_BYTES };
        let at_once = usize::try_from(MOST_SEARCHED_AT_ONCE / most).unwrap_or(1);
        let (mut paths, mut complete, mut bytes) =
            (Vec::new(), whole && files.len() <= MAX_SEARCHED_FILES, 0);
        'files: for files in files[..files.len().min(MAX_SEARCHED_FILES)].chunks(at_once) {
            // How long each is and whether it has one of the words; null for one that is too large.
            let read = workers::map(
                files.len(),
                trees.workers,
                || trees.objects.reader(),
                |reader, position| {
                    trees.cancellation.check()?;
                    Ok(match reader.blob(&files[position].1, most)? {
                        BlobRead::Content(content) => Some((content.len(), words.are_in(&lossy(&content)))),
                        BlobRead::TooLarge(_) => None,
                    })
                },
            )?;
            for ((path, _), read) in files.iter().zip(read) {
                if bytes > MAX_SEARCHED_BYTES {
                    complete = false;
                    break 'files;
                }
                complete &= read.is_some();
                let (length, has_word) = read.unwrap_or_default();
                bytes += length;
                if has_word {
                    paths.push(path.clone());
                }
            }
        }
        paths.sort();
        Ok((paths, complete))
    }
}

impl Trees<'_> {
    fn commit(&self, side: Side) -> &CommitId {
        match side {
            Side::Base => self.merge_base,
            Side::Head => self.head,
        }
    }

    /// The blob of a regular file.
    fn file(&self, side: Side, path: &str) -> Result<Option<BlobId>, PortError> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let files = self.objects.files_in(self.commit(side), directory)?;
        Ok(files.into_iter().find(|(each, _)| each == name).map(|(_, id)| id))
    }

    fn text(&self, id: &BlobId) -> Result<Text, PortError> {
        Ok(match self.objects.reader()?.blob(id, MAX_FILE_BYTES)? {
            BlobRead::Content(bytes) => {
                String::from_utf8(bytes).ok().map(|text| secrets::masked(text).into())
            }
            BlobRead::TooLarge(_) => None,
        })
    }
}

/// Words that are looked for together: plain ones by what the text is made of, so that many cost as much as one.
struct Wanted<'w> {
    plain: BTreeSet<&'w str>,
    other: Vec<&'w str>,
    kind: MentionKind,
}

impl<'w> Wanted<'w> {
    fn new(kind: MentionKind, words: &'w [String]) -> Self {
        let (plain, other): (Vec<&str>, Vec<&str>) =
            words.iter().map(String::as_str).partition(|word| word.chars().all(joins));
        // Few are found faster one by one.
        if plain.len() > MOST_ONE_BY_ONE {
            Self { plain: plain.into_iter().collect(), other, kind }
        } else {
            Self { plain: BTreeSet::new(), other: words.iter().map(String::as_str).collect(), kind }
        }
    }

    fn are_in(&self, text: &str) -> bool {
        let plain = || text.split(|character| !joins(character)).any(|word| self.plain.contains(word));
        self.other.iter().any(|word| has_word(self.kind, text, word)) || !self.plain.is_empty() && plain()
    }
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
