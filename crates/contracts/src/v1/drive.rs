//! A drive: a session of turns in which an agent changes a tree, and what it is told and answers.

use serde::{Deserialize, Serialize};

use super::{Conclusion, DrivePlan, DriveTokens, Severity};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{BlobId, CommitId, ExecutionKey, RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`DriveSession`].
    DriveSessionTag = "drive-session.v1";
    /// Names the schema of [`DispatchEnvelope`].
    DispatchEnvelopeTag = "dispatch-envelope.v1";
    /// Names the schema of [`DispatchResult`].
    DispatchResultTag = "dispatch-result.v1";
}

/// The history of a drive, from which every decision of it follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveSession {
    /// The schema's name.
    pub schema_version: DriveSessionTag,
    /// Settings of the drive.
    pub start: DriveStart,
    /// Judgement of the head that the drive began with; null before it is judged.
    pub bootstrap: Option<DriveJudgement>,
    /// Turns, oldest first. Only the last one may be without an outcome.
    pub turns: Vec<DriveTurn>,
    /// Word of a person about the next turn; null where there is none.
    pub word: Option<PersonWord>,
    /// Plan of the next turn; null where there is none.
    pub plan: Option<DrivePlan>,
    /// End of the drive; null while it goes on.
    pub end: Option<DriveEnd>,
}

/// Word of a person who lets a turn begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PersonWord {
    /// Text for the agent, in this turn and in later ones; null where the turn is approved as it is.
    #[cfg_attr(test, schemars(length(min = 1, max = 4000)))]
    pub text: Option<String>,
    /// Login of the person on GitHub, as the workflow was told it; null elsewhere.
    #[cfg_attr(test, schemars(length(min = 1, max = 100)))]
    pub by: Option<String>,
}

/// Settings of a drive. Their digest is the session's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveStart {
    /// Id of the repository.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub repo_id: String,
    /// Base commit, whose policy judges.
    pub base_sha: CommitId,
    /// Head commit that the drive begins with.
    pub head_sha: CommitId,
    /// Goal of a person; null where the goal is that the change passes.
    #[cfg_attr(test, schemars(length(min = 1, max = 8000)))]
    pub goal: Option<String>,
    /// True if turns apply the safe edits that findings carry, as long as there are any, before the agent gets turns.
    pub builtin_fix: bool,
    /// Program and arguments of the agent; empty where safe edits are all that the drive has. A program of the checkout is named by
    /// its path there, from `./` on, any other one that has a slash by its absolute path.
    #[cfg_attr(test, schemars(length(max = 100)))]
    pub agent: Vec<String>,
    /// Rights and bounds of the agent, from the base's policy.
    pub limits: DriveLimits,
    /// Number of the attempt, from 1: the same drive may be begun again after it ended.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub attempt: u64,
    /// Version of the engine that judges.
    #[cfg_attr(test, schemars(length(min = 1, max = 200)))]
    pub engine: String,
}

/// Rights and bounds of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveLimits {
    /// Globs of the files that the agent may change.
    pub writable: Vec<String>,
    /// Globs of protected files that it may change as well.
    pub open: Vec<String>,
    /// True if the agent has a network.
    pub network: bool,
    /// Names of the environment variables that the agent gets.
    pub environment: Vec<String>,
    /// Maximum number of turns.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_turns: u64,
    /// Time limit of a turn's agent, in seconds.
    #[cfg_attr(test, schemars(range(min = 1, max = 86400)))]
    pub turn_seconds: u64,
    /// Maximum number of drives of a pull request on GitHub.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_attempts: u64,
    /// Maximum number of drives of one head of a pull request on GitHub.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_attempts_per_head: u64,
    /// True if the result goes to the branch of the pull request.
    pub push: bool,
    /// Name of the model that the agent `builtin:model` asks; null without one.
    pub model: Option<String>,
    /// Name of the model that plans turns; null where a rule alone chooses their findings.
    pub coordinator: Option<String>,
    /// The most that models may cost, in millionths of a US dollar; null without a bound.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub max_cost_micro_usd: Option<u64>,
}

/// A judged tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveJudgement {
    /// Name of the run's directory below `runs`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-z.-]{1,100}$")))]
    pub run: String,
    /// Execution key of the run.
    pub execution_key: ExecutionKey,
    /// Run digest of the run.
    pub run_digest: Sha256Hex,
    /// Conclusion of the run.
    pub conclusion: Conclusion,
    /// True if there was nothing to judge.
    pub vacuous: bool,
    /// Changed files, by path.
    pub files: Vec<DriveFile>,
    /// Blocking findings, in the order of the verdict.
    pub tasks: Vec<DriveTask>,
    /// Ids of all findings of rules that protect the checks, blocking or not, sorted. A finding that stands twice is listed twice.
    pub guarded: Vec<GuardedFinding>,
}

/// A blocking finding, as an agent is told of it. Its texts are the repository's and are data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveTask {
    /// Id of the finding.
    pub finding_id: Sha256Hex,
    /// Id of the rule.
    pub rule_id: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// File of the finding.
    pub file: RepoPath,
    /// First line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_line: u64,
    /// Last line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub end_line: u64,
    /// Violation, in one sentence.
    pub summary: String,
    /// Advice.
    pub fix: String,
    /// Quoted text, with secrets masked; null where the finding quotes none.
    pub quote: Option<String>,
    /// True if the finding carries a safe edit, which `qa-skill fix` and the agent `builtin:fix` apply.
    pub safe_edit: bool,
}

/// The change from the head that the drive began with to a tree, judged by the rules that protect the checks alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentChange {
    /// Name of the run's directory below `runs`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-z.-]{1,100}$")))]
    pub run: String,
    /// Execution key of the run.
    pub execution_key: ExecutionKey,
    /// Run digest of the run.
    pub run_digest: Sha256Hex,
    /// True if each of these rules looked at all of the change.
    pub complete: bool,
    /// Changed files, by path.
    pub files: Vec<DriveFile>,
    /// Findings of these rules, sorted.
    pub guarded: Vec<GuardedFinding>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveFile {
    /// Path of the file.
    pub path: RepoPath,
    /// Its object; null where the file is gone.
    pub blob: Option<BlobId>,
    /// Its mode, in octal; null where the file is gone.
    pub mode: Option<String>,
    /// Number of added lines.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub added: u64,
    /// Number of removed lines.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub removed: u64,
}

/// A finding of a rule that protects the checks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GuardedFinding {
    /// Id of the finding.
    pub finding_id: Sha256Hex,
    /// Id of the rule.
    pub rule_id: String,
    /// File of the finding.
    pub file: RepoPath,
}

/// One turn: what the agent did, and what the referee made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveTurn {
    /// Number of the turn, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub number: u64,
    /// Id of the envelope that the agent got.
    pub envelope_id: Sha256Hex,
    /// Word of a person with which the turn began; null where it needed none.
    pub person: Option<PersonWord>,
    /// Plan of the turn; null where no model plans turns, or safe edits are applied.
    pub plan: Option<DrivePlan>,
    /// Ids of the findings that it was given.
    pub tasks: Vec<Sha256Hex>,
    /// Executor of the turn.
    pub executor: DriveExecutor,
    /// End of the agent's process; a status of 0 where none ran.
    pub exit: DriveExit,
    /// Standard output of the agent.
    pub stdout: DriveOutput,
    /// Standard error of the agent.
    pub stderr: DriveOutput,
    /// Tokens of the model that was asked for edits; null where none was asked, or its provider counts none.
    pub tokens: Option<DriveTokens>,
    /// Cost of the model in millionths of a US dollar; null where none was asked, or its price is unknown.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub cost_micro_usd: Option<u64>,
    /// Answer of the agent, or the one that its exit stands for.
    pub answer: DispatchResult,
    /// Commit whose tree the agent left, also where it is refused; null where it could not be read, or no edit was applied.
    pub commit: Option<CommitId>,
    /// Paths that differ from the tree before the turn, sorted.
    pub changed: Vec<RepoPath>,
    /// New files that ignore rules of the tree name. They are not in the commit.
    pub ignored: IgnoredFiles,
    /// Judgement of that commit; null where the tree is as before, or is refused without one.
    pub judgement: Option<DriveJudgement>,
    /// All that agents changed up to that commit; null where `judgement` is.
    pub agent_change: Option<AgentChange>,
    /// Reasons why the turn does not count, in the order of their checks.
    pub refusals: Vec<DriveRefusal>,
    /// Outcome of the turn; null while it is not judged.
    pub outcome: Option<DriveOutcome>,
    /// Digest over the turn, and over that of the turn before or of the bootstrap; null while the turn has no outcome.
    pub digest: Option<Sha256Hex>,
}

/// Executor of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DriveExecutor {
    /// The safe edits that findings carry were applied.
    SafeEdits,
    /// The program of the agent ran.
    Program,
    /// A model of the policy was asked for edits, which were applied.
    Model,
}

/// New files that ignore rules of a tree name. A directory counts as one where all of it is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IgnoredFiles {
    /// Number of files and directories.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub count: u64,
    /// Their first paths in order, at most 10.
    pub first: Vec<RepoPath>,
}

/// End of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveExit {
    /// Exit status; null when a signal ended it.
    pub code: Option<i32>,
    /// Signal; null when it ended by itself.
    pub signal: Option<i32>,
    /// Limit at which it was stopped; null if at none.
    pub stopped: Option<String>,
}

/// Output of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveOutput {
    /// Number of bytes.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub bytes: u64,
    /// Digest of all bytes.
    pub sha256: Sha256Hex,
    /// The end of the output, with secrets masked.
    pub text: String,
}

/// Reason why a turn does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveRefusal {
    /// Stable code of the reason.
    pub code: Code,
    /// File that it is about; null for none.
    pub file: Option<RepoPath>,
    /// The reason, in one sentence.
    pub message: String,
}

/// Outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DriveOutcome {
    /// The next turn begins with the tree of this one.
    Accepted,
    /// The tree is as it was.
    Unchanged,
    /// The tree is as it was before the turn, because the referee refuses what the agent did.
    Refused,
}

/// End of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveEnd {
    /// Kind of end.
    pub reason: DriveEndReason,
    /// The reason, in one sentence.
    pub message: String,
}

/// Kind of a drive's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DriveEndReason {
    /// The tree passes the gate.
    Passed,
    /// No turn is left.
    Turns,
    /// No time is left.
    Time,
    /// No money is left for another question to the model.
    Cost,
    /// A person stopped it.
    Stopped,
    /// The branch that it began with has another commit.
    HeadMoved,
    /// Several turns in a row changed nothing about what blocks.
    NoProgress,
    /// The agent says repeatedly that it cannot go on.
    Stuck,
    /// A person has to decide or to do something.
    Ask,
    /// The tree that the drive begins with has no verdict.
    Incomplete,
}

/// Document that an agent gets for a turn. Its id is the digest of everything else in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DispatchEnvelope {
    /// The schema's name.
    pub schema_version: DispatchEnvelopeTag,
    /// Id of the envelope.
    pub envelope_id: Sha256Hex,
    /// Id of the session.
    pub session_id: Sha256Hex,
    /// Number of the turn, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub turn: u64,
    /// Number of turns after this one.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub turns_left: u64,
    /// Goal of the drive.
    pub goal: String,
    /// Rules of the turn, for the agent.
    pub instructions: String,
    /// Words of the person who drives, oldest first, at most the last ten.
    pub notes: Vec<String>,
    /// Next action, as the model that plans turns suggests it; null without one. It allows nothing.
    pub plan: Option<String>,
    /// Findings to mend, the most urgent first.
    pub tasks: Vec<DriveTask>,
    /// Number of findings that wait for a later turn.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub tasks_waiting: u64,
    /// Globs of the files that the agent may change.
    pub writable: Vec<String>,
    /// Globs of the files that it may not change, whatever `writable` says.
    pub protected: Vec<String>,
    /// Turns before this one.
    pub history: DriveHistory,
}

/// Turns before a turn: the last ones as they were, older ones summed up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriveHistory {
    /// Sums over the turns that are not listed; null if all are.
    pub folded: Option<FoldedDrive>,
    /// The last turns, oldest first.
    pub turns: Vec<PastTurn>,
}

/// Sums over turns that are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoldedDrive {
    /// Number of these turns.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub turns: u64,
    /// Number of accepted turns.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub accepted: u64,
    /// Number of refused turns.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub refused: u64,
    /// Number of turns that changed nothing.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub unchanged: u64,
    /// Number of times that the history was folded.
    #[cfg_attr(test, schemars(range(max = 1000)))]
    pub compactions: u64,
    /// Messages of refusals in these turns, each once, in order, at most 20.
    pub refusals: Vec<String>,
    /// Digest of the folded turns, as they were listed.
    pub digest: Sha256Hex,
}

/// A turn, as later turns are told of it. Its texts are the agent's and are data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PastTurn {
    /// Number of the turn.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub number: u64,
    /// Ids of the findings that the agent was given.
    pub tasks: Vec<Sha256Hex>,
    /// Outcome of the turn.
    pub outcome: DriveOutcome,
    /// Summary of the agent.
    pub summary: String,
    /// End of its outputs.
    pub output: String,
    /// Changed paths.
    pub changed: Vec<RepoPath>,
    /// Reasons why the turn does not count.
    pub refusals: Vec<String>,
    /// Ids of blocking findings that the turn resolved.
    pub resolved: Vec<Sha256Hex>,
    /// Ids of blocking findings that it brought.
    pub opened: Vec<Sha256Hex>,
}

/// Answer of an agent: the last line of its standard output, if that is a JSON document with this schema's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DispatchResult {
    /// The schema's name.
    pub schema_version: DispatchResultTag,
    /// Id of the envelope that is answered.
    pub envelope_id: Sha256Hex,
    /// Outcome in the agent's eyes; the gate decides what it is worth.
    pub outcome: DispatchOutcome,
    /// Account of the agent, at most 4,000 characters.
    #[cfg_attr(test, schemars(length(max = 4000)))]
    pub summary: String,
    /// Expected verdict, at most 4,000 characters.
    #[cfg_attr(test, schemars(length(max = 4000)))]
    pub expected: String,
}

/// Outcome of a turn in the agent's eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DispatchOutcome {
    /// The tree is as the agent wants it.
    Done,
    /// The agent could not do it.
    Blocked,
    /// A person has to decide first.
    Ask,
    /// The agent failed.
    Failed,
}

impl Artifact for DriveSession {
    const SCHEMA: &'static str = "drive-session.v1";
    const FILE: &'static str = "drive-session.json";
}

impl Artifact for DispatchEnvelope {
    const SCHEMA: &'static str = "dispatch-envelope.v1";
    const FILE: &'static str = "dispatch-envelope.json";
}

/// Rights and bounds of an agent, as the policy file states them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyDrive {
    /// Globs of the files that the agent may change; all when absent.
    pub writable: Option<Vec<String>>,
    /// Globs of protected files that it may change as well: workflows, owners, lockfiles, the policy.
    #[serde(default)]
    pub open: Vec<String>,
    /// True if the agent has a network.
    #[serde(default)]
    pub network: bool,
    /// Names of the environment variables that the agent gets, such as that of its key.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Maximum number of turns; 5 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_turns: Option<u64>,
    /// Time limit of a turn's agent, in seconds; 1800 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 86400)))]
    pub turn_seconds: Option<u64>,
    /// Maximum number of drives of a pull request on GitHub; 5 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_attempts: Option<u64>,
    /// Maximum number of drives of one head of a pull request on GitHub; 2 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub max_attempts_per_head: Option<u64>,
    /// True if the result of a drive goes to the branch of the pull request. Otherwise it is a pull request of its own.
    #[serde(default)]
    pub push: bool,
    /// Name of the model under `[models]` that the agent `builtin:model` asks.
    pub model: Option<String>,
    /// Name of the model under `[models]` that plans turns; when absent, a rule alone chooses their findings.
    pub coordinator: Option<String>,
    /// The most that models may cost in a drive, in millionths of a US dollar; no bound when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub max_cost_micro_usd: Option<u64>,
}
