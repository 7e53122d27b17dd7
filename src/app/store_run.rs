//! Writes an outcome to a run directory and publishes it, or confirms that an existing run of the key is equal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::drift;
use super::exit::Failure;
use super::skill_input::normalized_input_hash;
use crate::git::Uncommitted;
use crate::store::{ArtifactRoot, Entry, PartedEntry, PublishedRun, RunDirectory, RunWriter, StoreError};
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::limits::RECORDING_CHUNK_BYTES;
use qa_contracts::v1::{
    ChangeSet, FileText, Hashes, LensPlanList, LensResult, LensResultList, MachineCounters, Metrics,
    RecordedInputs, Recording, RecordingTag, ReviewRecord, RunPhase, SkillInput, SkillResult, Statement,
    Trace, TraceEvent, TraceMachine,
};
use qa_core::attestation::{Judgement, statement};
use qa_core::findings::{all_places, places};
use qa_core::phases::{self, RunEvent};
use qa_core::pictures::Picture;
use qa_core::qa_report::{RunDetails, qa_report};
use qa_formats::contract::{Report, TerminalStyle};
use qa_run::derive::Outcome;
use qa_run::gates::{FeatureEvidence, current_feature};
use qa_run::gather::Texts;
use qa_run::inputs::Inputs;
use qa_run::ports::Cancellation;
use qa_run::workers;

/// A derived run, with the facts that are stored with it.
pub(crate) struct RunRecord<'a> {
    pub(crate) skill_input: &'a SkillInput,
    pub(crate) inputs: &'a Inputs,
    pub(crate) outcome: &'a Outcome,
    pub(crate) machine: MachineCounters,
    /// Current time as `YYYY-MM-DDThh:mm:ssZ`; the verdict does not depend on it.
    pub(crate) written_at: String,
    pub(crate) base_rule: &'a str,
    pub(crate) base_codes: &'a [Code],
    pub(crate) refresh: bool,
    /// Directory that the run is stored in. The input records it escaped for display, so it cannot be used as a path.
    pub(crate) artifact_root: &'a Path,
    pub(crate) cancellation: &'a Cancellation,
}

impl RunRecord<'_> {
    /// Returns the recorded texts of policy and waivers, with the surveys that plans asked for.
    pub(crate) fn recorded_inputs(&self) -> RecordedInputs {
        RecordedInputs {
            surveys: self.outcome.surveys.clone(),
            observer: self.inputs.observer.clone(),
            ..self.inputs.in_force.texts.clone()
        }
    }
}

/// A stored run.
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) run_digest: Sha256Hex,
    /// True if an earlier run of the same key exists and has the same result.
    pub(crate) replayed: bool,
}

/// Stores a run. An existing run of the same key is compared with it: a difference is drift. Texts that fill more than one
/// file are written first and dropped, which frees memory for large artifacts.
pub(crate) fn store(
    record: &RunRecord<'_>,
    result: &SkillResult,
    texts: impl Texts,
    workers: u64,
) -> Result<Stored, Failure> {
    let root = ArtifactRoot::prepare(record.artifact_root)?;
    let key = &record.outcome.key;
    let existing = root.run(key);
    let mut writer = RunWriter::begin(&root, key)?;
    let change_set = &record.inputs.change_set;
    if fills_one_file(change_set, &texts)? {
        let make: MakeFile<'_> = Box::new(|| only_recording(change_set, &texts));
        artifacts(record, result, vec![make], workers, |entry| Ok(writer.add(&entry)?))?;
    } else {
        for_each_recording(change_set, &texts, |entry| {
            record.cancellation.check()?;
            Ok(writer.add(&entry)?)
        })?;
        drop(texts);
        artifacts(record, result, Vec::new(), workers, |entry| Ok(writer.add(&entry)?))?;
    }
    let statement = derived_statement(record, result, &writer.run_digest());
    let statement = statement.map(|statement| Entry::artifact(&statement)).transpose()?;
    if let Some(statement) = &statement {
        writer.add_beside_digest(statement)?;
    }
    record.cancellation.check()?;
    let PublishedRun { path, hashes } = loop {
        if record.refresh {
            break writer.publish_attempt()?;
        }
        if std::fs::symlink_metadata(&existing).is_ok() {
            return compare_with_existing(&existing, writer, statement.as_ref());
        }
        // `None` if another process has just published a run of this key, which is compared then.
        if let Some(published) = writer.publish()? {
            break published;
        }
    };
    reread(&path, &hashes)?;
    Ok(Stored { path, run_digest: hashes.run_digest, replayed: false })
}

/// Compares a new run with the stored one of its key.
fn compare_with_existing(
    existing: &Path,
    mut writer: RunWriter<'_>,
    statement: Option<&Entry>,
) -> Result<Stored, Failure> {
    let before = RunDirectory::open(existing)?;
    let run_digest = writer.run_digest();
    if before.hashes.run_digest == run_digest {
        if let Some(difference) = drift::compare_statement(&before, statement.map(Entry::bytes).as_deref())? {
            return Err(other_result(&before.hashes, &difference.to_string()));
        }
        return Ok(Stored { path: existing.to_owned(), run_digest, replayed: true });
    }
    let PublishedRun { path, hashes } = writer.publish_attempt()?;
    let difference = drift::compare(&before, &RunDirectory::open(&path)?)?;
    let difference = match difference {
        Some(difference) => difference.to_string(),
        None => "the digests differ".to_owned(),
    };
    Err(other_result(&hashes, &difference))
}

fn other_result(hashes: &Hashes, difference: &str) -> Failure {
    let key = hashes.execution_key.short();
    let message = format!("an earlier run of {key} has another result: {difference}");
    Failure::with_code(Code::DeterminismDriftDetected, message)
}

/// Returns the statement of a run whose files have a digest; `None` if the tree of its head is not recorded.
pub(crate) fn derived_statement(
    record: &RunRecord<'_>,
    result: &SkillResult,
    run_digest: &Sha256Hex,
) -> Option<Statement> {
    statement(&Judgement {
        repo_id: &record.skill_input.repo_id,
        change_set: &record.inputs.change_set,
        config: &record.outcome.config_preimage,
        result,
        run_digest,
    })
}

/// Reads a stored run back and verifies it, before the verdict is reported.
fn reread(path: &Path, written: &Hashes) -> Result<(), StoreError> {
    let run = RunDirectory::open(path)?;
    debug_assert_eq!(run.hashes, *written);
    run.artifact::<SkillResult>().map(|_| ())
}

/// Returns the result of a run that is not stored, as one whose head is no commit. It is validated as a stored one.
pub(crate) fn unstored_result(
    input: &SkillInput,
    outcome: &mut Outcome,
    content: Option<Uncommitted>,
) -> Result<SkillResult, Failure> {
    let warnings = &mut outcome.verdict.warning_codes;
    warnings.extend(content.map(|content| match content {
        Uncommitted::Staged => Code::StagedJudged,
        Uncommitted::Worktree => Code::WorktreeJudged,
    }));
    warnings.sort();
    let result = skill_result(input, outcome);
    Entry::artifact(&result)?;
    Ok(result)
}

/// Returns the outcome as one contract value.
pub(crate) fn skill_result(input: &SkillInput, outcome: &Outcome) -> SkillResult {
    SkillResult {
        schema_version: Default::default(),
        execution_key: outcome.key.clone(),
        normalized_input_hash: normalized_input_hash(input),
        lens_plans: outcome.plans.clone(),
        lens_results: outcome.results.clone(),
        final_verdict: outcome.verdict.clone(),
    }
}

/// Maximum number of files that are held in memory while they are rendered.
const MAX_RENDERED: u64 = 4;

/// Renders a file of a run directory, or returns `None` if the run needs no such file.
pub(crate) type MakeFile<'m> = Box<dyn Fn() -> Result<Option<Entry>, Failure> + Sync + 'm>;

fn always<'m>(make: impl Fn() -> Result<Entry, StoreError> + Sync + 'm) -> MakeFile<'m> {
    Box::new(move || Ok(Some(make()?)))
}

/// Renders an artifact unless it is the default.
fn unless_empty<A: Artifact + Default + PartialEq + Sync>(artifact: &A) -> MakeFile<'_> {
    Box::new(move || (*artifact != A::default()).then(|| Ok(Entry::artifact(artifact)?)).transpose())
}

/// Renders all files except the recorded texts, and `more` files, on several threads in any order. `each` gets them on this
/// thread. A large change takes seconds to validate and render, so each file checks for cancellation first.
pub(crate) fn artifacts(
    record: &RunRecord<'_>,
    result: &SkillResult,
    more: Vec<MakeFile<'_>>,
    workers: u64,
    mut each: impl FnMut(Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let outcome = record.outcome;
    let report = Report {
        input: record.skill_input,
        result,
        change_set: &record.inputs.change_set,
        coverage: &outcome.coverage,
        cross_check: &outcome.cross_check,
        sensitivity: &record.inputs.sensitivity,
        registry: &record.inputs.registry,
        texts: &outcome.texts,
        screenshots: &outcome.screenshots,
        base: None,
        links: None,
        since_push: None,
        run_directory: None,
        replayed: false,
        terminal: TerminalStyle { color: false, width: 100 },
    };
    // The slowest files come first.
    let mut files = more;
    files.push(unless_empty(&outcome.lookups));
    files.push(always(|| Entry::artifact(&record.inputs.change_set)));
    files.push(always(|| Entry::artifact(result)));
    for format in qa_formats::ALL {
        if let Some(file) = format.spec().file {
            files.push(always(|| Ok(Entry::report(file, format.render(&report)))));
        }
    }
    files.push(always(|| Entry::artifact(&outcome.coverage)));
    files.push(always(|| {
        let lens_plans = outcome.plans.clone();
        Entry::artifact(&LensPlanList { schema_version: Default::default(), lens_plans })
    }));
    files.push(always(|| {
        let lens_results = outcome.results.clone();
        Entry::artifact(&LensResultList { schema_version: Default::default(), lens_results })
    }));
    files.push(unless_empty(&record.inputs.gates));
    files.push(unless_empty(&record.inputs.execution));
    files.push(unless_empty(&record.inputs.replies));
    files.push(always(|| Entry::artifact(&record.inputs.sensitivity)));
    files.push(always(|| Entry::artifact(record.skill_input)));
    files.push(always(|| Entry::artifact(&outcome.verdict)));
    files.push(always(|| Entry::artifact(&outcome.cross_check)));
    files.push(always(|| Entry::artifact(&metrics(record))));
    files.push(always(|| Entry::artifact(&trace(record))));
    files.push(always(|| Entry::artifact(&record.recorded_inputs())));
    files.push(Box::new(|| {
        let report = qa_report(&outcome.plans, &outcome.results, run_details(record));
        report.map(|report| Ok(Entry::artifact(&report)?)).transpose()
    }));
    let pictures = outcome.screenshots.iter().filter_map(|one| one.picture.as_ref().ok());
    // Different tests may have the same picture.
    let pictures: BTreeMap<String, &Picture> = pictures.map(|picture| (picture.file(), picture)).collect();
    for (file, picture) in pictures {
        files.push(always(move || Ok(Entry::report(&file, picture.bytes.clone()))));
    }
    workers::in_any_order(
        files.len(),
        workers.min(MAX_RENDERED),
        |position| {
            record.cancellation.check()?;
            files[position]()
        },
        |entry| match entry {
            Some(entry) => each(entry),
            None => Ok(()),
        },
    )
}

fn run_details(record: &RunRecord<'_>) -> RunDetails {
    let outcome = record.outcome;
    RunDetails {
        timestamp: record.written_at.clone(),
        duration_total_ms: record.machine.elapsed_ms,
        screenshots: outcome.screenshots.iter().map(|one| one.path.clone()).collect(),
        retry_count: outcome.retries,
        durations: outcome.durations.clone(),
        feature: current_feature(FeatureEvidence {
            policy: &record.inputs.in_force.policy,
            change_set: &record.inputs.change_set,
            recorded: &record.inputs.gates,
        }),
        conclusion: Some(outcome.verdict.conclusion),
    }
}

/// A [`Recording`] that borrows its texts.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct BorrowedRecording<'a> {
    schema_version: RecordingTag,
    files: Vec<BorrowedFile<'a>>,
}

#[derive(Serialize)]
struct BorrowedFile<'a> {
    file: &'a RepoPath,
    text: Cow<'a, FileText>,
}

/// Returns whether all recorded texts fit into one file.
fn fills_one_file(change_set: &ChangeSet, texts: &dyn Texts) -> Result<bool, Failure> {
    let mut bytes = 0;
    for position in 0..change_set.files.len() {
        bytes += texts.text(position)?.bytes();
        if bytes >= RECORDING_CHUNK_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Size in bytes of the parts in which a recording is validated and rendered.
const RECORDED_AT_ONCE: usize = 256 << 10;

/// A file of recorded texts that is being rendered.
struct Chunk<'t> {
    entry: PartedEntry<Recording>,
    bytes: usize,
    part: BorrowedRecording<'t>,
    part_bytes: usize,
}

impl<'t> Chunk<'t> {
    fn new(number: usize) -> Result<Self, StoreError> {
        let part = BorrowedRecording::default();
        let entry = PartedEntry::new(&format!("recordings/{number:05}.json"), &part)?;
        Ok(Self { entry, bytes: 0, part, part_bytes: 0 })
    }

    fn add(&mut self, file: BorrowedFile<'t>) -> Result<(), StoreError> {
        self.bytes += file.text.bytes();
        self.part_bytes += file.text.bytes();
        self.part.files.push(file);
        if self.part_bytes >= RECORDED_AT_ONCE { self.end_part() } else { Ok(()) }
    }

    fn end_part(&mut self) -> Result<(), StoreError> {
        self.part_bytes = 0;
        let part = std::mem::take(&mut self.part);
        if part.files.is_empty() { Ok(()) } else { self.entry.add(&part) }
    }

    fn finish(mut self) -> Result<Entry, StoreError> {
        self.end_part()?;
        Ok(self.entry.finish())
    }
}

/// Returns the file of all recorded texts, or `None` if there is no text.
fn only_recording(change_set: &ChangeSet, texts: &dyn Texts) -> Result<Option<Entry>, Failure> {
    let mut recording = None;
    for_each_recording(change_set, texts, |entry| {
        recording = Some(entry);
        Ok(())
    })?;
    Ok(recording)
}

/// Renders the files of recorded texts one after the other, each of a few mebibytes.
pub(crate) fn for_each_recording(
    change_set: &ChangeSet,
    texts: &dyn Texts,
    mut each: impl FnMut(Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut chunk, mut number) = (None, 0);
    for (position, file) in change_set.files.iter().enumerate() {
        let text = texts.text(position)?;
        if text.cuts.is_empty() && !text.has_whole_file() {
            continue;
        }
        let mut open = match chunk.take() {
            Some(open) => open,
            None => Chunk::new(number)?,
        };
        open.add(BorrowedFile { file: &file.path, text })?;
        if open.bytes >= RECORDING_CHUNK_BYTES {
            number += 1;
            each(open.finish()?)?;
        } else {
            chunk = Some(open);
        }
    }
    match chunk {
        Some(open) => each(open.finish()?),
        None => Ok(()),
    }
}

fn metrics(record: &RunRecord<'_>) -> Metrics {
    let outcome = record.outcome;
    let mut findings_by_severity = BTreeMap::new();
    for finding in outcome.results.iter().flat_map(|result| &result.findings) {
        *findings_by_severity.entry(finding.severity.as_str().to_owned()).or_insert(0) += places(finding);
    }
    let mut plans_by_status = BTreeMap::new();
    for result in &outcome.results {
        *plans_by_status.entry(result.status.as_str().to_owned()).or_insert(0) += 1;
    }
    let asked = outcome.results.iter().filter_map(|result| Some((result, result.review.as_ref()?)));
    let asked: Vec<_> = asked.filter(|(_, review)| !review.samples.is_empty()).collect();
    Metrics {
        schema_version: Default::default(),
        conclusion: outcome.verdict.conclusion,
        usage_by_plan: asked.iter().map(|(result, _)| (plan_name(result), result.usage.clone())).collect(),
        turns: asked.iter().map(|(_, review)| answers_of(review)).sum(),
        findings_by_severity,
        plans_by_status,
        aggregate_usage: outcome.verdict.aggregate_usage.clone(),
        machine: record.machine.clone(),
    }
}

/// Counts the answers of models to a plan and about its findings.
fn answers_of(review: &ReviewRecord) -> u64 {
    let rounds = review.confirmations.iter().map(|confirmation| confirmation.rounds.len());
    (review.samples.len() + rounds.sum::<usize>()) as u64
}

/// Names the plan of a result: its lens, and the part of it where there are several.
fn plan_name(result: &LensResult) -> String {
    match &result.sub_lens_id {
        Some(part) => format!("{}/{part}", result.lens_id),
        None => result.lens_id.clone(),
    }
}

/// Events of a trace, in order, each with the phase that it happens in.
struct Events {
    phase: RunPhase,
    listed: Vec<TraceEvent>,
}

impl Events {
    fn take(&mut self, event: RunEvent) {
        self.phase = phases::next(self.phase, event).expect("a stored run went the way of the table");
    }

    fn push(&mut self, step: &str, detail: String, code: Option<Code>) {
        let (sequence, phase) = (self.listed.len() as u64, self.phase);
        self.listed.push(TraceEvent { sequence, phase, step: step.to_owned(), detail, code });
    }
}

/// Returns the events of a run from what was recorded and derived. Waits depend on the network and are no part of it.
fn events(inputs: &Inputs, outcome: &Outcome) -> Vec<TraceEvent> {
    let change_set = &inputs.change_set;
    let hunks: usize = change_set.files.iter().map(|file| file.hunks.len()).sum();
    let mut events = Events { phase: RunPhase::Idle, listed: Vec::new() };
    events.take(RunEvent::Opened);
    events.push("request", format!("mode {}", inputs.in_force.policy.mode), None);
    for name in inputs.overrides.names() {
        events.take(RunEvent::Edited);
        events.push("override", name.to_owned(), None);
    }
    events.take(RunEvent::GoalSubmitted);
    let (base, from) = (&change_set.base_sha, change_set.measured_from());
    events.push("base", format!("policy from {base}, change from {from}"), None);
    events.take(RunEvent::Ready);
    events.push("surface", format!("{} files, {hunks} hunks", change_set.files.len()), None);
    events.take(RunEvent::PlanSubmitted);
    events.push("plan", format!("{} plans", outcome.plans.len()), None);
    events.take(RunEvent::Approved);
    for (plan, result) in outcome.plans.iter().zip(&outcome.results) {
        let detail = format!("{} {}: {} findings", plan.lens_id, result.status, all_places(&result.findings));
        events.push("run", detail, result.error_codes.first().copied());
    }
    events.take(RunEvent::ResultsReady);
    let verdict = &outcome.verdict;
    let code = verdict.error_codes.first().copied();
    let passed = outcome.cross_check.passed;
    let (result, cross_check_code) = if passed { ("passed", None) } else { ("failed", code) };
    events.push("cross-check", result.to_owned(), cross_check_code);
    events.take(RunEvent::cross_checked(passed));
    if passed {
        events.push("verdict", verdict.conclusion.to_string(), code);
        events.take(RunEvent::concluded(verdict.conclusion));
    }
    events.push("end", verdict.conclusion.to_string(), None);
    events.listed
}

fn trace(record: &RunRecord<'_>) -> Trace {
    let RunRecord { outcome, inputs, .. } = record;
    Trace {
        schema_version: Default::default(),
        execution_key: outcome.key.clone(),
        execution_key_preimage: outcome.key_preimage.clone(),
        config_preimage: outcome.config_preimage.clone(),
        canonicalization: "rfc8785".to_owned(),
        events: events(inputs, outcome),
        base_rule: record.base_rule.to_owned(),
        base_codes: record.base_codes.to_vec(),
        machine: TraceMachine {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::{HunkCuts, RecordedFile};
    use qa_core::canonical;

    fn text(bytes: usize) -> FileText {
        let cuts = vec![HunkCuts { before: 0, removed: 0, added: 0, after: 0 }];
        FileText { text: "a".repeat(bytes), cuts, ..FileText::default() }
    }

    fn change_set(files: usize) -> ChangeSet {
        let zeros = "0".repeat(40);
        let file = |number: usize| {
            serde_json::json!({
                "path": format!("f{number:03}"), "oldPath": null, "kind": "added", "oldMode": null, "newMode": "100644",
                "oldBlob": null, "newBlob": zeros, "class": "source", "scope": "product", "scopeReason": "name", "language": null,
                "text": true, "hunks": [], "codes": []
            })
        };
        let change_set = serde_json::json!({
            "schemaVersion": "change-set.v1", "baseSha": zeros, "mergeBaseSha": zeros, "otherMergeBases": [], "landing": "change", "landingTree": null, "headSha": zeros, "baseTime": 0,
            "renames": { "exact": 0, "inexact": 0, "notCompared": 0 },
            "files": (0..files).map(file).collect::<Vec<_>>()
        });
        serde_json::from_value(change_set).unwrap()
    }

    /// The files of each recording, whose bytes are those of the recording in one piece.
    fn recorded(texts: Vec<FileText>) -> Vec<Vec<RecordedFile>> {
        let change_set = change_set(texts.len());
        let mut recordings = Vec::new();
        for_each_recording(&change_set, &texts, |entry| {
            assert_eq!(entry.path, format!("recordings/{:05}.json", recordings.len()));
            let recording: Recording = serde_json::from_slice(&entry.bytes()).unwrap();
            let mut whole = canonical::to_vec(&recording).unwrap();
            assert_eq!(entry.deterministic, canonical::sha256(&whole));
            whole.push(b'\n');
            assert!(entry.bytes() == whole);
            recordings.push(recording.files);
            Ok(())
        })
        .unwrap();
        recordings
    }

    #[test]
    fn a_recording_made_of_parts_is_the_recording() {
        let sizes = [1, RECORDED_AT_ONCE - 1, 0, RECORDED_AT_ONCE, 3, RECORDING_CHUNK_BYTES, 2, 1];
        let mut texts: Vec<FileText> = sizes.into_iter().map(text).collect();
        texts.insert(4, FileText::default());
        let recordings = recorded(texts.clone());
        assert_eq!(
            recordings.iter().map(Vec::len).collect::<Vec<_>>(),
            [6, 2],
            "nothing is recorded of the empty one"
        );
        let names = ["f000", "f001", "f002", "f003", "f005", "f006", "f007", "f008"];
        let files: Vec<RecordedFile> = recordings.into_iter().flatten().collect();
        assert!(files.iter().map(|one| one.file.to_string()).eq(names));
        texts.remove(4);
        assert!(files.into_iter().map(|one| one.text).eq(texts));
    }

    #[test]
    fn a_recording_ends_where_it_is_full_and_none_is_empty() {
        let lengths = |texts| recorded(texts).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(vec![text(RECORDING_CHUNK_BYTES)]), [1]);
        assert_eq!(lengths(vec![text(RECORDING_CHUNK_BYTES - 1), text(1), text(1)]), [2, 1]);
        assert!(lengths(vec![FileText::default()]).is_empty());
    }
}
