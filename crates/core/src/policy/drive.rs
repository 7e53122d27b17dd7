//! The drive's table of the policy: what an agent may change and use, and its bounds.

use std::sync::LazyLock;

use super::file::PolicyTextError;
use super::settings;
use crate::classify::{GlobError, PathSet, is_lockfile};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{DriveLimits, PolicyFile};

/// Globs of files that an agent may change only where the policy opens them. Lockfiles of any place are protected as well.
/// They are in lower case and match paths in any.
pub const PROTECTED: [&str; 54] = [
    "**/.agents/**",
    "**/.aider.conf.yml",
    "**/.amp/**",
    "**/.claude/**",
    "**/.cline/**",
    "**/.clinerules{,/**}",
    "**/.codex/**",
    "**/.continue/**",
    "**/.copilot/**",
    "**/.cursor/**",
    "**/.cursorrules",
    "**/.gemini/**",
    "**/.gitattributes",
    "**/.gitmodules",
    "**/.junie/**",
    "**/.kiro/**",
    "**/.mcp.json",
    "**/.opencode/**",
    "**/.roo/**",
    "**/.vscode/**",
    "**/.windsurf/**",
    "**/.windsurfrules",
    "**/.zed/**",
    "**/*.code-workspace",
    "**/*jenkinsfile*",
    "**/agents.md",
    "**/claude.md",
    "**/codeowners",
    "**/gemini.md",
    "**/opencode.{json,jsonc}",
    "**/skill.md",
    ".appveyor.yml",
    ".buildkite/**",
    ".circleci/**",
    ".cirrus.yml",
    ".drone.yml",
    ".forgejo/**",
    ".gitea/**",
    ".github/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".husky/**",
    ".mergify.yml",
    ".pre-commit-config.yaml",
    ".qa-skill/**",
    ".travis.yml",
    ".woodpecker/**",
    "{,.}appveyor.yml",
    "azure-pipelines.{yml,yaml}",
    "bitbucket-pipelines.yml",
    "buildspec.{yml,yaml}",
    "cloudbuild.{yml,yaml}",
    "feature_list.json",
    "{,.}renovate.json",
];

/// Returns the rights and bounds in a file.
pub(super) fn from_file(file: &PolicyFile) -> DriveLimits {
    let stated = file.drive.clone().unwrap_or_default();
    DriveLimits {
        writable: stated.writable.unwrap_or_else(|| vec!["**".to_owned()]),
        open: stated.open,
        network: stated.network,
        environment: stated.environment,
        max_turns: settings::DRIVE_MAX_TURNS.value(file),
        turn_seconds: settings::DRIVE_TURN_SECONDS.value(file),
        max_attempts: settings::DRIVE_MAX_ATTEMPTS.value(file),
        max_attempts_per_head: settings::DRIVE_MAX_ATTEMPTS_PER_HEAD.value(file),
        push: stated.push,
        model: stated.model,
        coordinator: stated.coordinator,
        max_cost_micro_usd: stated.max_cost_micro_usd,
    }
}

/// Refuses names of variables that no environment has, and those that the sandbox sets itself.
pub(super) fn check(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    let Some(drive) = &file.drive else { return Ok(()) };
    for (key, model) in [("model", &drive.model), ("coordinator", &drive.coordinator)] {
        if let Some(model) = model.as_ref().filter(|model| !file.models.contains_key(*model)) {
            let message = format!("drive.{key} names `{model}`, which is no model under [models]");
            return Err(PolicyTextError::at_line_of(text, model, message));
        }
    }
    for name in &drive.environment {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if !is_name || is_ours(name) {
            let message = format!("drive.environment names `{name}`, which no agent gets");
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    Ok(())
}

/// Returns whether a variable is one that the sandbox sets, or a token of the job, which no agent gets.
pub fn is_ours(name: &str) -> bool {
    const SET: [&str; 8] = ["HOME", "LC_ALL", "LOGNAME", "PATH", "PWD", "TMPDIR", "TZ", "USER"];
    const PREFIXES: [&str; 5] = ["ACTIONS_", "GITHUB_", "INPUT_", "QA_", "RUNNER_"];
    SET.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || ["GH_TOKEN", "LD_LIBRARY_PATH", "LD_PRELOAD"].contains(&name)
}

/// Files of [`PROTECTED`], compiled once: each step of a drive asks for its rights.
static PROTECTED_SET: LazyLock<PathSet> =
    LazyLock::new(|| PathSet::new(PROTECTED).expect("the globs of this file are globs"));

/// Files that an agent may change.
pub struct Rights {
    writable: PathSet,
    open: PathSet,
}

impl Rights {
    /// Compiles the globs of a drive.
    pub fn new(limits: &DriveLimits) -> Result<Self, GlobError> {
        Ok(Self {
            writable: PathSet::new(limits.writable.iter().map(String::as_str))?,
            open: PathSet::new(limits.open.iter().map(String::as_str))?,
        })
    }

    /// Returns the reason why a file may not change, or `None` if it may.
    pub fn refusal(&self, path: &RepoPath) -> Option<&'static str> {
        let text = path.to_text();
        let name = text.rsplit('/').next().unwrap_or_default().to_lowercase();
        // A path that cannot be written in lower case is protected.
        let lower = RepoPath::from_bytes(text.to_lowercase().as_bytes());
        let is_protected = lower.map_or(true, |lower| PROTECTED_SET.matches(&lower)) || is_lockfile(&name);
        if is_protected && !self.open.matches(path) {
            return Some("it is protected, and drive.open of the base's policy does not name it");
        }
        (!self.writable.matches(path)).then_some("drive.writable of the base's policy does not name it")
    }
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn no_agent_gets_what_the_sandbox_sets_or_a_token_of_the_job() {
        for name in ["PATH", "GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_TOKEN", "GH_TOKEN", "LD_PRELOAD"]
        {
            assert!(is_ours(name), "{name}");
        }
        assert!(!is_ours("ANTHROPIC_API_KEY") && !is_ours("AGENT_INPUT"));
    }
}
