//! Asks the base how well it complies with a ratcheted rule, only when a finding needs to know.

use std::collections::BinaryHeap;

use super::ports::{BlobRead, Objects, PortError};
use crate::contracts::ids::{BlobId, CommitId, RepoPath};
use crate::contracts::v1::{ChangedFile, RecordedSurvey};
use crate::core::canonical;
use crate::core::classify::{self, ScopeGlobs};
use crate::core::findings::population;
use crate::lenses::contract::Lens;

/// How many base files are read for one rule and population.
const SAMPLE: usize = 200;
/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Answers how many base files like this one comply with a rule; live from the base tree, or from a recording.
pub(crate) trait Surveys {
    fn survey(&self, lens: &dyn Lens, rule_id: &str, file: &ChangedFile)
    -> Result<RecordedSurvey, PortError>;
}

/// Reads the base tree.
pub(crate) struct BaseSurveys<'a> {
    pub(crate) objects: &'a dyn Objects,
    pub(crate) base: &'a CommitId,
    pub(crate) globs: ScopeGlobs,
}

impl Surveys for BaseSurveys<'_> {
    /// The sample is the files of the same language and scope with the lowest blob ids: spread over the tree as good as
    /// at random, and the same for everyone.
    fn survey(
        &self,
        lens: &dyn Lens,
        rule_id: &str,
        file: &ChangedFile,
    ) -> Result<RecordedSurvey, PortError> {
        let mut sample: BinaryHeap<(BlobId, RepoPath)> = BinaryHeap::new();
        self.objects.files_at(self.base, &mut |path, id| {
            if classify::language(&path) == file.language.as_deref()
                && self.globs.scope(&path, classify::class(&path)) == file.scope
            {
                sample.push((id, path));
            }
            if sample.len() > SAMPLE {
                sample.pop();
            }
        })?;
        let reader = self.objects.reader()?;
        let (mut support, mut complying, mut looked_at) = (0, 0, Vec::new());
        for (id, path) in sample.into_sorted_vec() {
            let BlobRead::Content(bytes) = reader.blob(&id, MAX_FILE_BYTES)? else { continue };
            let census = lens.census(rule_id, &path, &String::from_utf8_lossy(&bytes));
            if census.support > 0 {
                support += census.support;
                complying += census.complying;
                looked_at.push(id);
            }
        }
        Ok(RecordedSurvey {
            rule_id: rule_id.to_owned(),
            population: population(file),
            support,
            complying,
            blobs_digest: canonical::digest(&looked_at).expect("ids have a canonical form"),
        })
    }
}

/// Answers from a recording.
pub(crate) struct RecordedSurveys<'a>(pub(crate) &'a [RecordedSurvey]);

impl Surveys for RecordedSurveys<'_> {
    fn survey(
        &self,
        _lens: &dyn Lens,
        rule_id: &str,
        file: &ChangedFile,
    ) -> Result<RecordedSurvey, PortError> {
        let population = population(file);
        let recorded =
            self.0.iter().find(|survey| survey.rule_id == rule_id && survey.population == population);
        recorded.cloned().ok_or_else(|| {
            let code = crate::contracts::codes::Code::RecordingMissing;
            PortError {
                code,
                message: format!("no recorded survey for {rule_id} over {population}"),
                hint: code.hint(),
            }
        })
    }
}
