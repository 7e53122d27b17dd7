//! Derives a stored run again from its recording or from the repository, and finds the first difference.

use std::path::Path;

use super::drift::{self, Difference};
use super::exit::Failure;
use super::inputs::Opened;
use super::prepare::{gather, with_repository_ports};
use super::skill_input::{derived_input, recorded_overrides};
use super::store_run::{RunRecord, artifacts, derived_statement, for_each_recording, skill_result};
use crate::git::{GitObjects, OpenRepository, resolve};
use crate::store::{Entry, RunDirectory};
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, ChangedFile, Conclusion, ConfigPreimage, ExecutionKeyPreimage, FileText,
    Metrics, QaReport, RecordedExecution, RecordedInputs, RecordedLookups, Recording, SkillInput, Statement,
    Trace,
};
use qa_core::observer::is_decision_under;
use qa_core::policy::Policy;
use qa_core::sensitivity;
use qa_core::verdict::unread_files;
use qa_run::derive::{Outcome, derive};
use qa_run::gather::Gathered;
use qa_run::inputs::{Inputs, PolicyInForce, Ports};
use qa_run::keys::key;
use qa_run::lookup::TreeLookups;
use qa_run::plans::needs_whole_file;
use qa_run::ports::{Cancellation, Progress};
use qa_run::quoted_lines::recorded_lines;
use qa_run::survey::RecordedSurveys;

/// A run that was derived again.
pub(crate) struct Verified {
    pub(crate) input: SkillInput,
    pub(crate) run: RunDirectory,
    /// The derived result; it equals the stored one if there is no difference.
    pub(crate) conclusion: Conclusion,
    pub(crate) gaps: Gaps,
    pub(crate) key_preimage: ExecutionKeyPreimage,
    pub(crate) config_preimage: ConfigPreimage,
    /// The derived statement; `None` if the run does not record the tree of its head.
    pub(crate) statement: Option<Statement>,
    /// True if the base has a policy file.
    pub(crate) has_policy_file: bool,
    pub(crate) difference: Option<Difference>,
    /// Repository that texts were read from; `None` if they are those of the recording.
    pub(crate) repository: Option<OpenRepository>,
    /// Number of recorded texts with masked secrets, which only the repository can confirm.
    pub(crate) masked: usize,
}

/// Parts of the change that a run with a verdict did not inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// True if anything is missing.
    pub(crate) degraded: bool,
    /// Number of changed files that were not read in full.
    pub(crate) unread_files: usize,
}

/// Source of the change in a replay.
pub(crate) enum Source {
    /// The run directory's own recording.
    Recording,
    /// A repository that holds the commits.
    Repository(OpenRepository),
}

impl Source {
    /// Opens the repository at a path, if there is one.
    pub(crate) fn at(repository: Option<&Path>) -> Result<Self, Failure> {
        Ok(match repository {
            None => Self::Recording,
            Some(path) => Self::Repository(OpenRepository::discover(path)?),
        })
    }
}

/// Result of a replay.
pub(crate) struct Replayed {
    pub(crate) difference: Option<Difference>,
    pub(crate) key_preimage: ExecutionKeyPreimage,
    pub(crate) config_preimage: ConfigPreimage,
    pub(crate) conclusion: Conclusion,
    statement: Option<Statement>,
    gaps: Gaps,
    input: SkillInput,
    masked: usize,
    has_policy_file: bool,
    /// The repository of the source.
    repository: Option<OpenRepository>,
}

/// Returns the time limit that the policy of a stored run gave it; `None` where the directory is none of a run, which verifying
/// it reports.
#[cfg(feature = "mcp")]
pub(crate) fn recorded_deadline(directory: &Path) -> Option<std::time::Duration> {
    let run = RunDirectory::open(directory).ok()?;
    let (input, recorded): (SkillInput, RecordedInputs) = (run.artifact().ok()?, run.artifact().ok()?);
    let in_force =
        PolicyInForce::parse(recorded, &recorded_overrides(&input), &qa_lenses::registry()).ok()?;
    Some(std::time::Duration::from_secs(in_force.policy.limits.deadline_seconds))
}

/// Verifies a run directory, offline or against a repository.
pub(crate) fn verify(
    directory: &Path,
    source: Source,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Verified, Failure> {
    let run = RunDirectory::open(directory)?;
    let replayed = replay(&run, source, cancellation, progress)?;
    Ok(Verified {
        repository: replayed.repository,
        masked: replayed.masked,
        input: replayed.input,
        conclusion: replayed.conclusion,
        gaps: replayed.gaps,
        key_preimage: replayed.key_preimage,
        config_preimage: replayed.config_preimage,
        statement: replayed.statement,
        has_policy_file: replayed.has_policy_file,
        difference: replayed.difference,
        run,
    })
}

/// Recorded inputs and answers of a run directory, validated.
struct RecordedRun {
    skill_input: SkillInput,
    inputs: Inputs,
    texts: Vec<FileText>,
    lookups: RecordedLookups,
}

impl RecordedRun {
    fn open(run: &RunDirectory) -> Result<Self, Failure> {
        let skill_input: SkillInput = run.artifact()?;
        let change_set: ChangeSet = run.artifact()?;
        let registry = qa_lenses::registry();
        let overrides = recorded_overrides(&skill_input);
        let recorded: RecordedInputs = run.artifact()?;
        let observer = recorded.observer.clone();
        let in_force = PolicyInForce::parse(recorded, &overrides, &registry)?;
        if !is_decision_under(observer.as_ref(), &in_force.policy) {
            let message = "the recording's decision of the observer is none that its policy asks for";
            return Err(Failure::with_code(Code::RecordingMissing, message));
        }
        let texts = read_texts(run, &change_set, &in_force.policy)?;
        let inputs = Inputs {
            // The policy's id takes precedence over the recorded one.
            repo_id: in_force.policy.repo_id.as_ref().unwrap_or(&skill_input.repo_id).clone(),
            sensitivity: change_sensitivity(&change_set, &texts),
            gates: run.artifact_or_default()?,
            execution: run.artifact_or_default()?,
            replies: run.artifact_or_default()?,
            observer,
            overrides,
            registry,
            in_force,
            change_set,
        };
        Ok(Self { skill_input, inputs, texts, lookups: run.artifact_or_default()? })
    }

    /// Calls `then` with ports that answer from this recording.
    fn with_ports<T>(
        &self,
        cancellation: &Cancellation,
        progress: &dyn Progress,
        then: impl FnOnce(&Ports<'_>) -> T,
    ) -> T {
        let files = &self.inputs.change_set.files;
        then(&Ports {
            texts: &self.texts,
            surveys: &RecordedSurveys(&self.inputs.in_force.texts.surveys),
            lookups: &TreeLookups::from_recording(&self.lookups),
            lines: &|path, side, start, end| recorded_lines(files, &self.texts, path, side, start, end),
            joined: None,
            cancellation,
            progress,
        })
    }
}

fn change_sensitivity(change_set: &ChangeSet, texts: &[FileText]) -> ChangeSensitivity {
    let files = change_set.files.iter().zip(texts);
    let scores = files.map(|(file, text)| sensitivity::file_sensitivity(file, text)).collect();
    sensitivity::change_sensitivity(&change_set.files, scores)
}

/// Derives an opened run again and compares the files.
pub(crate) fn replay(
    run: &RunDirectory,
    source: Source,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Replayed, Failure> {
    let recording = RecordedRun::open(run)?;
    let masked = recording.texts.iter().filter(|text| !text.secrets.is_empty()).count();
    let replay = Replay { run, recording: &recording, cancellation, progress };
    let (Comparison { difference, facts }, repository) = match source {
        Source::Recording => (replay.replay_recording()?, None),
        Source::Repository(repository) => {
            let (comparison, repository) = replay.replay_repository(repository)?;
            (comparison, Some(repository))
        }
    };
    let Facts { key_preimage, config_preimage, conclusion, gaps, statement } = facts;
    let has_policy_file = recording.inputs.in_force.texts.base_policy.is_some();
    let input = recording.skill_input;
    Ok(Replayed {
        difference,
        key_preimage,
        config_preimage,
        conclusion,
        statement,
        gaps,
        input,
        masked,
        has_policy_file,
        repository,
    })
}

/// Calls `then` with the recorded inputs of a run and ports that answer from its recording.
pub(crate) fn with_recording<T>(
    run: &RunDirectory,
    cancellation: &Cancellation,
    progress: &dyn Progress,
    then: impl FnOnce(&Inputs, &Ports<'_>) -> T,
) -> Result<T, Failure> {
    let recording = RecordedRun::open(run)?;
    Ok(recording.with_ports(cancellation, progress, |ports| then(&recording.inputs, ports)))
}

/// Facts of an outcome that are needed after its files are rendered.
struct Facts {
    key_preimage: ExecutionKeyPreimage,
    config_preimage: ConfigPreimage,
    conclusion: Conclusion,
    gaps: Gaps,
    statement: Option<Statement>,
}

impl Facts {
    fn new(outcome: &Outcome, statement: Option<Statement>) -> Self {
        Self {
            statement,
            key_preimage: outcome.key_preimage.clone(),
            config_preimage: outcome.config_preimage.clone(),
            conclusion: outcome.verdict.conclusion,
            gaps: Gaps {
                degraded: outcome.verdict.degraded,
                unread_files: unread_files(&outcome.plans).len(),
            },
        }
    }
}

/// Result of a derivation, compared with the stored files.
struct Comparison {
    difference: Option<Difference>,
    facts: Facts,
}

/// Files of a run that was derived again.
struct DerivedFiles {
    entries: Vec<Entry>,
    statement: Option<Statement>,
}

struct Replay<'a> {
    run: &'a RunDirectory,
    recording: &'a RecordedRun,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
}

impl Replay<'_> {
    fn replay_recording(&self) -> Result<Comparison, Failure> {
        let inputs = &self.recording.inputs;
        let outcome = self.recording.with_ports(self.cancellation, self.progress, |ports| {
            derive(inputs, ports, key(inputs, ports))
        })?;
        // Surveys and texts come from the recording, so they are not compared with it.
        let derived = self.derived_files(inputs, &outcome)?;
        self.compare(&outcome, derived, &self.run.recordings())
    }

    /// Derives the run from a repository, which is returned for the next one.
    fn replay_repository(&self, repository: OpenRepository) -> Result<(Comparison, OpenRepository), Failure> {
        let recorded = &self.recording.inputs;
        let (base, head) = (&recorded.change_set.base_sha, &recorded.change_set.head_sha);
        let objects = GitObjects::new(&repository)?;
        // Merge bases and merges are computed again: a run over others may judge less.
        let test_merge = self.recording.skill_input.test_merge_sha.as_ref();
        let resolved = resolve(&repository, Some(base.as_str()), head.as_str(), test_merge)?;
        let opened = Opened { repository, objects, resolved };
        let in_force = super::inputs::read_policy(
            &opened.objects,
            opened.resolved.sides(),
            &recorded.overrides,
            &recorded.registry,
        )?;
        let Gathered { change_set, sensitivity, texts } =
            gather(&opened, &in_force, self.cancellation, self.progress)?;
        // Outputs of commands come from the recording; the manifests that decide which commands run are read again.
        let manifests = super::prepare::manifests(&opened, &in_force.policy, &change_set)?;
        let execution = RecordedExecution {
            head_files: manifests.head_files,
            base_files: manifests.base_files,
            ..recorded.execution.clone()
        };
        let inputs = Inputs { in_force, change_set, sensitivity, execution, ..recorded.clone() };
        let outcome =
            with_repository_ports(&opened, &inputs, &texts, self.cancellation, self.progress, |ports| {
                derive(&inputs, ports, key(&inputs, ports))
            })?;
        let mut derived = self.derived_files(&inputs, &outcome)?;
        for_each_recording(&inputs.change_set, &texts, |entry| {
            derived.entries.push(entry);
            Ok(())
        })?;
        Ok((self.compare(&outcome, derived, &[])?, opened.repository))
    }

    /// Compares derived files with the stored ones, and at last the statement, which follows from all of them.
    fn compare(
        &self,
        outcome: &Outcome,
        derived: DerivedFiles,
        inputs: &[String],
    ) -> Result<Comparison, Failure> {
        let DerivedFiles { entries, statement } = derived;
        let mut difference = drift::compare_entries(self.run, &entries, inputs)?;
        if difference.is_none() {
            let entry = statement.as_ref().map(Entry::artifact).transpose()?;
            difference = drift::compare_statement(self.run, entry.as_ref().map(Entry::bytes).as_deref())?;
        }
        Ok(Comparison { difference, facts: Facts::new(outcome, statement) })
    }

    /// Renders the files of the run, with volatile members taken from the recording.
    fn derived_files(&self, inputs: &Inputs, outcome: &Outcome) -> Result<DerivedFiles, Failure> {
        let metrics: Metrics = self.run.artifact()?;
        let trace: Trace = self.run.artifact()?;
        let written_at = if self.run.has(QaReport::FILE) {
            self.run.artifact::<QaReport>()?.timestamp
        } else {
            String::new()
        };
        let stored = &self.recording.skill_input;
        let skill_input = SkillInput {
            repo_root: stored.repo_root.clone(),
            base_ref: stored.base_ref.clone(),
            head_ref: stored.head_ref.clone(),
            test_merge_sha: stored.test_merge_sha.clone(),
            artifact_root: stored.artifact_root.clone(),
            settings: stored.settings.clone(),
            ..derived_input(inputs, &outcome.key_preimage, &outcome.bindings)
        };
        let record = RunRecord {
            skill_input: &skill_input,
            inputs,
            outcome,
            machine: metrics.machine,
            written_at,
            base_rule: &trace.base_rule,
            base_codes: &trace.base_codes,
            refresh: false,
            artifact_root: Path::new(""),
            cancellation: self.cancellation,
        };
        let mut entries = Vec::new();
        let result = skill_result(&skill_input, outcome);
        artifacts(&record, &result, Vec::new(), inputs.in_force.policy.max_concurrency, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        // The digest of derived files that differ from the stored ones does not matter.
        let statement = derived_statement(&record, &result, &self.run.hashes.run_digest);
        Ok(DerivedFiles { entries, statement })
    }
}

fn read_texts(run: &RunDirectory, change_set: &ChangeSet, policy: &Policy) -> Result<Vec<FileText>, Failure> {
    let mut texts: Vec<Option<FileText>> = change_set.files.iter().map(|_| None).collect();
    for name in run.recordings() {
        let recording: Recording = run.artifact_at(&name)?;
        for recorded in recording.files {
            let position = change_set.files.binary_search_by(|file| file.path.cmp(&recorded.file));
            match position {
                Ok(position) if texts[position].is_none() => texts[position] = Some(recorded.text),
                _ => {
                    let message =
                        format!("{name} has a text for {} that the change does not have", recorded.file);
                    return Err(Failure::with_code(Code::ArtifactSchemaInvalid, message));
                }
            }
        }
    }
    let mut complete = Vec::with_capacity(texts.len());
    for (file, text) in change_set.files.iter().zip(texts) {
        let text = match text {
            Some(text) => text,
            None if file.hunks.is_empty() => FileText::default(),
            None => {
                let message = format!("the text of {} is not in the recording", file.path);
                return Err(Failure::with_code(Code::RecordingMissing, message));
            }
        };
        if file.text && needs_whole_file(policy)(file, &text) && !text.has_whole_file() {
            let message = format!("the whole text of {} is not in the recording", file.path);
            return Err(Failure::with_code(Code::RecordingMissing, message));
        }
        if !has_valid_offsets(file, &text) {
            let message = format!("the recorded text of {} does not match its hunks", file.path);
            return Err(Failure::with_code(Code::ArtifactSchemaInvalid, message));
        }
        complete.push(text);
    }
    Ok(complete)
}

/// Returns whether every offset of a recorded text is in order and on a character boundary.
fn has_valid_offsets(file: &ChangedFile, text: &FileText) -> bool {
    let mut last = 0;
    let ordered =
        text.cuts.iter().flat_map(|cuts| [cuts.before, cuts.removed, cuts.added, cuts.after]).all(|offset| {
            let in_order = offset >= last && text.text.is_char_boundary(offset as usize);
            last = offset;
            in_order
        });
    let secrets = text.secrets.iter().all(|secret| {
        use qa_contracts::v1::TextPlace;
        let place = match secret.place {
            TextPlace::Hunks => Some(&text.text),
            TextPlace::FullBase => text.full_base.as_ref(),
            TextPlace::FullHead => text.full_head.as_ref(),
        };
        let Some(place) = place else { return false };
        secret.start <= secret.end
            && place.is_char_boundary(secret.start as usize)
            && place.is_char_boundary(secret.end as usize)
    });
    ordered && secrets && text.cuts.len() == file.hunks.len()
}
