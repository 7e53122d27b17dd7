//! Answers the lookups of lenses about the trees of the merge base and head, from git objects or from a recording.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ports::PortError;
use super::trees::{TreeReader, Trees};
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    MentionKind, ModuleOutline, ModuleSurface, PlacedImport, PlacedUse, RecordedDirectory, RecordedImports,
    RecordedLookups, RecordedMentions, RecordedModule, RecordedPath, RecordedSurface, RecordedText,
    RecordedUses, Side,
};
use qa_lenses::contract::Lookups;
use qa_reading::{callers, outlines};

/// A question of a lens, with the type of its answer.
trait Question: Clone + Ord {
    /// Its default is given where the question cannot be answered; the run fails afterwards.
    type Answer: Clone + Default;
    /// Completes "the recording does not say …".
    const SUBJECT: &'static str;

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError>;
    fn memo(memos: &mut Memos) -> &mut Memo<Self>;
}

fn place(side: Side, path: &str) -> Place {
    Place { side, path: path.to_owned() }
}

/// A path in one of the two trees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    side: Side,
    path: String,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct IsPresent(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FilesIn(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OutlineOf(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ImportsOf(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SurfaceOf(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TextOf(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct UsesIn {
    place: Place,
    /// Sorted.
    words: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MentionsOf {
    side: Side,
    kind: MentionKind,
    /// Sorted.
    words: Vec<String>,
}

/// The files that have one of the words.
#[derive(Clone, Default)]
pub(super) struct Mentions {
    /// Sorted.
    pub(super) paths: Vec<String>,
    /// True if every file was searched.
    pub(super) is_complete: bool,
}

impl Question for IsPresent {
    type Answer = bool;
    const SUBJECT: &'static str = "whether a path is present";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<bool, PortError> {
        trees.is_tracked(self.0.side, &self.0.path)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.paths
    }
}

impl Question for FilesIn {
    type Answer = Vec<String>;
    const SUBJECT: &'static str = "which files a directory has";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Vec<String>, PortError> {
        trees.files_in(self.0.side, &self.0.path)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.directories
    }
}

impl Question for OutlineOf {
    type Answer = Option<Arc<ModuleOutline>>;
    const SUBJECT: &'static str = "what a file defines";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError> {
        trees.read(self.0.side, &self.0.path, shared_outline)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.outlines
    }
}

impl Question for ImportsOf {
    type Answer = Option<Arc<[PlacedImport]>>;
    const SUBJECT: &'static str = "what a file imports";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError> {
        trees.read(self.0.side, &self.0.path, shared_imports)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.imports
    }
}

impl Question for MentionsOf {
    type Answer = Mentions;
    const SUBJECT: &'static str = "which files have some words";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Mentions, PortError> {
        trees.search(self.side, self.kind, &self.words)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.mentions
    }
}

impl Question for SurfaceOf {
    type Answer = Option<Arc<ModuleSurface>>;
    const SUBJECT: &'static str = "which parameters a file's definitions have";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError> {
        trees.read(self.0.side, &self.0.path, shared_surface)
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.surfaces
    }
}

impl Question for UsesIn {
    type Answer = Option<Arc<[PlacedUse]>>;
    const SUBJECT: &'static str = "how a file uses some names";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError> {
        let Place { side, path } = &self.place;
        trees.read(*side, path, |path, text| callers::uses(path, text, &self.words).into())
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.uses
    }
}

impl Question for TextOf {
    type Answer = Option<Arc<str>>;
    const SUBJECT: &'static str = "the text of a file";

    fn answer(&self, trees: &TreeReader<'_>) -> Result<Self::Answer, PortError> {
        trees.read(self.0.side, &self.0.path, |_, text| Arc::from(text))
    }

    fn memo(memos: &mut Memos) -> &mut Memo<Self> {
        &mut memos.texts
    }
}

fn shared_outline(path: &str, text: &str) -> Arc<ModuleOutline> {
    Arc::new(outlines::outline(path, text))
}

fn shared_surface(path: &str, text: &str) -> Arc<ModuleSurface> {
    Arc::new(callers::surface(path, text))
}

fn shared_imports(path: &str, text: &str) -> Arc<[PlacedImport]> {
    outlines::imports(path, text).into()
}

/// The answers to one kind of question.
struct Memo<Q: Question> {
    /// Answers that lenses were given. These are recorded.
    given: BTreeMap<Q, Q::Answer>,
    /// Answers at hand that no lens asked for yet: prefetched, or from a recording. They are not recorded before a lens
    /// asks, so that the recording does not depend on the number of workers.
    at_hand: BTreeMap<Q, Q::Answer>,
    /// Errors by question, so that the error reported does not depend on which lens asked first.
    errors: BTreeMap<Q, PortError>,
}

impl<Q: Question> Default for Memo<Q> {
    fn default() -> Self {
        Self { given: BTreeMap::new(), at_hand: BTreeMap::new(), errors: BTreeMap::new() }
    }
}

impl<Q: Question> Memo<Q> {
    /// Returns a memo with answers at hand.
    fn with(answers: impl Iterator<Item = (Q, Q::Answer)>) -> Self {
        Self { at_hand: answers.collect(), ..Self::default() }
    }

    fn error(&self) -> Result<(), PortError> {
        self.errors.values().next().map_or(Ok(()), |error| Err(error.clone()))
    }
}

#[derive(Default)]
struct Memos {
    directories: Memo<FilesIn>,
    imports: Memo<ImportsOf>,
    mentions: Memo<MentionsOf>,
    outlines: Memo<OutlineOf>,
    paths: Memo<IsPresent>,
    surfaces: Memo<SurfaceOf>,
    texts: Memo<TextOf>,
    uses: Memo<UsesIn>,
    /// True if a lens asked for less than it would have had to.
    is_cut_short: bool,
}

/// Answers lookups, each question once, and keeps the answers for the recording.
pub struct TreeLookups<'a> {
    /// None for a recording.
    trees: Option<TreeReader<'a>>,
    memos: Mutex<Memos>,
}

impl<'a> TreeLookups<'a> {
    /// Answers from git objects.
    pub fn from_trees(trees: Trees<'a>) -> Self {
        Self { trees: Some(TreeReader::new(trees)), memos: Mutex::default() }
    }

    /// Answers from a recording. A question that it does not answer is an error of [`Self::recorded`].
    pub fn from_recording(recording: &RecordedLookups) -> Self {
        let RecordedLookups {
            schema_version: _,
            paths,
            directories,
            modules,
            imports,
            mentions,
            surfaces,
            texts,
            uses,
        } = recording;
        let memos =
            Memos {
                paths: Memo::with(
                    paths.iter().map(|each| (IsPresent(place(each.side, &each.path)), each.present)),
                ),
                directories: Memo::with(
                    directories
                        .iter()
                        .map(|each| (FilesIn(place(each.side, &each.path)), each.files.clone())),
                ),
                outlines: Memo::with(modules.iter().map(|each| {
                    (OutlineOf(place(each.side, &each.path)), each.outline.clone().map(Arc::new))
                })),
                imports: Memo::with(imports.iter().map(|each| {
                    (ImportsOf(place(each.side, &each.path)), each.imports.as_deref().map(Arc::from))
                })),
                mentions: Memo::with(mentions.iter().map(|each| {
                    let question = MentionsOf { side: each.side, kind: each.kind, words: each.words.clone() };
                    (question, Mentions { paths: each.paths.clone(), is_complete: each.complete })
                })),
                surfaces: Memo::with(surfaces.iter().map(|each| {
                    (SurfaceOf(place(each.side, &each.path)), each.surface.clone().map(Arc::new))
                })),
                uses: Memo::with(uses.iter().map(|each| {
                    let question = UsesIn { place: place(each.side, &each.path), words: each.words.clone() };
                    (question, each.uses.as_deref().map(Arc::from))
                })),
                texts: Memo::with(
                    texts.iter().map(|each| {
                        (TextOf(place(each.side, &each.path)), each.text.as_deref().map(Arc::from))
                    }),
                ),
                is_cut_short: false,
            };
        Self { trees: None, memos: Mutex::new(memos) }
    }

    /// Returns the questions of lenses with their answers, or the first error in the order of questions.
    pub(crate) fn recorded(&self) -> Result<RecordedLookups, PortError> {
        let memos = self.memos();
        memos.directories.error()?;
        memos.imports.error()?;
        memos.mentions.error()?;
        memos.outlines.error()?;
        memos.paths.error()?;
        memos.surfaces.error()?;
        memos.texts.error()?;
        memos.uses.error()?;
        let paths = memos.paths.given.iter().map(|(IsPresent(place), present)| RecordedPath {
            side: place.side,
            path: place.path.clone(),
            present: *present,
        });
        let directories = memos.directories.given.iter().map(|(FilesIn(place), files)| RecordedDirectory {
            side: place.side,
            path: place.path.clone(),
            files: files.clone(),
        });
        let modules = memos.outlines.given.iter().map(|(OutlineOf(place), outline)| RecordedModule {
            side: place.side,
            path: place.path.clone(),
            outline: outline.as_deref().cloned(),
        });
        let imports = memos.imports.given.iter().map(|(ImportsOf(place), imports)| RecordedImports {
            side: place.side,
            path: place.path.clone(),
            imports: imports.as_deref().map(<[PlacedImport]>::to_vec),
        });
        let texts = memos.texts.given.iter().map(|(TextOf(place), text)| RecordedText {
            side: place.side,
            path: place.path.clone(),
            text: text.as_deref().map(str::to_owned),
        });
        let surfaces = memos.surfaces.given.iter().map(|(SurfaceOf(place), surface)| RecordedSurface {
            side: place.side,
            path: place.path.clone(),
            surface: surface.as_deref().cloned(),
        });
        let uses = memos.uses.given.iter().map(|(UsesIn { place, words }, uses)| RecordedUses {
            side: place.side,
            path: place.path.clone(),
            words: words.clone(),
            uses: uses.as_deref().map(<[PlacedUse]>::to_vec),
        });
        let mentions = memos.mentions.given.iter().map(|(question, found)| question.recorded(found.clone()));
        Ok(RecordedLookups {
            schema_version: Default::default(),
            paths: paths.collect(),
            directories: directories.collect(),
            modules: modules.collect(),
            imports: imports.collect(),
            mentions: mentions.collect(),
            surfaces: surfaces.collect(),
            texts: texts.collect(),
            uses: uses.collect(),
        })
    }

    /// Returns whether an answer is incomplete, or a lens asked for less than it would have had to.
    pub(crate) fn is_limited(&self) -> bool {
        let memos = self.memos();
        memos.is_cut_short || memos.mentions.given.values().any(|found| !found.is_complete)
    }

    fn memos(&self) -> MutexGuard<'_, Memos> {
        self.memos.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. On error, keeps the error and returns the default, so that other lenses continue.
    fn ask<Q: Question>(&self, question: Q) -> Q::Answer {
        if let Some(answer) = self.known(&question) {
            return answer;
        }
        let answer = match &self.trees {
            Some(trees) => question.answer(trees),
            None => Err(not_recorded(Q::SUBJECT)),
        };
        let mut memos = self.memos();
        let memo = Q::memo(&mut memos);
        let answer = answer.unwrap_or_else(|error| {
            memo.errors.insert(question.clone(), error);
            Q::Answer::default()
        });
        memo.given.insert(question, answer.clone());
        answer
    }

    fn known<Q: Question>(&self, question: &Q) -> Option<Q::Answer> {
        let mut memos = self.memos();
        let memo = Q::memo(&mut memos);
        if let Some(answer) = memo.given.get(question) {
            return Some(answer.clone());
        }
        let (question, answer) = memo.at_hand.remove_entry(question)?;
        memo.given.insert(question, answer.clone());
        Some(answer)
    }

    /// Reads files that are about to be asked about, on several threads. A file that cannot be read is left to its
    /// question, which reports the error.
    fn prefetch<Q, T>(&self, side: Side, paths: &[&str], question: fn(Place) -> Q, read: fn(&str, &str) -> T)
    where
        Q: Question<Answer = Option<T>>,
        T: Send,
    {
        let Some(trees) = &self.trees else { return };
        let mut unknown = paths.to_vec();
        unknown.sort_unstable();
        unknown.dedup();
        unknown.retain(|path| {
            let question = question(Place { side, path: (*path).to_owned() });
            let mut memos = self.memos();
            let memo = Q::memo(&mut memos);
            !memo.given.contains_key(&question) && !memo.at_hand.contains_key(&question)
        });
        let answers = trees.read_all(side, &unknown, read);
        let mut memos = self.memos();
        let answers =
            answers.into_iter().map(|read| (question(Place { side, path: read.path }), read.answer));
        Q::memo(&mut memos).at_hand.extend(answers);
    }
}

impl MentionsOf {
    fn recorded(&self, found: Mentions) -> RecordedMentions {
        RecordedMentions {
            side: self.side,
            kind: self.kind,
            words: self.words.clone(),
            paths: found.paths,
            complete: found.is_complete,
        }
    }
}

fn not_recorded(subject: &str) -> PortError {
    let code = Code::RecordingMissing;
    PortError { code, message: format!("the recording does not say {subject}"), hint: code.hint() }
}

impl Lookups for TreeLookups<'_> {
    fn is_present(&self, side: Side, path: &str) -> bool {
        self.ask(IsPresent(Place { side, path: path.to_owned() }))
    }

    fn files_in(&self, side: Side, directory: &str) -> Vec<String> {
        self.ask(FilesIn(Place { side, path: directory.to_owned() }))
    }

    fn outline(&self, side: Side, path: &str) -> Option<Arc<ModuleOutline>> {
        self.ask(OutlineOf(Place { side, path: path.to_owned() }))
    }

    fn imports(&self, side: Side, path: &str) -> Option<Arc<[PlacedImport]>> {
        self.ask(ImportsOf(Place { side, path: path.to_owned() }))
    }

    fn surface(&self, side: Side, path: &str) -> Option<Arc<ModuleSurface>> {
        self.ask(SurfaceOf(place(side, path)))
    }

    fn uses(&self, side: Side, path: &str, words: &[String]) -> Option<Arc<[PlacedUse]>> {
        let mut words = words.to_vec();
        words.sort();
        words.dedup();
        self.ask(UsesIn { place: place(side, path), words })
    }

    fn text(&self, side: Side, path: &str) -> Option<Arc<str>> {
        self.ask(TextOf(Place { side, path: path.to_owned() }))
    }

    fn mentions(&self, side: Side, kind: MentionKind, words: &[String]) -> RecordedMentions {
        let mut words = words.to_vec();
        words.sort();
        words.dedup();
        let question = MentionsOf { side, kind, words };
        question.recorded(self.ask(question.clone()))
    }

    fn stop_short(&self) {
        self.memos().is_cut_short = true;
    }

    fn expect_outlines(&self, side: Side, paths: &[&str]) {
        self.prefetch(side, paths, OutlineOf, shared_outline);
    }

    fn expect_imports(&self, side: Side, paths: &[&str]) {
        self.prefetch(side, paths, ImportsOf, shared_imports);
    }
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
