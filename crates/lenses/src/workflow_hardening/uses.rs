//! Code that a workflow takes from elsewhere, and whether a commit names it.

use std::collections::BTreeMap;

use qa_reading::workflow::{Reference, Value};

use super::images::image;
use super::{FIRST_PARTY, Found, LOOSENED, UNPINNED};
use crate::workflows::model::{Model, text_of};

/// Code that `uses` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    /// Owner, repository and path in lower case, or the image.
    pub(super) name: String,
    /// Commit, branch or tag in lower case; empty for an image.
    pub(super) reference: String,
    /// True for a full commit or digest.
    pub(super) pinned: bool,
}

/// A `uses` of a job or a step.
#[derive(Debug)]
pub(super) struct Use<'d> {
    job: String,
    pub(super) value: Value<'d>,
    pub(super) used: Used,
}

/// Uses of one name.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    pinned: usize,
    named: usize,
}

/// Workflows that check by which tag they were called and refuse a commit.
const ONLY_BY_TAG: &[&str] = &["slsa-framework/slsa-github-generator/.github/workflows/"];

/// Reads a value of `uses`; `None` for a part of the repository itself and for what cannot be pinned.
fn used(value: &str) -> Option<Used> {
    match Reference::parse(value)? {
        Reference::Local(_) => None,
        Reference::Image(name) => {
            let image = image(name)?;
            let name = format!("docker://{}", image.name);
            Some(Used { name, reference: String::new(), pinned: image.pinned })
        }
        Reference::Remote { name, reference } => {
            let name = name.to_ascii_lowercase();
            if ONLY_BY_TAG.iter().any(|prefix| name.starts_with(prefix)) {
                return None;
            }
            let is_hex = reference.bytes().all(|byte| byte.is_ascii_hexdigit());
            let pinned = is_hex && matches!(reference.len(), 40 | 64);
            Some(Used { name, reference: reference.to_ascii_lowercase(), pinned })
        }
    }
}

/// Returns whether the people who run the platform wrote an action.
fn is_first_party(name: &str) -> bool {
    name.split_once('/').is_some_and(|(owner, _)| matches!(owner, "actions" | "github"))
}

/// Returns every `uses` of jobs and steps.
pub(super) fn uses<'d>(model: &Model<'d>) -> Vec<Use<'d>> {
    let mut found = Vec::new();
    for group in model.groups() {
        let job = group.job.map(|job| job.id).unwrap_or_default();
        let called = group.job.and_then(|job| job.uses);
        for value in called.into_iter().chain(group.steps.iter().filter_map(|step| step.uses)) {
            if let Some(used) = used(&text_of(value)) {
                found.push(Use { job: job.to_owned(), value, used });
            }
        }
    }
    found
}

/// Counts of the uses of each name, in the file and in each of its jobs.
#[derive(Debug, Default)]
struct Counts {
    of_file: BTreeMap<String, Count>,
    of_job: BTreeMap<(String, String), Count>,
}

impl Counts {
    fn new(uses: &[Use<'_>]) -> Self {
        let mut counts = Self::default();
        for Use { job, used, .. } in uses {
            let of_file = counts.of_file.entry(used.name.clone()).or_default();
            let of_job = counts.of_job.entry((job.clone(), used.name.clone())).or_default();
            for count in [of_file, of_job] {
                *(if used.pinned { &mut count.pinned } else { &mut count.named }) += 1;
            }
        }
        counts
    }

    fn of_file(&self, each: &Use<'_>) -> Count {
        self.of_file.get(&each.used.name).copied().unwrap_or_default()
    }

    fn of_job(&self, each: &Use<'_>) -> Count {
        self.of_job.get(&(each.job.clone(), each.used.name.clone())).copied().unwrap_or_default()
    }
}

impl Count {
    /// Returns whether names took the place of pins.
    fn is_loosened_to(self, after: Self) -> bool {
        after.pinned < self.pinned && after.named > self.named
    }
}

/// Finds uses by a name of what the base took by commit, or not at all. A tag that follows a tag is nothing new.
pub(super) fn audit(base: Option<&Model<'_>>, head: &Model<'_>, found: &mut Vec<Found>) {
    let before = Counts::new(&base.map(uses).unwrap_or_default());
    let uses = uses(head);
    let after = Counts::new(&uses);
    for each in uses.iter().filter(|each| !each.used.pinned) {
        let (of_file, is) = (before.of_file(each), after.of_file(each));
        // In a job, where the file has more names than before: steps that change places loosen nothing.
        let in_job = is.named > of_file.named && before.of_job(each).is_loosened_to(after.of_job(each));
        let subject = each.used.name.clone();
        if of_file.is_loosened_to(is) || in_job {
            let summary = "action is no longer pinned to a commit SHA";
            found.push(Found::new(LOOSENED, each.value, subject, summary));
        } else if of_file.named == 0 {
            let rule = if is_first_party(&each.used.name) { FIRST_PARTY } else { UNPINNED };
            let summary = if each.used.name.contains("/.github/workflows/") {
                "called workflow is not pinned to a commit SHA"
            } else {
                "action is not pinned to a commit SHA"
            };
            found.push(Found::new(rule, each.value, subject, summary));
        }
    }
}

/// Returns for each use whether it is pinned. The platform's own actions count: whoever pins them too pins everything.
pub(super) fn census(model: &Model<'_>) -> impl Iterator<Item = bool> {
    uses(model).into_iter().map(|each| each.used.pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_commit_or_a_digest_is_a_pin() {
        let commit = "a".repeat(40);
        let cases = [
            (format!("a/b@{commit}"), Some(true)),
            (format!("a/b/c@{commit}"), Some(true)),
            ("a/b@v1".to_owned(), Some(false)),
            ("a/b@abcdef1".to_owned(), Some(false)),
            ("./a".to_owned(), None),
            ("$/a".to_owned(), None),
            ("slsa-framework/slsa-github-generator/.github/workflows/a.yml@v2.1.0".to_owned(), None),
            ("docker://alpine:3".to_owned(), Some(false)),
            ("docker://registry.test:5000/a".to_owned(), Some(false)),
            ("docker://alpine@sha256:00".to_owned(), Some(true)),
            ("a/b".to_owned(), None),
        ];
        for (value, expected) in cases {
            assert_eq!(used(&value).map(|used| used.pinned), expected, "{value}");
        }
    }
}
