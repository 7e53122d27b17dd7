//! What GitHub Actions hands to a step: inputs, the run's context, services and tokens, read once and validated.

use std::path::PathBuf;

use serde::Deserialize;

use super::artifacts::ArtifactEnvironment;

use qa_contracts::secret::Secret;
use qa_contracts::v1::{Preset, RunMode, SettingOrigin};
use qa_core::masking::sanitize_cut;
use qa_core::secrets;
use qa_core::shard::{MAX_SHARDS, Shard};
use qa_run::reviews::RepliesMode;

/// An input or variable that cannot be used. Completes "failed to read …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("the input `{name}`: `{value}` is not {wanted}")]
    Input { name: &'static str, value: String, wanted: String },
    #[error("the environment: {0}")]
    Environment(String),
    /// Certificates of the image are trusted and no others: an earlier step can set the variable, and together with a
    /// proxy whoever has its key would be every server.
    #[error("the environment: {0} replaces the certificates that the image trusts")]
    Certificates(&'static str),
}

/// Which surfaces results go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Surfaces {
    /// A check run where the token allows one, else workflow commands and the job summary.
    #[default]
    Auto,
    /// Workflow commands and the job summary.
    Commands,
    /// Files and outputs alone.
    Files,
}

/// Source of the git objects that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ObjectSource {
    /// The checkout, and the server for what it lacks.
    #[default]
    Checkout,
    /// The server alone.
    Server,
}

/// What is asked for, whatever the event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Asked {
    #[default]
    ByEvent,
    Check,
    DriftCheck,
    /// The matrix for so many shards.
    Plan,
    /// Join the parts of shards.
    Aggregate,
    /// Set what QA found of the pull request that was merged.
    Features,
}

/// The action's inputs. Unset and empty are the same; see action.yml for what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) command: Asked,
    pub(crate) mode: Option<RunMode>,
    pub(crate) preset: Option<Preset>,
    pub(crate) lenses: Option<Vec<String>>,
    pub(crate) jobs: Option<u64>,
    pub(crate) base: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) working_directory: Option<PathBuf>,
    pub(crate) artifact_root: Option<PathBuf>,
    pub(crate) token: Option<Secret>,
    pub(crate) objects: ObjectSource,
    pub(crate) surfaces: Surfaces,
    pub(crate) check_name: Option<String>,
    pub(crate) comment: bool,
    pub(crate) comment_author: Option<String>,
    pub(crate) upload_artifact: bool,
    pub(crate) artifact_name: Option<String>,
    pub(crate) retention_days: Option<u64>,
    pub(crate) upload_sarif: bool,
    pub(crate) open_issue: bool,
    pub(crate) fail_on_engine_change: bool,
    pub(crate) require_artifact: bool,
    pub(crate) limit: Option<u64>,
    pub(crate) since_days: Option<u64>,
    pub(crate) shard: Option<Shard>,
    pub(crate) shards: Option<u64>,
    pub(crate) parts: Option<PathBuf>,
    pub(crate) publish_timeout: u64,
    pub(crate) replies: RepliesMode,
    pub(crate) no_model: bool,
    pub(crate) live: bool,
}

/// How long publishing may take, in seconds, unless an input says otherwise.
pub(crate) const PUBLISH_TIMEOUT_SECONDS: u64 = 180;

/// Variables by which the TLS library takes other roots than the system's.
const CERTIFICATE_VARIABLES: &[&str] = &["SSL_CERT_DIR", "SSL_CERT_FILE"];

/// Upper bound of the input `limit`. Each artifact costs two requests, of a thousand per hour.
const MOST_REPLAYED: u64 = 5000;

/// The variables of the runner that are used.
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
}

/// Everything read.
pub(crate) struct ActionEnvironment {
    pub(crate) inputs: Inputs,
    pub(crate) context: Context,
    pub(crate) artifacts: ArtifactEnvironment,
    /// Each input with its effective value and where that comes from; secrets only as set or not.
    pub(crate) settings: Vec<SettingOrigin>,
}

/// Whether the process is a step of GitHub Actions.
pub(crate) fn in_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

impl ActionEnvironment {
    /// Reads the process environment.
    pub(crate) fn read() -> Result<Self, SettingsError> {
        Self::from_variables(variables())
    }

    fn from_variables(variables: Vec<(String, String)>) -> Result<Self, SettingsError> {
        for name in CERTIFICATE_VARIABLES {
            if variables.iter().any(|(set, _)| set == name) {
                return Err(SettingsError::Certificates(name));
            }
        }
        let raw: RawInputs =
            envy::prefixed("INPUT_").from_iter(variables.iter().cloned()).map_err(unreadable)?;
        let context = Context::from_variables(variables.iter().cloned())?;
        let artifacts: ArtifactEnvironment = envy::from_iter(variables).map_err(unreadable)?;
        let mut settings = Vec::new();
        let inputs = raw.validated(&mut settings)?;
        Ok(Self { inputs, context, artifacts, settings })
    }
}

impl Context {
    /// Reads the process environment, whatever its inputs are worth.
    pub(crate) fn read() -> Result<Self, SettingsError> {
        Self::from_variables(variables().into_iter())
    }

    fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        envy::prefixed("GITHUB_").from_iter(variables).map_err(unreadable)
    }
}

/// The variables that are set; the runner passes an input that is not as an empty one.
fn variables() -> Vec<(String, String)> {
    super::variables().filter(|(_, value)| !value.trim().is_empty()).collect()
}

fn unreadable(error: envy::Error) -> SettingsError {
    SettingsError::Environment(error.to_string())
}

/// Inputs as text. Names keep their hyphens in the environment, so the serde names do.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct RawInputs {
    command: Option<String>,
    mode: Option<String>,
    preset: Option<String>,
    lenses: Option<String>,
    jobs: Option<String>,
    base: Option<String>,
    head: Option<String>,
    working_directory: Option<String>,
    artifact_root: Option<String>,
    token: Option<String>,
    objects: Option<String>,
    publish: Option<String>,
    check_name: Option<String>,
    comment: Option<String>,
    comment_author: Option<String>,
    upload_artifact: Option<String>,
    artifact_name: Option<String>,
    retention_days: Option<String>,
    upload_sarif: Option<String>,
    open_issue: Option<String>,
    fail_on_engine_change: Option<String>,
    require_artifact: Option<String>,
    limit: Option<String>,
    since_days: Option<String>,
    shard: Option<String>,
    shards: Option<String>,
    parts: Option<String>,
    publish_timeout: Option<String>,
    replies: Option<String>,
    no_model: Option<String>,
    live: Option<String>,
}

impl RawInputs {
    fn validated(self, settings: &mut Vec<SettingOrigin>) -> Result<Inputs, SettingsError> {
        let mut read = Reading { settings };
        let command = [
            ("check", Asked::Check),
            ("drift-check", Asked::DriftCheck),
            ("plan", Asked::Plan),
            ("aggregate", Asked::Aggregate),
            ("features", Asked::Features),
        ];
        let objects = [("checkout", ObjectSource::Checkout), ("server", ObjectSource::Server)];
        let surfaces =
            [("auto", Surfaces::Auto), ("commands", Surfaces::Commands), ("files", Surfaces::Files)];
        Ok(Inputs {
            command: read.word("command", self.command, &command)?.unwrap_or_default(),
            mode: read.word(
                "mode",
                self.mode,
                &RunMode::ALL.iter().map(|word| (word.as_str(), *word)).collect::<Vec<_>>(),
            )?,
            preset: read.word(
                "preset",
                self.preset,
                &Preset::ALL.iter().map(|word| (word.as_str(), *word)).collect::<Vec<_>>(),
            )?,
            lenses: read.list("lenses", self.lenses),
            jobs: read.number("jobs", self.jobs, 1, 64)?,
            base: read.text("base", self.base),
            head: read.text("head", self.head),
            working_directory: read.text("working-directory", self.working_directory).map(PathBuf::from),
            artifact_root: read.text("artifact-root", self.artifact_root).map(PathBuf::from),
            token: read.secret("token", self.token.as_deref()),
            objects: read.word("objects", self.objects, &objects)?.unwrap_or_default(),
            surfaces: read.word("publish", self.publish, &surfaces)?.unwrap_or_default(),
            // Names are shown to others than the runner, which masks its own secrets alone.
            check_name: read.text("check-name", self.check_name).map(secrets::masked),
            comment: read.flag("comment", self.comment, false)?,
            comment_author: read.text("comment-author", self.comment_author),
            upload_artifact: read.flag("upload-artifact", self.upload_artifact, true)?,
            artifact_name: read.text("artifact-name", self.artifact_name).map(secrets::masked),
            retention_days: read.number("retention-days", self.retention_days, 1, 400)?,
            upload_sarif: read.flag("upload-sarif", self.upload_sarif, false)?,
            open_issue: read.flag("open-issue", self.open_issue, false)?,
            fail_on_engine_change: read.flag("fail-on-engine-change", self.fail_on_engine_change, false)?,
            require_artifact: read.flag("require-artifact", self.require_artifact, false)?,
            limit: read.number("limit", self.limit, 1, MOST_REPLAYED)?,
            since_days: read.number("since-days", self.since_days, 1, 400)?,
            shard: read.shard("shard", self.shard)?,
            shards: read.number("shards", self.shards, 1, MAX_SHARDS)?,
            parts: read.text("parts", self.parts).map(PathBuf::from),
            publish_timeout: read
                .number("publish-timeout", self.publish_timeout, 5, 3600)?
                .unwrap_or(PUBLISH_TIMEOUT_SECONDS),
            replies: read
                .word("replies", self.replies, &RepliesMode::ALL.map(|(mode, word)| (word, mode)))?
                .unwrap_or_default(),
            no_model: read.flag("no-model", self.no_model, false)?,
            live: read.flag("live", self.live, false)?,
        })
    }
}

/// Validates inputs one by one and notes where each effective value comes from.
struct Reading<'a> {
    settings: &'a mut Vec<SettingOrigin>,
}

impl Reading<'_> {
    fn note(&mut self, name: &str, value: String, given: bool) {
        let origin = if given { "input" } else { "default" };
        let value = sanitize_cut(&value, 200);
        self.settings.push(SettingOrigin { name: name.to_owned(), value, origin: origin.to_owned() });
    }

    fn text(&mut self, name: &str, value: Option<String>) -> Option<String> {
        self.note(name, value.clone().unwrap_or_default(), value.is_some());
        value.map(|value| value.trim().to_owned())
    }

    fn secret(&mut self, name: &str, value: Option<&str>) -> Option<Secret> {
        let secret = value.and_then(Secret::new);
        self.note(name, if secret.is_some() { "set" } else { "not set" }.to_owned(), secret.is_some());
        secret
    }

    fn list(&mut self, name: &str, value: Option<String>) -> Option<Vec<String>> {
        let text = self.text(name, value)?;
        let words =
            text.split([',', ' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()).map(str::to_owned);
        let mut words: Vec<String> = words.collect();
        words.sort();
        (!words.is_empty()).then_some(words)
    }

    fn word<T: Copy>(
        &mut self,
        name: &'static str,
        value: Option<String>,
        words: &[(&str, T)],
    ) -> Result<Option<T>, SettingsError> {
        let Some(text) = self.text(name, value) else { return Ok(None) };
        let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        known.map(Some).ok_or_else(|| invalid(name, &text, format!("one of {}", names.join(", "))))
    }

    fn flag(
        &mut self,
        name: &'static str,
        value: Option<String>,
        default: bool,
    ) -> Result<bool, SettingsError> {
        self.note(name, value.clone().unwrap_or_else(|| default.to_string()), value.is_some());
        match value.as_deref().map(str::trim) {
            None => Ok(default),
            // The spellings of YAML's core schema, as the official toolkit reads them.
            Some("true" | "True" | "TRUE") => Ok(true),
            Some("false" | "False" | "FALSE") => Ok(false),
            Some(other) => Err(invalid(name, other, "true or false".to_owned())),
        }
    }

    fn shard(&mut self, name: &'static str, value: Option<String>) -> Result<Option<Shard>, SettingsError> {
        let Some(text) = self.text(name, value) else { return Ok(None) };
        let wanted = || format!("`k/N` with k from 1 to N and N up to {MAX_SHARDS}");
        Shard::parse(&text).map(Some).ok_or_else(|| invalid(name, &text, wanted()))
    }

    fn number(
        &mut self,
        name: &'static str,
        value: Option<String>,
        from: u64,
        to: u64,
    ) -> Result<Option<u64>, SettingsError> {
        let Some(text) = self.text(name, value) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (from..=to).contains(number));
        number.map(Some).ok_or_else(|| invalid(name, &text, format!("a number from {from} to {to}")))
    }
}

fn invalid(name: &'static str, value: &str, wanted: String) -> SettingsError {
    SettingsError::Input { name, value: sanitize_cut(value, 60), wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_inputs_that_are_read_are_those_of_the_action() {
        let text = include_str!("../../action.yml");
        let (_, inputs) = text.split_once("\ninputs:\n").unwrap();
        let (inputs, _) = inputs.split_once("\noutputs:\n").unwrap();
        let name = |line: &'static str| {
            line.strip_prefix("  ")?.strip_suffix(':').filter(|name| !name.starts_with(' '))
        };
        let declared: std::collections::BTreeSet<String> =
            inputs.lines().filter_map(name).map(str::to_owned).collect();
        let read = of(&[]).unwrap().settings.into_iter().map(|setting| setting.name).collect();
        assert_eq!(declared, read);
    }
}
