//! Reads what changed once: trees compared, renames paired, every file decoded, diffed, masked and scored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::landing::Merge;
use super::ports::{
    BlobRead, Cancellation, ObjectReader, Objects, PortError, Progress, TreeChange, TreeEntry,
};
use super::reach::Reaches;
use super::scopes::BaseScopes;
use super::workers;
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, CommitId, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    ChangeKind, ChangeSensitivity, ChangeSet, ChangedFile, FileClass, FileSensitivity, FileText, Hunk,
    HunkCuts, Landing, RenameSummary, Scope, ScopeReason, Side,
};
use qa_core::classify::{self, RunsAs, ScopeGlobs};
use qa_core::diff::{Content, content, diff_file, is_recoded, lossy};
use qa_core::policy::Policy;
use qa_core::renames::{self, Fingerprint, Lone, Renamed};
use qa_core::{masking, sensitivity};

/// Texts up to this many bytes, in path order, stay in memory between steps; the others are read again.
const RETAINED_BYTES: usize = 96 << 20;
/// Larger blobs are not compared for similarity.
const MAX_FINGERPRINT_BYTES: u64 = 1 << 20;

/// The world and the bounds a gathering needs.
pub struct Gathering<'a> {
    pub objects: &'a dyn Objects,
    pub policy: Policy,
    pub globs: ScopeGlobs,
    /// Returns whether a lens needs the whole file, given its hunks with secrets masked.
    pub whole: &'a (dyn Fn(&ChangedFile, &FileText) -> bool + Sync),
    pub workers: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
}

/// Result of gathering; texts come through [`Texts`].
pub struct Gathered<'a> {
    pub change_set: ChangeSet,
    pub sensitivity: ChangeSensitivity,
    pub texts: GatheredTexts<'a>,
}

/// The text of each changed file, by position in the change set.
pub trait Texts: Sync {
    /// The text; it may be read again from the repository or a recording.
    fn text(&self, position: usize) -> Result<Cow<'_, FileText>, PortError>;

    /// Returns whether the text has a whole version and not only hunks. Never reads again.
    fn has_whole_file(&self, position: usize) -> bool;
}

/// Texts in memory, by position in the change set.
impl Texts for Vec<FileText> {
    fn text(&self, position: usize) -> Result<Cow<'_, FileText>, PortError> {
        Ok(Cow::Borrowed(&self[position]))
    }

    fn has_whole_file(&self, position: usize) -> bool {
        self[position].has_whole_file()
    }
}

/// Texts kept from gathering, or read again through the same steps.
pub struct GatheredTexts<'a> {
    gathering: Gathering<'a>,
    kept: Vec<Kept>,
    /// Which texts hold a whole version.
    whole: Vec<bool>,
    /// The number of each secret value, by its digest; only in memory.
    values: BTreeMap<Sha256Hex, u32>,
}

/// Text of one file, or what is needed to read it again.
enum Kept {
    Text(FileText),
    File(Box<ToReadAgain>),
}

struct ToReadAgain {
    /// Without hunks but the first, whose ordinal is all that this needs.
    file: ChangedFile,
    known: Known,
}

/// Result of the first reading of a file, kept so that the same bytes are not searched again.
#[derive(Debug, Clone, Copy)]
struct Known {
    is_whole: bool,
    has_secrets: bool,
}

impl Texts for GatheredTexts<'_> {
    fn text(&self, position: usize) -> Result<Cow<'_, FileText>, PortError> {
        match &self.kept[position] {
            Kept::Text(text) => Ok(Cow::Borrowed(text)),
            Kept::File(file) => {
                let reader = self.gathering.objects.reader()?;
                let (mut text, secrets) =
                    self.gathering.load(reader.as_ref(), &mut file.file.clone(), Some(file.known))?;
                number_secrets(&mut text, &secrets, &self.values);
                Ok(Cow::Owned(text))
            }
        }
    }

    fn has_whole_file(&self, position: usize) -> bool {
        self.whole[position]
    }
}

/// Changed files without their hunks.
struct Surface {
    /// Sorted by path.
    files: Vec<ChangedFile>,
    renames: RenameSummary,
}

struct Loaded {
    file: ChangedFile,
    text: Option<FileText>,
    whole: bool,
    score: FileSensitivity,
    /// The digests of the secrets masked in the text, in their order.
    secrets: Vec<Sha256Hex>,
}

impl<'a> Gathering<'a> {
    /// Gathers the change between the merge base and head or, where a merge brings more than it shows, between the base
    /// and that merge; `frame` brings commits and times.
    pub fn gather(self, mut frame: ChangeSet, merge: &Merge) -> Result<Gathered<'a>, PortError> {
        let mut scopes = BaseScopes::new(self.objects, &frame.base_sha, &self.globs);
        let mut surface = self.surface([&frame.merge_base_sha, &frame.head_sha], &mut scopes)?;
        match merge {
            Merge::Change => {}
            Merge::Conflict => frame.landing = Landing::Conflict,
            Merge::Tree { commit, tree } => {
                let lands = self.surface([&frame.base_sha, commit], &mut scopes)?;
                if !self.shows(&surface.files, &lands.files)? {
                    frame.landing = Landing::Merge;
                    frame.landing_tree = Some(tree.clone());
                    surface = lands;
                }
            }
        }
        let Surface { files, renames } = surface;
        let retained_bytes = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let total = files.len();
        let loaded = workers::map(
            total,
            self.workers,
            || self.objects.reader(),
            |reader, position| {
                self.cancellation.check()?;
                let mut file = files[position].clone();
                let (text, secrets) = self.load(reader.as_ref(), &mut file, None)?;
                let score = sensitivity::file_sensitivity(&file, &text);
                self.progress.step("reading files", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                let so_far = retained_bytes.fetch_add(weight(&text), Ordering::Relaxed);
                let whole = text.has_whole_file();
                let text = (so_far < RETAINED_BYTES).then_some(text);
                Ok(Loaded { file, text, whole, score, secrets })
            },
        )?;
        Ok(self.finish(frame, renames, loaded))
    }

    fn finish(self, frame: ChangeSet, renames: RenameSummary, loaded: Vec<Loaded>) -> Gathered<'a> {
        let (mut files, mut kept, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        let whole = loaded.iter().map(|each| each.whole).collect();
        let mut ordinal = 0;
        let mut values = BTreeMap::new();
        for mut each in loaded {
            for secret in &each.secrets {
                let next = u32::try_from(values.len()).unwrap_or(u32::MAX);
                values.entry(secret.clone()).or_insert(next);
            }
            if let Some(text) = &mut each.text {
                number_secrets(text, &each.secrets, &values);
            }
            for hunk in &mut each.file.hunks {
                hunk.ordinal = ordinal;
                ordinal += 1;
            }
            let known = Known { is_whole: each.whole, has_secrets: !each.secrets.is_empty() };
            kept.push(match each.text {
                Some(text) => Kept::Text(text),
                None => Kept::File(Box::new(ToReadAgain { file: without_hunks(&each.file), known })),
            });
            files.push(each.file);
            scores.push(each.score);
        }
        let sensitivity = sensitivity::change_sensitivity(&files, scores);
        let texts = GatheredTexts { gathering: self, kept, whole, values };
        Gathered { change_set: ChangeSet { renames, files, ..frame }, sensitivity, texts }
    }

    fn surface(&self, [old, new]: [&CommitId; 2], scopes: &mut BaseScopes<'_>) -> Result<Surface, PortError> {
        let changes = self.objects.compare(old, new, self.policy.limits.max_tree_entries)?;
        let (pairs, renames) = self.pair_renames(&changes)?;
        Ok(Surface { files: self.frame_files(changes, &pairs, scopes)?, renames })
    }

    fn pair_renames(&self, changes: &[TreeChange]) -> Result<(Vec<Renamed>, RenameSummary), PortError> {
        let mut summary = RenameSummary { exact: 0, inexact: 0, not_compared: 0 };
        let deleted = lone_files(changes, Side::Base);
        let added = lone_files(changes, Side::Head);
        if deleted.is_empty() || added.is_empty() {
            return Ok((Vec::new(), summary));
        }
        let reaches = Reaches::new(&self.policy);
        let mut pairs = renames::exact(&deleted, &added);
        pairs.retain(|pair| self.keeps_its_rules(&reaches, pair));
        summary.exact = pairs.len() as u64;
        let deleted = without(deleted, pairs.iter().map(|pair| &pair.old));
        let added = without(added, pairs.iter().map(|pair| &pair.new));
        if deleted.is_empty() || added.is_empty() {
            return Ok((pairs, summary));
        }
        if deleted.len() as u64 * added.len() as u64 > self.policy.limits.max_rename_pairs {
            summary.not_compared = (deleted.len() + added.len()) as u64;
            return Ok((pairs, summary));
        }
        let reader = self.objects.reader()?;
        let deleted = fingerprints(&*reader, deleted, &mut summary)?;
        let added = fingerprints(&*reader, added, &mut summary)?;
        let mut similar = renames::inexact(&deleted, &added);
        similar.retain(|pair| self.keeps_its_rules(&reaches, pair));
        summary.inexact = similar.len() as u64;
        pairs.extend(similar);
        Ok((pairs, summary))
    }

    fn keeps_its_rules(&self, reaches: &Reaches, pair: &Renamed) -> bool {
        classify::is_same_place(&pair.old, &pair.new, &self.globs) && !reaches.differ(&pair.old, &pair.new)
    }

    /// The changed files without hunks, sorted by path.
    fn frame_files(
        &self,
        changes: Vec<TreeChange>,
        pairs: &[Renamed],
        scopes: &mut BaseScopes<'_>,
    ) -> Result<Vec<ChangedFile>, PortError> {
        let old_of: BTreeMap<&RepoPath, &RepoPath> =
            pairs.iter().map(|pair| (&pair.new, &pair.old)).collect();
        let renamed_away: BTreeSet<&RepoPath> = pairs.iter().map(|pair| &pair.old).collect();
        let old_entries: BTreeMap<RepoPath, TreeEntry> = changes
            .iter()
            .filter(|change| renamed_away.contains(&change.path))
            .filter_map(|change| Some((change.path.clone(), change.old.clone()?)))
            .collect();
        changes
            .into_iter()
            .filter(|change| !renamed_away.contains(&change.path))
            .map(|change| {
                let old_path = old_of.get(&change.path).map(|path| (*path).clone());
                let old = old_path.as_ref().and_then(|path| old_entries.get(path).cloned()).or(change.old);
                let path = change.path;
                let class = classify::class(&path);
                let (scope, scope_reason) =
                    scopes.scope(&path, old.as_ref().map(|entry| &entry.id), class)?;
                let codes = change.secret.then_some(Code::SecretInName).into_iter().collect();
                let file = frame_file(path, old_path, old, change.new);
                Ok(ChangedFile { scope, scope_reason, codes, ..file })
            })
            .collect()
    }

    /// Reads both versions and fills in hunks; ordinals count from 0 within the file. `known` is given where the file is
    /// read again.
    fn load(
        &self,
        reader: &dyn ObjectReader,
        file: &mut ChangedFile,
        known: Option<Known>,
    ) -> Result<(FileText, Vec<Sha256Hex>), PortError> {
        let ordinals_from = file.hunks.first().map_or(0, |hunk| hunk.ordinal);
        file.codes.retain(|code| *code == Code::SecretInName);
        file.hunks.clear();
        // The target of a link is now read as a file, and was not read before.
        let is_reread = file.kind == ChangeKind::TypeChanged && file.old_blob == file.new_blob;
        let old = match is_reread {
            true => Version::Absent,
            false => self.version(reader, file.old_mode.as_deref(), file.old_blob.as_ref())?,
        };
        let is_shared = !is_reread
            && file.old_blob == file.new_blob
            && file.old_mode.is_some()
            && file.new_mode.is_some();
        let separate = match is_shared {
            true => None,
            false => Some(self.version(reader, file.new_mode.as_deref(), file.new_blob.as_ref())?),
        };
        let new = separate.as_ref().unwrap_or(&old);
        let old_use = classify::runs_as_at(file, Side::Base);
        let new_use = classify::runs_as_at(file, Side::Head);
        // A large base hides nothing of head, and what is opaque would not be read at any size.
        let is_unread = match new {
            Version::TooLarge { .. } => !new.is_opaque(file.class, new_use),
            Version::Absent => old.is_too_large() && !old.is_opaque(file.class, old_use),
            Version::Content(_) => false,
        };
        if is_unread {
            file.codes.push(Code::BlobTooLarge);
            return Ok(Default::default());
        }
        if is_run(new_use, new.bytes()) && is_recoded(new.bytes()) {
            file.codes.push(Code::EncodingUnread);
            return Ok(Default::default());
        }
        // Against a version that is not text, every line of the other one counts as added or removed: a binary file in the
        // base must not hide what replaces it, nor a name under which it is not read what it is renamed to.
        let contents = (old.content(old_use), new.content(new_use));
        if contents.0 == Content::Binary || contents.1 == Content::Binary {
            file.codes.push(Code::BinaryContent);
        }
        let (old_text, new_text) = match contents {
            (Content::Text(old), Content::Text(new)) => (old, new),
            (Content::Text(old), Content::Binary) if !old.is_empty() => (old, Cow::Borrowed(&b""[..])),
            (Content::Binary, Content::Text(new)) if !new.is_empty() => (Cow::Borrowed(&b""[..]), new),
            (Content::Text(_) | Content::Binary, Content::Binary) | (Content::Binary, Content::Text(_)) => {
                return Ok(Default::default());
            }
        };
        file.text = true;
        set_language_by_start(file, &new_text, &old_text);
        let mut diff = diff_file(&old_text, &new_text, self.policy.limits.max_line_diff_bytes);
        if diff.coarse {
            file.codes.push(Code::CoarseDiff);
        }
        diff.hunks.iter_mut().for_each(|hunk| hunk.ordinal += ordinals_from);
        file.hunks = std::mem::take(&mut diff.hunks);
        let mut text = diff.text;
        let add_whole = |text: &mut FileText| {
            if known.map(|known| known.is_whole).unwrap_or_else(|| (self.whole)(file, text)) {
                text.full_base = file.old_blob.is_some().then(|| lossy(&old_text).into_owned());
                text.full_head = file.new_blob.is_some().then(|| lossy(&new_text).into_owned());
            }
        };
        if known.is_some_and(|known| !known.has_secrets) {
            add_whole(&mut text);
            return Ok((text, Vec::new()));
        }
        let keys = masking::keys_across(file, &text, [&old_text, &new_text]);
        let secrets = masking::mask_secrets(&mut text, &keys, add_whole);
        Ok((text, secrets))
    }

    pub(super) fn version(
        &self,
        reader: &dyn ObjectReader,
        mode: Option<&str>,
        id: Option<&BlobId>,
    ) -> Result<Version, PortError> {
        let (Some(mode), Some(id)) = (mode, id) else { return Ok(Version::Absent) };
        if mode == "160000" {
            return Ok(Version::Absent);
        }
        match reader.blob(id, self.policy.limits.max_blob_bytes)? {
            BlobRead::Content(bytes) => Ok(Version::Content(bytes)),
            BlobRead::TooLarge { start, .. } => Ok(Version::TooLarge { start }),
        }
    }
}

/// Returns the files that stand on this side alone.
fn lone_files(changes: &[TreeChange], side: Side) -> Vec<Lone> {
    changes
        .iter()
        .filter_map(|change| {
            let (here, there) = match side {
                Side::Base => (&change.old, &change.new),
                Side::Head => (&change.new, &change.old),
            };
            let entry = here.as_ref().filter(|entry| there.is_none() && is_file(entry))?;
            Some(Lone { path: change.path.clone(), id: entry.id.clone() })
        })
        .collect()
}

fn without<'p>(files: Vec<Lone>, taken: impl Iterator<Item = &'p RepoPath>) -> Vec<Lone> {
    let taken: BTreeSet<&RepoPath> = taken.collect();
    files.into_iter().filter(|file| !taken.contains(&file.path)).collect()
}

/// Reads files for the search for similar ones; one that is too large is counted as not compared.
fn fingerprints(
    reader: &dyn ObjectReader,
    files: Vec<Lone>,
    summary: &mut RenameSummary,
) -> Result<Vec<(RepoPath, Fingerprint)>, PortError> {
    let mut prints = Vec::new();
    for file in files {
        match reader.blob(&file.id, MAX_FINGERPRINT_BYTES)? {
            BlobRead::Content(bytes) => prints.push((file.path, Fingerprint::new(&bytes))),
            BlobRead::TooLarge { .. } => summary.not_compared += 1,
        }
    }
    Ok(prints)
}

/// A file at base or at head.
pub(super) enum Version {
    Absent,
    Content(Vec<u8>),
    TooLarge {
        /// Its first bytes.
        start: Vec<u8>,
    },
}

impl Version {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Content(bytes) => bytes,
            Self::Absent | Self::TooLarge { .. } => &[],
        }
    }

    pub(super) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// Returns whether a version over the limit is an asset whose bytes are no text.
    fn is_opaque(&self, class: FileClass, runs_as: RunsAs) -> bool {
        match self {
            Self::TooLarge { start } => {
                class == FileClass::Asset && content(start, runs_as) == Content::Binary
            }
            Self::Absent | Self::Content(_) => false,
        }
    }

    /// Returns the text; what is over the limit counts as binary.
    pub(super) fn content(&self, runs_as: RunsAs) -> Content<'_> {
        if self.is_too_large() { Content::Binary } else { content(self.bytes(), runs_as) }
    }
}

/// Returns whether an interpreter may run a file, by its use or its first line.
fn is_run(runs_as: RunsAs, bytes: &[u8]) -> bool {
    matches!(runs_as, RunsAs::Script | RunsAs::Executable) || bytes.starts_with(b"#!")
}

/// Sets the language of a file whose name says none by its first line, and its class with it: what an interpreter runs is
/// no document.
fn set_language_by_start(file: &mut ChangedFile, new: &[u8], old: &[u8]) {
    if file.language.is_some() {
        return;
    }
    // A change that takes the first line away does not make another language of the rest.
    let told = [new, old].into_iter().find_map(|start| classify::language_of_start(&file.path, start));
    file.language = told.map(str::to_owned);
    if told.is_some() && file.class == FileClass::Docs {
        file.class = FileClass::Source;
        if file.scope == Scope::Docs && file.scope_reason == ScopeReason::Name {
            file.scope = classify::scope_without_claim(&file.path, file.class);
        }
    }
}

/// Returns a changed file without its hunks, of which scope and codes are still to be told.
fn frame_file(
    path: RepoPath,
    old_path: Option<RepoPath>,
    old: Option<TreeEntry>,
    new: Option<TreeEntry>,
) -> ChangedFile {
    let kind = match (&old, &new) {
        _ if old_path.is_some() => ChangeKind::Renamed,
        (None, _) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(old), Some(new)) if is_file(old) != is_file(new) || !is_file(old) && old.mode != new.mode => {
            ChangeKind::TypeChanged
        }
        (Some(old), Some(new)) if old.id == new.id => ChangeKind::ModeChanged,
        (Some(_), Some(_)) => ChangeKind::Modified,
    };
    ChangedFile {
        scope: Scope::Product,
        scope_reason: ScopeReason::Name,
        language: classify::language(&path).map(str::to_owned),
        class: classify::class(&path),
        path,
        old_path,
        kind,
        old_mode: old.as_ref().map(|entry| entry.mode.to_owned()),
        new_mode: new.as_ref().map(|entry| entry.mode.to_owned()),
        old_blob: old.map(|entry| entry.id),
        new_blob: new.map(|entry| entry.id),
        text: false,
        hunks: Vec::new(),
        codes: Vec::new(),
    }
}

/// Returns a file without its hunks but the first.
fn without_hunks(file: &ChangedFile) -> ChangedFile {
    ChangedFile {
        path: file.path.clone(),
        old_path: file.old_path.clone(),
        old_mode: file.old_mode.clone(),
        new_mode: file.new_mode.clone(),
        old_blob: file.old_blob.clone(),
        new_blob: file.new_blob.clone(),
        language: file.language.clone(),
        hunks: file.hunks.first().cloned().into_iter().collect(),
        codes: Vec::new(),
        ..*file
    }
}

fn is_file(entry: &TreeEntry) -> bool {
    entry.mode == "100644" || entry.mode == "100755"
}

fn weight(text: &FileText) -> usize {
    text.bytes() + text.cuts.len() * (size_of::<HunkCuts>() + size_of::<Hunk>())
}

fn number_secrets(text: &mut FileText, digests: &[Sha256Hex], values: &BTreeMap<Sha256Hex, u32>) {
    for (secret, digest) in text.secrets.iter_mut().zip(digests) {
        secret.value = values.get(digest).copied().unwrap_or(u32::MAX);
    }
}
