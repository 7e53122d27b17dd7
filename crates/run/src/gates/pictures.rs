//! Takes the pictures that reports name, those of faulty tests first, as many as there is room for.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{RecordedExecution, RecordedGates, RecordedPicture};
use qa_core::masking::sanitize_cut;
use qa_core::pictures::{self, MAX_ALL_BYTES, MAX_PICTURES, Picture, Screenshot};
use qa_gates::contract::{Outcome, Report, TestCase};

/// How many pictures are looked for: some of those that a report names may not be there.
const MAX_LOOKED_FOR: usize = 5 * MAX_PICTURES;

/// The pictures of one run.
#[derive(Debug, Default)]
pub(super) struct Album {
    /// What was looked for. Later attempts leave pictures in the places of earlier ones, of which the first is kept: it
    /// shows what had to be tried again.
    looked_for: BTreeSet<RepoPath>,
    taken: usize,
    bytes: usize,
}

impl Album {
    /// Looks for the pictures of a report; `read` gives the bytes at a path, or why there are none.
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
            let picture = read(path).and_then(Picture::from_bytes).and_then(|picture| {
                let fits = self.bytes + picture.bytes.len() <= MAX_ALL_BYTES;
                let too_much = || format!("all pictures together have more than {MAX_ALL_BYTES} bytes");
                fits.then_some(picture).ok_or_else(too_much)
            });
            all.push(match picture {
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
}

/// Where a test's pictures are.
fn pictures_of(test: &TestCase) -> impl Iterator<Item = &RepoPath> {
    let pictures = test.attachments.iter().filter(|attachment| attachment.is_screenshot());
    pictures.filter_map(|picture| picture.path.as_ref())
}

/// What a picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caption {
    test: String,
    steps: Vec<String>,
}

/// What the pictures of a report show, by path.
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

/// The pictures that captions are of, from the record.
pub fn screenshots(
    captions: BTreeMap<RepoPath, Caption>,
    gates: &RecordedGates,
    execution: &RecordedExecution,
) -> Vec<Screenshot> {
    let recorded = || {
        let of_reports = gates.reports.iter().flat_map(|report| &report.pictures);
        of_reports.chain(execution.commands.iter().flat_map(|command| &command.pictures))
    };
    let screenshot = |(path, Caption { test, steps })| {
        let picture = pictures::find(&path, recorded());
        Screenshot { path, test, steps, picture }
    };
    captions.into_iter().map(screenshot).collect()
}
