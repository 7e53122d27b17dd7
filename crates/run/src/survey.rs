//! Asks the base how well it complies with a ratcheted rule, only when a finding needs to know.

use std::collections::BinaryHeap;

use super::ports::{BlobRead, Objects, PortError};
use qa_contracts::ids::{BlobId, CommitId, RepoPath};
use qa_contracts::v1::{ChangedFile, RecordedSurvey};
use qa_core::canonical;
use qa_core::classify::{self, ScopeGlobs};
use qa_core::findings::population;
use qa_lenses::contract::Lens;

/// Number of base files that are read for one rule and population.
const SAMPLE: usize = 200;
/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Answers how many base files like this one comply with a rule; live from the base tree, or from a recording.
pub trait Surveys {
    fn survey(&self, lens: &dyn Lens, rule_id: &str, file: &ChangedFile)
    -> Result<RecordedSurvey, PortError>;
}

/// Reads the base tree.
pub struct BaseSurveys<'a> {
    pub objects: &'a dyn Objects,
    pub base: &'a CommitId,
    pub globs: ScopeGlobs,
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
pub struct RecordedSurveys<'a>(pub &'a [RecordedSurvey]);

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
            let code = qa_contracts::codes::Code::RecordingMissing;
            PortError {
                code,
                message: format!("no recorded survey for {rule_id} over {population}"),
                hint: code.hint(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed_tree::{FixedTree, numbered};
    use qa_contracts::v1::Scope;
    use qa_core::packet::Packet;
    use qa_lenses::contract::{Inspection, LensSpec};

    /// Wants blobs of low numbers and has nothing to say about that of number 100.
    struct Low;

    impl Lens for Low {
        fn spec(&self) -> &'static LensSpec {
            qa_lenses::ALL[0].spec()
        }

        fn inspect(&self, _: &Packet<'_>) -> Inspection {
            Inspection { drafts: Vec::new(), facts: Vec::new() }
        }

        fn complies(&self, _: &str, _: &RepoPath, text: &str) -> Option<bool> {
            let number = usize::from_str_radix(text, 16).unwrap();
            (number != 100).then_some(number < 250)
        }
    }

    fn survey(files: Vec<(String, usize)>) -> RecordedSurvey {
        let base = CommitId::parse(&"0".repeat(40)).unwrap();
        let globs = ScopeGlobs::new(|_| &[]).unwrap();
        let file = serde_json::json!({
            "path": "new.py", "oldPath": null, "kind": "added", "oldMode": null, "newMode": "100644", "oldBlob": null,
            "newBlob": "0".repeat(40), "class": "source", "scope": Scope::Product, "scopeReason": "name", "language": "python", "text": true,
            "hunks": [], "codes": []
        });
        let file: ChangedFile = serde_json::from_value(file).unwrap();
        // The content of each blob is its id.
        let read = |number, _| Ok(BlobRead::Content(numbered(number).as_str().as_bytes().to_vec()));
        let objects = &FixedTree { files, read };
        BaseSurveys { objects, base: &base, globs }.survey(&Low, "low/rule", &file).unwrap()
    }

    fn asked(numbers: impl Iterator<Item = usize>) -> qa_contracts::ids::Sha256Hex {
        canonical::digest(&numbers.map(numbered).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_sample_is_the_files_of_the_kind_with_the_lowest_ids_in_whatever_order_they_come() {
        let others = (0..50).map(|number| {
            let path =
                if number % 2 == 0 { format!("src/{number}.rs") } else { format!("tests/test_{number}.py") };
            (path, number)
        });
        let mut files: Vec<(String, usize)> =
            (100..400).map(|number| (format!("src/m{number}.py"), number)).chain(others).collect();
        let forwards = survey(files.clone());
        assert_eq!((forwards.support, forwards.complying), (199, 149));
        assert_eq!(forwards.blobs_digest, asked(101..300));
        files.reverse();
        assert_eq!(survey(files), forwards);
    }

    #[test]
    fn a_base_with_few_files_of_the_kind_is_asked_about_all_of_them() {
        let found = survey((240..260).map(|number| (format!("m{number}.py"), number)).collect());
        assert_eq!((found.support, found.complying), (20, 10));
        assert_eq!(found.blobs_digest, asked(240..260));
        assert_eq!(survey(Vec::new()).support, 0);
    }
}
