//! Records the pictures that reports name, those of faulty tests first, up to the limits of a run.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{RecordedExecution, RecordedGates, RecordedPicture};
use qa_core::masking::sanitize_cut;
use qa_core::pictures::{self, MAX_ALL_BYTES, MAX_PICTURES, Picture, Screenshot};
use qa_gates::contract::{Outcome, Report, TestCase};

/// Number of pictures that are looked for at most: a report may name many that do not exist.
const MAX_LOOKED_FOR: usize = 5 * MAX_PICTURES;

/// Pictures of one run, with its limits.
#[derive(Debug, Default)]
pub(super) struct Album {
    /// Paths that were looked for. Later attempts overwrite the pictures of earlier ones; the first is kept, since it shows
    /// the failure that was retried.
    looked_for: BTreeSet<RepoPath>,
    taken: usize,
    bytes: usize,
}

impl Album {
    /// Records the pictures of a report; `read` returns the bytes at a path, or the reason why there are none.
    pub(super) fn take(
        &mut self,
        report: &Report,
        read: impl Fn(&RepoPath) -> Result<Vec<u8>, String>,
    ) -> Vec<RecordedPicture> {
        let (faulty, fine): (Vec<&TestCase>, Vec<&TestCase>) =
            report.tests.iter().partition(|test| test.outcome.fails() || test.outcome == Outcome::Flaky);
        let mut all = Vec::new();
        for path in faulty.into_iter().chain(fine).flat_map(pictures_of) {
            if self.taken >= MAX_PICTURES
                || self.looked_for.len() >= MAX_LOOKED_FOR
                || !self.looked_for.insert(path.clone())
            {
                continue;
            }
            let picture = read(path).and_then(Picture::from_bytes);
            all.push(match picture.and_then(|picture| self.check_size(picture)) {
                Ok(picture) => {
                    self.taken += 1;
                    self.bytes += picture.bytes.len();
                    picture.recorded(path.clone())
                }
                Err(problem) => RecordedPicture {
                    path: path.clone(),
                    sha256: None,
                    data: None,
                    problem: Some(sanitize_cut(&problem, 300)),
                },
            });
        }
        all
    }

    fn check_size(&self, picture: Picture) -> Result<Picture, String> {
        if self.bytes + picture.bytes.len() > MAX_ALL_BYTES {
            return Err(format!("all pictures together have more than {MAX_ALL_BYTES} bytes"));
        }
        Ok(picture)
    }
}

/// Returns the paths of a test's pictures.
fn pictures_of(test: &TestCase) -> impl Iterator<Item = &RepoPath> {
    let pictures = test.attachments.iter().filter(|attachment| attachment.is_screenshot());
    pictures.filter_map(|picture| picture.path.as_ref())
}

/// Test and steps that a picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caption {
    test: String,
    steps: Vec<String>,
}

/// Returns the captions of a report's pictures, by path.
pub(super) fn captions(report: &Report) -> BTreeMap<RepoPath, Caption> {
    let mut captions = BTreeMap::new();
    for test in &report.tests {
        let steps = test.stories.iter().map(|story| match story.step {
            Some(step) => format!("feature {} step {step}", story.feature),
            None => format!("feature {}", story.feature),
        });
        let caption = Caption { test: test.id.clone(), steps: steps.collect() };
        for path in pictures_of(test) {
            captions.entry(path.clone()).or_insert_with(|| caption.clone());
        }
    }
    captions
}

/// Returns the recorded pictures with their captions.
pub fn screenshots(
    captions: BTreeMap<RepoPath, Caption>,
    gates: &RecordedGates,
    execution: &RecordedExecution,
) -> Vec<Screenshot> {
    captions
        .into_iter()
        .map(|(path, Caption { test, steps })| {
            let of_reports = gates.reports.iter().flat_map(|report| &report.pictures);
            let of_commands = execution.commands.iter().flat_map(|command| &command.pictures);
            let picture = pictures::find(&path, of_reports.chain(of_commands));
            Screenshot { path, test, steps, picture }
        })
        .collect()
}
