//! Uploads the directories that a step wrote as an artifact of its workflow run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::surfaces::annotate;
use crate::app::client::client;
use crate::app::exit::Failure;
use crate::app::upload::{StoredArtifact, Storing, store_directories};
use crate::config::{ActionEnvironment, Inputs, now};
use crate::publish::artifact::{ArtifactName, MOST_NAMES, RunService};
use qa_contracts::codes::Code;
use qa_core::shard::Shard;
use qa_run::ports::Cancellation;

/// Time limit of an upload; a run directory has a few megabytes.
const BUDGET: Duration = Duration::from_secs(300);

/// Reports a missing artifact service as a notice, or fails if the workflow requires an artifact.
fn without_service(failure: Failure, inputs: &Inputs) -> Result<Option<StoredArtifact>, Failure> {
    if inputs.require_artifact {
        return Err(failure);
    }
    let text = format!("{}\n{}", failure.message, failure.hint);
    annotate("notice", Code::ArtifactUploadUnsupported.as_str(), &text);
    Ok(None)
}

/// Uploads directories as one artifact. Returns `None` if the inputs turn it off, or if there is no artifact service: then
/// the directories stay in the workspace and a notice reports it, unless the workflow requires the artifact.
pub(crate) fn upload_artifact(
    environment: &ActionEnvironment,
    directories: &[PathBuf],
    shard: Option<Shard>,
    default_name: &str,
    cancellation: &Arc<Cancellation>,
) -> Result<Option<StoredArtifact>, Failure> {
    let (inputs, variables) = (&environment.inputs, &environment.artifacts);
    if !inputs.upload_artifact {
        return Ok(None);
    }
    let token = variables.runtime_token();
    if token.is_none() && variables.results_url().is_none() {
        let code = Code::ArtifactUploadUnsupported;
        let failure = Failure::with_code(code, "there is no artifact service here");
        return without_service(failure, inputs);
    }
    let service =
        RunService::new(variables.server(), variables.results_url(), token.as_ref(), variables.run_attempt());
    let service = match service.map_err(Failure::from) {
        Ok(service) => service,
        Err(failure) if failure.code == Some(Code::ArtifactUploadUnsupported) => {
            return without_service(failure, inputs);
        }
        Err(failure) => return Err(failure),
    };
    let name = ArtifactName::new(inputs.artifact_name.as_deref().unwrap_or(default_name))?;
    let http = client(BUDGET, cancellation)?;
    let storing = Storing {
        directories,
        name: &name,
        retention_days: inputs.retention_days,
        most_retention_days: variables.retention_days(),
        secrets: &variables.secrets(),
        now: now(),
        seed: variables.seed(),
        scratch: &variables.scratch(),
    };
    if let Some(shard) = shard {
        let name = &name.of_shard(shard.number, shard.of);
        return store_directories(&http, &service, &Storing { name, ..storing }).map(Some);
    }
    // Another leg of a matrix, or another job of the workflow run, may have the name.
    let mut stored = store_directories(&http, &service, &storing);
    for ordinal in 2..=MOST_NAMES {
        match stored {
            Err(failure) if failure.code == Some(Code::ArtifactNameTaken) => {
                let name = &name.ordinal(ordinal);
                stored = store_directories(&http, &service, &Storing { name, ..storing });
            }
            _ => break,
        }
    }
    stored.map(Some)
}
