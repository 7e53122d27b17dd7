//! Parts of a run: the drafts and facts of a shard as a contract, and the joined parts in place of a sweep.

use std::collections::BTreeMap;

use super::ports::PortError;
use super::sweep::{Assignment, FileInspection, FileOutcome, ShardResults};
use qa_contracts::codes::Code;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{ChangedFile, PartFile, PartOutcome, ShardPart};
use qa_core::shard::Shard;
use qa_lenses::contract::{Inspection, Lens};

/// Converts the outcomes of one file to the contract.
pub(super) fn part_file(file: &RepoPath, assignments: &[Assignment<'_>], outcome: FileOutcome) -> PartFile {
    let outcomes = assignments.iter().zip(outcome).filter_map(|(assignment, inspection)| {
        let (panicked, Inspection { drafts, facts }) = match inspection {
            FileInspection::NotPlanned => return None,
            FileInspection::Panicked => (true, Inspection::default()),
            FileInspection::Done(inspection) => (false, inspection),
        };
        Some(PartOutcome { plan_ordinal: assignment.plan.plan_ordinal, panicked, drafts, facts })
    });
    PartFile { file: file.clone(), outcomes: outcomes.collect() }
}

/// Returns whether every draft has a rule of the lens.
fn is_of_lens(outcome: &PartOutcome, lens: &dyn Lens) -> bool {
    let rules = lens.spec().rules;
    let mut drafts = outcome.drafts.iter().chain(outcome.facts.iter().filter_map(|fact| fact.draft.as_ref()));
    drafts.all(|draft| rules.iter().any(|rule| rule.id == draft.rule))
}

/// Joined parts of one run.
#[derive(Debug)]
pub struct Parts {
    /// By position of the file.
    files: Vec<PartFile>,
}

/// Returns the size of a file in changed lines, for balancing shards.
pub fn weight(file: &ChangedFile) -> u64 {
    file.hunks.iter().map(|hunk| hunk.old_lines + hunk.new_lines).sum()
}

impl Parts {
    /// Joins parts. Every part of the run must be present once, with exactly the files of its share.
    pub fn join(key: &ExecutionKey, files: &[ChangedFile], parts: Vec<ShardPart>) -> Result<Self, PortError> {
        let of = parts.first().map(|part| part.shards).unwrap_or(0);
        let mut by_number = BTreeMap::new();
        for part in parts {
            if part.execution_key != *key {
                let message = format!(
                    "part {} belongs to {} and not to {}",
                    part.shard,
                    part.execution_key.short(),
                    key.short()
                );
                return Err(missing_shard(message));
            }
            if part.shards != of || part.shard > of {
                return Err(missing_shard(format!("part {}/{} is not one of {of}", part.shard, part.shards)));
            }
            if let Some(twice) = by_number.insert(part.shard, part) {
                return Err(missing_shard(format!("part {}/{of} is given twice", twice.shard)));
            }
        }
        let missing: Vec<String> = (1..=of)
            .filter(|number| !by_number.contains_key(number))
            .map(|number| format!("{number}/{of}"))
            .collect();
        if of == 0 || !missing.is_empty() {
            let which =
                if of == 0 { "every part".to_owned() } else { format!("part {}", missing.join(", ")) };
            return Err(missing_shard(format!("{which} of {} is missing", key.short())));
        }
        let weights: Vec<u64> = files.iter().map(weight).collect();
        let mut joined = Vec::with_capacity(files.len());
        for (number, part) in by_number {
            let share = &files[Shard { number, of }.range(&weights)];
            if !share.iter().map(|file| &file.path).eq(part.files.iter().map(|file| &file.file)) {
                return Err(missing_shard(format!(
                    "part {number}/{of} does not hold the files of its share"
                )));
            }
            joined.extend(part.files);
        }
        Ok(Self { files: joined })
    }
}

impl ShardResults for Parts {
    fn outcome(&self, position: usize, assignments: &[Assignment<'_>]) -> Result<FileOutcome, PortError> {
        let file = &self.files[position];
        let mut by_plan: BTreeMap<u64, &PartOutcome> =
            file.outcomes.iter().map(|outcome| (outcome.plan_ordinal, outcome)).collect();
        let outcome = assignments
            .iter()
            .map(|assignment| match by_plan.remove(&assignment.plan.plan_ordinal) {
                None => Ok(FileInspection::NotPlanned),
                Some(outcome) if outcome.panicked => Ok(FileInspection::Panicked),
                Some(outcome) if is_of_lens(outcome, assignment.lens) => {
                    let PartOutcome { drafts, facts, .. } = outcome.clone();
                    Ok(FileInspection::Done(Inspection { drafts, facts }))
                }
                Some(_) => Err(invalid(file, "a rule that is not its lens's")),
            })
            .collect::<Result<FileOutcome, PortError>>()?;
        if by_plan.is_empty() {
            Ok(outcome)
        } else {
            Err(invalid(file, "an outcome of a plan that does not run"))
        }
    }
}

fn missing_shard(message: String) -> PortError {
    PortError { code: Code::ShardMissing, message, hint: Code::ShardMissing.hint() }
}

fn invalid(file: &PartFile, what: &str) -> PortError {
    let code = Code::ArtifactSchemaInvalid;
    PortError { code, message: format!("a part has {what} for {}", file.file), hint: code.hint() }
}
