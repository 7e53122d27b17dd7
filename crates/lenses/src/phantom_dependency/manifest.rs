//! Manifests above a file as documents, and names that are nearly one.

use std::sync::Arc;

use super::super::contract::Lookups;
use super::super::imports::{join, split};
use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format, Step};

/// Shorter names are too often one letter apart.
const SHORTEST: usize = 5;

/// A file that names packages.
pub(super) struct Manifest {
    pub(super) path: String,
    pub(super) text: Arc<str>,
}

impl Manifest {
    pub(super) fn name(&self) -> &str {
        split(&self.path).1
    }
}

/// Returns the manifests of a file: those of its directory and of all above, the nearest first.
pub(super) fn above(lookups: &dyn Lookups, file: &str, is_manifest: &dyn Fn(&str) -> bool) -> Vec<Manifest> {
    let mut found = Vec::new();
    let mut directory = split(file).0;
    loop {
        for name in lookups.files_in(Side::Head, directory).iter().filter(|name| is_manifest(name)) {
            let path = join(directory, name);
            if let Some(text) = lookups.text(Side::Head, &path) {
                found.push(Manifest { path, text });
            }
        }
        if directory.is_empty() {
            return found;
        }
        directory = split(directory).0;
    }
}

/// Parses a document, or returns `None` for what its tool cannot read either.
pub(super) fn document(format: Format, text: &str) -> Option<Document<'_>> {
    Document::parse(format, text).ok()
}

/// Text of a document, with the keys on the way to it.
pub(super) struct Words<'d> {
    pub(super) keys: Vec<&'d str>,
    pub(super) text: &'d str,
}

/// Returns the texts of a document.
pub(super) fn words<'d>(document: &'d Document<'_>) -> Vec<Words<'d>> {
    let mut found = Vec::new();
    for leaf in document.roots().filter_map(|root| root.leaves().ok()).flatten() {
        let keys = leaf.path.iter().filter_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Item(_) => None,
        });
        found.push(Words { keys: keys.collect(), text: leaf.value.text().unwrap_or_default() });
    }
    found
}

/// Returns whether a file or directory of that name exists where the file's imports may find it: beside it, above it,
/// or in a source directory above it.
pub(super) fn is_near(lookups: &dyn Lookups, file: &str, name: &str) -> bool {
    const SOURCES: &[&str] =
        &["", "app", "lib", "python", "scripts", "source", "src", "test", "tests", "tools"];
    let stem = format!("{name}.");
    let mut directory = split(file).0;
    loop {
        for source in SOURCES {
            let place = if source.is_empty() { directory.to_owned() } else { join(directory, source) };
            if lookups.files_in(Side::Head, &place).iter().any(|file| file.starts_with(&stem))
                || lookups.is_present(Side::Head, &join(&place, name))
            {
                return true;
            }
        }
        if directory.is_empty() {
            return false;
        }
        directory = split(directory).0;
    }
}

/// The ways a package is written: with a hyphen for an underscore, and with a capital.
pub(super) fn spellings(package: &str) -> Vec<String> {
    let hyphened = package.replace('_', "-");
    let mut all = vec![capitalized(package), capitalized(&hyphened), hyphened, package.to_owned()];
    all.sort();
    all.dedup();
    all
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Returns whether a path is the package's own or below it.
pub(super) fn is_below(path: &str, package: &str) -> bool {
    path.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The name among some that another nearly is.
pub(super) fn nearly<'n>(name: &str, others: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    others.into_iter().find(|other| is_nearly(name, other))
}

/// Returns whether two names differ by one inserted, removed, replaced or transposed letter. Names that differ only in
/// a version number do not count.
fn is_nearly(left: &str, right: &str) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let (short, long) = if left.len() <= right.len() { (&left, &right) } else { (&right, &left) };
    if short.len() < SHORTEST || long.len() - short.len() > 1 || short == long {
        return false;
    }
    let same = short.iter().zip(long.iter()).take_while(|(one, other)| one == other).count();
    let (one, other) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return !begins_with_digit(other) && one == &other[1..];
    }
    if begins_with_digit(one) && begins_with_digit(other) {
        return false;
    }
    let swapped = other.len() > 1 && one[0] == other[1] && one[1] == other[0] && one[2..] == other[2..];
    swapped || one[1..] == other[1..]
}

fn begins_with_digit(letters: &[char]) -> bool {
    letters.first().is_some_and(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::is_nearly;

    #[test]
    fn one_slip_makes_a_name_nearly_another() {
        let nearly = [
            ("reqeusts", "requests"),
            ("lodahs", "lodash"),
            ("expresss", "express"),
            ("flsk_x", "flask_x"),
            ("jinjaa2", "jinja2"),
            ("1odash", "lodash"),
        ];
        for (name, other) in nearly {
            assert!(is_nearly(name, other) && is_nearly(other, name), "{name} {other}");
        }
        let apart = [
            ("react", "react"),
            ("vue2x", "vue3x"),
            ("boto3", "boto33"),
            ("qs", "q"),
            ("express", "espresso"),
            ("rollup", "turbo"),
        ];
        for (name, other) in apart {
            assert!(!is_nearly(name, other) && !is_nearly(other, name), "{name} {other}");
        }
    }
}
