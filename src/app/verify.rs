//! Derives a stored run once more from what it recorded and names the first difference.

use std::path::Path;

use super::check::{derived_input, gather};
use super::derive::{Derived, Recorded, derive, key, needs_whole_file};
use super::drift::{self, Difference};
use super::evidence::{BlobLines, recorded_lines};
use super::exit::Failure;
use super::inputs::{InForce, Opened, in_force};
use super::store_run::{Outcome, artifacts, for_each_recording, skill_result};
use crate::git::{GitObjects, OpenRepository, resolve};
use crate::store::{Entry, RunDirectory};
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, ChangedFile, Conclusion, ConfigPreimage, ExecutionKeyPreimage, FileText,
    Metrics, QaReport, RecordedExecution, RecordedGates, RecordedInputs, RecordedLookups, RecordedReplies,
    Recording, Registry, SkillInput, Trace,
};
use qa_core::policy::{Overrides, Policy};
use qa_core::sensitivity;
use qa_core::verdict::unread_files;
use qa_run::gather::{Gathered, Texts};
use qa_run::lookup::{Answering, Asked, Trees};
use qa_run::ports::{Cancellation, Progress};
use qa_run::survey::{BaseSurveys, RecordedSurveys, Surveys};

/// A run that was derived once more.
pub(crate) struct Verified {
    pub(crate) input: SkillInput,
    pub(crate) run: RunDirectory,
    /// As derived, which is as stored where there is no difference.
    pub(crate) conclusion: Conclusion,
    pub(crate) gaps: Gaps,
    /// The digest over the effective policy.
    pub(crate) policy_hash: Sha256Hex,
    /// True if the base has a policy file.
    pub(crate) has_policy_file: bool,
    pub(crate) difference: Option<Difference>,
    /// Whether texts were read from the repository and not from the recording.
    pub(crate) from_repository: bool,
    /// How many recorded texts have masked secrets in them, which only the repository can confirm.
    pub(crate) masked: usize,
}

/// What a run did not look at although its verdict stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// True if anything is missing.
    pub(crate) degraded: bool,
    /// Number of changed files that were not read in full.
    pub(crate) unread_files: usize,
}

/// Where a replay reads the change.
pub(crate) enum Source {
    /// The run directory's own recording.
    Recording,
    /// A repository that holds the commits.
    Repository(OpenRepository),
}

/// What a replay gave.
pub(crate) struct Replayed {
    pub(crate) difference: Option<Difference>,
    pub(crate) key_preimage: ExecutionKeyPreimage,
    pub(crate) config_preimage: ConfigPreimage,
    pub(crate) conclusion: Conclusion,
    gaps: Gaps,
    input: SkillInput,
    masked: usize,
    has_policy_file: bool,
}

/// Verifies a run directory, offline or against a repository.
pub(crate) fn verify(
    directory: &Path,
    repository: Option<&Path>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Verified, Failure> {
    let run = RunDirectory::open(directory)?;
    let source = match repository {
        None => Source::Recording,
        Some(path) => Source::Repository(OpenRepository::discover(path)?),
    };
    let replayed = replay(&run, source, cancellation, progress)?;
    Ok(Verified {
        from_repository: repository.is_some(),
        masked: replayed.masked,
        input: replayed.input,
        conclusion: replayed.conclusion,
        gaps: replayed.gaps,
        policy_hash: replayed.config_preimage.policy_hash,
        has_policy_file: replayed.has_policy_file,
        difference: replayed.difference,
        run,
    })
}

/// What a run directory holds, read and checked.
struct Loaded {
    input: SkillInput,
    change_set: ChangeSet,
    recorded: RecordedInputs,
    gates: RecordedGates,
    execution: RecordedExecution,
    replies: RecordedReplies,
    lookups: RecordedLookups,
    registry: Registry,
    overrides: Overrides,
    in_force: InForce,
    texts: Vec<FileText>,
}

impl Loaded {
    fn of(run: &RunDirectory) -> Result<Self, Failure> {
        /// An artifact, or what stands for one that a run has no need of.
        fn or_default<T: Artifact + Default>(run: &RunDirectory) -> Result<T, Failure> {
            Ok(if run.has(T::FILE) { run.artifact()? } else { T::default() })
        }
        let input: SkillInput = run.artifact()?;
        let change_set: ChangeSet = run.artifact()?;
        let recorded: RecordedInputs = run.artifact()?;
        let registry = qa_lenses::registry();
        let overrides = Overrides {
            mode: input.overrides.mode,
            preset: input.overrides.preset,
            max_concurrency: Some(input.max_concurrency),
            lens_ids: input.requested_lens_ids.clone(),
        };
        let in_force = in_force(recorded.clone(), &overrides, &registry)?;
        let texts = read_texts(run, &change_set, &in_force.policy)?;
        Ok(Self {
            gates: or_default(run)?,
            execution: or_default(run)?,
            replies: or_default(run)?,
            lookups: or_default(run)?,
            input,
            change_set,
            recorded,
            registry,
            overrides,
            in_force,
            texts,
        })
    }
}

/// Derives an opened run once more and compares.
pub(crate) fn replay(
    run: &RunDirectory,
    source: Source,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Replayed, Failure> {
    let loaded = Loaded::of(run)?;
    let masked = loaded.texts.iter().filter(|text| !text.secrets.is_empty()).count();
    let replay = Replay { run, loaded: &loaded, cancellation, progress };
    let (difference, derived) = match source {
        Source::Recording => replay.offline()?,
        Source::Repository(repository) => replay.live(repository)?,
    };
    let Facts { key_preimage, config_preimage, conclusion, gaps } = derived;
    let has_policy_file = loaded.recorded.base_policy.is_some();
    let input = loaded.input;
    Ok(Replayed {
        difference,
        key_preimage,
        config_preimage,
        conclusion,
        gaps,
        input,
        masked,
        has_policy_file,
    })
}

/// Lends what a run recorded, as a derivation gets it.
pub(crate) fn with_recorded<T>(
    run: &RunDirectory,
    cancellation: &Cancellation,
    progress: &dyn Progress,
    then: impl FnOnce(&Recorded<'_>) -> T,
) -> Result<T, Failure> {
    let loaded = Loaded::of(run)?;
    Ok(Replay { run, loaded: &loaded, cancellation, progress }.offline_with(then))
}

/// What a derivation says of itself, kept when the rest of it has become files.
struct Facts {
    key_preimage: ExecutionKeyPreimage,
    config_preimage: ConfigPreimage,
    conclusion: Conclusion,
    gaps: Gaps,
}

impl Facts {
    fn of(derived: &Derived) -> Self {
        Self {
            key_preimage: derived.key_preimage.clone(),
            config_preimage: derived.config_preimage.clone(),
            conclusion: derived.verdict.conclusion,
            gaps: Gaps {
                degraded: derived.verdict.degraded,
                unread_files: unread_files(&derived.plans).len(),
            },
        }
    }
}

struct Replay<'a> {
    run: &'a RunDirectory,
    loaded: &'a Loaded,
    cancellation: &'a Cancellation,
    progress: &'a dyn Progress,
}

impl Replay<'_> {
    fn offline(&self) -> Result<(Option<Difference>, Facts), Failure> {
        let change_set = &self.loaded.change_set;
        let sensitivity = self.sensitivity();
        let derived = self.offline_with(|recorded| derive(recorded, key(recorded)))?;
        let facts = Facts::of(&derived);
        let entries = self.entries(change_set, &sensitivity, derived, &self.loaded.execution)?;
        Ok((drift::compare_entries(self.run, &entries, &self.run.recordings())?, facts))
    }

    fn sensitivity(&self) -> ChangeSensitivity {
        let files = &self.loaded.change_set.files;
        let scores = files
            .iter()
            .zip(&self.loaded.texts)
            .map(|(file, text)| sensitivity::file_sensitivity(file, text))
            .collect();
        sensitivity::change_sensitivity(files, scores)
    }

    fn offline_with<T>(&self, then: impl FnOnce(&Recorded<'_>) -> T) -> T {
        let Loaded { change_set, recorded, lookups, texts, execution, .. } = self.loaded;
        let sensitivity = self.sensitivity();
        let surveys = RecordedSurveys(&recorded.surveys);
        let lines =
            |path: &_, side, start, end| recorded_lines(&change_set.files, texts, path, side, start, end);
        let asked = Asked::of_record(lookups);
        let asking = (&surveys as &dyn Surveys, &asked as &dyn Answering);
        then(&self.recorded(change_set, &sensitivity, texts, asking, &lines, execution))
    }

    fn live(&self, repository: OpenRepository) -> Result<(Option<Difference>, Facts), Failure> {
        let recorded = &self.loaded.change_set;
        let objects = GitObjects::new(&repository)?;
        // The merge base is found again: a run over another one would have judged less.
        let resolved = resolve(&repository, Some(recorded.base_sha.as_str()), recorded.head_sha.as_str())?;
        let opened = Opened { repository, objects, resolved };
        let fresh = super::inputs::read_policy(
            &opened.objects,
            opened.resolved.sides(),
            &self.loaded.overrides,
            &self.loaded.registry,
        )?;
        let Gathered { change_set, sensitivity, texts } =
            gather(&opened, &fresh, self.cancellation, self.progress)?;
        let surveys = BaseSurveys {
            objects: &opened.objects,
            base: &opened.resolved.base,
            globs: self.loaded.in_force.policy.scope_globs(),
        };
        let blob_lines = BlobLines::new(
            &opened.objects,
            &change_set.files,
            self.loaded.in_force.policy.limits.max_blob_bytes,
        );
        let lines = |path: &_, side, start, end| blob_lines.lines(path, side, start, end);
        // What commands left is taken from the record; which there had to be is found out again.
        let found = super::prepare::manifests(&opened, &fresh.policy, &change_set)?;
        let execution = RecordedExecution {
            head_files: found.head_files,
            base_files: found.base_files,
            ..self.loaded.execution.clone()
        };
        let asked = Asked::of_trees(Trees {
            objects: &opened.objects,
            merge_base: &change_set.merge_base_sha,
            head: &change_set.head_sha,
            workers: fresh.policy.max_concurrency,
            cancellation: self.cancellation,
        });
        let asking = (&surveys as &dyn Surveys, &asked as &dyn Answering);
        let recorded = self.recorded(&change_set, &sensitivity, &texts, asking, &lines, &execution);
        let derived = derive(&recorded, key(&recorded))?;
        let recorded_inputs = RecordedInputs { surveys: derived.surveys.clone(), ..fresh.recorded };
        let facts = Facts::of(&derived);
        let mut entries = self.entries(&change_set, &sensitivity, derived, &execution)?;
        entries.retain(|entry| entry.path != <RecordedInputs as qa_contracts::artifact::Artifact>::FILE);
        entries.push(Entry::artifact(&recorded_inputs)?);
        for_each_recording(&change_set, &texts, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok((drift::compare_entries(self.run, &entries, &[])?, facts))
    }

    fn recorded<'s>(
        &'s self,
        change_set: &'s ChangeSet,
        sensitivity: &'s ChangeSensitivity,
        texts: &'s dyn Texts,
        (surveys, lookups): (&'s dyn Surveys, &'s dyn Answering),
        lines: &'s qa_core::crosscheck::LineReader<'s>,
        execution: &'s RecordedExecution,
    ) -> Recorded<'s> {
        let loaded = self.loaded;
        Recorded {
            // A policy that names the repository is about no other.
            repo_id: loaded.in_force.policy.repo_id.as_ref().unwrap_or(&loaded.input.repo_id),
            change_set,
            sensitivity,
            texts,
            inputs: &loaded.in_force.recorded,
            policy: &loaded.in_force.policy,
            waivers: &loaded.in_force.waivers,
            rubric: loaded.in_force.rubric.as_ref(),
            overrides: &loaded.overrides,
            registry: &loaded.registry,
            surveys,
            lookups,
            gates: &loaded.gates,
            execution,
            replies: &loaded.replies,
            lines,
            cancellation: self.cancellation,
            progress: self.progress,
            joined: None,
        }
    }

    /// The files this run would write, with what differs by nature taken from the recording.
    fn entries(
        &self,
        change_set: &ChangeSet,
        sensitivity: &ChangeSensitivity,
        derived: Derived,
        execution: &RecordedExecution,
    ) -> Result<Vec<Entry>, Failure> {
        let metrics: Metrics = self.run.artifact()?;
        let trace: Trace = self.run.artifact()?;
        let written_at = if self.run.has(QaReport::FILE) {
            self.run.artifact::<QaReport>()?.timestamp
        } else {
            String::new()
        };
        let policy = &self.loaded.in_force.policy;
        let stored = &self.loaded.input;
        let input = SkillInput {
            repo_root: stored.repo_root.clone(),
            base_ref: stored.base_ref.clone(),
            head_ref: stored.head_ref.clone(),
            artifact_root: stored.artifact_root.clone(),
            settings: stored.settings.clone(),
            ..derived_input(policy, &self.loaded.overrides, change_set, &derived)
        };
        let result = skill_result(&input, &derived);
        let recorded_inputs =
            RecordedInputs { surveys: derived.surveys.clone(), ..self.loaded.in_force.recorded.clone() };
        let mut entries = Vec::new();
        artifacts(
            &Outcome {
                input: &input,
                change_set,
                sensitivity,
                registry: &self.loaded.registry,
                derived: &derived,
                recorded_inputs: &recorded_inputs,
                recorded_gates: &self.loaded.gates,
                recorded_execution: execution,
                recorded_replies: &self.loaded.replies,
                machine: metrics.machine,
                written_at,
                base_rule: &trace.base_rule,
                base_codes: &trace.base_codes,
                refresh: false,
                artifact_root: Path::new(""),
                cancellation: self.cancellation,
            },
            &result,
            Vec::new(),
            policy.max_concurrency,
            |entry| {
                entries.push(entry);
                Ok(())
            },
        )?;
        Ok(entries)
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
        if !fits(file, &text) {
            let message = format!("the recorded text of {} does not fit its hunks", file.path);
            return Err(Failure::with_code(Code::ArtifactSchemaInvalid, message));
        }
        complete.push(text);
    }
    Ok(complete)
}

/// Whether every offset of a recorded text is in order and on a character boundary.
fn fits(file: &ChangedFile, text: &FileText) -> bool {
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
        place.is_some_and(|place| {
            secret.start <= secret.end
                && place.is_char_boundary(secret.start as usize)
                && place.is_char_boundary(secret.end as usize)
        })
    });
    ordered && secrets && text.cuts.len() == file.hunks.len()
}
