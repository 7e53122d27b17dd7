//! Inputs of a run that are read before judgement: commits, the base's policy and waivers, head's policy for the
//! preview.

use std::path::Path;

use super::exit::Failure;
use crate::git::{GitObjects, OpenRepository, Resolved, resolve};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::limits::{MAX_POLICY_BYTES, MAX_RUBRIC_BYTES};
use qa_contracts::v1::{RecordedInputs, Registry, SettingOrigin};
use qa_core::policy::file;
use qa_core::policy::{Overrides, POLICY_PATH, Policy, WAIVERS_PATH};
use qa_core::rubric;
use qa_core::secrets;
use qa_run::inputs::{PolicyInForce, effective_policy};
use qa_run::ports::{BlobRead, Objects};

/// Trust level of the head commit's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadTrust {
    /// Of somebody who may push here, or of whoever runs this on a machine of their own.
    Own,
    /// Of a fork, and there is no secret here.
    Fork,
    /// Of a fork, in a job that has secrets or a token that may write.
    ForkBesideSecrets,
}

impl HeadTrust {
    /// Returns the reason why no code of head is run, or `None`.
    pub(crate) fn denied(self, fork_heads: bool) -> Option<String> {
        match self {
            Self::Own => None,
            Self::Fork if fork_heads => None,
            Self::Fork => {
                Some("head is of a fork, and execution.fork-heads does not let its code run".to_owned())
            }
            Self::ForkBesideSecrets => Some(
                "head is of a fork and this job has secrets, beside which its code is never run".to_owned(),
            ),
        }
    }
}

/// Request of a person or an action.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) repository: std::path::PathBuf,
    pub(crate) base: Option<String>,
    pub(crate) head: String,
    /// The merge commit that a pull request's step was started for.
    pub(crate) test_merge: Option<CommitId>,
    pub(crate) overrides: Overrides,
    pub(crate) artifact_root: Option<std::path::PathBuf>,
    pub(crate) refresh: bool,
    pub(crate) head_trust: HeadTrust,
    pub(crate) models: super::ask_models::ModelUse,
    /// Settings beside the policy's, with where each comes from; they decide nothing and are recorded.
    pub(crate) settings: Vec<SettingOrigin>,
}

/// An opened repository with its commits resolved.
pub(crate) struct Opened {
    pub(crate) repository: OpenRepository,
    pub(crate) objects: GitObjects,
    pub(crate) resolved: Resolved,
}

/// Opens the repository, resolves base, merge bases and head, and merges them.
pub(crate) fn open(request: &Request) -> Result<Opened, Failure> {
    open_in(request, OpenRepository::discover(&request.repository)?)
}

/// Resolves the commits of a request in an open repository.
pub(crate) fn open_in(request: &Request, repository: OpenRepository) -> Result<Opened, Failure> {
    let resolved = resolve(&repository, request.base.as_deref(), &request.head, request.test_merge.as_ref())?;
    let objects = GitObjects::new(&repository)?;
    Ok(Opened { repository, objects, resolved })
}

/// Reads policy and waivers from the base commit. A file that cannot be read is an error: judging by defaults what a
/// maintainer meant to judge otherwise would be a silent change of policy.
pub(crate) fn read_policy(
    objects: &dyn Objects,
    (base, head): (&CommitId, &CommitId),
    overrides: &Overrides,
    registry: &Registry,
) -> Result<PolicyInForce, Failure> {
    let base_policy = text_in_force(objects, base, POLICY_PATH)?;
    let base_waivers = text_in_force(objects, base, WAIVERS_PATH)?;
    let named = effective_policy(base_policy.as_deref(), overrides, registry)
        .map_err(|error| Failure::policy(POLICY_PATH, &error))?
        .consistency;
    let base_rubric = match named {
        Some(named) => rubric_at(objects, base, &rubric::path_of(named.version))?,
        None => None,
    };
    // Head's policy is only shown, so what is wrong with it is part of the preview and not of the run.
    let head_policy = text_at(objects, head, POLICY_PATH).unwrap_or_default().map(secrets::masked);
    let texts = RecordedInputs {
        schema_version: Default::default(),
        base_policy,
        base_waivers,
        base_rubric,
        head_policy,
        surveys: Vec::new(),
    };
    Ok(PolicyInForce::parse(texts, overrides, registry)?)
}

/// Reason to refuse a policy or waivers.
const HOLDS_A_SECRET: &str = "a value in it looks like a secret, and every run records it";

/// A policy that is not committed yet, the text it was read from, and how its place is shown.
pub(crate) fn policy_in_file(
    path: &Path,
    overrides: &Overrides,
    registry: &Registry,
) -> Result<(Policy, String, String), Failure> {
    let shown = qa_core::masking::sanitize(&path.display().to_string());
    let hint = |failure| Failure {
        hint: "correct that file; docs/policy.example.toml has every setting".to_owned(),
        ..failure
    };
    let invalid = |reason: &str| {
        hint(Failure::with_code(Code::PolicyInvalid, format!("failed to read {shown}: {reason}")))
    };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(&error.to_string()))?;
    let text = file::without_secrets(&text).ok_or_else(|| invalid(HOLDS_A_SECRET))?;
    let policy = effective_policy(Some(&text), overrides, registry);
    Ok((policy.map_err(|error| hint(Failure::policy(&shown, &error)))?, text, shown))
}

/// Reads a policy or waivers that are in force. They are recorded with every run, so they must not hold a secret, but for
/// comments, which are masked and decide nothing.
pub(super) fn text_in_force(
    objects: &dyn Objects,
    commit: &CommitId,
    path: &str,
) -> Result<Option<String>, Failure> {
    let Some(text) = text_at(objects, commit, path)? else { return Ok(None) };
    file::without_secrets(&text).map(Some).ok_or_else(|| {
        let message = format!("failed to read {path}: {HOLDS_A_SECRET}");
        Failure::with_code(Code::PolicyInvalid, message)
    })
}

fn text_at(objects: &dyn Objects, commit: &CommitId, path: &str) -> Result<Option<String>, Failure> {
    let Some(id) = objects.file_at(commit, path)? else { return Ok(None) };
    let invalid =
        |reason: String| Failure::with_code(Code::PolicyInvalid, format!("failed to read {path}: {reason}"));
    match objects.reader()?.blob(&id, MAX_POLICY_BYTES as u64)? {
        BlobRead::Content(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| invalid("it is not UTF-8".to_owned()))
        }
        BlobRead::TooLarge { size, .. } => {
            Err(invalid(format!("it has {size} bytes, the limit is {MAX_POLICY_BYTES}")))
        }
    }
}

/// Reads a rubric at a commit; every error means that it is no frozen rubric.
pub(crate) fn rubric_at(
    objects: &dyn Objects,
    commit: &CommitId,
    path: &str,
) -> Result<Option<String>, Failure> {
    let refused = |reason: &str| {
        let message = format!("failed to read the rubric: {path} {reason}");
        Failure::with_code(Code::RubricNotFrozen, message)
    };
    let Some(id) = objects.file_at(commit, path).map_err(|_| refused("is not a regular file at the base"))?
    else {
        return Ok(None);
    };
    match objects.reader()?.blob(&id, MAX_RUBRIC_BYTES as u64)? {
        BlobRead::Content(bytes) => match String::from_utf8(bytes) {
            Ok(text) if secrets::find(&text).is_empty() => Ok(Some(text)),
            Ok(_) => Err(refused("holds what looks like a secret")),
            Err(_) => Err(refused("is not UTF-8")),
        },
        BlobRead::TooLarge { .. } => Err(refused("is too large")),
    }
}

/// Returns the directory of runs, the default one unless the request names another.
pub(crate) fn artifact_root(request: &Request, repository_root: &Path) -> std::path::PathBuf {
    request.artifact_root.clone().unwrap_or_else(|| repository_root.join(".qa-skill"))
}
