//! `qa-skill doctor --repository`: reads the setup of the gate and prints the ways around it.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::action::{CHECK_NAME, REVIEWS_CHECK_NAME};
use super::client::client;
use super::console;
use super::exit::{Exit, Failure};
use super::inputs::{Opened, Request, open, read_policy};
use crate::config::ArtifactEnvironment;
use crate::publish::{GitHub, Target};
use qa_core::escape::{visible, without_runner_commands};
use qa_core::masking::sanitize_cut;
use qa_run::ports::{BlobRead, Cancellation, Objects};
use qa_run::setup::{self, BranchRules, CODEOWNERS, Kind, Observation, Place, Setup, WORKFLOWS};

/// Time limit of all requests to the API.
const BUDGET: Duration = Duration::from_secs(60);
/// Size limit of a file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Checks the files of the base and the rules of the default branch. A problem is exit code 1; something that could not be
/// seen is exit code 3.
pub(super) fn check_repository(
    repository: &Path,
    base: Option<&str>,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let request = Request::of_base(repository, base);
    let opened = open(&request)?;
    let registry = qa_lenses::registry();
    let policy = read_policy(&opened.objects, opened.resolved.sides(), &request.overrides, &registry)?.policy;
    let base = &opened.resolved.base;
    let files = BaseFiles { opened: &opened, failure: OnceCell::new() };
    let mut workflows = Vec::new();
    for (name, _) in opened.objects.files_in(base, WORKFLOWS)? {
        let is_workflow =
            Path::new(&name).extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
        let path = format!("{WORKFLOWS}/{name}");
        if is_workflow {
            workflows.push((path.clone(), files.text(&path)));
        }
    }
    // The first that is there is in force, though it may hold nothing that can be read.
    let mut owners = None;
    for path in CODEOWNERS {
        if owners.is_none() && opened.objects.file_at(base, path)?.is_some() {
            owners = Some((path, files.text(path).unwrap_or_default()));
        }
    }
    let own_action = files.text("action.yml").unwrap_or_default();
    let observations = setup::check(&Setup {
        workflows: &workflows,
        codeowners: owners.as_ref().map(|(path, text)| (*path, text.as_str())),
        is_own_repository: own_action.lines().any(|line| line == "name: qa-skill"),
        policy: &policy,
        check_name: CHECK_NAME,
        reviews_check_name: REVIEWS_CHECK_NAME,
        branch: branch_rules(cancellation),
        is_ignored: &|path| setup::is_ignored(path, &|path| files.text(path)),
    });
    cancellation.check()?;
    if let Some(failure) = files.failure.into_inner() {
        return Err(failure);
    }
    console::write_stdout(describe(&observations, base.short()).as_bytes())?;
    Ok(match observations.iter().map(|observation| observation.kind).min() {
        None => Exit::Pass,
        Some(Kind::Problem) => Exit::Fail,
        Some(Kind::Unseen) => Exit::CouldNotComplete,
    })
}

/// Files of the base, and the first error of reading one.
struct BaseFiles<'a> {
    opened: &'a Opened,
    failure: OnceCell<Failure>,
}

impl BaseFiles<'_> {
    /// Returns a file's text, or `None` if it is missing, is not text or cannot be read; the error is kept.
    fn text(&self, path: &str) -> Option<String> {
        match self.read(path) {
            Ok(text) => text,
            Err(failure) => {
                self.failure.get_or_init(|| failure);
                None
            }
        }
    }

    fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        let objects = &self.opened.objects;
        let Some(id) = objects.file_at(&self.opened.resolved.base, path)? else { return Ok(None) };
        match objects.reader()?.blob(&id, MAX_BYTES)? {
            BlobRead::Content(bytes) => Ok(String::from_utf8(bytes).ok()),
            BlobRead::TooLarge { .. } => Ok(None),
        }
    }
}

/// Requests the rules of the default branch from the API, or returns the reason why they could not be read.
fn branch_rules(cancellation: &Arc<Cancellation>) -> Result<BranchRules, String> {
    let environment = ArtifactEnvironment::from_process();
    let (Some(api_url), Some(repository), Some(token)) =
        (environment.api(), environment.repository(), environment.token())
    else {
        return Err("GITHUB_API_URL, GITHUB_REPOSITORY or GITHUB_TOKEN is not set".to_owned());
    };
    let http = client(BUDGET, cancellation).map_err(|error| error.to_string())?;
    let target = Target { api_url, repository, token, seed: environment.seed() };
    let github = GitHub::new(Arc::new(http), target).map_err(|error| error.to_string())?;
    github.branch_rules().map_err(|error| error.to_string())
}

fn describe(observations: &[Observation], base: &str) -> String {
    let mut text = format!("setup of the gate at {base}\n");
    if observations.is_empty() {
        return text + "  no problems found\n";
    }
    for Observation { id, kind, place, message, fix } in observations {
        let kind = match kind {
            Kind::Problem => "problem",
            Kind::Unseen => "unseen",
        };
        let place = place.as_ref().map(|Place { path, line }| format!("{}:{line}: ", visible(path)));
        let message = without_runner_commands(&sanitize_cut(message, 300));
        text.push_str(&format!(
            "  {kind:<8} {id}: {}{message}\n  {:<8} {fix}\n",
            place.unwrap_or_default(),
            ""
        ));
    }
    text
}
