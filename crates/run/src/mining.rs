//! Reads a commit and its history for conventions: every source file once, every version of the replayed changes once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::ports::{BlobRead, Cancellation, ObjectReader, Objects, PortError, Progress, TreeEntry};
use super::workers;
use qa_contracts::ids::{BlobId, CommitId, RepoPath};
use qa_contracts::v1::{Convention, Scope};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::secrets;
use qa_lenses::consistency::collect;
use qa_lenses::consistency::mine::{self, Mined, SightedFile};
use qa_lenses::consistency::replay::{self, Effect, Judged, MergedChange, Needed, Reader};
use qa_lenses::consistency::sighting::{self, Sighting};

/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Number of files that are read at most, the first by path.
const MAX_FILES: usize = 40_000;
/// Number of tree entries that one merged change may touch.
const MAX_CHANGED_ENTRIES: u64 = 2_000_000;
/// Number of files above which a change counts as a move or import of whole trees, which is counted and not read.
const MAX_CHANGED_FILES: usize = 2_000;
/// Length limit of a quote, in characters.
const MAX_QUOTE: usize = 160;

/// File with the part of the repository that it belongs to.
type FileVersion = (RepoPath, BlobId, Scope);
/// A file at a commit.
type Version = (RepoPath, BlobId);

/// Commit and history that conventions are mined from.
pub struct Mining<'a> {
    pub objects: &'a dyn Objects,
    pub commit: &'a CommitId,
    /// Merged changes with the commits they were merged into, newest first.
    pub history: &'a [(CommitId, CommitId)],
    pub scopes: &'a ScopeGlobs,
    pub workers: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

/// Result of mining.
pub struct MiningReport {
    pub mined: Mined,
    pub files_read: u64,
    pub files_left_out: u64,
    pub changes: u64,
}

impl Mining<'_> {
    /// Mines conventions, and tests each on merged changes that the conventions of an earlier commit did not know.
    pub fn mine(&self) -> Result<MiningReport, PortError> {
        let (files, found) = self.files(self.commit)?;
        let sighted: Vec<SightedFile> = self.sighted(&files)?.into_iter().flatten().collect();
        let files_read = sighted.len() as u64;
        let mut mined = mine::mine(sighted.iter());
        let changes = self.changes()?;
        let blobs: BTreeMap<&RepoPath, &BlobId> = files.iter().map(|(path, blob, _)| (path, blob)).collect();
        mined.conventions.extend(replay::co_changes(&changes, &|path| self.find_blob(&blobs, path)));
        self.back_test(&mut mined.conventions, &changes, &sighted)?;
        drop(sighted);
        self.quote(&mut mined.conventions)?;
        mined.conventions.iter_mut().for_each(mine::propose);
        let files_left_out = found as u64 - files_read;
        Ok(MiningReport { mined, files_read, files_left_out, changes: changes.len() as u64 })
    }

    /// Counts the places that could keep or break each convention in the commit, and those that break it.
    pub fn recount(&self, conventions: &[Convention]) -> Result<Vec<(u64, u64)>, PortError> {
        let (files, _) = self.files(self.commit)?;
        let reader = Reader::new(conventions);
        let mut sums = vec![(0, 0); conventions.len()];
        for file in self.sighted(&files)?.into_iter().flatten() {
            let Ok(path) = RepoPath::from_bytes(file.path.as_bytes()) else { continue };
            let sightings = file.sightings.iter().map(|(sighting, _)| sighting);
            for (sum, (support, exceptions)) in
                sums.iter_mut().zip(reader.counts(&path, file.part, sightings))
            {
                *sum = (sum.0 + support, sum.1 + exceptions);
            }
        }
        Ok(sums)
    }

    /// Returns the files of a commit that conventions apply to, the first by path, and their total number.
    fn files(&self, commit: &CommitId) -> Result<(Vec<FileVersion>, usize), PortError> {
        let mut files: Vec<FileVersion> = Vec::new();
        self.objects.files_at(commit, &mut |path, blob| {
            files.extend(self.part(&path).map(|part| (path, blob, part)));
        })?;
        files.sort();
        let found = files.len();
        files.truncate(MAX_FILES);
        Ok((files, found))
    }

    /// Returns the blob of a path in the commit.
    fn find_blob(&self, known: &BTreeMap<&RepoPath, &BlobId>, path: &RepoPath) -> Option<BlobId> {
        match known.get(path) {
            Some(blob) => Some((*blob).clone()),
            None => self.objects.file_at(self.commit, std::str::from_utf8(path.as_bytes()).ok()?).ok()?,
        }
    }

    fn part(&self, path: &RepoPath) -> Option<Scope> {
        let scope = self.scopes.scope(path, classify::class(path));
        sighting::keeps_conventions(path, scope).then_some(scope)
    }

    fn sighted(&self, files: &[FileVersion]) -> Result<Vec<Option<SightedFile>>, PortError> {
        let done = AtomicUsize::new(0);
        workers::map(
            files.len(),
            self.workers,
            || self.objects.reader(),
            |reader, position| {
                self.cancellation.check()?;
                let (path, blob, part) = &files[position];
                self.progress.step("reading", done.fetch_add(1, Ordering::Relaxed) + 1, files.len());
                let Some(text) = text_of(reader.as_ref(), blob)? else { return Ok(None) };
                let path = path.to_text().into_owned();
                let sightings = with_lines(collect::in_file(&path, *part, &text), &text);
                Ok(Some(SightedFile { path, blob: blob.clone(), part: *part, sightings }))
            },
        )
    }

    fn changes(&self) -> Result<Vec<MergedChange>, PortError> {
        let mut changes = Vec::with_capacity(self.history.len());
        for (commit, onto) in self.history {
            self.cancellation.check()?;
            let entries = self.objects.compare(onto, commit, MAX_CHANGED_ENTRIES)?;
            // Moves and imports of whole trees are counted and not read.
            let is_read = entries.len() <= MAX_CHANGED_FILES;
            let entries = if is_read { entries } else { Vec::new() };
            let files = entries
                .into_iter()
                .map(|change| (change.path, regular_file(change.old), regular_file(change.new)));
            changes.push(MergedChange { commit: commit.clone(), files: files.collect() });
        }
        Ok(changes)
    }

    /// Tests conventions on the merged changes, beside those of the commit before all of them.
    fn back_test(
        &self,
        conventions: &mut [Convention],
        changes: &[MergedChange],
        sighted: &[SightedFile],
    ) -> Result<(), PortError> {
        let Some((_, since)) = self.history.last() else { return Ok(()) };
        let known: BTreeMap<(&str, &BlobId), &SightedFile> =
            sighted.iter().map(|file| ((file.path.as_str(), &file.blob), file)).collect();
        // Files that both commits have are not read again.
        let (mut shared, mut unread) = (Vec::new(), Vec::new());
        for file in self.files(since)?.0 {
            match known.get(&(&*file.0.to_text(), &file.1)) {
                Some(sighted) => shared.push(*sighted),
                None => unread.push(file),
            }
        }
        let others: Vec<SightedFile> = self.sighted(&unread)?.into_iter().flatten().collect();
        let earlier = mine::mine(shared.into_iter().chain(&others)).conventions;
        let tested: Vec<Convention> = conventions.iter().chain(&earlier).cloned().collect();
        let effects = self.effects(&tested, changes, sighted.iter().chain(&others))?;
        replay::back_test(conventions, &earlier, &effects, changes, since);
        Ok(())
    }

    /// Returns the effects of conventions on the merged changes. The version before a change is read only if the version
    /// after it breaks a convention.
    fn effects<'f>(
        &self,
        conventions: &[Convention],
        changes: &[MergedChange],
        sighted: impl Iterator<Item = &'f SightedFile>,
    ) -> Result<Vec<Effect>, PortError> {
        let reader = Reader::new(conventions);
        let mut judged = judge_sighted(&reader, sighted);
        self.read_versions(&reader, changes.iter().flat_map(versions_after), &mut judged)?;
        let mut before: Vec<Version> = Vec::new();
        for change in changes {
            let after = versions_after(change);
            if after.iter().any(|version| judged.get(version).is_some_and(|judged| !judged.broken.is_empty()))
            {
                before.extend(versions_before(change));
            }
        }
        self.read_versions(&reader, before.into_iter(), &mut judged)?;
        Ok(replay::effects(conventions, changes, &judged))
    }

    /// Holds further versions to conventions.
    fn read_versions(
        &self,
        finder: &Reader<'_>,
        versions: impl Iterator<Item = Version>,
        known: &mut BTreeMap<Version, Judged>,
    ) -> Result<(), PortError> {
        let mut wanted: BTreeMap<Version, (Scope, Needed)> = BTreeMap::new();
        for version in versions.filter(|version| !known.contains_key(version)) {
            let Some(part) = self.part(&version.0) else { continue };
            let needed = finder.needed(&version.0, part);
            if needed != Needed::Nothing {
                wanted.insert(version, (part, needed));
            }
        }
        let wanted: Vec<(Version, (Scope, Needed))> = wanted.into_iter().collect();
        let done = AtomicUsize::new(0);
        let judged: Vec<Judged> = workers::map(
            wanted.len(),
            self.workers,
            || self.objects.reader(),
            |reader, position| {
                self.cancellation.check()?;
                let ((path, blob), (part, needed)) = &wanted[position];
                let step = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.progress.step("trying on history", step, wanted.len());
                let Some(text) = text_of(reader.as_ref(), blob)? else { return Ok(Judged::default()) };
                let sightings = match needed {
                    Needed::Nothing => Vec::new(),
                    Needed::Path => collect::in_path(&path.to_text()),
                    Needed::Text => collect::in_file(&path.to_text(), *part, &text),
                };
                Ok(finder.judge(path, *part, sightings.iter()))
            },
        )?;
        known.extend(wanted.into_iter().map(|(version, _)| version).zip(judged));
        Ok(())
    }

    /// Reads the quoted lines, and masks secrets in them.
    fn quote(&self, conventions: &mut [Convention]) -> Result<(), PortError> {
        let reader = self.objects.reader()?;
        for convention in conventions.iter_mut().filter(|convention| sighting::has_line(convention.family)) {
            for witness in convention.exceptions_listed.iter_mut().chain(&mut convention.exemplars) {
                let text = text_of(reader.as_ref(), &witness.blob)?.unwrap_or_default();
                let line = usize::try_from(witness.line).unwrap_or(usize::MAX).saturating_sub(1);
                let quote = secrets::masked(text.lines().nth(line).unwrap_or("").trim().to_owned());
                witness.text = quote.chars().take(MAX_QUOTE).collect();
            }
        }
        Ok(())
    }
}

/// Holds files that were read to conventions.
fn judge_sighted<'f>(
    reader: &Reader<'_>,
    sighted: impl Iterator<Item = &'f SightedFile>,
) -> BTreeMap<Version, Judged> {
    let mut all = BTreeMap::new();
    for file in sighted {
        let Ok(path) = RepoPath::from_bytes(file.path.as_bytes()) else { continue };
        let sightings = file.sightings.iter().map(|(sighting, _)| sighting);
        let judged = reader.judge(&path, file.part, sightings);
        all.insert((path, file.blob.clone()), judged);
    }
    all
}

/// Returns a file's text, or `None` if it is not text or too large.
fn text_of(reader: &dyn ObjectReader, blob: &BlobId) -> Result<Option<String>, PortError> {
    match reader.blob(blob, MAX_FILE_BYTES)? {
        BlobRead::Content(bytes) => Ok(String::from_utf8(bytes).ok()),
        BlobRead::TooLarge { .. } => Ok(None),
    }
}

/// Pairs each sighting with its line.
fn with_lines(sightings: Vec<Sighting>, text: &str) -> Vec<(Sighting, u32)> {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut placed = Vec::with_capacity(sightings.len());
    for sighting in sightings {
        let line = match sighting.span {
            Some(span) => starts.partition_point(|start| *start <= span.start),
            None => 1,
        };
        placed.push((sighting, u32::try_from(line).unwrap_or(u32::MAX)));
    }
    placed
}

/// Returns the blob of a regular file.
fn regular_file(entry: Option<TreeEntry>) -> Option<BlobId> {
    entry.filter(|entry| entry.mode.starts_with("100")).map(|entry| entry.id)
}

fn versions_after(change: &MergedChange) -> Vec<Version> {
    change.files.iter().filter_map(|(path, _, new)| Some((path.clone(), new.clone()?))).collect()
}

fn versions_before(change: &MergedChange) -> Vec<Version> {
    change.files.iter().filter_map(|(path, old, _)| Some((path.clone(), old.clone()?))).collect()
}

#[cfg(test)]
#[path = "mining_tests.rs"]
mod tests;
