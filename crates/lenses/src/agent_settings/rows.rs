//! Files with settings of coding agents and of editors with agents, and the meaning of their keys.
//!
//! Taken from the documentation of each maker. A key that is not listed has no meaning here.

use qa_reading::documents::Format;

/// Notation of a file with settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Whole(Format),
    /// YAML between two lines `---` at the begin of a Markdown file.
    FrontMatter,
}

/// Files that an agent reads settings from.
#[derive(Debug)]
pub(super) struct SettingsFile {
    pub(super) agent: &'static str,
    /// Paths in lower case, from any directory: a name, or the end of a directory and the begin and end of a name with
    /// `*` between them.
    paths: &'static [&'static str],
    pub(super) notation: Notation,
    pub(super) rows: &'static [Row],
}

/// A key path, in which `*` is any name, and its meaning.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) path: &'static [&'static str],
    pub(super) meaning: Meaning,
}

/// Meaning of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// One of these words lets the agent do anything.
    Bypass(&'static [&'static str]),
    /// One of these words lets it do more.
    Widens(&'static [&'static str]),
    /// One of these words keeps it from something; without words, all but `false` and `null` do.
    Guards(&'static [&'static str]),
    /// Tools that it may use, as a list or as a map of flags.
    Tools,
    /// Commands that it may run, as a list or as a map of flags.
    Commands,
    /// Tools that it may not use, with the weight of the refusal: 1 for a question, 2 for a denial.
    Refused(u8),
    /// Hooks by event.
    Hooks,
    /// One of these words keeps hooks from running.
    HooksOff(&'static [&'static str]),
    /// A command, as a text or a list.
    Command,
    /// Servers by name.
    Servers,
    /// Names of servers or plug-ins that are switched on.
    Enabled,
    /// Address that the requests to the model are sent to.
    Address,
    /// Tasks of an editor.
    Tasks,
}

const fn row(path: &'static [&'static str], meaning: Meaning) -> Row {
    Row { path, meaning }
}

const TRUE: &[&str] = &["true"];
const FALSE: &[&str] = &["false"];
const JSON: Notation = Notation::Whole(Format::Json);

const CLAUDE: &[Row] = &[
    row(&["permissions", "allow"], Meaning::Tools),
    row(&["permissions", "ask"], Meaning::Refused(1)),
    row(&["permissions", "deny"], Meaning::Refused(2)),
    row(&["permissions", "defaultMode"], Meaning::Bypass(&["bypassPermissions"])),
    row(&["permissions", "disableBypassPermissionsMode"], Meaning::Guards(&["disable"])),
    row(&["skipDangerousModePermissionPrompt"], Meaning::Widens(TRUE)),
    row(&["sandbox", "enabled"], Meaning::Guards(TRUE)),
    row(&["sandbox", "allowUnsandboxedCommands"], Meaning::Guards(FALSE)),
    row(&["sandbox", "excludedCommands"], Meaning::Commands),
    row(&["sandbox", "network", "deniedDomains"], Meaning::Refused(2)),
    row(&["sandbox", "filesystem", "denyRead"], Meaning::Refused(2)),
    row(&["sandbox", "filesystem", "denyWrite"], Meaning::Refused(2)),
    row(&["hooks"], Meaning::Hooks),
    row(&["disableAllHooks"], Meaning::HooksOff(TRUE)),
    row(&["statusLine", "command"], Meaning::Command),
    row(&["fileSuggestion", "command"], Meaning::Command),
    row(&["apiKeyHelper"], Meaning::Command),
    row(&["awsAuthRefresh"], Meaning::Command),
    row(&["awsCredentialExport"], Meaning::Command),
    row(&["gcpAuthRefresh"], Meaning::Command),
    row(&["otelHeadersHelper"], Meaning::Command),
    row(&["enableAllProjectMcpServers"], Meaning::Widens(TRUE)),
    row(&["enabledMcpjsonServers"], Meaning::Enabled),
    row(&["enabledPlugins"], Meaning::Enabled),
    row(&["disabledMcpjsonServers"], Meaning::Refused(2)),
    row(&["env", "ANTHROPIC_BASE_URL"], Meaning::Address),
    row(&["env", "ANTHROPIC_BEDROCK_BASE_URL"], Meaning::Address),
    row(&["env", "ANTHROPIC_VERTEX_BASE_URL"], Meaning::Address),
];

const CLAUDE_FRONT_MATTER: &[Row] =
    &[row(&["permissionMode"], Meaning::Bypass(&["bypassPermissions"])), row(&["hooks"], Meaning::Hooks)];

const CODEX: &[Row] = &[
    row(&["approval_policy"], Meaning::Widens(&["never"])),
    row(&["profiles", "*", "approval_policy"], Meaning::Widens(&["never"])),
    row(&["sandbox_mode"], Meaning::Bypass(&["danger-full-access"])),
    row(&["profiles", "*", "sandbox_mode"], Meaning::Bypass(&["danger-full-access"])),
    row(&["sandbox_workspace_write", "network_access"], Meaning::Widens(TRUE)),
    row(&["mcp_servers"], Meaning::Servers),
    row(&["notify"], Meaning::Command),
    row(&["model_providers", "*", "base_url"], Meaning::Address),
    row(&["openai_base_url"], Meaning::Address),
];

const GEMINI: &[Row] = &[
    row(&["tools", "allowed"], Meaning::Tools),
    row(&["tools", "exclude"], Meaning::Refused(2)),
    row(&["excludeTools"], Meaning::Refused(2)),
    row(&["mcp", "excluded"], Meaning::Refused(2)),
    row(&["tools", "sandbox"], Meaning::Guards(&[])),
    row(&["sandbox"], Meaning::Guards(&[])),
    row(&["security", "disableYoloMode"], Meaning::Guards(TRUE)),
    row(&["security", "folderTrust", "enabled"], Meaning::Guards(TRUE)),
    row(&["tools", "discoveryCommand"], Meaning::Command),
    row(&["tools", "callCommand"], Meaning::Command),
    row(&["toolDiscoveryCommand"], Meaning::Command),
    row(&["toolCallCommand"], Meaning::Command),
    row(&["mcpServers"], Meaning::Servers),
    row(&["hooks"], Meaning::Hooks),
    row(&["hooks", "disabled"], Meaning::HooksOff(&["qa-skill"])),
    row(&["hooksConfig", "disabled"], Meaning::HooksOff(&["qa-skill"])),
    row(&["hooksConfig", "enabled"], Meaning::HooksOff(FALSE)),
];

const HOOKS: &[Row] = &[row(&["hooks"], Meaning::Hooks), row(&["disableAllHooks"], Meaning::HooksOff(TRUE))];

const MCP_SERVERS: &[Row] = &[row(&["mcpServers"], Meaning::Servers)];

const CURSOR_CLI: &[Row] =
    &[row(&["permissions", "allow"], Meaning::Tools), row(&["permissions", "deny"], Meaning::Refused(2))];

/// Rows of VS Code's settings below a key, for workspaces that have them inside.
macro_rules! editor_rows {
    ($($outer:literal),*) => {
        &[
            row(&[$($outer,)* "chat.tools.autoApprove"], Meaning::Bypass(TRUE)),
            row(&[$($outer,)* "chat.tools.global.autoApprove"], Meaning::Bypass(TRUE)),
            row(&[$($outer,)* "chat.tools.terminal.autoApprove"], Meaning::Commands),
            row(&[$($outer,)* "chat.tools.terminal.autoApprove"], Meaning::Refused(2)),
            row(&[$($outer,)* "chat.tools.edits.autoApprove"], Meaning::Refused(2)),
            row(&[$($outer,)* "claudeCode.allowDangerouslySkipPermissions"], Meaning::Bypass(TRUE)),
            row(&[$($outer,)* "claudeCode.initialPermissionMode"], Meaning::Bypass(&["bypassPermissions"])),
            // Those of a workspace, which stand beside its settings.
            row(&["tasks", "tasks"], Meaning::Tasks),
            row(&[$($outer,)* "task.allowAutomaticTasks"], Meaning::Widens(&["on"])),
        ]
    };
}

const EDITOR: &[Row] = editor_rows!();
const TASKS: &[Row] = &[row(&["tasks"], Meaning::Tasks)];
const EDITOR_SERVERS: &[Row] = &[row(&["servers"], Meaning::Servers)];
const WORKSPACE: &[Row] = editor_rows!("settings");
const OPENCODE: &[Row] = &[row(&["mcp"], Meaning::Servers)];
const AMP: &[Row] = &[row(&["amp.dangerouslyAllowAll"], Meaning::Bypass(TRUE))];
const ZED: &[Row] = &[
    row(&["agent", "always_allow_tool_actions"], Meaning::Bypass(TRUE)),
    row(&["context_servers"], Meaning::Servers),
];

const fn json(agent: &'static str, paths: &'static [&'static str], rows: &'static [Row]) -> SettingsFile {
    SettingsFile { agent, paths, notation: JSON, rows }
}

static FILES: &[SettingsFile] = &[
    json("claude", &[".claude/settings.json", ".claude/settings.local.json"], CLAUDE),
    json("claude", &[".mcp.json"], MCP_SERVERS),
    SettingsFile {
        agent: "claude",
        paths: &["skill.md", ".claude/agents/*.md", ".claude/commands/*.md"],
        notation: Notation::FrontMatter,
        rows: CLAUDE_FRONT_MATTER,
    },
    SettingsFile {
        agent: "codex",
        paths: &[".codex/config.toml"],
        notation: Notation::Whole(Format::Toml),
        rows: CODEX,
    },
    json("codex", &[".codex/hooks.json"], HOOKS),
    json("gemini", &[".gemini/settings.json"], GEMINI),
    json("cursor", &[".cursor/mcp.json", ".roo/mcp.json", ".kiro/settings/mcp.json"], MCP_SERVERS),
    json("cursor", &[".cursor/hooks.json"], HOOKS),
    json("cursor", &[".cursor/cli.json"], CURSOR_CLI),
    json("copilot", &[".github/hooks/*.json"], HOOKS),
    json("editor", &[".vscode/settings.json"], EDITOR),
    json("editor", &[".vscode/tasks.json"], TASKS),
    json("editor", &[".vscode/mcp.json"], EDITOR_SERVERS),
    json("editor", &["*.code-workspace"], WORKSPACE),
    json("opencode", &["opencode.json", "opencode.jsonc"], OPENCODE),
    json("amp", &[".amp/settings.json"], AMP),
    json("zed", &[".zed/settings.json"], ZED),
];

impl SettingsFile {
    /// Returns the kind of file that a path is, in upper or lower case: some file systems do not tell them apart.
    pub(super) fn of(path: &str) -> Option<&'static Self> {
        let path = path.to_lowercase();
        FILES.iter().find(|file| file.paths.iter().any(|pattern| is_at(pattern, &path)))
    }
}

/// Returns whether a path ends with a pattern, at the begin of a name.
fn is_at(pattern: &str, path: &str) -> bool {
    let Some((begin, end)) = pattern.split_once('*') else {
        let rest = path.strip_suffix(pattern);
        return rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    };
    if !path.ends_with(end) {
        return false;
    }
    begin.is_empty() || path.starts_with(begin) || path.contains(&format!("/{begin}"))
}

#[cfg(test)]
mod tests {
    use super::{FILES, SettingsFile};
    use qa_contracts::ids::RepoPath;
    use qa_core::classify::PathSet;
    use qa_core::policy::drive::PROTECTED;

    #[test]
    fn no_agent_of_a_drive_may_change_the_settings_of_agents() {
        let protected = PathSet::new(PROTECTED).unwrap();
        for pattern in FILES.iter().flat_map(|file| file.paths) {
            // The platform reads its directory at the root alone.
            let is_of_platform = pattern.starts_with(".github/");
            for directory in [""].into_iter().chain((!is_of_platform).then_some("apps/web/")) {
                let path = format!("{directory}{}", pattern.replace('*', "a"));
                let path = RepoPath::from_bytes(path.as_bytes()).unwrap();
                assert!(protected.matches(&path), "{path}");
            }
        }
    }

    #[test]
    fn files_are_known_by_their_paths_in_any_directory_and_case() {
        let cases = [
            (".claude/settings.json", Some("claude")),
            ("apps/web/.claude/settings.local.json", Some("claude")),
            (".Claude/Settings.json", Some("claude")),
            ("my.claude/settings.json", None),
            (".claude/settings.json.md", None),
            (".mcp.json", Some("claude")),
            ("x.mcp.json", None),
            (".claude/commands/git/push.md", Some("claude")),
            (".claude/notes/a.md", None),
            (".github/hooks/qa-skill.json", Some("copilot")),
            ("tools/team.code-workspace", Some("editor")),
            ("settings.json", None),
        ];
        for (path, agent) in cases {
            assert_eq!(SettingsFile::of(path).map(|file| file.agent), agent, "{path}");
        }
    }
}
