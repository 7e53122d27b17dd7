//! The tools: their schemas and their calls. None of them writes into the checkout.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::app::check::check_opened;
use crate::app::console;
use crate::app::exit::Failure;
use crate::app::explain::explain;
use crate::app::inputs::{ModelUse, Request, default_base, open_run};
use crate::app::plan_command::{Shown, plan};
use crate::app::progress::TerminalProgress;
use crate::app::verify::recorded_deadline;
use crate::app::verify_command::{statement, verified_run};
use crate::config::Environment;
use crate::git::{OpenRepository, Uncommitted};
use qa_contracts::ids::CommitId;
use qa_core::canonical;
use qa_core::phases::RunEvent;
use qa_run::ports::Cancellation;

/// Implementation of a tool.
type Call = fn(&Path, Value, &Arc<Cancellation>) -> Result<ToolOutput, Failure>;

/// A tool.
pub(super) struct ToolSpec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) call: Call,
}

/// Result of a call.
pub(super) struct ToolOutput {
    pub(super) text: String,
    pub(super) structured: Value,
}

/// Name of the tool that judges.
pub(super) const RUN: &str = "run";

pub(super) static TOOLS: &[ToolSpec] = &[
    ToolSpec {
        name: RUN,
        description: "Judges a git change by the policy of its base: by default the files of the working tree against HEAD. \
                      Returns a document skill-result.v1; finalVerdict.conclusion is pass, fail or could_not_complete, and \
                      finalVerdict.blockingFindings is what to mend. Asks no model and stores nothing",
        schema: change_schema,
        call: run,
    },
    ToolSpec {
        name: "plan",
        description: "Lists the plans of such a run without executing them, as a document lens-plan-list.v1",
        schema: change_schema,
        call: list_plans,
    },
    ToolSpec {
        name: "explain",
        description: "Explains a rule, a lens, a code, or a finding of a stored run by the first six or more digits of its id",
        schema: || {
            json!({
                "type": "object",
                "properties": { "subject": { "type": "string", "description": "such as merge-leftover/conflict-marker" } },
                "required": ["subject"],
                "additionalProperties": false
            })
        },
        call: explain_subject,
    },
    ToolSpec {
        name: "verify",
        description: "Derives a stored run again, and fails with DETERMINISM_DRIFT_DETECTED if it differs from its recording. \
                      ofRepository is false for a run whose commits this repository does not have",
        schema: || {
            json!({
                "type": "object",
                "properties": {
                    "run": { "type": "string", "description": "run directory, absolute or from the root of the repository" },
                    "fromRepository": {
                        "type": "boolean",
                        "description": "read the change from the repository instead of the recording"
                    }
                },
                "required": ["run"],
                "additionalProperties": false
            })
        },
        call: verify,
    },
];

fn change_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "content": {
                "type": "string",
                "enum": ["worktree", "staged", "commits"],
                "description": "what is judged: the files of the working tree, what is staged, or the commits up to head; \
                                worktree by default"
            },
            "base": {
                "type": "string",
                "description": "branch, tag or commit to compare with; by default the default branch. HEAD judges only what is not committed"
            },
            "head": { "type": "string", "description": "for commits: branch, tag or commit; HEAD by default" }
        },
        "additionalProperties": false
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ChangeArguments {
    content: Content,
    base: Option<String>,
    head: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    #[default]
    Worktree,
    Staged,
    Commits,
}

impl ChangeArguments {
    fn request(self, repository: &Path) -> Result<Request, Failure> {
        let uncommitted = match self.content {
            Content::Worktree => Some(Uncommitted::Worktree),
            Content::Staged => Some(Uncommitted::Staged),
            Content::Commits => None,
        };
        if uncommitted.is_some() && self.head.is_some() {
            let hint = "pass content \"commits\" with head, or leave head out";
            return Err(Failure::usage("only commits have a head", hint));
        }
        // As in hooks, so that what the agent commits does not leave the change.
        let base = match self.base {
            None if uncommitted.is_some() => default_base(&OpenRepository::discover(repository)?)?,
            given => given,
        };
        let request = Request::of_base(repository, base.as_deref());
        Ok(Request {
            head: self.head.unwrap_or(request.head),
            uncommitted,
            stores_commits: false,
            models: ModelUse { no_model: true, ..ModelUse::default() },
            ..request
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainArguments {
    subject: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VerifyArguments {
    run: String,
    #[serde(default)]
    from_repository: bool,
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments).map_err(|error| {
        let reason = qa_core::masking::sanitize_cut(&error.to_string(), 200);
        Failure::usage(
            format!("the arguments are not those of the tool: {reason}"),
            "tools/list has their schema",
        )
    })
}

fn run(repository: &Path, arguments: Value, cancellation: &Arc<Cancellation>) -> Result<ToolOutput, Failure> {
    let request = parse::<ChangeArguments>(arguments)?.request(repository)?;
    cancellation.journal.take(RunEvent::Opened)?;
    let opened = open_run(&request, &cancellation.journal)?;
    let progress = TerminalProgress::new(true);
    let finished = check_opened(&request, opened, cancellation, &progress, &|_| Ok(()), None)?;
    cancellation.journal.finish(finished.outcome.verdict.conclusion)?;
    let report = console::report(&finished, None, &Environment::default());
    let text = String::from_utf8_lossy(&console::render("terminal", &report)).into_owned();
    Ok(ToolOutput { text, structured: document(&finished.result) })
}

fn list_plans(
    repository: &Path,
    arguments: Value,
    cancellation: &Arc<Cancellation>,
) -> Result<ToolOutput, Failure> {
    let request = parse::<ChangeArguments>(arguments)?.request(repository)?;
    let bytes = plan(&request, Shown::Json, cancellation, &TerminalProgress::new(true))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let structured = serde_json::from_str(&text).expect("it was just written");
    Ok(ToolOutput { text, structured })
}

fn explain_subject(
    repository: &Path,
    arguments: Value,
    _: &Arc<Cancellation>,
) -> Result<ToolOutput, Failure> {
    let ExplainArguments { subject } = parse(arguments)?;
    // Rules and codes are explained without a repository as well.
    let root =
        OpenRepository::discover(repository).map_or(repository.to_owned(), |repository| repository.root);
    let text = explain(&subject, Some(&root.join(".qa-skill")))?;
    Ok(ToolOutput { structured: json!({ "subject": subject, "text": text }), text })
}

fn verify(
    repository: &Path,
    arguments: Value,
    cancellation: &Arc<Cancellation>,
) -> Result<ToolOutput, Failure> {
    let VerifyArguments { run, from_repository } = parse(arguments)?;
    let opened = OpenRepository::discover(repository)?;
    let directory = opened.root.join(run);
    if let Some(deadline) = recorded_deadline(&directory) {
        cancellation.set_deadline(Some(deadline));
    }
    let source = from_repository.then_some(repository);
    let verified = verified_run(&directory, source, cancellation, &TerminalProgress::new(true))?;
    // A run of another repository says nothing about the changes of this one.
    let is_of_repository =
        has_commit(&opened, &verified.input.base_sha)? && has_commit(&opened, &verified.input.head_sha)?;
    let mut text = statement(&verified);
    if !is_of_repository {
        text.push_str("the commits of this run are not in the repository of this server\n");
    }
    let structured = json!({
        "conclusion": verified.conclusion,
        "source": if from_repository { "repository" } else { "recording" },
        "degraded": verified.gaps.degraded,
        "ofRepository": is_of_repository,
        "repoId": verified.input.repo_id,
        "baseSha": verified.input.base_sha,
        "headSha": verified.input.head_sha,
        "executionKey": verified.run.hashes.execution_key,
    });
    Ok(ToolOutput { text, structured })
}

fn has_commit(repository: &OpenRepository, commit: &CommitId) -> Result<bool, Failure> {
    Ok(repository.commit_named(commit.as_str())?.is_some())
}

/// Returns a contract as JSON.
fn document(contract: &impl serde::Serialize) -> Value {
    let bytes = canonical::to_vec(contract).expect("contracts have a canonical form");
    serde_json::from_slice(&bytes).expect("it was just written")
}
