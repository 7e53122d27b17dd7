//! Files in which agents look for skills and hooks, and the entries that set a hook up.

use serde_json::{Value, json};

use super::HookFormat;

/// Beginning of a command that agents start. Settings are committed, and whoever has no binary is not kept from work: the required
/// check is the gate.
const GUARD: &str = "command -v qa-skill >/dev/null 2>&1 || \
                     { echo 'qa-skill is not installed, so this hook judged nothing' >&2; exit 0; }; ";
/// The program with the option of its agent.
const PROGRAM: &str = "qa-skill hook --agent";
/// Time limit of a hook: longer than that of a run, 20 minutes by default, which answers when it ends. A hook that the agent kills
/// says nothing.
const SECONDS: u64 = 21 * 60;

/// Files of an agent, from the root of a repository or from the account's home directory.
pub struct AgentFiles {
    pub skill: &'static str,
    pub settings: &'static str,
    /// Number that the settings need as `version`.
    pub version: Option<u64>,
}

/// Directory of a skill and the file with hooks.
pub(super) struct Places {
    pub(super) repository: AgentFiles,
    pub(super) account: AgentFiles,
    /// Tools that edit files, as a pattern of the agent.
    pub(super) editors: &'static str,
    /// Variable with the root of the repository, which the agent sets for hooks.
    pub(super) root_variable: Option<&'static str>,
    /// Entry of a list of hooks: a command, for some tools or for all.
    pub(super) entry: fn(&str, Option<&str>) -> Value,
}

/// An entry of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEntry {
    pub event: &'static str,
    pub value: Value,
}

impl HookFormat {
    /// Returns the files of a repository, or of the account.
    pub fn files(&self, account: bool) -> &'static AgentFiles {
        let places = self.places;
        if account { &places.account } else { &places.repository }
    }

    /// Returns the entries that set the hooks up.
    pub fn entries(&self) -> [HookEntry; 2] {
        let mut command = format!("{GUARD}{PROGRAM} {}", self.id);
        if let Some(variable) = self.places.root_variable {
            command.push_str(&format!(" --repo \"${{{variable}:-.}}\""));
        }
        let entry = self.places.entry;
        [
            HookEntry { event: self.stop[0], value: entry(&command, None) },
            HookEntry { event: self.edit, value: entry(&command, Some(self.places.editors)) },
        ]
    }
}

const CLAUDE_CODE_FILES: AgentFiles = AgentFiles {
    skill: ".claude/skills/qa-skill/SKILL.md",
    settings: ".claude/settings.json",
    version: None,
};

pub(super) static CLAUDE_CODE: Places = Places {
    repository: CLAUDE_CODE_FILES,
    account: CLAUDE_CODE_FILES,
    editors: "Edit|MultiEdit|Write|NotebookEdit",
    root_variable: Some("CLAUDE_PROJECT_DIR"),
    entry: timed_command,
};

const CODEX_FILES: AgentFiles =
    AgentFiles { skill: ".agents/skills/qa-skill/SKILL.md", settings: ".codex/hooks.json", version: None };

pub(super) static CODEX: Places = Places {
    repository: CODEX_FILES,
    account: CODEX_FILES,
    editors: "apply_patch",
    root_variable: None,
    entry: timed_command,
};

const GEMINI_FILES: AgentFiles = AgentFiles {
    skill: ".gemini/skills/qa-skill/SKILL.md",
    settings: ".gemini/settings.json",
    version: None,
};

pub(super) static GEMINI: Places = Places {
    repository: GEMINI_FILES,
    account: GEMINI_FILES,
    editors: "write_file|replace",
    root_variable: Some("GEMINI_PROJECT_DIR"),
    // Milliseconds.
    entry: |command, tools| {
        grouped(
            tools,
            json!({ "type": "command", "command": command, "name": "qa-skill", "timeout": SECONDS * 1_000 }),
        )
    },
};

const CURSOR_FILES: AgentFiles = AgentFiles {
    skill: ".cursor/skills/qa-skill/SKILL.md",
    settings: ".cursor/hooks.json",
    version: Some(1),
};

pub(super) static CURSOR: Places = Places {
    repository: CURSOR_FILES,
    account: CURSOR_FILES,
    editors: "Write",
    root_variable: None,
    entry: |command, tools| with_matcher(tools, json!({ "command": command, "timeout": SECONDS })),
};

pub(super) static COPILOT: Places = Places {
    repository: AgentFiles {
        skill: ".github/skills/qa-skill/SKILL.md",
        settings: ".github/hooks/qa-skill.json",
        version: Some(1),
    },
    account: AgentFiles {
        skill: ".copilot/skills/qa-skill/SKILL.md",
        settings: ".copilot/hooks/qa-skill.json",
        version: Some(1),
    },
    editors: "create|edit|str_replace_editor|apply_patch|Write|Edit",
    root_variable: None,
    entry: |command, tools| {
        with_matcher(tools, json!({ "type": "command", "bash": command, "timeoutSec": SECONDS }))
    },
};

fn timed_command(command: &str, tools: Option<&str>) -> Value {
    grouped(tools, json!({ "type": "command", "command": command, "timeout": SECONDS }))
}

fn grouped(tools: Option<&str>, command: Value) -> Value {
    with_matcher(tools, json!({ "hooks": [command] }))
}

fn with_matcher(tools: Option<&str>, mut entry: Value) -> Value {
    if let Some(tools) = tools {
        entry["matcher"] = tools.into();
    }
    entry
}
