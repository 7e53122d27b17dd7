//! Reads files of the trees of the merge base and head for lookups: masked texts, lists, searches for words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::lookup::Mentions;
use super::ports::{BlobRead, Cancellation, MAX_LISTED_FILES, Objects, PortError};
use super::workers;
use qa_contracts::ids::{BlobId, CommitId};
use qa_contracts::v1::{MentionKind, Side};
use qa_core::diff::lossy;
use qa_core::secrets;
use qa_lenses::mentions::{has_word, is_of};
use qa_reading::names::joins;

/// Size of the largest file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;
/// Size of the largest lockfile that is searched, in bytes: lockfiles list everything that a repository needs.
const MAX_LOCKFILE_BYTES: u64 = 16 << 20;
/// Cache budget in bytes; when exceeded, the whole cache is dropped.
const MAX_CACHED_BYTES: usize = 4 << 20;
/// Prefetch batch size, in files.
const PREFETCH_BATCH: usize = 64;
/// Files searched for words at most.
pub(super) const MAX_SEARCHED_FILES: usize = 20_000;
/// Bytes searched for words at most.
pub(super) const MAX_SEARCHED_BYTES: usize = 128 << 20;
/// Bytes read at most before they are counted.
pub(super) const SEARCH_BATCH_BYTES: u64 = 64 << 20;
/// Number of plain words up to which they are searched for one by one, which is faster for few.
const MAX_WORDS_ONE_BY_ONE: usize = 8;

/// The two trees.
pub struct Trees<'a> {
    pub objects: &'a dyn Objects,
    /// Commit that the change is measured from.
    pub base: &'a CommitId,
    /// Commit whose tree the change leads to.
    pub head: &'a CommitId,
    pub workers: u64,
    pub cancellation: &'a Cancellation,
}

/// Reads the two trees, with a cache.
pub(super) struct TreeReader<'a> {
    trees: Trees<'a>,
    cache: Mutex<Cache>,
}

/// An answer made of one file.
pub(super) struct ReadFile<T> {
    pub(super) path: String,
    /// None for a file that is not text or too large.
    pub(super) answer: Option<T>,
}

#[derive(Default)]
struct Cache {
    texts: TextCache,
    directories: BTreeMap<Side, BTreeMap<String, Arc<Directory>>>,
    lists: BTreeMap<Side, FileList>,
    /// Files of each list that a search covers.
    searched: BTreeMap<(Side, MentionKind), FileList>,
}

/// Files of a tree.
#[derive(Clone)]
struct FileList {
    files: Arc<[NamedBlob]>,
    is_complete: bool,
}

#[derive(Clone)]
struct NamedBlob {
    path: String,
    id: BlobId,
}

/// The regular files of a directory, sorted by name.
type Directory = Vec<(String, BlobId)>;

/// A masked text; `None` for a blob that is not text or too large.
type Text = Option<Arc<str>>;

/// Masked texts by blob: several questions about one file come one after the other.
#[derive(Default)]
struct TextCache {
    bytes: usize,
    texts: BTreeMap<BlobId, Text>,
}

impl TextCache {
    fn insert(&mut self, id: BlobId, text: Text) {
        if self.texts.contains_key(&id) {
            return;
        }
        let bytes = text.as_deref().map_or(0, str::len);
        self.bytes += bytes;
        if self.bytes > MAX_CACHED_BYTES {
            *self = Self { bytes, texts: BTreeMap::new() };
        }
        self.texts.insert(id, text);
    }
}

impl<'a> TreeReader<'a> {
    pub(super) fn new(trees: Trees<'a>) -> Self {
        Self { trees, cache: Mutex::default() }
    }

    pub(super) fn is_tracked(&self, side: Side, path: &str) -> Result<bool, PortError> {
        self.trees.objects.is_tracked_at(self.commit(side), path)
    }

    /// Returns the names of the regular files of a directory, sorted; none if there is no such directory.
    pub(super) fn files_in(&self, side: Side, directory: &str) -> Result<Vec<String>, PortError> {
        Ok(self.directory(side, directory)?.iter().map(|(name, _)| name.clone()).collect())
    }

    /// Calls `read` with the path and the masked text of a regular file. Returns `None` if it is not there, not text or
    /// too large.
    pub(super) fn read<T>(
        &self,
        side: Side,
        path: &str,
        read: impl FnOnce(&str, &str) -> T,
    ) -> Result<Option<T>, PortError> {
        self.trees.cancellation.check()?;
        let Some(id) = self.blob(side, path)? else { return Ok(None) };
        let text = self.text(&id)?;
        self.cache().texts.insert(id, text.clone());
        Ok(text.map(|text| read(path, &text)))
    }

    /// Reads several files on several threads. Files that are missing are left out, and all from the first batch on that
    /// has a file which cannot be read.
    pub(super) fn read_all<T: Send>(
        &self,
        side: Side,
        paths: &[&str],
        read: fn(&str, &str) -> T,
    ) -> Vec<ReadFile<T>> {
        if self.trees.workers < 2 {
            return Vec::new();
        }
        let mut blobs = Vec::with_capacity(paths.len());
        for path in paths {
            if let Ok(Some(id)) = self.blob(side, path) {
                blobs.push(NamedBlob { path: (*path).to_owned(), id });
            }
        }
        let mut files = Vec::with_capacity(blobs.len());
        for batch in blobs.chunks(PREFETCH_BATCH) {
            let texts = workers::each(batch.len(), self.trees.workers, |position| {
                self.trees.cancellation.check()?;
                let NamedBlob { path, id } = &batch[position];
                let text = self.text(id)?;
                let answer = text.as_deref().map(|text| read(path, text));
                Ok((text, answer))
            });
            let Ok(texts) = texts else { break };
            for (blob, (text, answer)) in batch.iter().zip(texts) {
                self.cache().texts.insert(blob.id.clone(), text);
                files.push(ReadFile { path: blob.path.clone(), answer });
            }
        }
        files
    }

    /// Searches the files of a kind for words, up to a bound of files and bytes.
    pub(super) fn search(
        &self,
        side: Side,
        kind: MentionKind,
        words: &[String],
    ) -> Result<Mentions, PortError> {
        let list = self.searched_files(side, kind)?;
        let words = WordSet::new(kind, words);
        let max_bytes = if kind == MentionKind::Lockfile { MAX_LOCKFILE_BYTES } else { MAX_FILE_BYTES };
        let batch_files = usize::try_from(SEARCH_BATCH_BYTES / max_bytes).unwrap_or(1);
        let mut found = Mentions {
            paths: Vec::new(),
            is_complete: list.is_complete && list.files.len() <= MAX_SEARCHED_FILES,
        };
        let mut bytes = 0;
        'search: for batch in list.files[..list.files.len().min(MAX_SEARCHED_FILES)].chunks(batch_files) {
            let searched = workers::map(
                batch.len(),
                self.trees.workers,
                || self.trees.objects.reader(),
                |reader, position| {
                    self.trees.cancellation.check()?;
                    Ok(match reader.blob(&batch[position].id, max_bytes)? {
                        BlobRead::Content(content) => Some(SearchedFile {
                            bytes: content.len(),
                            has_word: words.are_in(&lossy(&content)),
                        }),
                        BlobRead::TooLarge { .. } => None,
                    })
                },
            )?;
            for (blob, searched) in batch.iter().zip(searched) {
                if bytes > MAX_SEARCHED_BYTES {
                    found.is_complete = false;
                    break 'search;
                }
                let Some(searched) = searched else {
                    found.is_complete = false;
                    continue;
                };
                bytes += searched.bytes;
                if searched.has_word {
                    found.paths.push(blob.path.clone());
                }
            }
        }
        found.paths.sort();
        Ok(found)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&self, side: Side) -> &CommitId {
        match side {
            Side::Base => self.trees.base,
            Side::Head => self.trees.head,
        }
    }

    /// Returns the blob of a regular file.
    fn blob(&self, side: Side, path: &str) -> Result<Option<BlobId>, PortError> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let files = self.directory(side, directory)?;
        let found = files.get(files.partition_point(|(each, _)| each.as_str() < name));
        Ok(found.filter(|(each, _)| each == name).map(|(_, id)| id.clone()))
    }

    /// Returns the files of a directory, which are read once: files of one directory are asked for one after the other.
    fn directory(&self, side: Side, directory: &str) -> Result<Arc<Directory>, PortError> {
        let read = self.cache().directories.get(&side).and_then(|read| read.get(directory)).cloned();
        if let Some(files) = read {
            return Ok(files);
        }
        let mut files: Directory = self.trees.objects.files_in(self.commit(side), directory)?;
        files.sort_by(|(left, _), (right, _)| left.cmp(right));
        let files = Arc::new(files);
        let mut cache = self.cache();
        cache.directories.entry(side).or_default().insert(directory.to_owned(), Arc::clone(&files));
        Ok(files)
    }

    fn text(&self, id: &BlobId) -> Result<Text, PortError> {
        if let Some(text) = self.cache().texts.texts.get(id) {
            return Ok(text.clone());
        }
        Ok(match self.trees.objects.reader()?.blob(id, MAX_FILE_BYTES)? {
            BlobRead::Content(bytes) => {
                String::from_utf8(bytes).ok().map(|text| secrets::masked(text).into())
            }
            BlobRead::TooLarge { .. } => None,
        })
    }

    /// Lists the files that a search of a kind covers.
    fn searched_files(&self, side: Side, kind: MentionKind) -> Result<FileList, PortError> {
        let mut cache = self.cache();
        if let Some(list) = cache.searched.get(&(side, kind)) {
            return Ok(list.clone());
        }
        let all = match cache.lists.get(&side) {
            Some(list) => list.clone(),
            None => {
                let list = self.list(side)?;
                cache.lists.insert(side, list.clone());
                list
            }
        };
        let searched = FileList {
            files: all.files.iter().filter(|blob| is_of(kind, &blob.path)).cloned().collect(),
            is_complete: all.is_complete,
        };
        cache.searched.insert((side, kind), searched.clone());
        Ok(searched)
    }

    fn list(&self, side: Side) -> Result<FileList, PortError> {
        let mut files = Vec::new();
        let mut count = 0;
        self.trees.objects.files_at(self.commit(side), &mut |path, id| {
            count += 1;
            if let Ok(path) = std::str::from_utf8(path.as_bytes()) {
                files.push(NamedBlob { path: path.to_owned(), id });
            }
        })?;
        Ok(FileList { files: files.into(), is_complete: count < MAX_LISTED_FILES })
    }
}

struct SearchedFile {
    bytes: usize,
    has_word: bool,
}

/// Words that are searched for together: plain ones by the words of a text, so that many cost as much as one.
struct WordSet<'w> {
    plain: BTreeSet<&'w str>,
    other: Vec<&'w str>,
    kind: MentionKind,
}

impl<'w> WordSet<'w> {
    fn new(kind: MentionKind, words: &'w [String]) -> Self {
        let (plain, other): (Vec<&str>, Vec<&str>) =
            words.iter().map(String::as_str).partition(|word| word.chars().all(joins));
        if plain.len() > MAX_WORDS_ONE_BY_ONE {
            Self { plain: plain.into_iter().collect(), other, kind }
        } else {
            Self { plain: BTreeSet::new(), other: words.iter().map(String::as_str).collect(), kind }
        }
    }

    /// Returns whether a text has one of the words.
    fn are_in(&self, text: &str) -> bool {
        self.other.iter().any(|word| has_word(self.kind, text, word))
            || !self.plain.is_empty()
                && text.split(|character| !joins(character)).any(|word| self.plain.contains(word))
    }
}
