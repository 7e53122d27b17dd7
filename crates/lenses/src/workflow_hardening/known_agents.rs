//! Programs that act on what they read, and the actions that run them, by their options and inputs.

/// A program that acts on what it reads.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) program: &'static str,
    /// Packages that runners such as npx start it from.
    pub(super) packages: &'static [&'static str],
    /// Options and subcommands without which it waits for a person; none for a program that never does.
    pub(super) unattended: &'static [&'static str],
    /// Options that let it do anything; a value stands behind a space.
    pub(super) unrestricted: &'static [&'static str],
    /// Options with the tools that it may use.
    pub(super) tools: &'static [&'static str],
    /// Tool that runs any command.
    pub(super) shell: &'static str,
}

pub(super) static AGENTS: &[Agent] = &[
    Agent {
        program: "claude",
        packages: &["@anthropic-ai/claude-code"],
        unattended: &["-p", "--print"],
        unrestricted: &["--dangerously-skip-permissions", "--permission-mode bypassPermissions"],
        tools: &["--allowedTools", "--allowed-tools"],
        shell: "Bash",
    },
    Agent {
        program: "codex",
        packages: &["@openai/codex"],
        unattended: &["exec", "e"],
        unrestricted: &[
            "--dangerously-bypass-approvals-and-sandbox",
            "--yolo",
            "--sandbox danger-full-access",
            "-s danger-full-access",
            "--config sandbox_mode=danger-full-access",
            "-c sandbox_mode=danger-full-access",
        ],
        tools: &[],
        shell: "shell",
    },
    Agent {
        program: "gemini",
        packages: &["@google/gemini-cli"],
        unattended: &["-p", "--prompt"],
        unrestricted: &["--yolo", "-y", "--approval-mode yolo"],
        tools: &["--allowed-tools"],
        shell: "run_shell_command",
    },
    Agent {
        program: "copilot",
        packages: &["@github/copilot"],
        unattended: &["-p", "--prompt"],
        unrestricted: &["--allow-all-tools", "--allow-all", "--yolo"],
        tools: &["--allow-tool"],
        shell: "shell",
    },
    Agent {
        program: "cursor-agent",
        packages: &[],
        unattended: &["-p", "--print"],
        unrestricted: &["--force", "-f", "--yolo"],
        tools: &[],
        shell: "Shell",
    },
    Agent {
        program: "amp",
        packages: &["@sourcegraph/amp"],
        unattended: &["-x", "--execute"],
        unrestricted: &["--dangerously-allow-all"],
        tools: &[],
        shell: "Bash",
    },
    Agent {
        program: "opencode",
        packages: &["opencode-ai"],
        unattended: &["run"],
        unrestricted: &[],
        tools: &[],
        shell: "bash",
    },
    Agent {
        program: "aider",
        packages: &["aider-chat"],
        unattended: &["-m", "--message", "-f", "--message-file"],
        unrestricted: &[],
        tools: &[],
        shell: "",
    },
];

/// An action that runs an agent.
#[derive(Debug)]
pub(super) struct AgentAction {
    pub(super) name: &'static str,
    /// Program that it runs; its options may be given too.
    pub(super) program: &'static str,
    /// True if it refuses whoever may not write to the repository.
    pub(super) checks_actor: bool,
    /// Inputs that lift this check where they are `*`.
    pub(super) anyone: &'static [&'static str],
    /// Inputs that the agent follows.
    pub(super) prompts: &'static [&'static str],
    /// Inputs with options of the program.
    pub(super) options: &'static [&'static str],
    /// Inputs with the tools that it may use, as a list or as settings in JSON.
    pub(super) tools: &'static [&'static str],
    /// Inputs and values that let it do anything.
    pub(super) unrestricted: &'static [(&'static str, &'static str)],
    /// Outputs with what it answers.
    pub(super) outputs: &'static [&'static str],
}

pub(super) static ACTIONS: &[AgentAction] = &[
    AgentAction {
        name: "anthropics/claude-code-action",
        program: "claude",
        checks_actor: true,
        anyone: &["allowed_non_write_users", "allowed_bots"],
        prompts: &["prompt", "direct_prompt", "override_prompt", "custom_instructions", "claude_args"],
        options: &["claude_args"],
        tools: &["allowed_tools", "settings"],
        unrestricted: &[],
        outputs: &["structured_output"],
    },
    AgentAction {
        name: "anthropics/claude-code-base-action",
        program: "claude",
        checks_actor: false,
        anyone: &[],
        prompts: &["prompt", "system_prompt", "append_system_prompt", "claude_args"],
        options: &["claude_args"],
        tools: &["allowed_tools", "settings"],
        unrestricted: &[],
        outputs: &["structured_output"],
    },
    AgentAction {
        name: "openai/codex-action",
        program: "codex",
        checks_actor: true,
        anyone: &["allow-users"],
        prompts: &["prompt", "codex-args"],
        options: &["codex-args"],
        tools: &[],
        unrestricted: &[("sandbox", "danger-full-access"), ("safety-strategy", "unsafe")],
        outputs: &["final-message"],
    },
    AgentAction {
        name: "google-github-actions/run-gemini-cli",
        program: "gemini",
        checks_actor: false,
        anyone: &[],
        prompts: &["prompt"],
        options: &[],
        tools: &["settings"],
        unrestricted: &[],
        outputs: &["summary"],
    },
    AgentAction {
        name: "google-gemini/gemini-cli-action",
        program: "gemini",
        checks_actor: false,
        anyone: &[],
        prompts: &["prompt", "PROMPT"],
        options: &[],
        tools: &["settings", "settings_json"],
        unrestricted: &[],
        outputs: &["summary"],
    },
    AgentAction {
        name: "actions/ai-inference",
        program: "copilot",
        checks_actor: false,
        anyone: &[],
        prompts: &["prompt", "system-prompt", "input"],
        options: &[],
        tools: &["copilot-allow-tools"],
        unrestricted: &[("enable-github-mcp", "true")],
        outputs: &["response"],
    },
    AgentAction {
        name: "qodo-ai/pr-agent",
        program: "",
        checks_actor: false,
        anyone: &[],
        prompts: &[],
        options: &[],
        tools: &[],
        unrestricted: &[],
        outputs: &[],
    },
    AgentAction {
        name: "codium-ai/pr-agent",
        program: "",
        checks_actor: false,
        anyone: &[],
        prompts: &[],
        options: &[],
        tools: &[],
        unrestricted: &[],
        outputs: &[],
    },
];
