//! Environment of a step of GitHub Actions: inputs, the run's context, services and tokens.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::artifacts::ArtifactEnvironment;
use super::inputs::{Inputs, ParsedInputs, SettingsError};
use qa_contracts::v1::SettingOrigin;

/// Variables that replace the system's certificates in the TLS library.
const CERTIFICATE_VARIABLES: &[&str] = &["SSL_CERT_DIR", "SSL_CERT_FILE"];

/// Variables of the runner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Context {
    pub(crate) event_name: String,
    pub(crate) event_path: String,
    pub(crate) sha: String,
    #[serde(rename = "ref")]
    pub(crate) git_ref: String,
    pub(crate) base_ref: String,
    pub(crate) repository: String,
    pub(crate) server_url: String,
    pub(crate) api_url: String,
    pub(crate) workspace: String,
    pub(crate) run_id: String,
    pub(crate) run_attempt: String,
    pub(crate) output: String,
    pub(crate) step_summary: String,
    pub(crate) retention_days: String,
    pub(crate) workflow_ref: String,
    /// Repository of the action itself.
    pub(crate) action_repository: String,
    /// Version of the action, as the workflow names it.
    pub(crate) action_ref: String,
}

/// Environment of a step.
pub(crate) struct ActionEnvironment {
    pub(crate) inputs: Inputs,
    pub(crate) context: Context,
    pub(crate) artifacts: ArtifactEnvironment,
    /// Effective value and origin of each input; secrets only as set or not set.
    pub(crate) settings: Vec<SettingOrigin>,
}

/// Returns whether the process is a step of GitHub Actions.
pub(crate) fn in_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS") == Some("true".into())
}

impl ActionEnvironment {
    /// Reads the process environment.
    pub(crate) fn from_process() -> Result<Self, SettingsError> {
        if let Some(name) = super::variable_that_is_not_unicode() {
            return Err(SettingsError::Environment(format!("{name} is not UTF-8")));
        }
        Self::from_variables(variables())
    }

    /// Returns the path of the checkout.
    pub(crate) fn checkout(&self) -> PathBuf {
        let workspace = PathBuf::from(&self.context.workspace);
        match &self.inputs.working_directory {
            Some(inside) => workspace.join(inside),
            None => workspace,
        }
    }

    /// Returns the file name of the workflow that judges pull requests: the input, or the workflow of this step.
    pub(crate) fn workflow(&self) -> Option<&str> {
        let (path, _) = self.context.workflow_ref.split_once('@').unwrap_or_default();
        let own = path.rsplit('/').next().filter(|name| !name.is_empty());
        self.inputs.workflow.as_deref().or(own)
    }

    fn from_variables(variables: Vec<(String, String)>) -> Result<Self, SettingsError> {
        for name in CERTIFICATE_VARIABLES {
            if variables.iter().any(|(set, _)| set == name) {
                return Err(SettingsError::Certificates(name));
            }
        }
        // The runner keeps the hyphens of names.
        let given: BTreeMap<String, String> =
            envy::prefixed("INPUT_").from_iter(variables.iter().cloned()).map_err(unreadable)?;
        let context = Context::from_variables(variables.iter().cloned())?;
        let artifacts: ArtifactEnvironment = envy::from_iter(variables).map_err(unreadable)?;
        let ParsedInputs { inputs, settings } = Inputs::parse(given)?;
        Ok(Self { inputs, context, artifacts, settings })
    }
}

impl Context {
    /// Reads the process environment, also if its inputs are not valid.
    pub(crate) fn from_process() -> Result<Self, SettingsError> {
        Self::from_variables(variables().into_iter())
    }

    fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        envy::prefixed("GITHUB_").from_iter(variables).map_err(unreadable)
    }
}

/// Returns the variables that are not blank: the runner passes an unset input as an empty variable.
fn variables() -> Vec<(String, String)> {
    super::variables().filter(|(_, value)| !value.trim().is_empty()).collect()
}

fn unreadable(error: envy::Error) -> SettingsError {
    SettingsError::Environment(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::inputs::PUBLISH_TIMEOUT_SECONDS;

    fn of(variables: &[(&str, &str)]) -> Result<ActionEnvironment, SettingsError> {
        let set = variables.iter().filter(|(_, value)| !value.trim().is_empty());
        let owned = set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ActionEnvironment::from_variables(owned.collect())
    }

    #[test]
    fn every_declared_input_is_there_and_an_empty_one_is_unset() {
        let read = of(&[
            ("INPUT_MODE", ""),
            ("INPUT_JOBS", ""),
            ("INPUT_UPLOAD-ARTIFACT", ""),
            ("INPUT_COMMENT", " "),
            ("INPUT_CHECK-NAME", "our gate"),
            ("GITHUB_REF", "refs/heads/main"),
        ])
        .unwrap();
        let expected = Inputs {
            check_name: Some("our gate".into()),
            upload_artifact: true,
            publish_timeout: PUBLISH_TIMEOUT_SECONDS,
            ..Inputs::default()
        };
        assert_eq!(read.inputs, expected);
        assert_eq!(read.context.git_ref, "refs/heads/main");
        assert_eq!(read.artifacts.results_url(), None);
    }

    #[test]
    fn a_wrong_input_is_named_with_what_it_may_be() {
        let fault = |name: &str, value: &str| of(&[(name, value)]).err().unwrap().to_string();
        assert_eq!(
            fault("INPUT_MODE", "strct"),
            "the input `mode`: `strct` is not one of strict, best_effort"
        );
        assert_eq!(fault("INPUT_JOBS", "0"), "the input `jobs`: `0` is not a number from 1 to 64");
        assert_eq!(fault("INPUT_COMMENT", "yes"), "the input `comment`: `yes` is not true or false");
        assert!(fault("INPUT_PUBLISH", "\u{1b}[2J").contains("\\u{1b}"));
    }

    #[test]
    fn a_token_is_a_setting_and_its_value_is_not() {
        let read = of(&[
            ("INPUT_TOKEN", "canary-one"),
            ("ACTIONS_RUNTIME_TOKEN", "canary-two"),
            ("ACTIONS_RESULTS_URL", "https://results.example/"),
        ])
        .unwrap();
        assert_eq!(read.artifacts.secrets().len(), 2);
        assert!(!format!("{:?} {:?}", read.inputs, read.settings).contains("canary"));
        let token = read.settings.iter().find(|setting| setting.name == "token").unwrap();
        assert_eq!((token.value.as_str(), token.origin.as_str()), ("set", "input"));
    }
}
