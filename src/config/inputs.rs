//! Inputs of the action: the table of their names and descriptions, and their parser.

use std::collections::BTreeMap;
use std::path::PathBuf;

use qa_contracts::secret::Secret;
use qa_contracts::v1::{Preset, RunMode, SettingOrigin};
use qa_core::masking::sanitize_cut;
use qa_core::secrets;
use qa_core::shard::{MAX_SHARDS, Shard};
use qa_run::reviews::RepliesMode;

/// Error of an input or a variable. Completes "failed to read …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("the input `{name}`: `{value}` is not {wanted}")]
    Input { name: &'static str, value: String, wanted: String, meaning: &'static str },
    #[error("the environment: {0}")]
    Environment(String),
    /// The variable replaces the trusted certificates. An earlier step can set it, and with a proxy intercept every
    /// connection.
    #[error("the environment: {0} replaces the trusted certificates of the image")]
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
        "`check`, `drift-check`, `plan`, `aggregate`, `features`, `route`, `drive` or `propose`; empty: `drift-check` on `schedule`, else `check`",
    ),
    input("mode", "`strict` or `best_effort`; empty: as in the policy"),
    input("preset", "`default`, `guarded` or `advisory`; empty: as in the policy"),
    input(
        "lenses",
        "Lenses to run, separated by commas or spaces; empty: all. A run without a required lens cannot pass",
    ),
    input("jobs", "Number of worker threads, 1 to 64; empty: as in the policy"),
    input("base", "The base: a branch, tag or commit; empty: that of the event"),
    input("head", "The head: a branch, tag or commit; empty: that of the event"),
    input("working-directory", "Path of the checkout in the workspace; empty: the workspace"),
    input("artifact-root", "Path of the artifact root in the workspace; empty: `.qa-skill`"),
    input("token", "Token to fetch missing commits and publish results, limited by the job's `permissions`"),
    input(
        "objects",
        "Source of the git objects. `checkout`: the checkout, with verified hashes, completed from the server; `server`: the server only, for jobs whose earlier steps run code of the change. Empty: `checkout`",
    ),
    input(
        "publish",
        "`auto`: a check run if the token allows it, else annotations; `commands`: annotations and job summary; `files`: neither. Empty: `auto`",
    ),
    input(
        "check-name",
        "Name of the check run, different from that of any job; empty: `qa-skill verdict`, on `workflow_run` `qa-skill reviews`",
    ),
    input("comment", "`true`: keep one comment on the pull request up to date; empty: no comment"),
    input(
        "suggestions",
        "`true`: suggest safe edits of findings at their lines on the pull request; empty: no suggestion",
    ),
    input(
        "comment-author",
        "The token's account, as author of comments, suggestions and issues and as app of check runs; empty: `github-actions[bot]`",
    ),
    input("upload-artifact", "`false`: do not upload the run; empty: upload it"),
    input(
        "artifact-name",
        "Name of the run artifact, the same in every run; further jobs of a workflow run append `-2`, `-3` and so on. Empty: `qa-skill-run`, for `drive` and `propose` `qa-skill-drive`",
    ),
    input(
        "require-artifact",
        "`true`: a pass needs its artifact, else the run could not complete; empty: a pass without artifact is valid, with a warning",
    ),
    input("retention-days", "Retention of the artifact in days; empty: that of the repository"),
    input("upload-sarif", "`true`: upload the findings to code scanning; empty: no upload"),
    input("shard", "`k/N`: execute one shard of the run; empty: all of it"),
    input("shards", "plan: number of shards in the output `matrix`, 1 to 256; empty: 1"),
    input("parts", "aggregate: path in the workspace of the directory with all parts"),
    input("since-days", "drift-check: age limit of runs in days; empty: 7"),
    input("open-issue", "drift-check: `true`: keep one issue about drift up to date; empty: no issue"),
    input(
        "fail-on-engine-change",
        "drift-check: `true`: fail on runs of another version; empty: report them only",
    ),
    input(
        "limit",
        "drift-check: maximum number of artifacts to replay, the newest first and those of forks last, 1 to 5000; empty: 500",
    ),
    input(
        "replies",
        "Source of models' replies: `off`, `record`, `replay` or `replay_or_record`; empty: `replay_or_record`",
    ),
    input("no-model", "`true`: send no request to a model; empty: send the requests of the policy's reviews"),
    input(
        "live",
        "drift-check: `true`: send the requests of stored reviews again, three times each, and report how the answers changed; empty: send none",
    ),
    input(
        "workflow",
        "route: file name of the workflow that judges pull requests, such as `qa.yml`; its runs are answered from, run again and stopped",
    ),
    input(
        "drive-workflow",
        "route: file name of the workflow that drives, such as `drive.yml`; empty: `/qa fix` and `/qa drive` start nothing",
    ),
    input("pull-request", "drive, propose: number of the pull request that is driven"),
    input("goal", "drive, propose: the goal; empty: the pull request passes"),
    input(
        "agent",
        "drive, propose: program of the agent with arguments, a path in the workspace such as `./agent.sh`; `builtin:fix`, alone or in a line before it, applies the safe edits of findings",
    ),
    input(
        "continue",
        "drive, propose: pause before each turn: `immediate`, `10s`, `60s`, or `manual`, with which the session is stored and waits for a person. Empty: `immediate`",
    ),
    input(
        "session",
        "drive, propose: the session to go on with, as `RUN@SHA256`, which the commands of a person pass; empty: another drive begins",
    ),
    input("word", "drive, propose: word of a person to that session: `approve`, `edit` or `stop`"),
    input("note", "drive, propose: text for the agent, with the word `edit`; it is data and is masked"),
    input("person", "drive, propose: login of the person who gave the word, for the session"),
    input("publish-timeout", "Time limit of publishing in seconds; empty: 180"),
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
    /// The matrix of shards.
    Plan,
    /// Join the parts of shards.
    Aggregate,
    /// Update the feature list after a merge.
    Features,
    /// Answer a command in a comment.
    Route,
    /// Give an agent turns until a pull request passes.
    Drive,
    /// Push the result of a drive, after it was verified.
    Propose,
}

/// Pause before each turn of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DrivePause {
    #[default]
    Immediate,
    TenSeconds,
    SixtySeconds,
    /// Until a person lets the turn begin.
    Manual,
}

/// Word of a person to a drive that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriveWord {
    Approve,
    /// With the input `note` for the agent.
    Edit,
    Stop,
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
    pub(crate) suggestions: bool,
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
    pub(crate) workflow: Option<String>,
    pub(crate) drive_workflow: Option<String>,
    pub(crate) pull_request: Option<u64>,
    pub(crate) goal: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) pause: DrivePause,
    pub(crate) session: Option<String>,
    pub(crate) word: Option<DriveWord>,
    pub(crate) note: Option<String>,
    pub(crate) person: Option<String>,
    pub(crate) publish_timeout: u64,
    pub(crate) replies: RepliesMode,
    pub(crate) no_model: bool,
    pub(crate) live: bool,
}

/// Time for publishing in seconds, unless an input says otherwise.
pub(crate) const PUBLISH_TIMEOUT_SECONDS: u64 = 180;

/// Upper bound of the input `limit`. Each artifact costs two requests, of a thousand per hour.
const MOST_REPLAYED: u64 = 5000;

/// Inputs, with the origins of their values.
#[derive(Debug)]
pub(super) struct ParsedInputs {
    pub(super) inputs: Inputs,
    pub(super) settings: Vec<SettingOrigin>,
}

impl Inputs {
    /// Parses the inputs that are set, by name.
    pub(super) fn parse(given: BTreeMap<String, String>) -> Result<ParsedInputs, SettingsError> {
        let mut parser = InputParser { given, settings: Vec::new() };
        let modes: Vec<_> = RunMode::ALL.iter().map(|mode| (mode.as_str(), *mode)).collect();
        let presets: Vec<_> = Preset::ALL.iter().map(|preset| (preset.as_str(), *preset)).collect();
        let command = [
            ("check", ActionCommand::Check),
            ("drift-check", ActionCommand::DriftCheck),
            ("plan", ActionCommand::Plan),
            ("aggregate", ActionCommand::Aggregate),
            ("features", ActionCommand::Features),
            ("route", ActionCommand::Route),
            ("drive", ActionCommand::Drive),
            ("propose", ActionCommand::Propose),
        ];
        let objects = [("checkout", ObjectSource::Checkout), ("server", ObjectSource::Server)];
        let surfaces =
            [("auto", Surfaces::Auto), ("commands", Surfaces::Commands), ("files", Surfaces::Files)];
        let pauses = [
            ("immediate", DrivePause::Immediate),
            ("10s", DrivePause::TenSeconds),
            ("60s", DrivePause::SixtySeconds),
            ("manual", DrivePause::Manual),
        ];
        let words = [("approve", DriveWord::Approve), ("edit", DriveWord::Edit), ("stop", DriveWord::Stop)];
        let inputs = Self {
            command: parser.word("command", &command)?.unwrap_or_default(),
            mode: parser.word("mode", &modes)?,
            preset: parser.word("preset", &presets)?,
            lenses: parser.list("lenses"),
            jobs: parser.number("jobs", 1, 64)?,
            base: parser.text("base"),
            head: parser.text("head"),
            working_directory: parser.text("working-directory").map(PathBuf::from),
            artifact_root: parser.text("artifact-root").map(PathBuf::from),
            token: parser.secret("token"),
            objects: parser.word("objects", &objects)?.unwrap_or_default(),
            surfaces: parser.word("publish", &surfaces)?.unwrap_or_default(),
            // Names are shown outside of the runner, which masks only its own secrets.
            check_name: parser.text("check-name").map(secrets::masked),
            comment: parser.flag("comment", false)?,
            suggestions: parser.flag("suggestions", false)?,
            comment_author: parser.text("comment-author"),
            upload_artifact: parser.flag("upload-artifact", true)?,
            artifact_name: parser.text("artifact-name").map(secrets::masked),
            retention_days: parser.number("retention-days", 1, 400)?,
            upload_sarif: parser.flag("upload-sarif", false)?,
            open_issue: parser.flag("open-issue", false)?,
            fail_on_engine_change: parser.flag("fail-on-engine-change", false)?,
            require_artifact: parser.flag("require-artifact", false)?,
            limit: parser.number("limit", 1, MOST_REPLAYED)?,
            since_days: parser.number("since-days", 1, 400)?,
            shard: parser.shard("shard")?,
            shards: parser.number("shards", 1, MAX_SHARDS)?,
            parts: parser.text("parts").map(PathBuf::from),
            workflow: parser.text("workflow"),
            drive_workflow: parser.text("drive-workflow"),
            pull_request: parser.number("pull-request", 1, u64::from(u32::MAX))?,
            goal: parser.text("goal"),
            agent: parser.text("agent"),
            pause: parser.word("continue", &pauses)?.unwrap_or_default(),
            session: parser.text("session"),
            word: parser.word("word", &words)?,
            note: parser.masked("note"),
            person: parser.text("person"),
            publish_timeout: parser.number("publish-timeout", 5, 3600)?.unwrap_or(PUBLISH_TIMEOUT_SECONDS),
            replies: parser
                .word("replies", &RepliesMode::ALL.map(|(mode, word)| (word, mode)))?
                .unwrap_or_default(),
            no_model: parser.flag("no-model", false)?,
            live: parser.flag("live", false)?,
        };
        if inputs.require_artifact && !inputs.upload_artifact {
            return Err(invalid(
                "require-artifact",
                "true",
                "allowed with `upload-artifact: false`".to_owned(),
            ));
        }
        Ok(ParsedInputs { inputs, settings: parser.settings })
    }
}

/// Parses inputs one by one and records the origin of each value.
struct InputParser {
    given: BTreeMap<String, String>,
    settings: Vec<SettingOrigin>,
}

impl InputParser {
    fn record(&mut self, name: &str, value: String, given: bool) {
        let origin = if given { "input" } else { "default" };
        let value = sanitize_cut(&value, 200);
        self.settings.push(SettingOrigin { name: name.to_owned(), value, origin: origin.to_owned() });
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.given.get(name).cloned();
        self.record(name, value.clone().unwrap_or_default(), value.is_some());
        value.map(|value| value.trim().to_owned())
    }

    /// Reads words of a person, which may hold a secret.
    fn masked(&mut self, name: &str) -> Option<String> {
        if let Some(value) = self.given.get_mut(name) {
            *value = secrets::masked(std::mem::take(value));
        }
        self.text(name)
    }

    fn secret(&mut self, name: &str) -> Option<Secret> {
        let secret = self.given.get(name).and_then(|value| Secret::new(value));
        self.record(name, if secret.is_some() { "set" } else { "not set" }.to_owned(), secret.is_some());
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
        self.record(name, value.clone().unwrap_or_else(|| default.to_string()), value.is_some());
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
        Shard::parse(&text)
            .map(Some)
            .ok_or_else(|| invalid(name, &text, format!("`k/N` with k from 1 to N and N up to {MAX_SHARDS}")))
    }

    fn number(&mut self, name: &'static str, from: u64, to: u64) -> Result<Option<u64>, SettingsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (from..=to).contains(number));
        number.map(Some).ok_or_else(|| invalid(name, &text, format!("a number from {from} to {to}")))
    }
}

fn invalid(name: &'static str, value: &str, wanted: String) -> SettingsError {
    let input = INPUTS.iter().find(|input| input.name == name).expect("every input is in the table");
    let meaning = input.description;
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
        let settings = Inputs::parse(BTreeMap::new()).unwrap().settings;
        let mut read: Vec<String> = settings.into_iter().map(|setting| setting.name).collect();
        let mut declared: Vec<&str> = INPUTS.iter().map(|input| input.name).collect();
        read.sort();
        declared.sort_unstable();
        assert_eq!(read, declared);
    }
}
