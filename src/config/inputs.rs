//! Inputs of the action: the one table of their names and descriptions, and how each is read.

use std::collections::BTreeMap;
use std::path::PathBuf;

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
    Input { name: &'static str, value: String, wanted: String, meaning: &'static str },
    #[error("the environment: {0}")]
    Environment(String),
    /// Certificates of the image are trusted and no others: an earlier step can set the variable, and together with a
    /// proxy whoever has its key would be every server.
    #[error("the environment: {0} replaces the certificates that the image trusts")]
    Certificates(&'static str),
}

/// An input as action.yml declares it.
struct Input {
    name: &'static str,
    description: &'static str,
}

const fn input(name: &'static str, description: &'static str) -> Input {
    Input { name, description }
}

/// All inputs. `make registry` writes them into action.yml and docs/action.md.
const INPUTS: &[Input] = &[
    input(
        "command",
        "`check`, `drift-check`, `plan`, `aggregate` or `features`; empty: the event decides (schedule means drift-check)",
    ),
    input("mode", "`strict` or `best_effort`; empty: what the policy says"),
    input("preset", "`default`, `guarded` or `advisory`; empty: what the policy says"),
    input(
        "lenses",
        "Only these lenses, separated by commas or spaces; empty: all. Without a required lens nothing passes",
    ),
    input("jobs", "How many worker threads, 1 to 64; empty: what the policy says"),
    input("base", "The base commit or branch; empty: what the event says"),
    input("head", "The head commit or branch; empty: what the event says"),
    input("working-directory", "The checkout, below the workspace; empty: the workspace"),
    input("artifact-root", "Where runs are kept, below the workspace; empty: `.qa-skill`"),
    input("token", "Reads missing commits and publishes results; the job's `permissions` say what it may do"),
    input(
        "objects",
        "`checkout`: judge the objects of the checkout, each with its hash verified, and fetch what it lacks; `server`: fetch everything that is judged, for jobs whose earlier steps run code of the change. Empty: `checkout`",
    ),
    input(
        "publish",
        "`auto`: a check run where the token allows it, else annotations; `commands`: annotations and job summary; `files`: neither. Empty: `auto`",
    ),
    input("check-name", "The name of the check run, unlike the name of any job; empty: `qa-skill verdict`"),
    input("comment", "`true`: keep one comment on the pull request up to date; empty: no comment"),
    input(
        "comment-author",
        "Who the token writes as: comments, issues, and the app of check runs; empty: `github-actions[bot]`",
    ),
    input("upload-artifact", "`false`: keep the run in the workspace only; empty: upload it"),
    input(
        "artifact-name",
        "The name of the run artifact, the same in every run; where another job of the workflow run has it, `-2`, `-3` and so on follow it. Empty: `qa-skill-run`",
    ),
    input(
        "require-artifact",
        "`true`: a pass whose proof could not be uploaded could not complete; empty: it stands, with a warning and no `artifact-id`",
    ),
    input("retention-days", "How long the artifact is kept; empty: as the repository is set"),
    input("upload-sarif", "`true`: upload the findings to code scanning; empty: no upload"),
    input("shard", "`k/N`: execute one part of a planned run; empty: all of it"),
    input("shards", "plan: how many shards the output `matrix` is for, 1 to 256; empty: 1"),
    input("parts", "aggregate: the directory with the parts of all shards, below the workspace"),
    input("since-days", "drift-check: how old a run may be; empty: 7"),
    input("open-issue", "drift-check: `true`: keep one issue about drift up to date; empty: no issue"),
    input(
        "fail-on-engine-change",
        "drift-check: `true`: runs that another version made fail the night; empty: they are reported",
    ),
    input(
        "limit",
        "drift-check: how many artifacts are replayed at most, the newest first and those of forks last, 1 to 5000; empty: 500",
    ),
    input(
        "replies",
        "Where models' answers come from: `off`, `record`, `replay` or `replay_or_record`; empty: `replay_or_record`",
    ),
    input("no-model", "`true`: ask no model, whatever the policy says; empty: ask those of its reviews"),
    input(
        "live",
        "drift-check: `true`: ask the models of stored reviews again, three times each, and report how they answer now; empty: ask none",
    ),
    input("publish-timeout", "How long publishing may take, in seconds; empty: 180"),
];

/// Surfaces that results go to.
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

/// Command of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ActionCommand {
    /// A drift check for a schedule, a check for any other event.
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
    pub(crate) command: ActionCommand,
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

/// Time for publishing in seconds, unless an input says otherwise.
pub(crate) const PUBLISH_TIMEOUT_SECONDS: u64 = 180;

/// Upper bound of the input `limit`. Each artifact costs two requests, of a thousand per hour.
const MOST_REPLAYED: u64 = 5000;

impl Inputs {
    /// Reads the inputs that are set, by name, and returns them beside where each effective value comes from.
    pub(super) fn read(given: BTreeMap<String, String>) -> Result<(Self, Vec<SettingOrigin>), SettingsError> {
        let mut read = Reading { given, settings: Vec::new() };
        let modes: Vec<_> = RunMode::ALL.iter().map(|mode| (mode.as_str(), *mode)).collect();
        let presets: Vec<_> = Preset::ALL.iter().map(|preset| (preset.as_str(), *preset)).collect();
        let command = [
            ("check", ActionCommand::Check),
            ("drift-check", ActionCommand::DriftCheck),
            ("plan", ActionCommand::Plan),
            ("aggregate", ActionCommand::Aggregate),
            ("features", ActionCommand::Features),
        ];
        let objects = [("checkout", ObjectSource::Checkout), ("server", ObjectSource::Server)];
        let surfaces =
            [("auto", Surfaces::Auto), ("commands", Surfaces::Commands), ("files", Surfaces::Files)];
        let inputs = Self {
            command: read.word("command", &command)?.unwrap_or_default(),
            mode: read.word("mode", &modes)?,
            preset: read.word("preset", &presets)?,
            lenses: read.list("lenses"),
            jobs: read.number("jobs", 1, 64)?,
            base: read.text("base"),
            head: read.text("head"),
            working_directory: read.text("working-directory").map(PathBuf::from),
            artifact_root: read.text("artifact-root").map(PathBuf::from),
            token: read.secret("token"),
            objects: read.word("objects", &objects)?.unwrap_or_default(),
            surfaces: read.word("publish", &surfaces)?.unwrap_or_default(),
            // Names are shown to others than the runner, which masks its own secrets alone.
            check_name: read.text("check-name").map(secrets::masked),
            comment: read.flag("comment", false)?,
            comment_author: read.text("comment-author"),
            upload_artifact: read.flag("upload-artifact", true)?,
            artifact_name: read.text("artifact-name").map(secrets::masked),
            retention_days: read.number("retention-days", 1, 400)?,
            upload_sarif: read.flag("upload-sarif", false)?,
            open_issue: read.flag("open-issue", false)?,
            fail_on_engine_change: read.flag("fail-on-engine-change", false)?,
            require_artifact: read.flag("require-artifact", false)?,
            limit: read.number("limit", 1, MOST_REPLAYED)?,
            since_days: read.number("since-days", 1, 400)?,
            shard: read.shard("shard")?,
            shards: read.number("shards", 1, MAX_SHARDS)?,
            parts: read.text("parts").map(PathBuf::from),
            publish_timeout: read.number("publish-timeout", 5, 3600)?.unwrap_or(PUBLISH_TIMEOUT_SECONDS),
            replies: read
                .word("replies", &RepliesMode::ALL.map(|(mode, word)| (word, mode)))?
                .unwrap_or_default(),
            no_model: read.flag("no-model", false)?,
            live: read.flag("live", false)?,
        };
        if inputs.require_artifact && !inputs.upload_artifact {
            return Err(invalid(
                "require-artifact",
                "true",
                "possible beside `upload-artifact: false`".to_owned(),
            ));
        }
        Ok((inputs, read.settings))
    }
}

/// Validates inputs one by one and notes where each effective value comes from.
struct Reading {
    given: BTreeMap<String, String>,
    settings: Vec<SettingOrigin>,
}

impl Reading {
    fn note(&mut self, name: &str, value: String, given: bool) {
        let origin = if given { "input" } else { "default" };
        let value = sanitize_cut(&value, 200);
        self.settings.push(SettingOrigin { name: name.to_owned(), value, origin: origin.to_owned() });
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.given.get(name).cloned();
        self.note(name, value.clone().unwrap_or_default(), value.is_some());
        value.map(|value| value.trim().to_owned())
    }

    fn secret(&mut self, name: &str) -> Option<Secret> {
        let secret = self.given.get(name).and_then(|value| Secret::new(value));
        self.note(name, if secret.is_some() { "set" } else { "not set" }.to_owned(), secret.is_some());
        secret
    }

    fn list(&mut self, name: &str) -> Option<Vec<String>> {
        let text = self.text(name)?;
        let words =
            text.split([',', ' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()).map(str::to_owned);
        let mut words: Vec<String> = words.collect();
        words.sort();
        (!words.is_empty()).then_some(words)
    }

    fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<Option<T>, SettingsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        known.map(Some).ok_or_else(|| invalid(name, &text, format!("one of {}", names.join(", "))))
    }

    fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, SettingsError> {
        let value = self.given.get(name).cloned();
        self.note(name, value.clone().unwrap_or_else(|| default.to_string()), value.is_some());
        match value.as_deref().map(str::trim) {
            None => Ok(default),
            // The spellings of YAML's core schema, as the official toolkit reads them.
            Some("true" | "True" | "TRUE") => Ok(true),
            Some("false" | "False" | "FALSE") => Ok(false),
            Some(other) => Err(invalid(name, other, "true or false".to_owned())),
        }
    }

    fn shard(&mut self, name: &'static str) -> Result<Option<Shard>, SettingsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wanted = || format!("`k/N` with k from 1 to N and N up to {MAX_SHARDS}");
        Shard::parse(&text).map(Some).ok_or_else(|| invalid(name, &text, wanted()))
    }

    fn number(&mut self, name: &'static str, from: u64, to: u64) -> Result<Option<u64>, SettingsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (from..=to).contains(number));
        number.map(Some).ok_or_else(|| invalid(name, &text, format!("a number from {from} to {to}")))
    }
}

fn invalid(name: &'static str, value: &str, wanted: String) -> SettingsError {
    let meaning = INPUTS.iter().find(|input| input.name == name).map_or("", |input| input.description);
    SettingsError::Input { name, value: sanitize_cut(value, 60), wanted, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::path::Path;

    /// Inputs that GitHub fills in where a workflow sets nothing. Any other default would win over the base's policy.
    const DEFAULTS: &[(&str, &str)] = &[("token", "${{ github.token }}")];

    /// Compares a part of a file with what it should be, and writes it when asked to.
    fn check_part(path: &str, before: &str, after: &str, part: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, rest) = text.split_once(before).unwrap();
        let (current, tail) = rest.split_once(after).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, format!("{head}{before}{part}{after}{tail}")).unwrap();
        } else {
            assert!(current == part, "{} is not current; `make registry` writes it", path.display());
        }
    }

    #[test]
    fn generated_inputs_are_current() {
        let (mut yaml, mut table) = (String::new(), String::new());
        for Input { name, description } in INPUTS {
            assert!(!description.contains(['"', '\\', '|']), "{name} would need escapes");
            writeln!(yaml, "  {name}:\n    description: \"{description}\"\n    required: false").unwrap();
            if let Some((_, default)) = DEFAULTS.iter().find(|(input, _)| input == name) {
                writeln!(yaml, "    default: {default}").unwrap();
            }
            writeln!(table, "| `{name}` | {description} |").unwrap();
        }
        check_part("action.yml", "\ninputs:\n", "\noutputs:\n", &yaml);
        check_part("docs/action.md", "\n| Input | Meaning |\n|---|---|\n", "\n## Containers\n", &table);
    }

    #[test]
    fn the_inputs_that_are_read_are_those_of_the_table() {
        let (_, settings) = Inputs::read(BTreeMap::new()).unwrap();
        let mut read: Vec<String> = settings.into_iter().map(|setting| setting.name).collect();
        let mut declared: Vec<&str> = INPUTS.iter().map(|input| input.name).collect();
        read.sort();
        declared.sort_unstable();
        assert_eq!(read, declared);
    }
}
