//! Reads the inputs of a run before it is judged: commits, the base's policy and waivers, head's policy for the preview.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::exit::Failure;
use super::observer::ObserverRequest;
use crate::config::{self, provider_key};
use crate::git::{GitObjects, OpenRepository, Resolved, Sides, Surroundings, Uncommitted, resolve};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::limits::{MAX_POLICY_BYTES, MAX_RUBRIC_BYTES};
use qa_contracts::secret::Secret;
use qa_contracts::v1::{
    ChangeSet, RecordedInputs, Registry, ReviewedHunk, SettingOrigin, SkillInput, WaiverFile,
};
use qa_core::phases::{ForbiddenMove, RunEvent};
use qa_core::policy::file;
use qa_core::policy::{Overrides, POLICY_PATH, Policy, WAIVERS_PATH};
use qa_core::rubric;
use qa_core::secrets;
use qa_run::control::Journal;
use qa_run::gates::Baseline;
use qa_run::inputs::{PolicyInForce, effective_policy};
use qa_run::ports::{BlobRead, Objects};
use qa_run::reviews::RepliesMode;

/// Trust level of the head commit's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadTrust {
    /// Code of the repository itself, or of the person who runs the command locally.
    Own,
    /// Code of a fork, in a job without secrets.
    Fork,
    /// Code of a fork, in a job with secrets or a write token.
    ForkBesideSecrets,
}

impl HeadTrust {
    /// Returns the reason why no code of head may run, or `None` if it may.
    pub(crate) fn denied(self, fork_heads: bool) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Fork if fork_heads => None,
            Self::Fork => Some("head is from a fork, and execution.fork-heads is not set".to_owned()),
            Self::ForkBesideSecrets => {
                Some("head is from a fork, and its code never runs in a job with secrets".to_owned())
            }
        }
    }
}

/// Request of a command or an action.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) repository: std::path::PathBuf,
    pub(crate) base: Option<String>,
    pub(crate) head: String,
    /// Content that is judged in the place of `head`.
    pub(crate) uncommitted: Option<Uncommitted>,
    /// False for a command that judges a commit on its way to something else, and leaves no run of it.
    pub(crate) stores_commits: bool,
    /// The merge commit that a pull request's step was started for.
    pub(crate) test_merge: Option<CommitId>,
    pub(crate) overrides: Overrides,
    pub(crate) artifact_root: Option<std::path::PathBuf>,
    pub(crate) refresh: bool,
    pub(crate) head_trust: HeadTrust,
    pub(crate) models: ModelUse,
    /// Features that labels of the pull request name.
    pub(crate) label_features: BTreeSet<u64>,
    /// A stored run of the base commit.
    pub(crate) baseline: Option<Arc<Baseline>>,
    /// Facts that decide the mode of the observer.
    pub(crate) observer: ObserverRequest,
    /// Settings outside the policy, with their origins. They are recorded and do not affect the verdict.
    pub(crate) settings: Vec<SettingOrigin>,
    /// The document that describes the run, if the request is one.
    pub(crate) document: Option<Box<SkillInput>>,
}

impl Request {
    /// Returns the request of a command that reads the base and judges nothing.
    pub(crate) fn of_base(repository: &Path, base: Option<&str>) -> Self {
        Self {
            repository: repository.to_owned(),
            base: base.map(str::to_owned),
            head: "HEAD".to_owned(),
            uncommitted: None,
            stores_commits: true,
            test_merge: None,
            overrides: Overrides::default(),
            artifact_root: None,
            refresh: false,
            head_trust: HeadTrust::Own,
            models: ModelUse::default(),
            label_features: BTreeSet::new(),
            baseline: None,
            observer: ObserverRequest::of_command(None),
            settings: Vec::new(),
            document: None,
        }
    }

    /// Returns whether the run is stored. A run of a head that is no commit never is.
    pub(crate) fn is_stored(&self) -> bool {
        self.stores_commits && self.uncommitted.is_none()
    }

    /// Returns the stored run of the base of a change, if it is about that base.
    pub(crate) fn baseline_of(&self, change_set: &ChangeSet) -> Option<&Baseline> {
        self.baseline.as_deref().filter(|baseline| baseline.fits(change_set))
    }
}

/// Use of models in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelUse {
    /// Source of replies.
    pub(crate) replies: RepliesMode,
    /// True if no model is used.
    pub(crate) no_model: bool,
    /// The pull request whose budget is used.
    pub(crate) pull_request: Option<u64>,
    /// The job's own token, which is the key of GitHub's models.
    pub(crate) token: Option<Secret>,
    /// Findings that the pull request's turn before knew.
    pub(crate) earlier: Vec<ReviewedHunk>,
}

impl ModelUse {
    /// Returns the key in an environment variable, or the job's token, which a step has as an input.
    pub(crate) fn key(&self, variable: &str) -> Option<Secret> {
        provider_key(variable).or_else(|| self.token.clone().filter(|_| variable == "GITHUB_TOKEN"))
    }
}

/// An opened repository with its commits resolved.
pub(crate) struct Opened {
    pub(crate) repository: OpenRepository,
    pub(crate) objects: GitObjects,
    pub(crate) resolved: Resolved,
}

/// Opens the repository of a run, resolves base, merge bases and head, and merges them.
pub(crate) fn open_run(request: &Request, journal: &Journal) -> Result<Opened, Failure> {
    submit_goal(journal, &request.overrides)?;
    let repository = OpenRepository::discover(&request.repository)?;
    journal.take(RunEvent::Ready)?;
    open_in(request, repository)
}

/// Returns the base of work that is not committed together with the commits of its branch; `None` before the first commit, where the
/// base is empty.
pub(crate) fn default_base(repository: &OpenRepository) -> Result<Option<String>, Failure> {
    if repository.commit_named("HEAD")?.is_none() {
        return Ok(None);
    }
    Ok(Some(repository.default_base()?.as_str().to_owned()))
}

/// Takes the events of a request that is complete.
pub(crate) fn submit_goal(journal: &Journal, overrides: &Overrides) -> Result<(), ForbiddenMove> {
    for _ in overrides.names() {
        journal.take(RunEvent::Edited)?;
    }
    journal.take(RunEvent::GoalSubmitted)
}

/// Opens the repository, resolves base, merge bases and head, and merges them.
pub(crate) fn open(request: &Request) -> Result<Opened, Failure> {
    open_in(request, OpenRepository::discover(&request.repository)?)
}

/// Resolves the commits of a request in an open repository.
pub(crate) fn open_in(request: &Request, repository: OpenRepository) -> Result<Opened, Failure> {
    let base = request.base.as_deref();
    let resolved = match request.uncommitted {
        Some(content) => resolve_uncommitted(&repository, base, content)?,
        None => resolve(&repository, base, &request.head, request.test_merge.as_ref())?,
    };
    let objects = GitObjects::new(&repository)?;
    Ok(Opened { repository, objects, resolved })
}

/// Makes a commit of uncommitted content in the run's own store, and resolves it as the head. The base is HEAD unless another
/// one is named.
fn resolve_uncommitted(
    repository: &OpenRepository,
    base: Option<&str>,
    content: Uncommitted,
) -> Result<Resolved, Failure> {
    let surroundings = Surroundings {
        index: config::index_file(),
        configuration: config::git_configuration_files(),
        account: config::git_account_directory(),
    };
    let snapshot = repository.snapshot(content, &surroundings)?;
    let resolved =
        resolve(repository, Some(base.unwrap_or(snapshot.base.as_str())), snapshot.head.as_str(), None)?;
    Ok(match base {
        Some(_) => resolved,
        None => Resolved { base_rule: snapshot.base_rule, ..resolved },
    })
}

/// Reads policy and waivers from the base commit. A file that cannot be read is an error: the defaults in its place would be
/// a silent change of policy.
pub(crate) fn read_policy(
    objects: &dyn Objects,
    Sides { base, head }: Sides<'_>,
    overrides: &Overrides,
    registry: &Registry,
) -> Result<PolicyInForce, Failure> {
    let base_policy = text_in_force(objects, base, POLICY_PATH)?;
    let base_waivers = text_in_force(objects, base, WAIVERS_PATH)?;
    let pinned = effective_policy(base_policy.as_deref(), overrides, registry)
        .map_err(|error| Failure::policy(POLICY_PATH, &error))?
        .consistency;
    let base_rubric = match pinned {
        Some(pinned) => rubric_at(objects, base, &rubric::path_of(pinned.version))?,
        None => None,
    };
    // Head's policy is only previewed, so its errors do not fail the run.
    let head_policy = text_at(objects, head, POLICY_PATH).unwrap_or_default().map(secrets::masked);
    let texts = RecordedInputs {
        schema_version: Default::default(),
        base_policy,
        base_waivers,
        base_rubric,
        head_policy,
        surveys: Vec::new(),
        observer: None,
    };
    Ok(PolicyInForce::parse(texts, overrides, registry)?)
}

/// Reason to refuse a policy or waivers.
const HOLDS_A_SECRET: &str = "a value looks like a secret, and every run records the file";

/// A policy file that is not committed.
pub(crate) struct PolicyFile {
    pub(crate) policy: Policy,
    pub(crate) text: String,
    /// Path of the file for messages.
    pub(crate) display_path: String,
}

/// Reads a policy file that is not committed.
pub(crate) fn policy_in_file(
    path: &Path,
    overrides: &Overrides,
    registry: &Registry,
) -> Result<PolicyFile, Failure> {
    let (display_path, text) = text_in_file(path)?;
    let policy = effective_policy(Some(&text), overrides, registry)
        .map_err(|error| policy_file_invalid(Failure::policy(&display_path, &error)))?;
    Ok(PolicyFile { policy, text, display_path })
}

/// Reads waivers that are not committed.
pub(crate) fn waivers_in_file(path: &Path, registry: &Registry) -> Result<WaiverFile, Failure> {
    let (display_path, text) = text_in_file(path)?;
    file::parse_waivers(&text, registry).map_err(|error| {
        let hint = "correct this file; `qa-skill explain FINDING` prints an entry to complete".to_owned();
        Failure { hint, ..policy_invalid(&display_path, &error.to_string()) }
    })
}

/// Returns the path for people of a file that is not committed, and its text without secrets in comments.
fn text_in_file(path: &Path) -> Result<(String, String), Failure> {
    let display_path = qa_core::masking::sanitize(&path.display().to_string());
    let text = std::fs::read_to_string(path).map_err(|error| {
        let failure = policy_invalid(&display_path, &error.to_string());
        let hint = "name the policy file with --file; without it the policy of the base is taken";
        Failure { hint: hint.to_owned(), ..failure }
    })?;
    match file::without_secrets(&text) {
        Some(text) => Ok((display_path, text)),
        None => Err(policy_file_invalid(policy_invalid(&display_path, HOLDS_A_SECRET))),
    }
}

/// Adds the way out for a file that is not committed.
fn policy_file_invalid(failure: Failure) -> Failure {
    Failure {
        hint:
            "correct this file; docs/reference/policy.md has every setting, and `qa-skill policy-check --all` lists them"
                .to_owned(),
        ..failure
    }
}

fn policy_invalid(path: &str, reason: &str) -> Failure {
    Failure::with_code(Code::PolicyInvalid, format!("failed to read {path}: {reason}"))
}

/// Reads a policy or waivers that are in force. Every run records them, so a secret in a value is an error; secrets in
/// comments are masked.
pub(super) fn text_in_force(
    objects: &dyn Objects,
    commit: &CommitId,
    path: &str,
) -> Result<Option<String>, Failure> {
    let Some(text) = text_at(objects, commit, path)? else { return Ok(None) };
    file::without_secrets(&text).map(Some).ok_or_else(|| policy_invalid(path, HOLDS_A_SECRET))
}

fn text_at(objects: &dyn Objects, commit: &CommitId, path: &str) -> Result<Option<String>, Failure> {
    let Some(id) = objects.file_at(commit, path)? else { return Ok(None) };
    match objects.reader()?.blob(&id, MAX_POLICY_BYTES as u64)? {
        BlobRead::Content(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| policy_invalid(path, "it is not UTF-8"))
        }
        BlobRead::TooLarge { size, .. } => {
            Err(policy_invalid(path, &format!("it has {size} bytes, the limit is {MAX_POLICY_BYTES}")))
        }
    }
}

/// Reads a rubric at a commit. A file that cannot be read is not a frozen rubric.
pub(crate) fn rubric_at(
    objects: &dyn Objects,
    commit: &CommitId,
    path: &str,
) -> Result<Option<String>, Failure> {
    let id = objects
        .file_at(commit, path)
        .map_err(|_| rubric_refused(path, "is not a regular file at the base"))?;
    let Some(id) = id else { return Ok(None) };
    match objects.reader()?.blob(&id, MAX_RUBRIC_BYTES as u64)? {
        BlobRead::Content(bytes) => match String::from_utf8(bytes) {
            Ok(text) if secrets::find(&text).is_empty() => Ok(Some(text)),
            Ok(_) => Err(rubric_refused(path, "holds what looks like a secret")),
            Err(_) => Err(rubric_refused(path, "is not UTF-8")),
        },
        BlobRead::TooLarge { .. } => Err(rubric_refused(path, "is too large")),
    }
}

fn rubric_refused(path: &str, reason: &str) -> Failure {
    Failure::with_code(Code::RubricNotFrozen, format!("failed to read the rubric: {path} {reason}"))
}

/// Returns the artifact root, the default one unless the request names another.
pub(crate) fn artifact_root(request: &Request, repository_root: &Path) -> std::path::PathBuf {
    request.artifact_root.clone().unwrap_or_else(|| repository_root.join(".qa-skill"))
}
