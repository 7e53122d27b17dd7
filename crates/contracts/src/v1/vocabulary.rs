//! The closed word lists of the contract (S003-47…59) and the ones this project adds to them.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every word, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word as it stands in artifacts and policies.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.as_str())
            }
        }
    )*};
}

words! {
    /// Treatment of incompleteness (S003-48).
    RunMode {
        /// Any degradation of a required scope fails the run.
        Strict = "strict",
        /// Degradation of a non-required scope may pass, marked `degraded`.
        BestEffort = "best_effort",
    }
    /// Mode in which the observer judges a head (S001-62). Ordered by how much of a run they may do.
    ObserverMode {
        /// The first known head of a draft.
        Bootstrap = "bootstrap",
        /// A later head of a draft.
        Cadence = "cadence",
        /// A head that may be merged, or a run that a person asked for: nothing is deferred.
        CrossCheck = "cross-check",
    }
    /// Need of a run for the ledger of its pull request.
    LedgerNeed {
        /// A lost ledger begins anew.
        Optional = "optional",
        /// Without the turns before it a run does not pass.
        Required = "required",
    }
    /// State of a pull request's ledger before a turn.
    LedgerState {
        /// The pull request was opened, or a person started the job again without the turns before it.
        Begun = "begun",
        /// The turns before it are known.
        Continued = "continued",
        /// There should be turns before it, and they are not known.
        Lost = "lost",
    }
    /// Stage of a run that judges a part of the policy, where another run judges the rest.
    RunStage {
        /// Rules and reviews. Every enabled review is required, and no gate is planned.
        Reviews = "reviews",
    }
    /// The contract's verdict (S003-49).
    VerdictStatus {
        /// Every required lens completed and nothing blocks.
        Pass = "PASS",
        /// A finding blocks, or completeness could not be proved.
        Fail = "FAIL",
    }
    /// Meaning of the verdict for the reader; distinguished on every surface.
    Conclusion {
        /// Exit 0.
        Pass = "pass",
        /// Exit 1: the code violates the policy.
        Fail = "fail",
        /// Exit 3: the run could not be completed; this says nothing about the code.
        CouldNotComplete = "could_not_complete",
    }
    /// Phase of a run (S001-9).
    RunPhase {
        /// Nothing runs: before the start, or after the end.
        Idle = "idle",
        /// Settings and the event are being read.
        AwaitingGoalEntry = "awaiting_goal_entry",
        /// The change is known, and the repository is being opened.
        Launching = "launching",
        /// Commits, the policy and the change are being read, or the result is being stored and published.
        Active = "active",
        /// The plan is made and waits for its admission.
        AwaitingCoordinator = "awaiting_coordinator",
        /// Plans run: rules, commands and models.
        AwaitingDiagnostics = "awaiting_diagnostics",
        /// The results are being cross-checked.
        AwaitingReview = "awaiting_review",
        /// The run ended without a verdict and waits for a person.
        PausedManual = "paused_manual",
        /// A request failed and will be sent again after a wait.
        TransientRecovery = "transient_recovery",
    }
    /// Content of a merge of head into the base, compared with the change since the merge base.
    Landing {
        /// That change and nothing else.
        Change = "change",
        /// More than that change shows, so the files are those between the base and the merge.
        Merge = "merge",
        /// Nothing as it stands: base and head conflict.
        Conflict = "conflict",
    }
    /// Reason why a file has its scope.
    ScopeReason {
        /// A glob of the base's policy.
        Policy = "policy",
        /// A platform or git runs the file by its path.
        Executed = "executed",
        /// `linguist-vendored` or `linguist-generated` in the base's `.gitattributes`.
        Attributes = "attributes",
        /// The base has the directory of vendored or generated files.
        Directory = "directory",
        /// The version that the change starts from is generated or, of a new file, its neighbours are.
        Marker = "marker",
        /// Name of the file or of a directory, where that is enough.
        Name = "name",
        /// Its name is one of vendored or generated files, and the base shows nothing for it.
        Unproven = "unproven",
    }
    /// Result of replaying a stored run, from the best to the worst.
    DriftStatus {
        /// The run follows from its inputs, byte for byte where it counts.
        Same = "same",
        /// It could not be replayed: something is damaged, missing or out of reach.
        CouldNotReplay = "could_not_replay",
        /// It was made by another version of the engine or of a lens, so a different key is expected.
        EngineChanged = "engine_changed",
        /// It does not follow from its inputs.
        Drift = "drift",
    }
    /// Most likely cause of a difference between a run and its replay.
    Mover {
        /// The engine: its version, its schemas, its rules or its diff.
        Engine = "engine",
        /// The version of a lens.
        LensVersion = "lens_version",
        /// The policy or the waivers of the base.
        Policy = "policy",
        /// The frozen rubric of the base.
        Rubric = "rubric",
        /// The commits, the options or the texts that were judged.
        Input = "input",
        /// The machine: only what may differ does.
        Environment = "environment",
        /// The stored files: damaged, incomplete or changed after the run.
        Recording = "recording",
        /// Nothing that the key covers: a result was edited, or the engine is not deterministic.
        Unexplained = "unexplained",
    }
    /// Source of the inputs that a stored run was compared with.
    DriftSource {
        /// A replay of its own recording.
        Recording = "recording",
        /// A replay from the repository's objects.
        Repository = "repository",
        /// Another run directory.
        Run = "run",
    }
    /// The family of a lens, in queue priority order (S003-50, C-23).
    LensClass {
        /// Conventions the repository keeps.
        Consistency = "consistency",
        /// Vulnerabilities, leaks and weakened protection.
        Security = "security",
        /// Boundaries and dependencies.
        Architecture = "architecture",
        /// Leftovers and readability.
        Style = "style",
        /// Wasted time or memory.
        Performance = "performance",
    }
    /// The quality gates of a repository's own tools (S004-29).
    GateName {
        /// Linters.
        Lint = "lint",
        /// Type checkers and compilers.
        TypeCheck = "type_check",
        /// Tests that need no browser.
        UnitTests = "unit_tests",
        /// Tests that drive a browser.
        BrowserTests = "browser_tests",
        /// Tests bound to the steps of a feature.
        StoryValidation = "story_validation",
    }
    /// Status of a plan (S003-51).
    LensStatus {
        /// Everything planned was looked at.
        Completed = "completed",
        /// Part of it was, and the codes say what is missing.
        Degraded = "degraded",
        /// The plan has no usable result.
        Failed = "failed",
        /// The plan was not run, and the codes say why.
        Skipped = "skipped",
    }
    /// Need of a look at an edit before it is applied.
    EditSafety {
        /// The edit keeps the author's intent and guesses nothing.
        Safe = "safe",
        /// A person has to choose.
        Unsafe = "unsafe",
    }
    /// Severity of a finding, worst first (S003-52).
    Severity {
        /// Act now.
        Critical = "critical",
        /// Act before merging.
        High = "high",
        /// Should be fixed.
        Medium = "medium",
        /// Could be fixed.
        Low = "low",
        /// For information.
        Info = "info",
    }
    /// Rights of a plan on the machine (S003-53).
    PermissionProfileId {
        /// Reads recorded git objects; executes nothing.
        ReadOnly = "read_only",
        /// Runs allowlisted commands in a sandbox.
        ExecSandboxed = "exec_sandboxed",
        /// Runs allowlisted commands in a sandbox without any network, loopback included.
        ExecSandboxedNetworkOff = "exec_sandboxed_network_off",
    }
    /// Reason why a usage number is null (S003-54), highest priority first.
    UsageUnavailableReason {
        /// The adapter failed before usage was known.
        AdapterError = "ADAPTER_ERROR",
        /// The answer lacked the numbers.
        MissingUsageData = "MISSING_USAGE_DATA",
        /// The provider never reports them.
        ProviderNotSupported = "PROVIDER_NOT_SUPPORTED",
    }
    /// Condition under which a finding blocks (S003-55).
    BlockingPolicy {
        /// The rule's strength in the frozen policy decides.
        RuleDefined = "rule_defined",
        /// Severity at or above the threshold blocks.
        SeverityThreshold = "severity_threshold",
        /// Either of the two blocks.
        Mixed = "mixed",
    }
    /// Treatment of a plan over budget (S003-56).
    OverflowPolicy {
        /// The plan counts as failed.
        Stop = "stop",
        /// The plan is skipped and the run degraded.
        Skip = "skip",
        /// As skip, and the summary asks a person to look.
        Escalate = "escalate",
    }
    /// The adapter behind a binding (S003-57; `builtin` is our extension for plans that ask no model, C-28).
    AdapterId {
        /// Deterministic rules, no provider.
        Builtin = "builtin",
        /// OpenAI-compatible surfaces.
        OpenaiCodex = "openai-codex",
        /// Anthropic-compatible surfaces.
        AnthropicClaude = "anthropic-claude",
    }
    /// The dialect that a provider is spoken to in.
    Surface {
        /// `POST /responses`.
        OpenaiResponses = "openai.responses",
        /// `POST /chat/completions`, which gateways speak as well.
        OpenaiChat = "openai.chat",
        /// `POST /v1/messages`.
        AnthropicMessages = "anthropic.messages",
    }
    /// Method of estimating tokens before any are used: from bytes alone, on the high side for code and prose.
    TokenEstimator {
        /// Three bytes a token.
        OpenaiBytes = "bytes-3",
        /// 2.2 bytes a token.
        AnthropicBytes = "bytes-2.2",
    }
    /// Difference between a model's new replies and the recorded ones.
    ModelDriftClass {
        /// In nothing.
        Identical = "identical",
        /// In words; they name the same places.
        Wording = "wording",
        /// In what they find.
        Findings = "findings",
        /// In what they find, so that the verdict would be another.
        Verdict = "verdict",
        /// It declines now.
        Refusal = "refusal",
        /// There is no answer to compare.
        Unavailable = "unavailable",
    }
    /// Form in which a key is sent.
    AuthScheme {
        /// `Authorization: Bearer`.
        Bearer = "bearer",
        /// `x-api-key`.
        XApiKey = "x-api-key",
        /// `api-key`.
        ApiKey = "api-key",
    }
    /// Sampling parameters that are sent to the model.
    SamplingMode {
        /// Temperature 0 is sent, and top_p 1 where the dialect takes both.
        Greedy = "greedy",
        /// Nothing is sent: the model accepts nothing, or is to use what it has.
        ModelFixed = "model_fixed",
    }
    /// Sampling parameters that a model accepts.
    SamplingSupport {
        /// Any.
        Always = "always",
        /// Any, where no effort of reasoning is spent.
        WithoutEffort = "without_effort",
        /// None; a request with one is refused.
        Never = "never",
    }
    /// Reasoning effort of a model before it replies.
    Effort {
        /// Not at all.
        None = "none",
        /// Hardly.
        Minimal = "minimal",
        /// Little reasoning.
        Low = "low",
        /// As a rule.
        Medium = "medium",
        /// Much.
        High = "high",
        /// More.
        Xhigh = "xhigh",
        /// As much as it can.
        Max = "max",
    }
    /// Place of a command's files (S003-58).
    WorktreeMode {
        /// No worktree.
        None = "none",
        /// A fresh one, removed afterwards.
        Ephemeral = "ephemeral",
    }
    /// Working directory of a command (S003-59). No command starts in the checkout, which is not the commit.
    CwdMode {
        /// The plan's own worktree.
        EphemeralWorktree = "ephemeral_worktree",
    }
    /// Weight of a rule's findings.
    Strength {
        /// Findings block.
        Block = "block",
        /// Findings block only where the base already complies (theta) with enough support.
        Ratchet = "ratchet",
        /// Findings are reported and never block.
        Advise = "advise",
        /// The rule does not run.
        Off = "off",
    }
    /// Set of strengths that rules start from.
    Preset {
        /// Blocks only what is almost never legitimate.
        Default = "default",
        /// Also blocks weakening of tests, CI and lint.
        Guarded = "guarded",
        /// Blocks nothing.
        Advisory = "advisory",
    }
    /// Whose code a path is; every rule has a strength for each.
    Scope {
        /// Code that ships.
        Product = "product",
        /// Code that tests the product.
        Test = "test",
        /// Text for people.
        Docs = "docs",
        /// Output of a tool.
        Generated = "generated",
        /// Copies of others' code.
        Vendored = "vendored",
    }
    /// Class of a file (one per path, by name alone).
    FileClass {
        /// Tests and their fixtures.
        Test = "test",
        /// Documentation.
        Docs = "docs",
        /// Build, CI and deployment.
        Infra = "infra",
        /// Configuration and manifests.
        Config = "config",
        /// Program text.
        Source = "source",
        /// Images, fonts, media, archives.
        Asset = "asset",
        /// None of these.
        Unknown = "unknown",
    }
    /// Kind of change of a path between the merge base and head.
    ChangeKind {
        /// New at head.
        Added = "added",
        /// Gone at head.
        Deleted = "deleted",
        /// Other content.
        Modified = "modified",
        /// Another name, content the same or similar.
        Renamed = "renamed",
        /// Only the mode differs.
        ModeChanged = "mode_changed",
        /// A file became a link, a link a submodule, and so on.
        TypeChanged = "type_changed",
    }
    /// One of the two compared versions.
    Side {
        /// Side of the merge base.
        Base = "base",
        /// Side of head.
        Head = "head",
    }
    /// Result of the requests to confirm a finding.
    ConfirmationOutcome {
        /// The confirming model upholds it, so it blocks.
        Upheld = "upheld",
        /// The confirming model and the review's own reject it, so it advises.
        Rejected = "rejected",
        /// The confirming model rejects it and the review's own upholds it, so it advises.
        Unstable = "unstable",
        /// A valid answer is missing, so it blocks.
        Unanswered = "unanswered",
    }
    /// Origin of a finding.
    FindingOrigin {
        /// This change brings it in.
        Introduced = "introduced",
        /// It stood in the base already, perhaps elsewhere.
        PreExisting = "pre_existing",
    }
    /// Phase of the work on a feature (S004-10).
    WorkflowPhase {
        /// Nothing was done yet.
        Start = "START",
        /// The list of features is being made.
        Initializer = "INITIALIZER",
        /// A feature can be worked on.
        DevReady = "DEV_READY",
        /// A feature is worked on.
        Dev = "DEV",
        /// A change waits for QA.
        QaReady = "QA_READY",
        /// QA has begun and has no verdict.
        Qa = "QA",
        /// QA has passed the change.
        QaPassed = "QA_PASSED",
        /// QA has sent the change back.
        DevFeedback = "DEV_FEEDBACK",
        /// Every feature passes. Nothing follows.
        Complete = "COMPLETE",
    }
    /// Whose turn it is (S004-11).
    WorkflowAgent {
        /// Makes the list of features.
        Initializer = "initializer",
        /// Changes the product.
        Dev = "dev",
        /// Judges the change.
        Qa = "qa",
    }
    /// Cause of a transition between phases.
    WorkflowTrigger {
        /// The list of features exists.
        FeatureList = "feature_list",
        /// Commits were pushed.
        Push = "push",
        /// A pull request was opened or made ready.
        PullRequest = "pull_request",
        /// QA gave its verdict.
        Qa = "qa",
        /// Every feature of the list passes.
        AllFeaturesPass = "all_features_pass",
    }
}

impl GateName {
    /// Returns whether the gate runs tests, so that at least one has to run and a failed run may be repeated (C-15).
    #[must_use]
    pub fn runs_tests(self) -> bool {
        match self {
            Self::Lint | Self::TypeCheck => false,
            Self::UnitTests | Self::BrowserTests | Self::StoryValidation => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_original_contract_are_kept_verbatim() {
        let list = |texts: &[&str]| texts.join(" ");
        let of = |texts: Vec<&str>| texts.join(" ");
        assert_eq!(of(RunMode::ALL.iter().map(|w| w.as_str()).collect()), list(&["strict", "best_effort"]));
        assert_eq!(of(VerdictStatus::ALL.iter().map(|w| w.as_str()).collect()), list(&["PASS", "FAIL"]));
        assert_eq!(
            of(LensClass::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["consistency", "security", "architecture", "style", "performance"])
        );
        assert_eq!(
            of(LensStatus::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["completed", "degraded", "failed", "skipped"])
        );
        assert_eq!(
            of(Severity::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["critical", "high", "medium", "low", "info"])
        );
        assert_eq!(
            of(PermissionProfileId::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["read_only", "exec_sandboxed", "exec_sandboxed_network_off"])
        );
        assert_eq!(
            of(BlockingPolicy::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["rule_defined", "severity_threshold", "mixed"])
        );
        assert_eq!(
            of(OverflowPolicy::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["stop", "skip", "escalate"])
        );
        assert_eq!(of(WorktreeMode::ALL.iter().map(|w| w.as_str()).collect()), list(&["none", "ephemeral"]));
        // The seed's `repo_root` is left out (ARCHITECTURE.md, "What is absent on purpose").
        assert_eq!(of(CwdMode::ALL.iter().map(|w| w.as_str()).collect()), list(&["ephemeral_worktree"]));
        assert_eq!(
            of(UsageUnavailableReason::ALL.iter().map(|w| w.as_str()).collect()),
            list(&["ADAPTER_ERROR", "MISSING_USAGE_DATA", "PROVIDER_NOT_SUPPORTED"])
        );
    }
}
