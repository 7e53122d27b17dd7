//! Environment of artifacts: the running workflow's service, the repository, the tokens, the clock.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::Deserialize;

use qa_contracts::secret::Secret;

/// Variables that artifacts need. An empty one counts as unset.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct ArtifactEnvironment {
    github_server_url: Option<String>,
    github_api_url: Option<String>,
    github_repository: Option<String>,
    github_retention_days: Option<String>,
    github_run_attempt: Option<String>,
    github_run_id: Option<String>,
    actions_results_url: Option<String>,
    actions_runtime_token: Option<String>,
    actions_id_token_request_token: Option<String>,
    runner_temp: Option<String>,
    github_token: Option<String>,
    input_token: Option<String>,
}

impl ArtifactEnvironment {
    /// Reads the process environment. A variable that is not Unicode counts as absent.
    pub(crate) fn from_process() -> Self {
        envy::from_iter(super::variables()).unwrap_or_default()
    }

    /// URL of the server, github.com by default.
    pub(crate) fn server(&self) -> &str {
        non_empty(&self.github_server_url).unwrap_or("https://github.com").trim_end_matches('/')
    }

    /// Base URL of the REST API.
    pub(crate) fn api(&self) -> Option<&str> {
        non_empty(&self.github_api_url).map(|url| url.trim_end_matches('/'))
    }

    /// Owner and name of the repository.
    pub(crate) fn repository(&self) -> Option<&str> {
        non_empty(&self.github_repository)
    }

    /// Retention limit of the repository, in days.
    pub(crate) fn retention_days(&self) -> Option<u64> {
        non_empty(&self.github_retention_days)?.parse().ok()
    }

    pub(crate) fn run_attempt(&self) -> u64 {
        non_empty(&self.github_run_attempt).and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    /// Seed for retry jitter.
    pub(crate) fn seed(&self) -> &str {
        non_empty(&self.github_run_id).unwrap_or("local")
    }

    pub(crate) fn results_url(&self) -> Option<&str> {
        non_empty(&self.actions_results_url)
    }

    /// The token of the running workflow's own services.
    pub(crate) fn runtime_token(&self) -> Option<Secret> {
        Secret::new(non_empty(&self.actions_runtime_token)?)
    }

    /// The token for the REST API and for git.
    pub(crate) fn token(&self) -> Option<Secret> {
        let tokens = [&self.input_token, &self.github_token];
        tokens.into_iter().find_map(|token| Secret::new(non_empty(token)?))
    }

    /// Secrets that an artifact must not contain.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let all = [
            &self.actions_runtime_token,
            &self.actions_id_token_request_token,
            &self.input_token,
            &self.github_token,
        ];
        let mut secrets: Vec<Secret> = Vec::new();
        for secret in all.into_iter().filter_map(|value| Secret::new(non_empty(value)?)) {
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
        secrets
    }

    /// Directory of temporary files: the runner's own, which it cleans.
    pub(crate) fn scratch(&self) -> PathBuf {
        match non_empty(&self.runner_temp) {
            Some(directory) => PathBuf::from(directory),
            None => std::env::temp_dir(),
        }
    }
}

fn non_empty(value: &Option<String>) -> Option<&str> {
    value.as_deref().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns the current time, for ages and retention of artifacts. No verdict depends on it.
#[expect(
    clippy::disallowed_methods,
    reason = "ages of artifacts are relative to the present; no verdict depends on it"
)]
pub(crate) fn now() -> SystemTime {
    crate::faults::clock(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> ArtifactEnvironment {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        envy::from_iter(owned).unwrap()
    }

    #[test]
    fn an_empty_variable_is_not_set_and_an_input_wins() {
        let empty = of(&[("GITHUB_API_URL", ""), ("INPUT_TOKEN", " "), ("GITHUB_RUN_ATTEMPT", "")]);
        assert_eq!((empty.api(), empty.token(), empty.run_attempt()), (None, None, 1));
        assert_eq!(empty.server(), "https://github.com");
        let full = of(&[
            ("INPUT_TOKEN", "one"),
            ("GITHUB_TOKEN", "two"),
            ("ACTIONS_RUNTIME_TOKEN", "one"),
            ("GITHUB_API_URL", "https://api.github.com/"),
        ]);
        assert_eq!(full.token(), Secret::new("one"));
        assert_eq!(full.secrets(), [Secret::new("one").unwrap(), Secret::new("two").unwrap()]);
        assert_eq!(full.api(), Some("https://api.github.com"));
    }
}
