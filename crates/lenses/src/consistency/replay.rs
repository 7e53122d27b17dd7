//! Back-tests of conventions on merged changes, and files that change together in those.

use std::collections::{BTreeMap, BTreeSet};

use super::case::Fit;
use super::collect;
use super::mine::{Found, exemplars};
use super::sighting::{self, Sighting, fit};
use qa_contracts::ids::RepoPath;
use qa_contracts::ids::{BlobId, CommitId};
use qa_contracts::v1::{BackTest, Convention, ConventionFamily, Scope, Witness};
use qa_core::classify::PathSet;
use qa_reading::syntax::Language;

/// Merged change with the files that conventions may be about, before and after.
#[derive(Debug, Clone)]
pub struct MergedChange {
    pub commit: CommitId,
    /// Paths with their blobs before and after.
    pub files: Vec<(RepoPath, Option<BlobId>, Option<BlobId>)>,
}

/// Conventions that one version of a file touches and breaks, each by its position.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// Conventions about places of the file, sorted.
    pub touched: Vec<usize>,
    /// Conventions that a place breaks, with what tells the place from others.
    pub broken: Vec<(usize, String)>,
}

/// Holds versions of files to conventions.
pub struct Reader<'a> {
    conventions: &'a [Convention],
    paths: Vec<PathSet>,
}

/// Part of a file version that must be known to judge it. Ordered from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needed {
    Nothing,
    Path,
    Text,
}

impl<'a> Reader<'a> {
    pub fn new(conventions: &'a [Convention]) -> Self {
        let paths = conventions
            .iter()
            .map(|convention| {
                PathSet::new(convention.paths.iter().map(String::as_str))
                    .unwrap_or_else(|_| PathSet::new([]).expect("no globs are globs"))
            })
            .collect();
        Self { conventions, paths }
    }

    /// Returns the part of the file's versions that the conventions in force need.
    pub fn needed(&self, path: &RepoPath, part: Scope) -> Needed {
        let text = path.to_text();
        let language = Language::from_path(&text).map(sighting::word);
        let of_path = collect::in_path(&text);
        let in_force = self.in_force(path, part).map(|(_, convention)| convention);
        in_force.map(|convention| needed_by(convention, &of_path, language)).max().unwrap_or(Needed::Nothing)
    }

    fn in_force(&self, path: &RepoPath, part: Scope) -> impl Iterator<Item = (usize, &'a Convention)> {
        let of_part = self.conventions.iter().enumerate().filter(move |(_, convention)| {
            convention.part == part && convention.family != ConventionFamily::CoChange
        });
        of_part.filter(move |(position, _)| self.paths[*position].matches(path))
    }

    /// Holds one version of a file to the conventions.
    pub fn judge<'s>(
        &'s self,
        path: &RepoPath,
        part: Scope,
        sightings: impl Iterator<Item = &'s Sighting> + Clone,
    ) -> Judged {
        let mut judged = Judged::default();
        for (position, seen, fit) in self.fits(path, part, sightings) {
            match fit {
                Fit::Silent => continue,
                Fit::Keeps => {}
                Fit::Breaks => judged.broken.push((position, seen.name.clone())),
            }
            judged.touched.push(position);
        }
        judged.touched.sort_unstable();
        judged.touched.dedup();
        judged
    }

    /// Returns, for each convention, the number of places of a file that it applies to and how many of them break it.
    pub fn counts<'s>(
        &'s self,
        path: &RepoPath,
        part: Scope,
        sightings: impl Iterator<Item = &'s Sighting> + Clone,
    ) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.conventions.len()];
        for (position, _, fit) in self.fits(path, part, sightings) {
            let (support, exceptions) = &mut counts[position];
            *support += u64::from(fit != Fit::Silent);
            *exceptions += u64::from(fit == Fit::Breaks);
        }
        counts
    }

    /// Each sighting that a convention is about, by the convention's position.
    fn fits<'s>(
        &'s self,
        path: &RepoPath,
        part: Scope,
        sightings: impl Iterator<Item = &'s Sighting> + Clone,
    ) -> impl Iterator<Item = (usize, &'s Sighting, Fit)> {
        self.in_force(path, part).flat_map(move |(position, convention)| {
            let about = sightings.clone().filter(|seen| {
                (convention.family, convention.topic.as_str(), convention.language.as_str())
                    == (seen.family, seen.topic, &*seen.language)
            });
            about.map(move |seen| (position, seen, fit(seen.family, &convention.form, &seen.value)))
        })
    }
}

/// Returns what one convention has to know of a file, whose path says `of_path`.
fn needed_by(convention: &Convention, of_path: &[Sighting], language: Option<&str>) -> Needed {
    let about = (convention.family, convention.language.as_str());
    if of_path.iter().any(|seen| about == (seen.family, &*seen.language)) {
        Needed::Path
    } else if sighting::is_of_path(convention.family) || Some(convention.language.as_str()) != language {
        Needed::Nothing
    } else {
        Needed::Text
    }
}

/// Effect of one convention on merged changes.
#[derive(Debug, Clone, Default)]
pub struct Effect {
    /// Positions of the changes that touch a place that the convention is about.
    pub touched: BTreeSet<usize>,
    /// Positions of the changes that break it anew.
    pub broken: BTreeSet<usize>,
}

/// Returns the effect of each convention on merged changes. What was removed elsewhere in a change has moved.
pub fn effects(
    conventions: &[Convention],
    changes: &[MergedChange],
    judged: &BTreeMap<(RepoPath, BlobId), Judged>,
) -> Vec<Effect> {
    let mut effects = vec![Effect::default(); conventions.len()];
    for (age, change) in changes.iter().enumerate() {
        let mut balance: BTreeMap<&(usize, String), i64> = BTreeMap::new();
        for (path, old, new) in &change.files {
            for (blob, weight) in [(old, -1), (new, 1)] {
                let Some(blob) = blob else { continue };
                let Some(judged) = judged.get(&(path.clone(), blob.clone())) else { continue };
                for one in &judged.broken {
                    // A file that stays without something is not a new one without it.
                    *balance.entry(one).or_default() += weight;
                }
                if weight > 0 {
                    let is_new = old.is_none();
                    for position in &judged.touched {
                        if is_new || sighting::has_line(conventions[*position].family) {
                            effects[*position].touched.insert(age);
                        }
                    }
                }
            }
        }
        for ((position, _), _) in balance.into_iter().filter(|(_, more)| *more > 0) {
            effects[*position].broken.insert(age);
        }
    }
    effects
}

/// Sets the back-test of each convention of a commit, given those that were mined from the commit before all changes. A
/// change counts as broken if it breaks the convention as it is now, or as it was known before: conventions that are
/// mined from changes themselves forgive them.
pub fn back_test(
    now: &mut [Convention],
    before: &[Convention],
    effects: &[Effect],
    changes: &[MergedChange],
    since: &CommitId,
) {
    /// Number of commits that are listed.
    const MOST_LISTED: usize = 20;
    let (of_now, of_before) = effects.split_at(now.len());
    for (convention, effect) in now.iter_mut().zip(of_now) {
        let mut effect = effect.clone();
        let mut is_known = false;
        for (earlier, its) in before.iter().zip(of_before).filter(|(earlier, _)| is_same(convention, earlier))
        {
            // Files agree on more or fewer lines of a notice as files come and go; the changes kept both.
            is_known |= earlier.form == convention.form || earlier.family == ConventionFamily::LicenceHeader;
            effect.touched.extend(&its.touched);
            effect.broken.extend(&its.broken);
        }
        let commits = effect.broken.iter().filter_map(|age| changes.get(*age)).map(|change| &change.commit);
        convention.back_test = BackTest {
            since: is_known.then(|| since.clone()),
            changes: changes.len() as u64,
            touched: effect.touched.len() as u64,
            broken: effect.broken.len() as u64,
            commits: commits.take(MOST_LISTED).cloned().collect(),
        };
    }
}

/// Returns whether two conventions are about the same places, at least in part.
fn is_same(now: &Convention, before: &Convention) -> bool {
    // Several directories may stay apart from one that imports them.
    let is_one_of_many = now.family == ConventionFamily::ImportDirection;
    now.family == before.family
        && now.language == before.language
        && now.part == before.part
        && now.topic == before.topic
        && (!is_one_of_many || now.form == before.form)
        && overlap(&now.paths, &before.paths)
}

/// Returns whether the directories of two lists of globs, as they are mined, contain one another.
fn overlap(left: &[String], right: &[String]) -> bool {
    left.iter().any(|left| {
        let left = left.trim_end_matches("**");
        right
            .iter()
            .map(|right| right.trim_end_matches("**"))
            .any(|right| left.starts_with(right) || right.starts_with(left))
    })
}

/// Larger changes say nothing about what belongs together.
const MOST_FILES: usize = 30;
/// Maximum number of pairs that may become conventions, the most frequent first.
const MOST_PAIRS: usize = 10;

/// A file, and another one that changes with it.
struct Pair<'a> {
    path: &'a RepoPath,
    other: &'a RepoPath,
    /// Number of changes of the first, and of those that change both.
    all: u64,
    both: u64,
}

/// Files that nearly always change with another one. `blob` gives the content of a file that is still there.
pub fn co_changes(changes: &[MergedChange], blob: &dyn Fn(&RepoPath) -> Option<BlobId>) -> Vec<Convention> {
    let mut alone: BTreeMap<&RepoPath, u64> = BTreeMap::new();
    let mut together: BTreeMap<(&RepoPath, &RepoPath), u64> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.files.len() <= MOST_FILES) {
        let modified: Vec<&RepoPath> = change
            .files
            .iter()
            .filter(|(_, old, new)| old.is_some() && new.is_some())
            .map(|(path, _, _)| path)
            .collect();
        for path in &modified {
            *alone.entry(path).or_default() += 1;
            for other in modified.iter().filter(|other| other != &path) {
                *together.entry((path, other)).or_default() += 1;
            }
        }
    }
    let mut pairs: Vec<Pair<'_>> = together
        .into_iter()
        .map(|((path, other), both)| Pair { path, other, all: alone[path], both })
        .filter(|pair| {
            pair.both >= 10 && pair.both * 1000 >= pair.all * 950 && is_telling(pair.path, pair.other)
        })
        .collect();
    pairs.sort_by(|left, right| {
        (right.both, left.path, left.other).cmp(&(left.both, right.path, right.other))
    });
    pairs.truncate(MOST_PAIRS);
    pairs.iter().filter_map(|pair| co_change(pair, blob)).collect()
}

fn co_change(pair: &Pair<'_>, blob: &dyn Fn(&RepoPath) -> Option<BlobId>) -> Option<Convention> {
    let mut witnesses = Vec::new();
    for path in [pair.path, pair.other] {
        witnesses.push(Witness { path: utf8(path)?, blob: blob(path)?, line: 1, text: String::new() });
    }
    let found = Found {
        family: ConventionFamily::CoChange,
        language: String::new(),
        part: Scope::Product,
        topic: utf8(pair.path)?,
        paths: vec!["**".to_owned()],
        form: utf8(pair.other)?,
    };
    let exceptions = pair.all - pair.both;
    Some(found.convention(pair.all, exceptions, exemplars(witnesses.into_iter()), Vec::new()))
}

/// Returns whether a pair shows coupling. Files of the same name, lockfiles and pairs of CI files change together
/// anyway.
fn is_telling(path: &RepoPath, other: &RepoPath) -> bool {
    let (path, other) = (path.to_text().to_lowercase(), other.to_text().to_lowercase());
    file_name(&path) != file_name(&other)
        && !qa_core::classify::is_lockfile(file_name(&path))
        && !(is_automation(&path) && is_automation(&other))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_automation(path: &str) -> bool {
    path.starts_with(".github/") || path.starts_with(".circleci/")
}

fn utf8(path: &RepoPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    text.bytes().all(|byte| byte >= b' ' && byte != 127).then(|| text.to_owned())
}
