//! Finds conventions in what the files of a commit say: groups, the form most of a group keeps, and how surely.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Fit, Style};
use super::imports::position;
use super::sighting::{Sighting, fit};
use super::{documented, errors, header, words};
use qa_contracts::ids::BlobId;
use qa_contracts::v1::{
    BackTest, Convention, ConventionFamily, RejectedConvention, Scope, Strength, Witness,
};
use qa_core::canonical;
use qa_reading::syntax::Language;

/// A file with what it says.
#[derive(Debug)]
pub struct SightedFile {
    pub path: String,
    pub blob: BlobId,
    pub part: Scope,
    /// Each with its line, from 1.
    pub sightings: Vec<(Sighting, u32)>,
}

impl SightedFile {
    /// A line of the file; what stands there is read once it is known to be quoted.
    pub(super) fn witness(&self, line: u32) -> Witness {
        Witness { path: self.path.clone(), blob: self.blob.clone(), line, text: String::new() }
    }
}

/// Mined conventions, and those that the evidence does not support.
#[derive(Debug, Default)]
pub struct Mined {
    pub conventions: Vec<Convention>,
    pub rejected: Vec<RejectedConvention>,
}

/// Maximum depth of directories that are mined for conventions of their own.
const DEEPEST: usize = 3;
/// Maximum numbers of exceptions and of exemplars that are listed for a convention.
const MOST_EXCEPTIONS: usize = 20;
const EXEMPLARS: usize = 3;
/// Fewer places than this say nothing worth rejecting.
const WORTH_TELLING: u64 = 20;

type GroupKey = (ConventionFamily, &'static str, String, Scope);
pub(super) type Seen<'a> = (&'a SightedFile, &'a (Sighting, u32));

/// Evidence that a family of conventions needs.
struct Bar {
    theta_permille: u64,
    support: u64,
    /// Minimum number of places if there are no exceptions.
    of_one_mind: u64,
}

fn bar(family: ConventionFamily) -> Bar {
    let (theta_permille, support, of_one_mind) = match family {
        ConventionFamily::FileName
        | ConventionFamily::FunctionName
        | ConventionFamily::MethodName
        | ConventionFamily::TypeName
        | ConventionFamily::ConstantName => (980, 20, 10),
        ConventionFamily::Library => (980, 20, 20),
        ConventionFamily::TestPlacement => (980, 10, 6),
        ConventionFamily::ErrorIdiom => (950, 20, 10),
        ConventionFamily::LicenceHeader => (990, 10, 10),
        ConventionFamily::PublicDoc => (990, 20, 10),
        ConventionFamily::ImportDirection => (1000, 1, 1),
        ConventionFamily::CoChange => (950, 10, 10),
    };
    Bar { theta_permille, support, of_one_mind }
}

/// Returns whether the evidence makes a convention. A single exception among many places does not prevent one.
pub fn is_enough(family: ConventionFamily, support: u64, exceptions: u64) -> bool {
    const MANY: u64 = 30;
    let Bar { theta_permille, support: least, of_one_mind } = bar(family);
    let most_keep = (support - exceptions) * 1000 >= support * theta_permille;
    let one_does_not = exceptions == 1 && support >= MANY && theta_permille <= 980;
    let nobody_does_not = exceptions == 0 && support >= of_one_mind;
    nobody_does_not || support >= least && (most_keep || one_does_not)
}

/// Mines everything that files say by themselves.
pub fn mine<'a>(files: impl Iterator<Item = &'a SightedFile>) -> Mined {
    let mut groups: BTreeMap<GroupKey, Vec<Seen<'_>>> = BTreeMap::new();
    for file in files {
        for seen in &file.sightings {
            let sighting = &seen.0;
            let key = (sighting.family, sighting.topic, sighting.language.clone().into_owned(), file.part);
            groups.entry(key).or_default().push((file, seen));
        }
    }
    let mut mined = Mined::default();
    for (key, seen) in &groups {
        if key.0 == ConventionFamily::ImportDirection {
            mined.conventions.extend(super::directions::mine(&key.2, seen));
        } else {
            group(key, seen, &mut mined);
        }
    }
    mined.conventions.sort_by(|left, right| order(left).cmp(&order(right)));
    mined.rejected.sort();
    mined
}

fn order(convention: &Convention) -> (ConventionFamily, &str, Scope, &str, &[String], &str) {
    let Convention { family, language, part, topic, paths, form, .. } = convention;
    (*family, language, *part, topic, paths, form)
}

/// A whole group, and where the whole has no convention, the directories in it that do.
fn group(key: &GroupKey, seen: &[Seen<'_>], mined: &mut Mined) {
    if let Some(convention) = convention(key, "", seen) {
        mined.conventions.push(convention);
        return;
    }
    let mut found = Vec::new();
    let mut pending: Vec<(usize, Vec<Seen<'_>>)> = vec![(1, seen.to_vec())];
    while let Some((depth, seen)) = pending.pop() {
        let mut below: BTreeMap<String, Vec<Seen<'_>>> = BTreeMap::new();
        for one in seen {
            let directories: Vec<&str> = one.0.path.split('/').collect();
            if directories.len() > depth {
                below.entry(directories[..depth].join("/")).or_default().push(one);
            }
        }
        for (directory, seen) in below {
            if (seen.len() as u64) < bar(key.0).of_one_mind {
                continue;
            }
            match convention(key, &directory, &seen) {
                Some(convention) => found.push(convention),
                None if depth < DEEPEST => pending.push((depth + 1, seen)),
                None => {}
            }
        }
    }
    if found.is_empty() && seen.len() as u64 >= WORTH_TELLING {
        let Bar { theta_permille, support, of_one_mind } = bar(key.0);
        let reason = format!(
            "fewer than {of_one_mind} places, or fewer than {support} and not all agree, or fewer than {theta_permille} of 1,000 do, here and in each directory"
        );
        mined.rejected.push(rejected(key, seen, &reason));
    }
    mined.conventions.extend(found);
}

fn rejected(key: &GroupKey, seen: &[Seen<'_>], reason: &str) -> RejectedConvention {
    let CountedForm { form, support, exceptions } = best(key, seen);
    RejectedConvention {
        family: key.0,
        language: key.2.clone(),
        part: key.3,
        topic: key.1.to_owned(),
        form,
        support,
        exceptions,
        reason: reason.to_owned(),
    }
}

/// The forms that may be a convention.
fn forms(key: &GroupKey, seen: &[Seen<'_>]) -> Vec<String> {
    let go = key.2 == "go";
    let styles: &[Style] = match key.0 {
        ConventionFamily::FileName => {
            &[Style::Snake, Style::Kebab, Style::Camel, Style::Pascal, Style::Lower]
        }
        ConventionFamily::FunctionName | ConventionFamily::MethodName | ConventionFamily::TypeName if go => {
            &[Style::Mixed]
        }
        ConventionFamily::FunctionName | ConventionFamily::MethodName => &[Style::Snake, Style::Camel],
        ConventionFamily::TypeName => &[Style::Pascal],
        ConventionFamily::ConstantName if go => &[Style::Mixed],
        ConventionFamily::ConstantName => &[Style::Screaming],
        ConventionFamily::LicenceHeader => {
            let values: Vec<&str> = seen.iter().map(|(_, (sighting, _))| sighting.value.as_str()).collect();
            return header::forms(&values);
        }
        ConventionFamily::PublicDoc => return vec![documented::DOCUMENTED.to_owned()],
        ConventionFamily::ErrorIdiom => {
            let form = if key.1 == errors::THROWN { "an error" } else { errors::HANDLED };
            return vec![form.to_owned()];
        }
        ConventionFamily::TestPlacement | ConventionFamily::Library => {
            let values: BTreeSet<&String> = seen.iter().map(|(_, (sighting, _))| &sighting.value).collect();
            return values.into_iter().cloned().collect();
        }
        ConventionFamily::ImportDirection | ConventionFamily::CoChange => return Vec::new(),
    };
    styles.iter().map(|style| style.text().to_owned()).collect()
}

/// A form with its numbers in a group.
#[derive(Default)]
struct CountedForm {
    form: String,
    support: u64,
    exceptions: u64,
}

impl CountedForm {
    fn new(form: String, family: ConventionFamily, seen: &[Seen<'_>]) -> Self {
        let (mut keeps, mut breaks) = (0, 0);
        for (_, (sighting, _)) in seen {
            match fit(family, &form, &sighting.value) {
                Fit::Keeps => keeps += 1,
                Fit::Breaks => breaks += 1,
                Fit::Silent => {}
            }
        }
        Self { form, support: keeps + breaks, exceptions: breaks }
    }

    fn is_enough(&self, family: ConventionFamily) -> bool {
        is_enough(family, self.support, self.exceptions)
    }

    /// Returns by how much the places that keep the form outnumber those that do not.
    fn surplus(&self) -> i64 {
        self.support.cast_signed() - 2 * self.exceptions.cast_signed()
    }

    fn is_better(&self, known: &Self, family: ConventionFamily) -> bool {
        !known.is_enough(family) && (self.is_enough(family) || self.surplus() > known.surplus())
    }
}

/// Returns the form that most keep.
fn best(key: &GroupKey, seen: &[Seen<'_>]) -> CountedForm {
    // The first of equals, in the order of forms: a form that says more comes first.
    let mut best: Option<CountedForm> = None;
    for form in forms(key, seen) {
        let counted = CountedForm::new(form, key.0, seen);
        if best.as_ref().is_none_or(|known| counted.is_better(known, key.0)) {
            best = Some(counted);
        }
    }
    best.unwrap_or_default()
}

fn convention(key: &GroupKey, directory: &str, seen: &[Seen<'_>]) -> Option<Convention> {
    let best = best(key, seen);
    if !best.is_enough(key.0) {
        return None;
    }
    let CountedForm { form, support, exceptions } = best;
    let kept = witnesses(key.0, &form, seen, Fit::Keeps);
    // The convention's scope is the directory of the places that keep it, because there is no evidence elsewhere.
    let places_tests = key.0 == ConventionFamily::TestPlacement;
    let extent = common_directory(kept.iter().map(|witness| {
        let own = witness.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        if places_tests { above(&witness.path, &form) } else { own }
    }));
    let directory = if extent.len() > directory.len() { &extent } else { directory };
    let paths = vec![if directory.is_empty() { "**".to_owned() } else { format!("{directory}/**") }];
    let mut exceptions_listed: Vec<Witness> = witnesses(key.0, &form, seen, Fit::Breaks);
    exceptions_listed.sort();
    exceptions_listed.truncate(MOST_EXCEPTIONS);
    let found = Found {
        family: key.0,
        language: key.2.clone(),
        part: key.3,
        topic: key.1.to_owned(),
        paths,
        form: form.clone(),
    };
    Some(found.convention(support, exceptions, exemplars(kept.into_iter()), exceptions_listed))
}

/// Returns the places that fit a form as wanted.
fn witnesses(family: ConventionFamily, form: &str, seen: &[Seen<'_>], wanted: Fit) -> Vec<Witness> {
    seen.iter()
        .filter(|(_, (sighting, _))| fit(family, form, &sighting.value) == wanted)
        .map(|(file, (_, line))| file.witness(*line))
        .collect()
}

/// The directory that all of some directories are in, or are.
fn common_directory<'p>(directories: impl Iterator<Item = &'p str>) -> String {
    let mut common: Option<Vec<&str>> = None;
    for directory in directories {
        let parts = directory.split('/').filter(|part| !part.is_empty());
        common = Some(match common {
            None => parts.collect(),
            Some(known) => {
                let shared = known.into_iter().zip(parts).take_while(|(one, other)| one == other);
                shared.map(|(one, _)| one).collect()
            }
        });
    }
    common.unwrap_or_default().join("/")
}

/// Returns the directory that contains the tests' directory called `name`; the file's own directory if none is.
fn above<'p>(path: &'p str, name: &str) -> &'p str {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let at = directory.split('/').rev().position(|part| part == name);
    let mut rest = directory;
    for _ in 0..at.map_or(0, |deep| deep + 1) {
        rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
    }
    rest
}

/// Places in different files, spread over the tree.
pub(super) fn exemplars(all: impl Iterator<Item = Witness>) -> Vec<Witness> {
    let mut by_file: BTreeMap<String, Witness> = BTreeMap::new();
    for witness in all {
        by_file.entry(witness.path.clone()).or_insert(witness);
    }
    let files: Vec<Witness> = by_file.into_values().collect();
    let step = (files.len() / EXEMPLARS).max(1);
    files.into_iter().step_by(step).take(EXEMPLARS).collect()
}

/// Parts of a convention that identify it.
pub(super) struct Found {
    pub(super) family: ConventionFamily,
    pub(super) language: String,
    pub(super) part: Scope,
    pub(super) topic: String,
    pub(super) paths: Vec<String>,
    pub(super) form: String,
}

impl Found {
    /// The convention with its numbers, before it is tried on history.
    pub(super) fn convention(
        self,
        support: u64,
        exceptions: u64,
        exemplars: Vec<Witness>,
        exceptions_listed: Vec<Witness>,
    ) -> Convention {
        let Self { family, language, part, topic, paths, form } = self;
        let digest = canonical::digest(&(family.as_str(), &language, part, &topic, &paths, &form))
            .expect("words have a canonical form");
        let statement = words::statement(family, &language, part, &topic, &paths, &form);
        let kept = support - exceptions;
        Convention {
            id: format!("{}-{}", family.as_str(), &digest.as_str()[..10]),
            family,
            statement,
            language,
            part,
            paths,
            topic,
            form,
            strength: Strength::Advise,
            reason: String::new(),
            support,
            exceptions,
            confidence_permille: permille(kept, support),
            lower_bound_permille: wilson_permille(kept, support),
            exceptions_listed,
            exemplars,
            back_test: BackTest::default(),
        }
    }
}

fn permille(part: u64, whole: u64) -> u16 {
    u16::try_from((part * 1000).checked_div(whole).unwrap_or(0)).unwrap_or(1000)
}

/// The lower end of Wilson's 95 % interval, rounded down, in integers, so that every machine says the same. With
/// z² = 3.8416 and everything multiplied by 20,000: (2k + z² − z √(z² + 4k(n−k)/n)) / 2(n + z²).
fn wilson_permille(kept: u64, all: u64) -> u16 {
    if all == 0 {
        return 0;
    }
    const SCALE: u128 = 1_000_000;
    let (kept, all) = (u128::from(kept), u128::from(all));
    let z = 1_960_000_u128;
    let z_squared = 3_841_600_u128;
    let under_root = (z_squared * SCALE) + 4 * kept * (all - kept) * SCALE * SCALE / all;
    let root = under_root.isqrt();
    let upper = (2 * kept * SCALE + z_squared).saturating_sub(z * root / SCALE + 1);
    let lower = 2 * (all * SCALE + z_squared);
    u16::try_from(upper * 1000 / lower).unwrap_or(1000)
}

/// Proposes what breaking a convention weighs: a block only where it held in changes that it was not mined from.
pub fn propose(convention: &mut Convention) {
    (convention.strength, convention.reason) = match reason_to_advise(convention) {
        Some(reason) => (Strength::Advise, reason),
        None => (Strength::Block, held(convention)),
    };
}

/// Number of changes that have to touch a convention to say that it holds.
const LEAST_TOUCHED: u64 = 5;

/// Returns why breaking a convention is not to block.
fn reason_to_advise(convention: &Convention) -> Option<String> {
    let BackTest { since, changes, touched, broken, .. } = &convention.back_test;
    if matches!(convention.family, ConventionFamily::CoChange | ConventionFamily::Library) {
        return Some("what is right here depends on the change".to_owned());
    }
    // Tests are placed and named by files with the same care as products.
    let is_of_place =
        matches!(convention.family, ConventionFamily::TestPlacement | ConventionFamily::FileName);
    if convention.part == Scope::Test && !is_of_place {
        let reason = "tests break conventions of names several times as often as product code";
        return Some(reason.to_owned());
    }
    if *changes == 0 {
        return Some("there is no history to test it on".to_owned());
    }
    if *broken > 0 {
        return Some(format!("{broken} of the last {changes} merged changes broke it"));
    }
    if since.is_none() {
        return Some(format!("the code did not keep it before the last {changes} merged changes"));
    }
    (*touched < LEAST_TOUCHED)
        .then(|| format!("only {touched} of the last {changes} merged changes touch it, too few to tell"))
}

/// Describes the changes that a convention held in.
fn held(convention: &Convention) -> String {
    let BackTest { since, changes, touched, .. } = &convention.back_test;
    let since = since.as_ref().map_or("", |since| since.short());
    format!("held in {touched} of {touched} merged changes that touch it, of {changes} since {since}")
}

/// The language whose imports a convention is about.
pub(super) fn language_of(word: &str) -> Option<Language> {
    [
        Language::C,
        Language::CSharp,
        Language::Cpp,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Kotlin,
        Language::Php,
        Language::Python,
        Language::Ruby,
        Language::Rust,
        Language::TypeScript,
    ]
    .into_iter()
    .find(|language| super::sighting::word(*language) == word)
}

/// Returns the position of a file as imports of its language name it.
pub(super) fn position_of<'p>(language: &str, path: &'p str) -> Option<&'p str> {
    position(language_of(language)?, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_places_are_enough_where_all_agree_and_not_where_one_does_not() {
        use ConventionFamily::{FunctionName, LicenceHeader, TestPlacement};
        let cases = [
            (FunctionName, (10, 0), true),
            (FunctionName, (9, 0), false),
            (FunctionName, (20, 1), false),
            (FunctionName, (30, 1), true),
            (FunctionName, (100, 2), true),
            (TestPlacement, (6, 0), true),
            (TestPlacement, (5, 0), false),
            (LicenceHeader, (100, 2), false),
        ];
        for (family, (support, exceptions), expected) in cases {
            assert_eq!(is_enough(family, support, exceptions), expected, "{family:?} {support} {exceptions}");
        }
    }

    #[test]
    fn the_lower_bound_is_the_one_of_wilson_s_interval() {
        // Computed with arbitrary precision.
        for (kept, all, permille) in
            [(20, 20, 838), (98, 100, 929), (999, 1000, 994), (0, 10, 0), (5, 10, 236)]
        {
            assert_eq!(wilson_permille(kept, all), permille, "{kept} of {all}");
        }
    }
}
