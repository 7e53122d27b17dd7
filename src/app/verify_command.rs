//! `qa-skill verify`: verifies a stored run, prints its commits, policy and verdict, and checks them against expectations.

use std::path::{Path, PathBuf};

use clap::Args;

use super::attestation::check_attestation;
use super::console;
use super::drift::Difference;
use super::drift_check::{Cause, Preimages, key_cause, other_engine, runs_below, verdict_change};
use super::exit::{Exit, Failure};
use super::observe_command::check_last_turn;
use super::progress::TerminalProgress;
use super::verify::{self, Source, Verified};
use super::verify_drive::{self, VerifiedDrive, verify_drive};
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, Sha256Hex};
use qa_contracts::v1::{Conclusion, FinalVerdict, Trace};
use qa_core::drive::{conclusion, current_commit};
use qa_core::masking::sanitize;
use qa_core::policy::POLICY_PATH;
use qa_core::verdict::merge_bases;
use qa_formats::counted;
use qa_run::ports::{Cancellation, Progress};

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Run directories, or directories of drives
    #[arg(required = true, value_name = "DIRECTORY")]
    directories: Vec<PathBuf>,
    /// Read the change from this repository instead of the recording
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Fail unless the policy was read from this commit
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    expect_base: Option<CommitId>,
    /// Fail unless this commit was judged
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    expect_head: Option<CommitId>,
    /// Fail unless this policy was in force, with every lens it enables: the digest that `verify` and `policy-check` print
    #[arg(long, value_name = "SHA256", value_parser = digest)]
    expect_policy: Option<Sha256Hex>,
    /// Fail unless this is the verdict: pass, degraded-pass, fail or could_not_complete. `pass` does not accept a degraded
    /// pass; `degraded-pass` accepts both
    #[arg(long, value_name = "VERDICT", value_parser = expected_verdict)]
    expect: Option<ExpectedVerdict>,
    /// Fail unless the chain of this ledger holds and its last turn is about this run
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Fail unless this in-toto statement, or the Sigstore bundle of one, is about this run
    #[arg(long, value_name = "FILE")]
    attestation: Option<PathBuf>,
}

/// Value of `--expect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedVerdict {
    /// This conclusion; a degraded pass does not count as a pass.
    Exactly(Conclusion),
    /// A pass, degraded or not.
    DegradedPass,
}

const PASS: ExpectedVerdict = ExpectedVerdict::Exactly(Conclusion::Pass);

impl ExpectedVerdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exactly(conclusion) => conclusion.as_str(),
            Self::DegradedPass => "degraded-pass",
        }
    }

    fn is_met_by(self, verified: &Verified) -> bool {
        match self {
            Self::Exactly(conclusion) => verified.conclusion == conclusion && !is_degraded_pass(verified),
            Self::DegradedPass => verified.conclusion == Conclusion::Pass,
        }
    }
}

fn commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).map_err(|_| "expected a full commit id of 40 hexadecimal digits".to_owned())
}

fn digest(text: &str) -> Result<Sha256Hex, String> {
    Sha256Hex::parse(text).map_err(|_| "expected a SHA-256 of 64 hexadecimal digits".to_owned())
}

fn expected_verdict(text: &str) -> Result<ExpectedVerdict, String> {
    let exact = Conclusion::ALL.iter().copied().map(ExpectedVerdict::Exactly);
    let known = exact.chain([ExpectedVerdict::DegradedPass]).find(|expected| expected.as_str() == text);
    known.ok_or_else(|| "expected pass, degraded-pass, fail or could_not_complete".to_owned())
}

/// Returns whether a run passes with parts of the change not inspected.
fn is_degraded_pass(verified: &Verified) -> bool {
    verified.conclusion == Conclusion::Pass && verified.gaps.degraded
}

/// Describes the conclusion, and what a degraded pass lacks.
fn describe_verdict(verified: &Verified) -> String {
    let conclusion = verified.conclusion;
    if !is_degraded_pass(verified) {
        return conclusion.to_string();
    }
    match verified.gaps.unread_files {
        0 => format!("{conclusion} (degraded: an optional plan is incomplete)"),
        count => format!("{conclusion} (degraded: {} not read in full)", counted(count, "file")),
    }
}

/// Verifies directories one after another, up to the first that does not hold. Prints the statement of a single one, or a line for
/// each.
pub(super) fn verify(arguments: &VerifyArgs, cancellation: &Cancellation) -> Result<Exit, Failure> {
    match arguments.directories.as_slice() {
        [directory] => verify_alone(arguments, directory, cancellation),
        directories => verify_each(arguments, directories, cancellation),
    }
}

fn verify_each(
    arguments: &VerifyArgs,
    directories: &[PathBuf],
    cancellation: &Cancellation,
) -> Result<Exit, Failure> {
    if arguments.ledger.is_some() || arguments.attestation.is_some() {
        let message = "a ledger or an attestation is about one run, and several directories are named";
        return Err(Failure::usage(message, "name the directory of that run alone"));
    }
    for directory in directories {
        let shown = sanitize(&directory.display().to_string());
        let held = verify_directory(arguments, directory, cancellation)
            .map_err(|failure| Failure { message: format!("{shown}: {}", failure.message), ..failure })?;
        let name = short_name(directory).unwrap_or(shown);
        console::write_stdout(format!("{}  {name}{}\n", held.summary(), held.remark()).as_bytes())?;
    }
    let source = match arguments.repo {
        Some(_) => "from the repository",
        None => "from the recordings; the commits themselves are not checked, `verify --repo` reads them",
    };
    let count = format!("{} runs are verified {source}\n", directories.len());
    console::write_stdout(count.as_bytes()).map(|()| Exit::Pass)
}

/// Returns the begin of the name of a directory that is named by its key, which fits a line.
fn short_name(directory: &Path) -> Option<String> {
    let key = Sha256Hex::parse(directory.file_name()?.to_str()?).ok()?;
    Some(format!("run {}", key.short()))
}

/// Verifies a directory and prints its statement.
fn verify_alone(
    arguments: &VerifyArgs,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<Exit, Failure> {
    let text = match verify_directory(arguments, directory, cancellation)? {
        Held::Drive(session) => verify_drive::statement(&session),
        Held::Run(verified) => {
            let mut text = statement(&verified);
            if let Some(ledger) = &arguments.ledger {
                text.push_str(&format!("{:<15}{}\n", "ledger", check_last_turn(ledger, &verified)?));
            }
            if let Some(attestation) = &arguments.attestation {
                let checked = check_attestation(attestation, &verified)?;
                text.push_str(&format!("{:<15}{checked}\n", "attestation"));
            }
            text
        }
    };
    console::write_stdout(text.as_bytes()).map(|()| Exit::Pass)
}

/// A directory that was verified and is as expected.
enum Held {
    Run(Box<Verified>),
    Drive(Box<VerifiedDrive>),
}

impl Held {
    /// Describes the outcome, the commits and the digest by which the directory is known, in one line.
    fn summary(&self) -> String {
        match self {
            Self::Run(verified) => {
                let input = &verified.input;
                format!(
                    "verdict {}  {}..{}  digest {}",
                    describe_verdict(verified),
                    input.base_sha.short(),
                    input.head_sha.short(),
                    verified.run.hashes.run_digest.short()
                )
            }
            Self::Drive(verified) => {
                let start = &verified.session.start;
                let result = current_commit(&verified.session);
                let end = conclusion(&verified.session);
                format!("drive: {end}  {}..{}", start.base_sha.short(), result.short())
            }
        }
    }

    /// Returns what somebody who reads the line has to know besides.
    fn remark(&self) -> &'static str {
        match self {
            Self::Run(verified) if !verified.run.has_statement() => "  (it has no statement)",
            Self::Run(verified) if !verified.run.is_named_by_its_key() => {
                "  (not named by its execution key)"
            }
            Self::Run(_) | Self::Drive(_) => "",
        }
    }
}

/// Verifies a directory and checks the expectations.
fn verify_directory(
    arguments: &VerifyArgs,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<Held, Failure> {
    if DriveDirectory::is_one(directory) {
        return verify_session(arguments, directory, cancellation).map(|held| Held::Drive(Box::new(held)));
    }
    let progress = TerminalProgress::new(false);
    let verified = verified_run(directory, arguments.repo.as_deref(), cancellation, &progress);
    progress.clear();
    let verified = verified?;
    check_expectations(arguments, &verified)?;
    Ok(Held::Run(Box::new(verified)))
}

/// Verifies a run directory; a run that is derived with a difference is a failure.
pub(super) fn verified_run(
    directory: &Path,
    repository: Option<&Path>,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<Verified, Failure> {
    check_is_run(directory)?;
    let source = Source::at(repository)?;
    let verified = match verify::verify(directory, source, cancellation, progress) {
        Ok(verified) => verified,
        Err(failure) => {
            cancellation.check()?;
            return Err(name_other_engine(failure, directory));
        }
    };
    match &verified.difference {
        Some(difference) => Err(not_reproduced(&verified, difference)?),
        None => Ok(verified),
    }
}

/// Verifies the directory of a drive and checks the expectations.
fn verify_session(
    arguments: &VerifyArgs,
    directory: &Path,
    cancellation: &Cancellation,
) -> Result<VerifiedDrive, Failure> {
    if arguments.ledger.is_some() || arguments.attestation.is_some() || arguments.expect_policy.is_some() {
        let message = "a drive has no ledger, no attestation and no policy of its own";
        return Err(Failure::usage(message, "verify one of the runs below runs/ of its directory"));
    }
    let source = Source::at(arguments.repo.as_deref())?;
    let verified = verify_drive(directory, source, cancellation)?;
    let (session, actual) = (&verified.session, conclusion(&verified.session));
    let start = &session.start;
    if let Some(base) = arguments.expect_base.as_ref().filter(|base| **base != start.base_sha) {
        return Err(unmet("base", start.base_sha.to_string(), base.to_string()));
    }
    let result = current_commit(session);
    if let Some(head) = arguments.expect_head.as_ref().filter(|head| *head != result) {
        return Err(unmet("result", result.to_string(), head.to_string()));
    }
    if let Some(expected) = arguments.expect.filter(|expected| *expected != ExpectedVerdict::Exactly(actual))
    {
        return Err(unmet("end", actual.to_string(), expected.as_str().to_owned()));
    }
    Ok(verified)
}

/// Fails if a path is not that of a run directory, damaged or not.
fn check_is_run(path: &Path) -> Result<(), Failure> {
    let shown = sanitize(&path.display().to_string());
    let run = "pass a run directory: `qa-skill run` prints its path, by default .qa-skill/runs/ and its key";
    let problem = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some((format!("{shown} is a file, and a run is a directory"), run.to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some((format!("there is no directory {shown}"), run.to_owned()))
        }
        Err(error) => {
            Some((format!("{shown} cannot be read: {error}"), "let this user read the directory".to_owned()))
        }
    };
    if let Some((message, hint)) = problem {
        return Err(Failure::usage(message, hint));
    }
    let runs = runs_below(path);
    if runs.iter().any(|found| found == path) {
        return Ok(());
    }
    let hint = match runs.first() {
        Some(first) => {
            let first = sanitize(&first.display().to_string());
            format!(
                "name one of the runs below, such as {first}; `qa-skill drift-check {shown}` replays all of them"
            )
        }
        None => run.to_owned(),
    };
    Err(Failure::usage(format!("{shown} is not a run directory: it has no hashes.json"), hint))
}

/// Returns the failure of a run that another engine made and this one cannot read, or the failure itself.
fn name_other_engine(failure: Failure, directory: &Path) -> Failure {
    let Some(engine) = other_engine(directory) else { return failure };
    let message =
        format!("the run was {}; this version cannot replay it: {}", engine.detail, failure.message);
    Failure::with_code(Code::EngineChanged, message)
}

/// Returns the failure of a run that was derived with a difference: another engine made it, or it does not follow from its
/// inputs.
fn not_reproduced(verified: &Verified, difference: &Difference) -> Result<Failure, Failure> {
    let difference = sanitize(&difference.to_string());
    let trace: Trace = verified.run.artifact()?;
    let recorded = Preimages { key: &trace.execution_key_preimage, config: &trace.config_preimage };
    let derived = Preimages { key: &verified.key_preimage, config: &verified.config_preimage };
    let Some(cause) = key_cause(recorded, derived).filter(Cause::is_other_engine) else {
        let message = format!("the run does not follow from its inputs: {difference}");
        return Ok(Failure::with_code(Code::DeterminismDriftDetected, message));
    };
    let recorded_conclusion = verified.run.artifact::<FinalVerdict>()?.conclusion;
    let verdict = verdict_change(recorded_conclusion, verified.conclusion);
    let message = format!("the run was {}; {verdict}; {difference}", sanitize(&cause.detail));
    Ok(Failure::with_code(Code::EngineChanged, message))
}

/// Lists the overrides of the policy as `name=value`.
fn overrides(verified: &Verified) -> Vec<String> {
    let input = &verified.input;
    let mode = input.overrides.mode.map(|mode| format!("mode={}", mode.as_str()));
    let preset = input.overrides.preset.map(|preset| format!("preset={}", preset.as_str()));
    let lenses = input.requested_lens_ids.as_ref().map(|ids| format!("lenses={}", ids.join(",")));
    let stage = input.overrides.stage.map(|stage| format!("stage={}", stage.as_str()));
    [mode, preset, lenses, stage].into_iter().flatten().collect()
}

pub(super) fn statement(verified: &Verified) -> String {
    let input = &verified.input;
    let source = if verified.repository.is_some() { "the repository" } else { "the recording" };
    let file = if verified.has_policy_file { POLICY_PATH } else { "no policy file, defaults" };
    let overrides = match overrides(verified) {
        overrides if overrides.is_empty() => "none".to_owned(),
        overrides => sanitize(&overrides.join(" ")),
    };
    let mut text = format!(
        "verified: {}, every digest and the verdict are reproduced from {source}\n",
        counted(verified.run.hashes.files.len(), "file"),
    );
    let rows = [
        ("verdict", describe_verdict(verified)),
        ("repository", sanitize(&input.repo_id)),
        ("base", input.base_sha.to_string()),
        ("merge base", merge_bases(&input.merge_base_sha, &input.other_merge_bases)),
        ("head", input.head_sha.to_string()),
        ("policy", verified.config_preimage.policy_hash.to_string()),
        ("", format!("preset {}, mode {}; {file}", input.preset.as_str(), input.run_mode.as_str())),
        ("overrides", overrides),
        ("execution key", verified.run.hashes.execution_key.to_string()),
        ("run digest", verified.run.hashes.run_digest.to_string()),
    ];
    let landing = input.landing_tree.iter().map(|tree| ("merged tree", tree.to_string()));
    for (name, value) in rows.into_iter().chain(landing) {
        text.push_str(&format!("{name:<15}{value}\n"));
    }
    let mut notes = Vec::new();
    if verified.repository.is_none() {
        notes.push("the commits themselves are not checked; `verify --repo` reads them".to_owned());
    }
    if verified.repository.is_none() && verified.masked > 0 {
        notes.push(format!(
            "the recording masks secrets in {}; `verify --repo` checks them",
            counted(verified.masked, "file")
        ));
    }
    if !verified.run.has_statement() {
        notes.push("the run has no statement".to_owned());
    }
    if !verified.run.is_named_by_its_key() {
        notes.push("the name of the directory is not its execution key".to_owned());
    }
    for note in notes {
        text.push_str(&format!("{:<15}{note}\n", "note"));
    }
    text
}

fn check_expectations(arguments: &VerifyArgs, verified: &Verified) -> Result<(), Failure> {
    let input = &verified.input;
    if let Some(base) = arguments.expect_base.as_ref().filter(|base| **base != input.base_sha) {
        return Err(unmet("base", input.base_sha.to_string(), base.to_string()));
    }
    if let Some(head) = arguments.expect_head.as_ref().filter(|head| **head != input.head_sha) {
        return Err(unmet("head", input.head_sha.to_string(), head.to_string()));
    }
    if let Some(policy) = &arguments.expect_policy {
        if *policy != verified.config_preimage.policy_hash {
            return Err(unmet(
                "policy",
                verified.config_preimage.policy_hash.to_string(),
                policy.to_string(),
            ));
        }
        if let Some(ids) = &input.requested_lens_ids {
            return Err(unmet(
                "selection of lenses",
                sanitize(&ids.join(",")),
                "all of the policy".to_owned(),
            ));
        }
    }
    if let Some(expected) = arguments.expect.filter(|expected| !expected.is_met_by(verified)) {
        let failure = unmet("verdict", describe_verdict(verified), expected.as_str().to_owned());
        let hint = match is_degraded_pass(verified) && expected == PASS {
            true => "the run's summary.md lists what is missing; `--expect degraded-pass` accepts it",
            false => "the run's summary.md says how it came to its verdict",
        };
        return Err(Failure { hint: hint.to_owned(), ..failure });
    }
    Ok(())
}

fn unmet(property: &str, actual: String, expected: String) -> Failure {
    let message = format!("the run's {property} is {actual}, and {expected} was expected");
    Failure::with_code(Code::ExpectationUnmet, message)
}
