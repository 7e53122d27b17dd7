//! Parts of a run: the drafts and facts of a shard as a contract, and the joined parts in place of a sweep.

use std::collections::BTreeMap;

use super::ports::PortError;
use super::sweep::{Assignment, FileInspection, FileOutcome, ShardResults};
use qa_contracts::codes::Code;
use qa_contracts::ids::{ExecutionKey, RepoPath};
use qa_contracts::v1::{ChangedFile, PartFile, ShardPart, StatedDraft, StatedFact, StatedOutcome};
use qa_core::shard::Shard;
use qa_lenses::contract::{Draft, Fact, Inspection, Lens};

/// Converts the outcomes of one file to the contract.
pub(super) fn stated(file: &RepoPath, assignments: &[Assignment<'_>], outcome: FileOutcome) -> PartFile {
    let outcomes = assignments.iter().zip(outcome).filter_map(|(assignment, inspection)| {
        let (panicked, Inspection { drafts, facts }) = match inspection {
            FileInspection::NotPlanned => return None,
            FileInspection::Panicked => (true, Inspection::default()),
            FileInspection::Done(inspection) => (false, inspection),
        };
        Some(StatedOutcome {
            plan_ordinal: assignment.plan.plan_ordinal,
            panicked,
            drafts: drafts.into_iter().map(stated_draft).collect(),
            facts: facts
                .into_iter()
                .map(|fact| StatedFact { value: fact.value, draft: fact.draft.map(stated_draft) })
                .collect(),
        })
    });
    PartFile { file: file.clone(), outcomes: outcomes.collect() }
}

fn stated_draft(draft: Draft) -> StatedDraft {
    StatedDraft {
        rule: draft.rule.to_owned(),
        file: draft.file,
        side: draft.side,
        start_line: draft.start_line,
        end_line: draft.end_line,
        start_column: draft.start_column,
        end_column: draft.end_column,
        quote: draft.quote,
        value: draft.value,
        summary: draft.summary,
        detail: draft.detail.into_iter().map(|(name, value)| (name.into_owned(), value)).collect(),
        severity: draft.severity,
    }
}

/// Converts a draft back, if its rule is one of the lens.
fn draft(stated: StatedDraft, lens: &dyn Lens) -> Option<Draft> {
    let rule = lens.spec().rules.iter().find(|rule| rule.id == stated.rule)?.id;
    Some(Draft {
        rule,
        file: stated.file,
        side: stated.side,
        start_line: stated.start_line,
        end_line: stated.end_line,
        start_column: stated.start_column,
        end_column: stated.end_column,
        quote: stated.quote,
        value: stated.value,
        summary: stated.summary,
        detail: stated.detail.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        severity: stated.severity,
    })
}

fn inspection(stated: StatedOutcome, lens: &dyn Lens) -> Option<Inspection> {
    let drafts: Option<Vec<Draft>> = stated.drafts.into_iter().map(|each| draft(each, lens)).collect();
    let facts: Option<Vec<Fact>> = stated
        .facts
        .into_iter()
        .map(|fact| {
            let inner = match fact.draft {
                Some(stated) => Some(draft(stated, lens)?),
                None => None,
            };
            Some(Fact { value: fact.value, draft: inner })
        })
        .collect();
    Some(Inspection { drafts: drafts?, facts: facts? })
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
        let mut stated: BTreeMap<u64, &StatedOutcome> =
            file.outcomes.iter().map(|outcome| (outcome.plan_ordinal, outcome)).collect();
        let outcome = assignments
            .iter()
            .map(|assignment| match stated.remove(&assignment.plan.plan_ordinal) {
                None => Ok(FileInspection::NotPlanned),
                Some(outcome) if outcome.panicked => Ok(FileInspection::Panicked),
                Some(outcome) => match inspection(outcome.clone(), assignment.lens) {
                    Some(inspection) => Ok(FileInspection::Done(inspection)),
                    None => Err(invalid(file, "a rule that is not its lens's")),
                },
            })
            .collect::<Result<FileOutcome, PortError>>()?;
        if stated.is_empty() {
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
