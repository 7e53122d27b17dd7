//! `qa-skill doctor --repository`: reads the setup of the gate and prints the ways around it.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::action::{CHECK_NAME, REVIEWS_CHECK_NAME};
use super::client::client;
use super::console;
use super::exit::{Exit, Failure};
use super::init::files::host_of;
use super::inputs::{Opened, Request, open, read_policy};
use crate::config::ArtifactEnvironment;
use crate::publish::{GitHub, Target};
use qa_core::escape::{visible, without_runner_commands};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_run::ports::{BlobRead, Cancellation, Objects};
use qa_run::setup::{
    self, BranchRules, CODEOWNERS, Kind, Observation, OtherForge, OtherSetup, Place, Setup, WORKFLOWS,
};

/// Time limit of all requests to the API.
const BUDGET: Duration = Duration::from_secs(60);
/// Address of the REST API of github.com.
const GITHUB_API: &str = "https://api.github.com";
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
    let files = BaseFiles { opened: &opened, failure: OnceCell::new() };
    let observations = match other_forge(&opened)? {
        Some(forge) => observe_other(forge, &files, &policy)?,
        None => observe_github(&files, &policy, cancellation)?,
    };
    cancellation.check()?;
    if let Some(failure) = files.failure.into_inner() {
        return Err(failure);
    }
    console::write_page(&describe(&observations, opened.resolved.base.short()))?;
    Ok(match observations.iter().map(|observation| observation.kind).min() {
        None => Exit::Pass,
        Some(Kind::Problem) => Exit::Fail,
        Some(Kind::Unseen) => Exit::CouldNotComplete,
    })
}

/// Returns the forge by the host of the origin, else by the files of the base; `None` for GitHub, which is also the answer where
/// nothing tells.
fn other_forge(opened: &Opened) -> Result<Option<OtherForge>, Failure> {
    let host = opened.repository.origin().map(host_of).unwrap_or_default();
    for label in host.split('.') {
        match label {
            "github" => return Ok(None),
            "gitlab" => return Ok(Some(OtherForge::GitLab)),
            "bitbucket" => return Ok(Some(OtherForge::Bitbucket)),
            "azure" | "visualstudio" => return Ok(Some(OtherForge::AzureRepos)),
            _ => {}
        }
    }
    let base = &opened.resolved.base;
    if !opened.objects.files_in(base, WORKFLOWS)?.is_empty() {
        return Ok(None);
    }
    for forge in OtherForge::ALL {
        if opened.objects.file_at(base, forge.pipeline())?.is_some() {
            return Ok(Some(forge));
        }
    }
    Ok(None)
}

fn observe_other(
    forge: OtherForge,
    files: &BaseFiles<'_>,
    policy: &Policy,
) -> Result<Vec<Observation>, Failure> {
    let pipeline = files.text(forge.pipeline());
    let owners = files.first_of(forge.codeowners())?;
    Ok(setup::check_other(&OtherSetup {
        forge,
        pipeline: pipeline.as_deref(),
        codeowners: owners.as_ref().map(|(path, text)| (*path, text.as_str())),
        policy,
        is_ignored: &|path| setup::is_ignored(path, &|path| files.text(path)),
    }))
}

fn observe_github(
    files: &BaseFiles<'_>,
    policy: &Policy,
    cancellation: &Arc<Cancellation>,
) -> Result<Vec<Observation>, Failure> {
    let opened = files.opened;
    let mut workflows = Vec::new();
    for (name, _) in opened.objects.files_in(&opened.resolved.base, WORKFLOWS)? {
        let is_workflow =
            Path::new(&name).extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
        let path = format!("{WORKFLOWS}/{name}");
        if is_workflow {
            workflows.push((path.clone(), files.text(&path)));
        }
    }
    let owners = files.first_of(&CODEOWNERS)?;
    let own_action = files.text("action.yml").unwrap_or_default();
    Ok(setup::check(&Setup {
        workflows: &workflows,
        codeowners: owners.as_ref().map(|(path, text)| (*path, text.as_str())),
        is_own_repository: own_action.lines().any(|line| line == "name: qa-skill"),
        policy,
        check_name: CHECK_NAME,
        reviews_check_name: REVIEWS_CHECK_NAME,
        branch: branch_rules(opened, cancellation),
        is_ignored: &|path| setup::is_ignored(path, &|path| files.text(path)),
    }))
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

    /// Returns the first file that is there, with its path. It is in force, though it may hold nothing that can be read.
    fn first_of(&self, paths: &[&'static str]) -> Result<Option<(&'static str, String)>, Failure> {
        for path in paths {
            if self.opened.objects.file_at(&self.opened.resolved.base, path)?.is_some() {
                return Ok(Some((path, self.text(path).unwrap_or_default())));
            }
        }
        Ok(None)
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

/// Requests the rules of the default branch from the API, or returns the reason why they could not be read. What the environment
/// does not name is taken from an origin on github.com; a token is sent to no other host that the checkout names.
fn branch_rules(opened: &Opened, cancellation: &Arc<Cancellation>) -> Result<BranchRules, String> {
    let environment = ArtifactEnvironment::from_process();
    let is_on_github = opened.repository.origin().map(host_of) == Some("github.com");
    let origin = opened.repository.origin_repo_id().filter(|_| is_on_github);
    let api_url = environment.api().or(is_on_github.then_some(GITHUB_API));
    let repository = environment.repository().or(origin.as_deref());
    let (Some(api_url), Some(repository), Some(token)) = (api_url, repository, environment.token()) else {
        let missing = [
            ("GITHUB_TOKEN", environment.token().is_none()),
            ("GITHUB_REPOSITORY", repository.is_none()),
            ("GITHUB_API_URL", api_url.is_none()),
        ];
        let missing = missing.iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| *name);
        return Err(format!("not set: {}", missing.collect::<Vec<_>>().join(", ")));
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
        let message = without_runner_commands(&sanitize_cut(message, 1_000));
        text.push_str(&format!(
            "  {kind:<8} {id}: {}{message}\n  {:<8} {fix}\n",
            place.unwrap_or_default(),
            ""
        ));
    }
    text
}
