//! Gives every planned file to every lens that planned it, from as many threads as configured and one more
//! for the self-test, and keeps the order.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::bounds::{PER_FILE, PER_RULE, bounded};
use super::gather::Texts;
use super::ports::{Cancellation, PortError, Progress};
use super::workers;
use serde::Serialize;

use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{ChangeSet, LensPlan, Rubric};
use qa_core::canonical;
use qa_core::classify::PathSet;
use qa_core::coverage::InspectedHunks;
use qa_core::crosscheck::SelfTest;
use qa_core::findings::{MovedCounts, MovedText, normalized};
use qa_core::packet::{Packet, reversed};
use qa_core::plan::included_hunks;
use qa_core::policy::Policy;
use qa_lenses::contract::{Draft, Fact, Inspection, Lens, Lookups};

/// The self-test runs lenses again over the first files up to this much text.
const SELF_TEST_BYTES: usize = 256 << 10;

/// A plan with the lens that runs it.
pub struct Assignment<'a> {
    pub(crate) plan: &'a LensPlan,
    pub(crate) lens: &'a dyn Lens,
}

/// What a sweep needs.
pub struct Sweep<'a> {
    pub change_set: &'a ChangeSet,
    pub texts: &'a dyn Texts,
    pub workers: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
    /// The frozen rubric, where the policy names one.
    pub rubric: Option<&'a Rubric>,
    /// What other processes found already, instead of looking again.
    pub joined: Option<&'a dyn ShardResults>,
}

/// What shards gave, joined. Called once for each file, from any thread; gives one outcome per assignment.
pub trait ShardResults: Sync {
    fn outcome(&self, position: usize, assignments: &[Assignment<'_>]) -> Result<FileOutcome, PortError>;
}

/// What a lens gave over all its files.
#[derive(Debug, Default)]
pub(crate) struct LensSweep {
    pub(crate) drafts: Vec<Draft>,
    /// Files and hunks the lens was given.
    pub(crate) inspected: InspectedHunks,
    /// Whether it ended unexpectedly on any file; what it gave elsewhere is still here.
    pub(crate) panicked: bool,
}

/// The outcome of one lens over one file.
#[derive(Debug, Clone, Default, Serialize)]
pub enum FileInspection {
    /// The plan leaves the file out.
    #[default]
    NotPlanned,
    Panicked,
    Done(Inspection),
}

/// The outcomes of one file, one for each assignment.
pub type FileOutcome = Vec<FileInspection>;

impl Sweep<'_> {
    /// Runs all assignments over all files, each file's text read once for all of them; with the digests of the
    /// self-test.
    pub(crate) fn run(
        &self,
        assignments: &[Assignment<'_>],
        policy: &Policy,
        lookups: &dyn Lookups,
    ) -> Result<(Vec<LensSweep>, Vec<SelfTest>), PortError> {
        let included: Vec<_> =
            assignments.iter().map(|each| included_hunks(each.plan, &self.change_set.files)).collect();
        let total = self.change_set.files.len();
        let done = AtomicUsize::new(0);
        let tested = self.tested(total)?;
        let sweep = || {
            workers::map(
                total,
                self.workers,
                || Ok(()),
                |(), position| {
                    self.cancellation.check()?;
                    let outcome = self.one_file(assignments, &included, position)?;
                    self.progress.step("judging files", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                    Ok(outcome)
                },
            )
        };
        // What shards found is joined before it is held against all files.
        let workers = if self.joined.is_some() { 1 } else { self.workers };
        let (outcomes, again) = workers::both(workers, sweep, || self.again(assignments, &included, tested))?;
        let self_test = again
            .into_iter()
            .enumerate()
            .map(|(index, reverse)| {
                let forward = digest(outcomes[..tested].iter().map(|file| &file[index]));
                SelfTest { forward, reverse }
            })
            .collect();
        Ok((self.collect(assignments, &included, outcomes, (policy, lookups))?, self_test))
    }

    /// What lenses say of some files alone, in their order: a shard's part.
    pub(crate) fn part(
        &self,
        assignments: &[Assignment<'_>],
        positions: std::ops::Range<usize>,
    ) -> Result<Vec<FileOutcome>, PortError> {
        let included: Vec<_> =
            assignments.iter().map(|each| included_hunks(each.plan, &self.change_set.files)).collect();
        workers::map(
            positions.len(),
            self.workers,
            || Ok(()),
            |(), index| {
                self.cancellation.check()?;
                self.one_file(assignments, &included, positions.start + index)
            },
        )
    }

    fn one_file(
        &self,
        assignments: &[Assignment<'_>],
        included: &[Vec<Option<Vec<bool>>>],
        position: usize,
    ) -> Result<FileOutcome, PortError> {
        if included.iter().all(|plan| plan[position].is_none()) {
            return Ok(vec![FileInspection::NotPlanned; assignments.len()]);
        }
        if let Some(joined) = self.joined {
            let outcome = joined.outcome(position, assignments)?;
            let looked = outcome.iter().map(|inspected| !matches!(inspected, FileInspection::NotPlanned));
            if looked.eq(included.iter().map(|plan| plan[position].is_some())) {
                return Ok(outcome);
            }
            let code = Code::ShardMissing;
            let file = &self.change_set.files[position].path;
            let message = format!("the parts do not say what every planned lens found in {file}");
            return Err(PortError { code, message, hint: code.hint() });
        }
        let text = self.texts.text(position)?;
        let file = &self.change_set.files[position];
        Ok(assignments
            .iter()
            .zip(included)
            .map(|(assignment, included)| {
                let Some(included) = included[position].as_deref() else { return FileInspection::NotPlanned };
                self.inspect(assignment.lens, &Packet { file, text: &text, included })
            })
            .collect())
    }

    fn collect(
        &self,
        assignments: &[Assignment<'_>],
        included: &[Vec<Option<Vec<bool>>>],
        outcomes: Vec<FileOutcome>,
        (policy, lookups): (&Policy, &dyn Lookups),
    ) -> Result<Vec<LensSweep>, PortError> {
        let mut swept: Vec<LensSweep> = assignments
            .iter()
            .map(|_| LensSweep { inspected: vec![None; outcomes.len()], ..LensSweep::default() })
            .collect();
        let mut facts: Vec<Vec<Fact>> = assignments.iter().map(|_| Vec::new()).collect();
        for (position, outcome) in outcomes.into_iter().enumerate() {
            for (index, inspection) in outcome.into_iter().enumerate() {
                match inspection {
                    FileInspection::NotPlanned => {}
                    FileInspection::Panicked => swept[index].panicked = true,
                    FileInspection::Done(inspection) => {
                        swept[index].drafts.extend(inspection.drafts);
                        facts[index].extend(inspection.facts);
                        let hunks = included[index][position].as_deref().unwrap_or(&[]);
                        swept[index].inspected[position] =
                            Some(hunks.iter().filter(|taken| **taken).count() as u64);
                    }
                }
            }
        }
        let concluded = workers::each(assignments.len(), self.workers, |index| {
            let (lens, facts) = (assignments[index].lens, &facts[index]);
            let conclude = || {
                let mut drafts = lens.conclude(facts);
                drafts.extend(lens.look_up(facts, policy, lookups));
                drafts
            };
            Ok(catch_unwind(AssertUnwindSafe(conclude)).ok())
        })?;
        for (swept, concluded) in swept.iter_mut().zip(concluded) {
            match concluded {
                Some(drafts) => swept.drafts.extend(drafts),
                None => swept.panicked = true,
            }
            swept.drafts = bounded(std::mem::take(&mut swept.drafts), PER_RULE);
        }
        Ok(swept)
    }

    /// How often each text wanted of an assignment stood on removed lines: the lenses over the change seen backwards.
    /// Files whose hunks do not have the text are left out, and other texts may be counted with it. So is a file that a
    /// lens did not read at its old path: what nothing held there to a rule explains no breach of it elsewhere.
    pub(crate) fn moved(
        &self,
        assignments: &[Assignment<'_>],
        wanted: &[BTreeSet<String>],
        policy: &Policy,
    ) -> Result<Vec<MovedCounts>, PortError> {
        let reach: Vec<Reach> = assignments.iter().map(|each| Reach::new(each, policy)).collect();
        let outcomes = workers::map(
            self.change_set.files.len(),
            self.workers,
            || Ok(()),
            |(), position| {
                self.cancellation.check()?;
                let file = &self.change_set.files[position];
                if file.hunks.iter().all(|hunk| hunk.old_lines == 0) {
                    return Ok(Vec::new());
                }
                let text = self.texts.text(position)?;
                let hunks = normalized(&text.text);
                let old_path = file.old_path.as_ref().unwrap_or(&file.path);
                let wanted: Vec<bool> = wanted
                    .iter()
                    .zip(&reach)
                    .map(|(wanted, reach)| {
                        wanted.iter().any(|quote| hunks.contains(quote.as_str())) && reach.has(old_path)
                    })
                    .collect();
                if !wanted.contains(&true) {
                    return Ok(Vec::new());
                }
                let (file, text) = reversed(file, &text);
                let included = vec![true; file.hunks.len()];
                let packet = Packet { file: &file, text: &text, included: &included };
                let keys = assignments.iter().zip(&wanted).map(|(assignment, wanted)| {
                    let drafts = match wanted {
                        true => self.run_lens(assignment.lens, &packet).unwrap_or_default().drafts,
                        false => Vec::new(),
                    };
                    drafts
                        .into_iter()
                        .map(|draft| MovedText {
                            rule_id: draft.rule.to_owned(),
                            scope: file.scope,
                            quote: normalized(&draft.quote),
                            secret: draft.value,
                        })
                        .collect::<Vec<_>>()
                });
                Ok(keys.collect::<Vec<_>>())
            },
        )?;
        let mut moved = vec![MovedCounts::new(); assignments.len()];
        for file in outcomes {
            for (counts, keys) in moved.iter_mut().zip(file) {
                for key in keys {
                    *counts.entry(key).or_insert(0) += 1;
                }
            }
        }
        Ok(moved)
    }

    /// Runs every assignment again over the first files, in reverse path order on one thread, and digests what comes out:
    /// what the sweep gave has the same digests, or a lens keeps state between files.
    fn again(
        &self,
        assignments: &[Assignment<'_>],
        included: &[Vec<Option<Vec<bool>>>],
        tested: usize,
    ) -> Result<Vec<Sha256Hex>, PortError> {
        let mut again: Vec<Vec<FileInspection>> =
            assignments.iter().map(|_| Vec::with_capacity(tested)).collect();
        for position in (0..tested).rev() {
            self.cancellation.check()?;
            let text = self.texts.text(position)?;
            let file = &self.change_set.files[position];
            for ((assignment, included), again) in assignments.iter().zip(included).zip(&mut again) {
                again.push(match included[position].as_deref() {
                    Some(included) => self.inspect(assignment.lens, &Packet { file, text: &text, included }),
                    None => FileInspection::NotPlanned,
                });
            }
        }
        Ok(again.iter().map(|again| digest(again.iter().rev())).collect())
    }

    /// How many files the self-test looks at: the first up to its bound. What other processes found was seen by nobody
    /// here, so then it looks at all of them, and a part that hides something is caught wherever it does.
    fn tested(&self, files: usize) -> Result<usize, PortError> {
        if self.joined.is_some() {
            return Ok(files);
        }
        let mut bytes = 0;
        for position in 0..files {
            let text = self.texts.text(position)?;
            bytes += text.bytes();
            if bytes > SELF_TEST_BYTES {
                return Ok(position);
            }
        }
        Ok(files)
    }

    /// Runs a lens over one file, with as many drafts of each rule as are listed of one file.
    fn inspect(&self, lens: &dyn Lens, packet: &Packet<'_>) -> FileInspection {
        match self.run_lens(lens, packet) {
            Some(inspection) => FileInspection::Done(Inspection {
                drafts: bounded(inspection.drafts, PER_FILE),
                ..inspection
            }),
            None => FileInspection::Panicked,
        }
    }

    /// Runs a lens over one file. Returns `None` if it panics; the run goes on and the plan fails.
    fn run_lens(&self, lens: &dyn Lens, packet: &Packet<'_>) -> Option<Inspection> {
        catch_unwind(AssertUnwindSafe(|| lens.inspect_by(packet, self.rubric))).ok()
    }
}

/// Paths that a lens reads under a policy.
struct Reach {
    triggers: PathSet,
    ignore: PathSet,
}

impl Reach {
    fn new(assignment: &Assignment<'_>, policy: &Policy) -> Self {
        let ignore = policy.lenses.get(&assignment.plan.lens_id).map_or(&[][..], |lens| &lens.ignore);
        Self {
            triggers: PathSet::new(assignment.lens.spec().triggers.iter().copied())
                .expect("a test compiles every trigger"),
            ignore: PathSet::new(ignore.iter().map(String::as_str))
                .expect("globs were checked with the policy"),
        }
    }

    fn has(&self, path: &RepoPath) -> bool {
        self.triggers.matches(path) && !self.ignore.matches(path)
    }
}

/// Computes the digest of the outcomes of one assignment, file by file.
fn digest<'i>(outcomes: impl Iterator<Item = &'i FileInspection>) -> Sha256Hex {
    canonical::digest(&outcomes.collect::<Vec<_>>()).expect("drafts are made of JSON values")
}
