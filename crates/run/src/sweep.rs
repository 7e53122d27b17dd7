//! Gives every planned file to every lens that planned it, from as many threads as configured and one more
//! for the self-test, and keeps the order.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::bounds::{PER_FILE, PER_RULE, bounded};
use super::gather::Texts;
use super::operands::Places;
use super::ports::{Cancellation, PortError, Progress};
use super::reach::Reach;
use super::workers;
use serde::Serialize;

use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{ChangeSet, LensPlan, Rubric, Scope};
use qa_core::canonical;
use qa_core::coverage::InspectedHunks;
use qa_core::crosscheck::SelfTest;
use qa_core::findings::{
    ALSO_ON_LINES, EXPRESSION, MovedCounts, MovedText, Operand, identity, normalized, texts,
};
use qa_core::packet::{Packet, reversed};
use qa_core::plan::included_hunks;
use qa_core::policy::Policy;
use qa_lenses::contract::{Draft, Fact, Inspection, Lens, Lookups};

/// The self-test runs lenses again over the first files up to this much text, whose trees are still cached.
const SELF_TEST_BYTES: usize = 128 << 10;

/// A plan with the lens that runs it.
pub struct Assignment<'a> {
    pub(crate) plan: &'a LensPlan,
    pub(crate) lens: &'a dyn Lens,
}

/// Runs lenses over the files of a change.
pub struct Sweep<'a> {
    pub change_set: &'a ChangeSet,
    pub texts: &'a dyn Texts,
    pub workers: u64,
    pub cancellation: &'a Cancellation,
    pub progress: &'a dyn Progress,
    /// The frozen rubric, where the policy names one.
    pub rubric: Option<&'a Rubric>,
    /// Results of shards, used instead of running lenses.
    pub joined: Option<&'a dyn ShardResults>,
}

/// Joined results of shards. Called once for each file, from any thread; returns one outcome per assignment.
pub trait ShardResults: Sync {
    fn outcome(&self, position: usize, assignments: &[Assignment<'_>]) -> Result<FileOutcome, PortError>;
}

/// Drafts of a lens over all its files.
#[derive(Debug, Default)]
pub(crate) struct LensSweep {
    pub(crate) drafts: Vec<Draft>,
    /// Number of hunks of each file that the lens was given.
    pub(crate) inspected: InspectedHunks,
    /// True if it panicked on a file; its drafts of other files are kept.
    pub(crate) panicked: bool,
    /// Positions of the files that it could not read as it has to.
    pub(crate) unread: Vec<usize>,
}

/// Outcome of one lens over one file.
#[derive(Debug, Clone, Default, Serialize)]
pub enum FileInspection {
    /// The plan leaves the file out.
    #[default]
    NotPlanned,
    Panicked,
    Done(Inspection),
}

/// Outcomes of one file, one for each assignment.
pub type FileOutcome = Vec<FileInspection>;

/// Assignments with the hunks that each plan includes.
struct Selection<'a> {
    assignments: &'a [Assignment<'a>],
    /// By assignment.
    plans: Vec<IncludedFiles>,
}

/// Hunks that a plan includes, by file.
type IncludedFiles = Vec<Option<Vec<bool>>>;

impl<'a> Selection<'a> {
    fn new(assignments: &'a [Assignment<'a>], change_set: &ChangeSet) -> Self {
        let plans = assignments.iter().map(|each| included_hunks(each.plan, &change_set.files)).collect();
        Self { assignments, plans }
    }

    /// Returns the assignments, each with the hunks that it includes of a file.
    fn at(&self, position: usize) -> impl Iterator<Item = (&Assignment<'a>, Option<&[bool]>)> {
        self.assignments.iter().zip(&self.plans).map(move |(each, plan)| (each, plan[position].as_deref()))
    }
}

impl Sweep<'_> {
    /// Runs all assignments over all files; each file's text is read once for all of them. Also returns the digests of the
    /// self-test.
    pub(crate) fn run(
        &self,
        assignments: &[Assignment<'_>],
        policy: &Policy,
        lookups: &dyn Lookups,
    ) -> Result<(Vec<LensSweep>, Vec<SelfTest>), PortError> {
        let selection = Selection::new(assignments, self.change_set);
        let tested = self.self_test_files(self.change_set.files.len())?;
        let (outcomes, reversed) = match self.joined {
            // The results of shards are checked before the self-test reads all files.
            Some(_) => (self.inspect_files(&selection)?, self.reversed_digests(&selection, tested)?),
            // The self-test ends with the first files, whose trees are then still cached.
            None => {
                let (reversed, outcomes) = workers::both(
                    self.workers,
                    || self.reversed_digests(&selection, tested),
                    || self.inspect_files(&selection),
                )?;
                (outcomes, reversed)
            }
        };
        let self_test = reversed
            .into_iter()
            .enumerate()
            .map(|(index, reverse)| {
                let forward = digest(outcomes[..tested].iter().map(|file| &file[index]));
                SelfTest { forward, reverse }
            })
            .collect();
        let mut swept = self.collect(&selection, outcomes)?;
        self.conclude(assignments, &mut swept, policy, lookups)?;
        Ok((swept.into_iter().map(|lens| lens.sweep).collect(), self_test))
    }

    fn inspect_files(&self, selection: &Selection<'_>) -> Result<Vec<FileOutcome>, PortError> {
        let total = self.change_set.files.len();
        let done = AtomicUsize::new(0);
        workers::map(
            total,
            self.workers,
            || Ok(()),
            |(), position| {
                self.cancellation.check()?;
                let outcome = self.inspect_file(selection, position)?;
                self.progress.step("judging files", done.fetch_add(1, Ordering::Relaxed) + 1, total);
                Ok(outcome)
            },
        )
    }

    /// Runs all assignments over some files, in their order: a shard's part.
    pub(crate) fn part(
        &self,
        assignments: &[Assignment<'_>],
        positions: std::ops::Range<usize>,
    ) -> Result<Vec<FileOutcome>, PortError> {
        let selection = Selection::new(assignments, self.change_set);
        workers::map(
            positions.len(),
            self.workers,
            || Ok(()),
            |(), index| {
                self.cancellation.check()?;
                self.inspect_file(&selection, positions.start + index)
            },
        )
    }

    fn inspect_file(&self, selection: &Selection<'_>, position: usize) -> Result<FileOutcome, PortError> {
        let assignments = selection.assignments;
        if selection.at(position).all(|(_, included)| included.is_none()) {
            return Ok(vec![FileInspection::NotPlanned; assignments.len()]);
        }
        if let Some(joined) = self.joined {
            let outcome = joined.outcome(position, assignments)?;
            let inspected = outcome.iter().map(|outcome| !matches!(outcome, FileInspection::NotPlanned));
            if inspected.eq(selection.at(position).map(|(_, included)| included.is_some())) {
                return Ok(outcome);
            }
            let code = Code::ShardMissing;
            let file = &self.change_set.files[position].path;
            let message = format!("the parts do not say what every planned lens found in {file}");
            return Err(PortError { code, message, hint: code.hint() });
        }
        let text = self.texts.text(position)?;
        let file = &self.change_set.files[position];
        Ok(selection
            .at(position)
            .map(|(assignment, included)| match included {
                Some(included) => self.inspect(assignment.lens, &Packet { file, text: &text, included }),
                None => FileInspection::NotPlanned,
            })
            .collect())
    }

    /// Collects the drafts and facts of each assignment in the order of files.
    fn collect(
        &self,
        selection: &Selection<'_>,
        outcomes: Vec<FileOutcome>,
    ) -> Result<Vec<SweptLens>, PortError> {
        let inspected = vec![None; outcomes.len()];
        let mut swept: Vec<SweptLens> = selection
            .assignments
            .iter()
            .map(|_| SweptLens {
                sweep: LensSweep { inspected: inspected.clone(), ..LensSweep::default() },
                facts: Vec::new(),
            })
            .collect();
        for (position, outcome) in outcomes.into_iter().enumerate() {
            let hunks = selection.at(position).map(|(_, included)| included.unwrap_or(&[]));
            for ((lens, inspection), hunks) in swept.iter_mut().zip(outcome).zip(hunks) {
                match inspection {
                    FileInspection::NotPlanned => {}
                    FileInspection::Panicked => lens.sweep.panicked = true,
                    FileInspection::Done(inspection) => {
                        if inspection.facts.iter().any(Fact::is_unread) {
                            lens.sweep.unread.push(position);
                        }
                        lens.sweep.drafts.extend(inspection.drafts);
                        lens.facts.extend(inspection.facts);
                        let count = hunks.iter().filter(|included| **included).count();
                        lens.sweep.inspected[position] = Some(count as u64);
                    }
                }
            }
        }
        Ok(swept)
    }

    /// Adds the drafts that lenses conclude from all their facts.
    fn conclude(
        &self,
        assignments: &[Assignment<'_>],
        swept: &mut [SweptLens],
        policy: &Policy,
        lookups: &dyn Lookups,
    ) -> Result<(), PortError> {
        let concluded = workers::each(assignments.len(), self.workers, |index| {
            let (lens, facts) = (assignments[index].lens, &swept[index].facts);
            Ok(catch_unwind(AssertUnwindSafe(|| {
                let mut drafts = lens.conclude(facts);
                drafts.extend(lens.look_up(facts, policy, lookups));
                drafts
            }))
            .ok())
        })?;
        for (lens, concluded) in swept.iter_mut().zip(concluded) {
            match concluded {
                Some(drafts) => lens.sweep.drafts.extend(drafts),
                None => lens.sweep.panicked = true,
            }
            lens.sweep.drafts = bounded(std::mem::take(&mut lens.sweep.drafts), PER_RULE);
        }
        Ok(())
    }

    /// Counts each quote of an assignment on removed lines, by running the lenses over the reversed change. Files whose
    /// changed lines do not have a quote are left out; other texts may be counted too. A file that a lens did not read at
    /// its old path is left out as well: text that no rule was applied to there excuses none elsewhere.
    pub(crate) fn count_moved(
        &self,
        assignments: &[Assignment<'_>],
        quotes: &[BTreeSet<String>],
        policy: &Policy,
    ) -> Result<Vec<MovedCounts>, PortError> {
        let reach: Vec<Reach> = assignments
            .iter()
            .map(|each| Reach::new(&each.plan.lens_id, each.lens.spec().triggers.iter().copied(), policy))
            .collect();
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
                let included = vec![true; file.hunks.len()];
                let packet = Packet { file, text: &text, included: &included };
                // A finding is explained in its own file by a removed one in other words too.
                let changed = packet.removed().chain(packet.added());
                let changed: String = changed.map(|line| normalized(line.text)).collect();
                let old_path = file.old_path.as_ref().unwrap_or(&file.path);
                let has_quote: Vec<bool> = quotes
                    .iter()
                    .zip(&reach)
                    .map(|(quotes, reach)| {
                        reach.has(old_path) && quotes.iter().any(|quote| changed.contains(quote.as_str()))
                    })
                    .collect();
                if !has_quote.contains(&true) {
                    return Ok(Vec::new());
                }
                let (file, text) = reversed(file, &text);
                let packet = Packet { file: &file, text: &text, included: &included };
                let path = &self.change_set.files[position].path;
                let places = Places::new(&file, &text);
                let removed = assignments.iter().zip(&has_quote).map(|(assignment, has_quote)| {
                    let drafts = match has_quote {
                        true => self.run_lens(assignment.lens, &packet).unwrap_or_default().drafts,
                        false => Vec::new(),
                    };
                    let texts = drafts
                        .into_iter()
                        .map(|draft| removed_text(assignment.lens, draft, path, &places, file.scope));
                    texts.collect::<Vec<RemovedText>>()
                });
                Ok(removed.collect::<Vec<_>>())
            },
        )?;
        let mut moved = vec![MovedCounts::default(); assignments.len()];
        for file in outcomes {
            for (counts, texts) in moved.iter_mut().zip(file) {
                for RemovedText { text, operand, times } in texts {
                    counts.add(text, operand, times);
                }
            }
        }
        Ok(moved)
    }

    /// Runs every assignment over the first files again, in reverse path order on one thread, and returns the digests of
    /// the outcomes. They equal those of the sweep, unless a lens keeps state between files.
    fn reversed_digests(
        &self,
        selection: &Selection<'_>,
        tested: usize,
    ) -> Result<Vec<Sha256Hex>, PortError> {
        let mut files: Vec<FileOutcome> = Vec::with_capacity(tested);
        for position in (0..tested).rev() {
            self.cancellation.check()?;
            let text = self.texts.text(position)?;
            let file = &self.change_set.files[position];
            let outcome = selection.at(position).map(|(assignment, included)| match included {
                Some(included) => self.inspect(assignment.lens, &Packet { file, text: &text, included }),
                None => FileInspection::NotPlanned,
            });
            files.push(outcome.collect());
        }
        let lenses = 0..selection.assignments.len();
        Ok(lenses.map(|index| digest(files.iter().rev().map(|outcome| &outcome[index]))).collect())
    }

    /// Returns the number of files that the self-test reads: the first up to its bound in bytes. Results of shards are
    /// tested over all files, so that a part that omits a finding is caught.
    fn self_test_files(&self, files: usize) -> Result<usize, PortError> {
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

/// Drafts of a lens with the facts that it concludes from.
struct SweptLens {
    sweep: LensSweep,
    facts: Vec<Fact>,
}

/// A finding on removed lines.
struct RemovedText {
    text: MovedText,
    operand: Option<Operand>,
    times: usize,
}

/// Returns the text of a draft about the reversed change; `path` is the file's at head.
fn removed_text(
    lens: &dyn Lens,
    draft: Draft,
    path: &RepoPath,
    places: &Places<'_>,
    scope: Scope,
) -> RemovedText {
    let operand = places.operand(lens, &draft, path);
    let times = texts(draft.detail.get(ALSO_ON_LINES));
    let text = MovedText {
        rule_id: draft.rule.into_owned(),
        scope,
        quote: identity(&draft.quote, draft.detail.get(EXPRESSION)),
        secret: draft.value,
    };
    RemovedText { text, operand, times }
}

/// Computes the digest of the outcomes of one assignment, file by file.
fn digest<'i>(outcomes: impl Iterator<Item = &'i FileInspection>) -> Sha256Hex {
    canonical::digest(&outcomes.collect::<Vec<_>>()).expect("drafts are made of JSON values")
}
