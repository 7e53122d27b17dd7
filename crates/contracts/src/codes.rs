//! The closed list of stable codes: every way a run can warn, degrade or fail has exactly one name here.

use serde::{Deserialize, Serialize};

/// Kind of trouble that a code stands for, which decides the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeClass {
    /// Worth telling, changes nothing.
    Notice,
    /// Part of the run was narrowed, replaced or left out, and the record has the details.
    Degradation,
    /// May succeed when tried again unchanged.
    Transient,
    /// A person must change something: a setting, a policy, the command line.
    UserRecoverable,
    /// The run cannot give a verdict as things stand.
    Terminal,
}

macro_rules! codes {
    ($($group:ident { $($(#[$doc:meta])* $variant:ident = $text:literal, $class:ident, $hint:literal;)* })*) => {
        /// A stable code. The text form never changes once released.
        #[allow(
            rustdoc::broken_intra_doc_links,
            rustdoc::invalid_html_tags,
            reason = "the ways out are sentences for a terminal, with tables of the policy in brackets"
        )]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[doc = $hint] #[serde(rename = $text)] $variant,)*)*
        }

        impl Code {
            /// Every code, in the order of declaration.
            pub const ALL: &'static [Code] = &[$($(Code::$variant,)*)*];

            /// Returns the stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($(Code::$variant => $text,)*)* }
            }

            /// Returns the kind of trouble.
            #[must_use]
            pub fn class(self) -> CodeClass {
                match self { $($(Code::$variant => CodeClass::$class,)*)* }
            }

            /// Returns an explanation with the way out, for a person.
            #[must_use]
            pub fn hint(self) -> &'static str {
                match self { $($(Code::$variant => $hint,)*)* }
            }

            /// Returns whether the result is no longer wanted: the run was cancelled, or a newer one replaces it.
            #[must_use]
            pub fn is_withdrawn(self) -> bool {
                matches!(self, Code::Cancelled | Code::HeadSuperseded | Code::RunSuperseded)
            }

            /// Returns whether the code is one of the original contract (S003-60…83) and no extension.
            #[must_use]
            pub fn is_original(self) -> bool {
                match self { $($(Code::$variant => matches!(stringify!($group).as_bytes(), b"original"),)*)* }
            }
        }
    };
}

codes! {
    original {
        BaseRefConfiguredNotFound = "BASE_REF_CONFIGURED_NOT_FOUND", UserRecoverable, "the base that was asked for names no commit here; correct its name, or fetch it";
        BaseRefFallbackOriginHeadUnavailable = "BASE_REF_FALLBACK_ORIGIN_HEAD_UNAVAILABLE", Notice, "origin/HEAD is not set; `git remote set-head origin --auto` sets it, or pass --base";
        BaseRefFallbackOriginMain = "BASE_REF_FALLBACK_ORIGIN_MAIN", Notice, "the base was taken from origin/main; pass --base to choose another";
        BaseRefFallbackOriginMaster = "BASE_REF_FALLBACK_ORIGIN_MASTER", Notice, "the base was taken from origin/master; pass --base to choose another";
        BaseRefResolutionFailed = "BASE_REF_RESOLUTION_FAILED", UserRecoverable, "no base or merge base could be found; name the base with --base, in the action with the input `base`, or fetch more history (`git fetch --unshallow`, in a workflow `fetch-depth: 0`)";
        DiffTooLarge = "DIFF_TOO_LARGE", Degradation, "the change is over a limit of the policy; split it, or raise [limits] on the base branch";
        ContextBoundExceeded = "CONTEXT_BOUND_EXCEEDED", Degradation, "some hunks did not fit the plan's bounds and are listed as omitted; raise [limits.context] or split the change";
        ProviderTimeout = "PROVIDER_TIMEOUT", Transient, "the provider did not answer in time";
        ProviderRateLimit = "PROVIDER_RATE_LIMIT", Transient, "the provider asked to slow down";
        ProviderAuthError = "PROVIDER_AUTH_ERROR", Terminal, "the provider refused the credentials, or there are none; docs/models.md says which variable holds them";
        ProviderUnavailable = "PROVIDER_UNAVAILABLE", Transient, "the provider could not be reached or did not answer usefully";
        ProviderUsageUnavailable = "PROVIDER_USAGE_UNAVAILABLE", Degradation, "the provider did not report usage";
        ExecutionDenied = "EXECUTION_DENIED", Terminal, "the lens would run a command, and the policy, the kind of change or the machine does not let it; the reason is named";
        ExecutionPolicyViolation = "EXECUTION_POLICY_VIOLATION", Terminal, "a command is outside what [execution] of the policy allows, so the run is rejected; correct the policy on the base branch";
        ExecutionTimeout = "EXECUTION_TIMEOUT", Transient, "a command ran into its time limit; raise execution.limits.timeout-seconds on the base branch, or find out what it waits for";
        ExecutionExitNonzero = "EXECUTION_EXIT_NONZERO", Degradation, "a command ended with a status that means its tool could not do its work; what it said last is named";
        ExecutionAuditUnavailable = "EXECUTION_AUDIT_UNAVAILABLE", Terminal, "what was executed could not be recorded, so it does not count";
        LensRequiredMissing = "LENS_REQUIRED_MISSING", Terminal, "a required lens has no result; enable it in the policy on the base branch, or make it optional there";
        LensRequiredFailed = "LENS_REQUIRED_FAILED", Terminal, "a required lens did not complete; its own codes say why";
        BudgetRunExceeded = "BUDGET_RUN_EXCEEDED", Degradation, "the run's budget is spent by plans earlier in the queue";
        BudgetLensExceeded = "BUDGET_LENS_EXCEEDED", Degradation, "the plan needs more than the lens's own budget";
        ArtifactSchemaInvalid = "ARTIFACT_SCHEMA_INVALID", Terminal, "an artifact does not match its schema or its digest; delete the run directory and run again";
        DeterminismDriftDetected = "DETERMINISM_DRIFT_DETECTED", Terminal, "the same inputs gave another result than recorded; the first difference is named";
    }
    extension {
        ArtifactArchiveRefused = "ARTIFACT_ARCHIVE_REFUSED", Terminal, "the archive has an entry that no run directory has, or is over a limit; nothing of it was used";
        ArtifactNameTaken = "ARTIFACT_NAME_TAKEN", UserRecoverable, "another job or step of this workflow run uploaded an artifact of this name, and artifacts are never overwritten; give each its own name";
        ArtifactRootUnsafe = "ARTIFACT_ROOT_UNSAFE", UserRecoverable, "the artifact root is a link or is tracked in the change; pass --out with a directory outside the checkout";
        ArtifactSecretFound = "ARTIFACT_SECRET_FOUND", Terminal, "a secret of the environment stands in the run directory, so nothing was uploaded; find out which step printed or committed it, and revoke it";
        ArtifactUnavailable = "ARTIFACT_UNAVAILABLE", Transient, "artifacts could not be listed or downloaded; check that the token has `actions: read` and that they have not expired";
        ArtifactUploadFailed = "ARTIFACT_UPLOAD_FAILED", Transient, "the run directory stays in the workspace; upload it with actions/upload-artifact and `include-hidden-files: true`, or run again";
        ArtifactUploadUnsupported = "ARTIFACT_UPLOAD_UNSUPPORTED", UserRecoverable, "the run directory stays in the workspace; upload it with actions/upload-artifact and `include-hidden-files: true`";
        ArtifactWriteFailed = "ARTIFACT_WRITE_FAILED", Terminal, "the proof could not be stored, so there is no verdict; check space and permissions of the artifact root; files there of another user, such as root in a container, need that user or another `--out`";
        AttestationInvalid = "ATTESTATION_INVALID", UserRecoverable, "the file is no attestation of a run: an in-toto statement with a SLSA verification summary, a DSSE envelope or Sigstore bundles of such, one a line and at most 1 MiB; `gh attestation download` writes one, and a run has its own as statement.intoto.json";
        BinaryContent = "BINARY_CONTENT", Notice, "a file's content is not text; only its path, mode and kind of change were looked at";
        BlobTooLarge = "BLOB_TOO_LARGE", Degradation, "a file is over limits.max-blob-bytes and was not read; raise the limit on the base branch if it should be";
        BudgetEscalated = "BUDGET_ESCALATED", Notice, "an optional review did not fit a budget, and its policy asks a person to decide: raise [budget] on the base branch, split the change, or accept the verdict without it";
        BudgetPullRequestExceeded = "BUDGET_PULL_REQUEST_EXCEEDED", Degradation, "what models cost this pull request so far and could cost now is over budget.max-pull-request-cost-micro-usd; raise it on the base branch, or split the change";
        CadenceDeferred = "CADENCE_DEFERRED", Degradation, "a review or a gate waits while the pull request is a draft, and without it no run passes; mark the pull request ready for review, or run the job again to have it now; docs/observer.md says more";
        Cancelled = "CANCELLED", Transient, "the run was cancelled; nothing was published and nothing stored";
        CoarseDiff = "COARSE_DIFF", Notice, "a file was too large for a line diff; everything between its first and last difference counts as changed";
        CrossCheckFailed = "CROSS_CHECK_FAILED", Terminal, "the independent check of the result found a contradiction; the named item says which";
        CrossCheckUnavailable = "CROSS_CHECK_UNAVAILABLE", Terminal, "the independent check could not run, so PASS is withheld";
        DriveAgentFailed = "DRIVE_AGENT_FAILED", Degradation, "the agent ended with an error, so nothing of the turn was taken; the end of its output is in the session";
        DriveAgentStopped = "DRIVE_AGENT_STOPPED", Degradation, "the agent was stopped at a limit, so nothing of the turn was taken; drive.turn-seconds on the base branch is its time";
        DriveAnswerInvalid = "DRIVE_ANSWER_INVALID", Degradation, "the last line of the agent's output is meant as an answer and is none; `qa-skill schema dispatch-result` has its form";
        DriveChangeReverted = "DRIVE_CHANGE_REVERTED", Degradation, "the turn takes back a part of the change that no finding asks it to, so nothing of it was taken";
        DriveCheckWeakened = "DRIVE_CHECK_WEAKENED", Degradation, "the turn weakens a test, a check, a suppression or the policy, so nothing of it was taken";
        DriveNoSession = "DRIVE_NO_SESSION", UserRecoverable, "no drive is stored there; `qa-skill drive` prints the directory of its session";
        DriveNotAllowed = "DRIVE_NOT_ALLOWED", UserRecoverable, "no drive begins here, for the reason that is named: an agent gets no turn on the code of strangers, on its own commits, or without end; mend the change by hand, or let `drive` of the base's policy allow more attempts";
        DriveNotProposed = "DRIVE_NOT_PROPOSED", UserRecoverable, "the result of the drive was not pushed, for the reason that is named; drive the pull request as it is now";
        DrivePathRefused = "DRIVE_PATH_REFUSED", Degradation, "the turn changes a file that the agent may not change, so nothing of it was taken; drive.writable and drive.open on the base branch say which it may";
        DriveTreeRefused = "DRIVE_TREE_REFUSED", Degradation, "the agent left files that no commit can have, so nothing of the turn was taken";
        DriveTurnNotJudged = "DRIVE_TURN_NOT_JUDGED", Degradation, "the tree of the turn has no verdict, so nothing of it was taken; its run says why";
        EditTargetChanged = "EDIT_TARGET_CHANGED", UserRecoverable, "a file that `fix --apply` would edit is not the one that was judged, or a link leads to it, and nothing was written; judge the files as they are with `fix --worktree --apply`, or take `fix --diff` and `git apply`";
        EncodingUnread = "ENCODING_UNREAD", Degradation, "a script declares an encoding in which its bytes may be another program than its text shows, so it counts as not read; save it as UTF-8";
        EngineChanged = "ENGINE_CHANGED", Notice, "the run was made by another version or build of the engine, so another key is expected; replay it with the version that is named, or judge the change again";
        EventUnusable = "EVENT_UNUSABLE", UserRecoverable, "run on pull_request, merge_group, push, schedule, workflow_dispatch or workflow_run; the README's workflow shows how";
        EvidenceUnverified = "EVIDENCE_UNVERIFIED", Degradation, "a finding's quote does not stand where it claims; it is kept and does not block";
        ExecutionLimitExceeded = "EXECUTION_LIMIT_EXCEEDED", Terminal, "a command printed, wrote or held more than the policy lets it, and was stopped; raise [execution.limits] on the base branch, or find out what it does";
        ExpectationUnmet = "EXPECTATION_UNMET", Terminal, "the run was verified and is not the one that was expected; judge the change that you mean, by the policy that you mean, and verify that run";
        FeatureConflict = "FEATURE_CONFLICT", UserRecoverable, "the change names several features, and a report is about one; let its trailer, its labels and the paths of the policy agree, or split the change";
        FeatureListInvalid = "FEATURE_LIST_INVALID", UserRecoverable, "the feature list cannot be read as feature-list.v1, or has no such feature; the place is named, and `qa-skill schema feature-list` says what is expected";
        FeatureTrailerInvalid = "FEATURE_TRAILER_INVALID", UserRecoverable, "a line `Feature:` in the last paragraph of a commit's message does not name one feature by its number; amend the commit to say `Feature: 42`, or move the line up where it is no trailer";
        FindingsUnlisted = "FINDINGS_UNLISTED", Notice, "there are more findings than a run lists; those beyond are counted in one finding for each rule, which weighs what they weigh";
        GateFlaky = "GATE_FLAKY", Notice, "a command of a gate passed, and failed when it was run once more on the same commit; tests that differ are listed by the rule `flaky` of the gate, and anything else that differs fails the gate";
        GateNothingRan = "GATE_NOTHING_RAN", Terminal, "the gate's tool says that it ran nothing, which proves nothing; check what it selects, and that tests were found";
        GateReportIncomplete = "GATE_REPORT_INCOMPLETE", Terminal, "the report cannot be read whole as what its tool writes; have the tool write it again with the options docs/gates.md names, and let the step fail when the tool crashes";
        GateReportMissing = "GATE_REPORT_MISSING", UserRecoverable, "the policy names a report that is not there; let the step that writes it run before this one, with `if: always()` where its tool ends with an error";
        GateReportRefused = "GATE_REPORT_REFUSED", UserRecoverable, "what stands at the report's path is not taken: a link, a committed file, not a regular file, too large or not UTF-8; write the report to a path that is ignored by git";
        GateReportStale = "GATE_REPORT_STALE", UserRecoverable, "the report is of another commit or older than the commit that is judged; write it in the same job, after the checkout, and by `qa-skill record`, which keeps the commit, so that no clock decides";
        GateScopeIncomplete = "GATE_SCOPE_INCOMPLETE", UserRecoverable, "a gate's tool is for a changed file, and no report of the gate shows that it looked at it; let the tool look at the whole project, or exempt such files with `except` under the gate in the policy of the base";
        GateToolMissing = "GATE_TOOL_MISSING", UserRecoverable, "a gate's tool is not there or cannot be started where commands run; install it below /usr, or name the directory it was installed in under [[execution.toolchains]]";
        HeadSuperseded = "HEAD_SUPERSEDED", Transient, "a newer commit was pushed meanwhile and is judged by a run of its own; nothing was published for this one";
        InitActionUnknown = "INIT_ACTION_UNKNOWN", UserRecoverable, "pass --uses OWNER/qa-skill@COMMIT with the 40 digits of a release's commit, which `git ls-remote https://github.com/OWNER/qa-skill vX.Y.Z` prints";
        InitFileNotOurs = "INIT_FILE_NOT_OURS", UserRecoverable, "a file that init would write is there and is not its own; rename or remove it, or pass --force to replace it, and nothing was written";
        InitNotConfirmed = "INIT_NOT_CONFIRMED", UserRecoverable, "nothing was written: init asks before it writes, and there is no terminal to ask on; pass --yes to write the files of the plan, or --dry-run to print it alone";
        InputInvalid = "INPUT_INVALID", UserRecoverable, "an input or variable of the step has a value it cannot have; correct it in the workflow";
        InternalError = "INTERNAL_ERROR", Terminal, "this is a defect in qa-skill; please report it with the trace";
        LandingConflict = "LANDING_CONFLICT", Notice, "base and head conflict, so head cannot be merged as it is; the commit that resolves the conflict is judged when it is pushed";
        LandingJudged = "LANDING_JUDGED", Notice, "a merge of head into the base brings more than the change since the merge base shows, so the change between the base and that merge was judged; lines are those of the merged files";
        LandingUnknown = "LANDING_UNKNOWN", UserRecoverable, "base and head have several merge bases and conflict, so what a merge would bring is unknown; merge the base branch into head and push";
        LedgerChainBroken = "LEDGER_CHAIN_BROKEN", Terminal, "an entry of the ledger was changed, removed or put in another place, so the ledger proves nothing; take the one of the pull request's last run, or begin anew without one";
        LedgerInvalid = "LEDGER_INVALID", UserRecoverable, "the file is no ledger as qa-skill writes it: at most 256 KiB of canonical JSON that `qa-skill schema observer-ledger` describes; the place is named";
        LedgerMissing = "LEDGER_MISSING", UserRecoverable, "there is no file at this path; name the observer-ledger.json that was written beside the last run of the pull request";
        LensNotApplicable = "LENS_NOT_APPLICABLE", Notice, "nothing in this change concerns the lens";
        LensOptionalFailed = "LENS_OPTIONAL_FAILED", Terminal, "an optional lens, review or gate did not complete, and mode `strict` or an `overflow` of `stop` does not pass without it; its own codes say why, and `mode = \"best_effort\"` on the base branch passes without it";
        LensPanicked = "LENS_PANICKED", Terminal, "the lens ended unexpectedly; this is a defect in qa-skill, please report it";
        LookupLimited = "LOOKUP_LIMITED", Notice, "uses of what the change removes or renames were looked for in a part of the repository: more names or files came into question than are read for one change, or a manifest cannot be parsed; the verdict stands on what was found, and uses elsewhere may be broken; no setting raises this limit, so split the change, or require a gate that builds and tests the repository";
        ModelDriftDetected = "MODEL_DRIFT_DETECTED", Notice, "the model answers a recorded question otherwise than before, and more so than it differs from itself; look at what it says now, and pin another model on the base branch if need be";
        ModelRetiring = "MODEL_RETIRING", Notice, "the model is switched off within ninety days of the base commit, or is already; name another one on the base branch";
        ModelAliasUnpinned = "MODEL_ALIAS_UNPINNED", Notice, "the policy names an alias, and another model of that name may answer tomorrow; put the exact one that answered into the policy";
        NetworkUnavailable = "NETWORK_UNAVAILABLE", Transient, "a server could not be reached, or did not answer usefully, in the time and size allowed; try again, and check proxy and firewall";
        NotCommittable = "NOT_COMMITTABLE", UserRecoverable, "git would not commit what is to be judged as it stands, or would commit another form of it that a program makes; the file and the way out are named";
        NothingToJudge = "NOTHING_TO_JUDGE", UserRecoverable, "commit what is to be judged, `git add` it for --staged, or use --worktree; to try the gate, judge the last commit with `qa-skill run --base HEAD~1` or the last merges with `qa-skill calibrate`; elsewhere check --base and --head, or set `empty-change = \"pass\"` in the policy";
        ObjectHashMismatch = "OBJECT_HASH_MISMATCH", Terminal, "an object of the checkout does not have the content its id names: it is damaged, or an earlier step planted it; delete the checkout and fetch again, or, in a workflow, set `objects: server`";
        ObjectMissing = "OBJECT_MISSING", UserRecoverable, "the clone lacks an object of the change: a partial clone (`--filter`) leaves objects out, and `git fetch --refetch --no-filter origin` gets them; in a workflow, leave out `filter` of actions/checkout; a clone that is not partial is damaged, so clone again";
        ObserverBaselineUnavailable = "OBSERVER_BASELINE_UNAVAILABLE", Notice, "no stored run of the base has its reports, so whatever imported reports find counts as new; let the workflow run on pushes to the base branch, and keep its artifacts as long as pull requests are open";
        ObserverLedgerLost = "OBSERVER_LEDGER_LOST", Degradation, "observer.ledger requires the turns of the pull request before this one, and they are not known; the log has the reason; who may run the job again can begin a new ledger by that";
        PathRefused = "PATH_REFUSED", Terminal, "the change contains a path git would refuse to check out; remove it";
        PhaseMoveForbidden = "PHASE_MOVE_FORBIDDEN", Terminal, "a step of the run came in a phase that has no such step; this is a defect in qa-skill, please report it with the log";
        PolicyChangedInPr = "POLICY_CHANGED_IN_PR", Notice, "the change edits the policy; it was judged by the base's policy, and the preview says what the new one would do";
        PolicyInvalid = "POLICY_INVALID", UserRecoverable, "correct it on the base branch, where the message says; until then no change is judged, not even that correction, so a maintainer has to merge it past the check; `qa-skill policy-check --file FILE` checks a file before a merge";
        ProposalRefused = "PROPOSAL_REFUSED", UserRecoverable, "QA's results are set only by a passing run of the merged head, by the policy's own settings, while the list of features is the one it saw; where something was merged in between, let QA look at the feature again";
        ProviderIncomplete = "PROVIDER_INCOMPLETE", Terminal, "the answer was cut off at its length; raise max-output-tokens of the model, or lower its effort";
        ProviderModelUnavailable = "PROVIDER_MODEL_UNAVAILABLE", Terminal, "the provider does not have the model, or the address is wrong; check `model` and `endpoint` in the policy";
        ProviderOutputInvalid = "PROVIDER_OUTPUT_INVALID", Terminal, "the answer is not what was asked for; an endpoint that ignores the schema cannot be used";
        ProviderQuotaExhausted = "PROVIDER_QUOTA_EXHAUSTED", Terminal, "the account has no credit or is over its limit; the provider's console says which";
        ProviderRefusal = "PROVIDER_REFUSAL", Terminal, "the model or a filter declined to answer, which says nothing about the code";
        ProviderRequestRejected = "PROVIDER_REQUEST_REJECTED", Terminal, "the provider does not accept the request; what it says is shown";
        PublishFailed = "PUBLISH_FAILED", Transient, "the result could not be published to GitHub, or it is unknown whether it was; the exit code carries the verdict, and running the job again completes what is missing";
        PublishForbidden = "PUBLISH_FORBIDDEN", Degradation, "the token may not publish this; grant the named permission in the workflow, or, on pull requests from forks, read the job's own log and summary";
        PublishRateLimited = "PUBLISH_RATE_LIMITED", Transient, "GitHub asks for a longer wait than the run has time for; run the job again later";
        PublishRefused = "PUBLISH_REFUSED", Degradation, "GitHub refused what was published as not valid; its message is named, please report it";
        RecordingMissing = "RECORDING_MISSING", Terminal, "the run, or a recorded input of it, is not there; name the whole directory of the run, or replay it from the repository with `verify --repo`";
        RefAmbiguous = "REF_AMBIGUOUS", UserRecoverable, "the name stands for more than one commit; write the full name, such as refs/heads/main or refs/remotes/origin/main, or the commit's id";
        RenameDetectionLimited = "RENAME_DETECTION_LIMITED", Notice, "too many files for inexact rename detection; such moves appear as deleted and added";
        ReplayRecordingMissing = "REPLAY_RECORDING_MISSING", Terminal, "what a model answered is not recorded, and nothing was to be asked; run with `--replies replay_or_record`, or verify with the binary that made the run";
        RepositoryNotFound = "REPOSITORY_NOT_FOUND", UserRecoverable, "there is no git repository at this place; run inside a checkout, or name one with --repo; in a workflow, check out before this step with actions/checkout";
        RepositoryUnsafe = "REPOSITORY_UNSAFE", Terminal, "a file that git reads in the repository is a pipe, a device or a socket, or larger than git writes it; remove it where it is in the working tree, else delete the checkout and fetch again, and find out which step made it";
        RepositoryUnsupported = "REPOSITORY_UNSUPPORTED", UserRecoverable, "the repository cannot be read: by its storage format, a file of git that is damaged, or for this user; the reason is named";
        ReviewCanaryMissed = "REVIEW_CANARY_MISSED", Terminal, "the model did not name a defect that was put into what it was given, so its silence says nothing; run again, or name a stronger model on the base branch";
        ReviewLate = "REVIEW_LATE", Notice, "the model says it of lines that it was asked about before and had nothing to say of; a change should not fail later than it could have, so it does not block";
        ReviewNotAgreed = "REVIEW_NOT_AGREED", Notice, "too few of the model's answers say it, so it does not block";
        ReviewNotAsked = "REVIEW_NOT_ASKED", Degradation, "the run was told to ask no model; leave out `--no-model`";
        ReviewNotConfirmed = "REVIEW_NOT_CONFIRMED", Degradation, "a finding was to be confirmed by another model and no valid answer came, so it blocks as it would without one; run again, or look at the reason beside it";
        ReviewRejected = "REVIEW_REJECTED", Notice, "the confirming model and the review's own both reject the finding, so it does not block";
        ReviewTextCleaned = "REVIEW_TEXT_CLEANED", Notice, "hidden characters, comments or alternative texts of the change were kept from the model; look for what they say";
        ReviewUnstable = "REVIEW_UNSTABLE", Degradation, "the confirming model rejects the finding and the review's own model upholds it, so no two answers in a row agree and it does not block; a person should look at it";
        RubricNotFrozen = "RUBRIC_NOT_FROZEN", UserRecoverable, "the policy names a rubric that is not frozen at the base: missing, of another version or changed afterwards; mine and approve one with `consistency-init` and `consistency-approve`, commit it, and name its version under [consistency]";
        RubricFallen = "RUBRIC_FALLEN", Notice, "conventions in force are no longer kept by the code itself; run `consistency-init`, look at the difference, and approve a new version";
        RubricOld = "RUBRIC_OLD", Notice, "the rubric was mined many merged changes ago and conventions move; run `consistency-init` again, look at the difference, and approve a new version";
        RunSuperseded = "RUN_SUPERSEDED", Transient, "another workflow run or attempt judges the same commit, and its result counts; nothing was published for this one. `concurrency` in the workflow keeps it from starting";
        RunDeadlineNear = "RUN_DEADLINE_NEAR", Degradation, "a command or a model was left out or stopped, so that the rest of the run ends in time, and without its result no run passes; find out what it waited for with --verbose, split the change, or raise limits.deadline-seconds on the base branch";
        RunDeadlineExceeded = "RUN_DEADLINE_EXCEEDED", Transient, "the run was ended and nothing stored; find out what it waited for with --verbose, split the change, or raise limits.deadline-seconds on the base branch";
        ScratchUnavailable = "SCRATCH_UNAVAILABLE", Terminal, "a temporary directory could not be written; free space in /tmp, or set TMPDIR to a directory that can be";
        SecretInName = "SECRET_IN_NAME", Notice, "the name of a file or directory holds a secret, which is masked wherever the name is shown; names with a secret that differ nowhere else cannot be told apart and are refused";
        ShardMissing = "SHARD_MISSING", UserRecoverable, "not every part of the run is there, or one is of another run; run the missing shard again, then aggregate";
        SourceUnread = "SOURCE_UNREAD", Degradation, "a changed file that a lens has to parse is over 1 MiB or takes too long to parse, and is named under \"Not looked at\"; split it, keep generated text out of the repository, or set limits.allow-omitted on the base branch";
        StoryBindingsInvalid = "STORY_BINDINGS_INVALID", UserRecoverable, "stories/<id>.json is not what `qa-skill schema story-bindings` says: numbers of steps, each with the id of a test or a list of them; the place is named";
        StagedJudged = "STAGED_JUDGED", Notice, "what is staged was judged, which is no commit: nothing was stored, and the verdict proves nothing about a commit";
        TreeMalformed = "TREE_MALFORMED", Terminal, "a tree object of the change is not well formed, or is over a limit";
        UpgradeProgramFailed = "UPGRADE_PROGRAM_FAILED", UserRecoverable, "the program that --from names does not run to its end; name a released version, which has the command `calibrate`, and see what it says by itself";
        UpgradeProgramNewer = "UPGRADE_PROGRAM_NEWER", UserRecoverable, "--from names a later version than this one; run the later one, and let --from name this one";
        UpgradeProgramTimedOut = "UPGRADE_PROGRAM_TIMED_OUT", Transient, "the program that --from names was killed at its time limit; raise --timeout, or judge fewer changes with --last";
        UpgradeProgramUnknown = "UPGRADE_PROGRAM_UNKNOWN", UserRecoverable, "the program that --from names is not qa-skill, or speaks another form of `calibration`; name a version that prints what `qa-skill schema calibration` says";
        WaiverExpired = "WAIVER_EXPIRED", Notice, "a waiver on the base matches and has expired; renew it there or fix the finding";
        WaiverUnmatched = "WAIVER_UNMATCHED", Notice, "a waiver on the base names the rule of a finding that blocks and the evidence hash of none in this change: it is for code that the change leaves alone, or its hash is wrong; `qa-skill explain ID` shows the hash of a finding";
        WorktreeJudged = "WORKTREE_JUDGED", Notice, "the files of the working tree were judged, which are no commit: nothing was stored, and the verdict proves nothing about a commit";
        WorkflowInvalidTransition = "WORKFLOW_INVALID_TRANSITION", UserRecoverable, "the workflow cannot go from the one phase to the other; tell it what happened in between, such as `--event push` before a verdict";
        WorkflowStateInvalid = "WORKFLOW_STATE_INVALID", UserRecoverable, "the workflow state or the report cannot be read as its schema says, or contradicts itself; mend it, or delete the state to begin anew";
    }
}

/// The schema fixes the form and not the list, so that a new code does not need a new version of every contract.
#[cfg(test)]
impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A stable code; docs/codes.md lists them.",
            "type": "string", "pattern": "^[A-Z][A-Z0-9_]{2,63}$"
        })
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_contract_has_its_codes_but_one_and_every_text_is_unique() {
        // No scan is narrow, so none is broad (S003-67; ARCHITECTURE.md, "What is absent on purpose").
        assert_eq!(Code::ALL.iter().filter(|code| code.is_original()).count(), 24 - 1);
        let texts: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
    }
}
